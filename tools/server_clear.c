// SPDX-License-Identifier: BSD-3-Clause
/* pmof server clear. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "server.h"

/* Somebody else may remove the same at the same time: then it is gone, as it shall be. */
static bool is_gone(int error, const char *list, const char *name)
{
	return error == -ENOENT && !cfg_has("%s/%s", list, name);
}

static int clear_ports(void)
{
	unsigned int *ids;
	int i, n, ret, failed = 0;
	char name[16];

	n = server_ports(&ids);
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%u", ids[i]);
		ret = server_remove_port(ids[i]);
		if (ret && !is_gone(ret, "ports", name)) {
			explain(NULL, ret, "cannot remove port %u", ids[i]);
			failed = failed ? failed : ret;
		}
	}
	free(ids);
	if (n < 0)
		explain(NULL, n, "cannot list the ports");
	return n < 0 ? n : failed;
}

/* What a list of configfs has: as much of it as can be. */
static int clear_list(const char *list, const char *what, int (*end)(const char *name))
{
	char path[CFG_PATH_MAX];
	struct cfg_names names;
	int i, ret, failed;

	snprintf(path, sizeof(path), CFG_PMOF "/%s", list);
	failed = cfg_names(&names, path);
	if (failed)
		explain(NULL, failed, "cannot list the %s", list);
	for (i = 0; i < names.nr; i++) {
		ret = end(names.name[i]);
		if (ret && !is_gone(ret, list, names.name[i])) {
			explain(NULL, ret, "cannot remove %s '%s'", what, names.name[i]);
			failed = failed ? failed : ret;
		}
	}
	cfg_names_free(&names);
	return failed;
}

static int remove_client(const char *id)
{
	return cfg_rmdir("clients/%s", id);
}

/*
 * The ports first: then no client comes back while its namespace goes; the clients last, when
 * nothing links to them any more.  One that stays is no reason to keep the rest.
 */
static int clear_all(void)
{
	int ports = clear_ports();
	int namespaces = clear_list("namespaces", "namespace", server_remove_namespace);
	int clients = clear_list("clients", "client", remove_client);

	return ports ? ports : namespaces ? namespaces : clients;
}

static error_t parse_nothing(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	argp_usage(state);
	return 0;
}

int cmd_server_clear(int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse_nothing,
		.doc = "Ends every export, stops listening everywhere and forgets all clients.",
	};

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	return cfg_see() || clear_all() ? EXIT_FAILED : EXIT_OK;
}
