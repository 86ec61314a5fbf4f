/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A volatile cache over an nvdimm, as the trace of a run says.
 *
 * The durable image holds what is guaranteed to survive a power cut now. On top
 * of it each dirty line has a log of the stores that may or may not survive, in
 * their order. A write-back remembers, for its CPU, how long the line's log was;
 * that CPU's next fence makes the log durable up to there. A non-temporal
 * store is durable by itself at its CPU's next fence.
 */
#ifndef PMOF_CRASH_MODEL_H
#define PMOF_CRASH_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace.h"

#define MODEL_CPUS	256

enum fence_mode {
	FENCE_X86,	/* sfence, mfence and every locked operation */
	FENCE_STRICT,	/* only sfence and mfence: a locked one may be there by accident */
};

/* A store that is not guaranteed to be durable: bytes of one line. */
struct store {
	uint64_t pos;		/* of its record in the trace */
	uint64_t mask;		/* which bytes: those of a later durable store are taken out */
	bool nt;
	uint8_t cpu;
	uint8_t data[TRACE_LINE];
};

struct line {
	uint64_t first;		/* stores that have left the log */
	uint32_t nr;		/* stores in the log; 0: the line is clean */
	uint32_t cap;
	uint32_t dirty_index;	/* in model.dirty */
	struct store *store;
};

/* At the fence stores [.., @end) of the line become durable; with @nt only the last of them. */
struct pending {
	uint64_t line;
	uint64_t end;
	bool nt;
};

struct pending_list {
	struct pending *p;
	uint32_t nr;
	uint32_t cap;
};

struct model {
	enum fence_mode mode;
	bool caches_survive;	/* the domain cpu_cache: every store is durable at once */
	uint8_t *durable;
	uint64_t size;
	struct line **line;	/* by number; NULL: never stored to */
	uint64_t *dirty;	/* numbers of the lines with a log */
	uint32_t nr_dirty;
	uint32_t cap_dirty;
	struct pending_list cpu[MODEL_CPUS];
	/* Called for each line whose log has become shorter. */
	void (*changed)(void *arg, uint64_t line);
	void *arg;
	uint64_t nr_stores, nr_write_backs, nr_fences;
};

/* How much of each line's log survives. */
enum image_kind {
	IMAGE_LOST,	/* nothing */
	IMAGE_ALL,	/* everything */
	IMAGE_PREFIX,	/* a random prefix; its last store may be torn at 8 bytes */
	IMAGE_TORN,	/* a random prefix; each 8-byte word has it or has nothing */
};

struct image {
	enum image_kind kind;
	uint64_t seed;
};

int model_init(struct model *m, uint64_t size, enum fence_mode mode, bool caches_survive);
void model_free(struct model *m);

/*
 * Takes one record of the trace into account; @pos is its number. Returns 0, or
 * -1 if it cannot be right: outside the nvdimm, or crossing a line by more than one.
 */
int model_record(struct model *m, const struct trace_rec *rec, const uint8_t *data, uint64_t pos);

/* Reads [@offset, @offset + @length) of an image into @buf. */
void model_read(const struct model *m, const struct image *image, uint64_t offset, void *buf,
		size_t length);

static inline bool model_line_dirty(const struct model *m, uint64_t number)
{
	return m->line[number] && m->line[number]->nr;
}

/*
 * Everything stored must be what the machine ended with. Returns the offset of
 * the first byte that is not, or @m->size.
 */
uint64_t model_compare(const struct model *m, const uint8_t *final);

#endif /* PMOF_CRASH_MODEL_H */
