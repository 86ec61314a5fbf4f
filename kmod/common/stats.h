/* SPDX-License-Identifier: GPL-2.0 */
/* Per-CPU counters: exact once the work that bumps them has finished. */
#ifndef PMOF_STATS_H
#define PMOF_STATS_H

#include <linux/percpu.h>

/* Enough for both sides' counter enums (checked where they are used). */
#define PMOF_STATS_NR	40

struct pmof_stats {
	u64 v[PMOF_STATS_NR];
};

static inline void pmof_stat_add(struct pmof_stats __percpu *s, unsigned int i, u64 n)
{
	this_cpu_add(s->v[i], n);
}

static inline void pmof_stat_inc(struct pmof_stats __percpu *s, unsigned int i)
{
	pmof_stat_add(s, i, 1);
}

static inline u64 pmof_stat_sum(struct pmof_stats __percpu *s, unsigned int i)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu_ptr(s, cpu)->v[i];
	return sum;
}

#endif /* PMOF_STATS_H */
