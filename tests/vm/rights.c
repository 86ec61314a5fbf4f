// SPDX-License-Identifier: GPL-2.0
/*
 * Who may do what: clients with keys, lists, limits, exclusive sessions, and that
 * rights end at once. Needs the server's rights.sh, which obeys orders.
 */
#include <sys/wait.h>

#include "keyed.h"
#include "kselftest_harness.h"
#include "order.h"

#define ALICE	"0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0"
#define BOB	"b0b0000000000000000000000000000000000000000000000000000000000b0b"
#define CAROL	"ca401ca401ca401ca401ca401ca401ca401ca401ca401ca401ca401ca401ca40"
#define EVE	"e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0"

#define AT	(1 * MiB)	/* what all fight over */
#define LEN	64

/* alice and bob may write, carol may read; nobody else. */
FIXTURE(rights) {
	int unused;
};

FIXTURE_SETUP(rights)
{
	ASSERT_EQ(0, order("rights_reset; set_key alice " ALICE "; set_key bob " BOB
			   "; set_key carol " CAROL));
}

FIXTURE_TEARDOWN(rights)
{
}

/* --- operations on a session's queue ----------------------------------------------- */

/* A queue whose peer is gone answers nothing: for that one need not wait long. */
static int patience_ms = 5000;

static bool rdma(struct wc_queue *q, enum ibv_wr_opcode opcode, u64 addr, u32 rkey, size_t len,
		 char byte)
{
	memset(wc_out(q), byte, len);
	return !wc_post(q, opcode, len, addr, rkey) &&
	       wc_completed(q, q->posts, patience_ms) == IBV_WC_SUCCESS;
}

static u32 rkey_of(const struct keyed *k, u64 *addr)
{
	return wc_at(&k->s, AT, addr)->rkey;
}

/* Through its own I/O queue. */
static bool own_rdma(struct keyed *k, enum ibv_wr_opcode opcode, size_t len, char byte)
{
	u64 addr;
	u32 rkey = rkey_of(k, &addr);

	return rdma(&k->s.io, opcode, addr, rkey, len, byte);
}

static bool content_is(struct keyed *k, char byte)
{
	char want[LEN];

	memset(want, byte, LEN);
	return own_rdma(k, IBV_WR_RDMA_READ, LEN, 0) && !memcmp(wc_out(&k->s.io), want, LEN);
}

static int persist(struct wc_queue *q)
{
	struct pmof_range range = { AT, LEN };
	char buf[64];

	return wc_call(q, buf, pmof_put_persist((void *)buf, 3, &range, 1));
}

static int get_stats(struct wc_queue *q)
{
	struct pmof_wire_hdr h;

	pmof_put_hdr(&h, PMOF_MSG_GET_STATS, 4, sizeof(h), 0);
	return wc_call(q, &h, sizeof(h));
}

static int get_segments(struct wc_queue *q)
{
	struct pmof_wire_get_segments w;

	return wc_call(q, &w, pmof_put_get_segments(&w, 5, 0, 1));
}

/* --- the matrix ---------------------------------------------------------------------- */

enum who { NO_KEY, WRONG_KEY, RIGHT_KEY, REVOKED };
enum op { READ, WRITE, ATOMIC, PERSIST, ADMIN, NR_OPS };
enum whose { OWN, FOREIGN, NR_WHOSE };

static const char *const who_names[] = { "no key", "wrong key", "right key", "revoked" };
static const char *const op_names[] = { "read", "write", "atomic", "persist", "admin rpc" };
static const char *const whose_names[] = { "own session", "another's rkey or session" };

static const enum ibv_wr_opcode wr_opcodes[] = {
	[READ] = IBV_WR_RDMA_READ, [WRITE] = IBV_WR_RDMA_WRITE,
	[ATOMIC] = IBV_WR_ATOMIC_FETCH_AND_ADD,
};

/* Comes as who it is, as far as that leads; true if that was as far as it should. */
static bool come(struct keyed *k, enum who who)
{
	switch (who) {
	case NO_KEY:
		return k_login(k, "alice", NULL, 0) == PMOF_SC_ACCESS;
	case WRONG_KEY:
		return k_login(k, "alice", EVE, 0) == PMOF_SC_ACCESS;
	case RIGHT_KEY:
		return !k_open(k, "bob", BOB, 0);
	default:
		return !k_open(k, "bob", BOB, 0) && !order("deny bob");
	}
}

