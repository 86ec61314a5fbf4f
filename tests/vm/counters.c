// SPDX-License-Identifier: GPL-2.0
/*
 * What an operation costs, exactly: work requests and round trips at the
 * client, handler calls, lines and fences at the server. One connection per
 * persist method, with one queue for each CPU; a thread that is pinned to a
 * CPU uses that queue.
 */
#include "kselftest_harness.h"
#include "counts.h"

#define AT	(8 * MiB)

FIXTURE(counters) {
	int instance;
	int fd;
	bool assist;
	bool cpu_cache;		/* nothing to write back there */
	char *buf;
};

FIXTURE_VARIANT(counters) {
	const char *method;
};

FIXTURE_VARIANT_ADD(counters, assist) {
	.method = "assist",
};

FIXTURE_VARIANT_ADD(counters, read) {
	.method = "read",
};

FIXTURE_SETUP(counters)
{
	struct pmof_info info;
	char options[64];

	snprintf(options, sizeof(options), "persist=%s,queues=2", variant->method);
	self->instance = vm_connect(options);
	self->assist = !strcmp(variant->method, "assist");
	ASSERT_LE(0, self->instance);
	self->fd = vm_open(self->instance, O_RDWR);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, vm_info(self->fd, &info));
	ASSERT_EQ(2, info.nr_queues);
	ASSERT_EQ(self->assist ? PMOF_METHOD_ASSIST : PMOF_METHOD_READ, info.method);
	self->cpu_cache = info.domain == PMOF_DOMAIN_CPU_CACHE;
	self->buf = vm_pages(4 * MiB);
	vm_pin(0);
}

FIXTURE_TEARDOWN(counters)
{
	EXPECT_TRUE(vm_attr_is(self->instance, "state", "live"));
	close(self->fd);
	EXPECT_EQ(0, vm_disconnect(self->instance));
}

/* A durable operation on one queue, of @lines cache lines: what it adds to its own request. */
#define DURABLE(before, lines, bytes) do {						\
	GREW(before, WR_SEND, self->assist ? 1 : 0);					\
	GREW(before, WR_READ, self->assist ? 0 : 1);					\
	GREW(before, RPC_CALLS, self->assist ? 1 : 0);					\
	GREW(before, SRV_PERSISTS, self->assist ? 1 : 0);				\
	GREW(before, LINES, self->assist && !self->cpu_cache ? (lines) : 0);		\
	GREW(before, BYTES, self->assist ? (bytes) : 0);				\
	GREW(before, FENCES, self->assist ? 1 : 0);					\
} while (0)

/* --- single operations ------------------------------------------------------ */

/* The figure that the project is measured by. */
TEST_F(counters, durable_64_byte_put)
{
	struct counts c = take(self->instance);

	ASSERT_EQ(0, vm_put(self->fd, AT, self->buf, 64, PMOF_F_PERSIST));
	GREW(c, WR_WRITE, 1);
	GREW(c, ROUND_TRIPS, 1);
	DURABLE(c, 1, 64);
	GREW(c, PUTS, 1);
	GREW(c, BYTES_PUT, 64);
	GREW(c, ERRORS, 0);
	GREW(c, BAD_MESSAGES, 0);
}

TEST_F(counters, durable_put_across_lines)
{
	struct counts c = take(self->instance);

	ASSERT_EQ(0, vm_put(self->fd, AT + 63, self->buf, 2, PMOF_F_PERSIST));
	GREW(c, WR_WRITE, 1);
	GREW(c, ROUND_TRIPS, 1);
	DURABLE(c, 2, 2);
	c = take(self->instance);
	ASSERT_EQ(0, vm_put(self->fd, AT + 1, self->buf, 4096, PMOF_F_PERSIST));
	GREW(c, WR_WRITE, 1);
	GREW(c, ROUND_TRIPS, 1);
	DURABLE(c, 65, 4096);
}

