// SPDX-License-Identifier: GPL-2.0
/*
 * Group persist: requests that wait together share a fence. And the reverse: a
 * large one does not hold up the small ones behind it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdatomic.h>
#include <sys/ioctl.h>

#include "kselftest_harness.h"
#include "counts.h"
#include "patience.h"

#define AT	(64 * MiB)
#define THREADS	32
#define PUTS_EACH	40

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
	/* What the server puts together: so the client must not (trains.c). */
	ASSERT_EQ(0, vm_set_attr(self->instance, "trains", "1024"));
}

FIXTURE_TEARDOWN(group)
{
	EXPECT_TRUE(vm_attr_is(self->instance, "state", "live"));
	close(self->fd);
	EXPECT_EQ(0, vm_disconnect(self->instance));
}

struct putter {
	pthread_t thread;
	int fd, id, nr, rc;
};

static void *put_many(void *arg)
{
	struct putter *p = arg;
	uint64_t rec[8];
	int i, k;

	for (i = 0; i < PUTS_EACH; i++) {
		for (k = 0; k < 8; k++)
			rec[k] = (uint64_t)p->id << 32 | i;
		p->rc = vm_put(p->fd, AT + p->id * 4096 + i % 64 * 64, rec, 64, PMOF_F_PERSIST);
		if (p->rc)
			break;
		p->nr++;
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
	/* Where each put is slow for itself, few of them wait for a fence together. */
	EXPECT_LT(fences, slow_kernel() ? puts : puts / 2);
	EXPECT_LE(batches, fences);
	/* Each run is in one place of the histogram, and each put in one run. */
	EXPECT_EQ(batches, runs);
	EXPECT_LE(low, puts);
	EXPECT_LE(puts, high);
}

#define LARGE	4	/* threads, so that each worker has one */
#define SAMPLES	4096
#define ZEROES	(64 * MiB)

/* Calls one operation until told to stop, and keeps how long each took. */
struct caller {
	pthread_t thread;
	atomic_bool *stop;
	uint64_t zeroes;	/* bytes, by the block device; or 0: durable puts of 64 */
	double took[SAMPLES];
	atomic_int nr;
	int fd, rc;
};

static int zero_out(int fd, uint64_t bytes)
{
	uint64_t range[2] = { 2 * AT, bytes };

	return ioctl(fd, BLKZEROOUT, range) ? errno : 0;
}

static void *call_again(void *arg)
{
	struct caller *c = arg;
	char rec[64] = { 1 };
	double start;

	while (!atomic_load(c->stop) && atomic_load(&c->nr) < SAMPLES && !c->rc) {
		start = vm_now();
		c->rc = c->zeroes ? zero_out(c->fd, c->zeroes) :
			vm_put(c->fd, AT, rec, sizeof(rec), PMOF_F_PERSIST);
		c->took[atomic_fetch_add(&c->nr, 1)] = vm_now() - start;
	}
	return NULL;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(struct caller *c)
{
	qsort(c->took, c->nr, sizeof(c->took[0]), compare);
	return c->took[c->nr / 2];
}

/*
 * Between its slices others have their turn; each slice has a fence. What has been
 * put since is written back, and nothing else.
 */
TEST_F_TIMEOUT(group, large_persist_goes_in_slices, 90)
{
	const uint64_t dirty = 8 * MiB;
	char *buf = vm_pages(1 * MiB);
	struct pmof_info info;
	struct counts c;
	uint64_t at;

	ASSERT_EQ(0, vm_info(self->fd, &info));
	for (at = 0; at < dirty; at += MiB)
		ASSERT_EQ(0, vm_put(self->fd, at, buf, MiB, 0));
	c = take(self->instance);
	ASSERT_EQ(0, vm_persist(self->fd, 0, info.ns_size));
	EXPECT_LE(dirty / MiB, GROWN(c, FENCES));
	GREW(c, BYTES, dirty);
}

/* While as much as fits in many slices is zeroed, again and again, small puts are answered. */
TEST_F_TIMEOUT(group, large_zeroes_beside_small_puts, 90)
{
	static struct caller large[LARGE], small;
	atomic_bool stop = false;
	double until = vm_now() + 40;
	char path[32];
	int i, disk;

	snprintf(path, sizeof(path), "/dev/pmof%d", self->instance);
	disk = open(path, O_RDWR);
	ASSERT_LE(0, disk);
	for (i = 0; i < LARGE; i++) {
		large[i] = (struct caller){ .fd = disk, .stop = &stop,
					    .zeroes = ZEROES };
		ASSERT_EQ(0, pthread_create(&large[i].thread, NULL, call_again, &large[i]));
	}
	usleep(50000);
	small = (struct caller){ .fd = self->fd, .stop = &stop };
	ASSERT_EQ(0, pthread_create(&small.thread, NULL, call_again, &small));
	while ((atomic_load(&large[0].nr) < 10 || atomic_load(&small.nr) < 10) && vm_now() < until)
		usleep(10000);
	atomic_store(&stop, true);
	pthread_join(small.thread, NULL);
	EXPECT_EQ(0, small.rc);
	for (i = 0; i < LARGE; i++) {
		pthread_join(large[i].thread, NULL);
		EXPECT_EQ(0, large[i].rc);
	}
	close(disk);
	TH_LOG("%s: %llu MiB zeroed in %.1f ms (median of %d), small puts beside it in %.1f ms (of %d)",
	       variant->options, (unsigned long long)(ZEROES / MiB),
	       median(&large[0]) * 1000, large[0].nr, median(&small) * 1000, small.nr);
	EXPECT_LT(median(&small), median(&large[0]));
}

TEST_HARNESS_MAIN
