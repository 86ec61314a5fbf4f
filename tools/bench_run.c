// SPDX-License-Identifier: BSD-3-Clause
/*
 * The threads of a measurement. They warm up, wait while the counters are read,
 * run, and wait again: so the counters hold exactly the operations measured.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define WARM_UP_MAX_NS	500000000ULL
#define WARM_UP_MAX_OPS	1000

struct run {
	const struct bench_case *c;
	pthread_mutex_t gate;		/* held until all threads exist, or one cannot */
	bool abort;			/* protected by gate */
	pthread_barrier_t barrier;	/* the workers and the main thread */
};

struct worker {
	struct run *run;
	pthread_t thread;
	uint64_t base;		/* its part of the range */
	uint64_t slots;		/* places for an operation in it */
	uint64_t random;
	uint64_t word;		/* CAS: what the word is expected to hold */
	char *buf;
	struct pmof_op *ops;	/* depth above 1, and to prepare */
	uint64_t *generation;	/* of the objects, BENCH_PUT_COMMIT */
	uint64_t max_objects;	/* places for one in the range and in @generation */
	uint64_t nr_objects;	/* prepared */
	uint64_t next_object;	/* to be put */
	struct hist latency;
	uint64_t calls;
	uint64_t start_ns, end_ns;
	int error;
};

/* xorshift64*: quick, and the same sequence in every run. */
static uint64_t next_random(struct worker *w)
{
	w->random ^= w->random >> 12;
	w->random ^= w->random << 25;
	w->random ^= w->random >> 27;
	return w->random * 0x2545f4914f6cdd1dULL;
}

static uint64_t next_offset(struct worker *w)
{
	return w->base + next_random(w) % w->slots * w->run->c->size;
}

static bool stopped(const struct worker *w)
{
	return w->run->c->stop && *w->run->c->stop;
}

/* --- objects --------------------------------------------------------------- */

static bool commits(const struct worker *w)
{
	return w->run->c->op->kind == BENCH_PUT_COMMIT;
}

static uint64_t object_offset(const struct worker *w, uint64_t i)
{
	return w->base + i * w->run->c->size;
}

static int prepare_some(struct worker *w, uint64_t first, unsigned int nr)
{
	const struct bench_case *c = w->run->c;
	unsigned int i;
	int ret;

	for (i = 0; i < nr; i++)
		pmof_prep_prepare(&w->ops[i], object_offset(w, first + i), c->size);
	ret = pmof_submit(c->dev, w->ops, nr);
	for (i = 0; i < nr && !ret; i++) {
		ret = w->ops[i].result;
		w->generation[first + i] = w->ops[i].old;
	}
	return ret;
}

/* Prepares the first @nr objects of the thread's part, or as many as there are. */
static void prepare_objects(struct worker *w, uint64_t nr)
{
	uint64_t i, n;

	if (nr > w->max_objects)
		nr = w->max_objects;
	for (i = 0; i < nr && !w->error && !stopped(w); i += n) {
		n = nr - i < PMOF_SUBMIT_MAX ? nr - i : PMOF_SUBMIT_MAX;
		w->error = prepare_some(w, i, (unsigned int)n);
	}
	w->nr_objects = i;
	w->next_object = 0;
}

/* Each object can be put once. */
static bool objects_left(const struct worker *w)
{
	return !commits(w) || w->nr_objects - w->next_object >= w->run->c->depth;
}

/* --- one call -------------------------------------------------------------- */

/* A thread's words are its own, so the CAS succeeds from its second try on. */
static int call_cas(struct worker *w)
{
	uint64_t old = 0;
	int ret = pmof_cas(w->run->c->dev, w->base, w->word, w->word + 1, w->run->c->op->flags,
			   &old);

	w->word = old == w->word ? old + 1 : old;
	return ret;
}

/* Returns 0 or -errno; *ns: how long it took. */
static int call_one(struct worker *w, uint64_t *ns)
{
	const struct bench_case *c = w->run->c;
	uint64_t offset = next_offset(w), start, object = w->next_object;
	int ret = 0;

	if (c->op->kind == BENCH_PERSIST)
		ret = pmof_put(c->dev, w->buf, c->size, offset, 0);
	if (ret)
		return ret;
	start = now_ns();
	switch (c->op->kind) {
	case BENCH_PUT:
		ret = pmof_put(c->dev, w->buf, c->size, offset, c->op->flags);
		break;
	case BENCH_GET:
		ret = pmof_get(c->dev, w->buf, c->size, offset);
		break;
	case BENCH_PERSIST:
		ret = pmof_persist(c->dev, offset, c->size);
		break;
	case BENCH_CAS:
		ret = call_cas(w);
		break;
	case BENCH_FETCH_ADD:
		ret = pmof_fetch_add(c->dev, offset, 1, c->op->flags, NULL);
		break;
	case BENCH_PREPARE:
		ret = pmof_prepare(c->dev, offset, c->size, NULL);
		break;
	case BENCH_PUT_COMMIT:
		ret = pmof_put_commit(c->dev, w->buf, c->size, object_offset(w, object),
				      w->generation[object]);
		w->next_object++;
		break;
	}
	*ns = now_ns() - start;
	return ret;
}

