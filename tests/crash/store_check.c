// SPDX-License-Identifier: GPL-2.0
/*
 * Images with a store in them: recovered by the server's own code (tools/kv_verify.c), and
 * then each key must have what was acknowledged last, or something that had begun behind
 * it; no key may have two objects, no slot two owners, and nothing that a power cut does
 * not explain may be there. What a key with several writers may have, shared.c says. Then
 * recovery is brought to its end, and the check made once more: nothing may be left over, and
 * no space be gone.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore.h"
#include "kv.h"
#include "store_settle.h"

#define NO_KEY	UINT32_MAX

struct judge {
	const struct run *r;
	uint8_t *base;
	struct fault *fault;
	bool *found;			/* by key */
	uint8_t buf[KV_MAX_VALUE];
	struct settle settle;
	bool again;			/* recovery has come to its end */
	bool good;
};

/* The first fault is kept. @key: of the log, or NO_KEY. */
static void blame(struct judge *j, uint32_t key, uint64_t offset, const char *what)
{
	const struct slot *s = key < j->r->log->nr_slots ? &j->r->log->slot[key] : NULL;
	const struct slot_state *st = s ? &j->r->checker.state[key] : NULL;
	struct fault *f = j->fault;
	int n = 0;

	if (!j->good)
		return;
	j->good = false;
	f->slot = s ? key : 0;
	f->op = st && st->acked ? s->ops[st->acked - 1] : UINT32_MAX;
	f->offset = offset;
	if (s)
		n = snprintf(f->text, sizeof(f->text), "key %" PRIu32 ": ", key);
	n += snprintf(f->text + n, sizeof(f->text) - n, "%s", what);
	if (st && s->type == SLOT_KV)
		snprintf(f->text + n, sizeof(f->text) - n, " (acknowledged: %u, begun: %u)",
			 st->acked, st->started);
}

static bool is_shared(const struct judge *j, uint32_t key)
{
	return j->r->log->slot[key].type == SLOT_SHARED;
}

static void blame_shared(struct judge *j, uint32_t key, uint64_t offset, uint64_t version,
			 const struct shared_fault *f)
{
	char what[200];

	if (!j->good)
		return;
	snprintf(what, sizeof(what), "version %" PRIu64 ": %s (operation %d)", version, f->text,
		 (int)f->op);
	blame(j, key, offset, what);
	j->fault->op = f->op;
}

/* A key with several writers: which put's, and is it whole? */
static void see_shared(struct judge *j, uint32_t key, u64 slot, const struct pmof_kv_object *o)
{
	const uint8_t *value = j->base + slot + pmof_kv_value_offset(o);
	const struct shared *s = j->r->checker.shared;
	const struct op *put = shared_put(s, key, o->generation);
	struct shared_fault f;

	if (!shared_may_be(s, key, o->generation, &f))
		blame_shared(j, key, slot, o->generation, &f);
	if (put && !kv_is_content(j->r->log->seed, key, put->number, value, o->value_length,
				  j->buf))
		blame(j, key, slot, "the value is torn, or another put's");
}

static int see_live(void *context, u64 slot, const struct pmof_kv_object *o)
{
	struct judge *j = context;
	const uint8_t *bytes = j->base + slot + sizeof(struct pmof_kv_object_header);
	uint64_t seed = j->r->log->seed;
	uint32_t key = kv_key_number(seed, bytes, o->key_length);
	const struct slot_state *st;
	uint64_t v;

	if (key >= j->r->log->nr_slots) {
		blame(j, NO_KEY, slot, "a live object has a key that nobody has put");
		return 0;
	}
	settle_live(&j->settle, slot, o);
	st = &j->r->checker.state[key];
	j->found[key] = true;
	if (is_shared(j, key)) {
		see_shared(j, key, slot, o);
		return 0;
	}
	for (v = st->acked; v <= st->started; v++)
		if (kv_is_value(seed, key, v, bytes + o->key_length, o->value_length, j->buf))
			return 0;
	for (v = 1; v < st->acked; v++)
		if (kv_is_value(seed, key, v, bytes + o->key_length, o->value_length, j->buf)) {
			blame(j, key, slot, "an older version is back, or a newer one lost");
			return 0;
		}
	blame(j, key, slot, "the value is torn, or of no version");
	return 0;
}

