// SPDX-License-Identifier: GPL-2.0
/* The pure files of the pmof command: what users type, percentiles, the table of auto. */
#include "../../tools/auto_table.h"
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

/* What a user types, and what the kernel shows: lower case, compressed, the scope as a number. */
TEST(the_same_host)
{
	static const struct {
		const char *a, *b;
		bool same;
	} cases[] = {
		{ "10.77.0.1", "10.77.0.1", true }, { "10.77.0.1", "10.77.0.2", false },
		{ "FD77:0:0::1", "fd77::1", true }, { "fd77::1", "fd77::2", false },
		{ "fd77:0000:0:0:0:0:0:01", "fd77::1", true }, { "10.77.0.1", "fd77::1", false },
		{ "fe80::1%lo", "fe80::1", true }, { "fe80::1", "FE80::1%1", true },
		{ "fe80::1%lo", "fe80::1%1", true }, { "fe80::1%lo", "fe80::1%2", false },
		{ "fe80::1%1", "fe80::2%1", false }, { "fe80::1%gone", "fe80::1%gone", true },
		{ "fe80::1%gone", "fe80::1%lost", false }, { "fe80::1%gone", "fe80::1%0", false },
		{ "", "", false }, { "fd77::1", "", false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		EXPECT_EQ(cases[i].same, same_host(cases[i].a, cases[i].b)) TH_LOG("case %zu", i);
		EXPECT_EQ(cases[i].same, same_host(cases[i].b, cases[i].a)) TH_LOG("case %zu", i);
	}
}

TEST(scopes_of_no_interface)
{
	EXPECT_TRUE(scope_absent("fe80::1%gone"));
	EXPECT_TRUE(scope_absent("fe80::1%0"));
	EXPECT_FALSE(scope_absent("fe80::1%lo"));
	EXPECT_FALSE(scope_absent("fe80::1%1"));
	EXPECT_FALSE(scope_absent("fe80::1"));
	EXPECT_FALSE(scope_absent("10.77.0.1"));
}

TEST(addresses_that_need_a_scope)
{
	EXPECT_TRUE(scope_missing("fe80::1"));
	EXPECT_TRUE(scope_missing("FEBF::1"));
	EXPECT_FALSE(scope_missing("fe80::1%lo"));
	EXPECT_FALSE(scope_missing("fe80::1%gone"));
	EXPECT_FALSE(scope_missing("fd00::1"));
	EXPECT_FALSE(scope_missing("169.254.0.1"));
}

TEST(the_same_address)
{
	struct addr a;

	ASSERT_EQ(0, parse_addr("[FD77:0::1]:7", &a));
	EXPECT_TRUE(addr_is(&a, "[fd77::1]:7"));
	EXPECT_FALSE(addr_is(&a, "[fd77::1]:8"));
	EXPECT_FALSE(addr_is(&a, "fd77::1"));
	EXPECT_FALSE(addr_is(&a, ""));
	ASSERT_EQ(0, parse_addr("fe80::1%lo", &a));
	EXPECT_TRUE(addr_is(&a, "[fe80::1%1]:20049"));
	ASSERT_EQ(0, parse_addr("192.0.2.1:7", &a));
	EXPECT_TRUE(addr_is(&a, "192.0.2.1:7"));
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

/* --- the table of the method auto ----------------------------------------- */

enum { READ = 1, ASSIST = 2, RPC = 3, FLUSH = 4 };

static const char *const method_names[] = { "auto", "read", "assist", "rpc", "flush" };

static int method_parse(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(method_names); i++)
		if (!strcmp(name, method_names[i]))
			return i;
	return -EINVAL;
}

static const char *method_name(unsigned int method)
{
	return method < ARRAY_SIZE(method_names) ? method_names[method] : "unknown";
}

TEST(auto_tables_there_and_back)
{
	static const char *const good[] = {
		"assist", "rpc:512 assist", "rpc:512 read:16384 assist", "read:1 rpc:2 read",
		"flush:18446744073709551614 assist",
		"read:1 rpc:2 read:3 rpc:4 read:5 rpc:6 read:7 rpc",
	};
	char text[AUTO_TEXT_MAX];
	struct auto_table t;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		ASSERT_EQ(0, auto_parse(&t, good[i], method_parse)) TH_LOG("case %zu", i);
		EXPECT_STREQ(good[i], auto_format(&t, text, method_name));
	}
	EXPECT_EQ(0, auto_parse(&t, " rpc:0x200  assist ", method_parse));
	EXPECT_STREQ("rpc:512 assist", auto_format(&t, text, method_name));
}

