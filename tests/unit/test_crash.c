// SPDX-License-Identifier: GPL-2.0
/*
 * The power-cut explorer against synthetic traces: what survives, in both fence
 * modes, and a right and several wrong protocols on top of it.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "../crash/content.h"
#include "../crash/explore.h"
#include "../../kmod/common/object.h"
#include "unit.h"

#define SIZE	(64 * 1024)

/* --- the model --------------------------------------------------------------------- */

static void record(struct model *m, unsigned int type, unsigned int cpu, uint64_t addr,
		   const void *data, uint16_t len)
{
	static uint64_t pos;
	struct trace_rec r = { .type = type, .cpu = cpu, .addr = addr, .len = len };

	if (model_record(m, &r, data, pos++))
		abort();
}

static void put(struct model *m, unsigned int cpu, uint64_t addr, uint64_t value)
{
	record(m, TRACE_STORE, cpu, addr, &value, 8);
}

static void put_nt(struct model *m, unsigned int cpu, uint64_t addr, uint64_t value)
{
	record(m, TRACE_NT_STORE, cpu, addr, &value, 8);
}

static void write_back(struct model *m, unsigned int cpu, uint64_t addr)
{
	record(m, TRACE_WRITE_BACK, cpu, addr, NULL, 0);
}

static uint64_t get(const struct model *m, enum image_kind kind, uint64_t addr)
{
	struct image image = { .kind = kind };
	uint64_t v;

	model_read(m, &image, addr, &v, 8);
	return v;
}

FIXTURE(model) {
	struct model m;
};

FIXTURE_VARIANT(model) {
	enum fence_mode mode;
};

FIXTURE_VARIANT_ADD(model, x86) {
	.mode = FENCE_X86,
};

FIXTURE_VARIANT_ADD(model, strict) {
	.mode = FENCE_STRICT,
};

FIXTURE_SETUP(model)
{
	ASSERT_EQ(0, model_init(&self->m, SIZE, variant->mode, false));
}

FIXTURE_TEARDOWN(model)
{
	model_free(&self->m);
}

TEST_F(model, store_alone_is_lost)
{
	put(&self->m, 0, 128, 7);
	record(&self->m, TRACE_SFENCE, 0, 0, NULL, 0);
	EXPECT_EQ(0, get(&self->m, IMAGE_LOST, 128));
	EXPECT_EQ(7, get(&self->m, IMAGE_ALL, 128));
}

TEST_F(model, write_back_without_fence_is_lost)
{
	put(&self->m, 0, 128, 7);
	write_back(&self->m, 0, 130);
	EXPECT_EQ(0, get(&self->m, IMAGE_LOST, 128));
}

TEST_F(model, write_back_and_fence_is_kept)
{
	put(&self->m, 0, 128, 7);
	write_back(&self->m, 0, 191);
	record(&self->m, TRACE_SFENCE, 0, 0, NULL, 0);
	EXPECT_EQ(7, get(&self->m, IMAGE_LOST, 128));
	EXPECT_EQ(0, self->m.nr_dirty);
}

TEST_F(model, fence_on_another_cpu_is_none)
{
	put(&self->m, 0, 128, 7);
	write_back(&self->m, 0, 128);
	record(&self->m, TRACE_SFENCE, 1, 0, NULL, 0);
	EXPECT_EQ(0, get(&self->m, IMAGE_LOST, 128));
	record(&self->m, TRACE_SFENCE, 0, 0, NULL, 0);
	EXPECT_EQ(7, get(&self->m, IMAGE_LOST, 128));
}

/* What another CPU has stored is written back too, if it came before. */
TEST_F(model, write_back_of_another_cpus_store)
{
	put(&self->m, 1, 128, 7);
	write_back(&self->m, 0, 128);
	put(&self->m, 1, 136, 8);
	record(&self->m, TRACE_SFENCE, 0, 0, NULL, 0);
	EXPECT_EQ(7, get(&self->m, IMAGE_LOST, 128));
	EXPECT_EQ(0, get(&self->m, IMAGE_LOST, 136));
	EXPECT_EQ(8, get(&self->m, IMAGE_ALL, 136));
}

