// SPDX-License-Identifier: GPL-2.0
/* Reads and writes that nobody waits for: io_uring's, and those of io_submit(). */
#include <linux/fs.h>
#include <linux/kthread.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "client.h"

static struct kmem_cache *async_cache;

/*
 * What is begun again by a worker: that may take as long as the owner of its memory likes, where
 * that is another process's to fault in.
 */
struct workqueue_struct *pmof_async_wq;

/* What has to sleep at its end; perhaps for pages that only a teardown gets free. */
static struct workqueue_struct *end_wq;

/*
 * Where it is begun again from.  An iovec is the submitter's, often on his stack, and he
 * frees it when he has submitted: aio does.  Bio_vecs stay as long as their pages do.
 */
static bool keep_iter(struct pmof_async *a, const struct pmof_req *op)
{
	struct iov_iter iter = op->iter;

	a->req.from = iter;
	a->iovec = NULL;
	if (!iter_is_iovec(&iter))
		return true;
	a->iovec = dup_iter(&a->req.from, &iter, GFP_NOWAIT | __GFP_NOWARN);
	return a->iovec;
}

/* From a context that must not sleep.  NULL: there is no memory now. */
struct pmof_async *pmof_async_alloc(const struct pmof_req *op)
{
	struct pmof_async *a = kmem_cache_alloc(async_cache, GFP_NOWAIT | __GFP_NOWARN);

	if (!a)
		return NULL;
	a->req = *op;
	a->mm = op->call || user_backed_iter(&op->iter) ? current->mm : NULL;
	if (!keep_iter(a, op)) {
		kmem_cache_free(async_cache, a);
		return NULL;
	}
	/* The struct only: io_uring waits for no request of a process that exits. */
	if (a->mm)
		mmgrab(a->mm);
	return a;
}

static void free_mm_work(struct work_struct *work)
{
	struct pmof_async *a = container_of(work, struct pmof_async, work);

	mmdrop(a->mm);
	kmem_cache_free(async_cache, a);
}

/* Any context: an mm's last reference is dropped in one that sleeps. */
void pmof_async_free(struct pmof_async *a)
{
	kfree(a->iovec);
	if (a->mm && !atomic_add_unless(&a->mm->mm_count, -1, 1)) {
		INIT_WORK(&a->work, free_mm_work);
		queue_work(end_wq, &a->work);
		return;
	}
	kmem_cache_free(async_cache, a);
}

/**
 * pmof_async_start - start what pmof_async_alloc() has made
 * @conn: connection
 * @a: with its owner; or NULL
 * @end: called when it has ended; frees it
 *
 * Does not sleep.  Return: -EIOCBQUEUED, or what pmof_req_start() returns for
 * what has not been started, and it is freed; -EAGAIN also where there is no
 * memory now.
 */
int pmof_async_start(struct pmof_conn *conn, struct pmof_async *a,
		     void (*end)(struct pmof_req *req))
{
	int rc;

	if (!a)
		return -EAGAIN;
	a->req.end = end;
	a->req.nowait = true;
	rc = pmof_req_start(conn, &a->req);
	if (!rc)
		return -EIOCBQUEUED;
	pmof_async_free(a);
	return rc == -ENOMEM ? -EAGAIN : rc;
}

/*
 * Has @fn, in a work item, go on with an operation whose connection was lost, by
 * pmof_async_run(), as soon as that is decided.  Any context.
 */
void pmof_async_again(struct pmof_async *a, work_func_t fn)
{
	INIT_WORK(&a->parked.work, fn);
	pmof_conn_park(a->req.q->conn, &a->parked);
}

/**
 * pmof_async_run - the rest of such an operation
 * @a: handed to pmof_async_again()
 *
 * The owner's memory may be gone, or on its way out: the owner of an io_uring has exited, or
 * has submitted on another's.  It is not looked at any more then.  One try: no worker, of which
 * there are so many for all connections, and no memory is held until another connection is there.
 * Return: as pmof_req_exec(); -PMOF_LOST: hand it to pmof_async_again() once more.
 */
int pmof_async_run(struct pmof_async *a)
{
	struct pmof_conn *conn = a->req.q->conn;
	int rc;

	a->req.end = NULL;
	a->req.nowait = false;
	a->req.hipri = false;
	a->req.parks = true;
	rc = pmof_req_again(conn, &a->req);
	if (rc == -EAGAIN && a->mm && !mmget_not_zero(a->mm))
		rc = -EIO;
	/* It fails, and a part of it may have happened. */
	if (rc != -EAGAIN && rc != -PMOF_LOST)
		pmof_req_cache_end(conn, &a->req);
	if (rc != -EAGAIN)
		return rc;
	if (a->mm)
		kthread_use_mm(a->mm);
	a->req.iter = a->req.from;
	rc = pmof_req_exec(conn, &a->req);
	if (a->mm) {
		kthread_unuse_mm(a->mm);
		/* Not here: the last one waits for all of aio's requests, others of this queue. */
		mmput_async(a->mm);
	}
	return rc;
}

/* The file, and with it the connection and this module, may go with the last line. */
static void rw_done(struct pmof_async *a, int rc)
{
	struct kiocb *iocb = a->iocb;
	u64 length = a->req.length;

	pmof_async_free(a);
	if (!rc)
		iocb->ki_pos += length;
	iocb->ki_complete(iocb, rc ?: (long)length);
}

static void rw_again_work(struct work_struct *work)
{
	struct pmof_async *a = container_of(work, struct pmof_async, parked.work);
	int rc = pmof_async_run(a);

	if (unlikely(rc == -PMOF_LOST))
		pmof_async_again(a, rw_again_work);
	else
		rw_done(a, rc);
}

static void rw_complete(struct pmof_async *a, bool dirty)
{
	int rc = pmof_req_end(&a->req, dirty);

	if (unlikely(rc == -PMOF_LOST))
		pmof_async_again(a, rw_again_work);
	else
		rw_done(a, rc);
}

static void rw_sleeping_work(struct work_struct *work)
{
	struct pmof_async *a = container_of(work, struct pmof_async, work);

	/* A lost one is begun again, or fails: later.  Its pages may wait for a connection, too. */
	if (a->req.status != -PMOF_LOST)
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
		queue_work(end_wq, &a->work);
	} else {
		rw_complete(a, false);
	}
}

/*
 * Starts a checked read or write, as pmof_async_start().  @iocb's ki_complete() is
 * called when it has ended; its private is set.
 */
ssize_t pmof_async_rw(struct kiocb *iocb, const struct pmof_req *op)
{
	struct pmof_async *a = pmof_async_alloc(op);

	if (a)
		a->iocb = iocb;
	return pmof_async_start(pmof_file_conn(iocb->ki_filp), a, rw_end);
}

int pmof_async_init(void)
{
	async_cache = KMEM_CACHE(pmof_async, 0);
	if (!async_cache)
		return -ENOMEM;
	pmof_async_wq = alloc_workqueue("pmof_async", WQ_UNBOUND, 0);
	if (!pmof_async_wq)
		goto destroy_cache;
	end_wq = alloc_workqueue("pmof_async_end", WQ_UNBOUND, 0);
	if (end_wq)
		return 0;
	destroy_workqueue(pmof_async_wq);
destroy_cache:
	kmem_cache_destroy(async_cache);
	return -ENOMEM;
}

void pmof_async_exit(void)
{
	/*
	 * The last one has let its file go, but may still be in our code.
	 * The first may use both.
	 */
	destroy_workqueue(pmof_async_wq);
	destroy_workqueue(end_wq);
	kmem_cache_destroy(async_cache);
}
