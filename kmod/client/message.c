// SPDX-License-Identifier: GPL-2.0
/* Messages on an I/O queue, each from one slot, and their replies. */
#define pr_fmt(fmt) "pmof-client: " fmt

#include "client.h"
#include "trace.h"

/**
 * pmof_send_init_buf - make the work request of a slot's message
 * @slot: there is no other message in its chain
 * @s: filled; the caller may append data to its one SGE
 * @b: where the message lies: a buffer of the slot's
 * @opcode: of the message: the reply that the slot waits for names it
 * @len: bytes in the buffer
 *
 * [A6] Post it with two events: the send's completion and the reply, since the
 * reply alone does not free the source.
 */
void pmof_send_init_buf(struct pmof_slot *slot, struct pmof_send *s, struct pmof_buf *b, u8 opcode,
			size_t len)
{
	pmof_buf_for_dev(b, slot->q->qp.dev, len);
	memset(s, 0, sizeof(*s));
	s->sge[0].addr = b->dma;
	s->sge[0].length = len;
	s->sge[0].lkey = slot->q->conn->pd->local_dma_lkey;
	s->wr.opcode = IB_WR_SEND;
	s->wr.sg_list = s->sge;
	s->wr.num_sge = 1;
	slot->awaits = opcode;
	/* [P1] A SEND is delivered after every WRITE before it on its queue is placed. */
	slot->clean_to = pmof_queue_put_seq(slot->q);
}

/* The same with the message in the slot's msg buffer. */
void pmof_send_init(struct pmof_slot *slot, struct pmof_send *s, u8 opcode, size_t len)
{
	pmof_send_init_buf(slot, s, &slot->msg, opcode, len);
}

/* Checks a reply against what the slot has asked: 0, or a PMOF_SC_* code. */
static int reply_get(struct pmof_slot *slot, const void *buf, u32 len)
{
	int rc;

	if (slot->nr_objects) {
		/* The bounce buffer is not in use: it takes the generations. */
		pmof_buf_for_cpu(&slot->bounce, slot->q->qp.dev, PMOF_BOUNCE_SIZE);
		return pmof_get_objects_reply(buf, len, slot->awaits, slot->nr_objects,
					      slot->bounce.data);
	}
	if (slot->req && pmof_req_is_call(slot->req))
		return pmof_call_take(slot, buf, len);
	if (unlikely(slot->get))
		return pmof_bad_take(slot, buf, len);
	rc = pmof_get_reply_hdr(buf, len, slot->awaits, sizeof(struct pmof_wire_hdr));
	if (!rc && len != sizeof(struct pmof_wire_hdr))
		return PMOF_SC_INVALID;
	return rc;
}

/* What an operation returns for the server's refusal. */
static int reply_errno(struct pmof_slot *slot, int status)
{
	switch (status) {
	case PMOF_SC_OK:
		return 0;
	case PMOF_SC_STALE:
		return -ESTALE;
	case PMOF_SC_READ_ONLY:
		return -EROFS;
	case PMOF_SC_MEDIUM:
		return -ENODATA;
	case PMOF_SC_UNSUPPORTED:
		return -EOPNOTSUPP;
	default:
		pr_warn_ratelimited("%s: message 0x%02x failed: %s\n", slot->q->conn->opt.name,
				    slot->awaits, pmof_status_str(status));
		return -EIO;
	}
}

/* The connection ends.  Which end has got it wrong is not to be found out without what it was. */
void pmof_message_unasked(struct pmof_conn *conn, u16 queue_id, const struct pmof_wire_hdr *h,
			  u32 len)
{
	if (len < sizeof(*h))
		pr_warn_ratelimited("%s: queue %u: a message of %u bytes\n", conn->opt.name,
				    queue_id, len);
	else
		pr_warn_ratelimited("%s: queue %u: nobody awaits message 0x%02x, tag %u, status %u, %u bytes\n",
				    conn->opt.name, queue_id, h->opcode, le16_to_cpu(h->tag),
				    le32_to_cpu(h->status), len);
	pmof_conn_lost(conn, "the server answers what was not asked");
}

/*
 * A message has arrived: hands it to the slot that it names, and posts the
 * buffer again.  What no slot waits for, or what does not fit its request, is
 * the peer's error.  Completion context.
 */
void pmof_message_rx(struct pmof_rx *rx, u32 len)
{
	struct pmof_queue *q = container_of(rx->qp, struct pmof_queue, qp);
	const struct pmof_wire_hdr *h = rx->buf.data;
	struct pmof_slot *slot = NULL;
	int status, rc;

	pmof_buf_for_cpu(&rx->buf, rx->qp->dev, len);
	if (len >= sizeof(*h))
		slot = pmof_slot_take_reply(q, le16_to_cpu(h->tag));
	if (!slot) {
		pmof_message_unasked(q->conn, q->id, h, len);
		return;
	}
	status = reply_get(slot, h, len);
	trace_pmof_reply(q->conn->instance, q->id, slot->tag, status);
	/* Posted before the slot is free again: a slot in use always has a receive. */
	if (status == PMOF_SC_INVALID)
		pmof_conn_lost(q->conn, "an answer is not valid");
	else if (pmof_rx_post(rx))
		pmof_conn_lost(q->conn, PMOF_NO_POST);
	rc = reply_errno(slot, status);
	if (rc && !slot->status)
		slot->status = rc;
	pmof_slot_event(slot);
}
