// SPDX-License-Identifier: GPL-2.0
/* The files in /etc/pmof: what is taken, what is refused and why, how they are replaced. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../tools/config.h"
#include "unit.h"

static char dir[] = "/tmp/pmof-config.XXXXXX", path[64];

static void store(const char *text, size_t len)
{
	FILE *f;

	if (!*path) {
		if (!mkdtemp(dir))
			abort();
		snprintf(path, sizeof(path), "%s/file.json", dir);
	}
	f = fopen(path, "w");
	if (!f || fwrite(text, 1, len, f) != len || fclose(f))
		abort();
}

static void drop(void)
{
	unlink(path);
	rmdir(dir);
	memset(strrchr(dir, '.') + 1, 'X', 6);
	*path = '\0';
}

typedef struct json_object *reader(const char *path, char *why);

/* NULL: taken, else why not. */
static const char *refused(reader *read, const char *text)
{
	static char why[WHY_MAX];
	struct json_object *o;

	store(text, strlen(text));
	snprintf(why, sizeof(why), "no reason");
	o = read(path, why);
	drop();
	if (!o)
		return why;
	json_object_put(o);
	return NULL;
}

struct refusal {
	const char *text;
	const char *why;	/* a part of it */
};

#define NS	"{\"version\":1,\"namespaces\":[{\"name\":\"a\",\"device_path\":\"/dev/pmem0\""
#define PORT	"{\"version\":1,\"ports\":[{\"id\":1,\"addr\":\"192.0.2.1\""
#define CONN	"{\"addr\":\"192.0.2.1\",\"name\":\"a\""

