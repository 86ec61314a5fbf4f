// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/pmofN as any block device must be: limits and attributes, alignment, ends,
 * splitting, discards, partitions, read-only, statistics, polling; with each cache mode
 * and block size. What reaches the medium is looked at through /dev/pmofcN.
 */
#include "kselftest_harness.h"
#include "blockdev.h"

#define AT	(32 * MiB)

FIXTURE(block) {
	struct blockdev d;
	char *buf;		/* 20 MiB of random data */
	char *back;		/* as much */
};

FIXTURE_VARIANT(block) {
	const char *cache;
	uint32_t bs;
};

FIXTURE_VARIANT_ADD(block, writethrough_512) {
	.cache = "writethrough", .bs = 512,
};

FIXTURE_VARIANT_ADD(block, writeback_512) {
	.cache = "writeback", .bs = 512,
};

FIXTURE_VARIANT_ADD(block, writethrough_4096) {
	.cache = "writethrough", .bs = 4096,
};

FIXTURE_VARIANT_ADD(block, writeback_4096) {
	.cache = "writeback", .bs = 4096,
};

#define DATA	(20 * MiB)

FIXTURE_SETUP(block)
{
	struct blockdev *d = &self->d;
	uint64_t rnd = 42;
	char options[128];

	snprintf(options, sizeof(options), "persist=assist,queues=2,poll_queues=1,cache=%s,block_size=%u",
		 variant->cache, variant->bs);
	d->instance = vm_connect(options);
	ASSERT_LE(0, d->instance);
	d->writeback = !strcmp(variant->cache, "writeback");
	d->bs = variant->bs;
	d->fd = blockdev_open(d->instance, 0, O_RDWR | O_DIRECT);
	ASSERT_LE(0, d->fd);
	d->chr = vm_open(d->instance, O_RDONLY);
	ASSERT_LE(0, d->chr);
	ASSERT_EQ(0, ioctl(d->fd, BLKGETSIZE64, &d->size));
	self->buf = vm_pages(DATA);
	self->back = vm_pages(DATA);
	vm_fill(&rnd, self->buf, DATA);
	vm_pin(0);
}

FIXTURE_TEARDOWN(block)
{
	EXPECT_TRUE(vm_attr_is(self->d.instance, "state", "live"));
	close(self->d.fd);
	close(self->d.chr);
	EXPECT_EQ(0, vm_disconnect(self->d.instance));
}

/* --- what it says of itself ------------------------------------------------------------ */

#define ATTR_IS(value, attr)	EXPECT_STREQ(value, blockdev_attr(self->d.instance, attr))
#define ATTR(attr)		blockdev_number(self->d.instance, attr)

TEST_F(block, queue_attributes)
{
	struct pmof_info info;

	ASSERT_EQ(0, vm_info(self->d.chr, &info));
	ATTR_IS(self->d.writeback ? "write back" : "write through", "queue/write_cache");
	EXPECT_EQ(self->d.writeback, ATTR("queue/fua"));
	EXPECT_EQ(self->d.bs, ATTR("queue/logical_block_size"));
	EXPECT_EQ(4096, ATTR("queue/physical_block_size"));
	EXPECT_EQ(0, ATTR("queue/dax"));
	EXPECT_EQ(0, ATTR("queue/rotational"));
	EXPECT_EQ(0, ATTR("queue/add_random"));
	EXPECT_EQ(1, ATTR("queue/io_poll"));
	EXPECT_EQ((16 * MiB), ATTR("queue/discard_max_bytes"));
	EXPECT_EQ((16 * MiB), ATTR("queue/write_zeroes_max_bytes"));
	EXPECT_LE(self->d.bs, ATTR("queue/discard_granularity"));
	EXPECT_LE(64, ATTR("queue/max_sectors_kb"));
	EXPECT_LE(1, ATTR("queue/max_segments"));
	EXPECT_EQ(info.segment_size / 512, ATTR("queue/chunk_sectors"));
	ATTR_IS("none", "queue/zoned");
	EXPECT_EQ(0, ATTR("ro"));
	EXPECT_EQ(0, ATTR("removable"));
	EXPECT_EQ(info.ns_size / self->d.bs * self->d.bs / 512, ATTR("size"));
}

