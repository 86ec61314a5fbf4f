// SPDX-License-Identifier: GPL-2.0
/* RDMA WRITEs and READs of a slot's data. */
#include "client.h"

/* Points a work request with the slot's SGEs at @offset of the namespace. */
void pmof_rdma_wr_init(struct pmof_slot *slot, struct ib_rdma_wr *wr, enum ib_wr_opcode opcode,
		       u64 offset)
{
	struct pmof_conn *conn = slot->q->conn;
	u64 in_segment = offset & ((1ULL << conn->layout.shift) - 1);
	const struct pmof_segment_desc *seg;

	seg = &conn->seg[pmof_layout_index(&conn->layout, offset)];
	memset(wr, 0, sizeof(*wr));
	wr->wr.opcode = opcode;
	wr->wr.sg_list = slot->sge;
	wr->wr.num_sge = slot->nr_sge;
	wr->remote_addr = seg->addr + in_segment;
	wr->rkey = seg->rkey;
	if (unlikely(seg->bad_sectors))
		pmof_bad_where(conn, offset, &wr->remote_addr, &wr->rkey);
}

static u32 sge_bytes(const struct ib_sge *sge, int nr)
{
	u32 bytes = 0;

	while (nr--)
		bytes += sge[nr].length;
	return bytes;
}

/**
 * pmof_rdma_build - the work requests that move all of a slot's data
 * @slot: its SGEs are filled: at most q->write_sge or q->read_sge of them
 * @wr: filled, as many as are needed
 * @chain: made of them
 * @opcode: IB_WR_RDMA_WRITE or IB_WR_RDMA_READ
 * @offset: in the namespace; all data lie in one segment
 */
void pmof_rdma_build(struct pmof_slot *slot, struct ib_rdma_wr wr[PMOF_SLOT_WR],
		     struct pmof_chain *chain, enum ib_wr_opcode opcode, u64 offset)
{
	const struct pmof_qp *qp = &slot->q->qp;
	u32 limit = opcode == IB_WR_RDMA_READ ? qp->max_read_sge : qp->max_send_sge;
	u32 done = 0;

	chain->first = NULL;
	do {
		pmof_rdma_wr_init(slot, wr, opcode, offset);
		wr->wr.sg_list = slot->sge + done;
		wr->wr.num_sge = min(slot->nr_sge - done, limit);
		done += wr->wr.num_sge;
		if (done < slot->nr_sge)
			offset += sge_bytes(wr->wr.sg_list, wr->wr.num_sge);
		pmof_chain_add(chain, &wr->wr);
		wr++;
	} while (done < slot->nr_sge);
}
