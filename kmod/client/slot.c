// SPDX-License-Identifier: GPL-2.0
/*
 * Slots: a slot holds everything that one RDMA request of an operation needs,
 * so that nothing is allocated between an operation's start and its end.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "blk.h"
#include "client.h"
#include "compat.h"
#include "rdma_flush.h"
#include "trace.h"

static void slot_send_done(struct ib_cq *cq, struct ib_wc *wc);
static void slot_error_done(struct ib_cq *cq, struct ib_wc *wc);

/* What only an operation's slot needs. */
static int slot_init_char(struct pmof_slot *slot, struct ib_device *dev)
{
	u32 size = max_t(u32, PMOF_BOUNCE_SIZE, slot->q->conn->login.call_size);
	int rc = pmof_buf_init(&slot->bounce, dev, size, DMA_BIDIRECTIONAL);

	if (rc)
		return rc;
	return pmof_buf_init(&slot->trailers, dev, 2 * PMOF_TRAILER_SIZE, DMA_FROM_DEVICE);
}

static int slot_init(struct pmof_slot *slot, struct pmof_queue *q, u16 tag)
{
	struct ib_device *dev = q->conn->ibdev;
	bool block = tag >= q->nr_char;
	int rc;

	slot->q = q;
	slot->tag = tag;
	slot->cqe.done = slot_send_done;
	slot->err_cqe.done = slot_error_done;
	slot->done = block ? pmof_blk_slot_done : pmof_req_slot_done;
	rc = pmof_buf_init(&slot->msg, dev, PMOF_SLOT_MSG_SIZE, DMA_TO_DEVICE);
	if (rc || block)
		return rc;
	return slot_init_char(slot, dev);
}

static void slots_free(struct pmof_slot *slots, u16 nr, struct ib_device *dev)
{
	u16 i;

	for (i = 0; i < nr; i++) {
		pmof_buf_free(&slots[i].bounce, dev);
		pmof_buf_free(&slots[i].msg, dev);
		pmof_buf_free(&slots[i].trailers, dev);
	}
	kvfree(slots);
}

/* The queue's depth is final.  The receive handler may run already. */
int pmof_slot_alloc_all(struct pmof_queue *q)
{
	struct pmof_slot *slots;
	u16 i;
	int rc;

	slots = kvcalloc(q->depth, sizeof(*slots), GFP_KERNEL);
	if (!slots)
		return -ENOMEM;
	for (i = 0, rc = 0; i < q->depth && !rc; i++)
		rc = slot_init(&slots[i], q, i);
	if (!rc)
		rc = sbitmap_queue_init_node(&q->tags, q->nr_char, -1, false, GFP_KERNEL,
					     NUMA_NO_NODE);
	/* A CALL may keep its slot for long: who waits is woken for each, or for two, not eight. */
	if (!rc)
		sbitmap_queue_min_shallow_depth(&q->tags, 1);
	if (rc) {
		slots_free(slots, i, q->conn->ibdev);
		return rc;
	}
	/* Pairs with pmof_slot_take_reply(): who sees the slots sees the depth that fits them. */
	smp_store_release(&q->slots, slots);
	return 0;
}

/* Gives the buffers, after pmof_slot_unmap_all(), to the device that there is now. */
int pmof_slot_map_all(struct pmof_queue *q)
{
	struct ib_device *dev = q->conn->ibdev;
	int rc = 0;
	u16 i;

	for (i = 0; i < q->depth && !rc; i++) {
		struct pmof_slot *slot = &q->slots[i];

		rc = pmof_buf_map(&slot->msg, dev);
		if (!rc && slot->bounce.data)
			rc = pmof_buf_map(&slot->bounce, dev);
		if (!rc && slot->trailers.data)
			rc = pmof_buf_map(&slot->trailers, dev);
	}
	return rc;
}

void pmof_slot_unmap_all(struct pmof_queue *q)
{
	u16 i;

	for (i = 0; q->slots && i < q->depth; i++) {
		pmof_buf_unmap(&q->slots[i].bounce, q->conn->ibdev);
		pmof_buf_unmap(&q->slots[i].msg, q->conn->ibdev);
		pmof_buf_unmap(&q->slots[i].trailers, q->conn->ibdev);
	}
}

