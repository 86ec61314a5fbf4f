/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A key as a register.  Its state is the tag of the value that is there, 0: none.  Which
 * version a value has is known from the puts that told it and the gets that saw it; one put
 * makes one version.
 */
#ifndef PMOF_TESTS_KV_REGISTER_H
#define PMOF_TESTS_KV_REGISTER_H

#include "history.h"

struct pair {
	uint64_t tag, version;
};

/* The pairs of one key. */
struct pairs {
	struct pair *by_tag;
	struct pair *by_version;
	size_t nr;
};

/* 0; -1: no memory; 1: a value with two versions, or a version of two values, in *bad. */
int pairs_make(struct pairs *p, const struct op *op, size_t nr, struct pair bad[2]);
void pairs_free(struct pairs *p);

/* Of values whose put never returned and that nobody has seen: one is as good as another. */
#define TAG_UNSEEN	UINT64_MAX

/* The state behind @op, a put or delete that happens. */
uint64_t register_makes(const struct pairs *p, const struct op *op);

/* True if @op may happen in the state *tag, and have its result; then *tag is the next state. */
bool register_step(const struct pairs *p, const struct op *op, uint64_t *tag);

#endif /* PMOF_TESTS_KV_REGISTER_H */
