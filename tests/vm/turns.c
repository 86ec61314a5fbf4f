// SPDX-License-Identifier: GPL-2.0
/*
 * The places of a round of a flush worker go to the sessions by turns: a few requests are through
 * long before a thousand of another session's, though these were there first.
 */
#define WC_SENDS	1024
#include "wireclient.h"
#include "window.h"

#define DEPTH	1024		/* of the crowd's queue */
#define CROWD	1000		/* its requests */
#define FEW	WC_DEPTH	/* and those of the others */
/* All zero the same.  By so many slices that none is through while the crowd still comes. */
#define AT	(64 * MiB)
#define BYTES	(8 * MiB)

/* A session with a deep queue, without the segments. */
static int open_deep(struct wc_session *s)
{
	struct pmof_connect c = { .queue_id = 1, .queue_depth = DEPTH, .client_id = "hostile" };
	struct pmof_wire_connect w;
	int rc = wc_enter(s, 0);

	if (rc)
		return rc;
	c.session_id = s->login.session_id;
	pmof_put_connect(&w, &c);
	return wc_connect_raw(&s->io, &w, sizeof(w), true);
}

static int send_zeroes(struct wc_session *s, int n)
{
	struct pmof_range range = { AT, BYTES };
	size_t len = pmof_put_zero(wc_out(&s->io), 1, &range);
	int i, rc = 0;

	for (i = 0; i < n && !rc; i++)
		rc = wc_post(&s->io, IBV_WR_SEND, len, 0, 0);
	return rc;
}

/* The replies that have come, of which there is room for WC_RECVS. */
static int answered(struct wc_session *s)
{
	struct ibv_wc wc;
	int n = 0;

	while (ibv_poll_cq(s->io.cq, 1, &wc) == 1)
		if (wc.wr_id < WC_RECVS && wc.status == IBV_WC_SUCCESS)
			n++;
	return n;
}

TEST_F_TIMEOUT(window, few_beside_a_thousand, 120)
{
	struct wc_session crowd, few;
	const void *msg;
	int i, n;

	if (self->info.ns_size < AT + BYTES)
		SKIP(return, "the namespace is too small");
	ASSERT_EQ(0, open_deep(&crowd));
	ASSERT_EQ(0, wc_open(&few, 0));
	ASSERT_EQ(0, send_zeroes(&crowd, CROWD));
	/* The server has them. */
	ASSERT_EQ(0, wc_completed(&crowd.io, CROWD, 60000));
	ASSERT_EQ(0, send_zeroes(&few, FEW));
	for (i = 0; i < FEW; i++)
		ASSERT_LT(0, wc_recv(&few.io, &msg, 60000));
	n = answered(&crowd);
	TH_LOG("%d and more of the crowd were through first", n);
	EXPECT_GT(WC_RECVS / 2, n);
	wc_close_session(&crowd);
	wc_close_session(&few);
}

TEST_HARNESS_MAIN
