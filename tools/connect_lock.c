// SPDX-License-Identifier: BSD-3-Clause
/* One at a time connects to a namespace: a lock on a file for each, under /run. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "connect_file.h"
#include "parse.h"

#define WAIT_MS		30000	/* the kernel's attempt ends in less, if nobody answers */
#define LOOK_MS		50

/* However the address is spelled. */
static int open_lock(const struct pmof_connect_args *args)
{
	char path[256], host[HOST_KEY_MAX];

	snprintf(path, sizeof(path), "/run/pmof-connect.%s.%u.%s.lock",
		 host_key(args->addr, host), args->port, args->name);
	return open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

int connect_lock(const struct pmof_connect_args *args)
{
	const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000L };
	int fd = open_lock(args), i;

	/* Who may not make it may not connect either, or has no /run: then there is no unit, too. */
	for (i = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB); i++) {
		if (i == WAIT_MS / LOOK_MS) {
			close(fd);
			return -EALREADY;
		}
		nanosleep(&pause, NULL);
	}
	return fd;
}

void connect_unlock(int lock)
{
	if (lock >= 0)
		close(lock);
}
