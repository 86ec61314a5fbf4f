/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pmof-server.ko: its objects and what its files offer each other.
 *
 * Locks, outermost first:
 *   pmof_ns.mutex, pmof_port.mutex	configuration; held while sessions end
 *   (rdma_cm's handler mutex)		around every connection event
 *   pmof_sessions_mutex		the table of sessions and what hangs on it;
 *					nobody waits for a session under it
 *   pmof_srv_queue.lock		spinlock, the queue's free requests
 */
#ifndef PMOF_SERVER_H
#define PMOF_SERVER_H

#include <linux/configfs.h>
#include <linux/device.h>
#include <linux/inet.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <pmof.h>
#include "auth.h"
#include "badblocks.h"
#include "compat.h"
#include "emulate.h"
#include "grant.h"
#include "names.h"
#include "placement.h"
#include "queue.h"
#include "range.h"
#include "service.h"
#include "stats.h"
#include "wire.h"

#define PMOF_SRV_MAX_SESSIONS	1024		/* by default */
#define PMOF_SRV_MAX_QUEUES	64		/* I/O queues granted to a session */
#define PMOF_SRV_LOGIN_TIMEOUT	(10 * HZ)	/* from the connection to the login */
#define PMOF_SRV_MAX_WAITERS	8		/* logins that wait for the end of one session */
#define PMOF_SRV_GRACE		5		/* seconds to a client's keep-alive time */
#define PMOF_SRV_MAX_LOSS_TIMEOUT 86400		/* seconds to keep a detached session */
#define PMOF_SRV_ANNOUNCE_TIMEOUT HZ		/* for an announcement to get through */
#define PMOF_SRV_BACKLOG	128
#define PMOF_SRV_REG_BATCH	64		/* segments registered by one message */

static_assert(PMOF_SRV_STAT_MAX <= PMOF_STATS_NR);
static_assert(PMOF_SRV_MAX_QUEUES <= PMOF_MAX_QUEUES);
static_assert(PMOF_SRV_REG_BATCH <= PMOF_SEGMENTS_PER_REPLY);

struct dax_device;
struct pci_dev;
struct pmof_flush_ops;
struct pmof_rpc;
struct pmof_segment;
struct pmof_session;

/* What a namespace asks for: its attribute "placement". */
enum pmof_placement_policy {
	PMOF_POLICY_AUTO,		/* take it as it is found */
	PMOF_POLICY_MEMORY,		/* make it memory */
	PMOF_POLICY_ASSERT,		/* the operator says that it is memory */
};

/* An RDMA device as placement sees it. */
struct pmof_hca {
	char name[IB_DEVICE_NAME_MAX];	/* empty: none known */
	struct pci_dev *pdev;		/* referenced, or NULL */
	bool software;			/* the CPU copies */
};

/* What a client may have of the server, over all its sessions. */
enum pmof_limit {
	PMOF_LIMIT_SESSIONS,
	PMOF_LIMIT_QUEUES,		/* I/O queues granted */
	PMOF_LIMIT_SEGMENTS,		/* that its sessions may have registered */
	PMOF_LIMIT_MEMORY,		/* bytes of its I/O queues' buffers */
	PMOF_NR_LIMITS
};

/* clients/ID: who may prove that it is the client of this ID. */
struct pmof_client {
	struct config_item item;

	/* Protected by pmof_sessions_mutex. */
	struct list_head entry;		/* of rights.c's list; empty: removed */
	struct pmof_key key;
	u64 key_seq;			/* another for each key that is written; 0: no key */
	u64 limit[PMOF_NR_LIMITS];	/* 0: none */
	u64 used[PMOF_NR_LIMITS];
};

/* A symbolic link in a namespace's allowed_clients or read_only_clients. */
struct pmof_allow {
	struct list_head entry;		/* of the namespace's */
	struct pmof_client *client;
	bool write;
};

/* Who it is that has a session: a client's device, the same in each of its sessions. */
struct pmof_identity {
	char client_id[PMOF_WIRE_ID_LEN];
	u8 instance[PMOF_WIRE_UUID_LEN];
	u16 path_id;
};

/*
 * namespaces/NAME: one exported PMEM device.  Its attributes show single fields without a
 * lock, so that they answer while it is being enabled or disabled: WRITE_ONCE() for those.
 */
struct pmof_ns {
	struct config_group group;
	struct config_group write_group;	/* allowed_clients/ */
	struct config_group read_group;		/* read_only_clients/ */

	/* Held to change, enable or disable it; protects all down to @durable. */
	struct mutex mutex;
	char *path;
	bool read_only;
	bool allow_volatile;
	bool deep_flush;		/* acknowledge after the flush hints' flush only */
	enum pmof_placement_policy policy;
	enum pmof_service service_id;
	u32 max_call;			/* bytes of the longest call of its sessions */
	struct pmof_emulate emulate;
	bool enabled;

	/* Fixed while enabled, and sessions end first: they read without a lock. */
	struct list_head entry;		/* of namespace.c's list, which has its mutex */
	struct pmof_bdev bdev;
	struct dax_device *dax;
	void *addr;
	u64 size;
	u64 generation;
	enum pmof_domain domain;
	bool durable;
	struct mutex flush_mutex;	/* one flush at a time; protects @flush_error */
	int flush_error;		/* of the first one that failed */
	u64 flushed_fence;		/* the flush worker's own: behind which fence it was */
	int flushed_rc;			/* flushed last, and with what result */
	struct pmof_bad bad;
	struct llist_head repairs;	/* requests, for @repair_work */
	struct work_struct repair_work;
	const struct pmof_service_ops *service_ops;	/* NULL: raw */
	void *service;

	/* Protected by pmof_sessions_mutex. */
	bool live;			/* takes logins */
	bool allow_any;			/* clients that are not in the list, which is empty then */
	struct list_head allowed;	/* of struct pmof_allow */
	struct list_head links;		/* of struct pmof_link */
	struct list_head holds;		/* placement_ns.c's */
	unsigned int nr_sessions;
	struct pmof_identity writer;	/* the last who came to write */
	u32 writers;			/* how often that was another than before, */
	u64 history;			/* in this one: since it was made */
	struct ib_device *atomic_dev;	/* of all its sessions with atomics */
	unsigned int nr_atomic;
};

/* ports/ID: one listener. */
struct pmof_port {
	struct config_group group;
	struct config_group ns_group;	/* namespaces/ */

	/* Held to change, enable or disable it; protects all down to @enabled. */
	struct mutex mutex;
	char addr[INET6_ADDRSTRLEN + IFNAMSIZ + 1];
	u16 service;
	bool enabled;

	struct rdma_cm_id *cm_id;	/* whoever swaps it for NULL destroys it */
	bool removed;			/* its RDMA device is going */
	struct work_struct remove_work;	/* destroys @cm_id then */
	struct delayed_work relisten_work;	/* and this tries to have one again */

	/* Protected by pmof_sessions_mutex. */
	struct list_head links;
	struct pmof_hca hca;		/* while enabled on one device's address */
};

/* A symbolic link in ports/ID/namespaces. */
struct pmof_link {
	struct list_head entry;		/* of the port's */
	struct list_head ns_entry;	/* of the namespace's */
	struct pmof_port *port;
	struct pmof_ns *ns;
};

struct pmof_segments_args {
	u32 first;
	u32 count;
};

struct pmof_persist_args {
	struct pmof_range range[PMOF_MAX_RANGES];	/* shrinks as it is worked off */
	u16 nr;
	u16 next;
	bool good;		/* bad sectors are left out */
};

/* A PUT or a COMMIT. */
struct pmof_put_args {
	struct pmof_put put;		/* of a COMMIT the range shrinks as it is worked off */
	const void *data;		/* PUT: in the receive buffer */
};

/* A PREPARE or a REVALIDATE. */
struct pmof_objects_args {
	u32 count;
	u64 trailer[PMOF_MAX_OBJECTS];		/* offsets */
	u64 generation[PMOF_MAX_OBJECTS];	/* for the reply */
};

/* A message being handled; a queue has a fixed number of them. */
struct pmof_srv_req {
	struct ib_cqe cqe;		/* of the reply */
	struct pmof_srv_queue *queue;
	const struct pmof_rpc *rpc;
	const struct pmof_flush_ops *flush;	/* I/O: its kind */
	struct pmof_rx *rx;		/* still needed, so not posted again; or NULL */
	struct list_head entry;		/* free list; admin, flush worker's or repair's list */
	struct pmof_srv_req *replied;	/* with the reply's completion: those before it, too */
	struct llist_node node;		/* on the way to a flush worker, or to repair */
	void *reply;
	u64 reply_dma;
	u32 status;			/* I/O: what the reply will say */
	u16 tag;
	u8 opcode;
	bool repair;			/* overwrites bad sectors: see repair.c */
	union {
		struct pmof_call call;
		u8 nonce[PMOF_WIRE_NONCE_LEN];
		struct pmof_login login;
		struct pmof_segments_args segments;
		struct pmof_persist_args persist;
		struct pmof_put_args put;
		struct pmof_range zero;		/* shrinks as it is worked off */
		struct pmof_range get;
		u64 from;
		struct pmof_objects_args objects;
	};
};

/* A message that arrived while no request was free. */
struct pmof_srv_rx {
	struct list_head entry;
	struct pmof_rx *rx;
	u32 len;
};

/*
 * A session's queue.  Each request holds a reference from its arrival until
 * its reply is posted; pmof_srv_queue_drain() waits for them.
 */
struct pmof_srv_queue {
	struct pmof_qp qp;
	struct pmof_session *session;
	u16 id;				/* 0: admin */
	u16 depth;			/* granted */
	bool admitted;			/* its end is the session's */
	bool broke;			/* it has ended */
	u32 nr_reqs;
	struct pmof_srv_req *reqs;
	struct pmof_srv_rx *rxs;	/* as many as the queue pair's */
	struct pmof_buf *replies;	/* cut into one piece for each request */
	u32 nr_replies;
	struct ib_cqe chain_cqe;	/* of work requests posted before a reply */
	struct pmof_buf announce;	/* admin: what is sent unasked, once */
	struct ib_cqe announce_cqe;

	spinlock_t lock;		/* protects all down to waiting; held to post a reply */
	struct pmof_srv_req *replied;	/* last one whose reply is posted, not signaled */
	unsigned int nr_replied;
	struct list_head free;		/* of struct pmof_srv_req */
	struct list_head waiting;	/* of struct pmof_srv_rx */

	refcount_t refs;
	struct completion idle;
};

enum pmof_session_state {
	PMOF_SESSION_OPEN,		/* connected */
	PMOF_SESSION_LIVE,		/* logged in */
	PMOF_SESSION_DETACHED,		/* has lost its connection; may be resumed */
	PMOF_SESSION_DEAD,		/* being torn down */
};

/* Bits of pmof_session.flags */
enum {
	PMOF_SESSION_PUBLISHED,		/* in the table: teardown is the table's business */
	PMOF_SESSION_ENDING,		/* nothing new is started for it */
	PMOF_SESSION_FINAL,		/* it is not to be resumed */
	PMOF_SESSION_ANNOUNCED,		/* the client is told why, */
	PMOF_SESSION_TOLD,		/* and has got it, or never will */
	PMOF_SESSION_STOPPING,		/* the end work has begun: there is no more I/O, */
	PMOF_SESSION_STOPPED,		/* nor anything of the admin queue, */
	PMOF_SESSION_GONE,		/* and it has ended */
};

struct pmof_session {
	struct device dev;		/* reference count; in sysfs after the login */
	unsigned long flags;
	int number;
	u64 id;
	struct pmof_identity who;	/* the ID from the beginning, the rest by the login */
	struct sockaddr_storage peer;
	struct pmof_port *port;
	struct ib_device *ib_dev;
	struct ib_pd *pd;
	struct pmof_stats __percpu *stats;
	struct pmof_flush_session *flush;	/* one for each flush worker, its own */

	/* Protected by pmof_sessions_mutex. */
	struct list_head entry;
	enum pmof_session_state state;
	u64 serial;			/* in the order in which they are published */
	bool resumable;
	bool superseded;		/* drained, and its place another's */
	bool inside;			/* counted with those in a namespace */
	unsigned int waiters;		/* logins that wait for it to be drained */
	u32 loss_timeout;		/* seconds for which it stays detached */
	unsigned long detached_at;	/* jiffies */
	unsigned int silent;		/* seconds */
	unsigned int max_silent;
	u32 writers;			/* of @ns when it came to write */
	u16 nr_queues;			/* I/O queues granted */
	u16 nr_attached;		/* and connected */
	bool refused;			/* a login failed half way */
	struct pmof_client *client;	/* known by its ID, with a key or without */
	u64 key_seq;			/* of the key that it has proved to have; 0: none */
	unsigned int granted;		/* PMOF_RIGHT_* of its login */
	bool exclusive;			/* nobody else writes */
	const struct pmof_ns *taking;	/* waits for those that it has ousted from there, */
	bool takes_all;			/* to be exclusive */
	struct pmof_session *awaits;	/* referenced: its login waits until that is drained */
	u64 used[PMOF_NR_LIMITS];
	u64 had[PMOF_NR_LIMITS];	/* by whom it resumes; the client's has the larger */
	u64 queue_counter;		/* of the last I/O queue that has proved itself */
	bool has_prev_key;
	u8 prev_key[PMOF_SESSION_KEY_LEN];	/* also good for who resumes it: see rights.c */
	bool resumed;			/* has the ID of an earlier one */
	DECLARE_BITMAP(claimed, PMOF_SRV_MAX_QUEUES + 1);
	struct pmof_srv_queue *queues[PMOF_SRV_MAX_QUEUES + 1];

	/* Written by the challenge and the login, which are admin work. */
	bool challenged;		/* the nonces are there */
	bool proved;			/* and used: each login needs its own */
	bool login_waits;		/* the next admin message is a login that was proved */
	struct pmof_auth auth;
	u8 session_key[PMOF_SESSION_KEY_LEN];	/* before it is LIVE, if there is a key */

	/* Written by the login; then fixed until the teardown is through. */
	struct pmof_ns *ns;		/* also under pmof_sessions_mutex */
	bool atomics;			/* likewise */
	struct pmof_placed placed;	/* likewise; where its HCA's writes land */
	u32 methods;			/* offered; bit n is enum pmof_method n */
	bool in_sysfs;
	u32 page_size;			/* of its MRs */
	u32 call_size;			/* bytes of the longest request on an I/O queue */
	struct pmof_layout layout;
	unsigned int rights;		/* PMOF_RIGHT_*; 0 before the login */

	struct xarray segments;		/* admin work, and after it the teardown */
	struct xarray pieces;		/* likewise: of segments with bad pages, by page */
	u64 bad_seq;			/* pmof_sessions_mutex: the namespace's, at the login */
	unsigned int bad_kicked;	/* the list's sequence: see rpc.c; any I/O queue's */

	spinlock_t admin_lock;		/* protects admin_reqs */
	struct list_head admin_reqs;
	struct work_struct admin_work;

	refcount_t users;		/* connection requests under way */
	struct completion idle;
	bool heard;			/* a message has come; reset by the watch */
	struct delayed_work watch;	/* login, keep-alive, loss */
	struct delayed_work end_work;
	unsigned long announce_until;	/* jiffies; end work */
	struct completion drained;	/* no queue pair, MR or PD is left */
	struct completion gone;
};

/* Which sessions; NULL and false: any. */
struct pmof_session_filter {
	const struct pmof_ns *ns;
	const struct pmof_port *port;
	bool logged_out;		/* only those without a namespace */
	bool revoked;			/* only those with more than they would get now */
	bool older;			/* only who entered @ns before its bad.seq moved on */
};

/* Is it one of them?  @arg: whatever the one who asks wants to be handed. */
typedef bool pmof_session_match_fn(const struct pmof_session *s, const void *arg);

static inline void pmof_session_stat(struct pmof_session *s, enum pmof_server_stat i, u64 n)
{
	pmof_stat_add(s->stats, i, n);
}

static inline void pmof_session_hear(struct pmof_session *s)
{
	if (!READ_ONCE(s->heard))
		WRITE_ONCE(s->heard, true);
}

static inline bool pmof_session_ending(const struct pmof_session *s)
{
	return test_bit(PMOF_SESSION_ENDING, &s->flags);
}

/* Durable only after a flush of the device, which no HCA can do. */
static inline bool pmof_ns_device_flush(const struct pmof_ns *ns)
{
	return ns->domain == PMOF_DOMAIN_DEVICE_FLUSH || ns->deep_flush;
}

static inline const char *pmof_ns_name(const struct pmof_ns *ns)
{
	return config_item_name((struct config_item *)&ns->group.cg_item);
}

static inline struct pmof_ns *pmof_to_ns(struct config_item *item)
{
	return container_of(to_config_group(item), struct pmof_ns, group);
}

/*
 * Sets what cannot be changed while its owner, a namespace or a port, is enabled.  Returns 0 or
 * -EBUSY.
 */
#define pmof_set_disabled(owner, where, value) ({	\
	typeof(owner) owner_ = (owner);			\
	int rc_ = 0;					\
							\
	mutex_lock(&owner_->mutex);			\
	if (owner_->enabled)				\
		rc_ = -EBUSY;				\
	else						\
		WRITE_ONCE(*(where), value);		\
	mutex_unlock(&owner_->mutex);			\
	rc_;						\
})

