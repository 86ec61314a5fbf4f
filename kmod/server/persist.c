// SPDX-License-Identifier: GPL-2.0
/*
 * The only file with cache write-back and fence instructions, and with flushes
 * of the device.
 *
 * A write-back starts the way of a line to the memory controller; a fence on
 * the same CPU waits until the lines have arrived.  So the caller stays on one
 * CPU (migrate_disable) from the first write-back or copy to the fence, and
 * what it wrote back is durable once pmof_persist_fence() has returned.  Never
 * dax_flush(): an administrator can switch that off in sysfs.
 */
#include <linux/blkdev.h>
#include <linux/export.h>
#include <linux/libnvdimm.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <asm/barrier.h>

#include "server.h"

/*
 * Starts the write-back of a range, which must be valid.  Returns how many
 * cache lines that were.
 */
u64 pmof_persist_write_back(const struct pmof_ns *ns, u64 offset, u64 length)
{
	/*
	 * [A3] Where the caches survive a power cut, what has become visible is
	 * durable already: the data came before the message that names it.
	 * Not where the caches' survival shall not be relied on: the flush of
	 * the device takes along only what has left them.
	 */
	if (ns->domain == PMOF_DOMAIN_CPU_CACHE && !ns->deep_flush)
		return 0;
	arch_wb_cache_pmem(ns->addr + offset, length);
	return pmof_range_lines(offset, length);
}
EXPORT_SYMBOL_NS_GPL(pmof_persist_write_back, PMOF_SERVER);

/* Where it is not the architecture's, memcpy_flushcache() only copies. */
static bool past_cache(const struct pmof_ns *ns)
{
	return ns->domain != PMOF_DOMAIN_CPU_CACHE &&
	       IS_ENABLED(CONFIG_ARCH_HAS_UACCESS_FLUSHCACHE);
}

/*
 * [R1] Stores @data at a range, which must be valid, on its way to the memory
 * controller.  Returns how many cache lines that were.
 */
u64 pmof_persist_copy(const struct pmof_ns *ns, u64 offset, const void *data, u64 length)
{
	if (past_cache(ns)) {
		memcpy_flushcache(ns->addr + offset, data, length);
		return pmof_range_lines(offset, length);
	}
	memcpy(ns->addr + offset, data, length);
	return pmof_persist_write_back(ns, offset, length);
}
EXPORT_SYMBOL_NS_GPL(pmof_persist_copy, PMOF_SERVER);

/*
 * [R1] The same with zeros, for any length: past the cache, which a large range
 * would fill with lines that nobody wants.
 */
u64 pmof_persist_zero(const struct pmof_ns *ns, u64 offset, u64 length)
{
	const void *zeros = page_address(ZERO_PAGE(0));
	u64 end = offset + length;
	u64 at, next;

	if (!past_cache(ns)) {
		memset(ns->addr + offset, 0, length);
		return pmof_persist_write_back(ns, offset, length);
	}
	for (at = offset; at < end; at = next) {
		next = min(round_down(at, PAGE_SIZE) + PAGE_SIZE, end);
		memcpy_flushcache(ns->addr + at, zeros, next - at);
	}
	return pmof_range_lines(offset, length);
}

/*
 * Everything that this CPU has written back is durable when this returns.  On
 * a cpu_cache domain it still keeps the reply from overtaking what was seen of
 * the data on machines that order memory weakly.
 */
void pmof_persist_fence(void)
{
	pmem_wmb();
}
EXPORT_SYMBOL_NS_GPL(pmof_persist_fence, PMOF_SERVER);

static int issue_flush(struct pmof_ns *ns)
{
	struct block_device *bdev = ns->bdev.bdev;
	int rc = blkdev_issue_flush(bdev);

	/* None has been sent. */
	if (rc == -ENOMEM)
		return rc;
	if (rc) {
		pr_err("namespace %s: flush of %s failed (%d), nothing is acknowledged as durable any more until it is disabled and enabled\n",
		       pmof_ns_name(ns), ns->path, rc);
		ns->flush_error = rc;
		return rc;
	}
	if (bdev_write_cache(bdev))
		return 0;
	/* An administrator can switch flushes off in sysfs: then they do nothing and succeed. */
	pr_err_ratelimited("namespace %s: %s takes no flushes (write_cache), not acknowledged\n",
			   pmof_ns_name(ns), ns->path);
	return -EOPNOTSUPP;
}

/*
 * Takes what was fenced before further, to the medium: a flush of the host's
 * file behind virtio-pmem, or the region's flush hints.  Sleeps.  Returns 0 or
 * a negative errno.
 *
 * [A7] One that has failed may have dropped what others have stored, and is told to nobody
 * but the first who asks: the next one would succeed.  So it fails for all of them, for
 * good; clients find a new generation when the namespace has been enabled again.
 */
int pmof_persist_flush_device(struct pmof_ns *ns)
{
	int rc;

	mutex_lock(&ns->flush_mutex);
	rc = ns->flush_error ?: issue_flush(ns);
	mutex_unlock(&ns->flush_mutex);
	return rc;
}

/*
 * Stores again what stands there, a word of each page, where a flush of an earlier time may
 * have failed: then what is seen is neither on the medium nor dirty, and no flush takes it
 * there.  Nobody else may store there meanwhile.
 */
void pmof_persist_redirty(const struct pmof_ns *ns, u64 offset, u64 length)
{
	u64 at = round_down(offset, sizeof(u64)), end = offset + length;

	if (!pmof_ns_device_flush(ns))
		return;
	for (; at < end; at = round_down(at, PAGE_SIZE) + PAGE_SIZE) {
		u64 *word = ns->addr + at;

		WRITE_ONCE(*word, READ_ONCE(*word));
	}
}
EXPORT_SYMBOL_NS_GPL(pmof_persist_redirty, PMOF_SERVER);
