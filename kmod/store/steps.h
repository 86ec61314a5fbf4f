/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The stores of a key-value store's commits, by the names of docs/kv.md and
 * tests/model/kv.pml.  Each stores, and names what has to be written back before
 * the next fence; which fences stand between them is the caller's.  Pure.
 */
#ifndef PMOF_STORE_STEPS_H
#define PMOF_STORE_STEPS_H

#include "format.h"

struct pmof_kv_medium {
	void *base;
	struct pmof_kv_super sb;
	/* Has the range written back ahead of the next fence. */
	void (*write_back)(struct pmof_kv_medium *m, u64 offset, u64 length);
};

/* Phase 1. */
void pmof_kv_clear_trailer(struct pmof_kv_medium *m, u64 slot, const struct pmof_kv_object *o);
void pmof_kv_append_record(struct pmof_kv_medium *m, u32 place, const struct pmof_kv_record *r);
/* Phase 2. */
void pmof_kv_write_header(struct pmof_kv_medium *m, u64 slot, const struct pmof_kv_object *o,
			  const void *key);
void pmof_kv_set_pf(struct pmof_kv_medium *m, u64 slot, const struct pmof_kv_object *o);
/* Phase 3. */
void pmof_kv_set_vf(struct pmof_kv_medium *m, u64 slot, const struct pmof_kv_object *o);
/*
 * Checkpoint: clear_header of each; a fence; next_log; write_super of one copy, a
 * fence, of the other, a fence.  Both copies must have been the same before: recovery
 * first writes the one that pmof_kv_choose_super() has not taken, and fences.
 */
void pmof_kv_clear_header(struct pmof_kv_medium *m, u64 slot);
void pmof_kv_next_log(struct pmof_kv_medium *m);
void pmof_kv_write_super(struct pmof_kv_medium *m, unsigned int copy);
/* A span's parts last to first, a fence before the first. */
void pmof_kv_assign_chunk(struct pmof_kv_medium *m, u32 chunk, u32 class, u32 part);

#endif /* PMOF_STORE_STEPS_H */
