// SPDX-License-Identifier: GPL-2.0
/*
 * Writes 4 KiB with O_DIRECT and O_DSYNC, one after the other, and tells when one took long, or
 * came after an error:
 *
 *   first_io DEVICE SECONDS
 *
 * Prints "ACK TIME" (CLOCK_BOOTTIME, in seconds) for the last acknowledgement before each gap of more
 * than half a second, "BACK TIME ERRORS" for the first one behind it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BYTES	4096
#define GAP	0.5

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double end, last, t;
	unsigned long errors = 0;
	void *buf;
	int fd;

	if (argc != 3 || posix_memalign(&buf, BYTES, BYTES))
		return 2;
	fd = open(argv[1], O_RDWR | O_DIRECT | O_DSYNC);
	if (fd < 0) {
		fprintf(stderr, "first_io: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	memset(buf, 0x5a, BYTES);
	last = now();
	end = last + atof(argv[2]);
	while (now() < end) {
		if (pwrite(fd, buf, BYTES, 1 << 20) != BYTES) {
			errors++;
			usleep(10000);
			continue;
		}
		t = now();
		if (t - last > GAP || errors) {
			printf("ACK %.3f\nBACK %.3f %lu\n", last, t, errors);
			fflush(stdout);
		}
		errors = 0;
		last = t;
	}
	return errors ? 1 : 0;
}
