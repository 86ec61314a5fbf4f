/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A test of the lab's soft-RoCE: queue pairs between two of its devices in one
 * kernel, so that the requester's completions and the responder's memory can be
 * looked at by the same thread.
 */
#ifndef RXE_TEST_H
#define RXE_TEST_H

#include <rdma/ib_verbs.h>

#define RT_LEN		SZ_4M		/* bytes of PMEM under test */
#define RT_BUF		SZ_1M		/* bytes of the requester's buffer */
#define RT_RECV		SZ_8K		/* bytes of a receive buffer: two packets */
#define RT_DEPTH	512
#define RT_IOVA		0x10000000ULL	/* of the server's MRs, page aligned */
#define RT_READS	4		/* READs and the like in flight */

/* One end: a device with its protection domain. */
struct rt_node {
	struct ib_device *dev;
	struct ib_pd *pd;
	const struct ib_gid_attr *gid;
	u8 mac[ETH_ALEN];
};

/* A connected pair of queue pairs and the MR that the client writes to. */
struct rt_pair {
	struct rt_node *client, *server;
	struct ib_cq *ccq, *scq;	/* polled; ccq of the client's sends */
	struct ib_qp *cqp, *sqp;
	struct ib_mr *mr;
	void *buf;			/* the client's */
	void *recv;			/* the server's */
	int max_dest_rd_atomic;
};

extern struct rt_node rt_client, rt_server;
extern u8 *rt_pmem;			/* RT_LEN bytes of PMEM, mapped */

#define RT_ACCESS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE | \
		   IB_ACCESS_REMOTE_ATOMIC | IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_FLUSH_PERSISTENT)

/* main.c: a TAP line; comments in front of a failure say more. */
bool rt_ok(bool good, const char *name);
#define rt_note(fmt, ...) pr_info("# " fmt "\n", ##__VA_ARGS__)
int rt_param(const char *name, const char *value);	/* of rdma_rxe */

/* pair.c */
int rt_node_open(struct rt_node *node, const char *name);
void rt_node_close(struct rt_node *node);
struct rt_pair *rt_pair_open(int max_dest_rd_atomic);
struct rt_pair *rt_pair_open_at(struct rt_node *server, int max_dest_rd_atomic);
void rt_pair_close(struct rt_pair *p);
int rt_register(struct rt_pair *p, struct page *page, int access);
int rt_invalidate(struct rt_pair *p);
int rt_qp_error(struct ib_qp *qp);

/* post.c: wait for completions, at most some seconds. */
int rt_wait(struct ib_cq *cq, struct ib_wc *wc);
int rt_wait_many(struct ib_cq *cq, int n);
int rt_post(struct rt_pair *p, struct ib_send_wr *wr);
int rt_run(struct rt_pair *p, struct ib_send_wr *wr, struct ib_wc *wc);
int rt_write(struct rt_pair *p, u64 offset, const void *data, u32 length);
int rt_write_post(struct rt_pair *p, u64 offset, u32 buf_offset, u32 length, int flags);
int rt_write_many(struct rt_pair *p, u64 offset);
int rt_read(struct rt_pair *p, u64 offset, u32 length, int flags);
int rt_read_post(struct rt_pair *p, u64 offset, u32 buf_offset, u32 length, int flags);
int rt_recv_post(struct rt_pair *p);
int rt_send_post(struct rt_pair *p, u32 length, int flags);
int rt_send(struct rt_pair *p);
int rt_send_flags(struct rt_pair *p, int flags);
int rt_send_inv(struct rt_pair *p, u32 rkey);
int rt_write_imm(struct rt_pair *p, u64 offset, const void *data, u32 length);
int rt_flush(struct rt_pair *p, u64 offset, u32 length, u8 type, u8 level);
int rt_atomic_write(struct rt_pair *p, u64 offset, u64 value, bool is_inline);
int rt_add_post(struct rt_pair *p, u64 offset, u64 add, int flags);
int rt_cas(struct rt_pair *p, u64 offset, u64 old, u64 new, u64 *found);

/* flush.c, lazy.c, order.c, atomic.c, short.c, invalidate.c, twice.c, late.c, reads.c: the tests */
void rt_test_flush(void);
void rt_test_loss(void);
void rt_test_prompt(void);
void rt_test_lazy(void);
void rt_test_order(void);
void rt_test_atomic(void);
void rt_test_short(void);
void rt_test_full(void);
void rt_test_invalidate(void);
void rt_test_twice(void);
void rt_test_late(void);
void rt_test_reads(void);

#endif /* RXE_TEST_H */
