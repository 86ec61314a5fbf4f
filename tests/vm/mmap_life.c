// SPDX-License-Identifier: GPL-2.0
/* Mappings of the character device: processes, parts of mappings, rights, and their end. */
#include <sys/wait.h>

#include "mapping.h"

/* --- processes --------------------------------------------------------------------------- */

static int wait_ok(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(mmap, fork_shares)
{
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (!pid) {
		self->p[11] = 'f';
		_exit(msync(self->p, PAGE, MS_SYNC) != 0);
	}
	EXPECT_EQ(0, wait_ok(pid));
	EXPECT_EQ('f', self->p[11]);
	self->buf[11] = 'f';
	EXPECT_TRUE(outside_has(self->outside, AT, self->buf, PAGE));
}

/* Every other byte of the same pages, each with msyncs of its own. */
static int scribble(char *p, int which, unsigned int rounds)
{
	uint64_t state = which + 5;
	size_t i;

	while (rounds--) {
		for (i = which; i < 16 * PAGE; i += 2)
			p[i] = rounds + i;
		i = vm_rnd(&state) % 16;
		if (msync(p + i * PAGE, PAGE, MS_SYNC))
			return 1;
	}
	return 0;
}

TEST_F(mmap, two_processes_scribble_on_the_same_pages)
{
	char *q = map_shared(self->second, AT, AREA);
	pid_t pid = fork();
	size_t i;

	ASSERT_NE(MAP_FAILED, q);
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(scribble(q, 1, 40));
	EXPECT_EQ(0, scribble(self->p, 0, 40));
	EXPECT_EQ(0, wait_ok(pid));
	for (i = 0; i < 16 * PAGE; i++)
		self->buf[i] = i;
	ASSERT_EQ(0, msync(self->p, AREA, MS_SYNC));
	EXPECT_EQ(0, memcmp(self->p, self->buf, AREA));
	EXPECT_TRUE(outside_has(self->outside, AT, self->buf, AREA));
	munmap(q, AREA);
}

/* Killed between its stores and anything else: what it stored is the others' still. */
TEST_F(mmap, stores_of_a_killed_process_stay)
{
	int pipes[2];
	pid_t pid;
	char c;

	ASSERT_EQ(0, pipe(pipes));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		memset(self->p, 'k', 100 * PAGE);
		c = write(pipes[1], "x", 1);
		for (;;)
			msync(self->p, AREA, MS_SYNC);
	}
	ASSERT_EQ(1, read(pipes[0], &c, 1));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	memset(self->buf, 'k', 100 * PAGE);
	ASSERT_EQ(0, msync(self->p, AREA, MS_SYNC));
	EXPECT_TRUE(outside_has(self->outside, AT, self->buf, AREA));
}

/* --- parts of mappings --------------------------------------------------------------------- */

TEST_F(mmap, partial_munmap)
{
	self->p[0] = self->p[8 * PAGE] = self->p[20 * PAGE] = 'm';
	self->buf[0] = self->buf[8 * PAGE] = self->buf[20 * PAGE] = 'm';
	ASSERT_EQ(0, munmap(self->p + 4 * PAGE, 8 * PAGE));
	EXPECT_EQ(-1, msync(self->p, AREA, MS_SYNC));
	EXPECT_EQ(ENOMEM, errno);
	EXPECT_EQ(0, memcmp(self->p + 12 * PAGE, self->buf + 12 * PAGE, AREA - 12 * PAGE));
	/* What was stored through the part that is gone is in the cache all the same. */
	ASSERT_EQ(0, fsync(self->fd));
	EXPECT_TRUE(outside_has(self->outside, AT, self->buf, AREA));
}

TEST_F(mmap, mremap_moves_and_grows)
{
	char *p;

	self->p[0] = 'r';
	self->buf[0] = 'r';
	p = mremap(self->p, AREA / 2, AREA, MREMAP_MAYMOVE);
	if (p == MAP_FAILED)	/* its other half is in the way, and stays */
		p = mremap(self->p, AREA, 2 * AREA, MREMAP_MAYMOVE);
	ASSERT_NE(MAP_FAILED, p);
	EXPECT_EQ(0, memcmp(p, self->buf, AREA));
	p[1] = 'e';
	self->buf[1] = 'e';
	self->p = p;
	ASSERT_EQ(0, msync(p, PAGE, MS_SYNC));
	EXPECT_TRUE(outside_has(self->outside, AT, self->buf, PAGE));
}

