// SPDX-License-Identifier: GPL-2.0
/* read_iter and write_iter: any kind of memory, waited for or not. */
#include <linux/fs.h>

#include "client.h"

/* Bytes from @pos to the end of the namespace, at most @len. */
static size_t clip(const struct pmof_conn *conn, loff_t pos, size_t len)
{
	u64 size = conn->login.ns_size;

	return pos < size ? min_t(u64, len, size - pos) : 0;
}

static void rw_req_init(struct pmof_req *req, struct kiocb *iocb, const struct iov_iter *iter,
			u16 opcode, u32 flags, size_t len)
{
	*req = (struct pmof_req) {
		.opcode		= opcode,
		.flags		= flags,
		.offset		= iocb->ki_pos,
		.length		= len,
		.iter		= *iter,
		.has_iter	= true,
		.nowait		= iocb->ki_flags & IOCB_NOWAIT,
		.hipri		= iocb->ki_flags & IOCB_HIPRI,
	};
	iov_iter_truncate(&req->iter, len);
}

/* One operation, waited for.  Returns its bytes or an errno. */
static ssize_t rw_wait(struct kiocb *iocb, struct iov_iter *iter, u16 opcode, u32 flags, size_t len)
{
	struct pmof_conn *conn = pmof_file_conn(iocb->ki_filp);
	size_t more = iov_iter_count(iter) - len;
	struct pmof_req req;
	int rc;

	rw_req_init(&req, iocb, iter, opcode, flags, len);
	rc = pmof_req_run(conn, &req);
	if (rc)
		return rc;
	iocb->ki_pos += len;
	*iter = req.iter;
	iov_iter_reexpand(iter, more);
	return len;
}

/* Started, and completed from its slot. */
static ssize_t rw_start(struct kiocb *iocb, struct iov_iter *iter, u16 opcode, u32 flags,
			size_t len)
{
	struct pmof_conn *conn = pmof_file_conn(iocb->ki_filp);
	struct pmof_req req;
	int rc;

	rw_req_init(&req, iocb, iter, opcode, flags, len);
	rc = pmof_req_check(conn, &req);
	return rc ?: pmof_async_rw(iocb, &req);
}

/* Memory that the HCA is not given (a pipe's, a kernel buffer): in parts, by copies. */
static ssize_t rw_copied(struct kiocb *iocb, struct iov_iter *iter, u16 opcode, u32 flags,
			 size_t len)
{
	struct pmof_conn *conn = pmof_file_conn(iocb->ki_filp);
	ssize_t done = 0, n;

	do {
		size_t part = min_t(size_t, len - done, PMOF_BOUNCE_SIZE);

		part = pmof_layout_piece(&conn->layout, iocb->ki_pos, part);
		if (part < len && (iocb->ki_flags & IOCB_NOWAIT))
			return -EAGAIN;
		n = rw_wait(iocb, iter, opcode, flags, part);
		if (n > 0)
			done += n;
	} while (n > 0 && done < len);
	return done ?: n;
}

/**
 * pmof_rw - a read or write as one operation, clipped at the namespace's end
 * @iocb: where, and how
 * @iter: not empty; moves on with what is not left to run by itself
 * @opcode: PMOF_OP_PUT or PMOF_OP_GET
 * @flags: PMOF_F_PERSIST or 0
 *
 * What has an owner to be told later is started and left to its completion, if
 * that takes one post; the rest is waited for here, or is -EAGAIN where that must
 * not be.
 */
ssize_t pmof_rw(struct kiocb *iocb, struct iov_iter *iter, u16 opcode, u32 flags)
{
	struct pmof_conn *conn = pmof_file_conn(iocb->ki_filp);
	size_t len = clip(conn, iocb->ki_pos, iov_iter_count(iter));
	ssize_t rc;

	if (!len)
		return opcode == PMOF_OP_PUT ? -ENOSPC : 0;
	if (!pmof_window_takes(iter))
		return rw_copied(iocb, iter, opcode, flags, len);
	if (!is_sync_kiocb(iocb)) {
		/* For pmof_iopoll(), which may look at once. */
		WRITE_ONCE(iocb->private, pmof_req_queue(conn));
		rc = rw_start(iocb, iter, opcode, flags, len);
		if (rc != -EAGAIN || iocb->ki_flags & IOCB_NOWAIT)
			return rc;
	}
	return rw_wait(iocb, iter, opcode, flags, len);
}

int pmof_iopoll(struct kiocb *iocb, struct io_comp_batch *batch, unsigned int flags)
{
	struct pmof_queue *q = READ_ONCE(iocb->private);

	return q ? pmof_queue_poll(q) : 0;
}
