// SPDX-License-Identifier: GPL-2.0
/*
 * Operations around one bad sector, which is in the namespace before this runs: at
 * PMOF_BAD_OFF, not the first nor the last of its page. The connection is made
 * by the script, after that.
 */
#include <sys/uio.h>

#include "mapping.h"

#undef AREA
#define SECTOR	512
#define AREA	(64 * KiB)

FIXTURE(bad) {
	int fd;
	int instance;
	uint64_t start;		/* of the area; its page 4 is the bad sector's */
	uint64_t at;		/* of the bad sector */
	char *want;
	char *got;
};

static int put(FIXTURE_DATA(bad) *self, uint64_t from, uint64_t to, uint32_t flags)
{
	return vm_put(self->fd, self->start + from, self->want + from, to - from, flags);
}

static bool get_is(FIXTURE_DATA(bad) *self, uint64_t from, uint64_t to)
{
	memset(self->got, 0xee, AREA);
	return !vm_get(self->fd, self->start + from, self->got, to - from) &&
	       !memcmp(self->got, self->want + from, to - from);
}

#define B	(self->at - self->start)	/* the bad sector, in the area */

FIXTURE_SETUP(bad)
{
	uint64_t state = 4711;

	self->at = strtoull(vm_env("PMOF_BAD_OFF", "0"), NULL, 0);
	self->start = self->at / 4096 * 4096 - 4 * 4096;
	self->instance = vm_instance();
	self->fd = vm_open(self->instance, O_RDWR);
	ASSERT_LE(0, self->fd);
	ASSERT_LT(0, self->at % 4096);
	ASSERT_GT(4096 - SECTOR, self->at % 4096);
	self->want = vm_pages(AREA);
	self->got = vm_pages(AREA);
	vm_fill(&state, self->want, AREA);
	/* Each crosses a good page and the bad one. */
	ASSERT_EQ(0, put(self, 0, B, PMOF_F_PERSIST));
	ASSERT_EQ(0, put(self, B + SECTOR, AREA, 0));
}

FIXTURE_TEARDOWN(bad)
{
	EXPECT_TRUE(vm_attr_is(self->instance, "state", "live"));
	close(self->fd);
}

TEST_F(bad, is_counted)
{
	EXPECT_TRUE(vm_attr_is(self->instance, "bad_sectors", "1"));
}

TEST_F(bad, gets)
{
	const struct { uint64_t from, to; } good[] = {
		{ 0, B }, { B + SECTOR, AREA }, { B - 1, B }, { B + SECTOR, B + SECTOR + 1 },
		{ B - SECTOR, B }, { B + SECTOR, B + 2 * SECTOR }, { B / 4096 * 4096, B },
		{ B / 4096 * 4096 - 7, B - 3 }, { B + SECTOR + 5, B + 4096 }, { 0, 4096 },
	}, wrong[] = {
		{ B, B + 1 }, { B + SECTOR - 1, B + SECTOR }, { B - 1, B + 1 }, { B, B + SECTOR },
		{ 0, AREA }, { B - 100, B + 4096 }, { 0, B + 1 }, { B + SECTOR - 1, AREA },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(good); i++)
		EXPECT_TRUE(get_is(self, good[i].from, good[i].to)) TH_LOG("case %zu", i);
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		EXPECT_EQ(-EIO, vm_get(self->fd, self->start + wrong[i].from, self->got,
				       wrong[i].to - wrong[i].from)) TH_LOG("case %zu", i);
}

TEST_F(bad, read_and_write)
{
	struct iovec vec = { self->got, B };

	EXPECT_EQ((ssize_t)B, pread(self->fd, self->got, B, self->start));
	EXPECT_EQ(0, memcmp(self->want, self->got, B));
	EXPECT_EQ(-1, pread(self->fd, self->got, SECTOR, self->at));
	EXPECT_EQ(EIO, errno);
	EXPECT_EQ(-1, pread(self->fd, self->got, AREA, self->start));
	EXPECT_EQ(EIO, errno);
	/* It would have to wait. */
	EXPECT_EQ(-1, preadv2(self->fd, &vec, 1, self->start, RWF_NOWAIT));
	EXPECT_EQ(EAGAIN, errno);
	vm_fill(&(uint64_t){ 5 }, self->want, AREA);
	EXPECT_EQ((ssize_t)B, pwrite(self->fd, self->want, B, self->start));
	EXPECT_EQ(0, fsync(self->fd));
	EXPECT_TRUE(get_is(self, 0, B));
}

TEST_F(bad, puts)
{
	vm_fill(&(uint64_t){ 6 }, self->want, AREA);
	/* Good sectors of the bad page, durable and not, odd and even. */
	EXPECT_EQ(0, put(self, B - SECTOR, B, PMOF_F_PERSIST));
	EXPECT_EQ(0, put(self, B + SECTOR, B + SECTOR + 3, PMOF_F_PERSIST));
	EXPECT_EQ(0, put(self, B - SECTOR - 9, B - SECTOR, 0));
	EXPECT_TRUE(get_is(self, B - SECTOR - 9, B));
	EXPECT_TRUE(get_is(self, B + SECTOR, B + SECTOR + 3));
	/* Across everything. */
	EXPECT_EQ(0, put(self, 1, B, 0));
	EXPECT_EQ(0, put(self, B + SECTOR + 1, AREA, PMOF_F_PERSIST));
	EXPECT_TRUE(get_is(self, 1, B));
	EXPECT_TRUE(get_is(self, B + SECTOR + 1, AREA));
	/* A part of the bad sector. */
	EXPECT_EQ(-EIO, put(self, B + 100, B + 110, PMOF_F_PERSIST));
	EXPECT_EQ(-EIO, put(self, B + 100, B + 110, 0));
	EXPECT_EQ(-EIO, put(self, B - 100, B + 1, PMOF_F_PERSIST));
	EXPECT_EQ(-EIO, put(self, B + SECTOR - 1, AREA, PMOF_F_PERSIST));
}

