// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes what is told to the modules in words: the options of /dev/pmof-control, and
 * trees of attributes (sysfs of a connection, the server's configfs), in which
 * directories and links are made and removed as well. Where the kernel has kcov, a text
 * that came to a new place is kept and changed further.
 *
 * usage: fuzz_text control SECONDS
 *        fuzz_text tree SECONDS DIRECTORY [NAME]...	names that are only read below it
 * Prints TAP.
 */
#include <ctype.h>
#include <dirent.h>

#include "fuzz.h"

#define MAX_TEXT	8192
#define MAX_PATH	480
#define KEPT		128
#define REFUSALS	32	/* between two looks at the clock */
#define TURNS		16	/* at one attribute: the way there costs as much */

static char **kept_names;
static int nr_kept_names;
static const char *root;

/* To an attribute, or options. */
struct text {
	char path[MAX_PATH];
	unsigned int len;
	char text[1024];
};

static struct fuzz_cover cover;
static struct fuzz_corpus *texts;

static const char *const words[] = {
	"0", "1", "-1", "2", "4", "64", "127", "128", "512", "4096", "65535", "65536", "20049",
	"4294967295", "4294967296", "18446744073709551615", "0x10", "1e3", "", " ", "\n", "none",
	"data", "other", "client1", "a", "..", "/", "*", "%s%n", "auto", "read", "assist", "rpc",
	"flush", "raw", "store", "memory", "assert-memory", "set-memory", "writeback", "writethrough", "yes", "y",
	"/dev/pmem0", "/dev/null", "/dev/zero", "/dev/", "/", "/dev/ram0", "/proc/self/mem",
	"10.77.0.1", "10.77.0.1:20049", "0.0.0.0", "::", "[::]:20049", "fd77::1", "127.0.0.1",
	"255.255.255.255", "fe80::1%eth0", "10.77.0.1:", ":1", "localhost",
	"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", "zz",
};

/* One word, or bytes of any kind; returns the length. */
static size_t some_text(uint64_t *rnd, char *to, size_t max)
{
	uint64_t v = vm_rnd(rnd);
	size_t len;

	switch (v % 12) {
	case 0:
		len = (v >> 8) % (v >> 60 ? 64 : max);
		vm_fill(rnd, to, len);
		return len;
	case 1:
		len = (v >> 8) % 300;
		len = len < max ? len : max;
		memset(to, 'a' + (v >> 32) % 26, len);
		return len;
	case 2:
		return snprintf(to, max, "%llu", (unsigned long long)fuzz_number(rnd, 64));
	default:
		len = snprintf(to, max, "%s%s", words[(v >> 8) % ARRAY_SIZE(words)],
			       v >> 62 ? "\n" : "");
		if (fuzz_one_in(rnd, 16))
			fuzz_damage(rnd, to, len, 1);
		return len;
	}
}

/* --- what was kept --------------------------------------------------------------- */

static void keep(uint64_t *rnd, const char *path, const char *text, size_t len)
{
	struct text t = { .len = len < sizeof(t.text) ? len : sizeof(t.text) };

	snprintf(t.path, sizeof(t.path), "%s", path);
	memcpy(t.text, text, t.len);
	fuzz_keep(texts, rnd, &t);
}

/* The number that stands somewhere becomes another one. */
static size_t other_number(uint64_t *rnd, char *to, size_t len, size_t max)
{
	size_t from, end, n;
	char digits[24];

	for (from = vm_rnd(rnd) % len; from < len && !isdigit((unsigned char)to[from]); from++)
		;
	for (end = from; end < len && isdigit((unsigned char)to[end]); end++)
		;
	if (from == end)
		return len;
	n = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)fuzz_number(rnd, 64));
	if (len - (end - from) + n >= max)
		return len;
	memmove(to + from + n, to + end, len - end);
	memcpy(to + from, digits, n);
	return len - (end - from) + n;
}

