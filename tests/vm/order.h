/* SPDX-License-Identifier: GPL-2.0 */
/* Commands that the server's script runs for us (obey() of guest/lib.sh). */
#ifndef PMOF_ORDER_H
#define PMOF_ORDER_H

#include "vm.h"

#define ORDER_DIR	"/host/orders"

/* Runs a line of shell on the server, as by printf; its exit status, or -errno. */
__attribute__((format(printf, 1, 2)))
static inline int order(const char *fmt, ...)
{
	static unsigned int number;
	char path[128], done[128];
	double until = vm_now() + 60;
	int status = -EIO;
	va_list args;
	FILE *f;

	snprintf(done, sizeof(done), ORDER_DIR "/%d-%u.done", getpid(), ++number);
	snprintf(path, sizeof(path), ORDER_DIR "/%d-%u.tmp", getpid(), number);
	f = fopen(path, "w");
	if (!f)
		return -errno;
	va_start(args, fmt);
	vfprintf(f, fmt, args);
	va_end(args);
	fputc('\n', f);
	fclose(f);
	snprintf(done, sizeof(done), ORDER_DIR "/%d-%u.cmd", getpid(), number);
	if (rename(path, done))
		return -errno;
	snprintf(done, sizeof(done), ORDER_DIR "/%d-%u.done", getpid(), number);
	do {
		f = fopen(done, "r");
		if (f) {
			if (fscanf(f, "%d", &status) != 1)
				status = -EIO;
			fclose(f);
			return status;
		}
		usleep(10000);
	} while (vm_now() < until);
	return -ETIMEDOUT;
}

#endif /* PMOF_ORDER_H */
