// SPDX-License-Identifier: GPL-2.0
/* A queue pair that fails while one of its packets is being taken: no other buffer takes it. */
#define pr_fmt(fmt) "rxe_test: " fmt

#include <linux/kprobes.h>

#include "rxe_test.h"

#define BUFFERS	3

/* What soft-RoCE does itself where a queue pair fails: it may be called with a lock held. */
static void (*qp_error)(struct ib_qp *qp);

static int find_qp_error(void)
{
	struct kprobe probe = { .symbol_name = "rxe_qp_error" };
	int err = register_kprobe(&probe);

	if (err)
		return err;
	/* It takes a struct rxe_qp, which begins with the struct ib_qp. */
	qp_error = (void *)probe.addr;
	unregister_kprobe(&probe);
	return 0;
}

/* Called between the completion and what the responder does behind it. */
static void fail_at_completion(struct ib_cq *cq, void *context)
{
	struct rt_pair *p = context;

	qp_error(p->sqp);
}

/* How many buffers have a message in them; those of none are flushed. */
static int count_received(struct rt_pair *p)
{
	int i, received = 0;
	struct ib_wc wc;

	for (i = 0; i < BUFFERS; i++) {
		if (rt_wait(p->scq, &wc))
			return -ETIMEDOUT;
		received += wc.status == IB_WC_SUCCESS;
	}
	return received;
}

/* @expected: the buffers that get a message out of @length bytes */
static void test_send(struct rt_pair *p, u32 length, int expected, const char *name)
{
	int i, err = 0, received;

	if (!p) {
		rt_ok(false, name);
		return;
	}
	for (i = 0; i < BUFFERS && !err; i++)
		err = rt_recv_post(p);
	p->scq->cq_context = p;
	p->scq->comp_handler = fail_at_completion;
	ib_req_notify_cq(p->scq, IB_CQ_NEXT_COMP);
	err = err ?: rt_send_post(p, length, 0);
	received = err ?: count_received(p);
	if (!rt_ok(received == expected, name))
		rt_note("%d", received);
}

void rt_test_twice(void)
{
	struct rt_pair *p;

	if (!rt_ok(!find_qp_error(), "what a queue pair fails by"))
		return;
	p = rt_pair_open(RT_READS);
	test_send(p, 8, 1, "who fails when a SEND is in a buffer has it in that one only");
	rt_pair_close(p);
	/* Its last packet takes no buffer of its own. */
	p = rt_pair_open(RT_READS);
	test_send(p, RT_RECV, 1, "so has who fails when one of several packets is there");
	rt_pair_close(p);
	p = rt_pair_open(RT_READS);
	test_send(p, RT_RECV + 8, 0, "who fails at one that is too long has it in none");
	rt_pair_close(p);
}
