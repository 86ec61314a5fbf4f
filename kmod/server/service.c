// SPDX-License-Identifier: GPL-2.0
/*
 * Services: what a namespace may offer besides its bytes.  A service's module
 * registers its ops; a namespace that asks for it by name holds the module while it is
 * enabled.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/blkdev.h>
#include <linux/configfs.h>
#include <linux/kmod.h>
#include <linux/module.h>

#include "server.h"

static const char * const service_names[PMOF_NR_SERVICES] = {
	[PMOF_SERVICE_RAW]	= "raw",
	[PMOF_SERVICE_STORE]	= "store",
};

static const struct pmof_service_ops *services[PMOF_NR_SERVICES];
static DEFINE_MUTEX(services_mutex);

const char *pmof_service_str(enum pmof_service service)
{
	return service_names[service];
}

int pmof_service_parse(const char *text, enum pmof_service *service)
{
	int rc = __sysfs_match_string(service_names, PMOF_NR_SERVICES, text);

	if (rc < 0)
		return rc;
	*service = rc;
	return 0;
}

int pmof_service_register(const struct pmof_service_ops *ops)
{
	int rc = -EBUSY;

	static_assert(sizeof(struct pmof_call) <= sizeof(struct pmof_objects_args));
	mutex_lock(&services_mutex);
	if (!services[ops->id]) {
		services[ops->id] = ops;
		rc = 0;
	}
	mutex_unlock(&services_mutex);
	return rc;
}
EXPORT_SYMBOL_NS_GPL(pmof_service_register, PMOF_SERVER);

/* The module is going, so no namespace has it. */
void pmof_service_unregister(const struct pmof_service_ops *ops)
{
	mutex_lock(&services_mutex);
	services[ops->id] = NULL;
	mutex_unlock(&services_mutex);
}
EXPORT_SYMBOL_NS_GPL(pmof_service_unregister, PMOF_SERVER);

static const struct pmof_service_ops *get_service(enum pmof_service id)
{
	const struct pmof_service_ops *ops;

	mutex_lock(&services_mutex);
	ops = services[id];
	if (ops && !try_module_get(ops->owner))
		ops = NULL;
	mutex_unlock(&services_mutex);
	return ops;
}

static const struct pmof_service_ops *load_service(enum pmof_service id)
{
	const struct pmof_service_ops *ops = get_service(id);

	if (ops)
		return ops;
	request_module("pmof-%s", service_names[id]);
	return get_service(id);
}

/* Before the namespace takes logins.  Returns 0 or a negative errno. */
int pmof_service_open(struct pmof_ns *ns)
{
	const struct pmof_service_ops *ops;
	void *service;

	lockdep_assert_held(&ns->mutex);
	if (ns->service_id == PMOF_SERVICE_RAW)
		return 0;
	ops = load_service(ns->service_id);
	if (!ops) {
		pr_err("namespace %s: there is no module pmof-%s\n", pmof_ns_name(ns),
		       service_names[ns->service_id]);
		return -ENOENT;
	}
	service = ops->open(ns);
	if (IS_ERR(service)) {
		module_put(ops->owner);
		return PTR_ERR(service);
	}
	ns->service = service;
	ns->service_ops = ops;
	return 0;
}

/* No session is left. */
void pmof_service_close(struct pmof_ns *ns)
{
	if (!ns->service_ops)
		return;
	ns->service_ops->close(ns->service);
	module_put(ns->service_ops->owner);
	ns->service_ops = NULL;
	ns->service = NULL;
}

/* --- the length of calls --------------------------------------------------------- */

static ssize_t pmof_ns_max_call_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n", READ_ONCE(pmof_to_ns(item)->max_call));
}

static ssize_t pmof_ns_max_call_store(struct config_item *item, const char *page, size_t count)
{
	struct pmof_ns *ns = pmof_to_ns(item);
	u32 size;

	if (kstrtou32(page, 0, &size) || !pmof_call_size_ok(size))
		return -EINVAL;
	return pmof_set_disabled(ns, &ns->max_call, size) ?: count;
}

/* As CONFIGFS_ATTR(), which makes it static. */
struct configfs_attribute pmof_ns_attr_max_call = {
	.ca_name	= "max_call",
	.ca_mode	= 0644,
	.ca_owner	= THIS_MODULE,
	.show		= pmof_ns_max_call_show,
	.store		= pmof_ns_max_call_store,
};

/* What a login that asks for this much gets. */
u32 pmof_service_call_size(const struct pmof_ns *ns, u32 asked)
{
	return ns->service_ops ? min(asked, ns->max_call) : PMOF_IO_MSG_SIZE;
}

/* --- sessions ------------------------------------------------------------------------ */

/* [K9] No queue pair, MR or PD of it is left, and its namespace is still its own. */
void pmof_service_drained(struct pmof_session *s)
{
	if (s->ns && s->ns->service_ops)
		s->ns->service_ops->drained(s->ns->service, s->id);
}

void pmof_service_gone(struct pmof_session *s)
{
	if (s->ns && s->ns->service_ops)
		s->ns->service_ops->gone(s->ns->service, s->id);
}

/* Some pages have joined the list, or failed: whatever is begun now sees that. */
void pmof_service_settle(struct pmof_ns *ns)
{
	lockdep_assert_held(&ns->mutex);
	if (ns->service_ops)
		ns->service_ops->settle(ns->service);
}

static bool has_id(const struct pmof_session *s, const void *arg)
{
	return s->id == *(const u64 *)arg;
}

/**
 * pmof_service_end_session - take the queue pairs and MRs of a session
 * @id: its ID
 *
 * Its client may resume it.  Returns at once, false if there is none; the service is
 * told when it is drained.
 */
