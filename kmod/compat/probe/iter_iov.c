// SPDX-License-Identifier: GPL-2.0
/* 6.4: an iov_iter's current user segment has accessors. */
#include <linux/uio.h>

void __user *pmof_probe(const struct iov_iter *iter);
void __user *pmof_probe(const struct iov_iter *iter)
{
	return iter_iov_addr(iter);
}
