// SPDX-License-Identifier: GPL-2.0
/* A connection: its object, its RDMA half, and how it ends.  Its states are in recover.c. */
#define pr_fmt(fmt) "pmof-client: " fmt

#include <linux/idr.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/slab.h>
#include <linux/utsname.h>
#include <net/net_namespace.h>

#include "blk.h"
#include "client.h"

#define STALE_TRIES	5
#define STALE_MS	50	/* behind the first, then twice as long each time */

struct workqueue_struct *pmof_wq;
/* Timers that are the way out for who waits in @pmof_wq: they need its last worker least. */
struct workqueue_struct *pmof_timeout_wq;
/* They wait for an answer, or for the teardown: that must not come behind them in one queue. */
struct workqueue_struct *pmof_keep_alive_wq;

/*
 * A device's removal waits for its attributes' handlers, of which disconnect
 * waits for the teardown: so not on the teardowns' queue, which may be down to
 * its rescuer.
 */
static struct workqueue_struct *remove_wq;

static DEFINE_IDA(instance_ida);
static DEFINE_MUTEX(conn_lock);		/* protects conn_list */
static LIST_HEAD(conn_list);		/* every registered connection */

static DEFINE_MUTEX(going_lock);	/* one RDMA device goes at a time */
static const struct ib_device *going;	/* it: nobody connects over it any more */

static void io_ref_release(struct percpu_ref *ref)
{
	complete(&container_of(ref, struct pmof_conn, io_ref)->io_drained);
}

/**
 * pmof_conn_detach - take apart what pmof_conn_attach() has made, or a part of it
 * @conn: not LIVE; nobody else attaches or detaches it
 *
 * Two phases.  First nothing new can start (io_ref is killed), every queue
 * pair is in error and drained, so that every work request has completed, and
 * what still waits for a reply is failed.  Then, with the last reference gone,
 * everything is freed.  A request fails to its owner when its own work requests
 * have completed, so never while the HCA may touch its pages.  Sleeps, for a
 * bounded time.
 */
void pmof_conn_detach(struct pmof_conn *conn)
{
	unsigned int i;

	if (conn->io_open) {
		percpu_ref_kill(&conn->io_ref);
		synchronize_rcu();	/* pmof_post_begin(): from here on nobody posts */
	}
	for (i = 0; i < conn->nr_queues; i++)
		pmof_queue_abort(&conn->queues[i]);
	pmof_admin_abort(&conn->admin);
	pmof_keep_alive_stop(conn);
	if (conn->io_open)
		wait_for_completion(&conn->io_drained);
	conn->io_open = false;
	/* Who held io_ref until now may have posted a receive behind the first drain. */
	for (i = 0; i < conn->nr_queues; i++)
		pmof_qp_drain(&conn->queues[i].qp);
	pmof_qp_drain(&conn->admin.qp);

	synchronize_rcu();	/* pmof_qp_destroy() */
	for (i = 0; i < conn->nr_queues; i++)
		pmof_queue_close(&conn->queues[i]);
	pmof_admin_close(&conn->admin);
	conn->attached = false;
}

static void remove_work(struct work_struct *work);

static void conn_release(struct device *dev)
{
	struct pmof_conn *conn = container_of(dev, struct pmof_conn, dev);
	unsigned int i;

	pmof_cache_exit(conn);
	for (i = 0; i < conn->nr_queues; i++)
		pmof_queue_free(&conn->queues[i]);
	kvfree(conn->queues);
	kvfree(conn->seg);
	pmof_bad_free(conn);
	percpu_ref_exit(&conn->io_ref);
	free_percpu(conn->stats);
	pmof_auto_free(conn);
	pmof_blk_free(conn);
	pmof_dirty_free(conn);
	if (conn->instance >= 0)
		ida_free(&instance_ida, conn->instance);
	if (conn->net)
		put_net(conn->net);
	/* There may be a key in it. */
	kfree_sensitive(conn);
}

