// SPDX-License-Identifier: GPL-2.0
/*
 * Operations on ranges with bad pages: run by run, each waited for.  What RDMA
 * reaches goes as always; the good sectors of a bad page go by GET and PUT
 * messages; a bad sector fails the whole with -ENODATA (EIO for user space), but for
 * what overwrites it as a whole, which may repair it.
 *
 * All that is put here is durable when it is through, asked for or not: so no
 * later PERSIST has to name a page with a bad sector.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "client.h"

/* One operation's, for a page at most. */
struct mover {
	struct pmof_req *req;
	struct pmof_queue *q;
	void *buf;		/* PAGE_SIZE; made when it is needed */
};

/* --- messages --------------------------------------------------------------- */

/* What one says, and to whom the data of a GET go. */
struct message {
	u8 opcode;
	struct pmof_put put;
	const void *data;	/* of a PUT */
	struct pmof_bad_get get;
};

/* The reply to a GET: 0 or a PMOF_SC_* code.  Completion context. */
int pmof_bad_take(struct pmof_slot *slot, const void *buf, u32 len)
{
	const struct pmof_wire_get_reply *w = buf;
	int status = pmof_get_get_reply(buf, len, slot->get->length);

	if (!status)
		memcpy(slot->get->to, w->data, slot->get->length);
	return status;
}

/* Header and data lie in the bounce buffer: one SGE, for devices that take no more. */
static void build_put(struct pmof_slot *slot, struct pmof_send *send, const struct message *msg)
{
	size_t len = pmof_put_put(slot->bounce.data, slot->tag, &msg->put);

	memcpy(slot->bounce.data + len, msg->data, msg->put.range.length);
	pmof_send_init(slot, send, PMOF_MSG_PUT, len);
	pmof_slot_use_buf(slot, &slot->bounce, len + msg->put.range.length);
	send->sge[0] = slot->sge[0];
}

static void build(struct pmof_slot *slot, struct pmof_send *send, struct message *msg)
{
	const struct pmof_range *r = &msg->put.range;
	size_t len;

	switch (msg->opcode) {
	case PMOF_MSG_GET:
		slot->get = &msg->get;
		len = pmof_put_get(slot->msg.data, slot->tag, r);
		break;
	case PMOF_MSG_ZERO:
		len = pmof_put_zero(slot->msg.data, slot->tag, r);
		break;
	case PMOF_MSG_COMMIT:
		len = pmof_put_commit(slot->msg.data, slot->tag, &msg->put);
		break;
	default:
		build_put(slot, send, msg);
		return;
	}
	pmof_send_init(slot, send, msg->opcode, len);
}

/* Sends a message and waits for the answer. */
static int call(struct mover *m, struct message *msg)
{
	struct pmof_req sub = { .unkillable = m->req->unkillable };
	struct pmof_slot *slot;
	struct pmof_send send;
	int rc;

	pmof_req_begin(&sub, m->q);
	sub.session = m->req->session;
	/* What it must wait for comes before its first message. */
	sub.fence = m->req->fence;
	m->req->fence = false;
	slot = pmof_slot_get(m->q, &sub);
	if (!pmof_slot_begin(slot, &rc))
		return rc;
	m->req->sent = true;
	build(slot, &send, msg);
	pmof_slot_post(slot, &send.wr, 2);
	pmof_post_end();
	return pmof_req_wait(&sub);
}

static int get_message(struct mover *m, const struct pmof_range *r, void *to)
{
	struct message msg = {
		.opcode = PMOF_MSG_GET, .put.range = *r, .get = { to, r->length },
	};

	return call(m, &msg);
}

static int put_message(struct mover *m, const struct pmof_range *r, const void *data)
{
	struct message msg = { .opcode = PMOF_MSG_PUT, .put.range = *r, .data = data };

	return call(m, &msg);
}

static int zero_message(struct mover *m, const struct pmof_range *r)
{
	struct message msg = { .opcode = PMOF_MSG_ZERO, .put.range = *r };

	return call(m, &msg);
}

static int commit_message(struct mover *m)
{
	struct pmof_range none = { m->req->offset, 0 };
	struct message msg = {
		.opcode = PMOF_MSG_COMMIT, .put = pmof_req_commit(m->req, &none),
	};

	return call(m, &msg);
}

