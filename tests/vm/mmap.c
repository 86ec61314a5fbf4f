// SPDX-License-Identifier: GPL-2.0
/*
 * mmap: faults and read-ahead, write-back and its durability, coherence with all
 * other calls through two files and two device nodes, and who may map what.
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "counts.h"

#define PAGE	4096
#define AT	(64 * MiB)
#define AREA	(2 * MiB)
#define NODE	"/dev/pmofc-second-node"

/* --- loads and stores that may fail ------------------------------------------------ */

static sigjmp_buf bus_place;

static void on_bus(int sig)
{
	(void)sig;
	siglongjmp(bus_place, 1);
}

/* True if a load from @p, or a store, raises SIGBUS. */
static bool bus_error(volatile char *p, bool store)
{
	struct sigaction action = { .sa_handler = on_bus }, before;
	volatile bool failed = true;

	sigaction(SIGBUS, &action, &before);
	if (!sigsetjmp(bus_place, 1)) {
		char byte = *p;

		if (store)
			*p = byte + 1;
		failed = false;
	}
	sigaction(SIGBUS, &before, NULL);
	return failed;
}

static void *map(int fd, uint64_t offset, size_t len, int prot, int flags)
{
	return mmap(NULL, len, prot, flags, fd, offset);
}

static void *map_shared(int fd, uint64_t offset, size_t len)
{
	return map(fd, offset, len, PROT_READ | PROT_WRITE, MAP_SHARED);
}

/* Nothing of the area is in the page cache. */
static void drop(int fd)
{
	posix_fadvise(fd, AT, AREA, POSIX_FADV_DONTNEED);
}

/* --- a connection of the test's own, assist: its counters tell it all -------------- */

FIXTURE(mmap) {
	int instance;
	int fd, second;		/* the same device, by two nodes */
	int outside;		/* the namespace, through another connection */
	uint64_t state;
	char *p;		/* the area, shared */
	char *buf;
};

static int open_second_node(int fd)
{
	struct stat st;

	unlink(NODE);
	if (fstat(fd, &st) || mknod(NODE, S_IFCHR | 0600, st.st_rdev))
		return -1;
	return open(NODE, O_RDWR | O_CLOEXEC);
}

FIXTURE_SETUP(mmap)
{
	self->state = 77;
	self->instance = vm_connect("queues=2,persist=assist");
	ASSERT_LE(0, self->instance);
	self->fd = vm_open(self->instance, O_RDWR);
	ASSERT_LE(0, self->fd);
	self->second = open_second_node(self->fd);
	ASSERT_LE(0, self->second);
	self->outside = vm_open(vm_instance(), O_RDWR);
	ASSERT_LE(0, self->outside);
	self->buf = vm_pages(AREA);
	vm_fill(&self->state, self->buf, AREA);
	ASSERT_EQ(0, vm_put(self->outside, AT, self->buf, AREA, PMOF_F_PERSIST));
	self->p = map_shared(self->fd, AT, AREA);
	ASSERT_NE(MAP_FAILED, self->p);
}

FIXTURE_TEARDOWN(mmap)
{
	munmap(self->p, AREA);
	close(self->fd);
	close(self->second);
	if (self->instance >= 0) {
		EXPECT_TRUE(vm_attr_is(self->instance, "state", "live"));
		EXPECT_EQ(0, vm_stat(self->instance, "stats/errors"));
		EXPECT_EQ(0, vm_disconnect(self->instance));
	}
	unlink(NODE);
}

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

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), rc = -1;

	if (fd >= 0) {
		rc = write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
		close(fd);
	}
	return rc;
}

TEST_F(mmap, clean_pages_can_be_dropped)
{
	struct counts c;

	self->p[5] ^= 1;
	EXPECT_EQ(0, memcmp(self->p + 6, self->buf + 6, AREA - 6));
	/* While they are mapped they stay. */
	ASSERT_EQ(0, msync(self->p, AREA, MS_SYNC));
	munmap(self->p, AREA);
	ASSERT_EQ(0, write_file("/proc/sys/vm/drop_caches", "1"));
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

/* What another client finds. */
static bool outside_has(int fd, uint64_t offset, const char *want, size_t len)
{
	char *got = vm_pages(len);
	bool same = !vm_get(fd, offset, got, len) && !memcmp(got, want, len);

	munmap(got, len);
	return same;
}

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

	memset(self->p, 'n', AREA);
	c = take(self->instance);
	ASSERT_EQ(0, fdatasync(self->second));
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
	ASSERT_EQ(0, write_file("/proc/sys/vm/dirty_bytes", "8388608"));
	for (i = 0; i < len; i += 8)
		*(uint64_t *)(p + i) = i;
	ASSERT_EQ(0, write_file("/proc/sys/vm/dirty_ratio", "20"));
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

TEST_F(mmap, read_only_file)
{
	int fd = vm_open(self->instance, O_RDONLY);
	char *q;

	ASSERT_LE(0, fd);
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
	char *q;

	if (fd < 0)
		fd = vm_open(instance, O_RDONLY);
	ASSERT_LE(0, fd);
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
	EXPECT_EQ(0, vm_disconnect(instance));
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
	ASSERT_EQ(0, vm_disconnect(self->instance));
	self->instance = -1;
	for (i = 0; i < 4; i++)
		EXPECT_EQ(0, wait_ok(pid[i]));
}

TEST_HARNESS_MAIN
