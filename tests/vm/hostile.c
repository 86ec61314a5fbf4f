// SPDX-License-Identifier: GPL-2.0
/*
 * A peer that breaks every rule of docs/protocol.md. Each breach is rejected,
 * answered with a status, or ends its own session; meanwhile the kernel
 * client's connection keeps working and the medium keeps its content, which
 * the window fixture checks behind every test.
 */
#include <sys/wait.h>

#include "patience.h"
#include "wireclient.h"
#include "window.h"

/* --- connection requests -------------------------------------------------- */

static struct pmof_wire_connect good_connect(void)
{
	struct pmof_connect c = { .queue_depth = WC_DEPTH, .client_id = "hostile" };
	struct pmof_wire_connect w;

	pmof_put_connect(&w, &c);
	return w;
}

static int try_connect(const void *data, size_t len)
{
	struct wc_queue q;
	int rc = wc_connect_raw(&q, data, len, true);

	wc_close(&q);
	return rc;
}

TEST_F(window, a_good_session_first)
{
	struct wc_session s;

	ASSERT_EQ(0, wc_open(&s, 0));
	EXPECT_EQ(self->info.ns_size, s.login.ns_size);
	EXPECT_EQ(self->info.generation, s.login.generation);
	EXPECT_EQ(self->info.segment_size, s.login.segment_size);
	wc_close_session(&s);
}

TEST_F(window, connect_truncated)
{
	struct pmof_wire_connect w = good_connect();

	EXPECT_EQ(PMOF_SC_MAGIC, try_connect(NULL, 0));
	EXPECT_EQ(PMOF_SC_MAGIC, try_connect(&w, 3));
	/* The connection manager pads with zeros: what is cut off reads as 0. */
	EXPECT_EQ(PMOF_SC_VERSION, try_connect(&w, 4));
	EXPECT_EQ(PMOF_SC_INVALID, try_connect(&w, 8));
	EXPECT_EQ(PMOF_SC_INVALID, try_connect(&w, 24));
}

TEST_F(window, connect_wrong_fields)
{
	struct pmof_wire_connect w;

#define REJECTED(status, change) do {				\
		w = good_connect();				\
		change;						\
		EXPECT_EQ(status, try_connect(&w, sizeof(w)))	\
			TH_LOG("%s", #change);			\
	} while (0)
	REJECTED(PMOF_SC_MAGIC, w.magic = 0);
	REJECTED(PMOF_SC_MAGIC, w.magic ^= 0x80000000);
	REJECTED(PMOF_SC_VERSION, w.version = 0);
	REJECTED(PMOF_SC_VERSION, w.version = PMOF_WIRE_VERSION + 1);
	REJECTED(PMOF_SC_VERSION, w.version = 0xffff);
	REJECTED(PMOF_SC_INVALID, w.queue_depth = 0);
	REJECTED(PMOF_SC_INVALID, w.queue_depth = PMOF_MAX_DEPTH + 1);
	REJECTED(PMOF_SC_INVALID, w.queue_depth = 0xffff);
	REJECTED(PMOF_SC_INVALID, w.queue_id = 1);
	REJECTED(PMOF_SC_INVALID, w.queue_id = PMOF_MAX_QUEUES + 1; w.session_id = 1);
	REJECTED(PMOF_SC_INVALID, w.queue_id = 0xffff; w.session_id = 1);
	REJECTED(PMOF_SC_INVALID, w.session_id = 1);
	REJECTED(PMOF_SC_INVALID, w.flags = 1);
	REJECTED(PMOF_SC_INVALID, w.flags = 2);
	REJECTED(PMOF_SC_INVALID, w.reserved32 = 0x80000000);
	REJECTED(PMOF_SC_INVALID, w.client_id[0] = 0);
	REJECTED(PMOF_SC_INVALID, w.client_id[0] = '/');
	REJECTED(PMOF_SC_INVALID, memset(w.client_id, 'a', sizeof(w.client_id)));
	REJECTED(PMOF_SC_NO_SESSION, w.queue_id = 1; w.session_id = 1);
	REJECTED(PMOF_SC_NO_SESSION, w.queue_id = 128; w.session_id = ~0ULL);
#undef REJECTED
}

