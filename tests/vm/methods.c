// SPDX-License-Identifier: GPL-2.0
/*
 * What each persist method puts on the wire, for committed puts and for what
 * counters.c does not have: rpc and its limit, auto and its table, refusals.
 * Shapes of work requests are the client's promise; docs/persistence.md needs them.
 */
#include "kselftest_harness.h"
#include "counts.h"

#define AT	(40 * MiB)

FIXTURE(method) {
	int instance;
	int fd;
	struct pmof_info info;
	char *buf;
};

FIXTURE_VARIANT(method) {
	const char *name;
	uint32_t method;
	/* A committed put of 64 bytes: work requests, waits, handler calls. */
	int writes, sends, reads, flushes, atomic_writes, trips, calls;
	/* What the server's fences must at least be, given that it does the work. */
	int fences;
};

/* WRITE, COMMIT message: the server persists the data, then PF, then sets VF. */
FIXTURE_VARIANT_ADD(method, assist) {
	.name = "assist", .method = PMOF_METHOD_ASSIST,
	.writes = 1, .sends = 1, .trips = 1, .calls = 1, .fences = 2,
};

/* One message with all of it. */
FIXTURE_VARIANT_ADD(method, rpc) {
	.name = "rpc", .method = PMOF_METHOD_RPC,
	.sends = 1, .trips = 1, .calls = 1, .fences = 2,
};

/* WRITE data, READ; WRITE PF, READ; WRITE VF, READ. */
FIXTURE_VARIANT_ADD(method, read) {
	.name = "read", .method = PMOF_METHOD_READ,
	.writes = 3, .reads = 3, .trips = 3,
};

FIXTURE_SETUP(method)
{
	char options[64];

	snprintf(options, sizeof(options), "persist=%s,queues=2", variant->name);
	self->instance = vm_connect(options);
	ASSERT_LE(0, self->instance);
	self->fd = vm_open(self->instance, O_RDWR);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, vm_info(self->fd, &self->info));
	ASSERT_EQ(variant->method, self->info.method);
	self->buf = vm_pages(1 * MiB);
	vm_pin(0);
}

FIXTURE_TEARDOWN(method)
{
	EXPECT_TRUE(vm_attr_is(self->instance, "state", "live"));
	close(self->fd);
	EXPECT_EQ(0, vm_disconnect(self->instance));
}

/* --- committed puts -------------------------------------------------------------- */

TEST_F(method, committed_put)
{
	uint64_t g, got;
	struct counts c = take(self->instance);

	/* By whatever method, this is the server's. */
	ASSERT_EQ(0, vm_prepare(self->fd, AT, 64, &g));
	GREW(c, WR_SEND, 1);
	GREW(c, WR_WRITE, 0);
	GREW(c, WR_READ, 0);
	GREW(c, ROUND_TRIPS, 1);
	GREW(c, RPC_CALLS, 1);
	GREW(c, PREPARES, 1);
	GREW(c, FENCES, 1);
	c = take(self->instance);
	ASSERT_EQ(0, vm_commit(self->fd, AT, self->buf, 64, g));
	GREW(c, WR_WRITE, variant->writes);
	GREW(c, WR_SEND, variant->sends);
	GREW(c, WR_READ, variant->reads);
	GREW(c, WR_FLUSH, variant->flushes);
	GREW(c, WR_ATOMIC_WRITE, variant->atomic_writes);
	GREW(c, ROUND_TRIPS, variant->trips);
	GREW(c, RPC_CALLS, variant->calls);
	GREW(c, COMMITS, variant->calls);
	EXPECT_LE(variant->fences, GROWN(c, FENCES));
	EXPECT_GE(variant->fences + 1, GROWN(c, FENCES));
	GREW(c, PUTS, 1);
	GREW(c, ERRORS, 0);
	c = take(self->instance);
	ASSERT_EQ(0, vm_get_valid(self->fd, AT, self->buf, 64, &got));
	EXPECT_EQ(g, got);
	/* Trailer, data, trailer. */
	GREW(c, WR_READ, 3);
	GREW(c, WR_SEND, 0);
	GREW(c, WR_WRITE, 0);
}

