/* SPDX-License-Identifier: GPL-2.0 */
/* What the programs that measure in turns share: the clock, and what is made of many times. */
#ifndef PMOF_BENCH_TURNS_H
#define PMOF_BENCH_TURNS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline __attribute__((noreturn)) void turns_die(const char *what, int rc)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(-rc));
	exit(1);
}

static inline uint64_t turns_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static inline int turns_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static inline void turns_sort(uint64_t *v, uint64_t nr)
{
	qsort(v, nr, sizeof(*v), turns_compare);
}

/* Sorted values: the smallest that at least @percent of them do not exceed. */
static inline uint64_t turns_percentile(const uint64_t *v, uint64_t nr, unsigned int percent)
{
	return v[(nr * percent + 99) / 100 - 1];
}

#endif /* PMOF_BENCH_TURNS_H */
