// SPDX-License-Identifier: GPL-2.0
/* The client's dirty chunks against a model. */
#include "../client/dirty.c"
#include "kselftest_harness.h"

#define CHUNK	BIT_ULL(DIRTY_MIN_SHIFT)
#define CHUNKS	200
#define NS_SIZE	(CHUNKS * CHUNK - 77)

static const struct pmof_persist_ops by_range = { .by_range = true };

/* What the file asks of the rest of the client. */
const struct pmof_persist_ops *pmof_persist_persister(const struct pmof_conn *conn)
{
	return &by_range;
}

static unsigned int losses, losses_under_lock;

void pmof_conn_puts_lost(struct pmof_conn *conn)
{
	losses++;
	losses_under_lock += mutex_is_locked(&conn->dirty.lock);
}

FIXTURE(dirty) {
	struct pmof_conn *conn;
	bool model[CHUNKS];
};

FIXTURE_SETUP(dirty)
{
	self->conn = kzalloc(sizeof(*self->conn), GFP_KERNEL);
	ASSERT_TRUE(self->conn);
	self->conn->login.ns_size = NS_SIZE;
	mutex_init(&self->conn->dirty.lock);
	ASSERT_EQ(0, pmof_dirty_init(self->conn));
}

FIXTURE_TEARDOWN(dirty)
{
	pmof_dirty_free(self->conn);
	kfree(self->conn);
}

static void mark(struct fixture_dirty *self, u64 offset, u64 length)
{
	u64 i;

	pmof_dirty_mark(self->conn, offset, length);
	for (i = offset / CHUNK; i <= (offset + length - 1) / CHUNK; i++)
		self->model[i] = true;
}

/* Takes a range: its runs are the model's, in order, none longer than @most. */
static void take(struct __test_metadata *_metadata, struct fixture_dirty *self,
		 struct pmof_range range, u64 most, int rc)
{
	u64 first = range.offset / CHUNK, last = (range.offset + range.length - 1) / CHUNK;
	bool seen[CHUNKS] = {};
	struct pmof_range run;
	u64 i, end = 0;

	ASSERT_EQ(0, pmof_dirty_take(self->conn, &range));
	while (pmof_dirty_next(self->conn, most, &run)) {
		ASSERT_EQ(0, run.offset % CHUNK);
		ASSERT_GE(run.offset, end);
		ASSERT_GT(run.length, 0);
		ASSERT_LE(run.length, max(most, CHUNK));
		end = run.offset + run.length;
		ASSERT_LE(end, NS_SIZE);
		for (i = run.offset / CHUNK; i * CHUNK < end; i++)
			seen[i] = true;
	}
	for (i = 0; i < CHUNKS; i++) {
		EXPECT_EQ(self->model[i] && i >= first && i <= last, seen[i])
			TH_LOG("chunk %llu", i);
		if (!rc && seen[i])
			self->model[i] = false;
	}
	pmof_dirty_end(self->conn, rc);
}

TEST_F(dirty, init)
{
	EXPECT_EQ(CHUNKS, self->conn->dirty.nr);
	EXPECT_EQ(DIRTY_MIN_SHIFT, self->conn->dirty.shift);
	EXPECT_TRUE(pmof_dirty_worth(self->conn, PMOF_PERSIST_EXACT + 1));
	EXPECT_FALSE(pmof_dirty_worth(self->conn, PMOF_PERSIST_EXACT));
}

TEST_F(dirty, first_and_last_byte)
{
	struct pmof_range all = { 0, NS_SIZE }, middle = { CHUNK, NS_SIZE - 2 * CHUNK };

	mark(self, 0, 1);
	mark(self, NS_SIZE - 1, 1);
	EXPECT_TRUE(pmof_dirty_none(self->conn, &middle));
	EXPECT_FALSE(pmof_dirty_none(self->conn, &all));
	take(_metadata, self, all, NS_SIZE, 0);
	EXPECT_TRUE(pmof_dirty_none(self->conn, &all));
}

/* [V7] What is dropped is told before anybody can find it gone; nothing is not. */
TEST_F(dirty, drop)
{
	struct pmof_range all = { 0, NS_SIZE };

	losses = 0;
	losses_under_lock = 0;
	pmof_dirty_drop(self->conn);
	EXPECT_EQ(0, losses);
	mark(self, CHUNK, 1);
	pmof_dirty_drop(self->conn);
	EXPECT_EQ(1, losses);
	EXPECT_EQ(1, losses_under_lock);
	EXPECT_TRUE(pmof_dirty_none(self->conn, &all));
}

/* What could not be made durable is dirty still. */
TEST_F(dirty, failed_take)
{
	struct pmof_range all = { 0, NS_SIZE };

	mark(self, 3 * CHUNK - 1, 2);
	take(_metadata, self, all, NS_SIZE, -EIO);
	EXPECT_FALSE(pmof_dirty_none(self->conn, &all));
	take(_metadata, self, all, CHUNK, 0);
	EXPECT_TRUE(pmof_dirty_none(self->conn, &all));
}

TEST_F(dirty, random)
{
	u64 state = 20261121, round, i;

	for (round = 0; round < 500; round++) {
		u64 most = CHUNK << (state >> 40) % 6;
		struct pmof_range range;

		for (i = 0; i < (state >> 20) % 8; i++) {
			state = state * 6364136223846793005ULL + 1442695040888963407ULL;
			range.offset = (state >> 16) % NS_SIZE;
			range.length = 1 + (state >> 8) % (NS_SIZE - range.offset) % (9 * CHUNK);
			mark(self, range.offset, range.length);
		}
		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		range.offset = (state >> 16) % NS_SIZE;
		range.length = 1 + (state >> 8) % (NS_SIZE - range.offset);
		take(_metadata, self, range, most, round % 5 ? 0 : -EIO);
	}
}

static struct kunit_case pmof_cases[] = {
	KUNIT_CASE(kunit_dirty_init),
	KUNIT_CASE(kunit_dirty_first_and_last_byte),
	KUNIT_CASE(kunit_dirty_drop),
	KUNIT_CASE(kunit_dirty_failed_take),
	KUNIT_CASE_SLOW(kunit_dirty_random),
	{}
};

PMOF_KUNIT_SUITE(dirty);
