// SPDX-License-Identifier: GPL-2.0
/* Logins: which namespace a session gets, and what of it. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "rdma_flush.h"
#include "rights.h"
#include "server.h"

static struct pmof_ns *find_ns(const struct pmof_port *port, const char *name)
{
	struct pmof_link *link;

	lockdep_assert_held(&pmof_sessions_mutex);
	list_for_each_entry(link, &port->links, entry)
		if (link->ns->live && !strcmp(pmof_ns_name(link->ns), name))
			return link->ns;
	return NULL;
}

/*
 * Only the sessions of one device get atomics on a namespace: HCAs' atomics
 * are not atomic with each other's.
 */
static bool take_atomics(struct pmof_session *s, struct pmof_ns *ns)
{
	lockdep_assert_held(&pmof_sessions_mutex);
	if (s->ib_dev->attrs.atomic_cap == IB_ATOMIC_NONE)
		return false;
	if (ns->nr_atomic && ns->atomic_dev != s->ib_dev)
		return false;
	ns->atomic_dev = s->ib_dev;
	ns->nr_atomic++;
	return true;
}

/* Can the HCA alone make a write durable? */
static bool hca_suffices(const struct pmof_ns *ns)
{
	if (pmof_ns_device_flush(ns))
		return false;
	return ns->domain == PMOF_DOMAIN_CPU_CACHE || ns->domain == PMOF_DOMAIN_MEMORY_CONTROLLER;
}

static bool offers_read(const struct pmof_session *s)
{
	if (!hca_suffices(s->ns))
		return false;
	/* [D2] Wherever a write lands, the READ behind it finds it in the domain. */
	return s->ns->domain == PMOF_DOMAIN_CPU_CACHE ||
	       s->placed.placement == PMOF_PLACEMENT_MEMORY;
}

/* [L1] Also the kernel of this end must answer it. */
static bool offers_flush(const struct pmof_session *s)
{
	if (!hca_suffices(s->ns) || !pmof_dev_answers_flush(s->ib_dev))
		return false;
	/* The kernel's own soft-RoCE may fence on another CPU than it writes back on. */
	return !ib_uses_virt_dma(s->ib_dev) || pmof_dev_posts_flush(s->ib_dev);
}

static u32 methods_of(const struct pmof_session *s)
{
	u32 methods = BIT(PMOF_METHOD_ASSIST);

	/* The rpc method's messages write where they like: not beside a service. */
	if (!s->ns->service_ops)
		methods |= BIT(PMOF_METHOD_RPC);
	if (offers_read(s))
		methods |= BIT(PMOF_METHOD_READ);
	if (offers_flush(s))
		methods |= BIT(PMOF_METHOD_FLUSH);
	return methods;
}

/*
 * [V8] Somebody who was alone looks at the count when he comes back.  It counts who may write,
 * ahead of the answer: of a login whose answer is lost the next one tells as much.
 */
static void count_writer(struct pmof_session *s)
{
	struct pmof_ns *ns = s->ns;

	lockdep_assert_held(&pmof_sessions_mutex);
	if (ns->writers && pmof_same_identity(&ns->writer, &s->who))
		return;
	ns->writer = s->who;
	ns->writers++;
}

static void enter_ns(struct pmof_session *s, struct pmof_ns *ns, const struct pmof_login *l)
{
	lockdep_assert_held(&pmof_sessions_mutex);
	s->ns = ns;
	s->bad_seq = ns->bad.seq;
	WRITE_ONCE(ns->nr_sessions, ns->nr_sessions + 1);
	memcpy(s->who.instance, l->instance, sizeof(s->who.instance));
	s->who.path_id = l->path_id;
	s->loss_timeout = min_t(u32, l->loss_timeout, PMOF_SRV_MAX_LOSS_TIMEOUT);
	pmof_session_count(s, true);
	s->call_size = pmof_service_call_size(ns, l->call_size);
	s->atomics = s->granted & PMOF_RIGHT_WRITE && !ns->service_ops && take_atomics(s, ns);
	pmof_placement_session(s);
	s->methods = methods_of(s);
}

