// SPDX-License-Identifier: GPL-2.0
/* An I/O queue: making it, its receive side, and its two-phase end. */
#define pr_fmt(fmt) "pmof-client: " fmt

#include <linux/slab.h>

#include "client.h"

static void queue_rx_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct pmof_rx *rx = pmof_wc_rx(wc);
	struct pmof_queue *q = container_of(rx->qp, struct pmof_queue, qp);

	if (wc->status != IB_WC_SUCCESS) {
		pmof_conn_lost(q->conn, ib_wc_status_msg(wc->status));
		return;
	}
	pmof_queue_hear(q);
	pmof_stat_inc(q->conn->stats, PMOF_STAT_WR_RECV);
	pmof_stat_inc(q->conn->stats, PMOF_STAT_COMPLETIONS);
	pmof_message_rx(rx, wc->byte_len);
}

/* As many requests as the device has room for. */
static u16 queue_depth(struct pmof_conn *conn, unsigned int max_wr)
{
	const struct ib_device_attr *attrs = &conn->ibdev->attrs;
	/* See pmof_qp_create() for what is added: the drain's own. */
	int depth = min((attrs->max_qp_wr - 1) / (int)max_wr,
			(attrs->max_cqe - 2) / (int)(max_wr + 1));

	return clamp(depth, PMOF_DEPTH_MIN, (int)conn->opt.depth);
}

static int queue_try_qp(struct pmof_queue *q)
{
	struct pmof_conn *conn = q->conn;
	struct pmof_qp_config cfg = {
		.pd		= conn->pd,
		.max_send_wr	= q->depth * pmof_persist_max_wr(conn),
		.nr_rx		= q->depth,
		.rx_size	= PMOF_IO_REPLY_SIZE,
		.max_send_sge	= PMOF_WR_SGE,
		.poll_ctx	= IB_POLL_SOFTIRQ,
		.comp_vector	= q->id,
		.rx_done	= queue_rx_done,
		.context	= q,
	};

	return pmof_qp_create(&q->qp, q->cm.id, &cfg);
}

/* A disk, and pages that wait, rest on what the first queue pair could do. */
static int queue_take_limits(struct pmof_queue *q, bool first)
{
	u16 write_sge = min_t(u32, PMOF_SLOT_SGE, PMOF_SLOT_WR * q->qp.max_send_sge);
	u16 read_sge = min_t(u32, PMOF_SLOT_SGE, PMOF_SLOT_WR * q->qp.max_read_sge);

	if (!first)
		return write_sge < q->write_sge || read_sge < q->read_sge ? -PMOF_LESS : 0;
	q->write_sge = write_sge;
	q->read_sge = read_sge;
	return 0;
}

/* A device's limits do not tell how many SGEs fit how many work requests: try. */
static int queue_create_qp(struct pmof_queue *q)
{
	bool first = !q->slots;
	int rc;

	rc = pmof_buf_init(&q->sink, q->conn->ibdev, PMOF_LINE_SIZE, DMA_FROM_DEVICE);
	if (rc)
		return rc;
	rc = queue_try_qp(q);
	while (first && (rc == -ENOMEM || rc == -EINVAL) && q->depth > PMOF_DEPTH_MIN) {
		q->depth = max(q->depth / 2, PMOF_DEPTH_MIN);
		rc = queue_try_qp(q);
	}
	if (rc)
		return rc;
	rc = queue_take_limits(q, first);
	return rc ?: pmof_qp_post_all_rx(&q->qp);
}

/*
 * Slots of the character device.  A polled queue has a few too: for the READs
 * that clean its dirty mark.
 */
static u16 char_share(const struct pmof_queue *q)
{
	if (!q->conn->opt.block)
		return q->depth;
	return max(q->id <= q->conn->nr_shared ? q->depth / 2 : q->depth / 8, 1);
}

static void queue_init(struct pmof_queue *q, struct pmof_conn *conn, u16 id)
{
	q->conn = conn;
	q->id = id;
	q->depth = queue_depth(conn, pmof_persist_max_wr(conn));
	atomic64_set(&q->put_seq, 0);
	atomic64_set(&q->clean_seq, 0);
	pmof_trains_init(q);
	pmof_watchdog_init(q);
}

/* For the first time: the server has granted the depth, which is final now. */
static int queue_make_slots(struct pmof_queue *q)
{
	/* One at least for the character device, and one for the disk. */
	if (q->cm.depth > q->depth || q->cm.depth < 2)
		return -EPROTO;
	q->depth = q->cm.depth;
	q->nr_char = char_share(q);
	return pmof_slot_alloc_all(q);
}

/* Its slots are there, all ended: they must find what they were made for. */
static int queue_take_slots(struct pmof_queue *q)
{
	pmof_trains_init(q);
	return q->cm.depth < q->depth ? -PMOF_LESS : pmof_slot_map_all(q);
}

/**
 * pmof_queue_open - connect an I/O queue, for the first time or again
 * @q: zeroed, or closed by pmof_queue_close()
 * @conn: with its admin queue
 * @id: of the queue
 *
 * On error pmof_conn_detach() frees what was made.  Return: 0; -PMOF_LESS: the
 * devices can do less than before; another negative errno.
 */
int pmof_queue_open(struct pmof_queue *q, struct pmof_conn *conn, u16 id)
{
	int rc;

	memset(&q->qp, 0, sizeof(q->qp));
	if (!q->slots)
		queue_init(q, conn, id);
	else if (queue_depth(conn, pmof_persist_max_wr(conn)) < q->depth)
		return -PMOF_LESS;
	rc = pmof_cm_resolve(&q->cm, conn);
	if (rc)
		return rc;
	/* The MRs are on the admin queue's device, and so is our PD. */
	if (q->cm.id->device != conn->ibdev)
		return -EXDEV;
	rc = queue_create_qp(q);
	if (!rc)
		rc = pmof_cm_connect(&q->cm, id, q->depth);
	if (rc)
		return rc;
	return q->slots ? queue_take_slots(q) : queue_make_slots(q);
}

/*
 * Teardown, phase one.  After the drain no work request is under way and no
 * reply can arrive; slots that wait for one, or for a train, are failed here, and
 * only here.
 */
void pmof_queue_abort(struct pmof_queue *q)
{
	struct pmof_slot *slot;
	u16 tag;

	if (!q->qp.ib)
		return;
	rdma_disconnect(q->cm.id);
	pmof_qp_drain(&q->qp);
	for (tag = 0; q->slots && tag < q->depth; tag++) {
		slot = pmof_slot_take_drained(q, tag);
		if (!slot)
			continue;
		slot->status = -PMOF_LOST;
		pmof_slot_event(slot);
	}
	pmof_trains_abort(q);
}

/* Teardown, phase two: io_ref is gone, so no slot is with the HCA. */
void pmof_queue_close(struct pmof_queue *q)
{
	pmof_watchdog_stop(q);
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
