// SPDX-License-Identifier: GPL-2.0
/* The server's end: memory for one connection, and nothing to do. */
#define pr_fmt(fmt) "pmof-floor: " fmt

#include "floor.h"

static struct rdma_cm_id *listener;
static struct floor_end end;	/* of the only connection there is in the module's life */

static int accept(struct rdma_cm_id *id)
{
	struct floor_where where;
	struct rdma_conn_param param = {
		.private_data		= &where,
		.private_data_len	= sizeof(where),
		.responder_resources	= 16,
		.rnr_retry_count	= 7,
	};
	int rc;

	if (end.id)
		return -EBUSY;
	/* A test's memory, on a test's network: all of it for who connects. */
	rc = floor_end_open(&end, id, IB_PD_UNSAFE_GLOBAL_RKEY);
	if (rc)
		return rc;
	where.addr = cpu_to_be64(end.dma);
	where.rkey = cpu_to_be32(end.pd->unsafe_global_rkey);
	rc = rdma_accept(id, &param);
	if (rc) {
		end.id = NULL;		/* whoever called us destroys it */
		pmof_qp_destroy(&end.qp);
		floor_end_close(&end);
	}
	return rc;
}

static int handler(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	/* An error here makes the CM destroy the new cm_id. */
	if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		return accept(id);
	return 0;
}

int floor_listen(const struct sockaddr_in *addr)
{
	struct rdma_cm_id *id = rdma_create_id(&init_net, handler, NULL, RDMA_PS_TCP, IB_QPT_RC);
	int rc;

	if (IS_ERR(id))
		return PTR_ERR(id);
	rc = rdma_bind_addr(id, (struct sockaddr *)addr);
	if (!rc)
		rc = rdma_listen(id, 1);
	if (rc)
		rdma_destroy_id(id);
	else
		listener = id;
	return rc;
}

void floor_unlisten(void)
{
	/* First: no connection comes after it. */
	rdma_destroy_id(listener);
	floor_end_close(&end);
}
