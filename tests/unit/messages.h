/* SPDX-License-Identifier: GPL-2.0 */
/* One good sample of every message, and how it is built and read. */
#ifndef PMOF_MESSAGES_H
#define PMOF_MESSAGES_H

#include "../../kmod/common/auth.h"
#include "../../kmod/common/wire.h"
#include "unit.h"

#define NS_SIZE	(512ULL << 20)

/* --- valid samples -------------------------------------------------------- */

static const struct pmof_connect connect_io = {
	.queue_id = 3, .queue_depth = 128, .session_id = 0x1122334455667788ULL,
	.client_id = "host-1.example:a_b",
};

static const struct pmof_connect connect_mac = {
	.queue_id = 3, .queue_depth = 128, .session_id = 0x1122334455667788ULL, .has_mac = true,
	.counter = 9, .mac = { [0] = 1, [PMOF_WIRE_QUEUE_MAC_LEN - 1] = 24 },
};

static const u8 nonce[PMOF_WIRE_NONCE_LEN] = { [0] = 1, [PMOF_WIRE_NONCE_LEN - 1] = 32 };

static const struct pmof_login login = {
	.instance = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 },
	.name = "data", .nr_queues = 4, .path_id = 7, .flags = PMOF_LOGIN_F_READ_ONLY,
	.resume_id = 0xc1c2c3c4c5c6c7c8ULL, .keep_alive_ms = 5000, .loss_timeout = 600,
	.call_size = 3 * PMOF_IO_MSG_SIZE,
	.resume_proof = { [0] = 3, [PMOF_WIRE_MAC_LEN - 1] = 4 },
	.proof = { [0] = 5, [PMOF_WIRE_MAC_LEN - 1] = 6 },
};

static const struct pmof_login_reply login_reply = {
	.session_id = 0xa1a2a3a4a5a6a7a8ULL, .generation = 0xb1b2b3b4b5b6b7b8ULL,
	.ns_size = NS_SIZE + 1, .segment_size = 2 << 20, .features = 1, .nr_segments = 257,
	.methods = 6, .flags = PMOF_LOGIN_R_DURABLE, .nr_queues = 2, .max_ranges = 16,
	.domain = 1, .placement = 1, .service = 1, .max_inline = PMOF_MAX_INLINE,
	.call_size = 2 * PMOF_IO_MSG_SIZE, .writers = 0xa1b2c3d4,
	.history = 0xd1d2d3d4d5d6d7d8ULL,
	.proof = { [0] = 7, [PMOF_WIRE_MAC_LEN - 1] = 8 },
};

static const struct pmof_segment_desc segments[3] = {
	{ .addr = 0, .length = 2 << 20, .rkey = 0x1234 },
	{ .addr = 2 << 20, .length = 2 << 20, .rkey = 0xfffffffe },
	{ .addr = 0x8000000000000000ULL, .length = 1, .rkey = 0 },
};

static const struct pmof_range ranges[3] = {
	{ 0, 1 }, { 4095, 2 }, { NS_SIZE - 64, 64 },
};

/* The last but one object of the namespace, and 40 bytes at an odd place. */
static const struct pmof_put commit = {
	.range = { NS_SIZE - 128, 56 }, .commit = true, .trailer = NS_SIZE - 72,
	.generation = 0xf1f2f3f4f5f6ULL,
};

static const struct pmof_put put = { .range = { 4093, 40 } };

static const struct pmof_range zero = { NS_SIZE - 4099, 4097 };

static const u64 trailers[3] = { 8, 4096, NS_SIZE - 8 };
static const u64 generations[3] = { 1, 0xffffffffffffULL, 77 };

