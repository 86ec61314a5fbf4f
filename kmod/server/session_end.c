// SPDX-License-Identifier: GPL-2.0
/*
 * How sessions end, and what is kept of one that has lost its connection.
 *
 * Anybody may ask for the end, in any context, any number of times:
 * pmof_session_lost() when the connection broke, pmof_session_end() for good.
 * The end work, in this order,
 *   1. unpublishes it: no queue can be added, those being added are waited for;
 *   2. moves the queue pairs to error, those of the I/O at once, the admin queue's
 *      once an announcement has got through, or has had its time; waits for the
 *      handlers and the flush workers to let go, drains, destroys the queue pairs;
 *   3. deregisters the MRs and frees the PD: no HCA touches the namespace now;
 *      the session is drained, and the namespace's service is told;
 *   4. keeps it, detached, for its loss timeout, if its client may resume it;
 *   5. destroys the cm_ids.  rdma_cm's device removal waits for them, so by
 *      then nothing of ours may be left on the device;
 *   6. if it is not kept, tells the service, lets go of the namespace and wakes who
 *      waits for that.
 * A detached session is what a login of the same (client, instance, path) takes
 * the ID from.  Asked for its end, the work runs once more, from 6 on.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>

#include "rights.h"
#include "server.h"

/*
 * The work has a reference of its own, since it may run once more for somebody
 * who asked while it was ending the session.  The caller has one, or the table.
 */
void pmof_session_queue_end(struct pmof_session *s)
{
	get_device(&s->dev);
	/* Also one that waits for an announcement: it sees to that by itself. */
	if (mod_delayed_work(pmof_end_wq, &s->end_work, 0))
		put_device(&s->dev);
}

/*
 * A timer and not a thread waits: where new threads are slow in coming, the workqueue's rescuer
 * does all ends one behind the other, and each might be of a client that does not answer.
 */
static void continue_end(struct pmof_session *s, unsigned long delay)
{
	get_device(&s->dev);
	/* Asked for meanwhile: that comes first. */
	if (!queue_delayed_work(pmof_end_wq, &s->end_work, delay))
		put_device(&s->dev);
}

/* How often a session has begun to end: see pmof_flush_round(). */
atomic_t pmof_session_ends = ATOMIC_INIT(0);

/* Pairs with pmof_session_publish(), which looks for the one after setting the other. */
static void start_end(struct pmof_session *s)
{
	atomic_inc_return_release(&pmof_session_ends);
	if (test_bit(PMOF_SESSION_PUBLISHED, &s->flags))
		pmof_session_queue_end(s);
}

/* The connection is lost: the session may be resumed.  Any context. */
void pmof_session_lost(struct pmof_session *s)
{
	if (!test_and_set_bit(PMOF_SESSION_ENDING, &s->flags))
		start_end(s);
}

/* Asks for the end of a session.  Any context; the caller's reference stays valid. */
void pmof_session_end(struct pmof_session *s)
{
	if (test_and_set_bit(PMOF_SESSION_FINAL, &s->flags))
		return;
	set_bit(PMOF_SESSION_ENDING, &s->flags);
	smp_mb__after_atomic(); /* pairs with test_and_set_bit() in pmof_session_publish() */
	start_end(s);
}

/* The peer broke the protocol. */
void pmof_session_bad_message(struct pmof_session *s, const char *what)
{
	pmof_session_stat(s, PMOF_SRV_BAD_MESSAGES, 1);
	if (!pmof_session_ending(s))
		pr_warn_ratelimited("session%d of %s (%pISpc): %s, session ended\n", s->number,
				    s->who.client_id, &s->peer, what);
	pmof_session_end(s);
}

/* --- time ------------------------------------------------------------------- */

/*
 * Once a second.  Ticks are counted, not a clock read: of the time that this
 * machine has stood still itself only one tick is held against the client.
 */
static void watch_keep_alive(struct pmof_session *s)
{
	/* Nothing was promised: this was to look for the login, and has waited for the mutex. */
	if (!s->max_silent)
		return;
	/* Who waits for our answer to one admin message sends no other. */
	if (xchg(&s->heard, false) || work_busy(&s->admin_work))
		s->silent = 0;
	else
		s->silent++;
	if (s->silent <= s->max_silent) {
		queue_delayed_work(pmof_watch_wq, &s->watch, HZ);
		return;
	}
	pr_info_ratelimited("session%d of %s (%pISpc): no message for %u s, connection given up\n",
			    s->number, s->who.client_id, &s->peer, s->silent);
	pmof_session_lost(s);
}

