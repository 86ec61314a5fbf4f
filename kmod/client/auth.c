// SPDX-License-Identifier: GPL-2.0
/* What a client with a key proves, and wants proved (auth.h, docs/protocol.md). */
#define pr_fmt(fmt) "pmof-client: " fmt

#include <linux/random.h>

#include "client.h"

static void auth_conn(const struct rdma_cm_id *id, struct pmof_auth_conn *c)
{
	const struct sa_path_rec *path = id->route.path_rec;

	memcpy(c->client_gid, path->sgid.raw, sizeof(c->client_gid));
	memcpy(c->server_gid, path->dgid.raw, sizeof(c->server_gid));
	c->qpn = id->qp->qp_num;
}

/* Before each login: new nonces.  Nothing to do without a key. */
int pmof_auth_begin(struct pmof_conn *conn)
{
	struct pmof_auth *a = &conn->auth.now;
	int rc;

	if (!conn->opt.key.len)
		return 0;
	rc = pmof_hmac_prepare();
	if (rc) {
		pr_err("%s: this kernel has no hmac(sha256) (%d)\n", conn->opt.name, rc);
		return rc;
	}
	get_random_bytes(a->client_nonce, sizeof(a->client_nonce));
	strscpy_pad(a->client_id, conn->opt.id, sizeof(a->client_id));
	auth_conn(conn->admin.cm.id, &a->conn);
	return pmof_admin_challenge(conn, a->client_nonce, a->server_nonce);
}

/* A session that is to be resumed is named in @l; its key is still ours. */
int pmof_auth_sign_login(struct pmof_conn *conn, struct pmof_login *l)
{
	struct pmof_conn_auth *auth = &conn->auth;
	int rc = 0;

	if (!conn->opt.key.len)
		return 0;
	if (l->resume_id && auth->has_session_key)
		rc = pmof_auth_resume(auth->session_key, &auth->now, l->resume_id,
				      l->resume_proof);
	return rc ?: pmof_auth_login(&conn->opt.key, &auth->now, l, l->proof);
}

/* The server has to know the key as well.  From here on the session has one of its own. */
int pmof_auth_check_reply(struct pmof_conn *conn, const struct pmof_login_reply *r)
{
	struct pmof_conn_auth *auth = &conn->auth;
	u8 want[PMOF_WIRE_MAC_LEN];
	bool equal;
	int rc;

	if (!conn->opt.key.len)
		return 0;
	rc = pmof_auth_login_reply(&conn->opt.key, &auth->now, r, want);
	if (rc)
		return rc;
	equal = pmof_mac_equal(want, r->proof, sizeof(want));
	memzero_explicit(want, sizeof(want));
	if (!equal) {
		pr_warn("%s: the server at %pISpc does not prove that it has the key\n",
			conn->opt.name, &conn->peer);
		return -EACCES;
	}
	pmof_conn_proven(conn);
	/* Not ahead of the proof: who has none does not cost us the session that we want back. */
	auth->has_session_key = false;
	rc = pmof_auth_session_key(&conn->opt.key, &auth->now, r->session_id, auth->session_key);
	if (rc)
		return rc;
	auth->has_session_key = true;
	auth->counter = 0;
	return 0;
}

/* @id: of the queue that connects; it has its queue pair. */
int pmof_auth_sign_queue(struct pmof_conn *conn, struct pmof_connect *c,
			 const struct rdma_cm_id *id)
{
	struct pmof_conn_auth *auth = &conn->auth;
	struct pmof_auth_conn from;

	if (!c->queue_id || !auth->has_session_key)
		return 0;
	c->has_mac = true;
	c->counter = ++auth->counter;
	auth_conn(id, &from);
	return pmof_auth_queue(auth->session_key, &auth->now, c, &from, c->mac);
}
