// SPDX-License-Identifier: BSD-3-Clause
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "configfs.h"

#define CONFIGFS_MAGIC	0x62656570

static bool configfs_mounted(void)
{
	struct statfs fs;

	return !statfs(CFG_ROOT, &fs) && fs.f_type == CONFIGFS_MAGIC;
}

static int mount_configfs(void)
{
	int ret = module_need("configfs", CFG_ROOT);

	if (ret)
		return ret;
	if (mount("configfs", CFG_ROOT, "configfs", 0, NULL)) {
		ret = -errno;
		/* Somebody else, as systemd, may do it at the same time. */
		if (ret == -EBUSY && configfs_mounted())
			return 0;
		complain("cannot mount configfs on " CFG_ROOT ": %s", strerror(errno));
		if (ret == -EPERM)
			hint("run this as root");
	}
	return ret;
}

bool cfg_present(void)
{
	return !access(CFG_PMOF, F_OK);
}

int cfg_see(void)
{
	if (cfg_present() || access("/sys/module/pmof_server", F_OK) || configfs_mounted())
		return 0;
	return mount_configfs();
}

int cfg_prepare(void)
{
	int ret;

	if (cfg_present())
		return 0;
	if (!configfs_mounted()) {
		ret = mount_configfs();
		if (ret)
			return ret;
	}
	return module_need("pmof-server", CFG_PMOF);
}

static int make_path(char *path, const char *fmt, va_list args)
{
	size_t len = sizeof(CFG_PMOF);
	int n;

	memcpy(path, CFG_PMOF "/", len);
	n = vsnprintf(path + len, CFG_PATH_MAX - len, fmt, args);
	return n < 0 || (size_t)n >= CFG_PATH_MAX - len ? -ENAMETOOLONG : 0;
}

int cfg_mkdir(const char *fmt, ...)
{
	char path[CFG_PATH_MAX];
	va_list args;
	int ret;

	va_start(args, fmt);
	ret = make_path(path, fmt, args);
	va_end(args);
	if (ret)
		return ret;
	return mkdir(path, 0755) ? -errno : 0;
}

int cfg_rmdir(const char *fmt, ...)
{
	char path[CFG_PATH_MAX];
	va_list args;
	int ret;

	va_start(args, fmt);
	ret = make_path(path, fmt, args);
	va_end(args);
	if (ret)
		return ret;
	return rmdir(path) ? -errno : 0;
}

int cfg_write(const char *value, const char *fmt, ...)
{
	char path[CFG_PATH_MAX];
	size_t len = strlen(value);
	va_list args;
	ssize_t n;
	int fd, ret;

	va_start(args, fmt);
	ret = make_path(path, fmt, args);
	va_end(args);
	if (ret)
		return ret;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = write(fd, value, len);
	ret = n < 0 ? -errno : (size_t)n == len ? 0 : -EIO;
	close(fd);
	return ret;
}

/* All of it, without the newline at its end; what does not fit is an error, and not cut. */
static int read_value(int fd, char *buf)
{
	ssize_t n = read(fd, buf, CFG_VALUE_MAX - 1), more = 0;
	char end = '\n';

	if (n == CFG_VALUE_MAX - 1)
		more = read(fd, &end, 1);
	if (n < 0 || more < 0)
		return -errno;
	if (end != '\n')
		return -EOVERFLOW;
	buf[n] = '\0';
	if (n && buf[n - 1] == '\n')
		buf[n - 1] = '\0';
	return 0;
}

int cfg_read(char *buf, const char *fmt, ...)
{
	char path[CFG_PATH_MAX];
	va_list args;
	int fd, ret;

	va_start(args, fmt);
	ret = make_path(path, fmt, args);
	va_end(args);
	if (ret)
		return ret;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = read_value(fd, buf);
	close(fd);
	return ret;
}

bool read_line(char *buf, size_t size, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list args;
	bool ok;
	FILE *f;
	int n;

	va_start(args, fmt);
	n = vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(path))
		return false;
	f = fopen(path, "re");
	if (!f)
		return false;
	ok = fgets(buf, (int)size, f);
	fclose(f);
	if (ok)
		buf[strcspn(buf, "\n")] = '\0';
	return ok;
}

