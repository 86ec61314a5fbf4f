// SPDX-License-Identifier: GPL-2.0
/*
 * What a store holds, taken over when its namespace is enabled [K4]: superblock, log and
 * slots are read; index and allocator filled; then what is left over is cleared and a
 * checkpoint ends it.
 *
 * All that is seen may be in the caches only, if the server was started again without a
 * power cut: what recovery goes by is made durable before it stores anything, and objects
 * whose VF is not set before anything that they supersede is cleared.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "recover.h"
#include "store.h"

struct recovery {
	struct store *st;
	struct store_slots unfinished;	/* live, without VF */
	struct store_slots leftover;
	u64 twice;			/* objects of a key that has another one */
	bool hole;			/* in the log */
};

static void *zalloc(size_t size)
{
	return kvzalloc(size, GFP_KERNEL);
}

/* --- superblock ------------------------------------------------------------------- */

/* A bad page takes one of the copies.  Returns how many cannot be read. */
static unsigned int read_supers(const struct store *st, void *copies)
{
	unsigned int unreadable = 0, i;

	for (i = 0; i < 2; i++) {
		u64 at = i * PMOF_KV_SUPER_SIZE;

		if (pmof_service_bad(st->ns, at, PMOF_KV_SUPER_SIZE) ||
		    copy_mc_to_kernel(copies + at, st->m.base + at, PMOF_KV_SUPER_SIZE)) {
			memset(copies + at, 0, PMOF_KV_SUPER_SIZE);
			unreadable++;
		}
	}
	return unreadable;
}

static int say_no_super(const struct store *st, int rc, unsigned int unreadable)
{
	if (rc == -EPROTONOSUPPORT) {
		pr_err("namespace %s: it holds a store of another version\n", st->name);
		return rc;
	}
	/* There may be one: nobody is to format it for that. */
	if (unreadable) {
		pr_err("namespace %s: a bad sector lies in a superblock, and there is no other; if it holds no store: pmof kv format --force DEVICE\n",
		       st->name);
		return -EIO;
	}
	pr_err("namespace %s: it holds no store; format it while it is disabled: pmof kv format DEVICE\n",
	       st->name);
	return -EUCLEAN;
}

/* Chunk table and log. */
static bool table_readable(const struct store *st)
{
	u64 end = st->m.sb.log + st->m.sb.nr_records * PMOF_KV_RECORD_SIZE, at, n;

	if (pmof_service_bad(st->ns, PMOF_KV_TABLE, end - PMOF_KV_TABLE))
		return false;
	for (at = PMOF_KV_TABLE; at < end; at += n) {
		n = min_t(u64, end - at, PAGE_SIZE);
		if (!pmof_store_probe(st, at, n))
			return false;
		cond_resched();
	}
	return true;
}

static int open_super(struct store *st, unsigned int *good)
{
	u64 size = pmof_service_size(st->ns);
	unsigned int unreadable;
	void *copies;
	int rc;

	if (size < PMOF_KV_TABLE)
		return say_no_super(st, -EINVAL, 0);
	copies = kvmalloc(PMOF_KV_TABLE, GFP_KERNEL);
	if (!copies)
		return -ENOMEM;
	unreadable = read_supers(st, copies);
	rc = pmof_kv_choose_super(copies, size, &st->m.sb, good);
	kvfree(copies);
	if (rc)
		return say_no_super(st, rc, unreadable);
	if (table_readable(st))
		return 0;
	pr_err("namespace %s: a bad sector lies in the store's log or chunk table\n", st->name);
	return -EIO;
}

/* What stands there is gone by, and may not be durable: [K4]. */
static void write_again(struct store *st, u64 offset, u64 length)
{
	pmof_persist_redirty(st->ns, offset, length);
	pmof_store_write_back(st, offset, length);
}