static int conn_init_fields(struct pmof_conn *conn, const struct pmof_options *opt)
{
	conn->instance = -1;
	conn->opt = *opt;
	conn->poll_us = PMOF_POLL_AUTO;
	conn->copy_max = PMOF_COPY_MAX;
	conn->trains = PMOF_TRAINS;
	if (!conn->opt.id[0] &&
	    strscpy(conn->opt.id, init_utsname()->nodename, sizeof(conn->opt.id)) < 0)
		pr_warn("the host name is too long for a client ID, using %s\n", conn->opt.id);
	if (!pmof_name_valid(conn->opt.id, sizeof(conn->opt.id)))
		strscpy(conn->opt.id, "client", sizeof(conn->opt.id));
	generate_random_uuid(conn->uuid);
	pmof_recover_init(conn);
	pmof_keep_alive_init(conn);
	pmof_admin_init(&conn->admin);
	mutex_init(&conn->auto_lock);
	mutex_init(&conn->dirty.lock);
	INIT_LIST_HEAD(&conn->entry);
	INIT_WORK(&conn->remove, remove_work);
	init_completion(&conn->io_drained);
	conn->stats = alloc_percpu(struct pmof_stats);
	if (!conn->stats)
		return -ENOMEM;
	return percpu_ref_init(&conn->io_ref, io_ref_release, PERCPU_REF_INIT_DEAD, GFP_KERNEL);
}

static int conn_resolve_peer(struct pmof_conn *conn)
{
	char port[8];

	snprintf(port, sizeof(port), "%u", conn->opt.port);
	return inet_pton_with_scope(conn->net, AF_UNSPEC, conn->opt.addr, port, &conn->peer);
}

static struct pmof_conn *conn_alloc(const struct pmof_options *opt)
{
	struct pmof_conn *conn = kzalloc(sizeof(*conn), GFP_KERNEL);
	int rc;

	if (!conn)
		return ERR_PTR(-ENOMEM);
	device_initialize(&conn->dev);
	conn->dev.class = &pmof_class;
	conn->dev.groups = pmof_conn_groups;
	conn->dev.release = conn_release;
	conn->net = get_net(current->nsproxy->net_ns);
	rc = conn_init_fields(conn, opt);
	if (!rc)
		rc = ida_alloc(&instance_ida, GFP_KERNEL);
	if (rc >= 0) {
		conn->instance = rc;
		rc = dev_set_name(&conn->dev, "pmof%d", conn->instance);
	}
	if (!rc)
		rc = conn_resolve_peer(conn);
	if (rc) {
		put_device(&conn->dev);
		return ERR_PTR(rc);
	}
	return conn;
}

static int alloc_queues(struct pmof_conn *conn)
{
	unsigned int n = conn->login.nr_queues;

	conn->nr_shared = n > conn->opt.poll_queues ? n - conn->opt.poll_queues : 1;
	conn->queues = kvcalloc(n, sizeof(*conn->queues), GFP_KERNEL);
	if (!conn->queues)
		return -ENOMEM;
	conn->nr_queues = n;
	return 0;
}

static int open_queues(struct pmof_conn *conn)
{
	unsigned int i;
	int rc = 0;

	for (i = 0; i < conn->nr_queues && !rc; i++)
		rc = pmof_queue_open(&conn->queues[i], conn, i + 1);
	return rc;
}

/* What was asked for must be offered: nothing else is used in its place. */
static int conn_choose_persist(struct pmof_conn *conn, const char **why)
{
	if (!(conn->login.flags & PMOF_LOGIN_R_DURABLE))
		pr_warn("%s: acknowledgements are NOT durable: the server exports it with allow_volatile\n",
			conn->opt.name);
	conn->persist = pmof_persist_choose(conn);
	if (conn->persist)
		return pmof_auto_init(conn);
	*why = pmof_method_refusal(conn->opt.method, &conn->login);
	return -EOPNOTSUPP;
}

/* What depends on the namespace, and is made once. */
static int prepare(struct pmof_conn *conn, const char **why)
{
	int rc;

	rc = conn_choose_persist(conn, why);
	if (!rc)
		rc = pmof_layout_init(&conn->layout, conn->login.ns_size,
				      conn->login.segment_size);
	if (!rc)
		rc = pmof_dirty_init(conn);
	if (!rc)
		rc = alloc_queues(conn);
	if (!rc)
		rc = pmof_cache_init(conn);
	/* No disk on what a service keeps in order. */
	if (conn->login.service != PMOF_SERVICE_RAW)
		conn->opt.block = false;
	return rc ?: pmof_blk_alloc(conn);
}

