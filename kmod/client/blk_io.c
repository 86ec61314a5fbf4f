// SPDX-License-Identifier: GPL-2.0
/*
 * The block device's requests: from a bio's pages to RDMA and back.  What a
 * request needs comes with its tag; nothing is allocated, and nothing sleeps.
 */
#include "blk.h"
#include "trace.h"

/*
 * A request's slot: behind those of the character device.  It is fresh: its last
 * user was the request that had the tag before, and has ended.
 */
struct pmof_slot *pmof_blk_slot(struct pmof_queue *q, struct request *rq)
{
	struct pmof_slot *slot = &q->slots[q->nr_char + rq->tag];

	pmof_slot_reset(slot);
	slot->rq = rq;
	return slot;
}

/* A write that completes when it is placed: a FLUSH makes it durable. */
static bool is_cached(const struct pmof_conn *conn, const struct request *rq)
{
	return conn->opt.writeback && !(rq->cmd_flags & REQ_FUA);
}

/* The bios' own pages.  Return: 0, -ENOMEM (try again), -EIO. */
static int map_data(struct pmof_slot *slot, struct request *rq)
{
	struct bio_vec run = { };
	struct req_iterator iter;
	struct bio_vec bv;
	int rc = 0;

	pmof_slot_map_begin(slot, op_is_write(req_op(rq)) ? DMA_TO_DEVICE : DMA_FROM_DEVICE);
	rq_for_each_bvec(bv, rq, iter) {
		rc = pmof_slot_map_next(slot, &run, &bv);
		if (rc)
			break;
	}
	if (!rc)
		rc = pmof_slot_map_next(slot, &run, NULL);
	if (rc)
		pmof_slot_unmap(slot);
	return rc;
}

/* [B1] Durable when it completes, by what the method puts behind it in the same post. */
static void post_durable(struct pmof_slot *slot, struct pmof_chain *chain,
			 const struct pmof_range *range)
{
	struct pmof_conn *conn = slot->q->conn;
	const struct pmof_persist_ops *persist = pmof_persist_pick(conn, range->length);

	trace_pmof_method(conn->instance, slot->q->id, range->offset, range->length,
			  persist->method);
	persist->post_durable(slot, chain, range);
}

/* Posts a READ or WRITE; false: the reference on the connection has not been passed on. */
static bool post_rw(struct pmof_queue *q, struct request *rq, blk_status_t *status)
{
	struct pmof_range range = pmof_blk_range(rq);
	bool write = req_op(rq) == REQ_OP_WRITE;
	struct pmof_slot *slot = pmof_blk_slot(q, rq);
	struct ib_rdma_wr wr[PMOF_SLOT_WR];
	struct pmof_chain chain;
	int rc;

	rc = map_data(slot, rq);
	if (unlikely(rc)) {
		*status = rc == -ENOMEM ? BLK_STS_RESOURCE : BLK_STS_IOERR;
		return false;
	}
	blk_mq_start_request(rq);
	pmof_rdma_build(slot, wr, &chain, write ? IB_WR_RDMA_WRITE : IB_WR_RDMA_READ,
			range.offset);
	if (write && !is_cached(q->conn, rq))
		post_durable(slot, &chain, &range);
	else
		pmof_slot_post(slot, chain.first, 1);
	return true;
}

/* Starts a request; the caller is inside pmof_post_begin().  False as post_rw(). */
static bool start(struct pmof_queue *q, struct request *rq, blk_status_t *status)
{
	struct pmof_range range = pmof_blk_range(rq);

	switch (req_op(rq)) {
	case REQ_OP_READ:
	case REQ_OP_WRITE:
		if (pmof_bad_hit(q->conn, range.offset, range.length)) {
			blk_mq_start_request(rq);
			pmof_blk_bad(rq);
			return false;
		}
		return post_rw(q, rq, status);
	case REQ_OP_DISCARD:
	case REQ_OP_WRITE_ZEROES:
		blk_mq_start_request(rq);
		pmof_blk_zero(q, rq);
		return true;
	case REQ_OP_FLUSH:
		blk_mq_start_request(rq);
		pmof_blk_flush(rq);
		return false;
	default:
		*status = BLK_STS_NOTSUPP;
		return false;
	}
}

/* Not every way to a read-only disk is closed by the block layer. */
static bool is_barred(const struct pmof_conn *conn, const struct request *rq)
{
	return op_is_write(req_op(rq)) && pmof_conn_read_only(conn);
}