static void watch_login(struct pmof_session *s)
{
	/* The login came in time, and is being answered, or waits for another session's end. */
	if ((s->ns && !s->refused) || s->awaits) {
		queue_delayed_work(pmof_watch_wq, &s->watch, PMOF_SRV_LOGIN_TIMEOUT);
		return;
	}
	pr_info_ratelimited("session%d of %s (%pISpc): no login within %d s, session ended\n",
			    s->number, s->who.client_id, &s->peer, PMOF_SRV_LOGIN_TIMEOUT / HZ);
	/* A resumed session whose login failed is still there for its client. */
	if (s->ns)
		pmof_session_lost(s);
	else
		pmof_session_end(s);
}

/* What there is to wait for depends on the state. */
static void watch_work(struct work_struct *work)
{
	struct pmof_session *s = container_of(to_delayed_work(work), struct pmof_session, watch);

	mutex_lock(&pmof_sessions_mutex);
	switch (s->state) {
	case PMOF_SESSION_OPEN:
		watch_login(s);
		break;
	case PMOF_SESSION_LIVE:
		watch_keep_alive(s);
		break;
	case PMOF_SESSION_DETACHED:
		pr_info_ratelimited("session%d of %s (%pISpc): not resumed within %u s, session ended\n",
				    s->number, s->who.client_id, &s->peer, s->loss_timeout);
		pmof_session_end(s);
		break;
	default:
		break;
	}
	mutex_unlock(&pmof_sessions_mutex);
}

/* The login is through: from now on the client has to be heard, if it has promised that. */
void pmof_session_watch(struct pmof_session *s, const struct pmof_login *l)
{
	lockdep_assert_held(&pmof_sessions_mutex);
	if (l->keep_alive_ms) {
		s->max_silent = DIV_ROUND_UP_ULL(l->keep_alive_ms, MSEC_PER_SEC) + PMOF_SRV_GRACE;
		mod_delayed_work(pmof_watch_wq, &s->watch, HZ);
	} else {
		/* One that waits for the mutex finds 0. */
		s->max_silent = 0;
		cancel_delayed_work(&s->watch);
	}
}

/* --- the end ---------------------------------------------------------------- */

/*
 * Who has never had all his queues has not begun: he will not come back for it.  Who
 * resumes has: also where the reply to the login has not left yet.
 */
static bool is_resumable(const struct pmof_session *s)
{
	if (!s->ns || !s->loss_timeout)
		return false;
	if (s->resumed)
		return s->state == PMOF_SESSION_OPEN || s->state == PMOF_SESSION_LIVE;
	return s->state == PMOF_SESSION_LIVE && s->nr_attached >= s->nr_queues;
}

static void unpublish(struct pmof_session *s)
{
	mutex_lock(&pmof_sessions_mutex);
	s->resumable = is_resumable(s);
	WRITE_ONCE(s->state, PMOF_SESSION_DEAD);
	/* No drain kicks its admin work from here on: a login waits in state OPEN only. */
	pmof_session_stop_waiting(s);
	mutex_unlock(&pmof_sessions_mutex);
	/* Nobody sets it going again: that is done in other states only. */
	cancel_delayed_work_sync(&s->watch);
	pmof_session_put_user(s);
	wait_for_completion(&s->idle);
	/* From here on s->queues is ours alone. */
}

/* The I/O is over; the reason is still to get through. */
static void stop_io(struct pmof_session *s)
{
	int i;

	for (i = 1; i < ARRAY_SIZE(s->queues); i++)
		if (s->queues[i])
			pmof_srv_queue_disconnect(s->queues[i]);
}

