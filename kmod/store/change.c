// SPDX-License-Identifier: GPL-2.0
/*
 * Requests that change a store, in the phases of docs/kv.md's table: start is phase 1,
 * commit phase 2, finish phase 3; behind each of the first two stands a fence.
 */
#include "mark.h"
#include "store.h"

#define EXPECT_NONE	PMOF_KV_EXPECT_NONE
#define EXPECT_ANY	PMOF_KV_EXPECT_ANY

u32 pmof_store_reply_status(const struct store_req *r)
{
	struct pmof_kv_reply *w = r->reply;

	w->status = cpu_to_le32(r->status);
	w->reserved = 0;
	w->version = cpu_to_le64(r->version);
	return sizeof(*w);
}

static enum store_step refuse(struct store_req *r, u32 status)
{
	r->status = status;
	return STORE_DONE;
}

/* May the store change, now? */
static u32 may_change(const struct store *st)
{
	/* Nor is anything built upon what this phase has stored, which may not be durable. */
	if (st->read_only || st->fence_failed)
		return PMOF_KV_SC_READ_ONLY;
	return st->no_memory ? PMOF_KV_SC_NO_MEMORY : PMOF_KV_SC_OK;
}

/* --- what commits share ----------------------------------------------------------- */

static bool version_ok(u64 version)
{
	return !(version & ~PMOF_KV_GENERATION_MASK) || version == EXPECT_ANY;
}

/*
 * A number whose outcome is known is not done again: it is answered as it was.  Returns
 * PMOF_KV_SC_*, with r->known if that is the answer.
 */
static u32 look_up_number(struct store *st, struct store_req *r)
{
	const struct store_outcome *o = pmof_store_outcome(r->context, r->number);
	const struct store_past *past;

	if (!r->number)
		return PMOF_KV_SC_OK;
	if (o) {
		r->known = true;
		r->version = o->version;
		return o->status;
	}
	past = pmof_store_past(st, r->context->writer, r->number);
	if (past) {
		/* Also what was not committed: OUTCOME has said that it will not be. */
		r->known = true;
		r->version = past->version;
		return past->version ? PMOF_KV_SC_OK : PMOF_KV_SC_NO_LEASE;
	}
	return pmof_store_need_outcomes(r->context) ? PMOF_KV_SC_NO_MEMORY : PMOF_KV_SC_OK;
}

/*
 * [K8] Compared where it is ordered: in this round, and nothing of the key commits in it
 * ahead of this one [K7].  Fills r->old.  Returns PMOF_KV_SC_*.
 */
static u32 compare(struct store *st, struct store_req *r)
{
	struct store_found f;
	int there = pmof_store_find(st, r->hash, r->key, r->o.key_length, &f);

	if (there < 0)
		return PMOF_KV_SC_MEDIUM;
	r->old = (struct pmof_kv_ref){};
	if (there)
		r->old = (struct pmof_kv_ref){ f.slot, f.o.generation };
	if (r->expected == EXPECT_ANY || r->expected == r->old.generation)
		return PMOF_KV_SC_OK;
	r->version = r->old.generation;
	return PMOF_KV_SC_VERSION;
}

/* For the power-cut explorer: whose change the next reply is, or is as well. */
void pmof_store_mark(const struct store_req *r)
{
#ifdef PMOF_CRASH_MARKS
	pmof_mark(PMOF_MARK_KEY, (u64)crc32c(~0U, r->key, r->o.key_length) << 16 | r->o.key_length);
	pmof_mark(PMOF_MARK_VERSION, r->version);
#endif
}

/* [K3] PF is durable. */
static void set_vf(struct store *st, const struct store_req *r)
{
	pmof_kv_set_vf(&st->m, r->slot, &r->o);
	store_count(st, PMOF_KV_STAT_STORED, PMOF_TRAILER_SIZE);
}

/* Behind the fence of phase 2: [K3] what readers find, and the answer. */
static void take_effect(struct store *st, struct store_req *r)
{
	int rc;

	if (!r->old.offset)
		rc = pmof_store_index_add(st, r->hash, r->slot);
	else
		rc = pmof_store_index_move(st, r->hash, r->old.offset, r->slot);
	if (rc)
		pmof_store_damaged(st, "the index does not take a key");
	if (r->old.offset)
		pmof_store_retire(st, &r->old);
	r->version = r->slot ? r->o.generation : r->old.generation;
	if (!r->batch)
		pmof_store_mark(r);
}

static u32 finish_change(struct store *st, struct store_req *r)
{
	if (r->begun)
		pmof_store_remember(r->context, r->number, r->status, r->version);
	return pmof_store_reply_status(r);
}

/* --- PREPARE_PUT ------------------------------------------------------------------ */

