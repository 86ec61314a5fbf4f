// SPDX-License-Identifier: GPL-2.0
/*
 * Messages that carry data and those about objects: round trips, limits and
 * lies. What a trailer says, whole and torn.
 */
#include "../../kmod/common/object.h"
#include "messages.h"

/* --- PUT ------------------------------------------------------------------ */

static int put_with(u64 offset, u64 length, bool object, u64 generation)
{
	u8 buf[PMOF_IO_MSG_SIZE + 64] = { 0 };
	struct pmof_wire_put *w = (void *)buf;
	u64 data = length - (object ? PMOF_TRAILER_SIZE : 0);
	size_t len = sizeof(*w) + (data <= PMOF_MAX_INLINE ? data : 0);

	pmof_put_hdr(&w->hdr, PMOF_MSG_PUT, 1, len, 0);
	w->offset = cpu_to_le64(offset);
	w->length = cpu_to_le64(length);
	w->generation = cpu_to_le64(generation);
	w->flags = cpu_to_le32(object ? PMOF_PUT_F_COMMIT : 0);
	return decode_put(buf, len);
}

TEST(put_round_trip)
{
	u8 buf[PMOF_IO_MSG_SIZE];
	struct pmof_wire_put *w = (void *)buf;
	struct pmof_put out;
	size_t len = build_put(buf);

	ASSERT_EQ(sizeof(*w) + put.range.length, len);
	EXPECT_EQ(len, le32_to_cpu(w->hdr.length));
	ASSERT_EQ(0, pmof_get_put(buf, len, NS_SIZE, &out));
	EXPECT_EQ(put.range.offset, out.range.offset);
	EXPECT_EQ(put.range.length, out.range.length);
	EXPECT_FALSE(out.commit);
	EXPECT_EQ(0, memcmp(buf + 16, "\xfd\x0f\0\0\0\0\0\0\x28\0\0\0\0\0\0\0", 16))
		TH_LOG("the layout on the wire has changed");
}

/* The wire names the object; sender and receiver, its data and its trailer. */
TEST(put_commit_round_trip)
{
	u8 buf[PMOF_IO_MSG_SIZE];
	struct pmof_wire_put *w = (void *)buf;
	struct pmof_put out;
	size_t len = build_put_commit(buf);

	ASSERT_EQ(sizeof(*w) + commit.range.length, len);
	EXPECT_EQ(commit.range.length + PMOF_TRAILER_SIZE, le64_to_cpu(w->length));
	ASSERT_EQ(0, pmof_get_put(buf, len, NS_SIZE, &out));
	EXPECT_EQ(commit.range.offset, out.range.offset);
	EXPECT_EQ(commit.range.length, out.range.length);
	EXPECT_EQ(commit.trailer, out.trailer);
	EXPECT_EQ(commit.generation, out.generation);
	EXPECT_TRUE(out.commit);
}

TEST(put_largest)
{
	u8 buf[PMOF_IO_MSG_SIZE + 8];
	struct pmof_put p = { .range = { 0, PMOF_MAX_INLINE } }, out;
	size_t len = build_put_of(buf, &p);

	EXPECT_EQ(PMOF_IO_MSG_SIZE, len);
	EXPECT_EQ(0, pmof_get_put(buf, len, NS_SIZE, &out));
	EXPECT_EQ(PMOF_MAX_INLINE, out.range.length);
}

TEST(put_bounds)
{
	EXPECT_EQ(0, put_with(NS_SIZE - 1, 1, false, 0));
	EXPECT_EQ(PMOF_SC_INVALID, put_with(0, 0, false, 0));
	EXPECT_EQ(PMOF_SC_RANGE, put_with(NS_SIZE, 1, false, 0));
	EXPECT_EQ(PMOF_SC_RANGE, put_with(NS_SIZE - 1, 2, false, 0));
	EXPECT_EQ(PMOF_SC_RANGE, put_with(U64_MAX, 1, false, 0));
	EXPECT_EQ(PMOF_SC_RANGE, put_with(U64_MAX - 7, 64, false, 0));
	EXPECT_EQ(0, put_with(NS_SIZE - 16, 16, true, 1));
	EXPECT_EQ(PMOF_SC_RANGE, put_with(NS_SIZE - 8, 16, true, 1));
	EXPECT_EQ(PMOF_SC_RANGE, put_with(U64_MAX - 7, 16, true, 1));
	EXPECT_EQ(PMOF_SC_INVALID, put_with(0, U64_MAX, false, 0));
	EXPECT_EQ(PMOF_SC_INVALID, put_with(0, U64_MAX - 7, true, 1));
}

