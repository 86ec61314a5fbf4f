// SPDX-License-Identifier: GPL-2.0
/* libpmofkv against a store: what each call promises, with each put protocol. */
#include "kselftest_harness.h"
#include "kv.h"

#include <poll.h>

FIXTURE(kv) {
	struct pmofkv *kv;
	char *buf;
	char *back;
};

FIXTURE_VARIANT(kv) {
	enum pmofkv_protocol protocol;
};

FIXTURE_VARIANT_ADD(kv, herd) {
	.protocol = PMOFKV_HERD,
};

FIXTURE_VARIANT_ADD(kv, sa) {
	.protocol = PMOFKV_SA,
};

#define MOST	(65 * MiB)

FIXTURE_SETUP(kv)
{
	ASSERT_EQ(0, kv_open(O_RDWR, variant->protocol, &self->kv));
	self->buf = vm_pages(MOST);
	self->back = vm_pages(MOST);
}

/* Nothing that a test leaves is in the way of the next one. */
static void delete_all(struct pmofkv *kv)
{
	struct pmofkv_scan *scan;
	struct pmofkv_entry e;

	if (pmofkv_scan_open(kv, &scan))
		return;
	while (pmofkv_scan_next(scan, &e) == 1)
		pmofkv_delete(kv, e.key, e.key_length);
	pmofkv_scan_close(scan);
}

FIXTURE_TEARDOWN(kv)
{
	EXPECT_EQ(0, pmofkv_counter(self->kv, PMOFKV_COUNT_SESSIONS));
	EXPECT_EQ(0, pmofkv_counter(self->kv, PMOFKV_COUNT_GETS_AGAIN));
	EXPECT_TRUE(vm_attr_is(vm_instance(), "state", "live"));
	delete_all(self->kv);
	EXPECT_EQ(0, kv_stat_of(self->kv, PMOF_KV_STAT_KEYS));
	EXPECT_EQ(0, kv_stat_of(self->kv, PMOF_KV_STAT_LEASES));
	pmofkv_close(self->kv);
	munmap(self->buf, MOST);
	munmap(self->back, MOST);
}

/* --- one key ---------------------------------------------------------------------- */

TEST_F(kv, put_get_overwrite_delete)
{
	uint64_t v1, v2, seen;
	size_t n = 77;

	EXPECT_EQ(-ENOENT, pmofkv_get(self->kv, "k", 1, self->back, 100, &n, NULL));
	EXPECT_EQ(-ENOENT, pmofkv_delete(self->kv, "k", 1));
	ASSERT_EQ(0, pmofkv_put(self->kv, "k", 1, "one", 3, &v1));
	ASSERT_EQ(0, pmofkv_get(self->kv, "k", 1, self->back, 100, &n, &seen));
	EXPECT_EQ(3, n);
	EXPECT_EQ(v1, seen);
	EXPECT_EQ(0, memcmp("one", self->back, 3));
	ASSERT_EQ(0, pmofkv_put(self->kv, "k", 1, "second", 6, &v2));
	EXPECT_NE(v1, v2);
	ASSERT_EQ(0, pmofkv_get(self->kv, "k", 1, self->back, 100, &n, &seen));
	EXPECT_EQ(6, n);
	EXPECT_EQ(v2, seen);
	EXPECT_EQ(0, memcmp("second", self->back, 6));
	EXPECT_EQ(1, kv_stat_of(self->kv, PMOF_KV_STAT_KEYS));
	ASSERT_EQ(0, pmofkv_delete(self->kv, "k", 1));
	EXPECT_EQ(-ENOENT, pmofkv_get(self->kv, "k", 1, self->back, 100, &n, NULL));
	EXPECT_EQ(-ENOENT, pmofkv_delete(self->kv, "k", 1));
	ASSERT_EQ(0, pmofkv_put(self->kv, "k", 1, "again", 5, NULL));
	ASSERT_EQ(0, pmofkv_get(self->kv, "k", 1, self->back, 5, &n, NULL));
	EXPECT_EQ(0, memcmp("again", self->back, 5));
}

