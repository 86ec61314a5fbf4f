/* SPDX-License-Identifier: GPL-2.0 */
/* Operations, and the memory that they move.  Included by client.h. */
#ifndef PMOF_REQUEST_H
#define PMOF_REQUEST_H

#define PMOF_WINDOW_PAGES	2048	/* parts of memory that one operation pins at a time */

/* A window: the memory of a put or get that the HCA is given now. */
struct pmof_window {
	struct bio_vec *vec;		/* NULL: none yet */
	unsigned int nr;		/* filled */
	unsigned int room;
	bool pinned;			/* by us; else its owner holds it */
	struct bio_vec few[8];
};

/*
 * An operation, until it has finished: on its issuer's stack, in a SUBMIT's array,
 * or in a struct pmof_async.  The issuer fills the fields up to @room.
 */
struct pmof_req {
	u16 opcode;
	u32 flags;
	u64 offset;
	u64 length;
	u64 addr;
	u64 compare;
	u64 operand;
	struct iov_iter iter;		/* of a put or get; moves on as that succeeds */
	struct iov_iter from;		/* where it began, for another try */
	bool has_iter;			/* the issuer's; else pmof_req_check() takes @addr */
	bool nowait;			/* -EAGAIN where it would sleep before the first post */
	bool hipri;			/* its waiter spins until it is done */
	u64 only;			/* session that it may run on; 0: any */
	struct file *file;		/* CALL: its context; PERSIST: hears what was lost */
	u8 asked;			/* CALL: the message's opcode */
	u32 room;			/* CALL: bytes of user space's buffer */
	struct pmof_call *call;		/* CALL: by pmof_req_check(); pmof_call_free() */
	/* Not NULL: nobody waits; this is called, in any context, when all is done. */
	void (*end)(struct pmof_req *req);
	u64 old;			/* out: word, or generation */

	struct pmof_queue *q;
	const struct pmof_persist_ops *persist;	/* of a durable put or atomic */
	unsigned int group;		/* PREPARE, REVALIDATE: requests in one go, from this */
	struct pmof_req *leader;	/* the first of its group, if it is not that */
	bool committed;			/* PF and VF are set by what has been posted */
	bool fence;			/* its first work request carries IB_SEND_FENCE */
	bool pipelined;			/* others are issued before it is waited for */
	bool posted;			/* at least one slot since the last wait */
	bool unkillable;		/* no signal ends its waiting for a slot */
	bool parks;			/* nobody sleeps until there is another connection */
	bool sent;			/* something of it was posted, on whatever connection */
	u8 losses;			/* connections that were lost under it */
	u16 copy_max;			/* conn->copy_max when it was begun: asked several times */
	u32 session;			/* conn->session when it was begun */
	u32 epoch;			/* conn->epoch then */
	int status;			/* first error of a slot */
	atomic_t pending;		/* slots under way, and 1 of the issuer */
	struct completion done;
	struct pmof_slot *kept;		/* bounced get or atomic: to be copied from and freed */
	struct pmof_window window;
};

/* request.c */
bool pmof_req_is_atomic(const struct pmof_req *req);
bool pmof_req_writes(const struct pmof_req *req);
int pmof_req_check(struct pmof_conn *conn, struct pmof_req *req);
void pmof_req_begin(struct pmof_req *req, struct pmof_queue *q);
u64 pmof_req_bytes(const struct pmof_req *req);
int pmof_req_issue(struct pmof_req *req);
int pmof_req_wait(struct pmof_req *req);
int pmof_req_finish(struct pmof_req *req);
void pmof_req_posting(struct pmof_req *req, struct ib_send_wr *first);
void pmof_req_piece_done(struct pmof_req *req, int status);
int pmof_req_cache_begin(struct pmof_conn *conn, const struct pmof_req *req);
bool pmof_req_cache_stale(const struct pmof_conn *conn, const struct pmof_req *req);
void pmof_req_cache_end(struct pmof_conn *conn, const struct pmof_req *req);
int pmof_req_exec(struct pmof_conn *conn, struct pmof_req *req);
int pmof_req_run(struct pmof_conn *conn, struct pmof_req *req);
int pmof_req_start(struct pmof_conn *conn, struct pmof_req *req);
int pmof_req_end(struct pmof_req *req, bool dirty);
struct pmof_queue *pmof_req_queue(struct pmof_conn *conn);
fmode_t pmof_req_mode(const struct pmof_req *req);

