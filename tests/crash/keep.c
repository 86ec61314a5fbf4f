// SPDX-License-Identifier: GPL-2.0
/* Writing failures out: the image, how to see it again, and what led to it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "explore.h"

#define LAST_RECORDS	40

const char *fence_mode_name(enum fence_mode mode)
{
	return mode == FENCE_X86 ? "x86" : "strict";
}

const char *image_kind_name(enum image_kind kind)
{
	static const char * const names[] = {
		[IMAGE_LOST] = "lost", [IMAGE_ALL] = "all", [IMAGE_PREFIX] = "prefix",
		[IMAGE_TORN] = "torn",
	};

	return names[kind];
}

int keep_image(const struct model *m, const struct image *image, uint64_t from, const char *path)
{
	static const uint8_t zero[4096];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	uint8_t page[sizeof(zero)];
	uint64_t at, n;
	int rc = fd < 0 || ftruncate(fd, m->size - from) ? -1 : 0;

	for (at = from; !rc && at < m->size; at += n) {
		n = m->size - at < sizeof(page) ? m->size - at : sizeof(page);
		model_read(m, image, at, page, n);
		if (memcmp(page, zero, n) && pwrite(fd, page, n, at - from) != (ssize_t)n)
			rc = -1;
	}
	if (rc)
		perror(path);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* --- the story ------------------------------------------------------------------------ */

/* The last records that had to do with a line. */
struct story {
	uint64_t line;
	bool pending[MODEL_CPUS];	/* wrote it back, and has not fenced */
	char text[LAST_RECORDS][160];
	uint64_t nr;
};

static void tell(struct story *s, uint64_t pos, const struct trace_rec *r, const char *what)
{
	snprintf(s->text[s->nr++ % LAST_RECORDS], sizeof(s->text[0]),
		 "  record %" PRIu64 ": cpu %u: %s", pos, r->cpu, what);
}

static void story_record(struct story *s, const struct trace_rec *r, const uint8_t *data,
			 uint64_t pos)
{
	char what[120];
	uint64_t v = 0;

	switch (r->type) {
	case TRACE_STORE:
	case TRACE_NT_STORE:
		if (r->addr / TRACE_LINE != s->line &&
		    (r->addr + r->len - 1) / TRACE_LINE != s->line)
			return;
		memcpy(&v, data, r->len < sizeof(v) ? r->len : sizeof(v));
		snprintf(what, sizeof(what), "%sstore of %u at 0x%" PRIx64 ": %0*" PRIx64,
			 r->type == TRACE_STORE ? "" : "non-temporal ", r->len, r->addr,
			 r->len < 8 ? 2 * r->len : 16, v);
		s->pending[r->cpu] |= r->type == TRACE_NT_STORE;
		break;
	case TRACE_WRITE_BACK:
		if (r->addr / TRACE_LINE != s->line)
			return;
		snprintf(what, sizeof(what), "write-back at 0x%" PRIx64, r->addr);
		s->pending[r->cpu] = true;
		break;
	case TRACE_SFENCE:
	case TRACE_LOCKED:
		if (!s->pending[r->cpu])
			return;
		snprintf(what, sizeof(what), "%s",
			 r->type == TRACE_SFENCE ? "sfence or mfence" : "locked operation");
		s->pending[r->cpu] = r->type == TRACE_LOCKED;
		break;
	default:
		return;
	}
	tell(s, pos, r, what);
}

static void tell_line(const struct run *r, const struct place *place, uint64_t line, FILE *f)
{
	struct trace_cursor c = trace_begin(r->trace);
	struct story *s = calloc(1, sizeof(*s));
	const uint8_t *data;
	struct trace_rec rec;
	uint64_t i;

	if (!s)
		return;
	s->line = line;
	while (c.pos <= place->pos && trace_next(&c, &rec, &data) > 0)
		story_record(s, &rec, data, c.pos - 1);
	fprintf(f, "line 0x%" PRIx64 " (%s), its last records before the cut:\n",
		line * TRACE_LINE, model_line_dirty(&r->model, line) ? "dirty" : "clean");
	for (i = s->nr > LAST_RECORDS ? s->nr - LAST_RECORDS : 0; i < s->nr; i++)
		fprintf(f, "%s\n", s->text[i % LAST_RECORDS]);
	free(s);
}

static void tell_op(const struct run *r, uint32_t number, FILE *f)
{
	static const char * const names[] = {
		[OP_PUT] = "put", [OP_ATOMIC] = "atomic", [OP_PREPARE] = "prepare",
		[OP_COMMIT] = "commit", [OP_SEEN] = "valid get", [OP_PERSIST] = "persist", [OP_TXN] = "transaction",
		[OP_READ] = "get", [OP_CHANGE] = "change", [OP_REFUSED] = "refused change",
		[OP_LOOK] = "get",
	};
	const struct op *op = &r->log->op[number];
	uint64_t offset, length;

	log_op_range(r->log, op, &offset, &length);
	fprintf(f, "operation %u: %s of [0x%" PRIx64 ", +%" PRIu64 "), version %" PRIu64
		": begun at record %" PRIu64 ", acknowledged at %" PRId64 "%s\n", number,
		names[op->kind], offset, length, op->version, op->start_pos, (int64_t)op->ack_pos,
		op->by_reply ? " (its reply)" : "");
}

