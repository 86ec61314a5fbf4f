// SPDX-License-Identifier: GPL-2.0
#include "pieces.h"

/*
 * Adds the pages that [@offset, @offset + @length) touches, of those below @size;
 * to be called with ascending offsets.  False: there is no room.
 */
bool pmof_pages_add(struct pmof_pages *p, u64 offset, u64 length, u64 size)
{
	u64 start = offset & ~(PMOF_BAD_PAGE - 1);
	struct pmof_range *last = p->nr ? &p->range[p->nr - 1] : NULL;
	u64 end;

	if (!length || offset >= size)
		return true;
	end = offset + min_t(u64, length, size - offset);
	end = (end + PMOF_BAD_PAGE - 1) & ~(PMOF_BAD_PAGE - 1);
	if (last && start <= last->offset + last->length) {
		last->length = max_t(u64, end, last->offset + last->length) - last->offset;
		return true;
	}
	if (p->nr == p->room)
		return false;
	p->range[p->nr].offset = start;
	p->range[p->nr].length = end - start;
	p->nr++;
	return true;
}
EXPORT_SYMBOL_GPL(pmof_pages_add);

/* The first range that ends behind @offset; p->nr: none. */
unsigned int pmof_pages_find(const struct pmof_pages *p, u64 offset)
{
	unsigned int lo = 0, hi = p->nr;

	while (lo < hi) {
		unsigned int mid = (lo + hi) / 2;

		if (p->range[mid].offset + p->range[mid].length > offset)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}
EXPORT_SYMBOL_GPL(pmof_pages_find);

bool pmof_pages_hit(const struct pmof_pages *p, u64 offset, u64 length)
{
	unsigned int i = pmof_pages_find(p, offset);

	return length && i < p->nr && p->range[i].offset < offset + length;
}
EXPORT_SYMBOL_GPL(pmof_pages_hit);

/* Whether @now has a page that @old does not have. */
bool pmof_pages_gained(const struct pmof_pages *old, const struct pmof_pages *now)
{
	unsigned int i, o;

	for (i = 0; i < now->nr; i++) {
		const struct pmof_range *r = &now->range[i];

		o = pmof_pages_find(old, r->offset);
		/* Neither has ranges that touch, so one of @old's holds it, or none does. */
		if (o == old->nr || old->range[o].offset > r->offset ||
		    old->range[o].offset + old->range[o].length < r->offset + r->length)
			return true;
	}
	return false;
}
EXPORT_SYMBOL_GPL(pmof_pages_gained);

u64 pmof_pages_bytes(const struct pmof_pages *p)
{
	u64 bytes = 0;
	unsigned int i;

	for (i = 0; i < p->nr; i++)
		bytes += p->range[i].length;
	return bytes;
}
EXPORT_SYMBOL_GPL(pmof_pages_bytes);

/*
 * Moves *@offset to the first good page from there on, and returns how many good
 * bytes follow, before @end.  0: none, and *@offset is @end.
 */
u64 pmof_pages_good(const struct pmof_pages *p, u64 *offset, u64 end)
{
	unsigned int i = pmof_pages_find(p, *offset);

	if (i < p->nr && p->range[i].offset <= *offset) {
		*offset = p->range[i].offset + p->range[i].length;
		i++;
	}
	if (*offset >= end) {
		*offset = end;
		return 0;
	}
	if (i < p->nr && p->range[i].offset < end)
		end = p->range[i].offset;
	return end - *offset;
}
EXPORT_SYMBOL_GPL(pmof_pages_good);

/*
 * What one MR takes of the good run [@offset, @offset + @length): pages of
 * @page_size where the run is aligned to them, else small ones up to where it is;
 * so no MR needs more pages than one large page has, or than a segment has.
 * *@use: the page size to use.
 */
u64 pmof_piece_cut(u64 offset, u64 length, u32 page_size, u32 *use)
{
	u64 mask = page_size - 1;

	if (!(offset & mask) && length > mask) {
		*use = page_size;
		return length & ~mask;
	}
	*use = PMOF_BAD_PAGE;
	return min_t(u64, length, page_size - (offset & mask));
}
EXPORT_SYMBOL_GPL(pmof_piece_cut);

/* The first piece that ends behind @offset; @nr: none. */
unsigned int pmof_piece_find(const struct pmof_piece *piece, unsigned int nr, u64 offset)
{
	unsigned int lo = 0, hi = nr;

	while (lo < hi) {
		unsigned int mid = (lo + hi) / 2;

		if (piece[mid].offset + piece[mid].length > offset)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}
EXPORT_SYMBOL_GPL(pmof_piece_find);

/*
 * The longest part of [@offset, @offset + @length) from @offset on that lies in
 * one piece, *@in; or, with *@in NULL, in none.
 */
u64 pmof_piece_run(const struct pmof_piece *piece, unsigned int nr, u64 offset, u64 length,
		   const struct pmof_piece **in)
{
	unsigned int i = pmof_piece_find(piece, nr, offset);

	*in = NULL;
	if (i == nr)
		return length;
	if (piece[i].offset > offset)
		return min_t(u64, length, piece[i].offset - offset);
	*in = &piece[i];
	return min_t(u64, length, piece[i].offset + piece[i].length - offset);
}
EXPORT_SYMBOL_GPL(pmof_piece_run);
