// SPDX-License-Identifier: BSD-3-Clause
/* Values of the command line: a bad one is a usage error. */
#include <errno.h>

#include "tool.h"

static const char *why(int error)
{
	return error == -ERANGE ? "out of range" : "malformed";
}

uint64_t arg_size(struct argp_state *state, const char *what, const char *s)
{
	uint64_t v = 0;
	int ret = parse_size(s, &v);

	if (ret)
		argp_error(state, "%s '%s' is %s: bytes, as 4096, 0x1000, 4k, 16M or 1G", what, s,
			   why(ret));
	return v;
}

uint64_t arg_u64(struct argp_state *state, const char *what, const char *s)
{
	uint64_t v = 0;
	int ret = parse_u64(s, &v);

	if (ret)
		argp_error(state, "%s '%s' is %s: a 64-bit number, as 42 or 0x2a", what, s,
			   why(ret));
	return v;
}

uint64_t arg_word(struct argp_state *state, const char *what, const char *s)
{
	uint64_t v = 0;
	int ret = parse_word(s, &v);

	if (ret)
		argp_error(state, "%s '%s' is %s: a 64-bit number, as 42, 0x2a or (behind --) -1",
			   what, s, why(ret));
	return v;
}

unsigned int arg_uint(struct argp_state *state, const char *what, const char *s,
		      unsigned int min, unsigned int max)
{
	unsigned int v = min;
	int ret = parse_uint(s, min, max, &v);

	if (ret)
		argp_error(state, "%s '%s' is %s: a number from %u to %u", what, s, why(ret), min,
			   max);
	return v;
}

#define CALL_SIZE_STEP	4096U
#define CALL_SIZE_MAX	(65 * CALL_SIZE_STEP)

unsigned int arg_call_size(struct argp_state *state, const char *what, const char *s)
{
	uint64_t n = arg_size(state, what, s);

	if (n < CALL_SIZE_STEP || n > CALL_SIZE_MAX || n % CALL_SIZE_STEP)
		argp_error(state, "%s '%s' is out of range: 4k to 260k, a multiple of 4k", what, s);
	return (unsigned int)n;
}

uint64_t arg_seconds(struct argp_state *state, const char *what, const char *s)
{
	uint64_t ns = 1;
	int ret = parse_seconds(s, &ns);

	if (ret)
		argp_error(state, "%s '%s' is %s: seconds, as 2 or 0.5, at most a day", what, s,
			   why(ret));
	return ns;
}

struct addr arg_addr(struct argp_state *state, const char *s)
{
	struct addr addr;

	if (parse_addr(s, &addr))
		argp_error(state, "'%s' is not an address: ADDR or ADDR:PORT for IPv4, ADDR or "
			   "[ADDR]:PORT for IPv6; host names are not looked up", s);
	return addr;
}

const char *arg_name(struct argp_state *state, const char *what, const char *s, size_t max)
{
	if (!name_valid(s, max))
		argp_error(state, "%s '%s' is malformed: 1 to %zu characters of A-Z a-z 0-9 . _ : "
			   "-, not starting with a dot", what, s, max - 1);
	return s;
}

error_t one_arg(int key, struct argp_state *state)
{
	switch (key) {
	case ARGP_KEY_ARG:
		if (state->arg_num)
			argp_usage(state);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp_option json_options[] = {
	{ "json", OPT_JSON, NULL, 0, "Print JSON", 0 },
	{ 0 }
};

error_t parse_json_only(int key, char *arg, struct argp_state *state)
{
	bool *json = state->input;

	(void)arg;
	switch (key) {
	case OPT_JSON:
		*json = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

error_t parse_device_json(int key, char *arg, struct argp_state *state)
{
	struct device_json *d = state->input;

	switch (key) {
	case OPT_JSON:
		d->json = true;
		return 0;
	case ARGP_KEY_ARG:
		d->device = arg;
		break;
	}
	return one_arg(key, state);
}
