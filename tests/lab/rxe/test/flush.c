// SPDX-License-Identifier: GPL-2.0
/* FLUSH and ATOMIC_WRITE from the kernel. */
#define pr_fmt(fmt) "rxe_test: " fmt

#include <linux/kprobes.h>
#include <linux/mm.h>

#include "rxe_test.h"

/* Counts the bytes of the PMEM under test that the responder writes back. */
static atomic_t written_back;

static int on_write_back(struct kprobe *probe, struct pt_regs *regs)
{
	unsigned long addr = regs_get_kernel_argument(regs, 0);

	if (addr >= (unsigned long)rt_pmem && addr < (unsigned long)rt_pmem + RT_LEN)
		atomic_add(regs_get_kernel_argument(regs, 1), &written_back);
	return 0;
}

static struct kprobe write_back_probe = {
	.symbol_name = "arch_wb_cache_pmem",
	.pre_handler = on_write_back,
};

static void test_caps(void)
{
	u64 caps = rt_client.dev->attrs.kernel_cap_flags;

	rt_ok(caps & IBK_FLUSH_WR && caps & IBK_ATOMIC_WRITE_WR,
	      "the device says that modules may post FLUSH and ATOMIC_WRITE");
}

static void test_flush(struct rt_pair *p)
{
	static const u8 data[5000] = { [0 ... 4999] = 0x5a };
	int err;

	memset(rt_pmem, 0, SZ_16K);
	err = rt_write(p, 100, data, sizeof(data));
	atomic_set(&written_back, 0);
	err = err ?: rt_flush(p, 100, sizeof(data), IB_FLUSH_PERSISTENT, IB_FLUSH_RANGE);
	rt_ok(!err && !memcmp(rt_pmem + 100, data, sizeof(data)),
	      "a persistent FLUSH of a range completes, the data are there");
	if (!rt_ok(atomic_read(&written_back) == sizeof(data), "it writes back this range"))
		rt_note("%d bytes", atomic_read(&written_back));

	atomic_set(&written_back, 0);
	err = rt_flush(p, 0, 0, IB_FLUSH_PERSISTENT, IB_FLUSH_MR);
	if (!rt_ok(!err && atomic_read(&written_back) == RT_LEN,
		   "a FLUSH of an MR writes back all of it"))
		rt_note("status %d, %d bytes", err, atomic_read(&written_back));

	atomic_set(&written_back, 0);
	err = rt_flush(p, 0, 4096, IB_FLUSH_GLOBAL, IB_FLUSH_RANGE);
	rt_ok(!err && !atomic_read(&written_back), "one for global visibility, nothing");
}

static void test_atomic_write(struct rt_pair *p)
{
	u64 *word = (u64 *)(rt_pmem + 4096);
	int err;

	*word = 0;
	err = rt_atomic_write(p, 4096, 0x1122334455667788, false);
	rt_ok(!err && READ_ONCE(*word) == 0x1122334455667788, "ATOMIC_WRITE with data by SGE");
	err = rt_atomic_write(p, 4096, 0x99aabbccddeeff00, true);
	rt_ok(!err && READ_ONCE(*word) == 0x99aabbccddeeff00, "ATOMIC_WRITE with inline data");
}

/* What is malformed is refused when it is posted; the queue pair lives on. */
static void test_refused_posts(struct rt_pair *p)
{
	struct ib_sge sge = { .addr = (uintptr_t)p->buf, .length = 4,
			      .lkey = p->client->pd->local_dma_lkey };
	struct ib_rdma_wr aw = { .wr.opcode = IB_WR_ATOMIC_WRITE, .wr.sg_list = &sge,
				 .wr.num_sge = 1, .remote_addr = RT_IOVA, .rkey = p->mr->rkey };
	struct ib_flush_wr fl = { .wr.opcode = IB_WR_FLUSH, .wr.sg_list = &sge, .wr.num_sge = 1,
				  .remote_addr = RT_IOVA, .length = 64, .rkey = p->mr->rkey,
				  .type = IB_FLUSH_PERSISTENT, .level = IB_FLUSH_RANGE };

	rt_ok(rt_post(p, &fl.wr) == -EINVAL, "a FLUSH with an SGE is refused");
	fl.wr.num_sge = 0;
	fl.type = 0;
	rt_ok(rt_post(p, &fl.wr) == -EINVAL, "a FLUSH of no type is refused");
	fl.type = 4;
	rt_ok(rt_post(p, &fl.wr) == -EINVAL, "a FLUSH of an unknown type is refused");
	fl.type = IB_FLUSH_GLOBAL;
	fl.level = 2;
	rt_ok(rt_post(p, &fl.wr) == -EINVAL, "a FLUSH of an unknown level is refused");
	rt_ok(rt_post(p, &aw.wr) == -EINVAL, "an ATOMIC_WRITE of 4 bytes is refused");
	sge.length = 8;
	aw.remote_addr += 4;
	rt_ok(rt_post(p, &aw.wr) == -EINVAL, "a misaligned ATOMIC_WRITE is refused");
	rt_ok(!rt_read(p, 0, 8, 0), "the queue pair still works");
}

