// SPDX-License-Identifier: GPL-2.0
/*
 * A session's queue: its requests, what completes on it, its connection's
 * events.
 *
 * A message is copied out of its receive buffer into a free request, and the
 * receive is posted again at once; what a PUT or a CALL carries stays in it until
 * it has been copied or served [R2], and then it is posted ahead of the reply.  So a
 * client that keeps to the depth it was granted never meets a queue without a
 * receive.  While no request is free, messages wait in their buffers; that is
 * all that one which does not keep to it gets.
 *
 * Of SIGNAL_EVERY replies one is signaled: its completion says that the others
 * before it are through, and frees the requests of all.  It is also the reply
 * that is posted when no request is free: so a message that waits for one gets it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/sizes.h>
#include <linux/slab.h>

#include "marks.h"
#include "server.h"
#include "trace.h"

/* Of DMA memory for replies; a multi-page allocation that is still easy to get. */
#define REPLY_CHUNK	SZ_32K

#define SIGNAL_EVERY	16	/* replies */

/* Of a queue's receives together: where calls are long, it has fewer. */
#define RX_BYTES	(PMOF_MAX_DEPTH * PMOF_IO_MSG_SIZE)

static_assert(REPLY_CHUNK >= PMOF_IO_REPLY_SIZE && REPLY_CHUNK >= PMOF_ADMIN_MSG_SIZE);

/* What ends a queue ends its session, but for a queue that is not admitted.  Any context. */
static void queue_lost(struct pmof_srv_queue *q)
{
	WRITE_ONCE(q->broke, true);
	smp_mb(); /* either we see that it is admitted, or admit() that it broke */
	if (READ_ONCE(q->admitted))
		pmof_session_lost(q->session);
}

static void lost(struct pmof_srv_queue *q, const struct ib_wc *wc)
{
	struct pmof_session *s = q->session;

	if (wc->status != IB_WC_WR_FLUSH_ERR && READ_ONCE(q->admitted) && !pmof_session_ending(s))
		pr_warn_ratelimited("session%d of %s (%pISpc): queue %u: %s\n", s->number,
				    s->who.client_id, &s->peer, q->id,
				    ib_wc_status_msg(wc->status));
	queue_lost(q);
}

/* --- requests --------------------------------------------------------------- */

/* Returns false if the queue is being stopped. */
bool pmof_srv_queue_get(struct pmof_srv_queue *q)
{
	return refcount_inc_not_zero(&q->refs);
}

void pmof_srv_queue_put(struct pmof_srv_queue *q)
{
	if (refcount_dec_and_test(&q->refs))
		complete(&q->idle);
}

/* Posts the request's receive again; the request has all it needs of it. */
static void post_rx(struct pmof_srv_req *req)
{
	if (pmof_rx_post(req->rx))
		queue_lost(req->queue);
	req->rx = NULL;
}

/* A message meets a request.  Completion context; consumes a reference on the queue. */
static void start(struct pmof_srv_req *req, struct pmof_rx *rx, u32 len)
{
	struct pmof_srv_queue *q = req->queue;
	int status;

	req->rx = rx;
	status = pmof_rpc_parse(req, rx->buf.data, len);
	if (status == PMOF_SC_INVALID) {
		pmof_session_bad_message(q->session, "malformed message");
		pmof_srv_queue_put(q);
		return;
	}
	/* Before anything that may reply. */
	if (status || !pmof_rpc_keeps_rx(req))
		post_rx(req);
	pmof_rpc_start(req, status);
}

/* A free request, or NULL, and then the message waits for one. */
static struct pmof_srv_req *take_req(struct pmof_srv_queue *q, struct pmof_rx *rx, u32 len)
{
	struct pmof_srv_rx *waiting = &q->rxs[rx - q->qp.rx];
	struct pmof_srv_req *req;
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	req = list_first_entry_or_null(&q->free, struct pmof_srv_req, entry);
	if (req) {
		list_del(&req->entry);
	} else {
		waiting->len = len;
		list_add_tail(&waiting->entry, &q->waiting);
	}
	spin_unlock_irqrestore(&q->lock, flags);
	return req;
}

