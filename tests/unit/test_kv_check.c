// SPDX-License-Identifier: GPL-2.0
/*
 * tools/kv_verify.c, which `pmof kv check` is made of: stores that the server's own steps have
 * written, whole, cut short or damaged.
 */
#include "medium.h"
#include "unit.h"
#include "../../kmod/store/alloc.h"
#include "../../tools/kv_verify.h"

#define NS_SIZE		(96ULL << 20)
#define FAULTS		8

struct store {
	struct pmof_kv_medium m;
	struct pmof_kv_alloc alloc;
	struct pmof_kv_chunk *chunk;
	u64 last_generation;
	u32 appended;
};

struct seen {
	struct kv_fault fault[FAULTS];
	unsigned int nr;
	u64 leftover;
	unsigned int nr_leftover;
};

static void make_store(struct store *s)
{
	memset(s, 0, sizeof(*s));
	s->m.base = calloc(1, NS_SIZE);
	s->m.write_back = medium_write_back;
	s->m.sb = (struct pmof_kv_super){ .ns_size = NS_SIZE, .nr_records = 128, .serial = 1,
					  .first = 1 };
	memset(s->m.sb.uuid, 0x37, sizeof(s->m.sb.uuid));
	if (!s->m.base || pmof_kv_layout(&s->m.sb))
		abort();
	pmof_kv_write_super(&s->m, 0);
	pmof_kv_write_super(&s->m, 1);
	s->chunk = calloc(s->m.sb.nr_chunks, sizeof(*s->chunk));
	if (!s->chunk)
		abort();
	pmof_kv_alloc_init(&s->alloc, &s->m.sb, s->chunk, medium_zalloc);
}

static void drop_store(struct store *s)
{
	pmof_kv_alloc_free(&s->alloc, medium_free);
	free(s->chunk);
	free(s->m.base);
}

/* The slot for an object, its chunks being assigned. */
static u64 take(struct store *s, const struct pmof_kv_object *o)
{
	u32 class = pmof_kv_class_of(pmof_kv_object_length(o)), chunk, part;
	bool fresh;
	u64 slot;

	if (pmof_kv_alloc_take(&s->alloc, class, &slot, &fresh))
		abort();
	chunk = (slot - s->m.sb.chunks) >> PMOF_KV_CHUNK_SHIFT;
	for (part = pmof_kv_class_chunks(class); fresh && part--;)
		pmof_kv_assign_chunk(&s->m, chunk + part, class, part);
	return slot;
}

static struct pmof_kv_object object(struct store *s, u32 value_length)
{
	return (struct pmof_kv_object){ .generation = ++s->last_generation, .key_length = 4,
					.value_length = value_length };
}

/* A header without PF: a put that was prepared. */
static u64 prepare(struct store *s, const struct pmof_kv_object *o, const char *key)
{
	u64 slot = take(s, o);

	pmof_kv_clear_trailer(&s->m, slot, o);
	pmof_kv_write_header(&s->m, slot, o, key);
	return slot;
}

static void log_put(struct store *s, u64 slot, u64 generation, const struct pmof_kv_ref *old)
{
	struct pmof_kv_record r = { .sequence = s->m.sb.first + s->appended,
				    .new = { slot, generation }, .old = *old };

	pmof_kv_append_record(&s->m, s->appended++, &r);
}

static struct pmof_kv_ref put(struct store *s, const char *key, u32 length,
			      const struct pmof_kv_ref *old)
{
	static const struct pmof_kv_ref none;
	struct pmof_kv_object o = object(s, length);
	u64 slot = prepare(s, &o, key);

	log_put(s, slot, o.generation, old ? old : &none);
	pmof_kv_set_pf(&s->m, slot, &o);
	pmof_kv_set_vf(&s->m, slot, &o);
	return (struct pmof_kv_ref){ slot, o.generation };
}

