// SPDX-License-Identifier: BSD-3-Clause
/* pmof server export and unexport. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server.h"

static const struct command commands[] = {
	{ "export", cmd_server_export, "DEVICE --name NAME", "export a pmem device" },
	{ "listen", cmd_server_listen, "ADDR[:PORT]", "listen on an address" },
	{ "unlisten", cmd_server_unlisten, "ADDR[:PORT]|ID", "stop listening" },
	{ "unexport", cmd_server_unexport, "NAME", "end an export and its sessions" },
	{ "client", cmd_server_client, "add|remove ID", "clients with a key or limits" },
	{ "allow", cmd_server_allow, "NAME ID[:ro]...", "let clients use a namespace" },
	{ "disallow", cmd_server_disallow, "NAME ID...", "take that back, at once" },
	{ "list", cmd_server_list, "", "list namespaces, ports and sessions" },
	{ "save", cmd_server_save, "[FILE]", "keep it all in a file" },
	{ "restore", cmd_server_restore, "[FILE]", "export and listen as the file says" },
	{ "clear", cmd_server_clear, "", "end all of it" },
	{ NULL, NULL, NULL, NULL }
};

int cmd_server(int argc, char **argv)
{
	return run_command("pmof server", commands, argc, argv);
}

int server_ports(unsigned int **ids)
{
	struct cfg_names names;
	unsigned int id;
	int i, n = 0, ret;

	*ids = NULL;
	ret = cfg_names(&names, CFG_PMOF "/ports");
	if (ret < 0)
		return ret;
	*ids = calloc((size_t)names.nr + 1, sizeof(**ids));
	for (i = 0; *ids && i < names.nr; i++)
		if (!parse_uint(names.name[i], 1, PORT_MAX, &id))
			(*ids)[n++] = id;
	cfg_names_free(&names);
	return *ids ? n : -ENOMEM;
}

static const struct reason link_reasons[] = {
	{ EOPNOTSUPP, "its placement=memory is not to be had of this port's device", NULL },
	{ EPERM, "its placement=memory needs allow_chipset_writes", NULL },
	{ 0 }
};

int server_link(const char *name, unsigned int id)
{
	int log = klog_open();
	int ret = cfg_link(name, id);

	if (ret == -ENOENT) {
		complain("there is no namespace '%s'", name);
		hint("`pmof server list` shows what is exported");
	} else if (ret) {
		explain(link_reasons, ret, "cannot link '%s' to port %u", name, id);
		klog_hint(log);
		return ret;
	}
	klog_close(log);
	return ret;
}

/* --- unexport -------------------------------------------------------------- */

/* Undoes whatever an export has come to: links, enable, the directory. */
int server_remove_namespace(const char *name)
{
	unsigned int *ports;
	int i, n, ret;

	n = server_ports(&ports);
	if (n < 0)
		return n;
	for (i = 0; i < n; i++) {
		ret = cfg_unlink(name, ports[i]);
		if (ret && ret != -ENOENT) {
			free(ports);
			return ret;
		}
	}
	free(ports);
	ret = cfg_write("0", "namespaces/%s/enable", name);
	if (!ret)
		ret = server_disallow_all(name);
	if (ret)
		return ret;
	return cfg_rmdir("namespaces/%s", name);
}

static const struct reason unexport_reasons[] = {
	{ ENOENT, "no such namespace", "`pmof server list` shows what is exported" },
	REASONS_NOT_ROOT,
	{ 0 }
};

static error_t parse_unexport(int key, char *arg, struct argp_state *state)
{
	const char **name = state->input;

	if (key == ARGP_KEY_ARG)
		*name = arg_name(state, "NAME", arg, NAME_MAX_SIZE);
	return one_arg(key, state);
}

int cmd_server_unexport(int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse_unexport,
		.args_doc = "NAME",
		.doc = "Ends an export, its sessions first: their requests then fail.",
	};
	const char *name = NULL;
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &name);
	if (cfg_see())
		return EXIT_FAILED;
	ret = server_remove_namespace(name);
	if (!ret)
		return EXIT_OK;
	explain(unexport_reasons, ret, "cannot unexport '%s'", name);
	return EXIT_FAILED;
}

/* --- export ---------------------------------------------------------------- */

enum { OPT_NAME = OPT_LAST, OPT_READ_ONLY, OPT_ALLOW_VOLATILE, OPT_PORT,
       OPT_PLACEMENT, OPT_DEEP_FLUSH, OPT_SERVICE, OPT_ALLOW, OPT_EMULATE,
       OPT_MAX_CALL };

