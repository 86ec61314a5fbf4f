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
#define SLOTS		48	/* of a thread */
#define MAYBE		8	/* writes of unknown outcome that a slot remembers */
#define BATCH		6	/* puts before a PERSIST */

/* What a slot may hold: the last durable write, or any of those begun since. */
struct slot {
	uint64_t durable;		/* sequence number; acknowledged */
	uint64_t maybe[MAYBE];
	unsigned int nr_maybe;
	bool unprepared;		/* object: a PREPARE was begun since: it may be invalid */
};

enum kind { PUT, PUT_NOREPLAY, PERSIST, COMMIT, BLOCK, KINDS };

struct worker {
	pthread_t thread;
	uint64_t base;			/* of its slots, in the namespace */
	uint64_t state;			/* of its random numbers */
	uint64_t seq;			/* the last one it has used */
	struct slot *slot;		/* SLOTS of them, in the table's file */
	char *buf;

	/* Read by the thread that talks to the host. */
	uint64_t acks, unknown;
	double last_ack, gap;		/* monotonic seconds; the longest time between two */
	enum kind kind;
	bool parked;
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

/* Begins with every slot durable; then works until END. */
void *work(void *worker);

/* Compares all its slots with the namespace; returns how many are wrong, and prints them. */
unsigned int check_worker(struct worker *w, unsigned int *lost, unsigned int *corrupt);

#endif /* PMOF_CHAOS_LOAD_H */