bool cfg_has(const char *fmt, ...)
{
	char path[CFG_PATH_MAX];
	struct stat st;
	va_list args;
	int ret;

	va_start(args, fmt);
	ret = make_path(path, fmt, args);
	va_end(args);
	return !ret && !lstat(path, &st);
}

static int link_path(char *path, const char *name, unsigned int port)
{
	int n = snprintf(path, CFG_PATH_MAX, CFG_PMOF "/ports/%u/namespaces/%s", port, name);

	return n < 0 || n >= CFG_PATH_MAX ? -ENAMETOOLONG : 0;
}

int cfg_unlink(const char *name, unsigned int port)
{
	char path[CFG_PATH_MAX];

	if (link_path(path, name, port))
		return -ENAMETOOLONG;
	return unlink(path) ? -errno : 0;
}

int cfg_symlink(const char *dir, const char *target, const char *name)
{
	char from[CFG_PATH_MAX], to[CFG_PATH_MAX];
	int n = snprintf(from, sizeof(from), CFG_PMOF "/%s/%s", dir, name);
	int m = snprintf(to, sizeof(to), CFG_PMOF "/%s/%s", target, name), ret;

	if (n < 0 || n >= CFG_PATH_MAX || m < 0 || m >= CFG_PATH_MAX)
		return -ENAMETOOLONG;
	ret = symlink(to, from) ? -errno : 0;
	/* The kernel says so also of a client that is in the namespace's other list. */
	return ret == -EEXIST && cfg_has("%s/%s", dir, name) ? 0 : ret;
}

int cfg_link(const char *name, unsigned int port)
{
	char dir[CFG_PATH_MAX];

	snprintf(dir, sizeof(dir), "ports/%u/namespaces", port);
	return cfg_symlink(dir, "namespaces", name);
}

static int allow_path(char *path, const char *name, const char *id, bool read_only)
{
	int n = snprintf(path, CFG_PATH_MAX, CFG_PMOF "/namespaces/%s/%s/%s", name,
			 CFG_ALLOWED(read_only), id);

	return n < 0 || n >= CFG_PATH_MAX ? -ENAMETOOLONG : 0;
}

int cfg_allow(const char *name, const char *id, bool read_only)
{
	char target[CFG_PATH_MAX], path[CFG_PATH_MAX];

	if (allow_path(path, name, id, read_only))
		return -ENAMETOOLONG;
	snprintf(target, sizeof(target), CFG_PMOF "/clients/%s", id);
	return symlink(target, path) ? -errno : 0;
}

int cfg_disallow(const char *name, const char *id, bool read_only)
{
	char path[CFG_PATH_MAX];

	if (allow_path(path, name, id, read_only))
		return -ENAMETOOLONG;
	return unlink(path) ? -errno : 0;
}

static int is_entry(const struct dirent *e)
{
	return e->d_name[0] != '.' && (e->d_type == DT_DIR || e->d_type == DT_LNK);
}

int cfg_names(struct cfg_names *names, const char *path)
{
	struct dirent **list;
	int i, n = scandir(path, &list, is_entry, versionsort);

	names->name = NULL;
	names->nr = 0;
	if (n < 0)
		return errno == ENOENT ? 0 : -errno;
	names->name = calloc(n ? (size_t)n : 1, sizeof(*names->name));
	for (i = 0; i < n; i++) {
		if (names->name)
			names->name[names->nr] = strdup(list[i]->d_name);
		if (names->name && names->name[names->nr])
			names->nr++;
		free(list[i]);
	}
	free(list);
	if (names->nr == n)
		return 0;
	cfg_names_free(names);
	return -ENOMEM;
}

void cfg_names_free(struct cfg_names *names)
{
	int i;

	for (i = 0; i < names->nr; i++)
		free(names->name[i]);
	free(names->name);
	names->name = NULL;
	names->nr = 0;
}
