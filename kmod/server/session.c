// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions: their table, how they come, and their admin messages.
 *
 * A session belongs to the connection request that makes it until it is
 * published; from then on to the table, and its end work (session_end.c) is the
 * only one that takes it apart.  It holds a reference on the module to the last.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/idr.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "rights.h"
#include "server.h"

/* Protects the table and, in each session, what server.h says. */
DEFINE_MUTEX(pmof_sessions_mutex);

/* Walked at connection requests, logins and ends only. */
LIST_HEAD(pmof_sessions);

static unsigned int max_sessions = PMOF_SRV_MAX_SESSIONS;
module_param(max_sessions, uint, 0644);
MODULE_PARM_DESC(max_sessions, "sessions in namespaces, those that wait to be resumed included; and as many connections may wait for their login");

/*
 * Each session is counted in one of them.  Whoever reaches the port makes the first
 * kind, so they have a limit of their own, and nobody's session ends for them.
 */
static unsigned int nr_outside;	/* not logged in yet, published or not; or on the way out */
static unsigned int nr_inside;	/* in a namespace, and it is the client's last one there */

/* Of the one that was published last. */
u64 pmof_session_serial;

static DEFINE_IDA(session_ida);

#define ADMIN_TURN	16	/* messages of one session, before others have their turn */

/* Three, because an end waits for its session's admin work and for its watch. */
static struct workqueue_struct *pmof_admin_wq;
struct workqueue_struct *pmof_watch_wq;
struct workqueue_struct *pmof_end_wq;

static void admin_work(struct work_struct *work);

static bool reserve_session(void)
{
	bool ok;

	mutex_lock(&pmof_sessions_mutex);
	ok = nr_outside < READ_ONCE(max_sessions);
	if (ok)
		nr_outside++;
	mutex_unlock(&pmof_sessions_mutex);
	return ok;
}

static void unreserve_session(void)
{
	mutex_lock(&pmof_sessions_mutex);
	nr_outside--;
	mutex_unlock(&pmof_sessions_mutex);
}

/* It has entered a namespace, or it is to go and its place another's. */
void pmof_session_count(struct pmof_session *s, bool inside)
{
	lockdep_assert_held(&pmof_sessions_mutex);
	if (s->inside == inside)
		return;
	s->inside = inside;
	nr_inside += inside ? 1 : -1;
	nr_outside -= inside ? 1 : -1;
}

/* Out of the table, and of its namespace. */
void pmof_session_unlist(struct pmof_session *s)
{
	lockdep_assert_held(&pmof_sessions_mutex);
	list_del_init(&s->entry);
	pmof_session_count(s, false);
	nr_outside--;
}

/*
 * Who goes for one more: who has been ended already, for he comes back to nothing, or else who has
 * been detached longest: the list has them in that order.
 */
static struct pmof_session *next_to_go(void)
{
	struct pmof_session *s, *longest = NULL;

	list_for_each_entry(s, &pmof_sessions, entry) {
		if (s->state != PMOF_SESSION_DETACHED || s->superseded)
			continue;
		if (test_bit(PMOF_SESSION_FINAL, &s->flags))
			return s;
		longest = longest ?: s;
	}
	return longest;
}

/* May one more enter a namespace?  If need be a detached one goes. */
bool pmof_session_make_room(void)
{
	struct pmof_session *s;

	lockdep_assert_held(&pmof_sessions_mutex);
	if (nr_inside < READ_ONCE(max_sessions))
		return true;
	s = next_to_go();
	if (s) {
		pmof_session_supersede(s);
		pmof_session_end(s);
		return true;
	}
	pr_info_ratelimited("limit of %u sessions reached\n", READ_ONCE(max_sessions));
	return false;
}

static struct pmof_session *find_session(u64 id)
{
	struct pmof_session *s;

	lockdep_assert_held(&pmof_sessions_mutex);
	list_for_each_entry(s, &pmof_sessions, entry)
		if (s->id == id)
			return s;
	return NULL;
}