static const struct refusal server_refusals[] = {
	{ "", "end of data" }, { "{", "end of data" }, { "[]", "not a JSON object" },
	{ "{\"version\":1}x", "line 1" }, { "{\n\n\"version\":1,}", "line 3" },
	{ "{}", "version is missing" }, { "{\"version\":2}", "from 1 to 1" },
	{ "{\"version\":\"1\"}", "version is not a number" },
	{ "{\"version\":1,\"port\":[]}", "unknown key 'port'" },
	{ "{\"version\":1,\"namespaces\":{}}", "namespaces is not a list" },
	{ "{\"version\":1,\"namespaces\":[1]}", "entry 1: is not an object" },
	{ "{\"version\":1,\"namespaces\":[{}]}", "name is missing" },
	{ "{\"version\":1,\"namespaces\":[{\"name\":\"a\"}]}", "device_path is missing" },
	{ "{\"version\":1,\"namespaces\":[{\"name\":\"a/b\"}]}", "name is not a name" },
	{ "{\"version\":1,\"namespaces\":[{\"name\":7}]}", "name is not a text" },
	{ NS ",\"readonly\":true}]}", "unknown key 'readonly'" },
	{ NS ",\"read_only\":1}]}", "read_only is neither true nor false" },
	{ NS ",\"placement\":\"mem\"}]}", "placement is not auto" },
	{ NS ",\"placement\":\"\"}]}", "placement is not auto" },
	{ NS ",\"placement\":\"auto memory\"}]}", "placement is not auto" },
	{ NS ",\"enable\":\"yes\"}]}", "enable is neither" },
	{ NS "},{\"name\":\"a\",\"enable\":false}]}", "entries 1 and 2 have the same name 'a'" },
	{ "{\"version\":1,\"namespaces\":[{\"name\":\"a\",\"device_path\":\"pmem0\"}]}",
	  "not an absolute path" },
	{ "{\"version\":1,\"namespaces\":[{\"name\":\"a\",\"device_path\":\"/dev/p\\nq\"}]}",
	  "no text may have" },
	{ "{\"version\":1,\"namespaces\":[{\"name\":\"a\",\"device_path\":\"/dev/p\\u0000\"}]}",
	  "no text may have" },
	{ NS ",\"allowed_clients\":[\"c\"]}]}", "there is no client 'c'" },
	{ NS ",\"read_only_clients\":[\"c\"]}]}", "there is no client 'c'" },
	{ NS ",\"allow_any\":0}]}", "allow_any is neither" },
	{ "{\"version\":1,\"clients\":[{\"id\":\"b\"},{\"id\":\"c\"}],\"namespaces\":[{\"name\":\"a\","
	  "\"enable\":false},{\"name\":\"b\",\"enable\":false,\"allowed_clients\":[\"b\",\"c\"],"
	  "\"read_only_clients\":[\"c\"]}]}", "entry 2: client 'c' is in both lists" },
	{ "{\"version\":1,\"clients\":[{\"id\":\"c\"}],\"namespaces\":[{\"name\":\"a\",\"enable\":false,"
	  "\"allow_any\":true,\"read_only_clients\":[\"c\"]}]}", "entry 1: allow_any is true" },
	{ "{\"version\":1,\"clients\":[{\"id\":\"c\"}],\"namespaces\":[{\"name\":\"a\",\"enable\":false,"
	  "\"allow_any\":true,\"allowed_clients\":[\"c\"]}]}", "entry 1: allow_any is true" },
	{ "{\"version\":1,\"clients\":[{\"id\":\"c\"},{\"id\":\"c\"}]}", "the same id 'c'" },
	{ "{\"version\":1,\"clients\":[{\"id\":\"c:ro\"}]}", "ends in :ro" },
	{ "{\"version\":1,\"clients\":[{\"id\":\"c\",\"max_queues\":-1}]}", "max_queues is not" },
	{ "{\"version\":1,\"clients\":[{\"id\":\"c\",\"max_queues\":9223372036854775808}]}",
	  "max_queues is not" },
	{ "{\"version\":1,\"clients\":[{\"id\":\"c\",\"max_queues\":18446744073709551616}]}", "" },
	{ "{\"version\":1,\"clients\":[{\"id\":\"c\",\"key\":\"0123\"}]}", "unknown key 'key'" },
	{ "{\"version\":1,\"clients\":[{\"id\":\"c\",\"key_file\":\"c\"}]}", "not an absolute" },
	{ "{\"version\":1,\"ports\":[{\"id\":1}]}", "addr is missing" },
	{ "{\"version\":1,\"ports\":[{\"id\":0,\"addr\":\"192.0.2.1\"}]}", "id is not a number" },
	{ "{\"version\":1,\"ports\":[{\"id\":65536}]}", "id is not a number from 1 to 65535" },
	{ PORT ",\"port\":0}]}", "port is not a number" },
	{ PORT ",\"port\":65536}]}", "port is not a number" },
	{ PORT ",\"port\":20049.0}]}", "port is not a number" },
	{ PORT ",\"namespaces\":[\"a\"]}]}", "there is no namespace 'a'" },
	{ PORT ",\"namespaces\":\"a\"}]}", "namespaces is not a list" },
	{ PORT ",\"namespaces\":[1]}]}", "namespaces is not a text" },
	{ PORT "},{\"id\":1,\"enable\":false}]}", "the same id '1'" },
	{ PORT "},{\"id\":2,\"addr\":\"192.0.2.1\",\"port\":20049}]}",
	  "entries 1 and 2 listen on one address, 192.0.2.1:20049" },
	{ "{\"version\":1,\"ports\":[{\"id\":1,\"enable\":false},{\"id\":2,\"addr\":\"FD00:0::1\","
	  "\"port\":7},{\"id\":3,\"addr\":\"fd00::1\",\"port\":7}]}", "entries 2 and 3 listen on one" },
	{ "{\"version\":1,\"ports\":[{\"id\":1,\"addr\":\"host\"}]}", "addr is not a numeric" },
	{ "{\"version\":1,\"ports\":[{\"id\":1,\"addr\":\"fe80::1\"}]}", "addr is link-local" },
	{ "{\"version\":1,\"namespaces\":[{\"name\":\"a\",\"device_path\":\"/dev/pmem0\"},"
	  "{\"name\":\"b\",\"device_path\":\"/dev/pmem0\"}]}", "entries 1 and 2 have one device" },
	{ "{\"version\":1,\"ports\":[{\"id\":1,\"addr\":\"192.0.2.1:7\"}]}", "addr is not a num" },
	{ "{\"version\":1,\"ports\":[{\"id\":1,\"addr\":\"[fd00::1]\"}]}", "addr is not a num" },
	{ "{\"version\":1,\n\"version\\u0000x\":2}", "line 2: it has a NUL" },
};

