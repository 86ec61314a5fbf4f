// SPDX-License-Identifier: GPL-2.0
#include "pure.h"
#include "../../uapi/pmof.h"
#include "names.h"

/* The numbers may come from a peer: "unknown" for what is not known. */
const char *pmof_domain_name(unsigned int domain)
{
	switch (domain) {
	case PMOF_DOMAIN_MEMORY_CONTROLLER:
		return "memory_controller";
	case PMOF_DOMAIN_CPU_CACHE:
		return "cpu_cache";
	case PMOF_DOMAIN_DEVICE_FLUSH:
		return "device_flush";
	default:
		return "unknown";
	}
}
EXPORT_SYMBOL_GPL(pmof_domain_name);

const char *pmof_placement_name(unsigned int placement)
{
	switch (placement) {
	case PMOF_PLACEMENT_CACHE:
		return "cache";
	case PMOF_PLACEMENT_MEMORY:
		return "memory";
	default:
		return "unknown";
	}
}
EXPORT_SYMBOL_GPL(pmof_placement_name);
