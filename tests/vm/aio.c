// SPDX-License-Identifier: GPL-2.0
/*
 * Reads and writes of every kind: vectors, RWF_ flags, splice, io_submit(), and
 * io_uring's at depth. Commands are in uring.c.
 */
#include <linux/aio_abi.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "window.h"
#include "counts.h"
#include "ring.h"

static uint64_t state = 20211;

/* The window is as @before says, once more. */
static int window_is(int fd, const char *before, char *now, size_t len)
{
	int rc = vm_get(fd, WINDOW_OFF, now, len);

	return rc ? rc : memcmp(before, now, len) ? 1 : 0;
}

/* Cuts @len bytes at @p into at most @nr parts, some of them empty. */
static int cut(char *p, size_t len, struct iovec *iov, int nr)
{
	int i;

	for (i = 0; i < nr; i++) {
		size_t n = i + 1 == nr ? len : vm_rnd(&state) % (len / 2 + 1);

		if (vm_rnd(&state) % 8 == 0 && i + 1 < nr)
			n = 0;
		iov[i] = (struct iovec) { p, n };
		p += n;
		len -= n;
	}
	return nr;
}

/* --- vectors ----------------------------------------------------------------- */

TEST_F_TIMEOUT(window, vectors_against_a_shadow, 120)
{
	char *buf = vm_pages(256 * KiB);
	struct iovec iov[17];
	int i;

	self->may_change = true;
	for (i = 0; i < 150; i++) {
		size_t len = 1 + vm_rnd(&state) % (i % 3 ? 9000 : 200 * KiB);
		size_t at = vm_rnd(&state) % (1 * MiB);
		char *p = buf + vm_rnd(&state) % 4096;
		int nr = 1 + vm_rnd(&state) % 17;

		vm_fill(&state, p, len);
		cut(p, len, iov, nr);
		ASSERT_EQ((ssize_t)len, pwritev2(self->fd, iov, nr, WINDOW_OFF + at,
						 i % 2 ? RWF_DSYNC : 0)) TH_LOG("%m");
		memcpy(self->before + at, p, len);
		memset(p, 0, len);
		ASSERT_EQ((ssize_t)len, preadv(self->fd, iov, nr, WINDOW_OFF + at));
		ASSERT_EQ(0, memcmp(self->before + at, p, len)) TH_LOG("round %d", i);
	}
	EXPECT_EQ(0, window_is(self->fd, self->before, self->now, WINDOW_LEN));
}

/* Parts on pages that are far from each other: one operation, one work request, durable. */
TEST_F(window, a_vector_is_one_operation)
{
	char *buf = vm_pages(64 * KiB);
	struct iovec iov[3] = {
		{ buf + 100, 3000 }, { buf + 20 * KiB + 8, 6000 }, { buf + 40 * KiB, 1 },
	};
	struct counts c;

	self->may_change = true;
	vm_fill(&state, buf, 64 * KiB);
	c = take(self->instance);
	ASSERT_EQ(9001, pwritev2(self->fd, iov, 3, WINDOW_OFF + 5, RWF_DSYNC));
	GREW(c, PUTS, 1);
	GREW(c, ROUND_TRIPS, 1);
	GREW(c, BYTES_PUT, 9001);
	GREW(c, PERSISTS, 0);
	/* What makes it durable, by whatever method. */
	EXPECT_EQ(1, GROWN(c, WR_SEND) + GROWN(c, WR_READ) + GROWN(c, WR_FLUSH));
	c = take(self->instance);
	ASSERT_EQ(9001, preadv(self->fd, iov, 3, WINDOW_OFF + 5));
	GREW(c, GETS, 1);
	GREW(c, WR_READ, 1);
	GREW(c, ROUND_TRIPS, 1);
}

/* A bad pointer in the last part is found before the first byte is written. */
TEST_F(window, a_bad_part_changes_nothing)
{
	char *edge = vm_edge(100), *junk = vm_pages(64 * KiB);
	struct iovec iov[2] = { { junk, 100 }, { edge, 200 } };

	EXPECT_EQ(-1, pwritev(self->fd, iov, 2, WINDOW_OFF));
	EXPECT_EQ(EFAULT, errno);
	iov[0].iov_len = 64 * KiB;
	EXPECT_EQ(-1, pwritev(self->fd, iov, 2, WINDOW_OFF));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, preadv(self->fd, iov, 2, WINDOW_OFF));
	EXPECT_EQ(EFAULT, errno);
}

