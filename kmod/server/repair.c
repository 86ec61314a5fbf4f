// SPDX-License-Identifier: GPL-2.0
/*
 * Repair: a PUT or ZERO that overwrites bad sectors as a whole goes through the
 * block device, whose driver clears the poison where the platform can, and
 * takes them off the list.  That sleeps, so it is not a flush worker's.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/page-flags.h>
#include <linux/sched/mm.h>

#include "flush.h"

#define RETRY_MS	20	/* while a page is failing */

static struct workqueue_struct *repair_wq;

/* --- which ------------------------------------------------------------------------- */

static bool has_failed_page(const struct pmof_ns *ns, const struct pmof_range *r)
{
	u64 at;

	for (at = round_down(r->offset, PAGE_SIZE); at < r->offset + r->length; at += PAGE_SIZE)
		if (PageHWPoison(virt_to_page(ns->addr + at)))
			return true;
	return false;
}

/*
 * The part of a range that can be written through the block device.  Of a page
 * that failed under the kernel's hands only the whole: the driver brings it
 * back for nothing less.
 */
static bool inside(const struct pmof_ns *ns, const struct pmof_range *r, struct pmof_range *out)
{
	u64 unit = bdev_logical_block_size(ns->bdev.bdev);

	if (has_failed_page(ns, r))
		unit = PAGE_SIZE;
	return pmof_units_inside(r->offset, r->length, unit, out);
}

static struct pmof_range head_of(const struct pmof_range *r, const struct pmof_range *in)
{
	return (struct pmof_range) { r->offset, in->offset - r->offset };
}

static struct pmof_range tail_of(const struct pmof_range *r, const struct pmof_range *in)
{
	u64 end = in->offset + in->length;

	return (struct pmof_range) { end, r->offset + r->length - end };
}

/*
 * Does this PUT or ZERO of @range overwrite all the bad sectors that it touches, and
 * touch any?  Any context.
 */
bool pmof_repair_wanted(struct pmof_srv_req *req, const struct pmof_range *range)
{
	const struct pmof_ns *ns = req->queue->session->ns;
	struct pmof_range in, head, tail;

	if (pmof_bad_look(ns, range->offset, range->length) != PMOF_BAD_IN ||
	    !inside(ns, range, &in))
		return false;
	head = head_of(range, &in);
	tail = tail_of(range, &in);
	return !pmof_bad_status_slow(ns, head.offset, head.length) &&
	       !pmof_bad_status_slow(ns, tail.offset, tail.length);
}

/* --- how --------------------------------------------------------------------------- */

/* At most a message of data; the driver copies them in our thread. */
static int write_sectors(const struct pmof_ns *ns, u64 offset, const void *data, u32 length)
{
	struct page *page = alloc_page(GFP_NOIO);
	struct bio_vec vec;
	struct bio bio;
	int rc = -EIO;

	if (!page)
		return -ENOMEM;
	memcpy(page_address(page), data, length);
	bio_init(&bio, ns->bdev.bdev, &vec, 1, REQ_OP_WRITE | REQ_SYNC);
	bio.bi_iter.bi_sector = offset >> SECTOR_SHIFT;
	if (bio_add_page(&bio, page, length, 0) == length)
		rc = submit_bio_wait(&bio);
	bio_uninit(&bio);
	__free_page(page);
	return rc;
}

static void store(const struct pmof_ns *ns, const struct pmof_range *r, const void *data)
{
	if (!r->length)
		return;
	if (data)
		pmof_persist_copy(ns, r->offset, data, r->length);
	else
		pmof_persist_zero(ns, r->offset, r->length);
}

/* Overwrites @r with @data, or with zeros.  Durable but for a flush of the device. */
static int overwrite(const struct pmof_ns *ns, const struct pmof_range *r, const void *data)
{
	struct pmof_range in, head, tail;
	int rc;

	if (!inside(ns, r, &in))
		return -EIO;
	head = head_of(r, &in);
	tail = tail_of(r, &in);
	if (data)
		rc = write_sectors(ns, in.offset, data + head.length, in.length);
	else
		rc = blkdev_issue_zeroout(ns->bdev.bdev, in.offset >> SECTOR_SHIFT,
					  in.length >> SECTOR_SHIFT, GFP_NOIO, 0);
	if (rc)
		return rc;
	store(ns, &head, data);
	store(ns, &tail, data ? data + head.length + in.length : NULL);
	return 0;
}

static const struct pmof_range *range_of(const struct pmof_srv_req *req)
{
	return req->opcode == PMOF_MSG_ZERO ? &req->zero : &req->put.put.range;
}