bool pmof_service_end_session(u64 id)
{
	struct pmof_session *s;

	mutex_lock(&pmof_sessions_mutex);
	s = pmof_session_find(has_id, &id);
	mutex_unlock(&pmof_sessions_mutex);
	if (!s)
		return false;
	pmof_session_lost(s);
	put_device(&s->dev);
	return true;
}
EXPORT_SYMBOL_NS_GPL(pmof_service_end_session, PMOF_SERVER);

/* --- calls ------------------------------------------------------------------------------ */

static struct pmof_srv_req *to_req(const struct pmof_call *call)
{
	return container_of(call, struct pmof_srv_req, call);
}

/* Completion context.  The data stay in the receive buffer. */
int pmof_service_parse_call(struct pmof_srv_req *req, const void *msg, u32 len)
{
	const struct pmof_session *s = req->queue->session;
	const struct pmof_wire_service *w = msg;
	struct pmof_call *call = &req->call;
	u32 length;
	int status;

	if (!s->ns->service_ops)
		return PMOF_SC_UNSUPPORTED;
	status = pmof_get_service(msg, len, &call->context, &length);
	if (status)
		return status;
	call->session = s->id;
	call->opcode = req->opcode;
	call->length = length;
	call->data = w->data;
	call->reply = req->reply + sizeof(struct pmof_wire_hdr);
	return 0;
}

int pmof_service_run_call(struct pmof_srv_req *req)
{
	const struct pmof_ns *ns = req->queue->session->ns;

	ns->service_ops->call(ns->service, &req->call);
	return 0;
}

/* Answers with @length bytes that stand in call->reply. */
void pmof_call_reply(struct pmof_call *call, u32 length)
{
	struct pmof_srv_req *req = to_req(call);

	pmof_srv_queue_reply(req, pmof_put_service_reply(req->reply, req->opcode, req->tag,
							 length), NULL);
}
EXPORT_SYMBOL_NS_GPL(pmof_call_reply, PMOF_SERVER);

/* Answers with a status of the protocol, PMOF_SC_*. */
void pmof_call_fail(struct pmof_call *call, u32 status)
{
	struct pmof_srv_req *req = to_req(call);

	pmof_srv_queue_reply(req, pmof_rpc_fill_status(req, status), NULL);
}
EXPORT_SYMBOL_NS_GPL(pmof_call_fail, PMOF_SERVER);

/* Nobody waits for it any more. */
void pmof_call_drop(struct pmof_call *call)
{
	pmof_srv_queue_put(to_req(call)->queue);
}
EXPORT_SYMBOL_NS_GPL(pmof_call_drop, PMOF_SERVER);

/* The session ends: what has not been begun is to be dropped, for its end waits for that. */
bool pmof_call_ending(const struct pmof_call *call)
{
	return pmof_session_ending(to_req(call)->queue->session);
}
EXPORT_SYMBOL_NS_GPL(pmof_call_ending, PMOF_SERVER);

void pmof_call_caller(const struct pmof_call *call, struct pmof_caller *caller)
{
	const struct pmof_session *s = to_req(call)->queue->session;

	memset(caller, 0, sizeof(*caller));
	strscpy(caller->client_id, s->who.client_id, sizeof(caller->client_id));
	memcpy(caller->instance, s->who.instance, sizeof(caller->instance));
	caller->path_id = cpu_to_le32(s->who.path_id);
	caller->context = cpu_to_le32(call->context);
}
EXPORT_SYMBOL_NS_GPL(pmof_call_caller, PMOF_SERVER);

/* --- the namespace ------------------------------------------------------------------- */

const char *pmof_service_name(const struct pmof_ns *ns)
{
	return pmof_ns_name(ns);
}
EXPORT_SYMBOL_NS_GPL(pmof_service_name, PMOF_SERVER);

void *pmof_service_base(const struct pmof_ns *ns)
{
	return ns->addr;
}
EXPORT_SYMBOL_NS_GPL(pmof_service_base, PMOF_SERVER);

u64 pmof_service_size(const struct pmof_ns *ns)
{
	return ns->size;
}
EXPORT_SYMBOL_NS_GPL(pmof_service_size, PMOF_SERVER);

int pmof_service_node(const struct pmof_ns *ns)
{
	return ns->bdev.bdev->bd_disk->node_id;
}
EXPORT_SYMBOL_NS_GPL(pmof_service_node, PMOF_SERVER);

bool pmof_service_read_only(const struct pmof_ns *ns)
{
	return ns->read_only;
}
EXPORT_SYMBOL_NS_GPL(pmof_service_read_only, PMOF_SERVER);

/* True if the CPU may not touch the range, which must be valid. */
bool pmof_service_bad(const struct pmof_ns *ns, u64 offset, u64 length)
{
	return pmof_bad_status(ns, offset, length);
}
EXPORT_SYMBOL_NS_GPL(pmof_service_bad, PMOF_SERVER);

/* A read of a range met a bad line that is not on the list, or not yet. */
void pmof_service_failed(struct pmof_ns *ns)
{
	pmof_bad_kick(ns);
}
EXPORT_SYMBOL_NS_GPL(pmof_service_failed, PMOF_SERVER);

/*
 * [A7] Behind a fence of @lines: takes what was fenced further, where that is needed, or as long
 * as an emulated medium would.  May sleep.  Returns 0 or a negative errno.
 */
int pmof_service_flush(struct pmof_ns *ns, u64 lines)
{
	struct pmof_debt debt = {};

	pmof_emulate_owe(&debt, &ns->emulate, lines);
	pmof_emulate_pay(&debt);
	return pmof_ns_device_flush(ns) ? pmof_persist_flush_device(ns) : 0;
}
EXPORT_SYMBOL_NS_GPL(pmof_service_flush, PMOF_SERVER);
