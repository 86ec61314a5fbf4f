// SPDX-License-Identifier: GPL-2.0
/* pmof-store.ko: the key-value store, a service of pmof-server.ko. */
#include <linux/err.h>
#include <linux/module.h>

#include "store.h"
#include "version.h"

static void *store_open(struct pmof_ns *ns)
{
	struct store *st = pmof_store_recover(ns);
	int rc;

	if (IS_ERR(st))
		return st;
	rc = pmof_store_start(st);
	if (!rc)
		return st;
	pmof_store_free(st);
	return ERR_PTR(rc);
}

static void store_close(void *service)
{
	struct store *st = service;

	pmof_store_stop(st);
	pmof_store_clear_all(st);
	pmof_store_free(st);
}

/* Each round looks at the list of bad sectors anew: the one that is under way has to end. */
static void store_settle(void *service)
{
	pmof_store_tell(service, NULL, 0);
}

static void store_drained(void *service, u64 session)
{
	pmof_store_tell(service, pmof_store_session_drained, session);
}

static void store_gone(void *service, u64 session)
{
	pmof_store_tell(service, pmof_store_session_gone, session);
}

static const struct pmof_service_ops store_ops = {
	.owner		= THIS_MODULE,
	.id		= PMOF_SERVICE_STORE,
	.open		= store_open,
	.close		= store_close,
	.call		= pmof_store_call,
	.settle		= store_settle,
	.drained	= store_drained,
	.gone		= store_gone,
};

static int __init pmof_store_init(void)
{
	return pmof_service_register(&store_ops);
}

static void __exit pmof_store_exit(void)
{
	pmof_service_unregister(&store_ops);
}

module_init(pmof_store_init);
module_exit(pmof_store_exit);

MODULE_DESCRIPTION("Persistent Memory over Fabrics: key-value store");
MODULE_LICENSE("GPL");
MODULE_VERSION(PMOF_MODULE_VERSION);
MODULE_IMPORT_NS(PMOF_SERVER);
