/* SPDX-License-Identifier: GPL-2.0 */
/* I/O for the paths of faults.c: every call, whatever those before it said. */
#ifndef PMOF_VM_FAULTS_IO_H
#define PMOF_VM_FAULTS_IO_H

#include <linux/fs.h>

#include "bus.h"
#include "faults_paths.h"
#include "ring.h"

static char *page_buf;
#define IO_LEN	(256 * KiB)

static void note(int *first, int rc)
{
	if (rc < 0 && !*first)
		*first = rc;
}

static int submit(int fd)
{
	struct pmof_op ops[] = {
		ring_make_op(PMOF_OP_PUT, 0, 5 * MiB, 4 * KiB, page_buf),
		ring_make_op(PMOF_OP_FETCH_ADD, 0, 80, 8, NULL),
		ring_make_op(PMOF_OP_PUT, PMOF_F_PERSIST, 5 * MiB + 4 * KiB, 100, page_buf),
	};

	ops[1].operand = 1;
	return vm_submit(fd, ops, sizeof(ops) / sizeof(*ops));
}

static int calls(int fd)
{
	uint64_t old, generation;
	int rc = 0;

	note(&rc, vm_put(fd, MiB, page_buf, IO_LEN, 0));
	note(&rc, vm_persist(fd, MiB, IO_LEN));
	note(&rc, vm_put(fd, 2 * MiB + 8, page_buf, 200, PMOF_F_PERSIST));
	note(&rc, vm_get(fd, MiB, page_buf, IO_LEN));
	note(&rc, vm_fetch_add(fd, 64, 1, &old));
	note(&rc, vm_prepare(fd, 3 * MiB, 512, &generation));
	note(&rc, vm_commit(fd, 3 * MiB, page_buf, 512, generation));
	note(&rc, vm_get_valid(fd, 3 * MiB, page_buf, 512, &generation));
	note(&rc, vm_revalidate(fd, 3 * MiB, 512, &generation));
	note(&rc, vm_cas(fd, 72, 0, 1, &old));
	note(&rc, submit(fd));
	note(&rc, pwrite(fd, page_buf, 8 * KiB, 4 * MiB) < 0 ? -errno : 0);
	note(&rc, fsync(fd) ? -errno : 0);
	note(&rc, pread(fd, page_buf, 8 * KiB, 4 * MiB) < 0 ? -errno : 0);
	return rc;
}

static int chardev_io(void)
{
	int fd = vm_open(instance, O_RDWR), rc;

	if (fd < 0)
		return fd;
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
	note(&rc, pwrite(fd, page_buf, IO_LEN, 8 * MiB) < 0 ? -errno : 0);
	note(&rc, pread(fd, page_buf, IO_LEN, 8 * MiB) < 0 ? -errno : 0);
	note(&rc, fsync(fd) ? -errno : 0);
	note(&rc, ioctl(fd, BLKZEROOUT, range) ? -errno : 0);
	note(&rc, ioctl(fd, BLKDISCARD, range) ? -errno : 0);
	close(fd);
	return rc;
}

/* Pages that come in, are stored to, written back, dropped, and come in again. */
static int mapping_io(void)
{
	int fd = vm_open(instance, O_RDWR), rc = 0, turn;
	const size_t len = 16 * 4096;
	char *p;
	size_t i;

	if (fd < 0)
		return fd;
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 6 * MiB);
	for (turn = 0; turn < 2 && p != MAP_FAILED; turn++) {
		for (i = 0; i < len; i += 4096)
			note(&rc, bus_error(p + i, turn == 0) ? -EIO : 0);
		note(&rc, msync(p, len, MS_SYNC) ? -errno : 0);
		madvise(p, len, MADV_DONTNEED);
		posix_fadvise(fd, 6 * MiB, len, POSIX_FADV_DONTNEED);
	}
	note(&rc, p == MAP_FAILED ? -errno : 0);
	if (p != MAP_FAILED)
		munmap(p, len);
	close(fd);
	return rc;
}

static int ring_calls(struct io_uring *ring, int fd)
{
	const struct pmof_op ops[] = {
		ring_make_op(PMOF_OP_PUT, PMOF_F_PERSIST, 7 * MiB, 4 * KiB, page_buf),
		ring_make_op(PMOF_OP_PUT, 0, 7 * MiB + 8, 64 * KiB, page_buf),
		ring_make_op(PMOF_OP_GET, 0, 7 * MiB, 64 * KiB, page_buf),
		ring_make_op(PMOF_OP_PERSIST, 0, 7 * MiB, 128 * KiB, NULL),
	};
	struct io_uring_sqe *sqe;
	unsigned int i;
	int rc = 0;

	for (i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		note(&rc, ring_op(ring, fd, &ops[i], NULL));
	for (i = 0; i < 3; i++) {
		sqe = io_uring_get_sqe(ring);
		memset(sqe, 0, 2 * sizeof(*sqe));
		if (i == 0)
			io_uring_prep_write(sqe, fd, page_buf, 8 * KiB, 7 * MiB);
		else if (i == 1)
			io_uring_prep_read(sqe, fd, page_buf, 8 * KiB, 7 * MiB);
		else
			io_uring_prep_fsync(sqe, fd, 0);
		note(&rc, ring_run(ring, NULL));
	}
	return rc;
}

static int ring_io(void)
{
	int fd = vm_open(instance, O_RDWR), rc;
	struct io_uring ring;

	if (fd < 0)
		return fd;
	rc = ring_init_cmd(&ring, 0);
	if (!rc) {
		rc = ring_calls(&ring, fd);
		io_uring_queue_exit(&ring);
	}
	close(fd);
	return rc;
}

#endif /* PMOF_VM_FAULTS_IO_H */
