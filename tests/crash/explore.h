/* SPDX-License-Identifier: GPL-2.0 */
/* The explorer: what its files share. */
#ifndef PMOF_CRASH_EXPLORE_H
#define PMOF_CRASH_EXPLORE_H

#include <stdio.h>

#include "check.h"
#include "model.h"
#include "timeline.h"
#include "trace_file.h"

#define MAX_KEPT	10	/* failures of a run that are written out */
#define MAX_IMAGES	64	/* of one cut */

/* What was asked for. */
struct config {
	const char *trace;
	const char *client;
	const char *log;
	const char *start;	/* the nvdimm at the trace's begin, NULL: zeros */
	const char *final;	/* the nvdimm at its end, NULL: do not compare */
	const char *out;	/* where failures go, NULL: nowhere */
	const char *label;	/* before each line that is printed */
	const char *check;	/* a program that judges images (outside.c), NULL: the checker does */
	uint64_t first_op;	/* the mark of the log's first operation */
	uint64_t data_offset;	/* of the namespace in the nvdimm */
	uint64_t data_size;	/* its bytes: of a store */
	uint64_t cuts;
	uint64_t seed;
	unsigned int images;	/* at each cut */
	bool store;		/* the namespace is a store: store_check.c judges */
	bool caches_survive;
	bool quick;		/* stop at the first failure */
};

/* A point of the trace, and an image there: enough to see it again. */
struct place {
	uint64_t cut;		/* number of the cut */
	uint64_t pos;		/* records [0, pos] have happened */
	enum fence_mode mode;
	struct image image;
};

struct totals {
	uint64_t cuts, images, slots;
	uint64_t bad_cuts, bad_images;
	uint64_t lines;		/* dirty ones, over all cuts */
};

/* One run of the model over the trace. */
struct run {
	const struct config *config;
	const struct log *log;
	const struct trace *trace;
	const struct timeline *timeline;
	enum fence_mode mode;
	struct model model;
	struct checker checker;
	uint32_t next_event;
	uint64_t pos;		/* of the last record that was taken */
	/* Slots that cross a line: the first of each line of [first_line, last_line]. */
	uint64_t first_line, last_line;
	uint32_t *line_slot;
	/* Slots whose durable bytes or promises have changed since they were checked. */
	bool *is_changed, *is_bad;
	uint32_t *changed, *affected, *stamp;
	uint32_t nr_changed, nr_affected, nr_bad, now;
	uint8_t *bytes, *other;
	struct totals totals;
	unsigned int kept;	/* failures written out, by this and earlier runs */
};

/* Images are judged as a whole, not slot by slot. */
static inline bool config_whole(const struct config *c)
{
	return c->check || c->store;
}

const char *fence_mode_name(enum fence_mode mode);
const char *image_kind_name(enum image_kind kind);

int run_init(struct run *r, const struct config *config, const struct log *log,
	     const struct trace *trace, const struct timeline *timeline, enum fence_mode mode);
void run_free(struct run *r);
/* Makes @nr cuts, sorted by place. Returns 0, or -1 with a message. */
int run_cuts(struct run *r, const uint64_t *cuts, uint64_t nr);
/* Brings model and checker to @pos. */
int run_to(struct run *r, struct trace_cursor *c, uint64_t pos);
/* Checks every slot of one image; prints nothing. Returns false with the first fault. */
bool run_check_image(struct run *r, const struct image *image, struct fault *fault);

/* Chooses @nr cuts in the part of the trace in which operations lie. Sorted; free() them. */
uint64_t *choose_cuts(const struct trace *trace, const struct timeline *t, uint64_t nr,
		      uint64_t seed);

/* Writes a failure out. Returns 0, or -1 with a message. */
int keep_failure(struct run *r, const struct place *place, const struct fault *fault);
/* Writes the image at a place, and how to come back to it, to the directory @dir. */
int keep_place(struct run *r, const struct place *place, const char *dir);
/* Writes the bytes of an image, from @from on, to a file. Returns 0, or -1 with a message. */
int keep_image(const struct model *m, const struct image *image, uint64_t from, const char *path);
/* What led to a fault: to @f. */
void explain(const struct run *r, const struct place *place, const struct fault *fault, FILE *f);

/* For an image that a program judges: what was promised of each slot, to DIR/promises. */
int outside_promise(const struct run *r, const char *dir);
/* Runs that program on an image. False if it finds a fault. */
bool outside_check(struct run *r, const struct place *place, struct fault *fault);

/* Judges an image with a store. */
bool store_check(struct run *r, const struct place *place, struct fault *fault);

#endif /* PMOF_CRASH_EXPLORE_H */
