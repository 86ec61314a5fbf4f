// SPDX-License-Identifier: BSD-3-Clause
/* pmof kv bench: the threads. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "kv_bench.h"

/* What the threads share. */
struct run {
	const struct kv_bench *b;
	bool load;
	uint64_t ops;			/* 0: for a time */
	_Atomic uint64_t next;		/* the number of the next key that is put in */
	_Atomic uint64_t done;		/* operations begun, of @ops */
	atomic_int error;		/* the first one: all stop */
	uint64_t deadline;
	pthread_mutex_t start;		/* held until all are there */
};

/* Of a worker that puts no key in. */
#define NOTHING		UINT64_MAX

struct worker {
	struct run *run;
	struct worker *all;
	_Atomic uint64_t inserting;	/* no number above that of the key that it puts in */
	struct pmofkv *kv;
	pthread_t thread;
	struct kv_random random;
	struct kv_chooser chooser;
	struct pmofkv_scan *scan;
	char *value;
	struct kv_batch *batch;		/* keys go in together; NULL: they do not */
	char key[KV_KEY_MAX];
	struct kv_bench_op op[KV_OPS];
	uint64_t wrong;
};

/* --- one operation ------------------------------------------------------------------ */

/* A value begins with its key's number, so that a get can tell. */
static int put(struct worker *w, uint64_t number, uint64_t expected, struct kv_bench_op *op)
{
	const struct kv_sizes *s = &w->run->b->sizes;
	uint32_t key = kv_make_key(s, number, w->key), value = kv_value_size(s, &w->random);
	int ret;

	if (value >= sizeof(number))
		memcpy(w->value, &number, sizeof(number));
	ret = pmofkv_put_if(w->kv, w->key, key, w->value, value, expected, NULL);
	if (!ret)
		op->bytes += value;
	return ret;
}

static int get(struct worker *w, uint64_t number, uint64_t *version, struct kv_bench_op *op)
{
	uint32_t key = kv_make_key(&w->run->b->sizes, number, w->key);
	size_t length;
	void *value;
	int ret = pmofkv_get_alloc(w->kv, w->key, key, &value, &length, version);

	if (ret == -ENOENT) {
		op->missing++;
		return 1;
	}
	if (ret)
		return ret;
	if (length >= sizeof(number) && memcmp(value, &number, sizeof(number)) != 0)
		w->wrong++;
	op->bytes += length;
	free(value);
	return 0;
}

/* Reads, and puts if that is still there; as often as it takes. */
static int modify(struct worker *w, uint64_t number, struct kv_bench_op *op)
{
	uint64_t version;
	int ret;

	for (;;) {
		ret = get(w, number, &version, op);
		if (ret)
			return ret;
		ret = put(w, number, version, op);
		if (ret != -ESTALE)
			return ret;
		op->again++;
	}
}

/* The scan's next key; behind the last one it begins again. */
static int next_key(struct worker *w, struct pmofkv_entry *e)
{
	int ret = pmofkv_scan_next(w->scan, e);

	if (ret)
		return ret;
	pmofkv_scan_close(w->scan);
	w->scan = NULL;
	ret = pmofkv_scan_open(w->kv, &w->scan);
	return ret ? ret : pmofkv_scan_next(w->scan, e);
}

/*
 * Keys have no order that is of use, so a scan goes on where the thread's last one has ended. Each
 * key's value is read.
 */
static int scan(struct worker *w, struct kv_bench_op *op)
{
	uint64_t left = 1 + kv_random_below(&w->random, KV_SCAN_MAX);
	struct pmofkv_entry e;
	size_t length;
	void *value;
	int ret = 1;

	while (left-- && ret > 0) {
		ret = next_key(w, &e);
		if (ret <= 0)
			break;
		ret = pmofkv_get_alloc(w->kv, e.key, e.key_length, &value, &length, NULL);
		if (ret == -ENOENT) {
			ret = 1;
		} else if (!ret) {
			op->bytes += length;
			free(value);
			ret = 1;
		}
	}
	return ret < 0 ? ret : 0;
}

