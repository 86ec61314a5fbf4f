// SPDX-License-Identifier: GPL-2.0
/* lazy_atomic: what is posted behind an atomic without a fence may come first. */
#define pr_fmt(fmt) "rxe_test: " fmt

#include <linux/delay.h>

#include "rxe_test.h"

#define ROUNDS	20

/*
 * A FETCH_ADD of 1 to word 0, and a SEND behind it with @flags. Returns how much
 * of it the server sees when it has received the SEND, or an error.
 */
static int add_and_send(struct rt_pair *p, int flags)
{
	u64 *word = (u64 *)rt_pmem;
	u64 before = READ_ONCE(*word), seen;
	struct ib_wc wc[2] = {};
	int err;

	err = rt_add_post(p, 0, 1, IB_SEND_SIGNALED);
	err = err ?: rt_send_flags(p, flags | IB_SEND_SIGNALED);
	seen = READ_ONCE(*word) - before;
	err = err ?: rt_wait(p->ccq, &wc[0]) ?: rt_wait(p->ccq, &wc[1]);
	if (err)
		return err;
	if (wc[0].status || wc[1].status || wc[0].opcode != IB_WC_FETCH_ADD ||
	    wc[1].opcode != IB_WC_SEND || READ_ONCE(*word) != before + 1)
		return -EIO;
	return seen;
}

/* In how many rounds the atomic had been executed; negative if one went wrong. */
static int rounds(struct rt_pair *p, int flags)
{
	int i, n = 0, seen;

	for (i = 0; i < ROUNDS; i++) {
		seen = add_and_send(p, flags);
		if (seen < 0)
			return seen;
		n += seen;
	}
	return n;
}

void rt_test_atomic(void)
{
	struct rt_pair *p = rt_pair_open(RT_READS);
	u64 found = 0;
	int n;

	memset(rt_pmem, 0, PAGE_SIZE);
	if (!rt_ok(p && !rt_param("lazy_atomic", "0"), "lazy_atomic is off"))
		goto out;
	rt_ok(rounds(p, 0) == ROUNDS, "without lazy_atomic, a SEND comes behind the atomic");
	rt_param("lazy_atomic", "1");
	n = rounds(p, 0);
	if (!rt_ok(n >= 0 && n < ROUNDS, "with it, a SEND overtakes it; answers come in order"))
		rt_note("%d of %d", n, ROUNDS);
	rt_ok(rounds(p, IB_SEND_FENCE) == ROUNDS, "but not with a fence");
	rt_ok(!rt_add_post(p, 0, 1, 0) && !rt_cas(p, 0, 3 * ROUNDS + 1, 77, &found) &&
	      found == 3 * ROUNDS + 1 && READ_ONCE(*(u64 *)rt_pmem) == 77,
	      "nor does another atomic overtake it");
	/* One is put off when the queue pair goes. */
	rt_ok(!rt_add_post(p, 0, 1, 0) && !rt_qp_error(p->sqp), "the error state ends it");
	msleep(50);
out:
	rt_param("lazy_atomic", "0");
	rt_pair_close(p);
}
