// SPDX-License-Identifier: GPL-2.0
/* Rights: sessions that are resumed, with the key that this takes, and how many there may be. */
#include "rights.h"

#define LOSS_TIMEOUT	60	/* seconds: longer than any test */

/* A client's connection (instance, path), of which sessions may be resumed. */
struct known {
	u8 instance[PMOF_WIRE_UUID_LEN];
	u16 path_id;
	u32 keep_alive_ms;	/* 0: nothing is promised */
	u32 loss_timeout;	/* 0: LOSS_TIMEOUT */
	u32 flags;		/* PMOF_LOGIN_F_* */
	u64 session_id;		/* of the last login; 0: none yet */
	u8 session_key[PMOF_SESSION_KEY_LEN];
};

/* Up to the proof: only the LOGIN is to come. */
static int say_hello(struct keyed *k, const char *id, const char *key)
{
	int rc = k_connect(k, id, key);

	random_bytes(k->auth.client_nonce, sizeof(k->auth.client_nonce));
	return rc ? rc : k_challenge(k);
}

/* A login as @from, which resumes its session if there is one. */
static int log_in(struct keyed *k, const struct known *from)
{
	struct pmof_login l = {
		.nr_queues = 1, .call_size = PMOF_IO_MSG_SIZE, .resume_id = from->session_id,
		.path_id = from->path_id, .keep_alive_ms = from->keep_alive_ms,
		.loss_timeout = from->loss_timeout ?: LOSS_TIMEOUT, .flags = from->flags,
	};

	memcpy(l.instance, from->instance, sizeof(l.instance));
	strncpy(l.name, vm_env("PMOF_NS", "data"), sizeof(l.name) - 1);
	if (l.resume_id)
		pmof_auth_resume(from->session_key, &k->auth, l.resume_id, l.resume_proof);
	pmof_auth_login(&k->key, &k->auth, &l, l.proof);
	pmof_put_login(&k->sent, 1, &l);
	return k_send_login(k);
}

static void remember(struct known *to, const struct keyed *k)
{
	to->session_id = k->s.login.session_id;
	memcpy(to->session_key, k->session_key, sizeof(to->session_key));
}

/* A session that its client may resume: all its queues were there. */
static int begin_as(struct keyed *k, const char *id, const char *key, struct known *to)
{
	int rc = say_hello(k, id, key);

	if (!rc)
		rc = log_in(k, to);
	if (!rc)
		rc = k_queue(k, &k->s.io, 1);
	remember(to, k);
	return rc;
}

/* Of a connection that nobody has had. */
static int begin(struct keyed *k, const char *id, const char *key, struct known *to)
{
	memset(to, 0, sizeof(*to));
	random_bytes(to->instance, sizeof(to->instance));
	return begin_as(k, id, key, to);
}

/* A login that resumes, and nothing else: 0, also where the session is a new one. */
static int resume(struct keyed *k, const char *id, const char *key, const struct known *from)
{
	int rc = say_hello(k, id, key);

	return rc ? rc : log_in(k, from);
}

/* The same once those that are closed are gone. */
static int resume_soon(struct keyed *k, const char *id, const char *key, const struct known *from)
{
	double until = vm_now() + 10;
	int rc;

	while ((rc = resume(k, id, key, from)) == PMOF_SC_BUSY && vm_now() < until) {
		k_close(k);
		usleep(100000);
	}
	return rc;
}

static bool is_resumed(const struct keyed *k, const struct known *from)
{
	return k->s.login.flags & PMOF_LOGIN_R_RESUMED &&
	       k->s.login.session_id == from->session_id;
}

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

/* --- how many --------------------------------------------------------------------------- */

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
