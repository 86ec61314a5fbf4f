// SPDX-License-Identifier: GPL-2.0
/*
 * The checker of histories of a store (tests/kv): what is linearizable, and what is not.
 */
#include <stdio.h>

#include "unit.h"
#include "../kv/linear.h"
#include "../kv/register.h"

static const struct linear_limits limits = { 1000000 };

static enum verdict judge(const char *text)
{
	FILE *f = fmemopen((void *)text, strlen(text), "r"), *null = fopen("/dev/null", "w");
	struct history h = { 0 };
	enum verdict v = UNDECIDED;

	if (!f || !null || history_read(&h, f))
		abort();
	v = linear_check(&h, &limits, null);
	history_free(&h);
	fclose(f);
	fclose(null);
	return v;
}

#define EXPECT_GOOD(text)	EXPECT_EQ(LINEARIZABLE, judge(text))
#define EXPECT_BAD(text)	EXPECT_EQ(NOT_LINEARIZABLE, judge(text))

TEST(one_after_the_other)
{
	EXPECT_GOOD("# nothing\n");
	EXPECT_GOOD("1 1 10 20 put 5 any ok 100\n"
		    "1 1 30 40 get found 5 100\n"
		    "1 1 50 60 del any ok\n"
		    "1 1 70 80 get none\n"
		    "1 1 90 95 del any none\n");
	/* A value that nobody has put, or not yet; one that is not there any more. */
	EXPECT_BAD("1 1 10 20 put 5 any ok 100\n1 1 30 40 get found 6 101\n");
	EXPECT_BAD("1 1 10 20 get found 5 100\n1 1 30 40 put 5 any ok 100\n");
	EXPECT_BAD("1 1 10 20 put 5 any ok 100\n1 1 30 40 get none\n");
	EXPECT_BAD("1 1 10 20 put 5 any ok 100\n1 1 30 40 del any ok\n1 1 50 60 get found 5 100\n");
	EXPECT_BAD("1 1 10 20 put 5 any ok 100\n1 1 30 40 put 6 any ok 101\n"
		   "1 1 50 60 get found 5 100\n");
	EXPECT_BAD("1 1 10 20 del any ok\n");
	EXPECT_BAD("1 1 10 20 put 5 any ok 100\n1 1 30 40 del any none\n");
}

TEST(side_by_side)
{
	/* A put under way is seen, or not; once seen, it is there. */
	EXPECT_GOOD("1 1 10 50 put 5 any ok 100\n1 2 20 30 get none\n1 2 35 40 get found 5 100\n");
	EXPECT_BAD("1 1 10 50 put 5 any ok 100\n1 2 20 30 get found 5 100\n1 2 35 40 get none\n");
	EXPECT_BAD("1 1 10 50 put 5 any ok 100\n1 2 20 30 get found 5 100\n1 3 35 40 get none\n");
	/* Two puts side by side: either may be the last one, for everybody. */
	EXPECT_GOOD("1 1 10 50 put 5 any ok 100\n1 2 10 50 put 6 any ok 101\n"
		    "1 3 60 70 get found 5 100\n");
	EXPECT_BAD("1 1 10 50 put 5 any ok 100\n1 2 10 50 put 6 any ok 101\n"
		   "1 3 60 70 get found 5 100\n1 4 80 90 get found 6 101\n");
	/* Calls and returns at one time are side by side. */
	EXPECT_GOOD("1 1 10 20 put 5 any ok 100\n1 2 20 30 get none\n");
	EXPECT_BAD("1 1 10 20 put 5 any ok 100\n1 2 21 30 get none\n");
}

TEST(keys_are_apart)
{
	EXPECT_GOOD("1 1 10 20 put 5 any ok 100\n2 1 30 40 get none\n");
	EXPECT_BAD("1 1 10 20 put 5 any ok 100\n2 1 12 15 put 6 any ok 101\n2 1 30 40 get none\n");
}

