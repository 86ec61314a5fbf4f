// SPDX-License-Identifier: GPL-2.0
/*
 * The write-backs ahead of one fence: collected from all its requests, sorted,
 * so that a line that several of them name is written back once.  A request's
 * data are visible here before the worker takes it, so a write-back for
 * another request, later in the same round, covers them as well.
 */
#include "flush.h"

void pmof_write_backs_start(struct pmof_write_backs *wb)
{
	wb->nr = 0;
	wb->lines = 0;
}

/* Lines that are under way otherwise. */
void pmof_write_backs_count(struct pmof_write_backs *wb, struct pmof_session *s, u64 lines)
{
	wb->lines += lines;
	pmof_emulate_owe(&wb->debt, &s->ns->emulate, lines);
	pmof_session_stat(s, PMOF_SRV_LINES, lines);
}

/* By namespace, then by where they start. */
static bool before(const struct pmof_write_back *a, const struct pmof_write_back *b)
{
	if (a->session->ns != b->session->ns)
		return a->session->ns < b->session->ns;
	return a->start < b->start;
}

/* Insertion: there are few, and most come in order. */
static void insert(struct pmof_write_backs *wb, const struct pmof_write_back *r)
{
	unsigned int i;

	for (i = wb->nr++; i && before(r, &wb->range[i - 1]); i--)
		wb->range[i] = wb->range[i - 1];
	wb->range[i] = *r;
}

/*
 * [A3] Writes back what has been collected.  Each line counts for one session, so
 * that over all sessions they add up to what was done.
 */
void pmof_write_backs_finish(struct pmof_write_backs *wb)
{
	const struct pmof_ns *ns = NULL;
	unsigned int i;
	u64 done = 0;

	for (i = 0; i < wb->nr; i++) {
		const struct pmof_write_back *r = &wb->range[i];
		u64 start = r->session->ns == ns ? max(r->start, done) : r->start;

		if (start >= r->end)
			continue;
		ns = r->session->ns;
		done = r->end;
		pmof_write_backs_count(wb, r->session,
				       pmof_persist_write_back(ns, start, done - start));
	}
	wb->nr = 0;
}

/* [A3] The range must be valid; it grows to whole lines, which a namespace consists of. */
void pmof_write_backs_add(struct pmof_write_backs *wb, struct pmof_session *s, u64 offset,
			  u64 length)
{
	struct pmof_write_back r = {
		.session	= s,
		.start		= round_down(offset, PMOF_LINE_SIZE),
		.end		= round_up(offset + length, PMOF_LINE_SIZE),
	};

	if (!length)
		return;
	if (wb->nr == ARRAY_SIZE(wb->range))
		pmof_write_backs_finish(wb);
	insert(wb, &r);
}

/* The part of a page, sector by sector. */
static void add_good_sectors(struct pmof_write_backs *wb, struct pmof_session *s, u64 offset,
			     u64 end)
{
	u64 next;

	for (; offset < end; offset = next) {
		next = min(end, round_down(offset, PMOF_SECTOR) + PMOF_SECTOR);
		if (!pmof_bad_status(s->ns, offset, next - offset))
			pmof_write_backs_add(wb, s, offset, next - offset);
	}
}

/*
 * The same without the range's bad sectors, and without what else of their pages the
 * CPU does not reach: who reads that hears of it.
 */
void pmof_write_backs_add_good(struct pmof_write_backs *wb, struct pmof_session *s, u64 offset,
			       u64 length)
{
	u64 end = offset + length, next;

	if (likely(!pmof_bad_status(s->ns, offset, length))) {
		pmof_write_backs_add(wb, s, offset, length);
		return;
	}
	for (; offset < end; offset = next) {
		next = min(end, round_down(offset, PMOF_BAD_PAGE) + PMOF_BAD_PAGE);
		if (!pmof_bad_status(s->ns, offset, next - offset))
			pmof_write_backs_add(wb, s, offset, next - offset);
		else
			add_good_sectors(wb, s, offset, next);
	}
}
