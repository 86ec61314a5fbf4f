/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Configuration files: JSON objects with known keys.  json_check.c needs libc
 * and json-c only; tests/unit compiles it.
 */
#ifndef PMOF_TOOLS_JSON_CHECK_H
#define PMOF_TOOLS_JSON_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <json-c/json.h>

#define WHY_MAX		256		/* bytes of a text that says what is wrong */
#define JSON_FILE_MAX	(1 << 20)	/* bytes of a configuration file */

enum json_kind {
	JSON_BOOL,
	JSON_NUMBER,	/* @min to @max */
	JSON_TEXT,	/* @check says what is wrong with it, or returns NULL */
	JSON_LIST,	/* @check of every text in it */
};

/* A key that an object may have. */
struct json_key {
	const char *name;
	enum json_kind kind;
	bool required;
	int64_t min, max;
	int64_t unit;		/* of a number: a multiple of it; 0: any */
	const char *(*check)(const char *text);
	const char *otherwise;	/* as configfs shows it where it is left out; NULL: not known */
};

/*
 * Reads a file that holds one JSON object.  NULL: @why says what is wrong, and
 * on which line; errno is what open(2) or read(2) said, or EINVAL.
 */
struct json_object *json_read(const char *path, char *why);

/*
 * Checks that @o is an object with no other keys than @keys, each of its kind,
 * and none of the required missing.  @where: in front of @why.
 */
bool json_check(struct json_object *o, const struct json_key *keys, size_t nr,
		const char *where, char *why);

/* The same of a list of objects at @key of @o; an absent list is empty. */
bool json_check_list(struct json_object *o, const char *key, const struct json_key *keys,
		     size_t nr, char *why);

/* The list at @key of @o, NULL if there is none, and how many it has. */
struct json_object *json_list(struct json_object *o, const char *key);
size_t json_length(struct json_object *list);

/* Is @text in a list of texts, which may be NULL? */
bool json_has_text(struct json_object *list, const char *text);

/* What is at @key of @o, or @otherwise. */
const char *json_text(struct json_object *o, const char *key, const char *otherwise);
int64_t json_number(struct json_object *o, const char *key, int64_t otherwise);
bool json_flag(struct json_object *o, const char *key, bool otherwise);

/*
 * A value as configfs takes it: "0" and "1", a number, or the text itself.
 * @buf is for a number.  NULL: there is no such key.
 */
const char *json_plain(struct json_object *o, const char *key, char *buf, size_t size);

#endif /* PMOF_TOOLS_JSON_CHECK_H */