/* The buffers are unmapped already; a thread may have looked at them until now. */
void pmof_slot_free_all(struct pmof_queue *q)
{
	if (!q->slots)
		return;
	slots_free(q->slots, q->depth, NULL);
	q->slots = NULL;
	sbitmap_queue_free(&q->tags);
}

/* Who was woken, and goes without a tag: the next one hears of it. */
static void tag_pass_on(struct pmof_queue *q)
{
	unsigned int cpu;
	int tag = sbitmap_queue_get(&q->tags, &cpu);

	if (tag >= 0)
		sbitmap_queue_clear(&q->tags, tag, cpu);
}

/*
 * Sleeps until a tag is free.  Whoever waits here holds no slot that is not posted; but nobody
 * else may be looking whether those that are get an answer: the teardown frees them.
 */
static int tag_wait(struct pmof_queue *q, bool killable, unsigned int *cpu)
{
	struct sbq_wait_state *ws = sbq_wait_ptr(&q->tags, &q->wait_index);
	unsigned long since = jiffies;
	DEFINE_SBQ_WAIT(wait);
	int tag;

	for (;;) {
		sbitmap_prepare_to_wait(&q->tags, ws, &wait,
					killable ? TASK_KILLABLE : TASK_UNINTERRUPTIBLE);
		tag = sbitmap_queue_get(&q->tags, cpu);
		if (tag >= 0)
			break;
		if (killable && fatal_signal_pending(current)) {
			tag = -EINTR;
			break;
		}
		if (!io_schedule_timeout(pmof_check_interval()) && pmof_queue_stuck(q, since)) {
			pmof_conn_lost(q->conn, PMOF_NO_ANSWER);
			since = jiffies;
		}
	}
	sbitmap_finish_wait(&q->tags, ws, &wait);
	if (tag < 0)
		tag_pass_on(q);
	return tag;
}

/* Makes a slot fresh that is with nobody. */
void pmof_slot_reset(struct pmof_slot *slot)
{
	slot->req = NULL;
	slot->status = 0;
	slot->keep = false;
	slot->atomic = false;
	slot->nr_trailers = 0;
	slot->nr_objects = 0;
	slot->get = NULL;
	slot->clean_to = -1;
	slot->nr_mapped = 0;
	slot->nr_sge = 0;
	slot->leads = false;
	slot->riders = NULL;
}

/**
 * pmof_slot_get - reserve a slot for a request
 * @q: queue
 * @req: owner
 *
 * Return: the slot, or ERR_PTR(-EINTR) on a fatal signal.  Sleeps; with req->nowait
 * it does not, and returns ERR_PTR(-EAGAIN).
 */
struct pmof_slot *pmof_slot_get(struct pmof_queue *q, struct pmof_req *req)
{
	struct pmof_slot *slot;
	unsigned int cpu;
	int tag;

	tag = sbitmap_queue_get(&q->tags, &cpu);
	if (tag < 0)
		tag = req->nowait ? -EAGAIN : tag_wait(q, !req->unkillable, &cpu);
	if (tag < 0)
		return ERR_PTR(tag);
	slot = &q->slots[tag];
	pmof_slot_reset(slot);
	slot->done = pmof_req_slot_done;
	slot->req = req;
	return slot;
}

/* Gives a slot back that is not with the HCA. */
void pmof_slot_put(struct pmof_slot *slot)
{
	sbitmap_queue_clear(&slot->q->tags, slot->tag, raw_smp_processor_id());
}

/* The request's data are the first @len bytes of a mapped buffer. */
void pmof_slot_use_buf(struct pmof_slot *slot, struct pmof_buf *b, u32 len)
{
	pmof_buf_for_dev(b, slot->q->qp.dev, len);
	slot->sge[0].addr = b->dma;
	slot->sge[0].length = len;
	slot->sge[0].lkey = slot->q->conn->pd->local_dma_lkey;
	slot->nr_sge = 1;
}

/* What pmof_slot_map() will add is the request's data; for a put DMA_TO_DEVICE. */
void pmof_slot_map_begin(struct pmof_slot *slot, enum dma_data_direction dir)
{
	slot->dir = dir;
	slot->nr_sge = 0;
	slot->nr_mapped = 0;
}

