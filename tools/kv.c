// SPDX-License-Identifier: BSD-3-Clause
/* pmof kv: finds the subcommand. */
#include "kv.h"
#include "tool.h"

int cmd_kv(int argc, char **argv)
{
	static const struct command commands[] = {
		{ "put", cmd_kv_put, "DEV KEY", "store standard input as a value" },
		{ "get", cmd_kv_get, "DEV KEY", "write a value to standard output" },
		{ "del", cmd_kv_del, "DEV KEY", "delete a key" },
		{ "list", cmd_kv_list, "DEV", "list the keys" },
		{ "scan", cmd_kv_scan, "DEV", "list some keys, and where to go on" },
		{ "stat", cmd_kv_stat, "DEV", "show what the server says of a store" },
		{ "bench", cmd_kv_bench, "DEV", "measure YCSB's and other workloads" },
		{ "format", cmd_kv_format, "FILE|DEVICE", "make an empty store" },
		{ "check", cmd_kv_check, "FILE|DEVICE", "look whether a store is whole" },
		{ NULL, NULL, NULL, NULL }
	};

	return run_command("pmof kv", commands, argc, argv);
}