/* --- what RDMA does not reach -------------------------------------------------- */

/* Part of a page into @m->buf. */
static int get_page_part(struct mover *m, u64 offset, u32 length)
{
	u32 done = 0;
	int rc = 0;

	while (!rc && done < length) {
		struct pmof_range r = { offset + done, min_t(u32, length - done, PMOF_MAX_GET) };

		rc = get_message(m, &r, m->buf + done);
		done += r.length;
	}
	if (!rc && copy_to_iter(m->buf, length, &m->req->iter) != length)
		rc = -EFAULT;
	return rc;
}

static int put_sectors(struct mover *m, u64 offset, u32 length)
{
	u32 most = m->q->conn->login.max_inline, done = 0;
	int rc = 0;

	if (most < PMOF_SECTOR)
		return -EOPNOTSUPP;
	while (!rc && done < length) {
		struct pmof_range r = { offset + done };

		r.length = pmof_put_cut(r.offset, length - done, most);
		rc = put_message(m, &r, m->buf + done);
		done += r.length;
	}
	return rc;
}

/*
 * A page that has failed as a whole comes back by nothing less than a write of
 * all of it, more than one PUT: so it is zeroed, then put.  Nobody can have
 * counted on what it held before.
 */
static int put_page_part(struct mover *m, u64 offset, u32 length)
{
	struct pmof_range page = { offset, length };
	int rc;

	if (copy_from_iter(m->buf, length, &m->req->iter) != length)
		return -EFAULT;
	rc = put_sectors(m, offset, length);
	if (rc != -ENODATA || length != PMOF_BAD_PAGE)
		return rc;
	rc = zero_message(m, &page);
	return rc ?: put_sectors(m, offset, length);
}

static bool is_killed(const struct mover *m)
{
	return !m->req->unkillable && fatal_signal_pending(current);
}

static int move_gap(struct mover *m, u64 offset, u64 length)
{
	int rc = 0;

	if (!m->buf)
		m->buf = kmalloc(PMOF_BAD_PAGE, GFP_NOIO);
	if (!m->buf)
		return -ENOMEM;
	while (!rc && length) {
		u32 n = min_t(u64, length, PMOF_BAD_PAGE - (offset & (PMOF_BAD_PAGE - 1)));

		/* The server says how long a gap is, and answers as it likes. */
		if (is_killed(m))
			return -EINTR;
		rc = m->req->opcode == PMOF_OP_GET ? get_page_part(m, offset, n) :
						     put_page_part(m, offset, n);
		offset += n;
		length -= n;
	}
	return rc;
}

/* --- what RDMA reaches ----------------------------------------------------------- */

static int move_good(struct mover *m, u64 offset, u64 length)
{
	struct pmof_req *req = m->req;
	struct pmof_req sub = {
		.opcode		= req->opcode,
		.flags		= req->opcode == PMOF_OP_PUT ? PMOF_F_PERSIST : 0,
		.offset		= offset,
		.length		= length,
		.iter		= req->iter,
		.has_iter	= true,
		.hipri		= req->hipri,
		.unkillable	= req->unkillable,
	};
	size_t more = iov_iter_count(&req->iter) - length;
	int rc, waited;

	iov_iter_truncate(&sub.iter, length);
	pmof_req_begin(&sub, m->q);
	sub.session = req->session;
	sub.persist = pmof_persist_pick(m->q->conn, length);
	sub.fence = req->fence;
	req->fence = false;
	rc = pmof_transfer(&sub);
	waited = pmof_req_wait(&sub);
	pmof_window_end(&sub);
	rc = pmof_transfer_end(&sub, rc ?: waited);
	req->sent |= sub.sent;
	req->iter = sub.iter;
	iov_iter_reexpand(&req->iter, iov_iter_count(&req->iter) + more);
	return rc;
}

/* Moves [@offset, @offset + @length), from or to where the request's iterator is. */
static int move(struct mover *m, u64 offset, u64 length)
{
	int rc = 0;
	bool gap;
	u64 n;

	while (!rc && length) {
		if (is_killed(m))
			return -EINTR;
		n = pmof_bad_run(m->q->conn, offset, length, &gap);
		rc = gap ? move_gap(m, offset, n) : move_good(m, offset, n);
		offset += n;
		length -= n;
	}
	return rc;
}

