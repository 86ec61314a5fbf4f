// SPDX-License-Identifier: GPL-2.0
/* The pure files of the pmof command: what users type, and percentiles. */
#include "../../tools/bench_stats.h"
#include "../../tools/parse.h"
#include "unit.h"

/* --- numbers -------------------------------------------------------------- */

TEST(numbers)
{
	static const struct {
		const char *text;
		int rc;
		u64 value;
	} cases[] = {
		{ "0", 0, 0 }, { "1", 0, 1 }, { "18446744073709551615", 0, U64_MAX },
		{ "18446744073709551616", -ERANGE, 0 }, { "99999999999999999999999", -ERANGE, 0 },
		{ "0x10", 0, 16 }, { "0Xff", 0, 255 }, { "0xffffffffffffffff", 0, U64_MAX },
		{ "0x10000000000000000", -ERANGE, 0 }, { "0x", -EINVAL, 0 }, { "", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 }, { "+1", -EINVAL, 0 }, { " 1", -EINVAL, 0 },
		{ "1 ", -EINVAL, 0 }, { "1\n", -EINVAL, 0 }, { "12a", -EINVAL, 0 },
		{ "0xg", -EINVAL, 0 }, { "1k", -EINVAL, 0 }, { "1.5", -EINVAL, 0 },
	};
	size_t i;
	u64 v;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		v = 0;
		EXPECT_EQ(cases[i].rc, parse_u64(cases[i].text, &v)) TH_LOG("case %zu", i);
		EXPECT_EQ(cases[i].value, v) TH_LOG("case %zu", i);
	}
}

TEST(words)
{
	u64 v;

	EXPECT_EQ(0, parse_word("-1", &v));
	EXPECT_EQ(U64_MAX, v);
	EXPECT_EQ(0, parse_word("-9223372036854775808", &v));
	EXPECT_EQ(1ULL << 63, v);
	EXPECT_EQ(-ERANGE, parse_word("-9223372036854775809", &v));
	EXPECT_EQ(0, parse_word("18446744073709551615", &v));
	EXPECT_EQ(-EINVAL, parse_word("-", &v));
	EXPECT_EQ(-EINVAL, parse_word("--1", &v));
}

TEST(sizes)
{
	static const struct {
		const char *text;
		int rc;
		u64 value;
	} cases[] = {
		{ "0", 0, 0 }, { "64", 0, 64 }, { "4k", 0, 4096 }, { "4K", 0, 4096 },
		{ "1M", 0, 1 << 20 }, { "2G", 0, 2ULL << 30 }, { "1T", 0, 1ULL << 40 },
		{ "0x10k", 0, 16384 }, { "16777215T", 0, 16777215ULL << 40 },
		{ "16777216T", -ERANGE, 0 }, { "17179869184G", -ERANGE, 0 },
		{ "18446744073709551615k", -ERANGE, 0 }, { "k", -EINVAL, 0 }, { "1m", -EINVAL, 0 },
		{ "1kk", -EINVAL, 0 }, { "1kB", -EINVAL, 0 }, { "1 k", -EINVAL, 0 },
		{ "-1k", -EINVAL, 0 }, { "", -EINVAL, 0 }, { "1P", -EINVAL, 0 },
	};
	size_t i;
	u64 v;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		v = 0;
		EXPECT_EQ(cases[i].rc, parse_size(cases[i].text, &v)) TH_LOG("case %zu", i);
		EXPECT_EQ(cases[i].value, v) TH_LOG("case %zu", i);
	}
}

