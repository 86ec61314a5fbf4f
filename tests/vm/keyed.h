/* SPDX-License-Identifier: GPL-2.0 */
/* wireclient.h's sessions, for a client with a key: each step by itself, to be done wrongly. */
#ifndef PMOF_KEYED_H
#define PMOF_KEYED_H

#include "../../kmod/common/auth.h"
#include "wireclient.h"

struct keyed {
	struct wc_session s;
	struct pmof_key key;	/* of the client; no length: none */
	struct pmof_auth auth;
	struct pmof_wire_login sent;
	u8 session_key[PMOF_SESSION_KEY_LEN];
	u64 counter;
};

static inline void random_bytes(void *buf, size_t len)
{
	int fd = open("/dev/urandom", O_RDONLY);

	if (fd < 0 || read(fd, buf, len) != (ssize_t)len)
		abort();
	close(fd);
}

/* The admin queue, under a client's ID. */
static inline int k_connect(struct keyed *k, const char *id, const char *key)
{
	struct pmof_connect c = { .queue_depth = WC_DEPTH };
	struct pmof_wire_connect w;

	memset(k, 0, sizeof(*k));
	strncpy(c.client_id, id, sizeof(c.client_id) - 1);
	strncpy(k->auth.client_id, id, sizeof(k->auth.client_id) - 1);
	if (key && pmof_key_parse(key, strlen(key), &k->key))
		abort();
	pmof_put_connect(&w, &c);
	return wc_connect_raw(&k->s.admin, &w, sizeof(w), true);
}

/* What a proof is bound to, of the queue pair that @id has. */
static inline struct pmof_auth_conn k_conn(const struct rdma_cm_id *id)
{
	struct pmof_auth_conn c = { .qpn = id->qp->qp_num };

	memcpy(c.client_gid, id->route.path_rec->sgid.raw, sizeof(c.client_gid));
	memcpy(c.server_gid, id->route.path_rec->dgid.raw, sizeof(c.server_gid));
	return c;
}

/* Swaps nonces; the client's is in k->auth already.  As wc_call(). */
static inline int k_challenge(struct keyed *k)
{
	struct pmof_wire_challenge w;
	const void *msg;
	ssize_t n;

	k->auth.conn = k_conn(k->s.admin.id);
	if (wc_send(&k->s.admin, &w, pmof_put_challenge(&w, 7, k->auth.client_nonce)))
		return ENDED;
	n = wc_recv(&k->s.admin, &msg, 10000);
	if (n <= 0)
		return n ? (int)n : ENDED;
	return pmof_get_challenge_reply(msg, n, k->auth.server_nonce);
}

/* Sends what is in k->sent: the status of the reply, ENDED, or -errno. */
static inline int k_send_login(struct keyed *k)
{
	u8 want[PMOF_WIRE_MAC_LEN];
	const void *msg;
	ssize_t n;
	int rc;

	if (wc_send(&k->s.admin, &k->sent, sizeof(k->sent)))
		return ENDED;
	n = wc_recv(&k->s.admin, &msg, 10000);
	if (n <= 0)
		return n ? (int)n : ENDED;
	rc = pmof_get_login_reply(msg, n, &k->s.login);
	if (rc || !k->key.len)
		return rc;
	pmof_auth_login_reply(&k->key, &k->auth, &k->s.login, want);
	if (memcmp(want, k->s.login.proof, sizeof(want)))
		return -EKEYREJECTED;
	return pmof_auth_session_key(&k->key, &k->auth, k->s.login.session_id, k->session_key);
}

/* Fills k->sent: a login with a proof, if there is a key. */
static inline void k_put_login(struct keyed *k, u32 flags)
{
	struct pmof_login l = { .nr_queues = 2, .flags = flags, .call_size = PMOF_IO_MSG_SIZE };

	random_bytes(l.instance, sizeof(l.instance));
	strncpy(l.name, vm_env("PMOF_NS", "data"), sizeof(l.name) - 1);
	if (k->key.len)
		pmof_auth_login(&k->key, &k->auth, &l, l.proof);
	pmof_put_login(&k->sent, 1, &l);
}

/* All of a login but for sending it; without a key no CHALLENGE. */
static inline int k_prepare(struct keyed *k, const char *id, const char *key, u32 flags)
{
	int rc = k_connect(k, id, key);

	if (!rc && k->key.len) {
		random_bytes(k->auth.client_nonce, sizeof(k->auth.client_nonce));
		rc = k_challenge(k);
	}
	if (!rc)
		k_put_login(k, flags);
	return rc;
}

static inline int k_login(struct keyed *k, const char *id, const char *key, u32 flags)
{
	int rc = k_prepare(k, id, key, flags);

	return rc ? rc : k_send_login(k);
}

/* Private data for I/O queue @id, of the connection @conn, with the next counter. */
static inline struct pmof_wire_connect k_queue_data(struct keyed *k, u16 id,
						    const struct pmof_auth_conn *conn)
{
	struct pmof_connect c = {
		.queue_id = id, .queue_depth = WC_DEPTH, .session_id = k->s.login.session_id,
		.has_mac = k->key.len, .counter = ++k->counter,
	};
	struct pmof_wire_connect w;

	memcpy(c.client_id, k->auth.client_id, sizeof(c.client_id));
	if (c.has_mac)
		pmof_auth_queue(k->session_key, &k->auth, &c, conn, c.mac);
	pmof_put_connect(&w, &c);
	return w;
}

static inline int k_queue(struct keyed *k, struct wc_queue *q, u16 id)
{
	struct pmof_auth_conn conn;
	struct pmof_wire_connect w;
	int rc = wc_prepare(q, true);

	if (rc)
		return rc;
	conn = k_conn(q->id);
	w = k_queue_data(k, id, &conn);
	return wc_join(q, &w, sizeof(w));
}

/* Login, segments, one I/O queue. */
static inline int k_open(struct keyed *k, const char *id, const char *key, u32 flags)
{
	int rc = k_login(k, id, key, flags);

	if (!rc)
		rc = wc_segments(&k->s);
	return rc ? rc : k_queue(k, &k->s.io, 1);
}

static inline void k_close(struct keyed *k)
{
	wc_close_session(&k->s);
}

#endif /* PMOF_KEYED_H */
