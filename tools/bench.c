// SPDX-License-Identifier: BSD-3-Clause
/* pmof bench: the command line, and the list of measurements. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "output.h"
#include "tool.h"

#define THREADS_MAX	256
#define BUFFER_MAX	(1ULL << 30)	/* bytes of one thread's buffer */

#define BENCH_NS	2000000000ULL	/* default times of a measurement */
#define CALIBRATE_NS	500000000ULL

#define CALIBRATE_SIZE_MIN	64ULL	/* and powers of two up to 64k */
#define CALIBRATE_SIZES		11

static const struct bench_op all_ops[] = {
	{ "put", BENCH_PUT, 0 },
	{ "put-persist", BENCH_PUT, PMOF_F_PERSIST },
	{ "get", BENCH_GET, 0 },
	{ "persist", BENCH_PERSIST, 0 },
	{ "cas", BENCH_CAS, 0 },
	{ "cas-persist", BENCH_CAS, PMOF_F_PERSIST },
	{ "fetch-add", BENCH_FETCH_ADD, 0 },
	{ "fetch-add-persist", BENCH_FETCH_ADD, PMOF_F_PERSIST },
	{ "prepare", BENCH_PREPARE, 0 },
	{ "put-commit", BENCH_PUT_COMMIT, 0 },
};

static const struct bench_op *const op_put = &all_ops[0];
static const struct bench_op *const op_put_persist = &all_ops[1];
static const struct bench_op *const op_get = &all_ops[2];
static const struct bench_op *const op_put_commit = &all_ops[ARRAY_SIZE(all_ops) - 1];

static bool writes(const struct bench_op *op)
{
	return op->kind != BENCH_GET;
}

static bool is_atomic(const struct bench_op *op)
{
	return op->kind == BENCH_CAS || op->kind == BENCH_FETCH_ADD;
}

static bool is_object(const struct bench_op *op)
{
	return op->kind == BENCH_PREPARE || op->kind == BENCH_PUT_COMMIT;
}

/* --- the command line ------------------------------------------------------ */

enum {
	OPT_OP = OPT_LAST, OPT_SIZE, OPT_THREADS, OPT_DEPTH, OPT_TIME, OPT_COUNT, OPT_OFFSET,
	OPT_SPAN, OPT_OVERWRITE, OPT_COMMIT, OPT_CALIBRATE, OPT_DRY_RUN,
};