/* configfs.c */
int pmof_configfs_init(void);
void pmof_configfs_exit(void);

/* clients.c */
extern const struct config_item_type pmof_clients_type;
void pmof_clients_init_ns(struct pmof_ns *ns);

/* namespace.c */
int pmof_ns_enable(struct pmof_ns *ns);
void pmof_ns_disable(struct pmof_ns *ns);

/* domain.c */
bool pmof_is_pmem(struct block_device *bdev);
enum pmof_domain pmof_domain_of(struct block_device *bdev);
bool pmof_has_flush_hints(struct block_device *bdev);

/* placement_pci.c */
extern const struct pmof_placement_ops pmof_placement_pci;
unsigned int pmof_pci_functions_below(struct pci_dev *port);

/* placement_ns.c */
const char *pmof_policy_name(enum pmof_placement_policy policy);
int pmof_policy_parse(const char *text, enum pmof_placement_policy *policy);
void pmof_hca_get(struct pmof_hca *hca, struct ib_device *dev);
void pmof_hca_put(struct pmof_hca *hca);
int pmof_placement_check(const struct pmof_ns *ns);
int pmof_placement_acquire(struct pmof_ns *ns, const struct pmof_hca *hca);
void pmof_placement_release(struct pmof_ns *ns);
struct pmof_placed pmof_placement_of(const struct pmof_ns *ns, const struct pmof_hca *hca);
ssize_t pmof_placement_show(const struct pmof_ns *ns, char *page);
int pmof_placement_ns(struct pmof_ns *ns);
int pmof_placement_port(struct pmof_port *port, struct ib_device *dev);
void pmof_placement_port_gone(struct pmof_port *port);
void pmof_placement_session(struct pmof_session *s);

