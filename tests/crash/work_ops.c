// SPDX-License-Identifier: GPL-2.0
/* The workload's operations: see workload.h. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "content.h"
#include "mark.h"
#include "workload.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void mark_start(uint32_t number)
{
	crash_mark(MARK_OP_START, work.first_mark + number);
}

static void mark_done(uint32_t number)
{
	crash_mark(MARK_OP_DONE, work.first_mark + number);
}

static void call(unsigned long cmd, void *arg, const char *what, uint32_t number)
{
	if (ioctl(work.fd, cmd, arg))
		die("%s, operation %u: %s", what, number, strerror(errno));
}

/* --- raw slots ------------------------------------------------------------------------ */

/* Any part of a slot: often a few bytes, often all of it, and what lies between. */
static void pick_range(struct thread *t, const struct wslot *s, uint64_t *from, uint64_t *len)
{
	uint64_t most;

	switch (crash_rnd(&t->rnd, 4)) {
	case 0:
		most = 9;
		break;
	case 1:
		most = 200;
		break;
	case 2:
		*from = 0;
		*len = s->length;
		return;
	default:
		most = s->length;
	}
	most = most < s->length ? most : s->length;
	*len = crash_rnd(&t->rnd, most) + 1;
	*from = crash_rnd(&t->rnd, s->length - *len + 1);
}

static uint32_t begin_put(uint32_t slot, uint64_t from, uint64_t len, bool durable)
{
	return op_number("put %%u %u %llu %llu %llu %d", slot,
			 (unsigned long long)work.slot[slot].version, (unsigned long long)from,
			 (unsigned long long)len, durable);
}

/* In the mapping: from the page that @offset is in. */
static void sync_map(uint64_t offset, uint64_t length, uint32_t number)
{
	uint64_t first = offset & ~4095ULL;

	if (msync(work.map + first, offset + length - first, MS_SYNC))
		die("msync, operation %u: %s", number, strerror(errno));
}

static void store(const struct pmof_rw *rw, const uint8_t *buf, uint32_t number)
{
	memcpy(work.map + rw->offset, buf, rw->length);
	if (rw->flags & PMOF_F_PERSIST)
		sync_map(rw->offset, rw->length, number);
}

static void put(struct thread *t, uint32_t slot, uint64_t from, uint64_t len, bool durable,
		uint32_t number)
{
	struct pmof_rw rw = {
		.size = sizeof(rw), .flags = durable ? PMOF_F_PERSIST : 0,
		.offset = work.slot[slot].offset + from, .length = len,
		.addr = (uintptr_t)t->buf,
	};

	crash_content(t->buf, work.seed, slot, work.slot[slot].version, from, len);
	mark_start(number);
	if (work.map)
		store(&rw, t->buf, number);
	else
		call(PMOF_IOC_PUT, &rw, "put", number);
	mark_done(number);
}

void do_put(struct thread *t, uint32_t slot)
{
	uint64_t from, len;

	pick_range(t, &work.slot[slot], &from, &len);
	work.slot[slot].version++;
	put(t, slot, from, len, true, begin_put(slot, from, len, true));
}

/* Nothing if the last put of the slot is not durable yet. */
void do_plain_put(struct thread *t, uint32_t slot)
{
	struct wslot *s = &work.slot[slot];
	uint64_t from, len;
	uint32_t number;
	bool idle;

	pthread_mutex_lock(&lock);
	idle = s->state == SLOT_IDLE;
	if (idle)
		s->state = SLOT_PUTTING;
	pthread_mutex_unlock(&lock);
	if (!idle)
		return;
	pick_range(t, s, &from, &len);
	s->version++;
	number = begin_put(slot, from, len, false);
	put(t, slot, from, len, false, number);
	pthread_mutex_lock(&lock);
	s->state = SLOT_PUT;
	s->put = number;
	pthread_mutex_unlock(&lock);
}

/* Takes the puts of slots [first, end) that have completed; their numbers to @text. */
static uint32_t collect(uint32_t first, uint32_t end, bool *mine, char *text)
{
	uint32_t i, n = 0;

	*text = '\0';
	pthread_mutex_lock(&lock);
	for (i = first; i < end; i++) {
		mine[i - first] = work.slot[i].state == SLOT_PUT;
		if (!mine[i - first])
			continue;
		work.slot[i].state = SLOT_PERSISTING;
		text += sprintf(text, " %u", work.slot[i].put);
		n++;
	}
	pthread_mutex_unlock(&lock);
	return n;
}

