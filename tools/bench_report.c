// SPDX-License-Identifier: BSD-3-Clause
/* pmof bench: the report. */
#include <stdio.h>

#include "bench.h"
#include "output.h"
#include "tool.h"

struct json_object *bench_result_object(const struct bench_case *c, const struct bench_result *r)
{
	double seconds = (double)r->elapsed_ns / 1e9;
	struct json_object *o = new_object(), *sub;

	put_text(o, "op", c->op->name);
	put_u64(o, "size", c->size);
	put_u64(o, "threads", c->threads);
	put_u64(o, "depth", c->depth);
	put_u64(o, "operations", r->ops);
	put_double(o, "seconds", seconds);
	put_double(o, "ops_per_s", seconds > 0 ? (double)r->ops / seconds : 0);
	put_double(o, "bytes_per_s",
		   seconds > 0 ? (double)r->ops * (double)c->size / seconds : 0);
	put_latency(o, &r->latency);
	sub = new_object();
	snapshot_put_per_op(sub, &r->after, &r->before, r->ops);
	put_object(o, "per_op", sub);
	sub = new_object();
	snapshot_put(sub, &r->after, &r->before);
	put_object(o, "counters", sub);
	return o;
}

static const struct column columns[] = {
	{ "OP", "op", COL_TEXT }, { "SIZE", "size", COL_SIZE }, { "THR", "threads", COL_NUMBER },
	{ "DEPTH", "depth", COL_NUMBER }, { "OPS/S", "ops_per_s", COL_RATE },
	{ "BYTES/S", "bytes_per_s", COL_SIZE }, { "MIN", "latency_ns.min", COL_NS },
	{ "MEDIAN", "latency_ns.median", COL_NS }, { "P99", "latency_ns.p99", COL_NS },
	{ "MAX", "latency_ns.max", COL_NS }, { "WR", "per_op.client.work_requests", COL_COUNT },
	{ "TRIPS", "per_op.client.round_trips", COL_COUNT },
	{ "COMPL", "per_op.client.completions", COL_COUNT },
	{ "RPC", "per_op.server.rpc_calls", COL_COUNT },
	{ "LINES", "per_op.server.lines", COL_COUNT },
	{ "FENCES", "per_op.server.fences", COL_COUNT },
};

static void put_device_attr(struct json_object *o, const char *name, int instance)
{
	const struct attr attr = { name, ATTR_TEXT };
	char text[256];

	if (!pmof_read_attr(instance, name, text, sizeof(text)))
		put_attr(o, &attr, text);
}

struct json_object *bench_report_object(const struct bench *b)
{
	int instance = pmof_instance(b->dev);
	struct json_object *o = new_object();
	char text[24];

	snprintf(text, sizeof(text), "pmof%d", instance);
	put_text(o, "device", text);
	put_text(o, "namespace", b->info.name);
	put_device_attr(o, "address", instance);
	put_text(o, "persist_method", pmof_method_name(b->info.method));
	put_text(o, "domain", pmof_domain_name(b->info.domain));
	put_text(o, "placement", pmof_placement_name(b->info.placement));
	put_bool(o, "durable", b->info.flags & PMOF_INFO_DURABLE);
	put_bool(o, "emulated", b->info.flags & PMOF_INFO_EMULATED);
	put_u64(o, "queues", b->info.nr_queues);
	put_u64(o, "queue_depth", b->info.queue_depth);
	put_device_attr(o, "auto", instance);
	put_u64(o, "offset", b->offset);
	put_u64(o, "span", b->span);
	put_object(o, "results", json_object_get(b->results));
	return o;
}

/* The counters that this measurement moved, by operation. */
static void print_counters(struct json_object *result, const char *side)
{
	struct json_object *per_op, *counters;
	struct json_object_iterator it, end;

	if (!json_object_object_get_ex(result, "per_op", &per_op) ||
	    !json_object_object_get_ex(per_op, side, &counters))
		return;
	printf("  %s:", side);
	it = json_object_iter_begin(counters);
	end = json_object_iter_end(counters);
	for (; !json_object_iter_equal(&it, &end); json_object_iter_next(&it)) {
		struct json_object *value = json_object_iter_peek_value(&it);

		if (json_object_get_double(value) > 0)
			printf(" %s %s", json_object_iter_peek_name(&it),
			       json_object_get_string(value));
	}
	puts("");
}

static void print_all_counters(const struct bench *b)
{
	size_t i, n = json_object_array_length(b->results);

	for (i = 0; i < n; i++) {
		struct json_object *r = json_object_array_get_idx(b->results, i);

		printf("\n%s, %s bytes, %s threads, depth %s:\n",
		       json_object_get_string(json_object_object_get(r, "op")),
		       json_object_get_string(json_object_object_get(r, "size")),
		       json_object_get_string(json_object_object_get(r, "threads")),
		       json_object_get_string(json_object_object_get(r, "depth")));
		print_counters(r, "client");
		print_counters(r, "server");
	}
}

void bench_print_report(const struct bench *b)
{
	struct json_object *o = bench_report_object(b);

	if (b->json) {
		print_json(o, false);
	} else {
		printf("pmof%d: '%s', persist method %s, domain %s, %u queues%s%s\n\n",
		       pmof_instance(b->dev), b->info.name, pmof_method_name(b->info.method),
		       pmof_domain_name(b->info.domain), b->info.nr_queues,
		       b->info.flags & PMOF_INFO_DURABLE ? "" : "; NOT DURABLE",
		       b->info.flags & PMOF_INFO_EMULATED ? "; EMULATED medium" : "");
		print_table(b->results, columns, ARRAY_SIZE(columns));
		puts("\nWR work requests, TRIPS round trips waited for, COMPL completions, RPC "
		     "server handler\ncalls, LINES and FENCES of the server's write-back: counted, "
		     "per operation.");
		if (b->verbose)
			print_all_counters(b);
	}
	json_object_put(o);
}
