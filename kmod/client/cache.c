// SPDX-License-Identifier: GPL-2.0
/*
 * The inode behind mmap: its life, and how it stays coherent with operations.
 *
 * An inode of a device node has a backing device that writes nothing back.  So
 * pages are cached in an inode of our own, on a file system of our own with a
 * real one: dirty throttling, the flusher and sync(2) work as for any other.
 */
#include <linux/backing-dev.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/pagemap.h>
#include <linux/pseudo_fs.h>

#include "client.h"

#define CACHE_MAGIC	0x706d6f66	/* "pmof" */

static int cache_init_fs_context(struct fs_context *fc)
{
	return init_pseudo(fc, CACHE_MAGIC) ? 0 : -ENOMEM;
}

static struct file_system_type cache_fs_type = {
	.owner			= THIS_MODULE,
	.name			= "pmof-cache",
	.init_fs_context	= cache_init_fs_context,
	.kill_sb		= kill_anon_super,
};

static struct inode *cache_inode(struct pmof_conn *conn, struct super_block *sb)
{
	struct inode *inode = new_inode(sb);

	if (!inode)
		return NULL;
	inode->i_mode = S_IFREG | 0600;
	inode->i_ino = 2;
	inode->i_private = conn;
	inode->i_mapping->a_ops = &pmof_cache_aops;
	i_size_write(inode, conn->login.ns_size);
	/* Write-back looks at hashed inodes only. */
	inode_fake_hash(inode);
	return inode;
}

/* Makes conn->cache; the namespace's size is known.  Return: 0 or -errno. */
int pmof_cache_init(struct pmof_conn *conn)
{
	struct vfsmount *mnt = kern_mount(&cache_fs_type);
	struct inode *inode;
	int rc;

	if (IS_ERR(mnt))
		return PTR_ERR(mnt);
	rc = super_setup_bdi_name(mnt->mnt_sb, "pmofc%d", conn->instance);
	if (rc)
		goto unmount;
	mnt->mnt_sb->s_bdi->io_pages = PMOF_SLOT_SGE;
	inode = cache_inode(conn, mnt->mnt_sb);
	rc = -ENOMEM;
	if (!inode)
		goto unmount;
	mutex_init(&conn->cache.lock);
	mutex_init(&conn->cache.lost_lock);
	conn->cache.mnt = mnt;
	conn->cache.mapping = inode->i_mapping;
	return 0;

unmount:
	kern_unmount(mnt);
	return rc;
}

/*
 * With the connection object, and before its queues: who holds a mapping or an
 * open file holds that, so only the flusher may still be at work here, and is
 * waited for.
 */
void pmof_cache_exit(struct pmof_conn *conn)
{
	if (!conn->cache.mnt)
		return;
	iput(conn->cache.mapping->host);
	kern_unmount(conn->cache.mnt);
}

/* What programs have stored and left.  Errors go to open files. */
void pmof_cache_flush(struct pmof_conn *conn)
{
	filemap_fdatawrite(conn->cache.mapping);
	filemap_fdatawait_keep_errors(conn->cache.mapping);
}

/*
 * Nothing is cached when this returns.  Who faults meanwhile waits: else mappings that are in use
 * could have pages come as fast as they go.  It waits for those that are being read.
 */
static void drop_pages(struct address_space *mapping)
{
	filemap_invalidate_lock(mapping);
	truncate_inode_pages(mapping, 0);
	filemap_invalidate_unlock(mapping);
}

/*
 * After a disconnect: mappings that are left lose their pages, but for private
 * copies, and can have no others, since nothing can be read any more.
 */
void pmof_cache_shutdown(struct pmof_conn *conn)
{
	unmap_mapping_range(conn->cache.mapping, 0, 0, 0);
	drop_pages(conn->cache.mapping);
}

/*
 * The file's pages are the device's, whichever node it was opened by.  Returns 0 or -EINTR:
 * the last writer's close may be writing back to a server that does not answer.
 */
