// SPDX-License-Identifier: GPL-2.0
/*
 * Keep-alive: a message from time to time, so that each end notices that the
 * other one has gone.  The server counts messages only, since it does not see
 * what its HCA does; we take any completion for a sign of life.
 */
#include "client.h"

/* Twice in the time after which the other end gives up. */
static unsigned long interval(const struct pmof_conn *conn)
{
	return max(conn->opt.keep_alive_tmo * HZ / 2, 1);
}

static void keep_alive_work(struct work_struct *work)
{
	struct pmof_conn *conn = container_of(to_delayed_work(work), struct pmof_conn, keep_alive);

	/* Also where what has come is no answer, or none could be asked for: nobody asks again. */
	if (pmof_admin_keep_alive(conn)) {
		pmof_conn_lost(conn, PMOF_NO_ANSWER);
		return;
	}
	pmof_stat_inc(conn->stats, PMOF_STAT_KEEP_ALIVES);
	queue_delayed_work(pmof_keep_alive_wq, &conn->keep_alive, interval(conn));
}

void pmof_keep_alive_init(struct pmof_conn *conn)
{
	INIT_DELAYED_WORK(&conn->keep_alive, keep_alive_work);
}

/* The connection is live.  Any context. */
void pmof_keep_alive_start(struct pmof_conn *conn)
{
	if (conn->opt.keep_alive_tmo)
		queue_delayed_work(pmof_keep_alive_wq, &conn->keep_alive, interval(conn));
}

/* It is not any more, and a call that is under way has been woken. */
void pmof_keep_alive_stop(struct pmof_conn *conn)
{
	cancel_delayed_work_sync(&conn->keep_alive);
}
