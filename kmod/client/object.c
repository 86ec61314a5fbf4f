// SPDX-License-Identifier: GPL-2.0
/*
 * Objects with flag bytes: PREPARE, REVALIDATE, and gets that want a committed
 * one.  (Commits are the persist methods' business.)
 */
#include "client.h"
#include "trace.h"

/* Posts one message for @n requests from @req on; the slot counts for @leader. */
static int objects_post(struct pmof_req *leader, struct pmof_queue *q, struct pmof_req *req,
			unsigned int n)
{
	bool prepare = req->opcode == PMOF_OP_PREPARE;
	u8 opcode = prepare ? PMOF_MSG_PREPARE : PMOF_MSG_REVALIDATE;
	struct pmof_slot *slot = pmof_slot_get(q, leader);
	struct pmof_send send;
	unsigned int i;
	u64 *trailer;
	size_t len;
	int rc;

	if (!pmof_slot_begin(slot, &rc))
		return rc;
	trailer = slot->bounce.data;
	for (i = 0; i < n; i++) {
		trailer[i] = pmof_object_trailer(req[i].offset, req[i].length);
		req[i].sent = true;
	}
	len = pmof_put_objects(slot->msg.data, opcode, slot->tag, trailer, n);
	slot->objects = req;
	slot->nr_objects = n;
	pmof_send_init(slot, &send, opcode, len);
	pmof_slot_post(slot, &send.wr, 2);
	pmof_post_end();
	return 0;
}

/**
 * pmof_objects_issue - issue PREPAREs, or REVALIDATEs, in as few messages as possible
 * @leader: the first of leader->group equal requests that lie in an array
 *
 * On return messages may be under way; the leader waits for all of them.
 *
 * Before the message is sent, every WRITE that has completed on this device must
 * have left the server's HCA: a completed one may not have, and would land on
 * the trailer that the server has just set, or on the data of the next commit,
 * when PF says that they are whole.  The message's own queue needs nothing: a
 * SEND is delivered behind its WRITEs; the others get a READ, if they are dirty.
 * (A durable put and a commit leave nothing behind them, so a device that makes
 * only those pays nothing here.)
 */
int pmof_objects_issue(struct pmof_req *leader)
{
	struct pmof_queue *q = pmof_persist_message_queue(leader->q);
	unsigned int i = 0;
	int rc;

	if (leader->nowait && pmof_persist_others_dirty(q))
		return -EAGAIN;
	rc = pmof_persist_flush_queues(q->conn, q, leader->unkillable);
	while (!rc && i < leader->group) {
		unsigned int n = min_t(unsigned int, leader->group - i, PMOF_MAX_OBJECTS);

		rc = objects_post(leader, q, leader + i, n);
		i += n;
	}
	return rc;
}

/* Gives each request of an answered message its generation.  Any context. */
void pmof_objects_done(struct pmof_slot *slot)
{
	const u64 *generation = slot->bounce.data;
	unsigned int i;

	for (i = 0; i < slot->nr_objects; i++)
		slot->objects[i].old = generation[i];
}

/* A READ of the trailer of @slot's request into place @i of the small buffer. */
static void trailer_wr_init(struct pmof_slot *slot, struct ib_rdma_wr *wr, struct ib_sge *sge,
			    unsigned int i)
{
	const struct pmof_req *req = slot->req;

	pmof_rdma_wr_init(slot, wr, IB_WR_RDMA_READ,
			  pmof_object_trailer(req->offset, req->length));
	sge->addr = slot->trailers.dma + i * PMOF_TRAILER_SIZE;
	sge->length = PMOF_TRAILER_SIZE;
	sge->lkey = slot->q->conn->pd->local_dma_lkey;
	wr->wr.sg_list = sge;
	wr->wr.num_sge = 1;
}

