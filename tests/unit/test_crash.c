// SPDX-License-Identifier: GPL-2.0
/*
 * The power-cut explorer against synthetic runs: a right protocol, in which nothing
 * may be lost, and wrong ones, each of which must lose something.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "../crash/content.h"
#include "../crash/explore.h"
#include "../../kmod/common/object.h"
#include "unit.h"

#define SIZE	(64 * 1024)

/* --- whole runs: a log, a client's trace, a server's trace ---------------------------- */

#define DATA_OFFSET	4096
#define OBJECT_AT	1024	/* slot 1 */
#define OBJECT_LEN	136

struct maker {
	uint8_t trace[1 << 20];
	size_t len;
	uint8_t client[1 << 16];
	size_t client_len;
	char log[1 << 16];
	size_t log_len;
	uint64_t time;
	uint32_t nr_ops;
};

static void emit(uint8_t *buf, size_t *at, struct trace_rec r, const void *data)
{
	memcpy(buf + *at, &r, sizeof(r));
	*at += sizeof(r);
	if (data)
		memcpy(buf + *at, data, r.len);
	*at += data ? r.len : 0;
}

static void server(struct maker *k, unsigned int type, unsigned int cpu, uint64_t addr,
		   const void *data, unsigned int len)
{
	struct trace_rec r = { .type = type, .cpu = cpu, .addr = addr, .len = len };

	emit(k->trace, &k->len, r, data);
}

static void server_mark(struct maker *k, unsigned int mark, uint64_t value)
{
	struct trace_rec t = { .type = TRACE_TIME, .addr = ++k->time };
	struct trace_rec r = { .type = TRACE_MARK, .mark = mark, .addr = value };

	emit(k->trace, &k->len, t, NULL);
	emit(k->trace, &k->len, r, NULL);
}

static void client_mark(struct maker *k, unsigned int mark, uint64_t value)
{
	struct trace_rec t = { .type = TRACE_TIME, .addr = ++k->time };
	struct trace_rec r = { .type = TRACE_MARK, .mark = mark, .addr = value };

	emit(k->client, &k->client_len, t, NULL);
	emit(k->client, &k->client_len, r, NULL);
	/* The server's VM has an interrupt now and then. */
	t.addr = ++k->time;
	emit(k->trace, &k->len, t, NULL);
}

static void say(struct maker *k, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	k->log_len += vsnprintf(k->log + k->log_len, sizeof(k->log) - k->log_len, format, args);
	va_end(args);
}

static struct maker *maker_new(void)
{
	struct trace_file head = { TRACE_MAGIC, TRACE_VERSION, 1 << 30, SIZE };
	struct maker *k = calloc(1, sizeof(*k));

	memcpy(k->trace, &head, sizeof(head));
	head.pmem_size = 0;
	memcpy(k->client, &head, sizeof(head));
	k->len = k->client_len = sizeof(head);
	say(k, LOG_MAGIC "\nseed 5\nslot 0 raw 3 500\nslot 1 object %u %u\nslot 2 word 2048 8\n",
	    OBJECT_AT, OBJECT_LEN);
	return k;
}

/* Stores of 8 bytes, as the CPU of a soft-RoCE server makes them. */
static void server_copy(struct maker *k, uint64_t offset, const uint8_t *data, size_t len)
{
	size_t n, i;

	for (i = 0; i < len; i += n) {
		n = len - i < 8 ? len - i : 8;
		server(k, TRACE_STORE, 1, DATA_OFFSET + offset + i, data + i, n);
	}
}

static void server_persist(struct maker *k, unsigned int cpu, uint64_t offset, size_t len)
{
	uint64_t line = (DATA_OFFSET + offset) & ~63ULL;

	for (; line < DATA_OFFSET + offset + len; line += 64)
		server(k, TRACE_WRITE_BACK, cpu, line, NULL, 0);
}

enum bug {
	NO_BUG,
	NO_WRITE_BACK,
	NO_FENCE,
	FENCE_ELSEWHERE,
	EARLY_REPLY,
	SHORT_END,
	PF_EARLY,
	VF_EARLY,
	LOOSE_PREPARE,
	FORGOTTEN_COVER,
	NR_BUGS,
};

/* A durable put of [@from, +@len) of slot 0. */
static void make_put(struct maker *k, uint64_t version, uint64_t from, size_t len, enum bug bug)
{
	uint32_t number = k->nr_ops++;
	uint64_t value = 0x10 | number << 16, offset = 3 + from;
	uint8_t data[512];

	say(k, "put %u 0 %llu %llu %zu 1\n", number, (unsigned long long)version,
	    (unsigned long long)from, len);
	crash_content(data, 5, 0, version, from, len);
	client_mark(k, MARK_OP_START, number);
	server_copy(k, offset, data, len);
	server_mark(k, MARK_REQUEST, value);
	server_mark(k, MARK_RANGE_OFF, offset);
	server_mark(k, MARK_RANGE_LEN, len);
	if (bug == EARLY_REPLY)
		server_mark(k, MARK_REPLY, value);
	if (bug != NO_WRITE_BACK)
		server_persist(k, 0, offset, bug == SHORT_END ? len - 9 : len);
	if (bug != NO_FENCE)
		server(k, TRACE_SFENCE, bug == FENCE_ELSEWHERE, 0, NULL, 0);
	if (bug != EARLY_REPLY)
		server_mark(k, MARK_REPLY, value);
	client_mark(k, MARK_OP_DONE, number);
}

