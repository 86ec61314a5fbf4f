// SPDX-License-Identifier: GPL-2.0
/* pmof-client.ko: the order of init and exit, nothing else. */
#include <linux/module.h>

#include "blk.h"
#include "client.h"
#include "version.h"

static int __init pmof_client_init(void)
{
	int rc;

	rc = class_register(&pmof_class);
	if (rc)
		return rc;
	rc = class_register(&pmof_char_class);
	if (rc)
		goto unregister_class;
	rc = pmof_chardev_init();
	if (rc)
		goto unregister_char_class;
	rc = pmof_async_init();
	if (rc)
		goto exit_chardev;
	rc = pmof_conn_init();
	if (rc)
		goto exit_blk;
	rc = pmof_control_init();
	if (rc)
		goto exit_conn;
	return 0;

exit_conn:
	pmof_conn_exit();
exit_blk:
	pmof_blk_exit();
	pmof_async_exit();
exit_chardev:
	pmof_chardev_exit();
unregister_char_class:
	class_unregister(&pmof_char_class);
unregister_class:
	class_unregister(&pmof_class);
	return rc;
}

/* No connection is left: each holds a reference on the module. */
static void __exit pmof_client_exit(void)
{
	pmof_control_exit();
	pmof_conn_exit();
	pmof_blk_exit();
	pmof_async_exit();
	pmof_chardev_exit();
	class_unregister(&pmof_char_class);
	class_unregister(&pmof_class);
}

module_init(pmof_client_init);
module_exit(pmof_client_exit);

MODULE_DESCRIPTION("Persistent Memory over Fabrics: client");
MODULE_LICENSE("GPL");
MODULE_VERSION(PMOF_MODULE_VERSION);
