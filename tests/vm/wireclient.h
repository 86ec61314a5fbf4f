/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A client of the wire protocol in user space, over librdmacm, that does what
 * no well-behaved one would. Every wait is bounded.
 */
#ifndef PMOF_WIRECLIENT_H
#define PMOF_WIRECLIENT_H

#include <arpa/inet.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <sys/utsname.h>

#include "../../kmod/common/wire.h"
#include "vm.h"

#ifndef WC_RECVS
#define WC_RECVS	32
#endif
#ifndef WC_SENDS
#define WC_SENDS	256	/* work requests under way */
#endif
#ifndef WC_OUTS
#define WC_OUTS		1	/* buffers to send from */
#endif
#ifndef WC_KEPT
#define WC_KEPT		0	/* queues' memory and CQs that are kept for the next ones */
#endif
#define WC_DEPTH	16
#define WC_BUF		8192	/* more than any message that is allowed */
#define WC_MEM		((WC_RECVS + WC_OUTS) * WC_BUF)

/*
 * Whether soft-RoCE takes a SEND of so many bytes that is longer than its receive buffer.  Where the
 * queue pair is in error before the responder is done with the last of its packets, 6.12's oopses: the
 * lab's has that mended (tests/lab/rxe/patches/0016), 6.1 does not have it.  One packet is none too many.
 */
static inline bool soft_roce_survives(size_t bytes)
{
	struct utsname kernel;

	return bytes <= 4096 || !access("/sys/module/rdma_rxe/parameters/lazy_write", F_OK) ||
	       (!uname(&kernel) && !strncmp(kernel.release, "6.1.", 4));
}

/* What a queue pair needs. */
struct wc_parts {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	char *mem;		/* WC_RECVS receive buffers, WC_OUTS to send from */
};

/* One queue of ours. */
struct wc_queue {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	union {
		struct wc_parts parts;
		struct {
			struct ibv_pd *pd;
			struct ibv_cq *cq;
			struct ibv_mr *mr;
			char *mem;
		};
	};
	bool ended;		/* the server has disconnected, or the queue pair broke */
	int send_status;	/* of the last send side completion */
	int posts;		/* of wc_post() */
	int sends;		/* completed of these */
};

static inline char *wc_out_nr(struct wc_queue *q, int i)
{
	return q->mem + (WC_RECVS + i) * WC_BUF;
}

static inline char *wc_out(struct wc_queue *q)
{
	return wc_out_nr(q, 0);
}

/* --- connection ----------------------------------------------------------- */

/* The next event, or NULL after @ms. To be acknowledged. */
static inline struct rdma_cm_event *wc_event(struct wc_queue *q, int ms)
{
	struct pollfd p = { .fd = q->channel->fd, .events = POLLIN };
	struct rdma_cm_event *ev;

	if (poll(&p, 1, ms) != 1 || rdma_get_cm_event(q->channel, &ev))
		return NULL;
	return ev;
}

static inline int wc_expect(struct wc_queue *q, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *ev = wc_event(q, 10000);
	int rc;

	if (!ev)
		return -ETIMEDOUT;
	rc = ev->event == type ? 0 : -EPROTO;
	rdma_ack_cm_event(ev);
	return rc;
}

