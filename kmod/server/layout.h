/* SPDX-License-Identifier: GPL-2.0 */
/* Which pages and segments a namespace is registered in on a device: pure, but for the trial. */
#ifndef PMOF_SERVER_LAYOUT_H
#define PMOF_SERVER_LAYOUT_H

#include "range.h"

/* What the device says of itself, and what of the namespace. */
struct pmof_layout_limits {
	u64 size;		/* bytes of the namespace */
	u64 align;		/* its address */
	u64 page_sizes;		/* or-ed */
	u32 max_pages;		/* of an MR */
};

/* Does the device take segments of @l in pages of @page_size?  0 or a negative errno. */
typedef int pmof_layout_trial(void *arg, const struct pmof_layout *l, u32 page_size);

int pmof_layout_choose(const struct pmof_layout_limits *limits, pmof_layout_trial *trial,
		       void *arg, struct pmof_layout *l, u32 *page_size);

#endif /* PMOF_SERVER_LAYOUT_H */