static void see_fault(void *context, const struct kv_fault *f)
{
	struct seen *seen = context;

	if (seen->nr < FAULTS)
		seen->fault[seen->nr] = *f;
	seen->nr++;
}

static void see_leftover(void *context, u64 slot)
{
	struct seen *seen = context;

	seen->leftover = slot;
	seen->nr_leftover++;
}

static int verify(struct store *s, struct kv_report *r, struct seen *seen)
{
	static const struct kv_verify_ops ops = { .fault = see_fault, .leftover = see_leftover };

	memset(seen, 0, sizeof(*seen));
	return kv_verify(s->m.base, NS_SIZE, &ops, seen, r);
}

FIXTURE(kv_check)
{
	struct store s;
	struct kv_report r;
	struct seen seen;
};

FIXTURE_SETUP(kv_check)
{
	make_store(&self->s);
}

FIXTURE_TEARDOWN(kv_check)
{
	drop_store(&self->s);
}

TEST_F(kv_check, empty)
{
	ASSERT_EQ(0, verify(&self->s, &self->r, &self->seen));
	EXPECT_EQ(0, self->r.faults);
	EXPECT_EQ(3, self->r.good);
	EXPECT_EQ(0, self->r.found.live);
	EXPECT_EQ(self->r.sb.nr_chunks, self->r.free_chunks);
}

TEST_F(kv_check, objects)
{
	u32 class = pmof_kv_class_of(24 + 4 + 100 + 8), span;

	put(&self->s, "one.", 100, NULL);
	put(&self->s, "two.", 100, NULL);
	put(&self->s, "big.", 5 << 20, NULL);
	span = pmof_kv_class_of(5 << 20);
	ASSERT_EQ(0, verify(&self->s, &self->r, &self->seen));
	EXPECT_EQ(0, self->r.faults);
	EXPECT_EQ(3, self->r.found.live);
	EXPECT_EQ(3, self->r.found.records);
	EXPECT_EQ(3, self->r.counted);
	EXPECT_EQ(12, self->r.key_bytes);
	EXPECT_EQ(200 + (5 << 20), self->r.value_bytes);
	EXPECT_EQ(2, self->r.class[class].live);
	EXPECT_EQ(1, self->r.class[class].chunks);
	EXPECT_EQ(2 * 136, self->r.class[class].bytes);
	EXPECT_EQ(pmof_kv_class_slots(class), self->r.class[class].slots);
	EXPECT_EQ(1, self->r.class[span].slots);
	EXPECT_EQ(2, self->r.class[span].chunks);
	EXPECT_EQ(self->r.sb.nr_chunks - 3, self->r.free_chunks);
}

/* What was replaced is left over, until a checkpoint clears it. */
TEST_F(kv_check, replaced)
{
	struct pmof_kv_ref old = put(&self->s, "one.", 10, NULL);

	put(&self->s, "one.", 20, &old);
	ASSERT_EQ(0, verify(&self->s, &self->r, &self->seen));
	EXPECT_EQ(0, self->r.faults);
	EXPECT_EQ(1, self->r.found.live);
	EXPECT_EQ(1, self->r.found.leftover);
	EXPECT_EQ(1, self->seen.nr_leftover);
	EXPECT_EQ(old.offset, self->seen.leftover);
}

TEST_F(kv_check, prepared)
{
	struct pmof_kv_object o = object(&self->s, 64);
	static const struct pmof_kv_ref none;
	u64 slot = prepare(&self->s, &o, "one.");

	log_put(&self->s, slot, o.generation, &none);
	ASSERT_EQ(0, verify(&self->s, &self->r, &self->seen));
	EXPECT_EQ(0, self->r.faults);
	EXPECT_EQ(0, self->r.found.live);
	EXPECT_EQ(1, self->r.found.leftover);
	EXPECT_EQ(1, self->r.found.records);
	EXPECT_EQ(0, self->r.counted);
	pmof_kv_set_pf(&self->s.m, slot, &o);
	ASSERT_EQ(0, verify(&self->s, &self->r, &self->seen));
	EXPECT_EQ(0, self->r.faults);
	EXPECT_EQ(1, self->r.found.live);
	EXPECT_EQ(1, self->r.hidden);
	EXPECT_EQ(1, self->r.counted);
}

