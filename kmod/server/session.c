// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions: their table, and how they come and go.
 *
 * A session belongs to the connection request that makes it until it is
 * published; from then on to the table, and its end work is the only one that
 * takes it apart.  Anybody may ask for the end, in any context, any number of
 * times (pmof_session_end).  The end work, in this order,
 *   1. unpublishes it: no queue can be added, those being added are waited for;
 *   2. moves the queue pairs to error, waits for the handlers and the flush
 *      workers to let go, drains, destroys the queue pairs;
 *   3. deregisters the MRs and frees the PD: no HCA touches the namespace now;
 *   4. destroys the cm_ids.  rdma_cm's device removal waits for them, so by
 *      then nothing of ours may be left on the device;
 *   5. lets go of the namespace and wakes who waits for that.
 * A session holds a reference on the module to the last.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/idr.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "server.h"

/* Protects the table and, in each session, what server.h says. */
DEFINE_MUTEX(pmof_sessions_mutex);

/* Walked at connection requests and logins only. */
static LIST_HEAD(sessions);
static unsigned int nr_sessions;	/* made, published or not */

static DEFINE_IDA(session_ida);

/*
 * Two, because a login waits on the one for the end, on the other, of a
 * session that it takes over.
 */
static struct workqueue_struct *admin_wq;
static struct workqueue_struct *end_wq;

static void admin_work(struct work_struct *work);
static void login_timeout(struct work_struct *work);
static void end_work(struct work_struct *work);

static bool reserve_session(void)
{
	bool ok;

	mutex_lock(&pmof_sessions_mutex);
	ok = nr_sessions < PMOF_SRV_MAX_SESSIONS;
	if (ok)
		nr_sessions++;
	mutex_unlock(&pmof_sessions_mutex);
	return ok;
}

static void unreserve_session(void)
{
	mutex_lock(&pmof_sessions_mutex);
	nr_sessions--;
	mutex_unlock(&pmof_sessions_mutex);
}

static struct pmof_session *find_session(u64 id)
{
	struct pmof_session *s;

	lockdep_assert_held(&pmof_sessions_mutex);
	list_for_each_entry(s, &sessions, entry)
		if (s->id == id)
			return s;
	return NULL;
}

/*
 * Another session of the same connection (client, instance, path) in @ns, or
 * NULL; the caller puts its reference.
 */
struct pmof_session *pmof_session_find_instance(const struct pmof_session *s,
						const struct pmof_ns *ns,
						const struct pmof_login *l)
{
	struct pmof_session *o;

	lockdep_assert_held(&pmof_sessions_mutex);
	list_for_each_entry(o, &sessions, entry) {
		if (o == s || o->ns != ns || o->path_id != l->path_id ||
		    memcmp(o->instance, l->instance, sizeof(o->instance)) ||
		    strncmp(o->client_id, s->client_id, sizeof(o->client_id)))
			continue;
		get_device(&o->dev);
		return o;
	}
	return NULL;
}

static void init_session(struct pmof_session *s, struct pmof_port *port,
			 const struct rdma_cm_id *cm_id, const struct pmof_connect *c)
{
	memcpy(s->client_id, c->client_id, sizeof(s->client_id));
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
	INIT_DELAYED_WORK(&s->login_timeout, login_timeout);
	INIT_WORK(&s->end_work, end_work);
	init_completion(&s->gone);
	device_initialize(&s->dev);
	s->dev.class = &pmof_session_class;
}

/* The last reference went (device release). */
void pmof_session_free(struct pmof_session *s)
{
	if (s->number >= 0)
		ida_free(&session_ida, s->number);
	free_percpu(s->stats);
	kfree(s->seen);
	kfree(s);
}

static int alloc_parts(struct pmof_session *s)
{
	s->number = ida_alloc(&session_ida, GFP_KERNEL);
	if (s->number < 0)
		return s->number;
	s->stats = alloc_percpu(struct pmof_stats);
	s->seen = pmof_flush_alloc_seen();
	if (!s->stats || !s->seen)
		return -ENOMEM;
	s->pd = ib_alloc_pd(s->ib_dev, 0);
	if (IS_ERR(s->pd))
		return PTR_ERR(s->pd);
	return dev_set_name(&s->dev, "session%d", s->number);
}

static void free_parts(struct pmof_session *s)
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
	free_parts(s);
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
	free_parts(s);
	put_device(&s->dev);
	unreserve_session();
	module_put(THIS_MODULE);
}