static void see_fault(void *context, const struct kv_fault *f)
{
	static const char * const text[KV_FAULTS] = {
		[KV_FAULT_KEY] = "two live objects have one key",
		[KV_FAULT_GENERATION] = "two live objects have one generation",
		[KV_FAULT_SLOT] = "a slot has two owners",
		[KV_FAULT_TRAILER] = "a trailer that nobody writes",
		[KV_FAULT_RECORD] = "a record names what is no slot",
		[KV_FAULT_GONE] = "an object is gone that a record names",
		[KV_FAULT_LOG] = "records of the log are gone",
	};

	struct judge *j = context;
	char what[80];

	snprintf(what, sizeof(what), "%s%s", j->again ? "after recovery: " : "", text[f->kind]);
	blame(j, NO_KEY, f->offset, what);
}

static void see_leftover(void *context, u64 slot)
{
	struct judge *j = context;

	settle_leftover(&j->settle, slot);
}

static void miss_shared(struct judge *j, uint32_t key)
{
	struct shared_fault f;

	if (!shared_may_be(j->r->checker.shared, key, SHARED_NONE, &f))
		blame_shared(j, key, 0, SHARED_NONE, &f);
}

static void see_missing(struct judge *j)
{
	const struct log *log = j->r->log;
	uint32_t key;

	for (key = 0; key < log->nr_slots; key++) {
		const struct slot_state *st = &j->r->checker.state[key];
		uint64_t v = st->acked;

		if (is_shared(j, key)) {
			if (!j->found[key])
				miss_shared(j, key);
			continue;
		}
		while (!j->found[key] && v <= st->started && !kv_absent(log->seed, key, v))
			v++;
		if (!j->found[key] && v > st->started)
			blame(j, key, 0, "it is lost");
	}
}

/* Recovery's end, and the check of what it leaves. */
static void judge_again(struct judge *j, const struct kv_report *found)
{
	static const struct kv_verify_ops ops = { .fault = see_fault };
	struct kv_report after;
	const char *what;

	settle_do(&j->settle, found);
	j->again = true;
	if (kv_verify(j->base, j->settle.size, &ops, j, &after))
		blame(j, NO_KEY, 0, "after recovery: no superblock counts");
	else if ((what = settle_fault(found, &after)))
		blame(j, NO_KEY, 0, what);
	settle_undo(&j->settle);
}

static void judge(struct judge *j)
{
	static const struct kv_verify_ops ops = {
		.fault = see_fault, .live = see_live, .leftover = see_leftover,
	};
	const struct config *c = j->r->config;
	struct kv_report report;

	settle_init(&j->settle, j->base, c->data_size);
	if (kv_verify(j->base, c->data_size, &ops, j, &report)) {
		blame(j, NO_KEY, 0, "no superblock counts");
	} else {
		see_missing(j);
		if (j->good)
			judge_again(j, &report);
	}
	settle_free(&j->settle);
}

/*
 * The image in place of what is guaranteed, for as long as it is looked at: only dirty lines
 * differ. @lines: what they hold else.
 */
static void exchange(struct model *m, uint8_t *lines)
{
	uint8_t line[TRACE_LINE];
	uint32_t i;

	for (i = 0; i < m->nr_dirty; i++) {
		uint8_t *durable = m->durable + m->dirty[i] * TRACE_LINE;

		memcpy(line, durable, TRACE_LINE);
		memcpy(durable, lines + (size_t)i * TRACE_LINE, TRACE_LINE);
		memcpy(lines + (size_t)i * TRACE_LINE, line, TRACE_LINE);
	}
}

bool store_check(struct run *r, const struct place *place, struct fault *fault)
{
	struct model *m = &r->model;
	struct judge *j = calloc(1, sizeof(*j));
	uint8_t *lines = malloc((size_t)m->nr_dirty * TRACE_LINE + 1);
	uint32_t i;
	bool good;

	*fault = (struct fault){ .op = UINT32_MAX };
	if (!j || !lines || r->config->data_offset + r->config->data_size > m->size)
		abort();
	*j = (struct judge){ .r = r, .base = m->durable + r->config->data_offset, .fault = fault,
			     .found = calloc(r->log->nr_slots, 1), .good = true };
	r->totals.slots += r->log->nr_slots;
	for (i = 0; i < m->nr_dirty; i++)
		model_read(m, &place->image, m->dirty[i] * TRACE_LINE,
			   lines + (size_t)i * TRACE_LINE, TRACE_LINE);
	exchange(m, lines);
	judge(j);
	exchange(m, lines);
	good = j->good;
	free(j->found);
	free(j);
	free(lines);
	return good;
}
