// SPDX-License-Identifier: GPL-2.0
/*
 * The thread that serves a store, in rounds (docs/kv.md).  Of what waits, each request
 *   1. starts, and one fence covers all;
 *   2. commits, and one fence covers all of those;
 *   3. takes effect and is answered.
 * A large value is written back over several rounds, so that it delays the others by little.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/list_sort.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sizes.h>

#include "store.h"

#define MIN_SLICE	SZ_4K

/* --- fences ----------------------------------------------------------------------- */

/* What the server's CPU or a client's HCA has stored, ahead of the next fence. */
void pmof_store_write_back(struct store *st, u64 offset, u64 length)
{
	store_count(st, PMOF_KV_STAT_LINES, pmof_persist_write_back(st->ns, offset, length));
	st->dirty = true;
}

/* Of the steps: each names what it has just stored. */
static void write_back(struct pmof_kv_medium *m, u64 offset, u64 length)
{
	struct store *st = container_of(m, struct store, m);

	store_count(st, PMOF_KV_STAT_STORED, length);
	pmof_store_write_back(st, offset, length);
}

/* [A4] A fence waits for the write-backs and copies of its own CPU only: stay on it. */
void pmof_store_start_fenced(struct store *st)
{
	st->m.write_back = write_back;
	st->dirty = false;
	st->lines = st->stat[PMOF_KV_STAT_LINES];
	migrate_disable();
}

/* [A7] 0, or a negative errno: then nothing of it is known to be durable. */
int pmof_store_finish_fenced(struct store *st)
{
	if (st->dirty)
		pmof_persist_fence();
	migrate_enable();
	if (!st->dirty)
		return 0;
	store_count(st, PMOF_KV_STAT_FENCES, 1);
	return pmof_service_flush(st->ns, st->stat[PMOF_KV_STAT_LINES] - st->lines);
}

/*
 * Within a phase: an order that the phase's own fence does not give.  If it fails, so does the
 * phase: others' stores were under it, and an error is told once.
 */
int pmof_store_fence_now(struct store *st)
{
	int rc = pmof_store_finish_fenced(st);

	if (rc)
		st->fence_failed = rc;
	pmof_store_start_fenced(st);
	return rc;
}

void pmof_store_damaged(struct store *st, const char *what)
{
	if (!st->read_only)
		pr_err("namespace %s: %s; the store takes no changes until it is enabled again\n",
		       st->name, what);
	st->read_only = true;
}

/* --- time ------------------------------------------------------------------------- */

/* What has been done since the last look at the clock was of that kind, or nobody's: 0. */
void pmof_store_charge(struct store *st, u8 time)
{
	u64 now = ktime_get_ns();

	if (time)
		store_count(st, time, now - st->clock);
	st->clock = now;
}

/* --- [K7] ------------------------------------------------------------------------- */

/* By hash: two keys of one hash wait for each other, too. */
bool pmof_store_key_is_taken(const struct store *st, u64 hash)
{
	u32 i;

	for (i = 0; i < st->nr_taken; i++)
		if (st->taken[i] == hash)
			return true;
	return false;
}

void pmof_store_take_key(struct store *st, u64 hash)
{
	st->taken[st->nr_taken++] = hash;
}

/* --- requests --------------------------------------------------------------------- */

/* Any context. */
void pmof_store_call(void *service, struct pmof_call *call)
{
	struct store *st = service;

	/* [A2] As with the flush workers: what was placed ahead of the message is visible. */
	if (llist_add(&call->node, &st->calls))
		wake_up_process(st->task);
}

static void take_queued(struct store *st)
{
	struct llist_node *first = llist_reverse_order(llist_del_all(&st->calls));
	struct pmof_call *call, *next;

	llist_for_each_entry_safe(call, next, first, node)
		pmof_store_take_call(st, call);
}

/* --- rounds ----------------------------------------------------------------------- */

struct round {
	struct list_head turn;		/* not through with phase 1 */
	struct list_head done;
	unsigned int requests;
	int rc;				/* of a fence: then nothing is durable */
};

static int by_arrival(void *unused, const struct list_head *a, const struct list_head *b)
{
	return list_entry(a, struct store_req, entry)->arrival >
	       list_entry(b, struct store_req, entry)->arrival;
}

/*
 * Everybody has a turn; within it the oldest comes first: to the key that many want, and to what
 * may be copied in one round.  So whoever has waited longest is through with his next turn.
 */
