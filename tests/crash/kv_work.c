// SPDX-License-Identifier: GPL-2.0
/*
 * Puts, compare-and-puts, deletes, batches and gets on a store from many threads, with marks
 * around them and a log (log.h), in the client VM.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>

#include "kv_work.h"
#include "log.h"
#include "mark.h"

#define WRONG_VERSION	PMOF_KV_GENERATION_MASK	/* never given */

struct work work = { .seed = 1, .limit = 2000 };

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	exit(1);
}

static bool over(void)
{
	return __atomic_load_n(&work.next_op, __ATOMIC_RELAXED) >= work.limit;
}

uint32_t begin(struct work_op op)
{
	uint32_t number = __atomic_fetch_add(&work.next_op, 1, __ATOMIC_SEQ_CST);

	if (number >= MAX_OPS)
		die("too many operations");
	work.op[number] = op;
	crash_mark(MARK_OP_START, work.first_mark + number);
	return number;
}

/* Of a key with one writer. */
static uint32_t begin_own(const char *what, uint32_t key, uint64_t version)
{
	return begin((struct work_op){ .what = what, .key = key, .version = version });
}

void done(uint32_t number)
{
	crash_mark(MARK_OP_DONE, work.first_mark + number);
}

void expect(int rc, int want, const char *what, uint32_t key)
{
	if (rc != want)
		die("%s of key %u: %s, not %s", what, key, strerror(-rc), strerror(-want));
}

/* --- writing keys of one's own --------------------------------------------------------- */

/* What names a version that is not there must change nothing. */
static void refuse(struct key *k, uint32_t id, uint64_t rnd)
{
	if (rnd % 4)
		return;
	if (rnd & 4)
		expect(pmofkv_put_if(work.kv, k->bytes, k->length, "wrong", 5, WRONG_VERSION, NULL),
		       -ESTALE, "a put that expects a wrong version", id);
	else if (k->stored)
		expect(pmofkv_put_if(work.kv, k->bytes, k->length, "wrong", 5,
				     PMOF_KV_EXPECT_NONE, NULL),
		       -EEXIST, "a put that expects no key", id);
}

static void delete_key(struct key *k, uint32_t id, uint64_t rnd)
{
	uint64_t expected = rnd & 8 ? k->stored : PMOF_KV_EXPECT_ANY;
	uint32_t number = begin_own("txn", id, ++k->version);

	expect(pmofkv_delete_if(work.kv, k->bytes, k->length, expected, NULL), 0, "delete", id);
	done(number);
	k->stored = 0;
}

static void put_key(struct key *k, uint32_t id, uint64_t rnd, uint8_t *value)
{
	uint64_t v = k->version + 1, expected = PMOF_KV_EXPECT_ANY;
	uint32_t length = kv_value_length(work.seed, id, v), number;

	if (rnd & 16)
		expected = k->stored ? k->stored : PMOF_KV_EXPECT_NONE;
	crash_content(value, work.seed, id, v, 0, length);
	k->version = v;
	number = begin_own("txn", id, v);
	expect(pmofkv_put_if(work.kv, k->bytes, k->length, value, length, expected, &k->stored), 0,
	       "put", id);
	done(number);
}

static void put_batch(uint32_t first, uint64_t rnd, uint8_t *value)
{
	struct pmofkv_item item[MAX_BATCH];
	uint32_t number[MAX_BATCH], id[MAX_BATCH], nr = 0, i;

	memset(item, 0, sizeof(item));
	for (i = 0; i < MAX_BATCH; i++) {
		struct key *k = &work.key[first + (rnd + i) % KEYS_EACH];
		uint64_t v = k->version + 1;

		id[nr] = k - work.key;
		if (kv_absent(work.seed, id[nr], v))
			continue;
		item[nr].key = k->bytes;
		item[nr].key_length = k->length;
		item[nr].value = value + nr * KV_MAX_VALUE;
		item[nr].value_length = kv_value_length(work.seed, id[nr], v);
		item[nr].expected = PMOF_KV_EXPECT_ANY;
		crash_content(value + nr * KV_MAX_VALUE, work.seed, id[nr], v, 0,
			      item[nr].value_length);
		k->version = v;
		number[nr] = begin_own("txn", id[nr], v);
		nr++;
	}
	if (nr && pmofkv_put_batch(work.kv, item, nr))
		die("a batch: %s", strerror(-item[0].result));
	for (i = 0; i < nr; i++) {
		expect(item[i].result, 0, "a batch's put", id[i]);
		work.key[id[i]].stored = item[i].version;
		done(number[i]);
	}
}

static void write_own(uint32_t first, uint64_t *state, uint8_t *value)
{
	uint32_t id = first + crash_rnd(state, KEYS_EACH);
	uint64_t rnd = crash_mix(*state);
	struct key *k = &work.key[id];

	refuse(k, id, rnd);
	if (kv_absent(work.seed, id, k->version + 1))
		delete_key(k, id, rnd);
	else if (rnd % 5)
		put_key(k, id, rnd, value);
	else
		put_batch(first, rnd >> 32, value);
}