/* With what it has got itself: success, and what it should have had done is done. */
static bool try_own(struct keyed *k, struct keyed *alice, enum who who, enum op op)
{
	u64 sum, addr, old;

	if (who == NO_KEY || who == WRONG_KEY) {
		/* There is no I/O queue and no rkey, and none is to be had. */
		if (op == PERSIST)
			return !persist(&k->s.admin);
		if (op == ADMIN)
			return !get_stats(&k->s.admin);
		return !get_segments(&k->s.admin) ||
		       rdma(&k->s.admin, wr_opcodes[op], AT, 0, 8, 'x');
	}
	switch (op) {
	case READ:
		return content_is(k, 'a');
	case WRITE:
		return own_rdma(k, IBV_WR_RDMA_WRITE, LEN, 'b') && content_is(alice, 'b') &&
		       own_rdma(alice, IBV_WR_RDMA_WRITE, LEN, 'a');
	case ATOMIC:
		memset(&old, 'a', sizeof(old));
		if (!own_rdma(k, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 0))
			return false;
		rkey_of(alice, &addr);
		if (!own_rdma(alice, IBV_WR_RDMA_READ, 8, 0))
			return false;
		memcpy(&sum, wc_out(&alice->s.io), 8);
		return sum == old + 1 && own_rdma(alice, IBV_WR_RDMA_WRITE, LEN, 'a');
	case PERSIST:
		return !persist(&k->s.io);
	default:
		return !get_stats(&k->s.admin) && !get_segments(&k->s.admin);
	}
}

/* An I/O queue for alice's session, proved with what we have. */
static bool join_alice(struct keyed *k, struct keyed *alice, enum who who)
{
	struct keyed as_alice = *alice;
	struct wc_queue q;
	int rc;

	memcpy(as_alice.session_key, k->session_key, sizeof(k->session_key));
	as_alice.counter = alice->counter + 100;
	if (who == NO_KEY)
		as_alice.key.len = 0;
	rc = k_queue(&as_alice, &q, 2);
	wc_close(&q);
	return rc != PMOF_SC_ACCESS;
}

/* A login that says that it goes on with alice's session. */
static bool resume_alice(struct keyed *alice, enum who who)
{
	static const char *const id[] = { "alice", "alice", "bob", "bob" };
	static const char *const key[] = { NULL, EVE, BOB, BOB };
	struct keyed k;
	bool got = true;
	int rc;

	rc = k_connect(&k, id[who], key[who]);
	if (!rc && k.key.len)
		rc = k_challenge(&k);
	if (!rc) {
		struct pmof_login l;

		k_put_login(&k, 0);
		pmof_get_login(&k.sent, sizeof(k.sent), &l);
		l.resume_id = alice->s.login.session_id;
		if (k.key.len)
			pmof_auth_login(&k.key, &k.auth, &l, l.proof);
		pmof_put_login(&k.sent, 1, &l);
		rc = k_send_login(&k);
		got = !rc && (k.s.login.flags & PMOF_LOGIN_R_RESUMED ||
			      k.s.login.session_id == alice->s.login.session_id);
	}
	k_close(&k);
	return got;
}

/* With what is alice's. */
static bool try_anothers(struct keyed *k, struct keyed *alice, enum who who, enum op op)
{
	struct keyed other;
	bool done;
	u64 addr;
	u32 rkey = rkey_of(alice, &addr);

	if (op == PERSIST)
		return join_alice(k, alice, who);
	if (op == ADMIN)
		return resume_alice(alice, who);
	if (who == RIGHT_KEY)
		return rdma(&k->s.io, wr_opcodes[op], addr, rkey, 8, 'x');
	if (who != REVOKED)
		return rdma(&k->s.admin, wr_opcodes[op], addr, rkey, 8, 'x');
	/* Its queues are gone: one that is not logged in. */
	done = rdma(&k->s.io, wr_opcodes[op], addr, rkey, 8, 'x');
	if (!k_connect(&other, "bob", BOB))
		done |= rdma(&other.s.admin, wr_opcodes[op], addr, rkey, 8, 'x');
	k_close(&other);
	return done;
}

