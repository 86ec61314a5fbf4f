// SPDX-License-Identifier: GPL-2.0
/* tools/kv_workload.c: the distributions of pmof kv bench, with fixed seeds. */
#include "unit.h"
#include "../../tools/kv_workload.h"

#define DRAWS	200000

/* x^n. */
static double power(double x, int n)
{
	double y = 1;

	while (n--)
		y *= x;
	return y;
}

static bool near(double a, double b, double part)
{
	double d = a > b ? a - b : b - a;

	return d <= part * (b < 0 ? -b : b);
}

TEST(fixed_seed)
{
	struct kv_random a = { 42 }, b = { 42 }, c = { 43 };
	int i, same = 0;

	for (i = 0; i < 100; i++) {
		u64 x = kv_random(&a);

		EXPECT_EQ(x, kv_random(&b));
		same += x == kv_random(&c);
	}
	EXPECT_EQ(0, same);
}

TEST(uniform)
{
	struct kv_random r = { 1 };
	unsigned int count[10] = { 0 };
	int i;

	for (i = 0; i < DRAWS; i++) {
		u64 x = kv_random_below(&r, 10);
		double u = kv_random_unit(&r);

		ASSERT_GT(10, x);
		ASSERT_TRUE(u >= 0 && u < 1);
		count[x]++;
	}
	for (i = 0; i < 10; i++)
		EXPECT_TRUE(near(count[i], DRAWS * 0.1, 0.05)) TH_LOG("%d: %u", i, count[i]);
}

/* Against the sum, term by term. */
TEST(zeta)
{
	double sum = 0;
	unsigned int i;

	EXPECT_TRUE(near(kv_zeta(1, KV_ZIPF_THETA), 1, 1e-12));
	for (i = 1; i <= 100000; i++)
		sum += 1 / power(i, 2);
	EXPECT_TRUE(near(kv_zeta(100000, 2), sum, 1e-12));
	EXPECT_TRUE(near(kv_zeta(1000, 2) + 1 / power(1001, 2), kv_zeta(1001, 2), 1e-12));
	/* The constant of YCSB for ten thousand million items. */
	EXPECT_TRUE(near(kv_zeta(KV_ZIPF_ITEMS, KV_ZIPF_THETA), 26.46902820178302, 1e-9));
}

/* Gray's formula is exact for the first two, and close for the sum of those behind them. */
TEST(zipf)
{
	const u64 n = 1000;
	double zeta = kv_zeta(n, KV_ZIPF_THETA);
	unsigned int first = 0, second = 0, ten = 0, hundred = 0, i;
	struct kv_random r = { 5 };
	struct kv_zipf z;

	kv_zipf_init(&z, n, KV_ZIPF_THETA);
	for (i = 0; i < DRAWS; i++) {
		u64 rank = kv_zipf_next(&z, &r);

		ASSERT_GT(n, rank);
		first += rank == 0;
		second += rank == 1;
		ten += rank < 10;
		hundred += rank < 100;
	}
	EXPECT_TRUE(near(first, DRAWS / zeta, 0.03)) TH_LOG("%u", first);
	EXPECT_TRUE(near(second, DRAWS * (kv_zeta(2, KV_ZIPF_THETA) - 1) / zeta, 0.05));
	EXPECT_TRUE(near(ten, DRAWS * kv_zeta(10, KV_ZIPF_THETA) / zeta, 0.05)) TH_LOG("%u", ten);
	EXPECT_TRUE(near(hundred, DRAWS * kv_zeta(100, KV_ZIPF_THETA) / zeta, 0.05))
		TH_LOG("%u", hundred);
}

TEST(few_keys)
{
	struct kv_random r = { 5 };
	struct kv_chooser c;
	unsigned int choice, i;
	u64 n;

	for (choice = 0; choice < KV_CHOICES; choice++)
		for (n = 1; n < 5; n++) {
			kv_chooser_init(&c, (enum kv_choice)choice, n);
			for (i = 0; i < 1000; i++)
				ASSERT_GT(n, kv_choose(&c, n, &r));
		}
}

/* The most popular key gets its share, whichever it is; popular ones are not neighbours. */
TEST(scrambled)
{
	static unsigned int count[10000];
	double share = DRAWS / kv_zeta(KV_ZIPF_ITEMS, KV_ZIPF_THETA);
	struct kv_random r = { 6 };
	unsigned int i, best = 0, half = 0;
	struct kv_chooser c;

	kv_chooser_init(&c, KV_CHOICE_ZIPFIAN, ARRAY_SIZE(count));
	for (i = 0; i < DRAWS; i++) {
		u64 key = kv_choose(&c, ARRAY_SIZE(count), &r);

		count[key]++;
		half += key < ARRAY_SIZE(count) / 2;
	}
	for (i = 1; i < ARRAY_SIZE(count); i++)
		if (count[i] > count[best])
			best = i;
	EXPECT_TRUE(near(count[best], share, 0.05)) TH_LOG("%u of %f", count[best], share);
	EXPECT_TRUE(near(half, DRAWS * 0.5, 0.2)) TH_LOG("%u", half);
	/* With more keys the popular ones are found again. */
	EXPECT_EQ(best, kv_mix(1) % ARRAY_SIZE(count));
}