/* Only what was put since the last one is written back. */
TEST_F(counters, fsync_names_what_was_put)
{
	struct counts c;

	ASSERT_EQ(0, fsync(self->fd));
	ASSERT_EQ(0, vm_put(self->fd, AT, self->buf, 64, 0));
	ASSERT_EQ(0, vm_put(self->fd, AT + 65536, self->buf, 64, 0));
	c = take(self->instance);
	ASSERT_EQ(0, fsync(self->fd));
	GREW(c, ROUND_TRIPS, 1);
	if (self->assist) {
		GREW(c, WR_SEND, 1);
		GREW(c, BYTES, 2 * 4096);
		if (!self->cpu_cache)
			GREW(c, LINES, 2 * 64);
	}
	c = take(self->instance);
	ASSERT_EQ(0, fsync(self->fd));
	GREW(c, WR_SEND, 0);
	GREW(c, LINES, 0);
}

TEST_F(counters, durable_put_of_nothing)
{
	struct counts c = take(self->instance);

	ASSERT_EQ(0, vm_put(self->fd, AT, self->buf, 0, PMOF_F_PERSIST));
	GREW(c, WR_WRITE, 0);
	GREW(c, WR_SEND, 0);
	GREW(c, WR_READ, 0);
	GREW(c, ROUND_TRIPS, 0);
}

TEST_F(counters, plain_put_and_get)
{
	struct counts c = take(self->instance);

	ASSERT_EQ(0, vm_put(self->fd, AT, self->buf, 64, 0));
	GREW(c, WR_WRITE, 1);
	GREW(c, WR_READ, 0);
	GREW(c, WR_SEND, 0);
	GREW(c, ROUND_TRIPS, 1);
	ASSERT_EQ(0, vm_get(self->fd, AT, self->buf, 64));
	GREW(c, WR_READ, 1);
	GREW(c, ROUND_TRIPS, 2);
	GREW(c, GETS, 1);
	GREW(c, BYTES_GOT, 64);
	GREW(c, RPC_CALLS, 0);
	GREW(c, LINES, 0);
}

TEST_F(counters, atomics)
{
	struct pmof_atomic a = { .size = sizeof(a), .flags = PMOF_F_PERSIST, .offset = AT };
	struct counts c = take(self->instance);
	uint64_t old;

	ASSERT_EQ(0, vm_cas(self->fd, AT, 0, 0, &old));
	ASSERT_EQ(0, vm_fetch_add(self->fd, AT, 0, &old));
	GREW(c, WR_CAS, 1);
	GREW(c, WR_FETCH_ADD, 1);
	GREW(c, ROUND_TRIPS, 2);
	GREW(c, ATOMICS, 2);
	GREW(c, WR_READ, 0);
	GREW(c, WR_SEND, 0);
	c = take(self->instance);
	ASSERT_EQ(0, vm_ioctl(self->fd, PMOF_IOC_FETCH_ADD, &a));
	GREW(c, WR_FETCH_ADD, 1);
	GREW(c, ROUND_TRIPS, 1);
	DURABLE(c, 1, 8);
}

/* Several WRITEs in one post: one round trip, one message, every line once. */
TEST_F(counters, durable_put_of_a_mebibyte)
{
	struct counts c = take(self->instance);
	uint64_t writes;

	ASSERT_EQ(0, vm_put(self->fd, AT, self->buf, 1 * MiB, PMOF_F_PERSIST));
	writes = vm_stat(self->instance, names[WR_WRITE]) - c.v[WR_WRITE];
	/* As many as the buffer's pages need: neighbours in memory share an SGE. */
	EXPECT_GE(writes, 1);
	EXPECT_LE(writes, 40);
	GREW(c, ROUND_TRIPS, 1);
	GREW(c, WR_SEND, self->assist ? 1 : 0);
	GREW(c, WR_READ, self->assist ? 0 : 1);
	GREW(c, RPC_CALLS, self->assist ? 1 : 0);
	GREW(c, LINES, self->assist && !self->cpu_cache ? 1 * MiB / 64 : 0);
	GREW(c, BYTES_PUT, 1 * MiB);
}