#define EMULATE_MAX	1000000		/* ns, MB/s: the attributes' own */

struct export {
	char device[256];
	const char *name;
	bool read_only;
	bool allow_volatile;
	bool deep_flush;
	const char *latency_ns;	/* NULL: not emulated */
	const char *write_mbps;
	const char *placement;	/* NULL: auto */
	const char *service;	/* NULL: raw */
	unsigned int max_call;	/* 0: the kernel's default */
	unsigned int port;	/* 0: all */
	struct allow allow[ALLOW_MAX];
	unsigned int nr_allow;	/* 0: anybody */
};

static const struct argp_option export_options[] = {
	{ "name", OPT_NAME, "NAME", 0, "What clients ask for (required)", 0 },
	{ "read-only", OPT_READ_ONLY, NULL, 0, "Give no client the right to write", 0 },
	{ "allow-volatile", OPT_ALLOW_VOLATILE, NULL, 0, "Export even if it is unknown what "
	  "survives a power cut: acknowledgements are then not durable", 0 },
	{ "placement", OPT_PLACEMENT, "auto|memory|assert-memory", 0, "Where the HCA's writes "
	  "land: as it is found (auto, the default); make it memory, by changing the PCIe root "
	  "port's registers while it is exported (memory; needs pmof-server's parameter "
	  "allow_chipset_writes); or your word that it is memory (assert-memory)", 0 },
	{ "deep-flush", OPT_DEEP_FLUSH, NULL, 0, "Acknowledge only what the region's flush hints "
	  "have flushed as well", 0 },
	{ "service", OPT_SERVICE, "raw|store", 0, "What clients find: bytes (raw, the default), or "
	  "a key-value store, which `pmof kv format` has made there (store)", 0 },
	{ "max-call", OPT_MAX_CALL, "BYTES", 0, "Of the longest message that a client of the service "
	  "may ask for: 4k to 260k (default), a multiple of 4k", 0 },
	{ "emulate", OPT_EMULATE, "NS[:MBPS]", 0, "For measurements: emulate a slower medium, each "
	  "fence so many nanoseconds longer, writes at most so many 10^6 bytes a second", 0 },
	{ "allow", OPT_ALLOW, "ID[:ro]", 0, "Let this client use it, with :ro only read, and nobody "
	  "else who is not named so; may be repeated. See `pmof server client`", 0 },
	{ "port", OPT_PORT, "ID", 0, "Serve it through this port only; default all that exist",
	  0 },
	{ 0 }
};

/* Absolute, whoever reads it later, and a link stays one: by-id is right after a reboot, too. */
static void set_device(struct argp_state *state, struct export *e, const char *arg)
{
	bool relative = *arg != '/' && strchr(arg, '/');
	char *here = relative ? getcwd(NULL, 0) : NULL;
	const char *dir = *arg == '/' ? "" : here ? here : "/dev";
	int n;

	if (relative && !here)
		argp_error(state, "DEVICE '%s': there is no current directory", arg);
	while (here && !strncmp(arg, "./", 2))
		arg += 2;
	n = snprintf(e->device, sizeof(e->device), "%s%s%s", dir, *dir ? "/" : "", arg);
	free(here);

	if (!*arg || n < 0 || (size_t)n >= sizeof(e->device))
		argp_error(state, "DEVICE is malformed: a path, as /dev/pmem0");
}

static const char *arg_placement(struct argp_state *state, const char *arg)
{
	if (strcmp(arg, "auto") != 0 && strcmp(arg, "memory") != 0 &&
	    strcmp(arg, "assert-memory") != 0)
		argp_error(state, "--placement is auto, memory or assert-memory, not '%s'", arg);
	return arg;
}

static const char *arg_service(struct argp_state *state, const char *arg)
{
	if (strcmp(arg, "raw") != 0 && strcmp(arg, "store") != 0)
		argp_error(state, "--service is raw or store, not '%s'", arg);
	return arg;
}

/* "NS[:MBPS]": cut in two. */
static void set_emulate(struct argp_state *state, struct export *e, char *arg)
{
	char *colon = strchr(arg, ':');

	if (colon) {
		*colon = '\0';
		e->write_mbps = colon + 1;
		arg_uint(state, "--emulate", colon + 1, 0, EMULATE_MAX);
	}
	e->latency_ns = arg;
	arg_uint(state, "--emulate", arg, 0, EMULATE_MAX);
}