static inline int wc_post_recv(struct wc_queue *q, int i)
{
	struct ibv_sge sge = { (uintptr_t)q->mem + i * WC_BUF, WC_BUF, q->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	return -ibv_post_recv(q->id->qp, &wr, &bad);
}

/* Of this process, which has one device. */
static struct wc_parts wc_kept[WC_KEPT + 1];	/* the last stays free */
static int wc_nr_kept;

static inline int wc_parts_make(struct wc_parts *p, struct ibv_context *verbs)
{
	p->mem = vm_pages(WC_MEM);
	p->pd = ibv_alloc_pd(verbs);
	p->cq = ibv_create_cq(verbs, 2 * WC_SENDS, NULL, NULL, 0);
	if (!p->pd || !p->cq)
		return -ENOMEM;
	p->mr = ibv_reg_mr(p->pd, p->mem, WC_MEM, IBV_ACCESS_LOCAL_WRITE);
	return p->mr ? 0 : -ENOMEM;
}

static inline void wc_parts_free(struct wc_parts *p)
{
	if (p->mr)
		ibv_dereg_mr(p->mr);
	if (p->cq)
		ibv_destroy_cq(p->cq);
	if (p->pd)
		ibv_dealloc_pd(p->pd);
	if (p->mem)
		munmap(p->mem, WC_MEM + 4096);
}

/* What is left in the CQ is of a queue pair that is no more. */
static inline int wc_parts_get(struct wc_parts *p, struct ibv_context *verbs)
{
	struct ibv_wc wc;

	if (!wc_nr_kept)
		return wc_parts_make(p, verbs);
	*p = wc_kept[--wc_nr_kept];
	while (ibv_poll_cq(p->cq, 1, &wc) > 0)
		;
	return 0;
}

static inline void wc_parts_put(struct wc_parts *p)
{
#if WC_KEPT
	if (p->mr && wc_nr_kept < WC_KEPT) {
		wc_kept[wc_nr_kept++] = *p;
		return;
	}
#endif
	wc_parts_free(p);
}

static inline int wc_resources(struct wc_queue *q, bool receive)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = WC_SENDS, .max_recv_wr = WC_RECVS, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	int i, rc = wc_parts_get(&q->parts, q->id->verbs);

	if (rc)
		return rc;
	attr.send_cq = attr.recv_cq = q->cq;
	if (rdma_create_qp(q->id, q->pd, &attr))
		return -ENOMEM;
	for (i = 0; receive && i < WC_RECVS; i++)
		if (wc_post_recv(q, i))
			return -EIO;
	return 0;
}

static inline void wc_close(struct wc_queue *q)
{
	if (q->id && q->id->qp) {
		rdma_disconnect(q->id);
		rdma_destroy_qp(q->id);
	}
	wc_parts_put(&q->parts);
	if (q->id)
		rdma_destroy_id(q->id);
	if (q->channel)
		rdma_destroy_event_channel(q->channel);
	memset(q, 0, sizeof(*q));
}

