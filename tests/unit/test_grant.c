// SPDX-License-Identifier: GPL-2.0
/* What a session is given: rights, and how much of what is limited. */
#include "../../kmod/server/grant.h"
#include "unit.h"

#define RW	(PMOF_RIGHT_READ | PMOF_RIGHT_WRITE)

static unsigned int rights(struct pmof_grant g)
{
	return pmof_grant_rights(&g);
}

TEST(without_a_list)
{
	EXPECT_EQ(RW, rights((struct pmof_grant) { .allow_any = true }));
	EXPECT_EQ(PMOF_RIGHT_READ,
		  rights((struct pmof_grant) { .allow_any = true, .read_only = true }));
	EXPECT_EQ(0, rights((struct pmof_grant) { .proved = true }));
	EXPECT_EQ(0, rights((struct pmof_grant) { .proved = true, .listed = true,
						   .may_write = true }));
}

TEST(by_the_list)
{
	EXPECT_EQ(RW, rights((struct pmof_grant) { .has_list = true, .listed = true,
						   .may_write = true, .proved = true }));
	EXPECT_EQ(PMOF_RIGHT_READ, rights((struct pmof_grant) { .has_list = true, .listed = true,
								.proved = true }));
	EXPECT_EQ(0, rights((struct pmof_grant) { .has_list = true, .listed = true,
						  .may_write = true }));
	EXPECT_EQ(0, rights((struct pmof_grant) { .has_list = true, .proved = true }));
}

/* Whatever else is true. */
TEST(never)
{
	unsigned int i, r;

	for (i = 0; i < 64; i++) {
		struct pmof_grant g = {
			.read_only = i & 1, .has_list = i & 2, .allow_any = i & 4,
			.listed = i & 8, .may_write = i & 16, .proved = i & 32,
		};

		r = rights(g);
		EXPECT_TRUE(r == 0 || r == PMOF_RIGHT_READ || r == RW);
		if (g.read_only)
			EXPECT_FALSE(r & PMOF_RIGHT_WRITE) TH_LOG("%u", i);
		if (g.has_list && !(g.listed && g.proved))
			EXPECT_EQ(0, r) TH_LOG("%u", i);
		if (g.has_list && !g.may_write)
			EXPECT_FALSE(r & PMOF_RIGHT_WRITE) TH_LOG("%u", i);
		/* Once there is a list, nobody is anybody. */
		if (g.has_list) {
			g.allow_any = !g.allow_any;
			EXPECT_EQ(r, rights(g)) TH_LOG("%u", i);
		}
	}
}

TEST(charged)
{
	EXPECT_EQ(5, pmof_grant_charged(5, 3));
	EXPECT_EQ(7, pmof_grant_charged(5, 7));
	EXPECT_EQ(0, pmof_grant_charged(0, 0));
}

TEST(no_limit)
{
	EXPECT_EQ(~0ULL, pmof_grant_most(0, 0, 0));
	EXPECT_EQ(~0ULL, pmof_grant_most(0, ~0ULL, 12));
	EXPECT_EQ(~0ULL, pmof_grant_most(0, 3, ~0ULL));
}

TEST(limit)
{
	EXPECT_EQ(10, pmof_grant_most(10, 0, 0));
	EXPECT_EQ(6, pmof_grant_most(10, 4, 0));
	/* 4 of the 7 are its own. */
	EXPECT_EQ(7, pmof_grant_most(10, 7, 4));
	EXPECT_EQ(4, pmof_grant_most(10, 10, 4));
	EXPECT_EQ(0, pmof_grant_most(10, 10, 0));
}

/* What it has it keeps, and gets no more. */
TEST(limit_that_was_lowered)
{
	EXPECT_EQ(4, pmof_grant_most(2, 9, 4));
	EXPECT_EQ(0, pmof_grant_most(2, 9, 0));
	EXPECT_EQ(~0ULL, pmof_grant_most(2, ~0ULL, ~0ULL));
}

/* Nobody gets above the limit by taking all that he may, in any order. */
TEST(many_sessions)
{
	u64 state = 20261121, limit, sum, had[4];
	unsigned int turn, i;

	for (turn = 0; turn < 2000; turn++) {
		limit = 1 + rnd(&state) % 100;
		memset(had, 0, sizeof(had));
		for (i = 0, sum = 0; i < 40; i++) {
			u64 *mine = &had[rnd(&state) % 4];
			u64 most = pmof_grant_most(limit, sum, *mine);
			u64 want = rnd(&state) % 60;

			ASSERT_LE(*mine, most);
			ASSERT_LE(sum - *mine + most, limit);
			sum -= *mine;
			*mine = min_t(u64, want, most);
			sum += *mine;
		}
	}
}

TEST_HARNESS_MAIN
