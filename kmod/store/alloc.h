/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Which slots of a store are in use: in DRAM only.  Recovery loads the classes from
 * the chunk table and marks the live objects' slots; nothing is written back when a
 * slot is taken or given back.  Pure.
 */
#ifndef PMOF_STORE_ALLOC_H
#define PMOF_STORE_ALLOC_H

#include "format.h"

struct pmof_kv_chunk {
	u64 *used;		/* a bit for each slot; a span's first chunk has its one */
	u32 nr_used;
	u32 hint;		/* no word of @used before this one has a free slot */
	u32 next;		/* in its class's list, counted from 1; 0: the last */
	u8 class;		/* 0: free */
	u8 part;		/* of a span */
	bool listed;
};

struct pmof_kv_alloc {
	const struct pmof_kv_super *sb;
	struct pmof_kv_chunk *chunk;		/* sb->nr_chunks, zeroed */
	void *(*zalloc)(size_t size);		/* zeroed memory, or NULL */
	u32 partial[PMOF_KV_CLASSES + 1];	/* chunks with free slots: from 1; 0: none */
	u32 nr_free;				/* chunks without a class */
	u64 used_slots;
	u64 bytes;				/* of memory, @chunk included */
};

void pmof_kv_alloc_init(struct pmof_kv_alloc *a, const struct pmof_kv_super *sb,
			struct pmof_kv_chunk *chunk, void *(*zalloc)(size_t size));
int pmof_kv_alloc_load(struct pmof_kv_alloc *a, const void *base);
int pmof_kv_alloc_mark(struct pmof_kv_alloc *a, u64 slot);
int pmof_kv_alloc_take(struct pmof_kv_alloc *a, u32 class, u64 *slot, bool *fresh);
u32 pmof_kv_alloc_class(const struct pmof_kv_alloc *a, u64 slot);
u64 pmof_kv_alloc_room(const struct pmof_kv_alloc *a, u64 slot);
bool pmof_kv_alloc_is_used(const struct pmof_kv_alloc *a, u64 slot);
int pmof_kv_alloc_give(struct pmof_kv_alloc *a, u64 slot);
void pmof_kv_alloc_free(struct pmof_kv_alloc *a, void (*free_used)(const void *used));

#endif /* PMOF_STORE_ALLOC_H */
