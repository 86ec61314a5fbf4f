// SPDX-License-Identifier: GPL-2.0
/*
 * Rights: who a client is, what it may have, and that it loses it.
 *
 * A client in clients/ is known by its ID; with a key it proves at each login
 * that it is the one (auth.h).  A namespace has a list of those who may come;
 * while the list is empty and allow_any is set, anybody may.  What a session
 * has been given stays with it, so all that changes what it would be given now
 * ends here with pmof_sessions_end() for those that have more
 * (pmof_rights_revoked()), and when that returns no queue pair of theirs is left.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/random.h>
#include <linux/slab.h>

#include "rights.h"
#include "server.h"

/* Both protected by pmof_sessions_mutex, as is all that server.h says. */
static LIST_HEAD(clients);
static u64 last_key_seq;

/* No login has any use of what the caller has changed. */
static void end_revoked(void)
{
	struct pmof_session_filter f = { .revoked = true };

	pmof_sessions_end(&f, PMOF_ANNOUNCE_RIGHTS_CHANGED);
}

/* --- clients and lists ---------------------------------------------------------- */

static struct pmof_client *find_client(const char *id)
{
	struct pmof_client *c;

	lockdep_assert_held(&pmof_sessions_mutex);
	list_for_each_entry(c, &clients, entry)
		if (!strcmp(config_item_name(&c->item), id))
			return c;
	return NULL;
}

/* What its sessions have that are there already counts from now on, too. */
static void adopt_sessions(struct pmof_client *client)
{
	struct pmof_session *s;

	list_for_each_entry(s, &pmof_sessions, entry)
		if (s->ns && !s->client && !s->superseded &&
		    !strcmp(s->who.client_id, config_item_name(&client->item)))
			pmof_limits_set_client(s, client);
}

void pmof_client_add(struct pmof_client *client)
{
	mutex_lock(&pmof_sessions_mutex);
	list_add_tail(&client->entry, &clients);
	adopt_sessions(client);
	mutex_unlock(&pmof_sessions_mutex);
}

/* Returns when no session has to do with it.  No namespace links to it any more. */
void pmof_client_remove(struct pmof_client *client)
{
	mutex_lock(&pmof_sessions_mutex);
	list_del_init(&client->entry);
	mutex_unlock(&pmof_sessions_mutex);
	end_revoked();
}

/* Its sessions under another key, or without, end. */
void pmof_client_set_key(struct pmof_client *client, const struct pmof_key *key)
{
	mutex_lock(&pmof_sessions_mutex);
	client->key = *key;
	WRITE_ONCE(client->key_seq, key->len ? ++last_key_seq : 0);
	mutex_unlock(&pmof_sessions_mutex);
	end_revoked();
}

static struct pmof_allow *find_allow(const struct pmof_ns *ns, const struct pmof_client *client)
{
	struct pmof_allow *a;

	lockdep_assert_held(&pmof_sessions_mutex);
	list_for_each_entry(a, &ns->allowed, entry)
		if (a->client == client)
			return a;
	return NULL;
}

/* With the first one the namespace is no longer anybody's, and stays so. */
int pmof_allow_add(struct pmof_ns *ns, struct pmof_client *client, bool write)
{
	struct pmof_allow *a = kzalloc(sizeof(*a), GFP_KERNEL);
	int rc = 0;

	if (!a)
		return -ENOMEM;
	a->client = client;
	a->write = write;
	mutex_lock(&pmof_sessions_mutex);
	if (find_allow(ns, client)) {
		rc = -EEXIST;
	} else {
		list_add_tail(&a->entry, &ns->allowed);
		WRITE_ONCE(ns->allow_any, false);
	}
	mutex_unlock(&pmof_sessions_mutex);
	if (rc)
		kfree(a);
	else
		end_revoked();
	return rc;
}

void pmof_allow_remove(struct pmof_ns *ns, struct pmof_client *client)
{
	struct pmof_allow *a;

	mutex_lock(&pmof_sessions_mutex);
	a = find_allow(ns, client);
	if (a)
		list_del(&a->entry);
	mutex_unlock(&pmof_sessions_mutex);
	kfree(a);
	end_revoked();
}

