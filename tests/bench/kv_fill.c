// SPDX-License-Identifier: GPL-2.0
/*
 * kv_fill FILE OFFSET SIZE KEYS: fills an empty store, which stands at OFFSET of an nvdimm's file
 * and has SIZE bytes, with as many keys of 16 bytes and values of 64, as `pmof kv bench --load`
 * does: the same keys, and objects as commits leave them, in the slots that the server's own
 * allocator gives. Nobody uses the store meanwhile.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../kmod/store/alloc.h"
#include "../../kmod/store/steps.h"
#include "../../tools/kv_workload.h"

#define VALUE_LENGTH	64

struct fill {
	struct pmof_kv_medium m;
	struct pmof_kv_alloc alloc;
	struct kv_sizes sizes;
	struct kv_random random;
};

/* The file's pages are the medium of a VM that goes on. */
static void write_back(struct pmof_kv_medium *m, u64 offset, u64 length)
{
	(void)m;
	(void)offset;
	(void)length;
}

static void *zalloc(size_t size)
{
	return calloc(1, size);
}

static int open_store(struct fill *f, const char *path, u64 offset, u64 size)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct pmof_kv_chunk *chunk;
	unsigned int good;

	if (fd < 0)
		return -errno;
	f->m.base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
	close(fd);
	if (f->m.base == MAP_FAILED)
		return -errno;
	f->m.write_back = write_back;
	if (pmof_kv_choose_super(f->m.base, size, &f->m.sb, &good) || good != 3)
		return -EUCLEAN;
	chunk = calloc(f->m.sb.nr_chunks, sizeof(*chunk));
	if (!chunk)
		return -ENOMEM;
	pmof_kv_alloc_init(&f->alloc, &f->m.sb, chunk, zalloc);
	if (pmof_kv_alloc_load(&f->alloc, f->m.base))
		return -ENOMEM;
	return f->alloc.nr_free == f->m.sb.nr_chunks ? 0 : -EEXIST;
}

static void put_value(struct fill *f, u64 number, void *value)
{
	u64 *word = value;
	unsigned int i;

	for (i = 0; i < VALUE_LENGTH / sizeof(*word); i++)
		word[i] = i ? kv_random(&f->random) : number;
}

/* As a commit leaves it, with VF. */
static int put(struct fill *f, u64 number)
{
	char key[64];
	struct pmof_kv_object o = {
		.generation = number + 1, .value_length = VALUE_LENGTH,
		.key_length = kv_make_key(&f->sizes, number, key),
	};
	u32 class = pmof_kv_class_of(pmof_kv_object_length(&o));
	bool fresh;
	u64 slot;
	int rc;

	rc = pmof_kv_alloc_take(&f->alloc, class, &slot, &fresh);
	if (rc)
		return rc;
	if (fresh)
		pmof_kv_assign_chunk(&f->m, (u32)((slot - f->m.sb.chunks) >> PMOF_KV_CHUNK_SHIFT),
				     class, 0);
	put_value(f, number, (u8 *)f->m.base + slot + pmof_kv_value_offset(&o));
	pmof_kv_write_header(&f->m, slot, &o, key);
	pmof_kv_set_vf(&f->m, slot, &o);
	return 0;
}

static int fill(struct fill *f, u64 keys)
{
	u64 number;
	int rc = 0;

	for (number = 0; number < keys && !rc; number++)
		rc = put(f, number);
	if (rc)
		return rc;
	f->m.sb.generation = keys;
	f->m.sb.serial++;
	pmof_kv_write_super(&f->m, 0);
	pmof_kv_write_super(&f->m, 1);
	return 0;
}

int main(int argc, char **argv)
{
	struct fill f = { .sizes = { .kind = KV_SIZES_FIXED, .key = 16, .value = VALUE_LENGTH },
			  .random = { 1 } };
	u64 keys;
	int rc;

	if (argc != 5)
		return 2;
	keys = strtoull(argv[4], NULL, 0);
	rc = open_store(&f, argv[1], strtoull(argv[2], NULL, 0), strtoull(argv[3], NULL, 0));
	if (!rc)
		rc = fill(&f, keys);
	if (rc)
		fprintf(stderr, "kv_fill: %s: %s\n", argv[1], strerror(-rc));
	return rc ? 1 : 0;
}
