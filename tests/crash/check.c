// SPDX-License-Identifier: GPL-2.0
/* What an image must hold: see check.h. Rules of objects: kmod/common/object.h. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../kmod/common/object.h"
#include "check.h"
#include "content.h"

int check_init(struct checker *c, const struct log *log)
{
	uint64_t longest = 8;
	uint32_t i;

	memset(c, 0, sizeof(*c));
	c->log = log;
	c->state = calloc(log->nr_slots + 1, sizeof(*c->state));
	c->durable = calloc(log->nr_ops + 1, sizeof(*c->durable));
	if (!c->state || !c->durable)
		return -1;
	for (i = 0; i < log->nr_slots; i++) {
		const struct slot *s = &log->slot[i];

		longest = s->length > longest ? s->length : longest;
		if (s->type == SLOT_OBJECT)
			continue;
		c->state[i].floor = calloc(s->length, 1);
		c->state[i].floor_op = calloc(s->length, sizeof(uint32_t));
		if (!c->state[i].floor || !c->state[i].floor_op)
			return -1;
	}
	c->buf[0] = malloc(longest);
	c->buf[1] = malloc(longest);
	c->shared = shared_new(log);
	return c->buf[0] && c->buf[1] && c->shared ? 0 : -1;
}

void check_free(struct checker *c)
{
	uint32_t i;

	for (i = 0; c->state && i < c->log->nr_slots; i++) {
		free(c->state[i].floor);
		free(c->state[i].floor_op);
	}
	if (c->shared)
		shared_free(c->shared);
	free(c->state);
	free(c->durable);
	free(c->buf[0]);
	free(c->buf[1]);
	memset(c, 0, sizeof(*c));
}

static const struct op *slot_op(const struct checker *c, uint32_t id, uint32_t index)
{
	return &c->log->op[c->log->slot[id].ops[index]];
}

static bool fail(const struct checker *c, struct fault *f, uint32_t id, uint32_t number,
		 uint64_t at, const char *format, ...)
{
	va_list args;

	f->slot = id;
	f->op = number;
	f->offset = c->log->slot[id].offset + at;
	va_start(args, format);
	vsnprintf(f->text, sizeof(f->text), format, args);
	va_end(args);
	return false;
}

/* --- raw slots and words: bytes ----------------------------------------------- */

/* Which bytes of its slot an operation writes. */
static void op_range(const struct checker *c, const struct op *op, uint64_t *from, uint64_t *to)
{
	*from = op->kind == OP_PUT ? op->from : 0;
	*to = op->kind == OP_PUT ? op->from + op->length : c->log->slot[op->slot].length;
}

/*
 * Writes what operation @index leaves in [@at, @end) over @buf, the whole slot,
 * except where something newer is promised.
 */
static void put_over(struct checker *c, uint32_t id, uint32_t index, uint64_t at, uint64_t end,
		     uint8_t *buf)
{
	const struct slot_state *st = &c->state[id];
	const struct op *op = slot_op(c, id, index);
	uint64_t from, to, i;

	op_range(c, op, &from, &to);
	from = from > at ? from : at;
	to = to < end ? to : end;
	if (from >= to)
		return;
	crash_content(c->buf[1], c->log->seed, id, op->version, from, to - from);
	for (i = from; i < to; i++)
		if (st->floor_op[i] <= index)
			buf[i] = c->buf[1][i - from];
}

static void raise_floor(struct checker *c, uint32_t number)
{
	const struct op *op = &c->log->op[number];
	struct slot_state *st = &c->state[op->slot];
	uint64_t from, to, i;

	if (c->durable[number])
		return;
	c->durable[number] = true;
	op_range(c, op, &from, &to);
	put_over(c, op->slot, op->index, from, to, st->floor);
	for (i = from; i < to; i++)
		if (st->floor_op[i] <= op->index)
			st->floor_op[i] = op->index + 1;
	while (st->first_open < c->log->slot[op->slot].nr_ops &&
	       c->durable[c->log->slot[op->slot].ops[st->first_open]])
		st->first_open++;
}

/*
 * May the bytes [@at, @end) of the slot, which lie in one aligned 8-byte word,
 * be @got? Puts that are not promised yet may each be there up to any one of
 * them. A word of a put that begins and ends at multiples of 8 has all or none of
 * it. For other puts it is enough that every byte is that of some such state: a CPU
 * copies their ends in pieces that overlap, and straddle words.
 */
