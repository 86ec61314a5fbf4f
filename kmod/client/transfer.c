// SPDX-License-Identifier: GPL-2.0
/* Puts, gets and atomics as chains of RDMA requests: pin or copy, split, post. */
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
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

/* Copies from the iterator into @to without a page fault; false: there would be one. */
static bool copy_from(struct pmof_req *req, void *to, size_t bytes)
{
	size_t n;

	pagefault_disable();
	n = copy_from_iter(to, bytes, &req->iter);
	pagefault_enable();
	if (n == bytes)
		return true;
	iov_iter_revert(&req->iter, n);
	return false;
}

/*
 * A slot with a put's data in it.  Nobody sits in a page fault, which user
 * space may serve, with a slot in hand: others wait for it.
 */
static struct pmof_slot *get_filled_slot(struct pmof_req *req)
{
	size_t bytes = pmof_req_bytes(req);
	struct pmof_slot *slot;

	for (;;) {
		slot = pmof_slot_get(req->q, req);
		if (IS_ERR(slot) || copy_from(req, slot->bounce.data, bytes))
			return slot;
		pmof_slot_put(slot);
		if (req->nowait)
			return ERR_PTR(-EAGAIN);
		if (fault_in_iov_iter_readable(&req->iter, bytes))
			return ERR_PTR(-EFAULT);
		/* Somebody may take the pages away as fast as they come. */
		if (fatal_signal_pending(current))
			return ERR_PTR(-EINTR);
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

/* False: it may be that only a page fault was in the way. */
static bool copy_to(struct pmof_req *req, const void *from)
{
	size_t n = copy_to_iter(from, req->length, &req->iter);

	if (n == req->length)
		return true;
	iov_iter_revert(&req->iter, n);
	return false;
}

/* A bounced get has failed: its buffer has what was there before, perhaps another's. */
static void forget(struct pmof_req *req)
{
	struct pmof_slot *slot = req->kept;

	req->kept = NULL;
	pmof_slot_put(slot);
}

/* Copies it to its owner and frees its slot.  Return: 0, -EFAULT, -ENOMEM. */
static int deliver(struct pmof_req *req)
{
	struct pmof_slot *slot = req->kept;
	unsigned int noio = memalloc_noio_save();
	void *copy = NULL;
	bool delivered;

	/*
	 * With a slot in hand not through a page fault or writeback, which may want one; into a
	 * pipe the copy takes pages (6.1).
	 */
	pagefault_disable();
	delivered = copy_to(req, slot->bounce.data);
	pagefault_enable();
	if (!delivered)
		copy = kmemdup(slot->bounce.data, req->length, GFP_NOIO | __GFP_ACCOUNT);
	memalloc_noio_restore(noio);
	req->kept = NULL;
	pmof_slot_put(slot);
	if (delivered)
		return 0;
	if (!copy)
		return -ENOMEM;
	delivered = copy_to(req, copy);
	kfree(copy);
	return delivered ? 0 : -EFAULT;
}

/**
 * pmof_transfer_end - end a request whose slots are done
 * @req: of a bounced get the slot is freed, and the owner has the data if it has succeeded
 * @rc: what has become of it
 *
 * Return: @rc, -EFAULT or -ENOMEM.  Sleeps.
 */
int pmof_transfer_end(struct pmof_req *req, int rc)
{
	if (!req->kept)
		return rc;
	if (!rc)
		return deliver(req);
	forget(req);
	return rc;
}

static enum dma_data_direction req_dir(const struct pmof_req *req)
{
	return req->opcode == PMOF_OP_GET ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
}

/* SGEs that one slot may have. */
static u32 max_sge(const struct pmof_req *req)
{
	return pmof_queue_max_sge(req->q, req_dir(req));
}

/* A place in a window. */
struct cursor {
	const struct bio_vec *vec;
	u32 done;	/* bytes of it */
};

/* Bytes from @at on, of @bytes, that one slot can carry. */
static u64 slot_room(const struct pmof_req *req, const struct cursor *at, u64 bytes)
{
	u64 room = at->vec->bv_len - at->done;
	u32 i;

	for (i = 1; room < bytes && i < max_sge(req); i++)
		room += at->vec[i].bv_len;
	return min(room, bytes);
}

static int map_piece(struct pmof_slot *slot, struct cursor *at, u64 bytes)
{
	int rc = 0;

	while (bytes && !rc) {
		u32 len = min_t(u64, bytes, at->vec->bv_len - at->done);

		rc = pmof_slot_map(slot, at->vec->bv_page, at->vec->bv_offset + at->done, len);
		bytes -= len;
		at->done += len;
		if (at->done == at->vec->bv_len) {
			at->vec++;
			at->done = 0;
		}
	}
	return rc;
}

/* Posts a piece, and moves @at behind it. */
static int issue_piece(struct pmof_req *req, struct cursor *at, const struct pmof_range *piece,
		       const struct pmof_range *window)
{
	struct pmof_conn *conn = req->q->conn;
	struct pmof_slot *slot;
	int rc;

	slot = pmof_slot_get(req->q, req);
	if (!pmof_slot_begin(slot, &rc))
		return rc;
	pmof_slot_map_begin(slot, req_dir(req));
	rc = map_piece(slot, at, piece->length);
	if (!rc) {
		post_piece(slot, piece, window);
	} else {
		pmof_slot_unmap(slot);
		pmof_conn_leave(conn);
		pmof_slot_put(slot);
	}
	pmof_post_end();
	return rc;
}

/* Posts the window: @bytes from @done bytes into the request. */
static int issue_window(struct pmof_req *req, u64 done, u64 bytes)
{
	struct pmof_range window = { req->offset + done, bytes };
	const struct pmof_layout *layout = &req->q->conn->layout;
	struct cursor at = { req->window.vec };

	while (bytes) {
		struct pmof_range piece = { req->offset + done };
		int rc;

		piece.length = slot_room(req, &at, pmof_layout_piece(layout, piece.offset, bytes));
		rc = issue_piece(req, &at, &piece, piece.length == bytes ? &window : NULL);
		if (rc)
			return rc;
		done += piece.length;
		bytes -= piece.length;
	}
	return 0;
}

static int transfer_pinned(struct pmof_req *req)
{
	u64 done = 0;
	s64 bytes;
	int rc;

	rc = pmof_window_init(req);
	while (!rc && done < pmof_req_bytes(req)) {
		if (done) {
			rc = pmof_req_wait(req);
			if (!rc && !req->unkillable && fatal_signal_pending(current))
				rc = -EINTR;
			if (rc)
				break;
		}
		bytes = pmof_window_next(req);
		if (bytes < 0)
			return bytes;
		/* Nobody may be able to sleep when it has come. */
		if (req->end && req->opcode == PMOF_OP_GET && req->window.pinned)
			pmof_window_mark_dirty(&req->window);
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
	if (!pmof_window_takes(&req->iter))
		return true;
	/* A bounced get keeps its slot until somebody has finished it: not in a pipeline. */
	return pmof_req_bytes(req) <= req->copy_max && in_one_segment(req) &&
	       !((req->pipelined || req->end) && req->opcode == PMOF_OP_GET);
}

/* Whether pmof_transfer() will move it with one slot. */
bool pmof_transfer_one_piece(const struct pmof_req *req)
{
	return is_bounced(req) ||
	       (in_one_segment(req) &&
		iov_iter_npages(&req->iter, max_sge(req) + 1) <= max_sge(req));
}

/**
 * pmof_transfer - issue a put or a get
 * @req: checked, begun
 *
 * What is under way on return (also with an error) pmof_req_finish() waits
 * for.  Return: 0, -EFAULT, -ENOMEM, -EINTR, -EIO, -ENODEV.  Sleeps; with
 * req->nowait it does not, and -EAGAIN says that nothing has been posted.
 */
int pmof_transfer(struct pmof_req *req)
{
	if (!pmof_req_bytes(req))
		return 0;
	if (req->nowait && !pmof_transfer_one_piece(req))
		return -EAGAIN;
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