/* segment.c */
int pmof_segments_choose(struct pmof_session *s);
int pmof_segments_get(struct pmof_srv_req *req);
struct pmof_segment *pmof_segment_alloc(struct pmof_session *s, u64 offset, u64 length,
					u32 page_size);
void pmof_segment_free(struct pmof_session *s, struct pmof_segment *seg);
void pmof_segment_describe(const struct pmof_segment *seg, struct pmof_piece *piece);
struct ib_send_wr *pmof_segment_reg(struct pmof_srv_queue *q, struct pmof_segment *seg,
				    struct ib_reg_wr *wr);
void pmof_segments_free(struct pmof_session *s);

/* port.c */
void pmof_port_init(struct pmof_port *port);
void pmof_port_exit(struct pmof_port *port);
int pmof_port_enable(struct pmof_port *port);
void pmof_port_disable(struct pmof_port *port);

/* service.c */
const char *pmof_service_str(enum pmof_service service);
int pmof_service_parse(const char *text, enum pmof_service *service);
int pmof_service_open(struct pmof_ns *ns);
void pmof_service_close(struct pmof_ns *ns);
void pmof_service_settle(struct pmof_ns *ns);
void pmof_service_drained(struct pmof_session *s);
void pmof_service_gone(struct pmof_session *s);
int pmof_service_parse_call(struct pmof_srv_req *req, const void *msg, u32 len);
int pmof_service_run_call(struct pmof_srv_req *req);
u32 pmof_service_call_size(const struct pmof_ns *ns, u32 asked);
extern struct configfs_attribute pmof_ns_attr_max_call;

