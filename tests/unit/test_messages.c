// SPDX-License-Identifier: GPL-2.0
/*
 * The wire codec, message by message: round trips, limits, and lies. Connecting and
 * the admin queue; test_io_messages.c: the I/O queues.
 */
#include "messages.h"

/* --- connect, accept ------------------------------------------------------ */

static int connect_with(const struct pmof_wire_connect *w)
{
	return decode(&messages[0], w, sizeof(*w));
}

TEST(connect_round_trip)
{
	struct pmof_wire_connect w;
	struct pmof_connect out;

	pmof_put_connect(&w, &connect_io);
	ASSERT_EQ(0, pmof_get_connect(&w, sizeof(w), &out));
	EXPECT_EQ(connect_io.queue_id, out.queue_id);
	EXPECT_EQ(connect_io.queue_depth, out.queue_depth);
	EXPECT_EQ(connect_io.session_id, out.session_id);
	EXPECT_STREQ(connect_io.client_id, out.client_id);
	EXPECT_EQ(0, memcmp(&w, "PMOF\2\0\3\0\200\0\0\0\0\0\0\0\x88\x77\x66\x55", 20))
		TH_LOG("the layout on the wire has changed");
}

TEST(connect_limits)
{
	struct pmof_wire_connect good, w;

	pmof_put_connect(&good, &connect_io);
	w = good;
	w.magic = cpu_to_le32(PMOF_WIRE_MAGIC ^ 1);
	EXPECT_EQ(PMOF_SC_MAGIC, connect_with(&w));
	w = good;
	w.version = cpu_to_le16(PMOF_WIRE_VERSION + 1);
	EXPECT_EQ(PMOF_SC_VERSION, connect_with(&w));
	w.version = 0;
	EXPECT_EQ(PMOF_SC_VERSION, connect_with(&w));
	w = good;
	w.queue_id = cpu_to_le16(PMOF_MAX_QUEUES);
	EXPECT_EQ(0, connect_with(&w));
	w.queue_id = cpu_to_le16(PMOF_MAX_QUEUES + 1);
	EXPECT_EQ(PMOF_SC_INVALID, connect_with(&w));
	w = good;
	w.queue_depth = 0;
	EXPECT_EQ(PMOF_SC_INVALID, connect_with(&w));
	w.queue_depth = cpu_to_le16(PMOF_MAX_DEPTH);
	EXPECT_EQ(0, connect_with(&w));
	w.queue_depth = cpu_to_le16(PMOF_MAX_DEPTH + 1);
	EXPECT_EQ(PMOF_SC_INVALID, connect_with(&w));
	w = good;
	w.flags = cpu_to_le16(0x8000);
	EXPECT_EQ(PMOF_SC_INVALID, connect_with(&w));
	w = good;
	w.reserved32 = cpu_to_le32(1);
	EXPECT_EQ(PMOF_SC_INVALID, connect_with(&w));
}

/* Only an I/O queue may prove itself, and never with the counter at its start. */
TEST(connect_with_a_mac)
{
	struct pmof_wire_connect w;
	struct pmof_connect out;

	pmof_put_connect(&w, &connect_mac);
	ASSERT_EQ(0, pmof_get_connect(&w, sizeof(w), &out));
	EXPECT_TRUE(out.has_mac);
	EXPECT_EQ(connect_mac.counter, out.counter);
	EXPECT_EQ(0, memcmp(connect_mac.mac, out.mac, sizeof(out.mac)));
	EXPECT_EQ(0, out.client_id[0]);
	EXPECT_EQ(0, memcmp((u8 *)&w + 24, "\x09\0\0\0\0\0\0\0\x01", 9));
	w.counter = 0;
	EXPECT_EQ(PMOF_SC_INVALID, connect_with(&w));
	w.counter = cpu_to_le64(U64_MAX);
	EXPECT_EQ(0, connect_with(&w));
	w.queue_id = 0;
	w.session_id = 0;
	EXPECT_EQ(PMOF_SC_INVALID, connect_with(&w));
	pmof_put_connect(&w, &connect_io);
	ASSERT_EQ(0, pmof_get_connect(&w, sizeof(w), &out));
	EXPECT_FALSE(out.has_mac);
}

