// SPDX-License-Identifier: GPL-2.0
/* A peer may take its own MR away by a SEND_WITH_INV, and nobody else's. */
#define pr_fmt(fmt) "rxe_test: " fmt

#include "rxe_test.h"

static const u8 data[] = "written";

static bool can_write(struct rt_pair *p)
{
	return !rt_write(p, 0, data, sizeof(data));
}

static void test_own(struct rt_pair *p)
{
	rt_ok(can_write(p) && !rt_send_inv(p, p->mr->rkey), "a peer invalidates its MR");
	rt_ok(!can_write(p), "which is of no use then");
}

/* @other is of the same device, and has nothing to do with @p. */
static void test_other(struct rt_pair *p, struct rt_pair *other)
{
	int err = rt_send_inv(other, p->mr->rkey);

	if (!rt_ok(err == -EIO, "the MR of another protection domain is not to be invalidated"))
		rt_note("%d", err);
	rt_ok(can_write(p), "and is as before");
	rt_ok(!can_write(other), "who has tried has lost the queue pair");
}

void rt_test_invalidate(void)
{
	struct rt_pair *p = rt_pair_open(RT_READS), *other = NULL;
	struct rt_node stranger = rt_server;

	stranger.pd = ib_alloc_pd(stranger.dev, 0);
	if (rt_ok(!IS_ERR(stranger.pd), "another protection domain")) {
		other = rt_pair_open_at(&stranger, RT_READS);
		if (rt_ok(p && other, "a connection in each"))
			test_other(p, other);
		rt_pair_close(other);
		ib_dealloc_pd(stranger.pd);
	}
	if (p)
		test_own(p);
	rt_pair_close(p);
}
