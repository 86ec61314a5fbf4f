// SPDX-License-Identifier: GPL-2.0
#include <linux/module.h>
#include <linux/slab.h>

#include "queue.h"

/*
 * Of more than a page and no power of two, so nothing is wasted; contiguous, so that one SGE
 * holds it: the allocator shall try hard, as who comes back needs the size that he has had.
 */
static void *buf_alloc(u32 size)
{
	if (size <= PAGE_SIZE)
		return kzalloc(size, GFP_KERNEL);
	return alloc_pages_exact(size, GFP_KERNEL | __GFP_ZERO | __GFP_RETRY_MAYFAIL |
				       __GFP_NOWARN);
}

static void buf_release(struct pmof_buf *b)
{
	if (b->size <= PAGE_SIZE)
		kfree(b->data);
	else if (b->data)
		free_pages_exact(b->data, b->size);
	b->data = NULL;
}

/**
 * pmof_buf_init - allocate and map one message buffer
 * @b: filled
 * @dev: device that will use it
 * @size: bytes
 * @dir: which way the device moves the data
 *
 * Return: 0, -ENOMEM or -EIO.  May sleep.
 */
int pmof_buf_init(struct pmof_buf *b, struct ib_device *dev, u32 size,
		  enum dma_data_direction dir)
{
	b->data = buf_alloc(size);
	if (!b->data)
		return -ENOMEM;
	b->size = size;
	b->dir = dir;
	b->mapped = false;
	if (!pmof_buf_map(b, dev))
		return 0;
	buf_release(b);
	return -EIO;
}
EXPORT_SYMBOL_GPL(pmof_buf_init);

/* Gives a buffer to a device, after pmof_buf_unmap() perhaps to another.  Return: 0 or -EIO. */
int pmof_buf_map(struct pmof_buf *b, struct ib_device *dev)
{
	b->dma = ib_dma_map_single(dev, b->data, b->size, b->dir);
	if (ib_dma_mapping_error(dev, b->dma))
		return -EIO;
	b->mapped = true;
	return 0;
}
EXPORT_SYMBOL_GPL(pmof_buf_map);

/* Takes the buffer from the device; the memory stays until pmof_buf_free(). */
void pmof_buf_unmap(struct pmof_buf *b, struct ib_device *dev)
{
	if (b->mapped)
		ib_dma_unmap_single(dev, b->dma, b->size, b->dir);
	b->mapped = false;
}
EXPORT_SYMBOL_GPL(pmof_buf_unmap);

/* Harmless on a buffer that was never initialised (all zero). */
void pmof_buf_free(struct pmof_buf *b, struct ib_device *dev)
{
	pmof_buf_unmap(b, dev);
	buf_release(b);
}
EXPORT_SYMBOL_GPL(pmof_buf_free);

/* Hands the first @len bytes to the CPU, before it reads or rewrites them. */
void pmof_buf_for_cpu(struct pmof_buf *b, struct ib_device *dev, u32 len)
{
	ib_dma_sync_single_for_cpu(dev, b->dma, len, b->dir);
}
EXPORT_SYMBOL_GPL(pmof_buf_for_cpu);

/* Hands the first @len bytes back to the device. */
void pmof_buf_for_dev(struct pmof_buf *b, struct ib_device *dev, u32 len)
{
	ib_dma_sync_single_for_device(dev, b->dma, len, b->dir);
}
EXPORT_SYMBOL_GPL(pmof_buf_for_dev);

static void rx_free(struct pmof_qp *qp)
{
	u32 i;

	for (i = 0; i < qp->nr_rx; i++)
		pmof_buf_free(&qp->rx[i].buf, qp->dev);
	kvfree(qp->rx);
	qp->rx = NULL;
}

static int rx_alloc(struct pmof_qp *qp, const struct pmof_qp_config *cfg)
{
	u32 i;
	int rc;

	qp->rx = kvcalloc(cfg->nr_rx, sizeof(*qp->rx), GFP_KERNEL);
	if (!qp->rx)
		return -ENOMEM;
	qp->nr_rx = cfg->nr_rx;
	for (i = 0; i < cfg->nr_rx; i++) {
		struct pmof_rx *rx = &qp->rx[i];

		rx->qp = qp;
		rx->cqe.done = cfg->rx_done;
		rc = pmof_buf_init(&rx->buf, qp->dev, cfg->rx_size, DMA_FROM_DEVICE);
		if (rc) {
			rx_free(qp);
			return rc;
		}
	}
	return 0;
}

