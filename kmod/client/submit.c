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

/* The next one is posted only when this one's reply is here: a fence would not do. */
static bool waits(const struct pmof_req *req)
{
	return req->opcode == PMOF_OP_PERSIST || (req->flags & PMOF_F_PERSIST);
}

/*
 * A fence holds back the HCA, and that is not enough behind a GET for a PUT,
 * whose source we copy or map now, nor for a PERSIST, which sends messages of
 * its own.
 */
static bool needs_wait(const struct pmof_req *req, bool fence, bool got)
{
	return (req->opcode == PMOF_OP_PERSIST && fence) || (req->opcode == PMOF_OP_PUT && got);
}

/* Finishes operations [from, to); returns the first error. */
static int submit_reap(struct pmof_req *req, int *result, unsigned int from, unsigned int to)
{
	int rc = 0;

	for (; from < to; from++) {
		int finished = pmof_req_finish(&req[from]);

		if (!result[from])
			result[from] = finished;
		if (!rc)
			rc = result[from];
	}
	return rc;
}

/**
 * pmof_submit_run - run operations in order
 * @conn: connection
 * @req: checked operations
 * @result: per operation: 0 or a negative errno
 * @nr: how many
 *
 * Puts are pipelined.  A GET or an atomic orders what comes behind it with
 * IB_SEND_FENCE, anything durable is waited for.  After an error nothing more
 * is posted: what was not is -ECANCELED.  Sleeps.
 */
void pmof_submit_run(struct pmof_conn *conn, struct pmof_req *req, int *result, unsigned int nr)
{
	struct pmof_queue *q = pmof_req_queue(conn);
	unsigned int i, reaped = 0;
	bool fence = false, got = false;
	u64 pinned = 0;
	int rc = 0;

	for (i = 0; i < nr; i++) {
		if (needs_wait(&req[i], fence, got) || pinned > SUBMIT_MAX_PINNED) {
			rc = submit_reap(req, result, reaped, i);
			reaped = i;
			fence = false;
			got = false;
			pinned = 0;
		}
		if (rc)
			break;
		pmof_req_begin(&req[i], q);
		req[i].pipelined = true;
		req[i].fence = fence;
		rc = pmof_req_issue(&req[i]);
		result[i] = rc;
		fence = orders(&req[i]) || (fence && req[i].fence);
		got |= req[i].opcode == PMOF_OP_GET;
		pinned += req[i].length;
		if (!rc && waits(&req[i])) {
			rc = submit_reap(req, result, reaped, i + 1);
			reaped = i + 1;
			fence = false;
			got = false;
			pinned = 0;
		}
	}
	submit_reap(req, result, reaped, i);
	for (; i < nr; i++)
		result[i] = -ECANCELED;
}