/* One of the texts with something changed: what it is told to as well. 0: there is none. */
static size_t kept_text(uint64_t *rnd, struct text *t, char *to, size_t max)
{
	uint64_t v = vm_rnd(rnd);
	struct text other;
	size_t at, len;

	if (!fuzz_again(texts, rnd, t) || !t->len || t->len > sizeof(t->text))
		return 0;
	t->path[sizeof(t->path) - 1] = '\0';
	len = t->len;
	memcpy(to, t->text, len);
	switch (v % 5) {
	case 0:
		fuzz_damage(rnd, to, len, 1 + (v >> 8) % 2);
		return len;
	case 1:
		return 1 + (v >> 8) % len;
	case 2:		/* its begin, another one's end */
		if (!fuzz_again(texts, rnd, &other) || !other.len || other.len > sizeof(other.text))
			return len;
		len = (v >> 8) % len;
		at = (v >> 32) % other.len;
		memcpy(to + len, other.text + at, other.len - at);
		return len + other.len - at;
	case 3:		/* twice the same */
		if (2 * len >= max)
			return len;
		memcpy(to + len, t->text, len);
		return 2 * len;
	default:
		return other_number(rnd, to, len, max);
	}
}

/* --- connecting ----------------------------------------------------------------- */

/* What each key takes, so that the ones behind it are looked at, too. */
static const struct option {
	const char *key, *good[4];
} options[] = {
	{ "queues", { "1", "2", "3", "4" } },
	{ "depth", { "4", "16", "64", "+128" } },
	{ "persist", { "auto", "read", "assist", "rpc" } },
	{ "id", { "a", "fuzz", "client1", "x:y.z" } },
	{ "read_only", { "0", "1", "1", "0" } },
	{ "poll_queues", { "0", "1", "2", "1" } },
	{ "block", { "0", "1", "1", "0" } },
	{ "block_size", { "512", "4096", "512", "4096" } },
	{ "cache", { "writeback", "writethrough", "writeback", "writeback" } },
	{ "keep_alive_tmo", { "0", "20", "3600", "60" } },
	{ "reconnect_delay", { "1", "3600", "10", "2" } },
	{ "fail_io_timeout", { "-1", "0", "86400", "30" } },
	{ "device_loss_timeout", { "-1", "0", "86400", "600" } },
	{ "max_call", { "4096", "8192", "266240", "131072" } },
	{ "key", { "00112233445566778899aabbccddeeff", "0123456789abcdef0123456789ABCDEF",
		   "ffffffffffffffffffffffffffffffffffffffffffffffff",
		   "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff" } },
	{ "exclusive", { "0", "1", "0", "1" } },
	{ "takeover", { "0", "1", "0", "1" } },
	{ "unknown", { "", "1", "0", "x" } },
};

static size_t some_options(uint64_t *rnd, char *to, size_t len, size_t max)
{
	int n = vm_rnd(rnd) % 6;

	while (n-- && len + 400 < max) {
		uint64_t v = vm_rnd(rnd);
		const struct option *o = &options[(v >> 8) % ARRAY_SIZE(options)];

		len += snprintf(to + len, max - len, "%s%s=", len ? "," : "", o->key);
		if (v % 8)
			len += snprintf(to + len, max - len, "%s", o->good[(v >> 32) % 4]);
		else
			len += some_text(rnd, to + len, 320);
	}
	return len;
}

static bool says(const char *text, size_t len, const char *what)
{
	return memmem(text, len, what, strlen(what));
}

/*
 * Where there is no server a connection only takes long; and who takes over for itself
 * alone ends the connection that the others are tested on. Neither may connect.
 */
static bool may_connect(const char *text, size_t len)
{
	char addr[64];
	size_t n = snprintf(addr, sizeof(addr), "addr=%s,", vm_env("LAB_SERVER_IP", "10.77.0.1"));

	if (says(text, len, "exclusive") && says(text, len, "takeover"))
		return false;
	return !says(text, len, "port") && (!says(text, len, "addr") ||
	       (len > n && !memcmp(text, addr, n) && !says(text + n, len - n, "addr")));
}

/* @whole: all that a connection needs is among them. Else the last one, at least, is wrong. */
static size_t all_options(uint64_t *rnd, char *to, size_t max, bool whole)
{
	static const char *const wrong[] = {
		",?=1", ",", ",queues=0", ",port=65536", ",read_only=1,exclusive=1",
		",block=0,cache=writeback",
	};
	static struct text t;
	size_t len = 0;

	if (!whole && fuzz_one_in(rnd, 3))
		len = kept_text(rnd, &t, to, max);
	if (!len) {
		len = snprintf(to, max, "addr=%s,name=%s", vm_env("LAB_SERVER_IP", "10.77.0.1"),
			       fuzz_one_in(rnd, 16) ? "nothing" : vm_env("PMOF_NS", "data"));
		len = some_options(rnd, to, !whole && fuzz_one_in(rnd, 4) ? 0 : len, max);
		if (fuzz_one_in(rnd, 8))
			fuzz_damage(rnd, to, len, 2);
	}
	if (!whole || !may_connect(to, len))
		len += snprintf(to + len, max - len, "%s", wrong[vm_rnd(rnd) % ARRAY_SIZE(wrong)]);
	return len;
}

