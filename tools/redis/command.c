// SPDX-License-Identifier: BSD-3-Clause
/* The commands of the Redis protocol that a store has. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "redis.h"

#define BATCH	64	/* puts at once */

/* One request: its words, and who asks. */
struct call {
	struct pmofkv *kv;
	redisReply **word;
	size_t nr;
	struct answer *a;
};

static bool is(const redisReply *word, const char *text)
{
	return (size_t)word->len == strlen(text) && !strncasecmp(word->str, text, (size_t)word->len);
}

static bool same(const redisReply *a, const redisReply *b)
{
	return a->len == b->len && !memcmp(a->str, b->str, (size_t)a->len);
}

/* --- one value --------------------------------------------------------------------- */

static void answer_value(const struct call *c, const redisReply *key)
{
	size_t length;
	void *value;
	int ret = pmofkv_get_alloc(c->kv, key->str, (size_t)key->len, &value, &length, NULL);

	if (ret == -ENOENT) {
		answer_nil(c->a);
	} else if (ret) {
		answer_errno(c->a, ret);
	} else {
		answer_bulk(c->a, value, length);
		free(value);
	}
}

static void do_get(const struct call *c)
{
	answer_value(c, c->word[1]);
}

static void do_mget(const struct call *c)
{
	size_t i;

	answer_array(c->a, c->nr - 1);
	for (i = 1; i < c->nr; i++)
		answer_value(c, c->word[i]);
}

/* Its bytes and version: 0, or -ENOENT, or another error. */
static int look(const struct call *c, const redisReply *key, size_t *length, uint64_t *version)
{
	char none;
	int ret = pmofkv_get(c->kv, key->str, (size_t)key->len, &none, 0, length, version);

	return ret == -EMSGSIZE ? 0 : ret;
}

static int put(const struct call *c, uint64_t expected)
{
	return pmofkv_put_if(c->kv, c->word[1]->str, (size_t)c->word[1]->len, c->word[2]->str,
			     (size_t)c->word[2]->len, expected, NULL);
}

/* If there is one, whichever it is. */
static int put_present(const struct call *c)
{
	uint64_t version;
	size_t length;
	int ret;

	do {
		ret = look(c, c->word[1], &length, &version);
		if (!ret)
			ret = put(c, version);
	} while (ret == -ESTALE);
	return ret;
}

static void do_set(const struct call *c)
{
	int ret;

	if (c->nr == 3) {
		ret = put(c, PMOF_KV_EXPECT_ANY);
	} else if (c->nr == 4 && is(c->word[3], "NX")) {
		ret = put(c, PMOF_KV_EXPECT_NONE);
	} else if (c->nr == 4 && is(c->word[3], "XX")) {
		ret = put_present(c);
	} else {
		answer_error(c->a, "ERR SET has NX and XX, and no values that expire");
		return;
	}
	if (ret == -EEXIST || ret == -ENOENT)
		answer_nil(c->a);
	else if (ret)
		answer_errno(c->a, ret);
	else
		answer_status(c->a, "OK");
}

static void do_setnx(const struct call *c)
{
	int ret = put(c, PMOF_KV_EXPECT_NONE);

	if (ret && ret != -EEXIST)
		answer_errno(c->a, ret);
	else
		answer_number(c->a, !ret);
}

static void do_strlen(const struct call *c)
{
	uint64_t version;
	size_t length = 0;
	int ret = look(c, c->word[1], &length, &version);

	if (ret && ret != -ENOENT)
		answer_errno(c->a, ret);
	else
		answer_number(c->a, ret ? 0 : (long long)length);
}

/* The number that a value is: 0, or -EDOM. */
static int parse_number(const char *text, size_t length, long long *n)
{
	char digits[32], *end;

	if (!length || length >= sizeof(digits))
		return -EDOM;
	memcpy(digits, text, length);
	digits[length] = '\0';
	errno = 0;
	*n = strtoll(digits, &end, 10);
	return errno || end != digits + length || strpbrk(digits, " \t\n\v\f\r+") ? -EDOM : 0;
}

static int read_number(const struct call *c, long long *n, uint64_t *version)
{
	char text[32];
	size_t length;
	int ret = pmofkv_get(c->kv, c->word[1]->str, (size_t)c->word[1]->len, text, sizeof(text),
			     &length, version);

	*n = 0;
	if (ret == -ENOENT)
		*version = PMOF_KV_EXPECT_NONE;
	if (ret == -EMSGSIZE)
		return -EDOM;
	return ret ? ret == -ENOENT ? 0 : ret : parse_number(text, length, n);
}

