// SPDX-License-Identifier: GPL-2.0
/* /dev/pmofcN: file operations.  The ioctls are in ioctl.c. */
#include <linux/fs.h>
#include <linux/module.h>

#include "client.h"

#define PMOF_MINORS	1024

static dev_t first_devt;

static int chardev_open(struct inode *inode, struct file *file)
{
	/* The cdev's reference, which the open file holds, keeps the connection. */
	file->private_data = container_of(inode->i_cdev, struct pmof_conn, cdev);
	return 0;
}

static loff_t chardev_llseek(struct file *file, loff_t offset, int whence)
{
	struct pmof_conn *conn = file->private_data;

	return fixed_size_llseek(file, offset, whence, conn->login.ns_size);
}

/* Bytes from @pos to the end of the namespace, at most @len. */
static size_t clip(struct pmof_conn *conn, loff_t pos, size_t len)
{
	u64 size = conn->login.ns_size;

	return pos < size ? min_t(u64, len, size - pos) : 0;
}

static ssize_t chardev_rw(struct file *file, u16 opcode, u32 flags, unsigned long addr,
			  size_t len, loff_t *pos)
{
	struct pmof_req req = {
		.opcode	= opcode,
		.flags	= flags,
		.offset	= *pos,
		.length	= len,
		.addr	= addr,
	};
	int rc = pmof_req_run(file->private_data, &req);

	if (rc)
		return rc;
	*pos += len;
	return len;
}

static ssize_t chardev_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	len = clip(file->private_data, *pos, len);
	return len ? chardev_rw(file, PMOF_OP_GET, 0, (unsigned long)buf, len, pos) : 0;
}

static ssize_t chardev_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	u32 flags = file->f_flags & O_DSYNC ? PMOF_F_PERSIST : 0;
	size_t fits = clip(file->private_data, *pos, len);

	if (len && !fits)
		return -ENOSPC;
	return chardev_rw(file, PMOF_OP_PUT, flags, (unsigned long)buf, fits, pos);
}

static int chardev_fsync(struct file *file, loff_t start, loff_t end, int datasync)
{
	struct pmof_conn *conn = file->private_data;
	struct pmof_req req = {
		.opcode	= PMOF_OP_PERSIST,
		.offset	= start,
	};

	req.length = clip(conn, start, end == LLONG_MAX ? SIZE_MAX : end - start + 1);
	return req.length ? pmof_req_run(conn, &req) : 0;
}

static const struct file_operations chardev_fops = {
	.owner		= THIS_MODULE,
	.open		= chardev_open,
	.llseek		= chardev_llseek,
	.read		= chardev_read,
	.write		= chardev_write,
	.fsync		= chardev_fsync,
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
