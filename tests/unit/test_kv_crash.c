// SPDX-License-Identifier: GPL-2.0
/*
 * A store on a buffer, its power cut at random: what stands between two fences is
 * on the medium in any combination of 8-byte words. Or the server dies and begins again
 * with its caches as they are, so that what it finds may be gone with the next cut. After
 * each the store is recovered by the code that will do it (kmod/store), and must hold what
 * was acknowledged, whole, and nothing else but what was being committed.
 *
 * The rounds are those of docs/kv.md. Slots are few, so that each is used again and
 * again, and values lie about who was there before.
 */
#include "kv_cut.h"
#include "../../kmod/store/recover.h"

#define NS_SIZE		(16ULL << 20)	/* a chunk more than these need */
#define KEYS		4
#define SLOTS		7		/* of the two classes together */
#define ROUND		3
#define LIES		1024
#define GENERATIONS	64		/* that may be given until the next checkpoint */
#define KEY_LENGTH	9

/* What a value has at one place: see make_lie(). */
struct lie {
	u64 generation;
	u64 word;
	u32 at;
};

struct store {
	struct cut_medium c;		/* first: the steps are given its */
	bool immortal;			/* the server does not die any more */

	u64 slot[SLOTS];
	bool used[SLOTS];
	u64 last_generation;
	struct lie lie[LIES];
	u32 appended;
	u64 retired[128];		/* since the last checkpoint */
	unsigned int nr_retired;

	/* The specification: the generation that each key has, 0: none. */
	u64 value[KEYS];
	u64 old_slot[KEYS];
	/* What it may be as well, if the power is cut now. */
	u64 maybe[KEYS];
	bool moving[KEYS];

	/* What recovery finds. */
	u64 found[KEYS];
	u64 found_slot[KEYS];
	u64 unfinished[KEYS];		/* slots of live objects without VF */
	u64 leftover[SLOTS];
	unsigned int nr_unfinished;
	unsigned int nr_leftover;
	unsigned int faults;
};

/* One request of a round. */
struct put {
	struct pmof_kv_object o;
	u64 slot;
	unsigned int key;
	bool prepared;			/* by a PREPARE_PUT; else inline */
	bool remove;
};

/* --- values ------------------------------------------------------------------------- */

static void make_key(char key[KEY_LENGTH + 1], unsigned int k)
{
	memcpy(key, "the key 0", KEY_LENGTH + 1);
	key[KEY_LENGTH - 1] += k;
}

static u32 value_length(u64 generation)
{
	return generation % 3 ? 20 + generation % 60 : 300 + generation % 150;
}

static void make_value(const struct store *s, u8 *buf, u64 generation, u32 length)
{
	const struct lie *lie = &s->lie[generation % LIES];
	u32 i;

	for (i = 0; i < length; i++)
		buf[i] = generation * 31 + i;
	if (lie->generation == generation)
		memcpy(buf + lie->at, &lie->word, sizeof(lie->word));
}

/*
 * A value says that the object which was in the slot before is committed: where that
 * had its trailer.
 */
static void make_lie(struct store *s, u64 slot, u64 room, const struct pmof_kv_object *o)
{
	struct lie *lie = &s->lie[o->generation % LIES];
	struct pmof_kv_object last;
	u64 at, start = pmof_kv_value_offset(o);

	if (!pmof_kv_get_header(cut_seen(&s->c, slot), &s->c.m.sb, room, &last))
		return;
	at = pmof_kv_object_length(&last) - PMOF_TRAILER_SIZE;
	if (at < start || at + 8 > start + o->value_length)
		return;
	lie->generation = o->generation;
	lie->at = at - start;
	lie->word = pmof_trailer_persistent(last.generation);
}

/* --- a round --------------------------------------------------------------------------- */

static bool allocate(struct store *s, struct put *p)
{
	u64 size, length = pmof_kv_object_length(&p->o);
	unsigned int i, j = rnd(&s->c.rng) % SLOTS;

	for (i = 0; i < SLOTS; i++, j = (j + 1) % SLOTS)
		if (!s->used[j] && pmof_kv_slot_ok(s->c.m.base, &s->c.m.sb, s->slot[j], &size) &&
		    length <= size) {
			s->used[j] = true;
			p->slot = s->slot[j];
			make_lie(s, p->slot, size, &p->o);
			return true;
		}
	return false;
}

