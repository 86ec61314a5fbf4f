// SPDX-License-Identifier: GPL-2.0
/* pmof.ko: what the client and the server share. */
#include <linux/module.h>

MODULE_DESCRIPTION("Persistent Memory over Fabrics: common code");
MODULE_LICENSE("GPL");
#ifdef PMOF_LAB_RXE
MODULE_INFO(lab_rxe, "posts FLUSH to the lab's soft-RoCE");
#endif
