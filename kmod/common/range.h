/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Byte ranges and segments of a namespace: pure arithmetic. */
#ifndef PMOF_RANGE_H
#define PMOF_RANGE_H

#include "wire.h"

#define PMOF_LINE_SIZE	64	/* bytes of a cache line that is written back */

/* Lengths of 64 bits become size_t in both modules. */
static_assert(sizeof(size_t) == sizeof(u64), "pmof wants a 64-bit kernel");

/* True if [offset, offset + length) lies within [0, size); never overflows. */
static inline bool pmof_range_ok(u64 offset, u64 length, u64 size)
{
	return offset <= size && length <= size - offset;
}

/* Cache lines that [offset, offset + length) touches; the range must be valid. */
static inline u64 pmof_range_lines(u64 offset, u64 length)
{
	if (!length)
		return 0;
	return (offset + length - 1) / PMOF_LINE_SIZE - offset / PMOF_LINE_SIZE + 1;
}

/* How a namespace is cut into segments. */
struct pmof_layout {
	u64 size;		/* bytes of the namespace */
	u8 shift;		/* log2 of the segment size */
};

static inline u32 pmof_layout_segments(const struct pmof_layout *l)
{
	return (l->size + (1ULL << l->shift) - 1) >> l->shift;
}

static inline u32 pmof_layout_index(const struct pmof_layout *l, u64 offset)
{
	return offset >> l->shift;
}

/* Bytes of segment @i: the last one may be shorter. */
static inline u64 pmof_layout_length(const struct pmof_layout *l, u32 i)
{
	return min_t(u64, 1ULL << l->shift, l->size - ((u64)i << l->shift));
}

/* The longest piece at @offset that stays in one segment and within @length. */
static inline u64 pmof_layout_piece(const struct pmof_layout *l, u64 offset, u64 length)
{
	u64 left = (1ULL << l->shift) - (offset & ((1ULL << l->shift) - 1));

	return min_t(u64, left, length);
}

int pmof_layout_init(struct pmof_layout *l, u64 size, u64 segment_size);
unsigned int pmof_range_merge(struct pmof_range *range, unsigned int nr);

#endif /* PMOF_RANGE_H */
