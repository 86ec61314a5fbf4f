// SPDX-License-Identifier: GPL-2.0
/*
 * What a connection does when it is lost: how its state changes, who waits for
 * it and how long, and the attempts to get it back.
 *
 * LIVE: requests are posted.  RECOVERING: @refuse tells whether requests wait
 * or fail at once.  One work item, @recover, takes the old connection apart,
 * tries to make a new one, and gives the device up; it runs as often as
 * it is asked to, and never twice at a time.
 */
#define pr_fmt(fmt) "pmof-client: " fmt

#include <linux/sched/mm.h>

#include "blk.h"
#include "client.h"
#include "trace.h"

/*
 * Who has lost a connection sooner has lost it soon.  Shorter than what the server allows a session
 * that it ends for its own good, and that is to be back at once: reclaim_ms, rescan_seconds.
 */
#define BRIEF_SECONDS	1

#define to_recovery(_work, _member) \
	container_of(to_delayed_work(_work), struct pmof_conn, _member)

static void set_state(struct pmof_conn *conn, enum pmof_state to)
{
	lockdep_assert_held(&conn->state_lock);
	WARN_ON_ONCE(!pmof_state_legal(conn->state, to));
	trace_pmof_state(conn->instance, conn->state, to);
	/* Pairs with pmof_conn_decided(): who sees LIVE sees no refusal from before. */
	smp_store_release(&conn->state, to);
}

/* Requests fail with @rc from now on, at once; 0: they wait, or are posted. */
static void set_refuse(struct pmof_conn *conn, int rc)
{
	lockdep_assert_held(&conn->state_lock);
	WRITE_ONCE(conn->refuse, rc);
}

/* The recovery work does the rest; an attempt that is under way ends. */
static void set_dead(struct pmof_conn *conn)
{
	set_state(conn, PMOF_DEAD);
	WRITE_ONCE(conn->lost, true);
	set_refuse(conn, pmof_conn_gone_errno(conn));
	mod_delayed_work(pmof_wq, &conn->recover, 0);
}

static void arm(struct delayed_work *timer, s32 seconds, unsigned long since)
{
	unsigned long at = since + seconds * HZ;

	if (seconds < 0)
		cancel_delayed_work(timer);
	else
		mod_delayed_work(pmof_timeout_wq, timer,
				 time_after(at, jiffies) ? at - jiffies : 0);
}

static void set_recovering(struct pmof_conn *conn)
{
	set_state(conn, PMOF_RECOVERING);
	conn->lost_at = jiffies;
	if (time_before(jiffies, conn->live_at + BRIEF_SECONDS * HZ))
		conn->brief++;
	else
		conn->brief = 0;
	conn->attempt = 0;
	set_refuse(conn, conn->reason ?: conn->opt.fail_io_timeout ? 0 : -EIO);
	arm(&conn->fail_io, conn->opt.fail_io_timeout, conn->lost_at);
	arm(&conn->loss, conn->opt.device_loss_timeout, conn->lost_at);
	mod_delayed_work(pmof_wq, &conn->recover, 0);
}

/**
 * pmof_conn_lost - a queue broke, the server went, or an operation timed out
 * @conn: connection
 * @why: for the log, lives for ever; of several reasons the first is kept
 *
 * While CONNECTING, and while an attempt to reconnect is under way, its thread
 * sees @lost and takes apart what it was making.  Any context.
 */
void pmof_conn_lost(struct pmof_conn *conn, const char *why)
{
	unsigned long flags;

	spin_lock_irqsave(&conn->state_lock, flags);
	if (!conn->lost)
		conn->why = why;
	WRITE_ONCE(conn->lost, true);
	if (conn->state == PMOF_LIVE || conn->state == PMOF_RECOVERING) {
		if (conn->removed || !conn->opt.device_loss_timeout)
			set_dead(conn);
		else if (conn->state == PMOF_LIVE)
			set_recovering(conn);
	}
	spin_unlock_irqrestore(&conn->state_lock, flags);
}

