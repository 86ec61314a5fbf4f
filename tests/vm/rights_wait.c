// SPDX-License-Identifier: GPL-2.0
/* Rights: logins that wait until sessions have ended that are in their way. */
#include "rights.h"

/* --- the deaf, whose end takes a second --------------------------------------------------- */

/* Fills all the receive buffers of its admin queue: no announcement gets through. */
static bool make_deaf(struct wc_queue *q)
{
	double until = vm_now() + 10 * vm_time_factor();
	struct pmof_wire_hdr h;
	int i, replies = 0;
	struct ibv_wc wc;

	pmof_put_hdr(&h, PMOF_MSG_KEEPALIVE, 1, sizeof(h), 0);
	for (i = 0; i < WC_RECVS; i++)
		if (wc_send(q, &h, sizeof(h)))
			return false;
	while (replies < WC_RECVS && vm_now() < until)
		if (ibv_poll_cq(q->cq, 1, &wc) == 1)
			replies += wc.wr_id < WC_RECVS;
	return replies == WC_RECVS;
}

#define DEAF	5
#define SERIES	12	/* a second each */

static bool open_deaf(struct keyed *deaf, int n)
{
	int i;

	for (i = 0; i < n; i++)
		if (k_open(&deaf[i], "alice", ALICE, 0) || !make_deaf(&deaf[i].s.admin))
			return false;
	return true;
}

static void close_all(struct keyed *k, int n)
{
	int i;

	for (i = 0; i < n; i++)
		k_close(&k[i]);
}

/* Each has a second to hear why: the same second. */
TEST_F_TIMEOUT(rights, the_deaf_end_together, 60)
{
	enum { MANY = 12 };
	struct keyed deaf[MANY];
	double t;

	ASSERT_TRUE(open_deaf(deaf, MANY));
	t = vm_now();
	EXPECT_EQ(0, order("deny alice && no_session_of alice"));
	t = vm_now() - t;
	EXPECT_GT((MANY - 1) * vm_time_factor(), t) TH_LOG("%.1f s", t);
	close_all(deaf, MANY);
	EXPECT_EQ(0, order("allow alice"));
}

/* --- who takes a namespace over waits ----------------------------------------------------- */

/* Up to the login, which is still to be sent. */
static int bob_prepares(struct keyed *bob)
{
	return k_prepare(bob, "bob", BOB, PMOF_LOGIN_F_EXCLUSIVE | PMOF_LOGIN_F_TAKEOVER);
}

/* Sends it; the reply is his to take. */
static int bob_takes_over(struct keyed *bob)
{
	int rc = bob_prepares(bob);

	return rc ? rc : wc_send(&bob->s.admin, &bob->sent, sizeof(bob->sent));
}

/* The status of that reply, ENDED, or -errno; of a fast kernel's seconds. */
static int answer_to(struct keyed *k, int seconds)
{
	struct pmof_login_reply reply;
	const void *msg;
	ssize_t n = wc_recv(&k->s.admin, &msg, seconds * 1000 * vm_time_factor());

	if (n <= 0)
		return n ? (int)n : ENDED;
	return pmof_get_login_reply(msg, n, &reply);
}

/* All of them want it at once: sends the logins, and takes the replies once @between has run. */
#define CROWD	24
static int crowd(struct keyed *k, int (*between)(void), int count[2])
{
	int i, rc, status;

	for (i = 0; i < CROWD; i++) {
		rc = bob_prepares(&k[i]);
		if (rc)
			return rc;
	}
	for (i = 0; i < CROWD; i++)
		if (wc_send(&k[i].s.admin, &k[i].sent, sizeof(k[i].sent)))
			return -ENOTCONN;
	rc = between();
	for (i = 0; i < CROWD; i++) {
		/* Who is ousted before his reply leaves gets none: ENDED. */
		status = answer_to(&k[i], 20);
		if (status == -ETIMEDOUT)
			return status;
		count[0] += !status;
		count[1] += status == PMOF_SC_BUSY;
	}
	return rc;
}

static int carol_comes(void)
{
	struct keyed carol;
	int rc = k_login(&carol, "carol", CAROL, 0);

	k_close(&carol);
	return rc;
}

/*
 * Sessions take their time to end, one behind the other, and have many ousters: few wait for
 * that, to nobody's harm.  So many deaf ones that the crowd is there before the last has ended.
 */
