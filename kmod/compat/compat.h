/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The only place that knows that kernels differ.  pmof_compat_gen.h is written
 * by compat/probe.sh: one HAVE_* per probe/NAME.c that compiles.
 */
#ifndef PMOF_COMPAT_H
#define PMOF_COMPAT_H

#include <linux/blkdev.h>
#include <linux/uio.h>

#include "pmof_compat_gen.h"

/* A block device opened exclusively for reading and writing. */
struct pmof_bdev {
#ifdef HAVE_BDEV_FILE
	struct file *file;
#else
	fmode_t mode;
#endif
	struct block_device *bdev;
};

#ifdef HAVE_BDEV_FILE
static inline int pmof_bdev_open(struct pmof_bdev *b, const char *path, bool write, void *holder)
{
	blk_mode_t mode = BLK_OPEN_READ | (write ? BLK_OPEN_WRITE : 0);
	struct file *file = bdev_file_open_by_path(path, mode, holder, NULL);

	if (IS_ERR(file))
		return PTR_ERR(file);
	b->file = file;
	b->bdev = file_bdev(file);
	return 0;
}

static inline void pmof_bdev_close(struct pmof_bdev *b)
{
	bdev_fput(b->file);
	b->bdev = NULL;
}
#else
static inline int pmof_bdev_open(struct pmof_bdev *b, const char *path, bool write, void *holder)
{
	struct block_device *bdev;

	b->mode = FMODE_READ | (write ? FMODE_WRITE : 0) | FMODE_EXCL;
	bdev = blkdev_get_by_path(path, b->mode, holder);
	if (IS_ERR(bdev))
		return PTR_ERR(bdev);
	b->bdev = bdev;
	return 0;
}

static inline void pmof_bdev_close(struct pmof_bdev *b)
{
	blkdev_put(b->bdev, b->mode);
	b->bdev = NULL;
}
#endif

/* The user address of an iterator's current segment; the iterator is user-backed. */
static inline unsigned long pmof_iter_addr(const struct iov_iter *iter)
{
#ifdef HAVE_ITER_IOV
	return (unsigned long)iter_iov_addr(iter);
#else
	if (iter_is_ubuf(iter))
		return (unsigned long)iter->ubuf + iter->iov_offset;
	return (unsigned long)iter->iov->iov_base + iter->iov_offset;
#endif
}

#endif /* PMOF_COMPAT_H */
