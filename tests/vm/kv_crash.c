// SPDX-License-Identifier: GPL-2.0
/*
 * kv_crash FILE: puts and deletes that go on while connections are lost and the server
 * crashes, until FILE.stop appears; FILE.started says that they have begun.  Then every key
 * must hold what was acknowledged last, or what was begun since and has ended with EIO.
 *
 * Each thread has keys of its own, so that it knows.
 */
#include "kv.h"

#define THREADS	4
#define KEYS	8
#define MAYBE	64	/* puts of a key with an unknown outcome */
#define MOST	30000

struct key {
	uint64_t number;		/* of the last put acknowledged; 0: it is deleted */
	uint64_t maybe[MAYBE];		/* begun since, as @number */
	unsigned int nr_maybe;
};

struct thread {
	pthread_t id;
	struct pmofkv *kv;
	uint64_t writer;
	uint64_t count;
	struct key key[KEYS];
	unsigned int seed;
	bool failed;
	char value[MOST];
	char got[MOST];
};

static volatile bool stop;

static uint64_t name_of(const struct thread *t, unsigned int k)
{
	return t->writer * KEYS + k;
}

static void fail(struct thread *t, unsigned int k, const char *what, int rc)
{
	printf("thread %d, key %u: %s (%d)\n", (int)t->writer, k, what, rc);
	t->failed = true;
}

/* A change of a key has ended with @rc. */
static void ended(struct thread *t, unsigned int k, uint64_t number, int rc)
{
	struct key *key = &t->key[k];

	if (!rc || (rc == -ENOENT && !number)) {
		key->number = number;
		key->nr_maybe = 0;
	} else if (rc != -EIO || key->nr_maybe == MAYBE) {
		fail(t, k, "a change", rc);
	} else {
		key->maybe[key->nr_maybe++] = number;
	}
}

static void put(struct thread *t, unsigned int k)
{
	uint64_t name = name_of(t, k);
	struct proof p = { .key = name, .writer = t->writer, .number = ++t->count };

	p.length = sizeof(p) + rand_r(&t->seed) % (rand_r(&t->seed) % 3 ? 1000 : MOST - sizeof(p));
	proof_make(t->value, &p);
	ended(t, k, p.number, pmofkv_put(t->kv, &name, sizeof(name), t->value, p.length, NULL));
}

static void delete(struct thread *t, unsigned int k)
{
	uint64_t name = name_of(t, k);

	ended(t, k, 0, pmofkv_delete(t->kv, &name, sizeof(name)));
}

static bool may_be(struct key *key, uint64_t number)
{
	unsigned int i;

	for (i = 0; i < key->nr_maybe && key->maybe[i] != number; i++)
		;
	if (number != key->number && i == key->nr_maybe)
		return false;
	/* Now it is known. */
	key->number = number;
	key->nr_maybe = 0;
	return true;
}

/* False: there was no answer. */
static bool look(struct thread *t, unsigned int k)
{
	uint64_t name = name_of(t, k);
	struct proof p = { 0 };
	size_t n;
	int rc = pmofkv_get(t->kv, &name, sizeof(name), t->got, MOST, &n, NULL);

	if (rc == -EIO)
		return false;
	if (rc && rc != -ENOENT)
		fail(t, k, "a get", rc);
	else if (!rc && !proof_ok(t->got, n, name, &p))
		fail(t, k, "what is there is no value of it", 0);
	else if (!may_be(&t->key[k], p.number))
		fail(t, k, "what is there is not what was put last", 0);
	return true;
}

static void *thread_main(void *arg)
{
	struct thread *t = arg;

	while (!stop && !t->failed) {
		unsigned int k = rand_r(&t->seed) % KEYS;

		if (rand_r(&t->seed) % 3 == 0)
			look(t, k);
		else if (rand_r(&t->seed) % 6 == 0)
			delete(t, k);
		else
			put(t, k);
	}
	return NULL;
}

static void wait_for_stop(const char *file)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s.started", file);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	close(fd);
	snprintf(path, sizeof(path), "%s.stop", file);
	while (access(path, F_OK))
		usleep(50000);
	stop = true;
}

/* What an earlier run has left. */
static void delete_all(struct thread *t)
{
	unsigned int k;

	for (k = 0; k < KEYS; k++)
		delete(t, k);
}

/* False: there was no answer in time. */
static bool look_soon(struct thread *t, unsigned int k)
{
	unsigned int tries;

	for (tries = 0; tries < 100 && !look(t, k); tries++)
		usleep(100000);
	return tries < 100;
}

/* At last everything is asked for, and put and asked for again: no connection is lost any more. */
static bool all_there(struct thread *t)
{
	unsigned int k;

	for (k = 0; k < KEYS && !t->failed; k++) {
		if (!look_soon(t, k))
			fail(t, k, "a get, at last", -EIO);
		put(t, k);
		if (t->key[k].nr_maybe)
			fail(t, k, "a put, at last", -EIO);
		if (!look_soon(t, k))
			fail(t, k, "a get of that", -EIO);
	}
	return !t->failed;
}

int main(int argc, char **argv)
{
	static struct thread t[THREADS];
	struct pmofkv *kv;
	uint64_t changes = 0;
	bool ok = true;
	unsigned int i;
	int rc;

	if (argc != 2)
		return 2;
	setbuf(stdout, NULL);
	rc = kv_open(O_RDWR, PMOFKV_AUTO, &kv);
	if (rc) {
		printf("open: %d\n", rc);
		return 1;
	}
	for (i = 0; i < THREADS; i++) {
		t[i].kv = kv;
		t[i].writer = i + 1;
		t[i].seed = i + 1;
		delete_all(&t[i]);
		pthread_create(&t[i].id, NULL, thread_main, &t[i]);
	}
	wait_for_stop(argv[1]);
	for (i = 0; i < THREADS; i++) {
		pthread_join(t[i].id, NULL);
		ok &= all_there(&t[i]);
		changes += t[i].count;
	}
	printf("%d puts", (int)changes);
	for (i = 0; i < PMOFKV_NR_COUNTERS; i++)
		printf(", %s %d", pmofkv_counter_name(i), (int)pmofkv_counter(kv, i));
	printf("\n");
	pmofkv_close(kv);
	return ok ? 0 : 1;
}
