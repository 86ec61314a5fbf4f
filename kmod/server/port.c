// SPDX-License-Identifier: GPL-2.0
/* Ports: the rdma_cm listener and the door for connection requests. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <rdma/ib_cm.h>

#include "server.h"

#define RELISTEN_DELAY	(2 * HZ)	/* between two tries behind the loss of the device */

/* For the log: where a connection request comes from. */
static const struct sockaddr *peer(const struct rdma_cm_id *cm_id)
{
	return (const struct sockaddr *)&cm_id->route.addr.dst_addr;
}

/*
 * What its proofs are bound to.  The path is what our queue pair's address handle is made from;
 * rdma_cm's addresses are what the request's private data says, whoever has sent it.
 */
static int auth_conn(const struct rdma_cm_id *cm_id, const struct rdma_conn_param *param,
		     struct pmof_auth_conn *from)
{
	const struct sa_path_rec *path = cm_id->route.path_rec;

	/* Its requests name no queue pair, and no path. */
	if (rdma_protocol_iwarp(cm_id->device, cm_id->port_num) || !path)
		return PMOF_SC_UNSUPPORTED;
	memcpy(from->client_gid, path->dgid.raw, sizeof(from->client_gid));
	memcpy(from->server_gid, path->sgid.raw, sizeof(from->server_gid));
	from->qpn = param->qp_num;
	return 0;
}

/*
 * The first connection makes the session.  It is published last, when nothing
 * can fail any more: until then only this function, under rdma_cm's handler
 * mutex of the new cm_id, knows it.
 */
static int connect_admin(struct pmof_port *port, struct rdma_cm_id *cm_id,
			 const struct rdma_conn_param *param, const struct pmof_connect *c,
			 const struct pmof_auth_conn *from)
{
	struct pmof_session *s;
	struct pmof_srv_queue *q;
	int status;

	s = pmof_session_create(port, cm_id, c, &status);
	if (!s)
		return status;
	s->auth.conn = *from;
	q = pmof_srv_queue_create(s, cm_id, 0, min_t(u16, c->queue_depth, PMOF_ADMIN_DEPTH));
	if (!q) {
		status = PMOF_SC_NO_MEMORY;
		goto abandon;
	}
	status = pmof_srv_queue_accept(q, param);
	if (status)
		goto free_queue;
	s->queues[0] = q;
	pmof_session_publish(s);
	return 0;

free_queue:
	pmof_srv_queue_disconnect(q);
	pmof_srv_queue_stop(q);
	pmof_srv_queue_free(q);
abandon:
	pmof_session_abandon(s);
	return status;
}

/*
 * While the queue ID is claimed, the session's PD stays.  Nothing can fail any
 * more once the request is accepted: see reject().
 */
static int connect_io(struct rdma_cm_id *cm_id, const struct rdma_conn_param *param,
		      const struct pmof_connect *c, const struct pmof_auth_conn *from)
{
	struct pmof_session *s;
	struct pmof_srv_queue *q;
	int status;

	s = pmof_session_claim(cm_id, c, from, &status);
	if (!s)
		return status;
	q = pmof_srv_queue_create(s, cm_id, c->queue_id, c->queue_depth);
	if (!q) {
		status = PMOF_SC_NO_MEMORY;
		goto unclaim;
	}
	status = pmof_srv_queue_accept(q, param);
	if (status)
		goto free_queue;
	pmof_session_attach(s, q);
	pmof_session_put_user(s);
	return 0;

free_queue:
	pmof_srv_queue_disconnect(q);
	pmof_srv_queue_stop(q);
	pmof_srv_queue_free(q);
unclaim:
	pmof_session_unclaim(s, c);
	pmof_session_put_user(s);
	return status;
}

/*
 * Not for a request that was accepted: ib_cm would forget to cancel the reply,
 * and the end of the cm_id, in ib_cm's worker, would wait until its retries
 * have run out.  That takes over a minute, in which the worker's other events,
 * of any connection, wait too.  Harmless where rdma_accept() has failed, which
 * rejects by itself.
 */
