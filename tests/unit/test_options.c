// SPDX-License-Identifier: GPL-2.0
/* The option string of /dev/pmof-control. */
#include "../../kmod/client/options.h"
#include "../../uapi/pmof.h"
#include "unit.h"

static struct pmof_options opt;
static const char *why;

static int parse(const char *text)
{
	char *buf = tight(text, strlen(text) + 1);
	int rc = pmof_options_parse(buf, &opt, &why);

	free(buf);
	return rc;
}

/* With the two required ones in front. */
static int parse_more(const char *text)
{
	char buf[512];

	snprintf(buf, sizeof(buf), "addr=10.0.0.1,name=data,%s", text);
	return parse(buf);
}

TEST(defaults)
{
	ASSERT_EQ(0, parse("addr=10.0.0.1,name=data"));
	EXPECT_EQ(NULL, why);
	EXPECT_STREQ("10.0.0.1", opt.addr);
	EXPECT_STREQ("data", opt.name);
	EXPECT_STREQ("", opt.id);
	EXPECT_EQ(20049, opt.port);
	EXPECT_EQ(0, opt.queues);
	EXPECT_EQ(128, opt.depth);
	EXPECT_EQ(4096, opt.max_call);
	EXPECT_EQ(PMOF_METHOD_AUTO, opt.method);
	EXPECT_FALSE(opt.read_only);
	EXPECT_TRUE(opt.block);
	EXPECT_EQ(512, opt.block_size);
	EXPECT_FALSE(opt.writeback);
	EXPECT_EQ(0, opt.poll_queues);
	EXPECT_EQ(5, opt.keep_alive_tmo);
	EXPECT_EQ(10, opt.reconnect_delay);
	EXPECT_EQ(30, opt.fail_io_timeout);
	EXPECT_EQ(600, opt.device_loss_timeout);
}

TEST(max_call)
{
	ASSERT_EQ(0, parse_more("max_call=8192"));
	EXPECT_EQ(8192, opt.max_call);
	ASSERT_EQ(0, parse_more("max_call=266240"));
	EXPECT_EQ(266240, opt.max_call);
	EXPECT_EQ(-EINVAL, parse_more("max_call=0"));
	EXPECT_EQ(-EINVAL, parse_more("max_call=4097"));
	EXPECT_EQ(-EINVAL, parse_more("max_call=270336"));
	EXPECT_EQ(-EINVAL, parse_more("max_call=4k"));
	EXPECT_EQ(-EINVAL, parse_more("max_call=4294971392"));
}

TEST(time_limits)
{
	ASSERT_EQ(0, parse_more("keep_alive_tmo=0,reconnect_delay=1,fail_io_timeout=-1,device_loss_timeout=0"));
	EXPECT_EQ(0, opt.keep_alive_tmo);
	EXPECT_EQ(1, opt.reconnect_delay);
	EXPECT_EQ(-1, opt.fail_io_timeout);
	EXPECT_EQ(0, opt.device_loss_timeout);
	ASSERT_EQ(0, parse_more("keep_alive_tmo=3600,reconnect_delay=3600,fail_io_timeout=86400,device_loss_timeout=-1"));
	EXPECT_EQ(86400, opt.fail_io_timeout);
	EXPECT_EQ(-1, opt.device_loss_timeout);
	EXPECT_EQ(-EINVAL, parse_more("keep_alive_tmo=3601"));
	EXPECT_EQ(-EINVAL, parse_more("reconnect_delay=0"));
	EXPECT_EQ(-EINVAL, parse_more("fail_io_timeout=-2"));
	EXPECT_EQ(-EINVAL, parse_more("fail_io_timeout=86401"));
	EXPECT_EQ(-EINVAL, parse_more("device_loss_timeout=-86400"));
	EXPECT_EQ(-EINVAL, parse_more("device_loss_timeout="));
	EXPECT_EQ(-EINVAL, parse_more("device_loss_timeout=1s"));
}

TEST(block_options)
{
	ASSERT_EQ(0, parse_more("block=1,block_size=4096,cache=writeback,poll_queues=127"));
	EXPECT_TRUE(opt.block);
	EXPECT_EQ(4096, opt.block_size);
	EXPECT_TRUE(opt.writeback);
	EXPECT_EQ(127, opt.poll_queues);
	ASSERT_EQ(0, parse_more("poll_queues=0,cache=writethrough,block_size=512"));
	EXPECT_EQ(512, opt.block_size);
	EXPECT_FALSE(opt.writeback);
	EXPECT_EQ(0, opt.poll_queues);
	ASSERT_EQ(0, parse_more("block=0"));
	EXPECT_FALSE(opt.block);
	ASSERT_EQ(0, parse_more("block=0,poll_queues=0,cache=writethrough,block_size=4096"));
	ASSERT_EQ(0, parse_more("queues=1,poll_queues=127"));
	ASSERT_EQ(0, parse_more("queues=128,poll_queues=0"));
}

/* Each for itself is right. */
TEST(rights_options)
{
	ASSERT_EQ(0, parse_more("id=a,key=000102030405060708090a0b0C0D0E0F,exclusive=1,takeover=1"));
	EXPECT_EQ(16, opt.key.len);
	EXPECT_EQ(0, memcmp(opt.key.data, "\0\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\0", 17));
	EXPECT_TRUE(opt.exclusive);
	EXPECT_TRUE(opt.takeover);
	ASSERT_EQ(0, parse_more("exclusive=0,takeover=0,read_only=1"));
	EXPECT_EQ(0, opt.key.len);
	EXPECT_FALSE(opt.exclusive);
	EXPECT_FALSE(opt.takeover);
	EXPECT_EQ(-EINVAL, parse_more("key="));
	EXPECT_EQ(-EINVAL, parse_more("key=0001"));
	EXPECT_EQ(-EINVAL, parse_more("key=000102030405060708090a0b0c0d0e0g"));
	EXPECT_EQ(-EINVAL, parse_more("exclusive=2"));
	EXPECT_EQ(-EINVAL, parse_more("takeover=yes"));
}