/* The disk is about to be stopped, or what waits is to fail. */
static blk_status_t not_now(const struct pmof_conn *conn)
{
	return READ_ONCE(conn->refuse) ? BLK_STS_TRANSPORT : BLK_STS_RESOURCE;
}

static blk_status_t blk_queue_rq(struct blk_mq_hw_ctx *hctx, const struct blk_mq_queue_data *bd)
{
	struct pmof_queue *q = hctx->driver_data;
	struct pmof_blk_cmd *cmd = blk_mq_rq_to_pdu(bd->rq);
	struct pmof_conn *conn = q->conn;
	struct request *rq = bd->rq;
	blk_status_t status = BLK_STS_OK;

	if (unlikely(READ_ONCE(conn->blk->stale)))
		return BLK_STS_IOERR;
	/* A connection that is lost and not taken apart yet would only lose it once more. */
	if (unlikely(READ_ONCE(conn->lost)))
		return not_now(conn);
	if (unlikely(!pmof_post_begin(conn)))
		return not_now(conn);
	/* Once more, now that no other connection can come: a disk becomes stale between two. */
	if (unlikely(pmof_blk_is_stale(conn->blk) || is_barred(conn, rq))) {
		pmof_conn_leave(conn);
		pmof_post_end();
		return BLK_STS_IOERR;
	}
	trace_pmof_block(conn->instance, q->id, rq->tag, (__force u32)req_op(rq),
			 blk_rq_pos(rq), blk_rq_bytes(rq));
	cmd->working = false;
	cmd->session = conn->session;
	cmd->since = jiffies;
	if (!start(q, rq, &status))
		pmof_conn_leave(conn);
	pmof_post_end();
	return status;
}

/*
 * As for operations: on so many connections only.  RQF_DONTPREP says that the counter is this
 * request's own, not what the one before it has left in the tag.
 */
static bool worn_out(struct request *rq)
{
	struct pmof_blk_cmd *cmd = blk_mq_rq_to_pdu(rq);

	if (!(rq->rq_flags & RQF_DONTPREP)) {
		rq->rq_flags |= RQF_DONTPREP;
		cmd->losses = 0;
	} else if (cmd->lost_session == cmd->session) {
		return false;
	}
	cmd->lost_session = cmd->session;
	return cmd->losses++ >= PMOF_MAX_RETRIES;
}

/*
 * A request has ended with @rc.  Whether it goes back to the block layer, which
 * has it wait while the disk is stopped: all that have been posted may be done a second
 * time, and the server has drained the first (docs/protocol.md).  Any context.
 */
bool pmof_blk_again(struct request *rq, int rc)
{
	struct pmof_queue *q = rq->mq_hctx->driver_data;
	struct pmof_conn *conn = q->conn;

	if (rc != -PMOF_LOST || READ_ONCE(conn->refuse) || READ_ONCE(conn->blk->stale) ||
	    worn_out(rq))
		return false;
	pmof_stat_inc(conn->stats, PMOF_STAT_REPLAYS);
	blk_mq_requeue_request(rq, true);
	return true;
}

/* Ends a request, which is no slot's any more. */
void pmof_blk_end(struct request *rq, int rc)
{
	if (pmof_blk_again(rq, rc))
		return;
	/* What the connection has lost has another error than what was refused. */
	blk_mq_end_request(rq, rc == -PMOF_LOST ? BLK_STS_TRANSPORT : errno_to_blk_status(rc));
}

/* A request has succeeded.  Its round trips are counted by who waited for them. */
void pmof_blk_account(const struct pmof_conn *conn, const struct request *rq)
{
	switch (req_op(rq)) {
	case REQ_OP_READ:
		pmof_stat_inc(conn->stats, PMOF_STAT_BLOCK_READS);
		pmof_stat_add(conn->stats, PMOF_STAT_BYTES_GOT, blk_rq_bytes(rq));
		break;
	case REQ_OP_WRITE:
		pmof_stat_inc(conn->stats, PMOF_STAT_BLOCK_WRITES);
		pmof_stat_add(conn->stats, PMOF_STAT_BYTES_PUT, blk_rq_bytes(rq));
		break;
	default:
		pmof_stat_inc(conn->stats, PMOF_STAT_BLOCK_ZEROES);
		break;
	}
}

