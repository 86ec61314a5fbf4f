// SPDX-License-Identifier: BSD-3-Clause
/* pmof bench: the command line, the list of measurements, and the report. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "output.h"
#include "tool.h"

#define LIST_MAX	16		/* entries of a list on the command line */
#define THREADS_MAX	256
#define BUFFER_MAX	(1ULL << 30)	/* bytes of one thread's buffer */

static const struct bench_op all_ops[] = {
	{ "put", BENCH_PUT, 0 },
	{ "put-persist", BENCH_PUT, PMOF_F_PERSIST },
	{ "get", BENCH_GET, 0 },
	{ "persist", BENCH_PERSIST, 0 },
	{ "cas", BENCH_CAS, 0 },
	{ "cas-persist", BENCH_CAS, PMOF_F_PERSIST },
	{ "fetch-add", BENCH_FETCH_ADD, 0 },
	{ "fetch-add-persist", BENCH_FETCH_ADD, PMOF_F_PERSIST },
};

struct bench {
	const char *device;
	const struct bench_op *op[LIST_MAX];
	uint64_t size[LIST_MAX];
	unsigned int threads[LIST_MAX];
	unsigned int depth[LIST_MAX];
	int nr_ops, nr_sizes, nr_threads, nr_depths;
	uint64_t time_ns, count;
	uint64_t offset, span;
	bool has_offset, has_span;
	bool overwrite;
	bool json;
	struct pmof_dev *dev;
	struct pmof_info info;
	struct json_object *results;
};

static bool writes(const struct bench_op *op)
{
	return op->kind != BENCH_GET;
}

static bool is_atomic(const struct bench_op *op)
{
	return op->kind == BENCH_CAS || op->kind == BENCH_FETCH_ADD;
}

/* --- the command line ------------------------------------------------------ */

enum {
	OPT_OP = OPT_LAST, OPT_SIZE, OPT_THREADS, OPT_DEPTH, OPT_TIME, OPT_COUNT, OPT_OFFSET,
	OPT_SPAN, OPT_OVERWRITE,
};

static const struct argp_option options[] = {
	{ "op", OPT_OP, "OP,...", 0, "put, put-persist, get, persist, cas, cas-persist, "
	  "fetch-add, fetch-add-persist; default get, and put and put-persist where "
	  "writing is allowed", 0 },
	{ "size", OPT_SIZE, "BYTES,...", 0, "Bytes of an operation; default 64,4k,64k", 0 },
	{ "threads", OPT_THREADS, "N,...", 0, "Threads, each in its own part of the range; "
	  "default 1", 0 },
	{ "depth", OPT_DEPTH, "N,...", 0, "Operations of one call, above 1 by SUBMIT; the latency "
	  "is the call's; default 1", 0 },
	{ "time", OPT_TIME, "S", 0, "Seconds of each measurement; default 2", 0 },
	{ "count", OPT_COUNT, "N", 0, "Calls of each thread instead of a time", 0 },
	{ "offset", OPT_OFFSET, "BYTES", 0, "First byte of the range to work in; default 0", 0 },
	{ "span", OPT_SPAN, "BYTES", 0, "Bytes of the range; default up to the end", 0 },
	{ "overwrite", OPT_OVERWRITE, NULL, 0, "Allow what the range holds to be overwritten; "
	  "not needed where both --offset and --span are given", 0 },
	{ "json", OPT_JSON, NULL, 0, "Print JSON", 0 },
	{ 0 }
};

static const struct bench_op *find_op(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(all_ops); i++)
		if (strlen(all_ops[i].name) == len && !strncmp(all_ops[i].name, name, len))
			return &all_ops[i];
	return NULL;
}

static void parse_ops(struct bench *b, const char *arg, struct argp_state *state)
{
	const char *s = arg, *comma;
	const struct bench_op *op;

	b->nr_ops = 0;
	while (s) {
		comma = strchrnul(s, ',');
		op = find_op(s, (size_t)(comma - s));
		if (!op || b->nr_ops == LIST_MAX) {
			argp_error(state, "--op '%s' holds an unknown operation, or too many", arg);
			return;
		}
		b->op[b->nr_ops++] = op;
		s = *comma ? comma + 1 : NULL;
	}
}

