// SPDX-License-Identifier: GPL-2.0
/* Keys with several writers: shared.h. */
#include <stdlib.h>
#include <string.h>

#include "shared.h"

#define NONE	UINT32_MAX

/* One that was done. Its number is its operation's index in its slot's. */
struct change {
	uint64_t done;		/* from here on it has been, at the latest */
	uint32_t next;		/* that which stands directly behind it, or NONE */
	bool first;		/* of its block */
	uint32_t block;
	uint32_t place;		/* in the block */
	bool started;
};

struct block {
	uint32_t size;
	uint32_t started;	/* of its changes */
	uint32_t acked;		/* changes [0, acked) are acknowledged, or stand before one that is so */
};

/* Rows of bits, one for each block. */
struct order {
	uint64_t *bits;
	size_t words;
};

struct key {
	const struct slot *slot;
	struct change *change;
	struct block *block;
	uint32_t nr_blocks;
	struct order behind;	/* row B: blocks that stand behind B */
	/* Nothing can have happened like that: this operation shows it. */
	uint32_t broken;
	const char *why;
};

struct shared {
	const struct log *log;
	struct key *key;	/* by slot; of other slots there is nothing in it */
	bool *acked;		/* by operation */
};

static const struct op *op_of(const struct shared *s, const struct key *k, uint32_t change)
{
	return &s->log->op[k->slot->ops[change]];
}

static void break_key(struct key *k, uint32_t number, const char *why)
{
	if (k->broken != NONE)
		return;
	k->broken = number;
	k->why = why;
}

/* The put that got a version: its change, or NONE. */
static uint32_t find_put(const struct shared *s, const struct key *k, uint64_t version)
{
	uint32_t i;

	for (i = 0; version && i < k->slot->nr_ops; i++)
		if (op_of(s, k, i)->number && op_of(s, k, i)->version == version)
			return i;
	return NONE;
}

/* --- bits ------------------------------------------------------------------------ */

static bool has(const uint64_t *row, uint32_t bit)
{
	return row[bit / 64] >> bit % 64 & 1;
}

static void set(uint64_t *row, uint32_t bit)
{
	row[bit / 64] |= 1ULL << bit % 64;
}

static uint64_t *row(const struct order *o, uint32_t block)
{
	return o->bits + block * o->words;
}

static void merge(uint64_t *to, const uint64_t *from, size_t words)
{
	size_t w;

	for (w = 0; w < words; w++)
		to[w] |= from[w];
}

/* What is behind what is behind me is behind me. */
static void close_order(struct order *o, uint32_t nr)
{
	uint32_t middle, i;

	for (middle = 0; middle < nr; middle++)
		for (i = 0; i < nr; i++)
			if (has(row(o, i), middle))
				merge(row(o, i), row(o, middle), o->words);
}

/* --- blocks ------------------------------------------------------------------------ */

/* What a change has replaced, or SHARED_NONE if nobody knows. */
static uint64_t replaced(const struct op *op)
{
	if (!op->number)
		return op->version;
	return op->expected == SHARED_ANY ? SHARED_NONE : op->expected;
}

static void link_change(struct shared *s, struct key *k, uint32_t i)
{
	const struct op *op = op_of(s, k, i);
	uint64_t old = replaced(op);
	uint32_t before = find_put(s, k, old);

	if (op->number && find_put(s, k, op->version) != i)
		break_key(k, k->slot->ops[i], "two puts have got one version");
	if (!op->number && op->expected != SHARED_ANY && op->expected != op->version)
		break_key(k, k->slot->ops[i], "a delete that names a version has deleted another");
	k->change[i].first = before == NONE;
	if (!old)
		return;
	if (before == NONE) {
		break_key(k, k->slot->ops[i], "it replaced a version that no put has got");
		return;
	}
	if (k->change[before].next != NONE)
		break_key(k, k->slot->ops[i], "it replaced a version that another change has replaced");
	k->change[before].next = i;
}

static void number_block(struct key *k, uint32_t first)
{
	struct block *b = &k->block[k->nr_blocks];
	uint32_t i;

	for (i = first; i != NONE; i = k->change[i].next) {
		k->change[i].block = k->nr_blocks;
		k->change[i].place = b->size++;
	}
	k->nr_blocks++;
}

