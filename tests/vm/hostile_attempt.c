// SPDX-License-Identifier: GPL-2.0
/*
 * A server that says at the client's second login what it did not at the first, and then lets the
 * client wait: what the client had begun on the first connection must not go by it.
 */
#include <sys/wait.h>

#include "patience.h"
#include "window.h"
#include "wireserver.h"

#define SECONDS		10	/* that a request waits for a connection */

/* All is bad, and of which pieces it consists we do not say.  Writes to @told when it is asked. */
static int serve(int told)
{
	struct server s = { };

	if (listen_here(&s.listener) || let_in(&s, 1 << PMOF_METHOD_FLUSH))
		return 2;
	usleep(500000 * vm_time_factor());
	leave(&s);
	if (let_admin_in(&s, 1 << PMOF_METHOD_FLUSH, 1) ||
	    take_message(&s.admin, PMOF_MSG_GET_PIECES) < 0 || write(told, "", 1) != 1)
		return 3;
	pause();
	return 0;
}

static int connect_to_it(void)
{
	char options[256];

	snprintf(options, sizeof(options), "addr=%s,port=%d,name=data,block=0,queues=1,persist=flush,"
		 "keep_alive_tmo=0,reconnect_delay=1,fail_io_timeout=%d", own_address(), PORT,
		 (int)(SECONDS * vm_time_factor()));
	return vm_connect_soon(options);
}

/* [V4] In pieces there are none: no FLUSH goes anywhere, and nothing is durable by that. */
TEST_F_TIMEOUT(window, flush_of_nothing, 120)
{
	int instance, fd, told[2], status;
	char byte;
	pid_t pid;

	ASSERT_EQ(0, pipe(told));
	pid = fork();
	if (!pid)
		_exit(serve(told[1]));
	close(told[1]);
	instance = connect_to_it();
	if (instance < 0)
		kill(pid, SIGKILL);
	ASSERT_LE(0, instance) TH_LOG("%d", instance);
	fd = vm_open(instance, O_RDWR);
	EXPECT_LE(0, fd);
	EXPECT_EQ(1, read(told[0], &byte, 1));
	EXPECT_TRUE(vm_attr_is(instance, "state", "recovering"));
	EXPECT_EQ(-EIO, vm_persist(fd, 0, 4096));
	EXPECT_EQ(-EIO, vm_persist(fd, 0, SIZE));
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_FALSE(WIFEXITED(status)) TH_LOG("the server: %d", WEXITSTATUS(status));
	close(fd);
	EXPECT_EQ(0, vm_disconnect(instance));
}

TEST_HARNESS_MAIN
