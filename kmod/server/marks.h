/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Marks for the power-cut explorer (tests/crash/trace.h): NOPs with an id in the
 * displacement and a value in RAX, which a QEMU plugin records and hardware
 * ignores.  Only in modules built with CRASH_MARKS=1.
 */
#ifndef PMOF_SERVER_MARKS_H
#define PMOF_SERVER_MARKS_H

#include "server.h"

/* As in tests/crash/trace.h. */
#define PMOF_MARK_REQUEST	0x0101	/* a request was parsed */
#define PMOF_MARK_RANGE_OFF	0x0102	/* behind it: each range or trailer that it names */
#define PMOF_MARK_RANGE_LEN	0x0103
#define PMOF_MARK_REPLY		0x0104	/* a reply that says OK is about to be posted */
#define PMOF_MARK_FENCES	0x0105	/* ahead of it: fences of this flush worker so far */

/* @id is part of the instruction. */
static __always_inline void pmof_mark(const unsigned int id, u64 value)
{
#ifdef PMOF_CRASH_MARKS
	asm volatile(".byte 0x0f, 0x1f, 0x80\n\t"
		     ".short %c0\n\t"
		     ".byte 0x4d, 0x50"
		     : : "i" (id), "a" (value) : "memory");
#endif
}

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
