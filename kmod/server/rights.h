/* SPDX-License-Identifier: GPL-2.0 */
/* Who a client is, what it may do and how much it may have. */
#ifndef PMOF_SERVER_RIGHTS_H
#define PMOF_SERVER_RIGHTS_H

#include "server.h"

/* rights.c */
void pmof_client_add(struct pmof_client *client);
void pmof_client_remove(struct pmof_client *client);
void pmof_client_set_key(struct pmof_client *client, const struct pmof_key *key);
int pmof_allow_add(struct pmof_ns *ns, struct pmof_client *client, bool write);
void pmof_allow_remove(struct pmof_ns *ns, struct pmof_client *client);
int pmof_allow_any(struct pmof_ns *ns, bool any);
bool pmof_rights_revoked(const struct pmof_session *s);
int pmof_rights_challenge(struct pmof_session *s, const u8 client_nonce[PMOF_WIRE_NONCE_LEN]);
int pmof_rights_prove(struct pmof_session *s, const struct pmof_login *l, struct pmof_key *key);
void pmof_rights_get_proved(const struct pmof_session *s, struct pmof_key *key);
int pmof_rights_check(struct pmof_session *s, const struct pmof_ns *ns,
		      const struct pmof_login *l);
int pmof_rights_take(struct pmof_session *s, const struct pmof_ns *ns,
		     const struct pmof_login *l, struct pmof_session **old);
void pmof_rights_drop(struct pmof_session *s);
int pmof_rights_sign_reply(struct pmof_session *s, const struct pmof_key *key,
			   struct pmof_login_reply *r);
bool pmof_rights_check_resume(struct pmof_session *s, const struct pmof_session *old,
			      const struct pmof_login *l);
void pmof_rights_forget_key(struct pmof_session *s);
int pmof_rights_check_queue(struct pmof_session *s, const struct pmof_connect *c,
			    const struct pmof_auth_conn *from);

/* limits.c */
void pmof_limits_set_client(struct pmof_session *s, struct pmof_client *client);
enum pmof_limit pmof_limits_check(const struct pmof_session *s, const struct pmof_client *client,
				  const struct pmof_ns *ns, pmof_session_match_fn *ends,
				  const void *arg);
int pmof_limits_refuse(const struct pmof_session *s, enum pmof_limit limit);
int pmof_limits_charge(struct pmof_session *s, enum pmof_limit limit, u64 n);
bool pmof_limits_more(const struct pmof_client *client, u16 queues, u32 call_size,
		      pmof_session_match_fn *ends, const void *arg);
int pmof_limits_charge_queues(struct pmof_session *s, u16 asked);
void pmof_limits_uncharge(struct pmof_session *s, enum pmof_limit limit, u64 n);
void pmof_limits_uncharge_all(struct pmof_session *s);
void pmof_limits_inherit(struct pmof_session *s, const struct pmof_session *old);

#endif /* PMOF_SERVER_RIGHTS_H */