TEST(server_files_that_are_refused)
{
	const struct refusal *r;
	const char *why;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(server_refusals); i++) {
		r = &server_refusals[i];
		why = refused(config_read_server, r->text);
		EXPECT_NE(NULL, why) TH_LOG("case %zu", i);
		EXPECT_NE(NULL, why ? strstr(why, r->why) : NULL)
			TH_LOG("case %zu: '%s', not '%s'", i, why ?: "taken", r->why);
	}
}

static const char whole[] =
	"{ \"version\": 1,\n"
	"  \"clients\": [ { \"id\": \"c\", \"max_sessions\": 4, \"max_queues\": 0,\n"
	"      \"max_segments\": 1, \"max_memory\": 1099511627776, \"key_file\": \"/k\" } ],\n"
	"  \"namespaces\": [\n"
	"    { \"name\": \"a\", \"device_path\": \"/dev/pmem0\", \"read_only\": true,\n"
	"      \"allow_volatile\": false, \"deep_flush\": true, \"placement\": \"assert-memory\",\n"
	"      \"allow_any\": false, \"allowed_clients\": [ \"c\" ],\n"
	"      \"read_only_clients\": [ ], \"enable\": true },\n"
	"    { \"name\": \"b\", \"enable\": false } ],\n"
	"  \"ports\": [\n"
	"    { \"id\": 1, \"addr\": \"192.0.2.1\", \"port\": 20049, \"enable\": true,\n"
	"      \"namespaces\": [ \"a\", \"b\" ] },\n"
	"    { \"id\": 65535, \"addr\": \"fd00::1\", \"port\": 65535, \"namespaces\": [] } ] }\n";

TEST(server_files_that_are_taken)
{
	EXPECT_EQ(NULL, refused(config_read_server, "{\"version\":1}"));
	EXPECT_EQ(NULL, refused(config_read_server, NS "}]}"));
	EXPECT_EQ(NULL, refused(config_read_server, PORT "}]}"));
	EXPECT_EQ(NULL, refused(config_read_server, whole));
	EXPECT_EQ(NULL, refused(config_read_server, PORT "},{\"id\":2,\"addr\":\"192.0.2.1\","
				"\"enable\":false},{\"id\":3,\"addr\":\"192.0.2.1\",\"port\":7},"
				"{\"id\":4,\"addr\":\"192.0.2.2\",\"enable\":false},"
				"{\"id\":5,\"addr\":\"192.0.2.2\"}]}"));
	EXPECT_EQ(NULL, refused(config_read_server, "{\"version\":1,\"ports\":[{\"id\":1,"
				"\"addr\":\"fe80::1%eth0\"}]}"));
	EXPECT_EQ(NULL, refused(config_read_server, "{\"version\":1,\"namespaces\":[{\"name\":"
				"\"a\",\"device_path\":\"/dev/pmem0\",\"enable\":false},{\"name\":"
				"\"b\",\"device_path\":\"/dev/pmem0\"}]}"));
}

