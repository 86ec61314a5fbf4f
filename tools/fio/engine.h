/* SPDX-License-Identifier: BSD-3-Clause */
/* The fio engine for /dev/pmofcN: what its files share. */
#ifndef PMOF_FIO_ENGINE_H
#define PMOF_FIO_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include <liburing.h>
#include <fio.h>
#include <optgroup.h>
#include <verify.h>
#include <pmof.h>

/* What fio's options of this engine set; fio fills it in by offset. */
struct engine_options {
	void *pad;	/* fio takes offset 0 for "no offset" */
	unsigned int hipri;
	unsigned int fixedbufs;
	unsigned int persist;
	unsigned int commit;
	unsigned int valid;
	unsigned int method;
};

#define METHOD_ANY	255u	/* engine_options.method: not asked for */

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/*
 * Where an io_u is.  Most have one stage; a committed put has two, and a put
 * behind which a PERSIST is due has that as well.
 */
enum stage {
	STAGE_PREPARE,
	STAGE_RW,
	STAGE_PERSIST,
};

/* One per io_u, by its index. */
struct slot {
	struct io_u *io_u;
	enum stage stage;
	uint64_t generation;	/* of the object: what PREPARE gave */
};

/* Bytes from @lo to @hi. */
struct span {
	uint64_t lo;
	uint64_t hi;
};

/* What a job knows of an object that it has committed. */
struct object {
	uint64_t generation;
	uint64_t tail;		/* what fio wanted in place of the trailer */
};

/* One per job. */
struct engine {
	struct io_uring ring;
	bool ring_up;
	struct slot *slots;	/* iodepth of them */
	unsigned int *events;	/* what the last getevents found: numbers of slots */
	unsigned int *queued;	/* what is not yet submitted */
	unsigned int nr_queued;

	unsigned int nr_puts;	/* completed since a PERSIST was due */
	struct span puts;	/* where they, or those before it, lie */

	struct object *objects;	/* by number of the block, or NULL */
	uint64_t nr_objects;
};

extern struct ioengine_ops ioengine;

/* layout.c */
bool layout_is_fios(struct thread_data *td);

/* device.c */
int device_open(struct thread_data *td, struct fio_file *f);
int device_close(struct thread_data *td, struct fio_file *f);
int device_size(struct thread_data *td, struct fio_file *f);

/* ring.c */
int ring_init(struct thread_data *td);
enum fio_q_status ring_queue(struct thread_data *td, struct io_u *io_u);
int ring_commit(struct thread_data *td);
int ring_getevents(struct thread_data *td, unsigned int min, unsigned int max,
		   const struct timespec *timeout);
struct io_u *ring_event(struct thread_data *td, int event);

/* op.c */
void op_fill(struct thread_data *td, const struct slot *slot, struct pmof_op *op);
bool op_next(struct thread_data *td, struct slot *slot, uint64_t old);
char *op_error(struct io_u *io_u);

/* object.c */
int objects_init(struct thread_data *td);
bool object_is_checked(struct thread_data *td, const struct io_u *io_u);
void object_committed(struct thread_data *td, const struct slot *slot);
void object_read(struct thread_data *td, struct io_u *io_u, uint64_t generation);

#endif