static void *writer(void *arg)
{
	uint32_t first = (uintptr_t)arg * KEYS_EACH;
	uint8_t *value = malloc(MAX_BATCH * KV_MAX_VALUE);
	uint64_t state = work.seed ^ first;
	struct seen seen = { };

	while (value && !over()) {
		if (crash_rnd(&state, 2))
			shared_write(&seen, crash_mix(state) >> 8, value);
		else
			write_own(first, &state, value);
	}
	free(value);
	return NULL;
}

/* --- reading: what a reader has seen must not be lost -------------------------------- */

/* The version whose value it is, looking back from what the writer has begun. */
static uint64_t version_of(uint32_t id, const uint8_t *value, size_t length, uint8_t *buf)
{
	uint64_t v = __atomic_load_n(&work.key[id].version, __ATOMIC_SEQ_CST);

	while (v && !kv_is_value(work.seed, id, v, value, length, buf))
		v--;
	if (!v)
		die("key %u: a get has returned %zu bytes of no version", id, length);
	return v;
}

static void read_own(uint32_t id, uint8_t *value)
{
	const struct key *k = &work.key[id];
	size_t length;
	uint32_t number;
	int rc;

	rc = pmofkv_get(work.kv, k->bytes, k->length, value, KV_MAX_VALUE, &length, NULL);
	if (rc == -ENOENT)
		return;
	expect(rc, 0, "get", id);
	/* Begun when it was done, which is all that is said of it. */
	number = begin_own("read", id, version_of(id, value, length, value + KV_MAX_VALUE));
	done(number);
}

static void *reader(void *arg)
{
	uint64_t state = ~work.seed ^ (uintptr_t)arg;
	uint8_t *value = malloc(2 * KV_MAX_VALUE);

	while (value && !over()) {
		if (crash_rnd(&state, 3))
			read_own(crash_rnd(&state, NR_KEYS), value);
		else
			shared_read(crash_mix(state) >> 8, value);
	}
	free(value);
	return NULL;
}

/* --------------------------------------------------------------------------------------- */

static void write_op(FILE *f, uint32_t number)
{
	const struct work_op *op = &work.op[number];

	fprintf(f, "%s %u %u ", op->what, number, op->key);
	if (op->key >= NR_KEYS)
		fprintf(f, "%llu %llu ", (unsigned long long)op->number,
			(unsigned long long)op->expected);
	fprintf(f, "%llu\n", (unsigned long long)op->version);
}

static void write_log(const char *path)
{
	FILE *f = fopen(path, "w");
	uint32_t i;

	if (!f)
		die("%s: %s", path, strerror(errno));
	fprintf(f, LOG_MAGIC "\nseed %llu\n", (unsigned long long)work.seed);
	for (i = 0; i < NR_KEYS + NR_SHARED; i++)
		fprintf(f, "slot %u %s %u 1\n", i, i < NR_KEYS ? "kv" : "shared", i);
	for (i = 0; i < work.next_op; i++)
		write_op(f, i);
	fprintf(f, "end %u\n", work.next_op);
	if (fclose(f))
		die("%s: %s", path, strerror(errno));
}

static uint32_t count(const char *what)
{
	uint32_t i, n = 0;

	for (i = 0; i < work.next_op; i++)
		n += !strcmp(work.op[i].what, what);
	return n;
}

static void run(void)
{
	pthread_t id[NR_WRITERS + NR_READERS];
	uintptr_t i;

	for (i = 0; i < NR_KEYS + NR_SHARED; i++)
		work.key[i].length = kv_key(work.seed, i, work.key[i].bytes);
	for (i = 0; i < NR_WRITERS + NR_READERS; i++)
		if (pthread_create(&id[i], NULL, i < NR_WRITERS ? writer : reader, (void *)i))
			die("cannot start a thread");
	for (i = 0; i < NR_WRITERS + NR_READERS; i++)
		pthread_join(id[i], NULL);
}

static void usage(void)
{
	fprintf(stderr, "usage: kv_work --log FILE [--ops N] [--first-op N] [--seed S] [--protocol auto|herd|sa] DEVICE\n");
	exit(2);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "log", required_argument, NULL, 'l' }, { "ops", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' }, { "first-op", required_argument, NULL, 'f' },
		{ "protocol", required_argument, NULL, 'p' },
		{ }
	};
	struct pmofkv_options opt;
	const char *log = NULL;
	int option, rc;

	pmofkv_options_init(&opt);
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'l')
			log = optarg;
		else if (option == 'n')
			work.limit = strtoul(optarg, NULL, 0);
		else if (option == 'f')
			work.first_mark = strtoull(optarg, NULL, 0);
		else if (option == 's')
			work.seed = strtoull(optarg, NULL, 0);
		else if (option == 'p' && pmofkv_protocol_parse(optarg) >= 0)
			opt.protocol = pmofkv_protocol_parse(optarg);
		else
			usage();
	}
	if (!log || optind + 1 != argc)
		usage();
	rc = pmofkv_open(argv[optind], O_RDWR, &opt, &work.kv);
	if (rc)
		die("%s: %s", argv[optind], strerror(-rc));
	run();
	write_log(log);
	printf("kv_work: %u operations; on keys with several writers %u changes, and %u that were refused\n",
	       work.next_op, count("change"), count("refused"));
	return 0;
}
