/* SPDX-License-Identifier: GPL-2.0 */
/*
 * I/O for the paths of faults.c: every call, whatever those before it said.  What has said that
 * it wrote something is taken at its word when nothing fails any more.
 */
#ifndef PMOF_VM_FAULTS_IO_H
#define PMOF_VM_FAULTS_IO_H

#include <linux/fs.h>

#include "bus.h"
#include "faults_paths.h"
#include "ring.h"

static char *page_buf, *read_buf;
#define IO_LEN	(256 * KiB)

static struct {
	uint64_t offset;
	size_t len;
	char byte;
} written[48];
static unsigned int nr_written;

/* Another content for each failure. */
static void begin_io(void)
{
	static char pattern;

	memset(page_buf, ++pattern, IO_LEN);
	nr_written = 0;
}

static int note(int *first, int rc)
{
	if (rc < 0 && !*first)
		*first = rc;
	return rc;
}

/* As note(), of what has written @len bytes of @byte if @rc is not an error. */
static void note_write(int *first, int rc, uint64_t offset, size_t len, char byte)
{
	if (note(first, rc) < 0 || nr_written == sizeof(written) / sizeof(*written))
		return;
	written[nr_written].offset = offset;
	written[nr_written].len = len;
	written[nr_written++].byte = byte;
}

static int is_written(int fd)
{
	unsigned int i;
	size_t k;
	int rc;

	for (i = 0; i < nr_written; i++) {
		rc = vm_get(fd, written[i].offset, read_buf, written[i].len);
		if (rc)
			return rc;
		for (k = 0; k < written[i].len && read_buf[k] == written[i].byte; k++)
			;
		if (k == written[i].len)
			continue;
		printf("# %zu bytes at %llu were said to be written: not byte %zu\n", written[i].len,
		       (unsigned long long)written[i].offset, k);
		return -EBADMSG;
	}
	return 0;
}

/* The end of a path.  One that is not live any more makes way for another. */
static int check_io(void)
{
	int fd, rc;

	if (instance < 0 || !vm_attr_is(instance, "state", "live"))
		return disconnect_if_dead();
	fd = vm_open(instance, O_RDWR);
	if (fd < 0)
		return fd;
	rc = is_written(fd);
	close(fd);
	return rc;
}

static int of_length(ssize_t n, ssize_t want)
{
	return n < 0 ? -errno : n == want ? 0 : -EIO;
}

static void submit(int fd, int *rc)
{
	struct pmof_op ops[] = {
		ring_make_op(PMOF_OP_PUT, 0, 5 * MiB, 4 * KiB, page_buf),
		ring_make_op(PMOF_OP_FETCH_ADD, 0, 80, 8, NULL),
		ring_make_op(PMOF_OP_PUT, PMOF_F_PERSIST, 5 * MiB + 4 * KiB, 100, page_buf),
	};
	unsigned int i;

	ops[1].operand = 1;
	if (note(rc, vm_submit(fd, ops, sizeof(ops) / sizeof(*ops))) < 0)
		return;
	for (i = 0; i < 3; i += 2)
		note_write(rc, ops[i].result, ops[i].offset, ops[i].length, *page_buf);
}

static int calls(int fd)
{
	const char byte = *page_buf;
	uint64_t old, generation;
	int rc = 0;

	note_write(&rc, vm_put(fd, MiB, page_buf, IO_LEN, 0), MiB, IO_LEN, byte);
	note(&rc, vm_persist(fd, MiB, IO_LEN));
	note_write(&rc, vm_put(fd, 2 * MiB + 8, page_buf, 200, PMOF_F_PERSIST), 2 * MiB + 8, 200,
		   byte);
	note(&rc, vm_get(fd, MiB, read_buf, IO_LEN));
	note(&rc, vm_fetch_add(fd, 64, 1, &old));
	if (!note(&rc, vm_prepare(fd, 3 * MiB, 512, &generation)))
		note_write(&rc, vm_commit(fd, 3 * MiB, page_buf, 512, generation), 3 * MiB, 504,
			   byte);
	note(&rc, vm_get_valid(fd, 3 * MiB, read_buf, 512, &generation));
	note(&rc, vm_revalidate(fd, 3 * MiB, 512, &generation));
	note(&rc, vm_cas(fd, 72, 0, 1, &old));
	submit(fd, &rc);
	note_write(&rc, of_length(pwrite(fd, page_buf, 8 * KiB, 4 * MiB), 8 * KiB), 4 * MiB,
		   8 * KiB, byte);
	note(&rc, fsync(fd) ? -errno : 0);
	note(&rc, of_length(pread(fd, read_buf, 8 * KiB, 4 * MiB), 8 * KiB));
	return rc;
}

