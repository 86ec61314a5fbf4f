/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors that a program may have been started without. For every main() that is installed. */
#ifndef PMOF_TOOLS_STANDARD_FDS_H
#define PMOF_TOOLS_STANDARD_FDS_H

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * Standard input, output and error are open afterwards. Else the device that is opened next
 * would be one of them, and have our messages in its data. Where one was closed it is /dev/null
 * the wrong way round: to read from it, or to write to it, fails as if it were closed still.
 */
static inline void open_standard_fds(void)
{
	int fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			_exit(EXIT_FAILURE);
}

#endif /* PMOF_TOOLS_STANDARD_FDS_H */
