// SPDX-License-Identifier: GPL-2.0
/* /sys/class/pmof/pmofN. */
#include <linux/netdevice.h>
#include <linux/sysfs.h>

#include "client.h"
#include "names.h"

struct class pmof_class = { .name = "pmof" };
struct class pmof_char_class = { .name = "pmof-char" };

static struct pmof_conn *to_conn(struct device *dev)
{
	return container_of(dev, struct pmof_conn, dev);
}

/* A read-only attribute NAME, from a format and an expression of "conn". */
#define CONN_ATTR(_name, _fmt, ...)						\
static ssize_t _name##_show(struct device *dev, struct device_attribute *attr,	\
			    char *buf)						\
{										\
	struct pmof_conn *conn = to_conn(dev);					\
										\
	return sysfs_emit(buf, _fmt "\n", __VA_ARGS__);				\
}										\
static DEVICE_ATTR_RO(_name)

static const char *service_name(u8 service)
{
	switch (service) {
	case PMOF_SERVICE_RAW:
		return "raw";
	case PMOF_SERVICE_STORE:
		return "store";
	default:
		return "unknown";
	}
}

CONN_ATTR(state, "%s", pmof_state_name(READ_ONCE(conn->state)));
CONN_ATTR(namespace, "%s", conn->opt.name);
CONN_ATTR(size, "%llu", conn->login.ns_size);
CONN_ATTR(segment_size, "%llu", conn->login.segment_size);
CONN_ATTR(generation, "%016llx", conn->login.generation);
CONN_ATTR(persist_method, "%s", pmof_method_name(conn->persist->method));
CONN_ATTR(service, "%s", service_name(conn->login.service));
CONN_ATTR(domain, "%s", pmof_domain_name(conn->login.domain));
CONN_ATTR(placement, "%s", pmof_placement_name(conn->login.placement));
CONN_ATTR(placement_asserted, "%d", !!(conn->login.flags & PMOF_LOGIN_R_ASSERTED));
CONN_ATTR(emulated, "%d", !!(conn->login.flags & PMOF_LOGIN_R_EMULATED));
CONN_ATTR(durable, "%d", !!(conn->login.flags & PMOF_LOGIN_R_DURABLE));
CONN_ATTR(read_only, "%d", pmof_conn_read_only(conn));
CONN_ATTR(queues, "%u", conn->nr_shared);
CONN_ATTR(poll_queues, "%u", conn->nr_queues - conn->nr_shared);
CONN_ATTR(block, "%s", conn->opt.block ? dev_name(&conn->dev) : "");
CONN_ATTR(cache, "%s", conn->opt.writeback ? "writeback" : "writethrough");
CONN_ATTR(max_call, "%u", pmof_conn_max_call(conn) ? conn->login.call_size : 0);
CONN_ATTR(depth, "%u", conn->queues[0].depth);
CONN_ATTR(reconnects, "%u", READ_ONCE(conn->reconnects));
CONN_ATTR(keep_alive_tmo, "%u", conn->opt.keep_alive_tmo);
CONN_ATTR(bad_sectors, "%llu", pmof_bad_sectors(conn));
CONN_ATTR(client_id, "%s", conn->opt.id);

/*
 * With its scope, by name: numbers of interfaces change over a reboot, and udev makes a lasting
 * name of this.  Of an interface that is gone there is the number only.
 */
static ssize_t scoped_show(const struct pmof_conn *conn, char *buf)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&conn->peer;
	char scope[IFNAMSIZ];
	struct net_device *dev;

	rcu_read_lock();
	dev = dev_get_by_index_rcu(conn->net, in6->sin6_scope_id);
	if (dev)
		strscpy(scope, dev->name, sizeof(scope));
	else
		snprintf(scope, sizeof(scope), "%u", in6->sin6_scope_id);
	rcu_read_unlock();
	return sysfs_emit(buf, "[%pI6c%%%s]:%u\n", &in6->sin6_addr, scope,
			  ntohs(in6->sin6_port));
}

