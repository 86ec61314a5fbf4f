/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections that are kept in files: /etc/pmof/NAME.json. */
#ifndef PMOF_TOOLS_CONNECT_FILE_H
#define PMOF_TOOLS_CONNECT_FILE_H

#include "libpmof.h"
#include "tool.h"

/* connect.c: complains; @log as of klog_open(). */
void explain_connect(const struct pmof_connect_args *args, int error, int log);

#define MORE_MAX	400	/* bytes of the text of further options, a key among them */

struct json_object;

/* Options whose keys go into a JSON object, which is the parser's input. */
extern const struct argp connect_more_argp;

/*
 * What those keys of @o are in the kernel's words: of pmof_connect_args.more.  False: a
 * key cannot be read, @why says why.
 */
bool connect_more(struct json_object *o, char *buf, char *why);

/* Keeps what was asked for, with the keys of @more, as /etc/pmof/NAME.json; complains. */
int connect_save(const struct pmof_connect_args *args, struct json_object *more);

/*
 * Makes the connection of @file, or those of every file in /etc/pmof but
 * server.json, each for itself.  Tries again for @wait nanoseconds what may come:
 * a device, an address, the server.  Returns an exit status.
 */
int connect_files(const char *file, uint64_t wait);

#endif /* PMOF_TOOLS_CONNECT_FILE_H */
