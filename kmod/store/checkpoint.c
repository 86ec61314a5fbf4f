// SPDX-License-Identifier: GPL-2.0
/*
 * The log's end of a commit, and checkpoints [K5]: what the records have superseded has
 * no valid header any more, durably; only then the records go, all at once.
 *
 * Most headers are cleared some rounds ahead, a few with each commit, so that the
 * checkpoint itself is short.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "store.h"

#define GENERATIONS	BIT_ULL(24)	/* that may be given until the next checkpoint */
#define CLEAR_AHEAD	4	/* headers with each commit, in the log's second half */

/* The log might not take the next round. */
bool pmof_store_log_full(const struct store *st)
{
	return st->records + STORE_ROUND > st->m.sb.nr_records;
}

/*
 * The superblock names a generation above which none has been given: what was prepared and
 * never committed leaves nothing else on the medium that says so.
 */
bool pmof_store_needs_generations(const struct store *st)
{
	return st->m.sb.generation < PMOF_KV_GENERATION_MASK &&
	       st->last_generation + STORE_ROUND > st->m.sb.generation;
}

/* [K3] Phase 1.  What @r->old names is committed durably [K7]. */
void pmof_store_append(struct store *st, struct store_req *r)
{
	struct pmof_kv_record rec = {
		.sequence	= st->m.sb.first + st->records,
		.old		= r->old,
		.writer		= r->context->writer,
		.number		= r->number,
	};

	if (r->slot)
		rec.new = (struct pmof_kv_ref){ r->slot, r->o.generation };
	pmof_kv_append_record(&st->m, st->records++, &rec);
	r->changed = true;
}

/* [K5] Only if nobody has the slot by now: then the header is another one. */
static void clear_header(struct store *st, const struct pmof_kv_ref *ref)
{
	const struct pmof_kv_object_header *h = st->m.base + ref->offset;

	/* The record is all that says that it is no object any more, when it can be read again. */
	if (!pmof_store_readable(st, ref->offset, sizeof(*h))) {
		pmof_store_damaged(st, "a bad sector lies in an object that has been superseded");
		return;
	}
	if (le64_to_cpu(READ_ONCE(h->generation)) == ref->generation)
		pmof_kv_clear_header(&st->m, ref->offset);
}

/*
 * Phase 1: what earlier rounds have superseded.  That is durable, so a record which
 * names it as old counts with its header or without [K4].
 */
void pmof_store_clear_some(struct store *st)
{
	u32 n = STORE_ROUND * CLEAR_AHEAD;

	if (st->records < st->m.sb.nr_records / 2)
		return;
	for (; n && st->nr_cleared < st->nr_superseded; n--)
		clear_header(st, &st->superseded[st->nr_cleared++]);
}

/* [K5] What the records have superseded has no valid header any more, durably. */
static int clear_superseded(struct store *st)
{
	pmof_store_start_fenced(st);
	for (; st->nr_cleared < st->nr_superseded; st->nr_cleared++) {
		clear_header(st, &st->superseded[st->nr_cleared]);
		cond_resched();
	}
	return pmof_store_finish_fenced(st);
}

/*
 * The store is closed, and no round is left; or a sector of its log has become bad.  The log
 * stays, with the outcomes that it holds; but what has superseded, or the record itself, may lie
 * in a sector that somebody mends by zeros before the store is opened again, and then the record
 * does not count any more.  Also if the store takes no changes: what is named here is durably
 * superseded, whatever has failed since.
 */
void pmof_store_clear_all(struct store *st)
{
	if (clear_superseded(st))
		pr_err("namespace %s: a flush has failed\n", st->name);
}

static int write_supers(struct store *st)
{
	unsigned int copy;
	int rc = 0;

	for (copy = 0; copy < 2 && !rc; copy++) {
		pmof_store_start_fenced(st);
		pmof_kv_write_super(&st->m, copy);
		rc = pmof_store_finish_fenced(st);
	}
	return rc;
}

/* Between two rounds.  0, or a negative errno and then the store takes no changes any more. */
int pmof_store_checkpoint(struct store *st)
{
	int rc = clear_superseded(st);

	if (!rc && st->read_only)
		return -EIO;
	if (!rc) {
		/* [K5] No header of what they have superseded is left: the records may go. */
		pmof_kv_next_log(&st->m);
		st->m.sb.generation = min_t(u64, st->last_generation + GENERATIONS,
					    PMOF_KV_GENERATION_MASK);
		rc = write_supers(st);
	}
	if (rc) {
		pmof_store_damaged(st, "a checkpoint has failed");
		return rc;
	}
	st->records = 0;
	st->nr_superseded = 0;
	st->nr_cleared = 0;
	store_count(st, PMOF_KV_STAT_CHECKPOINTS, 1);
	return 0;
}
