// SPDX-License-Identifier: GPL-2.0
/* The ioctls of /dev/pmofcN: user structures to operations and back. */
#include <linux/fs.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "client.h"

/* The sizes of the first version: what a caller must bring at least. */
#define INFO_V1		offsetofend(struct pmof_info, session)
#define RW_V1		offsetofend(struct pmof_rw, generation)
#define OBJECT_V1	offsetofend(struct pmof_object, generation)
#define PERSIST_V1	offsetofend(struct pmof_persist, length)
#define ATOMIC_V1	offsetofend(struct pmof_atomic, old)
#define SUBMIT_V1	offsetofend(struct pmof_submit, reserved)
#define OP_V1		offsetofend(struct pmof_op, room)

union ioctl_arg {
	struct pmof_info info;
	struct pmof_rw rw;
	struct pmof_object object;
	struct pmof_persist persist;
	struct pmof_atomic atomic;
	struct pmof_submit submit;
};

struct ioctl_desc {
	u16 opcode;
	u32 size;	/* of the structure that this kernel knows */
	u32 min_size;
	fmode_t mode;	/* what the file must be open for */
	int (*fn)(struct file *file, u16 opcode, union ioctl_arg *arg, void __user *uarg);
};

static u32 info_flags(const struct pmof_conn *conn)
{
	u32 flags = 0;

	if (pmof_conn_read_only(conn))
		flags |= PMOF_INFO_READ_ONLY;
	if (conn->login.flags & PMOF_LOGIN_R_DURABLE)
		flags |= PMOF_INFO_DURABLE;
	if (conn->login.flags & PMOF_LOGIN_R_ASSERTED)
		flags |= PMOF_INFO_ASSERTED;
	if (conn->login.flags & PMOF_LOGIN_R_EMULATED)
		flags |= PMOF_INFO_EMULATED;
	return flags;
}

static u64 info_features(const struct pmof_conn *conn)
{
	u64 features = READ_ONCE(conn->features) & PMOF_FEAT_ATOMICS;

	return conn->login.service == PMOF_SERVICE_RAW ? features : features | PMOF_FEAT_CALL;
}

/* What was learnt at login: answered on a dead device too. */
static int ioctl_get_info(struct file *file, u16 opcode, union ioctl_arg *arg,
			  void __user *uarg)
{
	struct pmof_conn *conn = pmof_file_conn(file);
	u32 usize = arg->info.size;
	struct pmof_info info = {
		.size		= usize,
		.flags		= info_flags(conn),
		.ns_size	= conn->login.ns_size,
		.segment_size	= conn->login.segment_size,
		.generation	= conn->login.generation,
		.features	= info_features(conn),
		.methods	= conn->usable,
		.method		= conn->persist->method,
		.domain		= conn->login.domain,
		.placement	= conn->login.placement,
		.nr_queues	= conn->nr_shared,
		.queue_depth	= conn->queues[0].nr_char,
		.max_submit	= PMOF_SUBMIT_MAX,
		.max_rpc	= conn->login.max_inline,
		.service	= conn->login.service,
		.max_call	= pmof_conn_max_call(conn),
		.session	= READ_ONCE(conn->session),
	};

	if (READ_ONCE(conn->removed))
		return -ENODEV;
	strscpy(info.name, conn->opt.name, sizeof(info.name));
	return copy_to_user(uarg, &info, min_t(u32, usize, sizeof(info))) ? -EFAULT : 0;
}

static int ioctl_rw(struct file *file, u16 opcode, union ioctl_arg *arg, void __user *uarg)
{
	struct pmof_conn *conn = pmof_file_conn(file);
	struct pmof_rw __user *u = uarg;
	/* With VALID it is an output, and looked at no more than others are. */
	bool valid = opcode == PMOF_OP_GET && arg->rw.flags & PMOF_F_VALID;
	struct pmof_req req = {
		.opcode		= opcode,
		.flags		= arg->rw.flags,
		.offset		= arg->rw.offset,
		.length		= arg->rw.length,
		.addr		= arg->rw.addr,
		.operand	= valid ? 0 : arg->rw.generation,
	};
	int rc;

	rc = pmof_req_run(conn, &req);
	if (rc || !valid)
		return rc;
	return put_user(req.old, &u->generation) ? -EFAULT : 0;
}