int pmof_allow_any(struct pmof_ns *ns, bool any)
{
	int rc = 0;

	mutex_lock(&pmof_sessions_mutex);
	if (any && !list_empty(&ns->allowed))
		rc = -EBUSY;
	else
		WRITE_ONCE(ns->allow_any, any);
	mutex_unlock(&pmof_sessions_mutex);
	if (!rc)
		end_revoked();
	return rc;
}

/* --- what a client may ------------------------------------------------------------- */

/* @proved: that it has its key. */
static unsigned int rights_of(const struct pmof_ns *ns, const struct pmof_client *client,
			      bool proved)
{
	struct pmof_grant grant = {
		.read_only = ns->read_only, .allow_any = ns->allow_any, .proved = proved,
	};
	const struct pmof_allow *a;

	lockdep_assert_held(&pmof_sessions_mutex);
	grant.has_list = !list_empty(&ns->allowed);
	a = client ? find_allow(ns, client) : NULL;
	grant.listed = a;
	grant.may_write = a && a->write;
	return pmof_grant_rights(&grant);
}

/* Is the session's client still who it was at its login? */
static bool same_client(const struct pmof_session *s, const struct pmof_client *client)
{
	if (s->client && s->client != client)
		return false;
	return s->key_seq == (client ? client->key_seq : 0);
}

/* Has it more than it would be given now? */
bool pmof_rights_revoked(const struct pmof_session *s)
{
	struct pmof_client *client;

	lockdep_assert_held(&pmof_sessions_mutex);
	if (!s->ns)
		return false;
	client = find_client(s->who.client_id);
	return !same_client(s, client) || s->granted & ~rights_of(s->ns, client, s->key_seq);
}

/* --- login ---------------------------------------------------------------------------- */

/* Once in a session, before its login.  Admin work. */
int pmof_rights_challenge(struct pmof_session *s, const u8 client_nonce[PMOF_WIRE_NONCE_LEN])
{
	if (s->challenged || s->rights)
		return PMOF_SC_INVALID;
	s->challenged = true;
	memcpy(s->auth.client_nonce, client_nonce, sizeof(s->auth.client_nonce));
	get_random_bytes(s->auth.server_nonce, sizeof(s->auth.server_nonce));
	/* The ID has been checked: its end is zeros, on the wire too if it is proved. */
	strscpy_pad(s->auth.client_id, s->who.client_id, sizeof(s->auth.client_id));
	return 0;
}

static int refuse(const struct pmof_session *s, const char *why)
{
	pr_info_ratelimited("login of %s (%pISpc) refused: %s\n", s->who.client_id, &s->peer, why);
	return PMOF_SC_ACCESS;
}

/* The client's key, a copy, and which one it is. */
static u64 get_key(const struct pmof_session *s, struct pmof_key *key)
{
	struct pmof_client *client;
	u64 seq = 0;

	mutex_lock(&pmof_sessions_mutex);
	client = find_client(s->who.client_id);
	if (client && client->key_seq) {
		*key = client->key;
		seq = client->key_seq;
	}
	mutex_unlock(&pmof_sessions_mutex);
	return seq;
}

/*
 * Finds out whether the login comes from who it says.  @key gets a copy of the
 * client's, which the caller clears in any case; empty where the client has
 * none and has not asked us to prove anything either.
 */
int pmof_rights_prove(struct pmof_session *s, const struct pmof_login *l, struct pmof_key *key)
{
	u8 want[PMOF_WIRE_MAC_LEN];
	bool equal;

	memset(key, 0, sizeof(*key));
	if (s->rights || s->refused)
		return PMOF_SC_INVALID;
	s->key_seq = get_key(s, key);
	if (!s->key_seq)
		return s->challenged ? refuse(s, "it has a key, and clients/ has none for it") : 0;
	if (!s->challenged || s->proved)
		return refuse(s, "it has to prove that it has its key");
	s->proved = true;
	if (pmof_auth_login(key, &s->auth, l, want))
		return PMOF_SC_INTERNAL;
	equal = pmof_mac_equal(want, l->proof, sizeof(want));
	memzero_explicit(want, sizeof(want));
	return equal ? 0 : refuse(s, "wrong key");
}

