// SPDX-License-Identifier: GPL-2.0
/*
 * Windows: the memory of a put or get, taken from its iterator in parts that the
 * HCA can be given.  What belongs to user space is pinned; the pages of a
 * bio_vec (registered buffers, splice) are held by who made the iterator.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "client.h"
#include "compat.h"

#define PIN_BATCH	32	/* pages that are pinned in one call */
#define WINDOW_BYTES	(PMOF_WINDOW_PAGES * PAGE_SIZE)

/* Other memory is copied. */
bool pmof_window_takes(const struct iov_iter *iter)
{
	return user_backed_iter(iter) || iov_iter_is_bvec(iter);
}

static bool is_last(const struct pmof_window *w, const struct page *page, u32 offset)
{
	const struct bio_vec *last = &w->vec[w->nr - 1];
	u32 end = last->bv_offset + last->bv_len;

	return !offset && PAGE_ALIGNED(end) &&
	       page_to_pfn(page) == page_to_pfn(last->bv_page) + end / PAGE_SIZE;
}

/*
 * Pages that are neighbours become one part: whole pages only, so that a part
 * has as many pins as it has pages.
 */
static void window_add(struct pmof_req *req, struct page *page, u32 offset, u32 len)
{
	size_t most = req->q->conn->max_sge_bytes;
	struct pmof_window *w = &req->window;

	if (w->nr && is_last(w, page, offset) && (size_t)w->vec[w->nr - 1].bv_len + len <= most) {
		w->vec[w->nr - 1].bv_len += len;
		return;
	}
	w->vec[w->nr++] = (struct bio_vec) {
		.bv_page = page, .bv_offset = offset, .bv_len = len,
	};
}

static unsigned int gup_flags(const struct pmof_req *req)
{
	return (req->opcode == PMOF_OP_GET ? FOLL_WRITE : 0) | (req->nowait ? FOLL_NOFAULT : 0);
}

/* Pins the next pages of the iterator's current segment; returns their bytes or -errno. */
static s64 pin_some(struct pmof_req *req, size_t len)
{
	unsigned long addr = pmof_iter_addr(&req->iter);
	u32 offset = offset_in_page(addr);
	struct page *pages[PIN_BATCH];
	int nr, i;

	nr = min3((size_t)PIN_BATCH, DIV_ROUND_UP(offset + len, PAGE_SIZE),
		  (size_t)(req->window.room - req->window.nr));
	nr = pin_user_pages_fast(addr & PAGE_MASK, nr, gup_flags(req), pages);
	if (nr <= 0)
		return req->nowait ? -EAGAIN : nr ?: -EFAULT;
	len = min(len, nr * PAGE_SIZE - offset);
	for (i = 0; i < nr; i++) {
		u32 first = i ? 0 : offset;

		window_add(req, pages[i], first,
			   min(PAGE_SIZE - first, offset + len - i * PAGE_SIZE - first));
	}
	return len;
}

/* The same of a bio_vec. */
static s64 take_some(struct pmof_req *req, size_t len)
{
	const struct bio_vec *vec = req->iter.bvec;
	u32 offset = vec->bv_offset + req->iter.iov_offset;

	len = min_t(size_t, len, req->q->conn->max_sge_bytes);
	window_add(req, vec->bv_page + offset / PAGE_SIZE, offset_in_page(offset), len);
	return len;
}

/**
 * pmof_window_next - take the next window out of a request's iterator
 * @req: pmof_window_init() was called, and the last window has been released
 *
 * Sleeps, unless req->nowait.  Return: its bytes, or -EFAULT, -ENOMEM, -EAGAIN;
 * pmof_window_release() must follow all the same.
 */
