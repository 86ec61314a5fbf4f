/* SPDX-License-Identifier: GPL-2.0 */
/* pmof-client.ko: objects, and the calls between its files. */
#ifndef PMOF_CLIENT_H
#define PMOF_CLIENT_H

#include <linux/cdev.h>
#include <linux/completion.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/llist.h>
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
#include "state.h"
#include "stats.h"

#define PMOF_COPY_MAX		2048	/* default of copy_max; measured: docs/interfaces.md */
#define PMOF_TRAINS		4	/* default of trains: docs/performance.md */
#define PMOF_CM_TIMEOUT_MS	15000	/* each step of connecting */
#define PMOF_MAX_RETRIES	5	/* of a request; as nvme's max_retries */

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
	PMOF_STAT_CALLS,
	PMOF_STAT_BYTES_PUT,
	PMOF_STAT_BYTES_GOT,
	PMOF_STAT_BLOCK_READS,	/* requests of the block device, their bytes counted above */
	PMOF_STAT_BLOCK_WRITES,
	PMOF_STAT_BLOCK_ZEROES,	/* DISCARD and WRITE_ZEROES */
	PMOF_STAT_BLOCK_FLUSHES,
	PMOF_STAT_REPLAYS,	/* requests begun again, on another connection */
	PMOF_STAT_KEEP_ALIVES,	/* answered */
	PMOF_STAT_ERRORS,
	PMOF_STAT_MAX
};

static_assert(PMOF_STAT_MAX <= PMOF_STATS_NR, "counters fit");

/*
 * What a request ends with whose connection was lost before it was through.  No
 * caller sees it: pmof_req_again(), and for the block device pmof_blk_again(),
 * turn it into another try or into an error of the contract.
 */
#define PMOF_LOST	ENOLINK

/* A device or queue pair can do less than the one before it: nobody below us returns it. */
#define PMOF_LESS	EXFULL

/* The server takes our new queue pair for one that is no more: another try may do. */
#define PMOF_STALE	EUCLEAN

struct pmof_bad_map;
struct pmof_blk;
struct pmof_chain;
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
	unsigned long moved;	/* jiffies: something completed */
	u32 round_trip_ns;	/* a running mean of what waiters saw; 0: none yet */
	/*
	 * Dirty mark.  @put_seq counts the WRITEs and atomics that have been
	 * posted with nothing of their own behind them; @clean_seq is the count
	 * up to which a READ or a message posted behind them has completed.
	 * Equal: clean.
	 */
	atomic64_t put_seq;
	atomic64_t clean_seq;
	/* train.c */
	atomic_t nr_trains;		/* under way */
	bool train_refused;		/* a post was: no more, the teardown has to come */
	struct llist_head waiting;	/* slots whose WRITEs are posted */
};

/* SGEs that a slot's data may have. */
static inline u32 pmof_queue_max_sge(const struct pmof_queue *q, enum dma_data_direction dir)
{
	return dir == DMA_TO_DEVICE ? q->write_sge : q->read_sge;
}

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
	/* By the connection's state_lock: */
	bool proven;		/* the server has shown that it has our key, or we have none */
	int hearsay;		/* why it ends the connection, if it said so before that */
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
	unsigned long first;	/* bits that are taken: [first, end) */
	unsigned long end;
	unsigned long next;	/* where pmof_dirty_next() goes on */
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
	struct mutex lost_lock;		/* who takes pages that are marked as lost */
	atomic_t write_errors;		/* pages whose write-back has failed, ever */
};