TEST(small_numbers)
{
	unsigned int v;

	EXPECT_EQ(0, parse_uint("1", 1, 128, &v));
	EXPECT_EQ(0, parse_uint("128", 1, 128, &v));
	EXPECT_EQ(128, v);
	EXPECT_EQ(-ERANGE, parse_uint("0", 1, 128, &v));
	EXPECT_EQ(-ERANGE, parse_uint("129", 1, 128, &v));
	EXPECT_EQ(-ERANGE, parse_uint("4294967297", 1, 128, &v));
	EXPECT_EQ(-EINVAL, parse_uint("08", 1, 128, &v));
	EXPECT_EQ(-EINVAL, parse_uint("0x8", 1, 128, &v));
	EXPECT_EQ(-EINVAL, parse_uint("", 0, 128, &v));
	EXPECT_EQ(0, parse_uint("0", 0, 1, &v));
	EXPECT_EQ(0, v);
}

TEST(durations)
{
	u64 ns = 0;

	EXPECT_EQ(0, parse_seconds("2", &ns));
	EXPECT_EQ(2000000000ULL, ns);
	EXPECT_EQ(0, parse_seconds("0.25", &ns));
	EXPECT_EQ(250000000ULL, ns);
	EXPECT_EQ(0, parse_seconds("0.000000001", &ns));
	EXPECT_EQ(1, ns);
	EXPECT_EQ(0, parse_seconds("86400", &ns));
	EXPECT_EQ(-ERANGE, parse_seconds("86400.1", &ns));
	EXPECT_EQ(-ERANGE, parse_seconds("86401", &ns));
	EXPECT_EQ(-ERANGE, parse_seconds("99999999999999999999", &ns));
	EXPECT_EQ(-ERANGE, parse_seconds("0", &ns));
	EXPECT_EQ(-EINVAL, parse_seconds("", &ns));
	EXPECT_EQ(-EINVAL, parse_seconds(".5", &ns));
	EXPECT_EQ(-EINVAL, parse_seconds("1.", &ns));
	EXPECT_EQ(-EINVAL, parse_seconds("-1", &ns));
	EXPECT_EQ(-EINVAL, parse_seconds("1s", &ns));
}

/* --- addresses, names, lists ---------------------------------------------- */

TEST(addresses)
{
	static const struct {
		const char *text, *host;
		u16 port;
	} good[] = {
		{ "10.77.0.1", "10.77.0.1", 20049 }, { "10.77.0.1:1", "10.77.0.1", 1 },
		{ "10.77.0.1:65535", "10.77.0.1", 65535 }, { "fd77::1", "fd77::1", 20049 },
		{ "[fd77::1]", "fd77::1", 20049 }, { "[fd77::1]:4420", "fd77::1", 4420 },
		{ "::1", "::1", 20049 }, { "[fe80::1%eth0]:5", "fe80::1%eth0", 5 },
		{ "fe80::1%br-0.1", "fe80::1%br-0.1", 20049 },
	};
	static const char *const bad[] = {
		"", "host", "10.77.0", "10.77.0.256", "10.77.0.1:", "10.77.0.1:0",
		"10.77.0.1:65536", "10.77.0.1:x", "10.77.0.1:1x", "[10.77.0.1]", "[fd77::1",
		"fd77::1]", "[fd77::1]x", "[fd77::1]:", "[]", "[]:1", "fe80::1%", "10.77.0.1%eth0",
		"fe80::1%a,b", ":1", "10.77.0.1 ", "fd77::g",
		"fe80::1%aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	};
	struct addr a, back;
	char text[ADDR_TEXT_MAX];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		ASSERT_EQ(0, parse_addr(good[i].text, &a)) TH_LOG("case %zu", i);
		EXPECT_STREQ(good[i].host, a.host);
		EXPECT_EQ(good[i].port, a.port);
		ASSERT_EQ(0, parse_addr(format_addr(&a, text, sizeof(text)), &back));
		EXPECT_STREQ(a.host, back.host);
		EXPECT_EQ(a.port, back.port);
	}
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-EINVAL, parse_addr(bad[i], &a)) TH_LOG("case %zu", i);
}

