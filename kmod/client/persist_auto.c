// SPDX-License-Identifier: GPL-2.0
/*
 * Persist method "auto": hands each durable put to another method, by its size.
 * The table is in sysfs; `pmof bench --calibrate` measures for it.
 */
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "client.h"

/* For PERSIST, where no size tells: what needs no CPU at the server first. */
static const enum pmof_method persist_order[] = {
	PMOF_METHOD_READ, PMOF_METHOD_FLUSH, PMOF_METHOD_ASSIST,
};

static const struct pmof_persist_ops *auto_pick(struct pmof_conn *conn, u64 bytes)
{
	unsigned int method;

	rcu_read_lock();
	method = pmof_auto_lookup(rcu_dereference(conn->auto_table), bytes);
	rcu_read_unlock();
	return pmof_persist_ops(method);
}

static const struct pmof_persist_ops *auto_persister(const struct pmof_conn *conn)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(persist_order); i++)
		if (conn->usable & BIT(persist_order[i]))
			return pmof_persist_ops(persist_order[i]);
	return &pmof_persist_rpc;
}

/* A put without PERSIST is the same WRITE whatever the method: any of them covers it. */
static int auto_persist(struct pmof_queue *q, const struct pmof_range *range)
{
	return auto_persister(q->conn)->persist(q, range);
}

const struct pmof_persist_ops pmof_persist_auto = {
	.method		= PMOF_METHOD_AUTO,
	.pick		= auto_pick,
	.persister	= auto_persister,
	.persist	= auto_persist,
};

static struct pmof_auto_table *table_replace(struct pmof_conn *conn, struct pmof_auto_table *table)
{
	mutex_lock(&conn->auto_lock);
	table = rcu_replace_pointer(conn->auto_table, table, lockdep_is_held(&conn->auto_lock));
	mutex_unlock(&conn->auto_lock);
	return table;
}

/* Gives the connection the default table; its usable methods are known. */
int pmof_auto_init(struct pmof_conn *conn)
{
	struct pmof_auto_table *table = kzalloc(sizeof(*table), GFP_KERNEL);

	if (!table)
		return -ENOMEM;
	pmof_auto_default(conn->usable, table);
	table_replace(conn, table);
	return 0;
}

/* Nobody uses the connection any more. */
void pmof_auto_free(struct pmof_conn *conn)
{
	kfree(rcu_access_pointer(conn->auto_table));
}

/* Return: 0; -EINVAL (text) or -ENOMEM with nothing changed.  Sleeps. */
int pmof_auto_set(struct pmof_conn *conn, const char *text)
{
	struct pmof_auto_table *table = kzalloc(sizeof(*table), GFP_KERNEL);
	char *copy = kstrdup(text, GFP_KERNEL);
	int rc = -ENOMEM;

	if (table && copy)
		rc = pmof_auto_parse(copy, conn->usable, table);
	if (!rc) {
		table = table_replace(conn, table);
		/* A put may be looking at the old one. */
		synchronize_rcu();
	}
	kfree(copy);
	kfree(table);
	return rc;
}

void pmof_auto_get(struct pmof_conn *conn, struct pmof_auto_table *table)
{
	rcu_read_lock();
	*table = *rcu_dereference(conn->auto_table);
	rcu_read_unlock();
}
