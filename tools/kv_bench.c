// SPDX-License-Identifier: BSD-3-Clause
/* pmof kv bench: the command line. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kv_bench.h"
#include "output.h"
#include "tool.h"

#define THREADS_MAX	256
#define BATCH_MAX	4096
#define KEYS		10000
#define VALUE		1000	/* YCSB's ten fields of 100 bytes */
#define VALUE_MAX	(32U << 20)
#define TIME_NS		5000000000ULL

enum {
	OPT_WORKLOAD = OPT_LAST, OPT_VALUES, OPT_KEY_SIZE, OPT_CHOOSE, OPT_KEYS, OPT_THREADS,
	OPT_SECONDS, OPT_OPS, OPT_LOAD, OPT_PROTOCOL, OPT_SEED, OPT_BATCH,
};

static const struct argp_option options[] = {
	{ "workload", OPT_WORKLOAD, "NAME", 0, "a to f: YCSB's; etc, sys: Facebook's pools; get, "
	  "put: uniform; none: with --load alone. Default a", 0 },
	{ "values", OPT_VALUES, "BYTES|paper|etc|sys", 0, "Bytes of a value, or a mixture: paper is "
	  "64, 1k, 4k and 64k, with keys of 12, 16 and 20. Default 1000, or the workload's", 0 },
	{ "key-size", OPT_KEY_SIZE, "BYTES", 0, "Bytes of a key, 8 to 1024; default 16, or the "
	  "mixture's", 0 },
	{ "choose", OPT_CHOOSE, "HOW", 0, "uniform, zipfian or latest; default the workload's", 0 },
	{ "keys", OPT_KEYS, "N", 0, "Keys that there are; default 10000", 0 },
	{ "threads", OPT_THREADS, "N", 0, "Threads, each with an open file of its own; default 1",
	  0 },
	{ "seconds", OPT_SECONDS, "S", 0, "How long; default 5", 0 },
	{ "ops", OPT_OPS, "N", 0, "Operations of all threads, instead of a time", 0 },
	{ "load", OPT_LOAD, NULL, 0, "Put all keys first, and measure that, too", 0 },
	{ "batch", OPT_BATCH, "N", 0, "Put N keys at a time in --load; default 1", 0 },
	{ "protocol", OPT_PROTOCOL, "NAME", 0, "auto (default), herd or sa", 0 },
	{ "seed", OPT_SEED, "N", 0, "Of all that is random; default 1", 0 },
	{ "json", OPT_JSON, NULL, 0, "Print JSON", 0 },
	{ 0 }
};

/* The command line before the defaults are known. */
struct arguments {
	struct kv_bench *b;
	bool no_workload;
	bool has_sizes;
	int choice;
};

static void parse_values(struct arguments *a, const char *arg, struct argp_state *state)
{
	struct kv_sizes *s = &a->b->sizes;
	uint64_t bytes;

	a->has_sizes = true;
	if (!strcmp(arg, "paper")) {
		s->kind = KV_SIZES_PAPER;
	} else if (!strcmp(arg, "etc")) {
		s->kind = KV_SIZES_ETC;
	} else if (!strcmp(arg, "sys")) {
		s->kind = KV_SIZES_SYS;
	} else {
		bytes = arg_size(state, "--values", arg);
		if (bytes > VALUE_MAX)
			argp_error(state, "--values '%s' is out of range: at most 32M", arg);
		s->kind = KV_SIZES_FIXED;
		s->value = (uint32_t)bytes;
	}
}

static void parse_workload(struct arguments *a, const char *arg, struct argp_state *state)
{
	a->no_workload = !strcmp(arg, "none");
	a->b->workload = kv_workload_find(arg);
	if (!a->b->workload && !a->no_workload)
		argp_error(state, "--workload '%s' is none of a, b, c, d, e, f, etc, sys, get, put "
			   "and none", arg);
}

static void parse_choice(struct arguments *a, const char *arg, struct argp_state *state)
{
	for (a->choice = 0; a->choice < KV_CHOICES; a->choice++)
		if (!strcmp(kv_choice_names[a->choice], arg))
			return;
	argp_error(state, "--choose '%s' is none of uniform, zipfian and latest", arg);
}

static uint64_t parse_count(const char *what, const char *arg, struct argp_state *state)
{
	uint64_t n = arg_u64(state, what, arg);

	if (!n || n > 1ULL << 40)
		argp_error(state, "%s '%s' is out of range", what, arg);
	return n;
}

