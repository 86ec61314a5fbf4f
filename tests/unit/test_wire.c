// SPDX-License-Identifier: GPL-2.0
/* The wire codec: round trips, and every malformed message that the rules name. */
#include "../../kmod/common/wire.h"
#include "unit.h"

#define NS_SIZE	(512ULL << 20)

/* --- valid samples -------------------------------------------------------- */

static const struct pmof_connect connect_io = {
	.queue_id = 3, .queue_depth = 128, .session_id = 0x1122334455667788ULL,
	.client_id = "host-1.example:a_b",
};

static const struct pmof_login login = {
	.instance = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 },
	.name = "data", .nr_queues = 4, .path_id = 7, .flags = PMOF_LOGIN_F_READ_ONLY,
};

static const struct pmof_login_reply login_reply = {
	.session_id = 0xa1a2a3a4a5a6a7a8ULL, .generation = 0xb1b2b3b4b5b6b7b8ULL,
	.ns_size = NS_SIZE + 1, .segment_size = 2 << 20, .features = 1, .nr_segments = 257,
	.methods = 6, .flags = PMOF_LOGIN_R_DURABLE, .nr_queues = 2, .max_ranges = 16,
	.domain = 1, .placement = 1,
};

static const struct pmof_segment_desc segments[3] = {
	{ .addr = 0, .length = 2 << 20, .rkey = 0x1234 },
	{ .addr = 2 << 20, .length = 2 << 20, .rkey = 0xfffffffe },
	{ .addr = 0x8000000000000000ULL, .length = 1, .rkey = 0 },
};

static const struct pmof_range ranges[3] = {
	{ 0, 1 }, { 4095, 2 }, { NS_SIZE - 64, 64 },
};

/* --- one description per message: how to build a good one, how to read it - */

struct message {
	const char *name;
	size_t (*build)(void *buf);
	int (*decode)(const void *buf, size_t len);
	bool padded;		/* the transport pads it with zeros */
};

static size_t build_connect(void *buf)
{
	pmof_put_connect(buf, &connect_io);
	return sizeof(struct pmof_wire_connect);
}

static int decode_connect(const void *buf, size_t len)
{
	struct pmof_connect out;

	return pmof_get_connect(buf, len, &out);
}

static size_t build_accept(void *buf)
{
	pmof_put_accept(buf, 0, 64);
	return sizeof(struct pmof_wire_accept);
}

static int decode_accept(const void *buf, size_t len)
{
	u16 depth;

	return pmof_get_accept(buf, len, &depth);
}

static size_t build_login(void *buf)
{
	return pmof_put_login(buf, 1, &login);
}

static int decode_login(const void *buf, size_t len)
{
	struct pmof_login out;
	int rc = pmof_get_request_hdr(buf, len);

	return rc ? rc : pmof_get_login(buf, len, &out);
}

static size_t build_login_reply(void *buf)
{
	return pmof_put_login_reply(buf, 1, &login_reply);
}

static int decode_login_reply(const void *buf, size_t len)
{
	struct pmof_login_reply out;

	return pmof_get_login_reply(buf, len, &out);
}

static size_t build_get_segments(void *buf)
{
	return pmof_put_get_segments(buf, 1, 0, 3);
}

static int decode_get_segments(const void *buf, size_t len)
{
	u32 first, count;
	int rc = pmof_get_request_hdr(buf, len);

	return rc ? rc : pmof_get_get_segments(buf, len, 3, &first, &count);
}

static size_t build_segments_reply(void *buf)
{
	return pmof_put_segments_reply(buf, 1, 5, segments, 3);
}

static int decode_segments_reply(const void *buf, size_t len)
{
	u32 count;

	return pmof_get_segments_reply(buf, len, 5, 3, &count);
}

static size_t build_stats_reply(void *buf)
{
	u64 value[PMOF_SRV_STAT_MAX];
	u32 i;

	for (i = 0; i < PMOF_SRV_STAT_MAX; i++)
		value[i] = i * 0x0102030405060708ULL;
	return pmof_put_stats_reply(buf, 1, value);
}

static int decode_stats_reply(const void *buf, size_t len)
{
	u64 value[PMOF_SRV_STAT_MAX];

	return pmof_get_stats_reply(buf, len, value);
}

static size_t build_persist(void *buf)
{
	return pmof_put_persist(buf, 1, ranges, 3);
}

static int decode_persist(const void *buf, size_t len)
{
	struct pmof_range out[PMOF_MAX_RANGES];
	u16 nr;
	int rc = pmof_get_request_hdr(buf, len);

	return rc ? rc : pmof_get_persist(buf, len, NS_SIZE, out, &nr);
}

