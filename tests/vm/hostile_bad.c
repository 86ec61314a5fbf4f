// SPDX-License-Identifier: GPL-2.0
/* As hostile.c: GET, GET_PIECES, and what names a bad sector. It lies at PMOF_BAD_OFF. */
#include "kselftest_harness.h"
#include "wireclient.h"

#define SECTOR	512

FIXTURE(bad) {
	uint64_t at;
	struct wc_session s;
};

FIXTURE_SETUP(bad)
{
	self->at = strtoull(vm_env("PMOF_BAD_OFF", "0"), NULL, 0);
	ASSERT_EQ(0, wc_open(&self->s, 0));
}

FIXTURE_TEARDOWN(bad)
{
	wc_close_session(&self->s);
}

static int get(struct wc_session *s, u64 offset, u64 length)
{
	struct pmof_range r = { offset, length };
	struct pmof_wire_get w;

	return wc_call(&s->io, &w, pmof_put_get(&w, 1, &r));
}

static int lone_get(u64 offset, u64 length)
{
	struct wc_session s;
	int rc = wc_open(&s, 0);

	if (!rc)
		rc = get(&s, offset, length);
	wc_close_session(&s);
	return rc;
}

TEST_F_TIMEOUT(bad, lengths, 60)
{
	u64 size = self->s.login.ns_size;

	EXPECT_EQ(0, get(&self->s, 0, 1));
	EXPECT_EQ(0, get(&self->s, 1, PMOF_MAX_GET));
	EXPECT_EQ(0, get(&self->s, size - 1, 1));
	EXPECT_EQ(PMOF_SC_RANGE, get(&self->s, size, 1));
	EXPECT_EQ(PMOF_SC_RANGE, get(&self->s, size - 1, 2));
	EXPECT_EQ(PMOF_SC_RANGE, get(&self->s, ~0ULL, 1));
	EXPECT_EQ(PMOF_SC_RANGE, get(&self->s, ~0ULL - 511, 1024));
	EXPECT_EQ(0, get(&self->s, 0, 1));
	EXPECT_EQ(ENDED, lone_get(0, 0));
	EXPECT_EQ(ENDED, lone_get(0, PMOF_MAX_GET + 1));
	EXPECT_EQ(ENDED, lone_get(0, ~0ULL));
}

TEST_F(bad, get_of_it)
{
	EXPECT_EQ(PMOF_SC_MEDIUM, get(&self->s, self->at, 1));
	EXPECT_EQ(PMOF_SC_MEDIUM, get(&self->s, self->at + SECTOR - 1, 1));
	EXPECT_EQ(PMOF_SC_MEDIUM, get(&self->s, self->at - 1, 2));
	EXPECT_EQ(PMOF_SC_MEDIUM, get(&self->s, self->at - 256, PMOF_MAX_GET));
	EXPECT_EQ(0, get(&self->s, self->at - 1024, 1024));
	EXPECT_EQ(0, get(&self->s, self->at + SECTOR, 1024));
}

/* Nothing is written, and the session goes on. */
TEST_F(bad, messages_that_write)
{
	struct pmof_range range = { self->at - 8, 16 };
	struct pmof_put put = { .range = { self->at + 8, 16 } };
	struct pmof_put commit = { .range = { self->at - 16, 8 }, .commit = true,
				   .trailer = self->at, .generation = 1 };
	u64 trailers[2] = { self->at - 8, self->at + 8 };
	char buf[WC_BUF] = { 0 };
	size_t len;

	EXPECT_EQ(PMOF_SC_MEDIUM, wc_call(&self->s.io, buf,
					  pmof_put_persist((void *)buf, 1, &range, 1)));
	EXPECT_EQ(PMOF_SC_MEDIUM, wc_call(&self->s.io, buf, pmof_put_zero((void *)buf, 1, &range)));
	len = pmof_put_put((void *)buf, 1, &put);
	EXPECT_EQ(PMOF_SC_MEDIUM, wc_call(&self->s.io, buf, len + 16));
	EXPECT_EQ(PMOF_SC_MEDIUM, wc_call(&self->s.io, buf,
					  pmof_put_commit((void *)buf, 1, &commit)));
	EXPECT_EQ(PMOF_SC_MEDIUM, wc_call(&self->s.io, buf,
					  pmof_put_objects((void *)buf, PMOF_MSG_PREPARE, 1,
							   trailers, 2)));
	EXPECT_EQ(PMOF_SC_MEDIUM, wc_call(&self->s.io, buf,
					  pmof_put_objects((void *)buf, PMOF_MSG_REVALIDATE, 1,
							   trailers, 2)));
	EXPECT_EQ(PMOF_SC_MEDIUM, get(&self->s, self->at, 8));
}

