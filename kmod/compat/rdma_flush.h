/* SPDX-License-Identifier: GPL-2.0 */
#ifndef PMOF_COMPAT_RDMA_FLUSH_H
#define PMOF_COMPAT_RDMA_FLUSH_H

#include <rdma/ib_verbs.h>

#include "pmof_compat_gen.h"
/*
 * From scripts/build-modules, as LAB_RXE=1 and CRASH_MARKS=1 say. Only what includes it is
 * built anew when those change.
 */
#include "pmof_lab_gen.h"

/*
 * Work requests for RDMA FLUSH and ATOMIC_WRITE. No released kernel has them;
 * the lab's soft-RoCE does (tests/lab/rxe). A build with LAB_RXE=1 brings the
 * declarations of its series along: layout and bits must stay equal to those.
 * PMOF_HAVE_FLUSH says that they are there, from either source.
 *
 * FLUSH: struct ib_flush_wr with IB_WR_FLUSH and no SGEs; completes as IB_WC_FLUSH.
 * ATOMIC_WRITE: struct ib_rdma_wr with IB_WR_ATOMIC_WRITE and 8 bytes of data, inline or
 * by SGE, remote_addr aligned to 8; completes as IB_WC_ATOMIC_WRITE.
 */
#if defined(PMOF_LAB_RXE) && !defined(HAVE_IB_FLUSH)
#error "LAB_RXE=1 needs a kernel that has IB_WR_FLUSH (6.3 or later)"
#endif

#if defined(PMOF_LAB_RXE) && !defined(HAVE_FLUSH_WR)
struct ib_flush_wr {
	struct ib_send_wr	wr;
	u64			remote_addr;
	u32			length;
	u32			rkey;
	u8			type;
	u8			level;
};

static inline const struct ib_flush_wr *flush_wr(const struct ib_send_wr *wr)
{
	return container_of(wr, struct ib_flush_wr, wr);
}

/* In kernel_cap_flags: the provider's post_send takes these from a module. */
enum {
	IBK_FLUSH_WR		= 1 << 9,
	IBK_ATOMIC_WRITE_WR	= 1 << 10,
};
#endif

#if defined(HAVE_FLUSH_WR) || defined(PMOF_LAB_RXE)
#define PMOF_HAVE_FLUSH 1
#endif

/* Can a module post FLUSH and ATOMIC_WRITE on this device? */
static inline bool pmof_dev_posts_flush(const struct ib_device *dev)
{
#ifdef PMOF_HAVE_FLUSH
	const u64 need = IBK_FLUSH_WR | IBK_ATOMIC_WRITE_WR;

	return (dev->attrs.kernel_cap_flags & need) == need;
#else
	return false;
#endif
}

/* Does this device answer persistent FLUSHes and ATOMIC_WRITEs of a peer? */
static inline bool pmof_dev_answers_flush(const struct ib_device *dev)
{
#ifdef HAVE_IB_FLUSH
	const u64 need = IB_DEVICE_FLUSH_GLOBAL | IB_DEVICE_FLUSH_PERSISTENT |
			 IB_DEVICE_ATOMIC_WRITE;

	return (dev->attrs.device_cap_flags & need) == need;
#else
	return false;
#endif
}

#endif /* PMOF_COMPAT_RDMA_FLUSH_H */