TEST_F(block, ioctls)
{
	unsigned int n = 0;
	int ss = 0, off = 1;
	unsigned short rotational = 1;

	EXPECT_EQ(self->d.size, ATTR("size") * 512);
	EXPECT_EQ(0, ioctl(self->d.fd, BLKSSZGET, &ss));
	EXPECT_EQ(self->d.bs, ss);
	EXPECT_EQ(0, ioctl(self->d.fd, BLKPBSZGET, &n));
	EXPECT_EQ(4096, n);
	EXPECT_EQ(0, ioctl(self->d.fd, BLKALIGNOFF, &off));
	EXPECT_EQ(0, off);
	EXPECT_EQ(0, ioctl(self->d.fd, BLKROTATIONAL, &rotational));
	EXPECT_EQ(0, rotational);
	EXPECT_EQ(0, ioctl(self->d.fd, BLKFLSBUF, 0));
}

/* --- where one may read and write ----------------------------------------------------------- */

TEST_F(block, direct_io_is_aligned)
{
	uint32_t bs = self->d.bs;

	ASSERT_EQ(bs, blk_write(self->d.fd, self->buf, bs, AT));
	EXPECT_EQ(-EINVAL, blk_write(self->d.fd, self->buf + 4096, bs, AT + 1));
	EXPECT_EQ(-EINVAL, blk_write(self->d.fd, self->buf + 4096, bs, AT + bs / 2));
	EXPECT_EQ(-EINVAL, blk_write(self->d.fd, self->buf + 4096, bs / 2, AT));
	EXPECT_EQ(-EINVAL, blk_write(self->d.fd, self->buf + 4096, bs + 1, AT));
	EXPECT_EQ(-EINVAL, blk_write(self->d.fd, self->buf + 4097, bs, AT));
	EXPECT_EQ(-EINVAL, blk_read(self->d.fd, self->back, bs, AT + 1));
	EXPECT_EQ(-EINVAL, blk_read(self->d.fd, self->back, bs - 1, AT));
	EXPECT_EQ(-EINVAL, blk_read(self->d.fd, self->back + 3, bs, AT));
	EXPECT_TRUE(blk_is(self->d.chr, AT, bs, self->buf));
	/* Memory at any word. */
	EXPECT_EQ(8192, blk_write(self->d.fd, self->buf + 4092, 8192, AT));
	EXPECT_TRUE(blk_is(self->d.chr, AT, 8192, self->buf + 4092));
	EXPECT_EQ(8192, blk_read(self->d.fd, self->back + 20, 8192, AT));
	EXPECT_EQ(0, memcmp(self->back + 20, self->buf + 4092, 8192));
}

TEST_F(block, the_end)
{
	uint64_t end = self->d.size;
	uint32_t bs = self->d.bs;

	EXPECT_EQ(bs, blk_write(self->d.fd, self->buf, bs, end - bs));
	EXPECT_TRUE(blk_is(self->d.chr, end - bs, bs, self->buf));
	EXPECT_EQ(bs, blk_read(self->d.fd, self->back, 4 * bs, end - bs));
	EXPECT_EQ(0, memcmp(self->back, self->buf, bs));
	EXPECT_EQ(0, blk_read(self->d.fd, self->back, bs, end));
	EXPECT_EQ(0, blk_read(self->d.fd, self->back, bs, end + 100 * MiB));
	EXPECT_EQ(2 * bs, blk_write(self->d.fd, self->buf, 4 * bs, end - 2 * bs));
	EXPECT_EQ(-ENOSPC, blk_write(self->d.fd, self->buf, bs, end));
	EXPECT_EQ(-EINVAL, blk_range(self->d.fd, BLKDISCARD, end - bs, 2 * bs));
	EXPECT_EQ(-EINVAL, blk_range(self->d.fd, BLKZEROOUT, end, bs));
	EXPECT_TRUE(blk_is(self->d.chr, end - 2 * bs, 2 * bs, self->buf));
}