/* The object that a message describes.  Returns PMOF_KV_SC_*. */
static u32 get_object(struct store_req *r, u32 value_length, u32 key_length, const u8 *key)
{
	r->key = key;
	r->o.key_length = key_length;
	r->o.value_length = value_length;
	r->o.generation = 1;
	if (!key_length || key_length > PMOF_KV_KEY_MAX)
		return PMOF_KV_SC_INVALID;
	return pmof_kv_object_ok(&r->o) ? PMOF_KV_SC_OK : PMOF_KV_SC_TOO_LARGE;
}

static u32 parse_prepare(struct store *st, struct store_req *r)
{
	const struct pmof_kv_prepare *w = r->data;
	u32 key_length = le16_to_cpu(w->key_length);

	u32 status;

	if (w->reserved || r->length != sizeof(*w) + key_length)
		return PMOF_KV_SC_INVALID;
	status = get_object(r, le32_to_cpu(w->value_length), key_length, w->key);
	if (status)
		return status;
	r->hash = pmof_store_hash(st, r->key, key_length);
	if (r->number && pmof_store_need_outcomes(r->context))
		return PMOF_KV_SC_NO_MEMORY;
	return PMOF_KV_SC_OK;
}

static enum store_step start_prepare(struct store *st, struct store_req *r, u64 slice)
{
	enum store_step step;

	store_count(st, PMOF_KV_STAT_PREPARES, !r->since);
	r->status = may_change(st);
	if (!r->status && !r->lease)
		r->status = pmof_store_make_lease(st, r);
	if (r->status)
		return STORE_DONE;
	step = pmof_store_allocate(st, r);
	if (step == STORE_DONE && r->slot) {
		/* [K1] */
		pmof_kv_clear_trailer(&st->m, r->slot, &r->o);
		r->changed = true;
	}
	return step;
}

/* [K1] The cleared trailer is durable. */
static void commit_prepare(struct store *st, struct store_req *r)
{
	pmof_kv_write_header(&st->m, r->slot, &r->o, r->key);
}

static void cancel_prepare(struct store *st, struct store_req *r)
{
	if (r->lease)
		pmof_store_end_lease(st, r->lease);
	r->lease = NULL;
}

static u32 finish_prepare(struct store *st, struct store_req *r)
{
	struct pmof_kv_prepare_reply *w = r->reply;

	if (r->status) {
		cancel_prepare(st, r);
		return pmof_store_reply_status(r);
	}
	/* [K2] From here on the client may write. */
	r->lease->slot = r->slot;
	st->leased_slots++;
	r->lease->o = r->o;
	r->version = r->o.generation;
	pmof_store_reply_status(r);
	w->offset = cpu_to_le64(r->slot + pmof_kv_value_offset(&r->o));
	w->lease = cpu_to_le32(r->lease->id);
	w->reserved = 0;
	r->lease = NULL;
	return sizeof(*w);
}

/* --- COMMIT, RETURN --------------------------------------------------------------- */

/* The lease is this request's from here on. */
static u32 parse_commit(struct store *st, struct store_req *r)
{
	const struct pmof_kv_commit *w = r->data;
	struct store_lease *l;
	u32 status;

	r->expected = le64_to_cpu(w->expected);
	if (w->reserved || r->length != sizeof(*w) || !version_ok(r->expected))
		return PMOF_KV_SC_INVALID;
	status = look_up_number(st, r);
	if (status || r->known)
		return status;
	l = pmof_store_find_lease(st, r->context, le32_to_cpu(w->lease));
	if (!l)
		return PMOF_KV_SC_NO_LEASE;
	l->busy = true;
	r->lease = l;
	r->slot = l->slot;
	r->hash = l->hash;
	r->key = l->key;
	r->o = l->o;
	if (!r->number)
		r->number = l->number;
	return PMOF_KV_SC_OK;
}

/*
 * [K2] The value is placed: its WRITE was ahead of the message.  It is written back a slice
 * at a time.  True if all of it is, to the line of the trailer.
 */
static bool write_value_back(struct store *st, struct store_req *r, u64 slice)
{
	u64 start = r->slot + pmof_kv_value_offset(&r->o) + r->done;
	u64 n = r->o.value_length - r->done;

	/* A slice ends where a line does. */
	if (n > slice)
		n = round_down(start + slice, SMP_CACHE_BYTES) - start;
	if (n)
		pmof_store_write_back(st, start, n);
	r->done += n;
	return r->done == r->o.value_length;
}

static enum store_step fail_commit(struct store *st, struct store_req *r, u32 status)
{
	/* [K2] Nothing more lands in it: the WRITE was ahead. */
	if (!st->read_only)
		pmof_store_clear_slot(st, r->slot);
	else
		st->unusable++;
	r->slot = 0;
	return refuse(r, status);
}

