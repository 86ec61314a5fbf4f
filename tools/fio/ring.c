// SPDX-License-Identifier: BSD-3-Clause
/*
 * The fio engine: the ring.  A submission entry is of 128 bytes and has the
 * struct pmof_op in its command area; a completion entry is of 32 bytes: res is
 * the operation's result, and behind it stands pmof_op.old.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine.h"

#define URING_CMD_OP	0	/* sqe->cmd_op: a struct pmof_op */

/* Memory for a request may be short for a while; this is how many milliseconds. */
#define SUBMIT_TRIES	10000

/* The best that this kernel knows, as the thread that sets up is the one that submits. */
static int setup(struct thread_data *td, struct engine *e)
{
	static const unsigned int nice_to_have[] = {
		IORING_SETUP_COOP_TASKRUN | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN,
		IORING_SETUP_COOP_TASKRUN,
		0,
	};
	const struct engine_options *o = td->eo;
	unsigned int i, flags = IORING_SETUP_SQE128 | IORING_SETUP_CQE32;
	int ret = -EINVAL;

	if (o->hipri)
		flags |= IORING_SETUP_IOPOLL;
	for (i = 0; i < ARRAY_SIZE(nice_to_have) && ret == -EINVAL; i++)
		ret = io_uring_queue_init(td->o.iodepth, &e->ring, flags | nice_to_have[i]);
	if (ret == -EINVAL || ret == -ENOSYS)
		log_err("fio-pmof: this kernel has no io_uring with large entries (5.19 and later have)\n");
	return ret;
}

/* Each io_u has its buffer, and its number in the kernel's table. */
static int register_buffers(struct thread_data *td, struct engine *e)
{
	struct iovec *iov = calloc(td->o.iodepth, sizeof(*iov));
	struct io_u *io_u;
	int i, ret;

	if (!iov)
		return -ENOMEM;
	io_u_qiter(&td->io_u_all, io_u, i) {
		iov[io_u->index].iov_base = io_u->buf;
		iov[io_u->index].iov_len = td_max_bs(td);
	}
	ret = io_uring_register_buffers(&e->ring, iov, td->o.iodepth);
	if (ret)
		log_err("fio-pmof: fixedbufs: the kernel does not take the buffers (ulimit -l?)\n");
	free(iov);
	return ret;
}

/**
 * ring_init - a ring for the job; fio's buffers are there
 */
int ring_init(struct thread_data *td)
{
	const struct engine_options *o = td->eo;
	struct engine *e = td->io_ops_data;
	int ret = setup(td, e);

	if (!ret) {
		e->ring_up = true;
		if (o->fixedbufs)
			ret = register_buffers(td, e);
	}
	if (!ret)
		return 0;
	td_verror(td, -ret, "io_uring");
	return 1;
}

/* Into the submission ring, which has a place for each io_u: one stage at a time. */
static bool push(struct thread_data *td, struct slot *slot)
{
	const struct engine_options *o = td->eo;
	struct engine *e = td->io_ops_data;
	struct io_uring_sqe *sqe = io_uring_get_sqe(&e->ring);

	if (!sqe)
		return false;
	memset(sqe, 0, 2 * sizeof(*sqe));
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = slot->io_u->file->fd;
	sqe->cmd_op = URING_CMD_OP;
	sqe->user_data = (uintptr_t)slot;
	if (o->fixedbufs && slot->stage == STAGE_RW) {
		sqe->uring_cmd_flags = IORING_URING_CMD_FIXED;
		sqe->buf_index = slot->io_u->index;
	}
	op_fill(td, slot, (struct pmof_op *)sqe->cmd);
	return true;
}

static enum stage first_stage(struct thread_data *td, const struct io_u *io_u)
{
	const struct engine_options *o = td->eo;

	if (ddir_sync(io_u->ddir))
		return STAGE_PERSIST;
	return o->commit && io_u->ddir == DDIR_WRITE ? STAGE_PREPARE : STAGE_RW;
}

/**
 * ring_queue - fio's queue: submitted with ring_commit()
 */
enum fio_q_status ring_queue(struct thread_data *td, struct io_u *io_u)
{
	struct engine *e = td->io_ops_data;
	struct slot *slot = &e->slots[io_u->index];