/* Many objects in one SUBMIT: by assist and rpc one message each, and no more. */
TEST_F(method, committed_puts_in_submit)
{
	struct pmof_op ops[10];
	struct counts c;
	int i;

	for (i = 0; i < 10; i++)
		ops[i] = (struct pmof_op){ .size = sizeof(ops[i]), .opcode = PMOF_OP_PREPARE,
					   .offset = AT + i * 64, .length = 64 };
	ASSERT_EQ(0, vm_submit(self->fd, ops, 10));
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, ops[i].result);
		ops[i] = (struct pmof_op){ .size = sizeof(ops[i]), .opcode = PMOF_OP_PUT,
					   .offset = AT + i * 64, .length = 64,
					   .flags = PMOF_F_COMMIT, .operand = ops[i].old,
					   .addr = (uintptr_t)self->buf };
	}
	c = take(self->instance);
	ASSERT_EQ(0, vm_submit(self->fd, ops, 10));
	for (i = 0; i < 10; i++)
		ASSERT_EQ(0, ops[i].result) TH_LOG("operation %d", i);
	GREW(c, WR_WRITE, 10 * variant->writes);
	GREW(c, WR_SEND, 10 * variant->sends);
	GREW(c, WR_READ, 10 * variant->reads);
	GREW(c, WR_FLUSH, 10 * variant->flushes);
	GREW(c, ROUND_TRIPS, 10 * variant->trips);
	GREW(c, COMMITS, 10 * variant->calls);
}

TEST_F(method, revalidate)
{
	uint64_t g;
	struct counts c;

	ASSERT_EQ(0, vm_prepare(self->fd, AT, 64, &g));
	ASSERT_EQ(0, vm_commit(self->fd, AT, self->buf, 64, g));
	c = take(self->instance);
	ASSERT_EQ(0, vm_revalidate(self->fd, AT, 64, &g));
	GREW(c, WR_SEND, 1);
	GREW(c, ROUND_TRIPS, 1);
	GREW(c, RPC_CALLS, 1);
	GREW(c, REVALIDATES, 1);
}

/* --- PERSIST ---------------------------------------------------------------------- */

/* A put on another queue is covered: by a READ there first, or by a FLUSH there. */
TEST_F(method, persist_covers_other_queues)
{
	bool silent = !variant->calls, flush = variant->flushes;
	struct counts c;

	vm_pin(1);
	ASSERT_EQ(0, vm_put(self->fd, AT + 64, self->buf, 64, 0));
	vm_pin(0);
	ASSERT_EQ(0, vm_put(self->fd, AT, self->buf, 64, 0));
	c = take(self->instance);
	ASSERT_EQ(0, vm_persist(self->fd, AT, 128));
	GREW(c, WR_READ, flush ? 0 : silent ? 2 : 1);
	GREW(c, WR_FLUSH, flush ? 2 : 0);
	GREW(c, WR_SEND, silent ? 0 : 1);
	GREW(c, SRV_PERSISTS, silent ? 0 : 1);
	GREW(c, ROUND_TRIPS, silent ? 1 : 2);
}

/* --- rpc -------------------------------------------------------------------------- */


FIXTURE(rpc) {
	int instance;
	int fd;
	struct pmof_info info;
	char *buf;
};

FIXTURE_SETUP(rpc)
{
	self->instance = vm_connect("persist=rpc,queues=2");
	ASSERT_LE(0, self->instance);
	self->fd = vm_open(self->instance, O_RDWR);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, vm_info(self->fd, &self->info));
	self->buf = vm_pages(1 * MiB);
	memset(self->buf, 0x5a, 1 * MiB);
	vm_pin(0);
}