static void try_all(struct __test_metadata *_metadata, enum who who)
{
	struct keyed alice, k, again;
	bool done;
	int i;

	ASSERT_EQ(0, k_open(&alice, "alice", ALICE, 0));
	ASSERT_TRUE(own_rdma(&alice, IBV_WR_RDMA_WRITE, LEN, 'a'));
	for (i = 0; i < NR_OPS * NR_WHOSE; i++) {
		enum op op = i / NR_WHOSE;
		enum whose whose = i % NR_WHOSE;

		ASSERT_TRUE(come(&k, who)) TH_LOG("%s", who_names[who]);
		patience_ms = who == REVOKED ? 1000 : 5000;
		done = whose == OWN ? try_own(&k, &alice, who, op) :
				      try_anothers(&k, &alice, who, op);
		EXPECT_EQ(who == RIGHT_KEY && whose == OWN, done)
			TH_LOG("%s, %s, %s", who_names[who], op_names[op], whose_names[whose]);
		patience_ms = 5000;
		if (who == REVOKED) {
			EXPECT_EQ(PMOF_SC_ACCESS, k_login(&again, "bob", BOB, 0));
			k_close(&again);
			ASSERT_EQ(0, order("allow bob"));
		}
		k_close(&k);
		/* Whatever was tried, alice has not noticed. */
		ASSERT_TRUE(content_is(&alice, 'a'))
			TH_LOG("%s, %s, %s", who_names[who], op_names[op], whose_names[whose]);
		ASSERT_EQ(0, get_stats(&alice.s.admin));
	}
	k_close(&alice);
}

TEST_F_TIMEOUT(rights, matrix_no_key, 60)
{
	try_all(_metadata, NO_KEY);
}

TEST_F_TIMEOUT(rights, matrix_wrong_key, 60)
{
	try_all(_metadata, WRONG_KEY);
}

TEST_F_TIMEOUT(rights, matrix_right_key, 60)
{
	try_all(_metadata, RIGHT_KEY);
}

TEST_F_TIMEOUT(rights, matrix_revoked, 90)
{
	try_all(_metadata, REVOKED);
}

/* --- read-only ------------------------------------------------------------------------ */

TEST_F(rights, read_only_client)
{
	static const enum ibv_wr_opcode writing[] = { IBV_WR_RDMA_WRITE,
						      IBV_WR_ATOMIC_FETCH_AND_ADD };
	struct pmof_range range = { AT, LEN };
	struct pmof_wire_zero zero;
	struct keyed k;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(writing); i++) {
		ASSERT_EQ(0, k_open(&k, "carol", CAROL, 0));
		EXPECT_TRUE(k.s.login.flags & PMOF_LOGIN_R_READ_ONLY);
		EXPECT_EQ(0, k.s.login.features & PMOF_FEAT_ATOMICS);
		EXPECT_TRUE(own_rdma(&k, IBV_WR_RDMA_READ, LEN, 0));
		EXPECT_EQ(0, persist(&k.s.io));
		EXPECT_EQ(PMOF_SC_READ_ONLY,
			  wc_call(&k.s.io, &zero, pmof_put_zero(&zero, 1, &range)));
		EXPECT_FALSE(own_rdma(&k, writing[i], 8, 'x'));
		EXPECT_TRUE(wc_ends(&k.s.io, 5000));
		k_close(&k);
	}
	EXPECT_EQ(PMOF_SC_READ_ONLY, k_login(&k, "carol", CAROL, PMOF_LOGIN_F_EXCLUSIVE));
	k_close(&k);
	/* Between the lists. */
	ASSERT_EQ(0, k_open(&k, "carol", CAROL, 0));
	EXPECT_NE(0, order("allow carol"));
	ASSERT_EQ(0, order("deny_ro carol && allow carol"));
	EXPECT_TRUE(wc_ends(&k.s.io, 5000));
	k_close(&k);
	ASSERT_EQ(0, k_open(&k, "carol", CAROL, 0));
	EXPECT_TRUE(own_rdma(&k, IBV_WR_RDMA_WRITE, LEN, 'c'));
	k_close(&k);
}

/* --- replays ---------------------------------------------------------------------------- */

