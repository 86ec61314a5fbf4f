// SPDX-License-Identifier: GPL-2.0
/* Names of the uapi's numbers, and why a persist method is not offered. */
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

static const struct {
	unsigned int method, domain, placement;
	const char *says;
} refusal[] = {
	{ PMOF_METHOD_READ, PMOF_DOMAIN_MEMORY_CONTROLLER, PMOF_PLACEMENT_CACHE,
	  "land in the CPU cache" },
	{ PMOF_METHOD_READ, PMOF_DOMAIN_MEMORY_CONTROLLER, PMOF_PLACEMENT_UNKNOWN,
	  "unknown whether" },
	{ PMOF_METHOD_READ, PMOF_DOMAIN_MEMORY_CONTROLLER, PMOF_PLACEMENT_MEMORY, "deep_flush" },
	{ PMOF_METHOD_READ, PMOF_DOMAIN_CPU_CACHE, PMOF_PLACEMENT_CACHE, "deep_flush" },
	{ PMOF_METHOD_READ, PMOF_DOMAIN_DEVICE_FLUSH, PMOF_PLACEMENT_MEMORY,
	  "flush of the device" },
	{ PMOF_METHOD_READ, PMOF_DOMAIN_UNKNOWN, PMOF_PLACEMENT_MEMORY, "survives a power cut" },
	{ PMOF_METHOD_FLUSH, PMOF_DOMAIN_MEMORY_CONTROLLER, PMOF_PLACEMENT_CACHE, "RDMA FLUSH" },
	{ PMOF_METHOD_FLUSH, PMOF_DOMAIN_CPU_CACHE, PMOF_PLACEMENT_MEMORY, "RDMA FLUSH" },
	{ PMOF_METHOD_FLUSH, PMOF_DOMAIN_DEVICE_FLUSH, PMOF_PLACEMENT_MEMORY,
	  "flush of the device" },
	{ PMOF_METHOD_FLUSH, PMOF_DOMAIN_UNKNOWN, PMOF_PLACEMENT_CACHE, "survives a power cut" },
	{ PMOF_METHOD_RPC, PMOF_DOMAIN_CPU_CACHE, PMOF_PLACEMENT_CACHE, "does not have" },
	{ PMOF_METHOD_ASSIST, PMOF_DOMAIN_UNKNOWN, PMOF_PLACEMENT_CACHE, "does not have" },
	/* What a newer server may say. */
	{ PMOF_METHOD_READ, 77, 77, "survives a power cut" },
	{ PMOF_METHOD_READ, PMOF_DOMAIN_MEMORY_CONTROLLER, 77, "unknown whether" },
	{ 77, PMOF_DOMAIN_CPU_CACHE, PMOF_PLACEMENT_CACHE, "does not have" },
};

TEST(refusals)
{
	const char *why;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(refusal); i++) {
		why = pmof_method_refusal(refusal[i].method, refusal[i].domain,
					  refusal[i].placement);
		EXPECT_NE(NULL, strstr(why, refusal[i].says)) TH_LOG("case %u: %s", i, why);
	}
}

TEST_HARNESS_MAIN
