// SPDX-License-Identifier: GPL-2.0
/* Rights: sessions that are resumed, with the key that this takes. */
#include "known.h"
#include "rights.h"

/* --- the key of a session --------------------------------------------------------------- */

/* Whoever has not heard of the new key proves the old one, as often as that happens. */
TEST_F_TIMEOUT(rights, lost_replies, 60)
{
	struct known known;
	struct keyed k;
	int i;

	ASSERT_EQ(0, begin(&k, "alice", ALICE, &known));
	k_close(&k);
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, resume(&k, "alice", ALICE, &known)) TH_LOG("%d", i);
		EXPECT_TRUE(is_resumed(&k, &known)) TH_LOG("%d", i);
		k_close(&k);
	}
	/* One that was heard, and then lost ahead of the first queue. */
	ASSERT_EQ(0, resume(&k, "alice", ALICE, &known));
	EXPECT_TRUE(is_resumed(&k, &known));
	remember(&known, &k);
	k_close(&k);
	ASSERT_EQ(0, resume(&k, "alice", ALICE, &known));
	EXPECT_TRUE(is_resumed(&k, &known));
	k_close(&k);
}

/* With the first queue under the new key, the old one has had its time. */
TEST_F_TIMEOUT(rights, old_key_after_a_queue, 60)
{
	struct known known, newer;
	struct keyed k;

	ASSERT_EQ(0, begin(&k, "alice", ALICE, &known));
	k_close(&k);
	ASSERT_EQ(0, resume(&k, "alice", ALICE, &known));
	ASSERT_TRUE(is_resumed(&k, &known));
	ASSERT_EQ(0, k_queue(&k, &k.s.io, 1));
	newer = known;
	remember(&newer, &k);
	k_close(&k);
	ASSERT_EQ(0, resume(&k, "alice", ALICE, &newer));
	EXPECT_TRUE(is_resumed(&k, &newer));
	ASSERT_EQ(0, k_queue(&k, &k.s.io, 1));
	k_close(&k);
	ASSERT_EQ(0, resume(&k, "alice", ALICE, &newer));
	EXPECT_FALSE(is_resumed(&k, &newer));
	k_close(&k);
}

/* What was recorded of a resumption is of no use to who sends it again. */
TEST_F(rights, replayed_resumption)
{
	struct keyed k, other;
	struct known known;

	ASSERT_EQ(0, begin(&k, "alice", ALICE, &known));
	k_close(&k);
	ASSERT_EQ(0, resume(&k, "alice", ALICE, &known));
	ASSERT_TRUE(is_resumed(&k, &known));
	ASSERT_EQ(0, k_connect(&other, "alice", ALICE));
	memcpy(other.auth.client_nonce, k.auth.client_nonce, sizeof(other.auth.client_nonce));
	ASSERT_EQ(0, k_challenge(&other));
	other.sent = k.sent;
	EXPECT_EQ(PMOF_SC_ACCESS, k_send_login(&other));
	k_close(&other);
	/* Nor without the server's nonce. */
	ASSERT_EQ(0, k_connect(&other, "alice", ALICE));
	other.sent = k.sent;
	EXPECT_EQ(PMOF_SC_ACCESS, k_send_login(&other));
	k_close(&other);
	EXPECT_EQ(0, get_stats(&k.s.admin));
	EXPECT_EQ(0, k_queue(&k, &k.s.io, 1));
	k_close(&k);
}

/* --- the same connection: client, instance, path ------------------------------------------ */

/* All but the path is the same: these are two, and neither ends or resumes the other. */
TEST_F_TIMEOUT(rights, another_path, 60)
{
	struct known one_known, two_known;
	struct keyed one, two;

	ASSERT_EQ(0, begin(&one, "alice", ALICE, &one_known));
	two_known = one_known;
	two_known.path_id = 1;
	/* It asks for the other's session, too. */
	ASSERT_EQ(0, resume(&two, "alice", ALICE, &two_known));
	EXPECT_FALSE(is_resumed(&two, &one_known));
	EXPECT_NE(one.s.login.session_id, two.s.login.session_id);
	ASSERT_EQ(0, k_queue(&two, &two.s.io, 1));
	remember(&two_known, &two);
	EXPECT_EQ(0, persist(&one.s.io));
	EXPECT_EQ(0, persist(&two.s.io));
	/* One comes and goes, and the other one stays. */
	k_close(&two);
	ASSERT_EQ(0, resume(&two, "alice", ALICE, &two_known));
	EXPECT_TRUE(is_resumed(&two, &two_known));
	EXPECT_EQ(0, get_stats(&one.s.admin));
	EXPECT_EQ(0, persist(&one.s.io));
	k_close(&one);
	ASSERT_EQ(0, resume(&one, "alice", ALICE, &one_known));
	EXPECT_TRUE(is_resumed(&one, &one_known));
	EXPECT_EQ(0, get_stats(&two.s.admin));
	k_close(&one);
	k_close(&two);
}

