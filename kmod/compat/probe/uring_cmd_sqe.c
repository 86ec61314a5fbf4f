// SPDX-License-Identifier: GPL-2.0
/* 6.7: <linux/io_uring/cmd.h>; a command has its SQE, and completions that need not hurry. */
#include <linux/io_uring/cmd.h>

const void *pmof_probe(struct io_uring_cmd *cmd,
		       void (*done)(struct io_uring_cmd *cmd, unsigned int issue_flags));
const void *pmof_probe(struct io_uring_cmd *cmd,
		       void (*done)(struct io_uring_cmd *cmd, unsigned int issue_flags))
{
	io_uring_cmd_do_in_task_lazy(cmd, done);
	return io_uring_sqe_cmd(cmd->sqe);
}
