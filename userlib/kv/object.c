// SPDX-License-Identifier: BSD-3-Clause
/* Objects, as whoever READs one finds it: uapi/pmof_kv.h, and for the trailer uapi/pmof.h. */
#include "internal.h"

/* Bytes up to the trailer. */
static size_t trailer_offset(size_t key_length, size_t value_length)
{
	size_t n = sizeof(struct pmof_kv_object_header) + key_length + value_length;

	return (n + 7) & ~(size_t)7;
}

size_t kv_object_size(size_t key_length, size_t value_length)
{
	return trailer_offset(key_length, value_length) + KV_TRAILER_SIZE;
}

/* PF and VF with a generation. */
static uint64_t committed_trailer(uint64_t generation)
{
	unsigned int i, sum = 0;

	for (i = 0; i < 6; i++)
		sum += (unsigned int)(generation >> (8 * i) & 0xff) << i;
	return generation | 1ULL << PMOF_TRAILER_PF_SHIFT |
	       (uint64_t)(0x80 | (sum & 0x7f)) << PMOF_TRAILER_VF_SHIFT;
}

/*
 * Is it the object that the answer to a GET named, whole at both ends?  @object has the bytes
 * that kv_object_size() of the task's lengths says.
 */
bool kv_object_ok(const void *object, const struct kv_task *t)
{
	const struct pmof_kv_object_header *h = object;
	const unsigned char *bytes = object;
	uint64_t trailer;

	memcpy(&trailer, bytes + trailer_offset(t->key_length, t->value_length),
	       sizeof(trailer));
	return le32toh(h->magic) == PMOF_KV_OBJECT_MAGIC &&
	       le16toh(h->key_length) == t->key_length && !h->reserved &&
	       le32toh(h->value_length) == t->value_length &&
	       le64toh(h->generation) == t->version &&
	       !memcmp(h->data, t->key, t->key_length) &&
	       le64toh(trailer) == committed_trailer(t->version);
}
