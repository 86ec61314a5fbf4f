// SPDX-License-Identifier: GPL-2.0
/*
 * The messages that the server knows.  One table says on which queues, of what
 * length and with which right each may come; parse() takes what it needs out
 * of the receive buffer, in completion context; run() answers.
 *
 * Status codes: PMOF_SC_INVALID is a breach of the protocol and ends the
 * session; any other but OK goes back in an error reply, and the session goes on.
 */
#include "flush.h"
#include "marks.h"
#include "rights.h"
#include "trace.h"

struct pmof_rpc {
	u8 opcode;
	bool admin;		/* on the admin queue, else on I/O queues */
	bool at_once;		/* admin: answered where it arrives, with success */
	bool keeps_rx;		/* needs its receive buffer until it is answered */
	bool raw;		/* writes where it likes: not to a namespace with a service */
	unsigned int right;	/* PMOF_RIGHT_* that the session must have */
	u32 min_len;
	u32 max_len;
	int (*parse)(struct pmof_srv_req *req, const void *msg, u32 len);
	/*
	 * Admin: may sleep, and replies, or returns a status, or -EAGAIN: is called once more when
	 * the admin work is kicked.  I/O: cannot fail.
	 */
	int (*run)(struct pmof_srv_req *req);
};

/* A reply that is only a header.  Returns its length. */
u32 pmof_rpc_fill_status(struct pmof_srv_req *req, u32 status)
{
	pmof_put_hdr(req->reply, req->opcode | PMOF_MSG_REPLY, req->tag,
		     sizeof(struct pmof_wire_hdr), status);
	return sizeof(struct pmof_wire_hdr);
}

static void reply_status(struct pmof_srv_req *req, u32 status)
{
	pmof_srv_queue_reply(req, pmof_rpc_fill_status(req, status), NULL);
}

/* --- admin ---------------------------------------------------------------------- */

static int parse_challenge(struct pmof_srv_req *req, const void *msg, u32 len)
{
	return pmof_get_challenge(msg, len, req->nonce);
}

static int run_challenge(struct pmof_srv_req *req)
{
	struct pmof_session *s = req->queue->session;
	int status = pmof_rights_challenge(s, req->nonce);

	if (!status)
		pmof_srv_queue_reply(req, pmof_put_challenge_reply(req->reply, req->tag,
								   s->auth.server_nonce), NULL);
	return status;
}

static int parse_login(struct pmof_srv_req *req, const void *msg, u32 len)
{
	return pmof_get_login(msg, len, &req->login);
}

static int run_login(struct pmof_srv_req *req)
{
	struct pmof_login_reply r;
	int status = pmof_session_login(req->queue->session, &req->login, &r);

	if (!status)
		pmof_srv_queue_reply(req, pmof_put_login_reply(req->reply, req->tag, &r), NULL);
	return status;
}

static int parse_get_segments(struct pmof_srv_req *req, const void *msg, u32 len)
{
	u32 nr = pmof_layout_segments(&req->queue->session->layout);

	return pmof_get_get_segments(msg, len, nr, &req->segments.first, &req->segments.count);
}

static int parse_get_pieces(struct pmof_srv_req *req, const void *msg, u32 len)
{
	return pmof_get_get_pieces(msg, len, req->queue->session->ns->size, &req->from);
}

static int parse_nothing(struct pmof_srv_req *req, const void *msg, u32 len)
{
	return 0;
}

static int run_logout(struct pmof_srv_req *req)
{
	pmof_session_logout(req->queue->session);
	pmof_srv_queue_reply(req, pmof_rpc_fill_status(req, PMOF_SC_OK), NULL);
	return 0;
}

static int run_get_stats(struct pmof_srv_req *req)
{
	struct pmof_session *s = req->queue->session;
	u64 value[PMOF_SRV_STAT_MAX];
	int i;

	for (i = 0; i < PMOF_SRV_STAT_MAX; i++)
		value[i] = pmof_stat_sum(s->stats, i);
	pmof_srv_queue_reply(req, pmof_put_stats_reply(req->reply, req->tag, value), NULL);
	return 0;
}

