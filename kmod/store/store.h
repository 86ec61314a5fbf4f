/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pmof-store.ko: a store, and what its files offer each other.
 *
 * All of a store belongs to its worker thread from the moment when that is started until
 * it has been stopped: there is no lock.  What comes from outside comes by the two
 * lock-free lists.
 */
#ifndef PMOF_STORE_STORE_H
#define PMOF_STORE_STORE_H

#include <linux/completion.h>
#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/sched.h>
#include <linux/siphash.h>
#include <linux/sizes.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <pmof_kv.h>
#include "alloc.h"
#include "index.h"
#include "service.h"
#include "steps.h"

#define STORE_ROUND		PMOF_KV_ROUND	/* requests served in one round */
#define STORE_PARTS		1024	/* of batches, in hand, with those that wait for space */
#define STORE_CHECK_STEPS	8192	/* of CHECK in one round: a slot, a line of it, a word */
#define STORE_ROUND_BYTES	SZ_64K	/* of values written back, or copied, in one round */
#define STORE_WAIT_STEP		(HZ / 20)	/* between two looks whether space has come */
#define STORE_INDEX_BITS	10	/* at first: room for a round and more */
#define STORE_CONTEXTS		4096U	/* open files of all clients together, */
#define STORE_SESSION_CONTEXTS	256U	/* and of one session */
#define STORE_LEASES		65536U
#define STORE_SESSION_LEASES	4096U
#define STORE_OUTCOMES		1024U	/* numbers whose outcome a context remembers */

/* Slots with a number each, in the order in which they came. */
struct store_slots {
	struct list_head blocks;
	u64 count;
};

/* What a number came to. */
struct store_outcome {
	u64 number;		/* 0: none */
	u64 version;
	u32 status;		/* PMOF_KV_SC_*: OK is committed */
};

/* The same of an earlier opening, as the log's records tell it. */
struct store_past {
	u64 writer;
	u64 number;
	u64 version;		/* 0: not committed */
};

struct store_session {
	struct hlist_node node;		/* by ID */
	u64 id;
	struct list_head contexts;
	struct list_head orphans;	/* leases of files that were closed */
	u32 nr_contexts;
	u32 nr_leases;
	bool ending;			/* asked to be ended */
};

struct store_context {
	struct hlist_node node;		/* by session and number */
	struct list_head entry;		/* of the session's */
	struct list_head holding;	/* of the store's, while @low is set */
	struct store_session *session;
	struct list_head leases;
	u32 number;
	u32 refs;			/* requests */
	bool closed;
	u64 writer;
	unsigned long asked;		/* jiffies; its last request has ended */
	u64 low;			/* [K6] it may READ an address from this epoch on, */
	u64 high;			/* up to this one; low 0: none */
	struct store_outcome *outcomes;	/* STORE_OUTCOMES, by number; or NULL */
};

struct store_lease {
	struct list_head entry;		/* its context's, its session's orphans */
	struct store_session *session;
	struct store_context *context;	/* NULL: an orphan */
	u32 id;
	bool busy;			/* a commit of it is under way */
	u64 slot;
	u64 number;
	u64 hash;
	struct pmof_kv_object o;
	u8 key[];
};

struct store;
struct store_req;
struct store_batch;

enum store_step {
	STORE_DONE,			/* with phase 1, or refused */
	STORE_AGAIN,			/* in the next round */
	STORE_WAIT,			/* for space */
};

/* A kind of request, by the phases of docs/kv.md's table. */
struct store_op {
	u8 opcode;
	u16 min_length;
	u8 time;			/* enum pmof_kv_stat that counts its time; 0: none */
	/* Checks what has come, and takes it over.  Returns PMOF_KV_SC_*. */
	u32 (*parse)(struct store *st, struct store_req *r);
	/* Phase 1. */
	enum store_step (*start)(struct store *st, struct store_req *r, u64 slice);
	/* 2. */
	void (*commit)(struct store *st, struct store_req *r);
	/* 3.  Returns the length of the reply. */
	u32 (*finish)(struct store *st, struct store_req *r);
	/* It is dropped, or refused, or its store has failed: what it holds is given up. */
	void (*cancel)(struct store *st, struct store_req *r);
};

/* In a call's private room, or part of a batch. */
struct store_req {
	struct list_head entry;
	struct pmof_call *call;
	struct store_batch *batch;	/* NULL: the call is its own */
	const void *data;		/* struct pmof_kv_request, of so many bytes */
	u32 length;
	void *reply;			/* struct pmof_kv_reply */
	const struct store_op *op;
	struct store_context *context;
	struct store_lease *lease;
	u32 status;			/* PMOF_KV_SC_* */
	bool known;			/* done before: nothing is left but the answer */
	bool begun;			/* phase 1 has seen it */
	bool changed;			/* it has stored what it must see through */
	unsigned long since;		/* jiffies; it waits for space; 0: it does not */
	unsigned long came;		/* jiffies; it, or the batch that it is a part of */
	u64 arrival;			/* number */
	const u8 *key;			/* the next two: in the call, or of the lease */
	const u8 *value;
	struct pmof_kv_object o;
	struct pmof_kv_ref old;
	u64 hash;
	u64 slot;
	u64 expected;
	u64 number;
	u64 version;			/* for the reply */
	u64 done;			/* bytes written back */
	u32 max_inline;
	u32 skip;
	u32 max;
};

