// SPDX-License-Identifier: GPL-2.0
/* 6.11: a disk is made with its limits and features. */
#include <linux/blk-mq.h>

struct gendisk *pmof_probe(struct blk_mq_tag_set *set, void *data);
struct gendisk *pmof_probe(struct blk_mq_tag_set *set, void *data)
{
	struct queue_limits lim = { .features = BLK_FEAT_WRITE_CACHE };

	return blk_mq_alloc_disk(set, &lim, data);
}
