// SPDX-License-Identifier: GPL-2.0
/*
 * What the server says unasked, on the admin queue, before it ends a session's
 * queues: why.  One announcement for a connection, with a buffer and a place in
 * the send queue of its own.
 */
#include "server.h"

/* The end waits for nothing more; it may not have begun yet. */
static void told(struct pmof_session *s)
{
	set_bit(PMOF_SESSION_TOLD, &s->flags);
	/* Pairs with test_and_set_bit() in end_work(): it sees TOLD, or we that it waits. */
	smp_mb__after_atomic();
	if (test_bit(PMOF_SESSION_STOPPING, &s->flags) &&
	    !test_bit(PMOF_SESSION_STOPPED, &s->flags))
		pmof_session_queue_end(s);
}

/* Also where it was flushed: the client has gone, or learns it from its login. */
static void announce_done(struct ib_cq *cq, struct ib_wc *wc)
{
	told(container_of(wc->wr_cqe, struct pmof_srv_queue, announce_cqe)->session);
}

int pmof_announce_init(struct pmof_srv_queue *q)
{
	q->announce_cqe.done = announce_done;
	return pmof_buf_init(&q->announce, q->session->ib_dev, sizeof(struct pmof_wire_announce),
			     DMA_TO_DEVICE);
}

void pmof_announce_free(struct pmof_srv_queue *q)
{
	pmof_buf_free(&q->announce, q->session->ib_dev);
}

/**
 * pmof_session_announce - tell a client why its session will lose its queues
 * @s: session; nothing happens if it is not logged in, or ending already
 * @kind: enum pmof_announce
 * @arg: with it
 *
 * pmof_session_end() or pmof_session_lost() must follow.  Under pmof_sessions_mutex,
 * and so before the end work, which then lets it get through, for a bounded time.
 */
void pmof_session_announce(struct pmof_session *s, u32 kind, u64 arg)
{
	struct pmof_srv_queue *q = s->queues[0];
	struct ib_sge sge;
	struct ib_send_wr wr = {
		.sg_list	= &sge,
		.num_sge	= 1,
		.opcode		= IB_WR_SEND,
		.send_flags	= IB_SEND_SIGNALED,
	};

	lockdep_assert_held(&pmof_sessions_mutex);
	if (s->state != PMOF_SESSION_LIVE || pmof_session_ending(s) ||
	    test_and_set_bit(PMOF_SESSION_ANNOUNCED, &s->flags))
		return;
	sge = (struct ib_sge) {
		.addr	= q->announce.dma,
		.length	= pmof_put_announce(q->announce.data, kind, arg),
		.lkey	= s->pd->local_dma_lkey,
	};
	pmof_buf_for_dev(&q->announce, q->qp.dev, sge.length);
	wr.wr_cqe = &q->announce_cqe;
	if (ib_post_send(q->qp.ib, &wr, NULL))
		told(s);
}

/* For how many jiffies the end is still to wait for an announcement to get through.  End work. */
unsigned long pmof_session_telling(const struct pmof_session *s)
{
	unsigned long now = jiffies;

	if (!test_bit(PMOF_SESSION_ANNOUNCED, &s->flags) || test_bit(PMOF_SESSION_TOLD, &s->flags))
		return 0;
	return time_before(now, s->announce_until) ? s->announce_until - now : 0;
}