static void trailer(struct maker *k, uint64_t word)
{
	server(k, TRACE_STORE, 0, DATA_OFFSET + OBJECT_AT + OBJECT_LEN - 8, &word, 8);
}

static void persist_trailer(struct maker *k)
{
	server_persist(k, 0, OBJECT_AT + OBJECT_LEN - 8, 8);
	server(k, TRACE_SFENCE, 0, 0, NULL, 0);
}

static void make_commit(struct maker *k, uint64_t generation, enum bug bug)
{
	uint32_t number = k->nr_ops;
	uint8_t data[OBJECT_LEN];

	k->nr_ops += 2;
	say(k, "prepare %u 1 %llu\ncommit %u 1 %llu\n", number, (unsigned long long)generation,
	    number + 1, (unsigned long long)generation);
	client_mark(k, MARK_OP_START, number);
	trailer(k, pmof_trailer_prepared(generation));
	if (bug != LOOSE_PREPARE)
		persist_trailer(k);
	client_mark(k, MARK_OP_DONE, number);
	client_mark(k, MARK_OP_START, number + 1);
	crash_content(data, 5, 1, generation, 0, OBJECT_LEN - 8);
	server_copy(k, OBJECT_AT, data, OBJECT_LEN - 8);
	if (bug == PF_EARLY)
		trailer(k, pmof_trailer_persistent(generation));
	server_persist(k, 0, OBJECT_AT, OBJECT_LEN - 8);
	server(k, TRACE_SFENCE, 0, 0, NULL, 0);
	trailer(k, bug == VF_EARLY ? pmof_trailer_committed(generation) :
				     pmof_trailer_persistent(generation));
	persist_trailer(k);
	trailer(k, pmof_trailer_committed(generation));
	client_mark(k, MARK_OP_DONE, number + 1);
}

/* Two plain puts, and one PERSIST of both. */
static void make_persist(struct maker *k, uint64_t version, enum bug bug)
{
	uint32_t number = k->nr_ops, i;
	uint8_t data[100];

	k->nr_ops += 3;
	for (i = 0; i < 2; i++) {
		say(k, "put %u 0 %llu %u 100 0\n", number + i, (unsigned long long)version + i,
		    200 * i);
		crash_content(data, 5, 0, version + i, 200 * i, 100);
		client_mark(k, MARK_OP_START, number + i);
		client_mark(k, MARK_OP_DONE, number + i);
		if (i && bug == FORGOTTEN_COVER)
			continue;
		server_copy(k, 3 + 200 * i, data, 100);
	}
	say(k, "persist %u 0 600 %u %u\n", number + 2, number, number + 1);
	client_mark(k, MARK_OP_START, number + 2);
	server_persist(k, 0, 0, 600);
	server(k, TRACE_SFENCE, 0, 0, NULL, 0);
	client_mark(k, MARK_OP_DONE, number + 2);
	if (bug == FORGOTTEN_COVER) {
		crash_content(data, 5, 0, version + 1, 200, 100);
		server_copy(k, 203, data, 100);
		server_persist(k, 0, 0, 600);
		server(k, TRACE_SFENCE, 0, 0, NULL, 0);
	}
}

static void make_atomic(struct maker *k, uint64_t version)
{
	uint64_t word = crash_word(5, 2, version);
	uint32_t number = k->nr_ops++;

	say(k, "atomic %u 2 %llu\n", number, (unsigned long long)version);
	client_mark(k, MARK_OP_START, number);
	server(k, TRACE_STORE, 1, DATA_OFFSET + 2048, &word, 8);
	server_persist(k, 0, 2048, 8);
	server(k, TRACE_SFENCE, 0, 0, NULL, 0);
	client_mark(k, MARK_OP_DONE, number);
}

static void make_all(struct maker *k, enum bug bug)
{
	int i;

	for (i = 0; i < 20; i++) {
		make_put(k, 4 * i + 1, 7 * i, 20 + 17 * i, bug);
		make_commit(k, i + 1, bug);
		make_persist(k, 4 * i + 2, bug);
		make_atomic(k, i + 1);
	}
	say(k, "end %u\n", k->nr_ops);
}

static void read_log(struct log *log, const struct maker *k)
{
	int fd = memfd_create("log", 0);
	char path[32];

	if (fd < 0 || write(fd, k->log, k->log_len) != (ssize_t)k->log_len)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (log_read(log, path))
		abort();
	close(fd);
}