static void reject(struct rdma_cm_id *cm_id, int status)
{
	struct pmof_wire_accept w;

	pmof_put_accept(&w, status, 0);
	rdma_reject(cm_id, &w, sizeof(w), IB_CM_REJ_CONSUMER_DEFINED);
}

/* A non-zero return makes rdma_cm destroy the new cm_id. */
static int connect_request(struct pmof_port *port, struct rdma_cm_id *cm_id,
			   const struct rdma_conn_param *param)
{
	struct pmof_auth_conn from;
	struct pmof_connect c;
	int status;

	status = pmof_get_connect(param->private_data, param->private_data_len, &c) ?:
		 auth_conn(cm_id, param, &from);
	if (!status && c.queue_id)
		status = connect_io(cm_id, param, &c, &from);
	else if (!status)
		status = connect_admin(port, cm_id, param, &c, &from);
	if (!status)
		return 0;
	pr_info_ratelimited("connection from %pISpc refused: %s\n", peer(cm_id),
			    pmof_status_str(status));
	reject(cm_id, status);
	return -ECONNREFUSED;
}

/*
 * Events of the listener, and the first one of each new cm_id, which is a copy
 * of it; srv_queue.c takes over those that are accepted.
 */
static int listener_event(struct rdma_cm_id *cm_id, struct rdma_cm_event *event)
{
	struct pmof_port *port = cm_id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return connect_request(port, cm_id, &event->param.conn);
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		WRITE_ONCE(port->removed, true);
		smp_mb(); /* either pmof_port_enable() sees that, or we its cm_id */
		/* What rdma_cm listens with on one device of several is its own to destroy. */
		if (READ_ONCE(port->cm_id) != cm_id)
			return 0;
		/*
		 * rdma_cm would destroy ours, told so here; but then nobody could wait for
		 * this handler to return.
		 */
		queue_work(pmof_end_wq, &port->remove_work);
		return 0;
	default:
		return 0;
	}
}

/* rdma_cm's device removal waits for this, or for pmof_port_disable(). */
static void remove_work(struct work_struct *work)
{
	struct pmof_port *port = container_of(work, struct pmof_port, remove_work);
	struct rdma_cm_id *cm_id = xchg(&port->cm_id, NULL);

	if (!cm_id)
		return;
	pr_warn("listener %pISpc: the RDMA device is gone; it listens again when that is back\n",
		&cm_id->route.addr.src_addr);
	rdma_destroy_id(cm_id);
	queue_delayed_work(system_unbound_wq, &port->relisten_work, RELISTEN_DELAY);
}

static int bind_addr(struct rdma_cm_id *cm_id, struct sockaddr_storage *addr)
{
	int rc = rdma_set_reuseaddr(cm_id, 1);

	/* Let an IPv4 and an IPv6 port have the same service number. */
	if (!rc && addr->ss_family == AF_INET6)
		rc = rdma_set_afonly(cm_id, 1);
	if (!rc)
		rc = rdma_bind_addr(cm_id, (struct sockaddr *)addr);
	return rc == -ENODEV ? -EADDRNOTAVAIL : rc;
}

static const char *port_name(const struct pmof_port *port)
{
	return config_item_name((struct config_item *)&port->group.cg_item);
}

/* What its attributes say.  Returns 0 or -EINVAL. */
static int get_addr(const struct pmof_port *port, struct sockaddr_storage *addr)
{
	char service[8];

	snprintf(service, sizeof(service), "%u", port->service);
	if (port->addr[0] &&
	    !inet_pton_with_scope(&init_net, AF_UNSPEC, port->addr, service, addr))
		return 0;
	pr_err("port %s: write an IPv4 or IPv6 address to addr before enable\n",
	       port_name(port));
	return -EINVAL;
}

/* Returns 0, and then pmof_placement_port_gone() must follow some time; or a negative errno. */
static int listen_on(struct pmof_port *port, struct rdma_cm_id *cm_id,
		     struct sockaddr_storage *addr)
{
	int rc = bind_addr(cm_id, addr);

	if (!rc) {
		/* Before the first session may come; it says by itself why not. */
		rc = pmof_placement_port(port, cm_id->device);
		if (rc)
			return rc;
		rc = rdma_listen(cm_id, PMOF_SRV_BACKLOG);
		if (rc)
			pmof_placement_port_gone(port);
	}
	return rc;
}

