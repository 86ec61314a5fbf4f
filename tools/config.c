// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "parse.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

/* --- texts ----------------------------------------------------------------- */

static const char *check_name(const char *text)
{
	return name_valid(text, 64) ? NULL :
	       "is not a name: 1 to 63 characters of A-Z a-z 0-9 . _ : -, not starting with a dot";
}

static const char *check_id(const char *text)
{
	return name_valid(text, 32) ? NULL :
	       "is not an ID: 1 to 31 characters of A-Z a-z 0-9 . _ : -, not starting with a dot";
}

/* `pmof server allow` means a right by it. */
static const char *check_client(const char *text)
{
	size_t len = strlen(text);

	if (len >= 3 && !strcmp(text + len - 3, ":ro"))
		return "is not an ID of a client: it ends in :ro";
	return check_id(text);
}

static const char *check_path(const char *text)
{
	return *text == '/' && strlen(text) < 256 ? NULL :
	       "is not an absolute path of less than 256 bytes";
}

static const char *check_addr(const char *text)
{
	struct addr addr;

	if (strchr(text, '[') || (strchr(text, ':') && strchr(text, ':') == strrchr(text, ':')) ||
	    parse_addr(text, &addr))
		return "is not a numeric IPv4 or IPv6 address";
	if (scope_missing(text))
		return "is link-local: it needs its interface, as in fe80::1%eth0";
	return NULL;
}

/* Is @text one of the space-separated @words, and no two of them? */
static bool is_word(const char *text, const char *words)
{
	const char *p = words;
	size_t len = strlen(text);

	while (len && !strchr(text, ' ') && (p = strstr(p, text))) {
		if ((p == words || p[-1] == ' ') && (p[len] == ' ' || !p[len]))
			return true;
		p++;
	}
	return false;
}

static const char *check_placement(const char *text)
{
	return is_word(text, "auto memory assert-memory") ?
	       NULL : "is not auto, memory or assert-memory";
}

static const char *check_service(const char *text)
{
	return is_word(text, "raw store") ? NULL : "is not raw or store";
}

static const char *check_persist(const char *text)
{
	return is_word(text, "auto read assist rpc flush") ?
	       NULL : "is not auto, read, assist, rpc or flush";
}

static const char *check_cache(const char *text)
{
	return is_word(text, "writethrough writeback") ? NULL : "is not writethrough or writeback";
}

/* --- tables ---------------------------------------------------------------- */

static const struct json_key root_schema[] = {
	{ .name = "version", .kind = JSON_NUMBER, .required = true, .min = CONFIG_VERSION,
	  .max = CONFIG_VERSION },
};

/* In each: first the attributes of configfs, then the others. */
static const struct json_key client_schema[] = {
	{ .name = "max_sessions", .kind = JSON_NUMBER, .max = INT64_MAX, .otherwise = "0" },
	{ .name = "max_queues", .kind = JSON_NUMBER, .max = INT64_MAX, .otherwise = "0" },
	{ .name = "max_segments", .kind = JSON_NUMBER, .max = INT64_MAX, .otherwise = "0" },
	{ .name = "max_memory", .kind = JSON_NUMBER, .max = INT64_MAX, .otherwise = "0" },
	{ .name = "id", .kind = JSON_TEXT, .required = true, .check = check_client },
	{ .name = "key_file", .kind = JSON_TEXT, .check = check_path },
};

static const struct json_key namespace_schema[] = {
	{ .name = "device_path", .kind = JSON_TEXT, .check = check_path },
	{ .name = "read_only", .kind = JSON_BOOL, .otherwise = "0" },
	{ .name = "allow_volatile", .kind = JSON_BOOL, .otherwise = "0" },
	{ .name = "deep_flush", .kind = JSON_BOOL, .otherwise = "0" },
	{ .name = "emulate_latency_ns", .kind = JSON_NUMBER, .max = 1000000, .otherwise = "0" },
	{ .name = "emulate_write_mbps", .kind = JSON_NUMBER, .max = 1000000, .otherwise = "0" },
	{ .name = "placement", .kind = JSON_TEXT, .check = check_placement, .otherwise = "auto" },
	{ .name = "service", .kind = JSON_TEXT, .check = check_service, .otherwise = "raw" },
	{ .name = "max_call", .kind = JSON_NUMBER, .min = 4096, .max = 266240,
	  .unit = 4096, .otherwise = "266240" },
	{ .name = "allow_any", .kind = JSON_BOOL },	/* config_allow_any() */
	{ .name = "enable", .kind = JSON_BOOL },
	{ .name = "name", .kind = JSON_TEXT, .required = true, .check = check_name },
	{ .name = "allowed_clients", .kind = JSON_LIST, .check = check_id },
	{ .name = "read_only_clients", .kind = JSON_LIST, .check = check_id },
};