/* Made after all: it goes at once. */
static void take_back(int fd)
{
	char answer[64];
	int instance;
	ssize_t n = read(fd, answer, sizeof(answer) - 1);

	answer[n > 0 ? n : 0] = '\0';
	if (sscanf(answer, "instance=%d", &instance) == 1 && vm_disconnect(instance))
		_exit(4);
}

/* One that has failed may be written to again; its answer is read now and then. */
static int tell(struct fuzz_shared *s, uint64_t *rnd, int fd, bool whole)
{
	char text[MAX_TEXT], answer[64];
	size_t len = all_options(rnd, text, 4096, whole);
	ssize_t n;

	if (fd < 0)
		fd = open("/dev/pmof-control", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		_exit(2);
	fuzz_cover_before(&cover);
	n = write(fd, text, len);
	if (n < 0 && fuzz_one_in(rnd, 8))
		(void)!read(fd, answer, fuzz_one_in(rnd, 2) ? sizeof(answer) : 3);
	/* Of an endless text the beginning has done it, or nothing will. */
	if (fuzz_cover_after(&cover))
		keep(rnd, "", text, len);
	fuzz_count(s, n < 0 ? -1 : 0);
	if (n > 0)
		take_back(fd);
	if (n < 0 && !fuzz_one_in(rnd, 64))
		return fd;
	close(fd);
	return -1;
}

/* Half of the time is for options that connect, which takes a thousand times as long. */
static void run_control(struct fuzz_shared *s, int who)
{
	uint64_t rnd = strtoull(vm_env("FUZZ_SEED", "1"), NULL, 0) * 31 + who + 1;
	double began = vm_now(), connecting = 0, now;
	int fd = -1, i;

	fuzz_cover_start(&cover, s);
	while (!s->stop) {
		now = vm_now();
		if (2 * connecting < now - began) {
			fd = tell(s, &rnd, fd, true);
			connecting += vm_now() - now;
			continue;
		}
		for (i = 0; i < REFUSALS; i++)
			fd = tell(s, &rnd, fd, false);
	}
}

/* --- trees ------------------------------------------------------------------------- */

/* Below a name that is to stay as it is? */
static bool only_read(const char *path)
{
	int i;

	for (i = 0; i < nr_kept_names; i++)
		if (strstr(path, kept_names[i]))
			return true;
	return false;
}

/* Walks down from the root, at random; returns what it stands at. */
static void some_path(uint64_t *rnd, char *path, size_t max)
{
	struct dirent *e;
	struct stat st;
	int n, depth;
	DIR *d;

	snprintf(path, max, "%s", root);
	for (depth = 0; depth < 6; depth++) {
		char next[300] = "";

		d = opendir(path);
		for (n = 1; d && (e = readdir(d));)
			if (e->d_name[0] != '.' && fuzz_one_in(rnd, n++))
				snprintf(next, sizeof(next), "/%s", e->d_name);
		if (d)
			closedir(d);
		if (!next[0] || strlen(path) + strlen(next) >= max)
			return;
		snprintf(path + strlen(path), max - strlen(path), "%s", next);
		if (lstat(path, &st) || !S_ISDIR(st.st_mode) || fuzz_one_in(rnd, 6))
			return;
	}
}

static int read_attribute(uint64_t *rnd, const char *path)
{
	char text[MAX_TEXT];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc;

	if (fd < 0)
		return -errno;
	rc = pread(fd, text, sizeof(text), vm_rnd(rnd) % 4 ? 0 : 7);
	close(fd);
	return rc;
}

/* What was kept of another one of that name is for this one, too. */
static size_t text_for(uint64_t *rnd, const char *path, char *to)
{
	static struct text t;
	const char *name, *other;
	size_t len = 0;

	if (fuzz_one_in(rnd, 3))
		len = kept_text(rnd, &t, to, MAX_TEXT);
	name = strrchr(path, '/');
	other = strrchr(t.path, '/');
	if (len && name && other && (!strcmp(name, other) || fuzz_one_in(rnd, 8)))
		return len;
	return some_text(rnd, to, MAX_TEXT);
}

static int write_attribute(uint64_t *rnd, const char *path, int fd)
{
	char text[MAX_TEXT];
	size_t len = text_for(rnd, path, text);
	int rc;

	fuzz_cover_before(&cover);
	rc = pwrite(fd, text, len, 0);
	if (fuzz_cover_after(&cover))
		keep(rnd, path, text, len);
	return rc;
}

static void touch_attribute(struct fuzz_shared *s, uint64_t *rnd, const char *path)
{
	int fd = only_read(path) ? -1 : open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK), i;

	for (i = 0; i < TURNS && !s->stop; i++) {
		/* Where nothing can be written, twice is enough. */
		if (fd < 0 && i == 2)
			break;
		if (fd < 0 || fuzz_one_in(rnd, 3)) {
			fuzz_cover_before(&cover);
			fuzz_count(s, read_attribute(rnd, path));
			fuzz_cover_after(&cover);
		} else {
			fuzz_count(s, write_attribute(rnd, path, fd));
		}
	}
	if (fd >= 0)
		close(fd);
}