/* Queues the end work once, as soon as the session is both published and ending. */
static void start_end(struct pmof_session *s)
{
	if (test_bit(PMOF_SESSION_ENDING, &s->flags) &&
	    test_bit(PMOF_SESSION_PUBLISHED, &s->flags) &&
	    !test_and_set_bit(PMOF_SESSION_TEARDOWN, &s->flags))
		queue_work(end_wq, &s->end_work);
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
	list_add_tail(&s->entry, &sessions);
	queue_delayed_work(admin_wq, &s->login_timeout, PMOF_SRV_LOGIN_TIMEOUT);
	test_and_set_bit(PMOF_SESSION_PUBLISHED, &s->flags);
	/* For what arrived before: see pmof_session_queue_admin(). */
	queue_work(admin_wq, &s->admin_work);
	start_end(s);
	mutex_unlock(&pmof_sessions_mutex);
}

/* Asks for the end of a session.  Any context; the caller's reference stays valid. */
void pmof_session_end(struct pmof_session *s)
{
	if (!test_and_set_bit(PMOF_SESSION_ENDING, &s->flags))
		start_end(s);
}

/* The peer broke the protocol. */
void pmof_session_bad_message(struct pmof_session *s, const char *what)
{
	pmof_session_stat(s, PMOF_SRV_BAD_MESSAGES, 1);
	if (!pmof_session_ending(s))
		pr_warn_ratelimited("session%d of %s (%pISpc): %s, session ended\n", s->number,
				    s->client_id, &s->peer, what);
	pmof_session_end(s);
}

static void login_timeout(struct work_struct *work)
{
	struct pmof_session *s = container_of(to_delayed_work(work), struct pmof_session,
					      login_timeout);
	bool late;

	mutex_lock(&pmof_sessions_mutex);
	late = s->state == PMOF_SESSION_OPEN;
	mutex_unlock(&pmof_sessions_mutex);
	if (!late)
		return;
	pr_info_ratelimited("session%d of %s (%pISpc): no login within %d s, session ended\n",
			    s->number, s->client_id, &s->peer, PMOF_SRV_LOGIN_TIMEOUT / HZ);
	pmof_session_end(s);
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
		queue_work(admin_wq, &s->admin_work);
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

static void admin_work(struct work_struct *work)
{
	struct pmof_session *s = container_of(work, struct pmof_session, admin_work);
	struct pmof_srv_req *req;

	while (!pmof_session_ending(s) && (req = next_admin(s))) {
		/* A queue that is stopped wants no more answers. */
		if (pmof_srv_queue_get(req->queue))
			pmof_rpc_admin(req);
	}
}

/* --- I/O queues ------------------------------------------------------------ */

static int check_claim(const struct pmof_session *s, const struct rdma_cm_id *cm_id,
		       const struct pmof_connect *c)
{
	if (!s || s->state != PMOF_SESSION_LIVE || pmof_session_ending(s))
		return PMOF_SC_NO_SESSION;
	/* Whoever guesses an ID learns no more than that he did not. */
	if (strncmp(s->client_id, c->client_id, sizeof(s->client_id)) ||
	    s->ib_dev != cm_id->device)
		return PMOF_SC_NO_SESSION;
	if (c->queue_id > s->nr_queues)
		return PMOF_SC_INVALID;
	if (test_bit(c->queue_id, s->claimed))
		return PMOF_SC_BUSY;
	return 0;
}

/*
 * Reserves an I/O queue's place for a connection request.  Returns NULL with
 * *status set, or the session, which keeps its PD until
 * pmof_session_put_user().
 */
struct pmof_session *pmof_session_claim(const struct rdma_cm_id *cm_id,
					const struct pmof_connect *c, int *status)
{
	struct pmof_session *s;

	mutex_lock(&pmof_sessions_mutex);
	s = find_session(c->session_id);
	*status = check_claim(s, cm_id, c);
	if (!*status) {
		__set_bit(c->queue_id, s->claimed);
		refcount_inc(&s->users);
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
	pmof_session_stat(s, PMOF_SRV_QUEUES, 1);
	mutex_unlock(&pmof_sessions_mutex);
}

void pmof_session_unclaim(struct pmof_session *s, u16 queue_id)
{
	mutex_lock(&pmof_sessions_mutex);
	__clear_bit(queue_id, s->claimed);
	mutex_unlock(&pmof_sessions_mutex);
}

void pmof_session_put_user(struct pmof_session *s)
{
	if (refcount_dec_and_test(&s->users))
		complete(&s->idle);
}

/* --- the end ---------------------------------------------------------------- */

static void unpublish(struct pmof_session *s)
{
	mutex_lock(&pmof_sessions_mutex);
	s->state = PMOF_SESSION_DEAD;
	mutex_unlock(&pmof_sessions_mutex);
	cancel_delayed_work_sync(&s->login_timeout);
	pmof_session_put_user(s);
	wait_for_completion(&s->idle);
	/* From here on s->queues is ours alone. */
}

static void stop_queues(struct pmof_session *s)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(s->queues); i++)
		if (s->queues[i])
			pmof_srv_queue_disconnect(s->queues[i]);
	cancel_work_sync(&s->admin_work);
	for (i = 0; i < ARRAY_SIZE(s->queues); i++)
		if (s->queues[i])
			pmof_srv_queue_stop(s->queues[i]);
	/*
	 * Again: a completion that had passed the test for the end may have
	 * queued it meanwhile.  There are no completions any more.
	 */
	cancel_work_sync(&s->admin_work);
}

