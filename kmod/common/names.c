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

/* Why the HCA alone does not make a write durable; NULL if it may. */
static const char *server_cpu_needed(unsigned int domain)
{
	switch (domain) {
	case PMOF_DOMAIN_CPU_CACHE:
	case PMOF_DOMAIN_MEMORY_CONTROLLER:
		return NULL;
	case PMOF_DOMAIN_DEVICE_FLUSH:
		return "its PMEM needs a flush of the device, which only its CPU can do";
	default:
		return "what of its memory survives a power cut is unknown";
	}
}

static const char *read_refusal(unsigned int domain, unsigned int placement)
{
	if (domain == PMOF_DOMAIN_MEMORY_CONTROLLER && placement == PMOF_PLACEMENT_CACHE)
		return "its HCA's writes land in the CPU cache, which a power cut empties";
	if (domain == PMOF_DOMAIN_MEMORY_CONTROLLER && placement != PMOF_PLACEMENT_MEMORY)
		return "it is unknown whether its HCA's writes go past the CPU cache";
	return "it was told to flush deeper than an HCA can (deep_flush)";
}

/**
 * pmof_method_refusal - why a server does not offer a persist method
 * @method: enum pmof_method
 * @domain: enum pmof_domain, the server's
 * @placement: enum pmof_placement, of the server's HCA
 *
 * For a method that it has not offered: it says why, not whether.
 *
 * Return: a constant string, to stand behind "the server does not offer M: ".
 */
const char *pmof_method_refusal(unsigned int method, unsigned int domain, unsigned int placement)
{
	const char *why;

	switch (method) {
	case PMOF_METHOD_READ:
		why = server_cpu_needed(domain);
		return why ?: read_refusal(domain, placement);
	case PMOF_METHOD_FLUSH:
		why = server_cpu_needed(domain);
		return why ?: "its HCA or its kernel has no RDMA FLUSH, or deep_flush is set";
	default:
		return "it does not have that method";
	}
}
EXPORT_SYMBOL_GPL(pmof_method_refusal);
