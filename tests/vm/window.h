/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A fixture: a window of the medium with known data, durable. After the test
 * the connection must be live and the window unchanged, unless the test says
 * may_change.
 */
#ifndef PMOF_WINDOW_H
#define PMOF_WINDOW_H

#include "kselftest_harness.h"
#include "vm.h"

#define WINDOW_OFF	(1 * MiB)
#define WINDOW_LEN	(4 * MiB + 64 * KiB)

FIXTURE(window) {
	int fd;
	int instance;
	struct pmof_info info;
	char *before;
	char *now;
	bool may_change;
};

FIXTURE_SETUP(window)
{
	uint64_t state = 77;

	self->instance = vm_instance();
	self->fd = vm_open(self->instance, O_RDWR);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, vm_info(self->fd, &self->info));
	self->before = vm_pages(WINDOW_LEN);
	self->now = vm_pages(WINDOW_LEN);
	vm_fill(&state, self->before, WINDOW_LEN);
	ASSERT_EQ(0, vm_put(self->fd, WINDOW_OFF, self->before, WINDOW_LEN, PMOF_F_PERSIST));
}

FIXTURE_TEARDOWN(window)
{
	EXPECT_TRUE(vm_attr_is(self->instance, "state", "live"));
	EXPECT_EQ(0, vm_get(self->fd, WINDOW_OFF, self->now, WINDOW_LEN));
	if (!self->may_change)
		EXPECT_EQ(0, memcmp(self->before, self->now, WINDOW_LEN))
			TH_LOG("the medium has changed");
	close(self->fd);
}

#endif /* PMOF_WINDOW_H */
