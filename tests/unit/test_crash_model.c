// SPDX-License-Identifier: GPL-2.0
/* The cache model of the power-cut explorer: what survives, in both fence modes. */
#include "../crash/content.h"
#include "../crash/model.h"
#include "unit.h"

#define SIZE	(64 * 1024)

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

TEST_HARNESS_MAIN
