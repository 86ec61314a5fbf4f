// SPDX-License-Identifier: GPL-2.0
/*
 * io_uring commands: struct pmof_op in an SQE of 128 bytes. All opcodes, at
 * depth, with registered buffers, polled; bad ones; processes and connections
 * that end under them. Reads and writes are in aio.c.
 */
#include <signal.h>
#include <sys/wait.h>

#include "window.h"
#include "counts.h"
#include "ring.h"

#define op ring_make_op

static uint64_t state = 8086;

/* A command by the fixture's file and ring. */
#define RUN(o, old) ring_op(&ring, self->fd, &(o), old)

/* --- every opcode -------------------------------------------------------------- */

TEST_F_TIMEOUT(window, put_and_get, 120)
{
	static const uint32_t flags[] = { 0, PMOF_F_PERSIST };
	char *buf = vm_pages(64 * KiB);
	struct io_uring ring;
	int i;

	self->may_change = true;
	ASSERT_EQ(0, ring_init_cmd(&ring, 0));
	for (i = 0; i < 100; i++) {
		size_t len = vm_rnd(&state) % (i % 2 ? 300 : 60 * KiB);
		uint64_t at = vm_rnd(&state) % (1 * MiB);
		char *p = buf + vm_rnd(&state) % 4096;
		struct pmof_op put = op(PMOF_OP_PUT, flags[i / 2 % 2], WINDOW_OFF + at, len, p);
		struct pmof_op get = op(PMOF_OP_GET, 0, WINDOW_OFF + at, len, p);

		vm_fill(&state, p, len);
		ASSERT_EQ(0, RUN(put, NULL));
		memcpy(self->before + at, p, len);
		memset(p, 0, len);
		ASSERT_EQ(0, RUN(get, NULL));
		ASSERT_EQ(0, memcmp(self->before + at, p, len)) TH_LOG("round %d", i);
	}
	EXPECT_EQ(0, vm_get(self->fd, WINDOW_OFF, self->now, WINDOW_LEN));
	EXPECT_EQ(0, memcmp(self->before, self->now, WINDOW_LEN));
	io_uring_queue_exit(&ring);
}

/* More than one post: a worker's. */
TEST_F(window, large)
{
	struct pmof_op put = op(PMOF_OP_PUT, PMOF_F_PERSIST, WINDOW_OFF, WINDOW_LEN, self->before);
	struct pmof_op get = op(PMOF_OP_GET, 0, WINDOW_OFF, WINDOW_LEN, self->now);
	struct io_uring ring;

	self->may_change = true;
	ASSERT_EQ(0, ring_init_cmd(&ring, 0));
	vm_fill(&state, self->before, WINDOW_LEN);
	EXPECT_EQ(0, RUN(put, NULL));
	EXPECT_EQ(0, RUN(get, NULL));
	EXPECT_EQ(0, memcmp(self->before, self->now, WINDOW_LEN));
	io_uring_queue_exit(&ring);
}

TEST_F(window, persist)
{
	struct pmof_op p = op(PMOF_OP_PERSIST, 0, WINDOW_OFF, 64 * KiB, NULL);
	struct io_uring ring;
	struct counts c;

	ASSERT_EQ(0, ring_init_cmd(&ring, 0));
	c = take(self->instance);
	EXPECT_EQ(0, RUN(p, NULL));
	GREW(c, PERSISTS, 1);
	p.length = 0;
	EXPECT_EQ(0, RUN(p, NULL));
	io_uring_queue_exit(&ring);
}