static int chardev_io(void)
{
	int fd = vm_open(instance, O_RDWR), rc;

	if (fd < 0)
		return fd;
	begin_io();
	rc = calls(fd);
	close(fd);
	return rc;
}

static int blockdev_io(void)
{
	uint64_t range[2] = { 9 * MiB, 64 * KiB };
	int fd, rc = 0;
	char path[32];

	snprintf(path, sizeof(path), "/dev/pmof%d", instance);
	fd = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	begin_io();
	note_write(&rc, of_length(pwrite(fd, page_buf, IO_LEN, 8 * MiB), IO_LEN), 8 * MiB, IO_LEN,
		   *page_buf);
	note(&rc, of_length(pread(fd, read_buf, IO_LEN, 8 * MiB), IO_LEN));
	note(&rc, fsync(fd) ? -errno : 0);
	note_write(&rc, ioctl(fd, BLKZEROOUT, range) ? -errno : 0, range[0], range[1], 0);
	note(&rc, ioctl(fd, BLKDISCARD, range) ? -errno : 0);
	close(fd);
	return rc;
}

#define MAP_AT		(6 * MiB)
#define MAP_PAGES	16

/* Stores to each page; what could be stored is there once it is synchronized. */
static void map_store(char *p, int *rc)
{
	bool stored[MAP_PAGES];
	int i, synced;

	for (i = 0; i < MAP_PAGES; i++) {
		stored[i] = !bus_store_error(p + i * 4096, *page_buf);
		note(rc, stored[i] ? 0 : -EIO);
	}
	synced = note(rc, msync(p, MAP_PAGES * 4096, MS_SYNC) ? -errno : 0);
	for (i = 0; i < MAP_PAGES && !synced; i++)
		if (stored[i])
			note_write(rc, 0, MAP_AT + i * 4096, 1, *page_buf);
}

/* Pages that come in, are stored to, written back, dropped, and come in again. */
static int mapping_io(void)
{
	int fd = vm_open(instance, O_RDWR), rc = 0, i;
	const size_t len = MAP_PAGES * 4096;
	char *p;

	if (fd < 0)
		return fd;
	begin_io();
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, MAP_AT);
	if (p == MAP_FAILED) {
		note(&rc, -errno);
		close(fd);
		return rc;
	}
	map_store(p, &rc);
	madvise(p, len, MADV_DONTNEED);
	posix_fadvise(fd, MAP_AT, len, POSIX_FADV_DONTNEED);
	for (i = 0; i < MAP_PAGES; i++)
		note(&rc, bus_error(p + i * 4096, false) ? -EIO : 0);
	munmap(p, len);
	close(fd);
	return rc;
}

static int ring_calls(struct io_uring *ring, int fd)
{
	const struct pmof_op ops[] = {
		ring_make_op(PMOF_OP_PUT, PMOF_F_PERSIST, 7 * MiB, 4 * KiB, page_buf),
		ring_make_op(PMOF_OP_PUT, 0, 7 * MiB + 8, 64 * KiB, page_buf),
		ring_make_op(PMOF_OP_GET, 0, 7 * MiB, 64 * KiB, read_buf),
		ring_make_op(PMOF_OP_PERSIST, 0, 7 * MiB, 128 * KiB, NULL),
	};
	struct io_uring_sqe *sqe;
	unsigned int i;
	int rc = 0, status;

	for (i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (ops[i].opcode == PMOF_OP_PUT)
			note_write(&rc, ring_op(ring, fd, &ops[i], NULL), ops[i].offset,
				   ops[i].length, *page_buf);
		else
			note(&rc, ring_op(ring, fd, &ops[i], NULL));
	for (i = 0; i < 3; i++) {
		sqe = io_uring_get_sqe(ring);
		memset(sqe, 0, 2 * sizeof(*sqe));
		if (i == 0)
			io_uring_prep_write(sqe, fd, page_buf, 8 * KiB, 7 * MiB);
		else if (i == 1)
			io_uring_prep_read(sqe, fd, read_buf, 8 * KiB, 7 * MiB);
		else
			io_uring_prep_fsync(sqe, fd, 0);
		status = ring_run(ring, NULL);
		if (i == 0)
			note_write(&rc, status, 7 * MiB, status > 0 ? status : 0, *page_buf);
		else
			note(&rc, status);
	}
	return rc;
}

static int ring_io(void)
{
	int fd = vm_open(instance, O_RDWR), rc;
	struct io_uring ring;

	if (fd < 0)
		return fd;
	begin_io();
	rc = ring_init_cmd(&ring, 0);
	if (!rc) {
		rc = ring_calls(&ring, fd);
		io_uring_queue_exit(&ring);
	}
	close(fd);
	return rc;
}

#endif /* PMOF_VM_FAULTS_IO_H */
