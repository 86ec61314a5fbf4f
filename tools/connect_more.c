// SPDX-License-Identifier: BSD-3-Clause
/* Options of a connection that go to the kernel as they are: recovery, rights. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "connect_file.h"
#include "output.h"

enum { OPT_KEEP_ALIVE = 0x300, OPT_RECONNECT_DELAY, OPT_FAIL_IO, OPT_DEVICE_LOSS, OPT_KEY,
       OPT_EXCLUSIVE, OPT_TAKEOVER };

static const struct argp_option more_options[] = {
	{ "keep-alive-tmo", OPT_KEEP_ALIVE, "SECONDS", 0, "After how long without a word the other "
	  "side is taken for dead; default 5, 0: never", 0 },
	{ "reconnect-delay", OPT_RECONNECT_DELAY, "SECONDS", 0, "Longest pause between attempts to "
	  "connect again; default 10", 0 },
	{ "fail-io-timeout", OPT_FAIL_IO, "SECONDS", 0, "How long requests wait for that; default "
	  "30, -1: as long as it is tried", 0 },
	{ "device-loss-timeout", OPT_DEVICE_LOSS, "SECONDS", 0, "How long it is tried, before the "
	  "device is dead; default 600, 0: not at all, -1: for ever", 0 },
	{ "key", OPT_KEY, "FILE", 0, "The client's key: 32 to 128 hexadecimal digits, in a file of "
	  "mode 0600", 0 },
	{ "exclusive", OPT_EXCLUSIVE, NULL, 0, "Nobody else may be able to write", 0 },
	{ "takeover", OPT_TAKEOVER, NULL, 0, "End the session of who is there exclusively", 0 },
	{ 0 }
};

static int arg_timeout(struct argp_state *state, const char *what, const char *arg)
{
	return strcmp(arg, "-1") ? (int)arg_uint(state, what, arg, 0, 86400) : -1;
}

static void put_int(struct json_object *o, const char *key, int value)
{
	put_object(o, key, json_object_new_int(value));
}

/* A file of /etc/pmof must name it wherever we are. */
static void put_path(struct json_object *o, const char *key, const char *path)
{
	char *whole = realpath(path, NULL);

	put_text(o, key, whole ? whole : path);
	free(whole);
}

static error_t parse_more(int key, char *arg, struct argp_state *state)
{
	struct json_object *more = state->input;

	switch (key) {
	case OPT_KEEP_ALIVE:
		put_u64(more, "keep_alive_tmo", arg_uint(state, "--keep-alive-tmo", arg, 0, 3600));
		return 0;
	case OPT_RECONNECT_DELAY:
		put_u64(more, "reconnect_delay",
			arg_uint(state, "--reconnect-delay", arg, 1, 3600));
		return 0;
	case OPT_FAIL_IO:
		put_int(more, "fail_io_timeout", arg_timeout(state, "--fail-io-timeout", arg));
		return 0;
	case OPT_DEVICE_LOSS:
		put_int(more, "device_loss_timeout",
			arg_timeout(state, "--device-loss-timeout", arg));
		return 0;
	case OPT_KEY:
		put_path(more, "key_file", arg);
		return 0;
	case OPT_EXCLUSIVE:
		put_bool(more, "exclusive", true);
		return 0;
	case OPT_TAKEOVER:
		put_bool(more, "takeover", true);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp connect_more_argp = { .options = more_options, .parser = parse_more };

bool connect_more(struct json_object *o, char *buf, char *why)
{
	static const char *const keys[] = { "keep_alive_tmo", "reconnect_delay", "fail_io_timeout",
					    "device_loss_timeout", "exclusive", "takeover" };
	const char *file = json_text(o, "key_file", NULL), *value;
	char number[24], key[KEY_TEXT_MAX];
	size_t i, len = 0;

	*buf = '\0';
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		value = json_plain(o, keys[i], number, sizeof(number));
		if (value)
			len += (size_t)snprintf(buf + len, MORE_MAX - len, "%s%s=%s",
						len ? "," : "", keys[i], value);
	}
	if (!file)
		return true;
	if (!config_read_key(file, key, why))
		return false;
	snprintf(buf + len, MORE_MAX - len, "%skey=%s", len ? "," : "", key);
	explicit_bzero(key, sizeof(key));
	return true;
}
