// SPDX-License-Identifier: BSD-3-Clause
/*
 * pmof server restore and clear.  The whole file is checked, and compared with
 * what is enabled already, before anything is changed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config.h"
#include "output.h"
#include "server.h"

enum outcome { WAITING, DONE, FAILED };

/* A namespace or a port of the file. */
struct item {
	struct json_object *o;
	bool port;
	enum outcome outcome;
	struct pending pending;
	char dir[CFG_PATH_MAX];		/* in configfs */
	char what[96];			/* for people */
};

struct restore {
	const char *path;
	uint64_t wait;
	struct item *item;
	size_t nr;
};

/* --- comparing ---------------------------------------------------------------- */

static bool is_enabled(const struct item *t)
{
	char text[CFG_VALUE_MAX];

	return !cfg_read(text, "%s/enable", t->dir) && !strcmp(text, "1");
}

static const struct config_keys *keys_of(const struct item *t)
{
	return t->port ? &port_keys : &namespace_keys;
}

/* An enabled one must be what the file says: nothing of it can be changed. */
static bool check_enabled_item(const struct item *t)
{
	const struct config_keys *keys = keys_of(t);
	char have[CFG_VALUE_MAX], number[24];
	const char *want;
	size_t i;

	if (!is_enabled(t))
		return true;
	for (i = 0; i < keys->nr; i++) {
		want = json_plain(t->o, keys->key[i].name, number, sizeof(number));
		if (!want || cfg_read(have, "%s/%s", t->dir, keys->key[i].name) ||
		    !strcmp(have, want))
			continue;
		complain("%s is there already, with %s '%s', not '%s'", t->what,
			 keys->key[i].name, have, want);
		hint("nothing was changed; `pmof server %s` ends it",
		     t->port ? "unlisten" : "unexport");
		return false;
	}
	return true;
}

/* --- making ------------------------------------------------------------------- */

static int set_attrs(const struct item *t)
{
	const struct config_keys *keys = keys_of(t);
	const char *value;
	char number[24];
	int ret = 0;
	size_t i;

	for (i = 0; i < keys->nr && !ret; i++) {
		value = json_plain(t->o, keys->key[i].name, number, sizeof(number));
		if (value)
			ret = cfg_write(value, "%s/%s", t->dir, keys->key[i].name);
		if (ret)
			explain(NULL, ret, "cannot set %s of %s to '%s'", keys->key[i].name,
				t->what, value);
	}
	return ret;
}

static int make_links(const struct item *t)
{
	struct json_object *list = json_list(t->o, "namespaces");
	unsigned int id = (unsigned int)json_number(t->o, "id", 0);
	const char *name;
	int ret = 0;
	size_t i;

	for (i = 0; i < json_length(list) && !ret; i++) {
		name = json_object_get_string(json_object_array_get_idx(list, i));
		if (!cfg_linked(name, id))
			ret = server_link(name, id);
	}
	return ret;
}

/* The directory with all that is in it, but not enabled yet. */
static void make_item(struct item *t)
{
	bool enabled = is_enabled(t);
	int ret = cfg_mkdir("%s", t->dir);

	if (ret && ret != -EEXIST)
		explain(NULL, ret, "cannot make %s", t->what);
	else
		ret = enabled ? 0 : set_attrs(t);
	if (!ret && t->port)
		ret = make_links(t);
	if (ret)
		t->outcome = FAILED;
	else if (enabled || !json_flag(t->o, "enable", true))
		t->outcome = DONE;
}

/* --- enabling ----------------------------------------------------------------- */

static bool has_host(const struct sockaddr *a, const char *host)
{
	struct in6_addr in6;
	struct in_addr in;

	if (!a)
		return false;
	if (a->sa_family == AF_INET)
		return inet_pton(AF_INET, host, &in) == 1 &&
		       in.s_addr == ((const struct sockaddr_in *)a)->sin_addr.s_addr;
	return a->sa_family == AF_INET6 && inet_pton(AF_INET6, host, &in6) == 1 &&
	       !memcmp(&in6, &((const struct sockaddr_in6 *)a)->sin6_addr, sizeof(in6));
}

