// SPDX-License-Identifier: BSD-3-Clause
/* pmof kv format and check: opening what holds a store. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kv.h"
#include "libpmof.h"
#include "server.h"
#include "tool.h"

static const struct reason open_reasons[] = {
	{ ENOENT, "there is no such file",
	  "give an image file, /dev/pmemN at the server, or the device of a connection" },
	{ EACCES, "no permission", "run this as root" },
	{ EPERM, "no permission", "run this as root" },
	{ EBUSY, "it is in use", NULL },
	{ ENXIO, "there is no such device", "`pmof list` shows the connected devices" },
	{ EROFS, "it may only be read", NULL },
	{ EISDIR, "it is a directory", NULL },
	{ 0 }
};

/*
 * Exclusively, of a block device: nobody else has it mounted, exported or formats it.  Other
 * files have no such thing.
 */
static int open_alone(const char *path, bool write, struct stat *st)
{
	int flags = (write ? O_RDWR : O_RDONLY) | O_CLOEXEC, fd;

	if (stat(path, st))
		return -errno;
	if (S_ISBLK(st->st_mode))
		flags |= O_EXCL;
	else if (!S_ISREG(st->st_mode) && !S_ISCHR(st->st_mode))
		return S_ISDIR(st->st_mode) ? -EISDIR : -EINVAL;
	fd = open(path, flags);
	return fd < 0 ? -errno : fd;
}

/* Of a connection: a server that runs a store keeps in its memory what would be overwritten. */
static bool runs_a_store(int fd)
{
	struct pmof_info info = { .size = sizeof(info) };

	return !ioctl(fd, PMOF_IOC_GET_INFO, &info) && info.service != PMOF_SERVICE_RAW;
}

int kv_image_open(struct kv_image *im, const char *path, bool write)
{
	struct stat st;
	off_t size;

	*im = (struct kv_image){ .path = path };
	im->fd = open_alone(path, write, &st);
	if (im->fd < 0) {
		explain(open_reasons, im->fd, "%s", path);
		if (im->fd == -EBUSY)
			pmem_explain_holders(path);
		return im->fd;
	}
	if (write && S_ISCHR(st.st_mode) && runs_a_store(im->fd)) {
		complain("%s: its server runs the store that it holds", path);
		hint("at the server, when it is not exported, `pmof kv format` takes its device");
		close(im->fd);
		return -EBUSY;
	}
	size = lseek(im->fd, 0, SEEK_END);
	if (size <= 0) {
		complain("%s: it has no size: neither a file, a block device nor a connection's",
			 path);
		close(im->fd);
		return -EINVAL;
	}
	/* What a server has stored since is not in the cache of the block device. */
	if (S_ISBLK(st.st_mode))
		ioctl(im->fd, BLKFLSBUF, 0);
	im->size = (uint64_t)size;
	return 0;
}

int kv_image_map(struct kv_image *im)
{
	void *base = mmap(NULL, im->size, PROT_READ, MAP_SHARED, im->fd, 0);
	int error = errno;

	if (base == MAP_FAILED) {
		explain(NULL, error, "%s: cannot map %llu bytes", im->path,
			(unsigned long long)im->size);
		return -error;
	}
	im->base = base;
	return 0;
}

void kv_image_close(struct kv_image *im)
{
	if (im->base)
		munmap(im->base, im->size);
	close(im->fd);
}

char *kv_uuid_text(const uint8_t uuid[16], char buf[KV_UUID_TEXT])
{
	char *at = buf;
	int i;

	for (i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*at++ = '-';
		at += sprintf(at, "%02x", uuid[i]);
	}
	return buf;
}
