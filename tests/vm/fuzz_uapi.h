/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For fuzz_calls: a description of uapi/pmof.h, and structures made from it. The values
 * of a structure fit each other, by its operation, or else one of them is wrong.
 */
#ifndef PMOF_FUZZ_UAPI_H
#define PMOF_FUZZ_UAPI_H

#include <stddef.h>

#include "fuzz.h"
#include "ring.h"

#define BUF		(1 * MiB)
#define OPS		4
#define LONG		(4 * MiB)

/* --- the description --------------------------------------------------------- */

enum class {
	SIZE, FLAGS, OFFSET, LENGTH, BUFFER, GENERATION, OPCODE, ZERO, WORD, OPS_POINTER, NR_OPS,
	OUT, COMPARE, OPERAND, SESSION, ASKED, ROOM,
	/* Of a store's messages. */
	EPOCH, NUMBER, EXPECTED, VALUE_LENGTH, KEY_LENGTH, LEASE, INLINE, CURSOR, SMALL,
};

struct field {
	unsigned short at, bytes;
	enum class class;
};

#define F(type, name, class) \
	{ offsetof(struct type, name), sizeof(((struct type *)0)->name), class }

static const struct field info_fields[] = { F(pmof_info, size, SIZE), F(pmof_info, flags, OUT) };
static const struct field rw_fields[] = {
	F(pmof_rw, size, SIZE), F(pmof_rw, flags, FLAGS), F(pmof_rw, offset, OFFSET),
	F(pmof_rw, length, LENGTH), F(pmof_rw, addr, BUFFER), F(pmof_rw, generation, GENERATION),
};
static const struct field object_fields[] = {
	F(pmof_object, size, SIZE), F(pmof_object, flags, FLAGS), F(pmof_object, offset, OFFSET),
	F(pmof_object, length, LENGTH), F(pmof_object, generation, OUT),
};
static const struct field persist_fields[] = {
	F(pmof_persist, size, SIZE), F(pmof_persist, flags, FLAGS), F(pmof_persist, offset, OFFSET),
	F(pmof_persist, length, LENGTH),
};
static const struct field atomic_fields[] = {
	F(pmof_atomic, size, SIZE), F(pmof_atomic, flags, FLAGS), F(pmof_atomic, offset, OFFSET),
	F(pmof_atomic, compare, COMPARE), F(pmof_atomic, operand, OPERAND),
	F(pmof_atomic, old, OUT),
};
static const struct field op_fields[] = {
	F(pmof_op, size, SIZE), F(pmof_op, opcode, OPCODE), F(pmof_op, reserved, ZERO),
	F(pmof_op, flags, FLAGS), F(pmof_op, result, OUT), F(pmof_op, offset, OFFSET),
	F(pmof_op, length, LENGTH), F(pmof_op, addr, BUFFER), F(pmof_op, compare, COMPARE),
	F(pmof_op, operand, OPERAND), F(pmof_op, old, OUT), F(pmof_op, session, SESSION),
	F(pmof_op, call, ASKED), F(pmof_op, room, ROOM),
};
static const struct field submit_fields[] = {
	F(pmof_submit, size, SIZE), F(pmof_submit, flags, ZERO), F(pmof_submit, ops, OPS_POINTER),
	F(pmof_submit, nr_ops, NR_OPS), F(pmof_submit, reserved, ZERO),
};

struct shape {
	unsigned long cmd;
	unsigned int opcode;	/* 0: a field says it, or there is none */
	const struct field *fields;
	unsigned int bytes;
	unsigned int nr;
};

#define SHAPE(cmd, opcode, type, fields) \
	{ cmd, opcode, fields, sizeof(struct type), ARRAY_SIZE(fields) }

static const struct shape shapes[] = {
	/* Those that a store is fuzzed with come first. */
	SHAPE(PMOF_IOC_SUBMIT, 0, pmof_submit, submit_fields),
	SHAPE(PMOF_IOC_GET, PMOF_OP_GET, pmof_rw, rw_fields),
	SHAPE(PMOF_IOC_PERSIST, PMOF_OP_PERSIST, pmof_persist, persist_fields),
	SHAPE(PMOF_IOC_GET_INFO, 0, pmof_info, info_fields),
	SHAPE(PMOF_IOC_PUT, PMOF_OP_PUT, pmof_rw, rw_fields),
	SHAPE(PMOF_IOC_CAS, PMOF_OP_CAS, pmof_atomic, atomic_fields),
	SHAPE(PMOF_IOC_FETCH_ADD, PMOF_OP_FETCH_ADD, pmof_atomic, atomic_fields),
	SHAPE(PMOF_IOC_PREPARE, PMOF_OP_PREPARE, pmof_object, object_fields),
	SHAPE(PMOF_IOC_REVALIDATE, PMOF_OP_REVALIDATE, pmof_object, object_fields),
};
#define STORE_SHAPES	4

