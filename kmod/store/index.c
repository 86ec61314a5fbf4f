// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The index of a store: index.h.  Pure. */
#include "index.h"

static u64 home(const struct pmof_kv_table *t, u64 hash)
{
	return hash >> (64 - t->bits);
}

static u64 places(const struct pmof_kv_table *t)
{
	return pmof_kv_table_places(t);
}

/* The place of the first entry whose hash is not below; or an empty one, or the end. */
static u64 lower(const struct pmof_kv_table *t, u64 hash)
{
	u64 p = home(t, hash);

	while (p < places(t) && t->entry[p].slot && t->entry[p].hash < hash)
		p++;
	return p;
}

/* Places at the end are behind every home: while so many are free, so many insertions find one. */
static bool spare_left(const struct pmof_kv_table *t, u64 nr)
{
	return !t->entry[places(t) - nr].slot;
}

static int table_insert(struct pmof_kv_table *t, u64 hash, u64 slot)
{
	u64 p = lower(t, hash), free;

	for (free = p; free < places(t) && t->entry[free].slot; free++)
		;
	if (free == places(t))
		return -ENOSPC;
	memmove(&t->entry[p + 1], &t->entry[p], (free - p) * sizeof(*t->entry));
	t->entry[p].hash = hash;
	t->entry[p].slot = slot;
	return 0;
}

/* Those behind move up, until one that is at home. */
static void table_remove(struct pmof_kv_table *t, u64 p)
{
	u64 end = p + 1;

	while (end < places(t) && t->entry[end].slot && home(t, t->entry[end].hash) < end)
		end++;
	memmove(&t->entry[p], &t->entry[p + 1], (end - 1 - p) * sizeof(*t->entry));
	memset(&t->entry[end - 1], 0, sizeof(*t->entry));
}

static bool is_moved(const struct pmof_kv_index *ix, u64 hash)
{
	return pmof_kv_index_growing(ix) && (ix->all || hash < ix->mark);
}

static const struct pmof_kv_table *table_of(const struct pmof_kv_index *ix, u64 hash)
{
	return is_moved(ix, hash) ? &ix->next : &ix->now;
}

void pmof_kv_index_init(struct pmof_kv_index *ix, const struct pmof_kv_table *t)
{
	memset(ix, 0, sizeof(*ix));
	ix->now = *t;
}

/*
 * Above 3/4; or half of what takes the spill is in use.  Always some more of that: the keys that
 * the old table lets in meanwhile have to find their places, too.
 */
bool pmof_kv_index_full(const struct pmof_kv_index *ix, struct pmof_kv_table *larger)
{
	const struct pmof_kv_table *t = &ix->now;
	bool many = ix->count > 3ULL << t->bits >> 2;
	bool crowded = !spare_left(t, t->spill / 2);

	if (pmof_kv_index_growing(ix) || (!many && !crowded))
		return false;
	larger->entry = NULL;
	larger->bits = t->bits + many;
	larger->spill = t->spill + (crowded ? t->spill : PMOF_KV_INDEX_SPARE);
	return true;
}

/* Begins to grow. */
void pmof_kv_index_grow(struct pmof_kv_index *ix, const struct pmof_kv_table *larger)
{
	ix->next = *larger;
	ix->mark = 0;
	ix->all = false;
	ix->place = 0;
}

/* Nothing with a hash that has its home up to @p is, or will be, looked for in the old table. */
static void pass_home(struct pmof_kv_index *ix, u64 p)
{
	u64 homes = 1ULL << ix->now.bits;

	if (p + 1 >= homes)
		ix->all = true;
	else
		ix->mark = max_t(u64, ix->mark, (p + 1) << (64 - ix->now.bits));
}

/* Moves all entries of one hash, from @ix->place on. */
static int move_hash(struct pmof_kv_index *ix)
{
	u64 hash = ix->now.entry[ix->place].hash, p;
	int rc;

	for (p = ix->place; p < places(&ix->now) && ix->now.entry[p].slot &&
	     ix->now.entry[p].hash == hash; p++) {
		/* The last ones are for what has been let in. */
		if (!spare_left(&ix->next, PMOF_KV_INDEX_SPARE))
			return -ENOSPC;
		rc = table_insert(&ix->next, hash, ix->now.entry[p].slot);
		if (rc)
			return rc;
	}
	ix->place = p;
	if (hash == U64_MAX)
		ix->all = true;
	else
		ix->mark = hash + 1;
	return 0;
}