bool pmof_same_identity(const struct pmof_identity *a, const struct pmof_identity *b)
{
	return a->path_id == b->path_id && !memcmp(a->instance, b->instance, sizeof(a->instance)) &&
	       !strncmp(a->client_id, b->client_id, sizeof(a->client_id));
}

/* Another session of who asks for @s in @ns, or NULL; the caller puts its reference. */
struct pmof_session *pmof_session_find_instance(const struct pmof_session *s,
						const struct pmof_ns *ns,
						const struct pmof_login *l)
{
	struct pmof_identity who = s->who;
	struct pmof_session *o;

	lockdep_assert_held(&pmof_sessions_mutex);
	memcpy(who.instance, l->instance, sizeof(who.instance));
	who.path_id = l->path_id;
	list_for_each_entry(o, &pmof_sessions, entry) {
		if (o == s || o->superseded || o->ns != ns || !pmof_same_identity(&o->who, &who))
			continue;
		get_device(&o->dev);
		return o;
	}
	return NULL;
}

/* One that @match is true of, or NULL; the caller puts its reference. */
struct pmof_session *pmof_session_find(pmof_session_match_fn *match, const void *arg)
{
	struct pmof_session *s;

	lockdep_assert_held(&pmof_sessions_mutex);
	list_for_each_entry(s, &pmof_sessions, entry) {
		if (match(s, arg)) {
			get_device(&s->dev);
			return s;
		}
	}
	return NULL;
}

static void init_session(struct pmof_session *s, struct pmof_port *port,
			 const struct rdma_cm_id *cm_id, const struct pmof_connect *c)
{
	memcpy(s->who.client_id, c->client_id, sizeof(s->who.client_id));
	memcpy(&s->peer, &cm_id->route.addr.dst_addr, sizeof(s->peer));
	s->port = port;
	s->ib_dev = cm_id->device;
	INIT_LIST_HEAD(&s->entry);
	xa_init(&s->segments);
	xa_init(&s->pieces);
	spin_lock_init(&s->admin_lock);
	INIT_LIST_HEAD(&s->admin_reqs);
	INIT_WORK(&s->admin_work, admin_work);
	refcount_set(&s->users, 1);
	init_completion(&s->idle);
	pmof_session_end_init(s);
	device_initialize(&s->dev);
	s->dev.class = &pmof_session_class;
}

/* The last reference went (device release). */
void pmof_session_free(struct pmof_session *s)
{
	if (s->number >= 0)
		ida_free(&session_ida, s->number);
	free_percpu(s->stats);
	kfree(s->flush);
	kfree_sensitive(s);
}

static int alloc_parts(struct pmof_session *s)
{
	s->number = ida_alloc(&session_ida, GFP_KERNEL);
	if (s->number < 0)
		return s->number;
	s->stats = alloc_percpu(struct pmof_stats);
	s->flush = pmof_flush_alloc_session();
	if (!s->stats || !s->flush)
		return -ENOMEM;
	s->pd = ib_alloc_pd(s->ib_dev, 0);
	if (IS_ERR(s->pd))
		return PTR_ERR(s->pd);
	return dev_set_name(&s->dev, "session%d", s->number);
}

void pmof_session_free_parts(struct pmof_session *s)
{
	if (!IS_ERR_OR_NULL(s->pd))
		ib_dealloc_pd(s->pd);
	s->pd = NULL;
}

/*
 * Makes a session that nobody knows of yet.  Returns NULL with *status set, or
 * the session, for pmof_session_publish() or pmof_session_abandon().
 */
