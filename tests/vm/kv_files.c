// SPDX-License-Identifier: GPL-2.0
/*
 * A store's limits on open files and on leases: one client cannot keep the others out by them. On
 * a connection to a namespace with a store: PMOF_STORE_INSTANCE; the crowd has sessions of its own.
 */
#include <sys/resource.h>

#include "kvcall.h"
#include "kselftest_harness.h"

#define ANY		PMOF_KV_EXPECT_ANY
#define SESSIONS	16
#define FILES		256	/* of a session, at most; all of them are all that a store has */
#define LEASES		4096	/* likewise */
#define TOGETHER	256	/* PREPAREs in a SUBMIT */

FIXTURE(files) {
	int instance[SESSIONS];
	int fd[SESSIONS][FILES];
};

static int open_file(int instance)
{
	return vm_open(instance, O_RDWR);
}

static int own_file(void)
{
	return open_file(atoi(vm_env("PMOF_STORE_INSTANCE", "pmof0") + strlen("pmof")));
}

static int connect_one(void)
{
	return vm_connect("queues=1,id=crowd,reconnect_delay=1,device_loss_timeout=600");
}

FIXTURE_SETUP(files)
{
	struct rlimit limit = { .rlim_cur = 8192, .rlim_max = 8192 };
	int i, k;

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	for (i = 0; i < SESSIONS; i++) {
		self->instance[i] = connect_one();
		ASSERT_LE(0, self->instance[i]);
		for (k = 0; k < FILES; k++) {
			self->fd[i][k] = open_file(self->instance[i]);
			ASSERT_LE(0, self->fd[i][k]);
		}
	}
}

FIXTURE_TEARDOWN(files)
{
	int i, k;

	for (i = 0; i < SESSIONS; i++) {
		for (k = 0; k < FILES; k++)
			close(self->fd[i][k]);
		vm_disconnect(self->instance[i]);
	}
}

/* Each @step-th file of the crowd asks for a key's address. Returns 0 if all got @status. */
static int ask(int fd[SESSIONS][FILES], int step, const char *key, int status)
{
	union kv_reply r;
	int i, k, rc;

	for (i = 0; i < SESSIONS; i++) {
		for (k = 0; k < FILES; k += step) {
			rc = kv_get(fd[i][k], key, 0, 0, &r);
			if (rc != status)
				return rc ? rc : -EIO;
		}
	}
	return 0;
}

/* Files that have nothing in hand give way at once. */
static void idle_ones_give_way(struct __test_metadata *_metadata, FIXTURE_DATA(files) *self)
{
	uint64_t evicted;
	union kv_reply r;
	int fd = own_file();

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ask(self->fd, 1, "q0", PMOF_KV_SC_NO_KEY));
	EXPECT_EQ(PMOF_KV_SC_NO_KEY, kv_get(fd, "q0", 0, 0, &r));
	evicted = kv_stat(fd, PMOF_KV_STAT_EVICTED);
	EXPECT_EQ(0, kv_put(fd, "q1", "v", ANY, NULL));
	EXPECT_EQ(0, kv_delete(fd, "q1", ANY));
	/* The crowd itself goes on. */
	EXPECT_EQ(0, ask(self->fd, 16, "q0", PMOF_KV_SC_NO_KEY));
	EXPECT_EQ(evicted, kv_stat(fd, PMOF_KV_STAT_EVICTED));
	close(fd);
}

/* Returns what @asks(@fd, @key) does that is not LIMIT: the last time, after 20 s. */
static int patiently(int (*asks)(int fd, const char *key), int fd, const char *key)
{
	int tries, rc = 0;

	for (tries = 0; tries < 200; tries++) {
		rc = asks(fd, key);
		if (rc != PMOF_KV_SC_LIMIT)
			break;
		usleep(100000);
	}
	return rc;
}

static int get(int fd, const char *key)
{
	union kv_reply r;

	return kv_get(fd, key, 100, 0, &r);
}

