// SPDX-License-Identifier: GPL-2.0
/* The wire codec of what bad blocks need: pieces of segments, and GET. */
#include "wire.h"
#include "range.h"

size_t pmof_put_get_pieces(struct pmof_wire_get_pieces *w, u16 tag, u64 from)
{
	pmof_put_hdr(&w->hdr, PMOF_MSG_GET_PIECES, tag, sizeof(*w), 0);
	w->from = cpu_to_le64(from);
	return sizeof(*w);
}
EXPORT_SYMBOL_GPL(pmof_put_get_pieces);

int pmof_get_get_pieces(const void *buf, size_t len, u64 ns_size, u64 *from)
{
	const struct pmof_wire_get_pieces *w = buf;

	if (len != sizeof(*w))
		return PMOF_SC_INVALID;
	*from = le64_to_cpu(w->from);
	return *from < ns_size ? 0 : PMOF_SC_RANGE;
}
EXPORT_SYMBOL_GPL(pmof_get_get_pieces);

size_t pmof_put_pieces_reply(struct pmof_wire_pieces_reply *w, u16 tag, u64 next,
			     const struct pmof_piece *piece, u32 count)
{
	size_t len = sizeof(*w) + count * sizeof(w->piece[0]);
	u32 i;

	memset(w, 0, len);
	pmof_put_hdr(&w->hdr, PMOF_MSG_GET_PIECES | PMOF_MSG_REPLY, tag, len, 0);
	w->next = cpu_to_le64(next);
	w->count = cpu_to_le32(count);
	for (i = 0; i < count; i++) {
		w->piece[i].offset = cpu_to_le64(piece[i].offset);
		w->piece[i].length = cpu_to_le64(piece[i].length);
		w->piece[i].addr = cpu_to_le64(piece[i].addr);
		w->piece[i].rkey = cpu_to_le32(piece[i].rkey);
	}
	return len;
}
EXPORT_SYMBOL_GPL(pmof_put_pieces_reply);

/* Entry @i of a reply that pmof_get_pieces_reply() has passed. */
void pmof_get_piece(const void *buf, u32 i, struct pmof_piece *out)
{
	const struct pmof_wire_pieces_reply *w = buf;

	out->offset = le64_to_cpu(w->piece[i].offset);
	out->length = le64_to_cpu(w->piece[i].length);
	out->addr = le64_to_cpu(w->piece[i].addr);
	out->rkey = le32_to_cpu(w->piece[i].rkey);
}
EXPORT_SYMBOL_GPL(pmof_get_piece);

/*
 * The reply to what asked for the pieces in [@from, @end).  They ascend, do not
 * overlap, and end before *@next, which has moved on.
 */
int pmof_get_pieces_reply(const void *buf, size_t len, u64 from, u64 end, u64 *next, u32 *count)
{
	const struct pmof_wire_pieces_reply *w = buf;
	int rc = pmof_get_reply_hdr(buf, len, PMOF_MSG_GET_PIECES, sizeof(*w));
	struct pmof_piece piece;
	u64 at = from;
	u32 i;

	if (rc)
		return rc;
	*next = le64_to_cpu(w->next);
	*count = le32_to_cpu(w->count);
	if (*next <= from || *next > end || *count > PMOF_PIECES_PER_REPLY || w->reserved ||
	    len != sizeof(*w) + (u64)*count * sizeof(w->piece[0]))
		return PMOF_SC_INVALID;
	for (i = 0; i < *count; i++) {
		pmof_get_piece(buf, i, &piece);
		if (piece.offset < at || !piece.length ||
		    !pmof_range_ok(piece.offset, piece.length, *next))
			return PMOF_SC_INVALID;
		at = piece.offset + piece.length;
	}
	return 0;
}
EXPORT_SYMBOL_GPL(pmof_get_pieces_reply);

size_t pmof_put_get(struct pmof_wire_get *w, u16 tag, const struct pmof_range *range)
{
	memset(w, 0, sizeof(*w));
	pmof_put_hdr(&w->hdr, PMOF_MSG_GET, tag, sizeof(*w), 0);
	w->offset = cpu_to_le64(range->offset);
	w->length = cpu_to_le64(range->length);
	return sizeof(*w);
}
EXPORT_SYMBOL_GPL(pmof_put_get);

int pmof_get_get(const void *buf, size_t len, u64 ns_size, struct pmof_range *out)
{
	const struct pmof_wire_get *w = buf;

	if (len != sizeof(*w))
		return PMOF_SC_INVALID;
	out->offset = le64_to_cpu(w->offset);
	out->length = le64_to_cpu(w->length);
	if (!out->length || out->length > PMOF_MAX_GET)
		return PMOF_SC_INVALID;
	return pmof_range_ok(out->offset, out->length, ns_size) ? 0 : PMOF_SC_RANGE;
}
EXPORT_SYMBOL_GPL(pmof_get_get);

/* The data are in place already. */
size_t pmof_put_get_reply(struct pmof_wire_get_reply *w, u16 tag, u32 length)
{
	pmof_put_hdr(&w->hdr, PMOF_MSG_GET | PMOF_MSG_REPLY, tag, sizeof(*w) + length, 0);
	return sizeof(*w) + length;
}
EXPORT_SYMBOL_GPL(pmof_put_get_reply);

int pmof_get_get_reply(const void *buf, size_t len, u32 asked)
{
	int rc = pmof_get_reply_hdr(buf, len, PMOF_MSG_GET, sizeof(struct pmof_wire_get_reply));

	if (rc)
		return rc;
	return len == sizeof(struct pmof_wire_get_reply) + asked ? 0 : PMOF_SC_INVALID;
}
EXPORT_SYMBOL_GPL(pmof_get_get_reply);
