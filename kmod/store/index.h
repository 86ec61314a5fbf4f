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
 * takes the spill.  So that grows, too; and nobody is let in who might not find a place until it
 * has: pmof_kv_index_takes().
 *
 * A table grows into one with twice the homes, or twice the spill, a few places at a time, from
 * the low hashes up: what is below the mark is in the new table, all else in the old one.  Twice
 * the homes never take more of the spill.
 */
#ifndef PMOF_STORE_INDEX_H
#define PMOF_STORE_INDEX_H

#include "pure.h"

#define PMOF_KV_INDEX_MIN_BITS	6U
#define PMOF_KV_INDEX_MAX_BITS	40U
#define PMOF_KV_INDEX_SPILL	1024U	/* places at first */
#define PMOF_KV_INDEX_SPARE	128U	/* of these: only for what has been let in */

struct pmof_kv_entry {
	u64 hash;
	u64 slot;		/* offset; 0: empty */
};

struct pmof_kv_table {
	struct pmof_kv_entry *entry;	/* zeroed, pmof_kv_table_places() of them */
	u32 bits;		/* log2 of the number of homes */
	u64 spill;		/* places behind the last home */
};

struct pmof_kv_index {
	struct pmof_kv_table now;
	struct pmof_kv_table next;	/* while it grows, else no entries */
	u64 mark;		/* hashes below it are in @next ... */
	bool all;		/* ... or all are */
	u64 place;		/* of @now, from which to move on */
	u64 count;
};

static inline u64 pmof_kv_table_places(const struct pmof_kv_table *t)
{
	return (1ULL << t->bits) + t->spill;
}

static inline bool pmof_kv_index_growing(const struct pmof_kv_index *ix)
{
	return ix->next.entry;
}

void pmof_kv_index_init(struct pmof_kv_index *ix, const struct pmof_kv_table *t);
/* Is it time to grow?  Then @larger is into what, but for its entries. */
bool pmof_kv_index_full(const struct pmof_kv_index *ix, struct pmof_kv_table *larger);
void pmof_kv_index_grow(struct pmof_kv_index *ix, const struct pmof_kv_table *larger);
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

/* What a scan has come to. */
struct pmof_kv_found {
	u32 nr;			/* entries */
	bool end;		/* there are no more */
	u64 next;		/* it was left: the hash to go on from, behind them; else 0 */
};

struct pmof_kv_found pmof_kv_index_scan(const struct pmof_kv_index *ix, u64 from, u32 skip,
					struct pmof_kv_entry *out, u32 max, u64 empty);

#endif /* PMOF_STORE_INDEX_H */
