// SPDX-License-Identifier: GPL-2.0
/*
 * Connections that come and go under open files and running operations.
 * The script lifecycle-client.sh has the rest: cycles, leaks, modules.
 */
#include "kselftest_harness.h"
#include "vm.h"

FIXTURE(conn) {
	int instance;
	int fd;
};

FIXTURE_SETUP(conn)
{
	self->instance = vm_connect("queues=2");
	ASSERT_LE(0, self->instance);
	self->fd = vm_open(self->instance, O_RDWR);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(conn)
{
	close(self->fd);
	if (self->instance >= 0)
		vm_disconnect(self->instance);
}

static char page[4096];

TEST_F(conn, open_file_after_disconnect)
{
	struct pmof_op op = { .size = sizeof(op), .opcode = PMOF_OP_PUT, .length = 8,
			      .addr = (uintptr_t)page };
	struct pmof_info info;
	uint64_t old;
	int rc;

	ASSERT_EQ(0, vm_disconnect(self->instance));
	EXPECT_EQ(-ENODEV, vm_put(self->fd, 0, page, 64, 0));
	EXPECT_EQ(-ENODEV, vm_put(self->fd, 0, page, 64, PMOF_F_PERSIST));
	EXPECT_EQ(-ENODEV, vm_get(self->fd, 0, page, 64));
	EXPECT_EQ(-ENODEV, vm_persist(self->fd, 0, 64));
	EXPECT_EQ(-ENODEV, vm_cas(self->fd, 0, 0, 0, &old));
	EXPECT_EQ(-ENODEV, vm_info(self->fd, &info));
	if (!vm_submit(self->fd, &op, 1))
		EXPECT_EQ(-ENODEV, op.result);
	EXPECT_EQ(-1, pread(self->fd, page, 64, 0));
	EXPECT_EQ(ENODEV, errno);
	EXPECT_EQ(-1, pwrite(self->fd, page, 64, 0));
	EXPECT_EQ(ENODEV, errno);
	EXPECT_EQ(-1, fsync(self->fd));
	EXPECT_EQ(ENODEV, errno);
	EXPECT_EQ(-ENOENT, vm_open(self->instance, O_RDWR));
	/* The entry in sysfs goes right after the disconnect has returned. */
	rc = vm_disconnect(self->instance);
	EXPECT_TRUE(rc == -ENOENT || rc == -ENODEV);
	self->instance = -1;
}

/* The number is free for another connection; the old file stays dead. */
TEST_F(conn, old_file_and_new_connection)
{
	int fresh;

	ASSERT_EQ(0, vm_disconnect(self->instance));
	self->instance = -1;
	fresh = vm_connect("");
	ASSERT_LE(0, fresh);
	EXPECT_EQ(-ENODEV, vm_get(self->fd, 0, page, 64));
	EXPECT_EQ(0, vm_disconnect(fresh));
}

struct worker {
	pthread_t thread;
	int fd, id, rc;
	uint64_t done;
};

static void *hammer(void *arg)
{
	struct worker *w = arg;
	uint64_t state = w->id + 1, old;
	char *buf = vm_pages(1 * MiB);

	while (!w->rc) {
		uint64_t off = vm_rnd(&state) % (32 * MiB), len = 1 + vm_rnd(&state) % (1 * MiB);

		switch (vm_rnd(&state) % 5) {
		case 0:
			w->rc = vm_get(w->fd, off, buf, len);
			break;
		case 1:
			w->rc = vm_put(w->fd, off, buf, len, 0);
			break;
		case 2:
			w->rc = vm_persist(w->fd, off, len);
			break;
		case 3:
			w->rc = vm_fetch_add(w->fd, off & ~7ULL, 1, &old);
			break;
		default:
			w->rc = vm_put(w->fd, off, buf, len, PMOF_F_PERSIST);
		}
		w->done++;
	}
	munmap(buf, 1 * MiB);
	return NULL;
}

/* Eight threads in the middle of operations: each gets ENODEV, soon, and none hangs. */
TEST_F_TIMEOUT(conn, disconnect_under_load, 60)
{
	struct worker w[8];
	int i, round;
	double start;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < 8; i++) {
			w[i] = (struct worker){ .fd = self->fd, .id = i };
			ASSERT_EQ(0, pthread_create(&w[i].thread, NULL, hammer, &w[i]));
		}
		usleep(500000);
		start = vm_now();
		EXPECT_EQ(0, vm_disconnect(self->instance));
		EXPECT_LT(vm_now() - start, 25);
		for (i = 0; i < 8; i++) {
			pthread_join(w[i].thread, NULL);
			EXPECT_EQ(-ENODEV, w[i].rc);
			EXPECT_LT(0, w[i].done);
		}
		EXPECT_LT(vm_now() - start, 25);
		close(self->fd);
		self->instance = vm_connect("queues=2");
		ASSERT_LE(0, self->instance);
		self->fd = vm_open(self->instance, O_RDWR);
		ASSERT_LE(0, self->fd);
	}
}