/**
 * struct pmof_conn - a connection and its device
 *
 * Lifetime: &dev's reference count; the character device and the registered
 * state hold one each.  RDMA resources (queue pairs, mappings) live from
 * pmof_conn_attach() to pmof_conn_detach(), any number of times; whoever uses
 * them holds @io_ref.  Queues and slots, as memory, stay.
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

	spinlock_t state_lock;		/* down to @attempt; and time limits in @opt */
	enum pmof_state state;
	bool lost;			/* a queue broke since the connection's last beginning */
	int refuse;			/* not 0: requests fail with it, at once */
	int reason;			/* the server has given one: what @refuse will be */
	const char *why;		/* it was lost; for the log */
	struct list_head parked;	/* of struct pmof_parked */
	unsigned long live_at;		/* jiffies */
	unsigned long lost_at;		/* jiffies */
	unsigned int brief;		/* so many connections in a row were lost soon */
	unsigned int attempt;		/* to get it back */
	unsigned int reconnects;
	wait_queue_head_t live_wait;	/* for LIVE, or @refuse */
	struct delayed_work recover;
	struct delayed_work fail_io;
	struct delayed_work loss;
	struct delayed_work keep_alive;
	bool heard;			/* something has completed; reset by who waits */
	struct completion ended;	/* DEAD, and nothing is left to be done */
	bool published;			/* can be disconnected */
	bool removed;			/* disconnected by the administrator */
	bool ready;			/* what depends on the namespace has been made */
	bool attached;			/* there may be RDMA resources */
	bool io_open;			/* @io_ref has been opened */
	bool restarted;			/* the last login found another generation */
	bool hopes;			/* the log says that it reconnects */
	struct work_struct remove;
	struct percpu_ref io_ref;	/* slots under way and admin calls */
	struct completion io_drained;
	/* The next four change while nobody holds @io_ref; all but @epoch when it goes live. */
	u32 session;			/* counts connections: a request is posted on one only */
	u32 flags;			/* PMOF_LOGIN_R_* and */
	u64 features;			/* PMOF_FEAT_*: for requests; @login may be an attempt's */
	u32 epoch;			/* counts changes of the generation */

	struct ib_device *ibdev;
	struct ib_pd *pd;
	u32 max_sge_bytes;		/* of one SGE */
	bool virt_dma;			/* an HCA made of software */
	struct pmof_admin admin;
	struct pmof_queue *queues;
	unsigned int nr_queues;		/* that have been allocated */
	unsigned int nr_shared;		/* the first: character and block; the rest: polled block */
	struct pmof_login_reply login;
	struct pmof_conn_auth auth;
	struct pmof_layout layout;
	struct pmof_segment_desc *seg;
	struct pmof_bad_map __rcu *bad;	/* NULL: no segment has bad pages */
	u32 usable;			/* persist methods, bit n is enum pmof_method n */
	const struct pmof_persist_ops *persist;	/* chosen at connect */
	struct pmof_cache cache;
	struct pmof_dirty dirty;
	struct mutex auto_lock;		/* who replaces auto_table */
	struct pmof_auto_table __rcu *auto_table;
	struct pmof_blk *blk;		/* the block device, or NULL */
	int poll_us;			/* how long a waiter spins; PMOF_POLL_AUTO */
	u16 copy_max;			/* bytes; up to this a put or get is copied */
	u16 trains;			/* under way on a queue, at most; see train.c */
	atomic64_t contexts;		/* files that have been opened */
	struct pmof_stats __percpu *stats;
};

/* An open file of the character device: its private_data. */
struct pmof_file {
	struct pmof_conn *conn;
	u64 context;	/* its name at the namespace's service, and never another's */
	bool called;	/* the service has heard of it */
};

static inline struct pmof_conn *pmof_file_conn(const struct file *file)
{
	const struct pmof_file *f = file->private_data;

	return f->conn;
}

#define PMOF_POLL_AUTO		-1
#define PMOF_POLL_MAX_US	1000

/* conn.c */
extern struct workqueue_struct *pmof_wq;
extern struct workqueue_struct *pmof_timeout_wq;
extern struct workqueue_struct *pmof_keep_alive_wq;
int pmof_conn_create(const struct pmof_options *opt, const char **why);
int pmof_conn_remove(struct pmof_conn *conn);
int pmof_conn_attach(struct pmof_conn *conn, const char **why);
void pmof_conn_puts_lost(struct pmof_conn *conn);
void pmof_conn_detach(struct pmof_conn *conn);
bool pmof_device_goes(const struct ib_device *ibdev);
int pmof_conn_init(void);
void pmof_conn_exit(void);

/* recover.c */
/* An operation that nobody waits for, until it can go on. */
struct pmof_parked {
	struct list_head entry;
	struct work_struct work;
};

void pmof_recover_init(struct pmof_conn *conn);
#define PMOF_NO_ANSWER	"no answer in time"
#define PMOF_NO_POST	"the RDMA device takes no work"
void pmof_conn_lost(struct pmof_conn *conn, const char *why);
void pmof_conn_give_up(struct pmof_conn *conn);
void pmof_conn_announced(struct pmof_conn *conn, u32 kind);
void pmof_conn_proven(struct pmof_conn *conn);
bool pmof_conn_go_live(struct pmof_conn *conn);
int pmof_conn_wait(struct pmof_conn *conn, bool killable);
bool pmof_conn_decided(const struct pmof_conn *conn);
void pmof_conn_park(struct pmof_conn *conn, struct pmof_parked *p);
void pmof_conn_retry(struct pmof_conn *conn);
void pmof_conn_time_limit(struct pmof_conn *conn, s32 *limit, s32 seconds);

/* keep_alive.c */
void pmof_keep_alive_init(struct pmof_conn *conn);
void pmof_keep_alive_start(struct pmof_conn *conn);
void pmof_keep_alive_stop(struct pmof_conn *conn);

/* A sign of life of the server. */
static inline void pmof_conn_hear(struct pmof_conn *conn)
{
	if (!READ_ONCE(conn->heard))
		WRITE_ONCE(conn->heard, true);
}

