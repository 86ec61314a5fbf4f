// SPDX-License-Identifier: GPL-2.0
/*
 * As hostile.c: messages that carry data (PUT) and those about objects (COMMIT,
 * PREPARE, REVALIDATE), lying about lengths, counts, places and rights.
 */
#include "patience.h"
#include "wireclient.h"
#include "window.h"
#include "../../kmod/common/object.h"

/* A place in the window that is an object. */
#define OBJ_OFF	(WINDOW_OFF + 4096)
#define OBJ_LEN	128
#define TRAILER	(OBJ_OFF + OBJ_LEN - 8)

static const struct pmof_put plain = { .range = { OBJ_OFF, OBJ_LEN } };
static const struct pmof_put object = {
	.range = { OBJ_OFF, OBJ_LEN - 8 }, .commit = true, .trailer = TRAILER, .generation = 5,
};

/* A PUT whose data are not what the window has: it must not get there. */
static size_t build_put(char *buf, const struct pmof_put *p)
{
	size_t len = pmof_put_put((void *)buf, 1, p);

	memset(buf + len, 0xee, p->range.length);
	return len + p->range.length;
}

/* --- what a good one does, so that a refusal means something -------------------- */

TEST_F(window, good_messages_first)
{
	struct pmof_put p = object;
	char buf[PMOF_IO_MSG_SIZE];
	u64 trailer = TRAILER, g;
	struct wc_session s;
	size_t len;

	self->may_change = true;
	ASSERT_EQ(0, wc_open(&s, 0));
	EXPECT_EQ(PMOF_MAX_INLINE, s.login.max_inline);
	EXPECT_EQ(0, wc_call(&s.io, buf, build_put(buf, &plain)));
	ASSERT_EQ(0, vm_get(self->fd, OBJ_OFF, self->now, OBJ_LEN));
	EXPECT_EQ(0xee, (u8)self->now[0]);
	EXPECT_EQ(0xee, (u8)self->now[OBJ_LEN - 1]);
	len = pmof_put_objects((void *)buf, PMOF_MSG_PREPARE, 1, &trailer, 1);
	ASSERT_EQ(0, wc_call(&s.io, buf, len));
	ASSERT_EQ(0, vm_get(self->fd, TRAILER, &p.generation, 8));
	/* Another generation is refused, and has written nothing, not even the data. */
	p.generation ^= 1;
	memset(buf, 0, sizeof(buf));
	len = pmof_put_put((void *)buf, 1, &p) + p.range.length;
	EXPECT_EQ(PMOF_SC_STALE, wc_call(&s.io, buf, len));
	ASSERT_EQ(0, vm_get(self->fd, OBJ_OFF, self->now, OBJ_LEN));
	EXPECT_EQ(0xee, (u8)self->now[0]);
	p.generation ^= 1;
	EXPECT_EQ(0, wc_call(&s.io, buf, build_put(buf, &p)));
	EXPECT_EQ(0, vm_get_valid(self->fd, OBJ_OFF, self->now, OBJ_LEN, &g));
	EXPECT_EQ(p.generation, g);
	EXPECT_EQ(PMOF_SC_STALE, wc_call(&s.io, buf, pmof_put_commit((void *)buf, 1, &p)));
	len = pmof_put_objects((void *)buf, PMOF_MSG_REVALIDATE, 1, &trailer, 1);
	EXPECT_EQ(0, wc_call(&s.io, buf, len));
	wc_close_session(&s);
}

/* --- PUT ---------------------------------------------------------------------- */