/* A cut between a record and its chunk's word. */
TEST_F(kv_check, record_without_chunk)
{
	static const struct pmof_kv_ref none;

	log_put(&self->s, self->s.m.sb.chunks, 7, &none);
	ASSERT_EQ(0, verify(&self->s, &self->r, &self->seen));
	EXPECT_EQ(0, self->r.faults);
	EXPECT_EQ(0, self->r.counted);
}

/* Records of one round, the first of which did not get there. */
TEST_F(kv_check, hole_in_the_log)
{
	u64 first = pmof_kv_record_offset(&self->s.m.sb, 0);

	put(&self->s, "one.", 10, NULL);
	put(&self->s, "two.", 10, NULL);
	memset((char *)self->s.m.base + first, 0, 8);
	ASSERT_EQ(0, verify(&self->s, &self->r, &self->seen));
	EXPECT_EQ(0, self->r.faults);
	EXPECT_EQ(0, self->r.found.records);
	EXPECT_EQ(1, self->r.behind);
}

/* Records of more than one round behind one that is gone: a sector of the log was mended by zeros. */
TEST_F(kv_check, record_is_gone)
{
	u64 first = pmof_kv_record_offset(&self->s.m.sb, 1);
	struct pmof_kv_ref a = put(&self->s, "one.", 10, NULL), b = a;
	unsigned int i;

	for (i = 0; i <= PMOF_KV_ROUND; i++)
		b = put(&self->s, "one.", 10, &b);
	ASSERT_EQ(0, verify(&self->s, &self->r, &self->seen));
	EXPECT_EQ(0, self->r.faults);
	memset((char *)self->s.m.base + first, 0, 8);
	ASSERT_EQ(0, verify(&self->s, &self->r, &self->seen));
	EXPECT_EQ(1, self->r.found.records);
	EXPECT_TRUE(self->r.found.hole);
	/* All that was replaced is back. */
	EXPECT_EQ(PMOF_KV_ROUND + 2, self->r.found.live);
	EXPECT_EQ(KV_FAULT_LOG, self->seen.fault[0].kind);
	EXPECT_EQ(1, self->seen.fault[0].other);
	EXPECT_EQ(first, self->seen.fault[0].offset);
}

/* A sector with the header of what was committed, mended by zeros: what it had replaced stays dead. */
TEST_F(kv_check, object_is_gone)
{
	struct pmof_kv_ref a = put(&self->s, "one.", 10, NULL), b = put(&self->s, "one.", 10, &a);
	unsigned int i;

	memset((char *)self->s.m.base + b.offset, 0, 8);
	for (i = 0; i < PMOF_KV_ROUND - 1; i++)
		put(&self->s, "two.", 10, NULL);
	ASSERT_EQ(0, verify(&self->s, &self->r, &self->seen));
	/* It may have been under way. */
	EXPECT_EQ(0, self->r.found.vanished);
	EXPECT_EQ(PMOF_KV_ROUND, self->r.found.live);
	put(&self->s, "two.", 10, NULL);
	ASSERT_EQ(0, verify(&self->s, &self->r, &self->seen));
	EXPECT_EQ(1, self->r.found.vanished);
	EXPECT_EQ(PMOF_KV_ROUND, self->r.found.live);
	EXPECT_EQ(KV_FAULT_GONE, self->seen.fault[0].kind);
	EXPECT_EQ(b.offset, self->seen.fault[0].offset);
	EXPECT_EQ(1, self->seen.fault[0].other);
}

/* --- what cannot be read ------------------------------------------------------------------- */