static bool word_possible(struct checker *c, uint32_t id, uint64_t at, uint64_t end,
			  const uint8_t *got)
{
	uint64_t base = c->log->slot[id].offset, seen = 0, i, from, to;
	const struct slot_state *st = &c->state[id];
	uint8_t word[8], *now = c->buf[0];
	bool whole = end - at == 8;
	uint32_t k;

	memcpy(now + at, st->floor + at, end - at);
	for (k = st->first_open; ; k++) {
		memcpy(word, now + at, end - at);
		if (!memcmp(word, got, end - at))
			return true;
		for (i = 0; i < end - at; i++)
			seen |= word[i] == got[i] ? 1ULL << i : 0;
		if (k >= st->started)
			break;
		op_range(c, slot_op(c, id, k), &from, &to);
		if (from >= end || to <= at)
			continue;
		if (from > at || to < end || (base + from) % 8 || (base + to) % 8)
			whole = false;
		put_over(c, id, k, at, end, now);
	}
	return !whole && seen == (1ULL << (end - at)) - 1;
}

/* The operation that a wrong byte at @at breaks: that which promised it, else one that was open. */
static uint32_t blamed(const struct checker *c, uint32_t id, uint64_t at)
{
	const struct slot_state *st = &c->state[id];

	if (st->floor_op[at])
		return c->log->slot[id].ops[st->floor_op[at] - 1];
	return st->started ? c->log->slot[id].ops[st->started - 1] : UINT32_MAX;
}

static bool check_bytes(struct checker *c, uint32_t id, const uint8_t *got, struct fault *fault)
{
	const struct slot *s = &c->log->slot[id];
	const struct slot_state *st = &c->state[id];
	uint64_t at, end;

	if (!memcmp(got, st->floor, s->length))
		return true;
	for (at = 0; at < s->length; at = end) {
		uint32_t number;

		end = at + 8 - (s->offset + at) % 8;
		end = end < s->length ? end : s->length;
		if (!memcmp(got + at, st->floor + at, end - at) ||
		    word_possible(c, id, at, end, got + at))
			continue;
		while (end - at > 1 && got[at] == st->floor[at])
			at++;
		number = blamed(c, id, at);
		return fail(c, fault, id, number, at,
			    "byte %" PRIu64 " of the slot's %" PRIu64
			    " is %02x, promised is %02x (by operation %d); operations %u to %u are open",
			    at, s->length, got[at], st->floor[at],
			    st->floor_op[at] ? (int)number : -1, st->first_open, st->started);
	}
	return true;
}

/* --- objects ---------------------------------------------------------------------- */

static uint64_t trailer_of(const struct log *log, uint32_t id, const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes + log->slot[id].length - PMOF_TRAILER_SIZE, sizeof(word));
	return word;
}

bool check_recoverable(const struct log *log, uint32_t id, const uint8_t *bytes,
		       uint64_t *generation)
{
	uint64_t word = trailer_of(log, id, bytes);

	*generation = pmof_trailer_generation(word);
	return pmof_trailer_recoverable(word);
}

/* Offset of the first data byte that is not @generation's, or the data's length. */
static uint64_t data_differ(struct checker *c, uint32_t id, uint64_t generation,
			    const uint8_t *bytes)
{
	uint64_t n = c->log->slot[id].length - PMOF_TRAILER_SIZE, i;

	crash_content(c->buf[0], c->log->seed, id, generation, 0, n);
	if (!memcmp(c->buf[0], bytes, n))
		return n;
	for (i = 0; c->buf[0][i] == bytes[i]; i++)
		;
	return i;
}

/* After operation @index (acknowledged or not), and before the next, the trailer may be @word. */
static bool trailer_after(const struct checker *c, uint32_t id, int64_t index, uint64_t word)
{
	const struct op *op;

	if (index < 0)
		return !word;
	op = slot_op(c, id, index);
	if (op->kind == OP_PREPARE)
		return word == pmof_trailer_prepared(op->version);
	return word == pmof_trailer_persistent(op->version) ||
	       word == pmof_trailer_committed(op->version);
}

static bool trailer_possible(const struct checker *c, uint32_t id, uint64_t word)
{
	const struct slot_state *st = &c->state[id];
	int64_t i;

	for (i = (int64_t)st->acked - 1; i < (int64_t)st->started; i++)
		if (trailer_after(c, id, i, word))
			return true;
	return false;
}