/* A process that is killed in the middle of large transfers leaves nothing behind. */
TEST_F_TIMEOUT(conn, killed_in_the_middle, 60)
{
	int i, status;
	pid_t pid;

	for (i = 0; i < 5; i++) {
		pid = fork();
		if (!pid) {
			char *buf = vm_pages(32 * MiB);

			for (;;)
				vm_put(self->fd, 0, buf, 32 * MiB, PMOF_F_PERSIST);
		}
		usleep(100000 + i * 37000);
		kill(pid, SIGKILL);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
		EXPECT_EQ(0, vm_get(self->fd, 0, page, sizeof(page)));
	}
	EXPECT_TRUE(vm_attr_is(self->instance, "state", "live"));
}

/* Nobody can write to or read a device that another process disconnects at the same time. */
TEST_F(conn, two_disconnects_at_once)
{
	int pid, status, mine;

	pid = fork();
	if (!pid)
		_exit(vm_disconnect(self->instance) ? 1 : 0);
	mine = vm_disconnect(self->instance);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	/* Whoever came second finds the file gone, or its write refused. */
	EXPECT_TRUE(!mine || !WEXITSTATUS(status));
	EXPECT_EQ(-ENODEV, vm_get(self->fd, 0, page, 64));
	self->instance = -1;
}

/* --- connecting --------------------------------------------------------------- */

TEST(connect_errors)
{
	const char *server = vm_env("LAB_SERVER_IP", "10.77.0.1");
	char long_line[2000];
	char text[300];
	int fd;

	EXPECT_EQ(-EINVAL, vm_connect_raw("nonsense"));
	EXPECT_EQ(-EINVAL, vm_connect_raw(""));
	EXPECT_EQ(-EINVAL, vm_connect("queues=0"));
	EXPECT_EQ(-EINVAL, vm_connect("queues=129"));
	EXPECT_EQ(-EINVAL, vm_connect("persist=nothing"));
	EXPECT_EQ(-EINVAL, vm_connect_raw("addr=nowhere,name=data"));
	memset(long_line, 'a', sizeof(long_line) - 1);
	long_line[sizeof(long_line) - 1] = '\0';
	EXPECT_EQ(-EINVAL, vm_connect_raw(long_line));
	snprintf(text, sizeof(text), "addr=%s,name=nothing", server);
	EXPECT_EQ(-ENOENT, vm_connect_raw(text));
	snprintf(text, sizeof(text), "addr=%s,port=1,name=data", server);
	EXPECT_EQ(-ECONNREFUSED, vm_connect_raw(text));
	fd = open("/dev/pmof-control", O_RDWR);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-1, read(fd, text, sizeof(text)));
	EXPECT_EQ(-1, write(fd, "a\0b", 3));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, write(fd, NULL, 10));
	EXPECT_EQ(EFAULT, errno);
	close(fd);
}

TEST(connect_to_nobody)
{
	int rc = vm_connect_raw("addr=10.77.0.99,name=data");

	EXPECT_TRUE(rc == -EHOSTUNREACH || rc == -ETIMEDOUT || rc == -ENETUNREACH)
		TH_LOG("%s", strerror(-rc));
	rc = vm_connect_raw("addr=192.0.2.1,name=data");
	EXPECT_TRUE(rc == -EHOSTUNREACH || rc == -ENETUNREACH || rc == -ENODEV ||
		    rc == -EADDRNOTAVAIL) TH_LOG("%s", strerror(-rc));
}

TEST(connect_by_ipv6)
{
	char text[200], want[100], page6[64] = { 0 };
	int instance, fd;

	snprintf(text, sizeof(text), "addr=%s,name=%s", vm_env("LAB_SERVER_IP6", "fd77::1"),
		 vm_env("PMOF_NS", "data"));
	instance = vm_connect_raw(text);
	ASSERT_LE(0, instance) TH_LOG("%s", strerror(-instance));
	snprintf(want, sizeof(want), "[%s]:20049", vm_env("LAB_SERVER_IP6", "fd77::1"));
	EXPECT_TRUE(vm_attr_is(instance, "address", want));
	fd = vm_open(instance, O_RDWR);
	EXPECT_EQ(0, vm_put(fd, 123 * MiB, page6, 64, PMOF_F_PERSIST));
	close(fd);
	EXPECT_EQ(0, vm_disconnect(instance));
}

