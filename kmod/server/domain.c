// SPDX-License-Identifier: GPL-2.0
/*
 * What survives a power cut, as the platform tells it of the PMEM region below
 * a block device.  struct nd_region is private to libnvdimm, so its
 * persistence_domain attribute is read the way sysfs would.
 */
#include <linux/libnvdimm.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "server.h"

static struct device *ancestor(struct block_device *bdev, const char *type)
{
	struct device *dev;

	for (dev = disk_to_dev(bdev->bd_disk)->parent; dev; dev = dev->parent)
		if (dev->type && dev->type->name && !strcmp(dev->type->name, type))
			return dev;
	return NULL;
}

static struct device *region_of(struct block_device *bdev)
{
	return ancestor(bdev, "nd_pmem");
}

/*
 * A device on a region of libnvdimm itself.  One that device mapper stacks on
 * it would do for DAX, but can be remapped under our feet.
 */
bool pmof_is_pmem(struct block_device *bdev)
{
	return region_of(bdev) || ancestor(bdev, "nd_volatile");
}

/* The attribute @name of the device's type, if it would show in sysfs. */
static struct device_attribute *visible_attribute(struct device *dev, const char *name)
{
	const struct attribute_group **group;
	int i;

	for (group = dev->type->groups; group && *group; group++) {
		for (i = 0; (*group)->attrs && (*group)->attrs[i]; i++) {
			struct attribute *attr = (*group)->attrs[i];

			if (strcmp(attr->name, name))
				continue;
			if ((*group)->is_visible &&
			    !(*group)->is_visible(&dev->kobj, attr, i))
				return NULL;
			return container_of(attr, struct device_attribute, attr);
		}
	}
	return NULL;
}

static enum pmof_domain read_attribute(struct device *region)
{
	struct device_attribute *attr = visible_attribute(region, "persistence_domain");
	enum pmof_domain domain = PMOF_DOMAIN_UNKNOWN;
	char *buf;

	if (!attr || !attr->show)
		return domain;
	/* A show method may count on a whole, aligned page. */
	buf = (char *)get_zeroed_page(GFP_KERNEL);
	if (!buf)
		return domain;
	if (attr->show(region, attr, buf) > 0) {
		if (sysfs_streq(buf, "cpu_cache"))
			domain = PMOF_DOMAIN_CPU_CACHE;
		else if (sysfs_streq(buf, "memory_controller"))
			domain = PMOF_DOMAIN_MEMORY_CONTROLLER;
	}
	free_page((unsigned long)buf);
	return domain;
}

/* Is there something to write to that flushes deeper than the domain asks for? */
bool pmof_has_flush_hints(struct block_device *bdev)
{
	struct device *dev = region_of(bdev);

	return dev && nvdimm_has_flush(to_nd_region(dev)) > 0;
}

/* The persistence domain of a block device; unknown when in any doubt. */
enum pmof_domain pmof_domain_of(struct block_device *bdev)
{
	struct device *dev = region_of(bdev);
	struct nd_region *region;
	enum pmof_domain domain;

	if (!dev)
		return PMOF_DOMAIN_UNKNOWN;
	region = to_nd_region(dev);
	/* virtio-pmem and the like: writes reach the medium by a host's flush. */
	if (!is_nvdimm_sync(region))
		return PMOF_DOMAIN_DEVICE_FLUSH;
	domain = read_attribute(dev);
	if (domain == PMOF_DOMAIN_UNKNOWN && nvdimm_has_flush(region) > 0)
		return PMOF_DOMAIN_DEVICE_FLUSH;
	/* Without the architecture's write-back, persist.c would do nothing. */
	if (domain == PMOF_DOMAIN_MEMORY_CONTROLLER && !IS_ENABLED(CONFIG_ARCH_HAS_PMEM_API))
		return PMOF_DOMAIN_UNKNOWN;
	return domain;
}