/* Without PF: each word is that of the last commit that was acknowledged, or of a later one. */
static bool data_words_possible(struct checker *c, uint32_t id, const uint8_t *bytes,
				uint64_t *at)
{
	uint64_t n = c->log->slot[id].length - PMOF_TRAILER_SIZE, w, word, got;
	const struct slot_state *st = &c->state[id];
	int64_t first = (int64_t)st->acked - 1, i;
	bool found;

	while (first >= 0 && slot_op(c, id, first)->kind != OP_COMMIT)
		first--;
	for (w = 0; w < n; w += 8) {
		memcpy(&got, bytes + w, 8);
		found = first < 0 && !got;
		for (i = first < 0 ? 0 : first; i < (int64_t)st->started && !found; i++) {
			if (slot_op(c, id, i)->kind != OP_COMMIT)
				continue;
			crash_content(&word, c->log->seed, id, slot_op(c, id, i)->version, w, 8);
			found = word == got;
		}
		*at = w;
		if (!found)
			return false;
	}
	return true;
}

static bool check_object(struct checker *c, uint32_t id, const uint8_t *bytes,
			 struct fault *fault)
{
	const struct slot *s = &c->log->slot[id];
	const struct slot_state *st = &c->state[id];
	uint64_t data = s->length - PMOF_TRAILER_SIZE, word = trailer_of(c->log, id, bytes);
	uint64_t generation, at;
	uint32_t last = st->acked ? s->ops[st->acked - 1] : UINT32_MAX;

	if (check_recoverable(c->log, id, bytes, &generation)) {
		at = data_differ(c, id, generation, bytes);
		if (at < data)
			return fail(c, fault, id, last, at, "torn under PF = 1: the trailer is %016"
				    PRIx64 ", but byte %" PRIu64 " is not of generation %" PRIu64,
				    word, at, generation);
	} else if (word >> PMOF_TRAILER_VF_SHIFT) {
		return fail(c, fault, id, last, data, "VF without PF: the trailer is %016" PRIx64,
			    word);
	}
	if (!trailer_possible(c, id, word))
		return fail(c, fault, id, last, data, "the trailer is %016" PRIx64
			    ", which is not from operation %d (acknowledged) or any up to the %u started",
			    word, (int)last, st->started);
	if (!pmof_trailer_recoverable(word) && !data_words_possible(c, id, bytes, &at))
		return fail(c, fault, id, last, at, "the word at %" PRIu64
			    " is of no generation that it may have (trailer %016" PRIx64 ")",
			    at, word);
	return true;
}

bool check_visible(struct checker *c, uint32_t id, const uint8_t *visible,
		   const uint8_t *durable, struct fault *fault)
{
	uint64_t data = c->log->slot[id].length - PMOF_TRAILER_SIZE, seen, kept;
	uint64_t word = trailer_of(c->log, id, visible);

	if (!pmof_trailer_valid(word))
		return true;
	seen = pmof_trailer_generation(word);
	if (check_recoverable(c->log, id, durable, &kept) && kept == seen)
		return true;
	return fail(c, fault, id, UINT32_MAX, data, "a reader finds generation %" PRIu64
		    " valid; after a power cut the trailer may be %016" PRIx64, seen,
		    trailer_of(c->log, id, durable));
}

/* --- what has happened ------------------------------------------------------------- */

void check_started(struct checker *c, uint32_t number)
{
	const struct op *op = &c->log->op[number];

	switch (op->kind) {
	case OP_CHANGE:
		shared_started(c->shared, number);
		return;
	case OP_PERSIST:
	case OP_SEEN:
	case OP_READ:
	case OP_REFUSED:
	case OP_LOOK:
		return;
	default:
		break;
	}
	if (c->state[op->slot].started <= op->index)
		c->state[op->slot].started = op->index + 1;
}

void check_acked(struct checker *c, uint32_t number)
{
	const struct op *op = &c->log->op[number];
	uint32_t i;

	switch (op->kind) {
	case OP_PERSIST:
		for (i = 0; i < op->nr_covers; i++)
			raise_floor(c, op->covers[i]);
		break;
	case OP_PUT:
	case OP_ATOMIC:
		if (op->durable)
			raise_floor(c, number);
		break;
	case OP_PREPARE:
	case OP_COMMIT:
	case OP_SEEN:
	case OP_TXN:
	case OP_READ:
		/* What a reader has seen committed is as good as acknowledged. */
		if (c->state[op->slot].acked <= op->index)
			c->state[op->slot].acked = op->index + 1;
		if (c->state[op->slot].started <= op->index)
			c->state[op->slot].started = op->index + 1;
		break;
	case OP_CHANGE:
	case OP_REFUSED:
	case OP_LOOK:
		shared_acked(c->shared, number);
		break;
	}
}

bool check_slot(struct checker *c, uint32_t id, const uint8_t *bytes, struct fault *fault)
{
	if (c->log->slot[id].type == SLOT_OBJECT)
		return check_object(c, id, bytes, fault);
	return check_bytes(c, id, bytes, fault);
}
