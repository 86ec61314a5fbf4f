// SPDX-License-Identifier: GPL-2.0
/* The search for a linear order: linear.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "linear.h"
#include "register.h"

#define BITS	128		/* operations of unknown outcome that a set has bits for */

/* A set of operations: known ones as the exclusive or of their random numbers. */
struct set {
	uint64_t known[2];
	uint64_t unknown[BITS / 64];
};

/* A call or a return, in the order of time. */
struct entry {
	const struct op *op;
	struct entry *match;	/* a call's return; of a return, and of an unknown call: NULL */
	struct entry *prev, *next;
	uint64_t time;
	bool is_return;
	struct set id;		/* of a call: its part of a set that it is in */
};

/*
 * The operations that were taken, and the state behind them.  That other ones of unknown outcome
 * are left, too, is no worse: what was seen with fewer of them taken need not be looked at again.
 */
struct config {
	struct set set;
	uint64_t tag;
	bool used;
};

struct seen {
	struct config *config;
	uint64_t nr, room;	/* room: a power of two */
	uint64_t most;
};

/* An operation that was taken, and what has to come back when it is given up. */
struct frame {
	struct entry *call;
	uint64_t tag;
	bool unknown;		/* it was of the second pass */
};

struct search {
	const struct pairs *pairs;
	struct entry head;	/* of the list of what is not taken */
	struct entry *entry;	/* 2 for each operation at most */
	struct frame *frame;
	size_t depth;
	size_t known;		/* of these are left */
	struct set set;
	uint64_t tag;
	struct seen seen;
	/* The furthest that it came. */
	size_t deepest;
	uint64_t deepest_tag;
	const struct op *stuck;
};

/* --- configurations that were seen ---------------------------------------------------- */