static enum store_step start_commit(struct store *st, struct store_req *r, u64 slice)
{
	u32 status = may_change(st);

	if (status)
		return fail_commit(st, r, status);
	if (pmof_service_bad(st->ns, r->slot, pmof_kv_object_length(&r->o)))
		return fail_commit(st, r, PMOF_KV_SC_MEDIUM);
	if (!write_value_back(st, r, slice))
		return STORE_AGAIN;
	/* In the last of its rounds. */
	if (pmof_store_key_is_taken(st, r->hash))
		return STORE_AGAIN;
	status = compare(st, r);
	if (!status && !r->old.offset && !pmof_store_index_room(st))
		status = PMOF_KV_SC_NO_MEMORY;
	if (status)
		return fail_commit(st, r, status);
	pmof_store_take_key(st, r->hash);
	pmof_store_append(st, r);
	return STORE_DONE;
}

/* [K3] Value and record are durable. */
static void commit_commit(struct store *st, struct store_req *r)
{
	pmof_kv_set_pf(&st->m, r->slot, &r->o);
}

static u32 finish_commit(struct store *st, struct store_req *r)
{
	if (r->changed) {
		set_vf(st, r);
		take_effect(st, r);
		store_count(st, PMOF_KV_STAT_COMMITS, 1);
	}
	if (r->lease)
		pmof_store_end_lease(st, r->lease);
	r->lease = NULL;
	return finish_change(st, r);
}

/* Not begun, or not through: it waits with its session's drain, like all other leases. */
static void cancel_commit(struct store *st, struct store_req *r)
{
	/* The flush behind PF has failed: it is committed, or not, and nobody may say which. */
	if (r->lease && r->changed)
		pmof_store_end_lease(st, r->lease);
	else if (r->lease)
		r->lease->busy = false;
	r->lease = NULL;
}

static u32 parse_return(struct store *st, struct store_req *r)
{
	u32 status = parse_commit(st, r);

	if (!status && r->expected) {
		cancel_commit(st, r);
		status = PMOF_KV_SC_INVALID;
	}
	return status;
}

/* As a commit, it is behind the WRITEs on their queue, or there were none. */
static enum store_step start_return(struct store *st, struct store_req *r, u64 slice)
{
	r->status = st->read_only ? PMOF_KV_SC_READ_ONLY : PMOF_KV_SC_OK;
	if (!r->status)
		pmof_store_clear_slot(st, r->slot);
	else
		st->unusable++;
	return STORE_DONE;
}

static u32 finish_return(struct store *st, struct store_req *r)
{
	if (r->lease) {
		pmof_store_remember(r->context, r->lease->number, PMOF_KV_SC_NO_LEASE, 0);
		pmof_store_end_lease(st, r->lease);
	}
	r->lease = NULL;
	return pmof_store_reply_status(r);
}

/* --- PUT_INLINE ------------------------------------------------------------------- */

static u32 parse_put(struct store *st, struct store_req *r)
{
	const struct pmof_kv_put *w = r->data;
	u32 key_length = le16_to_cpu(w->key_length);
	u32 value_length = le32_to_cpu(w->value_length);
	u32 status;

	r->expected = le64_to_cpu(w->expected);
	if (w->reserved || !version_ok(r->expected) ||
	    r->length != sizeof(*w) + (u64)key_length + value_length)
		return PMOF_KV_SC_INVALID;
	status = get_object(r, value_length, key_length, w->data);
	r->value = w->data + key_length;
	if (!status)
		r->hash = pmof_store_hash(st, r->key, key_length);
	return status ?: look_up_number(st, r);
}

/* [K1] The trailer first; [K3] value and record, for the same fence. */
static void store_inline(struct store *st, struct store_req *r)
{
	u64 at = r->slot + pmof_kv_value_offset(&r->o);

	pmof_kv_clear_trailer(&st->m, r->slot, &r->o);
	if (r->o.value_length) {
		store_count(st, PMOF_KV_STAT_LINES,
			    pmof_persist_copy(st->ns, at, r->value, r->o.value_length));
		store_count(st, PMOF_KV_STAT_COPIED, r->o.value_length);
		store_count(st, PMOF_KV_STAT_STORED, r->o.value_length);
		st->copied += r->o.value_length;
	}
	pmof_store_append(st, r);
}

/* A copy is not cut in slices: a round has so many bytes, or one. */
static bool copies_enough(const struct store *st, const struct store_req *r)
{
	return st->copied && st->copied + r->o.value_length > STORE_ROUND_BYTES;
}

static enum store_step start_put(struct store *st, struct store_req *r, u64 slice)
{
	enum store_step step;

