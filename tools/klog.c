// SPDX-License-Identifier: BSD-3-Clause
/* The kernel's log: an errno says that something failed, the log says why. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

#define RECORD_MAX	8192	/* bytes of a record of /dev/kmsg */
#define LINES_MAX	4

int klog_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0 && lseek(fd, 0, SEEK_END) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

void klog_close(int fd)
{
	if (fd >= 0)
		close(fd);
}

/*
 * "PRIORITY,NUMBER,TIME,FLAGS;TEXT", then lines of which none is the text.
 * Returns the text if one of our modules wrote it, else NULL.
 */
static char *record_text(char *record)
{
	char *text = strchr(record, ';');

	if (!text)
		return NULL;
	text++;
	text[strcspn(text, "\n")] = '\0';
	return strncmp(text, "pmof", 4) ? NULL : text;
}

unsigned int klog_hint(int fd)
{
	char *record = malloc(RECORD_MAX), *text;
	unsigned int lines = 0;
	ssize_t n;

	while (record && fd >= 0 && lines < LINES_MAX) {
		n = read(fd, record, RECORD_MAX - 1);
		if (n < 0 && (errno == EPIPE || errno == EINTR))
			continue;	/* EPIPE: records were overwritten meanwhile */
		if (n <= 0)
			break;
		record[n] = '\0';
		text = record_text(record);
		if (!text)
			continue;
		hint("kernel: %s", text);
		lines++;
	}
	free(record);
	if (fd >= 0)
		close(fd);
	return lines;
}