/* Of a key with several writers: what had begun before the cut, the newest of that. */
static void tell_shared(const struct run *r, uint32_t id, FILE *f)
{
	uint32_t i, nr = 0, skip;

	for (i = 0; i < r->log->nr_ops; i++)
		nr += r->log->op[i].slot == id && r->log->op[i].start_pos <= r->pos;
	skip = nr > LAST_RECORDS ? nr - LAST_RECORDS : 0;
	for (i = 0; i < r->log->nr_ops; i++) {
		const struct op *op = &r->log->op[i];

		if (op->slot != id || op->start_pos > r->pos || (skip && skip--))
			continue;
		tell_op(r, i, f);
		fprintf(f, "  value %" PRIu64 ", expected version %" PRId64 "\n", op->number,
			(int64_t)op->expected);
	}
}

/* The operations of the slot around those that are open. */
static void tell_slot(const struct run *r, uint32_t id, FILE *f)
{
	const struct slot_state *st = &r->checker.state[id];
	const struct slot *s = &r->log->slot[id];
	uint32_t first = st->acked > 2 ? st->acked - 2 : 0, i, k;

	if (s->type == SLOT_SHARED) {
		tell_shared(r, id, f);
		return;
	}
	if (s->type != SLOT_OBJECT && s->type != SLOT_KV)
		first = st->first_open > 2 ? st->first_open - 2 : 0;
	for (i = first; i < s->nr_ops && i <= st->started; i++)
		tell_op(r, s->ops[i], f);
	/* Plain puts were made durable by others. */
	for (i = 0; i < r->log->nr_ops; i++)
		for (k = 0; k < r->log->op[i].nr_covers; k++)
			if (r->log->op[r->log->op[i].covers[k]].slot == id &&
			    r->log->op[r->log->op[i].covers[k]].index + 3 > st->first_open &&
			    r->log->op[i].ack_pos <= r->pos)
				tell_op(r, i, f);
}

void explain(const struct run *r, const struct place *place, const struct fault *fault, FILE *f)
{
	fprintf(f, "cut %" PRIu64 " at record %" PRIu64 ", fences %s, image '%s' with seed %" PRIu64
		"\n", place->cut, place->pos, fence_mode_name(place->mode),
		image_kind_name(place->image.kind), place->image.seed);
	fprintf(f, "slot %u at 0x%" PRIx64 " of the namespace (0x%" PRIx64 " of the nvdimm): %s\n",
		fault->slot, fault->offset, r->config->data_offset + fault->offset, fault->text);
	tell_slot(r, fault->slot, f);
	if (!r->config->check)
		tell_line(r, place, (r->config->data_offset + fault->offset) / TRACE_LINE, f);
}

/* --- files ------------------------------------------------------------------------------ */

/* NAME=VALUE lines, for --replay. */
static int write_place(const struct run *r, const struct place *place, const char *path)
{
	const struct config *c = r->config;
	FILE *f = fopen(path, "w");

	if (!f) {
		perror(path);
		return -1;
	}
	fprintf(f, "trace=%s\nclient=%s\nlog=%s\n", c->trace, c->client, c->log);
	if (c->start)
		fprintf(f, "start=%s\n", c->start);
	if (c->check)
		fprintf(f, "check=%s\n", c->check);
	if (c->store)
		fprintf(f, "store=1\ndata-size=%" PRIu64 "\n", c->data_size);
	fprintf(f, "first-op=%" PRIu64 "\ndata-offset=%" PRIu64 "\ncaches-survive=%d\n",
		c->first_op, c->data_offset, c->caches_survive);
	fprintf(f, "cut=%" PRIu64 "\npos=%" PRIu64 "\nfences=%s\nimage=%s\nseed=%" PRIu64 "\n",
		place->cut, place->pos, fence_mode_name(place->mode),
		image_kind_name(place->image.kind), place->image.seed);
	return fclose(f) ? -1 : 0;
}

int keep_place(struct run *r, const struct place *place, const char *dir)
{
	char path[4096];

	if (mkdir(dir, 0755) && errno != EEXIST) {
		perror(dir);
		return -1;
	}
	snprintf(path, sizeof(path), "%s/place", dir);
	if (write_place(r, place, path) || (r->config->check && outside_promise(r, dir)))
		return -1;
	snprintf(path, sizeof(path), "%s/image", dir);
	return keep_image(&r->model, &place->image, 0, path);
}

int keep_failure(struct run *r, const struct place *place, const struct fault *fault)
{
	char dir[4000], path[4096];
	FILE *f;

	if (r->kept >= MAX_KEPT || !r->config->out)
		return 0;
	snprintf(dir, sizeof(dir), "%s/fail-%u", r->config->out, ++r->kept);
	printf("%s: LOSS at cut %" PRIu64 ", fences %s, image '%s': slot %u: %s; kept in %s\n",
	       r->config->label, place->cut, fence_mode_name(place->mode),
	       image_kind_name(place->image.kind), fault->slot, fault->text, dir);
	if (keep_place(r, place, dir))
		return -1;
	snprintf(path, sizeof(path), "%s/report", dir);
	f = fopen(path, "w");
	if (!f) {
		perror(path);
		return -1;
	}
	explain(r, place, fault, f);
	return fclose(f) ? -1 : 0;
}
