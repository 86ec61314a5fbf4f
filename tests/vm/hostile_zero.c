// SPDX-License-Identifier: GPL-2.0
/* As hostile.c: ZERO, what it does and what is refused. */
#define WC_OUTS		2
#include "wireclient.h"
#include "window.h"
#include "wirestats.h"

#define AREA	(64 * KiB)	/* at WINDOW_OFF: what good ones work on here */
#define BIG_OFF	(64 * MiB)	/* for the largest */
#define ZEROS	8		/* of these under way at once */

static size_t build(void *buf, u16 tag, u64 offset, u64 length)
{
	struct pmof_range range = { offset, length };

	return pmof_put_zero(buf, tag, &range);
}

static int zero(struct wc_session *s, u64 offset, u64 length)
{
	struct pmof_wire_zero w;

	return wc_call(&s->io, &w, build(&w, 1, offset, length));
}

/* --- good ones ------------------------------------------------------------------ */

TEST_F(window, zeroes_its_range_and_nothing_else)
{
	static const struct { u64 offset, length; } cases[] = {
		{ 0, 1 }, { 3, 1 }, { 7, 2 }, { 63, 2 }, { 64, 64 }, { 1, 62 }, { 129, 127 },
		{ 4095, 1 }, { 4095, 2 }, { 4000, 200 }, { 4096, 4096 }, { 8191, 4098 },
		{ 12345, 20000 }, { 5, AREA - 5 }, { 0, AREA },
	};
	char *want = malloc(AREA);
	struct wc_session s;
	size_t i;

	self->may_change = true;
	ASSERT_EQ(0, wc_open(&s, 0));
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		memcpy(want, self->before, AREA);
		memset(want + cases[i].offset, 0, cases[i].length);
		ASSERT_EQ(0, vm_put(self->fd, WINDOW_OFF, self->before, AREA, PMOF_F_PERSIST));
		ASSERT_EQ(0, zero(&s, WINDOW_OFF + cases[i].offset, cases[i].length));
		ASSERT_EQ(0, vm_get(self->fd, WINDOW_OFF, self->now, AREA));
		EXPECT_EQ(0, memcmp(want, self->now, AREA)) TH_LOG("case %zu", i);
	}
	wc_close_session(&s);
	free(want);
}

TEST_F(window, counters)
{
	u64 before[PMOF_SRV_STAT_MAX], after[PMOF_SRV_STAT_MAX];
	struct wc_session s;

	self->may_change = true;
	ASSERT_EQ(0, wc_open(&s, 0));
	ASSERT_EQ(0, wc_stats(&s, before));
	/* 66 lines: one fence. */
	ASSERT_EQ(0, zero(&s, WINDOW_OFF + 63, 4098));
	/* Four rounds of 64 KiB, or more. */
	ASSERT_EQ(0, zero(&s, WINDOW_OFF + 1, 256 * KiB - 1));
	ASSERT_EQ(0, wc_stats(&s, after));
#define GREW(stat)	(after[PMOF_SRV_##stat] - before[PMOF_SRV_##stat])
	EXPECT_EQ(2, GREW(ZEROES));
	EXPECT_EQ(4098 + 256 * KiB - 1, GREW(BYTES_ZEROED));
	if (s.login.domain != PMOF_DOMAIN_CPU_CACHE)
		EXPECT_EQ(66 + 4096, GREW(LINES));
	EXPECT_LE(5, GREW(FENCES));
	EXPECT_EQ(2, GREW(RPC_CALLS));
	/* One of them is that of the first GET_STATS. */
	EXPECT_EQ(3, GREW(REPLIES));
	EXPECT_EQ(0, GREW(BAD_MESSAGES));
#undef GREW
	wc_close_session(&s);
}

TEST_F_TIMEOUT(window, the_largest, 120)
{
	const size_t step = 4 * MiB;
	struct wc_session s;
	char *zeroes;
	u64 at;

	if (self->info.ns_size < BIG_OFF + PMOF_MAX_ZERO + step)
		SKIP(return, "the namespace is too small");
	zeroes = calloc(1, step);
	for (at = 0; at < PMOF_MAX_ZERO + step; at += step)
		ASSERT_EQ(0, vm_put(self->fd, BIG_OFF + at, self->before, step, 0));
	ASSERT_EQ(0, wc_open(&s, 0));
	ASSERT_EQ(0, zero(&s, BIG_OFF, PMOF_MAX_ZERO));
	for (at = 0; at < PMOF_MAX_ZERO; at += step) {
		ASSERT_EQ(0, vm_get(self->fd, BIG_OFF + at, self->now, step));
		EXPECT_EQ(0, memcmp(zeroes, self->now, step)) TH_LOG("at %llu",
								     (unsigned long long)at);
	}
	ASSERT_EQ(0, vm_get(self->fd, BIG_OFF + at, self->now, step));
	EXPECT_EQ(0, memcmp(self->before, self->now, step));
	wc_close_session(&s);
	free(zeroes);
}