TEST_F(window, io_queue_where_it_does_not_belong)
{
	struct pmof_connect c = { .queue_id = 1, .queue_depth = 4, .client_id = "somebody-else" };
	struct pmof_wire_connect w;
	struct wc_session s;
	struct wc_queue q;

	ASSERT_EQ(0, wc_open(&s, 0));
	EXPECT_EQ(PMOF_SC_BUSY, wc_connect(&q, 1, s.login.session_id));
	wc_close(&q);
	EXPECT_EQ(PMOF_SC_INVALID, wc_connect(&q, s.login.nr_queues + 1, s.login.session_id));
	wc_close(&q);
	EXPECT_EQ(PMOF_SC_NO_SESSION, wc_connect(&q, 2, s.login.session_id ^ 1));
	wc_close(&q);
	c.session_id = s.login.session_id;
	pmof_put_connect(&w, &c);
	EXPECT_EQ(PMOF_SC_NO_SESSION, try_connect(&w, sizeof(w)));
	/* The session has not suffered. */
	EXPECT_EQ(0, wc_connect(&q, 2, s.login.session_id));
	wc_close(&q);
	wc_close_session(&s);
	EXPECT_EQ(PMOF_SC_NO_SESSION, wc_join_closed(&s));
}

/* --- the admin queue ------------------------------------------------------- */

/* One message as the first on a new admin queue. */
static int first_message(const void *msg, size_t len)
{
	struct wc_queue q;
	int rc = wc_connect(&q, 0, 0);

	if (!rc)
		rc = wc_call(&q, msg, len);
	wc_close(&q);
	return rc;
}

TEST_F_TIMEOUT(window, login_truncated, 60)
{
	struct pmof_wire_login w;
	size_t len = wc_put_login(&w, "data", 0), n;

	for (n = 0; n < len; n += n < 20 ? 1 : 7) {
		w.hdr.length = len;
		EXPECT_EQ(ENDED, first_message(&w, n)) TH_LOG("%zu bytes", n);
		w.hdr.length = n;
		EXPECT_EQ(ENDED, first_message(&w, n)) TH_LOG("%zu bytes, length agrees", n);
	}
}

TEST_F(window, login_oversized)
{
	static const size_t sizes[] = { sizeof(struct pmof_wire_login) + 1, 4096, 4097, 8000 };
	char buf[WC_BUF] = { 0 };
	struct pmof_wire_login *w = (void *)buf;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		if (!soft_roce_survives(sizes[i])) {
			TH_LOG("%zu bytes: left out", sizes[i]);
			continue;
		}
		wc_put_login(w, "data", 0);
		w->hdr.length = sizes[i];
		EXPECT_EQ(ENDED, first_message(buf, sizes[i])) TH_LOG("%zu bytes", sizes[i]);
	}
}

TEST_F(window, login_wrong_fields)
{
	struct pmof_wire_login w;

#define ENDS(change) do {						\
		wc_put_login(&w, "data", 0);				\
		change;							\
		EXPECT_EQ(ENDED, first_message(&w, sizeof(w)))		\
			TH_LOG("%s", #change);				\
	} while (0)
	ENDS(w.hdr.flags = 1);
	ENDS(w.hdr.status = 1);
	ENDS(w.hdr.reserved = 1);
	ENDS(w.hdr.length = 0xffffffff);
	ENDS(w.hdr.length = sizeof(w) - 1);
	ENDS(w.hdr.opcode |= PMOF_MSG_REPLY);
	ENDS(w.nr_queues = 0);
	ENDS(w.nr_queues = PMOF_MAX_QUEUES + 1);
	ENDS(w.nr_queues = 0xffff);
	ENDS(w.flags = PMOF_LOGIN_F_ALL);
	ENDS(w.flags = 0x1000);
	ENDS(w.flags = 0x80000000);
	ENDS(w.call_size = 0);
	ENDS(w.call_size = PMOF_IO_MSG_SIZE + 1);
	ENDS(w.call_size = PMOF_CALL_SIZE_MAX + PMOF_IO_MSG_SIZE);
	ENDS(w.reserved = 1);
	ENDS(w.name[0] = 0);
	ENDS(memcpy(w.name, "../x", 4));
	ENDS(memset(w.name, 'a', sizeof(w.name)));
#undef ENDS
}