s64 pmof_window_next(struct pmof_req *req)
{
	struct pmof_window *w = &req->window;
	s64 bytes = 0, n;

	iov_iter_advance(&req->iter, 0);	/* past empty segments */
	while (w->nr < w->room && bytes < WINDOW_BYTES && iov_iter_count(&req->iter)) {
		size_t len = min_t(size_t, iov_iter_single_seg_count(&req->iter),
				   WINDOW_BYTES - bytes);

		n = w->pinned ? pin_some(req, len) : take_some(req, len);
		if (n < 0)
			return n;
		iov_iter_advance(&req->iter, n);
		bytes += n;
	}
	return bytes;
}

/* As block devices do it: before a READ, since afterwards nobody may be able to sleep. */
void pmof_window_mark_dirty(const struct pmof_window *w)
{
	unsigned int i;
	u32 at;

	for (i = 0; i < w->nr; i++)
		for (at = 0; at < w->vec[i].bv_offset + w->vec[i].bv_len; at += PAGE_SIZE)
			set_page_dirty_lock(w->vec[i].bv_page + at / PAGE_SIZE);
}

/* False: somebody has written one back meanwhile; it must be marked again. */
bool pmof_window_is_dirty(const struct pmof_window *w)
{
	unsigned int i;
	u32 at;

	for (i = 0; i < w->nr; i++)
		for (at = 0; at < w->vec[i].bv_offset + w->vec[i].bv_len; at += PAGE_SIZE)
			if (!PageDirty(w->vec[i].bv_page + at / PAGE_SIZE))
				return false;
	return true;
}

/* Nothing of the window is under way any more.  @dirty: its pages are marked; sleeps. */
void pmof_window_release(struct pmof_req *req, bool dirty)
{
	struct pmof_window *w = &req->window;
	unsigned int i;

	for (i = 0; w->pinned && i < w->nr; i++) {
		const struct bio_vec *vec = &w->vec[i];

		unpin_user_page_range_dirty_lock(vec->bv_page,
						 DIV_ROUND_UP(vec->bv_offset + vec->bv_len,
							      PAGE_SIZE), dirty);
	}
	w->nr = 0;
}

/* Frees the array, after the last pmof_window_release().  Any context. */
void pmof_window_end(struct pmof_req *req)
{
	if (req->window.vec != req->window.few)
		kvfree(req->window.vec);
	req->window.vec = NULL;
}

/*
 * A bad pointer must be found before the first byte is written: one window is
 * pinned as a whole; what needs more is touched beforehand.  In parts: it may be all that the
 * user can map.  Return: 0, -EFAULT, -EINTR.
 */
int pmof_window_prefault(const struct pmof_req *req, size_t bytes)
{
	struct iov_iter iter = req->iter;
	size_t n, left;

	for (; bytes; bytes -= n) {
		n = min_t(size_t, bytes, SZ_8M);
		left = req->opcode == PMOF_OP_GET ? fault_in_iov_iter_writeable(&iter, n) :
						    fault_in_iov_iter_readable(&iter, n);
		if (left)
			return -EFAULT;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
		iov_iter_advance(&iter, n);
	}
	return 0;
}

/*
 * Room for any window of the request: once, so that no later one can fail for it.
 * Return: 0, -EFAULT, -EINTR, -ENOMEM.
 */
int pmof_window_init(struct pmof_req *req)
{
	gfp_t gfp = req->nowait ? GFP_NOWAIT | __GFP_NOWARN : GFP_KERNEL_ACCOUNT;
	int nr = iov_iter_npages(&req->iter, PMOF_WINDOW_PAGES + 1);
	struct pmof_window *w = &req->window;

	w->pinned = user_backed_iter(&req->iter);
	if (w->pinned && nr > PMOF_WINDOW_PAGES) {
		int rc = pmof_window_prefault(req, iov_iter_count(&req->iter));

		if (rc)
			return rc;
	}
	w->vec = w->few;
	w->room = ARRAY_SIZE(w->few);
	if (nr > w->room) {
		w->room = min(nr, PMOF_WINDOW_PAGES);
		w->vec = kvmalloc_array(w->room, sizeof(*w->vec), gfp);
	}
	return w->vec ? 0 : -ENOMEM;
}
