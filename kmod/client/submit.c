// SPDX-License-Identifier: GPL-2.0
/* SUBMIT: operations in order on one queue. */
#include "client.h"

/* What comes behind must not start before it has finished: a fence holds it back. */
static bool orders(const struct pmof_req *req)
{
	return req->opcode != PMOF_OP_PUT;
}

/* Bytes that a SUBMIT keeps pinned before it waits. */
#define SUBMIT_MAX_PINNED	((u64)PMOF_WINDOW_PAGES * PAGE_SIZE)

/*
 * The next one is posted only when this one's outcome is known: a fence would
 * not do for what has a reply, or may fail while the connection stays.
 */
static bool waits(const struct pmof_req *req)
{
	return req->opcode == PMOF_OP_PERSIST || pmof_req_is_object(req) ||
	       (req->flags & ~PMOF_F_NOREPLAY);
}

/* A SUBMIT under way. */
struct submit {
	struct pmof_req *req;
	int *result;
	struct pmof_queue *q;
	u32 session, epoch;	/* of all of them */
	unsigned int reaped;	/* operations that have finished */
	bool fence;		/* since then: the next one waits in the HCA */
	bool called;		/* since then: there was a CALL */
	bool got;		/* since then: there was a GET */
	u64 pinned;		/* since then: bytes */
};

/*
 * A fence holds back the HCA, and that is not enough behind a GET for a PUT,
 * whose source we copy or map now, nor for what sends messages, perhaps on
 * another queue.
 */
static bool needs_wait(const struct submit *s, const struct pmof_req *req)
{
	if (s->pinned > SUBMIT_MAX_PINNED)
		return true;
	/*
	 * [K2] A CALL goes behind the PUTs before it: on their queue, and a SEND is
	 * delivered behind its WRITEs.  Nothing but CALLs goes behind one.
	 */
	if (pmof_req_is_call(req))
		return s->fence && !s->called;
	if (s->called)
		return true;
	/* By the marks it covers what has completed. */
	if (req->opcode == PMOF_OP_PERSIST && pmof_dirty_worth(s->q->conn, req->length))
		return true;
	if (req->opcode == PMOF_OP_PERSIST || pmof_req_is_object(req))
		return s->fence;
	return req->opcode == PMOF_OP_PUT && s->got;
}

/* Posted one behind the other, and waited for together: that is one round trip. */
static void share_round_trip(struct submit *s, unsigned int to)
{
	bool counted = false;
	unsigned int i;

	for (i = s->reaped; i < to; i++) {
		s->req[i].posted &= !counted;
		counted |= s->req[i].posted;
	}
}

/*
 * What comes behind one that is lost is begun again: what its file is to be told is not told by
 * a result that nobody sees.
 */
static int submit_finish(struct pmof_req *req, bool again)
{
	struct file *file = req->file;
	int rc;

	if (again)
		req->file = NULL;
	rc = pmof_req_finish(req);
	req->file = file;
	return rc;
}

/* Finishes the operations before @to; returns the first error. */
static int submit_reap(struct submit *s, unsigned int to)
{
	bool again = false;
	unsigned int i;
	int rc = 0;

	share_round_trip(s, to);
	for (i = s->reaped; i < to; i++) {
		int finished = submit_finish(&s->req[i], again);

		if (!s->result[i])
			s->result[i] = finished;
		if (!rc)
			rc = s->result[i];
		again |= s->result[i] == -PMOF_LOST;
	}
	s->reaped = to;
	s->fence = false;
	s->called = false;
	s->got = false;
	s->pinned = 0;
	return rc;
}

/*
 * PREPAREs that follow each other go together, and so do REVALIDATEs: how many.  What may
 * not be done twice not with what may: they share the message's fate.
 */
static unsigned int group_size(const struct pmof_req *req, unsigned int nr)
{
	unsigned int n = 1;

	if (!pmof_req_is_object(req))
		return 1;
	while (n < nr && req[n].opcode == req->opcode && req[n].only == req->only &&
	       req[n].flags == req->flags)
		n++;
	return n;
}

/* They have failed: none is counted, and no file's record of what was lost is told by it. */
static void never_issued(struct pmof_req *req, unsigned int n, int rc)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		req[i].status = req[i].status ?: rc;
}

