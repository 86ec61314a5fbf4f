// SPDX-License-Identifier: BSD-3-Clause
/* pmof kv bench --batch: keys that are put in together. */
#include <stdlib.h>
#include <string.h>

#include "kv_bench.h"

struct kv_batch {
	const struct kv_sizes *sizes;
	struct pmofkv_item *item;
	char (*key)[KV_KEY_MAX];
	char *value;		/* of all of them, one each @step */
	size_t step;
};

struct kv_batch *kv_batch_new(const struct kv_sizes *sizes, unsigned int nr, const char *value)
{
	struct kv_batch *b = calloc(1, sizeof(*b));
	unsigned int i;

	if (!b)
		return NULL;
	b->sizes = sizes;
	b->step = kv_value_size_max(sizes) + sizeof(uint64_t);
	b->item = calloc(nr, sizeof(*b->item));
	b->key = calloc(nr, sizeof(*b->key));
	b->value = calloc(nr, b->step);
	if (!b->item || !b->key || !b->value) {
		kv_batch_free(b);
		return NULL;
	}
	for (i = 0; i < nr; i++)
		memcpy(b->value + i * b->step, value, kv_value_size_max(sizes));
	return b;
}

void kv_batch_free(struct kv_batch *b)
{
	if (!b)
		return;
	free(b->item);
	free(b->key);
	free(b->value);
	free(b);
}

int kv_batch_put(struct kv_batch *b, struct pmofkv *kv, uint64_t first, unsigned int nr,
		 struct kv_random *random, uint64_t *bytes)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		uint64_t number = first + i;
		char *value = b->value + i * b->step;

		memcpy(value, &number, sizeof(number));
		b->item[i] = (struct pmofkv_item){
			.key = b->key[i], .key_length = kv_make_key(b->sizes, number, b->key[i]),
			.value = value, .value_length = kv_value_size(b->sizes, random),
			.expected = PMOF_KV_EXPECT_ANY,
		};
		*bytes += b->item[i].value_length;
	}
	return pmofkv_put_batch(kv, b->item, nr);
}