static const struct json_key port_schema[] = {
	{ .name = "addr", .kind = JSON_TEXT, .check = check_addr },
	{ .name = "port", .kind = JSON_NUMBER, .min = 1, .max = UINT16_MAX,
	  .otherwise = "20049" },
	{ .name = "enable", .kind = JSON_BOOL },
	{ .name = "id", .kind = JSON_NUMBER, .required = true, .min = 1, .max = UINT16_MAX },
	{ .name = "namespaces", .kind = JSON_LIST, .check = check_name },
};

static const struct config_link no_links[] = { { NULL, NULL } };

static const struct config_link namespace_links[] = {
	{ "allowed_clients", "clients" }, { "read_only_clients", "clients" }, { NULL, NULL }
};

static const struct config_link port_links[] = { { "namespaces", "namespaces" }, { NULL, NULL } };

const struct config_kind config_kinds[CONFIG_KINDS] = {
	[CONFIG_CLIENTS] = { "clients", "id", "client", client_schema, COUNT(client_schema), 4,
			     no_links, false },
	[CONFIG_NAMESPACES] = { "namespaces", "name", "namespace", namespace_schema,
				COUNT(namespace_schema), 10, namespace_links, true },
	[CONFIG_PORTS] = { "ports", "id", "port", port_schema, COUNT(port_schema), 2, port_links,
			   true },
};

/* By the names that /dev/pmof-control takes. */
static const struct json_key connection_schema[] = {
	{ .name = "addr", .kind = JSON_TEXT, .required = true, .check = check_addr },
	{ .name = "name", .kind = JSON_TEXT, .required = true, .check = check_name },
	{ .name = "port", .kind = JSON_NUMBER, .min = 1, .max = UINT16_MAX },
	{ .name = "id", .kind = JSON_TEXT, .check = check_id },
	{ .name = "queues", .kind = JSON_NUMBER, .min = 1, .max = 128 },
	{ .name = "depth", .kind = JSON_NUMBER, .min = 4, .max = 1024 },
	{ .name = "max_call", .kind = JSON_NUMBER, .min = 4096, .max = 266240,
	  .unit = 4096 },
	{ .name = "persist", .kind = JSON_TEXT, .check = check_persist },
	{ .name = "read_only", .kind = JSON_BOOL },
	{ .name = "block", .kind = JSON_BOOL },
	{ .name = "cache", .kind = JSON_TEXT, .check = check_cache },
	{ .name = "block_size", .kind = JSON_NUMBER, .min = 512, .max = 4096 },
	{ .name = "poll_queues", .kind = JSON_NUMBER, .min = 0, .max = 127 },
	{ .name = "keep_alive_tmo", .kind = JSON_NUMBER, .min = 0, .max = 3600 },
	{ .name = "reconnect_delay", .kind = JSON_NUMBER, .min = 1, .max = 3600 },
	{ .name = "fail_io_timeout", .kind = JSON_NUMBER, .min = -1, .max = 86400 },
	{ .name = "device_loss_timeout", .kind = JSON_NUMBER, .min = -1, .max = 86400 },
	{ .name = "key_file", .kind = JSON_TEXT, .check = check_path },
	{ .name = "exclusive", .kind = JSON_BOOL },
	{ .name = "takeover", .kind = JSON_BOOL },
};

/* --- what entries say together ----------------------------------------------- */

/* Two entries of a list with the same text at @key. */
static bool check_unique(struct json_object *o, const char *list, const char *key, char *why)
{
	struct json_object *l = json_list(o, list);
	char a[24], b[24];
	const char *x, *y;
	size_t i, j;

	for (i = 0; i < json_length(l); i++) {
		x = json_plain(json_object_array_get_idx(l, i), key, a, sizeof(a));
		for (j = 0; x && j < i; j++) {
			y = json_plain(json_object_array_get_idx(l, j), key, b, sizeof(b));
			if (!y || strcmp(x, y) != 0)
				continue;
			snprintf(why, WHY_MAX, "%s, entries %zu and %zu have the same %s '%s'",
				 list, j + 1, i + 1, key, x);
			return false;
		}
	}
	return true;
}

static struct addr addr_of(struct json_object *port)
{
	struct addr addr = { .port = (uint16_t)json_number(port, "port", 20049) };