	r->status = may_change(st);
	if (r->status)
		return STORE_DONE;
	if (pmof_store_key_is_taken(st, r->hash) || copies_enough(st, r))
		return STORE_AGAIN;
	r->status = compare(st, r);
	if (!r->status && !r->old.offset && !pmof_store_index_room(st))
		r->status = PMOF_KV_SC_NO_MEMORY;
	if (r->status)
		return STORE_DONE;
	step = pmof_store_allocate(st, r);
	if (step == STORE_DONE && r->slot) {
		pmof_store_take_key(st, r->hash);
		store_inline(st, r);
	}
	return step;
}

/* [K1] [K3] Trailer, value and record are durable. */
static void commit_put(struct store *st, struct store_req *r)
{
	pmof_kv_write_header(&st->m, r->slot, &r->o, r->key);
	pmof_kv_set_pf(&st->m, r->slot, &r->o);
}

static u32 finish_put(struct store *st, struct store_req *r)
{
	if (r->changed) {
		set_vf(st, r);
		take_effect(st, r);
		store_count(st, PMOF_KV_STAT_PUTS, 1);
	}
	return finish_change(st, r);
}

/* --- DELETE ----------------------------------------------------------------------- */

static u32 parse_delete(struct store *st, struct store_req *r)
{
	const struct pmof_kv_delete *w = r->data;
	u32 key_length = le16_to_cpu(w->key_length);
	u32 status;

	r->expected = le64_to_cpu(w->expected);
	if (w->reserved || w->reserved16 || !version_ok(r->expected) ||
	    r->expected == EXPECT_NONE || r->length != sizeof(*w) + key_length)
		return PMOF_KV_SC_INVALID;
	status = get_object(r, 0, key_length, w->key);
	if (!status)
		r->hash = pmof_store_hash(st, r->key, key_length);
	return status ?: look_up_number(st, r);
}

static enum store_step start_delete(struct store *st, struct store_req *r, u64 slice)
{
	r->status = may_change(st);
	if (r->status)
		return STORE_DONE;
	if (pmof_store_key_is_taken(st, r->hash))
		return STORE_AGAIN;
	r->status = compare(st, r);
	if (!r->status && !r->old.offset)
		r->status = PMOF_KV_SC_NO_KEY;
	if (r->status)
		return STORE_DONE;
	pmof_store_take_key(st, r->hash);
	pmof_store_append(st, r);
	return STORE_DONE;
}

/* [K3] The record is durable. */
static u32 finish_delete(struct store *st, struct store_req *r)
{
	if (r->changed) {
		take_effect(st, r);
		store_count(st, PMOF_KV_STAT_DELETES, 1);
	}
	return finish_change(st, r);
}

/* --- CLOSE ------------------------------------------------------------------------ */

static u32 parse_close(struct store *st, struct store_req *r)
{
	return PMOF_KV_SC_OK;
}

static u32 finish_close(struct store *st, struct store_req *r)
{
	if (r->context)
		pmof_store_close_context(st, r->context);
	return 0;
}

const struct store_op pmof_store_changes[] = {
	{
		.opcode		= PMOF_KV_PREPARE_PUT,
		.time		= PMOF_KV_STAT_PREPARE_NS,
		.min_length	= sizeof(struct pmof_kv_prepare),
		.parse		= parse_prepare,
		.start		= start_prepare,
		.commit		= commit_prepare,
		.finish		= finish_prepare,
		.cancel		= cancel_prepare,
	}, {
		.opcode		= PMOF_KV_COMMIT,
		.time		= PMOF_KV_STAT_COMMIT_NS,
		.min_length	= sizeof(struct pmof_kv_commit),
		.parse		= parse_commit,
		.start		= start_commit,
		.commit		= commit_commit,
		.finish		= finish_commit,
		.cancel		= cancel_commit,
	}, {
		.opcode		= PMOF_KV_PUT_INLINE,
		.time		= PMOF_KV_STAT_PUT_NS,
		.min_length	= sizeof(struct pmof_kv_put),
		.parse		= parse_put,
		.start		= start_put,
		.commit		= commit_put,
		.finish		= finish_put,
	}, {
		.opcode		= PMOF_KV_DELETE,
		.time		= PMOF_KV_STAT_DELETE_NS,
		.min_length	= sizeof(struct pmof_kv_delete),
		.parse		= parse_delete,
		.start		= start_delete,
		.finish		= finish_delete,
	}, {
		.opcode		= PMOF_KV_RETURN,
		.min_length	= sizeof(struct pmof_kv_commit),
		.parse		= parse_return,
		.start		= start_return,
		.finish		= finish_return,
		.cancel		= cancel_commit,
	}, {
		.opcode		= PMOF_MSG_SERVICE_CLOSE,
		.parse		= parse_close,
		.finish		= finish_close,
	},
};

const unsigned int pmof_store_nr_changes = ARRAY_SIZE(pmof_store_changes);
