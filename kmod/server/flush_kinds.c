// SPDX-License-Identifier: GPL-2.0
/* PERSIST, PUT and ZERO, as the flush workers see them. */
#include "flush.h"

/* Takes up to @most bytes off the front of a range.  Returns them. */
static struct pmof_range take_front(struct pmof_range *range, u64 most)
{
	struct pmof_range front = { range->offset, min(range->length, most) };

	range->offset += front.length;
	range->length -= front.length;
	return front;
}

/* Has up to @left bytes off the front of a range written back.  Returns how many are left. */
u64 pmof_flush_slice(struct pmof_srv_req *req, struct pmof_range *range, u64 left,
		     struct pmof_write_backs *wb)
{
	struct pmof_range front = take_front(range, left);

	pmof_write_backs_add(wb, req->queue->session, front.offset, front.length);
	return left - front.length;
}

/* The same without what is bad of it. */
static u64 slice_good(struct pmof_srv_req *req, struct pmof_range *range, u64 left,
		      struct pmof_write_backs *wb)
{
	struct pmof_range front = take_front(range, left);

	pmof_write_backs_add_good(wb, req->queue->session, front.offset, front.length);
	return left - front.length;
}

static bool work_persist(struct pmof_srv_req *req, u64 left, struct pmof_write_backs *wb)
{
	struct pmof_persist_args *a = &req->persist;

	while (left && a->next < a->nr) {
		left = a->good ? slice_good(req, &a->range[a->next], left, wb) :
				 pmof_flush_slice(req, &a->range[a->next], left, wb);
		if (!a->range[a->next].length)
			a->next++;
	}
	return a->next == a->nr;
}

static u32 reply_persist(struct pmof_srv_req *req)
{
	pmof_session_stat(req->queue->session, PMOF_SRV_PERSISTS, 1);
	return pmof_rpc_fill_status(req, PMOF_SC_OK);
}

const struct pmof_flush_ops pmof_flush_persist = {
	.work	= work_persist,
	.reply	= reply_persist,
};

/* Copies a PUT's data out of its receive buffer: at most a message of them. */
bool pmof_flush_copy(struct pmof_srv_req *req, struct pmof_write_backs *wb)
{
	const struct pmof_range *r = &req->put.put.range;
	struct pmof_session *s = req->queue->session;

	pmof_write_backs_count(wb, s, pmof_persist_copy(s->ns, r->offset, req->put.data,
							r->length));
	return true;
}

static bool work_put(struct pmof_srv_req *req, u64 left, struct pmof_write_backs *wb)
{
	return pmof_flush_copy(req, wb);
}

static u32 reply_put(struct pmof_srv_req *req)
{
	pmof_session_stat(req->queue->session, PMOF_SRV_PUTS, 1);
	return pmof_rpc_fill_status(req, PMOF_SC_OK);
}

const struct pmof_flush_ops pmof_flush_put = {
	.work	= work_put,
	.reply	= reply_put,
};

/* A slice ends where a line does, so that no line is stored to twice. */
static bool work_zero(struct pmof_srv_req *req, u64 left, struct pmof_write_backs *wb)
{
	struct pmof_session *s = req->queue->session;
	struct pmof_range *r = &req->zero;
	u64 n = min(r->length, left - r->offset % PMOF_LINE_SIZE);

	pmof_write_backs_count(wb, s, pmof_persist_zero(s->ns, r->offset, n));
	pmof_session_stat(s, PMOF_SRV_BYTES_ZEROED, n);
	r->offset += n;
	r->length -= n;
	return !r->length;
}

static u32 reply_zero(struct pmof_srv_req *req)
{
	pmof_session_stat(req->queue->session, PMOF_SRV_ZEROES, 1);
	return pmof_rpc_fill_status(req, PMOF_SC_OK);
}

const struct pmof_flush_ops pmof_flush_zero = {
	.work	= work_zero,
	.reply	= reply_zero,
};