/* The request is done with: the next message's, or free.  Returns the message or NULL. */
static struct pmof_srv_rx *release_req(struct pmof_srv_req *req)
{
	struct pmof_srv_queue *q = req->queue;
	struct pmof_srv_rx *next;
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	next = list_first_entry_or_null(&q->waiting, struct pmof_srv_rx, entry);
	if (next)
		list_del(&next->entry);
	else
		list_add(&req->entry, &q->free);
	spin_unlock_irqrestore(&q->lock, flags);
	return next;
}

static void rx_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct pmof_rx *rx = pmof_wc_rx(wc);
	struct pmof_srv_queue *q = container_of(rx->qp, struct pmof_srv_queue, qp);
	struct pmof_srv_req *req;

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		lost(q, wc);
		return;
	}
	/* With an immediate, byte_len may be an RDMA write's: not of our buffer. */
	if (wc->opcode != IB_WC_RECV || wc->wc_flags & (IB_WC_WITH_IMM | IB_WC_WITH_INVALIDATE)) {
		pmof_session_bad_message(q->session, "message of an unknown kind");
		return;
	}
	pmof_session_hear(q->session);
	pmof_buf_for_cpu(&rx->buf, q->qp.dev, wc->byte_len);
	req = take_req(q, rx, wc->byte_len);
	if (req && pmof_srv_queue_get(q))
		start(req, rx, wc->byte_len);
}

static void reply_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct pmof_srv_req *before, *req = container_of(wc->wr_cqe, struct pmof_srv_req, cqe);
	struct pmof_srv_queue *q = req->queue;
	struct pmof_srv_rx *next;

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		lost(q, wc);
		return;
	}
	for (; req; req = before) {
		before = req->replied;
		next = release_req(req);
		if (next && pmof_srv_queue_get(q))
			start(req, next->rx, next->len);
	}
}

/*
 * Is this reply to be signaled?  Under the queue's lock, which is held until it is posted:
 * replies are chained in the order in which they complete.
 */
static bool chain_reply(struct pmof_srv_queue *q, struct pmof_srv_req *req)
{
	req->replied = q->replied;
	if (++q->nr_replied < SIGNAL_EVERY && !list_empty(&q->free)) {
		q->replied = req;
		return false;
	}
	q->replied = NULL;
	q->nr_replied = 0;
	return true;
}

/* Not signaled: it comes only with an error. */
static void chain_done(struct ib_cq *cq, struct ib_wc *wc)
{
	lost(container_of(wc->wr_cqe, struct pmof_srv_queue, chain_cqe), wc);
}

/**
 * pmof_srv_queue_reply - post the reply of a request
 * @req: with @len bytes in req->reply; gone when this returns
 * @len: bytes
 * @chain: work requests to post ahead of it, or NULL; not signaled, and with
 *	the queue's chain_cqe
 *
 * Drops the request's reference on the queue.  Any context.
 */