/* The administrator wants it gone: a connection that is lost is not waited for; @removed is set. */
void pmof_conn_give_up(struct pmof_conn *conn)
{
	spin_lock_irq(&conn->state_lock);
	if (conn->state == PMOF_RECOVERING)
		set_dead(conn);
	else if (conn->state == PMOF_DEAD)
		set_refuse(conn, -ENODEV);
	spin_unlock_irq(&conn->state_lock);
}

static int reason_errno(u32 kind)
{
	switch (kind) {
	case PMOF_ANNOUNCE_NAMESPACE_GONE:
		return -ENODEV;
	case PMOF_ANNOUNCE_RIGHTS_CHANGED:
		return -EACCES;
	default:
		return 0;
	}
}

static const char *reason_text(u32 kind)
{
	switch (kind) {
	case PMOF_ANNOUNCE_NAMESPACE_GONE:
		return "the server no longer exports it";
	case PMOF_ANNOUNCE_RIGHTS_CHANGED:
		return "the rights have changed";
	case PMOF_ANNOUNCE_SEGMENTS_CHANGED:
		return "the segments have changed";
	case PMOF_ANNOUNCE_SHUTDOWN:
		return "the server shuts down";
	default:
		return "the server says so";
	}
}

/* The reason why it ends is the server's own. */
static void set_reason(struct pmof_conn *conn, int rc)
{
	lockdep_assert_held(&conn->state_lock);
	conn->reason = rc;
	if (conn->state == PMOF_RECOVERING && rc)
		set_refuse(conn, rc);
}

/* The server says why it is about to end the connection.  Any context. */
void pmof_conn_announced(struct pmof_conn *conn, u32 kind)
{
	const char *why = "the server says so, and has not proved that it is the one";
	unsigned long flags;

	spin_lock_irqsave(&conn->state_lock, flags);
	/* Who has not proved himself ends his connection, and nothing that waits for another. */
	if (conn->admin.proven) {
		why = reason_text(kind);
		set_reason(conn, reason_errno(kind));
	} else {
		conn->admin.hearsay = reason_errno(kind);
	}
	/* Also where a queue broke first: this is the better reason. */
	conn->why = why;
	spin_unlock_irqrestore(&conn->state_lock, flags);
	pmof_conn_lost(conn, why);
}

/* The server of the login under way has our key.  So it was he who has spoken before. */
void pmof_conn_proven(struct pmof_conn *conn)
{
	spin_lock_irq(&conn->state_lock);
	conn->admin.proven = true;
	if (conn->admin.hearsay)
		set_reason(conn, conn->admin.hearsay);
	spin_unlock_irq(&conn->state_lock);
}

/*
 * An attempt to reconnect was refused for lack of rights.  Nobody needs the key to say so: where
 * there is one this ends nothing that waits.
 */
static void refuse_access(struct pmof_conn *conn)
{
	if (conn->opt.key.len)
		return;
	spin_lock_irq(&conn->state_lock);
	set_reason(conn, -EACCES);
	spin_unlock_irq(&conn->state_lock);
}

/* --- who waits ---------------------------------------------------------------- */

/* One that is lost is LIVE for a moment still: who went on then would be refused at once. */
bool pmof_conn_decided(const struct pmof_conn *conn)
{
	/* Pairs with set_state(): a refusal that is seen behind LIVE is of now. */
	return (smp_load_acquire(&conn->state) == PMOF_LIVE && !READ_ONCE(conn->lost)) ||
	       READ_ONCE(conn->refuse);
}

/**
 * pmof_conn_wait - wait until requests can be posted, or fail
 * @conn: connection
 * @killable: a fatal signal ends the wait
 *
 * For fail_io_timeout at most.  Return: 0; what the request is to fail with; -EINTR.
 */