static const struct message messages[] = {
	{ "connect", build_connect, decode_connect, true },
	{ "accept", build_accept, decode_accept, true },
	{ "login", build_login, decode_login, false },
	{ "login reply", build_login_reply, decode_login_reply, false },
	{ "get_segments", build_get_segments, decode_get_segments, false },
	{ "segments reply", build_segments_reply, decode_segments_reply, false },
	{ "stats reply", build_stats_reply, decode_stats_reply, false },
	{ "persist", build_persist, decode_persist, false },
};

/* Decodes exactly @len bytes, from a block with nothing behind it. */
static int decode(const struct message *m, const void *buf, size_t len)
{
	void *p = tight(buf, len);
	int rc = m->decode(p, len);

	free(p);
	return rc;
}

/* --- what holds for all of them ------------------------------------------- */

TEST(good_messages_pass)
{
	u8 buf[PMOF_ADMIN_MSG_SIZE];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(messages); i++)
		EXPECT_EQ(0, decode(&messages[i], buf, messages[i].build(buf)))
			TH_LOG("%s", messages[i].name);
}

TEST(put_overwrites_every_byte)
{
	u8 a[PMOF_ADMIN_MSG_SIZE], b[PMOF_ADMIN_MSG_SIZE];
	size_t i, len;

	for (i = 0; i < ARRAY_SIZE(messages); i++) {
		memset(a, 0x00, sizeof(a));
		memset(b, 0xff, sizeof(b));
		len = messages[i].build(a);
		ASSERT_EQ(len, messages[i].build(b));
		EXPECT_EQ(0, memcmp(a, b, len))
			TH_LOG("%s sends what was in its buffer", messages[i].name);
		EXPECT_EQ(0xff, b[len]);
	}
}

TEST(truncated_at_every_length)
{
	u8 buf[PMOF_ADMIN_MSG_SIZE];
	size_t i, n, len;

	for (i = 0; i < ARRAY_SIZE(messages); i++) {
		len = messages[i].build(buf);
		for (n = 0; n < len; n++)
			EXPECT_NE(0, decode(&messages[i], buf, n))
				TH_LOG("%s cut to %zu bytes", messages[i].name, n);
	}
}

/* The same, with a length field that agrees with what arrived. */
TEST(truncated_with_consistent_length)
{
	u8 buf[PMOF_ADMIN_MSG_SIZE];
	size_t i, n, len;

	for (i = 0; i < ARRAY_SIZE(messages); i++) {
		if (messages[i].padded)
			continue;
		len = messages[i].build(buf);
		for (n = sizeof(struct pmof_wire_hdr); n < len; n++) {
			((struct pmof_wire_hdr *)buf)->length = cpu_to_le32(n);
			EXPECT_NE(0, decode(&messages[i], buf, n))
				TH_LOG("%s cut to %zu bytes", messages[i].name, n);
		}
	}
}

TEST(oversized)
{
	u8 buf[PMOF_ADMIN_MSG_SIZE];
	size_t i, n, len;

	for (i = 0; i < ARRAY_SIZE(messages); i++) {
		memset(buf, 0, sizeof(buf));
		len = messages[i].build(buf);
		for (n = len + 1; n < len + 64; n++) {
			bool refused = decode(&messages[i], buf, n);

			EXPECT_EQ(!messages[i].padded, refused)
				TH_LOG("%s of %zu, %zu bytes arrived", messages[i].name, len, n);
			if (messages[i].padded)
				continue;
			((struct pmof_wire_hdr *)buf)->length = cpu_to_le32(n);
			EXPECT_NE(0, decode(&messages[i], buf, n));
			((struct pmof_wire_hdr *)buf)->length = cpu_to_le32(len);
		}
	}
}

TEST(length_field_lies)
{
	static const u32 lies[] = { 0, 1, 15, 16, 17, 4096, 0x7fffffff, 0xffffffff };
	u8 buf[PMOF_ADMIN_MSG_SIZE];
	size_t i, j, len;

	for (i = 0; i < ARRAY_SIZE(messages); i++) {
		if (messages[i].padded)
			continue;
		len = messages[i].build(buf);
		for (j = 0; j < ARRAY_SIZE(lies); j++) {
			((struct pmof_wire_hdr *)buf)->length = cpu_to_le32(lies[j]);
			EXPECT_NE(0, decode(&messages[i], buf, len));
		}
	}
}

/* No bit of a header may be set that is not part of the message. */
TEST(header_bits)
{
	u8 buf[PMOF_ADMIN_MSG_SIZE];
	size_t i, len;
	unsigned int bit;

	for (i = 0; i < ARRAY_SIZE(messages); i++) {
		if (messages[i].padded)
			continue;
		len = messages[i].build(buf);
		for (bit = 0; bit < 8 * sizeof(struct pmof_wire_hdr); bit++) {
			bool tag = bit / 8 == 2 || bit / 8 == 3;
			bool request = !(buf[0] & PMOF_MSG_REPLY);

			/* The opcode of a request is what its caller went by. */
			if (bit < 7 && request)
				continue;
			buf[bit / 8] ^= 1 << (bit % 8);
			EXPECT_EQ(tag, !decode(&messages[i], buf, len))
				TH_LOG("%s, bit %u", messages[i].name, bit);
			buf[bit / 8] ^= 1 << (bit % 8);
		}
	}
}

