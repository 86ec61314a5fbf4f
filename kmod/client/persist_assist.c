// SPDX-License-Identifier: GPL-2.0
/*
 * Persist method "assist": WRITE, then a message that names the range; the
 * server writes its cache lines back, fences and replies.
 *
 * A SEND is delivered after every WRITE posted before it on its queue has been
 * placed, so the server's CPU sees the data when it writes the lines back.
 * Writes of other queues are not ordered with it: a READ on each of those must
 * have completed before the SEND is posted.  (RDMP-KV's server-assisted commit.)
 */
#include "client.h"

/* One message names at most this much: a bounded time at the server. */
#define ASSIST_MAX_BYTES	(256ULL << 20)

static void assist_wr_init(struct pmof_slot *slot, struct ib_send_wr *wr, struct ib_sge *sge,
			   const struct pmof_range *range)
{
	size_t len = pmof_put_persist(slot->msg.data, slot->tag, range, 1);

	pmof_buf_for_dev(&slot->msg, slot->q->qp.dev, len);
	sge->addr = slot->msg.dma;
	sge->length = len;
	sge->lkey = slot->q->conn->pd->local_dma_lkey;
	memset(wr, 0, sizeof(*wr));
	wr->opcode = IB_WR_SEND;
	wr->sg_list = sge;
	wr->num_sge = 1;
	slot->clean_to = pmof_queue_put_seq(slot->q);
}

static void assist_post_durable(struct pmof_slot *slot, struct ib_send_wr *first,
				const struct pmof_range *range)
{
	struct ib_send_wr wr;
	struct ib_sge sge;

	assist_wr_init(slot, &wr, &sge, range);
	/* Only WRITEs keep their place before a SEND by themselves; an atomic may still run. */
	if (first->opcode != IB_WR_RDMA_WRITE)
		wr.send_flags |= IB_SEND_FENCE;
	first->next = &wr;
	/* The send's completion and the reply: the reply alone does not free the source. */
	pmof_slot_post(slot, first, 2);
}

static int assist_message(struct pmof_queue *q, const struct pmof_range *range)
{
	struct pmof_req req = { .opcode = PMOF_OP_PERSIST };
	struct pmof_slot *slot;
	struct ib_send_wr wr;
	struct ib_sge sge;

	pmof_req_begin(&req, q);
	slot = pmof_slot_get(q, &req);
	if (IS_ERR(slot))
		return PTR_ERR(slot);
	if (!pmof_post_begin(q->conn)) {
		pmof_slot_put(slot);
		return pmof_conn_gone_errno(q->conn);
	}
	assist_wr_init(slot, &wr, &sge, range);
	pmof_slot_post(slot, &wr, 2);
	pmof_post_end();
	return pmof_req_wait(&req);
}

/* The message best goes on a dirty queue: that one then needs no READ. */
static struct pmof_queue *assist_queue(struct pmof_queue *q)
{
	struct pmof_conn *conn = q->conn;
	unsigned int i;

	for (i = 0; i < conn->nr_queues && !pmof_queue_dirty(q); i++)
		if (pmof_queue_dirty(&conn->queues[i]))
			return &conn->queues[i];
	return q;
}

static int assist_persist(struct pmof_queue *q, const struct pmof_range *range)
{
	struct pmof_range left = *range;
	int rc;

	q = assist_queue(q);
	rc = pmof_persist_flush_queues(q->conn, q);
	while (!rc && left.length) {
		struct pmof_range part = {
			left.offset, min_t(u64, left.length, ASSIST_MAX_BYTES)
		};

		rc = assist_message(q, &part);
		left.offset += part.length;
		left.length -= part.length;
	}
	return rc;
}

const struct pmof_persist_ops pmof_persist_assist = {
	.method		= PMOF_METHOD_ASSIST,
	.post_durable	= assist_post_durable,
	.persist	= assist_persist,
};
