// SPDX-License-Identifier: GPL-2.0
/* Which pages and segments a namespace is registered in: see layout.h. */
#include "layout.h"

/*
 * The device cannot now, whatever it may take at another time.  Smaller segments
 * would be no answer: its clients rest on those that they had before, and a device
 * whose segments have changed is dead.
 */
static bool is_passing(int rc)
{
	return rc == -ENOMEM || rc == -EAGAIN || rc == -EBUSY || rc == -EINTR || rc == -ETIMEDOUT;
}

/* Returns 0, -EOPNOTSUPP where the device takes none in pages of this size, or what passes. */
static int try_page_size(const struct pmof_layout_limits *limits, pmof_layout_trial *trial,
			 void *arg, struct pmof_layout *l, u32 page_size)
{
	u64 pages;
	int rc;

	if (!(limits->page_sizes & page_size) || !limits->max_pages)
		return -EOPNOTSUPP;
	if (limits->align & (page_size - 1))
		return -EOPNOTSUPP;
	pages = min_t(u64, 1ULL << ilog2(limits->max_pages), PMOF_MAX_SEGMENT / page_size);
	/* Some devices promise more than they take. */
	for (; pages * page_size >= PMOF_MIN_SEGMENT && pages; pages /= 2) {
		if (pmof_layout_init(l, limits->size, pages * page_size))
			break;	/* more segments than can be named */
		rc = trial(arg, l, page_size);
		if (!rc || is_passing(rc))
			return rc;
	}
	return -EOPNOTSUPP;
}

/*
 * Settles page and segment size: the largest that the device takes.  Returns 0 with
 * *l and *page_size set, -EOPNOTSUPP, or another errno: ask again later.
 */
int pmof_layout_choose(const struct pmof_layout_limits *limits, pmof_layout_trial *trial,
		       void *arg, struct pmof_layout *l, u32 *page_size)
{
	static const u32 page_sizes[] = { 2 << 20, 4096 };
	int i, rc = -EOPNOTSUPP;

	for (i = 0; i < (int)ARRAY_SIZE(page_sizes) && rc == -EOPNOTSUPP; i++) {
		*page_size = page_sizes[i];
		rc = try_page_size(limits, trial, arg, l, page_sizes[i]);
	}
	return rc;
}
