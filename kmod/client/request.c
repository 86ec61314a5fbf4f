// SPDX-License-Identifier: GPL-2.0
/* Operations: validate, issue, wait. */
#include <linux/fs.h>
#include <linux/uaccess.h>

#include "client.h"
#include "trace.h"

bool pmof_req_is_atomic(const struct pmof_req *req)
{
	return req->opcode == PMOF_OP_CAS || req->opcode == PMOF_OP_FETCH_ADD;
}

bool pmof_req_writes(const struct pmof_req *req)
{
	if (pmof_req_is_call(req))
		return req->asked < PMOF_MSG_SERVICE_READ;
	return req->opcode == PMOF_OP_PUT || pmof_req_is_atomic(req) || pmof_req_is_object(req);
}

/* Whether the range must be an object. */
static bool wants_object(const struct pmof_req *req)
{
	return pmof_req_is_object(req) || (req->flags & (PMOF_F_COMMIT | PMOF_F_VALID));
}

/* The flags that an operation takes; no such operation: none, and -EINVAL later. */
static u32 known_flags(u16 opcode)
{
	switch (opcode) {
	case PMOF_OP_PUT:
		return PMOF_F_PERSIST | PMOF_F_COMMIT | PMOF_F_NOREPLAY;
	case PMOF_OP_GET:
		return PMOF_F_VALID | PMOF_F_NOREPLAY;
	case PMOF_OP_CAS:
	case PMOF_OP_FETCH_ADD:
		return PMOF_F_PERSIST | PMOF_F_NOREPLAY;
	case PMOF_OP_PERSIST:
	case PMOF_OP_PREPARE:
	case PMOF_OP_REVALIDATE:
		return PMOF_F_NOREPLAY;
	case PMOF_OP_CALL:
		return PMOF_F_NOREPLAY | PMOF_F_ORDERED;
	default:
		return 0;
	}
}

/* The fields that the opcode has no use for. */
static bool unused_fields_zero(const struct pmof_req *req)
{
	switch (req->opcode) {
	case PMOF_OP_PUT:
		return !req->compare && (!req->operand || (req->flags & PMOF_F_COMMIT));
	case PMOF_OP_GET:
		return !req->compare && !req->operand;
	case PMOF_OP_PERSIST:
	case PMOF_OP_PREPARE:
	case PMOF_OP_REVALIDATE:
		return !req->compare && !req->operand && !req->addr;
	case PMOF_OP_FETCH_ADD:
		return !req->compare && !req->addr;
	case PMOF_OP_CAS:
		return !req->addr;
	case PMOF_OP_CALL:
		return !req->offset && !req->operand;
	default:
		return false;
	}
}

static int check_shape(const struct pmof_conn *conn, const struct pmof_req *req)
{
	if (!unused_fields_zero(req) || req->flags & ~known_flags(req->opcode))
		return -EINVAL;
	if (pmof_req_is_call(req))
		return pmof_call_check(conn, req);
	if (req->asked || req->room)
		return -EINVAL;
	if (pmof_req_is_atomic(req) && (req->length != sizeof(u64) || !IS_ALIGNED(req->offset, 8)))
		return -EINVAL;
	if (wants_object(req) && (!IS_ALIGNED(req->offset, 8) || !IS_ALIGNED(req->length, 8) ||
				  req->length < PMOF_OBJECT_MIN))
		return -EINVAL;
	if (req->flags & PMOF_F_COMMIT && !pmof_generation_ok(req->operand))
		return -EINVAL;
	return 0;
}

/* The iterator of a put or get, from the address that user space gave. */
static int import(struct pmof_req *req)
{
	void __user *addr = u64_to_user_ptr(req->addr);
	size_t bytes = pmof_req_bytes(req);
	bool get = req->opcode == PMOF_OP_GET;

	if (!access_ok(addr, bytes))
		return -EFAULT;
	iov_iter_ubuf(&req->iter, get ? ITER_DEST : ITER_SOURCE, addr, bytes);
	return 0;
}

