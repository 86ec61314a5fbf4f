// SPDX-License-Identifier: GPL-2.0
/* ACKs that come later than they are waited for: all is sent again, and nothing is taken twice. */
#define pr_fmt(fmt) "rxe_test: " fmt

#include <linux/delay.h>

#include "rxe_test.h"

#define ROUNDS		32
#define SENDS		4	/* in a round, each behind a WRITE */
#define SPARE		16	/* receives for what should not come */
#define SEND_LEN	8

/*
 * A WRITE of more packets than may be under way, and a SEND behind it: the ACK of what was sent
 * first arrives while a part of it has been sent again.
 */
static int post_round(struct rt_pair *p, u32 round)
{
	u32 i, packets;
	int err = 0;

	for (i = 0; i < SENDS && !err; i++) {
		packets = 1 + (round * SENDS + i) * 29 % 200;
		err = rt_recv_post(p) ?: rt_write_post(p, 0, 0, packets * SZ_4K, 0) ?:
		      rt_send_post(p, SEND_LEN, IB_SEND_SIGNALED);
	}
	return err;
}

/* How many messages there are by now, or -EIO where one is none that was sent. */
static int received(struct rt_pair *p)
{
	struct ib_wc wc;
	int n = 0;

	while (ib_poll_cq(p->scq, 1, &wc) == 1) {
		if (wc.status != IB_WC_SUCCESS || wc.byte_len != SEND_LEN) {
			rt_note("status %d, %u bytes", wc.status, wc.byte_len);
			return -EIO;
		}
		n++;
	}
	return n;
}

/* The network is made so by who loads the module. */
void rt_test_late(void)
{
	struct rt_pair *p = rt_pair_open(RT_READS);
	int err = 0, n;
	u32 i;

	if (!rt_ok(p, "a connection over a network that is slower than its time limits"))
		return;
	for (i = 0; i < SPARE && !err; i++)
		err = rt_recv_post(p);
	for (i = 0; i < ROUNDS && !err; i++)
		err = post_round(p, i) ?: rt_wait_many(p->ccq, SENDS);
	if (!rt_ok(!err, "WRITEs and SENDs survive it"))
		rt_note("round %u: %d", i, err);
	/* What is still on its way. */
	msleep(1000);
	n = received(p);
	if (!rt_ok(n == ROUNDS * SENDS, "each SEND has arrived once"))
		rt_note("%d of %d", n, ROUNDS * SENDS);
	rt_pair_close(p);
}
