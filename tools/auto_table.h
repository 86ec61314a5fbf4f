/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of the persist method auto: which method serves durable puts of
 * which size.  As text, which the sysfs attribute auto shows and takes:
 * "rpc:512 read:16384 assist", each method up to so many bytes, the last one
 * without limit.  auto_table.c is pure: tests/unit compiles it.
 */
#ifndef PMOF_TOOLS_AUTO_TABLE_H
#define PMOF_TOOLS_AUTO_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AUTO_METHODS	8	/* methods are numbered below this */
#define AUTO_ENTRIES	8	/* what the kernel takes */
#define AUTO_TEXT_MAX	320

#define AUTO_NO_LIMIT	UINT64_MAX

struct auto_entry {
	unsigned int method;	/* enum pmof_method */
	uint64_t up_to;		/* bytes; of the last one AUTO_NO_LIMIT */
};

struct auto_table {
	unsigned int nr;
	struct auto_entry entry[AUTO_ENTRIES];
};

/* A number below 0 for a name that is none: pmof_method_parse(). */
typedef int (*auto_parse_fn)(const char *name);
typedef const char *(*auto_name_fn)(unsigned int method);

/* Return: 0, or -EINVAL: malformed, limits that do not grow, a missing last entry. */
int auto_parse(struct auto_table *t, const char *text, auto_parse_fn parse);

/* Formats the table into @buf of AUTO_TEXT_MAX bytes; returns @buf. */
char *auto_format(const struct auto_table *t, char *buf, auto_name_fn name);

/* The method that serves @size bytes. */
unsigned int auto_method(const struct auto_table *t, uint64_t size);

/*
 * Where @method is the last one and takes no more than @limit bytes: gives what
 * is above that to @rest.  Tables of auto_merge() have room for that.
 */
void auto_limit(struct auto_table *t, unsigned int method, uint64_t limit, unsigned int rest);

/* What one size was measured to take; 0 ns: the method does not serve it. */
struct auto_sample {
	uint64_t size;
	uint64_t ns[AUTO_METHODS];
	unsigned int best;	/* out of auto_merge() */
	unsigned int chosen;
};

/* A method gives way only to one that takes so much less time, in percent. */
#define AUTO_BETTER	5

/**
 * auto_merge - a table of few entries from measurements
 * @t: out
 * @sample: one a size, sizes ascending; each has a method that serves it, and
 *	a method that serves a size serves all smaller ones
 * @nr: their number, at least 1
 *
 * From the smallest size up, the method stays the same until it does not serve
 * the size, or another one is better by more than AUTO_BETTER percent, and
 * better at the next size, too: one size alone may be noise.  Where that still
 * makes too many entries, more percent are asked for.  A method's limit is the
 * largest size measured at which it was chosen; the last one has none.
 *
 * Return: 0, or -EINVAL: no method serves a size.
 */
int auto_merge(struct auto_table *t, struct auto_sample *sample, unsigned int nr);

#endif /* PMOF_TOOLS_AUTO_TABLE_H */
