// SPDX-License-Identifier: GPL-2.0
/*
 * Data: reads and writes at odd offsets and lengths by every call, against a
 * shadow copy; the end of the device; atomics from many threads.
 */
#include <sys/uio.h>

#include "kselftest_harness.h"
#include "vm.h"

FIXTURE(rw) {
	int fd;
	int instance;
	struct pmof_info info;
	uint64_t state;
};

FIXTURE_SETUP(rw)
{
	self->state = 4711;
	self->instance = vm_instance();
	self->fd = vm_open(self->instance, O_RDWR);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, vm_info(self->fd, &self->info));
}

FIXTURE_TEARDOWN(rw)
{
	EXPECT_TRUE(vm_attr_is(self->instance, "state", "live"));
	close(self->fd);
}

/* --- every call at odd places --------------------------------------------- */

#define AREA	(640 * KiB)

/* Lengths around the sizes where an implementation changes its way. */
static size_t odd_length(uint64_t *state)
{
	static const size_t corner[] = { 1, 7, 8, 63, 64, 65, 4095, 4096, 4097, 8192,
					 128 * KiB - 1, 128 * KiB, 128 * KiB + 1 };
	uint64_t r = vm_rnd(state);

	if (r % 3 == 0)
		return corner[r / 3 % ARRAY_SIZE(corner)];
	return r % 3 == 1 ? 1 + r / 3 % 300 : 1 + r / 3 % (200 * KiB);
}

/* Where RWF_DSYNC is not known, the plain call will do: the test below tells. */
static ssize_t dsync_write(int fd, const struct iovec *iov, int nr, off_t off)
{
	ssize_t n = pwritev2(fd, iov, nr, off, RWF_DSYNC);

	return n < 0 && errno == EOPNOTSUPP ? pwritev(fd, iov, nr, off) : n;
}

static int write_somehow(int fd, uint64_t *state, uint64_t off, char *p, size_t len)
{
	struct iovec iov[3] = {
		{ p, len / 3 }, { p + len / 3, len / 5 },
		{ p + len / 3 + len / 5, len - len / 3 - len / 5 },
	};

	switch (vm_rnd(state) % 5) {
	case 0:
		return pwrite(fd, p, len, off) == (ssize_t)len ? 0 : -EIO;
	case 1:
		return pwritev(fd, iov, 3, off) == (ssize_t)len ? 0 : -EIO;
	case 2:
		return dsync_write(fd, iov, 3, off) == (ssize_t)len ? 0 : -EIO;
	case 3:
		return vm_put(fd, off, p, len, PMOF_F_PERSIST);
	default:
		return vm_put(fd, off, p, len, 0);
	}
}

static int read_somehow(int fd, uint64_t *state, uint64_t off, char *p, size_t len)
{
	struct iovec iov[2] = { { p, len / 2 }, { p + len / 2, len - len / 2 } };

	switch (vm_rnd(state) % 3) {
	case 0:
		return pread(fd, p, len, off) == (ssize_t)len ? 0 : -EIO;
	case 1:
		return preadv(fd, iov, 2, off) == (ssize_t)len ? 0 : -EIO;
	default:
		return vm_get(fd, off, p, len);
	}
}

/* @base: where the area of the device starts. Returns the failing round, or 0. */
static int mixed(int fd, uint64_t *state, uint64_t base, int rounds)
{
	char *shadow = vm_pages(AREA), *got = vm_pages(AREA + 64), *data = vm_pages(AREA + 64);
	int round;

	if (vm_get(fd, base, shadow, AREA))
		return -1;
	for (round = 1; round <= rounds; round++) {
		size_t len = odd_length(state), off = vm_rnd(state) % (AREA - len + 1);
		size_t mis = vm_rnd(state) % 64;

		if (vm_rnd(state) % 2) {
			vm_fill(state, data + mis, len);
			if (write_somehow(fd, state, base + off, data + mis, len))
				return round;
			memcpy(shadow + off, data + mis, len);
		} else {
			if (read_somehow(fd, state, base + off, got + mis, len) ||
			    memcmp(shadow + off, got + mis, len))
				return round;
		}
	}
	if (vm_get(fd, base, got, AREA) || memcmp(shadow, got, AREA))
		return round;
	return 0;
}

TEST_F(rw, odd_places)
{
	EXPECT_EQ(0, mixed(self->fd, &self->state, 16 * MiB + 13, 300));
}

