// SPDX-License-Identifier: GPL-2.0
/* pmof-server.ko: exports PMEM namespaces over RDMA. */
#include <linux/module.h>

#include "server.h"
#include "version.h"

static int __init pmof_server_init(void)
{
	int rc;

	rc = pmof_sysfs_init();
	if (rc)
		return rc;
	rc = pmof_flush_init();
	if (rc)
		goto exit_sysfs;
	rc = pmof_repair_init();
	if (rc)
		goto exit_flush;
	rc = pmof_sessions_init();
	if (rc)
		goto exit_repair;
	rc = pmof_shutdown_init();
	if (rc)
		goto exit_sessions;
	rc = pmof_configfs_init();
	if (rc)
		goto exit_shutdown;
	return 0;

exit_shutdown:
	pmof_shutdown_exit();
exit_sessions:
	pmof_sessions_exit();
exit_repair:
	pmof_repair_exit();
exit_flush:
	pmof_flush_exit();
exit_sysfs:
	pmof_sysfs_exit();
	return rc;
}

/* Sessions and configfs directories hold references: there are none any more. */
static void __exit pmof_server_exit(void)
{
	pmof_configfs_exit();
	pmof_shutdown_exit();
	pmof_sessions_exit();
	pmof_repair_exit();
	pmof_flush_exit();
	pmof_sysfs_exit();
}

module_init(pmof_server_init);
module_exit(pmof_server_exit);

MODULE_DESCRIPTION("Persistent Memory over Fabrics: server");
MODULE_LICENSE("GPL");
MODULE_VERSION(PMOF_MODULE_VERSION);