static int ioctl_object(struct file *file, u16 opcode, union ioctl_arg *arg,
			void __user *uarg)
{
	struct pmof_conn *conn = pmof_file_conn(file);
	struct pmof_object __user *u = uarg;
	struct pmof_req req = {
		.opcode	= opcode,
		.flags	= arg->object.flags,
		.offset	= arg->object.offset,
		.length	= arg->object.length,
	};
	int rc;

	/* What was prepared cannot be taken back: find a bad pointer before it. */
	if (put_user(arg->object.generation, &u->generation))
		return -EFAULT;
	rc = pmof_req_run(conn, &req);
	if (rc)
		return rc;
	return put_user(req.old, &u->generation) ? -EFAULT : 0;
}

static int ioctl_persist(struct file *file, u16 opcode, union ioctl_arg *arg,
			 void __user *uarg)
{
	struct pmof_req req = {
		.opcode	= opcode,
		.flags	= arg->persist.flags,
		.offset	= arg->persist.offset,
		.length	= arg->persist.length,
		.file	= file,
	};

	return pmof_req_run(pmof_file_conn(file), &req);
}

static int ioctl_atomic(struct file *file, u16 opcode, union ioctl_arg *arg,
			void __user *uarg)
{
	struct pmof_conn *conn = pmof_file_conn(file);
	struct pmof_atomic __user *u = uarg;
	struct pmof_req req = {
		.opcode		= opcode,
		.flags		= arg->atomic.flags,
		.offset		= arg->atomic.offset,
		.length		= sizeof(u64),
		.compare	= arg->atomic.compare,
		.operand	= arg->atomic.operand,
	};
	int rc;

	/* An atomic cannot be taken back: find a bad pointer before it. */
	if (put_user(arg->atomic.old, &u->old))
		return -EFAULT;
	rc = pmof_req_run(conn, &req);
	if (rc)
		return rc;
	return put_user(req.old, &u->old) ? -EFAULT : 0;
}

/* @usize: what its size must say. */
int pmof_op_to_req(const struct pmof_op *op, u32 usize, struct pmof_req *req)
{
	if (op->size != usize || op->reserved || op->call > U8_MAX)
		return -EINVAL;
	req->opcode = op->opcode;
	req->flags = op->flags;
	req->offset = op->offset;
	req->length = op->length;
	req->addr = op->addr;
	req->compare = op->compare;
	req->operand = op->operand;
	req->only = op->session;
	req->asked = op->call;
	req->room = op->room;
	return 0;
}

/* Copies and checks all descriptors, so that a bad one stops the call before the first runs. */
static int submit_fetch(struct file *file, const struct pmof_submit *s, u32 usize,
			struct pmof_req *req)
{
	struct pmof_conn *conn = pmof_file_conn(file);
	char __user *p = u64_to_user_ptr(s->ops);
	struct pmof_op op;
	u32 i;
	int rc;

	for (i = 0; i < s->nr_ops; i++, p += usize) {
		req[i].file = file;
		rc = copy_struct_from_user(&op, sizeof(op), p, usize);
		if (!rc)
			rc = pmof_op_to_req(&op, usize, &req[i]);
		if (!rc)
			rc = pmof_req_check(conn, &req[i]);
		if (rc)
			return rc;
		/* Nothing that has run can be taken back: find a bad pointer before. */
		if (put_user(-ECANCELED, &((struct pmof_op __user *)p)->result) ||
		    put_user(op.old, &((struct pmof_op __user *)p)->old))
			return -EFAULT;
	}
	return 0;
}

/* Whether the operation answers in @old. */
static bool answers(const struct pmof_req *req)
{
	switch (req->opcode) {
	case PMOF_OP_CAS:
	case PMOF_OP_FETCH_ADD:
	case PMOF_OP_PREPARE:
	case PMOF_OP_REVALIDATE:
	case PMOF_OP_CALL:
		return true;
	default:
		return req->flags & PMOF_F_VALID;
	}
}

static int submit_store(const struct pmof_submit *s, u32 usize, const struct pmof_req *req,
			const int *result)
{
	char __user *p = u64_to_user_ptr(s->ops);
	int rc = 0;
	u32 i;

	/* Past a failure too: the others' results shall arrive. */
	for (i = 0; i < s->nr_ops; i++, p += usize) {
		struct pmof_op __user *op = (struct pmof_op __user *)p;

		if (put_user(result[i], &op->result))
			rc = -EFAULT;
		if (answers(&req[i]) && !result[i] && put_user(req[i].old, &op->old))
			rc = -EFAULT;
	}
	return rc;
}

static int submit_mode_ok(const struct pmof_req *req, u32 nr, fmode_t mode)
{
	u32 i;

	for (i = 0; i < nr; i++)
		if (pmof_req_mode(&req[i]) & ~mode)
			return -EBADF;
	return 0;
}

