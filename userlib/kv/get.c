// SPDX-License-Identifier: BSD-3-Clause
/* Gets: one message; of a larger value behind it one READ of its object, and that is checked. */
#include <stdlib.h>

#include "internal.h"

static const struct kv_stage get_ask, get_read;

static int ask_fill(struct kv_task *t, struct kv_buffers *b)
{
	struct pmof_kv_get *m;

	t->session = kv_session(t->kv);
	/* The answer may have an address: before it can be given. */
	kv_epoch_hold(&t->kv->epochs, &t->holder, t->session);
	m = kv_request(t, b, sizeof(*m));
	m->max_inline = htole32(t->kv->max_inline);
	m->key_length = htole16((uint16_t)t->key_length);
	memcpy(m->key, t->key, t->key_length);
	kv_call(t, b, PMOF_KV_GET, sizeof(*m) + t->key_length);
	return 0;
}

/* The end, with or without a value. */
static void get_end(struct kv_task *t, int result)
{
	kv_epoch_let_go(&t->kv->epochs, &t->holder);
	free(t->object);
	t->object = NULL;
	kv_end(t, result);
}

/* Hands @value over: its bytes are in t->object, or in a buffer of the round. */
static int deliver(struct kv_task *t, const unsigned char *value)
{
	unsigned char *to = t->buf;

	if (!to && !t->object)
		t->object = malloc(t->value_length + 1);
	if (!to)
		to = t->object;
	if (!to)
		return -ENOMEM;
	if (t->value_length)
		memmove(to, value, t->value_length);
	if (!t->buf) {
		to[t->value_length] = '\0';
		t->buf = to;
		t->object = NULL;
	}
	return 0;
}

/* --- the answer ---------------------------------------------------------------------- */

static void inline_answer(struct kv_task *t, const struct pmof_kv_get_reply *r)
{
	int ret;

	if (t->call.old < sizeof(*r) + t->value_length) {
		get_end(t, -EPROTO);
		return;
	}
	ret = deliver(t, r->value);
	if (!ret)
		kv_count(t->kv, PMOFKV_COUNT_GETS_INLINE);
	get_end(t, ret);
}

static void address_answer(struct kv_task *t, const struct pmof_kv_get_reply *r)
{
	size_t size = kv_object_size(t->key_length, t->value_length);

	t->offset = le64toh(r->offset);
	if (size > t->kv->ns_size || t->offset > t->kv->ns_size - size) {
		get_end(t, -EPROTO);
		return;
	}
	if (size > sizeof(((struct kv_buffers *)0)->reply)) {
		free(t->object);
		t->object = malloc(size);
		if (!t->object) {
			get_end(t, -ENOMEM);
			return;
		}
	}
	t->stage = &get_read;
}

static void answer(struct kv_task *t, const struct pmof_kv_get_reply *r)
{
	uint32_t flags = le32toh(r->flags);
	size_t length = le32toh(r->value_length);

	/* Whether it is READ or not: what is told of it has to be newer than that. */
	if (r->epoch)
		kv_epoch_answer(&t->kv->epochs, &t->holder, le64toh(r->epoch));
	if (flags & ~PMOF_KV_GET_F_INLINE || length > pmofkv_max_value(t->key_length)) {
		get_end(t, -EPROTO);
		return;
	}
	t->value_length = length;
	if (t->buf && length > t->size)
		get_end(t, -EMSGSIZE);
	else if (flags & PMOF_KV_GET_F_INLINE)
		inline_answer(t, r);
	else
		address_answer(t, r);
}

static void ask_done(struct kv_task *t, struct kv_buffers *b)
{
	int ret;

	if (kv_lost(t))
		return;
	ret = kv_answer(t, b, sizeof(struct pmof_kv_get_reply));
	if (ret) {
		get_end(t, ret);
		return;
	}
	t->version = kv_version(b);
	answer(t, (const void *)b->reply);
}

/* --- the READ --------------------------------------------------------------------------- */

/* On that session and no other: on another one the address is not ours to look at. */
static int read_fill(struct kv_task *t, struct kv_buffers *b)
{
	pmof_prep_get(&t->data, t->object ? t->object : b->reply,
		      kv_object_size(t->key_length, t->value_length), t->offset);
	t->data.flags = PMOF_F_NOREPLAY;
	t->data.session = t->session;
	return 0;
}

/*
 * What is READ may have been rewritten since the answer; then the next one names another version.
 * If it names the same, that object has been there all the time, and is damaged.
 */
static bool wrong_again(struct kv_task *t)
{
	if (t->wrong_version == t->version && t->wrong_offset == t->offset)
		return true;
	t->wrong_version = t->version;
	t->wrong_offset = t->offset;
	return false;
}

static void read_done(struct kv_task *t, struct kv_buffers *b)
{
	const unsigned char *object = t->object ? t->object : b->reply;
	int ret = t->data.result;

	if (!ret && kv_object_ok(object, t)) {
		ret = deliver(t, object + sizeof(struct pmof_kv_object_header) + t->key_length);
		if (!ret)
			kv_count(t->kv, PMOFKV_COUNT_GETS_READ);
		get_end(t, ret);
		return;
	}
	if (!ret && wrong_again(t))
		ret = -ENODATA;
	if (ret && ret != -ESTALE && ret != -EIO) {
		get_end(t, ret);
		return;
	}
	kv_count(t->kv, PMOFKV_COUNT_GETS_AGAIN);
	free(t->object);
	t->object = NULL;
	/* Another version each time: nothing is amiss, others are quicker.  Not for ever. */
	if (!ret && t->races++ < KV_RACES)
		t->tries = 0;
	kv_again(t, ret);
}

static const struct kv_stage get_ask = { ask_fill, ask_done };
static const struct kv_stage get_read = { read_fill, read_done };

/* Makes a task of a get; without @buf its value is allocated, and is in t->buf then. */
int kv_get_init(struct kv_task *t, struct pmofkv *kv, const void *key, size_t key_length,
		void *buf, size_t size)
{
	int ret = kv_key_ok(key, key_length);

	if (ret)
		return ret;
	*t = (struct kv_task){
		.kv = kv, .key = key, .key_length = key_length, .buf = buf, .size = size,
		.first = &get_ask, .stage = &get_ask,
	};
	return 0;
}

static int get(struct kv_task *t, size_t *value_length, uint64_t *version)
{
	int ret = kv_run(t);

	*value_length = t->value_length;
	if (version)
		*version = t->version;
	return ret;
}

int pmofkv_get(struct pmofkv *kv, const void *key, size_t key_length, void *buf, size_t size,
	       size_t *value_length, uint64_t *version)
{
	static char nothing;
	struct kv_task t;
	int ret = kv_get_init(&t, kv, key, key_length, buf ? buf : &nothing, buf ? size : 0);

	return ret ? ret : get(&t, value_length, version);
}

int pmofkv_get_alloc(struct pmofkv *kv, const void *key, size_t key_length, void **value,
		     size_t *value_length, uint64_t *version)
{
	struct kv_task t;
	int ret = kv_get_init(&t, kv, key, key_length, NULL, 0);

	if (!ret)
		ret = get(&t, value_length, version);
	if (!ret)
		*value = t.buf;
	return ret;
}
