// SPDX-License-Identifier: GPL-2.0
/* kmod/store/alloc.c: no slot twice, none lost, and the same again after a restart. */
#include "medium.h"
#include "unit.h"
#include "../../kmod/store/alloc.h"

#define NS_SIZE		(48ULL << 20)
#define HELD		600

struct held {
	u64 slot;
	u64 size;
};

static int allocations_left = -1;	/* none any more when 0; -1: no limit */

static void *zalloc(size_t size)
{
	if (!allocations_left)
		return NULL;
	if (allocations_left > 0)
		allocations_left--;
	return medium_zalloc(size);
}

FIXTURE(alloc) {
	struct pmof_kv_medium m;
	struct pmof_kv_chunk *chunk;
	struct pmof_kv_alloc a;
	struct held held[HELD];
	unsigned int nr;
	u64 rng;
};

FIXTURE_SETUP(alloc)
{
	allocations_left = -1;
	self->rng = 4711;
	self->m.base = calloc(1, PMOF_KV_CHUNK_SIZE);
	self->m.write_back = medium_write_back;
	self->m.sb = (struct pmof_kv_super){ .ns_size = NS_SIZE, .nr_records = 128, .first = 1 };
	ASSERT_EQ(0, pmof_kv_layout(&self->m.sb));
	ASSERT_EQ(11, self->m.sb.nr_chunks);
	self->chunk = calloc(self->m.sb.nr_chunks, sizeof(*self->chunk));
	pmof_kv_alloc_init(&self->a, &self->m.sb, self->chunk, zalloc);
}

FIXTURE_TEARDOWN(alloc)
{
	pmof_kv_alloc_free(&self->a, medium_free);
	free(self->chunk);
	free(self->m.base);
}

/* As the store will: a span's parts last to first. */
static void assign(struct pmof_kv_medium *m, u64 slot, u32 class)
{
	u32 chunk = (slot - m->sb.chunks) >> PMOF_KV_CHUNK_SHIFT, part;

	for (part = pmof_kv_class_chunks(class); part; part--)
		pmof_kv_assign_chunk(m, chunk + part - 1, class, part - 1);
}

static int take(struct pmof_kv_medium *m, struct pmof_kv_alloc *a, u32 class, u64 *slot)
{
	bool fresh;
	int rc = pmof_kv_alloc_take(a, class, slot, &fresh);

	if (!rc && fresh)
		assign(m, *slot, class);
	return rc;
}

TEST_F(alloc, no_slot_twice)
{
	static const u64 length[] = { 60, 64, 100, 200, 5000, 400000, 3000000, 4194304, 4194305,
				      9000000 };
	unsigned int step, i, full = 0;
	struct held h;

	for (step = 0; step < 6000; step++) {
		u32 class = pmof_kv_class_of(length[rnd(&self->rng) % ARRAY_SIZE(length)]);

		if (self->nr && (self->nr == HELD || rnd(&self->rng) % 100 < 45)) {
			i = rnd(&self->rng) % self->nr;
			ASSERT_EQ(0, pmof_kv_alloc_give(&self->a, self->held[i].slot));
			ASSERT_EQ(-EINVAL, pmof_kv_alloc_give(&self->a, self->held[i].slot));
			self->held[i] = self->held[--self->nr];
			continue;
		}
		if (take(&self->m, &self->a, class, &h.slot)) {
			full++;
			continue;
		}
		ASSERT_TRUE(pmof_kv_slot_ok(self->m.base, &self->m.sb, h.slot, &h.size));
		ASSERT_EQ(pmof_kv_class_size(class), h.size);
		for (i = 0; i < self->nr; i++)
			ASSERT_TRUE(h.slot + h.size <= self->held[i].slot ||
				    self->held[i].slot + self->held[i].size <= h.slot);
		self->held[self->nr++] = h;
		ASSERT_EQ(self->nr, self->a.used_slots);
	}
	EXPECT_LT(0, full);
}