/* Has any interface this address? Asking the kernel to listen costs a line of its log. */
static bool have_addr(const char *addr)
{
	char host[ADDR_HOST_MAX];
	struct ifaddrs *list, *i;
	bool found;

	snprintf(host, sizeof(host), "%.*s", (int)strcspn(addr, "%"), addr);
	if (!strcmp(host, "::") || !strcmp(host, "0.0.0.0") || getifaddrs(&list))
		return true;
	for (i = list, found = false; i && !found; i = i->ifa_next)
		found = has_host(i->ifa_addr, host);
	freeifaddrs(list);
	return found;
}

/* Is what it needs there? 0 or -errno. */
static int look(const struct item *t)
{
	struct stat st;

	if (t->port)
		return have_addr(json_text(t->o, "addr", "")) ? 0 : -EADDRNOTAVAIL;
	if (stat(json_text(t->o, "device_path", ""), &st))
		return -errno;
	return S_ISBLK(st.st_mode) ? 0 : -ENOTBLK;
}

static bool may_come(int error)
{
	return error == -ENOENT || error == -ENXIO || error == -ENODEV || error == -EADDRNOTAVAIL;
}

static struct addr addr_of(struct json_object *o)
{
	struct addr addr = { .port = (uint16_t)json_number(o, "port", 20049) };

	snprintf(addr.host, sizeof(addr.host), "%s", json_text(o, "addr", ""));
	return addr;
}

static void explain_item(const struct item *t, int error, int log)
{
	struct addr addr = addr_of(t->o);
	bool domain_only;

	if (t->port) {
		server_explain_listen(&addr, error, log);
		return;
	}
	domain_only = error == -EOPNOTSUPP && !json_flag(t->o, "deep_flush", false) &&
		      strcmp(json_text(t->o, "placement", "auto"), "memory") != 0;
	server_explain_enable(json_text(t->o, "device_path", ""), domain_only, error, log);
}

static void tell_waiting(struct item *t, int error)
{
	const char *thing = json_text(t->o, t->port ? "addr" : "device_path", "");

	if (!pending_news(&t->pending, error))
		return;
	if (!t->port)
		status("%s waits for the device %s", t->what, thing);
	else if (have_addr(thing))
		status("%s waits for an RDMA device with the address %s", t->what, thing);
	else
		status("%s waits for the address %s", t->what, thing);
}

static void enable_item(struct item *t)
{
	int ret = look(t), log;

	if (may_come(ret)) {
		tell_waiting(t, ret);
		return;
	}
	log = klog_open();
	if (!ret)
		ret = cfg_write("1", "%s/enable", t->dir);
	if (!ret) {
		t->outcome = DONE;
		status("%s is %s", t->what, t->port ? "open" : "exported");
		klog_close(log);
	} else if (may_come(ret)) {
		/* With another error than look()'s, so that the change is told. */
		tell_waiting(t, ret * 2);
		klog_close(log);
	} else {
		t->outcome = FAILED;
		explain_item(t, ret, log);
	}
}

/* --- all of it ------------------------------------------------------------------ */

static void add_items(struct restore *r, struct json_object *list, bool port)
{
	struct json_object *o;
	struct item *t;
	size_t i;

	for (i = 0; i < json_length(list); i++) {
		o = json_object_array_get_idx(list, i);
		t = &r->item[r->nr++];
		t->o = o;
		t->port = port;
		if (port) {
			snprintf(t->dir, sizeof(t->dir), "ports/%s", json_text(o, "id", ""));
			snprintf(t->what, sizeof(t->what), "port %s", json_text(o, "id", ""));
		} else {
			snprintf(t->dir, sizeof(t->dir), "namespaces/%s",
				 json_text(o, "name", ""));
			snprintf(t->what, sizeof(t->what), "namespace '%s'",
				 json_text(o, "name", ""));
		}
	}
}

static size_t count(const struct restore *r, enum outcome outcome)
{
	size_t i, n = 0;

	for (i = 0; i < r->nr; i++)
		n += r->item[i].outcome == outcome;
	return n;
}

static void enable_all(struct restore *r)
{
	struct retry retry;
	size_t i;

	retry_start(&retry, r->wait);
	do {
		for (i = 0; i < r->nr; i++)
			if (r->item[i].outcome == WAITING)
				enable_item(&r->item[i]);
	} while (count(r, WAITING) && retry_pause(&retry));
}

