// SPDX-License-Identifier: BSD-3-Clause
/* Devices, attributes and counters, as sysfs shows them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "internal.h"

/* The canonical decimal form only: no sign, no leading zero, no blank. */
static int parse_instance(const char *s, int *instance)
{
	long n = 0;

	if (!*s || (s[0] == '0' && s[1]))
		return -EINVAL;
	for (; *s; s++) {
		if (*s < '0' || *s > '9')
			return -EINVAL;
		n = n * 10 + (*s - '0');
		if (n > INT_MAX)
			return -EINVAL;
	}
	*instance = (int)n;
	return 0;
}

/* "pmof0", "pmofc0" or "0". */
int pmof_name_to_instance(const char *name, int *instance)
{
	if (!strncmp(name, "pmof", 4))
		name += name[4] == 'c' ? 5 : 4;
	return parse_instance(name, instance);
}

int pmof_rdev_to_instance(unsigned int major, unsigned int minor, int *instance)
{
	char path[64], target[PMOF_PATH_MAX];
	const char *base;
	ssize_t len;

	snprintf(path, sizeof(path), "/sys/dev/char/%u:%u", major, minor);
	len = readlink(path, target, sizeof(target) - 1);
	if (len < 0)
		return -ENODEV;
	target[len] = '\0';
	base = strrchr(target, '/');
	base = base ? base + 1 : target;
	if (strncmp(base, "pmofc", 5) != 0 || parse_instance(base + 5, instance))
		return -ENODEV;
	return 0;
}

static bool device_exists(int instance)
{
	char path[PMOF_PATH_MAX];

	snprintf(path, sizeof(path), PMOF_SYSFS_CLASS "/pmof%d", instance);
	return !access(path, F_OK);
}

static int path_to_instance(const char *path, int *instance)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	if (!S_ISCHR(st.st_mode))
		return -ENODEV;
	return pmof_rdev_to_instance(major(st.st_rdev), minor(st.st_rdev), instance);
}

int pmof_lookup(const char *device, int *instance)
{
	int n = 0, ret;

	if (strchr(device, '/'))
		ret = path_to_instance(device, &n);
	else
		ret = pmof_name_to_instance(device, &n);
	if (ret)
		return ret;
	if (!device_exists(n))
		return -ENODEV;
	*instance = n;
	return 0;
}