TEST(compare_and_put)
{
	EXPECT_GOOD("1 1 10 20 put 5 none ok 100\n1 1 30 40 put 6 100 ok 101\n"
		    "1 1 50 60 put 7 100 stale 101\n1 1 70 80 put 8 none exists 101\n");
	EXPECT_BAD("1 1 10 20 put 5 any ok 100\n1 1 30 40 put 6 none ok 101\n");
	EXPECT_BAD("1 1 10 20 put 5 any ok 100\n1 1 30 40 put 6 any ok 101\n"
		   "1 1 50 60 put 7 100 ok 102\n");
	/* It fails, though it need not. */
	EXPECT_BAD("1 1 10 20 put 5 any ok 100\n1 1 30 40 put 6 100 stale 100\n");
	EXPECT_BAD("1 1 10 20 put 5 none exists 0\n");
	EXPECT_BAD("1 1 10 20 put 5 none exists 7\n");
	/* Another version than the one that is there, or was. */
	EXPECT_BAD("1 1 10 20 put 5 any ok 100\n1 1 30 40 put 6 any ok 101\n"
		   "1 1 50 60 put 7 102 stale 100\n");
	/* Both of two that expect the same. */
	EXPECT_GOOD("1 1 10 20 put 5 any ok 100\n1 2 30 50 put 6 100 ok 101\n"
		    "1 3 30 50 put 7 100 stale 101\n");
	EXPECT_BAD("1 1 10 20 put 5 any ok 100\n1 2 30 50 put 6 100 ok 101\n"
		   "1 3 30 50 put 7 100 ok 102\n");
	EXPECT_GOOD("1 1 10 20 put 5 100 stale 0\n");
	EXPECT_BAD("1 1 10 20 put 5 any ok 100\n1 1 30 40 put 6 100 stale 0\n");
}

TEST(deletes)
{
	EXPECT_GOOD("1 1 10 20 put 5 any ok 100\n1 1 30 40 del 99 stale 100\n"
		    "1 1 50 60 del 100 ok\n1 1 70 80 del 100 none\n");
	EXPECT_BAD("1 1 10 20 put 5 any ok 100\n1 1 30 40 del 99 ok\n1 1 50 60 get found 5 100\n");
	/* One put, deleted twice. */
	EXPECT_BAD("1 1 10 20 put 5 any ok 100\n1 2 30 60 del any ok\n1 3 30 60 del any ok\n");
	EXPECT_GOOD("1 1 10 20 put 5 any ok 100\n1 2 30 60 del any ok\n1 3 30 60 del any none\n");
}

TEST(unknown_outcomes)
{
	/* It has not happened, it has, it does so late. */
	EXPECT_GOOD("1 1 10 - put 5 any unknown\n1 1 30 40 get none\n");
	EXPECT_GOOD("1 1 10 - put 5 any unknown\n1 1 30 40 get found 5 100\n");
	EXPECT_GOOD("1 1 10 - put 5 any unknown\n1 1 30 40 get none\n1 1 50 60 get found 5 100\n");
	/* But not before its call, not twice, and not back again. */
	EXPECT_BAD("1 1 30 - put 5 any unknown\n1 1 10 20 get found 5 100\n");
	EXPECT_BAD("1 1 10 - put 5 any unknown\n1 1 30 40 get found 5 100\n1 1 50 60 get none\n");
	EXPECT_BAD("1 1 10 - put 5 any unknown\n1 1 20 25 get found 5 100\n"
		   "1 1 30 40 put 6 any ok 101\n1 1 45 50 get found 6 101\n"
		   "1 1 55 60 get found 5 100\n");
	EXPECT_GOOD("1 1 10 20 put 5 any ok 100\n1 1 30 - del any unknown\n1 2 40 50 get none\n"
		    "1 1 60 70 put 6 any ok 101\n");
	EXPECT_BAD("1 1 10 20 put 5 any ok 100\n1 1 30 - del any unknown\n1 2 40 50 get none\n"
		   "1 1 60 70 get found 5 100\n");
	/* Of a comparison, too: with what it expects, and only then. */
	EXPECT_GOOD("1 1 10 20 put 5 any ok 100\n1 1 30 - put 6 100 unknown\n"
		    "1 1 50 60 get found 6 101\n");
	EXPECT_BAD("1 1 10 20 put 5 any ok 100\n1 1 22 25 put 7 any ok 102\n"
		   "1 1 30 - put 6 100 unknown\n1 1 50 60 get found 6 101\n");
	/* The version of a value that nobody was told of. */
	EXPECT_GOOD("1 1 10 - put 5 any unknown\n1 1 30 40 put 6 none exists 77\n"
		    "1 1 50 60 put 7 77 ok 78\n");
	EXPECT_BAD("1 1 10 - put 5 any unknown\n1 1 30 40 get found 5 76\n"
		   "1 1 50 60 put 6 none exists 77\n");
}

