/* SPDX-License-Identifier: BSD-3-Clause */
/* pmof bench: one measurement, between its command line and its threads. */
#ifndef PMOF_TOOLS_BENCH_H
#define PMOF_TOOLS_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "bench_stats.h"
#include "counters.h"
#include "libpmof.h"

enum bench_kind {
	BENCH_PUT,
	BENCH_GET,
	BENCH_PERSIST,	/* of a put that is made before it, untimed */
	BENCH_CAS,
	BENCH_FETCH_ADD,
};

struct bench_op {
	const char *name;
	enum bench_kind kind;
	unsigned int flags;	/* PMOF_F_* */
};

/**
 * struct bench_case - what to measure
 * @op: the operation
 * @dev: device, opened for what @op needs
 * @offset: first byte of the range to work in
 * @span: bytes of that range
 * @size: bytes of one operation
 * @threads: threads that do the same, each in a part of the range of its own
 * @depth: operations of one call; above 1 it is a SUBMIT
 * @time_ns: how long; 0: by @count
 * @count: calls of each thread
 */
struct bench_case {
	const struct bench_op *op;
	struct pmof_dev *dev;
	uint64_t offset;
	uint64_t span;
	uint64_t size;
	unsigned int threads;
	unsigned int depth;
	uint64_t time_ns;
	uint64_t count;
};

/**
 * struct bench_result - what came out
 * @latency: of calls, ns
 * @ops: operations, @depth for each call
 * @elapsed_ns: from the first thread's start to the last one's end
 * @before: counters before, nothing being under way
 * @after: and behind it
 */
struct bench_result {
	struct hist latency;
	uint64_t ops;
	uint64_t elapsed_ns;
	struct snapshot before;
	struct snapshot after;
};

/* The part of the range that one thread works in; 0 if the range is too small. */
uint64_t bench_share(const struct bench_case *c);

/* Runs one measurement; returns 0 or the first error of an operation. */
int bench_run(const struct bench_case *c, struct bench_result *r);

#endif /* PMOF_TOOLS_BENCH_H */
