/* SPDX-License-Identifier: GPL-2.0 */
/* Reading a trace. */
#ifndef PMOF_CRASH_TRACE_FILE_H
#define PMOF_CRASH_TRACE_FILE_H

#include <stddef.h>

#include "trace.h"

struct trace {
	struct trace_file head;
	const uint8_t *map;
	size_t size;
};

/* Where one is in a trace: @pos is the number of the record that comes next. */
struct trace_cursor {
	const struct trace *trace;
	size_t at;
	uint64_t pos;
};

/* Returns 0, or -1 with a message on standard error. */
int trace_open(struct trace *t, const char *path);
void trace_close(struct trace *t);

static inline struct trace_cursor trace_begin(const struct trace *t)
{
	return (struct trace_cursor){ .trace = t, .at = sizeof(struct trace_file) };
}

/* Returns 1 with *@rec and its data, 0 at the end, -1 for what cannot be. */
int trace_next(struct trace_cursor *c, struct trace_rec *rec, const uint8_t **data);

#endif /* PMOF_CRASH_TRACE_FILE_H */
