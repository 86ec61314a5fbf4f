// SPDX-License-Identifier: GPL-2.0
/*
 * A store on a buffer, its power cut at random: what stands between two fences is
 * on the medium in any combination of 8-byte words. After each cut the store is
 * recovered by the code that will do it (kmod/store), and must hold what was
 * acknowledged, whole, and nothing else but what was being committed.
 *
 * The rounds are those of docs/kv.md. Slots are few, so that each is used again and
 * again, and values lie about who was there before.
 */
#include "unit.h"
#include "../../kmod/store/recover.h"
#include "../../kmod/store/steps.h"

#define NS_SIZE		(12ULL << 20)
#define KEYS		4
#define SLOTS		7		/* of the two classes together */
#define TOUCHED		4096
#define ROUND		3
#define LIES		1024
#define KEY_LENGTH	9

struct dirty {
	u64 offset;			/* of a word */
	bool written_back;
};

/* What a value has at one place: see make_lie(). */
struct lie {
	u64 generation;
	u64 word;
	u32 at;
};

struct store {
	struct pmof_kv_medium m;	/* first: its base is what the CPU sees */
	u8 *kept;			/* what is on the medium */
	struct dirty touched[TOUCHED];
	unsigned int nr_touched;
	u64 rng;

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

/* The medium as the CPUs see it. */
static void *seen(const struct store *s, u64 offset)
{
	return (char *)s->m.base + offset;
}

static void touch(struct store *s, u64 offset, u64 length, bool written_back)
{
	u64 at;

	for (at = offset & ~7ULL; at < offset + length; at += 8) {
		if (s->nr_touched == TOUCHED)
			abort();
		s->touched[s->nr_touched++] = (struct dirty){ at, written_back };
	}
}

static void write_back(struct pmof_kv_medium *m, u64 offset, u64 length)
{
	touch((struct store *)m, offset, length, true);
}

/* What was written back is durable; of the rest any word may be. */
static void fence(struct store *s)
{
	unsigned int i, left = 0;

	for (i = 0; i < s->nr_touched; i++) {
		u64 at = s->touched[i].offset;

		if (s->touched[i].written_back)
			memcpy(s->kept + at, seen(s, at), 8);
		else
			s->touched[left++] = s->touched[i];
	}
	s->nr_touched = left;
}

/* What was stored and not named is on no medium either. */
static void lose(struct store *s, u64 offset, u64 length)
{
	memcpy(seen(s, offset), s->kept + offset, length);
}

/* Of what is not fenced any words, or, as caches do it, any lines. */
static void cut(struct store *s)
{
	bool lines = rnd(&s->rng) & 1;
	u64 at, line = 0;
	bool keep = false;
	unsigned int i;

	for (i = 0; i < s->nr_touched; i++) {
		at = s->touched[i].offset;
		if (!lines || at / 64 != line)
			keep = rnd(&s->rng) & 1;
		line = at / 64;
		if (keep)
			memcpy(s->kept + at, seen(s, at), 8);
	}
	s->nr_touched = 0;
	lose(s, 0, pmof_kv_record_offset(&s->m.sb, s->m.sb.nr_records));
	for (i = 0; i < 2; i++)
		lose(s, pmof_kv_chunk_offset(&s->m.sb, i), SLOTS * 512);
}

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

	if (!pmof_kv_get_header(seen(s, slot), &s->m.sb, room, &last))
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
	unsigned int i, j = rnd(&s->rng) % SLOTS;

