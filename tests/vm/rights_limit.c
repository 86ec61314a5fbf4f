// SPDX-License-Identifier: GPL-2.0
/* Rights: how many sessions there may be, and how long one that is lost is kept. */
#include "known.h"
#include "rights.h"

FIXTURE(limit) {
	int unused;
};

FIXTURE_SETUP(limit)
{
	ASSERT_EQ(0, order("rights_reset; set_key alice " ALICE "; set_key bob " BOB
			   "; until_true 10 no_sessions"));
}

FIXTURE_TEARDOWN(limit)
{
	EXPECT_EQ(0, order("set_attr $MAX_SESSIONS 1024 && set_attr $ABANDONED 60"));
}

/* Who only connects takes nobody's place, and nobody's session. */
TEST_F_TIMEOUT(limit, half_open, 60)
{
	struct wc_queue q[5];
	struct known known;
	struct keyed k;
	int i;

	ASSERT_EQ(0, begin(&k, "alice", ALICE, &known));
	k_close(&k);
	ASSERT_EQ(0, order("set_attr $MAX_SESSIONS 4"));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, wc_connect(&q[i], 0, 0)) TH_LOG("%d", i);
	EXPECT_EQ(PMOF_SC_BUSY, wc_connect(&q[4], 0, 0));
	for (i = 0; i < 5; i++)
		wc_close(&q[i]);
	ASSERT_EQ(0, resume_soon(&k, "alice", ALICE, &known));
	EXPECT_TRUE(is_resumed(&k, &known));
	k_close(&k);
}

/* Who says nothing has lost his connection; his session waits for him, but not for ever. */
TEST_F_TIMEOUT(limit, silent, 200)
{
	const double factor = vm_time_factor();
	struct known known = { .keep_alive_ms = 1000 * factor };
	struct keyed k;

	random_bytes(known.instance, sizeof(known.instance));
	ASSERT_EQ(0, begin_as(&k, "alice", ALICE, &known));
	EXPECT_TRUE(wc_ends(&k.s.admin, 60000 * factor));
	ASSERT_EQ(0, order("until_true 10 detached_are 1"));
	k_close(&k);
	known.loss_timeout = 3;
	ASSERT_EQ(0, resume(&k, "alice", ALICE, &known));
	EXPECT_TRUE(is_resumed(&k, &known));
	remember(&known, &k);
	EXPECT_TRUE(wc_ends(&k.s.admin, 60000 * factor));
	k_close(&k);
	ASSERT_EQ(0, order("until_true 20 no_sessions"));
	ASSERT_EQ(0, resume(&k, "alice", ALICE, &known));
	EXPECT_FALSE(is_resumed(&k, &known));
	EXPECT_NE(known.session_id, k.s.login.session_id);
	k_close(&k);
}

/* The one that was lost first makes room, whichever came first; one with a connection never. */
TEST_F_TIMEOUT(limit, longest_detached_goes, 60)
{
	struct known a_known, b_known, c_known;
	struct keyed a, b, c;

	ASSERT_EQ(0, begin(&a, "alice", ALICE, &a_known));
	ASSERT_EQ(0, begin(&b, "alice", ALICE, &b_known));
	k_close(&b);
	ASSERT_EQ(0, order("until_true 10 detached_are 1"));
	k_close(&a);
	ASSERT_EQ(0, order("until_true 10 detached_are 2 && set_attr $MAX_SESSIONS 2"));
	ASSERT_EQ(0, begin(&c, "bob", BOB, &c_known));
	ASSERT_EQ(0, resume_soon(&a, "alice", ALICE, &a_known));
	EXPECT_TRUE(is_resumed(&a, &a_known));
	EXPECT_EQ(PMOF_SC_BUSY, resume(&b, "alice", ALICE, &b_known));
	k_close(&b);
	ASSERT_EQ(0, order("set_attr $MAX_SESSIONS 3"));
	ASSERT_EQ(0, resume_soon(&b, "alice", ALICE, &b_known));
	EXPECT_FALSE(is_resumed(&b, &b_known));
	EXPECT_EQ(0, get_stats(&a.s.admin));
	EXPECT_EQ(0, get_stats(&c.s.admin));
	k_close(&a);
	k_close(&b);
	k_close(&c);
}

