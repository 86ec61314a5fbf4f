/* SPDX-License-Identifier: GPL-2.0 */
/* What a namespace knows of its bad blocks; see badblocks.c. */
#ifndef PMOF_SERVER_BADBLOCKS_H
#define PMOF_SERVER_BADBLOCKS_H

#include <linux/badblocks.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include "pieces.h"

struct pmof_ns;
struct pmof_srv_req;

struct pmof_bad {
	struct badblocks *list;		/* the block device's, or NULL; fixed while enabled */
	struct mutex scan;		/* held by a rescan, until the sessions are gone */
	struct mutex lock;		/* the next three: a leaf */
	struct pmof_pages pages;	/* as the list was when it was last read */
	struct pmof_pages spare;	/* for the next time */
	u64 sectors;
	struct delayed_work rescan;
	struct mutex mend;		/* a repair is under way, or the list gets a failed page */
	bool failing;			/* mend: it is not out of reach yet */
	unsigned long mend_after;	/* mend: jiffies; the kernel may still unmap it */
	u64 seq;			/* pmof_sessions_mutex: times that pages were added */
};

/* What a range has of bad sectors, now. */
enum pmof_bad_kind {
	PMOF_BAD_NONE,
	PMOF_BAD_NEAR,			/* none, but one of its pages has */
	PMOF_BAD_IN,
};

/* badblocks.c */
void pmof_bad_init(struct pmof_ns *ns);
int pmof_bad_open(struct pmof_ns *ns);
void pmof_bad_close(struct pmof_ns *ns);
void pmof_bad_rescan(struct pmof_ns *ns);
void pmof_bad_kick(struct pmof_ns *ns);
bool pmof_bad_failed(struct pmof_ns *ns, u64 offset, u64 length);
bool pmof_bad_mendable(const struct pmof_ns *ns);
u64 pmof_bad_count(struct pmof_ns *ns, u64 offset, u64 length);
enum pmof_bad_kind pmof_bad_look(const struct pmof_ns *ns, u64 offset, u64 length);
int pmof_bad_status_slow(const struct pmof_ns *ns, u64 offset, u64 length);

/* The one look that a clean namespace pays for. */
static inline bool pmof_bad_any(const struct pmof_bad *bad)
{
	return unlikely(bad->list && READ_ONCE(bad->list->count));
}

/* repair.c */
int pmof_repair_init(void);
void pmof_repair_exit(void);
void pmof_repair_init_ns(struct pmof_ns *ns);
void pmof_repair_close_ns(struct pmof_ns *ns);
bool pmof_repair_wanted(struct pmof_srv_req *req, const struct pmof_range *range);
void pmof_repair_queue(struct pmof_srv_req *req);

/* pieces.c */
int pmof_pieces_get(struct pmof_srv_req *req);

/* bad_get.c */
int pmof_bad_get(struct pmof_srv_req *req);

#endif /* PMOF_SERVER_BADBLOCKS_H */