/* session.c */
extern struct mutex pmof_sessions_mutex;
extern struct list_head pmof_sessions;
extern u64 pmof_session_serial;
extern struct workqueue_struct *pmof_watch_wq;
extern struct workqueue_struct *pmof_end_wq;
extern atomic_t pmof_session_ends;
int pmof_sessions_init(void);
void pmof_sessions_exit(void);
struct pmof_session *pmof_session_create(struct pmof_port *port, struct rdma_cm_id *cm_id,
					 const struct pmof_connect *c, int *status);
void pmof_session_count(struct pmof_session *s, bool inside);
void pmof_session_unlist(struct pmof_session *s);
bool pmof_session_make_room(void);
void pmof_session_publish(struct pmof_session *s);
void pmof_session_abandon(struct pmof_session *s);
struct pmof_session *pmof_session_claim(const struct rdma_cm_id *cm_id,
					const struct pmof_connect *c,
					const struct pmof_auth_conn *from, int *status);
struct pmof_session *pmof_session_find(pmof_session_match_fn *match, const void *arg);
void pmof_session_attach(struct pmof_session *s, struct pmof_srv_queue *q);
void pmof_session_unclaim(struct pmof_session *s, const struct pmof_connect *c);
void pmof_session_put_user(struct pmof_session *s);
bool pmof_same_identity(const struct pmof_identity *a, const struct pmof_identity *b);
struct pmof_session *pmof_session_find_instance(const struct pmof_session *s,
						const struct pmof_ns *ns,
						const struct pmof_login *l);
