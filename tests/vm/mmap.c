// SPDX-License-Identifier: GPL-2.0
/*
 * mmap: faults and read-ahead, write-back and its durability, coherence with all
 * other calls through two files and two device nodes.
 */
#include "mapping.h"

/* --- reading -------------------------------------------------------------------------- */

TEST_F(mmap, shows_what_is_there)
{
	EXPECT_EQ(0, memcmp(self->p, self->buf, AREA));
}

TEST_F(mmap, read_ahead_gets_many_pages_at_once)
{
	struct counts c = take(self->instance);
	unsigned int sum = 0;
	size_t i;

	for (i = 0; i < AREA; i += PAGE)
		sum += (unsigned char)self->p[i];
	EXPECT_NE(0, sum);
	EXPECT_LE(AREA, GROWN(c, BYTES_GOT));
	EXPECT_GE(AREA + 1 * MiB, GROWN(c, BYTES_GOT));
	/* By 128 KiB at a time, but for the first and the last. */
	EXPECT_GE(AREA / (64 * KiB), GROWN(c, GETS));
	EXPECT_EQ(GROWN(c, GETS), GROWN(c, ROUND_TRIPS));
}

TEST_F(mmap, no_read_ahead_where_it_is_not_wanted)
{
	struct counts c;

	ASSERT_EQ(0, madvise(self->p, AREA, MADV_RANDOM));
	c = take(self->instance);
	EXPECT_EQ(self->buf[PAGE * 7], self->p[PAGE * 7]);
	EXPECT_EQ(self->buf[PAGE * 100], self->p[PAGE * 100]);
	GREW(c, GETS, 2);
	GREW(c, WR_READ, 2);
	GREW(c, BYTES_GOT, 2 * PAGE);
}

TEST_F(mmap, a_page_is_fetched_once)
{
	struct counts c;
	char *again;

	EXPECT_EQ(0, memcmp(self->p, self->buf, AREA));
	c = take(self->instance);
	EXPECT_EQ(0, memcmp(self->p, self->buf, AREA));
	/* Nor for another mapping, through another node. */
	again = map_shared(self->second, AT, AREA);
	ASSERT_NE(MAP_FAILED, again);
	EXPECT_EQ(0, memcmp(again, self->buf, AREA));
	munmap(again, AREA);
	GREW(c, GETS, 0);
}

TEST_F(mmap, clean_pages_can_be_dropped)
{
	struct counts c;

	self->p[5] ^= 1;
	EXPECT_EQ(0, memcmp(self->p + 6, self->buf + 6, AREA - 6));
	/* While they are mapped they stay. */
	ASSERT_EQ(0, msync(self->p, AREA, MS_SYNC));
	munmap(self->p, AREA);
	ASSERT_EQ(0, vm_write_file("/proc/sys/vm/drop_caches", "1"));
	self->p = map_shared(self->fd, AT, AREA);
	ASSERT_NE(MAP_FAILED, self->p);
	c = take(self->instance);
	self->buf[5] ^= 1;
	EXPECT_EQ(0, memcmp(self->p, self->buf, AREA));
	EXPECT_LE(AREA, GROWN(c, BYTES_GOT));
}

/* What the server writes back of @len bytes: nothing where its caches survive. */
static uint64_t lines(size_t len)
{
	return strcmp(vm_env("LAB_DOMAIN", ""), "cpu") ? len / 64 : 0;
}

/* --- writing back ----------------------------------------------------------------------- */

TEST_F(mmap, msync_is_durable)
{
	struct counts c;

	memset(self->p + 10 * PAGE + 100, 'a', 2 * PAGE);	/* three pages */
	self->p[200 * PAGE] = 'b';
	c = take(self->instance);
	ASSERT_EQ(0, msync(self->p, AREA, MS_SYNC));
	memset(self->buf + 10 * PAGE + 100, 'a', 2 * PAGE);
	self->buf[200 * PAGE] = 'b';
	GREW(c, PUTS, 2);
	GREW(c, WR_WRITE, 2);
	GREW(c, BYTES_PUT, 4 * PAGE);
	/* One round trip for both: each is a put with its PERSIST behind. */
	GREW(c, ROUND_TRIPS, 1);
	GREW(c, SRV_PERSISTS, 2);
	GREW(c, LINES, lines(4 * PAGE));
	EXPECT_LE(1, GROWN(c, FENCES));
	EXPECT_GE(2, GROWN(c, FENCES));
	EXPECT_TRUE(outside_has(self->outside, AT, self->buf, AREA));
}

TEST_F(mmap, msync_of_what_is_clean_costs_nothing)
{
	struct counts c;

	self->p[0] = 'x';
	ASSERT_EQ(0, msync(self->p, AREA, MS_SYNC));
	c = take(self->instance);
	ASSERT_EQ(0, msync(self->p, AREA, MS_SYNC));
	GREW(c, PUTS, 0);
	GREW(c, WR_SEND, 0);
	GREW(c, ROUND_TRIPS, 0);
	/* A store after it is found again. */
	self->p[1] = 'y';
	ASSERT_EQ(0, msync(self->p, PAGE, MS_SYNC));
	GREW(c, PUTS, 1);
	EXPECT_TRUE(outside_has(self->outside, AT, "xy", 2));
}