	snprintf(addr.host, sizeof(addr.host), "%s", json_text(port, "addr", ""));
	return addr;
}

typedef bool same_entry(struct json_object *a, struct json_object *b);

/* Are two of a list's enabled entries the @same?  Their numbers, from 1, in @twin. */
static bool has_twins(struct json_object *list, same_entry *same, size_t twin[2])
{
	struct json_object *p, *q;
	size_t i, j;

	for (i = 0; i < json_length(list); i++) {
		p = json_object_array_get_idx(list, i);
		for (j = 0; json_flag(p, "enable", true) && j < i; j++) {
			q = json_object_array_get_idx(list, j);
			if (!json_flag(q, "enable", true) || !same(p, q))
				continue;
			twin[0] = j + 1;
			twin[1] = i + 1;
			return true;
		}
	}
	return false;
}

static bool same_listen(struct json_object *a, struct json_object *b)
{
	struct addr x = addr_of(a), y = addr_of(b);

	return x.port == y.port && same_host(x.host, y.host);
}

/* Of two ports the kernel lets one listen. What is not enabled does not. */
static bool check_listen(struct json_object *o, char *why)
{
	struct json_object *l = json_list(o, "ports");
	char text[ADDR_TEXT_MAX];
	struct addr addr;
	size_t twin[2];

	if (!has_twins(l, same_listen, twin))
		return true;
	addr = addr_of(json_object_array_get_idx(l, twin[1] - 1));
	snprintf(why, WHY_MAX, "ports, entries %zu and %zu listen on one address, %s", twin[0],
		 twin[1], format_addr(&addr, text, sizeof(text)));
	return false;
}

static bool same_device(struct json_object *a, struct json_object *b)
{
	return !strcmp(json_text(a, "device_path", ""), json_text(b, "device_path", ""));
}

/* A device serves one namespace. */
static bool check_devices(struct json_object *o, char *why)
{
	struct json_object *l = json_list(o, "namespaces");
	size_t twin[2];

	if (!has_twins(l, same_device, twin))
		return true;
	snprintf(why, WHY_MAX, "namespaces, entries %zu and %zu have one device, %s", twin[0],
		 twin[1],
		 json_text(json_object_array_get_idx(l, twin[1] - 1), "device_path", ""));
	return false;
}

/* What is enabled needs a @key. */
static bool check_enabled(struct json_object *o, const char *list, const char *key, char *why)
{
	struct json_object *l = json_list(o, list), *e;
	size_t i;

	for (i = 0; i < json_length(l); i++) {
		e = json_object_array_get_idx(l, i);
		if (!json_flag(e, "enable", true) || json_text(e, key, NULL))
			continue;
		snprintf(why, WHY_MAX, "%s, entry %zu: enabled, and %s is missing", list, i + 1,
			 key);
		return false;
	}
	return true;
}

static bool has_entry(struct json_object *o, const struct config_kind *kind, const char *name)
{
	struct json_object *l = json_list(o, kind->list);
	size_t i;

	for (i = 0; i < json_length(l); i++)
		if (!strcmp(json_text(json_object_array_get_idx(l, i), kind->id, ""), name))
			return true;
	return false;
}

static const struct config_kind *find_kind(const char *list)
{
	const struct config_kind *kind = config_kinds;

	while (strcmp(kind->list, list) != 0)
		kind++;
	return kind;
}

/* Links of one entry. */
static bool check_link(struct json_object *o, struct json_object *entry,
		       const struct config_link *link, const char *where, char *why)
{
	struct json_object *links = json_list(entry, link->key);
	const char *name;
	size_t i;

	for (i = 0; i < json_length(links); i++) {
		name = json_object_get_string(json_object_array_get_idx(links, i));
		if (has_entry(o, find_kind(link->target), name))
			continue;
		snprintf(why, WHY_MAX, "%s: there is no %s '%s'", where,
			 find_kind(link->target)->what, name);
		return false;
	}
	return true;
}

static bool check_links(struct json_object *o, const struct config_kind *kind, char *why)
{
	struct json_object *l = json_list(o, kind->list);
	const struct config_link *link;
	char where[64];
	size_t i;

	for (i = 0; i < json_length(l); i++) {
		snprintf(where, sizeof(where), "%s, entry %zu", kind->list, i + 1);
		for (link = kind->link; link->key; link++)
			if (!check_link(o, json_object_array_get_idx(l, i), link, where, why))
				return false;
	}
	return true;
}

