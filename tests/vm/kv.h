/* SPDX-License-Identifier: GPL-2.0 */
/* What the programs about the store share: opening it, and values that tell what they are. */
#ifndef PMOF_TEST_KV_H
#define PMOF_TEST_KV_H

#include "../../userlib/libpmofkv.h"
#include "vm.h"

static inline int kv_open(int flags, enum pmofkv_protocol protocol, struct pmofkv **kv)
{
	struct pmofkv_options opt;
	char device[16];

	pmofkv_options_init(&opt);
	opt.protocol = protocol;
	snprintf(device, sizeof(device), "pmof%d", vm_instance());
	return pmofkv_open(device, flags, &opt, kv);
}

static inline uint64_t kv_stat_of(struct pmofkv *kv, enum pmof_kv_stat stat)
{
	uint64_t value[PMOF_KV_STAT_MAX];

	return pmofkv_stat(kv, value, PMOF_KV_STAT_MAX) < 0 ? UINT64_MAX : value[stat];
}

/* Starts a value of that length or more; all behind it follows from it. */
struct proof {
	uint64_t key;
	uint64_t writer;
	uint64_t number;
	uint64_t length;
};

static inline uint64_t proof_next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static inline uint64_t proof_seed(const struct proof *p)
{
	return (p->key + 1) * 0x9e3779b97f4a7c15ULL ^ (p->writer + 1) * 0xc2b2ae3d27d4eb4fULL ^
	       (p->number + 1) * 0x165667b19e3779f9ULL ^ p->length ^ 1ULL << 63;
}

/* Fills @p->length bytes. */
static inline void proof_make(void *value, const struct proof *p)
{
	uint64_t x = proof_seed(p), i, word;
	char *bytes = value;

	memcpy(bytes, p, sizeof(*p));
	for (i = sizeof(*p); i < p->length; i += sizeof(word)) {
		word = proof_next(&x);
		memcpy(bytes + i, &word, p->length - i < 8 ? p->length - i : 8);
	}
}

/* Is it, to the last byte, what proof_make() has made for @key? */
static inline bool proof_ok(const void *value, size_t length, uint64_t key, struct proof *p)
{
	const char *bytes = value;
	uint64_t x, i, word;

	if (length < sizeof(*p))
		return false;
	memcpy(p, bytes, sizeof(*p));
	if (p->key != key || p->length != length)
		return false;
	x = proof_seed(p);
	for (i = sizeof(*p); i < length; i += sizeof(word)) {
		word = proof_next(&x);
		if (memcmp(bytes + i, &word, length - i < 8 ? length - i : 8))
			return false;
	}
	return true;
}

#endif /* PMOF_TEST_KV_H */