static const struct argp_option options[] = {
	{ "op", OPT_OP, "OP,...", 0, "put, put-persist, get, persist, cas, cas-persist, "
	  "fetch-add, fetch-add-persist, prepare, put-commit; default get, and put and "
	  "put-persist where writing is allowed", 0 },
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
	{ "commit", OPT_COMMIT, NULL, 0, "Committed puts: put-commit, too", 0 },
	{ "calibrate", OPT_CALIBRATE, NULL, 0, "Measure durable puts by every usable persist "
	  "method, and let the method auto use the quickest for each size", 0 },
	{ "dry-run", OPT_DRY_RUN, NULL, 0, "With --calibrate: measure and print, change nothing",
	  0 },
	{ "verbose", 'v', NULL, 0, "Print every counter that moved", 0 },
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
		if (!op || b->nr_ops == BENCH_LIST_MAX) {
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

	b->nr_sizes = parse_size_list(arg, b->size, BENCH_LIST_MAX);
	for (i = 0; i < b->nr_sizes; i++)
		if (!b->size[i] || b->size[i] > BUFFER_MAX)
			b->nr_sizes = -ERANGE;
	if (b->nr_sizes <= 0)
		argp_error(state, "--size '%s' is malformed: 1 to %d sizes from 1 to 1G, as "
			   "64,4k,1M", arg, BENCH_LIST_MAX);
}

static int parse_numbers(const char *what, const char *arg, unsigned int max, unsigned int *list,
			 struct argp_state *state)
{
	int n = parse_uint_list(arg, 1, max, list, BENCH_LIST_MAX);

	if (n <= 0)
		argp_error(state, "%s '%s' is malformed: 1 to %d numbers from 1 to %u, as 1,2,8",
			   what, arg, BENCH_LIST_MAX, max);
	return n;
}

/* One measurement of each size, the sizes being those of a table. */
static void check_calibrate(struct bench *b, struct argp_state *state)
{
	int i;

	for (i = 0; i < b->nr_ops; i++)
		if (b->op[i] != op_put_persist && b->op[i] != op_put_commit)
			argp_error(state, "--calibrate is for --op put-persist, put-commit or "
				   "both");
	for (i = 1; i < b->nr_sizes; i++)
		if (b->size[i] <= b->size[i - 1])
			argp_error(state, "--calibrate needs sizes that ascend");
	if (b->nr_threads > 1 || b->nr_depths > 1 || b->depth[0] > 1)
		argp_error(state, "--calibrate takes one number of --threads, and a --depth of 1");
	if (!b->nr_sizes)
		for (i = 0; i < CALIBRATE_SIZES; i++)
			b->size[b->nr_sizes++] = CALIBRATE_SIZE_MIN << i;
}

/* What was not given has its default. */
static void check_arguments(struct bench *b, struct argp_state *state)
{
	static const uint64_t sizes[] = { 64, 4096, 65536 };

	if (!state->arg_num)
		argp_usage(state);
	if (b->time_ns && b->count)
		argp_error(state, "give either --time or --count");
	if (b->has_span && !b->span)
		argp_error(state, "--span is 0");
	if (b->dry_run && !b->calibrate)
		argp_error(state, "--dry-run needs --calibrate");
	if (b->calibrate)
		check_calibrate(b, state);
	if (!b->nr_sizes) {
		memcpy(b->size, sizes, sizeof(sizes));
		b->nr_sizes = ARRAY_SIZE(sizes);
	}
	b->nr_threads += !b->nr_threads;
	b->nr_depths += !b->nr_depths;
	if (!b->time_ns && !b->count)
		b->time_ns = b->calibrate ? CALIBRATE_NS : BENCH_NS;
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

static error_t parse_switch(int key, char *arg, struct argp_state *state)
{
	struct bench *b = state->input;

	switch (key) {
	case OPT_OVERWRITE:
		b->overwrite = true;
		return 0;
	case OPT_COMMIT:
		b->commit = true;
		return 0;
	case OPT_CALIBRATE:
		b->calibrate = true;
		return 0;
	case OPT_DRY_RUN:
		b->dry_run = true;
		return 0;
	case OPT_JSON:
		b->json = true;
		return 0;
	case 'v':
		b->verbose = true;
		return 0;
	default:
		return parse_limits(key, arg, state);
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
	case ARGP_KEY_ARG:
		if (state->arg_num)
			argp_usage(state);
		b->device = arg;
		return 0;
	case ARGP_KEY_END:
		check_arguments(b, state);
		return 0;
	default:
		return parse_switch(key, arg, state);
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

static void add_op(struct bench *b, const struct bench_op *op)
{
	int i;

	for (i = 0; i < b->nr_ops; i++)
		if (b->op[i] == op)
			return;
	if (b->nr_ops < BENCH_LIST_MAX)
		b->op[b->nr_ops++] = op;
}

static void add_default_ops(struct bench *b, bool may_write)
{
	if (b->calibrate) {
		add_op(b, op_put_persist);
	} else if (!b->commit) {
		add_op(b, op_get);
		if (may_write) {
			add_op(b, op_put);
			add_op(b, op_put_persist);
		}
	}
}

/*
 * A benchmark that writes destroys what is there: it must be allowed to, or be
 * told which range to use.
 */
static int choose_ops(struct bench *b)
{
	bool may_write = b->overwrite || (b->has_offset && b->has_span);

	if (!b->nr_ops)
		add_default_ops(b, may_write);
	if (b->commit)
		add_op(b, op_put_commit);
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

static int check_object_sizes(const struct bench *b)
{
	int i;

	for (i = 0; i < b->nr_sizes; i++)
		if (b->size[i] % 8 || b->size[i] < PMOF_OBJECT_MIN) {
			complain("an object cannot have %llu bytes: a multiple of 8, at least %d",
				 (unsigned long long)b->size[i], PMOF_OBJECT_MIN);
			return -EINVAL;
		}
	return 0;
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
	if ((any_op(b, is_atomic) || any_op(b, is_object)) && b->offset % 8) {
		complain("atomics and objects need an --offset that is a multiple of 8");
		return -EINVAL;
	}
	return any_op(b, is_object) ? check_object_sizes(b) : 0;
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

/* --- the measurements ------------------------------------------------------ */

static const struct reason run_reasons[] = {
	{ EIO, "the connection was lost", "`pmof list` shows the state" },
	{ ENODEV, "the device was disconnected", "`pmof connect` makes a new one" },
	{ ENOMEM, "out of memory", "use a smaller --size, --depth or --threads" },
	{ EAGAIN, "cannot start so many threads", "use fewer --threads" },
	{ ESTALE, "an object was prepared by somebody else meanwhile",
	  "--offset and --span name a range that nobody else uses" },
	{ 0 }
};

static int check_case(const struct bench_case *c)
{
	uint64_t objects = c->depth * (c->time_ns ? 1 : c->count);

	if (!bench_share(c)) {
		complain("the range of %llu bytes is too small for %u threads with operations of "
			 "%llu bytes", (unsigned long long)c->span, c->threads,
			 (unsigned long long)c->size);
		hint("use a larger --span, a smaller --size or fewer --threads");
		return -ERANGE;
	}
	if (c->op->kind == BENCH_PUT_COMMIT && objects > bench_share(c) / c->size) {
		complain("the range of %llu bytes has no room for so many objects of %llu bytes: "
			 "each is put once", (unsigned long long)c->span,
			 (unsigned long long)c->size);
		hint("use a larger --span, a smaller --count or a smaller --depth");
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

int bench_measure(const struct bench *b, const struct bench_case *c, struct bench_result *r)
{
	int ret = check_case(c);

	if (ret)
		return ret;
	ret = bench_run(c, r);
	if (ret)
		explain(run_reasons, ret, "%s of %llu bytes on %s", c->op->name,
			(unsigned long long)c->size, b->device);
	return ret;
}

static int measure(struct bench *b, const struct bench_case *c)
{
	struct bench_result *r = malloc(sizeof(*r));
	int ret;

	if (!r)
		return -ENOMEM;
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "%s %llu bytes, %u threads, depth %u ...\033[K\r", c->op->name,
			(unsigned long long)c->size, c->threads, c->depth);
	ret = bench_measure(b, c, r);
	if (isatty(STDERR_FILENO))
		fputs("\033[K", stderr);
	if (!ret)
		push_object(b->results, bench_result_object(c, r));
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

static int run_bench(struct bench *b)
{
	int ret = open_bench(b);

	if (ret)
		return ret;
	b->results = new_array();
	if (b->calibrate) {
		ret = bench_calibrate(b);
	} else {
		ret = measure_all(b);
		if (json_object_array_length(b->results))
			bench_print_report(b);
	}
	json_object_put(b->results);
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
	struct bench b = { .threads = { 1 }, .depth = { 1 } };
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &b);
	if (choose_ops(&b))
		return EXIT_USAGE;
	ret = run_bench(&b);
	pmof_close(b.dev);
	return ret ? EXIT_FAILED : EXIT_OK;
}