FIXTURE_TEARDOWN(rpc)
{
	EXPECT_TRUE(vm_attr_is(self->instance, "state", "live"));
	close(self->fd);
	EXPECT_EQ(0, vm_disconnect(self->instance));
}

/* The figure of the papers: one SEND, no WRITE. */
TEST_F(rpc, durable_64_byte_put)
{
	struct counts c = take(self->instance);
	char got[66] = { 0 };

	ASSERT_EQ(0, vm_put(self->fd, AT + 3, self->buf, 64, PMOF_F_PERSIST));
	GREW(c, WR_SEND, 1);
	GREW(c, WR_WRITE, 0);
	GREW(c, WR_READ, 0);
	GREW(c, ROUND_TRIPS, 1);
	GREW(c, RPC_CALLS, 1);
	GREW(c, SRV_PUTS, 1);
	GREW(c, SRV_PERSISTS, 0);
	GREW(c, FENCES, 1);
	GREW(c, PUTS, 1);
	GREW(c, BYTES_PUT, 64);
	ASSERT_EQ(0, vm_get(self->fd, AT + 3, got, 64));
	EXPECT_EQ(0, memcmp(self->buf, got, 64));
}

TEST_F(rpc, a_put_that_need_not_be_durable_is_a_write)
{
	struct counts c = take(self->instance);

	ASSERT_EQ(0, vm_put(self->fd, AT, self->buf, 64, 0));
	GREW(c, WR_WRITE, 1);
	GREW(c, WR_SEND, 0);
	GREW(c, RPC_CALLS, 0);
}

/* Around the limit: the same bytes get there, by a message and by a WRITE. */
TEST_F(rpc, inline_limit)
{
	uint64_t max = self->info.max_rpc, len;
	char *got = vm_pages(8192);
	uint64_t state = 8;

	ASSERT_LE(512, max);
	ASSERT_GT(8192, max);
	for (len = max - 1; len <= max + 1; len++) {
		struct counts c = take(self->instance);
		bool fits = len <= max;

		vm_fill(&state, self->buf, len);
		ASSERT_EQ(0, vm_put(self->fd, AT + 5, self->buf, len, PMOF_F_PERSIST));
		GREW(c, WR_WRITE, fits ? 0 : 1);
		GREW(c, WR_SEND, 1);
		GREW(c, SRV_PUTS, fits ? 1 : 0);
		GREW(c, SRV_PERSISTS, fits ? 0 : 1);
		GREW(c, ROUND_TRIPS, 1);
		ASSERT_EQ(0, vm_get(self->fd, AT + 5, got, len));
		EXPECT_EQ(0, memcmp(self->buf, got, len)) TH_LOG("%llu", (unsigned long long)len);
	}
}

/* Of an object the trailer does not travel: its data may have the whole message. */
TEST_F(rpc, inline_limit_of_objects)
{
	uint64_t len, max = (self->info.max_rpc & ~7ULL) + 8, g;
	char *got = vm_pages(8192);
	uint64_t state = 9;

	for (len = max - 8; len <= max + 8; len += 8) {
		bool fits = len <= max;
		struct counts c;

		vm_fill(&state, self->buf, len);
		ASSERT_EQ(0, vm_prepare(self->fd, AT, len, &g));
		c = take(self->instance);
		ASSERT_EQ(0, vm_commit(self->fd, AT, self->buf, len, g));
		GREW(c, WR_WRITE, fits ? 0 : 1);
		GREW(c, SRV_PUTS, fits ? 1 : 0);
		GREW(c, COMMITS, 1);
		GREW(c, ROUND_TRIPS, 1);
		ASSERT_EQ(0, vm_get_valid(self->fd, AT, got, len, &g));
		EXPECT_EQ(0, memcmp(self->buf, got, len - 8));
	}
}

/*
 * [R3] A plain put by another queue may still be to land: the server's CPU must not store under it.
 * Of an object, too, though PREPARE has waited for what was before it.
 */