/**
 * pmof_req_check - the door: everything that can be wrong with an operation
 * @conn: connection
 * @req: filled from user space
 *
 * Return: 0, -EINVAL, -ERANGE, -EROFS, -EOPNOTSUPP, -EFAULT or -ENOMEM.
 */
int pmof_req_check(struct pmof_conn *conn, struct pmof_req *req)
{
	int rc = check_shape(conn, req);

	if (rc)
		return rc;
	if (!pmof_range_ok(req->offset, req->length, conn->login.ns_size))
		return -ERANGE;
	rc = pmof_req_allowed(conn, req);
	if (rc)
		return rc;
	if (pmof_req_is_call(req))
		return pmof_call_import(req);
	if ((req->opcode == PMOF_OP_PUT || req->opcode == PMOF_OP_GET) && !req->has_iter)
		return import(req);
	return 0;
}

/* What the file must be open for. */
fmode_t pmof_req_mode(const struct pmof_req *req)
{
	switch (req->opcode) {
	case PMOF_OP_PERSIST:
		return 0;
	case PMOF_OP_GET:
		return FMODE_READ;
	case PMOF_OP_PUT:
	case PMOF_OP_PREPARE:
	case PMOF_OP_REVALIDATE:
		return FMODE_WRITE;
	case PMOF_OP_CALL:
		return pmof_req_writes(req) ? FMODE_WRITE : FMODE_READ;
	default:
		return FMODE_READ | FMODE_WRITE;
	}
}

/* Bytes that a put or get moves: the trailer of a committed put is not the caller's. */
u64 pmof_req_bytes(const struct pmof_req *req)
{
	return req->length - (req->flags & PMOF_F_COMMIT ? PMOF_TRAILER_SIZE : 0);
}

/* [P4] An operation stays on one queue: this CPU's.  Polled ones are the block device's. */
struct pmof_queue *pmof_req_queue(struct pmof_conn *conn)
{
	return &conn->queues[raw_smp_processor_id() % conn->nr_shared];
}

void pmof_req_begin(struct pmof_req *req, struct pmof_queue *q)
{
	req->q = q;
	/* [V4] Ahead of all that depends on the connection: it is that one's, or a later one's. */
	req->session = smp_load_acquire(&q->conn->session);
	req->epoch = READ_ONCE(q->conn->epoch);
	req->copy_max = READ_ONCE(q->conn->copy_max);
	req->fence = false;
	req->posted = false;
	req->status = 0;
	req->group = 1;
	req->leader = NULL;
	req->committed = false;
	req->kept = NULL;
	req->window.vec = NULL;
	req->window.nr = 0;
	atomic_set(&req->pending, 1);
	init_completion(&req->done);
}

/* The method of a durable put or atomic, which it keeps to its end. */
static void pick_method(struct pmof_req *req)
{
	struct pmof_conn *conn = req->q->conn;

	if (!(req->flags & (PMOF_F_PERSIST | PMOF_F_COMMIT)))
		return;
	req->persist = pmof_persist_pick(conn, req->length);
	trace_pmof_method(conn->instance, req->q->id, req->offset, req->length,
			  req->persist->method);
}

static int issue_put(struct pmof_req *req)
{
	const struct pmof_persist_ops *ops;
	int rc;

	pick_method(req);
	if (!(req->flags & PMOF_F_COMMIT))
		return pmof_transfer(req);
	ops = req->persist;
	if (req->nowait && ops->finish_commit && !ops->commit_posted)
		return -EAGAIN;
	rc = pmof_transfer(req);
	if (!rc && ops->finish_commit)
		rc = ops->finish_commit(req);
	return rc;
}

static int issue_persist(struct pmof_req *req)
{
	struct pmof_range range = { req->offset, req->length };
	struct pmof_conn *conn = req->q->conn;
	bool live = READ_ONCE(conn->state) == PMOF_LIVE;
	int rc;

	if (!req->length)
		return 0;
	/* Waits for other queues, or for several messages. */
	if (req->nowait)
		return -EAGAIN;
	rc = conn->persist->persist(req->q, &range);
	/* It posts by requests of its own: what was begun on a connection counts as sent. */
	req->sent |= live && rc == -PMOF_LOST;
	return rc;
}