/* Larger than a request may be, and across segments' ends, at an odd place. */
TEST_F(block, large_requests_are_split)
{
	uint64_t at = AT + 3 * self->d.bs, len = DATA - 8192;
	uint64_t before = vm_stat(self->d.instance, "stats/block_writes");

	ASSERT_EQ(0, blk_range(self->d.fd, BLKZEROOUT, at - 4096 * 3, len + 6 * 4096));
	ASSERT_EQ(len, blk_write(self->d.fd, self->buf, len, at));
	EXPECT_TRUE(blk_is(self->d.chr, at, len, self->buf));
	EXPECT_TRUE(blk_is_zero(self->d.chr, at - self->d.bs, self->d.bs));
	EXPECT_TRUE(blk_is_zero(self->d.chr, at + len, self->d.bs));
	EXPECT_LE(len / 1024 / ATTR("queue/max_sectors_kb"),
		  vm_stat(self->d.instance, "stats/block_writes") - before);
	ASSERT_EQ(len, blk_read(self->d.fd, self->back, len, at));
	EXPECT_EQ(0, memcmp(self->back, self->buf, len));
}

/* More pieces of memory than a request may have, none next to another. */
TEST_F(block, many_segments)
{
	uint32_t bs = self->d.bs;
	struct iovec iov[1024], riov[1024];
	int i;

	for (i = 0; i < 1024; i++) {
		iov[i] = (struct iovec){ self->buf + i * 8192, bs };
		riov[i] = (struct iovec){ self->back + i * 8192 + 1024, bs };
	}
	ASSERT_EQ(1024 * bs, pwritev(self->d.fd, iov, 1024, AT + bs));
	for (i = 0; i < 1024; i += 31)
		EXPECT_TRUE(blk_is(self->d.chr, AT + (1 + i) * (uint64_t)bs, bs, iov[i].iov_base));
	ASSERT_EQ(1024 * bs, preadv(self->d.fd, riov, 1024, AT + bs));
	for (i = 0; i < 1024; i++)
		EXPECT_EQ(0, memcmp(iov[i].iov_base, riov[i].iov_base, bs));
}