TEST_F(window, the_end_of_the_device)
{
	char *buf = vm_pages(8192);
	struct iovec iov[2] = { { buf, 100 }, { buf + 4096, 4096 } };
	off_t end = self->info.ns_size;

	EXPECT_EQ(1000, preadv(self->fd, iov, 2, end - 1000));
	EXPECT_EQ(0, preadv(self->fd, iov, 2, end));
	EXPECT_EQ(1000, pwritev(self->fd, iov, 2, end - 1000));
	EXPECT_EQ(-1, pwritev(self->fd, iov, 2, end));
	EXPECT_EQ(ENOSPC, errno);
	EXPECT_EQ(-1, pwritev2(self->fd, iov, 2, WINDOW_OFF, RWF_APPEND));
	EXPECT_EQ(ENOSPC, errno);
}

/* --- flags ------------------------------------------------------------------- */

TEST_F(window, nowait)
{
	char *buf = vm_pages(5 * MiB);
	struct iovec iov = { buf, 64 };

	self->may_change = true;
	/* Not there yet: it would fault, and afterwards it does not. */
	EXPECT_EQ(-1, preadv2(self->fd, (struct iovec[]) { { buf, 64 * KiB } }, 1, WINDOW_OFF,
			      RWF_NOWAIT));
	EXPECT_EQ(EAGAIN, errno);
	memset(buf, 5, 5 * MiB);
	iov.iov_len = 64 * KiB;
	EXPECT_EQ(64 * (ssize_t)KiB, preadv2(self->fd, &iov, 1, WINDOW_OFF, RWF_NOWAIT));
	EXPECT_EQ(0, memcmp(buf, self->before, 64 * KiB));
	vm_fill(&state, buf, 64 * KiB);
	EXPECT_EQ(64 * (ssize_t)KiB,
		  pwritev2(self->fd, &iov, 1, WINDOW_OFF, RWF_NOWAIT | RWF_DSYNC));
	memcpy(self->before, buf, 64 * KiB);
	iov.iov_len = 64;
	vm_fill(&state, buf, 64);
	EXPECT_EQ(64, pwritev2(self->fd, &iov, 1, WINDOW_OFF, RWF_NOWAIT));
	memcpy(self->before, buf, 64);
	/* More than one post. */
	iov.iov_len = 4 * MiB;
	EXPECT_EQ(-1, pwritev2(self->fd, &iov, 1, WINDOW_OFF, RWF_NOWAIT));
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_EQ(0, window_is(self->fd, self->before, self->now, WINDOW_LEN));
}

TEST_F(window, hipri_and_o_direct)
{
	int fd = vm_open(self->instance, O_RDWR | O_DIRECT);
	char *buf = vm_pages(64 * KiB);
	struct iovec iov = { buf, 0 };
	size_t len;

	self->may_change = true;
	ASSERT_LE(0, fd);
	for (len = 1; len <= 64 * KiB; len *= 4) {
		iov.iov_len = len;
		ASSERT_EQ((ssize_t)len, preadv2(fd, &iov, 1, WINDOW_OFF + 3, RWF_HIPRI));
		EXPECT_EQ(0, memcmp(buf, self->before + 3, len));
		vm_fill(&state, buf, len);
		memcpy(self->before + 3, buf, len);
		ASSERT_EQ((ssize_t)len,
			  pwritev2(fd, &iov, 1, WINDOW_OFF + 3, RWF_HIPRI | RWF_SYNC));
	}
	close(fd);
	EXPECT_EQ(0, window_is(self->fd, self->before, self->now, WINDOW_LEN));
}

