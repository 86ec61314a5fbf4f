// SPDX-License-Identifier: BSD-3-Clause
/* pmof server client, allow and disallow. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "server.h"

static const struct command commands[] = {
	{ "add", cmd_server_client_add, "ID", "add a client, or change one" },
	{ "remove", cmd_server_client_remove, "ID", "remove a client and end its sessions" },
	{ NULL, NULL, NULL, NULL }
};

int cmd_server_client(int argc, char **argv)
{
	return run_command("pmof server client", commands, argc, argv);
}

static const struct reason client_reasons[] = {
	{ ENOENT, "no such namespace or client", "`pmof server list` shows both; `pmof server client "
	  "add ID` makes a client" },
	{ EEXIST, "it is allowed already, with this right or the other",
	  "`pmof server disallow NAME ID` first" },
	REASONS_NOT_ROOT,
	{ 0 }
};

/* --- add ------------------------------------------------------------------- */

enum { OPT_KEY = OPT_LAST, OPT_GENERATE, OPT_SESSIONS, OPT_QUEUES, OPT_SEGMENTS, OPT_MEMORY };

#define NR_LIMITS	4

static const char *const limits[NR_LIMITS] = { "sessions", "queues", "segments", "memory" };

struct client {
	const char *id;
	const char *key_file;
	const char *new_key_file;
	bool has_limit[NR_LIMITS];
	uint64_t limit[NR_LIMITS];
	char key[KEY_TEXT_MAX];
};

static const struct argp_option add_options[] = {
	{ "key", OPT_KEY, "FILE", 0, "The key in FILE, which only its owner may read; its sessions "
	  "under another end", 0 },
	{ "generate", OPT_GENERATE, "FILE", 0, "A new random key, written to FILE (mode 0600): "
	  "bring that to the client", 0 },
	{ "max-sessions", OPT_SESSIONS, "N", 0, "Sessions at once; 0: as many as there may be", 0 },
	{ "max-queues", OPT_QUEUES, "N", 0, "I/O queues over all of them", 0 },
	{ "max-segments", OPT_SEGMENTS, "N", 0, "Segments over all of them", 0 },
	{ "max-memory", OPT_MEMORY, "SIZE", 0, "Memory for the buffers of its I/O queues", 0 },
	{ 0 }
};

static bool is_read_only(const char *arg)
{
	size_t len = strlen(arg);

	return len >= 3 && !strcmp(arg + len - 3, ":ro");
}

/* To `server allow` and --allow such an ID would be another one, with the right to read. */
static const char *arg_new_id(struct argp_state *state, const char *arg)
{
	if (is_read_only(arg))
		argp_error(state, "ID '%s' ends in :ro, which says the right to a namespace", arg);
	return arg_name(state, "ID", arg, ID_MAX_SIZE);
}

static error_t parse_add(int key, char *arg, struct argp_state *state)
{
	struct client *c = state->input;

	switch (key) {
	case OPT_KEY:
		c->key_file = arg;
		return 0;
	case OPT_GENERATE:
		c->new_key_file = arg;
		return 0;
	case OPT_SESSIONS:
	case OPT_QUEUES:
	case OPT_SEGMENTS:
	case OPT_MEMORY:
		c->has_limit[key - OPT_SESSIONS] = true;
		c->limit[key - OPT_SESSIONS] = arg_size(state, "a limit", arg);
		return 0;
	case ARGP_KEY_ARG:
		c->id = arg_new_id(state, arg);
		break;
	case ARGP_KEY_END:
		if (c->key_file && c->new_key_file)
			argp_error(state, "give either --key or --generate");
		return 0;
	}
	return one_arg(key, state);
}

static int get_key(struct client *c)
{
	if (c->key_file)
		return key_read(c->key_file, false, c->key);
	return c->new_key_file ? key_generate(c->new_key_file, c->key) : 0;
}

static int set_key(const struct client *c)
{
	int ret;

	if (!*c->key)
		return 0;
	ret = cfg_write(c->key, "clients/%s/key", c->id);
	if (!ret)
		key_compare_kept(c->id, c->key);
	else
		explain(client_reasons, ret, "cannot set the key of '%s'", c->id);
	return ret;
}

static int set_limits(const struct client *c)
{
	char text[24];
	int i, ret = 0;

	for (i = 0; i < NR_LIMITS && !ret; i++) {
		if (!c->has_limit[i])
			continue;
		snprintf(text, sizeof(text), "%llu", (unsigned long long)c->limit[i]);
		ret = cfg_write(text, "clients/%s/max_%s", c->id, limits[i]);
		if (ret)
			explain(client_reasons, ret, "cannot limit the %s of '%s'", limits[i],
				c->id);
	}
	return ret;
}

static int change_client(const struct client *c)
{
	int ret = cfg_mkdir("clients/%s", c->id);
	bool is_new = !ret;

	if (ret && ret != -EEXIST) {
		explain(client_reasons, ret, "cannot make the client '%s'", c->id);
	} else {
		ret = set_limits(c);
		if (!ret)
			ret = set_key(c);
	}
	if (ret && is_new)
		cfg_rmdir("clients/%s", c->id);
	return ret;
}

/* The key first: what may be wrong with its file is found before anything is changed. */
static int add_client(struct client *c)
{
	int ret = cfg_prepare();

	if (!ret)
		ret = get_key(c);
	if (!ret) {
		ret = change_client(c);
		if (ret && c->new_key_file)
			unlink(c->new_key_file);
	}
	explicit_bzero(c->key, sizeof(c->key));
	return ret;
}