/* Others go by messages alone, and the server says where that cannot be. */
static bool by_rdma(const struct pmof_req *req)
{
	return req->opcode == PMOF_OP_PUT || req->opcode == PMOF_OP_GET || pmof_req_is_atomic(req);
}

static int req_issue_op(struct pmof_req *req)
{
	if (by_rdma(req) && pmof_bad_hit(req->q->conn, req->offset, req->length))
		return pmof_bad_issue(req);
	switch (req->opcode) {
	case PMOF_OP_PUT:
		return issue_put(req);
	case PMOF_OP_GET:
		return req->flags & PMOF_F_VALID ? pmof_valid_get(req) : pmof_transfer(req);
	case PMOF_OP_PERSIST:
		return issue_persist(req);
	case PMOF_OP_PREPARE:
	case PMOF_OP_REVALIDATE:
		return pmof_objects_issue(req);
	case PMOF_OP_CALL:
		return pmof_call_issue(req);
	default:
		pick_method(req);
		return pmof_transfer_atomic(req);
	}
}

/* Starts an operation.  Whatever the result, pmof_req_finish() must follow. */
int pmof_req_issue(struct pmof_req *req)
{
	int rc = -ESTALE;

	trace_pmof_start(req->q->conn->instance, req->q->id, req->opcode, req->offset,
			 req->length);
	/* All it posts is on the connection that it was begun on: pmof_slot_begin(). */
	if (!req->only || req->only == req->session)
		rc = req_issue_op(req);
	/* So that it is not counted as done. */
	if (rc)
		cmpxchg(&req->status, 0, rc);
	return pmof_bad_errno(rc);
}

/* One of its slots is about to be posted. */
void pmof_req_posting(struct pmof_req *req, struct ib_send_wr *first)
{
	if (req->fence) {
		first->send_flags |= IB_SEND_FENCE;
		req->fence = false;
	}
	req->posted = true;
	req->sent = true;
	atomic_inc(&req->pending);
}

/* The other end of pmof_req_posting().  Any context. */
void pmof_req_piece_done(struct pmof_req *req, int status)
{
	if (status)
		cmpxchg(&req->status, 0, status);
	if (!atomic_dec_and_test(&req->pending))
		return;
	if (req->end)
		req->end(req);
	else
		complete(&req->done);
}

/* No slot of it is under way any more. */
static void count_round_trip(struct pmof_req *req)
{
	if (req->posted)
		pmof_stat_inc(req->q->conn->stats, PMOF_STAT_ROUND_TRIPS);
	req->posted = false;
}

/*
 * Waits until no slot of the request is under way and releases its pages; the
 * request can go on to post more.  Bounded: a server that does not answer in
 * time loses the connection, whose teardown then ends every slot.
 */
int pmof_req_wait(struct pmof_req *req)
{
	struct pmof_conn *conn = req->q->conn;

	if (!atomic_dec_and_test(&req->pending)) {
		if (!pmof_req_wait_done(req)) {
			pmof_conn_lost(conn, PMOF_NO_ANSWER);
			wait_for_completion(&req->done);
		}
		reinit_completion(&req->done);
	}
	atomic_set(&req->pending, 1);
	count_round_trip(req);
	pmof_window_release(req, req->opcode == PMOF_OP_GET);
	return req->status;
}

