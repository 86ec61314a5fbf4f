// SPDX-License-Identifier: GPL-2.0
/* The states of a connection, and the time between its attempts. */
#include "../../kmod/client/state.h"
#include "unit.h"

TEST(transitions)
{
	static const bool legal[PMOF_NR_STATES][PMOF_NR_STATES] = {
		[PMOF_CONNECTING] = { [PMOF_LIVE] = true, [PMOF_DEAD] = true },
		[PMOF_LIVE] = { [PMOF_RECOVERING] = true, [PMOF_DEAD] = true },
		[PMOF_RECOVERING] = { [PMOF_LIVE] = true, [PMOF_DEAD] = true },
	};
	int from, to;

	for (from = 0; from < PMOF_NR_STATES; from++)
		for (to = 0; to < PMOF_NR_STATES; to++)
			EXPECT_EQ(legal[from][to], pmof_state_legal(from, to))
				TH_LOG("%s to %s", pmof_state_name(from), pmof_state_name(to));
}

TEST(backoff)
{
	static const unsigned int expected[] = { 1, 2, 4, 8, 10, 10 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(expected); i++)
		EXPECT_EQ(expected[i], pmof_backoff(i + 1, 10));
	EXPECT_EQ(1, pmof_backoff(3, 1));
	EXPECT_EQ(3600, pmof_backoff(40, 3600));
	EXPECT_EQ(3600, pmof_backoff(4000000000U, 3600));
}

TEST(lost_soon)
{
	static const unsigned int expected[] = { 0, 0, 0, 0, 1, 2, 4, 8, 10, 10 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(expected); i++)
		EXPECT_EQ(expected[i], pmof_pause(i, 10));
	EXPECT_EQ(3600, pmof_pause(4000000000U, 3600));
}

TEST_HARNESS_MAIN