static int conclude(const struct restore *r)
{
	size_t i;

	for (i = 0; i < r->nr; i++)
		if (r->item[i].outcome == WAITING)
			explain_item(&r->item[i], look(&r->item[i]) ?: -ENODEV, -1);
	if (count(r, DONE) == r->nr) {
		status("restored from %s: all %zu are there", r->path, r->nr);
		return EXIT_OK;
	}
	complain("restored from %s: %zu of %zu are there", r->path, count(r, DONE), r->nr);
	return EXIT_FAILED;
}

static int restore_items(struct restore *r)
{
	size_t i;

	for (i = 0; i < r->nr; i++)
		if (!check_enabled_item(&r->item[i]))
			return EXIT_FAILED;
	for (i = 0; i < r->nr; i++)
		make_item(&r->item[i]);
	enable_all(r);
	return conclude(r);
}

static int restore(struct restore *r)
{
	struct json_object *o, *namespaces, *ports;
	char why[WHY_MAX];
	int ret;

	o = config_read_server(r->path, why);
	if (!o) {
		complain("%s: %s", r->path, why);
		hint(errno == ENOENT ? "`pmof server save` makes it" : "nothing was changed");
		return EXIT_FAILED;
	}
	namespaces = json_list(o, "namespaces");
	ports = json_list(o, "ports");
	r->item = calloc(json_length(namespaces) + json_length(ports) + 1, sizeof(*r->item));
	if (!r->item) {
		explain(NULL, ENOMEM, "%s", r->path);
		ret = EXIT_FAILED;
	} else {
		add_items(r, namespaces, false);
		add_items(r, ports, true);
		ret = cfg_prepare() ? EXIT_FAILED : restore_items(r);
	}
	free(r->item);
	json_object_put(o);
	return ret;
}

enum { OPT_WAIT = OPT_LAST };

static const struct argp_option restore_options[] = {
	{ "wait", OPT_WAIT, "SECONDS|forever", 0, "How long to wait for devices and addresses that "
	  "are not there; default 0", 0 },
	{ 0 }
};

static error_t parse_restore(int key, char *arg, struct argp_state *state)
{
	struct restore *r = state->input;

	switch (key) {
	case OPT_WAIT:
		r->wait = arg_wait(state, arg);
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num)
			argp_usage(state);
		r->path = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cmd_server_restore(int argc, char **argv)
{
	static const struct argp argp = {
		.options = restore_options,
		.parser = parse_restore,
		.args_doc = "[FILE]",
		.doc = "Exports and listens as FILE says (default " CONFIG_DIR "/" CONFIG_SERVER
		       "), which `pmof server save` made. What is there already stays; where that "
		       "contradicts the file, or the file is not right, nothing is changed.",
	};
	struct restore r = { .path = CONFIG_DIR "/" CONFIG_SERVER };

	argp_parse(&argp, argc, argv, 0, NULL, &r);
	return restore(&r);
}

/* --- clear ---------------------------------------------------------------------- */

/* The ports first: then no client comes back while its namespace goes. */
static int clear_ports(void)
{
	unsigned int *ids;
	int i, n, ret, failed = 0;

	n = server_ports(&ids);
	for (i = 0; i < n; i++) {
		ret = server_remove_port(ids[i]);
		if (ret) {
			explain(NULL, ret, "cannot remove port %u", ids[i]);
			failed = ret;
		}
	}
	free(ids);
	return n < 0 ? n : failed;
}

static int clear_namespaces(void)
{
	struct cfg_names names;
	int i, ret, failed;

	failed = cfg_names(&names, CFG_PMOF "/namespaces");
	for (i = 0; i < names.nr; i++) {
		ret = server_remove_namespace(names.name[i]);
		if (ret) {
			explain(NULL, ret, "cannot unexport '%s'", names.name[i]);
			failed = ret;
		}
	}
	cfg_names_free(&names);
	return failed;
}

static error_t parse_nothing(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	argp_usage(state);
	return 0;
}

int cmd_server_clear(int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse_nothing,
		.doc = "Ends every export and stops listening everywhere.",
	};
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	ret = clear_ports();
	return clear_namespaces() || ret ? EXIT_FAILED : EXIT_OK;
}