static ssize_t address_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const struct pmof_conn *conn = to_conn(dev);
	const struct sockaddr_storage *peer = &conn->peer;

	if (peer->ss_family == AF_INET6 && ((struct sockaddr_in6 *)peer)->sin6_scope_id)
		return scoped_show(conn, buf);
	return sysfs_emit(buf, "%pISpc\n", peer);
}
static DEVICE_ATTR_RO(address);

static ssize_t persist_methods_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	unsigned long usable = to_conn(dev)->usable;
	unsigned int bit;
	int n = 0;

	for_each_set_bit(bit, &usable, 32)
		n += sysfs_emit_at(buf, n, "%s%s", n ? " " : "", pmof_method_name(bit));
	return n + sysfs_emit_at(buf, n, "\n");
}
static DEVICE_ATTR_RO(persist_methods);

/* Which method serves which size: without "auto", one for all. */
static ssize_t auto_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct pmof_conn *conn = to_conn(dev);
	struct pmof_auto_table table;
	unsigned int i;
	int n = 0;

	if (!conn->persist->pick)
		return sysfs_emit(buf, "%s\n", pmof_method_name(conn->persist->method));
	pmof_auto_get(conn, &table);
	for (i = 0; i < table.nr - 1; i++)
		n += sysfs_emit_at(buf, n, "%s:%llu ", pmof_method_name(table.entry[i].method),
				   table.entry[i].limit);
	return n + sysfs_emit_at(buf, n, "%s\n", pmof_method_name(table.entry[i].method));
}

static ssize_t auto_store(struct device *dev, struct device_attribute *attr, const char *buf,
			  size_t count)
{
	struct pmof_conn *conn = to_conn(dev);

	if (!conn->persist->pick)
		return -EOPNOTSUPP;
	return pmof_auto_set(conn, buf) ?: count;
}

/* By hand: "auto" is a macro of the kernel's. */
static struct device_attribute dev_attr_by_size = {
	.attr	= { .name = "auto", .mode = 0644 },
	.show	= auto_show,
	.store	= auto_store,
};

/* How long a waiter spins before it sleeps, in microseconds. */
static ssize_t poll_us_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	int us = READ_ONCE(to_conn(dev)->poll_us);

	return us == PMOF_POLL_AUTO ? sysfs_emit(buf, "auto\n") : sysfs_emit(buf, "%d\n", us);
}

static ssize_t poll_us_store(struct device *dev, struct device_attribute *attr, const char *buf,
			     size_t count)
{
	int us = PMOF_POLL_AUTO;

	if (!sysfs_streq(buf, "auto") &&
	    (kstrtoint(buf, 0, &us) || us < 0 || us > PMOF_POLL_MAX_US))
		return -EINVAL;
	WRITE_ONCE(to_conn(dev)->poll_us, us);
	return count;
}
static DEVICE_ATTR_RW(poll_us);

/* Numbers that can be set, in decimal: one attribute each, which knows its place. */
struct number_attr {
	struct device_attribute attr;
	size_t offset;			/* in struct pmof_conn; of a u16 */
	u16 min;
	u16 max;
};

static u16 *number_of(struct device *dev, const struct number_attr *a)
{
	return (void *)to_conn(dev) + a->offset;
}

static ssize_t number_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	u16 *number = number_of(dev, container_of(attr, struct number_attr, attr));

	return sysfs_emit(buf, "%u\n", READ_ONCE(*number));
}

static ssize_t number_store(struct device *dev, struct device_attribute *attr, const char *buf,
			    size_t count)
{
	const struct number_attr *a = container_of(attr, struct number_attr, attr);
	u16 n;

	if (!pmof_number_parse(buf, a->min, a->max, &n))
		return -EINVAL;
	WRITE_ONCE(*number_of(dev, a), n);
	return count;
}