TEST_F(rpc, behind_a_put_by_another_queue)
{
	struct counts c;
	uint64_t g;
	int commit;

	for (commit = 0; commit < 2; commit++) {
		ASSERT_EQ(0, vm_prepare(self->fd, AT, 72, &g));
		vm_pin(1);
		ASSERT_EQ(0, vm_put(self->fd, AT, self->buf, 64, 0));
		vm_pin(0);
		c = take(self->instance);
		ASSERT_EQ(0, commit ? vm_commit(self->fd, AT, self->buf, 72, g) :
				      vm_put(self->fd, AT, self->buf, 64, PMOF_F_PERSIST));
		GREW(c, WR_WRITE, 1);
		GREW(c, SRV_PUTS, 0);
		/* That queue is clean behind a PERSIST. */
		ASSERT_EQ(0, vm_persist(self->fd, AT, 64));
		ASSERT_EQ(0, vm_prepare(self->fd, AT, 72, &g));
		c = take(self->instance);
		ASSERT_EQ(0, commit ? vm_commit(self->fd, AT, self->buf, 72, g) :
				      vm_put(self->fd, AT, self->buf, 64, PMOF_F_PERSIST));
		GREW(c, WR_WRITE, 0);
		GREW(c, SRV_PUTS, 1);
	}
}

/* A bad pointer is found before the message is sent. */
TEST_F(rpc, bad_pointer)
{
	struct counts c = take(self->instance);
	char *edge = vm_edge(64);

	EXPECT_EQ(-EFAULT, vm_put(self->fd, AT, NULL, 64, PMOF_F_PERSIST));
	EXPECT_EQ(-EFAULT, vm_put(self->fd, AT, edge, 128, PMOF_F_PERSIST));
	EXPECT_EQ(0, vm_put(self->fd, AT, edge, 64, PMOF_F_PERSIST));
	GREW(c, WR_SEND, 1);
}

TEST_F(rpc, in_submit)
{
	struct pmof_op ops[8];
	struct counts c;
	int i;

	for (i = 0; i < 8; i++)
		ops[i] = (struct pmof_op){ .size = sizeof(ops[i]), .opcode = PMOF_OP_PUT,
					   .flags = PMOF_F_PERSIST, .offset = AT + i * 64,
					   .length = 64, .addr = (uintptr_t)self->buf };
	c = take(self->instance);
	ASSERT_EQ(0, vm_submit(self->fd, ops, 8));
	GREW(c, WR_SEND, 8);
	GREW(c, WR_WRITE, 0);
	GREW(c, SRV_PUTS, 8);
}

/* --- auto ------------------------------------------------------------------------- */

FIXTURE(auto) {
	int instance;
	int fd;
	struct pmof_info info;
	char *buf;
};

FIXTURE_SETUP(auto)
{
	self->instance = vm_connect("persist=auto,queues=2");
	ASSERT_LE(0, self->instance);
	self->fd = vm_open(self->instance, O_RDWR);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, vm_info(self->fd, &self->info));
	ASSERT_EQ(PMOF_METHOD_AUTO, self->info.method);
	self->buf = vm_pages(64 * KiB);
	vm_pin(0);
}

FIXTURE_TEARDOWN(auto)
{
	EXPECT_TRUE(vm_attr_is(self->instance, "state", "live"));
	close(self->fd);
	EXPECT_EQ(0, vm_disconnect(self->instance));
}

/* Which method served a durable put of @len bytes, by what it cost. */
static const char *served_by(int instance, int fd, const char *buf, uint64_t len)
{
	struct counts a = take(instance), b;

	if (vm_put(fd, AT, buf, len, PMOF_F_PERSIST))
		return "failed";
	b = take(instance);
	if (b.v[SRV_PUTS] != a.v[SRV_PUTS])
		return b.v[WR_WRITE] == a.v[WR_WRITE] ? "rpc" : "rpc and a write";
	if (b.v[SRV_PERSISTS] != a.v[SRV_PERSISTS])
		return "assist";
	return b.v[WR_READ] != a.v[WR_READ] ? "read" : "flush";
}

