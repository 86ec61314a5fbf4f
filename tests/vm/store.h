/* SPDX-License-Identifier: GPL-2.0 */
/* Two files on a connection to a namespace with a store, PMOF_STORE_INSTANCE. */
#ifndef PMOF_TESTS_STORE_H
#define PMOF_TESTS_STORE_H

#include "kvcall.h"
#include "kselftest_harness.h"

#define ANY	PMOF_KV_EXPECT_ANY
#define NONE	PMOF_KV_EXPECT_NONE

static inline int store_instance(void)
{
	return atoi(vm_env("PMOF_STORE_INSTANCE", "pmof0") + strlen("pmof"));
}

FIXTURE(store) {
	int fd;
	int other;		/* another file of the same connection */
};

FIXTURE_SETUP(store)
{
	self->fd = vm_open(store_instance(), O_RDWR);
	self->other = vm_open(store_instance(), O_RDWR);
	ASSERT_LE(0, self->fd);
	ASSERT_LE(0, self->other);
}

FIXTURE_TEARDOWN(store)
{
	close(self->fd);
	close(self->other);
}

static inline void fill(char *p, size_t n, unsigned int seed)
{
	size_t i;

	for (i = 0; i < n; i++)
		p[i] = (i * 131 + i / 4099 + seed) & 0xff;
}

#endif
