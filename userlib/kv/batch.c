// SPDX-License-Identifier: BSD-3-Clause
/* Many puts: as many in a round as it takes, so that they share messages and the server's fences. */
#include <stdlib.h>

#include "internal.h"

struct batch {
	struct kv_buffers b[KV_ROUND];
	struct kv_task task[KV_ROUND];
	struct kv_task *live[KV_ROUND];
};

/* The tasks of up to KV_ROUND items that are not wrong by themselves; how many. */
static unsigned int begin(struct pmofkv *kv, struct batch *a, struct pmofkv_item *items,
			  unsigned int nr)
{
	unsigned int i, n = 0;

	for (i = 0; i < nr; i++) {
		struct pmofkv_item *p = &items[i];

		p->version = 0;
		p->result = kv_put_init(&a->task[i], kv, p->key, p->key_length, p->value,
					p->value_length, p->expected);
		if (!p->result)
			a->live[n++] = &a->task[i];
	}
	return n;
}

static unsigned int drop_ended(struct kv_task **tasks, unsigned int nr)
{
	unsigned int i, n = 0;

	for (i = 0; i < nr; i++)
		if (tasks[i]->stage)
			tasks[n++] = tasks[i];
	return n;
}

static void run(struct pmofkv *kv, struct batch *a, struct pmofkv_item *items, unsigned int nr)
{
	unsigned int i, n = begin(kv, a, items, nr);

	while (n) {
		kv_round(kv, a->live, a->b, n);
		n = drop_ended(a->live, n);
	}
	for (i = 0; i < nr; i++) {
		if (items[i].result)
			continue;
		items[i].result = a->task[i].result;
		items[i].version = a->task[i].version;
	}
}

int pmofkv_put_batch(struct pmofkv *kv, struct pmofkv_item *items, unsigned int nr)
{
	struct batch *a = malloc(sizeof(*a));
	unsigned int i, n;
	int ret = 0;

	for (i = 0; i < nr; i += n) {
		unsigned int j;

		n = nr - i < KV_ROUND ? nr - i : KV_ROUND;
		if (a)
			run(kv, a, items + i, n);
		for (j = i; j < i + n; j++) {
			if (!a)
				items[j].result = -ENOMEM;
			if (!ret)
				ret = items[j].result;
		}
	}
	free(a);
	return ret;
}
