// SPDX-License-Identifier: GPL-2.0
/* What the slots hold, what they may hold, and what is found there. */
#include <inttypes.h>

#include "load.h"

unsigned int recheck = RECHECK;

const char *const kind_names[KINDS] = { "put", "put-noreplay", "persist", "commit", "block" };

unsigned int slot_len(const struct worker *w)
{
	return w->kind == COMMIT ? OBJECT : SLOT;
}

uint64_t slot_offset(const struct worker *w, unsigned int i)
{
	return w->base + (uint64_t)i * slot_len(w);
}

/* The word of sequence number @seq at @offset of the namespace. */
static uint64_t word(uint64_t offset, uint64_t seq)
{
	uint64_t x = offset * 0x9e3779b97f4a7c15ULL ^ seq * 0xc2b2ae3d27d4eb4fULL;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9ULL;
	return x ^ x >> 32;
}

static unsigned int words(const struct worker *w)
{
	return (slot_len(w) - (w->kind == COMMIT ? PMOF_TRAILER_SIZE : 0)) / 8;
}

void slot_fill(const struct worker *w, unsigned int i, uint64_t seq, void *buf)
{
	uint64_t *p = buf, offset = slot_offset(w, i);
	unsigned int k;

	for (k = 0; k < words(w); k++)
		p[k] = word(offset + 8 * k, seq);
}

bool slot_begin(struct slot *s, uint64_t *seq)
{
	s->written = true;
	if (s->nr_maybe == MAYBE) {
		*seq = s->maybe[MAYBE - 1];
		return false;
	}
	s->maybe[s->nr_maybe++] = *seq;
	return true;
}

/* It was written whole, behind all that was begun before it. */
void slot_durable(struct slot *s, uint64_t seq)
{
	s->durable = seq;
	s->nr_maybe = 0;
	s->unprepared = false;
}

/* --- the check ------------------------------------------------------------------ */

static bool may_hold(const struct slot *s, uint64_t offset, uint64_t value)
{
	unsigned int m;

	if (value == word(offset, s->durable))
		return true;
	for (m = 0; m < s->nr_maybe; m++)
		if (value == word(offset, s->maybe[m]))
			return true;
	return false;
}

/* The older write whose word it is, 0: none of this thread's. */
static uint64_t find_older(const struct slot *s, uint64_t offset, uint64_t value)
{
	uint64_t seq;

	for (seq = s->durable - 1; seq && s->durable - seq < 100000; seq--)
		if (value == word(offset, seq))
			return seq;
	return 0;
}

/* Several threads compare at once: a line each. */
static void complain(const struct worker *w, unsigned int i, unsigned int k, uint64_t value,
		     uint64_t older)
{
	const struct slot *s = &w->slot[i];
	char verdict[64] = "CORRUPT: it is no write of this slot";

	if (older)
		snprintf(verdict, sizeof(verdict), "LOST: it is write %" PRIu64, older);
	else if (!value)
		snprintf(verdict, sizeof(verdict), "LOST: it was never written");
	printf("# %s: slot %u, offset %" PRIu64 ": %#" PRIx64 ", durable is write %" PRIu64
	       ", %u may be there: %s\n", kind_names[w->kind], i, slot_offset(w, i) + 8 * k, value,
	       s->durable, s->nr_maybe, verdict);
}

static void check_slot(struct worker *w, unsigned int i, const uint64_t *found)
{
	uint64_t offset = slot_offset(w, i), older;
	unsigned int k;

	for (k = 0; k < words(w); k++) {
		if (may_hold(&w->slot[i], offset + 8 * k, found[k]))
			continue;
		older = find_older(&w->slot[i], offset + 8 * k, found[k]);
		if (older || !found[k])
			w->lost++;
		else
			w->corrupt++;
		complain(w, i, k, found[k], older);
		return;
	}
}

