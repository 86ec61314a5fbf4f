// SPDX-License-Identifier: GPL-2.0
/*
 * Persist method "assist": WRITE, then a message that names the range; the
 * server writes its cache lines back, fences and replies.
 *
 * A SEND is delivered after every WRITE posted before it on its queue has been
 * placed, so the server's CPU sees the data when it writes the lines back.
 * Writes of other queues are not ordered with it: a READ on each of those must
 * have completed before the SEND is posted.  (RDMP-KV's server-assisted commit.)
 *
 * A commit is the same with another message: after its fence the server sets
 * PF, fences again, sets VF and replies.
 */
#include "client.h"

static_assert(sizeof(struct pmof_wire_persist) +
	      PMOF_PERSIST_RANGES * sizeof(struct pmof_wire_range) <= PMOF_SLOT_MSG_SIZE);

/* [T3] A message that names the ranges of the slot and its riders. */
static struct ib_send_wr *assist_tail(struct pmof_slot *slot, struct pmof_tail *tail)
{
	struct pmof_range range[PMOF_PERSIST_RANGES];
	bool fence = slot->atomic;
	struct pmof_slot *rider;
	u16 nr = 0;

	range[nr++] = slot->range;
	llist_for_each_entry(rider, slot->riders, train) {
		range[nr++] = rider->range;
		fence |= rider->atomic;
	}
	pmof_send_init(slot, &tail->send, PMOF_MSG_PERSIST,
		       pmof_put_persist(slot->msg.data, slot->tag, range, nr));
	/* [A1] Only WRITEs keep their place before a SEND; an atomic may still run. */
	if (fence)
		tail->send.wr.send_flags |= IB_SEND_FENCE;
	return &tail->send.wr;
}

void pmof_assist_post_durable(struct pmof_slot *slot, struct pmof_chain *chain,
			      const struct pmof_range *range)
{
	pmof_train_post(slot, chain, range, &pmof_persist_assist);
}

void pmof_assist_post_commit(struct pmof_slot *slot, struct pmof_chain *chain,
			     const struct pmof_range *range)
{
	struct pmof_put put = pmof_req_commit(slot->req, range);
	struct pmof_send send;

	pmof_send_init(slot, &send, PMOF_MSG_COMMIT,
		       pmof_put_commit(slot->msg.data, slot->tag, &put));
	pmof_chain_add(chain, &send.wr);
	pmof_slot_post(slot, chain->first, 2);
}

/* A message that names ranges, with @flags; the slot counts for @req. */
static int assist_message(struct pmof_req *req, const struct pmof_range *range, u16 nr, u16 flags)
{
	struct pmof_slot *slot;
	struct pmof_send send;
	size_t len;
	int rc;

	slot = pmof_slot_get(req->q, req);
	if (!pmof_slot_begin(slot, &rc))
		return rc;
	len = pmof_put_persist(slot->msg.data, slot->tag, range, nr);
	pmof_put_persist_flags(slot->msg.data, flags);
	pmof_send_init(slot, &send, PMOF_MSG_PERSIST, len);
	pmof_slot_post(slot, &send.wr, 2);
	pmof_post_end();
	return 0;
}

static int assist_range(struct pmof_req *req, const struct pmof_range *range, u16 flags)
{
	struct pmof_range left = *range;
	int rc = 0;

	while (!rc && left.length) {
		struct pmof_range part = {
			left.offset, min_t(u64, left.length, PMOF_PERSIST_BYTES)
		};

		rc = assist_message(req, &part, 1, flags);
		left.offset += part.length;
		left.length -= part.length;
	}
	return rc;
}

/* What pmof_dirty_take() has taken, in as few messages as possible. */
static int assist_marked(struct pmof_req *req, u16 flags)
{
	struct pmof_range range[PMOF_PERSIST_RANGES];
	struct pmof_conn *conn = req->q->conn;
	u16 nr, most = min_t(u16, PMOF_PERSIST_RANGES, conn->login.max_ranges);
	int rc = 0;

	do {
		u64 room = PMOF_PERSIST_BYTES;

		for (nr = 0; nr < most && room; nr++) {
			if (!pmof_dirty_next(conn, room, &range[nr]))
				break;
			room -= min(room, range[nr].length);
		}
		if (nr)
			rc = assist_message(req, range, nr, flags);
	} while (nr && !rc);
	return rc;
}

/*
 * Who names much does not know of each sector in it that it was put: chunks stand for more than
 * that.  A bad one does not make all of it fail; who reads it hears of it.
 */
int pmof_assist_persist(struct pmof_queue *q, const struct pmof_range *range)
{
	struct pmof_req req = { .opcode = PMOF_OP_PERSIST };
	struct pmof_conn *conn = q->conn;
	bool marked = pmof_dirty_worth(conn, range->length);
	u16 flags = range->length > PMOF_PERSIST_EXACT ? PMOF_PERSIST_F_GOOD : 0;
	int rc, waited;

	/* [P6] The marks first: who has set one that is taken has made its queue dirty. */
	rc = marked ? pmof_dirty_take(conn, range) : 0;
	if (rc)
		return rc;
	q = pmof_persist_message_queue(q);
	/* [P2] The message's own queue needs none: see pmof_send_init(). */
	rc = pmof_persist_flush_queues(conn, q, false);
	pmof_req_begin(&req, q);
	if (!rc)
		rc = marked ? assist_marked(&req, flags) : assist_range(&req, range, flags);
	waited = pmof_req_wait(&req);
	rc = rc ?: waited;
	if (marked)
		pmof_dirty_end(conn, rc);
	return rc;
}

const struct pmof_persist_ops pmof_persist_assist = {
	.method		= PMOF_METHOD_ASSIST,
	.extra_wr	= 1,
	.by_range	= true,
	.post_durable	= pmof_assist_post_durable,
	.tail		= assist_tail,
	.post_commit	= pmof_assist_post_commit,
	.persist	= pmof_assist_persist,
};
