// SPDX-License-Identifier: GPL-2.0
/* Committed objects in SUBMIT: order, results, and what a batch of PREPAREs costs. */
#include "window.h"
#include "counts.h"
#include "../../kmod/common/object.h"

#define LEN	128
#define MANY	100

static struct pmof_op op(uint16_t opcode, uint64_t off, uint64_t len, const void *addr)
{
	return (struct pmof_op){ .size = sizeof(struct pmof_op), .opcode = opcode,
				 .result = 12345, .offset = WINDOW_OFF + off, .length = len,
				 .addr = (uintptr_t)addr };
}

static struct pmof_op commit(uint64_t off, uint64_t len, const void *addr, uint64_t generation)
{
	struct pmof_op o = op(PMOF_OP_PUT, off, len, addr);

	o.flags = PMOF_F_COMMIT;
	o.operand = generation;
	return o;
}

static struct pmof_op get_valid(uint64_t off, uint64_t len, void *addr)
{
	struct pmof_op o = op(PMOF_OP_GET, off, len, addr);

	o.flags = PMOF_F_VALID;
	return o;
}

static uint64_t trailer_at(int fd, uint64_t off, uint64_t len)
{
	uint64_t word = 0;

	if (vm_get(fd, WINDOW_OFF + off + len - 8, &word, 8))
		abort();
	return word;
}

/* --- what it costs ------------------------------------------------------------ */

/* The figure of the issue: a hundred objects prepared by one message, behind one fence. */
TEST_F(window, a_hundred_prepares)
{
	struct pmof_op ops[MANY];
	struct counts c;
	int i;

	self->may_change = true;
	for (i = 0; i < MANY; i++)
		ops[i] = op(PMOF_OP_PREPARE, i * LEN, LEN, NULL);
	c = take(self->instance);
	ASSERT_EQ(0, vm_submit(self->fd, ops, MANY));
	GREW(c, PREPARES, MANY);
	GREW(c, WR_SEND, 1);
	GREW(c, RPC_CALLS, 1);
	GREW(c, ROUND_TRIPS, 1);
	GREW(c, FENCES, 1);
	GREW(c, WR_WRITE, 0);
	GREW(c, WR_READ, 0);
	for (i = 0; i < MANY; i++) {
		ASSERT_EQ(0, ops[i].result);
		EXPECT_TRUE(pmof_generation_ok(ops[i].old));
		EXPECT_EQ(pmof_trailer_prepared(ops[i].old), trailer_at(self->fd, i * LEN, LEN));
	}
}

/* They share their message's fate: what may be sent twice goes not with what may not. */
TEST_F(window, prepares_with_noreplay_by_themselves)
{
	struct pmof_op ops[4];
	struct counts c;
	int i;

	self->may_change = true;
	for (i = 0; i < 4; i++) {
		ops[i] = op(PMOF_OP_PREPARE, i * LEN, LEN, NULL);
		ops[i].flags = i < 2 ? 0 : PMOF_F_NOREPLAY;
	}
	c = take(self->instance);
	ASSERT_EQ(0, vm_submit(self->fd, ops, 4));
	GREW(c, PREPARES, 4);
	GREW(c, WR_SEND, 2);
	GREW(c, RPC_CALLS, 2);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(pmof_trailer_prepared(ops[i].old), trailer_at(self->fd, i * LEN, LEN));
}

/* More than one message takes, and each generation at its own place. */
TEST_F(window, as_many_prepares_as_a_submit_takes)
{
	static struct pmof_op ops[PMOF_SUBMIT_MAX];
	struct counts c;
	int i;

	self->may_change = true;
	for (i = 0; i < PMOF_SUBMIT_MAX; i++)
		ops[i] = op(PMOF_OP_PREPARE, (PMOF_SUBMIT_MAX - i) * LEN, LEN, NULL);
	c = take(self->instance);
	ASSERT_EQ(0, vm_submit(self->fd, ops, PMOF_SUBMIT_MAX));
	GREW(c, PREPARES, PMOF_SUBMIT_MAX);
	GREW(c, WR_SEND, 2);
	for (i = 0; i < PMOF_SUBMIT_MAX; i++) {
		ASSERT_EQ(0, ops[i].result) TH_LOG("operation %d", i);
		EXPECT_EQ(pmof_trailer_prepared(ops[i].old),
			  trailer_at(self->fd, (PMOF_SUBMIT_MAX - i) * LEN, LEN));
	}
}

/* --- order ---------------------------------------------------------------------- */

