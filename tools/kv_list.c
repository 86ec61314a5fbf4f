// SPDX-License-Identifier: BSD-3-Clause
/* pmof kv list, scan and stat: what a store holds. */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kv.h"
#include "libpmof.h"
#include "output.h"
#include "tool.h"

struct kv_list {
	const char *device;
	uint64_t limit;
	struct pmofkv_cursor from;
	bool is_long;
	bool json;
	struct json_object *keys;
};

/* --- bytes for people and machines ------------------------------------------------- */

static bool is_text(const unsigned char *bytes, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++)
		if (bytes[i] < 0x20 || bytes[i] > 0x7e)
			return false;
	return true;
}

/* Two digits a byte; freed by the caller. */
static char *hex(const unsigned char *bytes, size_t length)
{
	char *text = malloc(2 * length + 1);
	size_t i;

	if (!text) {
		complain("out of memory");
		exit(EXIT_FAILED);
	}
	for (i = 0; i < length; i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
	text[2 * length] = '\0';
	return text;
}

void kv_put_bytes(struct json_object *o, const char *name, const void *bytes, size_t length)
{
	struct json_object *text;
	char hex_name[32], *digits;

	if (is_text(bytes, length)) {
		text = json_object_new_string_len(bytes, (int)length);
		if (text)
			put_object(o, name, text);
		return;
	}
	snprintf(hex_name, sizeof(hex_name), "%s_hex", name);
	digits = hex(bytes, length);
	put_text(o, hex_name, digits);
	free(digits);
}

/* As it is, or what is no printable ASCII and the backslash as \xHH. */
static void print_key(const unsigned char *key, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++) {
		if (key[i] < 0x20 || key[i] > 0x7e || key[i] == '\\')
			printf("\\x%02x", key[i]);
		else
			putchar(key[i]);
	}
	putchar('\n');
}

static void show_entry(const struct kv_list *l, const struct pmofkv_entry *e)
{
	struct json_object *o;

	if (l->json) {
		o = new_object();
		kv_put_bytes(o, "key", e->key, e->key_length);
		put_u64(o, "bytes", e->value_length);
		put_u64(o, "version", e->version);
		push_object(l->keys, o);
		return;
	}
	if (l->is_long)
		printf("%12zu %15llu ", e->value_length, (unsigned long long)e->version);
	print_key(e->key, e->key_length);
}

/* --- list -------------------------------------------------------------------------- */

enum {
	OPT_LIMIT = OPT_LAST, OPT_CURSOR,
};

#define OPTION_LONG	{ "long", 'l', NULL, 0, "Bytes of the value and version, too", 0 }
#define OPTION_JSON	{ "json", OPT_JSON, NULL, 0, "Print JSON", 0 }

static const struct argp_option list_options[] = { OPTION_LONG, OPTION_JSON, { 0 } };

static const struct argp_option scan_options[] = {
	{ "cursor", OPT_CURSOR, "CURSOR", 0, "Go on where another scan has ended", 0 },
	{ "limit", OPT_LIMIT, "N", 0, "Keys at most; default 100", 0 },
	OPTION_LONG, OPTION_JSON, { 0 }
};

/* HASH:SKIP, as it was printed. */
static void take_cursor(struct kv_list *l, const char *arg, struct argp_state *state)
{
	unsigned long long hash;
	int end = 0;

	if (sscanf(arg, "%16llx:%u%n", &hash, &l->from.skip, &end) != 2 || arg[end])
		argp_error(state, "--cursor '%s' is malformed: give what a scan has printed", arg);
	l->from.hash = hash;
}

static error_t parse_list(int key, char *arg, struct argp_state *state)
{
	struct kv_list *l = state->input;

	switch (key) {
	case OPT_CURSOR:
		take_cursor(l, arg, state);
		return 0;
	case OPT_LIMIT:
		l->limit = arg_u64(state, "--limit", arg);
		if (!l->limit)
			argp_error(state, "--limit is 0");
		return 0;
	case 'l':
		l->is_long = true;
		return 0;
	case OPT_JSON:
		l->json = true;
		return 0;
	case ARGP_KEY_ARG:
		l->device = arg;
		return one_arg(key, state);
	default:
		return one_arg(key, state);
	}
}

