// SPDX-License-Identifier: GPL-2.0
/* The admin queue: synchronous calls, one at a time. */
#define pr_fmt(fmt) "pmof-client: " fmt

#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "client.h"

#define ADMIN_RX	(PMOF_ADMIN_DEPTH)
#define ADMIN_SLICE_MS	250

static void admin_event(struct pmof_admin *a)
{
	if (atomic_dec_and_test(&a->pending))
		complete(&a->done);
}

static void admin_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct pmof_admin *a = container_of(wc->wr_cqe, struct pmof_admin, cqe);

	if (wc->status != IB_WC_SUCCESS)
		pmof_conn_lost(a->cm.conn, ib_wc_status_msg(wc->status));
	admin_event(a);
}

/* Takes the buffer as the awaited reply; false if none is awaited. */
static bool admin_take_reply(struct pmof_admin *a, struct pmof_rx *rx, u32 len)
{
	struct pmof_wire_hdr *h = rx ? rx->buf.data : NULL;
	unsigned long flags;
	bool taken;

	spin_lock_irqsave(&a->rx_lock, flags);
	taken = a->waiting && (!rx || (len >= sizeof(*h) && le16_to_cpu(h->tag) == a->tag));
	if (taken) {
		a->waiting = false;
		a->reply = rx;
		a->reply_len = len;
	}
	spin_unlock_irqrestore(&a->rx_lock, flags);
	return taken;
}

/* The server speaks unasked. */
static bool admin_announce(struct pmof_admin *a, struct pmof_rx *rx, u32 len)
{
	const struct pmof_wire_hdr *h = rx->buf.data;
	u32 kind;
	u64 arg;

	if (len < sizeof(*h) || h->opcode != PMOF_MSG_ANNOUNCE)
		return false;
	if (!pmof_get_announce(h, len, &kind, &arg))
		pmof_conn_announced(a->cm.conn, kind);
	else
		pmof_conn_lost(a->cm.conn, "an announcement is not valid");
	return true;
}

static void admin_rx_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct pmof_rx *rx = pmof_wc_rx(wc);
	struct pmof_admin *a = container_of(rx->qp, struct pmof_admin, qp);

	if (wc->status != IB_WC_SUCCESS) {
		pmof_conn_lost(a->cm.conn, ib_wc_status_msg(wc->status));
		/* No reply will come; while connecting nobody else says so. */
		if (admin_take_reply(a, NULL, 0))
			admin_event(a);
		return;
	}
	pmof_buf_for_cpu(&rx->buf, rx->qp->dev, wc->byte_len);
	pmof_conn_hear(a->cm.conn);
	/* The buffer is not posted again: the connection ends. */
	if (admin_announce(a, rx, wc->byte_len))
		return;
	if (!admin_take_reply(a, rx, wc->byte_len)) {
		pmof_message_unasked(a->cm.conn, 0, rx->buf.data, wc->byte_len);
		return;
	}
	admin_event(a);
}

static int admin_post(struct pmof_admin *a, size_t len)
{
	struct ib_sge sge = {
		.addr	= a->msg.dma,
		.length	= len,
		.lkey	= a->qp.ib->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.wr_cqe		= &a->cqe,
		.sg_list	= &sge,
		.num_sge	= 1,
		.opcode		= IB_WR_SEND,
		.send_flags	= IB_SEND_SIGNALED,
	};

	pmof_buf_for_dev(&a->msg, a->qp.dev, len);
	a->cqe.done = admin_send_done;
	return ib_post_send(a->qp.ib, &wr, NULL);
}

/* False once pmof_admin_abort() has begun: nobody would end the wait. */
static bool admin_arm(struct pmof_admin *a)
{
	bool ok;

	atomic_set(&a->pending, 2);
	reinit_completion(&a->done);
	spin_lock_irq(&a->rx_lock);
	ok = !a->aborted;
	a->waiting = ok;
	a->reply = NULL;
	spin_unlock_irq(&a->rx_lock);
	return ok;
}

static void admin_disarm(struct pmof_admin *a)
{
	spin_lock_irq(&a->rx_lock);
	a->waiting = false;
	spin_unlock_irq(&a->rx_lock);
}

/*
 * Waits for an answer.  In slices, each of which counts the same however long
 * it was: a machine that has stood still itself has heard nothing for one of
 * them only.  False: none came, or the connection that is being made is lost.
 */
static bool admin_wait(struct pmof_admin *a, bool attaching)
{
	struct pmof_conn *conn = a->cm.conn;
	unsigned int patience = conn->opt.keep_alive_tmo * MSEC_PER_SEC / ADMIN_SLICE_MS;
	unsigned int left = jiffies_to_msecs(pmof_io_timeout()) / ADMIN_SLICE_MS;
	unsigned int silent = 0;

	while (!wait_for_completion_timeout(&a->done, msecs_to_jiffies(ADMIN_SLICE_MS))) {
		silent = xchg(&conn->heard, false) ? 0 : silent + 1;
		if (!--left || (attaching && READ_ONCE(conn->lost)))
			return false;
		if (!attaching && patience && silent >= patience)
			return false;
	}
	return true;
}