TEST(challenge_round_trip)
{
	struct pmof_wire_challenge_reply r;
	struct pmof_wire_challenge w;
	u8 out[PMOF_WIRE_NONCE_LEN];

	ASSERT_EQ(sizeof(w), pmof_put_challenge(&w, 0x1234, nonce));
	ASSERT_EQ(0, pmof_get_request_hdr(&w, sizeof(w)));
	ASSERT_EQ(0, pmof_get_challenge(&w, sizeof(w), out));
	EXPECT_EQ(0, memcmp(nonce, out, sizeof(out)));
	ASSERT_EQ(sizeof(r), pmof_put_challenge_reply(&r, 0x1234, nonce));
	memset(out, 0, sizeof(out));
	ASSERT_EQ(0, pmof_get_challenge_reply(&r, sizeof(r), out));
	EXPECT_EQ(0, memcmp(nonce, out, sizeof(out)));
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_challenge_reply(&w, sizeof(w), out));
}

/* The admin queue has no session yet, an I/O queue always has one. */
TEST(connect_session_id)
{
	struct pmof_wire_connect w;

	pmof_put_connect(&w, &connect_io);
	w.session_id = 0;
	EXPECT_EQ(PMOF_SC_INVALID, connect_with(&w));
	w.queue_id = 0;
	EXPECT_EQ(0, connect_with(&w));
	w.session_id = cpu_to_le64(1ULL << 63);
	EXPECT_EQ(PMOF_SC_INVALID, connect_with(&w));
}

TEST(connect_client_id)
{
	struct pmof_wire_connect w;

	pmof_put_connect(&w, &connect_io);
	memset(w.client_id, 'a', sizeof(w.client_id));
	EXPECT_EQ(PMOF_SC_INVALID, connect_with(&w));
	memset(w.client_id, 0, sizeof(w.client_id));
	EXPECT_EQ(PMOF_SC_INVALID, connect_with(&w));
	memcpy(w.client_id, "../x", 4);
	EXPECT_EQ(PMOF_SC_INVALID, connect_with(&w));
}

/* Not with anything behind its end, either: what nobody reads, no proof is of. */
TEST(nothing_behind_a_name)
{
	struct pmof_wire_connect c;
	struct pmof_wire_login l;
	size_t i;

	pmof_put_connect(&c, &connect_io);
	for (i = strlen(c.client_id) + 1; i < sizeof(c.client_id); i++) {
		c.client_id[i] = 'x';
		EXPECT_EQ(PMOF_SC_INVALID, connect_with(&c)) TH_LOG("%zu", i);
		c.client_id[i] = 0;
	}
	EXPECT_EQ(0, connect_with(&c));
	pmof_put_login(&l, 1, &login);
	for (i = strlen(l.name) + 1; i < sizeof(l.name); i++) {
		l.name[i] = 'x';
		EXPECT_EQ(PMOF_SC_INVALID, decode_login(&l, sizeof(l))) TH_LOG("%zu", i);
		l.name[i] = 0;
	}
	EXPECT_EQ(0, decode_login(&l, sizeof(l)));
}

TEST(connect_no_buffer)
{
	struct pmof_connect out;
	u16 depth;

	EXPECT_EQ(PMOF_SC_MAGIC, pmof_get_connect(NULL, 56, &out));
	EXPECT_EQ(PMOF_SC_MAGIC, pmof_get_accept(NULL, 16, &depth));
}

