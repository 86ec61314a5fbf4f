// SPDX-License-Identifier: GPL-2.0
/*
 * The places of a round of a flush worker go to the sessions by turns: a few requests are through
 * long before a thousand of another session's, though these were there first.
 */
#define WC_SENDS	1024
#define WC_RECVS	256
#define WC_OUTS		2
#include "wireclient.h"
#include "window.h"
#include "wirestats.h"

#define DEPTH	1024		/* of the crowd's queue */
#define CROWD	1000		/* its requests */
#define FEW	WC_DEPTH	/* and those of the others */
/* All zero the same.  By so many slices that next to none is through while the crowd still comes. */
#define AT	(64 * MiB)
#define BYTES	(8 * MiB)

static int send_zeroes(struct wc_session *s, int n)
{
	struct pmof_range range = { AT, BYTES };
	/* Not in the buffer that replies are copied to: a SEND may go twice. */
	size_t len = pmof_put_zero((void *)wc_out_nr(&s->io, 1), 1, &range);
	int i, rc = 0;

	for (i = 0; i < n && !rc; i++)
		rc = wc_post_nr(&s->io, 1, IBV_WR_SEND, len, 0, 0);
	return rc;
}

/* Without the segments.  Returns when the server has all of them. */
static int crowd_in(struct wc_session *s)
{
	int rc = wc_enter(s, 0);

	rc = rc ? rc : wc_connect_deep(&s->io, 1, s->login.session_id, DEPTH);
	rc = rc ? rc : send_zeroes(s, CROWD);
	return rc ? rc : wc_completed(&s->io, CROWD, 60000);
}

/*
 * A request goes to the flush worker of the CPU that it came to, and that is the idle one: so a
 * second crowd comes to the second of the server's, and the few to one where there is a crowd.
 */
TEST_F_TIMEOUT(window, few_beside_a_thousand, 120)
{
	struct wc_session crowd[2], few;
	u64 value[PMOF_SRV_STAT_MAX];
	const void *msg;
	int i;

	if (self->info.ns_size < AT + BYTES)
		SKIP(return, "the namespace is too small");
	ASSERT_EQ(0, wc_open(&few, 0));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, crowd_in(&crowd[i]));
	ASSERT_EQ(0, send_zeroes(&few, FEW));
	for (i = 0; i < FEW; i++)
		ASSERT_LT(0, wc_recv(&few.io, &msg, 60000));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, wc_stats(&crowd[i], value));
		TH_LOG("%llu of crowd %d are through",
		       (unsigned long long)value[PMOF_SRV_ZEROES], i);
		EXPECT_GT(CROWD / 4, value[PMOF_SRV_ZEROES]);
		wc_close_session(&crowd[i]);
	}
	wc_close_session(&few);
}

TEST_HARNESS_MAIN
