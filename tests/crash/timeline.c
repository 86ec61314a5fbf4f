// SPDX-License-Identifier: GPL-2.0
/* Where operations begin and end in the server's trace: see timeline.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../kmod/common/wire.h"
#include "../../uapi/pmof_kv.h"
#include "kv.h"
#include "model.h"
#include "timeline.h"

struct named_range {
	uint64_t offset;
	uint64_t length;
	uint64_t version;	/* of a store's change */
	bool taken;		/* an operation was found for it */
};

/* A request that the server has parsed, and the ranges that it names. */
struct request {
	uint64_t value;		/* of its marks */
	uint64_t pos;
	uint64_t reply_pos;
	struct named_range *range;
	uint32_t nr_ranges;
};

struct tick {
	uint64_t pos;
	uint64_t time;
};

struct scan {
	struct tick *tick;
	struct request *request;
	uint32_t nr_ticks, nr_requests;
	int64_t current[MODEL_CPUS];	/* the request whose ranges a CPU is naming */
	uint64_t offset[MODEL_CPUS];
	uint64_t key[MODEL_CPUS];
	struct request next[MODEL_CPUS];	/* the changes that a CPU's next reply answers */
	uint64_t nr_records;
};

/* --- the client's marks --------------------------------------------------------- */

int timeline_add_client(struct log *log, const struct trace *client, uint64_t first)
{
	struct trace_cursor c = trace_begin(client);
	const uint8_t *data;
	struct trace_rec r;
	uint64_t now = 0;
	int rc;

	while ((rc = trace_next(&c, &r, &data)) > 0) {
		if (r.type == TRACE_TIME)
			now = r.addr;
		if (r.type != TRACE_MARK || r.addr - first >= log->nr_ops)
			continue;
		if (r.mark == MARK_OP_START)
			log->op[r.addr - first].start_time = now;
		else if (r.mark == MARK_OP_DONE)
			log->op[r.addr - first].done_time = now;
	}
	if (rc)
		fprintf(stderr, "the client's trace is malformed at record %" PRIu64 "\n", c.pos);
	return rc;
}

static int check_marks(const struct log *log)
{
	uint32_t i;

	for (i = 0; i < log->nr_ops; i++) {
		const struct op *op = &log->op[i];

		if (op->start_time == LOG_NEVER || op->done_time == LOG_NEVER ||
		    op->done_time < op->start_time) {
			fprintf(stderr, "operation %u: its marks are not in the client's trace\n",
				i);
			return -1;
		}
	}
	return 0;
}

/* --- the server's marks ----------------------------------------------------------- */

static void add_request(struct scan *s, const struct trace_rec *r, uint64_t pos)
{
	s->request = log_grow(s->request, s->nr_requests, sizeof(*s->request));
	s->request[s->nr_requests] = (struct request){
		.value = r->addr, .pos = pos, .reply_pos = LOG_NEVER,
	};
	s->current[r->cpu] = s->nr_requests++;
}

static void name(struct request *q, uint64_t offset, uint64_t length)
{
	q->range = log_grow(q->range, q->nr_ranges, sizeof(*q->range));
	q->range[q->nr_ranges++] = (struct named_range){ .offset = offset, .length = length };
}

static void name_key(struct request *q, uint64_t key, uint64_t version)
{
	name(q, key >> 16, key & 0xffff);
	q->range[q->nr_ranges - 1].version = version;
}

/* What @from names, @to names from now on. */
static void move_names(struct request *to, struct request *from)
{
	if (!from->nr_ranges)
		return;
	free(to->range);
	to->range = from->range;
	to->nr_ranges = from->nr_ranges;
	*from = (struct request){};
}

static void add_range(struct scan *s, const struct trace_rec *r)
{
	if (s->current[r->cpu] < 0)
		return;
	name(&s->request[s->current[r->cpu]], s->offset[r->cpu], r->addr);
}

/* A put or delete of a store, or many. */
static bool is_change(unsigned int opcode)
{
	return opcode == PMOF_KV_COMMIT || opcode == PMOF_KV_PUT_INLINE ||
	       opcode == PMOF_KV_DELETE || opcode == PMOF_KV_BATCH;
}