struct pmof_session *pmof_session_create(struct pmof_port *port, struct rdma_cm_id *cm_id,
					 const struct pmof_connect *c, int *status)
{
	struct pmof_session *s;

	*status = PMOF_SC_UNSUPPORTED;
	if (!(cm_id->device->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS))
		return NULL;
	*status = PMOF_SC_BUSY;
	if (!try_module_get(THIS_MODULE))
		return NULL;
	if (!reserve_session())
		goto put_module;
	*status = PMOF_SC_NO_MEMORY;
	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		goto unreserve;
	init_session(s, port, cm_id, c);
	if (alloc_parts(s))
		goto put_session;
	*status = 0;
	return s;

put_session:
	pmof_session_free_parts(s);
	put_device(&s->dev);
unreserve:
	unreserve_session();
put_module:
	module_put(THIS_MODULE);
	return NULL;
}

/* Undoes pmof_session_create() where the session was not published. */
void pmof_session_abandon(struct pmof_session *s)
{
	pmof_session_free_parts(s);
	put_device(&s->dev);
	unreserve_session();
	module_put(THIS_MODULE);
}

/*
 * Puts a connected session into the table.  The work is queued under the
 * mutex, which the end work takes before it cancels any.
 */
void pmof_session_publish(struct pmof_session *s)
{
	mutex_lock(&pmof_sessions_mutex);
	do {
		s->id = get_random_u64();
	} while (!s->id || find_session(s->id));
	s->serial = ++pmof_session_serial;
	list_add_tail(&s->entry, &pmof_sessions);
	queue_delayed_work(pmof_watch_wq, &s->watch, PMOF_SRV_LOGIN_TIMEOUT);
	test_and_set_bit(PMOF_SESSION_PUBLISHED, &s->flags);
	/* For what arrived before: see pmof_session_queue_admin(). */
	pmof_session_kick_admin(s);
	if (pmof_session_ending(s))
		pmof_session_queue_end(s);
	mutex_unlock(&pmof_sessions_mutex);
}

/* --- admin messages ------------------------------------------------------- */

/*
 * Hands a message to the admin work; completion context.  Before the session
 * is published it only waits there.
 */
void pmof_session_queue_admin(struct pmof_srv_req *req)
{
	struct pmof_session *s = req->queue->session;
	unsigned long flags;

	spin_lock_irqsave(&s->admin_lock, flags);
	list_add_tail(&req->entry, &s->admin_reqs);
	spin_unlock_irqrestore(&s->admin_lock, flags);
	smp_mb(); /* pairs with test_and_set_bit() in pmof_session_publish() */
	if (test_bit(PMOF_SESSION_PUBLISHED, &s->flags) && !pmof_session_ending(s))
		pmof_session_kick_admin(s);
}

/* Any context; somebody keeps the session from its last cancel_work_sync(). */
void pmof_session_kick_admin(struct pmof_session *s)
{
	queue_work(pmof_admin_wq, &s->admin_work);
}

static struct pmof_srv_req *next_admin(struct pmof_session *s)
{
	struct pmof_srv_req *req;

	spin_lock_irq(&s->admin_lock);
	req = list_first_entry_or_null(&s->admin_reqs, struct pmof_srv_req, entry);
	if (req)
		list_del(&req->entry);
	spin_unlock_irq(&s->admin_lock);
	return req;
}

/* It is the next again. */
static void put_back_admin(struct pmof_session *s, struct pmof_srv_req *req)
{
	spin_lock_irq(&s->admin_lock);
	list_add(&req->entry, &s->admin_reqs);
	spin_unlock_irq(&s->admin_lock);
}

/*
 * Never waits for a client, and does not go on for as long as one has something to say: on a busy
 * machine the workqueue's rescuer takes all works that there are, of all sessions, and does one
 * behind the other.
 */
static void admin_work(struct work_struct *work)
{
	struct pmof_session *s = container_of(work, struct pmof_session, admin_work);
	unsigned int left = ADMIN_TURN;
	struct pmof_srv_req *req;

	while (!pmof_session_ending(s) && (req = next_admin(s))) {
		/* A queue that is stopped wants no more answers. */
		if (pmof_srv_queue_get(req->queue) && !pmof_rpc_admin(req)) {
			/* A kick that came meanwhile has queued the work once more. */
			put_back_admin(s, req);
			return;
		}
		if (!--left) {
			pmof_session_kick_admin(s);
			return;
		}
		cond_resched();
	}
}

