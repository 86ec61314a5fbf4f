// SPDX-License-Identifier: GPL-2.0
/* configfs: /sys/kernel/config/pmof, as in docs/interfaces.md. */
#include <linux/ctype.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "rights.h"
#include "server.h"

/* --- namespaces/NAME --------------------------------------------------------------- */

static ssize_t pmof_ns_device_path_show(struct config_item *item, char *page)
{
	struct pmof_ns *ns = pmof_to_ns(item);
	ssize_t n;

	mutex_lock(&ns->mutex);
	n = sysfs_emit(page, "%s\n", ns->path ?: "");
	mutex_unlock(&ns->mutex);
	return n;
}

static ssize_t pmof_ns_device_path_store(struct config_item *item, const char *page, size_t count)
{
	struct pmof_ns *ns = pmof_to_ns(item);
	size_t len = strcspn(page, "\n");
	ssize_t rc = count;
	char *path = NULL;

	if (len) {
		path = kmemdup_nul(page, len, GFP_KERNEL);
		if (!path)
			return -ENOMEM;
	}
	mutex_lock(&ns->mutex);
	if (ns->enabled)
		rc = -EBUSY;
	else
		swap(ns->path, path);
	mutex_unlock(&ns->mutex);
	kfree(path);
	return rc;
}

static ssize_t store_flag(struct pmof_ns *ns, bool *flag, const char *page, size_t count)
{
	bool value;

	if (kstrtobool(page, &value))
		return -EINVAL;
	return pmof_set_disabled(ns, flag, value) ?: count;
}

static ssize_t pmof_ns_read_only_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(pmof_to_ns(item)->read_only));
}

static ssize_t pmof_ns_read_only_store(struct config_item *item, const char *page, size_t count)
{
	return store_flag(pmof_to_ns(item), &pmof_to_ns(item)->read_only, page, count);
}

static ssize_t pmof_ns_allow_volatile_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(pmof_to_ns(item)->allow_volatile));
}

static ssize_t pmof_ns_allow_volatile_store(struct config_item *item, const char *page,
					    size_t count)
{
	return store_flag(pmof_to_ns(item), &pmof_to_ns(item)->allow_volatile, page, count);
}

static ssize_t pmof_ns_deep_flush_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(pmof_to_ns(item)->deep_flush));
}

static ssize_t pmof_ns_deep_flush_store(struct config_item *item, const char *page, size_t count)
{
	return store_flag(pmof_to_ns(item), &pmof_to_ns(item)->deep_flush, page, count);
}

static ssize_t pmof_ns_placement_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%s\n", pmof_policy_name(READ_ONCE(pmof_to_ns(item)->policy)));
}

static ssize_t pmof_ns_placement_store(struct config_item *item, const char *page, size_t count)
{
	struct pmof_ns *ns = pmof_to_ns(item);
	enum pmof_placement_policy policy;

	if (pmof_policy_parse(page, &policy))
		return -EINVAL;
	return pmof_set_disabled(ns, &ns->policy, policy) ?: count;
}

static ssize_t pmof_ns_service_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%s\n", pmof_service_str(READ_ONCE(pmof_to_ns(item)->service_id)));
}

static ssize_t pmof_ns_service_store(struct config_item *item, const char *page, size_t count)
{
	struct pmof_ns *ns = pmof_to_ns(item);
	enum pmof_service service;

	if (pmof_service_parse(page, &service))
		return -EINVAL;
	return pmof_set_disabled(ns, &ns->service_id, service) ?: count;
}

static ssize_t pmof_ns_allow_any_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(pmof_to_ns(item)->allow_any));
}

/* Also while it is enabled: it is a right. */
static ssize_t pmof_ns_allow_any_store(struct config_item *item, const char *page, size_t count)
{
	bool any;

	if (kstrtobool(page, &any))
		return -EINVAL;
	return pmof_allow_any(pmof_to_ns(item), any) ?: count;
}

static ssize_t pmof_ns_enable_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(pmof_to_ns(item)->enabled));
}

static ssize_t pmof_ns_enable_store(struct config_item *item, const char *page, size_t count)
{
	struct pmof_ns *ns = pmof_to_ns(item);
	bool enable;
	int rc = 0;

	if (kstrtobool(page, &enable))
		return -EINVAL;
	mutex_lock(&ns->mutex);
	if (!enable)
		pmof_ns_disable(ns);
	else if (!ns->enabled)
		rc = pmof_ns_enable(ns);
	mutex_unlock(&ns->mutex);
	return rc ?: count;
}

static ssize_t pmof_ns_size_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%llu\n", READ_ONCE(pmof_to_ns(item)->size));
}

