/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the workload writes: a function of (seed, slot, version, place), so that
 * the checker needs no copy of it. Each byte of a place differs between any two
 * versions that are less than 256 apart: a mixture of two versions shows, down
 * to a single byte. Version 0 is what was there before: zeros.
 */
#ifndef PMOF_CRASH_CONTENT_H
#define PMOF_CRASH_CONTENT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t crash_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

/* A random number below @n, from a state that it advances. */
static inline uint64_t crash_rnd(uint64_t *state, uint64_t n)
{
	*state += 0x9e3779b97f4a7c15ULL;
	return n > 1 ? crash_mix(*state) % n : 0;
}

/* What a version adds to each byte of a word: its low byte times an odd number. */
static inline uint64_t crash_version_bytes(uint64_t version)
{
	uint64_t w = 0;
	unsigned int k;

	for (k = 0; k < 8; k++)
		w = w << 8 | (uint8_t)(version * (2 * k + 1));
	return w;
}

/* Byte by byte, without carry. */
static inline uint64_t crash_add_bytes(uint64_t a, uint64_t b)
{
	const uint64_t low = 0x7f7f7f7f7f7f7f7fULL;

	return ((a & low) + (b & low)) ^ ((a ^ b) & ~low);
}

/* Fills @buf with the bytes [@from, @from + @len) of a slot's @version. */
static inline void crash_content(void *buf, uint64_t seed, uint32_t slot, uint64_t version,
				 size_t from, size_t len)
{
	uint64_t key = crash_mix(seed ^ (uint64_t)slot << 40), add = crash_version_bytes(version);
	uint8_t *p = buf;

	if (!version) {
		memset(buf, 0, len);
		return;
	}
	while (len) {
		uint64_t w = crash_add_bytes(crash_mix(key + from / 8), add);
		size_t skip = from % 8, n = 8 - skip < len ? 8 - skip : len;

		memcpy(p, (uint8_t *)&w + skip, n);
		p += n;
		from += n;
		len -= n;
	}
}

/* The value of an atomic word at @version. */
static inline uint64_t crash_word(uint64_t seed, uint32_t slot, uint64_t version)
{
	uint64_t w;

	crash_content(&w, seed, slot, version, 0, sizeof(w));
	return w;
}

#endif /* PMOF_CRASH_CONTENT_H */
