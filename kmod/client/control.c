// SPDX-License-Identifier: GPL-2.0
/* /dev/pmof-control: write options, read back the instance, or why there is none. */
#define pr_fmt(fmt) "pmof-client: " fmt

#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "client.h"

#define CONTROL_MAX	1024

/* One open file. */
struct control {
	struct mutex lock;	/* protects all below */
	int instance;		/* of the connection that it made, or -1 */
	const char *why;	/* the last connect failed, if that is known */
	loff_t read;		/* of the answer: a stream has no position of its own */
};

static int control_open(struct inode *inode, struct file *file)
{
	struct control *c = kzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return -ENOMEM;
	mutex_init(&c->lock);
	c->instance = -1;
	file->private_data = c;
	return stream_open(inode, file);
}

static int control_release(struct inode *inode, struct file *file)
{
	kfree(file->private_data);
	return 0;
}

static int control_connect(struct control *c, char *buf)
{
	struct pmof_options opt;
	int rc;

	rc = pmof_options_parse(buf, &opt, &c->why);
	if (!rc)
		rc = pmof_conn_create(&opt, &c->why);
	memzero_explicit(&opt.key, sizeof(opt.key));
	if (rc < 0) {
		if (c->why)
			pr_info("connect: %s\n", c->why);
		return rc;
	}
	c->instance = rc;
	return 0;
}

/* The answer to an earlier write is not one to this, whatever becomes of it. */
static void control_forget(struct control *c)
{
	mutex_lock(&c->lock);
	c->read = 0;
	c->why = NULL;
	mutex_unlock(&c->lock);
}

static ssize_t control_write(struct file *file, const char __user *ubuf, size_t len, loff_t *pos)
{
	struct control *c = file->private_data;
	char *buf;
	int rc;

	control_forget(c);
	if (len >= CONTROL_MAX)
		return -EINVAL;
	buf = memdup_user_nul(ubuf, len);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	rc = -EINVAL;
	if (strlen(buf) == len) {
		mutex_lock(&c->lock);
		rc = c->instance >= 0 ? -EBUSY : control_connect(c, buf);
		mutex_unlock(&c->lock);
	}
	/* There may be a key in it. */
	kfree_sensitive(buf);
	return rc ?: len;
}

static ssize_t control_read(struct file *file, char __user *ubuf, size_t len, loff_t *pos)
{
	struct control *c = file->private_data;
	char answer[256];
	int n = -ENODATA;

	mutex_lock(&c->lock);
	if (c->instance >= 0)
		n = scnprintf(answer, sizeof(answer), "instance=%d\n", c->instance);
	else if (c->why)
		n = scnprintf(answer, sizeof(answer), "error=%s\n", c->why);
	if (n >= 0)
		n = simple_read_from_buffer(ubuf, len, &c->read, answer, n);
	mutex_unlock(&c->lock);
	return n;
}

static const struct file_operations control_fops = {
	.owner		= THIS_MODULE,
	.open		= control_open,
	.release	= control_release,
	.read		= control_read,
	.write		= control_write,
};

static struct miscdevice control_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "pmof-control",
	.fops	= &control_fops,
	.mode	= 0600,
};

int pmof_control_init(void)
{
	return misc_register(&control_device);
}

void pmof_control_exit(void)
{
	misc_deregister(&control_device);
}
