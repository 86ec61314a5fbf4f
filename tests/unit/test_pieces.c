// SPDX-License-Identifier: GPL-2.0
/* Bad pages and the pieces between them, against a map with one byte for a page. */
#include "../../kmod/common/pieces.h"
#include "unit.h"

#define PAGES	64
#define SIZE	(PAGES * PMOF_BAD_PAGE)

struct model {
	bool bad[PAGES];
};

static void model_add(struct model *m, u64 offset, u64 length)
{
	u64 i;

	for (i = offset / PMOF_BAD_PAGE; length && i < PAGES && i * PMOF_BAD_PAGE < offset + length; i++)
		m->bad[i] = true;
}

static bool model_hit(const struct model *m, u64 offset, u64 length)
{
	u64 i;

	for (i = offset / PMOF_BAD_PAGE; i < PAGES && i * PMOF_BAD_PAGE < offset + length; i++)
		if (length && m->bad[i])
			return true;
	return false;
}

static void random_pages(struct pmof_pages *p, struct model *m)
{
	u64 at = rand() % (2 * SIZE / 16);

	memset(m, 0, sizeof(*m));
	p->nr = 0;
	while (at < SIZE) {
		u64 length = (1 + rand() % 24) * PMOF_SECTOR;

		at &= ~(PMOF_SECTOR - 1);
		if (!pmof_pages_add(p, at, length, SIZE))
			break;
		model_add(m, at, length);
		at += length + (rand() % 40) * PMOF_SECTOR;
	}
}

TEST(pages_add)
{
	struct pmof_range range[2];
	struct pmof_pages p = { .room = 2, .range = range };

	EXPECT_TRUE(pmof_pages_add(&p, 0, 0, SIZE));
	EXPECT_EQ(0, p.nr);
	EXPECT_TRUE(pmof_pages_add(&p, 4096, 512, SIZE));
	EXPECT_EQ(1, p.nr);
	EXPECT_EQ(4096, range[0].offset);
	EXPECT_EQ(4096, range[0].length);
	/* The same page, the next one: one range. */
	EXPECT_TRUE(pmof_pages_add(&p, 5120, 512, SIZE));
	EXPECT_TRUE(pmof_pages_add(&p, 8192, 1, SIZE));
	EXPECT_EQ(1, p.nr);
	EXPECT_EQ(8192, range[0].length);
	/* Past the end: cut, or nothing. */
	EXPECT_TRUE(pmof_pages_add(&p, SIZE - 4096, U64_MAX - SIZE, SIZE));
	EXPECT_EQ(2, p.nr);
	EXPECT_EQ(4096, range[1].length);
	EXPECT_TRUE(pmof_pages_add(&p, SIZE, 4096, SIZE));
	EXPECT_EQ(2, p.nr);
	p.nr = 1;
	p.room = 1;
	EXPECT_FALSE(pmof_pages_add(&p, 16384, 512, SIZE));
	EXPECT_EQ(8192, pmof_pages_bytes(&p));
}

TEST(pages_hit_against_model)
{
	struct pmof_range range[PAGES];
	struct pmof_pages p = { .room = PAGES, .range = range };
	struct model m;
	int round, i;

	for (round = 0; round < 2000; round++) {
		random_pages(&p, &m);
		for (i = 0; i < 50; i++) {
			u64 offset = rand() % SIZE, length = rand() % (SIZE - offset + 1);

			if (i % 2)
				length %= 8192;
			ASSERT_EQ(model_hit(&m, offset, length), pmof_pages_hit(&p, offset, length))
				TH_LOG("round %d: %llu+%llu", round, (unsigned long long)offset,
				       (unsigned long long)length);
		}
	}
}

TEST(pages_gained_against_model)
{
	struct pmof_range old_range[PAGES], now_range[PAGES];
	struct pmof_pages old = { .room = PAGES, .range = old_range };
	struct pmof_pages now = { .room = PAGES, .range = now_range };
	struct model m_old, m_now;
	bool gained;
	int round, i;

	for (round = 0; round < 5000; round++) {
		random_pages(&old, &m_old);
		random_pages(&now, &m_now);
		if (round % 2) {
			/* A part of the old ones: none is new. */
			now.nr = 0;
			m_now = m_old;
			for (i = 0; i < PAGES; i++) {
				m_now.bad[i] = m_old.bad[i] && rand() % 2;
				if (m_now.bad[i])
					pmof_pages_add(&now, i * PMOF_BAD_PAGE, 1, SIZE);
			}
		}
		gained = false;
		for (i = 0; i < PAGES; i++)
			gained |= m_now.bad[i] && !m_old.bad[i];
		ASSERT_EQ(gained, pmof_pages_gained(&old, &now));
		ASSERT_FALSE(pmof_pages_gained(&now, &now));
	}
}