/* One put makes one version; one version has one value. */
TEST(versions)
{
	EXPECT_BAD("1 1 10 20 put 5 any ok 100\n1 2 30 40 get found 5 101\n");
	EXPECT_BAD("1 1 10 20 put 5 any ok 100\n1 2 30 40 put 6 any ok 100\n");
}

TEST(malformed)
{
	static const char *const lines[] = {
		"1 1 10 20 put 5 any ok", "1 1 10 20 put 0 any ok 7", "1 1 10 20 put 5 7 exists 8",
		"1 1 10 20 put 5 any stale 8", "1 1 20 10 get none", "1 1 10 20 get found 5",
		"1 1 10 20 del none ok", "1 1 10 20 get unknown", "x 1 10 20 get none", "1 1 10",
		"1 1 10 20 put 5 any ok 7 8", "1 1 10 - get none",
	};
	struct history h = { 0 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lines); i++) {
		FILE *f = fmemopen((void *)lines[i], strlen(lines[i]), "r");

		ASSERT_NE(NULL, f);
		EXPECT_EQ(1, history_read(&h, f)) TH_LOG("%s", lines[i]);
		fclose(f);
	}
	history_free(&h);
}

/*
 * Made by a register, whose operations happen at one moment between call and return, some of
 * them not telling: linearizable.  With one get that says what was there before: not.
 */
static void simulate(struct history *h, u64 *rng, unsigned int nr, bool lose)
{
	u64 now = 1000, tag = 0, version = 0, next = 1;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct op op = { .key = 1, .client = i % 4, .expected = EXPECT_ANY };

		now += 10;
		op.call = now - rnd(rng) % 40;
		op.ret = now + rnd(rng) % 40;
		op.kind = (enum op_kind)(rnd(rng) % 3);
		if (op.kind == OP_GET) {
			op.result = tag ? RESULT_OK : RESULT_NONE;
			op.tag = tag;
			op.version = version;
		} else if (op.kind == OP_DELETE) {
			op.result = tag ? RESULT_OK : RESULT_NONE;
			tag = version = 0;
		} else {
			op.tag = tag = next;
			op.version = version = 1000 + next++;
		}
		if (lose && op.kind != OP_GET && !(rnd(rng) % 8))
			op.result = RESULT_UNKNOWN;
		if (!history_add(h, &op))
			abort();
	}
}

/* Long replaced when the last get is called. */
static const struct op *early_put(const struct history *h)
{
	size_t i;

	for (i = 0; i < h->nr / 2; i++)
		if (h->op[i].kind == OP_PUT && h->op[i].result == RESULT_OK)
			return &h->op[i];
	abort();
}

static struct op *late_get(struct history *h)
{
	size_t i;

	for (i = h->nr; i--;)
		if (h->op[i].kind == OP_GET && h->op[i].result == RESULT_OK)
			return &h->op[i];
	abort();
}

