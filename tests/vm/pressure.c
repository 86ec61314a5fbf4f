// SPDX-License-Identifier: GPL-2.0
/*
 * Dirties much more memory than there is, three ways at once, in files of a directory:
 * a stream of large writes, small writes all over a file, and stores into a mapping. It
 * needs next to no memory itself. What each page holds follows from file and place.
 *
 * usage: pressure write|verify DIR MIB
 */
#include <stdio.h>
#include <sys/wait.h>

#include "vm.h"

#define PAGE	4096u
#define CHUNK	(64 * KiB)

static const char * const kinds[] = { "stream", "random", "mapped" };

static char chunk[CHUNK];

static void die(const char *what)
{
	fprintf(stderr, "pressure: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void fill(char *page, int file, uint64_t number)
{
	uint64_t state = (number + 1) << 2 | file;

	vm_fill(&state, page, PAGE);
}

/* Every number below @nr once, far from the one before: @nr is a power of two. */
static uint64_t scattered(uint64_t i, uint64_t nr)
{
	return (i * 40503 + 12345) & (nr - 1);
}

static void write_at(int fd, uint64_t at, size_t len)
{
	if (pwrite(fd, chunk, len, at) != (ssize_t)len)
		die("write");
}

static void stream(int fd, uint64_t pages)
{
	uint64_t i, k;

	for (i = 0; i < pages; i += CHUNK / PAGE) {
		for (k = 0; k < CHUNK / PAGE; k++)
			fill(chunk + k * PAGE, 0, i + k);
		write_at(fd, i * PAGE, CHUNK);
	}
}

static void at_random(int fd, uint64_t pages)
{
	uint64_t i, at;

	for (i = 0; i < pages; i++) {
		at = scattered(i, pages);
		fill(chunk, 1, at);
		write_at(fd, at * PAGE, PAGE);
	}
}

static void mapped(int fd, uint64_t pages)
{
	char *map;
	uint64_t i, at;

	if (ftruncate(fd, pages * PAGE))
		die("ftruncate");
	map = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		die("mmap");
	for (i = 0; i < pages; i++) {
		at = scattered(i, pages);
		fill(map + at * PAGE, 2, at);
	}
	if (msync(map, pages * PAGE, MS_SYNC))
		die("msync");
}

static int open_file(const char *dir, int file, int flags)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, kinds[file]);
	fd = open(path, flags | O_CLOEXEC, 0644);
	if (fd < 0)
		die(path);
	return fd;
}

static void write_file(const char *dir, int file, uint64_t pages)
{
	static void (*const how[])(int fd, uint64_t pages) = { stream, at_random, mapped };
	int fd = open_file(dir, file, O_RDWR | O_CREAT | O_TRUNC);

	how[file](fd, pages);
	if (fsync(fd))
		die("fsync");
}

static void verify_file(const char *dir, int file, uint64_t pages)
{
	int fd = open_file(dir, file, O_RDONLY);
	static char expected[PAGE];
	uint64_t i, k;

	for (i = 0; i < pages; i += CHUNK / PAGE) {
		if (pread(fd, chunk, CHUNK, i * PAGE) != (ssize_t)CHUNK)
			die("read");
		for (k = 0; k < CHUNK / PAGE; k++) {
			fill(expected, file, i + k);
			if (!memcmp(expected, chunk + k * PAGE, PAGE))
				continue;
			fprintf(stderr, "pressure: page %llu of %s is wrong\n",
				(unsigned long long)i + k, kinds[file]);
			exit(1);
		}
	}
}

int main(int argc, char **argv)
{
	uint64_t pages = argc == 4 ? strtoull(argv[3], NULL, 10) * MiB / PAGE : 0;
	bool verify = argc == 4 && !strcmp(argv[1], "verify");
	int file, status, worst = 0;
	pid_t pid;

	if (!pages || (pages & (pages - 1)) || (!verify && strcmp(argv[1], "write"))) {
		fprintf(stderr, "usage: pressure write|verify DIR MIB (a power of two)\n");
		return 2;
	}
	for (file = 0; file < 3; file++) {
		pid = fork();
		if (pid < 0) {
			perror("pressure: fork");
			worst = 1;
		}
		if (pid)
			continue;
		(verify ? verify_file : write_file)(argv[2], file, pages);
		return 0;
	}
	while (wait(&status) > 0)
		worst |= status;
	return worst != 0;
}
