// SPDX-License-Identifier: GPL-2.0
/*
 * Limits: how much of the server the sessions of one client may have, all of
 * them together.
 *
 * A session is charged for what it has, or for what is kept for it to come back
 * to where that is more.  Where a limit would refuse the client a new session,
 * those end for it that wait for a client which will hardly come back.
 *
 * All of this is protected by pmof_sessions_mutex.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/jiffies.h>
#include <linux/moduleparam.h>

#include "rights.h"
#include "server.h"

static unsigned int abandoned_seconds = 60;
module_param(abandoned_seconds, uint, 0644);
MODULE_PARM_DESC(abandoned_seconds, "a session that has been detached for so long ends where its client's limits would refuse the client a new one");

static u64 charged(const struct pmof_session *s, enum pmof_limit limit, u64 used)
{
	return pmof_grant_charged(s->had[limit], used);
}

/* From here on @s is one of @client's, or, if that is NULL, of nobody who has limits. */
void pmof_limits_set_client(struct pmof_session *s, struct pmof_client *client)
{
	int i;

	lockdep_assert_held(&pmof_sessions_mutex);
	s->client = client;
	for (i = 0; client && i < PMOF_NR_LIMITS; i++)
		client->used[i] += charged(s, i, s->used[i]);
}

/* --- what may be had ------------------------------------------------------------------- */

/*
 * Is it kept for a client that will hardly come back to it?  Not one whose link was down for a
 * moment: it is in the way of that client's next connection, but alive.  One that has been ended
 * already is kept for nobody, and only its end has not been worked off.
 */
static bool is_abandoned(const struct pmof_session *o)
{
	if (o->state != PMOF_SESSION_DETACHED)
		return false;
	return test_bit(PMOF_SESSION_FINAL, &o->flags) ||
	       time_after_eq(jiffies, o->detached_at +
			     READ_ONCE(abandoned_seconds) * (unsigned long)HZ);
}

static u64 may_have(const struct pmof_session *s, enum pmof_limit limit)
{
	const struct pmof_client *client = s->client;

	return pmof_grant_most(client ? client->limit[limit] : 0, client ? client->used[limit] : 0,
			       charged(s, limit, s->used[limit]));
}

/*
 * As may_have() of a session that is charged for @own already, behind the end of all those of
 * its client that would end for it: what is abandoned, and what @ends, if given, says of.
 */
static u64 may_get(const struct pmof_client *client, enum pmof_limit limit, u64 own,
		   pmof_session_match_fn *ends, const void *arg)
{
	const struct pmof_session *o;
	u64 given_back = 0;

	list_for_each_entry(o, &pmof_sessions, entry)
		if (o->client == client && (is_abandoned(o) || (ends && ends(o, arg))))
			given_back += charged(o, limit, o->used[limit]);
	return pmof_grant_most(client->limit[limit], client->used[limit] - given_back, own);
}

/* Says which limit it was.  PMOF_SC_BUSY. */
int pmof_limits_refuse(const struct pmof_session *s, enum pmof_limit limit)
{
	static const char * const name[PMOF_NR_LIMITS] = {
		"sessions", "queues", "segments", "memory",
	};

	pr_info_ratelimited("%s (%pISpc): limit of %s reached\n", s->who.client_id, &s->peer,
			    name[limit]);
	return PMOF_SC_BUSY;
}

/*
 * Which of @client's limits will not let @s in, even if all end of whom @ends is true;
 * PMOF_NR_LIMITS: none.  Asked before they end: they would have ended for nobody.  A device whose
 * segments are smaller may still be refused behind that.
 */
enum pmof_limit pmof_limits_check(const struct pmof_session *s, const struct pmof_client *client,
				  const struct pmof_ns *ns, pmof_session_match_fn *ends,
				  const void *arg)
{
	const u64 want[PMOF_NR_LIMITS] = {
		[PMOF_LIMIT_SESSIONS] = 1, [PMOF_LIMIT_QUEUES] = 1,
		[PMOF_LIMIT_SEGMENTS] = DIV_ROUND_UP_ULL(ns->size, PMOF_MAX_SEGMENT),
	};
	int i;

	lockdep_assert_held(&pmof_sessions_mutex);
	for (i = 0; client && i < PMOF_NR_LIMITS; i++)
		if (charged(s, i, want[i]) > may_get(client, i, 0, ends, arg))
			return i;
	return PMOF_NR_LIMITS;
}

/* --- charging -------------------------------------------------------------------------- */

static void use(struct pmof_session *s, enum pmof_limit limit, u64 used)
{
	if (s->client)
		s->client->used[limit] += charged(s, limit, used) -
					  charged(s, limit, s->used[limit]);
	s->used[limit] = used;
}