static inline int wc_resolve(struct wc_queue *q)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PMOF_WIRE_PORT) };

	inet_pton(AF_INET, vm_env("LAB_SERVER_IP", "10.77.0.1"), &to.sin_addr);
	q->channel = rdma_create_event_channel();
	if (!q->channel || rdma_create_id(q->channel, &q->id, NULL, RDMA_PS_TCP))
		return -errno;
	if (rdma_resolve_addr(q->id, NULL, (struct sockaddr *)&to, 3000))
		return -errno;
	if (wc_expect(q, RDMA_CM_EVENT_ADDR_RESOLVED))
		return -EHOSTUNREACH;
	if (rdma_resolve_route(q->id, 3000))
		return -errno;
	return wc_expect(q, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

/* What the server said: 0 accepted, > 0 the status of its reject, < 0 something else. */
static inline int wc_answer(struct wc_queue *q)
{
	struct rdma_cm_event *ev = wc_event(q, 15000);
	const struct pmof_wire_accept *w;
	int rc;

	if (!ev)
		return -ETIMEDOUT;
	w = ev->param.conn.private_data;
	if (ev->event == RDMA_CM_EVENT_ESTABLISHED)
		rc = 0;
	else if (ev->event != RDMA_CM_EVENT_REJECTED)
		rc = -EPROTO;
	else if (!w || ev->param.conn.private_data_len < sizeof(*w) ||
		 w->magic != PMOF_WIRE_MAGIC || !w->status)
		rc = -EBADMSG;
	else
		rc = w->status;
	rdma_ack_cm_event(ev);
	return rc;
}

/* A queue pair that is not connected yet; wc_close() in any case. */
static inline int wc_prepare(struct wc_queue *q, bool receive)
{
	int rc;

	memset(q, 0, sizeof(*q));
	rc = wc_resolve(q);
	return rc ? rc : wc_resources(q, receive);
}

/* Connects it with @len bytes of private data. */
static inline int wc_join(struct wc_queue *q, const void *data, size_t len)
{
	struct rdma_conn_param param = {
		.private_data = data, .private_data_len = len, .responder_resources = 1,
		.initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7,
	};

	return rdma_connect(q->id, &param) ? -errno : wc_answer(q);
}

/*
 * Asks for a connection without a queue pair of ours behind it: what a reject says, or
 * -EPROTO where the server has accepted, to whom nobody says that he has heard it.
 */
static inline int wc_knock(struct wc_queue *q, const void *data, size_t len, bool wait)
{
	/* Each another one: to the server's IB CM a second one with the same is the first one's end. */
	static unsigned int knocks;
	struct rdma_conn_param param = {
		.private_data = data, .private_data_len = len,
		.qp_num = 0x800000 | (getpid() & 0x3ff) << 13 | (knocks++ & 0x1fff),
	};
	int rc;

	memset(q, 0, sizeof(*q));
	rc = wc_resolve(q);
	if (!rc && rdma_connect(q->id, &param))
		rc = -errno;
	return rc || !wait ? rc : wc_answer(q);
}

/* Both. */
static inline int wc_connect_raw(struct wc_queue *q, const void *data, size_t len, bool receive)
{
	int rc = wc_prepare(q, receive);

	return rc ? rc : wc_join(q, data, len);
}

static inline int wc_connect_deep(struct wc_queue *q, u16 queue_id, u64 session_id, u16 depth)
{
	struct pmof_connect c = { .queue_id = queue_id, .queue_depth = depth,
				  .session_id = session_id, .client_id = "hostile" };
	struct pmof_wire_connect w;

	pmof_put_connect(&w, &c);
	return wc_connect_raw(q, &w, sizeof(w), true);
}

static inline int wc_connect(struct wc_queue *q, u16 queue_id, u64 session_id)
{
	return wc_connect_deep(q, queue_id, session_id, WC_DEPTH);
}

/* --- messages and RDMA ---------------------------------------------------- */

/* Posts one work request that uses the first @len bytes of wc_out_nr(). */
static inline int wc_post_nr(struct wc_queue *q, int nr, enum ibv_wr_opcode opcode, size_t len,
			     u64 remote, u32 rkey)
{
	struct ibv_sge sge = { (uintptr_t)wc_out_nr(q, nr), len, q->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 1000, .sg_list = &sge, .num_sge = 1, .opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED, .imm_data = htonl(7),
	}, *bad;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = remote;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = remote;
		wr.wr.rdma.rkey = rkey;
	}
	q->posts++;
	return -ibv_post_send(q->id->qp, &wr, &bad);
}

/* The same of wc_out(). */
static inline int wc_post(struct wc_queue *q, enum ibv_wr_opcode opcode, size_t len, u64 remote,
			  u32 rkey)
{
	return wc_post_nr(q, 0, opcode, len, remote, rkey);
}

static inline int wc_send(struct wc_queue *q, const void *msg, size_t len)
{
	memcpy(wc_out(q), msg, len);
	return wc_post(q, IBV_WR_SEND, len, 0, 0);
}