/* It is left out on request; all else is as ever. */
TEST_F_TIMEOUT(bad, persist_of_good, 60)
{
	u64 size = self->s.login.ns_size;
	struct pmof_range range[PMOF_MAX_RANGES] = { { 0, size }, { self->at, 1 } };
	char buf[PMOF_IO_MSG_SIZE];
	size_t i, len;

	len = pmof_put_persist((void *)buf, 1, range, 2);
	EXPECT_EQ(PMOF_SC_MEDIUM, wc_call(&self->s.io, buf, len));
	pmof_put_persist_flags((void *)buf, PMOF_PERSIST_F_GOOD);
	EXPECT_EQ(0, wc_call(&self->s.io, buf, len));
	range[1] = (struct pmof_range){ size, 1 };
	len = pmof_put_persist((void *)buf, 1, range, 2);
	pmof_put_persist_flags((void *)buf, PMOF_PERSIST_F_GOOD);
	EXPECT_EQ(PMOF_SC_RANGE, wc_call(&self->s.io, buf, len));
	/* Many, none of which ends where a sector or a line does. */
	for (i = 0; i < PMOF_MAX_RANGES; i++)
		range[i] = (struct pmof_range){ self->at - 2000 + 100 * i, 1 + i };
	len = pmof_put_persist((void *)buf, 1, range, PMOF_MAX_RANGES);
	pmof_put_persist_flags((void *)buf, PMOF_PERSIST_F_GOOD);
	EXPECT_EQ(0, wc_call(&self->s.io, buf, len));
	EXPECT_EQ(PMOF_SC_MEDIUM, get(&self->s, self->at, 8));
}

/* The pieces of the bad sector's segment: all of it but the page. */
TEST_F(bad, pieces)
{
	u64 size = self->s.login.segment_size, page = self->at / 4096 * 4096;
	u64 from = self->at / size * size, end = from + size, next, bytes = 0;
	struct pmof_wire_get_pieces w;
	struct pmof_piece piece;
	const void *msg;
	u32 count, i;
	ssize_t n;

	if (end > self->s.login.ns_size)
		end = self->s.login.ns_size;
	size = end - from;
	while (from < end) {
		ASSERT_EQ(0, wc_send(&self->s.admin, &w, pmof_put_get_pieces(&w, 3, from)));
		n = wc_recv(&self->s.admin, &msg, 10000);
		ASSERT_LT(0, n);
		ASSERT_EQ(0, pmof_get_pieces_reply(msg, n, from, end, &next, &count));
		for (i = 0; i < count; i++) {
			pmof_get_piece(msg, i, &piece);
			bytes += piece.length;
			EXPECT_TRUE(piece.offset + piece.length <= page ||
				    piece.offset >= page + 4096);
		}
		from = next;
	}
	EXPECT_EQ(size - 4096, bytes);
	/* Asked again: the same. */
	ASSERT_EQ(0, wc_send(&self->s.admin, &w, pmof_put_get_pieces(&w, 3, page)));
	n = wc_recv(&self->s.admin, &msg, 10000);
	EXPECT_EQ(0, pmof_get_pieces_reply(msg, n, page, end, &next, &count));
	EXPECT_EQ(PMOF_SC_RANGE, wc_call(&self->s.admin, &w,
					 pmof_put_get_pieces(&w, 3, self->s.login.ns_size)));
	EXPECT_EQ(PMOF_SC_RANGE, wc_call(&self->s.admin, &w, pmof_put_get_pieces(&w, 3, ~0ULL)));
}

/* A READ of the bad page by the rkey of a piece beside it. */
TEST_F(bad, no_piece_reaches_it)
{
	struct pmof_wire_get_pieces w;
	struct pmof_piece piece;
	const void *msg;
	u32 count;
	u64 next;
	ssize_t n;

	ASSERT_EQ(0, wc_send(&self->s.admin, &w,
			     pmof_put_get_pieces(&w, 3, self->at / 4096 * 4096 + 4096)));
	n = wc_recv(&self->s.admin, &msg, 10000);
	ASSERT_LT(0, n);
	ASSERT_EQ(0, pmof_get_pieces_reply(msg, n, self->at, ~0ULL, &next, &count));
	ASSERT_LT(0, count);
	pmof_get_piece(msg, 0, &piece);
	ASSERT_EQ(0, wc_post(&self->s.io, IBV_WR_RDMA_READ, 64, piece.addr, piece.rkey));
	ASSERT_EQ(IBV_WC_SUCCESS, wc_completed(&self->s.io, 1, 10000));
	ASSERT_EQ(0, wc_post(&self->s.io, IBV_WR_RDMA_READ, 64, piece.addr - 4096, piece.rkey));
	EXPECT_NE(IBV_WC_SUCCESS, wc_completed(&self->s.io, 2, 10000));
}

TEST_HARNESS_MAIN
