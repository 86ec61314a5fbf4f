// SPDX-License-Identifier: GPL-2.0
/*
 * Bad blocks of a namespace.  The list of its block device is the one truth:
 * the pmem driver keeps it, a machine check and a scrub add to it, a write that
 * clears poison takes away from it.  Each message is held against the list as
 * it is when it comes.  What HCAs reach by themselves cannot be: so pages with
 * a bad sector are in no MR, by the copy here, and when a page joins that copy
 * the sessions that may have it in an MR are ended.
 *
 * That order matters: the new copy is in place, then seq moves on, then sessions
 * that entered the namespace before that are ended.  Whoever enters later
 * registers by the new copy.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/blkdev.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/page-flags.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "server.h"

#define LOOK	BIT(30)	/* sectors in one question to the list */

static unsigned int rescan_seconds = 5;
module_param(rescan_seconds, uint, 0644);
MODULE_PARM_DESC(rescan_seconds, "how often the lists of bad blocks are read again, s; 0: on request only; looked at by each rescan and enable");

/* --- the list ------------------------------------------------------------------ */

/*
 * The first bad sectors in [*at, end), or false.  What the list answers may start
 * before *at.
 */
static bool next_bad(struct badblocks *list, sector_t *at, sector_t end, sector_t *bad_end)
{
	sector_t first;
	int nr;

	while (*at < end) {
		int look = min_t(sector_t, end - *at, LOOK);

		if (badblocks_check(list, *at, look, &first, &nr) && first + nr > *at) {
			*at = max(first, *at);
			*bad_end = min(first + nr, end);
			return true;
		}
		*at += look;
	}
	return false;
}

static bool hit(struct badblocks *list, u64 offset, u64 length)
{
	sector_t at = offset >> SECTOR_SHIFT, bad_end;

	return length && next_bad(list, &at, DIV_ROUND_UP_ULL(offset + length, SECTOR_SIZE),
				  &bad_end);
}

/* Any context.  The range must be valid. */
enum pmof_bad_kind pmof_bad_look(const struct pmof_ns *ns, u64 offset, u64 length)
{
	struct badblocks *list = ns->bad.list;
	u64 start = round_down(offset, PMOF_BAD_PAGE);

	if (!length || !pmof_bad_any(&ns->bad))
		return PMOF_BAD_NONE;
	if (hit(list, offset, length))
		return PMOF_BAD_IN;
	return hit(list, start, round_up(offset + length, PMOF_BAD_PAGE) - start) ?
		PMOF_BAD_NEAR : PMOF_BAD_NONE;
}

/*
 * A page that the kernel took out of its address space after a machine check
 * would make a store or a write-back fault.
 */
static bool can_reach(const struct pmof_ns *ns, u64 offset)
{
	u8 byte;

	return !copy_mc_to_kernel(&byte, ns->addr + offset, 1);
}

/* For a range that is not all good: may the CPU touch it?  0 or PMOF_SC_MEDIUM. */
int pmof_bad_status_slow(const struct pmof_ns *ns, u64 offset, u64 length)
{
	switch (pmof_bad_look(ns, offset, length)) {
	case PMOF_BAD_NONE:
		return 0;
	case PMOF_BAD_NEAR:
		/* Only its first and last page can have a bad sector besides. */
		if (can_reach(ns, offset) && can_reach(ns, offset + length - 1))
			return 0;
		fallthrough;
	default:
		return PMOF_SC_MEDIUM;
	}
}

/* Bad sectors in a range, now. */
u64 pmof_bad_count(struct pmof_ns *ns, u64 offset, u64 length)
{
	sector_t at = offset >> SECTOR_SHIFT, end = (offset + length) >> SECTOR_SHIFT, bad_end;
	u64 nr = 0;

	if (!pmof_bad_any(&ns->bad))
		return 0;
	for (; next_bad(ns->bad.list, &at, end, &bad_end); at = bad_end)
		nr += bad_end - at;
	return nr;
}

/* --- the copy ------------------------------------------------------------------ */