static error_t parse_export(int key, char *arg, struct argp_state *state)
{
	struct export *e = state->input;

	switch (key) {
	case OPT_NAME:
		e->name = arg_name(state, "--name", arg, NAME_MAX_SIZE);
		return 0;
	case OPT_READ_ONLY:
		e->read_only = true;
		return 0;
	case OPT_ALLOW_VOLATILE:
		e->allow_volatile = true;
		return 0;
	case OPT_DEEP_FLUSH:
		e->deep_flush = true;
		return 0;
	case OPT_EMULATE:
		set_emulate(state, e, arg);
		return 0;
	case OPT_PLACEMENT:
		e->placement = arg_placement(state, arg);
		return 0;
	case OPT_SERVICE:
		e->service = arg_service(state, arg);
		return 0;
	case OPT_MAX_CALL:
		e->max_call = arg_call_size(state, "--max-call", arg);
		return 0;
	case OPT_ALLOW:
		if (e->nr_allow == ALLOW_MAX)
			argp_error(state, "--allow at most %d times", ALLOW_MAX);
		arg_allow(state, "--allow", arg, &e->allow[e->nr_allow++]);
		return 0;
	case OPT_PORT:
		e->port = arg_uint(state, "--port", arg, 1, PORT_MAX);
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num)
			argp_usage(state);
		set_device(state, e, arg);
		return 0;
	case ARGP_KEY_END:
		if (!state->arg_num)
			argp_usage(state);
		if (!e->name)
			argp_error(state, "--name NAME is missing");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct reason enable_reasons[] = {
	{ EINVAL, "not a pmem device in fsdax mode", NULL },
	{ EBUSY, "somebody else has the device open", NULL },
	{ EOPNOTSUPP, "it cannot promise what was asked for", NULL },
	{ EPERM, "placement=memory changes registers of the PCIe root port, which nobody has "
	  "allowed",
	  "`echo 1 > /sys/module/pmof_server/parameters/allow_chipset_writes` allows it until "
	  "the module is loaded anew; so does `options pmof_server allow_chipset_writes=1` in "
	  "/etc/modprobe.d each time" },
	{ EROFS, "the device is read-only, or a store shall be", "only raw namespaces can be "
	  "exported with --read-only" },
	{ EUCLEAN, "it holds no store", "`pmof kv format DEVICE` makes one: what it holds is lost" },
	{ EPROTONOSUPPORT, "it holds a store of another version", NULL },
	{ EIO, "the device has bad blocks everywhere, or in a store's log, chunk table or both "
	  "superblocks",
	  "`ndctl list -M` shows them; `ndctl clear-errors` clears them (their data is lost: a "
	  "store, where they are its superblocks)" },
	{ ENOENT, "no such device", "`ndctl list -N` shows the pmem devices" },
	{ ENODEV, "no such device", "`ndctl list -N` shows the pmem devices" },
	{ ENXIO, "no such device", "`ndctl list -N` shows the pmem devices" },
	{ ENOTBLK, "not a block device", "`ndctl list -N` shows the pmem devices" },
	{ ENOMEM, "out of memory", NULL },
	{ 0 }
};

static const struct reason volatile_reasons[] = {
	{ EOPNOTSUPP, "it is unknown what of it survives a power cut (its region has no "
	  "persistence domain)",
	  "--allow-volatile exports it all the same, and no acknowledgement is durable" },
	{ 0 }
};

static const struct reason module_reasons[] = {
	{ ENOENT, "the module of its service, pmof-store, cannot be loaded",
	  "`modprobe pmof-store` says why" },
	{ 0 }
};

/* The device is there: it is the module that is not. */
static bool lacks_module(const char *device, int error)
{
	return error == -ENOENT && !access(device, F_OK);
}

/* Neither of the other promises that may be refused was asked for. */
static bool is_volatile(const struct export *e, int error)
{
	return error == -EOPNOTSUPP && !e->deep_flush &&
	       (!e->placement || strcmp(e->placement, "memory") != 0);
}

void server_explain_enable(const char *device, bool domain_only, int error, int log)
{
	explain(domain_only ? volatile_reasons : lacks_module(device, error) ? module_reasons :
		enable_reasons, error, "cannot export %s", device);
	if (error == -EINVAL)
		pmem_explain_mode(device);
	else if (error == -EBUSY)
		pmem_explain_holders(device);
	if (!klog_hint(log) && error != -ENOENT && error != -ENOTBLK)
		hint("`dmesg` may say more");
}

static void explain_enable(const struct export *e, int error, int log)
{
	server_explain_enable(e->device, is_volatile(e, error), error, log);
}

static int check_device(const struct export *e)
{
	struct stat st;

	if (stat(e->device, &st))
		return -errno;
	return S_ISBLK(st.st_mode) ? 0 : -ENOTBLK;
}

static int set_max_call(const struct export *e)
{
	char text[16];

	if (!e->max_call)
		return 0;
	snprintf(text, sizeof(text), "%u", e->max_call);
	return cfg_write(text, "namespaces/%s/max_call", e->name);
}

static int enable(const struct export *e)
{
	int log = klog_open();
	int ret = cfg_write(e->device, "namespaces/%s/device_path", e->name);

	if (!ret && e->read_only)
		ret = cfg_write("1", "namespaces/%s/read_only", e->name);
	if (!ret && e->allow_volatile)
		ret = cfg_write("1", "namespaces/%s/allow_volatile", e->name);
	if (!ret && e->deep_flush)
		ret = cfg_write("1", "namespaces/%s/deep_flush", e->name);
	if (!ret && e->latency_ns)
		ret = cfg_write(e->latency_ns, "namespaces/%s/emulate_latency_ns", e->name);
	if (!ret && e->write_mbps)
		ret = cfg_write(e->write_mbps, "namespaces/%s/emulate_write_mbps", e->name);
	if (!ret && e->placement)
		ret = cfg_write(e->placement, "namespaces/%s/placement", e->name);
	if (!ret && e->service)
		ret = cfg_write(e->service, "namespaces/%s/service", e->name);
	if (!ret)
		ret = set_max_call(e);
	if (!ret)
		ret = cfg_write("1", "namespaces/%s/enable", e->name);
	if (ret)
		explain_enable(e, ret, log);
	else
		klog_close(log);
	return ret;
}

/* Links the namespace to its port or to all; returns to how many. */
static int link_ports(const struct export *e)
{
	unsigned int *ports;
	int i, n, ret = 0, linked = 0;

	n = server_ports(&ports);
	if (n < 0) {
		explain(NULL, n, "cannot list the ports");
		return n;
	}
	for (i = 0; i < n && !ret; i++) {
		if (e->port && ports[i] != e->port)
			continue;
		ret = server_link(e->name, ports[i]);
		linked += !ret;
	}
	free(ports);
	if (!ret && e->port && !linked) {
		complain("there is no port %u", e->port);
		hint("`pmof server list` shows the ports, `pmof server listen ADDR` makes one");
		ret = -ENOENT;
	}
	return ret ? ret : linked;
}

static const struct reason mkdir_reasons[] = {
	{ EEXIST, "this name is taken", "choose another, or `pmof server unexport NAME`" },
	REASONS_NOT_ROOT,
	{ 0 }
};

/* Before it is enabled: nobody else gets in. */
static int allow_clients(const struct export *e)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < e->nr_allow && !ret; i++)
		ret = server_allow(e->name, &e->allow[i]);
	return ret;
}