/* Cut short anywhere, or with any byte another: taken or refused with a reason, never worse. */
TEST(broken_server_files)
{
	char text[sizeof(whole)], why[WHY_MAX];
	struct json_object *o;
	u64 state = 3;
	size_t i;

	for (i = 0; i + 2 < sizeof(whole); i++) {
		store(whole, i);
		EXPECT_EQ(NULL, config_read_server(path, why)) TH_LOG("%zu bytes", i);
	}
	for (i = 0; i < 3000; i++) {
		memcpy(text, whole, sizeof(whole));
		text[rnd(&state) % (sizeof(whole) - 1)] = (char)rnd(&state);
		store(text, sizeof(whole) - 1);
		*why = '\0';
		o = config_read_server(path, why);
		EXPECT_TRUE(o || *why);
		json_object_put(o);
	}
	drop();
}

static const struct refusal connection_refusals[] = {
	{ CONN ",\"read_only\":true,\"exclusive\":true}", "not with read_only" },
	{ CONN ",\"read_only\":true,\"takeover\":true}", "not with read_only" },
	{ "{}", "addr is missing" }, { "{\"addr\":\"192.0.2.1\"}", "name is missing" },
	{ CONN ",\"adr\":\"x\"}", "unknown key 'adr'" }, { CONN ",\"queues\":0}", "queues is not" },
	{ CONN ",\"queues\":129}", "queues is not" }, { CONN ",\"depth\":3}", "depth is not" },
	{ CONN ",\"persist\":\"none\"}", "persist is not" },
	{ CONN ",\"persist\":\"auto read\"}", "persist is not" },
	{ CONN ",\"id\":\"\"}", "id is not an ID" }, { CONN ",\"block_size\":1024}", "neither 512" },
	{ CONN ",\"cache\":\"write\"}", "cache is not" },
	{ CONN ",\"block\":false,\"cache\":\"writeback\"}", "the block device's" },
	{ CONN ",\"block\":false,\"poll_queues\":1}", "the block device's" },
	{ CONN ",\"reconnect_delay\":0}", "reconnect_delay is not" },
	{ CONN ",\"fail_io_timeout\":-2}", "fail_io_timeout is not" },
	{ CONN ",\"queues\":100,\"poll_queues\":29}", "together" },
};

TEST(connection_files)
{
	const struct refusal *r;
	const char *why;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(connection_refusals); i++) {
		r = &connection_refusals[i];
		why = refused(config_read_connection, r->text);
		EXPECT_NE(NULL, why ? strstr(why, r->why) : NULL)
			TH_LOG("case %zu: '%s', not '%s'", i, why ?: "taken", r->why);
	}
	EXPECT_EQ(NULL, refused(config_read_connection, CONN "}"));
	EXPECT_EQ(NULL, refused(config_read_connection, CONN ",\"port\":7,\"id\":\"c\",\"queues\":2,"
				"\"depth\":64,\"max_call\":8192,\"persist\":\"assist\",\"read_only\":false,"
				"\"cache\":\"writeback\",\"block_size\":4096,\"poll_queues\":1,"
				"\"keep_alive_tmo\":0,\"fail_io_timeout\":-1,"
				"\"key_file\":\"/k\",\"exclusive\":true,\"takeover\":false}"));
}

/* Why @key with this text is refused when it is to be saved; NULL: it is not. */
static const char *not_saved(bool (*check)(struct json_object *o, char *why), const char *text,
			     const char *list, const char *key, const char *value)
{
	struct json_object *o = json_tokener_parse(text), *at = o;
	static char why[WHY_MAX];
	bool ok;

	if (list)
		at = json_object_array_get_idx(json_list(o, list), 0);
	json_object_object_add(at, key, json_object_new_string(value));
	ok = check(o, why);
	json_object_put(o);
	return ok ? NULL : why;
}

