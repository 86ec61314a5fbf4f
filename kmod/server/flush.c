// SPDX-License-Identifier: GPL-2.0
/*
 * Flush workers: threads that make requests durable and answer for it, in
 * rounds (flush_round.c).  One more serves the namespaces whose device has to
 * be flushed: that sleeps, and nobody else shall wait for it.
 *
 * Counters, for all sessions together: PMOF_SRV_BATCH_* are the times that a
 * worker took requests, by how many it took, each counted once, for the session
 * of the first; so they add up.  PMOF_SRV_BATCHES and PMOF_SRV_FENCES are a
 * session's own: a batch or fence that several sessions share counts for each.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "flush.h"
#include "trace.h"

#define MAX_POLL_US	1000000U

static unsigned int flush_poll_us;
module_param(flush_poll_us, uint, 0644);
MODULE_PARM_DESC(flush_poll_us, "how long a worker looks for requests before it sleeps, us");

static struct pmof_flush_worker *workers;
static unsigned int nr_workers;		/* the last is the one for devices */
static int hotplug_state;

static_assert(PMOF_SRV_BATCH_16 - PMOF_SRV_BATCH_1 == 4);

/* For a new session.  kfree() it. */
struct pmof_flush_session *pmof_flush_alloc_session(void)
{
	struct pmof_flush_session *fs = kcalloc(nr_workers, sizeof(*fs), GFP_KERNEL);
	unsigned int i;

	for (i = 0; fs && i < nr_workers; i++)
		INIT_LIST_HEAD(&fs[i].requests);
	return fs;
}

static struct pmof_flush_worker *choose_worker(const struct pmof_ns *ns)
{
	if (pmof_ns_device_flush(ns))
		return &workers[nr_workers - 1];
	return &workers[pmof_flush_cpus_choose(ns->bdev.bdev->bd_disk->node_id)];
}

/*
 * Hands a parsed request to a worker.  Any context.
 *
 * [A2] What the receive's completion says is there, the data of the WRITEs ahead of
 * the message included, is visible to this CPU.  llist_add() is a release and
 * llist_del_all() an acquire, or stronger: it is visible to the worker.
 */
void pmof_flush_queue(struct pmof_srv_req *req)
{
	struct pmof_flush_worker *w = choose_worker(req->queue->session->ns);

	if (llist_add(&req->node, &w->queue))
		wake_up_process(w->task);
}

static void count_batch(struct pmof_flush_worker *w, struct pmof_session *s)
{
	struct pmof_flush_session *fs = &s->flush[w->index];

	if (fs->batch != w->batch) {
		fs->batch = w->batch;
		pmof_session_stat(s, PMOF_SRV_BATCHES, 1);
	}
}

/* Moves what has been queued, in its order, behind what its session has waiting. */
static void take_queued(struct pmof_flush_worker *w)
{
	struct llist_node *first = llist_reverse_order(llist_del_all(&w->queue));
	struct pmof_session *session = NULL;
	struct pmof_srv_req *req, *next;
	unsigned int n = 0;

	if (!first)
		return;
	w->batch++;
	llist_for_each_entry_safe(req, next, first, node) {
		/* It has come behind what drop_ended() looks for. */
		if (pmof_session_ending(req->queue->session)) {
			pmof_srv_queue_put(req->queue);
			continue;
		}
		if (!n++)
			session = req->queue->session;
		count_batch(w, req->queue->session);
		w->nr_pending++;
		pmof_flush_wait(w, req);
	}
	if (!n)
		return;
	trace_pmof_srv_batch(w->index, n, w->nr_pending);
	pmof_session_stat(session, PMOF_SRV_BATCH_1 + min(ilog2(n), 4), 1);
}

/*
 * Looks for requests for a while without sleeping, unless somebody else wants
 * this CPU: it may be who brings them.  On a machine with one CPU it surely is.
 */
static void poll_for_work(struct pmof_flush_worker *w)
{
	unsigned int us = min(READ_ONCE(flush_poll_us), MAX_POLL_US);
	u64 end;

	if (!us || num_online_cpus() == 1)
		return;
	end = ktime_get_ns() + us * NSEC_PER_USEC;
	while (llist_empty(&w->queue) && !need_resched() && ktime_get_ns() < end)
		cpu_relax();
}

/* Returns false when the thread is to end; the sessions, and so the requests, are gone then. */
static bool wait_for_work(struct pmof_flush_worker *w)
{
	poll_for_work(w);
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
	struct pmof_flush_worker *w = data;

	/* A device's flush allocates, and this machine may reclaim through what we serve. */
	memalloc_noio_save();
	while (wait_for_work(w)) {
		do {
			take_queued(w);
			pmof_flush_round(w);
			cond_resched();
		} while (w->nr_pending);
	}
	return 0;
}

/* A worker whose CPU goes offline runs anywhere; when that is back, there again. */
static int cpu_came(unsigned int cpu)
{
	unsigned int i;

	for (i = 0; i < nr_workers; i++)
		if (workers[i].cpu == (int)cpu)
			set_cpus_allowed_ptr(workers[i].task, cpumask_of(cpu));
	return 0;
}

/* @cpu: to bind it to, or -1. */
static int start_worker(struct pmof_flush_worker *w, unsigned int i, int cpu)
{
	struct task_struct *task;

	init_llist_head(&w->queue);
	INIT_LIST_HEAD(&w->sessions);
	w->index = i;
	w->cpu = cpu;
	if (cpu < 0)
		task = kthread_create(flush_worker_thread, w, "pmof_flush/dev");
	else
		task = kthread_create_on_node(flush_worker_thread, w, cpu_to_node(cpu),
					      "pmof_flush/%d", cpu);
	if (IS_ERR(task))
		return PTR_ERR(task);
	/* Fails if it has just gone offline. */
	if (cpu >= 0)
		set_cpus_allowed_ptr(task, cpumask_of(cpu));
	w->task = task;
	wake_up_process(task);
	return 0;
}

static void stop_workers(void)
{
	while (nr_workers)
		kthread_stop(workers[--nr_workers].task);
	kfree(workers);
}

static int start_workers(unsigned int nr)
{
	int rc;

	workers = kcalloc(nr + 1, sizeof(*workers), GFP_KERNEL);
	if (!workers)
		return -ENOMEM;
	for (; nr_workers <= nr; nr_workers++) {
		rc = start_worker(&workers[nr_workers], nr_workers,
				  nr_workers < nr ? pmof_flush_cpu(nr_workers) : -1);
		if (rc) {
			stop_workers();
			return rc;
		}
	}
	return 0;
}

int pmof_flush_init(void)
{
	int rc;

	rc = pmof_flush_cpus_init();
	if (rc)
		return rc;
	rc = start_workers(pmof_flush_cpus_nr());
	if (rc)
		goto exit_cpus;
	rc = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "pmof/flush:online", cpu_came, NULL);
	if (rc < 0)
		goto stop;
	hotplug_state = rc;
	return 0;

stop:
	stop_workers();
exit_cpus:
	pmof_flush_cpus_exit();
	return rc;
}

void pmof_flush_exit(void)
{
	cpuhp_remove_state_nocalls(hotplug_state);
	stop_workers();
	pmof_flush_cpus_exit();
}