void do_persist(uint32_t first, uint32_t end, bool whole)
{
	const struct wslot *last = &work.slot[end - 1];
	struct pmof_persist p = {
		.size = sizeof(p), .offset = work.slot[first].offset,
		.length = last->offset + last->length - work.slot[first].offset,
	};
	bool *mine = calloc(end - first, sizeof(*mine));
	char *text = malloc(16 * (end - first) + 1);
	uint32_t number, i;

	if (!mine || !text)
		die("no memory");
	if (whole) {
		p.offset = 0;
		p.length = work.ns_size;
	}
	if (collect(first, end, mine, text)) {
		number = op_number("persist %%u %llu %llu%s", (unsigned long long)p.offset,
				   (unsigned long long)p.length, text);
		mark_start(number);
		if (work.map)
			sync_map(p.offset, p.length, number);
		else
			call(PMOF_IOC_PERSIST, &p, "persist", number);
		mark_done(number);
	}
	pthread_mutex_lock(&lock);
	for (i = first; i < end; i++)
		if (mine[i - first])
			work.slot[i].state = SLOT_IDLE;
	pthread_mutex_unlock(&lock);
	free(mine);
	free(text);
}

/* --- objects ---------------------------------------------------------------------------- */

static uint32_t begin_object(const char *what, uint32_t slot)
{
	return op_number("%s %%u %u %llu", what, slot,
			 (unsigned long long)work.slot[slot].version);
}

static void expect_generation(uint32_t slot, uint64_t got)
{
	if (got != work.slot[slot].version)
		die("slot %u: PREPARE gave generation %llu, not %llu", slot,
		    (unsigned long long)got, (unsigned long long)work.slot[slot].version);
}

void do_prepare(uint32_t slot)
{
	struct wslot *s = &work.slot[slot];
	struct pmof_object o = { .size = sizeof(o), .offset = s->offset, .length = s->length };
	uint32_t number;

	s->version++;
	number = begin_object("prepare", slot);
	mark_start(number);
	call(PMOF_IOC_PREPARE, &o, "prepare", number);
	mark_done(number);
	expect_generation(slot, o.generation);
}

void do_commit(struct thread *t, uint32_t slot)
{
	struct wslot *s = &work.slot[slot];
	struct pmof_rw rw = {
		.size = sizeof(rw), .flags = PMOF_F_COMMIT, .offset = s->offset,
		.length = s->length, .addr = (uintptr_t)t->buf, .generation = s->version,
	};
	uint32_t number = begin_object("commit", slot);

	crash_content(t->buf, work.seed, slot, s->version, 0, s->length - PMOF_TRAILER_SIZE);
	mark_start(number);
	call(PMOF_IOC_PUT, &rw, "commit", number);
	mark_done(number);
}

bool do_read(struct thread *t, uint32_t slot)
{
	const struct wslot *s = &work.slot[slot];
	uint64_t data = s->length - PMOF_TRAILER_SIZE;
	struct pmof_rw rw = {
		.size = sizeof(rw), .flags = PMOF_F_VALID, .offset = s->offset,
		.length = s->length, .addr = (uintptr_t)t->buf,
	};
	uint32_t number;
	uint8_t *want;

	if (ioctl(work.fd, PMOF_IOC_GET, &rw)) {
		if (errno != EAGAIN)
			die("VALID get of slot %u: %s", slot, strerror(errno));
		return false;
	}
	/* Only now: a get that finds nothing valid has no number. */
	number = op_number("seen %%u %u %llu", slot, (unsigned long long)rw.generation);
	mark_start(number);
	mark_done(number);
	want = malloc(data);
	if (!want)
		die("no memory");
	crash_content(want, work.seed, slot, rw.generation, 0, data);
	if (memcmp(want, t->buf, data))
		die("a VALID get of slot %u, generation %llu, is torn", slot,
		    (unsigned long long)rw.generation);
	free(want);
	return true;
}

/* --- words -------------------------------------------------------------------------------- */

void do_atomic(struct thread *t, uint32_t slot)
{
	struct wslot *s = &work.slot[slot];
	uint64_t old = crash_word(work.seed, slot, s->version), new;
	struct pmof_atomic a = {
		.size = sizeof(a), .flags = PMOF_F_PERSIST, .offset = s->offset,
	};
	bool cas = crash_rnd(&t->rnd, 2);
	uint32_t number;

	new = crash_word(work.seed, slot, ++s->version);
	a.compare = cas ? old : 0;
	a.operand = cas ? new : new - old;
	number = begin_object("atomic", slot);
	mark_start(number);
	call(cas ? PMOF_IOC_CAS : PMOF_IOC_FETCH_ADD, &a, "atomic", number);
	mark_done(number);
	if (a.old != old)
		die("slot %u: an atomic found %llx, not %llx", slot, (unsigned long long)a.old,
		    (unsigned long long)old);
}

