// SPDX-License-Identifier: GPL-2.0
/*
 * What a key with several writers may hold after a power cut: histories made by hand, and
 * random ones against a store that is simulated, with mistakes and without.
 */
#include "../crash/shared.h"
#include "unit.h"

#define MAX	64
#define ANY	SHARED_ANY

/* A history of one key, from its begin. */
struct history {
	struct op op[MAX];
	uint32_t ops[MAX];
	struct slot slot;
	struct log log;
};

static struct history *history_new(void)
{
	struct history *h = calloc(1, sizeof(*h));

	h->slot = (struct slot){ .type = SLOT_SHARED, .length = 1, .ops = h->ops };
	h->log = (struct log){ .slot = &h->slot, .nr_slots = 1, .op = h->op };
	return h;
}

static void add(struct history *h, enum op_kind kind, uint64_t start, uint64_t ack,
		uint64_t number, uint64_t expected, uint64_t version)
{
	struct op *op = &h->op[h->log.nr_ops];

	*op = (struct op){
		.kind = kind, .start_pos = start, .ack_pos = ack, .number = number,
		.expected = expected, .version = version, .index = h->slot.nr_ops,
	};
	if (kind == OP_CHANGE)
		h->ops[h->slot.nr_ops++] = h->log.nr_ops;
	h->log.nr_ops++;
}

/* The value of a version is its number times ten. */
static void put(struct history *h, uint64_t start, uint64_t ack, uint64_t expected, uint64_t version)
{
	add(h, OP_CHANGE, start, ack, 10 * version, expected, version);
}

static void delete(struct history *h, uint64_t start, uint64_t ack, uint64_t version)
{
	add(h, OP_CHANGE, start, ack, 0, ANY, version);
}

static void refused(struct history *h, uint64_t start, uint64_t ack, uint64_t expected,
		    uint64_t version)
{
	add(h, OP_REFUSED, start, ack, 7, expected, version);
}

static void look(struct history *h, uint64_t start, uint64_t ack, uint64_t version)
{
	add(h, OP_LOOK, start, ack, 10 * version, 0, version);
}

/* May the key have @version if the power is cut at @cut? */
static bool may_be(const struct history *h, uint64_t cut, uint64_t version)
{
	struct shared *s = shared_new(&h->log);
	struct shared_fault f;
	uint32_t i;
	bool good;

	for (i = 0; i < h->log.nr_ops; i++) {
		if (h->op[i].kind == OP_CHANGE && h->op[i].start_pos <= cut)
			shared_started(s, i);
		if (h->op[i].ack_pos <= cut)
			shared_acked(s, i);
	}
	good = shared_may_be(s, 0, version, &f);
	shared_free(s);
	return good;
}

TEST(one_after_the_other)
{
	struct history *h = history_new();

	put(h, 10, 20, ANY, 1);
	put(h, 30, 40, ANY, 2);
	delete(h, 50, 60, 2);
	EXPECT_TRUE(may_be(h, 5, 0));
	EXPECT_FALSE(may_be(h, 5, 1));		/* not begun */
	EXPECT_TRUE(may_be(h, 15, 0));
	EXPECT_TRUE(may_be(h, 15, 1));
	EXPECT_FALSE(may_be(h, 15, 9));		/* nobody's */
	EXPECT_FALSE(may_be(h, 20, 0));		/* lost */
	EXPECT_TRUE(may_be(h, 35, 1));
	EXPECT_TRUE(may_be(h, 35, 2));
	EXPECT_FALSE(may_be(h, 45, 1));		/* an old one */
	EXPECT_FALSE(may_be(h, 45, 0));
	EXPECT_TRUE(may_be(h, 55, 2));
	EXPECT_TRUE(may_be(h, 55, 0));
	EXPECT_FALSE(may_be(h, 55, 1));
	EXPECT_FALSE(may_be(h, 65, 2));		/* resurrected */
	EXPECT_TRUE(may_be(h, 65, 0));
	free(h);
}