static void fill_op(struct worker *w, struct pmof_op *op, char *buf)
{
	const struct bench_case *c = w->run->c;

	switch (c->op->kind) {
	case BENCH_PUT:
		pmof_prep_put(op, buf, c->size, next_offset(w), c->op->flags);
		break;
	case BENCH_GET:
		pmof_prep_get(op, buf, c->size, next_offset(w));
		break;
	case BENCH_PERSIST:	/* never: has a depth of 1 */
		pmof_prep_persist(op, next_offset(w), c->size);
		break;
	case BENCH_CAS:
		pmof_prep_cas(op, w->base, w->word, w->word + 1, c->op->flags);
		w->word++;
		break;
	case BENCH_FETCH_ADD:
		pmof_prep_fetch_add(op, next_offset(w), 1, c->op->flags);
		break;
	case BENCH_PREPARE:
		pmof_prep_prepare(op, next_offset(w), c->size);
		break;
	case BENCH_PUT_COMMIT:
		pmof_prep_put_commit(op, buf, c->size, object_offset(w, w->next_object),
				     w->generation[w->next_object]);
		w->next_object++;
		break;
	}
}

static int call_submit(struct worker *w, uint64_t *ns)
{
	const struct bench_case *c = w->run->c;
	uint64_t start;
	unsigned int i;
	int ret;

	for (i = 0; i < c->depth; i++)
		fill_op(w, &w->ops[i], w->buf + i * c->size);
	start = now_ns();
	ret = pmof_submit(c->dev, w->ops, c->depth);
	*ns = now_ns() - start;
	for (i = 0; i < c->depth && !ret; i++)
		ret = w->ops[i].result;
	if (c->op->kind == BENCH_CAS && w->ops[c->depth - 1].old != w->word - 1)
		w->word = w->ops[c->depth - 1].old;
	return ret;
}

/* --- a thread -------------------------------------------------------------- */

/*
 * Calls until the time is up, @count is reached or no object is left, with or
 * without keeping score.
 */
static void run_phase(struct worker *w, uint64_t time_ns, uint64_t count, bool keep)
{
	uint64_t ns = 0, n = 0, now;

	w->start_ns = now_ns();
	now = w->start_ns;
	while (!w->error && !stopped(w) && objects_left(w) &&
	       (time_ns ? now - w->start_ns < time_ns : n < count)) {
		w->error = w->run->c->depth > 1 ? call_submit(w, &ns) : call_one(w, &ns);
		if (w->error)
			break;
		n++;
		if (keep)
			hist_add(&w->latency, ns);
		if (time_ns)
			now = now_ns();
	}
	w->end_ns = now_ns();
	w->calls = n;
}

/* Enough objects for the measurement, by the rate of the warm-up and with a reserve. */
static uint64_t objects_needed(const struct worker *w)
{
	const struct bench_case *c = w->run->c;
	double elapsed = (double)(w->end_ns - w->start_ns + 1);

	if (!c->time_ns)
		return c->count * c->depth;
	return (uint64_t)(2.0 * (double)(w->calls + 1) * (double)c->time_ns / elapsed) * c->depth;
}

static void warm_up(struct worker *w)
{
	const struct bench_case *c = w->run->c;
	uint64_t time_ns = c->time_ns / 5, count = c->count / 10 + 1;

	if (time_ns > WARM_UP_MAX_NS)
		time_ns = WARM_UP_MAX_NS;
	if (count > WARM_UP_MAX_OPS)
		count = WARM_UP_MAX_OPS;
	if (commits(w))
		prepare_objects(w, WARM_UP_MAX_OPS);
	run_phase(w, time_ns, count, false);
	if (commits(w))
		prepare_objects(w, objects_needed(w));
}

static bool aborted(struct run *run)
{
	bool abort;

	pthread_mutex_lock(&run->gate);
	abort = run->abort;
	pthread_mutex_unlock(&run->gate);
	return abort;
}

static void *work(void *arg)
{
	struct worker *w = arg;

	if (aborted(w->run))
		return NULL;
	pthread_barrier_wait(&w->run->barrier);
	warm_up(w);
	pthread_barrier_wait(&w->run->barrier);
	pthread_barrier_wait(&w->run->barrier);	/* the counters are read */
	run_phase(w, w->run->c->time_ns, w->run->c->count, true);
	pthread_barrier_wait(&w->run->barrier);
	return NULL;
}

