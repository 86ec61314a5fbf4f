// SPDX-License-Identifier: BSD-3-Clause
/* pmof server list. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "server.h"

static const struct attr namespace_attrs[] = {
	{ "device_path", ATTR_TEXT }, { "enable", ATTR_BOOL }, { "size", ATTR_NUMBER },
	{ "generation", ATTR_TEXT }, { "read_only", ATTR_BOOL }, { "allow_volatile", ATTR_BOOL },
	{ "domain", ATTR_TEXT }, { "placement", ATTR_TEXT }, { "deep_flush", ATTR_BOOL },
	{ "durable", ATTR_BOOL }, { "sessions", ATTR_NUMBER }, { "allow_any", ATTR_BOOL },
	{ "bad_sectors", ATTR_NUMBER }, { "service", ATTR_TEXT },
	{ "max_call", ATTR_NUMBER },
	{ "emulate_latency_ns", ATTR_NUMBER }, { "emulate_write_mbps", ATTR_NUMBER },
};

static const struct attr client_attrs[] = {
	{ "has_key", ATTR_BOOL },
	{ "sessions", ATTR_NUMBER }, { "max_sessions", ATTR_NUMBER },
	{ "queues", ATTR_NUMBER }, { "max_queues", ATTR_NUMBER },
	{ "segments", ATTR_NUMBER }, { "max_segments", ATTR_NUMBER },
	{ "memory", ATTR_NUMBER }, { "max_memory", ATTR_NUMBER },
};

static const struct attr port_attrs[] = {
	{ "addr", ATTR_TEXT }, { "port", ATTR_NUMBER }, { "enable", ATTR_BOOL },
	{ "listens", ATTR_BOOL },
};

static const struct attr session_attrs[] = {
	{ "client_id", ATTR_TEXT }, { "namespace", ATTR_TEXT }, { "session_id", ATTR_TEXT },
	{ "peer", ATTR_TEXT }, { "queues", ATTR_NUMBER }, { "placement", ATTR_TEXT },
	{ "rights", ATTR_TEXT }, { "authenticated", ATTR_BOOL }, { "exclusive", ATTR_BOOL },
	{ "state", ATTR_TEXT },
};

static const struct reason list_reasons[] = {
	REASONS_NOT_ROOT,
	{ 0 }
};

/* The first one is told: more would be the same. */
static void note_error(int *error, int ret, const char *path)
{
	if (!*error)
		explain(list_reasons, ret, "cannot read %s", path);
	*error = *error ? *error : ret;
}

/* What has just gone is empty, and no error. */
static void get_names(struct cfg_names *names, const char *path, int *error)
{
	int ret = cfg_names(names, path);

	if (ret)
		note_error(error, ret, path);
}

/* None that this version of the module does not have. */
static void put_cfg_attrs(struct json_object *o, const char *dir, const struct attr *attrs,
			  size_t nr, int *error)
{
	char text[CFG_VALUE_MAX], path[CFG_PATH_MAX];
	size_t i;
	int ret;

	for (i = 0; i < nr; i++) {
		ret = cfg_read(text, "%s/%s", dir, attrs[i].name);
		if (!ret) {
			put_attr(o, &attrs[i], text);
		} else if (ret != -ENOENT) {
			snprintf(path, sizeof(path), CFG_PMOF "/%s/%s", dir, attrs[i].name);
			note_error(error, ret, path);
		}
	}
}

/* "PORT DEVICE PLACEMENT HOW WHY..."; NULL if it is not that. */
static struct json_object *parse_placement(const char *line)
{
	char device[64], placement[16], how[16];
	struct json_object *o;
	unsigned int port;
	int why = 0;

	if (sscanf(line, "%u %63s %15s %15s %n", &port, device, placement, how, &why) != 4)
		return NULL;
	o = new_object();
	put_u64(o, "port", port);
	put_text(o, "device", device);
	put_text(o, "placement", placement);
	put_bool(o, "placement_asserted", !strcmp(how, "asserted"));
	put_text(o, "how", how);
	put_text(o, "why", why ? line + why : "");
	return o;
}

/* Of each port that serves the namespace: where its HCA's writes land. */
static struct json_object *list_placements(const char *name, int *error)
{
	struct json_object *list = new_array(), *o;
	char path[CFG_PATH_MAX], *line = NULL;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), CFG_PMOF "/namespaces/%s/placements", name);
	f = fopen(path, "re");
	if (!f && errno != ENOENT)
		note_error(error, -errno, path);
	errno = 0;
	while (f && getline(&line, &size, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		o = parse_placement(line);
		if (o)
			push_object(list, o);
	}
	if (f && ferror(f) && errno != ENOENT && errno != ENODEV)
		note_error(error, -errno, path);
	free(line);
	if (f)
		fclose(f);
	return list;
}

/* "ID" or "ID:ro" of each client in the namespace's lists. */
static struct json_object *list_allowed(const char *name, int *error)
{
	struct json_object *list = new_array();
	char path[CFG_PATH_MAX], text[CELL_MAX];
	struct cfg_names names;
	int i, read_only;

