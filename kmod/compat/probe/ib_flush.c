// SPDX-License-Identifier: GPL-2.0
/* 6.3: RDMA FLUSH and ATOMIC_WRITE have opcodes, access rights and capabilities. */
#include <rdma/ib_verbs.h>

bool pmof_probe(const struct ib_send_wr *wr, u64 caps, int access);
bool pmof_probe(const struct ib_send_wr *wr, u64 caps, int access)
{
	return (wr->opcode == IB_WR_FLUSH || wr->opcode == IB_WR_ATOMIC_WRITE) &&
	       (caps & (IB_DEVICE_FLUSH_GLOBAL | IB_DEVICE_FLUSH_PERSISTENT |
			IB_DEVICE_ATOMIC_WRITE)) &&
	       (access & (IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_FLUSH_PERSISTENT));
}
