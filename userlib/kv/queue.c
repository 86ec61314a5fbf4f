// SPDX-License-Identifier: BSD-3-Clause
/*
 * Operations that nobody waits for.  Threads run them, not io_uring's commands: the WRITE and
 * the COMMIT of a put belong on one queue of the connection, in one SUBMIT, which commands of a
 * ring do not give; a get is two steps that depend on each other; and a thread that finds
 * much waiting shares round trips and fences among it.
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#define MAX_DEPTH	4096
#define MAX_THREADS	64
#define PER_THREAD	32	/* in one round of a thread */

struct entry {
	struct entry *next;
	uint64_t user_data;
	struct kv_task task;
	unsigned char key[];
};

struct fifo {
	struct entry *first;
	struct entry **last;
};

struct pmofkv_queue {
	struct pmofkv *kv;
	pthread_mutex_t lock;	/* all below, until @threads */
	pthread_cond_t work;	/* something waits, or @stop */
	pthread_cond_t ended;	/* something has, or nothing is under way */
	struct fifo waiting;
	struct fifo done;
	unsigned int depth;
	unsigned int held;	/* of @depth */
	unsigned int under_way;	/* of these, not in @done */
	bool stop;
	int fd;			/* readable while there is something in @done */
	unsigned int nr_threads;
	pthread_t threads[MAX_THREADS];
};

static void fifo_init(struct fifo *f)
{
	f->first = NULL;
	f->last = &f->first;
}

static void push(struct fifo *f, struct entry *e)
{
	e->next = NULL;
	*f->last = e;
	f->last = &e->next;
}

static struct entry *pop(struct fifo *f)
{
	struct entry *e = f->first;

	if (!e)
		return NULL;
	f->first = e->next;
	if (!f->first)
		f->last = &f->first;
	return e;
}

/* --- threads ------------------------------------------------------------------------ */

struct worker {
	struct kv_buffers b[PER_THREAD];
	struct entry *entry[PER_THREAD];
	struct kv_task *task[PER_THREAD];
	unsigned int nr;
};

/* Its share of what waits: others are idle, perhaps.  Under the lock. */
static void admit(struct pmofkv_queue *q, struct worker *w)
{
	struct entry *e;

	while (w->nr < PER_THREAD && (e = pop(&q->waiting))) {
		w->entry[w->nr] = e;
		w->task[w->nr++] = &e->task;
	}
}

/* Under the lock. */
static void hand_back(struct pmofkv_queue *q, struct worker *w)
{
	unsigned int i, n = 0;

	for (i = 0; i < w->nr; i++) {
		if (w->task[i]->stage) {
			w->entry[n] = w->entry[i];
			w->task[n++] = w->task[i];
			continue;
		}
		if (!q->done.first)
			eventfd_write(q->fd, 1);
		push(&q->done, w->entry[i]);
		q->under_way--;
	}
	if (n != w->nr)
		pthread_cond_broadcast(&q->ended);
	w->nr = n;
}

static void work(struct pmofkv_queue *q, struct worker *w)
{
	pthread_mutex_lock(&q->lock);
	for (;;) {
		while (!w->nr && !q->waiting.first && !q->stop)
			pthread_cond_wait(&q->work, &q->lock);
		admit(q, w);
		if (!w->nr)
			break;
		pthread_mutex_unlock(&q->lock);
		kv_round(q->kv, w->task, w->b, w->nr);
		pthread_mutex_lock(&q->lock);
		hand_back(q, w);
	}
	pthread_mutex_unlock(&q->lock);
}

struct start {
	struct pmofkv_queue *queue;
	struct worker *worker;
};

static void *thread_main(void *arg)
{
	struct start s = *(struct start *)arg;

	free(arg);
	work(s.queue, s.worker);
	free(s.worker);
	return NULL;
}