static const struct shape op_shape = SHAPE(0, 0, pmof_op, op_fields);

static const uint32_t flags_of[] = {
	[PMOF_OP_PUT]		= PMOF_F_PERSIST | PMOF_F_COMMIT | PMOF_F_NOREPLAY,
	[PMOF_OP_GET]		= PMOF_F_VALID | PMOF_F_NOREPLAY,
	[PMOF_OP_PERSIST]	= PMOF_F_NOREPLAY,
	[PMOF_OP_CAS]		= PMOF_F_PERSIST | PMOF_F_NOREPLAY,
	[PMOF_OP_FETCH_ADD]	= PMOF_F_PERSIST | PMOF_F_NOREPLAY,
	[PMOF_OP_PREPARE]	= PMOF_F_NOREPLAY,
	[PMOF_OP_REVALIDATE]	= PMOF_F_NOREPLAY,
	[PMOF_OP_CALL]		= PMOF_F_NOREPLAY | PMOF_F_ORDERED,
};

/* --- one process ------------------------------------------------------------- */

#define MESSAGES	16
#define MESSAGE_MAX	4096
#define RINGS		6

struct message {
	uint32_t call, length;
	unsigned char data[MESSAGE_MAX];
};

struct fuzzer {
	struct fuzz_shared *shared;
	uint64_t rnd, ns_size, session, generation;
	struct pmof_object prepared;	/* the last one */
	int fd;
	bool store;		/* the namespace is one: only its messages may change it */
	bool refused;		/* what is being made will be: no message is looked at */
	char *buf, *read_only, *own;	/* of BUF bytes; the last is a mapping of the device */
	struct fuzz_cover cover;
	struct fuzz_corpus *calls, *batches, *file_calls;
	double began, through;	/* when; seconds in calls that may be right */

	/* Of the structure that is being made. */
	unsigned int opcode, nr_ops;
	uint32_t flags;
	struct message *message;

	/* fuzz_store.h's */
	struct message messages[MESSAGES];
	unsigned char reply[MESSAGES][MESSAGE_MAX] __attribute__((aligned(8)));
	unsigned int next_message;
	uint32_t max_call, lease, key_length, value_length;
	uint64_t version, epoch, cursor, number;
	struct fuzz_corpus *kept_messages;
	struct store_told *told;

	/* fuzz_ring.h's */
	struct io_uring ring[RINGS];
	bool ring_there[RINGS];
};

/* fuzz_store.h: makes f->message. */
static void some_message(struct fuzzer *f);

static uint64_t some_offset(struct fuzzer *f)
{
	uint64_t v = vm_rnd(&f->rnd);

	switch (v % 8) {
	case 0:
		return fuzz_number(&f->rnd, 64);
	case 1:
		return f->ns_size - (v >> 8) % (64 * KiB);
	case 2:
		return (v >> 8) % f->ns_size;
	default:
		return ((v >> 8) % f->ns_size) & ~7ULL;
	}
}

/* What is long takes as much time as hundreds of short ones. */
static uint64_t some_length(struct fuzzer *f)
{
	uint64_t v = vm_rnd(&f->rnd);

	switch (v % 32) {
	case 0:
		return (v >> 8) % BUF;
	case 1 ... 3:
		return fuzz_number(&f->rnd, 64);
	case 4 ... 11:
		return 8;
	case 12 ... 15:
		return (v >> 8) % 5000;
	default:
		return ((v >> 8) % 256) * 8;
	}
}

static uint64_t some_address(struct fuzzer *f)
{
	uint64_t v = vm_rnd(&f->rnd);

	switch (v % 12) {
	case 0:
		return fuzz_number(&f->rnd, 64);
	case 1:
		return (uintptr_t)f->read_only;
	case 2:
		return (uintptr_t)f->own + (v >> 8) % BUF;
	case 3:		/* ends in a hole */
		return (uintptr_t)f->buf + BUF - (v >> 8) % 8192;
	case 4:
		return (uintptr_t)f->buf + (v >> 8) % BUF;
	default:
		return (uintptr_t)f->buf + (v >> 8) % 64 * 4096;
	}
}