/* put_* truncates a name that is too long, and always terminates it. */
TEST(put_long_names)
{
	struct pmof_connect c = connect_io;
	struct pmof_login l = login;
	struct pmof_wire_connect wc;
	struct pmof_wire_login wl;

	memset(c.client_id, 'x', sizeof(c.client_id));
	pmof_put_connect(&wc, &c);
	EXPECT_EQ(sizeof(c.client_id) - 1, strnlen(wc.client_id, sizeof(wc.client_id)));
	memset(l.name, 'x', sizeof(l.name));
	pmof_put_login(&wl, 0, &l);
	EXPECT_EQ(sizeof(l.name) - 1, strnlen(wl.name, sizeof(wl.name)));
}

TEST(accept)
{
	struct pmof_wire_accept w;
	u16 depth = 0;
	int status;

	pmof_put_accept(&w, 0, PMOF_MAX_DEPTH);
	EXPECT_EQ(0, pmof_get_accept(&w, sizeof(w), &depth));
	EXPECT_EQ(PMOF_MAX_DEPTH, depth);
	pmof_put_accept(&w, 0, 0);
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_accept(&w, sizeof(w), &depth));
	pmof_put_accept(&w, 0, PMOF_MAX_DEPTH + 1);
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_accept(&w, sizeof(w), &depth));
	for (status = 1; status < PMOF_SC_MAX; status++) {
		pmof_put_accept(&w, status, 0);
		EXPECT_EQ(status, pmof_get_accept(&w, sizeof(w), &depth));
	}
	pmof_put_accept(&w, PMOF_SC_MAX, 0);
	EXPECT_EQ(PMOF_SC_INTERNAL, pmof_get_accept(&w, sizeof(w), &depth));
	pmof_put_accept(&w, 0xffff, 0);
	EXPECT_EQ(PMOF_SC_INTERNAL, pmof_get_accept(&w, sizeof(w), &depth));
	pmof_put_accept(&w, 0, 1);
	w.magic = 0;
	EXPECT_EQ(PMOF_SC_MAGIC, pmof_get_accept(&w, sizeof(w), &depth));
	pmof_put_accept(&w, 0, 1);
	w.version = cpu_to_le16(PMOF_WIRE_VERSION + 1);
	EXPECT_EQ(PMOF_SC_VERSION, pmof_get_accept(&w, sizeof(w), &depth));
}

/* --- login ---------------------------------------------------------------- */

static int login_with(const struct pmof_login *l)
{
	struct pmof_wire_login w;

	pmof_put_login(&w, 1, l);
	return decode_login(&w, sizeof(w));
}

TEST(login_round_trip)
{
	struct pmof_wire_login w;
	struct pmof_login out;

	ASSERT_EQ(sizeof(w), pmof_put_login(&w, 0x1234, &login));
	EXPECT_EQ(0x1234, le16_to_cpu(w.hdr.tag));
	ASSERT_EQ(0, pmof_get_login(&w, sizeof(w), &out));
	EXPECT_EQ(0, memcmp(login.instance, out.instance, sizeof(out.instance)));
	EXPECT_STREQ(login.name, out.name);
	EXPECT_EQ(login.nr_queues, out.nr_queues);
	EXPECT_EQ(login.path_id, out.path_id);
	EXPECT_EQ(login.flags, out.flags);
	EXPECT_EQ(login.resume_id, out.resume_id);
	EXPECT_EQ(login.keep_alive_ms, out.keep_alive_ms);
	EXPECT_EQ(login.loss_timeout, out.loss_timeout);
	EXPECT_EQ(login.call_size, out.call_size);
	EXPECT_EQ(0, memcmp(login.resume_proof, out.resume_proof, PMOF_WIRE_MAC_LEN));
	EXPECT_EQ(0, memcmp(login.proof, out.proof, PMOF_WIRE_MAC_LEN));
}

/* Whoever asks for no right to write can have nobody kept from writing. */
TEST(login_flags)
{
	struct pmof_login l = login;

	for (l.flags = 0; l.flags <= PMOF_LOGIN_F_ALL; l.flags++)
		EXPECT_EQ(l.flags & PMOF_LOGIN_F_READ_ONLY && l.flags != PMOF_LOGIN_F_READ_ONLY ?
			  PMOF_SC_INVALID : 0, login_with(&l)) TH_LOG("%#x", l.flags);
}

