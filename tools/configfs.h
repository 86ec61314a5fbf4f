/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The server's configfs tree.  Paths are relative to /sys/kernel/config/pmof
 * and made as by printf.  Functions return 0 or a negative errno and print
 * nothing, except cfg_prepare().
 */
#ifndef PMOF_TOOLS_CONFIGFS_H
#define PMOF_TOOLS_CONFIGFS_H

#include "tool.h"

#define CFG_ROOT	"/sys/kernel/config"
#define CFG_PMOF	CFG_ROOT "/pmof"
#define CFG_PATH_MAX	512
#define CFG_VALUE_MAX	256

/* Mounts configfs and loads pmof-server where that is needed; complains. */
int cfg_prepare(void);

/*
 * Mounts configfs where pmof-server is loaded and it is not mounted: what is not seen is
 * exported all the same.  Complains.
 */
int cfg_see(void);

/* True if pmof-server is there. */
bool cfg_present(void);

PRINTF(1, 2) int cfg_mkdir(const char *fmt, ...);
PRINTF(1, 2) int cfg_rmdir(const char *fmt, ...);
PRINTF(2, 3) int cfg_write(const char *value, const char *fmt, ...);

/* Is it there? Of a link: itself. */
PRINTF(1, 2) bool cfg_has(const char *fmt, ...);

/* Reads an attribute into @buf of CFG_VALUE_MAX bytes, without the newline. */
PRINTF(2, 3) int cfg_read(char *buf, const char *fmt, ...);

/* The first line of any file, without its newline; false: there is none. */
PRINTF(3, 4) bool read_line(char *buf, size_t size, const char *fmt, ...);

/* In directory @dir a link to @target/@name; it may be there already. */
int cfg_symlink(const char *dir, const char *target, const char *name);
/* Of a namespace to a port. */
int cfg_link(const char *name, unsigned int port);
int cfg_unlink(const char *name, unsigned int port);

/* Whether a client may use a namespace; @read_only says in which of its two lists. */
int cfg_allow(const char *name, const char *id, bool read_only);
int cfg_disallow(const char *name, const char *id, bool read_only);
#define CFG_ALLOWED(read_only)	((read_only) ? "read_only_clients" : "allowed_clients")

/* Names in a directory. */
struct cfg_names {
	char **name;	/* in order: numbers by value, else alphabetical */
	int nr;
};

/* Directories and links in @path (absolute); an absent directory is empty. */
int cfg_names(struct cfg_names *names, const char *path);
void cfg_names_free(struct cfg_names *names);

#endif /* PMOF_TOOLS_CONFIGFS_H */
