/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Is a history linearizable?  Each key is a register, checked by itself: linearizability is
 * local.  The search is that of Wing and Gong with Lowe's memoisation, in the form of Horn and
 * Kroening that porcupine uses: operations are taken in an order that their calls and returns
 * allow, a configuration (the set of those taken, and the state) that was seen before is not
 * looked at again, and the first return that is reached without its operation taken sends
 * the search back.
 *
 * An operation of unknown outcome has no return, and need not be taken.  So it is taken
 * only right before one that could not come otherwise, and of several that do the same
 * only the one called first: without that a history with many of them takes too long.
 */
#ifndef PMOF_TESTS_KV_LINEAR_H
#define PMOF_TESTS_KV_LINEAR_H

#include "history.h"

enum verdict {
	LINEARIZABLE,
	NOT_LINEARIZABLE,
	UNDECIDED,		/* more configurations than allowed, or no memory */
};

struct linear_limits {
	uint64_t configurations;	/* of one key */
};

/* Of the whole history; writes what is wrong to @report.  Sorts @h. */
enum verdict linear_check(struct history *h, const struct linear_limits *limits, FILE *report);

#endif /* PMOF_TESTS_KV_LINEAR_H */
