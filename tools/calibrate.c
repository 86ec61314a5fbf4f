// SPDX-License-Identifier: BSD-3-Clause
/*
 * pmof bench --calibrate: measures durable puts by every usable persist method
 * and size, and makes the table of the method auto of it.
 *
 * A method is selected by a table that knows no other one.  Every method is as
 * durable as any other, so others who use the device meanwhile lose nothing but
 * time.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "auto_table.h"
#include "bench.h"
#include "output.h"
#include "tool.h"

/* The methods take turns, so that what else happens on the machine hits all alike. */
#define ROUNDS	5

struct calibration {
	struct bench *b;
	int instance;
	char before[AUTO_TEXT_MAX];	/* the table that was found */
	unsigned int method[AUTO_METHODS];
	unsigned int nr_methods;
	struct auto_sample sample[BENCH_LIST_MAX];	/* all operations together */
	struct hist (*hist)[AUTO_METHODS];		/* [operation * nr_sizes + size][method] */
	struct auto_table table;
};

/* --- interruption ---------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

static void note_signal(int signal)
{
	(void)signal;
	interrupted = 1;
}

/* Also a second one does not kill: the table has to be as it was. */
static void catch_signals(void)
{
	struct sigaction act = { .sa_handler = note_signal };

	sigemptyset(&act.sa_mask);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
}

/* --- the table in sysfs ---------------------------------------------------- */

static const struct reason auto_reasons[] = {
	{ ENOENT, "this kernel module has no such attribute", "use the modules of this version" },
	REASONS_NOT_ROOT,
	{ ENODEV, "the device was disconnected", "`pmof connect` makes a new one" },
	{ EINVAL, "the kernel does not take this table", "`dmesg` may say more" },
	{ 0 }
};

static int set_table(const struct calibration *c, const char *text)
{
	int ret = pmof_write_attr(c->instance, "auto", text);

	if (ret)
		explain(auto_reasons, ret, "cannot write '%s' to /sys/class/pmof/pmof%d/auto",
			text, c->instance);
	return ret;
}

/* rpc has a limit, and what is above it is assist's. */
static void limit_rpc(const struct calibration *c, struct auto_table *t)
{
	auto_limit(t, PMOF_METHOD_RPC, c->b->info.max_rpc, PMOF_METHOD_ASSIST);
}

static int select_method(const struct calibration *c, unsigned int method)
{
	struct auto_table t = { .nr = 1, .entry = { { method, AUTO_NO_LIMIT } } };
	char text[AUTO_TEXT_MAX];

	limit_rpc(c, &t);
	return set_table(c, auto_format(&t, text, pmof_method_name));
}

/* --- what can be measured -------------------------------------------------- */

static int check_auto(struct calibration *c)
{
	const struct bench *b = c->b;
	int ret;

	if (b->info.method != PMOF_METHOD_AUTO) {
		complain("%s uses the method %s: there is nothing to choose", b->device,
			 pmof_method_name(b->info.method));
		if (!(b->info.methods & (b->info.methods - 1)))
			hint("it has no other: see the attribute persist_methods");
		else
			hint("`pmof connect --persist auto` (the default) makes a device that chooses");
		return -EINVAL;
	}
	ret = pmof_read_attr(c->instance, "auto", c->before, sizeof(c->before));
	if (ret)
		explain(auto_reasons, ret, "cannot read /sys/class/pmof/pmof%d/auto", c->instance);
	return ret;
}

static int find_methods(struct calibration *c)
{
	const struct bench *b = c->b;
	unsigned int m;

	for (m = PMOF_METHOD_AUTO + 1; m < AUTO_METHODS; m++)
		if (b->info.methods & (1U << m))
			c->method[c->nr_methods++] = m;
	if (c->nr_methods > 1)
		return 0;
	complain("%s: %s is the only usable persist method: there is nothing to choose", b->device,
		 c->nr_methods ? pmof_method_name(c->method[0]) : "none");
	hint("`pmof info %s` shows domain and placement, which decide what the server offers",
	     b->device);
	return -EOPNOTSUPP;
}

static bool serves(const struct calibration *c, unsigned int method, uint64_t size)
{
	return method != PMOF_METHOD_RPC || size <= c->b->info.max_rpc;
}

/* --- measurements ---------------------------------------------------------- */

static void show_progress(const struct bench_case *bc, unsigned int round)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "%s %llu bytes, round %u of %d ...\033[K\r", bc->op->name,
			(unsigned long long)bc->size, round + 1, ROUNDS);
}

/* One turn of every method. */
static int measure_round(struct calibration *c, const struct bench_case *bc, struct hist *hist,
			 struct bench_result *r)
{
	unsigned int i, m;
	int ret = 0;

	for (i = 0; i < c->nr_methods && !ret; i++) {
		m = c->method[i];
		if (!serves(c, m, bc->size))
			continue;
		if (interrupted)
			return -EINTR;
		ret = select_method(c, m);
		if (!ret)
			ret = bench_measure(c->b, bc, r);
		if (!ret)
			hist_merge(&hist[m], &r->latency);
	}
	return !ret && interrupted ? -EINTR : ret;
}

static int measure_size(struct calibration *c, const struct bench_op *op, int size,
			struct hist *hist, struct bench_result *r)
{
	const struct bench *b = c->b;
	struct bench_case bc = {
		.op = op, .dev = b->dev, .offset = b->offset, .span = b->span,
		.size = b->size[size], .threads = b->threads[0], .depth = 1,
		.time_ns = (b->time_ns + ROUNDS - 1) / ROUNDS, .count = (b->count + ROUNDS - 1) / ROUNDS,
		.uncounted = true, .stop = &interrupted,
	};
	unsigned int round, i, m;
	int ret = 0;

