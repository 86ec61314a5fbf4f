// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The allocator: alloc.h.  A class takes slots from the first chunk of its list; a
 * chunk that is full leaves the list, and comes back with the first slot that is given
 * back.  A free chunk gets a class, for life, when no other of the class has room.
 */
#include "alloc.h"

void pmof_kv_alloc_init(struct pmof_kv_alloc *a, const struct pmof_kv_super *sb,
			struct pmof_kv_chunk *chunk, void *(*zalloc)(size_t size))
{
	memset(a, 0, sizeof(*a));
	a->sb = sb;
	a->chunk = chunk;
	a->zalloc = zalloc;
	a->nr_free = sb->nr_chunks;
	a->bytes = sb->nr_chunks * sizeof(*chunk);
}

static u32 nr_words(u32 class)
{
	return (pmof_kv_class_slots(class) + 63) / 64;
}

static void list_chunk(struct pmof_kv_alloc *a, u32 i)
{
	struct pmof_kv_chunk *c = &a->chunk[i];

	if (c->listed)
		return;
	c->next = a->partial[c->class];
	a->partial[c->class] = i + 1;
	c->listed = true;
}

/* Chunks from @i on get a class. */
static int set_class(struct pmof_kv_alloc *a, u32 i, u32 class)
{
	u64 *used = a->zalloc(nr_words(class) * sizeof(u64));
	u32 part;

	if (!used)
		return -ENOMEM;
	for (part = 0; part < pmof_kv_class_chunks(class); part++) {
		a->chunk[i + part].class = class;
		a->chunk[i + part].part = part;
	}
	a->chunk[i].used = used;
	a->nr_free -= part;
	a->bytes += nr_words(class) * sizeof(u64);
	list_chunk(a, i);
	return 0;
}

/* Takes over what the chunk table says.  Returns 0 or -ENOMEM. */
int pmof_kv_alloc_load(struct pmof_kv_alloc *a, const void *base)
{
	u32 i = 0, class;
	int rc;

	while (i < a->sb->nr_chunks) {
		class = pmof_kv_chunk_class(base, a->sb, i);
		if (!class) {
			i++;
			continue;
		}
		rc = set_class(a, i, class);
		if (rc)
			return rc;
		i += pmof_kv_class_chunks(class);
	}
	return 0;
}

/* The chunk of a slot that may be one, and the slot's number in it; or NULL. */
static struct pmof_kv_chunk *find_slot(const struct pmof_kv_alloc *a, u64 slot, u32 *nr)
{
	struct pmof_kv_chunk *c;
	u64 within, size;

	if (slot < a->sb->chunks ||
	    (slot - a->sb->chunks) >> PMOF_KV_CHUNK_SHIFT >= a->sb->nr_chunks)
		return NULL;
	c = &a->chunk[(slot - a->sb->chunks) >> PMOF_KV_CHUNK_SHIFT];
	if (!c->class || c->part)
		return NULL;
	within = (slot - a->sb->chunks) & (PMOF_KV_CHUNK_SIZE - 1);
	size = pmof_kv_class_size(c->class);
	if (within % size || within / size >= pmof_kv_class_slots(c->class))
		return NULL;
	*nr = within / size;
	return c;
}

/* The class of a slot, or 0 if it is none. */
u32 pmof_kv_alloc_class(const struct pmof_kv_alloc *a, u64 slot)
{
	struct pmof_kv_chunk *c;
	u32 nr;

	c = find_slot(a, slot, &nr);
	return c ? c->class : 0;
}

/* Its bytes. */
u64 pmof_kv_alloc_room(const struct pmof_kv_alloc *a, u64 slot)
{
	u32 class = pmof_kv_alloc_class(a, slot);

	return class ? pmof_kv_class_size(class) : 0;
}

static bool is_used(const struct pmof_kv_chunk *c, u32 nr)
{
	return c->used[nr / 64] >> nr % 64 & 1;
}