/* A put names the version that was read: nobody's count is lost. */
static int add(const struct call *c, long long by, long long *n)
{
	uint64_t version;
	char text[32];
	int ret;

	do {
		ret = read_number(c, n, &version);
		if (!ret && __builtin_add_overflow(*n, by, n))
			ret = -EDOM;
		if (ret)
			return ret;
		snprintf(text, sizeof(text), "%lld", *n);
		ret = pmofkv_put_if(c->kv, c->word[1]->str, (size_t)c->word[1]->len, text,
				    strlen(text), version, NULL);
	} while (ret == -ESTALE || ret == -EEXIST);
	return ret;
}

static void answer_sum(const struct call *c, long long by)
{
	long long n = 0;
	int ret = add(c, by, &n);

	if (ret == -EDOM)
		answer_error(c->a, "ERR value is not an integer or out of range");
	else if (ret)
		answer_errno(c->a, ret);
	else
		answer_number(c->a, n);
}

static void do_incr(const struct call *c)
{
	answer_sum(c, 1);
}

static void do_decr(const struct call *c)
{
	answer_sum(c, -1);
}

static void do_incrby(const struct call *c)
{
	long long by;

	if (parse_number(c->word[2]->str, (size_t)c->word[2]->len, &by))
		answer_error(c->a, "ERR value is not an integer or out of range");
	else
		answer_sum(c, by);
}

/* --- several keys -------------------------------------------------------------------- */

static void do_del(const struct call *c)
{
	long long n = 0;
	size_t i;
	int ret;

	for (i = 1; i < c->nr; i++) {
		ret = pmofkv_delete(c->kv, c->word[i]->str, (size_t)c->word[i]->len);
		if (ret && ret != -ENOENT) {
			answer_errno(c->a, ret);
			return;
		}
		n += !ret;
	}
	answer_number(c->a, n);
}

static void do_exists(const struct call *c)
{
	uint64_t version;
	long long n = 0;
	size_t i, length;
	int ret;

	for (i = 1; i < c->nr; i++) {
		ret = look(c, c->word[i], &length, &version);
		if (ret && ret != -ENOENT) {
			answer_errno(c->a, ret);
			return;
		}
		n += !ret;
	}
	answer_number(c->a, n);
}

static void make_item(struct pmofkv_item *item, const redisReply *key, const redisReply *value)
{
	*item = (struct pmofkv_item){
		.key = key->str, .key_length = (size_t)key->len, .value = value->str,
		.value_length = (size_t)value->len, .expected = PMOF_KV_EXPECT_ANY,
	};
}

/* A batch has no order: a key is in it once. */
static bool has_key(const struct pmofkv_item *item, unsigned int n, const redisReply *key)
{
	while (n--)
		if (item[n].key_length == (size_t)key->len &&
		    !memcmp(item[n].key, key->str, item[n].key_length))
			return true;
	return false;
}

static int put_items(const struct call *c, struct pmofkv_item *item, unsigned int *n)
{
	int ret = *n ? pmofkv_put_batch(c->kv, item, *n) : 0;

	*n = 0;
	return ret;
}

/* Each key by itself: it is no transaction, as Redis's is. */
static void do_mset(const struct call *c)
{
	struct pmofkv_item item[BATCH];
	unsigned int n = 0;
	int ret = 0;
	size_t i;

	if (c->nr % 2 == 0) {
		answer_error(c->a, "ERR wrong number of arguments for 'mset' command");
		return;
	}
	for (i = 1; i < c->nr && !ret; i += 2) {
		if (n == BATCH || has_key(item, n, c->word[i]))
			ret = put_items(c, item, &n);
		make_item(&item[n++], c->word[i], c->word[i + 1]);
	}
	if (!ret)
		ret = put_items(c, item, &n);
	if (ret)
		answer_errno(c->a, ret);
	else
		answer_status(c->a, "OK");
}

/* --- the server ------------------------------------------------------------------------ */

static void do_ping(const struct call *c)
{
	if (c->nr > 1)
		answer_bulk(c->a, c->word[1]->str, (size_t)c->word[1]->len);
	else
		answer_status(c->a, "PONG");
}

static void do_echo(const struct call *c)
{
	answer_bulk(c->a, c->word[1]->str, (size_t)c->word[1]->len);
}

static void do_select(const struct call *c)
{
	if (is(c->word[1], "0"))
		answer_status(c->a, "OK");
	else
		answer_error(c->a, "ERR there is only database 0");
}

static void do_dbsize(const struct call *c)
{
	uint64_t value[PMOF_KV_STAT_MAX] = { 0 };
	int ret = pmofkv_stat(c->kv, value, PMOF_KV_STAT_MAX);

	if (ret < 0)
		answer_errno(c->a, ret);
	else
		answer_number(c->a, (long long)value[PMOF_KV_STAT_KEYS]);
}

