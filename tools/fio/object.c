// SPDX-License-Identifier: BSD-3-Clause
/*
 * The fio engine: committed objects, and fio's verification of them.
 *
 * A block is an object, so its last 8 bytes come back as the trailer and not as
 * fio has written them: its checksum over the block would never match.  So the
 * job remembers, for each block that it has committed, the generation and those
 * 8 bytes.  When fio reads a block in order to verify it, that is a get with
 * VALID; its generation must be the one committed last, which is more than 8
 * bytes of data could tell; then fio's bytes are put where the trailer stands.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

static int refuse(struct thread_data *td, const char *why)
{
	log_err("fio-pmof: pmof_commit: %s\n", why);
	td_verror(td, EINVAL, "pmof_commit");
	return 1;
}

/* What verification needs: a block is one entry of the table. */
static int check_verify(struct thread_data *td)
{
	const struct thread_options *o = &td->o;

	if (!td_write(td) || o->verify_only)
		return refuse(td, "a job can verify what it has committed itself: let it write");
	if (o->min_bs[DDIR_WRITE] != o->max_bs[DDIR_WRITE] ||
	    o->ba[DDIR_WRITE] != o->min_bs[DDIR_WRITE])
		return refuse(td, "verify needs blocks of one size, aligned to it");
	if (o->experimental_verify)
		return refuse(td, "experimental_verify does not say which reads it verifies");
	return 0;
}

/* Can the job's blocks be objects? */
static int check(struct thread_data *td)
{
	const struct thread_options *o = &td->o;
	const struct engine_options *eo = td->eo;

	if (eo->persist > 1)
		return refuse(td, "committed puts are durable: leave pmof_persist out");
	if (!td_write(td))
		return 0;
	if (o->min_bs[DDIR_WRITE] < PMOF_OBJECT_MIN || o->min_bs[DDIR_WRITE] % 8 ||
	    o->ba[DDIR_WRITE] % 8 || o->bs_unaligned || td->files[0]->file_offset % 8)
		return refuse(td, "bs is 16 or more; bs, blockalign and offset are multiples of 8");
	/*
	 * One write of an object at a time.  fio's map of blocks does not see to that where there is
	 * none, where a distribution goes past it, and where the job begins anew.
	 */
	if (o->iodepth > 1)
		td->o.serialize_overlap = 1;
	return 0;
}

/**
 * objects_init - checks, and room to remember what is committed if it will be verified
 *
 * Return: 0, or 1 with a message.
 */
int objects_init(struct thread_data *td)
{
	const struct engine_options *o = td->eo;
	struct engine *e = td->io_ops_data;

	if (!o->commit)
		return 0;
	if (check(td))
		return 1;
	if (td->o.verify == VERIFY_NONE)
		return 0;
	if (check_verify(td))
		return 1;
	e->nr_objects = td->files[0]->io_size / td->o.min_bs[DDIR_WRITE];
	e->objects = calloc(e->nr_objects + 1, sizeof(*e->objects));
	if (e->objects)
		return 0;
	td_verror(td, ENOMEM, "pmof_commit");
	return 1;
}

/* Of a block of fio's: NULL where nothing is remembered. */
static struct object *object_of(struct engine *e, const struct io_u *io_u)
{
	uint64_t number = (io_u->offset - io_u->file->file_offset) / io_u->xfer_buflen;

	return number < e->nr_objects ? &e->objects[number] : NULL;
}

static void *tail_of(const struct io_u *io_u)
{
	return (char *)io_u->xfer_buf + io_u->xfer_buflen - PMOF_TRAILER_SIZE;
}

/**
 * object_is_checked - does fio read this block in order to verify it?
 *
 * Other reads may meet a block that is being rewritten or was never committed.
 */
bool object_is_checked(struct thread_data *td, const struct io_u *io_u)
{
	const struct engine *e = td->io_ops_data;

	return e->objects && io_u->flags & IO_U_F_VER_LIST;
}

/**
 * object_committed - a committed put is done
 */
void object_committed(struct thread_data *td, const struct slot *slot)
{
	struct engine *e = td->io_ops_data;
	struct object *object = object_of(e, slot->io_u);

	if (!object)
		return;
	object->generation = slot->generation;
	memcpy(&object->tail, tail_of(slot->io_u), sizeof(object->tail));
}

/**
 * object_read - a get with VALID is done, for fio to verify
 * @generation: the object's
 */
void object_read(struct thread_data *td, struct io_u *io_u, uint64_t generation)
{
	struct engine *e = td->io_ops_data;
	const struct object *object = object_of(e, io_u);

	if (!object || object->generation != generation)
		io_u->error = EILSEQ;
	else
		memcpy(tail_of(io_u), &object->tail, sizeof(object->tail));
}
