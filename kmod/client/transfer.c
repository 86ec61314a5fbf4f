// SPDX-License-Identifier: GPL-2.0
/* Puts, gets and atomics as chains of RDMA requests: pin or copy, split, post. */
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "client.h"

static void post_read(struct pmof_slot *slot, const struct pmof_range *piece)
{
	struct ib_rdma_wr wr[PMOF_SLOT_WR];
	struct pmof_req *req = slot->req;
	struct pmof_chain chain;

	pmof_rdma_build(slot, wr, &chain, IB_WR_RDMA_READ, piece->offset);
	if ((req->flags & PMOF_F_VALID) && piece->length == req->length)
		pmof_valid_post(slot, &chain);
	else
		pmof_slot_post(slot, chain.first, 1);
}

/* A piece of a durable put: the last one of @window, or NULL if there follow more. */
static void post_durable(struct pmof_slot *slot, struct pmof_chain *chain,
			 const struct pmof_range *piece, const struct pmof_range *window)
{
	struct pmof_req *req = slot->req;
	const struct pmof_persist_ops *ops = req->persist;
	const struct pmof_range *range = ops->each_piece ? piece : window;
	u64 end = req->offset + pmof_req_bytes(req);

	/*
	 * Behind every earlier piece: they are on the same queue, and what comes
	 * with the last one cleans their marks.  If that never comes (a signal),
	 * the marks say that these pieces may still be in the server's HCA.
	 */
	if (!range) {
		pmof_slot_post(slot, chain->first, 1);
		pmof_queue_mark_dirty(req->q);
	} else if ((req->flags & PMOF_F_COMMIT) && range->offset + range->length == end) {
		ops->post_commit(slot, chain, range);
	} else {
		ops->post_durable(slot, chain, range);
	}
}

/*
 * Posts one piece of a put or get.  With the last piece of a window comes
 * @window, the range to make durable.
 */
static void post_piece(struct pmof_slot *slot, const struct pmof_range *piece,
		       const struct pmof_range *window)
{
	struct ib_rdma_wr wr[PMOF_SLOT_WR];
	struct pmof_req *req = slot->req;
	struct pmof_chain chain;

	if (req->opcode == PMOF_OP_GET) {
		post_read(slot, piece);
		return;
	}
	pmof_rdma_build(slot, wr, &chain, IB_WR_RDMA_WRITE, piece->offset);
	if (req->flags & (PMOF_F_PERSIST | PMOF_F_COMMIT)) {
		post_durable(slot, &chain, piece, window);
	} else {
		pmof_slot_post(slot, chain.first, 1);
		pmof_queue_mark_dirty(req->q);
	}
}

/*
 * A slot with a put's data in it.  Nobody sits in a page fault, which user
 * space may serve, with a slot in hand: others wait for it.
 */
static struct pmof_slot *get_filled_slot(struct pmof_req *req)
{
	void __user *addr = u64_to_user_ptr(req->addr);
	u64 bytes = pmof_req_bytes(req);
	struct pmof_slot *slot;
	unsigned long left;

	for (;;) {
		slot = pmof_slot_get(req->q, req);
		if (IS_ERR(slot))
			return slot;
		pagefault_disable();
		left = __copy_from_user_inatomic(slot->bounce.data, addr, bytes);
		pagefault_enable();
		if (!left)
			return slot;
		pmof_slot_put(slot);
		if (fault_in_readable(addr, bytes))
			return ERR_PTR(-EFAULT);
	}
}

/* Up to a page within one segment: through the slot's own buffer. */
static int transfer_bounced(struct pmof_req *req)
{
	bool get = req->opcode == PMOF_OP_GET;
	struct pmof_range all = { req->offset, pmof_req_bytes(req) };
	struct pmof_queue *q = req->q;
	struct pmof_slot *slot;
	int rc;

	slot = get ? pmof_slot_get(q, req) : get_filled_slot(req);
	if (!pmof_slot_begin(slot, &rc))
		return rc;
	if (get) {
		slot->keep = true;
		req->kept = slot;
	}
	pmof_slot_use_buf(slot, &slot->bounce, all.length);
	post_piece(slot, &all, &all);
	pmof_post_end();
	return 0;
}