/* The command and the kernel must agree on names. */
TEST(names_as_in_the_kernel)
{
	bool pmof_name_valid(const char *name, size_t max);
	char name[4];
	int a, b;

	for (a = 0; a < 256; a++)
		for (b = 0; b < 256; b++) {
			char n[3] = { a, a ? b : 0, 0 };

			ASSERT_EQ(pmof_name_valid(n, sizeof(name)), name_valid(n, sizeof(name)))
				TH_LOG("characters %d %d", a, b);
		}
	EXPECT_TRUE(name_valid("abc", 4));
	EXPECT_FALSE(name_valid("abcd", 4));
}

TEST(lists)
{
	unsigned int n[3];
	u64 s[3];

	EXPECT_EQ(1, parse_size_list("64", s, 3));
	EXPECT_EQ(3, parse_size_list("64,4k,1M", s, 3));
	EXPECT_EQ(1 << 20, s[2]);
	EXPECT_EQ(-E2BIG, parse_size_list("1,2,3,4", s, 3));
	EXPECT_EQ(-EINVAL, parse_size_list("", s, 3));
	EXPECT_EQ(-EINVAL, parse_size_list("1,", s, 3));
	EXPECT_EQ(-EINVAL, parse_size_list(",1", s, 3));
	EXPECT_EQ(-EINVAL, parse_size_list("1,,2", s, 3));
	EXPECT_EQ(2, parse_uint_list("1,8", 1, 8, n, 3));
	EXPECT_EQ(-ERANGE, parse_uint_list("1,9", 1, 8, n, 3));
	EXPECT_EQ(-EINVAL, parse_uint_list("1,x", 1, 8, n, 3));
}

/* --- percentiles ---------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* At most 0.8 % above the exact one, never below. */
TEST(percentiles_against_sorting)
{
	static const unsigned int mille[] = { 0, 1, 10, 250, 500, 900, 990, 999, 1000 };
	static struct hist h;
	static u64 v[5000];
	u64 state = 3;
	size_t n, i, j;

	for (n = 1; n <= ARRAY_SIZE(v); n = n * 3 + 1) {
		hist_reset(&h);
		for (i = 0; i < n; i++) {
			v[i] = rnd(&state) >> (rnd(&state) % 60);
			hist_add(&h, v[i]);
		}
		qsort(v, n, sizeof(v[0]), by_value);
		for (j = 0; j < ARRAY_SIZE(mille); j++) {
			u64 rank = (n * mille[j] + 999) / 1000, want, got;

			want = v[rank ? rank - 1 : 0];
			got = hist_percentile(&h, mille[j]);
			ASSERT_GE(got, want) TH_LOG("%zu samples, %u", n, mille[j]);
			ASSERT_LE(got - want, want / 125) TH_LOG("%zu samples, %u", n, mille[j]);
		}
		EXPECT_EQ(v[0], h.min);
		EXPECT_EQ(v[n - 1], h.max);
	}
}

TEST(histograms_merge)
{
	static struct hist a, b, all;
	u64 state = 9, v;
	int i;

	hist_reset(&a);
	hist_reset(&b);
	hist_reset(&all);
	hist_merge(&a, &b);
	EXPECT_EQ(0, hist_percentile(&a, 500));
	EXPECT_EQ(0, hist_mean(&a));
	for (i = 0; i < 1000; i++) {
		v = rnd(&state) % 1000000;
		hist_add(i % 3 ? &a : &b, v);
		hist_add(&all, v);
	}
	hist_merge(&a, &b);
	EXPECT_EQ(0, memcmp(&a, &all, sizeof(a)));
	EXPECT_EQ(all.sum / 1000, hist_mean(&a));
}

TEST(histogram_extremes)
{
	static struct hist h;

	hist_reset(&h);
	hist_add(&h, U64_MAX);
	EXPECT_EQ(U64_MAX, hist_percentile(&h, 500));
	hist_add(&h, 0);
	EXPECT_EQ(0, hist_percentile(&h, 500));
	EXPECT_EQ(U64_MAX, hist_percentile(&h, 501));
}

TEST_HARNESS_MAIN