	for (round = 0; round < ROUNDS && !ret; round++) {
		show_progress(&bc, round);
		ret = measure_round(c, &bc, hist, r);
	}
	c->sample[size].size = bc.size;
	for (i = 0; i < c->nr_methods; i++) {
		m = c->method[i];
		c->sample[size].ns[m] += hist_percentile(&hist[m], 500);
	}
	return ret;
}

static int measure_all(struct calibration *c)
{
	struct bench_result *r = malloc(sizeof(*r));
	const struct bench *b = c->b;
	int o, s, ret = r ? 0 : -ENOMEM;

	for (o = 0; o < b->nr_ops && !ret; o++)
		for (s = 0; s < b->nr_sizes && !ret; s++)
			ret = measure_size(c, b->op[o], s, c->hist[o * b->nr_sizes + s], r);
	if (isatty(STDERR_FILENO))
		fputs("\033[K", stderr);
	free(r);
	return ret;
}

/* Leaves the table as it was found if anything goes wrong, or by --dry-run. */
static int measure_and_set(struct calibration *c)
{
	char text[AUTO_TEXT_MAX];
	int ret, ret2;

	catch_signals();
	ret = measure_all(c);
	if (!ret)
		ret = auto_merge(&c->table, c->sample, (unsigned int)c->b->nr_sizes);
	if (!ret) {
		limit_rpc(c, &c->table);
		if (!c->b->dry_run && !interrupted)
			ret = set_table(c, auto_format(&c->table, text, pmof_method_name));
	}
	if (ret || c->b->dry_run || interrupted) {
		ret2 = set_table(c, c->before);
		if (!ret)
			ret = interrupted ? -EINTR : ret2;
	}
	if (ret == -EINTR)
		complain("interrupted; the table of %s is as it was", c->b->device);
	return ret;
}

/* --- the report ------------------------------------------------------------ */

static struct json_object *result_object(const struct calibration *c, int op, int size)
{
	const struct hist *hist = c->hist[op * c->b->nr_sizes + size];
	struct json_object *o = new_object(), *median = new_object(), *ops = new_object();
	unsigned int i, m;

	put_text(o, "op", c->b->op[op]->name);
	put_u64(o, "size", c->b->size[size]);
	for (i = 0; i < c->nr_methods; i++) {
		m = c->method[i];
		if (!hist[m].count)
			continue;
		put_u64(median, pmof_method_name(m), hist_percentile(&hist[m], 500));
		put_u64(ops, pmof_method_name(m), hist[m].count);
	}
	put_object(o, "median_ns", median);
	put_object(o, "operations", ops);
	put_text(o, "quickest", pmof_method_name(c->sample[size].best));
	put_text(o, "chosen", pmof_method_name(c->sample[size].chosen));
	return o;
}

static struct json_object *calibration_object(const struct calibration *c)
{
	const struct bench *b = c->b;
	struct json_object *o;
	char text[AUTO_TEXT_MAX];
	int op, s;

	for (op = 0; op < b->nr_ops; op++)
		for (s = 0; s < b->nr_sizes; s++)
			push_object(b->results, result_object(c, op, s));
	o = bench_report_object(b);
	put_u64(o, "threads", b->threads[0]);
	put_text(o, "table_before", c->before);
	put_text(o, "table", auto_format(&c->table, text, pmof_method_name));
	put_bool(o, "written", !b->dry_run);
	return o;
}

/* OP SIZE, a column for each method, CHOSEN. */
static void print_medians(const struct calibration *c)
{
	struct column columns[AUTO_METHODS + 3] = {
		{ "OP", "op", COL_TEXT }, { "SIZE", "size", COL_SIZE },
	};
	char key[AUTO_METHODS][40];
	unsigned int i, n = 2;

	for (i = 0; i < c->nr_methods; i++) {
		const char *name = pmof_method_name(c->method[i]);

		snprintf(key[i], sizeof(key[i]), "median_ns.%s", name);
		columns[n++] = (struct column){ name, key[i], COL_NS };
	}
	columns[n++] = (struct column){ "CHOSEN", "chosen", COL_TEXT };
	print_table(c->b->results, columns, n);
}

static void print_calibration(const struct calibration *c)
{
	struct json_object *o = calibration_object(c);
	const struct bench *b = c->b;

	if (b->json) {
		print_json(o, false);
	} else {
		printf("pmof%d: '%s', domain %s; medians of durable puts%s\n\n", c->instance,
		       b->info.name, pmof_domain_name(b->info.domain),
		       b->info.flags & PMOF_INFO_DURABLE ? "" : "; NOT DURABLE");
		print_medians(c);
		printf("\ntable before: %s\n", c->before);
		printf("table%s %s\n", b->dry_run ? " (not written):" : " now:   ",
		       json_object_get_string(json_object_object_get(o, "table")));
	}
	json_object_put(o);
}

int bench_calibrate(struct bench *b)
{
	struct calibration c = { .b = b, .instance = pmof_instance(b->dev) };
	int ret = check_auto(&c);

	if (!ret)
		ret = find_methods(&c);
	if (ret)
		return ret;
	c.hist = calloc((size_t)b->nr_ops * (size_t)b->nr_sizes, sizeof(*c.hist));
	if (!c.hist) {
		complain("out of memory");
		return -ENOMEM;
	}
	ret = measure_and_set(&c);
	if (!ret)
		print_calibration(&c);
	free(c.hist);
	return ret;
}
