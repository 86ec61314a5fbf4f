// SPDX-License-Identifier: GPL-2.0
/*
 * The rounds of a flush worker.  In each, every request that waits, up to
 * ROUND_REQUESTS of them,
 *   1. starts a slice of its work: write-backs, copies, new trailers; then one
 *      fence covers all, and a flush of the device where that is what it takes;
 *      who is through by then, and does not commit, is answered;
 *   2. commits: their data are durable, so PF is set, and a fence of its own
 *      covers that;
 *   3. sets VF and is answered.
 * So many small requests share a fence, and a large one delays a small one by
 * a few rounds at most.  The places of a round go to the sessions by turns, one
 * request each: what others have waiting delays a session's request by as many
 * rounds as it takes to give each session a turn, and its own by as many as its
 * share of the places makes of them.
 *
 * [A5] A reply is posted only behind the fence that covers all that it promises.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/sched.h>
#include <linux/sizes.h>

#include "flush.h"
#include "marks.h"
#include "trace.h"

#define ROUND		SZ_64K	/* bytes worked off between two looks at the queue */
#define MIN_SLICE	SZ_4K
#define ROUND_REQUESTS	64	/* served in one round */

/* Once for each session that has a request under the fence. */
static void count_fence(struct pmof_flush_worker *w, struct pmof_session *s)
{
	struct pmof_flush_session *fs = &s->flush[w->index];

	if (fs->fence != w->fences) {
		fs->fence = w->fences;
		pmof_session_stat(s, PMOF_SRV_FENCES, 1);
	}
}

/* [A4] A fence waits for the write-backs and copies of its own CPU only: stay on it. */
static void start_fenced(struct pmof_flush_worker *w)
{
	w->fences++;
	pmof_write_backs_start(&w->wb);
	migrate_disable();
}

static void finish_fenced(struct pmof_flush_worker *w)
{
	pmof_write_backs_finish(&w->wb);
	pmof_persist_fence();
	migrate_enable();
	pmof_emulate_pay(&w->wb.debt);
}

static void flush_device(struct pmof_flush_worker *w, struct pmof_session *s)
{
	struct pmof_ns *ns = s->ns;

	ns->flushed_fence = w->fences;
	ns->flushed_rc = pmof_persist_flush_device(ns);
	pmof_session_stat(s, PMOF_SRV_DEVICE_FLUSHES, 1);
	trace_pmof_srv_flush_device(pmof_ns_name(ns), ns->flushed_rc);
}

/*
 * [A7] What was fenced for these requests is flushed further where that is needed: once
 * since the fence for each namespace, counted for one of the sessions.
 */
static void flush_devices(struct pmof_flush_worker *w, struct list_head *reqs)
{
	struct pmof_srv_req *req;

	list_for_each_entry(req, reqs, entry) {
		struct pmof_session *s = req->queue->session;

		if (req->status || !pmof_ns_device_flush(s->ns))
			continue;
		if (s->ns->flushed_fence != w->fences)
			flush_device(w, s);
		if (s->ns->flushed_rc)
			req->status = PMOF_SC_INTERNAL;
	}
}

/* All that the replies promise is durable. */
static void answer(struct pmof_flush_worker *w, struct list_head *reqs)
{
	struct pmof_srv_req *req, *next;
	u32 len;

	list_for_each_entry_safe(req, next, reqs, entry) {
		/* [C4] Seen before the reply is: posting it orders the two. */
		if (!req->status && req->flush->set_vf)
			req->flush->set_vf(req);
		if (req->status)
			len = pmof_rpc_fill_status(req, req->status);
		else
			len = req->flush->reply(req);
		pmof_mark_fences(w->fences);
		pmof_srv_queue_reply(req, len, NULL);
	}
}

/* Behind what its session has waiting; the session, if it had nothing, behind the others. */
void pmof_flush_wait(struct pmof_flush_worker *w, struct pmof_srv_req *req)
{
	struct pmof_flush_session *fs = &req->queue->session->flush[w->index];

	if (list_empty(&fs->requests))
		list_add_tail(&fs->entry, &w->sessions);
	list_add_tail(&req->entry, &fs->requests);
}

/*
 * Nobody waits for these any more; and what was not done must not be answered.  The last put may
 * be what frees @fs: off its lists first.
 */
