// SPDX-License-Identifier: BSD-3-Clause
/* pmof kv: finds the subcommand. */
#include "kv.h"
#include "tool.h"

int cmd_kv(int argc, char **argv)
{
	static const struct command commands[] = {
		{ "format", cmd_kv_format, "FILE|DEVICE", "make an empty store" },
		{ "check", cmd_kv_check, "FILE|DEVICE", "look whether a store is whole" },
		{ NULL, NULL, NULL, NULL }
	};

	return run_command("pmof kv", commands, argc, argv);
}
