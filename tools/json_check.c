// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json_check.h"

/* Up to JSON_FILE_MAX bytes of it; 0 or an errno. */
static int read_fd(int fd, char *text, size_t *len)
{
	ssize_t n;

	for (*len = 0; *len <= JSON_FILE_MAX; *len += (size_t)n) {
		n = read(fd, text + *len, JSON_FILE_MAX + 1 - *len);
		if (n < 0)
			return errno;
		if (!n)
			return 0;
	}
	return EFBIG;
}

/* The whole file, NUL terminated; NULL with errno. */
static char *read_file(const char *path, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), error;
	char *text;

	*len = 0;
	if (fd < 0)
		return NULL;
	text = malloc(JSON_FILE_MAX + 2);
	error = text ? read_fd(fd, text, len) : ENOMEM;
	close(fd);
	if (!text || error) {
		free(text);
		errno = error;
		return NULL;
	}
	text[*len] = '\0';
	return text;
}

static unsigned int line_of(const char *text, size_t offset)
{
	unsigned int line = 1;
	size_t i;

	for (i = 0; i < offset && text[i]; i++)
		line += text[i] == '\n';
	return line;
}

static struct json_object *parse(const char *text, size_t len, char *why)
{
	const char *nul = strstr(text, "\\u0000");
	struct json_object *o = NULL;
	enum json_tokener_error error;
	struct json_tokener *tok;

	/* json-c ends a key there. */
	if (nul) {
		snprintf(why, WHY_MAX, "line %u: it has a NUL, which no text may have",
			 line_of(text, (size_t)(nul - text)));
		return NULL;
	}
	tok = json_tokener_new();
	if (!tok) {
		snprintf(why, WHY_MAX, "out of memory");
		return NULL;
	}
	json_tokener_set_flags(tok, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	/* With its NUL: so that a text that ends too early is an error. */
	o = json_tokener_parse_ex(tok, text, (int)len + 1);
	error = json_tokener_get_error(tok);
	if (error != json_tokener_success) {
		snprintf(why, WHY_MAX, "line %u: %s",
			 line_of(text, json_tokener_get_parse_end(tok)),
			 error == json_tokener_continue ? "it ends too early" :
			 json_tokener_error_desc(error));
	} else if (strspn(text + json_tokener_get_parse_end(tok), " \t\r\n") !=
		   strlen(text + json_tokener_get_parse_end(tok)) || strlen(text) != len) {
		snprintf(why, WHY_MAX, "there is more behind its end");
		error = json_tokener_error_parse_unexpected;
	} else if (!json_object_is_type(o, json_type_object)) {
		snprintf(why, WHY_MAX, "it is not a JSON object");
		error = json_tokener_error_parse_unexpected;
	}
	json_tokener_free(tok);
	if (error == json_tokener_success)
		return o;
	json_object_put(o);
	return NULL;
}

struct json_object *json_read(const char *path, char *why)
{
	struct json_object *o;
	size_t len;
	char *text = read_file(path, &len);

	if (!text) {
		snprintf(why, WHY_MAX, "%s", strerror(errno));
		return NULL;
	}
	o = parse(text, len, why);
	free(text);
	if (!o)
		errno = EINVAL;
	return o;
}

/* --- checks ---------------------------------------------------------------- */

/* As the parser checks it: a text that it would not take is not written. */
static bool is_utf8(const char *text)
{
	unsigned int more = 0;
	unsigned char c;

	for (; *text; text++) {
		c = (unsigned char)*text;
		if (more ? (c & 0xc0) != 0x80 : (c & 0xc0) == 0x80 || c >= 0xf8)
			return false;
		if (more)
			more--;
		else
			more = c < 0xc0 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
	}
	return !more;
}

/* NULL, or what is wrong with a text or a list of texts. */
static const char *check_text(struct json_object *v, const struct json_key *key)
{
	const char *text = json_object_get_string(v);

	if (!json_object_is_type(v, json_type_string))
		return "is not a text";
	if (strlen(text) != (size_t)json_object_get_string_len(v) || strpbrk(text, "\n\r"))
		return "has a character that no text may have";
	if (!is_utf8(text))
		return "is not in UTF-8";
	return key->check ? key->check(text) : NULL;
}

static const char *check_texts(struct json_object *v, const struct json_key *key)
{
	const char *wrong = NULL;
	size_t i;

	if (!json_object_is_type(v, json_type_array))
		return "is not a list";
	for (i = 0; i < json_object_array_length(v) && !wrong; i++)
		wrong = check_text(json_object_array_get_idx(v, i), key);
	return wrong;
}

/* Above INT64_MAX json-c would say that it is just that. */
static bool in_range(struct json_object *v, const struct json_key *key)
{
	int64_t n = json_object_get_int64(v);

	return json_object_is_type(v, json_type_int) && n >= key->min && n <= key->max &&
	       (n < INT64_MAX || json_object_get_uint64(v) == INT64_MAX);
}

static bool check_value(struct json_object *v, const struct json_key *key, const char *where,
			char *why)
{
	const char *wrong = NULL;

	switch (key->kind) {
	case JSON_BOOL:
		if (!json_object_is_type(v, json_type_boolean))
			wrong = "is neither true nor false";
		break;
	case JSON_NUMBER:
		if (!in_range(v, key))
			snprintf(why, WHY_MAX, "%s%s is not a number from %" PRId64 " to %" PRId64,
				 where, key->name, key->min, key->max);
		else if (key->unit && json_object_get_int64(v) % key->unit)
			snprintf(why, WHY_MAX, "%s%s is no multiple of %" PRId64, where, key->name,
				 key->unit);
		else
			break;
		return false;
	case JSON_TEXT:
		wrong = check_text(v, key);
		break;
	case JSON_LIST:
		wrong = check_texts(v, key);
		break;
	}
	if (wrong)
		snprintf(why, WHY_MAX, "%s%s %s", where, key->name, wrong);
	return !wrong;
}

static const struct json_key *find_key(const struct json_key *keys, size_t nr, const char *name)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (!strcmp(keys[i].name, name))
			return &keys[i];
	return NULL;
}