static_assert(sizeof(struct store_req) <= PMOF_CALL_PRIVATE);

/* Told to the worker, who is waited for: a session is drained, or gone; or nothing, NULL. */
struct store_event {
	struct llist_node node;
	void (*tell)(struct store *st, u64 session);
	u64 session;
	struct completion done;
};

struct store {
	struct pmof_kv_medium m;
	struct pmof_ns *ns;
	const char *name;
	siphash_key_t hash_key;
	bool read_only;			/* damaged, or failed: it takes no changes */
	bool unsettled;			/* damaged when it was opened: its log still counts */
	bool log_is_bad;		/* it was found so since the opening */
	bool lost_slots;		/* they cannot be read, or are gone: any key may be there */

	struct pmof_kv_index index;
	struct pmof_kv_alloc alloc;
	struct work_struct grow_work;
	struct pmof_kv_table larger;	/* for the index; grow_work gives the entries */
	unsigned long grow_after;	/* jiffies: there was no memory for it */
	u64 last_generation;
	u64 leased_slots;
	u64 unusable;			/* slots in use for ever: bad, or lost without memory */

	/* The log. */
	u32 records;
	struct pmof_kv_ref *superseded;	/* since the last checkpoint, one for each record at most */
	u32 nr_superseded;
	u32 nr_cleared;			/* of these: their headers are */
	struct store_past *past;
	u32 nr_past;
	u32 max_past;

	/* Reclaim. */
	u64 epoch;
	struct store_slots retired;	/* with the epoch */
	u32 retired_of[PMOF_KV_CLASSES + 1];
	u64 held;			/* the epoch of the first if a file keeps it from use, */
	unsigned long held_since;	/* jiffies; since when it was seen to */
	struct list_head holding;	/* contexts with an address out */

	/* Clients. */
	DECLARE_HASHTABLE(sessions, 8);
	DECLARE_HASHTABLE(contexts, 10);
	struct xarray leases;
	u32 next_lease;
	u32 nr_contexts;
	u32 nr_leases;
	struct store_slots dropping;	/* slots of leases that have ended; [K9] */

	/* The worker's. */
	struct task_struct *task;
	struct llist_head calls;
	struct llist_head events;
	struct list_head pending;
	struct list_head batches;	/* messages of many, whose parts are not in hand yet */
	u32 nr_parts;			/* that are */
	u32 nr_parts_starved;		/* of these */
	struct list_head starved;	/* requests that wait for space */
	unsigned long next_try;		/* jiffies; of them */
	unsigned long next_sweep;	/* jiffies; of the batches, for sessions that end */
	u64 arrivals;			/* requests that came into hand */
	bool freed;			/* space has come since their last try */
	u64 taken[STORE_ROUND];		/* [K7] hashes of the keys that commit in this round */
	u32 nr_taken;
	u32 copied;			/* bytes of values, in this round */
	s64 check_left;			/* steps, in this round */
	struct store_slots clearing;	/* headers cleared in this round: free behind the fence */
	bool dirty;			/* something waits for a fence */
	int fence_failed;		/* one within this phase */
	u64 lines;			/* had been written back when this fence's began */
	u64 clock;			/* until then all time is accounted for; ns */
	bool no_memory;			/* for what a commit must not fail for */

	u64 recovery_ns;
	u64 recovered;
	u64 stat[PMOF_KV_STAT_MAX];	/* from PMOF_KV_STAT_ROUNDS on */
};

static inline void store_count(struct store *st, enum pmof_kv_stat stat, u64 n)
{
	WRITE_ONCE(st->stat[stat], st->stat[stat] + n);
}

/* open.c */
struct store *pmof_store_recover(struct pmof_ns *ns);
void pmof_store_free(struct store *st);

/* worker.c */
int pmof_store_start(struct store *st);
void pmof_store_stop(struct store *st);
void pmof_store_call(void *service, struct pmof_call *call);
void pmof_store_tell(struct store *st, void (*tell)(struct store *st, u64 session), u64 session);
void pmof_store_write_back(struct store *st, u64 offset, u64 length);
void pmof_store_start_fenced(struct store *st);
int pmof_store_finish_fenced(struct store *st);
int pmof_store_fence_now(struct store *st);
void pmof_store_take_key(struct store *st, u64 hash);
bool pmof_store_key_is_taken(const struct store *st, u64 hash);
void pmof_store_damaged(struct store *st, const char *what);
void pmof_store_charge(struct store *st, u8 time);

