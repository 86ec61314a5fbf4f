/* SPDX-License-Identifier: GPL-2.0 */
/* The block device of a connection, and what sysfs says of it. */
#ifndef PMOF_VM_BLOCKDEV_H
#define PMOF_VM_BLOCKDEV_H

#include <linux/fs.h>
#include <sys/uio.h>

#include "vm.h"

#ifndef FALLOC_FL_ZERO_RANGE
#include <linux/falloc.h>
#endif

struct blockdev {
	int instance;
	int fd;			/* O_DIRECT */
	int chr;		/* of the character device, to look behind the block layer: read-only */
	bool writeback;
	uint32_t bs;
	uint64_t size;
};

/* Opens /dev/pmofN, or its partition @part if that is not 0. Returns -errno. */
static inline int blockdev_open(int instance, int part, int flags)
{
	char path[64];
	int fd, tries;

	snprintf(path, sizeof(path), part ? "/dev/pmof%dp%d" : "/dev/pmof%d", instance, part);
	/* The node comes a moment after the disk. */
	for (tries = 0; tries < 100 && access(path, F_OK); tries++)
		usleep(20000);
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Reads a file of /sys/block/pmofN without its newline; empty if it cannot be read. */
static inline const char *blockdev_attr(int instance, const char *attr)
{
	static char buf[512];
	char path[256];

	snprintf(path, sizeof(path), "/sys/block/pmof%d/%s", instance, attr);
	vm_line(path, buf, sizeof(buf));
	return buf;
}

static inline uint64_t blockdev_number(int instance, const char *attr)
{
	return strtoull(blockdev_attr(instance, attr), NULL, 10);
}

/* Fields of /sys/block/pmofN/stat, from 0 as in Documentation/block/stat. */
enum { IO_READS = 0, IO_READ_SECTORS = 2, IO_WRITES = 4, IO_WRITE_SECTORS = 6, IO_DISCARDS = 11,
       IO_DISCARD_SECTORS = 13, IO_FLUSHES = 15, NR_IO_FIELDS = 17 };

struct iostat {
	unsigned long long v[NR_IO_FIELDS];
};

static inline struct iostat blockdev_stat(int instance)
{
	const char *p = blockdev_attr(instance, "stat");
	struct iostat s = { { 0 } };
	char *end;
	int i;

	for (i = 0; i < NR_IO_FIELDS; i++, p = end)
		s.v[i] = strtoull(p, &end, 10);
	return s;
}

/* These return bytes or -errno. */
static inline ssize_t blk_read(int fd, void *buf, size_t len, uint64_t at)
{
	ssize_t n = pread(fd, buf, len, at);

	return n < 0 ? -errno : n;
}

static inline ssize_t blk_write(int fd, const void *buf, size_t len, uint64_t at)
{
	ssize_t n = pwrite(fd, buf, len, at);

	return n < 0 ? -errno : n;
}

/* BLKDISCARD, BLKZEROOUT. */
static inline int blk_range(int fd, unsigned long cmd, uint64_t at, uint64_t len)
{
	uint64_t range[2] = { at, len };

	return ioctl(fd, cmd, range) ? -errno : 0;
}

static inline bool blk_is(int chr, uint64_t at, size_t len, const void *expected)
{
	char *buf = malloc(len);
	bool same = buf && !vm_get(chr, at, buf, len) && !memcmp(buf, expected, len);

	free(buf);
	return same;
}

static inline bool blk_is_zero(int chr, uint64_t at, size_t len)
{
	char *zero = calloc(len, 1);
	bool same = zero && blk_is(chr, at, len, zero);

	free(zero);
	return same;
}

#endif /* PMOF_VM_BLOCKDEV_H */
