// SPDX-License-Identifier: GPL-2.0
/*
 * Segments: pieces of a namespace registered as fast-registration MRs of a
 * session's PD, each when it is first asked for, with the session's rights.
 */
#include <linux/dma-direct.h>
#include <linux/iommu.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "layout.h"
#include "server.h"

struct pmof_segment {
	struct ib_mr *mr;
	struct scatterlist sg;	/* one entry: contiguous, at most PMOF_MAX_SEGMENT */
};

/* What one GET_SEGMENTS posts and answers: too much for the stack. */
struct batch {
	struct ib_reg_wr wr[PMOF_SRV_REG_BATCH];
	struct pmof_segment_desc desc[PMOF_SRV_REG_BATCH];
};

static enum dma_data_direction direction(const struct pmof_session *s)
{
	return s->rights & PMOF_RIGHT_WRITE ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
}

static int access_flags(const struct pmof_session *s)
{
	int access = IB_ACCESS_REMOTE_READ;

	if (s->rights & PMOF_RIGHT_WRITE)
		access |= IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE;
	if (s->atomics)
		access |= IB_ACCESS_REMOTE_ATOMIC;
#ifdef HAVE_IB_FLUSH
	if (s->methods & BIT(PMOF_METHOD_FLUSH))
		access |= IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_FLUSH_PERSISTENT;
#endif
	return access;
}

void pmof_segment_free(struct pmof_session *s, struct pmof_segment *seg)
{
	ib_dereg_mr(seg->mr);
	ib_dma_unmap_sg(s->ib_dev, &seg->sg, 1, direction(s));
	kfree(seg);
}

/*
 * True if the HCA will write to the PMEM itself.  A bounce buffer would be
 * copied at the unmap, long after the acknowledgements.
 */
static bool in_place(struct ib_device *dev, struct scatterlist *sg)
{
	dma_addr_t dma = sg_dma_address(sg);
	struct iommu_domain *domain;

	if (ib_uses_virt_dma(dev))
		return true;
	domain = iommu_get_domain_for_dev(dev->dma_device);
	if (domain)
		return iommu_iova_to_phys(domain, dma) == sg_phys(sg);
	return dma_to_phys(dev->dma_device, dma) == sg_phys(sg);
}

static int map_mr(struct pmof_segment *seg, u64 offset, u64 length, u32 page_size)
{
	int n;

	if (sg_dma_address(&seg->sg) & (page_size - 1))
		return -EINVAL;
	/* A failed call may leave a partial mapping: only its length tells. */
	n = ib_map_mr_sg(seg->mr, &seg->sg, 1, NULL, page_size);
	if (n != 1 || seg->mr->length != length)
		return n < 0 ? n : -EINVAL;
	/* What goes on the wire is an offset, never an address of ours. */
	seg->mr->iova = offset;
	return 0;
}

/* Makes the MR of [@offset, @offset + @length); it is not registered yet. */
struct pmof_segment *pmof_segment_alloc(struct pmof_session *s, u64 offset, u64 length,
					u32 page_size)
{
	struct pmof_segment *seg = kzalloc(sizeof(*seg), GFP_KERNEL);
	struct sg_table table = { .nents = 1, .orig_nents = 1 };
	int rc;

	if (!seg)
		return ERR_PTR(-ENOMEM);
	sg_init_table(&seg->sg, 1);
	sg_set_page(&seg->sg, virt_to_page(s->ns->addr + offset), length, 0);
	/* This call's errno tells what may work later from what never will. */
	table.sgl = &seg->sg;
	rc = ib_dma_map_sgtable_attrs(s->ib_dev, &table, direction(s), 0);
	if (rc)
		goto free;
	if (!in_place(s->ib_dev, &seg->sg)) {
		rc = -EOPNOTSUPP;
		goto unmap;
	}
	seg->mr = ib_alloc_mr(s->pd, IB_MR_TYPE_MEM_REG, DIV_ROUND_UP(length, page_size));
	if (IS_ERR(seg->mr)) {
		rc = PTR_ERR(seg->mr);
		goto unmap;
	}
	rc = map_mr(seg, offset, length, page_size);
	if (rc)
		goto dereg;
	return seg;

dereg:
	ib_dereg_mr(seg->mr);
unmap:
	ib_dma_unmap_sg(s->ib_dev, &seg->sg, 1, direction(s));
free:
	kfree(seg);
	return ERR_PTR(rc);
}

static struct pmof_segment *segment_alloc_index(struct pmof_session *s,
						const struct pmof_layout *l, u32 i, u32 page_size)
{
	return pmof_segment_alloc(s, (u64)i << l->shift, pmof_layout_length(l, i), page_size);
}

/* Does the device take the first segment, and the last, which may be short? */
static int trial(void *arg, const struct pmof_layout *l, u32 page_size)
{
	u32 index[] = { 0, pmof_layout_segments(l) - 1 };
	struct pmof_session *s = arg;
	struct pmof_segment *seg;
	int i;

	for (i = 0; i < ARRAY_SIZE(index); i++) {
		seg = segment_alloc_index(s, l, index[i], page_size);
		if (IS_ERR(seg))
			return PTR_ERR(seg);
		pmof_segment_free(s, seg);
	}
	return 0;
}

/*
 * Settles the session's page and segment size by asking the device and trying.
 * Returns 0, -EOPNOTSUPP, or another errno where it may be otherwise later.
 */
