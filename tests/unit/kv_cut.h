/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A store's medium whose power may be cut: what stands between two fences is on it in any
 * combination of 8-byte words, or of lines.
 */
#ifndef PMOF_UNIT_KV_CUT_H
#define PMOF_UNIT_KV_CUT_H

#include "unit.h"
#include "../../kmod/store/steps.h"

#define CUT_TOUCHED	65536
#define CUT_CHUNKS	3		/* that are used, */
#define CUT_CHUNK_USED	4096		/* and of each so many bytes */

struct cut_dirty {
	u64 offset;			/* of a word */
	bool written_back;
};

struct cut_medium {
	struct pmof_kv_medium m;	/* first: its base is what the CPU sees */
	u8 *kept;			/* what is on the medium */
	struct cut_dirty touched[CUT_TOUCHED];
	unsigned int nr_touched;
	u64 rng;
};

/* The medium as the CPUs see it. */
static inline void *cut_seen(const struct cut_medium *c, u64 offset)
{
	return (char *)c->m.base + offset;
}

static inline void cut_touch(struct cut_medium *c, u64 offset, u64 length, bool written_back)
{
	u64 at;

	for (at = offset & ~7ULL; at < offset + length; at += 8) {
		if (c->nr_touched == CUT_TOUCHED)
			abort();
		c->touched[c->nr_touched++] = (struct cut_dirty){ at, written_back };
	}
}

static inline void cut_write_back(struct pmof_kv_medium *m, u64 offset, u64 length)
{
	cut_touch((struct cut_medium *)m, offset, length, true);
}

/* A cache has nothing to write back of a line that nobody has stored to. */
static inline void cut_write_back_dirty(struct cut_medium *c, u64 offset, u64 length)
{
	u64 chunks = c->m.sb.chunks;
	unsigned int i;

	if (offset >= chunks && (offset - chunks) % PMOF_KV_CHUNK_SIZE >= CUT_CHUNK_USED)
		return;
	for (i = 0; i < c->nr_touched; i++)
		if (c->touched[i].offset >= offset && c->touched[i].offset < offset + length)
			c->touched[i].written_back = true;
}

/* What was written back is durable; of the rest any word may be. */
static inline void cut_fence(struct cut_medium *c)
{
	unsigned int i, left = 0;

	for (i = 0; i < c->nr_touched; i++) {
		u64 at = c->touched[i].offset;

		if (c->touched[i].written_back)
			memcpy(c->kept + at, cut_seen(c, at), 8);
		else
			c->touched[left++] = c->touched[i];
	}
	c->nr_touched = left;
}

/* What was stored and not named is on no medium either. */
static inline void cut_lose(struct cut_medium *c, u64 offset, u64 length)
{
	memcpy(cut_seen(c, offset), c->kept + offset, length);
}

/* Of what is not fenced any words, or, as caches do it, any lines. */
static inline void cut_power(struct cut_medium *c)
{
	bool lines = rnd(&c->rng) & 1;
	u64 at, line = 0;
	bool keep = false;
	unsigned int i;

	for (i = 0; i < c->nr_touched; i++) {
		at = c->touched[i].offset;
		if (!lines || at / 64 != line)
			keep = rnd(&c->rng) & 1;
		line = at / 64;
		if (keep)
			memcpy(c->kept + at, cut_seen(c, at), 8);
	}
	c->nr_touched = 0;
	cut_lose(c, 0, pmof_kv_record_offset(&c->m.sb, c->m.sb.nr_records));
	for (i = 0; i < CUT_CHUNKS; i++)
		cut_lose(c, pmof_kv_chunk_offset(&c->m.sb, i), CUT_CHUNK_USED);
}

/* The caches stay, but nobody knows whether a write-back had come as far as to be one. */
static inline void cut_restart(struct cut_medium *c)
{
	unsigned int i;

	for (i = 0; i < c->nr_touched; i++)
		c->touched[i].written_back = false;
}

#endif /* PMOF_UNIT_KV_CUT_H */
