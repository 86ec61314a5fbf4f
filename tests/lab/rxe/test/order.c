// SPDX-License-Identifier: GPL-2.0
/* What holds with lazy_write all the same: order, memory bounds, lifetimes. */
#define pr_fmt(fmt) "rxe_test: " fmt

#include <linux/delay.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "rxe_test.h"

/* The last WRITE to a byte wins, also over two queue pairs. */
static void test_same_bytes(struct rt_pair *p, struct rt_pair *q)
{
	u64 *word = (u64 *)rt_pmem;
	u64 i, found = 0;
	int err = 0;

	for (i = 1; i <= 101 && !err; i++)
		err = rt_write(i & 1 ? p : q, 0, &i, sizeof(i));
	err = err ?: rt_read(p, 64, 1, 0) ?: rt_read(q, 64, 1, 0);
	rt_ok(!err && READ_ONCE(*word) == 101, "the last of many WRITEs to a word wins");

	i = 7;
	err = rt_write(p, 0, &i, sizeof(i)) ?: rt_cas(q, 0, 7, 8, &found) ?: rt_read(p, 64, 1, 0);
	rt_ok(!err && found == 7 && READ_ONCE(*word) == 8,
	      "an atomic of another queue pair finds the WRITE before it");
}

/* More than may be put aside, posted at once. */
static void test_bounded(struct rt_pair *p)
{
	rt_ok(!rt_write_many(p, 24), "1 MiB of WRITEs in flight is stored whole");
}

/* Reads return what was written before on the same queue pair. */
static void test_shadow(struct rt_pair *p)
{
	u8 *shadow = kzalloc(SZ_64K, GFP_KERNEL);
	u32 off, len, i;
	int err = shadow ? 0 : -ENOMEM;

	memset(rt_pmem, 0, SZ_64K);
	for (i = 0; i < 400 && !err; i++) {
		off = get_random_u32_below(SZ_64K - 9000);
		len = 1 + get_random_u32_below(9000);
		if (get_random_u32_below(4)) {
			memset(shadow + off, i, len);
			err = rt_write(p, off, shadow + off, len);
		} else {
			err = rt_read(p, off, len, 0);
			if (!err && memcmp(p->buf, shadow + off, len))
				err = -EILSEQ;
		}
	}
	err = err ?: rt_read(p, 0, SZ_64K, 0);
	if (!rt_ok(!err && !memcmp(p->buf, shadow, SZ_64K) && !memcmp(rt_pmem, shadow, SZ_64K),
		   "random WRITEs and READs agree with a copy"))
		rt_note("step %u: %d", i, err);
	kfree(shadow);
}

/* WRITEs are put aside; then @end. They are there when it returns, and none comes later. */
static void test_end(int (*end)(struct rt_pair *p), const char *name)
{
	struct rt_pair *p = rt_pair_open(RT_READS);
	int i, err = p ? 0 : -ENOMEM, there = 0, later = 0;
	u64 value = get_random_u64();

	memset(rt_pmem, 0, SZ_64K);
	for (i = 0; i < 64 && !err; i++)
		err = rt_write(p, 1000 * i, &value, sizeof(value));
	err = err ?: end(p);
	for (i = 0; i < 64; i++)
		there += !memcmp(rt_pmem + 1000 * i, &value, sizeof(value));
	memset(rt_pmem, 0, SZ_64K);
	msleep(1200);
	for (i = 0; i < 64; i++)
		later += !memcmp(rt_pmem + 1000 * i, &value, sizeof(value));
	if (!rt_ok(!err && there == 64 && !later, name))
		rt_note("status %d, %d there, %d later", err, there, later);
	rt_pair_close(p);
}

static int end_invalidate(struct rt_pair *p)
{
	return rt_invalidate(p);
}

static int end_dereg(struct rt_pair *p)
{
	int err = ib_dereg_mr(p->mr);

	p->mr = NULL;
	return err;
}

/* ib_drain_rq() in short: the error state, then a marker comes back flushed. */
static int end_drain(struct rt_pair *p)
{
	struct ib_recv_wr wr = {};
	struct ib_wc wc;
	int err = ib_post_recv(p->sqp, &wr, NULL);

	err = err ?: rt_qp_error(p->sqp) ?: rt_wait(p->scq, &wc);
	return err ?: wc.status == IB_WC_WR_FLUSH_ERR ? 0 : -EIO;
}

static int end_reset(struct rt_pair *p)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RESET };

	return ib_modify_qp(p->sqp, &attr, IB_QP_STATE);
}

static int end_destroy(struct rt_pair *p)
{
	int err = ib_destroy_qp(p->sqp);

	p->sqp = NULL;
	return err;
}

/* Turned off while WRITEs are put aside, it still orders against them. */
static void test_off(struct rt_pair *p)
{
	u64 old = 1, new = 2;
	int err = rt_write(p, 0, &old, sizeof(old));

	rt_param("lazy_write", "0");
	err = err ?: rt_write(p, 0, &new, sizeof(new));
	msleep(1200);
	rt_ok(!err && READ_ONCE(*(u64 *)rt_pmem) == 2, "lazy_write can be turned off at any time");
}

void rt_test_order(void)
{
	struct rt_pair *p, *q;

	rt_param("lazy_write", "1");
	rt_param("lazy_write_ms", "1000");
	p = rt_pair_open(RT_READS);
	q = rt_pair_open(RT_READS);
	if (rt_ok(p && q, "two connections")) {
		test_same_bytes(p, q);
		test_bounded(p);
		test_shadow(p);
		test_off(p);
	}
	rt_pair_close(p);
	rt_pair_close(q);

	rt_param("lazy_write", "1");
	test_end(end_invalidate, "before an MR is invalidated, its WRITEs are stored");
	test_end(end_dereg, "before an MR is deregistered");
	test_end(end_drain, "before a queue pair reports its receive queue as flushed");
	test_end(end_reset, "before a queue pair is reset");
	test_end(end_destroy, "before a queue pair is destroyed");
	rt_param("lazy_write", "0");
}