static void stop_queues(struct pmof_session *s)
{
	int i;

	if (s->queues[0])
		pmof_srv_queue_disconnect(s->queues[0]);
	cancel_work_sync(&s->admin_work);
	for (i = 0; i < ARRAY_SIZE(s->queues); i++)
		if (s->queues[i])
			pmof_srv_queue_drain(s->queues[i]);
	synchronize_rcu();	/* once for all: pmof_qp_destroy() */
	for (i = 0; i < ARRAY_SIZE(s->queues); i++)
		if (s->queues[i])
			pmof_srv_queue_destroy(s->queues[i]);
	/*
	 * Again: a completion that had passed the test for the end may have
	 * queued it meanwhile.  There are no completions any more.
	 */
	cancel_work_sync(&s->admin_work);
}

static void free_queues(struct pmof_session *s)
{
	struct rdma_cm_id *cm_id;
	int i;

	for (i = 0; i < ARRAY_SIZE(s->queues); i++) {
		if (!s->queues[i])
			continue;
		cm_id = s->queues[i]->qp.cm_id;
		/* Waits for a handler of the cm_id, which may still use the queue. */
		rdma_destroy_id(cm_id);
		pmof_srv_queue_free(s->queues[i]);
		s->queues[i] = NULL;
		if (i)
			pmof_session_stat(s, PMOF_SRV_QUEUES, -1ULL);
	}
}

static void drain(struct pmof_session *s)
{
	stop_queues(s);
	pmof_segments_free(s);
	pmof_session_free_parts(s);
	/* Ahead of all that may come of the session's ID: it has not been given on yet. */
	pmof_service_drained(s);
}

/* Whether it stays, for its client to resume. */
static bool detach(struct pmof_session *s)
{
	bool stays;

	mutex_lock(&pmof_sessions_mutex);
	stays = s->resumable && !test_bit(PMOF_SESSION_FINAL, &s->flags);
	/* Asked for once more where the announcement got through while the work ran. */
	if (stays && s->state == PMOF_SESSION_DETACHED)
		goto unlock;
	/* The device may go, and another session may have its atomics. */
	if (s->ns)
		pmof_session_leave_atomics(s);
	if (stays) {
		WRITE_ONCE(s->state, PMOF_SESSION_DETACHED);
		s->detached_at = jiffies;
		/* Behind those that were detached before: see pmof_session_make_room(). */
		list_move_tail(&s->entry, &pmof_sessions);
		queue_delayed_work(pmof_watch_wq, &s->watch, s->loss_timeout * HZ);
	} else {
		WRITE_ONCE(s->state, PMOF_SESSION_DEAD);
		/* Who waits for the drain takes its place, also in the limits. */
		pmof_limits_uncharge_all(s);
		pmof_session_count(s, false);
	}
unlock:
	mutex_unlock(&pmof_sessions_mutex);
	/* [V1] No queue pair of it is left: what a login of the same client waits for. */
	complete_all(&s->drained);
	pmof_session_wake_waiters(s);
	return stays;
}

static void unlist(struct pmof_session *s)
{
	mutex_lock(&pmof_sessions_mutex);
	if (s->ns)
		pmof_session_leave_ns(s);
	pmof_session_unlist(s);
	mutex_unlock(&pmof_sessions_mutex);
}

/* Out of sysfs, while it has its namespace.  Waits for who reads there: no mutex is held. */
void pmof_session_hide(struct pmof_session *s)
{
	if (s->in_sysfs)
		device_del(&s->dev);
	s->in_sysfs = false;
}

static void finish(struct pmof_session *s)
{
	cancel_delayed_work_sync(&s->watch);
	pmof_session_hide(s);
	pr_debug("session%d of %s (%pISpc): ended\n", s->number, s->who.client_id, &s->peer);
	/* While the namespace is still the session's. */
	pmof_service_gone(s);
	/*
	 * First, since who waits for the end may then want to remove the module;
	 * pmof_sessions_exit() waits for this function to return.
	 */
	module_put(THIS_MODULE);
	unlist(s);
	complete_all(&s->gone);
	put_device(&s->dev);
}