TEST(login_limits)
{
	struct pmof_login l = login;
	struct pmof_wire_login w;
	unsigned int bit;

	l.nr_queues = 0;
	EXPECT_EQ(PMOF_SC_INVALID, login_with(&l));
	l.nr_queues = PMOF_MAX_QUEUES;
	EXPECT_EQ(0, login_with(&l));
	l.nr_queues = PMOF_MAX_QUEUES + 1;
	EXPECT_EQ(PMOF_SC_INVALID, login_with(&l));
	for (bit = 3; bit < 32; bit++) {
		l = login;
		l.flags = 1U << bit;
		EXPECT_EQ(PMOF_SC_INVALID, login_with(&l));
	}
	pmof_put_login(&w, 1, &login);
	memset(w.name, 'a', sizeof(w.name));
	EXPECT_EQ(PMOF_SC_INVALID, decode_login(&w, sizeof(w)));
	memset(w.name, 0, sizeof(w.name));
	EXPECT_EQ(PMOF_SC_INVALID, decode_login(&w, sizeof(w)));
	w.name[0] = '/';
	EXPECT_EQ(PMOF_SC_INVALID, decode_login(&w, sizeof(w)));
}

/* Of a session's calls, in whole pages; both ends say no to anything else. */
static const struct {
	u32 size;
	bool ok;
} call_sizes[] = {
	{ 0, false }, { 1, false }, { PMOF_IO_MSG_SIZE - 1, false }, { PMOF_IO_MSG_SIZE, true },
	{ PMOF_IO_MSG_SIZE + 1, false }, { PMOF_IO_MSG_SIZE + 512, false },
	{ 2 * PMOF_IO_MSG_SIZE, true }, { 256 << 10, true }, { PMOF_CALL_SIZE_MAX, true },
	{ PMOF_CALL_SIZE_MAX + 1, false }, { PMOF_CALL_SIZE_MAX + PMOF_IO_MSG_SIZE, false },
	{ 0x80001000, false }, { 0xfffff000, false }, { U32_MAX, false },
};

TEST(login_call_size)
{
	struct pmof_login l = login;
	struct pmof_wire_login w;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(call_sizes); i++) {
		l.call_size = call_sizes[i].size;
		EXPECT_EQ(call_sizes[i].ok ? 0 : PMOF_SC_INVALID, login_with(&l))
			TH_LOG("%u", l.call_size);
	}
	pmof_put_login(&w, 1, &login);
	w.reserved = cpu_to_le32(1);
	EXPECT_EQ(PMOF_SC_INVALID, decode_login(&w, sizeof(w)));
}

/* A value of 256 KiB fits, with the longest key. */
TEST(call_room)
{
	EXPECT_EQ(PMOF_CALL_SIZE_MAX - sizeof(struct pmof_wire_service),
		  pmof_call_room(PMOF_CALL_SIZE_MAX));
	EXPECT_LE((256U << 10) + 1024 + 64, pmof_call_room(PMOF_CALL_SIZE_MAX));
}

