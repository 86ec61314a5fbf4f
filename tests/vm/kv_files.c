// SPDX-License-Identifier: GPL-2.0
/*
 * A store's limit on open files: one client cannot keep the others out by it. On a connection
 * to a namespace with a store: PMOF_STORE_INSTANCE; the crowd has sessions of its own.
 */
#include <sys/resource.h>

#include "kvcall.h"
#include "kselftest_harness.h"

#define ANY		PMOF_KV_EXPECT_ANY
#define SESSIONS	16
#define FILES		256	/* of a session, at most; all of them are all that a store has */

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

FIXTURE_SETUP(files)
{
	struct rlimit limit = { .rlim_cur = 8192, .rlim_max = 8192 };
	int i, k;

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	for (i = 0; i < SESSIONS; i++) {
		self->instance[i] = vm_connect("queues=1,id=crowd,reconnect_delay=1,"
					       "device_loss_timeout=600");
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

/* Where each has an address in hand, one of their sessions is ended; its client is soon back. */
static void readers_give_way(struct __test_metadata *_metadata, FIXTURE_DATA(files) *self)
{
	uint64_t evicted;
	union kv_reply r;
	int first = own_file(), fd = own_file(), rc, tries;

	ASSERT_LE(0, first);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, kv_put(first, "q2", "v", ANY, NULL));
	evicted = kv_stat(first, PMOF_KV_STAT_EVICTED);
	/* With @first there is one too many: the last is refused. */
	EXPECT_EQ(PMOF_KV_SC_LIMIT, ask(self->fd, 1, "q2", 0));
	for (tries = 0; tries < 200; tries++) {
		rc = kv_get(fd, "q2", 100, 0, &r);
		if (rc != PMOF_KV_SC_LIMIT)
			break;
		usleep(100000);
	}
	EXPECT_EQ(0, rc);
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

TEST_HARNESS_MAIN