TEST_F(rights, replayed_login)
{
	struct keyed good, k;

	ASSERT_EQ(0, k_login(&good, "alice", ALICE, 0));
	/* The same nonce of ours, the same message: the server's nonce is another. */
	ASSERT_EQ(0, k_connect(&k, "alice", ALICE));
	memcpy(k.auth.client_nonce, good.auth.client_nonce, sizeof(k.auth.client_nonce));
	ASSERT_EQ(0, k_challenge(&k));
	EXPECT_NE(0, memcmp(k.auth.server_nonce, good.auth.server_nonce, 32));
	k.sent = good.sent;
	EXPECT_EQ(PMOF_SC_ACCESS, k_send_login(&k));
	/* These nonces have had their try. */
	k_put_login(&k, 0);
	EXPECT_EQ(PMOF_SC_ACCESS, k_send_login(&k));
	EXPECT_EQ(ENDED, k_challenge(&k));
	k_close(&k);
	/* Without a challenge; with a second one. */
	ASSERT_EQ(0, k_connect(&k, "alice", ALICE));
	k.sent = good.sent;
	EXPECT_EQ(PMOF_SC_ACCESS, k_send_login(&k));
	k_close(&k);
	ASSERT_EQ(0, k_connect(&k, "alice", ALICE));
	ASSERT_EQ(0, k_challenge(&k));
	EXPECT_EQ(ENDED, k_challenge(&k));
	k_close(&k);
	/* The first one has not suffered, until it does it itself. */
	EXPECT_EQ(0, get_stats(&good.s.admin));
	EXPECT_EQ(ENDED, k_send_login(&good));
	k_close(&good);
}

/* The proof covers all of the login, and the queue pair that it came by. */
TEST_F(rights, altered_login)
{
	struct keyed k;
	int i;

	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, k_connect(&k, "alice", ALICE));
		ASSERT_EQ(0, k_challenge(&k));
		if (i == 3)
			k.auth.qpn++;
		k_put_login(&k, 0);
		if (i == 0)
			k.sent.flags = PMOF_LOGIN_F_TAKEOVER | PMOF_LOGIN_F_EXCLUSIVE;
		else if (i == 1)
			k.sent.instance[0] ^= 1;
		else if (i == 2)
			k.sent.proof[31] ^= 1;
		else if (i == 4)
			memset(k.sent.proof, 0, sizeof(k.sent.proof));
		EXPECT_EQ(PMOF_SC_ACCESS, k_send_login(&k)) TH_LOG("%d", i);
		k_close(&k);
	}
	/* bob with his own key, as alice. */
	EXPECT_EQ(PMOF_SC_ACCESS, k_login(&k, "alice", BOB, 0));
	k_close(&k);
}

TEST_F(rights, replayed_queue)
{
	struct pmof_wire_connect first, w;
	struct wc_queue q;
	struct keyed k;

	ASSERT_EQ(0, k_open(&k, "alice", ALICE, 0));
	/* What was refused for another reason is never taken again. */
	ASSERT_EQ(0, wc_prepare(&q, true));
	first = k_queue_data(&k, k.s.login.nr_queues + 1, q.id->qp->qp_num);
	EXPECT_EQ(PMOF_SC_INVALID, wc_join(&q, &first, sizeof(first)));
	wc_close(&q);
	ASSERT_EQ(0, wc_prepare(&q, true));
	EXPECT_EQ(PMOF_SC_ACCESS, wc_join(&q, &first, sizeof(first)));
	wc_close(&q);
	/* An old counter, for the right queue pair. */
	k.counter -= 1;
	EXPECT_EQ(PMOF_SC_ACCESS, k_queue(&k, &q, 2));
	wc_close(&q);
	/* A new counter, for another queue pair. */
	ASSERT_EQ(0, wc_prepare(&q, true));
	w = k_queue_data(&k, 2, q.id->qp->qp_num + 1);
	EXPECT_EQ(PMOF_SC_ACCESS, wc_join(&q, &w, sizeof(w)));
	wc_close(&q);
	/* Another queue ID than was signed. */
	ASSERT_EQ(0, wc_prepare(&q, true));
	w = k_queue_data(&k, 1, q.id->qp->qp_num);
	w.queue_id = 2;
	EXPECT_EQ(PMOF_SC_ACCESS, wc_join(&q, &w, sizeof(w)));
	wc_close(&q);
	EXPECT_EQ(0, k_queue(&k, &q, 2));
	wc_close(&q);
	k_close(&k);
	usleep(300000);
	EXPECT_EQ(PMOF_SC_NO_SESSION, k_queue(&k, &q, 1));
	wc_close(&q);
}

/* --- exclusive ----------------------------------------------------------------------------- */

