/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Histories of operations on a key-value store, one operation a line:
 *
 *   KEY CLIENT CALL RETURN put TAG any|none|VERSION ok VERSION|exists VERSION|stale VERSION|unknown
 *   KEY CLIENT CALL RETURN get found TAG VERSION|none
 *   KEY CLIENT CALL RETURN del any|VERSION ok|none|stale VERSION|unknown
 *
 * KEY and CLIENT are numbers; CALL and RETURN are of one clock, in any unit.  A TAG names the value
 * that one put stores: no two puts have the same, and none has 0.  An operation whose outcome
 * is unknown may have happened at any time after its call, or may never happen; its RETURN is not
 * looked at.  A history begins with no key there.  Lines that begin with # are comments.
 */
#ifndef PMOF_TESTS_KV_HISTORY_H
#define PMOF_TESTS_KV_HISTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum op_kind { OP_PUT, OP_GET, OP_DELETE };

enum op_result {
	RESULT_OK,		/* put: stored; get: found; delete: deleted */
	RESULT_NONE,		/* there is no such key; get and delete */
	RESULT_EXISTS,		/* put that expects none */
	RESULT_STALE,		/* another version is there, or (0) none */
	RESULT_UNKNOWN,
};

#define EXPECT_ANY	UINT64_MAX
#define EXPECT_NONE	0ULL

struct op {
	uint64_t key;
	uint64_t client;
	uint64_t call;
	uint64_t ret;
	enum op_kind kind;
	enum op_result result;
	uint64_t tag;		/* of the value put, or found */
	uint64_t expected;	/* version */
	uint64_t version;	/* of what was put or found, or of what is there */
};

struct history {
	struct op *op;
	size_t nr, room;
};

/* Returns 0, or the number of the line that cannot be read; -1: out of memory. */
int history_read(struct history *h, FILE *f);

/* False: no memory. */
bool history_add(struct history *h, const struct op *op);

void history_print_op(FILE *f, const struct op *op);
void history_free(struct history *h);

#endif /* PMOF_TESTS_KV_HISTORY_H */