/* replay.c */
int pmof_req_allowed(const struct pmof_conn *conn, const struct pmof_req *req);
int pmof_req_reissue(struct pmof_conn *conn, const struct pmof_req *req);
int pmof_req_again(struct pmof_conn *conn, struct pmof_req *req);

/* submit.c */
void pmof_submit_run(struct pmof_conn *conn, struct pmof_req *req, int *result, unsigned int nr);

/* transfer.c */
int pmof_transfer(struct pmof_req *req);
bool pmof_transfer_one_piece(const struct pmof_req *req);
int pmof_transfer_atomic(struct pmof_req *req);
int pmof_transfer_end(struct pmof_req *req, int rc);

/* window.c */
bool pmof_window_takes(const struct iov_iter *iter);
int pmof_window_prefault(const struct pmof_req *req, size_t bytes);
int pmof_window_init(struct pmof_req *req);
s64 pmof_window_next(struct pmof_req *req);
void pmof_window_mark_dirty(const struct pmof_window *w);
bool pmof_window_is_dirty(const struct pmof_window *w);
void pmof_window_release(struct pmof_req *req, bool dirty);
void pmof_window_end(struct pmof_req *req);

/* An operation that nobody waits for, with its owner. */
struct pmof_async {
	struct pmof_req req;
	struct mm_struct *mm;		/* where its memory is, if that is user space's */
	const void *iovec;		/* of req.from: a copy; or NULL */
	struct pmof_parked parked;
	struct work_struct work;
	int result;			/* if it has run in the work */
	union {
		struct kiocb *iocb;
		struct io_uring_cmd *cmd;
	};
};

/* async.c */
extern struct workqueue_struct *pmof_async_wq;
int pmof_async_init(void);
void pmof_async_exit(void);
struct pmof_async *pmof_async_alloc(const struct pmof_req *op);
void pmof_async_free(struct pmof_async *a);
void pmof_async_again(struct pmof_async *a, work_func_t fn);
int pmof_async_run(struct pmof_async *a);
int pmof_async_start(struct pmof_conn *conn, struct pmof_async *a,
		     void (*end)(struct pmof_req *req));
ssize_t pmof_async_rw(struct kiocb *iocb, const struct pmof_req *op);

/* rw.c */
ssize_t pmof_rw(struct kiocb *iocb, struct iov_iter *iter, u16 opcode, u32 flags);
int pmof_iopoll(struct kiocb *iocb, struct io_comp_batch *batch, unsigned int flags);

/* uring.c */
int pmof_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);
int pmof_uring_cmd_iopoll(struct io_uring_cmd *cmd, struct io_comp_batch *batch,
			  unsigned int flags);

/* call.c */

/* What a CALL sends, and then, it is sent once, what it has got. */
struct pmof_call {
	u32 room;		/* for a reply */
	u32 got;		/* bytes of the reply, perhaps more than @room */
	u8 data[];
};

int pmof_call_check(const struct pmof_conn *conn, const struct pmof_req *req);
u32 pmof_conn_max_call(const struct pmof_conn *conn);
int pmof_call_import(struct pmof_req *req);
int pmof_call_issue(struct pmof_req *req);
int pmof_call_take(struct pmof_slot *slot, const void *buf, u32 len);
int pmof_call_deliver(struct pmof_req *req);
void pmof_call_free(struct pmof_req *req);
void pmof_call_close(struct file *file);

static inline bool pmof_req_is_call(const struct pmof_req *req)
{
	return req->opcode == PMOF_OP_CALL;
}

/* object.c */
static inline bool pmof_req_is_object(const struct pmof_req *req)
{
	return req->opcode == PMOF_OP_PREPARE || req->opcode == PMOF_OP_REVALIDATE;
}

int pmof_objects_issue(struct pmof_req *req);
void pmof_objects_done(struct pmof_slot *slot);
void pmof_valid_post(struct pmof_slot *slot, const struct pmof_chain *data);
int pmof_valid_get(struct pmof_req *req);
int pmof_trailers_done(struct pmof_slot *slot);

#endif /* PMOF_REQUEST_H */