int pmof_cache_open(struct pmof_conn *conn, struct file *file)
{
	struct pmof_cache *c = &conn->cache;

	if (mutex_lock_killable(&c->lock))
		return -EINTR;
	c->nr_files++;
	c->nr_writers += !!(file->f_mode & FMODE_WRITE);
	mutex_unlock(&c->lock);
	file->f_mapping = c->mapping;
	/* As open() does it for other files: errors from here on are this file's to hear. */
	file->f_wb_err = filemap_sample_wb_err(file->f_mapping);
	return 0;
}

/*
 * Nothing is dirty when the last who could have stored has gone, since the block
 * device may be opened then; and nothing is cached when all have gone, since it,
 * or another client, may write before the next one comes.
 */
void pmof_cache_close(struct pmof_conn *conn, struct file *file)
{
	struct pmof_cache *c = &conn->cache;
	bool last_writer;

	mutex_lock(&c->lock);
	last_writer = (file->f_mode & FMODE_WRITE) && !--c->nr_writers;
	if (last_writer)
		pmof_cache_flush(conn);
	/* Readers fault in theirs again: what somebody has pinned may be made dirty later. */
	if (!--c->nr_files || last_writer)
		drop_pages(c->mapping);
	mutex_unlock(&c->lock);
}

static pgoff_t last_page(const struct pmof_range *range)
{
	return (range->offset + range->length - 1) >> PAGE_SHIFT;
}

/*
 * What was stored to the range through mappings goes to the server, durably.  Sleeps.
 *
 * Errors are counted, and not those of wb_err: that one also has earlier ones, which are
 * fsync's to tell, changes when they are told, and tells of what a server has forgotten.
 * A page beside the range that fails meanwhile fails this, too.
 */
int pmof_cache_write_out(struct pmof_conn *conn, const struct pmof_range *range)
{
	struct address_space *mapping = conn->cache.mapping;
	int errors = atomic_read(&conn->cache.write_errors);
	loff_t last = range->offset + range->length - 1;
	int rc;

	if (!range->length)
		return 0;
	rc = filemap_fdatawrite_range(mapping, range->offset, last);
	filemap_fdatawait_range_keep_errors(mapping, range->offset, last);
	if (!rc && atomic_read(&conn->cache.write_errors) != errors)
		rc = -EIO;
	return rc;
}

/*
 * The range was written, or perhaps so, not by way of the cache.  [M3] Behind the
 * operation's end: pages that were read before it may be old, those that will be
 * read are not.  Sleeps.
 */
void pmof_cache_invalidate(struct pmof_conn *conn, const struct pmof_range *range)
{
	struct address_space *mapping = conn->cache.mapping;

	if (!range->length)
		return;
	/*
	 * A page that was stored to meanwhile stays, and its write-back may undo
	 * what the operation has written beside: whoever does that hears of it.
	 */
	if (invalidate_inode_pages2_range(mapping, range->offset >> PAGE_SHIFT, last_page(range)))
		errseq_set(&mapping->wb_err, -EIO);
}

/*
 * fsync, fdatasync, and msync, which names a range.  Pages go with durable puts: so
 * behind them there is to be persisted only what was put with no PERSIST, and
 * an msync where nothing was is done.
 */
int pmof_fsync(struct file *file, loff_t start, loff_t end, int datasync)
{
	struct pmof_conn *conn = pmof_file_conn(file);
	u64 size = conn->login.ns_size;
	struct pmof_req req = { .opcode = PMOF_OP_PERSIST, .offset = start, .file = file };
	u32 epoch = READ_ONCE(conn->epoch);
	int rc = pmof_conn_check(conn);
	struct pmof_range range;

	/* Ahead of what takes the file's record of lost pages: it is told, or stays. */
	if (!rc)
		rc = file_write_and_wait_range(file, start, end);
	if (rc || start >= size)
		return rc;
	req.length = end < size ? end - start + 1 : size - start;
	range = (struct pmof_range) { req.offset, req.length };
	/* [V7] There may be none because the server has restarted, and all are lost. */
	if (end != LLONG_MAX && pmof_dirty_none(conn, &range)) {
		/* Or because the device has gone, which refuses before it drops its pages. */
		rc = pmof_conn_check(conn) ?: file_check_and_advance_wb_err(file);
		return rc ?: epoch == READ_ONCE(conn->epoch) ? 0 : -EIO;
	}
	return pmof_req_run(conn, &req);
}