static int compare_int(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

static int append_int(int **list, int n, int value)
{
	int *grown = realloc(*list, (n + 1) * sizeof(**list));

	if (!grown)
		return -ENOMEM;
	grown[n] = value;
	*list = grown;
	return 0;
}

int pmof_list(int **instances)
{
	struct dirent *e;
	int n = 0, ret = 0, value;
	DIR *dir;

	*instances = NULL;
	dir = opendir(PMOF_SYSFS_CLASS);
	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	while (!ret && (e = readdir(dir))) {
		if (strncmp(e->d_name, "pmof", 4) != 0 || parse_instance(e->d_name + 4, &value))
			continue;
		ret = append_int(instances, n, value);
		if (!ret)
			n++;
	}
	closedir(dir);
	if (ret) {
		free(*instances);
		*instances = NULL;
		return ret;
	}
	if (n)
		qsort(*instances, n, sizeof(**instances), compare_int);
	return n;
}

/* Reads a small text file, without its trailing newline. */
int pmof_read_file(const char *path, char *buf, size_t size)
{
	size_t len = 0;
	ssize_t n;
	int fd, ret = 0;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (len < size && (n = read(fd, buf + len, size - len)) != 0) {
		if (n < 0 && errno != EINTR) {
			ret = -errno;
			break;
		}
		len += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	if (ret)
		return ret;
	if (len && buf[len - 1] == '\n')
		len--;
	if (len >= size)
		return -E2BIG;
	buf[len] = '\0';
	return 0;
}

static int make_path(char *path, int instance, const char *dir, const char *name)
{
	int n;

	if (!*name || *name == '.' || strchr(name, '/'))
		return -EINVAL;
	n = snprintf(path, PMOF_PATH_MAX, PMOF_SYSFS_CLASS "/pmof%d/%s%s", instance, dir, name);
	return n < 0 || n >= PMOF_PATH_MAX ? -ENOENT : 0;
}

static int read_device_file(int instance, const char *dir, const char *name, char *buf,
			    size_t size)
{
	char path[PMOF_PATH_MAX];
	int ret = make_path(path, instance, dir, name);

	if (ret)
		return ret;
	ret = pmof_read_file(path, buf, size);
	if (ret == -ENOENT && !device_exists(instance))
		ret = -ENODEV;
	return ret;
}

int pmof_read_attr(int instance, const char *name, char *buf, size_t size)
{
	return read_device_file(instance, "", name, buf, size);
}

/* One write: sysfs takes an attribute's text whole. */
static int write_file(const char *path, const char *text)
{
	size_t len = strlen(text);
	int fd, ret;
	ssize_t n;

	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = write(fd, text, len);
	ret = n < 0 ? -errno : (size_t)n == len ? 0 : -EIO;
	close(fd);
	return ret;
}

int pmof_write_attr(int instance, const char *name, const char *text)
{
	char path[PMOF_PATH_MAX];
	int ret = make_path(path, instance, "", name);

	if (ret)
		return ret;
	ret = write_file(path, text);
	if (ret == -ENOENT && !device_exists(instance))
		ret = -ENODEV;
	return ret;
}

static const char *side_dir(enum pmof_side side)
{
	return side == PMOF_SIDE_SERVER ? "server_stats/" : "stats/";
}

int pmof_read_counter(int instance, enum pmof_side side, const char *name, uint64_t *value)
{
	char text[32], *end;
	int ret;

	ret = read_device_file(instance, side_dir(side), name, text, sizeof(text));
	if (ret)
		return ret;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return errno || end == text || *end ? -EIO : 0;
}

static int compare_counter(const void *a, const void *b)
{
	return strverscmp(((const struct pmof_counter *)a)->name,
			  ((const struct pmof_counter *)b)->name);
}

static int append_counter(struct pmof_counter **list, int n, const char *name)
{
	struct pmof_counter *grown;
	size_t len = strlen(name);

	if (len >= sizeof(grown->name))
		return -E2BIG;
	grown = realloc(*list, (n + 1) * sizeof(**list));
	if (!grown)
		return -ENOMEM;
	memset(&grown[n], 0, sizeof(grown[n]));
	memcpy(grown[n].name, name, len);
	*list = grown;
	return 0;
}

static int list_counters(int instance, enum pmof_side side, struct pmof_counter **list)
{
	char path[PMOF_PATH_MAX];
	struct dirent *e;
	int n = 0, ret = 0;
	DIR *dir;

	snprintf(path, sizeof(path), PMOF_SYSFS_CLASS "/pmof%d/%s", instance, side_dir(side));
	dir = opendir(path);
	if (!dir)
		return errno != ENOENT || device_exists(instance) ? -errno : -ENODEV;
	while (!ret && (e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		ret = append_counter(list, n, e->d_name);
		if (!ret)
			n++;
	}
	closedir(dir);
	return ret < 0 ? ret : n;
}

int pmof_read_counters(int instance, enum pmof_side side, struct pmof_counter **counters)
{
	struct pmof_counter *list = NULL;
	int n, i, ret = 0;

	*counters = NULL;
	n = list_counters(instance, side, &list);
	if (n <= 0 || !list) {
		free(list);
		return n;
	}
	qsort(list, n, sizeof(*list), compare_counter);
	for (i = 0; i < n && !ret; i++)
		ret = pmof_read_counter(instance, side, list[i].name, &list[i].value);
	if (ret) {
		free(list);
		return ret;
	}
	*counters = list;
	return n;
}
