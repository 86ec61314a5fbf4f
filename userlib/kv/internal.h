/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libpmofkv: what its files share and nobody else sees.
 *
 * Every operation is a task: a sequence of stages, each of which takes part in one round.
 * A round is one call of the kernel for all tasks that take part in it: their WRITEs, behind
 * them their messages; and another one for their READs.  So a batch, and what the threads of
 * a queue find waiting, shares round trips, and a single operation is a batch of one.
 */
#ifndef PMOFKV_INTERNAL_H
#define PMOFKV_INTERNAL_H

#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include <libpmof.h>

#include "../libpmofkv.h"

#define KV_ROUND	64	/* tasks in one round */
#define KV_TRIES	16	/* of an operation, each on another session, or of a READ */
#define KV_RACES	1024	/* READs of one get that others' puts were quicker than */
#define KV_CALL_MAX	4096	/* no answer is longer, nor a message but PUT_INLINE's */
#define KV_THRESHOLD	(16 << 10)	/* values up to here go by herd, where a message holds them */
#define KV_READ_SMALL	(16 << 10)

/* --- epochs ------------------------------------------------------------------ */

/* A GET, from before it is sent until its READ has ended, or needs none. */
struct kv_holder {
	struct kv_holder *next, *prev;	/* of the list, whose lock they are under */
	bool held;			/* it is in the list; its own thread's */
	uint64_t session;
	uint64_t epoch;			/* of its address, or below that */
};

struct kv_epochs {
	pthread_mutex_t lock;
	uint64_t session;		/* to which the next belongs */
	uint64_t newest;		/* of all answers */
	struct kv_holder holders;
};

/* --- the handle ---------------------------------------------------------------- */

struct kv_put_ops;

struct pmofkv {
	struct pmof_dev *dev;
	const struct kv_put_ops *put_ops;
	uint32_t threshold;
	uint32_t max_inline;
	uint32_t max_call;
	uint64_t ns_size;
	pthread_mutex_t session_lock;	/* who asks for a new one */
	atomic_ullong session;
	atomic_ullong number;		/* of the last put or delete */
	struct kv_epochs epochs;
	atomic_ullong counters[PMOFKV_NR_COUNTERS];
};

static inline void kv_count(struct pmofkv *kv, enum pmofkv_counter counter)
{
	atomic_fetch_add_explicit(&kv->counters[counter], 1, memory_order_relaxed);
}

/* --- tasks ----------------------------------------------------------------------- */

struct kv_task;

/* Where a round's messages, and what small objects are READ into, stand. */
struct kv_buffers {
	unsigned char request[KV_CALL_MAX] __attribute__((aligned(8)));
	unsigned char reply[KV_READ_SMALL + 2048] __attribute__((aligned(8)));
};

struct kv_stage {
	/* Fills t->call, t->data, or both, with t->session.  0, or what the task ends with. */
	int (*fill)(struct kv_task *t, struct kv_buffers *b);
	/* They have run: sets the next stage, or ends the task. */
	void (*done)(struct kv_task *t, struct kv_buffers *b);
};

struct kv_task {
	struct pmofkv *kv;
	const struct kv_stage *stage;	/* the next one; NULL: it has ended, with @result */
	const struct kv_stage *first;	/* where it begins, again if need be */
	int result;
	unsigned int tries;
	unsigned int races;
	uint64_t session;		/* of all that it has from the server */
	uint64_t version;

	const void *key;
	size_t key_length;
	uint64_t expected;		/* of a put or delete */
	uint64_t number;

	const struct kv_put_ops *put;	/* of a put */
	const void *value;
	size_t value_length;		/* of a get: of what was found */
	uint64_t offset;		/* of the value to be written, or the object to be READ */
	uint32_t lease;
	bool prepared;
	bool written;			/* a WRITE to the lease has been in an earlier round */

	uint64_t wrong_version;		/* of a get: of the object that was READ last and is not */
	uint64_t wrong_offset;		/* what it should be; 0: there was none */
	void *buf;			/* of a get: the caller's; or NULL: it is allocated */
	size_t size;
	void *object;			/* what a larger object is READ into; a longer message */
	struct kv_holder holder;

