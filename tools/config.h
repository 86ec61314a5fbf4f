/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What may stand in /etc/pmof: server.json, and a file for each connection.
 * config.c is pure as json_check.c is; config_write.c has config_write() and config_sync().
 */
#ifndef PMOF_TOOLS_CONFIG_H
#define PMOF_TOOLS_CONFIG_H

#include "json_check.h"

#define CONFIG_DIR	"/etc/pmof"
#define CONFIG_SERVER	"server.json"
#define CONFIG_VERSION	1

/* What a directory of configfs links to: a list of names at @key, in the directory @key. */
struct config_link {
	const char *key;
	const char *target;	/* in pmof/, where those are that it links to */
};

/*
 * A kind of directory in configfs: pmof/LIST/NAME. The first @nr_attrs keys are its
 * attributes, which are written in this order; then comes enable, where there is one.
 */
struct config_kind {
	const char *list;
	const char *id;			/* the key with the name */
	const char *what;		/* for people */
	const struct json_key *key;
	size_t nr, nr_attrs;
	const struct config_link *link;	/* ends with a NULL key */
	bool enable;
};

/* In the order in which they are made. */
enum { CONFIG_CLIENTS, CONFIG_NAMESPACES, CONFIG_PORTS, CONFIG_KINDS };
extern const struct config_kind config_kinds[CONFIG_KINDS];

#define CONFIG_KEYS	CONFIG_DIR "/keys"	/* a client's key: keys/ID, mode 0600 */

/*
 * Reads and checks a server's file, or a connection's.  NULL: @why (of WHY_MAX
 * bytes) says what is wrong; errno as json_read() leaves it.
 */
struct json_object *config_read_server(const char *path, char *why);
struct json_object *config_read_connection(const char *path, char *why);

/* Is @o what config_read_server(), or _connection(), would take? Else @why says why not. */
bool config_check_server(struct json_object *o, char *why);
bool config_check_connection(struct json_object *o, char *why);

/* Whether anybody may use namespace @ns of a server's file: as it says, else where it has no list, empty or not. */
bool config_allow_any(struct json_object *ns);

/*
 * Replaces the file, or the one that a link leads to, by @o, as a whole or not at all, also
 * in a power cut.  Mode 0600: it may name a key.  What is there and no regular file is
 * written to as it is.  Returns 0 or -errno.
 */
int config_write(const char *path, struct json_object *o);

/*
 * Makes a file durable that a configuration names: somebody may have put it there a moment ago,
 * and a power cut must not leave a configuration with an empty key.  Returns 0 or -errno.
 */
int config_sync(const char *path);

#endif /* PMOF_TOOLS_CONFIG_H */
