/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For fuzz_calls: io_uring commands, in rings of several kinds. They are submitted and
 * completed by the task itself, so that kcov sees what they do (and not what a worker of
 * io_uring's does for them; so no ring has a thread that submits).
 */
#ifndef PMOF_FUZZ_RING_H
#define PMOF_FUZZ_RING_H

#include "fuzz_store.h"

/* What a call comes by (fuzz_count_by()). */
enum { BY_IOCTL, BY_COMMAND, BY_FILE };

#define BATCH		16
#define FIXED		(256 * KiB)	/* of f->buf: the registered buffer */

/* One command, with what belongs to it besides its operation. */
struct command {
	struct pmof_op op;
	uint32_t cmd_op;
	uint16_t sqe_flags;
	uint16_t cmd_flags;
};

struct batch {
	unsigned int n, ring;
	struct command cmd[BATCH];
};

static const unsigned int ring_flags[RINGS] = {
	IORING_SETUP_SQE128 | IORING_SETUP_CQE32,
	IORING_SETUP_SQE128 | IORING_SETUP_CQE32 | IORING_SETUP_IOPOLL,
	IORING_SETUP_SQE128 | IORING_SETUP_CQE32 | IORING_SETUP_COOP_TASKRUN,
	IORING_SETUP_SQE128 | IORING_SETUP_CQE32 | IORING_SETUP_SINGLE_ISSUER |
		IORING_SETUP_DEFER_TASKRUN,
	IORING_SETUP_SQE128,
	0,	/* none of whose commands has room for an operation */
};

static bool ring_ready(struct fuzzer *f, unsigned int i)
{
	struct iovec registered = { f->buf, FIXED };

	if (f->ring_there[i])
		return true;
	if (ring_init(&f->ring[i], ring_flags[i] | IORING_SETUP_SUBMIT_ALL))
		return false;
	/* Without it, commands that want it are refused. */
	io_uring_register_buffers(&f->ring[i], &registered, 1);
	f->ring_there[i] = true;
	return true;
}

static void ring_end(struct fuzzer *f, unsigned int i)
{
	io_uring_queue_exit(&f->ring[i]);
	f->ring_there[i] = false;
}

static void make_command(struct fuzzer *f, struct command *c)
{
	uint64_t v = vm_rnd(&f->rnd);

	memset(c, 0, sizeof(*c));
	make(f, &op_shape, &c->op, NULL);
	c->cmd_op = v % 64 ? PMOF_URING_CMD_OP : fuzz_number(&f->rnd, 32);
	if (v >> 8 & 1 && moves_data(f))
		c->cmd_flags = IORING_URING_CMD_FIXED;
	switch (v >> 16 & 15) {
	case 0:
		c->sqe_flags = IOSQE_IO_LINK;
		break;
	case 1:
		c->sqe_flags = IOSQE_IO_HARDLINK;
		break;
	case 2:
		c->sqe_flags = IOSQE_ASYNC;
	}
}

static void damage_command(struct fuzzer *f, struct command *c)
{
	fuzz_damage(&f->rnd, &c->op, sizeof(c->op), 1 + vm_rnd(&f->rnd) % 2);
	if (fuzz_one_in(&f->rnd, 16))
		c->cmd_flags ^= 1 << vm_rnd(&f->rnd) % 16;
}

static void make_batch(struct fuzzer *f, struct batch *b)
{
	uint64_t v = vm_rnd(&f->rnd);
	unsigned int i;

	b->ring = v % 16 ? (v >> 8) % 2 : (v >> 8) % RINGS;
	b->n = 1 + (v >> 16) % (BATCH / 2);
	for (i = 0; i < b->n; i++)
		make_command(f, &b->cmd[i]);
}

/* An SQE without the second half has room for 16 bytes of a command. */
static bool queue_command(struct fuzzer *f, struct io_uring *ring, struct command *c,
			  unsigned int i)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);
	bool whole = ring->flags & IORING_SETUP_SQE128;

	if (!sqe)
		return false;
	memset(sqe, 0, whole ? 128 : 64);
	sqe->opcode = IORING_OP_URING_CMD;
	sqe->fd = f->fd;
	sqe->cmd_op = c->cmd_op;
	sqe->flags = c->sqe_flags & (IOSQE_IO_LINK | IOSQE_IO_HARDLINK | IOSQE_ASYNC);
	sqe->uring_cmd_flags = c->cmd_flags;
	sqe->user_data = i;
	if (harmful(f, &c->op))
		c->op.opcode = 0;
	memcpy(sqe->cmd, &c->op, whole ? sizeof(c->op) : 16);
	return true;
}

