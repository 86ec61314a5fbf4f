// SPDX-License-Identifier: BSD-3-Clause
/* Messages of many: what the tasks of a round would send each by itself, and what is answered. */
#include <stdlib.h>

#include "internal.h"

static size_t part_length(const struct kv_task *t)
{
	return (sizeof(struct pmof_kv_part) + t->call.length + 7) & ~(size_t)7;
}

static size_t reply_length(const struct kv_pack *p)
{
	return sizeof(*p->reply) + p->nr * sizeof(p->reply->part[0]);
}

/* Takes a task's message part in another one?  Nothing else of it may belong to this round. */
static bool is_part(const struct kv_task *t)
{
	return t->stage && !t->data.opcode && t->call.opcode &&
	       (t->call.call == PMOF_KV_PUT_INLINE || t->call.call == PMOF_KV_DELETE);
}

static bool fits(const struct pmofkv *kv, const struct kv_pack *p, const struct kv_task *t)
{
	return p->nr < PMOF_KV_BATCH_MAX && p->task[0]->session == t->session &&
	       p->length + part_length(t) <= kv->max_call;
}

/* Which tasks go together: in their order, as many to a message as it takes. */
static unsigned int group(struct kv_packs *ps, struct pmofkv *kv, struct kv_task **tasks,
			  unsigned int nr)
{
	struct kv_pack *p = NULL;
	unsigned int i, n = 0;

	for (i = 0; i < nr; i++) {
		if (!is_part(tasks[i]))
			continue;
		if (!p || !fits(kv, p, tasks[i])) {
			p = &ps->pack[ps->nr++];
			p->task = &ps->task[n];
			p->nr = 0;
			p->length = sizeof(struct pmof_kv_batch);
		}
		p->length += part_length(tasks[i]);
		p->nr++;
		ps->task[n++] = tasks[i];
	}
	return n;
}

/* Puts the message at @at, with room for the answer behind it. */
static void fill(struct kv_pack *p, unsigned char *at)
{
	struct pmof_kv_batch *m = (void *)at;
	unsigned int i;

	*m = (struct pmof_kv_batch){ .count = htole32(p->nr) };
	at += sizeof(*m);
	for (i = 0; i < p->nr; i++) {
		const struct kv_task *t = p->task[i];
		struct pmof_kv_part *part = (void *)at;

		*part = (struct pmof_kv_part){
			.length = htole32(t->call.length), .opcode = (uint8_t)t->call.call,
		};
		memcpy(part->request, (const void *)(uintptr_t)t->call.addr, t->call.length);
		memset(part->request + t->call.length, 0,
		       part_length(t) - sizeof(*part) - t->call.length);
		at += part_length(t);
	}
	p->reply = (void *)at;
	pmof_prep_call(&p->op, PMOF_KV_BATCH, m, (uint32_t)p->length, p->reply,
		       (uint32_t)reply_length(p), 0);
	p->op.session = p->task[0]->session;
}

/* A message of one is better off as it is.  Returns the room that the others take. */
static size_t drop_single(struct kv_packs *ps)
{
	unsigned int i, n = 0;
	size_t length = 0;

	for (i = 0; i < ps->nr; i++) {
		if (ps->pack[i].nr < 2)
			continue;
		length += ps->pack[i].length + reply_length(&ps->pack[i]);
		ps->pack[n++] = ps->pack[i];
	}
	ps->nr = n;
	return length;
}

/* Returns false if there is nothing to put together, or no memory. */
static bool make(struct kv_packs *ps, struct pmofkv *kv, struct kv_task **tasks, unsigned int nr)
{
	unsigned char *at;
	unsigned int i, j;

	ps->nr = 0;
	if (group(ps, kv, tasks, nr) < 2)
		return false;
	ps->room = malloc(drop_single(ps) + 1);
	if (!ps->room)
		return false;
	for (i = 0, at = ps->room; i < ps->nr; i++) {
		fill(&ps->pack[i], at);
		at += ps->pack[i].length + reply_length(&ps->pack[i]);
		for (j = 0; j < ps->pack[i].nr; j++)
			ps->pack[i].task[j]->packed = true;
	}
	return true;
}

/**
 * kv_pack - put the tasks' messages together, as far as they can be
 * @kv: theirs
 * @tasks: filled for this round; out: those whose message is part of one in the result are packed
 * @nr: 1 to KV_ROUND
 *
 * Return: NULL if each goes by itself, also for want of memory; else for kv_unpack().
 */
struct kv_packs *kv_pack(struct pmofkv *kv, struct kv_task **tasks, unsigned int nr)
{
	struct kv_packs *ps = nr > 1 ? malloc(sizeof(*ps)) : NULL;

	if (ps && !make(ps, kv, tasks, nr)) {
		free(ps);
		ps = NULL;
	}
	return ps;
}

/* What has come of a message, and of it as a whole if it was refused, has come of each part. */
static void deliver(const struct kv_pack *p)
{
	const struct pmof_kv_batch_reply *r = p->reply;
	int ret = p->op.result;
	bool whole = !ret && p->op.old == reply_length(p);
	unsigned int i;

	if (!ret && !whole && (p->op.old < sizeof(*r) || !r->reply.status))
		ret = -EPROTO;
	for (i = 0; i < p->nr; i++) {
		struct kv_task *t = p->task[i];

		t->packed = false;
		t->call.result = ret;
		t->call.old = sizeof(r->reply);
		if (!ret)
			memcpy((void *)(uintptr_t)t->call.compare,
			       whole ? &r->part[i] : &r->reply, sizeof(r->reply));
	}
}

/* The messages have been answered, or not begun.  Frees @ps; NULL is taken, too. */
void kv_unpack(struct kv_packs *ps)
{
	unsigned int i;

	if (!ps)
		return;
	for (i = 0; i < ps->nr; i++)
		deliver(&ps->pack[i]);
	free(ps->room);
	free(ps);
}