static int change_directory(uint64_t *rnd, const char *path)
{
	static const char *const names[] = { "a", "b", "1", "7", "65536", "x y", "-", "client1" };
	char there[512], target[MAX_PATH];

	if (only_read(path))
		return 0;
	snprintf(there, sizeof(there), "%s/%s", path, names[vm_rnd(rnd) % ARRAY_SIZE(names)]);
	switch (vm_rnd(rnd) % 4) {
	case 0:
		return mkdir(there, 0755);
	case 1:
		return rmdir(strcmp(path, root) ? path : there);
	case 2:
		return unlink(there);
	default:
		some_path(rnd, target, sizeof(target));
		return symlink(target, there);
	}
}

static void run_tree(struct fuzz_shared *s, int who)
{
	uint64_t rnd = strtoull(vm_env("FUZZ_SEED", "1"), NULL, 0) * 77 + who + 1;
	char path[MAX_PATH];
	struct stat st;

	fuzz_cover_start(&cover, s);
	while (!s->stop) {
		some_path(&rnd, path, sizeof(path));
		if (lstat(path, &st))
			continue;
		if (S_ISREG(st.st_mode)) {
			touch_attribute(s, &rnd, path);
			continue;
		}
		fuzz_cover_before(&cover);
		if (S_ISDIR(st.st_mode))
			fuzz_count(s, change_directory(&rnd, path));
		else if (!only_read(path) && fuzz_one_in(&rnd, 4))
			fuzz_count(s, unlink(path));
		fuzz_cover_after(&cover);
	}
}

int main(int argc, char **argv)
{
	struct fuzz_shared *shared = fuzz_share();
	bool control = argc > 2 && !strcmp(argv[1], "control");
	int bad;

	if (!control && (argc < 4 || strcmp(argv[1], "tree"))) {
		fprintf(stderr, "usage: fuzz_text control|tree SECONDS [DIRECTORY [NAME]...]\n");
		return 2;
	}
	root = argv[3];
	kept_names = argv + 4;
	nr_kept_names = control ? 0 : argc - 4;
	texts = fuzz_corpus(sizeof(struct text), KEPT);
	setbuf(stdout, NULL);
	printf("TAP version 13\n1..2\n");
	bad = fuzz_processes(shared, fuzz_cpus(), atoi(argv[2]), control ? run_control : run_tree);
	printf("# seed %s: %llu calls, %llu refused, %llu places in the kernel, %u texts kept\n",
	       vm_env("FUZZ_SEED", "1"), (unsigned long long)shared->calls,
	       (unsigned long long)shared->failed,
	       (unsigned long long)shared->places, texts->nr);
	printf("%sok 1 - every call came back, no process was killed\n", bad ? "not " : "");
	bad |= !shared->calls || shared->failed >= shared->calls || !fuzz_cover_worked(shared);
	printf("%sok 2 - some were taken\n", bad ? "not " : "");
	return bad;
}
