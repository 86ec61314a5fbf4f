/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the suites of rights share: three clients with keys, and what one tries on a
 * session's queue. They need the server's rights.sh, which obeys orders.
 */
#ifndef PMOF_RIGHTS_H
#define PMOF_RIGHTS_H

#include "keyed.h"
#include "kselftest_harness.h"
#include "order.h"

#define ALICE	"0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0"
#define BOB	"b0b0000000000000000000000000000000000000000000000000000000000b0b"
#define CAROL	"ca401ca401ca401ca401ca401ca401ca401ca401ca401ca401ca401ca401ca40"
#define EVE	"e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0"

#define AT	(1 * MiB)	/* what all fight over */
#define LEN	64

/* alice and bob may write, carol may read; nobody else. */
FIXTURE(rights) {
	int unused;
};

FIXTURE_SETUP(rights)
{
	ASSERT_EQ(0, order("rights_reset; set_key alice " ALICE "; set_key bob " BOB
			   "; set_key carol " CAROL));
}

FIXTURE_TEARDOWN(rights)
{
}

/* --- operations on a session's queue --------------------------------------------------- */

/* A queue whose peer is gone answers nothing: for that one need not wait long. */
static int patience_ms = 5000;

/* The status of its completion, or -errno. */
static inline int rdma_status(struct wc_queue *q, enum ibv_wr_opcode opcode, u64 addr, u32 rkey,
			      size_t len, char byte)
{
	int rc;

	memset(wc_out(q), byte, len);
	rc = wc_post(q, opcode, len, addr, rkey);
	return rc ? rc : wc_completed(q, q->posts, patience_ms);
}

static inline bool rdma(struct wc_queue *q, enum ibv_wr_opcode opcode, u64 addr, u32 rkey,
			size_t len, char byte)
{
	return rdma_status(q, opcode, addr, rkey, len, byte) == IBV_WC_SUCCESS;
}

static inline u32 rkey_of(const struct keyed *k, u64 *addr)
{
	return wc_at(&k->s, AT, addr)->rkey;
}

/* Through its own I/O queue. */
static inline bool own_rdma(struct keyed *k, enum ibv_wr_opcode opcode, size_t len, char byte)
{
	u64 addr;
	u32 rkey = rkey_of(k, &addr);

	return rdma(&k->s.io, opcode, addr, rkey, len, byte);
}

static inline bool content_is(struct keyed *k, char byte)
{
	char want[LEN];

	memset(want, byte, LEN);
	return own_rdma(k, IBV_WR_RDMA_READ, LEN, 0) && !memcmp(wc_out(&k->s.io), want, LEN);
}

static inline int persist(struct wc_queue *q)
{
	struct pmof_range range = { AT, LEN };
	char buf[64];

	return wc_call(q, buf, pmof_put_persist((void *)buf, 3, &range, 1));
}

static inline int get_stats(struct wc_queue *q)
{
	struct pmof_wire_hdr h;

	pmof_put_hdr(&h, PMOF_MSG_GET_STATS, 4, sizeof(h), 0);
	return wc_call(q, &h, sizeof(h));
}

#endif /* PMOF_RIGHTS_H */
