// SPDX-License-Identifier: GPL-2.0
/* The table of persist=auto, and the methods' names and refusals. */
#include "../../kmod/client/auto_table.h"
#include "../../kmod/client/method.h"
#include "../../uapi/pmof.h"
#include "unit.h"

#define READ	(1U << PMOF_METHOD_READ)
#define ASSIST	(1U << PMOF_METHOD_ASSIST)
#define RPC	(1U << PMOF_METHOD_RPC)
#define FLUSH	(1U << PMOF_METHOD_FLUSH)
#define ALL	(READ | ASSIST | RPC | FLUSH)

static struct pmof_auto_table table;

static int parse(const char *text, uint32_t usable)
{
	char *buf = tight(text, strlen(text) + 1);
	int rc = pmof_auto_parse(buf, usable, &table);

	free(buf);
	return rc;
}

static unsigned int at(u64 bytes)
{
	return pmof_auto_lookup(&table, bytes);
}

TEST(by_size)
{
	ASSERT_EQ(0, parse("rpc:512 read:16384 assist", ALL));
	EXPECT_EQ(3, table.nr);
	EXPECT_EQ(PMOF_METHOD_RPC, at(0));
	EXPECT_EQ(PMOF_METHOD_RPC, at(1));
	EXPECT_EQ(PMOF_METHOD_RPC, at(512));
	EXPECT_EQ(PMOF_METHOD_READ, at(513));
	EXPECT_EQ(PMOF_METHOD_READ, at(16384));
	EXPECT_EQ(PMOF_METHOD_ASSIST, at(16385));
	EXPECT_EQ(PMOF_METHOD_ASSIST, at(UINT64_MAX));
}

TEST(one_entry)
{
	ASSERT_EQ(0, parse("flush\n", ALL));
	EXPECT_EQ(1, table.nr);
	EXPECT_EQ(PMOF_METHOD_FLUSH, at(0));
	EXPECT_EQ(PMOF_METHOD_FLUSH, at(UINT64_MAX));
}

TEST(as_many_as_there_is_room_for)
{
	ASSERT_EQ(0, parse("rpc:1 read:2 rpc:3 read:4 rpc:5 read:6 rpc:18446744073709551614 read",
			   ALL));
	EXPECT_EQ(PMOF_AUTO_MAX, table.nr);
	EXPECT_EQ(PMOF_METHOD_RPC, at(5));
	EXPECT_EQ(PMOF_METHOD_READ, at(6));
	EXPECT_EQ(PMOF_METHOD_RPC, at(UINT64_MAX - 1));
	EXPECT_EQ(-EINVAL, parse("rpc:1 read:2 rpc:3 read:4 rpc:5 read:6 rpc:7 read:8 rpc", ALL));
}

TEST(bad_text)
{
	static const char *const bad[] = {
		"", "\n", " ", "rpc:512", "rpc:512 ", " rpc", "rpc ", "rpc  read", "rpc:512  read",
		"rpc:512 read:512 assist", "rpc:512 read:511 assist", "rpc read", "rpc read:512",
		"rpc: read", "rpc:0 read", "rpc:-1 read", "rpc:+1 read", "rpc:1x read",
		"rpc:0x10 read", "rpc:1:2 read", "rpc:18446744073709551615 read",
		"rpc:18446744073709551615", "rpc:18446744073709551616 read", "auto", "rpc:512 auto",
		"RPC", "rpcx", ":512 read", ":", "512", "rpc:512\nread", "rpc:512\n read", "read\n\n",
		"rpc:512,read", "rpc:512\011read",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-EINVAL, parse(bad[i], ALL)) TH_LOG("'%s'", bad[i]);
}

TEST(only_what_is_usable)
{
	EXPECT_EQ(-EINVAL, parse("read", ASSIST | RPC));
	EXPECT_EQ(-EINVAL, parse("flush:512 assist", ASSIST | RPC));
	EXPECT_EQ(-EINVAL, parse("rpc:512 read", ASSIST | RPC));
	EXPECT_EQ(-EINVAL, parse("rpc", 0));
	EXPECT_EQ(0, parse("rpc:512 assist", ASSIST | RPC));
}

