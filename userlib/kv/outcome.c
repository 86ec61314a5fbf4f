// SPDX-License-Identifier: BSD-3-Clause
/*
 * What became of a put or delete whose connection was lost under it, or under which the medium
 * failed: the server is asked, on another session if need be, by the number that it carried.
 */
#include "internal.h"

static const struct kv_stage outcome, compare;

/* Above any before from this file. */
uint64_t kv_next_number(struct pmofkv *kv)
{
	return atomic_fetch_add(&kv->number, 1) + 1;
}

/* Its message was sent, and not answered. */
void kv_ask_outcome(struct kv_task *t)
{
	kv_count(t->kv, PMOFKV_COUNT_OUTCOMES_ASKED);
	t->session = kv_session(t->kv);
	t->stage = &outcome;
}

/*
 * Of a message that changes something by itself: true if there is an answer, for the caller to
 * look at.  Else the task begins again, or asks what became of it, or has ended.
 */
bool kv_change_answered(struct kv_task *t, const struct kv_buffers *b)
{
	int ret = t->call.result;

	if (!ret)
		ret = kv_reply(t, b, sizeof(struct pmof_kv_reply));
	if (ret == -ESTALE)
		kv_again(t, ret);
	else if (ret == -EIO || ret == -EREMOTEIO)
		/* Of a batch that was failed others may be durable, or refused. */
		kv_ask_outcome(t);
	else if (ret)
		kv_end(t, ret);
	return !ret;
}

static void unknown(struct kv_task *t)
{
	kv_count(t->kv, PMOFKV_COUNT_OUTCOMES_UNKNOWN);
	kv_epoch_let_go(&t->kv->epochs, &t->holder);
	t->version = 0;
	kv_end(t, -EIO);
}

static void committed(struct kv_task *t, const struct kv_buffers *b)
{
	t->version = kv_version(b);
	kv_epoch_let_go(&t->kv->epochs, &t->holder);
	kv_count(t->kv, t->put ? t->put->counter : PMOFKV_COUNT_DELETES);
	kv_end(t, 0);
}

/* Asking is only reading: again, on another session if need be. */
static void ask_again(struct kv_task *t, int error)
{
	const struct kv_stage *stage = t->stage;
	bool prepared = t->prepared;

	if (!kv_again(t, error)) {
		unknown(t);
		return;
	}
	t->prepared = prepared;
	t->session = kv_session(t->kv);
	t->stage = stage;
}

/* --- by the number ------------------------------------------------------------------- */

static int outcome_fill(struct kv_task *t, struct kv_buffers *b)
{
	kv_request(t, b, sizeof(struct pmof_kv_request));
	kv_call(t, b, PMOF_KV_OUTCOME, sizeof(struct pmof_kv_request));
	return 0;
}

static void outcome_answered(struct kv_task *t, struct kv_buffers *b)
{
	const struct pmof_kv_outcome_reply *r = (const void *)b->reply;

	switch (le32toh(r->outcome)) {
	case PMOF_KV_OUTCOME_COMMITTED:
		committed(t, b);
		break;
	case PMOF_KV_OUTCOME_REFUSED:
		/* It is as if it had not been sent. */
		kv_again(t, -EIO);
		break;
	default:
		if (t->prepared)
			t->stage = &compare;
		else
			unknown(t);
	}
}

static void outcome_done(struct kv_task *t, struct kv_buffers *b)
{
	int ret = t->call.result;

	if (!ret && !kv_reply(t, b, sizeof(struct pmof_kv_outcome_reply)) && !kv_status(t, b))
		outcome_answered(t, b);
	else
		ask_again(t, ret);
}

/* --- by the version ------------------------------------------------------------------- */

/*
 * The server has forgotten the number.  But of a put by sa the version is known from its
 * PREPARE_PUT, and there is none other like it: if it is there, it was committed.
 */
static int compare_fill(struct kv_task *t, struct kv_buffers *b)
{
	struct pmof_kv_get *m;

	kv_epoch_hold(&t->kv->epochs, &t->holder, t->session);
	m = kv_request(t, b, sizeof(*m));
	m->req.number = 0;
	m->key_length = htole16((uint16_t)t->key_length);
	memcpy(m->key, t->key, t->key_length);
	kv_call(t, b, PMOF_KV_GET, sizeof(*m) + t->key_length);
	return 0;
}

static void compare_done(struct kv_task *t, struct kv_buffers *b)
{
	const struct pmof_kv_get_reply *r = (const void *)b->reply;
	int ret = t->call.result;

	if (ret == -ESTALE || ret == -EIO) {
		ask_again(t, ret);
		return;
	}
	if (ret || kv_reply(t, b, sizeof(*r)) || kv_status(t, b)) {
		unknown(t);
		return;
	}
	/* No READ follows. */
	if (r->epoch)
		kv_epoch_answer(&t->kv->epochs, &t->holder, le64toh(r->epoch));
	if (kv_version(b) == t->version)
		committed(t, b);
	else
		unknown(t);
}

static const struct kv_stage outcome = { outcome_fill, outcome_done };
static const struct kv_stage compare = { compare_fill, compare_done };
