/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This directory is the only place that knows that kernels differ.  pmof_compat_gen.h is written
 * by compat/probe.sh: one HAVE_* per probe/NAME.c that compiles.
 */
#ifndef PMOF_COMPAT_H
#define PMOF_COMPAT_H

#include <linux/blkdev.h>
#include <linux/mm.h>
#include <linux/uio.h>
#include <linux/writeback.h>
#include <rdma/ib_verbs.h>

#include "pmof_compat_gen.h"

#ifdef HAVE_URING_CMD_SQE
#include <linux/io_uring/cmd.h>
#else
#include <linux/io_uring.h>
#endif

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
static inline int pmof_bdev_opened(struct pmof_bdev *b, struct file *file)
{
	if (IS_ERR(file))
		return PTR_ERR(file);
	b->file = file;
	b->bdev = file_bdev(file);
	return 0;
}

static inline int pmof_bdev_open(struct pmof_bdev *b, const char *path, bool write, void *holder)
{
	blk_mode_t mode = BLK_OPEN_READ | (write ? BLK_OPEN_WRITE : 0);

	return pmof_bdev_opened(b, bdev_file_open_by_path(path, mode, holder, NULL));
}

/* For reading, so that nobody else can have it exclusively. */
static inline int pmof_bdev_claim(struct pmof_bdev *b, dev_t devt, void *holder)
{
	return pmof_bdev_opened(b, bdev_file_open_by_dev(devt, BLK_OPEN_READ, holder, NULL));
}

static inline void pmof_bdev_close(struct pmof_bdev *b)
{
	bdev_fput(b->file);
	b->bdev = NULL;
}
#else
static inline int pmof_bdev_opened(struct pmof_bdev *b, struct block_device *bdev)
{
	if (IS_ERR(bdev))
		return PTR_ERR(bdev);
	b->bdev = bdev;
	return 0;
}

static inline int pmof_bdev_open(struct pmof_bdev *b, const char *path, bool write, void *holder)
{
	b->mode = FMODE_READ | (write ? FMODE_WRITE : 0) | FMODE_EXCL;
	return pmof_bdev_opened(b, blkdev_get_by_path(path, b->mode, holder));
}

/* For reading, so that nobody else can have it exclusively. */
static inline int pmof_bdev_claim(struct pmof_bdev *b, dev_t devt, void *holder)
{
	b->mode = FMODE_READ | FMODE_EXCL;
	return pmof_bdev_opened(b, blkdev_get_by_dev(devt, b->mode, holder));
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

/* Of a mapping that its file's mmap() is making. */
static inline void pmof_vm_flags_clear(struct vm_area_struct *vma, unsigned long flags)
{
#ifdef HAVE_VM_FLAGS_CLEAR
	vm_flags_clear(vma, flags);
#else
	vma->vm_flags &= ~flags;
#endif
}

/* Takes a dirty folio that is locked and has been cleared for I/O; unlocks it. */
typedef int (*pmof_write_folio_t)(struct folio *folio, void *data);

#ifdef HAVE_WRITEBACK_ITER
/* Hands the dirty folios that @wbc asks for to @fn, in the order of their index. */
static inline int pmof_write_folios(struct address_space *mapping, struct writeback_control *wbc,
				    pmof_write_folio_t fn, void *data)
{
	struct folio *folio = NULL;
	int rc = 0;

	while ((folio = writeback_iter(mapping, wbc, folio, &rc)))
		rc = fn(folio, data);
	return rc;
}
#else
struct pmof_write_folios {
	pmof_write_folio_t fn;
	void *data;
};

static inline int pmof_write_page(struct page *page, struct writeback_control *wbc, void *arg)
{
	struct pmof_write_folios *w = arg;

	return w->fn(page_folio(page), w->data);
}

static inline int pmof_write_folios(struct address_space *mapping, struct writeback_control *wbc,
				    pmof_write_folio_t fn, void *data)
{
	struct pmof_write_folios w = { .fn = fn, .data = data };

	return write_cache_pages(mapping, wbc, pmof_write_page, &w);
}
#endif

/* The command area of a URING_CMD's SQE, which user space may still write to. */
static inline const void *pmof_uring_cmd_area(const struct io_uring_cmd *cmd)
{
#ifdef HAVE_URING_CMD_SQE
	return io_uring_sqe_cmd(cmd->sqe);
#else
	return cmd->cmd;
#endif
}

/*
 * Before -EAGAIN for a command of an SQE of 128 bytes.  6.10 to 6.13 copy the SQE only then, but go
 * on with the one in the ring, where the ring's next user is by the time a worker comes to this
 * one: a PERSIST has become the PUT behind it.  So the copy is made here and is what is used.
 * Those that know better find nothing left to do.
 */
static inline void pmof_uring_cmd_keep_sqe(struct io_uring_cmd *cmd)
{
#ifdef HAVE_URING_BARE_COPY
	struct io_uring_sqe *copy = cmd_to_io_kiocb(cmd)->async_data;

	if (!copy || cmd->sqe == copy)
		return;
	memcpy(copy, cmd->sqe, 2 * sizeof(*copy));
	cmd->sqe = copy;
#endif
}

/*
 * The same for those that are linked behind a command of SQEs of 128 bytes.  They are begun when
 * it has ended, long after io_uring_enter() has given the ring's entries back; while this one
 * is first begun they are the submitter's still.  (Behind other requests nobody asks us.)
 */
static inline void pmof_uring_cmd_keep_links(struct io_uring_cmd *cmd, unsigned int issue_flags)
{
#ifdef HAVE_URING_BARE_COPY
	struct io_kiocb *req = cmd_to_io_kiocb(cmd);

	/* A worker's: later. */
	if (issue_flags & IO_URING_F_UNLOCKED)
		return;
	while ((req = req->link)) {
		struct io_uring_cmd *next = io_kiocb_to_cmd(req, struct io_uring_cmd);

		if (req->opcode != IORING_OP_URING_CMD)
			continue;
		/* Whoever copied it has done those behind it.  (io_uring copies a worker's.) */
		if (req->async_data && next->sqe == req->async_data &&
		    !(req->flags & REQ_F_FORCE_ASYNC))
			break;
		pmof_uring_cmd_keep_sqe(next);
	}
#endif
}

/* file_operations.splice_read by way of read_iter. */
#ifdef HAVE_COPY_SPLICE_READ
#define pmof_splice_read	copy_splice_read
#else
#define pmof_splice_read	generic_file_splice_read
#endif

#endif /* PMOF_COMPAT_H */
