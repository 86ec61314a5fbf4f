// SPDX-License-Identifier: BSD-3-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_stats.h"
#include "output.h"
#include "tool.h"

static void *checked(void *p)
{
	if (!p) {
		complain("out of memory");
		exit(EXIT_FAILED);
	}
	return p;
}

struct json_object *new_object(void)
{
	return checked(json_object_new_object());
}

struct json_object *new_array(void)
{
	return checked(json_object_new_array());
}

void put_object(struct json_object *o, const char *key, struct json_object *value)
{
	if (json_object_object_add(o, key, value))
		checked(NULL);
}

void push_object(struct json_object *array, struct json_object *value)
{
	if (json_object_array_add(array, value))
		checked(NULL);
}

void put_text(struct json_object *o, const char *key, const char *text)
{
	put_object(o, key, checked(json_object_new_string(text)));
}

void put_u64(struct json_object *o, const char *key, uint64_t value)
{
	put_object(o, key, checked(json_object_new_uint64(value)));
}

void put_bool(struct json_object *o, const char *key, bool value)
{
	put_object(o, key, checked(json_object_new_boolean(value)));
}

static void format_double(double value, int decimals, char *buf, size_t size)
{
	char *end;

	snprintf(buf, size, "%.*f", decimals, value);
	if (!strchr(buf, '.'))
		return;
	for (end = buf + strlen(buf) - 1; *end == '0'; end--)
		*end = '\0';
	if (*end == '.')
		*end = '\0';
}

/* As many digits as mean something: json-c's default of 17 is unreadable. */
void put_double(struct json_object *o, const char *key, double value)
{
	char text[64];

	format_double(value, value < 1000 ? 6 : 0, text, sizeof(text));
	put_object(o, key, checked(json_object_new_double_s(value, text)));
}

void print_json(struct json_object *o, bool one_line)
{
	int flags = one_line ? JSON_C_TO_STRING_PLAIN :
		    JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED;

	puts(checked((void *)json_object_to_json_string_ext(o, flags |
							     JSON_C_TO_STRING_NOSLASHESCAPE)));
	fflush(stdout);
}

/* --- attributes ------------------------------------------------------------ */

static void put_words(struct json_object *o, const char *key, const char *text)
{
	struct json_object *list = new_array();
	size_t len;

	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		len = strcspn(text, " ");
		push_object(list, checked(json_object_new_string_len(text, (int)len)));
		text += len;
	}
	put_object(o, key, list);
}

void put_attr(struct json_object *o, const struct attr *attr, const char *text)
{
	switch (attr->kind) {
	case ATTR_TEXT:
		put_text(o, attr->name, text);
		break;
	case ATTR_NUMBER:
		put_u64(o, attr->name, strtoull(text, NULL, 10));
		break;
	case ATTR_BOOL:
		put_bool(o, attr->name, !strcmp(text, "1"));
		break;
	case ATTR_WORDS:
		put_words(o, attr->name, text);
		break;
	}
}

void put_device_names(struct json_object *o, int instance)
{
	char text[32];

	snprintf(text, sizeof(text), "pmof%d", instance);
	put_text(o, "device", text);
	snprintf(text, sizeof(text), "/dev/pmofc%d", instance);
	put_text(o, "path", text);
}

static bool is_true(struct json_object *o, const char *key, bool absent)
{
	struct json_object *value;

	return json_object_object_get_ex(o, key, &value) ? json_object_get_boolean(value) : absent;
}

void put_promises(struct json_object *o)
{
	struct json_object *value;
	char text[CELL_MAX];

	if (json_object_object_get_ex(o, "durable", &value))
		put_text(o, "durable_text",
			 json_object_get_boolean(value) ? "yes" : "NOT DURABLE");
	if (json_object_object_get_ex(o, "placement", &value)) {
		snprintf(text, sizeof(text), "%s%s", json_object_get_string(value),
			 is_true(o, "placement_asserted", false) ? " (ASSERTED)" : "");
		put_text(o, "placement_text", text);
	}
}

void warn_not_durable(struct json_object *o, const char *what)
{
	if (!is_true(o, "durable", true))
		complain("warning: %s is NOT DURABLE: it is unknown what the server keeps in a "
			 "power cut", what);
}

void note_emulated(struct json_object *o, const char *what)
{
	if (is_true(o, "emulated", false))
		complain("note: %s has an EMULATED medium: its times are no real device's", what);
}

void put_latency(struct json_object *o, const struct hist *h)
{
	struct json_object *l = new_object();

	put_u64(l, "min", h->min);
	put_u64(l, "median", hist_percentile(h, 500));
	put_u64(l, "p90", hist_percentile(h, 900));
	put_u64(l, "p99", hist_percentile(h, 990));
	put_u64(l, "p999", hist_percentile(h, 999));
	put_u64(l, "max", h->max);
	put_u64(l, "mean", hist_mean(h));
	put_object(o, "latency_ns", l);
}

/* --- cells ----------------------------------------------------------------- */

