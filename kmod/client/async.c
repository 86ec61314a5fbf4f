// SPDX-License-Identifier: GPL-2.0
/* Reads and writes that nobody waits for: io_uring's, and those of io_submit(). */
#include <linux/fs.h>
#include <linux/slab.h>

#include "client.h"

static struct kmem_cache *async_cache;

/* What has to sleep at its end; perhaps for pages that only a teardown gets free. */
static struct workqueue_struct *async_wq;

/* From a context that must not sleep. */
struct pmof_async *pmof_async_alloc(void)
{
	return kmem_cache_alloc(async_cache, GFP_NOWAIT | __GFP_NOWARN);
}

void pmof_async_free(struct pmof_async *a)
{
	kmem_cache_free(async_cache, a);
}

/* The file, and with it the connection and this module, may go with the last line. */
static void rw_complete(struct pmof_async *a, bool dirty)
{
	struct kiocb *iocb = a->iocb;
	u64 length = a->req.length;
	int rc = pmof_req_end(&a->req, dirty);

	pmof_async_free(a);
	if (!rc)
		iocb->ki_pos += length;
	iocb->ki_complete(iocb, rc ?: (long)length);
}

static void rw_sleeping_work(struct work_struct *work)
{
	struct pmof_async *a = container_of(work, struct pmof_async, work);

	pmof_req_cache_end(a->req.q->conn, &a->req);
	rw_complete(a, a->req.opcode == PMOF_OP_GET);
}

/*
 * To mark a page dirty that was written back meanwhile takes a context that sleeps,
 * and so does a page of the range that was mapped and read meanwhile.
 */
static bool end_sleeps(const struct pmof_req *req)
{
	if (req->opcode != PMOF_OP_GET)
		return pmof_req_cache_stale(req->q->conn, req);
	return req->window.pinned && !pmof_window_is_dirty(&req->window);
}

/* Any context. */
static void rw_end(struct pmof_req *req)
{
	struct pmof_async *a = container_of(req, struct pmof_async, req);

	if (end_sleeps(req)) {
		INIT_WORK(&a->work, rw_sleeping_work);
		queue_work(async_wq, &a->work);
	} else {
		rw_complete(a, false);
	}
}

/**
 * pmof_async_rw - start a read or write
 * @iocb: its ki_complete() is called when it has ended; its private is set
 * @op: checked
 *
 * Does not sleep.  Return: -EIOCBQUEUED, or what pmof_req_start() returns for
 * what has not been started; -EAGAIN also where there is no memory now.
 */
ssize_t pmof_async_rw(struct kiocb *iocb, const struct pmof_req *op)
{
	struct pmof_async *a = pmof_async_alloc();
	int rc;

	if (!a)
		return -EAGAIN;
	a->req = *op;
	a->req.end = rw_end;
	a->req.nowait = true;
	a->iocb = iocb;
	rc = pmof_req_start(iocb->ki_filp->private_data, &a->req);
	if (!rc)
		return -EIOCBQUEUED;
	pmof_async_free(a);
	return rc == -ENOMEM ? -EAGAIN : rc;
}

int pmof_async_init(void)
{
	async_cache = KMEM_CACHE(pmof_async, 0);
	if (!async_cache)
		return -ENOMEM;
	async_wq = alloc_workqueue("pmof_async", WQ_UNBOUND, 0);
	if (async_wq)
		return 0;
	kmem_cache_destroy(async_cache);
	return -ENOMEM;
}

void pmof_async_exit(void)
{
	/* The last one has let its file go, but may still be in our code. */
	destroy_workqueue(async_wq);
	kmem_cache_destroy(async_cache);
}