TEST_F(model, locked_operation_fences_in_x86_mode_only)
{
	put(&self->m, 0, 128, 7);
	write_back(&self->m, 0, 128);
	record(&self->m, TRACE_LOCKED, 0, 0, NULL, 0);
	EXPECT_EQ(variant->mode == FENCE_X86 ? 7 : 0, get(&self->m, IMAGE_LOST, 128));
	record(&self->m, TRACE_SFENCE, 0, 0, NULL, 0);
	EXPECT_EQ(7, get(&self->m, IMAGE_LOST, 128));
}

TEST_F(model, non_temporal_store)
{
	put(&self->m, 0, 128, 5);
	put_nt(&self->m, 0, 136, 7);
	EXPECT_EQ(0, get(&self->m, IMAGE_LOST, 136));
	record(&self->m, TRACE_SFENCE, 1, 0, NULL, 0);
	EXPECT_EQ(0, get(&self->m, IMAGE_LOST, 136));
	record(&self->m, TRACE_SFENCE, 0, 0, NULL, 0);
	EXPECT_EQ(7, get(&self->m, IMAGE_LOST, 136));
	/* It takes nothing else of its line with it. */
	EXPECT_EQ(0, get(&self->m, IMAGE_LOST, 128));
}

/* An older store to the same bytes cannot come back over it. */
TEST_F(model, non_temporal_store_over_a_cached_one)
{
	put(&self->m, 0, 128, 5);
	put_nt(&self->m, 0, 128, 7);
	record(&self->m, TRACE_SFENCE, 0, 0, NULL, 0);
	EXPECT_EQ(7, get(&self->m, IMAGE_LOST, 128));
	EXPECT_EQ(7, get(&self->m, IMAGE_ALL, 128));
	EXPECT_EQ(0, self->m.nr_dirty);
}

TEST_F(model, write_back_elsewhere_leaves_a_non_temporal_store)
{
	put_nt(&self->m, 0, 128, 7);
	put(&self->m, 1, 136, 8);
	write_back(&self->m, 1, 128);
	record(&self->m, TRACE_SFENCE, 1, 0, NULL, 0);
	EXPECT_EQ(0, get(&self->m, IMAGE_LOST, 128));
	EXPECT_EQ(8, get(&self->m, IMAGE_LOST, 136));
	EXPECT_EQ(7, get(&self->m, IMAGE_ALL, 128));
}

TEST_F(model, store_across_lines)
{
	uint64_t v = 0x1122334455667788ULL;

	record(&self->m, TRACE_STORE, 0, 188, &v, 8);
	EXPECT_EQ(v, get(&self->m, IMAGE_ALL, 188));
	write_back(&self->m, 0, 192);
	record(&self->m, TRACE_SFENCE, 0, 0, NULL, 0);
	EXPECT_EQ(v >> 32 << 32, get(&self->m, IMAGE_LOST, 188));
	EXPECT_EQ(v, get(&self->m, IMAGE_ALL, 188));
}

TEST_F(model, malformed_records_are_refused)
{
	struct trace_rec r = { .type = TRACE_STORE, .len = 8, .addr = SIZE - 4 };

	EXPECT_NE(0, model_record(&self->m, &r, (uint8_t *)"12345678", 0));
	r.addr = UINT64_MAX - 3;
	EXPECT_NE(0, model_record(&self->m, &r, (uint8_t *)"12345678", 0));
	r.addr = 0;
	r.len = 0;
	EXPECT_NE(0, model_record(&self->m, &r, (uint8_t *)"", 0));
	r = (struct trace_rec){ .type = TRACE_WRITE_BACK, .addr = SIZE };
	EXPECT_NE(0, model_record(&self->m, &r, NULL, 0));
	r.type = 99;
	EXPECT_NE(0, model_record(&self->m, &r, NULL, 0));
}