int cmd_server_client_add(int argc, char **argv)
{
	static const struct argp argp = {
		.options = add_options,
		.parser = parse_add,
		.args_doc = "ID",
		.doc = "Makes client ID known, or changes it: its key, with which it proves who it is, "
		       "and what it may have at once.",
	};
	struct client c = { .id = NULL };

	argp_parse(&argp, argc, argv, 0, NULL, &c);
	return add_client(&c) ? EXIT_FAILED : EXIT_OK;
}

/* --- allow, disallow, remove ------------------------------------------------ */

void arg_allow(struct argp_state *state, const char *what, const char *arg, struct allow *a)
{
	char id[ID_MAX_SIZE + 3];
	size_t len = strlen(arg);

	a->read_only = is_read_only(arg);
	if (a->read_only)
		len -= 3;
	snprintf(id, sizeof(id), "%.*s", (int)(len < sizeof(id) ? len : sizeof(id)), arg);
	snprintf(a->id, sizeof(a->id), "%s", arg_name(state, what, id, ID_MAX_SIZE));
}

int server_allow(const char *name, const struct allow *a)
{
	int ret = cfg_allow(name, a->id, a->read_only);

	if (ret)
		explain(client_reasons, ret, "cannot allow client '%s' to use '%s'", a->id, name);
	return ret;
}

static int disallow(const char *name, const char *id)
{
	int rw = cfg_disallow(name, id, false), ro = cfg_disallow(name, id, true);

	if (rw && rw != -ENOENT)
		return rw;
	return rw ? ro : 0;
}

int server_disallow_all(const char *name)
{
	char path[CFG_PATH_MAX];
	struct cfg_names ids;
	int i, read_only, ret = 0;

	for (read_only = 0; read_only < 2 && !ret; read_only++) {
		snprintf(path, sizeof(path), CFG_PMOF "/namespaces/%s/%s", name,
			 CFG_ALLOWED(read_only));
		ret = cfg_names(&ids, path);
		for (i = 0; i < ids.nr && !ret; i++)
			ret = cfg_disallow(name, ids.name[i], read_only);
		cfg_names_free(&ids);
	}
	return ret;
}

struct allow_call {
	const char *name;
	struct allow allow[ALLOW_MAX];
	unsigned int nr;
	bool takes;		/* a right away, whichever it is: there is no :ro */
};

static void parse_id(struct allow_call *c, const char *arg, struct argp_state *state)
{
	struct allow *a;

	if (c->nr == ALLOW_MAX)
		argp_error(state, "at most %d clients at once", ALLOW_MAX);
	a = &c->allow[c->nr++];
	if (c->takes)
		snprintf(a->id, sizeof(a->id), "%s", arg_name(state, "ID", arg, ID_MAX_SIZE));
	else
		arg_allow(state, "ID", arg, a);
}

static error_t parse_allow(int key, char *arg, struct argp_state *state)
{
	struct allow_call *c = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (!state->arg_num) {
			c->name = arg_name(state, "NAME", arg, NAME_MAX_SIZE);
			return 0;
		}
		parse_id(c, arg, state);
		return 0;
	case ARGP_KEY_END:
		if (state->arg_num < 2)
			argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cmd_server_allow(int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse_allow,
		.args_doc = "NAME ID[:ro]...",
		.doc = "Lets clients use a namespace, with :ro only read it. With the first one, "
		       "sessions of clients that are not named end.",
	};
	struct allow_call c = { .name = NULL };
	int failed = 0;
	unsigned int i;

	argp_parse(&argp, argc, argv, 0, NULL, &c);
	if (cfg_see())
		return EXIT_FAILED;
	for (i = 0; i < c.nr; i++)
		if (server_allow(c.name, &c.allow[i]))
			failed = 1;
	return failed ? EXIT_FAILED : EXIT_OK;
}

int cmd_server_disallow(int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse_allow,
		.args_doc = "NAME ID...",
		.doc = "Takes clients their right to a namespace; when this returns, no session of "
		       "theirs can touch it.",
	};
	struct allow_call c = { .takes = true };
	int ret, failed = 0;
	unsigned int i;

	argp_parse(&argp, argc, argv, 0, NULL, &c);
	if (cfg_see())
		return EXIT_FAILED;
	for (i = 0; i < c.nr; i++) {
		ret = disallow(c.name, c.allow[i].id);
		if (!ret)
			continue;
		explain(client_reasons, ret, "cannot disallow '%s' client '%s'", c.name,
			c.allow[i].id);
		failed = 1;
	}
	return failed ? EXIT_FAILED : EXIT_OK;
}

/* From all lists, so that configfs lets it go; from as many as can be. */
static int remove_client(const char *id)
{
	struct cfg_names names;
	int i, ret, failed;

	failed = cfg_names(&names, CFG_PMOF "/namespaces");
	for (i = 0; i < names.nr; i++) {
		ret = disallow(names.name[i], id);
		if (ret && ret != -ENOENT && !failed)
			failed = ret;
	}
	cfg_names_free(&names);
	return failed ? failed : cfg_rmdir("clients/%s", id);
}

static error_t parse_remove(int key, char *arg, struct argp_state *state)
{
	const char **id = state->input;

	if (key == ARGP_KEY_ARG)
		*id = arg_name(state, "ID", arg, ID_MAX_SIZE);
	return one_arg(key, state);
}

int cmd_server_client_remove(int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse_remove,
		.args_doc = "ID",
		.doc = "Removes a client from all namespaces' lists and forgets its key and limits; "
		       "its sessions end at once.",
	};
	const char *id = NULL;
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &id);
	if (cfg_see())
		return EXIT_FAILED;
	ret = remove_client(id);
	if (!ret)
		return EXIT_OK;
	explain(client_reasons, ret, "cannot remove client '%s'", id);
	return EXIT_FAILED;
}
