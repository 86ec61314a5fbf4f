// SPDX-License-Identifier: BSD-3-Clause
/*
 * pmof server restore.  The whole file is checked, and compared with what is enabled
 * already (server_compare.c), before anything is changed.
 */
#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "config.h"
#include "key_file.h"
#include "output.h"
#include "restore.h"
#include "server.h"

struct restore {
	const char *path;
	uint64_t wait;
	struct item *item;
	size_t nr;
};

/* --- making ------------------------------------------------------------------- */

/*
 * Is there an attribute to be set?  One that the file leaves out, too: an earlier restore, or
 * a hand, may have set it.
 */
static bool must_set(const struct item *t, const char *name, const char *value)
{
	char have[CFG_VALUE_MAX];
	int ret;

	if (!value || json_object_object_get_ex(t->o, name, NULL))
		return value;
	ret = cfg_read(have, "%s/%s", t->dir, name);
	return ret ? ret != -ENOENT : strcmp(have, value) != 0;
}

static int set_attrs(const struct item *t)
{
	const struct json_key *key = t->kind->key;
	const char *value;
	char number[24];
	int ret = 0;
	size_t i;

	for (i = 0; i < t->kind->nr_attrs && !ret; i++) {
		value = wanted(t, &key[i], number, sizeof(number));
		if (must_set(t, key[i].name, value))
			ret = cfg_write(value, "%s/%s", t->dir, key[i].name);
		if (ret)
			explain(NULL, ret, "cannot set %s of %s to '%s'", key[i].name, t->what,
				value);
	}
	return ret;
}

/* A client that has a key keeps it: another one would end its sessions. */
static int set_key(const struct item *t)
{
	const char *path = json_text(t->o, "key_file", NULL);
	char has[CFG_VALUE_MAX], key[KEY_TEXT_MAX], why[WHY_MAX];
	int ret;

	if (!path || (!cfg_read(has, "%s/has_key", t->dir) && !strcmp(has, "1")))
		return 0;
	if (key_file_read(path, true, key, why)) {
		complain("%s: %s", t->what, why);
		return -EINVAL;
	}
	ret = cfg_write(key, "%s/key", t->dir);
	if (!ret)
		key_compare_kept(json_text(t->o, "id", ""), key);
	explicit_bzero(key, sizeof(key));
	if (ret)
		explain(NULL, ret, "cannot set the key of %s", t->what);
	return ret;
}

static int make_links(const struct item *t)
{
	const struct config_link *link;
	struct json_object *list;
	char dir[CFG_PATH_MAX];
	const char *name;
	int ret = 0, log;
	size_t i;

	for (link = t->kind->link; link->key; link++) {
		list = json_list(t->o, link->key);
		snprintf(dir, sizeof(dir), "%s/%s", t->dir, link->key);
		for (i = 0; i < json_length(list) && !ret; i++) {
			name = json_object_get_string(json_object_array_get_idx(list, i));
			if (is_settled(t, name))
				continue;
			log = klog_open();
			ret = cfg_symlink(dir, link->target, name);
			if (!ret) {
				klog_close(log);
				continue;
			}
			explain(NULL, ret, "cannot add '%s' to %s of %s", name, link->key,
				t->what);
			klog_hint(log);
		}
	}
	return ret;
}

/* A port's address is malformed to the kernel until there is the interface of its scope. */
static bool must_wait(const struct item *t)
{
	return is_port(t) && scope_absent(json_text(t->o, "addr", ""));
}

/* A namespace or port that the file does not have enabled. */
static bool is_off(const struct item *t)
{
	return t->kind->enable && !json_flag(t->o, "enable", true);
}