bool json_check(struct json_object *o, const struct json_key *keys, size_t nr,
		const char *where, char *why)
{
	const struct json_key *key;
	size_t i;

	if (!json_object_is_type(o, json_type_object)) {
		snprintf(why, WHY_MAX, "%sis not an object", where);
		return false;
	}
	json_object_object_foreach(o, name, value) {
		key = find_key(keys, nr, name);
		if (!key) {
			snprintf(why, WHY_MAX, "%sunknown key '%s'", where, name);
			return false;
		}
		if (!check_value(value, key, where, why))
			return false;
	}
	for (i = 0; i < nr; i++) {
		if (!keys[i].required || json_object_object_get_ex(o, keys[i].name, NULL))
			continue;
		snprintf(why, WHY_MAX, "%s%s is missing", where, keys[i].name);
		return false;
	}
	return true;
}

bool json_check_list(struct json_object *o, const char *key, const struct json_key *keys,
		     size_t nr, char *why)
{
	struct json_object *list;
	char where[64];
	size_t i;

	if (!json_object_object_get_ex(o, key, &list))
		return true;
	if (!json_object_is_type(list, json_type_array)) {
		snprintf(why, WHY_MAX, "%s is not a list", key);
		return false;
	}
	for (i = 0; i < json_object_array_length(list); i++) {
		snprintf(where, sizeof(where), "%s, entry %zu: ", key, i + 1);
		if (!json_check(json_object_array_get_idx(list, i), keys, nr, where, why))
			return false;
	}
	return true;
}

/* --- values ---------------------------------------------------------------- */

struct json_object *json_list(struct json_object *o, const char *key)
{
	struct json_object *list;

	return json_object_object_get_ex(o, key, &list) ? list : NULL;
}

size_t json_length(struct json_object *list)
{
	return list ? json_object_array_length(list) : 0;
}

bool json_has_text(struct json_object *list, const char *text)
{
	size_t i;

	for (i = 0; i < json_length(list); i++)
		if (!strcmp(json_object_get_string(json_object_array_get_idx(list, i)), text))
			return true;
	return false;
}

const char *json_text(struct json_object *o, const char *key, const char *otherwise)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) ? json_object_get_string(v) : otherwise;
}

int64_t json_number(struct json_object *o, const char *key, int64_t otherwise)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) ? json_object_get_int64(v) : otherwise;
}

bool json_flag(struct json_object *o, const char *key, bool otherwise)
{
	struct json_object *v;

	return json_object_object_get_ex(o, key, &v) ? json_object_get_boolean(v) : otherwise;
}

const char *json_plain(struct json_object *o, const char *key, char *buf, size_t size)
{
	struct json_object *v;

	if (!json_object_object_get_ex(o, key, &v))
		return NULL;
	switch (json_object_get_type(v)) {
	case json_type_boolean:
		return json_object_get_boolean(v) ? "1" : "0";
	case json_type_int:
		snprintf(buf, size, "%" PRId64, json_object_get_int64(v));
		return buf;
	default:
		return json_object_get_string(v);
	}
}