/* Of a delay that is under way perhaps. */
static ssize_t delay_store(struct device *dev, struct device_attribute *attr, const char *buf,
			   size_t count)
{
	ssize_t rc = number_store(dev, attr, buf, count);

	if (rc > 0)
		pmof_conn_retry(to_conn(dev));
	return rc;
}

#define NUMBER(_name, _field, _min, _max, _store)				\
	static struct number_attr number_##_name = {				\
		.attr = __ATTR(_name, 0644, number_show, _store),		\
		.offset = offsetof(struct pmof_conn, _field),			\
		.min = (_min), .max = (_max) }

/* Up to how many bytes a put or get is copied; above that its pages are pinned. */
NUMBER(copy_max, copy_max, 0, PMOF_BOUNCE_SIZE, number_store);
/* While so many are under way on a queue, durable puts wait to share the next one. */
NUMBER(trains, trains, 1, PMOF_MAX_DEPTH, number_store);
NUMBER(reconnect_delay, opt.reconnect_delay, 1, PMOF_RECONNECT_DELAY_MAX, delay_store);

/* Time limits of recovery, in seconds; -1: none. */
struct limit_attr {
	struct device_attribute attr;
	size_t offset;			/* in struct pmof_conn; of an s32 */
};

static s32 *limit_of(struct device *dev, struct device_attribute *attr)
{
	return (void *)to_conn(dev) + container_of(attr, struct limit_attr, attr)->offset;
}

static ssize_t limit_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(*limit_of(dev, attr)));
}

static ssize_t limit_store(struct device *dev, struct device_attribute *attr, const char *buf,
			   size_t count)
{
	s32 seconds;

	if (!pmof_timeout_parse(buf, &seconds))
		return -EINVAL;
	pmof_conn_time_limit(to_conn(dev), limit_of(dev, attr), seconds);
	return count;
}

#define TIME_LIMIT(_name, _field)						\
	static struct limit_attr limit_##_name = {				\
		.attr = __ATTR(_name, 0644, limit_show, limit_store),		\
		.offset = offsetof(struct pmof_conn, _field) }

TIME_LIMIT(fail_io_timeout, opt.fail_io_timeout);
TIME_LIMIT(device_loss_timeout, opt.device_loss_timeout);

static ssize_t disconnect_store(struct device *dev, struct device_attribute *attr,
				const char *buf, size_t count)
{
	bool yes;

	if (kstrtobool(buf, &yes) || !yes)
		return -EINVAL;
	return pmof_conn_remove(to_conn(dev)) ?: count;
}
static DEVICE_ATTR_WO(disconnect);

static struct attribute *conn_attrs[] = {
	&dev_attr_state.attr,
	&dev_attr_namespace.attr,
	&dev_attr_address.attr,
	&dev_attr_size.attr,
	&dev_attr_segment_size.attr,
	&dev_attr_generation.attr,
	&dev_attr_persist_method.attr,
	&dev_attr_persist_methods.attr,
	&dev_attr_by_size.attr,
	&dev_attr_service.attr,
	&dev_attr_domain.attr,
	&dev_attr_placement.attr,
	&dev_attr_placement_asserted.attr,
	&dev_attr_durable.attr,
	&dev_attr_emulated.attr,
	&dev_attr_read_only.attr,
	&dev_attr_queues.attr,
	&dev_attr_poll_queues.attr,
	&dev_attr_block.attr,
	&dev_attr_cache.attr,
	&dev_attr_depth.attr,
	&dev_attr_max_call.attr,
	&dev_attr_client_id.attr,
	&dev_attr_bad_sectors.attr,
	&dev_attr_poll_us.attr,
	&number_copy_max.attr.attr,
	&dev_attr_keep_alive_tmo.attr,
	&number_reconnect_delay.attr.attr,
	&limit_fail_io_timeout.attr.attr,
	&limit_device_loss_timeout.attr.attr,
	&dev_attr_reconnects.attr,
	&number_trains.attr.attr,
	&dev_attr_disconnect.attr,
	NULL
};

