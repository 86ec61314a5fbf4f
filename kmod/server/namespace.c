// SPDX-License-Identifier: GPL-2.0
/* Namespaces: taking a PMEM device, mapping it, giving it back. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/dax.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pfn_t.h>
#include <linux/random.h>
#include <linux/sizes.h>

#include "server.h"

#define MAP_CHUNK	SZ_1G

#define REMEDY_FSDAX	"is not PMEM in fsdax mode; run: ndctl create-namespace -f -e namespaceX.Y -m fsdax"

/*
 * Namespaces that hold a DAX device or are about to.  DAX calls its holder
 * without keeping it from going away, so the holder is looked up here.
 */
static LIST_HEAD(holders);
static DEFINE_MUTEX(holders_mutex);

static void add_holder(struct pmof_ns *ns)
{
	mutex_lock(&holders_mutex);
	list_add_tail(&ns->entry, &holders);
	mutex_unlock(&holders_mutex);
}

static void del_holder(struct pmof_ns *ns)
{
	mutex_lock(&holders_mutex);
	list_del(&ns->entry);
	mutex_unlock(&holders_mutex);
}

/* @holder may be stale: it is only compared. */
static struct pmof_ns *get_holder(const void *holder)
{
	struct pmof_ns *ns, *found = NULL;

	mutex_lock(&holders_mutex);
	list_for_each_entry(ns, &holders, entry) {
		if (ns == holder) {
			/* Who is in the list has a directory, which holds one already. */
			__module_get(THIS_MODULE);
			config_item_get(&ns->group.cg_item);
			found = ns;
			break;
		}
	}
	mutex_unlock(&holders_mutex);
	return found;
}

/*
 * The pages are out of every HCA's reach, or else the namespace is.  0: they are on the list; else
 * the kernel must leave them mapped, for who enables the namespace again does not know them.
 */
static int pages_failed(struct pmof_ns *ns, u64 offset, u64 length)
{
	/* The device as a whole: 0 and U64_MAX. */
	if (pmof_range_ok(offset, length, ns->size) && length < ns->size) {
		pr_err("namespace %s: the memory of %s has failed: %llu bytes at %llu\n",
		       pmof_ns_name(ns), ns->path, length, offset);
		if (pmof_bad_failed(ns, offset, length))
			return 0;
	}
	pr_err("namespace %s: %s is going or has failed, disabled\n", pmof_ns_name(ns),
	       ns->path);
	pmof_ns_disable(ns);
	return -EIO;
}

/*
 * The DAX device is about to go, or has lost pages.  When this returns it
 * goes, so no session may be left then that reaches it.  If the namespace is just
 * being enabled, its mutex makes us wait for that first.
 */
static int notify_failure(struct dax_device *dax, u64 offset, u64 length, int mf_flags)
{
	struct pmof_ns *ns = get_holder(dax_holder(dax));
	int rc = -EOPNOTSUPP;	/* nobody's: as where there is no holder */

	if (!ns)
		return -ENODEV;
	mutex_lock(&ns->mutex);
	if (ns->enabled && ns->dax == dax)
		rc = pages_failed(ns, offset, length);
	mutex_unlock(&ns->mutex);
	config_item_put(&ns->group.cg_item);
	module_put(THIS_MODULE);
	return rc;
}

static const struct dax_holder_operations holder_ops = {
	.notify_failure	= notify_failure,
};

static int open_bdev(struct pmof_ns *ns)
{
	int rc;

	if (!ns->path) {
		pr_err("namespace %s: write device_path before enable\n", pmof_ns_name(ns));
		return -EINVAL;
	}
	rc = pmof_bdev_open(&ns->bdev, ns->path, !ns->read_only, ns);
	switch (rc) {
	case 0:
		return 0;
	case -EBUSY:
		pr_err("namespace %s: %s is in use; unmount it or end its other user\n",
		       pmof_ns_name(ns), ns->path);
		return rc;
	case -EACCES:
		pr_err("namespace %s: %s is read-only; write 1 to read_only\n",
		       pmof_ns_name(ns), ns->path);
		return -EROFS;
	case -ENOTBLK:
		pr_err("namespace %s: %s is no block device; PMEM in devdax mode has none: ndctl create-namespace -f -e namespaceX.Y -m fsdax\n",
		       pmof_ns_name(ns), ns->path);
		return -EINVAL;
	case -ENOENT:
	case -ENXIO:
	case -ENODEV:
		pr_err("namespace %s: there is no %s; if its PMEM is disabled: ndctl enable-namespace\n",
		       pmof_ns_name(ns), ns->path);
		return rc;
	default:
		pr_err("namespace %s: cannot open %s as a block device (%d)\n",
		       pmof_ns_name(ns), ns->path, rc);
		return rc;
	}
}

