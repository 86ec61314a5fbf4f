// SPDX-License-Identifier: GPL-2.0
/*
 * Segments with bad pages, in pieces: what is good between those, as an MR
 * each.  No MR has a page with a bad sector.
 */
#include <linux/slab.h>

#include "server.h"

/* What one GET_PIECES posts and answers. */
struct batch {
	struct ib_reg_wr wr[PMOF_SRV_REG_BATCH];
	struct pmof_piece piece[PMOF_SRV_REG_BATCH];
	u32 nr;
	u32 nr_wr;
	struct ib_send_wr *chain;
	struct ib_send_wr **tail;
};

static_assert(PMOF_SRV_REG_BATCH <= PMOF_PIECES_PER_REPLY);

static void put_piece(struct batch *b, u64 offset, const struct pmof_segment *seg)
{
	b->piece[b->nr] = (struct pmof_piece) { .offset = offset };
	pmof_segment_describe(seg, &b->piece[b->nr++]);
}

/* Adds the piece at @offset, which may be there already.  Returns 0 or an errno. */
static int add_piece(struct pmof_srv_queue *q, struct batch *b, u64 offset, u64 length,
		     u32 page_size)
{
	struct pmof_session *s = q->session;
	unsigned long index = offset / PMOF_BAD_PAGE;
	struct pmof_segment *seg = xa_load(&s->pieces, index);
	int rc;

	if (!seg) {
		seg = pmof_segment_alloc(s, offset, length, page_size);
		if (IS_ERR(seg))
			return PTR_ERR(seg);
		rc = xa_err(xa_store(&s->pieces, index, seg, GFP_KERNEL));
		if (rc) {
			pmof_segment_free(s, seg);
			return rc;
		}
		pmof_session_stat(s, PMOF_SRV_MRS, 1);
		*b->tail = pmof_segment_reg(q, seg, &b->wr[b->nr_wr++]);
		b->tail = &(*b->tail)->next;
	}
	put_piece(b, offset, seg);
	return 0;
}

/*
 * The next piece from *@at on, which moves to where it begins: its length, or 0.  One
 * that is there stays what it is, also where the page beside it is good again.
 */
static u64 next_piece(struct pmof_session *s, u64 *at, u64 end, u32 *page_size)
{
	u64 good = pmof_pages_good(&s->ns->bad.pages, at, end);
	struct pmof_segment *seg;
	struct pmof_piece piece;
	unsigned long index;

	if (!good)
		return 0;
	index = *at / PMOF_BAD_PAGE;
	seg = xa_find(&s->pieces, &index, (*at + good - 1) / PMOF_BAD_PAGE, XA_PRESENT);
	if (seg && index == *at / PMOF_BAD_PAGE) {
		pmof_segment_describe(seg, &piece);
		return piece.length;
	}
	if (seg)
		good = (u64)index * PMOF_BAD_PAGE - *at;
	return pmof_piece_cut(*at, good, s->page_size, page_size);
}

/*
 * Fills the batch with the pieces that end behind @from; *at, where the segment
 * begins, moves on.  They are cut from there on, and no page is in two of them: a
 * client that names other places gets no more MRs for that.  Returns 0 or an errno.
 */
static int fill_batch(struct pmof_srv_queue *q, struct batch *b, u64 from, u64 *at, u64 end)
{
	struct pmof_session *s = q->session;
	u32 page_size = PMOF_BAD_PAGE;
	u64 length;
	int rc;

	lockdep_assert_held(&s->ns->bad.lock);
	while (b->nr < PMOF_SRV_REG_BATCH) {
		length = next_piece(s, at, end, &page_size);
		if (!length)
			break;
		if (*at + length > from) {
			rc = add_piece(q, b, *at, length, page_size);
			if (rc)
				return rc;
		}
		*at += length;
	}
	return 0;
}

/*
 * Answers a GET_PIECES: the pieces of one segment from an offset on, registered
 * as in pmof_segments_get().  Returns 0 or a PMOF_SC_* code.
 */
int pmof_pieces_get(struct pmof_srv_req *req)
{
	struct pmof_srv_queue *q = req->queue;
	struct pmof_session *s = q->session;
	u32 i = pmof_layout_index(&s->layout, req->from);
	u64 at = (u64)i << s->layout.shift;
	u64 end = at + pmof_layout_length(&s->layout, i);
	struct pmof_segment *whole = xa_load(&s->segments, i);
	struct batch *b = kzalloc(sizeof(*b), GFP_KERNEL);
	int rc = 0;

	if (!b)
		return PMOF_SC_NO_MEMORY;
	b->tail = &b->chain;
	/* One that is an MR by now is its own piece: nothing is registered twice. */
	if (whole) {
		put_piece(b, at, whole);
		at = end;
	} else {
		mutex_lock(&s->ns->bad.lock);
		rc = fill_batch(q, b, req->from, &at, end);
		mutex_unlock(&s->ns->bad.lock);
	}
	/* Those before a failure are good. */
	if (!rc || b->nr)
		pmof_srv_queue_reply(req, pmof_put_pieces_reply(req->reply, req->tag, at,
								b->piece, b->nr), b->chain);
	rc = b->nr ? 0 : rc;
	kfree(b);
	if (!rc)
		return 0;
	return rc == -ENOMEM ? PMOF_SC_NO_MEMORY : PMOF_SC_INTERNAL;
}