static int settle_super(struct store *st, unsigned int copy, bool good)
{
	if (pmof_service_bad(st->ns, copy * PMOF_KV_SUPER_SIZE, PMOF_KV_SUPER_SIZE)) {
		pmof_store_damaged(st, "a bad sector lies in a superblock");
		return 0;
	}
	pmof_store_start_fenced(st);
	if (good)
		write_again(st, copy * PMOF_KV_SUPER_SIZE, PMOF_KV_SUPER_SIZE);
	else
		pmof_kv_write_super(&st->m, copy);
	return pmof_store_finish_fenced(st);
}

/*
 * [K5] Both copies are the same, durably, before one is written: the one that counts first,
 * for the other may be torn by the next power cut.
 */
static int settle_supers(struct store *st, unsigned int good)
{
	unsigned int first = good & BIT(0) ? 0 : 1;

	return settle_super(st, first, true) ?: settle_super(st, !first, good & BIT(!first));
}

/* --- what recovery finds ---------------------------------------------------------- */

static u64 *trailer_at(const struct store *st, u64 slot, const struct pmof_kv_object *o)
{
	return st->m.base + pmof_object_trailer(slot, pmof_kv_object_length(o));
}

static int live(void *context, u64 slot, const struct pmof_kv_object *o)
{
	struct recovery *rec = context;
	struct store *st = rec->st;
	const struct pmof_kv_object_header *h = st->m.base + slot;
	u64 hash = pmof_store_hash(st, h->data, o->key_length);
	struct store_found f;

	cond_resched();
	if (pmof_kv_alloc_mark(&st->alloc, slot))
		return -EUCLEAN;
	if (pmof_store_find(st, hash, h->data, o->key_length, &f) > 0) {
		rec->twice++;
		return 0;
	}
	if (le64_to_cpu((__force __le64)READ_ONCE(*trailer_at(st, slot, o))) !=
	    pmof_trailer_committed(o->generation) &&
	    pmof_store_slots_add(&rec->unfinished, slot, 0))
		return -ENOMEM;
	return pmof_store_index_fill(st, hash, slot);
}

static int leftover(void *context, u64 slot)
{
	struct recovery *rec = context;

	return pmof_store_slots_add(&rec->leftover, slot, 0);
}

/*
 * [K4] Each piece with a fence of its own: a scan is too long to stay on one CPU.  What stands
 * there is durable already, nearly always, and then nothing is written back; but where the device
 * has to be flushed, too, each page is made dirty, for nobody can tell.
 */
static void believed(void *context, u64 offset, u64 length)
{
	struct recovery *rec = context;
	u64 end = offset + length, n;

	for (; offset < end; offset += n) {
		n = min_t(u64, end - offset, SZ_1M);
		migrate_disable();
		write_again(rec->st, offset, n);
		pmof_persist_fence();
		migrate_enable();
		cond_resched();
	}
}

/* A trailer, or a header with its key. */
static bool readable(void *context, u64 offset, u64 length)
{
	const struct recovery *rec = context;

	cond_resched();
	return length == PMOF_TRAILER_SIZE ? pmof_store_readable(rec->st, offset, length) :
					     pmof_store_header_readable(rec->st, offset, length);
}

/* Never free: whatever it holds may come back when the sector has been mended. */
static int lost(void *context, u64 slot)
{
	struct recovery *rec = context;

	rec->st->lost_slots = true;
	rec->st->unusable++;
	return pmof_kv_alloc_mark(&rec->st->alloc, slot) ? -EUCLEAN : 0;
}

static void record(void *context, const struct pmof_kv_record *r, enum pmof_kv_happened happened)
{
	struct recovery *rec = context;

	cond_resched();
	if (happened != PMOF_KV_NOT_KNOWN)
		pmof_store_past_add(rec->st, r, happened == PMOF_KV_HAPPENED);
}

static const struct pmof_kv_recover_ops recover_ops = {
	.live		= live,
	.leftover	= leftover,
	.believed	= believed,
	.readable	= readable,
	.lost		= lost,
	.record		= record,
};

/* --- and what it does about that -------------------------------------------------- */

static void write_object_back(struct store *st, u64 slot, const struct pmof_kv_object *o)
{
	write_again(st, slot, pmof_kv_value_offset(o));
	write_again(st, pmof_object_trailer(slot, pmof_kv_object_length(o)), PMOF_TRAILER_SIZE);
}

