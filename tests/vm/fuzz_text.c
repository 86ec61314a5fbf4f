// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes what is told to the modules in words: the options of /dev/pmof-control, and
 * trees of attributes (sysfs of a connection, the server's configfs), in which
 * directories and links are made and removed as well.
 *
 * usage: fuzz_text control SECONDS
 *        fuzz_text tree SECONDS DIRECTORY [NAME]...	names that are only read below it
 * Prints TAP.
 */
#include <ctype.h>
#include <dirent.h>

#include "fuzz.h"

#define MAX_TEXT	8192

static char **kept_names;
static int nr_kept_names;
static const char *root;

static const char *const words[] = {
	"0", "1", "-1", "2", "4", "64", "127", "128", "512", "4096", "65535", "65536", "20049",
	"4294967295", "4294967296", "18446744073709551615", "0x10", "1e3", "", " ", "\n", "none",
	"data", "other", "client1", "a", "..", "/", "*", "%s%n", "auto", "read", "assist", "rpc",
	"flush", "memory", "assert-memory", "set-memory", "writeback", "writethrough", "yes", "y",
	"/dev/pmem0", "/dev/null", "/dev/zero", "/dev/", "/", "/dev/ram0", "/proc/self/mem",
	"10.77.0.1", "10.77.0.1:20049", "0.0.0.0", "::", "[::]:20049", "fd77::1", "127.0.0.1",
	"255.255.255.255", "fe80::1%eth0", "10.77.0.1:", ":1", "localhost",
	"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff", "zz",
};

static const char *const keys[] = {
	"addr", "port", "name", "queues", "depth", "persist", "id", "read_only", "poll_queues",
	"block", "block_size", "cache", "keep_alive_tmo", "reconnect_delay", "fail_io_timeout",
	"device_loss_timeout", "max_call", "key", "exclusive", "takeover", "unknown",
};

/* One word, or bytes of any kind; returns the length. */
static size_t some_text(uint64_t *rnd, char *to, size_t max)
{
	uint64_t v = vm_rnd(rnd);
	size_t len;

	switch (v % 12) {
	case 0:
		len = (v >> 8) % max;
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

/* --- connecting ----------------------------------------------------------------- */

/* @whole: all that a connection needs is among them. */
static size_t some_options(uint64_t *rnd, char *to, size_t max, bool whole)
{
	size_t len = 0;
	int n = vm_rnd(rnd) % 5;

	if (whole)
		len = snprintf(to, max, "addr=%s,name=%s", vm_env("LAB_SERVER_IP", "10.77.0.1"),
			       fuzz_one_in(rnd, 3) ? "nothing" : vm_env("PMOF_NS", "data"));
	while (n-- && len + 400 < max) {
		const char *key = keys[vm_rnd(rnd) % ARRAY_SIZE(keys)];

		/* Where there is no server it would only take long. */
		if (!strcmp(key, "addr") || !strcmp(key, "port"))
			continue;
		len += snprintf(to + len, max - len, "%s%s=", len ? "," : "", key);
		len += some_text(rnd, to + len, 320);
	}
	if (fuzz_one_in(rnd, 8))
		fuzz_damage(rnd, to, len, 2);
	return len;
}

/* Half of the time is for options that connect, which takes a thousand times as long. */
static void run_control(struct fuzz_shared *s, int who)
{
	uint64_t rnd = strtoull(vm_env("FUZZ_SEED", "1"), NULL, 0) * 31 + who + 1;
	double began = vm_now(), connecting = 0, since;
	char text[MAX_TEXT], answer[64];
	int fd, instance;
	ssize_t n;

	while (!s->stop) {
		bool whole = 2 * connecting < vm_now() - began;
		size_t len = some_options(&rnd, text, sizeof(text), whole);

		since = vm_now();
		fd = open("/dev/pmof-control", O_RDWR | O_CLOEXEC);
		if (fd < 0)
			_exit(2);
		n = write(fd, text, len);
		fuzz_count(s, n < 0 ? -1 : 0);
		if (n > 0) {
			n = read(fd, answer, sizeof(answer) - 1);
			answer[n > 0 ? n : 0] = '\0';
			if (sscanf(answer, "instance=%d", &instance) == 1 &&
			    vm_disconnect(instance))
				_exit(4);
		}
		close(fd);
		if (whole)
			connecting += vm_now() - since;
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

static int touch_attribute(uint64_t *rnd, const char *path)
{
	char text[MAX_TEXT];
	int fd, rc;

	if (fuzz_one_in(rnd, 3) || only_read(path)) {
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		rc = fd < 0 ? -errno : pread(fd, text, sizeof(text), vm_rnd(rnd) % 4 ? 0 : 7);
	} else {
		fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
		rc = fd < 0 ? -errno : write(fd, text, some_text(rnd, text, sizeof(text)));
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

static int change_directory(uint64_t *rnd, const char *path)
{
	static const char *const names[] = { "a", "b", "1", "7", "65536", "x y", "-", "client1" };
	char there[512], target[480];

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
	char path[480];
	struct stat st;
	int i, rc;

	while (!s->stop) {
		some_path(&rnd, path, sizeof(path));
		if (lstat(path, &st))
			continue;
		if (S_ISDIR(st.st_mode))
			rc = change_directory(&rnd, path);
		else if (S_ISLNK(st.st_mode))
			rc = only_read(path) || !fuzz_one_in(&rnd, 4) ? 0 : unlink(path);
		else	/* some times: the way there costs more */
			for (i = 0, rc = touch_attribute(&rnd, path); i < 3; i++) {
				fuzz_count(s, rc);
				rc = touch_attribute(&rnd, path);
			}
		fuzz_count(s, rc);
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
	setbuf(stdout, NULL);
	printf("TAP version 13\n1..2\n");
	bad = fuzz_processes(shared, 2, atoi(argv[2]), control ? run_control : run_tree);
	printf("# %llu calls, %llu refused\n", (unsigned long long)shared->calls,
	       (unsigned long long)shared->failed);
	printf("%sok 1 - every call came back, no process was killed\n", bad ? "not " : "");
	bad |= !shared->calls || shared->failed >= shared->calls;
	printf("%sok 2 - some were taken\n", bad ? "not " : "");
	return bad;
}
