/* SPDX-License-Identifier: GPL-2.0 */
/* The other side of wireclient.h: as much of a server as a kernel client believes. */
#ifndef PMOF_WIRESERVER_H
#define PMOF_WIRESERVER_H

#include "wireclient.h"

#define PORT	20051
#define SIZE	(1 << 20)	/* of the namespace: one segment */

struct server {
	struct wc_queue listener, admin, io;
};

static inline const char *own_address(void)
{
	return vm_env("LAB_IP", "10.77.0.11");
}

static inline int listen_here(struct wc_queue *listener)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	inet_pton(AF_INET, own_address(), &at.sin_addr);
	listener->channel = rdma_create_event_channel();
	if (!listener->channel || rdma_create_id(listener->channel, &listener->id, NULL, RDMA_PS_TCP))
		return -1;
	if (rdma_bind_addr(listener->id, (struct sockaddr *)&at) || rdma_listen(listener->id, 8))
		return -1;
	return 0;
}

/* The next connection request is @q's: returns the client's queue pair number, or -1. */
static inline int64_t take_request(struct server *s, struct wc_queue *q)
{
	struct rdma_cm_event *ev;
	int64_t qpn;

	/* The channel is all queues': there is what they become, too. */
	while ((ev = wc_event(&s->listener, 30000)) && ev->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		rdma_ack_cm_event(ev);
	if (!ev)
		return -1;
	q->id = ev->id;
	q->channel = s->listener.channel;
	qpn = ev->param.conn.qp_num;
	rdma_ack_cm_event(ev);
	return qpn;
}

/* It gets a queue; likewise. */
static inline int64_t take_queue(struct server *s, struct wc_queue *q)
{
	struct pmof_wire_accept a;
	struct rdma_conn_param param = {
		.private_data = &a, .private_data_len = sizeof(a), .responder_resources = 1,
		.initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7,
	};
	int64_t qpn = take_request(s, q);

	if (qpn < 0)
		return -1;
	pmof_put_accept(&a, 0, 4);
	return wc_resources(q, true) || rdma_accept(q->id, &param) ? -1 : qpn;
}

/* The tag of the next message, if it is of this opcode. */
static inline int take_message(struct wc_queue *q, u8 opcode)
{
	const struct pmof_wire_hdr *h;
	const void *msg;

	if (wc_recv(q, &msg, 30000) < (ssize_t)sizeof(*h))
		return -1;
	h = msg;
	return h->opcode == opcode ? le16toh(h->tag) : -1;
}

static inline struct pmof_login_reply what_it_gets(u32 methods)
{
	return (struct pmof_login_reply){
		.session_id = 1, .generation = 1, .ns_size = SIZE, .segment_size = SIZE,
		.nr_segments = 1, .methods = methods, .nr_queues = 1, .max_ranges = 16,
		.max_inline = PMOF_MAX_INLINE, .domain = 1, .flags = PMOF_LOGIN_R_DURABLE,
		.call_size = PMOF_IO_MSG_SIZE,
	};
}

/* Nothing is told of its segment but its @bad sectors. */
static inline int tell_segment(struct server *s, u32 bad)
{
	struct pmof_segment_desc seg = { .length = SIZE, .bad_sectors = bad };
	char buf[256];
	int tag;

	if (!bad) {
		seg.addr = 4096;
		seg.rkey = 0x1234;
	}
	tag = take_message(&s->admin, PMOF_MSG_GET_SEGMENTS);
	if (tag < 0)
		return -1;
	return wc_send(&s->admin, buf, pmof_put_segments_reply((void *)buf, tag, 0, &seg, 1));
}

/* Lets the client in, by these methods. */
static inline int let_admin_in(struct server *s, u32 methods, u32 bad)
{
	struct pmof_login_reply r = what_it_gets(methods);
	char buf[256];
	int tag;

	if (take_queue(s, &s->admin) < 0)
		return -1;
	tag = take_message(&s->admin, PMOF_MSG_LOGIN);
	if (tag < 0 || wc_send(&s->admin, buf, pmof_put_login_reply((void *)buf, tag, &r)))
		return -1;
	return tell_segment(s, bad);
}

/* Until the client believes that it is connected. */
static inline int let_in(struct server *s, u32 methods)
{
	return let_admin_in(s, methods, 0) || take_queue(s, &s->io) < 0 ? -1 : 0;
}

/* The next one is let in by the same listener. */
static inline void leave(struct server *s)
{
	/* Theirs is the listener's. */
	s->io.channel = NULL;
	s->admin.channel = NULL;
	wc_close(&s->io);
	wc_close(&s->admin);
}

#endif