/*
 * Who puts a key in has said so before it takes the number: whose number is below next here is
 * seen, or has ended.
 */
static int insert(struct worker *w, unsigned int nr, struct kv_bench_op *op)
{
	uint64_t first;
	int ret;

	atomic_store(&w->inserting, atomic_load(&w->run->next));
	first = atomic_fetch_add(&w->run->next, nr);
	if (w->batch)
		ret = kv_batch_put(w->batch, w->kv, first, nr, &w->random, &op->bytes);
	else
		ret = put(w, first, PMOF_KV_EXPECT_ANY, op);
	atomic_store(&w->inserting, NOTHING);
	return ret;
}

/* Of the keys up to the first one that is being put in: these are there. */
static uint64_t choose(struct worker *w)
{
	uint64_t nr = atomic_load(&w->run->next), first;
	unsigned int i;

	for (i = 0; i < w->run->b->threads; i++) {
		first = atomic_load(&w->all[i].inserting);
		if (first < nr)
			nr = first;
	}
	return kv_choose(&w->chooser, nr, &w->random);
}

/* Inserts are of @nr keys, all else is of one. */
static int operate(struct worker *w, enum kv_op kind, unsigned int nr)
{
	struct kv_bench_op *op = &w->op[kind];
	int ret;

	switch (kind) {
	case KV_OP_READ:
		ret = get(w, choose(w), NULL, op);
		break;
	case KV_OP_UPDATE:
		ret = put(w, choose(w), PMOF_KV_EXPECT_ANY, op);
		break;
	case KV_OP_INSERT:
		ret = insert(w, nr, op);
		break;
	case KV_OP_SCAN:
		ret = scan(w, op);
		break;
	default:
		ret = modify(w, choose(w), op);
		break;
	}
	return ret < 0 ? ret : 0;
}

/* --- a thread ------------------------------------------------------------------------ */

/* How many operations to do next, up to @most; 0: it is over. */
static unsigned int claim(const struct worker *w, unsigned int most)
{
	struct run *run = w->run;
	uint64_t begun;

	if (atomic_load(&run->error))
		return 0;
	if (!run->ops)
		return now_ns() < run->deadline ? most : 0;
	begun = atomic_fetch_add(&run->done, most);
	if (begun >= run->ops)
		return 0;
	return run->ops - begun < most ? (unsigned int)(run->ops - begun) : most;
}

static enum kv_op choose_op(struct worker *w)
{
	return w->run->load ? KV_OP_INSERT : kv_choose_op(w->run->b->workload, &w->random);
}

/* The latency of those that go together is that of the call. */
static int do_some(struct worker *w, unsigned int nr)
{
	enum kv_op kind = choose_op(w);
	struct kv_bench_op *op = &w->op[kind];
	uint64_t start = now_ns(), ns;
	int ret = operate(w, kind, nr);

	ns = now_ns() - start;
	while (!ret && nr--)
		hist_add(&op->latency, ns);
	return ret;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	unsigned int n, most = w->batch ? w->run->b->batch : 1;
	int ret = 0, none = 0;

	pthread_mutex_lock(&w->run->start);
	pthread_mutex_unlock(&w->run->start);
	while (!ret && (n = claim(w, most)))
		ret = do_some(w, n);
	if (ret)
		atomic_compare_exchange_strong(&w->run->error, &none, ret);
	return NULL;
}

static int open_worker(struct worker *w, struct run *run, unsigned int i)
{
	const struct kv_bench *b = run->b;
	size_t size = kv_value_size_max(&b->sizes);
	struct pmofkv_options opt;
	uint64_t *word;
	size_t at;
	int ret;

	w->run = run;
	atomic_init(&w->inserting, NOTHING);
	w->random.state = kv_mix(b->seed * 1000 + 2 * i + run->load);
	kv_chooser_init(&w->chooser, b->choice, b->keys);
	w->value = malloc(size + sizeof(*word));
	if (!w->value)
		return -ENOMEM;
	for (at = 0; at < size; at += sizeof(*word)) {
		uint64_t x = kv_random(&w->random);

		memcpy(w->value + at, &x, sizeof(x));
	}
	if (run->load && b->batch > 1) {
		w->batch = kv_batch_new(&b->sizes, b->batch, w->value);
		if (!w->batch)
			return -ENOMEM;
	}
	pmofkv_options_init(&opt);
	opt.protocol = b->protocol;
	ret = pmofkv_open(b->device, O_RDWR, &opt, &w->kv);
	return ret ? ret : pmofkv_scan_open(w->kv, &w->scan);
}

