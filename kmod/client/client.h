/* SPDX-License-Identifier: GPL-2.0 */
/* pmof-client.ko: objects, and the calls between its files. */
#ifndef PMOF_CLIENT_H
#define PMOF_CLIENT_H

#include <linux/cdev.h>
#include <linux/completion.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/mutex.h>
#include <linux/percpu-refcount.h>
#include <linux/sbitmap.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/uio.h>
#include <linux/workqueue.h>

#include "uapi/pmof.h"

#include "auto_table.h"
#include "method.h"
#include "object.h"
#include "options.h"
#include "queue.h"
#include "range.h"
#include "stats.h"

#define PMOF_BOUNCE_SIZE	4096	/* a slot's buffer for what is copied, not pinned */
#define PMOF_COPY_MAX		2048	/* default of copy_max; measured: docs/interfaces.md */
#define PMOF_SLOT_SGE		256	/* pages of a slot's data, if no two are neighbours */
#define PMOF_SLOT_WR		8	/* work requests that carry them */
#define PMOF_WR_SGE		32	/* SGEs of one of them, at most */
#define PMOF_VALID_WR		2	/* besides, for a get with PMOF_F_VALID */
#define PMOF_WINDOW_PAGES	2048	/* parts of memory that one operation pins at a time */
#define PMOF_IO_TIMEOUT_MS	30000	/* an operation that takes longer ends the connection */
#define PMOF_CM_TIMEOUT_MS	15000	/* each step of connecting */

/* Client counters, in the order of pmof_client_stat_names[]. */
enum pmof_client_stat {
	PMOF_STAT_WR_WRITE,
	PMOF_STAT_WR_READ,
	PMOF_STAT_WR_SEND,
	PMOF_STAT_WR_CAS,
	PMOF_STAT_WR_FETCH_ADD,
	PMOF_STAT_WR_FLUSH,
	PMOF_STAT_WR_ATOMIC_WRITE,
	PMOF_STAT_WR_RECV,	/* messages received */
	PMOF_STAT_ROUND_TRIPS,	/* times that an operation waited for the server */
	PMOF_STAT_COMPLETIONS,	/* work completions handled */
	PMOF_STAT_PUTS,
	PMOF_STAT_GETS,
	PMOF_STAT_PERSISTS,
	PMOF_STAT_ATOMICS,
	PMOF_STAT_PREPARES,
	PMOF_STAT_REVALIDATES,
	PMOF_STAT_COMMITS,	/* puts with PMOF_F_COMMIT, counted in puts too */
	PMOF_STAT_VALID_GETS,	/* gets with PMOF_F_VALID, counted in gets too */
	PMOF_STAT_BYTES_PUT,
	PMOF_STAT_BYTES_GOT,
	PMOF_STAT_BLOCK_READS,	/* requests of the block device, their bytes counted above */
	PMOF_STAT_BLOCK_WRITES,
	PMOF_STAT_BLOCK_ZEROES,	/* DISCARD and WRITE_ZEROES */
	PMOF_STAT_BLOCK_FLUSHES,
	PMOF_STAT_ERRORS,
	PMOF_STAT_MAX
};

static_assert(PMOF_STAT_MAX <= PMOF_STATS_NR, "counters fit");

enum pmof_state {
	PMOF_CONNECTING,
	PMOF_LIVE,
	PMOF_RECOVERING,	/* its place: nothing enters it yet */
	PMOF_DEAD,
	PMOF_NR_STATES
};

/* The largest message that a slot sends, without data that lie elsewhere. */
#define PMOF_SLOT_MSG_SIZE						\
	(sizeof(struct pmof_wire_objects) + PMOF_MAX_OBJECTS * sizeof(__le64))

static_assert(sizeof(struct pmof_wire_put) <= PMOF_SLOT_MSG_SIZE, "any message fits");
static_assert(PMOF_MAX_OBJECTS * sizeof(u64) <= PMOF_BOUNCE_SIZE, "any reply's words fit");