TEST_F(rights, exclusive)
{
	struct keyed alice, bob, carol;

	ASSERT_EQ(0, k_open(&alice, "alice", ALICE, PMOF_LOGIN_F_EXCLUSIVE));
	EXPECT_TRUE(alice.s.login.flags & PMOF_LOGIN_R_EXCLUSIVE);
	EXPECT_EQ(PMOF_SC_EXCLUSIVE, k_login(&bob, "bob", BOB, 0));
	k_close(&bob);
	EXPECT_EQ(PMOF_SC_EXCLUSIVE, k_login(&bob, "bob", BOB, PMOF_LOGIN_F_EXCLUSIVE));
	k_close(&bob);
	/* Readers are nobody's rivals, whether they may not write or will not. */
	EXPECT_EQ(0, k_open(&carol, "carol", CAROL, 0));
	EXPECT_EQ(0, k_login(&bob, "bob", BOB, PMOF_LOGIN_F_READ_ONLY));
	k_close(&bob);
	EXPECT_EQ(0, persist(&alice.s.io));
	/* Who takes it over says so. */
	EXPECT_EQ(0, k_open(&bob, "bob", BOB, PMOF_LOGIN_F_EXCLUSIVE | PMOF_LOGIN_F_TAKEOVER));
	EXPECT_TRUE(wc_ends(&alice.s.io, 5000));
	EXPECT_EQ(0, persist(&bob.s.io));
	EXPECT_EQ(0, persist(&carol.s.io));
	k_close(&alice);
	EXPECT_EQ(PMOF_SC_EXCLUSIVE, k_login(&alice, "alice", ALICE, 0));
	k_close(&alice);
	/* One that wants to write beside others. */
	EXPECT_EQ(0, k_login(&alice, "alice", ALICE, PMOF_LOGIN_F_TAKEOVER));
	EXPECT_EQ(0, alice.s.login.flags & PMOF_LOGIN_R_EXCLUSIVE);
	EXPECT_TRUE(wc_ends(&bob.s.io, 5000));
	k_close(&bob);
	EXPECT_EQ(PMOF_SC_EXCLUSIVE, k_login(&bob, "bob", BOB, PMOF_LOGIN_F_EXCLUSIVE));
	k_close(&bob);
	EXPECT_EQ(0, k_login(&bob, "bob", BOB, 0));
	k_close(&bob);
	k_close(&alice);
	k_close(&carol);
}

/* --- limits ------------------------------------------------------------------------------------ */

static int limit(const char *name, u64 value)
{
	return order("set_attr $CONFIG/clients/bob/max_%s %llu", name, (unsigned long long)value);
}

TEST_F(rights, limits)
{
	struct keyed a, b;
	struct wc_queue q;

	ASSERT_EQ(0, limit("sessions", 1));
	ASSERT_EQ(0, k_login(&a, "bob", BOB, 0));
	EXPECT_EQ(PMOF_SC_BUSY, k_login(&b, "bob", BOB, 0));
	k_close(&b);
	EXPECT_EQ(0, k_login(&b, "alice", ALICE, 0));
	k_close(&b);
	k_close(&a);
	ASSERT_EQ(0, order("unused bob") || limit("sessions", 0) || limit("queues", 3));
	ASSERT_EQ(0, k_login(&a, "bob", BOB, 0));
	EXPECT_EQ(2, a.s.login.nr_queues);
	ASSERT_EQ(0, k_login(&b, "bob", BOB, 0));
	EXPECT_EQ(1, b.s.login.nr_queues);
	k_close(&b);
	ASSERT_EQ(0, limit("queues", 2));
	EXPECT_EQ(PMOF_SC_BUSY, k_login(&b, "bob", BOB, 0));
	k_close(&b);
	k_close(&a);
	ASSERT_EQ(0, order("unused bob") || limit("queues", 0) ||
		     limit("segments", a.s.login.nr_segments));
	ASSERT_EQ(0, k_login(&a, "bob", BOB, 0));
	EXPECT_EQ(PMOF_SC_BUSY, k_login(&b, "bob", BOB, 0));
	k_close(&b);
	k_close(&a);
	/* Room for one queue of this depth. */
	ASSERT_EQ(0, order("unused bob") || limit("segments", 0) || limit("memory", 300 << 10));
	ASSERT_EQ(0, k_open(&a, "bob", BOB, 0));
	EXPECT_EQ(PMOF_SC_BUSY, k_queue(&a, &q, 2));
	wc_close(&q);
	EXPECT_EQ(0, persist(&a.s.io));
	ASSERT_EQ(0, limit("memory", 0));
	EXPECT_EQ(0, k_queue(&a, &q, 2));
	wc_close(&q);
	k_close(&a);
	EXPECT_EQ(0, order("unused bob"));
}

