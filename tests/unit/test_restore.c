// SPDX-License-Identifier: GPL-2.0
/* What pmof server restore finds to contradict its file, in a configfs that is a table. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../tools/server_compare.c" // NOLINT(bugprone-suspicious-include): its calls are ours
#include "unit.h"

static const char *const *there;	/* "PATH" of a link or directory, "PATH=VALUE", "PATH=?": unreadable */
static char said[512], hinted[512];

static const char *find(const char *path)
{
	size_t len = strlen(path), i;

	for (i = 0; there[i]; i++)
		if (!strncmp(there[i], path, len) && (!there[i][len] || there[i][len] == '='))
			return there[i] + len;
	return NULL;
}

/* --- what server_compare.c calls -------------------------------------------------- */

#define FORMAT(buf, fmt) do {					\
		va_list args;					\
								\
		va_start(args, fmt);				\
		vsnprintf(buf, sizeof(buf), fmt, args);		\
		va_end(args);					\
	} while (0)

bool cfg_has(const char *fmt, ...)
{
	char path[CFG_PATH_MAX];

	FORMAT(path, fmt);
	return find(path);
}

int cfg_read(char *buf, const char *fmt, ...)
{
	char path[CFG_PATH_MAX];
	const char *value;

	FORMAT(path, fmt);
	value = find(path);
	if (!value || !*value)
		return -ENOENT;
	if (!strcmp(value + 1, "?"))
		return -EOVERFLOW;
	snprintf(buf, CFG_VALUE_MAX, "%s", value + 1);
	return 0;
}

int cfg_names(struct cfg_names *names, const char *path)
{
	size_t i, len;

	path += strlen(CFG_PMOF "/");
	len = strlen(path);
	names->name = calloc(64, sizeof(*names->name));
	names->nr = 0;
	for (i = 0; there[i]; i++)
		if (!strncmp(there[i], path, len) && there[i][len] == '/' &&
		    !strpbrk(there[i] + len + 1, "/="))
			names->name[names->nr++] = strdup(there[i] + len + 1);
	return 0;
}

void cfg_names_free(struct cfg_names *names)
{
	while (names->nr)
		free(names->name[--names->nr]);
	free(names->name);
}

void complain(const char *fmt, ...)
{
	FORMAT(said, fmt);
}

void hint(const char *fmt, ...)
{
	FORMAT(hinted, fmt);
}

void explain(const struct reason *table, int error, const char *fmt, ...)
{
	(void)table;
	(void)error;
	FORMAT(said, fmt);
}

/* --- tests ------------------------------------------------------------------------- */

static const char file[] =
	"{\"version\":1,\"clients\":[{\"id\":\"c1\"},{\"id\":\"c2\"}],"
	"\"namespaces\":[{\"name\":\"a\",\"device_path\":\"/dev/pmem0\","
	"\"allowed_clients\":[\"c1\"],\"read_only_clients\":[\"c2\"]},"
	"{\"name\":\"b\",\"device_path\":\"/dev/pmem1\"}],"
	"\"ports\":[{\"id\":1,\"addr\":\"192.0.2.1\",\"namespaces\":[\"a\",\"b\"]}]}";

/* All entries of the file, as restore looks at them. */
static bool agrees(const char *const *table)
{
	struct json_object *o = json_tokener_parse(file), *list;
	char number[24];
	bool ok = o;
	size_t k, i;

	there = table;
	*said = *hinted = '\0';
	for (k = 0; k < CONFIG_KINDS && ok; k++) {
		list = json_list(o, config_kinds[k].list);
		for (i = 0; i < json_length(list) && ok; i++) {
			struct item t = { .o = json_object_array_get_idx(list, i),
					  .kind = &config_kinds[k] };
			const char *id = json_plain(t.o, t.kind->id, number, sizeof(number));

			snprintf(t.dir, sizeof(t.dir), "%s/%s", t.kind->list, id);
			snprintf(t.what, sizeof(t.what), "%s '%s'", t.kind->what, id);
			ok = check_compare(&t);
		}
	}
	json_object_put(o);
	return ok;
}

#define CLIENTS	"clients/c1", "clients/c2"
#define A	"namespaces/a", "namespaces/a/device_path=/dev/pmem0", "namespaces/a/allow_any=0"
#define A_ON	A, "namespaces/a/enable=1"
#define C1	"namespaces/a/allowed_clients/c1"
#define C2	"namespaces/a/read_only_clients/c2"
#define B	"namespaces/b", "namespaces/b/device_path=/dev/pmem1"
#define B_ON	B, "namespaces/b/enable=1"
#define P	"ports/1", "ports/1/addr=192.0.2.1", "ports/1/port=20049"
#define P_ON	P, "ports/1/enable=1"
#define PA	"ports/1/namespaces/a"
#define PB	"ports/1/namespaces/b"