/* Up to the limit; l->from is where the rest begins, if there is *more. */
static int list_keys(struct kv_list *l, struct pmofkv *kv, bool *more)
{
	struct pmofkv_entry e;
	struct pmofkv_scan *scan;
	int ret = pmofkv_scan_open_at(kv, &l->from, l->limit, &scan);

	if (ret)
		return ret;
	while ((ret = pmofkv_scan_next(scan, &e)) > 0)
		show_entry(l, &e);
	*more = pmofkv_scan_rest(scan, &l->from);
	pmofkv_scan_close(scan);
	return ret;
}

/* As list_keys(), of the device that was named; explained. */
static int list_device(struct kv_list *l, bool *more)
{
	struct pmofkv *kv;
	int ret = kv_open(l->device, O_RDONLY, PMOFKV_AUTO, &kv);

	if (ret)
		return ret;
	ret = list_keys(l, kv, more);
	pmofkv_close(kv);
	if (ret)
		kv_explain(ret, l->device);
	return ret;
}

static void finish_list(const struct kv_list *l, struct json_object *o)
{
	if (l->json) {
		put_object(o, "keys", json_object_get(l->keys));
		print_json(o, false);
	}
	fflush(stdout);
}

int cmd_kv_list(int argc, char **argv)
{
	static const struct argp argp = {
		.options = list_options, .parser = parse_list, .args_doc = "DEV",
		.doc = "Prints all keys, in no order that means anything.",
	};
	struct kv_list l = { .keys = new_array(), .limit = UINT64_MAX };
	struct json_object *o;
	bool more;
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &l);
	ret = list_device(&l, &more);
	o = new_object();
	if (!ret)
		finish_list(&l, o);
	json_object_put(o);
	json_object_put(l.keys);
	return ret ? EXIT_FAILED : EXIT_OK;
}

/* --- scan -------------------------------------------------------------------------- */

static void print_cursor(const struct kv_list *l, bool more)
{
	struct json_object *o = new_object();
	char cursor[32];

	snprintf(cursor, sizeof(cursor), "%llx:%u", (unsigned long long)l->from.hash, l->from.skip);
	if (more)
		put_text(o, "cursor", cursor);
	finish_list(l, o);
	if (!l->json && more)
		fprintf(stderr, "cursor %s\n", cursor);
	json_object_put(o);
}

int cmd_kv_scan(int argc, char **argv)
{
	static const struct argp argp = {
		.options = scan_options, .parser = parse_list, .args_doc = "DEV",
		.doc = "Prints some of the keys and, on standard error, the cursor for those that "
		       "follow; no cursor: there are no more.",
	};
	struct kv_list l = { .keys = new_array(), .limit = 100 };
	bool more;
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &l);
	ret = list_device(&l, &more);
	if (!ret)
		print_cursor(&l, more);
	json_object_put(l.keys);
	return ret ? EXIT_FAILED : EXIT_OK;
}

/* --- stat ------------------------------------------------------------------------------- */

static void print_stat(const struct device_json *s, const uint64_t *value)
{
	struct json_object *o = new_object();
	unsigned int i;

	for (i = 0; i < PMOF_KV_STAT_MAX && pmofkv_stat_name(i); i++) {
		put_u64(o, pmofkv_stat_name(i), value[i]);
		if (!s->json)
			printf("%-16s %llu\n", pmofkv_stat_name(i), (unsigned long long)value[i]);
	}
	if (s->json)
		print_json(o, false);
	json_object_put(o);
}

int cmd_kv_stat(int argc, char **argv)
{
	static const struct argp argp = {
		.options = json_options, .parser = parse_device_json, .args_doc = "DEV",
		.doc = "Prints what the server says of the store: keys, space, and what it has "
		       "done since it was opened.",
	};
	uint64_t value[PMOF_KV_STAT_MAX] = { 0 };
	struct device_json s = { 0 };
	struct pmofkv *kv;
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &s);
	if (kv_open(s.device, O_RDONLY, PMOFKV_AUTO, &kv))
		return EXIT_FAILED;
	ret = pmofkv_stat(kv, value, PMOF_KV_STAT_MAX);
	pmofkv_close(kv);
	if (ret < 0)
		kv_explain(ret, s.device);
	else
		print_stat(&s, value);
	return ret < 0 ? EXIT_FAILED : EXIT_OK;
}
