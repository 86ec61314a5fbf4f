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
#include <regex.h>

#include "faults_io.h"

#define ARM		"/sys/kernel/debug/pmof_fail/arm"
#define FAIL_NTH	"/proc/thread-self/fail-nth"
#define SLAB_AND_VERBS	5
#define PAGES		2
#define MOST		3000	/* failures on one path: more is no end */

/* What is there before a path begins. */
enum needs { NOTHING, MODULES, EXPORT };

struct path {
	const char *name;
	/* Before and after, undisturbed; begin's failure ends the program. */
	int (*begin)(void);
	/* The path: 0 or -errno. */
	int (*run)(void);
	int (*end)(void);
	enum needs needs;
	unsigned int kinds;
	unsigned int failures, errors, dirty;
	bool always;		/* an error is no excuse: it has to succeed */
	bool loses;		/* the first SEND or WRITE fails, besides */
	bool over;		/* got through untouched */
};

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

static void arm(unsigned int nth, unsigned int kinds, bool loses)
{
	char text[32];

	snprintf(text, sizeof(text), "%u", nth);
	if (!by_task)
		snprintf(text, sizeof(text), "%u %u %d", nth, kinds, loses);
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

/* What they are when nothing is on its way any more. */
static void settled_resources(char *buf, size_t size)
{
	char before[1024];
	int tries;

	resources(buf, size);
	for (tries = 0; tries < 60; tries++) {
		memcpy(before, buf, size);
		usleep(500000);
		resources(buf, size);
		if (!strcmp(before, buf))
			return;
	}
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

/* --- the sweep ---------------------------------------------------------------------- */

static int nothing(void)
{
	return 0;
}

#define PATH_OF(kinds_, name_, needs_, begin_, run_, end_, ...) \
	{ .name = name_, .needs = needs_, .begin = begin_, .run = run_, .end = end_, \
	  .kinds = kinds_, ##__VA_ARGS__ }
#define PATH(...)			PATH_OF(SLAB_AND_VERBS, __VA_ARGS__)
#define PATH_PAGES(name_, ...)		PATH_OF(PAGES, name_ ", pages", __VA_ARGS__)

static struct path paths[] = {
	PATH("load the modules", NOTHING, unload_modules, load_modules, unload_modules),
	PATH_PAGES("load the modules", NOTHING, unload_modules, load_modules, unload_modules),
	PATH("export", MODULES, load_modules, export_namespace, unexport),
	PATH_PAGES("export", MODULES, load_modules, export_namespace, unexport),
	PATH("unexport under a session", MODULES, export_and_connect, disable,
	     disconnect_and_unexport, .always = true),
	PATH_PAGES("unexport under a session", MODULES, export_and_connect, disable,
		   disconnect_and_unexport, .always = true),
	PATH("connect and log in", EXPORT, nothing, connect_it, disconnect),
	PATH_PAGES("connect and log in", EXPORT, nothing, connect_it, disconnect),
	PATH("disconnect", EXPORT, connect_it, disconnect, nothing, .always = true),
	PATH_PAGES("disconnect", EXPORT, connect_it, disconnect, nothing, .always = true),
	PATH("resume", EXPORT, connected_and_open, resume, works, .always = true, .loses = true),
	PATH_PAGES("resume", EXPORT, connected_and_open, resume, works, .always = true, .loses = true),
	PATH("replay", EXPORT, connected_and_open, replay, works, .always = true, .loses = true),
	PATH_PAGES("replay", EXPORT, connected_and_open, replay, works, .always = true, .loses = true),
	PATH("character device", EXPORT, connected, chardev_io, check_io),
	PATH_PAGES("character device", EXPORT, connected, chardev_io, check_io),
	PATH("mapping", EXPORT, connected, mapping_io, check_io),
	PATH_PAGES("mapping", EXPORT, connected, mapping_io, check_io),
	PATH("io_uring", EXPORT, connected, ring_io, check_io),
	PATH_PAGES("io_uring", EXPORT, connected, ring_io, check_io),
	PATH("block device", EXPORT, connected, blockdev_io, check_io),
	PATH_PAGES("block device", EXPORT, connected, blockdev_io, check_io),
};

/*
 * The RDMA device does not take a segment, and that is no lack of memory: so it gets smaller ones,
 * and to who comes back with those that it had it is another device.
 */
static bool changes_segments(const char *what)
{
	return strstr(what, "ib_map_mr_sg ") || strstr(what, "ib_dma_virt_map_sg ");
}

/* Has one failure done no harm?  @rc, @end: what the path and its end came to. */
static bool is_clean(const struct path *p, const char *what, int rc, int end, const char *before)
{
	if (end || (p->over && rc))
		return false;
	/* By fail-nth the call may have failed on its way to pmof. */
	if (p->always && rc && !by_task && !changes_segments(what))
		return false;
	return (instance >= 0 && !p->loses) || same_resources(before);
}

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
	arm(nth, p->kinds, p->loses);
	rc = p->run();
	what_failed(what, sizeof(what));
	/* The other side may not be through with its part yet. */
	if (!*what && !by_task) {
		usleep(300000 * vm_time_factor());
		what_failed(what, sizeof(what));
	}
	arm(0, 0, false);
	end = p->end();
	p->over = !*what;
	if (p->over && !rc && !end)
		return false;
	p->failures += !p->over;
	p->errors += rc < 0;
	printf("# %u: %s: %s\n", nth, rc < 0 ? strerror(-rc) : "no error", what);
	fflush(stdout);
	if (!is_clean(p, what, rc, end, before) || tainted() != taint) {
		p->dirty++;
		printf("# NOT CLEAN: %s, failure %u: %d, at its end %d\n", p->name, nth, rc, end);
	}
	return !p->over;
}

static void sweep(struct path *p)
{
	unsigned long taint = tainted();
	char before[1024];
	unsigned int nth;
	int rc;

	/*
	 * What the first of its kind leaves for later ones: once undisturbed, but for what
	 * the path itself is about.
	 */
	rc = p->begin();
	if (!rc && p->loses)
		arm(MOST + 1, p->kinds, true);
	rc = rc ? rc : p->run();
	if (p->loses)
		arm(0, 0, false);
	rc = rc ? rc : p->end();
	if (rc) {
		printf("# %s: does not work undisturbed: %s\n", p->name, strerror(-rc));
		p->dirty++;
		return;
	}
	/* Of a connection that breaks, with it; else without one, which a failure may leave. */
	if (!p->loses)
		disconnect();
	settled_resources(before, sizeof(before));
	for (nth = 1; nth <= MOST && one_failure(p, nth, before); nth++)
		;
	/* What failures have left in a connection that they did not end. */
	disconnect();
	if ((!p->loses && !same_resources(before)) || tainted() != taint) {
		p->dirty++;
		printf("# NOT CLEAN: %s, behind all failures\n", p->name);
	}
}

/* Not by the thread itself, or not to be told from the others. */
static bool only_by_any_thread(const struct path *p)
{
	return p->needs == NOTHING || p->kinds == PAGES || p->loses;
}

/* False: it is not as it should be. */
static bool try_path(struct path *p, unsigned int number)
{
	bool ok, skip;

	if (p->needs >= MODULES)
		load_modules();
	if (p->needs >= EXPORT && access(CONFIG "/ports/1", F_OK))
		export_namespace();
	sweep(p);
	disconnect();
	/* Without fail_page_alloc there is nothing to fail. */
	skip = p->kinds == PAGES && !p->failures && !p->dirty;
	ok = skip || (p->over && p->failures && !p->dirty);
	printf("%sok %u - %s: %u failures%s\n", ok ? "" : "not ", number, p->name, p->failures,
	       skip ? " # SKIP no page allocation fails here" : "");
	return ok;
}

/* Is it among those that the pattern, an extended regular expression, names? */
static bool is_asked_for(const struct path *p, const char *pattern)
{
	regex_t re;
	bool match;

	if (!pattern)
		return true;
	if (regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB))
		return false;
	match = !regexec(&re, p->name, 0, NULL, 0);
	regfree(&re);
	return match;
}

/* usage: faults [PATTERN] */
int main(int argc, char **argv)
{
	unsigned int i, bad = 0, n = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	page_buf = vm_pages(IO_LEN);
	read_buf = vm_pages(IO_LEN);
	printf("TAP version 13\n");
	choose_means();
	for (i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		if (!is_asked_for(&paths[i], argc > 1 ? argv[1] : NULL))
			continue;
		if (!by_task || !only_by_any_thread(&paths[i]))
			bad += !try_path(&paths[i], ++n);
	}
	unexport();
	printf("1..%u\n# %-28s %8s %8s %10s\n", n, "path", "failures", "errors", "not clean");
	for (i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		printf("# %-28s %8u %8u %10u\n", paths[i].name, paths[i].failures, paths[i].errors,
		       paths[i].dirty);
	return bad || !n ? 1 : unload_modules() ? 1 : 0;
}
