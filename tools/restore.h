/* SPDX-License-Identifier: BSD-3-Clause */
/* pmof server restore: what its two files share. */
#ifndef PMOF_TOOLS_RESTORE_H
#define PMOF_TOOLS_RESTORE_H

#include "config.h"
#include "tool.h"

enum outcome { WAITING, DONE, FAILED };

/* A client, a namespace or a port of the file. */
struct item {
	struct json_object *o;
	const struct config_kind *kind;
	enum outcome outcome;
	int error;			/* why it is not enabled yet */
	bool unset;			/* its attributes, since the kernel would not take them yet */
	struct pending pending;
	char dir[96];			/* in configfs */
	char what[96];			/* for people */
};

bool is_port(const struct item *t);

/* Whatever the file says: it is in use, or its limits may have been changed since. */
bool stays(const struct item *t);

/*
 * Is a link of it to @name as it shall stay? Where a namespace is enabled, or a port and the
 * namespace both: what is not in use yet may be what an earlier restore has left half made.
 */
bool is_settled(const struct item *t, const char *name);

/* What the file says of an attribute, if only by leaving it out; NULL: nothing. */
const char *wanted(const struct item *t, const struct json_key *key, char *number, size_t size);

/* Nothing that is there contradicts the file; complains. */
bool check_compare(const struct item *t);

#endif /* PMOF_TOOLS_RESTORE_H */
