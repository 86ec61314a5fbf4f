// SPDX-License-Identifier: GPL-2.0
/*
 * As hostile.c, on I/O queues: PERSIST messages that lie, and memory that is not
 * the session's.
 */
#include "wireclient.h"
#include "window.h"

/* --- I/O queues ------------------------------------------------------------ */

TEST_F(window, persist_out_of_bounds)
{
	u64 size = self->info.ns_size;
	const struct pmof_range bad[] = {
		{ size, 1 }, { 0, size + 1 }, { size + 1, 0 }, { 1, ~0ULL }, { ~0ULL, 1 },
		{ ~0ULL, ~0ULL }, { ~0ULL - 63, 64 }, { 1ULL << 63, 1ULL << 63 },
		{ size - 63, 64 },
	};
	struct pmof_range range[PMOF_MAX_RANGES];
	char buf[PMOF_IO_MSG_SIZE];
	struct wc_session s;
	size_t i, k;

	ASSERT_EQ(0, wc_open(&s, 0));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(PMOF_SC_RANGE,
			  wc_call(&s.io, buf, pmof_put_persist((void *)buf, 1, &bad[i], 1)))
			TH_LOG("case %zu", i);
		/* The same behind fifteen good ones. */
		for (k = 0; k < PMOF_MAX_RANGES - 1; k++)
			range[k] = (struct pmof_range){ k * 4096, 64 };
		range[k] = bad[i];
		EXPECT_EQ(PMOF_SC_RANGE,
			  wc_call(&s.io, buf, pmof_put_persist((void *)buf, 1, range,
							       PMOF_MAX_RANGES)));
	}
	range[0] = (struct pmof_range){ 0, 64 };
	EXPECT_EQ(0, wc_call(&s.io, buf, pmof_put_persist((void *)buf, 1, range, 1)));
	wc_close_session(&s);
}

TEST_F_TIMEOUT(window, persist_lies, 60)
{
	static const u16 counts[] = {
		0, 1, 3, PMOF_MAX_RANGES, PMOF_MAX_RANGES + 1, 0x1002, 0xffff
	};
	struct pmof_range range[PMOF_MAX_RANGES + 1] = { { 0, 64 }, { 4096, 64 } };
	char buf[PMOF_IO_MSG_SIZE] = { 0 };
	struct pmof_wire_persist *w = (void *)buf;
	struct wc_session s;
	size_t i, n, len;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		ASSERT_EQ(0, wc_open(&s, 0));
		len = pmof_put_persist(w, 1, range, 2);
		w->nr_ranges = counts[i];
		EXPECT_EQ(ENDED, wc_call(&s.io, buf, len)) TH_LOG("count %u", counts[i]);
		wc_close_session(&s);
	}
	/* One range too many, and a length that agrees. */
	ASSERT_EQ(0, wc_open(&s, 0));
	len = pmof_put_persist(w, 1, range, PMOF_MAX_RANGES + 1);
	EXPECT_EQ(ENDED, wc_call(&s.io, buf, len));
	wc_close_session(&s);
	/* Cut at every 4 bytes, and too long for the buffer. */
	len = pmof_put_persist(w, 1, range, 2);
	for (n = 0; n <= 600; n += n < len ? 4 : 200) {
		if (n == len)
			continue;
		ASSERT_EQ(0, wc_open(&s, 0));
		w->hdr.length = n;
		EXPECT_EQ(ENDED, wc_call(&s.io, buf, n)) TH_LOG("%zu bytes", n);
		wc_close_session(&s);
	}
}

TEST_F(window, persist_reserved_fields)
{
	struct pmof_range range = { 0, 64 };
	char buf[64];
	struct pmof_wire_persist *w = (void *)buf;
	struct wc_session s;
	int i;

	for (i = 0; i < 2; i++) {
		size_t len = pmof_put_persist(w, 1, &range, 1);

		if (i)
			w->reserved32 = 1;
		else
			pmof_put_persist_flags(w, PMOF_PERSIST_F_GOOD << 1);
		ASSERT_EQ(0, wc_open(&s, 0));
		EXPECT_EQ(ENDED, wc_call(&s.io, buf, len));
		wc_close_session(&s);
	}
}

TEST_F(window, opcodes_that_io_queues_do_not_take)
{
	static const u8 opcodes[] = { 0x00, PMOF_MSG_LOGIN, PMOF_MSG_GET_SEGMENTS,
				      PMOF_MSG_GET_STATS, 0x0f, 0x15, 0x7f };
	struct pmof_wire_login w;
	struct wc_session s;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		wc_put_login(&w, "data", 0);
		w.hdr.opcode = opcodes[i];
		ASSERT_EQ(0, wc_open(&s, 0));
		EXPECT_TRUE(refused(wc_call(&s.io, &w, sizeof(w)))) TH_LOG("%#x", opcodes[i]);
		wc_close_session(&s);
	}
}