/* --- the end of rights --------------------------------------------------------------------------- */

/* Each way to lose them ends the session before the command returns. */
TEST_F_TIMEOUT(rights, ways_to_lose_them, 60)
{
	static const struct {
		const char *lose, *restore;
	} way[] = {
		{ "deny bob", "allow bob" },
		{ "set_key bob ''", "set_key bob " BOB },
		{ "set_key bob " EVE, "set_key bob " BOB },
		{ "deny bob && drop bob", "mkdir $CONFIG/clients/bob && set_key bob " BOB
		  " && allow bob" },
		{ "deny bob && allow_ro bob", "deny_ro bob && allow bob" },
	};
	struct keyed alice, k;
	size_t i;

	ASSERT_EQ(0, k_open(&alice, "alice", ALICE, 0));
	for (i = 0; i < ARRAY_SIZE(way); i++) {
		ASSERT_EQ(0, k_open(&k, "bob", BOB, 0)) TH_LOG("%s", way[i].lose);
		ASSERT_EQ(0, order("%s && no_session_of bob", way[i].lose)) TH_LOG("%s", way[i].lose);
		patience_ms = 1000;
		EXPECT_FALSE(own_rdma(&k, IBV_WR_RDMA_WRITE, LEN, 'x')) TH_LOG("%s", way[i].lose);
		patience_ms = 5000;
		EXPECT_TRUE(wc_ends(&k.s.admin, 5000)) TH_LOG("%s", way[i].lose);
		k_close(&k);
		EXPECT_EQ(i < 4 ? PMOF_SC_ACCESS : 0,
			  k_login(&k, "bob", BOB, PMOF_LOGIN_F_READ_ONLY))
			TH_LOG("%s", way[i].lose);
		k_close(&k);
		EXPECT_EQ(PMOF_SC_ACCESS, k_login(&k, "bob", NULL, 0)) TH_LOG("%s", way[i].lose);
		k_close(&k);
		ASSERT_EQ(0, order("%s", way[i].restore)) TH_LOG("%s", way[i].restore);
	}
	EXPECT_EQ(0, persist(&alice.s.io));
	k_close(&alice);
}

/* The last one in a list that goes does not open the namespace to everybody. */
TEST_F(rights, empty_list)
{
	struct keyed k;

	EXPECT_NE(0, order("set_attr $NS/allow_any 1"));
	ASSERT_EQ(0, order("deny alice && deny bob && deny_ro carol"));
	EXPECT_EQ(PMOF_SC_ACCESS, k_login(&k, "alice", ALICE, 0));
	k_close(&k);
	EXPECT_EQ(PMOF_SC_ACCESS, k_login(&k, "somebody", NULL, 0));
	k_close(&k);
	ASSERT_EQ(0, order("set_attr $NS/allow_any 1"));
	ASSERT_EQ(0, k_open(&k, "somebody", NULL, 0));
	EXPECT_EQ(0, persist(&k.s.io));
	/* A client whose server has no key for it is refused: we cannot prove who we are. */
	struct keyed other;

	EXPECT_EQ(PMOF_SC_ACCESS, k_login(&other, "somebody", EVE, 0));
	k_close(&other);
	/* Who has a key must use it, everywhere. */
	EXPECT_EQ(PMOF_SC_ACCESS, k_login(&other, "alice", NULL, 0));
	k_close(&other);
	EXPECT_EQ(0, k_login(&other, "alice", ALICE, 0));
	k_close(&other);
	ASSERT_EQ(0, order("set_attr $NS/allow_any 0"));
	EXPECT_TRUE(wc_ends(&k.s.io, 5000));
	k_close(&k);
}

#define WRITERS	4

struct writer {
	pthread_t thread;
	int fd;
	int number;
	int error;		/* that ended it */
	unsigned int puts;
};

static void *write_on(void *arg)
{
	struct writer *w = arg;
	char buf[4096];

	memset(buf, 'A' + w->number, sizeof(buf));
	do {
		w->error = vm_put(w->fd, AT + (w->puts % 64 * WRITERS + w->number) * sizeof(buf),
				  buf, sizeof(buf), w->puts % 2 ? PMOF_F_PERSIST : 0);
		w->puts += !w->error;
	} while (!w->error && w->puts < 1000000);
	return NULL;
}