struct pmof_blk;
struct pmof_conn;
struct pmof_persist_ops;
struct pmof_req;
struct pmof_slot;

/* The CM side of a queue: one step at a time, waited for by the connecting thread. */
struct pmof_cm {
	struct pmof_conn *conn;
	struct rdma_cm_id *id;
	struct completion done;
	int status;		/* of the step */
	u16 depth;		/* granted */
};

/* Work requests that are posted together, linked in their order. */
struct pmof_chain {
	struct ib_send_wr *first;
	struct ib_send_wr *last;
};

static inline void pmof_chain_add(struct pmof_chain *chain, struct ib_send_wr *wr)
{
	if (chain->first)
		chain->last->next = wr;
	else
		chain->first = wr;
	chain->last = wr;
}

/**
 * struct pmof_slot - what one RDMA request of an operation needs, reserved as a whole
 *
 * Belongs to the sbitmap (or, of the block device's, to its request), to the
 * thread that got it, or to the HCA: from the post until slot_finish().  Memory
 * lives as long as the connection object.
 */
struct pmof_slot {
	struct pmof_queue *q;
	/*
	 * The HCA is done with it: the last call for what it was posted for.  @status:
	 * 0 or a negative errno.  Any context.
	 */
	void (*done)(struct pmof_slot *slot, int status);
	struct pmof_req *req;	/* operation; NULL: not posted for one */
	struct request *rq;	/* the block device's; such a slot has no bounce buffer */
	u16 tag;
	bool keep;		/* the issuer frees the slot, not slot_finish() */
	bool atomic;		/* the old value lies in the bounce buffer */
	u8 awaits;		/* opcode of the message whose reply it waits for */
	u8 nr_trailers;		/* READ into @trailers: 0, 1 or 2 */
	u16 nr_objects;		/* of a PREPARE or REVALIDATE, else 0 */
	struct pmof_req *objects;	/* @nr_objects requests, from which they come */
	struct pmof_range cached;	/* moved from or to pages of the cache */
	s64 clean_to;		/* dirty mark: put_seq when it was posted, or -1 */
	int status;
	bool watched;		/* nobody sleeps for it: the queue's watchdog looks after it */
	unsigned long since;	/* jiffies of its post, if it is watched */
	atomic_t pending;	/* completion of the last work request, reply */
	unsigned long flags;	/* PMOF_SLOT_REPLY */
	struct ib_cqe cqe;	/* last work request of the chain: signaled */
	struct ib_cqe err_cqe;	/* the ones before it: complete only on error */
	struct pmof_buf bounce;
	struct pmof_buf msg;
	struct pmof_buf trailers;
	enum dma_data_direction dir;	/* of what is mapped */
	u16 nr_mapped;		/* of @sge: mapped for this request */
	u16 nr_sge;
	struct ib_sge sge[PMOF_SLOT_SGE];
};

#define PMOF_SLOT_REPLY	0	/* bit: a reply, or the teardown, has still to account for it */

struct pmof_queue {
	struct pmof_conn *conn;
	u16 id;			/* 1.. */
	u16 depth;
	struct pmof_cm cm;
	struct pmof_qp qp;
	u16 nr_char;		/* slots of the character device; behind them the block device's */
	u16 write_sge;		/* SGEs of one slot's WRITEs, and of its READs */
	u16 read_sge;
	struct sbitmap_queue tags;	/* of the first @nr_char slots */
	atomic_t wait_index;	/* of the tags' wait queues */
	struct pmof_slot *slots;
	struct pmof_buf sink;	/* READs that only order things land here */
	struct timer_list watchdog;	/* of operations that nobody sleeps for */
	u32 round_trip_ns;	/* a running mean of what waiters saw; 0: none yet */
	/*
	 * Dirty mark.  @put_seq counts the WRITEs and atomics that have been
	 * posted with nothing of their own behind them; @clean_seq is the count
	 * up to which a READ or a message posted behind them has completed.
	 * Equal: clean.
	 */
	atomic64_t put_seq;
	atomic64_t clean_seq;
};