TEST(login_reply_round_trip)
{
	struct pmof_wire_login_reply w;
	struct pmof_login_reply out;

	memset(&out, 0, sizeof(out));
	ASSERT_EQ(sizeof(w), pmof_put_login_reply(&w, 5, &login_reply));
	ASSERT_EQ(0, pmof_get_login_reply(&w, sizeof(w), &out));
	EXPECT_EQ(login_reply.session_id, out.session_id);
	EXPECT_EQ(login_reply.generation, out.generation);
	EXPECT_EQ(login_reply.ns_size, out.ns_size);
	EXPECT_EQ(login_reply.segment_size, out.segment_size);
	EXPECT_EQ(login_reply.features, out.features);
	EXPECT_EQ(login_reply.nr_segments, out.nr_segments);
	EXPECT_EQ(login_reply.methods, out.methods);
	EXPECT_EQ(login_reply.flags, out.flags);
	EXPECT_EQ(login_reply.nr_queues, out.nr_queues);
	EXPECT_EQ(login_reply.max_ranges, out.max_ranges);
	EXPECT_EQ(login_reply.domain, out.domain);
	EXPECT_EQ(login_reply.placement, out.placement);
	EXPECT_EQ(login_reply.max_inline, out.max_inline);
	EXPECT_EQ(login_reply.service, out.service);
	EXPECT_EQ(login_reply.call_size, out.call_size);
	EXPECT_EQ(login_reply.writers, out.writers);
	EXPECT_EQ(login_reply.history, out.history);
	EXPECT_EQ(0, memcmp(login_reply.proof, out.proof, PMOF_WIRE_MAC_LEN));
}

static int login_reply_with(const struct pmof_login_reply *r)
{
	struct pmof_wire_login_reply w;

	pmof_put_login_reply(&w, 1, r);
	return decode_login_reply(&w, sizeof(w));
}

TEST(login_reply_call_size)
{
	struct pmof_login_reply r = login_reply;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(call_sizes); i++) {
		r.call_size = call_sizes[i].size;
		EXPECT_EQ(call_sizes[i].ok ? 0 : PMOF_SC_INVALID, login_reply_with(&r))
			TH_LOG("%u", r.call_size);
	}
}

TEST(login_reply_limits)
{
	struct pmof_login_reply r;

#define BAD(field, value) do {						\
		r = login_reply;					\
		r.field = (value);					\
		EXPECT_EQ(PMOF_SC_INVALID, login_reply_with(&r));	\
	} while (0)
	BAD(session_id, 0);
	BAD(ns_size, 0);
	BAD(ns_size, U64_MAX);
	BAD(segment_size, 0);
	BAD(segment_size, 3 << 20);
	BAD(segment_size, PMOF_MIN_SEGMENT / 2);
	BAD(segment_size, PMOF_MAX_SEGMENT * 2);
	BAD(segment_size, 1ULL << 63);
	BAD(nr_segments, 0);
	BAD(nr_segments, 256);
	BAD(nr_segments, 258);
	BAD(nr_segments, U32_MAX);
	BAD(nr_queues, 0);
	BAD(nr_queues, PMOF_MAX_QUEUES + 1);
	BAD(max_ranges, 0);
	BAD(max_ranges, PMOF_MAX_RANGES + 1);
	BAD(max_inline, PMOF_MAX_INLINE + 1);
#undef BAD
}

TEST(announce)
{
	struct pmof_wire_announce w;
	u32 kind = 0;
	u64 arg = 0;

	ASSERT_EQ(sizeof(w), pmof_put_announce(&w, PMOF_ANNOUNCE_SHUTDOWN, 0x0102030405060708ULL));
	ASSERT_EQ(0, pmof_get_announce(&w, sizeof(w), &kind, &arg));
	EXPECT_EQ(PMOF_ANNOUNCE_SHUTDOWN, kind);
	EXPECT_EQ(0x0102030405060708ULL, arg);
	w.hdr.opcode = PMOF_MSG_KEEPALIVE;
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_announce(&w, sizeof(w), &kind, &arg));
	pmof_put_announce(&w, 0, 0);
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_announce(&w, sizeof(w), &kind, &arg));
	pmof_put_announce(&w, PMOF_ANNOUNCE_MAX, 0);
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_announce(&w, sizeof(w), &kind, &arg));
	pmof_put_announce(&w, 1, 0);
	w.reserved = cpu_to_le32(1);
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_announce(&w, sizeof(w), &kind, &arg));
}

/* --- segments ------------------------------------------------------------- */