TEST(options_that_exclude_each_other)
{
	EXPECT_EQ(-EINVAL, parse_more("read_only=1,exclusive=1"));
	EXPECT_EQ(-EINVAL, parse_more("read_only=1,takeover=1"));
	EXPECT_EQ(-EINVAL, parse_more("block=0,poll_queues=1"));
	EXPECT_EQ(-EINVAL, parse_more("cache=writeback,block=0"));
	EXPECT_EQ(-EINVAL, parse_more("queues=128,poll_queues=1"));
	EXPECT_EQ(-EINVAL, parse_more("queues=2,poll_queues=127"));
	EXPECT_TRUE(why && *why);
}

TEST(all_options)
{
	ASSERT_EQ(0, parse("read_only=1,id=me,persist=read,depth=4,queues=128,name=n,port=65535,"
			   "addr=fd77::1\n"));
	EXPECT_STREQ("fd77::1", opt.addr);
	EXPECT_STREQ("n", opt.name);
	EXPECT_STREQ("me", opt.id);
	EXPECT_EQ(65535, opt.port);
	EXPECT_EQ(128, opt.queues);
	EXPECT_EQ(4, opt.depth);
	EXPECT_EQ(PMOF_METHOD_READ, opt.method);
	EXPECT_TRUE(opt.read_only);
	ASSERT_EQ(0, parse_more("persist=assist,read_only=0,depth=1024,queues=1,port=1"));
	EXPECT_EQ(PMOF_METHOD_ASSIST, opt.method);
	EXPECT_FALSE(opt.read_only);
	EXPECT_EQ(1024, opt.depth);
	ASSERT_EQ(0, parse_more("persist=auto"));
	EXPECT_EQ(PMOF_METHOD_AUTO, opt.method);
}

TEST(bad_values)
{
	static const char *const bad[] = {
		"queues=0", "queues=129", "queues=", "queues=-1", "queues=1x", "queues=0x10",
		"queues= 1", "queues=65537", "queues=18446744073709551617", "depth=3",
		"depth=1025", "depth=", "port=0", "port=65536", "port=abc", "port=",
		"persist=", "persist=RPC", "persist=READ", "persist=read ", "read_only=2",
		"read_only=", "read_only=yes", "id=", "id=.x", "id=a/b", "id=a b",
		"id=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "unknown=1", "=", "=1", "queues",
		"", ",", "queues=1,,depth=8", "queues=1,", "Queues=1", " queues=1",
		"queues=1 ,depth=8", "addr=10.0.0.2", "name=other",
		"queues=1,queues=1", "id=a=b",
		"poll_queues=", "poll_queues=128", "poll_queues=-1", "poll_queues=1,poll_queues=1",
		"block=", "block=2", "block=yes", "block_size=", "block_size=0", "block_size=511",
		"block_size=1024", "block_size=8192", "block_size=4096x", "cache=",
		"cache=writeback ", "cache=WRITEBACK", "cache=none", "cache=writethrough2",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EINVAL, parse_more(bad[i])) TH_LOG("'%s'", bad[i]);
		EXPECT_TRUE(why && *why) TH_LOG("'%s' has no reason", bad[i]);
	}
}

TEST(required)
{
	EXPECT_EQ(-EINVAL, parse(""));
	EXPECT_EQ(-EINVAL, parse("\n"));
	EXPECT_EQ(-EINVAL, parse("name=data"));
	EXPECT_EQ(-EINVAL, parse("addr=10.0.0.1"));
	EXPECT_EQ(-EINVAL, parse("addr=,name=data"));
	EXPECT_EQ(-EINVAL, parse("addr=10.0.0.1,name="));
}

/* One character below, at and above the room for it. */
TEST(lengths)
{
	char text[300], word[100];

	memset(word, 'a', sizeof(word));
	snprintf(text, sizeof(text), "addr=%.63s,name=n", word);
	EXPECT_EQ(0, parse(text));
	EXPECT_EQ(63, strlen(opt.addr));
	snprintf(text, sizeof(text), "addr=%.64s,name=n", word);
	EXPECT_EQ(-EINVAL, parse(text));
	snprintf(text, sizeof(text), "addr=a,name=%.63s", word);
	EXPECT_EQ(0, parse(text));
	EXPECT_EQ(63, strlen(opt.name));
	snprintf(text, sizeof(text), "addr=a,name=%.64s", word);
	EXPECT_EQ(-EINVAL, parse(text));
	snprintf(text, sizeof(text), "addr=a,name=n,id=%.31s", word);
	EXPECT_EQ(0, parse(text));
	EXPECT_EQ(31, strlen(opt.id));
	snprintf(text, sizeof(text), "addr=a,name=n,id=%.32s", word);
	EXPECT_EQ(-EINVAL, parse(text));
}

TEST(one_newline_only)
{
	EXPECT_EQ(0, parse("addr=a,name=n\n"));
	EXPECT_STREQ("n", opt.name);
	EXPECT_EQ(-EINVAL, parse("addr=a,name=n\n\n"));
	EXPECT_EQ(-EINVAL, parse("addr=a,name=n\nqueues=1"));
}

TEST_HARNESS_MAIN
