/* SPDX-License-Identifier: BSD-3-Clause */
/* The counters of a device at one moment, and what changed between two. */
#ifndef PMOF_TOOLS_COUNTERS_H
#define PMOF_TOOLS_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "libpmof.h"
#include "output.h"

#define SNAPSHOT_MAX	40	/* counters of one side */

/* Counters of one side; @nr is a negative errno where they cannot be read. */
struct side {
	int nr;
	struct pmof_counter counter[SNAPSHOT_MAX];
};

struct snapshot {
	uint64_t time_ns;	/* CLOCK_MONOTONIC */
	struct side client;
	struct side server;
};

uint64_t now_ns(void);

/*
 * Asking the server takes messages, which the client may count, too.  To keep
 * them out of a measured interval, snapshot_begin() asks the server first and
 * reads the client last, and snapshot_take(), for its end, the other way round.
 * Where the server cannot be asked, its @nr tells, and it is no error.  Return:
 * 0 or -errno.
 */
int snapshot_begin(int instance, struct snapshot *s);
int snapshot_take(int instance, struct snapshot *s);

/* True if the counter is a level and no sum: it has no difference. */
bool counter_is_level(const char *name);

/* What the counter has grown since @before (NULL: since it was made). */
uint64_t counter_delta(const struct side *now, const struct side *before, unsigned int i);

/* Puts objects "client" and "server": values, or what changed since @before. */
void snapshot_put(struct json_object *o, const struct snapshot *now,
		  const struct snapshot *before);

/* The same divided by the seconds between them. */
void snapshot_put_rates(struct json_object *o, const struct snapshot *now,
			const struct snapshot *before);

/* The same divided by @ops; the client's has their sum as "work_requests", too. */
void snapshot_put_per_op(struct json_object *o, const struct snapshot *now,
			 const struct snapshot *before, uint64_t ops);

#endif /* PMOF_TOOLS_COUNTERS_H */
