// SPDX-License-Identifier: GPL-2.0
/* The block device's FLUSH, and DISCARD and WRITE_ZEROES. */
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "blk.h"

#define NO_MEMORY_MS	20	/* before the next try */

static struct request *work_rq(struct work_struct *work)
{
	return blk_mq_rq_from_pdu(container_of(work, struct pmof_blk_cmd, work));
}

static void queue_cmd_work(struct request *rq, work_func_t fn)
{
	struct pmof_blk_cmd *cmd = blk_mq_rq_to_pdu(rq);
	struct pmof_queue *q = rq->mq_hctx->driver_data;

	WRITE_ONCE(cmd->working, true);
	INIT_WORK(&cmd->work, fn);
	queue_work(q->conn->blk->wq, &cmd->work);
}

/*
 * [B3] The writes that it covers have completed, so they are marked: as PERSIST of
 * all.  Waits for another connection by itself, since it must know whether the server
 * has restarted between its first try and the one that succeeds.
 */
static int flush(struct pmof_conn *conn)
{
	struct pmof_range all = { .length = conn->login.ns_size };
	struct pmof_req req = { .opcode = PMOF_OP_PERSIST, .unkillable = true };
	int rc;

	do {
		/* On a queue where tasks sleep: a polled one has slots for READs only. */
		pmof_req_begin(&req, pmof_req_queue(conn));
		rc = pmof_conn_check(conn) ?: conn->persist->persist(req.q, &all);
		if (!rc && req.epoch != READ_ONCE(conn->epoch))
			rc = -PMOF_LOST;
		if (rc == -PMOF_LOST)
			rc = pmof_req_again(conn, &req);
	} while (rc == -EAGAIN);
	/* [V7] The server has restarted before this one was begun, or between two tries. */
	return rc ?: pmof_blk_is_stale(conn->blk) ? -EIO : 0;
}

static void flush_work_fn(struct work_struct *work)
{
	struct request *rq = work_rq(work);
	struct pmof_queue *q = rq->mq_hctx->driver_data;
	struct pmof_conn *conn = q->conn;
	unsigned int noio = memalloc_noio_save();
	int rc;

	rc = flush(conn);
	if (!rc)
		pmof_stat_inc(conn->stats, PMOF_STAT_BLOCK_FLUSHES);
	memalloc_noio_restore(noio);
	pmof_blk_end(rq, rc && READ_ONCE(conn->refuse) ? -PMOF_LOST : rc);
}

void pmof_blk_flush(struct request *rq)
{
	queue_cmd_work(rq, flush_work_fn);
}

/* The caller is inside pmof_post_begin(). */
static void zero_post(struct pmof_queue *q, struct request *rq)
{
	struct pmof_slot *slot = pmof_blk_slot(q, rq);
	struct pmof_range range = pmof_blk_range(rq);
	struct pmof_send send;
	size_t len;

	len = pmof_put_zero(slot->msg.data, slot->tag, &range);
	pmof_send_init(slot, &send, PMOF_MSG_ZERO, len);
	pmof_slot_post(slot, &send.wr, 2);
}

/* With the other queues' WRITEs out of the server's HCA. */
static void zero_work_fn(struct work_struct *work)
{
	struct request *rq = work_rq(work);
	struct pmof_blk_cmd *cmd = blk_mq_rq_to_pdu(rq);
	struct pmof_queue *q = rq->mq_hctx->driver_data;
	unsigned int noio = memalloc_noio_save();
	int rc;

	rc = pmof_persist_flush_queues(q->conn, q, true);
	memalloc_noio_restore(noio);
	WRITE_ONCE(cmd->since, jiffies);
	/* What is to come counts from then: blk_timeout(). */
	smp_store_release(&cmd->working, false);
	if (rc || !pmof_post_begin(q->conn)) {
		pmof_blk_end(rq, rc ?: -PMOF_LOST);
		return;
	}
	if (pmof_blk_is_stale(q->conn->blk)) {
		pmof_conn_leave(q->conn);
		pmof_blk_end(rq, -EIO);
	} else {
		zero_post(q, rq);
	}
	pmof_post_end();
}

/**
 * pmof_blk_zero - send a DISCARD or WRITE_ZEROES
 * @q: queue
 * @rq: started; the caller is inside pmof_post_begin(), whose reference passes on
 *
 * [B4] The server's CPU stores the zeroes, and they are durable when it replies.
 * A WRITE of another queue that has completed before must not land on them: if
 * there may be one, it is pushed out of the server's HCA first, and for that one
 * has to sleep.
 */
void pmof_blk_zero(struct pmof_queue *q, struct request *rq)
{
	if (likely(!pmof_persist_others_dirty(q))) {
		zero_post(q, rq);
		return;
	}
	queue_cmd_work(rq, zero_work_fn);
	pmof_conn_leave(q->conn);
}

/*
 * All of a request's memory as one: what overwrites a bad sector, or a page that has failed,
 * must come as a whole, and may lie in several parts.
 */
static int bad_move(struct pmof_conn *conn, struct request *rq)
{
	u16 opcode = op_is_write(req_op(rq)) ? PMOF_OP_PUT : PMOF_OP_GET;
	struct pmof_range range = pmof_blk_range(rq);
	struct bio_vec vec, *vecs;
	struct req_iterator iter;
	unsigned int nr = 0;
	int rc;

	rq_for_each_bvec(vec, rq, iter)
		nr++;
	vecs = kmalloc_array(nr, sizeof(*vecs), GFP_NOIO);
	if (!vecs)
		return -ENOMEM;
	nr = 0;
	rq_for_each_bvec(vec, rq, iter)
		vecs[nr++] = vec;
	rc = pmof_bad_vecs(conn, opcode, range.offset, vecs, nr, range.length);
	kfree(vecs);
	return rc;
}

/* As where blk_queue_rq() has no memory: what has been done will be done once more. */
static void again_soon(struct request *rq)
{
	blk_mq_requeue_request(rq, false);
	blk_mq_delay_kick_requeue_list(rq->q, NO_MEMORY_MS);
}

/* Reads and writes where there are bad pages, waited for. */
static void bad_work_fn(struct work_struct *work)
{
	struct request *rq = work_rq(work);
	struct pmof_queue *q = rq->mq_hctx->driver_data;
	unsigned int noio = memalloc_noio_save();
	int rc;

	/* As it fails that goes by RDMA. */
	rc = pmof_conn_check(q->conn) ? -PMOF_LOST : bad_move(q->conn, rq);
	if (!rc && pmof_blk_is_stale(q->conn->blk))
		rc = -EIO;
	if (!rc)
		pmof_blk_account(q->conn, rq);
	memalloc_noio_restore(noio);
	if (rc == -ENOMEM)
		again_soon(rq);
	else
		pmof_blk_end(rq, rc);
}

/* What the slot of a request cannot do: more than one post, and waiting between them. */
void pmof_blk_bad(struct request *rq)
{
	queue_cmd_work(rq, bad_work_fn);
}
