// SPDX-License-Identifier: GPL-2.0
/*
 * One run of the model over the trace, stopping at each cut to make images and
 * check them.
 *
 * A slot without a dirty line is the same in every image, and in the next
 * cut's too, unless its durable bytes or what is promised of it change: it is checked
 * once after each change. A slot with dirty lines is checked in every image.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "content.h"
#include "explore.h"

/* --- lines and slots --------------------------------------------------------------- */

static uint64_t slot_line(const struct run *r, uint32_t id, bool last)
{
	const struct slot *s = &r->log->slot[id];

	return (r->config->data_offset + s->offset + (last ? s->length - 1 : 0)) / TRACE_LINE;
}

static void mark_changed(struct run *r, uint32_t id)
{
	if (r->is_changed[id])
		return;
	r->is_changed[id] = true;
	r->changed[r->nr_changed++] = id;
}

static void line_changed(void *arg, uint64_t number)
{
	struct run *r = arg;
	uint32_t id;

	if (number < r->first_line || number > r->last_line)
		return;
	for (id = r->line_slot[number - r->first_line];
	     id < r->log->nr_slots && slot_line(r, id, false) <= number; id++)
		mark_changed(r, id);
}

static int index_slots(struct run *r)
{
	uint32_t nr = r->log->nr_slots, id = 0;
	uint64_t n;

	if (!nr)
		return -1;
	r->first_line = slot_line(r, 0, false);
	r->last_line = slot_line(r, nr - 1, true);
	if (r->last_line >= r->model.size / TRACE_LINE)
		return -1;
	r->line_slot = calloc(r->last_line - r->first_line + 1, sizeof(*r->line_slot));
	if (!r->line_slot)
		return -1;
	for (n = r->first_line; n <= r->last_line; n++) {
		while (slot_line(r, id, true) < n)
			id++;
		r->line_slot[n - r->first_line] = id;
	}
	return 0;
}

static void find_affected(struct run *r)
{
	uint32_t i, id;

	r->nr_affected = 0;
	r->now++;
	for (i = 0; i < r->model.nr_dirty; i++) {
		uint64_t n = r->model.dirty[i];

		if (n < r->first_line || n > r->last_line)
			continue;
		r->totals.lines++;
		for (id = r->line_slot[n - r->first_line];
		     id < r->log->nr_slots && slot_line(r, id, false) <= n; id++) {
			if (r->stamp[id] == r->now)
				continue;
			r->stamp[id] = r->now;
			r->affected[r->nr_affected++] = id;
		}
	}
}

/* --- begin and end ------------------------------------------------------------------- */

static int load_start(struct run *r)
{
	FILE *f;
	size_t n;

	if (!r->config->start)
		return 0;
	f = fopen(r->config->start, "r");
	if (!f) {
		perror(r->config->start);
		return -1;
	}
	n = fread(r->model.durable, 1, r->model.size, f);
	fclose(f);
	return n == r->model.size ? 0 : -1;
}

static int alloc_arrays(struct run *r)
{
	uint64_t longest = 0;
	uint32_t nr = r->log->nr_slots, i;

	for (i = 0; i < nr; i++)
		if (r->log->slot[i].length > longest)
			longest = r->log->slot[i].length;
	r->is_changed = calloc(nr, sizeof(bool));
	r->is_bad = calloc(nr, sizeof(bool));
	r->changed = calloc(nr, sizeof(uint32_t));
	r->affected = calloc(nr, sizeof(uint32_t));
	r->stamp = calloc(nr, sizeof(uint32_t));
	r->bytes = malloc(longest + 1);
	r->other = malloc(longest + 1);
	return r->is_changed && r->is_bad && r->changed && r->affected && r->stamp && r->bytes &&
	       r->other ? 0 : -1;
}

int run_init(struct run *r, const struct config *config, const struct log *log,
	     const struct trace *trace, const struct timeline *timeline, enum fence_mode mode)
{
	uint32_t i;

	memset(r, 0, sizeof(*r));
	r->config = config;
	r->log = log;
	r->trace = trace;
	r->timeline = timeline;
	r->mode = mode;
	if (model_init(&r->model, trace->head.pmem_size, mode, config->caches_survive) ||
	    load_start(r) || check_init(&r->checker, log) || alloc_arrays(r) || index_slots(r)) {
		fprintf(stderr, "%s: no memory, or the log does not fit the trace\n",
			config->label);
		run_free(r);
		return -1;
	}
	r->model.changed = line_changed;
	r->model.arg = r;
	for (i = 0; i < log->nr_slots; i++)
		mark_changed(r, i);
	return 0;
}

void run_free(struct run *r)
{
	model_free(&r->model);
	if (r->checker.log)
		check_free(&r->checker);
	free(r->line_slot);
	free(r->is_changed);
	free(r->is_bad);
	free(r->changed);
	free(r->affected);
	free(r->stamp);
	free(r->bytes);
	free(r->other);
	memset(r, 0, sizeof(*r));
}

/* --- forward in time ------------------------------------------------------------------- */

static void run_events(struct run *r)
{
	const struct timeline *t = r->timeline;
	uint32_t i;

	for (; r->next_event < t->nr_events && t->event[r->next_event].pos <= r->pos;
	     r->next_event++) {
		const struct event *e = &t->event[r->next_event];
		const struct op *op = &r->log->op[e->op];

		if (!e->ack) {
			check_started(&r->checker, e->op);
		} else {
			check_acked(&r->checker, e->op);
			for (i = 0; i < op->nr_covers; i++)
				mark_changed(r, r->log->op[op->covers[i]].slot);
		}
		if (op->kind != OP_PERSIST)
			mark_changed(r, op->slot);
	}
}