static void drop_all(struct pmof_flush_worker *w, struct pmof_flush_session *fs)
{
	struct pmof_srv_req *req, *next;
	LIST_HEAD(gone);

	list_splice_init(&fs->requests, &gone);
	list_del(&fs->entry);
	list_for_each_entry_safe(req, next, &gone, entry) {
		list_del(&req->entry);
		w->nr_pending--;
		pmof_srv_queue_put(req->queue);
		cond_resched();
	}
}

static bool is_ending(const struct pmof_flush_session *fs)
{
	const struct pmof_srv_req *req;

	req = list_first_entry(&fs->requests, struct pmof_srv_req, entry);
	return pmof_session_ending(req->queue->session);
}

/*
 * An end waits for its session's requests, and they may stand behind thousands of others'.  Who
 * sees that a session has begun to end sees which.
 */
static void drop_ended(struct pmof_flush_worker *w)
{
	int ends = atomic_read_acquire(&pmof_session_ends);
	struct pmof_flush_session *fs, *next;

	if (ends == w->ends_seen)
		return;
	w->ends_seen = ends;
	list_for_each_entry_safe(fs, next, &w->sessions, entry)
		if (is_ending(fs))
			drop_all(w, fs);
}

/* The oldest request of the session whose turn it is.  The next is another's, if one waits. */
static struct pmof_srv_req *take_next(struct pmof_flush_worker *w, struct pmof_flush_session *fs)
{
	struct pmof_srv_req *req = list_first_entry(&fs->requests, struct pmof_srv_req, entry);

	list_del(&req->entry);
	if (list_empty(&fs->requests))
		list_del(&fs->entry);
	else
		list_move_tail(&fs->entry, &w->sessions);
	return req;
}

/* The requests of this round. */
static unsigned int take_turn(struct pmof_flush_worker *w, struct list_head *turn)
{
	struct pmof_flush_session *fs;
	unsigned int n = 0;

	while (n < ROUND_REQUESTS && !list_empty(&w->sessions)) {
		fs = list_first_entry(&w->sessions, struct pmof_flush_session, entry);
		if (is_ending(fs)) {
			drop_all(w, fs);
			continue;
		}
		list_add_tail(&take_next(w, fs)->entry, turn);
		n++;
	}
	return n;
}

/*
 * Phase 1.  Who is through goes to @done, and commits to @commits.  [C1] A PREPARE is answered
 * behind this phase's fence.
 */
static void work(struct pmof_flush_worker *w, struct list_head *done, struct list_head *commits)
{
	struct pmof_srv_req *req, *next;
	unsigned int pending, requests;
	LIST_HEAD(turn);
	u64 slice;

	requests = take_turn(w, &turn);
	pending = w->nr_pending;
	/* Whole lines: a slice ends where a line does. */
	slice = max_t(u64, round_down(ROUND / max(requests, 1U), PMOF_LINE_SIZE), MIN_SLICE);
	start_fenced(w);
	list_for_each_entry_safe(req, next, &turn, entry) {
		count_fence(w, req->queue->session);
		if (req->flush->work(req, slice, &w->wb)) {
			list_move_tail(&req->entry,
				       req->flush->set_pf && !req->status ? commits : done);
			w->nr_pending--;
		}
		cond_resched();
	}
	finish_fenced(w);
	list_for_each_entry_safe(req, next, &turn, entry)
		pmof_flush_wait(w, req);
	trace_pmof_srv_flush(w->index, false, requests, pending - w->nr_pending, w->wb.lines);
}

/* [C2] [C3] Phase 2: the data are durable, so PF may be set; VF only behind its fence. */
static void commit(struct pmof_flush_worker *w, struct list_head *commits)
{
	struct pmof_srv_req *req;
	unsigned int requests = 0;

	start_fenced(w);
	list_for_each_entry(req, commits, entry) {
		count_fence(w, req->queue->session);
		if (!req->status)
			req->flush->set_pf(req, &w->wb);
		requests++;
	}
	finish_fenced(w);
	trace_pmof_srv_flush(w->index, true, requests, requests, w->wb.lines);
}

void pmof_flush_round(struct pmof_flush_worker *w)
{
	LIST_HEAD(commits);
	LIST_HEAD(done);

	drop_ended(w);
	work(w, &done, &commits);
	flush_devices(w, &done);
	flush_devices(w, &commits);
	answer(w, &done);
	if (list_empty(&commits))
		return;
	commit(w, &commits);
	flush_devices(w, &commits);
	answer(w, &commits);
}
