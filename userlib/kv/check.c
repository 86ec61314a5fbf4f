// SPDX-License-Identifier: BSD-3-Clause
/* Checking a store that is in use: the cursors are the server's, as a scan's is. */
#include "internal.h"

struct check {
	uint64_t at;		/* where to go on asking */
	uint32_t skip;
	uint32_t part;
	bool end;
	void (*fault)(void *context, uint64_t offset, enum pmof_kv_fault kind);
	void *context;
	struct pmofkv_check *out;
};

/* The task has its check in @buf. */
static int fill(struct kv_task *t, struct kv_buffers *b)
{
	const struct check *c = t->buf;
	struct pmof_kv_check *m;

	t->session = kv_session(t->kv);
	m = kv_request(t, b, sizeof(*m));
	m->at = htole64(c->at);
	m->skip = htole32(c->skip);
	m->part = htole32(c->part);
	kv_call(t, b, PMOF_KV_CHECK, sizeof(*m));
	return 0;
}

static int take(struct check *c, const struct pmof_kv_check_reply *r, size_t length)
{
	uint32_t i, nr = le32toh(r->count);

	if (nr > (length - sizeof(*r)) / sizeof(r->fault[0]))
		return -EPROTO;
	c->end = le32toh(r->flags) & PMOF_KV_CHECK_F_END;
	/* It would go on for ever. */
	if (!c->end && c->at == le64toh(r->at) && c->skip == le32toh(r->skip))
		return -EPROTO;
	c->at = le64toh(r->at);
	c->skip = le32toh(r->skip);
	if (c->part == PMOF_KV_CHECK_SLOTS)
		c->out->objects += le64toh(r->seen);
	else
		c->out->entries += le64toh(r->seen);
	c->out->unreadable += le64toh(r->unreadable);
	c->out->unaccounted += (int64_t)le64toh(r->unaccounted);
	c->out->faults += nr;
	for (i = 0; i < nr; i++)
		c->fault(c->context, le64toh(r->fault[i].offset),
			 (enum pmof_kv_fault)le32toh(r->fault[i].kind));
	return 0;
}

static void done(struct kv_task *t, struct kv_buffers *b)
{
	const struct pmof_kv_check_reply *r = (const void *)b->reply;
	int ret;

	if (kv_lost(t))
		return;
	ret = kv_answer(t, b, sizeof(*r));
	kv_end(t, ret ? ret : take(t->buf, r, t->call.old));
}

static const struct kv_stage check_stage = { fill, done };

static int check_part(struct pmofkv *kv, struct check *c, uint32_t part)
{
	int ret = 0;

	c->part = part;
	c->at = 0;
	c->skip = 0;
	c->end = false;
	while (!c->end && !ret) {
		struct kv_task t = { .kv = kv, .buf = c, .first = &check_stage,
				     .stage = &check_stage };

		ret = kv_run(&t);
	}
	return ret;
}

int pmofkv_check(struct pmofkv *kv,
		 void (*fault)(void *context, uint64_t offset, enum pmof_kv_fault kind),
		 void *context, struct pmofkv_check *out)
{
	struct check c = { .fault = fault, .context = context, .out = out };
	int ret;

	memset(out, 0, sizeof(*out));
	ret = check_part(kv, &c, PMOF_KV_CHECK_SLOTS);
	return ret ? ret : check_part(kv, &c, PMOF_KV_CHECK_INDEX);
}