/* Its MRs must be gone: another device's sessions may have atomics. */
void pmof_session_leave_atomics(struct pmof_session *s)
{
	lockdep_assert_held(&pmof_sessions_mutex);
	if (s->atomics && !--s->ns->nr_atomic)
		s->ns->atomic_dev = NULL;
	s->atomics = false;
}

/* The same.  The last use of the namespace: a disable may go on. */
void pmof_session_leave_ns(struct pmof_session *s)
{
	pmof_rights_drop(s);
	pmof_session_leave_atomics(s);
	pmof_session_count(s, false);
	WRITE_ONCE(s->ns->nr_sessions, s->ns->nr_sessions - 1);
	s->ns = NULL;
}

/* What a drained session had is another's to take; no login finds it any more. */
void pmof_session_supersede(struct pmof_session *s)
{
	lockdep_assert_held(&pmof_sessions_mutex);
	s->superseded = true;
	pmof_rights_drop(s);
	pmof_session_count(s, false);
}

/*
 * [V2] @old has no queue pair any more, and its client is back: with the ID of
 * the session that it wants to resume, if that is still there, and nobody has ended it
 * for good while what is left of its connection was still being taken apart.
 */
static bool take_place(struct pmof_session *s, struct pmof_session *old, const struct pmof_login *l)
{
	bool resumes;

	lockdep_assert_held(&pmof_sessions_mutex);
	resumes = old->state == PMOF_SESSION_DETACHED && l->resume_id == old->id &&
		  !test_bit(PMOF_SESSION_FINAL, &old->flags) &&
		  pmof_rights_check_resume(s, old, l);
	if (resumes)
		pmof_limits_inherit(s, old);
	pmof_session_supersede(old);
	if (!resumes)
		pmof_session_end(old);
	return resumes;
}

/*
 * Whoever has not got in must not take the ID along: the service is told by ID who is gone.
 * Nor what was kept for it: nobody is charged for that any more.
 */
static void end_resumed(struct pmof_session *s, struct pmof_session *old, bool entered)
{
	if (entered) {
		swap(s->id, old->id);
		s->resumed = true;
	} else {
		pmof_rights_forget_key(s);
		pmof_rights_drop(s);
	}
	pmof_session_end(old);
	put_device(&old->dev);
}

/*
 * May one more login wait until @old, referenced, is drained?  All that do look at every session
 * again for each that is, so they are few.  -EAGAIN, or PMOF_SC_BUSY, and puts it.
 */
int pmof_session_may_wait(struct pmof_session *old)
{
	lockdep_assert_held(&pmof_sessions_mutex);
	if (old->waiters < PMOF_SRV_MAX_WAITERS)
		return -EAGAIN;
	put_device(&old->dev);
	return PMOF_SC_BUSY;
}

/*
 * One step of finding the namespace: returns 0 once the session is in it, a
 * PMOF_SC_* code, or -EAGAIN with an older session of the same connection in
 * *old, referenced, which must be drained first.
 */
static int try_enter(struct pmof_session *s, const struct pmof_login *l,
		     struct pmof_session **old)
{
	struct pmof_session *resumed = NULL;
	struct pmof_ns *ns;
	int status;

	lockdep_assert_held(&pmof_sessions_mutex);
	if (s->state != PMOF_SESSION_OPEN || s->refused || pmof_session_ending(s))
		return PMOF_SC_INVALID;
	ns = find_ns(s->port, l->name);
	if (!ns)
		return PMOF_SC_NO_NAMESPACE;
	status = pmof_rights_check(s, ns, l);
	if (status)
		return status;
	while ((*old = pmof_session_find_instance(s, ns, l))) {
		/* The client has given up this connection for that one. */
		if ((*old)->serial > s->serial) {
			put_device(&(*old)->dev);
			status = PMOF_SC_NO_SESSION;
			break;
		}
		if (!completion_done(&(*old)->drained)) {
			status = pmof_session_may_wait(*old);
			break;
		}
		if (take_place(s, *old, l))
			resumed = *old;
		else
			put_device(&(*old)->dev);
	}
	if (!*old)
		status = pmof_rights_take(s, ns, l, old);
	/* Who resumes has the place of the one that it resumes. */
	if (!status && !resumed && !pmof_session_make_room()) {
		pmof_rights_drop(s);
		status = PMOF_SC_BUSY;
	}
	if (resumed)
		end_resumed(s, resumed, !status);
	if (!status)
		enter_ns(s, ns, l);
	return status;
}