static inline void pmof_queue_hear(struct pmof_queue *q)
{
	unsigned long now = jiffies;

	if (READ_ONCE(q->moved) != now)
		WRITE_ONCE(q->moved, now);
	pmof_conn_hear(q->conn);
}

/* A reference under which the RDMA resources stay. */
static inline bool pmof_conn_enter(struct pmof_conn *conn)
{
	if (!percpu_ref_tryget_live(&conn->io_ref))
		return false;
	/* [V4] Behind the reference: pmof_conn_go_live() counts the session and lets us in then. */
	smp_rmb();
	return true;
}

static inline void pmof_conn_leave(struct pmof_conn *conn)
{
	percpu_ref_put(&conn->io_ref);
}

/*
 * Is it still the one on which a request was begun, and has all the time been?  An attempt to make
 * another one fetches segments and bad blocks anew, under the old number.
 */
static inline bool pmof_conn_is_still(struct pmof_conn *conn, u32 session)
{
	bool same;

	if (!pmof_conn_enter(conn))
		return false;
	same = session == conn->session;
	pmof_conn_leave(conn);
	return same;
}

/* Also an operation with nothing to send fails on a connection that is gone. */
static inline int pmof_conn_check(struct pmof_conn *conn)
{
	return READ_ONCE(conn->refuse);
}

/* Of the last connection that was live. */
static inline bool pmof_conn_read_only(const struct pmof_conn *conn)
{
	return READ_ONCE(conn->flags) & PMOF_LOGIN_R_READ_ONLY;
}

/* What a request fails with that no other connection helps. */
static inline int pmof_conn_gone_errno(const struct pmof_conn *conn)
{
	return READ_ONCE(conn->removed) ? -ENODEV : -EIO;
}

/*
 * Brackets mapping and posting a slot, without sleeping.  pmof_conn_detach() kills
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
void pmof_admin_init(struct pmof_admin *a);
int pmof_admin_open(struct pmof_conn *conn);
void pmof_admin_abort(struct pmof_admin *a);
void pmof_admin_close(struct pmof_admin *a);
int pmof_admin_challenge(struct pmof_conn *conn, const u8 nonce[PMOF_WIRE_NONCE_LEN],
			 u8 server_nonce[PMOF_WIRE_NONCE_LEN]);
int pmof_admin_login(struct pmof_conn *conn, struct pmof_login_reply *reply);
int pmof_admin_keep_alive(struct pmof_conn *conn);
void pmof_admin_logout(struct pmof_conn *conn);
int pmof_admin_segments(struct pmof_conn *conn);
int pmof_admin_pieces(struct pmof_conn *conn, u64 *at, u64 end,
		      struct pmof_piece piece[PMOF_PIECES_PER_REPLY], u32 *count);
int pmof_admin_stats(struct pmof_conn *conn, u64 value[PMOF_SRV_STAT_MAX]);

/* io_queue.c */
int pmof_queue_open(struct pmof_queue *q, struct pmof_conn *conn, u16 id);
void pmof_queue_abort(struct pmof_queue *q);
void pmof_queue_close(struct pmof_queue *q);
void pmof_queue_free(struct pmof_queue *q);

/* poll.c */
int pmof_queue_poll(struct pmof_queue *q);
unsigned long pmof_io_timeout(void);
unsigned long pmof_check_interval(void);
bool pmof_queue_stuck(const struct pmof_queue *q, unsigned long since);
bool pmof_req_wait_done(struct pmof_req *req);
void pmof_watchdog_init(struct pmof_queue *q);
void pmof_watchdog_arm(struct pmof_slot *slot);
void pmof_watchdog_stop(struct pmof_queue *q);

/* cache.c, aops.c, mmap.c */
extern const struct address_space_operations pmof_cache_aops;
int pmof_cache_init(struct pmof_conn *conn);
void pmof_cache_shutdown(struct pmof_conn *conn);
void pmof_cache_exit(struct pmof_conn *conn);
void pmof_cache_flush(struct pmof_conn *conn);
int pmof_cache_write_out(struct pmof_conn *conn, const struct pmof_range *range);
void pmof_cache_invalidate(struct pmof_conn *conn, const struct pmof_range *range);
int pmof_fsync(struct file *file, loff_t start, loff_t end, int datasync);
int pmof_cache_open(struct pmof_conn *conn, struct file *file);
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
int pmof_auth_sign_queue(struct pmof_conn *conn, struct pmof_connect *c,
			 const struct rdma_cm_id *id);

/* control.c, sysfs.c */
int pmof_control_init(void);
void pmof_control_exit(void);
extern struct class pmof_class;
extern struct class pmof_char_class;
extern const struct attribute_group *pmof_conn_groups[];

/* They look into what is above. */
#include "request.h"
#include "slot.h"
#include "bad.h"
#include "persist.h"

#endif /* PMOF_CLIENT_H */
