// SPDX-License-Identifier: GPL-2.0
/* PMOF_OP_CALL by itself, sessions of operations, and what a store's namespace does not offer. */
#include "kselftest_harness.h"
#include "kv.h"
#include "ring.h"

#include <signal.h>
#include <sys/wait.h>

FIXTURE(call) {
	int fd;
	struct pmof_info info;
	struct pmof_kv_request req;
	struct pmof_kv_stat_reply *reply;
};

FIXTURE_SETUP(call)
{
	self->fd = vm_open(vm_instance(), O_RDWR);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, vm_info(self->fd, &self->info));
	self->reply = vm_pages(4096);
}

FIXTURE_TEARDOWN(call)
{
	struct pmof_info info;

	/* Whatever was said wrongly, it is the same connection. */
	EXPECT_EQ(0, vm_info(self->fd, &info));
	EXPECT_EQ(self->info.session, info.session);
	EXPECT_TRUE(vm_attr_is(vm_instance(), "state", "live"));
	close(self->fd);
	munmap(self->reply, 4096);
}

static struct pmof_op make_call(unsigned int opcode, const void *request, uint64_t length,
				void *reply, uint32_t room)
{
	return (struct pmof_op){
		.size = sizeof(struct pmof_op), .opcode = PMOF_OP_CALL, .result = 12345,
		.length = length, .addr = (uintptr_t)request, .compare = (uintptr_t)reply,
		.call = opcode, .room = room,
	};
}

#define STAT()	make_call(PMOF_KV_STAT, &self->req, sizeof(self->req), self->reply, 4096)

/* A SUBMIT of one: its own errno, or that of the operation. */
static int run_one(int fd, struct pmof_op *op)
{
	int rc = vm_submit(fd, op, 1);

	return rc ? rc : op->result;
}

/* A whole answer to STAT. */
struct stat_buffer {
	uint64_t word[sizeof(struct pmof_kv_stat_reply) / 8 + PMOF_KV_STAT_MAX];
};

static bool is_stat(const void *reply, uint64_t length)
{
	const struct pmof_kv_stat_reply *r = reply;

	return !r->reply.status && r->count == PMOF_KV_STAT_MAX &&
	       length == sizeof(*r) + 8 * PMOF_KV_STAT_MAX;
}

TEST_F(call, info)
{
	EXPECT_EQ(PMOF_SERVICE_STORE, self->info.service);
	EXPECT_EQ(PMOF_FEAT_CALL, self->info.features);
	EXPECT_EQ(4096 - 24, self->info.max_call);
	EXPECT_NE(0, self->info.session);
	EXPECT_EQ(0, self->info.methods & (1 << PMOF_METHOD_RPC));
}

TEST_F(call, answers)
{
	uint64_t calls = vm_stat(vm_instance(), "stats/calls");
	uint64_t sends = vm_stat(vm_instance(), "stats/wr_send");
	struct pmof_op op = STAT();

	ASSERT_EQ(0, run_one(self->fd, &op));
	EXPECT_TRUE(is_stat(self->reply, op.old));
	EXPECT_EQ(1, vm_stat(vm_instance(), "stats/calls") - calls);
	EXPECT_EQ(1, vm_stat(vm_instance(), "stats/wr_send") - sends);
}

TEST_F(call, what_is_wrong)
{
	const unsigned int bad[] = { 0, 8, 0x10, 0x1f, 0x3f, 0x40, 0x80, 0xb3, 0x133, ~0u };
	void *hole = (char *)vm_pages(4096) + 4096;
	static char request[4096];
	struct pmof_op op;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		op = STAT();
		op.call = bad[i];
		EXPECT_EQ(-EINVAL, run_one(self->fd, &op)) TH_LOG("opcode %x", bad[i]);
	}
#define WRONG(error, change) do {							\
	op = STAT();									\
	change;										\
	EXPECT_EQ(error, run_one(self->fd, &op)) TH_LOG(#change);			\
} while (0)
	WRONG(-EINVAL, op.length = 0);
	WRONG(-EINVAL, (op.addr = (uintptr_t)request, op.length = 4096 - 23));
	WRONG(-EINVAL, op.length = UINT64_MAX);
	WRONG(-EINVAL, op.offset = 8);
	WRONG(-EINVAL, op.operand = 1);
	WRONG(-EINVAL, op.reserved = 1);
	WRONG(-EINVAL, op.flags = PMOF_F_PERSIST);
	WRONG(-EINVAL, op.flags = 0x20);
	WRONG(-EINVAL, op.size = 64);
	WRONG(-EFAULT, op.addr = (uintptr_t)hole);
	WRONG(-EFAULT, op.addr = 0xffff888000000000UL);
	WRONG(-EFAULT, op.compare = (uintptr_t)hole);
	WRONG(-EFAULT, op.compare = 0xffff888000000000UL);
	WRONG(-EMSGSIZE, op.room = sizeof(*self->reply));
	WRONG(-EMSGSIZE, op.room = 0);
	WRONG(0, op.room = UINT32_MAX);
	WRONG(0, op.flags = PMOF_F_NOREPLAY | PMOF_F_ORDERED);
	/* Nobody else has these fields. */
	WRONG(-EINVAL, (op.opcode = PMOF_OP_GET, op.compare = 0, op.room = 0));
	WRONG(-EINVAL, (op.opcode = PMOF_OP_GET, op.compare = 0, op.call = 0));
	munmap((char *)hole - 4096, 8192);
}

