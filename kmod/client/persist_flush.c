// SPDX-License-Identifier: GPL-2.0
/*
 * Persist method "flush": WRITE, then RDMA FLUSH of the same bytes.
 *
 * The responder's HCA answers a FLUSH with persistent placement when what came
 * before it on the queue pair, within the range that it names, is in the
 * persistence domain.  An ATOMIC_WRITE is executed behind the FLUSHes before it,
 * and its 8 bytes arrive together: so a commit is one chain.  (InfiniBand
 * Architecture Specification, annex A19, Memory Placement Extensions.)
 *
 * Built where rdma_flush.h finds work requests for them.
 */
#include "client.h"
#include "rdma_flush.h"

#ifdef PMOF_HAVE_FLUSH

/* One FLUSH names at most this much: a bounded time at the responder. */
#define FLUSH_MAX_BYTES	(16U << 20)

static bool flush_posts(const struct pmof_conn *conn)
{
	return pmof_dev_posts_flush(conn->ibdev);
}

/* @range lies in one segment. */
static void flush_wr_init(struct pmof_slot *slot, struct ib_flush_wr *wr,
			  const struct pmof_range *range)
{
	struct ib_rdma_wr where;

	pmof_rdma_wr_init(slot, &where, IB_WR_FLUSH, range->offset);
	memset(wr, 0, sizeof(*wr));
	wr->wr.opcode = IB_WR_FLUSH;
	wr->remote_addr = where.remote_addr;
	wr->rkey = where.rkey;
	wr->length = range->length;
	wr->type = IB_FLUSH_PERSISTENT;
	wr->level = IB_FLUSH_RANGE;
}

static void flush_post_durable(struct pmof_slot *slot, struct pmof_chain *chain,
			       const struct pmof_range *range)
{
	struct ib_flush_wr flush;

	flush_wr_init(slot, &flush, range);
	/* [L1] Only WRITEs keep their place before it by themselves; an atomic may still run. */
	if (chain->last->opcode != IB_WR_RDMA_WRITE)
		flush.wr.send_flags |= IB_SEND_FENCE;
	pmof_chain_add(chain, &flush.wr);
	pmof_slot_post(slot, chain->first, 1);
}

/* {g, PF} ; FLUSH ; {g, PF, VF}. */
struct commit_tail {
	struct ib_rdma_wr pf;
	struct ib_flush_wr flush;
	struct ib_rdma_wr vf;
	struct ib_sge sge[2];
};

static void word_wr_init(struct pmof_slot *slot, struct ib_rdma_wr *wr, struct ib_sge *sge,
			 u64 offset, unsigned int i, u64 value)
{
	__le64 *words = slot->msg.data;

	words[i] = cpu_to_le64(value);
	sge->addr = slot->msg.dma + i * PMOF_TRAILER_SIZE;
	sge->length = PMOF_TRAILER_SIZE;
	sge->lkey = slot->q->conn->pd->local_dma_lkey;
	pmof_rdma_wr_init(slot, wr, IB_WR_ATOMIC_WRITE, offset);
	wr->wr.sg_list = sge;
	wr->wr.num_sge = 1;
}

static void commit_tail_init(struct pmof_slot *slot, struct commit_tail *t)
{
	const struct pmof_req *req = slot->req;
	struct pmof_range trailer = {
		pmof_object_trailer(req->offset, req->length), PMOF_TRAILER_SIZE
	};

	word_wr_init(slot, &t->pf, &t->sge[0], trailer.offset, 0,
		     pmof_trailer_persistent(req->operand));
	flush_wr_init(slot, &t->flush, &trailer);
	word_wr_init(slot, &t->vf, &t->sge[1], trailer.offset, 1,
		     pmof_trailer_committed(req->operand));
	pmof_buf_for_dev(&slot->msg, slot->q->qp.dev, 2 * PMOF_TRAILER_SIZE);
	/* [C3] PF is durable before VF is set. */
	t->pf.wr.next = &t->flush.wr;
	t->flush.wr.next = &t->vf.wr;
}

/* [C5] The whole object in one piece: one chain, one wait. */
static void flush_post_commit(struct pmof_slot *slot, struct pmof_chain *chain,
			      const struct pmof_range *range)
{
	struct ib_flush_wr flush;
	struct commit_tail tail;

	if (range->length != pmof_req_bytes(slot->req)) {
		flush_post_durable(slot, chain, range);
		return;
	}
	flush_wr_init(slot, &flush, range);
	commit_tail_init(slot, &tail);
	pmof_chain_add(chain, &flush.wr);
	/* [C2] The data are durable before PF is set. */
	flush.wr.next = &tail.pf.wr;
	slot->req->committed = true;
	pmof_slot_post(slot, chain->first, 1);
}