int run_to(struct run *r, struct trace_cursor *c, uint64_t pos)
{
	const uint8_t *data;
	struct trace_rec rec;

	while (c->pos <= pos && trace_next(c, &rec, &data) > 0) {
		r->pos = c->pos - 1;
		if (model_record(&r->model, &rec, data, r->pos)) {
			fprintf(stderr, "%s: record %" PRIu64 " of the trace cannot be right\n",
				r->config->label, r->pos);
			return -1;
		}
	}
	run_events(r);
	return 0;
}

/* --- checking ---------------------------------------------------------------------------- */

static bool check_one(struct run *r, uint32_t id, const struct image *image,
		      struct fault *fault)
{
	const struct slot *s = &r->log->slot[id];

	r->totals.slots++;
	model_read(&r->model, image, r->config->data_offset + s->offset, r->bytes, s->length);
	return check_slot(&r->checker, id, r->bytes, fault);
}

/* What a reader gets now, beside what is left in the worst case. */
static bool check_one_visible(struct run *r, uint32_t id, struct fault *fault)
{
	const struct image lost = { .kind = IMAGE_LOST }, all = { .kind = IMAGE_ALL };
	const struct slot *s = &r->log->slot[id];

	if (s->type != SLOT_OBJECT)
		return true;
	model_read(&r->model, &all, r->config->data_offset + s->offset, r->bytes, s->length);
	model_read(&r->model, &lost, r->config->data_offset + s->offset, r->other, s->length);
	return check_visible(&r->checker, id, r->bytes, r->other, fault);
}

bool run_check_image(struct run *r, const struct image *image, struct fault *fault)
{
	uint32_t id;

	for (id = 0; id < r->log->nr_slots; id++)
		if (!check_one(r, id, image, fault) ||
		    (image->kind == IMAGE_LOST && !check_one_visible(r, id, fault)))
			return false;
	return true;
}

/* The image in which nothing unfenced survives: only what has changed is looked at. */
static bool check_lost(struct run *r, const struct image *image, struct fault *fault)
{
	bool good = true;
	struct fault f;
	uint32_t i, kept = 0;

	for (i = 0; i < r->nr_changed; i++) {
		uint32_t id = r->changed[i];
		bool bad = !check_one(r, id, image, &f);

		r->nr_bad += bad - r->is_bad[id];
		r->is_bad[id] = bad;
		r->is_changed[id] = bad;
		if (!bad)
			continue;
		/* It is so in the next cut too, until it changes. */
		r->changed[kept++] = id;
		if (good)
			*fault = f;
		good = false;
	}
	r->nr_changed = kept;
	for (i = 0; i < r->nr_affected && good; i++)
		good = check_one_visible(r, r->affected[i], fault);
	return good;
}

static bool check_image(struct run *r, const struct place *place, struct fault *fault)
{
	const struct image *image = &place->image;
	uint32_t i;

	if (r->config->store)
		return store_check(r, place, fault);
	if (r->config->check)
		return outside_check(r, place, fault);
	if (image->kind == IMAGE_LOST)
		return check_lost(r, image, fault);
	for (i = 0; i < r->nr_affected; i++)
		if (!check_one(r, r->affected[i], image, fault))
			return false;
	return true;
}

/* Lost and all first, then prefixes and torn ones in turn. */
static struct image nth_image(const struct run *r, uint64_t cut, unsigned int i)
{
	static const enum image_kind kinds[] = { IMAGE_LOST, IMAGE_ALL };

	return (struct image){
		.kind = i < 2 ? kinds[i] : i % 2 ? IMAGE_TORN : IMAGE_PREFIX,
		.seed = crash_mix(r->config->seed ^ crash_mix(cut * MAX_IMAGES + i)),
	};
}

static int do_cut(struct run *r, uint64_t cut)
{
	struct place place = { .cut = cut, .pos = r->pos, .mode = r->mode };
	unsigned int i, bad = 0;
	struct fault fault;

	find_affected(r);
	r->totals.cuts++;
	r->totals.lines += config_whole(r->config) ? r->model.nr_dirty : 0;
	for (i = 0; i < r->config->images; i++) {
		/* Without a dirty line all images are one. */
		if (i && !(config_whole(r->config) ? r->model.nr_dirty : r->nr_affected))
			break;
		place.image = nth_image(r, cut, i);
		r->totals.images++;
		if (check_image(r, &place, &fault))
			continue;
		r->totals.bad_images++;
		if (!bad++ && keep_failure(r, &place, &fault))
			return -1;
	}
	r->totals.bad_cuts += bad > 0;
	return 0;
}

int run_cuts(struct run *r, const uint64_t *cuts, uint64_t nr)
{
	struct trace_cursor c = trace_begin(r->trace);
	uint64_t i;

	for (i = 0; i < nr; i++) {
		if (run_to(r, &c, cuts[i]) || do_cut(r, i))
			return -1;
		if (r->config->quick && r->totals.bad_cuts)
			return 0;
	}
	/* To the end, for the comparison with the nvdimm's file. */
	return run_to(r, &c, UINT64_MAX - 1);
}
