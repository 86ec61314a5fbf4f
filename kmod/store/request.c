// SPDX-License-Identifier: GPL-2.0
/*
 * Requests: how they come in, by themselves or many in one message, and how they end.  Those of
 * one message are requests as any other, each with its number and outcome.  What they share is the
 * message and the answer, which is sent when the last of them is through.
 */
#include <linux/mm.h>
#include <linux/overflow.h>

#include "store.h"

/* A message of many. */
struct store_batch {
	struct pmof_call *call;
	u32 nr;
	u32 left;			/* parts that are not through */
	bool dropped;			/* one was: nobody waits for the answer */
	bool failed;			/* what has come of one is not known */
	struct store_req part[];
};

static const struct store_op *find_op(u8 opcode)
{
	unsigned int i;

	for (i = 0; i < pmof_store_nr_changes; i++)
		if (pmof_store_changes[i].opcode == opcode)
			return &pmof_store_changes[i];
	for (i = 0; i < pmof_store_nr_reads; i++)
		if (pmof_store_reads[i].opcode == opcode)
			return &pmof_store_reads[i];
	if (pmof_store_check.opcode == opcode)
		return &pmof_store_check;
	return NULL;
}

u8 pmof_store_time_of(const struct store_req *r)
{
	return r->op ? r->op->time : 0;
}

/* --- in --------------------------------------------------------------------------- */

/* The door: all that a client's program has written is looked at here. */
static u32 parse(struct store *st, struct store_req *r)
{
	const struct pmof_kv_request *w = r->data;
	u32 status;

	if (!r->op || r->length < r->op->min_length)
		return PMOF_KV_SC_INVALID;
	r->context = pmof_store_get_context(st, r->call, &status);
	if (!r->context)
		return status;
	if (r->op->min_length) {
		pmof_store_report_epoch(st, r->context, le64_to_cpu(w->epoch));
		r->number = le64_to_cpu(w->number);
	}
	return r->op->parse(st, r);
}

/* @r names its message, and is zero but for that. */
static void take(struct store *st, struct store_req *r, u8 opcode)
{
	r->op = find_op(opcode);
	r->status = parse(st, r);
	r->arrival = st->arrivals++;
	list_add_tail(&r->entry, &st->pending);
	pmof_store_charge(st, pmof_store_time_of(r));
}

/* Only what is answered with no more than a reply. */
static bool may_be_part(u8 opcode)
{
	return opcode == PMOF_KV_PUT_INLINE || opcode == PMOF_KV_DELETE;
}

static u64 part_length(const struct pmof_kv_part *p)
{
	return round_up(sizeof(*p) + (u64)le32_to_cpu(p->length), 8);
}

/* Do so many parts fill the message?  What they ask for is looked at when they are taken. */
static bool parts_ok(const struct pmof_call *call, u32 nr)
{
	u32 at = sizeof(struct pmof_kv_batch), i;

	for (i = 0; i < nr; i++) {
		const struct pmof_kv_part *p = call->data + at;

		if (call->length - at < sizeof(*p) || call->length - at < part_length(p))
			return false;
		if (!may_be_part(p->opcode) || memchr_inv(p->reserved, 0, sizeof(p->reserved)))
			return false;
		at += part_length(p);
	}
	return at == call->length;
}

/* Is it as long as it says? */
static bool batch_ok(const struct pmof_call *call)
{
	const struct pmof_kv_batch *w = call->data;
	u32 nr;

	if (call->length < sizeof(*w) || w->reserved)
		return false;
	nr = le32_to_cpu(w->count);
	return nr && nr <= PMOF_KV_BATCH_MAX && parts_ok(call, nr);
}

/* Returns NULL, and *status says why. */
static struct store_batch *make_batch(struct pmof_call *call, u32 *status)
{
	const struct pmof_kv_batch *w = call->data;
	struct store_batch *b;
	u32 nr;

	*status = PMOF_KV_SC_INVALID;
	if (!batch_ok(call))
		return NULL;
	nr = le32_to_cpu(w->count);
	*status = PMOF_KV_SC_NO_MEMORY;
	b = kvzalloc(struct_size(b, part, nr), GFP_KERNEL);
	if (!b)
		return NULL;
	b->call = call;
	b->nr = nr;
	b->left = nr;
	return b;
}

/* @whole: the message's own, that the parts take the place of, or that is refused for all. */
static void take_batch(struct store *st, struct store_req *whole)
{
	struct pmof_call *call = whole->call;
	struct pmof_kv_batch_reply *reply = call->reply;
	const void *at = call->data + sizeof(struct pmof_kv_batch);
	struct store_batch *b;
	u32 i;

	b = make_batch(call, &whole->status);
	if (!b) {
		pmof_call_reply(call, pmof_store_reply_status(whole));
		return;
	}
	store_count(st, PMOF_KV_STAT_BATCHES, 1);
	st->nr_parts += b->nr;
	for (i = 0; i < b->nr; i++) {
		const struct pmof_kv_part *p = at;
		struct store_req *r = &b->part[i];

		r->call = call;
		r->batch = b;
		r->data = p->request;
		r->length = le32_to_cpu(p->length);
		r->reply = &reply->part[i];
		r->came = whole->came;
		take(st, r, p->opcode);
		at += part_length(p);
	}
}