/* Every combination of a few offsets and lengths, against the rule in words. */
TEST(put_object_shape)
{
	u64 offset, length;

	for (offset = 0; offset < 24; offset++)
		for (length = 8; length < 48; length++) {
			bool good = offset % 8 == 0 && length % 8 == 0 && length >= 16;

			EXPECT_EQ(good ? 0 : PMOF_SC_INVALID, put_with(offset, length, true, 5))
				TH_LOG("%u at %u", (unsigned int)length, (unsigned int)offset);
			EXPECT_EQ(0, put_with(offset, length, false, 0));
		}
	/* Shorter than a trailer: the length of the data would wrap. */
	for (length = 0; length < 8; length++)
		EXPECT_EQ(PMOF_SC_INVALID, put_with(0, length, true, 5));
}

TEST(put_generation)
{
	EXPECT_EQ(0, put_with(0, 16, true, PMOF_GENERATION_MASK));
	EXPECT_EQ(PMOF_SC_INVALID, put_with(0, 16, true, 0));
	EXPECT_EQ(PMOF_SC_INVALID, put_with(0, 16, true, PMOF_GENERATION_MASK + 1));
	EXPECT_EQ(PMOF_SC_INVALID, put_with(0, 16, true, U64_MAX));
	EXPECT_EQ(PMOF_SC_INVALID, put_with(0, 16, false, 1)) TH_LOG("without an object");
}

/* The length of the data is told twice: by the field and by what arrived. */
TEST(put_lies)
{
	static const s64 lies[] = { -40, -8, -1, 1, 8, 1LL << 32, 1LL << 62 };
	size_t (*const build[])(void *buf) = { build_put, build_put_commit };
	u8 buf[PMOF_IO_MSG_SIZE];
	struct pmof_wire_put *w = (void *)buf;
	size_t i, k, len;
	unsigned int bit;

	for (k = 0; k < ARRAY_SIZE(build); k++) {
		for (i = 0; i < ARRAY_SIZE(lies); i++) {
			len = build[k](buf);
			w->length = cpu_to_le64(le64_to_cpu(w->length) + lies[i]);
			EXPECT_EQ(PMOF_SC_INVALID, decode_put(buf, len)) TH_LOG("lie %zu", i);
		}
		for (bit = 1; bit < 32; bit++) {
			len = build[k](buf);
			w->flags |= cpu_to_le32(1U << bit);
			EXPECT_EQ(PMOF_SC_INVALID, decode_put(buf, len)) TH_LOG("flag %u", bit);
		}
		for (bit = 0; bit < 32; bit++) {
			len = build[k](buf);
			w->reserved = cpu_to_le32(1U << bit);
			EXPECT_EQ(PMOF_SC_INVALID, decode_put(buf, len)) TH_LOG("bit %u", bit);
		}
	}
}

/* --- COMMIT --------------------------------------------------------------- */

static int commit_with(u64 offset, u64 length, u64 trailer, u64 generation)
{
	struct pmof_put p = {
		.range = { offset, length }, .commit = true, .trailer = trailer,
		.generation = generation,
	};
	struct pmof_wire_commit w;
	size_t len = pmof_put_commit(&w, 1, &p);

	return decode_commit(&w, len);
}

TEST(commit_round_trip)
{
	struct pmof_wire_commit w;
	struct pmof_put out;
	size_t len = build_commit(&w);

	ASSERT_EQ(sizeof(w), len);
	ASSERT_EQ(0, pmof_get_commit(&w, len, NS_SIZE, &out));
	EXPECT_EQ(commit.range.offset, out.range.offset);
	EXPECT_EQ(commit.range.length, out.range.length);
	EXPECT_EQ(commit.trailer, out.trailer);
	EXPECT_EQ(commit.generation, out.generation);
	EXPECT_TRUE(out.commit);
}