TEST_F_TIMEOUT(rights, revoked_under_load, 90)
{
	struct writer w[WRITERS] = { 0 };
	char first[LEN];
	struct keyed alice;
	int dev, fd, i;
	double since;

	ASSERT_EQ(0, k_open(&alice, "alice", ALICE, 0));
	dev = vm_connect("id=bob,key=" BOB ",queues=2,block=0,reconnect_delay=1");
	ASSERT_LE(0, dev);
	fd = vm_open(dev, O_RDWR);
	ASSERT_LE(0, fd);
	for (i = 0; i < WRITERS; i++) {
		w[i].fd = fd;
		w[i].number = i;
		ASSERT_EQ(0, pthread_create(&w[i].thread, NULL, write_on, &w[i]));
	}
	sleep(1);
	since = vm_now();
	ASSERT_EQ(0, order("deny bob && no_session_of bob"));
	EXPECT_GT(10, vm_now() - since);
	/* From now on nothing of bob's arrives. */
	ASSERT_TRUE(own_rdma(&alice, IBV_WR_RDMA_WRITE, LEN, 'z'));
	for (i = 0; i < WRITERS; i++) {
		pthread_join(w[i].thread, NULL);
		EXPECT_EQ(-EACCES, w[i].error) TH_LOG("after %u puts", w[i].puts);
		EXPECT_LT(0, w[i].puts);
	}
	EXPECT_TRUE(content_is(&alice, 'z'));
	memset(first, 0, sizeof(first));
	EXPECT_EQ(-EACCES, vm_put(fd, AT, first, sizeof(first), 0));
	EXPECT_EQ(-EACCES, vm_connect("id=bob,key=" BOB));
	EXPECT_TRUE(vm_attr_is(dev, "state", "recovering"));
	EXPECT_TRUE(content_is(&alice, 'z'));
	/* It asks again and again, until it may. */
	ASSERT_EQ(0, order("allow bob"));
	since = vm_now();
	while (!vm_attr_is(dev, "state", "live") && vm_now() < since + 20)
		usleep(100000);
	EXPECT_EQ(0, vm_put(fd, AT, first, sizeof(first), PMOF_F_PERSIST));
	EXPECT_TRUE(content_is(&alice, 0));
	close(fd);
	EXPECT_EQ(0, vm_disconnect(dev));
	k_close(&alice);
}

/* --- the kernel's client ------------------------------------------------------------------------------ */

TEST_F_TIMEOUT(rights, kernel_client, 60)
{
	char back[LEN], data[LEN];
	struct pmof_info info;
	int dev, other, fd;

	EXPECT_EQ(-EACCES, vm_connect("id=alice"));
	EXPECT_EQ(-EACCES, vm_connect("id=alice,key=" EVE));
	EXPECT_EQ(-EACCES, vm_connect("id=nobody"));
	EXPECT_EQ(-EACCES, vm_connect("id=nobody,key=" EVE));
	EXPECT_EQ(-EINVAL, vm_connect("id=alice,key=123"));
	EXPECT_EQ(-EINVAL, vm_connect("id=alice,exclusive=1,read_only=1"));
	dev = vm_connect("id=alice,exclusive=1,block=0,key=" ALICE);
	ASSERT_LE(0, dev);
	fd = vm_open(dev, O_RDWR);
	memset(data, 'k', sizeof(data));
	EXPECT_EQ(0, vm_put(fd, AT, data, LEN, PMOF_F_PERSIST));
	EXPECT_EQ(0, vm_get(fd, AT, back, LEN));
	EXPECT_EQ(0, memcmp(data, back, LEN));
	EXPECT_EQ(-EBUSY, vm_connect("id=bob,key=" BOB));
	EXPECT_EQ(-EBUSY, vm_connect("id=bob,exclusive=1,key=" BOB));
	other = vm_connect("id=carol,block=0,key=" CAROL);
	ASSERT_LE(0, other);
	close(fd);
	fd = vm_open(other, O_RDONLY);
	EXPECT_EQ(0, vm_info(fd, &info));
	EXPECT_TRUE(info.flags & PMOF_INFO_READ_ONLY);
	EXPECT_EQ(0, vm_get(fd, AT, back, LEN));
	close(fd);
	EXPECT_EQ(-EROFS, vm_connect("id=carol,exclusive=1,key=" CAROL));
	EXPECT_EQ(0, vm_disconnect(other));
	other = vm_connect("id=bob,exclusive=1,takeover=1,block=0,key=" BOB);
	EXPECT_LE(0, other);
	EXPECT_EQ(0, vm_disconnect(other));
	EXPECT_EQ(0, vm_disconnect(dev));
}