static ssize_t pmof_ns_generation_show(struct config_item *item, char *page)
{
	u64 generation = READ_ONCE(pmof_to_ns(item)->generation);

	return generation ? sysfs_emit(page, "%016llx\n", generation) : sysfs_emit(page, "0\n");
}

static ssize_t pmof_ns_domain_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%s\n", pmof_domain_name(READ_ONCE(pmof_to_ns(item)->domain)));
}

static ssize_t pmof_ns_placements_show(struct config_item *item, char *page)
{
	ssize_t n;

	mutex_lock(&pmof_sessions_mutex);
	n = pmof_placement_show(pmof_to_ns(item), page);
	mutex_unlock(&pmof_sessions_mutex);
	return n;
}

static ssize_t pmof_ns_durable_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(pmof_to_ns(item)->durable));
}

static ssize_t pmof_ns_sessions_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n", READ_ONCE(pmof_to_ns(item)->nr_sessions));
}

static ssize_t pmof_ns_bad_sectors_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%llu\n", READ_ONCE(pmof_to_ns(item)->bad.sectors));
}

/* Has the list of bad blocks read, now. */
static ssize_t pmof_ns_rescan_store(struct config_item *item, const char *page, size_t count)
{
	struct pmof_ns *ns = pmof_to_ns(item);
	ssize_t rc = count;
	bool value;

	if (kstrtobool(page, &value) || !value)
		return -EINVAL;
	mutex_lock(&ns->mutex);
	if (ns->enabled) {
		pmof_bad_rescan(ns);
		/* And from now on as often as the parameter says now. */
		pmof_bad_kick(ns);
	} else {
		rc = -ENODEV;
	}
	mutex_unlock(&ns->mutex);
	return rc;
}

CONFIGFS_ATTR(pmof_ns_, device_path);
CONFIGFS_ATTR(pmof_ns_, read_only);
CONFIGFS_ATTR(pmof_ns_, allow_volatile);
CONFIGFS_ATTR(pmof_ns_, deep_flush);
CONFIGFS_ATTR(pmof_ns_, placement);
CONFIGFS_ATTR(pmof_ns_, service);
CONFIGFS_ATTR(pmof_ns_, allow_any);
CONFIGFS_ATTR(pmof_ns_, enable);
CONFIGFS_ATTR_RO(pmof_ns_, size);
CONFIGFS_ATTR_RO(pmof_ns_, generation);
CONFIGFS_ATTR_RO(pmof_ns_, domain);
CONFIGFS_ATTR_RO(pmof_ns_, placements);
CONFIGFS_ATTR_RO(pmof_ns_, durable);
CONFIGFS_ATTR_RO(pmof_ns_, sessions);
CONFIGFS_ATTR_RO(pmof_ns_, bad_sectors);
CONFIGFS_ATTR_WO(pmof_ns_, rescan);

static struct configfs_attribute *ns_attrs[] = {
	&pmof_ns_attr_device_path,
	&pmof_ns_attr_read_only,
	&pmof_ns_attr_allow_volatile,
	&pmof_ns_attr_deep_flush,
	&pmof_ns_attr_placement,
	&pmof_ns_attr_service,
	&pmof_ns_attr_max_call,
	&pmof_ns_attr_emulate_latency_ns,
	&pmof_ns_attr_emulate_write_mbps,
	&pmof_ns_attr_allow_any,
	&pmof_ns_attr_enable,
	&pmof_ns_attr_size,
	&pmof_ns_attr_generation,
	&pmof_ns_attr_domain,
	&pmof_ns_attr_placements,
	&pmof_ns_attr_durable,
	&pmof_ns_attr_sessions,
	&pmof_ns_attr_bad_sectors,
	&pmof_ns_attr_rescan,
	NULL,
};

static void ns_release(struct config_item *item)
{
	struct pmof_ns *ns = pmof_to_ns(item);

	kfree(ns->path);
	kfree(ns);
}

static struct configfs_item_operations ns_item_ops = {
	.release = ns_release,
};

static const struct config_item_type ns_type = {
	.ct_item_ops	= &ns_item_ops,
	.ct_attrs	= ns_attrs,
	.ct_owner	= THIS_MODULE,
};

static struct config_group *make_ns(struct config_group *group, const char *name)
{
	struct pmof_ns *ns;

	if (!pmof_name_valid(name, PMOF_WIRE_NAME_LEN))
		return ERR_PTR(-EINVAL);
	ns = kzalloc(sizeof(*ns), GFP_KERNEL);
	if (!ns)
		return ERR_PTR(-ENOMEM);
	mutex_init(&ns->mutex);
	mutex_init(&ns->flush_mutex);
	ns->max_call = PMOF_CALL_SIZE_MAX;
	ns->history = get_random_u64();
	pmof_bad_init(ns);
	INIT_LIST_HEAD(&ns->links);
	INIT_LIST_HEAD(&ns->holds);
	config_group_init_type_name(&ns->group, name, &ns_type);
	/* A long name takes memory, and what has none is not told. */
	if (!config_item_name(&ns->group.cg_item)) {
		kfree(ns);
		return ERR_PTR(-ENOMEM);
	}
	pmof_clients_init_ns(ns);
	return &ns->group;
}