TEST_F(window, opcodes_that_the_admin_queue_does_not_take)
{
	static const u8 opcodes[] = { 0x00, 0x0e, 0x0f, PMOF_MSG_ANNOUNCE,
				      PMOF_MSG_PERSIST, PMOF_MSG_PUT, PMOF_MSG_COMMIT,
				      PMOF_MSG_PREPARE, PMOF_MSG_REVALIDATE, 0x15, 0x7f };
	struct pmof_wire_hdr h;
	struct wc_session s;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		pmof_put_hdr(&h, opcodes[i], 1, sizeof(h), 0);
		EXPECT_TRUE(refused(first_message(&h, sizeof(h)))) TH_LOG("%#x", opcodes[i]);
		ASSERT_EQ(0, wc_login(&s, 0));
		EXPECT_TRUE(refused(wc_call(&s.admin, &h, sizeof(h)))) TH_LOG("%#x", opcodes[i]);
		wc_close_session(&s);
	}
}

TEST_F(window, requests_before_the_login)
{
	struct pmof_wire_get_segments g;
	struct pmof_wire_hdr h;

	pmof_put_get_segments(&g, 1, 0, 1);
	EXPECT_EQ(ENDED, first_message(&g, sizeof(g)));
	pmof_put_hdr(&h, PMOF_MSG_GET_STATS, 1, sizeof(h), 0);
	EXPECT_EQ(ENDED, first_message(&h, sizeof(h)));
}

TEST_F(window, second_login)
{
	struct pmof_wire_login w;
	struct wc_session s;

	ASSERT_EQ(0, wc_open(&s, 0));
	EXPECT_EQ(ENDED, wc_call(&s.admin, &w, wc_put_login(&w, "data", 0)));
	EXPECT_TRUE(wc_ends(&s.io, 20000));
	wc_close_session(&s);
}

/* A request that is well formed and cannot be done: a status, and on it goes. */
TEST_F(window, login_to_no_namespace)
{
	struct pmof_wire_login w;
	struct wc_queue q;

	ASSERT_EQ(0, wc_connect(&q, 0, 0));
	EXPECT_EQ(PMOF_SC_NO_NAMESPACE, wc_call(&q, &w, wc_put_login(&w, "nothing", 0)));
	EXPECT_EQ(0, wc_call(&q, &w, wc_put_login(&w, vm_env("PMOF_NS", "data"), 0)));
	wc_close(&q);
}

/* Where there is no service, nobody has to have room for long messages. */
TEST_F(window, no_long_calls_without_a_service)
{
	struct pmof_login_reply r;
	struct pmof_wire_login w;
	struct wc_queue q;
	const void *msg;
	size_t len;
	ssize_t n;

	ASSERT_EQ(0, wc_connect(&q, 0, 0));
	len = wc_put_login(&w, vm_env("PMOF_NS", "data"), 0);
	w.call_size = PMOF_CALL_SIZE_MAX;
	ASSERT_EQ(0, wc_send(&q, &w, len));
	n = wc_recv(&q, &msg, 10000);
	ASSERT_LT(0, n);
	ASSERT_EQ(0, pmof_get_login_reply(msg, n, &r));
	EXPECT_EQ(PMOF_IO_MSG_SIZE, r.call_size);
	wc_close(&q);
}

TEST_F(window, segments_out_of_range)
{
	struct wc_session s;
	struct pmof_wire_get_segments g;
	u32 nr, i;

	ASSERT_EQ(0, wc_login(&s, 0));
	nr = s.login.nr_segments;
	const struct { u32 first, count; } bad[] = {
		{ 0, 0 }, { nr, 1 }, { 0, nr + 1 }, { nr - 1, 2 }, { 1, ~0U }, { ~0U, 1 },
		{ ~0U, ~0U }, { 0x80000000, 0x80000000 },
	};

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(PMOF_SC_RANGE, wc_call(&s.admin, &g,
						 pmof_put_get_segments(&g, 1, bad[i].first,
								       bad[i].count)))
			TH_LOG("case %u", i);
	EXPECT_EQ(0, wc_call(&s.admin, &g, pmof_put_get_segments(&g, 1, nr - 1, 1)));
	wc_close_session(&s);
}