static void make_blocks(struct shared *s, struct key *k)
{
	uint32_t nr = k->slot->nr_ops, i, placed = 0;

	for (i = 0; i < nr; i++)
		k->change[i] = (struct change){ .done = op_of(s, k, i)->ack_pos, .next = NONE };
	for (i = 0; i < nr; i++)
		link_change(s, k, i);
	if (k->broken != NONE)
		return;
	for (i = 0; i < nr; i++)
		if (k->change[i].first)
			number_block(k, i);
	for (i = 0; i < k->nr_blocks; i++)
		placed += k->block[i].size;
	if (placed < nr)
		break_key(k, k->slot->ops[0], "some changes replace each other in a circle");
}

/* --- order ------------------------------------------------------------------------- */

/* Change @a stands before @b. */
static void add_order(struct key *k, uint32_t a, uint32_t b, uint32_t number, const char *why)
{
	const struct change *x = &k->change[a], *y = &k->change[b];

	if (x->block != y->block)
		set(row(&k->behind, x->block), y->block);
	else if (x->place > y->place)
		break_key(k, number, why);
}

/* What a get, or who was refused, was told. */
static void see_told(struct shared *s, struct key *k, uint32_t number)
{
	const struct op *op = &s->log->op[number];
	uint32_t told = find_put(s, k, op->version);

	if (op->kind == OP_REFUSED && op->expected == op->version)
		break_key(k, number, "it was refused, and what it expects was there");
	if (!op->version)
		return;
	if (told == NONE)
		break_key(k, number, "it was told a version that no put has got");
	else if (op->kind == OP_LOOK && op->number && op_of(s, k, told)->number != op->number)
		break_key(k, number, "it was given the value of another version");
	else if (op->ack_pos < k->change[told].done)
		k->change[told].done = op->ack_pos;
}

static void order_changes(struct shared *s, struct key *k)
{
	uint32_t nr = k->slot->nr_ops, a, b;

	for (a = 0; a < nr; a++)
		for (b = 0; b < nr; b++)
			if (a != b && k->change[a].done < op_of(s, k, b)->start_pos)
				add_order(k, a, b, k->slot->ops[b],
					  "it stands before what had been done when it began");
}

static void order_told(struct shared *s, struct key *k, uint32_t number)
{
	const struct op *op = &s->log->op[number];
	uint32_t told = find_put(s, k, op->version), i;

	for (i = 0; told != NONE && i < k->slot->nr_ops; i++)
		if (i != told && k->change[i].done < op->start_pos)
			add_order(k, i, told, number, "it was told what had been replaced when it began");
}

static bool is_told(const struct shared *s, const struct key *k, uint32_t number)
{
	const struct op *op = &s->log->op[number];

	return &s->log->slot[op->slot] == k->slot &&
	       (op->kind == OP_REFUSED || op->kind == OP_LOOK);
}

static void make_order(struct shared *s, struct key *k)
{
	uint32_t i;

	for (i = 0; i < s->log->nr_ops; i++)
		if (is_told(s, k, i))
			see_told(s, k, i);
	order_changes(s, k);
	for (i = 0; i < s->log->nr_ops; i++)
		if (is_told(s, k, i))
			order_told(s, k, i);
	close_order(&k->behind, k->nr_blocks);
	for (i = 0; i < k->slot->nr_ops; i++)
		if (has(row(&k->behind, k->change[i].block), k->change[i].block))
			break_key(k, k->slot->ops[i], "it stands before and behind others that nothing stands between");
}

static int make_key(struct shared *s, struct key *k, const struct slot *slot)
{
	uint32_t nr = slot->nr_ops;

	*k = (struct key){ .slot = slot, .broken = NONE, .behind.words = nr / 64 + 1 };
	k->change = calloc(nr + 1, sizeof(*k->change));
	k->block = calloc(nr + 1, sizeof(*k->block));
	k->behind.bits = calloc((nr + 1) * k->behind.words, sizeof(uint64_t));
	if (!k->change || !k->block || !k->behind.bits)
		return -1;
	make_blocks(s, k);
	if (k->broken == NONE)
		make_order(s, k);
	return 0;
}

struct shared *shared_new(const struct log *log)
{
	struct shared *s = calloc(1, sizeof(*s));
	uint32_t i;