/* Puts and gets a value of @length bytes, in both ways; the errno that there was, or 0. */
static int round_trip(struct pmofkv *kv, char *buf, char *back, size_t key_length, size_t length)
{
	struct proof p = { .key = key_length, .writer = length, .number = 1, .length = length };
	char key[PMOF_KV_KEY_MAX];
	uint64_t put, seen;
	void *value;
	size_t n;
	int rc;

	memset(key, 0, sizeof(key));
	key[key_length - 1] = 'k';
	if (length >= sizeof(p))
		proof_make(buf, &p);
	else
		memset(buf, 'x', length);
	rc = pmofkv_put(kv, key, key_length, buf, length, &put);
	if (rc)
		return rc;
	rc = pmofkv_get(kv, key, key_length, back, length, &n, &seen);
	if (rc || n != length || seen != put || memcmp(buf, back, n))
		return rc ? rc : -EBADMSG;
	rc = pmofkv_get_alloc(kv, key, key_length, &value, &n, &seen);
	if (rc)
		return rc;
	if (n != length || seen != put || memcmp(buf, value, n) || ((char *)value)[n])
		rc = -EBADMSG;
	free(value);
	return rc;
}

TEST_F_TIMEOUT(kv, values_of_every_size, 120)
{
	/* What a message holds, and its answer; where an object is READ into; slots and chunks. */
	const size_t around[] = {
		1, 8, 64, 256, 1024, 2048, 4072 - 40 - 5, 4096 - 16 - 40, 4096, 8192,
		(16 << 10) + 2048 - 24 - 5 - 8, 64 << 10, 4 * MiB - 24 - 5 - 8, 4 * MiB,
	};
	size_t i;
	int d, rc;

	for (i = 0; i < ARRAY_SIZE(around); i++) {
		for (d = -1; d <= 1; d++) {
			rc = round_trip(self->kv, self->buf, self->back, 5, around[i] + d);
			EXPECT_EQ(0, rc) TH_LOG("%zu bytes", around[i] + d);
		}
	}
}

TEST_F_TIMEOUT(kv, the_longest_value, 120)
{
	size_t most = pmofkv_max_value(5);
	char key[] = "large";
	size_t n;

	EXPECT_EQ(-EFBIG, pmofkv_put(self->kv, key, 5, self->buf, most + 1, NULL));
	EXPECT_EQ(0, round_trip(self->kv, self->buf, self->back, 5, most));
	EXPECT_EQ(-ENOENT, pmofkv_get(self->kv, key, 5, self->back, MOST, &n, NULL));
}

TEST_F(kv, keys_of_every_size)
{
	const size_t length[] = { 1, 2, 7, 8, 9, 63, 64, 65, 511, 1000, 1023, 1024 };
	size_t i, n;

	for (i = 0; i < ARRAY_SIZE(length); i++) {
		EXPECT_EQ(0, round_trip(self->kv, self->buf, self->back, length[i], 40))
			TH_LOG("%zu bytes", length[i]);
		EXPECT_EQ(0, round_trip(self->kv, self->buf, self->back, length[i], 5000))
			TH_LOG("%zu bytes", length[i]);
	}
	EXPECT_EQ(ARRAY_SIZE(length), kv_stat_of(self->kv, PMOF_KV_STAT_KEYS));
	EXPECT_EQ(-EINVAL, pmofkv_put(self->kv, "", 0, "x", 1, NULL));
	EXPECT_EQ(-EINVAL, pmofkv_put(self->kv, self->buf, 1025, "x", 1, NULL));
	EXPECT_EQ(-EINVAL, pmofkv_get(self->kv, self->buf, 1025, self->back, 1, &n, NULL));
	EXPECT_EQ(-EINVAL, pmofkv_delete(self->kv, NULL, 3));
	EXPECT_EQ(-EINVAL, pmofkv_put(self->kv, "k", 1, NULL, 1, NULL));
}

TEST_F(kv, a_buffer_that_is_too_small)
{
	uint64_t put, seen;
	size_t n;
	size_t length[] = { 100, 100000 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(length); i++) {
		ASSERT_EQ(0, pmofkv_put(self->kv, "k", 1, self->buf, length[i], &put));
		n = seen = 0;
		EXPECT_EQ(-EMSGSIZE, pmofkv_get(self->kv, "k", 1, self->back, length[i] - 1, &n,
						&seen));
		EXPECT_EQ(length[i], n);
		EXPECT_EQ(put, seen);
		EXPECT_EQ(-EMSGSIZE, pmofkv_get(self->kv, "k", 1, NULL, 0, &n, NULL));
		EXPECT_EQ(0, pmofkv_get(self->kv, "k", 1, self->back, length[i], &n, NULL));
	}
}