/* What is between user space and the service does not concern the connection. */
TEST_F(call, what_the_service_does_not_like)
{
	static unsigned char request[4072];
	struct pmof_kv_reply *r = (void *)self->reply;
	unsigned int opcode;
	uint64_t seed = 1;
	int i;

	for (opcode = 0x20; opcode < 0x3f; opcode++) {
		for (i = 0; i < 12; i++) {
			uint64_t any = vm_rnd(&seed) % sizeof(request);
			uint64_t length = i < 4 ? UINT64_C(1) + i * 5 : 1 + any;
			struct pmof_op op = make_call(opcode, request, length, r, 4096);

			vm_fill(&seed, request, sizeof(request));
			memset(r, 0xff, sizeof(*r));
			EXPECT_EQ(0, run_one(self->fd, &op));
			EXPECT_LE(sizeof(*r), op.old);
			/* Of OUTCOME and STAT that is all there is. */
			if (length == 16 && opcode >= PMOF_KV_OUTCOME)
				continue;
			EXPECT_NE(PMOF_KV_SC_OK, r->status)
				TH_LOG("%x, %d bytes", opcode, (int)length);
		}
	}
}

TEST_F(call, rights)
{
	int reads = vm_open(vm_instance(), O_RDONLY), writes = vm_open(vm_instance(), O_WRONLY);
	int instance = vm_connect("read_only=1,device_loss_timeout=0"), fd;
	struct pmof_kv_delete request = { .key_length = 1 };
	struct pmof_op op;

	op = STAT();
	EXPECT_EQ(-EBADF, run_one(writes, &op));
	EXPECT_EQ(0, run_one(reads, &op));
	op = make_call(PMOF_KV_DELETE, &request, sizeof(request) + 1, self->reply, 4096);
	EXPECT_EQ(-EBADF, run_one(reads, &op));
	EXPECT_EQ(0, run_one(writes, &op));
	close(reads);
	close(writes);
	ASSERT_LE(0, instance);
	fd = vm_open(instance, O_RDWR);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EROFS, run_one(fd, &op));
	op = STAT();
	EXPECT_EQ(0, run_one(fd, &op));
	close(fd);
	EXPECT_EQ(0, vm_disconnect(instance));
}

TEST_F(call, what_a_store_does_not_offer)
{
	struct pmof_op op = { .size = sizeof(op), .opcode = PMOF_OP_CAS, .length = 8 };
	char path[64], methods[64];
	struct stat st;

	snprintf(path, sizeof(path), "/dev/pmof%d", vm_instance());
	EXPECT_EQ(-1, stat(path, &st));
	EXPECT_TRUE(vm_attr_is(vm_instance(), "block", ""));
	vm_attr(vm_instance(), "persist_methods", methods, sizeof(methods));
	EXPECT_EQ(NULL, strstr(methods, "rpc"));
	EXPECT_EQ(-EOPNOTSUPP, run_one(self->fd, &op));
	op.opcode = PMOF_OP_PREPARE;
	op.length = 64;
	EXPECT_EQ(-EOPNOTSUPP, run_one(self->fd, &op));
	op.opcode = PMOF_OP_REVALIDATE;
	EXPECT_EQ(-EOPNOTSUPP, run_one(self->fd, &op));
	op.opcode = PMOF_OP_PUT;
	op.flags = PMOF_F_COMMIT;
	op.operand = 5;
	EXPECT_EQ(-EOPNOTSUPP, run_one(self->fd, &op));
}

/* --- sessions ------------------------------------------------------------------------- */

