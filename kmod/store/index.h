/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The index of a store: from a key's hash to its object's slot, in DRAM.  Pure: the
 * caller brings memory and compares keys.
 *
 * A table is an array kept in the order of hash.  An entry's home is the place that
 * its hash's upper bits name; it stands there or behind, with no empty place
 * between.  Some places more than there are homes take what the last ones spill.
 *
 * Whoever knows the hash's key can choose keys that all have their homes at the end, and fill what
 * takes the spill.  So nobody is let in who might not find a place: pmof_kv_index_takes().
 *
 * A table grows into one twice the size, a few places at a time, from the low hashes
 * up: what is below the mark is in the new table, all else in the old one.
 */
#ifndef PMOF_STORE_INDEX_H
#define PMOF_STORE_INDEX_H

#include "pure.h"

#define PMOF_KV_INDEX_MIN_BITS	6U
#define PMOF_KV_INDEX_MAX_BITS	40U
#define PMOF_KV_INDEX_SPILL	1024U
#define PMOF_KV_INDEX_SPARE	128U	/* of these: only for what has been let in */

struct pmof_kv_entry {
	u64 hash;
	u64 slot;		/* offset; 0: empty */
};

struct pmof_kv_table {
	struct pmof_kv_entry *entry;
	u32 bits;		/* log2 of the number of homes */
};

struct pmof_kv_index {
	struct pmof_kv_table now;
	struct pmof_kv_table next;	/* while it grows, else no entries */
	u64 mark;		/* hashes below it are in @next ... */
	bool all;		/* ... or all are */
	u64 place;		/* of @now, from which to move on */
	u64 count;
};

/* Entries of a table's array. */
static inline u64 pmof_kv_table_places(u32 bits)
{
	return (1ULL << bits) + PMOF_KV_INDEX_SPILL;
}

static inline bool pmof_kv_index_growing(const struct pmof_kv_index *ix)
{
	return ix->next.entry;
}

/* Time to begin: above 3/4. */
static inline bool pmof_kv_index_full(const struct pmof_kv_index *ix)
{
	return !pmof_kv_index_growing(ix) && ix->count > 3ULL << ix->now.bits >> 2;
}

/* Arrays are zeroed, of pmof_kv_table_places(bits) entries. */
void pmof_kv_index_init(struct pmof_kv_index *ix, struct pmof_kv_entry *entry, u32 bits);
void pmof_kv_index_grow(struct pmof_kv_index *ix, struct pmof_kv_entry *entry);
struct pmof_kv_entry *pmof_kv_index_move(struct pmof_kv_index *ix, u64 places);

/* All with just this hash stand next to each other: from the first on, until another. */
struct pmof_kv_entry *pmof_kv_index_first(const struct pmof_kv_index *ix, u64 hash);
struct pmof_kv_entry *pmof_kv_index_next(const struct pmof_kv_index *ix,
					 struct pmof_kv_entry *e);
/*
 * Do any PMOF_KV_INDEX_SPARE / 2 insertions find a place, with all that is moved meanwhile?  If
 * not, some may.
 */
bool pmof_kv_index_takes(const struct pmof_kv_index *ix);
/* 0, or -ENOSPC: it has to grow, or to be moved on. */
int pmof_kv_index_insert(struct pmof_kv_index *ix, u64 hash, u64 slot);
void pmof_kv_index_remove(struct pmof_kv_index *ix, struct pmof_kv_entry *e);

u32 pmof_kv_index_scan(const struct pmof_kv_index *ix, u64 from, u32 skip,
		       struct pmof_kv_entry *out, u32 max);

#endif /* PMOF_STORE_INDEX_H */
