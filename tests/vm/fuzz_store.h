/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For fuzz_calls on a store: messages from a description of uapi/pmof_kv.h, and what their
 * answers tell. The store runs in workers of another machine, where no kcov reaches: there a
 * message is kept if its answer is of a new kind, and changed further.
 */
#ifndef PMOF_FUZZ_STORE_H
#define PMOF_FUZZ_STORE_H

#include "fuzz_uapi.h"
#include "kvcall.h"

#define KEYS		64
#define PARTS		6
#define KINDS		(1 << 12)
#define NO_ANSWER	0xee

/* Of all processes. */
struct store_told {
	uint64_t answers, done;		/* replies; of these, with status OK */
	uint32_t kinds;			/* of question and answer */
	unsigned char seen[KINDS];
};

/* --- the description --------------------------------------------------------- */

static const struct field request_fields[] = {
	F(pmof_kv_request, epoch, EPOCH), F(pmof_kv_request, number, NUMBER),
};
static const struct field prepare_fields[] = {
	F(pmof_kv_prepare, req.epoch, EPOCH), F(pmof_kv_prepare, req.number, NUMBER),
	F(pmof_kv_prepare, value_length, VALUE_LENGTH), F(pmof_kv_prepare, key_length, KEY_LENGTH),
	F(pmof_kv_prepare, reserved, ZERO),
};
static const struct field commit_fields[] = {
	F(pmof_kv_commit, req.epoch, EPOCH), F(pmof_kv_commit, req.number, NUMBER),
	F(pmof_kv_commit, expected, EXPECTED), F(pmof_kv_commit, lease, LEASE),
	F(pmof_kv_commit, reserved, ZERO),
};
static const struct field return_fields[] = {
	F(pmof_kv_commit, req.epoch, EPOCH), F(pmof_kv_commit, req.number, ZERO),
	F(pmof_kv_commit, expected, ZERO), F(pmof_kv_commit, lease, LEASE),
	F(pmof_kv_commit, reserved, ZERO),
};
static const struct field put_fields[] = {
	F(pmof_kv_put, req.epoch, EPOCH), F(pmof_kv_put, req.number, NUMBER),
	F(pmof_kv_put, expected, EXPECTED), F(pmof_kv_put, value_length, VALUE_LENGTH),
	F(pmof_kv_put, key_length, KEY_LENGTH), F(pmof_kv_put, reserved, ZERO),
};
static const struct field delete_fields[] = {
	F(pmof_kv_delete, req.epoch, EPOCH), F(pmof_kv_delete, req.number, NUMBER),
	F(pmof_kv_delete, expected, EXPECTED), F(pmof_kv_delete, reserved, ZERO),
	F(pmof_kv_delete, key_length, KEY_LENGTH), F(pmof_kv_delete, reserved16, ZERO),
};
static const struct field get_fields[] = {
	F(pmof_kv_get, req.epoch, EPOCH), F(pmof_kv_get, req.number, ZERO),
	F(pmof_kv_get, max_inline, INLINE), F(pmof_kv_get, key_length, KEY_LENGTH),
	F(pmof_kv_get, reserved, ZERO),
};
static const struct field scan_fields[] = {
	F(pmof_kv_scan, req.epoch, EPOCH), F(pmof_kv_scan, req.number, ZERO),
	F(pmof_kv_scan, hash, CURSOR), F(pmof_kv_scan, skip, SMALL), F(pmof_kv_scan, max, SMALL),
};
static const struct field check_fields[] = {
	F(pmof_kv_check, req.epoch, EPOCH), F(pmof_kv_check, req.number, ZERO),
	F(pmof_kv_check, at, CURSOR), F(pmof_kv_check, skip, SMALL), F(pmof_kv_check, part, SMALL),
};

/* A batch may have parts of the first two kinds. */
static const struct shape message_shapes[] = {
	SHAPE(PMOF_KV_PUT_INLINE, 0, pmof_kv_put, put_fields),
	SHAPE(PMOF_KV_DELETE, 0, pmof_kv_delete, delete_fields),
	SHAPE(PMOF_KV_PREPARE_PUT, 0, pmof_kv_prepare, prepare_fields),
	SHAPE(PMOF_KV_COMMIT, 0, pmof_kv_commit, commit_fields),
	SHAPE(PMOF_KV_RETURN, 0, pmof_kv_commit, return_fields),
	SHAPE(PMOF_KV_GET, 0, pmof_kv_get, get_fields),
	SHAPE(PMOF_KV_SCAN, 0, pmof_kv_scan, scan_fields),
	SHAPE(PMOF_KV_OUTCOME, 0, pmof_kv_request, request_fields),
	SHAPE(PMOF_KV_STAT, 0, pmof_kv_request, request_fields),
	SHAPE(PMOF_KV_CHECK, 0, pmof_kv_check, check_fields),
};

