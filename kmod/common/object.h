/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Committed objects: what their trailers say.  Pure: readers, recovery and the
 * tests' checkers take their rules from here.
 *
 * The flags are bytes so that a client can write PF, then VF, by RDMA requests
 * that promise no atomicity.  [C8] VF carries a sum over the generation's bytes: an
 * 8-byte READ may be torn as well, and a mixture of an old trailer and a new
 * one must not look like a committed object.
 */
#ifndef PMOF_OBJECT_H
#define PMOF_OBJECT_H

#include "../../uapi/pmof.h"
#include "range.h"

#define PMOF_PF_BYTE	6	/* offsets in the trailer */
#define PMOF_VF_BYTE	7

static inline bool pmof_object_ok(u64 offset, u64 length, u64 ns_size)
{
	return !(offset % 8) && !(length % 8) && length >= PMOF_OBJECT_MIN &&
	       pmof_range_ok(offset, length, ns_size);
}

static inline u64 pmof_object_trailer(u64 offset, u64 length)
{
	return offset + length - PMOF_TRAILER_SIZE;
}

static inline bool pmof_generation_ok(u64 generation)
{
	return generation && !(generation & ~PMOF_GENERATION_MASK);
}

static inline u64 pmof_trailer_generation(u64 word)
{
	return word & PMOF_GENERATION_MASK;
}

/* The values of the flag bytes. */
#define PMOF_PF		1U

/*
 * From one generation to the next some bytes go from 0xff to 0 and one grows by
 * 1: with these weights no two choices of old and new bytes have the same sum.
 */
static inline u8 pmof_vf(u64 generation)
{
	unsigned int i, sum = 0;

	for (i = 0; i < PMOF_PF_BYTE; i++)
		sum += (generation >> 8 * i & 0xff) << i;
	return 0x80 | (sum & 0x7f);
}

/* Prepared: the generation, flags clear. */
static inline u64 pmof_trailer_prepared(u64 generation)
{
	return generation;
}

static inline u64 pmof_trailer_persistent(u64 generation)
{
	return generation | (u64)PMOF_PF << PMOF_TRAILER_PF_SHIFT;
}

static inline u64 pmof_trailer_committed(u64 generation)
{
	return pmof_trailer_persistent(generation) |
	       (u64)pmof_vf(generation) << PMOF_TRAILER_VF_SHIFT;
}

/* What PREPARE writes over @word, which may be anything: never generation zero. */
static inline u64 pmof_trailer_next(u64 word)
{
	u64 generation = (pmof_trailer_generation(word) + 1) & PMOF_GENERATION_MASK;

	return pmof_trailer_prepared(generation ? generation : 1);
}

/* A reader's rule: trust VF. */
static inline bool pmof_trailer_valid(u64 word)
{
	return pmof_generation_ok(pmof_trailer_generation(word)) &&
	       word == pmof_trailer_committed(pmof_trailer_generation(word));
}

/* Recovery's rule: trust PF alone. */
static inline bool pmof_trailer_recoverable(u64 word)
{
	return pmof_generation_ok(pmof_trailer_generation(word)) &&
	       ((word >> PMOF_TRAILER_PF_SHIFT) & 0xff) == PMOF_PF;
}

/* The same of the object of @generation, and of no other. */
static inline bool pmof_trailer_recovers(u64 word, u64 generation)
{
	return pmof_trailer_recoverable(word) && pmof_trailer_generation(word) == generation;
}

#endif /* PMOF_OBJECT_H */