static void close_worker(struct worker *w)
{
	pmofkv_scan_close(w->scan);
	pmofkv_close(w->kv);
	kv_batch_free(w->batch);
	free(w->value);
}

/* --- all of them ------------------------------------------------------------------------ */

static void merge(struct kv_bench_result *r, const struct worker *w)
{
	unsigned int i;

	for (i = 0; i < KV_OPS; i++) {
		hist_merge(&r->op[i].latency, &w->op[i].latency);
		r->op[i].missing += w->op[i].missing;
		r->op[i].bytes += w->op[i].bytes;
		r->op[i].again += w->op[i].again;
	}
	for (i = 0; i < PMOFKV_NR_COUNTERS; i++)
		r->counter[i] += pmofkv_counter(w->kv, (enum pmofkv_counter)i);
	r->wrong += w->wrong;
}

static int run_threads(struct worker *w, struct run *run, struct kv_bench_result *r)
{
	unsigned int i, started;
	uint64_t start;
	int ret = 0;

	pthread_mutex_init(&run->start, NULL);
	pthread_mutex_lock(&run->start);
	for (started = 0; started < run->b->threads && !ret; started += !ret)
		ret = -pthread_create(&w[started].thread, NULL, work, &w[started]);
	if (ret)
		atomic_store(&run->error, ret);
	start = now_ns();
	run->deadline = start + run->b->time_ns;
	pthread_mutex_unlock(&run->start);
	for (i = 0; i < started; i++)
		pthread_join(w[i].thread, NULL);
	r->elapsed_ns = now_ns() - start;
	pthread_mutex_destroy(&run->start);
	return atomic_load(&run->error);
}

static int measure(struct worker *w, struct run *run, struct kv_bench_result *r)
{
	int instance = pmofkv_instance(w->kv), ret;

	ret = pmofkv_stat(w->kv, r->stat_before, PMOF_KV_STAT_MAX);
	if (ret < 0)
		return ret;
	snapshot_begin(instance, &r->before);
	ret = run_threads(w, run, r);
	snapshot_take(instance, &r->after);
	if (ret)
		return ret;
	ret = pmofkv_stat(w->kv, r->stat_after, PMOF_KV_STAT_MAX);
	return ret < 0 ? ret : 0;
}

static bool is_emulated(const struct pmofkv *kv)
{
	char text[8];

	return !pmof_read_attr(pmofkv_instance(kv), "emulated", text, sizeof(text)) &&
	       text[0] == '1';
}

int kv_bench_run(struct kv_bench *b, bool load, struct kv_bench_result *r)
{
	struct run run = { .b = b, .load = load, .ops = load ? b->keys : b->ops,
			   .next = load ? 0 : b->keys };
	struct worker *w = calloc(b->threads, sizeof(*w));
	unsigned int i, opened;
	int ret = w ? 0 : -ENOMEM;

	for (opened = 0; !ret && opened < b->threads; opened++) {
		w[opened].all = w;
		ret = open_worker(&w[opened], &run, opened);
	}
	/* Of two runs the first one warns. */
	if (!ret && b->durable)
		b->durable = kv_check_durable(w->kv);
	if (!ret)
		ret = measure(w, &run, r);
	if (!ret)
		b->emulated = is_emulated(w->kv);
	for (i = 0; i < opened; i++) {
		if (!ret)
			merge(r, &w[i]);
		close_worker(&w[i]);
	}
	free(w);
	return ret;
}
