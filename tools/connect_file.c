// SPDX-License-Identifier: BSD-3-Clause
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"
#include "connect_file.h"
#include "lock.h"
#include "output.h"

#define SAVE_PATH_MAX	128

/* --- from and to a file -------------------------------------------------------- */

/* The texts are the object's. */
static void args_from(struct pmof_connect_args *args, struct json_object *o)
{
	memset(args, 0, sizeof(*args));
	args->size = sizeof(*args);
	args->addr = json_text(o, "addr", NULL);
	args->name = json_text(o, "name", NULL);
	args->id = json_text(o, "id", NULL);
	args->port = (uint16_t)json_number(o, "port", PMOF_DEFAULT_PORT);
	args->queues = (unsigned int)json_number(o, "queues", 0);
	args->depth = (unsigned int)json_number(o, "depth", 0);
	args->method = (enum pmof_method)pmof_method_parse(json_text(o, "persist", "auto"));
	args->read_only = json_flag(o, "read_only", false);
	args->no_block = !json_flag(o, "block", true);
	args->writeback = !strcmp(json_text(o, "cache", ""), "writeback");
	args->block_size = (unsigned int)json_number(o, "block_size", 0);
	args->poll_queues = (unsigned int)json_number(o, "poll_queues", 0);
	args->keep_alive_tmo = json_text(o, "keep_alive_tmo", NULL);
	args->reconnect_delay = json_text(o, "reconnect_delay", NULL);
	args->fail_io_timeout = json_text(o, "fail_io_timeout", NULL);
	args->device_loss_timeout = json_text(o, "device_loss_timeout", NULL);
	args->exclusive = json_flag(o, "exclusive", false);
	args->takeover = json_flag(o, "takeover", false);
	args->max_call = (unsigned int)json_number(o, "max_call", 0);
}

/* Seconds, that the caller has checked; NULL: the default. */
static void put_seconds(struct json_object *o, const char *key, const char *text)
{
	if (text)
		put_object(o, key, json_object_new_int(atoi(text)));
}

static void put_number(struct json_object *o, const char *key, unsigned int value)
{
	if (value)
		put_u64(o, key, value);
}

/* What has its default is left out. */
static struct json_object *args_to(const struct pmof_connect_args *args)
{
	struct json_object *o = new_object();

	put_text(o, "addr", args->addr);
	put_number(o, "port", args->port);
	put_text(o, "name", args->name);
	if (args->id)
		put_text(o, "id", args->id);
	put_number(o, "queues", args->queues);
	put_number(o, "depth", args->depth);
	if (args->method != PMOF_METHOD_AUTO)
		put_text(o, "persist", pmof_method_name(args->method));
	if (args->read_only)
		put_bool(o, "read_only", true);
	if (args->no_block)
		put_bool(o, "block", false);
	if (args->writeback)
		put_text(o, "cache", "writeback");
	put_number(o, "block_size", args->block_size);
	put_number(o, "poll_queues", args->poll_queues);
	put_seconds(o, "keep_alive_tmo", args->keep_alive_tmo);
	put_seconds(o, "reconnect_delay", args->reconnect_delay);
	put_seconds(o, "fail_io_timeout", args->fail_io_timeout);
	put_seconds(o, "device_loss_timeout", args->device_loss_timeout);
	if (args->exclusive)
		put_bool(o, "exclusive", true);
	if (args->takeover)
		put_bool(o, "takeover", true);
	put_number(o, "max_call", args->max_call);
	return o;
}

/* Wherever we are when it is read. */
static void put_path(struct json_object *o, const char *key, const char *path)
{
	char *whole = realpath(path, NULL);

	put_text(o, key, whole ? whole : path);
	free(whole);
}

static struct json_object *file_object(const struct pmof_connect_args *args, const char *key_file)
{
	struct json_object *o = args_to(args);

	if (key_file)
		put_path(o, "key_file", key_file);
	return o;
}

static void file_of(const struct pmof_connect_args *args, char path[SAVE_PATH_MAX])
{
	snprintf(path, SAVE_PATH_MAX, CONFIG_DIR "/%s.json", args->name);
}

static bool same_namespace(struct json_object *o, const struct pmof_connect_args *args)
{
	return same_host(json_text(o, "addr", ""), args->addr) &&
	       json_number(o, "port", PMOF_DEFAULT_PORT) == args->port &&
	       !strcmp(json_text(o, "name", ""), args->name);
}

