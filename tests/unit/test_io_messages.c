// SPDX-License-Identifier: GPL-2.0
/*
 * The same as test_messages.c for the messages of I/O queues; those of objects, and
 * PUT, are in test_object.c.
 */
#include "messages.h"

/* --- persist -------------------------------------------------------------- */

TEST(persist_round_trip)
{
	u8 buf[PMOF_IO_MSG_SIZE];
	struct pmof_range in[PMOF_MAX_RANGES], out[PMOF_MAX_RANGES];
	u16 n, nr = 0, flags;
	u32 i;

	for (n = 1; n <= PMOF_MAX_RANGES; n++) {
		size_t len;

		for (i = 0; i < n; i++)
			in[i] = (struct pmof_range){ i * 100, n - i };
		len = pmof_put_persist((void *)buf, n, in, n);
		EXPECT_LE(len, PMOF_IO_MSG_SIZE);
		ASSERT_EQ(0, pmof_get_persist(buf, len, NS_SIZE, out, &nr, &flags));
		ASSERT_EQ(n, nr);
		EXPECT_EQ(0, flags);
		for (i = 0; i < n; i++) {
			EXPECT_EQ(in[i].offset, out[i].offset);
			EXPECT_EQ(in[i].length, out[i].length);
		}
		pmof_put_persist_flags((void *)buf, PMOF_PERSIST_F_GOOD);
		ASSERT_EQ(0, pmof_get_persist(buf, len, NS_SIZE, out, &nr, &flags));
		EXPECT_EQ(PMOF_PERSIST_F_GOOD, flags);
		EXPECT_EQ(n, nr);
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
	u16 nr, flags;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		in[1] = (struct pmof_range){ cases[i].offset, cases[i].length };
		len = pmof_put_persist((void *)buf, 1, in, 2);
		EXPECT_EQ(cases[i].rc, pmof_get_persist(buf, len, NS_SIZE, out, &nr, &flags))
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
	u16 nr, flags;

	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		w->nr_ranges = cpu_to_le16(counts[i]);
		EXPECT_EQ(PMOF_SC_INVALID, pmof_get_persist(buf, len, NS_SIZE, out, &nr, &flags))
			TH_LOG("count %u", counts[i]);
	}
	/* One more than the array takes, with a length that agrees. */
	w->nr_ranges = cpu_to_le16(PMOF_MAX_RANGES + 1);
	len = sizeof(*w) + (PMOF_MAX_RANGES + 1) * sizeof(w->range[0]);
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_persist(buf, len, NS_SIZE, out, &nr, &flags));
	len = build_persist(buf);
	for (i = 1; i < 16; i++) {
		pmof_put_persist_flags(w, PMOF_PERSIST_F_GOOD | 1 << i);
		EXPECT_EQ(PMOF_SC_INVALID,
			  pmof_get_persist(buf, len, NS_SIZE, out, &nr, &flags));
	}
	pmof_put_persist_flags(w, 0);
	w->reserved32 = cpu_to_le32(0x80000000);
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_persist(buf, len, NS_SIZE, out, &nr, &flags));
}

/* --- zero ----------------------------------------------------------------- */

TEST(zero_round_trip)
{
	struct pmof_wire_zero w;
	struct pmof_range out;

	ASSERT_EQ(sizeof(w), pmof_put_zero(&w, 0x1234, &zero));
	EXPECT_EQ(0x1234, le16_to_cpu(w.hdr.tag));
	ASSERT_EQ(0, pmof_get_request_hdr(&w, sizeof(w)));
	ASSERT_EQ(0, pmof_get_zero(&w, sizeof(w), NS_SIZE, &out));
	EXPECT_EQ(zero.offset, out.offset);
	EXPECT_EQ(zero.length, out.length);
	EXPECT_EQ(PMOF_MSG_ZERO, w.hdr.opcode);
	EXPECT_EQ(0, memcmp((u8 *)&w + 16, "\xfd\xef\xff\x1f\0\0\0\0\x01\x10\0\0\0\0\0\0", 16))
		TH_LOG("the layout on the wire has changed");
}

