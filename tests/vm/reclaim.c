// SPDX-License-Identifier: GPL-2.0
/*
 * When a store uses again what was superseded (docs/kv.md, [K6]): not while somebody may READ it,
 * and who holds much of it up is ended.
 */
#include "store.h"

static char old[3000], back[3000];

/* [K6] What somebody may READ stays as it is, however often the key is put. */
TEST_F(store, addresses_hold)
{
	union kv_reply g, r;
	uint64_t epoch;
	int i;

	fill(old, sizeof(old), 1);
	ASSERT_EQ(0, kv_put_numbered(self->fd, "g1", old, sizeof(old), ANY, 0, NULL));
	ASSERT_EQ(0, kv_get(self->other, "g1", 0, 0, &g));
	epoch = g.get.epoch;
	for (i = 0; i < 300; i++) {
		fill(back, sizeof(back), i + 2);
		ASSERT_EQ(0, kv_put_numbered(self->fd, "g1", back, sizeof(back), ANY, 0, NULL));
	}
	EXPECT_LE(300, kv_stat(self->fd, PMOF_KV_STAT_RETIRED));
	ASSERT_EQ(0, vm_get(self->fd, g.get.offset + sizeof(struct pmof_kv_object_header) + 2, back,
			    sizeof(back)));
	EXPECT_EQ(0, memcmp(old, back, sizeof(old)));
	/* A report about others does not free it; about itself it does. */
	EXPECT_EQ(0, kv_get(self->other, "g1", 4000, epoch, &r));
	EXPECT_LE(300, kv_stat(self->fd, PMOF_KV_STAT_RETIRED));
	EXPECT_EQ(0, kv_get(self->other, "g1", 4000, epoch + 1, &r));
	for (i = 0; i < 10; i++)
		kv_stat(self->fd, PMOF_KV_STAT_RETIRED);
	EXPECT_EQ(0, kv_stat(self->fd, PMOF_KV_STAT_RETIRED));
	EXPECT_EQ(0, kv_delete(self->fd, "g1", ANY));
}

/* Puts objects of 16 chunks each, by leases. */
static int put_spans(int fd, const char *key, unsigned int n)
{
	union kv_reply p, r;
	int rc = 0;

	while (n-- && !rc) {
		rc = kv_prepare(fd, key, 60 << 20, 0, &p);
		if (!rc)
			rc = kv_commit(fd, PMOF_KV_COMMIT, p.prepare.lease, ANY, &r);
	}
	return rc;
}

/* A file of a connection that may READ what @key has now; or -1. */
static int open_with_address(int instance, const char *key)
{
	int fd = vm_open(instance, O_RDWR);
	union kv_reply r;

	if (fd < 0 || (!kv_get(fd, key, 0, 0, &r) && r.get.epoch))
		return fd;
	close(fd);
	return -1;
}

/*
 * [K6] One that sleeps on an address while much is superseded is ended, long before nothing is
 * left but what is superseded: else all chunks become of the size that somebody overwrites.
 * Takes two spans, which the next test takes, too.
 */
TEST_F_TIMEOUT(store, sleepers_hold_little_up, 90)
{
	uint64_t evicted = kv_stat(self->fd, PMOF_KV_STAT_EVICTED), had;
	int instance = vm_connect("queues=1,reconnect_delay=1"), fd, i;
	union kv_reply r;

	ASSERT_LE(0, instance);
	ASSERT_EQ(0, kv_put(self->fd, "m1", "small", ANY, NULL));
	fd = open_with_address(instance, "m1");
	ASSERT_LE(0, fd);
	/* A little may be held up for any time. */
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, kv_put(self->fd, "m1", "small", ANY, NULL));
	ASSERT_EQ(0, put_spans(self->fd, "m2", 1));
	sleep(12);
	ASSERT_EQ(0, kv_put(self->fd, "m1", "small", ANY, NULL));
	EXPECT_EQ(4, kv_stat(self->fd, PMOF_KV_STAT_RETIRED));
	EXPECT_EQ(evicted, kv_stat(self->fd, PMOF_KV_STAT_EVICTED));
	/* A sixteenth of the store is less than one of these. */
	ASSERT_GT(16 * 16, kv_stat(self->fd, PMOF_KV_STAT_CHUNKS));
	ASSERT_EQ(0, put_spans(self->fd, "m2", 1));
	for (i = 0; i < 150 && kv_stat(self->fd, PMOF_KV_STAT_EVICTED) == evicted; i++)
		usleep(100000);
	EXPECT_EQ(evicted + 1, kv_stat(self->fd, PMOF_KV_STAT_EVICTED));
	for (i = 0; i < 50 && kv_stat(self->fd, PMOF_KV_STAT_RETIRED); i++)
		usleep(100000);
	EXPECT_EQ(0, kv_stat(self->fd, PMOF_KV_STAT_RETIRED));
	/* From now on what was superseded is used again. */
	had = kv_stat(self->fd, PMOF_KV_STAT_FREE_CHUNKS);
	ASSERT_EQ(0, put_spans(self->fd, "m2", 2));
	EXPECT_EQ(had, kv_stat(self->fd, PMOF_KV_STAT_FREE_CHUNKS));
	/* Its client is back. */
	EXPECT_EQ(0, kv_get(fd, "m1", 100, 0, &r));
	close(fd);
	EXPECT_EQ(0, vm_disconnect(instance));
	EXPECT_EQ(0, kv_delete(self->fd, "m1", ANY));
	EXPECT_EQ(0, kv_delete(self->fd, "m2", ANY));
}

