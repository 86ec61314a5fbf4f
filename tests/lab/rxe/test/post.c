// SPDX-License-Identifier: GPL-2.0
/* Work requests, one at a time. */
#define pr_fmt(fmt) "rxe_test: " fmt

#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/random.h>

#include "rxe_test.h"

int rt_wait(struct ib_cq *cq, struct ib_wc *wc)
{
	unsigned long end = jiffies + 20 * HZ;

	while (ib_poll_cq(cq, 1, wc) != 1) {
		if (time_after(jiffies, end)) {
			rt_note("no completion");
			return -ETIMEDOUT;
		}
		usleep_range(20, 50);
	}
	return 0;
}

/* Of the next @n requests: 0, -ETIMEDOUT, or -EIO where one has failed. */
int rt_wait_many(struct ib_cq *cq, int n)
{
	struct ib_wc wc;

	while (n--) {
		if (rt_wait(cq, &wc))
			return -ETIMEDOUT;
		if (wc.status != IB_WC_SUCCESS) {
			rt_note("status %d", wc.status);
			return -EIO;
		}
	}
	return 0;
}

int rt_post(struct rt_pair *p, struct ib_send_wr *wr)
{
	const struct ib_send_wr *bad;

	return ib_post_send(p->cqp, wr, &bad);
}

/* Posts, signaled, and waits: 0, -EIO with the status in @wc, or an error of the post. */
int rt_run(struct rt_pair *p, struct ib_send_wr *wr, struct ib_wc *wc)
{
	int err;

	wr->send_flags |= IB_SEND_SIGNALED;
	err = rt_post(p, wr);
	if (!err)
		err = rt_wait(p->ccq, wc);
	if (err)
		return err;
	return wc->status == IB_WC_SUCCESS ? 0 : -EIO;
}

static void fill_sge(struct rt_pair *p, struct ib_sge *sge, u32 buf_offset, u32 length)
{
	sge->addr = (uintptr_t)p->buf + buf_offset;
	sge->length = length;
	sge->lkey = p->client->pd->local_dma_lkey;
}

static void fill_rdma(struct rt_pair *p, struct ib_rdma_wr *wr, struct ib_sge *sge,
		      enum ib_wr_opcode opcode, u64 offset)
{
	*wr = (struct ib_rdma_wr) {
		.wr.opcode = opcode,
		.wr.sg_list = sge,
		.wr.num_sge = 1,
		.remote_addr = RT_IOVA + offset,
		.rkey = p->mr->rkey,
	};
}

static int post_rdma(struct rt_pair *p, enum ib_wr_opcode opcode, u64 offset, u32 buf_offset,
		     u32 length, int flags)
{
	struct ib_rdma_wr wr;
	struct ib_sge sge;

	fill_sge(p, &sge, buf_offset, length);
	fill_rdma(p, &wr, &sge, opcode, offset);
	wr.wr.send_flags = flags;
	return rt_post(p, &wr.wr);
}

/* The data are at @buf_offset of the buffer; @flags: IB_SEND_SIGNALED or 0. */
int rt_write_post(struct rt_pair *p, u64 offset, u32 buf_offset, u32 length, int flags)
{
	return post_rdma(p, IB_WR_RDMA_WRITE, offset, buf_offset, length, flags);
}

/* Likewise; the data go to there. */
int rt_read_post(struct rt_pair *p, u64 offset, u32 buf_offset, u32 length, int flags)
{
	return post_rdma(p, IB_WR_RDMA_READ, offset, buf_offset, length, flags);
}

static int write_op(struct rt_pair *p, enum ib_wr_opcode opcode, u64 offset, const void *data,
		    u32 length)
{
	struct ib_rdma_wr wr;
	struct ib_sge sge;
	struct ib_wc wc;

	memcpy(p->buf, data, length);
	fill_sge(p, &sge, 0, length);
	fill_rdma(p, &wr, &sge, opcode, offset);
	return rt_run(p, &wr.wr, &wc);
}

int rt_write(struct rt_pair *p, u64 offset, const void *data, u32 length)
{
	return write_op(p, IB_WR_RDMA_WRITE, offset, data, length);
}

/* Into the buffer. */
int rt_read(struct rt_pair *p, u64 offset, u32 length, int flags)
{
	struct ib_rdma_wr wr;
	struct ib_sge sge;
	struct ib_wc wc;

	fill_sge(p, &sge, 0, length);
	fill_rdma(p, &wr, &sge, IB_WR_RDMA_READ, offset);
	wr.wr.send_flags = flags;
	return rt_run(p, &wr.wr, &wc);
}

/* Random data, as much as the buffer holds, in WRITEs that are posted at once: is it there? */
int rt_write_many(struct rt_pair *p, u64 offset)
{
	u32 off;
	int err = 0;

	get_random_bytes(p->buf, RT_BUF);
	for (off = 0; off < RT_BUF && !err; off += SZ_8K)
		err = rt_write_post(p, offset + off, off, SZ_8K, 0);
	err = err ?: rt_read(p, SZ_2M, 1, 0);
	/* The READ has overwritten the first byte. */
	if (!err && memcmp(rt_pmem + offset + 1, p->buf + 1, RT_BUF - 1))
		err = -EILSEQ;
	return err;
}

