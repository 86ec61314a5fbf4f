/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Bad pages and the pieces between them: pure arithmetic on sorted arrays.
 * A page here is PMOF_BAD_PAGE bytes: no MR ends within one.
 */
#ifndef PMOF_PIECES_H
#define PMOF_PIECES_H

#include "range.h"

#define PMOF_SECTOR	512ULL
#define PMOF_BAD_PAGE	4096ULL

/* Sorted ranges of whole pages that do not touch. */
struct pmof_pages {
	unsigned int nr;
	unsigned int room;
	struct pmof_range *range;
};

bool pmof_pages_add(struct pmof_pages *p, u64 offset, u64 length, u64 size);
unsigned int pmof_pages_find(const struct pmof_pages *p, u64 offset);
bool pmof_pages_hit(const struct pmof_pages *p, u64 offset, u64 length);
bool pmof_pages_gained(const struct pmof_pages *old, const struct pmof_pages *now);
u64 pmof_pages_bytes(const struct pmof_pages *p);
u64 pmof_pages_good(const struct pmof_pages *p, u64 *offset, u64 end);
u64 pmof_piece_cut(u64 offset, u64 length, u32 page_size, u32 *use);

unsigned int pmof_piece_find(const struct pmof_piece *piece, unsigned int nr, u64 offset);
u64 pmof_piece_run(const struct pmof_piece *piece, unsigned int nr, u64 offset, u64 length,
		   const struct pmof_piece **in);

/* Sectors that [@offset, @offset + @length) covers as a whole; false: none. */
static inline bool pmof_sectors_inside(u64 offset, u64 length, struct pmof_range *out)
{
	u64 start = (offset + PMOF_SECTOR - 1) & ~(PMOF_SECTOR - 1);
	u64 end = (offset + length) & ~(PMOF_SECTOR - 1);

	if (start >= end)
		return false;
	out->offset = start;
	out->length = end - start;
	return true;
}

/* How much of a PUT from @offset on goes into one message of @most bytes: whole sectors. */
static inline u64 pmof_put_cut(u64 offset, u64 length, u64 most)
{
	u64 end;

	if (length <= most)
		return length;
	end = (offset + most) & ~(PMOF_SECTOR - 1);
	return end > offset ? end - offset : most;
}

#endif /* PMOF_PIECES_H */
