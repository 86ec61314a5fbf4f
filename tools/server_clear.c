// SPDX-License-Identifier: BSD-3-Clause
/* pmof server clear. */
#include <stdio.h>
#include <stdlib.h>

#include "server.h"

/* The ports first: then no client comes back while its namespace goes. */
static int clear_ports(void)
{
	unsigned int *ids;
	int i, n, ret, failed = 0;

	n = server_ports(&ids);
	for (i = 0; i < n; i++) {
		ret = server_remove_port(ids[i]);
		if (ret) {
			explain(NULL, ret, "cannot remove port %u", ids[i]);
			failed = ret;
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
		if (ret) {
			explain(NULL, ret, "cannot remove %s '%s'", what, names.name[i]);
			failed = ret;
		}
	}
	cfg_names_free(&names);
	return failed;
}

static int remove_client(const char *id)
{
	return cfg_rmdir("clients/%s", id);
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
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	ret = cfg_see();
	if (!ret)
		ret = clear_ports();
	if (!ret)
		ret = clear_list("namespaces", "namespace", server_remove_namespace);
	/* Nothing links to them any more. */
	if (!ret)
		ret = clear_list("clients", "client", remove_client);
	return ret ? EXIT_FAILED : EXIT_OK;
}