struct pmof_admin {
	struct pmof_cm cm;
	struct pmof_qp qp;
	struct mutex lock;	/* one call at a time; protects all below */
	struct pmof_buf msg;
	struct ib_cqe cqe;
	struct completion done;	/* send completed and reply arrived, or aborted */
	atomic_t pending;
	spinlock_t rx_lock;	/* the next four, against the receive handler and the teardown */
	struct pmof_rx *reply;
	u32 reply_len;
	bool waiting;
	bool aborted;
	u16 tag;
};

/* auth.c; used by whoever connects, one thread at a time. */
struct pmof_conn_auth {
	struct pmof_auth now;		/* of the login under way, or of the last */
	u8 session_key[PMOF_SESSION_KEY_LEN];
	bool has_session_key;
	u64 counter;			/* of the session's queues that have asked */
};

/* dirty.c: one bit for a chunk of the namespace; all NULL: nobody asks. */
struct pmof_dirty {
	unsigned long *marked;	/* completed puts that are not durable */
	unsigned long nr;	/* bits */
	u8 shift;		/* log2 of a chunk's bytes, at least 12 */
	struct mutex lock;	/* from take to end; protects all below */
	unsigned long *taken;
	unsigned long next;	/* where pmof_dirty_next() goes on, and ends */
	unsigned long end;
};

/**
 * struct pmof_persist_ops - a persist method
 * @method: enum pmof_method
 * @extra_wr: work requests that it posts with one slot, besides the data's
 * @each_piece: what makes a put durable is posted with each piece, not once
 *	behind all pieces of a window
 * @by_range: @persist makes the server work through the range it is given
 * @commit_posted: finish_commit has nothing to do for a commit of one piece
 * @posts: whether this end can use it; NULL: always
 * @pick: the method for a put of @bytes; NULL: this one
 * @persister: the method whose @persist it uses; NULL: this one
 * @post_durable: posts @chain (built for @slot: the put's last WRITEs, or the
 *	atomic) and behind it on the same queue, in the same post, what makes
 *	@range durable.  It may send the WRITE's data in another way
 * @post_commit: the same for the last of an object's data; may set PF and VF
 *	too, and req->committed
 * @finish_commit: sets PF and VF where post_commit has not; what is posted may
 *	still be under way on return.  Sleeps
 * @persist: makes the puts that completed before the call and lie in @range
 *	durable; on @q where it needs one.  Sleeps.  Returns 0 or -errno
 */
struct pmof_persist_ops {
	enum pmof_method method;
	unsigned int extra_wr;
	bool each_piece;
	bool by_range;
	bool commit_posted;
	bool (*posts)(const struct pmof_conn *conn);
	const struct pmof_persist_ops *(*pick)(struct pmof_conn *conn, u64 bytes);
	const struct pmof_persist_ops *(*persister)(const struct pmof_conn *conn);
	void (*post_durable)(struct pmof_slot *slot, struct pmof_chain *chain,
			     const struct pmof_range *range);
	void (*post_commit)(struct pmof_slot *slot, struct pmof_chain *chain,
			    const struct pmof_range *range);
	int (*finish_commit)(struct pmof_req *req);
	int (*persist)(struct pmof_queue *q, const struct pmof_range *range);
};

extern const struct pmof_persist_ops pmof_persist_auto;
extern const struct pmof_persist_ops pmof_persist_read;
extern const struct pmof_persist_ops pmof_persist_assist;
extern const struct pmof_persist_ops pmof_persist_rpc;
extern const struct pmof_persist_ops pmof_persist_flush;

#define PMOF_SEND_SGE	3

/* A message, with room for the data of a put behind it. */
struct pmof_send {
	struct ib_send_wr wr;
	struct ib_sge sge[PMOF_SEND_SGE];
};

/*
 * What is behind mmap: an inode of the module's own file system, shared by all
 * opens and all device nodes of the device.  Lives as long as the connection object.
 */
