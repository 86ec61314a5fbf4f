// SPDX-License-Identifier: BSD-3-Clause
/*
 * Is this engine compiled against the headers of the fio that loads it?  fio
 * itself compares one number, which most of its releases share; a structure
 * that is laid out otherwise would be read and written in the wrong places.
 */
#include <stddef.h>

#include "engine.h"

#define LAYOUT(option, field) \
	{ (option), offsetof(struct thread_options, field) }

/* Options from all over the structure, and those that this engine reads. */
static const struct {
	const char *option;
	size_t offset;
} layout[] = {
	LAYOUT("iodepth", iodepth),
	LAYOUT("size", size),
	LAYOUT("bs", bs[0]),
	LAYOUT("blockalign", ba[0]),
	LAYOUT("verify", verify),
	LAYOUT("experimental_verify", experimental_verify),
	LAYOUT("norandommap", norandommap),
	LAYOUT("serialize_overlap", serialize_overlap),
	LAYOUT("rw", td_ddir),
	LAYOUT("filename", filename),
	LAYOUT("cgroup", cgroup),
	LAYOUT("flow", flow),
	LAYOUT("latency_percentile", latency_percentile),
	LAYOUT("thread", use_thread),
};

/*
 * fio's table of options has the offsets in the job's options; that the job
 * points to this engine tells that what follows them is laid out alike.
 */
bool layout_is_fios(struct thread_data *td)
{
	const struct fio_option *option;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(layout); i++) {
		option = fio_option_find(layout[i].option);
		if (!option || option->off1 != layout[i].offset)
			goto wrong;
	}
	if (td->io_ops == &ioengine)
		return true;
wrong:
	log_err("fio-pmof: this engine was built for another version of fio: run make fio-engine\n");
	return false;
}