/* Either may come last, until somebody knows. */
TEST(at_the_same_time)
{
	struct history *h = history_new();

	put(h, 10, 50, ANY, 1);
	put(h, 20, 60, ANY, 2);
	EXPECT_TRUE(may_be(h, 70, 1));
	EXPECT_TRUE(may_be(h, 70, 2));
	EXPECT_TRUE(may_be(h, 55, 2));
	EXPECT_FALSE(may_be(h, 55, 0));
	EXPECT_FALSE(may_be(h, 15, 2));
	/* Who was refused after both has seen 2: so 1 was ahead of it. */
	refused(h, 70, 80, 1, 2);
	EXPECT_FALSE(may_be(h, 70, 1));
	EXPECT_TRUE(may_be(h, 70, 2));
	free(h);
}

/* What was seen is as good as acknowledged. */
TEST(what_was_told)
{
	struct history *h = history_new();

	put(h, 10, 90, ANY, 1);
	look(h, 20, 30, 1);
	put(h, 40, 95, ANY, 2);
	EXPECT_TRUE(may_be(h, 25, 0));
	EXPECT_FALSE(may_be(h, 35, 0));
	EXPECT_TRUE(may_be(h, 50, 1));
	/* 1 was there before 2 began. */
	EXPECT_FALSE(may_be(h, 97, 1));
	EXPECT_TRUE(may_be(h, 97, 2));
	free(h);
}

/* Nothing stands between a version and what has replaced it by name. */
TEST(chains)
{
	struct history *h = history_new();

	put(h, 10, 20, ANY, 1);
	put(h, 30, 80, ANY, 2);
	put(h, 60, 70, 1, 3);
	/* 2 is behind 1, so it is behind 3, which has not begun. */
	EXPECT_FALSE(may_be(h, 50, 2));
	EXPECT_TRUE(may_be(h, 50, 1));
	EXPECT_TRUE(may_be(h, 65, 2));
	EXPECT_TRUE(may_be(h, 65, 3));
	EXPECT_FALSE(may_be(h, 75, 1));
	EXPECT_TRUE(may_be(h, 75, 3));
	/* It began behind 1, so at last it is the last. */
	EXPECT_FALSE(may_be(h, 85, 3));
	EXPECT_TRUE(may_be(h, 85, 2));
	free(h);
}

/* The whole of a chain is ahead of what began behind a part of it. */
TEST(chains_are_ordered_whole)
{
	struct history *h = history_new();

	put(h, 10, 100, ANY, 1);
	put(h, 15, 105, 1, 2);
	put(h, 16, 20, ANY, 4);
	put(h, 110, 120, 2, 3);
	put(h, 30, 40, ANY, 5);
	look(h, 41, 50, 1);
	/* 5 is behind 4; 1 was there behind 5; so 2 and 3 are, too. */
	EXPECT_FALSE(may_be(h, 115, 5));
	EXPECT_FALSE(may_be(h, 60, 5));
	EXPECT_TRUE(may_be(h, 60, 1));
	EXPECT_TRUE(may_be(h, 60, 2));
	EXPECT_FALSE(may_be(h, 60, 3));
	EXPECT_FALSE(may_be(h, 106, 1));
	EXPECT_TRUE(may_be(h, 115, 3));
	free(h);
}

TEST(deletes_say_what_they_deleted)
{
	struct history *h = history_new();

	put(h, 10, 90, ANY, 1);
	put(h, 10, 90, ANY, 2);
	delete(h, 10, 90, 2);
	EXPECT_TRUE(may_be(h, 50, 0));
	EXPECT_TRUE(may_be(h, 50, 2));
	EXPECT_FALSE(may_be(h, 95, 2));
	EXPECT_TRUE(may_be(h, 95, 1));
	EXPECT_TRUE(may_be(h, 95, 0));
	free(h);
}

