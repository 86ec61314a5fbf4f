// SPDX-License-Identifier: BSD-3-Clause
/* pmof server listen and unlisten. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"
#include "server.h"

/* --- finding a port -------------------------------------------------------- */

static bool port_has_addr(unsigned int id, const struct addr *addr)
{
	char host[CFG_VALUE_MAX], port[CFG_VALUE_MAX];
	unsigned int n;

	return !cfg_read(host, "ports/%u/addr", id) && !cfg_read(port, "ports/%u/port", id) &&
	       same_host(host, addr->host) && !parse_uint(port, 1, UINT16_MAX, &n) &&
	       n == addr->port;
}

/* The ID of the port with this address, 0 if there is none, or -errno: ENOTUNIQ there are several. */
static int find_port(const struct addr *addr)
{
	unsigned int *ids;
	int i, n, found = 0;

	n = server_ports(&ids);
	if (n < 0)
		return n;
	for (i = 0; i < n && found >= 0; i++)
		if (port_has_addr(ids[i], addr))
			found = found ? -ENOTUNIQ : (int)ids[i];
	free(ids);
	return found;
}

/* Makes the directory with the lowest free ID; another process may do the same. */
static int make_port(void)
{
	unsigned int id;
	int ret;

	for (id = 1; id <= PORT_MAX; id++) {
		ret = cfg_mkdir("ports/%u", id);
		if (ret != -EEXIST)
			return ret ? ret : (int)id;
	}
	return -ENOSPC;
}

/* --- unlisten -------------------------------------------------------------- */

int server_remove_port(unsigned int id)
{
	struct cfg_names links;
	char path[CFG_PATH_MAX];
	int i, ret;

	ret = cfg_write("0", "ports/%u/enable", id);
	if (ret)
		return ret;
	snprintf(path, sizeof(path), CFG_PMOF "/ports/%u/namespaces", id);
	ret = cfg_names(&links, path);
	for (i = 0; i < links.nr && !ret; i++)
		ret = cfg_unlink(links.name[i], id);
	cfg_names_free(&links);
	return ret ? ret : cfg_rmdir("ports/%u", id);
}

struct unlisten {
	unsigned int id;	/* 0: by address */
	struct addr addr;
};

static error_t parse_unlisten(int key, char *arg, struct argp_state *state)
{
	struct unlisten *u = state->input;

	if (key == ARGP_KEY_ARG) {
		if (strspn(arg, "0123456789") == strlen(arg))
			u->id = arg_uint(state, "ID", arg, 1, PORT_MAX);
		else
			u->addr = arg_addr(state, arg);
	}
	return one_arg(key, state);
}

static const struct reason unlisten_reasons[] = {
	{ ENOENT, "there is no such port", "`pmof server list` shows the ports" },
	{ ENOTUNIQ, "several ports have this address",
	  "give the interface, too, as in fe80::1%eth0, or the port's ID: `pmof server list`" },
	REASONS_NOT_ROOT,
	{ 0 }
};

int cmd_server_unlisten(int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse_unlisten,
		.args_doc = "ADDR[:PORT]|ID",
		.doc = "Stops listening, ends the sessions that came through this port, and "
		       "removes it.",
	};
	struct unlisten u = { .id = 0 };
	char text[ADDR_TEXT_MAX];
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &u);
	if (cfg_see())
		return EXIT_FAILED;
	if (u.id)
		snprintf(text, sizeof(text), "port %u", u.id);
	else
		format_addr(&u.addr, text, sizeof(text));
	ret = u.id ? (int)u.id : find_port(&u.addr);
	if (!ret)
		ret = -ENOENT;
	if (ret > 0)
		ret = server_remove_port((unsigned int)ret);
	if (!ret)
		return EXIT_OK;
	explain(unlisten_reasons, ret, "cannot stop listening on %s", text);
	return EXIT_FAILED;
}

/* --- listen ---------------------------------------------------------------- */

enum { OPT_NAMESPACE = OPT_LAST };

#define LISTEN_NAMES	32

struct listen {
	struct addr addr;
	bool json;
	const char *name[LISTEN_NAMES];	/* none: all */
	unsigned int nr;
};

static const struct argp_option listen_options[] = {
	{ "namespace", OPT_NAMESPACE, "NAME", 0, "Serve this namespace, may be repeated; default "
	  "all that are exported now", 0 },
	{ "json", OPT_JSON, NULL, 0, "Print JSON", 0 },
	{ 0 }
};