/* Fills @p; there is room for as many ranges as a list can have.  Returns the sectors. */
static u64 read_list(const struct pmof_ns *ns, struct pmof_pages *p)
{
	sector_t at = 0, end = ns->size >> SECTOR_SHIFT, bad_end;
	struct pmof_range *last;
	u64 nr = 0;

	p->nr = 0;
	if (!pmof_bad_any(&ns->bad))
		return 0;
	for (; next_bad(ns->bad.list, &at, end, &bad_end); at = bad_end) {
		nr += bad_end - at;
		if (pmof_pages_add(p, (u64)at << SECTOR_SHIFT,
				   (u64)(bad_end - at) << SECTOR_SHIFT, ns->size))
			continue;
		/* It has changed meanwhile: better too many than too few. */
		last = &p->range[p->nr - 1];
		last->length = ns->size - last->offset;
		break;
	}
	return nr;
}

static int alloc_pages_of(struct pmof_pages *p)
{
	p->nr = 0;
	p->room = MAX_BADBLOCKS;
	p->range = kcalloc(p->room, sizeof(*p->range), GFP_KERNEL);
	return p->range ? 0 : -ENOMEM;
}

static void detach_sessions(struct pmof_ns *ns)
{
	struct pmof_session_filter f = { .ns = ns, .older = true };

	mutex_lock(&pmof_sessions_mutex);
	ns->bad.seq++;
	mutex_unlock(&pmof_sessions_mutex);
	/* They resume at once, and ask for the segments again. */
	pmof_sessions_detach(&f, PMOF_ANNOUNCE_SEGMENTS_CHANGED, 0);
}

static void report(struct pmof_ns *ns, u64 sectors, bool gained)
{
	if (gained)
		pr_warn("namespace %s: %s has more bad blocks, %llu sectors now; its sessions begin anew without them\n",
			pmof_ns_name(ns), ns->path, sectors);
	else
		pr_info("namespace %s: %s has %llu bad sectors now\n", pmof_ns_name(ns), ns->path,
			sectors);
}

/* @failed: a page that may have been in the copy before, and is now out of reach. */
static void rescan(struct pmof_ns *ns, bool failed)
{
	struct pmof_bad *bad = &ns->bad;
	u64 sectors, before;
	bool gained, lost;

	/* Nothing there, and nothing known. */
	if (!failed && !pmof_bad_any(bad) && !READ_ONCE(bad->sectors))
		return;
	mutex_lock(&bad->lock);
	sectors = read_list(ns, &bad->spare);
	before = bad->sectors;
	gained = pmof_pages_gained(&bad->pages, &bad->spare);
	lost = pmof_pages_gained(&bad->spare, &bad->pages);
	swap(bad->pages, bad->spare);
	WRITE_ONCE(bad->sectors, sectors);
	mutex_unlock(&bad->lock);
	if (gained || sectors != before)
		report(ns, sectors, gained);
	/* A service gives out what is good again; who logged in before reaches it by nothing. */
	if (gained || failed || (ns->service_ops && lost))
		detach_sessions(ns);
}

static void locked_rescan(struct pmof_ns *ns, bool failed)
{
	mutex_lock(&ns->bad.scan);
	rescan(ns, failed);
	mutex_unlock(&ns->bad.scan);
}

/*
 * Reads the list again.  If a page has become bad, no HCA reaches it any more
 * when this returns, whoever was the first to see it.  Sleeps.
 */
void pmof_bad_rescan(struct pmof_ns *ns)
{
	locked_rescan(ns, false);
}

static void queue_rescan(struct pmof_ns *ns)
{
	unsigned int seconds = min(READ_ONCE(rescan_seconds), 3600U);

	if (seconds)
		queue_delayed_work(system_unbound_wq, &ns->bad.rescan, seconds * HZ);
}

static void rescan_work(struct work_struct *work)
{
	struct pmof_ns *ns = container_of(to_delayed_work(work), struct pmof_ns, bad.rescan);

	pmof_bad_rescan(ns);
	queue_rescan(ns);
}

/*
 * Something has changed, or is suspected.  Any context; the caller has a session in the
 * namespace, or its mutex.
 */
void pmof_bad_kick(struct pmof_ns *ns)
{
	mod_delayed_work(system_unbound_wq, &ns->bad.rescan, 0);
}

#define UNMAP_TIME	HZ	/* from our return until the kernel has unmapped a failed page */

/*
 * May a repair begin?  Not while a page is failing: the kernel unmaps it when that is over, and
 * the driver, which maps it again, must come behind that.  The caller holds bad.mend.
 */
