// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where the instructions go: how often each block of a VM's kernel has been entered between the
 * marks, by its address.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "profile.h"

#define BUCKETS	65536

struct profile_block {
	struct profile_block *next;
	uint64_t addr;
	size_t insns;
	uint64_t entered;
};

/* Blocks are translated under QEMU's lock, but by more than one thread. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct profile_block *buckets[BUCKETS];

/**
 * profile_block - the counter of a block
 * @addr: where in the guest it begins
 * @insns: how many instructions it has
 *
 * A block that is translated again, or beside itself with another length, keeps a counter for each
 * length. Never freed. Thread safe.
 *
 * Return: the block; ends the program without memory.
 */
struct profile_block *profile_block(uint64_t addr, size_t insns)
{
	struct profile_block **bucket = &buckets[(addr ^ addr >> 16) % BUCKETS], *b;

	pthread_mutex_lock(&lock);
	for (b = *bucket; b; b = b->next)
		if (b->addr == addr && b->insns == insns)
			break;
	if (!b) {
		b = calloc(1, sizeof(*b));
		if (!b)
			abort();
		b->addr = addr;
		b->insns = insns;
		b->next = *bucket;
		*bucket = b;
	}
	pthread_mutex_unlock(&lock);
	return b;
}

/* Any thread of QEMU's. */
void profile_enter(struct profile_block *b)
{
	__atomic_fetch_add(&b->entered, 1, __ATOMIC_RELAXED);
}

/**
 * profile_write - write all counters down
 * @path: gets a line for each block that was entered: its address, how often, instructions
 *
 * Return: 0, or an errno.
 */
int profile_write(const char *path)
{
	FILE *f = fopen(path, "we");
	struct profile_block *b;
	int i, bad;

	if (!f)
		return errno;
	for (i = 0; i < BUCKETS; i++)
		for (b = buckets[i]; b; b = b->next)
			if (b->entered)
				fprintf(f, "%016" PRIx64 " %" PRIu64 " %" PRIu64 "\n", b->addr,
					b->entered, b->entered * b->insns);
	bad = ferror(f);
	return fclose(f) || bad ? EIO : 0;
}