TEST_F(auto, follows_the_table)
{
	static const struct { const char *table, *at_100, *at_101, *at_3000, *at_3001; } cases[] = {
		{ "rpc:100 assist", "rpc", "assist", "assist", "assist" },
		{ "assist:100 rpc:3000 assist", "assist", "rpc", "rpc", "assist" },
		{ "assist", "assist", "assist", "assist", "assist" },
		{ "rpc:3000 assist\n", "rpc", "rpc", "rpc", "assist" },
		/* Where a message is too small for it, assist takes over. */
		{ "rpc", "rpc", "rpc", "rpc", "rpc" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ASSERT_EQ(0, vm_set_attr(self->instance, "auto", cases[i].table))
			TH_LOG("%s", cases[i].table);
		EXPECT_STREQ(cases[i].at_100, served_by(self->instance, self->fd, self->buf, 100));
		EXPECT_STREQ(cases[i].at_101, served_by(self->instance, self->fd, self->buf, 101));
		EXPECT_STREQ(cases[i].at_3000,
			     served_by(self->instance, self->fd, self->buf, 3000));
		EXPECT_STREQ(cases[i].at_3001,
			     served_by(self->instance, self->fd, self->buf, 3001));
	}
	EXPECT_STREQ("assist", served_by(self->instance, self->fd, self->buf,
					 self->info.max_rpc + 1));
}

TEST_F(auto, read_where_it_is_offered)
{
	if (!(self->info.methods & 1 << PMOF_METHOD_READ))
		SKIP(return, "read is not offered");
	ASSERT_EQ(0, vm_set_attr(self->instance, "auto", "rpc:100 read:3000 assist"));
	EXPECT_STREQ("rpc", served_by(self->instance, self->fd, self->buf, 100));
	EXPECT_STREQ("read", served_by(self->instance, self->fd, self->buf, 101));
	EXPECT_STREQ("read", served_by(self->instance, self->fd, self->buf, 3000));
	EXPECT_STREQ("assist", served_by(self->instance, self->fd, self->buf, 3001));
}

/* What is refused leaves the table as it was. */
TEST_F(auto, bad_tables)
{
	static const char *const bad[] = {
		"", "\n", " ", "rpc:100", "assist:0 rpc", "assist rpc", "rpc:100 assist:50 rpc",
		"rpc:100 assist:100 rpc", "rpc:100  assist", " rpc:100 assist", "rpc:100 assist ",
		"rpc:-1 assist", "rpc:+1 assist", "rpc:0x10 assist", "rpc:1k assist", "rpc: assist",
		"rpc:18446744073709551615 assist", "rpc:18446744073709551616 assist", "auto",
		"none", "rpc:100 auto", "RPC:100 assist", "assist,rpc", "rpc:100:100 assist",
		"rpc:1 assist:2 rpc:3 assist:4 rpc:5 assist:6 rpc:7 assist:8 rpc",
	};
	char before[256], after[256];
	size_t i;

	ASSERT_EQ(0, vm_set_attr(self->instance, "auto", "rpc:77 assist"));
	vm_attr(self->instance, "auto", before, sizeof(before));
	EXPECT_STREQ("rpc:77 assist", before);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		/* A write of nothing does not reach the driver. */
		if (*bad[i])
			EXPECT_EQ(-EINVAL, vm_set_attr(self->instance, "auto", bad[i]))
				TH_LOG("'%s'", bad[i]);
		vm_attr(self->instance, "auto", after, sizeof(after));
		ASSERT_STREQ(before, after) TH_LOG("'%s'", bad[i]);
	}
	/* A method that this connection has not. */
	if (!(self->info.methods & 1 << PMOF_METHOD_READ))
		EXPECT_EQ(-EINVAL, vm_set_attr(self->instance, "auto", "read"));
	if (!(self->info.methods & 1 << PMOF_METHOD_FLUSH))
		EXPECT_EQ(-EINVAL, vm_set_attr(self->instance, "auto", "rpc:100 flush"));
	EXPECT_STREQ("rpc", served_by(self->instance, self->fd, self->buf, 77));
	EXPECT_STREQ("assist", served_by(self->instance, self->fd, self->buf, 78));
}

