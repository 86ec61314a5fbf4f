// SPDX-License-Identifier: GPL-2.0
/*
 * Committed objects (object.h) at the server: PREPARE, REVALIDATE, COMMIT and
 * PUTs that commit.
 *
 * A trailer changes by compare and exchange of the whole word: requests for
 * one object may be with two workers, and a flag must never land in the trailer
 * of another generation than it was meant for.  A reader over RDMA sees the
 * word before or after, whatever part of it he reads at a time.
 */
#include <linux/uaccess.h>

#include "flush.h"
#include "object.h"

/*
 * Of each trailer, ahead of its first look: a bad line that no list names yet is found here,
 * where the CPU survives it.  False, and the request has its status, if it cannot be read.
 */
static bool probe(struct pmof_srv_req *req, u64 trailer)
{
	struct pmof_ns *ns = req->queue->session->ns;
	__le64 unused;

	if (!copy_mc_to_kernel(&unused, ns->addr + trailer, sizeof(unused)))
		return true;
	pmof_bad_kick(ns);
	req->status = PMOF_SC_MEDIUM;
	return false;
}

static bool probe_all(struct pmof_srv_req *req)
{
	const struct pmof_objects_args *a = &req->objects;
	u32 i;

	for (i = 0; i < a->count; i++)
		if (!probe(req, a->trailer[i]))
			return false;
	return true;
}

static __le64 *trailer_at(const struct pmof_srv_req *req, u64 offset)
{
	return req->queue->session->ns->addr + offset;
}

static u64 read_trailer(const __le64 *t)
{
	return le64_to_cpu(READ_ONCE(*t));
}

/* True if the trailer was @old; it is @new now. */
static bool replace(__le64 *t, u64 old, u64 new)
{
	__le64 expected = cpu_to_le64(old);

	return cmpxchg(t, expected, cpu_to_le64(new)) == expected;
}

static void write_back(struct pmof_srv_req *req, struct pmof_write_backs *wb, u64 trailer)
{
	pmof_write_backs_add(wb, req->queue->session, trailer, PMOF_TRAILER_SIZE);
}

/* --- PREPARE ---------------------------------------------------------------------- */

/* Others may change the trailer meanwhile, by RDMA too: but not for ever. */
#define PREPARE_TRIES	1000

/* [C1] One word.  Returns the new generation, or 0. */
static u64 next_generation(__le64 *t)
{
	unsigned int tries;
	u64 old, new;

	for (tries = 0; tries < PREPARE_TRIES; tries++) {
		old = read_trailer(t);
		new = pmof_trailer_next(old);
		if (replace(t, old, new))
			return pmof_trailer_generation(new);
	}
	return 0;
}

static bool work_prepare(struct pmof_srv_req *req, u64 left, struct pmof_write_backs *wb)
{
	struct pmof_objects_args *a = &req->objects;
	u32 i;

	if (!probe_all(req))
		return true;
	for (i = 0; i < a->count; i++) {
		a->generation[i] = next_generation(trailer_at(req, a->trailer[i]));
		if (!a->generation[i])
			req->status = PMOF_SC_BUSY;
		write_back(req, wb, a->trailer[i]);
	}
	return true;
}

static u32 reply_objects(struct pmof_srv_req *req, enum pmof_server_stat stat)
{
	struct pmof_objects_args *a = &req->objects;

	pmof_session_stat(req->queue->session, stat, a->count);
	return pmof_put_objects_reply(req->reply, req->opcode, req->tag, a->generation, a->count);
}

static u32 reply_prepare(struct pmof_srv_req *req)
{
	return reply_objects(req, PMOF_SRV_PREPARES);
}

const struct pmof_flush_ops pmof_flush_prepare = {
	.work	= work_prepare,
	.reply	= reply_prepare,
};

/* --- REVALIDATE -------------------------------------------------------------------- */

