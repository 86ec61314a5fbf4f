// SPDX-License-Identifier: GPL-2.0
/* /dev/pmofN: the disk, its limits, how it comes and goes, and who may write. */
#define pr_fmt(fmt) "pmof-client: " fmt

#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "blk.h"
#include "disk.h"

#define BLK_MAX_BYTES		SZ_1M		/* of a read or write */
#define BLK_PHYSICAL_SIZE	4096		/* a page of the medium */
#define BLK_DMA_MASK		3		/* memory may start at any word */

/* Disks that are not freed yet: their last user runs our code for it.  One more: the module. */
static atomic_t nr_disks = ATOMIC_INIT(1);
static DECLARE_COMPLETION(disks_gone);

static void blk_free_disk(struct gendisk *disk)
{
	struct pmof_conn *conn = disk->private_data;

	put_device(&conn->dev);
	if (atomic_dec_and_test(&nr_disks))
		complete(&disks_gone);
}

/* BLKROSET: what the server does not grant cannot be had. */
static int blk_set_read_only(struct block_device *bdev, bool ro)
{
	struct pmof_conn *conn = bdev->bd_disk->private_data;

	return !ro && pmof_conn_read_only(conn) ? -EROFS : 0;
}

static const struct block_device_operations blk_fops = {
	.owner		= THIS_MODULE,
	.free_disk	= blk_free_disk,
	.set_read_only	= blk_set_read_only,
};

static void dead_work(struct work_struct *work)
{
	blk_mark_disk_dead(container_of(work, struct pmof_blk, dead)->disk);
}

/* Before the connection is live.  Return: 0 or -ENOMEM. */
int pmof_blk_alloc(struct pmof_conn *conn)
{
	struct pmof_blk *blk;

	if (!conn->opt.block)
		return 0;
	blk = kzalloc(sizeof(*blk), GFP_KERNEL);
	if (!blk)
		return -ENOMEM;
	blk->conn = conn;
	mutex_init(&blk->claim_lock);
	mutex_init(&blk->pause_lock);
	INIT_WORK(&blk->dead, dead_work);
	conn->blk = blk;
	return 0;
}

/* With the connection object. */
void pmof_blk_free(struct pmof_conn *conn)
{
	kfree(conn->blk);
}

static void limits_fill(struct pmof_conn *conn, struct pmof_disk_limits *l)
{
	unsigned int sge = PMOF_SLOT_SGE;
	unsigned int i;

	for (i = 0; i < conn->nr_queues; i++)
		sge = min3(sge, conn->queues[i].write_sge, conn->queues[i].read_sge);
	*l = (struct pmof_disk_limits) {
		.block_size		= conn->opt.block_size,
		.physical_size		= BLK_PHYSICAL_SIZE,
		.max_segments		= sge,
		.max_segment_size	= conn->max_sge_bytes,
		.dma_mask		= BLK_DMA_MASK,
		.max_sectors		= BLK_MAX_BYTES >> SECTOR_SHIFT,
		/* A request lies in one segment, so it is one chain. */
		.boundary_sectors	= 1U << (conn->layout.shift - SECTOR_SHIFT),
		.max_zero_sectors	= PMOF_MAX_ZERO >> SECTOR_SHIFT,
		.write_cache		= conn->opt.writeback,
	};
}

/* Tags: as many as every queue has slots for, since all have the same number. */
static int tags_alloc(struct pmof_blk *blk)
{
	struct blk_mq_tag_set *set = &blk->tags;
	struct pmof_conn *conn = blk->conn;
	unsigned int depth = PMOF_MAX_DEPTH;
	unsigned int i;

	for (i = 0; i < conn->nr_queues; i++)
		depth = min_t(unsigned int, depth,
			      conn->queues[i].depth - conn->queues[i].nr_char);
	set->ops = &pmof_blk_ops;
	set->nr_hw_queues = conn->nr_queues;
	set->nr_maps = conn->nr_queues > conn->nr_shared ? HCTX_MAX_TYPES : 1;
	set->queue_depth = depth;
	set->numa_node = NUMA_NO_NODE;
	set->cmd_size = sizeof(struct pmof_blk_cmd);
	set->timeout = pmof_io_timeout();
	set->flags = BLK_MQ_F_SHOULD_MERGE | BLK_MQ_F_NO_SCHED_BY_DEFAULT;
	set->driver_data = blk;
	return blk_mq_alloc_tag_set(set);
}

