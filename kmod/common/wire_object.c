// SPDX-License-Identifier: GPL-2.0
/* The wire codec of the messages that write to the namespace and of those about objects. */
#include "wire.h"
#include "object.h"
#include "range.h"

/*
 * The part of a PUT before its data, which the caller sends behind it: returns
 * the bytes of this part; the header's length counts both.
 */
size_t pmof_put_put(struct pmof_wire_put *w, u16 tag, const struct pmof_put *p)
{
	u64 length = p->range.length + (p->commit ? PMOF_TRAILER_SIZE : 0);

	memset(w, 0, sizeof(*w));
	pmof_put_hdr(&w->hdr, PMOF_MSG_PUT, tag, sizeof(*w) + p->range.length, 0);
	w->offset = cpu_to_le64(p->range.offset);
	w->length = cpu_to_le64(length);
	w->generation = cpu_to_le64(p->commit ? p->generation : 0);
	w->flags = cpu_to_le32(p->commit ? PMOF_PUT_F_COMMIT : 0);
	return sizeof(*w);
}
EXPORT_SYMBOL_GPL(pmof_put_put);

static int get_put_object(u64 offset, u64 length, u64 ns_size, struct pmof_put *out)
{
	if (!pmof_generation_ok(out->generation) || offset % 8 || length % 8 ||
	    length < PMOF_OBJECT_MIN)
		return PMOF_SC_INVALID;
	out->trailer = pmof_object_trailer(offset, length);
	out->range.length = length - PMOF_TRAILER_SIZE;
	return pmof_object_ok(offset, length, ns_size) ? 0 : PMOF_SC_RANGE;
}

int pmof_get_put(const void *buf, size_t len, u64 ns_size, struct pmof_put *out)
{
	const struct pmof_wire_put *w = buf;
	u64 offset, length;
	u32 flags;
	int rc = 0;

	if (len < sizeof(*w) || w->reserved)
		return PMOF_SC_INVALID;
	offset = le64_to_cpu(w->offset);
	length = le64_to_cpu(w->length);
	flags = le32_to_cpu(w->flags);
	*out = (struct pmof_put) {
		.range		= { offset, length },
		.commit		= flags & PMOF_PUT_F_COMMIT,
		.generation	= le64_to_cpu(w->generation),
	};
	if (flags & ~PMOF_PUT_F_COMMIT || (!out->commit && out->generation) || !length)
		return PMOF_SC_INVALID;
	if (out->commit)
		rc = get_put_object(offset, length, ns_size, out);
	else if (!pmof_range_ok(offset, length, ns_size))
		rc = PMOF_SC_RANGE;
	if (rc == PMOF_SC_INVALID || out->range.length != len - sizeof(*w))
		return PMOF_SC_INVALID;
	return rc;
}
EXPORT_SYMBOL_GPL(pmof_get_put);

size_t pmof_put_commit(struct pmof_wire_commit *w, u16 tag, const struct pmof_put *p)
{
	memset(w, 0, sizeof(*w));
	pmof_put_hdr(&w->hdr, PMOF_MSG_COMMIT, tag, sizeof(*w), 0);
	w->offset = cpu_to_le64(p->range.offset);
	w->length = cpu_to_le64(p->range.length);
	w->trailer = cpu_to_le64(p->trailer);
	w->generation = cpu_to_le64(p->generation);
	return sizeof(*w);
}
EXPORT_SYMBOL_GPL(pmof_put_commit);

int pmof_get_commit(const void *buf, size_t len, u64 ns_size, struct pmof_put *out)
{
	const struct pmof_wire_commit *w = buf;

	if (len != sizeof(*w))
		return PMOF_SC_INVALID;
	*out = (struct pmof_put) {
		.range		= { le64_to_cpu(w->offset), le64_to_cpu(w->length) },
		.commit		= true,
		.trailer	= le64_to_cpu(w->trailer),
		.generation	= le64_to_cpu(w->generation),
	};
	if (!pmof_generation_ok(out->generation) || out->trailer % 8)
		return PMOF_SC_INVALID;
	if (!pmof_range_ok(out->range.offset, out->range.length, ns_size) ||
	    !pmof_range_ok(out->trailer, PMOF_TRAILER_SIZE, ns_size))
		return PMOF_SC_RANGE;
	return 0;
}
EXPORT_SYMBOL_GPL(pmof_get_commit);

