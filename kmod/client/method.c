// SPDX-License-Identifier: GPL-2.0
#include "method.h"
#include "../../uapi/pmof.h"

static const char * const names[] = {
	[PMOF_METHOD_AUTO]	= "auto",
	[PMOF_METHOD_READ]	= "read",
	[PMOF_METHOD_ASSIST]	= "assist",
	[PMOF_METHOD_RPC]	= "rpc",
	[PMOF_METHOD_FLUSH]	= "flush",
};

const char *pmof_method_name(unsigned int method)
{
	return method < ARRAY_SIZE(names) ? names[method] : "unknown";
}

/* Returns an enum pmof_method, or -EINVAL. */
int pmof_method_parse(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return i;
	return -EINVAL;
}

static const char *refusal_read(const struct pmof_login_reply *login)
{
	if (login->domain == PMOF_DOMAIN_UNKNOWN)
		return "read: the server does not know what survives a power cut";
	if (login->domain == PMOF_DOMAIN_DEVICE_FLUSH)
		return "read: the server's PMEM is durable only after a flush of the device";
	if (login->domain != PMOF_DOMAIN_MEMORY_CONTROLLER)
		return "read: the server does not offer it";
	switch (login->placement) {
	case PMOF_PLACEMENT_CACHE:
		return "read: the server's HCA writes into the CPU cache, which a power cut loses";
	case PMOF_PLACEMENT_UNKNOWN:
		return "read: the server does not know that its HCA writes past the CPU cache";
	default:
		return "read: the server's PMEM needs more than a READ to be durable";
	}
}

static const char *refusal_flush(const struct pmof_login_reply *login)
{
	if (login->methods & BIT(PMOF_METHOD_FLUSH))
		return "flush: this kernel or this HCA posts no RDMA FLUSH and ATOMIC_WRITE";
	if (login->domain == PMOF_DOMAIN_DEVICE_FLUSH)
		return "flush: the server's PMEM is durable only after a flush of the device";
	return "flush: the server's HCA does not answer RDMA FLUSH and ATOMIC_WRITE";
}

/**
 * pmof_method_refusal - why a connection cannot use a persist method
 * @method: enum pmof_method that was asked for and is not usable
 * @login: what the server said
 *
 * Return: one line, for the log and the user.
 */
const char *pmof_method_refusal(unsigned int method, const struct pmof_login_reply *login)
{
	switch (method) {
	case PMOF_METHOD_READ:
		return refusal_read(login);
	case PMOF_METHOD_FLUSH:
		return refusal_flush(login);
	case PMOF_METHOD_RPC:
		return "rpc: the server takes no data in its messages";
	case PMOF_METHOD_ASSIST:
		return "assist: the server does not offer it";
	default:
		return "the server offers no persist method that this end has";
	}
}