struct pmof_cache {
	struct vfsmount *mnt;
	struct address_space *mapping;
	struct mutex lock;		/* the next two, and what their last one leaves */
	unsigned int nr_files;
	unsigned int nr_writers;
};

/**
 * struct pmof_conn - a connection and its device
 *
 * Lifetime: &dev's reference count; the character device and the registered
 * state hold one each.  RDMA resources (queue pairs, mappings) live from
 * pmof_conn_open() to the teardown work; whoever uses them holds @io_ref.
 */
struct pmof_conn {
	int instance;
	struct device dev;		/* pmofN */
	struct device cdev_dev;		/* pmofcN */
	struct cdev cdev;
	struct list_head entry;		/* in the list of connections; its lock */
	struct pmof_options opt;
	u8 uuid[PMOF_WIRE_UUID_LEN];
	struct sockaddr_storage peer;
	struct net *net;

	spinlock_t state_lock;		/* state, lost */
	enum pmof_state state;
	bool lost;			/* while CONNECTING: a queue broke */
	bool published;			/* can be disconnected */
	bool removed;			/* disconnected by the administrator */
	struct work_struct teardown;
	struct work_struct remove;
	struct percpu_ref io_ref;	/* slots under way and admin calls */
	struct completion io_drained;

	struct ib_device *ibdev;
	struct ib_pd *pd;
	struct pmof_admin admin;
	struct pmof_queue *queues;
	unsigned int nr_queues;		/* that have been allocated */
	unsigned int nr_shared;		/* the first: character and block; the rest: polled block */
	struct pmof_login_reply login;
	struct pmof_conn_auth auth;
	struct pmof_layout layout;
	struct pmof_segment_desc *seg;
	u32 usable;			/* persist methods, bit n is enum pmof_method n */
	const struct pmof_persist_ops *persist;	/* chosen at connect */
	struct pmof_cache cache;
	struct pmof_dirty dirty;
	struct mutex auto_lock;		/* who replaces auto_table */
	struct pmof_auto_table __rcu *auto_table;
	struct pmof_blk *blk;		/* the block device, or NULL */
	int poll_us;			/* how long a waiter spins; PMOF_POLL_AUTO */
	u32 copy_max;			/* bytes; up to this a put or get is copied */
	struct pmof_stats __percpu *stats;
};

#define PMOF_POLL_AUTO		-1
#define PMOF_POLL_MAX_US	1000

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
 * or in a struct pmof_async.  The issuer fills the fields up to @hipri.
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
	bool has_iter;			/* the issuer's; else pmof_req_check() takes @addr */
	bool nowait;			/* -EAGAIN where it would sleep before the first post */
	bool hipri;			/* its waiter spins until it is done */
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
	int status;			/* first error of a slot */
	atomic_t pending;		/* slots under way, and 1 of the issuer */
	struct completion done;
	struct pmof_slot *kept;		/* bounced get or atomic: to be copied from and freed */
	struct pmof_window window;
};

/* conn.c */
extern struct workqueue_struct *pmof_wq;
int pmof_conn_create(const struct pmof_options *opt, const char **why);
void pmof_conn_lost(struct pmof_conn *conn);
int pmof_conn_remove(struct pmof_conn *conn);
void pmof_conn_teardown(struct pmof_conn *conn);
bool pmof_conn_to(struct pmof_conn *conn, enum pmof_state to);
int pmof_conn_gone_errno(struct pmof_conn *conn);
const char *pmof_state_name(enum pmof_state state);
int pmof_conn_init(void);
void pmof_conn_exit(void);

/* A reference under which the RDMA resources stay. */
static inline bool pmof_conn_enter(struct pmof_conn *conn)
{
	return percpu_ref_tryget_live(&conn->io_ref);
}

static inline void pmof_conn_leave(struct pmof_conn *conn)
{
	percpu_ref_put(&conn->io_ref);
}

/* Also an operation with nothing to send fails on a connection that is gone. */
static inline int pmof_conn_check(struct pmof_conn *conn)
{
	return percpu_ref_is_dying(&conn->io_ref) ? pmof_conn_gone_errno(conn) : 0;
}