static int repair(struct pmof_srv_req *req)
{
	struct pmof_ns *ns = req->queue->session->ns;
	const struct pmof_range *r = range_of(req);
	bool zero = req->opcode == PMOF_MSG_ZERO;
	int rc;

	/* [A4] The driver's stores are this thread's, and the fence is behind them on their CPU. */
	migrate_disable();
	rc = overwrite(ns, r, zero ? NULL : req->put.data);
	pmof_persist_fence();
	migrate_enable();
	/* A full list cannot be split: the driver says yes, and a reader gets none of it. */
	if (!rc && pmof_bad_look(ns, r->offset, r->length) == PMOF_BAD_IN)
		rc = -EIO;
	if (!rc && zero)
		pmof_session_stat(req->queue->session, PMOF_SRV_BYTES_ZEROED, req->zero.length);
	/* [A7] */
	if (!rc && pmof_ns_device_flush(ns))
		rc = pmof_persist_flush_device(ns) ? -EREMOTEIO : 0;
	return rc;
}

static void handle(struct pmof_srv_req *req)
{
	struct pmof_ns *ns = req->queue->session->ns;
	int rc = repair(req);

	pr_info_ratelimited("namespace %s: bad blocks of %s were overwritten: %s (%d)\n",
			    pmof_ns_name(ns), ns->path, rc ? "not repaired" : "repaired", rc);
	/* Before the reply: its reference keeps the namespace. */
	pmof_bad_kick(ns);
	if (rc)
		req->status = rc == -EREMOTEIO ? PMOF_SC_INTERNAL :
			      rc == -ENOMEM ? PMOF_SC_NO_MEMORY : PMOF_SC_MEDIUM;
	pmof_srv_queue_reply(req, req->status ? pmof_rpc_fill_status(req, req->status) :
						req->flush->reply(req), NULL);
}

/* --- when -------------------------------------------------------------------------- */

static void take_queued(struct pmof_ns *ns, struct list_head *pending)
{
	struct llist_node *first = llist_reverse_order(llist_del_all(&ns->repairs));
	struct pmof_srv_req *req, *next;

	llist_for_each_entry_safe(req, next, first, node)
		list_add_tail(&req->entry, pending);
}

/* Nobody waits for them any more; but the end of their session does. */
static void drop_ended(struct list_head *pending)
{
	struct pmof_srv_req *req, *next;

	list_for_each_entry_safe(req, next, pending, entry) {
		cond_resched();
		if (!pmof_session_ending(req->queue->session))
			continue;
		list_del(&req->entry);
		pmof_srv_queue_put(req->queue);
	}
}

/* False: not now, it stays the first.  That is bounded by the drain of a failed page's sessions. */
static bool serve_first(struct pmof_ns *ns, struct pmof_srv_req *req)
{
	bool now;

	/* The one before may have repaired it: then it is a worker's, as any other. */
	if (!pmof_bad_status_slow(ns, range_of(req)->offset, range_of(req)->length)) {
		list_del(&req->entry);
		pmof_flush_queue(req);
		return true;
	}
	mutex_lock(&ns->bad.mend);
	now = pmof_bad_mendable(ns);
	if (now) {
		list_del(&req->entry);
		handle(req);
	}
	mutex_unlock(&ns->bad.mend);
	return now;
}

/* One takes milliseconds, and there may be thousands of them: no end waits for others'. */
static void repair_work_fn(struct work_struct *work)
{
	struct pmof_ns *ns = container_of(work, struct pmof_ns, repair_work);
	unsigned int noio = memalloc_noio_save();	/* as a flush worker */
	struct pmof_srv_req *req;
	LIST_HEAD(pending);

	for (;;) {
		take_queued(ns, &pending);
		drop_ended(&pending);
		req = list_first_entry_or_null(&pending, struct pmof_srv_req, entry);
		if (!req)
			break;
		if (!serve_first(ns, req))
			msleep(RETRY_MS);
	}
	memalloc_noio_restore(noio);
}

/* Hands over a request that pmof_repair_wanted().  Any context. */
void pmof_repair_queue(struct pmof_srv_req *req)
{
	struct pmof_ns *ns = req->queue->session->ns;

	llist_add(&req->node, &ns->repairs);
	queue_work(repair_wq, &ns->repair_work);
}

void pmof_repair_init_ns(struct pmof_ns *ns)
{
	init_llist_head(&ns->repairs);
	INIT_WORK(&ns->repair_work, repair_work_fn);
}

/* No session is left, and so no request. */
void pmof_repair_close_ns(struct pmof_ns *ns)
{
	flush_work(&ns->repair_work);
}

/* A work item for each namespace: none waits for another's. */
int pmof_repair_init(void)
{
	repair_wq = alloc_workqueue("pmof_repair", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	return repair_wq ? 0 : -ENOMEM;
}

/* No namespace is left. */
void pmof_repair_exit(void)
{
	destroy_workqueue(repair_wq);
}