int pmof_conn_wait(struct pmof_conn *conn, bool killable)
{
	if (!killable)
		wait_event_idle(conn->live_wait, pmof_conn_decided(conn));
	else if (wait_event_killable(conn->live_wait, pmof_conn_decided(conn)))
		return -EINTR;
	return READ_ONCE(conn->refuse);
}

/**
 * pmof_conn_park - the same for who cannot sleep
 * @conn: connection
 * @p: its work is queued when pmof_conn_wait() would return.  Any context
 */
void pmof_conn_park(struct pmof_conn *conn, struct pmof_parked *p)
{
	unsigned long flags;
	bool park;

	spin_lock_irqsave(&conn->state_lock, flags);
	park = !pmof_conn_decided(conn);
	if (park)
		list_add_tail(&p->entry, &conn->parked);
	spin_unlock_irqrestore(&conn->state_lock, flags);
	if (!park)
		queue_work(pmof_async_wq, &p->work);
}

/* It is decided: everybody goes on.  Behind the change of the state or of @refuse. */
static void release_waiters(struct pmof_conn *conn)
{
	struct pmof_parked *p, *next;
	LIST_HEAD(parked);

	wake_up_all(&conn->live_wait);
	spin_lock_irq(&conn->state_lock);
	if (pmof_conn_decided(conn))
		list_splice_init(&conn->parked, &parked);
	spin_unlock_irq(&conn->state_lock);
	list_for_each_entry_safe(p, next, &parked, entry)
		queue_work(pmof_async_wq, &p->work);
	if (pmof_conn_decided(conn))
		pmof_blk_resume(conn);
}

/* A run that was under way when it was cancelled is of an earlier recovery, or limit. */
static bool is_due(const struct pmof_conn *conn, s32 seconds)
{
	lockdep_assert_held(&conn->state_lock);
	return conn->state == PMOF_RECOVERING && seconds >= 0 &&
	       !time_before(jiffies, conn->lost_at + seconds * HZ);
}

static void fail_io_work(struct work_struct *work)
{
	struct pmof_conn *conn = to_recovery(work, fail_io);
	bool fail;

	spin_lock_irq(&conn->state_lock);
	fail = is_due(conn, conn->opt.fail_io_timeout) && !conn->refuse;
	if (fail)
		set_refuse(conn, -EIO);
	spin_unlock_irq(&conn->state_lock);
	if (!fail)
		return;
	dev_warn(&conn->dev, "no connection for %d s, requests fail from now on\n",
		 conn->opt.fail_io_timeout);
	release_waiters(conn);
}

static void loss_work(struct work_struct *work)
{
	struct pmof_conn *conn = to_recovery(work, loss);

	spin_lock_irq(&conn->state_lock);
	if (is_due(conn, conn->opt.device_loss_timeout))
		set_dead(conn);
	spin_unlock_irq(&conn->state_lock);
}

/**
 * pmof_conn_time_limit - the administrator has changed a time limit
 * @conn: connection
 * @limit: one of those in @conn->opt; it holds for a recovery under way, too
 * @seconds: what it is from now on
 */
void pmof_conn_time_limit(struct pmof_conn *conn, s32 *limit, s32 seconds)
{
	spin_lock_irq(&conn->state_lock);
	WRITE_ONCE(*limit, seconds);
	if (conn->state == PMOF_RECOVERING) {
		/* No other refusal is that error: those that come from now on wait again. */
		if (conn->refuse == -EIO && !is_due(conn, conn->opt.fail_io_timeout))
			set_refuse(conn, 0);
		/*
		 * The disk may be to be stopped again, and no pause is longer than a limit.  One
		 * that is over is dead without another attempt.
		 */
		if (!is_due(conn, conn->opt.device_loss_timeout))
			mod_delayed_work(pmof_wq, &conn->recover, 0);
		arm(&conn->fail_io, conn->opt.fail_io_timeout, conn->lost_at);
		arm(&conn->loss, conn->opt.device_loss_timeout, conn->lost_at);
	}
	spin_unlock_irq(&conn->state_lock);
}

