// SPDX-License-Identifier: GPL-2.0
/* Reading the client's log. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

void *log_grow(void *array, uint32_t nr, size_t size)
{
	if (nr & (nr - 1))
		return array;
	array = realloc(array, (nr ? 2 * (size_t)nr : 1) * size);
	if (!array)
		abort();
	return array;
}

static int add_slot(struct log *log, const char *line)
{
	struct slot s = { 0 };
	char type[16];
	uint32_t id;

	if (sscanf(line, "%" SCNu32 " %15s %" SCNu64 " %" SCNu64, &id, type, &s.offset,
		   &s.length) != 4 || id != log->nr_slots || !s.length)
		return -1;
	if (id && log->slot[id - 1].offset + log->slot[id - 1].length > s.offset)
		return -1;
	if (!strcmp(type, "raw"))
		s.type = SLOT_RAW;
	else if (!strcmp(type, "object"))
		s.type = SLOT_OBJECT;
	else if (!strcmp(type, "word"))
		s.type = SLOT_WORD;
	else if (!strcmp(type, "db"))
		s.type = SLOT_DB;
	else if (!strcmp(type, "kv"))
		s.type = SLOT_KV;
	else if (!strcmp(type, "shared"))
		s.type = SLOT_SHARED;
	else
		return -1;
	log->slot = log_grow(log->slot, log->nr_slots, sizeof(s));
	log->slot[log->nr_slots++] = s;
	return 0;
}

static int parse_covers(struct op *op, const char *text)
{
	char *end;

	for (;;) {
		unsigned long n = strtoul(text, &end, 10);

		if (end == text)
			return 0;
		op->covers = log_grow(op->covers, op->nr_covers, sizeof(*op->covers));
		op->covers[op->nr_covers++] = n;
		text = end;
	}
}

/* Of a key with several writers. */
static int parse_shared(struct op *op, const char *rest)
{
	return sscanf(rest, "%" SCNu32 " %" SCNu64 " %" SCNu64 " %" SCNu64, &op->slot,
		      &op->number, &op->expected, &op->version) == 4 ? 0 : -1;
}

static int parse_op(struct op *op, const char *word, const char *rest)
{
	unsigned int durable;
	int used = 0;

	if (!strcmp(word, "put")) {
		op->kind = OP_PUT;
		if (sscanf(rest, "%" SCNu32 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %u", &op->slot,
			   &op->version, &op->from, &op->length, &durable) != 5)
			return -1;
		op->durable = durable;
		return 0;
	}
	if (!strcmp(word, "persist")) {
		op->kind = OP_PERSIST;
		if (sscanf(rest, "%" SCNu64 " %" SCNu64 "%n", &op->from, &op->length, &used) != 2)
			return -1;
		return parse_covers(op, rest + used);
	}
	op->kind = !strcmp(word, "change") ? OP_CHANGE : !strcmp(word, "refused") ? OP_REFUSED :
		   !strcmp(word, "look") ? OP_LOOK : OP_PUT;
	if (op->kind != OP_PUT) {
		op->durable = op->kind == OP_CHANGE;
		return parse_shared(op, rest);
	}
	if (!strcmp(word, "atomic"))
		op->kind = OP_ATOMIC;
	else if (!strcmp(word, "prepare"))
		op->kind = OP_PREPARE;
	else if (!strcmp(word, "commit"))
		op->kind = OP_COMMIT;
	else if (!strcmp(word, "seen"))
		op->kind = OP_SEEN;
	else if (!strcmp(word, "txn"))
		op->kind = OP_TXN;
	else if (!strcmp(word, "read"))
		op->kind = OP_READ;
	else
		return -1;
	op->durable = op->kind != OP_SEEN && op->kind != OP_READ;
	return sscanf(rest, "%" SCNu32 " %" SCNu64, &op->slot, &op->version) == 2 ? 0 : -1;
}

static int add_op(struct log *log, const char *word, const char *rest)
{
	struct op op = { .start_time = LOG_NEVER, .done_time = LOG_NEVER,
			 .start_pos = LOG_NEVER, .ack_pos = LOG_NEVER };
	uint32_t number;
	int used = 0;

	if (sscanf(rest, "%" SCNu32 "%n", &number, &used) != 1 || number != log->nr_ops ||
	    parse_op(&op, word, rest + used))
		return -1;
	log->op = log_grow(log->op, log->nr_ops, sizeof(op));
	log->op[log->nr_ops++] = op;
	return 0;
}

static int parse_line(struct log *log, char *line, bool *ended)
{
	char word[16];
	uint32_t nr;
	int used = 0;

	if (*ended || sscanf(line, "%15s%n", word, &used) != 1)
		return -1;
	line += used;
	if (!strcmp(word, "seed"))
		return sscanf(line, "%" SCNu64, &log->seed) == 1 ? 0 : -1;
	if (!strcmp(word, "slot"))
		return add_slot(log, line);
	if (!strcmp(word, "end")) {
		*ended = true;
		return sscanf(line, "%" SCNu32, &nr) == 1 && nr == log->nr_ops ? 0 : -1;
	}
	return add_op(log, word, line);
}

