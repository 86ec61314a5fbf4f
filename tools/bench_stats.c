// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>

#include "bench_stats.h"

#define SUB	(1U << HIST_SUB_BITS)

/* Values below SUB have a bucket each; above, SUB buckets per power of two. */
static unsigned int bucket_of(uint64_t ns)
{
	unsigned int shift;

	if (ns < SUB)
		return (unsigned int)ns;
	shift = 63 - (unsigned int)__builtin_clzll(ns) - HIST_SUB_BITS;
	return ((shift + 1) << HIST_SUB_BITS) + (unsigned int)((ns >> shift) - SUB);
}

/* The largest value that falls into bucket @i. */
static uint64_t bucket_top(unsigned int i)
{
	unsigned int shift;

	if (i < SUB)
		return i;
	shift = (i >> HIST_SUB_BITS) - 1;
	return ((SUB + (uint64_t)(i & (SUB - 1))) << shift) + ((1ULL << shift) - 1);
}

void hist_reset(struct hist *h)
{
	memset(h, 0, sizeof(*h));
}

void hist_add(struct hist *h, uint64_t ns)
{
	if (!h->count || ns < h->min)
		h->min = ns;
	if (!h->count || ns > h->max)
		h->max = ns;
	h->count++;
	h->sum += ns;
	h->bucket[bucket_of(ns)]++;
}

void hist_merge(struct hist *to, const struct hist *from)
{
	unsigned int i;

	if (!from->count)
		return;
	if (!to->count || from->min < to->min)
		to->min = from->min;
	if (!to->count || from->max > to->max)
		to->max = from->max;
	to->count += from->count;
	to->sum += from->sum;
	for (i = 0; i < HIST_BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
}

/* The rank is ceil(count * per_mille / 1000), computed without overflow. */
static uint64_t rank_of(uint64_t count, unsigned int per_mille)
{
	uint64_t rank = count / 1000 * per_mille + (count % 1000 * per_mille + 999) / 1000;

	return rank ? rank : 1;
}

uint64_t hist_percentile(const struct hist *h, unsigned int per_mille)
{
	uint64_t rank, seen = 0, top;
	unsigned int i;

	if (!h->count)
		return 0;
	rank = rank_of(h->count, per_mille > 1000 ? 1000 : per_mille);
	for (i = 0; i < HIST_BUCKETS - 1; i++) {
		seen += h->bucket[i];
		if (seen >= rank)
			break;
	}
	top = bucket_top(i);
	if (top > h->max)
		return h->max;
	return top < h->min ? h->min : top;
}

uint64_t hist_mean(const struct hist *h)
{
	return h->count ? h->sum / h->count : 0;
}
