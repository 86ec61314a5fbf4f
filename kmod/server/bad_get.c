// SPDX-License-Identifier: GPL-2.0
/* GET: data by the server's CPU, which survives a bad line, as an HCA may not. */
#include <linux/uaccess.h>

#include "server.h"

/* Completion context: at most PMOF_MAX_GET bytes. */
int pmof_bad_get(struct pmof_srv_req *req)
{
	struct pmof_ns *ns = req->queue->session->ns;
	const struct pmof_range *r = &req->get;
	struct pmof_wire_get_reply *w = req->reply;
	u32 len;

	if (copy_mc_to_kernel(w->data, ns->addr + r->offset, r->length)) {
		/* One that is not on the list, or not yet. */
		pmof_bad_kick(ns);
		len = pmof_rpc_fill_status(req, PMOF_SC_MEDIUM);
	} else {
		len = pmof_put_get_reply(w, req->tag, r->length);
	}
	pmof_srv_queue_reply(req, len, NULL);
	return 0;
}
