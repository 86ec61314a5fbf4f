// SPDX-License-Identifier: BSD-3-Clause
/* Messages: what failed, why, and what to do about it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool.h"

void complain(const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	fputs("pmof: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

void hint(const char *fmt, ...)
{
	va_list args;

	fputs("      ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

static const struct reason *find_reason(const struct reason *table, int error)
{
	for (; table && table->error; table++)
		if (table->error == error)
			return table;
	return NULL;
}

void explain(const struct reason *table, int error, const char *fmt, ...)
{
	const struct reason *reason;
	char what[512];
	const char *name;
	va_list args;

	error = abs(error);
	reason = find_reason(table, error);
	name = strerrorname_np(error);
	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	complain("%s: %s (%s)", what, reason ? reason->cause : strerror(error),
		 name ? name : "unknown error");
	if (reason && reason->remedy)
		hint("%s", reason->remedy);
}

static const struct reason device_reasons[] = {
	{ EINVAL, "not the name of a pmof device",
	  "give pmof0, 0, /dev/pmofc0 or a path under /dev/pmof/by-name" },
	{ ENODEV, "no such pmof device",
	  "`pmof list` shows the devices, `pmof connect ADDR NAME` makes one" },
	{ ENXIO, "no such pmof device", "`pmof list` shows the devices" },
	{ ENOENT, "no such device node",
	  "`pmof list` shows the devices, `pmof connect ADDR NAME` makes one" },
	{ EACCES, "no permission", "run as root, or join the group of the device node" },
	{ EROFS, "this session may only read", "connect without --read-only, or export "
	  "the namespace without it" },
	{ 0 }
};

void explain_device(int error, const char *device)
{
	explain(device_reasons, error, "%s", device);
}