int pmof_segments_choose(struct pmof_session *s)
{
	const struct ib_device_attr *attr = &s->ib_dev->attrs;
	const struct pmof_layout_limits limits = {
		.size		= s->ns->size,
		.align		= (uintptr_t)s->ns->addr,
		.page_sizes	= attr->page_size_cap,
		.max_pages	= attr->max_fast_reg_page_list_len,
	};

	return pmof_layout_choose(&limits, trial, s, &s->layout, &s->page_size);
}

static void describe(const struct pmof_segment *seg, struct pmof_segment_desc *desc)
{
	desc->addr = seg->mr->iova;
	desc->length = seg->mr->length;
	desc->rkey = seg->mr->rkey;
	desc->bad_sectors = 0;
}

/* But for its offset. */
void pmof_segment_describe(const struct pmof_segment *seg, struct pmof_piece *piece)
{
	piece->addr = seg->mr->iova;
	piece->length = seg->mr->length;
	piece->rkey = seg->mr->rkey;
}

/* The work request that registers it. */
struct ib_send_wr *pmof_segment_reg(struct pmof_srv_queue *q, struct pmof_segment *seg,
				    struct ib_reg_wr *wr)
{
	wr->wr.opcode = IB_WR_REG_MR;
	wr->wr.wr_cqe = &q->chain_cqe;
	wr->mr = seg->mr;
	wr->key = seg->mr->rkey;
	wr->access = access_flags(q->session);
	return &wr->wr;
}

/* Is a part of it an MR by itself? */
static bool has_piece(struct pmof_session *s, u64 offset, u64 length)
{
	unsigned long index = offset / PMOF_BAD_PAGE;

	return xa_find(&s->pieces, &index, (offset + length - 1) / PMOF_BAD_PAGE, XA_PRESENT);
}

/*
 * True if it has bad pages, or had them and is in pieces: it is described as to be had in
 * pieces.  Nothing is registered twice: what a session may have is counted in segments.
 */
static bool in_pieces(struct pmof_session *s, u32 i, struct pmof_segment_desc *desc)
{
	u64 offset = (u64)i << s->layout.shift, length = pmof_layout_length(&s->layout, i);
	struct pmof_ns *ns = s->ns;
	bool hit;

	/* Who enters later sees what was found before; who entered before is ended. */
	mutex_lock(&ns->bad.lock);
	hit = pmof_pages_hit(&ns->bad.pages, offset, length) || has_piece(s, offset, length);
	mutex_unlock(&ns->bad.lock);
	if (hit)
		*desc = (struct pmof_segment_desc) {
			.length		= length,
			.bad_sectors	= max(pmof_bad_count(ns, offset, length), 1ULL),
		};
	return hit;
}

/* Returns 1 if a work request was prepared, 0 if there was no need, or an errno. */
static int get_segment(struct pmof_srv_queue *q, u32 i, struct ib_reg_wr *wr,
		       struct pmof_segment_desc *desc)
{
	struct pmof_session *s = q->session;
	struct pmof_segment *seg = xa_load(&s->segments, i);
	int rc;

	if (seg) {
		describe(seg, desc);
		return 0;
	}
	if (in_pieces(s, i, desc))
		return 0;
	seg = segment_alloc_index(s, &s->layout, i, s->page_size);
	if (IS_ERR(seg))
		return PTR_ERR(seg);
	rc = xa_err(xa_store(&s->segments, i, seg, GFP_KERNEL));
	if (rc) {
		pmof_segment_free(s, seg);
		return rc;
	}
	pmof_session_stat(s, PMOF_SRV_MRS, 1);
	pmof_segment_reg(q, seg, wr);
	describe(seg, desc);
	return 1;
}

/*
 * Answers a GET_SEGMENTS.  The registrations are posted in one chain with the
 * reply behind them: it leaves only when they are done, and if one fails the
 * queue pair dies and it never leaves.  Returns 0 or a PMOF_SC_* code.
 */
int pmof_segments_get(struct pmof_srv_req *req)
{
	u32 i, count = min_t(u32, req->segments.count, PMOF_SRV_REG_BATCH);
	struct ib_send_wr *chain = NULL, **tail = &chain;
	struct batch *b = kzalloc(sizeof(*b), GFP_KERNEL);
	int rc = 0, nr_wr = 0;
	size_t len;

	if (!b)
		return PMOF_SC_NO_MEMORY;
	for (i = 0; i < count; i++) {
		rc = get_segment(req->queue, req->segments.first + i, &b->wr[nr_wr], &b->desc[i]);
		if (rc < 0)
			break;
		if (rc) {
			*tail = &b->wr[nr_wr++].wr;
			tail = &(*tail)->next;
		}
	}
	/* Fewer than asked for may be sent: those before a failure are good. */
	if (i) {
		len = pmof_put_segments_reply(req->reply, req->tag, req->segments.first,
					      b->desc, i);
		pmof_srv_queue_reply(req, len, chain);
	}
	kfree(b);
	if (i)
		return 0;
	return rc == -ENOMEM ? PMOF_SC_NO_MEMORY : PMOF_SC_INTERNAL;
}

/*
 * Deregisters all of a session.  Its queue pairs must be gone: on some devices
 * an MR that is invalidated may still have a copy in progress.
 */
void pmof_segments_free(struct pmof_session *s)
{
	struct pmof_segment *seg;
	unsigned long i;

	xa_for_each(&s->segments, i, seg) {
		pmof_segment_free(s, seg);
		pmof_session_stat(s, PMOF_SRV_MRS, -1ULL);
	}
	xa_destroy(&s->segments);
	xa_for_each(&s->pieces, i, seg) {
		pmof_segment_free(s, seg);
		pmof_session_stat(s, PMOF_SRV_MRS, -1ULL);
	}
	xa_destroy(&s->pieces);
}
