// SPDX-License-Identifier: GPL-2.0
/* Requests that change nothing: all of them in phase 3. */
#include <linux/uaccess.h>

#include "store.h"

#define SCAN_BATCH	16	/* entries of the index that are taken at a time, */
#define SCAN_BATCHES	64	/* and so often, though none of them can be read */
#define SCAN_EMPTY	16384	/* places of the index that a SCAN may see for nothing */

/* --- GET -------------------------------------------------------------------------- */

static u32 parse_get(struct store *st, struct store_req *r)
{
	const struct pmof_kv_get *w = r->data;
	u32 key_length = le16_to_cpu(w->key_length);

	if (w->reserved || !key_length || key_length > PMOF_KV_KEY_MAX ||
	    r->length != sizeof(*w) + key_length)
		return PMOF_KV_SC_INVALID;
	r->max_inline = min_t(u32, le32_to_cpu(w->max_inline),
			      PMOF_MAX_CALL_REPLY - sizeof(struct pmof_kv_get_reply));
	r->key = w->key;
	r->o.key_length = key_length;
	r->hash = pmof_store_hash(st, r->key, key_length);
	return PMOF_KV_SC_OK;
}

/* Past bad lines, which the list may not name yet. */
static u32 copy_value(struct store *st, const struct store_found *f, void *to)
{
	u64 at = f->slot + pmof_kv_value_offset(&f->o);

	if (copy_mc_to_kernel(to, st->m.base + at, f->o.value_length)) {
		pmof_service_failed(st->ns);
		return PMOF_KV_SC_MEDIUM;
	}
	store_count(st, PMOF_KV_STAT_COPIED, f->o.value_length);
	store_count(st, PMOF_KV_STAT_GETS_INLINE, 1);
	return PMOF_KV_SC_OK;
}

/* Told here: to who READs it that is an EIO, as a lost connection is. */
static bool value_is_bad(struct store *st, const struct store_found *f)
{
	return pmof_service_bad(st->ns, f->slot + pmof_kv_value_offset(&f->o), f->o.value_length);
}

static u32 found_status(int rc)
{
	return rc < 0 ? PMOF_KV_SC_MEDIUM : rc ? PMOF_KV_SC_OK : PMOF_KV_SC_NO_KEY;
}

static u32 finish_get(struct store *st, struct store_req *r)
{
	struct pmof_kv_get_reply *w = r->reply;
	struct store_found f;
	u32 length = sizeof(*w);

	if (r->status)
		return pmof_store_reply_status(r);
	store_count(st, PMOF_KV_STAT_GETS, 1);
	r->status = found_status(pmof_store_find(st, r->hash, r->key, r->o.key_length, &f));
	if (!r->status && value_is_bad(st, &f))
		r->status = PMOF_KV_SC_MEDIUM;
	if (r->status)
		return pmof_store_reply_status(r);
	memset(w, 0, sizeof(*w));
	r->version = f.o.generation;
	w->value_length = cpu_to_le32(f.o.value_length);
	if (f.o.value_length <= r->max_inline) {
		r->status = copy_value(st, &f, w->value);
		if (r->status)
			return pmof_store_reply_status(r);
		w->flags = cpu_to_le32(PMOF_KV_GET_F_INLINE);
		length += f.o.value_length;
	} else {
		w->offset = cpu_to_le64(f.slot);
		/* [K6] Ahead of the answer: from here on the slot is not free. */
		w->epoch = cpu_to_le64(pmof_store_give_address(st, r->context));
	}
	pmof_store_reply_status(r);
	return length;
}

/* --- SCAN ------------------------------------------------------------------------- */

static u32 parse_scan(struct store *st, struct store_req *r)
{
	const struct pmof_kv_scan *w = r->data;

	if (r->length != sizeof(*w))
		return PMOF_KV_SC_INVALID;
	r->hash = le64_to_cpu(w->hash);
	r->skip = le32_to_cpu(w->skip);
	r->max = le32_to_cpu(w->max) ?: U32_MAX;
	return PMOF_KV_SC_OK;
}

struct scan {
	struct pmof_kv_scan_reply *w;
	u32 length;			/* of the reply, so far */
	u32 count;
	u64 hash;			/* cursor: where to go on */
	u32 skip;
	bool left;			/* there, since much of the index is empty */
};

/* False if it does not fit.  What cannot be read is passed over. */
static bool add_entry(struct store *st, struct scan *s, const struct pmof_kv_entry *e)
{
	struct pmof_kv_scan_entry *w = (void *)s->w + s->length;
	const struct pmof_kv_object_header *h = st->m.base + e->slot;
	struct pmof_kv_object o;
	u32 length;

	if (!pmof_store_read_object(st, e->slot, &o)) {
		length = sizeof(*w) + round_up(o.key_length, 8);
		if (length > PMOF_MAX_CALL_REPLY - s->length)
			return false;
		memset(w, 0, length);
		w->version = cpu_to_le64(o.generation);
		w->value_length = cpu_to_le32(o.value_length);
		w->key_length = cpu_to_le16(o.key_length);
		memcpy(w->key, h->data, o.key_length);
		s->length += length;
		s->count++;
	}
	/* Behind it: how many of just this hash have been told. */
	s->skip = e->hash == s->hash ? s->skip + 1 : 1;
	s->hash = e->hash;
	return true;
}

/* Returns false when there are no more. */
static bool scan_some(struct store *st, struct scan *s, u32 max)
{
	struct pmof_kv_entry e[SCAN_BATCH];
	struct pmof_kv_found found = pmof_kv_index_scan(&st->index, s->hash, s->skip, e,
							SCAN_BATCH, SCAN_EMPTY);
	u32 i;

	for (i = 0; i < found.nr && s->count < max; i++)
		if (!add_entry(st, s, &e[i]))
			break;
	if (i < found.nr)
		return true;
	if (found.next) {
		s->hash = found.next;
		s->skip = 0;
		s->left = true;
	}
	return !found.end;
}