/* Copies a finished bounced get to its owner and frees its slot.  Return: 0, -EFAULT, -ENOMEM. */
int pmof_transfer_deliver(struct pmof_req *req)
{
	void __user *addr = u64_to_user_ptr(req->addr);
	struct pmof_slot *slot = req->kept;
	unsigned long left;
	void *copy = NULL;

	pagefault_disable();
	left = __copy_to_user_inatomic(addr, slot->bounce.data, req->length);
	pagefault_enable();
	/* Not through a page fault with a slot in hand. */
	if (left)
		copy = kmemdup(slot->bounce.data, req->length, GFP_KERNEL_ACCOUNT);
	req->kept = NULL;
	pmof_slot_put(slot);
	if (!left)
		return 0;
	if (!copy)
		return -ENOMEM;
	left = copy_to_user(addr, copy, req->length);
	kfree(copy);
	return left ? -EFAULT : 0;
}

/* Posts the bytes that start @page_offset into pages[0]. */
static int issue_piece(struct pmof_req *req, struct page **pages, u32 page_offset,
		       const struct pmof_range *piece, const struct pmof_range *window)
{
	enum dma_data_direction dir = req->opcode == PMOF_OP_GET ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
	struct pmof_conn *conn = req->q->conn;
	struct pmof_slot *slot;
	int rc;

	slot = pmof_slot_get(req->q, req);
	if (!pmof_slot_begin(slot, &rc))
		return rc;
	pmof_slot_map_begin(slot, dir);
	rc = pmof_slot_map_pages(slot, pages, page_offset, piece->length);
	if (!rc) {
		post_piece(slot, piece, window);
	} else {
		pmof_conn_leave(conn);
		pmof_slot_put(slot);
	}
	pmof_post_end();
	return rc;
}

/* Pages that one slot may name. */
static u32 max_pages(const struct pmof_req *req)
{
	return req->opcode == PMOF_OP_GET ? req->q->read_sge : req->q->write_sge;
}

/* Posts the pinned window: @bytes from @done bytes into the request. */
static int issue_window(struct pmof_req *req, u64 done, u64 bytes)
{
	struct pmof_range window = { req->offset + done, bytes };
	const struct pmof_layout *layout = &req->q->conn->layout;
	u32 page_offset = offset_in_page(req->addr + done);
	struct page **pages = req->pages;
	u32 limit = max_pages(req);

	while (bytes) {
		u64 room = (u64)limit * PAGE_SIZE - page_offset;
		struct pmof_range piece = { req->offset + done };
		int rc;

		piece.length = min(pmof_layout_piece(layout, piece.offset, bytes), room);
		rc = issue_piece(req, pages, page_offset, &piece,
				 piece.length == bytes ? &window : NULL);
		if (rc)
			return rc;
		pages += (page_offset + piece.length) / PAGE_SIZE;
		page_offset = (page_offset + piece.length) % PAGE_SIZE;
		done += piece.length;
		bytes -= piece.length;
	}
	return 0;
}

/* Releases the window's pages.  Nothing of it is under way any more.  Sleeps. */
void pmof_transfer_unpin(struct pmof_req *req)
{
	if (req->nr_pages)
		unpin_user_pages_dirty_lock(req->pages, req->nr_pages,
					    req->opcode == PMOF_OP_GET);
	req->nr_pages = 0;
}

/* Ends what pmof_transfer() has begun; after the last pmof_transfer_unpin(). */
void pmof_transfer_end(struct pmof_req *req)
{
	if (req->pages != req->few_pages)
		kvfree(req->pages);
	req->pages = NULL;
}

/* The array for any window of the request: once, so that no later one can fail for it. */
static int alloc_pages_array(struct pmof_req *req)
{
	u64 nr = DIV_ROUND_UP(offset_in_page(req->addr) + pmof_req_bytes(req), PAGE_SIZE);

	req->pages = req->few_pages;
	if (nr > ARRAY_SIZE(req->few_pages))
		req->pages = kvmalloc_array(min_t(u64, nr, PMOF_WINDOW_PAGES),
					    sizeof(*req->pages), GFP_KERNEL_ACCOUNT);
	return req->pages ? 0 : -ENOMEM;
}

/* Pins the next window; returns its bytes or a negative errno. */
static s64 pin_window(struct pmof_req *req, u64 done)
{
	unsigned int gup = req->opcode == PMOF_OP_GET ? FOLL_WRITE : 0;
	unsigned long start = req->addr + done;
	u32 page_offset = offset_in_page(start);
	u64 bytes = min_t(u64, pmof_req_bytes(req) - done,
			  (u64)PMOF_WINDOW_PAGES * PAGE_SIZE - page_offset);
	int nr = DIV_ROUND_UP(page_offset + bytes, PAGE_SIZE);

	start &= PAGE_MASK;
	while (req->nr_pages < nr) {
		int n = pin_user_pages_fast(start + (u64)req->nr_pages * PAGE_SIZE,
					    nr - req->nr_pages, gup, req->pages + req->nr_pages);

		if (n <= 0)
			return n ?: -EFAULT;
		req->nr_pages += n;
	}
	return bytes;
}

