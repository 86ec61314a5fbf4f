// SPDX-License-Identifier: GPL-2.0
/*
 * Records a history (history.h) of operations on a store (recorder.h): many threads, each with
 * an open file of its own. It goes on over crashes of the server.
 *
 * Exit status 0: recorded; 1: a value was none that was ever put, or an error that should not be;
 * 2: usage.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder.h"

#define DEVICES_MAX	16
#define THREADS_MAX	64

struct arguments {
	const char *device[DEVICES_MAX];
	unsigned int nr_devices, threads, keys, max_value;
	uint64_t seconds, ops, seed;
	const char *output, *until;
};

struct client {
	const struct arguments *a;
	struct recorder recorder;
	struct pmofkv *kv;
	pthread_t thread;
};

/* --- a client ------------------------------------------------------------------------------ */

static bool is_over(const struct arguments *a, uint64_t nr, uint64_t end)
{
	if (a->until)
		return !access(a->until, F_OK);
	return a->ops ? nr == a->ops : recorder_now() >= end;
}

static void *record(void *arg)
{
	struct client *c = arg;
	uint64_t end = recorder_now() + c->a->seconds * 1000000000, i;

	for (i = 0; !atomic_load(&c->recorder.shared->failed) && !is_over(c->a, i, end); i++)
		recorder_operate(&c->recorder);
	return NULL;
}

/* Every other one puts by sa whatever the size. */
static int start(struct client *c, const struct arguments *a, struct recording *shared,
		 unsigned int nr)
{
	struct pmofkv_options opt;
	int ret;

	c->a = a;
	pmofkv_options_init(&opt);
	opt.protocol = nr % 2 ? PMOFKV_SA : PMOFKV_AUTO;
	ret = pmofkv_open(a->device[nr % a->nr_devices], O_RDWR, &opt, &c->kv);
	if (!ret)
		ret = recorder_init(&c->recorder, shared, c->kv, nr);
	return ret ? ret : -pthread_create(&c->thread, NULL, record, c);
}

static int write_history(const struct arguments *a, const struct client *c)
{
	FILE *f = a->output ? fopen(a->output, "we") : stdout;
	uint64_t errors = 0, ops = 0;
	unsigned int i;
	size_t j;

	if (!f) {
		perror(a->output);
		return 1;
	}
	for (i = 0; i < a->threads; i++) {
		const struct recorder *r = &c[i].recorder;

		for (j = 0; j < r->history.nr; j++)
			history_print_op(f, &r->history.op[j]);
		ops += r->history.nr;
		errors += r->errors;
	}
	fprintf(stderr, "record: %" PRIu64 " operations, %" PRIu64 " errors\n", ops, errors);
	return f != stdout && fclose(f) ? 1 : 0;
}

/*
 * A history of nothing but what is not known is linearizable.  With --until, whoever makes the
 * file does so behind the last loss; else the last operation may be the lost one.
 */
static int check_changes(const struct arguments *a, const struct client *c)
{
	unsigned int i;

	for (i = 0; i < a->threads; i++) {
		const struct recorder *r = &c[i].recorder;

		if (a->until ? r->since : r->changed)
			continue;
		fprintf(stderr, "record: client %u has changed nothing%s\n", i,
			a->until ? " since its last error" : "");
		return 1;
	}
	return 0;
}

static int run(const struct arguments *a)
{
	static struct client c[THREADS_MAX];
	struct recording shared;
	unsigned int i, started;
	int ret = 0, status;

	recording_init(&shared, a->keys, a->max_value, a->seed);
	for (started = 0; started < a->threads && !ret; started += !ret)
		ret = start(&c[started], a, &shared, started);
	if (ret) {
		fprintf(stderr, "record: start: %s\n", strerror(-ret));
		atomic_store(&shared.failed, true);
	}
	for (i = 0; i < started; i++)
		pthread_join(c[i].thread, NULL);
	status = write_history(a, c) || check_changes(a, c);
	for (i = 0; i < a->threads; i++) {
		pmofkv_close(c[i].kv);
		recorder_end(&c[i].recorder);
	}
	if (*shared.error)
		fprintf(stderr, "record: %s\n", shared.error);
	return status || atomic_load(&shared.failed);
}

/* --- the command line -------------------------------------------------------------------------- */

enum { OPT_KEYS = 0x100, OPT_THREADS, OPT_SECONDS, OPT_OPS, OPT_SEED, OPT_OUTPUT, OPT_MAX_VALUE, OPT_UNTIL };

static const struct argp_option options[] = {
	{ "keys", OPT_KEYS, "N", 0, "Default 5", 0 },
	{ "threads", OPT_THREADS, "N", 0, "Default 4; the devices take turns", 0 },
	{ "seconds", OPT_SECONDS, "S", 0, "Default 5", 0 },
	{ "ops", OPT_OPS, "N", 0, "Of each thread, instead of a time", 0 },
	{ "until", OPT_UNTIL, "FILE", 0, "Until this file is there, instead of a time", 0 },
	{ "seed", OPT_SEED, "N", 0, "Default 1", 0 },
	{ "max-value", OPT_MAX_VALUE, "BYTES", 0, "Of the longest values; default 40000", 0 },
	{ "output", OPT_OUTPUT, "FILE", 0, "Default: standard output", 0 },
	{ 0 }
};

static uint64_t number(struct argp_state *state, const char *arg, uint64_t max)
{
	char *end;
	uint64_t n = strtoull(arg, &end, 10);

	if (*end || !n || n > max)
		argp_error(state, "'%s' is no number from 1 to %" PRIu64, arg, max);
	return n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case OPT_KEYS:
		a->keys = (unsigned int)number(state, arg, RECORDER_KEYS);
		return 0;
	case OPT_THREADS:
		a->threads = (unsigned int)number(state, arg, THREADS_MAX);
		return 0;
	case OPT_SECONDS:
		a->seconds = number(state, arg, 86400);
		return 0;
	case OPT_OPS:
		a->ops = number(state, arg, UINT32_MAX);
		return 0;
	case OPT_SEED:
		a->seed = number(state, arg, UINT32_MAX);
		return 0;
	case OPT_MAX_VALUE:
		a->max_value = (unsigned int)number(state, arg, RECORDER_VALUE);
		return 0;
	case OPT_OUTPUT:
		a->output = arg;
		return 0;
	case OPT_UNTIL:
		a->until = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (a->nr_devices == DEVICES_MAX)
			argp_usage(state);
		a->device[a->nr_devices++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->nr_devices)
			argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "DEVICE...",
		.doc = "Records a history of operations on a store, for lincheck.",
	};
	struct arguments a = { .keys = 5, .threads = 4, .seconds = 5, .seed = 1,
			       .max_value = RECORDER_VALUE };

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	return run(&a);
}
