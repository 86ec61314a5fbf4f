// SPDX-License-Identifier: BSD-3-Clause
/* Keys that the command is given, and makes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "config.h"
#include "tool.h"

#define KEY_BYTES	32

static const struct reason key_reasons[] = {
	{ EEXIST, "it exists", "choose another name, or use it with --key" },
	{ 0 }
};

int key_read(const char *path, bool kept, char text[KEY_TEXT_MAX])
{
	char why[WHY_MAX];
	int ret = key_file_read(path, kept, text, why);

	if (!ret)
		return 0;
	complain("there is no key to be had from %s", why);
	if (ret == -EPERM)
		hint("`chmod 600 %s`; if others have read it, make a new one", path);
	else if (ret == -ENOENT)
		hint("`pmof server client add ID --generate FILE` makes one");
	return ret;
}

void key_compare_kept(const char *id, const char *text)
{
	char path[128], kept[KEY_TEXT_MAX], why[WHY_MAX];

	snprintf(path, sizeof(path), CONFIG_KEYS "/%s", id);
	if (!key_file_read(path, true, kept, why) && strcasecmp(kept, text) != 0) {
		complain("%s holds another key: it would be the client's after a save and a reboot",
			 path);
		hint("put the new one there, with mode 0600");
	}
	explicit_bzero(kept, sizeof(kept));
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