TEST_F(window, prepare_commit_get_by_batches)
{
	static char data[MANY][LEN], got[MANY][LEN];
	struct pmof_op ops[MANY];
	uint64_t state = 11;
	int i;

	self->may_change = true;
	vm_fill(&state, data, sizeof(data));
	for (i = 0; i < MANY; i++)
		ops[i] = op(PMOF_OP_PREPARE, i * LEN, LEN, NULL);
	ASSERT_EQ(0, vm_submit(self->fd, ops, MANY));
	for (i = 0; i < MANY; i++)
		ops[i] = commit(i * LEN, LEN, data[i], ops[i].old);
	ASSERT_EQ(0, vm_submit(self->fd, ops, MANY));
	for (i = 0; i < MANY; i++) {
		ASSERT_EQ(0, ops[i].result) TH_LOG("operation %d", i);
		EXPECT_EQ(pmof_trailer_committed(ops[i].operand),
			  trailer_at(self->fd, i * LEN, LEN));
		ops[i] = get_valid(i * LEN, LEN, got[i]);
		ops[i].compare = 0;
	}
	ASSERT_EQ(0, vm_submit(self->fd, ops, MANY));
	for (i = 0; i < MANY; i++) {
		ASSERT_EQ(0, ops[i].result);
		EXPECT_EQ(trailer_at(self->fd, i * LEN, LEN), pmof_trailer_committed(ops[i].old));
		EXPECT_EQ(0, memcmp(data[i], got[i], LEN - 8)) TH_LOG("object %d", i);
	}
}

/* Everything about one object in one call; the generation is known from before. */
TEST_F(window, a_life_in_one_call)
{
	char data[LEN], got[3][LEN];
	uint64_t g, state = 12;

	self->may_change = true;
	vm_fill(&state, data, LEN);
	ASSERT_EQ(0, vm_prepare(self->fd, WINDOW_OFF, LEN, &g));
	struct pmof_op ops[] = {
		commit(0, LEN, self->before, g),
		get_valid(0, LEN, got[0]),
		op(PMOF_OP_REVALIDATE, 0, LEN, NULL),
		op(PMOF_OP_PREPARE, 0, LEN, NULL),
		commit(0, LEN, data, g + 1),
		op(PMOF_OP_PUT, LEN, 8, &state),
		get_valid(0, LEN, got[1]),
		op(PMOF_OP_PREPARE, 0, LEN, NULL),
		get_valid(0, LEN, got[2]),
		op(PMOF_OP_PUT, 0, 8, data),
		op(PMOF_OP_PREPARE, 0, LEN, NULL),
	};
	size_t i;

	ASSERT_EQ(0, vm_submit(self->fd, ops, ARRAY_SIZE(ops)));
	for (i = 0; i < 8; i++)
		EXPECT_EQ(0, ops[i].result) TH_LOG("operation %zu", i);
	EXPECT_EQ(g, ops[1].old);
	EXPECT_EQ(0, memcmp(self->before, got[0], LEN - 8));
	EXPECT_EQ(g, ops[2].old);
	EXPECT_EQ(g + 1, ops[3].old);
	EXPECT_EQ(g + 1, ops[6].old);
	EXPECT_EQ(0, memcmp(data, got[1], LEN - 8));
	EXPECT_EQ(g + 2, ops[7].old);
	/* Prepared, so not valid; and nothing behind the failure has run. */
	EXPECT_EQ(-EAGAIN, ops[8].result);
	EXPECT_EQ(-ECANCELED, ops[9].result);
	EXPECT_EQ(-ECANCELED, ops[10].result);
	EXPECT_EQ(g + 2, trailer_at(self->fd, 0, LEN));
}

TEST_F(window, revalidates)
{
	struct pmof_op ops[5];
	uint64_t word;
	int i;

	self->may_change = true;
	for (i = 0; i < 5; i++) {
		word = i == 3 ? pmof_trailer_prepared(70) : pmof_trailer_persistent(70 + i);
		ASSERT_EQ(0, vm_put(self->fd, WINDOW_OFF + i * LEN + LEN - 8, &word, 8, PMOF_F_PERSIST));
		ops[i] = op(PMOF_OP_REVALIDATE, i * LEN, LEN, NULL);
	}
	ASSERT_EQ(0, vm_submit(self->fd, ops, 5));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(0, ops[i].result);
		EXPECT_EQ(70 + i, ops[i].old);
		EXPECT_EQ(pmof_trailer_committed(70 + i), trailer_at(self->fd, i * LEN, LEN));
	}
	EXPECT_EQ(-EAGAIN, ops[3].result);
	EXPECT_EQ(pmof_trailer_prepared(70), trailer_at(self->fd, 3 * LEN, LEN));
	/* They went together, and each tells its own. */
	EXPECT_EQ(0, ops[4].result);
	EXPECT_EQ(74, ops[4].old);
	/* What follows them is behind a failure. */
	ops[4] = op(PMOF_OP_GET, 0, LEN, self->now);
	ASSERT_EQ(0, vm_submit(self->fd, ops + 3, 2));
	EXPECT_EQ(-EAGAIN, ops[3].result);
	EXPECT_EQ(-ECANCELED, ops[4].result);
}

/* --- refused as a whole ----------------------------------------------------------- */