/* What was not given. */
static void set_defaults(struct arguments *a, struct argp_state *state)
{
	struct kv_bench *b = a->b;

	if (!b->workload && !a->no_workload)
		b->workload = kv_workload_find("a");
	if (a->no_workload && !b->load)
		argp_error(state, "--workload none needs --load");
	if (a->no_workload && (b->time_ns || b->ops || a->choice >= 0))
		argp_error(state, "with --workload none, all of --keys are loaded: neither "
			   "--seconds, --ops nor --choose");
	if (b->batch > 1 && !b->load)
		argp_error(state, "--batch needs --load");
	if (b->time_ns && b->ops)
		argp_error(state, "give either --seconds or --ops");
	if (!b->time_ns && !b->ops)
		b->time_ns = TIME_NS;
	if (!a->has_sizes && b->workload)
		b->sizes.kind = b->workload->sizes;
	if (!a->has_sizes)
		b->sizes.value = VALUE;
	if (a->choice >= 0)
		b->choice = (enum kv_choice)a->choice;
	else if (b->workload)
		b->choice = b->workload->choice;
}

static error_t parse_more(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case OPT_WORKLOAD:
		parse_workload(a, arg, state);
		return 0;
	case OPT_VALUES:
		parse_values(a, arg, state);
		return 0;
	case OPT_CHOOSE:
		parse_choice(a, arg, state);
		return 0;
	case OPT_LOAD:
		a->b->load = true;
		return 0;
	case OPT_PROTOCOL:
		a->b->protocol = kv_arg_protocol(state, arg);
		return 0;
	case OPT_JSON:
		a->b->json = true;
		return 0;
	case ARGP_KEY_ARG:
		a->b->device = arg;
		return one_arg(key, state);
	case ARGP_KEY_END:
		set_defaults(a, state);
		return 0;
	default:
		return one_arg(key, state);
	}
}

static error_t parse_bench(int key, char *arg, struct argp_state *state)
{
	struct kv_bench *b = ((struct arguments *)state->input)->b;

	switch (key) {
	case OPT_KEY_SIZE:
		b->sizes.key = arg_uint(state, "--key-size", arg, KV_KEY_MIN, KV_KEY_MAX);
		return 0;
	case OPT_KEYS:
		b->keys = parse_count("--keys", arg, state);
		return 0;
	case OPT_THREADS:
		b->threads = arg_uint(state, "--threads", arg, 1, THREADS_MAX);
		return 0;
	case OPT_BATCH:
		b->batch = arg_uint(state, "--batch", arg, 1, BATCH_MAX);
		return 0;
	case OPT_SECONDS:
		b->time_ns = arg_seconds(state, "--seconds", arg);
		return 0;
	case OPT_OPS:
		b->ops = parse_count("--ops", arg, state);
		return 0;
	case OPT_SEED:
		b->seed = arg_u64(state, "--seed", arg);
		return 0;
	default:
		return parse_more(key, arg, state);
	}
}

static int measure(struct kv_bench *b, bool load)
{
	struct kv_bench_result *r = calloc(1, sizeof(*r));
	int ret = r ? kv_bench_run(b, load, r) : -ENOMEM;

	if (ret)
		kv_explain(ret, b->device);
	else
		push_object(b->results, kv_bench_object(b, load, r));
	if (!ret && r->wrong) {
		complain("%s: %llu values belong to another key", b->device,
			 (unsigned long long)r->wrong);
		hint("either something else has put them, or the store is damaged");
		ret = -EUCLEAN;
	}
	free(r);
	return ret;
}

static int run_bench(struct kv_bench *b)
{
	int ret = 0;

	if (b->load)
		ret = measure(b, true);
	if (!ret && b->workload)
		ret = measure(b, false);
	if (json_object_array_length(b->results))
		kv_bench_print(b);
	return ret;
}

int cmd_kv_bench(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse_bench, .args_doc = "DEV",
		.doc = "Measures a mixture of gets and puts: latency, throughput, and the work of "
		       "both sides. It puts keys of its own into the store, and leaves them there.",
	};
	struct kv_bench b = { .keys = KEYS, .threads = 1, .batch = 1, .seed = 1, .durable = true };
	struct arguments a = { .b = &b, .choice = -1 };
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &a);
	b.results = new_array();
	ret = run_bench(&b);
	json_object_put(b.results);
	return ret ? EXIT_FAILED : EXIT_OK;
}
