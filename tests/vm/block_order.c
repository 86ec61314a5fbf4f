// SPDX-License-Identifier: GPL-2.0
/*
 * Order between the block device's queues, and between it and the character
 * device, as counts of work requests: what the medium shows depends on an HCA that
 * puts WRITEs aside, and is for the suites over such a one.
 */
#include <linux/fs.h>

#include "kselftest_harness.h"
#include "vm.h"

#define AT	(24 * MiB)

FIXTURE(order) {
	int instance;
	int fd;		/* O_DIRECT */
	int cpu[2];	/* one of each hardware queue */
	char *buf;
};

/* The first CPU that sends by hardware queue @i, or -1. */
static int cpu_of(int instance, int i)
{
	char path[64];
	int cpu = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/block/pmof%d/mq/%d/cpu_list", instance, i);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%d", &cpu) != 1)
		cpu = -1;
	if (f)
		fclose(f);
	return cpu;
}

FIXTURE_SETUP(order)
{
	char path[32];
	int i;

	self->instance = vm_connect("persist=assist,queues=2,cache=writeback");
	ASSERT_LE(0, self->instance);
	snprintf(path, sizeof(path), "/dev/pmof%d", self->instance);
	for (i = 0; i < 100 && access(path, F_OK); i++)
		usleep(20000);
	self->fd = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	ASSERT_LE(0, self->fd);
	for (i = 0; i < 2; i++) {
		self->cpu[i] = cpu_of(self->instance, i);
		if (self->cpu[i] < 0)
			SKIP(return, "no two CPUs");
	}
	self->buf = vm_pages(64 * KiB);
	memset(self->buf, 0x5a, 64 * KiB);
}

FIXTURE_TEARDOWN(order)
{
	EXPECT_TRUE(vm_attr_is(self->instance, "state", "live"));
	close(self->fd);
	EXPECT_EQ(0, vm_disconnect(self->instance));
}

static int zero(int fd, uint64_t offset, uint64_t len)
{
	uint64_t range[2] = { offset, len };

	return ioctl(fd, BLKZEROOUT, range) ? -errno : 0;
}

/* READs that @what has posted, and that it has succeeded. */
#define EXPECT_READS(n, what) do {						\
	uint64_t reads = vm_stat(self->instance, "stats/wr_read");		\
										\
	EXPECT_EQ(0, what);							\
	EXPECT_EQ(n, vm_stat(self->instance, "stats/wr_read") - reads);		\
} while (0)

static bool is_zero(int fd, char *buf, uint64_t offset)
{
	if (pread(fd, buf, 4096, offset) != 4096)
		return false;
	return !buf[0] && !memcmp(buf, buf + 1, 4095);
}

TEST_F(order, zeros_behind_a_write_of_another_queue)
{
	vm_pin(self->cpu[0]);
	ASSERT_EQ(8192, pwrite(self->fd, self->buf, 8192, AT));
	vm_pin(self->cpu[1]);
	EXPECT_READS(1, zero(self->fd, AT, 4096));
	EXPECT_TRUE(is_zero(self->fd, self->buf + 8192, AT));
	EXPECT_FALSE(is_zero(self->fd, self->buf + 8192, AT + 4096));
	/* It is clean now. */
	EXPECT_READS(0, zero(self->fd, AT + 4096, 4096));
	EXPECT_TRUE(is_zero(self->fd, self->buf + 8192, AT + 4096));
}

/* A message is behind the WRITEs of its own queue. */
TEST_F(order, zeros_behind_a_write_of_the_same_queue)
{
	vm_pin(self->cpu[1]);
	ASSERT_EQ(4096, pwrite(self->fd, self->buf, 4096, AT));
	EXPECT_READS(0, zero(self->fd, AT, 4096));
	EXPECT_TRUE(is_zero(self->fd, self->buf + 8192, AT));
}

/* And behind puts of the character device, whose queue 0 is CPU 0's. */
TEST_F(order, zeros_behind_a_put)
{
	int chr = vm_open(self->instance, O_RDWR);

	ASSERT_LE(0, chr);
	vm_pin(0);
	ASSERT_EQ(0, vm_put(chr, AT, self->buf, 4096, 0));
	vm_pin(self->cpu[1]);
	EXPECT_READS(1, zero(self->fd, AT, 4096));
	EXPECT_TRUE(is_zero(self->fd, self->buf + 8192, AT));
	close(chr);
}

/* A FLUSH covers both queues' writes: a READ on the one, the message on the other. */
TEST_F(order, flush_of_two_queues)
{
	uint64_t lines, sends, written;
	int i;

	/* Where caches survive there is nothing to write back. */
	written = vm_attr_is(self->instance, "domain", "memory_controller") ? 2 * 64 : 0;
	for (i = 0; i < 2; i++) {
		vm_pin(self->cpu[i]);
		ASSERT_EQ(4096, pwrite(self->fd, self->buf, 4096, AT + i * 64 * KiB));
	}
	lines = vm_stat(self->instance, "server_stats/lines");
	sends = vm_stat(self->instance, "stats/wr_send");
	EXPECT_READS(1, fsync(self->fd));
	EXPECT_EQ(1, vm_stat(self->instance, "stats/wr_send") - sends);
	EXPECT_EQ(written, vm_stat(self->instance, "server_stats/lines") - lines);
	EXPECT_READS(0, fsync(self->fd));
	EXPECT_EQ(written, vm_stat(self->instance, "server_stats/lines") - lines);
}

/* Without a cache there is nothing left to flush, nor to be in the way of zeros. */
TEST_F(order, durable_writes_leave_nothing)
{
	int instance = vm_connect("persist=assist,queues=2"), fd;
	uint64_t persists;
	char path[32];

	ASSERT_LE(0, instance);
	snprintf(path, sizeof(path), "/dev/pmof%d", instance);
	fd = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	ASSERT_LE(0, fd);
	persists = vm_stat(instance, "server_stats/persists");
	vm_pin(self->cpu[0]);
	ASSERT_EQ(4096, pwrite(fd, self->buf, 4096, AT));
	vm_pin(self->cpu[1]);
	EXPECT_EQ(0, zero(fd, AT, 4096));
	EXPECT_EQ(0, fsync(fd));
	EXPECT_EQ(1, vm_stat(instance, "server_stats/persists") - persists);
	EXPECT_EQ(1, vm_stat(instance, "stats/wr_write"));
	EXPECT_EQ(vm_stat(instance, "stats/block_reads"), vm_stat(instance, "stats/wr_read"));
	EXPECT_EQ(0, vm_stat(instance, "stats/block_flushes"));
	close(fd);
	EXPECT_EQ(0, vm_disconnect(instance));
}

TEST_HARNESS_MAIN