/* One control file makes one connection. */
TEST(control_file_is_for_one)
{
	int fd = open("/dev/pmof-control", O_RDWR), instance = -1;
	char text[200], answer[64] = "";

	ASSERT_LE(0, fd);
	snprintf(text, sizeof(text), "addr=%s,name=%s,id=once,queues=1",
		 vm_env("LAB_SERVER_IP", "10.77.0.1"), vm_env("PMOF_NS", "data"));
	ASSERT_EQ(strlen(text), write(fd, text, strlen(text)));
	EXPECT_EQ(-1, write(fd, text, strlen(text)));
	ASSERT_LT(0, read(fd, answer, sizeof(answer) - 1));
	ASSERT_EQ(1, sscanf(answer, "instance=%d", &instance));
	EXPECT_TRUE(vm_attr_is(instance, "client_id", "once"));
	EXPECT_EQ(1, vm_attr_number(instance, "queues"));
	close(fd);
	/* The connection outlives it. */
	EXPECT_TRUE(vm_attr_is(instance, "state", "live"));
	EXPECT_EQ(0, vm_disconnect(instance));
}

TEST(depths_and_queues)
{
	static const char *const options[] = {
		"queues=1,depth=4", "queues=1,depth=1024", "queues=4,depth=16", "queues=128,depth=4",
	};
	char *in = vm_pages(2 * MiB), *out = vm_pages(2 * MiB);
	uint64_t state = 8;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(options); i++) {
		int instance = vm_connect(options[i]), fd;

		ASSERT_LE(0, instance) TH_LOG("%s: %s", options[i], strerror(-instance));
		EXPECT_LE(1, vm_attr_number(instance, "queues"));
		EXPECT_LE(vm_attr_number(instance, "depth"), 1024);
		fd = vm_open(instance, O_RDWR);
		vm_fill(&state, in, 2 * MiB);
		EXPECT_EQ(0, vm_put(fd, 50 * MiB + 1, in, 2 * MiB - 9, PMOF_F_PERSIST));
		EXPECT_EQ(0, vm_get(fd, 50 * MiB + 1, out, 2 * MiB - 9));
		EXPECT_EQ(0, memcmp(in, out, 2 * MiB - 9));
		close(fd);
		EXPECT_EQ(0, vm_disconnect(instance));
	}
}

/* --- more work than slots ------------------------------------------------------- */

#define SCARCE_THREADS	12

static void *submit_much(void *arg)
{
	struct worker *w = arg;
	uint64_t area = (uint64_t)w->id * MiB + 200 * MiB, state = w->id + 5;
	char *in = vm_pages(256 * KiB), *out = vm_pages(256 * KiB);
	struct pmof_op ops[PMOF_SUBMIT_MAX];
	int round, i;

	for (round = 0; round < 2 && !w->rc; round++) {
		vm_fill(&state, in, 256 * KiB);
		for (i = 0; i < PMOF_SUBMIT_MAX; i++)
			ops[i] = (struct pmof_op){ .size = sizeof(ops[i]),
				.opcode = i % 64 == 63 ? PMOF_OP_GET : PMOF_OP_PUT,
				.offset = area + i * KiB, .length = KiB,
				.addr = (uintptr_t)(i % 64 == 63 ? out : in) + i * KiB };
		w->rc = vm_submit(w->fd, ops, PMOF_SUBMIT_MAX);
		for (i = 0; i < PMOF_SUBMIT_MAX && !w->rc; i++)
			w->rc = ops[i].result;
		if (!w->rc)
			w->rc = vm_put(w->fd, area, in, 256 * KiB, PMOF_F_PERSIST);
		if (!w->rc)
			w->rc = vm_get(w->fd, area, out, 256 * KiB);
		if (!w->rc && memcmp(in, out, 256 * KiB))
			w->rc = -EILSEQ;
	}
	return NULL;
}

/* Twelve threads with 256 operations each at four slots: nobody waits for a slot for ever. */
TEST_F_TIMEOUT(conn, scarce_slots, 90)
{
	struct worker w[SCARCE_THREADS];
	int i, instance = vm_connect("queues=1,depth=4"), fd;

	ASSERT_LE(0, instance);
	fd = vm_open(instance, O_RDWR);
	ASSERT_LE(0, fd);
	for (i = 0; i < SCARCE_THREADS; i++) {
		w[i] = (struct worker){ .fd = fd, .id = i };
		ASSERT_EQ(0, pthread_create(&w[i].thread, NULL, submit_much, &w[i]));
	}
	for (i = 0; i < SCARCE_THREADS; i++) {
		pthread_join(w[i].thread, NULL);
		EXPECT_EQ(0, w[i].rc);
	}
	EXPECT_TRUE(vm_attr_is(instance, "state", "live"));
	close(fd);
	EXPECT_EQ(0, vm_disconnect(instance));
}

TEST_HARNESS_MAIN