/* The runs between bad pages are all of the good ones, each once, in order. */
TEST(pages_good_against_model)
{
	struct pmof_range range[PAGES];
	struct pmof_pages p = { .room = PAGES, .range = range };
	struct model m, seen;
	u64 first, end, at, n, i;
	int round;

	for (round = 0; round < 5000; round++) {
		random_pages(&p, &m);
		first = rand() % PAGES;
		end = (first + 1 + rand() % (PAGES - first)) * PMOF_BAD_PAGE;
		memset(&seen, 0, sizeof(seen));
		for (at = first * PMOF_BAD_PAGE; at < end; at += n) {
			n = pmof_pages_good(&p, &at, end);
			if (!n)
				break;
			for (i = at / PMOF_BAD_PAGE; i < (at + n) / PMOF_BAD_PAGE; i++)
				seen.bad[i] = true;
		}
		ASSERT_EQ(end, at);
		for (i = first; i < end / PMOF_BAD_PAGE; i++)
			ASSERT_EQ(!m.bad[i], seen.bad[i]);
	}
}

/* Whatever a run is cut into adds up to it, and no MR has more than 512 small pages. */
TEST(piece_cut)
{
	const u32 large = 2 << 20;
	u64 at, end, n;
	u32 use;
	int round;

	for (round = 0; round < 5000; round++) {
		u32 page_size = round % 2 ? large : 4096;

		at = (rand() % 2048) * PMOF_BAD_PAGE;
		end = at + (1 + rand() % 4096) * PMOF_BAD_PAGE;
		for (; at < end; at += n) {
			n = pmof_piece_cut(at, end - at, page_size, &use);
			ASSERT_TRUE(n && n <= end - at);
			ASSERT_TRUE(use == 4096 || use == page_size);
			ASSERT_EQ(0, at % use);
			ASSERT_EQ(0, n % use);
			if (use != page_size)
				ASSERT_TRUE(n / use <= 512);
			/* Small ones only where the large do not fit. */
			if (!(at % page_size) && end - at >= page_size)
				ASSERT_EQ(page_size, use);
		}
	}
}

TEST(piece_run)
{
	static const struct pmof_piece piece[] = {
		{ .offset = 4096, .length = 8192, .rkey = 1 },
		{ .offset = 12288, .length = 4096, .rkey = 2 },
		{ .offset = 20480, .length = 4096, .rkey = 3 },
	};
	const struct {
		u64 offset, length, run;
		u32 rkey;
	} cases[] = {
		{ 0, 1, 1, 0 }, { 0, 100000, 4096, 0 }, { 4095, 2, 1, 0 },
		{ 4096, 1, 1, 1 }, { 4096, 8192, 8192, 1 }, { 4097, 8192, 8191, 1 },
		/* Neighbours with MRs of their own. */
		{ 12287, 2, 1, 1 }, { 12288, 100000, 4096, 2 },
		{ 16384, 4096, 4096, 0 }, { 16384, 4097, 4096, 0 }, { 20479, 10, 1, 0 },
		{ 20480, 4097, 4096, 3 }, { 24576, 7, 7, 0 }, { 24575, 7, 1, 3 },
	};
	const struct pmof_piece *in;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		EXPECT_EQ(cases[i].run, pmof_piece_run(piece, 3, cases[i].offset,
						       cases[i].length, &in))
			TH_LOG("case %zu", i);
		EXPECT_EQ(cases[i].rkey, in ? in->rkey : 0)
			TH_LOG("case %zu", i);
	}
	EXPECT_EQ(5, pmof_piece_run(NULL, 0, 0, 5, &in));
	EXPECT_EQ(NULL, in);
}

TEST(sectors)
{
	struct pmof_range r;

	EXPECT_FALSE(pmof_units_inside(1, 511, 512, &r));
	EXPECT_FALSE(pmof_units_inside(0, 511, 512, &r));
	EXPECT_FALSE(pmof_units_inside(1, 1022, 512, &r));
	EXPECT_FALSE(pmof_units_inside(512, 0, 512, &r));
	EXPECT_FALSE(pmof_units_inside(512, 4096, 4096, &r));
	EXPECT_TRUE(pmof_units_inside(1, 1023, 512, &r));
	EXPECT_EQ(512, r.offset);
	EXPECT_EQ(512, r.length);
	EXPECT_TRUE(pmof_units_inside(0, 4097, 4096, &r));
	EXPECT_EQ(0, r.offset);
	EXPECT_EQ(4096, r.length);

	EXPECT_EQ(100, pmof_put_cut(7, 100, 4048));
	EXPECT_EQ(4048, pmof_put_cut(7, 4048, 4048));
	EXPECT_EQ(3584, pmof_put_cut(0, 4096, 4048));
	EXPECT_EQ(3584 - 7, pmof_put_cut(7, 4089, 4048));
	EXPECT_EQ(10, pmof_put_cut(7, 100, 10));
}

TEST_HARNESS_MAIN