TEST_F(mmap, msync_covers_earlier_puts)
{
	struct counts c;

	ASSERT_EQ(64, pwrite(self->fd, self->buf, 64, AT + 640));
	c = take(self->instance);
	ASSERT_EQ(0, msync(self->p, PAGE, MS_SYNC));
	GREW(c, PERSISTS, 1);
	GREW(c, SRV_PERSISTS, 1);
	GREW(c, LINES, lines(PAGE));
	/* Of the whole namespace: after it nothing is left for msync. */
	ASSERT_EQ(0, fdatasync(self->fd));
	c = take(self->instance);
	ASSERT_EQ(0, msync(self->p, PAGE, MS_SYNC));
	GREW(c, PERSISTS, 0);
}

TEST_F(mmap, neighbours_are_one_put)
{
	struct counts c;
	int tries;

	/* Once more if the flusher has been there before. */
	for (tries = 0; tries < 5; tries++) {
		memset(self->p, 'n', AREA);
		c = take(self->instance);
		ASSERT_EQ(0, fdatasync(self->second));
		if (GROWN(c, BYTES_PUT) == AREA)
			break;
	}
	EXPECT_LE(AREA / MiB, GROWN(c, PUTS));
	EXPECT_GE(AREA / MiB + 1, GROWN(c, PUTS));
	GREW(c, BYTES_PUT, AREA);
	memset(self->buf, 'n', AREA);
	EXPECT_TRUE(outside_has(self->outside, AT, self->buf, AREA));
}

/* The flusher knows the device: it has a backing device of its own. */
TEST_F(mmap, sync_writes_back)
{
	struct counts c = take(self->instance);

	self->p[3 * PAGE] = 's';
	self->buf[3 * PAGE] = 's';
	sync();
	GREW(c, BYTES_PUT, PAGE);
	EXPECT_TRUE(outside_has(self->outside, AT, self->buf, AREA));
}

TEST_F(mmap, what_was_left_dirty_is_written_at_disconnect)
{
	self->p[4 * PAGE] = 'd';
	self->buf[4 * PAGE] = 'd';
	munmap(self->p, AREA);
	close(self->fd);
	close(self->second);
	self->fd = self->second = -1;
	ASSERT_EQ(0, vm_disconnect(self->instance));
	self->instance = -1;
	EXPECT_TRUE(outside_has(self->outside, AT, self->buf, AREA));
}

/* Stores go on while the limit of dirty pages makes who stores wait. */
TEST_F_TIMEOUT(mmap, more_than_may_be_dirty, 120)
{
	size_t len = 48 * MiB, i;
	char *p = map_shared(self->fd, AT + AREA, len), *got = vm_pages(1 * MiB);
	size_t bad = 0;

	ASSERT_NE(MAP_FAILED, p);
	ASSERT_EQ(0, vm_write_file("/proc/sys/vm/dirty_bytes", "8388608"));
	for (i = 0; i < len; i += 8)
		*(uint64_t *)(p + i) = i;
	ASSERT_EQ(0, vm_write_file("/proc/sys/vm/dirty_ratio", "20"));
	ASSERT_EQ(0, msync(p, len, MS_SYNC));
	for (i = 0; i < len; i += 8) {
		if (!(i % MiB))
			ASSERT_EQ(0, vm_get(self->outside, AT + AREA + i, got, MiB));
		bad += *(uint64_t *)(got + i % MiB) != i;
	}
	EXPECT_EQ(0, bad);
	munmap(p, len);
}

/* --- coherence --------------------------------------------------------------------------- */

static int submit_one(int fd, enum pmof_opcode opcode, uint64_t off, char *p, size_t len)
{
	struct pmof_op op[2] = {
		{ .size = sizeof(*op), .opcode = PMOF_OP_PERSIST, .offset = off, .length = len },
		{ .size = sizeof(*op), .opcode = opcode, .offset = off, .length = len,
		  .addr = (uintptr_t)p },
	};
	int rc = vm_submit(fd, op, 2);

	return rc ? rc : op[1].result;
}

static int write_somehow(int fd, uint64_t *state, uint64_t off, char *p, size_t len)
{
	switch (vm_rnd(state) % 4) {
	case 0:
		return pwrite(fd, p, len, off) == (ssize_t)len ? 0 : -EIO;
	case 1:
		return vm_put(fd, off, p, len, 0);
	case 2:
		return vm_put(fd, off, p, len, PMOF_F_PERSIST);
	default:
		return submit_one(fd, PMOF_OP_PUT, off, p, len);
	}
}

static int read_somehow(int fd, uint64_t *state, uint64_t off, char *p, size_t len)
{
	switch (vm_rnd(state) % 3) {
	case 0:
		return pread(fd, p, len, off) == (ssize_t)len ? 0 : -EIO;
	case 1:
		return vm_get(fd, off, p, len);
	default:
		return submit_one(fd, PMOF_OP_GET, off, p, len);
	}
}