/* A limit that is lowered ends nothing: who comes back has its place, and takes nobody's. */
TEST_F_TIMEOUT(limit, lowered, 60)
{
	struct known a_known, b_known;
	struct keyed a, b;

	ASSERT_EQ(0, begin(&a, "alice", ALICE, &a_known));
	ASSERT_EQ(0, begin(&b, "alice", ALICE, &b_known));
	k_close(&a);
	ASSERT_EQ(0, order("until_true 10 detached_are 1 && set_attr $MAX_SESSIONS 1"));
	ASSERT_EQ(0, resume(&a, "alice", ALICE, &a_known));
	EXPECT_TRUE(is_resumed(&a, &a_known));
	EXPECT_EQ(0, get_stats(&b.s.admin));
	k_close(&a);
	k_close(&b);
}

/* Nor does a client's own. */
TEST_F_TIMEOUT(limit, of_a_client_lowered, 60)
{
	struct known a_known, b_known;
	struct keyed a, b, c;

	ASSERT_EQ(0, begin(&a, "alice", ALICE, &a_known));
	ASSERT_EQ(0, begin(&b, "alice", ALICE, &b_known));
	k_close(&a);
	ASSERT_EQ(0, order("until_true 10 detached_are 1 && "
			   "set_attr $CONFIG/clients/alice/max_sessions 1 && "
			   "set_attr $CONFIG/clients/alice/max_queues 1 && "
			   "set_attr $CONFIG/clients/alice/max_segments 1"));
	ASSERT_EQ(0, resume(&a, "alice", ALICE, &a_known));
	EXPECT_TRUE(is_resumed(&a, &a_known));
	EXPECT_EQ(PMOF_SC_BUSY, k_open(&c, "alice", ALICE, 0));
	EXPECT_EQ(0, get_stats(&b.s.admin));
	k_close(&a);
	k_close(&b);
	k_close(&c);
}

/* Nor when who comes back is lost again, before he has taken all that he had. */
TEST_F_TIMEOUT(limit, of_a_client_lowered_and_lost, 60)
{
	struct known known;
	struct keyed k;
	int i;

	ASSERT_EQ(0, begin(&k, "alice", ALICE, &known));
	k_close(&k);
	ASSERT_EQ(0, order("until_true 10 detached_are 1 && "
			   "set_attr $CONFIG/clients/alice/max_memory 1"));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, resume(&k, "alice", ALICE, &known)) TH_LOG("%d", i);
		EXPECT_TRUE(is_resumed(&k, &known)) TH_LOG("%d", i);
		if (i < 2)
			k_close(&k);
	}
	EXPECT_EQ(0, k_queue(&k, &k.s.io, 1));
	k_close(&k);
}

/* What is kept for who comes back is nobody else's, also before he has taken it. */
TEST_F_TIMEOUT(limit, what_is_kept_is_charged, 60)
{
	struct known a_known, b_known;
	struct keyed a, b;

	ASSERT_EQ(0, begin(&a, "alice", ALICE, &a_known));
	k_close(&a);
	ASSERT_EQ(0, order("until_true 10 detached_are 1 && "
			   "set_attr $CONFIG/clients/alice/max_memory "
			   "$(cat $CONFIG/clients/alice/memory)"));
	ASSERT_EQ(0, resume(&a, "alice", ALICE, &a_known));
	EXPECT_TRUE(is_resumed(&a, &a_known));
	EXPECT_NE(0, begin(&b, "alice", ALICE, &b_known));
	k_close(&b);
	EXPECT_EQ(0, k_queue(&a, &a.s.io, 1));
	EXPECT_EQ(0, order("until_true 10 client_has alice sessions 1 && "
			   "client_has alice memory $(cat $CONFIG/clients/alice/max_memory)"));
	k_close(&a);
}

#define ALL_ABANDONED	"set_attr $ABANDONED 0 && "
#define LIMIT(what, value)	"set_attr $CONFIG/clients/alice/max_" what " " value " && "

