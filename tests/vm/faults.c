// SPDX-License-Identifier: GPL-2.0
/*
 * Every allocation and every verbs call of a path fails in turn, until the path gets
 * through untouched.  After each: what was made is taken away again, no RDMA object is
 * left, no kernel has warned.  One VM, server and client.  Prints TAP, with a table
 * behind it.
 *
 * With pmof_fail.ko (tests/sanitized/fail) it is the n-th in any thread; without, by
 * the kernel's fail-nth, the n-th allocation of this one.
 */
#include <sys/wait.h>

#include "vm.h"

#define CONFIG		"/sys/kernel/config/pmof"
#define ARM		"/sys/kernel/debug/pmof_fail/arm"
#define FAIL_NTH	"/proc/thread-self/fail-nth"
#define SLAB_AND_VERBS	5
#define PAGES		2
#define MOST		3000	/* failures on one path: more is no end */

struct path {
	const char *name;
	/* Before and after, undisturbed; begin's failure ends the program. */
	int (*begin)(void);
	/* The path: 0 or -errno. */
	int (*run)(void);
	int (*end)(void);
	unsigned int kinds;
	bool always;		/* an error is no excuse: it has to succeed */
	bool over;		/* got through untouched */
	unsigned int failures, errors, dirty;
};

static int instance = -1;
static bool by_task;		/* by fail-nth */

/* --- the machine ---------------------------------------------------------------- */

static void get_output(const char *command, char *buf, size_t size)
{
	FILE *f = popen(command, "r");
	size_t n = f ? fread(buf, 1, size - 1, f) : 0;

	buf[n] = '\0';
	if (f)
		pclose(f);
}

static int shell(const char *command)
{
	int status = system(command);

	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EIO;
}

static void choose_means(void)
{
	by_task = access(ARM, F_OK);
	if (by_task && (vm_write_file("/sys/kernel/debug/failslab/ignore-gfp-wait", "N") ||
			vm_write_file("/sys/kernel/debug/failslab/verbose", "0"))) {
		printf("Bail out! neither pmof_fail.ko nor failslab is there\n");
		exit(1);
	}
	vm_write_file("/sys/kernel/debug/fail_page_alloc/verbose", "0");
	printf("# by %s\n", by_task ? "fail-nth: this thread only" : "pmof_fail: any thread");
}

static void arm(unsigned int nth, unsigned int kinds)
{
	char text[32];

	snprintf(text, sizeof(text), "%u", nth);
	if (!by_task)
		snprintf(text, sizeof(text), "%u %u", nth, kinds);
	if (vm_write_file(by_task ? FAIL_NTH : ARM, text)) {
		printf("Bail out! cannot arm\n");
		exit(1);
	}
}

/* What failed, or an empty string. */
static void what_failed(char *buf, size_t size)
{
	int fd = open(by_task ? FAIL_NTH : ARM, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, buf, size - 1);
	char *line;

	close(fd);
	buf[n > 0 ? n : 0] = '\0';
	if (by_task) {
		/* What is left to count. */
		snprintf(buf, size, "%s", strtoul(buf, NULL, 10) ? "" : "an allocation");
		return;
	}
	line = strchr(buf, '\n');
	line = line ? line + 1 : buf + strlen(buf);
	memmove(buf, line, strlen(line) + 1);
	buf[strcspn(buf, "\n")] = '\0';
}

static void resources(char *buf, size_t size)
{
	get_output("rdma resource show", buf, size);
}

/* Whoever ends a session does so in its own time. */
static bool same_resources(const char *before)
{
	char now[1024];
	int tries;

	for (tries = 0; tries < 300; tries++) {
		resources(now, sizeof(now));
		if (!strcmp(before, now))
			return true;
		usleep(200000);
	}
	printf("# before: %s# now: %s", before, now);
	return false;
}

static unsigned long tainted(void)
{
	int fd = open("/proc/sys/kernel/tainted", O_RDONLY | O_CLOEXEC);
	char buf[32] = "";

	if (fd < 0 || read(fd, buf, sizeof(buf) - 1) < 0)
		perror("tainted");
	close(fd);
	return strtoul(buf, NULL, 10);
}

/* --- what the paths are made of --------------------------------------------------- */

static int load_modules(void)
{
	return shell("modprobe pmof-server 2>/dev/null && modprobe pmof-client 2>/dev/null");
}