static void take_turn(struct store *st, struct round *round)
{
	struct store_req *r, *next;

	list_for_each_entry_safe(r, next, &st->pending, entry) {
		if (round->requests == STORE_ROUND)
			break;
		if (pmof_call_ending(r->call)) {
			pmof_store_drop(st, r);
			continue;
		}
		list_move_tail(&r->entry, &round->turn);
		round->requests++;
	}
	list_sort(NULL, &round->turn, by_arrival);
}

static unsigned int count_stored(const struct list_head *list)
{
	const struct store_req *r;
	unsigned int n = 0;

	list_for_each_entry(r, list, entry)
		n += r->changed || r->done;
	return n;
}

static void share(struct store *st, const struct list_head *list, u64 ns)
{
	const struct store_req *r;

	list_for_each_entry(r, list, entry)
		if ((r->changed || r->done) && pmof_store_time_of(r))
			store_count(st, pmof_store_time_of(r), ns);
}

/* A fence is the work of all that have stored ahead of it, in equal parts. */
static void charge_fence(struct store *st, const struct round *round)
{
	unsigned int n = count_stored(&round->done) + count_stored(&round->turn);
	u64 ns = ktime_get_ns() - st->clock;

	st->clock += ns;
	ns = div_u64(ns, max(n, 1U));
	share(st, &round->done, ns);
	share(st, &round->turn, ns);
}

static enum store_step start(struct store *st, struct store_req *r, u64 slice)
{
	if (r->status || r->known || !r->op->start)
		return STORE_DONE;
	r->begun = true;
	return r->op->start(st, r, slice);
}

static void starve(struct store *st, struct store_req *r)
{
	list_move_tail(&r->entry, &st->starved);
	st->nr_parts_starved += !!r->batch;
}

/* Phase 1. */
static void start_all(struct store *st, struct round *round)
{
	u64 share = STORE_ROUND_BYTES / max(round->requests, 1U);
	u64 slice = max_t(u64, round_down(share, SMP_CACHE_BYTES), MIN_SLICE);
	struct store_req *r, *next;

	st->fence_failed = 0;
	pmof_store_start_fenced(st);
	if (!st->read_only) {
		pmof_store_clear_dropped(st);
		pmof_store_clear_some(st);
	}
	pmof_store_charge(st, 0);
	list_for_each_entry_safe(r, next, &round->turn, entry) {
		enum store_step step = start(st, r, slice);

		if (step == STORE_DONE)
			list_move_tail(&r->entry, &round->done);
		else if (step == STORE_WAIT)
			starve(st, r);
		pmof_store_charge(st, pmof_store_time_of(r));
		if (cond_resched())
			pmof_store_charge(st, 0);
	}
	round->rc = pmof_store_finish_fenced(st);
	charge_fence(st, round);
	if (!round->rc)
		round->rc = st->fence_failed;
	if (!round->rc)
		pmof_store_give_cleared(st);
}

/* Phase 2: [K1] [K3] what phase 1 has stored is durable. */
static void commit_all(struct store *st, struct round *round)
{
	struct store_req *r;

	if (round->rc)
		return;
	pmof_store_start_fenced(st);
	list_for_each_entry(r, &round->done, entry)
		if (r->changed && r->op->commit) {
			r->op->commit(st, r);
			pmof_store_charge(st, pmof_store_time_of(r));
		}
	round->rc = pmof_store_finish_fenced(st);
	charge_fence(st, round);
}

/* Phase 3: [K3] all that the answers promise is durable. */
static void finish_all(struct store *st, struct round *round)
{
	struct store_req *r, *next;
	struct store_context *c;
	u8 time;

	pmof_store_charge(st, 0);
	list_for_each_entry_safe(r, next, &round->done, entry) {
		c = r->context;
		time = pmof_store_time_of(r);
		/* The request is gone with its answer. */
		if (round->rc && r->changed)
			pmof_store_fail(st, r);
		else
			pmof_store_answer(st, r);
		if (c)
			pmof_store_put_context(st, c);
		pmof_store_charge(st, time);
		/* 64 SCANs may take long.  What others take then is no request's. */
		if (cond_resched())
			pmof_store_charge(st, 0);
	}
}

/* Where every round stores.  The list of bad sectors may have grown since the opening. */
static void check_medium(struct store *st)
{
	const struct pmof_kv_super *sb = &st->m.sb;

	if (st->log_is_bad ||
	    !pmof_service_bad(st->ns, 0, sb->log + sb->nr_records * PMOF_KV_RECORD_SIZE))
		return;
	st->log_is_bad = true;
	pmof_store_damaged(st, "a bad sector lies in its superblock, chunk table or log");
	/* While it is known what the records have superseded: the next opening may not. */
	pmof_store_clear_all(st);
}

