// SPDX-License-Identifier: GPL-2.0
/* What became of a put or delete, by its number: of this opening, and of the last one. */
#include <linux/bsearch.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "store.h"

/* Before the first change with a number begins.  0 or -ENOMEM. */
int pmof_store_need_outcomes(struct store_context *c)
{
	if (!c->outcomes)
		c->outcomes = kvcalloc(STORE_OUTCOMES, sizeof(*c->outcomes), GFP_KERNEL);
	return c->outcomes ? 0 : -ENOMEM;
}

const struct store_outcome *pmof_store_outcome(const struct store_context *c, u64 number)
{
	const struct store_outcome *o;

	if (!number || !c->outcomes)
		return NULL;
	o = &c->outcomes[number % STORE_OUTCOMES];
	return o->number == number ? o : NULL;
}

void pmof_store_remember(struct store_context *c, u64 number, u32 status, u64 version)
{
	struct store_outcome *o;

	if (!number || !c->outcomes)
		return;
	o = &c->outcomes[number % STORE_OUTCOMES];
	/* Numbers ascend: an older one is not worth a newer one's place.  The first word stands. */
	if (o->number < number)
		*o = (struct store_outcome){ number, version, status };
}

/* --- of the last opening ---------------------------------------------------------- */

void pmof_store_past_add(struct store *st, const struct pmof_kv_record *r, bool counts)
{
	/* The medium may have changed since they were counted. */
	if (!r->number || st->nr_past == st->max_past)
		return;
	st->past[st->nr_past++] = (struct store_past){
		.writer		= r->writer,
		.number		= r->number,
		.version	= !counts ? 0 : r->new.offset ? r->new.generation :
								r->old.generation,
	};
}

static int compare_past(const void *a, const void *b)
{
	const struct store_past *x = a, *y = b;

	if (x->writer != y->writer)
		return x->writer < y->writer ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return 0;
}

/* Millions of them take a while: others have their turn. */
static int sort_past(const void *a, const void *b)
{
	cond_resched();
	return compare_past(a, b);
}

void pmof_store_past_sort(struct store *st)
{
	sort(st->past, st->nr_past, sizeof(*st->past), sort_past, NULL);
}

const struct store_past *pmof_store_past(const struct store *st, u64 writer, u64 number)
{
	struct store_past key = { .writer = writer, .number = number };

	return bsearch(&key, st->past, st->nr_past, sizeof(key), compare_past);
}
