/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reading of a trace, for the tools of the plugin's test.
 */
#ifndef PMOF_CRASH_READER_H
#define PMOF_CRASH_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace.h"

#define TRACE_TYPES	(TRACE_TIME + 1)

struct trace {
	struct trace_file *head;
	uint8_t *at;
	uint8_t *end;
};

void die(const char *what, const char *why) __attribute__((noreturn));

/* map_file() - a whole file as a private copy. */
uint8_t *map_file(const char *path, size_t *size);

void open_trace(struct trace *t, const char *path);

/* next_rec() - the next record or NULL at the end; its data are behind it. */
struct trace_rec *next_rec(struct trace *t);

bool has_data(const struct trace_rec *rec);

/* format_rec() - as text, with offsets less @base; cut to @len. */
void format_rec(const struct trace_rec *rec, uint64_t base, char *text, size_t len);

const char *type_name(unsigned int type);

#endif /* PMOF_CRASH_READER_H */