void pmof_session_free_parts(struct pmof_session *s);
void pmof_session_free(struct pmof_session *s);
void pmof_session_queue_admin(struct pmof_srv_req *req);
void pmof_session_kick_admin(struct pmof_session *s);

/* session_end.c */
void pmof_session_end_init(struct pmof_session *s);
void pmof_session_queue_end(struct pmof_session *s);
void pmof_session_lost(struct pmof_session *s);
void pmof_session_end(struct pmof_session *s);
void pmof_session_hide(struct pmof_session *s);
void pmof_session_watch(struct pmof_session *s, const struct pmof_login *l);
void pmof_session_bad_message(struct pmof_session *s, const char *what);
void pmof_sessions_end(const struct pmof_session_filter *f, u32 kind);
void pmof_sessions_detach(const struct pmof_session_filter *f, u32 kind, u64 arg);

/* announce.c */
int pmof_announce_init(struct pmof_srv_queue *q);
void pmof_announce_free(struct pmof_srv_queue *q);
void pmof_session_announce(struct pmof_session *s, u32 kind, u64 arg);
unsigned long pmof_session_telling(const struct pmof_session *s);

/* shutdown.c */
int pmof_shutdown_init(void);
void pmof_shutdown_exit(void);

/* login.c */
int pmof_session_may_wait(struct pmof_session *old);
void pmof_session_stop_waiting(struct pmof_session *s);
void pmof_session_wake_waiters(const struct pmof_session *old);
int pmof_session_login(struct pmof_session *s, const struct pmof_login *l,
		       struct pmof_login_reply *r);
