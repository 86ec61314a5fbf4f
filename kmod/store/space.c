// SPDX-License-Identifier: GPL-2.0
/*
 * Slots: how they are taken, and when they are free again.
 *
 * [K6] What is superseded is retired in the order of epochs, and free when no context may
 * READ an address from before that.  Who holds that up while somebody wants space, or until too
 * much is held up, has his session ended; only its drain makes the space free, however long that
 * takes.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "store.h"

#define RECLAIM_ROUND	256	/* slots freed in one round */
#define WAIT_MOST	(20 * HZ)	/* of a request; its client gives up at 30 s */
#define HELD_SLOTS	65536U		/* that may be held up for long: 16 bytes of memory each, */
#define HELD_PART	16		/* nor more than so much of the store, 1/x */
#define HELD_GRACES	10		/* how long that is: reclaim_ms */

static unsigned int reclaim_ms = 1000;
module_param(reclaim_ms, uint, 0644);
MODULE_PARM_DESC(reclaim_ms, "how long a session may hold up space that is wanted, ms");

/* --- taking ----------------------------------------------------------------------- */

/* A chunk has got its class: durable before anything is stored in it. */
static int assign(struct store *st, u64 slot, u32 class)
{
	u32 chunk = (slot - st->m.sb.chunks) >> PMOF_KV_CHUNK_SHIFT;
	u32 part = pmof_kv_class_chunks(class);
	int rc = 0;

	while (--part)
		pmof_kv_assign_chunk(&st->m, chunk + part, class, part);
	/* A span is there when its first word is: all the others before it. */
	if (pmof_kv_class_chunks(class) > 1)
		rc = pmof_store_fence_now(st);
	if (rc)
		return rc;
	pmof_kv_assign_chunk(&st->m, chunk, class, 0);
	/*
	 * PUT_INLINE stores its value in this phase.  Without the word a later class has its slots
	 * elsewhere, and a value may look like an object where one of those begins.
	 */
	return pmof_store_fence_now(st);
}

/* A client's HCA reaches no page that has a bad sector, and what it may not put is not put. */
static bool is_bad(const struct store *st, u64 slot, u32 class)
{
	u64 start = round_down(slot, PAGE_SIZE);

	return pmof_service_bad(st->ns, start,
				round_up(slot + pmof_kv_class_size(class), PAGE_SIZE) - start);
}

/* One that can be reached.  Who has a bad page never gets free. */
static int take_slot(struct store *st, u32 class, u64 *slot)
{
	bool fresh;
	int rc;

	for (;;) {
		rc = pmof_kv_alloc_take(&st->alloc, class, slot, &fresh);
		if (!rc && fresh)
			rc = assign(st, *slot, class);
		if (rc || !is_bad(st, *slot, class))
			return rc;
		st->unusable++;
	}
}

static bool may_come_free(const struct store *st, const struct store_req *r, u32 class)
{
	return st->retired_of[class] || st->dropping.count || st->clearing.count ||
	       !list_empty(&r->context->session->orphans);
}

/* Is it worth to wait?  pmof_store_press() sees to it that it is not for ever. */
static enum store_step wait_for_space(struct store *st, struct store_req *r, u32 class)
{
	if (!may_come_free(st, r, class) || time_after(jiffies, r->came + WAIT_MOST)) {
		r->status = PMOF_KV_SC_NO_SPACE;
		return STORE_DONE;
	}
	if (!r->since)
		r->since = jiffies | 1;
	return STORE_WAIT;
}

/*
 * Phase 1: a slot and a generation for the object r->o.  STORE_DONE with r->slot, or with
 * r->status; or STORE_WAIT.
 */
enum store_step pmof_store_allocate(struct store *st, struct store_req *r)
{
	u32 class = pmof_kv_class_of(pmof_kv_object_length(&r->o));
	int rc;

	if (st->last_generation >= PMOF_KV_GENERATION_MASK) {
		r->status = PMOF_KV_SC_READ_ONLY;
		return STORE_DONE;
	}
	rc = take_slot(st, class, &r->slot);
	if (rc)
		r->slot = 0;
	if (rc == -ENOSPC)
		return wait_for_space(st, r, class);
	if (rc)
		r->status = rc == -ENOMEM ? PMOF_KV_SC_NO_MEMORY : PMOF_KV_SC_MEDIUM;
	else
		r->o.generation = ++st->last_generation;
	r->since = 0;
	return STORE_DONE;
}

/* --- giving back ------------------------------------------------------------------ */

/*
 * Phase 1: a slot that has been prepared and is not committed.  [K5] [K9] Free behind the
 * fence that makes the cleared header durable.
 */
void pmof_store_clear_slot(struct store *st, u64 slot)
{
	if (pmof_service_bad(st->ns, slot, sizeof(struct pmof_kv_object_header)) ||
	    pmof_store_slots_add(&st->clearing, slot, 0)) {
		st->unusable++;
		return;
	}
	pmof_kv_clear_header(&st->m, slot);
}

/* Phase 1: some of what ended leases have left. */
void pmof_store_clear_dropped(struct store *st)
{
	u64 slot, unused;
	u32 n;

	for (n = 0; n < RECLAIM_ROUND && pmof_store_slots_first(&st->dropping, &slot, &unused);
	     n++) {
		pmof_store_slots_pop(&st->dropping);
		pmof_store_clear_slot(st, slot);
	}
}

static void give(struct store *st, u64 slot)
{
	if (pmof_kv_alloc_give(&st->alloc, slot))
		pr_err_ratelimited("namespace %s: a slot at %llu that is none\n", st->name, slot);
	st->freed = true;
}