/* Histories that no store may make: found when the last of it is acknowledged. */
TEST(impossible)
{
	struct history *h = history_new();

	put(h, 10, 20, ANY, 1);
	put(h, 30, 70, 1, 2);
	put(h, 40, 80, 1, 3);
	EXPECT_FALSE(may_be(h, 90, 2));
	EXPECT_FALSE(may_be(h, 90, 3));
	free(h);

	h = history_new();
	put(h, 10, 20, ANY, 1);
	put(h, 30, 40, ANY, 2);
	put(h, 50, 60, 1, 3);
	EXPECT_FALSE(may_be(h, 70, 3));
	free(h);

	h = history_new();
	put(h, 10, 20, ANY, 1);
	delete(h, 30, 40, 1);
	delete(h, 50, 60, 1);
	EXPECT_FALSE(may_be(h, 70, 0));
	free(h);

	h = history_new();
	put(h, 10, 20, ANY, 1);
	refused(h, 30, 40, 1, 1);
	EXPECT_FALSE(may_be(h, 50, 1));
	free(h);

	h = history_new();
	put(h, 10, 20, ANY, 1);
	put(h, 30, 40, ANY, 2);
	look(h, 50, 60, 1);
	EXPECT_FALSE(may_be(h, 70, 2));
	free(h);

	h = history_new();
	put(h, 10, 20, ANY, 1);
	look(h, 30, 40, 8);
	EXPECT_FALSE(may_be(h, 50, 1));
	free(h);

	h = history_new();
	put(h, 10, 20, 6, 7);
	put(h, 10, 20, 7, 6);
	EXPECT_FALSE(may_be(h, 50, 7));
	free(h);
}

/* --- against a store --------------------------------------------------------------- */

enum bug {
	NO_BUG,
	STALE_COMPARE,		/* compares with what was there when it began */
	LOST_ACK,		/* what is acknowledged becomes durable later */
	NR_BUGS
};

/* What each moment has left, durably. */
struct sim {
	struct history *h;
	u64 rng;
	uint64_t now, last;		/* version that readers see */
	uint64_t durable[1000];
	uint64_t versions;
};

struct worker {
	uint64_t start, act, end;
	uint64_t expected, told;
	unsigned int what;
};

static void begin_work(struct sim *m, struct worker *w)
{
	w->start = m->now;
	w->act = m->now + 1 + rnd(&m->rng) % 12;
	w->end = w->act + 1 + rnd(&m->rng) % 6;
	w->what = rnd(&m->rng) % 8;
	w->expected = w->what < 3 ? ANY : w->told;
}

/* Where it is ordered: what it will say is written down. */
static void act(struct sim *m, struct worker *w, enum bug bug)
{
	bool matches = w->expected == ANY || w->expected == m->last;

	if (bug == STALE_COMPARE && w->expected != ANY)
		matches = w->expected == m->durable[w->start];
	w->told = m->last;
	if (w->what == 7) {
		look(m->h, w->start, w->end, m->last);
	} else if (!matches || (!m->last && w->what == 6)) {
		refused(m->h, w->start, w->end, matches ? ANY : w->expected, m->last);
	} else if (w->what == 6) {
		delete(m->h, w->start, w->end, m->last);
		m->last = w->told = 0;
	} else {
		put(m->h, w->start, w->end, w->expected, ++m->versions);
		m->last = w->told = m->versions;
	}
}

static struct history *simulate(u64 seed, enum bug bug, uint64_t *durable, uint64_t *end)
{
	struct sim m = { .h = history_new(), .rng = seed };
	struct worker worker[4] = { };
	unsigned int i;

	for (i = 0; i < 4; i++)
		begin_work(&m, &worker[i]);
	for (m.now = 1; m.h->log.nr_ops < MAX - 4; m.now++) {
		for (i = 0; i < 4; i++) {
			if (worker[i].act == m.now)
				act(&m, &worker[i], bug);
			if (worker[i].end == m.now)
				begin_work(&m, &worker[i]);
		}
		m.durable[m.now] = m.last;
	}
	*end = m.now;
	for (i = 0; i < m.now; i++)
		durable[i] = m.durable[bug == LOST_ACK && i >= 6 ? i - 6 : i];
	return m.h;
}

/* In how many moments is what is there not allowed? */
static unsigned int faults(u64 seed, enum bug bug)
{
	uint64_t durable[1000], end, t;
	struct history *h = simulate(seed, bug, durable, &end);
	unsigned int n = 0;

	for (t = 0; t < end; t++)
		n += !may_be(h, t, durable[t]);
	free(h);
	return n;
}

TEST(random_histories)
{
	unsigned int found[NR_BUGS] = { };
	enum bug bug;
	u64 seed;

	for (seed = 1; seed <= 60; seed++)
		for (bug = NO_BUG; bug < NR_BUGS; bug++)
			found[bug] += faults(seed * 7919, bug) > 0;
	EXPECT_EQ(0, found[NO_BUG]);
	EXPECT_GT(found[STALE_COMPARE], 40);
	EXPECT_GT(found[LOST_ACK], 55);
}

TEST_HARNESS_MAIN