/* Another client's session is not found under its instance and ID. */
TEST_F_TIMEOUT(rights, another_client, 60)
{
	struct known known, others;
	struct keyed k, other;

	ASSERT_EQ(0, begin(&k, "alice", ALICE, &known));
	others = known;
	ASSERT_EQ(0, resume(&other, "bob", BOB, &others));
	EXPECT_FALSE(is_resumed(&other, &known));
	EXPECT_EQ(0, persist(&k.s.io));
	EXPECT_EQ(0, get_stats(&other.s.admin));
	k_close(&other);
	k_close(&k);
}

/* A WRITE by the queue of a session whose place was taken while it had its connection. */
static bool late_write(struct keyed *old, struct keyed *observer)
{
	double until;
	u64 addr;
	u32 rkey = rkey_of(old, &addr);
	bool same = true;

	memset(wc_out(&old->s.io), 'b', LEN);
	wc_post(&old->s.io, IBV_WR_RDMA_WRITE, LEN, addr, rkey);
	for (until = vm_now() + 0.5; same && vm_now() < until; usleep(10000))
		same = content_is(observer, 'a');
	return !same;
}

/* The answer to a login says that what went before can do nothing any more. */
TEST_F_TIMEOUT(rights, old_queue_pairs_are_dead, 100)
{
	struct keyed old, k, observer;
	struct known known;
	int i;

	patience_ms = 20000;
	ASSERT_EQ(0, k_open(&observer, "bob", BOB, 0));
	ASSERT_EQ(0, begin(&old, "alice", ALICE, &known));
	ASSERT_EQ(0, wc_segments(&old.s));
	for (i = 0; i < 4; i++) {
		ASSERT_TRUE(own_rdma(&old, IBV_WR_RDMA_WRITE, LEN, 'a')) TH_LOG("%d", i);
		ASSERT_TRUE(content_is(&observer, 'a')) TH_LOG("%d", i);
		/* The old connection is as it was: nobody has said that it is to end. */
		ASSERT_EQ(0, resume(&k, "alice", ALICE, &known)) TH_LOG("%d", i);
		EXPECT_FALSE(late_write(&old, &observer)) TH_LOG("%d", i);
		EXPECT_TRUE(is_resumed(&k, &known)) TH_LOG("%d", i);
		EXPECT_TRUE(wc_ends(&old.s.admin, 20000)) TH_LOG("%d", i);
		EXPECT_TRUE(content_is(&observer, 'a')) TH_LOG("%d", i);
		k_close(&old);
		remember(&known, &k);
		old = k;
		ASSERT_EQ(0, k_queue(&old, &old.s.io, 1)) TH_LOG("%d", i);
		ASSERT_EQ(0, wc_segments(&old.s)) TH_LOG("%d", i);
	}
	k_close(&old);
	k_close(&observer);
}

/* --- the order of connections ----------------------------------------------------------- */

/* A login that comes late, by a connection that its client has given up for a newer one. */
TEST_F(rights, late_login)
{
	struct known known = { .session_id = 0 };
	struct keyed older, newer;

	random_bytes(known.instance, sizeof(known.instance));
	ASSERT_EQ(0, say_hello(&older, "alice", ALICE));
	ASSERT_EQ(0, say_hello(&newer, "alice", ALICE));
	ASSERT_EQ(0, log_in(&newer, &known));
	EXPECT_EQ(PMOF_SC_NO_SESSION, log_in(&older, &known));
	EXPECT_EQ(0, get_stats(&newer.s.admin));
	k_close(&older);
	k_close(&newer);
}

TEST_HARNESS_MAIN