TEST_F_TIMEOUT(window, put_wrong_fields, 120)
{
	char buf[PMOF_IO_MSG_SIZE] = { 0 };
	struct pmof_wire_put *w = (void *)buf;
	size_t len;

#define ENDS(base, change) do {							\
		len = build_put(buf, &(base));					\
		change;								\
		EXPECT_EQ(ENDED, wc_lone_call(buf, len, 0)) TH_LOG("%s", #change);	\
	} while (0)
	ENDS(plain, w->length = 0);
	ENDS(plain, w->length -= 1);
	ENDS(plain, w->length += 1);
	ENDS(plain, w->length += 1ULL << 32);
	ENDS(plain, w->length = ~0ULL);
	ENDS(plain, w->generation = 1);
	ENDS(plain, w->flags = 2);
	ENDS(plain, w->flags = 0x80000000);
	ENDS(plain, w->reserved = 1);
	ENDS(plain, w->hdr.length += 8);
	ENDS(plain, w->hdr.flags = 1);
	ENDS(object, w->flags = 0);
	ENDS(object, w->generation = 0);
	ENDS(object, w->generation = 1ULL << 48);
	ENDS(object, w->offset += 4);
	ENDS(object, w->length -= 8);
	ENDS(object, w->length += 8);
	ENDS(object, w->length = 0);
	ENDS(object, w->length = 4);
	ENDS(object, w->flags = 3);
#undef ENDS
}

TEST_F_TIMEOUT(window, put_truncated, 120)
{
	char buf[WC_BUF] = { 0 };
	struct pmof_wire_put *w = (void *)buf;
	size_t n, len = build_put(buf, &plain);

	for (n = 16; n < len; n += n < 56 ? 8 : 40) {
		w->hdr.length = n;
		EXPECT_EQ(ENDED, wc_lone_call(buf, n, 0)) TH_LOG("%zu bytes", n);
	}
	/* Nothing but a head, which names nothing. */
	w->length = 0;
	w->hdr.length = sizeof(*w);
	EXPECT_EQ(ENDED, wc_lone_call(buf, sizeof(*w), 0));
}

/* More than a receive buffer takes. */
TEST_F(window, put_oversized)
{
	static const size_t sizes[] = { PMOF_MAX_INLINE + 1, PMOF_MAX_INLINE + 64, 6000 };
	char buf[WC_BUF] = { 0 };
	struct pmof_put p = plain;
	size_t i;

	if (!soft_roce_survives(sizeof(struct pmof_wire_put) + sizes[0]))
		SKIP(return, "this kernel's soft-RoCE does not survive it");
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		p.range.length = sizes[i];
		EXPECT_EQ(ENDED, wc_lone_call(buf, build_put(buf, &p), 0)) TH_LOG("%zu", sizes[i]);
	}
}

/* Well formed and out of bounds: a status, and the session goes on. */
TEST_F(window, put_out_of_bounds)
{
	u64 size = self->info.ns_size;
	const u64 places[] = { size, size - 8, size - OBJ_LEN + 8, ~0ULL - 7, 1ULL << 63 };
	char buf[PMOF_IO_MSG_SIZE];
	struct wc_session s;
	struct pmof_put p;
	size_t i;

	ASSERT_EQ(0, wc_open(&s, 0));
	for (i = 0; i < ARRAY_SIZE(places); i++) {
		p = plain;
		p.range.offset = places[i];
		EXPECT_EQ(PMOF_SC_RANGE, wc_call(&s.io, buf, build_put(buf, &p)))
			TH_LOG("case %zu", i);
		p = object;
		p.range.offset = places[i];
		EXPECT_EQ(PMOF_SC_RANGE, wc_call(&s.io, buf, build_put(buf, &p)))
			TH_LOG("case %zu", i);
	}
	/* The object is not prepared. */
	EXPECT_EQ(PMOF_SC_STALE, wc_call(&s.io, buf, build_put(buf, &object)));
	wc_close_session(&s);
}

/* --- COMMIT ------------------------------------------------------------------- */