/*
 * [K6] A session that may READ what was superseded, and does not say more, is ended while
 * somebody else wants the space: only then. Takes all of the store's chunks.
 */
TEST_F_TIMEOUT(store, ends_who_holds_it_up, 90)
{
	uint64_t evicted = kv_stat(self->fd, PMOF_KV_STAT_EVICTED);
	int instance = vm_connect("queues=1,reconnect_delay=1"), fd, i;
	uint64_t chunks = kv_stat(self->fd, PMOF_KV_STAT_CHUNKS);
	union kv_reply p, r;
	int lost = 0;

	ASSERT_LE(0, instance);
	ASSERT_EQ(0, kv_put(self->fd, "l1", "small", ANY, NULL));
	fd = open_with_address(instance, "l1");
	ASSERT_LE(0, fd);
	/* 16 chunks each: only some fit. */
	ASSERT_EQ(0, put_spans(self->fd, "l2", chunks / 16 + 2));
	EXPECT_EQ(evicted + 1, kv_stat(self->fd, PMOF_KV_STAT_EVICTED));
	/* Its client is back. */
	EXPECT_EQ(0, kv_get(fd, "l1", 100, 0, &r));
	close(fd);
	EXPECT_EQ(0, vm_disconnect(instance));
	/* The file that holds it up itself is told so, and its session not ended. */
	ASSERT_EQ(0, kv_get(self->fd, "l1", 0, 0, &r));
	for (i = 0; i < (int)chunks / 16 + 2; i++) {
		int rc = kv_prepare(self->fd, "l2", 60 << 20, 0, &p);

		if (rc) {
			EXPECT_EQ(PMOF_KV_SC_NO_SPACE, rc);
			break;
		}
		ASSERT_EQ(0, kv_commit(self->fd, PMOF_KV_COMMIT, p.prepare.lease, ANY, &r));
	}
	EXPECT_GT((int)chunks / 16 + 2, i);
	EXPECT_EQ(evicted + 1, kv_stat(self->fd, PMOF_KV_STAT_EVICTED));
	ASSERT_EQ(0, kv_get(self->fd, "l1", 100, r.get.epoch + 1000000, &r));
	/* Another file of the session may belong to somebody else: then that is ended, too. */
	ASSERT_EQ(0, kv_get(self->other, "l1", 0, 0, &r));
	for (i = 0; i < (int)chunks / 16 + 2; i++) {
		int rc = kv_prepare(self->fd, "l2", 60 << 20, 0, &p);

		lost += rc < 0;
		if (rc < 0)
			continue;
		ASSERT_EQ(0, rc) TH_LOG("%d", i);
		/* On a slow machine it has slept for long by now. */
		rc = kv_commit(self->fd, PMOF_KV_COMMIT, p.prepare.lease, ANY, &r);
		lost += rc < 0;
		ASSERT_GE(0, rc) TH_LOG("%d", i);
	}
	EXPECT_EQ(1, lost);
	EXPECT_EQ(evicted + 2, kv_stat(self->fd, PMOF_KV_STAT_EVICTED));
	EXPECT_EQ(0, kv_delete(self->fd, "l1", ANY));
	EXPECT_EQ(0, kv_delete(self->fd, "l2", ANY));
}

TEST_HARNESS_MAIN