TEST(auto_tables_refused)
{
	static const char *const bad[] = {
		"", " ", "none", "rpc:512", "rpc:512 assist:1024", "assist rpc:512",
		"assist assist", "rpc:512 read:512 assist", "rpc:512 read:256 assist",
		"rpc: assist", "rpc:0 assist", "rpc:12x assist", "rpc:-1 assist", ":512 assist",
		"rpc:18446744073709551615 assist", "rpc:18446744073709551616 assist",
		"rpc:512,assist", "rpc:512:1 assist",
		"read:1 rpc:2 read:3 rpc:4 read:5 rpc:6 read:7 rpc:8 read",
	};
	static char longer[AUTO_TEXT_MAX + 8];
	struct auto_table t;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-EINVAL, auto_parse(&t, bad[i], method_parse)) TH_LOG("case %zu", i);
	snprintf(longer, sizeof(longer), "%-*s", AUTO_TEXT_MAX + 4, "assist");
	EXPECT_EQ(-EINVAL, auto_parse(&t, longer, method_parse));
}

TEST(auto_tables_serve)
{
	struct auto_table t;

	ASSERT_EQ(0, auto_parse(&t, "rpc:512 read:16384 assist", method_parse));
	EXPECT_EQ(RPC, auto_method(&t, 0));
	EXPECT_EQ(RPC, auto_method(&t, 512));
	EXPECT_EQ(READ, auto_method(&t, 513));
	EXPECT_EQ(READ, auto_method(&t, 16384));
	EXPECT_EQ(ASSIST, auto_method(&t, 16385));
	EXPECT_EQ(ASSIST, auto_method(&t, U64_MAX));
}

TEST(auto_limits)
{
	char text[AUTO_TEXT_MAX];
	struct auto_table t;

	ASSERT_EQ(0, auto_parse(&t, "read:64 rpc", method_parse));
	auto_limit(&t, RPC, 4000, ASSIST);
	EXPECT_STREQ("read:64 rpc:4000 assist", auto_format(&t, text, method_name));
	auto_limit(&t, RPC, 4000, ASSIST);
	EXPECT_STREQ("read:64 rpc:4000 assist", auto_format(&t, text, method_name));
}

/* Measurements of sizes 64, 128, ...: read, assist, rpc; the table that comes of them. */
struct merge_case {
	const char *table;
	u64 ns[6][3];
	unsigned int nr;
};

static const struct merge_case merges[] = {
	{ "assist", { { 0, 100, 0 } }, 1 },
	{ "rpc:128 assist", { { 0, 100, 50 }, { 0, 100, 80 }, { 0, 100, 120 } }, 3 },
	/* a method that does not serve a size gives way, however bad the other one is */
	{ "rpc:64 assist", { { 0, 1000, 10 }, { 0, 1000, 0 } }, 2 },
	/* within 5 % it stays, at exactly 5 % too, above it does not */
	{ "assist", { { 0, 100, 101 }, { 0, 100, 96 }, { 0, 100, 95 } }, 3 },
	{ "assist:128 rpc", { { 0, 100, 101 }, { 0, 100, 96 }, { 0, 100, 94 } }, 3 },
	/* and does not come back at once */
	{ "assist:64 rpc", { { 0, 100, 200 }, { 0, 100, 90 }, { 0, 100, 99 }, { 0, 100, 103 } },
	  4 },
	/* what is better at one size alone does not count: slower at the next, or as quick */
	{ "assist", { { 0, 100, 200 }, { 0, 100, 50 }, { 0, 100, 101 }, { 0, 100, 120 } }, 4 },
	{ "assist", { { 0, 100, 200 }, { 0, 100, 50 }, { 0, 100, 100 } }, 3 },
	/* nor what does not serve the next; at the last size it does */
	{ "assist", { { 0, 100, 200 }, { 0, 100, 50 }, { 0, 100, 0 } }, 3 },
	{ "assist:64 rpc", { { 0, 100, 200 }, { 0, 100, 50 } }, 2 },
	/* one that ends at the next size gives way to what is better now */
	{ "rpc:64 assist", { { 0, 100, 50 }, { 0, 100, 120 }, { 0, 100, 0 } }, 3 },
	/* the best one of three is taken */
	{ "rpc:64 read:256 assist", { { 90, 100, 50 }, { 60, 100, 70 }, { 80, 100, 90 },
	  { 900, 100, 0 } }, 4 },
	/* a tie goes to the lower number */
	{ "read", { { 70, 70, 70 } }, 1 },
	/* large numbers do not overflow */
	{ "assist:64 read", { { 0, 1ULL << 63, 0 }, { 1ULL << 62, U64_MAX, 0 } }, 2 },
};