/* The table that a connection starts with names only what it has, and is obeyed. */
TEST_F(auto, default_table)
{
	char table[256];

	vm_attr(self->instance, "auto", table, sizeof(table));
	ASSERT_NE('\0', table[0]);
	if (!(self->info.methods & 1 << PMOF_METHOD_READ))
		EXPECT_EQ(NULL, strstr(table, "read"));
	/* It can be written back as it is. */
	EXPECT_EQ(0, vm_set_attr(self->instance, "auto", table)) TH_LOG("%s", table);
	EXPECT_STRNE("failed", served_by(self->instance, self->fd, self->buf, 64));
	TH_LOG("%s", table);
}

/* An atomic and a PERSIST have no data to send: covered by what there is. */
TEST_F(auto, persist_covers_other_queues)
{
	struct counts c;

	vm_pin(1);
	ASSERT_EQ(0, vm_put(self->fd, AT + 64, self->buf, 64, 0));
	vm_pin(0);
	ASSERT_EQ(0, vm_put(self->fd, AT, self->buf, 64, 0));
	c = take(self->instance);
	ASSERT_EQ(0, vm_persist(self->fd, AT, 128));
	/* On the other queue there was a READ in any case, or a FLUSH. */
	EXPECT_LE(1, GROWN(c, WR_READ) + GROWN(c, WR_FLUSH));
	EXPECT_EQ(2, GROWN(c, WR_READ) + GROWN(c, WR_FLUSH) + GROWN(c, SRV_PERSISTS));
}

/* --- what is not offered ---------------------------------------------------------- */

/* Reads what the kernel logs from now on. */
static int log_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		lseek(fd, 0, SEEK_END);
	return fd;
}

static bool log_has(int fd, const char *a, const char *b)
{
	char line[2048];
	ssize_t n;

	while ((n = read(fd, line, sizeof(line) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		line[n > 0 ? n : 0] = '\0';
		if (strstr(line, a) && strstr(line, b))
			return true;
	}
	return false;
}

TEST(methods_that_are_not_offered)
{
	static const struct { const char *options, *name; int bit; } cases[] = {
		{ "persist=read,queues=1", "read", PMOF_METHOD_READ },
		{ "persist=flush,queues=1", "flush", PMOF_METHOD_FLUSH },
	};
	int any = vm_connect("queues=1"), fd, log, i, rc, refused = 0;
	struct pmof_info info;

	ASSERT_LE(0, any);
	fd = vm_open(any, O_RDONLY);
	ASSERT_EQ(0, vm_info(fd, &info));
	close(fd);
	ASSERT_EQ(0, vm_disconnect(any));
	log = log_open();
	ASSERT_LE(0, log);
	for (i = 0; i < 2; i++) {
		if (info.methods & 1 << cases[i].bit)
			continue;
		rc = vm_connect(cases[i].options);
		EXPECT_EQ(-EOPNOTSUPP, rc);
		/* The log names the method and why. */
		EXPECT_TRUE(log_has(log, "pmof", cases[i].name)) TH_LOG("%s", cases[i].name);
		refused++;
	}
	close(log);
	EXPECT_EQ(-EINVAL, vm_connect("persist=none"));
	EXPECT_EQ(-EINVAL, vm_connect("persist="));
	if (!refused)
		SKIP(return, "all methods are offered");
}

TEST_HARNESS_MAIN
