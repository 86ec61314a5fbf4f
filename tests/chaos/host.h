/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A load follows the host: "VERB [SECONDS]" in /host/VM.1.NUMBER.cmd, an answer in the same with
 * .answer.
 */
#ifndef PMOF_CHAOS_HOST_H
#define PMOF_CHAOS_HOST_H

#include <stdbool.h>
#include <stddef.h>

#define HOST_ANSWER	400	/* bytes of one, at most */

struct host_ops {
	/* Fills the answer; false: it was the last one. */
	bool (*serve)(const char *verb, double seconds, char *answer);
	void (*idle)(void);	/* many times a second; may be NULL */
};

/* Returns behind the last one. */
void host_follow(const struct host_ops *ops);

#endif /* PMOF_CHAOS_HOST_H */