TEST(commit_limits)
{
	struct pmof_wire_commit w;
	struct pmof_put out;
	size_t len;
	u64 bit;

	EXPECT_EQ(0, commit_with(0, 0, 0, 1));
	EXPECT_EQ(0, commit_with(3, 5, NS_SIZE - 8, 1));
	EXPECT_EQ(0, commit_with(NS_SIZE, 0, 0, PMOF_GENERATION_MASK));
	for (bit = 1; bit < 8; bit++)
		EXPECT_EQ(PMOF_SC_INVALID, commit_with(0, 8, 64 + bit, 1));
	EXPECT_EQ(PMOF_SC_RANGE, commit_with(0, 8, NS_SIZE, 1));
	EXPECT_EQ(PMOF_SC_RANGE, commit_with(0, 8, U64_MAX - 7, 1));
	EXPECT_EQ(PMOF_SC_RANGE, commit_with(0, NS_SIZE + 1, 8, 1));
	EXPECT_EQ(PMOF_SC_RANGE, commit_with(NS_SIZE + 1, 0, 8, 1));
	EXPECT_EQ(PMOF_SC_RANGE, commit_with(1, U64_MAX, 8, 1));
	EXPECT_EQ(PMOF_SC_RANGE, commit_with(U64_MAX, 1, 8, 1));
	EXPECT_EQ(PMOF_SC_INVALID, commit_with(0, 8, 8, 0));
	/* The namespace ends in the middle of the trailer. */
	len = pmof_put_commit(&w, 1, &commit);
	EXPECT_EQ(PMOF_SC_RANGE, pmof_get_commit(&w, len, commit.trailer + 7, &out));
	EXPECT_EQ(0, pmof_get_commit(&w, len, commit.trailer + 8, &out));
	for (bit = 48; bit < 64; bit++)
		EXPECT_EQ(PMOF_SC_INVALID, commit_with(0, 8, 8, 1ULL << bit | 1));
}

/* --- PREPARE, REVALIDATE -------------------------------------------------- */

TEST(objects_round_trip)
{
	u64 in[PMOF_MAX_OBJECTS], out[PMOF_MAX_OBJECTS];
	u8 buf[PMOF_IO_MSG_SIZE];
	u32 n, i, count = 0;

	for (n = 1; n <= PMOF_MAX_OBJECTS; n++) {
		size_t len;

		for (i = 0; i < n; i++)
			in[i] = 8 * (n * 1000 + i);
		len = pmof_put_objects((void *)buf, PMOF_MSG_PREPARE, n, in, n);
		ASSERT_EQ(sizeof(struct pmof_wire_objects) + 8 * n, len);
		ASSERT_EQ(0, pmof_get_objects(buf, len, NS_SIZE, out, &count));
		ASSERT_EQ(n, count);
		EXPECT_EQ(0, memcmp(in, out, 8 * n));
	}
}