bool config_allow_any(struct json_object *ns)
{
	return json_flag(ns, "allow_any", !json_list(ns, "allowed_clients") &&
			 !json_list(ns, "read_only_clients"));
}

/* Either anybody or who is in a list; a client has one right to a namespace, or none. */
static bool check_lists(struct json_object *ns, const char *where, char *why)
{
	struct json_object *writers = json_list(ns, "allowed_clients");
	struct json_object *readers = json_list(ns, "read_only_clients");
	const char *id;
	size_t i;

	if (json_flag(ns, "allow_any", false) && (json_length(writers) || json_length(readers))) {
		snprintf(why, WHY_MAX, "%s: allow_any is true, and there is a list of clients",
			 where);
		return false;
	}
	for (i = 0; i < json_length(writers); i++) {
		id = json_object_get_string(json_object_array_get_idx(writers, i));
		if (!json_has_text(readers, id))
			continue;
		snprintf(why, WHY_MAX, "%s: client '%s' is in both lists", where, id);
		return false;
	}
	return true;
}

static bool check_rights(struct json_object *o, char *why)
{
	struct json_object *l = json_list(o, "namespaces");
	char where[64];
	size_t i;

	for (i = 0; i < json_length(l); i++) {
		snprintf(where, sizeof(where), "namespaces, entry %zu", i + 1);
		if (!check_lists(json_object_array_get_idx(l, i), where, why))
			return false;
	}
	return true;
}

static bool is_list(const char *name)
{
	size_t k;

	for (k = 0; k < CONFIG_KINDS; k++)
		if (!strcmp(name, config_kinds[k].list))
			return true;
	return false;
}

/* The root: the lists are no business of its own schema. */
static bool check_root(struct json_object *o, char *why)
{
	struct json_object *bare = json_object_new_object();
	bool ok = bare != NULL;

	json_object_object_foreach(o, name, value) {
		if (ok && !is_list(name))
			ok = !json_object_object_add(bare, name, json_object_get(value));
	}
	if (!ok)
		snprintf(why, WHY_MAX, "out of memory");
	ok = ok && json_check(bare, root_schema, COUNT(root_schema), "", why);
	json_object_put(bare);
	return ok;
}

bool config_check_server(struct json_object *o, char *why)
{
	const struct config_kind *kind;
	size_t k;

	if (!check_root(o, why))
		return false;
	for (k = 0; k < CONFIG_KINDS; k++) {
		kind = &config_kinds[k];
		if (!json_check_list(o, kind->list, kind->key, kind->nr, why) ||
		    !check_unique(o, kind->list, kind->id, why))
			return false;
	}
	for (k = 0; k < CONFIG_KINDS; k++)
		if (!check_links(o, &config_kinds[k], why))
			return false;
	return check_rights(o, why) && check_enabled(o, "namespaces", "device_path", why) &&
	       check_enabled(o, "ports", "addr", why) && check_devices(o, why) && check_listen(o, why);
}

static struct json_object *keep_if(struct json_object *o, bool ok)
{
	if (ok)
		return o;
	json_object_put(o);
	errno = EINVAL;
	return NULL;
}

struct json_object *config_read_server(const char *path, char *why)
{
	struct json_object *o = json_read(path, why);

	return o ? keep_if(o, config_check_server(o, why)) : NULL;
}

bool config_check_connection(struct json_object *o, char *why)
{
	bool block = json_flag(o, "block", true);
	int64_t size = json_number(o, "block_size", 512);

	*why = '\0';
	if (!json_check(o, connection_schema, COUNT(connection_schema), "", why))
		return false;
	if (size != 512 && size != 4096)
		snprintf(why, WHY_MAX, "block_size is neither 512 nor 4096");
	else if (!block && (json_text(o, "cache", NULL) || json_number(o, "poll_queues", 0)))
		snprintf(why, WHY_MAX, "cache and poll_queues are the block device's");
	else if (json_flag(o, "read_only", false) &&
		 (json_flag(o, "exclusive", false) || json_flag(o, "takeover", false)))
		snprintf(why, WHY_MAX, "exclusive and takeover are for who writes: not with read_only");
	else if (json_number(o, "queues", 0) + json_number(o, "poll_queues", 0) > 128)
		snprintf(why, WHY_MAX, "queues and poll_queues: together at most 128");
	return !*why;
}

struct json_object *config_read_connection(const char *path, char *why)
{
	struct json_object *o = json_read(path, why);

	return o ? keep_if(o, config_check_connection(o, why)) : NULL;
}