void pmof_srv_queue_reply(struct pmof_srv_req *req, u32 len, struct ib_send_wr *chain)
{
	struct pmof_srv_queue *q = req->queue;
	bool is_inline = len <= q->qp.max_inline;
	struct ib_sge sge = {
		.addr	= is_inline ? (uintptr_t)req->reply : req->reply_dma,
		.length	= len,
		.lkey	= q->session->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.wr_cqe		= &req->cqe,
		.sg_list	= &sge,
		.num_sge	= 1,
		.opcode		= IB_WR_SEND,
		.send_flags	= is_inline ? IB_SEND_INLINE : 0,
	};
	struct ib_send_wr *last;
	unsigned long flags;
	int rc;

	for (last = chain; last && last->next; last = last->next)
		;
	if (last)
		last->next = &wr;
	if (!is_inline)
		ib_dma_sync_single_for_device(q->qp.dev, req->reply_dma, len, DMA_TO_DEVICE);
	if (req->rx)
		post_rx(req);
	/* Counted first: who has the reply sees it counted. */
	if (req->opcode != PMOF_MSG_KEEPALIVE)
		pmof_session_stat(q->session, PMOF_SRV_REPLIES, 1);
	trace_pmof_srv_reply(q->session->number, q->id, req->reply);
	pmof_mark_reply(req);
	/* There are as many slots as requests, so only a dead queue pair refuses. */
	spin_lock_irqsave(&q->lock, flags);
	if (chain_reply(q, req))
		wr.send_flags |= IB_SEND_SIGNALED;
	rc = ib_post_send(q->qp.ib, chain ?: &wr, NULL);
	spin_unlock_irqrestore(&q->lock, flags);
	if (rc)
		queue_lost(q);
	pmof_srv_queue_put(q);
}

/* --- making and breaking ----------------------------------------------------- */

static void free_replies(struct pmof_srv_queue *q)
{
	u32 i;

	for (i = 0; i < q->nr_replies; i++)
		pmof_buf_free(&q->replies[i], q->session->ib_dev);
	kfree(q->replies);
	q->replies = NULL;
	q->nr_replies = 0;
}

static int alloc_replies(struct pmof_srv_queue *q, u32 nr)
{
	int rc;

	q->replies = kcalloc(nr, sizeof(*q->replies), GFP_KERNEL);
	if (!q->replies)
		return -ENOMEM;
	for (; q->nr_replies < nr; q->nr_replies++) {
		rc = pmof_buf_init(&q->replies[q->nr_replies], q->session->ib_dev, REPLY_CHUNK,
				   DMA_TO_DEVICE);
		if (rc)
			return rc;
	}
	return 0;
}

static int alloc_reqs(struct pmof_srv_queue *q, u32 reply_size)
{
	u32 i, per_chunk = REPLY_CHUNK / reply_size;
	int rc;

	q->reqs = kvcalloc(q->nr_reqs, sizeof(*q->reqs), GFP_KERNEL);
	if (!q->reqs)
		return -ENOMEM;
	rc = alloc_replies(q, DIV_ROUND_UP(q->nr_reqs, per_chunk));
	if (rc)
		return rc;
	for (i = 0; i < q->nr_reqs; i++) {
		struct pmof_buf *chunk = &q->replies[i / per_chunk];
		struct pmof_srv_req *req = &q->reqs[i];

		req->queue = q;
		req->cqe.done = reply_done;
		req->reply = chunk->data + i % per_chunk * reply_size;
		req->reply_dma = chunk->dma + i % per_chunk * reply_size;
		list_add_tail(&req->entry, &q->free);
	}
	return 0;
}

static int alloc_rxs(struct pmof_srv_queue *q)
{
	u32 i;

	q->rxs = kvcalloc(q->qp.nr_rx, sizeof(*q->rxs), GFP_KERNEL);
	if (!q->rxs)
		return -ENOMEM;
	for (i = 0; i < q->qp.nr_rx; i++)
		q->rxs[i].rx = &q->qp.rx[i];
	return 0;
}

static void qp_event(struct ib_event *event, void *context)
{
	struct pmof_srv_queue *q = context;

	switch (event->event) {
	case IB_EVENT_COMM_EST:
		/* A message came, so the connection stands, even if CM's last word is lost. */
		rdma_notify(q->qp.cm_id, event->event);
		break;
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		queue_lost(q);
		break;
	default:
		break;
	}
}

static u16 depth_for(u16 asked, u32 call_size)
{
	return min_t(u32, asked, RX_BYTES / call_size);
}

/*
 * Requests for twice the depth: one whose reply is under way is still in use
 * when the client sends its next.  And for those whose replies are not signaled.
 */
