// SPDX-License-Identifier: GPL-2.0
/* Which pages and segments a namespace is registered in, with a device that is none. */
#include "../../kmod/server/layout.h"
#include "unit.h"

#define PAGE_2M	(2U << 20)
#define SIZE	(1ULL << 32)

struct device {
	u64 most;		/* bytes of an MR that it takes */
	u32 page_size;		/* and in which pages; 0: in any */
	int fails;		/* the errno of the trial of this number, */
	unsigned int at;
	unsigned int trials;
};

static int trial(void *arg, const struct pmof_layout *l, u32 page_size)
{
	struct device *dev = arg;

	if (dev->fails && dev->trials++ == dev->at)
		return dev->fails;
	if (dev->page_size && page_size != dev->page_size)
		return -EINVAL;
	return pmof_layout_length(l, 0) > dev->most ? -EINVAL : 0;
}

static const struct pmof_layout_limits limits = {
	.size = SIZE, .page_sizes = PAGE_2M | 4096, .max_pages = 1000,
};

TEST(largest_that_is_taken)
{
	struct device dev = { .most = ~0ULL };
	struct pmof_layout_limits lim = limits;
	struct pmof_layout l;
	u32 page_size;

	ASSERT_EQ(0, pmof_layout_choose(&lim, trial, &dev, &l, &page_size));
	EXPECT_EQ(PAGE_2M, page_size);
	EXPECT_EQ(PMOF_MAX_SEGMENT, 1ULL << l.shift);
	dev.most = 100 << 20;
	ASSERT_EQ(0, pmof_layout_choose(&lim, trial, &dev, &l, &page_size));
	EXPECT_EQ(64 << 20, 1ULL << l.shift);
	/* Small pages, since the device, the address or its word says so. */
	dev = (struct device){ .most = ~0ULL, .page_size = 4096 };
	ASSERT_EQ(0, pmof_layout_choose(&lim, trial, &dev, &l, &page_size));
	EXPECT_EQ(4096, page_size);
	EXPECT_EQ(512 * 4096, 1ULL << l.shift);
	dev = (struct device){ .most = ~0ULL };
	lim.align = 1 << 20;
	ASSERT_EQ(0, pmof_layout_choose(&lim, trial, &dev, &l, &page_size));
	EXPECT_EQ(4096, page_size);
	lim = limits;
	lim.page_sizes = 4096;
	ASSERT_EQ(0, pmof_layout_choose(&lim, trial, &dev, &l, &page_size));
	EXPECT_EQ(4096, page_size);
}

TEST(none_is_taken)
{
	struct device dev = { .most = 2048 };
	struct pmof_layout_limits lim = limits;
	struct pmof_layout l;
	u32 page_size;

	EXPECT_EQ(-EOPNOTSUPP, pmof_layout_choose(&lim, trial, &dev, &l, &page_size));
	dev.most = ~0ULL;
	lim.max_pages = 0;
	EXPECT_EQ(-EOPNOTSUPP, pmof_layout_choose(&lim, trial, &dev, &l, &page_size));
	/* More segments than can be named. */
	lim = limits;
	lim.size = PMOF_MAX_SEGMENTS * PMOF_MAX_SEGMENT + 1;
	EXPECT_EQ(-EOPNOTSUPP, pmof_layout_choose(&lim, trial, &dev, &l, &page_size));
}

/* What fails once never makes the segments smaller than they were the last time. */
TEST(what_passes)
{
	static const int passing[] = { -ENOMEM, -EAGAIN, -EBUSY, -EINTR, -ETIMEDOUT };
	struct pmof_layout first, l;
	u32 page_size;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(passing); i++) {
		struct device dev = { .most = 100 << 20 };

		ASSERT_EQ(0, pmof_layout_choose(&limits, trial, &dev, &first, &page_size));
		dev.fails = passing[i];
		for (dev.at = 0; dev.at < 5; dev.at++) {
			dev.trials = 0;
			EXPECT_EQ(passing[i],
				  pmof_layout_choose(&limits, trial, &dev, &l, &page_size))
				TH_LOG("%d at %u", passing[i], dev.at);
		}
		dev.fails = 0;
		ASSERT_EQ(0, pmof_layout_choose(&limits, trial, &dev, &l, &page_size));
		EXPECT_EQ(first.shift, l.shift);
	}
}

TEST_HARNESS_MAIN