TEST(objects_bounds)
{
	static const struct {
		u64 trailer;
		int rc;
	} cases[] = {
		{ 0, 0 }, { NS_SIZE - 8, 0 }, { NS_SIZE, PMOF_SC_RANGE },
		{ NS_SIZE - 7, PMOF_SC_INVALID }, { 4, PMOF_SC_INVALID }, { 1, PMOF_SC_INVALID },
		{ U64_MAX - 7, PMOF_SC_RANGE }, { U64_MAX, PMOF_SC_INVALID },
		{ 1ULL << 63, PMOF_SC_RANGE },
	};
	u64 in[PMOF_MAX_OBJECTS] = { 0 }, out[PMOF_MAX_OBJECTS];
	u8 buf[PMOF_IO_MSG_SIZE];
	size_t i, at, len;
	u32 count;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		for (at = 0; at < PMOF_MAX_OBJECTS; at += PMOF_MAX_OBJECTS - 1) {
			in[at] = cases[i].trailer;
			len = pmof_put_objects((void *)buf, PMOF_MSG_PREPARE, 1, in,
					       PMOF_MAX_OBJECTS);
			EXPECT_EQ(cases[i].rc, pmof_get_objects(buf, len, NS_SIZE, out, &count))
				TH_LOG("case %zu at %zu", i, at);
			in[at] = 0;
		}
	/* One out of range does not hide a malformed one behind it. */
	in[0] = NS_SIZE;
	in[1] = 4;
	len = pmof_put_objects((void *)buf, PMOF_MSG_PREPARE, 1, in, 2);
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_objects(buf, len, NS_SIZE, out, &count));
	/* No namespace is that small, but nothing may wrap. */
	in[0] = 0;
	len = pmof_put_objects((void *)buf, PMOF_MSG_PREPARE, 1, in, 1);
	EXPECT_EQ(PMOF_SC_RANGE, pmof_get_objects(buf, len, 7, out, &count));
}

TEST(objects_lies)
{
	static const u32 counts[] = { 0, 1, 2, 4, 128, 129, 0x20000003, 0x80000003, U32_MAX };
	u8 buf[PMOF_IO_MSG_SIZE] = { 0 };
	struct pmof_wire_objects *w = (void *)buf;
	u64 out[PMOF_MAX_OBJECTS];
	size_t i, len = build_prepare(buf);
	u32 count;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		w->count = cpu_to_le32(counts[i]);
		EXPECT_EQ(PMOF_SC_INVALID, pmof_get_objects(buf, len, NS_SIZE, out, &count))
			TH_LOG("count %u", counts[i]);
	}
	/* One more than the array takes, with a length that agrees. */
	w->count = cpu_to_le32(PMOF_MAX_OBJECTS + 1);
	len = sizeof(*w) + (PMOF_MAX_OBJECTS + 1) * sizeof(w->trailer[0]);
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_objects(buf, len, NS_SIZE, out, &count));
	len = build_prepare(buf);
	w->reserved = cpu_to_le32(0x80000000);
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_objects(buf, len, NS_SIZE, out, &count));
}

TEST(objects_reply_round_trip)
{
	u64 in[PMOF_MAX_OBJECTS], out[PMOF_MAX_OBJECTS];
	u8 buf[PMOF_IO_REPLY_SIZE + 8];
	u32 n, i;

	for (n = 1; n <= PMOF_MAX_OBJECTS; n++) {
		size_t len;

		for (i = 0; i < n; i++)
			in[i] = PMOF_GENERATION_MASK - i * n;
		len = pmof_put_objects_reply((void *)buf, PMOF_MSG_PREPARE, n, in, n);
		EXPECT_LE(len, PMOF_IO_REPLY_SIZE);
		ASSERT_EQ(0, pmof_get_objects_reply(buf, len, PMOF_MSG_PREPARE, n, out));
		EXPECT_EQ(0, memcmp(in, out, 8 * n));
		EXPECT_NE(0, pmof_get_objects_reply(buf, len, PMOF_MSG_REVALIDATE, n, out));
		EXPECT_NE(0, pmof_get_objects_reply(buf, len, PMOF_MSG_PREPARE, n + 1, out));
		EXPECT_NE(0, pmof_get_objects_reply(buf, len, PMOF_MSG_PREPARE, n - 1, out));
	}
}

/* A prepared object has a generation; one that was not committed has none to tell. */
TEST(objects_reply_generations)
{
	u64 in[3] = { 1, 2, 0 }, out[PMOF_MAX_OBJECTS];
	u8 buf[PMOF_IO_REPLY_SIZE];
	size_t len;
	u32 bit;

	len = pmof_put_objects_reply((void *)buf, PMOF_MSG_REVALIDATE, 1, in, 3);
	EXPECT_EQ(0, pmof_get_objects_reply(buf, len, PMOF_MSG_REVALIDATE, 3, out));
	EXPECT_EQ(0, out[2]);
	len = pmof_put_objects_reply((void *)buf, PMOF_MSG_PREPARE, 1, in, 3);
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_objects_reply(buf, len, PMOF_MSG_PREPARE, 3, out));
	for (bit = 48; bit < 64; bit++) {
		in[2] = 1ULL << bit | 1;
		len = pmof_put_objects_reply((void *)buf, PMOF_MSG_REVALIDATE, 1, in, 3);
		EXPECT_EQ(PMOF_SC_INVALID,
			  pmof_get_objects_reply(buf, len, PMOF_MSG_REVALIDATE, 3, out));
	}
}