/* NULL if it is a whole PMEM device with DAX; else what it is. */
static const char *not_exportable(struct block_device *bdev)
{
	bool dax = blk_queue_dax(bdev_get_queue(bdev));

	if (pmof_is_pmem(bdev) && dax)
		return bdev_is_partition(bdev) ?
			"is a partition; export the whole device" : NULL;
	/* What is stacked on PMEM can be remapped under our feet. */
	return dax ? "is not PMEM itself but made of other devices; export those" : REMEDY_FSDAX;
}

static int get_dax(struct pmof_ns *ns)
{
	struct block_device *bdev = ns->bdev.bdev;
	const char *what = not_exportable(bdev);
	u64 start;

	if (what) {
		pr_err("namespace %s: %s %s\n", pmof_ns_name(ns), ns->path, what);
		return -EINVAL;
	}
	add_holder(ns);
	ns->dax = fs_dax_get_by_bdev(bdev, &start, ns, &holder_ops);
	if (!ns->dax) {
		del_holder(ns);
		pr_err("namespace %s: %s cannot be used with DAX, or somebody else does\n",
		       pmof_ns_name(ns), ns->path);
		return -EINVAL;
	}
	return 0;
}

/* RDMA needs struct pages; those of a namespace in memory are not PMEM. */
static bool has_pages(pfn_t pfn, long nr)
{
	unsigned long first = pfn_t_to_pfn(pfn), last = first + nr - 1;

	return pfn_t_has_page(pfn) && pfn_valid(first) && pfn_valid(last) &&
	       is_zone_device_page(pfn_to_page(first)) &&
	       is_zone_device_page(pfn_to_page(last));
}

/*
 * Finds the kernel address of up to @nr pages.  Returns how many, or an errno.
 * Bad blocks do not matter here: the driver gives what is before one, or its page.
 */
static long map_chunk(struct pmof_ns *ns, pgoff_t pgoff, long nr, void **addr)
{
	long got;
	pfn_t pfn;

	got = dax_direct_access(ns->dax, pgoff, nr, DAX_RECOVERY_WRITE, addr, &pfn);
	if (got <= 0) {
		pr_err("namespace %s: cannot map %s (%ld)\n", pmof_ns_name(ns), ns->path, got);
		return got ?: -EIO;
	}
	got = min(got, nr);
	if (!has_pages(pfn, got)) {
		pr_err("namespace %s: %s " REMEDY_FSDAX "\n", pmof_ns_name(ns), ns->path);
		return -EINVAL;
	}
	return got;
}

/* The whole of it must be contiguous in the kernel's address space. */
static int map_all(struct pmof_ns *ns)
{
	long i, got, nr = ns->size >> PAGE_SHIFT;
	void *addr;

	for (i = 0; i < nr; i += got) {
		got = map_chunk(ns, i, min_t(long, nr - i, MAP_CHUNK >> PAGE_SHIFT), &addr);
		if (got < 0)
			return got;
		if (!i)
			ns->addr = addr;
		if (addr != ns->addr + ((u64)i << PAGE_SHIFT)) {
			pr_err("namespace %s: %s is not contiguous in memory\n",
			       pmof_ns_name(ns), ns->path);
			return -EINVAL;
		}
	}
	return 0;
}

static int map_ns(struct pmof_ns *ns)
{
	int id, rc;

	WRITE_ONCE(ns->size, bdev_nr_bytes(ns->bdev.bdev) & PAGE_MASK);
	if (!ns->size || (ns->size - 1) / PMOF_MAX_SEGMENT >= PMOF_MAX_SEGMENTS) {
		pr_err("namespace %s: %s has a size that cannot be exported\n",
		       pmof_ns_name(ns), ns->path);
		return -EINVAL;
	}
	id = dax_read_lock();
	rc = map_all(ns);
	dax_read_unlock(id);
	return rc;
}

static int check_domain(struct pmof_ns *ns)
{
	WRITE_ONCE(ns->domain, pmof_domain_of(ns->bdev.bdev));
	WRITE_ONCE(ns->durable, ns->domain != PMOF_DOMAIN_UNKNOWN);
	if (ns->durable)
		return 0;
	if (!ns->allow_volatile) {
		pr_err("namespace %s: %s does not tell its persistence domain; write 1 to allow_volatile to export it without durability\n",
		       pmof_ns_name(ns), ns->path);
		return -EOPNOTSUPP;
	}
	pr_warn("namespace %s: %s does not tell its persistence domain: acknowledgements are NOT durable\n",
		pmof_ns_name(ns), ns->path);
	return 0;
}

