// SPDX-License-Identifier: BSD-3-Clause
/* pmof server save: what stands in configfs, as a file. */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "key_file.h"
#include "lock.h"
#include "output.h"
#include "server.h"

/* Adds an attribute, but none that this version of the module does not have, and no empty text. */
static int put_cfg_value(struct json_object *o, const struct json_key *key, const char *dir)
{
	char text[CFG_VALUE_MAX];
	int ret = cfg_read(text, "%s/%s", dir, key->name);

	if (ret && ret != -ENOENT) {
		explain(NULL, ret, "cannot read %s/%s", dir, key->name);
		return ret;
	}
	if (ret)
		return 0;
	if (key->kind == JSON_BOOL)
		put_bool(o, key->name, !strcmp(text, "1"));
	else if (key->kind == JSON_NUMBER)
		put_u64(o, key->name, strtoull(text, NULL, 10));
	else if (*text)
		put_text(o, key->name, text);
	return 0;
}

static int put_links(struct json_object *o, const char *key, const char *dir)
{
	struct json_object *list = new_array();
	char path[CFG_PATH_MAX];
	struct cfg_names names;
	int i, ret;

	snprintf(path, sizeof(path), CFG_PMOF "/%s/%s", dir, key);
	ret = cfg_names(&names, path);
	if (ret)
		explain(NULL, ret, "cannot read %s", path);
	for (i = 0; i < names.nr; i++)
		push_object(list, json_object_new_string(names.name[i]));
	cfg_names_free(&names);
	if (json_object_array_length(list))
		put_object(o, key, list);
	else
		json_object_put(list);
	return ret;
}

/* A key cannot be read back: it has to be in its file. */
static int put_key_file(struct json_object *o, const char *id)
{
	char text[CFG_VALUE_MAX], path[128], key[KEY_TEXT_MAX], why[WHY_MAX];
	int ret = cfg_read(text, "clients/%s/has_key", id);
	bool ok;

	if (ret && ret != -ENOENT) {
		explain(NULL, ret, "cannot read clients/%s/has_key", id);
		return ret;
	}
	if (ret || strcmp(text, "1") != 0)
		return 0;
	snprintf(path, sizeof(path), CONFIG_KEYS "/%s", id);
	ok = !key_file_read(path, true, key, why);
	explicit_bzero(key, sizeof(key));
	if (ok) {
		put_text(o, "key_file", path);
		ret = config_sync(path);
		if (ret)
			explain(NULL, ret, "%s cannot be made durable", path);
		return ret;
	}
	complain("the key of client '%s' cannot be kept: %s", id, why);
	hint("it cannot be read back: `install -D -m 600 KEYFILE %s`", path);
	return -ENOKEY;
}

/*
 * Most likely it is waited for, and its owner does not want it to stay so. Of a port that
 * waits for an interface the kernel has not even the address: nothing of it would be kept.
 */
static int check_disabled(struct json_object *o, const struct config_kind *kind, const char *name)
{
	const char *what = json_text(o, "device_path", json_text(o, "addr", NULL));

	if (!kind->enable || json_flag(o, "enable", true))
		return 0;
	if (!what && kind == &config_kinds[CONFIG_PORTS]) {
		complain("%s '%s' has no address: it cannot be kept", kind->what, name);
		hint("if it is still waited for, save when it is there, else "
		     "`pmof server unlisten %s` first", name);
		return -EDESTADDRREQ;
	}
	if (what) {
		complain("%s '%s' is not enabled, and kept so: a restore leaves %s alone",
			 kind->what, name, what);
		hint("if it is still waited for, save again when it is there");
	}
	return 0;
}

/* A namespace's. A number in /dev is another device's after a reboot, if one more or less is found. */
static void check_device(struct json_object *o, const char *name)
{
	const char *path = json_text(o, "device_path", "");
	char *target = realpath(path, NULL), *to;
	glob_t links;
	size_t i;

	if (target && !strncmp(path, "/dev/pmem", 9) &&
	    !glob("/dev/disk/by-id/pmem-*", 0, NULL, &links)) {
		for (i = 0; i < links.gl_pathc; i++) {
			to = realpath(links.gl_pathv[i], NULL);
			if (to && !strcmp(to, target)) {
				complain("namespace '%s' is kept as that on %s, whatever device "
					 "has that name after a reboot", name, path);
				hint("export it as %s", links.gl_pathv[i]);
			}
			free(to);
		}
		globfree(&links);
	}
	free(target);
}