TEST_F(kv, compare)
{
	uint64_t v1 = 0, v2, other = 77;
	size_t n;

	EXPECT_EQ(-ESTALE, pmofkv_put_if(self->kv, "k", 1, "a", 1, 12345, &other));
	EXPECT_EQ(0, other);
	ASSERT_EQ(0, pmofkv_put_if(self->kv, "k", 1, "a", 1, PMOF_KV_EXPECT_NONE, &v1));
	EXPECT_EQ(-EEXIST, pmofkv_put_if(self->kv, "k", 1, "b", 1, PMOF_KV_EXPECT_NONE, &other));
	EXPECT_EQ(v1, other);
	EXPECT_EQ(-ESTALE, pmofkv_put_if(self->kv, "k", 1, "b", 1, v1 + 1, &other));
	EXPECT_EQ(v1, other);
	ASSERT_EQ(0, pmofkv_get(self->kv, "k", 1, self->back, 10, &n, NULL));
	EXPECT_EQ('a', self->back[0]);
	ASSERT_EQ(0, pmofkv_put_if(self->kv, "k", 1, "c", 1, v1, &v2));
	EXPECT_EQ(-ESTALE, pmofkv_put_if(self->kv, "k", 1, "d", 1, v1, NULL));
	EXPECT_EQ(-ESTALE, pmofkv_delete_if(self->kv, "k", 1, v1, &other));
	EXPECT_EQ(v2, other);
	EXPECT_EQ(-EINVAL, pmofkv_delete_if(self->kv, "k", 1, PMOF_KV_EXPECT_NONE, NULL));
	EXPECT_EQ(0, pmofkv_delete_if(self->kv, "k", 1, v2, NULL));
	EXPECT_EQ(-ENOENT, pmofkv_delete_if(self->kv, "k", 1, v2, NULL));
	ASSERT_EQ(0, pmofkv_put_if(self->kv, "k", 1, "e", 1, PMOF_KV_EXPECT_NONE, NULL));
}

/* A value that is not all there is not put, and nothing is left of it. */
TEST_F(kv, a_value_that_cannot_be_read)
{
	char *page = vm_pages(2 * 4096);
	size_t n;

	ASSERT_EQ(0, pmofkv_put(self->kv, "k", 1, "before", 6, NULL));
	ASSERT_EQ(0, mprotect(page + 4096, 4096, PROT_NONE));
	EXPECT_EQ(-EFAULT, pmofkv_put(self->kv, "k", 1, page, 8192, NULL));
	ASSERT_EQ(0, pmofkv_get(self->kv, "k", 1, self->back, 100, &n, NULL));
	EXPECT_EQ(6, n);
	EXPECT_EQ(0, kv_stat_of(self->kv, PMOF_KV_STAT_LEASES));
	munmap(page, 2 * 4096);
}

/* --- many keys --------------------------------------------------------------------- */

#define NR_KEYS	300

TEST_F(kv, scan)
{
	bool seen[NR_KEYS] = { false };
	struct pmofkv_scan *scan;
	struct pmofkv_entry e;
	uint64_t version[NR_KEYS];
	char key[16];
	int i, n = 0, rc;

	ASSERT_EQ(0, pmofkv_scan_open(self->kv, &scan));
	EXPECT_EQ(0, pmofkv_scan_next(scan, &e));
	EXPECT_EQ(0, pmofkv_scan_next(scan, &e));
	pmofkv_scan_close(scan);
	for (i = 0; i < NR_KEYS; i++) {
		snprintf(key, sizeof(key), "key %d", i);
		ASSERT_EQ(0, pmofkv_put(self->kv, key, strlen(key), self->buf, i, &version[i]));
	}
	ASSERT_EQ(0, pmofkv_scan_open(self->kv, &scan));
	while ((rc = pmofkv_scan_next(scan, &e)) == 1) {
		ASSERT_GT(sizeof(key), e.key_length);
		memcpy(key, e.key, e.key_length);
		key[e.key_length] = '\0';
		ASSERT_EQ(1, sscanf(key, "key %d", &i));
		ASSERT_FALSE(seen[i]);
		seen[i] = true;
		EXPECT_EQ(i, e.value_length);
		EXPECT_EQ(version[i], e.version);
		n++;
	}
	EXPECT_EQ(0, rc);
	EXPECT_EQ(NR_KEYS, n);
	pmofkv_scan_close(scan);
}

