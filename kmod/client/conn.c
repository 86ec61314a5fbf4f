// SPDX-License-Identifier: GPL-2.0
/* A connection: its object, its states, and how it ends. */
#define pr_fmt(fmt) "pmof-client: " fmt

#include <linux/idr.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/utsname.h>
#include <net/net_namespace.h>

#include "blk.h"
#include "client.h"

struct workqueue_struct *pmof_wq;

/*
 * A device's removal waits for its attributes' handlers, of which disconnect
 * waits for the teardown: so not on the teardowns' queue, which may be down to
 * its rescuer.
 */
static struct workqueue_struct *remove_wq;

static DEFINE_IDA(instance_ida);
static DEFINE_MUTEX(conn_lock);		/* protects conn_list */
static LIST_HEAD(conn_list);		/* every registered connection */

static const char * const state_names[PMOF_NR_STATES] = {
	[PMOF_CONNECTING]	= "connecting",
	[PMOF_LIVE]		= "live",
	[PMOF_RECOVERING]	= "recovering",
	[PMOF_DEAD]		= "dead",
};

/* legal[from] is a bit mask of the states that may follow. */
static const unsigned int legal[PMOF_NR_STATES] = {
	[PMOF_CONNECTING]	= BIT(PMOF_LIVE) | BIT(PMOF_DEAD),
	[PMOF_LIVE]		= BIT(PMOF_RECOVERING) | BIT(PMOF_DEAD),
	[PMOF_RECOVERING]	= BIT(PMOF_LIVE) | BIT(PMOF_DEAD),
	[PMOF_DEAD]		= 0,
};

const char *pmof_state_name(enum pmof_state state)
{
	return state_names[state];
}

/* Changes the state if that is legal, and a lost connection does not come alive. */
bool pmof_conn_to(struct pmof_conn *conn, enum pmof_state to)
{
	unsigned long flags;
	bool ok;

	spin_lock_irqsave(&conn->state_lock, flags);
	ok = (legal[conn->state] & BIT(to)) && !(to == PMOF_LIVE && conn->lost);
	if (ok)
		conn->state = to;
	spin_unlock_irqrestore(&conn->state_lock, flags);
	return ok;
}

/* What an operation returns that finds the connection gone. */
int pmof_conn_gone_errno(struct pmof_conn *conn)
{
	return READ_ONCE(conn->removed) ? -ENODEV : -EIO;
}

/*
 * A queue broke, the server went, or an operation timed out.  Any context.
 * While CONNECTING the connecting thread does the teardown, since it is still
 * making what the teardown would free.
 */
void pmof_conn_lost(struct pmof_conn *conn)
{
	unsigned long flags;

	spin_lock_irqsave(&conn->state_lock, flags);
	conn->lost = true;
	if (conn->state == PMOF_LIVE || conn->state == PMOF_RECOVERING) {
		conn->state = PMOF_DEAD;
		/* Under the lock: who sees DEAD can flush the work. */
		queue_work(pmof_wq, &conn->teardown);
	}
	spin_unlock_irqrestore(&conn->state_lock, flags);
}

static void io_ref_release(struct percpu_ref *ref)
{
	complete(&container_of(ref, struct pmof_conn, io_ref)->io_drained);
}

/*
 * Two phases.  First nothing new can start (io_ref is killed), every queue
 * pair is in error and drained, so that every work request has completed, and
 * what still waits for a reply is failed.  Then, with the last reference gone,
 * everything is freed.  A request fails to its owner when its own work requests
 * have completed, so never while the HCA may touch its pages.
 */
void pmof_conn_teardown(struct pmof_conn *conn)
{
	unsigned int i;

	percpu_ref_kill(&conn->io_ref);
	synchronize_rcu();	/* pmof_post_begin(): from here on nobody posts */
	for (i = 0; i < conn->nr_queues; i++)
		pmof_queue_abort(&conn->queues[i]);
	pmof_admin_abort(&conn->admin);
	wait_for_completion(&conn->io_drained);

	for (i = 0; i < conn->nr_queues; i++)
		pmof_queue_close(&conn->queues[i]);
	pmof_admin_close(&conn->admin);
}

static void teardown_work(struct work_struct *work)
{
	struct pmof_conn *conn = container_of(work, struct pmof_conn, teardown);
	unsigned int noio;

	if (!READ_ONCE(conn->removed))
		dev_warn(&conn->dev, "connection to %s lost, device is dead\n", conn->opt.name);
	/* Memory must not be freed by writing to the block device, which waits for us. */
	noio = memalloc_noio_save();
	pmof_conn_teardown(conn);
	memalloc_noio_restore(noio);
	pmof_blk_lost(conn);
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
	kfree(conn);
}