/* No port links to it, and it to no client, any more: configfs sees to that. */
static void drop_ns(struct config_group *group, struct config_item *item)
{
	struct pmof_ns *ns = pmof_to_ns(item);

	mutex_lock(&ns->mutex);
	pmof_ns_disable(ns);
	mutex_unlock(&ns->mutex);
	config_item_put(item);
}

static struct configfs_group_operations namespaces_group_ops = {
	.make_group = make_ns,
	.drop_item = drop_ns,
};

static const struct config_item_type namespaces_type = {
	.ct_group_ops	= &namespaces_group_ops,
	.ct_owner	= THIS_MODULE,
};

/* --- ports/ID/namespaces -------------------------------------------------------- */

static struct pmof_port *links_to_port(struct config_item *item)
{
	return container_of(to_config_group(item), struct pmof_port, ns_group);
}

static int add_link(struct pmof_link *link)
{
	struct pmof_port *port = link->port;
	struct pmof_link *l;
	int rc;

	lockdep_assert_held(&pmof_sessions_mutex);
	list_for_each_entry(l, &port->links, entry)
		if (l->ns == link->ns)
			return -EEXIST;
	if (link->ns->live && port->hca.name[0]) {
		rc = pmof_placement_acquire(link->ns, &port->hca);
		if (rc)
			return rc;
	}
	list_add_tail(&link->entry, &port->links);
	list_add_tail(&link->ns_entry, &link->ns->links);
	return 0;
}

static int link_ns(struct config_item *src, struct config_item *target)
{
	struct pmof_link *link;
	int rc;

	if (target->ci_type != &ns_type)
		return -EINVAL;
	link = kzalloc(sizeof(*link), GFP_KERNEL);
	if (!link)
		return -ENOMEM;
	link->port = links_to_port(src);
	link->ns = pmof_to_ns(target);
	mutex_lock(&pmof_sessions_mutex);
	rc = add_link(link);
	mutex_unlock(&pmof_sessions_mutex);
	if (rc)
		kfree(link);
	return rc;
}

static void unlink_ns(struct config_item *src, struct config_item *target)
{
	struct pmof_session_filter f = { .port = links_to_port(src), .ns = pmof_to_ns(target) };
	struct pmof_link *link, *next;

	mutex_lock(&pmof_sessions_mutex);
	list_for_each_entry_safe(link, next, &links_to_port(src)->links, entry) {
		if (link->ns == f.ns) {
			list_del(&link->entry);
			list_del(&link->ns_entry);
			kfree(link);
		}
	}
	mutex_unlock(&pmof_sessions_mutex);
	/* No login finds the link any more. */
	pmof_sessions_end(&f, PMOF_ANNOUNCE_NAMESPACE_GONE);
}

static struct configfs_item_operations links_item_ops = {
	.allow_link	= link_ns,
	.drop_link	= unlink_ns,
};

static const struct config_item_type links_type = {
	.ct_item_ops	= &links_item_ops,
	.ct_owner	= THIS_MODULE,
};

/* --- ports/ID -------------------------------------------------------------------- */

static struct pmof_port *to_port(struct config_item *item)
{
	return container_of(to_config_group(item), struct pmof_port, group);
}

static ssize_t pmof_port_addr_show(struct config_item *item, char *page)
{
	struct pmof_port *port = to_port(item);
	ssize_t n;

	mutex_lock(&port->mutex);
	n = sysfs_emit(page, "%s\n", port->addr);
	mutex_unlock(&port->mutex);
	return n;
}

/* An address that is none is refused here; whether it is ours, at enable. */
static ssize_t pmof_port_addr_store(struct config_item *item, const char *page, size_t count)
{
	struct pmof_port *port = to_port(item);
	char addr[sizeof(port->addr)] = "";
	size_t len = strcspn(page, "\n");
	struct sockaddr_storage ss;
	ssize_t rc = count;

	if (len >= sizeof(addr))
		return -EINVAL;
	memcpy(addr, page, len);
	if (len && inet_pton_with_scope(&init_net, AF_UNSPEC, addr, NULL, &ss))
		return -EINVAL;
	mutex_lock(&port->mutex);
	if (port->enabled)
		rc = -EBUSY;
	else
		memcpy(port->addr, addr, sizeof(addr));
	mutex_unlock(&port->mutex);
	return rc;
}

