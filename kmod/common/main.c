// SPDX-License-Identifier: GPL-2.0
/* pmof.ko: what the client and the server share. */
#include <linux/module.h>

#include "auth.h"
#include "version.h"
#include "../compat/pmof_lab_gen.h"

static int __init pmof_init(void)
{
	return 0;
}

static void __exit pmof_exit(void)
{
	pmof_hmac_exit();
}

module_init(pmof_init);
module_exit(pmof_exit);

MODULE_DESCRIPTION("Persistent Memory over Fabrics: common code");
MODULE_LICENSE("GPL");
MODULE_VERSION(PMOF_MODULE_VERSION);
/* Where the kernel has them as modules. */
MODULE_SOFTDEP("pre: crypto-hmac crypto-sha256");
#ifdef PMOF_LAB_RXE
MODULE_INFO(lab_rxe, "posts FLUSH to the lab's soft-RoCE");
#endif