static void free_queues(struct pmof_session *s)
{
	struct rdma_cm_id *cm_id;
	int i;

	for (i = 0; i < ARRAY_SIZE(s->queues); i++) {
		if (!s->queues[i])
			continue;
		cm_id = s->queues[i]->qp.cm_id;
		/* Waits for a handler of the cm_id, which may still use the queue. */
		rdma_destroy_id(cm_id);
		pmof_srv_queue_free(s->queues[i]);
		s->queues[i] = NULL;
	}
}

static void unlist(struct pmof_session *s)
{
	mutex_lock(&pmof_sessions_mutex);
	if (s->ns)
		pmof_session_leave_ns(s);
	list_del_init(&s->entry);
	nr_sessions--;
	mutex_unlock(&pmof_sessions_mutex);
}

static void end_work(struct work_struct *work)
{
	struct pmof_session *s = container_of(work, struct pmof_session, end_work);

	unpublish(s);
	stop_queues(s);
	pmof_segments_free(s);
	free_parts(s);
	free_queues(s);
	if (s->in_sysfs)
		device_del(&s->dev);
	pr_debug("session%d of %s (%pISpc): ended\n", s->number, s->client_id, &s->peer);
	/*
	 * First, since who waits for the end may then want to remove the module;
	 * pmof_sessions_exit() waits for this function to return.
	 */
	module_put(THIS_MODULE);
	unlist(s);
	complete_all(&s->gone);
	put_device(&s->dev);
}

static bool matches(const struct pmof_session *s, const struct pmof_session_filter *f)
{
	return (!f->ns || s->ns == f->ns) && (!f->port || s->port == f->port) &&
	       (!f->logged_out || !s->ns) && (!f->older || s->bad_seq != s->ns->bad.seq);
}

static struct pmof_session *get_match(const struct pmof_session_filter *f)
{
	struct pmof_session *s, *found = NULL;

	mutex_lock(&pmof_sessions_mutex);
	list_for_each_entry(s, &sessions, entry) {
		if (matches(s, f)) {
			/* It may match only since the first pass. */
			pmof_session_end(s);
			get_device(&s->dev);
			found = s;
			break;
		}
	}
	mutex_unlock(&pmof_sessions_mutex);
	return found;
}

/*
 * Ends the sessions that match and waits until they are gone.  The caller sees
 * to it that no new one can match.
 */
void pmof_sessions_end(const struct pmof_session_filter *f)
{
	struct pmof_session *s;

	/* All at once, */
	mutex_lock(&pmof_sessions_mutex);
	list_for_each_entry(s, &sessions, entry)
		if (matches(s, f))
			pmof_session_end(s);
	mutex_unlock(&pmof_sessions_mutex);
	/* then one after the other. */
	while ((s = get_match(f))) {
		wait_for_completion(&s->gone);
		put_device(&s->dev);
	}
}

int pmof_sessions_init(void)
{
	admin_wq = alloc_workqueue("pmof_admin", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!admin_wq)
		return -ENOMEM;
	end_wq = alloc_workqueue("pmof_end", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!end_wq) {
		destroy_workqueue(admin_wq);
		return -ENOMEM;
	}
	return 0;
}

void pmof_sessions_exit(void)
{
	destroy_workqueue(end_wq);
	destroy_workqueue(admin_wq);
	ida_destroy(&session_ida);
}