	struct pmof_op data;		/* of this round; opcode 0: none */
	struct pmof_op call;
	bool packed;			/* in a message with others */
};

static inline void kv_end(struct kv_task *t, int result)
{
	t->result = result;
	t->stage = NULL;
}

/* How a put is made. */
struct kv_put_ops {
	const char *name;
	enum pmofkv_protocol protocol;
	enum pmofkv_counter counter;
	/* Which one does a put of these sizes; NULL: this one. */
	const struct kv_put_ops *(*pick)(const struct pmofkv *kv, size_t key_length,
					 size_t value_length);
	const struct kv_stage *first;
};

extern const struct kv_put_ops kv_put_auto, kv_put_herd, kv_put_sa;

/* session.c */
uint64_t kv_session(struct pmofkv *kv);
bool kv_again(struct kv_task *t, int error);
bool kv_lost(struct kv_task *t);

/* epoch.c */
void kv_epochs_init(struct kv_epochs *e);
void kv_epochs_reset(struct kv_epochs *e, uint64_t session);
uint64_t kv_epoch_report(struct kv_epochs *e, uint64_t session);
void kv_epoch_hold(struct kv_epochs *e, struct kv_holder *h, uint64_t session);
void kv_epoch_answer(struct kv_epochs *e, struct kv_holder *h, uint64_t epoch);
void kv_epoch_let_go(struct kv_epochs *e, struct kv_holder *h);

/* round.c */
void kv_round(struct pmofkv *kv, struct kv_task **tasks, struct kv_buffers *b, unsigned int nr);
int kv_run(struct kv_task *t);
void kv_begin_request(const struct kv_task *t, void *at, size_t size);
void *kv_request(struct kv_task *t, struct kv_buffers *b, size_t size);
void kv_call(struct kv_task *t, struct kv_buffers *b, unsigned int opcode, size_t length);
int kv_reply(const struct kv_task *t, const struct kv_buffers *b, size_t size);
int kv_status(const struct kv_task *t, const struct kv_buffers *b);
int kv_answer(const struct kv_task *t, const struct kv_buffers *b, size_t size);
uint64_t kv_version(const struct kv_buffers *b);
int kv_key_ok(const void *key, size_t key_length);

/* A version, or one of PMOF_KV_EXPECT_*. */
static inline bool kv_expected_ok(uint64_t expected)
{
	return expected == PMOF_KV_EXPECT_ANY || !(expected & ~PMOF_KV_GENERATION_MASK);
}

/* pack.c */
struct kv_pack {
	struct kv_task **task;
	unsigned int nr;
	size_t length;			/* bytes of the message */
	struct pmof_op op;
	struct pmof_kv_batch_reply *reply;
};

struct kv_packs {
	struct kv_pack pack[KV_ROUND];
	unsigned int nr;
	struct kv_task *task[KV_ROUND];	/* of all of them */
	unsigned char *room;		/* for the messages and their answers */
};

struct kv_packs *kv_pack(struct pmofkv *kv, struct kv_task **tasks, unsigned int nr);
void kv_unpack(struct kv_packs *ps);

/* put.c, delete.c, get.c */
const struct kv_put_ops *kv_protocol(unsigned int protocol);
int kv_put_init(struct kv_task *t, struct pmofkv *kv, const void *key, size_t key_length,
		const void *value, size_t value_length, uint64_t expected);
void kv_put_done(struct kv_task *t, const struct kv_buffers *b, int status);
int kv_delete_init(struct kv_task *t, struct pmofkv *kv, const void *key, size_t key_length,
		   uint64_t expected);
int kv_get_init(struct kv_task *t, struct pmofkv *kv, const void *key, size_t key_length,
		void *buf, size_t size);

/* outcome.c */
void kv_ask_outcome(struct kv_task *t);
bool kv_change_answered(struct kv_task *t, const struct kv_buffers *b);
uint64_t kv_next_number(struct pmofkv *kv);

/* object.c */
#define KV_TRAILER_SIZE	8
size_t kv_object_size(size_t key_length, size_t value_length);
bool kv_object_ok(const void *object, const struct kv_task *t);

#endif /* PMOFKV_INTERNAL_H */
