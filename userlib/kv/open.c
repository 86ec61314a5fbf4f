// SPDX-License-Identifier: BSD-3-Clause
/* Opening and closing a store. */
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Of the answer to a GET, what is left for a value. */
#define MAX_INLINE	(KV_CALL_MAX - 16 - sizeof(struct pmof_kv_get_reply))

/* What a program must bring at least: the first version of the structure. Never changes. */
#define OPTIONS_V1	(offsetof(struct pmofkv_options, reserved) + sizeof(uint32_t))

/*
 * @to: what @from says, and the defaults of what an older program does not know.  What we do not
 * know a newer one may want: it does not get it, and has to hear so.
 */
static int take_options(struct pmofkv_options *to, const struct pmofkv_options *from)
{
	pmofkv_options_init(to);
	if (!from)
		return 0;
	if (from->size < OPTIONS_V1)
		return -EINVAL;
	if (from->size > sizeof(*to))
		return -E2BIG;
	memcpy(to, from, from->size);
	return kv_protocol(to->protocol) && !to->reserved ? 0 : -EINVAL;
}

static void set_options(struct pmofkv *kv, const struct pmofkv_options *opt)
{
	kv->put_ops = kv_protocol(opt->protocol);
	kv->threshold = opt->threshold == PMOFKV_DEFAULT ? KV_THRESHOLD : opt->threshold;
	kv->max_inline = opt->max_inline;
	if (kv->max_inline > MAX_INLINE)
		kv->max_inline = MAX_INLINE;
}

static int set_info(struct pmofkv *kv)
{
	struct pmof_info info;
	int ret = pmof_get_info(kv->dev, &info, sizeof(info));

	if (ret)
		return ret;
	if (!(info.features & PMOF_FEAT_CALL) || info.service != PMOF_SERVICE_STORE)
		return -EOPNOTSUPP;
	kv->ns_size = info.ns_size;
	kv->max_call = info.max_call;
	atomic_store(&kv->session, info.session);
	kv_epochs_reset(&kv->epochs, info.session);
	/* The longest message that must fit has a key. */
	return kv->max_call < sizeof(struct pmof_kv_put) + PMOF_KV_KEY_MAX ? -EPROTO : 0;
}

int pmofkv_open(const char *device, int flags, const struct pmofkv_options *opt,
		struct pmofkv **kv)
{
	struct pmofkv_options known;
	struct pmofkv *k;
	int ret;

	flags &= ~O_CLOEXEC;
	if (flags != O_RDONLY && flags != O_RDWR)
		return -EINVAL;
	ret = take_options(&known, opt);
	if (ret)
		return ret;
	k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	pthread_mutex_init(&k->session_lock, NULL);
	kv_epochs_init(&k->epochs);
	set_options(k, &known);
	ret = pmof_open(device, flags, &k->dev);
	if (!ret)
		ret = set_info(k);
	if (ret) {
		pmofkv_close(k);
		return ret;
	}
	*kv = k;
	return 0;
}

void pmofkv_close(struct pmofkv *kv)
{
	if (!kv)
		return;
	pmof_close(kv->dev);
	pthread_mutex_destroy(&kv->session_lock);
	pthread_mutex_destroy(&kv->epochs.lock);
	free(kv);
}

int pmofkv_fd(const struct pmofkv *kv)
{
	return pmof_fd(kv->dev);
}

int pmofkv_instance(const struct pmofkv *kv)
{
	return pmof_instance(kv->dev);
}