static void add_reply(struct scan *s, const struct trace_rec *r, uint64_t pos)
{
	uint32_t i;

	for (i = s->nr_requests; i-- > 0; )
		if (s->request[i].value == r->addr) {
			if (s->request[i].reply_pos != LOG_NEVER)
				return;
			s->request[i].reply_pos = pos;
			if (is_change(r->addr & 0xff))
				move_names(&s->request[i], &s->next[r->cpu]);
			return;
		}
}

static void scan_mark(struct scan *s, const struct trace_rec *r, uint64_t pos)
{
	switch (r->mark) {
	case MARK_REQUEST:
		add_request(s, r, pos);
		break;
	case MARK_RANGE_OFF:
		s->offset[r->cpu] = r->addr;
		break;
	case MARK_RANGE_LEN:
		add_range(s, r);
		break;
	case MARK_KEY:
		s->key[r->cpu] = r->addr;
		break;
	case MARK_VERSION:
		name_key(&s->next[r->cpu], s->key[r->cpu], r->addr);
		break;
	case MARK_REPLY:
		add_reply(s, r, pos);
		break;
	}
}

static int scan_server(struct scan *s, const struct trace *server)
{
	struct trace_cursor c = trace_begin(server);
	const uint8_t *data;
	struct trace_rec r;
	uint32_t i;
	int rc;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < MODEL_CPUS; i++)
		s->current[i] = -1;
	while ((rc = trace_next(&c, &r, &data)) > 0) {
		if (r.type == TRACE_TIME) {
			s->tick = log_grow(s->tick, s->nr_ticks, sizeof(*s->tick));
			s->tick[s->nr_ticks++] = (struct tick){ c.pos - 1, r.addr };
		} else if (r.type == TRACE_MARK) {
			scan_mark(s, &r, c.pos - 1);
		}
	}
	s->nr_records = c.pos;
	if (rc)
		fprintf(stderr, "the server's trace is malformed at record %" PRIu64 "\n", c.pos);
	return rc;
}

static void scan_free(struct scan *s)
{
	uint32_t i;

	for (i = 0; i < s->nr_requests; i++)
		free(s->request[i].range);
	for (i = 0; i < MODEL_CPUS; i++)
		free(s->next[i].range);
	free(s->request);
	free(s->tick);
}

/* The first tick at or after @time. */
static uint32_t tick_at(const struct scan *s, uint64_t time)
{
	uint32_t low = 0, high = s->nr_ticks;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (s->tick[mid].time < time)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* --- joining them ------------------------------------------------------------------- */

static bool opcode_fits(const struct op *op, unsigned int opcode)
{
	switch (op->kind) {
	case OP_PREPARE:
		return opcode == PMOF_MSG_PREPARE;
	case OP_COMMIT:
		return opcode == PMOF_MSG_PUT || opcode == PMOF_MSG_COMMIT;
	case OP_PERSIST:
		return opcode == PMOF_MSG_PERSIST;
	case OP_TXN:
		return is_change(opcode);
	case OP_CHANGE:
		/* The workload's batches are puts. */
		return is_change(opcode) && (opcode == PMOF_KV_DELETE) == !op->number;
	default:
		return opcode == PMOF_MSG_PERSIST || opcode == PMOF_MSG_PUT;
	}
}

/*
 * The store names a key by checksum and length. Several may change it at once, but each to a
 * version of its own, or from one.
 */
static bool key_fits(const struct log *log, const struct op *op, const struct named_range *r)
{
	char key[KV_MAX_KEY];
	uint32_t length = kv_key(log->seed, op->slot, key);

	if (op->kind == OP_CHANGE && r->version != op->version)
		return false;
	return r->length == length && r->offset == crc32c(~0U, key, length);
}

/* Objects are named by range or by trailer; an object has one operation at a time. */
static bool range_fits(const struct log *log, const struct op *op, const struct named_range *r)
{
	uint64_t offset, length;

	if (op->kind == OP_TXN || op->kind == OP_CHANGE)
		return key_fits(log, op, r);
	log_op_range(log, op, &offset, &length);
	if (op->kind == OP_PREPARE || op->kind == OP_COMMIT)
		return r->offset >= offset && r->offset < offset + length;
	return r->offset == offset && r->length == length;
}

/* The range of @q that @op must have named, or NULL. */
static struct named_range *find_range(const struct log *log, const struct op *op,
				      const struct request *q)
{
	uint32_t i;

	if (!opcode_fits(op, q->value & 0xff))
		return NULL;
	for (i = 0; i < q->nr_ranges; i++) {
		struct named_range *r = &q->range[i];

		if (!r->taken && range_fits(log, op, r))
			return r;
	}
	return NULL;
}

/* The reply to @op: that of a request, between its begin and its end, that names its range. */
static void match_reply(struct scan *s, const struct log *log, struct op *op)
{
	struct named_range *found = NULL, *r;
	uint64_t reply = LOG_NEVER;
	uint32_t low = 0, high = s->nr_requests, i, hits = 0;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (s->request[mid].pos < op->start_pos)
			low = mid + 1;
		else
			high = mid;
	}
	for (i = low; i < s->nr_requests && s->request[i].pos <= op->ack_pos; i++) {
		if (s->request[i].reply_pos > op->ack_pos)
			continue;
		r = find_range(log, op, &s->request[i]);
		if (!r)
			continue;
		if (!hits++) {
			found = r;
			reply = s->request[i].reply_pos;
		}
	}
	/* Two threads may persist one range at a time; a key's last put may lie close before. */
	if (!found || ((op->kind == OP_PERSIST || op->kind == OP_TXN) && hits > 1))
		return;
	found->taken = true;
	op->ack_pos = reply;
	op->by_reply = true;
}

