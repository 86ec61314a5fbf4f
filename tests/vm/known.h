/* SPDX-License-Identifier: GPL-2.0 */
/* What the suites of rights share about sessions that are resumed. */
#ifndef PMOF_KNOWN_H
#define PMOF_KNOWN_H

#include "keyed.h"

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
static inline int say_hello(struct keyed *k, const char *id, const char *key)
{
	int rc = k_connect(k, id, key);

	random_bytes(k->auth.client_nonce, sizeof(k->auth.client_nonce));
	return rc ? rc : k_challenge(k);
}

/* A login as @from, which resumes its session if there is one. */
static inline int log_in(struct keyed *k, const struct known *from)
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

static inline void remember(struct known *to, const struct keyed *k)
{
	to->session_id = k->s.login.session_id;
	memcpy(to->session_key, k->session_key, sizeof(to->session_key));
}

/* A session that its client may resume: all its queues were there. */
static inline int begin_as(struct keyed *k, const char *id, const char *key, struct known *to)
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
static inline int begin(struct keyed *k, const char *id, const char *key, struct known *to)
{
	memset(to, 0, sizeof(*to));
	random_bytes(to->instance, sizeof(to->instance));
	return begin_as(k, id, key, to);
}

/* A login that resumes, and nothing else: 0, also where the session is a new one. */
static inline int resume(struct keyed *k, const char *id, const char *key, const struct known *from)
{
	int rc = say_hello(k, id, key);

	return rc ? rc : log_in(k, from);
}

/* The same once those that are closed are gone. */
static inline int resume_soon(struct keyed *k, const char *id, const char *key, const struct known *from)
{
	double until = vm_now() + 10;
	int rc;

	while ((rc = resume(k, id, key, from)) == PMOF_SC_BUSY && vm_now() < until) {
		k_close(k);
		usleep(100000);
	}
	return rc;
}

static inline bool is_resumed(const struct keyed *k, const struct known *from)
{
	return k->s.login.flags & PMOF_LOGIN_R_RESUMED &&
	       k->s.login.session_id == from->session_id;
}

#endif
