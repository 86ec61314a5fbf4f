/* SPDX-License-Identifier: BSD-3-Clause */
/* One at a time: locks on files under /run, which end with who holds them. */
#ifndef PMOF_TOOLS_LOCK_H
#define PMOF_TOOLS_LOCK_H

#include "libpmof.h"

/*
 * Of all who connect to a namespace by files one at a time looks whether somebody has, and
 * connects: the device is seen only when it is made.  Returns what unlock() takes, or -EALREADY:
 * another has been at it for longer than one attempt takes.
 */
int lock_connect(const struct pmof_connect_args *args);

/* Likewise who keeps a configuration: what is read, or checked, is what is there when it is written. */
int lock_save(void);

void unlock(int lock);

#endif /* PMOF_TOOLS_LOCK_H */
