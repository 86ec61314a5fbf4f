// SPDX-License-Identifier: GPL-2.0
/*
 * What spoils a store, for a script that opens it again (kv.sh): one test at a time, by -t.
 */
#include "kvcall.h"
#include "kselftest_harness.h"

#define ANY	PMOF_KV_EXPECT_ANY
#define SLOT	64

FIXTURE(damaged) {
	int fd;
	union kv_reply r;
};

FIXTURE_SETUP(damaged)
{
	self->fd = vm_open(vm_instance(), O_RDWR);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(damaged)
{
	close(self->fd);
}

/* As a power cut leaves it. */
TEST_F(damaged, no_vf)
{
	uint8_t vf = 0;
	uint64_t end;

	ASSERT_EQ(0, kv_get(self->fd, "vf", 0, 0, &self->r));
	end = sizeof(struct pmof_kv_object_header) + strlen("vf") + self->r.get.value_length;
	end = self->r.get.offset + (end + 7) / 8 * 8;
	ASSERT_EQ(0, vm_put(self->fd, end + 7, &vf, 1, 0));
}

/* What is written into the slot behind a key's, which is nobody's. */
static int write_behind(int fd, const char *key, const void *what)
{
	union kv_reply r;

	if (kv_get(fd, key, 0, 0, &r))
		return -1;
	return vm_put(fd, r.get.offset + SLOT, what, SLOT, 0);
}

/* A key is there twice. */
TEST_F(damaged, twice)
{
	char object[SLOT];

	ASSERT_EQ(0, kv_put(self->fd, "twice", "value", ANY, NULL));
	ASSERT_EQ(0, kv_get(self->fd, "twice", 0, 0, &self->r));
	ASSERT_EQ(0, vm_get(self->fd, self->r.get.offset, object, SLOT));
	ASSERT_EQ(0, write_behind(self->fd, "twice", object));
}

/* And is not any more. */
TEST_F(damaged, once)
{
	char nothing[SLOT] = { 0 };

	ASSERT_EQ(0, write_behind(self->fd, "twice", nothing));
}

#define VALUE	1400	/* bytes: its object has a header's sector, one of its own, and the trailer's */

/* The sector in which the key's object begins, which it has for itself. */
static int sector_of(int fd, const char *key)
{
	union kv_reply r;

	if (kv_get(fd, key, 0, 0, &r) || r.get.offset % 512)
		return -1;
	return (int)(r.get.offset / 512);
}

/* Tells the script; 0 on success. */
static int say_sectors(int first, int second)
{
	FILE *f = fopen("/tmp/sectors", "w");

	if (!f)
		return -1;
	fprintf(f, "%d %d\n", first, second);
	return fclose(f);
}

/* A key is put twice; says in which sectors the older and the newer one begin. */
TEST_F(damaged, superseded)
{
	char value[VALUE + 1] = "";
	int older, newer;

	memset(value, 'a', VALUE);
	ASSERT_EQ(0, kv_put(self->fd, "newer", value, ANY, NULL));
	older = sector_of(self->fd, "newer");
	ASSERT_LE(0, older);
	memset(value, 'b', VALUE);
	ASSERT_EQ(0, kv_put(self->fd, "newer", value, ANY, NULL));
	newer = sector_of(self->fd, "newer");
	ASSERT_LE(0, newer);
	ASSERT_NE(older, newer);
	ASSERT_EQ(0, say_sectors(older, newer));
}

TEST_F(damaged, is_newer)
{
	ASSERT_EQ(0, kv_get(self->fd, "newer", VALUE, 0, &self->r));
	ASSERT_EQ(VALUE, self->r.get.value_length);
	EXPECT_EQ('b', self->r.get.value[0]);
}

/* Says in which sector the object of a key begins that the script has put. */
TEST_F(damaged, where)
{
	ASSERT_EQ(0, kv_get(self->fd, "long", 0, 0, &self->r));
	ASSERT_EQ(0, say_sectors(self->r.get.offset / 512, -1));
}

TEST_HARNESS_MAIN