/* The key of a login that was proved and has waited: pmof_rights_check() sees if it still is. */
void pmof_rights_get_proved(const struct pmof_session *s, struct pmof_key *key)
{
	memset(key, 0, sizeof(*key));
	get_key(s, key);
}

/* May it have anything of @ns at all?  Before anybody else's session ends for it. */
int pmof_rights_check(struct pmof_session *s, const struct pmof_ns *ns,
		      const struct pmof_login *l)
{
	struct pmof_client *client = find_client(s->who.client_id);

	/* The key may have changed since it was proved. */
	if (s->key_seq != (client ? client->key_seq : 0) ||
	    !rights_of(ns, client, s->key_seq))
		return refuse(s, "not allowed");
	if (l->flags & PMOF_LOGIN_F_EXCLUSIVE &&
	    !(rights_of(ns, client, s->key_seq) & PMOF_RIGHT_WRITE))
		return PMOF_SC_READ_ONLY;
	return 0;
}

struct rival {
	const struct pmof_session *s;
	const struct pmof_ns *ns;
	bool exclusive;		/* wanted */
	const struct pmof_client *client;	/* of @s, where its limits are asked */
};

/* May it still touch the namespace, now or when its client comes back? */
static bool holds(const struct pmof_session *o)
{
	if (o->superseded)
		return false;
	if (o->state == PMOF_SESSION_DETACHED)
		return !test_bit(PMOF_SESSION_FINAL, &o->flags);
	return !completion_done((struct completion *)&o->drained);
}

/* Will it be gone without anybody's doing?  One that has lost its connection may stay, detached. */
static bool is_leaving(const struct pmof_session *o)
{
	if (test_bit(PMOF_SESSION_FINAL, &o->flags))
		return true;
	if (!pmof_session_ending(o) || o->state == PMOF_SESSION_DETACHED)
		return false;
	if (o->state == PMOF_SESSION_DEAD)
		return !o->resumable;
	return !o->loss_timeout || (o->state == PMOF_SESSION_OPEN && !o->resumed);
}

/* Can @o and the new session not both write? */
static bool is_rival(const struct pmof_session *o, const void *arg)
{
	const struct rival *r = arg;

	return o != r->s && o->ns == r->ns && o->granted & PMOF_RIGHT_WRITE &&
	       (r->exclusive || o->exclusive) && holds(o);
}

/* Does @o wait for the end of those that it has ousted?  They do not come in ahead of it. */
static bool is_taking(const struct pmof_session *o, const void *arg)
{
	const struct rival *r = arg;

	return o != r->s && o->taking == r->ns && !pmof_session_ending(o) &&
	       (r->exclusive || o->takes_all);
}

static bool is_being_taken(const struct rival *r)
{
	struct pmof_session *o = pmof_session_find(is_taking, r);

	if (o)
		put_device(&o->dev);
	return o;
}

/*
 * Does its client have it until it is drained, which will be soon?  Of those that came before the
 * new one: each of them goes once, so the wait for them ends.
 */
static bool is_going(const struct pmof_session *o, const void *arg)
{
	const struct rival *r = arg;

	return o->client == r->client && o->serial < r->s->serial && is_leaving(o) &&
	       !completion_done((struct completion *)&o->drained);
}

/* One of those for which one more login may wait. */
static bool is_going_and_free(const struct pmof_session *o, const void *arg)
{
	return is_going(o, arg) && o->waiters < PMOF_SRV_MAX_WAITERS;
}

/* Whose place will be free once the rivals have been ended? */
static bool makes_way(const struct pmof_session *o, const void *arg)
{
	return is_rival(o, arg) || is_going(o, arg);
}

/* @limit does not let it in: -EAGAIN with one in *old that is going, if that is all it takes. */
static int wait_or_refuse(const struct rival *r, enum pmof_limit limit, pmof_session_match_fn *ends,
			  struct pmof_session **old)
{
	if (pmof_limits_check(r->s, r->client, r->ns, ends, r) == PMOF_NR_LIMITS) {
		*old = pmof_session_find(is_going_and_free, r);
		if (*old)
			return -EAGAIN;
	}
	return pmof_limits_refuse(r->s, limit);
}