/* What would be refused when it is read is not written. */
TEST(what_is_saved_can_be_read)
{
	static const char *const bad[] = {
		"/\xff", "/\xc3", "/\xc3/", "/\xe2\x82", "/\x80", "/\xf8\x88\x80\x80\x80",
	};
	static const char *const good[] = { "/\xc3\xa4", "/\xe2\x82\xac", "/\xf0\x9f\x98\x80", "/a" };
	char long_path[512] = "/";
	const char *why;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		why = not_saved(config_check_server, NS "}]}", "namespaces", "device_path", bad[i]);
		EXPECT_NE(NULL, why ? strstr(why, "device_path is not in UTF-8") : NULL)
			TH_LOG("case %zu: '%s'", i, why ?: "taken");
		why = not_saved(config_check_connection, CONN "}", NULL, "key_file", bad[i]);
		EXPECT_NE(NULL, why ? strstr(why, "key_file is not in UTF-8") : NULL)
			TH_LOG("case %zu: '%s'", i, why ?: "taken");
	}
	for (i = 0; i < ARRAY_SIZE(good); i++)
		EXPECT_EQ(NULL, not_saved(config_check_server, NS "}]}", "namespaces", "device_path",
					  good[i])) TH_LOG("case %zu", i);
	memset(long_path + 1, 'k', 254);
	EXPECT_EQ(NULL, not_saved(config_check_connection, CONN "}", NULL, "key_file", long_path));
	long_path[255] = 'k';
	why = not_saved(config_check_connection, CONN "}", NULL, "key_file", long_path);
	EXPECT_NE(NULL, why ? strstr(why, "less than 256 bytes") : NULL);
}

static bool anybody_may(const char *ns)
{
	struct json_object *o = json_tokener_parse(ns);
	bool may = config_allow_any(o);

	json_object_put(o);
	return may;
}

/* A list that came out empty is one. */
TEST(who_may_use_a_namespace)
{
	EXPECT_TRUE(anybody_may("{}"));
	EXPECT_TRUE(anybody_may("{\"allow_any\":true,\"allowed_clients\":[]}"));
	EXPECT_FALSE(anybody_may("{\"allow_any\":false}"));
	EXPECT_FALSE(anybody_may("{\"allowed_clients\":[\"c\"]}"));
	EXPECT_FALSE(anybody_may("{\"allowed_clients\":[]}"));
	EXPECT_FALSE(anybody_may("{\"read_only_clients\":[]}"));
}

TEST(values)
{
	struct json_object *o = json_tokener_parse("{\"t\":\"x\",\"n\":7,\"b\":true,\"f\":false}");
	char buf[24];

	EXPECT_STREQ("x", json_plain(o, "t", buf, sizeof(buf)));
	EXPECT_STREQ("7", json_plain(o, "n", buf, sizeof(buf)));
	EXPECT_STREQ("1", json_plain(o, "b", buf, sizeof(buf)));
	EXPECT_STREQ("0", json_plain(o, "f", buf, sizeof(buf)));
	EXPECT_EQ(NULL, json_plain(o, "none", buf, sizeof(buf)));
	EXPECT_EQ(7, json_number(o, "n", 3));
	EXPECT_EQ(3, json_number(o, "none", 3));
	EXPECT_FALSE(json_flag(o, "f", true));
	EXPECT_TRUE(json_flag(o, "none", true));
	json_object_put(o);
}

TEST(writing_replaces_the_whole_file)
{
	struct json_object *o = json_tokener_parse(whole), *back;
	char why[WHY_MAX], gone[96];
	struct stat st;

	store("something longer than nothing", 29);
	ASSERT_EQ(0, chmod(path, 0644));
	EXPECT_EQ(0, config_write(path, o));
	ASSERT_EQ(0, stat(path, &st));
	EXPECT_EQ(0600, st.st_mode & 07777);
	back = config_read_server(path, why);
	EXPECT_TRUE(back && json_object_equal(o, back));
	json_object_put(back);
	EXPECT_EQ(0, config_sync(path));
	/* No temporary file is left: the directory has one entry, and can go with it. */
	unlink(path);
	EXPECT_EQ(0, rmdir(dir));
	snprintf(gone, sizeof(gone), "%s/file", dir);
	EXPECT_EQ(-ENOENT, config_write(gone, o));
	EXPECT_EQ(-ENOENT, config_sync(gone));
	json_object_put(o);
	drop();
}