/* Who ends next for a new session of @client: who has ended already, or was detached longest. */
static struct pmof_session *next_to_end(const struct pmof_client *client)
{
	struct pmof_session *o, *longest = NULL;

	list_for_each_entry(o, &pmof_sessions, entry) {
		if (o->client != client || !is_abandoned(o))
			continue;
		if (test_bit(PMOF_SESSION_FINAL, &o->flags))
			return o;
		longest = longest ?: o;
	}
	return longest;
}

/*
 * A client that was switched off comes as another instance, and has no use for what is kept for
 * the one before: that ends, as far as the client's limit wants it.  Nobody ends where that is
 * not enough for @used.
 */
static bool make_room(const struct pmof_session *s, enum pmof_limit limit, u64 used)
{
	const struct pmof_client *client = s->client;
	struct pmof_session *o;

	if (used > may_get(client, limit, charged(s, limit, s->used[limit]), NULL, NULL))
		return false;
	/* Whom nobody comes back to is not the client's any more: it is another one each time. */
	while (used > may_have(s, limit) && (o = next_to_end(client))) {
		pr_info_ratelimited("%s (%pISpc): session%d, which waited for its client, ends for a new one\n",
				    s->who.client_id, &s->peer, o->number);
		pmof_session_supersede(o);
		pmof_session_end(o);
	}
	return true;
}

/* Counts @n more of the client's.  0, or PMOF_SC_BUSY if it may not have them. */
int pmof_limits_charge(struct pmof_session *s, enum pmof_limit limit, u64 n)
{
	u64 used = s->used[limit] + n;

	lockdep_assert_held(&pmof_sessions_mutex);
	if (used > may_have(s, limit) && !make_room(s, limit, used))
		return pmof_limits_refuse(s, limit);
	use(s, limit, used);
	return 0;
}

static u32 wanted_queues(u16 asked)
{
	return clamp_t(u32, asked, 1, min_t(u32, 2 * num_possible_cpus(), PMOF_SRV_MAX_QUEUES));
}

static bool may_get_more(const struct pmof_client *client, enum pmof_limit limit, u64 want,
			 pmof_session_match_fn *ends, const void *arg)
{
	u64 now = may_get(client, limit, 0, NULL, NULL);

	return now < want && now < may_get(client, limit, 0, ends, arg);
}

/*
 * Would a session that @client's limits let in get fewer @queues than it asks for, or might those
 * be refused when they come, for their memory, and would it be better off without those that @ends
 * is true of?
 */
bool pmof_limits_more(const struct pmof_client *client, u16 queues, u32 call_size,
		      pmof_session_match_fn *ends, const void *arg)
{
	const u64 want = wanted_queues(queues);
	const u64 memory = want * pmof_srv_queue_memory(PMOF_MAX_DEPTH, call_size);

	lockdep_assert_held(&pmof_sessions_mutex);
	return client && (may_get_more(client, PMOF_LIMIT_QUEUES, want, ends, arg) ||
			  may_get_more(client, PMOF_LIMIT_MEMORY, memory, ends, arg));
}

/* Charges for a session and its queues, of which it may get fewer than it @asked for. */
int pmof_limits_charge_queues(struct pmof_session *s, u16 asked)
{
	u32 want = wanted_queues(asked);
	int status = pmof_limits_charge(s, PMOF_LIMIT_SESSIONS, 1);

	if (status)
		return status;
	if (want > may_have(s, PMOF_LIMIT_QUEUES))
		make_room(s, PMOF_LIMIT_QUEUES, want);
	if (!may_have(s, PMOF_LIMIT_QUEUES))
		make_room(s, PMOF_LIMIT_QUEUES, 1);
	s->nr_queues = clamp_t(u64, may_have(s, PMOF_LIMIT_QUEUES), 1, want);
	return pmof_limits_charge(s, PMOF_LIMIT_QUEUES, s->nr_queues);
}

void pmof_limits_uncharge(struct pmof_session *s, enum pmof_limit limit, u64 n)
{
	lockdep_assert_held(&pmof_sessions_mutex);
	use(s, limit, s->used[limit] - n);
}

void pmof_limits_uncharge_all(struct pmof_session *s)
{
	int i;

	for (i = 0; i < PMOF_NR_LIMITS; i++) {
		if (s->client)
			s->client->used[i] -= charged(s, i, s->used[i]);
		s->used[i] = 0;
		s->had[i] = 0;
	}
}

/* [V2] What @old had is kept for @s, which resumes it, from here on; not yet charged. */
void pmof_limits_inherit(struct pmof_session *s, const struct pmof_session *old)
{
	int i;

	lockdep_assert_held(&pmof_sessions_mutex);
	/* @old may have been lost ahead of taking all that it might have: that is had still. */
	for (i = 0; i < PMOF_NR_LIMITS; i++)
		s->had[i] = charged(old, i, old->used[i]);
}