/* --- I/O ------------------------------------------------------------------------- */

static int parse_persist(struct pmof_srv_req *req, const void *msg, u32 len)
{
	struct pmof_session *s = req->queue->session;
	struct pmof_persist_args *a = &req->persist;
	u16 i, flags;
	u64 bytes = 0;
	int status;

	status = pmof_get_persist(msg, len, s->ns->size, a->range, &a->nr, &flags);
	if (status)
		return status;
	a->good = flags & PMOF_PERSIST_F_GOOD;
	for (i = 0; i < a->nr; i++) {
		/* What is to be left out is known when it is worked off. */
		if (!a->good)
			status = pmof_bad_status(s->ns, a->range[i].offset, a->range[i].length);
		if (status)
			return status;
		pmof_mark_range(a->range[i].offset, a->range[i].length);
		bytes += a->range[i].length;
	}
	pmof_session_stat(s, PMOF_SRV_BYTES, bytes);
	a->nr = pmof_range_merge(a->range, a->nr);
	a->next = 0;
	req->flush = &pmof_flush_persist;
	return 0;
}

/* The data stay in the receive buffer. */
static int parse_put(struct pmof_srv_req *req, const void *msg, u32 len)
{
	const struct pmof_ns *ns = req->queue->session->ns;
	const struct pmof_wire_put *w = msg;
	struct pmof_put *p = &req->put.put;
	int status;

	status = pmof_get_put(msg, len, ns->size, p);
	if (!status)
		status = pmof_bad_status(ns, p->range.offset, p->range.length);
	if (status == PMOF_SC_MEDIUM && !p->commit && pmof_repair_wanted(req, &p->range)) {
		req->repair = true;
		status = 0;
	}
	if (!status && p->commit)
		status = pmof_bad_status(ns, p->trailer, PMOF_TRAILER_SIZE);
	if (status)
		return status;
	pmof_mark_range(p->range.offset, p->range.length);
	if (p->commit)
		pmof_mark_range(p->trailer, PMOF_TRAILER_SIZE);
	req->put.data = w->data;
	req->flush = p->commit ? &pmof_flush_put_commit : &pmof_flush_put;
	return 0;
}

static int parse_commit(struct pmof_srv_req *req, const void *msg, u32 len)
{
	struct pmof_session *s = req->queue->session;
	struct pmof_put *p = &req->put.put;
	int status;

	status = pmof_get_commit(msg, len, s->ns->size, p);
	if (!status)
		status = pmof_bad_status(s->ns, p->range.offset, p->range.length);
	if (!status)
		status = pmof_bad_status(s->ns, p->trailer, PMOF_TRAILER_SIZE);
	if (status)
		return status;
	pmof_mark_range(p->range.offset, p->range.length);
	pmof_mark_range(p->trailer, PMOF_TRAILER_SIZE);
	pmof_session_stat(s, PMOF_SRV_BYTES, p->range.length);
	/* Whole lines, as a PERSIST's: slices end where a line does. */
	pmof_range_merge(&p->range, 1);
	req->flush = &pmof_flush_commit;
	return 0;
}

static int parse_zero(struct pmof_srv_req *req, const void *msg, u32 len)
{
	const struct pmof_ns *ns = req->queue->session->ns;
	int status = pmof_get_zero(msg, len, ns->size, &req->zero);

	if (!status)
		status = pmof_bad_status(ns, req->zero.offset, req->zero.length);
	if (status == PMOF_SC_MEDIUM && pmof_repair_wanted(req, &req->zero)) {
		req->repair = true;
		status = 0;
	}
	if (status)
		return status;
	pmof_mark_range(req->zero.offset, req->zero.length);
	req->flush = &pmof_flush_zero;
	return 0;
}

/* What copy_mc_to_kernel() finds besides the list, run finds. */
static int parse_get(struct pmof_srv_req *req, const void *msg, u32 len)
{
	const struct pmof_ns *ns = req->queue->session->ns;
	int status = pmof_get_get(msg, len, ns->size, &req->get);

	if (!status && pmof_bad_look(ns, req->get.offset, req->get.length) == PMOF_BAD_IN)
		status = PMOF_SC_MEDIUM;
	return status;
}