static const struct attribute_group conn_group = {
	.attrs = conn_attrs,
};

/* Counters: one attribute each, which knows its index. */
struct stat_attr {
	struct device_attribute attr;
	unsigned int index;
};

static ssize_t stat_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	unsigned int i = container_of(attr, struct stat_attr, attr)->index;

	return sysfs_emit(buf, "%llu\n", pmof_stat_sum(to_conn(dev)->stats, i));
}

static ssize_t server_stat_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	unsigned int i = container_of(attr, struct stat_attr, attr)->index;
	u64 value[PMOF_SRV_STAT_MAX];
	int rc = pmof_admin_stats(to_conn(dev), value);

	return rc ?: sysfs_emit(buf, "%llu\n", value[i]);
}

#define STAT(_name, _index)							\
	static struct stat_attr stat_##_name = {				\
		.attr = __ATTR(_name, 0444, stat_show, NULL), .index = (_index) }
#define SERVER_STAT(_name, _index)						\
	static struct stat_attr server_stat_##_name = {				\
		.attr = __ATTR(_name, 0400, server_stat_show, NULL), .index = (_index) }

STAT(wr_write, PMOF_STAT_WR_WRITE);
STAT(wr_read, PMOF_STAT_WR_READ);
STAT(wr_send, PMOF_STAT_WR_SEND);
STAT(wr_cas, PMOF_STAT_WR_CAS);
STAT(wr_fetch_add, PMOF_STAT_WR_FETCH_ADD);
STAT(wr_recv, PMOF_STAT_WR_RECV);
STAT(wr_flush, PMOF_STAT_WR_FLUSH);
STAT(wr_atomic_write, PMOF_STAT_WR_ATOMIC_WRITE);
STAT(round_trips, PMOF_STAT_ROUND_TRIPS);
STAT(completions, PMOF_STAT_COMPLETIONS);
STAT(puts, PMOF_STAT_PUTS);
STAT(gets, PMOF_STAT_GETS);
STAT(persists, PMOF_STAT_PERSISTS);
STAT(atomics, PMOF_STAT_ATOMICS);
STAT(prepares, PMOF_STAT_PREPARES);
STAT(revalidates, PMOF_STAT_REVALIDATES);
STAT(commits, PMOF_STAT_COMMITS);
STAT(valid_gets, PMOF_STAT_VALID_GETS);
STAT(calls, PMOF_STAT_CALLS);
STAT(bytes_put, PMOF_STAT_BYTES_PUT);
STAT(bytes_got, PMOF_STAT_BYTES_GOT);
STAT(block_reads, PMOF_STAT_BLOCK_READS);
STAT(block_writes, PMOF_STAT_BLOCK_WRITES);
STAT(block_zeroes, PMOF_STAT_BLOCK_ZEROES);
STAT(block_flushes, PMOF_STAT_BLOCK_FLUSHES);
STAT(replays, PMOF_STAT_REPLAYS);
STAT(keep_alives, PMOF_STAT_KEEP_ALIVES);
STAT(errors, PMOF_STAT_ERRORS);

