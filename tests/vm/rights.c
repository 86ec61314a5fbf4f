// SPDX-License-Identifier: GPL-2.0
/*
 * Who may do what: no key, a wrong one, the right one, one that was taken, in each kind
 * of access to what is one's own and what is another's; and who may only read.
 */
#include "rights.h"

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

/* UNCLEAR: nobody has said so, which a refusal must. */
enum outcome { REFUSED, DONE, UNCLEAR };

static enum outcome of_call(int rc)
{
	return !rc ? DONE : rc == -ETIMEDOUT ? UNCLEAR : REFUSED;
}

/* On a queue that has just answered: it is the access that the server's HCA refuses. */
static enum outcome of_rdma(struct wc_queue *q, enum op op, u64 addr, u32 rkey)
{
	switch (rdma_status(q, wr_opcodes[op], addr, rkey, 8, 'x')) {
	case IBV_WC_SUCCESS:
		return DONE;
	case IBV_WC_REM_ACCESS_ERR:
	case IBV_WC_REM_INV_REQ_ERR:
		return REFUSED;
	default:
		return UNCLEAR;
	}
}

/* Who has not been let in has no rkey, no I/O queue, and gets none. */
static enum outcome try_outside(struct keyed *k, enum who who, enum op op)
{
	struct keyed again;
	struct wc_queue q;
	int rc;

	switch (op) {
	case PERSIST:
		memset(&q, 0, sizeof(q));
		rc = k_queue(k, &q, 1);
		if (!rc)
			rc = persist(&q);
		wc_close(&q);
		return of_call(rc);
	case ADMIN:
		/* One of them ends the session. */
		rc = get_segments(&k->s.admin);
		if (!rc || rc == -ETIMEDOUT)
			return of_call(rc);
		rc = come(&again, who) ? get_stats(&again.s.admin) : -ETIMEDOUT;
		k_close(&again);
		return of_call(rc);
	default:
		return of_rdma(&k->s.admin, op, AT, 0);
	}
}

static bool added(struct keyed *k, struct keyed *alice)
{
	u64 sum, addr, old;

	memset(&old, 'a', sizeof(old));
	if (!own_rdma(k, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 0))
		return false;
	rkey_of(alice, &addr);
	if (!own_rdma(alice, IBV_WR_RDMA_READ, 8, 0))
		return false;
	memcpy(&sum, wc_out(&alice->s.io), 8);
	return sum == old + 1 && own_rdma(alice, IBV_WR_RDMA_WRITE, LEN, 'a');
}

/* With what it has got itself: DONE: success, and what it should have had done is done. */
static enum outcome try_own(struct keyed *k, struct keyed *alice, enum who who, enum op op)
{
	bool stats, segments;

	if (who == NO_KEY || who == WRONG_KEY)
		return try_outside(k, who, op);
	switch (op) {
	case READ:
		return content_is(k, 'a') ? DONE : REFUSED;
	case WRITE:
		return own_rdma(k, IBV_WR_RDMA_WRITE, LEN, 'b') && content_is(alice, 'b') &&
		       own_rdma(alice, IBV_WR_RDMA_WRITE, LEN, 'a') ? DONE : REFUSED;
	case ATOMIC:
		return added(k, alice) ? DONE : REFUSED;
	case PERSIST:
		return of_call(persist(&k->s.io));
	default:
		stats = !get_stats(&k->s.admin);
		segments = !get_segments(&k->s.admin);
		return (who == RIGHT_KEY ? stats && segments : stats || segments) ? DONE : REFUSED;
	}
}

/* An I/O queue for alice's session, proved with what we have. */
static enum outcome join_alice(struct keyed *k, struct keyed *alice, enum who who)
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
	return rc == PMOF_SC_ACCESS ? REFUSED : rc ? UNCLEAR : DONE;
}

