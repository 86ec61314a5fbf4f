// SPDX-License-Identifier: GPL-2.0
/*
 * Every decoder on random bytes and on good messages with random damage, in
 * blocks of exactly the arrived size. Sanitizers watch the reads; what is
 * accepted must keep the promises of wire.h. PMOF_FUZZ_ROUNDS and
 * PMOF_FUZZ_SEED change the default.
 */
#include "../../kmod/client/options.h"
#include "../../kmod/common/object.h"
#include "../../kmod/common/wire.h"
#include "unit.h"

#define NS_SIZE	((1ULL << 30) + 5)

static u64 seed = 20261121;

static u64 setting(const char *name, u64 otherwise)
{
	const char *v = getenv(name);

	return v ? strtoull(v, NULL, 0) : otherwise;
}

/* The same for the messages about objects and data. */
static size_t plausible_object(u8 *buf, u64 *state)
{
	struct pmof_put p = { .range = { 64, 8 + 8 * (rnd(state) % 8) }, .generation = 5,
			      .commit = rnd(state) % 2 };
	u32 count = 1 + rnd(state) % PMOF_MAX_OBJECTS;
	u64 value[PMOF_MAX_OBJECTS];
	size_t len;
	u32 i;

	for (i = 0; i < count; i++)
		value[i] = 8 * (1 + i);
	switch (rnd(state) % 6) {
	case 0:
		len = pmof_put_put((void *)buf, 0, &p);
		rnd_fill(state, buf + len, p.range.length);
		return len + p.range.length;
	case 1:
		return pmof_put_commit((void *)buf, 0, &p);
	case 2:
		return pmof_put_objects((void *)buf, PMOF_MSG_PREPARE, 0, value, count);
	case 3:
		return pmof_put_zero((void *)buf, 0, &p.range);
	case 4:
		return pmof_put_objects_reply((void *)buf, PMOF_MSG_PREPARE, 0, value, count);
	default:
		return pmof_put_objects_reply((void *)buf, PMOF_MSG_REVALIDATE, 0, value, count);
	}
}

/* The same for what bad blocks need. */
static size_t plausible_bad(u8 *buf, u64 *state)
{
	struct pmof_range range = { rnd(state) % NS_SIZE, 1 + rnd(state) % PMOF_MAX_GET };
	struct pmof_piece piece[PMOF_PIECES_PER_REPLY];
	u32 i, n = rnd(state) % (ARRAY_SIZE(piece) + 1);

	for (i = 0; i < n; i++)
		piece[i] = (struct pmof_piece){ .offset = 8192 * i, .length = 4096 };
	switch (rnd(state) % 4) {
	case 0:
		return pmof_put_get((void *)buf, 0, &range);
	case 1:
		return pmof_put_get_pieces((void *)buf, 0, range.offset);
	case 2:
		rnd_fill(state, buf + sizeof(struct pmof_wire_get_reply), range.length);
		return pmof_put_get_reply((void *)buf, 0, range.length);
	default:
		return pmof_put_pieces_reply((void *)buf, 0, 1 << 21, piece, n);
	}
}

/* A starting point that gets past the first checks. */
static size_t plausible(u8 *buf, u64 *state)
{
	struct pmof_login_reply r = {
		.session_id = 1, .ns_size = NS_SIZE, .segment_size = 1 << 21, .nr_segments = 513,
		.nr_queues = 1, .max_ranges = 1, .call_size = PMOF_IO_MSG_SIZE,
	};
	struct pmof_connect c = { .queue_id = 1, .queue_depth = 1, .session_id = 1,
				  .client_id = "c" };
	struct pmof_login l = { .name = "n", .nr_queues = 1, .call_size = PMOF_IO_MSG_SIZE };
	struct pmof_segment_desc seg[PMOF_SEGMENTS_PER_REPLY] = { 0 };
	struct pmof_range range[PMOF_MAX_RANGES] = { { 0, 1 } };
	u64 value[PMOF_SRV_STAT_MAX] = { 0 };

	if (rnd(state) % 2)
		return plausible_object(buf, state);
	if (rnd(state) % 4 == 0)
		return plausible_bad(buf, state);
	switch (rnd(state) % 8) {
	case 0:
		pmof_put_connect((void *)buf, &c);
		return sizeof(struct pmof_wire_connect);
	case 1:
		pmof_put_accept((void *)buf, 0, 1);
		return sizeof(struct pmof_wire_accept);
	case 2:
		return pmof_put_login((void *)buf, 0, &l);
	case 3:
		return pmof_put_login_reply((void *)buf, 0, &r);
	case 4:
		return pmof_put_get_segments((void *)buf, 0, 0, 1);
	case 5:
		return pmof_put_segments_reply((void *)buf, 0, 0, seg,
					       1 + rnd(state) % PMOF_SEGMENTS_PER_REPLY);
	case 6:
		return pmof_put_stats_reply((void *)buf, 0, value);
	default:
		return pmof_put_persist((void *)buf, 0, range, 1 + rnd(state) % PMOF_MAX_RANGES);
	}
}

