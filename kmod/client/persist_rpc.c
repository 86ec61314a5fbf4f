// SPDX-License-Identifier: GPL-2.0
/*
 * Persist method "rpc": the data go in the message; the server copies them past
 * its cache, fences and replies.  (The papers' RPC; HERD.)
 *
 * No WRITE, so nothing is left in the server's HCA.  What one message does not
 * hold, what is no put, and what could be overtaken, goes by assist.
 */
#include "client.h"

/* Whether @chain is one WRITE that is all of @range and fits a message. */
static bool rpc_fits(struct pmof_slot *slot, const struct pmof_chain *chain,
		     const struct pmof_range *range)
{
	const struct ib_send_wr *first = chain->first;
	const struct pmof_queue *q = slot->q;
	u64 bytes = 0;
	int i;

	if (chain->last != first || first->opcode != IB_WR_RDMA_WRITE ||
	    range->length > q->conn->login.max_inline)
		return false;
	/* One SGE is the header's. */
	if (first->num_sge >= PMOF_SEND_SGE || first->num_sge >= q->qp.max_send_sge)
		return false;
	for (i = 0; i < first->num_sge; i++)
		bytes += first->sg_list[i].length;
	return bytes == range->length;
}

static void rpc_post(struct pmof_slot *slot, const struct ib_send_wr *first,
		     const struct pmof_put *put)
{
	struct pmof_send send;

	pmof_send_init(slot, &send, PMOF_MSG_PUT,
		       pmof_put_put(slot->msg.data, slot->tag, put));
	memcpy(&send.sge[1], first->sg_list, first->num_sge * sizeof(send.sge[0]));
	send.wr.num_sge += first->num_sge;
	pmof_slot_post(slot, &send.wr, 2);
}

static void rpc_post_durable(struct pmof_slot *slot, struct pmof_chain *chain,
			     const struct pmof_range *range)
{
	struct pmof_put put = { .range = *range };

	/* [R3] Or else the server's CPU could copy under a WRITE that is still to land. */
	if (rpc_fits(slot, chain, range) && !pmof_persist_others_dirty(slot->q))
		rpc_post(slot, chain->first, &put);
	else
		pmof_assist_post_durable(slot, chain, range);
}

static void rpc_post_commit(struct pmof_slot *slot, struct pmof_chain *chain,
			    const struct pmof_range *range)
{
	struct pmof_put put = pmof_req_commit(slot->req, range);

	/*
	 * The message's range is the object: all of it, not its last window.  [R3] PREPARE has
	 * waited for what was put before it, not for a plain put into the object since then.
	 */
	if (range->offset == slot->req->offset && rpc_fits(slot, chain, range) &&
	    !pmof_persist_others_dirty(slot->q))
		rpc_post(slot, chain->first, &put);
	else
		pmof_assist_post_commit(slot, chain, range);
}

const struct pmof_persist_ops pmof_persist_rpc = {
	.method		= PMOF_METHOD_RPC,
	.extra_wr	= 1,
	.by_range	= true,
	.post_durable	= rpc_post_durable,
	.post_commit	= rpc_post_commit,
	.persist	= pmof_assist_persist,
};