TEST_F(window, messages_of_another_kind)
{
	struct pmof_range range = { 0, 64 };
	struct wc_session s;
	size_t len;
	u64 addr;
	u32 rkey;

	ASSERT_EQ(0, wc_open(&s, 0));
	len = pmof_put_persist((void *)wc_out(&s.io), 1, &range, 1);
	ASSERT_EQ(0, wc_post(&s.io, IBV_WR_SEND_WITH_IMM, len, 0, 0));
	EXPECT_TRUE(wc_ends(&s.io, 20000));
	wc_close_session(&s);
	ASSERT_EQ(0, wc_open(&s, 0));
	rkey = wc_at(&s, WINDOW_OFF, &addr)->rkey;
	memcpy(wc_out(&s.io), self->before, 64);
	ASSERT_EQ(0, wc_post(&s.io, IBV_WR_RDMA_WRITE_WITH_IMM, 64, addr, rkey));
	EXPECT_TRUE(wc_ends(&s.io, 20000));
	wc_close_session(&s);
}

/* Right behind a request what ends its session: it may be dropped as the worker takes it. */
TEST_F_TIMEOUT(window, request_and_end, 90)
{
	struct pmof_range range = { 0, 64 };
	struct wc_session s;
	size_t len;
	int i;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, wc_open(&s, 0));
		len = pmof_put_persist((void *)wc_out(&s.io), 1, &range, 1);
		ASSERT_EQ(0, wc_post(&s.io, IBV_WR_SEND, len, 0, 0));
		ASSERT_EQ(0, wc_post(&s.io, IBV_WR_SEND_WITH_IMM, len, 0, 0));
		EXPECT_TRUE(wc_ends(&s.io, 20000));
		wc_close_session(&s);
	}
	EXPECT_EQ(0, vm_put(self->fd, WINDOW_OFF, self->before, 4096, PMOF_F_PERSIST));
}

/* Far more requests than the depth: each is answered, or the session ends. */
TEST_F(window, persist_flood)
{
	struct pmof_range range = { 0, 64 };
	struct wc_session s;
	int sent, replies;

	ASSERT_EQ(0, wc_open(&s, 0));
	sent = wc_flood(&s.io, pmof_put_persist((void *)wc_out(&s.io), 1, &range, 1), &replies);
	EXPECT_TRUE(s.io.ended || replies == sent) TH_LOG("%d of %d replies", replies, sent);
	wc_close_session(&s);
}

/* The server's replies find no receive: that is this client's problem only. */
TEST_F(window, client_that_posts_no_receives)
{
	struct pmof_connect c = { .queue_id = 1, .queue_depth = 8, .client_id = "hostile" };
	struct pmof_range range = { 0, 64 };
	struct pmof_wire_connect w;
	struct wc_session s;
	size_t len;
	int i;

	ASSERT_EQ(0, wc_login(&s, 0));
	c.session_id = s.login.session_id;
	pmof_put_connect(&w, &c);
	ASSERT_EQ(0, wc_connect_raw(&s.io, &w, sizeof(w), false));
	len = pmof_put_persist((void *)wc_out(&s.io), 1, &range, 1);
	for (i = 0; i < 8; i++)
		ASSERT_EQ(0, wc_post(&s.io, IBV_WR_SEND, len, 0, 0));
	usleep(500000);
	ASSERT_EQ(0, vm_put(self->fd, WINDOW_OFF, self->before, 4096, PMOF_F_PERSIST));
	wc_close_session(&s);
}

/* --- memory ---------------------------------------------------------------- */

/* One RDMA request on a session of its own; true if it succeeds. */
static bool rdma(struct wc_session *s, enum ibv_wr_opcode opcode, u64 addr, u32 rkey, size_t len)
{
	memset(wc_out(&s->io), 0xee, len);
	return !wc_post(&s->io, opcode, len, addr, rkey) &&
	       wc_completed(&s->io, s->io.posts, 5000) == IBV_WC_SUCCESS;
}