TEST(get_segments_bounds)
{
	static const struct {
		u32 first, count, nr;
		int rc;
	} cases[] = {
		{ 0, 1, 1, 0 }, { 0, 0, 1, PMOF_SC_RANGE }, { 1, 1, 1, PMOF_SC_RANGE },
		{ 0, 2, 1, PMOF_SC_RANGE }, { 9, 1, 10, 0 }, { 10, 1, 10, PMOF_SC_RANGE },
		{ 1, U32_MAX, 10, PMOF_SC_RANGE }, { U32_MAX, 1, 10, PMOF_SC_RANGE },
		{ U32_MAX, U32_MAX, 10, PMOF_SC_RANGE }, { 0, 10, 10, 0 },
		{ 0, PMOF_MAX_SEGMENTS, PMOF_MAX_SEGMENTS, 0 },
	};
	struct pmof_wire_get_segments w;
	u32 first, count;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		pmof_put_get_segments(&w, 1, cases[i].first, cases[i].count);
		EXPECT_EQ(cases[i].rc, pmof_get_get_segments(&w, sizeof(w), cases[i].nr,
							     &first, &count))
			TH_LOG("case %zu", i);
		if (cases[i].rc)
			continue;
		EXPECT_EQ(cases[i].first, first);
		EXPECT_EQ(min_t(u32, cases[i].count, PMOF_SEGMENTS_PER_REPLY), count);
	}
}

TEST(segments_round_trip)
{
	u8 buf[PMOF_ADMIN_MSG_SIZE];
	struct pmof_segment_desc out;
	u32 i, count = 0;
	size_t len = pmof_put_segments_reply((void *)buf, 1, 5, segments, 3);

	ASSERT_EQ(0, pmof_get_segments_reply(buf, len, 5, 8, &count));
	ASSERT_EQ(3, count);
	for (i = 0; i < count; i++) {
		pmof_get_segment(buf, i, &out);
		EXPECT_EQ(segments[i].addr, out.addr);
		EXPECT_EQ(segments[i].length, out.length);
		EXPECT_EQ(segments[i].rkey, out.rkey);
	}
}

TEST(segments_largest_reply)
{
	static struct pmof_segment_desc seg[PMOF_SEGMENTS_PER_REPLY];
	u8 buf[PMOF_ADMIN_MSG_SIZE];
	u32 count;
	size_t len = pmof_put_segments_reply((void *)buf, 1, 0, seg, PMOF_SEGMENTS_PER_REPLY);

	EXPECT_LE(len, PMOF_ADMIN_MSG_SIZE);
	EXPECT_EQ(0, pmof_get_segments_reply(buf, len, 0, PMOF_SEGMENTS_PER_REPLY, &count));
	EXPECT_EQ(PMOF_SEGMENTS_PER_REPLY, count);
}

TEST(segments_reply_lies)
{
	static const u32 counts[] = { 0, 2, 4, 0x0aaaaaab, 0x80000003, U32_MAX };
	u8 buf[PMOF_ADMIN_MSG_SIZE];
	struct pmof_wire_segments_reply *w = (void *)buf;
	u32 count;
	size_t i, len = build_segments_reply(buf);

	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_segments_reply(buf, len, 4, 3, &count));
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_segments_reply(buf, len, 5, 2, &count));
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		w->count = cpu_to_le32(counts[i]);
		EXPECT_EQ(PMOF_SC_INVALID, pmof_get_segments_reply(buf, len, 5, U32_MAX, &count))
			TH_LOG("count %u", counts[i]);
	}
}

/* --- statistics ----------------------------------------------------------- */

TEST(stats_round_trip)
{
	struct pmof_wire_stats_reply w;
	u64 value[PMOF_SRV_STAT_MAX];
	u32 i;

	build_stats_reply(&w);
	ASSERT_EQ(0, pmof_get_stats_reply(&w, sizeof(w), value));
	for (i = 0; i < PMOF_SRV_STAT_MAX; i++)
		EXPECT_EQ(i * 0x0102030405060708ULL, value[i]);
	w.count = cpu_to_le32(PMOF_SRV_STAT_MAX + 1);
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_stats_reply(&w, sizeof(w), value));
}

