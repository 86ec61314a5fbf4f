// SPDX-License-Identifier: GPL-2.0
/*
 * Records a history (history.h) of operations on a store: many threads, each with an open file of
 * its own, few keys. Values are of all sizes and made from their tag, so a torn one, or a
 * mixture, is told at once. It goes on over crashes of the server: an operation that fails with
 * EIO is one of unknown outcome.
 *
 * Exit status 0: recorded; 1: a value was none that was ever put, or an error that should not be;
 * 2: usage.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "history.h"
#include "libpmofkv.h"

#define DEVICES_MAX	16
#define THREADS_MAX	64
#define KEYS_MAX	1000
#define VALUE_MAX	40000U
#define PAUSE_NS	20000000	/* behind an error */

struct arguments {
	const char *device[DEVICES_MAX];
	unsigned int nr_devices, threads, keys, max_value;
	uint64_t seconds, ops, seed;
	const char *output, *until;
};

struct recorder {
	const struct arguments *a;
	struct pmofkv *kv;
	pthread_t thread;
	struct history history;
	uint64_t random;
	unsigned int client;
	uint64_t tag;			/* the last one that this client has put */
	uint64_t version[KEYS_MAX];	/* that it has last heard of */
	unsigned char *value;
	uint64_t errors;
};

/* Keys of another run are none of this history's: this number is in each. */
static uint64_t run_number;
static atomic_bool failed;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void pause_a_bit(void)
{
	static const struct timespec t = { .tv_nsec = PAUSE_NS };

	nanosleep(&t, NULL);
}

