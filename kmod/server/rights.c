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

#include <linux/jiffies.h>
#include <linux/moduleparam.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "server.h"

static unsigned int abandoned_seconds = 60;
module_param(abandoned_seconds, uint, 0644);
MODULE_PARM_DESC(abandoned_seconds, "a session that has been detached for so long ends where its client's limits would refuse the client a new one");

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

static u64 charged(const struct pmof_session *s, enum pmof_limit limit, u64 used)
{
	return pmof_grant_charged(s->had[limit], used);
}

static void set_client(struct pmof_session *s, struct pmof_client *client)
{
	int i;

	s->client = client;
	for (i = 0; client && i < PMOF_NR_LIMITS; i++)
		client->used[i] += charged(s, i, s->used[i]);
}

/* What its sessions have that are there already counts from now on, too. */
static void adopt_sessions(struct pmof_client *client)
{
	struct pmof_session *s;

	list_for_each_entry(s, &pmof_sessions, entry)
		if (s->ns && !s->client && !s->superseded &&
		    !strcmp(s->who.client_id, config_item_name(&client->item)))
			set_client(s, client);
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
 * Is it kept for a client that will hardly come back to it?  Not one whose link was down for a
 * moment: it is in the way of that client's next connection, but alive.
 */
static bool is_abandoned(const struct pmof_session *o)
{
	return o->state == PMOF_SESSION_DETACHED &&
	       time_after_eq(jiffies, o->detached_at +
			     READ_ONCE(abandoned_seconds) * (unsigned long)HZ);
}

/* What the client's own sessions give back that end for a new one: @r, if not NULL, its rivals. */
static u64 given_back(const struct pmof_client *client, enum pmof_limit limit,
		      const struct rival *r)
{
	const struct pmof_session *o;
	u64 sum = 0;

	list_for_each_entry(o, &pmof_sessions, entry)
		if (o->client == client && (is_abandoned(o) || (r && is_rival(o, r))))
			sum += charged(o, limit, o->used[limit]);
	return sum;
}

static int refuse_limit(const struct pmof_session *s, enum pmof_limit limit)
{
	static const char * const name[PMOF_NR_LIMITS] = {
		"sessions", "queues", "segments", "memory",
	};

	pr_info_ratelimited("%s (%pISpc): limit of %s reached\n", s->who.client_id, &s->peer,
			    name[limit]);
	return PMOF_SC_BUSY;
}

/*
 * 0, or what says that the client's limits will not let it in.  Asked before others end for it:
 * they would have ended for nobody.  A device whose segments are smaller may still be refused
 * behind that.
 */
static int check_limits(const struct pmof_session *s, const struct pmof_ns *ns,
			const struct rival *r)
{
	const struct pmof_client *client = find_client(s->who.client_id);
	const u64 want[PMOF_NR_LIMITS] = {
		[PMOF_LIMIT_SESSIONS] = 1, [PMOF_LIMIT_QUEUES] = 1,
		[PMOF_LIMIT_SEGMENTS] = DIV_ROUND_UP_ULL(ns->size, PMOF_MAX_SEGMENT),
	};
	int i;

	for (i = 0; client && i < PMOF_NR_LIMITS; i++)
		if (charged(s, i, want[i]) >
		    pmof_grant_most(client->limit[i],
				    client->used[i] - given_back(client, i, r), 0))
			return refuse_limit(s, i);
	return 0;
}

/* 0, or PMOF_SC_*, or -EAGAIN with one in *old that has to be drained first. */
static int check_rivals(struct pmof_session *s, const struct pmof_ns *ns, u32 flags,
			struct pmof_session **old)
{
	struct rival r = { .s = s, .ns = ns, .exclusive = flags & PMOF_LOGIN_F_EXCLUSIVE };
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
	status = check_limits(s, ns, &r);
	if (status) {
		put_device(&o->dev);
		return status;
	}
	pr_info_ratelimited("namespace %s: %s (%pISpc) takes it over from %s (%pISpc)\n",
			    pmof_ns_name(ns), s->who.client_id, &s->peer, o->who.client_id,
			    &o->peer);
	s->taking = ns;
	s->takes_all = r.exclusive;
	pmof_session_announce(o, PMOF_ANNOUNCE_RIGHTS_CHANGED, 0);
	pmof_session_end(o);
	return -EAGAIN;
}

static void use(struct pmof_session *s, enum pmof_limit limit, u64 used)
{
	if (s->client)
		s->client->used[limit] += charged(s, limit, used) -
					  charged(s, limit, s->used[limit]);
	s->used[limit] = used;
}

static u64 may_have(const struct pmof_session *s, enum pmof_limit limit)
{
	const struct pmof_client *client = s->client;

	return pmof_grant_most(client ? client->limit[limit] : 0, client ? client->used[limit] : 0,
			       charged(s, limit, s->used[limit]));
}

/*
 * A client that was switched off comes as another instance, and has no use for what is kept for
 * the one before: that ends, the longest detached first, as far as the client's limit wants it.
 * Nobody ends where that is not enough for @used.
 */
static bool make_room(const struct pmof_session *s, enum pmof_limit limit, u64 used)
{
	const struct pmof_client *client = s->client;
	struct pmof_session *o;

	lockdep_assert_held(&pmof_sessions_mutex);
	if (used > pmof_grant_most(client->limit[limit],
				   client->used[limit] - given_back(client, limit, NULL),
				   charged(s, limit, s->used[limit])))
		return false;
	list_for_each_entry(o, &pmof_sessions, entry) {
		if (used <= may_have(s, limit))
			break;
		if (o->client != client || !is_abandoned(o))
			continue;
		pr_info_ratelimited("%s (%pISpc): session%d, which waited for its client, ends for a new one\n",
				    s->who.client_id, &s->peer, o->number);
		pmof_session_supersede(o);
		pmof_session_end(o);
	}
	return true;
}

/* Counts @n more of the client's, if it may have them. */
int pmof_rights_charge(struct pmof_session *s, enum pmof_limit limit, u64 n)
{
	u64 used = s->used[limit] + n;

	lockdep_assert_held(&pmof_sessions_mutex);
	if (used > may_have(s, limit) && !make_room(s, limit, used))
		return refuse_limit(s, limit);
	use(s, limit, used);
	return 0;
}

void pmof_rights_uncharge(struct pmof_session *s, enum pmof_limit limit, u64 n)
{
	lockdep_assert_held(&pmof_sessions_mutex);
	use(s, limit, s->used[limit] - n);
}

/* [V2] What @old had is kept for @s, which resumes it, from here on; not yet charged. */
void pmof_rights_inherit(struct pmof_session *s, const struct pmof_session *old)
{
	int i;

	lockdep_assert_held(&pmof_sessions_mutex);
	/* @old may have been lost ahead of taking all that it might have: that is had still. */
	for (i = 0; i < PMOF_NR_LIMITS; i++)
		s->had[i] = charged(old, i, old->used[i]);
}

/* A session and its queues, of which it may get fewer than it asked for. */
static int charge_queues(struct pmof_session *s, u16 asked)
{
	u32 most = min_t(u32, 2 * num_possible_cpus(), PMOF_SRV_MAX_QUEUES);
	u32 want = clamp_t(u32, asked, 1, most);
	int status = pmof_rights_charge(s, PMOF_LIMIT_SESSIONS, 1);

	if (status)
		return status;
	if (want > may_have(s, PMOF_LIMIT_QUEUES))
		make_room(s, PMOF_LIMIT_QUEUES, want);
	if (!may_have(s, PMOF_LIMIT_QUEUES))
		make_room(s, PMOF_LIMIT_QUEUES, 1);
	s->nr_queues = clamp_t(u64, may_have(s, PMOF_LIMIT_QUEUES), 1, want);
	return pmof_rights_charge(s, PMOF_LIMIT_QUEUES, s->nr_queues);
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
	status = s->had[PMOF_LIMIT_SESSIONS] ? 0 : check_limits(s, ns, NULL);
	if (status)
		return status;
	set_client(s, client);
	status = charge_queues(s, l->nr_queues);
	if (status) {
		pmof_rights_drop(s);
		return status;
	}
	s->granted = granted;
	s->exclusive = l->flags & PMOF_LOGIN_F_EXCLUSIVE;
	return 0;
}

void pmof_rights_uncharge_all(struct pmof_session *s)
{
	int i;

	for (i = 0; i < PMOF_NR_LIMITS; i++) {
		if (s->client)
			s->client->used[i] -= charged(s, i, s->used[i]);
		s->used[i] = 0;
		s->had[i] = 0;
	}
}

/* All that it has of its client and its namespace. */
void pmof_rights_drop(struct pmof_session *s)
{
	pmof_rights_uncharge_all(s);
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
