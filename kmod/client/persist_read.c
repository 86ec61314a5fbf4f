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
	pmof_rdma_wr_init(slot, wr, IB_WR_RDMA_READ,
			  pmof_bad_elsewhere(slot->q->conn, offset));
	sge->addr = slot->q->sink.dma;
	sge->length = 1;
	sge->lkey = slot->q->conn->pd->local_dma_lkey;
	wr->wr.sg_list = sge;
	wr->wr.num_sge = 1;
}

/* [D1] Behind the WRITEs on their queue; its completion implies theirs [D3]. */
static struct ib_send_wr *read_tail(struct pmof_slot *slot, struct pmof_tail *tail)
{
	pmof_persist_read_wr(slot, &tail->read, &tail->sge,
			     slot->range.offset + slot->range.length - 1);
	slot->clean_to = pmof_queue_put_seq(slot->q);
	return &tail->read.wr;
}

static void read_post_durable(struct pmof_slot *slot, struct pmof_chain *chain,
			      const struct pmof_range *range)
{
	pmof_train_post(slot, chain, range, &pmof_persist_read);
}

/* Durably writes one flag byte of the request's trailer. */
static int read_post_flag(struct pmof_req *req, unsigned int byte, u8 value)
{
	struct pmof_range flag = { pmof_object_trailer(req->offset, req->length) + byte, 1 };
	struct pmof_queue *q = req->q;
	struct pmof_chain chain = { };
	struct pmof_slot *slot;
	struct ib_rdma_wr wr;
	int rc;

	slot = pmof_slot_get(q, req);
	if (!pmof_slot_begin(slot, &rc))
		return rc;
	*(u8 *)slot->msg.data = value;
	pmof_slot_use_buf(slot, &slot->msg, 1);
	pmof_rdma_wr_init(slot, &wr, IB_WR_RDMA_WRITE, flag.offset);
	pmof_chain_add(&chain, &wr.wr);
	read_post_durable(slot, &chain, &flag);
	pmof_post_end();
	return 0;
}

/*
 * Three waits: the data, PF, VF.  Bytes, since no RDMA request but the atomics
 * promises that 8 bytes arrive together.  VF has its READ too [C4]: a completed
 * WRITE may still be in the server's HCA, and who reads the object through
 * another queue shall find VF once this has returned, and who prepares it anew
 * shall not have an old VF land on the new trailer.
 */
static int read_finish_commit(struct pmof_req *req)
{
	int rc;

	/* [C2] The data are durable before PF may say so. */
	rc = pmof_req_wait(req);
	if (!rc)
		rc = read_post_flag(req, PMOF_PF_BYTE, PMOF_PF);
	/* [C3] PF is durable before VF: a reader must not trust what recovery would drop. */
	if (!rc)
		rc = pmof_req_wait(req);
	if (!rc)
		rc = read_post_flag(req, PMOF_VF_BYTE, pmof_vf(req->operand));
	return rc;
}

/* [P3] One READ covers all that its queue has written, so the range does not matter. */
static int read_persist(struct pmof_queue *q, const struct pmof_range *range)
{
	return pmof_persist_flush_queues(q->conn, NULL, false);
}

const struct pmof_persist_ops pmof_persist_read = {
	.method		= PMOF_METHOD_READ,
	.extra_wr	= 1,
	.post_durable	= read_post_durable,
	.tail		= read_tail,
	.post_commit	= read_post_durable,
	.finish_commit	= read_finish_commit,
	.persist	= read_persist,
};
