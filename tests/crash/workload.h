/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The workload: writes to a device from many threads, marks each operation's
 * begin and acknowledgement for the trace, and keeps a log (log.h).
 */
#ifndef PMOF_CRASH_WORKLOAD_H
#define PMOF_CRASH_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "../../uapi/pmof.h"
#include "log.h"

#define MAX_SLOTS	4096
#define MAX_OPS		200000
#define MAX_THREADS	64

/* What a thread does. */
enum kind {
	KIND_PUT,	/* durable puts of any size and alignment */
	KIND_PLAIN,	/* plain puts, and PERSIST of what several threads have put */
	KIND_COMMIT,	/* PREPARE and committed puts, the same objects again and again */
	KIND_SUBMIT,	/* batches of all of these */
	KIND_ATOMIC,	/* durable CAS and FETCH_ADD */
	KIND_READ,	/* VALID gets of others' objects */
	KIND_PERSIST,	/* PERSIST of what others have put */
	NR_KINDS
};

/* A slot and what its owner knows of it. */
struct wslot {
	enum slot_type type;
	uint64_t offset;
	uint64_t length;
	uint64_t version;	/* of the last write that was begun */
	/* Plain puts; under a lock. */
	enum { SLOT_IDLE, SLOT_PUTTING, SLOT_PUT, SLOT_PERSISTING } state;
	uint32_t put;		/* number of the put that is not durable yet */
};

struct thread {
	enum kind kind;
	uint64_t rnd;
	uint32_t first, nr;	/* its slots */
	uint8_t *buf;		/* as long as its longest slot */
};

struct work {
	int fd;
	uint8_t *map;			/* of the namespace: puts are stores, persists msyncs; or NULL */
	uint64_t seed;
	uint32_t limit;			/* operations after which the threads stop */
	uint64_t ns_size;
	uint64_t base;			/* where its slots begin; 0: it chooses */
	uint64_t first_mark;		/* mark of operation 0: several runs may share a trace */
	struct wslot slot[MAX_SLOTS];
	uint32_t nr_slots;
	uint32_t first_plain, end_plain;	/* slots of KIND_PLAIN */
	uint32_t next_op;
	char *line[MAX_OPS];		/* of the log, by operation */
};

extern struct work work;

/* Whoever finds something wrong says so and ends the run. */
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* A number for an operation, and its line in the log. */
uint32_t op_number(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool work_over(void);

/* One operation each. */
void do_put(struct thread *t, uint32_t slot);
void do_plain_put(struct thread *t, uint32_t slot);
/* Makes durable what has been put to slots [first, end), whoever did; @whole: by a PERSIST of everything. */
void do_persist(uint32_t first, uint32_t end, bool whole);
void do_prepare(uint32_t slot);
void do_commit(struct thread *t, uint32_t slot);
void do_atomic(struct thread *t, uint32_t slot);
/* A VALID get; true if there was something valid. */
bool do_read(struct thread *t, uint32_t slot);
void do_submit_objects(struct thread *t, uint32_t first, uint32_t nr);
void do_submit_puts(struct thread *t, uint32_t first, uint32_t nr);

/* Reads all slots of the log in @path back, after a boot, to the file @to. */
void dump(const char *path, const char *to);

#endif /* PMOF_CRASH_WORKLOAD_H */