struct unreadable {
	u64 offset;		/* of a header, or a trailer */
	unsigned int judged[3];
	unsigned int lost;
};

static bool is_readable(void *context, u64 offset, u64 length __attribute__((unused)))
{
	const struct unreadable *u = context;

	return offset != u->offset;
}

static int see_lost(void *context, u64 slot __attribute__((unused)))
{
	struct unreadable *u = context;

	u->lost++;
	return 0;
}

static int see_live_one(void *context __attribute__((unused)), u64 slot __attribute__((unused)),
			const struct pmof_kv_object *o __attribute__((unused)))
{
	return 0;
}

static int see_left_one(void *context __attribute__((unused)), u64 slot __attribute__((unused)))
{
	return 0;
}

static void see_judged(void *context, const struct pmof_kv_record *r __attribute__((unused)),
		       enum pmof_kv_happened happened)
{
	struct unreadable *u = context;

	u->judged[happened]++;
}

static int recover_without(struct store *s, struct unreadable *u, struct pmof_kv_recovered *out)
{
	static const struct pmof_kv_recover_ops ops = {
		.live = see_live_one, .leftover = see_left_one, .readable = is_readable,
		.lost = see_lost, .record = see_judged,
	};
	struct pmof_kv_ref *scratch = calloc(2 * (size_t)s->m.sb.nr_records, sizeof(*scratch));
	int rc = pmof_kv_recover(s->m.base, &s->m.sb, scratch, &ops, u, out);

	free(scratch);
	return rc;
}

/* What it has replaced stays dead; whether it was committed nobody says. */
TEST_F(kv_check, unreadable_object)
{
	struct pmof_kv_ref a = put(&self->s, "one.", 10, NULL), b = put(&self->s, "one.", 10, &a);
	u64 places[] = { b.offset, b.offset + 24 + 4 + 10 + 2 };
	struct pmof_kv_recovered out;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		struct unreadable u = { .offset = places[i] };

		ASSERT_EQ(0, recover_without(&self->s, &u, &out));
		EXPECT_EQ(0, u.judged[PMOF_KV_NOT_HAPPENED]);
		EXPECT_EQ(1, u.judged[PMOF_KV_HAPPENED]);
		EXPECT_EQ(1, u.judged[PMOF_KV_NOT_KNOWN]);
		EXPECT_EQ(1, u.lost);
		EXPECT_EQ(0, out.live);
		EXPECT_EQ(1, out.leftover);
		EXPECT_FALSE(out.hole);
	}
}

TEST_F(kv_check, unfinished_span)
{
	u32 class = pmof_kv_class_of(9 << 20);

	pmof_kv_assign_chunk(&self->s.m, 5, class, 2);
	pmof_kv_assign_chunk(&self->s.m, 4, class, 1);
	ASSERT_EQ(0, verify(&self->s, &self->r, &self->seen));
	EXPECT_EQ(0, self->r.faults);
	EXPECT_EQ(2, self->r.part_chunks);
	EXPECT_EQ(self->r.sb.nr_chunks, self->r.free_chunks);
}

TEST_F(kv_check, superblocks)
{
	char *base = self->s.m.base;

	put(&self->s, "one.", 10, NULL);
	base[17]++;
	ASSERT_EQ(0, verify(&self->s, &self->r, &self->seen));
	EXPECT_EQ(2, self->r.good);
	EXPECT_EQ(1, self->r.found.live);
	base[PMOF_KV_SUPER_SIZE + 17]++;
	EXPECT_EQ(-EINVAL, verify(&self->s, &self->r, &self->seen));
	base[17]--;
	ASSERT_EQ(0, verify(&self->s, &self->r, &self->seen));
	EXPECT_EQ(1, self->r.good);
}

/* --- damage -------------------------------------------------------------------------- */