/* A committed object is whole, of one write. */
static bool object_is(const struct worker *w, unsigned int i, const uint64_t *found, uint64_t seq)
{
	unsigned int k;

	for (k = 0; k < words(w); k++)
		if (found[k] != word(slot_offset(w, i) + 8 * k, seq))
			return false;
	return true;
}

static void check_object(struct worker *w, unsigned int i)
{
	uint64_t *found = (uint64_t *)w->buf, offset = slot_offset(w, i), generation, older;
	struct slot *s = &w->slot[i];
	unsigned int m;
	int rc;

	/* [C4] What a COMMIT has acknowledged is seen at once; only what is unknown may have to be made so. */
	rc = vm_get_valid(device.fd, offset, found, OBJECT, &generation);
	if (rc == -EAGAIN && s->unprepared && !vm_revalidate(device.fd, offset, OBJECT, &generation))
		rc = vm_get_valid(device.fd, offset, found, OBJECT, &generation);
	if (rc == -EAGAIN && s->unprepared)
		return;
	if (rc) {
		printf("# commit: object %u is not there: %s, committed as write %" PRIu64 "\n", i,
		       strerror(-rc), s->durable);
		w->lost++;
		return;
	}
	if (object_is(w, i, found, s->durable))
		return;
	for (m = 0; m < s->nr_maybe; m++)
		if (object_is(w, i, found, s->maybe[m]))
			return;
	older = find_older(s, offset, found[0]);
	if (older && object_is(w, i, found, older))
		w->lost++;
	else
		w->corrupt++;
	complain(w, i, 0, found[0], older);
}

static void check_chunk(struct worker *w, unsigned int first, uint64_t *found)
{
	unsigned int i;
	int rc = 0;

	if (w->kind != COMMIT)
		rc = vm_get(device.fd, slot_offset(w, first), found, CHUNK * SLOT);
	if (rc) {
		printf("# %s: cannot be read: %s\n", kind_names[w->kind], strerror(-rc));
		w->corrupt++;
		return;
	}
	for (i = first; i < first + CHUNK; i++) {
		w->slot[i].written = false;
		if (!w->slot[i].durable)
			continue;	/* nothing was acknowledged yet */
		if (w->kind == COMMIT)
			check_object(w, i);
		else
			check_slot(w, i, found + (i - first) * SLOT / 8);
	}
}

static bool is_due(const struct worker *w, unsigned int chunk)
{
	unsigned int i;

	for (i = chunk * CHUNK; i < (chunk + 1) * CHUNK; i++)
		if (w->slot[i].written)
			return true;
	return (chunk + CHUNKS - w->turn) % CHUNKS < recheck;
}

/*
 * A PERSIST fails for a new generation only, and once: no round brings two.  By all methods but read it
 * has to: the marks of what was put stay where so little is made durable at once.
 */
static void check_told(struct worker *w)
{
	struct pmof_info info;
	int rc = vm_info(device.persist_fd, &info);
	uint64_t due;
	bool must;

	if (rc)
		info.generation = w->generation;
	due = info.generation != w->generation;
	must = device.patient && !rc && !(info.methods & 1U << PMOF_METHOD_READ);
	if ((w->told > due || (must && w->told < due)) && !*w->error)
		snprintf(w->error, sizeof(w->error), "persist: %" PRIu64 " failed, generation %#" PRIx64
			 ", before %#" PRIx64, w->told, (uint64_t)info.generation, w->generation);
	w->generation = info.generation;
	w->told = 0;
}

void *check_worker(void *worker)
{
	uint64_t *found = vm_pages(CHUNK * SLOT);
	struct worker *w = worker;
	unsigned int chunk;

	w->lost = 0;
	w->corrupt = 0;
	for (chunk = 0; chunk < CHUNKS; chunk++)
		if (is_due(w, chunk))
			check_chunk(w, chunk * CHUNK, found);
	if (w->kind == PERSIST)
		check_told(w);
	w->turn = (w->turn + recheck) % CHUNKS;
	w->passed = 0;
	munmap(found, CHUNK * SLOT + 4096);
	return NULL;
}