static void parse_sizes(struct bench *b, const char *arg, struct argp_state *state)
{
	int i;

	b->nr_sizes = parse_size_list(arg, b->size, LIST_MAX);
	for (i = 0; i < b->nr_sizes; i++)
		if (!b->size[i] || b->size[i] > BUFFER_MAX)
			b->nr_sizes = -ERANGE;
	if (b->nr_sizes <= 0)
		argp_error(state, "--size '%s' is malformed: 1 to %d sizes from 1 to 1G, as "
			   "64,4k,1M", arg, LIST_MAX);
}

static int parse_numbers(const char *what, const char *arg, unsigned int max, unsigned int *list,
			 struct argp_state *state)
{
	int n = parse_uint_list(arg, 1, max, list, LIST_MAX);

	if (n <= 0)
		argp_error(state, "%s '%s' is malformed: 1 to %d numbers from 1 to %u, as 1,2,8",
			   what, arg, LIST_MAX, max);
	return n;
}

static void check_arguments(struct bench *b, struct argp_state *state)
{
	if (!state->arg_num)
		argp_usage(state);
	if (b->time_ns && b->count)
		argp_error(state, "give either --time or --count");
	if (b->has_span && !b->span)
		argp_error(state, "--span is 0");
	if (!b->time_ns && !b->count)
		b->time_ns = 2000000000;
}