/* An entry is the kernel's no more when it is submitted: what is next may stand there. */
TEST_F_TIMEOUT(window, entries_used_again, 120)
{
	struct pmof_op p = op(PMOF_OP_PERSIST, 0, WINDOW_OFF, 4096, NULL);
	struct io_uring ring;
	struct counts c;
	int i, j;

	ASSERT_EQ(0, ring_init_cmd(&ring, 0));
	c = take(self->instance);
	for (i = 0; i < 20; i++) {
		for (j = 0; j < RING_DEPTH; j++)
			ring_cmd(&ring, self->fd, &p, j);
		ASSERT_EQ(RING_DEPTH, io_uring_submit(&ring));
		memset(ring.sq.sqes, 0xff, (size_t)2 * RING_DEPTH * sizeof(*ring.sq.sqes));
		for (j = 0; j < RING_DEPTH; j++)
			ASSERT_EQ(0, ring_wait(&ring, NULL, NULL)) TH_LOG("round %d", i);
	}
	GREW(c, PERSISTS, 20 * RING_DEPTH);
	io_uring_queue_exit(&ring);
}

TEST_F(window, atomics)
{
	struct pmof_op add = op(PMOF_OP_FETCH_ADD, 0, WINDOW_OFF + 64, 8, NULL);
	struct pmof_op cas = op(PMOF_OP_CAS, PMOF_F_PERSIST, WINDOW_OFF + 64, 8, NULL);
	uint64_t zero = 0, old = 1;
	struct io_uring ring;

	self->may_change = true;
	ASSERT_EQ(0, vm_put(self->fd, WINDOW_OFF + 64, &zero, 8, 0));
	ASSERT_EQ(0, ring_init_cmd(&ring, 0));
	add.operand = 5;
	EXPECT_EQ(0, RUN(add, &old));
	EXPECT_EQ(0, old);
	EXPECT_EQ(0, RUN(add, &old));
	EXPECT_EQ(5, old);
	cas.compare = 10;
	cas.operand = 77;
	EXPECT_EQ(0, RUN(cas, &old));
	EXPECT_EQ(10, old);
	EXPECT_EQ(0, RUN(cas, &old));
	EXPECT_EQ(77, old);
	io_uring_queue_exit(&ring);
}

TEST_F(window, objects)
{
	struct pmof_op prepare = op(PMOF_OP_PREPARE, 0, WINDOW_OFF + 512, 256, NULL);
	struct pmof_op commit = op(PMOF_OP_PUT, PMOF_F_COMMIT, WINDOW_OFF + 512, 256, NULL);
	struct pmof_op get = op(PMOF_OP_GET, PMOF_F_VALID, WINDOW_OFF + 512, 256, NULL);
	struct pmof_op again = op(PMOF_OP_REVALIDATE, 0, WINDOW_OFF + 512, 256, NULL);
	char *data = vm_pages(256), *back = vm_pages(256);
	uint64_t generation = 0, old = 0;
	struct io_uring ring;

	self->may_change = true;
	ASSERT_EQ(0, ring_init_cmd(&ring, 0));
	commit.addr = (uintptr_t)data;
	get.addr = (uintptr_t)back;
	vm_fill(&state, data, 256);
	EXPECT_EQ(0, RUN(prepare, &generation));
	EXPECT_NE(0, generation);
	/* An answer, not "try again later": the ring must not run it once more. */
	EXPECT_EQ(-EAGAIN, RUN(get, NULL));
	EXPECT_EQ(-EAGAIN, RUN(again, NULL));
	commit.operand = generation;
	EXPECT_EQ(0, RUN(commit, NULL));
	EXPECT_EQ(0, RUN(get, &old));
	EXPECT_EQ(generation, old);
	EXPECT_EQ(0, memcmp(data, back, 248));
	old = 0;
	EXPECT_EQ(0, RUN(again, &old));
	EXPECT_EQ(generation, old);
	/* Behind a put on some queue or other. */
	ASSERT_EQ(0, vm_put(self->fd, WINDOW_OFF, data, 8, 0));
	EXPECT_EQ(0, RUN(prepare, &old));
	EXPECT_NE(generation, old);
	io_uring_queue_exit(&ring);
}

