// SPDX-License-Identifier: GPL-2.0
/*
 * The system goes down.  Clients are told, so that they begin to wait for the server
 * to come back at once, not when their keep-alive time is over.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/reboot.h>

#include "server.h"

#define LIMIT	(3 * HZ)	/* a reboot does not wait longer for queues to drain */

static DECLARE_COMPLETION(told);

static void shutdown_work_fn(struct work_struct *work)
{
	static const struct pmof_session_filter all;

	pmof_sessions_detach(&all, PMOF_ANNOUNCE_SHUTDOWN, 0);
	complete_all(&told);
}

static DECLARE_WORK(shutdown_work, shutdown_work_fn);

static int shutdown_notify(struct notifier_block *nb, unsigned long event, void *command)
{
	queue_work(system_unbound_wq, &shutdown_work);
	if (!wait_for_completion_timeout(&told, LIMIT))
		pr_warn("the system goes down before all clients have been told\n");
	return NOTIFY_DONE;
}

static struct notifier_block shutdown_nb = {
	.notifier_call = shutdown_notify,
};

int pmof_shutdown_init(void)
{
	return register_reboot_notifier(&shutdown_nb);
}

void pmof_shutdown_exit(void)
{
	unregister_reboot_notifier(&shutdown_nb);
	flush_work(&shutdown_work);
}