TEST(simulated)
{
	FILE *null = fopen("/dev/null", "w");
	u64 rng = 99;
	int i;

	ASSERT_NE(NULL, null);
	for (i = 0; i < 30; i++) {
		struct history h = { 0 };
		struct op *get;

		simulate(&h, &rng, 300, i & 1);
		EXPECT_EQ(LINEARIZABLE, linear_check(&h, &limits, null)) TH_LOG("round %d", i);
		get = late_get(&h);
		get->tag = early_put(&h)->tag;
		get->version = 1000 + get->tag;
		EXPECT_EQ(NOT_LINEARIZABLE, linear_check(&h, &limits, null)) TH_LOG("round %d", i);
		history_free(&h);
	}
	fclose(null);
}

/* Any order at all, without a thought. */
static bool brute(const struct pairs *p, const struct op *op, size_t nr, unsigned int taken,
		  uint64_t tag)
{
	u64 first_return = U64_MAX;
	bool done = true;
	size_t i;

	for (i = 0; i < nr; i++)
		if (!(taken >> i & 1) && op[i].result != RESULT_UNKNOWN) {
			first_return = min_t(u64, first_return, op[i].ret);
			done = false;
		}
	for (i = 0; i < nr && !done; i++) {
		uint64_t next = tag;

		if (!(taken >> i & 1) && op[i].call <= first_return &&
		    register_step(p, &op[i], &next))
			done = brute(p, op, nr, taken | 1U << i, next);
	}
	return done;
}

/* Few values and versions, so that many fit together by chance. */
static struct op any_op(u64 *rng, u64 *puts)
{
	u64 call = rnd(rng) % 20, some = 100 + rnd(rng) % 4;
	struct op op = { .key = 1, .call = call, .ret = call + rnd(rng) % 12,
			 .kind = (enum op_kind)(rnd(rng) % 3), .expected = EXPECT_ANY };

	if (op.kind != OP_GET && !(rnd(rng) % 3))
		op.expected = some;
	if (op.kind == OP_PUT && !(rnd(rng) % 4))
		op.expected = EXPECT_NONE;
	if (op.kind == OP_GET) {
		op.result = rnd(rng) % 3 ? RESULT_OK : RESULT_NONE;
		op.tag = some - 99;
		op.version = some;
		return op;
	}
	if (op.kind == OP_PUT) {
		op.tag = ++*puts;
		op.version = 99 + op.tag;
	}
	if (!(rnd(rng) % 3)) {
		op.result = RESULT_UNKNOWN;
	} else if (op.expected == EXPECT_NONE && rnd(rng) % 2) {
		op.result = RESULT_EXISTS;
		op.version = some;
	} else if (op.expected != EXPECT_ANY && op.expected && rnd(rng) % 2) {
		op.result = RESULT_STALE;
		op.version = rnd(rng) % 2 ? some : 0;
	} else if (op.kind == OP_DELETE && rnd(rng) % 3 == 0) {
		op.result = RESULT_NONE;
	}
	return op;
}

/* What the search leaves out changes no verdict. */
TEST(beside_brute_force)
{
	FILE *null = fopen("/dev/null", "w");
	unsigned int i, n, good = 0;
	u64 rng = 7;

	ASSERT_NE(NULL, null);
	for (i = 0; i < 20000; i++) {
		struct history h = { 0 };
		struct pair bad[2];
		struct pairs p;
		u64 puts = 0;
		bool fits;

		for (n = 2 + rnd(&rng) % 6; n; n--) {
			struct op op = any_op(&rng, &puts);

			if (!history_add(&h, &op))
				abort();
		}
		fits = !pairs_make(&p, h.op, h.nr, bad) && brute(&p, h.op, h.nr, 0, 0);
		pairs_free(&p);
		good += fits;
		EXPECT_EQ(fits ? LINEARIZABLE : NOT_LINEARIZABLE, linear_check(&h, &limits, null))
			TH_LOG("round %u", i);
		history_free(&h);
	}
	EXPECT_LT(1000, good);
	EXPECT_LT(1000, i - good);
	fclose(null);
}

TEST_HARNESS_MAIN