TEST_F(window, rdma_out_of_bounds)
{
	struct pmof_segment_desc seg;
	struct wc_session s;
	int i;

	for (i = 0; i < 6; i++) {
		ASSERT_EQ(0, wc_open(&s, 0));
		seg = s.seg[s.nr_seg - 1];
		switch (i) {
		case 0:	/* crosses the end */
			EXPECT_FALSE(rdma(&s, IBV_WR_RDMA_WRITE, seg.addr + seg.length - 1,
					  seg.rkey, 2));
			break;
		case 1:	/* before the start */
			EXPECT_FALSE(rdma(&s, IBV_WR_RDMA_WRITE, s.seg[0].addr - 1, s.seg[0].rkey,
					  2));
			break;
		case 2:	/* far away */
			EXPECT_FALSE(rdma(&s, IBV_WR_RDMA_WRITE, 0xffff888000000000ULL, seg.rkey,
					  64));
			break;
		case 3:	/* wraps */
			EXPECT_FALSE(rdma(&s, IBV_WR_RDMA_WRITE, ~0ULL - 7, seg.rkey, 64));
			break;
		case 4:	/* no such key */
			EXPECT_FALSE(rdma(&s, IBV_WR_RDMA_WRITE, seg.addr, seg.rkey ^ 0x5a5a5a00,
					  64));
			break;
		case 5:
			EXPECT_FALSE(rdma(&s, IBV_WR_RDMA_READ, seg.addr + seg.length, seg.rkey,
					  1));
			break;
		}
		EXPECT_TRUE(wc_ends(&s.io, 20000));
		wc_close_session(&s);
	}
}

/* Keys belong to a session's protection domain. */
TEST_F(window, key_of_another_session)
{
	struct wc_session a, b;
	u64 addr;
	u32 rkey;

	ASSERT_EQ(0, wc_open(&a, 0));
	ASSERT_EQ(0, wc_open(&b, 0));
	rkey = wc_at(&a, WINDOW_OFF, &addr)->rkey;
	EXPECT_TRUE(rdma(&a, IBV_WR_RDMA_READ, addr, rkey, 64));
	EXPECT_FALSE(rdma(&b, IBV_WR_RDMA_WRITE, addr, rkey, 64));
	EXPECT_TRUE(rdma(&a, IBV_WR_RDMA_READ, addr, rkey, 64));
	wc_close_session(&b);
	wc_close_session(&a);
}

TEST_F(window, key_of_a_session_that_has_ended)
{
	struct wc_session a, b;
	u64 addr;
	u32 rkey;

	ASSERT_EQ(0, wc_open(&a, 0));
	rkey = wc_at(&a, WINDOW_OFF, &addr)->rkey;
	wc_close_session(&a);
	usleep(300000);
	ASSERT_EQ(0, wc_open(&b, 0));
	if (wc_at(&b, WINDOW_OFF, &addr)->rkey != rkey)
		EXPECT_FALSE(rdma(&b, IBV_WR_RDMA_WRITE, addr, rkey, 64));
	wc_close_session(&b);
}

/* A session whose key is good for reading what is at *@addr.  Returns the key. */
static u32 open_and_read(struct __test_metadata *_metadata, struct wc_session *s, u32 flags,
			 u64 *addr)
{
	u32 rkey;

	ASSERT_EQ(0, wc_open(s, flags));
	rkey = wc_at(s, WINDOW_OFF, addr)->rkey;
	EXPECT_TRUE(rdma(s, IBV_WR_RDMA_READ, *addr, rkey, 64));
	return rkey;
}

/* The admin queue is for messages: it may outlive what the session was granted. */
TEST_F(window, own_key_by_the_admin_queue)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE,
						      IBV_WR_ATOMIC_FETCH_AND_ADD };
	struct wc_session s;
	size_t i;
	u64 addr;
	u32 rkey;

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		rkey = open_and_read(_metadata, &s, 0, &addr);
		memset(wc_out(&s.admin), 0x5a, 64);
		ASSERT_EQ(0, wc_post(&s.admin, opcodes[i], opcodes[i] == IBV_WR_RDMA_READ ? 64 : 8,
				     addr, rkey));
		EXPECT_NE(IBV_WC_SUCCESS, wc_completed(&s.admin, s.admin.posts, 20000))
			TH_LOG("operation %zu", i);
		EXPECT_TRUE(wc_ends(&s.io, 20000));
		wc_close_session(&s);
	}
}

TEST_F(window, read_only_session_cannot_write)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_WRITE,
						      IBV_WR_ATOMIC_FETCH_AND_ADD };
	struct wc_session s;
	size_t i;
	u64 addr;
	u32 rkey;

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		rkey = open_and_read(_metadata, &s, PMOF_LOGIN_F_READ_ONLY, &addr);
		EXPECT_TRUE(s.login.flags & PMOF_LOGIN_R_READ_ONLY);
		EXPECT_FALSE(rdma(&s, opcodes[i], addr, rkey, 8));
		EXPECT_TRUE(wc_ends(&s.io, 20000));
		wc_close_session(&s);
	}
}

TEST_HARNESS_MAIN