/* In a chain each waits for the one before, and what is behind a failed one is cancelled. */
TEST_F(window, linked)
{
	uint64_t one = 1, two = 2, seen = 0, data;
	struct pmof_op ops[4] = {
		op(PMOF_OP_PUT, PMOF_F_PERSIST, WINDOW_OFF, 8, &one),
		op(PMOF_OP_GET, 0, WINDOW_OFF, 8, &seen),
		op(PMOF_OP_PUT, 0, WINDOW_OFF, 8, NULL),
		op(PMOF_OP_PUT, 0, WINDOW_OFF, 8, &two),
	};
	int i, rc, result[4] = { 1, 1, 1, 1 };
	struct io_uring ring;

	self->may_change = true;
	ASSERT_EQ(0, ring_init_cmd(&ring, 0));
	for (i = 0; i < 4; i++)
		ring_cmd(&ring, self->fd, &ops[i], i)->flags = i < 3 ? IOSQE_IO_LINK : 0;
	ASSERT_EQ(4, io_uring_submit(&ring));
	for (i = 0; i < 4; i++) {
		rc = ring_wait(&ring, &data, NULL);
		result[data] = rc;
	}
	EXPECT_EQ(0, result[0]);
	EXPECT_EQ(0, result[1]);
	EXPECT_EQ(1, seen);
	EXPECT_EQ(-EFAULT, result[2]);
	EXPECT_EQ(-ECANCELED, result[3]);
	EXPECT_EQ(0, vm_get(self->fd, WINDOW_OFF, &seen, 8));
	EXPECT_EQ(1, seen);
	io_uring_queue_exit(&ring);
}

/* The ring's entries are free again when they are submitted, also of what has yet to begin. */
TEST_F(window, linked_entries_are_free)
{
	uint64_t one = 1, two = 2, seen[3] = { 0 }, data;
	struct pmof_op ops[4] = {
		op(PMOF_OP_PUT, PMOF_F_PERSIST, WINDOW_OFF, 8, &one),
		op(PMOF_OP_GET, 0, WINDOW_OFF, 8, &seen[0]),
		op(PMOF_OP_GET, 0, WINDOW_OFF, 8, &seen[1]),
		op(PMOF_OP_GET, 0, WINDOW_OFF, 8, &seen[2]),
	};
	struct pmof_op other = op(PMOF_OP_PUT, 0, WINDOW_OFF, 8, &two);
	struct io_uring_sqe *sqe[4];
	struct io_uring ring;
	int i;

	self->may_change = true;
	ASSERT_EQ(0, ring_init_cmd(&ring, 0));
	for (i = 0; i < 4; i++) {
		sqe[i] = ring_cmd(&ring, self->fd, &ops[i], i);
		sqe[i]->flags = i < 3 ? IOSQE_IO_LINK : 0;
	}
	ASSERT_EQ(4, io_uring_submit(&ring));
	for (i = 0; i < 4; i++)
		memcpy(sqe[i]->cmd, &other, sizeof(other));
	for (i = 0; i < 4; i++)
		EXPECT_EQ(0, ring_wait(&ring, &data, NULL));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(1, seen[i]);
	EXPECT_EQ(0, vm_get(self->fd, WINDOW_OFF, &seen[0], 8));
	EXPECT_EQ(1, seen[0]);
	io_uring_queue_exit(&ring);
}

/* --- at depth ------------------------------------------------------------------- */

#define SPAN	(8 * KiB)