size_t pmof_put_zero(struct pmof_wire_zero *w, u16 tag, const struct pmof_range *range)
{
	memset(w, 0, sizeof(*w));
	pmof_put_hdr(&w->hdr, PMOF_MSG_ZERO, tag, sizeof(*w), 0);
	w->offset = cpu_to_le64(range->offset);
	w->length = cpu_to_le64(range->length);
	return sizeof(*w);
}
EXPORT_SYMBOL_GPL(pmof_put_zero);

int pmof_get_zero(const void *buf, size_t len, u64 ns_size, struct pmof_range *out)
{
	const struct pmof_wire_zero *w = buf;

	if (len != sizeof(*w))
		return PMOF_SC_INVALID;
	out->offset = le64_to_cpu(w->offset);
	out->length = le64_to_cpu(w->length);
	if (!out->length || out->length > PMOF_MAX_ZERO)
		return PMOF_SC_INVALID;
	return pmof_range_ok(out->offset, out->length, ns_size) ? 0 : PMOF_SC_RANGE;
}
EXPORT_SYMBOL_GPL(pmof_get_zero);

/* PREPARE and REVALIDATE. */
size_t pmof_put_objects(struct pmof_wire_objects *w, u8 opcode, u16 tag, const u64 *trailer,
			u32 count)
{
	size_t len = sizeof(*w) + count * sizeof(w->trailer[0]);
	u32 i;

	memset(w, 0, sizeof(*w));
	pmof_put_hdr(&w->hdr, opcode, tag, len, 0);
	w->count = cpu_to_le32(count);
	for (i = 0; i < count; i++)
		w->trailer[i] = cpu_to_le64(trailer[i]);
	return len;
}
EXPORT_SYMBOL_GPL(pmof_put_objects);

int pmof_get_objects(const void *buf, size_t len, u64 ns_size, u64 trailer[PMOF_MAX_OBJECTS],
		     u32 *count)
{
	const struct pmof_wire_objects *w = buf;
	int rc = 0;
	u32 i;

	if (len < sizeof(*w) || w->reserved)
		return PMOF_SC_INVALID;
	*count = le32_to_cpu(w->count);
	if (!*count || *count > PMOF_MAX_OBJECTS ||
	    len != sizeof(*w) + *count * sizeof(w->trailer[0]))
		return PMOF_SC_INVALID;
	for (i = 0; i < *count; i++) {
		trailer[i] = le64_to_cpu(w->trailer[i]);
		if (trailer[i] % 8)
			return PMOF_SC_INVALID;
		if (!pmof_range_ok(trailer[i], PMOF_TRAILER_SIZE, ns_size))
			rc = PMOF_SC_RANGE;
	}
	return rc;
}
EXPORT_SYMBOL_GPL(pmof_get_objects);

size_t pmof_put_objects_reply(struct pmof_wire_objects_reply *w, u8 opcode, u16 tag,
			      const u64 *generation, u32 count)
{
	size_t len = sizeof(*w) + count * sizeof(w->generation[0]);
	u32 i;

	memset(w, 0, sizeof(*w));
	pmof_put_hdr(&w->hdr, opcode | PMOF_MSG_REPLY, tag, len, 0);
	w->count = cpu_to_le32(count);
	for (i = 0; i < count; i++)
		w->generation[i] = cpu_to_le64(generation[i]);
	return len;
}
EXPORT_SYMBOL_GPL(pmof_put_objects_reply);

/* @asked: how many the request named.  A prepared object has a generation. */
int pmof_get_objects_reply(const void *buf, size_t len, u8 opcode, u32 asked,
			   u64 generation[PMOF_MAX_OBJECTS])
{
	const struct pmof_wire_objects_reply *w = buf;
	int rc = pmof_get_reply_hdr(buf, len, opcode, sizeof(*w));
	u32 i;

	if (rc)
		return rc;
	if (w->reserved || le32_to_cpu(w->count) != asked ||
	    len != sizeof(*w) + (u64)asked * sizeof(w->generation[0]))
		return PMOF_SC_INVALID;
	for (i = 0; i < asked; i++) {
		generation[i] = le64_to_cpu(w->generation[i]);
		if (generation[i] & ~PMOF_GENERATION_MASK)
			return PMOF_SC_INVALID;
		if (!generation[i] && opcode == PMOF_MSG_PREPARE)
			return PMOF_SC_INVALID;
	}
	return 0;
}
EXPORT_SYMBOL_GPL(pmof_get_objects_reply);