static uint64_t max_objects(const struct bench_case *c, uint64_t slots)
{
	uint64_t max = c->time_ns ? BENCH_OBJECTS_MAX : c->count * c->depth;

	if (c->op->kind != BENCH_PUT_COMMIT)
		return 0;
	return max < slots ? max : slots;
}

static int init_worker(struct worker *w, struct run *run, unsigned int index)
{
	const struct bench_case *c = run->c;
	uint64_t share = bench_share(c), size = c->size * c->depth, word, i;
	unsigned int ops = c->depth < PMOF_SUBMIT_MAX ? PMOF_SUBMIT_MAX : c->depth;

	w->run = run;
	w->base = c->offset + index * share;
	w->slots = share / c->size;
	w->random = 0x9e3779b97f4a7c15ULL * (index + 1);
	size = (size + 4095) / 4096 * 4096;
	w->buf = aligned_alloc(4096, size);
	w->ops = calloc(ops, sizeof(*w->ops));
	w->max_objects = max_objects(c, w->slots);
	w->generation = calloc(w->max_objects + 1, sizeof(*w->generation));
	if (!w->buf || !w->ops || !w->generation)
		return -ENOMEM;
	for (i = 0; i < size; i += sizeof(word)) {
		word = next_random(w);
		memcpy(w->buf + i, &word, sizeof(word));
	}
	return 0;
}

static void free_workers(struct worker *w, unsigned int nr)
{
	unsigned int i;

	for (i = 0; w && i < nr; i++) {
		free(w[i].buf);
		free(w[i].ops);
		free(w[i].generation);
	}
	free(w);
}

/* --- a measurement --------------------------------------------------------- */

uint64_t bench_share(const struct bench_case *c)
{
	uint64_t share = c->span / c->threads;
	uint64_t align = share >= 4096 ? 4096 : share >= 64 ? 64 : 8;

	if (share >= align)
		share -= share % align;
	return share >= c->size ? share : 0;
}

/* The main thread's part, between the barriers that it shares with the workers. */
static int lead(struct run *run, struct bench_result *r)
{
	int instance = pmof_instance(run->c->dev);
	bool counted = !run->c->uncounted;
	int ret = 0, ret2 = 0;

	pthread_barrier_wait(&run->barrier);
	pthread_barrier_wait(&run->barrier);	/* warm */
	if (counted)
		ret = snapshot_begin(instance, &r->before);
	pthread_barrier_wait(&run->barrier);
	pthread_barrier_wait(&run->barrier);	/* done */
	if (counted)
		ret2 = snapshot_take(instance, &r->after);
	return ret ? ret : ret2;
}

static int collect(const struct bench_case *c, const struct worker *w, struct bench_result *r)
{
	uint64_t start = w[0].start_ns, end = w[0].end_ns;
	unsigned int i;
	int error = 0;

	for (i = 0; i < c->threads; i++) {
		hist_merge(&r->latency, &w[i].latency);
		r->ops += w[i].calls * c->depth;
		if (w[i].start_ns < start)
			start = w[i].start_ns;
		if (w[i].end_ns > end)
			end = w[i].end_ns;
		if (w[i].error && !error)
			error = w[i].error;
	}
	r->elapsed_ns = end - start;
	return error;
}

/* All threads come to the barriers, or none. */
static int start_workers(struct run *run, struct worker *w)
{
	unsigned int i, n;
	int ret = 0;

	pthread_mutex_lock(&run->gate);
	for (n = 0; n < run->c->threads && !ret; n += !ret)
		ret = -pthread_create(&w[n].thread, NULL, work, &w[n]);
	run->abort = ret != 0;
	pthread_mutex_unlock(&run->gate);
	for (i = 0; i < n && ret; i++)
		pthread_join(w[i].thread, NULL);
	return ret;
}

static int run_workers(struct run *run, struct worker *w, struct bench_result *r)
{
	const struct bench_case *c = run->c;
	unsigned int i;
	int ret = 0, error;

	for (i = 0; i < c->threads && !ret; i++)
		ret = init_worker(&w[i], run, i);
	if (!ret)
		ret = start_workers(run, w);
	if (ret)
		return ret;
	ret = lead(run, r);
	for (i = 0; i < c->threads; i++)
		pthread_join(w[i].thread, NULL);
	error = collect(c, w, r);
	return error ? error : ret;
}

int bench_run(const struct bench_case *c, struct bench_result *r)
{
	struct run run = { .c = c, .gate = PTHREAD_MUTEX_INITIALIZER };
	struct worker *w = calloc(c->threads, sizeof(*w));
	int ret;

	memset(r, 0, sizeof(*r));
	if (!w)
		return -ENOMEM;
	ret = -pthread_barrier_init(&run.barrier, NULL, c->threads + 1);
	if (!ret) {
		ret = run_workers(&run, w, r);
		pthread_barrier_destroy(&run.barrier);
	}
	free_workers(w, c->threads);
	return ret;
}