/* Signals are the program's own threads' matter. */
static int make_thread(pthread_t *thread, struct start *s)
{
	sigset_t all, before;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = pthread_create(thread, NULL, thread_main, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ret;
}

/* 0 or -errno. */
static int add_thread(struct pmofkv_queue *q)
{
	struct worker *w = calloc(1, sizeof(*w));
	struct start *s = malloc(sizeof(*s));
	int ret = ENOMEM;

	if (w && s) {
		*s = (struct start){ q, w };
		ret = make_thread(&q->threads[q->nr_threads], s);
	}
	if (ret) {
		free(w);
		free(s);
	} else {
		q->nr_threads++;
	}
	return -ret;
}

static void stop_threads(struct pmofkv_queue *q)
{
	unsigned int i;

	pthread_mutex_lock(&q->lock);
	q->stop = true;
	pthread_cond_broadcast(&q->work);
	pthread_mutex_unlock(&q->lock);
	for (i = 0; i < q->nr_threads; i++)
		pthread_join(q->threads[i], NULL);
}

/* --- the queue ------------------------------------------------------------------------ */

static unsigned int some_threads(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (cpus < 1)
		return 1;
	return cpus < 4 ? (unsigned int)cpus : 4;
}

static void init_sync(struct pmofkv_queue *q)
{
	pthread_condattr_t monotonic;

	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->work, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&q->ended, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

int pmofkv_queue_open(struct pmofkv *kv, unsigned int depth, unsigned int threads,
		      struct pmofkv_queue **queue)
{
	struct pmofkv_queue *q;
	int ret = 0;

	if (!depth || depth > MAX_DEPTH || threads > MAX_THREADS)
		return -EINVAL;
	q = calloc(1, sizeof(*q));
	if (!q)
		return -ENOMEM;
	q->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (q->fd < 0) {
		ret = -errno;
		free(q);
		return ret;
	}
	q->kv = kv;
	q->depth = depth;
	fifo_init(&q->waiting);
	fifo_init(&q->done);
	init_sync(q);
	for (threads = threads ? threads : some_threads(); threads && !ret; threads--)
		ret = add_thread(q);
	if (ret)
		pmofkv_queue_close(q);
	else
		*queue = q;
	return ret;
}

void pmofkv_queue_close(struct pmofkv_queue *queue)
{
	struct entry *e;

	if (!queue)
		return;
	stop_threads(queue);
	while ((e = pop(&queue->done)))
		free(e);
	close(queue->fd);
	pthread_cond_destroy(&queue->work);
	pthread_cond_destroy(&queue->ended);
	pthread_mutex_destroy(&queue->lock);
	free(queue);
}

int pmofkv_queue_fd(const struct pmofkv_queue *queue)
{
	return queue->fd;
}

/* --- submission ------------------------------------------------------------------------ */

/* With a copy of the key, which the task has been given. */
static struct entry *new_entry(const void *key, size_t key_length, uint64_t user_data)
{
	struct entry *e = malloc(sizeof(*e) + key_length);

	if (e) {
		e->user_data = user_data;
		memcpy(e->key, key, key_length);
	}
	return e;
}

/* Submits a task that is right, or says why it is not. */
static int submit(struct pmofkv_queue *q, struct entry *e, int ret)
{
	if (ret) {
		free(e);
		return ret;
	}
	pthread_mutex_lock(&q->lock);
	if (q->held == q->depth) {
		ret = -EAGAIN;
	} else {
		q->held++;
		q->under_way++;
		push(&q->waiting, e);
		pthread_cond_signal(&q->work);
	}
	pthread_mutex_unlock(&q->lock);
	if (ret)
		free(e);
	return ret;
}

int pmofkv_submit_put(struct pmofkv_queue *queue, const void *key, size_t key_length,
		      const void *value, size_t value_length, uint64_t expected,
		      uint64_t user_data)
{
	struct entry *e;

	if (kv_key_ok(key, key_length))
		return -EINVAL;
	e = new_entry(key, key_length, user_data);
	return !e ? -ENOMEM : submit(queue, e, kv_put_init(&e->task, queue->kv, e->key, key_length,
							   value, value_length, expected));
}

int pmofkv_submit_get(struct pmofkv_queue *queue, const void *key, size_t key_length, void *buf,
		      size_t size, uint64_t user_data)
{
	struct entry *e;

	if (kv_key_ok(key, key_length) || !buf)
		return -EINVAL;
	e = new_entry(key, key_length, user_data);
	return !e ? -ENOMEM : submit(queue, e, kv_get_init(&e->task, queue->kv, e->key, key_length,
							   buf, size));
}

int pmofkv_submit_delete(struct pmofkv_queue *queue, const void *key, size_t key_length,
			 uint64_t expected, uint64_t user_data)
{
	struct entry *e;

	if (kv_key_ok(key, key_length))
		return -EINVAL;
	e = new_entry(key, key_length, user_data);
	return !e ? -ENOMEM : submit(queue, e, kv_delete_init(&e->task, queue->kv, e->key,
							      key_length, expected));
}

/* --- completions -------------------------------------------------------------------------- */

static struct timespec deadline(int timeout_ms)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += timeout_ms / 1000;
	t.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

/* Until something has ended, nothing is under way, or the time is over.  Under the lock. */
static void wait_for_one(struct pmofkv_queue *q, int timeout_ms)
{
	struct timespec until = deadline(timeout_ms > 0 ? timeout_ms : 0);
	int ret = 0;

	while (!q->done.first && q->under_way && timeout_ms && !ret) {
		if (timeout_ms < 0)
			pthread_cond_wait(&q->ended, &q->lock);
		else
			ret = pthread_cond_timedwait(&q->ended, &q->lock, &until);
	}
}

int pmofkv_queue_wait(struct pmofkv_queue *queue, struct pmofkv_completion *completions,
		      unsigned int max, int timeout_ms)
{
	eventfd_t unused;
	struct entry *e;
	unsigned int n = 0;

	pthread_mutex_lock(&queue->lock);
	wait_for_one(queue, timeout_ms);
	while (n < max && (e = pop(&queue->done))) {
		completions[n++] = (struct pmofkv_completion){
			.user_data = e->user_data, .result = e->task.result,
			.version = e->task.version, .value_length = e->task.value_length,
		};
		queue->held--;
		free(e);
	}
	if (n && !queue->done.first)
		eventfd_read(queue->fd, &unused);
	pthread_mutex_unlock(&queue->lock);
	return (int)n;
}
