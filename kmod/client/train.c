// SPDX-License-Identifier: GPL-2.0
/*
 * Trains: durable puts of one queue that one READ, or one message, makes durable
 * together.
 *
 * A durable put starts a train, and is its leader: its WRITEs and what makes
 * them durable are posted at once.  While as many are under way as may be, it
 * waits instead: only its WRITEs are posted.  A train that arrives lets the next
 * one go, which takes all that wait: its leader is one of them, and posts what
 * makes the puts of all durable.
 */
#include "client.h"

static struct pmof_slot *node_slot(struct llist_node *node)
{
	return node ? llist_entry(node, struct pmof_slot, train) : NULL;
}

void pmof_trains_init(struct pmof_queue *q)
{
	atomic_set(&q->nr_trains, 0);
	q->train_refused = false;
	init_llist_head(&q->waiting);
}

/*
 * Whether one more may be under way; it counts then.  So few that under load most
 * puts wait for company; so many that with little load nobody waits.
 */
static bool train_start(struct pmof_queue *q)
{
	int n = atomic_read(&q->nr_trains);

	do {
		if (n >= READ_ONCE(q->conn->trains))
			return false;
	} while (!atomic_try_cmpxchg(&q->nr_trains, &n, n + 1));
	return true;
}

/* Ends the list behind the last that a message may name; returns what is left over. */
static struct llist_node *train_cut(struct pmof_slot *leader)
{
	u32 most = min_t(u32, PMOF_PERSIST_RANGES, leader->q->conn->login.max_ranges);
	struct llist_node **at = &leader->riders, *left;
	u64 bytes = leader->range.length;
	u32 n = 1;

	while (*at && n < most) {
		bytes += node_slot(*at)->range.length;
		if (bytes > PMOF_PERSIST_BYTES)
			break;
		at = &(*at)->next;
		n++;
	}
	left = *at;
	*at = NULL;
	return left;
}

/*
 * @first: the oldest.  They were there before who has come since: [T5] they are among the
 * next that leave, but for those few who came between the taking and now.
 */
static void wait_again(struct pmof_queue *q, struct llist_node *first)
{
	struct llist_node *last = first;

	if (!first)
		return;
	/* The list has its newest first. */
	first = llist_reverse_order(first);
	llist_add_batch(first, last, &q->waiting);
}

/*
 * A train of those in @first, the oldest of which is its leader.
 *
 * [T1] Their WRITEs have been posted: a slot is in the list only after that.  So
 * what is posted here is behind all of them, on their queue.
 */
static void train_leave(struct pmof_queue *q, struct llist_node *first)
{
	struct pmof_slot *leader = node_slot(first);
	struct pmof_tail tail;

	leader->riders = first->next;
	leader->leads = true;
	wait_again(q, train_cut(leader));
	if (pmof_slot_post_tail(leader, leader->persist->tail(leader, &tail)))
		return;
	/* The connection is lost.  Their WRITEs may be with the HCA: they end behind the drain. */
	WRITE_ONCE(q->train_refused, true);
	leader->leads = false;
	first->next = leader->riders;
	leader->riders = NULL;
	wait_again(q, first);
}

/* The caller is inside pmof_post_begin(). */
static void trains_go(struct pmof_queue *q)
{
	struct llist_node *first;

	while (!llist_empty(&q->waiting) && !READ_ONCE(q->train_refused) && train_start(q)) {
		/* [T5] The oldest first, or under load it would wait for as long as that lasts. */
		first = llist_reverse_order(llist_del_all(&q->waiting));
		if (first) {
			train_leave(q, first);
		} else {
			atomic_dec(&q->nr_trains);
			smp_mb__after_atomic();	/* as in pmof_train_end() */
		}
	}
}

/**
 * pmof_train_post - post a durable put
 * @slot: filled; the caller is inside pmof_post_begin(), whose reference passes
 *	to the slot
 * @chain: its WRITEs, or its atomic
 * @range: what it makes durable
 * @persist: method, which has a tail
 */
