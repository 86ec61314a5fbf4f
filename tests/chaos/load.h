/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The load of make chaos: threads that write, the table of what was acknowledged
 * as durable, and the check of the one against the other.
 */
#ifndef PMOF_CHAOS_LOAD_H
#define PMOF_CHAOS_LOAD_H

#include "../vm/vm.h"

#define SLOT		4096	/* bytes of a slot of all but objects */
#define OBJECT		256	/* bytes of an object, with its trailer */
#define SLOTS		504	/* of a thread: more than it writes in a round */
#define MAYBE		8	/* writes of unknown outcome that a slot remembers */
#define BATCH		3	/* puts before a PERSIST; SLOTS is a multiple */
#define CHUNK		12	/* slots that are compared at once; SLOTS is a multiple */
#define RECHECK		11	/* of CHUNKS that are compared again in each round: all in four */
#define CHUNKS		(SLOTS / CHUNK)

/* What a slot may hold: the last durable write, or any of those begun since. */
struct slot {
	uint64_t durable;		/* sequence number; acknowledged */
	uint64_t maybe[MAYBE];
	unsigned int nr_maybe;
	bool unprepared;		/* object: a PREPARE was begun since: it may be invalid */
	bool written;			/* since it was last compared */
};

enum kind { PUT, PUT_NOREPLAY, PERSIST, COMMIT, BLOCK, KINDS };

struct worker {
	pthread_t thread;
	uint64_t base;			/* of its slots, in the namespace */
	uint64_t state;			/* of its random numbers */
	uint64_t seq;			/* the last one it has used */
	struct slot *slot;		/* SLOTS of them, in the table's file */
	unsigned int at;		/* the slot that is written */
	unsigned int passed;		/* slots since the last check */
	unsigned int turn;		/* the chunk that is compared again next */
	char *buf;

	/* Read by the thread that talks to the host. */
	uint64_t acks, unknown;
	uint64_t refused;		/* of the unknown ones: no namespace, no right, no link */
	uint64_t told;			/* PERSISTs that say what was put may be gone, since a check */
	uint64_t generation;		/* at the last check */
	uint64_t rewritten;		/* slots, before what was acknowledged could be compared */
	double last_ack, gap;		/* monotonic seconds; the longest time between two */
	enum kind kind;
	bool parked;
	unsigned int lost, corrupt;	/* slots, at the last check */
	char error[200];		/* of an operation that must not fail so */
};

/* The device, open; all of it is replaced when the module is reloaded. */
struct device {
	int instance;
	int fd;				/* character device */
	int persist_fd;			/* the same, of who puts and persists: it hears of losses */
	int block;			/* block device, O_DIRECT */
	bool patient;			/* requests wait for as long as it takes */
	pthread_rwlock_t lock;		/* held for reading during an operation */
};

extern struct device device;
extern const char *const kind_names[KINDS];

/* Do they run, stand still, or end? */
enum order { RUN, PARK, END };
extern enum order order;

uint64_t slot_offset(const struct worker *w, unsigned int i);
unsigned int slot_len(const struct worker *w);
void slot_fill(const struct worker *w, unsigned int i, uint64_t seq, void *buf);

/* A write of @seq begins; false: too many are unknown, @seq must be that of the last one. */
bool slot_begin(struct slot *s, uint64_t *seq);
void slot_durable(struct slot *s, uint64_t seq);

/* Writes slot after slot, until END. */
void *work(void *worker);

/* Chunks that are compared whether they were written or not: RECHECK, or all CHUNKS. */
extern unsigned int recheck;

/*
 * Compares the slots that were written since it was last called, and some of the others in turn,
 * with the namespace. Sets lost, corrupt and error, and prints what is wrong. A thread's function.
 */
void *check_worker(void *worker);

#endif /* PMOF_CHAOS_LOAD_H */
