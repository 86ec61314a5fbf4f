// SPDX-License-Identifier: GPL-2.0
#include "state.h"

static const char * const names[PMOF_NR_STATES] = {
	[PMOF_CONNECTING]	= "connecting",
	[PMOF_LIVE]		= "live",
	[PMOF_RECOVERING]	= "recovering",
	[PMOF_DEAD]		= "dead",
};

/* legal[from] is a bit mask of the states that may follow. */
static const unsigned int legal[PMOF_NR_STATES] = {
	[PMOF_CONNECTING]	= BIT(PMOF_LIVE) | BIT(PMOF_DEAD),
	[PMOF_LIVE]		= BIT(PMOF_RECOVERING) | BIT(PMOF_DEAD),
	[PMOF_RECOVERING]	= BIT(PMOF_LIVE) | BIT(PMOF_DEAD),
	[PMOF_DEAD]		= 0,
};

bool pmof_state_legal(enum pmof_state from, enum pmof_state to)
{
	return legal[from] & BIT(to);
}

const char *pmof_state_name(enum pmof_state state)
{
	return names[state];
}

/* Seconds to wait behind failed attempt @attempt (from 1), at most @most: 1, 2, 4, ... */
unsigned int pmof_backoff(unsigned int attempt, unsigned int most)
{
	return attempt > 16 ? most : min_t(unsigned int, 1U << (attempt - 1), most);
}

/* Seconds before the first attempt, where @brief connections in a row were lost soon; <= @most. */
unsigned int pmof_pause(unsigned int brief, unsigned int most)
{
	return brief > PMOF_BRIEF_FREE ? pmof_backoff(brief - PMOF_BRIEF_FREE, most) : 0;
}
