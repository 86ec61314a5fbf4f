/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A store under the power-cut explorer: what a key holds after its operation V is a
 * function of seed, key and V, so the checker needs nothing but an image and V's bounds.
 * A key is a slot of the log without a place (SLOT_KV), an operation on it a transaction
 * (OP_TXN); what a get has returned is OP_READ. A key with several writers (SLOT_SHARED) has
 * values with numbers, and the log says which version each has got (shared.h). See docs/crash.md.
 */
#ifndef PMOF_CRASH_KV_H
#define PMOF_CRASH_KV_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "content.h"

#define KV_MAX_KEY	700
#define KV_MAX_VALUE	45000

static inline uint64_t kv_mix(uint64_t seed, uint32_t key, uint64_t version)
{
	return crash_mix(seed ^ crash_mix((uint64_t)key << 32 | version));
}

/* The bytes of a key: its number, and a tail; a few are long. Returns the length. */
static inline uint32_t kv_key(uint64_t seed, uint32_t key, char buf[KV_MAX_KEY])
{
	uint64_t rnd = kv_mix(~seed, key, 0);
	uint32_t tail = crash_rnd(&rnd, key % 8 ? 24 : 600);
	int len = snprintf(buf, KV_MAX_KEY, "k%u-", key);

	memset(buf + len, 'a' + key % 26, tail);
	return len + tail;
}

/* The number of a key that kv_key() has made, or UINT32_MAX. */
static inline uint32_t kv_key_number(uint64_t seed, const void *bytes, uint32_t length)
{
	char buf[KV_MAX_KEY], head[16] = "";
	unsigned int key;

	memcpy(head, bytes, length < sizeof(head) ? length : sizeof(head) - 1);
	if (sscanf(head, "k%u-", &key) != 1 || kv_key(seed, key, buf) != length ||
	    memcmp(buf, bytes, length))
		return UINT32_MAX;
	return key;
}

/* Before its first operation there is no such key; two deletes never follow each other. */
static inline bool kv_absent(uint64_t seed, uint32_t key, uint64_t version)
{
	return !version || (version % 2 == 0 && kv_mix(seed, key, version) % 3 == 0);
}

/* From none to what no message holds; objects of few size classes, since chunks keep theirs. */
static inline uint32_t kv_value_length(uint64_t seed, uint32_t key, uint64_t version)
{
	static const uint32_t object[] = { 88, 120, 310, 1250, 3500, 5900, 12100, 44800 };
	uint64_t rnd = kv_mix(seed, key, ~version);
	char bytes[KV_MAX_KEY];
	uint32_t size = object[crash_rnd(&rnd, 8)] - crash_rnd(&rnd, 12);
	uint32_t rest = 32 + kv_key(seed, key, bytes);

	return size > rest ? size - rest : 0;
}

/* Are these the bytes of a key's value @number? */
static inline bool kv_is_content(uint64_t seed, uint32_t key, uint64_t number, const void *value,
				 uint32_t length, uint8_t buf[KV_MAX_VALUE])
{
	if (kv_value_length(seed, key, number) != length)
		return false;
	crash_content(buf, seed, key, number, 0, length);
	return !memcmp(buf, value, length);
}

/* Is this the value of that version? */
static inline bool kv_is_value(uint64_t seed, uint32_t key, uint64_t version, const void *value,
			       uint32_t length, uint8_t buf[KV_MAX_VALUE])
{
	return !kv_absent(seed, key, version) &&
	       kv_is_content(seed, key, version, value, length, buf);
}

#endif /* PMOF_CRASH_KV_H */
