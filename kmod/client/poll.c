// SPDX-License-Identifier: GPL-2.0
/*
 * Waiting: spinning on a queue's completions before a synchronous caller sleeps,
 * polls that user space asks for, and the bound for what nobody sleeps for.
 *
 * The queues' CQs are polled in a softirq; ib_process_cq_direct() may run beside
 * that.  Each completion is handed to one of them, whose handler works in both
 * contexts, so nothing is lost and nothing is seen twice.
 */
#include <linux/cpumask.h>
#include <linux/moduleparam.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>

#include "client.h"

#define POLL_BUDGET	16	/* completions in one go */

#define LIMIT		10	/* times io_timeout may an operation take in any case */

static int set_io_timeout(const char *text, const struct kernel_param *param)
{
	return param_set_uint_minmax(text, param, 1, 3600);
}

static const struct kernel_param_ops io_timeout_ops = {
	.set = set_io_timeout,
	.get = param_get_uint,
};

static unsigned int io_timeout = 30;
module_param_cb(io_timeout, &io_timeout_ops, &io_timeout, 0644);
MODULE_PARM_DESC(io_timeout, "how long a queue with operations under way may complete none of them, s; 1 to 3600");

/* In jiffies.  Any context. */
unsigned long pmof_io_timeout(void)
{
	return READ_ONCE(io_timeout) * HZ;
}

/* How often who waits looks whether his queue is stuck. */
unsigned long pmof_check_interval(void)
{
	return pmof_io_timeout() / 4;
}

/*
 * By itself a waiter spins only where the answer comes sooner than it takes to
 * sleep and to be woken.
 */
#define AUTO_LIMIT_NS	20000

/* Handles what has completed on a queue, and returns how many that was.  Not in hard irqs. */
int pmof_queue_poll(struct pmof_queue *q)
{
	int n;

	/* The teardown frees the CQ behind this reference. */
	if (!pmof_conn_enter(q->conn))
		return 0;
	/* They may be others' on a shared queue, who must not wait until we run again. */
	local_bh_disable();
	n = ib_process_cq_direct(q->qp.cq, POLL_BUDGET);
	local_bh_enable();
	pmof_conn_leave(q->conn);
	return max(n, 0);
}

/* A software HCA brings the completion with a CPU: never take the only one. */
static bool may_spin(const struct pmof_req *req)
{
	const struct pmof_conn *conn = req->q->conn;

	if (!req->hipri && !READ_ONCE(conn->poll_us))
		return false;
	return num_online_cpus() > 1 || !READ_ONCE(conn->virt_dma);
}

/*
 * For how long: twice the time that it took lately, if that is below the limit.
 * Longer than that it has been overtaken by something slow.
 */
static u64 spin_ns(const struct pmof_req *req)
{
	int us = READ_ONCE(req->q->conn->poll_us);
	u64 mean = READ_ONCE(req->q->round_trip_ns);
	u64 limit = us == PMOF_POLL_AUTO ? AUTO_LIMIT_NS : (u64)us * NSEC_PER_USEC;

	/* Not for ever: who has slept looks whether the queue is stuck. */
	if (req->hipri)
		return jiffies_to_nsecs(pmof_check_interval());
	if (mean > limit)
		return 0;
	return mean ? min(2 * mean, limit) : limit;
}

static bool spin(struct pmof_req *req, u64 start, u64 ns)
{
	do {
		pmof_queue_poll(req->q);
		if (try_wait_for_completion(&req->done))
			return true;
		cpu_relax();
	} while (!need_resched() && !signal_pending(current) && local_clock() - start < ns);
	return false;
}

/* One eighth of the difference: some tens of round trips to follow a change. */
static void learn(struct pmof_queue *q, u64 ns)
{
	s64 mean = READ_ONCE(q->round_trip_ns);

	ns = min_t(u64, ns, U32_MAX / 2);
	WRITE_ONCE(q->round_trip_ns, mean ? max_t(s64, mean + ((s64)ns - mean) / 8, 1) : ns);
}

