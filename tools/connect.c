// SPDX-License-Identifier: BSD-3-Clause
/* pmof connect and disconnect. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "connect_file.h"
#include "libpmof.h"
#include "lock.h"
#include "output.h"
#include "tool.h"

/* --- connect --------------------------------------------------------------- */

enum { OPT_QUEUES = OPT_LAST, OPT_DEPTH, OPT_MAX_CALL, OPT_METHOD, OPT_ID, OPT_READ_ONLY,
	OPT_NO_BLOCK, OPT_CACHE, OPT_BLOCK_SIZE, OPT_POLL_QUEUES,
	OPT_KEEP_ALIVE, OPT_RECONNECT, OPT_FAIL_IO, OPT_LOSS,
	OPT_KEY, OPT_EXCLUSIVE, OPT_TAKEOVER, OPT_SAVE, OPT_FILE, OPT_CONNECT_ALL, OPT_WAIT };

struct connect {
	struct addr addr;
	struct pmof_connect_args args;
	const char *key_file;
	char key[KEY_TEXT_MAX];
	bool json;
	bool save;
	bool all;		/* of all files */
	const char *file;	/* of this one */
	const char *other;	/* an option that is no file's business */
	uint64_t wait;
};

static const struct argp_option connect_options[] = {
	{ "queues", OPT_QUEUES, "N", 0, "I/O queues, 1 to 128; default one per CPU; the server "
	  "may grant fewer", 0 },
	{ "depth", OPT_DEPTH, "N", 0, "Requests under way on one queue, 4 to 1024; default 128",
	  0 },
	{ "max-call", OPT_MAX_CALL, "BYTES", 0, "Bytes of the longest message to a service, as a "
	  "put into a store: 4k (default) to 260k, a multiple of 4k; the server may grant less", 0 },
	{ "persist", OPT_METHOD, "METHOD", 0, "How durability is reached: auto (default: by size), "
	  "read, assist, rpc or flush", 0 },
	{ "id", OPT_ID, "ID", 0, "Client ID; default the host name, cut to 31 characters", 0 },
	{ "read-only", OPT_READ_ONLY, NULL, 0, "Ask for no right to write", 0 },
	{ "key", OPT_KEY, "FILE", 0, "Prove with the key in FILE that this is the client", 0 },
	{ "exclusive", OPT_EXCLUSIVE, NULL, 0, "Let nobody else write as long as this lasts", 0 },
	{ "takeover", OPT_TAKEOVER, NULL, 0, "End the sessions of others that stand in the way of "
	  "writing, or with --exclusive of writing alone", 0 },
	{ "cache", OPT_CACHE, "MODE", 0, "Block device: writethrough (default: a completed write "
	  "is durable) or writeback (durable after a flush, or with FUA)", 0 },
	{ "block-size", OPT_BLOCK_SIZE, "N", 0, "Its logical blocks: 512 (default) or 4096 bytes",
	  0 },
	{ "poll-queues", OPT_POLL_QUEUES, "N", 0, "I/O queues for its polled requests, besides "
	  "--queues; default 0", 0 },
	{ "no-block", OPT_NO_BLOCK, NULL, 0, "Make no block device", 0 },
	{ "save", OPT_SAVE, NULL, 0, "Keep the connection as /etc/pmof/NAME.json", 0 },
	{ "all", OPT_CONNECT_ALL, NULL, 0, "Connect what the files in /etc/pmof say", 0 },
	{ "file", OPT_FILE, "FILE", 0, "Connect what FILE says", 0 },
	{ "wait", OPT_WAIT, "SECONDS|forever", 0, "How long to try; default 0: once", 0 },
	{ "keep-alive-tmo", OPT_KEEP_ALIVE, "SECONDS", 0, "Give a server up that gives no sign of life "
	  "for so long; default 5; 0: never", 0 },
	{ "reconnect-delay", OPT_RECONNECT, "SECONDS", 0, "The longest time between two attempts to "
	  "reconnect; default 10", 0 },
	{ "fail-io-timeout", OPT_FAIL_IO, "SECONDS", 0, "How long requests wait for a lost "
	  "connection; default 30; 0: not at all; -1: until the device is given up", 0 },
	{ "device-loss-timeout", OPT_LOSS, "SECONDS", 0, "Give the device up when it has been without "
	  "a connection for so long; default 600; 0: at once; -1: never", 0 },
	{ "json", OPT_JSON, NULL, 0, "Print JSON", 0 },
	{ 0 }
};