static int unload_modules(void)
{
	return shell("for m in pmof_client pmof_server pmof; do"
		     " for i in 1 2 3 4 5 6 7 8 9; do"
		     " [ -d /sys/module/$m ] || break; rmmod $m 2>/dev/null || sleep 0.5;"
		     " done; [ ! -d /sys/module/$m ] || exit 1; done");
}

static int export_namespace(void)
{
	int rc = 0;

	if (mkdir(CONFIG "/namespaces/data", 0755))
		return -errno;
	rc = vm_write_file(CONFIG "/namespaces/data/device_path", "/dev/pmem0\n");
	rc = rc ? rc : vm_write_file(CONFIG "/namespaces/data/enable", "1\n");
	if (!rc && mkdir(CONFIG "/ports/1", 0755))
		rc = -errno;
	rc = rc ? rc : vm_write_file(CONFIG "/ports/1/addr", vm_env("LAB_SERVER_IP", "10.77.0.1"));
	if (!rc && symlink(CONFIG "/namespaces/data", CONFIG "/ports/1/namespaces/data"))
		rc = -errno;
	return rc ? rc : vm_write_file(CONFIG "/ports/1/enable", "1\n");
}

/* Takes away what there is of it. */
static int unexport(void)
{
	if (!access(CONFIG "/ports/1", F_OK)) {
		vm_write_file(CONFIG "/ports/1/enable", "0\n");
		unlink(CONFIG "/ports/1/namespaces/data");
		if (rmdir(CONFIG "/ports/1"))
			return -errno;
	}
	if (!access(CONFIG "/namespaces/data", F_OK)) {
		vm_write_file(CONFIG "/namespaces/data/enable", "0\n");
		if (rmdir(CONFIG "/namespaces/data"))
			return -errno;
	}
	return 0;
}

static int connect_it(void)
{
	instance = vm_connect("queues=1,depth=16,block=1");
	return instance < 0 ? instance : 0;
}

static int disconnect(void)
{
	int rc = instance < 0 ? 0 : vm_disconnect(instance);

	instance = -1;
	return rc;
}

/* A connection that works: the old one, if it does. */
static int connected(void)
{
	if (instance >= 0 && vm_attr_is(instance, "state", "live"))
		return 0;
	disconnect();
	return connect_it();
}

static int disconnect_if_dead(void)
{
	return instance >= 0 && !vm_attr_is(instance, "state", "live") ? disconnect() : 0;
}

static int export_and_connect(void)
{
	int rc = export_namespace();

	return rc ? rc : connect_it();
}

static int disconnect_and_unexport(void)
{
	int rc = disconnect();

	return rc ? rc : unexport();
}

static int disable(void)
{
	return vm_write_file(CONFIG "/namespaces/data/enable", "0\n");
}

/* --- I/O: every call, whatever those before it said ---------------------------------- */

static char *page_buf;
#define IO_LEN	(256 * KiB)

static void note(int *first, int rc)
{
	if (rc < 0 && !*first)
		*first = rc;
}

static int calls(int fd)
{
	uint64_t old, generation;
	int rc = 0;

	note(&rc, vm_put(fd, MiB, page_buf, IO_LEN, 0));
	note(&rc, vm_persist(fd, MiB, IO_LEN));
	note(&rc, vm_put(fd, 2 * MiB + 8, page_buf, 200, PMOF_F_PERSIST));
	note(&rc, vm_get(fd, MiB, page_buf, IO_LEN));
	note(&rc, vm_fetch_add(fd, 64, 1, &old));
	note(&rc, vm_prepare(fd, 3 * MiB, 512, &generation));
	note(&rc, vm_commit(fd, 3 * MiB, page_buf, 512, generation));
	note(&rc, pwrite(fd, page_buf, 8 * KiB, 4 * MiB) < 0 ? -errno : 0);
	note(&rc, fsync(fd) ? -errno : 0);
	note(&rc, pread(fd, page_buf, 8 * KiB, 4 * MiB) < 0 ? -errno : 0);
	return rc;
}

static int chardev_io(void)
{
	int fd = vm_open(instance, O_RDWR), rc;

	if (fd < 0)
		return fd;
	rc = calls(fd);
	close(fd);
	return rc;
}

static int blockdev_io(void)
{
	int fd, rc = 0;
	char path[32];

	snprintf(path, sizeof(path), "/dev/pmof%d", instance);
	fd = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	note(&rc, pwrite(fd, page_buf, IO_LEN, 8 * MiB) < 0 ? -errno : 0);
	note(&rc, pread(fd, page_buf, IO_LEN, 8 * MiB) < 0 ? -errno : 0);
	note(&rc, fsync(fd) ? -errno : 0);
	close(fd);
	return rc;
}

