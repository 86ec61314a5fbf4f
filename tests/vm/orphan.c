// SPDX-License-Identifier: GPL-2.0
/*
 * A child submits on its parent's ring and exits while its requests wait for a connection: io_uring
 * waits for none of them.  When the connection is back they end, and touch nobody's memory.
 *
 *   orphan FILE
 *
 * The link is cut.  Submits, makes FILE.begun, waits for FILE.go, which says that PMOF_INSTANCE is
 * recovering, lets the child exit, makes FILE.gone, and waits for the requests.
 */
#include <sys/wait.h>

#include "ring.h"

#define LEN	65536

/* A read and a command, each into memory that only this process has. */
static int child(struct io_uring *ring, int fd, const char *file)
{
	char *a = vm_pages(LEN), *b = vm_pages(LEN);
	struct pmof_op op = ring_make_op(PMOF_OP_GET, 0, LEN, LEN, a);
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	/* Their pages are there, or it would be a worker that waits, and is killed. */
	memset(a, 1, LEN);
	memset(b, 1, LEN);
	io_uring_prep_read(sqe, fd, b, LEN, 0);
	ring_cmd(ring, fd, &op, 1);
	if (io_uring_submit(ring) != 2)
		return 1;
	vm_signal(file, "begun");
	vm_await(file, "go");
	return 0;
}

int main(int argc, char **argv)
{
	int fd = vm_open(vm_instance(), O_RDWR), status, i, rc, bad = 0;
	struct io_uring ring;
	uint64_t which = 0;
	pid_t pid;

	if (argc != 2 || fd < 0 || ring_init_cmd(&ring, 0))
		return 2;
	pid = fork();
	if (!pid)
		_exit(child(&ring, fd, argv[1]));
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return 2;
	vm_signal(argv[1], "gone");
	for (i = 0; i < 2; i++) {
		rc = ring_wait(&ring, &which, NULL);
		printf("%s: %s\n", which ? "command" : "read", rc < 0 ? strerror(-rc) : "done");
		bad |= rc != -EIO && rc != -EFAULT;
	}
	return bad;
}
