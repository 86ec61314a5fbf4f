// SPDX-License-Identifier: BSD-3-Clause
/* Puts, whatever the protocol: that is chosen here, and nowhere asked for again. */
#include <stdlib.h>

#include "internal.h"

static const struct kv_put_ops *const protocols[PMOFKV_NR_PROTOCOLS] = {
	[PMOFKV_AUTO]	= &kv_put_auto,
	[PMOFKV_HERD]	= &kv_put_herd,
	[PMOFKV_SA]	= &kv_put_sa,
};

const struct kv_put_ops *kv_protocol(unsigned int protocol)
{
	return protocol < PMOFKV_NR_PROTOCOLS ? protocols[protocol] : NULL;
}

const char *pmofkv_protocol_name(unsigned int protocol)
{
	const struct kv_put_ops *ops = kv_protocol(protocol);

	return ops ? ops->name : NULL;
}

int pmofkv_protocol_parse(const char *name)
{
	int i;

	for (i = 0; i < PMOFKV_NR_PROTOCOLS; i++)
		if (!strcmp(name, protocols[i]->name))
			return i;
	return -EINVAL;
}

static const struct kv_put_ops *pick(const struct pmofkv *kv, size_t key_length,
				     size_t value_length)
{
	const struct kv_put_ops *ops = kv->put_ops;

	return ops->pick ? ops->pick(kv, key_length, value_length) : ops;
}

enum pmofkv_protocol pmofkv_put_protocol(const struct pmofkv *kv, size_t key_length,
					 size_t value_length)
{
	return pick(kv, key_length, value_length)->protocol;
}

size_t pmofkv_max_value(size_t key_length)
{
	return PMOF_KV_OBJECT_MAX - kv_object_size(key_length, 0);
}

/* Makes a task of a put.  0, or -errno and there is none. */
int kv_put_init(struct kv_task *t, struct pmofkv *kv, const void *key, size_t key_length,
		const void *value, size_t value_length, uint64_t expected)
{
	int ret = kv_key_ok(key, key_length);

	if (ret || (value_length && !value) || !kv_expected_ok(expected))
		return -EINVAL;
	if (value_length > pmofkv_max_value(key_length))
		return -EFBIG;
	*t = (struct kv_task){
		.kv = kv, .key = key, .key_length = key_length, .value = value,
		.value_length = value_length, .expected = expected,
	};
	t->put = pick(kv, key_length, value_length);
	t->first = t->put->first;
	t->stage = t->first;
	return 0;
}

/* The server has answered what commits: @status as kv_status(). */
void kv_put_done(struct kv_task *t, const struct kv_buffers *b, int status)
{
	t->version = kv_version(b);
	if (!status)
		kv_count(t->kv, t->put->counter);
	kv_end(t, status);
}

int pmofkv_put_if(struct pmofkv *kv, const void *key, size_t key_length, const void *value,
		  size_t value_length, uint64_t expected, uint64_t *version)
{
	struct kv_task t;
	int ret = kv_put_init(&t, kv, key, key_length, value, value_length, expected);

	if (ret)
		return ret;
	ret = kv_run(&t);
	if (version)
		*version = t.version;
	return ret;
}

int pmofkv_put(struct pmofkv *kv, const void *key, size_t key_length, const void *value,
	       size_t value_length, uint64_t *version)
{
	return pmofkv_put_if(kv, key, key_length, value, value_length, PMOF_KV_EXPECT_ANY,
			     version);
}