/* A login that says that it is alice's connection, and goes on with her session. */
static enum outcome resume_alice(struct keyed *alice, enum who who)
{
	static const char *const id[] = { "alice", "alice", "bob", "bob" };
	static const char *const key[] = { NULL, EVE, BOB, BOB };
	struct pmof_login l, hers;
	struct keyed k;
	bool got;
	int rc;

	rc = k_connect(&k, id[who], key[who]);
	if (!rc && k.key.len)
		rc = k_challenge(&k);
	if (rc) {
		k_close(&k);
		return UNCLEAR;
	}
	k_put_login(&k, 0);
	pmof_get_login(&k.sent, sizeof(k.sent), &l);
	pmof_get_login(&alice->sent, sizeof(alice->sent), &hers);
	memcpy(l.instance, hers.instance, sizeof(l.instance));
	l.resume_id = alice->s.login.session_id;
	if (k.key.len)
		pmof_auth_login(&k.key, &k.auth, &l, l.proof);
	pmof_put_login(&k.sent, 1, &l);
	rc = k_send_login(&k);
	got = !rc && (k.s.login.flags & PMOF_LOGIN_R_RESUMED ||
		      k.s.login.session_id == alice->s.login.session_id);
	k_close(&k);
	return got ? DONE : rc == -ETIMEDOUT ? UNCLEAR : REFUSED;
}

/* With what is alice's. */
static enum outcome try_anothers(struct keyed *k, struct keyed *alice, enum who who, enum op op)
{
	enum outcome outcome = UNCLEAR;
	struct keyed other;
	u64 addr;
	u32 rkey = rkey_of(alice, &addr);

	if (op == PERSIST)
		return join_alice(k, alice, who);
	if (op == ADMIN)
		return resume_alice(alice, who);
	if (who == RIGHT_KEY)
		return of_rdma(&k->s.io, op, addr, rkey);
	if (who != REVOKED)
		return of_rdma(&k->s.admin, op, addr, rkey);
	/* Its queues are gone: one that is not logged in. */
	if (rdma(&k->s.io, wr_opcodes[op], addr, rkey, 8, 'x'))
		return DONE;
	if (!k_connect(&other, "bob", BOB))
		outcome = of_rdma(&other.s.admin, op, addr, rkey);
	k_close(&other);
	return outcome;
}

static void try_all(struct __test_metadata *_metadata, enum who who)
{
	struct keyed alice, k, again;
	enum outcome outcome;
	int i;

	ASSERT_EQ(0, k_open(&alice, "alice", ALICE, 0));
	ASSERT_TRUE(own_rdma(&alice, IBV_WR_RDMA_WRITE, LEN, 'a'));
	for (i = 0; i < NR_OPS * NR_WHOSE; i++) {
		enum op op = i / NR_WHOSE;
		enum whose whose = i % NR_WHOSE;

		ASSERT_TRUE(come(&k, who)) TH_LOG("%s", who_names[who]);
		patience_ms = who == REVOKED ? 1000 : 5000;
		outcome = whose == OWN ? try_own(&k, &alice, who, op) :
					 try_anothers(&k, &alice, who, op);
		EXPECT_EQ(who == RIGHT_KEY && whose == OWN ? DONE : REFUSED, outcome)
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
		EXPECT_TRUE(wc_ends(&k.s.io, 20000));
		k_close(&k);
	}
	EXPECT_EQ(PMOF_SC_READ_ONLY, k_login(&k, "carol", CAROL, PMOF_LOGIN_F_EXCLUSIVE));
	k_close(&k);
	/* Between the lists. */
	ASSERT_EQ(0, k_open(&k, "carol", CAROL, 0));
	EXPECT_NE(0, order("allow carol"));
	ASSERT_EQ(0, order("deny_ro carol && allow carol"));
	EXPECT_TRUE(wc_ends(&k.s.io, 20000));
	k_close(&k);
	ASSERT_EQ(0, k_open(&k, "carol", CAROL, 0));
	EXPECT_TRUE(own_rdma(&k, IBV_WR_RDMA_WRITE, LEN, 'c'));
	k_close(&k);
}

TEST_HARNESS_MAIN
