// SPDX-License-Identifier: GPL-2.0
/*
 * CHECK: does a store that is in use agree with itself?
 *
 * A piece of it in each request, and in phase 1: what earlier rounds have committed is in the
 * index and has its VF; of this round nothing has stored a header or a PF yet.  So each header
 * that is valid is an indexed object's, a prepared one's, or of the superseded.
 */
#include "store.h"

#define ENTRY_BATCH	16U
#define ENTRY_EMPTY	1024U		/* places of the index without one, at a time */

struct check {
	struct store *st;
	struct pmof_kv_check_reply *w;
	u64 at;				/* cursor: a slot's offset, or a hash */
	u32 skip;
	u32 faults;
	u64 seen;
	u64 unreadable;
	s64 budget;
};

/* Between two rounds no request holds a slot that nobody else knows of. */
static u64 unaccounted(const struct store *st)
{
	return st->alloc.used_slots - st->index.count - st->retired.count - st->clearing.count -
	       st->dropping.count - st->leased_slots - st->unusable;
}

static u32 parse_check(struct store *st, struct store_req *r)
{
	const struct pmof_kv_check *w = r->data;
	u32 part = le32_to_cpu(w->part);

	if (r->length != sizeof(*w) || part > PMOF_KV_CHECK_INDEX)
		return PMOF_KV_SC_INVALID;
	/* Recovery has left what the log says to the one behind the next start. */
	if (st->unsettled)
		return PMOF_KV_SC_READ_ONLY;
	r->hash = le64_to_cpu(w->at);
	r->skip = le32_to_cpu(w->skip);
	r->max = part;
	if (!r->hash && part == PMOF_KV_CHECK_SLOTS)
		r->version = unaccounted(st);
	return PMOF_KV_SC_OK;
}

static bool is_full(const struct check *c)
{
	return c->faults == PMOF_KV_CHECK_FAULTS;
}

static void fault(struct check *c, enum pmof_kv_fault kind, u64 slot)
{
	if (is_full(c))
		return;
	c->w->fault[c->faults].offset = cpu_to_le64(slot);
	c->w->fault[c->faults].kind = cpu_to_le32(kind);
	c->w->fault[c->faults].reserved = 0;
	c->faults++;
}

/* --- slots ------------------------------------------------------------------------ */

static const u8 *key_at(const struct check *c, u64 slot)
{
	return c->st->m.base + slot + sizeof(struct pmof_kv_object_header);
}

static bool same_key(struct check *c, u64 slot, const struct pmof_kv_object *o, u64 other)
{
	struct pmof_kv_object p;

	return !pmof_store_read_object(c->st, other, &p) && p.key_length == o->key_length &&
	       !memcmp(key_at(c, slot), key_at(c, other), o->key_length);
}

/* Is the slot's object in the index, and no other of its key? */
static bool is_indexed(struct check *c, u64 slot, const struct pmof_kv_object *o)
{
	u64 hash = pmof_store_hash(c->st, key_at(c, slot), o->key_length);
	bool found = false, other = false;
	struct pmof_kv_entry *e;

	for (e = pmof_kv_index_first(&c->st->index, hash); e;
	     e = pmof_kv_index_next(&c->st->index, e)) {
		if (e->slot == slot)
			found = true;
		else
			other |= same_key(c, slot, o, e->slot);
	}
	if (found && other)
		fault(c, PMOF_KV_FAULT_KEY, slot);
	return found;
}

/* The log tells that it is no object any more, or a checkpoint has just begun to say so. */
static bool is_superseded(struct check *c, u64 slot, u64 generation)
{
	const struct store *st = c->st;
	u32 i;

	c->budget -= st->nr_superseded - st->nr_cleared;
	for (i = st->nr_cleared; i < st->nr_superseded; i++)
		if (st->superseded[i].offset == slot && st->superseded[i].generation == generation)
			return true;
	return false;
}

/* Header, and the trailer that it names, are each read once: a client may change both. */
static void check_object(struct check *c, u64 slot, const struct pmof_kv_object *o)
{
	bool used = pmof_kv_alloc_is_used(&c->st->alloc, slot);
	u64 at = pmof_object_trailer(slot, pmof_kv_object_length(o));
	__le64 medium;
	u64 trailer;

	if (!pmof_store_readable(c->st, at, sizeof(medium))) {
		c->unreadable++;
		return;
	}
	memcpy(&medium, c->st->m.base + at, sizeof(medium));
	trailer = le64_to_cpu(medium);
	if (is_indexed(c, slot, o)) {
		c->seen++;
		if (!used)
			fault(c, PMOF_KV_FAULT_FREE, slot);
		else if (trailer != pmof_trailer_committed(o->generation))
			fault(c, PMOF_KV_FAULT_TRAILER, slot);
	} else if (!is_superseded(c, slot, o->generation)) {
		if (pmof_trailer_recovers(trailer, o->generation))
			fault(c, PMOF_KV_FAULT_STRAY, slot);
		else if (!used)
			fault(c, PMOF_KV_FAULT_HEADER, slot);
	}
}