/* 0, or PMOF_SC_*, or -EAGAIN with one in *old that has to be drained first. */
static int check_rivals(struct pmof_session *s, const struct pmof_ns *ns, u32 flags,
			struct pmof_session **old)
{
	struct rival r = { .s = s, .ns = ns, .exclusive = flags & PMOF_LOGIN_F_EXCLUSIVE };
	enum pmof_limit limit;
	struct pmof_session *o;
	int status;

	if (!(flags & PMOF_LOGIN_F_TAKEOVER) && is_being_taken(&r))
		return PMOF_SC_EXCLUSIVE;
	o = pmof_session_find(is_rival, &r);
	if (!o)
		return 0;
	*old = o;
	status = pmof_session_may_wait(o);
	if (status != -EAGAIN || is_leaving(o))
		return status;
	if (!(flags & PMOF_LOGIN_F_TAKEOVER)) {
		put_device(&o->dev);
		return PMOF_SC_EXCLUSIVE;
	}
	r.client = find_client(s->who.client_id);
	limit = pmof_limits_check(s, r.client, ns, is_rival, &r);
	if (limit != PMOF_NR_LIMITS) {
		/* Nobody is ended for a place that there is not. */
		put_device(&o->dev);
		return wait_or_refuse(&r, limit, makes_way, old);
	}
	pr_info_ratelimited("namespace %s: %s (%pISpc) takes it over from %s (%pISpc)\n",
			    pmof_ns_name(ns), s->who.client_id, &s->peer, o->who.client_id,
			    &o->peer);
	s->taking = ns;
	s->takes_all = r.exclusive;
	pmof_session_announce(o, PMOF_ANNOUNCE_RIGHTS_CHANGED, 0);
	/* It is drained: what it had is to be had at once, not when its end has been worked off. */
	if (o->state == PMOF_SESSION_DETACHED)
		pmof_session_supersede(o);
	pmof_session_end(o);
	return -EAGAIN;
}

/*
 * 0, or what says that its client's limits will not let @s in, or -EAGAIN with one in *old of which
 * the client has said goodbye already: where @s gets in, or gets more, with that one drained, it is
 * waited for.
 */
static int check_limits(const struct pmof_session *s, const struct pmof_client *client,
			const struct pmof_ns *ns, const struct pmof_login *l,
			struct pmof_session **old)
{
	const u32 call_size = pmof_service_call_size(ns, l->call_size);
	const struct rival r = { .s = s, .ns = ns, .client = client };
	enum pmof_limit limit = pmof_limits_check(s, client, ns, NULL, NULL);

	if (limit != PMOF_NR_LIMITS)
		return wait_or_refuse(&r, limit, is_going, old);
	if (pmof_limits_more(client, l->nr_queues, call_size, is_going, &r)) {
		*old = pmof_session_find(is_going_and_free, &r);
		if (*old)
			return -EAGAIN;
	}
	return 0;
}

/*
 * Gives the session its rights to @ns, which it enters next.  Returns 0, a
 * PMOF_SC_* code, or -EAGAIN with a session in *old, referenced, that must be
 * drained first.
 */
int pmof_rights_take(struct pmof_session *s, const struct pmof_ns *ns,
		     const struct pmof_login *l, struct pmof_session **old)
{
	struct pmof_client *client = find_client(s->who.client_id);
	unsigned int granted = rights_of(ns, client, s->key_seq);
	int status;

	lockdep_assert_held(&pmof_sessions_mutex);
	if (l->flags & PMOF_LOGIN_F_READ_ONLY)
		granted &= ~PMOF_RIGHT_WRITE;
	if (granted & PMOF_RIGHT_WRITE) {
		status = check_rivals(s, ns, l->flags, old);
		if (status)
			return status;
	}
	/* Who resumes may have what it had. */
	status = s->had[PMOF_LIMIT_SESSIONS] ? 0 : check_limits(s, client, ns, l, old);
	if (status)
		return status;
	pmof_limits_set_client(s, client);
	status = pmof_limits_charge_queues(s, l->nr_queues);
	if (status) {
		pmof_rights_drop(s);
		return status;
	}
	s->granted = granted;
	s->exclusive = l->flags & PMOF_LOGIN_F_EXCLUSIVE;
	return 0;
}

