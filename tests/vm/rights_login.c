// SPDX-License-Identifier: GPL-2.0
/* Rights: logins and queues that are forged or replayed, limits, keys that stay secret. */
#include "rights.h"

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

/*
 * The proof covers all of the login, the queue pair that it came by, and whose that is: one that was
 * made for another host, or for another server, and is passed on by us, is none.
 */
TEST_F(rights, altered_login)
{
	struct keyed k;
	int i;

	for (i = 0; i < 7; i++) {
		ASSERT_EQ(0, k_connect(&k, "alice", ALICE));
		ASSERT_EQ(0, k_challenge(&k));
		if (i == 3)
			k.auth.conn.qpn++;
		else if (i == 5)
			k.auth.conn.client_gid[15]++;
		else if (i == 6)
			k.auth.conn.server_gid[15]++;
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

/* A request with a new counter, which was signed for a connection that differs from its own. */
static int queue_of_another(struct keyed *k, u32 qpn, u8 client_gid, u8 server_gid)
{
	struct pmof_auth_conn conn;
	struct pmof_wire_connect w;
	struct wc_queue q;
	int rc = wc_prepare(&q, true);

	if (rc)
		return rc;
	conn = k_conn(q.id);
	conn.qpn += qpn;
	conn.client_gid[15] += client_gid;
	conn.server_gid[15] += server_gid;
	w = k_queue_data(k, 2, &conn);
	rc = wc_join(&q, &w, sizeof(w));
	wc_close(&q);
	return rc;
}

TEST_F(rights, replayed_queue)
{
	struct pmof_wire_connect first, w;
	struct pmof_auth_conn conn;
	int rc = PMOF_SC_BUSY, tries;
	struct wc_queue q;
	struct keyed k;

	ASSERT_EQ(0, k_open(&k, "alice", ALICE, 0));
	/* What was refused for another reason is never taken again. */
	ASSERT_EQ(0, wc_prepare(&q, true));
	conn = k_conn(q.id);
	first = k_queue_data(&k, k.s.login.nr_queues + 1, &conn);
	EXPECT_EQ(PMOF_SC_INVALID, wc_join(&q, &first, sizeof(first)));
	wc_close(&q);
	ASSERT_EQ(0, wc_prepare(&q, true));
	EXPECT_EQ(PMOF_SC_ACCESS, wc_join(&q, &first, sizeof(first)));
	wc_close(&q);
	/* An old counter, for the right queue pair. */
	k.counter -= 1;
	EXPECT_EQ(PMOF_SC_ACCESS, k_queue(&k, &q, 2));
	wc_close(&q);
	/* A new counter, for another queue pair, another host's, or one to another server. */
	EXPECT_EQ(PMOF_SC_ACCESS, queue_of_another(&k, 1, 0, 0));
	EXPECT_EQ(PMOF_SC_ACCESS, queue_of_another(&k, 0, 1, 0));
	EXPECT_EQ(PMOF_SC_ACCESS, queue_of_another(&k, 0, 0, 1));
	/* Another queue ID than was signed. */
	ASSERT_EQ(0, wc_prepare(&q, true));
	conn = k_conn(q.id);
	w = k_queue_data(&k, 1, &conn);
	w.queue_id = 2;
	EXPECT_EQ(PMOF_SC_ACCESS, wc_join(&q, &w, sizeof(w)));
	wc_close(&q);
	EXPECT_EQ(0, k_queue(&k, &q, 2));
	wc_close(&q);
	k_close(&k);
	/* When the server has noticed. */
	for (tries = 0; tries < 300 && rc == PMOF_SC_BUSY; tries++) {
		usleep(100000);
		rc = k_queue(&k, &q, 1);
		wc_close(&q);
	}
	EXPECT_EQ(PMOF_SC_NO_SESSION, rc);
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
	ASSERT_EQ(0, order("unused bob") || limit("segments", 0) || limit("memory", 500 << 10));
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

/* Who has come where anybody may is counted from when his client is made. */
TEST_F(rights, limits_of_who_is_there)
{
	struct keyed a, b;

	ASSERT_EQ(0, order("deny alice && deny bob && deny_ro carol && set_attr $NS/allow_any 1"));
	ASSERT_EQ(0, k_login(&a, "somebody", NULL, 0));
	EXPECT_EQ(0, order("mkdir $CONFIG/clients/somebody && client_has somebody sessions 1 && "
			   "client_has somebody queues %u && "
			   "set_attr $CONFIG/clients/somebody/max_sessions 1", a.s.login.nr_queues));
	EXPECT_EQ(PMOF_SC_BUSY, k_login(&b, "somebody", NULL, 0));
	k_close(&b);
	k_close(&a);
	EXPECT_EQ(0, order("unused somebody"));
}

/* Nobody ends for one who would not be let in then; what is its own makes room. */
TEST_F_TIMEOUT(rights, takeover_that_does_not_fit, 60)
{
	const u32 takes = PMOF_LOGIN_F_EXCLUSIVE | PMOF_LOGIN_F_TAKEOVER;
	struct keyed a, b, c;

	ASSERT_EQ(0, k_open(&a, "alice", ALICE, PMOF_LOGIN_F_EXCLUSIVE));
	ASSERT_EQ(0, limit("sessions", 1));
	ASSERT_EQ(0, k_login(&b, "bob", BOB, PMOF_LOGIN_F_READ_ONLY));
	EXPECT_EQ(PMOF_SC_BUSY, k_login(&c, "bob", BOB, takes));
	k_close(&c);
	EXPECT_EQ(0, persist(&a.s.io));
	k_close(&b);
	ASSERT_EQ(0, order("unused bob"));
	ASSERT_EQ(0, k_open(&b, "bob", BOB, takes));
	EXPECT_TRUE(wc_ends(&a.s.io, 20000));
	ASSERT_EQ(0, k_open(&c, "bob", BOB, takes));
	EXPECT_TRUE(wc_ends(&b.s.io, 20000));
	EXPECT_EQ(0, persist(&c.s.io));
	k_close(&a);
	k_close(&b);
	k_close(&c);
	EXPECT_EQ(0, order("unused bob") || limit("sessions", 0));
}

/* One GET_PIECES: as wc_call(), with how many there are and where the first one begins. */
static int get_pieces(struct keyed *k, u64 from, u32 *count, u64 *first)
{
	u64 end = k->s.login.segment_size, next;
	struct pmof_wire_get_pieces w;
	struct pmof_piece piece;
	const void *msg;
	ssize_t n;
	int rc;

	if (wc_send(&k->s.admin, &w, pmof_put_get_pieces(&w, 5, from)))
		return ENDED;
	n = wc_recv(&k->s.admin, &msg, 10000);
	if (n <= 0)
		return n ? (int)n : ENDED;
	rc = pmof_get_pieces_reply(msg, n, 0, end, &next, count);
	if (!rc && *count) {
		pmof_get_piece(msg, 0, &piece);
		*first = piece.offset;
	}
	return rc;
}

static u64 mrs(struct keyed *k)
{
	u64 value[PMOF_SRV_STAT_MAX] = { 0 };
	struct pmof_wire_hdr h;
	const void *msg;
	ssize_t n;

	pmof_put_hdr(&h, PMOF_MSG_GET_STATS, 4, sizeof(h), 0);
	if (wc_send(&k->s.admin, &h, sizeof(h)))
		return ~0ULL;
	n = wc_recv(&k->s.admin, &msg, 10000);
	return n > 0 && !pmof_get_stats_reply(msg, n, value) ? value[PMOF_SRV_MRS] : ~0ULL;
}

/* Whatever places a client names, the pieces of a segment are the same, and few. */
TEST_F(rights, places_make_no_mrs)
{
	u32 count, all;
	struct keyed k;
	u64 before, first = 1, at = 0;
	int i;

	ASSERT_EQ(0, k_login(&k, "carol", CAROL, 0));
	ASSERT_EQ(0, get_pieces(&k, 0, &all, &first));
	EXPECT_EQ(0, first);
	EXPECT_TRUE(all && all < 4) TH_LOG("%u pieces", all);
	before = mrs(&k);
	ASSERT_NE(~0ULL, before);
	for (i = 1; i < 32; i++) {
		ASSERT_EQ(0, get_pieces(&k, i * 4096 + i, &count, &first));
		EXPECT_TRUE(count && count <= all && first >= at) TH_LOG("%d: %u", i, count);
		at = first;
	}
	EXPECT_EQ(before, mrs(&k));
	/* Nor does who asks for the segment as well. */
	EXPECT_EQ(0, wc_some_segments(&k.s, 1));
	EXPECT_EQ(before, mrs(&k));
	EXPECT_EQ(0, k.s.seg[0].rkey);
	k_close(&k);
}

/* The other way round: a segment that is there is its only piece. */
TEST_F(rights, a_segment_is_not_registered_twice)
{
	u32 count = 0;
	struct keyed k;
	u64 before, first = 1;

	ASSERT_EQ(0, k_open(&k, "carol", CAROL, 0));
	before = mrs(&k);
	ASSERT_NE(~0ULL, before);
	ASSERT_EQ(0, get_pieces(&k, 4096, &count, &first));
	EXPECT_EQ(1, count);
	EXPECT_EQ(0, first);
	EXPECT_EQ(before, mrs(&k));
	k_close(&k);
}

/* --- keys stay where they are ---------------------------------------------------------------------------- */

TEST_F(rights, keys_cannot_be_read)
{
	int dev = vm_connect("id=alice,block=0,key=" ALICE);

	ASSERT_LE(0, dev);
	EXPECT_EQ(0, order("test \"$(stat -c %%a $CONFIG/clients/alice/key)\" = 200"));
	EXPECT_NE(0, order("cat $CONFIG/clients/alice/key"));
	EXPECT_EQ(0, order("test \"$(cat $CONFIG/clients/alice/has_key)\" = 1"));
	EXPECT_EQ(0, order("! dmesg | grep -i -e " ALICE " -e " BOB " -e " EVE));
	EXPECT_EQ(0, order("! grep -ri " ALICE " /sys/class/pmof-session/*/ $CONFIG/ 2>/dev/null"));
	EXPECT_NE(0, system("dmesg | grep -i -e " ALICE " -e " BOB " -e " EVE));
	EXPECT_NE(0, system("grep -ri " ALICE " /sys/class/pmof/*/ 2>/dev/null"));
	EXPECT_NE(0, system("cat /dev/pmof-control 2>&1 | grep -i " ALICE));
	/* In these places something is found. */
	EXPECT_EQ(0, order("dmesg | grep -q pmof"));
	EXPECT_EQ(0, order("grep -rqw alice /sys/class/pmof-session/*/ 2>/dev/null"));
	EXPECT_EQ(0, system("dmesg | grep -q pmof"));
	EXPECT_EQ(0, system("grep -rqw live /sys/class/pmof/*/ 2>/dev/null"));
	/* What is no key changes nothing. */
	EXPECT_NE(0, order("set_key alice 1234"));
	EXPECT_NE(0, order("set_key alice " ALICE "g0"));
	EXPECT_NE(0, order("set_key alice " ALICE ALICE "00"));
	EXPECT_EQ(0, order("test \"$(cat $CONFIG/clients/alice/has_key)\" = 1"));
	EXPECT_EQ(0, vm_disconnect(dev));
}

TEST_HARNESS_MAIN