static void account(struct pmof_req *req)
{
	struct pmof_stats __percpu *stats = req->q->conn->stats;
	u64 bytes = pmof_req_bytes(req);

	switch (req->opcode) {
	case PMOF_OP_PUT:
		pmof_stat_inc(stats, PMOF_STAT_PUTS);
		pmof_stat_add(stats, PMOF_STAT_BYTES_PUT, bytes);
		if (req->flags & PMOF_F_COMMIT)
			pmof_stat_inc(stats, PMOF_STAT_COMMITS);
		break;
	case PMOF_OP_GET:
		pmof_stat_inc(stats, PMOF_STAT_GETS);
		pmof_stat_add(stats, PMOF_STAT_BYTES_GOT, bytes);
		if (req->flags & PMOF_F_VALID)
			pmof_stat_inc(stats, PMOF_STAT_VALID_GETS);
		break;
	case PMOF_OP_PERSIST:
		pmof_stat_inc(stats, PMOF_STAT_PERSISTS);
		break;
	case PMOF_OP_PREPARE:
		pmof_stat_inc(stats, PMOF_STAT_PREPARES);
		break;
	case PMOF_OP_REVALIDATE:
		pmof_stat_inc(stats, PMOF_STAT_REVALIDATES);
		break;
	case PMOF_OP_CALL:
		pmof_stat_inc(stats, PMOF_STAT_CALLS);
		break;
	default:
		pmof_stat_inc(stats, PMOF_STAT_ATOMICS);
		break;
	}
}

/*
 * [V5] What has completed and is not durable, for a later PERSIST to find.  Return: 0, or
 * -PMOF_LOST if the server has restarted meanwhile, and it may be gone: whoever has
 * looked for marks then has not seen ours, or we see the new epoch.
 */
static int mark_dirty(struct pmof_req *req)
{
	if ((req->opcode != PMOF_OP_PUT && !pmof_req_is_atomic(req)) || !req->length ||
	    (req->flags & (PMOF_F_PERSIST | PMOF_F_COMMIT)))
		return 0;
	pmof_dirty_mark(req->q->conn, req->offset, req->length);
	return req->epoch == READ_ONCE(req->q->conn->epoch) ? 0 : -PMOF_LOST;
}

/* A PERSIST covers what was put before it: of what was lost then it must not say "safe". */
static int persisted(struct pmof_req *req)
{
	struct pmof_conn *conn = req->q->conn;
	bool only = req->only && req->length;

	if (req->opcode != PMOF_OP_PERSIST)
		return 0;
	/*
	 * Where it names its session: its messages are not its own, and may have gone on another
	 * connection; and where there were none an attempt may have settled what it was about.
	 */
	if (req->epoch != READ_ONCE(conn->epoch) ||
	    (only && !pmof_conn_is_still(conn, req->session))) {
		/* That one may not be begun on another one. */
		req->sent |= only;
		return -PMOF_LOST;
	}
	/* [V7] It has found no marks because they were dropped: the record is behind them. */
	smp_rmb();
	return req->file ? file_check_and_advance_wb_err(req->file) : 0;
}

/* An operation's result, from that of its slots; counts it. */
static int req_result(struct pmof_req *req, int rc)
{
	/* One message for all of them: its fate is everybody's. */
	if (!rc && req->leader)
		rc = READ_ONCE(req->leader->status);
	if (!rc && req->opcode == PMOF_OP_REVALIDATE && !req->old)
		rc = -EAGAIN;
	if (!rc)
		rc = mark_dirty(req);
	if (!rc)
		rc = persisted(req);
	if (!rc)
		account(req);
	return pmof_bad_errno(rc);
}

/*
 * Waits for an issued operation and delivers a bounced get.  Returns its status.
 * The leader of a group is finished before the others of it.
 */
int pmof_req_finish(struct pmof_req *req)
{
	int rc = pmof_req_wait(req);

	pmof_window_end(req);
	rc = req_result(req, pmof_transfer_end(req, rc));
	if (!rc && pmof_req_is_call(req))
		rc = pmof_call_deliver(req);
	return rc;
}

/*
 * Before it is issued: what was stored to its range through mappings goes to the
 * server.  Sleeps, or with req->nowait fails with -EAGAIN.
 */
int pmof_req_cache_begin(struct pmof_conn *conn, const struct pmof_req *req)
{
	struct pmof_range range = { req->offset, req->length };

	if (!pmof_cache_used(conn) || pmof_req_is_call(req))
		return 0;
	return req->nowait ? -EAGAIN : pmof_cache_write_out(conn, &range);
}

/* Whether pmof_req_cache_end() has work to do, and so may sleep. */
bool pmof_req_cache_stale(const struct pmof_conn *conn, const struct pmof_req *req)
{
	return pmof_req_writes(req) && !pmof_req_is_call(req) && pmof_cache_used(conn);
}