static int get_header(struct check *c, u64 slot, u64 room, struct pmof_kv_object *o)
{
	int rc = pmof_store_get_header(c->st, slot, room, o);

	c->budget -= 1 + pmof_kv_header_room(room) / SMP_CACHE_BYTES;
	c->unreadable += rc < 0;
	return rc;
}

static void check_slot(struct check *c, u64 slot, u64 room)
{
	struct pmof_kv_object o;

	if (get_header(c, slot, room, &o) > 0)
		check_object(c, slot, &o);
}

/* Returns true at the end of the store. */
static bool check_slots(struct check *c)
{
	const struct pmof_kv_super *sb = &c->st->m.sb;
	u64 chunk, start, size, nr;
	u32 class;

	c->at = max(c->at, sb->chunks);
	while (c->budget > 0 && !is_full(c)) {
		chunk = (c->at - sb->chunks) >> PMOF_KV_CHUNK_SHIFT;
		if (chunk >= sb->nr_chunks)
			return true;
		start = pmof_kv_chunk_offset(sb, chunk);
		class = pmof_kv_alloc_class(&c->st->alloc, start);
		size = class ? pmof_kv_class_size(class) : 0;
		nr = class ? DIV_ROUND_UP_ULL(c->at - start, size) : 0;
		c->budget--;
		if (!class || nr >= pmof_kv_class_slots(class)) {
			c->at = start + (1ULL << PMOF_KV_CHUNK_SHIFT);
			continue;
		}
		check_slot(c, start + nr * size, size);
		c->at = start + nr * size + 1;
	}
	return false;
}

/* --- index ------------------------------------------------------------------------ */

static void check_entry(struct check *c, const struct pmof_kv_entry *e)
{
	u64 room = pmof_kv_alloc_room(&c->st->alloc, e->slot);
	struct pmof_kv_object o;
	int rc = room ? get_header(c, e->slot, room, &o) : 0;

	c->seen++;
	if (!rc || (rc > 0 &&
		    pmof_store_hash(c->st, key_at(c, e->slot), o.key_length) != e->hash))
		fault(c, PMOF_KV_FAULT_ENTRY, e->slot);
	c->skip = e->hash == c->at ? c->skip + 1 : 1;
	c->at = e->hash;
}

/* As check_slots(). */
static bool check_index(struct check *c)
{
	struct pmof_kv_entry e[ENTRY_BATCH];
	struct pmof_kv_found found;
	u32 i;

	while (c->budget > 0 && !is_full(c)) {
		found = pmof_kv_index_scan(&c->st->index, c->at, c->skip, e, ENTRY_BATCH,
					   ENTRY_EMPTY);
		for (i = 0; i < found.nr && !is_full(c); i++)
			check_entry(c, &e[i]);
		if (i < found.nr)
			return false;
		if (found.end)
			return true;
		if (found.next) {
			c->budget -= ENTRY_EMPTY / ENTRY_BATCH;
			c->at = found.next;
			c->skip = 0;
		}
	}
	return false;
}

/* --- the request ------------------------------------------------------------------ */

static enum store_step start_check(struct store *st, struct store_req *r, u64 slice)
{
	struct check c = {
		.st	= st,
		.w	= r->reply,
		.at	= r->hash,
		.skip	= r->skip,
		.budget	= st->check_left,
	};
	bool end;

	/* All of a round share what others shall wait for at most. */
	if (st->check_left <= 0)
		return STORE_AGAIN;
	memset(c.w, 0, sizeof(*c.w));
	end = r->max == PMOF_KV_CHECK_SLOTS ? check_slots(&c) : check_index(&c);
	st->check_left = c.budget;
	c.w->at = cpu_to_le64(c.at);
	c.w->skip = cpu_to_le32(c.skip);
	c.w->flags = cpu_to_le32(end ? PMOF_KV_CHECK_F_END : 0);
	c.w->seen = cpu_to_le64(c.seen);
	c.w->unreadable = cpu_to_le64(c.unreadable);
	c.w->unaccounted = cpu_to_le64(r->version);
	c.w->count = cpu_to_le32(c.faults);
	r->version = 0;
	return STORE_DONE;
}

static u32 finish_check(struct store *st, struct store_req *r)
{
	struct pmof_kv_check_reply *w = r->reply;

	pmof_store_reply_status(r);
	return r->status ? sizeof(w->reply) : struct_size(w, fault, le32_to_cpu(w->count));
}

const struct store_op pmof_store_check = {
	.opcode		= PMOF_KV_CHECK,
	.min_length	= sizeof(struct pmof_kv_check),
	.parse		= parse_check,
	.start		= start_check,
	.finish		= finish_check,
};