static int parse_objects(struct pmof_srv_req *req, const void *msg, u32 len)
{
	const struct pmof_ns *ns = req->queue->session->ns;
	struct pmof_objects_args *a = &req->objects;
	int status;
	u32 i;

	status = pmof_get_objects(msg, len, ns->size, a->trailer, &a->count);
	for (i = 0; !status && i < a->count; i++)
		status = pmof_bad_status(ns, a->trailer[i], PMOF_TRAILER_SIZE);
	if (status)
		return status;
	for (i = 0; i < a->count; i++)
		pmof_mark_range(a->trailer[i], PMOF_TRAILER_SIZE);
	req->flush = req->opcode == PMOF_MSG_PREPARE ? &pmof_flush_prepare :
						       &pmof_flush_revalidate;
	return 0;
}

static int run_flush(struct pmof_srv_req *req)
{
	req->status = PMOF_SC_OK;
	if (unlikely(req->repair))
		pmof_repair_queue(req);
	else
		pmof_flush_queue(req);
	return 0;
}

/* --- the table ------------------------------------------------------------------- */

#define MIN_OBJECTS_LEN	(sizeof(struct pmof_wire_objects) + sizeof(__le64))
#define MAX_OBJECTS_LEN	(sizeof(struct pmof_wire_objects) + PMOF_MAX_OBJECTS * sizeof(__le64))