/**
 * pmof_queue_stuck - has an operation been waited for long enough?
 * @q: its queue
 * @since: jiffies when the wait began
 *
 * A queue does what is posted in order: while it completes anything it comes to this
 * operation, too, however much lies before it on a slow link.  A reply may stay out
 * for ever beside others, so there is a limit of its own.  Any context.
 */
bool pmof_queue_stuck(const struct pmof_queue *q, unsigned long since)
{
	unsigned long silence = pmof_io_timeout();

	if (time_after(jiffies, since + LIMIT * silence))
		return true;
	return !time_before(jiffies, since + silence) &&
		!time_before(jiffies, READ_ONCE(q->moved) + silence);
}

/*
 * A PERSIST, and what sends messages about objects, waits for slots of other queues, too:
 * as long as any queue gets on, one of them may be the one.
 */
static bool req_stuck(const struct pmof_req *req, unsigned long since)
{
	const struct pmof_conn *conn = req->q->conn;
	unsigned int i;

	if (req->opcode != PMOF_OP_PERSIST && !pmof_req_is_object(req))
		return pmof_queue_stuck(req->q, since);
	for (i = 0; i < conn->nr_queues; i++)
		if (!pmof_queue_stuck(&conn->queues[i], since))
			return false;
	return true;
}

static bool sleep(struct pmof_req *req)
{
	unsigned long since = jiffies;

	while (!wait_for_completion_timeout(&req->done, pmof_check_interval()))
		if (req_stuck(req, since))
			return false;
	return true;
}

/**
 * pmof_req_wait_done - spin for a while, then sleep until a request's slots are done
 * @req: the issuer's share of @pending has been dropped, and it was not the last
 *
 * Return: false if that took too long; it goes on then.
 */
bool pmof_req_wait_done(struct pmof_req *req)
{
	u64 start, ns;

	if (!may_spin(req))
		return sleep(req);
	start = local_clock();
	ns = spin_ns(req);
	if (!(ns && spin(req, start, ns)) && !sleep(req))
		return false;
	learn(req->q, local_clock() - start);
	return true;
}

/*
 * The bound for a slot that nobody sleeps for.  The timer of its queue runs
 * while there are any.
 */
static void watchdog(struct timer_list *t)
{
	struct pmof_queue *q = container_of(t, struct pmof_queue, watchdog);
	bool busy = false, late = false;
	u16 tag;

	for (tag = 0; tag < q->nr_char; tag++) {
		const struct pmof_slot *slot = &q->slots[tag];

		/* Pairs with pmof_watchdog_arm(). */
		if (!smp_load_acquire(&slot->watched))
			continue;
		busy = true;
		late |= pmof_queue_stuck(q, READ_ONCE(slot->since));
	}
	if (late)
		pmof_conn_lost(q->conn, PMOF_NO_ANSWER);
	else if (busy)
		mod_timer(t, jiffies + pmof_check_interval());
}

void pmof_watchdog_init(struct pmof_queue *q)
{
	timer_setup(&q->watchdog, watchdog, 0);
}

/* @slot is about to be posted.  Any context. */
void pmof_watchdog_arm(struct pmof_slot *slot)
{
	struct timer_list *t = &slot->q->watchdog;

	WRITE_ONCE(slot->since, jiffies);
	/* Pairs with watchdog(): whoever sees it watched does not take an earlier use's time. */
	smp_store_release(&slot->watched, true);
	/* A timer that is not pending any more has yet to look, and sees the slot. */
	smp_mb();
	if (!timer_pending(t))
		mod_timer(t, jiffies + pmof_check_interval());
}

/* No slot is under way, and none will be. */
void pmof_watchdog_stop(struct pmof_queue *q)
{
	if (q->watchdog.function)
		del_timer_sync(&q->watchdog);
}