/* Issues the next operation, or a group of @n, which has one result so far. */
static int submit_issue(struct submit *s, unsigned int first, unsigned int n)
{
	struct pmof_req *req = &s->req[first];
	unsigned int i;
	int rc = 0;

	for (i = 0; i < n; i++) {
		if (!rc)
			rc = pmof_req_cache_begin(s->q->conn, &req[i]);
		pmof_req_begin(&req[i], s->q);
		/* [V4] The write-out may have waited for another connection. */
		req[i].session = s->session;
		req[i].epoch = s->epoch;
		req[i].pipelined = true;
		req[i].leader = i ? req : NULL;
	}
	req->group = n;
	req->fence = s->fence && !s->called;
	if (!rc)
		rc = pmof_req_reissue(s->q->conn, req);
	if (rc == -EAGAIN)
		rc = pmof_req_issue(req);
	else if (rc)
		never_issued(req, n, rc);
	for (i = 0; i < n; i++)
		s->result[first + i] = rc;
	s->fence = orders(req) || (s->fence && req->fence);
	s->called |= pmof_req_is_call(req);
	s->got |= req->opcode == PMOF_OP_GET;
	s->pinned += req->length;
	return rc;
}

/* Runs them from @i on, on one connection.  Returns the first that was not begun. */
static unsigned int submit_once(struct pmof_conn *conn, struct pmof_req *req, int *result,
				unsigned int i, unsigned int nr)
{
	struct submit s = {
		.req = req, .result = result, .q = pmof_req_queue(conn), .reaped = i,
	};
	unsigned int n, first = i;
	int rc = 0;

	/* In this order, as in pmof_req_begin(): a session with the epoch before it is lost. */
	s.session = smp_load_acquire(&conn->session);
	s.epoch = READ_ONCE(conn->epoch);
	for (; i < nr && !rc; i += n) {
		n = 0;
		if (needs_wait(&s, &req[i]))
			rc = submit_reap(&s, i);
		if (rc)
			continue;
		n = group_size(&req[i], nr - i);
		rc = submit_issue(&s, i, n);
		if (!rc && waits(&req[i]))
			rc = submit_reap(&s, i + n);
	}
	submit_reap(&s, i);
	for (n = first; n < i; n++)
		pmof_req_cache_end(conn, &req[n]);
	return i;
}

/* The first from @i on that has failed, or whose connection was lost; or @end. */
static unsigned int find_failed(const int *result, unsigned int i, unsigned int end)
{
	while (i < end && !result[i])
		i++;
	return i;
}

/* Of an operation behind one that has failed. */
static int not_known(struct pmof_conn *conn, const struct pmof_req *req)
{
	return req->sent ? pmof_conn_gone_errno(conn) : -ECANCELED;
}

/**
 * pmof_submit_run - run operations in order
 * @conn: connection
 * @req: checked operations
 * @result: per operation: 0 or a negative errno
 * @nr: how many
 *
 * Puts are pipelined.  A GET or an atomic orders what comes behind it with
 * IB_SEND_FENCE, anything durable is waited for, and so is what may fail by
 * itself.  After an error nothing more is posted: what was not is -ECANCELED, and what
 * was and is not known to have succeeded has failed with the connection.
 * If the connection is lost, the first operation that was not through, and all
 * behind it, are begun again on another one.  Sleeps.
 */
void pmof_submit_run(struct pmof_conn *conn, struct pmof_req *req, int *result, unsigned int nr)
{
	unsigned int i, end, lost = 0;
	int rc;

	for (i = 0; i < nr; i++)
		req[i].from = req[i].iter;
	for (;;) {
		end = submit_once(conn, req, result, lost, nr);
		lost = find_failed(result, lost, end);
		if (lost == end || result[lost] != -PMOF_LOST)
			break;
		rc = pmof_req_again(conn, &req[lost]);
		if (rc != -EAGAIN)
			result[lost++] = rc;
		if (rc && rc != -EAGAIN) {
			end = lost;
			break;
		}
		for (i = lost; i < end; i++)
			req[i].iter = req[i].from;
	}
	for (i = lost; i < nr; i++)
		if (i >= end || result[i] == -PMOF_LOST)
			result[i] = not_known(conn, &req[i]);
}