/* --- pieces --------------------------------------------------------------- */

TEST(pieces_round_trip)
{
	char buf[PMOF_ADMIN_MSG_SIZE];
	struct pmof_piece out;
	u32 count, i;
	u64 next;

	ASSERT_EQ(0, pmof_get_pieces_reply(buf, build_pieces_reply(buf), 2 << 20, 4 << 20, &next,
					   &count));
	EXPECT_EQ(4 << 20, next);
	ASSERT_EQ(3, count);
	for (i = 0; i < count; i++) {
		pmof_get_piece(buf, i, &out);
		EXPECT_EQ(pieces[i].offset, out.offset);
		EXPECT_EQ(pieces[i].length, out.length);
		EXPECT_EQ(pieces[i].addr, out.addr);
		EXPECT_EQ(pieces[i].rkey, out.rkey);
	}
}

static int pieces_of(const struct pmof_piece *piece, u32 nr, u64 next)
{
	const struct message m = { .decode = decode_pieces_reply };
	char buf[PMOF_ADMIN_MSG_SIZE];

	return decode(&m, buf, pmof_put_pieces_reply((void *)buf, 1, next, piece, nr));
}

TEST(pieces_limits)
{
	const u64 base = 2 << 20, end = 4 << 20;
	struct pmof_piece p[2] = { { .offset = base, .length = 4096 },
				   { .offset = base + 4096, .length = 4096 } };

	EXPECT_EQ(0, pieces_of(p, 2, end));
	EXPECT_EQ(0, pieces_of(p, 0, end));
	EXPECT_EQ(0, pieces_of(p, 2, base + 8192));
	/* It must move on, and stay in the segment. */
	EXPECT_EQ(PMOF_SC_INVALID, pieces_of(p, 0, base));
	EXPECT_EQ(PMOF_SC_INVALID, pieces_of(p, 0, base - 1));
	EXPECT_EQ(PMOF_SC_INVALID, pieces_of(p, 2, end + 1));
	EXPECT_EQ(PMOF_SC_INVALID, pieces_of(p, 2, base + 8191));
	/* Ascending and apart. */
	p[1].offset = base + 4095;
	EXPECT_EQ(PMOF_SC_INVALID, pieces_of(p, 2, end));
	p[1].offset = base - 4096;
	EXPECT_EQ(PMOF_SC_INVALID, pieces_of(p, 2, end));
	p[1].offset = base + 4096;
	p[0].offset = base - 1;
	EXPECT_EQ(PMOF_SC_INVALID, pieces_of(p, 2, end));
	p[0].offset = base;
	p[0].length = 0;
	EXPECT_EQ(PMOF_SC_INVALID, pieces_of(p, 2, end));
	p[0].length = 4096;
	p[1].length = U64_MAX;
	EXPECT_EQ(PMOF_SC_INVALID, pieces_of(p, 2, end));
}

TEST(get_pieces_limits)
{
	struct pmof_wire_get_pieces w;
	u64 from;
	size_t len;

	len = pmof_put_get_pieces(&w, 1, NS_SIZE - 1);
	EXPECT_EQ(0, pmof_get_get_pieces(&w, len, NS_SIZE, &from));
	EXPECT_EQ(NS_SIZE - 1, from);
	pmof_put_get_pieces(&w, 1, NS_SIZE);
	EXPECT_EQ(PMOF_SC_RANGE, pmof_get_get_pieces(&w, len, NS_SIZE, &from));
	pmof_put_get_pieces(&w, 1, U64_MAX);
	EXPECT_EQ(PMOF_SC_RANGE, pmof_get_get_pieces(&w, len, NS_SIZE, &from));
}

TEST_HARNESS_MAIN