/* --- names ---------------------------------------------------------------- */

TEST(names)
{
	static const char *const good[] = { "a", "A-Z", "0", "a.b", "_", "-", ":x:", "x." };
	static const char *const bad[] = { "", ".", "..", ".a", "a/b", "a b", "a\n", "\x7f",
					   "\xc3\xa4", "a\tb", "a,b", "a=b", "%s", "a\x01" };
	char name[PMOF_WIRE_ID_LEN];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(good); i++)
		EXPECT_TRUE(pmof_name_valid(good[i], 32));
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_FALSE(pmof_name_valid(bad[i], 32)) TH_LOG("'%s'", bad[i]);
	memset(name, 'a', sizeof(name));
	EXPECT_FALSE(pmof_name_valid(name, sizeof(name)));
	name[sizeof(name) - 1] = '\0';
	EXPECT_TRUE(pmof_name_valid(name, sizeof(name)));
}

TEST(every_name_character)
{
	const char *good = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-";
	char name[3] = "x";
	int c;

	for (c = 1; c < 256; c++) {
		name[1] = c;
		EXPECT_EQ(!!strchr(good, c), pmof_name_valid(name, sizeof(name)));
	}
}

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
	EXPECT_EQ(0, memcmp(&w, "PMOF\1\0\3\0\200\0\0\0\0\0\0\0\x88\x77\x66\x55", 20))
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
	w.reserved16 = cpu_to_le16(0x8000);
	EXPECT_EQ(PMOF_SC_INVALID, connect_with(&w));
	w = good;
	w.reserved32 = cpu_to_le32(1);
	EXPECT_EQ(PMOF_SC_INVALID, connect_with(&w));
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

/* --- headers -------------------------------------------------------------- */

TEST(reply_status)
{
	struct pmof_wire_hdr h;
	u32 status;

	for (status = 1; status < PMOF_SC_MAX; status++) {
		pmof_put_hdr(&h, PMOF_MSG_LOGIN | PMOF_MSG_REPLY, 9, sizeof(h), status);
		EXPECT_EQ((int)status, pmof_get_reply_hdr(&h, sizeof(h), PMOF_MSG_LOGIN, 80));
	}
	pmof_put_hdr(&h, PMOF_MSG_LOGIN | PMOF_MSG_REPLY, 9, sizeof(h), PMOF_SC_MAX);
	EXPECT_EQ(PMOF_SC_INTERNAL, pmof_get_reply_hdr(&h, sizeof(h), PMOF_MSG_LOGIN, 16));
	pmof_put_hdr(&h, PMOF_MSG_LOGIN | PMOF_MSG_REPLY, 9, sizeof(h), 0xffffffff);
	EXPECT_EQ(PMOF_SC_INTERNAL, pmof_get_reply_hdr(&h, sizeof(h), PMOF_MSG_LOGIN, 16));
	/* Success must bring the answer along. */
	pmof_put_hdr(&h, PMOF_MSG_LOGIN | PMOF_MSG_REPLY, 9, sizeof(h), 0);
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_reply_hdr(&h, sizeof(h), PMOF_MSG_LOGIN, 80));
	EXPECT_EQ(0, pmof_get_reply_hdr(&h, sizeof(h), PMOF_MSG_LOGIN, 16));
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_reply_hdr(&h, sizeof(h), PMOF_MSG_PERSIST, 16));
}

TEST(request_header)
{
	struct pmof_wire_hdr h;

	pmof_put_hdr(&h, PMOF_MSG_PERSIST, 0xabcd, sizeof(h), 0);
	EXPECT_EQ(0, pmof_get_request_hdr(&h, sizeof(h)));
	EXPECT_EQ(0, memcmp(&h, "\x10\0\xcd\xab\x10\0\0\0\0\0\0\0\0\0\0\0", sizeof(h)));
	h.status = cpu_to_le32(1);
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_request_hdr(&h, sizeof(h)));
	h.status = 0;
	h.opcode |= PMOF_MSG_REPLY;
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_request_hdr(&h, sizeof(h)));
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
	for (bit = 1; bit < 32; bit++) {
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
}

