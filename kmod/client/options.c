// SPDX-License-Identifier: GPL-2.0
#include "method.h"
#include "options.h"
#include "../../uapi/pmof.h"

struct option {
	const char *key;
	/* Returns NULL, or what is wrong with the value. */
	const char *(*set)(struct pmof_options *o, char *value);
};

static const char *set_addr(struct pmof_options *o, char *value)
{
	if (!*value || strlen(value) >= sizeof(o->addr))
		return "addr: not an address";
	strscpy(o->addr, value, sizeof(o->addr));
	return NULL;
}

static const char *set_name(struct pmof_options *o, char *value)
{
	if (!pmof_name_valid(value, sizeof(o->name)))
		return "name: 1 to 63 characters of A-Z a-z 0-9 . _ : -";
	strscpy(o->name, value, sizeof(o->name));
	return NULL;
}

static const char *set_id(struct pmof_options *o, char *value)
{
	if (!pmof_name_valid(value, sizeof(o->id)))
		return "id: 1 to 31 characters of A-Z a-z 0-9 . _ : -";
	strscpy(o->id, value, sizeof(o->id));
	return NULL;
}

/* A decimal number from @min to @max. */
bool pmof_number_parse(const char *value, u16 min, u16 max, u16 *out)
{
	return !kstrtou16(value, 10, out) && *out >= min && *out <= max;
}

static bool flag_parse(const char *value, bool *flag)
{
	u16 n;

	if (!pmof_number_parse(value, 0, 1, &n))
		return false;
	*flag = n;
	return true;
}

static const char *set_port(struct pmof_options *o, char *value)
{
	return pmof_number_parse(value, 1, U16_MAX, &o->port) ? NULL : "port: 1 to 65535";
}

static const char *set_queues(struct pmof_options *o, char *value)
{
	return pmof_number_parse(value, 1, PMOF_MAX_QUEUES, &o->queues) ?
		NULL : "queues: 1 to 128";
}

static const char *set_depth(struct pmof_options *o, char *value)
{
	return pmof_number_parse(value, PMOF_DEPTH_MIN, PMOF_MAX_DEPTH, &o->depth) ?
		NULL : "depth: 4 to 1024";
}

static const char *set_persist(struct pmof_options *o, char *value)
{
	int method = pmof_method_parse(value);

	if (method < 0)
		return "persist: auto, read, assist, rpc or flush";
	o->method = method;
	return NULL;
}

static const char *set_read_only(struct pmof_options *o, char *value)
{
	return flag_parse(value, &o->read_only) ? NULL : "read_only: 0 or 1";
}

static const char *set_poll_queues(struct pmof_options *o, char *value)
{
	return pmof_number_parse(value, 0, PMOF_MAX_QUEUES - 1, &o->poll_queues) ?
		NULL : "poll_queues: 0 to 127";
}

static const char *set_block(struct pmof_options *o, char *value)
{
	return flag_parse(value, &o->block) ? NULL : "block: 0 or 1";
}

static const char *set_block_size(struct pmof_options *o, char *value)
{
	if (!pmof_number_parse(value, 512, 4096, &o->block_size) ||
	    (o->block_size != 512 && o->block_size != 4096))
		return "block_size: 512 or 4096";
	return NULL;
}

static const char *set_cache(struct pmof_options *o, char *value)
{
	if (strcmp(value, "writethrough") && strcmp(value, "writeback"))
		return "cache: writethrough or writeback";
	o->writeback = !strcmp(value, "writeback");
	return NULL;
}

static const char *set_key(struct pmof_options *o, char *value)
{
	return pmof_key_parse(value, strlen(value), &o->key) ?
		"key: 32 to 128 hexadecimal digits, an even number" : NULL;
}

static const char *set_exclusive(struct pmof_options *o, char *value)
{
	return flag_parse(value, &o->exclusive) ? NULL : "exclusive: 0 or 1";
}

static const char *set_takeover(struct pmof_options *o, char *value)
{
	return flag_parse(value, &o->takeover) ? NULL : "takeover: 0 or 1";
}

static const char *set_keep_alive_tmo(struct pmof_options *o, char *value)
{
	return pmof_number_parse(value, 0, 3600, &o->keep_alive_tmo) ?
		NULL : "keep_alive_tmo: 0 to 3600 (seconds; 0: off)";
}

