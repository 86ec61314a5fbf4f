// SPDX-License-Identifier: GPL-2.0
#include "grant.h"

/* PMOF_RIGHT_*, or-ed; 0: it may not come at all. */
unsigned int pmof_grant_rights(const struct pmof_grant *g)
{
	unsigned int all = PMOF_RIGHT_READ | (g->read_only ? 0 : PMOF_RIGHT_WRITE);

	if (!g->has_list)
		return g->allow_any ? all : 0;
	/* Who is in a list must prove that he is the one. */
	if (!g->listed || !g->proved)
		return 0;
	return g->may_write ? all : PMOF_RIGHT_READ;
}

/* What a client is charged for: what a session has, and what is kept for it to come back to. */
u64 pmof_grant_charged(u64 had, u64 used)
{
	return max_t(u64, had, used);
}

/*
 * How much a session may have in all, which is charged for @charged already.  @limit: of its
 * client, 0: none; @all_used: of that, by all its sessions, this one among them.  A limit that
 * was lowered meanwhile takes nothing away: who comes back may have what it had.
 */
u64 pmof_grant_most(u64 limit, u64 all_used, u64 charged)
{
	u64 room = U64_MAX;

	if (limit)
		room = limit - min_t(u64, limit, all_used);
	return charged + min_t(u64, room, U64_MAX - charged);
}
