/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The client's own log of a run: what it wrote where, in which order, under
 * which operation numbers. When each operation began and was acknowledged is in
 * the traces. Text, one record a line:
 *
 *   pmof-crash-log 1
 *   seed SEED
 *   slot ID raw|object|word|db|kv|shared OFFSET LENGTH    in the order of OFFSET; ID from 0
 *   put N SLOT VERSION FROM LENGTH DURABLE      bytes [FROM, FROM + LENGTH) of the slot
 *   atomic N SLOT VERSION                       durable CAS or FETCH_ADD
 *   prepare N SLOT GENERATION
 *   commit N SLOT GENERATION                    the whole object
 *   seen N SLOT GENERATION                      a VALID get that returned this
 *   persist N OFFSET LENGTH PUT...              and the puts that it covers
 *   txn N SLOT VERSION                          a transaction of a database, a put or delete of a
 *                                               key; versions from 1
 *   read N SLOT VERSION                         a get of a key that returned this
 *   change N SLOT NUMBER EXPECTED VERSION       a put of a key with several writers, of the value
 *                                               NUMBER: VERSION is what the store has given it; or,
 *                                               NUMBER 0, a delete of VERSION
 *   refused N SLOT NUMBER EXPECTED VERSION      the same, not done because VERSION was there
 *   look N SLOT NUMBER EXPECTED VERSION         a get of such a key that returned this; NUMBER 0:
 *                                               the value does not tell
 *   end OPERATIONS
 *
 * Offsets are in the namespace. A slot has one put, atomic, prepare or commit
 * in flight at a time, in the order of their numbers. A database is a slot without
 * a place: whoever looks into the image finds it (outside.c). So is a key (store_check.c), and
 * one with several writers, whose operations are in flight together (shared.h).
 */
#ifndef PMOF_CRASH_LOG_H
#define PMOF_CRASH_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_MAGIC	"pmof-crash-log 1"
#define LOG_NEVER	UINT64_MAX

enum slot_type {
	SLOT_RAW,
	SLOT_OBJECT,
	SLOT_WORD,
	SLOT_DB,
	SLOT_KV,
	SLOT_SHARED,
};

enum op_kind {
	OP_PUT,
	OP_ATOMIC,
	OP_PREPARE,
	OP_COMMIT,
	OP_SEEN,
	OP_PERSIST,
	OP_TXN,
	OP_READ,
	OP_CHANGE,
	OP_REFUSED,
	OP_LOOK,
};

struct slot {
	enum slot_type type;
	uint64_t offset;	/* in the namespace */
	uint64_t length;
	/* Its writing operations, in order: indices into log.op. */
	uint32_t *ops;
	uint32_t nr_ops;
};

struct op {
	enum op_kind kind;
	bool durable;		/* its own acknowledgement promises durability */
	uint32_t slot;		/* not of a PERSIST */
	uint32_t index;		/* in its slot's ops */
	uint64_t version;	/* or generation */
	uint64_t from;		/* of a put: in the slot; of a PERSIST: offset in the namespace */
	uint64_t length;
	uint64_t number;	/* of a change: its value's; 0: a delete, or nothing */
	uint64_t expected;	/* as the store was told: a version, none or any */
	uint32_t *covers;	/* of a PERSIST: operation numbers */
	uint32_t nr_covers;
	/* From the traces: host time in ns, LOG_NEVER if there is no such mark. */
	uint64_t start_time;
	uint64_t done_time;
	/* Places in the server's trace: from here on it may have begun, it is acknowledged. */
	uint64_t start_pos;
	uint64_t ack_pos;
	bool by_reply;		/* ack_pos is that of its reply */
};

struct log {
	uint64_t seed;
	struct slot *slot;
	uint32_t nr_slots;
	struct op *op;		/* by number */
	uint32_t nr_ops;
};

/*
 * What the workload reads back after a boot (--dump), for each slot in order;
 * the slot's bytes follow. Errors are negative.
 */
struct dump_slot {
	int32_t revalidate;	/* objects: of REVALIDATE, and the generation it told */
	int32_t valid;		/* objects: of the get with VALID */
	uint64_t generation;
};

/* Returns 0, or -1 with a message on standard error. */
int log_read(struct log *log, const char *path);
void log_free(struct log *log);

/* The range that an operation names to the server. */
void log_op_range(const struct log *log, const struct op *op, uint64_t *offset, uint64_t *length);

/*
 * An array of @nr elements of @size bytes, with room for one more: to the next
 * power of two when @nr is one. Ends the program when there is no memory.
 */
void *log_grow(void *array, uint32_t nr, size_t size);

#endif /* PMOF_CRASH_LOG_H */