TEST(defaults_are_usable)
{
	static const uint32_t usable[] = {
		ASSIST, ASSIST | RPC, ASSIST | READ, ASSIST | RPC | READ, ASSIST | FLUSH,
		ASSIST | RPC | FLUSH, ALL,
	};
	size_t i;
	u64 bytes;

	for (i = 0; i < ARRAY_SIZE(usable); i++) {
		pmof_auto_default(usable[i], &table);
		ASSERT_LE(1, table.nr);
		EXPECT_EQ(UINT64_MAX, table.entry[table.nr - 1].limit);
		for (bytes = 1; bytes; bytes <<= 1)
			EXPECT_TRUE(usable[i] & 1U << at(bytes)) TH_LOG("of %x", usable[i]);
	}
	/* Without the server's CPU where that can be. */
	pmof_auto_default(ALL, &table);
	EXPECT_EQ(PMOF_METHOD_READ, at(8));
	pmof_auto_default(ASSIST | RPC | FLUSH, &table);
	EXPECT_EQ(PMOF_METHOD_FLUSH, at(8));
	pmof_auto_default(ASSIST | RPC, &table);
	EXPECT_EQ(PMOF_METHOD_RPC, at(PMOF_AUTO_RPC_DEFAULT));
	EXPECT_EQ(PMOF_METHOD_ASSIST, at(PMOF_AUTO_RPC_DEFAULT + 1));
}

TEST(names)
{
	unsigned int i;

	for (i = PMOF_METHOD_AUTO; i <= PMOF_METHOD_FLUSH; i++)
		EXPECT_EQ(i, pmof_method_parse(pmof_method_name(i)));
	EXPECT_STREQ("unknown", pmof_method_name(PMOF_METHOD_FLUSH + 1));
	EXPECT_EQ(-EINVAL, pmof_method_parse("unknown"));
	EXPECT_EQ(-EINVAL, pmof_method_parse(""));
}

/* Each reason has a text of its own, which names the method. */
TEST(refusals)
{
	static const struct {
		unsigned int method;
		struct pmof_login_reply login;
		const char *say;
	} cases[] = {
		{ PMOF_METHOD_READ, { .domain = PMOF_DOMAIN_UNKNOWN }, "survives" },
		{ PMOF_METHOD_READ, { .domain = PMOF_DOMAIN_DEVICE_FLUSH }, "flush of the device" },
		{ PMOF_METHOD_READ, { .domain = PMOF_DOMAIN_MEMORY_CONTROLLER,
				      .placement = PMOF_PLACEMENT_CACHE }, "into the CPU cache" },
		{ PMOF_METHOD_READ, { .domain = PMOF_DOMAIN_MEMORY_CONTROLLER },
		  "past the CPU cache" },
		{ PMOF_METHOD_READ, { .domain = PMOF_DOMAIN_MEMORY_CONTROLLER,
				      .placement = PMOF_PLACEMENT_MEMORY }, "more than a READ" },
		{ PMOF_METHOD_READ, { .domain = PMOF_DOMAIN_CPU_CACHE }, "does not offer" },
		{ PMOF_METHOD_READ, { .domain = 77 }, "does not offer" },
		{ PMOF_METHOD_FLUSH, { .methods = FLUSH }, "this kernel" },
		{ PMOF_METHOD_FLUSH, { .domain = PMOF_DOMAIN_DEVICE_FLUSH }, "flush of the device" },
		{ PMOF_METHOD_FLUSH, { .domain = PMOF_DOMAIN_CPU_CACHE }, "the server's HCA" },
		{ PMOF_METHOD_RPC, { .methods = ASSIST }, "rpc: " },
		{ PMOF_METHOD_ASSIST, { .methods = RPC }, "assist: " },
		{ PMOF_METHOD_AUTO, { .methods = 0 }, "no persist method" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *text = pmof_method_refusal(cases[i].method, &cases[i].login);

		ASSERT_NE(NULL, text);
		EXPECT_NE(NULL, strstr(text, cases[i].say)) TH_LOG("%zu: %s", i, text);
		if (cases[i].method != PMOF_METHOD_AUTO)
			EXPECT_EQ(text, strstr(text, pmof_method_name(cases[i].method)));
	}
}

TEST_HARNESS_MAIN