static const char *set_reconnect_delay(struct pmof_options *o, char *value)
{
	return pmof_number_parse(value, 1, PMOF_RECONNECT_DELAY_MAX, &o->reconnect_delay) ?
		NULL : "reconnect_delay: 1 to 3600 (seconds)";
}

/* A time limit: seconds, or -1 for none. */
bool pmof_timeout_parse(const char *value, s32 *out)
{
	s32 n;

	if (kstrtos32(value, 10, &n) || n < -1 || n > PMOF_TIMEOUT_MAX)
		return false;
	*out = n;
	return true;
}

static const char *set_fail_io_timeout(struct pmof_options *o, char *value)
{
	return pmof_timeout_parse(value, &o->fail_io_timeout) ?
		NULL : "fail_io_timeout: -1 to 86400 (seconds; -1: none)";
}

static const char *set_device_loss_timeout(struct pmof_options *o, char *value)
{
	return pmof_timeout_parse(value, &o->device_loss_timeout) ?
		NULL : "device_loss_timeout: -1 to 86400 (seconds; -1: none)";
}

static const char *set_max_call(struct pmof_options *o, char *value)
{
	s32 size;

	if (kstrtos32(value, 10, &size) || size < 0 || !pmof_call_size_ok(size))
		return "max_call: 4096 to 266240, a multiple of 4096";
	o->max_call = size;
	return NULL;
}

static const struct option options[] = {
	{ "addr", set_addr },
	{ "port", set_port },
	{ "name", set_name },
	{ "queues", set_queues },
	{ "depth", set_depth },
	{ "persist", set_persist },
	{ "id", set_id },
	{ "read_only", set_read_only },
	{ "poll_queues", set_poll_queues },
	{ "block", set_block },
	{ "block_size", set_block_size },
	{ "cache", set_cache },
	{ "key", set_key },
	{ "exclusive", set_exclusive },
	{ "takeover", set_takeover },
	{ "keep_alive_tmo", set_keep_alive_tmo },
	{ "reconnect_delay", set_reconnect_delay },
	{ "fail_io_timeout", set_fail_io_timeout },
	{ "device_loss_timeout", set_device_loss_timeout },
	{ "max_call", set_max_call },
};

static const char *set_one(struct pmof_options *o, char *word, unsigned int *seen)
{
	char *key = strsep(&word, "=");
	unsigned int i;

	if (!word)
		return "an option has no value";
	for (i = 0; i < ARRAY_SIZE(options); i++) {
		if (strcmp(key, options[i].key))
			continue;
		if (*seen & BIT(i))
			return "an option is given twice";
		*seen |= BIT(i);
		return options[i].set(o, word);
	}
	return "unknown option";
}

/* What one option alone does not tell. */
static const char *check_all(const struct pmof_options *o)
{
	if (!o->addr[0])
		return "addr is missing";
	if (!o->name[0])
		return "name is missing";
	if (o->read_only && (o->exclusive || o->takeover))
		return "exclusive and takeover are for who writes: not with read_only=1";
	if (!o->block && (o->poll_queues || o->writeback))
		return "poll_queues and cache are the block device's: not with block=0";
	if (o->queues + o->poll_queues > PMOF_MAX_QUEUES)
		return "queues and poll_queues: together at most 128";
	return NULL;
}

/**
 * pmof_options_parse - parse "key=value,key=value"
 * @buf: NUL terminated, is cut up; one trailing newline is ignored
 * @o: filled
 * @why: on error: what is wrong, a constant string
 *
 * Return: 0 or -EINVAL.
 */
int pmof_options_parse(char *buf, struct pmof_options *o, const char **why)
{
	size_t len = strlen(buf);
	unsigned int seen = 0;
	char *word;

	memset(o, 0, sizeof(*o));
	o->port = PMOF_WIRE_PORT;
	o->depth = PMOF_DEPTH_DEFAULT;
	o->block = true;
	o->max_call = PMOF_IO_MSG_SIZE;
	o->block_size = 512;
	o->keep_alive_tmo = 5;
	o->reconnect_delay = 10;
	o->fail_io_timeout = 30;
	o->device_loss_timeout = 600;
	*why = NULL;
	if (len && buf[len - 1] == '\n')
		buf[len - 1] = '\0';
	while (!*why && (word = strsep(&buf, ",")))
		*why = set_one(o, word, &seen);
	if (!*why)
		*why = check_all(o);
	return *why ? -EINVAL : 0;
}
