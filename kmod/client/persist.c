// SPDX-License-Identifier: GPL-2.0
/* Persist methods: the choice, and the queues' dirty marks that all of them share. */
#include "client.h"

/* In the order of preference of "auto": fewer server cycles first. */
static const struct pmof_persist_ops * const methods[] = {
	&pmof_persist_read,
	&pmof_persist_assist,
};

static const char * const method_names[] = {
	[PMOF_METHOD_AUTO]	= "auto",
	[PMOF_METHOD_READ]	= "read",
	[PMOF_METHOD_ASSIST]	= "assist",
	[PMOF_METHOD_RPC]	= "rpc",
	[PMOF_METHOD_FLUSH]	= "flush",
};

const char *pmof_method_name(unsigned int method)
{
	return method < ARRAY_SIZE(method_names) ? method_names[method] : "unknown";
}

/* Of the methods that the server offers, those that this client has. */
u32 pmof_persist_usable(u32 offered)
{
	u32 have = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(methods); i++)
		have |= BIT(methods[i]->method);
	return offered & have;
}

/* NULL if @wanted (PMOF_METHOD_AUTO: any) is not offered. */
const struct pmof_persist_ops *pmof_persist_choose(u32 offered, u16 wanted)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(methods); i++)
		if ((offered & BIT(methods[i]->method)) &&
		    (wanted == PMOF_METHOD_AUTO || wanted == methods[i]->method))
			return methods[i];
	return NULL;
}

/* Everything posted up to @seq has left the server's HCA. */
void pmof_queue_mark_clean(struct pmof_queue *q, s64 seq)
{
	s64 old = atomic64_read(&q->clean_seq);

	while (old < seq && !atomic64_try_cmpxchg(&q->clean_seq, &old, seq))
		;
}

static int flush_queue(struct pmof_queue *q, struct pmof_req *req)
{
	struct pmof_slot *slot = pmof_slot_get(q, req);
	struct ib_rdma_wr wr;
	struct ib_sge sge;

	if (IS_ERR(slot))
		return PTR_ERR(slot);
	if (!pmof_post_begin(q->conn)) {
		pmof_slot_put(slot);
		return pmof_conn_gone_errno(q->conn);
	}
	slot->clean_to = pmof_queue_put_seq(q);
	pmof_persist_read_wr(slot, &wr, &sge, 0);
	pmof_slot_post(slot, &wr.wr, 1);
	pmof_post_end();
	return 0;
}

/**
 * pmof_persist_flush_queues - a READ on every dirty queue, in parallel
 * @conn: connection
 * @except: a queue to leave out, or NULL
 *
 * The completion of a WRITE does not say that the data have left the remote
 * HCA; that of a READ behind it on the same queue pair does.
 *
 * Return: 0 when all have completed, or a negative errno.  Sleeps.
 */
int pmof_persist_flush_queues(struct pmof_conn *conn, const struct pmof_queue *except)
{
	struct pmof_req req = { .opcode = PMOF_OP_PERSIST };
	unsigned int i;
	int rc = 0, waited;

	pmof_req_begin(&req, &conn->queues[0]);
	for (i = 0; i < conn->nr_queues && !rc; i++)
		if (&conn->queues[i] != except && pmof_queue_dirty(&conn->queues[i]))
			rc = flush_queue(&conn->queues[i], &req);
	waited = pmof_req_wait(&req);
	return rc ?: waited;
}