static int do_export(const struct export *e)
{
	int ret = check_device(e);

	if (ret) {
		explain_enable(e, ret, -1);
		return ret;
	}
	ret = cfg_prepare();
	if (ret)
		return ret;
	ret = cfg_mkdir("namespaces/%s", e->name);
	if (ret) {
		explain(mkdir_reasons, ret, "cannot make the namespace '%s'", e->name);
		return ret;
	}
	ret = allow_clients(e);
	if (!ret)
		ret = enable(e);
	if (!ret)
		ret = link_ports(e);
	if (ret < 0)
		server_remove_namespace(e->name);
	return ret;
}

int cmd_server_export(int argc, char **argv)
{
	static const struct argp argp = {
		.options = export_options,
		.parser = parse_export,
		.args_doc = "DEVICE",
		.doc = "Exports DEVICE, a pmem device in fsdax mode as /dev/pmem0, under a name. "
		       "Loads pmof-server if it is not there.",
	};
	struct export e = { .name = NULL };
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &e);
	ret = do_export(&e);
	if (ret < 0)
		return EXIT_FAILED;
	if (!ret)
		fprintf(stderr, "pmof: '%s' is exported, but no port serves it yet: "
			"`pmof server listen ADDR`\n", e.name);
	return EXIT_OK;
}