static ssize_t pmof_port_port_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n", READ_ONCE(to_port(item)->service));
}

static ssize_t pmof_port_port_store(struct config_item *item, const char *page, size_t count)
{
	struct pmof_port *port = to_port(item);
	u16 service;

	if (kstrtou16(page, 10, &service) || !service)
		return -EINVAL;
	return pmof_set_disabled(port, &port->service, service) ?: count;
}

static ssize_t pmof_port_enable_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(to_port(item)->enabled));
}

static ssize_t pmof_port_enable_store(struct config_item *item, const char *page, size_t count)
{
	struct pmof_port *port = to_port(item);
	bool enable;
	int rc = 0;

	if (kstrtobool(page, &enable))
		return -EINVAL;
	mutex_lock(&port->mutex);
	if (!enable)
		pmof_port_disable(port);
	else
		rc = pmof_port_enable(port);
	mutex_unlock(&port->mutex);
	return rc ?: count;
}

/* Enabled, it does not while its RDMA device is away. */
static ssize_t pmof_port_listens_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", !!READ_ONCE(to_port(item)->cm_id));
}

CONFIGFS_ATTR(pmof_port_, addr);
CONFIGFS_ATTR(pmof_port_, port);
CONFIGFS_ATTR(pmof_port_, enable);
CONFIGFS_ATTR_RO(pmof_port_, listens);

static struct configfs_attribute *port_attrs[] = {
	&pmof_port_attr_addr,
	&pmof_port_attr_port,
	&pmof_port_attr_enable,
	&pmof_port_attr_listens,
	NULL,
};

static void port_release(struct config_item *item)
{
	kfree(to_port(item));
}

static struct configfs_item_operations port_item_ops = {
	.release = port_release,
};

static const struct config_item_type port_type = {
	.ct_item_ops	= &port_item_ops,
	.ct_attrs	= port_attrs,
	.ct_owner	= THIS_MODULE,
};

static struct config_group *make_port(struct config_group *group, const char *name)
{
	struct pmof_port *port;
	u16 id;

	/* One spelling for each number. */
	if (!isdigit(name[0]) || name[0] == '0' || strchr(name, '\n') ||
	    kstrtou16(name, 10, &id))
		return ERR_PTR(-EINVAL);
	port = kzalloc(sizeof(*port), GFP_KERNEL);
	if (!port)
		return ERR_PTR(-ENOMEM);
	mutex_init(&port->mutex);
	pmof_port_init(port);
	port->service = PMOF_WIRE_PORT;
	INIT_LIST_HEAD(&port->links);
	config_group_init_type_name(&port->group, name, &port_type);
	config_group_init_type_name(&port->ns_group, "namespaces", &links_type);
	configfs_add_default_group(&port->ns_group, &port->group);
	return &port->group;
}

/* It has no links any more: configfs sees to that. */
static void drop_port(struct config_group *group, struct config_item *item)
{
	struct pmof_port *port = to_port(item);
	struct pmof_session_filter all = { .port = port };

	mutex_lock(&port->mutex);
	pmof_port_disable(port);
	mutex_unlock(&port->mutex);
	pmof_port_exit(port);
	/* A login that failed while the port was being disabled has left its session to it. */
	pmof_sessions_end(&all, 0);
	config_item_put(item);
}

static struct configfs_group_operations ports_group_ops = {
	.make_group	= make_port,
	.drop_item	= drop_port,
};

static const struct config_item_type ports_type = {
	.ct_group_ops	= &ports_group_ops,
	.ct_owner	= THIS_MODULE,
};

/* --- the root --------------------------------------------------------------------- */

static const struct config_item_type root_type = {
	.ct_owner	= THIS_MODULE,
};

static struct configfs_subsystem subsystem = {
	.su_group = {
		.cg_item = {
			.ci_namebuf	= "pmof",
			.ci_type	= &root_type,
		},
	},
};

static struct config_group namespaces_group;
static struct config_group ports_group;
static struct config_group clients_group;

int pmof_configfs_init(void)
{
	config_group_init(&subsystem.su_group);
	mutex_init(&subsystem.su_mutex);
	config_group_init_type_name(&namespaces_group, "namespaces", &namespaces_type);
	configfs_add_default_group(&namespaces_group, &subsystem.su_group);
	config_group_init_type_name(&ports_group, "ports", &ports_type);
	configfs_add_default_group(&ports_group, &subsystem.su_group);
	config_group_init_type_name(&clients_group, "clients", &pmof_clients_type);
	configfs_add_default_group(&clients_group, &subsystem.su_group);
	return configfs_register_subsystem(&subsystem);
}

void pmof_configfs_exit(void)
{
	configfs_unregister_subsystem(&subsystem);
}