static error_t parse_limits(int key, char *arg, struct argp_state *state)
{
	struct bench *b = state->input;

	switch (key) {
	case OPT_TIME:
		b->time_ns = arg_seconds(state, "--time", arg);
		return 0;
	case OPT_COUNT:
		b->count = arg_u64(state, "--count", arg);
		if (!b->count || b->count > 1ULL << 40)
			argp_error(state, "--count '%s' is out of range", arg);
		return 0;
	case OPT_OFFSET:
		b->offset = arg_size(state, "--offset", arg);
		b->has_offset = true;
		return 0;
	case OPT_SPAN:
		b->span = arg_size(state, "--span", arg);
		b->has_span = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_bench(int key, char *arg, struct argp_state *state)
{
	struct bench *b = state->input;

	switch (key) {
	case OPT_OP:
		parse_ops(b, arg, state);
		return 0;
	case OPT_SIZE:
		parse_sizes(b, arg, state);
		return 0;
	case OPT_THREADS:
		b->nr_threads = parse_numbers("--threads", arg, THREADS_MAX, b->threads, state);
		return 0;
	case OPT_DEPTH:
		b->nr_depths = parse_numbers("--depth", arg, PMOF_SUBMIT_MAX, b->depth, state);
		return 0;
	case OPT_OVERWRITE:
		b->overwrite = true;
		return 0;
	case OPT_JSON:
		b->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num)
			argp_usage(state);
		b->device = arg;
		return 0;
	case ARGP_KEY_END:
		check_arguments(b, state);
		return 0;
	default:
		return parse_limits(key, arg, state);
	}
}

/* --- what may be done ------------------------------------------------------ */

static bool any_op(const struct bench *b, bool (*is)(const struct bench_op *))
{
	int i;

	for (i = 0; i < b->nr_ops; i++)
		if (is(b->op[i]))
			return true;
	return false;
}

/*
 * A benchmark that writes destroys what is there: it must be allowed to, or be
 * told which range to use.
 */
static int choose_ops(struct bench *b)
{
	static const struct bench_op *const defaults[] = {
		&all_ops[2], &all_ops[0], &all_ops[1],	/* get, put, put-persist */
	};
	bool may_write = b->overwrite || (b->has_offset && b->has_span);

	if (!b->nr_ops) {
		b->nr_ops = may_write ? 3 : 1;
		memcpy(b->op, defaults, sizeof(defaults));
	}
	if (may_write || !any_op(b, writes))
		return 0;
	complain("these operations overwrite what %s holds", b->device);
	hint("--offset BYTES --span BYTES names a range to use, --overwrite allows all of it");
	return -EPERM;
}

static int check_range(struct bench *b)
{
	uint64_t size = b->info.ns_size;

	if (b->offset < size && !b->has_span)
		b->span = size - b->offset;
	if (b->offset < size && b->span <= size - b->offset)
		return 0;
	complain("%s: the range is past the end", b->device);
	hint("the namespace '%s' has %llu bytes", b->info.name, (unsigned long long)size);
	return -ERANGE;
}

static int check_features(const struct bench *b)
{
	if (any_op(b, writes) && (b->info.flags & PMOF_INFO_READ_ONLY)) {
		complain("%s: this session may only read (EROFS)", b->device);
		hint("--op get, or connect without --read-only");
		return -EROFS;
	}
	if (any_op(b, is_atomic) && !(b->info.features & PMOF_FEAT_ATOMICS)) {
		complain("%s: this session has no atomics (EOPNOTSUPP)", b->device);
		return -EOPNOTSUPP;
	}
	if (any_op(b, is_atomic) && b->offset % 8) {
		complain("atomics need an --offset that is a multiple of 8");
		return -EINVAL;
	}
	return 0;
}

static int open_bench(struct bench *b)
{
	int ret = pmof_open(b->device, any_op(b, writes) ? O_RDWR : O_RDONLY, &b->dev);
	if (!ret)
		ret = pmof_get_info(b->dev, &b->info, sizeof(b->info));
	if (ret) {
		explain_device(ret, b->device);
		return ret;
	}
	ret = check_range(b);
	return ret ? ret : check_features(b);
}

/* --- the report ------------------------------------------------------------ */

static void put_latency(struct json_object *o, const struct hist *h)
{
	struct json_object *l = new_object();

	put_u64(l, "min", h->min);
	put_u64(l, "median", hist_percentile(h, 500));
	put_u64(l, "p90", hist_percentile(h, 900));
	put_u64(l, "p99", hist_percentile(h, 990));
	put_u64(l, "p999", hist_percentile(h, 999));
	put_u64(l, "max", h->max);
	put_u64(l, "mean", hist_mean(h));
	put_object(o, "latency_ns", l);
}

static struct json_object *result_object(const struct bench_case *c, const struct bench_result *r)
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

static void put_device_attr(struct json_object *o, const char *key, const char *attr, int instance)
{
	char text[256];

	if (!pmof_read_attr(instance, attr, text, sizeof(text)))
		put_text(o, key, text);
}

static struct json_object *report_object(const struct bench *b)
{
	int instance = pmof_instance(b->dev);
	struct json_object *o = new_object();
	char text[24];

	snprintf(text, sizeof(text), "pmof%d", instance);
	put_text(o, "device", text);
	put_text(o, "namespace", b->info.name);
	put_device_attr(o, "address", "address", instance);
	put_text(o, "persist_method", pmof_method_name(b->info.method));
	put_text(o, "domain", pmof_domain_name(b->info.domain));
	put_text(o, "placement", pmof_placement_name(b->info.placement));
	put_bool(o, "durable", b->info.flags & PMOF_INFO_DURABLE);
	put_u64(o, "queues", b->info.nr_queues);
	put_u64(o, "queue_depth", b->info.queue_depth);
	put_u64(o, "offset", b->offset);
	put_u64(o, "span", b->span);
	put_object(o, "results", json_object_get(b->results));
	return o;
}

static void print_report(const struct bench *b)
{
	struct json_object *o = report_object(b);

	if (b->json) {
		print_json(o, false);
	} else {
		printf("pmof%d: '%s', persist method %s, domain %s, %u queues%s\n\n",
		       pmof_instance(b->dev), b->info.name, pmof_method_name(b->info.method),
		       pmof_domain_name(b->info.domain), b->info.nr_queues,
		       b->info.flags & PMOF_INFO_DURABLE ? "" : "; NOT DURABLE");
		print_table(b->results, columns, ARRAY_SIZE(columns));
		puts("\nWR work requests, TRIPS round trips waited for, COMPL completions, RPC "
		     "server handler\ncalls, LINES and FENCES of the server's write-back: counted, "
		     "per operation.");
	}
	json_object_put(o);
}

/* --- the measurements ------------------------------------------------------ */

static const struct reason run_reasons[] = {
	{ EIO, "the connection was lost", "`pmof list` shows the state" },
	{ ENODEV, "the device was disconnected", "`pmof connect` makes a new one" },
	{ ENOMEM, "out of memory", "use a smaller --size, --depth or --threads" },
	{ EAGAIN, "cannot start so many threads", "use fewer --threads" },
	{ 0 }
};

static int check_case(const struct bench_case *c)
{
	if (!bench_share(c)) {
		complain("the range of %llu bytes is too small for %u threads with operations of "
			 "%llu bytes", (unsigned long long)c->span, c->threads,
			 (unsigned long long)c->size);
		hint("use a larger --span, a smaller --size or fewer --threads");
		return -ERANGE;
	}
	if (c->size * c->depth > BUFFER_MAX) {
		complain("a depth of %u with operations of %llu bytes needs too large a buffer",
			 c->depth, (unsigned long long)c->size);
		hint("size times depth is at most 1G");
		return -ERANGE;
	}
	return 0;
}

static int measure(struct bench *b, const struct bench_case *c)
{
	struct bench_result *r;
	int ret = check_case(c);

	if (ret)
		return ret;
	r = malloc(sizeof(*r));
	if (!r)
		return -ENOMEM;
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "%s %llu bytes, %u threads, depth %u ...\033[K\r", c->op->name,
			(unsigned long long)c->size, c->threads, c->depth);
	ret = bench_run(c, r);
	if (isatty(STDERR_FILENO))
		fputs("\033[K", stderr);
	if (ret)
		explain(run_reasons, ret, "%s of %llu bytes on %s", c->op->name,
			(unsigned long long)c->size, b->device);
	else
		push_object(b->results, result_object(c, r));
	free(r);
	return ret;
}