/*
 * [B2] Before anybody can learn that the write has completed: so a FLUSH that is
 * issued after that sees the marks.  The queue's first [P6].
 */
static void mark_dirty(struct pmof_queue *q, const struct request *rq)
{
	struct pmof_range range = pmof_blk_range(rq);

	pmof_queue_mark_dirty(q);
	pmof_dirty_mark(q->conn, range.offset, range.length);
}

/*
 * A polled request that the softirq completes before anybody polls: up to 6.1
 * bio_put() believes of a polled bio that it is not in an interrupt.
 */
static void unmark_polled(struct request *rq)
{
	struct bio *bio;

	__rq_for_each_bio(bio, rq)
		bio_clear_polled(bio);
}

/* Of a slot: its request has happened, or failed.  Any context. */
void pmof_blk_slot_done(struct pmof_slot *slot, int status)
{
	struct pmof_queue *q = slot->q;
	struct request *rq = slot->rq;
	struct pmof_blk_cmd *cmd = blk_mq_rq_to_pdu(rq);

	if (!status && req_op(rq) == REQ_OP_WRITE && is_cached(q->conn, rq))
		mark_dirty(q, rq);
	cmd->status = status;
	if (!status) {
		pmof_stat_inc(q->conn->stats, PMOF_STAT_ROUND_TRIPS);
		pmof_blk_account(q->conn, rq);
	}
	if ((rq->cmd_flags & REQ_POLLED) && in_interrupt())
		unmark_polled(rq);
	blk_mq_complete_request(rq);
}

static void blk_complete(struct request *rq)
{
	struct pmof_blk_cmd *cmd = blk_mq_rq_to_pdu(rq);

	pmof_blk_end(rq, cmd->status);
}

/*
 * A request that is not answered in time ends the connection, and the teardown
 * the request: it cannot end while the HCA may still touch its pages.  In a work
 * item each step has a bound of its own.
 */
static enum blk_eh_timer_return blk_timeout(struct request *rq)
{
	struct pmof_queue *q = rq->mq_hctx->driver_data;
	struct pmof_blk_cmd *cmd = blk_mq_rq_to_pdu(rq);

	/* Pairs with zero_work_fn(): who no longer works has a newer beginning. */
	if (!smp_load_acquire(&cmd->working) && pmof_queue_stuck(q, READ_ONCE(cmd->since)))
		pmof_conn_lost(q->conn, PMOF_NO_ANSWER);
	return BLK_EH_RESET_TIMER;
}

/* The reference: what has been taken from the CQ may be handled while others drain it. */
static int blk_poll(struct blk_mq_hw_ctx *hctx, struct io_comp_batch *iob)
{
	struct pmof_queue *q = hctx->driver_data;
	int n;

	if (!pmof_conn_enter(q->conn))
		return 0;
	n = ib_process_cq_direct(q->qp.cq, -1);
	pmof_conn_leave(q->conn);
	return n;
}

static int blk_init_hctx(struct blk_mq_hw_ctx *hctx, void *data, unsigned int index)
{
	struct pmof_blk *blk = data;

	hctx->driver_data = &blk->conn->queues[index];
	return 0;
}

static void blk_map_queues(struct blk_mq_tag_set *set)
{
	struct pmof_blk *blk = set->driver_data;
	const struct pmof_conn *conn = blk->conn;
	unsigned int i;

	if (set->nr_maps > HCTX_TYPE_POLL) {
		set->map[HCTX_TYPE_DEFAULT].nr_queues = conn->nr_shared;
		set->map[HCTX_TYPE_READ].nr_queues = 0;
		set->map[HCTX_TYPE_POLL].nr_queues = conn->nr_queues - conn->nr_shared;
		set->map[HCTX_TYPE_POLL].queue_offset = conn->nr_shared;
	}
	for (i = 0; i < set->nr_maps; i++) {
		struct blk_mq_queue_map *map = &set->map[i];

		/* More than there are CPUs: blk-mq has no use for them, and warns. */
		map->nr_queues = min(map->nr_queues, num_possible_cpus());
		if (map->nr_queues)
			blk_mq_map_queues(map);
	}
}

const struct blk_mq_ops pmof_blk_ops = {
	.queue_rq	= blk_queue_rq,
	.complete	= blk_complete,
	.timeout	= blk_timeout,
	.poll		= blk_poll,
	.init_hctx	= blk_init_hctx,
	.map_queues	= blk_map_queues,
};