/* Whatever a waiter does before it sleeps, and wherever the data go: the outcome is the same. */
TEST_F(window, poll_us_and_copy_max)
{
	static const char *const poll[] = { "0", "1000", "auto" };
	static const char *const copy[] = { "0", "100", "4096" };
	char *buf = vm_pages(4096), poll_was[16], copy_was[16];
	int i, k;

	self->may_change = true;
	vm_attr(self->instance, "poll_us", poll_was, sizeof(poll_was));
	vm_attr(self->instance, "copy_max", copy_was, sizeof(copy_was));
	EXPECT_EQ(-EINVAL, vm_set_attr(self->instance, "poll_us", "1001"));
	EXPECT_EQ(-EINVAL, vm_set_attr(self->instance, "poll_us", "-1"));
	EXPECT_EQ(-EINVAL, vm_set_attr(self->instance, "copy_max", "4097"));
	for (i = 0; i < 9; i++) {
		ASSERT_EQ(0, vm_set_attr(self->instance, "poll_us", poll[i / 3]));
		ASSERT_EQ(0, vm_set_attr(self->instance, "copy_max", copy[i % 3]));
		EXPECT_TRUE(vm_attr_is(self->instance, "poll_us", poll[i / 3]));
		for (k = 0; k < 20; k++) {
			ASSERT_EQ(0, vm_get(self->fd, WINDOW_OFF + k * 77, buf, 99 + k % 3));
			ASSERT_EQ(0, memcmp(buf, self->before + k * 77, 99 + k % 3));
			vm_fill(&state, buf, 99 + k % 3);
			memcpy(self->before + k * 77, buf, 99 + k % 3);
			ASSERT_EQ(0, vm_put(self->fd, WINDOW_OFF + k * 77, buf, 99 + k % 3,
					    PMOF_F_PERSIST));
		}
	}
	EXPECT_EQ(0, vm_set_attr(self->instance, "poll_us", poll_was));
	EXPECT_EQ(0, window_is(self->fd, self->before, self->now, WINDOW_LEN));
	EXPECT_EQ(0, vm_set_attr(self->instance, "copy_max", copy_was));
}

/* --- splice ------------------------------------------------------------------ */

TEST_F(window, splice_both_ways)
{
	char *buf = vm_pages(64 * KiB);
	loff_t from = WINDOW_OFF + 11, to = WINDOW_OFF + 2 * MiB + 5;
	int p[2];

	self->may_change = true;
	ASSERT_EQ(0, pipe(p));
	ASSERT_EQ(20000, splice(self->fd, &from, p[1], NULL, 20000, 0));
	ASSERT_EQ(WINDOW_OFF + 11 + 20000, (uint64_t)from);
	ASSERT_EQ(20000, splice(p[0], NULL, self->fd, &to, 20000, 0));
	memcpy(self->before + 2 * MiB + 5, self->before + 11, 20000);
	EXPECT_EQ(0, window_is(self->fd, self->before, self->now, WINDOW_LEN));
	/* Past the end there is nothing. */
	from = self->info.ns_size;
	EXPECT_EQ(0, splice(self->fd, &from, p[1], NULL, 4096, SPLICE_F_NONBLOCK));
	/* And from user memory. */
	vm_fill(&state, buf, 10000);
	ASSERT_EQ(10000, vmsplice(p[1], &(struct iovec) { buf, 10000 }, 1, 0));
	to = WINDOW_OFF + 123;
	ASSERT_EQ(10000, splice(p[0], NULL, self->fd, &to, 10000, 0));
	memcpy(self->before + 123, buf, 10000);
	EXPECT_EQ(0, window_is(self->fd, self->before, self->now, WINDOW_LEN));
	close(p[0]);
	close(p[1]);
}

/* --- io_submit ----------------------------------------------------------------- */

TEST_F(window, io_submit)
{
	struct io_event event[16];
	struct iocb cb[16], *cbp[16];
	aio_context_t ctx = 0;
	char *buf = vm_pages(16 * 8192);
	int i, n;

	ASSERT_EQ(0, syscall(SYS_io_setup, 16, &ctx));
	for (i = 0; i < 16; i++) {
		cb[i] = (struct iocb) {
			.aio_data = i, .aio_lio_opcode = IOCB_CMD_PREAD, .aio_fildes = self->fd,
			.aio_buf = (uintptr_t)buf + i * 8192, .aio_nbytes = 5000 + i,
			.aio_offset = WINDOW_OFF + i * 8192,
		};
		cbp[i] = &cb[i];
	}
	ASSERT_EQ(16, syscall(SYS_io_submit, ctx, 16, cbp));
	for (n = 0; n < 16; n++) {
		ASSERT_EQ(1, syscall(SYS_io_getevents, ctx, 1, 1, event, NULL));
		i = event[0].data;
		EXPECT_EQ(5000 + i, (int64_t)event[0].res);
		EXPECT_EQ(0, memcmp(buf + i * 8192, self->before + i * 8192, 5000 + i));
	}
	syscall(SYS_io_destroy, ctx);
}

