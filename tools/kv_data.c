// SPDX-License-Identifier: BSD-3-Clause
/* pmof kv put, get, del and stat. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "kv.h"
#include "output.h"

struct kv_data {
	const char *device;
	const char *key_text;
	unsigned char key[PMOF_KV_KEY_MAX];
	size_t key_length;
	uint64_t expected;
	enum pmofkv_protocol protocol;
	bool hex;
	bool json;
	struct pmofkv *kv;
};

/* --- errors, for all of pmof kv -------------------------------------------------- */

static const struct reason open_reasons[] = {
	{ EOPNOTSUPP, "its namespace is no key-value store",
	  "the server exports one with `pmof server export DEVICE --service store`, "
	  "once `pmof kv format` has made it" },
	{ EINVAL, "not the name of a pmof device",
	  "give pmof0, 0, /dev/pmofc0 or a path under /dev/pmof/by-name" },
	{ 0 }
};

/* With all that may come when the message has been sent already. */
#define OUTCOME	"of a put or del the outcome is unknown: `pmof kv get` shows what is there"

static const struct reason reasons[] = {
	{ ENOENT, "there is no such key", NULL },
	{ EEXIST, "the key is there already", "--if-version N or neither replaces it" },
	{ ESTALE, "another version is there, or no such key", "`pmof kv get --json` tells it" },
	{ ENOSPC, "the store is full", "`pmof kv stat DEV` shows its space, `pmof kv del` makes some" },
	{ EFBIG, "the value is too long", NULL },
	{ EMSGSIZE, "the value is too long", NULL },
	{ EROFS, "the session may only read, or the store is damaged",
	  "`pmof info DEV` shows which; the log of the server tells of damage" },
	{ EBUSY, "the server has too many puts under way or open files at the moment",
	  "try again" },
	{ ENODATA, "a bad sector lies in the object, or the store is damaged and cannot tell",
	  "`pmof server list` shows the bad sectors, the server's log what is damaged; if the "
	  "store takes changes, put it again" },
	{ EIO, "the connection was lost, and has not come back in time", OUTCOME },
	{ ENODEV, "the device was disconnected, or the namespace is not exported any more",
	  OUTCOME "; `pmof connect` makes a new one" },
	{ EACCES, "the server has withdrawn the rights", OUTCOME },
	{ EPROTO, "the server has answered what makes no sense",
	  OUTCOME "; are server and client of one version?" },
	{ ENOMEM, "out of memory, here or at the server", NULL },
	{ 0 }
};

void kv_explain(int error, const char *what)
{
	explain(reasons, error, "%s", what);
}

bool kv_check_durable(const struct pmofkv *kv)
{
	int instance = pmofkv_instance(kv);
	char name[PMOF_NAME_MAX + 1], text[8];

	if (pmof_read_attr(instance, "durable", text, sizeof(text)) || text[0] != '0')
		return true;
	if (!pmof_read_attr(instance, "namespace", name, sizeof(name)))
		warn_volatile(name);
	return false;
}

int kv_open(const char *device, int flags, enum pmofkv_protocol protocol, struct pmofkv **kv)
{
	struct pmofkv_options opt;
	int ret;

	pmofkv_options_init(&opt);
	opt.protocol = protocol;
	ret = pmofkv_open(device, flags, &opt, kv);
	if (ret == -EOPNOTSUPP || ret == -EINVAL)
		explain(open_reasons, ret, "%s", device);
	else if (ret)
		explain_device(ret, device);
	else if (flags == O_RDWR)
		kv_check_durable(*kv);
	return ret;
}

/* --- the command line ------------------------------------------------------------ */

enum {
	OPT_IF_VERSION = OPT_LAST, OPT_IF_ABSENT, OPT_PROTOCOL, OPT_HEX,
};

#define OPTION_HEX	{ "hex", OPT_HEX, NULL, 0, "KEY is given in hexadecimal digits", 0 }
#define OPTION_JSON	{ "json", OPT_JSON, NULL, 0, "Print JSON", 0 }

