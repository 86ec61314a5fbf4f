// SPDX-License-Identifier: GPL-2.0
/*
 * Queues of slots, a page at a time, so that what a commit must put into one is
 * there before it begins.
 */
#include <linux/slab.h>

#include "store.h"

#define PER_BLOCK	((PAGE_SIZE - sizeof(struct block)) / sizeof(struct slot_number))

struct slot_number {
	u64 slot;
	u64 number;
};

struct block {
	struct list_head entry;
	u32 first;
	u32 end;
	struct slot_number slot[];
};

void pmof_store_slots_init(struct store_slots *s)
{
	INIT_LIST_HEAD(&s->blocks);
	s->count = 0;
}

static struct block *last_block(const struct store_slots *s)
{
	return list_empty(&s->blocks) ? NULL : list_last_entry(&s->blocks, struct block, entry);
}

/* The block to put the next slot into: the first that is not full.  At most the last is empty. */
static struct block *open_block(const struct store_slots *s)
{
	struct block *b = last_block(s);

	if (!b)
		return NULL;
	if (!b->end && b->entry.prev != &s->blocks) {
		struct block *before = list_prev_entry(b, entry);

		if (before->end < PER_BLOCK)
			return before;
	}
	return b->end < PER_BLOCK ? b : NULL;
}

static int add_block(struct store_slots *s)
{
	struct block *b = (struct block *)__get_free_page(GFP_KERNEL);

	if (!b)
		return -ENOMEM;
	b->first = 0;
	b->end = 0;
	list_add_tail(&b->entry, &s->blocks);
	return 0;
}

/* So that @room of them, at most a block of them, can be added without fail. */
int pmof_store_slots_reserve(struct store_slots *s, u32 room)
{
	struct block *b = last_block(s);

	if (b && (!b->end || PER_BLOCK - b->end >= room))
		return 0;
	return add_block(s);
}

int pmof_store_slots_add(struct store_slots *s, u64 slot, u64 number)
{
	struct block *b = open_block(s);

	if (!b) {
		if (add_block(s))
			return -ENOMEM;
		b = last_block(s);
	}
	b->slot[b->end++] = (struct slot_number){ slot, number };
	s->count++;
	return 0;
}

bool pmof_store_slots_first(const struct store_slots *s, u64 *slot, u64 *number)
{
	const struct block *b;

	if (!s->count)
		return false;
	b = list_first_entry(&s->blocks, struct block, entry);
	*slot = b->slot[b->first].slot;
	*number = b->slot[b->first].number;
	return true;
}

void pmof_store_slots_pop(struct store_slots *s)
{
	struct block *b = list_first_entry(&s->blocks, struct block, entry);

	s->count--;
	if (++b->first < b->end)
		return;
	b->first = 0;
	b->end = 0;
	/* Kept for the next ones if it is the only one. */
	if (list_is_singular(&s->blocks))
		return;
	list_del(&b->entry);
	free_page((unsigned long)b);
}

void pmof_store_slots_free(struct store_slots *s)
{
	struct block *b, *next;

	list_for_each_entry_safe(b, next, &s->blocks, entry)
		free_page((unsigned long)b);
	pmof_store_slots_init(s);
}