/* Prefixes: never a later store of a line without an earlier one to other bytes. */
TEST_F(model, random_prefixes)
{
	bool seen[4] = { false };
	uint64_t seed;

	put(&self->m, 0, 128, 1);
	put(&self->m, 0, 136, 2);
	for (seed = 0; seed < 200; seed++) {
		struct image image = { .kind = IMAGE_PREFIX, .seed = seed };
		uint64_t v[2];

		model_read(&self->m, &image, 128, v, sizeof(v));
		ASSERT_TRUE((v[0] == 0 || v[0] == 1) && (v[1] == 0 || v[1] == 2));
		seen[!!v[0] + 2 * !!v[1]] = true;
	}
	EXPECT_TRUE(seen[0] && seen[1] && seen[3]);
	/* The last store of the prefix may be torn, and so missing, but the first not. */
	EXPECT_FALSE(seen[2]);
}

/* Long stores tear at aligned words, and only there. */
TEST_F(model, tearing)
{
	uint64_t seed, old[4] = { 1, 1, 1, 1 }, new[4] = { 2, 2, 2, 2 }, mixed = 0;

	record(&self->m, TRACE_STORE, 0, 128, old, 32);
	write_back(&self->m, 0, 128);
	record(&self->m, TRACE_SFENCE, 0, 0, NULL, 0);
	record(&self->m, TRACE_STORE, 0, 128, new, 32);
	for (seed = 0; seed < 200; seed++) {
		struct image image = { .kind = seed % 2 ? IMAGE_TORN : IMAGE_PREFIX, .seed = seed };
		uint64_t v[4], i, sum = 0;

		model_read(&self->m, &image, 128, v, sizeof(v));
		for (i = 0; i < 4; i++) {
			ASSERT_TRUE(v[i] == 1 || v[i] == 2);
			sum += v[i];
		}
		mixed += sum > 4 && sum < 8;
	}
	EXPECT_GT(mixed, 20);
}

/* Against a slow model: a byte array of "kept" and one of "stored". */
TEST_F(model, final_state_of_random_traces)
{
	uint64_t rnd = 42;
	uint8_t *final = calloc(SIZE, 1), data[64];
	int i;

	for (i = 0; i < 20000; i++) {
		uint64_t addr = crash_rnd(&rnd, 2000);
		unsigned int cpu = crash_rnd(&rnd, 3), len = crash_rnd(&rnd, 16) + 1;

		switch (crash_rnd(&rnd, 6)) {
		case 0:
			write_back(&self->m, cpu, addr);
			break;
		case 1:
			record(&self->m, TRACE_SFENCE + crash_rnd(&rnd, 2), cpu, 0, NULL, 0);
			break;
		default:
			crash_content(data, i, 1, 1, 0, len);
			record(&self->m, TRACE_STORE + crash_rnd(&rnd, 2), cpu, addr, data, len);
			memcpy(final + addr, data, len);
		}
	}
	EXPECT_EQ(SIZE, model_compare(&self->m, final));
	final[1000] ^= 1;
	EXPECT_EQ(1000, model_compare(&self->m, final));
	free(final);
}

TEST(caches_survive)
{
	uint64_t a[2] = { 1, 2 }, torn = 0, seed;
	struct model m;

	ASSERT_EQ(0, model_init(&m, SIZE, FENCE_STRICT, true));
	put(&m, 0, 128, 7);
	put(&m, 0, 4096, 8);
	EXPECT_EQ(7, get(&m, IMAGE_LOST, 128));
	record(&m, TRACE_STORE, 0, 256, a, 16);
	EXPECT_EQ(8, get(&m, IMAGE_LOST, 4096));
	EXPECT_EQ(0, get(&m, IMAGE_LOST, 256));
	for (seed = 0; seed < 50; seed++) {
		struct image image = { .kind = IMAGE_TORN, .seed = seed };
		uint64_t v[2];

		model_read(&m, &image, 256, v, 16);
		torn += !v[0] != !v[1];
	}
	EXPECT_GT(torn, 5);
	/* Once anything has happened behind it, it is over. */
	record(&m, TRACE_MARK, 1, 0, NULL, 0);
	EXPECT_EQ(1, get(&m, IMAGE_LOST, 256));
	model_free(&m);
}

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