/* --- messages ------------------------------------------------------------------ */

static uint64_t value_of_message(struct fuzzer *f, enum class class)
{
	uint64_t v = vm_rnd(&f->rnd);

	switch (class) {
	case EPOCH:
		return v % 4 ? 0 : f->epoch;
	case NUMBER:	/* most of them known, or just ahead */
		return v % 2 ? 0 : v % 4 ? f->number += 1 + (v >> 8) % 3 : f->number - (v >> 8) % 8;
	case EXPECTED:
		return v % 8 == 0 ? f->version : v % 8 == 1 ? 0 : PMOF_KV_EXPECT_ANY;
	case VALUE_LENGTH:
		return f->value_length = v % 16 ? (v >> 8) % 120 : v % 64 ? (v >> 8) % 5000 :
					 fuzz_number(&f->rnd, 28);
	case KEY_LENGTH:
		return f->key_length = v % 32 ? 3 : (v >> 8) % 1100;
	case LEASE:
		return f->lease - (v % 4 ? 0 : (v >> 8) % 4);
	case INLINE:
		return v % 4 ? 4000 : (v >> 8) % 100;
	case CURSOR:
		return v % 2 ? f->cursor : v % 4 ? 0 : fuzz_number(&f->rnd, 64);
	default:
		return (v >> 8) % 4;
	}
}

/* One of few keys, or as many bytes as they say, of anything; cut where the room ends. */
static uint32_t add_bytes(struct fuzzer *f, unsigned char *at, uint32_t room, uint32_t length)
{
	length = length < room ? length : room;
	if (length == 3)
		memcpy(at, (const char[]){ 'k', '0' + vm_rnd(&f->rnd) % KEYS, '.' }, 3);
	else
		memset(at, vm_rnd(&f->rnd) >> 56, length);
	return length;
}

/* Returns its length. */
static uint32_t one_message(struct fuzzer *f, const struct shape *s, unsigned char *to,
			    uint32_t room)
{
	uint32_t length = s->bytes;

	if (room < length)
		return 0;
	f->key_length = 0;
	f->value_length = 0;
	make(f, s, to, NULL);
	length += add_bytes(f, to + length, room - length, f->key_length);
	if (s->cmd == PMOF_KV_PUT_INLINE)
		length += add_bytes(f, to + length, room - length, f->value_length);
	return length;
}

static uint32_t some_parts(struct fuzzer *f, unsigned char *to, uint32_t room)
{
	uint32_t i, n = 1 + vm_rnd(&f->rnd) % PARTS, at = sizeof(struct pmof_kv_batch), length;
	struct pmof_kv_batch *b = (void *)to;
	struct pmof_kv_part p = { 0 };

	for (i = 0; i < n && at + sizeof(p) < room; i++) {
		const struct shape *s = &message_shapes[vm_rnd(&f->rnd) % 2];

		length = one_message(f, s, to + at + sizeof(p), room - at - sizeof(p));
		p.length = length;
		p.opcode = s->cmd;
		memcpy(to + at, &p, sizeof(p));
		at += (sizeof(p) + length + 7) & ~7U;
	}
	b->count = fuzz_one_in(&f->rnd, 32) ? fuzz_number(&f->rnd, 32) : i;
	b->reserved = 0;
	return at < room ? at : room;
}

/* Up to three places changed, another length, or the end of another one. */
static void damage_message(struct fuzzer *f, struct message *m)
{
	static struct message other;
	uint64_t v = vm_rnd(&f->rnd);

	fuzz_damage(&f->rnd, m->data, m->length, (v >> 8) % 4);
	if (v % 8 == 0)
		m->length = 1 + (v >> 16) % f->max_call;
	if (v % 8 == 1)
		m->call = 0x20 + (v >> 16) % 0x1f;
	if (v % 8 == 2 && fuzz_again(f->kept_messages, &f->rnd, &other)) {
		uint32_t at = m->length < other.length ? m->length / 2 : other.length / 2;

		memcpy(m->data + at, other.data + at, other.length - at);
		m->length = other.length;
	}
}

