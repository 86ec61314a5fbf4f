// SPDX-License-Identifier: BSD-3-Clause
/* Going through the keys: the cursor is the server's, and holds over sessions and restarts. */
#include <stdlib.h>

#include "internal.h"

struct pmofkv_scan {
	struct pmofkv *kv;
	struct pmofkv_cursor at_server;	/* where to go on asking */
	uint64_t limit;		/* keys to ask for yet */
	bool end;		/* there is nothing more to ask for */
	uint32_t left;		/* entries in @b.reply that were not told */
	size_t at;		/* the next of them */
	size_t length;		/* bytes of the reply */
	struct kv_buffers b;
};

/* The task has its scan in @buf. */
static int fill(struct kv_task *t, struct kv_buffers *b)
{
	const struct pmofkv_scan *s = t->buf;
	struct pmof_kv_scan *m;

	t->session = kv_session(t->kv);
	m = kv_request(t, b, sizeof(*m));
	m->hash = htole64(s->at_server.hash);
	m->skip = htole32(s->at_server.skip);
	/* 0: what an answer takes. */
	m->max = htole32(s->limit < UINT32_MAX ? (uint32_t)s->limit : 0);
	kv_call(t, b, PMOF_KV_SCAN, sizeof(*m));
	return 0;
}

static int take_answer(struct pmofkv_scan *s, const struct pmof_kv_scan_reply *r, size_t length)
{
	bool stays = s->at_server.hash == le64toh(r->hash) &&
		     s->at_server.skip == le32toh(r->skip);
	uint32_t count = le32toh(r->count);

	if (count > s->limit)
		return -EPROTO;
	s->at_server.hash = le64toh(r->hash);
	s->at_server.skip = le32toh(r->skip);
	s->end = le32toh(r->flags) & PMOF_KV_SCAN_F_END;
	s->limit -= count;
	s->left = count;
	s->at = sizeof(*r);
	s->length = length;
	/* It would go on for ever.  A cursor that moves: keys that cannot be read. */
	return !count && !s->end && stays ? -EPROTO : 0;
}

static void done(struct kv_task *t, struct kv_buffers *b)
{
	const struct pmof_kv_scan_reply *r = (const void *)b->reply;
	int ret;

	if (kv_lost(t))
		return;
	ret = kv_answer(t, b, sizeof(*r));
	if (!ret)
		ret = take_answer(t->buf, r, t->call.old);
	kv_end(t, ret);
}

static const struct kv_stage scan_stage = { fill, done };

static int ask(struct pmofkv_scan *s)
{
	struct kv_task task = { .kv = s->kv, .buf = s, .first = &scan_stage,
				.stage = &scan_stage };
	struct kv_task *t = &task;

	while (t->stage)
		kv_round(s->kv, &t, &s->b, 1);
	return t->result;
}

int pmofkv_scan_open_at(struct pmofkv *kv, const struct pmofkv_cursor *from, uint64_t limit,
			struct pmofkv_scan **scan)
{
	struct pmofkv_scan *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->kv = kv;
	s->at_server = *from;
	s->limit = limit;
	*scan = s;
	return 0;
}

int pmofkv_scan_open(struct pmofkv *kv, struct pmofkv_scan **scan)
{
	static const struct pmofkv_cursor first;

	return pmofkv_scan_open_at(kv, &first, UINT64_MAX, scan);
}

int pmofkv_scan_rest(const struct pmofkv_scan *scan, struct pmofkv_cursor *rest)
{
	*rest = scan->at_server;
	return !scan->end;
}

void pmofkv_scan_close(struct pmofkv_scan *scan)
{
	free(scan);
}

/* The next entry of the reply. */
static int take(struct pmofkv_scan *s, struct pmofkv_entry *entry)
{
	const struct pmof_kv_scan_entry *e = (const void *)(s->b.reply + s->at);
	size_t room = s->length - s->at;

	if (room < sizeof(*e) || room - sizeof(*e) < le16toh(e->key_length)) {
		s->left = 0;
		return -EPROTO;
	}
	entry->key = e->key;
	entry->key_length = le16toh(e->key_length);
	entry->value_length = le32toh(e->value_length);
	entry->version = le64toh(e->version);
	s->left--;
	s->at += (sizeof(*e) + entry->key_length + 7) & ~(size_t)7;
	if (s->at > s->length)
		s->at = s->length;
	return 1;
}

int pmofkv_scan_next(struct pmofkv_scan *scan, struct pmofkv_entry *entry)
{
	int ret = 0;

	while (!ret && !scan->left && !scan->end && scan->limit)
		ret = ask(scan);
	if (ret || !scan->left)
		return ret;
	return take(scan, entry);
}