/* [M3] After it has finished, before its owner hears of that: mappings get what it has written. */
void pmof_req_cache_end(struct pmof_conn *conn, const struct pmof_req *req)
{
	struct pmof_range range = { req->offset, req->length };

	if (pmof_req_cache_stale(conn, req))
		pmof_cache_invalidate(conn, &range);
}

/* Before either of those below issues it. */
static int req_ready(struct pmof_conn *conn, struct pmof_req *req)
{
	int rc = pmof_conn_check(conn) ?: pmof_req_cache_begin(conn, req);

	if (rc)
		return rc;
	req->pipelined = false;
	pmof_req_begin(req, pmof_req_queue(conn));
	/* [V4] The write-out may have waited for another connection, which may do less. */
	return pmof_req_allowed(conn, req);
}

/* On one connection.  Return: as pmof_req_exec(), and -PMOF_LOST. */
static int exec_once(struct pmof_conn *conn, struct pmof_req *req)
{
	int rc = req_ready(conn, req), finished;

	if (rc) {
		/* Of what was lost before, a part may have happened. */
		if (req->sent)
			pmof_req_cache_end(conn, req);
		return rc;
	}
	rc = pmof_req_issue(req);
	finished = pmof_req_finish(req);
	rc = rc ?: finished;
	/* Of one that is lost later: its pages may be waiting for another connection, too. */
	if (rc != -PMOF_LOST)
		pmof_req_cache_end(conn, req);
	return rc;
}

/**
 * pmof_req_exec - run a checked operation to its end
 * @conn: connection
 * @req: pmof_req_check() has passed it
 *
 * Return: 0 or an errno of the uapi contract; with req->parks also -PMOF_LOST, for
 * pmof_req_again().  Sleeps; with req->nowait only for what has been posted.
 */
int pmof_req_exec(struct pmof_conn *conn, struct pmof_req *req)
{
	int rc;

	req->from = req->iter;
	rc = exec_once(conn, req);

	while (unlikely(rc == -PMOF_LOST) && !req->parks) {
		rc = pmof_req_again(conn, req);
		if (rc != -EAGAIN || req->nowait) {
			/* A part of it may have happened. */
			pmof_req_cache_end(conn, req);
			break;
		}
		req->iter = req->from;
		rc = exec_once(conn, req);
	}
	return rc;
}

/* The same with the check. */
int pmof_req_run(struct pmof_conn *conn, struct pmof_req *req)
{
	return pmof_req_check(conn, req) ?: pmof_req_exec(conn, req);
}

/* One slot's, so with an error it is none. */
static int start_once(struct pmof_conn *conn, struct pmof_req *req)
{
	int rc = req_ready(conn, req);

	if (rc)
		return rc;
	rc = pmof_req_issue(req);
	if (rc) {
		pmof_window_release(req, false);
		pmof_window_end(req);
	}
	return rc;
}

/**
 * pmof_req_start - start a checked operation that nobody waits for
 * @conn: connection
 * @req: with @end and @nowait set; lives until @end is called
 *
 * Does not sleep.  What would need to, because it takes more than one wait or
 * what it needs is not there now, is -EAGAIN: for pmof_req_exec().
 *
 * Return: 0: @end has been or will be called; otherwise nothing has been posted.
 */
int pmof_req_start(struct pmof_conn *conn, struct pmof_req *req)
{
	int rc = start_once(conn, req);

	/* Who may sleep waits for another connection. */
	if (rc)
		return rc == -PMOF_LOST ? -EAGAIN : rc;
	pmof_req_piece_done(req, 0);
	return 0;
}

/*
 * What @end does first: gives all back, counts, and returns the status.  Any
 * context; with @dirty, which marks the pages of a get, it sleeps.
 */
int pmof_req_end(struct pmof_req *req, bool dirty)
{
	count_round_trip(req);
	pmof_window_release(req, dirty);
	pmof_window_end(req);
	return req_result(req, req->status);
}
