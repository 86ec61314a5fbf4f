// SPDX-License-Identifier: GPL-2.0
/* Block devices with several operations under way: the kernel's AIO, by its system calls. */
#include <linux/aio_abi.h>
#include <sys/syscall.h>

#include "../vm/vm.h"
#include "ways.h"

struct aio {
	aio_context_t context;
	unsigned int under_way;
	struct iocb *free[WAYS_DEPTH];	/* the first depth - under_way are */
	struct iocb iocb[WAYS_DEPTH];
};

static int aio_open(struct way *way)
{
	struct aio *a = calloc(1, sizeof(*a));
	unsigned int i;
	int rc;

	if (!a)
		return -ENOMEM;
	way->private = a;
	rc = way_read.open(way);	/* any block device, direct */
	if (rc)
		return rc;
	if (syscall(SYS_io_setup, WAYS_DEPTH, &a->context))
		return -errno;
	for (i = 0; i < way->depth; i++)
		a->free[i] = &a->iocb[i];
	return 0;
}

/* Sleeps until at least @min have completed. */
static int aio_reap(struct way *way, unsigned int min)
{
	struct io_event events[WAYS_DEPTH];
	struct aio *a = way->private;
	long i, n;

	n = syscall(SYS_io_getevents, a->context, (long)min, (long)WAYS_DEPTH, events, NULL);
	if (n < 0)
		return -errno;
	for (i = 0; i < n; i++) {
		if (events[i].res != (int64_t)way->size)
			return events[i].res < 0 ? (int)events[i].res : -EIO;
		a->under_way--;
		a->free[way->depth - a->under_way - 1] = (struct iocb *)(uintptr_t)events[i].obj;
	}
	return 0;
}

/* Starts one operation; before that one has to end, if as many are under way as may be. */
static int aio_one(struct way *way, uint64_t offset, unsigned int opcode)
{
	struct aio *a = way->private;
	struct iocb *cb;
	int rc = 0;

	if (a->under_way == way->depth)
		rc = aio_reap(way, 1);
	if (rc)
		return rc;
	cb = a->free[way->depth - a->under_way - 1];
	*cb = (struct iocb){
		.aio_lio_opcode = opcode,
		.aio_fildes = way->fd,
		.aio_buf = (uintptr_t)way->buf,
		.aio_nbytes = way->size,
		.aio_offset = offset,
	};
	if (syscall(SYS_io_submit, a->context, 1L, &cb) != 1)
		return -errno;
	a->under_way++;
	return 0;
}

static int aio_write_one(struct way *way, uint64_t offset)
{
	return aio_one(way, offset, IOCB_CMD_PWRITE);
}

static int aio_read_one(struct way *way, uint64_t offset)
{
	return aio_one(way, offset, IOCB_CMD_PREAD);
}

static int aio_end(struct way *way)
{
	struct aio *a = way->private;

	return a->under_way ? aio_reap(way, a->under_way) : 0;
}

const struct way_ops way_aio_write = { "aio-write", aio_open, aio_write_one, aio_end };
const struct way_ops way_aio_read = { "aio-read", aio_open, aio_read_one, aio_end };