TEST_F_TIMEOUT(window, commit_wrong_fields, 120)
{
	char buf[128] = { 0 };
	struct pmof_wire_commit *w = (void *)buf;
	size_t n, len;

#define ENDS(change) do {							\
		len = pmof_put_commit(w, 1, &object);				\
		change;								\
		EXPECT_EQ(ENDED, wc_lone_call(buf, len, 0)) TH_LOG("%s", #change);	\
	} while (0)
	ENDS(w->trailer += 1);
	ENDS(w->trailer += 4);
	ENDS(w->trailer = ~0ULL);
	ENDS(w->generation = 0);
	ENDS(w->generation = 1ULL << 48);
	ENDS(w->generation = ~0ULL);
	ENDS(w->hdr.reserved = 1);
	ENDS(w->hdr.length = 40);
#undef ENDS
	for (n = 16; n <= 64; n += 8) {
		if (n == sizeof(*w))
			continue;
		pmof_put_commit(w, 1, &object);
		w->hdr.length = n;
		EXPECT_EQ(ENDED, wc_lone_call(buf, n, 0)) TH_LOG("%zu bytes", n);
	}
}

TEST_F(window, commit_out_of_bounds)
{
	u64 size = self->info.ns_size;
	const struct { u64 offset, length, trailer; int rc; } cases[] = {
		{ OBJ_OFF, 64, size, PMOF_SC_RANGE }, { OBJ_OFF, 64, ~0ULL - 7, PMOF_SC_RANGE },
		{ OBJ_OFF, 64, 1ULL << 63, PMOF_SC_RANGE }, { size, 1, TRAILER, PMOF_SC_RANGE },
		{ size - 8, 16, TRAILER, PMOF_SC_RANGE }, { 1, ~0ULL, TRAILER, PMOF_SC_RANGE },
		{ ~0ULL, 1, TRAILER, PMOF_SC_RANGE }, { 0, size + 1, TRAILER, PMOF_SC_RANGE },
		/* Good, but never prepared. */
		{ OBJ_OFF, 64, TRAILER, PMOF_SC_STALE }, { 0, 0, TRAILER, PMOF_SC_STALE },
	};
	struct pmof_wire_commit w;
	struct wc_session s;
	size_t i;

	ASSERT_EQ(0, wc_open(&s, 0));
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pmof_put p = {
			.range = { cases[i].offset, cases[i].length }, .commit = true,
			.trailer = cases[i].trailer, .generation = 5,
		};

		EXPECT_EQ(cases[i].rc, wc_call(&s.io, &w, pmof_put_commit(&w, 1, &p)))
			TH_LOG("case %zu", i);
	}
	wc_close_session(&s);
}

/* --- PREPARE, REVALIDATE ------------------------------------------------------ */

static const u8 object_opcodes[] = { PMOF_MSG_PREPARE, PMOF_MSG_REVALIDATE };

TEST_F_TIMEOUT(window, objects_lies, 120)
{
	static const u32 counts[] = { 0, 1, 3, 128, 129, 0x20000002, 0xffffffff };
	u64 trailer[PMOF_MAX_OBJECTS + 1];
	char buf[PMOF_IO_MSG_SIZE] = { 0 };
	struct pmof_wire_objects *w = (void *)buf;
	size_t i, k, len, n;

	for (i = 0; i < ARRAY_SIZE(trailer); i++)
		trailer[i] = OBJ_OFF + 16 * i + 8;
	for (k = 0; k < ARRAY_SIZE(object_opcodes); k++) {
		u8 opcode = object_opcodes[k];

		for (i = 0; i < ARRAY_SIZE(counts); i++) {
			len = pmof_put_objects(w, opcode, 1, trailer, 2);
			w->count = counts[i];
			EXPECT_EQ(ENDED, wc_lone_call(buf, len, 0)) TH_LOG("count %u", counts[i]);
		}
		/* One too many, and a length that agrees. */
		len = pmof_put_objects(w, opcode, 1, trailer, PMOF_MAX_OBJECTS + 1);
		EXPECT_EQ(ENDED, wc_lone_call(buf, len, 0));
		len = pmof_put_objects(w, opcode, 1, trailer, 2);
		w->reserved = 1;
		EXPECT_EQ(ENDED, wc_lone_call(buf, len, 0));
		for (n = 16; n <= len + 8; n += 8) {
			if (n == len)
				continue;
			pmof_put_objects(w, opcode, 1, trailer, 2);
			w->hdr.length = n;
			EXPECT_EQ(ENDED, wc_lone_call(buf, n, 0)) TH_LOG("%zu bytes", n);
		}
	}
}

