/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Output: a command builds one json-c object, which is printed as it is
 * (--json) or as a table for people.
 */
#ifndef PMOF_TOOLS_OUTPUT_H
#define PMOF_TOOLS_OUTPUT_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fields of an object; they cannot fail (out of memory ends the program). */
void put_text(struct json_object *o, const char *key, const char *text);
void put_u64(struct json_object *o, const char *key, uint64_t value);
void put_bool(struct json_object *o, const char *key, bool value);
void put_double(struct json_object *o, const char *key, double value);
void put_object(struct json_object *o, const char *key, struct json_object *value);
void push_object(struct json_object *array, struct json_object *value);
struct json_object *new_object(void);
struct json_object *new_array(void);

/* An attribute of sysfs or configfs, and what its text becomes in an object. */
enum attr_kind {
	ATTR_TEXT,
	ATTR_NUMBER,
	ATTR_BOOL,
	ATTR_WORDS,	/* an array of its words */
};

struct attr {
	const char *name;
	enum attr_kind kind;
};

void put_attr(struct json_object *o, const struct attr *attr, const char *text);

/* "device" and "path" of pmofN. */
void put_device_names(struct json_object *o, int instance);

/*
 * For people: "durable_text" and "placement_text", from "durable", "placement"
 * and "placement_asserted".
 */
void put_promises(struct json_object *o);

/* "latency_ns": the percentiles of a histogram. */
struct hist;
void put_latency(struct json_object *o, const struct hist *h);

/* Says of an object with "emulated" that its times are no real medium's.  @what: its name. */
void note_emulated(struct json_object *o, const char *what);

/* Warns of an object that is not durable, if it says so; @what: its name. */
void warn_not_durable(struct json_object *o, const char *what);

enum column_kind {
	COL_TEXT,	/* left aligned, everything else right aligned */
	COL_NUMBER,
	COL_SIZE,	/* bytes: 512M, 1.5G */
	COL_NS,		/* nanoseconds: 850ns, 12.3us */
	COL_RATE,	/* a floating point number in three digits or so */
	COL_COUNT,	/* per operation: 2, 0.13 */
	COL_BOOL,	/* yes, no */
};

/* Bytes of one cell with its NUL. */
#define CELL_MAX	192

/* @key may be a path: "latency_ns.median". */
struct column {
	const char *title;
	const char *key;
	enum column_kind kind;
};

/* Prints the rows under a line of titles; '-' where a field is absent. */
void print_table(struct json_object *rows, const struct column *columns, size_t nr);

/* The same, the line of titles being optional. */
void print_table_rows(struct json_object *rows, const struct column *columns, size_t nr,
		      bool titles);

/* Prints one field a line. */
void print_fields(struct json_object *o, const struct column *fields, size_t nr);

/* Prints the object, on one line or indented, and a newline. */
void print_json(struct json_object *o, bool one_line);

/* Formats bytes with a unit of 1024: "512M"; returns @buf. */
char *format_size(uint64_t bytes, char *buf, size_t size);

#endif /* PMOF_TOOLS_OUTPUT_H */
