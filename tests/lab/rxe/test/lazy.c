// SPDX-License-Identifier: GPL-2.0
/*
 * What an acknowledged WRITE means. After section 4.2 of Kalia, Andersen and
 * Kaminsky, "Challenges and Solutions for Fast Remote Persistent Memory Access":
 * when a WRITE completes at the client, look at the server's memory.
 */
#define pr_fmt(fmt) "rxe_test: " fmt

#include <linux/delay.h>

#include "rxe_test.h"

#define LINES	32
#define STEP	192	/* from one to the next, bytes */

/* How many of the WRITEs of this round are in the server's memory. */
static int visible(u64 value)
{
	int i, n = 0;

	for (i = 0; i < LINES; i++)
		n += READ_ONCE(*(u64 *)(rt_pmem + STEP * i)) == value;
	return n;
}

/* Returns how many are visible when all have completed, or an error. */
static int write_lines(struct rt_pair *p, u64 value)
{
	int i, err;

	for (i = 0; i < LINES; i++) {
		err = rt_write(p, STEP * i, &value, sizeof(value));
		if (err)
			return err;
	}
	return visible(value);
}

/* lazy_write off: soft-RoCE copies before it acknowledges. */
void rt_test_prompt(void)
{
	struct rt_pair *p;
	int i, n = 0;

	rt_ok(!rt_param("lazy_write", "0"), "lazy_write is off");
	p = rt_pair_open(RT_READS);
	for (i = 1; p && i <= 20; i++)
		n += write_lines(p, i) == LINES;
	rt_ok(n == 20, "without lazy_write, a completed WRITE is visible");
	rt_pair_close(p);
}

static bool before_read(struct rt_pair *p)
{
	return !rt_read(p, SZ_1M, 1, 0);
}

static bool before_send(struct rt_pair *p)
{
	return !rt_send(p);
}

static bool before_imm(struct rt_pair *p)
{
	u64 value = 0;

	return !rt_write_imm(p, SZ_1M, &value, sizeof(value));
}

static bool before_flush(struct rt_pair *p)
{
	return !rt_flush(p, SZ_1M, 64, IB_FLUSH_PERSISTENT, IB_FLUSH_RANGE);
}

static bool before_cas(struct rt_pair *p)
{
	u64 found;

	return !rt_cas(p, SZ_1M, 0, 0, &found);
}

static bool before_atomic_write(struct rt_pair *p)
{
	return !rt_atomic_write(p, SZ_1M, 0, true);
}

/* Completed and not visible; then @settle, and all are. */
static void test_settled(struct rt_pair *p, u64 value, bool (*settle)(struct rt_pair *p),
			 const char *name)
{
	int before = write_lines(p, value);
	bool good = before >= 0 && settle(p);
	int after = visible(value);

	if (!rt_ok(good && before < LINES && after == LINES, name))
		rt_note("%d of %d before, %d after", before, LINES, after);
}

static void test_itself(struct rt_pair *p)
{
	bool overtaken = false;
	int i, n;

	rt_param("lazy_write_ms", "200");
	n = write_lines(p, 100);
	for (i = 0; i < 400 && n < LINES; i++) {
		usleep_range(1000, 2000);
		n = visible(100);
		/* The first not there, but a later one. */
		overtaken |= n && READ_ONCE(*(u64 *)rt_pmem) != 100;
	}
	rt_ok(n == LINES, "WRITEs become visible by themselves");
	for (i = 101; i < 110 && !overtaken; i++) {
		rt_read(p, 0, 1, 0);
		write_lines(p, i);
		for (n = 0; n < 200 && READ_ONCE(*(u64 *)rt_pmem) != i; n++) {
			overtaken |= visible(i) != 0;
			usleep_range(1000, 2000);
		}
	}
	rt_ok(overtaken, "and in another order");
	rt_param("lazy_write_ms", "1000");
}

/* A READ orders nothing on another queue pair: that one's WRITEs stay away. */
static void test_other_queue(struct rt_pair *p)
{
	struct rt_pair *q = rt_pair_open(RT_READS);
	int n = write_lines(p, 200);

	rt_ok(q && n >= 0 && n < LINES && !rt_read(q, 0, STEP * LINES, 0) && visible(200) < LINES,
	      "a READ on another queue pair does not wait for them");
	rt_pair_close(q);
	rt_read(p, 0, 1, 0);
}

void rt_test_lazy(void)
{
	struct rt_pair *p = rt_pair_open(RT_READS);

	if (!rt_ok(p && !rt_param("lazy_write", "1") && !rt_param("lazy_write_ms", "1000"),
		   "lazy_write is on"))
		goto out;
	test_settled(p, 1, before_read, "a completed WRITE may be invisible, not after a READ");
	test_settled(p, 2, before_send, "after a SEND has been received");
	test_settled(p, 3, before_imm, "after a WRITE with immediate data");
	test_settled(p, 4, before_flush, "after a FLUSH");
	test_settled(p, 5, before_cas, "after an atomic");
	test_settled(p, 6, before_atomic_write, "after an ATOMIC_WRITE");
	test_itself(p);
	test_other_queue(p);
out:
	rt_param("lazy_write", "0");
	rt_pair_close(p);
}