/* Is what stands in its file a connection to the same namespace, or nothing?  @so: what has come of it. */
static int check_replace(const struct pmof_connect_args *args, const char *so)
{
	char path[SAVE_PATH_MAX], why[WHY_MAX];
	struct json_object *o;
	bool same;

	file_of(args, path);
	o = config_read_connection(path, why);
	if (!o && errno == ENOENT)
		return 0;
	if (!o) {
		complain("%s is there: %s", path, why);
	} else {
		same = same_namespace(o, args);
		if (!same)
			complain("%s is there, of '%s' at the server %s", path,
				 json_text(o, "name", ""), json_text(o, "addr", ""));
		json_object_put(o);
		if (same)
			return 0;
	}
	hint("%s; move that file: any name that ends in .json will do", so);
	return -EEXIST;
}

/* Would it be taken when it is read? */
static int check_file(const struct pmof_connect_args *args, const char *key_file, const char *so)
{
	struct json_object *o = file_object(args, key_file);
	char why[WHY_MAX];
	bool ok = config_check_connection(o, why);

	json_object_put(o);
	if (ok)
		return 0;
	complain("the connection cannot be kept, since its file would be refused: %s", why);
	hint("%s", so);
	return -EINVAL;
}

/* What is kept is the path behind all links. */
static int check_key(const char *key_file, const char *so)
{
	char key[KEY_TEXT_MAX], why[WHY_MAX], *whole;
	int ret;

	if (!key_file)
		return 0;
	whole = realpath(key_file, NULL);
	ret = key_file_read(whole ? whole : key_file, true, key, why);
	explicit_bzero(key, sizeof(key));
	if (!ret && whole) {
		ret = config_sync(whole);
		snprintf(why, sizeof(why), "%s: %s", key_file, strerror(-ret));
	}
	free(whole);
	if (ret) {
		complain("the key cannot be kept: %s", why);
		hint("%s; --save wants a key in a file, with mode 0600", so);
	}
	return ret;
}

static int check_kept(const struct pmof_connect_args *args, const char *key_file, const char *so)
{
	int ret = check_key(key_file, so);

	if (!ret)
		ret = check_file(args, key_file, so);
	return ret ? ret : check_replace(args, so);
}

int connect_check_save(const struct pmof_connect_args *args, const char *key_file)
{
	if (!strcmp(args->name, "server")) {
		complain("a connection to '%s' cannot be kept: " CONFIG_DIR "/" CONFIG_SERVER
			 " is the server's file", args->name);
		hint("put it into a file of another name, pmof(1)");
		return -EEXIST;
	}
	return check_kept(args, key_file, "it is not connected");
}

/* It may have taken long to connect: the key's file can have gone, or another's file be there. */
static int write_file(const struct pmof_connect_args *args, const char *key_file)
{
	static const char so[] = "it is connected, but not kept";
	struct json_object *o;
	char path[SAVE_PATH_MAX];
	int ret;

	ret = check_kept(args, key_file, so);
	if (ret)
		return ret;
	file_of(args, path);
	o = file_object(args, key_file);
	if (mkdir(CONFIG_DIR, 0755) && errno != EEXIST)
		ret = -errno;
	else
		ret = config_write(path, o);
	json_object_put(o);
	if (ret)
		explain(NULL, ret, "it is connected, but %s cannot be written", path);
	return ret;
}

/* With the ID that it has: the default is the host name, which may be another one at a boot. */
int connect_save(const struct pmof_connect_args *args, const char *key_file, int instance)
{
	struct pmof_connect_args whole = *args;
	char id[PMOF_ID_MAX + 2];
	int ret, lock;

	ret = pmof_read_attr(instance, "client_id", id, sizeof(id));
	if (ret) {
		explain(NULL, ret, "pmof%d is connected, but not kept: it shows no client_id",
			instance);
		return ret;
	}
	whole.id = id;
	lock = lock_save();
	if (lock == -EALREADY) {
		explain(NULL, lock, "pmof%d is connected, but not kept", instance);
		return lock;
	}
	ret = write_file(&whole, key_file);
	unlock(lock);
	return ret;
}

/* --- one connection ------------------------------------------------------------ */

static bool has_attr(int instance, const char *attr, const char *value)
{
	char text[256];

	return !pmof_read_attr(instance, attr, text, sizeof(text)) && !strcmp(text, value);
}

/* The kernel spells it in its own way. */
static bool has_addr(int instance, const struct addr *addr)
{
	char text[256];

	return !pmof_read_attr(instance, "address", text, sizeof(text)) && addr_is(addr, text);
}

