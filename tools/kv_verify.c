// SPDX-License-Identifier: BSD-3-Clause
/* The offline check of a store: kv_verify.h. */
#include "kv_verify.h"
#include "../kmod/store/alloc.h"

/* A live object, small: a store may have many. */
struct live {
	u64 hash;		/* of the key */
	u64 slot;
	u64 generation : 48;
	u64 key_length : 16;
};

struct check {
	const u8 *base;
	const struct kv_verify_ops *ops;
	void *context;
	struct kv_report *r;
	struct pmof_kv_alloc alloc;
	struct live *live;
	u64 nr, room;
	u32 record;		/* the next one's number */
};

static void fault(struct check *c, enum kv_fault_kind kind, u64 offset, u64 other, u64 generation)
{
	struct kv_fault f = { kind, offset, other, generation };

	c->r->faults++;
	c->ops->fault(c->context, &f);
}

/* FNV-1a: equal keys come next to each other, and which ones are equal is looked at. */
static u64 hash_key(const u8 *key, u32 length)
{
	u64 hash = 0xcbf29ce484222325ULL;

	while (length--)
		hash = (hash ^ *key++) * 0x100000001b3ULL;
	return hash;
}

static const u8 *key_of(const struct check *c, u64 slot)
{
	return c->base + slot + sizeof(struct pmof_kv_object_header);
}

static u64 read_trailer(const struct check *c, u64 slot, const struct pmof_kv_object *o)
{
	__le64 word;

	memcpy(&word, c->base + pmof_object_trailer(slot, pmof_kv_object_length(o)), sizeof(word));
	return le64_to_cpu(word);
}

