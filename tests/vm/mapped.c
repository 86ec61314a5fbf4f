// SPDX-License-Identifier: GPL-2.0
/*
 * Load through a shared mapping of a disk, until the disk is gone: stores at
 * random places of the first 64 MiB, and msyncs.
 *
 * usage: mapped DEVICE
 *
 * Exit status: 1 when it has got an error or SIGBUS, 2 if it could not begin.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES	(64UL << 20)
#define PAGE	4096
#define STORES	64	/* from one msync to the next */

static void on_bus(int sig)
{
	(void)sig;
	_exit(1);
}

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDWR) : -1, i;
	char *map;

	if (fd < 0) {
		perror("mapped");
		return 2;
	}
	map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		perror("mapped");
		return 2;
	}
	signal(SIGBUS, on_bus);
	do {
		for (i = 0; i < STORES; i++)
			map[random() % (BYTES / PAGE) * PAGE] += 1;
	} while (!msync(map, BYTES, MS_SYNC));
	return 1;
}
