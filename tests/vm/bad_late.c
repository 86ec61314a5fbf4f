// SPDX-License-Identifier: GPL-2.0
/*
 * Sectors that turn bad under a connection that goes on. Server and client are one machine:
 * PMOF_BAD_LIST is the device's list of bad blocks, a 1 to PMOF_BAD_RESCAN has the server read it,
 * which it does not by itself, and a 0 to PMOF_BAD_PORT keeps a client that has lost its
 * connection from coming back. What turns bad stays so: each test has a page of its own.
 */
#include "mapping.h"

#undef AREA
#define SECTOR		512
#define AREA		(1 * MiB)
#define PATIENCE	60	/* seconds */
#define THREADS		16
#define PAGES		16
#define PAGE_AT(n)	(32 * MiB + (n) * AREA)

FIXTURE(late) {
	int instance;
	int fd;
	char *buf;
};

FIXTURE_SETUP(late)
{
	uint64_t state = 4711;

	self->buf = vm_pages(AREA);
	vm_fill(&state, self->buf, AREA);
	self->instance = -1;
	self->fd = -1;
}

FIXTURE_TEARDOWN(late)
{
	EXPECT_TRUE(vm_attr_is(self->instance, "state", "live"));
	close(self->fd);
	EXPECT_EQ(0, vm_disconnect(self->instance));
}

static int late_connect(FIXTURE_DATA(late) *self, const char *more)
{
	char options[128];

	snprintf(options, sizeof(options), "device_loss_timeout=60,reconnect_delay=1,queues=1,%s",
		 more);
	self->instance = vm_connect(options);
	self->fd = vm_open(self->instance, O_RDWR);
	return self->fd < 0 ? -1 : 0;
}

static int block_open(FIXTURE_DATA(late) *self)
{
	int fd, tries = 100;
	char path[32];

	snprintf(path, sizeof(path), "/dev/pmof%d", self->instance);
	do {
		fd = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	} while (fd < 0 && tries-- && !usleep(50000));
	return fd;
}

static bool state_is(FIXTURE_DATA(late) *self, const char *state)
{
	double end = vm_now() + PATIENCE;

	while (!vm_attr_is(self->instance, "state", state) && vm_now() < end)
		usleep(20000);
	return vm_attr_is(self->instance, "state", state);
}

/* On the list, and nobody has looked. */
static int turn_bad(uint64_t offset)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu 1", (unsigned long long)(offset / SECTOR));
	return vm_write_file(vm_env("PMOF_BAD_LIST", ""), text);
}

static int rescan(void)
{
	return vm_write_file(vm_env("PMOF_BAD_RESCAN", ""), "1");
}

static int listen_again(bool on)
{
	return vm_write_file(vm_env("PMOF_BAD_PORT", ""), on ? "1" : "0");
}

/* A scrub has found it, and the client is back with a map that has it. */
static bool found(FIXTURE_DATA(late) *self, uint64_t offset)
{
	uint64_t before = vm_attr_number(self->instance, "reconnects");
	double end = vm_now() + PATIENCE;

	if (turn_bad(offset) || rescan())
		return false;
	while (vm_attr_number(self->instance, "reconnects") == before && vm_now() < end)
		usleep(20000);
	return state_is(self, "live");
}

/* By a page that has nothing to do with it. */
static bool cut(FIXTURE_DATA(late) *self, uint64_t offset)
{
	return !listen_again(false) && !turn_bad(offset + 16 * PAGE) && !rescan() &&
	       state_is(self, "recovering");
}

TEST_F_TIMEOUT(late, puts_before, 120)
{
	uint64_t at = PAGE_AT(0), size;
	struct pmof_info info;
	char got[SECTOR];

	ASSERT_EQ(0, late_connect(self, "persist=assist"));
	ASSERT_EQ(0, vm_info(self->fd, &info));
	size = info.ns_size;
	ASSERT_EQ(0, vm_put(self->fd, at, self->buf, SECTOR, 0));
	ASSERT_TRUE(found(self, at + 2 * SECTOR));
	/* What was put there lies beside it. */
	EXPECT_EQ(0, vm_persist(self->fd, 0, size));
	EXPECT_EQ(0, vm_persist(self->fd, 0, size));
	EXPECT_EQ(0, fsync(self->fd));
	EXPECT_EQ(0, vm_get(self->fd, at, got, SECTOR));
	EXPECT_EQ(0, memcmp(got, self->buf, SECTOR));
	/* Who names little means what he names. */
	EXPECT_EQ(0, vm_persist(self->fd, at, 2 * SECTOR));
	EXPECT_EQ(-EIO, vm_persist(self->fd, at, 3 * SECTOR));
}