/* Where each has an address in hand, one of their sessions is ended; its client is soon back. */
static void readers_give_way(struct __test_metadata *_metadata, FIXTURE_DATA(files) *self)
{
	uint64_t evicted;
	int first = own_file(), fd = own_file();

	ASSERT_LE(0, first);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, kv_put(first, "q2", "v", ANY, NULL));
	evicted = kv_stat(first, PMOF_KV_STAT_EVICTED);
	/* With @first there is one too many: the last is refused. */
	EXPECT_EQ(PMOF_KV_SC_LIMIT, ask(self->fd, 1, "q2", 0));
	EXPECT_EQ(0, patiently(get, fd, "q2"));
	EXPECT_LE(evicted + 1, kv_stat(first, PMOF_KV_STAT_EVICTED));
	EXPECT_EQ(0, kv_delete(first, "q2", ANY));
	close(first);
	close(fd);
}

/* In one test: so large a crowd takes an emulated machine a minute to come and go. */
TEST_F_TIMEOUT(files, give_way, 300)
{
	idle_ones_give_way(_metadata, self);
	readers_give_way(_metadata, self);
}

FIXTURE(leases) {
	int instance[SESSIONS];
	int fd[SESSIONS];
};

FIXTURE_SETUP(leases)
{
	int i;

	for (i = 0; i < SESSIONS; i++) {
		self->instance[i] = connect_one();
		ASSERT_LE(0, self->instance[i]);
		self->fd[i] = open_file(self->instance[i]);
		ASSERT_LE(0, self->fd[i]);
	}
}

FIXTURE_TEARDOWN(leases)
{
	int i;

	for (i = 0; i < SESSIONS; i++) {
		close(self->fd[i]);
		vm_disconnect(self->instance[i]);
	}
}

/* As many leases as a session may have. Returns 0, the store's status or -errno. */
static int lease_all(int fd)
{
	static union kv_reply r[TOGETHER];
	struct pmof_op op[TOGETHER];
	struct pmof_submit s = { .size = sizeof(s), .ops = (uintptr_t)op, .nr_ops = TOGETHER };
	union kv_message m = { .prepare = { .value_length = 1, .key_length = 2 } };
	int i, made;

	memcpy(m.prepare.key, "q3", 2);
	for (made = 0; made < LEASES; made += TOGETHER) {
		for (i = 0; i < TOGETHER; i++)
			op[i] = (struct pmof_op){
				.size = sizeof(op[i]), .opcode = PMOF_OP_CALL,
				.call = PMOF_KV_PREPARE_PUT, .addr = (uintptr_t)&m,
				.length = sizeof(m.prepare) + 2, .compare = (uintptr_t)&r[i],
				.room = sizeof(r[i]),
			};
		if (ioctl(fd, PMOF_IOC_SUBMIT, &s))
			return -errno;
		for (i = 0; i < TOGETHER; i++)
			if (op[i].result || r[i].reply.status)
				return op[i].result ? op[i].result : (int)r[i].reply.status;
	}
	return 0;
}

static int prepare(int fd, const char *key)
{
	union kv_reply r;

	return kv_prepare(fd, key, 1, 0, &r);
}

/* Once a client has all leases that there are, the others get theirs when one of its sessions went. */
TEST_F_TIMEOUT(leases, give_way, 300)
{
	uint64_t evicted;
	int fd = own_file(), i;

	ASSERT_LE(0, fd);
	evicted = kv_stat(fd, PMOF_KV_STAT_EVICTED);
	for (i = 0; i < SESSIONS; i++)
		ASSERT_EQ(0, lease_all(self->fd[i])) TH_LOG("session %d", i);
	/* One too many for its own session: that ends nobody. */
	EXPECT_EQ(PMOF_KV_SC_LIMIT, prepare(self->fd[0], "q4"));
	EXPECT_EQ(evicted, kv_stat(fd, PMOF_KV_STAT_EVICTED));
	EXPECT_EQ(PMOF_KV_SC_LIMIT, prepare(fd, "q4"));
	EXPECT_EQ(0, patiently(prepare, fd, "q4"));
	EXPECT_EQ(evicted + 1, kv_stat(fd, PMOF_KV_STAT_EVICTED));
	close(fd);
}

TEST_HARNESS_MAIN