	for (read_only = 0; read_only < 2; read_only++) {
		snprintf(path, sizeof(path), CFG_PMOF "/namespaces/%s/%s", name,
			 CFG_ALLOWED(read_only));
		get_names(&names, path, error);
		for (i = 0; i < names.nr; i++) {
			snprintf(text, sizeof(text), "%s%s", names.name[i],
				 read_only ? ":ro" : "");
			push_object(list, json_object_new_string(text));
		}
		cfg_names_free(&names);
	}
	return list;
}

static struct json_object *list_clients(int *error)
{
	struct json_object *list = new_array(), *o;
	struct cfg_names names;
	char dir[CFG_PATH_MAX];
	int i;

	get_names(&names, CFG_PMOF "/clients", error);
	for (i = 0; i < names.nr; i++) {
		snprintf(dir, sizeof(dir), "clients/%s", names.name[i]);
		o = new_object();
		put_text(o, "id", names.name[i]);
		put_cfg_attrs(o, dir, client_attrs, ARRAY_SIZE(client_attrs), error);
		push_object(list, o);
	}
	cfg_names_free(&names);
	return list;
}

static void put_emulated(struct json_object *o)
{
	put_bool(o, "emulated",
		 json_object_get_int64(json_object_object_get(o, "emulate_latency_ns")) ||
		 json_object_get_int64(json_object_object_get(o, "emulate_write_mbps")));
}

static struct json_object *list_namespaces(int *error)
{
	struct json_object *list = new_array(), *o;
	struct cfg_names names;
	char dir[CFG_PATH_MAX];
	int i;

	get_names(&names, CFG_PMOF "/namespaces", error);
	for (i = 0; i < names.nr; i++) {
		snprintf(dir, sizeof(dir), "namespaces/%s", names.name[i]);
		o = new_object();
		put_text(o, "name", names.name[i]);
		put_cfg_attrs(o, dir, namespace_attrs, ARRAY_SIZE(namespace_attrs), error);
		put_emulated(o);
		put_object(o, "placements", list_placements(names.name[i], error));
		put_object(o, "allowed", list_allowed(names.name[i], error));
		push_object(list, o);
	}
	cfg_names_free(&names);
	return list;
}

static struct json_object *list_links(unsigned int id, int *error)
{
	struct json_object *list = new_array();
	char path[CFG_PATH_MAX];
	struct cfg_names names;
	int i;

	snprintf(path, sizeof(path), CFG_PMOF "/ports/%u/namespaces", id);
	get_names(&names, path, error);
	for (i = 0; i < names.nr; i++)
		push_object(list, json_object_new_string(names.name[i]));
	cfg_names_free(&names);
	return list;
}

static struct json_object *list_ports(int *error)
{
	struct json_object *list = new_array(), *o;
	char dir[CFG_PATH_MAX];
	unsigned int *ids;
	int i, n;

	n = server_ports(&ids);
	if (n < 0)
		note_error(error, n, CFG_PMOF "/ports");
	for (i = 0; i < n; i++) {
		snprintf(dir, sizeof(dir), "ports/%u", ids[i]);
		o = new_object();
		put_u64(o, "id", ids[i]);
		put_cfg_attrs(o, dir, port_attrs, ARRAY_SIZE(port_attrs), error);
		put_object(o, "namespaces", list_links(ids[i], error));
		push_object(list, o);
	}
	free(ids);
	return list;
}

static struct json_object *list_sessions(int *error)
{
	struct json_object *list = new_array(), *o;
	char text[CFG_VALUE_MAX];
	struct cfg_names names;
	size_t a;
	int i;

	get_names(&names, SESSION_CLASS, error);
	for (i = 0; i < names.nr; i++) {
		o = new_object();
		put_text(o, "session", names.name[i]);
		for (a = 0; a < ARRAY_SIZE(session_attrs); a++)
			if (read_line(text, sizeof(text), SESSION_CLASS "/%s/%s", names.name[i],
				      session_attrs[a].name))
				put_attr(o, &session_attrs[a], text);
		push_object(list, o);
	}
	cfg_names_free(&names);
	return list;
}

static const struct column namespace_columns[] = {
	{ "NAMESPACE", "name", COL_TEXT }, { "DEVICE", "device_path", COL_TEXT },
	{ "ENABLED", "enable", COL_BOOL }, { "SIZE", "size", COL_SIZE },
	{ "READ-ONLY", "read_only", COL_BOOL }, { "DOMAIN", "domain", COL_TEXT },
	{ "PLACEMENT", "placement_text", COL_TEXT }, { "DURABLE", "durable_text", COL_TEXT },
	{ "SESSIONS", "sessions", COL_NUMBER }, { "CLIENTS", "clients_text", COL_TEXT },
	{ "BAD", "bad_sectors", COL_NUMBER },
};

static const struct column client_columns[] = {
	{ "CLIENT", "id", COL_TEXT }, { "KEY", "has_key", COL_BOOL },
	{ "SESSIONS", "sessions", COL_NUMBER }, { "MAX", "max_sessions", COL_NUMBER },
	{ "QUEUES", "queues", COL_NUMBER }, { "MAX", "max_queues", COL_NUMBER },
	{ "SEGMENTS", "segments", COL_NUMBER }, { "MAX", "max_segments", COL_NUMBER },
	{ "MEMORY", "memory", COL_SIZE }, { "MAX", "max_memory", COL_SIZE },
};