/* --- operations --------------------------------------------------------------- */

/* A put or get whose range pmof_bad_hit().  Begun.  Sleeps; what it has sent has ended. */
int pmof_bad_move(struct pmof_req *req)
{
	struct mover m = { .req = req, .q = req->q };
	int rc;

	/* A page may be dirty since a session that was allowed to write. */
	rc = pmof_req_allowed(req->q->conn, req);
	/* It goes in parts: a bad pointer in a later one is to change nothing, either. */
	if (!rc && req->opcode == PMOF_OP_PUT && user_backed_iter(&req->iter))
		rc = pmof_window_prefault(req, pmof_req_bytes(req));
	if (!rc)
		rc = move(&m, req->offset, pmof_req_bytes(req));
	/* [C2] The data are durable. */
	if (!rc && (req->flags & PMOF_F_COMMIT))
		rc = commit_message(&m);
	kfree(m.buf);
	/* So is a plain put: there is nothing to mark for a PERSIST. */
	if (!rc && req->opcode == PMOF_OP_PUT)
		req->flags |= PMOF_F_PERSIST;
	return rc;
}

static int get_word(struct pmof_req *req, u64 offset, u64 *word)
{
	struct pmof_req sub = { .opcode = PMOF_OP_GET, .offset = offset, .length = sizeof(__le64) };
	__le64 value = 0;
	struct kvec vec = { &value, sizeof(value) };
	int rc;

	iov_iter_kvec(&sub.iter, ITER_DEST, &vec, 1, sizeof(value));
	pmof_req_begin(&sub, req->q);
	sub.session = req->session;
	sub.fence = req->fence;
	req->fence = false;
	rc = pmof_bad_move(&sub);
	*word = le64_to_cpu(value);
	return rc;
}

/* [C7] The same three steps as always, each waited for. */
static int valid_get(struct pmof_req *req)
{
	u64 trailer = pmof_object_trailer(req->offset, req->length);
	u64 before = 0, after = 0;
	int rc = get_word(req, trailer, &before);

	if (rc)
		return rc;
	if (!pmof_trailer_valid(before))
		return -EAGAIN;
	rc = pmof_bad_move(req);
	if (!rc)
		rc = get_word(req, trailer, &after);
	if (rc)
		return rc;
	if (after != before)
		return -EAGAIN;
	req->old = pmof_trailer_generation(before);
	return 0;
}

/**
 * pmof_bad_issue - issue a put, get or atomic whose range pmof_bad_hit()
 * @req: checked, begun
 *
 * Return: 0 when it is done; -ENODATA: a bad sector; or as pmof_transfer().  There
 * is no message for atomics, so they fail anywhere in a bad page.  [V4] Where an attempt to
 * connect again changes the map it may say so of good ones, and nothing finds that out by posting.
 */
int pmof_bad_issue(struct pmof_req *req)
{
	if (req->nowait)
		return -EAGAIN;
	switch (req->opcode) {
	case PMOF_OP_PUT:
		return pmof_bad_move(req);
	case PMOF_OP_GET:
		return req->flags & PMOF_F_VALID ? valid_get(req) : pmof_bad_move(req);
	default:
		return pmof_conn_is_still(req->q->conn, req->session) ? -ENODATA : -PMOF_LOST;
	}
}

/*
 * Moves @nr pieces of memory, of @bytes together, for the block device and the page cache:
 * waits for the end.  Return: 0 or a negative errno.  Sleeps.
 */
int pmof_bad_vecs(struct pmof_conn *conn, u16 opcode, u64 offset, const struct bio_vec *vec,
		  unsigned int nr, size_t bytes)
{
	struct pmof_req req = {
		.opcode = opcode, .offset = offset, .length = bytes, .has_iter = true,
		.unkillable = true,
	};

	iov_iter_bvec(&req.iter, opcode == PMOF_OP_GET ? ITER_DEST : ITER_SOURCE, vec, nr, bytes);
	pmof_req_begin(&req, pmof_req_queue(conn));
	return pmof_bad_move(&req);
}