/* --- I/O queues ------------------------------------------------------------ */

static int check_claim(struct pmof_session *s, const struct rdma_cm_id *cm_id,
		       const struct pmof_connect *c, const struct pmof_auth_conn *from)
{
	int status;

	if (!s || s->state != PMOF_SESSION_LIVE || pmof_session_ending(s))
		return PMOF_SC_NO_SESSION;
	if (s->ib_dev != cm_id->device)
		return PMOF_SC_NO_SESSION;
	status = pmof_rights_check_queue(s, c, from);
	if (status)
		return status;
	if (c->queue_id > s->nr_queues)
		return PMOF_SC_INVALID;
	if (test_bit(c->queue_id, s->claimed))
		return PMOF_SC_BUSY;
	return pmof_limits_charge(s, PMOF_LIMIT_MEMORY,
				  pmof_srv_queue_memory(c->queue_depth, s->call_size));
}

/*
 * Reserves an I/O queue's place for a connection request.  Returns NULL with
 * *status set, or the session, which keeps its PD until
 * pmof_session_put_user().
 */
struct pmof_session *pmof_session_claim(const struct rdma_cm_id *cm_id,
					const struct pmof_connect *c,
					const struct pmof_auth_conn *from, int *status)
{
	struct pmof_session *s;

	mutex_lock(&pmof_sessions_mutex);
	s = find_session(c->session_id);
	*status = check_claim(s, cm_id, c, from);
	if (!*status) {
		__set_bit(c->queue_id, s->claimed);
		refcount_inc(&s->users);
		/* Who connects one queue after the other says nothing else meanwhile. */
		pmof_session_hear(s);
	}
	mutex_unlock(&pmof_sessions_mutex);
	return *status ? NULL : s;
}

/*
 * Gives an accepted queue to its session, also where that is ending by now: the
 * end work still waits for pmof_session_put_user(), and then takes the queue
 * apart like the others.
 */
void pmof_session_attach(struct pmof_session *s, struct pmof_srv_queue *q)
{
	mutex_lock(&pmof_sessions_mutex);
	s->queues[q->id] = q;
	s->nr_attached++;
	pmof_session_stat(s, PMOF_SRV_QUEUES, 1);
	mutex_unlock(&pmof_sessions_mutex);
}

void pmof_session_unclaim(struct pmof_session *s, const struct pmof_connect *c)
{
	mutex_lock(&pmof_sessions_mutex);
	__clear_bit(c->queue_id, s->claimed);
	pmof_limits_uncharge(s, PMOF_LIMIT_MEMORY,
			     pmof_srv_queue_memory(c->queue_depth, s->call_size));
	mutex_unlock(&pmof_sessions_mutex);
}

void pmof_session_put_user(struct pmof_session *s)
{
	if (refcount_dec_and_test(&s->users))
		complete(&s->idle);
}

int pmof_sessions_init(void)
{
	pmof_admin_wq = alloc_workqueue("pmof_admin", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!pmof_admin_wq)
		return -ENOMEM;
	pmof_watch_wq = alloc_workqueue("pmof_watch", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!pmof_watch_wq)
		goto destroy_admin;
	pmof_end_wq = alloc_workqueue("pmof_end", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!pmof_end_wq)
		goto destroy_watch;
	return 0;

destroy_watch:
	destroy_workqueue(pmof_watch_wq);
destroy_admin:
	destroy_workqueue(pmof_admin_wq);
	return -ENOMEM;
}

void pmof_sessions_exit(void)
{
	destroy_workqueue(pmof_end_wq);
	destroy_workqueue(pmof_watch_wq);
	destroy_workqueue(pmof_admin_wq);
	ida_destroy(&session_ida);
}
