// SPDX-License-Identifier: BSD-3-Clause
/* pmof list, info and stat. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "counters.h"
#include "libpmof.h"
#include "output.h"
#include "tool.h"

/* --- a device as an object ------------------------------------------------- */

enum kind { TEXT, NUMBER, BOOL, WORDS };

static const struct attr {
	const char *name;
	enum kind kind;
} attrs[] = {
	{ "state", TEXT }, { "namespace", TEXT }, { "address", TEXT }, { "size", NUMBER },
	{ "segment_size", NUMBER }, { "generation", TEXT }, { "persist_method", TEXT },
	{ "persist_methods", WORDS }, { "domain", TEXT }, { "placement", TEXT },
	{ "durable", BOOL }, { "read_only", BOOL }, { "queues", NUMBER }, { "depth", NUMBER },
	{ "client_id", TEXT },
};

static void put_words(struct json_object *o, const char *key, char *text)
{
	struct json_object *list = new_array();
	char *word, *save = NULL;

	for (word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
		push_object(list, json_object_new_string(word));
	put_object(o, key, list);
}

static void put_attr(struct json_object *o, const struct attr *attr, char *text)
{
	switch (attr->kind) {
	case TEXT:
		put_text(o, attr->name, text);
		break;
	case NUMBER:
		put_u64(o, attr->name, strtoull(text, NULL, 10));
		break;
	case BOOL:
		put_bool(o, attr->name, !strcmp(text, "1"));
		break;
	case WORDS:
		put_words(o, attr->name, text);
		break;
	}
}

static void put_device_names(struct json_object *o, int instance)
{
	char text[32];

	snprintf(text, sizeof(text), "pmof%d", instance);
	put_text(o, "device", text);
	snprintf(text, sizeof(text), "/dev/pmofc%d", instance);
	put_text(o, "path", text);
}

/* What sysfs shows; NULL if the device has gone. */
static struct json_object *device_object(int instance)
{
	struct json_object *o = new_object();
	char text[256];
	size_t i;
	int ret;

	put_device_names(o, instance);
	for (i = 0; i < ARRAY_SIZE(attrs); i++) {
		ret = pmof_read_attr(instance, attrs[i].name, text, sizeof(text));
		if (ret == -ENODEV) {
			json_object_put(o);
			return NULL;
		}
		if (!ret)
			put_attr(o, &attrs[i], text);
	}
	return o;
}

/* What only the device itself tells; it may be dead, or not ours to open. */
static void put_limits(struct json_object *o, int instance)
{
	struct pmof_info info;
	struct pmof_dev *dev;
	char name[24];

	snprintf(name, sizeof(name), "pmof%d", instance);
	if (pmof_open(name, O_RDONLY, &dev))
		return;
	if (!pmof_get_info(dev, &info, sizeof(info))) {
		put_bool(o, "atomics", info.features & PMOF_FEAT_ATOMICS);
		put_u64(o, "max_submit", info.max_submit);
	}
	pmof_close(dev);
}

/* --- list ------------------------------------------------------------------ */

static const struct argp_option json_options[] = {
	{ "json", OPT_JSON, NULL, 0, "Print JSON", 0 },
	{ 0 }
};

static error_t parse_list(int key, char *arg, struct argp_state *state)
{
	bool *json = state->input;

	(void)arg;
	switch (key) {
	case OPT_JSON:
		*json = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct column list_columns[] = {
	{ "DEVICE", "device", COL_TEXT }, { "NAMESPACE", "namespace", COL_TEXT },
	{ "ADDRESS", "address", COL_TEXT }, { "STATE", "state", COL_TEXT },
	{ "SIZE", "size", COL_SIZE }, { "PERSIST", "persist_method", COL_TEXT },
	{ "DURABLE", "durable", COL_BOOL }, { "READ-ONLY", "read_only", COL_BOOL },
};

static struct json_object *list_devices(void)
{
	struct json_object *list, *o;
	int *instances, i, n;

	n = pmof_list(&instances);
	if (n < 0) {
		explain(NULL, n, "cannot list the devices");
		return NULL;
	}
	list = new_array();
	for (i = 0; i < n; i++) {
		o = device_object(instances[i]);
		if (o)
			push_object(list, o);
	}
	free(instances);
	return list;
}

int cmd_list(int argc, char **argv)
{
	static const struct argp argp = {
		.options = json_options,
		.parser = parse_list,
		.doc = "Lists the connected devices.",
	};
	struct json_object *list;
	bool json = false;

	argp_parse(&argp, argc, argv, 0, NULL, &json);
	list = list_devices();
	if (!list)
		return EXIT_FAILED;
	if (json)
		print_json(list, false);
	else
		print_table(list, list_columns, ARRAY_SIZE(list_columns));
	json_object_put(list);
	return EXIT_OK;
}

/* --- info ------------------------------------------------------------------ */

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
		if (state->arg_num)
			argp_usage(state);
		s->device = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_usage(state);
		return 0;
	case ARGP_KEY_END:
		if (s->count && !s->interval)
			argp_error(state, "--count needs --interval");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct column info_fields[] = {
	{ "device", "device", COL_TEXT },
	{ "path", "path", COL_TEXT },
	{ "namespace", "namespace", COL_TEXT },
	{ "address", "address", COL_TEXT },
	{ "state", "state", COL_TEXT },
	{ "size", "size", COL_TEXT },
	{ "segment size", "segment_size", COL_TEXT },
	{ "generation", "generation", COL_TEXT },
	{ "persist method", "persist_method", COL_TEXT },
	{ "methods offered", "persist_methods", COL_TEXT },
	{ "persistence domain", "domain", COL_TEXT },
	{ "placement", "placement", COL_TEXT },
	{ "durable", "durable", COL_BOOL },
	{ "read-only", "read_only", COL_BOOL },
	{ "queues", "queues", COL_TEXT },
	{ "depth", "depth", COL_TEXT },
	{ "atomics", "atomics", COL_BOOL },
	{ "operations a submit", "max_submit", COL_TEXT },
	{ "client ID", "client_id", COL_TEXT },
};

static void warn_volatile(struct json_object *o)
{
	struct json_object *durable = json_object_object_get(o, "durable");

	if (durable && !json_object_get_boolean(durable))
		complain("warning: acknowledgements of this device are not durable: it is unknown "
			 "what the server keeps in a power cut");
}

int cmd_info(int argc, char **argv)
{
	static const struct argp argp = {
		.options = json_options,
		.parser = parse_show,
		.args_doc = "DEV",
		.doc = "Shows all about a device: what it is, and what it promises.",
	};
	struct show s = { .json = false };
	struct json_object *o = NULL;
	int instance, ret;

	argp_parse(&argp, argc, argv, 0, NULL, &s);
	ret = pmof_lookup(s.device, &instance);
	if (!ret) {
		o = device_object(instance);
		ret = o ? 0 : -ENODEV;
	}
	if (ret) {
		explain_device(ret, s.device);
		return EXIT_FAILED;
	}
	put_limits(o, instance);
	if (s.json) {
		print_json(o, false);
	} else {
		print_fields(o, info_fields, ARRAY_SIZE(info_fields));
		warn_volatile(o);
	}
	json_object_put(o);
	return EXIT_OK;
}

/* --- stat ------------------------------------------------------------------ */

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
