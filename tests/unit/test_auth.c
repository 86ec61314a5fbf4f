// SPDX-License-Identifier: GPL-2.0
/* Proofs: the HMAC under them, and that each depends on all that it shall. */
#include "../../kmod/common/auth.h"
#include "messages.h"

/* --- HMAC-SHA-256: RFC 4231, section 4 --------------------------------------- */

struct vector {
	const char *key, *data, *mac;	/* hexadecimal */
};

#define AA20	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define DD20	"dddddddddddddddddddddddddddddddddddddddd"
#define CD20	"cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"
#define AA131	AA20 AA20 AA20 AA20 AA20 AA20 "aaaaaaaaaaaaaaaaaaaaaa"

static const struct vector vectors[] = {
	{ "0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "4869205468657265",
	  "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7" },
	{ "4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
	  "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843" },
	{ AA20, DD20 DD20 "dddddddddddddddddddd",
	  "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe" },
	{ "0102030405060708090a0b0c0d0e0f10111213141516171819", CD20 CD20 "cdcdcdcdcdcdcdcdcdcd",
	  "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b" },
	{ AA131, "54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a65204b6579202d"
	  "2048617368204b6579204669727374",
	  "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54" },
	{ AA131, "5468697320697320612074657374207573696e672061206c6172676572207468616e20626c6f63"
	  "6b2d73697a65206b657920616e642061206c6172676572207468616e20626c6f636b2d73697a652064"
	  "6174612e20546865206b6579206e6565647320746f20626520686173686564206265666f7265206265"
	  "696e6720757365642062792074686520484d414320616c676f726974686d2e",
	  "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2" },
};

static size_t unhex(const char *text, u8 *out)
{
	size_t i, n = strlen(text) / 2;
	unsigned int byte;

	for (i = 0; i < n; i++) {
		if (sscanf(text + 2 * i, "%2x", &byte) != 1)
			abort();
		out[i] = byte;
	}
	return n;
}

TEST(hmac_vectors)
{
	u8 key[256], data[256], mac[32], want[32];
	size_t i, key_len, len;

	for (i = 0; i < ARRAY_SIZE(vectors); i++) {
		key_len = unhex(vectors[i].key, key);
		len = unhex(vectors[i].data, data);
		ASSERT_EQ(32, unhex(vectors[i].mac, want));
		ASSERT_EQ(0, pmof_hmac(key, key_len, data, len, mac));
		EXPECT_EQ(0, memcmp(mac, want, 32)) TH_LOG("vector %zu", i);
	}
}

/* --- keys ----------------------------------------------------------------------- */

TEST(keys)
{
	char text[2 * PMOF_KEY_MAX + 3];
	struct pmof_key key;
	size_t n;

	memset(text, 'a', sizeof(text));
	for (n = 0; n < sizeof(text); n++)
		EXPECT_EQ(n % 2 || n < 32 || n > 128 ? -EINVAL : 0, pmof_key_parse(text, n, &key))
			TH_LOG("%zu digits", n);
	ASSERT_EQ(0, pmof_key_parse("00f1e2D3c4B5a69788796a5b4c3d2e1F0", 32, &key));
	EXPECT_EQ(16, key.len);
	EXPECT_EQ(0, memcmp(key.data, "\x00\xf1\xe2\xd3\xc4\xb5\xa6\x97\x88\x79\x6a\x5b\x4c\x3d"
			    "\x2e\x1f\0\0", 18));
}

TEST(keys_with_other_characters)
{
	static const char other[] = { 'g', 'G', '/', ':', '@', '`', ' ', '\n', '\0', -1, 'x' };
	struct pmof_key key;
	char text[32];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(other); i++) {
		memset(text, '7', sizeof(text));
		text[i % 2 ? 31 : 2 * i] = other[i];
		EXPECT_EQ(-EINVAL, pmof_key_parse(text, sizeof(text), &key)) TH_LOG("%d", other[i]);
		EXPECT_EQ(0, key.len);
	}
}

/* --- proofs ---------------------------------------------------------------------- */

static const struct pmof_key key = { .data = "0123456789abcdef", .len = 16 };
static const u8 session_key[PMOF_SESSION_KEY_LEN] = "a session's key, 32 bytes of it";
static const struct pmof_auth auth = {
	.client_nonce = { 1, 2, 3 }, .server_nonce = { 4, 5, 6 }, .client_id = "a",
	.conn = { .client_gid = { 7, 8 }, .server_gid = { 7, 9 }, .qpn = 17 },
};