TEST_F(call, another_session)
{
	const uint16_t opcode[] = { PMOF_OP_PUT, PMOF_OP_GET, PMOF_OP_PERSIST, PMOF_OP_CALL };
	struct io_uring ring;
	uint64_t word = 0;
	size_t i;

	ASSERT_EQ(0, ring_init_cmd(&ring, 0));
	for (i = 0; i < ARRAY_SIZE(opcode); i++) {
		struct pmof_op op = {
			.size = sizeof(op), .opcode = opcode[i], .length = 8, .offset = 4096 + 512,
			.addr = opcode[i] == PMOF_OP_PERSIST ? 0 : (uintptr_t)&word,
		};

		/* The unused end of the second superblock's page. */
		if (opcode[i] == PMOF_OP_CALL)
			op = STAT();
		else if (opcode[i] == PMOF_OP_PUT)
			op.offset = 4096 + 4088;
		op.session = self->info.session + 1;
		EXPECT_EQ(-ESTALE, run_one(self->fd, &op)) TH_LOG("operation %d", opcode[i]);
		EXPECT_EQ(-ESTALE, ring_op(&ring, self->fd, &op, NULL));
		op.session = self->info.session;
		EXPECT_EQ(0, run_one(self->fd, &op)) TH_LOG("operation %d", opcode[i]);
		EXPECT_EQ(0, ring_op(&ring, self->fd, &op, NULL));
	}
	io_uring_queue_exit(&ring);
}

/* --- in one SUBMIT ---------------------------------------------------------------------- */

TEST_F(call, more_than_there_are_slots)
{
	static struct pmof_op op[PMOF_SUBMIT_MAX];
	static struct stat_buffer reply[PMOF_SUBMIT_MAX];
	int i;

	for (i = 0; i < PMOF_SUBMIT_MAX; i++)
		op[i] = make_call(PMOF_KV_STAT, &self->req, sizeof(self->req), &reply[i],
				  sizeof(reply[i]));
	ASSERT_EQ(0, vm_submit(self->fd, op, PMOF_SUBMIT_MAX));
	for (i = 0; i < PMOF_SUBMIT_MAX; i++) {
		EXPECT_EQ(0, op[i].result);
		EXPECT_TRUE(is_stat(&reply[i], op[i].old));
	}
}

/* A PUT that fails: what is behind it is not sent. */
TEST_F(call, behind_a_put_that_fails)
{
	char *gone = vm_pages(2 * 4096);
	struct pmof_op op[] = {
		{ .size = sizeof(op[0]), .opcode = PMOF_OP_PUT, .length = 8192, .offset = 8192,
		  .addr = (uintptr_t)gone },
		STAT(),
	};
	uint64_t sends = vm_stat(vm_instance(), "stats/wr_send");

	ASSERT_EQ(0, mprotect(gone, 2 * 4096, PROT_NONE));
	ASSERT_EQ(0, vm_submit(self->fd, op, 2));
	EXPECT_EQ(-EFAULT, op[0].result);
	EXPECT_EQ(-ECANCELED, op[1].result);
	EXPECT_EQ(sends, vm_stat(vm_instance(), "stats/wr_send"));
}

/* Two puts by sa: what is written and both commits go in one SUBMIT, which waits once. */
static int prepare(int fd, const char *key, uint32_t length, struct pmof_kv_prepare_reply *r)
{
	char request[64] = { 0 };
	struct pmof_kv_prepare *p = (void *)request;
	struct pmof_op op = make_call(PMOF_KV_PREPARE_PUT, p, sizeof(*p) + strlen(key), r,
				      sizeof(*r));

	p->value_length = length;
	p->key_length = strlen(key);
	memcpy(p->key, key, strlen(key));
	return run_one(fd, &op) ?: (int)r->reply.status;
}

TEST_F(call, puts_and_commits_together)
{
	struct pmof_kv_prepare_reply slot[2];
	struct pmof_kv_commit commit[2] = { };
	struct pmof_kv_reply reply[2];
	struct pmofkv *kv;
	struct pmof_op op[4];
	uint64_t trips;
	char got[8];
	size_t n;
	int i;

	ASSERT_EQ(0, prepare(self->fd, "p0", 8, &slot[0]));
	ASSERT_EQ(0, prepare(self->fd, "p1", 8, &slot[1]));
	for (i = 0; i < 2; i++) {
		commit[i].expected = PMOF_KV_EXPECT_ANY;
		commit[i].lease = slot[i].lease;
		op[i] = (struct pmof_op){
			.size = sizeof(op[i]), .opcode = PMOF_OP_PUT, .length = 8,
			.flags = PMOF_F_NOREPLAY, .session = self->info.session,
			.offset = slot[i].offset, .addr = (uintptr_t)(i ? "second.." : "first..."),
		};
		op[2 + i] = make_call(PMOF_KV_COMMIT, &commit[i], sizeof(commit[i]), &reply[i],
				      sizeof(reply[i]));
	}
	trips = vm_stat(vm_instance(), "stats/round_trips");
	ASSERT_EQ(0, vm_submit(self->fd, op, 4));
	EXPECT_EQ(trips + 1, vm_stat(vm_instance(), "stats/round_trips"));
	for (i = 0; i < 4; i++)
		EXPECT_EQ(0, op[i].result) TH_LOG("operation %d", i);
	EXPECT_EQ(0, reply[0].status);
	EXPECT_EQ(slot[1].reply.version, reply[1].version);
	ASSERT_EQ(0, kv_open(O_RDWR, PMOFKV_AUTO, &kv));
	EXPECT_EQ(0, pmofkv_get(kv, "p1", 2, got, 8, &n, NULL));
	EXPECT_EQ(0, memcmp("second..", got, 8));
	EXPECT_EQ(0, pmofkv_delete(kv, "p0", 2));
	EXPECT_EQ(0, pmofkv_delete(kv, "p1", 2));
	pmofkv_close(kv);
}

