// SPDX-License-Identifier: GPL-2.0
/*
 * The page cache behind mmap: pages come by RDMA READ and go with durable puts,
 * straight to and from the cache's pages.
 *
 * They move in pieces: neighbours in the namespace, within one segment, as many
 * as one slot names at most.  The folios of a piece are locked (reading) or under
 * write-back until its slot is done.  So they stay in the cache, the slot finds
 * them there by their index, and nothing is allocated on the way: it may be
 * reclaim that waits for us.
 *
 * A folio is one page.  Larger ones would be written back whole for one byte
 * that was stored to them.
 */
#include <linux/pagemap.h>
#include <linux/writeback.h>

#include "client.h"
#include "compat.h"

#define MEMORY_WAIT	(HZ / 50)	/* until what was short is asked for again */

/* One call of the page cache: pieces on one queue, and the piece that grows. */
struct cache_io {
	struct pmof_req req;
	struct address_space *mapping;
	bool write;
	pgoff_t first;
	unsigned int nr;
	pgoff_t lowest, highest;	/* of all pages that it has had */
	bool lost;			/* some were lost with the connection, or starved */
	bool progress;			/* some have got through since losses were counted */
	bool starved;			/* there was no memory for some */
	bool single;			/* a piece of several has failed: each by itself */
	unsigned int waits;		/* for memory, since something was posted */
};

static struct pmof_conn *mapping_conn(const struct address_space *mapping)
{
	return mapping->host->i_private;
}

static enum dma_data_direction io_dir(const struct cache_io *io)
{
	return io->write ? DMA_TO_DEVICE : DMA_FROM_DEVICE;
}

static void io_begin(struct cache_io *io, struct address_space *mapping, bool write)
{
	memset(io, 0, sizeof(*io));
	io->mapping = mapping;
	io->write = write;
	io->lowest = ULONG_MAX;
	io->req.opcode = write ? PMOF_OP_PUT : PMOF_OP_GET;
	/* Who is killed while it writes back must not lose what others have stored. */
	io->req.unkillable = write;
	pmof_req_begin(&io->req, pmof_req_queue(mapping_conn(mapping)));
}

/* Bytes of @nr pages from @first on that the namespace has. */
static u64 piece_bytes(const struct address_space *mapping, pgoff_t first, unsigned int nr)
{
	u64 size = i_size_read(mapping->host), offset = (u64)first << PAGE_SHIFT;

	return min_t(u64, (u64)nr << PAGE_SHIFT, size - offset);
}

static void folio_read_end(struct folio *folio, int status)
{
	if (!status)
		folio_mark_uptodate(folio);
	folio_unlock(folio);
}

/*
 * [M1] Write-back ends when the durable put is acknowledged: a folio that is
 * neither dirty nor under write-back is durable, or its loss is on record, for
 * each open file's next fsync.  It is never made dirty again here: who waits for the end of
 * its write-back has not marked it as one to be written.
 */
static void folio_write_end(struct folio *folio, int status)
{
	if (status) {
		mapping_set_error(folio->mapping, status);
		/* Before its end: whoever waits for that looks here behind it. */
		atomic_inc(&mapping_conn(folio->mapping)->cache.write_errors);
	}
	folio_end_writeback(folio);
}

/* The folios of a piece are done with.  Any context. */
static void piece_end(struct address_space *mapping, const struct pmof_range *range,
		      bool write, int status)
{
	XA_STATE(xas, &mapping->i_pages, range->offset >> PAGE_SHIFT);
	pgoff_t last = (range->offset + range->length - 1) >> PAGE_SHIFT;
	struct folio *folio;

	rcu_read_lock();
	xas_for_each(&xas, folio, last) {
		if (xas_retry(&xas, folio))
			continue;
		/* It stays locked, or under write-back: io_again(). */
		if (unlikely(status == -PMOF_LOST)) {
			/* Whoever takes it sees that the connection is lost: take_lost(). */
			smp_mb__before_atomic();
			folio_set_checked(folio);
		} else if (write) {
			folio_write_end(folio, status);
		} else {
			folio_read_end(folio, status);
		}
	}
	rcu_read_unlock();
}

