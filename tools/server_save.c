// SPDX-License-Identifier: BSD-3-Clause
/* pmof server save: what stands in configfs, as a file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config.h"
#include "output.h"
#include "server.h"

/* Adds an attribute; an empty text is one that was never set. */
static int put_cfg_value(struct json_object *o, const struct json_key *key, const char *dir)
{
	char text[CFG_VALUE_MAX];
	int ret = cfg_read(text, "%s/%s", dir, key->name);

	if (ret) {
		explain(NULL, ret, "cannot read %s/%s", dir, key->name);
		return ret;
	}
	if (key->kind == JSON_BOOL)
		put_bool(o, key->name, !strcmp(text, "1"));
	else if (key->kind == JSON_NUMBER)
		put_u64(o, key->name, strtoull(text, NULL, 10));
	else if (*text)
		put_text(o, key->name, text);
	return 0;
}

static int put_cfg_values(struct json_object *o, const struct config_keys *keys, const char *dir)
{
	static const struct json_key enable = { .name = "enable", .kind = JSON_BOOL };
	int ret = 0;
	size_t i;

	for (i = 0; i < keys->nr && !ret; i++)
		ret = put_cfg_value(o, &keys->key[i], dir);
	return ret ? ret : put_cfg_value(o, &enable, dir);
}

static int save_namespaces(struct json_object *list)
{
	char dir[CFG_PATH_MAX];
	struct cfg_names names;
	struct json_object *o;
	int i, ret;

	ret = cfg_names(&names, CFG_PMOF "/namespaces");
	for (i = 0; i < names.nr && !ret; i++) {
		o = new_object();
		put_text(o, "name", names.name[i]);
		push_object(list, o);
		snprintf(dir, sizeof(dir), "namespaces/%s", names.name[i]);
		ret = put_cfg_values(o, &namespace_keys, dir);
	}
	cfg_names_free(&names);
	return ret;
}

static int save_ports(struct json_object *list)
{
	char dir[CFG_PATH_MAX];
	struct json_object *o;
	unsigned int *ids;
	int i, n, ret = 0;

	n = server_ports(&ids);
	for (i = 0; i < n && !ret; i++) {
		o = new_object();
		put_u64(o, "id", ids[i]);
		push_object(list, o);
		snprintf(dir, sizeof(dir), "ports/%u", ids[i]);
		ret = put_cfg_values(o, &port_keys, dir);
		put_object(o, "namespaces", server_links(ids[i]));
	}
	free(ids);
	return n < 0 ? n : ret;
}

/* The directory of the default file is ours to make. */
static int save_to(const char *path, struct json_object *o)
{
	int ret;

	if (!strcmp(path, CONFIG_DIR "/" CONFIG_SERVER) && mkdir(CONFIG_DIR, 0755) &&
	    errno != EEXIST)
		ret = -errno;
	else
		ret = config_write(path, o);
	if (ret)
		explain(NULL, ret, "cannot write %s", path);
	return ret;
}

static int save(const char *path)
{
	struct json_object *o = new_object(), *namespaces = new_array(), *ports = new_array();
	int ret;

	put_u64(o, "version", CONFIG_VERSION);
	put_object(o, "namespaces", namespaces);
	put_object(o, "ports", ports);
	ret = save_namespaces(namespaces);
	if (!ret)
		ret = save_ports(ports);
	if (!ret && !strcmp(path, "-"))
		print_json(o, false);
	else if (!ret)
		ret = save_to(path, o);
	json_object_put(o);
	return ret;
}

static error_t parse_save(int key, char *arg, struct argp_state *state)
{
	const char **path = state->input;

	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (state->arg_num)
		argp_usage(state);
	*path = arg;
	return 0;
}

int cmd_server_save(int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse_save,
		.args_doc = "[FILE]",
		.doc = "Keeps what is exported, and where the server listens, in FILE (default "
		       CONFIG_DIR "/" CONFIG_SERVER "; -: standard output), which is replaced "
		       "as a whole or not at all.",
	};
	const char *path = CONFIG_DIR "/" CONFIG_SERVER;

	argp_parse(&argp, argc, argv, 0, NULL, &path);
	if (!cfg_present()) {
		complain("the module pmof-server is not loaded: there is nothing to save");
		return EXIT_FAILED;
	}
	return save(path) ? EXIT_FAILED : EXIT_OK;
}