/* More in flight than the responder has resources for: the requester must wait. */
static void test_many(struct rt_pair *p)
{
	struct ib_flush_wr wr = {
		.wr.opcode = IB_WR_FLUSH,
		.remote_addr = RT_IOVA,
		.length = 64,
		.rkey = p->mr->rkey,
		.type = IB_FLUSH_PERSISTENT,
		.level = IB_FLUSH_RANGE,
		.wr.send_flags = IB_SEND_SIGNALED,
	};
	int i, err = 0;

	for (i = 0; i < 64 && !err; i++)
		err = rt_post(p, &wr.wr);
	err = err ?: rt_wait_many(p->ccq, 64);
	rt_ok(!err, "64 FLUSHes in flight");
}

/* Ends the queue pair, as a READ would. */
static void test_no_resources(void)
{
	struct rt_pair *p = rt_pair_open(0);

	rt_ok(p && rt_flush(p, 0, 64, IB_FLUSH_PERSISTENT, IB_FLUSH_RANGE) == -EIO,
	      "a FLUSH to a queue pair without responder resources is refused");
	rt_pair_close(p);
}

static void test_rights(void)
{
	struct page *dram = alloc_pages(GFP_KERNEL, get_order(RT_LEN));
	struct rt_pair *p = rt_pair_open(RT_READS);
	int err;

	err = p ? rt_invalidate(p) : -ENOMEM;
	err = err ?: rt_register(p, virt_to_page(rt_pmem),
				 RT_ACCESS & ~IB_ACCESS_FLUSH_PERSISTENT);
	rt_ok(!err && !rt_flush(p, 0, 64, IB_FLUSH_GLOBAL, IB_FLUSH_RANGE),
	      "an MR for global flushes takes a global FLUSH");
	rt_ok(!err && rt_flush(p, 0, 64, IB_FLUSH_PERSISTENT, IB_FLUSH_RANGE) == -EIO,
	      "and no persistent one");
	rt_pair_close(p);

	p = rt_pair_open(RT_READS);
	err = p && dram ? rt_invalidate(p) : -ENOMEM;
	rt_ok(!err && !rt_register(p, dram, RT_ACCESS & ~IB_ACCESS_FLUSH_PERSISTENT),
	      "DRAM registers without the right to persistent flushes");
	err = err ?: rt_invalidate(p);
	rt_ok(!err && rt_register(p, dram, RT_ACCESS) == -EIO, "and not with it");
	rt_pair_close(p);
	if (dram)
		__free_pages(dram, get_order(RT_LEN));
}

void rt_test_flush(void)
{
	struct rt_pair *p = rt_pair_open(RT_READS);

	test_caps();
	if (!rt_ok(p, "a connection"))
		return;
	if (rt_ok(!register_kprobe(&write_back_probe), "a probe of the write-backs")) {
		test_flush(p);
		unregister_kprobe(&write_back_probe);
	}
	test_atomic_write(p);
	test_refused_posts(p);
	test_many(p);
	rt_pair_close(p);
	test_no_resources();
	test_rights();
}

/* Each waits for the one before; when they are sent again, for none behind it, nor for itself. */
static void test_fences(struct rt_pair *p)
{
	u64 before = READ_ONCE(*(u64 *)rt_pmem);
	int i, err = 0;

	for (i = 0; i < 32 && !err; i++) {
		err = rt_add_post(p, 0, 1, IB_SEND_FENCE);
		err = err ?: rt_write_post(p, 64, 0, 8, IB_SEND_FENCE | IB_SEND_SIGNALED);
	}
	err = err ?: rt_wait_many(p->ccq, 32);
	rt_ok(!err && READ_ONCE(*(u64 *)rt_pmem) == before + 32,
	      "fenced atomics and WRITEs survive lost packets");
}

/* Answers get lost, so that the responder is asked twice. */
void rt_test_loss(void)
{
	struct rt_pair *p = rt_pair_open(RT_READS);
	int i, err = p ? 0 : -ENOMEM;
	u64 value;

	for (i = 0; i < 150 && !err; i++) {
		value = i + 1;
		err = rt_write(p, 64 * i, &value, sizeof(value));
		err = err ?: rt_flush(p, 64 * i, 64, IB_FLUSH_PERSISTENT, IB_FLUSH_RANGE);
		err = err ?: rt_atomic_write(p, 64 * i + 8, value, false);
		if (!err && (((u64 *)(rt_pmem + 64 * i))[0] != value ||
			     ((u64 *)(rt_pmem + 64 * i))[1] != value))
			err = -EILSEQ;
	}
	if (!rt_ok(!err, "WRITE, FLUSH and ATOMIC_WRITE survive lost packets"))
		rt_note("round %d: %d", i, err);
	if (p) {
		test_many(p);
		test_fences(p);
	}
	rt_pair_close(p);
}
