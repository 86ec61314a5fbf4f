// SPDX-License-Identifier: BSD-3-Clause
/* Rounds: what tasks want next, in as few calls of the kernel as possible. */
#include "internal.h"

int kv_key_ok(const void *key, size_t key_length)
{
	return key && key_length && key_length <= PMOF_KV_KEY_MAX ? 0 : -EINVAL;
}

/* Begins a message of @size fixed bytes: zero but for what all begin with. */
void kv_begin_request(const struct kv_task *t, void *at, size_t size)
{
	struct pmof_kv_request *req = at;

	memset(req, 0, size);
	req->epoch = htole64(kv_epoch_report(&t->kv->epochs, t->session));
	req->number = htole64(t->number);
}

/* The same in b->request. */
void *kv_request(struct kv_task *t, struct kv_buffers *b, size_t size)
{
	kv_begin_request(t, b->request, size);
	return b->request;
}

/* It is the task's in this round. */
void kv_call(struct kv_task *t, struct kv_buffers *b, unsigned int opcode, size_t length)
{
	pmof_prep_call(&t->call, opcode, b->request, (uint32_t)length, b->reply, KV_CALL_MAX, 0);
	t->call.session = t->session;
}

/* An answer has arrived: is it one, and are there @size bytes of it?  0 or -EPROTO. */
int kv_reply(const struct kv_task *t, const struct kv_buffers *b, size_t size)
{
	const struct pmof_kv_reply *r = (const void *)b->reply;

	if (t->call.old < sizeof(*r))
		return -EPROTO;
	/* A refusal is no longer than that. */
	if (!r->status && t->call.old < size)
		return -EPROTO;
	return 0;
}

/* What the answer's status is to the caller. */
int kv_status(const struct kv_task *t, const struct kv_buffers *b)
{
	const struct pmof_kv_reply *r = (const void *)b->reply;

	switch (le32toh(r->status)) {
	case PMOF_KV_SC_OK:
		return 0;
	case PMOF_KV_SC_INVALID:
		return -EINVAL;
	case PMOF_KV_SC_NO_KEY:
		return -ENOENT;
	case PMOF_KV_SC_VERSION:
		return t->expected == PMOF_KV_EXPECT_NONE ? -EEXIST : -ESTALE;
	case PMOF_KV_SC_NO_SPACE:
		return -ENOSPC;
	case PMOF_KV_SC_NO_MEMORY:
		return -ENOMEM;
	case PMOF_KV_SC_TOO_LARGE:
		return -EFBIG;
	case PMOF_KV_SC_READ_ONLY:
		return -EROFS;
	case PMOF_KV_SC_MEDIUM:
		return -ENODATA;
	case PMOF_KV_SC_LIMIT:
		return -EBUSY;
	default:
		return -EPROTO;
	}
}

/* What an answer comes to that was not lost: of so many bytes, unless it is a refusal. */
int kv_answer(const struct kv_task *t, const struct kv_buffers *b, size_t size)
{
	int ret = t->call.result;

	if (!ret)
		ret = kv_reply(t, b, size);
	return ret ? ret : kv_status(t, b);
}

uint64_t kv_version(const struct kv_buffers *b)
{
	const struct pmof_kv_reply *r = (const void *)b->reply;

	return le64toh(r->version);
}

/* --- submits -------------------------------------------------------------------- */

/* What a SUBMIT is made of, with where each result goes. */
struct list {
	struct pmof_op op[2 * KV_ROUND];
	struct pmof_op *of[2 * KV_ROUND];
	unsigned int nr;
};

static void add(struct list *l, struct pmof_op *op)
{
	l->op[l->nr] = *op;
	l->of[l->nr++] = op;
}

static void add_data(struct list *l, struct kv_task **tasks, unsigned int nr, unsigned int opcode)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (tasks[i]->stage && tasks[i]->data.opcode == opcode)
			add(l, &tasks[i]->data);
}

static void add_calls(struct list *l, struct kv_task **tasks, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (tasks[i]->stage && tasks[i]->call.opcode && !tasks[i]->packed)
			add(l, &tasks[i]->call);
}

static void add_packs(struct list *l, struct kv_packs *ps)
{
	unsigned int i;

	for (i = 0; ps && i < ps->nr; i++)
		add(l, &ps->pack[i].op);
}

/* Runs it; an error: nothing has been begun. */
static int run_list(struct pmofkv *kv, struct list *l)
{
	int ret = l->nr ? pmof_submit(kv->dev, l->op, l->nr) : 0;
	unsigned int i;

	for (i = 0; i < l->nr; i++) {
		l->of[i]->result = ret ? ret : l->op[i].result;
		l->of[i]->old = l->op[i].old;
	}
	return ret;
}

/* [K2] The WRITEs before all messages: the kernel posts them on one queue, in this order. */
static int send_messages(struct pmofkv *kv, struct kv_task **tasks, unsigned int nr)
{
	struct kv_packs *ps = kv_pack(kv, tasks, nr);
	struct list l = { .nr = 0 };
	int ret;

	add_data(&l, tasks, nr, PMOF_OP_PUT);
	add_calls(&l, tasks, nr);
	add_packs(&l, ps);
	ret = run_list(kv, &l);
	kv_unpack(ps);
	return ret;
}

static int read_back(struct pmofkv *kv, struct kv_task **tasks, unsigned int nr)
{
	struct list l = { .nr = 0 };

	add_data(&l, tasks, nr, PMOF_OP_GET);
	return run_list(kv, &l);
}

/* Where nothing has been begun, it may be only one of them that is not right. */
static void submit(struct pmofkv *kv, struct kv_task **tasks, unsigned int nr,
		   int (*run)(struct pmofkv *kv, struct kv_task **tasks, unsigned int nr))
{
	unsigned int i;

	if (run(kv, tasks, nr) && nr > 1)
		for (i = 0; i < nr; i++)
			run(kv, &tasks[i], 1);
}

/* It was not begun, because another's had failed. */
static bool cancelled(const struct kv_task *t)
{
	if (t->data.opcode && t->data.result)
		return t->data.result == -ECANCELED;
	return t->call.opcode && t->call.result == -ECANCELED;
}

/**
 * kv_round - one stage of each task
 * @kv: theirs
 * @tasks: none has ended; out: some may have
 * @b: as many
 * @nr: 1 to KV_ROUND
 */
void kv_round(struct pmofkv *kv, struct kv_task **tasks, struct kv_buffers *b, unsigned int nr)
{
	unsigned int i;
	int ret;

	for (i = 0; i < nr; i++) {
		tasks[i]->data.opcode = 0;
		tasks[i]->call.opcode = 0;
		ret = tasks[i]->stage->fill(tasks[i], &b[i]);
		if (ret)
			kv_end(tasks[i], ret);
	}
	submit(kv, tasks, nr, send_messages);
	submit(kv, tasks, nr, read_back);
	for (i = 0; i < nr; i++)
		if (tasks[i]->stage && !cancelled(tasks[i]))
			tasks[i]->stage->done(tasks[i], &b[i]);
}

/* A task by itself, to its end; returns its result. */
int kv_run(struct kv_task *t)
{
	struct kv_buffers b;

	while (t->stage)
		kv_round(t->kv, &t, &b, 1);
	return t->result;
}