/* The directory with all that is in it, but not enabled yet. */
static void make_item(struct item *t)
{
	bool there = stays(t);
	int ret = cfg_mkdir("%s", t->dir);

	t->unset = !there && must_wait(t);
	if (ret && ret != -EEXIST)
		explain(NULL, ret, "cannot make %s", t->what);
	else
		ret = there || t->unset ? 0 : set_attrs(t);
	if (!ret)
		ret = set_key(t);
	if (!ret)
		ret = make_links(t);
	if (ret)
		t->outcome = FAILED;
	else if (there || !t->kind->enable || (is_off(t) && !t->unset))
		t->outcome = DONE;
}

/* --- enabling ----------------------------------------------------------------- */

static bool has_host(const struct sockaddr *a, const char *addr)
{
	socklen_t len = a && a->sa_family == AF_INET ? sizeof(struct sockaddr_in) :
			sizeof(struct sockaddr_in6);
	char text[NI_MAXHOST];

	return a && (a->sa_family == AF_INET || a->sa_family == AF_INET6) &&
	       !getnameinfo(a, len, text, sizeof(text), NULL, 0, NI_NUMERICHOST) &&
	       same_host(text, addr);
}

/* Has any interface this address? Asking the kernel to listen costs a line of its log. */
static bool have_addr(const char *addr)
{
	struct ifaddrs *list, *i;
	bool found;

	if (scope_absent(addr))
		return false;
	if (same_host(addr, "::") || same_host(addr, "0.0.0.0") || getifaddrs(&list))
		return true;
	for (i = list, found = false; i && !found; i = i->ifa_next)
		found = has_host(i->ifa_addr, addr);
	freeifaddrs(list);
	return found;
}

/* Is what it needs there? 0 or -errno. */
static int look(const struct item *t)
{
	struct stat st;

	if (is_off(t))
		return must_wait(t) ? -EADDRNOTAVAIL : 0;
	if (is_port(t))
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

	if (is_port(t)) {
		server_explain_listen(&addr, error, log);
		return;
	}
	domain_only = error == -EOPNOTSUPP && !json_flag(t->o, "deep_flush", false) &&
		      strcmp(json_text(t->o, "placement", "auto"), "memory") != 0;
	server_explain_enable(json_text(t->o, "device_path", ""), domain_only, error, log);
}

static void tell_waiting(struct item *t)
{
	if (!pending_news(&t->pending, t->error))
		return;
	if (is_port(t))
		status("%s waits for the address %s", t->what, json_text(t->o, "addr", ""));
	else
		status("%s waits for the device %s", t->what, json_text(t->o, "device_path", ""));
}

/* What it needs is there, and the kernel finds that it is not. */
static void tell_kernel(struct item *t, int log)
{
	bool store = !strcmp(json_text(t->o, "service", ""), "store");

	/* Another error than look()'s, so that the change is told. */
	if (!pending_news(&t->pending, 2 * t->error)) {
		klog_close(log);
		return;
	}
	if (is_port(t))
		status("%s waits for an RDMA device with the address %s", t->what,
		       json_text(t->o, "addr", ""));
	else if (t->error == -ENOENT && store)
		status("%s waits for the module pmof-store", t->what);
	else
		status("%s waits for the kernel to take %s: %s", t->what,
		       json_text(t->o, "device_path", ""), strerror(-t->error));
	klog_hint(log);
}

static void enable_item(struct item *t)
{
	int ret = look(t), log;

	t->error = ret;
	if (!cfg_has("%s", t->dir)) {
		complain("%s was taken away meanwhile", t->what);
		t->outcome = FAILED;
		return;
	}
	if (may_come(ret)) {
		tell_waiting(t);
		return;
	}
	if (!ret && t->unset && set_attrs(t)) {
		t->outcome = FAILED;
		return;
	}
	t->unset = false;
	if (!ret && is_off(t)) {
		t->outcome = DONE;
		return;
	}
	log = klog_open();
	if (!ret)
		ret = cfg_write("1", "%s/enable", t->dir);
	t->error = ret;
	if (!ret) {
		t->outcome = DONE;
		status("%s is %s", t->what, is_port(t) ? "open" : "exported");
		klog_close(log);
	} else if (may_come(ret)) {
		tell_kernel(t, log);
	} else {
		t->outcome = FAILED;
		explain_item(t, ret, log);
	}
}