static int submit_run(struct file *file, const struct pmof_submit *s, u32 usize,
		      struct pmof_req *req, int *result)
{
	struct pmof_conn *conn = pmof_file_conn(file);
	int rc;

	rc = submit_fetch(file, s, usize, req);
	if (!rc)
		rc = submit_mode_ok(req, s->nr_ops, file->f_mode);
	if (!rc)
		rc = pmof_conn_check(conn);
	if (rc)
		return rc;
	pmof_submit_run(conn, req, result, s->nr_ops);
	return submit_store(s, usize, req, result);
}

static int ioctl_submit(struct file *file, const struct pmof_submit *s)
{
	struct pmof_req *req;
	int *result;
	u32 usize, i;
	int rc;

	if (s->flags || s->reserved || !s->nr_ops)
		return -EINVAL;
	if (s->nr_ops > PMOF_SUBMIT_MAX)
		return -E2BIG;
	if (get_user(usize, (u32 __user *)u64_to_user_ptr(s->ops)))
		return -EFAULT;
	if (usize < OP_V1)
		return -EINVAL;
	if (usize > PAGE_SIZE)
		return -E2BIG;
	req = kvcalloc(s->nr_ops, sizeof(*req), GFP_KERNEL);
	result = kvcalloc(s->nr_ops, sizeof(*result), GFP_KERNEL);
	rc = req && result ? submit_run(file, s, usize, req, result) : -ENOMEM;
	for (i = 0; req && i < s->nr_ops; i++)
		pmof_call_free(&req[i]);
	kvfree(result);
	kvfree(req);
	return rc;
}

#define DESC(_op, _type, _min, _mode, _fn) {				\
	.opcode = (_op), .size = sizeof(struct _type), .min_size = (_min),	\
	.mode = (_mode), .fn = (_fn) }

static const struct ioctl_desc descs[] = {
	[_IOC_NR(PMOF_IOC_GET_INFO)]	= DESC(0, pmof_info, INFO_V1, 0, ioctl_get_info),
	[_IOC_NR(PMOF_IOC_PUT)]		= DESC(PMOF_OP_PUT, pmof_rw, RW_V1, FMODE_WRITE, ioctl_rw),
	[_IOC_NR(PMOF_IOC_GET)]		= DESC(PMOF_OP_GET, pmof_rw, RW_V1, FMODE_READ, ioctl_rw),
	[_IOC_NR(PMOF_IOC_PERSIST)]	= DESC(PMOF_OP_PERSIST, pmof_persist, PERSIST_V1, 0,
					       ioctl_persist),
	[_IOC_NR(PMOF_IOC_CAS)]		= DESC(PMOF_OP_CAS, pmof_atomic, ATOMIC_V1,
					       FMODE_READ | FMODE_WRITE, ioctl_atomic),
	[_IOC_NR(PMOF_IOC_FETCH_ADD)]	= DESC(PMOF_OP_FETCH_ADD, pmof_atomic, ATOMIC_V1,
					       FMODE_READ | FMODE_WRITE, ioctl_atomic),
	[_IOC_NR(PMOF_IOC_PREPARE)]	= DESC(PMOF_OP_PREPARE, pmof_object, OBJECT_V1,
					       FMODE_WRITE, ioctl_object),
	[_IOC_NR(PMOF_IOC_REVALIDATE)]	= DESC(PMOF_OP_REVALIDATE, pmof_object, OBJECT_V1,
					       FMODE_WRITE, ioctl_object),
	[_IOC_NR(PMOF_IOC_SUBMIT)]	= DESC(0, pmof_submit, SUBMIT_V1, 0, NULL),
};

long pmof_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *uarg = (void __user *)arg;
	const struct ioctl_desc *d;
	union ioctl_arg karg;
	u32 usize;
	int rc;

	if (_IOC_TYPE(cmd) != PMOF_IOC_MAGIC || _IOC_DIR(cmd) != _IOC_NONE || _IOC_SIZE(cmd) ||
	    _IOC_NR(cmd) >= ARRAY_SIZE(descs))
		return -ENOTTY;
	d = &descs[_IOC_NR(cmd)];
	if (get_user(usize, (u32 __user *)uarg))
		return -EFAULT;
	if (usize < d->min_size)
		return -EINVAL;
	if (usize > PAGE_SIZE)
		return -E2BIG;
	rc = copy_struct_from_user(&karg, d->size, uarg, usize);
	if (rc)
		return rc;
	if ((file->f_mode & d->mode) != d->mode)
		return -EBADF;
	if (!d->fn)
		return ioctl_submit(file, &karg.submit);
	return d->fn(file, d->opcode, &karg, uarg);
}