TEST_F(kv, batch)
{
	static struct pmofkv_item item[200];
	static char key[200][8];
	uint64_t fences, seen;
	size_t n;
	int i;

	for (i = 0; i < 200; i++) {
		item[i] = (struct pmofkv_item){
			.key = key[i], .key_length = snprintf(key[i], 8, "b%d", i),
			.value = self->buf + i, .value_length = i * 30,
			.expected = PMOF_KV_EXPECT_ANY,
		};
		self->buf[i] = i;
	}
	fences = kv_stat_of(self->kv, PMOF_KV_STAT_FENCES);
	ASSERT_EQ(0, pmofkv_put_batch(self->kv, item, 200));
	/* By itself each takes two by herd, four by sa; how many meet depends on how fast they come. */
	EXPECT_GT(200 * (variant->protocol == PMOFKV_SA ? 4 : 2),
		  kv_stat_of(self->kv, PMOF_KV_STAT_FENCES) - fences);
	for (i = 0; i < 200; i++) {
		ASSERT_EQ(0, pmofkv_get(self->kv, key[i], strlen(key[i]), self->back, 10000, &n,
					&seen));
		EXPECT_EQ(item[i].value_length, n);
		EXPECT_EQ(item[i].version, seen);
		EXPECT_EQ(0, memcmp(item[i].value, self->back, n));
	}
	EXPECT_EQ(0, pmofkv_put_batch(self->kv, NULL, 0));
}

/* As many to a message as it takes; sa has two for each. */
TEST_F(kv, a_batch_is_one_message)
{
	const bool herd = variant->protocol != PMOFKV_SA;
	static struct pmofkv_item item[24];
	static char key[24][17];
	uint64_t batches, puts, sends, fences;
	int i;

	for (i = 0; i < 24; i++) {
		snprintf(key[i], sizeof(key[i]), "a batch's key %02d", i);
		item[i] = (struct pmofkv_item){
			.key = key[i], .key_length = 16, .value = self->buf, .value_length = 64,
			.expected = PMOF_KV_EXPECT_ANY,
		};
	}
	batches = kv_stat_of(self->kv, PMOF_KV_STAT_BATCHES);
	puts = kv_stat_of(self->kv, PMOF_KV_STAT_PUTS);
	fences = kv_stat_of(self->kv, PMOF_KV_STAT_FENCES);
	sends = vm_stat(vm_instance(), "stats/wr_send");
	ASSERT_EQ(0, pmofkv_put_batch(self->kv, item, 24));
	EXPECT_EQ(herd ? 1 : 48, vm_stat(vm_instance(), "stats/wr_send") - sends);
	EXPECT_EQ(herd, kv_stat_of(self->kv, PMOF_KV_STAT_BATCHES) - batches);
	/* They are one round's: two, and perhaps a checkpoint's. */
	if (herd)
		EXPECT_GE(6, kv_stat_of(self->kv, PMOF_KV_STAT_FENCES) - fences);
	EXPECT_EQ(herd ? 24 : 0, kv_stat_of(self->kv, PMOF_KV_STAT_PUTS) - puts);
	for (i = 0; i < 24; i++)
		EXPECT_NE(0, item[i].version);
}

#define ITEM(_key, _value, _length, _expected) {					\
	.key = (_key), .key_length = strlen(_key), .value = (_value),			\
	.value_length = (_length), .expected = (_expected) }