static void use(struct pmof_kv_alloc *a, struct pmof_kv_chunk *c, u32 nr)
{
	c->used[nr / 64] |= 1ULL << nr % 64;
	c->nr_used++;
	a->used_slots++;
}

/* Recovery: the slot is in use.  -EINVAL: it is no slot, or marked already. */
int pmof_kv_alloc_mark(struct pmof_kv_alloc *a, u64 slot)
{
	struct pmof_kv_chunk *c;
	u32 nr;

	c = find_slot(a, slot, &nr);
	if (!c || is_used(c, nr))
		return -EINVAL;
	use(a, c, nr);
	return 0;
}

/* So many free chunks next to each other: the first's number, or that of all chunks. */
static u32 find_free_chunks(const struct pmof_kv_alloc *a, u32 nr)
{
	u32 i, run = 0;

	for (i = 0; a->nr_free >= nr && i < a->sb->nr_chunks; i++) {
		run = a->chunk[i].class ? 0 : run + 1;
		if (run == nr)
			return i + 1 - nr;
	}
	return a->sb->nr_chunks;
}

/* The first chunk of the class's list that has room; those that are full leave it. */
static struct pmof_kv_chunk *first_partial(struct pmof_kv_alloc *a, u32 class)
{
	while (a->partial[class]) {
		struct pmof_kv_chunk *c = &a->chunk[a->partial[class] - 1];

		if (c->nr_used < pmof_kv_class_slots(class))
			return c;
		a->partial[class] = c->next;
		c->listed = false;
	}
	return NULL;
}

/* There is one, ahead of the bits behind the last slot, which are never set. */
static u32 first_free(struct pmof_kv_chunk *c)
{
	u32 bit = 0;
	u64 word;

	while (!~c->used[c->hint])
		c->hint++;
	for (word = c->used[c->hint]; word & 1; word >>= 1)
		bit++;
	return c->hint * 64 + bit;
}

/*
 * @fresh: the chunk has just got its class, which has to be made durable before there
 * is a header in it (pmof_kv_assign_chunk()).  -ENOSPC, -ENOMEM: nothing has changed.
 */
int pmof_kv_alloc_take(struct pmof_kv_alloc *a, u32 class, u64 *slot, bool *fresh)
{
	struct pmof_kv_chunk *c;
	u32 i, nr;
	int rc;

	if (!class || class > PMOF_KV_CLASSES)
		return -ENOSPC;
	c = first_partial(a, class);
	*fresh = !c;
	if (!c) {
		i = find_free_chunks(a, pmof_kv_class_chunks(class));
		if (i == a->sb->nr_chunks)
			return -ENOSPC;
		rc = set_class(a, i, class);
		if (rc)
			return rc;
		c = &a->chunk[i];
	}
	nr = first_free(c);
	use(a, c, nr);
	*slot = pmof_kv_chunk_offset(a->sb, c - a->chunk) + nr * pmof_kv_class_size(class);
	return 0;
}

bool pmof_kv_alloc_is_used(const struct pmof_kv_alloc *a, u64 slot)
{
	const struct pmof_kv_chunk *c;
	u32 nr;

	c = find_slot(a, slot, &nr);
	return c && is_used(c, nr);
}

/* -EINVAL: it is no slot, or not in use. */
int pmof_kv_alloc_give(struct pmof_kv_alloc *a, u64 slot)
{
	struct pmof_kv_chunk *c;
	u32 nr;

	c = find_slot(a, slot, &nr);
	if (!c || !is_used(c, nr))
		return -EINVAL;
	c->used[nr / 64] &= ~(1ULL << nr % 64);
	c->nr_used--;
	a->used_slots--;
	c->hint = min_t(u32, c->hint, nr / 64);
	list_chunk(a, c - a->chunk);
	return 0;
}

void pmof_kv_alloc_free(struct pmof_kv_alloc *a, void (*free_used)(const void *used))
{
	u32 i;

	for (i = 0; i < a->sb->nr_chunks; i++)
		if (a->chunk[i].used)
			free_used(a->chunk[i].used);
}
