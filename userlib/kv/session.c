// SPDX-License-Identifier: BSD-3-Clause
/*
 * Sessions: a lease, an address and an epoch are of the connection that they came on.  Every
 * operation names its session, so that the kernel runs it on no other.
 */
#include "internal.h"

uint64_t kv_session(struct pmofkv *kv)
{
	return atomic_load(&kv->session);
}

/* The connection of @stale is gone: finds out which there is now.  0 or -errno. */
static int renew(struct pmofkv *kv, uint64_t stale)
{
	struct pmof_info info = { .session = stale };
	int ret = 0;

	pthread_mutex_lock(&kv->session_lock);
	/* Perhaps another thread has done it. */
	if (kv_session(kv) == stale)
		ret = pmof_get_info(kv->dev, &info, sizeof(info));
	if (!ret && info.session != stale) {
		/* Before anybody uses the new one. */
		kv_epochs_reset(&kv->epochs, info.session);
		atomic_store(&kv->session, info.session);
		kv_count(kv, PMOFKV_COUNT_SESSIONS);
	}
	pthread_mutex_unlock(&kv->session_lock);
	return ret;
}

/**
 * kv_again - nothing has come of a task, and nothing will: let it begin again
 * @t: task; its stage is set, or it has ended
 * @error: why; -ESTALE: its session is over
 *
 * Only so often, and then it ends with -EIO.  Return: false: it has ended.
 */
bool kv_again(struct kv_task *t, int error)
{
	int ret = 0;

	kv_epoch_let_go(&t->kv->epochs, &t->holder);
	if (error == -ESTALE)
		ret = renew(t->kv, t->session);
	if (!ret && ++t->tries > KV_TRIES)
		ret = -EIO;
	if (ret)
		kv_end(t, ret);
	else
		t->stage = t->first;
	t->prepared = false;
	return !ret;
}

/* Was a question lost with its session, or its connection?  Then it is asked again, or ends. */
bool kv_lost(struct kv_task *t)
{
	int ret = t->call.result;

	if (ret != -ESTALE && ret != -EIO)
		return false;
	kv_again(t, ret);
	return true;
}