/* Each slot of a class is given out, and after a restart just the free ones. */
TEST_F(alloc, to_the_last_slot)
{
	u32 class = pmof_kv_class_of(32768), slots = pmof_kv_class_slots(class), i;
	u32 total = slots * self->m.sb.nr_chunks;
	struct pmof_kv_chunk *again;
	struct pmof_kv_alloc b;
	u64 slot, freed = 0;

	ASSERT_EQ(128, slots);
	for (i = 0; i < total; i++) {
		ASSERT_EQ(0, take(&self->m, &self->a, class, &slot));
		if (i == 5 * slots + 3)
			freed = slot;
	}
	EXPECT_EQ(-ENOSPC, take(&self->m, &self->a, class, &slot));
	EXPECT_EQ(-ENOSPC, take(&self->m, &self->a, 1, &slot));
	EXPECT_EQ(0, self->a.nr_free);
	EXPECT_EQ(0, pmof_kv_alloc_give(&self->a, freed));
	EXPECT_EQ(0, take(&self->m, &self->a, class, &slot));
	EXPECT_EQ(freed, slot);

	again = calloc(self->m.sb.nr_chunks, sizeof(*again));
	pmof_kv_alloc_init(&b, &self->m.sb, again, zalloc);
	ASSERT_EQ(0, pmof_kv_alloc_load(&b, self->m.base));
	for (i = 0; i < total; i++) {
		slot = pmof_kv_chunk_offset(&self->m.sb, i / slots) +
		       i % slots * pmof_kv_class_size(class);
		if (slot != freed)
			ASSERT_EQ(0, pmof_kv_alloc_mark(&b, slot));
	}
	EXPECT_EQ(-EINVAL, pmof_kv_alloc_mark(&b, slot));
	EXPECT_EQ(-EINVAL, pmof_kv_alloc_mark(&b, freed + 64));
	EXPECT_EQ(-EINVAL, pmof_kv_alloc_mark(&b, 0));
	EXPECT_EQ(-EINVAL, pmof_kv_alloc_mark(&b, U64_MAX));
	EXPECT_EQ(0, take(&self->m, &b, class, &slot));
	EXPECT_EQ(freed, slot);
	EXPECT_EQ(-ENOSPC, take(&self->m, &b, class, &slot));
	pmof_kv_alloc_free(&b, medium_free);
	free(again);
}

TEST_F(alloc, spans)
{
	u32 class = pmof_kv_class_of(5 * PMOF_KV_CHUNK_SIZE);
	u64 first, second, other;

	ASSERT_EQ(0, take(&self->m, &self->a, class, &first));
	ASSERT_EQ(0, take(&self->m, &self->a, class, &second));
	EXPECT_EQ(-ENOSPC, take(&self->m, &self->a, class, &other));
	/* What looks like a slot inside one is none; a span is a span for life. */
	EXPECT_EQ(-EINVAL, pmof_kv_alloc_give(&self->a, first + PMOF_KV_CHUNK_SIZE));
	EXPECT_EQ(0, pmof_kv_alloc_give(&self->a, first));
	EXPECT_EQ(-ENOSPC, take(&self->m, &self->a, class - 1, &other));
	EXPECT_EQ(0, take(&self->m, &self->a, class, &other));
	EXPECT_EQ(first, other);
	EXPECT_EQ(1, self->a.nr_free);
}

/* A cut may leave a chunk free between others: its word was not durable. */
TEST_F(alloc, spans_between)
{
	u64 slot;

	pmof_kv_assign_chunk(&self->m, 1, 1, 0);
	pmof_kv_assign_chunk(&self->m, 3, 1, 0);
	ASSERT_EQ(0, pmof_kv_alloc_load(&self->a, self->m.base));
	EXPECT_EQ(9, self->a.nr_free);
	ASSERT_EQ(0, take(&self->m, &self->a, pmof_kv_class_of(3 * PMOF_KV_CHUNK_SIZE), &slot));
	EXPECT_EQ(pmof_kv_chunk_offset(&self->m.sb, 4), slot);
	ASSERT_EQ(0, take(&self->m, &self->a, pmof_kv_class_of(4 * PMOF_KV_CHUNK_SIZE), &slot));
	EXPECT_EQ(pmof_kv_chunk_offset(&self->m.sb, 7), slot);
	EXPECT_EQ(2, self->a.nr_free);
	EXPECT_EQ(-ENOSPC,
		  take(&self->m, &self->a, pmof_kv_class_of(PMOF_KV_CHUNK_SIZE + 1), &slot));
}

TEST_F(alloc, no_memory)
{
	u64 slot;

	allocations_left = 0;
	EXPECT_EQ(-ENOMEM, take(&self->m, &self->a, 1, &slot));
	EXPECT_EQ(11, self->a.nr_free);
	EXPECT_EQ(0, self->a.used_slots);
	allocations_left = 1;
	EXPECT_EQ(0, take(&self->m, &self->a, 1, &slot));
	EXPECT_EQ(-ENOSPC, take(&self->m, &self->a, 0, &slot));
	EXPECT_EQ(-ENOSPC, take(&self->m, &self->a, PMOF_KV_CLASSES + 1, &slot));
}

TEST_HARNESS_MAIN
