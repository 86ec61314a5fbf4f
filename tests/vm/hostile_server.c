// SPDX-License-Identifier: GPL-2.0
/*
 * A server that the kernel client should not have come to: it lets it in, to a namespace of
 * which it has nothing, and then is silent, or answers what was not asked, or wrongly. The
 * client leaves such a connection, and can be disconnected.
 */
#include <sys/wait.h>

#include "patience.h"
#include "wireclient.h"
#include "window.h"

#define PORT	20051
#define SIZE	(1 << 20)	/* of the namespace: one segment */

/* What it does with the first message on the I/O queue; KEEPALIVE it answers. */
enum wrong {
	SILENT,			/* but for that: from the beginning */
	NO_ANSWER,		/* nor to a KEEPALIVE that follows */
	STUCK,			/* nor ever, but to each KEEPALIVE */
	OTHER_OPCODE,
	REQUEST,		/* no reply at all, by its opcode */
	LONG,
	BAD_STATUS,
	SERVED,			/* from here on behind the answer that is due: */
	UNKNOWN_TAG = SERVED,
	TWICE,
	SHORT,
	ANNOUNCE_KIND,
	ANNOUNCE_SHORT,
	ADMIN_UNASKED,
	KEEP_ALIVE_OPCODE,	/* of what answers one */
	NR_WRONG
};

static const char * const wrong_name[NR_WRONG] = {
	"silent", "no answer", "stuck", "other opcode", "request", "long", "bad status", "unknown tag",
	"twice", "short", "announcement of an unknown kind", "short announcement",
	"an answer on the admin queue", "other opcode to a KEEPALIVE",
};

struct server {
	struct wc_queue listener, admin, io;
	enum wrong wrong;
};

static const char *own_address(void)
{
	return vm_env("LAB_IP", "10.77.0.11");
}

/* --- the server ------------------------------------------------------------------------- */

static int listen_here(struct wc_queue *listener)
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

