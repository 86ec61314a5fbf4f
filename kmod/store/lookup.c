// SPDX-License-Identifier: GPL-2.0
/* From a key to its object: the index with what it needs of the kernel. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "store.h"

#define GROW_AGAIN	(10 * HZ)	/* after there was no memory */
#define MOVE_PLACES	256	/* of a table that grows, in each round and for each insertion */
#define SMALL_BITS	16

u64 pmof_store_hash(const struct store *st, const u8 *key, u32 length)
{
	return siphash(key, length, &st->hash_key);
}

/*
 * May be read: a bad line that no list names yet is found here, and not where somebody looks at
 * what is in it.
 */
bool pmof_store_probe(const struct store *st, u64 offset, u64 length)
{
	u8 line[SMP_CACHE_BYTES];
	u64 n;

	for (; length; offset += n, length -= n) {
		n = min_t(u64, length, sizeof(line));
		if (copy_mc_to_kernel(line, st->m.base + offset, n)) {
			pmof_service_failed(st->ns);
			return false;
		}
	}
	return true;
}

/* The same, and no list names any of it. */
bool pmof_store_readable(const struct store *st, u64 offset, u64 length)
{
	return !pmof_service_bad(st->ns, offset, length) && pmof_store_probe(st, offset, length);
}

/*
 * How much can be read of a slot of @room bytes: its header and key, and only as much as there is
 * of them; 0: not that.  A bad sector behind them lies in the value, which is nobody's business
 * who asks what there is.
 */
static u64 readable_header(const struct store *st, u64 slot, u64 room)
{
	const struct pmof_kv_object_header *h = st->m.base + slot;
	u64 most = pmof_kv_header_room(room), seen;

	if (most < sizeof(*h) || !pmof_store_readable(st, slot, sizeof(*h)))
		return 0;
	seen = pmof_kv_header_seen(h, room);
	if (seen > sizeof(*h) &&
	    !pmof_store_readable(st, slot + sizeof(*h), seen - sizeof(*h)))
		return 0;
	return seen;
}

bool pmof_store_header_readable(const struct store *st, u64 slot, u64 room)
{
	return readable_header(st, slot, room);
}

/*
 * The header of a slot of @room bytes: 1 with *@o, 0: there is none, -EIO: it cannot be read.
 * A client's HCA may write there meanwhile: a longer key than the one that has been found
 * readable is none.
 */
int pmof_store_get_header(const struct store *st, u64 slot, u64 room, struct pmof_kv_object *o)
{
	u64 readable = readable_header(st, slot, room);

	if (!readable)
		return -EIO;
	return pmof_kv_get_header_within(st->m.base + slot, &st->m.sb, room, readable, o);
}

/* The header of a slot that should hold an object.  0 or -EIO. */
int pmof_store_read_object(const struct store *st, u64 slot, struct pmof_kv_object *o)
{
	u64 room = pmof_kv_alloc_room(&st->alloc, slot);

	return room && pmof_store_get_header(st, slot, room, o) == 1 ? 0 : -EIO;
}

/*
 * The object of a key: 1, with *@f; 0 if there is none; -EIO if that cannot be
 * told, because an object that may be it cannot be read.
 */
int pmof_store_find(const struct store *st, u64 hash, const u8 *key, u32 length,
		    struct store_found *f)
{
	const struct pmof_kv_object_header *h;
	struct pmof_kv_entry *e;
	int rc = st->lost_slots ? -EIO : 0;

	for (e = pmof_kv_index_first(&st->index, hash); e;
	     e = pmof_kv_index_next(&st->index, e)) {
		if (pmof_store_read_object(st, e->slot, &f->o)) {
			rc = -EIO;
			continue;
		}
		h = st->m.base + e->slot;
		if (f->o.key_length != length || memcmp(h->data, key, length))
			continue;
		f->entry = e;
		f->slot = e->slot;
		return 1;
	}
	return rc;
}

/* --- growth ----------------------------------------------------------------------- */