/* The device that is connected to the same namespace, -1: there is none. */
static int find_connected(const struct pmof_connect_args *args)
{
	struct addr addr = { .port = args->port };
	int *instances, i, n, found = -1;

	snprintf(addr.host, sizeof(addr.host), "%s", args->addr);
	n = pmof_list(&instances);
	for (i = 0; i < n && found < 0; i++)
		if (has_attr(instances[i], "namespace", args->name) &&
		    has_addr(instances[i], &addr) &&
		    !has_attr(instances[i], "state", "dead"))
			found = instances[i];
	if (n >= 0)
		free(instances);
	return found;
}

bool connect_may_come(int error)
{
	switch (error) {
	case -ENOENT:
	case -ENODEV:
	case -ECONNREFUSED:
	case -ECONNRESET:
	case -EHOSTUNREACH:
	case -EINTR:	/* stopped, frozen, or traced meanwhile */
	case -ENETUNREACH:
	case -EADDRNOTAVAIL:
	case -ETIMEDOUT:
	case -EBUSY:
	case -EIO:
	case -ENOTCONN:
	case -ENOMEM:
	case -EREMOTEIO:
	case -EXDEV:
	case -ENOPKG:
	case -EALREADY:
		return true;
	default:
		return false;
	}
}

int connect_try(const struct pmof_connect_args *args, int *instance)
{
	int ret = scope_absent(args->addr) ? -EADDRNOTAVAIL : pmof_connect(args, instance);

	/* Who has taken the module away may be about to load another version: not us. */
	return ret == -ENOENT && access(PMOF_CONTROL_PATH, F_OK) ? -ENOPKG : ret;
}

static bool is_connected(const struct pmof_connect_args *args, const char *file)
{
	int instance = find_connected(args);

	if (instance >= 0)
		status("%s: '%s' at %s is connected already, as pmof%d", file, args->name,
		       args->addr, instance);
	return instance >= 0;
}

/*
 * One attempt, and what is to be said of it. Returns 0 or -errno. Before each: somebody else may
 * have connected since the last one, and a second device of one namespace is a trap.
 */
static int attempt_locked(const struct pmof_connect_args *args, const char *file, struct pending *p)
{
	int instance, log, ret;

	if (is_connected(args, file))
		return 0;
	log = klog_open();
	ret = connect_try(args, &instance);
	if (!ret) {
		status("%s: '%s' at %s is connected as pmof%d", file, args->name, args->addr,
		       instance);
		klog_close(log);
	} else if (!connect_may_come(ret)) {
		explain_connect(args, ret, log);
	} else if (pending_news(p, ret)) {
		status("%s: waiting for '%s' at %s:", file, args->name, args->addr);
		explain_connect(args, ret, log);
	} else {
		klog_close(log);
	}
	return ret;
}

static int attempt(const struct pmof_connect_args *args, const char *file, struct pending *p)
{
	int fd = lock_connect(args), ret;

	if (fd == -EALREADY) {
		if (pending_news(p, fd))
			explain_connect(args, fd, -1);
		return fd;
	}
	ret = attempt_locked(args, file, p);
	unlock(fd);
	return ret;
}

static int connect_args(const struct pmof_connect_args *args, const char *file, uint64_t wait)
{
	struct pending pending = { .told = 0 };
	struct retry retry;
	int ret;

	retry_start(&retry, wait);
	do
		ret = attempt(args, file, &pending);
	while (connect_may_come(ret) && retry_pause(&retry));
	return ret ? EXIT_FAILED : EXIT_OK;
}

static int connect_object(struct json_object *o, const char *file, uint64_t wait)
{
	const char *key_file = json_text(o, "key_file", NULL);
	struct pmof_connect_args args;
	char key[KEY_TEXT_MAX];
	int ret;

	args_from(&args, o);
	if (key_file) {
		if (key_read(key_file, true, key))
			return EXIT_FAILED;
		args.key = key;
	}
	ret = connect_args(&args, file, wait);
	explicit_bzero(key, sizeof(key));
	return ret;
}

static int connect_file(const char *file, uint64_t wait)
{
	struct json_object *o;
	char why[WHY_MAX];
	int ret;

	o = config_read_connection(file, why);
	if (!o) {
		complain("%s: %s", file, why);
		return EXIT_FAILED;
	}
	ret = connect_object(o, file, wait);
	json_object_put(o);
	return ret;
}

/* --- all of them --------------------------------------------------------------- */

