// SPDX-License-Identifier: GPL-2.0
/* kmod/store/index.c beside an array that is searched from end to end. */
#include "unit.h"
#include "../../kmod/store/index.h"

#define MAX	3000

struct pair {
	u64 hash;
	u64 slot;
};

struct both {
	struct pmof_kv_index ix;
	struct pair pair[MAX];
	unsigned int nr;
	u64 rng;
	u64 next_slot;
	unsigned int faults;
};

static struct pmof_kv_entry *new_entries(const struct pmof_kv_table *t)
{
	return calloc(pmof_kv_table_places(t), sizeof(*t->entry));
}

static void init(struct pmof_kv_index *ix, u32 bits)
{
	struct pmof_kv_table t = { .bits = bits, .spill = PMOF_KV_INDEX_SPILL };

	t.entry = new_entries(&t);
	pmof_kv_index_init(ix, &t);
}

static void grow_if_full(struct pmof_kv_index *ix)
{
	struct pmof_kv_table larger;

	if (!pmof_kv_index_full(ix, &larger))
		return;
	larger.entry = new_entries(&larger);
	pmof_kv_index_grow(ix, &larger);
}

static void drop(struct pmof_kv_index *ix)
{
	free(ix->now.entry);
	free(ix->next.entry);
}

/* Crowded, often equal, now and then at the ends. */
static u64 some_hash(struct both *b)
{
	switch (rnd(&b->rng) % 16) {
	case 0:
		return 0;
	case 1:
		return U64_MAX - rnd(&b->rng) % 3;
	case 2:
		return 0xabcdefULL << 40;
	case 3:
		return rnd(&b->rng) % 512 << 55;
	default:
		return rnd(&b->rng);
	}
}

static struct pmof_kv_entry *find(struct both *b, u64 hash, u64 slot)
{
	struct pmof_kv_entry *e = pmof_kv_index_first(&b->ix, hash);

	while (e && e->slot != slot)
		e = pmof_kv_index_next(&b->ix, e);
	return e;
}

static void insert(struct both *b)
{
	struct pair p = { some_hash(b), b->next_slot += 64 };

	if (b->nr == MAX)
		return;
	if (pmof_kv_index_insert(&b->ix, p.hash, p.slot))
		b->faults++;
	b->pair[b->nr++] = p;
	grow_if_full(&b->ix);
}

static void take_out(struct both *b)
{
	unsigned int i = rnd(&b->rng) % (b->nr + 1);
	struct pmof_kv_entry *e;

	if (i == b->nr)
		return;
	e = find(b, b->pair[i].hash, b->pair[i].slot);
	if (e)
		pmof_kv_index_remove(&b->ix, e);
	else
		b->faults++;
	b->pair[i] = b->pair[--b->nr];
}

static void look_up(struct both *b)
{
	unsigned int i, n = 0, m = 0;
	u64 hash = rnd(&b->rng) & 1 || !b->nr ? some_hash(b) : b->pair[rnd(&b->rng) % b->nr].hash;
	struct pmof_kv_entry *e;

	for (i = 0; i < b->nr; i++)
		if (b->pair[i].hash == hash) {
			n++;
			b->faults += !find(b, hash, b->pair[i].slot);
		}
	for (e = pmof_kv_index_first(&b->ix, hash); e; e = pmof_kv_index_next(&b->ix, e))
		m++;
	b->faults += n != m;
}

/* All that is there, in order, a few at a time, each once, however soon it is left. */
static void scan(struct both *b)
{
	struct pmof_kv_entry out[7], last = { 0, 0 };
	u32 i, skip = 0, max = 1 + rnd(&b->rng) % 7;
	struct pmof_kv_found found;
	unsigned int total = 0;

	for (;;) {
		found = pmof_kv_index_scan(&b->ix, last.hash, skip, out, max,
					   1 + rnd(&b->rng) % 9);
		for (i = 0; i < found.nr; i++) {
			b->faults += out[i].hash < last.hash;
			b->faults += !find(b, out[i].hash, out[i].slot);
			skip = out[i].hash == last.hash ? skip + 1 : 1;
			last = out[i];
		}
		total += found.nr;
		if (found.end || total > MAX)
			break;
		b->faults += !found.next != (found.nr == max);
		if (!found.next)
			continue;
		b->faults += found.next <= last.hash;
		last.hash = found.next;
		skip = 0;
	}
	b->faults += total != b->nr;
}

static unsigned int run(u64 seed, unsigned int steps, unsigned int grow)
{
	struct both *b = calloc(1, sizeof(*b));
	unsigned int i, faults;

	b->rng = seed;
	init(&b->ix, PMOF_KV_INDEX_MIN_BITS);
	for (i = 0; i < steps && !b->faults; i++) {
		if (rnd(&b->rng) % 100 < grow)
			insert(b);
		else
			take_out(b);
		if (pmof_kv_index_growing(&b->ix))
			free(pmof_kv_index_move(&b->ix, rnd(&b->rng) % 4));
		look_up(b);
		if (i % 32 == 0)
			scan(b);
		b->faults += b->ix.count != b->nr;
	}
	faults = b->faults;
	drop(&b->ix);
	free(b);
	return faults;
}

TEST(grows)
{
	u64 seed;

	for (seed = 1; seed <= 3; seed++)
		EXPECT_EQ(0, run(seed * 104729, 2000, 80));
}

TEST(comes_and_goes)
{
	u64 seed;

	for (seed = 1; seed <= 3; seed++)
		EXPECT_EQ(0, run(seed * 1299709, 2000, 55));
}