TEST_F(kv, a_batch_with_what_is_wrong)
{
	char *gone = vm_pages(3 * 4096);
	struct pmofkv_item item[] = {
		ITEM("a", "x", 1, PMOF_KV_EXPECT_ANY),
		ITEM("", "x", 1, PMOF_KV_EXPECT_ANY),
		ITEM("b", "x", 1, PMOF_KV_EXPECT_NONE),
		ITEM("c", "x", 1, 4711),
		ITEM("d", gone, 3 * 4096, PMOF_KV_EXPECT_ANY),
		ITEM("e", (void *)0xffff888000000000UL, 3 * 4096, PMOF_KV_EXPECT_ANY),
		ITEM("f", self->buf, 3 * 4096, PMOF_KV_EXPECT_ANY),
	};
	size_t n;

	ASSERT_EQ(0, mprotect(gone, 3 * 4096, PROT_NONE));
	ASSERT_EQ(0, pmofkv_put(self->kv, "b", 1, "y", 1, NULL));
	EXPECT_EQ(-EINVAL, pmofkv_put_batch(self->kv, item, ARRAY_SIZE(item)));
	EXPECT_EQ(0, item[0].result);
	EXPECT_EQ(-EINVAL, item[1].result);
	EXPECT_EQ(-EEXIST, item[2].result);
	EXPECT_EQ(-ESTALE, item[3].result);
	EXPECT_EQ(-EFAULT, item[4].result);
	EXPECT_EQ(-EFAULT, item[5].result);
	EXPECT_EQ(0, item[6].result);
	EXPECT_EQ(-ENOENT, pmofkv_get(self->kv, "d", 1, self->back, 100, &n, NULL));
	EXPECT_EQ(0, kv_stat_of(self->kv, PMOF_KV_STAT_LEASES));
}

/* --- without waiting ------------------------------------------------------------------- */

static char value_of(int i)
{
	return 'a' + i % 26;
}

TEST_F(kv, queue)
{
	struct pmofkv_completion c[16];
	struct pmofkv_queue *q;
	struct pollfd p = { .events = POLLIN };
	static char value[100][5000], key[100][8], got[100][5000];
	int i, n, taken;

	EXPECT_EQ(-EINVAL, pmofkv_queue_open(self->kv, 0, 0, &q));
	EXPECT_EQ(-EINVAL, pmofkv_queue_open(self->kv, 5000, 0, &q));
	ASSERT_EQ(0, pmofkv_queue_open(self->kv, 100, 3, &q));
	p.fd = pmofkv_queue_fd(q);
	EXPECT_EQ(0, pmofkv_queue_wait(q, c, 16, -1));
	EXPECT_EQ(0, poll(&p, 1, 0));
	for (i = 0; i < 100; i++) {
		snprintf(key[i], 8, "q%d", i);
		memset(value[i], value_of(i), 5000);
		ASSERT_EQ(0, pmofkv_submit_put(q, key[i], strlen(key[i]), value[i], i * 50,
					       PMOF_KV_EXPECT_ANY, i));
	}
	EXPECT_EQ(-EAGAIN, pmofkv_submit_delete(q, "q", 1, PMOF_KV_EXPECT_ANY, 0));
	EXPECT_EQ(1, poll(&p, 1, 20000));
	for (taken = 0; taken < 100; taken += n) {
		n = pmofkv_queue_wait(q, c, 16, 20000);
		ASSERT_LT(0, n);
		for (i = 0; i < n; i++)
			EXPECT_EQ(0, c[i].result) TH_LOG("put %d", (int)c[i].user_data);
	}
	EXPECT_EQ(0, poll(&p, 1, 0));
	for (i = 0; i < 100; i++)
		ASSERT_EQ(0, pmofkv_submit_get(q, key[i], strlen(key[i]), got[i], 5000, i));
	for (taken = 0; taken < 100; taken += n) {
		n = pmofkv_queue_wait(q, c, 16, 20000);
		ASSERT_LT(0, n);
		for (i = 0; i < n; i++) {
			EXPECT_EQ(0, c[i].result);
			EXPECT_EQ(c[i].user_data * 50, c[i].value_length);
			EXPECT_EQ(0, memcmp(value[c[i].user_data], got[c[i].user_data],
					    c[i].value_length));
		}
	}
	/* What is not taken goes with the queue, when it has ended. */
	ASSERT_EQ(0, pmofkv_submit_delete(q, "q1", 2, PMOF_KV_EXPECT_ANY, 0));
	pmofkv_queue_close(q);
	EXPECT_EQ(99, kv_stat_of(self->kv, PMOF_KV_STAT_KEYS));
}