/* They are worked off in slices: a small PERSIST behind them need not wait for the last. */
TEST_F(window, delays_nobody)
{
	struct pmof_range range = { WINDOW_OFF, 64 };
	int i, persisted = ZEROS;
	struct wc_session s;
	const void *msg;
	size_t len;

	ASSERT_EQ(0, wc_open(&s, 0));
	len = build(wc_out_nr(&s.io, 0), 1, BIG_OFF, PMOF_MAX_ZERO);
	for (i = 0; i < ZEROS; i++)
		ASSERT_EQ(0, wc_post_nr(&s.io, 0, IBV_WR_SEND, len, 0, 0));
	len = pmof_put_persist((void *)wc_out_nr(&s.io, 1), 2, &range, 1);
	ASSERT_EQ(0, wc_post_nr(&s.io, 1, IBV_WR_SEND, len, 0, 0));
	for (i = 0; i <= ZEROS; i++) {
		ASSERT_LT(0, wc_recv(&s.io, &msg, 20000));
		if (*(const u8 *)msg == (PMOF_MSG_PERSIST | PMOF_MSG_REPLY))
			persisted = i;
	}
	EXPECT_GT(ZEROS, persisted);
	wc_close_session(&s);
}

/* --- refused -------------------------------------------------------------------- */

TEST_F_TIMEOUT(window, wrong_fields, 120)
{
	char buf[WC_BUF] = { 0 };
	struct pmof_wire_zero *w = (void *)buf;
	size_t n, len;

#define ENDS(change) do {							\
		len = build(buf, 1, WINDOW_OFF, AREA);				\
		change;								\
		EXPECT_EQ(ENDED, wc_lone_call(buf, len, 0)) TH_LOG("%s", #change);	\
	} while (0)
	ENDS(w->length = 0);
	ENDS(w->length = PMOF_MAX_ZERO + 1);
	ENDS(w->length = 1ULL << 32);
	ENDS(w->length = 1ULL << 63);
	ENDS(w->length = ~0ULL);
	ENDS(w->hdr.flags = 1);
	ENDS(w->hdr.status = 1);
	ENDS(w->hdr.reserved = 1);
	ENDS(w->hdr.length = 31);
	ENDS(w->hdr.length = 64);
#undef ENDS
	for (n = 0; n <= 4096; n = n < 48 ? n + 8 : 2 * n) {
		len = build(buf, 1, WINDOW_OFF, AREA);
		if (n == len)
			continue;
		w->hdr.length = n;
		EXPECT_EQ(ENDED, wc_lone_call(buf, n, 0)) TH_LOG("%zu bytes", n);
	}
}

/* Well formed and out of bounds: a status, nothing is written, the session goes on. */
TEST_F(window, out_of_bounds)
{
	u64 size = self->info.ns_size;
	const struct { u64 offset, length; } cases[] = {
		{ size, 1 }, { size - 1, 2 }, { size - 4096, 4097 }, { ~0ULL, 1 },
		{ ~0ULL - 4095, 4096 }, { ~0ULL - 4095, 8192 + WINDOW_OFF }, { 1ULL << 63, 64 },
		{ size - PMOF_MAX_ZERO + 1, PMOF_MAX_ZERO },
	};
	struct wc_session s;
	char last[64], now[64];
	size_t i;

	ASSERT_EQ(0, vm_put(self->fd, size - 64, self->before, 64, PMOF_F_PERSIST));
	ASSERT_EQ(0, vm_get(self->fd, size - 64, last, 64));
	ASSERT_EQ(0, wc_open(&s, 0));
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		EXPECT_EQ(PMOF_SC_RANGE, zero(&s, cases[i].offset, cases[i].length))
			TH_LOG("case %zu", i);
	ASSERT_EQ(0, vm_get(self->fd, size - 64, now, 64));
	EXPECT_EQ(0, memcmp(last, now, 64));
	EXPECT_EQ(0, zero(&s, size - 1, 1));
	wc_close_session(&s);
}

TEST_F(window, without_the_right_to_write)
{
	struct wc_session s;

	ASSERT_EQ(0, wc_open(&s, PMOF_LOGIN_F_READ_ONLY));
	EXPECT_EQ(PMOF_SC_READ_ONLY, zero(&s, WINDOW_OFF, AREA));
	EXPECT_EQ(PMOF_SC_READ_ONLY, zero(&s, WINDOW_OFF, 1));
	wc_close_session(&s);
}

TEST_F(window, on_the_admin_queue)
{
	struct pmof_wire_zero w;
	struct wc_session s;
	struct wc_queue q;
	size_t len = build(&w, 1, WINDOW_OFF, AREA);

	ASSERT_EQ(0, wc_connect(&q, 0, 0));
	EXPECT_EQ(ENDED, wc_call(&q, &w, len));
	wc_close(&q);
	ASSERT_EQ(0, wc_login(&s, 0));
	EXPECT_EQ(ENDED, wc_call(&s.admin, &w, len));
	wc_close_session(&s);
}

/* Who leaves while the server still has much to zero for it: nobody waits for that. */
TEST_F_TIMEOUT(window, left_alone, 120)
{
	struct wc_session s;
	double start;
	int i;

	ASSERT_EQ(0, wc_open(&s, 0));
	build(wc_out(&s.io), 1, BIG_OFF, PMOF_MAX_ZERO);
	for (i = 0; i < 100; i++)
		if (wc_post(&s.io, IBV_WR_SEND, sizeof(struct pmof_wire_zero), 0, 0))
			break;
	EXPECT_LE(WC_DEPTH, i);
	wc_close_session(&s);
	start = vm_now();
	ASSERT_EQ(0, wc_open(&s, 0));
	EXPECT_EQ(0, zero(&s, BIG_OFF, 4096));
	EXPECT_GT(25, vm_now() - start);
	wc_close_session(&s);
}

TEST_HARNESS_MAIN