static bool type_fits(enum slot_type type, enum op_kind kind)
{
	switch (kind) {
	case OP_PUT:
		return type == SLOT_RAW;
	case OP_ATOMIC:
		return type == SLOT_WORD;
	case OP_TXN:
		return type == SLOT_DB || type == SLOT_KV;
	case OP_READ:
		return type == SLOT_KV;
	case OP_CHANGE:
	case OP_REFUSED:
	case OP_LOOK:
		return type == SLOT_SHARED;
	default:
		return type == SLOT_OBJECT;
	}
}

/* Each operation fits its slot, and each slot knows its operations. */
static int link_op(struct log *log, uint32_t number)
{
	struct op *op = &log->op[number];
	struct slot *s;
	uint32_t i;

	for (i = 0; i < op->nr_covers; i++)
		if (op->covers[i] >= log->nr_ops || log->op[op->covers[i]].kind != OP_PUT)
			return -1;
	if (op->kind == OP_PERSIST)
		return 0;
	if (op->slot >= log->nr_slots)
		return -1;
	s = &log->slot[op->slot];
	if (op->kind == OP_PUT && (op->from > s->length || op->length > s->length - op->from))
		return -1;
	if (!type_fits(s->type, op->kind) || (op->kind == OP_TXN && op->version != s->nr_ops + 1))
		return -1;
	if (op->kind == OP_REFUSED || op->kind == OP_LOOK)
		return 0;
	if (op->kind == OP_READ)
		op->index = op->version - 1;
	if (op->kind == OP_SEEN || op->kind == OP_READ)
		return op->version ? 0 : -1;
	op->index = s->nr_ops;
	s->ops = log_grow(s->ops, s->nr_ops, sizeof(*s->ops));
	s->ops[s->nr_ops++] = number;
	return 0;
}

static int read_lines(struct log *log, FILE *f)
{
	size_t size = 0, number = 0;
	char *line = NULL;
	bool ended = false;
	int rc = 0;

	while (!rc && getline(&line, &size, f) > 0)
		rc = number++ ? parse_line(log, line, &ended) :
		     strncmp(line, LOG_MAGIC "\n", sizeof(LOG_MAGIC)) ? -1 : 0;
	if (rc)
		fprintf(stderr, "line %zu is malformed: %s", number, line);
	else if (!ended)
		fprintf(stderr, "no 'end': the workload was cut short\n");
	free(line);
	return rc || !ended ? -1 : 0;
}

/* What a reader saw was committed by this operation. */
static int link_seen(struct log *log, struct op *op)
{
	const struct slot *s = &log->slot[op->slot];
	uint32_t i;

	for (i = 0; i < s->nr_ops; i++) {
		const struct op *o = &log->op[s->ops[i]];

		if (o->kind == OP_COMMIT && o->version == op->version) {
			op->index = i;
			return 0;
		}
	}
	return -1;
}

static int link_ops(struct log *log)
{
	uint32_t i;

	for (i = 0; i < log->nr_ops; i++)
		if (link_op(log, i))
			goto misfit;
	/* A get may have begun before the commit that it saw. */
	for (i = 0; i < log->nr_ops; i++)
		if (log->op[i].kind == OP_SEEN && link_seen(log, &log->op[i]))
			goto misfit;
	for (i = 0; i < log->nr_ops; i++)
		if (log->op[i].kind == OP_READ &&
		    log->op[i].version > log->slot[log->op[i].slot].nr_ops)
			goto misfit;
	return 0;

misfit:
	fprintf(stderr, "operation %u fits no slot\n", i);
	return -1;
}

int log_read(struct log *log, const char *path)
{
	FILE *f = fopen(path, "r");
	int rc;

	memset(log, 0, sizeof(*log));
	if (!f) {
		perror(path);
		return -1;
	}
	rc = read_lines(log, f);
	fclose(f);
	rc = rc ? rc : link_ops(log);
	if (rc)
		log_free(log);
	return rc;
}

void log_free(struct log *log)
{
	uint32_t i;

	for (i = 0; i < log->nr_slots; i++)
		free(log->slot[i].ops);
	for (i = 0; i < log->nr_ops; i++)
		free(log->op[i].covers);
	free(log->slot);
	free(log->op);
	memset(log, 0, sizeof(*log));
}

void log_op_range(const struct log *log, const struct op *op, uint64_t *offset, uint64_t *length)
{
	const struct slot *s = &log->slot[op->slot];

	switch (op->kind) {
	case OP_PERSIST:
		*offset = op->from;
		*length = op->length;
		break;
	case OP_PUT:
		*offset = s->offset + op->from;
		*length = op->length;
		break;
	default:
		*offset = s->offset;
		*length = s->length;
	}
}
