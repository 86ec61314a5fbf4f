/* SPDX-License-Identifier: GPL-2.0 */
/* Slots, and the work requests and messages that they post.  Included by client.h. */
#ifndef PMOF_SLOT_H
#define PMOF_SLOT_H

#define PMOF_BOUNCE_SIZE	4096	/* least size of a slot's buffer for what is copied */
#define PMOF_SLOT_SGE		256	/* pages of a slot's data, if no two are neighbours */
#define PMOF_SLOT_WR		8	/* work requests that carry them */
#define PMOF_WR_SGE		32	/* SGEs of one of them, at most */
#define PMOF_VALID_WR		2	/* besides, for a get with PMOF_F_VALID */

/* The largest message that a slot sends, without data that lie elsewhere. */
#define PMOF_SLOT_MSG_SIZE						\
	(sizeof(struct pmof_wire_objects) + PMOF_MAX_OBJECTS * sizeof(__le64))

static_assert(sizeof(struct pmof_wire_put) <= PMOF_SLOT_MSG_SIZE, "any message fits");
static_assert(PMOF_MAX_OBJECTS * sizeof(u64) <= PMOF_BOUNCE_SIZE, "any reply's words fit");

/* Work requests that are posted together, linked in their order. */
struct pmof_chain {
	struct ib_send_wr *first;
	struct ib_send_wr *last;
};

static inline void pmof_chain_add(struct pmof_chain *chain, struct ib_send_wr *wr)
{
	if (chain->first)
		chain->last->next = wr;
	else
		chain->first = wr;
	chain->last = wr;
}

/**
 * struct pmof_slot - what one RDMA request of an operation needs, reserved as a whole
 *
 * Belongs to the sbitmap (or, of the block device's, to its request), to the
 * thread that got it, or to the HCA: from the post until slot_finish().  Memory
 * lives as long as the connection object.
 */
struct pmof_slot {
	struct pmof_queue *q;
	/*
	 * The HCA is done with it: the last call for what it was posted for.  @status:
	 * 0 or a negative errno.  Any context.
	 */
	void (*done)(struct pmof_slot *slot, int status);
	struct pmof_req *req;	/* operation; NULL: not posted for one */
	struct request *rq;	/* the block device's; such a slot has no bounce buffer */
	u16 tag;
	bool keep;		/* the issuer frees the slot, not slot_finish() */
	bool atomic;		/* the old value lies in the bounce buffer */
	u8 awaits;		/* opcode of the message whose reply it waits for */
	u8 nr_trailers;		/* READ into @trailers: 0, 1 or 2 */
	u16 nr_objects;		/* of a PREPARE or REVALIDATE, else 0 */
	struct pmof_req *objects;	/* @nr_objects requests, from which they come */
	struct pmof_range range;	/* of a durable put, or moved from or to the page cache */
	const struct pmof_persist_ops *persist;	/* of a durable put that goes in a train */
	bool leads;		/* what makes a train durable is posted with it */
	struct llist_node *riders;	/* the others of that train: they end with it */
	struct llist_node train;	/* among those, or those that wait */
	struct pmof_bad_get *get;	/* of a GET message, else NULL */
	s64 clean_to;		/* dirty mark: put_seq when it was posted, or -1 */
	int status;
	bool watched;		/* nobody sleeps for it: the queue's watchdog looks after it */
	unsigned long since;	/* jiffies of its post, if it is watched */
	atomic_t pending;	/* completion of the last work request, reply */
	unsigned long flags;	/* PMOF_SLOT_REPLY, _DRAIN */
	struct ib_cqe cqe;	/* last work request of the chain: signaled */
	struct ib_cqe err_cqe;	/* the ones before it: complete only on error */
	struct pmof_buf bounce;
	struct pmof_buf msg;
	struct pmof_buf trailers;
	enum dma_data_direction dir;	/* of what is mapped */
	u16 nr_mapped;		/* of @sge: mapped for this request */
	u16 nr_sge;
	struct ib_sge sge[PMOF_SLOT_SGE];
};

/* Bits of @flags. */
#define PMOF_SLOT_REPLY	0	/* a reply, or the teardown, has still to account for it */
#define PMOF_SLOT_DRAIN	1	/* the teardown only: no reply may end what the HCA still has */

