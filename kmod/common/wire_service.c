// SPDX-License-Identifier: GPL-2.0
/* The wire codec of the calls of a namespace's service. */
#include "wire.h"

/*
 * The part of a call before its data, which the caller has put, or puts, behind it.
 * Returns the message's length with them.
 */
size_t pmof_put_service(struct pmof_wire_service *w, u8 opcode, u16 tag, u32 context, u32 length)
{
	pmof_put_hdr(&w->hdr, opcode, tag, sizeof(*w) + length, 0);
	w->context = cpu_to_le32(context);
	w->reserved = 0;
	return sizeof(*w) + length;
}
EXPORT_SYMBOL_GPL(pmof_put_service);

/* The data are checked by the service. */
int pmof_get_service(const void *buf, size_t len, u32 *context, u32 *length)
{
	const struct pmof_wire_service *w = buf;

	if (len < sizeof(*w) || len > PMOF_CALL_SIZE_MAX || w->reserved)
		return PMOF_SC_INVALID;
	*context = le32_to_cpu(w->context);
	*length = len - sizeof(*w);
	if (!*context || (w->hdr.opcode == PMOF_MSG_SERVICE_CLOSE && *length))
		return PMOF_SC_INVALID;
	return 0;
}
EXPORT_SYMBOL_GPL(pmof_get_service);

/* Of a reply whose data stand behind the header. */
size_t pmof_put_service_reply(struct pmof_wire_hdr *w, u8 opcode, u16 tag, u32 length)
{
	pmof_put_hdr(w, opcode | PMOF_MSG_REPLY, tag, sizeof(*w) + length, 0);
	return sizeof(*w) + length;
}
EXPORT_SYMBOL_GPL(pmof_put_service_reply);

int pmof_get_service_reply(const void *buf, size_t len, u8 opcode, u32 *length)
{
	int rc = pmof_get_reply_hdr(buf, len, opcode, sizeof(struct pmof_wire_hdr));

	if (rc)
		return rc;
	if (len > PMOF_IO_REPLY_SIZE)
		return PMOF_SC_INVALID;
	*length = len - sizeof(struct pmof_wire_hdr);
	return 0;
}
EXPORT_SYMBOL_GPL(pmof_get_service_reply);