/* Two mappings by two nodes, and calls through both: all see one content. */
TEST_F_TIMEOUT(mmap, coherent_through_two_nodes, 120)
{
	char *q = map_shared(self->second, AT, AREA), *got = vm_pages(AREA);
	char *data = vm_pages(AREA);
	int round;

	ASSERT_NE(MAP_FAILED, q);
	for (round = 0; round < 600; round++) {
		uint64_t r = vm_rnd(&self->state);
		size_t len = 1 + vm_rnd(&self->state) % (r & 256 ? 200 : 3 * PAGE);
		size_t off = vm_rnd(&self->state) % (AREA / 8 - len);
		int fd = r & 128 ? self->fd : self->second;
		char *p = r & 64 ? self->p : q;

		vm_fill(&self->state, data, len);
		switch (r % 5) {
		case 0:
			ASSERT_EQ(0, write_somehow(fd, &self->state, AT + off, data, len));
			memcpy(self->buf + off, data, len);
			break;
		case 1:
			memcpy(p + off, data, len);
			memcpy(self->buf + off, data, len);
			break;
		case 2:
			ASSERT_EQ(0, memcmp(p + off, self->buf + off, len)) TH_LOG("round %d", round);
			break;
		case 3:
			ASSERT_EQ(0, msync(p + off / PAGE * PAGE, len, MS_SYNC));
			break;
		default:
			ASSERT_EQ(0, read_somehow(fd, &self->state, AT + off, got, len));
			ASSERT_EQ(0, memcmp(got, self->buf + off, len)) TH_LOG("round %d", round);
		}
	}
	EXPECT_EQ(0, memcmp(self->p, self->buf, AREA));
	ASSERT_EQ(0, vm_persist(self->fd, AT, AREA));
	EXPECT_TRUE(outside_has(self->outside, AT, self->buf, AREA));
	munmap(q, AREA);
}

TEST_F(mmap, atomics_see_stores_and_are_seen)
{
	uint64_t *word = (uint64_t *)(self->p + 5 * PAGE + 64), old;

	*word = 40;
	ASSERT_EQ(0, vm_fetch_add(self->fd, AT + 5 * PAGE + 64, 2, &old));
	EXPECT_EQ(40, old);
	EXPECT_EQ(42, *word);
	*word = 7;
	ASSERT_EQ(0, vm_cas(self->second, AT + 5 * PAGE + 64, 7, 8, &old));
	EXPECT_EQ(7, old);
	EXPECT_EQ(8, *word);
}

TEST_F(mmap, objects_see_stores_and_are_seen)
{
	uint64_t generation, same;
	char data[128], got[128];

	vm_fill(&self->state, data, sizeof(data));
	memset(self->p + 9 * PAGE, 0, 128);
	ASSERT_EQ(0, vm_prepare(self->fd, AT + 9 * PAGE, 128, &generation));
	EXPECT_EQ(1, generation);
	ASSERT_EQ(0, vm_commit(self->second, AT + 9 * PAGE, data, 128, generation));
	EXPECT_EQ(0, memcmp(self->p + 9 * PAGE, data, 120));
	ASSERT_EQ(0, vm_get_valid(self->fd, AT + 9 * PAGE, got, 128, &same));
	EXPECT_EQ(generation, same);
	/* A store into its data is in what a VALID get finds. */
	self->p[9 * PAGE + 3] ^= 1;
	ASSERT_EQ(0, vm_get_valid(self->fd, AT + 9 * PAGE, got, 128, &same));
	EXPECT_EQ(0, memcmp(self->p + 9 * PAGE, got, 120));
	ASSERT_EQ(0, vm_revalidate(self->fd, AT + 9 * PAGE, 128, &same));
	EXPECT_EQ(generation, same);
}

/* The buffer of a call is a mapping of the device itself, even of the same bytes. */
TEST_F(mmap, buffer_is_a_mapping_of_the_device)
{
	static const size_t lens[] = { 100, PAGE, 3 * PAGE + 5, 300 * KiB };
	size_t i, k;

	for (i = 0; i < sizeof(lens) / sizeof(*lens); i++) {
		size_t len = lens[i];

		drop(self->fd);
		ASSERT_EQ(0, vm_put(self->fd, AT + 77, self->p + MiB, len, 0));
		memcpy(self->buf + 77, self->buf + MiB, len);
		ASSERT_EQ(0, memcmp(self->p, self->buf, AREA));
		ASSERT_EQ(0, vm_get(self->fd, AT + 33, self->p + MiB + 512 * KiB, len));
		memcpy(self->buf + MiB + 512 * KiB, self->buf + 33, len);
		for (k = 0; k < AREA && self->p[k] == self->buf[k]; k++)
			;
		ASSERT_EQ(AREA, k);
		ASSERT_EQ(0, vm_put(self->fd, AT + MiB, self->p + MiB, len, PMOF_F_PERSIST));
		ASSERT_EQ(0, vm_get(self->fd, AT + MiB, self->p + MiB, len));
		ASSERT_EQ(0, memcmp(self->p, self->buf, AREA));
	}
}

TEST_HARNESS_MAIN
