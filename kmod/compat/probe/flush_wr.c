// SPDX-License-Identifier: GPL-2.0
/* No release yet: a module can post RDMA FLUSH and ATOMIC_WRITE. */
#include <rdma/ib_verbs.h>

u64 pmof_probe(const struct ib_send_wr *wr, const struct ib_device *dev);
u64 pmof_probe(const struct ib_send_wr *wr, const struct ib_device *dev)
{
	const struct ib_flush_wr *flush = flush_wr(wr);

	if (!(dev->attrs.kernel_cap_flags & (IBK_FLUSH_WR | IBK_ATOMIC_WRITE_WR)))
		return 0;
	return flush->remote_addr + flush->length + flush->rkey + flush->type + flush->level;
}
