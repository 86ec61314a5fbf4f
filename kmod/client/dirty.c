// SPDX-License-Identifier: GPL-2.0
/*
 * Which parts of the namespace this device has put and not made durable: so that
 * a PERSIST of much, an fsync or a FLUSH names to the server what there is to
 * write back, instead of all.
 *
 * One bit for a chunk.  A put sets its chunks' when it has completed, before its
 * owner hears of that.  Small PERSISTs neither look at the bits nor clear them.
 */
#include <linux/bitmap.h>
#include <linux/slab.h>

#include "client.h"

#define DIRTY_MAX_BITS	BIT_ULL(20)
#define DIRTY_MIN_SHIFT	12

/*
 * Only where the method that does PERSIST is told what to write back.  Where there is a
 * service, what is put is for it to make durable: a PERSIST just names its range.
 */
int pmof_dirty_init(struct pmof_conn *conn)
{
	struct pmof_dirty *d = &conn->dirty;

	if (!pmof_persist_persister(conn)->by_range || conn->login.service != PMOF_SERVICE_RAW)
		return 0;
	d->shift = DIRTY_MIN_SHIFT;
	while ((conn->login.ns_size - 1) >> d->shift >= DIRTY_MAX_BITS)
		d->shift++;
	d->nr = ((conn->login.ns_size - 1) >> d->shift) + 1;
	d->taken = kvcalloc(BITS_TO_LONGS(d->nr), sizeof(long), GFP_KERNEL);
	d->marked = kvcalloc(BITS_TO_LONGS(d->nr), sizeof(long), GFP_KERNEL);
	return d->taken && d->marked ? 0 : -ENOMEM;
}

void pmof_dirty_free(struct pmof_conn *conn)
{
	kvfree(conn->dirty.taken);
	kvfree(conn->dirty.marked);
}

/*
 * Whether no put to the range that completed before the call is to be made durable
 * still.  Behind whoever has taken marks: what it takes is durable when it is through.
 * Sleeps.
 */
bool pmof_dirty_none(struct pmof_conn *conn, const struct pmof_range *range)
{
	struct pmof_dirty *d = &conn->dirty;
	unsigned long end;
	bool none;

	if (!d->marked || !range->length)
		return false;
	end = ((range->offset + range->length - 1) >> d->shift) + 1;
	mutex_lock(&d->lock);
	none = find_next_bit(d->marked, end, range->offset >> d->shift) >= end;
	mutex_unlock(&d->lock);
	return none;
}

/* Whether a PERSIST of @length bytes goes by the marks. */
bool pmof_dirty_worth(const struct pmof_conn *conn, u64 length)
{
	return conn->dirty.marked && length > PMOF_PERSIST_EXACT;
}

/**
 * pmof_dirty_mark - a put that is not durable has completed
 * @conn: connection
 * @offset: of the put
 * @length: bytes, not 0
 *
 * To be called before its owner hears of it.  Any context.
 */
void pmof_dirty_mark(struct pmof_conn *conn, u64 offset, u64 length)
{
	struct pmof_dirty *d = &conn->dirty;
	unsigned long i, last;

	if (!d->marked)
		return;
	last = (offset + length - 1) >> d->shift;
	/*
	 * [P6] Either we find the bit cleared and set it, or pmof_dirty_take() finds
	 * our queue's dirty mark, which was set before: its barrier is the xchg().
	 */
	smp_mb();
	for (i = offset >> d->shift; i <= last; i++)
		if (!test_bit(i, d->marked))
			set_bit(i, d->marked);
	/* Pairs with pmof_dirty_drop()'s caller: see mark_dirty() in request.c. */
	smp_mb();
}

/* The bits of word @w that lie in [first, last]. */
static unsigned long word_mask(unsigned long w, unsigned long first, unsigned long last)
{
	unsigned long mask = ~0UL;

	if (w == BIT_WORD(first))
		mask &= BITMAP_FIRST_WORD_MASK(first);
	if (w == BIT_WORD(last))
		mask &= BITMAP_LAST_WORD_MASK(last + 1);
	return mask;
}

/**
 * pmof_dirty_take - take the marks of a range, to make durable what they stand for
 * @conn: connection; pmof_dirty_worth() was true
 * @range: not empty
 *
 * Holds off other takers until pmof_dirty_end(): whoever finds no mark may rely
 * on that the one who took it is through.  Return: 0 or -EINTR.  Sleeps.
 */
int pmof_dirty_take(struct pmof_conn *conn, const struct pmof_range *range)
{
	struct pmof_dirty *d = &conn->dirty;
	unsigned long first = range->offset >> d->shift;
	unsigned long last = (range->offset + range->length - 1) >> d->shift;
	unsigned long w;

	if (mutex_lock_killable(&d->lock))
		return -EINTR;
	for (w = BIT_WORD(first); w <= BIT_WORD(last); w++) {
		unsigned long mask = word_mask(w, first, last);

		if (READ_ONCE(d->marked[w]) & mask)
			d->taken[w] = atomic_long_fetch_andnot(mask,
							       (atomic_long_t *)&d->marked[w]) &
				      mask;
	}
	/* [P6] The queues' dirty marks are read behind this. */
	smp_mb();
	d->first = first;
	d->next = first;
	d->end = last + 1;
	return 0;
}

/* The next run of taken chunks, @most bytes or one chunk at most; false: that was all. */
bool pmof_dirty_next(struct pmof_conn *conn, u64 most, struct pmof_range *run)
{
	struct pmof_dirty *d = &conn->dirty;
	unsigned long first = find_next_bit(d->taken, d->end, d->next);
	unsigned long end;

	if (first >= d->end)
		return false;
	end = find_next_zero_bit(d->taken, d->end, first);
	end = min_t(u64, end, first + max_t(u64, most >> d->shift, 1));
	d->next = end;
	run->offset = (u64)first << d->shift;
	run->length = min_t(u64, (u64)end << d->shift, conn->login.ns_size) - run->offset;
	return true;
}

/*
 * Forgets all marks: what they stand for may be lost.  Waits for who has taken
 * some, which a lost connection makes give them back.
 */
void pmof_dirty_drop(struct pmof_conn *conn)
{
	struct pmof_dirty *d = &conn->dirty;
	bool any = false;
	unsigned long w;

	if (!d->marked)
		return;
	mutex_lock(&d->lock);
	for (w = 0; w < BITS_TO_LONGS(d->nr); w++)
		if (READ_ONCE(d->marked[w]))
			any |= !!xchg(&d->marked[w], 0);
	/* [V7] Who looks for marks does so under the lock. */
	if (any)
		pmof_conn_puts_lost(conn);
	mutex_unlock(&d->lock);
}

/* Ends what pmof_dirty_take() has begun.  @rc: not 0: it is all still dirty. */
void pmof_dirty_end(struct pmof_conn *conn, int rc)
{
	struct pmof_dirty *d = &conn->dirty;
	unsigned long w;

	for (w = BIT_WORD(d->first); w <= BIT_WORD(d->end - 1); w++) {
		if (!d->taken[w])
			continue;
		if (rc)
			atomic_long_or(d->taken[w], (atomic_long_t *)&d->marked[w]);
		d->taken[w] = 0;
	}
	mutex_unlock(&d->lock);
}
