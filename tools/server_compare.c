// SPDX-License-Identifier: BSD-3-Clause
/* pmof server restore: what there is, compared with the file. */
#include <stdio.h>
#include <string.h>

#include "configfs.h"
#include "restore.h"

static bool is_enabled(const struct item *t)
{
	char text[CFG_VALUE_MAX];

	return !cfg_read(text, "%s/enable", t->dir) && !strcmp(text, "1");
}

bool is_port(const struct item *t)
{
	return t->kind == &config_kinds[CONFIG_PORTS];
}

static bool is_client(const struct item *t)
{
	return t->kind == &config_kinds[CONFIG_CLIENTS];
}

bool stays(const struct item *t)
{
	return is_client(t) ? cfg_has("%s", t->dir) : is_enabled(t);
}

static void hint_unchanged(const struct item *t)
{
	hint("nothing was changed; `pmof server %s` ends it", is_port(t) ? "unlisten" :
	     is_client(t) ? "client remove" : "unexport");
}

/* Of one list of the file, none may be in the other list here: it would have another right. */
static bool check_list(const struct item *t, const struct config_link *link,
		       const struct config_link *other)
{
	struct json_object *list = json_list(t->o, link->key);
	const char *name;
	size_t i;

	for (i = 0; i < json_length(list); i++) {
		name = json_object_get_string(json_object_array_get_idx(list, i));
		if (!cfg_has("%s/%s/%s", t->dir, other->key, name))
			continue;
		complain("%s is there already, with '%s' in %s, not in %s", t->what, name,
			 other->key, link->key);
		hint("nothing was changed; `pmof server disallow` takes it out");
		return false;
	}
	return true;
}

/* Nor does anybody here have a right that the file does not give, or not any more. */
static bool check_rights(const struct item *t, const char *key)
{
	struct json_object *list = json_list(t->o, key);
	char path[CFG_PATH_MAX];
	struct cfg_names names;
	int i, ret;

	snprintf(path, sizeof(path), CFG_PMOF "/%s/%s", t->dir, key);
	ret = cfg_names(&names, path);
	if (ret)
		explain(NULL, ret, "cannot read %s", path);
	for (i = 0; i < names.nr && !ret; i++) {
		if (json_has_text(list, names.name[i]))
			continue;
		ret = -EEXIST;
		complain("%s is there already, with '%s' in %s, and the file has it in no list",
			 t->what, names.name[i], key);
		hint("nothing was changed; `pmof server disallow` takes it out");
	}
	cfg_names_free(&names);
	return !ret;
}

bool is_settled(const struct item *t, const char *name)
{
	char text[CFG_VALUE_MAX];

	if (!is_enabled(t))
		return false;
	return !is_port(t) ||
	       (!cfg_read(text, "namespaces/%s/enable", name) && !strcmp(text, "1"));
}

static void hint_missing(const struct item *t, const char *key, const char *name)
{
	const char *id = strchr(t->dir, '/') + 1;

	if (is_port(t))
		hint("nothing was changed; `pmof server unlisten %s` lets a restore open it as the "
		     "file says, `pmof server save` keeps it as it is", id);
	else
		hint("nothing was changed; `pmof server allow %s %s%s` if it may, `pmof server "
		     "save` if it may not any more; or `pmof server clear` first", id, name,
		     strcmp(key, CFG_ALLOWED(true)) ? "" : ":ro");
}

/* What is missing where it is in use was taken since: it is not given back. */
static bool check_missing(const struct item *t, const char *key)
{
	struct json_object *list = json_list(t->o, key);
	const char *name;
	size_t i;

	for (i = 0; i < json_length(list); i++) {
		name = json_object_get_string(json_object_array_get_idx(list, i));
		if (!is_settled(t, name) || cfg_has("%s/%s/%s", t->dir, key, name))
			continue;
		complain("%s is enabled, without '%s' in %s, and the file has it there", t->what,
			 name, key);
		hint_missing(t, key, name);
		return false;
	}
	return true;
}

/* What else a port leads to is what was exported since; it contradicts nothing. */
static bool check_lists(const struct item *t)
{
	const struct config_link *link, *other;

	for (link = t->kind->link; link->key; link++)
		for (other = t->kind->link; other->key; other++)
			if (other != link && !check_list(t, link, other))
				return false;
	for (link = t->kind->link; link->key; link++)
		if (!check_missing(t, link->key) || (!is_port(t) && !check_rights(t, link->key)))
			return false;
	return true;
}

const char *wanted(const struct item *t, const struct json_key *key, char *number, size_t size)
{
	const char *value = json_plain(t->o, key->name, number, size);

	if (!value && !strcmp(key->name, "allow_any"))
		return config_allow_any(t->o) ? "1" : "0";
	return value ? value : key->otherwise;
}

/* What stays must be what the file says. */
static bool check_there(const struct item *t)
{
	const struct json_key *key = t->kind->key;
	char have[CFG_VALUE_MAX], number[24];
	const char *want;
	size_t i;
	int ret;

	if (!stays(t))
		return true;
	if (!json_flag(t->o, "enable", true)) {
		complain("%s is enabled, and the file says that it is not", t->what);
		hint_unchanged(t);
		return false;
	}
	for (i = 0; i < t->kind->nr_attrs; i++) {
		want = wanted(t, &key[i], number, sizeof(number));
		if (!want)
			continue;
		ret = cfg_read(have, "%s/%s", t->dir, key[i].name);
		if (ret == -ENOENT || (!ret && !strcmp(have, want)))
			continue;
		if (ret) {
			explain(NULL, ret, "cannot read %s of %s", key[i].name, t->what);
			hint_unchanged(t);
			return false;
		}
		complain("%s is there already, with %s '%s', not '%s'", t->what, key[i].name, have,
			 want);
		hint_unchanged(t);
		return false;
	}
	return true;
}

bool check_compare(const struct item *t)
{
	return check_lists(t) && check_there(t);
}