/* Through the page cache: any bytes. */
TEST_F(block, buffered)
{
	int fd = blockdev_open(self->d.instance, 0, O_RDWR);

	ASSERT_LE(0, fd);
	ASSERT_EQ(1000003, blk_write(fd, self->buf, 1000003, AT + 777));
	ASSERT_EQ(0, fsync(fd));
	EXPECT_TRUE(blk_is(self->d.chr, AT + 777, 1000003, self->buf));
	ASSERT_EQ(0, posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
	ASSERT_EQ(1000003, blk_read(fd, self->back, 1000003, AT + 777));
	EXPECT_EQ(0, memcmp(self->back, self->buf, 1000003));
	close(fd);
}

/* --- zeroes --------------------------------------------------------------------------------- */

static void zero_by(struct __test_metadata *_metadata, struct blockdev *d, const char *buf,
		    unsigned long cmd, int mode)
{
	uint64_t before, len = DATA - 16384;
	int rc;

	ASSERT_EQ(DATA, blk_write(d->fd, buf, DATA, AT));
	before = vm_stat(d->instance, "stats/block_zeroes");
	rc = cmd ? blk_range(d->fd, cmd, AT + 8192, len) :
		   fallocate(d->fd, mode, AT + 8192, len) ? -errno : 0;
	ASSERT_EQ(0, rc);
	EXPECT_TRUE(blk_is_zero(d->chr, AT + 8192, len));
	EXPECT_TRUE(blk_is(d->chr, AT, 8192, buf));
	EXPECT_TRUE(blk_is(d->chr, AT + 8192 + len, 8192, buf + 8192 + len));
	/* By messages, not by writing zeroes. */
	EXPECT_LE(2, vm_stat(d->instance, "stats/block_zeroes") - before);
	EXPECT_GE(64, vm_stat(d->instance, "stats/block_zeroes") - before);
}

TEST_F(block, discard)
{
	zero_by(_metadata, &self->d, self->buf, BLKDISCARD, 0);
	EXPECT_EQ(-EINVAL, blk_range(self->d.fd, BLKDISCARD, AT + 1, 4096));
	EXPECT_EQ(-EINVAL, blk_range(self->d.fd, BLKDISCARD, AT, self->d.bs / 2));
}

TEST_F(block, zero_out)
{
	zero_by(_metadata, &self->d, self->buf, BLKZEROOUT, 0);
	EXPECT_EQ(-EINVAL, blk_range(self->d.fd, BLKZEROOUT, AT + 1, 4096));
}

TEST_F(block, fallocate)
{
	zero_by(_metadata, &self->d, self->buf, 0, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE);
	zero_by(_metadata, &self->d, self->buf, 0, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE);
}

/* One block, between others. */
TEST_F(block, discard_a_block)
{
	uint32_t bs = self->d.bs;

	ASSERT_EQ(3 * bs, blk_write(self->d.fd, self->buf, 3 * bs, AT));
	ASSERT_EQ(0, blk_range(self->d.fd, BLKZEROOUT, AT + bs, bs));
	EXPECT_TRUE(blk_is(self->d.chr, AT, bs, self->buf));
	EXPECT_TRUE(blk_is_zero(self->d.chr, AT + bs, bs));
	EXPECT_TRUE(blk_is(self->d.chr, AT + 2 * bs, bs, self->buf + 2 * bs));
}

/* --- read-only -------------------------------------------------------------------------------- */

TEST_F(block, set_read_only)
{
	int on = 1, off = 0, is = 0;

	ASSERT_EQ(4096, blk_write(self->d.fd, self->buf, 4096, AT));
	ASSERT_EQ(0, ioctl(self->d.fd, BLKROSET, &on));
	EXPECT_EQ(0, ioctl(self->d.fd, BLKROGET, &is));
	EXPECT_EQ(1, is);
	EXPECT_EQ(1, ATTR("ro"));
	EXPECT_EQ(-EPERM, blk_write(self->d.fd, self->buf + 4096, 4096, AT));
	EXPECT_GT(0, blk_range(self->d.fd, BLKDISCARD, AT, 4096));
	EXPECT_GT(0, blk_range(self->d.fd, BLKZEROOUT, AT, 4096));
	EXPECT_TRUE(blk_is(self->d.chr, AT, 4096, self->buf));
	EXPECT_EQ(4096, blk_read(self->d.fd, self->back, 4096, AT));
	ASSERT_EQ(0, ioctl(self->d.fd, BLKROSET, &off));
	EXPECT_EQ(4096, blk_write(self->d.fd, self->buf + 4096, 4096, AT));
	EXPECT_TRUE(blk_is(self->d.chr, AT, 4096, self->buf + 4096));
}

/* What the server does not grant cannot be set. */
TEST_F(block, read_only_connection)
{
	int instance = vm_connect("read_only=1"), fd, off = 0;

	ASSERT_LE(0, instance);
	fd = blockdev_open(instance, 0, O_RDONLY | O_DIRECT);
	ASSERT_LE(0, fd);
	EXPECT_EQ(1, blockdev_number(instance, "ro"));
	EXPECT_GT(0, ioctl(fd, BLKROSET, &off));
	EXPECT_EQ(1, blockdev_number(instance, "ro"));
	EXPECT_EQ(4096, blk_read(fd, self->back, 4096, AT));
	EXPECT_GT(0, blk_range(fd, BLKDISCARD, AT, 4096));
	close(fd);
	fd = blockdev_open(instance, 0, O_RDWR | O_DIRECT);
	if (fd >= 0) {
		EXPECT_GT(0, blk_write(fd, self->buf, 4096, AT));
		close(fd);
	}
	EXPECT_EQ(0, vm_disconnect(instance));
}

/* --- partitions --------------------------------------------------------------------------------- */

/* A table of two partitions, of @first and @second MiB, from 1 MiB on; 0, 0: none. */
static void write_table(struct __test_metadata *_metadata, struct blockdev *d, uint32_t first,
			uint32_t second)
{
	uint32_t per_mib = MiB / d->bs, start = per_mib, len[2] = { first, second };
	uint8_t *mbr = vm_pages(4096);
	int i;

	for (i = 0; i < 2 && len[i]; i++) {
		uint8_t *entry = mbr + 446 + 16 * i;
		uint32_t blocks = len[i] * per_mib;

		entry[4] = 0x83;
		memcpy(entry + 8, &start, 4);
		memcpy(entry + 12, &blocks, 4);
		start += blocks;
	}
	mbr[510] = 0x55;
	mbr[511] = 0xaa;
	ASSERT_EQ(4096, blk_write(d->fd, mbr, 4096, 0));
	ASSERT_EQ(0, ioctl(d->fd, BLKRRPART, 0));
}

static uint64_t part_number(struct blockdev *d, int part, const char *attr)
{
	char path[64];

	snprintf(path, sizeof(path), "pmof%dp%d/%s", d->instance, part, attr);
	return blockdev_number(d->instance, path);
}

TEST_F(block, partitions)
{
	int p2;

	write_table(_metadata, &self->d, 16, 8);
	EXPECT_EQ(2048, part_number(&self->d, 1, "start"));
	EXPECT_EQ(16 * 2048, part_number(&self->d, 1, "size"));
	EXPECT_EQ(17 * 2048, part_number(&self->d, 2, "start"));
	p2 = blockdev_open(self->d.instance, 2, O_RDWR | O_DIRECT);
	ASSERT_LE(0, p2);
	EXPECT_EQ(MiB, blk_write(p2, self->buf, MiB, 4096));
	EXPECT_TRUE(blk_is(self->d.chr, 17 * MiB + 4096, MiB, self->buf));
	EXPECT_EQ(-ENOSPC, blk_write(p2, self->buf, 4096, 8 * MiB));
	EXPECT_EQ(4096, blk_write(p2, self->buf, 8192, 8 * MiB - 4096));
	EXPECT_EQ(0, blk_range(p2, BLKDISCARD, 4096, 4096));
	EXPECT_TRUE(blk_is_zero(self->d.chr, 17 * MiB + 4096, 4096));
	EXPECT_TRUE(blk_is(self->d.chr, 17 * MiB + 8192, MiB - 4096, self->buf + 4096));
	/* One in use cannot go. */
	EXPECT_EQ(-1, ioctl(self->d.fd, BLKRRPART, 0));
	EXPECT_EQ(EBUSY, errno);
	close(p2);
	write_table(_metadata, &self->d, 0, 0);
	EXPECT_EQ(0, part_number(&self->d, 1, "size"));
}

/* They are found when the disk comes. */
TEST_F(block, partitions_after_connect)
{
	char options[64];
	int other;

	write_table(_metadata, &self->d, 10, 20);
	snprintf(options, sizeof(options), "read_only=1,block_size=%u", self->d.bs);
	other = vm_connect(options);
	ASSERT_LE(0, other);
	EXPECT_EQ(20 * 2048, part_number(&(struct blockdev){ .instance = other }, 2, "size"));
	EXPECT_EQ(0, vm_disconnect(other));
	write_table(_metadata, &self->d, 0, 0);
}

/* --- counts --------------------------------------------------------------------------------------- */

TEST_F(block, io_statistics)
{
	struct iostat a = blockdev_stat(self->d.instance), b;

	ASSERT_EQ(16384, blk_write(self->d.fd, self->buf, 16384, AT));
	ASSERT_EQ(8192, blk_read(self->d.fd, self->back, 8192, AT));
	ASSERT_EQ(0, blk_range(self->d.fd, BLKDISCARD, AT, 4096));
	ASSERT_EQ(0, fsync(self->d.fd));
	b = blockdev_stat(self->d.instance);
	/* A FLUSH is a write of nothing. */
	EXPECT_EQ(1 + self->d.writeback, b.v[IO_WRITES] - a.v[IO_WRITES]);
	EXPECT_EQ(32, b.v[IO_WRITE_SECTORS] - a.v[IO_WRITE_SECTORS]);
	EXPECT_EQ(1, b.v[IO_READS] - a.v[IO_READS]);
	EXPECT_EQ(16, b.v[IO_READ_SECTORS] - a.v[IO_READ_SECTORS]);
	EXPECT_EQ(1, b.v[IO_DISCARDS] - a.v[IO_DISCARDS]);
	EXPECT_EQ(8, b.v[IO_DISCARD_SECTORS] - a.v[IO_DISCARD_SECTORS]);
	EXPECT_EQ(self->d.writeback, b.v[IO_FLUSHES] - a.v[IO_FLUSHES]);
}

static const char * const counter[] = {
	"stats/block_writes", "stats/block_reads", "stats/block_flushes", "stats/round_trips",
	"server_stats/persists", "stats/errors",
};

enum { WRITES, READS, FLUSHES, ROUND_TRIPS, PERSISTS, ERRORS, NR_COUNTERS };

#define GREW(which, by)	EXPECT_EQ(before[which] + (by), vm_stat(self->d.instance, counter[which])) \
	TH_LOG("%s", counter[which])

#define SNAPSHOT() do {							\
	int which;							\
									\
	for (which = 0; which < NR_COUNTERS; which++)			\
		before[which] = vm_stat(self->d.instance, counter[which]); \
} while (0)

