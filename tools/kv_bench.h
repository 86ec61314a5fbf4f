/* SPDX-License-Identifier: BSD-3-Clause */
/* pmof kv bench: what its files share. */
#ifndef PMOF_TOOLS_KV_BENCH_H
#define PMOF_TOOLS_KV_BENCH_H

#include "bench_stats.h"
#include "counters.h"
#include "kv.h"
#include "kv_workload.h"

/**
 * struct kv_bench - what is measured
 * @device: DEV
 * @workload: operations; NULL: @load alone
 * @choice: how keys are chosen
 * @sizes: of keys and values
 * @keys: that are there
 * @threads: each with an open file of its own
 * @time_ns: how long; 0: by @ops
 * @ops: of all threads together
 * @load: put all the keys first, and measure that, too
 * @batch: so many keys of @load go in together; 1: none do
 * @protocol: of the puts
 * @seed: of all that is random
 * @json: print that
 * @emulated: set by the run: the server emulates a slower medium
 * @durable: true, until a run finds that what is acknowledged is not
 * @results: objects of what was measured
 */
struct kv_bench {
	const char *device;
	const struct kv_workload *workload;
	enum kv_choice choice;
	struct kv_sizes sizes;
	uint64_t keys;
	unsigned int threads;
	uint64_t time_ns;
	uint64_t ops;
	bool load;
	unsigned int batch;
	enum pmofkv_protocol protocol;
	uint64_t seed;
	bool json;
	bool emulated;
	bool durable;
	struct json_object *results;
};

/* What one kind of operation has come to. */
struct kv_bench_op {
	struct hist latency;
	uint64_t missing;	/* no such key */
	uint64_t bytes;		/* of values */
	uint64_t again;		/* modify: the key had changed meanwhile */
};

struct kv_bench_result {
	struct kv_bench_op op[KV_OPS];
	uint64_t elapsed_ns;
	uint64_t wrong;		/* values that belong to another key */
	uint64_t stat_before[PMOF_KV_STAT_MAX];
	uint64_t stat_after[PMOF_KV_STAT_MAX];
	uint64_t counter[PMOFKV_NR_COUNTERS];
	struct snapshot before;
	struct snapshot after;
};

/*
 * kv_bench_run.c: @load: puts keys 0 to b->keys - 1, each once; else b->workload.  Returns 0 or the
 * first error of an operation.
 */
int kv_bench_run(struct kv_bench *b, bool load, struct kv_bench_result *r);

/*
 * kv_bench_batch.c: room for @nr keys with values like @value.  NULL: no memory.  Then puts keys
 * @first to @first + @nr - 1, and adds up the bytes of their values.  Returns 0 or the first error.
 */
struct kv_batch;
struct kv_batch *kv_batch_new(const struct kv_sizes *sizes, unsigned int nr, const char *value);
void kv_batch_free(struct kv_batch *b);
int kv_batch_put(struct kv_batch *b, struct pmofkv *kv, uint64_t first, unsigned int nr,
		 struct kv_random *random, uint64_t *bytes);

/* kv_bench_report.c */
struct json_object *kv_bench_object(const struct kv_bench *b, bool load,
				    const struct kv_bench_result *r);
void kv_bench_print(const struct kv_bench *b);

#endif /* PMOF_TOOLS_KV_BENCH_H */