static uint64_t random64(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static struct set join(const struct set *a, const struct set *b)
{
	struct set sum;
	int i;

	for (i = 0; i < 2; i++) {
		sum.known[i] = a->known[i] ^ b->known[i];
		sum.unknown[i] = a->unknown[i] ^ b->unknown[i];
	}
	return sum;
}

/* True if what can be done behind @b can be done behind @a. */
static bool no_worse(const struct config *a, const struct config *b)
{
	return !memcmp(a->set.known, b->set.known, sizeof(a->set.known)) && a->tag == b->tag &&
	       !(a->set.unknown[0] & ~b->set.unknown[0]) &&
	       !(a->set.unknown[1] & ~b->set.unknown[1]);
}

/* Where one that is no worse stands, or where it belongs.  All of one set of known ones are near. */
static struct config *place_of(const struct seen *s, const struct config *c)
{
	uint64_t mixed = c->set.known[0] ^ c->tag, i = random64(&mixed) & (s->room - 1);

	while (s->config[i].used && !no_worse(&s->config[i], c))
		i = (i + 1) & (s->room - 1);
	return &s->config[i];
}

static bool grow(struct seen *s)
{
	struct seen more = { .room = s->room ? 2 * s->room : 4096, .nr = s->nr, .most = s->most };
	uint64_t i;

	more.config = calloc(more.room, sizeof(*more.config));
	if (!more.config)
		return false;
	for (i = 0; i < s->room; i++) {
		struct config *place = s->config[i].used ? place_of(&more, &s->config[i]) : NULL;

		if (place && !place->used)
			*place = s->config[i];
	}
	free(s->config);
	*s = more;
	return true;
}

/* 1: it is new; 0: it was seen; -1: too many, or no memory. */
static int see(struct seen *s, const struct config *c)
{
	struct config *place;

	if (s->nr >= s->most || (4 * s->nr >= 3 * s->room && !grow(s)))
		return -1;
	place = place_of(s, c);
	if (place->used)
		return 0;
	*place = *c;
	place->used = true;
	s->nr++;
	return 1;
}

/* --- the list ---------------------------------------------------------------------------- */

static void unlink_entry(struct entry *e)
{
	e->prev->next = e->next;
	if (e->next)
		e->next->prev = e->prev;
}

static void link_entry(struct entry *e)
{
	e->prev->next = e;
	if (e->next)
		e->next->prev = e;
}

static void take(struct search *s, struct entry *call, uint64_t tag)
{
	s->frame[s->depth++] = (struct frame){ call, s->tag, !call->match };
	s->set = join(&s->set, &call->id);
	s->tag = tag;
	unlink_entry(call);
	if (call->match) {
		unlink_entry(call->match);
		s->known--;
	}
}

/* In the other order: each finds its neighbours as they were. */
static struct frame *give_up(struct search *s)
{
	struct frame *f = &s->frame[--s->depth];
	struct entry *call = f->call;

	if (call->match) {
		link_entry(call->match);
		s->known++;
	}
	link_entry(call);
	s->set = join(&s->set, &call->id);
	s->tag = f->tag;
	return f;
}

/* --- the search -------------------------------------------------------------------------- */

static void note_stuck(struct search *s, const struct entry *ret)
{
	if (s->stuck && s->depth <= s->deepest)
		return;
	s->deepest = s->depth;
	s->deepest_tag = s->tag;
	s->stuck = ret->op;
}

/* Are both of unknown outcome, and do the same?  Then the one called first is as good. */
static bool alike(const struct search *s, const struct op *a, const struct op *b)
{
	return a->result == RESULT_UNKNOWN && b->result == RESULT_UNKNOWN && a->kind == b->kind &&
	       a->expected == b->expected && register_makes(s->pairs, a) == register_makes(s->pairs, b);
}

static bool is_first_alike(const struct search *s, const struct entry *call)
{
	const struct entry *e;

	for (e = s->head.next; e != call; e = e->next)
		if (!e->is_return && alike(s, e->op, call->op))
			return false;
	return true;
}

/*
 * What is of unknown outcome need not be taken at all, so it is only for the sake of the one
 * behind it: which could not have been taken without.
 */
static bool in_vain(const struct search *s, const struct op *op)
{
	const struct frame *last = s->depth ? &s->frame[s->depth - 1] : NULL;
	uint64_t tag;

	if (!last || !last->unknown)
		return false;
	tag = last->tag;
	return register_step(s->pairs, op, &tag);
}

static bool may_take(const struct search *s, const struct entry *call, uint64_t *tag)
{
	return register_step(s->pairs, call->op, tag) && !in_vain(s, call->op) &&
	       (call->match || is_first_alike(s, call));
}

/* 1: taken; 0: it leads where the search has been; -1: as see(). */
static int try_to_take(struct search *s, struct entry *call, uint64_t tag)
{
	struct config c = { .set = join(&s->set, &call->id), .tag = tag };
	int rc = see(&s->seen, &c);

	if (rc > 0)
		take(s, call, tag);
	return rc;
}

/* One of the calls from @e on, up to the first return. */
static int take_from(struct search *s, struct entry *e, bool unknown)
{
	uint64_t tag;
	int rc;

	for (; e && !e->is_return; e = e->next) {
		tag = s->tag;
		if (!e->match != unknown || !may_take(s, e, &tag))
			continue;
		rc = try_to_take(s, e, tag);
		if (rc)
			return rc;
	}
	if (e && unknown)
		note_stuck(s, e);
	return 0;
}

/* What is of unknown outcome comes in a second pass. */
static int take_one(struct search *s, struct entry *e, bool unknown)
{
	int rc = take_from(s, e, unknown);

	return rc || unknown ? rc : take_from(s, s->head.next, true);
}

static enum verdict search(struct search *s)
{
	struct entry *from = s->head.next;
	bool unknown = false;
	struct frame *f;
	int rc;

	while (s->known) {
		rc = take_one(s, from, unknown);
		if (rc < 0)
			return UNDECIDED;
		if (rc) {
			from = s->head.next;
			unknown = false;
			continue;
		}
		if (!s->depth)
			return NOT_LINEARIZABLE;
		f = give_up(s);
		from = f->call->next;
		unknown = f->unknown;
	}
	return LINEARIZABLE;
}

/* --- one key ------------------------------------------------------------------------------- */

/* At one time calls come first: such operations may be in either order. */
static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->is_return != y->is_return)
		return x->is_return ? 1 : -1;
	return x < y ? -1 : x > y;
}