/* It has not begun, and will not: who asks for its outcome is told so. */
static void refuse(struct store *st, struct store_req *r)
{
	if (r->op && r->op->cancel)
		r->op->cancel(st, r);
	if (!r->context)
		return;
	if (r->op->start && !r->known)
		pmof_store_remember(r->context, r->number, PMOF_KV_SC_NO_LEASE, 0);
	pmof_store_put_context(st, r->context);
}

/* Nobody waits for it any more, and it has not been taken: its parts are refused where they are. */
static void drop_batch(struct store *st, struct store_req *whole)
{
	const struct pmof_kv_batch *w = whole->data;
	const void *at = whole->data + sizeof(*w);
	u32 i, nr = batch_ok(whole->call) ? le32_to_cpu(w->count) : 0;

	for (i = 0; i < nr; i++) {
		const struct pmof_kv_part *p = at;
		struct store_req r = {
			.call	= whole->call,
			.data	= p->request,
			.length	= le32_to_cpu(p->length),
			.op	= find_op(p->opcode),
		};

		r.status = parse(st, &r);
		refuse(st, &r);
		at += part_length(p);
	}
	pmof_call_drop(whole->call);
}

void pmof_store_take_call(struct store *st, struct pmof_call *call)
{
	struct store_req *r = (struct store_req *)call->private;

	memset(r, 0, sizeof(*r));
	r->call = call;
	r->data = call->data;
	r->length = call->length;
	r->reply = call->reply;
	r->came = jiffies;
	if (call->opcode == PMOF_KV_BATCH) {
		list_add_tail(&r->entry, &st->batches);
		return;
	}
	take(st, r, call->opcode);
}

/* Whoever comes by himself has no more than two rounds of parts ahead of him. */
bool pmof_store_may_take_batch(const struct store *st)
{
	return st->nr_parts - st->nr_parts_starved < STORE_ROUND && st->nr_parts < STORE_PARTS;
}

/* There may be thousands that wait: they are gone through now and then only. */
void pmof_store_take_batches(struct store *st)
{
	bool sweep = !time_before(jiffies, st->next_sweep);
	struct store_req *r, *next;

	if (sweep)
		st->next_sweep = jiffies + STORE_WAIT_STEP;
	list_for_each_entry_safe(r, next, &st->batches, entry) {
		if (pmof_call_ending(r->call)) {
			list_del(&r->entry);
			drop_batch(st, r);
		} else if (pmof_store_may_take_batch(st)) {
			list_del(&r->entry);
			take_batch(st, r);
		} else if (!sweep) {
			break;
		}
	}
}

/* --- out -------------------------------------------------------------------------- */

static void answer_batch(struct store_batch *b)
{
	struct pmof_kv_batch_reply *w = b->call->reply;
	u32 i;

	w->reply = (struct pmof_kv_reply){};
	for (i = 0; i < b->nr; i++)
		if (b->part[i].changed)
			pmof_store_mark(&b->part[i]);
	pmof_call_reply(b->call, struct_size(w, part, b->nr));
}

/* [K3] Each has seen to it that what its part of the answer says is durable. */
static void end_part(struct store *st, struct store_batch *b)
{
	st->nr_parts--;
	if (--b->left)
		return;
	if (b->dropped)
		pmof_call_drop(b->call);
	else if (b->failed)
		pmof_call_fail(b->call, PMOF_SC_INTERNAL);
	else
		answer_batch(b);
	kvfree(b);
}

/* Nobody waits for it any more, and it has not begun.  Gone with this, as with the next two. */
void pmof_store_drop(struct store *st, struct store_req *r)
{
	list_del(&r->entry);
	refuse(st, r);
	if (!r->batch) {
		pmof_call_drop(r->call);
		return;
	}
	r->batch->dropped = true;
	end_part(st, r->batch);
}

/* What has come of it is not known. */
void pmof_store_fail(struct store *st, struct store_req *r)
{
	if (r->op->cancel)
		r->op->cancel(st, r);
	if (!r->batch) {
		pmof_call_fail(r->call, PMOF_SC_INTERNAL);
		return;
	}
	r->batch->failed = true;
	end_part(st, r->batch);
}

void pmof_store_answer(struct store *st, struct store_req *r)
{
	u32 length = r->context ? r->op->finish(st, r) : pmof_store_reply_status(r);

	if (r->batch) {
		end_part(st, r->batch);
		return;
	}
	pmof_call_reply(r->call, length);
}