/* A bad one among good ones: none of them is prepared. */
TEST_F_TIMEOUT(window, objects_at_bad_places, 120)
{
	u64 size = self->info.ns_size, trailer[PMOF_MAX_OBJECTS];
	const struct { u64 trailer; int rc; } cases[] = {
		{ TRAILER + 4, ENDED }, { TRAILER + 1, ENDED }, { ~0ULL, ENDED },
		{ size, PMOF_SC_RANGE }, { ~0ULL - 7, PMOF_SC_RANGE },
		{ 1ULL << 63, PMOF_SC_RANGE },
	};
	char buf[PMOF_IO_MSG_SIZE];
	size_t i, k, n, len;

	for (k = 0; k < ARRAY_SIZE(object_opcodes); k++)
		for (i = 0; i < ARRAY_SIZE(cases); i++) {
			for (n = 0; n < PMOF_MAX_OBJECTS; n++)
				trailer[n] = OBJ_OFF + 16 * n + 8;
			trailer[i % 2 ? PMOF_MAX_OBJECTS - 1 : 1] = cases[i].trailer;
			len = pmof_put_objects((void *)buf, object_opcodes[k], 1, trailer,
					       PMOF_MAX_OBJECTS);
			EXPECT_EQ(cases[i].rc, wc_lone_call(buf, len, 0)) TH_LOG("case %zu", i);
		}
}

/* What is not committed is told as such, with a generation of zero. */
TEST_F(window, revalidate_of_what_is_not_committed)
{
	u64 trailer[PMOF_MAX_OBJECTS], generation[PMOF_MAX_OBJECTS];
	char buf[PMOF_IO_MSG_SIZE];
	struct wc_session s;
	const void *msg;
	size_t len;
	ssize_t n;
	int i;

	for (i = 0; i < PMOF_MAX_OBJECTS; i++)
		trailer[i] = OBJ_OFF + 16 * i + 8;
	ASSERT_EQ(0, wc_open(&s, 0));
	len = pmof_put_objects((void *)buf, PMOF_MSG_REVALIDATE, 1, trailer, PMOF_MAX_OBJECTS);
	ASSERT_EQ(0, wc_send(&s.io, buf, len));
	n = wc_recv(&s.io, &msg, 10000);
	ASSERT_LT(0, n);
	ASSERT_EQ(0, pmof_get_objects_reply(msg, n, PMOF_MSG_REVALIDATE, PMOF_MAX_OBJECTS,
					    generation));
	for (i = 0; i < PMOF_MAX_OBJECTS; i++)
		EXPECT_EQ(0, generation[i]);
	wc_close_session(&s);
}

/* --- rights ------------------------------------------------------------------- */

/* A session that asked for no right to write: each is refused, and it goes on. */
TEST_F(window, read_only_session)
{
	char buf[PMOF_IO_MSG_SIZE];
	struct pmof_range range = { OBJ_OFF, 64 };
	u64 trailer = TRAILER;
	struct wc_session s;

	ASSERT_EQ(0, wc_open(&s, PMOF_LOGIN_F_READ_ONLY));
	EXPECT_EQ(PMOF_SC_READ_ONLY, wc_call(&s.io, buf, build_put(buf, &plain)));
	EXPECT_EQ(PMOF_SC_READ_ONLY, wc_call(&s.io, buf, build_put(buf, &object)));
	EXPECT_EQ(PMOF_SC_READ_ONLY, wc_call(&s.io, buf, pmof_put_commit((void *)buf, 1, &object)));
	EXPECT_EQ(PMOF_SC_READ_ONLY,
		  wc_call(&s.io, buf, pmof_put_objects((void *)buf, PMOF_MSG_PREPARE, 1,
						       &trailer, 1)));
	EXPECT_EQ(PMOF_SC_READ_ONLY,
		  wc_call(&s.io, buf, pmof_put_objects((void *)buf, PMOF_MSG_REVALIDATE, 1,
						       &trailer, 1)));
	EXPECT_EQ(0, wc_call(&s.io, buf, pmof_put_persist((void *)buf, 1, &range, 1)));
	wc_close_session(&s);
}