static error_t parse_listen(int key, char *arg, struct argp_state *state)
{
	struct listen *l = state->input;

	switch (key) {
	case OPT_NAMESPACE:
		if (l->nr == LISTEN_NAMES)
			argp_error(state, "at most %d times --namespace", LISTEN_NAMES);
		l->name[l->nr++] = arg_name(state, "--namespace", arg, NAME_MAX_SIZE);
		return 0;
	case OPT_JSON:
		l->json = true;
		return 0;
	case ARGP_KEY_ARG:
		l->addr = arg_addr(state, arg);
		break;
	}
	return one_arg(key, state);
}

static const struct reason listen_reasons[] = {
	{ EADDRNOTAVAIL, "no RDMA device has this address",
	  "`ip address` and `rdma link` show what there is; soft-RoCE: `rdma link add rxe0 type "
	  "rxe netdev eth0`" },
	{ ENODEV, "no RDMA device has this address",
	  "`rdma link` shows the RDMA devices and their network interfaces" },
	{ EADDRINUSE, "another program listens there", "choose another service number: ADDR:PORT" },
	{ EINVAL, "the kernel does not take this address", NULL },
	{ EEXIST, "a port listens there already", "`pmof server list` shows the ports" },
	{ ENOSPC, "all port IDs are taken", "`pmof server unlisten` frees one" },
	{ EOPNOTSUPP, "a namespace's placement=memory is not to be had of its device", NULL },
	{ EPERM, "a namespace's placement=memory needs allow_chipset_writes", NULL },
	REASONS_NOT_ROOT,
	{ 0 }
};

void server_explain_listen(const struct addr *addr, int error, int log)
{
	char text[ADDR_TEXT_MAX];

	explain(listen_reasons, error, "cannot listen on %s",
		format_addr(addr, text, sizeof(text)));
	klog_hint(log);
}

static int link_namespaces(const struct listen *l, unsigned int id)
{
	struct cfg_names names;
	unsigned int i;
	int j, ret = 0;

	for (i = 0; i < l->nr && !ret; i++)
		ret = server_link(l->name[i], id);
	if (ret || l->nr)
		return ret;
	ret = cfg_names(&names, CFG_PMOF "/namespaces");
	if (ret)
		explain(NULL, ret, "cannot list the namespaces");
	for (j = 0; j < names.nr && !ret; j++)
		ret = server_link(names.name[j], id);
	cfg_names_free(&names);
	return ret;
}

static int enable_port(const struct listen *l, unsigned int id)
{
	char number[16];
	int ret, log;

	ret = link_namespaces(l, id);
	if (ret)
		return ret;
	log = klog_open();
	snprintf(number, sizeof(number), "%u", l->addr.port);
	ret = cfg_write(l->addr.host, "ports/%u/addr", id);
	if (!ret)
		ret = cfg_write(number, "ports/%u/port", id);
	if (!ret)
		ret = cfg_write("1", "ports/%u/enable", id);
	if (ret)
		server_explain_listen(&l->addr, ret, log);
	else
		klog_close(log);
	return ret;
}

/* Returns the ID of the new port, or -errno with the reason told. */
static int do_listen(const struct listen *l)
{
	int id, ret;

	ret = cfg_prepare();
	if (ret)
		return ret;
	id = find_port(&l->addr);
	if (id > 0 || id == -ENOTUNIQ)
		id = -EEXIST;
	if (!id)
		id = make_port();
	if (id < 0) {
		server_explain_listen(&l->addr, id, -1);
		return id;
	}
	ret = enable_port(l, (unsigned int)id);
	if (ret)
		server_remove_port((unsigned int)id);
	return ret ? ret : id;
}

int cmd_server_listen(int argc, char **argv)
{
	static const struct argp argp = {
		.options = listen_options,
		.parser = parse_listen,
		.args_doc = "ADDR[:PORT]",
		.doc = "Listens on an address of an RDMA device (IPv6 with a port: [ADDR]:PORT; "
		       "default port 20049) and prints the ID of the new port. Loads pmof-server "
		       "if it is not there.",
	};
	struct listen l = { .nr = 0 };
	struct json_object *o;
	int id;

	argp_parse(&argp, argc, argv, 0, NULL, &l);
	id = do_listen(&l);
	if (id < 0)
		return EXIT_FAILED;
	if (l.json) {
		o = new_object();
		put_u64(o, "port_id", (uint64_t)id);
		print_json(o, false);
		json_object_put(o);
	} else {
		printf("%d\n", id);
	}
	return EXIT_OK;
}