/* slot.c */
int pmof_slot_alloc_all(struct pmof_queue *q);
int pmof_slot_map_all(struct pmof_queue *q);
void pmof_slot_unmap_all(struct pmof_queue *q);
void pmof_slot_free_all(struct pmof_queue *q);
struct pmof_slot *pmof_slot_get(struct pmof_queue *q, struct pmof_req *req);
void pmof_slot_put(struct pmof_slot *slot);
void pmof_slot_reset(struct pmof_slot *slot);
void pmof_slot_use_buf(struct pmof_slot *slot, struct pmof_buf *b, u32 len);
void pmof_slot_map_begin(struct pmof_slot *slot, enum dma_data_direction dir);
int pmof_slot_map(struct pmof_slot *slot, struct page *page, u32 offset, u32 len);
int pmof_slot_map_next(struct pmof_slot *slot, struct bio_vec *run, const struct bio_vec *next);
void pmof_slot_unmap(struct pmof_slot *slot);
void pmof_slot_post(struct pmof_slot *slot, struct ib_send_wr *first, int events);
bool pmof_slot_post_part(struct pmof_slot *slot, struct ib_send_wr *first);
bool pmof_slot_post_tail(struct pmof_slot *slot, struct ib_send_wr *wr);
void pmof_slot_event(struct pmof_slot *slot);
void pmof_req_slot_done(struct pmof_slot *slot, int status);
struct pmof_slot *pmof_slot_take_reply(struct pmof_queue *q, u16 tag);
struct pmof_slot *pmof_slot_take_drained(struct pmof_queue *q, u16 tag);

#define PMOF_SEND_SGE	3

/* A message, with room for the data of a put behind it. */
struct pmof_send {
	struct ib_send_wr wr;
	struct ib_sge sge[PMOF_SEND_SGE];
};

/* What makes a train durable, with its memory. */
struct pmof_tail {
	union {
		struct {
			struct ib_rdma_wr read;
			struct ib_sge sge;
		};
		struct pmof_send send;
	};
};

/* A message is answered. */
static inline int pmof_tail_events(const struct ib_send_wr *wr)
{
	return wr->opcode == IB_WR_SEND ? 2 : 1;
}

/* message.c */
void pmof_send_init_buf(struct pmof_slot *slot, struct pmof_send *s, struct pmof_buf *b, u8 opcode,
			size_t len);
void pmof_send_init(struct pmof_slot *slot, struct pmof_send *s, u8 opcode, size_t len);
void pmof_message_rx(struct pmof_rx *rx, u32 len);
void pmof_message_unasked(struct pmof_conn *conn, u16 queue_id, const struct pmof_wire_hdr *h,
			  u32 len);

/*
 * pmof_post_begin() for a slot from pmof_slot_get(), which may be an ERR_PTR().
 * False: the slot has been put, and *@rc says why.  A request lives on one
 * connection: what it has begun on one that is lost it begins again, as a whole.
 * From the moment when it is lost nothing more is posted on it: what one of its queues has
 * lost, and the server may still execute, would be sent again by another one [V2].
 */
static inline bool pmof_slot_begin(struct pmof_slot *slot, int *rc)
{
	if (IS_ERR(slot)) {
		*rc = PTR_ERR(slot);
		return false;
	}
	if (pmof_post_begin(slot->q->conn)) {
		/* [V4] */
		if (slot->req->session == slot->q->conn->session &&
		    !READ_ONCE(slot->q->conn->lost))
			return true;
		pmof_conn_leave(slot->q->conn);
		pmof_post_end();
	}
	*rc = -PMOF_LOST;
	pmof_slot_put(slot);
	return false;
}

/* rdma.c */
void pmof_rdma_wr_init(struct pmof_slot *slot, struct ib_rdma_wr *wr, enum ib_wr_opcode opcode,
		       u64 offset);
void pmof_rdma_build(struct pmof_slot *slot, struct ib_rdma_wr wr[PMOF_SLOT_WR],
		     struct pmof_chain *chain, enum ib_wr_opcode opcode, u64 offset);

#endif /* PMOF_SLOT_H */