SERVER_STAT(rpc_calls, PMOF_SRV_RPC_CALLS);
SERVER_STAT(admin_calls, PMOF_SRV_ADMIN_CALLS);
SERVER_STAT(bad_messages, PMOF_SRV_BAD_MESSAGES);
SERVER_STAT(persists, PMOF_SRV_PERSISTS);
SERVER_STAT(batches, PMOF_SRV_BATCHES);
SERVER_STAT(lines, PMOF_SRV_LINES);
SERVER_STAT(bytes, PMOF_SRV_BYTES);
SERVER_STAT(fences, PMOF_SRV_FENCES);
SERVER_STAT(puts, PMOF_SRV_PUTS);
SERVER_STAT(commits, PMOF_SRV_COMMITS);
SERVER_STAT(prepares, PMOF_SRV_PREPARES);
SERVER_STAT(revalidates, PMOF_SRV_REVALIDATES);
SERVER_STAT(zeroes, PMOF_SRV_ZEROES);
SERVER_STAT(bytes_zeroed, PMOF_SRV_BYTES_ZEROED);
SERVER_STAT(device_flushes, PMOF_SRV_DEVICE_FLUSHES);
SERVER_STAT(batch_1, PMOF_SRV_BATCH_1);
SERVER_STAT(batch_2, PMOF_SRV_BATCH_2);
SERVER_STAT(batch_4, PMOF_SRV_BATCH_4);
SERVER_STAT(batch_8, PMOF_SRV_BATCH_8);
SERVER_STAT(batch_16, PMOF_SRV_BATCH_16);
SERVER_STAT(replies, PMOF_SRV_REPLIES);
SERVER_STAT(mrs, PMOF_SRV_MRS);
SERVER_STAT(queues, PMOF_SRV_QUEUES);

static struct attribute *stat_attrs[] = {
	&stat_wr_write.attr.attr,
	&stat_wr_read.attr.attr,
	&stat_wr_send.attr.attr,
	&stat_wr_cas.attr.attr,
	&stat_wr_fetch_add.attr.attr,
	&stat_wr_flush.attr.attr,
	&stat_wr_atomic_write.attr.attr,
	&stat_wr_recv.attr.attr,
	&stat_round_trips.attr.attr,
	&stat_completions.attr.attr,
	&stat_puts.attr.attr,
	&stat_gets.attr.attr,
	&stat_persists.attr.attr,
	&stat_atomics.attr.attr,
	&stat_prepares.attr.attr,
	&stat_revalidates.attr.attr,
	&stat_commits.attr.attr,
	&stat_valid_gets.attr.attr,
	&stat_calls.attr.attr,
	&stat_bytes_put.attr.attr,
	&stat_bytes_got.attr.attr,
	&stat_block_reads.attr.attr,
	&stat_block_writes.attr.attr,
	&stat_block_zeroes.attr.attr,
	&stat_block_flushes.attr.attr,
	&stat_replays.attr.attr,
	&stat_keep_alives.attr.attr,
	&stat_errors.attr.attr,
	NULL
};

static struct attribute *server_stat_attrs[] = {
	&server_stat_rpc_calls.attr.attr,
	&server_stat_admin_calls.attr.attr,
	&server_stat_bad_messages.attr.attr,
	&server_stat_persists.attr.attr,
	&server_stat_batches.attr.attr,
	&server_stat_lines.attr.attr,
	&server_stat_bytes.attr.attr,
	&server_stat_fences.attr.attr,
	&server_stat_puts.attr.attr,
	&server_stat_commits.attr.attr,
	&server_stat_prepares.attr.attr,
	&server_stat_revalidates.attr.attr,
	&server_stat_zeroes.attr.attr,
	&server_stat_bytes_zeroed.attr.attr,
	&server_stat_device_flushes.attr.attr,
	&server_stat_batch_1.attr.attr,
	&server_stat_batch_2.attr.attr,
	&server_stat_batch_4.attr.attr,
	&server_stat_batch_8.attr.attr,
	&server_stat_batch_16.attr.attr,
	&server_stat_replies.attr.attr,
	&server_stat_mrs.attr.attr,
	&server_stat_queues.attr.attr,
	NULL
};

static const struct attribute_group stat_group = {
	.name = "stats",
	.attrs = stat_attrs,
};

static const struct attribute_group server_stat_group = {
	.name = "server_stats",
	.attrs = server_stat_attrs,
};

const struct attribute_group *pmof_conn_groups[] = {
	&conn_group,
	&stat_group,
	&server_stat_group,
	NULL
};
