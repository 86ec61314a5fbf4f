// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Recovery: reads the log, then every slot, and tells which objects are live.
 * It changes nothing: the caller clears what is superseded and ends with a
 * checkpoint, so it may be cut short and begun again.
 *
 * What it reads may be in the caches only, if the machine was started again without
 * a power cut.  Of a header that is valid the caller's stores take care; all else that
 * it goes by it tells, so that the next power cut does not take it back.
 */
#include "recover.h"

struct scan {
	const void *base;
	const struct pmof_kv_super *sb;
	const struct pmof_kv_recover_ops *ops;
	void *context;
	struct pmof_kv_recovered *out;
	struct pmof_kv_ref *named;	/* as old, by any record; sorted */
	struct pmof_kv_ref *dead;	/* as old, by a record that counts; sorted */
	u32 nr_named;
	u32 nr_dead;
};

static int compare_refs(const void *a, const void *b)
{
	const struct pmof_kv_ref *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	if (x->generation != y->generation)
		return x->generation < y->generation ? -1 : 1;
	return 0;
}

/* Millions of records take a while: others have their turn. */
static int sort_refs(const void *a, const void *b)
{
	cond_resched();
	return compare_refs(a, b);
}

static bool holds(const struct pmof_kv_ref *refs, u32 nr, const struct pmof_kv_ref *ref)
{
	u32 low = 0, high = nr;

	while (low < high) {
		u32 middle = low + (high - low) / 2;
		int c = compare_refs(&refs[middle], ref);

		if (!c)
			return true;
		if (c < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

static void see_generation(struct scan *s, u64 generation)
{
	s->out->last_generation = max_t(u64, s->out->last_generation, generation);
}

static void name_olds(struct scan *s)
{
	struct pmof_kv_record r;
	u32 i;

	for (i = 0; i < s->out->records; i++) {
		/* The medium may change under us: only what is whole still. */
		if (!pmof_kv_get_record(s->base, s->sb, i, &r))
			break;
		cond_resched();
		see_generation(s, r.new.generation);
		see_generation(s, r.old.generation);
		if (r.old.offset)
			s->named[s->nr_named++] = r.old;
	}
	s->out->records = i;
	sort(s->named, s->nr_named, sizeof(*s->named), sort_refs, NULL);
}

static bool readable(const struct scan *s, u64 offset, u64 length)
{
	return !s->ops->readable || s->ops->readable(s->context, offset, length);
}

/* Of a slot: where a header with its key may be; and then where its trailer is. */
static bool header_readable(const struct scan *s, u64 slot, u64 room)
{
	return readable(s, slot, pmof_kv_header_room(room));
}

static bool trailer_readable(const struct scan *s, u64 slot, const struct pmof_kv_object *o)
{
	return readable(s, pmof_object_trailer(slot, pmof_kv_object_length(o)),
			PMOF_TRAILER_SIZE);
}

static enum pmof_kv_happened is_there(const struct scan *s, const struct pmof_kv_ref *ref, u64 room)
{
	struct pmof_kv_object o;

	if (!header_readable(s, ref->offset, room))
		return PMOF_KV_NOT_KNOWN;
	if (!pmof_kv_get_header(s->base + ref->offset, s->sb, room, &o) ||
	    o.generation != ref->generation)
		return PMOF_KV_NOT_HAPPENED;
	if (!trailer_readable(s, ref->offset, &o))
		return PMOF_KV_NOT_KNOWN;
	return pmof_kv_there(s->base, s->sb, ref->offset, room, &o) ? PMOF_KV_HAPPENED :
								     PMOF_KV_NOT_HAPPENED;
}

/*
 * [K4] A put has happened if its object is there, with PF; or if it was superseded
 * later, which nothing can be that is not committed.  A delete has, if its record
 * is whole.
 */
static enum pmof_kv_happened judge(const struct scan *s, const struct pmof_kv_record *r)
{
	u64 room;

	if (!r->new.offset || holds(s->named, s->nr_named, &r->new))
		return PMOF_KV_HAPPENED;
	if (!pmof_kv_slot_ok(s->base, s->sb, r->new.offset, &room))
		return PMOF_KV_NOT_HAPPENED;
	return is_there(s, &r->new, room);
}

static void judge_records(struct scan *s)
{
	enum pmof_kv_happened happened;
	struct pmof_kv_record r;
	u32 i;

	for (i = 0; i < s->out->records; i++) {
		if (!pmof_kv_get_record(s->base, s->sb, i, &r))
			break;
		happened = judge(s, &r);
		/*
		 * A later round tells that it has, for none begins ahead of the last one's
		 * fence: the object is gone, or what named it as old.
		 */
		if (happened == PMOF_KV_NOT_HAPPENED &&
		    (s->out->hole || i + PMOF_KV_ROUND < s->out->records)) {
			happened = PMOF_KV_NOT_KNOWN;
			s->out->vanished += !s->out->hole;
		}
		/* What cannot be read is lost in any case, and what it replaced stays dead. */
		if (happened != PMOF_KV_NOT_HAPPENED && r.old.offset &&
		    s->nr_dead < s->out->records)
			s->dead[s->nr_dead++] = r.old;
		s->ops->record(s->context, &r, happened);
	}
	sort(s->dead, s->nr_dead, sizeof(*s->dead), sort_refs, NULL);
}

static int lose(struct scan *s, u64 slot)
{
	s->out->lost++;
	return s->ops->lost(s->context, slot);
}

static void believe(const struct scan *s, u64 offset, u64 length)
{
	if (s->ops->believed)
		s->ops->believed(s->context, offset, length);
}

/*
 * Any valid header's generation has been given away, committed or not.  [K5] A
 * header that is no live object's has to go, too: the slot's next user writes his
 * value before his header, and may write what looks like its PF.
 */
static int scan_slot(struct scan *s, u64 slot, u64 room)
{
	struct pmof_kv_object o;
	struct pmof_kv_ref ref;

	if (!header_readable(s, slot, room))
		return lose(s, slot);
	if (!pmof_kv_get_header(s->base + slot, s->sb, room, &o)) {
		believe(s, slot, pmof_kv_header_seen(s->base + slot, room));
		return 0;
	}
	if (!trailer_readable(s, slot, &o))
		return lose(s, slot);
	see_generation(s, o.generation);
	ref.offset = slot;
	ref.generation = o.generation;
	if (!pmof_kv_there(s->base, s->sb, slot, room, &o) || holds(s->dead, s->nr_dead, &ref)) {
		s->out->leftover++;
		return s->ops->leftover(s->context, slot);
	}
	s->out->live++;
	return s->ops->live(s->context, slot, &o);
}

static int scan_chunk(struct scan *s, u32 chunk, u32 class)
{
	u64 size = pmof_kv_class_size(class);
	u64 slot = pmof_kv_chunk_offset(s->sb, chunk);
	u32 i;
	int rc;

	for (i = 0; i < pmof_kv_class_slots(class); i++, slot += size) {
		rc = scan_slot(s, slot, size);
		if (rc)
			return rc;
	}
	return 0;
}

/* @scratch: room for twice as many as the log has records. */
int pmof_kv_recover(const void *base, const struct pmof_kv_super *sb,
		    struct pmof_kv_ref *scratch, const struct pmof_kv_recover_ops *ops,
		    void *context, struct pmof_kv_recovered *out)
{
	struct scan s = {
		.base		= base,
		.sb		= sb,
		.ops		= ops,
		.context	= context,
		.out		= out,
		.named		= scratch,
		.dead		= scratch + sb->nr_records,
	};
	u32 chunk = 0, class;
	int rc;

	memset(out, 0, sizeof(*out));
	out->last_generation = sb->generation;
	out->records = pmof_kv_count_records(base, sb);
	name_olds(&s);
	out->hole = pmof_kv_log_hole(base, sb, out->records);
	believe(&s, PMOF_KV_TABLE, sb->nr_chunks * sizeof(__le64));
	believe(&s, sb->log, out->records * PMOF_KV_RECORD_SIZE);
	judge_records(&s);
	while (chunk < sb->nr_chunks) {
		class = pmof_kv_chunk_class(base, sb, chunk);
		if (!class) {
			chunk++;
			continue;
		}
		rc = scan_chunk(&s, chunk, class);
		if (rc)
			return rc;
		chunk += pmof_kv_class_chunks(class);
	}
	return 0;
}