/*
 * Sends the message in a->msg and waits for the reply, which the caller reads
 * from a->reply and gives back with admin_end().  Holds io_ref, and so
 * pmof_conn_detach() ends the wait and then waits for us; or attaches.
 */
static int admin_call(struct pmof_admin *a, size_t len, bool attaching)
{
	struct pmof_conn *conn = a->cm.conn;

	lockdep_assert_held(&a->lock);
	/* A server that always answers at once, and never comes to an end, must not keep us. */
	if (attaching && READ_ONCE(conn->lost))
		return -ECONNRESET;
	if (!admin_arm(a))
		return -ECONNRESET;
	if (admin_post(a, len)) {
		admin_disarm(a);
		return -EIO;
	}
	if (!admin_wait(a, attaching)) {
		/*
		 * The message buffer is the HCA's until the queue pair is
		 * drained.  pmof_conn_detach() does that and wakes us; what is
		 * being attached is ours to drain.
		 */
		pmof_conn_lost(conn, PMOF_NO_ANSWER);
		if (attaching)
			pmof_admin_abort(a);
		wait_for_completion(&a->done);
		return -ETIMEDOUT;
	}
	return a->reply ? 0 : -ECONNRESET;
}

static void admin_end(struct pmof_admin *a)
{
	struct pmof_rx *rx = a->reply;

	lockdep_assert_held(&a->lock);
	a->reply = NULL;
	if (rx && pmof_rx_post(rx))
		pmof_conn_lost(a->cm.conn, PMOF_NO_POST);
}

/* Takes the queue for one call of who attaches.  Balanced by admin_unlock(). */
static void admin_lock(struct pmof_conn *conn)
{
	mutex_lock(&conn->admin.lock);
	conn->admin.tag++;
}

static void admin_unlock(struct pmof_conn *conn)
{
	admin_end(&conn->admin);
	mutex_unlock(&conn->admin.lock);
}

/* The same on a live connection.  Balanced by admin_leave(). */
static int admin_enter(struct pmof_conn *conn)
{
	if (!pmof_conn_enter(conn))
		return pmof_conn_check(conn) ?: -ENOTCONN;
	admin_lock(conn);
	return 0;
}

static void admin_leave(struct pmof_conn *conn)
{
	admin_unlock(conn);
	pmof_conn_leave(conn);
}

/* Swaps nonces with the server. */
int pmof_admin_challenge(struct pmof_conn *conn, const u8 nonce[PMOF_WIRE_NONCE_LEN],
			 u8 server_nonce[PMOF_WIRE_NONCE_LEN])
{
	struct pmof_admin *a = &conn->admin;
	int rc;

	admin_lock(conn);
	rc = admin_call(a, pmof_put_challenge(a->msg.data, a->tag, nonce), true);
	if (!rc)
		rc = pmof_status_to_errno(pmof_get_challenge_reply(a->reply->buf.data,
								   a->reply_len, server_nonce));
	admin_unlock(conn);
	return rc;
}

static void login_fill(struct pmof_conn *conn, struct pmof_login *l)
{
	unsigned int queues = conn->opt.queues ?: num_online_cpus();

	memset(l, 0, sizeof(*l));
	l->keep_alive_ms = conn->opt.keep_alive_tmo * MSEC_PER_SEC;
	/* Negative: for ever, and so long as the server keeps it. */
	l->loss_timeout = conn->opt.device_loss_timeout;
	l->call_size = conn->opt.max_call;
	if (conn->ready) {
		/* Slots, and programs that have asked how much, rest on what was granted. */
		l->call_size = conn->login.call_size;
		queues = conn->nr_queues - conn->opt.poll_queues;
		l->resume_id = conn->login.session_id;
	}
	memcpy(l->instance, conn->uuid, sizeof(l->instance));
	memcpy(l->name, conn->opt.name, sizeof(l->name));
	l->nr_queues = min_t(unsigned int, queues + conn->opt.poll_queues, PMOF_MAX_QUEUES);
	l->flags = (conn->opt.read_only ? PMOF_LOGIN_F_READ_ONLY : 0) |
		   (conn->opt.exclusive ? PMOF_LOGIN_F_EXCLUSIVE : 0);
	/* Only when it is asked for: two that take it from each other would never end. */
	if (conn->opt.takeover && !conn->ready)
		l->flags |= PMOF_LOGIN_F_TAKEOVER;
}

