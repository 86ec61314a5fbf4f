// SPDX-License-Identifier: BSD-3-Clause
/* pmof kv bench: the report. */
#include <stdio.h>
#include <string.h>

#include "kv_bench.h"
#include "output.h"
#include "tool.h"

/* Of enum pmof_kv_stat: what counts up, and so is told for each operation. */
#define FIRST_SUM	PMOF_KV_STAT_ROUNDS

static struct json_object *op_object(const struct kv_bench_result *r, enum kv_op kind)
{
	const struct kv_bench_op *op = &r->op[kind];
	double seconds = (double)r->elapsed_ns / 1e9;
	struct json_object *o = new_object();

	put_text(o, "op", kv_op_names[kind]);
	put_u64(o, "operations", op->latency.count);
	put_double(o, "ops_per_s", (double)op->latency.count / seconds);
	put_double(o, "bytes_per_s", (double)op->bytes / seconds);
	put_u64(o, "missing", op->missing);
	if (kind == KV_OP_MODIFY)
		put_u64(o, "again", op->again);
	put_latency(o, &op->latency);
	return o;
}

/* The store counts from 0 again where the server was restarted meanwhile. */
static uint64_t stat_delta(const struct kv_bench_result *r, unsigned int i)
{
	const uint64_t before = r->stat_before[i], after = r->stat_after[i];

	return after < before ? after : after - before;
}

/* What the worker has done for requests, without what it does between them. */
static uint64_t handler_ns(const struct kv_bench_result *r)
{
	static const enum pmof_kv_stat parts[] = {
		PMOF_KV_STAT_PUT_NS, PMOF_KV_STAT_PREPARE_NS, PMOF_KV_STAT_COMMIT_NS,
		PMOF_KV_STAT_DELETE_NS, PMOF_KV_STAT_GET_NS,
	};
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(parts); i++)
		sum += stat_delta(r, parts[i]);
	return sum;
}

/* What the store has counted up. */
static struct json_object *stat_object(const struct kv_bench_result *r, double by)
{
	struct json_object *o = new_object();
	unsigned int i;

	for (i = FIRST_SUM; i < PMOF_KV_STAT_MAX && pmofkv_stat_name(i); i++) {
		uint64_t n = stat_delta(r, i);

		if (by > 0)
			put_double(o, pmofkv_stat_name(i), (double)n / by);
		else
			put_u64(o, pmofkv_stat_name(i), n);
	}
	put_double(o, "handler_ns", (double)handler_ns(r) / (by > 0 ? by : 1));
	return o;
}

static struct json_object *handle_object(const struct kv_bench_result *r)
{
	struct json_object *o = new_object();
	unsigned int i;

	for (i = 0; i < PMOFKV_NR_COUNTERS && pmofkv_counter_name(i); i++)
		put_u64(o, pmofkv_counter_name(i), r->counter[i]);
	return o;
}

struct json_object *kv_bench_object(const struct kv_bench *b, bool load,
				    const struct kv_bench_result *r)
{
	struct json_object *o = new_object(), *ops = new_array(), *per_op = new_object();
	double seconds = (double)r->elapsed_ns / 1e9;
	uint64_t all = 0;
	unsigned int i;

	for (i = 0; i < KV_OPS; i++) {
		all += r->op[i].latency.count;
		if (r->op[i].latency.count)
			push_object(ops, op_object(r, (enum kv_op)i));
	}
	put_text(o, "workload", load ? "load" : b->workload->name);
	put_u64(o, "operations", all);
	put_double(o, "seconds", seconds);
	put_double(o, "ops_per_s", (double)all / seconds);
	put_object(o, "ops", ops);
	snapshot_put_per_op(per_op, &r->after, &r->before, all);
	put_object(per_op, "store", stat_object(r, all ? (double)all : 1));
	put_object(o, "per_op", per_op);
	put_object(o, "store", stat_object(r, 0));
	put_object(o, "library", handle_object(r));
	return o;
}