static void make(struct fuzzer *f, const struct shape *s, void *to, struct pmof_op *ops);

static uint64_t some_ops(struct fuzzer *f, struct pmof_op *ops)
{
	unsigned int i, n = 1 + vm_rnd(&f->rnd) % (fuzz_one_in(&f->rnd, 3) ? OPS : 2);

	for (i = 0; i < n && ops; i++)
		make(f, &op_shape, &ops[i], NULL);
	f->nr_ops = n;
	return fuzz_one_in(&f->rnd, 16) ? some_address(f) : (uintptr_t)ops;
}

static bool is_atomic(const struct fuzzer *f)
{
	return f->opcode == PMOF_OP_CAS || f->opcode == PMOF_OP_FETCH_ADD;
}

static bool is_object(const struct fuzzer *f)
{
	return f->opcode == PMOF_OP_PREPARE || f->opcode == PMOF_OP_REVALIDATE ||
	       f->flags & (PMOF_F_COMMIT | PMOF_F_VALID);
}

static bool moves_data(const struct fuzzer *f)
{
	return f->opcode == PMOF_OP_PUT || f->opcode == PMOF_OP_GET;
}

/* A store's own: what it holds shall change by its messages alone. */
static unsigned int some_opcode(struct fuzzer *f)
{
	uint64_t v = vm_rnd(&f->rnd);

	if (f->store)
		f->opcode = v % 4 ? PMOF_OP_CALL : v & 16 ? PMOF_OP_GET : PMOF_OP_PERSIST;
	else
		f->opcode = 1 + v % 8;
	if (f->opcode == PMOF_OP_CALL) {
		some_message(f);
		f->opcode = PMOF_OP_CALL;
	}
	return f->opcode;
}

static uint32_t some_flags(struct fuzzer *f)
{
	uint64_t v = vm_rnd(&f->rnd);

	f->flags = f->opcode < ARRAY_SIZE(flags_of) ? v >> 8 & flags_of[f->opcode] : 0;
	if (v % 8 == 0)
		f->flags |= v >> 16 & 31;
	/* Most objects are none, and stop what comes behind them. */
	if (v % 4 == 1)
		f->flags &= ~(PMOF_F_COMMIT | PMOF_F_VALID);
	return f->flags;
}

/* Now and then the object that was prepared last: then it is one. */
static uint64_t good_offset(struct fuzzer *f)
{
	if (f->opcode == PMOF_OP_CALL)
		return 0;
	if (is_object(f) && fuzz_one_in(&f->rnd, 2))
		return f->prepared.offset;
	return some_offset(f) & (is_object(f) || is_atomic(f) ? ~7ULL : ~0ULL);
}

static uint64_t good_length(struct fuzzer *f)
{
	if (f->opcode == PMOF_OP_CALL)
		return f->message->length;
	if (is_atomic(f))
		return 8;
	if (is_object(f))
		return fuzz_one_in(&f->rnd, 2) ? f->prepared.length : some_length(f) & ~7ULL;
	return some_length(f);
}

static uint64_t good_generation(struct fuzzer *f)
{
	return f->flags & PMOF_F_COMMIT ? f->generation : 0;
}

/* What the fields of a pmof_op are that mean something else in each operation. */
static uint64_t value_of_op(struct fuzzer *f, enum class class)
{
	bool call = f->opcode == PMOF_OP_CALL;

	switch (class) {
	case BUFFER:
		return call ? (uintptr_t)f->message->data : moves_data(f) ? some_address(f) : 0;
	case COMPARE:
		if (call)
			return (uintptr_t)f->reply[f->message - f->messages];
		return f->opcode == PMOF_OP_CAS ? fuzz_number(&f->rnd, 64) : 0;
	case OPERAND:
		return is_atomic(f) ? fuzz_number(&f->rnd, 64) : good_generation(f);
	case SESSION:
		return fuzz_one_in(&f->rnd, 8) ? f->session : 0;
	case ASKED:
		return call ? f->message->call : 0;
	case ROOM:
		return !call ? 0 : fuzz_one_in(&f->rnd, 16) ? 16 : MESSAGE_MAX;
	default:
		return 0;
	}
}