static int try_create_ib_qp(struct pmof_qp *qp, const struct pmof_qp_config *cfg, u32 max_inline)
{
	struct ib_qp_init_attr attr = {
		.event_handler	= cfg->event,
		.qp_context	= cfg->context,
		.send_cq	= qp->cq,
		.recv_cq	= qp->cq,
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
		/* One more on each side for ib_drain_qp()'s own. */
		.cap.max_send_wr	= cfg->max_send_wr + 1,
		.cap.max_recv_wr	= cfg->nr_rx + 1,
		.cap.max_send_sge	= qp->max_send_sge,
		.cap.max_recv_sge	= 1,
		.cap.max_inline_data	= max_inline,
	};
	int rc = rdma_create_qp(qp->cm_id, cfg->pd, &attr);

	if (rc)
		return rc;
	qp->ib = qp->cm_id->qp;
	qp->max_inline = max_inline;
	return 0;
}

/* No attribute of a device tells how much it sends inline: ask, and fall back. */
static int create_ib_qp(struct pmof_qp *qp, const struct pmof_qp_config *cfg)
{
	if (cfg->max_inline && !try_create_ib_qp(qp, cfg, cfg->max_inline))
		return 0;
	return try_create_ib_qp(qp, cfg, 0);
}

/**
 * pmof_qp_create - make the queue pair, CQ and receive buffers of a cm_id
 * @qp: zeroed; filled
 * @cm_id: with a device (address resolved, or a connection request)
 * @cfg: see struct pmof_qp_config
 *
 * Receives are not posted yet: pmof_qp_post_all_rx().  Return: 0 or a negative
 * errno, with nothing left behind.  May sleep.
 */
int pmof_qp_create(struct pmof_qp *qp, struct rdma_cm_id *cm_id,
		   const struct pmof_qp_config *cfg)
{
	struct ib_device *dev = cm_id->device;
	int rc;

	qp->cm_id = cm_id;
	qp->dev = dev;
	qp->max_send_sge = clamp_t(u32, cfg->max_send_sge, 1, dev->attrs.max_send_sge);
	qp->max_read_sge = qp->max_send_sge;
	if (dev->attrs.max_sge_rd > 0)
		qp->max_read_sge = min_t(u32, qp->max_read_sge, dev->attrs.max_sge_rd);
	qp->cq = ib_alloc_cq(dev, cfg->context, cfg->max_send_wr + cfg->nr_rx + 2,
			     cfg->comp_vector % dev->num_comp_vectors, cfg->poll_ctx);
	if (IS_ERR(qp->cq))
		return PTR_ERR(qp->cq);
	rc = rx_alloc(qp, cfg);
	if (rc)
		goto free_cq;
	rc = create_ib_qp(qp, cfg);
	if (rc)
		goto free_rx;
	return 0;

free_rx:
	rx_free(qp);
free_cq:
	ib_free_cq(qp->cq);
	qp->cq = NULL;
	return rc;
}
EXPORT_SYMBOL_GPL(pmof_qp_create);

/* Posts a receive (again).  Any context.  Return: 0 or a negative errno. */
int pmof_rx_post(struct pmof_rx *rx)
{
	struct ib_sge sge = {
		.addr	= rx->buf.dma,
		.length	= rx->buf.size,
		.lkey	= rx->qp->ib->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe		= &rx->cqe,
		.sg_list	= &sge,
		.num_sge	= 1,
	};

	pmof_buf_for_dev(&rx->buf, rx->qp->dev, rx->buf.size);
	return ib_post_recv(rx->qp->ib, &wr, NULL);
}
EXPORT_SYMBOL_GPL(pmof_rx_post);

int pmof_qp_post_all_rx(struct pmof_qp *qp)
{
	u32 i;
	int rc;

	for (i = 0; i < qp->nr_rx; i++) {
		rc = pmof_rx_post(&qp->rx[i]);
		if (rc)
			return rc;
	}
	return 0;
}
EXPORT_SYMBOL_GPL(pmof_qp_post_all_rx);

/*
 * Moves the queue pair to error and waits until every posted work request has
 * completed: after this the HCA touches none of their memory.  Not from a
 * completion handler.  Harmless before pmof_qp_create().
 */
void pmof_qp_drain(struct pmof_qp *qp)
{
	if (qp->ib)
		ib_drain_qp(qp->ib);
}
EXPORT_SYMBOL_GPL(pmof_qp_drain);

/*
 * Frees what pmof_qp_create() made; the queue pair must never have been used, or
 * be drained, and an RCU grace period be over since: the softirq that has handled the last
 * completion arms the CQ behind that, and ib_free_cq() does not wait for it.
 * The cm_id stays.
 */
void pmof_qp_destroy(struct pmof_qp *qp)
{
	if (!qp->ib)
		return;
	rdma_destroy_qp(qp->cm_id);
	qp->ib = NULL;
	ib_free_cq(qp->cq);
	qp->cq = NULL;
	rx_free(qp);
}
EXPORT_SYMBOL_GPL(pmof_qp_destroy);
