/* SPDX-License-Identifier: BSD-3-Clause */
/* pmof server: what its files share. */
#ifndef PMOF_TOOLS_SERVER_H
#define PMOF_TOOLS_SERVER_H

#include "configfs.h"

#define NAME_MAX_SIZE	64	/* bytes of a namespace's name with its NUL */
#define ID_MAX_SIZE	32	/* of a client's ID */
#define ALLOW_MAX	64	/* clients of one call */
#define SESSION_CLASS	"/sys/class/pmof-session"
#define PORT_MAX	65535	/* highest port ID */

/* The IDs of the ports, ascending. */
int server_ports(unsigned int **ids);

/* Lets a port serve a namespace; complains. */
int server_link(const char *name, unsigned int id);

/* Undo whatever an export, or a listen, has come to. */
int server_remove_namespace(const char *name);
int server_remove_port(unsigned int id);

/*
 * Complain that a namespace, or a port, was not enabled.  @log: klog_open() from
 * before the attempt; @domain_only: nothing but the persistence domain may be why.
 */
void server_explain_enable(const char *device, bool domain_only, int error, int log);
void server_explain_listen(const struct addr *addr, int error, int log);

/* A client and what it may, of "ID" or "ID:ro". */
struct allow {
	char id[ID_MAX_SIZE];
	bool read_only;
};

/* server_client.c */
void arg_allow(struct argp_state *state, const char *what, const char *arg, struct allow *a);
int server_allow(const char *name, const struct allow *a);
int server_disallow_all(const char *name);

/* pmem.c: what hinders a block device from being exported. */
void pmem_explain_mode(const char *device);
void pmem_explain_holders(const char *device);

#endif /* PMOF_TOOLS_SERVER_H */