static const struct pmof_rpc rpc_table[] = {
	{
		.opcode		= PMOF_MSG_CHALLENGE,
		.admin		= true,
		.min_len	= sizeof(struct pmof_wire_challenge),
		.max_len	= sizeof(struct pmof_wire_challenge),
		.parse		= parse_challenge,
		.run		= run_challenge,
	}, {
		.opcode		= PMOF_MSG_LOGIN,
		.admin		= true,
		.min_len	= sizeof(struct pmof_wire_login),
		.max_len	= sizeof(struct pmof_wire_login),
		.parse		= parse_login,
		.run		= run_login,
	}, {
		.opcode		= PMOF_MSG_GET_SEGMENTS,
		.admin		= true,
		.right		= PMOF_RIGHT_READ,
		.min_len	= sizeof(struct pmof_wire_get_segments),
		.max_len	= sizeof(struct pmof_wire_get_segments),
		.parse		= parse_get_segments,
		.run		= pmof_segments_get,
	}, {
		.opcode		= PMOF_MSG_GET_PIECES,
		.admin		= true,
		.right		= PMOF_RIGHT_READ,
		.min_len	= sizeof(struct pmof_wire_get_pieces),
		.max_len	= sizeof(struct pmof_wire_get_pieces),
		.parse		= parse_get_pieces,
		.run		= pmof_pieces_get,
	}, {
		.opcode		= PMOF_MSG_GET_STATS,
		.admin		= true,
		.right		= PMOF_RIGHT_READ,
		.min_len	= sizeof(struct pmof_wire_hdr),
		.max_len	= sizeof(struct pmof_wire_hdr),
		.parse		= parse_nothing,
		.run		= run_get_stats,
	}, {
		/* A server that is busy with other admin messages is alive, too. */
		.opcode		= PMOF_MSG_KEEPALIVE,
		.admin		= true,
		.at_once	= true,
		.right		= PMOF_RIGHT_READ,
		.min_len	= sizeof(struct pmof_wire_hdr),
		.max_len	= sizeof(struct pmof_wire_hdr),
		.parse		= parse_nothing,
	}, {
		.opcode		= PMOF_MSG_LOGOUT,
		.admin		= true,
		.right		= PMOF_RIGHT_READ,
		.min_len	= sizeof(struct pmof_wire_hdr),
		.max_len	= sizeof(struct pmof_wire_hdr),
		.parse		= parse_nothing,
		.run		= run_logout,
	}, {
		/* Who may read may make durable what he has read. */
		.opcode		= PMOF_MSG_PERSIST,
		.right		= PMOF_RIGHT_READ,
		.min_len	= sizeof(struct pmof_wire_persist) + sizeof(struct pmof_wire_range),
		.max_len	= sizeof(struct pmof_wire_persist) +
				  PMOF_MAX_RANGES * sizeof(struct pmof_wire_range),
		.parse		= parse_persist,
		.run		= run_flush,
	}, {
		.opcode		= PMOF_MSG_PUT,
		.raw		= true,
		.keeps_rx	= true,
		.right		= PMOF_RIGHT_WRITE,
		.min_len	= sizeof(struct pmof_wire_put) + 1,
		.max_len	= sizeof(struct pmof_wire_put) + PMOF_MAX_INLINE,
		.parse		= parse_put,
		.run		= run_flush,
	}, {
		.opcode		= PMOF_MSG_COMMIT,
		.raw		= true,
		.right		= PMOF_RIGHT_WRITE,
		.min_len	= sizeof(struct pmof_wire_commit),
		.max_len	= sizeof(struct pmof_wire_commit),
		.parse		= parse_commit,
		.run		= run_flush,
	}, {
		.opcode		= PMOF_MSG_ZERO,
		.raw		= true,
		.right		= PMOF_RIGHT_WRITE,
		.min_len	= sizeof(struct pmof_wire_zero),
		.max_len	= sizeof(struct pmof_wire_zero),
		.parse		= parse_zero,
		.run		= run_flush,
	}, {
		.opcode		= PMOF_MSG_GET,
		.right		= PMOF_RIGHT_READ,
		.min_len	= sizeof(struct pmof_wire_get),
		.max_len	= sizeof(struct pmof_wire_get),
		.parse		= parse_get,
		.run		= pmof_bad_get,
	}, {
		.opcode		= PMOF_MSG_PREPARE,
		.raw		= true,
		.right		= PMOF_RIGHT_WRITE,
		.min_len	= MIN_OBJECTS_LEN,
		.max_len	= MAX_OBJECTS_LEN,
		.parse		= parse_objects,
		.run		= run_flush,
	}, {
		.opcode		= PMOF_MSG_REVALIDATE,
		.raw		= true,
		.right		= PMOF_RIGHT_WRITE,
		.min_len	= MIN_OBJECTS_LEN,
		.max_len	= MAX_OBJECTS_LEN,
		.parse		= parse_objects,
		.run		= run_flush,
	},
};

/* All of a service's: what they say is its own business.  Up to SERVICE_READ they may write. */
static const struct pmof_rpc service_write = {
	.opcode		= PMOF_MSG_SERVICE,
	.keeps_rx	= true,
	.right		= PMOF_RIGHT_WRITE,
	.min_len	= sizeof(struct pmof_wire_service),
	.max_len	= PMOF_CALL_SIZE_MAX,	/* no longer than its receive: call_size */
	.parse		= pmof_service_parse_call,
	.run		= pmof_service_run_call,
};

static const struct pmof_rpc service_read = {
	.opcode		= PMOF_MSG_SERVICE_READ,
	.keeps_rx	= true,
	.right		= PMOF_RIGHT_READ,
	.min_len	= sizeof(struct pmof_wire_service),
	.max_len	= PMOF_CALL_SIZE_MAX,	/* no longer than its receive: call_size */
	.parse		= pmof_service_parse_call,
	.run		= pmof_service_run_call,
};

static const struct pmof_rpc *find_rpc(u8 opcode, bool admin)
{
	int i;

	if (pmof_is_service(opcode) && !admin)
		return opcode < PMOF_MSG_SERVICE_READ ? &service_write : &service_read;
	for (i = 0; i < ARRAY_SIZE(rpc_table); i++)
		if (rpc_table[i].opcode == opcode && rpc_table[i].admin == admin)
			return &rpc_table[i];
	return NULL;
}