/* --- the whole ------------------------------------------------------------------------ */

static void put_sizes(struct json_object *o, const struct kv_sizes *s)
{
	static const char *const kinds[] = { "fixed", "paper", "etc", "sys" };

	put_text(o, "values", kinds[s->kind]);
	if (s->kind == KV_SIZES_FIXED)
		put_u64(o, "value_bytes", s->value);
	if (s->key || s->kind == KV_SIZES_FIXED)
		put_u64(o, "key_bytes", s->key ? s->key : 16);
}

static struct json_object *report_object(const struct kv_bench *b)
{
	struct json_object *o = new_object();

	put_text(o, "device", b->device);
	put_u64(o, "keys", b->keys);
	put_sizes(o, &b->sizes);
	put_text(o, "choose", kv_choice_names[b->choice]);
	put_text(o, "protocol", pmofkv_protocol_name(b->protocol));
	put_u64(o, "threads", b->threads);
	put_u64(o, "batch", b->batch);
	put_u64(o, "seed", b->seed);
	put_bool(o, "durable", b->durable);
	put_bool(o, "emulated", b->emulated);
	put_object(o, "results", json_object_get(b->results));
	return o;
}

static const struct column op_columns[] = {
	{ "OP", "op", COL_TEXT }, { "COUNT", "operations", COL_NUMBER },
	{ "OPS/S", "ops_per_s", COL_RATE }, { "BYTES/S", "bytes_per_s", COL_SIZE },
	{ "MISSING", "missing", COL_NUMBER }, { "MIN", "latency_ns.min", COL_NS },
	{ "MEDIAN", "latency_ns.median", COL_NS }, { "P99", "latency_ns.p99", COL_NS },
	{ "P99.9", "latency_ns.p999", COL_NS }, { "MAX", "latency_ns.max", COL_NS },
};

static const struct column work_fields[] = {
	{ "work requests", "per_op.client.work_requests", COL_COUNT },
	{ "round trips", "per_op.client.round_trips", COL_COUNT },
	{ "server's calls", "per_op.server.rpc_calls", COL_COUNT },
	{ "store's rounds", "per_op.store.rounds", COL_COUNT },
	{ "fences", "per_op.store.fences", COL_COUNT },
	{ "lines written back", "per_op.store.lines", COL_COUNT },
	{ "bytes copied by server", "per_op.store.copied", COL_COUNT },
	{ "bytes stored by server", "per_op.store.stored", COL_COUNT },
	{ "store's time", "per_op.store.busy_ns", COL_NS },
	{ "of that, on requests", "per_op.store.handler_ns", COL_NS },
};

static void print_result(struct json_object *result)
{
	struct json_object *ops, *name;

	json_object_object_get_ex(result, "ops", &ops);
	json_object_object_get_ex(result, "workload", &name);
	printf("\nworkload %s\n", json_object_get_string(name));
	print_table(ops, op_columns, ARRAY_SIZE(op_columns));
	printf("for each operation\n");
	print_fields(result, work_fields, ARRAY_SIZE(work_fields));
}

void kv_bench_print(const struct kv_bench *b)
{
	struct json_object *o = report_object(b);
	char bytes[24];
	size_t i;

	if (b->json) {
		print_json(o, false);
		json_object_put(o);
		return;
	}
	printf("%s, %llu keys, %s, %u threads", b->device, (unsigned long long)b->keys,
	       kv_choice_names[b->choice], b->threads);
	if (b->sizes.kind == KV_SIZES_FIXED)
		printf(", values of %s", format_size(b->sizes.value, bytes, sizeof(bytes)));
	putchar('\n');
	for (i = 0; i < json_object_array_length(b->results); i++)
		print_result(json_object_array_get_idx(b->results, i));
	note_emulated(o, b->device);
	json_object_put(o);
}