static int conn_init_fields(struct pmof_conn *conn, const struct pmof_options *opt)
{
	conn->instance = -1;
	conn->opt = *opt;
	conn->poll_us = PMOF_POLL_AUTO;
	conn->copy_max = PMOF_COPY_MAX;
	if (!conn->opt.id[0] &&
	    strscpy(conn->opt.id, init_utsname()->nodename, sizeof(conn->opt.id)) < 0)
		pr_warn("the host name is too long for a client ID, using %s\n", conn->opt.id);
	if (!pmof_name_valid(conn->opt.id, sizeof(conn->opt.id)))
		strscpy(conn->opt.id, "client", sizeof(conn->opt.id));
	generate_random_uuid(conn->uuid);
	spin_lock_init(&conn->state_lock);
	mutex_init(&conn->auto_lock);
	mutex_init(&conn->dirty.lock);
	INIT_LIST_HEAD(&conn->entry);
	INIT_WORK(&conn->teardown, teardown_work);
	INIT_WORK(&conn->remove, remove_work);
	init_completion(&conn->io_drained);
	conn->stats = alloc_percpu(struct pmof_stats);
	if (!conn->stats)
		return -ENOMEM;
	return percpu_ref_init(&conn->io_ref, io_ref_release, 0, GFP_KERNEL);
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

static int conn_open_queues(struct pmof_conn *conn)
{
	unsigned int n = conn->login.nr_queues;
	unsigned int i;
	int rc;

	conn->nr_shared = n > conn->opt.poll_queues ? n - conn->opt.poll_queues : 1;
	conn->queues = kvcalloc(n, sizeof(*conn->queues), GFP_KERNEL);
	if (!conn->queues)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		conn->nr_queues = i + 1;
		rc = pmof_queue_open(&conn->queues[i], conn, i + 1);
		if (rc)
			return rc;
	}
	return 0;
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

static int conn_open(struct pmof_conn *conn, const char **why)
{
	int rc;

	rc = pmof_admin_open(conn);
	if (!rc)
		rc = pmof_admin_login(conn);
	if (rc)
		return rc;
	/* What was asked for, and what this end can do, whatever the server says. */
	if (conn->opt.read_only)
		conn->login.flags |= PMOF_LOGIN_R_READ_ONLY;
	if (conn->ibdev->attrs.atomic_cap == IB_ATOMIC_NONE)
		conn->login.features &= ~PMOF_FEAT_ATOMICS;
	rc = conn_choose_persist(conn, why);
	if (!rc)
		rc = pmof_layout_init(&conn->layout, conn->login.ns_size,
				      conn->login.segment_size);
	if (!rc)
		rc = pmof_admin_segments(conn);
	if (!rc)
		rc = pmof_dirty_init(conn);
	if (!rc)
		rc = conn_open_queues(conn);
	if (!rc)
		rc = pmof_cache_init(conn);
	return rc ?: pmof_blk_alloc(conn);
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

/**
 * pmof_conn_create - connect to a namespace and make its device
 * @opt: checked options
 * @why: on error: what is wrong, a constant string, or NULL where the errno says it
 *
 * Return: the instance number, or a negative errno with nothing left behind.
 * The connection belongs to its registration; pmof_conn_remove() ends it.
 * Sleeps, for a bounded time.
 */
int pmof_conn_create(const struct pmof_options *opt, const char **why)
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
	rc = conn_open(conn, why);
	if (!rc && !pmof_conn_to(conn, PMOF_LIVE))
		rc = -ECONNRESET;
	if (rc)
		goto teardown;
	rc = conn_publish(conn);
	if (rc)
		goto lose;
	return instance;

lose:
	WRITE_ONCE(conn->removed, true);
	pmof_conn_lost(conn);
	flush_work(&conn->teardown);
	goto put;
teardown:
	pmof_conn_to(conn, PMOF_DEAD);
	pmof_conn_teardown(conn);
put:
	put_device(&conn->dev);
	module_put(THIS_MODULE);
	return rc;
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

	pmof_chardev_del(conn);
	/* While it is live: dirty pages are written.  RDMA device removal still finds us. */
	pmof_cache_flush(conn);
	pmof_blk_del(conn);
	conn_list_del(conn);
	pmof_conn_lost(conn);
	flush_work(&conn->teardown);
	pmof_cache_shutdown(conn);
	queue_work(remove_wq, &conn->remove);
	return 0;
}

/* An RDMA device goes away: its connections are lost, and free it before this returns. */
static void conn_ib_remove(struct ib_device *ibdev, void *client_data)
{
	struct pmof_conn *conn;

	mutex_lock(&conn_lock);
	list_for_each_entry(conn, &conn_list, entry)
		if (conn->ibdev == ibdev)
			pmof_conn_lost(conn);
	mutex_unlock(&conn_lock);
	flush_workqueue(pmof_wq);
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
	remove_wq = alloc_workqueue("pmof_client_remove", WQ_UNBOUND, 0);
	if (!remove_wq)
		goto destroy_wq;
	rc = ib_register_client(&conn_ib_client);
	if (rc)
		goto destroy_remove_wq;
	return 0;

destroy_remove_wq:
	destroy_workqueue(remove_wq);
destroy_wq:
	destroy_workqueue(pmof_wq);
	return rc;
}

void pmof_conn_exit(void)
{
	ib_unregister_client(&conn_ib_client);
	/* The last removal has let the module go, but may still be in its code. */
	destroy_workqueue(remove_wq);
	destroy_workqueue(pmof_wq);
	ida_destroy(&instance_ida);
}