/* The five kinds of proof, of these. */
struct world {
	struct pmof_key key;
	u8 session_key[PMOF_SESSION_KEY_LEN];
	struct pmof_auth auth;
	struct pmof_login login;
	struct pmof_login_reply reply;
	struct pmof_connect connect;
	u64 session_id;
	struct pmof_auth_conn conn;
};

enum { LOGIN, REPLY, SESSION, RESUME, QUEUE, KINDS };

static struct world world(void)
{
	struct world w = {
		.key = key, .auth = auth, .login = login, .reply = login_reply,
		.connect = connect_mac, .session_id = 77,
		.conn = { .client_gid = { 7, 8 }, .server_gid = { 7, 9 }, .qpn = 18 },
	};

	memcpy(w.session_key, session_key, sizeof(session_key));
	return w;
}

static void sign_all(const struct world *w, u8 mac[KINDS][32])
{
	memset(mac, 0, KINDS * 32);
	if (pmof_auth_login(&w->key, &w->auth, &w->login, mac[LOGIN]) ||
	    pmof_auth_login_reply(&w->key, &w->auth, &w->reply, mac[REPLY]) ||
	    pmof_auth_session_key(&w->key, &w->auth, w->session_id, mac[SESSION]) ||
	    pmof_auth_resume(w->session_key, &w->auth, w->session_id, mac[RESUME]) ||
	    pmof_auth_queue(w->session_key, &w->auth, &w->connect, &w->conn, mac[QUEUE]))
		abort();
}

/* Which proofs differ from those of world(), as bits. */
static unsigned int differ(const struct world *w)
{
	u8 a[KINDS][32], b[KINDS][32];
	struct world good = world();
	unsigned int bits = 0;
	int i;

	sign_all(&good, a);
	sign_all(w, b);
	for (i = 0; i < KINDS; i++)
		if (!pmof_mac_equal(a[i], b[i], 32))
			bits |= 1U << i;
	return bits;
}

#define ALL	((1U << KINDS) - 1)
#define B(kind)	(1U << (kind))

TEST(each_proof_depends_on)
{
	struct world w;

#define CHANGES(bits, change) do {					\
		w = world();						\
		change;							\
		EXPECT_EQ(bits, differ(&w)) TH_LOG("%s", #change);	\
	} while (0)
	CHANGES(0, w = world());
	CHANGES(B(LOGIN) | B(REPLY) | B(SESSION), w.key.data[15] ^= 1);
	CHANGES(B(LOGIN) | B(REPLY) | B(SESSION), w.key.len = 17; w.key.data[16] = 1);
	CHANGES(B(RESUME) | B(QUEUE), w.session_key[31] ^= 0x80);
	CHANGES(ALL, w.auth.client_nonce[31] = 1);
	CHANGES(ALL, w.auth.server_nonce[0]++);
	CHANGES(ALL, w.auth.client_id[0]++);
	CHANGES(ALL & ~B(QUEUE), w.auth.conn.qpn++);
	CHANGES(ALL & ~B(QUEUE), w.auth.conn.client_gid[15]++);
	CHANGES(ALL & ~B(QUEUE), w.auth.conn.server_gid[0]++);
	CHANGES(B(QUEUE), w.conn.qpn++);
	CHANGES(B(QUEUE), w.conn.client_gid[0]++);
	CHANGES(B(QUEUE), w.conn.server_gid[15]++);
	CHANGES(B(SESSION) | B(RESUME), w.session_id++);
	CHANGES(B(LOGIN), w.login.instance[15]++);
	CHANGES(B(LOGIN), w.login.name[1]++);
	CHANGES(B(LOGIN), w.login.nr_queues++);
	CHANGES(B(LOGIN), w.login.path_id++);
	CHANGES(B(LOGIN), w.login.resume_id++);
	CHANGES(B(LOGIN), w.login.loss_timeout++);
	CHANGES(B(LOGIN), w.login.call_size += PMOF_IO_MSG_SIZE);
	CHANGES(B(LOGIN), w.login.flags ^= PMOF_LOGIN_F_TAKEOVER);
	CHANGES(B(LOGIN), w.login.resume_proof[31] = 1);
	CHANGES(0, w.login.proof[0] = 1);
	CHANGES(B(REPLY), w.reply.session_id++);
	CHANGES(B(REPLY), w.reply.generation++);
	CHANGES(B(REPLY), w.reply.segment_size *= 2);
	CHANGES(B(REPLY), w.reply.methods++);
	CHANGES(B(REPLY), w.reply.max_inline--);
	CHANGES(B(REPLY), w.reply.call_size += PMOF_IO_MSG_SIZE);
	CHANGES(B(REPLY), w.reply.writers++);
	CHANGES(B(REPLY), w.reply.history++);
	CHANGES(0, w.reply.proof[31] = 1);
	CHANGES(B(QUEUE), w.connect.queue_id++);
	CHANGES(B(QUEUE), w.connect.queue_depth++);
	CHANGES(B(QUEUE), w.connect.session_id++);
	CHANGES(B(QUEUE), w.connect.counter++);
	CHANGES(0, w.connect.mac[0]++);
#undef CHANGES
}