static bool is_live(const struct store *s, u64 slot)
{
	unsigned int k;

	for (k = 0; k < KEYS; k++)
		if (s->value[k] && s->old_slot[k] == slot)
			return true;
	return false;
}

/* No reader is here: what is no key's is free. */
static void free_unused(struct store *s)
{
	unsigned int i;

	for (i = 0; i < SLOTS; i++)
		s->used[i] = is_live(s, s->slot[i]);
}

static void store_value(struct store *s, const struct put *p, bool written_back)
{
	u64 at = p->slot + pmof_kv_value_offset(&p->o);

	make_value(s, cut_seen(&s->c, at), p->o.generation, p->o.value_length);
	cut_touch(&s->c, at, p->o.value_length, written_back);
}

/* True: the server died there, and the power was cut, or it was not. */
static bool dies(struct store *s)
{
	if (s->immortal || rnd(&s->c.rng) % 8)
		return false;
	if (rnd(&s->c.rng) % 2)
		cut_power(&s->c);
	else
		cut_restart(&s->c);
	return true;
}

/* PREPARE_PUT, and the client's WRITE: nobody has written that back. */
static bool prepare(struct store *s, struct put *p, const char *key)
{
	pmof_kv_clear_trailer(&s->c.m, p->slot, &p->o);
	if (dies(s))
		return true;
	cut_fence(&s->c);
	pmof_kv_write_header(&s->c.m, p->slot, &p->o, key);
	if (dies(s))
		return true;
	cut_fence(&s->c);
	store_value(s, p, false);
	return dies(s);
}

static void phase_1(struct store *s, struct put *p)
{
	struct pmof_kv_record r = { .sequence = s->c.m.sb.first + s->appended };

	if (!p->remove) {
		r.new = (struct pmof_kv_ref){ p->slot, p->o.generation };
		if (!p->prepared)
			pmof_kv_clear_trailer(&s->c.m, p->slot, &p->o);
		store_value(s, p, true);
	}
	if (s->value[p->key])
		r.old = (struct pmof_kv_ref){ s->old_slot[p->key], s->value[p->key] };
	pmof_kv_append_record(&s->c.m, s->appended++, &r);
	s->moving[p->key] = true;
	s->maybe[p->key] = p->remove ? 0 : p->o.generation;
}

static void phase_2(struct store *s, struct put *p)
{
	char key[KEY_LENGTH + 1];

	make_key(key, p->key);
	if (p->remove)
		return;
	if (!p->prepared)
		pmof_kv_write_header(&s->c.m, p->slot, &p->o, key);
	pmof_kv_set_pf(&s->c.m, p->slot, &p->o);
}

/* Nobody waits for it. */
static void set_vf_word(struct store *s, u64 slot, const struct pmof_kv_object *o)
{
	pmof_kv_set_vf(&s->c.m, slot, o);
	cut_touch(&s->c, pmof_object_trailer(slot, pmof_kv_object_length(o)), 8, false);
}

static void phase_3(struct store *s, struct put *p)
{
	if (!p->remove)
		set_vf_word(s, p->slot, &p->o);
	if (s->value[p->key])
		s->retired[s->nr_retired++] = s->old_slot[p->key];
	s->value[p->key] = s->maybe[p->key];
	s->old_slot[p->key] = p->slot;
	s->moving[p->key] = false;
}