/* Sizes, disk and slots stay: what they rest on must still be so.  Returns what is not. */
static const char *differs(const struct pmof_conn *conn, const struct pmof_login_reply *login)
{
	if (login->ns_size != conn->login.ns_size)
		return "the namespace has another size";
	if (login->segment_size != conn->login.segment_size)
		return "the segments have another size";
	if (login->service != conn->login.service)
		return "the namespace has another service";
	if (login->nr_queues < conn->nr_queues)
		return "the server grants fewer queues than before";
	if (login->max_inline < conn->login.max_inline ||
	    login->max_ranges < conn->login.max_ranges ||
	    login->call_size < conn->login.call_size)
		return "the server takes smaller messages than before";
	if (conn->usable & ~pmof_persist_usable(conn, login))
		return "a persist method is no longer offered";
	if ((conn->login.flags & ~login->flags) & PMOF_LOGIN_R_DURABLE)
		return "acknowledgements are no longer durable";
	return NULL;
}

/*
 * [V8] Who has the namespace for himself, and comes back to where somebody else has come to write
 * meanwhile, does not go on: what waits here to be begun again, and what is cached, is older.
 * Where the server does not know any more he has to be its first.
 */
static const char *intruded(const struct pmof_conn *conn, const struct pmof_login_reply *login)
{
	u32 mine = login->history == conn->login.history ? conn->login.writers : 1;

	if (conn->opt.exclusive && login->writers != mine)
		return "somebody else could write meanwhile";
	return NULL;
}

/*
 * [V7] Puts that were not made durable may be lost: on record before anybody finds their
 * marks gone, since who then has nothing to make durable looks here, and says so.
 */
void pmof_conn_puts_lost(struct pmof_conn *conn)
{
	errseq_set(&conn->cache.mapping->wb_err, -EIO);
	pmof_blk_stale(conn);
	dev_warn(&conn->dev, "%s: the server has restarted; puts that were not made durable may be lost\n",
		 conn->opt.name);
}

/*
 * Where there are no marks of chunks: may there be puts that are not durable?  A queue without
 * its mark has its puts placed.  By read that is all, where the server writes back it is not, and
 * of which puts that has been asked nobody knows.
 */
static bool puts_unsure(struct pmof_conn *conn)
{
	unsigned int i;

	if (!pmof_persist_persister(conn)->by_range)
		return pmof_persist_dirty(conn, NULL);
	for (i = 0; i < conn->nr_queues; i++)
		if (pmof_queue_put_seq(&conn->queues[i]))
			return true;
	return false;
}

/*
 * [V1] What the connections before have left.  Their queue pairs are drained, at
 * both ends, so no WRITE of theirs is in the server's HCA: no queue is dirty.
 * If the generation has changed, what was put and not made durable may be gone:
 * each open file will hear of that, once.
 *
 * [V5] The epoch first: a put that has completed and sets its marks only now sees it
 * behind them, and is begun again; or we see the marks.
 */
static void settle(struct pmof_conn *conn, u64 generation)
{
	unsigned int i;

	conn->restarted = generation != conn->login.generation;
	if (conn->restarted) {
		WRITE_ONCE(conn->epoch, conn->epoch + 1);
		smp_mb(); /* pairs with that in pmof_dirty_mark() */
		pmof_dirty_drop(conn);
		if (!conn->dirty.marked && puts_unsure(conn))
			pmof_conn_puts_lost(conn);
	}
	for (i = 0; i < conn->nr_queues; i++)
		pmof_queue_mark_clean(&conn->queues[i], pmof_queue_put_seq(&conn->queues[i]));
}

/* Logs in, and settles what was between this connection and the one before. */
static int log_in(struct pmof_conn *conn, const char **why)
{
	struct pmof_login_reply login;
	int rc = pmof_admin_login(conn, &login);

	if (rc)
		return rc;
	/* What was asked for, and what this end can do, whatever the server says. */
	if (conn->opt.read_only)
		login.flags |= PMOF_LOGIN_R_READ_ONLY;
	if (conn->ibdev->attrs.atomic_cap == IB_ATOMIC_NONE ||
	    login.service != PMOF_SERVICE_RAW)
		login.features &= ~PMOF_FEAT_ATOMICS;
	if (conn->ready) {
		*why = differs(conn, &login) ?: intruded(conn, &login);
		if (*why)
			return -EOPNOTSUPP;
		settle(conn, login.generation);
		/* More than before is of no use. */
		login.nr_queues = conn->nr_queues;
		login.max_inline = conn->login.max_inline;
		login.max_ranges = conn->login.max_ranges;
	}
	conn->login = login;
	return 0;
}

