// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "lock.h"
#include "parse.h"

#define WAIT_MS		30000	/* the kernel's attempt ends in less, if nobody answers */
#define LOOK_MS		50

static int lock_path(const char *path)
{
	const struct timespec pause = { .tv_nsec = LOOK_MS * 1000000L };
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600), i;

	/* Who may not make it may not do the rest either, or has no /run: then there is no unit, too. */
	for (i = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB); i++) {
		if (i == WAIT_MS / LOOK_MS) {
			close(fd);
			return -EALREADY;
		}
		nanosleep(&pause, NULL);
	}
	return fd;
}

/* However the address is spelled. */
int lock_connect(const struct pmof_connect_args *args)
{
	char path[256], host[HOST_KEY_MAX];

	snprintf(path, sizeof(path), "/run/pmof-connect.%s.%u.%s.lock",
		 host_key(args->addr, host), args->port, args->name);
	return lock_path(path);
}

int lock_save(void)
{
	return lock_path("/run/pmof-save.lock");
}

void unlock(int lock)
{
	if (lock >= 0)
		close(lock);
}