/* A write is one round trip, durable or not; a FLUSH is one for all before it. */
TEST_F(block, round_trips)
{
	bool back = self->d.writeback;
	uint64_t before[NR_COUNTERS];
	int i;

	/* Nothing is left of those before. */
	ASSERT_EQ(4096, blk_write(self->d.fd, self->buf, 4096, AT));
	ASSERT_EQ(0, fsync(self->d.fd));
	SNAPSHOT();
	for (i = 0; i < 5; i++)
		ASSERT_EQ(4096, blk_write(self->d.fd, self->buf, 4096, AT + i * 65536));
	GREW(WRITES, 5);
	GREW(ROUND_TRIPS, 5);
	GREW(PERSISTS, back ? 0 : 5);
	SNAPSHOT();
	ASSERT_EQ(0, fsync(self->d.fd));
	GREW(FLUSHES, back);
	GREW(ROUND_TRIPS, back);
	GREW(PERSISTS, back);
	/* And no dearer when there is nothing to be made durable. */
	SNAPSHOT();
	ASSERT_EQ(0, fdatasync(self->d.fd));
	EXPECT_GE(1, vm_stat(self->d.instance, counter[ROUND_TRIPS]) - before[ROUND_TRIPS]);
	SNAPSHOT();
	ASSERT_EQ(4096, blk_read(self->d.fd, self->back, 4096, AT));
	GREW(READS, 1);
	GREW(ROUND_TRIPS, 1);
	GREW(ERRORS, 0);
}