static void say_why_not(const struct pmof_port *port, const struct sockaddr_storage *addr, int rc)
{
	pr_err("port %s: cannot listen on %pISpc (%d)%s\n", port_name(port), addr, rc,
	       rc == -EADDRNOTAVAIL ? ": no RDMA device has this address; see rdma link" :
	       rc == -EADDRINUSE ? ": in use" : "");
}

/* @quiet: nothing new is to be said of why it cannot.  Returns 0 or a negative errno. */
static int start(struct pmof_port *port, bool quiet)
{
	struct sockaddr_storage addr;
	struct rdma_cm_id *cm_id;
	int rc;

	lockdep_assert_held(&port->mutex);
	/* Of the device before, if there was one. */
	flush_work(&port->remove_work);
	pmof_placement_port_gone(port);
	rc = get_addr(port, &addr);
	if (rc)
		return rc;
	WRITE_ONCE(port->removed, false);
	cm_id = rdma_create_id(&init_net, listener_event, port, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(cm_id))
		return PTR_ERR(cm_id);
	rc = listen_on(port, cm_id, &addr);
	if (rc && !quiet)
		say_why_not(port, &addr, rc);
	if (rc)
		goto destroy;
	xchg(&port->cm_id, cm_id);
	/* Its removal may have come before the cm_id was there to be taken. */
	if (READ_ONCE(port->removed) && cmpxchg(&port->cm_id, cm_id, NULL) == cm_id) {
		pmof_placement_port_gone(port);
		rc = -EADDRNOTAVAIL;
		goto destroy;
	}
	pr_info("port %s: listening on %pISpc\n", port_name(port), &addr);
	return 0;

destroy:
	rdma_destroy_id(cm_id);
	/* No handler queues it any more. */
	flush_work(&port->remove_work);
	return rc;
}

/* Starts to listen, or again if its device has gone.  Returns 0 or a negative errno. */
int pmof_port_enable(struct pmof_port *port)
{
	int rc = 0;

	lockdep_assert_held(&port->mutex);
	if (!READ_ONCE(port->cm_id))
		rc = start(port, false);
	if (!rc)
		WRITE_ONCE(port->enabled, true);
	return rc;
}

/* The administrator wants it to listen, and its device has gone: until that is back. */
static void relisten_work(struct work_struct *work)
{
	struct pmof_port *port = container_of(to_delayed_work(work), struct pmof_port,
					      relisten_work);

	mutex_lock(&port->mutex);
	if (port->enabled && !READ_ONCE(port->cm_id) && start(port, true))
		queue_delayed_work(system_unbound_wq, &port->relisten_work, RELISTEN_DELAY);
	mutex_unlock(&port->mutex);
}

void pmof_port_init(struct pmof_port *port)
{
	INIT_WORK(&port->remove_work, remove_work);
	INIT_DELAYED_WORK(&port->relisten_work, relisten_work);
}

/* Disabled, so nobody queues it; not under the mutex, which it takes. */
void pmof_port_exit(struct pmof_port *port)
{
	cancel_delayed_work_sync(&port->relisten_work);
}

/*
 * Stops listening.  Sessions that are logged in go on; those that are not end,
 * since only their port could let them in.
 */
void pmof_port_disable(struct pmof_port *port)
{
	struct pmof_session_filter logged_out = { .port = port, .logged_out = true };
	struct rdma_cm_id *cm_id;

	lockdep_assert_held(&port->mutex);
	if (!port->enabled)
		return;
	cm_id = xchg(&port->cm_id, NULL);
	if (cm_id)
		rdma_destroy_id(cm_id);
	/* Else it may be destroying it: with that the last handler has returned, too. */
	flush_work(&port->remove_work);
	/* No connection request is under way any more, so no session is missed. */
	pmof_sessions_end(&logged_out, 0);
	pmof_placement_port_gone(port);
	WRITE_ONCE(port->enabled, false);
	pr_info("port %s: no longer listening\n", port_name(port));
}