/* fuzz_store.h */
static uint64_t value_of_message(struct fuzzer *f, enum class class);

static uint64_t good_value(struct fuzzer *f, const struct shape *s, enum class class,
			   struct pmof_op *ops)
{
	switch (class) {
	case SIZE:
		return s->bytes;
	case FLAGS:
		return some_flags(f);
	case OFFSET:
		return good_offset(f);
	case LENGTH:
		return good_length(f);
	case GENERATION:
		return good_generation(f);
	case OPCODE:
		return some_opcode(f);
	case WORD:
		return fuzz_number(&f->rnd, 64);
	case OPS_POINTER:
		return some_ops(f, ops);
	case NR_OPS:
		return f->nr_ops;
	case ZERO:
	case OUT:
		return 0;
	default:
		return class < EPOCH ? value_of_op(f, class) : value_of_message(f, class);
	}
}

/* A structure as described, now and then with a value that does not belong. */
static void make(struct fuzzer *f, const struct shape *s, void *to, struct pmof_op *ops)
{
	unsigned int i, bad = vm_rnd(&f->rnd) % (6 * s->nr);
	uint64_t v;

	memset(to, 0, s->bytes);
	f->opcode = s->opcode;
	f->flags = 0;
	for (i = 0; i < s->nr; i++) {
		const struct field *field = &s->fields[i];

		v = good_value(f, s, field->class, ops);
		if (i == bad)
			v = fuzz_number(&f->rnd, 8 * field->bytes);
		if (v)
			memcpy((char *)to + field->at, &v, field->bytes);
	}
}

static const struct shape *some_shape(struct fuzzer *f)
{
	if (f->store)
		return &shapes[fuzz_one_in(&f->rnd, 4) ? vm_rnd(&f->rnd) % STORE_SHAPES : 0];
	return &shapes[vm_rnd(&f->rnd) % ARRAY_SIZE(shapes)];
}

/* A value for a field that no call may have; 0 where there is none. */
static uint64_t wrong_value(struct fuzzer *f, const struct shape *s, enum class class)
{
	uint64_t v = vm_rnd(&f->rnd);

	switch (class) {
	case SIZE:
		return v % 2 ? (v >> 8) % 16 : s->bytes + 4096 + (v >> 32);
	case FLAGS:
		return 1ULL << (8 + v % 24);
	case OFFSET:
		return f->ns_size + (v % 2 ? (v >> 8) % 4096 : v >> 1 & ~f->ns_size);
	case LENGTH:
		return f->ns_size + 1 + (v % 2 ? (v >> 8) % 4096 : v >> 1);
	case GENERATION:	/* that of a GET may be an output, and is not looked at */
		return s->opcode == PMOF_OP_GET ? 0 : v | 1ULL << (48 + v % 16);
	case OPCODE:
		return v % 2 ? 0 : 64 + v % 190;
	case NR_OPS:
		return v % 2 ? 0 : ~0U - v % 4096;
	case OPS_POINTER:
		return (1ULL << 47) + v % (1ULL << 60);
	case ASKED:
		return v % 2 ? 1 + v % 0x1f : 0x3f + v % 4096;
	case ZERO:
		return v | 1;
	default:
		return 0;
	}
}

/* One of the fields gets one. */
static void spoil(struct fuzzer *f, const struct shape *s, void *arg)
{
	const struct field *field;
	uint64_t v;

	do {
		field = &s->fields[vm_rnd(&f->rnd) % s->nr];
		v = wrong_value(f, s, field->class);
	} while (!v && field->class != SIZE && field->class != OPCODE && field->class != NR_OPS);
	memcpy((char *)arg + field->at, &v, field->bytes);
}

/* A length that is allowed and takes long is not what is looked for here. */
static bool too_long(const struct fuzzer *f, uint64_t length)
{
	return length > LONG && length <= f->ns_size;
}

/* Nor shall what a store holds be spoilt behind its back: that is another test. */
static bool harmful(const struct fuzzer *f, const struct pmof_op *op)
{
	switch (op->opcode) {
	case PMOF_OP_PUT:
	case PMOF_OP_CAS:
	case PMOF_OP_FETCH_ADD:
	case PMOF_OP_PREPARE:
	case PMOF_OP_REVALIDATE:
		return f->store || too_long(f, op->length);
	default:
		return too_long(f, op->length);
	}
}

#endif /* PMOF_FUZZ_UAPI_H */
