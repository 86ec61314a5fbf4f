// SPDX-License-Identifier: GPL-2.0
/* The wire codec: what holds for every message; names, headers, status codes. */
#include "messages.h"

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