TEST_F(window, segments_malformed)
{
	char buf[64] = { 0 };
	struct pmof_wire_get_segments *g = (void *)buf;
	struct wc_session s;
	size_t n;

	for (n = 16; n <= 40; n += 4) {
		if (n == sizeof(*g))
			continue;
		ASSERT_EQ(0, wc_login(&s, 0));
		pmof_put_get_segments(g, 1, 0, 1);
		g->hdr.length = n;
		EXPECT_EQ(ENDED, wc_call(&s.admin, g, n)) TH_LOG("%zu bytes", n);
		wc_close_session(&s);
	}
}

/* More than the depth at once, and nobody reads the replies in between. */
TEST_F(window, admin_flood)
{
	struct pmof_wire_hdr h;
	struct wc_session s;
	int i;

	ASSERT_EQ(0, wc_login(&s, 0));
	pmof_put_hdr(&h, PMOF_MSG_GET_STATS, 1, sizeof(h), 0);
	memcpy(wc_out(&s.admin), &h, sizeof(h));
	for (i = 0; i < 60; i++)
		if (wc_post(&s.admin, IBV_WR_SEND, sizeof(h), 0, 0))
			break;
	usleep(500000);
	wc_close_session(&s);
}

TEST_F_TIMEOUT(window, no_login_at_all, 60)
{
	struct wc_queue q;

	ASSERT_EQ(0, wc_connect(&q, 0, 0));
	EXPECT_FALSE(wc_ends(&q, 3000));
	EXPECT_TRUE(wc_ends(&q, 40000)) TH_LOG("not logged in, and still there");
	wc_close(&q);
}

/* --- manners --------------------------------------------------------------- */

TEST_F_TIMEOUT(window, many_without_a_login, 60)
{
	struct wc_queue q[20];
	int i, n = 0;

	for (i = 0; i < 20; i++)
		n += !wc_connect(&q[i], 0, 0);
	EXPECT_EQ(20, n);
	EXPECT_EQ(0, vm_put(self->fd, WINDOW_OFF, self->before, 4096, PMOF_F_PERSIST));
	for (i = 0; i < 20; i++)
		wc_close(&q[i]);
}

TEST_F_TIMEOUT(window, killed_with_requests_under_way, 60)
{
	struct pmof_range range = { 0, 1 << 20 };
	int i, k, status;
	pid_t pid;

	for (i = 0; i < 5; i++) {
		pid = fork();
		if (!pid) {
			struct wc_session s;
			u64 addr;

			if (wc_open(&s, 0))
				_exit(1);
			wc_at(&s, WINDOW_OFF, &addr);
			for (k = 0; k < 50; k++)
				wc_post(&s.io, IBV_WR_SEND,
					pmof_put_persist((void *)wc_out(&s.io), 1, &range, 1),
					0, 0);
			kill(getpid(), SIGKILL);
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_TRUE(WIFSIGNALED(status));
		EXPECT_EQ(0, vm_put(self->fd, WINDOW_OFF, self->before, 4096, PMOF_F_PERSIST));
	}
}

/* Good messages with random damage, and plain garbage, in every state. */
TEST_F_TIMEOUT(window, random_messages, 90)
{
	int rounds = atoi(vm_env("PMOF_HOSTILE_ROUNDS", "60")), round, k, n, rc;
	struct pmof_range range = { WINDOW_OFF, 64 };
	uint64_t state = 99;
	char msg[600];

	for (round = 0; round < rounds; round++) {
		bool admin = round % 2;
		struct wc_session s;
		size_t len;

		ASSERT_EQ(0, wc_open(&s, 0)) TH_LOG("round %d", round);
		for (n = 0; n < 8; n++) {
			vm_fill(&state, msg, sizeof(msg));
			len = vm_rnd(&state) % 200;
			if (vm_rnd(&state) % 4) {
				len = admin ? pmof_put_get_segments((void *)msg, n, 0, 1) :
				      pmof_put_persist((void *)msg, n, &range, 1);
				for (k = vm_rnd(&state) % 3; k; k--)
					msg[vm_rnd(&state) % len] = vm_rnd(&state) >> 30;
			}
			rc = wc_call(admin ? &s.admin : &s.io, msg, len);
			EXPECT_NE(-ETIMEDOUT, rc) TH_LOG("round %d: neither answered nor ended", round);
			if (rc == ENDED || rc == -ETIMEDOUT)
				break;
		}
		wc_close_session(&s);
	}
}

TEST_HARNESS_MAIN
