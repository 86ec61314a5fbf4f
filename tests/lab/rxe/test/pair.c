// SPDX-License-Identifier: GPL-2.0
/* Devices, queue pairs and MRs. */
#define pr_fmt(fmt) "rxe_test: " fmt

#include <linux/etherdevice.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>

#include "rxe_test.h"

/* The device's GID for IPv4. */
static int find_gid(struct rt_node *node)
{
	const struct ib_gid_attr *attr;
	int i;

	for (i = 0; i < 16; i++) {
		attr = rdma_get_gid_attr(node->dev, 1, i);
		if (IS_ERR(attr))
			continue;
		if (attr->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP &&
		    ipv6_addr_v4mapped((struct in6_addr *)&attr->gid)) {
			node->gid = attr;
			return 0;
		}
		rdma_put_gid_attr(attr);
	}
	pr_err("%s has no IPv4 address\n", dev_name(&node->dev->dev));
	return -ENODEV;
}

static int find_mac(struct rt_node *node)
{
	struct net_device *ndev = ib_device_get_netdev(node->dev, 1);

	if (!ndev)
		return -ENODEV;
	ether_addr_copy(node->mac, ndev->dev_addr);
	dev_put(ndev);
	return 0;
}

int rt_node_open(struct rt_node *node, const char *name)
{
	int err;

	node->dev = ib_device_get_by_name(name, RDMA_DRIVER_RXE);
	if (!node->dev) {
		pr_err("no device %s\n", name);
		return -ENODEV;
	}
	err = find_mac(node);
	if (!err)
		err = find_gid(node);
	if (err)
		goto put;
	node->pd = ib_alloc_pd(node->dev, 0);
	if (!IS_ERR(node->pd))
		return 0;
	err = PTR_ERR(node->pd);
	rdma_put_gid_attr(node->gid);
put:
	ib_device_put(node->dev);
	return err;
}

void rt_node_close(struct rt_node *node)
{
	ib_dealloc_pd(node->pd);
	rdma_put_gid_attr(node->gid);
	ib_device_put(node->dev);
}

static struct ib_qp *make_qp(struct rt_node *node, struct ib_cq *cq)
{
	struct ib_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {
			.max_send_wr = RT_DEPTH,
			.max_recv_wr = RT_DEPTH,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = 64,
		},
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = RT_ACCESS,
	};
	struct ib_qp *qp = ib_create_qp(node->pd, &init);
	int err;

	if (IS_ERR(qp))
		return qp;
	err = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			   IB_QP_ACCESS_FLAGS);
	if (!err)
		return qp;
	ib_destroy_qp(qp);
	return ERR_PTR(err);
}

static int connect_qp(struct ib_qp *qp, struct rt_node *node, struct rt_node *peer,
		      u32 peer_qpn, int max_dest_rd_atomic)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTR,
		.path_mtu = IB_MTU_4096,
		.dest_qp_num = peer_qpn,
		.rq_psn = 100,
		.max_dest_rd_atomic = max_dest_rd_atomic,
		.min_rnr_timer = 1,
		.ah_attr.type = RDMA_AH_ATTR_TYPE_ROCE,
		.ah_attr.port_num = 1,
	};
	union ib_gid dgid = peer->gid->gid;
	int err;

	rdma_ah_set_grh(&attr.ah_attr, &dgid, 0, node->gid->index, 64, 0);
	rdma_ah_set_ah_flags(&attr.ah_attr, IB_AH_GRH);
	ether_addr_copy(attr.ah_attr.roce.dmac, peer->mac);
	err = ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN |
			   IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
	if (err)
		return err;

	attr = (struct ib_qp_attr) {
		.qp_state = IB_QPS_RTS,
		.sq_psn = 100,
		.timeout = 14,		/* 67 ms */
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = RT_READS,
	};
	return ib_modify_qp(qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
			    IB_QP_RNR_RETRY | IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC);
}

