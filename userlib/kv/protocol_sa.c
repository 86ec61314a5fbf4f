// SPDX-License-Identifier: BSD-3-Clause
/*
 * Put protocol "sa": a message asks for a slot; then, in one go, the value is written into it
 * and a message behind that commits it.  The server does not touch the value.
 */
#include "internal.h"

static const struct kv_stage prepare, commit, give_back;

/* --- PREPARE_PUT ----------------------------------------------------------------- */

static int prepare_fill(struct kv_task *t, struct kv_buffers *b)
{
	struct pmof_kv_prepare *m;

	t->session = kv_session(t->kv);
	t->number = kv_next_number(t->kv);
	m = kv_request(t, b, sizeof(*m));
	m->value_length = htole32((uint32_t)t->value_length);
	m->key_length = htole16((uint16_t)t->key_length);
	memcpy(m->key, t->key, t->key_length);
	kv_call(t, b, PMOF_KV_PREPARE_PUT, sizeof(*m) + t->key_length);
	return 0;
}

static void take_slot(struct kv_task *t, const struct kv_buffers *b)
{
	const struct pmof_kv_prepare_reply *r = (const void *)b->reply;

	t->version = kv_version(b);
	t->offset = le64toh(r->offset);
	t->lease = le32toh(r->lease);
	t->prepared = true;
	t->written = false;
	t->stage = &commit;
}

static void prepare_done(struct kv_task *t, struct kv_buffers *b)
{
	int ret;

	/* If it came through, its lease has ended with the connection: nothing is committed. */
	if (kv_lost(t))
		return;
	ret = kv_answer(t, b, sizeof(struct pmof_kv_prepare_reply));
	if (ret)
		kv_end(t, ret);
	else
		take_slot(t, b);
}

/* --- WRITE and COMMIT ------------------------------------------------------------- */

static void lease_request(struct kv_task *t, struct kv_buffers *b, unsigned int opcode,
			  uint64_t expected)
{
	struct pmof_kv_commit *m = kv_request(t, b, sizeof(*m));

	m->expected = htole64(expected);
	m->lease = htole32(t->lease);
	kv_call(t, b, opcode, sizeof(*m));
}

static int commit_fill(struct kv_task *t, struct kv_buffers *b)
{
	if (t->value_length) {
		pmof_prep_put(&t->data, t->value, t->value_length, t->offset, PMOF_F_NOREPLAY);
		t->data.session = t->session;
	}
	lease_request(t, b, PMOF_KV_COMMIT, t->expected);
	/* [K2] of a SUBMIT that was cancelled in part: it may have taken another queue. */
	if (t->written)
		t->call.flags = PMOF_F_ORDERED;
	t->written = t->value_length;
	return 0;
}

static void commit_answered(struct kv_task *t, struct kv_buffers *b)
{
	const struct pmof_kv_reply *r = (const void *)b->reply;
	int ret = kv_reply(t, b, sizeof(*r));

	if (ret)
		kv_end(t, ret);
	else if (le32toh(r->status) == PMOF_KV_SC_NO_LEASE)
		kv_again(t, -EIO);
	else
		kv_put_done(t, b, kv_status(t, b));
}

/* The COMMIT behind a WRITE that failed was sent if the connection was lost behind both. */
static void commit_done(struct kv_task *t, struct kv_buffers *b)
{
	int written = t->data.opcode ? t->data.result : 0;
	int ret = t->call.result;

	if (!ret) {
		commit_answered(t, b);
	} else if (ret == -EIO) {
		kv_ask_outcome(t);
	} else if (ret == -ESTALE || written == -ESTALE || written == -EIO) {
		/* It was not sent, and the lease has ended with the session. */
		kv_again(t, written ? written : ret);
	} else {
		t->result = written ? written : ret;
		t->stage = &give_back;
	}
}

/* --- RETURN -------------------------------------------------------------------------- */

/* Something of the value may have been written, on whatever queue: behind that. */
static int give_back_fill(struct kv_task *t, struct kv_buffers *b)
{
	lease_request(t, b, PMOF_KV_RETURN, 0);
	t->call.flags = PMOF_F_ORDERED;
	return 0;
}

/* Whatever comes of it: else the lease ends with the file. */
static void give_back_done(struct kv_task *t, struct kv_buffers *b)
{
	(void)b;
	t->version = 0;
	kv_end(t, t->result);
}

static const struct kv_stage prepare = { prepare_fill, prepare_done };
static const struct kv_stage commit = { commit_fill, commit_done };
static const struct kv_stage give_back = { give_back_fill, give_back_done };

const struct kv_put_ops kv_put_sa = {
	.name		= "sa",
	.protocol	= PMOFKV_SA,
	.counter	= PMOFKV_COUNT_PUTS_SA,
	.first		= &prepare,
};
