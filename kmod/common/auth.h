/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who is who: the proofs of a login, of an I/O queue and of a resume, all of them
 * HMAC-SHA-256 over a label and what both ends know (docs/protocol.md).
 *
 * auth.c is pure but for pmof_hmac(), which hmac.c has in the kernel and
 * tests/hmac.h in user space.
 */
#ifndef PMOF_AUTH_H
#define PMOF_AUTH_H

#include "wire.h"

#define PMOF_KEY_MIN		16	/* bytes of a client's key */
#define PMOF_KEY_MAX		64
#define PMOF_SESSION_KEY_LEN	PMOF_WIRE_MAC_LEN
#define PMOF_GID_LEN		16

/* A client's key.  Whoever has one on the stack clears it. */
struct pmof_key {
	u8 data[PMOF_KEY_MAX];
	u16 len;		/* 0: none */
};

/*
 * Which connection a proof is for: the client's queue pair, whose number says little without whose
 * it is, and where its packets go.  Both ends have them from the connection request, which the
 * server answers to these addresses and no others: who passes a proof on does not get the answer.
 */
struct pmof_auth_conn {
	u8 client_gid[PMOF_GID_LEN];
	u8 server_gid[PMOF_GID_LEN];
	u32 qpn;
};

/* What a login's proofs are bound to. */
struct pmof_auth {
	u8 client_nonce[PMOF_WIRE_NONCE_LEN];
	u8 server_nonce[PMOF_WIRE_NONCE_LEN];
	char client_id[PMOF_WIRE_ID_LEN];	/* NUL padded */
	struct pmof_auth_conn conn;		/* the admin queue's */
};

/* Sleeps.  Returns 0 or a negative errno, and then @mac is zero. */
int pmof_hmac(const u8 *key, size_t key_len, const void *data, size_t len,
	      u8 mac[PMOF_WIRE_MAC_LEN]);
/* In a time that does not depend on where they differ. */
bool pmof_mac_equal(const u8 *a, const u8 *b, size_t len);
/* hmac.c: finds out whether pmof_hmac() works; after that it allocates nothing. */
int pmof_hmac_prepare(void);
void pmof_hmac_exit(void);

/* Hexadecimal digits, PMOF_KEY_MIN to PMOF_KEY_MAX bytes, @len of them; 0 or -EINVAL. */
int pmof_key_parse(const char *text, size_t len, struct pmof_key *key);

/* All return 0 or a negative errno. */
int pmof_auth_login(const struct pmof_key *key, const struct pmof_auth *a,
		    const struct pmof_login *l, u8 proof[PMOF_WIRE_MAC_LEN]);
int pmof_auth_login_reply(const struct pmof_key *key, const struct pmof_auth *a,
			  const struct pmof_login_reply *r, u8 proof[PMOF_WIRE_MAC_LEN]);
int pmof_auth_session_key(const struct pmof_key *key, const struct pmof_auth *a,
			  u64 session_id, u8 session_key[PMOF_SESSION_KEY_LEN]);
int pmof_auth_resume(const u8 old_session_key[PMOF_SESSION_KEY_LEN], const struct pmof_auth *a,
		     u64 session_id, u8 proof[PMOF_WIRE_MAC_LEN]);
int pmof_auth_queue(const u8 session_key[PMOF_SESSION_KEY_LEN], const struct pmof_auth *a,
		    const struct pmof_connect *c, const struct pmof_auth_conn *conn,
		    u8 mac[PMOF_WIRE_QUEUE_MAC_LEN]);

size_t pmof_put_challenge(struct pmof_wire_challenge *w, u16 tag,
			  const u8 nonce[PMOF_WIRE_NONCE_LEN]);
int pmof_get_challenge(const void *buf, size_t len, u8 nonce[PMOF_WIRE_NONCE_LEN]);
size_t pmof_put_challenge_reply(struct pmof_wire_challenge_reply *w, u16 tag,
				const u8 nonce[PMOF_WIRE_NONCE_LEN]);
int pmof_get_challenge_reply(const void *buf, size_t len, u8 nonce[PMOF_WIRE_NONCE_LEN]);

#endif /* PMOF_AUTH_H */