/**
 * pmof_slot_map - add memory to a slot's data
 * @slot: pmof_slot_map_begin() was called
 * @page: first page
 * @offset: where the data start in it
 * @len: bytes; may go on into the pages that follow it in memory
 *
 * The caller is inside pmof_post_begin().  Any context.  Return: 0; -ENOMEM
 * (mapping failed) or -EIO (more than the slot may have): then pmof_slot_unmap()
 * must follow.
 */
int pmof_slot_map(struct pmof_slot *slot, struct page *page, u32 offset, u32 len)
{
	struct ib_device *dev = slot->q->qp.dev;
	struct ib_sge *sge = &slot->sge[slot->nr_sge];

	/* Whoever fills a slot has counted. */
	if (WARN_ON_ONCE(slot->nr_sge == pmof_queue_max_sge(slot->q, slot->dir)))
		return -EIO;
	sge->addr = ib_dma_map_page(dev, page, offset, len, slot->dir);
	if (unlikely(ib_dma_mapping_error(dev, sge->addr)))
		return -ENOMEM;
	sge->length = len;
	sge->lkey = slot->q->conn->pd->local_dma_lkey;
	slot->nr_sge++;
	slot->nr_mapped++;
	return 0;
}

static bool follows(const struct bio_vec *run, const struct bio_vec *bv)
{
	return run->bv_len && page_to_phys(run->bv_page) + run->bv_offset + run->bv_len ==
			      page_to_phys(bv->bv_page) + bv->bv_offset;
}

/**
 * pmof_slot_map_next - add memory to a slot's data in parts; neighbours become one SGE
 * @slot: as for pmof_slot_map()
 * @run: what has been given and not been mapped yet; empty at first
 * @next: the next part; NULL: there is none, map what is left
 *
 * A run longer than an SGE may be becomes several: never more than its parts
 * would be by themselves.  Return: as pmof_slot_map().
 */
int pmof_slot_map_next(struct pmof_slot *slot, struct bio_vec *run, const struct bio_vec *next)
{
	int rc = 0;

	if (next && follows(run, next)) {
		run->bv_len += next->bv_len;
		return 0;
	}
	while (!rc && run->bv_len) {
		u32 n = min(run->bv_len, slot->q->conn->max_sge_bytes);

		rc = pmof_slot_map(slot, run->bv_page + run->bv_offset / PAGE_SIZE,
				   offset_in_page(run->bv_offset), n);
		run->bv_offset += n;
		run->bv_len -= n;
	}
	if (next)
		*run = *next;
	return rc;
}

/* The HCA is done with what was mapped.  Any context. */
void pmof_slot_unmap(struct pmof_slot *slot)
{
	struct ib_device *dev = slot->q->qp.dev;

	while (slot->nr_mapped) {
		const struct ib_sge *sge = &slot->sge[--slot->nr_mapped];

		ib_dma_unmap_page(dev, sge->addr, sge->length, slot->dir);
	}
}

/* What the server answered, to where it belongs.  Returns 0 or a negative errno. */
static int slot_deliver(struct pmof_slot *slot)
{
	if (slot->atomic)
		slot->req->old = *(u64 *)slot->bounce.data;
	else if (slot->nr_objects)
		pmof_objects_done(slot);
	else if (slot->nr_trailers)
		return pmof_trailers_done(slot);
	return 0;
}

/* Of an operation's slot.  Once pmof_req_piece_done() is called the request may be gone. */
void pmof_req_slot_done(struct pmof_slot *slot, int status)
{
	struct pmof_req *req = slot->req;

	if (slot->keep || slot->atomic)
		pmof_buf_for_cpu(&slot->bounce, slot->q->qp.dev, PMOF_BOUNCE_SIZE);
	/*
	 * [P1] A SEND behind it may have taken its mark, and was delivered while it was under way:
	 * again, before anybody can learn that it has completed.  One with PERSIST is durable.
	 */
	if (slot->atomic && !status && !(req->flags & PMOF_F_PERSIST))
		pmof_queue_mark_dirty(slot->q);
	if (!status)
		status = slot_deliver(slot);
	if (!slot->keep)
		pmof_slot_put(slot);
	pmof_req_piece_done(req, status);
}