static int login_reply_with(const struct pmof_login_reply *r)
{
	struct pmof_wire_login_reply w;

	pmof_put_login_reply(&w, 1, r);
	return decode_login_reply(&w, sizeof(w));
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
#undef BAD
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

/* --- persist -------------------------------------------------------------- */

TEST(persist_round_trip)
{
	u8 buf[PMOF_IO_MSG_SIZE];
	struct pmof_range in[PMOF_MAX_RANGES], out[PMOF_MAX_RANGES];
	u16 n, nr = 0;
	u32 i;

	for (n = 1; n <= PMOF_MAX_RANGES; n++) {
		size_t len;

		for (i = 0; i < n; i++)
			in[i] = (struct pmof_range){ i * 100, n - i };
		len = pmof_put_persist((void *)buf, n, in, n);
		EXPECT_LE(len, PMOF_IO_MSG_SIZE);
		ASSERT_EQ(0, pmof_get_persist(buf, len, NS_SIZE, out, &nr));
		ASSERT_EQ(n, nr);
		for (i = 0; i < n; i++) {
			EXPECT_EQ(in[i].offset, out[i].offset);
			EXPECT_EQ(in[i].length, out[i].length);
		}
	}
}

TEST(persist_bounds)
{
	static const struct {
		u64 offset, length;
		int rc;
	} cases[] = {
		{ 0, NS_SIZE, 0 }, { NS_SIZE, 0, 0 }, { NS_SIZE - 1, 1, 0 }, { 0, 0, 0 },
		{ 0, NS_SIZE + 1, PMOF_SC_RANGE }, { NS_SIZE, 1, PMOF_SC_RANGE },
		{ NS_SIZE + 1, 0, PMOF_SC_RANGE }, { 1, U64_MAX, PMOF_SC_RANGE },
		{ U64_MAX, 1, PMOF_SC_RANGE }, { U64_MAX, U64_MAX, PMOF_SC_RANGE },
		{ U64_MAX - 4095, 4096, PMOF_SC_RANGE }, { NS_SIZE - 1, 2, PMOF_SC_RANGE },
		{ 1ULL << 63, 1ULL << 63, PMOF_SC_RANGE },
	};
	struct pmof_range in[2] = { { 0, 1 } }, out[PMOF_MAX_RANGES];
	u8 buf[PMOF_IO_MSG_SIZE];
	size_t i, len;
	u16 nr;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		in[1] = (struct pmof_range){ cases[i].offset, cases[i].length };
		len = pmof_put_persist((void *)buf, 1, in, 2);
		EXPECT_EQ(cases[i].rc, pmof_get_persist(buf, len, NS_SIZE, out, &nr))
			TH_LOG("case %zu", i);
	}
}

TEST(persist_lies)
{
	static const u16 counts[] = { 0, 1, 2, 4, 16, 17, 0x1003, 0xffff };
	struct pmof_range out[PMOF_MAX_RANGES];
	u8 buf[PMOF_IO_MSG_SIZE] = { 0 };
	struct pmof_wire_persist *w = (void *)buf;
	size_t i, len = build_persist(buf);
	u16 nr;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		w->nr_ranges = cpu_to_le16(counts[i]);
		EXPECT_EQ(PMOF_SC_INVALID, pmof_get_persist(buf, len, NS_SIZE, out, &nr))
			TH_LOG("count %u", counts[i]);
	}
	/* One more than the array takes, with a length that agrees. */
	w->nr_ranges = cpu_to_le16(PMOF_MAX_RANGES + 1);
	len = sizeof(*w) + (PMOF_MAX_RANGES + 1) * sizeof(w->range[0]);
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_persist(buf, len, NS_SIZE, out, &nr));
	len = build_persist(buf);
	w->reserved16 = cpu_to_le16(1);
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_persist(buf, len, NS_SIZE, out, &nr));
	w->reserved16 = 0;
	w->reserved32 = cpu_to_le32(0x80000000);
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_persist(buf, len, NS_SIZE, out, &nr));
}

/* --- status codes --------------------------------------------------------- */

TEST(status_codes)
{
	u32 s;

	EXPECT_EQ(0, pmof_status_to_errno(PMOF_SC_OK));
	for (s = 1; s < PMOF_SC_MAX; s++) {
		EXPECT_LT(pmof_status_to_errno(s), 0);
		ASSERT_NE(NULL, pmof_status_str(s)) TH_LOG("status %u has no text", s);
		EXPECT_STRNE("unknown status", pmof_status_str(s));
	}
	EXPECT_EQ(-EREMOTEIO, pmof_status_to_errno(PMOF_SC_MAX));
	EXPECT_EQ(-EREMOTEIO, pmof_status_to_errno(U32_MAX));
	EXPECT_STREQ("unknown status", pmof_status_str(PMOF_SC_MAX));
	EXPECT_EQ(-ENOENT, pmof_status_to_errno(PMOF_SC_NO_NAMESPACE));
	EXPECT_EQ(-EPROTONOSUPPORT, pmof_status_to_errno(PMOF_SC_VERSION));
}

TEST_HARNESS_MAIN