#define TABLE(...)	((const char *const []) { __VA_ARGS__, NULL })

TEST(nothing_or_all_is_there)
{
	EXPECT_TRUE(agrees(TABLE("clients")));
	EXPECT_TRUE(agrees(TABLE(CLIENTS, A_ON, C1, C2, B_ON, P_ON, PA, PB))) TH_LOG("%s", said);
}

/* A restore that was interrupted, or that waits: what is not in use yet is completed. */
TEST(half_of_it_is_there)
{
	EXPECT_TRUE(agrees(TABLE("clients/c1")));
	EXPECT_TRUE(agrees(TABLE(CLIENTS, A))) TH_LOG("%s", said);
	EXPECT_TRUE(agrees(TABLE(CLIENTS, A, "namespaces/a/enable=0", C1, P, PA)));
	EXPECT_TRUE(agrees(TABLE(CLIENTS, A_ON, C1, C2, B, P, PA, PB))) TH_LOG("%s", said);
	EXPECT_TRUE(agrees(TABLE(CLIENTS, A_ON, C1, C2, P, PA))) TH_LOG("%s", said);
	/* The port waits: it may get links. So may an open one, to what is not exported yet. */
	EXPECT_TRUE(agrees(TABLE(CLIENTS, A_ON, C1, C2, B_ON, P))) TH_LOG("%s", said);
	EXPECT_TRUE(agrees(TABLE(CLIENTS, A_ON, C1, C2, B, P_ON, PA))) TH_LOG("%s", said);
	EXPECT_TRUE(agrees(TABLE(CLIENTS, A_ON, C1, C2, P_ON, PA))) TH_LOG("%s", said);
}

struct contradiction {
	const char *const *table;
	const char *what, *remedy;
};

static void expect_refused(struct __test_metadata *_metadata, const struct contradiction *c)
{
	EXPECT_FALSE(agrees(c->table)) TH_LOG("'%s'", c->what);
	EXPECT_NE(NULL, strstr(said, c->what)) TH_LOG("'%s', not '%s'", said, c->what);
	EXPECT_NE(NULL, strstr(hinted, c->remedy)) TH_LOG("'%s', not '%s'", hinted, c->remedy);
}

/* A right that was taken since is not given back. */
TEST(less_is_there)
{
	const struct contradiction cases[] = {
		{ TABLE(CLIENTS, A_ON, C2, B_ON, P_ON, PA, PB),
		  "namespace 'a' is enabled, without 'c1' in allowed_clients",
		  "`pmof server allow a c1`" },
		{ TABLE(CLIENTS, A_ON, C1), "without 'c2' in read_only_clients",
		  "`pmof server allow a c2:ro`" },
		{ TABLE("clients/c2", A_ON, C2), "without 'c1'", "" },
		{ TABLE(CLIENTS, A_ON, C1, C2, B_ON, P_ON, PB),
		  "port '1' is enabled, without 'a' in namespaces", "`pmof server unlisten 1`" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		expect_refused(_metadata, &cases[i]);
}

TEST(more_or_another_is_there)
{
	const struct contradiction cases[] = {
		{ TABLE(CLIENTS, A, C1, C2, "namespaces/a/allowed_clients/c3"),
		  "with 'c3' in allowed_clients, and the file has it in no list", "disallow" },
		{ TABLE(CLIENTS, A_ON, C1, "namespaces/a/allowed_clients/c2"),
		  "with 'c2' in allowed_clients, not in read_only_clients", "disallow" },
		{ TABLE("clients/c1", "clients/c1/max_queues=5"), "with max_queues '5', not '0'",
		  "client remove" },
		{ TABLE(CLIENTS, "ports/1", "ports/1/addr=192.0.2.9", "ports/1/enable=1"),
		  "with addr '192.0.2.9', not '192.0.2.1'", "unlisten" },
		{ TABLE(CLIENTS, B_ON, "namespaces/b/read_only=1"), "with read_only '1', not '0'",
		  "unexport" },
		{ TABLE(CLIENTS, B_ON, "namespaces/b/read_only=?"),
		  "cannot read read_only of namespace 'b'", "unexport" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		expect_refused(_metadata, &cases[i]);
	/* What a port leads to besides was exported since. */
	EXPECT_TRUE(agrees(TABLE(CLIENTS, P_ON, "ports/1/namespaces/z")));
}

TEST_HARNESS_MAIN