/* --- io_uring ------------------------------------------------------------------ */

/* One slot of the load: its own piece of buffer and of the window. */
#define SPAN	(8 * KiB)

struct load {
	struct io_uring ring;
	int fd;
	bool fixed;
	char *buf;		/* RING_DEPTH times SPAN */
	char *shadow;
	size_t at[RING_DEPTH], len[RING_DEPTH];
	bool write[RING_DEPTH];
};

static void load_issue(struct load *l, unsigned int i)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&l->ring);
	char *p = l->buf + i * SPAN;
	uint64_t off;

	l->at[i] = vm_rnd(&state) % (SPAN / 2);
	l->len[i] = 1 + vm_rnd(&state) % (vm_rnd(&state) % 2 ? 200 : SPAN / 2);
	l->write[i] = vm_rnd(&state) % 2;
	off = WINDOW_OFF + i * SPAN + l->at[i];
	p += vm_rnd(&state) % (SPAN / 2);
	if (l->write[i]) {
		vm_fill(&state, p, l->len[i]);
		memcpy(l->shadow + i * SPAN + l->at[i], p, l->len[i]);
	} else {
		memset(p, 0, l->len[i]);
	}
	if (l->fixed && l->write[i])
		io_uring_prep_write_fixed(sqe, l->fd, p, l->len[i], off, 0);
	else if (l->fixed)
		io_uring_prep_read_fixed(sqe, l->fd, p, l->len[i], off, 0);
	else if (l->write[i])
		io_uring_prep_write(sqe, l->fd, p, l->len[i], off);
	else
		io_uring_prep_read(sqe, l->fd, p, l->len[i], off);
	if (l->write[i] && vm_rnd(&state) % 2)
		sqe->rw_flags = RWF_DSYNC;
	sqe->user_data = i | (uint64_t)(p - l->buf) << 16;
}

/* Returns an error text, or NULL. */
static const char *load_reap(struct load *l)
{
	uint64_t data = 0;
	int n = ring_wait(&l->ring, &data, NULL);
	unsigned int i = data & 0xffff;

	if (n < 0)
		return strerror(-n);
	if ((size_t)n != l->len[i])
		return "short";
	if (!l->write[i] && memcmp(l->buf + (data >> 16), l->shadow + i * SPAN + l->at[i], n))
		return "the data are wrong";
	load_issue(l, i);
	io_uring_submit(&l->ring);
	return NULL;
}

static const char *load_run(struct load *l, int rounds)
{
	const char *why = NULL;
	unsigned int i;

	for (i = 0; i < RING_DEPTH; i++)
		load_issue(l, i);
	io_uring_submit(&l->ring);
	while (!why && rounds--)
		why = load_reap(l);
	for (i = 0; i < RING_DEPTH && !why; i++)
		if (ring_wait(&l->ring, NULL, NULL) < 0)
			why = "the last ones failed";
	return why;
}

static const char *load_all(int fd, char *shadow, unsigned int ring_flags, bool fixed)
{
	struct load l = { .fd = fd, .fixed = fixed, .shadow = shadow };
	const char *why;

	l.buf = vm_pages(RING_DEPTH * SPAN);
	memset(l.buf, 0, RING_DEPTH * SPAN);
	if (ring_init(&l.ring, ring_flags))
		return "no ring";
	if (fixed && io_uring_register_buffers(&l.ring, &(struct iovec) { l.buf, RING_DEPTH * SPAN }, 1))
		return "no registered buffer";
	why = load_run(&l, 500);
	io_uring_queue_exit(&l.ring);
	munmap(l.buf, RING_DEPTH * SPAN);
	return why;
}

#define LOAD(load_fd, flags, fixed) do {							\
	const char *why = load_all(load_fd, self->before, flags, fixed);			\
	self->may_change = true;							\
	ASSERT_EQ(NULL, why) TH_LOG("%s", why);						\
	EXPECT_EQ(0, window_is(self->fd, self->before, self->now, WINDOW_LEN));		\
} while (0)

TEST_F_TIMEOUT(window, uring_read_write, 120)
{
	LOAD(self->fd, 0, false);
}

TEST_F_TIMEOUT(window, uring_fixed, 120)
{
	LOAD(self->fd, 0, true);
}