/* The data of several pieces first, then the flags. */
static int flush_finish_commit(struct pmof_req *req)
{
	struct pmof_queue *q = req->q;
	struct commit_tail tail;
	struct pmof_slot *slot;
	int rc;

	if (req->committed)
		return 0;
	/* [C2] Each piece carries its own FLUSH. */
	rc = pmof_req_wait(req);
	if (rc)
		return rc;
	slot = pmof_slot_get(q, req);
	if (!pmof_slot_begin(slot, &rc))
		return rc;
	commit_tail_init(slot, &tail);
	pmof_slot_post(slot, &tail.pf.wr, 1);
	pmof_post_end();
	return 0;
}

static int flush_piece(struct pmof_queue *q, struct pmof_req *req, const struct pmof_range *piece)
{
	struct pmof_slot *slot = pmof_slot_get(q, req);
	struct ib_flush_wr wr;
	int rc;

	if (!pmof_slot_begin(slot, &rc))
		return rc;
	flush_wr_init(slot, &wr, piece);
	pmof_slot_post(slot, &wr.wr, 1);
	pmof_post_end();
	return 0;
}

static int flush_range(struct pmof_queue *q, struct pmof_req *req, const struct pmof_range *range)
{
	struct pmof_range left = *range;
	bool gap;
	int rc = 0;

	while (!rc && left.length) {
		struct pmof_range piece = {
			left.offset,
			min_t(u64, pmof_bad_run(q->conn, left.offset, left.length, &gap),
			      FLUSH_MAX_BYTES)
		};

		/* What went there by messages is durable. */
		if (!gap)
			rc = flush_piece(q, req, &piece);
		left.offset += piece.length;
		left.length -= piece.length;
	}
	return rc;
}

/*
 * [P3] A FLUSH speaks for its own queue pair only, and for its own range only: so
 * it goes to every queue that has ever put (and to one at least, for what others
 * have put), and cleans none [P5].  The dirty marks say
 * what has left the server's HCA (a READ or a message cleans them), which is
 * less than durable here.
 */
static int flush_queues(struct pmof_req *req, const struct pmof_range *range)
{
	struct pmof_queue *q = req->q;
	struct pmof_conn *conn = q->conn;
	unsigned int i;
	int rc = 0;

	for (i = 0; i < conn->nr_queues && !rc; i++)
		if (&conn->queues[i] == q || pmof_queue_put_seq(&conn->queues[i]))
			rc = flush_range(&conn->queues[i], req, range);
	return rc;
}

static int flush_persist(struct pmof_queue *q, const struct pmof_range *range)
{
	struct pmof_req req = { .opcode = PMOF_OP_PERSIST };
	struct pmof_conn *conn = q->conn;
	bool marked = pmof_dirty_worth(conn, range->length);
	struct pmof_range run;
	int rc, waited;

	/*
	 * [V3] A FLUSH answers for what its own queue pair has written.  What those
	 * of an earlier connection have left is placed [V1], and so the server's CPU
	 * can write it back.  [V4] Begun before that is looked at: no FLUSH goes on a later one.
	 */
	pmof_req_begin(&req, q);
	if (req.session > 1)
		return pmof_assist_persist(q, range);
	rc = marked ? pmof_dirty_take(conn, range) : 0;
	if (rc)
		return rc;
	if (!marked)
		rc = flush_queues(&req, range);
	while (marked && !rc && pmof_dirty_next(conn, FLUSH_MAX_BYTES, &run))
		rc = flush_queues(&req, &run);
	waited = pmof_req_wait(&req);
	rc = rc ?: waited;
	/* [V4] Which pieces are gaps may be a later attempt's word: nothing was posted then. */
	if (!rc && !pmof_conn_is_still(conn, req.session))
		rc = -PMOF_LOST;
	if (marked)
		pmof_dirty_end(conn, rc);
	return rc;
}

const struct pmof_persist_ops pmof_persist_flush = {
	.method		= PMOF_METHOD_FLUSH,
	.extra_wr	= 4,
	.each_piece	= true,
	.by_range	= true,
	.commit_posted	= true,
	.posts		= flush_posts,
	.post_durable	= flush_post_durable,
	.post_commit	= flush_post_commit,
	.finish_commit	= flush_finish_commit,
	.persist	= flush_persist,
};

#endif /* PMOF_HAVE_FLUSH */