/*
 * O_DSYNC: the write itself is durable. Where there is a cache, Linux sends a FLUSH
 * behind it, which has nothing left to do; block-client shows FUA by itself.
 */
TEST_F(block, fua)
{
	int fd = blockdev_open(self->d.instance, 0, O_RDWR | O_DIRECT | O_DSYNC);
	uint64_t before[NR_COUNTERS];

	ASSERT_LE(0, fd);
	SNAPSHOT();
	ASSERT_EQ(4096, blk_write(fd, self->buf, 4096, AT));
	GREW(WRITES, 1);
	GREW(FLUSHES, self->d.writeback);
	EXPECT_LE(1, vm_stat(self->d.instance, counter[PERSISTS]) - before[PERSISTS]);
	EXPECT_GE(1 + self->d.writeback,
		  vm_stat(self->d.instance, counter[ROUND_TRIPS]) - before[ROUND_TRIPS]);
	close(fd);
}

/* --- polling ------------------------------------------------------------------------------------- */

TEST_F(block, polled)
{
	struct iovec out = { self->buf, 16384 }, in = { self->back, 16384 };
	int i;

	for (i = 0; i < 20; i++) {
		out.iov_base = self->buf + i * 16384;
		ASSERT_EQ(16384, pwritev2(self->d.fd, &out, 1, AT + i * 16384, RWF_HIPRI));
		ASSERT_EQ(16384, preadv2(self->d.fd, &in, 1, AT + i * 16384, RWF_HIPRI));
		ASSERT_EQ(0, memcmp(out.iov_base, in.iov_base, 16384));
	}
	EXPECT_TRUE(blk_is(self->d.chr, AT, 20 * 16384, self->buf));
}

