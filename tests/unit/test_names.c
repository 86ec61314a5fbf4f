// SPDX-License-Identifier: GPL-2.0
/* Names of the uapi's numbers. */
#include "../../kmod/common/names.h"
#include "../../uapi/pmof.h"
#include "unit.h"

TEST(names)
{
	EXPECT_STREQ("memory_controller", pmof_domain_name(PMOF_DOMAIN_MEMORY_CONTROLLER));
	EXPECT_STREQ("cpu_cache", pmof_domain_name(PMOF_DOMAIN_CPU_CACHE));
	EXPECT_STREQ("device_flush", pmof_domain_name(PMOF_DOMAIN_DEVICE_FLUSH));
	EXPECT_STREQ("unknown", pmof_domain_name(PMOF_DOMAIN_UNKNOWN));
	EXPECT_STREQ("unknown", pmof_domain_name(77));
	EXPECT_STREQ("cache", pmof_placement_name(PMOF_PLACEMENT_CACHE));
	EXPECT_STREQ("memory", pmof_placement_name(PMOF_PLACEMENT_MEMORY));
	EXPECT_STREQ("unknown", pmof_placement_name(PMOF_PLACEMENT_UNKNOWN));
	EXPECT_STREQ("unknown", pmof_placement_name(77));
}

TEST_HARNESS_MAIN
