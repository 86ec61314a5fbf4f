// SPDX-License-Identifier: GPL-2.0
/*
 * CALL: messages of user space to the namespace's service.  What they say is not
 * looked at here.
 *
 * Request and reply are kept in a buffer of the operation's own, not in its slot: so
 * no slot waits for user space, and a SUBMIT may have more CALLs than there are slots.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "client.h"

static u64 context_of(const struct pmof_req *req)
{
	const struct pmof_file *f = req->file->private_data;

	return f->context;
}

/* Bytes of data that a CALL takes; 0: there is no service. */
u32 pmof_conn_max_call(const struct pmof_conn *conn)
{
	return conn->login.service == PMOF_SERVICE_RAW ? 0 : pmof_call_room(conn->login.call_size);
}

/* What can be wrong with a CALL's own fields. */
int pmof_call_check(const struct pmof_conn *conn, const struct pmof_req *req)
{
	/* SERVICE_CLOSE is this driver's to say. */
	if (req->asked < PMOF_MSG_SERVICE || req->asked >= PMOF_MSG_SERVICE_CLOSE)
		return -EINVAL;
	if (!req->length || req->length > pmof_call_room(conn->login.call_size))
		return -EINVAL;
	return context_of(req) > U32_MAX ? -EOVERFLOW : 0;
}

/* Copies the request, once; the caller frees it with pmof_call_free().  Sleeps. */
int pmof_call_import(struct pmof_req *req)
{
	u32 room = min_t(u32, req->room, PMOF_MAX_CALL_REPLY);
	struct pmof_call *call;

	if (!access_ok(u64_to_user_ptr(req->compare), room))
		return -EFAULT;
	call = kvmalloc(struct_size(call, data, max_t(size_t, req->length, room)),
			GFP_KERNEL_ACCOUNT);
	if (!call)
		return -ENOMEM;
	if (copy_from_user(call->data, u64_to_user_ptr(req->addr), req->length)) {
		kvfree(call);
		return -EFAULT;
	}
	call->room = room;
	call->got = 0;
	req->call = call;
	return 0;
}

void pmof_call_free(struct pmof_req *req)
{
	kvfree(req->call);
	req->call = NULL;
}

/**
 * pmof_call_issue - post the message
 * @req: checked, begun
 *
 * On req->q, behind the WRITEs that were posted there: the service finds what they have
 * written.  With PMOF_F_ORDERED also what has completed on other queues: as PREPARE in
 * pmof_objects_issue(), of which this is the same case.
 *
 * Return: 0, -EINTR, -PMOF_LOST.  Sleeps; with req->nowait it does not, and -EAGAIN says
 * that nothing has been posted.
 */
int pmof_call_issue(struct pmof_req *req)
{
	struct pmof_queue *q = req->q;
	struct pmof_slot *slot;
	struct pmof_send send;
	size_t len;
	int rc = 0;

	if (req->flags & PMOF_F_ORDERED) {
		if (req->nowait && pmof_persist_others_dirty(q))
			return -EAGAIN;
		rc = pmof_persist_flush_queues(q->conn, q, req->unkillable);
	}
	if (rc)
		return rc;
	slot = pmof_slot_get(q, req);
	if (!pmof_slot_begin(slot, &rc))
		return rc;
	len = pmof_put_service(slot->bounce.data, req->asked, slot->tag, context_of(req),
			       req->length);
	memcpy(slot->bounce.data + sizeof(struct pmof_wire_service), req->call->data, req->length);
	/* Before the service can: pmof_call_close() is behind all operations of the file. */
	WRITE_ONCE(((struct pmof_file *)req->file->private_data)->called, true);
	pmof_send_init_buf(slot, &send, &slot->bounce, req->asked, len);
	pmof_slot_post(slot, &send.wr, 2);
	pmof_post_end();
	return 0;
}

/* Takes a reply: 0, or a PMOF_SC_* code.  Any context. */
int pmof_call_take(struct pmof_slot *slot, const void *buf, u32 len)
{
	struct pmof_call *call = slot->req->call;
	int rc = pmof_get_service_reply(buf, len, slot->awaits, &call->got);

	if (rc)
		return rc;
	memcpy(call->data, buf + sizeof(struct pmof_wire_hdr), min(call->got, call->room));
	return 0;
}

/* Gives user space the reply of a CALL that has succeeded, in the context of its memory. */
int pmof_call_deliver(struct pmof_req *req)
{
	const struct pmof_call *call = req->call;

	if (call->got > call->room)
		return -EMSGSIZE;
	req->old = call->got;
	return copy_to_user(u64_to_user_ptr(req->compare), call->data, call->got) ? -EFAULT : 0;
}

/**
 * pmof_call_close - tell the service that a file is no more
 * @file: at its last release: none of its operations is under way
 *
 * What the service kept for it is given back.  Behind all that has completed on this
 * device: of a WRITE that has, the service would give the place to somebody else while it
 * may still land there.  On a connection that is lost nothing is said; the end
 * of the session says the same.  Sleeps, as long as an operation may take.
 */
void pmof_call_close(struct file *file)
{
	struct pmof_file *f = file->private_data;
	struct pmof_call none = { };
	struct pmof_req req = {
		.opcode		= PMOF_OP_CALL,
		.flags		= PMOF_F_ORDERED,
		.file		= file,
		.asked		= PMOF_MSG_SERVICE_CLOSE,
		.call		= &none,
		.unkillable	= true,
	};

	if (!READ_ONCE(f->called) || pmof_conn_check(f->conn))
		return;
	pmof_req_begin(&req, pmof_req_queue(f->conn));
	pmof_req_issue(&req);
	pmof_req_wait(&req);
}