/* --- SUBMIT ---------------------------------------------------------------------------------- */

#define BATCH	64	/* operations of one SUBMIT at most */

/* @number: of each operation. */
static void submit(struct pmof_op *ops, const uint32_t *number, uint32_t nr)
{
	struct pmof_submit s = {
		.size = sizeof(s), .ops = (uintptr_t)ops, .nr_ops = nr,
	};
	uint32_t i;

	for (i = 0; i < nr; i++)
		mark_start(number[i]);
	call(PMOF_IOC_SUBMIT, &s, "submit", number[0]);
	for (i = 0; i < nr; i++)
		if (ops[i].result)
			die("operation %u of a SUBMIT: %s", number[i], strerror(-ops[i].result));
	for (i = 0; i < nr; i++)
		mark_done(number[i]);
}

static struct pmof_op slot_op(uint32_t slot, enum pmof_opcode opcode, uint32_t flags)
{
	return (struct pmof_op){
		.size = sizeof(struct pmof_op), .opcode = opcode, .flags = flags,
		.offset = work.slot[slot].offset, .length = work.slot[slot].length,
	};
}

static uint8_t *filled(uint32_t slot, uint64_t length)
{
	uint8_t *buf = malloc(work.slot[slot].length);

	if (!buf)
		die("no memory");
	crash_content(buf, work.seed, slot, work.slot[slot].version, 0, length);
	return buf;
}

/* Prepares many objects at once, and commits them: in the same call, or in one of its own. */
void do_submit_objects(struct thread *t, uint32_t first, uint32_t nr)
{
	bool together = crash_rnd(&t->rnd, 2);
	struct pmof_op ops[BATCH];
	uint32_t number[BATCH] = { 0 }, i;
	uint8_t *buf[BATCH];

	for (i = 0; i < nr; i++) {
		work.slot[first + i].version++;
		ops[i] = slot_op(first + i, PMOF_OP_PREPARE, 0);
		number[i] = begin_object("prepare", first + i);
	}
	if (!together)
		submit(ops, number, nr);
	for (i = 0; i < nr; i++) {
		struct wslot *s = &work.slot[first + i];

		ops[nr + i] = slot_op(first + i, PMOF_OP_PUT, PMOF_F_COMMIT);
		ops[nr + i].operand = s->version;
		buf[i] = filled(first + i, s->length - PMOF_TRAILER_SIZE);
		ops[nr + i].addr = (uintptr_t)buf[i];
		number[nr + i] = begin_object("commit", first + i);
	}
	if (together)
		submit(ops, number, 2 * nr);
	else
		submit(ops + nr, number + nr, nr);
	for (i = 0; i < nr; i++) {
		expect_generation(first + i, ops[i].old);
		free(buf[i]);
	}
}

/* Plain puts with a durable one among them, then PERSIST of the plain ones. */
void do_submit_puts(struct thread *t, uint32_t first, uint32_t nr)
{
	uint32_t durable = crash_rnd(&t->rnd, nr), number[BATCH] = { 0 }, i;
	const struct wslot *last = &work.slot[first + nr - 1];
	char text[16 * BATCH], *p = text;
	struct pmof_op ops[BATCH];
	uint8_t *buf[BATCH];

	*p = '\0';
	for (i = 0; i < nr; i++) {
		struct wslot *s = &work.slot[first + i];

		s->version++;
		ops[i] = slot_op(first + i, PMOF_OP_PUT, i == durable ? PMOF_F_PERSIST : 0);
		buf[i] = filled(first + i, s->length);
		ops[i].addr = (uintptr_t)buf[i];
		number[i] = begin_put(first + i, 0, s->length, i == durable);
		if (i != durable)
			p += sprintf(p, " %u", number[i]);
	}
	ops[nr] = slot_op(first, PMOF_OP_PERSIST, 0);
	ops[nr].length = last->offset + last->length - ops[nr].offset;
	number[nr] = op_number("persist %%u %llu %llu%s", (unsigned long long)ops[nr].offset,
			       (unsigned long long)ops[nr].length, text);
	submit(ops, number, nr + 1);
	for (i = 0; i < nr; i++)
		free(buf[i]);
}