/* [C9] PF may be in the cache only: VF must not be seen before it is durable. */
static bool work_revalidate(struct pmof_srv_req *req, u64 left, struct pmof_write_backs *wb)
{
	struct pmof_objects_args *a = &req->objects;
	u64 word;
	u32 i;

	if (!probe_all(req))
		return true;
	for (i = 0; i < a->count; i++) {
		word = read_trailer(trailer_at(req, a->trailer[i]));
		a->generation[i] = 0;
		if (!pmof_trailer_recoverable(word))
			continue;
		a->generation[i] = pmof_trailer_generation(word);
		/* A flush that failed earlier has left it neither durable nor dirty. */
		if (pmof_ns_device_flush(req->queue->session->ns))
			replace(trailer_at(req, a->trailer[i]), word, word);
		write_back(req, wb, a->trailer[i]);
	}
	return true;
}

/* False if the object is no longer the one whose PF was made durable. */
static bool revalidate(__le64 *t, u64 generation)
{
	u64 committed = pmof_trailer_committed(generation);
	u64 word = read_trailer(t);

	if (!pmof_trailer_recovers(word, generation))
		return false;
	/* Somebody else may have been faster. */
	return word == committed || replace(t, word, committed) || read_trailer(t) == committed;
}

static void set_vf_revalidate(struct pmof_srv_req *req)
{
	struct pmof_objects_args *a = &req->objects;
	u32 i;

	for (i = 0; i < a->count; i++)
		if (a->generation[i] &&
		    !revalidate(trailer_at(req, a->trailer[i]), a->generation[i]))
			a->generation[i] = 0;
}

static u32 reply_revalidate(struct pmof_srv_req *req)
{
	return reply_objects(req, PMOF_SRV_REVALIDATES);
}

const struct pmof_flush_ops pmof_flush_revalidate = {
	.work	= work_revalidate,
	.set_vf	= set_vf_revalidate,
	.reply	= reply_revalidate,
};

/* --- commits ------------------------------------------------------------------------ */

/* [C6] Nothing may be written into an object that is not prepared for it. */
static bool work_put_commit(struct pmof_srv_req *req, u64 left, struct pmof_write_backs *wb)
{
	const struct pmof_put *p = &req->put.put;

	if (!probe(req, p->trailer))
		return true;
	if (read_trailer(trailer_at(req, p->trailer)) != pmof_trailer_prepared(p->generation)) {
		req->status = PMOF_SC_STALE;
		return true;
	}
	return pmof_flush_copy(req, wb);
}

/* The data came by RDMA before the message. */
static bool work_commit(struct pmof_srv_req *req, u64 left, struct pmof_write_backs *wb)
{
	struct pmof_range *r = &req->put.put.range;

	if (!probe(req, req->put.put.trailer))
		return true;
	pmof_flush_slice(req, r, left, wb);
	return !r->length;
}

/*
 * [C2] [C6] The data are durable.  Check and store are one step: a PREPARE that another
 * worker handles comes before both or after both.
 */
static void set_pf(struct pmof_srv_req *req, struct pmof_write_backs *wb)
{
	const struct pmof_put *p = &req->put.put;

	if (replace(trailer_at(req, p->trailer), pmof_trailer_prepared(p->generation),
		    pmof_trailer_persistent(p->generation)))
		write_back(req, wb, p->trailer);
	else
		req->status = PMOF_SC_STALE;
}

/* [C3] PF is durable.  If the trailer has changed, VF would be another object's. */
static void set_vf(struct pmof_srv_req *req)
{
	const struct pmof_put *p = &req->put.put;

	replace(trailer_at(req, p->trailer), pmof_trailer_persistent(p->generation),
		pmof_trailer_committed(p->generation));
}

static u32 reply_commit(struct pmof_srv_req *req)
{
	struct pmof_session *s = req->queue->session;

	if (req->opcode == PMOF_MSG_PUT)
		pmof_session_stat(s, PMOF_SRV_PUTS, 1);
	pmof_session_stat(s, PMOF_SRV_COMMITS, 1);
	return pmof_rpc_fill_status(req, PMOF_SC_OK);
}

const struct pmof_flush_ops pmof_flush_put_commit = {
	.work	= work_put_commit,
	.set_pf	= set_pf,
	.set_vf	= set_vf,
	.reply	= reply_commit,
};

const struct pmof_flush_ops pmof_flush_commit = {
	.work	= work_commit,
	.set_pf	= set_pf,
	.set_vf	= set_vf,
	.reply	= reply_commit,
};