/* A transaction of a database is many, and a get promises only what it has returned. */
static bool one_request(const struct log *log, const struct op *op)
{
	if (op->kind == OP_READ || op->kind == OP_REFUSED || op->kind == OP_LOOK)
		return false;
	return op->kind != OP_TXN || log->slot[op->slot].type == SLOT_KV;
}

static void place_op(struct scan *s, struct op *op)
{
	uint32_t begin = tick_at(s, op->start_time), end = tick_at(s, op->done_time);

	op->start_pos = begin ? s->tick[begin - 1].pos : 0;
	op->ack_pos = end < s->nr_ticks ? s->tick[end].pos : LOG_NEVER;
}

static int compare_events(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->pos != y->pos)
		return x->pos < y->pos ? -1 : 1;
	if (x->ack != y->ack)
		return x->ack - y->ack;
	return x->op < y->op ? -1 : x->op > y->op;
}

static void make_events(struct timeline *t, const struct log *log)
{
	uint32_t i;

	t->event = calloc(2 * (size_t)log->nr_ops + 1, sizeof(*t->event));
	if (!t->event)
		abort();
	t->first = LOG_NEVER;
	for (i = 0; i < log->nr_ops; i++) {
		const struct op *op = &log->op[i];

		t->event[t->nr_events++] = (struct event){ op->start_pos, i, false };
		t->event[t->nr_events++] = (struct event){ op->ack_pos, i, true };
		t->first = op->start_pos < t->first ? op->start_pos : t->first;
		if (op->ack_pos != LOG_NEVER && op->ack_pos > t->last)
			t->last = op->ack_pos;
		t->nr_by_reply += op->by_reply;
	}
	qsort(t->event, t->nr_events, sizeof(*t->event), compare_events);
}

int timeline_make(struct timeline *t, struct log *log, const struct trace *server)
{
	struct scan s;
	uint32_t i;

	memset(t, 0, sizeof(*t));
	if (check_marks(log))
		return -1;
	if (scan_server(&s, server)) {
		scan_free(&s);
		return -1;
	}
	for (i = 0; i < log->nr_ops; i++) {
		place_op(&s, &log->op[i]);
		if (one_request(log, &log->op[i]))
			match_reply(&s, log, &log->op[i]);
	}
	make_events(t, log);
	t->nr_records = s.nr_records;
	t->nr_requests = s.nr_requests;
	scan_free(&s);
	if (t->last <= t->first) {
		fprintf(stderr, "the traces have no operation in common\n");
		return -1;
	}
	return 0;
}

void timeline_free(struct timeline *t)
{
	free(t->event);
	memset(t, 0, sizeof(*t));
}