static const struct column port_columns[] = {
	{ "PORT", "id", COL_NUMBER }, { "ADDRESS", "addr", COL_TEXT },
	{ "SERVICE", "port", COL_NUMBER }, { "LISTENS", "listens", COL_BOOL },
	{ "NAMESPACES", "namespaces", COL_TEXT },
};

static const struct column session_columns[] = {
	{ "SESSION", "session", COL_TEXT }, { "CLIENT", "client_id", COL_TEXT },
	{ "PEER", "peer", COL_TEXT }, { "QUEUES", "queues", COL_NUMBER },
	{ "NAMESPACE", "namespace", COL_TEXT }, { "RIGHTS", "rights", COL_TEXT },
	{ "KEY", "authenticated", COL_BOOL }, { "EXCLUSIVE", "exclusive", COL_BOOL },
	{ "STATE", "state", COL_TEXT },
};

static void print_part(struct json_object *all, const char *key, const char *none,
		       const struct column *columns, size_t nr)
{
	struct json_object *list = json_object_object_get(all, key);

	if (json_object_array_length(list))
		print_table(list, columns, nr);
	else
		puts(none);
}

/* By port: "1:cache 2:memory (ASSERTED)", in place of what was asked for. */
static void put_placements_text(struct json_object *o)
{
	struct json_object *list = json_object_object_get(o, "placements"), *p;
	struct json_object *texts = new_array();
	size_t i, n = json_object_array_length(list);
	char text[CELL_MAX];

	for (i = 0; i < n; i++) {
		p = json_object_array_get_idx(list, i);
		put_promises(p);
		snprintf(text, sizeof(text), "%s:%s",
			 json_object_get_string(json_object_object_get(p, "port")),
			 json_object_get_string(json_object_object_get(p, "placement_text")));
		push_object(texts, json_object_new_string(text));
	}
	put_object(o, "placement_text", texts);
}

/* Who may come: "any", the list, or "none". */
static void put_clients_text(struct json_object *o)
{
	struct json_object *allowed = json_object_object_get(o, "allowed");

	if (json_object_array_length(allowed))
		put_object(o, "clients_text", json_object_get(allowed));
	else
		put_text(o, "clients_text",
			 json_object_get_boolean(json_object_object_get(o, "allow_any")) ?
			 "any" : "none");
}

/* A namespace that is not enabled promises nothing yet. */
static void put_namespace_texts(struct json_object *all)
{
	struct json_object *list = json_object_object_get(all, "namespaces"), *o;
	size_t i, n = json_object_array_length(list);

	for (i = 0; i < n; i++) {
		o = json_object_array_get_idx(list, i);
		put_clients_text(o);
		if (json_object_get_boolean(json_object_object_get(o, "enable"))) {
			put_promises(o);
			put_placements_text(o);
		}
	}
}

static void warn_namespaces(struct json_object *all)
{
	struct json_object *list = json_object_object_get(all, "namespaces"), *o;
	size_t i, n = json_object_array_length(list);

	for (i = 0; i < n; i++) {
		o = json_object_array_get_idx(list, i);
		if (json_object_object_get(o, "durable_text"))
			warn_not_durable(o, json_object_get_string(
					 json_object_object_get(o, "name")));
		note_emulated(o, json_object_get_string(json_object_object_get(o, "name")));
	}
}

static void print_all(struct json_object *all)
{
	put_namespace_texts(all);
	print_part(all, "namespaces", "no namespaces", namespace_columns,
		   ARRAY_SIZE(namespace_columns));
	puts("");
	print_part(all, "ports", "no ports", port_columns, ARRAY_SIZE(port_columns));
	puts("");
	if (json_object_array_length(json_object_object_get(all, "clients"))) {
		print_part(all, "clients", "", client_columns, ARRAY_SIZE(client_columns));
		puts("");
	}
	print_part(all, "sessions", "no sessions", session_columns, ARRAY_SIZE(session_columns));
	warn_namespaces(all);
}

int cmd_server_list(int argc, char **argv)
{
	static const struct argp argp = {
		.options = json_options,
		.parser = parse_json_only,
		.doc = "Lists the exported namespaces, the ports, the clients and the sessions.",
	};
	struct json_object *all;
	bool json = false;
	int error = 0;

	argp_parse(&argp, argc, argv, 0, NULL, &json);
	if (cfg_see())
		return EXIT_FAILED;
	all = new_object();
	put_object(all, "namespaces", list_namespaces(&error));
	put_object(all, "ports", list_ports(&error));
	put_object(all, "clients", list_clients(&error));
	put_object(all, "sessions", list_sessions(&error));
	/* One that lacks something would be taken for the whole. */
	if (!error && json)
		print_json(all, false);
	else if (!error)
		print_all(all);
	json_object_put(all);
	return error ? EXIT_FAILED : EXIT_OK;
}
