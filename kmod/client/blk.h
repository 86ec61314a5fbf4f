/* SPDX-License-Identifier: GPL-2.0 */
/* The block device /dev/pmofN, and the calls between its files. */
#ifndef PMOF_BLK_H
#define PMOF_BLK_H

#include <linux/blk-mq.h>

#include "client.h"
#include "compat.h"

/**
 * struct pmof_blk - a connection's block device
 *
 * Lives as long as the connection object.  The disk holds a reference on that
 * until its last user has closed it; requests are under way only between
 * pmof_blk_add() and pmof_blk_del().
 */
struct pmof_blk {
	struct pmof_conn *conn;
	struct gendisk *disk;
	struct blk_mq_tag_set tags;
	/*
	 * What has to sleep before it can be sent; part of writing memory back.  Its own: where
	 * only the rescuer runs, a disk whose server is away holds no other up.
	 */
	struct workqueue_struct *wq;
	bool added;		/* conn->state_lock: @dead may be queued */
	bool stale;		/* what was written and not flushed may be lost: no more I/O */
	struct mutex pause_lock;	/* the next two */
	bool pausable;		/* there is a disk */
	bool paused;		/* its requests wait */
	struct work_struct dead;
	struct mutex claim_lock;	/* the next three */
	struct pmof_bdev claim;	/* while @writers */
	unsigned int writers;	/* open files of the character device that may write */
	bool removed;		/* @disk may be gone */
};

/* Of each request, with its tag. */
struct pmof_blk_cmd {
	struct work_struct work;	/* what has to sleep before it can go out */
	bool working;
	u8 losses;			/* connections that were lost under it */
	u32 session;			/* it was begun on */
	u32 lost_session;		/* the last of @losses */
	unsigned long since;	/* jiffies when it began */
	int status;
};

/* blk.c */
void pmof_blk_exit(void);
int pmof_blk_alloc(struct pmof_conn *conn);
void pmof_blk_free(struct pmof_conn *conn);
int pmof_blk_add(struct pmof_conn *conn);
void pmof_blk_del(struct pmof_conn *conn);
void pmof_blk_lost(struct pmof_conn *conn);
void pmof_blk_pause(struct pmof_conn *conn);
void pmof_blk_resume(struct pmof_conn *conn);
void pmof_blk_stale(struct pmof_conn *conn);
int pmof_blk_claim(struct pmof_conn *conn);
void pmof_blk_unclaim(struct pmof_conn *conn);

/* blk_io.c */
extern const struct blk_mq_ops pmof_blk_ops;
void pmof_blk_slot_done(struct pmof_slot *slot, int status);
struct pmof_slot *pmof_blk_slot(struct pmof_queue *q, struct request *rq);
void pmof_blk_account(const struct pmof_conn *conn, const struct request *rq);
bool pmof_blk_again(struct request *rq, int rc);
void pmof_blk_end(struct request *rq, int rc);

/*
 * Inside pmof_post_begin(), or behind what has succeeded on a connection: [V7] it was made
 * stale, if so, before that connection let anybody in.
 */
static inline bool pmof_blk_is_stale(const struct pmof_blk *blk)
{
	smp_rmb();	/* pairs with the release of io_ref to its new users */
	return READ_ONCE(blk->stale);
}

static inline struct pmof_range pmof_blk_range(const struct request *rq)
{
	return (struct pmof_range) {
		.offset = (u64)blk_rq_pos(rq) << SECTOR_SHIFT,
		.length = blk_rq_bytes(rq),
	};
}

/* blk_sync.c */
void pmof_blk_flush(struct request *rq);
void pmof_blk_zero(struct pmof_queue *q, struct request *rq);
void pmof_blk_bad(struct request *rq);

#endif /* PMOF_BLK_H */
