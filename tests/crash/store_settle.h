/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The end of a recovery, on an image: what it clears and sets, and its checkpoint, by the
 * server's own steps (as kmod/store/open.c does it). Behind it the store must be clean.
 */
#ifndef PMOF_CRASH_STORE_SETTLE_H
#define PMOF_CRASH_STORE_SETTLE_H

#include "../../tools/kv_verify.h"
#include "../../kmod/store/steps.h"

/* What recovery has found to do, and what stood where it has done it. */
struct settle {
	struct pmof_kv_medium m;
	u64 size;
	u64 *leftover;			/* slots */
	u64 *hidden;			/* offsets of trailers without VF */
	u32 nr_leftover, nr_hidden;
	struct settle_word {
		u64 offset;
		u64 word;
	} *saved;
	u32 nr_saved;
	u8 super[2][sizeof(struct pmof_kv_wire_super)];
};

void settle_init(struct settle *s, void *base, u64 size);
void settle_free(struct settle *s);

/* What kv_verify() tells. */
void settle_leftover(struct settle *s, u64 slot);
void settle_live(struct settle *s, u64 slot, const struct pmof_kv_object *o);

/* Ends the recovery that @found tells of. */
void settle_do(struct settle *s, const struct kv_report *found);
/* All is as it was before. */
void settle_undo(struct settle *s);

/* What recovery should not have left, or NULL. @after: the check behind it. */
const char *settle_fault(const struct kv_report *found, const struct kv_report *after);

#endif /* PMOF_CRASH_STORE_SETTLE_H */
