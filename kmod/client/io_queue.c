// SPDX-License-Identifier: GPL-2.0
/* An I/O queue: making it, its receive side, and its two-phase end. */
#define pr_fmt(fmt) "pmof-client: " fmt

#include <linux/slab.h>

#include "client.h"

/* A reply: hands its status to the slot that it names, and posts the buffer again. */
static void queue_rx_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct pmof_rx *rx = pmof_wc_rx(wc);
	struct pmof_queue *q = container_of(rx->qp, struct pmof_queue, qp);
	const struct pmof_wire_hdr *h = rx->buf.data;
	int status;
	u16 tag;

	if (wc->status != IB_WC_SUCCESS) {
		pmof_conn_lost(q->conn);
		return;
	}
	pmof_stat_inc(q->conn->stats, PMOF_STAT_WR_RECV);
	pmof_stat_inc(q->conn->stats, PMOF_STAT_COMPLETIONS);
	pmof_buf_for_cpu(&rx->buf, rx->qp->dev, wc->byte_len);
	status = pmof_get_reply_hdr(h, wc->byte_len, PMOF_MSG_PERSIST, sizeof(*h));
	if (status == PMOF_SC_INVALID) {
		pmof_conn_lost(q->conn);
		return;
	}
	tag = le16_to_cpu(h->tag);
	/* Posted before the slot is free again: a slot in use always has a receive. */
	if (pmof_rx_post(rx))
		pmof_conn_lost(q->conn);
	if (status)
		pr_warn_ratelimited("%s: persist failed: %s\n", q->conn->opt.name,
				    pmof_status_str(status));
	pmof_slot_reply(q, tag, status ? -EIO : 0);
}

static int queue_create_qp(struct pmof_queue *q)
{
	struct pmof_conn *conn = q->conn;
	struct pmof_qp_config cfg = {
		.pd		= conn->pd,
		.max_send_wr	= 2 * q->depth,		/* a slot posts at most two */
		.nr_rx		= q->depth,
		.rx_size	= PMOF_IO_REPLY_SIZE,
		.max_send_sge	= PMOF_SLOT_PAGES,
		.poll_ctx	= IB_POLL_SOFTIRQ,
		.comp_vector	= q->id,
		.rx_done	= queue_rx_done,
		.context	= q,
	};
	int rc;

	rc = pmof_buf_init(&q->sink, conn->ibdev, PMOF_LINE_SIZE, DMA_FROM_DEVICE);
	if (rc)
		return rc;
	rc = pmof_qp_create(&q->qp, q->cm.id, &cfg);
	return rc ?: pmof_qp_post_all_rx(&q->qp);
}

/* Connects I/O queue @id.  On error pmof_conn_teardown() frees what was made. */
int pmof_queue_open(struct pmof_queue *q, struct pmof_conn *conn, u16 id)
{
	int rc;

	q->conn = conn;
	q->id = id;
	q->depth = conn->opt.depth;
	atomic64_set(&q->put_seq, 0);
	atomic64_set(&q->clean_seq, 0);
	rc = pmof_cm_resolve(&q->cm, conn);
	if (rc)
		return rc;
	/* The MRs are on the admin queue's device, and so is our PD. */
	if (q->cm.id->device != conn->ibdev)
		return -EXDEV;
	rc = queue_create_qp(q);
	if (!rc)
		rc = pmof_cm_connect(&q->cm, id, q->depth);
	if (!rc && q->cm.depth > q->depth)
		rc = -EPROTO;
	if (rc)
		return rc;
	q->depth = q->cm.depth;
	return pmof_slot_alloc_all(q);
}

/*
 * Teardown, phase one.  After the drain no work request is under way and no
 * reply can arrive; slots that wait for one are failed here, and only here.
 */
void pmof_queue_abort(struct pmof_queue *q)
{
	u16 tag;

	if (!q->qp.ib)
		return;
	rdma_disconnect(q->cm.id);
	pmof_qp_drain(&q->qp);
	for (tag = 0; q->slots && tag < q->depth; tag++)
		if (test_bit(PMOF_SLOT_REPLY, &q->slots[tag].flags))
			pmof_slot_reply(q, tag, -EIO);
}

/* Teardown, phase two: io_ref is gone, so no slot is with the HCA. */
void pmof_queue_close(struct pmof_queue *q)
{
	pmof_slot_unmap_all(q);
	pmof_qp_destroy(&q->qp);
	if (q->sink.data)
		pmof_buf_free(&q->sink, q->conn->ibdev);
	pmof_cm_destroy(&q->cm);
}

/* With the connection object: the memory that threads may still look at. */
void pmof_queue_free(struct pmof_queue *q)
{
	pmof_slot_free_all(q);
}