TEST_F_TIMEOUT(late, cached_writes_before, 120)
{
	uint64_t at = PAGE_AT(1);
	int fd;

	ASSERT_EQ(0, late_connect(self, "persist=assist,block=1,cache=writeback"));
	fd = block_open(self);
	ASSERT_LE(0, fd);
	ASSERT_EQ(SECTOR, pwrite(fd, self->buf, SECTOR, at));
	ASSERT_TRUE(found(self, at + 2 * SECTOR));
	EXPECT_EQ(0, fsync(fd));
	EXPECT_EQ(SECTOR, pwrite(fd, self->buf, SECTOR, at + SECTOR));
	EXPECT_EQ(0, fsync(fd));
	EXPECT_EQ(SECTOR, pread(fd, self->buf, SECTOR, at));
	close(fd);
}

/* One page of memory, twice: the end of the one is never the start of the other. */
static char *twice(void)
{
	char *p = vm_pages(2 * PAGE);
	int fd = memfd_create("twice", 0), i;

	for (i = 0; i < 2; i++)
		if (ftruncate(fd, PAGE) ||
		    mmap(p + i * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			 0) == MAP_FAILED)
			abort();
	close(fd);
	return p;
}

/* Its parts of memory meet in the middle of the bad sector. */
TEST_F_TIMEOUT(late, overwritten_from_two_parts, 120)
{
	uint64_t at = PAGE_AT(2);
	char *from = twice() + PAGE - 1200;
	int fd;

	memcpy(from, self->buf, PAGE);
	ASSERT_EQ(0, late_connect(self, "persist=assist,block=1"));
	fd = block_open(self);
	ASSERT_LE(0, fd);
	ASSERT_TRUE(found(self, at + 2 * SECTOR));
	EXPECT_EQ(-1, pread(fd, self->buf + 64 * KiB, 4096, at));
	EXPECT_EQ(4096, pwrite(fd, from, 4096, at));
	EXPECT_EQ(4096, pread(fd, self->buf + 64 * KiB + 8, 4096, at));
	EXPECT_EQ(0, memcmp(from, self->buf + 64 * KiB + 8, 4096));
	close(fd);
}

struct putter {
	pthread_t thread;
	const void *buf;
	int fd, rc;
	uint64_t at;
	bool *stop;
};

static void *put_many(void *arg)
{
	struct putter *p = arg;

	while (!p->rc && !__atomic_load_n(p->stop, __ATOMIC_RELAXED))
		p->rc = vm_put(p->fd, p->at, p->buf, 128, PMOF_F_PERSIST);
	return NULL;
}

/* The first puts to the sector that turns bad; all share their trains. */
TEST_F_TIMEOUT(late, one_of_a_train, 120)
{
	struct putter p[THREADS];
	bool stop = false;
	int i;

	ASSERT_EQ(0, late_connect(self, "persist=assist"));
	ASSERT_EQ(0, vm_set_attr(self->instance, "trains", "1"));
	for (i = 0; i < THREADS; i++) {
		p[i] = (struct putter){ .fd = self->fd, .buf = self->buf, .stop = &stop,
					.at = PAGE_AT(3) + i * PAGE };
		ASSERT_EQ(0, pthread_create(&p[i].thread, NULL, put_many, &p[i]));
	}
	usleep(200000);
	EXPECT_EQ(0, turn_bad(PAGE_AT(3)));
	pthread_join(p[0].thread, NULL);
	EXPECT_EQ(-EIO, p[0].rc);
	/* The server looks at the list for what it has refused: the client comes back without it. */
	for (i = 0; i < 500 && !vm_attr_number(self->instance, "reconnects"); i++)
		usleep(20000);
	EXPECT_LT(0, vm_attr_number(self->instance, "reconnects"));
	usleep(200000);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 1; i < THREADS; i++) {
		pthread_join(p[i].thread, NULL);
		EXPECT_EQ(0, p[i].rc) TH_LOG("thread %d", i);
	}
}