/* Of each key at most one. Fills @p; returns how many, or -1: the server died. */
static int take(struct store *s, struct put *p)
{
	unsigned int k = rnd(&s->c.rng) % KEYS, nr = 1 + rnd(&s->c.rng) % ROUND, n = 0, i;
	char key[KEY_LENGTH + 1];

	for (i = 0; i < nr; i++, k = (k + 1) % KEYS) {
		struct put *q = &p[n];

		memset(q, 0, sizeof(*q));
		q->key = k;
		q->remove = !(rnd(&s->c.rng) % 4);
		if (q->remove) {
			n += s->value[k] != 0;
			continue;
		}
		q->prepared = rnd(&s->c.rng) & 1;
		q->o.generation = ++s->last_generation;
		q->o.key_length = KEY_LENGTH;
		q->o.value_length = value_length(q->o.generation);
		if (!allocate(s, q))
			continue;
		make_key(key, k);
		if (q->prepared && prepare(s, q, key))
			return -1;
		/* Now and then a client dies with its put prepared: free behind a fence. */
		if (q->prepared && !(rnd(&s->c.rng) % 8))
			pmof_kv_clear_header(&s->c.m, q->slot);
		else
			n++;
	}
	return n;
}

/* True: the server died. */
static bool write_supers(struct store *s)
{
	unsigned int copy;

	pmof_kv_next_log(&s->c.m);
	s->c.m.sb.generation = s->last_generation + GENERATIONS;
	for (copy = 0; copy < 2; copy++) {
		pmof_kv_write_super(&s->c.m, copy);
		if (dies(s))
			return true;
		cut_fence(&s->c);
	}
	s->appended = 0;
	s->nr_retired = 0;
	return false;
}

static bool checkpoint(struct store *s)
{
	unsigned int i;

	for (i = 0; i < s->nr_retired; i++)
		if (!is_live(s, s->retired[i]))
			pmof_kv_clear_header(&s->c.m, s->retired[i]);
	if (dies(s))
		return true;
	cut_fence(&s->c);
	return write_supers(s);
}

static bool serve_round(struct store *s)
{
	struct put p[ROUND];
	int n, i;

	/* Also early: a log that is full is rare. */
	if (s->appended + ROUND > s->c.m.sb.nr_records ||
	    s->last_generation + ROUND > s->c.m.sb.generation || !(rnd(&s->c.rng) % 6))
		if (checkpoint(s))
			return true;
	n = take(s, p);
	if (n < 0)
		return true;
	for (i = 0; i < n; i++)
		phase_1(s, &p[i]);
	if (dies(s))
		return true;
	cut_fence(&s->c);
	for (i = 0; i < n; i++)
		phase_2(s, &p[i]);
	if (dies(s))
		return true;
	cut_fence(&s->c);
	for (i = 0; i < n; i++)
		phase_3(s, &p[i]);
	free_unused(s);
	return dies(s);
}

/* --- recovery ---------------------------------------------------------------------------- */

static u64 trailer_word(const struct store *s, u64 slot, const struct pmof_kv_object *o)
{
	u64 word;

	memcpy(&word, cut_seen(&s->c, pmof_object_trailer(slot, pmof_kv_object_length(o))), sizeof(word));
	return word;
}

static int found_live(void *context, u64 slot, const struct pmof_kv_object *o)
{
	const struct pmof_kv_object_header *w;
	struct store *s = context;
	u8 want[512];
	unsigned int k;

	w = cut_seen(&s->c, slot);
	k = w->data[KEY_LENGTH - 1] - '0';
	if (k >= KEYS || s->found[k] || o->value_length != value_length(o->generation)) {
		s->faults++;
		return 0;
	}
	s->found[k] = o->generation;
	s->found_slot[k] = slot;
	if (trailer_word(s, slot, o) != pmof_trailer_committed(o->generation))
		s->unfinished[s->nr_unfinished++] = slot;
	make_value(s, want, o->generation, o->value_length);
	if (memcmp(want, w->data + KEY_LENGTH, o->value_length))
		s->faults++;
	return 0;
}

static int found_leftover(void *context, u64 slot)
{
	struct store *s = context;

	if (s->nr_leftover == SLOTS) {
		s->faults++;
		return 0;
	}
	s->leftover[s->nr_leftover++] = slot;
	return 0;
}