static enum pmof_method arg_method(struct argp_state *state, const char *arg)
{
	int method = pmof_method_parse(arg);

	if (method < 0)
		argp_error(state, "--persist '%s' is unknown: auto, read, assist, rpc or flush",
			   arg);
	return (enum pmof_method)method;
}

static bool arg_writeback(struct argp_state *state, const char *arg)
{
	if (strcmp(arg, "writeback") != 0 && strcmp(arg, "writethrough") != 0)
		argp_error(state, "--cache '%s' is unknown: writethrough or writeback", arg);
	return !strcmp(arg, "writeback");
}

static unsigned int arg_block_size(struct argp_state *state, const char *arg)
{
	unsigned int n = arg_uint(state, "--block-size", arg, 512, 4096);

	if (n != 512 && n != 4096)
		argp_error(state, "--block-size '%s' is neither 512 nor 4096", arg);
	return n;
}

/* Options of the block device. */
static error_t parse_connect_block(struct connect *c, int key, char *arg,
				   struct argp_state *state)
{
	switch (key) {
	case OPT_NO_BLOCK:
		c->args.no_block = true;
		return 0;
	case OPT_CACHE:
		c->args.writeback = arg_writeback(state, arg);
		return 0;
	case OPT_BLOCK_SIZE:
		c->args.block_size = arg_block_size(state, arg);
		return 0;
	case OPT_POLL_QUEUES:
		c->args.poll_queues = arg_uint(state, "--poll-queues", arg, 0, 127);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Options about who may what. */
static error_t parse_connect_rights(struct connect *c, int key, char *arg,
				    struct argp_state *state)
{
	switch (key) {
	case OPT_ID:
		c->args.id = arg_name(state, "--id", arg, PMOF_ID_MAX + 1);
		return 0;
	case OPT_KEY:
		c->key_file = arg;
		return 0;
	case OPT_READ_ONLY:
		c->args.read_only = true;
		return 0;
	case OPT_EXCLUSIVE:
		c->args.exclusive = true;
		return 0;
	case OPT_TAKEOVER:
		c->args.takeover = true;
		return 0;
	default:
		return parse_connect_block(c, key, arg, state);
	}
}

/* Options of recovery. */
static error_t parse_connect_time(struct connect *c, int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case OPT_KEEP_ALIVE:
		arg_uint(state, "--keep-alive-tmo", arg, 0, 3600);
		c->args.keep_alive_tmo = arg;
		return 0;
	case OPT_RECONNECT:
		arg_uint(state, "--reconnect-delay", arg, 1, 3600);
		c->args.reconnect_delay = arg;
		return 0;
	case OPT_FAIL_IO:
		if (strcmp(arg, "-1") != 0)
			arg_uint(state, "--fail-io-timeout", arg, 0, 86400);
		c->args.fail_io_timeout = arg;
		return 0;
	case OPT_LOSS:
		if (strcmp(arg, "-1") != 0)
			arg_uint(state, "--device-loss-timeout", arg, 0, 86400);
		c->args.device_loss_timeout = arg;
		return 0;
	default:
		return parse_connect_rights(c, key, arg, state);
	}
}

/* Options of connections in files. */
static error_t parse_connect_files(struct connect *c, int key, char *arg,
				   struct argp_state *state)
{
	switch (key) {
	case OPT_SAVE:
		c->save = true;
		return 0;
	case OPT_FILE:
		if (c->file)
			argp_error(state, "give --file once");
		c->file = arg;
		return 0;
	case OPT_CONNECT_ALL:
		c->all = true;
		return 0;
	case OPT_WAIT:
		c->wait = arg_wait(state, arg);
		return 0;
	default:
		return parse_connect_time(c, key, arg, state);
	}
}

/* Nothing is taken and then ignored: who says --read-only does not want to write. */
static void check_files(const struct connect *c, struct argp_state *state)
{
	if (state->arg_num)
		argp_error(state, "--all and --file take no address");
	if (c->all && c->file)
		argp_error(state, "give either --all or --file");
	if (c->other)
		argp_error(state, "--%s is said by the file: not with --all and --file", c->other);
}

/* What the options say together. */
static void check_connect(const struct connect *c, struct argp_state *state)
{
	if (c->all || c->file) {
		check_files(c, state);
		return;
	}
	if (state->arg_num < 2)
		argp_usage(state);
	if (c->args.no_block && (c->args.writeback || c->args.poll_queues))
		argp_error(state, "--cache and --poll-queues are the block device's: not with "
			   "--no-block");
	if (c->args.read_only && (c->args.exclusive || c->args.takeover))
		argp_error(state, "--exclusive and --takeover are for who writes: not with "
			   "--read-only");
	if (c->args.queues + c->args.poll_queues > 128)
		argp_error(state, "--queues and --poll-queues: together at most 128");
}

static error_t parse_connect_arg(struct connect *c, char *arg, struct argp_state *state)
{
	if (state->arg_num == 0)
		c->addr = arg_addr(state, arg);
	else if (state->arg_num == 1)
		c->args.name = arg_name(state, "NAME", arg, PMOF_NAME_MAX + 1);
	else
		argp_usage(state);
	return 0;
}

static void note_option(struct connect *c, int key)
{
	const struct argp_option *o;

	for (o = connect_options; o->name; o++)
		if (o->key == key && key != OPT_CONNECT_ALL && key != OPT_FILE && key != OPT_WAIT)
			c->other = o->name;
}

static error_t parse_connect(int key, char *arg, struct argp_state *state)
{
	struct connect *c = state->input;

	note_option(c, key);
	switch (key) {
	case OPT_QUEUES:
		c->args.queues = arg_uint(state, "--queues", arg, 1, 128);
		return 0;
	case OPT_DEPTH:
		c->args.depth = arg_uint(state, "--depth", arg, 4, 1024);
		return 0;
	case OPT_METHOD:
		c->args.method = arg_method(state, arg);
		return 0;
	case OPT_MAX_CALL:
		c->args.max_call = arg_call_size(state, "--max-call", arg);
		return 0;
	case OPT_JSON:
		c->json = true;
		return 0;
	case ARGP_KEY_ARG:
		return parse_connect_arg(c, arg, state);
	case ARGP_KEY_END:
		check_connect(c, state);
		return 0;
	default:
		return parse_connect_files(c, key, arg, state);
	}
}

static const struct reason connect_reasons[] = {
	{ EINVAL, "the kernel does not take an option",
	  "is the module pmof-client as new as this command? A link-local address needs its "
	  "interface: fe80::1%eth0" },
	{ ENOENT, "the server has no such namespace on this port",
	  "on the server, `pmof server list` shows the namespaces, and which port serves them" },
	{ EOPNOTSUPP, "this persist method is not offered here, or an RDMA device cannot do what "
	  "pmof needs", "--persist auto takes what is offered; of devices, `dmesg` on both sides "
	  "says why" },
	{ ECONNREFUSED, "nobody listens there",
	  "on the server, `pmof server listen ADDR`; `pmof server list` shows address and port" },
	{ EHOSTUNREACH, "no way leads there", "check the address, `ip route get ADDR`, and the "
	  "link" },
	{ ENETUNREACH, "no way leads there", "check the address and `ip route get ADDR`" },
	{ EADDRNOTAVAIL, "no RDMA device leads there",
	  "`rdma link` shows the devices; soft-RoCE: `rdma link add rxe0 type rxe netdev eth0`" },
	{ ENODEV, "no RDMA device leads there",
	  "`rdma link` shows the devices; soft-RoCE: `rdma link add rxe0 type rxe netdev eth0`" },
	{ ETIMEDOUT, "no answer in time",
	  "check the address, the link and its MTU on both sides, and that no firewall drops UDP "
	  "port 4791 (RoCE)" },
	{ EPROTO, "the peer does not speak pmof", "check address and port" },
	{ EPROTONOSUPPORT, "the server speaks another version of the protocol",
	  "use the same version of pmof on both sides" },
	{ EBUSY, "a limit is reached, or another client has it for itself",
	  "ask for fewer --queues, disconnect other clients, or --takeover; `pmof server list` on "
	  "the server shows who is there" },
	{ EACCES, "not allowed",
	  "run this as root; if you are, the server does not let this client in: is it in the "
	  "namespace's list, are --id and --key right, and is the key the server's?" },
	{ EROFS, "this client may only read", "connect with --read-only" },
	{ EPERM, "no permission", "run this as root" },
	{ ENOTCONN, "the server has ended the session at once", "`dmesg` there says why" },
	{ EREMOTEIO, "the server failed", "`dmesg` there says why" },
	{ ENOSPC, "there are 1024 devices of pmof here", "`pmof list` shows them, `pmof disconnect` "
	  "ends one" },
	{ ECONNRESET, "the connection was lost at once",
	  "try again, or with --wait: behind a crash of this machine the server may still hold what "
	  "that has left" },
	{ EXDEV, "the way there leads through more than one RDMA device",
	  "have one device with a route to the server: `ip route get ADDR`, `rdma link`" },
	{ EALREADY, "another process is connecting to it just now", NULL },
	{ ENOPKG, "the module pmof-client is not loaded any more", "`modprobe pmof-client`" },
	{ ENOMEM, "out of memory, here or at the server",
	  "ask for fewer --queues, a smaller --depth or a smaller --max-call" },
	{ 0 }
};

/* What each method needs, for who may not read the log that names what is amiss. */
static void hint_method(enum pmof_method method)
{
	switch (method) {
	case PMOF_METHOD_READ:
		hint("read needs a persistence domain that holds the CPU caches, or one that holds "
		     "the memory controller and placement memory at the server's port: `pmof "
		     "server list` there shows both");
		break;
	case PMOF_METHOD_FLUSH:
		hint("flush needs RDMA FLUSH in both HCAs, and a kernel that lets modules use it "
		     "on both sides");
		break;
	default:
		break;
	}
}

void explain_connect(const struct pmof_connect_args *args, int error, int log)
{
	struct addr addr = { .port = args->port };
	char text[ADDR_TEXT_MAX];

	snprintf(addr.host, sizeof(addr.host), "%s", args->addr);
	format_addr(&addr, text, sizeof(text));
	if (error == -EOPNOTSUPP)
		explain(connect_reasons, error, "cannot connect to '%s' at %s with --persist %s",
			args->name, text, pmof_method_name(args->method));
	else
		explain(connect_reasons, error, "cannot connect to '%s' at %s", args->name, text);
	if (!klog_hint(log) && error == -EOPNOTSUPP)
		hint_method(args->method);
}

/* For as long as --wait says; why not is told when it is news. */
static int connect_for(const struct connect *c, int *instance)
{
	struct pending pending = { .told = 0 };
	struct retry retry;
	int ret, log, lock;

	retry_start(&retry, c->wait);
	do {
		log = klog_open();
		lock = lock_connect(&c->args);
		ret = lock == -EALREADY ? lock : connect_try(&c->args, instance);
		unlock(lock);
		if (ret && (!connect_may_come(ret) || pending_news(&pending, ret)))
			explain_connect(&c->args, ret, log);
		else
			klog_close(log);
	} while (connect_may_come(ret) && retry_pause(&retry));
	return ret;
}

static int do_connect(struct connect *c, int *instance)
{
	int ret;

	c->args.size = sizeof(c->args);
	c->args.addr = c->addr.host;
	c->args.port = c->addr.port;
	ret = c->save ? connect_check_save(&c->args, c->key_file) : 0;
	if (!ret)
		ret = module_need("pmof-client", PMOF_CONTROL_PATH);
	if (ret)
		return ret;
	if (c->key_file) {
		ret = key_read(c->key_file, false, c->key);
		if (ret)
			return ret;
		c->args.key = c->key;
	}
	ret = connect_for(c, instance);
	explicit_bzero(c->key, sizeof(c->key));
	return ret;
}

#define DEVICE_LOSS	600	/* the kernel's default, seconds */

/* What is accepted, and does not do what it seems to. */
static void warn_of_times(const struct pmof_connect_args *args)
{
	int loss = args->device_loss_timeout ? atoi(args->device_loss_timeout) : DEVICE_LOSS;

	if (args->fail_io_timeout && loss >= 0 && atoi(args->fail_io_timeout) > loss)
		complain("warning: the device is given up, and requests fail, after %d s already "
			 "(--device-loss-timeout)", loss);
}

static void print_instance(const struct connect *c, int instance)
{
	struct json_object *o;
	char name[24];

	snprintf(name, sizeof(name), "pmof%d", instance);
	if (c->json) {
		o = new_object();
		put_text(o, "device", name);
		put_u64(o, "instance", (uint64_t)instance);
		print_json(o, false);
		json_object_put(o);
	} else {
		puts(name);
	}
}

int cmd_connect(int argc, char **argv)
{
	static const struct argp argp = {
		.options = connect_options,
		.parser = parse_connect,
		.args_doc = "ADDR[:PORT] NAME\n--all\n--file FILE",
		.doc = "Connects to namespace NAME of the server at ADDR (IPv6 with a port: "
		       "[ADDR]:PORT; default port 20049) and prints the name of the new device, "
		       "pmofN: /dev/pmofcN takes bytes, /dev/pmofN is a disk. "
		       "Loads pmof-client if it is not there.",
	};
	struct connect c = { .json = false };
	int instance;

	argp_parse(&argp, argc, argv, 0, NULL, &c);
	if (c.all || c.file)
		return connect_files(c.file, c.wait);
	if (do_connect(&c, &instance))
		return EXIT_FAILED;
	warn_of_times(&c.args);
	print_instance(&c, instance);
	return c.save && connect_save(&c.args, c.key_file, instance) ? EXIT_FAILED : EXIT_OK;
}

/* --- disconnect ------------------------------------------------------------ */

enum { OPT_ALL = OPT_LAST };

#define DISCONNECT_MAX	64

struct disconnect {
	const char *device[DISCONNECT_MAX];
	unsigned int nr;
	bool all;
};

static const struct argp_option disconnect_options[] = {
	{ "all", OPT_ALL, NULL, 0, "End every connection", 0 },
	{ 0 }
};

static error_t parse_disconnect(int key, char *arg, struct argp_state *state)
{
	struct disconnect *d = state->input;

	switch (key) {
	case OPT_ALL:
		d->all = true;
		return 0;
	case ARGP_KEY_ARG:
		if (d->nr == DISCONNECT_MAX)
			argp_error(state, "at most %d devices at once", DISCONNECT_MAX);
		d->device[d->nr++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (d->all ? d->nr : !d->nr)
			argp_error(state, "give either DEV or --all");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct reason disconnect_reasons[] = {
	{ ENODEV, "no such pmof device", "`pmof list` shows the devices" },
	REASONS_NOT_ROOT,
	{ 0 }
};

static int disconnect_one(int instance)
{
	int ret = pmof_disconnect(instance);

	if (ret)
		explain(disconnect_reasons, ret, "cannot disconnect pmof%d", instance);
	return ret;
}

static int disconnect_all(void)
{
	int *instances, i, n, ret, failed = 0;

	n = pmof_list(&instances);
	if (n < 0) {
		explain(NULL, n, "cannot list the devices");
		return n;
	}
	for (i = 0; i < n; i++) {
		ret = disconnect_one(instances[i]);
		if (ret && ret != -ENODEV)
			failed = ret;
	}
	free(instances);
	return failed;
}

static int disconnect_device(const char *device)
{
	int instance, ret;

	ret = pmof_lookup(device, &instance);
	if (ret) {
		explain_device(ret, device);
		return ret;
	}
	return disconnect_one(instance);
}

int cmd_disconnect(int argc, char **argv)
{
	static const struct argp argp = {
		.options = disconnect_options,
		.parser = parse_disconnect,
		.args_doc = "DEV...\n--all",
		.doc = "Ends connections. Programs that still have the device open get ENODEV.",
	};
	struct disconnect d = { .nr = 0 };
	int failed = 0;
	unsigned int i;

	argp_parse(&argp, argc, argv, 0, NULL, &d);
	if (d.all)
		failed = disconnect_all();
	for (i = 0; i < d.nr; i++)
		if (disconnect_device(d.device[i]))
			failed = 1;
	return failed ? EXIT_FAILED : EXIT_OK;
}