/*
 * Moves what stands in about so many places.  When all is moved, returns the old
 * array, for the caller to free; else NULL.
 */
struct pmof_kv_entry *pmof_kv_index_move(struct pmof_kv_index *ix, u64 nr)
{
	u64 end = ix->place + min_t(u64, nr, places(&ix->now) - ix->place);
	struct pmof_kv_entry *old = ix->now.entry;

	while (ix->place < end) {
		if (!old[ix->place].slot)
			pass_home(ix, ix->place++);
		else if (move_hash(ix))
			return NULL;
	}
	if (ix->place < places(&ix->now))
		return NULL;
	ix->now = ix->next;
	memset(&ix->next, 0, sizeof(ix->next));
	ix->all = false;
	ix->mark = 0;
	return old;
}

static struct pmof_kv_entry *if_hash(const struct pmof_kv_table *t, u64 p, u64 hash)
{
	struct pmof_kv_entry *e = &t->entry[p];

	return p < places(t) && e->slot && e->hash == hash ? e : NULL;
}

struct pmof_kv_entry *pmof_kv_index_first(const struct pmof_kv_index *ix, u64 hash)
{
	const struct pmof_kv_table *t = table_of(ix, hash);

	return if_hash(t, lower(t, hash), hash);
}

struct pmof_kv_entry *pmof_kv_index_next(const struct pmof_kv_index *ix,
					 struct pmof_kv_entry *e)
{
	const struct pmof_kv_table *t = table_of(ix, e->hash);

	return if_hash(t, e - t->entry + 1, e->hash);
}

bool pmof_kv_index_takes(const struct pmof_kv_index *ix)
{
	if (pmof_kv_index_growing(ix) && !spare_left(&ix->next, PMOF_KV_INDEX_SPARE / 2))
		return false;
	return spare_left(&ix->now, PMOF_KV_INDEX_SPARE / 2);
}

int pmof_kv_index_insert(struct pmof_kv_index *ix, u64 hash, u64 slot)
{
	int rc = table_insert(is_moved(ix, hash) ? &ix->next : &ix->now, hash, slot);

	if (!rc)
		ix->count++;
	return rc;
}

void pmof_kv_index_remove(struct pmof_kv_index *ix, struct pmof_kv_entry *e)
{
	struct pmof_kv_table *t = is_moved(ix, e->hash) ? &ix->next : &ix->now;

	table_remove(t, e - t->entry);
	ix->count--;
}

struct walk {
	struct pmof_kv_found found;
	struct pmof_kv_entry *out;
	u32 max;
	u64 empty;		/* places that may yet be seen for nothing */
};

/*
 * From the hash on, up to a place.  What stands behind an empty place has its home behind it: so
 * there it may be left, to be gone on with from that home.  Returns false when it was left.
 */
static bool walk_table(struct walk *w, const struct pmof_kv_table *t, u64 from, u64 end)
{
	u64 p;

	for (p = lower(t, from); p < end && w->found.nr < w->max; p++) {
		if (t->entry[p].slot) {
			w->out[w->found.nr++] = t->entry[p];
		} else if (!--w->empty && p + 1 < 1ULL << t->bits) {
			w->found.next = (p + 1) << (64 - t->bits);
			return false;
		}
	}
	return w->found.nr < w->max;
}

/*
 * Entries in the order of hash, from @from on, without the first @skip that have just
 * that hash: up to @max, or fewer where more than @empty places (not 0) have none.
 */
struct pmof_kv_found pmof_kv_index_scan(const struct pmof_kv_index *ix, u64 from, u32 skip,
					struct pmof_kv_entry *out, u32 max, u64 empty)
{
	struct walk w = { .out = out, .max = max, .empty = empty };
	struct pmof_kv_entry *e = pmof_kv_index_first(ix, from);
	const struct pmof_kv_table *next = &ix->next;

	for (; e; e = pmof_kv_index_next(ix, e)) {
		if (skip)
			skip--;
		else if (w.found.nr < max)
			out[w.found.nr++] = *e;
	}
	if (from == U64_MAX)
		w.found.end = w.found.nr < max;
	if (from == U64_MAX || w.found.nr == max)
		return w.found;
	from++;
	/* In the new table there is nothing from the mark on, in the old one nothing below it. */
	if (is_moved(ix, from) &&
	    !walk_table(&w, next, from, ix->all ? places(next) : lower(next, ix->mark)))
		return w.found;
	w.found.end = ix->all || walk_table(&w, &ix->now, max_t(u64, from, ix->mark),
					    places(&ix->now));
	return w.found;
}