static void end_work(struct work_struct *work)
{
	struct pmof_session *s = container_of(to_delayed_work(work), struct pmof_session, end_work);
	unsigned long telling;
	bool stays = false;

	if (!test_and_set_bit(PMOF_SESSION_STOPPING, &s->flags)) {
		unpublish(s);
		stop_io(s);
		s->announce_until = jiffies + PMOF_SRV_ANNOUNCE_TIMEOUT;
	}
	telling = pmof_session_telling(s);
	if (telling) {
		continue_end(s, telling);
		goto put;
	}
	if (!test_and_set_bit(PMOF_SESSION_STOPPED, &s->flags))
		drain(s);
	if (!test_bit(PMOF_SESSION_GONE, &s->flags)) {
		stays = detach(s);
		/* Nobody's login waits for ib_cm, which may wait for a peer that is gone. */
		free_queues(s);
	}
	if (!stays && !test_and_set_bit(PMOF_SESSION_GONE, &s->flags))
		finish(s);
put:
	put_device(&s->dev);
}

void pmof_session_end_init(struct pmof_session *s)
{
	INIT_DELAYED_WORK(&s->watch, watch_work);
	INIT_DELAYED_WORK(&s->end_work, end_work);
	init_completion(&s->drained);
	init_completion(&s->gone);
}

/* --- many --------------------------------------------------------------------- */

static bool matches(const struct pmof_session *s, const struct pmof_session_filter *f)
{
	return (!f->ns || s->ns == f->ns) && (!f->port || s->port == f->port) &&
	       (!f->logged_out || !s->ns) && (!f->revoked || pmof_rights_revoked(s)) &&
	       (!f->older || s->bad_seq != s->ns->bad.seq);
}

static struct pmof_session *get_match(const struct pmof_session_filter *f)
{
	struct pmof_session *s, *found = NULL;

	mutex_lock(&pmof_sessions_mutex);
	list_for_each_entry(s, &pmof_sessions, entry) {
		if (matches(s, f)) {
			/* It may match only since the first pass. */
			pmof_session_end(s);
			get_device(&s->dev);
			found = s;
			break;
		}
	}
	mutex_unlock(&pmof_sessions_mutex);
	return found;
}

/**
 * pmof_sessions_end - end the sessions that match, for good
 * @f: which; the caller sees to it that no new one can match
 * @kind: what they are told before, enum pmof_announce; 0: nothing
 *
 * Returns when they are gone.
 */
void pmof_sessions_end(const struct pmof_session_filter *f, u32 kind)
{
	struct pmof_session *s;

	/* All at once, */
	mutex_lock(&pmof_sessions_mutex);
	list_for_each_entry(s, &pmof_sessions, entry) {
		if (!matches(s, f))
			continue;
		if (kind)
			pmof_session_announce(s, kind, 0);
		pmof_session_end(s);
	}
	mutex_unlock(&pmof_sessions_mutex);
	/* then one after the other. */
	while ((s = get_match(f))) {
		wait_for_completion(&s->gone);
		put_device(&s->dev);
	}
}

/* One of those that match, were there at @last and have queue pairs; all are asked. */
static struct pmof_session *get_undrained(const struct pmof_session_filter *f, u64 last)
{
	struct pmof_session *s, *found = NULL;

	lockdep_assert_held(&pmof_sessions_mutex);
	list_for_each_entry(s, &pmof_sessions, entry) {
		if (s->serial > last || !matches(s, f) || completion_done(&s->drained))
			continue;
		pmof_session_lost(s);
		if (!found) {
			get_device(&s->dev);
			found = s;
		}
	}
	return found;
}

/**
 * pmof_sessions_detach - take the queue pairs and MRs of the sessions that match
 * @f: which
 * @kind: what they are told before, enum pmof_announce
 * @arg: with it
 *
 * Their clients may resume them, at once.  Returns when all that the sessions of
 * the moment of the call had on their devices is gone; new ones may be there by then.
 */
void pmof_sessions_detach(const struct pmof_session_filter *f, u32 kind, u64 arg)
{
	struct pmof_session *s;
	u64 last;

	mutex_lock(&pmof_sessions_mutex);
	last = pmof_session_serial;
	list_for_each_entry(s, &pmof_sessions, entry)
		if (matches(s, f))
			pmof_session_announce(s, kind, arg);
	while ((s = get_undrained(f, last))) {
		mutex_unlock(&pmof_sessions_mutex);
		wait_for_completion(&s->drained);
		put_device(&s->dev);
		mutex_lock(&pmof_sessions_mutex);
	}
	mutex_unlock(&pmof_sessions_mutex);
}
