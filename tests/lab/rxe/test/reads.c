// SPDX-License-Identifier: GPL-2.0
/* READs of several packets that are answered late and in part: they end, and with their data. */
#define pr_fmt(fmt) "rxe_test: " fmt

#include <linux/random.h>
#include <linux/string.h>

#include "rxe_test.h"

#define ROUNDS	48
#define READS	RT_READS	/* in a round, each behind a WRITE */
#define PART	SZ_64K		/* bytes of the buffer for each */
#define WRITTEN	SZ_2M		/* where the WRITEs go, behind what is read */

static u32 length_of(u32 round, u32 i)
{
	return SZ_4K * (1 + (round * READS + i) * 7 % (PART / SZ_4K));
}

/* The WRITEs are what is acknowledged twice while a READ behind them is being answered. */
static int post_round(struct rt_pair *p, u32 round)
{
	int err = 0;
	u32 i;

	for (i = 0; i < READS && !err; i++)
		err = rt_write_post(p, WRITTEN, SZ_512K, 8, 0) ?:
		      rt_read_post(p, i * PART, i * PART, length_of(round, i), IB_SEND_SIGNALED);
	return err;
}

static int end_round(struct rt_pair *p, u32 round)
{
	int err = rt_wait_many(p->ccq, READS);
	u32 i;

	for (i = 0; i < READS && !err; i++)
		if (memcmp(p->buf + i * PART, rt_pmem + i * PART, length_of(round, i)))
			err = -EILSEQ;
	return err;
}

/* The network is made so by who loads the module. */
void rt_test_reads(void)
{
	struct rt_pair *p = rt_pair_open(RT_READS);
	int err = 0;
	u32 i;

	if (!rt_ok(p, "a connection over a network that is too slow and loses packets"))
		return;
	for (i = 0; i < ROUNDS && !err; i++) {
		get_random_bytes(rt_pmem, READS * PART);
		memset(p->buf, 0, READS * PART);
		err = post_round(p, i) ?: end_round(p, i);
	}
	if (!rt_ok(!err, "READs behind WRITEs survive it, with their data"))
		rt_note("round %u: %d", i, err);
	rt_pair_close(p);
}