TEST_F(mmap, private_copies_stay_private)
{
	char *q = map(self->fd, AT, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE);

	ASSERT_NE(MAP_FAILED, q);
	EXPECT_EQ(0, memcmp(q, self->buf, AREA));
	memset(q, 'p', 3 * PAGE);
	ASSERT_EQ(0, msync(q, AREA, MS_SYNC));
	EXPECT_EQ(0, memcmp(self->p, self->buf, AREA));
	EXPECT_TRUE(outside_has(self->outside, AT, self->buf, AREA));
	/* Where nothing was copied it shows what others write. */
	self->p[4 * PAGE] ^= 1;
	EXPECT_EQ(self->p[4 * PAGE], q[4 * PAGE]);
	EXPECT_EQ('p', q[0]);
	munmap(q, AREA);
}

/* --- the end of the namespace -------------------------------------------------------------- */

TEST_F(mmap, past_the_end_is_a_bus_error)
{
	struct pmof_info info;
	uint64_t last;
	char *q;

	ASSERT_EQ(0, vm_info(self->fd, &info));
	last = (info.ns_size - 1) / PAGE * PAGE;
	q = map_shared(self->fd, last, 3 * PAGE);
	ASSERT_NE(MAP_FAILED, q);
	EXPECT_FALSE(bus_error(q, true));
	EXPECT_FALSE(bus_error(q + (info.ns_size - 1) % PAGE, true));
	EXPECT_TRUE(bus_error(q + PAGE, false));
	EXPECT_TRUE(bus_error(q + 2 * PAGE, true));
	ASSERT_EQ(0, msync(q, 3 * PAGE, MS_SYNC));
	munmap(q, 3 * PAGE);
	/* A mapping that is nowhere in it. */
	q = map_shared(self->fd, last + 16 * MiB, PAGE);
	ASSERT_NE(MAP_FAILED, q);
	EXPECT_TRUE(bus_error(q, false));
	munmap(q, PAGE);
}

/* --- rights ------------------------------------------------------------------------------------ */