/* @bytes have got through. */
static void account(struct cache_io *io, u64 bytes)
{
	struct pmof_conn *conn = mapping_conn(io->mapping);

	WRITE_ONCE(io->progress, true);
	pmof_stat_inc(conn->stats, io->write ? PMOF_STAT_PUTS : PMOF_STAT_GETS);
	pmof_stat_add(conn->stats, io->write ? PMOF_STAT_BYTES_PUT : PMOF_STAT_BYTES_GOT, bytes);
}

/* A sector has turned bad: its page fails alone, so the piece's pages are moved again. */
static int piece_bad(struct cache_io *io, const struct pmof_slot *slot)
{
	if (slot->range.length <= PAGE_SIZE)
		return pmof_bad_errno(-ENODATA);
	WRITE_ONCE(io->single, true);
	return -PMOF_LOST;
}

/* Once pmof_req_piece_done() is called the request may be gone. */
static void piece_done(struct pmof_slot *slot, int status)
{
	bool write = slot->dir == DMA_TO_DEVICE;
	struct pmof_conn *conn = slot->q->conn;
	struct pmof_req *req = slot->req;
	struct cache_io *io = container_of(req, struct cache_io, req);

	if (unlikely(status == -ENODATA))
		status = piece_bad(io, slot);
	if (unlikely(status == -PMOF_LOST))
		WRITE_ONCE(io->lost, true);
	if (!status)
		account(io, slot->range.length);
	piece_end(conn->cache.mapping, &slot->range, write, status);
	pmof_slot_put(slot);
	pmof_req_piece_done(req, status);
}

/* Adds the piece's pages to the slot. */
static int piece_map(struct pmof_slot *slot, struct address_space *mapping)
{
	XA_STATE(xas, &mapping->i_pages, slot->range.offset >> PAGE_SHIFT);
	u32 left = slot->range.length;
	struct bio_vec run = { };
	struct folio *folio;
	int rc = 0;

	xas_for_each(&xas, folio, ULONG_MAX) {
		struct bio_vec bv = {
			.bv_page = &folio->page, .bv_len = min_t(u32, left, PAGE_SIZE),
		};

		if (xas_retry(&xas, folio))
			continue;
		rc = pmof_slot_map_next(slot, &run, &bv);
		left -= bv.bv_len;
		if (rc || !left)
			break;
	}
	return rc ?: pmof_slot_map_next(slot, &run, NULL);
}

/* Posts the slot with its piece.  Return: 0; -ENOMEM, -EIO: the slot is the caller's. */
static int piece_post(struct pmof_slot *slot, const struct cache_io *io)
{
	const struct pmof_persist_ops *ops;
	struct ib_rdma_wr wr[PMOF_SLOT_WR];
	struct pmof_chain chain;
	int rc;

	ops = pmof_persist_pick(slot->q->conn, slot->range.length);
	slot->done = piece_done;
	pmof_slot_map_begin(slot, io_dir(io));
	rc = piece_map(slot, io->mapping);
	if (rc) {
		pmof_slot_unmap(slot);
		return rc;
	}
	pmof_rdma_build(slot, wr, &chain, io->write ? IB_WR_RDMA_WRITE : IB_WR_RDMA_READ,
			slot->range.offset);
	if (io->write)
		ops->post_durable(slot, &chain, &slot->range);
	else
		pmof_slot_post(slot, chain.first, 1);
	return 0;
}

static int piece_start(struct cache_io *io, const struct pmof_range *range)
{
	struct pmof_slot *slot = pmof_slot_get(io->req.q, &io->req);
	int rc;

	if (!pmof_slot_begin(slot, &rc))
		return rc;
	slot->range = *range;
	/* The pages may be dirty since a session that was allowed to write. */
	rc = pmof_req_allowed(slot->q->conn, &io->req) ?: piece_post(slot, io);
	if (rc) {
		pmof_conn_leave(slot->q->conn);
		pmof_slot_put(slot);
	}
	pmof_post_end();
	return rc;
}

/*
 * Pages for whose way there is no memory now: they stay under write-back, or locked, and are
 * moved again when those that are under way have given back theirs, each by itself: that needs
 * least.  Not for ever.
 */
static int io_starved(struct cache_io *io, int rc)
{
	if (rc != -ENOMEM || io->waits * MEMORY_WAIT > pmof_io_timeout())
		return rc;
	io->starved = true;
	WRITE_ONCE(io->single, true);
	return -PMOF_LOST;
}