static void do_info(const struct call *c)
{
	uint64_t value[PMOF_KV_STAT_MAX] = { 0 };
	int ret = pmofkv_stat(c->kv, value, PMOF_KV_STAT_MAX), i;
	char text[4096] = "# Server\r\nredis_mode:standalone\r\nserver_name:pmof-redis\r\n# Store\r\n";
	size_t at = strlen(text);

	if (ret < 0) {
		answer_errno(c->a, ret);
		return;
	}
	for (i = 0; i < ret && pmofkv_stat_name((unsigned int)i) && at < sizeof(text); i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s:%llu\r\n",
				       pmofkv_stat_name((unsigned int)i),
				       (unsigned long long)value[i]);
	answer_bulk(c->a, text, strlen(text));
}

/* There is nothing to configure; clients ask all the same. */
static void do_config(const struct call *c)
{
	if (!is(c->word[1], "GET") || c->nr != 3) {
		answer_error(c->a, "ERR CONFIG has GET alone");
		return;
	}
	answer_array(c->a, 2);
	answer_bulk(c->a, c->word[2]->str, (size_t)c->word[2]->len);
	answer_bulk(c->a, "", 0);
}

static void do_command(const struct call *c)
{
	answer_array(c->a, 0);
}

static void do_client(const struct call *c)
{
	answer_status(c->a, "OK");
}

static const struct {
	const char *name;
	size_t min, max;	/* words, the name counted */
	void (*run)(const struct call *c);
} commands[] = {
	{ "get", 2, 2, do_get }, { "set", 3, SIZE_MAX, do_set }, { "setnx", 3, 3, do_setnx },
	{ "del", 2, SIZE_MAX, do_del }, { "unlink", 2, SIZE_MAX, do_del },
	{ "exists", 2, SIZE_MAX, do_exists }, { "strlen", 2, 2, do_strlen },
	{ "mget", 2, SIZE_MAX, do_mget }, { "mset", 3, SIZE_MAX, do_mset },
	{ "incr", 2, 2, do_incr }, { "decr", 2, 2, do_decr }, { "incrby", 3, 3, do_incrby },
	{ "ping", 1, 2, do_ping }, { "echo", 2, 2, do_echo }, { "select", 2, 2, do_select },
	{ "dbsize", 1, 1, do_dbsize }, { "info", 1, SIZE_MAX, do_info },
	{ "config", 2, SIZE_MAX, do_config }, { "command", 1, SIZE_MAX, do_command },
	{ "client", 2, SIZE_MAX, do_client },
};

/* --- requests --------------------------------------------------------------------------- */

/* A request is an array of strings, as clients send it. */
static bool is_request(const redisReply *r)
{
	size_t i;

	if (r->type != REDIS_REPLY_ARRAY || !r->elements)
		return false;
	for (i = 0; i < r->elements; i++)
		if (r->element[i]->type != REDIS_REPLY_STRING)
			return false;
	return true;
}

static void run_one(struct pmofkv *kv, const redisReply *r, struct answer *a)
{
	struct call c = { .kv = kv, .word = r->element, .nr = r->elements, .a = a };
	char text[128];
	size_t i;

	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (!is(c.word[0], commands[i].name))
			continue;
		if (c.nr >= commands[i].min && c.nr <= commands[i].max) {
			commands[i].run(&c);
			return;
		}
		snprintf(text, sizeof(text), "ERR wrong number of arguments for '%s' command",
			 commands[i].name);
		answer_error(a, text);
		return;
	}
	answer_error(a, "ERR unknown command");
}

static bool is_plain_set(const redisReply *r)
{
	return is_request(r) && r->elements == 3 && is(r->element[0], "set");
}

/* How many SETs, of different keys, are next to each other. */
static size_t count_sets(redisReply **request, size_t nr)
{
	size_t n, i;

	for (n = 0; n < nr && n < BATCH && is_plain_set(request[n]); n++)
		for (i = 0; i < n; i++)
			if (same(request[i]->element[1], request[n]->element[1]))
				return n;
	return n;
}

static void run_sets(struct pmofkv *kv, redisReply **request, size_t nr, struct answer *a)
{
	struct pmofkv_item item[BATCH];
	size_t i;

	for (i = 0; i < nr; i++)
		make_item(&item[i], request[i]->element[1], request[i]->element[2]);
	pmofkv_put_batch(kv, item, (unsigned int)nr);
	for (i = 0; i < nr; i++) {
		if (item[i].result)
			answer_errno(a, item[i].result);
		else
			answer_status(a, "OK");
	}
}

bool execute(struct pmofkv *kv, redisReply **request, size_t nr, struct answer *a)
{
	size_t i, sets;

	for (i = 0; i < nr; i += sets ? sets : 1) {
		sets = count_sets(request + i, nr - i);
		if (sets > 1) {
			run_sets(kv, request + i, sets, a);
			continue;
		}
		sets = 0;
		if (!is_request(request[i])) {
			answer_error(a, "ERR Protocol error: a request is an array of strings");
			return true;
		}
		if (is(request[i]->element[0], "quit")) {
			answer_status(a, "OK");
			return true;
		}
		run_one(kv, request[i], a);
	}
	return false;
}