TEST_F(kv_check, two_of_a_key)
{
	struct pmof_kv_ref a, b;

	put(&self->s, "zero", 10, NULL);
	a = put(&self->s, "one.", 10, NULL);
	put(&self->s, "two.", 10, NULL);
	b = put(&self->s, "one.", 3000, NULL);
	ASSERT_EQ(0, verify(&self->s, &self->r, &self->seen));
	EXPECT_EQ(1, self->r.faults);
	ASSERT_EQ(1, self->seen.nr);
	EXPECT_EQ(KV_FAULT_KEY, self->seen.fault[0].kind);
	EXPECT_EQ(a.offset + b.offset,
		  self->seen.fault[0].offset + self->seen.fault[0].other);
}

TEST_F(kv_check, two_of_a_generation)
{
	put(&self->s, "one.", 10, NULL);
	self->s.last_generation--;
	put(&self->s, "two.", 10, NULL);
	ASSERT_EQ(0, verify(&self->s, &self->r, &self->seen));
	ASSERT_EQ(1, self->seen.nr);
	EXPECT_EQ(KV_FAULT_GENERATION, self->seen.fault[0].kind);
	EXPECT_EQ(1, self->seen.fault[0].generation);
}

TEST_F(kv_check, trailer)
{
	struct pmof_kv_ref a = put(&self->s, "one.", 4, NULL);

	/* Header, key, value, trailer: VF is its last byte. */
	*((u8 *)self->s.m.base + a.offset + 24 + 4 + 4 + 7) ^= 1;
	ASSERT_EQ(0, verify(&self->s, &self->r, &self->seen));
	EXPECT_EQ(1, self->r.found.live);
	ASSERT_EQ(1, self->seen.nr);
	EXPECT_EQ(KV_FAULT_TRAILER, self->seen.fault[0].kind);
	EXPECT_EQ(a.offset, self->seen.fault[0].offset);
}

TEST_F(kv_check, record_of_no_slot)
{
	struct pmof_kv_ref a = put(&self->s, "one.", 4, NULL), wrong = a;

	wrong.offset += 8;
	put(&self->s, "two.", 4, &wrong);
	ASSERT_EQ(0, verify(&self->s, &self->r, &self->seen));
	ASSERT_EQ(1, self->seen.nr);
	EXPECT_EQ(KV_FAULT_RECORD, self->seen.fault[0].kind);
	EXPECT_EQ(1, self->seen.fault[0].other);
	EXPECT_EQ(wrong.offset, self->seen.fault[0].offset);
}

/* The word of a chunk is gone: objects that the log names are nowhere. */
TEST_F(kv_check, lost_chunk)
{
	struct pmof_kv_ref a = put(&self->s, "one.", 4, NULL);

	put(&self->s, "one.", 9000, &a);
	memset((char *)self->s.m.base + pmof_kv_chunk_word_offset(0), 0, 8);
	ASSERT_EQ(0, verify(&self->s, &self->r, &self->seen));
	EXPECT_EQ(1, self->r.found.live);
	/* The first record's new object, which the second names as old; and that. */
	EXPECT_EQ(2, self->seen.nr);
}

/* Any byte of it changed: it says something, reads nothing outside, and does not crash. */
TEST_F(kv_check, noise)
{
	u64 rng = 4711, where[3] = { 0, self->s.m.sb.log, self->s.m.sb.chunks };
	struct pmof_kv_ref a = put(&self->s, "one.", 4, NULL);
	u8 *base = self->s.m.base;
	int i, rc;

	put(&self->s, "one.", 40, &a);
	put(&self->s, "two.", 5 << 20, NULL);
	for (i = 0; i < 300; i++) {
		u64 at = where[rnd(&rng) % 3] + rnd(&rng) % 512;
		u8 old = base[at];

		base[at] ^= 1 << rnd(&rng) % 8;
		rc = verify(&self->s, &self->r, &self->seen);
		EXPECT_EQ(0, rc) TH_LOG("byte %llu", (unsigned long long)at);
		base[at] = old;
	}
}

TEST_HARNESS_MAIN