void pmof_train_post(struct pmof_slot *slot, struct pmof_chain *chain,
		     const struct pmof_range *range, const struct pmof_persist_ops *persist)
{
	struct pmof_queue *q = slot->q;
	struct pmof_tail tail;

	slot->range = *range;
	slot->persist = persist;
	if (train_start(q)) {
		slot->leads = true;
		pmof_chain_add(chain, persist->tail(slot, &tail));
		pmof_slot_post(slot, chain->first, pmof_tail_events(chain->last));
		return;
	}
	if (!pmof_slot_post_part(slot, chain->first))
		return;
	/* Behind the post [T1]; a full barrier, as it pairs with pmof_train_end()'s. */
	llist_add(&slot->train, &q->waiting);
	trains_go(q);
}

/* No train will come for them: the connection is lost, and the HCA is done with their WRITEs. */
static void lose_all(struct llist_node *node)
{
	struct pmof_slot *slot;

	while (node) {
		slot = node_slot(node);
		node = node->next;
		slot->status = -PMOF_LOST;
		pmof_slot_event(slot);
	}
}

/* Each leaves by itself: more trains than may be, for once. */
static void leave_apart(struct pmof_queue *q, struct llist_node *node)
{
	struct llist_node *next;

	for (; node; node = next) {
		next = node->next;
		node->next = NULL;
		atomic_inc(&q->nr_trains);
		train_leave(q, node);
	}
}

/**
 * pmof_train_split - a train may have met a bad sector
 * @leader: its slot is about to end
 *
 * [T4] A message is refused as a whole, and only one of those that it names may touch
 * the bad sector.  Then each of them has a message of its own, and hears what is said
 * of its own range.  Their WRITEs are where they were: in front of it [T1].
 *
 * Return: false: that is not so, and it ends; true: none of them has ended.
 */
bool pmof_train_split(struct pmof_slot *leader)
{
	struct llist_node *node = &leader->train;
	struct pmof_queue *q = leader->q;

	if (likely(leader->status != -ENODATA || !leader->riders))
		return false;
	node->next = leader->riders;
	leader->riders = NULL;
	leader->leads = false;
	leader->status = 0;
	/* As one that waits: its message has been sent and answered. */
	atomic_set(&leader->pending, 1);
	atomic_dec(&q->nr_trains);
	if (pmof_post_begin(q->conn)) {
		leave_apart(q, node);
		pmof_conn_leave(q->conn);
		pmof_post_end();
	} else {
		/*
		 * Not to the list: the teardown may have looked at it already, as it does
		 * not wait for who polls.  What has completed was behind their WRITEs [T1].
		 */
		lose_all(node);
	}
	return true;
}

/**
 * pmof_train_end - a train has arrived, or will not
 * @leader: its slot is about to end
 *
 * [T2] Only now its riders end: what has completed was posted behind their
 * WRITEs.  If it has failed, so have they.
 */
void pmof_train_end(struct pmof_slot *leader)
{
	struct pmof_slot *rider = node_slot(leader->riders), *next;
	struct pmof_queue *q = leader->q;

	leader->leads = false;
	leader->riders = NULL;
	atomic_dec(&q->nr_trains);
	/* Either we see who has come to wait, or that one sees our place free. */
	smp_mb__after_atomic();
	if (!llist_empty(&q->waiting) && pmof_post_begin(q->conn)) {
		trains_go(q);
		pmof_conn_leave(q->conn);
		pmof_post_end();
	}
	for (; rider; rider = next) {
		next = node_slot(rider->train.next);
		if (leader->status)
			cmpxchg(&rider->status, 0, leader->status);
		pmof_slot_event(rider);
	}
}

/*
 * Teardown: the queue pair is drained, and nobody posts any more: no train will
 * come for those that wait.
 */
void pmof_trains_abort(struct pmof_queue *q)
{
	lose_all(llist_del_all(&q->waiting));
}