/* All that it has of its client and its namespace. */
void pmof_rights_drop(struct pmof_session *s)
{
	pmof_limits_uncharge_all(s);
	s->client = NULL;
	s->granted = 0;
	s->exclusive = false;
}

/*
 * Proves in the reply that we have the key too, and derives the session's own.
 * Before the session is LIVE: an I/O queue is checked against that.
 */
int pmof_rights_sign_reply(struct pmof_session *s, const struct pmof_key *key,
			   struct pmof_login_reply *r)
{
	if (!s->key_seq)
		return 0;
	if (pmof_auth_session_key(key, &s->auth, r->session_id, s->session_key) ||
	    pmof_auth_login_reply(key, &s->auth, r, r->proof))
		return PMOF_SC_INTERNAL;
	return 0;
}

static bool proves(const struct pmof_session *s, const u8 session_key[PMOF_SESSION_KEY_LEN],
		   const struct pmof_login *l)
{
	u8 want[PMOF_WIRE_MAC_LEN];
	bool equal;

	if (pmof_auth_resume(session_key, &s->auth, l->resume_id, want))
		return false;
	equal = pmof_mac_equal(want, l->resume_proof, sizeof(want));
	memzero_explicit(want, sizeof(want));
	return equal;
}

/*
 * Is it the client of @old, which it wants to resume, and not only one that has
 * the client's key?  Both have the same ID.
 *
 * The key that it proves is all that it has until the reply reaches it.  If that is lost
 * it comes with the same one again: until a queue has proved the new one, both are good.
 */
bool pmof_rights_check_resume(struct pmof_session *s, const struct pmof_session *old,
			      const struct pmof_login *l)
{
	const u8 *known = old->session_key;

	if (s->key_seq != old->key_seq)
		return false;
	if (!s->key_seq)
		return true;
	if (!proves(s, known, l)) {
		known = old->prev_key;
		if (!old->has_prev_key || !proves(s, known, l))
			return false;
	}
	memcpy(s->prev_key, known, sizeof(s->prev_key));
	s->has_prev_key = true;
	/* Should it end before it has one of its own. */
	memcpy(s->session_key, known, sizeof(s->session_key));
	return true;
}

/* The session that it would have resumed is gone; or its client has proved the new key. */
void pmof_rights_forget_key(struct pmof_session *s)
{
	lockdep_assert_held(&pmof_sessions_mutex);
	memzero_explicit(s->prev_key, sizeof(s->prev_key));
	s->has_prev_key = false;
}

/* --- I/O queues -------------------------------------------------------------------------- */

/*
 * Does the request for an I/O queue come from the session's client?  @from: the
 * connection that it is for.  One that was accepted, or refused for another reason, is never
 * taken again: the counter only grows.
 */
int pmof_rights_check_queue(struct pmof_session *s, const struct pmof_connect *c,
			    const struct pmof_auth_conn *from)
{
	u8 want[PMOF_WIRE_QUEUE_MAC_LEN];
	bool equal;

	lockdep_assert_held(&pmof_sessions_mutex);
	if (!s->key_seq) {
		/* Whoever guesses an ID learns no more than that he did not. */
		return c->has_mac ||
		       strncmp(s->who.client_id, c->client_id, sizeof(c->client_id)) ?
		       PMOF_SC_NO_SESSION : 0;
	}
	if (!c->has_mac || c->counter <= s->queue_counter)
		return PMOF_SC_ACCESS;
	if (pmof_auth_queue(s->session_key, &s->auth, c, from, want))
		return PMOF_SC_INTERNAL;
	equal = pmof_mac_equal(want, c->mac, sizeof(want));
	memzero_explicit(want, sizeof(want));
	if (!equal)
		return PMOF_SC_ACCESS;
	s->queue_counter = c->counter;
	pmof_rights_forget_key(s);
	return 0;
}