/* As another implementation computes them: the peer may be one. */
TEST(known_answers)
{
	static const char *const want[KINDS] = {
		[LOGIN] = "\x22\xd9\x31\x09\x00\x42\x57\x04",
		[REPLY] = "\x0e\xe7\x7c\x3d\x97\xa3\x71\x00",
		[SESSION] = "\x31\x01\x15\x5d\x20\x10\x5c\x1a",
		[RESUME] = "\x13\x82\xa3\x7f\x63\x02\xb7\xa6",
		[QUEUE] = "\xd3\xa0\xc1\xdc\xc3\x09\xf3\x4f",
	};
	struct world w = world();
	u8 mac[KINDS][32];
	int i;

	sign_all(&w, mac);
	for (i = 0; i < KINDS; i++)
		EXPECT_EQ(0, memcmp(want[i], mac[i], 8)) TH_LOG("%d", i);
}

/* Of one kind none is another's, whatever it is about. */
TEST(kinds_differ)
{
	struct world w = world();
	u8 mac[KINDS][32];
	int i, j;

	memcpy(w.session_key, key.data, 16);
	w.key.len = PMOF_SESSION_KEY_LEN;
	memcpy(w.key.data, w.session_key, PMOF_SESSION_KEY_LEN);
	sign_all(&w, mac);
	for (i = 0; i < KINDS; i++)
		for (j = 0; j < i; j++)
			EXPECT_NE(0, memcmp(mac[i], mac[j], PMOF_WIRE_QUEUE_MAC_LEN))
				TH_LOG("%d and %d", i, j);
}

/* The proof is in the message that is sent, and comes out of it as it was. */
TEST(proofs_on_the_wire)
{
	struct pmof_login l = login, out;
	struct pmof_login_reply r = login_reply, r_out;
	struct pmof_connect c = connect_mac, c_out;
	struct pmof_wire_login_reply wr;
	struct pmof_wire_connect wc;
	struct pmof_wire_login wl;
	const struct world w = world();
	u8 mac[32];

	ASSERT_EQ(0, pmof_auth_login(&key, &auth, &l, l.proof));
	ASSERT_EQ(0, pmof_get_login(&wl, pmof_put_login(&wl, 3, &l), &out));
	ASSERT_EQ(0, pmof_auth_login(&key, &auth, &out, mac));
	EXPECT_EQ(0, memcmp(mac, out.proof, 32));
	ASSERT_EQ(0, pmof_auth_login_reply(&key, &auth, &r, r.proof));
	ASSERT_EQ(0, pmof_get_login_reply(&wr, pmof_put_login_reply(&wr, 3, &r), &r_out));
	ASSERT_EQ(0, pmof_auth_login_reply(&key, &auth, &r_out, mac));
	EXPECT_EQ(0, memcmp(mac, r_out.proof, 32));
	ASSERT_EQ(0, pmof_auth_queue(session_key, &auth, &c, &w.conn, c.mac));
	pmof_put_connect(&wc, &c);
	ASSERT_EQ(0, pmof_get_connect(&wc, sizeof(wc), &c_out));
	ASSERT_EQ(0, pmof_auth_queue(session_key, &auth, &c_out, &w.conn, mac));
	EXPECT_EQ(0, memcmp(mac, c_out.mac, sizeof(c_out.mac)));
}

TEST_HARNESS_MAIN