/* What a commit must not fail for is there before it begins. */
static void get_ready(struct store *st)
{
	pmof_store_reclaim(st);
	pmof_store_index_step(st);
	st->no_memory = pmof_store_slots_reserve(&st->retired, STORE_ROUND);
	st->nr_taken = 0;
	st->copied = 0;
	st->check_left = STORE_CHECK_STEPS;
	check_medium(st);
	if (!st->read_only && (pmof_store_log_full(st) || pmof_store_needs_generations(st)))
		pmof_store_checkpoint(st);
}

/* Those that wait for space: when some has come, and now and then, behind all others. */
static void retry_starved(struct store *st)
{
	if (!st->freed && time_before(jiffies, st->next_try))
		return;
	st->freed = false;
	st->next_try = jiffies + STORE_WAIT_STEP;
	list_splice_tail_init(&st->starved, &st->pending);
	st->nr_parts_starved = 0;
}

/* Returns true if there is nothing to do until something comes, or until space has. */
static bool serve_round(struct store *st)
{
	struct round round = {};
	bool idle;

	INIT_LIST_HEAD(&round.turn);
	INIT_LIST_HEAD(&round.done);
	get_ready(st);
	retry_starved(st);
	pmof_store_take_batches(st);
	take_turn(st, &round);
	start_all(st, &round);
	commit_all(st, &round);
	if (round.rc)
		pmof_store_damaged(st, "a flush has failed");
	finish_all(st, &round);
	store_count(st, PMOF_KV_STAT_ROUNDS, !!round.requests);
	/* Who is not through waits behind those that had no turn. */
	list_splice_tail(&round.turn, &st->pending);
	pmof_store_press(st);
	idle = list_empty(&st->pending) && (st->read_only || !st->dropping.count) &&
	       (list_empty(&st->batches) || !pmof_store_may_take_batch(st));
	return idle && (list_empty(&st->starved) || !st->freed);
}

/* --- the thread ------------------------------------------------------------------- */

static bool has_work(const struct store *st)
{
	return !llist_empty(&st->calls) || !llist_empty(&st->events);
}

/* Returns when something has come, or while requests wait for space after a while. */
static void wait_for_work(struct store *st)
{
	set_current_state(TASK_IDLE);
	if (!has_work(st) && !kthread_should_stop()) {
		if (list_empty(&st->starved))
			schedule();
		else
			schedule_timeout(STORE_WAIT_STEP);
	}
	__set_current_state(TASK_RUNNING);
}

static void handle_events(struct store *st)
{
	struct llist_node *first = llist_reverse_order(llist_del_all(&st->events));
	struct store_event *e, *next;

	llist_for_each_entry_safe(e, next, first, node) {
		if (e->tell)
			e->tell(st, e->session);
		complete(&e->done);
	}
}

/* May sleep until the round that is under way is through. */
void pmof_store_tell(struct store *st, void (*tell)(struct store *st, u64 session), u64 session)
{
	struct store_event e = { .tell = tell, .session = session };

	init_completion(&e.done);
	if (llist_add(&e.node, &st->events))
		wake_up_process(st->task);
	wait_for_completion(&e.done);
}

static int store_thread(void *data)
{
	struct store *st = data;
	u64 start;
	bool idle;

	/* Whoever frees memory may wait for what this store's clients write back. */
	memalloc_noio_save();
	while (!kthread_should_stop()) {
		wait_for_work(st);
		do {
			start = ktime_get_ns();
			st->clock = start;
			take_queued(st);
			/* Behind it: what is told here is later than all calls of that session. */
			idle = serve_round(st);
			handle_events(st);
			store_count(st, PMOF_KV_STAT_BUSY_NS, ktime_get_ns() - start);
			cond_resched();
		} while (has_work(st) || !idle);
	}
	return 0;
}

int pmof_store_start(struct store *st)
{
	struct task_struct *task;

	task = kthread_create_on_node(store_thread, st, pmof_service_node(st->ns),
				      "pmof_store/%s", st->name);
	if (IS_ERR(task))
		return PTR_ERR(task);
	st->task = task;
	wake_up_process(task);
	return 0;
}

/* No call is left. */
void pmof_store_stop(struct store *st)
{
	if (st->task)
		kthread_stop(st->task);
	st->task = NULL;
}