/* request.c */
u8 pmof_store_time_of(const struct store_req *r);
void pmof_store_take_call(struct store *st, struct pmof_call *call);
bool pmof_store_may_take_batch(const struct store *st);
void pmof_store_take_batches(struct store *st);
void pmof_store_drop(struct store *st, struct store_req *r);
void pmof_store_fail(struct store *st, struct store_req *r);
void pmof_store_answer(struct store *st, struct store_req *r);

/* change.c, read.c, check.c */
extern const struct store_op pmof_store_changes[];
extern const unsigned int pmof_store_nr_changes;
extern const struct store_op pmof_store_reads[];
extern const unsigned int pmof_store_nr_reads;
extern const struct store_op pmof_store_check;
u32 pmof_store_reply_status(const struct store_req *r);
void pmof_store_mark(const struct store_req *r);

/* context.c */
struct store_context *pmof_store_get_context(struct store *st, const struct pmof_call *call,
					     u32 *status);
void pmof_store_put_context(struct store *st, struct store_context *c);
void pmof_store_close_context(struct store *st, struct store_context *c);
void pmof_store_session_drained(struct store *st, u64 id);
void pmof_store_session_gone(struct store *st, u64 id);
void pmof_store_report_epoch(struct store *st, struct store_context *c, u64 epoch);
u64 pmof_store_give_address(struct store *st, struct store_context *c);
void pmof_store_free_clients(struct store *st);

/* lease.c */
u32 pmof_store_make_lease(struct store *st, struct store_req *r);
struct store_lease *pmof_store_find_lease(struct store *st, const struct store_context *c, u32 id);
void pmof_store_end_lease(struct store *st, struct store_lease *l);
void pmof_store_close_leases(struct store *st, struct store_context *c);
void pmof_store_drop_leases(struct store *st, struct list_head *leases,
			    struct store_context *c);

/* outcome.c */
int pmof_store_need_outcomes(struct store_context *c);
const struct store_outcome *pmof_store_outcome(const struct store_context *c, u64 number);
const struct store_past *pmof_store_past(const struct store *st, u64 writer, u64 number);
void pmof_store_remember(struct store_context *c, u64 number, u32 status, u64 version);
void pmof_store_past_add(struct store *st, const struct pmof_kv_record *r, bool counts);
void pmof_store_past_sort(struct store *st);

/* space.c */
enum store_step pmof_store_allocate(struct store *st, struct store_req *r);
void pmof_store_clear_slot(struct store *st, u64 slot);
void pmof_store_clear_dropped(struct store *st);
void pmof_store_give_cleared(struct store *st);
void pmof_store_retire(struct store *st, const struct pmof_kv_ref *ref);
void pmof_store_reclaim(struct store *st);
void pmof_store_press(struct store *st);
void pmof_store_end_session(struct store *st, struct store_session *s);

/* retired.c */
void pmof_store_slots_init(struct store_slots *s);
int pmof_store_slots_reserve(struct store_slots *s, u32 room);
int pmof_store_slots_add(struct store_slots *s, u64 slot, u64 number);
bool pmof_store_slots_first(const struct store_slots *s, u64 *slot, u64 *number);
void pmof_store_slots_pop(struct store_slots *s);
void pmof_store_slots_free(struct store_slots *s);

/* lookup.c */
struct store_found {
	struct pmof_kv_entry *entry;
	u64 slot;
	struct pmof_kv_object o;
};

u64 pmof_store_hash(const struct store *st, const u8 *key, u32 length);
bool pmof_store_probe(const struct store *st, u64 offset, u64 length);
bool pmof_store_readable(const struct store *st, u64 offset, u64 length);
bool pmof_store_header_readable(const struct store *st, u64 slot, u64 room);
int pmof_store_get_header(const struct store *st, u64 slot, u64 room, struct pmof_kv_object *o);
int pmof_store_read_object(const struct store *st, u64 slot, struct pmof_kv_object *o);
int pmof_store_find(const struct store *st, u64 hash, const u8 *key, u32 length,
		    struct store_found *f);
bool pmof_store_index_room(const struct store *st);
int pmof_store_index_add(struct store *st, u64 hash, u64 slot);
int pmof_store_index_move(struct store *st, u64 hash, u64 old, u64 slot);
void pmof_store_index_step(struct store *st);
int pmof_store_index_fill(struct store *st, u64 hash, u64 slot);
u64 pmof_store_index_bytes(const struct store *st);
void pmof_store_grow_work(struct work_struct *work);

/* checkpoint.c */
bool pmof_store_log_full(const struct store *st);
bool pmof_store_needs_generations(const struct store *st);
void pmof_store_append(struct store *st, struct store_req *r);
void pmof_store_clear_some(struct store *st);
void pmof_store_clear_all(struct store *st);
int pmof_store_checkpoint(struct store *st);

#endif /* PMOF_STORE_STORE_H */