/* Each tag writes its own place and reads it back, by turns; returns an error text. */
static const char *turns(struct io_uring *ring, int fd, char *buf, char *shadow, unsigned int cmd,
			 int rounds)
{
	bool wrote[RING_DEPTH] = { false };
	uint64_t i;
	int rc;

	for (i = 0; i < RING_DEPTH; i++) {
		struct pmof_op get = op(PMOF_OP_GET, 0, WINDOW_OFF + i * SPAN, SPAN, buf + i * SPAN);

		ring_cmd(ring, fd, &get, i)->rw_flags = cmd;
	}
	io_uring_submit(ring);
	while (rounds--) {
		struct pmof_op next;
		size_t len = 1 + vm_rnd(&state) % (rounds % 3 ? 500 : SPAN);

		rc = ring_wait(ring, &i, NULL);
		if (rc)
			return strerror(-rc);
		if (!wrote[i] && memcmp(buf + i * SPAN, shadow + i * SPAN, SPAN))
			return "the data are wrong";
		wrote[i] = !wrote[i];
		if (wrote[i]) {
			vm_fill(&state, buf + i * SPAN, len);
			memcpy(shadow + i * SPAN, buf + i * SPAN, len);
			next = op(PMOF_OP_PUT, vm_rnd(&state) % 2 ? PMOF_F_PERSIST : 0,
				  WINDOW_OFF + i * SPAN, len, buf + i * SPAN);
		} else {
			next = op(PMOF_OP_GET, 0, WINDOW_OFF + i * SPAN, SPAN, buf + i * SPAN);
		}
		ring_cmd(ring, fd, &next, i)->rw_flags = cmd;
		io_uring_submit(ring);
	}
	for (i = 0; i < RING_DEPTH; i++)
		if (ring_wait(ring, NULL, NULL))
			return "one of the last failed";
	return NULL;
}

/* With @flags for the ring and @cmd for the commands. */
static const char *depth(int fd, char *shadow, unsigned int flags, unsigned int cmd)
{
	char *buf = vm_pages(RING_DEPTH * SPAN);
	struct io_uring ring;
	const char *why;

	memset(buf, 0, RING_DEPTH * SPAN);
	if (ring_init_cmd(&ring, flags))
		return "no ring";
	if (cmd && io_uring_register_buffers(&ring,
					     &(struct iovec) { buf, RING_DEPTH * SPAN }, 1))
		return "no registered buffer";
	why = turns(&ring, fd, buf, shadow, cmd, 500);
	io_uring_queue_exit(&ring);
	munmap(buf, RING_DEPTH * SPAN);
	return why;
}

#define DEPTH(flags, cmd) do {								\
	const char *why = depth(self->fd, self->before, flags, cmd);			\
	self->may_change = true;							\
	ASSERT_EQ(NULL, why) TH_LOG("%s", why);						\
	EXPECT_EQ(0, vm_get(self->fd, WINDOW_OFF, self->now, WINDOW_LEN));		\
	EXPECT_EQ(0, memcmp(self->before, self->now, WINDOW_LEN));			\
} while (0)

TEST_F_TIMEOUT(window, depth, 120)
{
	DEPTH(0, 0);
}

TEST_F_TIMEOUT(window, depth_fixed, 120)
{
	DEPTH(0, IORING_URING_CMD_FIXED);
}

TEST_F_TIMEOUT(window, depth_iopoll, 120)
{
	DEPTH(IORING_SETUP_IOPOLL, 0);
}

TEST_F_TIMEOUT(window, depth_iopoll_fixed, 120)
{
	DEPTH(IORING_SETUP_IOPOLL, IORING_URING_CMD_FIXED);
}

TEST_F_TIMEOUT(window, depth_sqpoll, 120)
{
	DEPTH(IORING_SETUP_SQPOLL, 0);
}

/* Every opcode in a ring that is polled: also what a worker runs. */
TEST_F(window, iopoll_persist_and_large)
{
	struct pmof_op p = op(PMOF_OP_PERSIST, 0, WINDOW_OFF, 4096, NULL);
	struct pmof_op get = op(PMOF_OP_GET, 0, WINDOW_OFF, WINDOW_LEN, self->now);
	struct io_uring ring;

	ASSERT_EQ(0, ring_init_cmd(&ring, IORING_SETUP_IOPOLL));
	EXPECT_EQ(0, RUN(p, NULL));
	EXPECT_EQ(0, RUN(get, NULL));
	EXPECT_EQ(0, memcmp(self->before, self->now, WINDOW_LEN));
	io_uring_queue_exit(&ring);
}

