// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* The stores of commits and checkpoints: steps.h.  Pure. */
#include "steps.h"

/* One word: it never tears. */
static void store(struct pmof_kv_medium *m, u64 offset, u64 word)
{
	__le64 *at = m->base + offset;

	WRITE_ONCE(*at, cpu_to_le64(word));
}

static void store_durably(struct pmof_kv_medium *m, u64 offset, u64 word)
{
	store(m, offset, word);
	m->write_back(m, offset, sizeof(__le64));
}

static u64 trailer(u64 slot, const struct pmof_kv_object *o)
{
	return pmof_object_trailer(slot, pmof_kv_object_length(o));
}

/* [K1] What stands there is anybody's: no header may point to it before this is durable. */
void pmof_kv_clear_trailer(struct pmof_kv_medium *m, u64 slot, const struct pmof_kv_object *o)
{
	store_durably(m, trailer(slot, o), pmof_trailer_prepared(o->generation));
}

/* [K3] Durable together with the value, before PF is stored. */
void pmof_kv_append_record(struct pmof_kv_medium *m, u32 place, const struct pmof_kv_record *r)
{
	u64 offset = pmof_kv_record_offset(&m->sb, place);

	pmof_kv_put_record(m->base + offset, &m->sb, r);
	m->write_back(m, offset, PMOF_KV_RECORD_SIZE);
}

void pmof_kv_write_header(struct pmof_kv_medium *m, u64 slot, const struct pmof_kv_object *o,
			  const void *key)
{
	pmof_kv_put_header(m->base + slot, &m->sb, o, key);
	m->write_back(m, slot, pmof_kv_value_offset(o));
}

/* [K3] Behind the fence that made value and record durable. */
void pmof_kv_set_pf(struct pmof_kv_medium *m, u64 slot, const struct pmof_kv_object *o)
{
	store_durably(m, trailer(slot, o), pmof_trailer_persistent(o->generation));
}

/* [K3] Behind the fence that made PF durable.  Nobody needs it after a cut. */
void pmof_kv_set_vf(struct pmof_kv_medium *m, u64 slot, const struct pmof_kv_object *o)
{
	store(m, trailer(slot, o), pmof_trailer_committed(o->generation));
}

/*
 * [K5] The slot has no object any more, whatever its next user writes as a value.
 * The generation: any other word of the header may be the same in the next one,
 * which could then, torn, make this one whole again.
 */
void pmof_kv_clear_header(struct pmof_kv_medium *m, u64 slot)
{
	store_durably(m, slot + offsetof(struct pmof_kv_object_header, generation), 0);
}

/* [K5] Behind the fence of the cleared headers: voids all records. */
void pmof_kv_next_log(struct pmof_kv_medium *m)
{
	m->sb.first += m->sb.nr_records;
	m->sb.serial++;
}

void pmof_kv_write_super(struct pmof_kv_medium *m, unsigned int copy)
{
	u64 offset = copy * PMOF_KV_SUPER_SIZE;

	pmof_kv_put_super(m->base + offset, &m->sb);
	m->write_back(m, offset, sizeof(struct pmof_kv_wire_super));
}

void pmof_kv_assign_chunk(struct pmof_kv_medium *m, u32 chunk, u32 class, u32 part)
{
	store_durably(m, pmof_kv_chunk_word_offset(chunk),
		      pmof_kv_chunk_word(&m->sb, chunk, class, part));
}