/* May be more than the kvmalloc family gives: 2 GiB. */
static struct pmof_kv_entry *alloc_entries(const struct pmof_kv_table *t)
{
	return __vmalloc(array_size(pmof_kv_table_places(t), sizeof(*t->entry)),
			 GFP_KERNEL | __GFP_ZERO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
}

/* Gigabytes take their time to be zeroed: nobody's request waits for it. */
void pmof_store_grow_work(struct work_struct *work)
{
	struct store *st = container_of(work, struct store, grow_work);
	struct pmof_kv_entry *entry = alloc_entries(&st->larger);

	if (!entry) {
		pr_warn_ratelimited("namespace %s: no memory for an index of %llu places\n",
				    st->name, pmof_kv_table_places(&st->larger));
		WRITE_ONCE(st->grow_after, jiffies + GROW_AGAIN);
	}
	/* Pairs with the worker's acquire. */
	smp_store_release(&st->larger.entry, entry);
}

static void ask_for_entries(struct store *st, const struct pmof_kv_table *larger)
{
	if (larger->bits > PMOF_KV_INDEX_MAX_BITS || work_busy(&st->grow_work))
		return;
	/* They have come since the caller looked.  Or there was no memory, a moment ago. */
	if (smp_load_acquire(&st->larger.entry) || time_before(jiffies, READ_ONCE(st->grow_after)))
		return;
	st->larger = *larger;
	queue_work(system_unbound_wq, &st->grow_work);
}

/* The table that was asked for, if it has come: for a table of this size it is large enough. */
static void take_asked(struct store *st, struct pmof_kv_table *larger)
{
	/* Pairs with grow_work's release: the array is zeroed. */
	if (smp_load_acquire(&st->larger.entry)) {
		*larger = st->larger;
		st->larger.entry = NULL;
	} else {
		ask_for_entries(st, larger);
	}
}

/* Once in each round. */
void pmof_store_index_step(struct store *st)
{
	struct pmof_kv_table larger;

	if (pmof_kv_index_growing(&st->index)) {
		kvfree(pmof_kv_index_move(&st->index, MOVE_PLACES));
		return;
	}
	if (!pmof_kv_index_full(&st->index, &larger))
		return;
	/* What is small is there at once. */
	if (st->index.now.bits < SMALL_BITS)
		larger.entry = alloc_entries(&larger);
	else
		take_asked(st, &larger);
	if (larger.entry)
		pmof_kv_index_grow(&st->index, &larger);
}

static bool has_room(const struct pmof_kv_index *ix)
{
	u32 bits = pmof_kv_index_growing(ix) ? ix->next.bits : ix->now.bits;

	return ix->count + STORE_ROUND < (7ULL << bits) / 8;
}

static int grow_now(struct store *st)
{
	struct pmof_kv_table larger;
	struct pmof_kv_entry *old;
	u64 place;

	if (!pmof_kv_index_full(&st->index, &larger))
		return 0;
	larger.entry = alloc_entries(&larger);
	if (!larger.entry)
		return has_room(&st->index) ? 0 : -ENOMEM;
	pmof_kv_index_grow(&st->index, &larger);
	do {
		place = st->index.place;
		old = pmof_kv_index_move(&st->index, MOVE_PLACES);
		cond_resched();
	} while (!old && st->index.place != place);
	kvfree(old);
	return 0;
}

/* Recovery: nobody waits yet, and what is there is never refused.  0 or -ENOMEM. */
int pmof_store_index_fill(struct store *st, u64 hash, u64 slot)
{
	return grow_now(st) || pmof_kv_index_insert(&st->index, hash, slot) ? -ENOMEM : 0;
}

/*
 * Is there room for a round's new keys, whatever their hashes, even if no larger table is to be
 * had?
 */
bool pmof_store_index_room(const struct store *st)
{
	static_assert(PMOF_KV_INDEX_SPARE >= 2 * STORE_ROUND);

	return has_room(&st->index) && pmof_kv_index_takes(&st->index);
}

int pmof_store_index_add(struct store *st, u64 hash, u64 slot)
{
	int rc = pmof_kv_index_insert(&st->index, hash, slot);

	if (pmof_kv_index_growing(&st->index))
		kvfree(pmof_kv_index_move(&st->index, MOVE_PLACES));
	return rc;
}

/* The key's entry goes from the slot @old to @slot, or away if that is 0. */
int pmof_store_index_move(struct store *st, u64 hash, u64 old, u64 slot)
{
	struct pmof_kv_entry *e = pmof_kv_index_first(&st->index, hash);

	while (e && e->slot != old)
		e = pmof_kv_index_next(&st->index, e);
	if (!e)
		return -ENOENT;
	if (slot)
		e->slot = slot;
	else
		pmof_kv_index_remove(&st->index, e);
	return 0;
}

u64 pmof_store_index_bytes(const struct store *st)
{
	u64 places = pmof_kv_table_places(&st->index.now);

	if (pmof_kv_index_growing(&st->index))
		places += pmof_kv_table_places(&st->index.next);
	return places * sizeof(struct pmof_kv_entry);
}