void pmof_session_logout(struct pmof_session *s);
void pmof_session_supersede(struct pmof_session *s);
void pmof_session_leave_atomics(struct pmof_session *s);
void pmof_session_leave_ns(struct pmof_session *s);

/* srv_queue.c */
struct pmof_srv_queue *pmof_srv_queue_create(struct pmof_session *s, struct rdma_cm_id *cm_id,
					     u16 id, u16 depth);
u64 pmof_srv_queue_memory(u16 depth, u32 call_size);
int pmof_srv_queue_accept(struct pmof_srv_queue *q, const struct rdma_conn_param *asked);
bool pmof_srv_queue_get(struct pmof_srv_queue *q);
void pmof_srv_queue_put(struct pmof_srv_queue *q);
void pmof_srv_queue_reply(struct pmof_srv_req *req, u32 len, struct ib_send_wr *chain);
void pmof_srv_queue_disconnect(struct pmof_srv_queue *q);
void pmof_srv_queue_drain(struct pmof_srv_queue *q);
void pmof_srv_queue_destroy(struct pmof_srv_queue *q);
void pmof_srv_queue_stop(struct pmof_srv_queue *q);
void pmof_srv_queue_free(struct pmof_srv_queue *q);

/* rpc.c */
u32 pmof_rpc_fill_status(struct pmof_srv_req *req, u32 status);
bool pmof_rpc_keeps_rx(const struct pmof_srv_req *req);
int pmof_rpc_parse(struct pmof_srv_req *req, const void *msg, u32 len);
void pmof_rpc_start(struct pmof_srv_req *req, int status);
bool pmof_rpc_admin(struct pmof_srv_req *req);

/* flush.c */
int pmof_flush_init(void);
void pmof_flush_exit(void);
struct pmof_flush_session *pmof_flush_alloc_session(void);
void pmof_flush_queue(struct pmof_srv_req *req);

/* persist.c, with what service.h has */
u64 pmof_persist_zero(const struct pmof_ns *ns, u64 offset, u64 length);
int pmof_persist_flush_device(struct pmof_ns *ns);

/*
 * For a range that a message names: may the server's CPU touch it?  0 or PMOF_SC_MEDIUM.
 * Any context.
 */
static inline int pmof_bad_status(const struct pmof_ns *ns, u64 offset, u64 length)
{
	return pmof_bad_any(&ns->bad) ? pmof_bad_status_slow(ns, offset, length) : 0;
}

/* sysfs.c */
extern struct class pmof_session_class;
int pmof_sysfs_init(void);
void pmof_sysfs_exit(void);

#endif /* PMOF_SERVER_H */
