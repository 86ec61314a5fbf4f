// SPDX-License-Identifier: GPL-2.0
/* Range and segment arithmetic, merging against a brute-force model. */
#include "../../kmod/common/range.h"
#include "unit.h"

TEST(range_ok)
{
	EXPECT_TRUE(pmof_range_ok(0, 0, 0));
	EXPECT_TRUE(pmof_range_ok(0, 1, 1));
	EXPECT_TRUE(pmof_range_ok(1, 0, 1));
	EXPECT_FALSE(pmof_range_ok(1, 1, 1));
	EXPECT_FALSE(pmof_range_ok(2, 0, 1));
	EXPECT_FALSE(pmof_range_ok(0, 2, 1));
	EXPECT_FALSE(pmof_range_ok(U64_MAX, 1, U64_MAX));
	EXPECT_FALSE(pmof_range_ok(1, U64_MAX, U64_MAX));
	EXPECT_FALSE(pmof_range_ok(U64_MAX, U64_MAX, 4096));
	EXPECT_TRUE(pmof_range_ok(0, U64_MAX, U64_MAX));
}

/* Every offset and length around a few lines, counted line by line. */
TEST(range_lines)
{
	u64 off, len, line;

	for (off = 0; off < 200; off++)
		for (len = 0; len < 200; len++) {
			u64 want = 0;

			for (line = 0; line < 400; line += PMOF_LINE_SIZE)
				want += line < off + len && off < line + PMOF_LINE_SIZE && len;
			ASSERT_EQ(want, pmof_range_lines(off, len))
				TH_LOG("offset %llu length %llu", (unsigned long long)off,
				       (unsigned long long)len);
		}
	EXPECT_EQ(1ULL << 41, pmof_range_lines(0, 1ULL << 47));
	EXPECT_EQ(1, pmof_range_lines((1ULL << 47) - 1, 1));
}

TEST(layout_init)
{
	static const struct {
		u64 size, segment;
		int rc;
	} cases[] = {
		{ 1, PMOF_MIN_SEGMENT, 0 }, { 0, PMOF_MIN_SEGMENT, -EINVAL },
		{ 1, 0, -EINVAL }, { 1, PMOF_MIN_SEGMENT - 1, -EINVAL },
		{ 1, PMOF_MIN_SEGMENT / 2, -EINVAL }, { 1, PMOF_MIN_SEGMENT + 1, -EINVAL },
		{ 1, PMOF_MAX_SEGMENT, 0 }, { 1, PMOF_MAX_SEGMENT * 2, -EINVAL },
		{ 1, 1ULL << 63, -EINVAL }, { U64_MAX, PMOF_MAX_SEGMENT, -EINVAL },
		{ PMOF_MIN_SEGMENT * PMOF_MAX_SEGMENTS, PMOF_MIN_SEGMENT, 0 },
		{ PMOF_MIN_SEGMENT * PMOF_MAX_SEGMENTS + 1, PMOF_MIN_SEGMENT, -EINVAL },
		{ PMOF_MAX_SEGMENT * PMOF_MAX_SEGMENTS, PMOF_MAX_SEGMENT, 0 },
		{ PMOF_MAX_SEGMENT * PMOF_MAX_SEGMENTS + 1, PMOF_MAX_SEGMENT, -EINVAL },
	};
	struct pmof_layout l;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		EXPECT_EQ(cases[i].rc, pmof_layout_init(&l, cases[i].size, cases[i].segment))
			TH_LOG("case %zu", i);
}

/* The segments of a layout, end to end, are the namespace. */
TEST(layout_covers)
{
	static const struct {
		u64 size, segment;
		u32 segments;
	} cases[] = {
		{ 1, 4096, 1 }, { 4095, 4096, 1 }, { 4096, 4096, 1 }, { 4097, 4096, 2 },
		{ 3 << 20, 2 << 20, 2 }, { (4ULL << 20) - 1, 2 << 20, 2 },
		{ (6ULL << 30) + 12345, 1 << 30, 7 },
		{ PMOF_MIN_SEGMENT * PMOF_MAX_SEGMENTS, PMOF_MIN_SEGMENT, PMOF_MAX_SEGMENTS },
	};
	struct pmof_layout l;
	size_t c;
	u32 i;

	for (c = 0; c < ARRAY_SIZE(cases); c++) {
		u64 at = 0;

		ASSERT_EQ(0, pmof_layout_init(&l, cases[c].size, cases[c].segment));
		ASSERT_EQ(cases[c].segments, pmof_layout_segments(&l));
		for (i = 0; i < cases[c].segments; i++) {
			u64 len = pmof_layout_length(&l, i);

			ASSERT_EQ(i, pmof_layout_index(&l, at));
			ASSERT_EQ(i, pmof_layout_index(&l, at + len - 1));
			if (i + 1 < cases[c].segments)
				ASSERT_EQ(cases[c].segment, len);
			at += len;
		}
		EXPECT_EQ(cases[c].size, at);
	}
}