static u16 grant_depth(const struct ib_device *dev, u16 asked)
{
	u32 most = min_t(u32, dev->attrs.max_qp_wr, dev->attrs.max_cqe / 2);

	return clamp_t(int, ((int)most - SIGNAL_EVERY) / 2 - 2, 1, asked);
}

/* Buffers of an I/O queue that is asked for with this depth, in bytes. */
u64 pmof_srv_queue_memory(u16 depth, u32 call_size)
{
	u64 nr_rx = depth_for(depth, call_size);
	u64 nr_reqs = 2 * nr_rx + SIGNAL_EVERY;

	return nr_rx * call_size +
	       nr_reqs * (PMOF_IO_REPLY_SIZE + sizeof(struct pmof_srv_req));
}

static int create_qp(struct pmof_srv_queue *q, struct rdma_cm_id *cm_id)
{
	struct pmof_qp_config cfg = {
		.pd		= q->session->pd,
		.nr_rx		= q->depth,
		.rx_size	= q->session->call_size,
		.max_send_wr	= q->nr_reqs,
		.max_send_sge	= 1,
		.max_inline	= sizeof(struct pmof_wire_hdr),
		.poll_ctx	= IB_POLL_SOFTIRQ,
		.comp_vector	= q->session->number + q->id,
		.rx_done	= rx_done,
		.event		= qp_event,
		.context	= q,
	};

	if (!q->id) {
		cfg.rx_size = PMOF_ADMIN_MSG_SIZE;
		cfg.nr_rx = 2 * q->depth;
		cfg.max_send_wr = q->nr_reqs * (1 + PMOF_SRV_REG_BATCH) + 1;
		cfg.poll_ctx = IB_POLL_WORKQUEUE;
	}
	return pmof_qp_create(&q->qp, cm_id, &cfg);
}

/* Returns a queue with its receives posted, or NULL. */
struct pmof_srv_queue *pmof_srv_queue_create(struct pmof_session *s, struct rdma_cm_id *cm_id,
					     u16 id, u16 depth)
{
	struct pmof_srv_queue *q = kzalloc(sizeof(*q), GFP_KERNEL);

	if (!q)
		return NULL;
	q->session = s;
	q->id = id;
	q->depth = grant_depth(s->ib_dev, id ? depth_for(depth, s->call_size) : depth);
	q->nr_reqs = id ? 2 * q->depth + SIGNAL_EVERY : q->depth;
	q->chain_cqe.done = chain_done;
	spin_lock_init(&q->lock);
	INIT_LIST_HEAD(&q->free);
	INIT_LIST_HEAD(&q->waiting);
	refcount_set(&q->refs, 1);
	init_completion(&q->idle);
	if (alloc_reqs(q, id ? PMOF_IO_REPLY_SIZE : PMOF_ADMIN_MSG_SIZE))
		goto free;
	if (!id && pmof_announce_init(q))
		goto free;
	if (create_qp(q, cm_id))
		goto free;
	if (alloc_rxs(q) || pmof_qp_post_all_rx(&q->qp))
		goto stop;
	return q;

stop:
	pmof_srv_queue_stop(q);
free:
	pmof_srv_queue_free(q);
	return NULL;
}

/*
 * Moves the queue pair to error, so that all that was posted completes, and
 * tells the peer if there is one.  What is posted later completes with an error.
 */
void pmof_srv_queue_disconnect(struct pmof_srv_queue *q)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	rdma_disconnect(q->qp.cm_id);
	/* rdma_disconnect() may have had reasons not to. */
	ib_modify_qp(q->qp.ib, &attr, IB_QP_STATE);
}

/*
 * Waits until no handler and no flush worker has a request of the queue, then drains
 * the queue pair: after this the HCA touches nothing for its sake.
 */
void pmof_srv_queue_drain(struct pmof_srv_queue *q)
{
	pmof_srv_queue_put(q);
	wait_for_completion(&q->idle);
	pmof_qp_drain(&q->qp);
}