/* Reading a counter does not count as work on the data path. */
TEST_F(counters, looking_changes_nothing)
{
	struct counts c = take(self->instance);
	int i;

	take(self->instance);
	for (i = 0; i < NR_COUNTERS; i++)
		if (i != REPLIES)
			GREW(c, i, 0);
	EXPECT_GE(c.v[MRS], 1);
}

/* --- PERSIST over several queues -------------------------------------------- */

/* On one dirty queue: a message goes there, or one READ. */
TEST_F(counters, persist_with_one_dirty_queue)
{
	struct counts c;

	ASSERT_EQ(0, vm_put(self->fd, AT, self->buf, 64, 0));
	c = take(self->instance);
	ASSERT_EQ(0, vm_persist(self->fd, AT, 64));
	GREW(c, WR_WRITE, 0);
	GREW(c, ROUND_TRIPS, 1);
	DURABLE(c, 1, 64);
	GREW(c, PERSISTS, 1);
}

/* The put went by another queue: nothing may be promised before that one has been cleaned. */
TEST_F(counters, persist_from_another_cpu)
{
	struct counts c;

	vm_pin(1);
	ASSERT_EQ(0, vm_put(self->fd, AT, self->buf, 64, 0));
	vm_pin(0);
	c = take(self->instance);
	ASSERT_EQ(0, vm_persist(self->fd, AT, 64));
	GREW(c, ROUND_TRIPS, 1);
	DURABLE(c, 1, 64);
	/* It is clean now: by read there is nothing left to do. */
	c = take(self->instance);
	ASSERT_EQ(0, vm_persist(self->fd, AT, 64));
	GREW(c, WR_READ, 0);
	GREW(c, WR_SEND, self->assist ? 1 : 0);
	GREW(c, ROUND_TRIPS, self->assist ? 1 : 0);
}

/* Two dirty queues: by assist a READ on the other one first, by read one on each, at once. */
TEST_F(counters, persist_with_two_dirty_queues)
{
	struct counts c;

	ASSERT_EQ(0, vm_put(self->fd, AT, self->buf, 64, 0));
	vm_pin(1);
	ASSERT_EQ(0, vm_put(self->fd, AT + 64, self->buf, 64, 0));
	c = take(self->instance);
	ASSERT_EQ(0, vm_persist(self->fd, AT, 128));
	GREW(c, WR_WRITE, 0);
	GREW(c, WR_READ, self->assist ? 1 : 2);
	GREW(c, WR_SEND, self->assist ? 1 : 0);
	GREW(c, ROUND_TRIPS, self->assist ? 2 : 1);
	GREW(c, LINES, self->assist && !self->cpu_cache ? 2 : 0);
}

/* A durable put leaves its queue clean, and with it the plain put before it. */
TEST_F(counters, durable_put_cleans_its_queue)
{
	struct counts c;

	ASSERT_EQ(0, vm_put(self->fd, AT, self->buf, 64, 0));
	ASSERT_EQ(0, vm_put(self->fd, AT + 64, self->buf, 64, PMOF_F_PERSIST));
	vm_pin(1);
	ASSERT_EQ(0, vm_put(self->fd, AT + 128, self->buf, 64, 0));
	c = take(self->instance);
	ASSERT_EQ(0, vm_persist(self->fd, AT, 192));
	GREW(c, WR_READ, self->assist ? 0 : 1);
	GREW(c, WR_SEND, self->assist ? 1 : 0);
	GREW(c, ROUND_TRIPS, 1);
}