/*
 * Brackets mapping and posting a slot, without sleeping.  The teardown kills
 * io_ref and then waits for an RCU grace period: whoever got in has posted by
 * the time the queue pairs are drained, and nobody posts after.
 */
static inline bool pmof_post_begin(struct pmof_conn *conn)
{
	rcu_read_lock();
	if (pmof_conn_enter(conn))
		return true;
	rcu_read_unlock();
	return false;
}

static inline void pmof_post_end(void)
{
	rcu_read_unlock();
}

/* cm.c */
int pmof_cm_resolve(struct pmof_cm *cm, struct pmof_conn *conn);
int pmof_cm_connect(struct pmof_cm *cm, u16 queue_id, u16 depth);
void pmof_cm_destroy(struct pmof_cm *cm);

/* admin.c */
int pmof_admin_open(struct pmof_conn *conn);
void pmof_admin_abort(struct pmof_admin *a);
void pmof_admin_close(struct pmof_admin *a);
int pmof_admin_challenge(struct pmof_conn *conn, const u8 nonce[PMOF_WIRE_NONCE_LEN],
			 u8 server_nonce[PMOF_WIRE_NONCE_LEN]);
int pmof_admin_login(struct pmof_conn *conn);
int pmof_admin_segments(struct pmof_conn *conn);
int pmof_admin_stats(struct pmof_conn *conn, u64 value[PMOF_SRV_STAT_MAX]);

/* io_queue.c */
int pmof_queue_open(struct pmof_queue *q, struct pmof_conn *conn, u16 id);
void pmof_queue_abort(struct pmof_queue *q);
void pmof_queue_close(struct pmof_queue *q);
void pmof_queue_free(struct pmof_queue *q);

/* slot.c */
int pmof_slot_alloc_all(struct pmof_queue *q);
void pmof_slot_unmap_all(struct pmof_queue *q);
void pmof_slot_free_all(struct pmof_queue *q);
struct pmof_slot *pmof_slot_get(struct pmof_queue *q, struct pmof_req *req);
void pmof_slot_put(struct pmof_slot *slot);
void pmof_slot_reset(struct pmof_slot *slot);
void pmof_slot_use_buf(struct pmof_slot *slot, struct pmof_buf *b, u32 len);
void pmof_slot_map_begin(struct pmof_slot *slot, enum dma_data_direction dir);
int pmof_slot_map(struct pmof_slot *slot, struct page *page, u32 offset, u32 len);
int pmof_slot_map_pages(struct pmof_slot *slot, struct page **pages, u32 first_offset, u32 len);
void pmof_slot_unmap(struct pmof_slot *slot);
void pmof_slot_post(struct pmof_slot *slot, struct ib_send_wr *first, int events);
void pmof_slot_event(struct pmof_slot *slot);
void pmof_req_slot_done(struct pmof_slot *slot, int status);
struct pmof_slot *pmof_slot_take_reply(struct pmof_queue *q, u16 tag);

/* message.c */
void pmof_send_init(struct pmof_slot *slot, struct pmof_send *s, u8 opcode, size_t len);
void pmof_message_rx(struct pmof_rx *rx, u32 len);

/*
 * pmof_post_begin() for a slot from pmof_slot_get(), which may be an ERR_PTR().
 * False: the slot has been put, and *@rc says why.
 */
static inline bool pmof_slot_begin(struct pmof_slot *slot, int *rc)
{
	if (IS_ERR(slot)) {
		*rc = PTR_ERR(slot);
		return false;
	}
	if (pmof_post_begin(slot->q->conn))
		return true;
	*rc = pmof_conn_gone_errno(slot->q->conn);
	pmof_slot_put(slot);
	return false;
}

/* request.c */
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

/* submit.c */
void pmof_submit_run(struct pmof_conn *conn, struct pmof_req *req, int *result, unsigned int nr);

/* transfer.c */
int pmof_transfer(struct pmof_req *req);
bool pmof_transfer_one_piece(const struct pmof_req *req);
int pmof_transfer_atomic(struct pmof_req *req);
int pmof_transfer_deliver(struct pmof_req *req);