/*
 * The HCA is done with the slot, which done() gives away.  The reference on the
 * connection goes last: the teardown frees the queue pair after it.
 */
static void slot_finish(struct pmof_slot *slot)
{
	struct pmof_queue *q = slot->q;
	struct pmof_conn *conn = q->conn;

	if (slot->leads && pmof_train_split(slot))
		return;
	pmof_slot_unmap(slot);
	WRITE_ONCE(slot->watched, false);
	if (slot->clean_to >= 0 && !slot->status)
		pmof_queue_mark_clean(q, slot->clean_to);
	trace_pmof_complete(conn->instance, q->id, slot->tag, slot->status);
	if (slot->leads)
		pmof_train_end(slot);
	slot->done(slot, slot->status);
	pmof_conn_leave(conn);
}

/* One of the events that a posted slot waits for has happened. */
void pmof_slot_event(struct pmof_slot *slot)
{
	if (atomic_dec_and_test(&slot->pending))
		slot_finish(slot);
}

static void slot_fail(struct pmof_slot *slot, struct ib_wc *wc)
{
	slot->status = -PMOF_LOST;
	if (wc->status != IB_WC_WR_FLUSH_ERR)
		pmof_stat_inc(slot->q->conn->stats, PMOF_STAT_ERRORS);
	pmof_conn_lost(slot->q->conn, ib_wc_status_msg(wc->status));
}

static void slot_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct pmof_slot *slot = container_of(wc->wr_cqe, struct pmof_slot, cqe);

	pmof_stat_inc(slot->q->conn->stats, PMOF_STAT_COMPLETIONS);
	if (wc->status == IB_WC_SUCCESS)
		pmof_queue_hear(slot->q);
	else
		slot_fail(slot, wc);
	pmof_slot_event(slot);
}

/* An unsignaled work request completes only in error; the last one's flush follows. */
static void slot_error_done(struct ib_cq *cq, struct ib_wc *wc)
{
	slot_fail(container_of(wc->wr_cqe, struct pmof_slot, err_cqe), wc);
}

/*
 * Takes the event of @tag's reply: whoever gets the slot, and nobody else, calls
 * pmof_slot_event() for it, and has the slot and its request until then.  NULL
 * if no reply is awaited.
 */
struct pmof_slot *pmof_slot_take_reply(struct pmof_queue *q, u16 tag)
{
	/* Pairs with pmof_slot_alloc_all(): their depth comes with them. */
	struct pmof_slot *slots = smp_load_acquire(&q->slots);

	if (!slots || tag >= q->depth || !test_and_clear_bit(PMOF_SLOT_REPLY, &slots[tag].flags))
		return NULL;
	return &slots[tag];
}

/* The same for the teardown, behind the drain: also of what only that ends. */
struct pmof_slot *pmof_slot_take_drained(struct pmof_queue *q, u16 tag)
{
	if (test_and_clear_bit(PMOF_SLOT_DRAIN, &q->slots[tag].flags))
		return &q->slots[tag];
	return pmof_slot_take_reply(q, tag);
}

static const u8 stat_of_opcode[] = {
	[IB_WR_RDMA_WRITE]		= PMOF_STAT_WR_WRITE,
	[IB_WR_RDMA_READ]		= PMOF_STAT_WR_READ,
	[IB_WR_SEND]			= PMOF_STAT_WR_SEND,
	[IB_WR_ATOMIC_CMP_AND_SWP]	= PMOF_STAT_WR_CAS,
	[IB_WR_ATOMIC_FETCH_AND_ADD]	= PMOF_STAT_WR_FETCH_ADD,
#ifdef PMOF_HAVE_FLUSH
	[IB_WR_FLUSH]			= PMOF_STAT_WR_FLUSH,
	[IB_WR_ATOMIC_WRITE]		= PMOF_STAT_WR_ATOMIC_WRITE,
#endif
};