TEST(latest)
{
	unsigned int last = 0, i;
	struct kv_random r = { 7 };
	struct kv_chooser c;

	kv_chooser_init(&c, KV_CHOICE_LATEST, 1000);
	for (i = 0; i < DRAWS; i++)
		last += kv_choose(&c, 1000 + i / 1000, &r) == 999 + i / 1000;
	EXPECT_TRUE(near(last, DRAWS / kv_zeta(1100, KV_ZIPF_THETA), 0.05)) TH_LOG("%u", last);
}

/* --- sizes -------------------------------------------------------------------------- */

static double part(const struct kv_sizes *s, u32 low, u32 high)
{
	struct kv_random r = { 8 };
	unsigned int i, n = 0;

	for (i = 0; i < DRAWS; i++) {
		u32 size = kv_value_size(s, &r);

		if (size > kv_value_size_max(s))
			return -1;
		n += size >= low && size <= high;
	}
	return (double)n / DRAWS;
}

TEST(values)
{
	struct kv_sizes s = { .value = 77 };

	EXPECT_TRUE(part(&s, 77, 77) == 1);
	s.kind = KV_SIZES_PAPER;
	EXPECT_TRUE(near(part(&s, 64, 64), 0.25, 0.03));
	EXPECT_TRUE(near(part(&s, 1024, 1024), 0.25, 0.03));
	EXPECT_TRUE(near(part(&s, 4096, 4096), 0.25, 0.03));
	EXPECT_TRUE(near(part(&s, 65536, 65536), 0.25, 0.03));
	s.kind = KV_SIZES_ETC;
	EXPECT_TRUE(near(part(&s, 16, 512), 0.9, 0.01));
	EXPECT_TRUE(near(part(&s, 16, 264), 0.45, 0.02));
	EXPECT_TRUE(part(&s, 16, 4096) == 1);
	s.kind = KV_SIZES_SYS;
	EXPECT_TRUE(near(part(&s, 320, 500), 0.8, 0.01));
	EXPECT_TRUE(near(part(&s, 16, 319), 0.08, 0.05));
	EXPECT_TRUE(near(part(&s, 501, 10000), 0.12, 0.05));
}

static int compare_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

TEST(keys)
{
	static char text[20000][64];
	struct kv_sizes s[] = { { .kind = KV_SIZES_FIXED }, { .kind = KV_SIZES_FIXED, .key = 8 },
				{ .kind = KV_SIZES_PAPER }, { .kind = KV_SIZES_SYS } };
	const unsigned int nr = ARRAY_SIZE(text);
	char buf[KV_KEY_MAX];
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(s); i++) {
		unsigned int sums[64] = { 0 };

		memset(text, 0, sizeof(text));
		for (j = 0; j < ARRAY_SIZE(text); j++) {
			u32 size = kv_make_key(&s[i], j, text[j]);

			ASSERT_GT(64, size);
			EXPECT_EQ(size, kv_make_key(&s[i], j, buf));
			EXPECT_EQ(0, memcmp(buf, text[j], size));
			sums[size]++;
		}
		qsort(text, ARRAY_SIZE(text), sizeof(text[0]), compare_text);
		for (j = 1; j < ARRAY_SIZE(text); j++)
			ASSERT_NE(0, strcmp(text[j - 1], text[j]));
		if (s[i].kind == KV_SIZES_PAPER)
			EXPECT_TRUE(near(sums[12], nr / 3.0, 0.05));
		if (s[i].kind == KV_SIZES_SYS)
			EXPECT_TRUE(near(sums[16] + sums[17] + sums[18] + sums[19] + sums[20],
					 nr * 0.4, 0.05));
		if (s[i].kind == KV_SIZES_FIXED)
			EXPECT_EQ(ARRAY_SIZE(text), sums[s[i].key ? s[i].key : 16]);
	}
}

TEST(mixes)
{
	const struct kv_workload *w;
	struct kv_random r = { 9 };
	unsigned int i, sum;

	EXPECT_EQ(NULL, kv_workload_find("g"));
	for (w = kv_workloads; w->name; w++) {
		unsigned int count[KV_OPS] = { 0 };

		EXPECT_EQ(w, kv_workload_find(w->name));
		for (i = 0, sum = 0; i < KV_OPS; i++)
			sum += w->percent[i];
		EXPECT_EQ(100, sum);
		for (i = 0; i < DRAWS; i++)
			count[kv_choose_op(w, &r)]++;
		for (i = 0; i < KV_OPS; i++)
			EXPECT_TRUE(near(count[i], DRAWS / 100.0 * w->percent[i], 0.05))
				TH_LOG("%s: %u", w->name, i);
	}
}

TEST_HARNESS_MAIN