/*
 * A bad pointer must be found before the first byte is written: one window is
 * pinned as a whole; what needs more is touched beforehand.
 */
static int prefault(const struct pmof_req *req)
{
	char __user *addr = u64_to_user_ptr(req->addr);
	u64 bytes = pmof_req_bytes(req);

	if (bytes <= (PMOF_WINDOW_PAGES - 1) * PAGE_SIZE)
		return 0;
	if (req->opcode == PMOF_OP_GET)
		return fault_in_safe_writeable(addr, bytes) ? -EFAULT : 0;
	return fault_in_readable(addr, bytes) ? -EFAULT : 0;
}

static int transfer_pinned(struct pmof_req *req)
{
	u64 done = 0;
	s64 bytes;
	int rc;

	rc = prefault(req);
	if (!rc)
		rc = alloc_pages_array(req);
	while (!rc && done < pmof_req_bytes(req)) {
		if (done) {
			rc = pmof_req_wait(req);
			if (rc)
				break;
		}
		bytes = pin_window(req, done);
		if (bytes < 0)
			return bytes;
		rc = issue_window(req, done, bytes);
		done += bytes;
	}
	return rc;
}

static bool in_one_segment(const struct pmof_req *req)
{
	u64 bytes = pmof_req_bytes(req);

	return pmof_layout_piece(&req->q->conn->layout, req->offset, bytes) == bytes;
}

static bool is_bounced(const struct pmof_req *req)
{
	/* A bounced get keeps its slot until it is finished: not in a pipeline. */
	return pmof_req_bytes(req) <= PMOF_BOUNCE_SIZE && in_one_segment(req) &&
	       !(req->pipelined && req->opcode == PMOF_OP_GET);
}

/* Whether pmof_transfer() will move it with one slot. */
bool pmof_transfer_one_piece(const struct pmof_req *req)
{
	u64 room = (u64)max_pages(req) * PAGE_SIZE - offset_in_page(req->addr);

	return is_bounced(req) || (in_one_segment(req) && pmof_req_bytes(req) <= room);
}

/**
 * pmof_transfer - issue a put or a get
 * @req: checked, begun
 *
 * What is under way on return (also with an error) pmof_req_finish() waits
 * for.  Return: 0, -EFAULT, -ENOMEM, -EINTR, -EIO, -ENODEV.  Sleeps.
 */
int pmof_transfer(struct pmof_req *req)
{
	if (!req->length)
		return 0;
	return is_bounced(req) ? transfer_bounced(req) : transfer_pinned(req);
}

static void atomic_wr_init(struct pmof_slot *slot, struct ib_atomic_wr *wr)
{
	struct pmof_req *req = slot->req;
	struct ib_rdma_wr where;

	memset(wr, 0, sizeof(*wr));
	pmof_rdma_wr_init(slot, &where, IB_WR_ATOMIC_CMP_AND_SWP, req->offset);
	wr->wr = where.wr;
	wr->remote_addr = where.remote_addr;
	wr->rkey = where.rkey;
	if (req->opcode == PMOF_OP_CAS) {
		wr->compare_add = req->compare;
		wr->swap = req->operand;
	} else {
		wr->wr.opcode = IB_WR_ATOMIC_FETCH_AND_ADD;
		wr->compare_add = req->operand;
	}
}

/* As pmof_transfer(), for CAS and FETCH_ADD; the old value comes with the completion. */
int pmof_transfer_atomic(struct pmof_req *req)
{
	struct pmof_range word = { req->offset, sizeof(u64) };
	struct pmof_queue *q = req->q;
	struct pmof_chain chain = { };
	struct pmof_slot *slot;
	struct ib_atomic_wr wr;
	int rc;

	slot = pmof_slot_get(q, req);
	if (!pmof_slot_begin(slot, &rc))
		return rc;
	slot->atomic = true;
	pmof_slot_use_buf(slot, &slot->bounce, sizeof(u64));
	atomic_wr_init(slot, &wr);
	pmof_chain_add(&chain, &wr.wr);
	if (req->flags & PMOF_F_PERSIST) {
		req->persist->post_durable(slot, &chain, &word);
	} else {
		pmof_slot_post(slot, chain.first, 1);
		pmof_queue_mark_dirty(q);
	}
	pmof_post_end();
	return 0;
}
