/* SPDX-License-Identifier: GPL-2.0 */
/* Snapshots of a connection's counters, and assertions of what they grew by. */
#ifndef PMOF_COUNTS_H
#define PMOF_COUNTS_H

#include "vm.h"

enum {
	WR_WRITE, WR_READ, WR_SEND, WR_CAS, WR_FETCH_ADD, WR_FLUSH, WR_ATOMIC_WRITE, ROUND_TRIPS,
	PUTS, GETS, PERSISTS, ATOMICS, BYTES_PUT, BYTES_GOT, ERRORS, RPC_CALLS, SRV_PERSISTS, SRV_PUTS, COMMITS,
	PREPARES, REVALIDATES, BATCHES, BATCH_1, BATCH_2, BATCH_4, BATCH_8, BATCH_16, LINES,
	BYTES, FENCES, REPLIES, BAD_MESSAGES, MRS, NR_COUNTERS
};

static const char *const names[NR_COUNTERS] = {
	[WR_WRITE] = "stats/wr_write", [WR_READ] = "stats/wr_read", [WR_SEND] = "stats/wr_send",
	[WR_CAS] = "stats/wr_cas", [WR_FETCH_ADD] = "stats/wr_fetch_add",
	[WR_FLUSH] = "stats/wr_flush", [WR_ATOMIC_WRITE] = "stats/wr_atomic_write",
	[ROUND_TRIPS] = "stats/round_trips", [PUTS] = "stats/puts", [GETS] = "stats/gets",
	[PERSISTS] = "stats/persists", [ATOMICS] = "stats/atomics",
	[BYTES_PUT] = "stats/bytes_put", [BYTES_GOT] = "stats/bytes_got",
	[ERRORS] = "stats/errors", [RPC_CALLS] = "server_stats/rpc_calls",
	[SRV_PERSISTS] = "server_stats/persists", [SRV_PUTS] = "server_stats/puts",
	[COMMITS] = "server_stats/commits", [PREPARES] = "server_stats/prepares",
	[REVALIDATES] = "server_stats/revalidates", [BATCHES] = "server_stats/batches",
	[BATCH_1] = "server_stats/batch_1", [BATCH_2] = "server_stats/batch_2",
	[BATCH_4] = "server_stats/batch_4", [BATCH_8] = "server_stats/batch_8",
	[BATCH_16] = "server_stats/batch_16", [LINES] = "server_stats/lines",
	[BYTES] = "server_stats/bytes", [FENCES] = "server_stats/fences",
	[REPLIES] = "server_stats/replies", [BAD_MESSAGES] = "server_stats/bad_messages",
	[MRS] = "server_stats/mrs",
};

struct counts {
	uint64_t v[NR_COUNTERS];
};

static inline struct counts take(int instance)
{
	struct counts c;
	int i;

	for (i = 0; i < NR_COUNTERS; i++)
		c.v[i] = vm_stat(instance, names[i]);
	return c;
}

/* How much a counter of the fixture's connection has grown since @before. */
#define GROWN(before, counter)								\
	(vm_stat(self->instance, names[counter]) - (before).v[counter])

#define GREW(before, counter, by)							\
	EXPECT_EQ((uint64_t)(by), GROWN(before, counter)) TH_LOG("%s", names[counter])

#endif /* PMOF_COUNTS_H */
