// SPDX-License-Identifier: GPL-2.0
/*
 * Group persist: requests that wait together share a fence. And the reverse: a
 * large one does not hold up the small ones behind it.
 */
#include <stdatomic.h>

#include "kselftest_harness.h"
#include "counts.h"

#define AT	(64 * MiB)
#define THREADS	32
#define PUTS_EACH	100

FIXTURE(group) {
	int instance;
	int fd;
};

FIXTURE_VARIANT(group) {
	const char *options;
};

FIXTURE_VARIANT_ADD(group, assist) {
	.options = "persist=assist,queues=2",
};

FIXTURE_VARIANT_ADD(group, rpc) {
	.options = "persist=rpc,queues=2",
};

FIXTURE_SETUP(group)
{
	self->instance = vm_connect(variant->options);
	ASSERT_LE(0, self->instance);
	self->fd = vm_open(self->instance, O_RDWR);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(group)
{
	EXPECT_TRUE(vm_attr_is(self->instance, "state", "live"));
	close(self->fd);
	EXPECT_EQ(0, vm_disconnect(self->instance));
}

struct putter {
	pthread_t thread;
	atomic_bool *stop;	/* or NULL: PUTS_EACH */
	double longest;
	int fd, id, nr, rc;
};

static void *put_many(void *arg)
{
	struct putter *p = arg;
	uint64_t rec[8];
	int i, k;

	for (i = 0; p->stop ? !atomic_load(p->stop) : i < PUTS_EACH; i++) {
		double start = vm_now();

		for (k = 0; k < 8; k++)
			rec[k] = (uint64_t)p->id << 32 | i;
		p->rc = vm_put(p->fd, AT + p->id * 4096 + i % 64 * 64, rec, 64, PMOF_F_PERSIST);
		if (p->rc)
			break;
		p->nr++;
		if (vm_now() - start > p->longest)
			p->longest = vm_now() - start;
	}
	return NULL;
}

/* The figure of the issue: fences per acknowledged put well below 1. */
TEST_F_TIMEOUT(group, thirty_two_threads, 60)
{
	static const int histogram[] = { BATCH_1, BATCH_2, BATCH_4, BATCH_8, BATCH_16 };
	static const int least[] = { 1, 2, 4, 8, 16 }, most[] = { 1, 3, 7, 15, 1 << 20 };
	uint64_t runs = 0, low = 0, high = 0, n[5], fences, batches, puts = 0;
	struct putter p[THREADS] = { 0 };
	struct counts c = take(self->instance);
	double start = vm_now();
	int i;

	for (i = 0; i < THREADS; i++) {
		p[i].fd = self->fd;
		p[i].id = i;
		ASSERT_EQ(0, pthread_create(&p[i].thread, NULL, put_many, &p[i]));
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(p[i].thread, NULL);
		EXPECT_EQ(0, p[i].rc);
		puts += p[i].nr;
	}
	start = vm_now() - start;
	fences = GROWN(c, FENCES);
	batches = GROWN(c, BATCHES);
	EXPECT_EQ(THREADS * PUTS_EACH, puts);
	GREW(c, RPC_CALLS, puts);
	for (i = 0; i < 5; i++) {
		n[i] = GROWN(c, histogram[i]);
		runs += n[i];
		low += n[i] * least[i];
		high += n[i] * most[i];
	}
	TH_LOG("%s: %llu puts in %.1f s, %llu fences (%.2f a put), runs of 1: %llu, 2-3: %llu, 4-7: %llu, 8-15: %llu, 16 and more: %llu",
	       variant->options, (unsigned long long)puts, start, (unsigned long long)fences,
	       (double)fences / puts, (unsigned long long)n[0], (unsigned long long)n[1],
	       (unsigned long long)n[2], (unsigned long long)n[3], (unsigned long long)n[4]);
	EXPECT_LT(fences, puts / 2);
	EXPECT_LE(batches, fences);
	/* Each run is in one place of the histogram, and each put in one run. */
	EXPECT_EQ(batches, runs);
	EXPECT_LE(low, puts);
	EXPECT_LE(puts, high);
}

struct persister {
	pthread_t thread;
	int fd;
	uint64_t len;
	int rc;
	double took;
};

static void *persist_much(void *arg)
{
	struct persister *p = arg;
	double start = vm_now();

	p->rc = vm_persist(p->fd, 0, p->len);
	p->took = vm_now() - start;
	return NULL;
}

/* While the whole namespace is written back, a small put waits for a slice of it at most. */
TEST_F_TIMEOUT(group, large_persist_beside_small_puts, 60)
{
	atomic_bool stop = false;
	struct putter small = { .fd = self->fd, .stop = &stop };
	struct persister large = { .fd = self->fd };
	struct pmof_info info;

	ASSERT_EQ(0, vm_info(self->fd, &info));
	if (info.domain == PMOF_DOMAIN_CPU_CACHE)
		SKIP(return, "there is nothing to write back");
	large.len = info.ns_size;
	ASSERT_EQ(0, pthread_create(&small.thread, NULL, put_many, &small));
	usleep(100000);
	small.longest = 0;
	ASSERT_EQ(0, pthread_create(&large.thread, NULL, persist_much, &large));
	pthread_join(large.thread, NULL);
	atomic_store(&stop, true);
	pthread_join(small.thread, NULL);
	EXPECT_EQ(0, large.rc);
	EXPECT_EQ(0, small.rc);
	TH_LOG("%llu MiB persisted in %.3f s; meanwhile the longest of the small puts took %.3f s",
	       (unsigned long long)(large.len / MiB), large.took, small.longest);
	EXPECT_LT(small.longest, large.took / 3);
}

TEST_HARNESS_MAIN