/* Everything at the last home: what spills over the end is refused, nothing is lost. */
TEST(the_end)
{
	struct pmof_kv_index ix;
	u64 i, n = 0;

	init(&ix, 6);
	for (i = 0; i < 2 * PMOF_KV_INDEX_SPILL; i++)
		n += !pmof_kv_index_insert(&ix, U64_MAX - i % 5, 64 + i * 64);
	EXPECT_EQ(PMOF_KV_INDEX_SPILL + 1, n);
	EXPECT_EQ(n, ix.count);
	for (i = 0; i < n; i++)
		pmof_kv_index_remove(&ix, pmof_kv_index_first(&ix, U64_MAX - i % 5));
	EXPECT_EQ(0, ix.count);
	drop(&ix);
}

/* Who was let in finds a place, wherever its home is, also while it grows. */
TEST(who_is_let_in_finds_a_place)
{
	struct pmof_kv_table next = { .bits = 9, .spill = PMOF_KV_INDEX_SPILL };
	struct pmof_kv_index ix;
	u64 i, n = 0, slot = 64, last;

	init(&ix, 8);
	while (pmof_kv_index_takes(&ix)) {
		ASSERT_EQ(0, pmof_kv_index_insert(&ix, U64_MAX - n++ % 5, slot += 64));
	}
	EXPECT_GT(n, PMOF_KV_INDEX_SPILL - PMOF_KV_INDEX_SPARE);
	for (i = 1; i < PMOF_KV_INDEX_SPARE / 2; i++)
		EXPECT_EQ(0, pmof_kv_index_insert(&ix, U64_MAX - i % 5, slot += 64));
	for (last = 0; last < i; last++)
		pmof_kv_index_remove(&ix, pmof_kv_index_first(&ix, U64_MAX - 1));
	/* The new table has as little room at its end: not all can move, none is lost. */
	next.entry = new_entries(&next);
	pmof_kv_index_grow(&ix, &next);
	EXPECT_EQ(NULL, pmof_kv_index_move(&ix, U64_MAX));
	EXPECT_TRUE(pmof_kv_index_takes(&ix));
	for (i = 0; i < PMOF_KV_INDEX_SPARE / 2; i++)
		EXPECT_EQ(0, pmof_kv_index_insert(&ix, U64_MAX - i % 5, slot += 64));
	EXPECT_EQ(n - 1 + PMOF_KV_INDEX_SPARE / 2, ix.count);
	for (n = 0, i = 0; i < 5; i++) {
		struct pmof_kv_entry *e = pmof_kv_index_first(&ix, U64_MAX - i);

		for (; e; e = pmof_kv_index_next(&ix, e))
			n++;
	}
	EXPECT_EQ(ix.count, n);
	drop(&ix);
}

/* --- keys chosen by who knows the hash's key ------------------------------------------ */

static u64 chosen(u64 i)
{
	return U64_MAX - i;
}

/* As pmof_store_index_fill() does it. */
static int fill(struct pmof_kv_index *ix, u64 hash, u64 slot)
{
	u64 place;

	grow_if_full(ix);
	while (pmof_kv_index_growing(ix)) {
		place = ix->place;
		free(pmof_kv_index_move(ix, 256));
		if (ix->place == place)
			break;
	}
	return pmof_kv_index_insert(ix, hash, slot);
}

/* Some come first, to a table that is small still, and more to a larger one. */
static u64 nth_hash(u64 i, u64 *rng)
{
	return i < 1100 || (i >= 50000 && i < 55000) ? chosen(i) : rnd(rng);
}

/* All of them find a place, and all others. */
TEST(recovery_of_chosen_keys)
{
	struct pmof_kv_index ix;
	u64 i, rng = 4711, lost = 0;

	init(&ix, 10);
	for (i = 0; i < 100000; i++)
		lost += !!fill(&ix, nth_hash(i, &rng), 64 + i * 64);
	EXPECT_EQ(0, lost);
	for (rng = 4711, i = 0; i < 100000; i++)
		lost += !pmof_kv_index_first(&ix, nth_hash(i, &rng));
	EXPECT_EQ(0, lost);
	EXPECT_FALSE(pmof_kv_index_growing(&ix));
	EXPECT_TRUE(pmof_kv_index_takes(&ix));
	EXPECT_EQ(18, ix.now.bits);
	EXPECT_GE(4 * 6100, ix.now.spill);
	drop(&ix);
}

/* In use, some are refused while a table grows; and let in when it has. */
TEST(chosen_keys_are_let_in)
{
	struct pmof_kv_index ix;
	u64 n = 0, rounds;

	init(&ix, 14);
	for (rounds = 0; n < 5000 && rounds < 10000; rounds++) {
		grow_if_full(&ix);
		if (pmof_kv_index_takes(&ix) &&
		    !pmof_kv_index_insert(&ix, chosen(n), 64 + n * 64))
			n++;
		if (pmof_kv_index_growing(&ix))
			free(pmof_kv_index_move(&ix, 64));
	}
	EXPECT_EQ(5000, n);
	EXPECT_EQ(n, ix.count);
	drop(&ix);
}

/* What was let in while the table for so many keys fills finds a place in that, too. */
TEST(chosen_keys_while_it_grows)
{
	struct pmof_kv_index ix;
	u64 i, n;

	init(&ix, 10);
	for (n = 0; !pmof_kv_index_growing(&ix); n++) {
		ASSERT_EQ(0, pmof_kv_index_insert(&ix, n << 54, 64 + n * 64));
		grow_if_full(&ix);
	}
	for (i = 0; pmof_kv_index_takes(&ix); i++, n++) {
		ASSERT_EQ(0, pmof_kv_index_insert(&ix, chosen(i), 64 + n * 64));
	}
	free(pmof_kv_index_move(&ix, U64_MAX));
	EXPECT_FALSE(pmof_kv_index_growing(&ix));
	EXPECT_EQ(n, ix.count);
	drop(&ix);
}

TEST_HARNESS_MAIN
