/* SPDX-License-Identifier: GPL-2.0 */
/* The workload on a store: what its files share. See kv_work.c. */
#ifndef PMOF_CRASH_KV_WORK_H
#define PMOF_CRASH_KV_WORK_H

#include "kv.h"
#include "libpmofkv.h"

#define MAX_OPS		40000
#define NR_WRITERS	8
#define NR_READERS	2
#define KEYS_EACH	12
#define NR_KEYS		(NR_WRITERS * KEYS_EACH)
#define NR_SHARED	4	/* keys behind those, which all writers change */
#define MAX_BATCH	4

struct key {
	char bytes[KV_MAX_KEY];
	uint32_t length;
	uint64_t version;	/* number of its last operation; shared: of its last value */
	uint64_t stored;	/* the store's version of what is there */
};

/* An operation, as the log has it. */
struct work_op {
	const char *what;
	uint32_t key;
	uint64_t number;	/* shared: of the value; 0: a delete */
	uint64_t expected;	/* shared: as the store was told */
	uint64_t version;	/* shared: the store's */
};

struct work {
	struct pmofkv *kv;
	uint64_t seed;
	uint64_t first_mark;	/* of operation 0: several runs may share a trace */
	uint32_t limit;
	uint32_t next_op;
	struct key key[NR_KEYS + NR_SHARED];
	struct work_op op[MAX_OPS];
};

extern struct work work;

void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void expect(int rc, int want, const char *what, uint32_t key);

/* Marks its begin; returns its number. */
uint32_t begin(struct work_op op);
void done(uint32_t number);

/* What one writer knows of the shared keys: the version that he saw last, 0: none. */
struct seen {
	uint64_t version[NR_SHARED];
};

/* One operation, or one batch, on shared keys. @value: room for MAX_BATCH. */
void shared_write(struct seen *seen, uint64_t rnd, uint8_t *value);
/* @value: room for two. */
void shared_read(uint64_t rnd, uint8_t *value);

#endif /* PMOF_CRASH_KV_WORK_H */
