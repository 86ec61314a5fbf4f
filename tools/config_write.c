// SPDX-License-Identifier: BSD-3-Clause
/* Files in /etc/pmof that are written: config.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"

#define LINKS_MAX	40		/* one behind another, as the kernel follows them */

static int write_all(int fd, const char *text, size_t len)
{
	ssize_t n;

	while (len) {
		n = write(fd, text, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

/* What is called @path there, and no longer what was before. */
static int sync_dir(const char *path)
{
	char *dir = strdup(path), *slash = dir ? strrchr(dir, '/') : NULL;
	int fd, ret;

	if (!dir)
		return -ENOMEM;
	if (slash)
		slash[slash == dir] = '\0';
	fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ret = fd < 0 || fsync(fd) ? -errno : 0;
	if (fd >= 0)
		close(fd);
	free(dir);
	return ret;
}

static int write_text(int fd, struct json_object *o)
{
	const char *text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY |
							  JSON_C_TO_STRING_SPACED |
							  JSON_C_TO_STRING_NOSLASHESCAPE);
	int ret = text ? 0 : -ENOMEM;

	/* With its newline: what json_read() would not take is not written. */
	if (!ret && strlen(text) >= JSON_FILE_MAX)
		ret = -EFBIG;
	if (!ret)
		ret = write_all(fd, text, strlen(text));
	return ret ? ret : write_all(fd, "\n", 1);
}

/* A pipe, a device: nothing that could be replaced. */
static int write_into(const char *path, struct json_object *o)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int ret = fd < 0 ? -errno : write_text(fd, o);

	if (fd >= 0)
		close(fd);
	return ret;
}

int config_sync(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int ret = fd < 0 || fsync(fd) ? -errno : 0;

	if (fd >= 0)
		close(fd);
	return ret ? ret : sync_dir(path);
}

static int replace(const char *path, struct json_object *o)
{
	char *temp;
	int fd, ret;

	if (asprintf(&temp, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	fd = mkostemp(temp, O_CLOEXEC);	/* mode 0600 */
	ret = fd < 0 ? -errno : write_text(fd, o);
	/* The data before the name: a power cut must not leave an empty file. */
	if (!ret && fsync(fd))
		ret = -errno;
	if (fd >= 0)
		close(fd);
	if (!ret && rename(temp, path))
		ret = -errno;
	if (ret && fd >= 0)
		unlink(temp);
	free(temp);
	return ret ? ret : sync_dir(path);
}

/* Where link @path leads: text @to begins in its directory, unless at the root. */
static char *join(const char *path, const char *to)
{
	const char *slash = strrchr(path, '/');
	char *whole;
	int dir = *to == '/' || !slash ? 0 : (int)(slash - path) + 1;

	return asprintf(&whole, "%.*s%s", dir, path, to) < 0 ? NULL : whole;
}

/* What realpath(3) does not say of a link that leads to nothing: what it would lead to. */
static char *end_of_links(const char *path)
{
	char to[PATH_MAX], *name = strdup(path), *next;
	int i;
	ssize_t n;

	for (i = 0; name && i < LINKS_MAX; i++) {
		n = readlink(name, to, sizeof(to) - 1);
		if (n < 0)
			return name;
		to[n] = '\0';
		next = join(name, to);
		free(name);
		name = next;
	}
	errno = name ? ELOOP : ENOMEM;
	free(name);
	return NULL;
}

int config_write(const char *path, struct json_object *o)
{
	struct stat link, st;
	char *whole;
	bool there;
	int ret;

	if (lstat(path, &link))
		return errno == ENOENT ? replace(path, o) : -errno;
	there = !stat(path, &st);
	if (!there && errno != ENOENT)
		return -errno;
	if (there && !S_ISREG(st.st_mode))
		return write_into(path, o);
	if (!S_ISLNK(link.st_mode))
		return replace(path, o);
	whole = there ? realpath(path, NULL) : end_of_links(path);
	ret = whole ? replace(whole, o) : -errno;
	free(whole);
	return ret;
}