static bool make_entries(struct search *s, const struct op *op, size_t nr)
{
	struct entry **sorted = calloc(2 * nr, sizeof(struct entry *)), *prev = &s->head;
	uint64_t seed = 1;
	size_t i, n = 0, unknown = 0;

	s->entry = calloc(2 * nr, sizeof(*s->entry));
	s->frame = calloc(nr, sizeof(*s->frame));
	for (i = 0; sorted && s->entry && s->frame && i < nr; i++) {
		struct entry *call = &s->entry[2 * i], *ret = call + 1;

		*call = (struct entry){ .op = &op[i], .time = op[i].call };
		sorted[n++] = call;
		if (op[i].result == RESULT_UNKNOWN && unknown < BITS) {
			call->id.unknown[unknown / 64] = 1ULL << unknown % 64;
			unknown++;
			continue;
		}
		call->id.known[0] = random64(&seed);
		call->id.known[1] = random64(&seed);
		if (op[i].result == RESULT_UNKNOWN)
			continue;
		*ret = (struct entry){ .op = &op[i], .time = op[i].ret, .is_return = true };
		call->match = ret;
		sorted[n++] = ret;
		s->known++;
	}
	if (sorted)
		qsort(sorted, n, sizeof(struct entry *), compare_entries);
	for (i = 0; i < n; prev = sorted[i++]) {
		prev->next = sorted[i];
		sorted[i]->prev = prev;
	}
	free(sorted);
	return n;
}

static void report_stuck(FILE *report, const struct search *s, const struct op *op, size_t nr)
{
	size_t i;

	fprintf(report, "key %" PRIu64 ": not linearizable. %zu of %zu operations fit; then value "
		"%" PRIu64 " is there (0: none), and this one does not:\n  ", op->key, s->deepest,
		nr, s->deepest_tag);
	history_print_op(report, s->stuck);
	fputs("beside it:\n", report);
	for (i = 0; i < nr; i++)
		if (&op[i] != s->stuck && op[i].call <= s->stuck->ret &&
		    (op[i].result == RESULT_UNKNOWN || op[i].ret >= s->stuck->call)) {
			fputs("  ", report);
			history_print_op(report, &op[i]);
		}
}

static enum verdict check_order(const struct op *op, size_t nr, const struct pairs *pairs,
				const struct linear_limits *limits, FILE *report)
{
	struct search s = { .pairs = pairs, .seen.most = limits->configurations };
	enum verdict v = UNDECIDED;

	if (make_entries(&s, op, nr))
		v = search(&s);
	if (v == NOT_LINEARIZABLE)
		report_stuck(report, &s, op, nr);
	else if (v == UNDECIDED)
		fprintf(report, "key %" PRIu64 ": undecided after %" PRIu64 " configurations\n",
			op->key, s.seen.nr);
	free(s.entry);
	free(s.frame);
	free(s.seen.config);
	return v;
}

static enum verdict check_key(const struct op *op, size_t nr, const struct linear_limits *limits,
			      FILE *report)
{
	enum verdict v = UNDECIDED;
	struct pair bad[2];
	struct pairs pairs;
	int rc = pairs_make(&pairs, op, nr, bad);

	if (!rc) {
		v = check_order(op, nr, &pairs, limits, report);
	} else if (rc > 0) {
		fprintf(report, "key %" PRIu64 ": value %" PRIu64 " has version %" PRIu64
			", and value %" PRIu64 " version %" PRIu64 "\n", op->key, bad[0].tag,
			bad[0].version, bad[1].tag, bad[1].version);
		v = NOT_LINEARIZABLE;
	}
	pairs_free(&pairs);
	return v;
}

/* --- all of them --------------------------------------------------------------------------- */

static int compare_ops(const void *a, const void *b)
{
	const struct op *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->call != y->call)
		return x->call < y->call ? -1 : 1;
	return 0;
}

/* Of two verdicts on two keys: what is wrong with one is wrong with all. */
static enum verdict worse(enum verdict a, enum verdict b)
{
	if (a == NOT_LINEARIZABLE || b == NOT_LINEARIZABLE)
		return NOT_LINEARIZABLE;
	return a == UNDECIDED ? a : b;
}

enum verdict linear_check(struct history *h, const struct linear_limits *limits, FILE *report)
{
	enum verdict v = LINEARIZABLE;
	size_t i, end;

	if (h->nr)
		qsort(h->op, h->nr, sizeof(*h->op), compare_ops);
	for (i = 0; i < h->nr; i = end) {
		for (end = i; end < h->nr && h->op[end].key == h->op[i].key;)
			end++;
		v = worse(v, check_key(&h->op[i], end - i, limits, report));
	}
	return v;
}
