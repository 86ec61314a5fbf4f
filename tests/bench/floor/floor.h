/* SPDX-License-Identifier: GPL-2.0 */
/* The floor: /dev/pmof-floor does one RDMA READ or WRITE a call, and says how long it took. */
#ifndef PMOF_FLOOR_H
#define PMOF_FLOOR_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define FLOOR_MAX	0x100000U	/* bytes of one request */

enum floor_op {
	FLOOR_READ,
	FLOOR_WRITE,
};

/**
 * struct floor_run - one round trip
 * @op: enum floor_op
 * @bytes: 1 to FLOOR_MAX
 * @ns: out: from before the post until the thread that waited runs again
 */
struct floor_run {
	__u32 op;
	__u32 bytes;
	__aligned_u64 ns;
};

#define FLOOR_IOC_RUN	_IOWR('F', 1, struct floor_run)

#ifdef __KERNEL__
#include "queue.h"

#define FLOOR_PORT	20050

/* What the responder tells in its accept: where requests may go. */
struct floor_where {
	__be64 addr;
	__be32 rkey;
} __packed;

/* One end of the connection: a queue pair as pmof's are made, and memory of FLOOR_MAX bytes. */
struct floor_end {
	struct rdma_cm_id *id;
	struct ib_pd *pd;
	struct pmof_qp qp;
	void *memory;
	u64 dma;
};

int floor_end_open(struct floor_end *end, struct rdma_cm_id *id, unsigned int pd_flags);
void floor_end_close(struct floor_end *end);

int floor_listen(const struct sockaddr_in *addr);
void floor_unlisten(void);
int floor_connect(const struct sockaddr_in *addr);
void floor_disconnect(void);
#endif

#endif /* PMOF_FLOOR_H */
