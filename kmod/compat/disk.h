/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between kernels in making a block device; as compat.h. */
#ifndef PMOF_COMPAT_DISK_H
#define PMOF_COMPAT_DISK_H

#include <linux/blk-mq.h>

#include "compat.h"

/**
 * struct pmof_disk_limits - of a block device that need not seek
 * @block_size: bytes of a logical block
 * @physical_size: bytes that are best written together
 * @max_segments: pieces of memory of a request
 * @max_segment_size: bytes of one
 * @dma_mask: bits of an address of a piece that must be zero
 * @max_sectors: of a read or write
 * @boundary_sectors: none of them crosses a multiple of this
 * @max_zero_sectors: of a DISCARD or WRITE_ZEROES
 * @write_cache: it takes FLUSH and FUA, and needs them
 */
struct pmof_disk_limits {
	unsigned int block_size;
	unsigned int physical_size;
	unsigned short max_segments;
	unsigned int max_segment_size;
	unsigned int dma_mask;
	unsigned int max_sectors;
	unsigned int boundary_sectors;
	unsigned int max_zero_sectors;
	bool write_cache;
};

#ifdef HAVE_DISK_FEATURES
static inline struct gendisk *pmof_disk_alloc(struct blk_mq_tag_set *set,
					      const struct pmof_disk_limits *l, void *data)
{
	struct queue_limits lim = {
		.logical_block_size	= l->block_size,
		.physical_block_size	= l->physical_size,
		.io_min			= l->physical_size,
		.max_segments		= l->max_segments,
		.max_segment_size	= l->max_segment_size,
		.dma_alignment		= l->dma_mask,
		.max_hw_sectors		= l->max_sectors,
		.chunk_sectors		= l->boundary_sectors,
		.max_hw_discard_sectors	= l->max_zero_sectors,
		.discard_granularity	= l->physical_size,
		.max_write_zeroes_sectors = l->max_zero_sectors,
	};

	if (l->write_cache)
		lim.features = BLK_FEAT_WRITE_CACHE | BLK_FEAT_FUA;
	return blk_mq_alloc_disk(set, &lim, data);
}
#else
static inline struct gendisk *pmof_disk_alloc(struct blk_mq_tag_set *set,
					      const struct pmof_disk_limits *l, void *data)
{
	struct gendisk *disk = blk_mq_alloc_disk(set, data);
	struct request_queue *q;

	if (IS_ERR(disk))
		return disk;
	q = disk->queue;
	blk_queue_logical_block_size(q, l->block_size);
	blk_queue_physical_block_size(q, l->physical_size);
	blk_queue_io_min(q, l->physical_size);
	blk_queue_max_segments(q, l->max_segments);
	blk_queue_max_segment_size(q, l->max_segment_size);
	blk_queue_dma_alignment(q, l->dma_mask);
	blk_queue_max_hw_sectors(q, l->max_sectors);
	blk_queue_chunk_sectors(q, l->boundary_sectors);
	blk_queue_max_discard_sectors(q, l->max_zero_sectors);
	blk_queue_max_write_zeroes_sectors(q, l->max_zero_sectors);
	q->limits.discard_granularity = l->physical_size;
	blk_queue_flag_set(QUEUE_FLAG_NONROT, q);
	blk_queue_write_cache(q, l->write_cache, l->write_cache);
	return disk;
}
#endif

#endif /* PMOF_COMPAT_DISK_H */
