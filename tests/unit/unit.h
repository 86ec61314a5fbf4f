/* SPDX-License-Identifier: GPL-2.0 */
/* What the host unit tests share: random numbers and tight buffers. */
#ifndef PMOF_UNIT_H
#define PMOF_UNIT_H

#include "kselftest_harness.h"

/* xorshift64*: the same numbers at every run. */
static inline u64 rnd(u64 *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dULL;
}

static inline void rnd_fill(u64 *state, void *buf, size_t len)
{
	u8 *p = buf;
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = rnd(state) >> 32;
}

/* A copy in a heap block of exactly @len bytes: ASan sees a read past it. */
static inline void *tight(const void *buf, size_t len)
{
	void *p = malloc(len);

	if (len)
		memcpy(p, buf, len);
	return p;
}

#endif /* PMOF_UNIT_H */