/* --- at once -------------------------------------------------------------------------- */

#define THREADS	6
#define KEYS	3

struct thread {
	pthread_t id;
	struct pmofkv *kv;
	unsigned int number;
	unsigned int rounds;
	size_t most;		/* bytes of a value */
	int failed;		/* the first errno that there should not have been, or 1: a value */
};

/* Puts, compare-and-puts, deletes and gets of few keys; what is got proves itself. */
static void *mixed_thread(void *arg)
{
	struct thread *t = arg;
	char *value = malloc(t->most), *got = malloc(t->most);
	unsigned int i, seed = t->number + 1;
	struct proof p = { .writer = t->number };
	uint64_t version = 0;
	char key[2] = "k";
	size_t n;
	int rc;

	for (i = 0; i < t->rounds && !t->failed; i++) {
		unsigned int what = rand_r(&seed) % 8;

		p.key = rand_r(&seed) % KEYS;
		p.number = i;
		p.length = sizeof(p) + rand_r(&seed) % (t->most - sizeof(p));
		key[1] = p.key;
		if (what < 3) {
			proof_make(value, &p);
			rc = pmofkv_put(t->kv, key, 2, value, p.length, NULL);
		} else if (what == 3) {
			rc = pmofkv_delete(t->kv, key, 2);
			rc = rc == -ENOENT ? 0 : rc;
		} else {
			struct proof found;

			rc = pmofkv_get(t->kv, key, 2, got, t->most, &n, &version);
			if (!rc && !proof_ok(got, n, p.key, &found))
				rc = 1;
			rc = rc == -ENOENT ? 0 : rc;
			if (!rc && what == 7) {
				proof_make(value, &p);
				rc = pmofkv_put_if(t->kv, key, 2, value, p.length, version, NULL);
				rc = rc == -ESTALE || rc == -EEXIST ? 0 : rc;
			}
		}
		t->failed = rc;
	}
	free(value);
	free(got);
	return NULL;
}

static int run_threads(struct pmofkv *kv, void *(*fn)(void *), unsigned int rounds, size_t most)
{
	struct thread t[THREADS] = { };
	int i, failed = 0;

	for (i = 0; i < THREADS; i++) {
		t[i] = (struct thread){ .kv = kv, .number = i, .rounds = rounds, .most = most };
		if (pthread_create(&t[i].id, NULL, fn, &t[i]))
			return -EAGAIN;
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(t[i].id, NULL);
		if (!failed)
			failed = t[i].failed;
	}
	return failed;
}

TEST_F_TIMEOUT(kv, threads_on_few_keys, 90)
{
	EXPECT_EQ(0, run_threads(self->kv, mixed_thread, 100, 3000));
}

/* What is READ is whole, while its slot is wanted by others. */
TEST_F_TIMEOUT(kv, threads_with_large_values, 90)
{
	EXPECT_EQ(0, run_threads(self->kv, mixed_thread, 60, 100000));
	EXPECT_LT(0, pmofkv_counter(self->kv, PMOFKV_COUNT_GETS_READ));
}

/* Adds one to a number, by compare-and-put, so often. */
static void *adding_thread(void *arg)
{
	struct thread *t = arg;
	uint64_t version, sum;
	unsigned int i = 0;
	size_t n;

	while (i < t->rounds && !t->failed) {
		t->failed = pmofkv_get(t->kv, "sum", 3, &sum, sizeof(sum), &n, &version);
		if (t->failed)
			break;
		sum++;
		t->failed = pmofkv_put_if(t->kv, "sum", 3, &sum, sizeof(sum), version, NULL);
		if (!t->failed)
			i++;
		else if (t->failed == -ESTALE)
			t->failed = 0;
	}
	return NULL;
}

TEST_F_TIMEOUT(kv, threads_that_add, 90)
{
	uint64_t sum = 0;
	size_t n;

	ASSERT_EQ(0, pmofkv_put(self->kv, "sum", 3, &sum, sizeof(sum), NULL));
	EXPECT_EQ(0, run_threads(self->kv, adding_thread, 20, 0));
	ASSERT_EQ(0, pmofkv_get(self->kv, "sum", 3, &sum, sizeof(sum), &n, NULL));
	EXPECT_EQ(THREADS * 20, sum);
}