static u32 finish_scan(struct store *st, struct store_req *r)
{
	struct scan s = {
		.w	= r->reply,
		.length	= sizeof(*s.w),
		.hash	= r->hash,
		.skip	= r->skip,
	};
	u32 batches = 0;
	bool more;

	if (r->status)
		return pmof_store_reply_status(r);
	store_count(st, PMOF_KV_STAT_SCANS, 1);
	do {
		more = scan_some(st, &s, r->max);
	} while (more && !s.left && s.count < r->max && ++batches < SCAN_BATCHES &&
		 PMOF_MAX_CALL_REPLY - s.length >= sizeof(struct pmof_kv_scan_entry) +
						   PMOF_KV_KEY_MAX);
	pmof_store_reply_status(r);
	s.w->hash = cpu_to_le64(s.hash);
	s.w->skip = cpu_to_le32(s.skip);
	s.w->count = cpu_to_le32(s.count);
	s.w->flags = cpu_to_le32(more ? 0 : PMOF_KV_SCAN_F_END);
	s.w->reserved = 0;
	return s.length;
}

/* --- OUTCOME ---------------------------------------------------------------------- */

static u32 parse_outcome(struct store *st, struct store_req *r)
{
	if (r->length != sizeof(struct pmof_kv_request) || !r->number)
		return PMOF_KV_SC_INVALID;
	return PMOF_KV_SC_OK;
}

static enum pmof_kv_outcome find_outcome(const struct store *st, struct store_req *r)
{
	const struct store_outcome *o = pmof_store_outcome(r->context, r->number);
	const struct store_past *past;

	if (o) {
		r->version = o->status ? 0 : o->version;
		return o->status ? PMOF_KV_OUTCOME_REFUSED : PMOF_KV_OUTCOME_COMMITTED;
	}
	past = pmof_store_past(st, r->context->writer, r->number);
	if (!past)
		return PMOF_KV_OUTCOME_UNKNOWN;
	r->version = past->version;
	return past->version ? PMOF_KV_OUTCOME_COMMITTED : PMOF_KV_OUTCOME_REFUSED;
}

static u32 finish_outcome(struct store *st, struct store_req *r)
{
	struct pmof_kv_outcome_reply *w = r->reply;

	if (r->status)
		return pmof_store_reply_status(r);
	w->outcome = cpu_to_le32(find_outcome(st, r));
	w->reserved = 0;
	pmof_store_reply_status(r);
	return sizeof(*w);
}

/* --- STAT ------------------------------------------------------------------------- */

static u32 parse_stat(struct store *st, struct store_req *r)
{
	return r->length == sizeof(struct pmof_kv_request) ?
		PMOF_KV_SC_OK : PMOF_KV_SC_INVALID;
}

static u64 stat_value(const struct store *st, enum pmof_kv_stat stat)
{
	switch (stat) {
	case PMOF_KV_STAT_KEYS:
		return st->index.count;
	case PMOF_KV_STAT_CHUNKS:
		return st->m.sb.nr_chunks;
	case PMOF_KV_STAT_FREE_CHUNKS:
		return st->alloc.nr_free;
	case PMOF_KV_STAT_SLOTS_USED:
		return st->alloc.used_slots;
	case PMOF_KV_STAT_RETIRED:
		return st->retired.count;
	case PMOF_KV_STAT_LEASES:
		return st->nr_leases;
	case PMOF_KV_STAT_RECORDS:
		return st->records;
	case PMOF_KV_STAT_MAX_RECORDS:
		return st->m.sb.nr_records;
	case PMOF_KV_STAT_EPOCH:
		return st->epoch;
	case PMOF_KV_STAT_DRAM:
		return pmof_store_index_bytes(st) + st->alloc.bytes +
		       st->m.sb.nr_records * sizeof(*st->superseded);
	case PMOF_KV_STAT_RECOVERY_NS:
		return st->recovery_ns;
	case PMOF_KV_STAT_RECOVERED:
		return st->recovered;
	default:
		return st->stat[stat];
	}
}

static u32 finish_stat(struct store *st, struct store_req *r)
{
	struct pmof_kv_stat_reply *w = r->reply;
	int i;

	if (r->status)
		return pmof_store_reply_status(r);
	pmof_store_reply_status(r);
	w->count = cpu_to_le32(PMOF_KV_STAT_MAX);
	w->reserved = 0;
	for (i = 0; i < PMOF_KV_STAT_MAX; i++)
		w->value[i] = cpu_to_le64(stat_value(st, i));
	return struct_size(w, value, PMOF_KV_STAT_MAX);
}

const struct store_op pmof_store_reads[] = {
	{
		.opcode		= PMOF_KV_GET,
		.time		= PMOF_KV_STAT_GET_NS,
		.min_length	= sizeof(struct pmof_kv_get),
		.parse		= parse_get,
		.finish		= finish_get,
	}, {
		.opcode		= PMOF_KV_SCAN,
		.min_length	= sizeof(struct pmof_kv_scan),
		.parse		= parse_scan,
		.finish		= finish_scan,
	}, {
		.opcode		= PMOF_KV_OUTCOME,
		.min_length	= sizeof(struct pmof_kv_request),
		.parse		= parse_outcome,
		.finish		= finish_outcome,
	}, {
		.opcode		= PMOF_KV_STAT,
		.min_length	= sizeof(struct pmof_kv_request),
		.parse		= parse_stat,
		.finish		= finish_stat,
	},
};

const unsigned int pmof_store_nr_reads = ARRAY_SIZE(pmof_store_reads);
