// SPDX-License-Identifier: GPL-2.0
/* Going back to a place of a run: see replay.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../kmod/common/object.h"
#include "content.h"
#include "replay.h"

/* --- the file 'place' ------------------------------------------------------------------ */

static int set_field(struct config *c, struct place *p, const char *name, const char *value)
{
	enum image_kind kind;

	if (!strcmp(name, "trace"))
		c->trace = strdup(value);
	else if (!strcmp(name, "client"))
		c->client = strdup(value);
	else if (!strcmp(name, "log"))
		c->log = strdup(value);
	else if (!strcmp(name, "start"))
		c->start = strdup(value);
	else if (!strcmp(name, "check"))
		c->check = strdup(value);
	else if (!strcmp(name, "first-op"))
		c->first_op = strtoull(value, NULL, 10);
	else if (!strcmp(name, "data-offset"))
		c->data_offset = strtoull(value, NULL, 10);
	else if (!strcmp(name, "store"))
		c->store = atoi(value);
	else if (!strcmp(name, "data-size"))
		c->data_size = strtoull(value, NULL, 10);
	else if (!strcmp(name, "caches-survive"))
		c->caches_survive = atoi(value);
	else if (!strcmp(name, "cut"))
		p->cut = strtoull(value, NULL, 10);
	else if (!strcmp(name, "pos"))
		p->pos = strtoull(value, NULL, 10);
	else if (!strcmp(name, "seed"))
		p->image.seed = strtoull(value, NULL, 10);
	else if (!strcmp(name, "fences"))
		p->mode = strcmp(value, "x86") ? FENCE_STRICT : FENCE_X86;
	else if (!strcmp(name, "image"))
		for (kind = IMAGE_LOST; kind <= IMAGE_TORN; kind++)
			p->image.kind = strcmp(value, image_kind_name(kind)) ? p->image.kind : kind;
	else
		return -1;
	return 0;
}

int replay_read(struct config *c, struct place *place, const char *dir)
{
	char path[4096], line[4096], *value;
	int rc = 0;
	FILE *f;

	memset(place, 0, sizeof(*place));
	snprintf(path, sizeof(path), "%s/place", dir);
	f = fopen(path, "r");
	if (!f) {
		perror(path);
		return -1;
	}
	while (!rc && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		value = strchr(line, '=');
		if (value)
			*value++ = '\0';
		rc = value ? set_field(c, place, line, value) : -1;
	}
	fclose(f);
	if (!rc && c->trace && c->client && c->log)
		return 0;
	fprintf(stderr, "%s: malformed\n", path);
	replay_free(c);
	return -1;
}

void replay_free(struct config *c)
{
	free((void *)c->trace);
	free((void *)c->client);
	free((void *)c->log);
	free((void *)c->start);
	free((void *)c->check);
}

/* --- once more --------------------------------------------------------------------------- */

static int go_to(struct run *r, const struct config *c, const struct log *log,
		 const struct trace *trace, const struct timeline *t, const struct place *place)
{
	struct trace_cursor cursor = trace_begin(trace);

	if (run_init(r, c, log, trace, t, place->mode))
		return -1;
	if (!run_to(r, &cursor, place->pos))
		return 0;
	run_free(r);
	return -1;
}

int replay_show(const struct config *c, const struct log *log, const struct trace *trace,
		const struct timeline *t, const struct place *place)
{
	struct fault fault;
	struct run r;
	int status = 0;

	if (go_to(&r, c, log, trace, t, place))
		return -1;
	if (c->store ? store_check(&r, place, &fault) :
	    c->check ? outside_check(&r, place, &fault) :
		       run_check_image(&r, &place->image, &fault)) {
		printf("no fault in this image\n");
	} else {
		explain(&r, place, &fault, stdout);
		status = 1;
	}
	run_free(&r);
	return status;
}

/* --- images that are booted --------------------------------------------------------------- */

static int save_place(const struct config *c, struct run *r, const struct place *place,
		      unsigned int number)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/boot-%u", c->out, number);
	return keep_place(r, place, path);
}

int save_places(const struct config *c, const struct log *log, const struct trace *trace,
		const struct timeline *t, unsigned int nr)
{
	/* Seeds of their own: not the cuts that were just checked. */
	uint64_t *cuts = choose_cuts(trace, t, nr, crash_mix(c->seed)), i;
	static const enum image_kind kinds[] = { IMAGE_TORN, IMAGE_LOST, IMAGE_PREFIX };
	struct trace_cursor cursor = trace_begin(trace);
	struct run r;
	int rc;

	rc = run_init(&r, c, log, trace, t, FENCE_STRICT);
	for (i = 0; i < nr && !rc; i++) {
		struct place place = {
			.cut = i, .pos = cuts[i], .mode = FENCE_STRICT,
			.image = { .kind = kinds[i % 3], .seed = crash_mix(c->seed ^ i) },
		};

		rc = run_to(&r, &cursor, cuts[i]) || save_place(c, &r, &place, i);
	}
	if (r.log)
		run_free(&r);
	free(cuts);
	return rc;
}

static bool wrong(uint32_t id, const char *what)
{
	printf("verify: slot %u: %s\n", id, what);
	return false;
}

/* What recovery and the device made of an object whose bytes were @image. */
static bool verify_object(const struct log *log, uint32_t id, const struct dump_slot *d,
			  const uint8_t *image, const uint8_t *got)
{
	uint64_t data = log->slot[id].length - PMOF_TRAILER_SIZE, generation, word;

	if (memcmp(image, got, data))
		return wrong(id, "its data are not those of the image");
	if (!check_recoverable(log, id, image, &generation)) {
		if (memcmp(image, got, log->slot[id].length))
			return wrong(id, "not committed, and its trailer has changed");
		return (d->revalidate == -EAGAIN && d->valid == -EAGAIN) ||
		       wrong(id, "REVALIDATE or a VALID get took what is not committed");
	}
	memcpy(&word, got + data, sizeof(word));
	if (d->revalidate || d->valid || d->generation != generation)
		return wrong(id, "REVALIDATE or a VALID get did not take what is committed");
	return pmof_trailer_valid(word) || wrong(id, "not valid after REVALIDATE");
}

static bool verify_slot(struct run *r, const struct place *place, uint32_t id, FILE *f)
{
	const struct slot *s = &r->log->slot[id];
	struct dump_slot d;
	struct fault fault;

	if (fread(&d, sizeof(d), 1, f) != 1 || fread(r->bytes, s->length, 1, f) != 1)
		return wrong(id, "the dump is too short");
	model_read(&r->model, &place->image, r->config->data_offset + s->offset, r->other,
		   s->length);
	if (s->type == SLOT_OBJECT) {
		if (!verify_object(r->log, id, &d, r->other, r->bytes))
			return false;
	} else if (memcmp(r->bytes, r->other, s->length)) {
		return wrong(id, "its bytes are not those of the image");
	}
	return check_slot(&r->checker, id, r->bytes, &fault) || wrong(id, fault.text);
}

int replay_verify(const struct config *c, const struct log *log, const struct trace *trace,
		  const struct timeline *t, const struct place *place, const char *dump)
{
	FILE *f = fopen(dump, "r");
	bool good = true;
	struct run r;
	uint32_t id;

	if (!f) {
		perror(dump);
		return -1;
	}
	if (go_to(&r, c, log, trace, t, place)) {
		fclose(f);
		return -1;
	}
	for (id = 0; id < log->nr_slots; id++)
		good &= verify_slot(&r, place, id, f);
	if (good)
		printf("verify: all %u slots are as the image says\n", log->nr_slots);
	fclose(f);
	run_free(&r);
	return !good;
}
