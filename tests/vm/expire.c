// SPDX-License-Identifier: GPL-2.0
/*
 * What becomes of a request of each kind that meets with a connection that is gone for longer than
 * fail_io_timeout.
 *
 *   expire BLOCKDEV LEAST MOST
 *
 * The character device is PMOF_INSTANCE's.  All are begun at once; each has to fail with its error,
 * not before LEAST seconds and not behind MOST.
 */
#include <linux/aio_abi.h>
#include <sys/syscall.h>

#include "ring.h"

#define BASE	(48 * MiB)
#define LEN	8192

static int fd, block_fd;

struct one {
	const char *name;
	int (*run)(struct one *o);
	int wanted;
	/* when it runs: */
	pthread_t thread;
	uint64_t offset;
	char *buf;
	int got;
	double seconds;
};

static int result(ssize_t n)
{
	return n < 0 ? -errno : n == LEN ? 0 : -EPROTO;
}

static int run_read(struct one *o)
{
	return result(pread(fd, o->buf, LEN, (off_t)o->offset));
}

static int run_put(struct one *o)
{
	return vm_put(fd, o->offset, o->buf, LEN, PMOF_F_PERSIST);
}

static int run_persist(struct one *o)
{
	return vm_persist(fd, o->offset, LEN);
}

static int run_submit(struct one *o)
{
	struct pmof_op op = ring_make_op(PMOF_OP_PUT, PMOF_F_PERSIST, o->offset, LEN, o->buf);
	int rc = vm_submit(fd, &op, 1);

	return rc ? rc : (int)op.result;
}

static int run_command(struct one *o)
{
	struct pmof_op op = ring_make_op(PMOF_OP_PUT, PMOF_F_PERSIST, o->offset, LEN, o->buf);
	struct io_uring ring;

	return ring_init_cmd(&ring, 0) ? -EPROTO : ring_op(&ring, fd, &op, NULL);
}

static int run_aio(struct one *o)
{
	struct iocb cb = {
		.aio_lio_opcode = IOCB_CMD_PWRITE, .aio_fildes = fd, .aio_nbytes = LEN,
		.aio_buf = (uintptr_t)o->buf, .aio_offset = (int64_t)o->offset,
		.aio_rw_flags = RWF_DSYNC,
	}, *list = &cb;
	aio_context_t ctx = 0;
	struct io_event ev;

	if (syscall(SYS_io_setup, 1, &ctx) || syscall(SYS_io_submit, ctx, 1, &list) != 1 ||
	    syscall(SYS_io_getevents, ctx, 1, 1, &ev, NULL) != 1)
		return -EPROTO;
	return ev.res == LEN ? 0 : (int64_t)ev.res < 0 ? (int)ev.res : -EPROTO;
}

static int run_block_read(struct one *o)
{
	return result(pread(block_fd, o->buf, LEN, (off_t)o->offset));
}

static int run_block_write(struct one *o)
{
	return result(pwrite(block_fd, o->buf, LEN, (off_t)o->offset));
}

static struct one ones[] = {
	{ .name = "read", .run = run_read, .wanted = -EIO },
	{ .name = "durable put", .run = run_put, .wanted = -EIO },
	{ .name = "persist", .run = run_persist, .wanted = -EIO },
	{ .name = "submit", .run = run_submit, .wanted = -EIO },
	{ .name = "command of io_uring", .run = run_command, .wanted = -EIO },
	{ .name = "aio", .run = run_aio, .wanted = -EIO },
	{ .name = "block read", .run = run_block_read, .wanted = -ENOLINK },
	{ .name = "block write", .run = run_block_write, .wanted = -ENOLINK },
};

#define NR	((int)(sizeof(ones) / sizeof(ones[0])))

static void *run(void *arg)
{
	struct one *o = arg;
	double start = vm_now();

	o->got = o->run(o);
	o->seconds = vm_now() - start;
	return NULL;
}

static bool is_right(const struct one *o, double least, double most)
{
	printf("%s: %s after %.1f s\n", o->name, o->got ? strerror(-o->got) : "done", o->seconds);
	return o->got == o->wanted && o->seconds >= least && o->seconds <= most;
}

int main(int argc, char **argv)
{
	int i, bad = 0;

	if (argc != 4)
		return 2;
	fd = vm_open(vm_instance(), O_RDWR);
	block_fd = open(argv[1], O_RDWR | O_DIRECT | O_CLOEXEC);
	if (fd < 0 || block_fd < 0)
		return 1;
	for (i = 0; i < NR; i++) {
		ones[i].offset = BASE + (uint64_t)i * LEN;
		ones[i].buf = vm_pages(LEN);
		if (pthread_create(&ones[i].thread, NULL, run, &ones[i]))
			return 1;
	}
	for (i = 0; i < NR; i++) {
		pthread_join(ones[i].thread, NULL);
		bad += !is_right(&ones[i], atof(argv[2]), atof(argv[3]));
	}
	return bad > 0;
}