/* [C9] PF is made durable, then VF set. */
static int finish_objects(struct store *st, struct store_slots *slots, bool set_vf)
{
	struct pmof_kv_object o;
	u64 slot, unused, n;

	pmof_store_start_fenced(st);
	for (n = slots->count; n; n--) {
		pmof_store_slots_first(slots, &slot, &unused);
		pmof_store_slots_pop(slots);
		if (pmof_store_read_object(st, slot, &o))
			continue;
		if (set_vf)
			pmof_kv_set_vf(&st->m, slot, &o);
		else
			write_object_back(st, slot, &o);
		if (!set_vf && pmof_store_slots_add(slots, slot, 0))
			break;
		cond_resched();
	}
	return pmof_store_finish_fenced(st) ?: n ? -ENOMEM : 0;
}

/* [K5] */
static int clear_leftovers(struct store *st, struct store_slots *slots)
{
	u64 slot, unused;

	pmof_store_start_fenced(st);
	while (pmof_store_slots_first(slots, &slot, &unused)) {
		pmof_store_slots_pop(slots);
		pmof_kv_clear_header(&st->m, slot);
		cond_resched();
	}
	return pmof_store_finish_fenced(st);
}

static int settle(struct recovery *rec)
{
	struct store *st = rec->st;
	int rc;

	if (rec->twice)
		pmof_store_damaged(st, "some keys are there twice");
	if (st->lost_slots)
		pmof_store_damaged(st, "bad sectors lie in some objects");
	if (rec->hole)
		pmof_store_damaged(st, "records of its log are gone; older objects may be back");
	/* [K4] Behind it what was believed is durable.  It was, mostly: no emulated delay. */
	rc = pmof_service_flush(st->ns, 0);
	/* Damaged or not: nobody reads what is not durable, and readers by address want VF. */
	if (!rc)
		rc = finish_objects(st, &rec->unfinished, false);
	if (!rc)
		rc = finish_objects(st, &rec->unfinished, true);
	if (rc)
		return rc;
	/*
	 * Also if the log stays: a record whose object cannot be read counts now, and not when the
	 * sector has been mended by zeros.  What it has superseded does not come back then.
	 */
	if (!st->read_only || st->lost_slots)
		rc = clear_leftovers(st, &rec->leftover);
	if (rc)
		return rc;
	if (!st->read_only)
		return pmof_store_checkpoint(st);
	st->unsettled = true;
	return 0;
}

static int scan(struct store *st)
{
	struct recovery rec = { .st = st };
	struct pmof_kv_recovered found;
	struct pmof_kv_ref *scratch;
	int rc = -ENOMEM;

	pmof_store_slots_init(&rec.unfinished);
	pmof_store_slots_init(&rec.leftover);
	scratch = kvmalloc_array(2 * (size_t)st->m.sb.nr_records, sizeof(*scratch), GFP_KERNEL);
	if (scratch)
		rc = pmof_kv_recover(st->m.base, &st->m.sb, scratch, &recover_ops, &rec, &found);
	kvfree(scratch);
	if (!rc) {
		st->last_generation = found.last_generation;
		st->recovered = found.live;
		pmof_store_past_sort(st);
		rec.hole = found.hole;
		/* Under whatever key. */
		if (found.vanished) {
			pmof_store_damaged(st, "objects that its log names are gone");
			st->lost_slots = true;
		}
		rc = settle(&rec);
	}
	if (!rc)
		pr_info("namespace %s: a store with %llu keys, %u records of its log, %llu slots cleared\n",
			st->name, found.live, found.records, found.leftover);
	pmof_store_slots_free(&rec.unfinished);
	pmof_store_slots_free(&rec.leftover);
	return rc;
}

/* --- memory ----------------------------------------------------------------------- */