static const struct argp_option put_options[] = {
	{ "if-version", OPT_IF_VERSION, "N", 0, "Only if the key has this version", 0 },
	{ "if-absent", OPT_IF_ABSENT, NULL, 0, "Only if there is no such key", 0 },
	{ "protocol", OPT_PROTOCOL, "NAME", 0, "auto (default), herd (one message with the "
	  "value) or sa (the value goes one-sided)", 0 },
	OPTION_HEX, OPTION_JSON, { 0 }
};

static const struct argp_option get_options[] = { OPTION_HEX, OPTION_JSON, { 0 } };

static const struct argp_option del_options[] = {
	{ "if-version", OPT_IF_VERSION, "N", 0, "Only if the key has this version", 0 },
	OPTION_HEX, OPTION_JSON, { 0 }
};

enum pmofkv_protocol kv_arg_protocol(struct argp_state *state, const char *arg)
{
	int protocol = pmofkv_protocol_parse(arg);

	if (protocol < 0)
		argp_error(state, "--protocol '%s' is none of auto, herd and sa", arg);
	return (enum pmofkv_protocol)protocol;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_hex(struct kv_data *d)
{
	const char *s;

	for (s = d->key_text; *s; s += 2) {
		if (digit(s[0]) < 0 || digit(s[1]) < 0 || d->key_length == sizeof(d->key))
			return false;
		d->key[d->key_length++] = (unsigned char)(digit(s[0]) << 4 | digit(s[1]));
	}
	return true;
}

static void take_key(struct kv_data *d, struct argp_state *state)
{
	if (d->hex) {
		if (!parse_hex(d))
			argp_error(state, "KEY '%s' is malformed: pairs of hexadecimal digits, at "
				   "most %d", d->key_text, PMOF_KV_KEY_MAX);
	} else {
		d->key_length = strlen(d->key_text);
		if (d->key_length <= sizeof(d->key))
			memcpy(d->key, d->key_text, d->key_length);
	}
	if (!d->key_length || d->key_length > PMOF_KV_KEY_MAX)
		argp_error(state, "a key has 1 to %d bytes", PMOF_KV_KEY_MAX);
}

static void expect(struct kv_data *d, struct argp_state *state, uint64_t version)
{
	if (d->expected != PMOF_KV_EXPECT_ANY)
		argp_error(state, "give one of --if-version and --if-absent, once");
	d->expected = version;
}

static error_t parse_expected(int key, char *arg, struct argp_state *state)
{
	struct kv_data *d = state->input;
	uint64_t version;

	switch (key) {
	case OPT_IF_VERSION:
		version = arg_u64(state, "--if-version", arg);
		if (!version || version > PMOF_KV_GENERATION_MASK)
			argp_error(state, "--if-version '%s' is out of range", arg);
		expect(d, state, version);
		return 0;
	case OPT_IF_ABSENT:
		expect(d, state, PMOF_KV_EXPECT_NONE);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_data_args(int key, char *arg, struct argp_state *state)
{
	struct kv_data *d = state->input;

	switch (key) {
	case OPT_PROTOCOL:
		d->protocol = kv_arg_protocol(state, arg);
		return 0;
	case OPT_HEX:
		d->hex = true;
		return 0;
	case OPT_JSON:
		d->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num > 1)
			argp_usage(state);
		if (!state->arg_num)
			d->device = arg;
		else
			d->key_text = arg;
		return 0;
	case ARGP_KEY_END:
		if (state->arg_num < 2)
			argp_usage(state);
		take_key(d, state);
		return 0;
	default:
		return parse_expected(key, arg, state);
	}
}

static int run_kv(const struct argp *argp, int argc, char **argv, int flags,
		  int (*run)(const struct kv_data *d))
{
	struct kv_data d = { .expected = PMOF_KV_EXPECT_ANY };
	int ret;

	argp_parse(argp, argc, argv, 0, NULL, &d);
	ret = kv_open(d.device, flags, d.protocol, &d.kv);
	if (ret)
		return EXIT_FAILED;
	ret = run(&d);
	pmofkv_close(d.kv);
	return ret ? EXIT_FAILED : EXIT_OK;
}

/* --- put --------------------------------------------------------------------------- */

/* All of standard input, and not more than @max bytes. */
static int read_value(char **value, size_t *length, size_t max)
{
	size_t room = 64 << 10;
	char *more;
	ssize_t n;

	*value = NULL;
	*length = 0;
	for (;; room *= 2) {
		more = realloc(*value, room);
		if (!more)
			return -ENOMEM;
		*value = more;
		n = data_read(*value + *length, room - *length);
		if (n < 0)
			return (int)n;
		*length += (size_t)n;
		if (*length > max)
			return -EFBIG;
		if (*length < room)
			return 0;
	}
}

static void explain_put(const struct kv_data *d, int error, uint64_t version)
{
	kv_explain(error, d->key_text);
	if ((error == -ESTALE || error == -EEXIST) && version)
		hint("it has version %llu", (unsigned long long)version);
	if (error == -EFBIG)
		hint("with this key it has at most %zu bytes", pmofkv_max_value(d->key_length));
}

static int do_put(const struct kv_data *d)
{
	enum pmofkv_protocol protocol;
	struct json_object *o;
	uint64_t version = 0;
	size_t length;
	char *value;
	int ret;

	ret = read_value(&value, &length, pmofkv_max_value(d->key_length));
	if (!ret)
		ret = pmofkv_put_if(d->kv, d->key, d->key_length, value, length, d->expected,
				    &version);
	free(value);
	if (ret) {
		explain_put(d, ret, version);
		return ret;
	}
	if (!d->json)
		return 0;
	protocol = pmofkv_put_protocol(d->kv, d->key_length, length);
	o = new_object();
	put_u64(o, "version", version);
	put_u64(o, "bytes", length);
	put_text(o, "protocol", pmofkv_protocol_name(protocol));
	print_json(o, false);
	json_object_put(o);
	return 0;
}

int cmd_kv_put(int argc, char **argv)
{
	static const struct argp argp = {
		.options = put_options, .parser = parse_data_args, .args_doc = "DEV KEY",
		.doc = "Stores standard input as the value of the key, durably.",
	};

	return run_kv(&argp, argc, argv, O_RDWR, do_put);
}

/* --- get --------------------------------------------------------------------------- */

static void print_value_json(const struct kv_data *d, const char *value, size_t length,
			     uint64_t version)
{
	struct json_object *o = new_object();

	kv_put_bytes(o, "key", d->key, d->key_length);
	put_u64(o, "version", version);
	put_u64(o, "bytes", length);
	kv_put_bytes(o, "value", value, length);
	print_json(o, false);
	json_object_put(o);
}

static int do_get(const struct kv_data *d)
{
	uint64_t version;
	size_t length;
	void *value;
	int ret;

	ret = pmofkv_get_alloc(d->kv, d->key, d->key_length, &value, &length, &version);
	if (ret) {
		kv_explain(ret, d->key_text);
		return ret;
	}
	if (d->json)
		print_value_json(d, value, length, version);
	else
		ret = data_write(value, length);
	free(value);
	return ret;
}

int cmd_kv_get(int argc, char **argv)
{
	static const struct argp argp = {
		.options = get_options, .parser = parse_data_args, .args_doc = "DEV KEY",
		.doc = "Writes the value of the key to standard output.",
	};

	return run_kv(&argp, argc, argv, O_RDONLY, do_get);
}

/* --- del --------------------------------------------------------------------------- */

static int do_del(const struct kv_data *d)
{
	struct json_object *o;
	uint64_t version = 0;
	int ret = pmofkv_delete_if(d->kv, d->key, d->key_length, d->expected, &version);

	if (ret) {
		explain_put(d, ret, version);
		return ret;
	}
	if (d->json) {
		o = new_object();
		put_bool(o, "deleted", true);
		print_json(o, false);
		json_object_put(o);
	}
	return 0;
}

int cmd_kv_del(int argc, char **argv)
{
	static const struct argp argp = {
		.options = del_options, .parser = parse_data_args, .args_doc = "DEV KEY",
		.doc = "Deletes the key, durably. Exit status 1 also if there is none.",
	};

	return run_kv(&argp, argc, argv, O_RDWR, do_del);
}
