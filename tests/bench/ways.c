// SPDX-License-Identifier: GPL-2.0
/* Ways by system call: the character device, block devices, the floor. */
#include <linux/fs.h>

#include "../vm/vm.h"
#include "floor/floor.h"
#include "ways.h"

/* --- /dev/pmofcN ----------------------------------------------------------- */

static int char_open(struct way *way)
{
	way->fd = open(way->target, O_RDWR | O_CLOEXEC);
	return way->fd < 0 ? -errno : 0;
}

static int put_one(struct way *way, uint64_t offset)
{
	return vm_put(way->fd, offset, way->buf, way->size, PMOF_F_PERSIST);
}

static int get_one(struct way *way, uint64_t offset)
{
	return vm_get(way->fd, offset, way->buf, way->size);
}

const struct way_ops way_put = { "put", char_open, put_one };
const struct way_ops way_get = { "get", char_open, get_one };

/* --- block devices --------------------------------------------------------- */

static int block_open_flags(struct way *way, int flags)
{
	struct stat st;

	way->fd = open(way->target, O_RDWR | O_DIRECT | O_CLOEXEC | flags);
	if (way->fd < 0 || fstat(way->fd, &st))
		return -errno;
	return S_ISBLK(st.st_mode) ? 0 : -ENOTBLK;
}

static int block_open(struct way *way)
{
	return block_open_flags(way, 0);
}

static int block_open_dsync(struct way *way)
{
	return block_open_flags(way, O_DSYNC);
}

static int result(ssize_t n, uint64_t size)
{
	if (n < 0)
		return -errno;
	return (uint64_t)n == size ? 0 : -EIO;
}

static int read_one(struct way *way, uint64_t offset)
{
	return result(pread(way->fd, way->buf, way->size, offset), way->size);
}

static int write_one(struct way *way, uint64_t offset)
{
	return result(pwrite(way->fd, way->buf, way->size, offset), way->size);
}

static int fsync_one(struct way *way, uint64_t offset)
{
	int rc = write_one(way, offset);

	if (!rc && fdatasync(way->fd))
		rc = -errno;
	return rc;
}

const struct way_ops way_read = { "read", block_open, read_one };
const struct way_ops way_write = { "write", block_open, write_one };
const struct way_ops way_dsync = { "dsync", block_open_dsync, write_one };
const struct way_ops way_fsync = { "fsync", block_open, fsync_one };

/* --- the floor ------------------------------------------------------------- */

static int floor_one(struct way *way, uint32_t op)
{
	struct floor_run run = { .op = op, .bytes = way->size };
	int rc = vm_ioctl(way->fd, FLOOR_IOC_RUN, &run);

	way->ns = run.ns;
	return rc;
}

static int floor_read_one(struct way *way, uint64_t offset)
{
	(void)offset;
	return floor_one(way, FLOOR_READ);
}

static int floor_write_one(struct way *way, uint64_t offset)
{
	(void)offset;
	return floor_one(way, FLOOR_WRITE);
}

const struct way_ops way_floor_read = { "floor-read", char_open, floor_read_one };
const struct way_ops way_floor_write = { "floor-write", char_open, floor_write_one };

/* --- nothing: what the clocks and the rest of the system cost ---------------- */

static int idle_open(struct way *way)
{
	(void)way;
	return 0;
}

static int idle_one(struct way *way, uint64_t offset)
{
	(void)offset;
	usleep(atoi(way->target));
	return 0;
}

const struct way_ops way_idle = { "idle", idle_open, idle_one };
