// SPDX-License-Identifier: GPL-2.0
/*
 * Leases: slots that are prepared and not committed.  One ends by its commit, by
 * RETURN, when its file is closed, or when its session is drained.  [K9] Until then a WRITE of
 * it may land.
 */
#include <linux/slab.h>

#include "store.h"

static struct store_session *most_leases(struct store *st, struct store_session *most)
{
	struct store_session *s;
	int i;

	hash_for_each(st->sessions, i, s, node)
		if (s->nr_leases > most->nr_leases)
			most = s;
	return most;
}

/*
 * Nobody's leases keep the others out: when there are too many in all, the session that has most
 * is ended, as it is for files (context.c).  What nobody will give back, too, is free behind a
 * drain only.  Until then who asks is refused.
 */
static bool may_lease(struct store *st, struct store_session *s)
{
	struct store_session *most = s;

	if (s->nr_leases < STORE_SESSION_LEASES) {
		if (st->nr_leases < STORE_LEASES)
			return true;
		most = most_leases(st, s);
	}
	if (most != s || !list_empty(&s->orphans))
		pmof_store_end_session(st, most);
	return false;
}

/* Phase 1 of a prepare, before it takes a slot.  Returns PMOF_KV_SC_*. */
u32 pmof_store_make_lease(struct store *st, struct store_req *r)
{
	struct store_context *c = r->context;
	struct store_lease *l;

	/* It would outlive its context, which goes with its last request. */
	if (c->closed)
		return PMOF_KV_SC_INVALID;
	if (!may_lease(st, c->session))
		return PMOF_KV_SC_LIMIT;
	l = kmalloc(struct_size(l, key, r->o.key_length), GFP_KERNEL);
	if (!l)
		return PMOF_KV_SC_NO_MEMORY;
	/* Cyclic: a number that somebody still has in hand names nothing, not another lease. */
	if (xa_alloc_cyclic(&st->leases, &l->id, l, XA_LIMIT(1, U32_MAX), &st->next_lease,
			    GFP_KERNEL) < 0) {
		kfree(l);
		return PMOF_KV_SC_NO_MEMORY;
	}
	l->context = c;
	l->session = c->session;
	l->busy = false;
	l->slot = 0;
	l->number = r->number;
	l->hash = r->hash;
	l->o = r->o;
	memcpy(l->key, r->key, r->o.key_length);
	list_add_tail(&l->entry, &c->leases);
	st->nr_leases++;
	c->session->nr_leases++;
	r->lease = l;
	return PMOF_KV_SC_OK;
}

/* One of this context, or NULL. */
struct store_lease *pmof_store_find_lease(struct store *st, const struct store_context *c, u32 id)
{
	struct store_lease *l = xa_load(&st->leases, id);

	return l && l->context == c && !l->busy && l->slot ? l : NULL;
}

/* Its slot is the caller's. */
void pmof_store_end_lease(struct store *st, struct store_lease *l)
{
	xa_erase(&st->leases, l->id);
	st->leased_slots -= !!l->slot;
	list_del(&l->entry);
	st->nr_leases--;
	l->session->nr_leases--;
	kfree(l);
}

/* [K9] Nothing lands in it any more.  The slot is free when its header is cleared, durably. */
static void drop_lease(struct store *st, struct store_lease *l)
{
	/* Without memory the slot is lost until the store is opened again. */
	if (l->slot && pmof_store_slots_add(&st->dropping, l->slot, 0))
		st->unusable++;
	pmof_store_end_lease(st, l);
}

/*
 * [K9] A file was closed.  Its client has said so behind all that the file has written, on
 * whatever queue: nothing of that is still to land.  A lease that a request has in hand, which
 * then should not be, waits for the drain.
 */
void pmof_store_close_leases(struct store *st, struct store_context *c)
{
	struct store_lease *l, *next;

	list_for_each_entry_safe(l, next, &c->leases, entry) {
		l->context = NULL;
		if (l->busy || !l->slot)
			list_move_tail(&l->entry, &c->session->orphans);
		else
			drop_lease(st, l);
	}
}

/* [K9] The session is drained. */
void pmof_store_drop_leases(struct store *st, struct list_head *leases, struct store_context *c)
{
	struct store_lease *l, *next;

	list_for_each_entry_safe(l, next, leases, entry) {
		if (c)
			pmof_store_remember(c, l->number, PMOF_KV_SC_NO_LEASE, 0);
		drop_lease(st, l);
	}
}