char *format_size(uint64_t bytes, char *buf, size_t size)
{
	static const char units[] = "KMGTPE";
	double value = (double)bytes;
	int unit = -1;

	while (value >= 1024 && unit < 5) {
		value /= 1024;
		unit++;
	}
	if (unit < 0)
		snprintf(buf, size, "%llu", (unsigned long long)bytes);
	else if (value == (double)(uint64_t)value)
		snprintf(buf, size, "%.0f%c", value, units[unit]);
	else
		snprintf(buf, size, "%.1f%c", value, units[unit]);
	return buf;
}

static void format_ns(uint64_t ns, char *buf, size_t size)
{
	double value = (double)ns;

	if (ns < 1000)
		snprintf(buf, size, "%lluns", (unsigned long long)ns);
	else if (ns < 1000000)
		snprintf(buf, size, "%.1fus", value / 1e3);
	else if (ns < 1000000000)
		snprintf(buf, size, "%.2fms", value / 1e6);
	else
		snprintf(buf, size, "%.2fs", value / 1e9);
}

static struct json_object *find(struct json_object *o, const char *path)
{
	const char *dot = strchrnul(path, '.');
	struct json_object *value = NULL;
	char key[48];

	if (!json_object_is_type(o, json_type_object))
		return NULL;
	snprintf(key, sizeof(key), "%.*s", (int)(dot - path), path);
	if (!json_object_object_get_ex(o, key, &value))
		return NULL;
	return *dot ? find(value, dot + 1) : value;
}

/* What does not fit is said to be there: "a b ... (30 in all)". */
static void format_list(struct json_object *list, char *buf, size_t size)
{
	size_t i, nr = json_object_array_length(list), len = 0;
	char more[32];
	int n;

	n = snprintf(more, sizeof(more), " ... (%zu in all)", nr);
	for (i = 0; i < nr; i++) {
		const char *text = json_object_get_string(json_object_array_get_idx(list, i));
		size_t rest = i + 1 < nr ? (size_t)n : 0;

		if (len + !!i + strlen(text) + rest >= size) {
			snprintf(buf + len, size - len, "%s", more);
			return;
		}
		len += (size_t)snprintf(buf + len, size - len, "%s%s", i ? " " : "", text);
	}
}

static void format_cell(struct json_object *row, const struct column *c, char *buf, size_t size)
{
	struct json_object *v = find(row, c->key);

	snprintf(buf, size, "-");
	if (!v)
		return;
	switch (c->kind) {
	case COL_TEXT:
	case COL_NUMBER:
		if (json_object_is_type(v, json_type_array))
			format_list(v, buf, size);
		else if (*json_object_get_string(v))
			snprintf(buf, size, "%s", json_object_get_string(v));
		break;
	case COL_SIZE:
		format_size(json_object_get_uint64(v), buf, size);
		break;
	case COL_NS:
		format_ns(json_object_get_uint64(v), buf, size);
		break;
	case COL_RATE:
		format_double(json_object_get_double(v), json_object_get_double(v) < 100, buf,
			      size);
		break;
	case COL_COUNT:
		format_double(json_object_get_double(v), 2, buf, size);
		break;
	case COL_BOOL:
		snprintf(buf, size, "%s", json_object_get_boolean(v) ? "yes" : "no");
		break;
	}
}

/* --- tables ---------------------------------------------------------------- */

static void print_cell(const struct column *c, const char *text, int width, bool last)
{
	if (c->kind != COL_TEXT)
		printf("%*s", width, text);
	else if (last)
		printf("%s", text);
	else
		printf("%-*s", width, text);
	fputs(last ? "\n" : "  ", stdout);
}

void print_table_rows(struct json_object *rows, const struct column *columns, size_t nr,
		      bool titles)
{
	size_t nr_rows = json_object_array_length(rows), r, c;
	int *width = checked(calloc(nr, sizeof(*width)));
	char cell[CELL_MAX];

	for (c = 0; c < nr; c++) {
		width[c] = (int)strlen(columns[c].title);
		for (r = 0; r < nr_rows; r++) {
			format_cell(json_object_array_get_idx(rows, r), &columns[c], cell,
				    sizeof(cell));
			if ((int)strlen(cell) > width[c])
				width[c] = (int)strlen(cell);
		}
	}
	for (c = 0; c < nr && titles; c++)
		print_cell(&columns[c], columns[c].title, width[c], c == nr - 1);
	for (r = 0; r < nr_rows; r++)
		for (c = 0; c < nr; c++) {
			format_cell(json_object_array_get_idx(rows, r), &columns[c], cell,
				    sizeof(cell));
			print_cell(&columns[c], cell, width[c], c == nr - 1);
		}
	free(width);
	fflush(stdout);
}

void print_table(struct json_object *rows, const struct column *columns, size_t nr)
{
	print_table_rows(rows, columns, nr, true);
}

void print_fields(struct json_object *o, const struct column *fields, size_t nr)
{
	char cell[CELL_MAX];
	int width = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		if ((int)strlen(fields[i].title) > width)
			width = (int)strlen(fields[i].title);
	for (i = 0; i < nr; i++) {
		format_cell(o, &fields[i], cell, sizeof(cell));
		printf("%-*s  %s\n", width, fields[i].title, cell);
	}
	fflush(stdout);
}