int pmof_admin_login(struct pmof_conn *conn, struct pmof_login_reply *reply)
{
	struct pmof_admin *a = &conn->admin;
	struct pmof_login login;
	int rc;

	login_fill(conn, &login);
	rc = pmof_auth_begin(conn) ?: pmof_auth_sign_login(conn, &login);
	if (rc)
		return rc;
	admin_lock(conn);
	rc = admin_call(a, pmof_put_login(a->msg.data, a->tag, &login), true);
	if (!rc) {
		rc = pmof_get_login_reply(a->reply->buf.data, a->reply_len, reply);
		if (rc)
			pr_info("%s: login refused: %s\n", conn->opt.name, pmof_status_str(rc));
		rc = pmof_status_to_errno(rc);
	}
	if (!rc)
		rc = pmof_auth_check_reply(conn, reply);
	if (!rc && (reply->nr_queues > login.nr_queues || reply->call_size > login.call_size))
		rc = -EPROTO;
	admin_unlock(conn);
	return rc;
}

/* Stores one reply's segments from @first on; returns how many, or -errno. */
static int segments_store(struct pmof_conn *conn, u32 first, u32 asked)
{
	struct pmof_admin *a = &conn->admin;
	struct pmof_segment_desc seg;
	u32 count, i;
	int rc;

	rc = pmof_get_segments_reply(a->reply->buf.data, a->reply_len, first, asked, &count);
	if (rc)
		return pmof_status_to_errno(rc);
	for (i = 0; i < count; i++) {
		pmof_get_segment(a->reply->buf.data, i, &seg);
		if (seg.length != pmof_layout_length(&conn->layout, first + i))
			return -EPROTO;
		conn->seg[first + i] = seg;
	}
	return count;
}

int pmof_admin_segments(struct pmof_conn *conn)
{
	u32 nr = pmof_layout_segments(&conn->layout);
	struct pmof_admin *a = &conn->admin;
	u32 first = 0;
	int rc = 0;

	/* Bounded: pmof_layout_init() has refused more than PMOF_MAX_SEGMENTS. */
	if (!conn->seg)
		conn->seg = kvcalloc(nr, sizeof(*conn->seg), GFP_KERNEL);
	if (!conn->seg)
		return -ENOMEM;
	while (first < nr && rc >= 0) {
		if (fatal_signal_pending(current))
			return -EINTR;
		admin_lock(conn);
		rc = admin_call(a, pmof_put_get_segments(a->msg.data, a->tag, first, nr - first),
				true);
		if (!rc)
			rc = segments_store(conn, first, nr - first);
		admin_unlock(conn);
		if (rc > 0)
			first += rc;
	}
	return rc < 0 ? rc : pmof_bad_fetch(conn);
}

/*
 * The next pieces of a segment that has bad pages, from *@at on, which moves on.
 * Returns 0 or a negative errno.
 */
int pmof_admin_pieces(struct pmof_conn *conn, u64 *at, u64 end,
		      struct pmof_piece piece[PMOF_PIECES_PER_REPLY], u32 *count)
{
	struct pmof_admin *a = &conn->admin;
	const void *buf;
	u64 next;
	u32 i;
	int rc;

	admin_lock(conn);
	rc = admin_call(a, pmof_put_get_pieces(a->msg.data, a->tag, *at), true);
	if (!rc) {
		buf = a->reply->buf.data;
		rc = pmof_get_pieces_reply(buf, a->reply_len, *at, end, &next, count);
		for (i = 0; !rc && i < *count; i++)
			pmof_get_piece(buf, i, &piece[i]);
		if (!rc)
			*at = next;
		rc = pmof_status_to_errno(rc);
	}
	admin_unlock(conn);
	return rc;
}

/* A message that is a header, on a live connection, for who is inside admin_enter(). */
static int admin_call_hdr(struct pmof_admin *a, u8 opcode)
{
	pmof_put_hdr(a->msg.data, opcode, a->tag, sizeof(struct pmof_wire_hdr), 0);
	return admin_call(a, sizeof(struct pmof_wire_hdr), false);
}

/* The server's counters of this session. */
int pmof_admin_stats(struct pmof_conn *conn, u64 value[PMOF_SRV_STAT_MAX])
{
	struct pmof_admin *a = &conn->admin;
	int rc;

	rc = admin_enter(conn);
	if (rc)
		return rc;
	rc = admin_call_hdr(a, PMOF_MSG_GET_STATS);
	if (!rc)
		rc = pmof_status_to_errno(pmof_get_stats_reply(a->reply->buf.data, a->reply_len,
							       value));
	admin_leave(conn);
	return rc;
}