static int is_connection(const struct dirent *e)
{
	size_t len = strlen(e->d_name);

	return e->d_name[0] != '.' && len > 5 && !strcmp(e->d_name + len - 5, ".json") &&
	       strcmp(e->d_name, CONFIG_SERVER) != 0;
}

/* What stands in the file; NULL: it is no connection, as who is to make it will say. */
static struct json_object *read_connection(const char *name)
{
	char path[512], why[WHY_MAX];
	struct stat st;

	snprintf(path, sizeof(path), CONFIG_DIR "/%s", name);
	/* A pipe may hold its own process up, not us. */
	return stat(path, &st) || !S_ISREG(st.st_mode) ? NULL : config_read_connection(path, why);
}

struct files {
	struct dirent **list;
	struct json_object **all;	/* of each what stands in it */
	int nr;
	uint64_t wait;
};

static bool same_files(const struct files *f, int i, int k)
{
	struct pmof_connect_args args;

	if (i == k || !f->all[i] || !f->all[k])
		return i == k;
	args_from(&args, f->all[i]);
	return same_namespace(f->all[k], &args);
}

/* Has one before it the same namespace: is it a copy, perhaps? */
static bool is_copy(const struct files *f, int i)
{
	int k;

	for (k = 0; !same_files(f, i, k); k++)
		;
	return k < i;
}

/* The file, or if that fails the others of the same namespace: one device is made, whichever it is by. */
static int connect_first(const struct files *f, int first)
{
	int k, ret = EXIT_FAILED;
	char path[512];

	for (k = first; k < f->nr && ret; k++) {
		if (!same_files(f, first, k))
			continue;
		snprintf(path, sizeof(path), CONFIG_DIR "/%s", f->list[k]->d_name);
		if (k > first)
			status("%s: the same namespace as " CONFIG_DIR "/%s, which has failed", path,
			       f->list[first]->d_name);
		ret = connect_file(path, f->wait);
	}
	return ret;
}

/* A child that went on behind its parent's end would connect when nobody expects it. */
static void end_with(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) || getppid() != parent)
		exit(EXIT_FAILED);
}

/* In a process of its own: one that waits holds no other up. */
static void start(const struct files *f, int first)
{
	pid_t parent = getpid(), pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		end_with(parent);
		exit(connect_first(f, first));
	}
	if (pid < 0)
		explain(NULL, errno, CONFIG_DIR "/%s", f->list[first]->d_name);
}

/* How many of them have connected. */
static int wait_children(void)
{
	int state, n = 0;
	pid_t pid;

	while ((pid = wait(&state)) > 0 || errno == EINTR)
		n += pid > 0 && WIFEXITED(state) && !WEXITSTATUS(state);
	return n;
}

/* How many connections there are to be made: not copies, which go with what they are a copy of. */
static int start_all(struct files *f)
{
	int i, n = 0;

	f->all = calloc((size_t)f->nr, sizeof(void *));
	if (!f->all) {
		explain(NULL, ENOMEM, "cannot read " CONFIG_DIR);
		return f->nr;
	}
	for (i = 0; i < f->nr; i++)
		f->all[i] = read_connection(f->list[i]->d_name);
	for (i = 0; i < f->nr; i++)
		if (!is_copy(f, i)) {
			start(f, i);
			n++;
		}
	for (i = 0; i < f->nr; i++)
		json_object_put(f->all[i]);
	free(f->all);
	return n;
}

static int connect_all(uint64_t wait)
{
	struct files f = { .wait = wait };
	int i, n = 0, done;

	/* A line at once: the children share it, and do not write into each other's. */
	setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
	f.nr = scandir(CONFIG_DIR, &f.list, is_connection, alphasort);
	if (f.nr < 0 && errno != ENOENT) {
		explain(NULL, errno, "cannot read " CONFIG_DIR);
		return EXIT_FAILED;
	}
	if (f.nr > 0)
		n = start_all(&f);
	else
		status("there is no connection in " CONFIG_DIR);
	for (i = 0; i < f.nr; i++)
		free(f.list[i]);
	if (f.nr >= 0)
		free(f.list);
	done = wait_children();
	if (done == n)
		return EXIT_OK;
	complain("%d of %d are connected", done, n);
	return done ? EXIT_PARTLY : EXIT_FAILED;
}

int connect_files(const char *file, uint64_t wait)
{
	if (module_need("pmof-client", PMOF_CONTROL_PATH))
		return EXIT_FAILED;
	return file ? connect_file(file, wait) : connect_all(wait);
}