/* window.c */
bool pmof_window_takes(const struct iov_iter *iter);
int pmof_window_init(struct pmof_req *req);
s64 pmof_window_next(struct pmof_req *req);
void pmof_window_mark_dirty(const struct pmof_window *w);
bool pmof_window_is_dirty(const struct pmof_window *w);
void pmof_window_release(struct pmof_req *req, bool dirty);
void pmof_window_end(struct pmof_req *req);

/* poll.c */
int pmof_queue_poll(struct pmof_queue *q);
bool pmof_req_wait_done(struct pmof_req *req);
void pmof_watchdog_init(struct pmof_queue *q);
void pmof_watchdog_arm(struct pmof_slot *slot);
void pmof_watchdog_stop(struct pmof_queue *q);

/* async.c */
/* An operation that nobody waits for, with its owner. */
struct pmof_async {
	struct pmof_req req;
	struct work_struct work;
	union {
		struct kiocb *iocb;
		struct io_uring_cmd *cmd;
	};
};

int pmof_async_init(void);
void pmof_async_exit(void);
struct pmof_async *pmof_async_alloc(void);
void pmof_async_free(struct pmof_async *a);
ssize_t pmof_async_rw(struct kiocb *iocb, const struct pmof_req *op);

/* rw.c */
ssize_t pmof_rw(struct kiocb *iocb, struct iov_iter *iter, u16 opcode, u32 flags);
int pmof_iopoll(struct kiocb *iocb, struct io_comp_batch *batch, unsigned int flags);

/* uring.c */
int pmof_uring_cmd(struct io_uring_cmd *cmd, unsigned int issue_flags);
int pmof_uring_cmd_iopoll(struct io_uring_cmd *cmd, struct io_comp_batch *batch,
			  unsigned int flags);

/* rdma.c */
void pmof_rdma_wr_init(struct pmof_slot *slot, struct ib_rdma_wr *wr, enum ib_wr_opcode opcode,
		       u64 offset);
void pmof_rdma_build(struct pmof_slot *slot, struct ib_rdma_wr wr[PMOF_SLOT_WR],
		     struct pmof_chain *chain, enum ib_wr_opcode opcode, u64 offset);

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

/* persist.c */
const struct pmof_persist_ops *pmof_persist_choose(struct pmof_conn *conn);
const struct pmof_persist_ops *pmof_persist_ops(unsigned int method);
const struct pmof_persist_ops *pmof_persist_persister(const struct pmof_conn *conn);
unsigned int pmof_persist_max_wr(const struct pmof_conn *conn);
struct pmof_queue *pmof_persist_message_queue(struct pmof_queue *q);
bool pmof_persist_dirty(const struct pmof_conn *conn, const struct pmof_queue *except);
bool pmof_persist_others_dirty(const struct pmof_queue *q);
int pmof_persist_flush_queues(struct pmof_conn *conn, const struct pmof_queue *except);
void pmof_queue_mark_clean(struct pmof_queue *q, s64 seq);

/* The method for a durable put of @bytes. */
static inline const struct pmof_persist_ops *pmof_persist_pick(struct pmof_conn *conn, u64 bytes)
{
	return conn->persist->pick ? conn->persist->pick(conn, bytes) : conn->persist;
}

/*
 * [P1] The mark is set after the post: whoever samples it and then posts a READ
 * posts it behind our work request; and before our issuer can return, so that
 * a PERSIST called after that sees it.
 */
static inline void pmof_queue_mark_dirty(struct pmof_queue *q)
{
	atomic64_inc(&q->put_seq);
}

/* To be read before the post of what will clean. */
static inline s64 pmof_queue_put_seq(struct pmof_queue *q)
{
	return atomic64_read(&q->put_seq);
}

static inline bool pmof_queue_dirty(const struct pmof_queue *q)
{
	return atomic64_read(&q->put_seq) != atomic64_read(&q->clean_seq);
}

