// SPDX-License-Identifier: GPL-2.0
/*
 * Ways by librpma, as its examples have them: a write with a flush behind it, where the
 * library's flush is a READ; and a write with a message behind it, upon which the server makes it
 * durable and answers. The thread sleeps for completions, as in a system call.
 */
#include "rpma.h"
#include "ways.h"

#define MESSAGES	4096	/* bytes of registered memory for them */
#define ANSWER		64	/* offset of the answer in there */

struct link {
	struct rpma_conn *conn;
	struct rpma_cq *cq;
	struct rpma_mr_remote *pmem;
	struct rpma_mr_local *data, *messages;
	struct rpma_range *range;
};

static int register_memory(struct link *l, struct rpma_peer *peer, void *buf)
{
	l->range = aligned_alloc(MESSAGES, MESSAGES);
	if (!l->range)
		return -ENOMEM;
	return rpma_mr_reg(peer, buf, WAYS_BUF, RPMA_MR_USAGE_WRITE_SRC, &l->data) ?:
	       rpma_mr_reg(peer, l->range, MESSAGES, RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV,
			   &l->messages);
}

/* What the server has said when it accepted. */
static int take_hello(struct link *l)
{
	struct rpma_conn_private_data data;
	const struct rpma_hello *hello;
	struct rpma_peer_cfg *cfg;
	int rc;

	rc = rpma_conn_get_private_data(l->conn, &data);
	if (rc || data.len < sizeof(*hello))
		return -EPROTO;
	hello = data.ptr;
	rc = rpma_mr_remote_from_descriptor(hello->bytes, hello->mr_len, &l->pmem) ?:
	     rpma_peer_cfg_from_descriptor(hello->bytes + hello->mr_len, hello->cfg_len, &cfg) ?:
	     rpma_conn_apply_remote_peer_cfg(l->conn, cfg);
	return rc ? -EPROTO : 0;
}

static int link_connect(struct link *l, const char *addr, void *buf)
{
	enum rpma_conn_event event = RPMA_CONN_UNDEFINED;
	struct rpma_conn_req *req;
	struct ibv_context *dev;
	struct rpma_peer *peer;
	int rc;

	rc = rpma_utils_get_ibv_context(addr, RPMA_UTIL_IBV_CONTEXT_REMOTE, &dev) ?:
	     rpma_peer_new(dev, &peer) ?:
	     register_memory(l, peer, buf) ?:
	     rpma_conn_req_new(peer, addr, RPMA_PORT, NULL, &req) ?:
	     rpma_conn_req_connect(&req, NULL, &l->conn) ?:
	     rpma_conn_next_event(l->conn, &event) ?:
	     rpma_conn_get_cq(l->conn, &l->cq);
	if (rc || event != RPMA_CONN_ESTABLISHED)
		return -ECONNREFUSED;
	return take_hello(l);
}

static int rpma_open(struct way *way)
{
	struct link *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	way->private = l;
	return link_connect(l, way->target, way->buf);
}

static int flush_one(struct way *way, uint64_t offset)
{
	struct link *l = way->private;
	struct ibv_wc wc;

	if (rpma_write(l->conn, l->pmem, offset, l->data, 0, way->size,
		       RPMA_F_COMPLETION_ON_ERROR, NULL) ||
	    rpma_flush(l->conn, l->pmem, offset, way->size, RPMA_FLUSH_TYPE_PERSISTENT,
		       RPMA_F_COMPLETION_ALWAYS, NULL))
		return -EIO;
	return rpma_next(l->cq, &wc);
}

static int assist_one(struct way *way, uint64_t offset)
{
	struct link *l = way->private;
	struct ibv_wc wc;

	*l->range = (struct rpma_range){ offset, way->size };
	if (rpma_recv(l->conn, l->messages, ANSWER, sizeof(*l->range), NULL) ||
	    rpma_write(l->conn, l->pmem, offset, l->data, 0, way->size,
		       RPMA_F_COMPLETION_ON_ERROR, NULL) ||
	    rpma_send(l->conn, l->messages, 0, sizeof(*l->range), RPMA_F_COMPLETION_ALWAYS, NULL))
		return -EIO;
	/* Of the message, and the answer. */
	return rpma_next(l->cq, &wc) ?: rpma_next(l->cq, &wc);
}

const struct way_ops way_rpma_flush = { "rpma-flush", rpma_open, flush_one };
const struct way_ops way_rpma_assist = { "rpma-assist", rpma_open, assist_one };
