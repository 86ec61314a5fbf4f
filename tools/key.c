// SPDX-License-Identifier: BSD-3-Clause
/* Files with a client's key: one line of hexadecimal digits, nobody else's to read. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool.h"

#define KEY_BYTES	32

static const struct reason key_reasons[] = {
	{ ENOENT, "no such file", "`pmof server client add ID --generate FILE` makes one" },
	{ EEXIST, "it exists", "choose another name, or use it with --key" },
	{ 0 }
};

/* 32 to 128 digits, an even number of them, and at most one newline behind. */
static int check_digits(char *text)
{
	size_t len = strlen(text), i;

	if (len && text[len - 1] == '\n')
		text[--len] = '\0';
	if (len % 2 || len < 32 || len > 128)
		return -EINVAL;
	for (i = 0; i < len; i++)
		if (!isxdigit((unsigned char)text[i]))
			return -EINVAL;
	return 0;
}

static int read_all(int fd, char text[KEY_TEXT_MAX])
{
	ssize_t n = read(fd, text, KEY_TEXT_MAX - 1);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	return check_digits(text);
}

int key_read(const char *path, char text[KEY_TEXT_MAX])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	int ret;

	if (fd < 0 || fstat(fd, &st)) {
		ret = -errno;
		explain(key_reasons, ret, "cannot read the key in %s", path);
	} else if (S_ISREG(st.st_mode) && st.st_mode & 077) {
		ret = -EACCES;
		complain("the key in %s is not its owner's alone", path);
		hint("`chmod 600 %s`; if others have read it, make a new one", path);
	} else {
		ret = read_all(fd, text);
		if (ret == -EINVAL) {
			complain("there is no key in %s", path);
			hint("a key is one line of 32 to 128 hexadecimal digits");
		} else if (ret) {
			explain(key_reasons, ret, "cannot read the key in %s", path);
		}
	}
	if (fd >= 0)
		close(fd);
	return ret;
}

static int write_key(int fd, const char *text)
{
	size_t len = strlen(text);

	if (write(fd, text, len) != (ssize_t)len || write(fd, "\n", 1) != 1 || fsync(fd))
		return errno ? -errno : -EIO;
	return 0;
}

int key_generate(const char *path, char text[KEY_TEXT_MAX])
{
	unsigned char bytes[KEY_BYTES];
	int fd, i, ret;

	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ret = fd < 0 ? -errno : 0;
	if (!ret && getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		ret = -EIO;
	if (!ret) {
		for (i = 0; i < KEY_BYTES; i++)
			snprintf(text + 2 * i, 3, "%02x", bytes[i]);
		ret = write_key(fd, text);
	}
	explicit_bzero(bytes, sizeof(bytes));
	if (fd >= 0)
		close(fd);
	if (ret) {
		explain(key_reasons, ret, "cannot make the key file %s", path);
		if (fd >= 0)
			unlink(path);
	}
	return ret;
}