/* On the admin queue, where there is no session yet, and where there is one. */
TEST_F(window, on_the_admin_queue)
{
	char buf[PMOF_IO_MSG_SIZE];
	u64 trailer = TRAILER;
	struct wc_session s;
	struct wc_queue q;
	size_t i, len;

	for (i = 0; i < 8; i++) {
		switch (i / 2) {
		case 0:
			len = build_put(buf, &plain);
			break;
		case 1:
			len = pmof_put_commit((void *)buf, 1, &object);
			break;
		default:
			len = pmof_put_objects((void *)buf, object_opcodes[i / 2 - 2], 1, &trailer,
					       1);
		}
		if (i % 2) {
			ASSERT_EQ(0, wc_login(&s, 0));
			EXPECT_EQ(ENDED, wc_call(&s.admin, buf, len)) TH_LOG("message %zu", i);
			wc_close_session(&s);
		} else {
			ASSERT_EQ(0, wc_connect(&q, 0, 0));
			EXPECT_EQ(ENDED, wc_call(&q, buf, len)) TH_LOG("message %zu", i);
			wc_close(&q);
		}
	}
}

/* --- manners ------------------------------------------------------------------ */

/* Far more PUTs than the depth: each is answered, or the session ends. */
TEST_F(window, put_flood)
{
	struct wc_session s;
	int sent, replies;

	self->may_change = true;
	ASSERT_EQ(0, wc_open(&s, 0));
	sent = wc_flood(&s.io, build_put(wc_out(&s.io), &plain), &replies);
	EXPECT_TRUE(s.io.ended || replies == sent) TH_LOG("%d of %d replies", replies, sent);
	wc_close_session(&s);
}

static size_t random_message(char *buf, uint64_t *state)
{
	u64 trailer[8];
	struct pmof_put p = vm_rnd(state) % 2 ? plain : object;
	size_t len;
	int i;

	for (i = 0; i < 8; i++)
		trailer[i] = OBJ_OFF + 16 * i + 8;
	switch (vm_rnd(state) % 3) {
	case 0:
		len = build_put(buf, &p);
		break;
	case 1:
		len = pmof_put_commit((void *)buf, 1, &object);
		break;
	default:
		len = pmof_put_objects((void *)buf, object_opcodes[vm_rnd(state) % 2], 1, trailer,
				       1 + vm_rnd(state) % 8);
	}
	for (i = vm_rnd(state) % 4; i; i--)
		buf[vm_rnd(state) % len] = vm_rnd(state) >> 30;
	return vm_rnd(state) % 8 ? len : vm_rnd(state) % (len + 1);
}

/* Good messages with random damage; what gets through may write. */
TEST_F_TIMEOUT(window, random_messages, 120)
{
	int rounds = atoi(vm_env("PMOF_HOSTILE_ROUNDS", "60")), round, n;
	uint64_t state = 101;
	char msg[1024];

	self->may_change = true;
	for (round = 0; round < rounds; round++) {
		struct wc_session s;

		ASSERT_EQ(0, wc_open(&s, 0)) TH_LOG("round %d", round);
		for (n = 0; n < 8; n++) {
			int rc = wc_call(&s.io, msg, random_message(msg, &state));

			EXPECT_NE(-ETIMEDOUT, rc) TH_LOG("round %d: neither answered nor ended", round);
			if (rc == ENDED || rc == -ETIMEDOUT)
				break;
		}
		wc_close_session(&s);
	}
}

TEST_HARNESS_MAIN
