/* SPDX-License-Identifier: BSD-3-Clause */
/* pmof bench: its command line, its measurements, its report. */
#ifndef PMOF_TOOLS_BENCH_H
#define PMOF_TOOLS_BENCH_H

#include <signal.h>
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
	BENCH_PREPARE,
	BENCH_PUT_COMMIT,	/* of objects that were prepared beforehand, untimed, uncounted */
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
 * @uncounted: do not read the counters
 * @stop: once it is not 0 the measurement ends, as if its time were up; NULL: there is none
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
	bool uncounted;
	const volatile sig_atomic_t *stop;
};

/**
 * struct bench_result - what came out
 * @latency: of calls, ns
 * @ops: operations, @depth for each call
 * @elapsed_ns: from the first thread's start to the last one's end
 * @before: counters before, nothing being under way; unless @uncounted
 * @after: and behind it
 */
struct bench_result {
	struct hist latency;
	uint64_t ops;
	uint64_t elapsed_ns;
	struct snapshot before;
	struct snapshot after;
};

/* Objects of one thread that a measurement of BENCH_PUT_COMMIT prepares at most. */
#define BENCH_OBJECTS_MAX	65536

/* The part of the range that one thread works in; 0 if the range is too small. */
uint64_t bench_share(const struct bench_case *c);

/* Runs one measurement; returns 0 or the first error of an operation. */
int bench_run(const struct bench_case *c, struct bench_result *r);

/* --- the command ----------------------------------------------------------- */

#define BENCH_LIST_MAX	16	/* entries of a list on the command line */

/* What the command line asks for, and the device. */
struct bench {
	const char *device;
	const struct bench_op *op[BENCH_LIST_MAX];
	uint64_t size[BENCH_LIST_MAX];
	unsigned int threads[BENCH_LIST_MAX];
	unsigned int depth[BENCH_LIST_MAX];
	int nr_ops, nr_sizes, nr_threads, nr_depths;
	uint64_t time_ns, count;
	uint64_t offset, span;
	bool has_offset, has_span;
	bool overwrite;
	bool commit;
	bool calibrate;
	bool dry_run;
	bool verbose;
	bool json;
	struct pmof_dev *dev;
	struct pmof_info info;
	struct json_object *results;
};

/* bench.c: one measurement, checked before and explained if it fails. */
int bench_measure(const struct bench *b, const struct bench_case *c, struct bench_result *r);

/* bench_report.c */
struct json_object *bench_result_object(const struct bench_case *c, const struct bench_result *r);
struct json_object *bench_report_object(const struct bench *b);
void bench_print_report(const struct bench *b);

/* calibrate.c: measures every method and sets the table of the method auto. */
int bench_calibrate(struct bench *b);

#endif /* PMOF_TOOLS_BENCH_H */