/*
 * Pages that never got a slot have failed, or are to be moved again: io_end().  A piece that
 * is under way may be lost at the same time: never take back what piece_done() has set.
 */
static void io_failed(struct cache_io *io, int rc)
{
	cmpxchg(&io->req.status, 0, rc);
	if (rc == -PMOF_LOST)
		WRITE_ONCE(io->lost, true);
}

/* Where there are bad pages, by themselves: the pages stay where they are meanwhile. */
static void issue_bad(struct cache_io *io, const struct pmof_range *range)
{
	u64 offset = range->offset, end = range->offset + range->length;
	struct pmof_conn *conn = io->req.q->conn;

	for (; offset < end; offset += PAGE_SIZE) {
		struct pmof_range part = { offset, min_t(u64, PAGE_SIZE, end - offset) };
		struct folio *folio = xa_load(&io->mapping->i_pages, offset >> PAGE_SHIFT);
		struct bio_vec vec = { .bv_page = &folio->page, .bv_len = part.length };
		int rc = pmof_bad_vec(conn, io->req.opcode, offset, &vec);

		rc = io_starved(io, pmof_bad_errno(rc));
		if (rc)
			io_failed(io, rc);
		else
			account(io, part.length);
		piece_end(io->mapping, &part, io->write, rc);
	}
}

/* Issues the piece that has grown; what cannot be posted fails here. */
static void io_issue(struct cache_io *io)
{
	struct pmof_range range = { (u64)io->first << PAGE_SHIFT };
	int rc;

	if (!io->nr)
		return;
	range.length = piece_bytes(io->mapping, io->first, io->nr);
	io->nr = 0;
	if (pmof_bad_hit(io->req.q->conn, range.offset, range.length)) {
		issue_bad(io, &range);
		return;
	}
	rc = io_starved(io, piece_start(io, &range));
	if (rc) {
		io_failed(io, rc);
		piece_end(io->mapping, &range, io->write, rc);
	} else {
		io->waits = 0;
	}
}

static bool fits_piece(const struct cache_io *io, pgoff_t index)
{
	const struct pmof_queue *q = io->req.q;
	u64 in_segment = (1ULL << q->conn->layout.shift) - 1;

	return !READ_ONCE(io->single) && index == io->first + io->nr &&
	       io->nr < pmof_queue_max_sge(q, io_dir(io)) &&
	       ((u64)index << PAGE_SHIFT) & in_segment;
}

/* What of the last page is behind the end of the namespace: zeros, and never sent. */
static void zero_tail(struct folio *folio)
{
	loff_t size = i_size_read(folio->mapping->host);

	if (folio_pos(folio) + folio_size(folio) > size)
		folio_zero_segment(folio, offset_in_folio(folio, size), folio_size(folio));
}

/* The folio is locked to be read into, or under write-back. */
static void io_add(struct cache_io *io, struct folio *folio)
{
	if (io->nr && !fits_piece(io, folio->index))
		io_issue(io);
	if (!io->nr)
		io->first = folio->index;
	io->nr++;
	io->lowest = min(io->lowest, folio->index);
	io->highest = max(io->highest, folio->index);
}

/*
 * A page that a call of the same direction had, when its connection was lost.  What is lost
 * on its way out is under write-back until somebody has moved or ended it, what is lost on
 * its way in never is: to write a page that was to be read would put what nobody has read.
 */
static bool is_lost(const struct cache_io *io, struct folio *folio)
{
	return folio_test_checked(folio) && folio_test_writeback(folio) == io->write;
}

/*
 * Takes the next page, from @index on, whose connection was lost: it is locked, or
 * under write-back, and whoever takes it moves or ends it.  That need not be who
 * had it before, but another call of the same direction.  NULL: there is none.
 */
static struct folio *take_lost(struct cache_io *io, pgoff_t index)
{
	XA_STATE(xas, &io->mapping->i_pages, index);
	struct pmof_cache *c = &mapping_conn(io->mapping)->cache;
	struct folio *folio;