bool pmof_bad_mendable(const struct pmof_ns *ns)
{
	lockdep_assert_held(&ns->bad.mend);
	return !ns->bad.failing && time_after_eq(jiffies, ns->bad.mend_after);
}

/* Behind a repair that is under way, which may take from the list, and ahead of all others. */
static bool list_failed(struct pmof_ns *ns, u64 offset, u64 end)
{
	struct badblocks *list = ns->bad.list;
	bool listed = true;
	u64 at;

	mutex_lock(&ns->bad.mend);
	ns->bad.failing = true;
	for (at = offset; at < end && listed; at += PMOF_BAD_PAGE) {
		badblocks_set(list, at >> SECTOR_SHIFT, PMOF_BAD_PAGE >> SECTOR_SHIFT, 1);
		listed = pmof_bad_count(ns, at, PMOF_BAD_PAGE) == PMOF_BAD_PAGE >> SECTOR_SHIFT;
		if (listed)
			SetPageHWPoison(virt_to_page(ns->addr + at));
	}
	mutex_unlock(&ns->bad.mend);
	return listed;
}

static void failed_is_over(struct pmof_ns *ns)
{
	mutex_lock(&ns->bad.mend);
	ns->bad.failing = false;
	ns->bad.mend_after = jiffies + UNMAP_TIME;
	mutex_unlock(&ns->bad.mend);
}

/*
 * The memory of a range has failed: puts all of it on the list; the caller holds the
 * namespace's mutex.  When this returns no HCA reaches it, and no message that was looked
 * at before is under way: of a page with a bad sector the good ones go by messages, and
 * what is queued to a flush worker would fault.  False: the list is full, or there is none.
 *
 * The flag of the page tells the pmem driver, when it clears the poison, that
 * the kernel may have taken the page out of its address space.
 */
bool pmof_bad_failed(struct pmof_ns *ns, u64 offset, u64 length)
{
	u64 end = round_up(offset + length, PMOF_BAD_PAGE);
	bool listed;

	if (!ns->bad.list || end > ns->size)
		return false;
	listed = list_failed(ns, round_down(offset, PMOF_BAD_PAGE), end);
	if (listed) {
		locked_rescan(ns, true);
		/* A service works without a session, too. */
		pmof_service_settle(ns);
	}
	failed_is_over(ns);
	return listed;
}

/* --- with the namespace ----------------------------------------------------------- */

void pmof_bad_init(struct pmof_ns *ns)
{
	mutex_init(&ns->bad.scan);
	mutex_init(&ns->bad.lock);
	mutex_init(&ns->bad.mend);
	/* Not with each enable: the kernel may unmap what failed ahead of a disable. */
	ns->bad.mend_after = jiffies;
	INIT_DELAYED_WORK(&ns->bad.rescan, rescan_work);
	pmof_repair_init_ns(ns);
}

/* The namespace is mapped and takes no logins yet.  Returns 0 or a negative errno. */
int pmof_bad_open(struct pmof_ns *ns)
{
	struct pmof_bad *bad = &ns->bad;
	int rc;

	bad->list = ns->bdev.bdev->bd_disk->bb;
	rc = alloc_pages_of(&bad->pages) ?: alloc_pages_of(&bad->spare);
	if (rc)
		return rc;
	WRITE_ONCE(bad->sectors, read_list(ns, &bad->pages));
	if (pmof_pages_bytes(&bad->pages) >= ns->size) {
		pr_err("namespace %s: %s has a bad block on each page; clear them: ndctl clear-errors\n",
		       pmof_ns_name(ns), ns->path);
		return -EIO;
	}
	if (bad->sectors)
		pr_warn("namespace %s: %s has %llu bad sectors\n", pmof_ns_name(ns), ns->path,
			bad->sectors);
	queue_rescan(ns);
	return 0;
}

/* No session is left; also after a failed pmof_bad_open(), or none. */
void pmof_bad_close(struct pmof_ns *ns)
{
	struct pmof_bad *bad = &ns->bad;

	/* It kicks the rescan. */
	pmof_repair_close_ns(ns);
	cancel_delayed_work_sync(&bad->rescan);
	kfree(bad->pages.range);
	kfree(bad->spare.range);
	bad->pages = (struct pmof_pages){ };
	bad->spare = (struct pmof_pages){ };
	WRITE_ONCE(bad->sectors, 0);
	bad->list = NULL;
}