/* --- who may ---------------------------------------------------------------------------------------- */

/* Whoever holds the one for himself keeps the other from being written through. */
TEST_F(block, character_and_block_access)
{
	int chr, blk = blockdev_open(self->d.instance, 0, O_RDWR | O_EXCL);

	ASSERT_LE(0, blk);
	EXPECT_EQ(-EBUSY, vm_open(self->d.instance, O_RDWR));
	EXPECT_EQ(-EBUSY, blockdev_open(self->d.instance, 0, O_RDWR | O_EXCL));
	chr = vm_open(self->d.instance, O_RDONLY);
	EXPECT_LE(0, chr);
	close(chr);
	close(blk);
	chr = vm_open(self->d.instance, O_RDWR);
	ASSERT_LE(0, chr);
	EXPECT_EQ(-EBUSY, blockdev_open(self->d.instance, 0, O_RDWR | O_EXCL));
	close(chr);
	blk = blockdev_open(self->d.instance, 0, O_RDWR | O_EXCL);
	EXPECT_LE(0, blk);
	close(blk);
}

/* --- all at once, beside a model -------------------------------------------------------------------- */

#define AREA	(2 * MiB)

struct mixer {
	pthread_t thread;
	struct blockdev *d;
	uint64_t at;		/* its own [at, at + AREA) */
	uint64_t rnd;
	char *model, *buf;
	int wrong;		/* -errno, or 1 for wrong data */
};

static int mix_once(struct mixer *m)
{
	uint64_t bs = m->d->bs, blocks = AREA / bs;
	uint64_t from = vm_rnd(&m->rnd) % blocks, n = 1 + vm_rnd(&m->rnd) % 64, len, at;

	n = from + n > blocks ? blocks - from : n;
	len = n * bs;
	at = m->at + from * bs;
	switch (vm_rnd(&m->rnd) % 8) {
	case 0:
		memset(m->model + from * bs, 0, len);
		return blk_range(m->d->fd, vm_rnd(&m->rnd) % 2 ? BLKZEROOUT : BLKDISCARD, at, len);
	case 1:
		return fsync(m->d->fd) ? -errno : 0;
	case 2:
	case 3:
	case 4:
		if (blk_read(m->d->fd, m->buf, len, at) != (ssize_t)len)
			return -EIO;
		return memcmp(m->buf, m->model + from * bs, len) ? 1 : 0;
	default:
		vm_fill(&m->rnd, m->model + from * bs, len);
		memcpy(m->buf, m->model + from * bs, len);
		return blk_write(m->d->fd, m->buf, len, at) == (ssize_t)len ? 0 : -EIO;
	}
}

static void *mix(void *arg)
{
	struct mixer *m = arg;
	double end = vm_now() + 4;

	while (!m->wrong && vm_now() < end)
		m->wrong = mix_once(m);
	return NULL;
}

TEST_F(block, mixed_load_beside_a_model)
{
	struct mixer m[4];
	int i;

	/* In different CPUs' queues. */
	sched_setaffinity(0, sizeof(cpu_set_t), &(cpu_set_t){ .__bits = { ~0UL } });
	ASSERT_EQ(0, blk_range(self->d.fd, BLKZEROOUT, AT, 4 * AREA));
	for (i = 0; i < 4; i++) {
		m[i] = (struct mixer){ .d = &self->d, .at = AT + i * AREA, .rnd = i + 1,
				       .model = vm_pages(AREA), .buf = vm_pages(AREA) };
		ASSERT_EQ(0, pthread_create(&m[i].thread, NULL, mix, &m[i]));
	}
	for (i = 0; i < 4; i++) {
		pthread_join(m[i].thread, NULL);
		EXPECT_EQ(0, m[i].wrong);
		EXPECT_TRUE(blk_is(self->d.chr, m[i].at, AREA, m[i].model));
	}
}

TEST_HARNESS_MAIN
