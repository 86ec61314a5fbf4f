// SPDX-License-Identifier: BSD-3-Clause
/* The pmof command: finds the subcommand and runs it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standard_fds.h"
#include "tool.h"

static const struct command commands[] = {
	{ "server", cmd_server, "export|listen|list|save|restore ...",
	  "export local persistent memory" },
	{ "connect", cmd_connect, "ADDR[:PORT] NAME|--all", "connect to an exported namespace" },
	{ "disconnect", cmd_disconnect, "DEV...|--all", "end connections" },
	{ "list", cmd_list, "", "list the connected devices" },
	{ "info", cmd_info, "DEV", "show all about a device" },
	{ "stat", cmd_stat, "DEV", "show the counters of a device, both sides" },
	{ "put", cmd_put, "DEV OFFSET", "write standard input to a device" },
	{ "get", cmd_get, "DEV OFFSET LEN", "write a range of a device to standard output" },
	{ "persist", cmd_persist, "DEV [OFFSET LEN]", "make earlier puts durable" },
	{ "prepare", cmd_prepare, "DEV OFFSET LEN", "prepare an object for a committed put" },
	{ "revalidate", cmd_revalidate, "DEV OFFSET LEN", "make a committed object visible again" },
	{ "cas", cmd_cas, "DEV OFFSET EXPECT NEW", "compare and swap an 8-byte word" },
	{ "fetch-add", cmd_fetch_add, "DEV OFFSET N", "add to an 8-byte word" },
	{ "bench", cmd_bench, "DEV", "measure latency, throughput and work per operation" },
	{ "kv", cmd_kv, "put|get|del|list|format|check ...", "use a key-value store" },
	{ NULL, NULL, NULL, NULL }
};

static void print_commands(FILE *to, const char *parent, const struct command *table)
{
	fprintf(to, "usage: %s COMMAND [ARGUMENT...]\n\n", parent);
	for (; table->name; table++)
		fprintf(to, "  %-10s %-40s %s\n", table->name, table->args, table->doc);
	fprintf(to, "\n`%s COMMAND --help` tells the options of a command; see also pmof(1).\n",
		parent);
	if (!strcmp(parent, "pmof"))
		fputs("DEV is pmof0, 0, /dev/pmofc0 or /dev/pmof/by-name/NAME. Sizes and offsets "
		      "are in\nbytes and take the suffixes k, M, G, T (of 1024) and the prefix "
		      "0x.\nExit status: 0 done, 1 failed, 2 usage, 3 partly done.\n", to);
}

/* NULL: there is none, which has been told. */
static const struct command *find_command(const char *parent, const struct command *table,
					  const char *name)
{
	for (; table->name; table++)
		if (!strcmp(table->name, name))
			return table;
	complain("there is no command '%s'", name);
	hint("`%s help` lists the commands", parent);
	return NULL;
}

static int call(const char *parent, const struct command *c, int argc, char **argv)
{
	char *name;

	if (asprintf(&name, "%s %s", parent, c->name) < 0)
		return EXIT_FAILED;
	argv[0] = name;	/* as argp names it in its messages */
	return c->run(argc, argv);
}

/* "help" alone, or "help COMMAND": the same as COMMAND --help. */
static int help(const char *parent, const struct command *table, int argc, char **argv)
{
	static char option[] = "--help";
	char *args[3] = { NULL, option, NULL };
	const struct command *c;

	if (argc < 2) {
		print_commands(stdout, parent, table);
		return EXIT_OK;
	}
	c = find_command(parent, table, argv[1]);
	return c ? call(parent, c, 2, args) : EXIT_USAGE;
}

/**
 * run_command - run the subcommand that argv[1] names
 * @parent: what stands before it: "pmof", "pmof server"
 * @table: the subcommands, ends with a NULL name
 * @argc: as of main()
 * @argv: as of main()
 *
 * Return: the exit status.
 */
int run_command(const char *parent, const struct command *table, int argc, char **argv)
{
	const struct command *c;

	if (argc < 2) {
		print_commands(stderr, parent, table);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return help(parent, table, argc - 1, argv + 1);
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("pmof " PMOF_VERSION);
		return EXIT_OK;
	}
	c = find_command(parent, table, argv[1]);
	return c ? call(parent, c, argc - 1, argv + 1) : EXIT_USAGE;
}

int main(int argc, char **argv)
{
	int status;

	open_standard_fds();
	argp_err_exit_status = EXIT_USAGE;
	argp_program_version = "pmof " PMOF_VERSION;
	status = run_command("pmof", commands, argc, argv);
	if (fflush(stdout) || ferror(stdout)) {
		complain("cannot write the output: %s", strerror(errno));
		status = EXIT_FAILED;
	}
	return status;
}