/* @fd's shared mappings can be read and not written; it is closed. */
static void expect_reads_only(struct __test_metadata *_metadata, FIXTURE_DATA(mmap) *self, int fd)
{
	char *q;

	EXPECT_EQ(MAP_FAILED, map_shared(fd, AT, PAGE));
	EXPECT_EQ(EACCES, errno);
	q = map(fd, AT, PAGE, PROT_READ, MAP_SHARED);
	ASSERT_NE(MAP_FAILED, q);
	EXPECT_EQ(0, memcmp(q, self->buf, PAGE));
	EXPECT_EQ(-1, mprotect(q, PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	munmap(q, PAGE);
	q = map(fd, AT, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	ASSERT_NE(MAP_FAILED, q);
	q[0] ^= 1;
	munmap(q, PAGE);
	close(fd);
}

TEST_F(mmap, read_only_file)
{
	int fd = vm_open(self->instance, O_RDONLY);

	ASSERT_LE(0, fd);
	expect_reads_only(_metadata, self, fd);
}

TEST_F(mmap, write_only_file)
{
	int fd = vm_open(self->instance, O_WRONLY);

	ASSERT_LE(0, fd);
	EXPECT_EQ(MAP_FAILED, map_shared(fd, AT, PAGE));
	EXPECT_EQ(EACCES, errno);
	close(fd);
}

TEST_F(mmap, read_only_session)
{
	int instance = vm_connect("queues=1,read_only=1");
	int fd = vm_open(instance, O_RDWR);

	if (fd < 0)
		fd = vm_open(instance, O_RDONLY);
	ASSERT_LE(0, fd);
	expect_reads_only(_metadata, self, fd);
	EXPECT_EQ(0, vm_disconnect(instance));
}

/* --- who closes ------------------------------------------------------------------------------ */

#define READERS	8

/* Each its own pages: somewhere there is always one that has just come. */
static int touch(int fd, uint64_t state, volatile unsigned long *touched)
{
	const volatile char *q = map(fd, AT, AREA, PROT_READ, MAP_SHARED);

	while (q != MAP_FAILED) {
		(void)q[vm_rnd(&state) % AREA];
		(*touched)++;
	}
	return 1;
}

/* All have read on from here. */
static bool all_go_on(const volatile unsigned long *touched)
{
	unsigned long was[READERS];
	int i, tries;

	for (i = 0; i < READERS; i++)
		was[i] = touched[i];
	for (i = 0, tries = 0; i < READERS; i++)
		while (touched[i] == was[i])
			if (usleep(20000), tries++ == 1000)
				return false;
	return true;
}

/* The last writer drops the pages; readers have theirs again at once, as fast as they go. */
TEST_F_TIMEOUT(mmap, a_writer_closes_under_readers, 60)
{
	volatile unsigned long *touched = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
					       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int fd = vm_open(self->instance, O_RDONLY), i, status;
	pid_t pid[READERS];

	ASSERT_LE(0, fd);
	ASSERT_NE(MAP_FAILED, touched);
	munmap(self->p, AREA);
	close(self->fd);
	close(self->second);
	for (i = 0; i < READERS; i++) {
		pid[i] = fork();
		ASSERT_LE(0, pid[i]);
		if (!pid[i])
			_exit(touch(fd, i + 1, &touched[i]));
	}
	EXPECT_TRUE(all_go_on(touched));
	for (i = 0; i < 20; i++) {
		self->fd = vm_open(self->instance, O_RDWR);
		ASSERT_LE(0, self->fd);
		ASSERT_EQ(0, close(self->fd));
	}
	EXPECT_TRUE(all_go_on(touched));
	for (i = 0; i < READERS; i++) {
		kill(pid[i], SIGKILL);
		ASSERT_EQ(pid[i], waitpid(pid[i], &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
	self->fd = vm_open(self->instance, O_RDWR);
	self->second = fd;
	self->p = map_shared(self->fd, AT, AREA);
}

/* --- the end of the device --------------------------------------------------------------------- */

TEST_F(mmap, disconnect_under_a_mapping)
{
	char *q = map(self->fd, AT, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE);

	ASSERT_NE(MAP_FAILED, q);
	q[PAGE] = 'c';
	self->p[0] = 'l';
	self->buf[0] = 'l';
	ASSERT_EQ(0, vm_disconnect(self->instance));
	self->instance = -1;
	/* It was written back first. */
	EXPECT_TRUE(outside_has(self->outside, AT, self->buf, AREA));
	EXPECT_TRUE(bus_error(self->p, false));
	EXPECT_TRUE(bus_error(self->p, true));
	EXPECT_TRUE(bus_error(self->p + MiB, true));
	EXPECT_TRUE(bus_error(q, false));
	EXPECT_EQ('c', q[PAGE]);
	EXPECT_EQ(-1, msync(self->p, AREA, MS_SYNC));
	EXPECT_EQ(ENODEV, errno);
	EXPECT_EQ(MAP_FAILED, map_shared(self->fd, AT, PAGE));
	EXPECT_EQ(ENODEV, errno);
	munmap(q, AREA);
}

/* Threads that store, msync and read while the device goes: errors or SIGBUS, then peace. */
TEST_F_TIMEOUT(mmap, disconnect_under_load, 60)
{
	pid_t pid[4];
	int i;

	for (i = 0; i < 4; i++) {
		pid[i] = fork();
		ASSERT_LE(0, pid[i]);
		if (pid[i])
			continue;
		for (;;) {
			size_t off = vm_rnd(&self->state) % AREA;

			if (bus_error(self->p + off, true) ||
			    msync(self->p + off / PAGE * PAGE, PAGE, MS_SYNC))
				_exit(0);
			self->state += i;
		}
	}
	usleep(500000);
	/* No error so far. */
	for (i = 0; i < 4; i++)
		EXPECT_EQ(0, waitpid(pid[i], NULL, WNOHANG));
	ASSERT_EQ(0, vm_disconnect(self->instance));
	self->instance = -1;
	for (i = 0; i < 4; i++)
		EXPECT_EQ(0, wait_ok(pid[i]));
}

TEST_HARNESS_MAIN
