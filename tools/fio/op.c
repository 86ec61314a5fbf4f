// SPDX-License-Identifier: BSD-3-Clause
/* The fio engine: which operation an io_u is at, and which one comes next. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine.h"

static bool is_committed_put(struct thread_data *td, const struct io_u *io_u)
{
	const struct engine_options *o = td->eo;

	return o->commit && io_u->ddir == DDIR_WRITE;
}

static void fill_put(struct thread_data *td, const struct slot *slot, struct pmof_op *op)
{
	const struct engine_options *o = td->eo;

	op->opcode = PMOF_OP_PUT;
	op->addr = (uintptr_t)slot->io_u->xfer_buf;
	if (o->commit) {
		op->flags = PMOF_F_COMMIT;
		op->operand = slot->generation;
	} else if (o->persist == 1 || td->o.sync_io) {
		op->flags = PMOF_F_PERSIST;
	}
}

static void fill_get(struct thread_data *td, const struct slot *slot, struct pmof_op *op)
{
	const struct engine_options *o = td->eo;

	op->opcode = PMOF_OP_GET;
	op->addr = (uintptr_t)slot->io_u->xfer_buf;
	if (o->valid || object_is_checked(td, slot->io_u))
		op->flags = PMOF_F_VALID;
}

/* fsync: all that the job may have put there. */
static void fill_fsync(const struct fio_file *f, struct pmof_op *op)
{
	op->opcode = PMOF_OP_PERSIST;
	op->offset = f->file_offset;
	op->length = f->io_size;
}

/* The puts since the last one; those that are still under way are the next one's. */
static void fill_persist(const struct engine *e, struct pmof_op *op)
{
	op->opcode = PMOF_OP_PERSIST;
	op->offset = e->puts.lo;
	op->length = e->puts.hi - e->puts.lo;
}

/**
 * op_fill - the descriptor of what @slot is at
 */
void op_fill(struct thread_data *td, const struct slot *slot, struct pmof_op *op)
{
	const struct io_u *io_u = slot->io_u;

	memset(op, 0, sizeof(*op));
	op->size = sizeof(*op);
	op->offset = io_u->offset;
	op->length = io_u->xfer_buflen;
	if (slot->stage == STAGE_PREPARE)
		op->opcode = PMOF_OP_PREPARE;
	else if (slot->stage == STAGE_PERSIST && ddir_sync(io_u->ddir))
		fill_fsync(io_u->file, op);
	else if (slot->stage == STAGE_PERSIST)
		fill_persist(td->io_ops_data, op);
	else if (io_u->ddir == DDIR_WRITE)
		fill_put(td, slot, op);
	else
		fill_get(td, slot, op);
}

/* A put has completed: is a PERSIST due behind it? */
static bool persist_due(struct thread_data *td, const struct io_u *io_u)
{
	const struct engine_options *o = td->eo;
	struct engine *e = td->io_ops_data;
	uint64_t end = io_u->offset + io_u->xfer_buflen;

	if (o->persist < 2)
		return false;
	if (!e->nr_puts || io_u->offset < e->puts.lo)
		e->puts.lo = io_u->offset;
	if (!e->nr_puts || end > e->puts.hi)
		e->puts.hi = end;
	e->nr_puts++;
	if (e->nr_puts < o->persist)
		return false;
	e->nr_puts = 0;
	return true;
}

/**
 * op_next - an operation of @slot has succeeded
 * @old: what it returned besides
 *
 * Return: whether @slot has another stage now; else its io_u is done.
 */
bool op_next(struct thread_data *td, struct slot *slot, uint64_t old)
{
	struct io_u *io_u = slot->io_u;

	if (slot->stage == STAGE_PREPARE) {
		slot->generation = old;
		slot->stage = STAGE_RW;
		return true;
	}
	if (slot->stage == STAGE_PERSIST)
		return false;
	if (io_u->ddir == DDIR_READ) {
		if (object_is_checked(td, io_u))
			object_read(td, io_u, old);
		return false;
	}
	if (is_committed_put(td, io_u))
		object_committed(td, slot);
	slot->stage = STAGE_PERSIST;
	return persist_due(td, io_u);
}

static const struct {
	unsigned int error;
	const char *meaning;
} meanings[] = {
	{ EOPNOTSUPP, "not offered there" },
	{ EAGAIN, "the object is not committed, or was rewritten while it was read" },
	{ ESTALE, "another job prepares the same object: give each a range of its own" },
	{ EILSEQ, "the object is committed, but not with the generation that this job gave it" },
	{ EIO, "the connection was lost (sysfs: state)" },
	{ ENODEV, "the device was disconnected" },
};

/**
 * op_error - what the errno of an io_u means here; for fio to print and to free
 */
char *op_error(struct io_u *io_u)
{
	const char *meaning = "see ERRORS in pmof(4)";
	char *text;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(meanings); i++)
		if (io_u->error == meanings[i].error)
			meaning = meanings[i].meaning;
	return asprintf(&text, "pmof: %s", meaning) < 0 ? NULL : text;
}