static size_t damaged(u8 *buf, u64 *state)
{
	size_t i, n, len = plausible(buf, state);

	for (n = rnd(state) % 4; n; n--)
		buf[rnd(state) % len] = rnd(state) >> 40;
	if (rnd(state) % 4)
		return len;
	/* Another length, and mostly a length field that goes along. */
	n = rnd(state) % (len + 40);
	for (i = len; i < n; i++)
		buf[i] = rnd(state) >> 40;
	if (n >= sizeof(struct pmof_wire_hdr) && rnd(state) % 4)
		((struct pmof_wire_hdr *)buf)->length = cpu_to_le32(n);
	return n;
}

static size_t garbage(u8 *buf, u64 *state)
{
	size_t len = rnd(state) % (rnd(state) % 2 ? 128 : PMOF_ADMIN_MSG_SIZE + 1);

	rnd_fill(state, buf, len);
	return len;
}

static bool requests_hold(const void *p, size_t len)
{
	struct pmof_range range[PMOF_MAX_RANGES];
	struct pmof_login login;
	u32 first, count;
	u16 i, nr, flags;

	if (!pmof_get_login(p, len, &login) &&
	    (!pmof_name_valid(login.name, sizeof(login.name)) || !login.nr_queues ||
	     login.nr_queues > PMOF_MAX_QUEUES))
		return false;
	if (!pmof_get_get_segments(p, len, 513, &first, &count) &&
	    (!count || first >= 513 || count > 513 - first || count > PMOF_SEGMENTS_PER_REPLY))
		return false;
	if (pmof_get_persist(p, len, NS_SIZE, range, &nr, &flags))
		return true;
	if (!nr || nr > PMOF_MAX_RANGES)
		return false;
	for (i = 0; i < nr; i++)
		if (!pmof_range_ok(range[i].offset, range[i].length, NS_SIZE))
			return false;
	return true;
}

/* What a decoder of a ZERO, PUT or COMMIT lets through lies in the namespace, in what arrived. */
static bool puts_hold(const void *p, size_t len)
{
	struct pmof_range zero;
	struct pmof_put put;

	if (!pmof_get_zero(p, len, NS_SIZE, &zero) &&
	    (!zero.length || zero.length > PMOF_MAX_ZERO || zero.offset > NS_SIZE - zero.length))
		return false;
	if (!pmof_get_put(p, len, NS_SIZE, &put) &&
	    (!pmof_range_ok(put.range.offset, put.range.length, NS_SIZE) || !put.range.length ||
	     put.range.length != len - sizeof(struct pmof_wire_put) ||
	     (put.commit && (put.trailer != put.range.offset + put.range.length ||
			     put.trailer % 8 || put.trailer > NS_SIZE - PMOF_TRAILER_SIZE ||
			     !pmof_generation_ok(put.generation)))))
		return false;
	return pmof_get_commit(p, len, NS_SIZE, &put) ||
	       (pmof_range_ok(put.range.offset, put.range.length, NS_SIZE) && put.commit &&
		!(put.trailer % 8) && put.trailer <= NS_SIZE - PMOF_TRAILER_SIZE &&
		pmof_generation_ok(put.generation));
}

static bool objects_hold(const void *p, size_t len)
{
	u64 value[PMOF_MAX_OBJECTS];
	u32 i, count;

	if (!pmof_get_objects(p, len, NS_SIZE, value, &count)) {
		if (!count || count > PMOF_MAX_OBJECTS)
			return false;
		for (i = 0; i < count; i++)
			if (value[i] % 8 || value[i] > NS_SIZE - PMOF_TRAILER_SIZE)
				return false;
	}
	for (count = 1; count <= PMOF_MAX_OBJECTS; count++) {
		if (!pmof_get_objects_reply(p, len, PMOF_MSG_PREPARE, count, value))
			for (i = 0; i < count; i++)
				if (!pmof_generation_ok(value[i]))
					return false;
		if (!pmof_get_objects_reply(p, len, PMOF_MSG_REVALIDATE, count, value))
			for (i = 0; i < count; i++)
				if (value[i] & ~PMOF_GENERATION_MASK)
					return false;
	}
	return true;
}

static bool bad_hold(const void *p, size_t len)
{
	struct pmof_piece piece;
	struct pmof_range range;
	u64 from, next, at = 0;
	u32 i, count;

	if (!pmof_get_get_pieces(p, len, NS_SIZE, &from) && from >= NS_SIZE)
		return false;
	if (!pmof_get_get(p, len, NS_SIZE, &range) &&
	    (!range.length || range.length > PMOF_MAX_GET ||
	     !pmof_range_ok(range.offset, range.length, NS_SIZE)))
		return false;
	for (i = 1; i <= PMOF_MAX_GET; i += 7)
		if (!pmof_get_get_reply(p, len, i) && len != i + sizeof(struct pmof_wire_hdr))
			return false;
	if (pmof_get_pieces_reply(p, len, 0, 1 << 21, &next, &count))
		return true;
	if (!next || next > 1 << 21)
		return false;
	for (i = 0; i < count; i++) {
		pmof_get_piece(p, i, &piece);
		if (piece.offset < at || !piece.length ||
		    !pmof_range_ok(piece.offset, piece.length, next))
			return false;
		at = piece.offset + piece.length;
	}
	return true;
}