/* --- the sweep ---------------------------------------------------------------------- */

static int nothing(void)
{
	return 0;
}

#define PATH(name_, kinds_, begin_, run_, end_, always_) \
	{ .name = name_, .kinds = kinds_, .begin = begin_, .run = run_, .end = end_, \
	  .always = always_ }

static struct path paths[] = {
	PATH("load the modules", SLAB_AND_VERBS, unload_modules, load_modules, unload_modules, false),
	PATH("export", SLAB_AND_VERBS, load_modules, export_namespace, unexport, false),
	PATH("unexport under a session", SLAB_AND_VERBS, export_and_connect, disable,
	     disconnect_and_unexport, true),
	PATH("connect and log in", SLAB_AND_VERBS, nothing, connect_it, disconnect, false),
	PATH("connect and log in, pages", PAGES, nothing, connect_it, disconnect, false),
	PATH("disconnect", SLAB_AND_VERBS, connect_it, disconnect, nothing, true),
	PATH("character device", SLAB_AND_VERBS, connected, chardev_io, disconnect_if_dead, false),
	PATH("block device", SLAB_AND_VERBS, connected, blockdev_io, disconnect_if_dead, false),
};

/* Fails the @nth; false: there was none, so that the path is through. */
static bool one_failure(struct path *p, unsigned int nth, const char *before)
{
	unsigned long taint = tainted();
	char what[2048];
	int rc, end;

	if (p->begin()) {
		printf("# %s: cannot begin, before failure %u\n", p->name, nth);
		p->dirty++;
		return false;
	}
	arm(nth, p->kinds);
	rc = p->run();
	what_failed(what, sizeof(what));
	arm(0, 0);
	end = p->end();
	p->over = !*what;
	if (p->over && !rc && !end)
		return false;
	p->failures += !p->over;
	p->errors += rc < 0;
	printf("# %u: %s: %s\n", nth, rc < 0 ? strerror(-rc) : "no error", what);
	fflush(stdout);
	/* By fail-nth the call may have failed on its way to pmof. */
	if (end || (p->over && rc) || (p->always && rc && !by_task) || tainted() != taint ||
	    (instance < 0 && !same_resources(before))) {
		p->dirty++;
		printf("# NOT CLEAN: %s, failure %u: %d, at its end %d\n", p->name, nth, rc, end);
	}
	return !p->over;
}

static void sweep(struct path *p)
{
	char before[1024];
	unsigned int nth;

	/* What the first of its kind leaves for later ones: once undisturbed. */
	if (p->begin() || p->run() || p->end()) {
		printf("# %s: does not work undisturbed\n", p->name);
		p->dirty++;
		return;
	}
	if (instance < 0)
		resources(before, sizeof(before));
	for (nth = 1; nth <= MOST && one_failure(p, nth, before); nth++)
		;
}

int main(int argc, char **argv)
{
	unsigned int i, bad = 0, n = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	page_buf = vm_pages(IO_LEN);
	memset(page_buf, 0x5a, IO_LEN);
	printf("TAP version 13\n");
	choose_means();
	for (i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		struct path *p = &paths[i];
		bool ok, skip;

		if (argc > 1 && strcmp(argv[1], p->name))
			continue;
		/* Not by the thread itself, or not to be told from the others. */
		if (by_task && (p->run == load_modules || p->kinds == PAGES))
			continue;
		/* What the later paths stand on. */
		if (i >= 1)
			load_modules();
		if (i >= 3 && access(CONFIG "/ports/1", F_OK))
			export_namespace();
		sweep(p);
		/* Without fail_page_alloc there is nothing to fail. */
		skip = p->kinds == PAGES && !p->failures && !p->dirty;
		ok = skip || (p->over && p->failures && !p->dirty);
		bad += !ok;
		printf("%s %u - %s: %u failures%s\n", ok ? "ok" : "not ok", ++n, p->name,
		       p->failures, skip ? " # SKIP no page allocation fails here" : "");
	}
	disconnect();
	unexport();
	printf("1..%u\n# %-28s %8s %8s %10s\n", n, "path", "failures", "errors", "not clean");
	for (i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		printf("# %-28s %8u %8u %10u\n", paths[i].name, paths[i].failures, paths[i].errors,
		       paths[i].dirty);
	return bad ? 1 : unload_modules() ? 1 : 0;
}