static int check_right(const struct pmof_session *s, unsigned int right)
{
	/* Pairs with the login's release: with a right comes all that it rests on. */
	unsigned int rights = smp_load_acquire(&s->rights);

	if (!right || (rights & right) == right)
		return 0;
	return rights ? PMOF_SC_READ_ONLY : PMOF_SC_INVALID;
}

static int parse(struct pmof_srv_req *req, const void *msg, u32 len)
{
	const struct pmof_wire_hdr *hdr = msg;
	const struct pmof_rpc *rpc;
	int status;

	status = pmof_get_request_hdr(msg, len);
	if (status)
		return status;
	req->opcode = hdr->opcode;
	req->tag = le16_to_cpu(hdr->tag);
	req->repair = false;
	trace_pmof_srv_request(req->queue->session->number, req->queue->id, hdr);
	pmof_mark_request(req);
	rpc = find_rpc(hdr->opcode, !req->queue->id);
	req->rpc = rpc;
	if (!rpc)
		return PMOF_SC_INVALID;
	if (len < rpc->min_len || len > rpc->max_len)
		return PMOF_SC_INVALID;
	status = check_right(req->queue->session, rpc->right);
	if (status)
		return status;
	if (rpc->raw && req->queue->session->ns->service_ops)
		return PMOF_SC_UNSUPPORTED;
	return rpc->parse(req, msg, len);
}

/*
 * A bad sector is in the way, of which the copy of the list may not know: then the client's
 * map does not have it either.  Once for each change of the list, whatever a client sends.
 */
static void medium_refused(struct pmof_session *s)
{
	struct pmof_bad *bad = &s->ns->bad;
	unsigned int seq;

	if (!bad->list)
		return;
	/* As of before the rescan: what changes behind this look changes it again. */
	seq = read_seqbegin(&bad->list->lock);
	if (READ_ONCE(s->bad_kicked) == seq)
		return;
	WRITE_ONCE(s->bad_kicked, seq);
	pmof_bad_kick(s->ns);
}

/*
 * Checks a message that has arrived and takes over what it says.  Completion
 * context.  Returns 0 or a PMOF_SC_* code.
 */
int pmof_rpc_parse(struct pmof_srv_req *req, const void *msg, u32 len)
{
	int status = parse(req, msg, len);

	if (unlikely(status == PMOF_SC_MEDIUM))
		medium_refused(req->queue->session);
	/* What is INVALID is counted by pmof_session_bad_message(). */
	if (status && status != PMOF_SC_INVALID)
		pmof_session_stat(req->queue->session, PMOF_SRV_BAD_MESSAGES, 1);
	return status;
}

/* Of a message that was parsed with success: may its receive be posted again only by the reply? */
bool pmof_rpc_keeps_rx(const struct pmof_srv_req *req)
{
	return req->rpc->keeps_rx;
}

/* Has a parsed message answered.  Completion context; takes over the caller's reference. */
void pmof_rpc_start(struct pmof_srv_req *req, int status)
{
	struct pmof_srv_queue *q = req->queue;

	if (status || req->rpc->at_once) {
		reply_status(req, status);
	} else if (req->rpc->admin) {
		pmof_session_stat(q->session, PMOF_SRV_ADMIN_CALLS, 1);
		pmof_session_queue_admin(req);
		/* The admin work takes a reference when it comes to it. */
		pmof_srv_queue_put(q);
	} else {
		pmof_session_stat(q->session, PMOF_SRV_RPC_CALLS, 1);
		req->rpc->run(req);
	}
}

/*
 * Answers an admin message.  May sleep; takes over the caller's reference.  Returns false if it
 * must be called again once the admin work is kicked.
 */
bool pmof_rpc_admin(struct pmof_srv_req *req)
{
	struct pmof_srv_queue *q = req->queue;
	int status = req->rpc->run(req);

	if (status == -EAGAIN) {
		pmof_srv_queue_put(q);
		return false;
	}
	if (status == PMOF_SC_INVALID) {
		pmof_session_bad_message(q->session, "message out of place");
		pmof_srv_queue_put(q);
	} else if (status) {
		reply_status(req, status);
	}
	return true;
}
