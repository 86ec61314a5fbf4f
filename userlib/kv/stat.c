// SPDX-License-Identifier: BSD-3-Clause
/* Counts: the server's of the store, and the handle's own. */
#include "internal.h"

static int fill(struct kv_task *t, struct kv_buffers *b)
{
	t->session = kv_session(t->kv);
	kv_request(t, b, sizeof(struct pmof_kv_request));
	kv_call(t, b, PMOF_KV_STAT, sizeof(struct pmof_kv_request));
	return 0;
}

/* As many as fit t->buf, of which there is room for @size values; how many is its result. */
static int take(struct kv_task *t, const struct kv_buffers *b)
{
	const struct pmof_kv_stat_reply *r = (const void *)b->reply;
	size_t i, n = le32toh(r->count);
	uint64_t *values = t->buf;

	if (n > (t->call.old - sizeof(*r)) / sizeof(r->value[0]))
		return -EPROTO;
	if (n > t->size)
		n = t->size;
	for (i = 0; i < n; i++)
		values[i] = le64toh(r->value[i]);
	return (int)n;
}

static void done(struct kv_task *t, struct kv_buffers *b)
{
	int ret;

	if (kv_lost(t))
		return;
	ret = kv_answer(t, b, sizeof(struct pmof_kv_stat_reply));
	kv_end(t, ret ? ret : take(t, b));
}

static const struct kv_stage stat_stage = { fill, done };

int pmofkv_stat(struct pmofkv *kv, uint64_t *values, unsigned int nr)
{
	struct kv_task t = { .kv = kv, .buf = values, .size = nr, .first = &stat_stage,
			     .stage = &stat_stage };

	memset(values, 0, nr * sizeof(*values));
	return kv_run(&t);
}

static const char *const stat_names[PMOF_KV_STAT_MAX] = {
	[PMOF_KV_STAT_KEYS]		= "keys",
	[PMOF_KV_STAT_CHUNKS]		= "chunks",
	[PMOF_KV_STAT_FREE_CHUNKS]	= "free_chunks",
	[PMOF_KV_STAT_SLOTS_USED]	= "slots_used",
	[PMOF_KV_STAT_RETIRED]		= "retired",
	[PMOF_KV_STAT_LEASES]		= "leases",
	[PMOF_KV_STAT_RECORDS]		= "records",
	[PMOF_KV_STAT_MAX_RECORDS]	= "max_records",
	[PMOF_KV_STAT_EPOCH]		= "epoch",
	[PMOF_KV_STAT_DRAM]		= "dram",
	[PMOF_KV_STAT_RECOVERY_NS]	= "recovery_ns",
	[PMOF_KV_STAT_RECOVERED]	= "recovered",
	[PMOF_KV_STAT_ROUNDS]		= "rounds",
	[PMOF_KV_STAT_PREPARES]		= "prepares",
	[PMOF_KV_STAT_COMMITS]		= "commits",
	[PMOF_KV_STAT_PUTS]		= "puts",
	[PMOF_KV_STAT_DELETES]		= "deletes",
	[PMOF_KV_STAT_GETS]		= "gets",
	[PMOF_KV_STAT_GETS_INLINE]	= "gets_inline",
	[PMOF_KV_STAT_SCANS]		= "scans",
	[PMOF_KV_STAT_CHECKPOINTS]	= "checkpoints",
	[PMOF_KV_STAT_COPIED]		= "copied",
	[PMOF_KV_STAT_LINES]		= "lines",
	[PMOF_KV_STAT_FENCES]		= "fences",
	[PMOF_KV_STAT_BUSY_NS]		= "busy_ns",
	[PMOF_KV_STAT_EVICTED]		= "evicted",
	[PMOF_KV_STAT_STORED]		= "stored",
	[PMOF_KV_STAT_PUT_NS]		= "put_ns",
	[PMOF_KV_STAT_PREPARE_NS]	= "prepare_ns",
	[PMOF_KV_STAT_COMMIT_NS]	= "commit_ns",
	[PMOF_KV_STAT_DELETE_NS]	= "delete_ns",
	[PMOF_KV_STAT_GET_NS]		= "get_ns",
	[PMOF_KV_STAT_BATCHES]		= "batches",
};

const char *pmofkv_stat_name(unsigned int stat)
{
	return stat < PMOF_KV_STAT_MAX ? stat_names[stat] : NULL;
}

static const char *const counter_names[PMOFKV_NR_COUNTERS] = {
	[PMOFKV_COUNT_PUTS_HERD]	= "puts_herd",
	[PMOFKV_COUNT_PUTS_SA]		= "puts_sa",
	[PMOFKV_COUNT_DELETES]		= "deletes",
	[PMOFKV_COUNT_GETS_INLINE]	= "gets_inline",
	[PMOFKV_COUNT_GETS_READ]	= "gets_read",
	[PMOFKV_COUNT_GETS_AGAIN]	= "gets_again",
	[PMOFKV_COUNT_SESSIONS]		= "sessions",
	[PMOFKV_COUNT_OUTCOMES_ASKED]	= "outcomes_asked",
	[PMOFKV_COUNT_OUTCOMES_UNKNOWN]	= "outcomes_unknown",
};

const char *pmofkv_counter_name(unsigned int counter)
{
	return counter < PMOFKV_NR_COUNTERS ? counter_names[counter] : NULL;
}

uint64_t pmofkv_counter(const struct pmofkv *kv, enum pmofkv_counter counter)
{
	if ((unsigned int)counter >= PMOFKV_NR_COUNTERS)
		return 0;
	return atomic_load_explicit(&kv->counters[counter], memory_order_relaxed);
}