static int pair_make(struct rt_pair *p)
{
	int err;

	p->buf = kzalloc(RT_BUF, GFP_KERNEL);
	p->recv = kzalloc(RT_RECV, GFP_KERNEL);
	if (!p->buf || !p->recv)
		return -ENOMEM;
	p->ccq = ib_alloc_cq(p->client->dev, NULL, 2 * RT_DEPTH, 0, IB_POLL_DIRECT);
	if (IS_ERR(p->ccq))
		return PTR_ERR(p->ccq);
	p->scq = ib_alloc_cq(p->server->dev, NULL, 2 * RT_DEPTH, 0, IB_POLL_DIRECT);
	if (IS_ERR(p->scq))
		return PTR_ERR(p->scq);
	p->cqp = make_qp(p->client, p->ccq);
	if (IS_ERR(p->cqp))
		return PTR_ERR(p->cqp);
	p->sqp = make_qp(p->server, p->scq);
	if (IS_ERR(p->sqp))
		return PTR_ERR(p->sqp);
	err = connect_qp(p->cqp, p->client, p->server, p->sqp->qp_num, RT_READS);
	if (!err)
		err = connect_qp(p->sqp, p->server, p->client, p->cqp->qp_num,
				 p->max_dest_rd_atomic);
	return err;
}

struct rt_pair *rt_pair_open(int max_dest_rd_atomic)
{
	return rt_pair_open_at(&rt_server, max_dest_rd_atomic);
}

struct rt_pair *rt_pair_open_at(struct rt_node *server, int max_dest_rd_atomic)
{
	struct rt_pair *p = kzalloc(sizeof(*p), GFP_KERNEL);
	int err;

	if (!p)
		return NULL;
	p->client = &rt_client;
	p->server = server;
	p->max_dest_rd_atomic = max_dest_rd_atomic;
	err = pair_make(p);
	if (!err)
		err = rt_register(p, virt_to_page(rt_pmem), RT_ACCESS);
	if (!err)
		return p;
	rt_note("no connection: %d", err);
	rt_pair_close(p);
	return NULL;
}

void rt_pair_close(struct rt_pair *p)
{
	if (!p)
		return;
	if (!IS_ERR_OR_NULL(p->cqp))
		ib_destroy_qp(p->cqp);
	if (!IS_ERR_OR_NULL(p->sqp))
		ib_destroy_qp(p->sqp);
	if (!IS_ERR_OR_NULL(p->mr))
		ib_dereg_mr(p->mr);
	if (!IS_ERR_OR_NULL(p->ccq))
		ib_free_cq(p->ccq);
	if (!IS_ERR_OR_NULL(p->scq))
		ib_free_cq(p->scq);
	kfree(p->recv);
	kfree(p->buf);
	kfree(p);
}

/* A fast registration of RT_LEN bytes in 2-MiB pages; -EIO if the device refuses it. */
int rt_register(struct rt_pair *p, struct page *page, int access)
{
	struct ib_reg_wr reg = {
		.wr.opcode = IB_WR_REG_MR,
		.wr.send_flags = IB_SEND_SIGNALED,
		.access = access,
	};
	struct scatterlist sg;
	struct ib_wc wc;
	int n;

	if (!p->mr)
		p->mr = ib_alloc_mr(p->server->pd, IB_MR_TYPE_MEM_REG, 8);
	if (IS_ERR(p->mr))
		return PTR_ERR(p->mr);
	sg_init_table(&sg, 1);
	sg_set_page(&sg, page, RT_LEN, 0);
	if (ib_dma_map_sg(p->server->dev, &sg, 1, DMA_BIDIRECTIONAL) != 1)
		return -ENOMEM;
	n = ib_map_mr_sg(p->mr, &sg, 1, NULL, SZ_2M);
	if (n != 1)
		return n < 0 ? n : -EINVAL;
	ib_update_fast_reg_key(p->mr, ib_inc_rkey(p->mr->rkey) & 0xff);
	p->mr->iova = RT_IOVA;
	reg.mr = p->mr;
	reg.key = p->mr->rkey;
	if (ib_post_send(p->sqp, &reg.wr, NULL) || rt_wait(p->scq, &wc))
		return -ETIMEDOUT;
	return wc.status == IB_WC_SUCCESS ? 0 : -EIO;
}

int rt_invalidate(struct rt_pair *p)
{
	struct ib_send_wr wr = {
		.opcode = IB_WR_LOCAL_INV,
		.send_flags = IB_SEND_SIGNALED,
		.ex.invalidate_rkey = p->mr->rkey,
	};
	struct ib_wc wc;

	if (ib_post_send(p->sqp, &wr, NULL) || rt_wait(p->scq, &wc))
		return -ETIMEDOUT;
	return wc.status == IB_WC_SUCCESS ? 0 : -EIO;
}

int rt_qp_error(struct ib_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	return ib_modify_qp(qp, &attr, IB_QP_STATE);
}