static int alloc_parts(struct store *st)
{
	const struct pmof_kv_super *sb = &st->m.sb;
	u32 records = pmof_kv_count_records(st->m.base, sb);
	struct pmof_kv_table table = { .bits = STORE_INDEX_BITS, .spill = PMOF_KV_INDEX_SPILL };
	struct pmof_kv_chunk *chunk;
	__le64 key[2];

	chunk = kvcalloc(sb->nr_chunks, sizeof(*chunk), GFP_KERNEL);
	if (!chunk)
		return -ENOMEM;
	pmof_kv_alloc_init(&st->alloc, sb, chunk, zalloc);
	table.entry = kvcalloc(pmof_kv_table_places(&table), sizeof(*table.entry), GFP_KERNEL);
	if (!table.entry)
		return -ENOMEM;
	pmof_kv_index_init(&st->index, &table);
	st->superseded = kvmalloc_array(sb->nr_records, sizeof(*st->superseded), GFP_KERNEL);
	if (!st->superseded)
		return -ENOMEM;
	st->past = kvcalloc(max(records, 1U), sizeof(*st->past), GFP_KERNEL);
	if (!st->past)
		return -ENOMEM;
	st->max_past = records;
	memcpy(key, sb->hash_key, sizeof(key));
	st->hash_key.key[0] = le64_to_cpu(key[0]);
	st->hash_key.key[1] = le64_to_cpu(key[1]);
	return pmof_kv_alloc_load(&st->alloc, st->m.base);
}

static void init_store(struct store *st, struct pmof_ns *ns)
{
	st->ns = ns;
	st->name = pmof_service_name(ns);
	st->m.base = pmof_service_base(ns);
	st->epoch = 1;
	st->grow_after = jiffies;
	hash_init(st->sessions);
	hash_init(st->contexts);
	xa_init_flags(&st->leases, XA_FLAGS_ALLOC1);
	INIT_LIST_HEAD(&st->holding);
	INIT_LIST_HEAD(&st->pending);
	INIT_LIST_HEAD(&st->batches);
	INIT_LIST_HEAD(&st->starved);
	init_llist_head(&st->calls);
	init_llist_head(&st->events);
	pmof_store_slots_init(&st->retired);
	pmof_store_slots_init(&st->dropping);
	pmof_store_slots_init(&st->clearing);
	INIT_WORK(&st->grow_work, pmof_store_grow_work);
}

static int recover(struct store *st)
{
	u64 start = ktime_get_ns();
	unsigned int good;
	int rc;

	if (pmof_service_read_only(st->ns)) {
		pr_err("namespace %s: a store cannot be exported read-only; write 0 to read_only\n",
		       st->name);
		return -EROFS;
	}
	rc = open_super(st, &good);
	if (rc)
		return rc;
	rc = alloc_parts(st);
	if (rc)
		return rc;
	rc = settle_supers(st, good);
	if (!rc)
		rc = scan(st);
	st->recovery_ns = ktime_get_ns() - start;
	memset(st->stat, 0, sizeof(st->stat));
	return rc;
}

/* Returns the store, whose worker has not been started, or an ERR_PTR. */
struct store *pmof_store_recover(struct pmof_ns *ns)
{
	struct store *st = kvzalloc(sizeof(*st), GFP_KERNEL);
	int rc;

	if (!st)
		return ERR_PTR(-ENOMEM);
	init_store(st, ns);
	rc = recover(st);
	if (!rc)
		return st;
	pmof_store_free(st);
	return ERR_PTR(rc);
}

void pmof_store_free(struct store *st)
{
	cancel_work_sync(&st->grow_work);
	pmof_store_free_clients(st);
	pmof_store_slots_free(&st->retired);
	pmof_store_slots_free(&st->dropping);
	pmof_store_slots_free(&st->clearing);
	if (st->alloc.chunk)
		pmof_kv_alloc_free(&st->alloc, kvfree);
	kvfree(st->alloc.chunk);
	kvfree(st->index.now.entry);
	kvfree(st->index.next.entry);
	kvfree(st->larger.entry);
	kvfree(st->superseded);
	kvfree(st->past);
	kvfree(st);
}