/*
 * @s waits until @old, referenced, is drained, and no longer: what is left of that is ib_cm's.
 * There is no circle: who is waited for is in a namespace already, so its own login waits for
 * nobody.
 */
static void start_waiting(struct pmof_session *s, struct pmof_session *old)
{
	lockdep_assert_held(&pmof_sessions_mutex);
	old->waiters++;
	s->awaits = old;
	pmof_session_lost(old);
}

/* Its login looks again, or never will. */
void pmof_session_stop_waiting(struct pmof_session *s)
{
	lockdep_assert_held(&pmof_sessions_mutex);
	if (!s->awaits)
		return;
	s->awaits->waiters--;
	put_device(&s->awaits->dev);
	s->awaits = NULL;
}

/*
 * Who waits until @old is drained looks again.  Behind the completion, and under the mutex: a
 * login that has not seen it complete waits by now.
 */
void pmof_session_wake_waiters(const struct pmof_session *old)
{
	struct pmof_session *s;

	mutex_lock(&pmof_sessions_mutex);
	if (old->waiters)
		list_for_each_entry(s, &pmof_sessions, entry)
			if (s->awaits == old)
				pmof_session_kick_admin(s);
	mutex_unlock(&pmof_sessions_mutex);
}

/* As try_enter(); -EAGAIN: begins again once the one in its way is drained. */
static int find_and_enter(struct pmof_session *s, const struct pmof_login *l)
{
	struct pmof_session *old;
	int status;

	mutex_lock(&pmof_sessions_mutex);
	/* In the same hold as its next wait: nobody else gets the place meanwhile. */
	pmof_session_stop_waiting(s);
	/* One that is detached is drained: once it is not to be resumed it is nobody's rival. */
	while ((status = try_enter(s, l, &old)) == -EAGAIN && completion_done(&old->drained))
		put_device(&old->dev);
	if (status == -EAGAIN)
		start_waiting(s, old);
	else
		s->taking = NULL;
	mutex_unlock(&pmof_sessions_mutex);
	return status;
}

static u64 features_of(const struct pmof_session *s)
{
	return (s->atomics ? PMOF_FEAT_ATOMICS : 0) |
	       (s->ns->service_ops ? PMOF_FEAT_CALL : 0);
}

static void fill_reply(const struct pmof_session *s, struct pmof_login_reply *r)
{
	const struct pmof_ns *ns = s->ns;

	*r = (struct pmof_login_reply) {
		.session_id	= s->id,
		.generation	= ns->generation,
		.ns_size	= ns->size,
		.segment_size	= 1ULL << s->layout.shift,
		.features	= features_of(s),
		.nr_segments	= pmof_layout_segments(&s->layout),
		.methods	= s->methods,
		.nr_queues	= s->nr_queues,
		.max_ranges	= PMOF_MAX_RANGES,
		.max_inline	= PMOF_MAX_INLINE,
		.domain		= ns->domain,
		.placement	= s->placed.placement,
		.call_size	= s->call_size,
		.writers	= s->writers,
		.history	= ns->history,
		.service	= ns->service_ops ? ns->service_ops->id : PMOF_SERVICE_RAW,
	};
	if (!(s->granted & PMOF_RIGHT_WRITE))
		r->flags |= PMOF_LOGIN_R_READ_ONLY;
	if (s->exclusive)
		r->flags |= PMOF_LOGIN_R_EXCLUSIVE;
	if (ns->durable)
		r->flags |= PMOF_LOGIN_R_DURABLE;
	if (s->placed.how == PMOF_PLACED_ASSERTED)
		r->flags |= PMOF_LOGIN_R_ASSERTED;
	if (s->resumed)
		r->flags |= PMOF_LOGIN_R_RESUMED;
	if (pmof_emulates(&ns->emulate))
		r->flags |= PMOF_LOGIN_R_EMULATED;
}