/* Sets completion handlers: only the last one is signaled, and only if it is the @slot's last. */
static void chain_arm(struct pmof_slot *slot, struct ib_send_wr *first, bool last)
{
	struct ib_send_wr *wr;

	for (wr = first; wr; wr = wr->next) {
		bool signaled = last && !wr->next;

		wr->wr_cqe = signaled ? &slot->cqe : &slot->err_cqe;
		if (signaled)
			wr->send_flags |= IB_SEND_SIGNALED;
		pmof_stat_inc(slot->q->conn->stats, stat_of_opcode[wr->opcode]);
		trace_pmof_post(slot->q->conn->instance, slot->q->id, slot->tag, wr->opcode);
	}
}

/* A refused post: finish now if nothing was posted, else leave it to the teardown. */
static void post_failed(struct pmof_slot *slot, bool nothing_posted)
{
	struct pmof_conn *conn = slot->q->conn;

	slot->status = -PMOF_LOST;
	pmof_stat_inc(conn->stats, PMOF_STAT_ERRORS);
	/* First: who hears of the failure waits for what comes after it. */
	pmof_conn_lost(conn, PMOF_NO_POST);
	if (!nothing_posted) {
		/*
		 * No reply, but a forged one that may have come; and instead of the completion
		 * the drain, in which ends what was posted.
		 */
		if (test_and_clear_bit(PMOF_SLOT_REPLY, &slot->flags))
			atomic_dec(&slot->pending);
		set_bit(PMOF_SLOT_DRAIN, &slot->flags);
	} else {
		/* Each event once: a forged reply may have come for the one. */
		if (test_and_clear_bit(PMOF_SLOT_REPLY, &slot->flags))
			pmof_slot_event(slot);
		pmof_slot_event(slot);
	}
}

static void slot_await(struct pmof_slot *slot, int events)
{
	atomic_set(&slot->pending, events);
	if (events > 1) {
		/* Pairs with pmof_slot_take_reply(): a reply may be forged at once. */
		smp_mb__before_atomic();
		set_bit(PMOF_SLOT_REPLY, &slot->flags);
	}
}

/* Return: whether all of it has been posted; if not, the slot ends by itself. */
static bool slot_post(struct pmof_slot *slot, struct ib_send_wr *first, int events, bool last)
{
	const struct ib_send_wr *bad = NULL;

	if (slot->req)
		pmof_req_posting(slot->req, first);
	slot_await(slot, events);
	if (slot->req && slot->req->end)
		pmof_watchdog_arm(slot);
	chain_arm(slot, first, last);
	if (likely(!ib_post_send(slot->q->qp.ib, first, &bad)))
		return true;
	post_failed(slot, bad == first);
	return false;
}

/**
 * pmof_slot_post - post a slot's chain of work requests
 * @slot: filled; the caller is inside pmof_post_begin(), whose reference
 *	passes to the slot
 * @first: the chain
 * @events: 1, or 2 if a reply is awaited too
 *
 * The slot belongs to the HCA until slot_finish(), which comes also where the
 * post is refused.
 */
void pmof_slot_post(struct pmof_slot *slot, struct ib_send_wr *first, int events)
{
	slot_post(slot, first, events, true);
}

/*
 * The same of a slot that ends with another's: nothing of it is signaled, and its
 * one event is that other's end.  False: it does not wait for that any more.
 */
bool pmof_slot_post_part(struct pmof_slot *slot, struct ib_send_wr *first)
{
	return slot_post(slot, first, 1, false);
}

/*
 * The last work request of a slot that pmof_slot_post_part() has posted.  False: it
 * was refused, the connection is lost, and the slot has one event to come as before.
 */
bool pmof_slot_post_tail(struct pmof_slot *slot, struct ib_send_wr *wr)
{
	slot_await(slot, pmof_tail_events(wr));
	chain_arm(slot, wr, true);
	if (likely(!ib_post_send(slot->q->qp.ib, wr, NULL)))
		return true;
	pmof_stat_inc(slot->q->conn->stats, PMOF_STAT_ERRORS);
	if (test_and_clear_bit(PMOF_SLOT_REPLY, &slot->flags))
		atomic_dec(&slot->pending);
	pmof_conn_lost(slot->q->conn, PMOF_NO_POST);
	return false;
}