static int zero_with(u64 offset, u64 length)
{
	struct pmof_range range = { offset, length };
	struct pmof_wire_zero w;

	return decode_zero(&w, pmof_put_zero(&w, 1, &range));
}

TEST(zero_limits)
{
	EXPECT_EQ(0, zero_with(0, 1));
	EXPECT_EQ(0, zero_with(NS_SIZE - 1, 1));
	EXPECT_EQ(0, zero_with(7, PMOF_MAX_ZERO));
	EXPECT_EQ(0, zero_with(NS_SIZE - PMOF_MAX_ZERO, PMOF_MAX_ZERO));
	EXPECT_EQ(PMOF_SC_INVALID, zero_with(0, 0));
	EXPECT_EQ(PMOF_SC_INVALID, zero_with(0, PMOF_MAX_ZERO + 1));
	EXPECT_EQ(PMOF_SC_INVALID, zero_with(0, 1ULL << 32));
	EXPECT_EQ(PMOF_SC_INVALID, zero_with(1, U64_MAX));
	EXPECT_EQ(PMOF_SC_RANGE, zero_with(NS_SIZE, 1));
	EXPECT_EQ(PMOF_SC_RANGE, zero_with(NS_SIZE - 1, 2));
	EXPECT_EQ(PMOF_SC_RANGE, zero_with(NS_SIZE - PMOF_MAX_ZERO + 1, PMOF_MAX_ZERO));
	EXPECT_EQ(PMOF_SC_RANGE, zero_with(U64_MAX, 1));
	EXPECT_EQ(PMOF_SC_RANGE, zero_with(U64_MAX - 1, 4096));
}

/* --- get ------------------------------------------------------------------ */

TEST(get_limits)
{
	static const struct { u64 offset, length; int status; } cases[] = {
		{ 0, 1, 0 }, { 0, PMOF_MAX_GET, 0 }, { NS_SIZE - 1, 1, 0 },
		{ NS_SIZE - PMOF_MAX_GET, PMOF_MAX_GET, 0 },
		{ 0, 0, PMOF_SC_INVALID }, { 0, PMOF_MAX_GET + 1, PMOF_SC_INVALID },
		{ 0, U64_MAX, PMOF_SC_INVALID }, { NS_SIZE, 1, PMOF_SC_RANGE },
		{ NS_SIZE - 1, 2, PMOF_SC_RANGE }, { U64_MAX, 2, PMOF_SC_RANGE },
	};
	struct pmof_range range, out;
	struct pmof_wire_get w;
	size_t i, len;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		range = (struct pmof_range){ cases[i].offset, cases[i].length };
		len = pmof_put_get(&w, 1, &range);
		EXPECT_EQ(cases[i].status, pmof_get_get(&w, len, NS_SIZE, &out))
			TH_LOG("case %zu", i);
	}
}

/* It is no shorter and no longer than what was asked for. */
TEST(get_reply_length)
{
	char buf[PMOF_IO_REPLY_SIZE] = { 0 };
	size_t len = build_get_reply(buf);

	EXPECT_EQ(0, pmof_get_get_reply(buf, len, 100));
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_get_reply(buf, len, 99));
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_get_reply(buf, len, 101));
	pmof_put_hdr((void *)buf, PMOF_MSG_GET | PMOF_MSG_REPLY, 1, sizeof(struct pmof_wire_hdr),
		     PMOF_SC_MEDIUM);
	EXPECT_EQ(PMOF_SC_MEDIUM, pmof_get_get_reply(buf, sizeof(struct pmof_wire_hdr), 100));
}

/* --- calls of a service --------------------------------------------------------- */

#define MAX_CALL	(PMOF_CALL_SIZE_MAX - sizeof(struct pmof_wire_service))

