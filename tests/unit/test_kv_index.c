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

static struct pmof_kv_entry *new_array(u32 bits)
{
	return calloc(pmof_kv_table_places(bits), sizeof(struct pmof_kv_entry));
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
	if (pmof_kv_index_full(&b->ix))
		pmof_kv_index_grow(&b->ix, new_array(b->ix.now.bits + 1));
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

/* All that is there, in order, a few at a time, each once. */
static void scan(struct both *b)
{
	struct pmof_kv_entry out[7], last = { 0, 0 };
	u32 n, i, skip = 0, max = 1 + rnd(&b->rng) % 7;
	unsigned int total = 0;

	for (;;) {
		n = pmof_kv_index_scan(&b->ix, last.hash, skip, out, max);
		for (i = 0; i < n; i++) {
			b->faults += out[i].hash < last.hash;
			b->faults += !find(b, out[i].hash, out[i].slot);
			skip = out[i].hash == last.hash ? skip + 1 : 1;
			last = out[i];
		}
		total += n;
		if (n < max || total > MAX)
			break;
	}
	b->faults += total != b->nr;
}

static unsigned int run(u64 seed, unsigned int steps, unsigned int grow)
{
	struct both *b = calloc(1, sizeof(*b));
	unsigned int i, faults;

	b->rng = seed;
	pmof_kv_index_init(&b->ix, new_array(PMOF_KV_INDEX_MIN_BITS), PMOF_KV_INDEX_MIN_BITS);
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
	free(b->ix.now.entry);
	free(b->ix.next.entry);
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

	pmof_kv_index_init(&ix, new_array(6), 6);
	for (i = 0; i < 2 * PMOF_KV_INDEX_SPILL; i++)
		n += !pmof_kv_index_insert(&ix, U64_MAX - i % 5, 64 + i * 64);
	EXPECT_EQ(PMOF_KV_INDEX_SPILL + 1, n);
	EXPECT_EQ(n, ix.count);
	for (i = 0; i < n; i++)
		pmof_kv_index_remove(&ix, pmof_kv_index_first(&ix, U64_MAX - i % 5));
	EXPECT_EQ(0, ix.count);
	free(ix.now.entry);
}

/* Who was let in finds a place, wherever its home is, also while it grows. */
TEST(who_is_let_in_finds_a_place)
{
	struct pmof_kv_index ix;
	u64 i, n = 0, slot = 64, last;

	pmof_kv_index_init(&ix, new_array(8), 8);
	while (pmof_kv_index_takes(&ix))
		ASSERT_EQ(0, pmof_kv_index_insert(&ix, U64_MAX - n++ % 5, slot += 64));
	EXPECT_GT(n, PMOF_KV_INDEX_SPILL - PMOF_KV_INDEX_SPARE);
	for (i = 1; i < PMOF_KV_INDEX_SPARE / 2; i++)
		EXPECT_EQ(0, pmof_kv_index_insert(&ix, U64_MAX - i % 5, slot += 64));
	for (last = 0; last < i; last++)
		pmof_kv_index_remove(&ix, pmof_kv_index_first(&ix, U64_MAX - 1));
	/* The new table has as little room at its end: not all can move, none is lost. */
	pmof_kv_index_grow(&ix, new_array(9));
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
	free(ix.now.entry);
	free(ix.next.entry);
}

TEST_HARNESS_MAIN