static void some_message(struct fuzzer *f)
{
	struct message *m = &f->messages[f->next_message++ % MESSAGES];
	unsigned int i = vm_rnd(&f->rnd) % (ARRAY_SIZE(message_shapes) + 2);

	f->message = m;
	if (f->refused || !f->store)
		return;
	memset(f->reply[m - f->messages], NO_ANSWER, sizeof(struct pmof_kv_reply));
	if (fuzz_one_in(&f->rnd, 3) && fuzz_again(f->kept_messages, &f->rnd, m)) {
		damage_message(f, m);
		return;
	}
	if (i < ARRAY_SIZE(message_shapes)) {
		m->call = message_shapes[i].cmd;
		m->length = one_message(f, &message_shapes[i], m->data, f->max_call);
	} else {
		m->call = PMOF_KV_BATCH;
		m->length = some_parts(f, m->data, f->max_call);
	}
	if (fuzz_one_in(&f->rnd, 24))
		fuzz_damage(&f->rnd, m->data, m->length, 2);
}

/* A CALL that was kept points to what says something else by now. */
static void renew_message(struct fuzzer *f, struct pmof_op *op)
{
	some_message(f);
	op->call = f->message->call;
	op->length = f->message->length;
	op->addr = (uintptr_t)f->message->data;
	op->compare = (uintptr_t)f->reply[f->message - f->messages];
}

/* --- answers --------------------------------------------------------------------- */

static unsigned int log2_of(uint64_t v)
{
	return v ? 64 - __builtin_clzll(v) : 0;
}

/* What later messages may refer to. */
static void learn(struct fuzzer *f, uint32_t call, const void *reply, uint64_t length)
{
	const union kv_reply *r = reply;

	if (r->reply.version)
		f->version = r->reply.version;
	if (call == PMOF_KV_PREPARE_PUT && length >= sizeof(r->prepare))
		f->lease = r->prepare.lease;
	else if (call == PMOF_KV_GET && length >= sizeof(r->get) && r->get.epoch)
		f->epoch = r->get.epoch;
	else if (call == PMOF_KV_SCAN && length >= sizeof(r->scan))
		f->cursor = r->scan.hash;
	else if (call == PMOF_KV_CHECK && length >= sizeof(r->check))
		f->cursor = r->check.at;
}

/* @op has been made, and succeeded: a CALL's reply is looked at if it is in its place. */
static void answered(struct fuzzer *f, const struct pmof_op *op)
{
	uint64_t i = (op->compare - (uintptr_t)f->reply) / sizeof(f->reply[0]);
	const union kv_reply *r;
	const struct message *m;
	unsigned int kind;

	if (!f->store || op->opcode != PMOF_OP_CALL || i >= MESSAGES ||
	    op->compare != (uintptr_t)f->reply[i])
		return;
	r = (const void *)f->reply[i];
	m = &f->messages[i];
	if (r->reply.status >= PMOF_KV_SC_MAX)
		return;
	__atomic_fetch_add(&f->told->answers, 1, __ATOMIC_RELAXED);
	if (!r->reply.status)
		__atomic_fetch_add(&f->told->done, 1, __ATOMIC_RELAXED);
	kind = (op->call * 31 + r->reply.status) * 31 + log2_of(op->old) * 7 + log2_of(op->length);
	if (!f->told->seen[kind % KINDS] && op->addr == (uintptr_t)m->data) {
		f->told->seen[kind % KINDS] = 1;
		__atomic_fetch_add(&f->told->kinds, 1, __ATOMIC_RELAXED);
		fuzz_keep(f->kept_messages, &f->rnd, m);
	}
	learn(f, op->call, r, op->old);
}

/* After all this. */
static bool store_works(int fd)
{
	static union kv_reply r;

	return kv_put(fd, "after", "all this", PMOF_KV_EXPECT_ANY, NULL) == PMOF_KV_SC_OK &&
	       kv_get(fd, "after", 100, 0, &r) == PMOF_KV_SC_OK && r.get.value_length == 8 &&
	       !memcmp(r.get.value, "all this", 8);
}

#endif /* PMOF_FUZZ_STORE_H */
