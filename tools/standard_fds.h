/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors that a program may have been started without. For every main() that is installed. */
#ifndef PMOF_TOOLS_STANDARD_FDS_H
#define PMOF_TOOLS_STANDARD_FDS_H

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * Standard input, output and error are open afterwards: where one was closed it is /dev/null.
 * Else the device that is opened next would be it, and have our messages in its data.
 */
static inline void open_standard_fds(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd < 0)
		_exit(EXIT_FAILURE);
	close(fd);
}

#endif /* PMOF_TOOLS_STANDARD_FDS_H */
