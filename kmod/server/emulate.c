// SPDX-License-Identifier: GPL-2.0
/* An emulated medium: emulate.h.  Its attributes, and the waiting. */
#include <linux/configfs.h>
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/sched.h>

#include "server.h"

#define SPIN_NS	(50 * NSEC_PER_USEC)	/* a longer wait sleeps: a sleep ends so much too late */

/*
 * Behind a fence, before what it covers is answered: the time that the emulated medium
 * would have taken, on top of what the real one has.  May sleep.
 */
void pmof_emulate_pay(struct pmof_debt *debt)
{
	u64 ns = debt->latency_ns + div_u64(debt->ps, 1000);
	ktime_t end;

	if (likely(!ns))
		return;
	memset(debt, 0, sizeof(*debt));
	end = ktime_add_ns(ktime_get(), ns);
	if (ns > 2 * SPIN_NS)
		fsleep(div_u64(ns - SPIN_NS, NSEC_PER_USEC));
	while (ktime_before(ktime_get(), end))
		cpu_relax();
}

static ssize_t store_number(struct pmof_ns *ns, u32 *number, u32 max, const char *page,
			    size_t count)
{
	u32 value;

	if (kstrtou32(page, 0, &value) || value > max)
		return -EINVAL;
	return pmof_set_disabled(ns, number, value) ?: count;
}

static ssize_t pmof_ns_emulate_latency_ns_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n", READ_ONCE(pmof_to_ns(item)->emulate.latency_ns));
}

static ssize_t pmof_ns_emulate_latency_ns_store(struct config_item *item, const char *page,
						size_t count)
{
	struct pmof_ns *ns = pmof_to_ns(item);

	return store_number(ns, &ns->emulate.latency_ns, PMOF_EMULATE_MAX_LATENCY, page, count);
}

static ssize_t pmof_ns_emulate_write_mbps_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n", READ_ONCE(pmof_to_ns(item)->emulate.write_mbps));
}

static ssize_t pmof_ns_emulate_write_mbps_store(struct config_item *item, const char *page,
						size_t count)
{
	struct pmof_ns *ns = pmof_to_ns(item);

	return store_number(ns, &ns->emulate.write_mbps, PMOF_EMULATE_MAX_MBPS, page, count);
}

/* Not CONFIGFS_ATTR(), which makes them static. */
struct configfs_attribute pmof_ns_attr_emulate_latency_ns = {
	.ca_name	= "emulate_latency_ns",
	.ca_mode	= 0644,
	.ca_owner	= THIS_MODULE,
	.show		= pmof_ns_emulate_latency_ns_show,
	.store		= pmof_ns_emulate_latency_ns_store,
};

struct configfs_attribute pmof_ns_attr_emulate_write_mbps = {
	.ca_name	= "emulate_write_mbps",
	.ca_mode	= 0644,
	.ca_owner	= THIS_MODULE,
	.show		= pmof_ns_emulate_write_mbps_show,
	.store		= pmof_ns_emulate_write_mbps_store,
};
