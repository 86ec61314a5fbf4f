// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions and contexts.  A context is an open file of a client: what it may READ,
 * what it has leased, what became of its puts.  It lasts as long as its session, over all
 * the connections that this has, or until the file is closed.
 */
#include <linux/hash.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "store.h"

/* --- sessions --------------------------------------------------------------------- */

static struct store_session *find_session(struct store *st, u64 id)
{
	struct store_session *s;

	hash_for_each_possible(st->sessions, s, node, id)
		if (s->id == id)
			return s;
	return NULL;
}

static struct store_session *get_session(struct store *st, u64 id)
{
	struct store_session *s = find_session(st, id);

	if (s)
		return s;
	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return NULL;
	s->id = id;
	INIT_LIST_HEAD(&s->contexts);
	INIT_LIST_HEAD(&s->orphans);
	hash_add(st->sessions, &s->node, id);
	return s;
}

/* --- contexts --------------------------------------------------------------------- */

static u64 context_key(u64 session, u32 number)
{
	return session ^ hash_64(number, 64);
}

static struct store_context *find_context(struct store *st, u64 session, u32 number)
{
	struct store_context *c;

	hash_for_each_possible(st->contexts, c, node, context_key(session, number))
		if (c->session->id == session && c->number == number && !c->closed)
			return c;
	return NULL;
}

static struct store_context *make_context(struct store *st, struct store_session *s,
					  const struct pmof_call *call)
{
	struct pmof_caller caller;
	struct store_context *c = kzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return NULL;
	c->session = s;
	c->number = call->context;
	INIT_LIST_HEAD(&c->holding);
	INIT_LIST_HEAD(&c->leases);
	pmof_call_caller(call, &caller);
	c->writer = siphash(&caller, sizeof(caller), &st->hash_key);
	hash_add(st->contexts, &c->node, context_key(s->id, c->number));
	list_add_tail(&c->entry, &s->contexts);
	s->nr_contexts++;
	st->nr_contexts++;
	return c;
}

static void free_context(struct store *st, struct store_context *c)
{
	hash_del(&c->node);
	list_del(&c->entry);
	list_del(&c->holding);
	c->session->nr_contexts--;
	st->nr_contexts--;
	kvfree(c->outcomes);
	kfree(c);
}

/*
 * A client that closes a file while its connection is lost says nothing of it, and its session
 * goes on.  So one that has nothing in hand makes room, the first that came: if it is still
 * open, all that it loses is what became of its puts.
 */
static bool drop_idle(struct store *st, struct store_session *s)
{
	struct store_context *c;

	list_for_each_entry(c, &s->contexts, entry) {
		if (c->refs || c->low || !list_empty(&c->leases))
			continue;
		free_context(st, c);
		return true;
	}
	return false;
}

static struct store_session *greatest_session(struct store *st, struct store_session *most)
{
	struct store_session *s;
	int i;

	hash_for_each(st->sessions, i, s, node)
		if (s->nr_contexts > most->nr_contexts)
			most = s;
	return most;
}

/*
 * Nobody's files keep the others' out: when there are too many in all, the session that has most
 * gives one up.  Has each of them something in hand, that session is ended, and behind its
 * drain none has; until then who asks is refused.
 */
static bool make_room(struct store *st, struct store_session *s)
{
	struct store_session *most;

	if (s->nr_contexts >= STORE_SESSION_CONTEXTS)
		return drop_idle(st, s);
	if (st->nr_contexts < STORE_CONTEXTS)
		return true;
	most = greatest_session(st, s);
	if (drop_idle(st, most))
		return true;
	if (most != s)
		pmof_store_end_session(st, most);
	return false;
}

/* The context of a call, with a reference; or NULL, and *status says why. */
struct store_context *pmof_store_get_context(struct store *st, const struct pmof_call *call,
					     u32 *status)
{
	struct store_context *c = find_context(st, call->session, call->context);
	struct store_session *s;

	if (c) {
		c->refs++;
		/* Behind those that have been silent for longer. */
		list_move_tail(&c->entry, &c->session->contexts);
		return c;
	}
	*status = PMOF_KV_SC_OK;
	/* Of one that has never said anything. */
	if (call->opcode == PMOF_MSG_SERVICE_CLOSE)
		return NULL;
	*status = PMOF_KV_SC_NO_MEMORY;
	s = get_session(st, call->session);
	if (!s)
		return NULL;
	*status = PMOF_KV_SC_LIMIT;
	if (!make_room(st, s))
		return NULL;
	*status = PMOF_KV_SC_NO_MEMORY;
	c = make_context(st, s, call);
	if (c)
		c->refs++;
	return c;
}

void pmof_store_put_context(struct store *st, struct store_context *c)
{
	c->asked = jiffies;
	if (!--c->refs && c->closed)
		free_context(st, c);
}

static void no_address(struct store_context *c)
{
	c->low = 0;
	list_del_init(&c->holding);
}

/* The file was closed, with nothing of it under way: its READs are over. */
void pmof_store_close_context(struct store *st, struct store_context *c)
{
	no_address(c);
	pmof_store_close_leases(st, c);
	c->closed = true;
}

/* --- epochs [K6] ------------------------------------------------------------------ */

/*
 * What a client says: no READ of an address from an epoch below @epoch is under way, nor will
 * one be.  An epoch is of one answer, so that it may say that of all that it has seen.
 */
void pmof_store_report_epoch(struct store *st, struct store_context *c, u64 epoch)
{
	if (!c->low || epoch <= c->low)
		return;
	if (epoch > c->high)
		no_address(c);
	else
		c->low = epoch;
}

/* An answer gives an address: its epoch. */
u64 pmof_store_give_address(struct store *st, struct store_context *c)
{
	c->high = st->epoch++;
	if (!c->low) {
		c->low = c->high;
		list_add_tail(&c->holding, &st->holding);
	}
	return c->high;
}

/* --- the end of sessions ---------------------------------------------------------- */

/* Nothing of it is written or read any more; what it has put is remembered. */
void pmof_store_session_drained(struct store *st, u64 id)
{
	struct store_session *s = find_session(st, id);
	struct store_context *c;

	if (!s)
		return;
	list_for_each_entry(c, &s->contexts, entry) {
		no_address(c);
		pmof_store_drop_leases(st, &c->leases, c);
	}
	pmof_store_drop_leases(st, &s->orphans, NULL);
	s->ending = false;
}

void pmof_store_session_gone(struct store *st, u64 id)
{
	struct store_session *s = find_session(st, id);
	struct store_context *c, *next;

	if (!s)
		return;
	list_for_each_entry_safe(c, next, &s->contexts, entry)
		free_context(st, c);
	hash_del(&s->node);
	kfree(s);
}

/* The store is closed: all sessions are gone, or it has never been opened. */
void pmof_store_free_clients(struct store *st)
{
	struct store_session *s;
	struct hlist_node *next;
	int i;

	hash_for_each_safe(st->sessions, i, next, s, node) {
		pmof_store_session_drained(st, s->id);
		pmof_store_session_gone(st, s->id);
	}
	xa_destroy(&st->leases);
}