static uint64_t mix(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static uint64_t below(struct recorder *r, uint64_t limit)
{
	return mix(&r->random) % limit;
}

/* --- values ------------------------------------------------------------------------- */

/* Bytes of the value of a tag: mostly small, some that go one-sided. */
static size_t value_size(const struct arguments *a, uint64_t tag)
{
	uint64_t state = tag, kind = mix(&state) % 4, size = mix(&state);

	size = sizeof(tag) + size % (kind ? 200 : a->max_value);
	return size;
}

static void make_value(const struct arguments *a, uint64_t tag, unsigned char *buf)
{
	size_t size = value_size(a, tag), at;
	uint64_t state = tag, word = tag;

	for (at = 0; at < size; at += sizeof(word)) {
		memcpy(buf + at, &word, size - at < sizeof(word) ? size - at : sizeof(word));
		word = mix(&state);
	}
}

/* The tag of a value, or 0: it is none. */
static uint64_t take_value(struct recorder *r, const unsigned char *value, size_t size)
{
	uint64_t tag;

	if (size < sizeof(tag))
		return 0;
	memcpy(&tag, value, sizeof(tag));
	if (!tag || size != value_size(r->a, tag))
		return 0;
	make_value(r->a, tag, r->value);
	return memcmp(value, r->value, size) ? 0 : tag;
}

/* --- operations ------------------------------------------------------------------------ */

struct key {
	char text[64];
	size_t length;
};

static struct key make_key(uint64_t number)
{
	struct key key;

	key.length = (size_t)snprintf(key.text, sizeof(key.text), "history-%016" PRIx64 "-%" PRIu64,
				      run_number, number);
	return key;
}

static void give_up(const char *what, int error)
{
	fprintf(stderr, "record: %s: %s\n", what, strerror(-error));
	atomic_store(&failed, true);
}

static uint64_t expect(struct recorder *r, const struct op *op)
{
	uint64_t version = r->version[op->key];

	if (below(r, 2))
		return EXPECT_ANY;
	if (op->kind == OP_PUT && (!version || !below(r, 4)))
		return EXPECT_NONE;
	return version ? version : EXPECT_ANY;
}

static int do_put(struct recorder *r, const struct key *key, struct op *op)
{
	op->tag = (uint64_t)(r->client + 1) << 40 | ++r->tag;
	op->expected = expect(r, op);
	make_value(r->a, op->tag, r->value);
	op->call = now();
	return pmofkv_put_if(r->kv, key->text, key->length, r->value, value_size(r->a, op->tag),
			     op->expected, &op->version);
}

static int do_delete(struct recorder *r, const struct key *key, struct op *op)
{
	op->expected = expect(r, op);
	op->call = now();
	return pmofkv_delete_if(r->kv, key->text, key->length, op->expected, &op->version);
}

static int do_get(struct recorder *r, const struct key *key, struct op *op)
{
	size_t size;
	void *value;
	int ret;

	op->call = now();
	ret = pmofkv_get_alloc(r->kv, key->text, key->length, &value, &size, &op->version);
	op->ret = now();
	if (ret)
		return ret;
	op->tag = take_value(r, value, size);
	if (!op->tag) {
		fprintf(stderr, "record: key %" PRIu64 ", version %" PRIu64 ": %zu bytes that nobody "
			"has put\n", op->key, op->version, size);
		atomic_store(&failed, true);
	}
	free(value);
	return 0;
}

/* False: the operation is not of the history, as it has changed nothing and tells nothing. */
static bool take_result(struct recorder *r, struct op *op, int ret)
{
	switch (ret) {
	case 0:
		op->result = RESULT_OK;
		break;
	case -ENOENT:
		op->result = RESULT_NONE;
		break;
	case -EEXIST:
		op->result = RESULT_EXISTS;
		break;
	case -ESTALE:
		op->result = RESULT_STALE;
		break;
	case -EIO:
	case -ENODEV:
		r->errors++;
		pause_a_bit();
		op->result = RESULT_UNKNOWN;
		return op->kind != OP_GET;
	case -EBUSY:
	case -ENOSPC:
		r->errors++;
		pause_a_bit();
		return false;
	default:
		give_up("an operation", ret);
		return false;
	}
	r->version[op->key] = op->kind == OP_DELETE && !ret ? 0 : op->version;
	return true;
}

static void operate(struct recorder *r)
{
	struct op op = { .key = below(r, r->a->keys), .client = r->client };
	struct key key = make_key(op.key);
	uint64_t kind = below(r, 10);
	int ret;

	if (kind < 4) {
		op.kind = OP_PUT;
		ret = do_put(r, &key, &op);
	} else if (kind < 5) {
		op.kind = OP_DELETE;
		ret = do_delete(r, &key, &op);
	} else {
		op.kind = OP_GET;
		ret = do_get(r, &key, &op);
	}
	/* Of a get it was read before its value was looked at. */
	if (!op.ret)
		op.ret = now();
	if (take_result(r, &op, ret) && !history_add(&r->history, &op))
		give_up("memory", -ENOMEM);
}

/* --- a client ------------------------------------------------------------------------------ */

static bool is_over(const struct arguments *a, uint64_t nr, uint64_t end)
{
	if (a->until)
		return !access(a->until, F_OK);
	return a->ops ? nr == a->ops : now() >= end;
}

static void *record(void *arg)
{
	struct recorder *r = arg;
	uint64_t end = now() + r->a->seconds * 1000000000, i;

	for (i = 0; !atomic_load(&failed) && !is_over(r->a, i, end); i++)
		operate(r);
	return NULL;
}

static int start(struct recorder *r, const struct arguments *a, unsigned int client)
{
	int ret;

	r->a = a;
	r->client = client;
	r->random = a->seed * 1000 + client;
	r->value = malloc(VALUE_MAX + 2 * sizeof(uint64_t));
	if (!r->value)
		return -ENOMEM;
	ret = pmofkv_open(a->device[client % a->nr_devices], O_RDWR, NULL, &r->kv);
	return ret ? ret : -pthread_create(&r->thread, NULL, record, r);
}

static int write_history(const struct arguments *a, const struct recorder *r)
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
		for (j = 0; j < r[i].history.nr; j++)
			history_print_op(f, &r[i].history.op[j]);
		ops += r[i].history.nr;
		errors += r[i].errors;
	}
	fprintf(stderr, "record: %" PRIu64 " operations, %" PRIu64 " errors\n", ops, errors);
	return f != stdout && fclose(f) ? 1 : 0;
}

static int run(const struct arguments *a)
{
	static struct recorder r[THREADS_MAX];
	unsigned int i, started;
	int ret = 0;

	run_number = now() ^ a->seed << 48;
	for (started = 0; started < a->threads && !ret; started += !ret)
		ret = start(&r[started], a, started);
	if (ret)
		give_up("start", ret);
	for (i = 0; i < started; i++)
		pthread_join(r[i].thread, NULL);
	ret = write_history(a, r);
	for (i = 0; i < a->threads; i++) {
		pmofkv_close(r[i].kv);
		history_free(&r[i].history);
		free(r[i].value);
	}
	return ret || atomic_load(&failed);
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
		a->keys = (unsigned int)number(state, arg, KEYS_MAX);
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
		a->max_value = (unsigned int)number(state, arg, VALUE_MAX);
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
			       .max_value = VALUE_MAX };

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	return run(&a);
}
