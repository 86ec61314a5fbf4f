// SPDX-License-Identifier: GPL-2.0
/* The end of a recovery, on an image: store_settle.h. */
#include <stdlib.h>
#include <string.h>

#include "../unit/medium.h"
#include "log.h"
#include "store_settle.h"

#define GENERATIONS	(1ULL << 24)	/* that may be given until the next checkpoint */

void settle_init(struct settle *s, void *base, u64 size)
{
	memset(s, 0, sizeof(*s));
	s->m.base = base;
	s->m.write_back = medium_write_back;
	s->size = size;
}

void settle_free(struct settle *s)
{
	free(s->leftover);
	free(s->hidden);
	free(s->saved);
}

void settle_leftover(struct settle *s, u64 slot)
{
	s->leftover = log_grow(s->leftover, s->nr_leftover, sizeof(*s->leftover));
	s->leftover[s->nr_leftover++] = slot;
}

void settle_live(struct settle *s, u64 slot, const struct pmof_kv_object *o)
{
	u64 trailer = pmof_object_trailer(slot, pmof_kv_object_length(o)), word;

	memcpy(&word, s->m.base + trailer, sizeof(word));
	if (word == pmof_trailer_committed(o->generation))
		return;
	s->hidden = log_grow(s->hidden, s->nr_hidden, sizeof(*s->hidden));
	s->hidden[s->nr_hidden++] = trailer;
}

static u64 save(struct settle *s, u64 offset)
{
	struct settle_word w = { .offset = offset };

	memcpy(&w.word, s->m.base + offset, sizeof(w.word));
	s->saved = log_grow(s->saved, s->nr_saved, sizeof(*s->saved));
	s->saved[s->nr_saved++] = w;
	return w.word;
}

/* [C9] */
static void finish_hidden(struct settle *s)
{
	u64 word;
	u32 i;

	for (i = 0; i < s->nr_hidden; i++) {
		word = pmof_trailer_committed(pmof_trailer_generation(save(s, s->hidden[i])));
		memcpy(s->m.base + s->hidden[i], &word, sizeof(word));
	}
}

/* [K5] */
static void clear_leftovers(struct settle *s)
{
	u32 i;

	for (i = 0; i < s->nr_leftover; i++) {
		save(s, s->leftover[i] + offsetof(struct pmof_kv_object_header, generation));
		pmof_kv_clear_header(&s->m, s->leftover[i]);
	}
}

static void *super(const struct settle *s, unsigned int copy)
{
	return s->m.base + copy * PMOF_KV_SUPER_SIZE;
}

void settle_do(struct settle *s, const struct kv_report *found)
{
	unsigned int copy;

	s->m.sb = found->sb;
	finish_hidden(s);
	clear_leftovers(s);
	pmof_kv_next_log(&s->m);
	s->m.sb.generation = found->found.last_generation + GENERATIONS;
	for (copy = 0; copy < 2; copy++) {
		memcpy(s->super[copy], super(s, copy), sizeof(s->super[copy]));
		pmof_kv_write_super(&s->m, copy);
	}
}

void settle_undo(struct settle *s)
{
	unsigned int copy;

	for (copy = 0; copy < 2; copy++)
		memcpy(super(s, copy), s->super[copy], sizeof(s->super[copy]));
	while (s->nr_saved--)
		memcpy(s->m.base + s->saved[s->nr_saved].offset, &s->saved[s->nr_saved].word,
		       sizeof(u64));
}

/* Of a clean store: a slot has a live object, or is free; a chunk has a class, or is free. */
static bool space_is_whole(const struct kv_report *r)
{
	u64 chunks = r->free_chunks;
	u32 class;

	for (class = 1; class <= PMOF_KV_CLASSES; class++) {
		chunks += r->class[class].chunks;
		if (r->class[class].live > r->class[class].slots)
			return false;
	}
	return chunks == r->sb.nr_chunks && !r->found.leftover && !r->found.lost;
}

const char *settle_fault(const struct kv_report *found, const struct kv_report *after)
{
	if (after->good != 3)
		return "after recovery: a superblock is not good";
	if (after->found.records || after->counted)
		return "after recovery: the log is not empty";
	if (after->found.live != found->found.live)
		return "after recovery: there are not as many keys";
	if (after->hidden)
		return "after recovery: an object without VF";
	return space_is_whole(after) ? NULL : "after recovery: space is lost";
}
