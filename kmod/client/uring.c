// SPDX-License-Identifier: GPL-2.0
/* io_uring's URING_CMD: struct pmof_op in the command area of a 128-byte SQE. */
#include <linux/fs.h>

#include "client.h"
#include "compat.h"

/* Bytes of the command area. */
#define CMD_BYTES	80

static_assert(sizeof(struct pmof_op) <= CMD_BYTES);

/* In the command, while it is under way. */
struct uring_pdu {
	struct pmof_async *async;
	struct pmof_queue *q;	/* lives as long as the file */
};

static struct uring_pdu *pdu_of(struct io_uring_cmd *cmd)
{
	static_assert(sizeof(struct uring_pdu) <= sizeof(cmd->pdu));
	return (struct uring_pdu *)cmd->pdu;
}

/* Copies the descriptor, once: user space may change it meanwhile. */
static int fetch(struct io_uring_cmd *cmd, unsigned int issue_flags, struct pmof_req *req)
{
	struct pmof_op op;
	u8 area[CMD_BYTES];
	u32 size;

	if (cmd->cmd_op != PMOF_URING_CMD_OP)
		return -ENOTTY;
	if (!(issue_flags & IO_URING_F_SQE128))
		return -EINVAL;
	memcpy(area, pmof_uring_cmd_area(cmd), sizeof(area));
	barrier();
	memcpy(&op, area, sizeof(op));
	size = op.size;
	if (size < sizeof(op))
		return -EINVAL;
	/* There is no room for what a larger one might have. */
	if (size > sizeof(op))
		return -E2BIG;
	return pmof_op_to_req(&op, size, req);
}

/* With a registered buffer: its pages, which the ring holds until the command has ended. */
static int import_fixed(struct io_uring_cmd *cmd, struct pmof_req *req)
{
	bool get = req->opcode == PMOF_OP_GET;
	u64 bytes = pmof_req_bytes(req);

	if (!(cmd->flags & IORING_URING_CMD_FIXED))
		return 0;
	if (!get && req->opcode != PMOF_OP_PUT)
		return -EINVAL;
	if (!bytes)
		return 0;
	req->has_iter = true;
	return io_uring_cmd_import_fixed(req->addr, bytes, get ? READ : WRITE, &req->iter, cmd);
}

static void uring_done(struct pmof_async *a, int rc, unsigned int issue_flags)
{
	struct io_uring_cmd *cmd = a->cmd;
	u64 old = rc ? 0 : a->req.old;

	pmof_call_free(&a->req);
	pmof_async_free(a);
	io_uring_cmd_done(cmd, rc, old, issue_flags);
}

static void uring_again_done(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct pmof_async *a = pdu_of(cmd)->async;

	uring_done(a, a->result, issue_flags);
}

/* Its connection was lost; there is another, or there will be none in time. */
static void uring_again_work(struct work_struct *work)
{
	struct pmof_async *a = container_of(work, struct pmof_async, parked.work);

	a->result = pmof_async_run(a);
	if (unlikely(a->result == -PMOF_LOST)) {
		pmof_async_again(a, uring_again_work);
		return;
	}
	io_uring_cmd_complete_in_task(a->cmd, uring_again_done);
}

/*
 * A CALL's reply goes to user space's memory: what takes the place of a task that ends has
 * another one, or none.
 */
static int deliver(struct pmof_async *a)
{
	return a->mm == current->mm ? pmof_call_deliver(&a->req) : -EFAULT;
}

/* In the task that has submitted it, or what takes its place. */
static void uring_task_work(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct pmof_async *a = pdu_of(cmd)->async;
	int rc;

	/* As rw_sleeping_work(). */
	if (a->req.status != -PMOF_LOST)
		pmof_req_cache_end(a->req.q->conn, &a->req);
	rc = pmof_req_end(&a->req, a->req.opcode == PMOF_OP_GET);
	if (unlikely(rc == -PMOF_LOST)) {
		pmof_async_again(a, uring_again_work);
		return;
	}
	if (!rc && pmof_req_is_call(&a->req))
		rc = deliver(a);
	uring_done(a, rc, issue_flags);
}

/* Any context. */
static void uring_end(struct pmof_req *req)
{
	struct pmof_async *a = container_of(req, struct pmof_async, req);

	/* Not lazily: it may be lost, and then begun again, which posts no completion. */
	io_uring_cmd_complete_in_task(a->cmd, uring_task_work);
}

static int uring_start(struct pmof_conn *conn, struct io_uring_cmd *cmd, const struct pmof_req *op)
{
	struct pmof_async *a = pmof_async_alloc(op);
	int rc;

	if (a)
		a->cmd = cmd;
	pdu_of(cmd)->async = a;
	pdu_of(cmd)->q = pmof_req_queue(conn);
	rc = pmof_async_start(conn, a, uring_end);
	if (rc != -EIOCBQUEUED)
		pdu_of(cmd)->q = NULL;
	return rc;
}

/*
 * In a worker of io_uring's, which may sleep.  Not by returning the result: that
 * has no room for the old word, and -EAGAIN has another meaning there.
 */
static int uring_run(struct pmof_conn *conn, struct io_uring_cmd *cmd, struct pmof_req *req,
		     unsigned int issue_flags)
{
	int rc;

	pdu_of(cmd)->q = NULL;
	rc = pmof_req_exec(conn, req);
	pmof_call_free(req);
	io_uring_cmd_done(cmd, rc, rc ? 0 : req->old, issue_flags);
	return -EIOCBQUEUED;
}

/* One operation.  -EAGAIN where it must not sleep: io_uring calls again where it may. */
int pmof_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
	struct pmof_conn *conn = pmof_file_conn(cmd->file);
	struct pmof_req req = { };
	int rc;

	if (issue_flags & IO_URING_F_SQE128)
		pmof_uring_cmd_keep_links(cmd, issue_flags);
	req.file = cmd->file;
	rc = fetch(cmd, issue_flags, &req);
	if (!rc)
		rc = pmof_req_check(conn, &req);
	if (!rc && (pmof_req_mode(&req) & ~cmd->file->f_mode))
		rc = -EBADF;
	if (!rc)
		rc = import_fixed(cmd, &req);
	if (!rc && !(issue_flags & IO_URING_F_NONBLOCK))
		return uring_run(conn, cmd, &req, issue_flags);
	if (!rc)
		rc = uring_start(conn, cmd, &req);
	/* Not begun; if it comes again it is fetched again. */
	if (rc != -EIOCBQUEUED)
		pmof_call_free(&req);
	if (rc == -EAGAIN)
		pmof_uring_cmd_keep_sqe(cmd);
	return rc;
}

int pmof_uring_cmd_iopoll(struct io_uring_cmd *cmd, struct io_comp_batch *batch,
			  unsigned int flags)
{
	struct pmof_queue *q = pdu_of(cmd)->q;

	return q ? pmof_queue_poll(q) : 0;
}