/* One operation at one size, with every number of threads and every depth. */
static int measure_size(struct bench *b, const struct bench_op *op, uint64_t size)
{
	struct bench_case c = {
		.op = op, .dev = b->dev, .offset = b->offset, .span = b->span, .size = size,
		.time_ns = b->time_ns, .count = b->count,
	};
	int t, d, ret = 0;

	for (t = 0; t < b->nr_threads && !ret; t++)
		for (d = 0; d < b->nr_depths && !ret; d++) {
			c.threads = b->threads[t];
			c.depth = op->kind == BENCH_PERSIST ? 1 : b->depth[d];
			if (op->kind == BENCH_PERSIST && d)
				break;
			ret = measure(b, &c);
		}
	return ret;
}

static int measure_all(struct bench *b)
{
	int o, s, ret = 0;

	for (o = 0; o < b->nr_ops && !ret; o++) {
		if (is_atomic(b->op[o])) {
			ret = measure_size(b, b->op[o], 8);
			continue;
		}
		for (s = 0; s < b->nr_sizes && !ret; s++)
			ret = measure_size(b, b->op[o], b->size[s]);
	}
	return ret;
}

int cmd_bench(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse_bench,
		.args_doc = "DEV",
		.doc = "Measures latency and throughput, and counts the work of both sides, for "
		       "every combination of operation, size, threads and depth. A warm-up goes "
		       "before each, neither timed nor counted.",
	};
	struct bench b = {
		.size = { 64, 4096, 65536 }, .nr_sizes = 3, .threads = { 1 }, .nr_threads = 1,
		.depth = { 1 }, .nr_depths = 1,
	};
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &b);
	if (choose_ops(&b))
		return EXIT_USAGE;
	ret = open_bench(&b);
	if (!ret) {
		b.results = new_array();
		ret = measure_all(&b);
		if (json_object_array_length(b.results))
			print_report(&b);
		json_object_put(b.results);
	}
	pmof_close(b.dev);
	return ret ? EXIT_FAILED : EXIT_OK;
}