	for (i = 0; i < SLOTS; i++, j = (j + 1) % SLOTS)
		if (!s->used[j] && pmof_kv_slot_ok(s->m.base, &s->m.sb, s->slot[j], &size) &&
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

	make_value(s, seen(s, at), p->o.generation, p->o.value_length);
	touch(s, at, p->o.value_length, written_back);
}

/* True: the power was cut there. */
static bool power_fails(struct store *s)
{
	if (rnd(&s->rng) % 8)
		return false;
	cut(s);
	return true;
}

/* PREPARE_PUT, and the client's WRITE: nobody has written that back. */
static bool prepare(struct store *s, struct put *p, const char *key)
{
	pmof_kv_clear_trailer(&s->m, p->slot, &p->o);
	if (power_fails(s))
		return true;
	fence(s);
	pmof_kv_write_header(&s->m, p->slot, &p->o, key);
	if (power_fails(s))
		return true;
	fence(s);
	store_value(s, p, false);
	return power_fails(s);
}

static void phase_1(struct store *s, struct put *p)
{
	struct pmof_kv_record r = { .sequence = s->m.sb.first + s->appended };

	if (!p->remove) {
		r.new = (struct pmof_kv_ref){ p->slot, p->o.generation };
		if (!p->prepared)
			pmof_kv_clear_trailer(&s->m, p->slot, &p->o);
		store_value(s, p, true);
	}
	if (s->value[p->key])
		r.old = (struct pmof_kv_ref){ s->old_slot[p->key], s->value[p->key] };
	pmof_kv_append_record(&s->m, s->appended++, &r);
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
		pmof_kv_write_header(&s->m, p->slot, &p->o, key);
	pmof_kv_set_pf(&s->m, p->slot, &p->o);
}

static void phase_3(struct store *s, struct put *p)
{
	if (!p->remove) {
		pmof_kv_set_vf(&s->m, p->slot, &p->o);
		touch(s, p->slot + pmof_kv_object_length(&p->o) - 8, 8, false);
	}
	if (s->value[p->key])
		s->retired[s->nr_retired++] = s->old_slot[p->key];
	s->value[p->key] = s->maybe[p->key];
	s->old_slot[p->key] = p->slot;
	s->moving[p->key] = false;
}

/* Of each key at most one. Fills @p; returns how many, or -1: the power was cut. */
static int take(struct store *s, struct put *p)
{
	unsigned int k = rnd(&s->rng) % KEYS, nr = 1 + rnd(&s->rng) % ROUND, n = 0, i;
	char key[KEY_LENGTH + 1];

	for (i = 0; i < nr; i++, k = (k + 1) % KEYS) {
		struct put *q = &p[n];

		memset(q, 0, sizeof(*q));
		q->key = k;
		q->remove = !(rnd(&s->rng) % 4);
		if (q->remove) {
			n += s->value[k] != 0;
			continue;
		}
		q->prepared = rnd(&s->rng) & 1;
		q->o.generation = ++s->last_generation;
		q->o.key_length = KEY_LENGTH;
		q->o.value_length = value_length(q->o.generation);
		if (!allocate(s, q))
			continue;
		make_key(key, k);
		if (q->prepared && prepare(s, q, key))
			return -1;
		/* Now and then a client dies with its put prepared: free behind a fence. */
		if (q->prepared && !(rnd(&s->rng) % 8))
			pmof_kv_clear_header(&s->m, q->slot);
		else
			n++;
	}
	return n;
}

/* True: the power was cut. */
static bool write_supers(struct store *s)
{
	unsigned int copy;

	pmof_kv_next_log(&s->m);
	for (copy = 0; copy < 2; copy++) {
		pmof_kv_write_super(&s->m, copy);
		if (power_fails(s))
			return true;
		fence(s);
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
			pmof_kv_clear_header(&s->m, s->retired[i]);
	if (power_fails(s))
		return true;
	fence(s);
	return write_supers(s);
}

static bool serve_round(struct store *s)
{
	struct put p[ROUND];
	int n, i;

	/* Also early: a log that is full is rare. */
	if (s->appended + ROUND > s->m.sb.nr_records || !(rnd(&s->rng) % 6))
		if (checkpoint(s))
			return true;
	n = take(s, p);
	if (n < 0)
		return true;
	for (i = 0; i < n; i++)
		phase_1(s, &p[i]);
	if (power_fails(s))
		return true;
	fence(s);
	for (i = 0; i < n; i++)
		phase_2(s, &p[i]);
	if (power_fails(s))
		return true;
	fence(s);
	for (i = 0; i < n; i++)
		phase_3(s, &p[i]);
	free_unused(s);
	return power_fails(s);
}

/* --- recovery ---------------------------------------------------------------------------- */

static int found_live(void *context, u64 slot, const struct pmof_kv_object *o)
{
	const struct pmof_kv_object_header *w;
	struct store *s = context;
	u8 want[512];
	unsigned int k;

	w = seen(s, slot);
	k = w->data[KEY_LENGTH - 1] - '0';
	if (k >= KEYS || s->found[k] || o->value_length != value_length(o->generation)) {
		s->faults++;
		return 0;
	}
	s->found[k] = o->generation;
	s->found_slot[k] = slot;
	make_value(s, want, o->generation, o->value_length);
	if (memcmp(want, w->data + KEY_LENGTH, o->value_length))
		s->faults++;
	return 0;
}

static int found_leftover(void *context, u64 slot)
{
	struct store *s = context;

	pmof_kv_clear_header(&s->m, slot);
	return 0;
}

static void found_record(void *context __attribute__((unused)),
			 const struct pmof_kv_record *r __attribute__((unused)),
			 bool counts __attribute__((unused)))
{
}

/* False: the power was cut again. */
static bool recover(struct store *s)
{
	static const struct pmof_kv_recover_ops ops = {
		.live		= found_live,
		.leftover	= found_leftover,
		.record		= found_record,
	};
	struct pmof_kv_ref scratch[2 * 128];
	struct pmof_kv_recovered out;
	unsigned int good, copy;

	memset(s->found, 0, sizeof(s->found));
	if (pmof_kv_choose_super(s->m.base, NS_SIZE, &s->m.sb, &good) ||
	    pmof_kv_recover(s->m.base, &s->m.sb, scratch, &ops, s, &out)) {
		s->faults++;
		return true;
	}
	s->last_generation = out.last_generation;
	for (copy = 0; copy < 2; copy++)
		if (!(good & 1 << copy))
			pmof_kv_write_super(&s->m, copy);
	if (power_fails(s))
		return false;
	fence(s);
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

	s->rng = seed;
	s->m.base = calloc(1, NS_SIZE);
	s->kept = calloc(1, NS_SIZE);
	s->m.write_back = write_back;
	s->m.sb = (struct pmof_kv_super){ .ns_size = NS_SIZE, .nr_records = 128, .first = 1 };
	memset(s->m.sb.uuid, 0x33, sizeof(s->m.sb.uuid));
	if (pmof_kv_layout(&s->m.sb))
		abort();
	pmof_kv_write_super(&s->m, 0);
	pmof_kv_write_super(&s->m, 1);
	pmof_kv_assign_chunk(&s->m, 0, pmof_kv_class_of(128), 0);
	pmof_kv_assign_chunk(&s->m, 1, pmof_kv_class_of(512), 0);
	for (i = 0; i < SLOTS; i++)
		s->slot[i] = pmof_kv_chunk_offset(&s->m.sb, i % 2) + i / 2 * (i % 2 ? 512 : 128);
	fence(s);
	return s;
}

static void free_store(struct store *s)
{
	free(s->m.base);
	free(s->kept);
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

TEST(checkpoint_voids_the_log)
{
	struct pmof_kv_record r = { .old = { 4096, 1 } };
	struct store *s = make_store(1);
	u64 first = s->m.sb.first;
	unsigned int i;

	for (i = 0; i < 5; i++) {
		r.sequence = first + i;
		pmof_kv_append_record(&s->m, i, &r);
	}
	EXPECT_EQ(5, pmof_kv_count_records(s->m.base, &s->m.sb));
	pmof_kv_next_log(&s->m);
	EXPECT_EQ(0, pmof_kv_count_records(s->m.base, &s->m.sb));
	EXPECT_LE(first + s->m.sb.nr_records, s->m.sb.first);
	free_store(s);
}

TEST(nothing_lost_torn_or_resurrected)
{
	const char *env = getenv("PMOF_KV_CUTS");
	unsigned int cuts = env ? atoi(env) : 200;
	u64 seed;

	for (seed = 1; seed <= 5; seed++)
		ASSERT_EQ(0, run(seed * 7919, cuts)) TH_LOG("seed %llu",
							    (unsigned long long)seed);
}

TEST_HARNESS_MAIN