/* The fixture sees that not even the good ones in front have run. */
TEST_F(window, malformed_descriptors_change_nothing)
{
	uint64_t junk[16] = { 0xdeadbeef };
	struct pmof_op ops[3], bad[32];
	size_t i, n = 0, at, k;

#define BAD(base, field, value) do {		\
		bad[n] = base;			\
		bad[n++].field = value;		\
	} while (0)
	BAD(op(PMOF_OP_PREPARE, 0, LEN, NULL), flags, PMOF_F_PERSIST);
	BAD(op(PMOF_OP_PREPARE, 0, LEN, NULL), flags, PMOF_F_COMMIT);
	BAD(op(PMOF_OP_PREPARE, 0, LEN, NULL), addr, 8);
	BAD(op(PMOF_OP_PREPARE, 0, LEN, NULL), compare, 1);
	BAD(op(PMOF_OP_PREPARE, 0, LEN, NULL), operand, 1);
	BAD(op(PMOF_OP_PREPARE, 0, LEN, NULL), reserved, 1);
	BAD(op(PMOF_OP_PREPARE, 0, LEN, NULL), length, 8);
	BAD(op(PMOF_OP_PREPARE, 0, LEN, NULL), length, 0);
	BAD(op(PMOF_OP_PREPARE, 0, LEN, NULL), length, 60);
	BAD(op(PMOF_OP_PREPARE, 0, LEN, NULL), offset, WINDOW_OFF + 4);
	BAD(op(PMOF_OP_REVALIDATE, 0, LEN, NULL), flags, PMOF_F_VALID);
	BAD(op(PMOF_OP_REVALIDATE, 0, LEN, NULL), addr, 8);
	BAD(op(PMOF_OP_REVALIDATE, 0, LEN, NULL), operand, 1);
	BAD(op(PMOF_OP_REVALIDATE, 0, LEN, NULL), length, 8);
	BAD(op(PMOF_OP_REVALIDATE, 0, LEN, NULL), offset, WINDOW_OFF + 1);
	BAD(commit(0, LEN, junk, 1), operand, 0);
	BAD(commit(0, LEN, junk, 1), operand, PMOF_GENERATION_MASK + 1);
	BAD(commit(0, LEN, junk, 1), compare, 1);
	BAD(commit(0, LEN, junk, 1), length, 8);
	BAD(commit(0, LEN, junk, 1), length, 0);
	BAD(commit(0, LEN, junk, 1), length, 20);
	BAD(commit(0, LEN, junk, 1), offset, WINDOW_OFF + 4);
	BAD(commit(0, LEN, junk, 1), flags, PMOF_F_COMMIT | PMOF_F_VALID);
	BAD(get_valid(0, LEN, junk), operand, 1);
	BAD(get_valid(0, LEN, junk), length, 8);
	BAD(get_valid(0, LEN, junk), offset, WINDOW_OFF + 4);
	BAD(get_valid(0, LEN, junk), flags, PMOF_F_COMMIT);
	BAD(op(PMOF_OP_PERSIST, 0, 64, NULL), flags, PMOF_F_COMMIT);
	BAD(op(PMOF_OP_CAS, 0, 8, NULL), flags, PMOF_F_COMMIT);
	BAD(op(PMOF_OP_PREPARE, 0, LEN, NULL), opcode, 8);
#undef BAD
	for (i = 0; i < n; i++)
		for (at = 0; at < 3; at++) {
			for (k = 0; k < 3; k++)
				ops[k] = op(k % 2 ? PMOF_OP_PUT : PMOF_OP_PREPARE, k * LEN, LEN,
					    k % 2 ? junk : NULL);
			ops[at] = bad[i];
			EXPECT_EQ(-EINVAL, vm_submit(self->fd, ops, 3))
				TH_LOG("descriptor %zu at %zu", i, at);
		}
}

/* Past the end: told for the call or in the result, and nothing behind it runs. */
TEST_F(window, range)
{
	struct pmof_op ops[2];
	int i, rc;

	for (i = 0; i < 3; i++) {
		ops[0] = i == 0 ? op(PMOF_OP_PREPARE, 0, LEN, NULL) :
			 i == 1 ? op(PMOF_OP_REVALIDATE, 0, LEN, NULL) :
			 commit(0, LEN, self->now, 1);
		ops[0].offset = self->info.ns_size - 64;
		ops[1] = op(PMOF_OP_PREPARE, 0, LEN, NULL);
		rc = vm_submit(self->fd, ops, 2);
		EXPECT_EQ(-ERANGE, rc ? rc : ops[0].result);
		if (!rc)
			EXPECT_EQ(-ECANCELED, ops[1].result);
	}
}

TEST_F(window, the_wrong_mode)
{
	int ro = vm_open(self->instance, O_RDONLY), wo = vm_open(self->instance, O_WRONLY);
	struct pmof_op one;

	ASSERT_LE(0, ro);
	ASSERT_LE(0, wo);
	one = op(PMOF_OP_PREPARE, 0, LEN, NULL);
	EXPECT_EQ(-EBADF, vm_submit(ro, &one, 1));
	one = op(PMOF_OP_REVALIDATE, 0, LEN, NULL);
	EXPECT_EQ(-EBADF, vm_submit(ro, &one, 1));
	one = commit(0, LEN, self->before, 1);
	EXPECT_EQ(-EBADF, vm_submit(ro, &one, 1));
	one = get_valid(0, LEN, self->now);
	EXPECT_EQ(-EBADF, vm_submit(wo, &one, 1));
	close(ro);
	close(wo);
}

TEST_HARNESS_MAIN