/* A namespace's. It needs more than its own attribute, which a reboot takes back. */
static void check_placement(struct json_object *o, const char *name)
{
	if (strcmp(json_text(o, "placement", ""), "memory") != 0)
		return;
	complain("namespace '%s' changes registers of the chipset, which the module has to be "
		 "allowed at each load", name);
	hint("have a file in /etc/modprobe.d say `options pmof_server allow_chipset_writes=1`");
}

/* Behind all that was read: what goes meanwhile seems to have no lists, and would be everybody's. */
static int check_there(const struct config_kind *kind, const char *name)
{
	if (cfg_has("%s/%s", kind->list, name))
		return 0;
	complain("%s '%s' was removed meanwhile", kind->what, name);
	hint("nothing was written: save again");
	return -ENOENT;
}

static int save_one(struct json_object *o, const struct config_kind *kind, const char *name)
{
	static const struct json_key enable = { .name = "enable", .kind = JSON_BOOL };
	const struct config_link *link;
	char dir[96];
	int ret = 0;
	size_t i;

	snprintf(dir, sizeof(dir), "%s/%s", kind->list, name);
	if (kind == &config_kinds[CONFIG_PORTS])
		put_u64(o, kind->id, strtoull(name, NULL, 10));
	else
		put_text(o, kind->id, name);
	for (i = 0; i < kind->nr_attrs && !ret; i++)
		ret = put_cfg_value(o, &kind->key[i], dir);
	for (link = kind->link; link->key && !ret; link++)
		ret = put_links(o, link->key, dir);
	if (!ret && kind == &config_kinds[CONFIG_CLIENTS])
		ret = put_key_file(o, name);
	if (!ret && kind->enable)
		ret = put_cfg_value(o, &enable, dir);
	if (!ret)
		ret = check_there(kind, name);
	if (!ret)
		ret = check_disabled(o, kind, name);
	if (!ret)
		check_placement(o, name);
	if (!ret && kind == &config_kinds[CONFIG_NAMESPACES])
		check_device(o, name);
	return ret;
}

static int save_kind(struct json_object *root, const struct config_kind *kind)
{
	struct json_object *list = new_array(), *o;
	char path[CFG_PATH_MAX];
	struct cfg_names names;
	int i, ret;

	put_object(root, kind->list, list);
	snprintf(path, sizeof(path), CFG_PMOF "/%s", kind->list);
	ret = cfg_names(&names, path);
	if (ret)
		explain(NULL, ret, "cannot read %s", path);
	for (i = 0; i < names.nr && !ret; i++) {
		o = new_object();
		push_object(list, o);
		ret = save_one(o, kind, names.name[i]);
	}
	cfg_names_free(&names);
	return ret;
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

/* What was made by hand may be what no file can say. */
static int check(struct json_object *o)
{
	char why[WHY_MAX];

	if (config_check_server(o, why))
		return 0;
	complain("what there is cannot be kept, since a restore would refuse it: %s", why);
	hint("nothing was written");
	return -EINVAL;
}

static int save(const char *path)
{
	struct json_object *o = new_object();
	int ret = 0, lock = strcmp(path, "-") ? lock_save() : -1;
	size_t k;

	if (lock == -EALREADY) {
		explain(NULL, lock, "another command has been saving for long");
		ret = lock;
	}
	put_u64(o, "version", CONFIG_VERSION);
	for (k = 0; k < CONFIG_KINDS && !ret; k++)
		ret = save_kind(o, &config_kinds[k]);
	if (!ret)
		ret = check(o);
	if (!ret && !strcmp(path, "-"))
		print_json(o, false);
	else if (!ret)
		ret = save_to(path, o);
	unlock(lock);
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
	if (cfg_see())
		return EXIT_FAILED;
	if (!cfg_present()) {
		complain("the module pmof-server is not loaded: there is nothing to save");
		return EXIT_FAILED;
	}
	return save(path) ? EXIT_FAILED : EXIT_OK;
}