	if (!s)
		return NULL;
	s->log = log;
	s->key = calloc(log->nr_slots + 1, sizeof(*s->key));
	s->acked = calloc(log->nr_ops + 1, sizeof(*s->acked));
	if (!s->key || !s->acked)
		goto failed;
	for (i = 0; i < log->nr_slots; i++)
		if (log->slot[i].type == SLOT_SHARED &&
		    make_key(s, &s->key[i], &log->slot[i]))
			goto failed;
	return s;

failed:
	shared_free(s);
	return NULL;
}

void shared_free(struct shared *s)
{
	uint32_t i;

	for (i = 0; s->key && i < s->log->nr_slots; i++) {
		free(s->key[i].change);
		free(s->key[i].block);
		free(s->key[i].behind.bits);
	}
	free(s->key);
	free(s->acked);
	free(s);
}

/* --- what has happened --------------------------------------------------------------- */

static void start_change(struct key *k, uint32_t i)
{
	k->block[k->change[i].block].started += !k->change[i].started;
	k->change[i].started = true;
}

static void ack_change(struct key *k, uint32_t i)
{
	const struct change *c = &k->change[i];
	struct block *b = &k->block[c->block];

	start_change(k, i);
	if (b->acked <= c->place)
		b->acked = c->place + 1;
}

void shared_started(struct shared *s, uint32_t number)
{
	const struct op *op = &s->log->op[number];

	start_change(&s->key[op->slot], op->index);
}

void shared_acked(struct shared *s, uint32_t number)
{
	const struct op *op = &s->log->op[number];
	struct key *k = &s->key[op->slot];
	uint32_t i = op->kind == OP_CHANGE ? op->index : find_put(s, k, op->version);

	s->acked[number] = true;
	/* Of what cannot be there is no order. */
	if (k->broken == NONE && i != NONE)
		ack_change(k, i);
}

/* --- what may be found ----------------------------------------------------------------- */

/*
 * May the change be the last that is there? Blocks of which something is acknowledged, and
 * those before its own, are there, and whole: nothing else may stand in them.
 */
static bool may_be_last(const struct key *k, uint32_t i, const char **why)
{
	const struct change *c = &k->change[i];
	uint32_t b;

	*why = "of a change that had not begun";
	if (!c->started)
		return false;
	*why = "an older version is back, or a newer one lost";
	if (k->block[c->block].acked > c->place + 1)
		return false;
	for (b = 0; b < k->nr_blocks; b++) {
		if (b == c->block ||
		    (!k->block[b].acked && !has(row(&k->behind, b), c->block)))
			continue;
		*why = "an older version is back, or a newer one lost";
		if (has(row(&k->behind, c->block), b))
			return false;
		*why = "it would stand between two versions, of which one replaced the other";
		if (k->block[b].started < k->block[b].size)
			return false;
	}
	return true;
}

/* Before the first change, or behind a delete. */
static bool may_be_none(const struct shared *s, const struct key *k)
{
	const char *why;
	uint32_t i, b;

	for (b = 0; b < k->nr_blocks && !k->block[b].acked; b++)
		;
	if (b == k->nr_blocks)
		return true;
	for (i = k->slot->nr_ops; i-- > 0; )
		if (!op_of(s, k, i)->number && may_be_last(k, i, &why))
			return true;
	return false;
}

/* The newest that is acknowledged. */
static uint32_t last_acked(const struct shared *s, const struct key *k)
{
	uint32_t i = k->slot->nr_ops;

	while (i-- > 0)
		if (s->acked[k->slot->ops[i]])
			return k->slot->ops[i];
	return NONE;
}

const struct op *shared_put(const struct shared *s, uint32_t slot, uint64_t version)
{
	const struct key *k = &s->key[slot];
	uint32_t i = find_put(s, k, version);

	return i == NONE ? NULL : op_of(s, k, i);
}

bool shared_may_be(const struct shared *s, uint32_t slot, uint64_t version,
		   struct shared_fault *fault)
{
	const struct key *k = &s->key[slot];
	uint32_t i = find_put(s, k, version);

	*fault = (struct shared_fault){ last_acked(s, k), k->why };
	if (k->broken != NONE) {
		fault->op = k->broken;
		return !s->acked[k->broken];
	}
	if (!version) {
		fault->text = "it is lost";
		return may_be_none(s, k);
	}
	fault->text = "of a version that no put has got";
	return i != NONE && may_be_last(k, i, &fault->text);
}