/* --- all of it ------------------------------------------------------------------ */

static void add_items(struct restore *r, struct json_object *list,
		      const struct config_kind *kind)
{
	char number[24];
	const char *id;
	struct item *t;
	size_t i;

	for (i = 0; i < json_length(list); i++) {
		t = &r->item[r->nr++];
		t->o = json_object_array_get_idx(list, i);
		t->kind = kind;
		id = json_plain(t->o, kind->id, number, sizeof(number));
		snprintf(t->dir, sizeof(t->dir), "%s/%s", kind->list, id);
		snprintf(t->what, sizeof(t->what), "%s '%s'", kind->what, id);
	}
}

/* The keys are there and can be read; what this module does not have is not asked for. */
static bool check_item(const struct item *t)
{
	const char *path = json_text(t->o, "key_file", NULL);
	char key[KEY_TEXT_MAX], why[WHY_MAX];
	bool ok = !path || !key_file_read(path, true, key, why);

	explicit_bzero(key, sizeof(key));
	if (ok)
		return check_compare(t);
	complain("%s: %s", t->what, why);
	hint("nothing was changed");
	return false;
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

/* Whether anything serves, of what the file has enabled: clients alone are of no use. */
static bool serves(const struct restore *r)
{
	const struct item *t;

	for (t = r->item; t < r->item + r->nr; t++)
		if (t->outcome == DONE && t->kind->enable && !is_off(t))
			return true;
	return false;
}

/* Their owner may have meant them to be waited for when he saved: at each start it can be seen. */
static void tell_disabled(const struct restore *r)
{
	const struct item *t;

	for (t = r->item; t < r->item + r->nr; t++)
		if (is_off(t))
			status("%s is switched off in %s, and left so", t->what, r->path);
}

static int conclude(const struct restore *r)
{
	size_t i;

	for (i = 0; i < r->nr; i++)
		if (r->item[i].outcome == WAITING)
			explain_item(&r->item[i], r->item[i].error, -1);
	if (count(r, DONE) == r->nr) {
		status("restored from %s: all %zu are there", r->path, r->nr);
		return EXIT_OK;
	}
	complain("restored from %s: %zu of %zu are there", r->path, count(r, DONE), r->nr);
	return serves(r) ? EXIT_PARTLY : EXIT_FAILED;
}

static int restore_items(struct restore *r)
{
	size_t i;

	for (i = 0; i < r->nr; i++)
		if (!check_item(&r->item[i]))
			return EXIT_FAILED;
	for (i = 0; i < r->nr; i++)
		make_item(&r->item[i]);
	tell_disabled(r);
	enable_all(r);
	return conclude(r);
}

static int restore_object(struct restore *r, struct json_object *o)
{
	size_t k, nr = 1;
	int ret;

	for (k = 0; k < CONFIG_KINDS; k++)
		nr += json_length(json_list(o, config_kinds[k].list));
	r->item = calloc(nr, sizeof(*r->item));
	if (!r->item) {
		explain(NULL, ENOMEM, "%s", r->path);
		return EXIT_FAILED;
	}
	for (k = 0; k < CONFIG_KINDS; k++)
		add_items(r, json_list(o, config_kinds[k].list), &config_kinds[k]);
	ret = cfg_prepare() ? EXIT_FAILED : restore_items(r);
	free(r->item);
	return ret;
}

static int restore(struct restore *r)
{
	struct json_object *o;
	char why[WHY_MAX];
	int ret;

	o = config_read_server(r->path, why);
	if (!o) {
		complain("%s: %s", r->path, why);
		hint(errno == ENOENT ? "`pmof server save` makes it" : "nothing was changed");
		return EXIT_FAILED;
	}
	ret = restore_object(r, o);
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
