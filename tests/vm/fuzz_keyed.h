/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A client with a key, of whose logins, queues and resumed sessions something is changed on the
 * way: what it has not vouched for must not be done.
 */
#ifndef PMOF_FUZZ_KEYED_H
#define PMOF_FUZZ_KEYED_H

#include "fuzz.h"
#include "known.h"

/* As fuzz-server has it. */
#define FUZZ_ID		"proven"
#define FUZZ_KEY	"5ca1ab1e00c0ffee5ca1ab1e00c0ffee5ca1ab1e00c0ffee5ca1ab1e00c0ffee"

enum belief {
	UNTRIED,	/* it did not come to that */
	REFUSED,	/* by the server's own word, or by the end of the connection */
	UNCHANGED,	/* the damage changed nothing */
	BELIEVED,
};

/* A login that is another one than what its proof is of. */
static inline enum belief altered_login(uint64_t *rnd)
{
	enum belief belief = UNTRIED;
	struct pmof_wire_login meant;
	struct keyed k;
	int rc;

	if (!say_hello(&k, FUZZ_ID, FUZZ_KEY)) {
		k_put_login(&k, 0);
		meant = k.sent;
		fuzz_damage(rnd, k.sent.instance, sizeof(k.sent) - sizeof(k.sent.hdr),
			    1 + vm_rnd(rnd) % 3);
		rc = k_send_login(&k);
		if (rc > 0)
			belief = REFUSED;
		else if (!rc)
			belief = memcmp(&meant, &k.sent, sizeof(meant)) ? BELIEVED : UNCHANGED;
	}
	k_close(&k);
	return belief;
}

/* An I/O queue of a session whose MAC is of another one. */
static inline enum belief altered_queue(uint64_t *rnd)
{
	struct pmof_wire_connect meant, w;
	enum belief belief = UNTRIED;
	struct pmof_auth_conn conn;
	struct keyed k;
	int rc;

	if (!k_login(&k, FUZZ_ID, FUZZ_KEY, 0) && !wc_prepare(&k.s.io, true)) {
		conn = k_conn(k.s.io.id);
		meant = k_queue_data(&k, 1, &conn);
		w = meant;
		fuzz_damage(rnd, &w, sizeof(w), 1 + vm_rnd(rnd) % 3);
		rc = wc_join(&k.s.io, &w, sizeof(w));
		if (rc > 0)
			belief = REFUSED;
		else if (!rc)
			belief = memcmp(&meant, &w, sizeof(w)) ? BELIEVED : UNCHANGED;
	}
	k_close(&k);
	return belief;
}

/* A session that is resumed by who has the client's key, and not the session's. */
static inline enum belief altered_resume(uint64_t *rnd)
{
	struct known own = { .loss_timeout = 2 * vm_time_factor() }, altered;
	enum belief belief = UNTRIED;
	struct keyed k;
	int rc;

	random_bytes(own.instance, sizeof(own.instance));
	rc = begin_as(&k, FUZZ_ID, FUZZ_KEY, &own);
	k_close(&k);
	if (rc)
		return UNTRIED;
	altered = own;
	fuzz_damage(rnd, altered.session_key, sizeof(altered.session_key), 1 + vm_rnd(rnd) % 3);
	rc = resume_soon(&k, FUZZ_ID, FUZZ_KEY, &altered);
	if (rc >= 0 && rc != PMOF_SC_BUSY)
		belief = rc || !is_resumed(&k, &own) ? REFUSED :
			 memcmp(altered.session_key, own.session_key, sizeof(own.session_key)) ?
			 BELIEVED : UNCHANGED;
	k_close(&k);
	return belief;
}

#endif /* PMOF_FUZZ_KEYED_H */
