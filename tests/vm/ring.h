/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring for the programs in the client VM: rings, struct pmof_op as a command. */
#ifndef PMOF_RING_H
#define PMOF_RING_H

#include <liburing.h>

#include "vm.h"

#ifndef IORING_URING_CMD_FIXED
#define IORING_URING_CMD_FIXED	(1U << 0)
#endif

#define RING_DEPTH	64

/* Returns 0 or -errno. */
static inline int ring_init(struct io_uring *ring, unsigned int flags)
{
	return io_uring_queue_init(RING_DEPTH, ring, flags);
}

static inline int ring_init_cmd(struct io_uring *ring, unsigned int flags)
{
	return ring_init(ring, IORING_SETUP_SQE128 | IORING_SETUP_CQE32 | flags);
}

/* A command that will carry @op; the ring has room. */
static inline struct io_uring_sqe *ring_cmd(struct io_uring *ring, int fd,
					    const struct pmof_op *op, uint64_t data)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	if (!sqe)
		abort();
	memset(sqe, 0, 2 * sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = fd;
	sqe->cmd_op = PMOF_URING_CMD_OP;
	sqe->user_data = data;
	memcpy(sqe->cmd, op, sizeof(*op));
	return sqe;
}

/* What the next completion says; its user_data and big part where wanted. */
static inline int ring_wait(struct io_uring *ring, uint64_t *data, uint64_t *old)
{
	struct io_uring_cqe *cqe;
	int rc = io_uring_wait_cqe(ring, &cqe);

	if (rc)
		return rc;
	rc = cqe->res;
	if (data)
		*data = cqe->user_data;
	if (old)
		*old = cqe->big_cqe[0];
	io_uring_cqe_seen(ring, cqe);
	return rc;
}

/* Submits what is in the ring, and waits for one. */
static inline int ring_run(struct io_uring *ring, uint64_t *old)
{
	int rc = io_uring_submit(ring);

	return rc < 0 ? rc : ring_wait(ring, NULL, old);
}

/* One command, from its start to its end. */
static inline int ring_op(struct io_uring *ring, int fd, const struct pmof_op *op, uint64_t *old)
{
	ring_cmd(ring, fd, op, 0);
	return ring_run(ring, old);
}

static inline struct pmof_op ring_make_op(unsigned int opcode, uint32_t flags, uint64_t offset,
					  uint64_t length, const void *addr)
{
	return (struct pmof_op) {
		.size = sizeof(struct pmof_op), .opcode = opcode, .flags = flags,
		.offset = offset, .length = length, .addr = (uintptr_t)addr,
	};
}

#endif /* PMOF_RING_H */