	mutex_lock(&c->lost_lock);
	rcu_read_lock();
	xas_for_each(&xas, folio, io->highest) {
		/* One that is not lost may be freed meanwhile, and be somebody else's. */
		if (xas_retry(&xas, folio) || xa_is_value(folio) || !folio_try_get(folio))
			continue;
		if (folio == xas_reload(&xas) && is_lost(io, folio))
			break;
		folio_put(folio);
	}
	rcu_read_unlock();
	if (folio) {
		folio_clear_checked(folio);
		/* conn->lost is looked at behind that: piece_end(), pmof_slot_begin(). */
		smp_mb__after_atomic();
		/* Its lock, or its being under write-back, keeps it from here on. */
		folio_put(folio);
	}
	mutex_unlock(&c->lost_lock);
	return folio;
}

/* What is to be written must be, whoever dies meanwhile. */
static int wait_for_memory(struct cache_io *io)
{
	io->starved = false;
	io->waits++;
	if (io->write)
		schedule_timeout_uninterruptible(MEMORY_WAIT);
	else
		schedule_timeout_killable(MEMORY_WAIT);
	return !io->write && fatal_signal_pending(current) ? -EINTR : -EAGAIN;
}

/* Pages were lost with the connection: has them moved by another, or fails them. */
static int io_again(struct cache_io *io)
{
	struct pmof_conn *conn = mapping_conn(io->mapping);
	pgoff_t index = io->lowest;
	struct folio *folio;
	int rc;

	/* It is no page of these that breaks each connection, as long as others get through. */
	if (xchg(&io->progress, false))
		io->req.losses = 0;
	rc = io->starved ? wait_for_memory(io) : pmof_req_again(conn, &io->req);
	io->lost = false;
	if (rc == -EAGAIN)
		pmof_req_begin(&io->req, pmof_req_queue(conn));
	while ((folio = take_lost(io, index))) {
		index = folio->index + 1;
		if (rc == -EAGAIN) {
			io_add(io, folio);
		} else {
			struct pmof_range page = { folio_pos(folio), 1 };

			piece_end(io->mapping, &page, io->write, rc);
		}
	}
	return rc;
}

/*
 * Issues the last piece and waits for all of them, as long as any request is waited
 * for.  Pages under write-back stay so until they are durable, or have failed: who
 * waits for them need not know that the connection was lost [M1].
 */
static int io_end(struct cache_io *io)
{
	int rc = -EAGAIN, status = 0, waited;

	while (rc == -EAGAIN) {
		io_issue(io);
		waited = pmof_req_wait(&io->req);
		if (!status && waited != -PMOF_LOST)
			status = waited;
		rc = READ_ONCE(io->lost) ? io_again(io) : 0;
	}
	return status ?: rc;
}

static int cache_read_folio(struct file *file, struct folio *folio)
{
	struct cache_io io;
	int rc;

	io_begin(&io, folio->mapping, false);
	zero_tail(folio);
	io_add(&io, folio);
	rc = io_end(&io);
	/* Another call may have taken the page. If it was killed, and ended that: read it again. */
	if (!rc)
		rc = folio_wait_locked_killable(folio);
	if (!rc && !folio_test_uptodate(folio))
		return AOP_TRUNCATED_PAGE;
	return rc;
}

static void cache_readahead(struct readahead_control *rac)
{
	struct folio *folio;
	struct cache_io io;

	io_begin(&io, rac->mapping, false);
	while ((folio = readahead_folio(rac))) {
		zero_tail(folio);
		io_add(&io, folio);
	}
	io_end(&io);
}

static int cache_write_folio(struct folio *folio, void *data)
{
	struct cache_io *io = data;

	zero_tail(folio);
	folio_start_writeback(folio);
	folio_unlock(folio);
	io_add(io, folio);
	return 0;
}

static int cache_writepages(struct address_space *mapping, struct writeback_control *wbc)
{
	struct cache_io io;
	int rc, ended;

	io_begin(&io, mapping, true);
	rc = pmof_write_folios(mapping, wbc, cache_write_folio, &io);
	ended = io_end(&io);
	return rc ?: ended;
}

const struct address_space_operations pmof_cache_aops = {
	.read_folio	= cache_read_folio,
	.readahead	= cache_readahead,
	.writepages	= cache_writepages,
	.dirty_folio	= filemap_dirty_folio,
	.migrate_folio	= filemap_migrate_folio,
};