/* It goes in parts, and the first of them is good. */
TEST_F(bad, half_a_buffer)
{
	char *half = mmap(NULL, 5 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, (void *)half);
	memset(half, 0x55, 4 * 4096);
	ASSERT_EQ(0, munmap(half + 4 * 4096, 4096));
	EXPECT_EQ(-EFAULT, vm_put(self->fd, self->start, half, B, 0));
	EXPECT_EQ(-EFAULT, vm_put(self->fd, self->start, half, B, PMOF_F_PERSIST));
	EXPECT_TRUE(get_is(self, 0, B));
	munmap(half, 4 * 4096);
}

TEST_F(bad, persist)
{
	EXPECT_EQ(0, put(self, 0, B, 0));
	EXPECT_EQ(0, put(self, B + SECTOR, AREA, 0));
	EXPECT_EQ(0, vm_persist(self->fd, self->start, B));
	EXPECT_EQ(0, vm_persist(self->fd, self->at + SECTOR, AREA - B - SECTOR));
	/* What was put there is durable, and all else, too. */
	EXPECT_EQ(0, fsync(self->fd));
}

TEST_F(bad, atomics)
{
	uint64_t old;

	EXPECT_EQ(0, vm_fetch_add(self->fd, self->start, 1, &old));
	EXPECT_EQ(-EIO, vm_fetch_add(self->fd, self->at, 1, &old));
	EXPECT_EQ(-EIO, vm_cas(self->fd, self->at + SECTOR, 0, 1, &old));
	EXPECT_TRUE(get_is(self, B + SECTOR, B + SECTOR + 8));
}

TEST_F(bad, objects)
{
	uint64_t g, got_g, trailer = 0, before;

	/* The data end in front of the bad sector; in both pages. */
	ASSERT_EQ(0, vm_prepare(self->fd, self->start, B, &g));
	ASSERT_EQ(0, vm_commit(self->fd, self->start, self->want, B, g));
	ASSERT_EQ(0, vm_get_valid(self->fd, self->start, self->got, B, &got_g));
	EXPECT_EQ(g, got_g);
	EXPECT_EQ(0, memcmp(self->want, self->got, B - 8));
	ASSERT_EQ(0, vm_prepare(self->fd, self->start, B, &g));
	EXPECT_EQ(-EAGAIN, vm_get_valid(self->fd, self->start, self->got, B, &got_g));
	/* Its trailer is bad. */
	EXPECT_EQ(-EIO, vm_prepare(self->fd, self->start, B + 8, &g));
	EXPECT_EQ(-EIO, vm_revalidate(self->fd, self->start, B + 8, &g));
	EXPECT_EQ(-EIO, vm_get_valid(self->fd, self->start, self->got, B + 8, &got_g));
	/* Its data are: not committed. */
	ASSERT_EQ(0, vm_prepare(self->fd, self->at + 64, SECTOR, &g));
	ASSERT_EQ(0, vm_get(self->fd, self->at + 64 + SECTOR - 8, &before, 8));
	EXPECT_EQ(-EIO, vm_commit(self->fd, self->at + 64, self->want, SECTOR, g));
	ASSERT_EQ(0, vm_get(self->fd, self->at + 64 + SECTOR - 8, &trailer, 8));
	EXPECT_EQ(before, trailer);
}

TEST_F(bad, submit)
{
	struct pmof_op ops[4] = { };
	int i;

	vm_fill(&(uint64_t){ 7 }, self->want, AREA);
	for (i = 0; i < 4; i++)
		ops[i] = (struct pmof_op) {
			.size = sizeof(ops[i]),
			.opcode = PMOF_OP_PUT, .offset = self->start + 4096 * i,
			.addr = (uintptr_t)self->want + 4096 * i, .length = 4096,
		};
	ops[1] = (struct pmof_op) {
		.size = sizeof(ops[1]),
		.opcode = PMOF_OP_PUT, .flags = PMOF_F_PERSIST, .offset = self->at + SECTOR,
		.addr = (uintptr_t)self->want + B + SECTOR, .length = SECTOR,
	};
	ops[2] = (struct pmof_op) {
		.size = sizeof(ops[2]),
		.opcode = PMOF_OP_GET, .offset = self->at, .addr = (uintptr_t)self->got,
		.length = 8,
	};
	ASSERT_EQ(0, vm_submit(self->fd, ops, 4));
	EXPECT_EQ(0, ops[0].result);
	EXPECT_EQ(0, ops[1].result);
	EXPECT_EQ(-EIO, ops[2].result);
	EXPECT_EQ(-ECANCELED, ops[3].result);
	EXPECT_TRUE(get_is(self, 0, 4096));
	EXPECT_TRUE(get_is(self, B + SECTOR, B + 2 * SECTOR));
}

TEST_F(bad, mapped)
{
	char *map = map_shared(self->fd, self->start, AREA);

	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(0, memcmp(map, self->want, 4 * 4096));
	EXPECT_EQ(0, memcmp(map + 5 * 4096, self->want + 5 * 4096, AREA - 5 * 4096));
	EXPECT_TRUE(bus_error(map + B, false));
	EXPECT_TRUE(bus_error(map + B + SECTOR, false));
	memset(map, 0x11, 4 * 4096);
	EXPECT_EQ(0, msync(map, 4 * 4096, MS_SYNC));
	memset(self->want, 0x11, 4 * 4096);
	EXPECT_TRUE(get_is(self, 0, B / 4096 * 4096));
	munmap(map, AREA);
}

TEST_HARNESS_MAIN