/* Cuts at every record of a run with a bug; returns how many show a loss. */
static uint64_t losses(enum bug bug, enum fence_mode mode, struct totals *totals)
{
	struct config config = { .label = "test", .images = 6, .seed = 1,
				 .out = getenv("PMOF_CRASH_OUT"),
				 .data_offset = DATA_OFFSET };
	struct trace trace = { .head = { .pmem_size = SIZE } }, client = { };
	struct maker *k = maker_new();
	struct timeline t;
	uint64_t *cuts, i;
	struct log log;
	struct run r;

	make_all(k, bug);
	read_log(&log, k);
	trace.map = k->trace;
	trace.size = k->len;
	client.map = k->client;
	client.size = k->client_len;
	if (timeline_add_client(&log, &client, 0) || timeline_make(&t, &log, &trace) ||
	    run_init(&r, &config, &log, &trace, &t, mode))
		abort();
	cuts = calloc(t.nr_records, sizeof(*cuts));
	for (i = 0; i < t.nr_records; i++)
		cuts[i] = i;
	if (run_cuts(&r, cuts, t.nr_records))
		abort();
	*totals = r.totals;
	free(cuts);
	run_free(&r);
	timeline_free(&t);
	log_free(&log);
	free(k);
	return totals->bad_cuts;
}

TEST(right_protocols_lose_nothing)
{
	struct totals t;

	EXPECT_EQ(0, losses(NO_BUG, FENCE_X86, &t));
	EXPECT_EQ(0, losses(NO_BUG, FENCE_STRICT, &t));
	EXPECT_GT(t.cuts, 2000);
	EXPECT_GT(t.images, t.cuts);
}

TEST(every_bug_is_found)
{
	struct totals t;
	enum bug bug;

	for (bug = NO_BUG + 1; bug < NR_BUGS; bug++) {
		EXPECT_GT(losses(bug, FENCE_X86, &t), 0)
			TH_LOG("bug %d", bug);
		EXPECT_GT(losses(bug, FENCE_STRICT, &t), 0)
			TH_LOG("bug %d", bug);
	}
}

/* Half of the operations here have marks at the server. */
TEST(replies_are_matched)
{
	struct trace trace = { .head = { .pmem_size = SIZE } }, client = { };
	struct maker *k = maker_new();
	struct timeline t;
	struct log log;
	uint64_t *cuts, i;

	make_all(k, NO_BUG);
	read_log(&log, k);
	trace.map = k->trace;
	trace.size = k->len;
	client.map = k->client;
	client.size = k->client_len;
	ASSERT_EQ(0, timeline_add_client(&log, &client, 0));
	ASSERT_EQ(0, timeline_make(&t, &log, &trace));
	EXPECT_EQ(20, t.nr_by_reply);
	EXPECT_EQ(20, t.nr_requests);
	EXPECT_EQ(2 * log.nr_ops, t.nr_events);
	cuts = choose_cuts(&trace, &t, 1000, 3);
	for (i = 0; i < 1000; i++) {
		ASSERT_LT(cuts[i], t.nr_records);
		ASSERT_TRUE(!i || cuts[i] >= cuts[i - 1]);
	}
	free(cuts);
	timeline_free(&t);
	log_free(&log);
	free(k);
}

static uint64_t count_records(const struct trace *t, int *rc)
{
	struct trace_cursor c = trace_begin(t);
	const uint8_t *data;
	struct trace_rec r;

	while ((*rc = trace_next(&c, &r, &data)) > 0)
		;
	return c.pos;
}

/* A QEMU that was killed leaves half a record, or zeros. */
TEST(broken_traces)
{
	struct maker *k = maker_new();
	struct trace trace = { .map = k->trace };
	uint64_t all;
	int rc;

	make_put(k, 1, 0, 100, NO_BUG);
	trace.size = k->len;
	all = count_records(&trace, &rc);
	EXPECT_EQ(0, rc);
	trace.size = k->len - 1;
	EXPECT_EQ(all - 1, count_records(&trace, &rc));
	EXPECT_EQ(0, rc);
	trace.size = k->len + 1000;
	EXPECT_EQ(all, count_records(&trace, &rc));
	EXPECT_EQ(0, rc);
	k->trace[k->len] = 99;
	EXPECT_EQ(all, count_records(&trace, &rc));
	EXPECT_EQ(-1, rc);
	free(k);
}

TEST(content)
{
	uint8_t a[64], b[64];
	int v, i;

	for (v = 1; v < 255; v++) {
		crash_content(a, 1, 2, 1, 0, 64);
		crash_content(b, 1, 2, 1 + v, 0, 64);
		for (i = 0; i < 64; i++)
			ASSERT_NE(a[i], b[i]);
	}
	crash_content(a, 1, 2, 9, 0, 64);
	crash_content(b, 1, 2, 9, 13, 20);
	EXPECT_EQ(0, memcmp(a + 13, b, 20));
}

TEST_HARNESS_MAIN
