/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections that are kept in files: /etc/pmof/NAME.json. */
#ifndef PMOF_TOOLS_CONNECT_FILE_H
#define PMOF_TOOLS_CONNECT_FILE_H

#include "libpmof.h"
#include "tool.h"

/* connect.c: complains; @log as of klog_open(). */
void explain_connect(const struct pmof_connect_args *args, int error, int log);

/* May it be there later: the server, the way to it, the namespace, a device of ours? */
bool connect_may_come(int error);

/*
 * pmof_connect(), but -EADDRNOTAVAIL where the address has the scope of an interface that is not
 * there yet: to the kernel it is malformed; and -ENOPKG where the module is not loaded any more.
 */
int connect_try(const struct pmof_connect_args *args, int *instance);

/*
 * Can it be kept, before it is made: not in place of another server's, nor with a key that
 * cannot be read again. Complains.
 */
int connect_check_save(const struct pmof_connect_args *args, const char *key_file);

/*
 * Keeps what was asked for, and the client ID that pmof@instance has, as /etc/pmof/NAME.json;
 * @key_file may be NULL; complains.
 */
int connect_save(const struct pmof_connect_args *args, const char *key_file, int instance);

/*
 * Makes the connection of @file, or those of every file in /etc/pmof but
 * server.json, each for itself.  Tries again for @wait nanoseconds what may come:
 * a device, an address, the server.  Returns an exit status.
 */
int connect_files(const char *file, uint64_t wait);

#endif /* PMOF_TOOLS_CONNECT_FILE_H */
