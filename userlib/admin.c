// SPDX-License-Identifier: BSD-3-Clause
/* Connecting and disconnecting. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

/* The option string that is written to the control device. */
struct options {
	char text[1024];	/* with its NUL: as much as the device takes */
	size_t len;
	int error;
};

__attribute__((format(printf, 2, 3)))
static void add(struct options *o, const char *fmt, ...)
{
	va_list args;
	int n;

	if (o->error)
		return;
	va_start(args, fmt);
	n = vsnprintf(o->text + o->len, sizeof(o->text) - o->len, fmt, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(o->text) - o->len)
		o->error = -EINVAL;
	else
		o->len += n;
}

/* A comma or a newline in a value would smuggle in another option. */
static void add_text(struct options *o, const char *key, const char *value)
{
	const char *c;

	if (!value || !*value)
		o->error = -EINVAL;
	for (c = value; c && *c; c++)
		if (*c == ',' || (unsigned char)*c <= ' ' || *c == 0x7f)
			o->error = -EINVAL;
	add(o, "%s%s=%s", o->len ? "," : "", key, value);
}

static void add_optional(struct options *o, const char *key, const char *value)
{
	if (value)
		add_text(o, key, value);
}

static void build_options(struct options *o, const struct pmof_connect_args *args)
{
	add_text(o, "addr", args->addr);
	add_text(o, "name", args->name);
	if (args->id)
		add_text(o, "id", args->id);
	if (args->port)
		add(o, ",port=%u", args->port);
	if (args->queues)
		add(o, ",queues=%u", args->queues);
	if (args->depth)
		add(o, ",depth=%u", args->depth);
	if (args->method != PMOF_METHOD_AUTO)
		add(o, ",persist=%s", pmof_method_name(args->method));
	if (args->read_only)
		add(o, ",read_only=1");
	if (args->no_block)
		add(o, ",block=0");
	if (args->writeback)
		add(o, ",cache=writeback");
	if (args->block_size)
		add(o, ",block_size=%u", args->block_size);
	if (args->poll_queues)
		add(o, ",poll_queues=%u", args->poll_queues);
	if (args->max_call)
		add(o, ",max_call=%u", args->max_call);
	add_optional(o, "keep_alive_tmo", args->keep_alive_tmo);
	add_optional(o, "reconnect_delay", args->reconnect_delay);
	add_optional(o, "fail_io_timeout", args->fail_io_timeout);
	add_optional(o, "device_loss_timeout", args->device_loss_timeout);
	if (args->key)
		add_text(o, "key", args->key);
	if (args->exclusive)
		add(o, ",exclusive=1");
	if (args->takeover)
		add(o, ",takeover=1");
}

static int parse_answer(const char *text, int *instance)
{
	static const char key[] = "instance=";
	char *end;
	long n;

	if (strncmp(text, key, sizeof(key) - 1) != 0)
		return -EPROTO;
	text += sizeof(key) - 1;
	errno = 0;
	n = strtol(text, &end, 10);
	if (errno || end == text || (*end && *end != '\n' && *end != ',') || n < 0 || n > INT_MAX)
		return -EPROTO;
	*instance = (int)n;
	return 0;
}

static int ask(int fd, const struct options *o, int *instance)
{
	char answer[64];
	ssize_t n;

	n = write(fd, o->text, o->len);
	if (n < 0)
		return -errno;
	if ((size_t)n != o->len)
		return -EIO;
	n = read(fd, answer, sizeof(answer) - 1);
	if (n < 0)
		return -errno;
	answer[n] = '\0';
	return parse_answer(answer, instance);
}

static int connect_by(const struct options *o, int *instance)
{
	int fd, ret;

	fd = open(PMOF_CONTROL_PATH, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = ask(fd, o, instance);
	close(fd);
	return ret;
}

/* What a program must bring at least: the first version of the structure. Never changes. */
#define ARGS_V1		offsetof(struct pmof_connect_args, no_block)
#define ARGS_MAX	4096

/*
 * @to: what @from says, and zeros for what an older program does not know.  What we do not
 * know must be zero: a newer program would not get what it asks for.
 */
static int take_args(struct pmof_connect_args *to, const struct pmof_connect_args *from)
{
	const char *bytes = (const char *)from;
	size_t i;

	if (from->size < ARGS_V1)
		return -EINVAL;
	if (from->size > ARGS_MAX)
		return -E2BIG;
	for (i = sizeof(*to); i < from->size; i++)
		if (bytes[i])
			return -E2BIG;
	memset(to, 0, sizeof(*to));
	memcpy(to, from, from->size < sizeof(*to) ? from->size : sizeof(*to));
	return 0;
}

int pmof_connect(const struct pmof_connect_args *args, int *instance)
{
	struct options o = { .len = 0 };
	struct pmof_connect_args known;
	int ret = take_args(&known, args);

	if (ret)
		return ret;
	build_options(&o, &known);
	ret = o.error ? o.error : connect_by(&o, instance);
	/* There may be a key in it. */
	explicit_bzero(&o, sizeof(o));
	return ret;
}

/*
 * The kernel removes the entry right after the session; up to 5 s for a busy machine.  Behind it
 * another device may have the same number.
 */
static int wait_gone(const char *path, ino_t inode)
{
	const struct timespec pause = { .tv_nsec = 5 * 1000 * 1000 };
	struct stat st;
	int i;

	for (i = 0; i < 1000; i++) {
		if (stat(path, &st) || st.st_ino != inode)
			return 0;
		nanosleep(&pause, NULL);
	}
	return -ETIMEDOUT;
}

int pmof_disconnect(int instance)
{
	char path[PMOF_PATH_MAX];
	struct stat st;
	int ret;

	snprintf(path, sizeof(path), PMOF_SYSFS_CLASS "/pmof%d/disconnect", instance);
	if (stat(path, &st))
		return errno == ENOENT ? -ENODEV : -errno;
	ret = pmof_write_attr(instance, "disconnect", "1");
	/* It may be going: the attribute first. */
	if (ret)
		return ret == -ENOENT ? -ENODEV : ret;
	return wait_gone(path, st.st_ino);
}