TEST_F(rw, odd_places_across_segments)
{
	if (self->info.segment_size + AREA / 2 > self->info.ns_size)
		SKIP(return, "the namespace has one segment");
	EXPECT_EQ(0, mixed(self->fd, &self->state, self->info.segment_size - AREA / 2 - 3, 300));
}

TEST_F(rw, odd_places_at_the_end)
{
	EXPECT_EQ(0, mixed(self->fd, &self->state, self->info.ns_size - AREA, 100));
}

TEST_F(rw, odd_places_at_the_start)
{
	EXPECT_EQ(0, mixed(self->fd, &self->state, 0, 100));
}

/* Every length and offset around a line and a page, neighbours untouched. */
TEST_F(rw, small_puts_leave_their_neighbours)
{
	uint64_t base = 24 * MiB + 4096 - 96;
	char ring[192], got[192], data[80];
	size_t off, len;

	vm_fill(&self->state, ring, sizeof(ring));
	ASSERT_EQ(0, vm_put(self->fd, base, ring, sizeof(ring), 0));
	for (off = 56; off < 104; off += 5)
		for (len = 1; len <= 72; len += len < 10 ? 1 : 7) {
			vm_fill(&self->state, data, len);
			memcpy(ring + off, data, len);
			ASSERT_EQ(0, vm_put(self->fd, base + off, data, len, PMOF_F_PERSIST));
			ASSERT_EQ(0, vm_get(self->fd, base, got, sizeof(got)));
			ASSERT_EQ(0, memcmp(ring, got, sizeof(ring)))
				TH_LOG("%zu bytes at %zu", len, off);
		}
}

TEST_F(rw, four_mebibytes)
{
	size_t len = 4 * MiB + 1;
	char *in = vm_pages(len), *out = vm_pages(len);

	vm_fill(&self->state, in, len);
	ASSERT_EQ(0, vm_put(self->fd, 32 * MiB - 1, in, len, PMOF_F_PERSIST));
	ASSERT_EQ(0, vm_get(self->fd, 32 * MiB - 1, out, len));
	EXPECT_EQ(0, memcmp(in, out, len));
}

/* More than one operation may pin at a time. */
TEST_F(rw, twenty_mebibytes)
{
	size_t len = 20 * MiB - 3;
	char *in = vm_pages(len), *out = vm_pages(len);

	vm_fill(&self->state, in, len);
	ASSERT_EQ(0, vm_put(self->fd, 40 * MiB + 7, in, len, PMOF_F_PERSIST));
	ASSERT_EQ(0, vm_get(self->fd, 40 * MiB + 7, out, len));
	EXPECT_EQ(0, memcmp(in, out, len));
}

/* --- read, write, lseek ---------------------------------------------------- */

TEST_F(rw, lseek)
{
	off_t size = self->info.ns_size;

	EXPECT_EQ(size, lseek(self->fd, 0, SEEK_END));
	EXPECT_EQ(size - 10, lseek(self->fd, -10, SEEK_END));
	EXPECT_EQ(size - 5, lseek(self->fd, 5, SEEK_CUR));
	EXPECT_EQ(1000, lseek(self->fd, 1000, SEEK_SET));
	EXPECT_EQ(-1, lseek(self->fd, -1001, SEEK_CUR));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, lseek(self->fd, size + 1, SEEK_SET));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(1000, lseek(self->fd, 0, SEEK_CUR));
}

TEST_F(rw, file_position)
{
	char in[100], out[100];

	vm_fill(&self->state, in, sizeof(in));
	ASSERT_EQ(70 * MiB, lseek(self->fd, 70 * MiB, SEEK_SET));
	ASSERT_EQ(60, write(self->fd, in, 60));
	ASSERT_EQ(40, write(self->fd, in + 60, 40));
	EXPECT_EQ(70 * MiB + 100, lseek(self->fd, 0, SEEK_CUR));
	ASSERT_EQ(70 * MiB, lseek(self->fd, 70 * MiB, SEEK_SET));
	ASSERT_EQ(100, read(self->fd, out, 100));
	EXPECT_EQ(0, memcmp(in, out, 100));
	/* pread and pwrite leave it alone. */
	ASSERT_EQ(8, pread(self->fd, out, 8, 0));
	EXPECT_EQ(70 * MiB + 100, lseek(self->fd, 0, SEEK_CUR));
}