/* Who was switched off comes as another instance: what is kept for the one before ends for it. */
TEST_F_TIMEOUT(limit, of_a_client_that_is_new, 60)
{
	struct known known, anew;
	struct keyed a, b;

	ASSERT_EQ(0, begin(&a, "alice", ALICE, &known));
	k_close(&a);
	ASSERT_EQ(0, order("until_true 10 detached_are 1 && " ALL_ABANDONED
			   LIMIT("sessions", "1") LIMIT("queues", "1")
			   LIMIT("segments", "1")
			   LIMIT("memory", "$(cat $CONFIG/clients/alice/memory)") "true"));
	ASSERT_EQ(0, begin(&b, "alice", ALICE, &anew));
	EXPECT_EQ(PMOF_SC_BUSY, resume(&a, "alice", ALICE, &known));
	k_close(&a);
	EXPECT_EQ(0, get_stats(&b.s.admin));
	EXPECT_EQ(0, order("client_has alice sessions 1 && until_true 10 detached_are 0"));
	k_close(&b);
}

/* The same for each limit by itself: of queues one is enough to come in. */
static bool is_let_in(struct __test_metadata *_metadata, const char *limit)
{
	struct known known, anew;
	struct keyed k;
	bool good;

	ASSERT_EQ(0, begin(&k, "alice", ALICE, &known));
	k_close(&k);
	ASSERT_EQ(0, order("until_true 10 detached_are 1 && " ALL_ABANDONED "set_attr "
			   "$CONFIG/clients/alice/max_%s $(cat $CONFIG/clients/alice/%s)", limit, limit));
	good = !begin(&k, "alice", ALICE, &anew);
	k_close(&k);
	return !order("set_attr $CONFIG/clients/alice/max_%s 0 && set_attr $NS/enable 0 && "
		      "until_true 10 no_sessions && set_attr $NS/enable 1", limit) && good;
}

TEST_F_TIMEOUT(limit, each_of_a_client_that_is_new, 100)
{
	static const char * const limits[] = { "sessions", "queues", "segments", "memory" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(limits); i++)
		EXPECT_TRUE(is_let_in(_metadata, limits[i])) TH_LOG("%s", limits[i]);
}

/* But not for another connection of one whose link was down for a moment. */
TEST_F_TIMEOUT(limit, of_a_client_that_was_just_lost, 60)
{
	struct known known, anew;
	struct keyed a, b;

	ASSERT_EQ(0, begin(&a, "alice", ALICE, &known));
	k_close(&a);
	ASSERT_EQ(0, order("until_true 10 detached_are 1 && " LIMIT("sessions", "1") "true"));
	EXPECT_EQ(PMOF_SC_BUSY, begin(&b, "alice", ALICE, &anew));
	k_close(&b);
	ASSERT_EQ(0, resume(&a, "alice", ALICE, &known));
	EXPECT_TRUE(is_resumed(&a, &known));
	k_close(&a);
}

/* What is kept does not end for one who would not be let in then either. */
TEST_F_TIMEOUT(limit, of_a_client_that_is_full, 60)
{
	struct known a_known, b_known;
	struct keyed a, b, c;

	ASSERT_EQ(0, begin(&a, "alice", ALICE, &a_known));
	ASSERT_EQ(0, begin(&b, "alice", ALICE, &b_known));
	k_close(&a);
	ASSERT_EQ(0, order("until_true 10 detached_are 1 && " ALL_ABANDONED
			   LIMIT("sessions", "2") LIMIT("segments", "1") "true"));
	EXPECT_EQ(PMOF_SC_BUSY, k_login(&c, "alice", ALICE, 0));
	k_close(&c);
	ASSERT_EQ(0, order(LIMIT("sessions", "1") LIMIT("segments", "0") "true"));
	EXPECT_EQ(PMOF_SC_BUSY, k_login(&c, "alice", ALICE, 0));
	k_close(&c);
	ASSERT_EQ(0, resume(&a, "alice", ALICE, &a_known));
	EXPECT_TRUE(is_resumed(&a, &a_known));
	EXPECT_EQ(0, get_stats(&b.s.admin));
	k_close(&a);
	k_close(&b);
}