/* --- what it costs ---------------------------------------------------------------- */

TEST_F(window, costs)
{
	struct pmof_op put = op(PMOF_OP_PUT, PMOF_F_PERSIST, WINDOW_OFF, 64, self->before);
	struct pmof_op get = op(PMOF_OP_GET, 0, WINDOW_OFF, 64, self->now);
	struct io_uring ring;
	uint64_t completions;
	struct counts c;

	ASSERT_EQ(0, ring_init_cmd(&ring, 0));
	c = take(self->instance);
	EXPECT_EQ(0, RUN(put, NULL));
	GREW(c, PUTS, 1);
	GREW(c, BYTES_PUT, 64);
	GREW(c, ROUND_TRIPS, 1);
	GREW(c, ERRORS, 0);
	c = take(self->instance);
	completions = vm_stat(self->instance, "stats/completions");
	EXPECT_EQ(0, RUN(get, NULL));
	GREW(c, GETS, 1);
	GREW(c, WR_READ, 1);
	GREW(c, ROUND_TRIPS, 1);
	EXPECT_EQ(1, vm_stat(self->instance, "stats/completions") - completions);
	io_uring_queue_exit(&ring);
}

/* --- bad ones ----------------------------------------------------------------------- */

TEST_F(window, bad_descriptors)
{
	char *junk = vm_pages(4096);
	struct pmof_op good = op(PMOF_OP_PUT, 0, WINDOW_OFF, 64, junk), bad;
	struct io_uring ring;

#define BAD(want, field, value) do {							\
		bad = good;								\
		bad.field = value;							\
		EXPECT_EQ(want, RUN(bad, NULL)) TH_LOG(#field " " #value);		\
	} while (0)
	ASSERT_EQ(0, ring_init_cmd(&ring, 0));
	BAD(-EINVAL, size, 0);
	BAD(-EINVAL, size, sizeof(bad) - 1);
	BAD(-E2BIG, size, 81);
	BAD(-E2BIG, size, UINT32_MAX);
	BAD(-EINVAL, opcode, 0);
	BAD(-EINVAL, opcode, 99);
	BAD(-EINVAL, reserved, 1);
	BAD(-EINVAL, flags, 1U << 31);
	BAD(-EINVAL, flags, PMOF_F_VALID);
	BAD(-EINVAL, compare, 1);
	BAD(-EINVAL, operand, 1);
	BAD(-ERANGE, offset, self->info.ns_size - 63);
	BAD(-ERANGE, length, UINT64_MAX);
	BAD(-EFAULT, addr, 8);
	BAD(-EFAULT, addr, UINT64_MAX - 3);
	good = op(PMOF_OP_CAS, 0, WINDOW_OFF, 8, NULL);
	BAD(-EINVAL, offset, WINDOW_OFF + 4);
	BAD(-EINVAL, addr, 8);
	good = op(PMOF_OP_PUT, PMOF_F_COMMIT, WINDOW_OFF, 64, junk);
	BAD(-EINVAL, operand, 0);
	good.operand = 1;
	BAD(-EINVAL, length, 4);
	good = op(PMOF_OP_GET, 0, WINDOW_OFF, 64, junk);
	BAD(-EINVAL, call, 0x30);
	BAD(-EINVAL, room, 1);
	BAD(-ESTALE, session, self->info.session + 1);
#undef BAD
	ring_cmd(&ring, self->fd, &good, 0)->cmd_op = 1;
	EXPECT_EQ(-ENOTTY, ring_run(&ring, NULL));
	io_uring_queue_exit(&ring);
}