/* Behind phase 1's fence. */
void pmof_store_give_cleared(struct store *st)
{
	u64 slot, unused;

	while (pmof_store_slots_first(&st->clearing, &slot, &unused)) {
		pmof_store_slots_pop(&st->clearing);
		give(st, slot);
	}
}

/*
 * [K6] Phase 3: superseded, durably.  Room has been reserved.  The epoch that it is marked
 * with is that of any address which may have been given until now, or a later one.
 */
void pmof_store_retire(struct store *st, const struct pmof_kv_ref *ref)
{
	st->superseded[st->nr_superseded++] = *ref;
	if (pmof_store_slots_add(&st->retired, ref->offset, st->epoch++)) {
		st->unusable++;
		return;
	}
	st->retired_of[pmof_kv_alloc_class(&st->alloc, ref->offset)]++;
}

/* The lowest epoch of an address that may still be READ. */
static u64 lowest_epoch(const struct store *st)
{
	const struct store_context *c;
	u64 low = U64_MAX;

	list_for_each_entry(c, &st->holding, holding)
		low = min(low, c->low);
	return low;
}

/* What is retired next is held up: by now, for how long? */
static void note_held(struct store *st, u64 low)
{
	u64 slot, epoch;

	if (!pmof_store_slots_first(&st->retired, &slot, &epoch) || epoch < low) {
		st->held = 0;
	} else if (st->held != epoch) {
		st->held = epoch;
		st->held_since = jiffies;
	}
}

/* [K6] Between two rounds. */
void pmof_store_reclaim(struct store *st)
{
	u64 slot, epoch, low;
	u32 n;

	if (!st->retired.count) {
		st->held = 0;
		return;
	}
	low = lowest_epoch(st);
	for (n = 0; n < RECLAIM_ROUND && pmof_store_slots_first(&st->retired, &slot, &epoch) &&
	     epoch < low; n++) {
		pmof_store_slots_pop(&st->retired);
		st->retired_of[pmof_kv_alloc_class(&st->alloc, slot)]--;
		give(st, slot);
	}
	note_held(st, low);
}

/* --- pressure --------------------------------------------------------------------- */

/* Has the session drained.  Its client may resume it. */
void pmof_store_end_session(struct store *st, struct store_session *s)
{
	if (s->ending)
		return;
	s->ending = true;
	if (!pmof_service_end_session(s->id))
		return;
	pr_info_ratelimited("namespace %s: ended a session that keeps what others want\n",
			    st->name);
	store_count(st, PMOF_KV_STAT_EVICTED, 1);
}

/* Does the file keep anything retired from being free? */
static bool holds_up(const struct store *st, const struct store_context *c)
{
	u64 slot, epoch;

	return c->low && pmof_store_slots_first(&st->retired, &slot, &epoch) && c->low <= epoch;
}

static bool session_holds_up(const struct store *st, const struct store_session *s)
{
	const struct store_context *c;

	if (!list_empty(&s->orphans))
		return true;
	list_for_each_entry(c, &s->contexts, entry)
		if (holds_up(st, c))
			return true;
	return false;
}

static unsigned long grace(void)
{
	return msecs_to_jiffies(READ_ONCE(reclaim_ms));
}

static bool is_long_ago(unsigned long since)
{
	return time_after(jiffies, since + HELD_GRACES * grace());
}

/* Has it a file that holds up and has asked for nothing for long? */
static bool session_sleeps(const struct store *st, const struct store_session *s)
{
	const struct store_context *c;

	list_for_each_entry(c, &s->contexts, entry)
		if (!c->refs && is_long_ago(c->asked) && holds_up(st, c))
			return true;
	return false;
}

static u64 retired_bytes(const struct store *st)
{
	u64 bytes = 0;
	u32 class;

	for (class = 1; class <= PMOF_KV_CLASSES; class++)
		bytes += st->retired_of[class] * pmof_kv_class_size(class);
	return bytes;
}

/*
 * While space is left nobody waits, but each chunk that it is taken from has its class for life:
 * one file that sleeps on an address must not make all of them of the size that is overwritten.
 */
static bool too_much_held(const struct store *st)
{
	u64 most = ((u64)st->m.sb.nr_chunks << PMOF_KV_CHUNK_SHIFT) / HELD_PART;

	return st->held && is_long_ago(st->held_since) &&
	       (st->retired.count > HELD_SLOTS || retired_bytes(st) > most);
}

static void end_sessions(struct store *st, bool (*match)(const struct store *st,
							 const struct store_session *s))
{
	struct store_session *s;
	int i;

	hash_for_each(st->sessions, i, s, node)
		if (match(st, s))
			pmof_store_end_session(st, s);
}

/*
 * Requests wait for space, and nothing comes free by itself.  Who has waited long enough ends
 * the sessions that hold it up, his own, too, if another file of it does; but a file that waits
 * for itself is told so, and does not press any more.
 */
void pmof_store_press(struct store *st)
{
	struct store_req *r;
	bool pressing = false;

	list_for_each_entry(r, &st->starved, entry) {
		if (r->status || !r->since || time_before(jiffies, r->since + grace()))
			continue;
		if (holds_up(st, r->context))
			r->status = PMOF_KV_SC_NO_SPACE;
		else
			pressing = true;
	}
	if (pressing)
		end_sessions(st, session_holds_up);
	else if (too_much_held(st))
		end_sessions(st, session_sleeps);
}