/**
 * pmof_conn_attach - connect, for the first time or again
 * @conn: not attached; requests are kept off
 * @why: on error: what is wrong, a constant string, or NULL where the errno says
 *	it; when it connects again: it will never work
 *
 * On error pmof_conn_detach() frees what was made.  Return: 0 or a negative errno.
 * Sleeps, for a bounded time.
 */
int pmof_conn_attach(struct pmof_conn *conn, const char **why)
{
	int rc;

	conn->attached = true;
	rc = pmof_admin_open(conn);
	if (!rc)
		rc = log_in(conn, why);
	if (!rc && !conn->ready)
		rc = prepare(conn, why);
	if (!rc)
		rc = pmof_admin_segments(conn);
	if (!rc)
		rc = open_queues(conn);
	if (rc == -PMOF_LESS)
		*why = "the RDMA devices can do less than before";
	if (!rc)
		conn->ready = true;
	return rc;
}

static void conn_list_del(struct pmof_conn *conn)
{
	mutex_lock(&conn_lock);
	list_del_init(&conn->entry);
	mutex_unlock(&conn_lock);
}

/* The block device first: who opens the character device for writing claims it. */
static int conn_publish(struct pmof_conn *conn)
{
	int rc;

	rc = device_add(&conn->dev);
	if (rc)
		return rc;
	mutex_lock(&conn_lock);
	list_add_tail(&conn->entry, &conn_list);
	mutex_unlock(&conn_lock);
	rc = pmof_blk_add(conn);
	if (rc)
		goto del_device;
	rc = pmof_chardev_add(conn);
	if (rc)
		goto del_blk;
	/* From here on it can be disconnected, and be gone when we return. */
	smp_store_release(&conn->published, true);
	return 0;

del_blk:
	pmof_blk_del(conn);
del_device:
	conn_list_del(conn);
	device_del(&conn->dev);
	return rc;
}

/* Ends a connection that has been live, and is removed. */
static void end(struct pmof_conn *conn)
{
	pmof_conn_lost(conn, "disconnected");
	wait_for_completion(&conn->ended);
	flush_delayed_work(&conn->recover);
}

static int create(const struct pmof_options *opt, const char **why)
{
	struct pmof_conn *conn;
	int rc, instance;

	if (!try_module_get(THIS_MODULE))
		return -ENODEV;
	conn = conn_alloc(opt);
	if (IS_ERR(conn)) {
		module_put(THIS_MODULE);
		return PTR_ERR(conn);
	}
	instance = conn->instance;
	rc = pmof_conn_attach(conn, why);
	if (!rc && !pmof_conn_go_live(conn))
		rc = -ECONNRESET;
	if (rc)
		goto detach;
	rc = conn_publish(conn);
	if (rc)
		goto lose;
	return instance;

lose:
	WRITE_ONCE(conn->removed, true);
	pmof_admin_logout(conn);
	end(conn);
	goto put;
detach:
	pmof_conn_detach(conn);
put:
	put_device(&conn->dev);
	module_put(THIS_MODULE);
	return rc;
}

/**
 * pmof_conn_create - connect to a namespace and make its device
 * @opt: checked options
 * @why: on error: what is wrong, a constant string, or NULL where the errno says it
 *
 * Behind a crash of this machine the server may still have queue pairs of its last life,
 * with the numbers of these: each try has the server end one, and they are few.
 *
 * Return: the instance number, or a negative errno with nothing left behind.
 * The connection belongs to its registration; pmof_conn_remove() ends it.
 * Sleeps, for a bounded time.
 */
int pmof_conn_create(const struct pmof_options *opt, const char **why)
{
	unsigned int i;
	int rc;

	for (i = 0; i < STALE_TRIES; i++) {
		rc = create(opt, why);
		if (rc != -PMOF_STALE)
			return rc;
		if (msleep_interruptible(STALE_MS << i))
			return -EINTR;
	}
	return -ECONNRESET;
}

/*
 * The last part of a disconnect.  Not in the attribute's handler: device_del()
 * waits for that to return, and the module is let go only after it; the exit
 * waits for this work.
 */