static const struct pmof_piece pieces[3] = {
	{ .offset = 2 << 20, .length = 4096, .addr = 2 << 20, .rkey = 0x1234 },
	{ .offset = (2 << 20) + 8192, .length = 4096, .addr = 0, .rkey = 0xfffffffe },
	{ .offset = (2 << 20) + 12288, .length = 8192, .addr = 1ULL << 63, .rkey = 0 },
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

static size_t build_connect_mac(void *buf)
{
	pmof_put_connect(buf, &connect_mac);
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

static size_t build_challenge(void *buf)
{
	return pmof_put_challenge(buf, 1, nonce);
}

static int decode_challenge(const void *buf, size_t len)
{
	u8 out[PMOF_WIRE_NONCE_LEN];
	int rc = pmof_get_request_hdr(buf, len);

	return rc ? rc : pmof_get_challenge(buf, len, out);
}

static size_t build_challenge_reply(void *buf)
{
	return pmof_put_challenge_reply(buf, 1, nonce);
}

static int decode_challenge_reply(const void *buf, size_t len)
{
	u8 out[PMOF_WIRE_NONCE_LEN];

	return pmof_get_challenge_reply(buf, len, out);
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

static size_t build_announce(void *buf)
{
	return pmof_put_announce(buf, PMOF_ANNOUNCE_SEGMENTS_CHANGED, 0xe1e2e3e4e5e6e7e8ULL);
}

static int decode_announce(const void *buf, size_t len)
{
	u32 kind;
	u64 arg;

	return pmof_get_announce(buf, len, &kind, &arg);
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
	u16 nr, flags;
	int rc = pmof_get_request_hdr(buf, len);

	return rc ? rc : pmof_get_persist(buf, len, NS_SIZE, out, &nr, &flags);
}

/* A PUT with its data. */
static size_t build_put_of(void *buf, const struct pmof_put *p)
{
	size_t len = pmof_put_put(buf, 1, p);

	memset((char *)buf + len, 0xda, p->range.length);
	return len + p->range.length;
}

static size_t build_put(void *buf)
{
	return build_put_of(buf, &put);
}

static size_t build_put_commit(void *buf)
{
	return build_put_of(buf, &commit);
}

static int decode_put(const void *buf, size_t len)
{
	struct pmof_put out;
	int rc = pmof_get_request_hdr(buf, len);

	return rc ? rc : pmof_get_put(buf, len, NS_SIZE, &out);
}

static size_t build_commit(void *buf)
{
	return pmof_put_commit(buf, 1, &commit);
}

static int decode_commit(const void *buf, size_t len)
{
	struct pmof_put out;
	int rc = pmof_get_request_hdr(buf, len);

	return rc ? rc : pmof_get_commit(buf, len, NS_SIZE, &out);
}

static size_t build_zero(void *buf)
{
	return pmof_put_zero(buf, 1, &zero);
}

static int decode_zero(const void *buf, size_t len)
{
	struct pmof_range out;
	int rc = pmof_get_request_hdr(buf, len);

	return rc ? rc : pmof_get_zero(buf, len, NS_SIZE, &out);
}

static size_t build_prepare(void *buf)
{
	return pmof_put_objects(buf, PMOF_MSG_PREPARE, 1, trailers, 3);
}

static size_t build_revalidate(void *buf)
{
	return pmof_put_objects(buf, PMOF_MSG_REVALIDATE, 1, trailers, 3);
}

static int decode_objects(const void *buf, size_t len)
{
	u64 out[PMOF_MAX_OBJECTS];
	u32 count;
	int rc = pmof_get_request_hdr(buf, len);

	return rc ? rc : pmof_get_objects(buf, len, NS_SIZE, out, &count);
}

static size_t build_prepare_reply(void *buf)
{
	return pmof_put_objects_reply(buf, PMOF_MSG_PREPARE, 1, generations, 3);
}

static int decode_prepare_reply(const void *buf, size_t len)
{
	u64 out[PMOF_MAX_OBJECTS];

	return pmof_get_objects_reply(buf, len, PMOF_MSG_PREPARE, 3, out);
}

static size_t build_revalidate_reply(void *buf)
{
	return pmof_put_objects_reply(buf, PMOF_MSG_REVALIDATE, 1, generations, 3);
}

static int decode_revalidate_reply(const void *buf, size_t len)
{
	u64 out[PMOF_MAX_OBJECTS];

	return pmof_get_objects_reply(buf, len, PMOF_MSG_REVALIDATE, 3, out);
}

static size_t build_get_pieces(void *buf)
{
	return pmof_put_get_pieces(buf, 1, NS_SIZE - 1);
}

static int decode_get_pieces(const void *buf, size_t len)
{
	u64 from;
	int rc = pmof_get_request_hdr(buf, len);

	return rc ? rc : pmof_get_get_pieces(buf, len, NS_SIZE, &from);
}

static size_t build_pieces_reply(void *buf)
{
	return pmof_put_pieces_reply(buf, 1, 4 << 20, pieces, 3);
}

static int decode_pieces_reply(const void *buf, size_t len)
{
	u64 next;
	u32 count;

	return pmof_get_pieces_reply(buf, len, 2 << 20, 4 << 20, &next, &count);
}

static size_t build_get(void *buf)
{
	return pmof_put_get(buf, 1, &ranges[2]);
}

static int decode_get(const void *buf, size_t len)
{
	struct pmof_range out;
	int rc = pmof_get_request_hdr(buf, len);

	return rc ? rc : pmof_get_get(buf, len, NS_SIZE, &out);
}

static size_t build_get_reply(void *buf)
{
	memset((char *)buf + sizeof(struct pmof_wire_get_reply), 0xda, 100);
	return pmof_put_get_reply(buf, 1, 100);
}

static int decode_get_reply(const void *buf, size_t len)
{
	return pmof_get_get_reply(buf, len, 100);
}

static size_t build_service_close(void *buf)
{
	return pmof_put_service(buf, PMOF_MSG_SERVICE_CLOSE, 1, 7, 0);
}

static int decode_service(const void *buf, size_t len)
{
	u32 context, length;
	int rc = pmof_get_request_hdr(buf, len);

	return rc ? rc : pmof_get_service(buf, len, &context, &length);
}

static const struct message messages[] = {
	{ "connect", build_connect, decode_connect, true },
	{ "connect with a MAC", build_connect_mac, decode_connect, true },
	{ "challenge", build_challenge, decode_challenge, false },
	{ "challenge reply", build_challenge_reply, decode_challenge_reply, false },
	{ "accept", build_accept, decode_accept, true },
	{ "login", build_login, decode_login, false },
	{ "login reply", build_login_reply, decode_login_reply, false },
	{ "announce", build_announce, decode_announce, false },
	{ "get_segments", build_get_segments, decode_get_segments, false },
	{ "segments reply", build_segments_reply, decode_segments_reply, false },
	{ "stats reply", build_stats_reply, decode_stats_reply, false },
	{ "persist", build_persist, decode_persist, false },
	{ "put", build_put, decode_put, false },
	{ "put commit", build_put_commit, decode_put, false },
	{ "commit", build_commit, decode_commit, false },
	{ "zero", build_zero, decode_zero, false },
	{ "prepare", build_prepare, decode_objects, false },
	{ "revalidate", build_revalidate, decode_objects, false },
	{ "prepare reply", build_prepare_reply, decode_prepare_reply, false },
	{ "revalidate reply", build_revalidate_reply, decode_revalidate_reply, false },
	{ "get_pieces", build_get_pieces, decode_get_pieces, false },
	{ "pieces reply", build_pieces_reply, decode_pieces_reply, false },
	{ "get", build_get, decode_get, false },
	{ "get reply", build_get_reply, decode_get_reply, false },
	{ "service close", build_service_close, decode_service, false },
};

/* Decodes exactly @len bytes, from a block with nothing behind it. */
static inline int decode(const struct message *m, const void *buf, size_t len)
{
	void *p = tight(buf, len);
	int rc = m->decode(p, len);

	free(p);
	return rc;
}

#endif /* PMOF_MESSAGES_H */
