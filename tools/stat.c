// SPDX-License-Identifier: BSD-3-Clause
/* pmof stat. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "counters.h"
#include "libpmof.h"
#include "output.h"
#include "tool.h"

enum { OPT_INTERVAL = OPT_LAST, OPT_COUNT };

struct show {
	const char *device;
	bool json;
	uint64_t interval;	/* ns; 0: once */
	unsigned int count;	/* reports; 0: until interrupted */
};

static error_t parse_show(int key, char *arg, struct argp_state *state)
{
	struct show *s = state->input;

	switch (key) {
	case OPT_JSON:
		s->json = true;
		return 0;
	case OPT_INTERVAL:
		s->interval = arg_seconds(state, "--interval", arg);
		return 0;
	case OPT_COUNT:
		s->count = arg_uint(state, "--count", arg, 1, 1000000000);
		return 0;
	case ARGP_KEY_ARG:
		s->device = arg;
		break;
	case ARGP_KEY_END:
		if (s->count && !s->interval)
			argp_error(state, "--count needs --interval");
		return 0;
	}
	return one_arg(key, state);
}

static void print_side(struct json_object *o, const char *side)
{
	struct json_object *counters = json_object_object_get(o, side);
	struct json_object_iterator it, end;

	if (!counters) {
		printf("%s: not available\n", side);
		return;
	}
	printf("%s\n", side);
	it = json_object_iter_begin(counters);
	end = json_object_iter_end(counters);
	for (; !json_object_iter_equal(&it, &end); json_object_iter_next(&it))
		printf("  %-16s %20" PRIu64 "\n", json_object_iter_peek_name(&it),
		       json_object_get_uint64(json_object_iter_peek_value(&it)));
}

static int stat_once(int instance, bool json)
{
	struct snapshot *now = malloc(sizeof(*now));
	struct json_object *o;
	int ret;

	if (!now)
		return -ENOMEM;
	ret = snapshot_take(instance, now);
	if (!ret) {
		o = new_object();
		put_device_names(o, instance);
		snapshot_put(o, now, NULL);
		if (json) {
			print_json(o, false);
		} else {
			print_side(o, "client");
			print_side(o, "server");
		}
		json_object_put(o);
	}
	free(now);
	return ret;
}

static const struct column rate_columns[] = {
	{ "   PUT/S", "client.puts", COL_RATE }, { "   GET/S", "client.gets", COL_RATE },
	{ "PERSIST/S", "client.persists", COL_RATE }, { "ATOMIC/S", "client.atomics", COL_RATE },
	{ " PUT B/S", "client.bytes_put", COL_SIZE }, { " GET B/S", "client.bytes_got", COL_SIZE },
	{ "  TRIP/S", "client.round_trips", COL_RATE },
	{ " ERROR/S", "client.errors", COL_RATE },
	{ "   RPC/S", "server.rpc_calls", COL_RATE }, { "  LINE/S", "server.lines", COL_RATE },
	{ " FENCE/S", "server.fences", COL_RATE },
};

static void print_rates(struct json_object *o, bool first)
{
	struct json_object *rows = new_array();

	push_object(rows, json_object_get(o));
	print_table_rows(rows, rate_columns, ARRAY_SIZE(rate_columns), first);
	json_object_put(rows);
}

static void report_rates(int instance, const struct snapshot *now, const struct snapshot *before,
			 bool json, bool first)
{
	struct json_object *o = new_object();

	put_device_names(o, instance);
	put_double(o, "seconds", (double)(now->time_ns - before->time_ns) / 1e9);
	if (json)
		snapshot_put(o, now, before);
	else
		snapshot_put_rates(o, now, before);
	if (json)
		print_json(o, true);
	else
		print_rates(o, first);
	json_object_put(o);
}

static void sleep_ns(uint64_t ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / 1000000000),
			      .tv_nsec = (long)(ns % 1000000000) };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static int stat_interval(int instance, const struct show *s)
{
	struct snapshot *snap = malloc(2 * sizeof(*snap));
	unsigned int n;
	int ret;

	if (!snap)
		return -ENOMEM;
	ret = snapshot_take(instance, &snap[0]);
	for (n = 0; !ret && (!s->count || n < s->count); n++) {
		sleep_ns(s->interval);
		ret = snapshot_take(instance, &snap[(n + 1) & 1]);
		if (!ret)
			report_rates(instance, &snap[(n + 1) & 1], &snap[n & 1], s->json,
				     n % 20 == 0);
	}
	free(snap);
	return ret;
}

int cmd_stat(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "interval", OPT_INTERVAL, "S", 0, "Report what happens in S seconds, again and "
		  "again", 0 },
		{ "count", OPT_COUNT, "N", 0, "With --interval: end after N reports", 0 },
		{ "json", OPT_JSON, NULL, 0, "Print JSON; with --interval an object a line", 0 },
		{ 0 }
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse_show,
		.args_doc = "DEV",
		.doc = "Shows the counters of a device, this side's and the server's.",
	};
	struct show s = { .json = false };
	int instance, ret;

	argp_parse(&argp, argc, argv, 0, NULL, &s);
	ret = pmof_lookup(s.device, &instance);
	if (!ret)
		ret = s.interval ? stat_interval(instance, &s) : stat_once(instance, s.json);
	if (!ret)
		return EXIT_OK;
	explain_device(ret, s.device);
	return EXIT_FAILED;
}