static void remove_work(struct work_struct *work)
{
	struct pmof_conn *conn = container_of(work, struct pmof_conn, remove);

	device_del(&conn->dev);
	put_device(&conn->dev);
	module_put(THIS_MODULE);
}

/**
 * pmof_conn_remove - disconnect
 * @conn: the caller is one of its attributes' handlers
 *
 * When it returns the devices and the session are gone; open files stay valid and
 * get ENODEV; the entry in sysfs goes as soon as the handler has
 * returned.  Return: 0, -EBUSY if it is not published yet, -ENODEV if it is
 * being removed already.
 */
int pmof_conn_remove(struct pmof_conn *conn)
{
	/* Pairs with conn_publish(): what is removed here has been made. */
	if (!smp_load_acquire(&conn->published))
		return -EBUSY;
	if (xchg(&conn->removed, true))
		return -ENODEV;

	/* What waits for a connection that is lost fails now. */
	pmof_conn_give_up(conn);
	pmof_chardev_del(conn);
	/* While it is live: dirty pages are written.  RDMA device removal still finds us. */
	pmof_cache_flush(conn);
	pmof_blk_del(conn);
	conn_list_del(conn);
	pmof_admin_logout(conn);
	end(conn);
	pmof_cache_shutdown(conn);
	queue_work(remove_wq, &conn->remove);
	return 0;
}

static struct pmof_conn *get_conn_on(const struct ib_device *ibdev)
{
	struct pmof_conn *conn, *found = NULL;

	mutex_lock(&conn_lock);
	list_for_each_entry(conn, &conn_list, entry) {
		if (READ_ONCE(conn->ibdev) == ibdev) {
			get_device(&conn->dev);
			found = conn;
			break;
		}
	}
	mutex_unlock(&conn_lock);
	return found;
}

/*
 * An RDMA device goes away: its connections are lost, and free it before this
 * returns.  One that begins to reconnect over it just now hears of it by its
 * cm_ids' events.
 */
static void conn_ib_remove(struct ib_device *ibdev, void *client_data)
{
	struct pmof_conn *conn;

	mutex_lock(&going_lock);
	WRITE_ONCE(going, ibdev);
	while ((conn = get_conn_on(ibdev))) {
		pmof_conn_lost(conn, "the RDMA device is removed");
		flush_work(&conn->recover.work);
		put_device(&conn->dev);
	}
	WRITE_ONCE(going, NULL);
	mutex_unlock(&going_lock);
}

/* While it goes rdma_cm still finds it.  NULL, which is no device, does not. */
bool pmof_device_goes(const struct ib_device *ibdev)
{
	return ibdev && READ_ONCE(going) == ibdev;
}

static struct ib_client conn_ib_client = {
	.name = "pmof",
	.remove = conn_ib_remove,
};

int pmof_conn_init(void)
{
	int rc = -ENOMEM;

	pmof_wq = alloc_workqueue("pmof_client", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!pmof_wq)
		return rc;
	pmof_timeout_wq = alloc_workqueue("pmof_client_timeout", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!pmof_timeout_wq)
		goto destroy_wq;
	pmof_keep_alive_wq = alloc_workqueue("pmof_client_keep_alive", WQ_UNBOUND | WQ_MEM_RECLAIM,
					     0);
	if (!pmof_keep_alive_wq)
		goto destroy_timeout_wq;
	remove_wq = alloc_workqueue("pmof_client_remove", WQ_UNBOUND, 0);
	if (!remove_wq)
		goto destroy_keep_alive_wq;
	rc = ib_register_client(&conn_ib_client);
	if (rc)
		goto destroy_remove_wq;
	return 0;

destroy_remove_wq:
	destroy_workqueue(remove_wq);
destroy_keep_alive_wq:
	destroy_workqueue(pmof_keep_alive_wq);
destroy_timeout_wq:
	destroy_workqueue(pmof_timeout_wq);
destroy_wq:
	destroy_workqueue(pmof_wq);
	return rc;
}

void pmof_conn_exit(void)
{
	ib_unregister_client(&conn_ib_client);
	/* The last removal has let the module go, but may still be in its code. */
	destroy_workqueue(remove_wq);
	destroy_workqueue(pmof_keep_alive_wq);
	destroy_workqueue(pmof_timeout_wq);
	destroy_workqueue(pmof_wq);
	/* Not ida_destroy(): a disk that is just being freed gives its number back yet. */
}