/* Of a slot nothing that was not asked for: what is behind a header may be bad. */
static void found_believed(void *context, u64 offset, u64 length)
{
	const struct pmof_kv_object_header *h;
	struct store *s = context;

	h = cut_seen(&s->c, offset);
	if (offset >= pmof_kv_chunk_offset(&s->c.m.sb, 0) &&
	    le32_to_cpu(h->magic) != PMOF_KV_OBJECT_MAGIC && length != sizeof(*h))
		s->faults++;
	cut_write_back_dirty(&s->c, offset, length);
}

static void found_record(void *context __attribute__((unused)),
			 const struct pmof_kv_record *r __attribute__((unused)),
			 enum pmof_kv_happened happened __attribute__((unused)))
{
}

/* [K5] The copy that counts is durable before the other one is stored. True: the server died. */
static bool settle_supers(struct store *s, unsigned int good)
{
	unsigned int first = good & 1 ? 0 : 1;

	cut_write_back(&s->c.m, first * PMOF_KV_SUPER_SIZE, sizeof(struct pmof_kv_wire_super));
	if (dies(s))
		return true;
	cut_fence(&s->c);
	if (!(good & 1 << !first))
		pmof_kv_write_super(&s->c.m, !first);
	else
		cut_write_back(&s->c.m, !first * PMOF_KV_SUPER_SIZE,
			   sizeof(struct pmof_kv_wire_super));
	if (dies(s))
		return true;
	cut_fence(&s->c);
	return false;
}

static bool finish_objects(struct store *s)
{
	struct pmof_kv_object o;
	unsigned int i, set_vf;

	for (set_vf = 0; set_vf < 2; set_vf++) {
		for (i = 0; i < s->nr_unfinished; i++) {
			u64 slot = s->unfinished[i];

			pmof_kv_get_header(cut_seen(&s->c, slot), &s->c.m.sb, 512, &o);
			if (set_vf)
				set_vf_word(s, slot, &o);
			else
				cut_write_back(&s->c.m, slot, pmof_kv_object_length(&o));
		}
		if (dies(s))
			return true;
		cut_fence(&s->c);
	}
	return false;
}

static int read_medium(struct store *s, struct pmof_kv_recovered *out)
{
	static const struct pmof_kv_recover_ops ops = {
		.live		= found_live,
		.leftover	= found_leftover,
		.believed	= found_believed,
		.record		= found_record,
	};
	struct pmof_kv_ref scratch[2 * 128];

	memset(s->found, 0, sizeof(s->found));
	s->nr_unfinished = 0;
	s->nr_leftover = 0;
	return pmof_kv_recover(s->c.m.base, &s->c.m.sb, scratch, &ops, s, out);
}

/* False: the server died again. */
static bool recover(struct store *s)
{
	struct pmof_kv_recovered out;
	unsigned int good, i;

	if (pmof_kv_choose_super(s->c.m.base, NS_SIZE, &s->c.m.sb, &good)) {
		s->faults++;
		return true;
	}
	if (settle_supers(s, good))
		return false;
	if (read_medium(s, &out)) {
		s->faults++;
		return true;
	}
	/* No cut makes away with that. */
	s->faults += out.vanished || out.hole;
	s->last_generation = out.last_generation;
	if (dies(s))
		return false;
	cut_fence(&s->c);
	if (finish_objects(s))
		return false;
	for (i = 0; i < s->nr_leftover; i++)
		pmof_kv_clear_header(&s->c.m, s->leftover[i]);
	if (dies(s))
		return false;
	cut_fence(&s->c);
	return !write_supers(s);
}

static void check_recovered(struct store *s)
{
	unsigned int k;

	for (k = 0; k < KEYS; k++) {
		if (s->found[k] != s->value[k] &&
		    !(s->moving[k] && s->found[k] == s->maybe[k]))
			s->faults++;
		s->value[k] = s->found[k];
		s->old_slot[k] = s->found_slot[k];
		s->moving[k] = false;
	}
	free_unused(s);
}

static struct store *make_store(u64 seed)
{
	struct store *s = calloc(1, sizeof(*s));
	unsigned int i;

