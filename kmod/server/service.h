/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What stands between pmof-server.ko and the module of a service: calls that come over
 * the wire, and the functions by which a service reaches the namespace and what is
 * durable.  A service knows neither sessions nor queues, but a session's ID.
 */
#ifndef PMOF_SERVER_SERVICE_H
#define PMOF_SERVER_SERVICE_H

#include <linux/llist.h>
#include <linux/types.h>

#include <pmof.h>
#include "wire.h"

struct module;
struct pmof_ns;

#define PMOF_CALL_PRIVATE	512	/* bytes of a call that are the service's */
#define PMOF_NR_SERVICES	(PMOF_SERVICE_STORE + 1)

/*
 * A call being handled: from pmof_service_ops.call() until pmof_call_reply(),
 * pmof_call_fail() or pmof_call_drop(), which may be called in any context.
 */
struct pmof_call {
	struct llist_node node;		/* the service's */
	u64 session;			/* ID: the same when the session has been resumed */
	u32 context;			/* a client's open file; of one session; not 0 */
	u32 length;			/* bytes of the request's data */
	u8 opcode;
	const void *data;		/* theirs, until the reply */
	void *reply;			/* room for PMOF_MAX_CALL_REPLY bytes */
	u64 private[PMOF_CALL_PRIVATE / sizeof(u64)];
};

/* Who a call comes from, over all his sessions: what the client itself has said. */
struct pmof_caller {
	char client_id[PMOF_WIRE_ID_LEN];
	u8 instance[PMOF_WIRE_UUID_LEN];	/* of the connection */
	__le32 path_id;
	__le32 context;
};

struct pmof_service_ops {
	struct module *owner;
	enum pmof_service id;
	/*
	 * Opens what the namespace holds, before anybody logs in.  Returns what the
	 * others get as @service, or an ERR_PTR: -EUCLEAN where it is not formatted.
	 */
	void *(*open)(struct pmof_ns *ns);
	/* No call is left, and no session. */
	void (*close)(void *service);
	/* Takes a call over.  Any context. */
	void (*call)(void *service, struct pmof_call *call);
	/*
	 * No queue pair and no MR of the session is left: nothing of it can be written
	 * or read any more.  It may be resumed.  May sleep; not for ever.
	 */
	void (*drained)(void *service, u64 session);
	/*
	 * Ranges have become bad: returns when nothing is under way that has looked at them
	 * before.  May sleep; not for ever.
	 */
	void (*settle)(void *service);
	/* It will not be resumed.  Behind drained(); may be called for who never made a call. */
	void (*gone)(void *service, u64 session);
};

int pmof_service_register(const struct pmof_service_ops *ops);
void pmof_service_unregister(const struct pmof_service_ops *ops);

void pmof_call_reply(struct pmof_call *call, u32 length);
void pmof_call_fail(struct pmof_call *call, u32 status);
void pmof_call_drop(struct pmof_call *call);
bool pmof_call_ending(const struct pmof_call *call);
void pmof_call_caller(const struct pmof_call *call, struct pmof_caller *caller);

const char *pmof_service_name(const struct pmof_ns *ns);
void *pmof_service_base(const struct pmof_ns *ns);
u64 pmof_service_size(const struct pmof_ns *ns);
int pmof_service_node(const struct pmof_ns *ns);
bool pmof_service_read_only(const struct pmof_ns *ns);
bool pmof_service_bad(const struct pmof_ns *ns, u64 offset, u64 length);
void pmof_service_failed(struct pmof_ns *ns);
int pmof_service_flush(struct pmof_ns *ns, u64 lines);
bool pmof_service_end_session(u64 session);

/* persist.c */
u64 pmof_persist_write_back(const struct pmof_ns *ns, u64 offset, u64 length);
void pmof_persist_redirty(const struct pmof_ns *ns, u64 offset, u64 length);
u64 pmof_persist_copy(const struct pmof_ns *ns, u64 offset, const void *data, u64 length);
void pmof_persist_fence(void);

#endif /* PMOF_SERVER_SERVICE_H */