static int check_deep_flush(const struct pmof_ns *ns)
{
	if (!ns->deep_flush || pmof_has_flush_hints(ns->bdev.bdev))
		return 0;
	pr_err("namespace %s: %s has no flush hints; write 0 to deep_flush\n",
	       pmof_ns_name(ns), ns->path);
	return -EOPNOTSUPP;
}

static u64 random_nonzero(void)
{
	u64 x;

	do {
		x = get_random_u64();
	} while (!x);
	return x;
}

/* From now on there may be logins, and placement is what was asked for. */
static int go_live(struct pmof_ns *ns)
{
	int rc;

	mutex_lock(&pmof_sessions_mutex);
	rc = pmof_placement_ns(ns);
	ns->live = !rc;
	mutex_unlock(&pmof_sessions_mutex);
	return rc;
}

/* Returns when no session is left, and only then gives up the placement. */
static void go_dead(struct pmof_ns *ns)
{
	struct pmof_session_filter all = { .ns = ns };

	mutex_lock(&pmof_sessions_mutex);
	ns->live = false;
	mutex_unlock(&pmof_sessions_mutex);
	pmof_sessions_end(&all, PMOF_ANNOUNCE_NAMESPACE_GONE);
	mutex_lock(&pmof_sessions_mutex);
	pmof_placement_release(ns);
	mutex_unlock(&pmof_sessions_mutex);
}

static void close_ns(struct pmof_ns *ns)
{
	pmof_service_close(ns);
	pmof_bad_close(ns);
	if (ns->dax) {
		fs_put_dax(ns->dax, ns);
		ns->dax = NULL;
		del_holder(ns);
	}
	pmof_bdev_close(&ns->bdev);
	ns->addr = NULL;
	WRITE_ONCE(ns->size, 0);
	WRITE_ONCE(ns->generation, 0);
	WRITE_ONCE(ns->domain, PMOF_DOMAIN_UNKNOWN);
	WRITE_ONCE(ns->durable, false);
}

static int check_promises(struct pmof_ns *ns)
{
	int rc = check_domain(ns);

	if (!rc)
		rc = check_deep_flush(ns);
	return rc ?: pmof_placement_check(ns);
}

/* Opens and maps the device and takes logins.  Returns 0 or a negative errno. */
int pmof_ns_enable(struct pmof_ns *ns)
{
	int rc;

	lockdep_assert_held(&ns->mutex);
	rc = open_bdev(ns);
	if (rc)
		return rc;
	rc = get_dax(ns);
	if (rc)
		goto close;
	rc = map_ns(ns);
	if (rc)
		goto close;
	rc = check_promises(ns);
	if (rc)
		goto close;
	rc = pmof_bad_open(ns);
	if (rc)
		goto close;
	ns->flush_error = 0;
	rc = pmof_service_open(ns);
	if (rc)
		goto close;
	WRITE_ONCE(ns->generation, random_nonzero());
	WRITE_ONCE(ns->enabled, true);
	rc = go_live(ns);
	if (rc)
		goto disable;
	pr_info("namespace %s: %s, %llu bytes, persistence domain %s%s%s\n", pmof_ns_name(ns),
		ns->path, ns->size, pmof_domain_name(ns->domain),
		ns->read_only ? ", read-only" : "",
		ns->service_ops ? ", a store" : "");
	if (pmof_emulates(&ns->emulate))
		pr_warn("namespace %s: EMULATED medium: a fence takes %u ns longer, writes at most %u MB/s (0: any)\n",
			pmof_ns_name(ns), ns->emulate.latency_ns, ns->emulate.write_mbps);
	return 0;

disable:
	WRITE_ONCE(ns->enabled, false);
close:
	close_ns(ns);
	return rc;
}

/* Ends all its sessions, waits for that, and closes the device. */
void pmof_ns_disable(struct pmof_ns *ns)
{
	lockdep_assert_held(&ns->mutex);
	if (!ns->enabled)
		return;
	go_dead(ns);
	WRITE_ONCE(ns->enabled, false);
	close_ns(ns);
	pr_info("namespace %s: disabled\n", pmof_ns_name(ns));
}
