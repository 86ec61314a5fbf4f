// SPDX-License-Identifier: GPL-2.0
/*
 * Counts the fences of pmof-server's flush workers twice: as the module has
 * counted them (MARK_FENCES), and as the plugin has seen them: an sfence or
 * mfence with a write-back or a non-temporal store of the same CPU between it
 * and the one before. On each CPU from its first mark to its last.
 * usage: fences SERVER-TRACE
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "trace_file.h"

#define CPUS	256

struct cpu {
	bool marked;		/* a mark was seen: counting */
	bool pending;		/* something waits for a fence */
	uint64_t first, last;	/* values of MARK_FENCES */
	uint64_t seen;		/* fences since the first mark ... */
	uint64_t seen_at_last;	/* ... and up to the last one */
	uint64_t replies, replies_at_last;
	uint64_t lines, lines_at_last;
};

static struct cpu cpus[CPUS];

static void mark(struct cpu *c, const struct trace_rec *r)
{
	if (r->mark == MARK_REPLY)
		c->replies += c->marked;
	if (r->mark != MARK_FENCES)
		return;
	if (!c->marked) {
		c->marked = true;
		c->first = r->addr;
	}
	c->last = r->addr;
	c->seen_at_last = c->seen;
	c->replies_at_last = c->replies;
	c->lines_at_last = c->lines;
}

static void record(const struct trace_rec *r)
{
	struct cpu *c = &cpus[r->cpu];

	switch (r->type) {
	case TRACE_WRITE_BACK:
	case TRACE_NT_STORE:
		c->pending = true;
		c->lines += c->marked && r->type == TRACE_WRITE_BACK;
		break;
	case TRACE_SFENCE:
		c->seen += c->marked && c->pending;
		c->pending = false;
		break;
	case TRACE_MARK:
		mark(c, r);
		break;
	}
}

int main(int argc, char **argv)
{
	uint64_t counted = 0, seen = 0, replies = 0, lines = 0;
	struct trace_cursor cursor;
	struct trace_rec r;
	const uint8_t *data;
	struct trace t;
	int i, rc;

	if (argc != 2 || trace_open(&t, argv[1])) {
		fprintf(stderr, "usage: fences SERVER-TRACE\n");
		return 2;
	}
	cursor = trace_begin(&t);
	while ((rc = trace_next(&cursor, &r, &data)) > 0)
		record(&r);
	for (i = 0; i < CPUS; i++) {
		counted += cpus[i].last - cpus[i].first;
		seen += cpus[i].seen_at_last;
		replies += cpus[i].replies_at_last;
		lines += cpus[i].lines_at_last;
	}
	printf("replies %" PRIu64 " fences-counted %" PRIu64 " fences-seen %" PRIu64
	       " write-backs %" PRIu64 "\n", replies, counted, seen, lines);
	trace_close(&t);
	return rc ? 1 : 0;
}