TEST(layout_largest)
{
	struct pmof_layout l;

	ASSERT_EQ(0, pmof_layout_init(&l, PMOF_MAX_SEGMENT * PMOF_MAX_SEGMENTS,
				      PMOF_MAX_SEGMENT));
	EXPECT_EQ(PMOF_MAX_SEGMENTS, pmof_layout_segments(&l));
	EXPECT_EQ(PMOF_MAX_SEGMENTS - 1, pmof_layout_index(&l, l.size - 1));
	EXPECT_EQ(PMOF_MAX_SEGMENT, pmof_layout_length(&l, PMOF_MAX_SEGMENTS - 1));
}

/* Cutting any range by pieces covers it, each piece in one segment. */
TEST(layout_pieces)
{
	struct pmof_layout l;
	u64 state = 1;
	int n;

	ASSERT_EQ(0, pmof_layout_init(&l, (1 << 20) + 77, 1 << 14));
	for (n = 0; n < 2000; n++) {
		u64 off = rnd(&state) % l.size, len = rnd(&state) % (l.size - off + 1);
		u64 end = off + len;

		while (off < end) {
			u64 piece = pmof_layout_piece(&l, off, end - off);
			u32 seg = pmof_layout_index(&l, off);

			ASSERT_GT(piece, 0);
			ASSERT_LE(piece, end - off);
			ASSERT_EQ(seg, pmof_layout_index(&l, off + piece - 1));
			if (piece < end - off)
				ASSERT_NE(seg, pmof_layout_index(&l, off + piece));
			off += piece;
		}
	}
	EXPECT_EQ(0, pmof_layout_piece(&l, 5, 0));
}

/* --- merging -------------------------------------------------------------- */

#define MODEL_LINES	96

static void model_mark(bool *line, const struct pmof_range *r, unsigned int nr)
{
	unsigned int i;
	u64 b;

	memset(line, 0, MODEL_LINES);
	for (i = 0; i < nr; i++)
		for (b = r[i].offset; b < r[i].offset + r[i].length; b++)
			line[b / PMOF_LINE_SIZE] = true;
}

static bool merged_ok(const struct pmof_range *r, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (!r[i].length || r[i].offset % PMOF_LINE_SIZE || r[i].length % PMOF_LINE_SIZE)
			return false;
		if (i && r[i].offset <= r[i - 1].offset + r[i - 1].length)
			return false;	/* out of order, or should have been joined */
	}
	return true;
}

TEST(merge_against_model)
{
	bool want[MODEL_LINES], got[MODEL_LINES];
	struct pmof_range r[PMOF_MAX_RANGES];
	u64 state = 42;
	int round;

	for (round = 0; round < 20000; round++) {
		unsigned int i, out, nr = rnd(&state) % (PMOF_MAX_RANGES + 1);
		u64 longest = round % 3 ? 100 : 1000;

		for (i = 0; i < nr; i++) {
			r[i].length = rnd(&state) % (longest + 1);
			r[i].offset = rnd(&state) %
				(MODEL_LINES * PMOF_LINE_SIZE - r[i].length + 1);
		}
		model_mark(want, r, nr);
		out = pmof_range_merge(r, nr);
		ASSERT_LE(out, nr);
		ASSERT_TRUE(merged_ok(r, out)) TH_LOG("round %d", round);
		model_mark(got, r, out);
		ASSERT_EQ(0, memcmp(want, got, sizeof(want))) TH_LOG("round %d", round);
	}
}

TEST(merge_edges)
{
	u64 top = PMOF_MAX_SEGMENT * PMOF_MAX_SEGMENTS;
	struct pmof_range r[3] = { { top - 1, 1 }, { 0, top }, { top, 0 } };

	EXPECT_EQ(0, pmof_range_merge(r, 0));
	ASSERT_EQ(1, pmof_range_merge(r, 3));
	EXPECT_EQ(0, r[0].offset);
	EXPECT_EQ(top, r[0].length);
	r[0] = (struct pmof_range){ 64, 64 };
	r[1] = (struct pmof_range){ 0, 64 };
	r[2] = (struct pmof_range){ 191, 1 };
	ASSERT_EQ(1, pmof_range_merge(r, 3));
	EXPECT_EQ(0, r[0].offset);
	EXPECT_EQ(192, r[0].length);
	r[0] = (struct pmof_range){ 10, 0 };
	EXPECT_EQ(0, pmof_range_merge(r, 1));
}

TEST_HARNESS_MAIN
