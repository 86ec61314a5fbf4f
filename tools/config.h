/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What may stand in /etc/pmof: server.json, and a file for each connection.
 * config.c is pure as json_check.c is, but for config_write().
 */
#ifndef PMOF_TOOLS_CONFIG_H
#define PMOF_TOOLS_CONFIG_H

#include "json_check.h"

#define CONFIG_DIR	"/etc/pmof"
#define CONFIG_SERVER	"server.json"
#define CONFIG_VERSION	1

/* Attributes of configfs, by the same names; @nr of them. */
struct config_keys {
	const struct json_key *key;
	size_t nr;
};

/* What is written before enable is; "enable" itself and links are not in it. */
extern const struct config_keys namespace_keys;
extern const struct config_keys port_keys;

/*
 * Reads and checks a server's file, or a connection's.  NULL: @why (of WHY_MAX
 * bytes) says what is wrong; errno as json_read() leaves it.
 */
struct json_object *config_read_server(const char *path, char *why);
struct json_object *config_read_connection(const char *path, char *why);

/*
 * Replaces the file by @o, as a whole or not at all, also in a power cut.  Mode
 * 0600: it may name a key.  Returns 0 or -errno.
 */
int config_write(const char *path, struct json_object *o);

#endif /* PMOF_TOOLS_CONFIG_H */