static void fill_samples(const struct merge_case *c, struct auto_sample *sample)
{
	unsigned int s;

	memset(sample, 0, 6 * sizeof(*sample));
	for (s = 0; s < c->nr; s++) {
		sample[s].size = 64ULL << s;
		memcpy(&sample[s].ns[READ], c->ns[s], sizeof(c->ns[s]));
	}
}

TEST(auto_merges)
{
	struct auto_sample sample[6];
	char text[AUTO_TEXT_MAX];
	struct auto_table t;
	unsigned int s;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(merges); i++) {
		fill_samples(&merges[i], sample);
		ASSERT_EQ(0, auto_merge(&t, sample, merges[i].nr)) TH_LOG("case %zu", i);
		EXPECT_STREQ(merges[i].table, auto_format(&t, text, method_name));
		for (s = 0; s < merges[i].nr; s++)
			EXPECT_EQ(sample[s].chosen, auto_method(&t, sample[s].size))
				TH_LOG("case %zu, size %u", i, s);
	}
}

TEST(auto_merge_of_nothing)
{
	struct auto_sample none = { .size = 64 };
	struct auto_table t;

	EXPECT_EQ(-EINVAL, auto_merge(&t, &none, 1));
	EXPECT_EQ(-EINVAL, auto_merge(&t, &none, 0));
}

static struct auto_sample random_samples[16];

static void fill_random(u64 *state, u64 spread)
{
	unsigned int s, m;

	for (s = 0; s < ARRAY_SIZE(random_samples); s++) {
		random_samples[s].size = 64ULL << s;
		for (m = READ; m <= FLUSH; m++)
			random_samples[s].ns[m] = 1000 + rnd(state) % spread;
		if (s > 5)
			random_samples[s].ns[RPC] = 0;
	}
}

/* Whatever was measured: a table that the kernel takes, and that serves what it says. */
TEST(auto_merges_of_noise)
{
	struct auto_table t, back;
	char text[AUTO_TEXT_MAX];
	unsigned int s, m;
	u64 state = 5;
	int round;

	for (round = 0; round < 20000; round++) {
		fill_random(&state, 1 + rnd(&state) % 3000);
		ASSERT_EQ(0, auto_merge(&t, random_samples, ARRAY_SIZE(random_samples)));
		ASSERT_LT(t.nr, AUTO_ENTRIES);
		for (s = 0; s < ARRAY_SIZE(random_samples); s++) {
			m = auto_method(&t, random_samples[s].size);
			ASSERT_EQ(m, random_samples[s].chosen);
			ASSERT_NE(0, random_samples[s].ns[m]);
		}
		auto_limit(&t, t.entry[t.nr - 1].method, 1 << 30, ASSIST);
		ASSERT_EQ(0, auto_parse(&back, auto_format(&t, text, method_name), method_parse));
		ASSERT_EQ(t.nr, back.nr);
	}
}

/* Where few entries do: what is 5 % better at a size, and better at the next, is taken. */
TEST(auto_merge_is_never_far_off)
{
	const struct auto_sample *r = random_samples;
	struct auto_table t;
	u64 state = 7;
	int round;
	size_t s;

	for (round = 0; round < 20000; round++) {
		fill_random(&state, 200);
		ASSERT_EQ(0, auto_merge(&t, random_samples, 6));
		for (s = 0; s < 6; s++) {
			if (s < 5 && r[s + 1].ns[r[s].best] >= r[s + 1].ns[r[s].chosen])
				continue;
			ASSERT_LE(r[s].ns[r[s].chosen] * 95, r[s].ns[r[s].best] * 100 + 100);
		}
	}
}

TEST_HARNESS_MAIN