static int disk_alloc(struct pmof_blk *blk)
{
	struct pmof_conn *conn = blk->conn;
	struct pmof_disk_limits limits;
	struct gendisk *disk;

	limits_fill(conn, &limits);
	disk = pmof_disk_alloc(&blk->tags, &limits, conn);
	if (IS_ERR(disk))
		return PTR_ERR(disk);
	snprintf(disk->disk_name, sizeof(disk->disk_name), "pmof%d", conn->instance);
	disk->fops = &blk_fops;
	disk->private_data = conn;
	set_capacity(disk, round_down(conn->login.ns_size, conn->opt.block_size) >> SECTOR_SHIFT);
	set_disk_ro(disk, pmof_conn_read_only(conn));
	blk->disk = disk;
	return 0;
}

static void unpause(struct pmof_blk *blk)
{
	lockdep_assert_held(&blk->pause_lock);
	if (!blk->paused)
		return;
	blk->paused = false;
	blk_mq_unquiesce_queue(blk->disk->queue);
}

/*
 * From the first on a lost connection stops the disk's requests until it is
 * decided what becomes of them; the second lets them go, to fail if need be.
 * Requests that come while the disk is not stopped yet are asked for again by the
 * block layer.
 */
static void set_pausable(struct pmof_blk *blk, bool pausable)
{
	mutex_lock(&blk->pause_lock);
	blk->pausable = pausable;
	if (!pausable)
		unpause(blk);
	mutex_unlock(&blk->pause_lock);
}

/* The connection is lost, and requests are to wait for another. */
void pmof_blk_pause(struct pmof_conn *conn)
{
	struct pmof_blk *blk = conn->blk;

	if (!blk)
		return;
	mutex_lock(&blk->pause_lock);
	/* Who sets @refuse behind this look comes to pmof_blk_resume() after it. */
	if (blk->pausable && !blk->paused && !READ_ONCE(conn->refuse)) {
		blk->paused = true;
		blk_mq_quiesce_queue(blk->disk->queue);
	}
	mutex_unlock(&blk->pause_lock);
}

/* There is another one, or requests are to fail. */
void pmof_blk_resume(struct pmof_conn *conn)
{
	struct pmof_blk *blk = conn->blk;

	if (!blk)
		return;
	mutex_lock(&blk->pause_lock);
	unpause(blk);
	mutex_unlock(&blk->pause_lock);
}

/*
 * The server has restarted, and writes may be lost that were not flushed: a file
 * system must not go on as if nothing had been.  Until the device is made anew.
 */
void pmof_blk_stale(struct pmof_conn *conn)
{
	if (!conn->blk || !conn->opt.writeback)
		return;
	/* [V7] Before the marks are gone. */
	WRITE_ONCE(conn->blk->stale, true);
	dev_err(&conn->dev, "unflushed writes may be lost, the disk fails all I/O: disconnect and connect again\n");
}

/* From here on a lost connection marks the disk dead; perhaps it is lost already. */
static void blk_added(struct pmof_blk *blk)
{
	struct pmof_conn *conn = blk->conn;

	spin_lock_irq(&conn->state_lock);
	blk->added = true;
	if (conn->state == PMOF_DEAD)
		queue_work(system_unbound_wq, &blk->dead);
	spin_unlock_irq(&conn->state_lock);
	set_pausable(blk, true);
}

/**
 * pmof_blk_add - make /dev/pmofN
 * @conn: live, or lost since; does nothing with block=0
 *
 * Reads the partition table.  Return: 0 or a negative errno, with nothing left
 * behind.  Sleeps.
 */
