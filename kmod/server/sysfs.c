// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/class/pmof-session/sessionN.  A session is there from its login until
 * its end work takes it out, which waits for readers: they find the namespace
 * and the queues' number fixed.
 */
#include <linux/device.h>

#include "server.h"

static struct pmof_session *to_session(struct device *dev)
{
	return container_of(dev, struct pmof_session, dev);
}

static ssize_t client_id_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", to_session(dev)->who.client_id);
}
static DEVICE_ATTR_RO(client_id);

static ssize_t namespace_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", pmof_ns_name(to_session(dev)->ns));
}
static DEVICE_ATTR_RO(namespace);

/* Not for everybody: who knows it and the client ID may ask to join the session. */
static ssize_t session_id_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%016llx\n", to_session(dev)->id);
}
static DEVICE_ATTR_ADMIN_RO(session_id);

static ssize_t peer_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%pISpc\n", &to_session(dev)->peer);
}
static DEVICE_ATTR_RO(peer);

static ssize_t placement_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct pmof_placed *p = &to_session(dev)->placed;

	return sysfs_emit(buf, "%s%s\n", pmof_placement_name(p->placement),
			  p->how == PMOF_PLACED_ASSERTED ? " (asserted)" : "");
}
static DEVICE_ATTR_RO(placement);

static ssize_t queues_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct pmof_session *s = to_session(dev);

	return sysfs_emit(buf, "%llu\n", pmof_stat_sum(s->stats, PMOF_SRV_QUEUES));
}
static DEVICE_ATTR_RO(queues);

static ssize_t rights_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", to_session(dev)->granted & PMOF_RIGHT_WRITE ?
			  "read-write" : "read-only");
}
static DEVICE_ATTR_RO(rights);

/* Has the client proved that it is the one? */
static ssize_t authenticated_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", !!to_session(dev)->key_seq);
}
static DEVICE_ATTR_RO(authenticated);

static ssize_t exclusive_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", to_session(dev)->exclusive);
}
static DEVICE_ATTR_RO(exclusive);

/* Its client may come back to it. */
static ssize_t state_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	bool detached = READ_ONCE(to_session(dev)->state) == PMOF_SESSION_DETACHED;

	return sysfs_emit(buf, "%s\n", detached ? "detached" : "live");
}
static DEVICE_ATTR_RO(state);

static struct attribute *session_attrs[] = {
	&dev_attr_client_id.attr,
	&dev_attr_rights.attr,
	&dev_attr_authenticated.attr,
	&dev_attr_exclusive.attr,
	&dev_attr_namespace.attr,
	&dev_attr_session_id.attr,
	&dev_attr_peer.attr,
	&dev_attr_placement.attr,
	&dev_attr_queues.attr,
	&dev_attr_state.attr,
	NULL,
};

static const struct attribute_group session_group = {
	.attrs = session_attrs,
};

/* --- stats/ ----------------------------------------------------------------------- */

static ssize_t stat_show(struct device *dev, struct device_attribute *attr, char *buf);

#define STAT(_name)	__ATTR(_name, 0444, stat_show, NULL)

static struct device_attribute stats[] = {
	[PMOF_SRV_RPC_CALLS]		= STAT(rpc_calls),
	[PMOF_SRV_ADMIN_CALLS]		= STAT(admin_calls),
	[PMOF_SRV_BAD_MESSAGES]		= STAT(bad_messages),
	[PMOF_SRV_PERSISTS]		= STAT(persists),
	[PMOF_SRV_BATCHES]		= STAT(batches),
	[PMOF_SRV_LINES]		= STAT(lines),
	[PMOF_SRV_BYTES]		= STAT(bytes),
	[PMOF_SRV_FENCES]		= STAT(fences),
	[PMOF_SRV_PUTS]			= STAT(puts),
	[PMOF_SRV_COMMITS]		= STAT(commits),
	[PMOF_SRV_PREPARES]		= STAT(prepares),
	[PMOF_SRV_REVALIDATES]		= STAT(revalidates),
	[PMOF_SRV_ZEROES]		= STAT(zeroes),
	[PMOF_SRV_BYTES_ZEROED]		= STAT(bytes_zeroed),
	[PMOF_SRV_DEVICE_FLUSHES]	= STAT(device_flushes),
	[PMOF_SRV_BATCH_1]		= STAT(batch_1),
	[PMOF_SRV_BATCH_2]		= STAT(batch_2),
	[PMOF_SRV_BATCH_4]		= STAT(batch_4),
	[PMOF_SRV_BATCH_8]		= STAT(batch_8),
	[PMOF_SRV_BATCH_16]		= STAT(batch_16),
	[PMOF_SRV_REPLIES]		= STAT(replies),
	[PMOF_SRV_MRS]			= STAT(mrs),
	[PMOF_SRV_QUEUES]		= STAT(queues),
};

static_assert(ARRAY_SIZE(stats) == PMOF_SRV_STAT_MAX);

static ssize_t stat_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%llu\n", pmof_stat_sum(to_session(dev)->stats, attr - stats));
}

static struct attribute *stat_attrs[] = {
	&stats[PMOF_SRV_RPC_CALLS].attr,
	&stats[PMOF_SRV_ADMIN_CALLS].attr,
	&stats[PMOF_SRV_BAD_MESSAGES].attr,
	&stats[PMOF_SRV_PERSISTS].attr,
	&stats[PMOF_SRV_BATCHES].attr,
	&stats[PMOF_SRV_LINES].attr,
	&stats[PMOF_SRV_BYTES].attr,
	&stats[PMOF_SRV_FENCES].attr,
	&stats[PMOF_SRV_PUTS].attr,
	&stats[PMOF_SRV_COMMITS].attr,
	&stats[PMOF_SRV_PREPARES].attr,
	&stats[PMOF_SRV_REVALIDATES].attr,
	&stats[PMOF_SRV_ZEROES].attr,
	&stats[PMOF_SRV_BYTES_ZEROED].attr,
	&stats[PMOF_SRV_DEVICE_FLUSHES].attr,
	&stats[PMOF_SRV_BATCH_1].attr,
	&stats[PMOF_SRV_BATCH_2].attr,
	&stats[PMOF_SRV_BATCH_4].attr,
	&stats[PMOF_SRV_BATCH_8].attr,
	&stats[PMOF_SRV_BATCH_16].attr,
	&stats[PMOF_SRV_REPLIES].attr,
	&stats[PMOF_SRV_MRS].attr,
	&stats[PMOF_SRV_QUEUES].attr,
	NULL,
};

static_assert(ARRAY_SIZE(stat_attrs) == PMOF_SRV_STAT_MAX + 1);

static const struct attribute_group stat_group = {
	.name = "stats",
	.attrs = stat_attrs,
};

static const struct attribute_group *session_groups[] = {
	&session_group,
	&stat_group,
	NULL,
};

static void session_release(struct device *dev)
{
	pmof_session_free(to_session(dev));
}

struct class pmof_session_class = {
	.name		= "pmof-session",
	.dev_groups	= session_groups,
	.dev_release	= session_release,
};

int pmof_sysfs_init(void)
{
	return class_register(&pmof_session_class);
}

void pmof_sysfs_exit(void)
{
	class_unregister(&pmof_session_class);
}
