// SPDX-License-Identifier: BSD-3-Clause
/* An engine for fio that drives /dev/pmofcN: its options, beginning and end. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

/* fio stops reading options at one without a name. */
static struct fio_option options[] = {
	{
		.name = "hipri",
		.lname = "Polled completions",
		.type = FIO_OPT_STR_SET,
		.off1 = offsetof(struct engine_options, hipri),
		.help = "Poll for completions (a ring with IOPOLL)",
		.category = FIO_OPT_C_ENGINE,
	},
	{
		.name = "fixedbufs",
		.lname = "Fixed buffers",
		.type = FIO_OPT_STR_SET,
		.off1 = offsetof(struct engine_options, fixedbufs),
		.help = "Register the buffers with the kernel beforehand",
		.category = FIO_OPT_C_ENGINE,
	},
	{
		.name = "pmof_persist",
		.lname = "Persist",
		.type = FIO_OPT_INT,
		.off1 = offsetof(struct engine_options, persist),
		.help = "0: plain puts; 1: durable puts; N: a PERSIST after each N puts",
		.def = "0",
		.category = FIO_OPT_C_ENGINE,
	},
	{
		.name = "pmof_commit",
		.lname = "Committed puts",
		.type = FIO_OPT_BOOL,
		.off1 = offsetof(struct engine_options, commit),
		.help = "Each write is PREPARE and a committed put of an object",
		.def = "0",
		.category = FIO_OPT_C_ENGINE,
	},
	{
		.name = "pmof_valid",
		.lname = "Valid gets",
		.type = FIO_OPT_BOOL,
		.off1 = offsetof(struct engine_options, valid),
		.help = "Reads fail unless the block is a committed object",
		.def = "0",
		.category = FIO_OPT_C_ENGINE,
	},
	{
		.name = "pmof_method",
		.lname = "Persist method",
		.type = FIO_OPT_STR,
		.off1 = offsetof(struct engine_options, method),
		.help = "Fail unless the device has this persist method",
		.def = "any",
		.posval = {
			{ .ival = "any", .oval = METHOD_ANY, .help = "Whatever it has" },
			{ .ival = "auto", .oval = PMOF_METHOD_AUTO, .help = "By size" },
			{ .ival = "read", .oval = PMOF_METHOD_READ, .help = "WRITE, then READ" },
			{ .ival = "assist", .oval = PMOF_METHOD_ASSIST,
			  .help = "WRITE, then a message" },
			{ .ival = "rpc", .oval = PMOF_METHOD_RPC, .help = "Data in a message" },
			{ .ival = "flush", .oval = PMOF_METHOD_FLUSH,
			  .help = "WRITE, then RDMA FLUSH" },
		},
		.category = FIO_OPT_C_ENGINE,
	},
	{ .name = NULL },
};

static int refuse(struct thread_data *td, const char *why)
{
	log_err("fio-pmof: %s\n", why);
	td_verror(td, EINVAL, "pmof");
	return 1;
}

static int check(struct thread_data *td)
{
	const struct engine_options *o = td->eo;

	if (td_trim(td))
		return refuse(td, "the character device has no trim: the block device has");
	if ((o->commit || o->persist > 1) && td->files_index != 1)
		return refuse(td, "pmof_commit and pmof_persist above 1 take one device per job");
	return 0;
}

static void cleanup(struct thread_data *td)
{
	struct engine *e = td->io_ops_data;

	if (!e)
		return;
	if (e->ring_up)
		io_uring_queue_exit(&e->ring);
	free(e->objects);
	free(e->queued);
	free(e->events);
	free(e->slots);
	free(e);
	td->io_ops_data = NULL;
}

static int init(struct thread_data *td)
{
	unsigned int depth = td->o.iodepth;
	struct engine *e;

	if (!layout_is_fios(td) || check(td))
		return 1;
	e = calloc(1, sizeof(*e));
	if (!e)
		goto no_memory;
	td->io_ops_data = e;
	e->slots = calloc(depth, sizeof(*e->slots));
	e->events = calloc(depth, sizeof(*e->events));
	e->queued = calloc(depth, sizeof(*e->queued));
	if (!e->slots || !e->events || !e->queued)
		goto no_memory;
	if (!objects_init(td))
		return 0;
	cleanup(td);
	return 1;

no_memory:
	cleanup(td);
	td_verror(td, ENOMEM, "pmof");
	return 1;
}

/* fio looks for this name. */
__attribute__((visibility("default"))) struct ioengine_ops ioengine = {
	.name = "pmof",
	.version = FIO_IOOPS_VERSION,
	.flags = FIO_RAWIO | FIO_NOEXTEND | FIO_NODISKUTIL | FIO_ASYNCIO_SETS_ISSUE_TIME,
	.init = init,
	.post_init = ring_init,
	.queue = ring_queue,
	.commit = ring_commit,
	.getevents = ring_getevents,
	.event = ring_event,
	.errdetails = op_error,
	.cleanup = cleanup,
	.open_file = device_open,
	.close_file = device_close,
	.get_file_size = device_size,
	.options = options,
	.option_struct_size = sizeof(struct engine_options),
};