/* Nor does one that has a connection. */
TEST_F_TIMEOUT(limit, of_a_client_that_is_there, 60)
{
	struct known a_known, b_known, anew;
	struct keyed a, b, c;

	ASSERT_EQ(0, begin(&b, "alice", ALICE, &b_known));
	ASSERT_EQ(0, begin(&a, "alice", ALICE, &a_known));
	k_close(&a);
	ASSERT_EQ(0, order("until_true 10 detached_are 1 && " ALL_ABANDONED
			   LIMIT("sessions", "2") "true"));
	ASSERT_EQ(0, begin(&c, "alice", ALICE, &anew));
	EXPECT_EQ(0, get_stats(&b.s.admin));
	EXPECT_EQ(PMOF_SC_BUSY, resume(&a, "alice", ALICE, &a_known));
	k_close(&a);
	k_close(&b);
	k_close(&c);
}

/* Who takes a session over has its place, too. */
TEST_F_TIMEOUT(limit, takeover, 60)
{
	struct keyed a, b;

	ASSERT_EQ(0, k_open(&a, "alice", ALICE, PMOF_LOGIN_F_EXCLUSIVE));
	ASSERT_EQ(0, order("set_attr $MAX_SESSIONS 1"));
	ASSERT_EQ(0, k_open(&b, "bob", BOB, PMOF_LOGIN_F_EXCLUSIVE | PMOF_LOGIN_F_TAKEOVER));
	EXPECT_TRUE(wc_ends(&a.s.io, 20000));
	EXPECT_EQ(0, persist(&b.s.io));
	k_close(&a);
	k_close(&b);
}

/* It is one's own that nobody comes back to, and there is a limit: that one makes room at once. */
TEST_F_TIMEOUT(limit, takeover_from_oneself, 60)
{
	const u32 takes = PMOF_LOGIN_F_EXCLUSIVE | PMOF_LOGIN_F_TAKEOVER;
	struct known known = { .flags = PMOF_LOGIN_F_EXCLUSIVE };
	struct keyed k;

	random_bytes(known.instance, sizeof(known.instance));
	ASSERT_EQ(0, begin_as(&k, "alice", ALICE, &known));
	k_close(&k);
	ASSERT_EQ(0, order("until_true 10 detached_are 1 && " LIMIT("sessions", "1") "true"));
	EXPECT_EQ(PMOF_SC_EXCLUSIVE, k_login(&k, "alice", ALICE, 0));
	k_close(&k);
	EXPECT_EQ(0, k_open(&k, "alice", ALICE, takes));
	EXPECT_EQ(0, persist(&k.s.io));
	k_close(&k);
}

/* And where all places are taken it is that one's that is another's now. */
TEST_F_TIMEOUT(limit, takeover_takes_one_place, 60)
{
	const u32 takes = PMOF_LOGIN_F_EXCLUSIVE | PMOF_LOGIN_F_TAKEOVER;
	struct known known = { .flags = PMOF_LOGIN_F_EXCLUSIVE };
	struct known other = { .flags = PMOF_LOGIN_F_READ_ONLY };
	struct keyed k, b;

	random_bytes(known.instance, sizeof(known.instance));
	random_bytes(other.instance, sizeof(other.instance));
	ASSERT_EQ(0, begin_as(&b, "bob", BOB, &other));
	k_close(&b);
	ASSERT_EQ(0, order("until_true 10 detached_are 1"));
	ASSERT_EQ(0, begin_as(&k, "alice", ALICE, &known));
	k_close(&k);
	ASSERT_EQ(0, order("until_true 10 detached_are 2 && set_attr $MAX_SESSIONS 2"));
	EXPECT_EQ(0, k_open(&k, "alice", ALICE, takes));
	EXPECT_EQ(0, persist(&k.s.io));
	EXPECT_EQ(0, resume(&b, "bob", BOB, &other));
	EXPECT_TRUE(is_resumed(&b, &other));
	k_close(&b);
	k_close(&k);
}

TEST_HARNESS_MAIN
