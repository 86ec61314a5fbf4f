// SPDX-License-Identifier: BSD-3-Clause
/* Names of the values in uapi/pmof.h, and of the library itself. */
#include <errno.h>

#include "internal.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static const char *const methods[] = {
	[PMOF_METHOD_AUTO] = "auto",
	[PMOF_METHOD_READ] = "read",
	[PMOF_METHOD_ASSIST] = "assist",
	[PMOF_METHOD_RPC] = "rpc",
	[PMOF_METHOD_FLUSH] = "flush",
};

static const char *const domains[] = {
	[PMOF_DOMAIN_UNKNOWN] = "unknown",
	[PMOF_DOMAIN_MEMORY_CONTROLLER] = "memory_controller",
	[PMOF_DOMAIN_CPU_CACHE] = "cpu_cache",
	[PMOF_DOMAIN_DEVICE_FLUSH] = "device_flush",
};

static const char *const placements[] = {
	[PMOF_PLACEMENT_UNKNOWN] = "unknown",
	[PMOF_PLACEMENT_CACHE] = "cache",
	[PMOF_PLACEMENT_MEMORY] = "memory",
};

const char *pmof_method_name(unsigned int method)
{
	return method < ARRAY_SIZE(methods) ? methods[method] : "unknown";
}

const char *pmof_domain_name(unsigned int domain)
{
	return domain < ARRAY_SIZE(domains) ? domains[domain] : "unknown";
}

const char *pmof_placement_name(unsigned int placement)
{
	return placement < ARRAY_SIZE(placements) ? placements[placement] : "unknown";
}

int pmof_method_parse(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(methods); i++)
		if (!strcmp(name, methods[i]))
			return (int)i;
	return -EINVAL;
}

const char *pmof_version(void)
{
	return PMOF_VERSION;
}
