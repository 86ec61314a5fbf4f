// SPDX-License-Identifier: BSD-3-Clause
/*
 * Put protocol "herd": one message with the value; the server copies and persists it, and
 * answers.  And "auto", which is herd for what is short, and else sa.
 */
#include <stdlib.h>

#include "internal.h"

static bool fits(const struct pmofkv *kv, size_t key_length, size_t value_length)
{
	return value_length <= kv->max_call &&
	       sizeof(struct pmof_kv_put) + key_length + value_length <= kv->max_call;
}

/* Where the message is put together: the round's buffer, or one of its own. */
static struct pmof_kv_put *place(struct kv_task *t, struct kv_buffers *b, size_t length)
{
	if (length <= sizeof(b->request))
		return (void *)b->request;
	if (!t->object)
		t->object = malloc(length);
	return t->object;
}

static int fill(struct kv_task *t, struct kv_buffers *b)
{
	size_t length = sizeof(struct pmof_kv_put) + t->key_length + t->value_length;
	struct pmof_kv_put *m = place(t, b, length);

	if (!m)
		return -ENOMEM;
	t->session = kv_session(t->kv);
	t->number = kv_next_number(t->kv);
	kv_begin_request(t, m, sizeof(*m));
	m->expected = htole64(t->expected);
	m->value_length = htole32((uint32_t)t->value_length);
	m->key_length = htole16((uint16_t)t->key_length);
	memcpy(m->data, t->key, t->key_length);
	if (t->value_length)
		memcpy(m->data + t->key_length, t->value, t->value_length);
	kv_call(t, b, PMOF_KV_PUT_INLINE, length);
	t->call.addr = (uintptr_t)m;
	return 0;
}

static void done(struct kv_task *t, struct kv_buffers *b)
{
	free(t->object);
	t->object = NULL;
	if (kv_change_answered(t, b))
		kv_put_done(t, b, kv_status(t, b));
}

static const struct kv_stage herd = { fill, done };

/* What no message holds goes by sa. */
static const struct kv_put_ops *herd_pick(const struct pmofkv *kv, size_t key_length,
					  size_t value_length)
{
	return fits(kv, key_length, value_length) ? &kv_put_herd : &kv_put_sa;
}

const struct kv_put_ops kv_put_herd = {
	.name		= "herd",
	.protocol	= PMOFKV_HERD,
	.counter	= PMOFKV_COUNT_PUTS_HERD,
	.pick		= herd_pick,
	.first		= &herd,
};

static const struct kv_put_ops *auto_pick(const struct pmofkv *kv, size_t key_length,
					  size_t value_length)
{
	return value_length > kv->threshold ? &kv_put_sa : herd_pick(kv, key_length, value_length);
}

const struct kv_put_ops kv_put_auto = {
	.name		= "auto",
	.protocol	= PMOFKV_AUTO,
	.pick		= auto_pick,
};
