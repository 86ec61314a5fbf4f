// SPDX-License-Identifier: GPL-2.0
/* /dev/pmofcN: file operations.  The ioctls are in ioctl.c. */
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/splice.h>
#include <linux/uio.h>

#include "blk.h"
#include "client.h"
#include "compat.h"

#define PMOF_MINORS	1024

static dev_t first_devt;

static int chardev_open(struct inode *inode, struct file *file)
{
	struct pmof_conn *conn = container_of(inode->i_cdev, struct pmof_conn, cdev);
	struct pmof_file *f = kzalloc(sizeof(*f), GFP_KERNEL);
	int rc;

	if (!f)
		return -ENOMEM;
	rc = file->f_mode & FMODE_WRITE ? pmof_blk_claim(conn) : 0;
	if (rc)
		goto free;
	rc = pmof_cache_open(conn, file);
	if (rc)
		goto unclaim;
	/* The cdev's reference, which the open file holds, keeps the connection. */
	f->conn = conn;
	f->context = atomic64_inc_return(&conn->contexts);
	file->private_data = f;
	/* read() and write() pass the cache by, as with O_DIRECT; io_uring wants it for IOPOLL. */
	file->f_mode |= FMODE_NOWAIT | FMODE_CAN_ODIRECT;
	return 0;

unclaim:
	if (file->f_mode & FMODE_WRITE)
		pmof_blk_unclaim(conn);
free:
	kfree(f);
	return rc;
}

static int chardev_file_release(struct inode *inode, struct file *file)
{
	struct pmof_conn *conn = pmof_file_conn(file);

	pmof_cache_close(conn, file);
	if (file->f_mode & FMODE_WRITE)
		pmof_blk_unclaim(conn);
	pmof_call_close(file);
	kfree(file->private_data);
	return 0;
}

static loff_t chardev_llseek(struct file *file, loff_t offset, int whence)
{
	struct pmof_conn *conn = pmof_file_conn(file);

	return fixed_size_llseek(file, offset, whence, conn->login.ns_size);
}

static ssize_t chardev_read_iter(struct kiocb *iocb, struct iov_iter *iter)
{
	struct pmof_conn *conn = pmof_file_conn(iocb->ki_filp);
	int rc = pmof_conn_check(conn);

	if (rc)
		return rc;
	return iov_iter_count(iter) ? pmof_rw(iocb, iter, PMOF_OP_GET, 0) : 0;
}

static ssize_t chardev_write_iter(struct kiocb *iocb, struct iov_iter *iter)
{
	struct pmof_conn *conn = pmof_file_conn(iocb->ki_filp);
	int rc = pmof_conn_check(conn);

	if (rc)
		return rc;
	if (!iov_iter_count(iter))
		return 0;
	if (iocb->ki_flags & IOCB_APPEND)
		iocb->ki_pos = conn->login.ns_size;
	/* Durable as a whole: one durable put. */
	return pmof_rw(iocb, iter, PMOF_OP_PUT, iocb_is_dsync(iocb) ? PMOF_F_PERSIST : 0);
}

static const struct file_operations chardev_fops = {
	.owner		= THIS_MODULE,
	.open		= chardev_open,
	.release	= chardev_file_release,
	.llseek		= chardev_llseek,
	.read_iter	= chardev_read_iter,
	.write_iter	= chardev_write_iter,
	.splice_read	= pmof_splice_read,
	.splice_write	= iter_file_splice_write,
	.iopoll		= pmof_iopoll,
	.uring_cmd	= pmof_uring_cmd,
	.uring_cmd_iopoll = pmof_uring_cmd_iopoll,
	.fsync		= pmof_fsync,
	.mmap		= pmof_mmap,
	.unlocked_ioctl	= pmof_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
};

static void chardev_release(struct device *dev)
{
	struct pmof_conn *conn = container_of(dev, struct pmof_conn, cdev_dev);

	put_device(&conn->dev);
}

/* Makes /dev/pmofcN; from here on it can be opened. */
int pmof_chardev_add(struct pmof_conn *conn)
{
	struct device *dev = &conn->cdev_dev;
	int rc;

	if (conn->instance >= PMOF_MINORS)
		return -ENOSPC;
	device_initialize(dev);
	get_device(&conn->dev);
	dev->release = chardev_release;
	dev->class = &pmof_char_class;
	dev->parent = &conn->dev;
	dev->devt = MKDEV(MAJOR(first_devt), conn->instance);
	rc = dev_set_name(dev, "pmofc%d", conn->instance);
	if (rc)
		goto put;
	cdev_init(&conn->cdev, &chardev_fops);
	conn->cdev.owner = THIS_MODULE;
	rc = cdev_device_add(&conn->cdev, dev);
	if (rc)
		goto put;
	return 0;

put:
	put_device(dev);
	return rc;
}

/* No new opens; open files keep the connection's memory. */
void pmof_chardev_del(struct pmof_conn *conn)
{
	cdev_device_del(&conn->cdev, &conn->cdev_dev);
	put_device(&conn->cdev_dev);
}

int pmof_chardev_init(void)
{
	return alloc_chrdev_region(&first_devt, 0, PMOF_MINORS, "pmofc");
}

void pmof_chardev_exit(void)
{
	unregister_chrdev_region(first_devt, PMOF_MINORS);
}
