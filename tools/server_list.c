// SPDX-License-Identifier: BSD-3-Clause
/* pmof server list. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "server.h"

enum kind { TEXT, NUMBER, BOOL };

struct attr {
	const char *name;
	enum kind kind;
};

static const struct attr namespace_attrs[] = {
	{ "device_path", TEXT }, { "enable", BOOL }, { "size", NUMBER },
	{ "generation", TEXT }, { "read_only", BOOL }, { "allow_volatile", BOOL },
	{ "domain", TEXT }, { "placement", TEXT }, { "durable", BOOL }, { "sessions", NUMBER },
};

static const struct attr port_attrs[] = {
	{ "addr", TEXT }, { "port", NUMBER }, { "enable", BOOL },
};

static const struct attr session_attrs[] = {
	{ "client_id", TEXT }, { "namespace", TEXT }, { "session_id", TEXT }, { "peer", TEXT },
	{ "queues", NUMBER },
};

static void put_attr(struct json_object *o, const struct attr *attr, const char *text)
{
	if (attr->kind == TEXT)
		put_text(o, attr->name, text);
	else if (attr->kind == BOOL)
		put_bool(o, attr->name, !strcmp(text, "1"));
	else
		put_u64(o, attr->name, strtoull(text, NULL, 10));
}

static void put_cfg_attrs(struct json_object *o, const char *dir, const struct attr *attrs,
			  size_t nr)
{
	char text[CFG_VALUE_MAX];
	size_t i;

	for (i = 0; i < nr; i++)
		if (!cfg_read(text, "%s/%s", dir, attrs[i].name))
			put_attr(o, &attrs[i], text);
}

static struct json_object *list_namespaces(void)
{
	struct json_object *list = new_array(), *o;
	struct cfg_names names;
	char dir[CFG_PATH_MAX];
	int i;

	cfg_names(&names, CFG_PMOF "/namespaces");
	for (i = 0; i < names.nr; i++) {
		snprintf(dir, sizeof(dir), "namespaces/%s", names.name[i]);
		o = new_object();
		put_text(o, "name", names.name[i]);
		put_cfg_attrs(o, dir, namespace_attrs, ARRAY_SIZE(namespace_attrs));
		push_object(list, o);
	}
	cfg_names_free(&names);
	return list;
}

static struct json_object *list_links(unsigned int id)
{
	struct json_object *list = new_array();
	char path[CFG_PATH_MAX];
	struct cfg_names names;
	int i;

	snprintf(path, sizeof(path), CFG_PMOF "/ports/%u/namespaces", id);
	cfg_names(&names, path);
	for (i = 0; i < names.nr; i++)
		push_object(list, json_object_new_string(names.name[i]));
	cfg_names_free(&names);
	return list;
}

static struct json_object *list_ports(void)
{
	struct json_object *list = new_array(), *o;
	char dir[CFG_PATH_MAX];
	unsigned int *ids;
	int i, n;

	n = server_ports(&ids);
	for (i = 0; i < n; i++) {
		snprintf(dir, sizeof(dir), "ports/%u", ids[i]);
		o = new_object();
		put_u64(o, "id", ids[i]);
		put_cfg_attrs(o, dir, port_attrs, ARRAY_SIZE(port_attrs));
		put_object(o, "namespaces", list_links(ids[i]));
		push_object(list, o);
	}
	free(ids);
	return list;
}

static bool read_session_attr(const char *session, const char *attr, char *buf, size_t size)
{
	char path[CFG_PATH_MAX];
	bool ok;
	FILE *f;

	snprintf(path, sizeof(path), SESSION_CLASS "/%s/%s", session, attr);
	f = fopen(path, "re");
	if (!f)
		return false;
	ok = fgets(buf, (int)size, f);
	fclose(f);
	if (ok)
		buf[strcspn(buf, "\n")] = '\0';
	return ok;
}

static struct json_object *list_sessions(void)
{
	struct json_object *list = new_array(), *o;
	char text[CFG_VALUE_MAX];
	struct cfg_names names;
	size_t a;
	int i;

	cfg_names(&names, SESSION_CLASS);
	for (i = 0; i < names.nr; i++) {
		o = new_object();
		put_text(o, "session", names.name[i]);
		for (a = 0; a < ARRAY_SIZE(session_attrs); a++)
			if (read_session_attr(names.name[i], session_attrs[a].name, text,
					      sizeof(text)))
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
	{ "PLACEMENT", "placement", COL_TEXT }, { "DURABLE", "durable", COL_BOOL },
	{ "SESSIONS", "sessions", COL_NUMBER },
};

static const struct column port_columns[] = {
	{ "PORT", "id", COL_NUMBER }, { "ADDRESS", "addr", COL_TEXT },
	{ "SERVICE", "port", COL_NUMBER }, { "LISTENS", "enable", COL_BOOL },
	{ "NAMESPACES", "namespaces", COL_TEXT },
};

static const struct column session_columns[] = {
	{ "SESSION", "session", COL_TEXT }, { "CLIENT", "client_id", COL_TEXT },
	{ "PEER", "peer", COL_TEXT }, { "QUEUES", "queues", COL_NUMBER },
	{ "NAMESPACE", "namespace", COL_TEXT },
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

static error_t parse_list(int key, char *arg, struct argp_state *state)
{
	bool *json = state->input;

	(void)arg;
	switch (key) {
	case OPT_JSON:
		*json = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cmd_server_list(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ "json", OPT_JSON, NULL, 0, "Print JSON", 0 },
		{ 0 }
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse_list,
		.doc = "Lists the exported namespaces, the ports and the sessions.",
	};
	struct json_object *all;
	bool json = false;

	argp_parse(&argp, argc, argv, 0, NULL, &json);
	all = new_object();
	put_object(all, "namespaces", list_namespaces());
	put_object(all, "ports", list_ports());
	put_object(all, "sessions", list_sessions());
	if (json) {
		print_json(all, false);
	} else {
		print_part(all, "namespaces", "no namespaces", namespace_columns,
			   ARRAY_SIZE(namespace_columns));
		puts("");
		print_part(all, "ports", "no ports", port_columns, ARRAY_SIZE(port_columns));
		puts("");
		print_part(all, "sessions", "no sessions", session_columns,
			   ARRAY_SIZE(session_columns));
	}
	json_object_put(all);
	return EXIT_OK;
}