TEST_F_TIMEOUT(rights, few_wait_for_an_end, 90)
{
	struct keyed deaf[DEAF], *k = calloc(CROWD, sizeof(*k));
	int count[2] = { 0 };

	ASSERT_NE(NULL, k);
	ASSERT_TRUE(open_deaf(deaf, DEAF));
	EXPECT_EQ(0, crowd(k, carol_comes, count));
	EXPECT_TRUE(count[0] && count[1]) TH_LOG("%d in, %d busy", count[0], count[1]);
	close_all(k, CROWD);
	free(k);
	close_all(deaf, DEAF);
	/* It is free again. */
	EXPECT_EQ(0, k_login(&deaf[0], "alice", ALICE,
			     PMOF_LOGIN_F_EXCLUSIVE | PMOF_LOGIN_F_TAKEOVER));
	k_close(&deaf[0]);
}

/*
 * Whose takeover waits for many ends, one behind the other, has sent his login in time, though it is
 * answered behind the time for that.
 */
TEST_F_TIMEOUT(rights, takeover_of_many, 90)
{
	struct keyed deaf[SERIES], bob;
	double since;

	ASSERT_TRUE(open_deaf(deaf, SERIES));
	ASSERT_EQ(0, bob_takes_over(&bob));
	since = vm_now();
	ASSERT_EQ(0, answer_to(&bob, 40));
	EXPECT_LT(10, vm_now() - since);
	k_close(&bob);
	close_all(deaf, SERIES);
}

/* Who waits is refused like anybody, and then keeps nobody from coming. */
TEST_F_TIMEOUT(rights, key_changes_meanwhile, 90)
{
	struct keyed deaf[DEAF], bob;

	ASSERT_TRUE(open_deaf(deaf, DEAF));
	ASSERT_EQ(0, bob_takes_over(&bob));
	ASSERT_EQ(0, order("set_key bob " EVE));
	EXPECT_EQ(PMOF_SC_ACCESS, answer_to(&bob, 20));
	close_all(deaf, DEAF);
	/* Others come in again, while his connection is still there. */
	EXPECT_EQ(0, k_login(&deaf[0], "alice", ALICE, 0));
	k_close(&deaf[0]);
	k_close(&bob);
	EXPECT_EQ(0, order("set_key bob " BOB));
}

/* --- who needs the place of one that leaves waits ------------------------------------------- */

#define LEAVING	3	/* a second each, one behind the other */

/*
 * alice comes, to read, while what she has had is being ended for bob: what she is given, and
 * *rc, the answer.  She has no more than @limit, which is what the deaf ones have already.
 */
static u16 alice_comes_again(const char *limit, int n, int *rc)
{
	struct keyed deaf[LEAVING], bob, alice;
	u16 nr_queues = 0;

	*rc = open_deaf(deaf, n) ? 0 : -ENOTCONN;
	*rc = *rc ?: order("set_attr $CONFIG/clients/alice/max_%s", limit);
	*rc = *rc ?: k_prepare(&alice, "alice", ALICE, PMOF_LOGIN_F_READ_ONLY);
	*rc = *rc ?: bob_takes_over(&bob);
	if (!*rc) {
		usleep(300000);
		*rc = k_send_login(&alice);
		nr_queues = alice.s.login.nr_queues;
		k_close(&alice);
		k_close(&bob);
	}
	close_all(deaf, n);
	return nr_queues;
}

/* She said goodbye to the other, or it was ended: it is gone soon, and she may come. */
TEST_F_TIMEOUT(rights, a_place_that_will_be_free, 60)
{
	int rc;

	alice_comes_again("sessions 3", LEAVING, &rc);
	EXPECT_EQ(0, rc);
	EXPECT_EQ(0, order("set_attr $CONFIG/clients/alice/max_sessions 0"));
}

/* She might come at once, with fewer queues than she asks for: it is not hers to suffer from. */
TEST_F_TIMEOUT(rights, queues_that_will_be_free, 60)
{
	int rc;

	EXPECT_EQ(2, alice_comes_again("queues 3", 1, &rc));
	EXPECT_EQ(0, rc);
	EXPECT_EQ(0, order("set_attr $CONFIG/clients/alice/max_queues 0"));
}

TEST_HARNESS_MAIN
