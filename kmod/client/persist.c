// SPDX-License-Identifier: GPL-2.0
/* Persist methods: the choice, and the queues' dirty marks that all of them share. */
#include "client.h"
#include "compat.h"
#include "rdma_flush.h"

static const struct pmof_persist_ops * const methods[] = {
	&pmof_persist_read,
	&pmof_persist_assist,
	&pmof_persist_rpc,
#ifdef PMOF_HAVE_FLUSH
	&pmof_persist_flush,
#endif
};

/* Of the methods that the server offers, those that this end has and its HCA can. */
u32 pmof_persist_usable(const struct pmof_conn *conn, const struct pmof_login_reply *login)
{
	u32 have = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(methods); i++)
		if (!methods[i]->posts || methods[i]->posts(conn))
			have |= BIT(methods[i]->method);
	/* It puts by messages, which the server refuses where there is a service. */
	if (login->service != PMOF_SERVICE_RAW)
		have &= ~BIT(PMOF_METHOD_RPC);
	return login->methods & have;
}

/* NULL if this build does not have it. */
const struct pmof_persist_ops *pmof_persist_ops(unsigned int method)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(methods); i++)
		if (methods[i]->method == method)
			return methods[i];
	return NULL;
}

/* Fills conn->usable; returns what was asked for, or NULL if that is not usable. */
const struct pmof_persist_ops *pmof_persist_choose(struct pmof_conn *conn)
{
	u32 wanted = conn->opt.method;

	conn->usable = pmof_persist_usable(conn, &conn->login);
	if (wanted != PMOF_METHOD_AUTO)
		return conn->usable & BIT(wanted) ? pmof_persist_ops(wanted) : NULL;
	if (hweight32(conn->usable) > 1)
		return &pmof_persist_auto;
	return conn->usable ? pmof_persist_ops(ilog2(conn->usable)) : NULL;
}

/* The method that does PERSIST. */
const struct pmof_persist_ops *pmof_persist_persister(const struct pmof_conn *conn)
{
	return conn->persist->persister ? conn->persist->persister(conn) : conn->persist;
}

/* Work requests that a slot posts at most. */
unsigned int pmof_persist_max_wr(const struct pmof_conn *conn)
{
	unsigned int most = PMOF_VALID_WR;
	int i;

	for (i = 0; i < ARRAY_SIZE(methods); i++)
		if (conn->usable & BIT(methods[i]->method))
			most = max(most, methods[i]->extra_wr);
	return PMOF_SLOT_WR + most;
}

/* A message best goes on a dirty queue: that one then needs no READ. */
struct pmof_queue *pmof_persist_message_queue(struct pmof_queue *q)
{
	struct pmof_conn *conn = q->conn;
	unsigned int i;

	for (i = 0; i < conn->nr_queues && !pmof_queue_dirty(q); i++)
		if (pmof_queue_dirty(&conn->queues[i]))
			return &conn->queues[i];
	return q;
}

/* Whether any queue but @except is dirty. */
bool pmof_persist_dirty(const struct pmof_conn *conn,
			const struct pmof_queue *except)
{
	unsigned int i;

	for (i = 0; i < conn->nr_queues; i++)
		if (&conn->queues[i] != except && pmof_queue_dirty(&conn->queues[i]))
			return true;
	return false;
}

/*
 * A WRITE that has completed on another queue may still be in the server's HCA,
 * and would land on what the server's CPU has stored meanwhile: an older put on
 * a newer one.  It does not land on a later WRITE, so then the data go by that;
 * or such a queue gets a READ first.
 */
bool pmof_persist_others_dirty(const struct pmof_queue *q)
{
	return pmof_persist_dirty(q->conn, q);
}

/* [P1] Everything posted up to @seq has left the server's HCA. */
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
	int rc;

	if (!pmof_slot_begin(slot, &rc))
		return rc;
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
 * @unkillable: no signal ends the waiting for a slot
 *
 * The completion of a WRITE does not say that the data have left the remote
 * HCA; that of a READ behind it on the same queue pair does.
 *
 * Return: 0 when all have completed, or a negative errno.  Sleeps.
 */
int pmof_persist_flush_queues(struct pmof_conn *conn, const struct pmof_queue *except,
			      bool unkillable)
{
	struct pmof_req req = { .opcode = PMOF_OP_PERSIST, .unkillable = unkillable };
	unsigned int i;
	int rc = 0, waited;

	if (!pmof_persist_dirty(conn, except))
		return 0;
	pmof_req_begin(&req, &conn->queues[0]);
	for (i = 0; i < conn->nr_queues && !rc; i++)
		if (&conn->queues[i] != except && pmof_queue_dirty(&conn->queues[i]))
			rc = flush_queue(&conn->queues[i], &req);
	waited = pmof_req_wait(&req);
	return rc ?: waited;
}