/**
 * pmof_conn_retry - the administrator has changed the delay between attempts
 * @conn: connection; if it waits for its next attempt that is made at once
 */
void pmof_conn_retry(struct pmof_conn *conn)
{
	spin_lock_irq(&conn->state_lock);
	if (conn->state == PMOF_RECOVERING)
		mod_delayed_work(pmof_wq, &conn->recover, 0);
	spin_unlock_irq(&conn->state_lock);
}

/* --- the work ------------------------------------------------------------------- */

/**
 * pmof_conn_go_live - requests may be posted from now on
 * @conn: attached
 *
 * Return: false if it was lost meanwhile, or is not wanted any more: then
 * pmof_conn_detach() must follow.
 */
bool pmof_conn_go_live(struct pmof_conn *conn)
{
	bool ok;

	/* What was never live leaves nothing behind. */
	if (READ_ONCE(conn->lost))
		return false;
	reinit_completion(&conn->io_drained);
	WRITE_ONCE(conn->flags, conn->login.flags);
	WRITE_ONCE(conn->features, conn->login.features);
	/* [V4] Behind all that is this connection's: who reads it reads that. */
	smp_store_release(&conn->session, conn->session + 1);
	percpu_ref_reinit(&conn->io_ref);
	conn->io_open = true;
	spin_lock_irq(&conn->state_lock);
	ok = pmof_state_legal(conn->state, PMOF_LIVE) && !conn->lost && !conn->removed;
	if (ok) {
		/* In this order: see set_state(). */
		set_refuse(conn, 0);
		set_state(conn, PMOF_LIVE);
		conn->live_at = jiffies;
		conn->reason = 0;
		cancel_delayed_work(&conn->fail_io);
		cancel_delayed_work(&conn->loss);
		pmof_keep_alive_start(conn);
	}
	spin_unlock_irq(&conn->state_lock);
	return ok;
}

/* False: there is nothing to be recovered. */
static bool begin_attempt(struct pmof_conn *conn)
{
	bool ok;

	spin_lock_irq(&conn->state_lock);
	/* Lost only since this run has looked: the next one is queued, and takes it apart first. */
	ok = conn->state == PMOF_RECOVERING && !conn->attached;
	if (ok)
		WRITE_ONCE(conn->lost, false);
	spin_unlock_irq(&conn->state_lock);
	return ok;
}

static void recovered(struct pmof_conn *conn)
{
	conn->reconnects++;
	dev_info(&conn->dev, "reconnected to %s after %lu s, attempt %u%s%s\n", conn->opt.name,
		 (jiffies - conn->lost_at) / HZ, conn->attempt,
		 conn->login.flags & PMOF_LOGIN_R_RESUMED ? ", session resumed" : ", new session",
		 conn->restarted ? ", the server has restarted" : "");
}

/* What a new connection cannot make good ends the device. */
static void give_up(struct pmof_conn *conn, const char *why)
{
	dev_err(&conn->dev, "cannot go on with %s: %s\n", conn->opt.name, why);
	spin_lock_irq(&conn->state_lock);
	if (conn->state == PMOF_RECOVERING)
		set_dead(conn);
	spin_unlock_irq(&conn->state_lock);
}

static void reconnect(struct pmof_conn *conn)
{
	const char *why = NULL;
	unsigned int delay;
	int rc;

	if (!begin_attempt(conn))
		return;
	conn->attempt++;
	rc = pmof_conn_attach(conn, &why);
	if (!rc && pmof_conn_go_live(conn)) {
		recovered(conn);
		return;
	}
	pmof_conn_detach(conn);
	if (why) {
		give_up(conn, why);
		return;
	}
	if (rc == -EACCES)
		refuse_access(conn);
	delay = pmof_backoff(conn->attempt, READ_ONCE(conn->opt.reconnect_delay));
	dev_info(&conn->dev, "attempt %u to connect to %s again failed (%d), next in %u s\n",
		 conn->attempt, conn->opt.name, rc ?: -ECONNRESET, delay);
	/* If it is dead by now it is queued already. */
	queue_delayed_work(pmof_wq, &conn->recover, delay * HZ);
}