TEST_F_TIMEOUT(window, uring_iopoll, 120)
{
	int fd = vm_open(self->instance, O_RDWR | O_DIRECT);

	ASSERT_LE(0, fd);
	LOAD(fd, IORING_SETUP_IOPOLL, false);
	close(fd);
}

/* What takes several posts or windows goes through a worker; vectors and a bad pointer too. */
TEST_F(window, uring_large)
{
	struct io_uring ring;
	char *buf = vm_pages(WINDOW_LEN);
	struct iovec iov[9];

	self->may_change = true;
	ASSERT_EQ(0, ring_init(&ring, 0));
	io_uring_prep_read(io_uring_get_sqe(&ring), self->fd, buf, WINDOW_LEN - 1, WINDOW_OFF + 1);
	EXPECT_EQ((int)WINDOW_LEN - 1, ring_run(&ring, NULL));
	EXPECT_EQ(0, memcmp(buf, self->before + 1, WINDOW_LEN - 1));
	vm_fill(&state, self->before, WINDOW_LEN);
	cut(self->before, WINDOW_LEN, iov, 9);
	io_uring_prep_writev2(io_uring_get_sqe(&ring), self->fd, iov, 9, WINDOW_OFF, RWF_DSYNC);
	EXPECT_EQ((int)WINDOW_LEN, ring_run(&ring, NULL));
	EXPECT_EQ(0, window_is(self->fd, self->before, self->now, WINDOW_LEN));
	io_uring_prep_write(io_uring_get_sqe(&ring), self->fd, vm_edge(10), 5000, WINDOW_OFF);
	EXPECT_EQ(-EFAULT, ring_run(&ring, NULL));
	io_uring_prep_read(io_uring_get_sqe(&ring), self->fd, vm_edge(10), 5000, WINDOW_OFF);
	EXPECT_EQ(-EFAULT, ring_run(&ring, NULL));
	io_uring_prep_fsync(io_uring_get_sqe(&ring), self->fd, IORING_FSYNC_DATASYNC);
	EXPECT_EQ(0, ring_run(&ring, NULL));
	io_uring_queue_exit(&ring);
}

/* A file's pages: written back while a read into them is under way, or so it may be. */
TEST_F(window, uring_read_into_a_file)
{
	int fd = open("/tmp/aio.map", O_RDWR | O_CREAT | O_TRUNC, 0600), i;
	struct io_uring ring;
	char *map;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ftruncate(fd, 256 * KiB));
	map = mmap(NULL, 256 * KiB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, map);
	ASSERT_EQ(0, ring_init(&ring, 0));
	for (i = 0; i < 32; i++) {
		io_uring_prep_read(io_uring_get_sqe(&ring), self->fd, map + i * 8192, 8192,
				   WINDOW_OFF + i * 8192);
		ASSERT_EQ(1, io_uring_submit(&ring));
		if (i % 4 == 0)
			msync(map, 256 * KiB, MS_SYNC);
	}
	for (i = 0; i < 32; i++)
		ASSERT_EQ(8192, ring_wait(&ring, NULL, NULL));
	EXPECT_EQ(0, memcmp(map, self->before, 256 * KiB));
	io_uring_queue_exit(&ring);
	munmap(map, 256 * KiB);
	close(fd);
}

/* What a request costs that nobody waits for is what it costs otherwise. */
TEST_F(window, uring_costs)
{
	static const int cost[2][3] = {
		{ WR_READ, GETS, BYTES_GOT }, { WR_WRITE, PUTS, BYTES_PUT },
	};
	char *buf = vm_pages(8192);
	struct io_uring ring;
	struct counts c;
	int write;

	memcpy(buf, self->before, 8192);
	ASSERT_EQ(0, ring_init(&ring, 0));
	for (write = 0; write < 2; write++) {
		c = take(self->instance);
		io_uring_prep_rw(write ? IORING_OP_WRITE : IORING_OP_READ, io_uring_get_sqe(&ring),
				 self->fd, buf, 8192, WINDOW_OFF);
		EXPECT_EQ(8192, ring_run(&ring, NULL));
		GREW(c, ROUND_TRIPS, 1);
		GREW(c, RPC_CALLS, 0);
		GREW(c, cost[write][0], 1);
		GREW(c, cost[write][1], 1);
		GREW(c, cost[write][2], 8192);
	}
	io_uring_queue_exit(&ring);
}

TEST_HARNESS_MAIN