/* A link stays one, and what it leads to is replaced. */
TEST(writing_follows_a_link)
{
	struct json_object *o = json_tokener_parse("{\"version\":1}"), *back;
	char why[WHY_MAX], name[96];
	struct stat st;

	store("old", 3);
	snprintf(name, sizeof(name), "%s/link", dir);
	ASSERT_EQ(0, symlink("file.json", name));
	EXPECT_EQ(0, config_write(name, o));
	ASSERT_EQ(0, lstat(name, &st));
	EXPECT_TRUE(S_ISLNK(st.st_mode));
	ASSERT_EQ(0, lstat(path, &st));
	EXPECT_TRUE(S_ISREG(st.st_mode));
	back = config_read_server(path, why);
	EXPECT_TRUE(back);
	json_object_put(back);
	ASSERT_EQ(0, unlink(path));
	EXPECT_EQ(0, config_write(name, o));
	ASSERT_EQ(0, lstat(name, &st));
	EXPECT_TRUE(S_ISLNK(st.st_mode) && !lstat(path, &st));
	unlink(name);
	json_object_put(o);
	drop();
}

/* A link that leads nowhere: its target is made, as a whole or not at all. */
TEST(writing_where_a_link_leads)
{
	struct json_object *o = json_tokener_parse("{\"version\":1}"), *back;
	char why[WHY_MAX], name[96], second[96], *text;
	struct stat st;

	store("", 0);
	snprintf(name, sizeof(name), "%s/link", dir);
	snprintf(second, sizeof(second), "%s/second", dir);
	ASSERT_EQ(0, symlink(second, name));
	ASSERT_EQ(0, symlink("file.json", second));
	ASSERT_EQ(0, unlink(path));
	text = calloc(1, JSON_FILE_MAX + 1);
	memset(text, 'x', JSON_FILE_MAX);
	json_object_object_add(o, "text", json_object_new_string(text));
	free(text);
	EXPECT_EQ(-EFBIG, config_write(name, o));
	EXPECT_EQ(-1, lstat(path, &st));
	json_object_object_del(o, "text");
	EXPECT_EQ(0, config_write(name, o));
	EXPECT_TRUE(!lstat(name, &st) && S_ISLNK(st.st_mode));
	EXPECT_TRUE(!lstat(second, &st) && S_ISLNK(st.st_mode));
	EXPECT_TRUE(!lstat(path, &st) && S_ISREG(st.st_mode) && (st.st_mode & 07777) == 0600);
	back = config_read_server(path, why);
	EXPECT_TRUE(back);
	json_object_put(back);
	/* To itself: nowhere at all. */
	unlink(second);
	ASSERT_EQ(0, symlink("link", second));
	EXPECT_EQ(-ELOOP, config_write(name, o));
	unlink(second);
	ASSERT_EQ(0, symlink("none/file", second));
	EXPECT_EQ(-ENOENT, config_write(name, o));
	unlink(second);
	unlink(name);
	json_object_put(o);
	drop();
}

/* What is no file is written to, and never replaced by one. */
TEST(writing_to_a_pipe)
{
	struct json_object *o = json_tokener_parse("{\"version\":1}");
	char text[64] = "", name[96];
	struct stat st;
	int fd;

	store("", 0);
	snprintf(name, sizeof(name), "%s/pipe", dir);
	ASSERT_EQ(0, mkfifo(name, 0600));
	fd = open(name, O_RDWR | O_NONBLOCK);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, config_write(name, o));
	EXPECT_GT(read(fd, text, sizeof(text) - 1), 0);
	EXPECT_EQ(0, strncmp(text, "{\n  \"version\": 1", 16)) TH_LOG("'%s'", text);
	ASSERT_EQ(0, lstat(name, &st));
	EXPECT_TRUE(S_ISFIFO(st.st_mode));
	close(fd);
	EXPECT_EQ(-EISDIR, config_write(dir, o));
	unlink(name);
	json_object_put(o);
	drop();
}

TEST_HARNESS_MAIN