static void say_lost(struct pmof_conn *conn)
{
	if (READ_ONCE(conn->removed))
		return;
	conn->hopes = READ_ONCE(conn->state) != PMOF_DEAD;
	dev_warn(&conn->dev, "connection to %s lost: %s, %s\n", conn->opt.name,
		 READ_ONCE(conn->why) ?: "no reason known",
		 conn->hopes ? "reconnecting" : "device is dead");
}

/*
 * Jiffies to wait for the first attempt: who lets us in again and again, and drops us each time, is
 * not to keep us, himself and the log busy.
 */
static unsigned long pause_before(struct pmof_conn *conn)
{
	const s32 limit[] = { READ_ONCE(conn->opt.fail_io_timeout),
			      READ_ONCE(conn->opt.device_loss_timeout) };
	unsigned long delay, gone = jiffies - conn->lost_at;
	int i;

	delay = HZ * pmof_pause(conn->brief, READ_ONCE(conn->opt.reconnect_delay));
	/* Neither passes without an attempt. */
	for (i = 0; i < ARRAY_SIZE(limit); i++)
		if (limit[i] > 0)
			delay = min(delay, max((unsigned long)limit[i] * HZ * 3 / 4, gone) - gone);
	if (delay)
		dev_info(&conn->dev, "lost soon %u times in a row, next attempt in %u ms\n",
			 conn->brief, jiffies_to_msecs(delay));
	return delay;
}

/* Once. */
static void bury(struct pmof_conn *conn)
{
	if (completion_done(&conn->ended))
		return;
	cancel_delayed_work_sync(&conn->fail_io);
	cancel_delayed_work_sync(&conn->loss);
	if (conn->hopes && !READ_ONCE(conn->removed))
		dev_warn(&conn->dev, "connection to %s not recovered, device is dead\n",
			 conn->opt.name);
	pmof_blk_lost(conn);
	complete_all(&conn->ended);
}

static void recover_work(struct work_struct *work)
{
	struct pmof_conn *conn = to_recovery(work, recover);
	bool device_goes = false;
	unsigned long delay = 0;
	unsigned int noio;

	/* Memory must not be freed by writing to the block device, which waits for us. */
	noio = memalloc_noio_save();
	if (READ_ONCE(conn->state) == PMOF_RECOVERING)
		pmof_blk_pause(conn);
	if (conn->attached && READ_ONCE(conn->state) != PMOF_LIVE) {
		say_lost(conn);
		device_goes = pmof_device_goes(conn->ibdev);
		pmof_conn_detach(conn);
		if (READ_ONCE(conn->state) == PMOF_RECOVERING)
			delay = pause_before(conn);
	}
	if (READ_ONCE(conn->refuse))
		release_waiters(conn);
	/* Its removal waits for this run, and not for what another device's peer does. */
	if ((device_goes || delay) && READ_ONCE(conn->state) == PMOF_RECOVERING)
		queue_delayed_work(pmof_wq, &conn->recover, delay ?: 1);
	else
		reconnect(conn);
	memalloc_noio_restore(noio);
	release_waiters(conn);
	if (READ_ONCE(conn->state) == PMOF_DEAD && !conn->attached)
		bury(conn);
}

void pmof_recover_init(struct pmof_conn *conn)
{
	spin_lock_init(&conn->state_lock);
	init_waitqueue_head(&conn->live_wait);
	INIT_LIST_HEAD(&conn->parked);
	init_completion(&conn->ended);
	INIT_DELAYED_WORK(&conn->recover, recover_work);
	INIT_DELAYED_WORK(&conn->fail_io, fail_io_work);
	INIT_DELAYED_WORK(&conn->loss, loss_work);
}
