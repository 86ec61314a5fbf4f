/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a key with several writers may hold after a power cut.
 *
 * Its changes happened in some order that nobody has written down, but much of it is
 * known. Each put has got a version of its own. A change that names the version which it
 * has replaced stands directly behind that one: such changes are a block, with nothing in
 * between, and what is before or behind a part of it is before or behind all of it. What
 * was acknowledged before another one began is before it. What was returned, or told to
 * who was refused, had been done by then, and no other change stands behind it that had been done
 * before he asked.
 *
 * A state may be found if its change can be the last one of a begin of such an order that
 * has all that is acknowledged and nothing that had not begun. Where there is no such order at all, the
 * store itself was wrong, power cut or not.
 *
 * Pure: operations with their places (log.h) are all that it knows.
 */
#ifndef PMOF_CRASH_SHARED_H
#define PMOF_CRASH_SHARED_H

#include "log.h"

#define SHARED_NONE	0			/* expected: no such key; found: no such key */
#define SHARED_ANY	UINT64_MAX		/* expected: whatever is there */

struct shared;

/* What is wrong with a key. */
struct shared_fault {
	uint32_t op;		/* number of the operation that was broken; UINT32_MAX: none */
	const char *text;
};

/* Returns NULL if there is no memory. The operations have their places. */
struct shared *shared_new(const struct log *log);
void shared_free(struct shared *s);

/* As they happen. */
void shared_started(struct shared *s, uint32_t number);
void shared_acked(struct shared *s, uint32_t number);

/* The put that got @version, or NULL. */
const struct op *shared_put(const struct shared *s, uint32_t slot, uint64_t version);

/* May the key have that version now, or, SHARED_NONE, not be there? If not, *@fault says why. */
bool shared_may_be(const struct shared *s, uint32_t slot, uint64_t version,
		   struct shared_fault *fault);

#endif /* PMOF_CRASH_SHARED_H */
