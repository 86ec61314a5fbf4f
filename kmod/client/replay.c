// SPDX-License-Identifier: GPL-2.0
/*
 * Operations whose connection was lost before they were through: the one place
 * where that becomes another try or an error.
 *
 * All slots of the operation have ended, and no queue pair that had them is
 * left, at either end: the server answers a login when the client's earlier
 * queue pairs are drained.  So nothing of it can take effect any more, and it is
 * begun again as a whole, as if it came only now.
 */
#include "client.h"
#include "trace.h"

/* What the session may do, which another connection may have changed.  Return: 0 or -errno. */
int pmof_req_allowed(const struct pmof_conn *conn, const struct pmof_req *req)
{
	if (pmof_req_writes(req) && pmof_conn_read_only(conn))
		return -EROFS;
	if (pmof_req_is_atomic(req) && !(READ_ONCE(conn->features) & PMOF_FEAT_ATOMICS))
		return -EOPNOTSUPP;
	if (pmof_req_is_call(req) && conn->login.service == PMOF_SERVICE_RAW)
		return -EOPNOTSUPP;
	/* A service has the namespace's objects for itself: the server refuses these. */
	if ((pmof_req_is_object(req) || req->flags & PMOF_F_COMMIT) &&
	    conn->login.service != PMOF_SERVICE_RAW)
		return -EOPNOTSUPP;
	return 0;
}

/*
 * It may be the request itself that breaks each connection, at either end: then it is
 * begun again so often only, or nobody else would get anywhere.
 */
static bool worn_out(const struct pmof_conn *conn, struct pmof_req *req)
{
	if (req->losses++ < PMOF_MAX_RETRIES)
		return false;
	dev_warn_ratelimited(&conn->dev, "operation %u on %llu bytes at %llu: the connection was lost %u times under it, it fails\n",
			     req->opcode, req->length, req->offset, req->losses);
	return true;
}

/* What was posted of it may have happened: may it happen a second time? */
static bool replayable(const struct pmof_req *req)
{
	if (!req->sent)
		return true;
	return !pmof_req_is_atomic(req) && !pmof_req_is_call(req) && !req->only &&
	       !(req->flags & PMOF_F_NOREPLAY);
}

/*
 * [V6] A commit may have happened, and then the object is not prepared any more: ask.
 * With PF set its data are durable [C2]; REVALIDATE makes PF so, and sets VF [C9].
 * Return: 0: it has been committed; -EAGAIN: it has not; -ESTALE; -PMOF_LOST; another
 * errno.
 */
static int commit_look(struct pmof_conn *conn, const struct pmof_req *req)
{
	struct pmof_req look = {
		.opcode		= PMOF_OP_REVALIDATE,
		.offset		= req->offset,
		.length		= req->length,
	};
	int rc, finished;

	pmof_req_begin(&look, req->q);
	rc = pmof_req_issue(&look);
	finished = pmof_req_finish(&look);
	rc = rc ?: finished;
	if (!rc && look.old != req->operand)
		rc = -ESTALE;
	/* [M3] A page may have come back ahead of VF: it would keep the trailer as it was. */
	if (!rc)
		pmof_req_cache_end(conn, req);
	return rc;
}

/*
 * An operation of a SUBMIT that was posted, and lost together with one before
 * it, is due again.  Return: -EAGAIN: issue it; 0: it has succeeded; its error.
 */
int pmof_req_reissue(struct pmof_conn *conn, const struct pmof_req *req)
{
	if (!replayable(req))
		return pmof_conn_gone_errno(conn);
	if ((req->flags & PMOF_F_COMMIT) && req->sent)
		return commit_look(conn, req);
	return pmof_req_allowed(conn, req) ?: -EAGAIN;
}

static int wait_and_look(struct pmof_conn *conn, struct pmof_req *req)
{
	int rc;

	do {
		if (req->parks && !pmof_conn_decided(conn))
			return -PMOF_LOST;
		if (worn_out(conn, req))
			return -EIO;
		rc = req->parks ? READ_ONCE(conn->refuse) : pmof_conn_wait(conn, !req->unkillable);
		if (rc)
			return rc;
		rc = -EAGAIN;
		if ((req->flags & PMOF_F_COMMIT) && req->sent)
			rc = commit_look(conn, req);
	} while (rc == -PMOF_LOST);
	return rc;
}

/**
 * pmof_req_again - an operation has ended with -PMOF_LOST
 * @conn: connection
 * @req: finished
 *
 * Waits for another connection, with req->nowait only if there is no error
 * now.  Return: -EAGAIN: begin it again; 0: it has succeeded after all; what it is to
 * fail with; with req->parks, instead of waiting, -PMOF_LOST.
 */
int pmof_req_again(struct pmof_conn *conn, struct pmof_req *req)
{
	int rc;

	if (!replayable(req))
		return pmof_conn_gone_errno(conn);
	if (req->nowait)
		return pmof_conn_check(conn) ?: -EAGAIN;
	rc = wait_and_look(conn, req);
	if (rc != -EAGAIN)
		return rc;
	rc = pmof_req_allowed(conn, req);
	/* [V5] What it covers may be gone, and it cannot tell. */
	if (!rc && req->opcode == PMOF_OP_PERSIST && req->epoch != READ_ONCE(conn->epoch)) {
		/* The file is told now, and not a second time. */
		rc = req->file ? file_check_and_advance_wb_err(req->file) : 0;
		rc = rc ?: -EIO;
	}
	if (rc)
		return rc;
	if (req->sent)
		pmof_stat_inc(conn->stats, PMOF_STAT_REPLAYS);
	trace_pmof_replay(conn->instance, req->opcode, req->offset, req->length);
	return -EAGAIN;
}