/* Waits for as many as were submitted. */
static void reap(struct fuzzer *f, struct io_uring *ring, struct batch *b, int n)
{
	struct io_uring_cqe *cqe;

	for (; n > 0 && !io_uring_wait_cqe(ring, &cqe); n--) {
		struct pmof_op *op = &b->cmd[cqe->user_data % BATCH].op;

		fuzz_count_by(f->shared, BY_COMMAND, cqe->res);
		if (!cqe->res && ring->flags & IORING_SETUP_CQE32) {
			op->old = cqe->big_cqe[0];
			answered(f, op);
			if (op->opcode == PMOF_OP_PREPARE) {
				f->generation = op->old;
				f->prepared.offset = op->offset;
				f->prepared.length = op->length;
			}
		}
		io_uring_cqe_seen(ring, cqe);
	}
}

/* Now and then they are left alone, and the ring goes. */
static void run_batch(struct fuzzer *f, struct batch *b)
{
	struct io_uring *ring = &f->ring[b->ring %= RINGS];
	bool leave = fuzz_one_in(&f->rnd, 256), new;
	unsigned int i;
	int n;

	if (!ring_ready(f, b->ring))
		return;
	fuzz_cover_before(&f->cover);
	for (i = 0; i < b->n && queue_command(f, ring, &b->cmd[i], i); i++)
		;
	n = io_uring_submit(ring);
	if (!leave)
		reap(f, ring, b, n);
	new = fuzz_cover_after(&f->cover);
	if (new)
		fuzz_keep(f->batches, &f->rnd, b);
	if (leave || n != (int)i)
		ring_end(f, b->ring);
}

static void some_commands(struct fuzzer *f)
{
	static struct batch b;
	unsigned int i;

	if (fuzz_one_in(&f->rnd, 3) && fuzz_again(f->batches, &f->rnd, &b)) {
		b.n = b.n && b.n <= BATCH ? b.n : 1;
		for (i = 0; i < b.n && f->store; i++)
			if (b.cmd[i].op.opcode == PMOF_OP_CALL)
				renew_message(f, &b.cmd[i].op);
		damage_command(f, &b.cmd[vm_rnd(&f->rnd) % b.n]);
	} else {
		make_batch(f, &b);
	}
	run_batch(f, &b);
}

/* As many as there is room for, each with something that is wrong. */
static void refused_commands(struct fuzzer *f)
{
	static struct batch b;
	unsigned int i = 0;

	if (fuzz_one_in(&f->rnd, 3) && fuzz_again(f->batches, &f->rnd, &b))
		i = b.n;
	else
		b.ring = fuzz_one_in(&f->rnd, 4) ? vm_rnd(&f->rnd) % RINGS : 0;
	for (; i < BATCH; i++)
		make_command(f, &b.cmd[i]);
	b.n = BATCH;
	for (i = 0; i < BATCH; i++) {
		spoil(f, &op_shape, &b.cmd[i].op);
		/* Behind a broken link none is looked at; in a worker it takes long. */
		b.cmd[i].sqe_flags = 0;
	}
	run_batch(f, &b);
}

#endif /* PMOF_FUZZ_RING_H */