/* --- io_uring ------------------------------------------------------------------------------ */

TEST_F(call, in_a_ring)
{
	static struct stat_buffer reply[RING_DEPTH];
	struct io_uring ring;
	struct pmof_op op;
	uint64_t i, data, old;

	ASSERT_EQ(0, ring_init_cmd(&ring, 0));
	for (i = 0; i < RING_DEPTH; i++) {
		op = make_call(PMOF_KV_STAT, &self->req, sizeof(self->req), &reply[i],
			       sizeof(reply[i]));
		ring_cmd(&ring, self->fd, &op, i);
	}
	ASSERT_EQ(RING_DEPTH, io_uring_submit(&ring));
	for (i = 0; i < RING_DEPTH; i++) {
		EXPECT_EQ(0, ring_wait(&ring, &data, &old));
		EXPECT_TRUE(is_stat(&reply[data], old));
	}
	op = STAT();
	op.room = 8;
	EXPECT_EQ(-EMSGSIZE, ring_op(&ring, self->fd, &op, &old));
	op = STAT();
	op.compare = (uintptr_t)((char *)self->reply + 4096);
	EXPECT_EQ(-EFAULT, ring_op(&ring, self->fd, &op, &old));
	op = STAT();
	op.flags = PMOF_F_ORDERED;
	EXPECT_EQ(0, ring_op(&ring, self->fd, &op, &old));
	op.call = 0x3f;
	EXPECT_EQ(-EINVAL, ring_op(&ring, self->fd, &op, &old));
	io_uring_queue_exit(&ring);
}

/* --- files that go -------------------------------------------------------------------------- */

static uint64_t leases(void)
{
	struct pmofkv *kv;
	uint64_t n;

	if (kv_open(O_RDONLY, PMOFKV_AUTO, &kv))
		return UINT64_MAX;
	n = kv_stat_of(kv, PMOF_KV_STAT_LEASES);
	pmofkv_close(kv);
	return n;
}

TEST_F(call, a_closed_file_gives_its_leases_back)
{
	int fd = vm_open(vm_instance(), O_RDWR);
	struct pmof_kv_prepare_reply slot;
	struct pmof_kv_commit commit = { .expected = PMOF_KV_EXPECT_ANY };
	struct pmof_kv_reply reply;
	struct pmof_op op;

	ASSERT_EQ(0, prepare(fd, "closed", 100000, &slot));
	EXPECT_EQ(1, leases());
	/* It is that file's, and no other's. */
	commit.lease = slot.lease;
	op = make_call(PMOF_KV_COMMIT, &commit, sizeof(commit), &reply, sizeof(reply));
	ASSERT_EQ(0, run_one(self->fd, &op));
	EXPECT_EQ(PMOF_KV_SC_NO_LEASE, reply.status);
	EXPECT_EQ(1, leases());
	close(fd);
	EXPECT_EQ(0, leases());
}

/* Killed between PREPARE_PUT and COMMIT, with WRITEs under way. */
TEST_F(call, a_killed_process_leaves_nothing)
{
	int i, status;

	for (i = 0; i < 3; i++) {
		int ready[2];
		pid_t pid;
		char c;

		ASSERT_EQ(0, pipe(ready));
		pid = fork();
		if (!pid) {
			static char value[MiB];
			int fd = vm_open(vm_instance(), O_RDWR), told = 0;
			struct pmof_kv_prepare_reply slot;

			for (;;) {
				if (prepare(fd, "killed", sizeof(value), &slot))
					_exit(1);
				vm_put(fd, slot.offset, value, sizeof(value), 0);
				if (!told++ && write(ready[1], "x", 1) != 1)
					_exit(2);
			}
		}
		close(ready[1]);
		ASSERT_EQ(1, read(ready[0], &c, 1));
		close(ready[0]);
		usleep(20000 * i);
		kill(pid, SIGKILL);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_TRUE(WIFSIGNALED(status));
		EXPECT_EQ(0, leases());
	}
}

TEST_HARNESS_MAIN
