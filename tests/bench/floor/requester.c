// SPDX-License-Identifier: GPL-2.0
/*
 * The client's end. The thread sleeps for its completion, which comes in the context in which
 * pmof-client takes those of its I/O queues; the time is that of post, round trip and wake-up,
 * without the system call around them.
 */
#define pr_fmt(fmt) "pmof-floor: " fmt

#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/uaccess.h>

#include "floor.h"

static struct floor_end end;
static struct floor_where where;
static DEFINE_MUTEX(run_lock);		/* one request at a time; protects the next three */
static struct completion run_done;
static enum ib_wc_status run_status;
static bool broken;			/* a request has timed out: its memory is not ours */

static struct completion step_done;
static int step_status;

static void send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	run_status = wc->status;
	complete(&run_done);
}

static struct ib_cqe send_cqe = { .done = send_done };

static int post(const struct floor_run *run)
{
	struct ib_sge sge = {
		.addr	= end.dma,
		.length	= run->bytes,
		.lkey	= end.pd->local_dma_lkey,
	};
	struct ib_rdma_wr wr = {
		.wr.wr_cqe	= &send_cqe,
		.wr.opcode	= run->op == FLOOR_READ ? IB_WR_RDMA_READ : IB_WR_RDMA_WRITE,
		.wr.send_flags	= IB_SEND_SIGNALED,
		.wr.sg_list	= &sge,
		.wr.num_sge	= 1,
		.remote_addr	= be64_to_cpu(where.addr),
		.rkey		= be32_to_cpu(where.rkey),
	};

	return ib_post_send(end.qp.ib, &wr.wr, NULL);
}

static int run_one(struct floor_run *run)
{
	ktime_t start;
	int rc;

	if (broken)
		return -EIO;
	reinit_completion(&run_done);
	start = ktime_get();
	rc = post(run);
	if (rc)
		return rc;
	if (!wait_for_completion_timeout(&run_done, 10 * HZ)) {
		broken = true;
		return -ETIMEDOUT;
	}
	run->ns = ktime_to_ns(ktime_sub(ktime_get(), start));
	return run_status == IB_WC_SUCCESS ? 0 : -EIO;
}

static long floor_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct floor_run run;
	int rc;

	if (cmd != FLOOR_IOC_RUN)
		return -ENOTTY;
	if (copy_from_user(&run, (void __user *)arg, sizeof(run)))
		return -EFAULT;
	if (run.op > FLOOR_WRITE || !run.bytes || run.bytes > FLOOR_MAX)
		return -EINVAL;
	mutex_lock(&run_lock);
	rc = run_one(&run);
	mutex_unlock(&run_lock);
	if (!rc && copy_to_user((void __user *)arg, &run, sizeof(run)))
		rc = -EFAULT;
	return rc;
}

static const struct file_operations floor_fops = {
	.owner		= THIS_MODULE,
	.unlocked_ioctl	= floor_ioctl,
};

static struct miscdevice floor_dev = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "pmof-floor",
	.fops	= &floor_fops,
};

static int take_where(struct rdma_cm_event *ev)
{
	if (ev->param.conn.private_data_len < sizeof(where))
		return -EPROTO;
	memcpy(&where, ev->param.conn.private_data, sizeof(where));
	return 0;
}

static int handler(struct rdma_cm_id *id, struct rdma_cm_event *ev)
{
	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		step_status = 0;
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		step_status = take_where(ev);
		break;
	default:
		step_status = -ECONNREFUSED;
		break;
	}
	complete(&step_done);
	return 0;
}

static int wait_step(int rc)
{
	if (rc)
		return rc;
	if (!wait_for_completion_timeout(&step_done, 10 * HZ))
		return -ETIMEDOUT;
	return step_status;
}

static int connect_end(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = {
		.initiator_depth	= min(id->device->attrs.max_qp_init_rd_atom, 16),
		.retry_count		= 7,
		.rnr_retry_count	= 7,
	};

	return wait_step(rdma_connect(id, &param));
}

int floor_connect(const struct sockaddr_in *addr)
{
	struct rdma_cm_id *id;
	int rc;

	init_completion(&run_done);
	init_completion(&step_done);
	id = rdma_create_id(&init_net, handler, NULL, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	rc = wait_step(rdma_resolve_addr(id, NULL, (struct sockaddr *)addr, 3000));
	if (!rc)
		rc = wait_step(rdma_resolve_route(id, 3000));
	if (!rc)
		rc = floor_end_open(&end, id, 0);
	if (rc) {
		rdma_destroy_id(id);
		return rc;
	}
	rc = connect_end(id);
	if (!rc)
		rc = misc_register(&floor_dev);
	if (rc)
		floor_end_close(&end);
	return rc;
}

void floor_disconnect(void)
{
	misc_deregister(&floor_dev);
	floor_end_close(&end);
}