/* An RCU grace period later: but for the cm_id nothing of the queue is left on the device. */
void pmof_srv_queue_destroy(struct pmof_srv_queue *q)
{
	pmof_qp_destroy(&q->qp);
	pmof_announce_free(q);
	free_replies(q);
}

/* Both, of one queue. */
void pmof_srv_queue_stop(struct pmof_srv_queue *q)
{
	pmof_srv_queue_drain(q);
	synchronize_rcu();
	pmof_srv_queue_destroy(q);
}

/*
 * The queue must be stopped, or never have had a queue pair, and its cm_id
 * have no more events.
 */
void pmof_srv_queue_free(struct pmof_srv_queue *q)
{
	pmof_announce_free(q);
	free_replies(q);
	kvfree(q->reqs);
	kvfree(q->rxs);
	kfree(q);
}

/* --- connection ---------------------------------------------------------------- */

/* Events of a cm_id that carries a queue: whatever ends a queue ends its session. */
static int queue_event(struct rdma_cm_id *cm_id, struct rdma_cm_event *event)
{
	struct pmof_srv_queue *q = cm_id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
		break;
	default:
		/*
		 * The end work destroys the cm_id.  After DEVICE_REMOVAL rdma_cm
		 * waits for that.
		 */
		queue_lost(q);
		break;
	}
	return 0;
}

/*
 * Nobody reaches the namespace by the admin queue: it outlives the I/O queues by the time
 * that an announcement needs, when the rights may be gone already.  Its queue pair can have
 * no PD of its own, since it registers the MRs.  rdma_cm sets the flags when it accepts, and
 * there is no MR before the login.  Where it fails the queue pair has broken already, or the
 * device does not do it: see docs/security.md.
 */
static void bar_rdma(struct pmof_srv_queue *q)
{
	struct ib_qp_attr attr = { .qp_access_flags = 0 };
	int rc = ib_modify_qp(q->qp.ib, &attr, IB_QP_ACCESS_FLAGS);

	if (rc)
		pr_debug("%s: RDMA by an admin queue is not barred: %d\n",
			 dev_name(&q->qp.dev->dev), rc);
}

/* Its end is the session's from here on: also one that has come already. */
static void admit(struct pmof_srv_queue *q)
{
	WRITE_ONCE(q->admitted, true);
	smp_mb(); /* pairs with the one in queue_lost() */
	if (READ_ONCE(q->broke))
		pmof_session_lost(q->session);
}

/*
 * Accepts the connection request of the queue's cm_id, whose events are the
 * queue's from here on.  Only from the request's event handler, which must
 * return non-zero if this fails.  Returns 0 or a PMOF_SC_* code.
 */
int pmof_srv_queue_accept(struct pmof_srv_queue *q, const struct rdma_conn_param *asked)
{
	const struct ib_device_attr *attr = &q->qp.dev->attrs;
	struct pmof_wire_accept w;
	struct rdma_conn_param param = {
		.private_data		= &w,
		.private_data_len	= sizeof(w),
		.responder_resources	= min_t(u32, asked->responder_resources,
						attr->max_qp_rd_atom),
		.initiator_depth	= min_t(u32, asked->initiator_depth,
						attr->max_qp_init_rd_atom),
		.flow_control		= 1,
		.retry_count		= 7,
		.rnr_retry_count	= 7,
	};

	pmof_put_accept(&w, PMOF_SC_OK, q->depth);
	q->qp.cm_id->context = q;
	q->qp.cm_id->event_handler = queue_event;
	/* Where it fails it has moved the queue pair to error, and the receives have completed. */
	if (rdma_accept(q->qp.cm_id, &param))
		return PMOF_SC_INTERNAL;
	admit(q);
	if (!q->id)
		bar_rdma(q);
	return PMOF_SC_OK;
}