TEST(objects_reply_lies)
{
	static const u32 counts[] = { 0, 1, 2, 4, 129, 0x20000003, U32_MAX };
	u8 buf[PMOF_IO_REPLY_SIZE];
	struct pmof_wire_objects_reply *w = (void *)buf;
	u64 out[PMOF_MAX_OBJECTS];
	size_t i, len = build_prepare_reply(buf);

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		w->count = cpu_to_le32(counts[i]);
		EXPECT_EQ(PMOF_SC_INVALID,
			  pmof_get_objects_reply(buf, len, PMOF_MSG_PREPARE, 3, out));
		EXPECT_EQ(PMOF_SC_INVALID,
			  pmof_get_objects_reply(buf, len, PMOF_MSG_PREPARE, counts[i], out));
	}
	w->count = cpu_to_le32(3);
	w->reserved = cpu_to_le32(1);
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_objects_reply(buf, len, PMOF_MSG_PREPARE, 3, out));
}

/* --- shapes and trailers -------------------------------------------------- */

TEST(object_shape)
{
	u64 offset, length;

	for (offset = 0; offset < 80; offset++)
		for (length = 0; length < 80; length++)
			EXPECT_EQ(offset % 8 == 0 && length % 8 == 0 && length >= 16 &&
				  offset + length <= 64,
				  pmof_object_ok(offset, length, 64));
	EXPECT_FALSE(pmof_object_ok(U64_MAX - 7, 16, U64_MAX));
	EXPECT_FALSE(pmof_object_ok(16, U64_MAX - 7, U64_MAX));
	EXPECT_EQ(120, pmof_object_trailer(64, 64));
	EXPECT_EQ(8, pmof_object_trailer(0, 16));
}

TEST(generation_limits)
{
	EXPECT_FALSE(pmof_generation_ok(0));
	EXPECT_TRUE(pmof_generation_ok(1));
	EXPECT_TRUE(pmof_generation_ok(PMOF_GENERATION_MASK));
	EXPECT_FALSE(pmof_generation_ok(PMOF_GENERATION_MASK + 1));
	EXPECT_FALSE(pmof_generation_ok(U64_MAX));
}

/* @check of generations that matter: small, around each byte's carry, random. */
static void for_generations(void (*check)(struct __test_metadata *m, u64 generation),
			    struct __test_metadata *m)
{
	u64 g, state = 42, i;
	unsigned int byte;

	for (g = 1; g < 0x10100; g++)
		check(m, g);
	for (byte = 1; byte < 6; byte++)
		for (i = 0; i < 600; i++) {
			u64 carry = (1 + rnd(&state) % 255) << 8 * byte;

			check(m, (carry + i - 300) & PMOF_GENERATION_MASK);
			check(m, ((rnd(&state) << 8 * (byte + 1)) + carry - 1) &
			      PMOF_GENERATION_MASK);
		}
	for (i = 0; i < 20000; i++)
		check(m, rnd(&state) & PMOF_GENERATION_MASK);
	for (g = PMOF_GENERATION_MASK - 600; g <= PMOF_GENERATION_MASK; g++)
		check(m, g);
}

