/* SPDX-License-Identifier: GPL-2.0 */
/* The server's marks for the power-cut explorer: mark.h. */
#ifndef PMOF_SERVER_MARKS_H
#define PMOF_SERVER_MARKS_H

#include "mark.h"
#include "server.h"

static inline u64 pmof_mark_name(const struct pmof_srv_req *req)
{
	return (u64)(req->queue->session->number & 0xffff) << 48 | (u64)req->queue->id << 32 |
	       (u64)req->tag << 16 | req->opcode;
}

static inline void pmof_mark_request(const struct pmof_srv_req *req)
{
	pmof_mark(PMOF_MARK_REQUEST, pmof_mark_name(req));
}

static inline void pmof_mark_range(u64 offset, u64 length)
{
	pmof_mark(PMOF_MARK_RANGE_OFF, offset);
	pmof_mark(PMOF_MARK_RANGE_LEN, length);
}

/* An error promises nothing, so it has no mark. */
static inline void pmof_mark_reply(const struct pmof_srv_req *req)
{
	const struct pmof_wire_hdr *hdr = req->reply;

	if (!hdr->status)
		pmof_mark(PMOF_MARK_REPLY, pmof_mark_name(req));
}

static inline void pmof_mark_fences(u64 fences)
{
	pmof_mark(PMOF_MARK_FENCES, fences);
}

#endif /* PMOF_SERVER_MARKS_H */