static size_t build_service(void *buf, u8 opcode, u32 context, u32 length)
{
	memset((char *)buf + sizeof(struct pmof_wire_service), 0xda, length);
	return pmof_put_service(buf, opcode, 1, context, length);
}

TEST(service_round_trip)
{
	static const u32 lengths[] = { 0, 1, 15, 16, MAX_CALL };
	static u8 buf[PMOF_CALL_SIZE_MAX];
	u32 context, length;
	size_t i, len;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		len = build_service(buf, PMOF_MSG_SERVICE, 0xfedcba98, lengths[i]);
		ASSERT_EQ(sizeof(struct pmof_wire_service) + lengths[i], len);
		ASSERT_EQ(0, pmof_get_request_hdr(buf, len));
		ASSERT_EQ(0, pmof_get_service(buf, len, &context, &length));
		EXPECT_EQ(0xfedcba98, context);
		EXPECT_EQ(lengths[i], length);
		EXPECT_EQ(0, ((struct pmof_wire_service *)buf)->reserved);
	}
	EXPECT_EQ(PMOF_CALL_SIZE_MAX, len);
}

TEST(service_limits)
{
	static u8 buf[PMOF_CALL_SIZE_MAX + 1];
	struct pmof_wire_service *w = (void *)buf;
	u32 context, length;
	size_t len;

	len = build_service(buf, PMOF_MSG_SERVICE_READ, 0, 16);
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_service(buf, len, &context, &length));
	len = build_service(buf, PMOF_MSG_SERVICE_READ, 1, 16);
	w->reserved = cpu_to_le32(1U << 31);
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_service(buf, len, &context, &length));
	len = build_service(buf, PMOF_MSG_SERVICE_READ, 1, MAX_CALL + 1);
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_service(buf, len, &context, &length));
	len = build_service(buf, PMOF_MSG_SERVICE_CLOSE, 1, 1);
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_service(buf, len, &context, &length));
}

TEST(service_opcodes)
{
	EXPECT_FALSE(pmof_is_service(PMOF_MSG_SERVICE - 1));
	EXPECT_TRUE(pmof_is_service(PMOF_MSG_SERVICE));
	EXPECT_TRUE(pmof_is_service(PMOF_MSG_SERVICE_CLOSE));
	EXPECT_FALSE(pmof_is_service(PMOF_MSG_SERVICE_CLOSE + 1));
	EXPECT_FALSE(pmof_is_service(PMOF_MSG_SERVICE | PMOF_MSG_REPLY));
}

TEST(service_reply)
{
	u8 buf[PMOF_IO_REPLY_SIZE + 1];
	struct pmof_wire_hdr *w = (void *)buf;
	u32 length;
	size_t len;

	len = pmof_put_service_reply(w, PMOF_MSG_SERVICE, 3, PMOF_MAX_CALL_REPLY);
	ASSERT_EQ(PMOF_IO_REPLY_SIZE, len);
	EXPECT_EQ(0, pmof_get_service_reply(buf, len, PMOF_MSG_SERVICE, &length));
	EXPECT_EQ(PMOF_MAX_CALL_REPLY, length);
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_service_reply(buf, len, PMOF_MSG_SERVICE_READ, &length));
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_service_reply(buf, len - 1, PMOF_MSG_SERVICE, &length));
	len = pmof_put_service_reply(w, PMOF_MSG_SERVICE, 3, PMOF_MAX_CALL_REPLY + 1);
	EXPECT_EQ(PMOF_SC_INVALID, pmof_get_service_reply(buf, len, PMOF_MSG_SERVICE, &length));
	len = pmof_put_service_reply(w, PMOF_MSG_SERVICE, 3, 0);
	w->status = cpu_to_le32(PMOF_SC_READ_ONLY);
	EXPECT_EQ(PMOF_SC_READ_ONLY,
		  pmof_get_service_reply(buf, len, PMOF_MSG_SERVICE, &length));
}

TEST_HARNESS_MAIN
