// SPDX-License-Identifier: GPL-2.0
/*
 * A server that the kernel client should not have come to: it lets it in, to a namespace of
 * which it has nothing, and then is silent, or answers what was not asked, or wrongly. The
 * client leaves such a connection, and can be disconnected.
 */
#include <sys/wait.h>

#include "patience.h"
#include "window.h"
#include "wireserver.h"

#define METHODS		(1 << PMOF_METHOD_ASSIST | 1 << PMOF_METHOD_RPC)
#define LEAVES_MS	200	/* whom it has let in, by when he knows */
#define DELAY	4		/* seconds, the longest between the client's attempts */

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

/* --- the server ------------------------------------------------------------------------- */

static void send_header(struct wc_queue *q, u8 opcode, u16 tag, u32 status, size_t len)
{
	char buf[64] = "";

	pmof_put_hdr((void *)buf, opcode, tag, len, status);
	wc_send(q, buf, len);
}

/* @opcode: of the reply that would be right. */
static void do_wrong(struct server *s, enum wrong wrong, u8 opcode, u16 tag)
{
	const size_t len = sizeof(struct pmof_wire_hdr);
	char buf[64];

	if (wrong >= SERVED)
		send_header(&s->io, opcode, tag, 0, len);
	switch (wrong) {
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

static void answer_admin(struct server *s, enum wrong wrong, const struct pmof_wire_hdr *h)
{
	u8 opcode = h->opcode | PMOF_MSG_REPLY;

	if (wrong == KEEP_ALIVE_OPCODE && h->opcode == PMOF_MSG_KEEPALIVE)
		opcode = PMOF_MSG_GET_STATS | PMOF_MSG_REPLY;
	send_header(&s->admin, opcode, le16toh(h->tag), 0, sizeof(*h));
}

/* Lets the client in, again and again, and leaves it. */
static int let_in_and_leave(void)
{
	struct server s = { };

	if (listen_here(&s.listener))
		return 2;
	for (;;) {
		if (let_in(&s, METHODS))
			return 3;
		usleep(LEAVES_MS * 1000);
		leave(&s);
	}
}

/* Ends when the client has left, or is killed. */
static int serve(enum wrong wrong)
{
	struct server s = { };
	const struct pmof_wire_hdr *h;
	bool answers = wrong != SILENT;
	const void *msg;

	if (listen_here(&s.listener) || let_in(&s, METHODS))
		return 2;
	while (!s.admin.ended && !s.io.ended) {
		if (wc_recv(&s.admin, &msg, 10) >= (ssize_t)sizeof(*h) && answers)
			answer_admin(&s, wrong, msg);
		if (wc_recv(&s.io, &msg, 10) >= (ssize_t)sizeof(*h) && answers) {
			h = msg;
			answers = wrong != NO_ANSWER;
			do_wrong(&s, wrong, h->opcode | PMOF_MSG_REPLY, le16toh(h->tag));
		}
	}
	return 0;
}

/* --- the client ------------------------------------------------------------------------- */

static int connect_to_it(void)
{
	char options[256];

	snprintf(options, sizeof(options), "addr=%s,port=%d,name=data,block=0,queues=1,persist=rpc,"
		 "keep_alive_tmo=%d,reconnect_delay=%d,fail_io_timeout=0", own_address(), PORT,
		 (int)(4 * vm_time_factor()), DELAY);
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

/* Three times the client comes back at once; then it waits 1, 2, 4, 4, ... seconds. */
TEST_F_TIMEOUT(window, lets_in_and_leaves, 300)
{
	const int seconds = 15 * vm_time_factor();
	int instance, status, tries = 3;
	uint64_t back;
	pid_t pid;

	pid = fork();
	if (!pid)
		_exit(let_in_and_leave());
	/* A machine that stood still has been left ahead of knowing that it was in. */
	do
		instance = connect_to_it();
	while (instance == -ECONNRESET && --tries);
	EXPECT_LE(0, instance) TH_LOG("%d", instance);
	if (instance >= 0) {
		sleep(seconds);
		back = vm_attr_number(instance, "reconnects");
		TH_LOG("back %llu times in %d s", (unsigned long long)back, seconds);
		EXPECT_LT(3, back);
		/* Twice what it should be: it may have begun anew. */
		EXPECT_GE(2 * (3 + 3) + seconds / DELAY, back);
	}
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_FALSE(WIFEXITED(status)) TH_LOG("the server: %d", WEXITSTATUS(status));
	if (instance >= 0)
		EXPECT_EQ(0, vm_disconnect(instance));
}

TEST_HARNESS_MAIN