static void check_states(struct __test_metadata *_metadata, u64 g)
{
	u64 prepared = pmof_trailer_prepared(g), pf = pmof_trailer_persistent(g);
	u64 committed = pmof_trailer_committed(g);

	if (!g)
		return;
	ASSERT_EQ(g, prepared);
	ASSERT_EQ(g | 1ULL << 48, pf);
	ASSERT_EQ(pf, committed & ((1ULL << 56) - 1));
	ASSERT_EQ(1, committed >> 63);
	ASSERT_EQ(g, pmof_trailer_generation(committed));
	ASSERT_FALSE(pmof_trailer_valid(prepared));
	ASSERT_FALSE(pmof_trailer_valid(pf));
	ASSERT_TRUE(pmof_trailer_valid(committed));
	ASSERT_FALSE(pmof_trailer_recoverable(prepared));
	ASSERT_TRUE(pmof_trailer_recoverable(pf));
	ASSERT_TRUE(pmof_trailer_recoverable(committed));
}

TEST(trailer_states)
{
	for_generations(check_states, _metadata);
}

/* Recovery does not look at VF, which is not durable: any value of it, PF alone counts. */
TEST(trailer_flags)
{
	u64 g = 0x123456789abcULL, word;
	unsigned int pf, vf;

	for (pf = 0; pf < 256; pf++)
		for (vf = 0; vf < 256; vf++) {
			word = g | (u64)pf << 48 | (u64)vf << 56;
			EXPECT_EQ(pf == 1, pmof_trailer_recoverable(word));
			EXPECT_EQ(pf == 1 && vf == pmof_vf(g), pmof_trailer_valid(word));
		}
	EXPECT_FALSE(pmof_trailer_valid(1ULL << 48 | 0x80ULL << 56));
	EXPECT_FALSE(pmof_trailer_recoverable(1ULL << 48));
	EXPECT_FALSE(pmof_trailer_valid(0));
	EXPECT_FALSE(pmof_trailer_valid(U64_MAX));
	EXPECT_FALSE(pmof_trailer_recoverable(U64_MAX));
}

static void check_next(struct __test_metadata *_metadata, u64 g)
{
	u64 next = pmof_trailer_next(pmof_trailer_committed(g));

	ASSERT_TRUE(pmof_generation_ok(next));
	ASSERT_EQ(g == PMOF_GENERATION_MASK ? 1 : g + 1, next);
	ASSERT_EQ(next, pmof_trailer_next(g));
	ASSERT_EQ(next, pmof_trailer_next(g | 0xffffULL << 48)) TH_LOG("garbage in the flags");
}

TEST(trailer_next)
{
	u64 state = 7, word, i;

	for_generations(check_next, _metadata);
	EXPECT_EQ(1, pmof_trailer_next(0));
	EXPECT_EQ(1, pmof_trailer_next(U64_MAX));
	for (i = 0; i < 100000; i++) {
		word = pmof_trailer_next(rnd(&state));
		ASSERT_TRUE(pmof_generation_ok(word));
		ASSERT_FALSE(pmof_trailer_valid(word) || pmof_trailer_recoverable(word));
	}
}

/*
 * An object goes from committed in one generation through prepared and
 * persistent to committed in the next. A reader that takes each byte at another
 * moment of that gets the generation's bytes from either, either PF, and the
 * old VF, none, or the new one: what it takes for committed must be one of the two.
 */
static void check_torn(struct __test_metadata *_metadata, u64 g)
{
	u64 old = pmof_trailer_committed(g), new = pmof_trailer_next(old), word, vf[3];
	unsigned int mask, i, k;

	if (!g)
		return;
	new = pmof_trailer_committed(new);
	vf[0] = old >> 56;
	vf[1] = 0;
	vf[2] = new >> 56;
	for (mask = 0; mask < 64; mask++) {
		for (word = 0, i = 0; i < 6; i++)
			word |= (mask >> i & 1 ? new : old) & 0xffULL << 8 * i;
		for (i = 0; i < 2; i++)
			for (k = 0; k < 3; k++) {
				u64 torn = word | (u64)i << 48 | vf[k] << 56;

				if (torn == old || torn == new)
					continue;
				ASSERT_FALSE(pmof_trailer_valid(torn))
					TH_LOG("%012llx and the next: %016llx is taken for valid",
					       (unsigned long long)g, (unsigned long long)torn);
			}
	}
}

TEST(torn_trailer_is_never_valid)
{
	for_generations(check_torn, _metadata);
}

TEST_HARNESS_MAIN
