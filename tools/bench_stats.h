/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A histogram of latencies: log-linear, 128 buckets for each power of two, so
 * that a percentile is at most 0.8 % too high; minimum and maximum are exact.
 * bench_stats.c is pure: tests/unit compiles it.
 */
#ifndef PMOF_TOOLS_BENCH_STATS_H
#define PMOF_TOOLS_BENCH_STATS_H

#include <stdint.h>

#define HIST_SUB_BITS	7
#define HIST_BUCKETS	((64 - HIST_SUB_BITS + 1) << HIST_SUB_BITS)

struct hist {
	uint64_t count;
	uint64_t sum;		/* ns */
	uint64_t min, max;	/* ns; meaningless while count is 0 */
	uint64_t bucket[HIST_BUCKETS];
};

void hist_reset(struct hist *h);
void hist_add(struct hist *h, uint64_t ns);
void hist_merge(struct hist *to, const struct hist *from);

/*
 * The smallest latency that at least @per_mille of 1000 samples do not exceed,
 * in ns; 0 without samples.
 */
uint64_t hist_percentile(const struct hist *h, unsigned int per_mille);

/* Mean in ns; 0 without samples. */
uint64_t hist_mean(const struct hist *h);

#endif /* PMOF_TOOLS_BENCH_STATS_H */
