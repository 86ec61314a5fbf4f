// SPDX-License-Identifier: GPL-2.0
/* Reading and writing histories: history.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "history.h"

#define WORDS	12

static bool number(const char *s, uint64_t *v)
{
	char *end;

	if (!s || *s < '0' || *s > '9')
		return false;
	*v = strtoull(s, &end, 10);
	return !*end;
}

static bool expected(const char *s, uint64_t *v)
{
	if (s && !strcmp(s, "any"))
		*v = EXPECT_ANY;
	else if (s && !strcmp(s, "none"))
		*v = EXPECT_NONE;
	else
		return number(s, v) && *v && *v != EXPECT_ANY;
	return true;
}

/* The result and the version behind it. */
static bool result(char **word, struct op *op, const char *name, enum op_result r, bool version)
{
	if (!word[0] || strcmp(word[0], name) != 0)
		return false;
	op->result = r;
	return version ? number(word[1], &op->version) && !word[2] : !word[1];
}

static bool parse_put(char **word, struct op *op)
{
	op->kind = OP_PUT;
	if (!number(word[0], &op->tag) || !op->tag || !expected(word[1], &op->expected))
		return false;
	word += 2;
	return (result(word, op, "ok", RESULT_OK, true) && op->version) ||
	       (result(word, op, "exists", RESULT_EXISTS, true) && op->expected == EXPECT_NONE) ||
	       (result(word, op, "stale", RESULT_STALE, true) && op->expected != EXPECT_ANY) ||
	       result(word, op, "unknown", RESULT_UNKNOWN, false);
}

static bool parse_get(char **word, struct op *op)
{
	op->kind = OP_GET;
	if (result(word, op, "none", RESULT_NONE, false))
		return true;
	op->result = RESULT_OK;
	return word[0] && !strcmp(word[0], "found") && number(word[1], &op->tag) && op->tag &&
	       number(word[2], &op->version) && op->version && !word[3];
}

static bool parse_delete(char **word, struct op *op)
{
	op->kind = OP_DELETE;
	if (!expected(word[0], &op->expected) || op->expected == EXPECT_NONE)
		return false;
	word++;
	return result(word, op, "ok", RESULT_OK, false) ||
	       result(word, op, "none", RESULT_NONE, false) ||
	       (result(word, op, "stale", RESULT_STALE, true) && op->expected != EXPECT_ANY) ||
	       result(word, op, "unknown", RESULT_UNKNOWN, false);
}

static bool parse(char *line, struct op *op)
{
	char *word[WORDS + 1] = { NULL }, *save = NULL;
	int n = 0;

	for (word[0] = strtok_r(line, " \t\n", &save); n < WORDS - 1 && word[n];)
		word[++n] = strtok_r(NULL, " \t\n", &save);
	*op = (struct op){ 0 };
	if (n < 6 || !number(word[0], &op->key) || !number(word[1], &op->client) ||
	    !number(word[2], &op->call) || (!number(word[3], &op->ret) && strcmp(word[3], "-") != 0))
		return false;
	if ((!strcmp(word[4], "put") && parse_put(word + 5, op)) ||
	    (!strcmp(word[4], "get") && parse_get(word + 5, op)) ||
	    (!strcmp(word[4], "del") && parse_delete(word + 5, op)))
		return op->result == RESULT_UNKNOWN || op->ret >= op->call;
	return false;
}

bool history_add(struct history *h, const struct op *op)
{
	struct op *more;

	if (h->nr == h->room) {
		h->room = h->room ? 2 * h->room : 1024;
		more = realloc(h->op, h->room * sizeof(*more));
		if (!more)
			return false;
		h->op = more;
	}
	h->op[h->nr++] = *op;
	return true;
}

int history_read(struct history *h, FILE *f)
{
	char *line = NULL;
	size_t size = 0;
	struct op op;
	int n = 0, rc = 0;

	while (!rc && getline(&line, &size, f) > 0) {
		n++;
		if (*line == '#' || *line == '\n')
			continue;
		if (!parse(line, &op))
			rc = n;
		else if (!history_add(h, &op))
			rc = -1;
	}
	free(line);
	return rc;
}

static void print_expected(FILE *f, uint64_t v)
{
	if (v == EXPECT_ANY)
		fputs(" any", f);
	else if (v == EXPECT_NONE)
		fputs(" none", f);
	else
		fprintf(f, " %" PRIu64, v);
}

static void print_result(FILE *f, const struct op *op)
{
	switch (op->result) {
	case RESULT_OK:
		if (op->kind == OP_GET)
			fprintf(f, " found %" PRIu64 " %" PRIu64, op->tag, op->version);
		else if (op->kind == OP_PUT)
			fprintf(f, " ok %" PRIu64, op->version);
		else
			fputs(" ok", f);
		break;
	case RESULT_NONE:
		fputs(" none", f);
		break;
	case RESULT_EXISTS:
		fprintf(f, " exists %" PRIu64, op->version);
		break;
	case RESULT_STALE:
		fprintf(f, " stale %" PRIu64, op->version);
		break;
	case RESULT_UNKNOWN:
		fputs(" unknown", f);
		break;
	}
}

void history_print_op(FILE *f, const struct op *op)
{
	static const char *const names[] = { "put", "get", "del" };

	fprintf(f, "%" PRIu64 " %" PRIu64 " %" PRIu64 " ", op->key, op->client, op->call);
	if (op->result == RESULT_UNKNOWN)
		fputs("-", f);
	else
		fprintf(f, "%" PRIu64, op->ret);
	fprintf(f, " %s", names[op->kind]);
	if (op->kind == OP_PUT)
		fprintf(f, " %" PRIu64, op->tag);
	if (op->kind != OP_GET)
		print_expected(f, op->expected);
	print_result(f, op);
	fputc('\n', f);
}

void history_free(struct history *h)
{
	free(h->op);
	*h = (struct history){ 0 };
}
