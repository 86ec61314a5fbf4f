// SPDX-License-Identifier: BSD-3-Clause
/* Why a block device cannot be exported: its mode, or who holds it. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "server.h"

/* One line of a file in the device's directory of sysfs; false: there is none. */
static bool read_block_attr(const char *device, const char *attr, char *buf, size_t size)
{
	struct stat st;

	return !stat(device, &st) && S_ISBLK(st.st_mode) &&
	       read_line(buf, size, "/sys/dev/block/%u:%u/%s", major(st.st_rdev),
			 minor(st.st_rdev), attr) && *buf;
}

/* The libnvdimm namespace (namespace0.0) behind a block device. */
static bool find_ndctl_name(const char *device, char *buf, size_t size)
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *base;
	struct stat st;

	if (read_block_attr(device, "device/namespace", buf, size))
		return true;
	if (stat(device, &st))
		return false;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/device", major(st.st_rdev),
		 minor(st.st_rdev));
	if (!realpath(path, target))
		return false;
	base = strrchr(target, '/') + 1;
	if (strncmp(base, "namespace", 9) != 0)
		return false;
	snprintf(buf, size, "%.31s", base);
	return true;
}

void pmem_explain_mode(const char *device)
{
	char name[64];

	if (find_ndctl_name(device, name, sizeof(name))) {
		hint("`ndctl create-namespace -f -e %s -m fsdax` makes it one, and erases it",
		     name);
		return;
	}
	hint("it is no pmem device: `ndctl create-namespace -m fsdax` makes one, "
	     "`ndctl list -N` shows those there are");
}

/* Prints the mounts of a device: mountinfo has MAJOR:MINOR third and the place fifth. */
static bool print_mounts(const struct stat *st)
{
	unsigned int maj, min;
	char *line = NULL, place[256];
	bool any = false;
	size_t size = 0;
	FILE *f = fopen("/proc/self/mountinfo", "re");

	if (!f)
		return false;
	while (getline(&line, &size, f) > 0) {
		if (sscanf(line, "%*d %*d %u:%u %*s %255s", &maj, &min, place) != 3 ||
		    maj != major(st->st_rdev) || min != minor(st->st_rdev))
			continue;
		hint("it is mounted on %s: `umount %s`", place, place);
		any = true;
	}
	free(line);
	fclose(f);
	return any;
}

static bool print_kernel_holders(const struct stat *st)
{
	struct cfg_names holders;
	char path[64];
	bool any;
	int i;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/holders", major(st->st_rdev),
		 minor(st->st_rdev));
	if (cfg_names(&holders, path))
		return false;
	for (i = 0; i < holders.nr; i++)
		hint("it is part of /dev/%s", holders.name[i]);
	any = holders.nr > 0;
	cfg_names_free(&holders);
	return any;
}

static bool same_device(const char *path, const struct stat *st)
{
	struct stat other;

	return !stat(path, &other) && S_ISBLK(other.st_mode) && other.st_rdev == st->st_rdev;
}

static bool print_exports(const struct stat *st)
{
	char path[CFG_VALUE_MAX], enabled[CFG_VALUE_MAX];
	struct cfg_names names;
	bool any = false;
	int i;

	if (cfg_names(&names, CFG_PMOF "/namespaces"))
		return false;
	for (i = 0; i < names.nr; i++) {
		if (cfg_read(path, "namespaces/%s/device_path", names.name[i]) ||
		    cfg_read(enabled, "namespaces/%s/enable", names.name[i]) ||
		    strcmp(enabled, "1") != 0 || !same_device(path, st))
			continue;
		hint("it is already exported as '%s'", names.name[i]);
		any = true;
	}
	cfg_names_free(&names);
	return any;
}

void pmem_explain_holders(const char *device)
{
	struct stat st;
	bool any;

	if (stat(device, &st))
		return;
	any = print_mounts(&st);
	any |= print_kernel_holders(&st);
	any |= print_exports(&st);
	if (!any)
		hint("`fuser -v %s` shows who", device);
}