int rt_recv_post(struct rt_pair *p)
{
	struct ib_sge sge = {
		.addr = (uintptr_t)p->recv,
		.length = RT_RECV,
		.lkey = p->server->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = { .sg_list = &sge, .num_sge = 1 };

	return ib_post_recv(p->sqp, &wr, NULL);
}

/* Returns when the server has the completion; the client's may come later. */
static int wait_recv(struct rt_pair *p)
{
	struct ib_wc wc;

	if (rt_wait(p->scq, &wc))
		return -ETIMEDOUT;
	return wc.status == IB_WC_SUCCESS && wc.opcode & IB_WC_RECV ? 0 : -EIO;
}

int rt_send_post(struct rt_pair *p, u32 length, int flags)
{
	struct ib_sge sge;
	struct ib_send_wr wr = { .opcode = IB_WR_SEND, .sg_list = &sge, .num_sge = 1,
				 .send_flags = flags };

	fill_sge(p, &sge, 0, length);
	return rt_post(p, &wr);
}

int rt_send(struct rt_pair *p)
{
	return rt_send_flags(p, 0);
}

int rt_send_flags(struct rt_pair *p, int flags)
{
	int err = rt_recv_post(p) ?: rt_send_post(p, 8, flags);

	return err ?: wait_recv(p);
}

/* @rkey: what the responder is to invalidate; -EIO if it does not. */
int rt_send_inv(struct rt_pair *p, u32 rkey)
{
	struct ib_sge sge;
	struct ib_send_wr wr = { .opcode = IB_WR_SEND_WITH_INV, .sg_list = &sge, .num_sge = 1,
				 .ex.invalidate_rkey = rkey };
	struct ib_wc wc;
	int err = rt_recv_post(p);

	fill_sge(p, &sge, 0, 8);
	if (!err)
		err = rt_run(p, &wr, &wc);
	return err ?: wait_recv(p);
}

int rt_write_imm(struct rt_pair *p, u64 offset, const void *data, u32 length)
{
	int err = rt_recv_post(p);

	if (!err)
		err = write_op(p, IB_WR_RDMA_WRITE_WITH_IMM, offset, data, length);
	return err ?: wait_recv(p);
}

int rt_flush(struct rt_pair *p, u64 offset, u32 length, u8 type, u8 level)
{
	struct ib_flush_wr wr = {
		.wr.opcode = IB_WR_FLUSH,
		.remote_addr = RT_IOVA + offset,
		.length = length,
		.rkey = p->mr->rkey,
		.type = type,
		.level = level,
	};
	struct ib_wc wc;
	int err = rt_run(p, &wr.wr, &wc);

	if (!err && wc.opcode != IB_WC_FLUSH) {
		rt_note("FLUSH completes with opcode %d", wc.opcode);
		return -EBADMSG;
	}
	return err;
}

int rt_atomic_write(struct rt_pair *p, u64 offset, u64 value, bool is_inline)
{
	struct ib_rdma_wr wr;
	struct ib_sge sge;
	struct ib_wc wc;
	int err;

	*(u64 *)p->buf = value;
	fill_sge(p, &sge, 0, sizeof(value));
	fill_rdma(p, &wr, &sge, IB_WR_ATOMIC_WRITE, offset);
	wr.wr.send_flags = is_inline ? IB_SEND_INLINE : 0;
	err = rt_run(p, &wr.wr, &wc);
	if (!err && wc.opcode != IB_WC_ATOMIC_WRITE) {
		rt_note("ATOMIC_WRITE completes with opcode %d", wc.opcode);
		return -EBADMSG;
	}
	return err;
}

/* @flags: IB_SEND_SIGNALED or 0. The old value goes into the buffer's second page. */
int rt_add_post(struct rt_pair *p, u64 offset, u64 add, int flags)
{
	struct ib_sge sge;
	struct ib_atomic_wr wr = {
		.wr.opcode = IB_WR_ATOMIC_FETCH_AND_ADD,
		.wr.sg_list = &sge,
		.wr.num_sge = 1,
		.wr.send_flags = flags,
		.remote_addr = RT_IOVA + offset,
		.compare_add = add,
		.rkey = p->mr->rkey,
	};

	fill_sge(p, &sge, PAGE_SIZE, sizeof(u64));
	return rt_post(p, &wr.wr);
}

int rt_cas(struct rt_pair *p, u64 offset, u64 old, u64 new, u64 *found)
{
	struct ib_sge sge;
	struct ib_atomic_wr wr = {
		.wr.opcode = IB_WR_ATOMIC_CMP_AND_SWP,
		.wr.sg_list = &sge,
		.wr.num_sge = 1,
		.remote_addr = RT_IOVA + offset,
		.compare_add = old,
		.swap = new,
		.rkey = p->mr->rkey,
	};
	struct ib_wc wc;
	int err;

	fill_sge(p, &sge, 0, sizeof(u64));
	err = rt_run(p, &wr.wr, &wc);
	*found = *(u64 *)p->buf;
	return err;
}
