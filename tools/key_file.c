// SPDX-License-Identifier: BSD-3-Clause
/* Files with a client's key: one line of hexadecimal digits, nobody else's to read. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "key_file.h"

#define TEXT_MAX	(KEY_TEXT_MAX + 1)	/* with a newline */

static int check_file(int fd, bool kept)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (S_ISFIFO(st.st_mode) && !kept)
		return 0;
	if (!S_ISREG(st.st_mode))
		return -EBADF;
	if (st.st_mode & 077)
		return -EPERM;
	return st.st_uid && st.st_uid != geteuid() ? -EACCES : 0;
}

/* A pipe gives it in pieces. Return: bytes, with a NUL behind them, or a negative errno. */
static int read_text(int fd, char text[TEXT_MAX + 1])
{
	int len = 0;
	ssize_t n;

	do {
		n = read(fd, text + len, TEXT_MAX - len);
		if (n < 0 && errno != EINTR)
			return -errno;
		len += n > 0 ? n : 0;
	} while (n && len < TEXT_MAX);
	text[len] = '\0';
	return len;
}

static int take_key(int fd, char key[KEY_TEXT_MAX])
{
	char text[TEXT_MAX + 1];
	int n = read_text(fd, text), len, ret = n;

	if (n >= 0) {
		len = strspn(text, "0123456789abcdefABCDEF");
		ret = -EINVAL;
		if (len >= 32 && len < KEY_TEXT_MAX && len % 2 == 0 &&
		    (n == len || (n == len + 1 && text[len] == '\n'))) {
			snprintf(key, KEY_TEXT_MAX, "%.*s", len, text);
			ret = 0;
		}
	}
	explicit_bzero(text, sizeof(text));
	return ret;
}

static const char *reason(int error)
{
	switch (error) {
	case -EINVAL:
		return "holds no key: 32 to 128 hexadecimal digits, an even number";
	case -EPERM:
		return "may be read by others than its owner: it wants mode 0600";
	case -EACCES:
		return "belongs to somebody else, or may not be read";
	case -EBADF:
		return "is not a regular file";
	default:
		return strerror(-error);
	}
}

int key_file_read(const char *path, bool kept, char key[KEY_TEXT_MAX], char *why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | (kept ? O_NOFOLLOW | O_NONBLOCK : 0));
	int ret = fd < 0 ? -errno : check_file(fd, kept);

	*key = '\0';
	if (!ret)
		ret = take_key(fd, key);
	if (fd >= 0)
		close(fd);
	if (ret)
		snprintf(why, WHY_MAX, "%s: %s", path, reason(ret));
	return ret;
}
