// SPDX-License-Identifier: GPL-2.0
#include "auth.h"

#define LABEL_LEN	16
#define BODY_MAX	192

/* What is hashed; nothing in it is secret.  No proof of one kind is one of another. */
struct transcript {
	char label[LABEL_LEN];
	u8 client_nonce[PMOF_WIRE_NONCE_LEN];
	u8 server_nonce[PMOF_WIRE_NONCE_LEN];
	char client_id[PMOF_WIRE_ID_LEN];
	u8 client_gid[PMOF_GID_LEN];
	u8 server_gid[PMOF_GID_LEN];
	__le32 qpn;
	__le32 length;		/* of the body */
	u8 body[BODY_MAX];
};

static_assert(offsetof(struct transcript, body) == 152, "no padding");

static int sign(const u8 *key, size_t key_len, const char *label, const struct pmof_auth *a,
		const void *body, size_t len, u8 mac[PMOF_WIRE_MAC_LEN])
{
	struct transcript t;

	memset(&t, 0, sizeof(t));
	memcpy(t.label, label, strnlen(label, sizeof(t.label)));
	memcpy(t.client_nonce, a->client_nonce, sizeof(t.client_nonce));
	memcpy(t.server_nonce, a->server_nonce, sizeof(t.server_nonce));
	memcpy(t.client_id, a->client_id, sizeof(t.client_id));
	memcpy(t.client_gid, a->conn.client_gid, sizeof(t.client_gid));
	memcpy(t.server_gid, a->conn.server_gid, sizeof(t.server_gid));
	t.qpn = cpu_to_le32(a->conn.qpn);
	t.length = cpu_to_le32(len);
	memcpy(t.body, body, len);
	return pmof_hmac(key, key_len, &t, offsetof(struct transcript, body) + len, mac);
}

#define LOGIN_BODY	(offsetof(struct pmof_wire_login, proof) - sizeof(struct pmof_wire_hdr))
#define REPLY_BODY	(offsetof(struct pmof_wire_login_reply, proof) - \
			 sizeof(struct pmof_wire_hdr))

static_assert(LOGIN_BODY <= BODY_MAX && REPLY_BODY <= BODY_MAX, "they fit");

/* The client's: all that the LOGIN asks for. */
int pmof_auth_login(const struct pmof_key *key, const struct pmof_auth *a,
		    const struct pmof_login *l, u8 proof[PMOF_WIRE_MAC_LEN])
{
	struct pmof_wire_login w;

	pmof_put_login(&w, 0, l);
	return sign(key->data, key->len, "pmof login", a, &w.hdr + 1, LOGIN_BODY, proof);
}
EXPORT_SYMBOL_GPL(pmof_auth_login);

/* The server's: all that it answers. */
int pmof_auth_login_reply(const struct pmof_key *key, const struct pmof_auth *a,
			  const struct pmof_login_reply *r, u8 proof[PMOF_WIRE_MAC_LEN])
{
	struct pmof_wire_login_reply w;

	pmof_put_login_reply(&w, 0, r);
	return sign(key->data, key->len, "pmof reply", a, &w.hdr + 1, REPLY_BODY, proof);
}
EXPORT_SYMBOL_GPL(pmof_auth_login_reply);

int pmof_auth_session_key(const struct pmof_key *key, const struct pmof_auth *a,
			  u64 session_id, u8 session_key[PMOF_SESSION_KEY_LEN])
{
	__le64 id = cpu_to_le64(session_id);

	return sign(key->data, key->len, "pmof session", a, &id, sizeof(id), session_key);
}
EXPORT_SYMBOL_GPL(pmof_auth_session_key);

/* Under the key of the session that is to go on, with the new connection's nonces. */
int pmof_auth_resume(const u8 old_session_key[PMOF_SESSION_KEY_LEN], const struct pmof_auth *a,
		     u64 session_id, u8 proof[PMOF_WIRE_MAC_LEN])
{
	__le64 id = cpu_to_le64(session_id);

	return sign(old_session_key, PMOF_SESSION_KEY_LEN, "pmof resume", a, &id, sizeof(id),
		    proof);
}
EXPORT_SYMBOL_GPL(pmof_auth_resume);

/* @conn: this queue's, so nobody else's can be put in its place. */
int pmof_auth_queue(const u8 session_key[PMOF_SESSION_KEY_LEN], const struct pmof_auth *a,
		    const struct pmof_connect *c, const struct pmof_auth_conn *conn,
		    u8 mac[PMOF_WIRE_QUEUE_MAC_LEN])
{
	u8 whole[PMOF_WIRE_MAC_LEN];
	struct pmof_wire_connect w;
	struct pmof_auth b = *a;
	int rc;

	b.conn = *conn;
	pmof_put_connect(&w, c);
	rc = sign(session_key, PMOF_SESSION_KEY_LEN, "pmof queue", &b, &w,
		  offsetof(struct pmof_wire_connect, mac), whole);
	memcpy(mac, whole, PMOF_WIRE_QUEUE_MAC_LEN);
	return rc;
}
EXPORT_SYMBOL_GPL(pmof_auth_queue);

int pmof_key_parse(const char *text, size_t len, struct pmof_key *key)
{
	memset(key, 0, sizeof(*key));
	if (len % 2 || len < 2 * PMOF_KEY_MIN || len > 2 * PMOF_KEY_MAX)
		return -EINVAL;
	if (hex2bin(key->data, text, len / 2)) {
		memset(key, 0, sizeof(*key));
		return -EINVAL;
	}
	key->len = len / 2;
	return 0;
}
EXPORT_SYMBOL_GPL(pmof_key_parse);

size_t pmof_put_challenge(struct pmof_wire_challenge *w, u16 tag,
			  const u8 nonce[PMOF_WIRE_NONCE_LEN])
{
	pmof_put_hdr(&w->hdr, PMOF_MSG_CHALLENGE, tag, sizeof(*w), 0);
	memcpy(w->nonce, nonce, sizeof(w->nonce));
	return sizeof(*w);
}
EXPORT_SYMBOL_GPL(pmof_put_challenge);

int pmof_get_challenge(const void *buf, size_t len, u8 nonce[PMOF_WIRE_NONCE_LEN])
{
	const struct pmof_wire_challenge *w = buf;

	if (len != sizeof(*w))
		return PMOF_SC_INVALID;
	memcpy(nonce, w->nonce, sizeof(w->nonce));
	return 0;
}
EXPORT_SYMBOL_GPL(pmof_get_challenge);

size_t pmof_put_challenge_reply(struct pmof_wire_challenge_reply *w, u16 tag,
				const u8 nonce[PMOF_WIRE_NONCE_LEN])
{
	memset(w, 0, sizeof(*w));
	pmof_put_hdr(&w->hdr, PMOF_MSG_CHALLENGE | PMOF_MSG_REPLY, tag, sizeof(*w), 0);
	memcpy(w->nonce, nonce, sizeof(w->nonce));
	return sizeof(*w);
}
EXPORT_SYMBOL_GPL(pmof_put_challenge_reply);

int pmof_get_challenge_reply(const void *buf, size_t len, u8 nonce[PMOF_WIRE_NONCE_LEN])
{
	const struct pmof_wire_challenge_reply *w = buf;
	int rc = pmof_get_reply_hdr(buf, len, PMOF_MSG_CHALLENGE, sizeof(*w));

	if (rc)
		return rc;
	if (len != sizeof(*w))
		return PMOF_SC_INVALID;
	memcpy(nonce, w->nonce, sizeof(w->nonce));
	return 0;
}
EXPORT_SYMBOL_GPL(pmof_get_challenge_reply);