/*
 * What holds a READ back until the one before has finished.  soft-RoCE executes READs one after
 * the other, so there it is hardly needed (docs/persistence.md [C7]); and there it hurts (up to
 * 6.12 at least): a READ that must be sent again counts as one of those for whose end it waits,
 * so that one lost packet stops the queue for good.
 */
static int read_fence(const struct pmof_slot *slot)
{
	return READ_ONCE(slot->q->conn->virt_dma) ? 0 : IB_SEND_FENCE;
}

/**
 * pmof_valid_post - post a get of a whole object with PMOF_F_VALID as one chain
 * @slot: the caller is inside pmof_post_begin()
 * @data: the READs of the object
 *
 * [C7] Trailer, data, trailer: who rewrites the object prepares it first, which
 * changes the generation, and so data of two generations never lie between
 * equal trailers.  The fences are needed: READs of one queue may be executed
 * side by side at the responder, and PCIe reads pass each other.
 */
void pmof_valid_post(struct pmof_slot *slot, const struct pmof_chain *data)
{
	struct ib_rdma_wr before, after;
	struct ib_sge sge[2];

	trailer_wr_init(slot, &before, &sge[0], 0);
	trailer_wr_init(slot, &after, &sge[1], 1);
	data->first->send_flags |= read_fence(slot);
	after.wr.send_flags |= read_fence(slot);
	before.wr.next = data->first;
	data->last->next = &after.wr;
	slot->nr_trailers = 2;
	pmof_buf_for_dev(&slot->trailers, slot->q->qp.dev, 2 * PMOF_TRAILER_SIZE);
	pmof_slot_post(slot, &before.wr, 1);
}

/* Trailers have arrived.  Any context.  Returns 0 or -EAGAIN. */
int pmof_trailers_done(struct pmof_slot *slot)
{
	const __le64 *word = slot->trailers.data;
	u64 before;

	pmof_buf_for_cpu(&slot->trailers, slot->q->qp.dev, 2 * PMOF_TRAILER_SIZE);
	before = le64_to_cpu(word[0]);
	if (slot->nr_trailers == 1) {
		slot->req->old = before;
		return 0;
	}
	if (word[0] != word[1] || !pmof_trailer_valid(before))
		return -EAGAIN;
	slot->req->old = pmof_trailer_generation(before);
	return 0;
}

/* READs the trailer into req->old, and waits for it. */
static int trailer_get(struct pmof_req *req)
{
	struct pmof_queue *q = req->q;
	struct pmof_slot *slot = pmof_slot_get(q, req);
	struct ib_rdma_wr wr;
	struct ib_sge sge;
	int rc;

	if (!pmof_slot_begin(slot, &rc))
		return rc;
	trailer_wr_init(slot, &wr, &sge, 0);
	slot->nr_trailers = 1;
	pmof_buf_for_dev(&slot->trailers, q->qp.dev, PMOF_TRAILER_SIZE);
	pmof_slot_post(slot, &wr.wr, 1);
	pmof_post_end();
	return pmof_req_wait(req);
}

/* An object in several pieces: the same three steps, each waited for. */
static int valid_get_in_steps(struct pmof_req *req)
{
	u64 before;
	int rc, waited;

	rc = trailer_get(req);
	if (rc)
		return rc;
	before = req->old;
	if (!pmof_trailer_valid(before))
		return -EAGAIN;
	rc = pmof_transfer(req);
	waited = pmof_req_wait(req);
	rc = rc ?: waited;
	if (!rc)
		rc = trailer_get(req);
	if (rc)
		return rc;
	if (req->old != before)
		return -EAGAIN;
	req->old = pmof_trailer_generation(before);
	return 0;
}

/* Issues a get with PMOF_F_VALID; as pmof_transfer(), and -EAGAIN. */
int pmof_valid_get(struct pmof_req *req)
{
	if (pmof_transfer_one_piece(req))
		return pmof_transfer(req);
	return req->nowait ? -EAGAIN : valid_get_in_steps(req);
}
