/* SPDX-License-Identifier: GPL-2.0 */
/* Persist methods, and the marks of what is not durable yet.  Included by client.h. */
#ifndef PMOF_PERSIST_H
#define PMOF_PERSIST_H

/* One message has the server work through at most this much: a bounded time. */
#define PMOF_PERSIST_BYTES	(16ULL << 20)
#define PMOF_PERSIST_RANGES	32	/* and so many ranges */
#define PMOF_PERSIST_EXACT	(64ULL << 10)	/* a PERSIST of so much just names its range */

/**
 * struct pmof_persist_ops - a persist method
 * @method: enum pmof_method
 * @extra_wr: work requests that it posts with one slot, besides the data's
 * @each_piece: what makes a put durable is posted with each piece, not once
 *	behind all pieces of a window
 * @by_range: @persist makes the server work through the range it is given
 * @commit_posted: finish_commit has nothing to do for a commit of one piece
 * @posts: whether this end can use it; NULL: always
 * @pick: the method for a put of @bytes; NULL: this one
 * @persister: the method whose @persist it uses; NULL: this one
 * @post_durable: posts @chain (built for @slot: the put's last WRITEs, or the
 *	atomic) and behind it on the same queue, in the same post, what makes
 *	@range durable.  It may send the WRITE's data in another way
 * @tail: NULL: no trains.  Makes the work request that, posted behind the WRITEs and
 *	atomics of @slot and its riders, makes their ranges durable; returns it
 * @post_commit: the same for the last of an object's data; may set PF and VF
 *	too, and req->committed
 * @finish_commit: sets PF and VF where post_commit has not; what is posted may
 *	still be under way on return.  Sleeps
 * @persist: makes the puts that completed before the call and lie in @range
 *	durable; on @q where it needs one.  Sleeps.  Returns 0 or -errno
 */
struct pmof_persist_ops {
	enum pmof_method method;
	unsigned int extra_wr;
	bool each_piece;
	bool by_range;
	bool commit_posted;
	bool (*posts)(const struct pmof_conn *conn);
	const struct pmof_persist_ops *(*pick)(struct pmof_conn *conn, u64 bytes);
	const struct pmof_persist_ops *(*persister)(const struct pmof_conn *conn);
	void (*post_durable)(struct pmof_slot *slot, struct pmof_chain *chain,
			     const struct pmof_range *range);
	struct ib_send_wr *(*tail)(struct pmof_slot *slot, struct pmof_tail *tail);
	void (*post_commit)(struct pmof_slot *slot, struct pmof_chain *chain,
			    const struct pmof_range *range);
	int (*finish_commit)(struct pmof_req *req);
	int (*persist)(struct pmof_queue *q, const struct pmof_range *range);
};

extern const struct pmof_persist_ops pmof_persist_auto;
extern const struct pmof_persist_ops pmof_persist_read;
extern const struct pmof_persist_ops pmof_persist_assist;
extern const struct pmof_persist_ops pmof_persist_rpc;
extern const struct pmof_persist_ops pmof_persist_flush;

/* persist.c */
u32 pmof_persist_usable(const struct pmof_conn *conn, const struct pmof_login_reply *login);
const struct pmof_persist_ops *pmof_persist_choose(struct pmof_conn *conn);
const struct pmof_persist_ops *pmof_persist_ops(unsigned int method);
const struct pmof_persist_ops *pmof_persist_persister(const struct pmof_conn *conn);
unsigned int pmof_persist_max_wr(const struct pmof_conn *conn);
struct pmof_queue *pmof_persist_message_queue(struct pmof_queue *q);
bool pmof_persist_dirty(const struct pmof_conn *conn, const struct pmof_queue *except);
bool pmof_persist_others_dirty(const struct pmof_queue *q);
int pmof_persist_flush_queues(struct pmof_conn *conn, const struct pmof_queue *except,
			      bool unkillable);
void pmof_queue_mark_clean(struct pmof_queue *q, s64 seq);

/* The method for a durable put of @bytes. */
static inline const struct pmof_persist_ops *pmof_persist_pick(struct pmof_conn *conn, u64 bytes)
{
	return conn->persist->pick ? conn->persist->pick(conn, bytes) : conn->persist;
}

/*
 * [P1] The mark is set after the post: whoever samples it and then posts a READ
 * posts it behind our work request; and before our issuer can return, so that
 * a PERSIST called after that sees it.
 */
static inline void pmof_queue_mark_dirty(struct pmof_queue *q)
{
	atomic64_inc(&q->put_seq);
}

/* To be read before the post of what will clean. */
static inline s64 pmof_queue_put_seq(struct pmof_queue *q)
{
	return atomic64_read(&q->put_seq);
}

static inline bool pmof_queue_dirty(const struct pmof_queue *q)
{
	return atomic64_read(&q->put_seq) != atomic64_read(&q->clean_seq);
}

/* What a PUT or COMMIT message says about a put with PMOF_F_COMMIT. */
static inline struct pmof_put pmof_req_commit(const struct pmof_req *req,
					      const struct pmof_range *range)
{
	return (struct pmof_put) {
		.range		= *range,
		.commit		= true,
		.trailer	= pmof_object_trailer(req->offset, req->length),
		.generation	= req->operand,
	};
}

/* dirty.c */
int pmof_dirty_init(struct pmof_conn *conn);
void pmof_dirty_free(struct pmof_conn *conn);
bool pmof_dirty_none(struct pmof_conn *conn, const struct pmof_range *range);
bool pmof_dirty_worth(const struct pmof_conn *conn, u64 length);
void pmof_dirty_mark(struct pmof_conn *conn, u64 offset, u64 length);
int pmof_dirty_take(struct pmof_conn *conn, const struct pmof_range *range);
bool pmof_dirty_next(struct pmof_conn *conn, u64 most, struct pmof_range *run);
void pmof_dirty_drop(struct pmof_conn *conn);
void pmof_dirty_end(struct pmof_conn *conn, int rc);

/* train.c */
void pmof_trains_init(struct pmof_queue *q);
void pmof_train_post(struct pmof_slot *slot, struct pmof_chain *chain,
		     const struct pmof_range *range, const struct pmof_persist_ops *persist);
bool pmof_train_split(struct pmof_slot *leader);
void pmof_train_end(struct pmof_slot *leader);
void pmof_trains_abort(struct pmof_queue *q);

/* persist_read.c */
void pmof_persist_read_wr(struct pmof_slot *slot, struct ib_rdma_wr *wr, struct ib_sge *sge,
			  u64 offset);

/* persist_assist.c: also where rpc does not fit */
void pmof_assist_post_durable(struct pmof_slot *slot, struct pmof_chain *chain,
			      const struct pmof_range *range);
void pmof_assist_post_commit(struct pmof_slot *slot, struct pmof_chain *chain,
			     const struct pmof_range *range);
int pmof_assist_persist(struct pmof_queue *q, const struct pmof_range *range);

/* persist_auto.c */
int pmof_auto_init(struct pmof_conn *conn);
void pmof_auto_free(struct pmof_conn *conn);
int pmof_auto_set(struct pmof_conn *conn, const char *text);
void pmof_auto_get(struct pmof_conn *conn, struct pmof_auto_table *table);

#endif /* PMOF_PERSIST_H */