TEST_F(rw, end_of_device)
{
	uint64_t size = self->info.ns_size;
	char in[100], out[100];

	vm_fill(&self->state, in, sizeof(in));
	EXPECT_EQ(0, pread(self->fd, out, 100, size));
	EXPECT_EQ(0, pread(self->fd, out, 100, size + 100));
	EXPECT_EQ(-1, pwrite(self->fd, in, 100, size));
	EXPECT_EQ(ENOSPC, errno);
	EXPECT_EQ(-1, pwrite(self->fd, in, 100, size + 4096));
	EXPECT_EQ(ENOSPC, errno);
	/* What fits is done, and told. */
	EXPECT_EQ(10, pwrite(self->fd, in, 100, size - 10));
	EXPECT_EQ(10, pread(self->fd, out, 100, size - 10));
	EXPECT_EQ(0, memcmp(in, out, 10));
	EXPECT_EQ(0, pwrite(self->fd, in, 0, size));
	EXPECT_EQ(0, pread(self->fd, out, 0, 0));
	EXPECT_EQ(-1, pread(self->fd, out, 8, -1));
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(rw, cat_stops_at_the_end)
{
	char buf[8192];
	uint64_t at = self->info.ns_size - 10000;
	ssize_t n;

	ASSERT_EQ(at, lseek(self->fd, at, SEEK_SET));
	while ((n = read(self->fd, buf, sizeof(buf))) > 0)
		at += n;
	EXPECT_EQ(0, n);
	EXPECT_EQ(self->info.ns_size, at);
}

TEST_F(rw, sync_calls)
{
	char in[4096];
	int fd;

	vm_fill(&self->state, in, sizeof(in));
	ASSERT_EQ(4096, pwrite(self->fd, in, 4096, 80 * MiB + 1));
	EXPECT_EQ(0, fsync(self->fd));
	EXPECT_EQ(0, fdatasync(self->fd));
	fd = vm_open(self->instance, O_RDWR | O_DSYNC);
	ASSERT_LE(0, fd);
	EXPECT_EQ(4096, pwrite(fd, in, 4096, 80 * MiB + 1));
	close(fd);
	fd = vm_open(self->instance, O_RDWR | O_SYNC);
	ASSERT_LE(0, fd);
	EXPECT_EQ(4096, pwrite(fd, in, 4096, 80 * MiB + 1));
	close(fd);
}

TEST_F(rw, rwf_dsync)
{
	struct iovec iov = { "12345678", 8 };
	ssize_t n = pwritev2(self->fd, &iov, 1, 80 * MiB, RWF_DSYNC);

	if (n < 0 && errno == EOPNOTSUPP)
		SKIP(return, "the device has no RWF_DSYNC");
	EXPECT_EQ(8, n);
}

TEST_F(rw, another_file_and_session_see_a_put)
{
	int instance, other = vm_open(self->instance, O_RDONLY), fd;
	char in[1000], out[1000];

	ASSERT_LE(0, other);
	vm_fill(&self->state, in, sizeof(in));
	ASSERT_EQ(0, vm_put(self->fd, 90 * MiB + 5, in, sizeof(in), 0));
	ASSERT_EQ(0, vm_get(other, 90 * MiB + 5, out, sizeof(out)));
	EXPECT_EQ(0, memcmp(in, out, sizeof(in)));
	instance = vm_connect("queues=1");
	ASSERT_LE(0, instance);
	fd = vm_open(instance, O_RDONLY);
	ASSERT_LE(0, fd);
	memset(out, 0, sizeof(out));
	ASSERT_EQ(0, vm_get(fd, 90 * MiB + 5, out, sizeof(out)));
	EXPECT_EQ(0, memcmp(in, out, sizeof(in)));
	close(fd);
	close(other);
	EXPECT_EQ(0, vm_disconnect(instance));
}

/* --- atomics -------------------------------------------------------------- */

#define WORD	(100 * MiB)

TEST_F(rw, cas)
{
	uint64_t old = 0, seen;

	seen = 10;
	ASSERT_EQ(0, vm_put(self->fd, WORD, &seen, 8, 0));
	ASSERT_EQ(0, vm_cas(self->fd, WORD, 10, 0xffffffffffffffffULL, &old));
	EXPECT_EQ(10, old);
	ASSERT_EQ(0, vm_cas(self->fd, WORD, 10, 5, &old));
	EXPECT_EQ(UINT64_MAX, old);
	ASSERT_EQ(0, vm_get(self->fd, WORD, &seen, 8));
	EXPECT_EQ(UINT64_MAX, seen);
}

TEST_F(rw, fetch_add_wraps)
{
	uint64_t seen = UINT64_MAX - 1, old = 0;

	ASSERT_EQ(0, vm_put(self->fd, WORD, &seen, 8, 0));
	ASSERT_EQ(0, vm_fetch_add(self->fd, WORD, 3, &old));
	EXPECT_EQ(UINT64_MAX - 1, old);
	ASSERT_EQ(0, vm_fetch_add(self->fd, WORD, (uint64_t)-1, &old));
	EXPECT_EQ(1, old);
	ASSERT_EQ(0, vm_get(self->fd, WORD, &seen, 8));
	EXPECT_EQ(0, seen);
}

TEST_F(rw, durable_atomics)
{
	struct pmof_atomic a = { .size = sizeof(a), .flags = PMOF_F_PERSIST, .offset = WORD,
				 .operand = 4 };
	uint64_t zero = 0;

	ASSERT_EQ(0, vm_put(self->fd, WORD, &zero, 8, PMOF_F_PERSIST));
	ASSERT_EQ(0, vm_ioctl(self->fd, PMOF_IOC_FETCH_ADD, &a));
	EXPECT_EQ(0, a.old);
	a.compare = 4;
	a.operand = 9;
	ASSERT_EQ(0, vm_ioctl(self->fd, PMOF_IOC_CAS, &a));
	EXPECT_EQ(4, a.old);
	ASSERT_EQ(0, vm_get(self->fd, WORD, &zero, 8));
	EXPECT_EQ(9, zero);
}

#define THREADS		8
#define ADDS		250

struct adder {
	pthread_t thread;
	int fd, cpu, failed;
	bool cas;
	uint64_t old[ADDS];
};

static int cas_increment(int fd, uint64_t *seen)
{
	uint64_t guess = 0, old;

	for (;;) {
		if (vm_cas(fd, WORD, guess, guess + 1, &old))
			return -1;
		if (old == guess)
			break;
		guess = old;
	}
	*seen = guess;
	return 0;
}

static void *add_many(void *arg)
{
	struct adder *a = arg;
	int i;

	vm_pin(a->cpu);
	for (i = 0; i < ADDS && !a->failed; i++)
		a->failed = a->cas ? cas_increment(a->fd, &a->old[i]) :
			    vm_fetch_add(a->fd, WORD, 1, &a->old[i]);
	return NULL;
}

/* Every value from 0 up was handed out exactly once. */
static bool all_distinct(const struct adder *a)
{
	static bool seen[THREADS * ADDS];
	int t, i;

	memset(seen, 0, sizeof(seen));
	for (t = 0; t < THREADS; t++)
		for (i = 0; i < ADDS; i++) {
			if (a[t].old[i] >= THREADS * ADDS || seen[a[t].old[i]])
				return false;
			seen[a[t].old[i]] = true;
		}
	return true;
}

/* Threads on every CPU, and with that on every queue, and of two sessions. */
TEST_F_TIMEOUT(rw, concurrent_atomics_add_up, 90)
{
	static struct adder a[THREADS];
	int instance = vm_connect("queues=2"), other, t;
	uint64_t sum = 0;

	ASSERT_LE(0, instance);
	other = vm_open(instance, O_RDWR);
	ASSERT_LE(0, other);
	ASSERT_EQ(0, vm_put(self->fd, WORD, &sum, 8, 0));
	for (t = 0; t < THREADS; t++) {
		a[t].fd = t % 4 == 3 ? other : self->fd;
		a[t].cpu = t % sysconf(_SC_NPROCESSORS_ONLN);
		a[t].cas = t % 4 == 2;
		ASSERT_EQ(0, pthread_create(&a[t].thread, NULL, add_many, &a[t]));
	}
	for (t = 0; t < THREADS; t++) {
		pthread_join(a[t].thread, NULL);
		EXPECT_EQ(0, a[t].failed);
	}
	ASSERT_EQ(0, vm_get(self->fd, WORD, &sum, 8));
	EXPECT_EQ(THREADS * ADDS, sum);
	EXPECT_TRUE(all_distinct(a));
	close(other);
	EXPECT_EQ(0, vm_disconnect(instance));
}

TEST_HARNESS_MAIN
