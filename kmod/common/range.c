// SPDX-License-Identifier: GPL-2.0
#include "range.h"

/* Returns 0, or -EINVAL if the sizes cannot be a namespace's. */
int pmof_layout_init(struct pmof_layout *l, u64 size, u64 segment_size)
{
	if (!size || !is_power_of_2(segment_size) || segment_size < PMOF_MIN_SEGMENT ||
	    segment_size > PMOF_MAX_SEGMENT)
		return -EINVAL;
	if ((size - 1) >> ilog2(segment_size) >= PMOF_MAX_SEGMENTS)
		return -EINVAL;
	l->size = size;
	l->shift = ilog2(segment_size);
	return 0;
}
EXPORT_SYMBOL_GPL(pmof_layout_init);

/* Insertion sort: there are at most PMOF_MAX_RANGES, and most come sorted. */
static void range_sort(struct pmof_range *range, unsigned int nr)
{
	unsigned int i, j;

	for (i = 1; i < nr; i++) {
		struct pmof_range r = range[i];

		for (j = i; j && range[j - 1].offset > r.offset; j--)
			range[j] = range[j - 1];
		range[j] = r;
	}
}

/*
 * Sorts, widens to whole cache lines and joins ranges that touch or overlap,
 * in place.  The ranges must be valid (pmof_range_ok).  Returns how many are left; empty ones go.
 */
unsigned int pmof_range_merge(struct pmof_range *range, unsigned int nr)
{
	unsigned int i, out = 0;

	range_sort(range, nr);
	for (i = 0; i < nr; i++) {
		u64 start = range[i].offset & ~(u64)(PMOF_LINE_SIZE - 1);
		u64 lines = pmof_range_lines(range[i].offset, range[i].length);
		u64 end = start + lines * PMOF_LINE_SIZE;

		if (!lines)
			continue;
		if (out && start <= range[out - 1].offset + range[out - 1].length) {
			u64 prev = range[out - 1].offset + range[out - 1].length;

			range[out - 1].length = max_t(u64, end, prev) - range[out - 1].offset;
			continue;
		}
		range[out].offset = start;
		range[out].length = end - start;
		out++;
	}
	return out;
}
EXPORT_SYMBOL_GPL(pmof_range_merge);