/* A process has begun what takes a connection: it goes on when that is back, and exits with 7. */
static void waits_for_connection(struct __test_metadata *_metadata, FIXTURE_DATA(late) *self,
				 pid_t pid)
{
	int i, status = 0;

	sleep(2);
	EXPECT_EQ(0, waitpid(pid, &status, WNOHANG));
	EXPECT_EQ(0, listen_again(true));
	EXPECT_TRUE(state_is(self, "live"));
	for (i = 0; i < 1000 && !waitpid(pid, &status, WNOHANG); i++)
		usleep(20000);
	EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

/* The connection is lost when the page is to be read: it is read on the next. */
/*
 * Of what is written back together, only the page fails that cannot be written; nor does that,
 * where the server has found it meanwhile and the client is back: it overwrites it then.
 */
TEST_F_TIMEOUT(late, mapped_stores_together, 120)
{
	uint64_t at = PAGE_AT(6), put, seen;
	unsigned int i;
	int failed, rc;
	char *map;

	ASSERT_EQ(0, late_connect(self, "persist=assist"));
	map = map_shared(self->fd, at, PAGES * PAGE);
	ASSERT_NE(MAP_FAILED, map);
	for (i = 0; i < PAGES; i++)
		memset(map + i * PAGE, 'a' + i, PAGE);
	put = vm_attr_number(self->instance, "stats/bytes_put");
	ASSERT_EQ(0, turn_bad(at + 5 * PAGE));
	failed = msync(map, PAGES * PAGE, MS_SYNC);
	if (failed)
		EXPECT_EQ(EIO, errno);
	EXPECT_EQ(put + (PAGES - !!failed) * PAGE,
		  vm_attr_number(self->instance, "stats/bytes_put"));
	EXPECT_EQ(0, msync(map, PAGES * PAGE, MS_SYNC));
	munmap(map, PAGES * PAGE);
	ASSERT_TRUE(state_is(self, "live"));
	EXPECT_EQ(0, posix_fadvise(self->fd, at, PAGES * PAGE, POSIX_FADV_DONTNEED));
	for (i = 0; i < PAGES; i++) {
		rc = vm_get(self->fd, at + i * PAGE, &seen, sizeof(seen));
		EXPECT_EQ(failed && i == 5 ? -EIO : 0, rc) TH_LOG("%u", i);
		if (!rc)
			EXPECT_EQ('a' + i, seen & 0xff);
	}
}

TEST_F_TIMEOUT(late, mapped_load, 180)
{
	uint64_t at = PAGE_AT(4);
	char *map;
	pid_t pid;

	ASSERT_EQ(0, late_connect(self, "persist=assist"));
	ASSERT_EQ(0, vm_put(self->fd, at, self->buf, 2 * PAGE, PMOF_F_PERSIST));
	ASSERT_TRUE(found(self, at + 2 * SECTOR));
	map = map_shared(self->fd, at, 2 * PAGE);
	ASSERT_NE(MAP_FAILED, map);
	ASSERT_TRUE(cut(self, at));
	pid = fork();
	if (!pid)
		_exit(bus_error(map, false) ? 7 : 8);
	/* A page is read as a whole. */
	waits_for_connection(_metadata, self, pid);
	EXPECT_EQ(0, memcmp(map + PAGE, self->buf + PAGE, PAGE));
	munmap(map, 2 * PAGE);
}

/* Likewise when it is to be written; all of it overwrites the bad sector. */
TEST_F_TIMEOUT(late, mapped_store, 180)
{
	uint64_t at = PAGE_AT(5);
	char got[PAGE], *map;
	pid_t pid;

	ASSERT_EQ(0, late_connect(self, "persist=assist"));
	map = map_shared(self->fd, at, PAGE);
	ASSERT_NE(MAP_FAILED, map);
	memcpy(map, self->buf, PAGE);
	ASSERT_TRUE(found(self, at + 2 * SECTOR));
	ASSERT_TRUE(cut(self, at));
	pid = fork();
	if (!pid)
		_exit(msync(map, PAGE, MS_SYNC) ? 8 : 7);
	waits_for_connection(_metadata, self, pid);
	munmap(map, PAGE);
	EXPECT_EQ(0, posix_fadvise(self->fd, at, PAGE, POSIX_FADV_DONTNEED));
	EXPECT_EQ(0, vm_get(self->fd, at, got, PAGE));
	EXPECT_EQ(0, memcmp(got, self->buf, PAGE));
}

TEST_HARNESS_MAIN