/* --- keys stay where they are ---------------------------------------------------------------------------- */

TEST_F(rights, keys_cannot_be_read)
{
	EXPECT_EQ(0, order("test \"$(stat -c %%a $CONFIG/clients/alice/key)\" = 200"));
	EXPECT_NE(0, order("cat $CONFIG/clients/alice/key"));
	EXPECT_EQ(0, order("test \"$(cat $CONFIG/clients/alice/has_key)\" = 1"));
	EXPECT_EQ(0, order("! dmesg | grep -i -e " ALICE " -e " BOB " -e " EVE));
	EXPECT_EQ(0, order("! grep -ri " ALICE " /sys/class/pmof-session $CONFIG 2>/dev/null"));
	EXPECT_NE(0, system("dmesg | grep -i -e " ALICE " -e " BOB " -e " EVE));
	EXPECT_NE(0, system("grep -ri " ALICE " /sys/class/pmof 2>/dev/null"));
	/* What is no key changes nothing. */
	EXPECT_NE(0, order("set_key alice 1234"));
	EXPECT_NE(0, order("set_key alice " ALICE "g0"));
	EXPECT_NE(0, order("set_key alice " ALICE ALICE "00"));
	EXPECT_EQ(0, order("test \"$(cat $CONFIG/clients/alice/has_key)\" = 1"));
}

/* --- a server that does not have the key ------------------------------------------------------------------- */

/* Answers whatever a LOGIN wants, on our own address, with a proof that is none. */
static int false_server(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(20050) };
	struct pmof_login_reply r = {
		.session_id = 1, .generation = 1, .ns_size = 1 << 20, .segment_size = 1 << 20,
		.nr_segments = 1, .methods = 6, .nr_queues = 1, .max_ranges = 16, .domain = 1,
		.flags = PMOF_LOGIN_R_DURABLE,
	};
	struct pmof_wire_challenge_reply c;
	struct pmof_wire_login_reply lr;
	struct pmof_wire_accept a;
	struct rdma_conn_param param = { .private_data = &a, .private_data_len = sizeof(a),
					 .responder_resources = 1, .initiator_depth = 1 };
	u8 nonce[PMOF_WIRE_NONCE_LEN] = { 1 };
	struct wc_queue q = { 0 }, listener = { 0 };
	struct rdma_cm_event *ev;
	const void *msg;
	int rc = 1;

	listener.channel = q.channel = rdma_create_event_channel();
	inet_pton(AF_INET, vm_env("LAB_IP", "10.77.0.11"), &at.sin_addr);
	if (rdma_create_id(q.channel, &listener.id, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(listener.id, (struct sockaddr *)&at) || rdma_listen(listener.id, 1))
		return 2;
	ev = wc_event(&listener, 20000);
	if (!ev || ev->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 3;
	q.id = ev->id;
	pmof_put_accept(&a, 0, 4);
	if (wc_resources(&q, true) || rdma_accept(q.id, &param))
		return 4;
	rdma_ack_cm_event(ev);
	if (wc_recv(&q, &msg, 10000) != sizeof(struct pmof_wire_challenge))
		return 5;
	wc_send(&q, &c, pmof_put_challenge_reply(&c, ((const struct pmof_wire_hdr *)msg)->tag,
						 nonce));
	if (wc_recv(&q, &msg, 10000) == sizeof(struct pmof_wire_login)) {
		wc_send(&q, &lr, pmof_put_login_reply(&lr, ((const struct pmof_wire_hdr *)msg)->tag,
						      &r));
		/* Whoever is content with that asks for segments next. */
		rc = wc_recv(&q, &msg, 5000) > 0 ? 6 : 0;
	}
	return rc;
}

TEST_F_TIMEOUT(rights, server_without_the_key, 60)
{
	char options[256];
	int status, rc;
	pid_t pid;

	pid = fork();
	if (!pid)
		_exit(false_server());
	sleep(1);
	snprintf(options, sizeof(options), "addr=%s,port=20050,name=data,id=alice,block=0,key=" ALICE,
		 vm_env("LAB_IP", "10.77.0.11"));
	rc = vm_connect_raw(options);
	EXPECT_EQ(-EACCES, rc);
	if (rc >= 0)
		vm_disconnect(rc);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_HARNESS_MAIN
