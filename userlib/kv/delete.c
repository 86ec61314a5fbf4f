// SPDX-License-Identifier: BSD-3-Clause
#include "internal.h"

static int fill(struct kv_task *t, struct kv_buffers *b)
{
	struct pmof_kv_delete *m;

	t->session = kv_session(t->kv);
	t->number = kv_next_number(t->kv);
	m = kv_request(t, b, sizeof(*m));
	m->expected = htole64(t->expected);
	m->key_length = htole16((uint16_t)t->key_length);
	memcpy(m->key, t->key, t->key_length);
	kv_call(t, b, PMOF_KV_DELETE, sizeof(*m) + t->key_length);
	return 0;
}

static void done(struct kv_task *t, struct kv_buffers *b)
{
	int ret;

	if (!kv_change_answered(t, b))
		return;
	ret = kv_status(t, b);
	t->version = kv_version(b);
	/* What is not there has no version at all. */
	if (ret == -ESTALE && !t->version)
		ret = -ENOENT;
	if (!ret)
		kv_count(t->kv, PMOFKV_COUNT_DELETES);
	kv_end(t, ret);
}

static const struct kv_stage delete = { fill, done };

int kv_delete_init(struct kv_task *t, struct pmofkv *kv, const void *key, size_t key_length,
		   uint64_t expected)
{
	int ret = kv_key_ok(key, key_length);

	if (ret || expected == PMOF_KV_EXPECT_NONE || !kv_expected_ok(expected))
		return -EINVAL;
	*t = (struct kv_task){
		.kv = kv, .key = key, .key_length = key_length, .expected = expected,
		.first = &delete, .stage = &delete,
	};
	return 0;
}

int pmofkv_delete_if(struct pmofkv *kv, const void *key, size_t key_length, uint64_t expected,
		     uint64_t *version)
{
	struct kv_task t;
	int ret = kv_delete_init(&t, kv, key, key_length, expected);

	if (ret)
		return ret;
	ret = kv_run(&t);
	if (version)
		*version = t.version;
	return ret;
}

int pmofkv_delete(struct pmofkv *kv, const void *key, size_t key_length)
{
	return pmofkv_delete_if(kv, key, key_length, PMOF_KV_EXPECT_ANY, NULL);
}
