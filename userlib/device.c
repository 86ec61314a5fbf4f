// SPDX-License-Identifier: BSD-3-Clause
/* Opening a device, and the data calls: one ioctl each. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "internal.h"

static int open_path(const char *path, int flags, int *fd)
{
	*fd = open(path, flags | O_CLOEXEC);
	return *fd < 0 ? -errno : 0;
}

static int check_stat(const struct stat *st, int *instance)
{
	if (!S_ISCHR(st->st_mode))
		return -ENODEV;
	return pmof_rdev_to_instance(major(st->st_rdev), minor(st->st_rdev), instance);
}

/* A path may name anything: make sure that it is a device of ours, which opening it is too late for. */
static int check_path(const char *path, int *instance)
{
	struct stat st;

	return stat(path, &st) ? -errno : check_stat(&st, instance);
}

/* It may be another one by now. */
static int check_fd(int fd, int *instance)
{
	struct stat st;

	return fstat(fd, &st) ? -errno : check_stat(&st, instance);
}

static int open_device(const char *device, int flags, struct pmof_dev *dev)
{
	char path[32];
	int ret;

	if (strchr(device, '/')) {
		ret = check_path(device, &dev->instance);
		/* O_NONBLOCK, taken back below: not to hang on a FIFO. */
		if (!ret)
			ret = open_path(device, flags | O_NONBLOCK | O_NOCTTY, &dev->fd);
		if (ret)
			return ret;
		ret = check_fd(dev->fd, &dev->instance);
		if (!ret && fcntl(dev->fd, F_SETFL, 0) < 0)
			ret = -errno;
		if (ret)
			close(dev->fd);
		return ret;
	}
	ret = pmof_name_to_instance(device, &dev->instance);
	if (ret)
		return ret;
	snprintf(path, sizeof(path), "/dev/pmofc%d", dev->instance);
	return open_path(path, flags, &dev->fd);
}

int pmof_open(const char *device, int flags, struct pmof_dev **dev)
{
	struct pmof_dev *d;
	int ret;

	if (flags & ~(O_ACCMODE | O_DSYNC | O_CLOEXEC))
		return -EINVAL;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	ret = open_device(device, flags, d);
	if (ret) {
		free(d);
		return ret;
	}
	*dev = d;
	return 0;
}

void pmof_close(struct pmof_dev *dev)
{
	if (!dev)
		return;
	close(dev->fd);
	free(dev);
}

int pmof_fd(const struct pmof_dev *dev)
{
	return dev->fd;
}

int pmof_instance(const struct pmof_dev *dev)
{
	return dev->instance;
}

static int call(struct pmof_dev *dev, unsigned long request, void *arg)
{
	return ioctl(dev->fd, request, arg) < 0 ? -errno : 0;
}

int pmof_get_info(struct pmof_dev *dev, struct pmof_info *info, size_t info_size)
{
	if (info_size < sizeof(info->size) || info_size > UINT32_MAX)
		return -EINVAL;
	memset(info, 0, info_size);
	info->size = info_size;
	return call(dev, PMOF_IOC_GET_INFO, info);
}

int pmof_put(struct pmof_dev *dev, const void *buf, uint64_t length, uint64_t offset,
	     unsigned int flags)
{
	struct pmof_rw rw = {
		.size = sizeof(rw),
		.flags = flags,
		.offset = offset,
		.length = length,
		.addr = (uintptr_t)buf,
	};

	return call(dev, PMOF_IOC_PUT, &rw);
}

int pmof_get(struct pmof_dev *dev, void *buf, uint64_t length, uint64_t offset)
{
	struct pmof_rw rw = {
		.size = sizeof(rw),
		.offset = offset,
		.length = length,
		.addr = (uintptr_t)buf,
	};

	return call(dev, PMOF_IOC_GET, &rw);
}

int pmof_get_valid(struct pmof_dev *dev, void *buf, uint64_t length, uint64_t offset,
		   uint64_t *generation)
{
	struct pmof_rw rw = {
		.size = sizeof(rw),
		.flags = PMOF_F_VALID,
		.offset = offset,
		.length = length,
		.addr = (uintptr_t)buf,
	};
	int ret = call(dev, PMOF_IOC_GET, &rw);

	if (!ret && generation)
		*generation = rw.generation;
	return ret;
}

int pmof_put_commit(struct pmof_dev *dev, const void *buf, uint64_t length, uint64_t offset,
		    uint64_t generation)
{
	struct pmof_rw rw = {
		.size = sizeof(rw),
		.flags = PMOF_F_COMMIT,
		.offset = offset,
		.length = length,
		.addr = (uintptr_t)buf,
		.generation = generation,
	};

	return call(dev, PMOF_IOC_PUT, &rw);
}

static int object_call(struct pmof_dev *dev, unsigned long request, uint64_t offset,
		       uint64_t length, uint64_t *generation)
{
	struct pmof_object o = {
		.size = sizeof(o),
		.offset = offset,
		.length = length,
	};
	int ret = call(dev, request, &o);

	if (!ret && generation)
		*generation = o.generation;
	return ret;
}

int pmof_prepare(struct pmof_dev *dev, uint64_t offset, uint64_t length, uint64_t *generation)
{
	return object_call(dev, PMOF_IOC_PREPARE, offset, length, generation);
}

int pmof_revalidate(struct pmof_dev *dev, uint64_t offset, uint64_t length, uint64_t *generation)
{
	return object_call(dev, PMOF_IOC_REVALIDATE, offset, length, generation);
}

int pmof_persist(struct pmof_dev *dev, uint64_t offset, uint64_t length)
{
	struct pmof_persist p = {
		.size = sizeof(p),
		.offset = offset,
		.length = length,
	};

	return call(dev, PMOF_IOC_PERSIST, &p);
}

static int atomic_call(struct pmof_dev *dev, unsigned long request, struct pmof_atomic *a,
		       uint64_t *old)
{
	int ret;

	a->size = sizeof(*a);
	ret = call(dev, request, a);
	if (!ret && old)
		*old = a->old;
	return ret;
}

int pmof_cas(struct pmof_dev *dev, uint64_t offset, uint64_t expect, uint64_t desired,
	     unsigned int flags, uint64_t *old)
{
	struct pmof_atomic a = {
		.flags = flags,
		.offset = offset,
		.compare = expect,
		.operand = desired,
	};

	return atomic_call(dev, PMOF_IOC_CAS, &a, old);
}

int pmof_fetch_add(struct pmof_dev *dev, uint64_t offset, uint64_t add, unsigned int flags,
		   uint64_t *old)
{
	struct pmof_atomic a = {
		.flags = flags,
		.offset = offset,
		.operand = add,
	};

	return atomic_call(dev, PMOF_IOC_FETCH_ADD, &a, old);
}

int pmof_submit(struct pmof_dev *dev, struct pmof_op *ops, unsigned int nr)
{
	struct pmof_submit s = {
		.size = sizeof(s),
		.ops = (uintptr_t)ops,
		.nr_ops = nr,
	};

	return call(dev, PMOF_IOC_SUBMIT, &s);
}

int pmof_call(struct pmof_dev *dev, unsigned int call_opcode, const void *request, uint32_t length,
	      void *reply, uint32_t room)
{
	struct pmof_op op;
	int ret;

	pmof_prep_call(&op, call_opcode, request, length, reply, room, 0);
	ret = pmof_submit(dev, &op, 1);
	if (!ret)
		ret = op.result;
	return ret ? ret : (int)op.old;
}