/* Looks for the end of the connection; true if it has come. */
static inline bool wc_check_end(struct wc_queue *q)
{
	struct rdma_cm_event *ev = wc_event(q, 0);

	if (ev) {
		if (ev->event == RDMA_CM_EVENT_DISCONNECTED ||
		    ev->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
			q->ended = true;
		rdma_ack_cm_event(ev);
	}
	return q->ended;
}

/*
 * Waits for a message: its length, with the buffer in *msg, until the next
 * call; 0 if the connection ended, -ETIMEDOUT.
 */
static inline ssize_t wc_recv(struct wc_queue *q, const void **msg, int ms)
{
	double until = vm_now() + ms / 1e3;
	struct ibv_wc wc;

	do {
		while (ibv_poll_cq(q->cq, 1, &wc) == 1) {
			if (wc.wr_id < WC_RECVS && wc.status == IBV_WC_SUCCESS) {
				memcpy(wc_out(q), q->mem + wc.wr_id * WC_BUF, wc.byte_len);
				*msg = wc_out(q);
				wc_post_recv(q, wc.wr_id);
				return wc.byte_len;
			}
			if (wc.wr_id >= WC_RECVS) {
				q->send_status = wc.status;
				q->sends++;
			}
			if (wc.status != IBV_WC_SUCCESS)
				q->ended = true;
		}
		if (wc_check_end(q))
			return 0;
		usleep(500);
	} while (vm_now() < until);
	return -ETIMEDOUT;
}

/* Sends a request; returns the status of its reply, ENDED, or -errno. */
#define ENDED	1000
static inline int wc_call(struct wc_queue *q, const void *req, size_t len)
{
	u8 opcode = len ? *(const u8 *)req : 0;
	const struct pmof_wire_hdr *h;
	const void *msg;
	ssize_t n;

	if (wc_send(q, req, len))
		return ENDED;
	n = wc_recv(q, &msg, 10000);
	if (n <= 0)
		return n ? n : ENDED;
	h = msg;
	if ((size_t)n < sizeof(*h) || h->length != n || h->opcode != (opcode | PMOF_MSG_REPLY))
		return -EBADMSG;
	return h->status;
}

/* An opcode that the queue does not take: refused or ended, never obeyed. */
static inline bool refused(int rc)
{
	return rc == ENDED || rc == PMOF_SC_UNSUPPORTED;
}

/* Waits until the send side has completed @n work requests; their last status. */
static inline int wc_completed(struct wc_queue *q, int n, int ms)
{
	double until = vm_now() + ms / 1e3;
	struct ibv_wc wc;

	while (q->sends < n && vm_now() < until) {
		if (ibv_poll_cq(q->cq, 1, &wc) != 1) {
			usleep(200);
			continue;
		}
		if (wc.status != IBV_WC_SUCCESS)
			q->ended = true;
		if (wc.wr_id < WC_RECVS)
			continue;
		q->send_status = wc.status;
		q->sends++;
	}
	return q->sends < n ? -ETIMEDOUT : q->send_status;
}

/* True if the server ends the connection within @ms. */
static inline bool wc_ends(struct wc_queue *q, int ms)
{
	double until = vm_now() + ms / 1e3;
	const void *msg;

	while (vm_now() < until)
		if (wc_recv(q, &msg, 100) == 0)
			return true;
	return false;
}

/* --- sessions ------------------------------------------------------------- */

/* A session that behaves, so far: logged in, all segments known. */
struct wc_session {
	struct wc_queue admin, io;
	struct pmof_login_reply login;
	struct pmof_segment_desc seg[64];
	u32 nr_seg;
};

/*
 * With a promise to be heard of: who is killed says goodbye once, by a datagram that a busy
 * soft-RoCE may lose.
 */
static inline size_t wc_put_login(void *buf, const char *name, u32 flags)
{
	struct pmof_login l = { .nr_queues = 2, .flags = flags, .call_size = PMOF_IO_MSG_SIZE };
	int fd = open("/dev/urandom", O_RDONLY);

	if (read(fd, l.instance, sizeof(l.instance)) != sizeof(l.instance))
		abort();
	close(fd);
	l.keep_alive_ms = 20000 * vm_time_factor();
	strncpy(l.name, name, sizeof(l.name) - 1);
	return pmof_put_login(buf, 1, &l);
}

/* The first @most. */
static inline int wc_some_segments(struct wc_session *s, u32 most)
{
	struct pmof_wire_get_segments w;
	const void *msg;
	u32 count, i;
	ssize_t n;

	most = min_t(u32, most, ARRAY_SIZE(s->seg));
	most = min_t(u32, most, s->login.nr_segments);
	while (s->nr_seg < most) {
		u32 asked = most - s->nr_seg;

		if (wc_send(&s->admin, &w, pmof_put_get_segments(&w, 2, s->nr_seg, asked)))
			return -EIO;
		n = wc_recv(&s->admin, &msg, 10000);
		if (n <= 0 || pmof_get_segments_reply(msg, n, s->nr_seg, asked, &count))
			return -EPROTO;
		for (i = 0; i < count; i++)
			pmof_get_segment(msg, i, &s->seg[s->nr_seg + i]);
		s->nr_seg += count;
	}
	return 0;
}

static inline int wc_segments(struct wc_session *s)
{
	return wc_some_segments(s, ARRAY_SIZE(s->seg));
}

/* Without the segments, which the server registers only for who asks. */
static inline int wc_enter_by(struct wc_session *s, const struct pmof_wire_login *w)
{
	const void *msg;
	ssize_t n;
	int rc;

	memset(s, 0, sizeof(*s));
	rc = wc_connect(&s->admin, 0, 0);
	if (rc)
		return rc;
	if (wc_send(&s->admin, w, sizeof(*w)))
		return -EIO;
	n = wc_recv(&s->admin, &msg, 10000);
	if (n <= 0 || pmof_get_login_reply(msg, n, &s->login))
		return -EPROTO;
	return 0;
}

static inline int wc_enter(struct wc_session *s, u32 flags)
{
	struct pmof_wire_login w;

	wc_put_login(&w, vm_env("PMOF_NS", "data"), flags);
	return wc_enter_by(s, &w);
}

static inline int wc_login(struct wc_session *s, u32 flags)
{
	int rc = wc_enter(s, flags);

	return rc ? rc : wc_segments(s);
}

/* Login and one I/O queue. */
static inline int wc_open(struct wc_session *s, u32 flags)
{
	int rc = wc_login(s, flags);

	return rc ? rc : wc_connect(&s->io, 1, s->login.session_id);
}

/* Joins a session that has been closed: what the server says when it has noticed. */
static inline int wc_join_closed(const struct wc_session *s)
{
	int rc = PMOF_SC_BUSY, tries;
	struct wc_queue q;

	for (tries = 0; tries < 300 && rc == PMOF_SC_BUSY; tries++) {
		usleep(100000);
		rc = wc_connect(&q, 1, s->login.session_id);
		wc_close(&q);
	}
	return rc;
}

/*
 * Sends what is in wc_out() far more often than the depth allows: how often, and the replies.
 * A SEND that finds no receive is sent again much later.
 */
static inline int wc_flood(struct wc_queue *q, size_t len, int *replies)
{
	const void *msg;
	int i;

	for (i = 0; i < 200; i++)
		if (wc_post(q, IBV_WR_SEND, len, 0, 0))
			break;
	*replies = 0;
	while (*replies < i && wc_recv(q, &msg, 10000) > 0)
		++*replies;
	return i;
}

static inline void wc_close_session(struct wc_session *s)
{
	wc_close(&s->io);
	wc_close(&s->admin);
}

/* One I/O message on a session of its own. */
static inline int wc_lone_call(const void *msg, size_t len, u32 flags)
{
	struct wc_session s;
	int rc = wc_open(&s, flags);

	if (!rc)
		rc = wc_call(&s.io, msg, len);
	wc_close_session(&s);
	return rc;
}

/* What an RDMA request names for @offset. */
static inline const struct pmof_segment_desc *wc_at(const struct wc_session *s, u64 offset,
						    u64 *addr)
{
	const struct pmof_segment_desc *seg = &s->seg[offset / s->login.segment_size];

	*addr = seg->addr + offset % s->login.segment_size;
	return seg;
}

#endif /* PMOF_WIRECLIENT_H */