/* An atomic without PERSIST dirties its queue as a put does. */
TEST_F(counters, atomic_dirties_its_queue)
{
	struct counts c;
	uint64_t old;

	ASSERT_EQ(0, vm_persist(self->fd, AT, 64));
	vm_pin(1);
	ASSERT_EQ(0, vm_fetch_add(self->fd, AT, 0, &old));
	vm_pin(0);
	ASSERT_EQ(0, vm_put(self->fd, AT + 64, self->buf, 64, 0));
	c = take(self->instance);
	ASSERT_EQ(0, vm_persist(self->fd, AT, 128));
	GREW(c, WR_READ, self->assist ? 1 : 2);
}

TEST_F(counters, fsync_covers_everything)
{
	struct counts c;

	ASSERT_EQ(64, pwrite(self->fd, self->buf, 64, AT));
	c = take(self->instance);
	ASSERT_EQ(0, fdatasync(self->fd));
	GREW(c, PERSISTS, 1);
	GREW(c, WR_READ, self->assist ? 0 : 1);
	if (self->assist)
		EXPECT_LE(1, vm_stat(self->instance, names[WR_SEND]) - c.v[WR_SEND]);
}

TEST_F(counters, o_dsync_write_is_a_durable_put)
{
	int fd = vm_open(self->instance, O_RDWR | O_DSYNC);
	struct counts c = take(self->instance);

	ASSERT_LE(0, fd);
	ASSERT_EQ(64, pwrite(fd, self->buf, 64, AT));
	GREW(c, WR_WRITE, 1);
	GREW(c, ROUND_TRIPS, 1);
	DURABLE(c, 1, 64);
	close(fd);
}

/* --- what is offered ---------------------------------------------------------- */

/* soft-RoCE's writes land in the cache: on a memory_controller domain read would lie. */
TEST(read_is_offered_where_it_is_durable)
{
	int instance = vm_connect("persist=read,queues=1");
	char methods[64];

	if (!strcmp(vm_env("LAB_DOMAIN", ""), "cpu")) {
		ASSERT_LE(0, instance);
		vm_attr(instance, "persist_methods", methods, sizeof(methods));
		EXPECT_EQ(0, strncmp(methods, "read assist rpc", 15)) TH_LOG("%s", methods);
		EXPECT_EQ(0, vm_disconnect(instance));
	} else {
		EXPECT_EQ(-EOPNOTSUPP, instance);
	}
}

/* --- SUBMIT ------------------------------------------------------------------ */

/* Puts without an order between them share the wait. */
TEST_F(counters, submit_pipelines_puts)
{
	struct pmof_op ops[16];
	struct counts c;
	int i;

	for (i = 0; i < 16; i++)
		ops[i] = (struct pmof_op){ .size = sizeof(ops[i]), .opcode = PMOF_OP_PUT,
					   .offset = AT + i * 64, .length = 64,
					   .addr = (uintptr_t)self->buf };
	c = take(self->instance);
	ASSERT_EQ(0, vm_submit(self->fd, ops, 16));
	GREW(c, WR_WRITE, 16);
	GREW(c, WR_SEND, 0);
	GREW(c, WR_READ, 0);
	GREW(c, ROUND_TRIPS, 1);
	GREW(c, PUTS, 16);
	GREW(c, RPC_CALLS, 0);
}

TEST_F(counters, submit_puts_and_one_persist)
{
	struct pmof_op ops[9];
	struct counts c;
	int i;

	for (i = 0; i < 8; i++)
		ops[i] = (struct pmof_op){ .size = sizeof(ops[i]), .opcode = PMOF_OP_PUT,
					   .offset = AT + i * 64, .length = 64,
					   .addr = (uintptr_t)self->buf };
	ops[8] = (struct pmof_op){ .size = sizeof(ops[8]), .opcode = PMOF_OP_PERSIST,
				   .offset = AT, .length = 512 };
	c = take(self->instance);
	ASSERT_EQ(0, vm_submit(self->fd, ops, 9));
	EXPECT_EQ(0, ops[8].result);
	GREW(c, WR_WRITE, 8);
	DURABLE(c, 8, 512);
}

TEST_HARNESS_MAIN
