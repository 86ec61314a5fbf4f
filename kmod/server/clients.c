// SPDX-License-Identifier: GPL-2.0
/*
 * configfs: clients/ID, and the lists of them in each namespace,
 * allowed_clients (who may read and write) and read_only_clients.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/slab.h>

#include "rights.h"
#include "server.h"

/* --- clients/ID ------------------------------------------------------------------- */

static struct pmof_client *to_client(struct config_item *item)
{
	return container_of(item, struct pmof_client, item);
}

/* Hexadecimal digits; an empty line takes the key away.  It cannot be read. */
static ssize_t pmof_client_key_store(struct config_item *item, const char *page, size_t count)
{
	size_t len = strcspn(page, "\n");
	struct pmof_key key = { .len = 0 };
	int rc = 0;

	if (len)
		rc = pmof_key_parse(page, len, &key);
	/* configfs gives its page back as it is. */
	memzero_explicit((char *)page, count);
	if (!rc && key.len)
		rc = pmof_hmac_prepare();
	if (!rc)
		pmof_client_set_key(to_client(item), &key);
	memzero_explicit(&key, sizeof(key));
	return rc ?: count;
}

static ssize_t pmof_client_has_key_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", !!READ_ONCE(to_client(item)->key_seq));
}

static ssize_t show_number(const u64 *number, char *page)
{
	u64 n;

	mutex_lock(&pmof_sessions_mutex);
	n = *number;
	mutex_unlock(&pmof_sessions_mutex);
	return sysfs_emit(page, "%llu\n", n);
}

/* For new sessions and queues; those that are there stay. */
static ssize_t store_limit(u64 *limit, const char *page, size_t count)
{
	u64 n;

	if (kstrtou64(page, 10, &n))
		return -EINVAL;
	mutex_lock(&pmof_sessions_mutex);
	*limit = n;
	mutex_unlock(&pmof_sessions_mutex);
	return count;
}

#define LIMIT(_name, _NAME)								\
static ssize_t pmof_client_max_##_name##_show(struct config_item *item, char *page)	\
{											\
	return show_number(&to_client(item)->limit[PMOF_LIMIT_##_NAME], page);			\
}											\
static ssize_t pmof_client_max_##_name##_store(struct config_item *item,		\
					       const char *page, size_t count)		\
{											\
	return store_limit(&to_client(item)->limit[PMOF_LIMIT_##_NAME], page, count);		\
}											\
static ssize_t pmof_client_##_name##_show(struct config_item *item, char *page)		\
{											\
	return show_number(&to_client(item)->used[PMOF_LIMIT_##_NAME], page);			\
}											\
CONFIGFS_ATTR(pmof_client_, max_##_name);						\
CONFIGFS_ATTR_RO(pmof_client_, _name)

LIMIT(sessions, SESSIONS);
LIMIT(queues, QUEUES);
LIMIT(segments, SEGMENTS);
LIMIT(memory, MEMORY);

CONFIGFS_ATTR_WO(pmof_client_, key);
CONFIGFS_ATTR_RO(pmof_client_, has_key);

static struct configfs_attribute *client_attrs[] = {
	&pmof_client_attr_key,
	&pmof_client_attr_has_key,
	&pmof_client_attr_max_sessions,
	&pmof_client_attr_max_queues,
	&pmof_client_attr_max_segments,
	&pmof_client_attr_max_memory,
	&pmof_client_attr_sessions,
	&pmof_client_attr_queues,
	&pmof_client_attr_segments,
	&pmof_client_attr_memory,
	NULL,
};

static void client_release(struct config_item *item)
{
	kfree_sensitive(to_client(item));
}

static struct configfs_item_operations client_item_ops = {
	.release	= client_release,
};

static const struct config_item_type client_type = {
	.ct_item_ops	= &client_item_ops,
	.ct_attrs	= client_attrs,
	.ct_owner	= THIS_MODULE,
};

static struct config_item *make_client(struct config_group *group, const char *name)
{
	struct pmof_client *client;

	if (!pmof_name_valid(name, PMOF_WIRE_ID_LEN))
		return ERR_PTR(-EINVAL);
	client = kzalloc(sizeof(*client), GFP_KERNEL);
	if (!client)
		return ERR_PTR(-ENOMEM);
	config_item_init_type_name(&client->item, name, &client_type);
	/* A long name takes memory, and what has none is not told. */
	if (!config_item_name(&client->item)) {
		kfree(client);
		return ERR_PTR(-ENOMEM);
	}
	pmof_client_add(client);
	return &client->item;
}

/* No namespace links to it any more: configfs sees to that. */
static void drop_client(struct config_group *group, struct config_item *item)
{
	pmof_client_remove(to_client(item));
	config_item_put(item);
}

static struct configfs_group_operations clients_group_ops = {
	.make_item	= make_client,
	.drop_item	= drop_client,
};

const struct config_item_type pmof_clients_type = {
	.ct_group_ops	= &clients_group_ops,
	.ct_owner	= THIS_MODULE,
};

/* --- namespaces/NAME/allowed_clients and read_only_clients --------------------------- */

static struct pmof_ns *write_group_to_ns(struct config_item *item)
{
	return container_of(to_config_group(item), struct pmof_ns, write_group);
}

static struct pmof_ns *read_group_to_ns(struct config_item *item)
{
	return container_of(to_config_group(item), struct pmof_ns, read_group);
}

static int allow(struct pmof_ns *ns, struct config_item *target, bool write)
{
	if (target->ci_type != &client_type)
		return -EINVAL;
	return pmof_allow_add(ns, to_client(target), write);
}

static int allow_write(struct config_item *src, struct config_item *target)
{
	return allow(write_group_to_ns(src), target, true);
}

static void disallow_write(struct config_item *src, struct config_item *target)
{
	pmof_allow_remove(write_group_to_ns(src), to_client(target));
}

static int allow_read(struct config_item *src, struct config_item *target)
{
	return allow(read_group_to_ns(src), target, false);
}

static void disallow_read(struct config_item *src, struct config_item *target)
{
	pmof_allow_remove(read_group_to_ns(src), to_client(target));
}

static struct configfs_item_operations write_item_ops = {
	.allow_link	= allow_write,
	.drop_link	= disallow_write,
};

static struct configfs_item_operations read_item_ops = {
	.allow_link	= allow_read,
	.drop_link	= disallow_read,
};

static const struct config_item_type write_type = {
	.ct_item_ops	= &write_item_ops,
	.ct_owner	= THIS_MODULE,
};

static const struct config_item_type read_type = {
	.ct_item_ops	= &read_item_ops,
	.ct_owner	= THIS_MODULE,
};

/* Of a new namespace, whose group is initialised. */
void pmof_clients_init_ns(struct pmof_ns *ns)
{
	ns->allow_any = true;
	INIT_LIST_HEAD(&ns->allowed);
	config_group_init_type_name(&ns->write_group, "allowed_clients", &write_type);
	configfs_add_default_group(&ns->write_group, &ns->group);
	config_group_init_type_name(&ns->read_group, "read_only_clients", &read_type);
	configfs_add_default_group(&ns->read_group, &ns->group);
}