/* Outside the registered buffer, without one, of an operation that has none. */
TEST_F(window, bad_fixed)
{
	char *buf = vm_pages(8192);
	struct pmof_op get = op(PMOF_OP_GET, 0, WINDOW_OFF, 64, buf);
	struct io_uring ring;

	ASSERT_EQ(0, ring_init_cmd(&ring, 0));
	ring_cmd(&ring, self->fd, &get, 0)->rw_flags = IORING_URING_CMD_FIXED;
	EXPECT_EQ(-EFAULT, ring_run(&ring, NULL));
	ASSERT_EQ(0, io_uring_register_buffers(&ring, &(struct iovec) { buf, 4096 }, 1));
	get.addr += 4096 - 63;
	ring_cmd(&ring, self->fd, &get, 0)->rw_flags = IORING_URING_CMD_FIXED;
	EXPECT_EQ(-EFAULT, ring_run(&ring, NULL));
	get.opcode = PMOF_OP_PERSIST;
	get.addr = 0;
	ring_cmd(&ring, self->fd, &get, 0)->rw_flags = IORING_URING_CMD_FIXED;
	EXPECT_EQ(-EINVAL, ring_run(&ring, NULL));
	io_uring_queue_exit(&ring);
}

TEST_F(window, small_sqes_and_the_wrong_mode)
{
	struct pmof_op put = op(PMOF_OP_PUT, 0, WINDOW_OFF, 64, self->before);
	int fd = vm_open(self->instance, O_RDONLY);
	struct io_uring_sqe *sqe;
	struct io_uring ring;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ring_init_cmd(&ring, 0));
	EXPECT_EQ(-EBADF, ring_op(&ring, fd, &put, NULL));
	io_uring_queue_exit(&ring);
	ASSERT_EQ(0, ring_init(&ring, 0));
	sqe = io_uring_get_sqe(&ring);
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = fd;
	EXPECT_EQ(-EINVAL, ring_run(&ring, NULL));
	io_uring_queue_exit(&ring);
	close(fd);
}

/* --- ends ------------------------------------------------------------------------------ */

/* Keeps commands in flight until something fails; returns what. */
static int keep_busy(int fd)
{
	char *buf = vm_pages(RING_DEPTH * SPAN);
	struct io_uring ring;
	uint64_t i;
	int rc;

	if (ring_init_cmd(&ring, 0))
		return -ENOSYS;
	for (i = 0, rc = 0; !rc; i = rc ? i : i + 1) {
		uint64_t tag = i % RING_DEPTH;
		struct pmof_op next = op(tag % 2 ? PMOF_OP_GET : PMOF_OP_PUT,
					 tag % 4 ? 0 : PMOF_F_PERSIST,
					 WINDOW_OFF + tag * SPAN, SPAN, buf + tag * SPAN);

		if (i >= RING_DEPTH)
			rc = ring_wait(&ring, NULL, NULL);
		ring_cmd(&ring, fd, &next, tag);
		io_uring_submit(&ring);
	}
	/* Every one that is under way ends too. */
	for (i = 0; i < RING_DEPTH; i++)
		if (ring_wait(&ring, NULL, NULL) > 0)
			return -EPROTO;
	io_uring_queue_exit(&ring);
	return rc;
}

TEST_F(window, a_killed_process)
{
	int i, status;
	pid_t pid;

	self->may_change = true;
	for (i = 0; i < 6; i++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			_exit(keep_busy(self->fd) ? 1 : 0);
		usleep(60000 + i * 20000);
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
	}
}

/* Commands in flight, and all that follow, end with ENODEV; none is left behind. */
TEST_F(window, disconnect_under_commands)
{
	int instance = vm_connect("queues=2"), fd, status;
	pid_t pid;

	self->may_change = true;
	ASSERT_LE(0, instance);
	fd = vm_open(instance, O_RDWR);
	ASSERT_LE(0, fd);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(-keep_busy(fd));
	usleep(200000);
	EXPECT_EQ(0, vm_disconnect(instance));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(WIFEXITED(status));
	EXPECT_EQ(ENODEV, WEXITSTATUS(status));
	close(fd);
}

TEST_HARNESS_MAIN
