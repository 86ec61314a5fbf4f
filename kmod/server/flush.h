/* SPDX-License-Identifier: GPL-2.0 */
/* What the files of the flush workers offer each other. */
#ifndef PMOF_SERVER_FLUSH_H
#define PMOF_SERVER_FLUSH_H

#include "server.h"

#define PMOF_WRITE_BACKS	64	/* ranges that are sorted together */

/* The write-backs of one fence; see write_back.c. */
struct pmof_write_backs {
	u64 lines;			/* written back or copied since the last start */
	struct pmof_debt debt;		/* of these, if their medium is emulated */
	unsigned int nr;
	struct pmof_write_back {
		struct pmof_session *session;
		u64 start;
		u64 end;
	} range[PMOF_WRITE_BACKS];
};

/*
 * A kind of request, in the phases of a round (flush_round.c).  A method that
 * sets req->status ends the request with an error reply.
 */
struct pmof_flush_ops {
	/*
	 * Starts what a fence will make durable, up to @left bytes of it.
	 * Returns true when nothing is left.
	 */
	bool (*work)(struct pmof_srv_req *req, u64 left, struct pmof_write_backs *wb);
	/* Commits only, when that is durable: sets PF, for a fence of its own. */
	void (*set_pf)(struct pmof_srv_req *req, struct pmof_write_backs *wb);
	/* Sets VF, when all else is durable; or NULL. */
	void (*set_vf)(struct pmof_srv_req *req);
	/* Counts it and fills the reply, if it has no status.  Returns its length. */
	u32 (*reply)(struct pmof_srv_req *req);
};

struct pmof_flush_worker {
	struct llist_head queue;
	struct task_struct *task;
	unsigned int index;
	int cpu;			/* that it is bound to, or -1 */
	/* The thread's own. */
	struct list_head sessions;	/* with requests that wait; the next to have a turn first */
	unsigned int nr_pending;	/* requests */
	u64 batch;			/* times that requests were taken */
	u64 fences;
	int ends_seen;			/* of pmof_session_ends */
	struct pmof_write_backs wb;
} ____cacheline_aligned_in_smp;

/*
 * A session, for one worker.  Each request holds its queue, and so the session: this is there while
 * one waits, and on no list when the last is gone.
 */
struct pmof_flush_session {
	struct list_head entry;		/* of its sessions, while requests wait */
	struct list_head requests;	/* these, in their order */
	/* What the worker has counted for it, so as to count it once. */
	u64 batch;
	u64 fence;
} ____cacheline_aligned_in_smp;

/* flush_cpus.c */
int pmof_flush_cpus_init(void);
void pmof_flush_cpus_exit(void);
unsigned int pmof_flush_cpus_nr(void);
int pmof_flush_cpu(unsigned int worker);
unsigned int pmof_flush_cpus_choose(int node);

/* flush_round.c */
void pmof_flush_wait(struct pmof_flush_worker *w, struct pmof_srv_req *req);
void pmof_flush_round(struct pmof_flush_worker *w);

/* flush_kinds.c */
extern const struct pmof_flush_ops pmof_flush_persist;
extern const struct pmof_flush_ops pmof_flush_put;
extern const struct pmof_flush_ops pmof_flush_zero;
bool pmof_flush_copy(struct pmof_srv_req *req, struct pmof_write_backs *wb);
u64 pmof_flush_slice(struct pmof_srv_req *req, struct pmof_range *range, u64 left,
		     struct pmof_write_backs *wb);

/* object.c */
extern const struct pmof_flush_ops pmof_flush_put_commit;
extern const struct pmof_flush_ops pmof_flush_commit;
extern const struct pmof_flush_ops pmof_flush_prepare;
extern const struct pmof_flush_ops pmof_flush_revalidate;

/* write_back.c */
void pmof_write_backs_start(struct pmof_write_backs *wb);
void pmof_write_backs_add(struct pmof_write_backs *wb, struct pmof_session *s, u64 offset,
			  u64 length);
void pmof_write_backs_add_good(struct pmof_write_backs *wb, struct pmof_session *s, u64 offset,
			       u64 length);
void pmof_write_backs_count(struct pmof_write_backs *wb, struct pmof_session *s, u64 lines);
void pmof_write_backs_finish(struct pmof_write_backs *wb);

#endif /* PMOF_SERVER_FLUSH_H */
