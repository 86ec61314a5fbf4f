/* SPDX-License-Identifier: BSD-3-Clause */
/* The pmof command: what its files share. */
#ifndef PMOF_TOOLS_TOOL_H
#define PMOF_TOOLS_TOOL_H

#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "key_file.h"
#include "parse.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define PRINTF(f, a)	__attribute__((format(printf, f, a)))

/* Exit statuses. */
enum {
	EXIT_OK		= 0,
	EXIT_FAILED	= 1,
	EXIT_USAGE	= 2,
	EXIT_PARTLY	= 3,	/* some of many failed: the systemd units know it */
};

/* One subcommand; @run gets its own arguments, argv[0] being "pmof NAME". */
struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *args;
	const char *doc;
};

/* pmof.c */
int run_command(const char *parent, const struct command *table, int argc, char **argv);

/* The commands; each returns an exit status. */
int cmd_server(int argc, char **argv);
int cmd_server_export(int argc, char **argv);
int cmd_server_unexport(int argc, char **argv);
int cmd_server_listen(int argc, char **argv);
int cmd_server_unlisten(int argc, char **argv);
int cmd_server_list(int argc, char **argv);
int cmd_server_save(int argc, char **argv);
int cmd_server_restore(int argc, char **argv);
int cmd_server_clear(int argc, char **argv);
int cmd_server_client(int argc, char **argv);
int cmd_server_client_add(int argc, char **argv);
int cmd_server_client_remove(int argc, char **argv);
int cmd_server_allow(int argc, char **argv);
int cmd_server_disallow(int argc, char **argv);
int cmd_connect(int argc, char **argv);
int cmd_disconnect(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_put(int argc, char **argv);
int cmd_get(int argc, char **argv);
int cmd_persist(int argc, char **argv);
int cmd_prepare(int argc, char **argv);
int cmd_revalidate(int argc, char **argv);
int cmd_cas(int argc, char **argv);
int cmd_fetch_add(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_kv(int argc, char **argv);

/* --- errors.c -------------------------------------------------------------- */

/* Why a call fails with an errno, and what to do; @remedy may be NULL. */
struct reason {
	int error;
	const char *cause;
	const char *remedy;
};

/* Where it can only be that one is not root. */
#define REASONS_NOT_ROOT						\
	{ EACCES, "no permission", "run this as root" },		\
	{ EPERM, "no permission", "run this as root" }

/* "pmof: ..." and a newline on standard error. */
PRINTF(1, 2) void complain(const char *fmt, ...);

/* An indented line behind a complaint: more about it, or what to do. */
PRINTF(1, 2) void hint(const char *fmt, ...);

/*
 * Complains "WHAT: cause (ENAME)" and hints the remedy.  @table ends with an
 * entry of error 0, may be NULL; @error is a positive or a negative errno.
 */
PRINTF(3, 4) void explain(const struct reason *table, int error, const char *fmt, ...);

/* The same of an operation on an open device. */
PRINTF(2, 3) void explain_data(int error, const char *fmt, ...);
PRINTF(2, 3) void explain_persist(int error, const char *fmt, ...);

/* Complains of a @device that pmof_lookup() or pmof_open() failed for. */
void explain_device(int error, const char *device);

/* --- options.c ------------------------------------------------------------- */

enum {
	OPT_JSON = 0x100,
	OPT_PERSIST,
	OPT_LAST,	/* a command's own begin here */
};

/* Numbers and sizes of the command line: on error a usage message and exit. */
uint64_t arg_size(struct argp_state *state, const char *what, const char *s);
uint64_t arg_u64(struct argp_state *state, const char *what, const char *s);
uint64_t arg_word(struct argp_state *state, const char *what, const char *s);
unsigned int arg_uint(struct argp_state *state, const char *what, const char *s,
		      unsigned int min, unsigned int max);
uint64_t arg_seconds(struct argp_state *state, const char *what, const char *s);

/* Bytes of the longest message of a CALL, as the kernel takes it. */
unsigned int arg_call_size(struct argp_state *state, const char *what, const char *s);
struct addr arg_addr(struct argp_state *state, const char *s);
const char *arg_name(struct argp_state *state, const char *what, const char *s, size_t max);

/*
 * The end of a parser of commands with just one argument, which the parser has taken:
 * more or fewer are a usage error.
 */
error_t one_arg(int key, struct argp_state *state);

/* The option --json alone, and a parser of it and no argument; its input is a bool. */
extern const struct argp_option json_options[];
error_t parse_json_only(int key, char *arg, struct argp_state *state);

/* The same of one argument, DEV. */
struct device_json {
	const char *device;
	bool json;
};

error_t parse_device_json(int key, char *arg, struct argp_state *state);

/* --- retry.c --------------------------------------------------------------- */

#define WAIT_FOREVER	UINT64_MAX

/* What --wait takes: seconds, 0, or forever; in nanoseconds. */
uint64_t arg_wait(struct argp_state *state, const char *s);

/* Something is tried again and again, at first every second. */
struct retry {
	uint64_t start, wait;	/* nanoseconds */
	unsigned int delay;	/* seconds */
};

/* @wait: for how long in all. */
void retry_start(struct retry *r, uint64_t wait);

/* Sleeps before the next attempt; false: the time is over. */
bool retry_pause(struct retry *r);

/* One thing that is waited for: says so when the reason changes, and every minute. */
struct pending {
	int error;		/* of the last attempt */
	uint64_t told;		/* when, nanoseconds */
};

/* "pmof: ..." and a newline on standard output, at once. */
PRINTF(1, 2) void status(const char *fmt, ...);

/* True if @error of an attempt is to be told. */
bool pending_news(struct pending *p, int error);

/* --- key.c ----------------------------------------------------------------- */

/* key_file_read(); complains. */
int key_read(const char *path, bool kept, char text[KEY_TEXT_MAX]);

/* Tells where the kept key of client @id, which a restore would set, is not @text. */
void key_compare_kept(const char *id, const char *text);

/* Makes a new file, mode 0600, with a random key; complains. */
int key_generate(const char *path, char text[KEY_TEXT_MAX]);

/* --- klog.c ---------------------------------------------------------------- */

/* The end of the kernel's log, to be given to klog_hint(); -1 if we may not read it. */
int klog_open(void);

/* For a log that nobody wants to hear. */
void klog_close(int fd);

/* Hints what our modules have written there since, closes @fd; returns how many lines. */
unsigned int klog_hint(int fd);

/* --- module.c -------------------------------------------------------------- */

/*
 * Runs modprobe.  @path: what exists once the module is loaded.  Returns 0, or
 * -errno with the reason already complained of.
 */
int module_need(const char *module, const char *path);

#endif /* PMOF_TOOLS_TOOL_H */
