/* SPDX-License-Identifier: GPL-2.0 */
/* What the suites mmap and mmap_life share: a connection of the test's own, and mappings of it. */
#ifndef PMOF_VM_MAPPING_H
#define PMOF_VM_MAPPING_H

#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "bus.h"
#include "counts.h"

#define PAGE	4096
#define AT	(64 * MiB)
#define AREA	(2 * MiB)
#define NODE	"/dev/pmofc-second-node"

static inline void *map(int fd, uint64_t offset, size_t len, int prot, int flags)
{
	return mmap(NULL, len, prot, flags, fd, offset);
}

static inline void *map_shared(int fd, uint64_t offset, size_t len)
{
	return map(fd, offset, len, PROT_READ | PROT_WRITE, MAP_SHARED);
}

/* Nothing of the area is in the page cache. */
static inline void drop(int fd)
{
	posix_fadvise(fd, AT, AREA, POSIX_FADV_DONTNEED);
}

/* --- a connection of the test's own, assist: its counters tell it all -------------- */

FIXTURE(mmap) {
	int instance;
	int fd, second;		/* the same device, by two nodes */
	int outside;		/* the namespace, through another connection */
	uint64_t state;
	char *p;		/* the area, shared */
	char *buf;
};

static inline int open_second_node(int fd)
{
	struct stat st;

	unlink(NODE);
	if (fstat(fd, &st) || mknod(NODE, S_IFCHR | 0600, st.st_rdev))
		return -1;
	return open(NODE, O_RDWR | O_CLOEXEC);
}

FIXTURE_SETUP(mmap)
{
	self->state = 77;
	self->instance = vm_connect("queues=2,persist=assist");
	ASSERT_LE(0, self->instance);
	self->fd = vm_open(self->instance, O_RDWR);
	ASSERT_LE(0, self->fd);
	self->second = open_second_node(self->fd);
	ASSERT_LE(0, self->second);
	self->outside = vm_open(vm_instance(), O_RDWR);
	ASSERT_LE(0, self->outside);
	self->buf = vm_pages(AREA);
	vm_fill(&self->state, self->buf, AREA);
	ASSERT_EQ(0, vm_put(self->outside, AT, self->buf, AREA, PMOF_F_PERSIST));
	self->p = map_shared(self->fd, AT, AREA);
	ASSERT_NE(MAP_FAILED, self->p);
}

FIXTURE_TEARDOWN(mmap)
{
	munmap(self->p, AREA);
	close(self->fd);
	close(self->second);
	if (self->instance >= 0) {
		EXPECT_TRUE(vm_attr_is(self->instance, "state", "live"));
		EXPECT_EQ(0, vm_stat(self->instance, "stats/errors"));
		EXPECT_EQ(0, vm_disconnect(self->instance));
	}
	unlink(NODE);
}

/* What another client finds. */
static inline bool outside_has(int fd, uint64_t offset, const char *want, size_t len)
{
	char *got = vm_pages(len);
	bool same = !vm_get(fd, offset, got, len) && !memcmp(got, want, len);

	munmap(got, len);
	return same;
}

#endif /* PMOF_VM_MAPPING_H */