static void grant(struct pmof_session *s, const struct pmof_login *l)
{
	mutex_lock(&pmof_sessions_mutex);
	if (s->state == PMOF_SESSION_OPEN) {
		WRITE_ONCE(s->state, PMOF_SESSION_LIVE);
		pmof_session_watch(s, l);
	}
	mutex_unlock(&pmof_sessions_mutex);
	/* Pairs with the rpc table's acquire: now its messages are served. */
	smp_store_release(&s->rights, s->granted);
}

static int choose_segments(struct pmof_session *s)
{
	int rc = pmof_segments_choose(s);

	if (rc && rc != -EOPNOTSUPP)
		return PMOF_SC_NO_MEMORY;
	if (rc) {
		pr_warn_ratelimited("%s: no usable way to register %s on %s\n",
				    dev_name(&s->dev), pmof_ns_name(s->ns),
				    dev_name(&s->ib_dev->dev));
		return PMOF_SC_UNSUPPORTED;
	}
	return 0;
}

/*
 * What may fail once the session is in its namespace.  The rights are not set
 * yet, so the trial maps for reading only; the real MRs come later.
 */
static int prepare(struct pmof_session *s, const struct pmof_key *key,
		   struct pmof_login_reply *r)
{
	int status;

	/* First: one that has resumed another is kept if something fails, for all to see. */
	if (device_add(&s->dev))
		return PMOF_SC_NO_MEMORY;
	s->in_sysfs = true;
	status = choose_segments(s);
	if (status)
		return status;
	mutex_lock(&pmof_sessions_mutex);
	status = pmof_limits_charge(s, PMOF_LIMIT_SEGMENTS, pmof_layout_segments(&s->layout));
	if (!status && s->granted & PMOF_RIGHT_WRITE)
		count_writer(s);
	s->writers = s->ns->writers;
	mutex_unlock(&pmof_sessions_mutex);
	if (status)
		return status;
	fill_reply(s, r);
	return pmof_rights_sign_reply(s, key, r);
}

/* The whole of it, behind the proof of who asks.  Returns as pmof_session_login(). */
static int enter(struct pmof_session *s, const struct pmof_login *l, const struct pmof_key *key,
		 struct pmof_login_reply *r)
{
	int status = find_and_enter(s, l);

	if (status)
		return status;
	status = prepare(s, key, r);
	if (!status)
		return 0;
	/* Ahead of the mutex, which the service, and who reads in sysfs, take, too. */
	if (!s->resumed) {
		pmof_session_hide(s);
		pmof_service_gone(s);
	}
	mutex_lock(&pmof_sessions_mutex);
	s->refused = true;	/* a second try ends the session */
	/* What has been resumed stays its client's once this connection is gone. */
	if (!s->resumed)
		pmof_session_leave_ns(s);
	mutex_unlock(&pmof_sessions_mutex);
	return status;
}

/*
 * Logs a session in.  Admin work.  Returns 0 with *r filled, or -EAGAIN: another session has to
 * be drained first, then the admin work is kicked and calls this again with the same @l; or a
 * PMOF_SC_* code, and then the session has no namespace, but for one that would have resumed
 * another: that waits there.
 */
int pmof_session_login(struct pmof_session *s, const struct pmof_login *l,
		       struct pmof_login_reply *r)
{
	struct pmof_key key;
	int status = 0;

	if (s->login_waits)
		pmof_rights_get_proved(s, &key);
	else
		status = pmof_rights_prove(s, l, &key);
	if (!status)
		status = enter(s, l, &key, r);
	s->login_waits = status == -EAGAIN;
	memzero_explicit(&key, sizeof(key));
	if (status)
		return status;
	grant(s, l);
	pr_debug("session%d of %s (%pISpc): %s %s%s\n", s->number, s->who.client_id, &s->peer,
		 s->resumed ? "resumed on" : "logged in to", pmof_ns_name(s->ns),
		 s->rights & PMOF_RIGHT_WRITE ? "" : ", read-only");
	return 0;
}

/* The client leaves on purpose: nothing of the session is kept. */
void pmof_session_logout(struct pmof_session *s)
{
	mutex_lock(&pmof_sessions_mutex);
	s->loss_timeout = 0;
	mutex_unlock(&pmof_sessions_mutex);
}
