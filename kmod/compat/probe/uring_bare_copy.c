// SPDX-License-Identifier: GPL-2.0
/* 6.7 to 6.13: a command's copy of its SQE is all that is behind async_data, without a struct. */
#include <linux/io_uring/cmd.h>

struct io_uring_cmd_data {
	char ours;
};

void *pmof_probe(struct io_uring_cmd *cmd);
void *pmof_probe(struct io_uring_cmd *cmd)
{
	return cmd_to_io_kiocb(cmd)->async_data;
}
