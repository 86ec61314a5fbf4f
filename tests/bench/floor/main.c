// SPDX-License-Identifier: GPL-2.0
/*
 * A yardstick for tests/bench: what one RDMA READ or WRITE from inside the kernel costs, on a
 * queue pair that pmof.ko has made as it makes those of a connection.
 *
 *   insmod pmof-floor.ko listen=ADDRESS     at the server
 *   insmod pmof-floor.ko connect=ADDRESS    at the client, which gets /dev/pmof-floor
 */
#define pr_fmt(fmt) "pmof-floor: " fmt

#include <linux/inet.h>
#include <linux/module.h>

#include "floor.h"

static char *listen;
module_param(listen, charp, 0444);
MODULE_PARM_DESC(listen, "IPv4 address to answer at");

static char *connect;
module_param(connect, charp, 0444);
MODULE_PARM_DESC(connect, "IPv4 address of the responder");

static void floor_rx_done(struct ib_cq *cq, struct ib_wc *wc)
{
	/* Nobody sends: the queue pair has come to its end. */
}

static int floor_map(struct floor_end *end)
{
	end->memory = alloc_pages_exact(FLOOR_MAX, GFP_KERNEL | __GFP_ZERO);
	if (!end->memory)
		return -ENOMEM;
	end->dma = ib_dma_map_single(end->id->device, end->memory, FLOOR_MAX, DMA_BIDIRECTIONAL);
	if (!ib_dma_mapping_error(end->id->device, end->dma))
		return 0;
	free_pages_exact(end->memory, FLOOR_MAX);
	end->memory = NULL;
	return -EIO;
}

/* The cm_id has a device, and stays the caller's until this has succeeded. */
int floor_end_open(struct floor_end *end, struct rdma_cm_id *id, unsigned int pd_flags)
{
	struct pmof_qp_config cfg = {
		.max_send_wr	= 4,
		.nr_rx		= 1,
		.rx_size	= 64,
		.max_send_sge	= 1,
		.poll_ctx	= IB_POLL_SOFTIRQ,
		.rx_done	= floor_rx_done,
	};
	int rc;

	memset(end, 0, sizeof(*end));
	end->id = id;
	end->pd = ib_alloc_pd(id->device, pd_flags);
	if (IS_ERR(end->pd))
		return PTR_ERR(end->pd);
	cfg.pd = end->pd;
	rc = floor_map(end);
	if (!rc)
		rc = pmof_qp_create(&end->qp, id, &cfg);
	if (rc) {
		end->id = NULL;
		floor_end_close(end);
	}
	return rc;
}

/* Harmless on an end that was never opened (all zero). */
void floor_end_close(struct floor_end *end)
{
	struct ib_device *dev;

	if (IS_ERR_OR_NULL(end->pd))
		return;
	dev = end->pd->device;
	if (end->qp.ib) {
		rdma_disconnect(end->id);
		pmof_qp_drain(&end->qp);
		pmof_qp_destroy(&end->qp);
	}
	if (end->memory) {
		ib_dma_unmap_single(dev, end->dma, FLOOR_MAX, DMA_BIDIRECTIONAL);
		free_pages_exact(end->memory, FLOOR_MAX);
	}
	ib_dealloc_pd(end->pd);
	if (end->id)
		rdma_destroy_id(end->id);
	memset(end, 0, sizeof(*end));
}

static int __init floor_init(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(FLOOR_PORT) };
	const char *text = listen ?: connect;

	if (!listen == !connect ||
	    !in4_pton(text, -1, (u8 *)&addr.sin_addr.s_addr, -1, NULL)) {
		pr_err("wants an IPv4 address as listen= or as connect=\n");
		return -EINVAL;
	}
	return listen ? floor_listen(&addr) : floor_connect(&addr);
}

static void __exit floor_exit(void)
{
	if (listen)
		floor_unlisten();
	else
		floor_disconnect();
}

module_init(floor_init);
module_exit(floor_exit);
MODULE_DESCRIPTION("pmof benchmark: round trips of RDMA READ and WRITE");
MODULE_LICENSE("GPL");
