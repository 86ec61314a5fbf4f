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

PRINTF(3, 0)
static void vexplain(const struct reason *table, int error, const char *fmt, va_list args)
{
	const struct reason *reason;
	char what[512];
	const char *name;

	error = abs(error);
	reason = find_reason(table, error);
	name = strerrorname_np(error);
	vsnprintf(what, sizeof(what), fmt, args);
	complain("%s: %s (%s)", what, reason ? reason->cause : strerror(error),
		 name ? name : "unknown error");
	if (reason && reason->remedy)
		hint("%s", reason->remedy);
}

void explain(const struct reason *table, int error, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vexplain(table, error, fmt, args);
	va_end(args);
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
	{ EBUSY, "its disk is in use, and only that may write then",
	  "`lsblk` shows the file system, or what else holds it" },
	{ 0 }
};

void explain_device(int error, const char *device)
{
	explain(device_reasons, error, "%s", device);
}

static const struct reason data_reasons[] = {
	{ ERANGE, "past the end of the namespace", "`pmof info DEV` shows its size" },
	{ EROFS, "this session may only read",
	  "connect without --read-only, or export the namespace without it" },
	{ EBADF, "the device is not open for this direction", NULL },
	{ EINVAL, "the kernel does not take this request",
	  "the offset of cas and fetch-add must be a multiple of 8" },
	{ EOPNOTSUPP, "this session has no such operation", "`pmof info DEV` shows what it has" },
	{ EAGAIN, "the object is not committed, or was rewritten meanwhile",
	  "was it put with --commit, and with this length? After a crash of the server: `pmof "
	  "revalidate DEV OFFSET LEN`" },
	{ ESTALE, "the object is not prepared with this generation",
	  "`pmof prepare DEV OFFSET LEN` gives one, good for one committed put of LEN less 8 "
	  "bytes" },
	{ EIO, "the connection was lost before the operation was acknowledged, or a bad sector is in the range",
	  "`pmof list` shows the state; `pmof disconnect` and `pmof connect` make a new one" },
	{ ENODEV, "the device was disconnected",
	  "what was under way may have happened; `pmof connect` makes a new one" },
	{ ENOMEM, "out of memory", NULL },
	{ 0 }
};

void explain_data(int error, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vexplain(data_reasons, error, fmt, args);
	va_end(args);
}

/* It is told once: the next PERSIST has nothing left to fail with. */
static const struct reason persist_reasons[] = {
	{ EIO, "the server has restarted or does not answer: what was put before and not persisted may be gone",
	  "put it again; that a later persist succeeds does not say that it is there" },
	{ ENODEV, "the device was disconnected: what was put before and not persisted may be gone",
	  "`pmof connect` makes a new one; put it again there" },
	{ 0 }
};

void explain_persist(int error, const char *fmt, ...)
{
	bool own = find_reason(persist_reasons, abs(error));
	va_list args;

	va_start(args, fmt);
	vexplain(own ? persist_reasons : data_reasons, error, fmt, args);
	va_end(args);
}