/* The next connection request gets a queue. */
static int take_queue(struct server *s, struct wc_queue *q)
{
	struct pmof_wire_accept a;
	struct rdma_conn_param param = {
		.private_data = &a, .private_data_len = sizeof(a), .responder_resources = 1,
		.initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7,
	};
	struct rdma_cm_event *ev;

	/* The channel is all queues': there is what they become, too. */
	while ((ev = wc_event(&s->listener, 30000)) && ev->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		rdma_ack_cm_event(ev);
	if (!ev)
		return -1;
	q->id = ev->id;
	q->channel = s->listener.channel;
	rdma_ack_cm_event(ev);
	pmof_put_accept(&a, 0, 4);
	return wc_resources(q, true) || rdma_accept(q->id, &param) ? -1 : 0;
}

/* The tag of the next message, if it is of this opcode. */
static int take_message(struct wc_queue *q, u8 opcode)
{
	const struct pmof_wire_hdr *h;
	const void *msg;

	if (wc_recv(q, &msg, 30000) < (ssize_t)sizeof(*h))
		return -1;
	h = msg;
	return h->opcode == opcode ? le16toh(h->tag) : -1;
}

/* Until the client believes that it is connected. */
static int let_in(struct server *s)
{
	struct pmof_login_reply r = {
		.session_id = 1, .generation = 1, .ns_size = SIZE, .segment_size = SIZE,
		.nr_segments = 1, .methods = 1 << PMOF_METHOD_ASSIST | 1 << PMOF_METHOD_RPC,
		.nr_queues = 1, .max_ranges = 16, .max_inline = PMOF_MAX_INLINE, .domain = 1,
		.flags = PMOF_LOGIN_R_DURABLE, .call_size = PMOF_IO_MSG_SIZE,
	};
	struct pmof_segment_desc seg = { .addr = 4096, .length = SIZE, .rkey = 0x1234 };
	char buf[256];
	int tag;

	if (listen_here(&s->listener) || take_queue(s, &s->admin))
		return -1;
	tag = take_message(&s->admin, PMOF_MSG_LOGIN);
	if (tag < 0 || wc_send(&s->admin, buf, pmof_put_login_reply((void *)buf, tag, &r)))
		return -1;
	tag = take_message(&s->admin, PMOF_MSG_GET_SEGMENTS);
	if (tag < 0 || wc_send(&s->admin, buf, pmof_put_segments_reply((void *)buf, tag, 0, &seg, 1)))
		return -1;
	return take_queue(s, &s->io);
}

static void send_header(struct wc_queue *q, u8 opcode, u16 tag, u32 status, size_t len)
{
	char buf[64] = "";

	pmof_put_hdr((void *)buf, opcode, tag, len, status);
	wc_send(q, buf, len);
}

/* @opcode: of the reply that would be right. */
static void do_wrong(struct server *s, u8 opcode, u16 tag)
{
	const size_t len = sizeof(struct pmof_wire_hdr);
	char buf[64];

	if (s->wrong >= SERVED)
		send_header(&s->io, opcode, tag, 0, len);
	switch (s->wrong) {
	case UNKNOWN_TAG:
		send_header(&s->io, opcode, tag ^ 0x4000, 0, len);
		break;
	case TWICE:
		send_header(&s->io, opcode, tag, 0, len);
		break;
	case OTHER_OPCODE:
		send_header(&s->io, PMOF_MSG_COMMIT | PMOF_MSG_REPLY, tag, 0, len);
		break;
	case REQUEST:
		send_header(&s->io, opcode & ~PMOF_MSG_REPLY, tag, 0, len);
		break;
	case SHORT:
		send_header(&s->io, opcode, tag, 0, len / 2);
		break;
	case LONG:
		send_header(&s->io, opcode, tag, 0, len + 8);
		break;
	case BAD_STATUS:
		send_header(&s->io, opcode, tag, PMOF_SC_INVALID, len);
		break;
	case ANNOUNCE_KIND:
		wc_send(&s->admin, buf, pmof_put_announce((void *)buf, PMOF_ANNOUNCE_MAX, 0));
		break;
	case ANNOUNCE_SHORT:
		send_header(&s->admin, PMOF_MSG_ANNOUNCE, 0, 0, len);
		break;
	case ADMIN_UNASKED:
		send_header(&s->admin, PMOF_MSG_GET_STATS | PMOF_MSG_REPLY, 0x4000, 0, len);
		break;
	default:
		break;
	}
}

static void answer_admin(struct server *s, const struct pmof_wire_hdr *h)
{
	u8 opcode = h->opcode | PMOF_MSG_REPLY;

	if (s->wrong == KEEP_ALIVE_OPCODE && h->opcode == PMOF_MSG_KEEPALIVE)
		opcode = PMOF_MSG_GET_STATS | PMOF_MSG_REPLY;
	send_header(&s->admin, opcode, le16toh(h->tag), 0, sizeof(*h));
}

/* Ends when the client has left, or is killed. */
static int serve(enum wrong wrong)
{
	struct server s = { .wrong = wrong };
	const struct pmof_wire_hdr *h;
	bool answers = wrong != SILENT;
	const void *msg;

	if (let_in(&s))
		return 2;
	while (!s.admin.ended && !s.io.ended) {
		if (wc_recv(&s.admin, &msg, 10) >= (ssize_t)sizeof(*h) && answers)
			answer_admin(&s, msg);
		if (wc_recv(&s.io, &msg, 10) >= (ssize_t)sizeof(*h) && answers) {
			h = msg;
			answers = wrong != NO_ANSWER;
			do_wrong(&s, h->opcode | PMOF_MSG_REPLY, le16toh(h->tag));
		}
	}
	return 0;
}

/* --- the client ------------------------------------------------------------------------- */

static int connect_to_it(void)
{
	char options[256];

	snprintf(options, sizeof(options), "addr=%s,port=%d,name=data,block=0,queues=1,persist=rpc,"
		 "keep_alive_tmo=%d,reconnect_delay=1,fail_io_timeout=0", own_address(), PORT,
		 (int)(4 * vm_time_factor()));
	return vm_connect_soon(options);
}

/* How long an operation may take, in seconds: returns what it was. */
static int limit_operations(int seconds)
{
	static const char path[] = "/sys/module/pmof_client/parameters/io_timeout";
	char text[16];
	int before;

	vm_line(path, text, sizeof(text));
	before = atoi(text);
	snprintf(text, sizeof(text), "%d\n", seconds);
	return vm_write_file(path, text) ? -1 : before;
}

/* True once the client has left the connection, which is not to be waited for in vain. */
static bool has_left(int instance)
{
	double until = vm_now() + 60 * vm_time_factor();

	while (vm_attr_is(instance, "state", "live") && vm_now() < until)
		usleep(20000);
	return vm_attr_is(instance, "state", "recovering");
}

TEST_F_TIMEOUT(window, wrong_answers, 300)
{
	int wrong, instance, fd, rc, status, limit;
	char data[64] = "to whom";
	pid_t pid;

	for (wrong = 0; wrong < NR_WRONG; wrong++) {
		pid = fork();
		if (!pid)
			_exit(serve(wrong));
		instance = connect_to_it();
		EXPECT_LE(0, instance) TH_LOG("%s: %d", wrong_name[wrong], instance);
		if (instance < 0) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			continue;
		}
		fd = vm_open(instance, O_RDWR);
		EXPECT_LE(0, fd);
		/* Nothing else ends that one. */
		limit = wrong == STUCK ? limit_operations(5 * vm_time_factor()) : 0;
		rc = vm_put(fd, 0, data, sizeof(data), PMOF_F_PERSIST);
		/* Behind the answer the connection may end before it is seen. */
		if (wrong < SERVED)
			EXPECT_NE(0, rc) TH_LOG("%s", wrong_name[wrong]);
		EXPECT_TRUE(has_left(instance)) TH_LOG("%s", wrong_name[wrong]);
		if (limit)
			EXPECT_LT(0, limit_operations(limit));
		close(fd);
		EXPECT_EQ(0, vm_disconnect(instance)) TH_LOG("%s", wrong_name[wrong]);
		kill(pid, SIGKILL);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status)) TH_LOG("%s", wrong_name[wrong]);
	}
}

TEST_HARNESS_MAIN
