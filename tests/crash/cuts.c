// SPDX-License-Identifier: GPL-2.0
/*
 * Where to cut: half of the cuts anywhere in the part of the trace in which
 * operations lie, the other half within a few records of a mark, a write-back or
 * a fence, where most mistakes have their short moment.
 */
#include <stdio.h>
#include <stdlib.h>

#include "content.h"
#include "explore.h"

struct spots {
	uint64_t *pos;
	uint64_t nr, cap;
};

static void add_spot(struct spots *s, uint64_t pos)
{
	if (s->nr == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 1024;
		s->pos = realloc(s->pos, s->cap * sizeof(*s->pos));
		if (!s->pos)
			abort();
	}
	s->pos[s->nr++] = pos;
}

/*
 * A fence counts where a write-back or a non-temporal store came before it on its
 * CPU; the other locked operations are legion.
 */
static void find_spots(const struct trace *trace, const struct timeline *t, struct spots *s)
{
	struct trace_cursor c = trace_begin(trace);
	bool pending[MODEL_CPUS] = { false };
	const uint8_t *data;
	struct trace_rec r;

	while (c.pos <= t->last && trace_next(&c, &r, &data) > 0) {
		uint64_t pos = c.pos - 1;

		switch (r.type) {
		case TRACE_NT_STORE:
		case TRACE_WRITE_BACK:
			pending[r.cpu] = true;
			break;
		case TRACE_SFENCE:
		case TRACE_LOCKED:
			if (!pending[r.cpu])
				continue;
			pending[r.cpu] = r.type == TRACE_LOCKED;
			break;
		case TRACE_MARK:
			break;
		default:
			continue;
		}
		if (pos >= t->first)
			add_spot(s, pos);
	}
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

uint64_t *choose_cuts(const struct trace *trace, const struct timeline *t, uint64_t nr,
		      uint64_t seed)
{
	uint64_t *cut = calloc(nr ? nr : 1, sizeof(*cut)), rnd = seed, i;
	struct spots s = { 0 };

	if (!cut)
		abort();
	find_spots(trace, t, &s);
	for (i = 0; i < nr; i++) {
		if (s.nr && crash_rnd(&rnd, 2)) {
			cut[i] = s.pos[crash_rnd(&rnd, s.nr)] + crash_rnd(&rnd, 4);
			cut[i] -= cut[i] ? 1 : 0;
		} else {
			cut[i] = t->first + crash_rnd(&rnd, t->last - t->first + 1);
		}
		if (cut[i] >= t->nr_records)
			cut[i] = t->nr_records - 1;
	}
	qsort(cut, nr, sizeof(*cut), compare);
	free(s.pos);
	return cut;
}