	s->c.rng = seed;
	s->c.m.base = calloc(1, NS_SIZE);
	s->c.kept = calloc(1, NS_SIZE);
	s->c.m.write_back = cut_write_back;
	s->c.m.sb = (struct pmof_kv_super){ .ns_size = NS_SIZE, .nr_records = 128, .first = 1 };
	memset(s->c.m.sb.uuid, 0x33, sizeof(s->c.m.sb.uuid));
	if (pmof_kv_layout(&s->c.m.sb))
		abort();
	pmof_kv_write_super(&s->c.m, 0);
	pmof_kv_write_super(&s->c.m, 1);
	pmof_kv_assign_chunk(&s->c.m, 0, pmof_kv_class_of(128), 0);
	pmof_kv_assign_chunk(&s->c.m, 1, pmof_kv_class_of(512), 0);
	for (i = 0; i < SLOTS; i++)
		s->slot[i] = pmof_kv_chunk_offset(&s->c.m.sb, i % 2) + i / 2 * (i % 2 ? 512 : 128);
	cut_fence(&s->c);
	return s;
}

static void free_store(struct store *s)
{
	free(s->c.m.base);
	free(s->c.kept);
	free(s);
}

static unsigned int run(u64 seed, unsigned int cuts)
{
	struct store *s = make_store(seed);
	unsigned int i, faults;

	for (i = 0; i < cuts && !s->faults; i++) {
		while (!serve_round(s))
			;
		while (!recover(s))
			;
		check_recovered(s);
	}
	faults = s->faults;
	free_store(s);
	return faults;
}

static void append_deletes(struct store *s, unsigned int nr)
{
	struct pmof_kv_record r = { .old = { 4096, 1 } };
	unsigned int i;

	for (i = 0; i < nr; i++) {
		r.sequence = s->c.m.sb.first + i;
		pmof_kv_append_record(&s->c.m, i, &r);
	}
}

TEST(checkpoint_voids_the_log)
{
	struct store *s = make_store(1);
	u64 first = s->c.m.sb.first;

	append_deletes(s, 5);
	EXPECT_EQ(5, pmof_kv_count_records(s->c.m.base, &s->c.m.sb));
	pmof_kv_next_log(&s->c.m);
	EXPECT_EQ(0, pmof_kv_count_records(s->c.m.base, &s->c.m.sb));
	EXPECT_LE(first + s->c.m.sb.nr_records, s->c.m.sb.first);
	free_store(s);
}

/* Else those behind one that is lost would not count, and what they name be there. */
TEST(records_that_were_seen_stay)
{
	struct store *s = make_store(1);
	struct pmof_kv_recovered out;

	append_deletes(s, 5);
	cut_restart(&s->c);
	ASSERT_EQ(0, read_medium(s, &out));
	ASSERT_EQ(5, out.records);
	cut_fence(&s->c);
	cut_lose(&s->c, s->c.m.sb.log, s->c.m.sb.nr_records * PMOF_KV_RECORD_SIZE);
	EXPECT_EQ(5, pmof_kv_count_records(s->c.m.base, &s->c.m.sb));
	free_store(s);
}

/* What is put into a chunk that recovery has seen would be lost with its word. */
TEST(chunk_that_was_seen_stays)
{
	struct store *s = make_store(1);
	u32 class = pmof_kv_class_of(128);

	s->immortal = true;
	pmof_kv_assign_chunk(&s->c.m, 2, class, 0);
	cut_restart(&s->c);
	ASSERT_TRUE(recover(s));
	ASSERT_EQ(class, pmof_kv_chunk_class(s->c.m.base, &s->c.m.sb, 2));
	cut_lose(&s->c, PMOF_KV_TABLE, s->c.m.sb.log - PMOF_KV_TABLE);
	EXPECT_EQ(class, pmof_kv_chunk_class(s->c.m.base, &s->c.m.sb, 2));
	free_store(s);
}

TEST(nothing_lost_torn_or_resurrected)
{
	const char *env = getenv("PMOF_KV_CUTS");
	unsigned int cuts = env ? atoi(env) : 500;
	u64 seed;

	for (seed = 1; seed <= 5; seed++)
		ASSERT_EQ(0, run(seed * 7919, cuts)) TH_LOG("seed %llu",
							    (unsigned long long)seed);
}

TEST_HARNESS_MAIN