/* What a PUT or COMMIT message says about a put with PMOF_F_COMMIT. */
static inline struct pmof_put pmof_req_commit(const struct pmof_req *req,
					      const struct pmof_range *range)
{
	return (struct pmof_put) {
		.range		= *range,
		.commit		= true,
		.trailer	= pmof_object_trailer(req->offset, req->length),
		.generation	= req->operand,
	};
}

/* dirty.c */
int pmof_dirty_init(struct pmof_conn *conn);
void pmof_dirty_free(struct pmof_conn *conn);
bool pmof_dirty_none(struct pmof_conn *conn, const struct pmof_range *range);
bool pmof_dirty_worth(const struct pmof_conn *conn, u64 length);
void pmof_dirty_mark(struct pmof_conn *conn, u64 offset, u64 length);
int pmof_dirty_take(struct pmof_conn *conn, const struct pmof_range *range);
bool pmof_dirty_next(struct pmof_conn *conn, u64 most, struct pmof_range *run);
void pmof_dirty_end(struct pmof_conn *conn, int rc);

/* persist_read.c */
void pmof_persist_read_wr(struct pmof_slot *slot, struct ib_rdma_wr *wr, struct ib_sge *sge,
			  u64 offset);

/* persist_assist.c: also where rpc does not fit */
void pmof_assist_post_durable(struct pmof_slot *slot, struct pmof_chain *chain,
			      const struct pmof_range *range);
void pmof_assist_post_commit(struct pmof_slot *slot, struct pmof_chain *chain,
			     const struct pmof_range *range);
int pmof_assist_persist(struct pmof_queue *q, const struct pmof_range *range);

/* persist_auto.c */
int pmof_auto_init(struct pmof_conn *conn);
void pmof_auto_free(struct pmof_conn *conn);
int pmof_auto_set(struct pmof_conn *conn, const char *text);
void pmof_auto_get(struct pmof_conn *conn, struct pmof_auto_table *table);

/* cache.c, aops.c, mmap.c */
extern const struct address_space_operations pmof_cache_aops;
int pmof_cache_init(struct pmof_conn *conn);
void pmof_cache_shutdown(struct pmof_conn *conn);
void pmof_cache_exit(struct pmof_conn *conn);
void pmof_cache_flush(struct pmof_conn *conn);
int pmof_cache_write_out(struct pmof_conn *conn, const struct pmof_range *range);
void pmof_cache_invalidate(struct pmof_conn *conn, const struct pmof_range *range);
int pmof_fsync(struct file *file, loff_t start, loff_t end, int datasync);
void pmof_cache_open(struct pmof_conn *conn, struct file *file);
void pmof_cache_close(struct pmof_conn *conn, struct file *file);
int pmof_mmap(struct file *file, struct vm_area_struct *vma);

/* Whether anything is cached: if not, operations have nothing to do with it. */
static inline bool pmof_cache_used(const struct pmof_conn *conn)
{
	return READ_ONCE(conn->cache.mapping->nrpages);
}

/* chardev.c, ioctl.c */
int pmof_chardev_init(void);
void pmof_chardev_exit(void);
int pmof_chardev_add(struct pmof_conn *conn);
void pmof_chardev_del(struct pmof_conn *conn);
long pmof_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
int pmof_op_to_req(const struct pmof_op *op, u32 usize, struct pmof_req *req);

/* auth.c */
int pmof_auth_begin(struct pmof_conn *conn);
int pmof_auth_sign_login(struct pmof_conn *conn, struct pmof_login *l);
int pmof_auth_check_reply(struct pmof_conn *conn, const struct pmof_login_reply *r);
int pmof_auth_sign_queue(struct pmof_conn *conn, struct pmof_connect *c, u32 qpn);

/* control.c, sysfs.c */
int pmof_control_init(void);
void pmof_control_exit(void);
extern struct class pmof_class;
extern struct class pmof_char_class;
extern const struct attribute_group *pmof_conn_groups[];

#endif /* PMOF_CLIENT_H */