int pmof_blk_add(struct pmof_conn *conn)
{
	struct pmof_blk *blk = conn->blk;
	int rc;

	if (!blk)
		return 0;
	rc = tags_alloc(blk);
	if (rc)
		return rc;
	rc = -ENOMEM;
	blk->wq = alloc_workqueue("pmof_blk/%d", WQ_MEM_RECLAIM | WQ_HIGHPRI, 0, conn->instance);
	if (!blk->wq)
		goto free_tags;
	rc = disk_alloc(blk);
	if (rc)
		goto free_wq;
	/* For blk_free_disk(), which is called for a disk that has been added. */
	get_device(&conn->dev);
	atomic_inc(&nr_disks);
	rc = device_add_disk(&conn->dev, blk->disk, NULL);
	if (rc)
		goto put_disk;
	blk_added(blk);
	return 0;

put_disk:
	atomic_dec(&nr_disks);
	put_device(&conn->dev);
	put_disk(blk->disk);
free_wq:
	destroy_workqueue(blk->wq);
free_tags:
	blk_mq_free_tag_set(&blk->tags);
	return rc;
}

/*
 * Takes the disk away.  On a live connection dirty pages are written first; the
 * wait for that ends with each request's time limit.
 */
void pmof_blk_del(struct pmof_conn *conn)
{
	struct pmof_blk *blk = conn->blk;

	if (!blk)
		return;
	spin_lock_irq(&conn->state_lock);
	blk->added = false;
	spin_unlock_irq(&conn->state_lock);
	cancel_work_sync(&blk->dead);
	set_pausable(blk, false);
	mutex_lock(&blk->claim_lock);
	blk->removed = true;
	mutex_unlock(&blk->claim_lock);
	del_gendisk(blk->disk);
	/* No request is left; what has ended the last one may still be in our code. */
	destroy_workqueue(blk->wq);
	blk_mq_free_tag_set(&blk->tags);
	put_disk(blk->disk);
}

/*
 * The connection is dead and its requests have failed.  Telling the file system
 * may take its time, and the teardown is waited for by the removal of RDMA
 * devices: so in a work item of its own.
 */
void pmof_blk_lost(struct pmof_conn *conn)
{
	struct pmof_blk *blk = conn->blk;

	spin_lock_irq(&conn->state_lock);
	if (blk && blk->added)
		queue_work(system_unbound_wq, &blk->dead);
	spin_unlock_irq(&conn->state_lock);
}

/**
 * pmof_blk_claim - the character device is opened for writing
 * @conn: connection
 *
 * Keeps the block device from being mounted, or fails if it is: the two do not
 * see each other's caches.  pmof_blk_unclaim() must follow.  Return: 0, -EBUSY,
 * -ENODEV, -EINTR (a fatal signal ends the wait for another opener; that one's for the
 * disk ends when the connection is back, or I/O fails).
 */
int pmof_blk_claim(struct pmof_conn *conn)
{
	struct pmof_blk *blk = conn->blk;
	int rc = 0;

	if (!blk)
		return 0;
	if (mutex_lock_killable(&blk->claim_lock))
		return -EINTR;
	if (blk->removed)
		rc = -ENODEV;
	else if (!blk->writers)
		rc = pmof_bdev_claim(&blk->claim, disk_devt(blk->disk), blk);
	if (!rc)
		blk->writers++;
	mutex_unlock(&blk->claim_lock);
	return rc;
}

void pmof_blk_unclaim(struct pmof_conn *conn)
{
	struct pmof_blk *blk = conn->blk;

	if (!blk)
		return;
	mutex_lock(&blk->claim_lock);
	if (!--blk->writers)
		pmof_bdev_close(&blk->claim);
	mutex_unlock(&blk->claim_lock);
}

/*
 * Nobody has a disk open, which would hold the module; but who has closed the
 * last one may still be freeing it.
 */
void pmof_blk_exit(void)
{
	if (!atomic_dec_and_test(&nr_disks))
		wait_for_completion(&disks_gone);
	/* It may not have returned from complete() yet, if it was preempted there. */
	synchronize_rcu_tasks();
}
