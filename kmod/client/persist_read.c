// SPDX-License-Identifier: GPL-2.0
/*
 * Persist method "read": WRITE, then a READ on the same queue.
 *
 * The responder executes in order, and the READ's own fetch pushes the WRITE's
 * data before it, out of the HCA to where the HCA's writes land.  Offered only
 * where that place is inside the persistence domain.  (Kalia et al.; RDMP-KV's
 * client-centric commit.)
 */
#include "client.h"

/* A READ of the byte at @offset, whose value nobody looks at. */
void pmof_persist_read_wr(struct pmof_slot *slot, struct ib_rdma_wr *wr, struct ib_sge *sge,
			  u64 offset)
{
	pmof_rdma_wr_init(slot, wr, IB_WR_RDMA_READ, offset);
	sge->addr = slot->q->sink.dma;
	sge->length = 1;
	sge->lkey = slot->q->conn->pd->local_dma_lkey;
	wr->wr.sg_list = sge;
	wr->wr.num_sge = 1;
}

static void read_post_durable(struct pmof_slot *slot, struct ib_send_wr *first,
			      const struct pmof_range *range)
{
	struct ib_rdma_wr wr;
	struct ib_sge sge;

	pmof_persist_read_wr(slot, &wr, &sge, range->offset + range->length - 1);
	slot->clean_to = pmof_queue_put_seq(slot->q);
	first->next = &wr.wr;
	pmof_slot_post(slot, first, 1);
}

/* One READ covers all that its queue has written, so the range does not matter. */
static int read_persist(struct pmof_queue *q, const struct pmof_range *range)
{
	return pmof_persist_flush_queues(q->conn, NULL);
}

const struct pmof_persist_ops pmof_persist_read = {
	.method		= PMOF_METHOD_READ,
	.post_durable	= read_post_durable,
	.persist	= read_persist,
};