/* A message that is a header, and is answered by one. */
static int admin_ping(struct pmof_conn *conn, u8 opcode)
{
	struct pmof_admin *a = &conn->admin;
	int rc;

	rc = admin_enter(conn);
	if (rc)
		return rc;
	rc = admin_call_hdr(a, opcode);
	if (!rc)
		rc = pmof_status_to_errno(pmof_get_reply_hdr(a->reply->buf.data, a->reply_len,
							     opcode,
							     sizeof(struct pmof_wire_hdr)));
	admin_leave(conn);
	return rc;
}

/* Return: 0 if the server is there. */
int pmof_admin_keep_alive(struct pmof_conn *conn)
{
	return admin_ping(conn, PMOF_MSG_KEEPALIVE);
}

/* So that the server keeps nothing of the session.  Where it cannot be said the server waits. */
void pmof_admin_logout(struct pmof_conn *conn)
{
	if (READ_ONCE(conn->state) == PMOF_LIVE)
		admin_ping(conn, PMOF_MSG_LOGOUT);
}

static int admin_create_qp(struct pmof_conn *conn)
{
	struct pmof_admin *a = &conn->admin;
	struct pmof_qp_config cfg = {
		.pd		= conn->pd,
		.max_send_wr	= PMOF_ADMIN_DEPTH,
		.nr_rx		= ADMIN_RX,
		.rx_size	= PMOF_ADMIN_MSG_SIZE,
		.max_send_sge	= 1,
		.poll_ctx	= IB_POLL_SOFTIRQ,
		.rx_done	= admin_rx_done,
		.context	= a,
	};
	int rc;

	rc = pmof_buf_init(&a->msg, conn->ibdev, PMOF_ADMIN_MSG_SIZE, DMA_TO_DEVICE);
	if (rc)
		return rc;
	rc = pmof_qp_create(&a->qp, a->cm.id, &cfg);
	return rc ?: pmof_qp_post_all_rx(&a->qp);
}

static u32 max_sge_bytes(struct ib_device *dev)
{
	u32 size = ib_dma_max_seg_size(dev);

	if (!ib_uses_virt_dma(dev))
		size = min_t(size_t, size, dma_max_mapping_size(dev->dma_device));
	return max_t(u32, size, PAGE_SIZE);
}

void pmof_admin_init(struct pmof_admin *a)
{
	mutex_init(&a->lock);
	spin_lock_init(&a->rx_lock);
	init_completion(&a->done);
}

/* What does not change any more once it is known. */
static int take_device(struct pmof_conn *conn, struct ib_device *dev)
{
	WRITE_ONCE(conn->ibdev, dev);
	smp_mb(); /* either its removal finds us on it, or we see that it goes */
	if (pmof_device_goes(dev))
		return -ENODEV;
	WRITE_ONCE(conn->virt_dma, ib_uses_virt_dma(dev));
	if (conn->ready)
		return max_sge_bytes(dev) < conn->max_sge_bytes ? -PMOF_LESS : 0;
	conn->max_sge_bytes = max_sge_bytes(dev);
	return 0;
}

/* Connects the admin queue.  On error pmof_conn_detach() frees what was made. */
int pmof_admin_open(struct pmof_conn *conn)
{
	struct pmof_admin *a = &conn->admin;
	int rc;

	memset(&a->qp, 0, sizeof(a->qp));
	a->aborted = false;
	/* Nobody says anything yet. */
	a->proven = !conn->opt.key.len;
	a->hearsay = 0;
	rc = pmof_cm_resolve(&a->cm, conn);
	if (!rc)
		rc = take_device(conn, a->cm.id->device);
	if (rc)
		return rc;
	conn->pd = ib_alloc_pd(conn->ibdev, 0);
	if (IS_ERR(conn->pd)) {
		rc = PTR_ERR(conn->pd);
		conn->pd = NULL;
		return rc;
	}
	rc = admin_create_qp(conn);
	return rc ?: pmof_cm_connect(&a->cm, 0, PMOF_ADMIN_DEPTH);
}

/* Teardown, phase one: nothing is under way any more, a waiting call is woken. */
void pmof_admin_abort(struct pmof_admin *a)
{
	if (!a->qp.ib)
		return;
	spin_lock_irq(&a->rx_lock);
	a->aborted = true;
	spin_unlock_irq(&a->rx_lock);
	rdma_disconnect(a->cm.id);
	pmof_qp_drain(&a->qp);
	if (admin_take_reply(a, NULL, 0))
		admin_event(a);
}

void pmof_admin_close(struct pmof_admin *a)
{
	struct pmof_conn *conn = container_of(a, struct pmof_conn, admin);

	pmof_qp_destroy(&a->qp);
	if (a->msg.data)
		pmof_buf_free(&a->msg, conn->ibdev);
	if (conn->pd)
		ib_dealloc_pd(conn->pd);
	conn->pd = NULL;
	/* Last: the removal of the RDMA device waits for its cm_ids only. */
	pmof_cm_destroy(&a->cm);
	WRITE_ONCE(conn->ibdev, NULL);
}
