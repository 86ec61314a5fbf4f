// SPDX-License-Identifier: GPL-2.0
/*
 * Flush workers: threads that make ranges durable and answer for it.
 *
 * A worker goes in rounds.  In each, every request that waits has a slice of
 * ROUND bytes written back, then one fence covers all, and those that are
 * through are answered.  So many small requests share a fence, and neither a
 * large one nor many of them delay a small one by more than a few rounds.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "marks.h"
#include "server.h"
#include "trace.h"

#define ROUND		SZ_256K
#define MIN_SLICE	SZ_4K

static unsigned int flush_workers;
module_param(flush_workers, uint, 0444);
MODULE_PARM_DESC(flush_workers, "threads that write back and fence (0: one a CPU)");

struct flush_worker {
	struct llist_head queue;
	struct task_struct *task;
	unsigned int index;
	/* The thread's own. */
	unsigned int nr_pending;
	u64 batch;		/* times that requests were taken */
	u64 round;		/* fences */
} ____cacheline_aligned_in_smp;

/* What a worker has counted for a session, so as to count it once. */
struct pmof_flush_seen {
	u64 batch;
	u64 round;
};

static struct flush_worker *workers;
static unsigned int nr_workers;

/* For a new session.  kfree() it. */
struct pmof_flush_seen *pmof_flush_alloc_seen(void)
{
	return kcalloc(nr_workers, sizeof(struct pmof_flush_seen), GFP_KERNEL);
}

/* Hands a parsed PERSIST to this CPU's worker.  Any context. */
void pmof_flush_queue(struct pmof_srv_req *req)
{
	struct flush_worker *w = &workers[raw_smp_processor_id() % nr_workers];

	if (llist_add(&req->node, &w->queue))
		wake_up_process(w->task);
}

static void count_batch(struct flush_worker *w, struct pmof_session *s)
{
	struct pmof_flush_seen *seen = &s->seen[w->index];

	if (seen->batch != w->batch) {
		seen->batch = w->batch;
		pmof_session_stat(s, PMOF_SRV_BATCHES, 1);
	}
}

static void count_fence(struct flush_worker *w, struct pmof_session *s)
{
	struct pmof_flush_seen *seen = &s->seen[w->index];

	if (seen->round != w->round) {
		seen->round = w->round;
		pmof_session_stat(s, PMOF_SRV_FENCES, 1);
	}
}

/* Writes back the next @left bytes of a request.  Returns the number of lines. */
static u64 write_back_slice(struct pmof_srv_req *req, u64 left)
{
	struct pmof_persist_args *a = &req->persist;
	struct pmof_session *s = req->queue->session;
	u64 n, lines = 0;

	while (left && a->next < a->nr) {
		struct pmof_range *r = &a->range[a->next];

		n = min(r->length, left);
		lines += pmof_persist_write_back(s->ns, r->offset, n);
		r->offset += n;
		r->length -= n;
		left -= n;
		if (!r->length)
			a->next++;
	}
	pmof_session_stat(s, PMOF_SRV_LINES, lines);
	return lines;
}

static void reply(struct flush_worker *w, struct pmof_srv_req *req)
{
	pmof_mark_fences(w->round);
	pmof_session_stat(req->queue->session, PMOF_SRV_PERSISTS, 1);
	pmof_put_hdr(req->reply, req->opcode | PMOF_MSG_REPLY, req->tag,
		     sizeof(struct pmof_wire_hdr), PMOF_SC_OK);
	pmof_srv_queue_reply(req, sizeof(struct pmof_wire_hdr), NULL);
}

/* Nobody waits for it any more; and what was not done must not be answered. */
static void drop(struct flush_worker *w, struct pmof_srv_req *req)
{
	list_del(&req->entry);
	w->nr_pending--;
	pmof_srv_queue_put(req->queue);
}

static void run_round(struct flush_worker *w, struct list_head *pending)
{
	struct pmof_srv_req *req, *next;
	unsigned int requests = 0, finished = 0;
	LIST_HEAD(done);
	u64 slice, lines = 0;

	/* Whole lines: a slice ends where a line does. */
	slice = max_t(u64, round_down(ROUND / max(w->nr_pending, 1U), PMOF_LINE_SIZE), MIN_SLICE);
	w->round++;
	/* A fence waits for the write-backs of its own CPU only. */
	migrate_disable();
	list_for_each_entry_safe(req, next, pending, entry) {
		if (pmof_session_ending(req->queue->session)) {
			drop(w, req);
			continue;
		}
		count_fence(w, req->queue->session);
		lines += write_back_slice(req, slice);
		requests++;
		if (req->persist.next == req->persist.nr) {
			list_move_tail(&req->entry, &done);
			w->nr_pending--;
			finished++;
		}
		cond_resched();
	}
	pmof_persist_fence();
	migrate_enable();
	/* Only now is it durable, and may be said to be. */
	trace_pmof_srv_flush(w->index, requests, finished, lines);
	list_for_each_entry_safe(req, next, &done, entry)
		reply(w, req);
}

/* Moves what has been queued, in its order, behind what is pending. */
static void take_queued(struct flush_worker *w, struct list_head *pending)
{
	struct llist_node *first = llist_reverse_order(llist_del_all(&w->queue));
	struct pmof_srv_req *req, *next;

	if (!first)
		return;
	w->batch++;
	llist_for_each_entry_safe(req, next, first, node) {
		count_batch(w, req->queue->session);
		list_add_tail(&req->entry, pending);
		w->nr_pending++;
	}
}

/* Returns false when the thread is to end; the sessions, and so the requests, are gone then. */
static bool wait_for_work(struct flush_worker *w)
{
	for (;;) {
		set_current_state(TASK_IDLE);
		if (!llist_empty(&w->queue) || kthread_should_stop())
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	return !llist_empty(&w->queue);
}

static int flush_worker_thread(void *data)
{
	struct flush_worker *w = data;
	LIST_HEAD(pending);

	while (wait_for_work(w)) {
		do {
			take_queued(w, &pending);
			run_round(w, &pending);
			cond_resched();
		} while (!list_empty(&pending));
	}
	return 0;
}

/* Prefers the @i-th online CPU; the scheduler moves it when that goes offline. */
static int start_worker(struct flush_worker *w, unsigned int i)
{
	unsigned int cpu = cpumask_local_spread(i, NUMA_NO_NODE);
	struct task_struct *task;

	init_llist_head(&w->queue);
	w->index = i;
	task = kthread_create_on_node(flush_worker_thread, w, cpu_to_node(cpu), "pmof_flush/%u", i);
	if (IS_ERR(task))
		return PTR_ERR(task);
	set_cpus_allowed_ptr(task, cpumask_of(cpu));
	w->task = task;
	wake_up_process(task);
	return 0;
}

int pmof_flush_init(void)
{
	unsigned int i;
	int rc;

	nr_workers = flush_workers ? min(flush_workers, num_possible_cpus()) : num_online_cpus();
	workers = kcalloc(nr_workers, sizeof(*workers), GFP_KERNEL);
	if (!workers)
		return -ENOMEM;
	for (i = 0; i < nr_workers; i++) {
		rc = start_worker(&workers[i], i);
		if (rc) {
			nr_workers = i;
			pmof_flush_exit();
			return rc;
		}
	}
	return 0;
}

void pmof_flush_exit(void)
{
	unsigned int i;

	for (i = 0; i < nr_workers; i++)
		kthread_stop(workers[i].task);
	kfree(workers);
}