static bool replies_hold(const void *p, size_t len)
{
	struct pmof_login_reply r;
	struct pmof_segment_desc seg;
	struct pmof_layout layout;
	u64 value[PMOF_SRV_STAT_MAX];
	u32 i, count;

	if (!pmof_get_login_reply(p, len, &r) &&
	    (pmof_layout_init(&layout, r.ns_size, r.segment_size) || !r.session_id ||
	     pmof_layout_segments(&layout) != r.nr_segments || !r.nr_queues || !r.max_ranges))
		return false;
	if (!pmof_get_segments_reply(p, len, 0, PMOF_SEGMENTS_PER_REPLY, &count)) {
		if (!count || count > PMOF_SEGMENTS_PER_REPLY)
			return false;
		for (i = 0; i < count; i++)
			pmof_get_segment(p, i, &seg);
	}
	pmof_get_stats_reply(p, len, value);
	return true;
}

static bool private_data_holds(const void *p, size_t len)
{
	struct pmof_connect c;
	u16 depth;

	if (!pmof_get_connect(p, len, &c) &&
	    (c.queue_id > PMOF_MAX_QUEUES || !c.queue_depth || c.queue_depth > PMOF_MAX_DEPTH ||
	     (c.has_mac ? !c.queue_id || !c.counter :
			  !pmof_name_valid(c.client_id, sizeof(c.client_id)))))
		return false;
	return pmof_get_accept(p, len, &depth) || (depth && depth <= PMOF_MAX_DEPTH);
}

TEST(decoders)
{
	u8 buf[PMOF_ADMIN_MSG_SIZE + 64];
	u64 rounds = setting("PMOF_FUZZ_ROUNDS", 200000);
	u64 state = setting("PMOF_FUZZ_SEED", seed), i;

	for (i = 0; i < rounds; i++) {
		size_t len = i % 4 ? damaged(buf, &state) : garbage(buf, &state);
		void *p = tight(buf, len);

		(void)pmof_get_request_hdr(p, len);
		(void)pmof_get_reply_hdr(p, len, PMOF_MSG_PERSIST, 16);
		ASSERT_TRUE(requests_hold(p, len)) TH_LOG("round %llu", (unsigned long long)i);
		ASSERT_TRUE(puts_hold(p, len)) TH_LOG("round %llu", (unsigned long long)i);
		ASSERT_TRUE(objects_hold(p, len)) TH_LOG("round %llu", (unsigned long long)i);
		ASSERT_TRUE(bad_hold(p, len)) TH_LOG("round %llu", (unsigned long long)i);
		ASSERT_TRUE(replies_hold(p, len)) TH_LOG("round %llu", (unsigned long long)i);
		ASSERT_TRUE(private_data_holds(p, len)) TH_LOG("round %llu", (unsigned long long)i);
		free(p);
	}
}

/* --- the option string ---------------------------------------------------- */

static size_t option_text(char *buf, u64 *state)
{
	static const char *const words[] = {
		"addr=", "10.77.0.1", "name=", "data", "queues=", "depth=", "persist=", "auto",
		"read", "assist", "id=", "read_only=", "port=", "cache=",
		"key=", "00112233445566778899aabbccddeeff", "exclusive=", "takeover=",
		"writeback", "poll_queues=", "block=", "block_size=", ",", ",", ",", "=", "\n", "1",
		"128", "65535", "99999999999999999999", "-1", "+3", "x", ".", " ", "fd77::1",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	};
	unsigned int n = rnd(state) % 16;
	size_t len = 0;

	while (n--) {
		const char *w = words[rnd(state) % ARRAY_SIZE(words)];

		memcpy(buf + len, w, strlen(w));
		len += strlen(w);
		if (rnd(state) % 16 == 0)
			buf[len++] = 1 + rnd(state) % 255;
	}
	buf[len++] = '\0';
	return len;
}

static bool options_hold(const struct pmof_options *o)
{
	return strnlen(o->addr, sizeof(o->addr)) < sizeof(o->addr) && o->addr[0] &&
	       pmof_name_valid(o->name, sizeof(o->name)) &&
	       (!o->id[0] || pmof_name_valid(o->id, sizeof(o->id))) && o->port &&
	       o->queues <= PMOF_MAX_QUEUES && o->depth >= PMOF_DEPTH_MIN &&
	       o->depth <= PMOF_MAX_DEPTH;
}

TEST(options)
{
	u64 rounds = setting("PMOF_FUZZ_ROUNDS", 200000);
	u64 state = setting("PMOF_FUZZ_SEED", seed), i;
	struct pmof_options o;
	char buf[2048];
	const char *why;

	for (i = 0; i < rounds; i++) {
		size_t len = option_text(buf, &state);
		char *p = tight(buf, len);
		int rc = pmof_options_parse(p, &o, &why);

		ASSERT_TRUE(rc ? rc == -EINVAL && why && *why : options_hold(&o))
			TH_LOG("'%s'", buf);
		free(p);
	}
}

TEST_HARNESS_MAIN
