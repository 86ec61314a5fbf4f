// SPDX-License-Identifier: GPL-2.0
/*
 * The connection manager's part of a queue, one step at a time: the connecting
 * thread starts a step and waits for its event.
 */
#define pr_fmt(fmt) "pmof-client: " fmt

#include <linux/slab.h>
#include <rdma/ib_cm.h>

#include "client.h"

#define CM_SLICE_MS	250

static int reject_errno(struct pmof_cm *cm, struct rdma_cm_event *ev)
{
	const void *data;
	u16 depth; /* nobody's: what was granted stays */
	u8 len = 0;
	int status;

	data = rdma_consumer_reject_data(cm->id, ev, &len);
	/*
	 * The server's connection manager takes it for a queue pair that this machine had
	 * before it crashed.  It ends that one now, so the next try may do.
	 */
	if (ev->status == IB_CM_REJ_STALE_CONN) {
		pr_info("%pISpc: the server ends a connection of this machine's last life\n",
			&cm->conn->peer);
		return -PMOF_STALE;
	}
	if (!data) {
		pr_info("%pISpc: connection rejected: %s\n", &cm->conn->peer,
			rdma_reject_msg(cm->id, ev->status));
		return -ECONNREFUSED;
	}
	status = pmof_get_accept(data, len, &depth);
	/* rdma_cm rejects in this way too, without data, where nobody listens. */
	if (status == PMOF_SC_MAGIC)
		return -ECONNREFUSED;
	pr_info("%pISpc: connection rejected: %s\n", &cm->conn->peer, pmof_status_str(status));
	return pmof_status_to_errno(status) ?: -EPROTO;
}

static int established(struct pmof_cm *cm, struct rdma_cm_event *ev)
{
	int status = pmof_get_accept(ev->param.conn.private_data,
				     ev->param.conn.private_data_len, &cm->depth);

	return pmof_status_to_errno(status);
}

static void step_done(struct pmof_cm *cm, int status)
{
	cm->status = status;
	complete(&cm->done);
}

/* A subnet manager's "no" is EINVAL, which tells nothing about what was asked of us. */
static int cm_errno(const struct rdma_cm_event *ev)
{
	return ev->status < 0 && ev->status != -EINVAL ? ev->status : -EHOSTUNREACH;
}

/* Returns 0: a cm_id is only ever destroyed by the thread that made it. */
static int cm_handler(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	struct pmof_cm *cm = id->context;

	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		step_done(cm, 0);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		step_done(cm, established(cm, ev));
		break;
	case RDMA_CM_EVENT_REJECTED:
		/* First the reason: who waits for the step asks for it no more once it is lost. */
		step_done(cm, reject_errno(cm, ev));
		/* Also after ESTABLISHED: a session that ended before our last word arrived. */
		pmof_conn_lost(cm->conn, "the server refuses it");
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		step_done(cm, cm_errno(ev));
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		/* The queue pair goes to error, and with it whoever waits for a completion. */
		rdma_disconnect(id);
		fallthrough;
	case RDMA_CM_EVENT_ADDR_CHANGE:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		pmof_conn_lost(cm->conn, rdma_event_msg(ev->event));
		step_done(cm, -ECONNRESET);	/* for a thread that is still connecting */
		break;
	default:
		break;
	}
	return 0;
}

static int wait_step(struct pmof_cm *cm)
{
	unsigned int slices = PMOF_CM_TIMEOUT_MS / CM_SLICE_MS;
	long left;

	/* In slices: nobody completes it where the connection is lost for another reason. */
	do {
		left = wait_for_completion_interruptible_timeout(&cm->done,
								 msecs_to_jiffies(CM_SLICE_MS));
	} while (!left && --slices && !READ_ONCE(cm->conn->lost));
	if (left < 0)
		return -EINTR;
	if (!left)
		return slices ? -ECONNRESET : -ETIMEDOUT;
	return cm->status;
}

/* Makes the cm_id and resolves address and route: after this it has a device. */
int pmof_cm_resolve(struct pmof_cm *cm, struct pmof_conn *conn)
{
	struct rdma_cm_id *id;
	int rc;

	cm->conn = conn;
	init_completion(&cm->done);
	id = rdma_create_id(conn->net, cm_handler, cm, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	cm->id = id;
	rc = rdma_resolve_addr(id, NULL, (struct sockaddr *)&conn->peer, 3000);
	if (!rc)
		rc = wait_step(cm);
	if (rc)
		goto destroy;
	/* The persist methods' arguments are InfiniBand's, and so are READs without an MR. */
	rc = -EOPNOTSUPP;
	if (rdma_protocol_iwarp(id->device, id->port_num)) {
		pr_info("%pISpc: %s is iWARP: pmof takes InfiniBand or RoCE\n", &conn->peer,
			dev_name(&id->device->dev));
		goto destroy;
	}
	reinit_completion(&cm->done);
	rc = rdma_resolve_route(id, 3000);
	if (!rc)
		rc = wait_step(cm);
	if (rc)
		goto destroy;
	return 0;

destroy:
	pmof_cm_destroy(cm);
	return rc;
}

/* Connects: the queue pair exists and its receives are posted. */
int pmof_cm_connect(struct pmof_cm *cm, u16 queue_id, u16 depth)
{
	struct pmof_conn *conn = cm->conn;
	struct pmof_connect c = {
		.queue_id	= queue_id,
		.queue_depth	= depth,
		.session_id	= queue_id ? conn->login.session_id : 0,
	};
	struct pmof_wire_connect priv;
	struct rdma_conn_param param = {
		.private_data		= &priv,
		.private_data_len	= sizeof(priv),
		.initiator_depth	= min_t(int, cm->id->device->attrs.max_qp_init_rd_atom, 16),
		.retry_count		= 7,
		.rnr_retry_count	= 7,
	};
	int rc;

	memcpy(c.client_id, conn->opt.id, sizeof(c.client_id));
	rc = pmof_auth_sign_queue(conn, &c, cm->id);
	if (rc)
		return rc;
	pmof_put_connect(&priv, &c);
	reinit_completion(&cm->done);
	rc = rdma_connect(cm->id, &param);
	return rc ?: wait_step(cm);
}

/* The queue pair is gone already.  Waits for a running event handler. */
void pmof_cm_destroy(struct pmof_cm *cm)
{
	if (!cm->id)
		return;
	rdma_destroy_id(cm->id);
	cm->id = NULL;
}