	fio_ro_check(td, io_u);
	slot->io_u = io_u;
	slot->stage = first_stage(td, io_u);
	if (!push(td, slot))
		return FIO_Q_BUSY;
	e->queued[e->nr_queued++] = io_u->index;
	return FIO_Q_QUEUED;
}

static void mark_issued(struct thread_data *td, struct engine *e)
{
	bool timed = fio_fill_issue_time(td);
	struct timespec now;
	struct io_u *io_u;

	io_u_mark_submit(td, e->nr_queued);
	if (timed)
		fio_gettime(&now, NULL);
	while (e->nr_queued) {
		io_u = e->slots[e->queued[--e->nr_queued]].io_u;
		if (!timed)
			continue;
		io_u->issue_time = now;
		io_u_queued(td, io_u);
	}
}

/* submit - all that was pushed; waits for @wait completions.  0 or a negative errno. */
static int submit(struct engine *e, unsigned int wait)
{
	unsigned int tries = 0;
	int ret;

	do {
		ret = io_uring_submit_and_wait(&e->ring, wait);
		if (ret == -EAGAIN || ret == -EBUSY)
			usleep(1000);
		else if (ret < 0 && ret != -EINTR)
			return ret;
	} while (io_uring_sq_ready(&e->ring) && ++tries < SUBMIT_TRIES);
	return io_uring_sq_ready(&e->ring) ? -EBUSY : 0;
}

/**
 * ring_commit - submit what was queued
 */
int ring_commit(struct thread_data *td)
{
	struct engine *e = td->io_ops_data;
	int ret;

	if (!e->nr_queued)
		return 0;
	ret = submit(e, 0);
	if (ret)
		td_verror(td, -ret, "io_uring submit");
	else
		mark_issued(td, e);
	return ret;
}

/* Is the io_u of @slot done with this completion? */
static bool completed(struct thread_data *td, struct slot *slot, const struct io_uring_cqe *cqe)
{
	struct io_u *io_u = slot->io_u;

	if (cqe->res < 0) {
		io_u->error = -cqe->res;
		return true;
	}
	if (!op_next(td, slot, cqe->big_cqe[0]))
		return true;
	if (push(td, slot))
		return false;
	io_u->error = EBUSY;
	return true;
}

/* What has completed, at most @max; operations with another stage go on. */
static unsigned int reap(struct thread_data *td, unsigned int *events, unsigned int max)
{
	struct engine *e = td->io_ops_data;
	struct io_uring_cqe *cqe;
	unsigned int head, seen = 0, nr = 0;
	struct slot *slot;

	io_uring_for_each_cqe(&e->ring, head, cqe) {
		if (nr == max)
			break;
		slot = io_uring_cqe_get_data(cqe);
		if (completed(td, slot, cqe))
			events[nr++] = slot->io_u->index;
		seen++;
	}
	io_uring_cq_advance(&e->ring, seen);
	return nr;
}

/**
 * ring_getevents - at least @min of fio's events, at most @max
 */
int ring_getevents(struct thread_data *td, unsigned int min, unsigned int max,
		   const struct timespec *timeout)
{
	struct engine *e = td->io_ops_data;
	unsigned int nr = 0;
	int ret;

	(void)timeout;	/* as fio's own engine: nobody gives one */
	do {
		/* What is polled or deferred shows only when the kernel is asked. */
		ret = nr < min ? submit(e, 1) : io_uring_get_events(&e->ring);
		nr += reap(td, e->events + nr, max - nr);
	} while (ret >= 0 && nr < min);
	/* The next stage of what was reaped must not wait for fio's next call. */
	if (ret >= 0 && io_uring_sq_ready(&e->ring))
		ret = submit(e, 0);
	if (ret >= 0)
		return (int)nr;
	td_verror(td, -ret, "io_uring wait");
	return ret;
}

/**
 * ring_event - one of those that ring_getevents() has found
 */
struct io_u *ring_event(struct thread_data *td, int event)
{
	struct engine *e = td->io_ops_data;

	return e->slots[e->events[event]].io_u;
}
