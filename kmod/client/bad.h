/* SPDX-License-Identifier: GPL-2.0 */
/* Bad pages of the namespace, as the server has told.  Included by client.h. */
#ifndef PMOF_BAD_H
#define PMOF_BAD_H

#include "pieces.h"

/*
 * The pieces of the segments that have bad pages; of all of them, ascending.  What
 * no piece has, of such a segment, goes by messages.  Replaced as a whole, under RCU.
 */
struct pmof_bad_map {
	struct rcu_head rcu;
	u64 sectors;		/* that are bad, as the server counted them */
	unsigned int nr;
	struct pmof_piece piece[];
};

/* Where the data of a GET go; its owner waits for the slot. */
struct pmof_bad_get {
	void *to;
	u32 length;
};

/* bad_map.c */
int pmof_bad_fetch(struct pmof_conn *conn);
void pmof_bad_free(struct pmof_conn *conn);
u64 pmof_bad_sectors(struct pmof_conn *conn);
bool pmof_bad_hit_slow(struct pmof_conn *conn, u64 offset, u64 length);
u64 pmof_bad_run(struct pmof_conn *conn, u64 offset, u64 length, bool *gap);
void pmof_bad_where(struct pmof_conn *conn, u64 offset, u64 *addr, u32 *rkey);
u64 pmof_bad_elsewhere_slow(struct pmof_conn *conn, u64 offset);

/*
 * Whether a range is not to be had by plain RDMA, each segment's part at a time.  On a
 * clean namespace this is one look.
 */
static inline bool pmof_bad_hit(struct pmof_conn *conn, u64 offset, u64 length)
{
	return unlikely(rcu_access_pointer(conn->bad)) && pmof_bad_hit_slow(conn, offset, length);
}

/* Where to READ what nobody looks at, if not at @offset; inside pmof_post_begin(). */
static inline u64 pmof_bad_elsewhere(struct pmof_conn *conn, u64 offset)
{
	if (likely(!rcu_access_pointer(conn->bad)))
		return offset;
	return pmof_bad_elsewhere_slow(conn, offset);
}

/* A bad sector: the block layer's word for it is not that of the uapi contract. */
static inline int pmof_bad_errno(int rc)
{
	return rc == -ENODATA ? -EIO : rc;
}

/* bad.c */
int pmof_bad_issue(struct pmof_req *req);
int pmof_bad_move(struct pmof_req *req);
int pmof_bad_vecs(struct pmof_conn *conn, u16 opcode, u64 offset, const struct bio_vec *vec,
		  unsigned int nr, size_t bytes);
int pmof_bad_take(struct pmof_slot *slot, const void *buf, u32 len);

static inline int pmof_bad_vec(struct pmof_conn *conn, u16 opcode, u64 offset,
			       const struct bio_vec *vec)
{
	return pmof_bad_vecs(conn, opcode, offset, vec, 1, vec->bv_len);
}

#endif /* PMOF_BAD_H */
