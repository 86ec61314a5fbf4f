// SPDX-License-Identifier: BSD-3-Clause
/* The fio engine: opening /dev/pmofcN, and whether it is what the job asks for. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "engine.h"

static const char *const method_names[] = {
	[PMOF_METHOD_AUTO] = "auto",
	[PMOF_METHOD_READ] = "read",
	[PMOF_METHOD_ASSIST] = "assist",
	[PMOF_METHOD_RPC] = "rpc",
	[PMOF_METHOD_FLUSH] = "flush",
};

static const char *method_name(unsigned int method)
{
	return method < ARRAY_SIZE(method_names) ? method_names[method] : "unknown";
}

/* One that is not offered would not help, connect again or not. */
static int check_method(const struct fio_file *f, const struct pmof_info *info, unsigned int wanted)
{
	if (wanted == METHOD_ANY || wanted == info->method)
		return 0;
	log_err("fio-pmof: %s has the persist method %s (sysfs: persist_method), not %s: ",
		f->file_name, method_name(info->method), method_name(wanted));
	if (wanted == PMOF_METHOD_AUTO && !(info->methods & (info->methods - 1)))
		log_err("it has no other (sysfs: persist_methods)\n");
	else if (wanted == PMOF_METHOD_AUTO || info->methods & 1U << wanted)
		log_err("connect it with persist=%s (pmof connect --persist %s)\n",
			method_name(wanted), method_name(wanted));
	else
		log_err("the server does not offer it (sysfs: persist_methods)\n");
	return EOPNOTSUPP;
}

static int check(struct thread_data *td, const struct fio_file *f, const struct pmof_info *info)
{
	const struct engine_options *o = td->eo;

	if (td_write(td) && info->flags & PMOF_INFO_READ_ONLY) {
		log_err("fio-pmof: %s is read-only\n", f->file_name);
		return EROFS;
	}
	return check_method(f, info, o->method);
}

static int get_info(const struct fio_file *f, int fd, struct pmof_info *info)
{
	int err;

	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	if (!ioctl(fd, PMOF_IOC_GET_INFO, info))
		return 0;
	err = errno;
	if (err == ENOTTY)
		log_err("fio-pmof: %s is no pmof character device (/dev/pmofcN)\n", f->file_name);
	return err;
}

/* Not fio's own open, which wants to write to every character device. */
static int open_checked(struct thread_data *td, const struct fio_file *f, struct pmof_info *info)
{
	int fd = open(f->file_name, (td_write(td) ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	int err;

	if (fd < 0) {
		err = errno;
		log_err("fio-pmof: cannot open %s: %s\n", f->file_name, strerror(err));
		/* At ENOENT fio would make a file of that name. */
		td_verror(td, err == ENOENT ? ENODEV : err, "open");
		return -1;
	}
	err = get_info(f, fd, info);
	if (!err)
		err = check(td, f, info);
	if (!err)
		return fd;
	td_verror(td, err, "pmof device");
	close(fd);
	return -1;
}

int device_open(struct thread_data *td, struct fio_file *f)
{
	struct pmof_info info;

	f->fd = open_checked(td, f, &info);
	if (f->fd < 0)
		return 1;
	if (td_write(td) && !(info.flags & PMOF_INFO_DURABLE))
		log_info("fio-pmof: %s: acknowledgements are not durable there (pmof info)\n",
			 f->file_name);
	return 0;
}

int device_close(struct thread_data *td, struct fio_file *f)
{
	int ret = close(f->fd) ? errno : 0;

	(void)td;
	f->fd = -1;
	return ret;
}

int device_size(struct thread_data *td, struct fio_file *f)
{
	struct pmof_info info;
	int fd;

	if (!layout_is_fios(td))
		return 1;
	if (fio_file_size_known(f))
		return 0;
	fd = open_checked(td, f, &info);
	if (fd < 0)
		return 1;
	close(fd);
	f->real_file_size = info.ns_size;
	fio_file_set_size_known(f);
	return 0;
}