/* --- the handle ------------------------------------------------------------------------- */

TEST(opening)
{
	struct pmofkv_options opt;
	struct pmofkv *kv;
	size_t n;
	char c;

	EXPECT_EQ(-EINVAL, kv_open(O_WRONLY, PMOFKV_AUTO, &kv));
	EXPECT_EQ(-EINVAL, kv_open(O_RDWR | O_DSYNC, PMOFKV_AUTO, &kv));
	EXPECT_EQ(-EINVAL, kv_open(O_RDWR, PMOFKV_NR_PROTOCOLS, &kv));
	EXPECT_EQ(-ENODEV, pmofkv_open("/dev/null", O_RDWR, NULL, &kv));
	EXPECT_EQ(-ENOENT, pmofkv_open("pmof99", O_RDWR, NULL, &kv));
	pmofkv_options_init(&opt);
	opt.size--;
	EXPECT_EQ(-EINVAL, pmofkv_open("pmof0", O_RDWR, &opt, &kv));
	opt.size += 2;
	EXPECT_EQ(-E2BIG, pmofkv_open("pmof0", O_RDWR, &opt, &kv));
	ASSERT_EQ(0, kv_open(O_RDONLY, PMOFKV_AUTO, &kv));
	EXPECT_EQ(-EBADF, pmofkv_put(kv, "k", 1, "x", 1, NULL));
	EXPECT_EQ(-EBADF, pmofkv_put(kv, "k", 1, "x", 1, NULL));
	EXPECT_EQ(-EBADF, pmofkv_delete(kv, "k", 1));
	EXPECT_EQ(-ENOENT, pmofkv_get(kv, "k", 1, &c, 1, &n, NULL));
	EXPECT_EQ(vm_instance(), pmofkv_instance(kv));
	pmofkv_close(kv);
	pmofkv_close(NULL);
}

TEST(protocols)
{
	struct pmofkv *kv;

	ASSERT_EQ(0, kv_open(O_RDWR, PMOFKV_AUTO, &kv));
	EXPECT_EQ(PMOFKV_HERD, pmofkv_put_protocol(kv, 8, 64));
	EXPECT_EQ(PMOFKV_HERD, pmofkv_put_protocol(kv, 8, 4072 - 8 - 32));
	EXPECT_EQ(PMOFKV_SA, pmofkv_put_protocol(kv, 8, 4072 - 8 - 31));
	ASSERT_EQ(0, pmofkv_put(kv, "k", 1, "x", 1, NULL));
	EXPECT_EQ(1, pmofkv_counter(kv, PMOFKV_COUNT_PUTS_HERD));
	EXPECT_EQ(0, pmofkv_counter(kv, PMOFKV_COUNT_PUTS_SA));
	ASSERT_EQ(0, pmofkv_delete(kv, "k", 1));
	pmofkv_close(kv);
	ASSERT_EQ(0, kv_open(O_RDWR, PMOFKV_SA, &kv));
	ASSERT_EQ(0, pmofkv_put(kv, "k", 1, "x", 1, NULL));
	EXPECT_EQ(1, pmofkv_counter(kv, PMOFKV_COUNT_PUTS_SA));
	ASSERT_EQ(0, pmofkv_delete(kv, "k", 1));
	pmofkv_close(kv);
	EXPECT_EQ(PMOFKV_SA, pmofkv_protocol_parse("sa"));
	EXPECT_EQ(-EINVAL, pmofkv_protocol_parse("other"));
	EXPECT_STREQ("auto", pmofkv_protocol_name(PMOFKV_AUTO));
	EXPECT_EQ(NULL, pmofkv_protocol_name(PMOFKV_NR_PROTOCOLS));
	EXPECT_STREQ("keys", pmofkv_stat_name(PMOF_KV_STAT_KEYS));
	EXPECT_STREQ("batches", pmofkv_stat_name(PMOF_KV_STAT_MAX - 1));
	EXPECT_EQ(NULL, pmofkv_stat_name(PMOF_KV_STAT_MAX));
}

TEST_HARNESS_MAIN