static int add_live(struct check *c, u64 slot, const struct pmof_kv_object *o)
{
	struct live *more;

	if (c->nr == c->room) {
		c->room = c->room ? 2 * c->room : 1024;
		more = realloc(c->live, c->room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		c->live = more;
	}
	c->live[c->nr++] = (struct live){
		.hash = hash_key(key_of(c, slot), o->key_length),
		.slot = slot,
		.generation = o->generation,
		.key_length = o->key_length,
	};
	return 0;
}

static int see_live(void *context, u64 slot, const struct pmof_kv_object *o)
{
	struct check *c = context;
	u64 trailer = read_trailer(c, slot, o);
	u32 chunk = (slot - c->r->sb.chunks) >> PMOF_KV_CHUNK_SHIFT;
	struct kv_class_use *use = &c->r->class[c->alloc.chunk[chunk].class];
	int rc;

	if (pmof_kv_alloc_mark(&c->alloc, slot))
		fault(c, KV_FAULT_SLOT, slot, 0, o->generation);
	if (trailer == pmof_trailer_persistent(o->generation))
		c->r->hidden++;
	else if (trailer != pmof_trailer_committed(o->generation))
		fault(c, KV_FAULT_TRAILER, slot, 0, o->generation);
	use->live++;
	use->bytes += pmof_kv_object_length(o);
	c->r->key_bytes += o->key_length;
	c->r->value_bytes += o->value_length;
	rc = add_live(c, slot, o);
	if (!rc && c->ops->live)
		rc = c->ops->live(c->context, slot, o);
	return rc;
}

static int see_leftover(void *context, u64 slot)
{
	struct check *c = context;

	if (c->ops->leftover)
		c->ops->leftover(c->context, slot);
	return 0;
}

/*
 * A chunk's word is durable before a header is in it, but not before a record may be: a cut
 * leaves a record of no slot, which does not count.
 */
static void see_record(void *context, const struct pmof_kv_record *r, enum pmof_kv_happened judged)
{
	bool happened = judged == PMOF_KV_HAPPENED;
	struct check *c = context;
	u64 size;

	if (happened && r->new.offset &&
	    !pmof_kv_slot_ok(c->base, &c->r->sb, r->new.offset, &size))
		fault(c, KV_FAULT_RECORD, r->new.offset, c->record, r->new.generation);
	if (r->old.offset && !pmof_kv_slot_ok(c->base, &c->r->sb, r->old.offset, &size))
		fault(c, KV_FAULT_RECORD, r->old.offset, c->record, r->old.generation);
	/* All can be read here; behind a hole others tell. */
	if (judged == PMOF_KV_NOT_KNOWN && !c->r->found.hole)
		fault(c, KV_FAULT_GONE, r->new.offset, c->record, r->new.generation);
	c->r->counted += happened;
	c->record++;
}

/* --- two of what there should be one of ------------------------------------------ */

/* qsort() has no context. */
static const u8 *sort_base;

static int compare_keys(const void *a, const void *b)
{
	const struct live *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	if (x->key_length != y->key_length)
		return x->key_length < y->key_length ? -1 : 1;
	return memcmp(sort_base + x->slot + sizeof(struct pmof_kv_object_header),
		      sort_base + y->slot + sizeof(struct pmof_kv_object_header), x->key_length);
}

static int compare_generations(const void *a, const void *b)
{
	const struct live *x = a, *y = b;

	if (x->generation != y->generation)
		return x->generation < y->generation ? -1 : 1;
	return 0;
}

static void find_doubles(struct check *c, enum kv_fault_kind kind,
			 int (*compare)(const void *a, const void *b))
{
	u64 i;

	if (!c->nr)
		return;
	sort_base = c->base;
	qsort(c->live, c->nr, sizeof(*c->live), compare);
	for (i = 1; i < c->nr; i++)
		if (!compare(&c->live[i - 1], &c->live[i]))
			fault(c, kind, c->live[i - 1].slot, c->live[i].slot,
			      c->live[i].generation);
}

/* --- space --------------------------------------------------------------------------- */

/* True if the word is what a span's part has there, the span's first word being none. */
static bool is_part(const struct check *c, u32 chunk)
{
	__le64 raw;
	u64 word;

	memcpy(&raw, c->base + pmof_kv_chunk_word_offset(chunk), sizeof(raw));
	word = le64_to_cpu(raw);
	return word && word == pmof_kv_chunk_word(&c->r->sb, chunk, word & 0xff, word >> 8 & 0xff);
}

static void count_chunks(struct check *c)
{
	struct pmof_kv_chunk *chunk;
	u32 i;

	for (i = 0; i < c->r->sb.nr_chunks; i++) {
		chunk = &c->alloc.chunk[i];
		if (!chunk->class) {
			c->r->part_chunks += is_part(c, i);
			continue;
		}
		c->r->class[chunk->class].chunks++;
		if (!chunk->part)
			c->r->class[chunk->class].slots += pmof_kv_class_slots(chunk->class);
	}
	c->r->free_chunks = c->alloc.nr_free;
}

/* Records of the log that a hole cuts off: a round writes several with one fence. */
static void count_behind(struct check *c)
{
	struct pmof_kv_record record;
	u32 i;

	for (i = c->r->found.records; i < c->r->sb.nr_records; i++)
		c->r->behind += pmof_kv_get_record(c->base, &c->r->sb, i, &record);
}

/* --- all of it ------------------------------------------------------------------------- */

static void *zalloc(size_t size)
{
	return calloc(1, size);
}

static void free_used(const void *used)
{
	free((void *)used);
}

static int recover(struct check *c)
{
	static const struct pmof_kv_recover_ops ops = {
		.live = see_live, .leftover = see_leftover, .record = see_record,
	};
	struct pmof_kv_ref *scratch = calloc(2 * (size_t)c->r->sb.nr_records, sizeof(*scratch));
	int rc;

	if (!scratch)
		return -ENOMEM;
	rc = pmof_kv_recover(c->base, &c->r->sb, scratch, &ops, c, &c->r->found);
	free(scratch);
	return rc;
}

static int run_check(struct check *c)
{
	int rc = pmof_kv_alloc_load(&c->alloc, c->base);

	if (!rc)
		rc = recover(c);
	if (rc)
		return rc;
	if (c->r->found.hole)
		fault(c, KV_FAULT_LOG, pmof_kv_record_offset(&c->r->sb, c->r->found.records),
		      c->r->found.records, 0);
	find_doubles(c, KV_FAULT_KEY, compare_keys);
	find_doubles(c, KV_FAULT_GENERATION, compare_generations);
	count_chunks(c);
	count_behind(c);
	return 0;
}

int kv_verify(const void *base, u64 size, const struct kv_verify_ops *ops, void *context,
	      struct kv_report *r)
{
	struct check c = { .base = base, .ops = ops, .context = context, .r = r };
	struct pmof_kv_chunk *chunk;
	int rc;

	memset(r, 0, sizeof(*r));
	rc = pmof_kv_choose_super(base, size, &r->sb, &r->good);
	if (rc)
		return rc;
	chunk = calloc(r->sb.nr_chunks, sizeof(*chunk));
	if (!chunk)
		return -ENOMEM;
	pmof_kv_alloc_init(&c.alloc, &r->sb, chunk, zalloc);
	rc = run_check(&c);
	pmof_kv_alloc_free(&c.alloc, free_used);
	free(chunk);
	free(c.live);
	return rc;
}
