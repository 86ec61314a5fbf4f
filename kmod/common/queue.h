/* SPDX-License-Identifier: GPL-2.0 */
/* One RC queue pair with its CQ and its ring of receive buffers, for both sides. */
#ifndef PMOF_QUEUE_H
#define PMOF_QUEUE_H

#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

struct pmof_qp;

/* A message buffer of fixed size, DMA-mapped for its whole life. */
struct pmof_buf {
	void *data;
	u64 dma;
	u32 size;
	enum dma_data_direction dir;
	bool mapped;
};

/* One posted receive. */
struct pmof_rx {
	struct ib_cqe cqe;
	struct pmof_qp *qp;
	struct pmof_buf buf;
};

/**
 * struct pmof_qp_config - what pmof_qp_create() makes
 * @pd: protection domain of the queue pair
 * @max_send_wr: send work requests under way at once (the drain's own is added)
 * @nr_rx: receive buffers
 * @rx_size: bytes of each
 * @max_send_sge: wanted; capped to the device's
 * @max_inline: bytes to send inline, if the device can; see pmof_qp.max_inline
 * @poll_ctx: where completions are handled
 * @comp_vector: CPU spreading, any number
 * @rx_done: completion of a receive; wc->wr_cqe is the struct pmof_rx's
 * @event: asynchronous event of the queue pair, or NULL; any context
 * @context: ib_qp.qp_context
 */
struct pmof_qp_config {
	struct ib_pd *pd;
	u32 max_send_wr;
	u32 nr_rx;
	u32 rx_size;
	u32 max_send_sge;
	u32 max_inline;
	enum ib_poll_context poll_ctx;
	int comp_vector;
	void (*rx_done)(struct ib_cq *cq, struct ib_wc *wc);
	void (*event)(struct ib_event *event, void *context);
	void *context;
};

struct pmof_qp {
	struct rdma_cm_id *cm_id;
	struct ib_device *dev;
	struct ib_cq *cq;
	struct ib_qp *ib;
	struct pmof_rx *rx;
	u32 nr_rx;
	u32 max_send_sge;
	u32 max_read_sge;	/* of an RDMA READ, at most max_send_sge */
	u32 max_inline;		/* as asked for, or 0 if the device has none */
};

static inline struct pmof_rx *pmof_wc_rx(struct ib_wc *wc)
{
	return container_of(wc->wr_cqe, struct pmof_rx, cqe);
}

int pmof_buf_init(struct pmof_buf *b, struct ib_device *dev, u32 size,
		  enum dma_data_direction dir);
int pmof_buf_map(struct pmof_buf *b, struct ib_device *dev);
void pmof_buf_unmap(struct pmof_buf *b, struct ib_device *dev);
void pmof_buf_free(struct pmof_buf *b, struct ib_device *dev);
void pmof_buf_for_cpu(struct pmof_buf *b, struct ib_device *dev, u32 len);
void pmof_buf_for_dev(struct pmof_buf *b, struct ib_device *dev, u32 len);

int pmof_qp_create(struct pmof_qp *qp, struct rdma_cm_id *cm_id,
		   const struct pmof_qp_config *cfg);
int pmof_rx_post(struct pmof_rx *rx);
int pmof_qp_post_all_rx(struct pmof_qp *qp);
void pmof_qp_drain(struct pmof_qp *qp);
void pmof_qp_destroy(struct pmof_qp *qp);

#endif /* PMOF_QUEUE_H */
