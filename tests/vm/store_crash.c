// SPDX-License-Identifier: GPL-2.0
/*
 * A store whose server dies in the midst of puts, and comes back: what was acknowledged is
 * there, what was not is there whole or not at all, and who asks by number is told which.
 */
#include "kvcall.h"
#include "kselftest_harness.h"

#define ANY	PMOF_KV_EXPECT_ANY
#define KEYS	40
#define WRITERS	3
#define VALUE	3000

static int store_instance(void)
{
	return atoi(vm_env("PMOF_STORE_INSTANCE", "pmof0") + strlen("pmof"));
}

/* One file, one key: a value that says which put it is of. */
struct writer {
	pthread_t thread;
	int fd;
	char key[16];
	bool by_write;
	uint64_t acked;			/* last number that was acknowledged */
	uint64_t version;		/* its version */
	uint64_t tried;			/* last one that was begun */
	int rc;				/* what has ended it */
};

static void fill_value(uint8_t *v, uint64_t number)
{
	size_t i;

	memcpy(v, &number, sizeof(number));
	for (i = sizeof(number); i < VALUE; i++)
		v[i] = i * 7 + number;
}

static int put_number(struct writer *w, uint64_t number, uint64_t *version)
{
	uint8_t value[VALUE];
	union kv_reply p, r;
	int rc;

	fill_value(value, number);
	if (!w->by_write)
		return kv_put_numbered(w->fd, w->key, value, VALUE, ANY, number, version);
	rc = kv_prepare(w->fd, w->key, VALUE, number, &p);
	if (!rc)
		rc = kv_write_commit(w->fd, &p.prepare, value, VALUE, ANY, &r);
	*version = r.reply.version;
	return rc;
}

static void *write_until_it_fails(void *arg)
{
	struct writer *w = arg;
	uint64_t version;

	while (w->tried < 100000) {
		w->rc = put_number(w, ++w->tried, &version);
		if (w->rc)
			break;
		w->version = version;
		__atomic_store_n(&w->acked, w->tried, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Returns the number that the value says, 0 if it is not whole, or not there. */
static uint64_t read_number(int fd, const char *key, uint64_t *version)
{
	uint8_t want[VALUE];
	union kv_reply r;
	uint64_t number;

	if (kv_get(fd, key, VALUE, 0, &r) || r.get.value_length != VALUE)
		return 0;
	memcpy(&number, r.get.value, sizeof(number));
	fill_value(want, number);
	*version = r.reply.version;
	return memcmp(want, r.get.value, VALUE) ? 0 : number;
}

static void wait_for_puts(const struct writer *w)
{
	int i, tries;

	for (i = 0; i < WRITERS; i++)
		for (tries = 0; tries < 3000; tries++) {
			if (__atomic_load_n(&w[i].acked, __ATOMIC_ACQUIRE) >= 20)
				break;
			usleep(10000);
		}
}

TEST(server_crash)
{
	int fd = vm_open(store_instance(), O_RDWR);
	struct writer w[WRITERS] = { 0 };
	uint64_t version, found, v;
	union kv_reply r;
	char key[16];
	int i, outcome;

	ASSERT_LE(0, fd);
	for (i = 0; i < KEYS; i++) {
		snprintf(key, sizeof(key), "still%d", i);
		ASSERT_EQ(0, kv_put(fd, key, key, ANY, NULL));
		if (i % 4 == 0)
			ASSERT_EQ(0, kv_delete_numbered(fd, key, ANY, i + 1, NULL));
	}
	for (i = 0; i < WRITERS; i++) {
		w[i].fd = vm_open(store_instance(), O_RDWR);
		w[i].by_write = i & 1;
		snprintf(w[i].key, sizeof(w[i].key), "busy%d", i);
		ASSERT_EQ(0, pthread_create(&w[i].thread, NULL, write_until_it_fails, &w[i]));
	}
	wait_for_puts(w);
	ASSERT_EQ(0, system(". /usr/lib/lab/lib.sh; lab_server_crash"));
	for (i = 0; i < WRITERS; i++)
		pthread_join(w[i].thread, NULL);
	/* Waits for the new connection. */
	for (i = 0; i < KEYS; i++) {
		snprintf(key, sizeof(key), "still%d", i);
		EXPECT_EQ(i % 4 ? 0 : PMOF_KV_SC_NO_KEY, kv_get(fd, key, 100, 0, &r))
			TH_LOG("%s", key);
		if (i % 4)
			EXPECT_EQ(0, memcmp(r.get.value, key, strlen(key)));
	}
	for (i = 0; i < WRITERS; i++) {
		TH_LOG("%s: %llu acknowledged, %llu tried, then %d", w[i].key,
		       (unsigned long long)w[i].acked, (unsigned long long)w[i].tried, w[i].rc);
		ASSERT_GT(0, w[i].rc);
		found = read_number(fd, w[i].key, &version);
		EXPECT_TRUE(found == w[i].acked || found == w[i].tried)
			TH_LOG("%s: %llu", w[i].key, (unsigned long long)found);
		if (found == w[i].acked)
			EXPECT_EQ(w[i].version, version);
		outcome = kv_outcome(w[i].fd, w[i].tried, &v);
		TH_LOG("outcome %d", outcome);
		if (found == w[i].tried) {
			/* Not known, if a checkpoint came between. */
			EXPECT_NE(PMOF_KV_OUTCOME_REFUSED, outcome);
			if (outcome == PMOF_KV_OUTCOME_COMMITTED)
				EXPECT_EQ(version, v);
		} else {
			EXPECT_NE(PMOF_KV_OUTCOME_COMMITTED, outcome);
		}
		/* And it goes on, with versions that were never there. */
		EXPECT_EQ(0, put_number(&w[i], w[i].tried + 1, &v));
		EXPECT_LT(version, v);
		EXPECT_EQ(w[i].tried + 1, read_number(fd, w[i].key, &version));
		EXPECT_EQ(v, version);
		close(w[i].fd);
	}
	EXPECT_EQ(KEYS - KEYS / 4 + WRITERS, kv_stat(fd, PMOF_KV_STAT_RECOVERED));
	EXPECT_EQ(0, kv_stat(fd, PMOF_KV_STAT_LEASES));
	close(fd);
}

TEST_HARNESS_MAIN
