// SPDX-License-Identifier: BSD-3-Clause
/* pmof list and info. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auto_table.h"
#include "libpmof.h"
#include "output.h"
#include "tool.h"

/* --- a device as an object ------------------------------------------------- */

static const struct attr attrs[] = {
	{ "state", ATTR_TEXT }, { "namespace", ATTR_TEXT }, { "address", ATTR_TEXT },
	{ "size", ATTR_NUMBER }, { "segment_size", ATTR_NUMBER }, { "generation", ATTR_TEXT },
	{ "persist_method", ATTR_TEXT }, { "persist_methods", ATTR_WORDS },
	{ "domain", ATTR_TEXT }, { "placement", ATTR_TEXT }, { "placement_asserted", ATTR_BOOL },
	{ "durable", ATTR_BOOL }, { "emulated", ATTR_BOOL },
	{ "read_only", ATTR_BOOL }, { "queues", ATTR_NUMBER },
	{ "depth", ATTR_NUMBER }, { "max_call", ATTR_NUMBER },
	{ "client_id", ATTR_TEXT }, { "poll_queues", ATTR_NUMBER },
	{ "reconnects", ATTR_NUMBER }, { "keep_alive_tmo", ATTR_NUMBER },
	{ "reconnect_delay", ATTR_NUMBER }, { "fail_io_timeout", ATTR_TEXT },
	{ "device_loss_timeout", ATTR_TEXT },
	{ "bad_sectors", ATTR_NUMBER },
};

/* Which sizes the method auto gives to which method; absent with another one. */
static void put_auto(struct json_object *o, int instance)
{
	struct json_object *list, *e, *method;
	char text[AUTO_TEXT_MAX];
	struct auto_table t;
	unsigned int i;

	if (!json_object_object_get_ex(o, "persist_method", &method) ||
	    strcmp(json_object_get_string(method), "auto") != 0)
		return;
	if (pmof_read_attr(instance, "auto", text, sizeof(text)) ||
	    auto_parse(&t, text, pmof_method_parse))
		return;
	list = new_array();
	for (i = 0; i < t.nr; i++) {
		e = new_object();
		put_text(e, "method", pmof_method_name(t.entry[i].method));
		if (t.entry[i].up_to != AUTO_NO_LIMIT)
			put_u64(e, "up_to", t.entry[i].up_to);
		push_object(list, e);
	}
	put_object(o, "auto", list);
}

/* Absent where no block device was asked for. */
static void put_block(struct json_object *o, int instance)
{
	char name[64], cache[32], path[80];

	if (pmof_read_attr(instance, "block", name, sizeof(name)) || !*name)
		return;
	snprintf(path, sizeof(path), "/dev/%s", name);
	put_text(o, "block_path", path);
	if (!pmof_read_attr(instance, "cache", cache, sizeof(cache)))
		put_text(o, "cache", cache);
}

/* What sysfs shows; NULL if the device has gone. */
static struct json_object *device_object(int instance)
{
	struct json_object *o = new_object();
	char text[256];
	size_t i;
	int ret;

	put_device_names(o, instance);
	for (i = 0; i < ARRAY_SIZE(attrs); i++) {
		ret = pmof_read_attr(instance, attrs[i].name, text, sizeof(text));
		if (ret == -ENODEV) {
			json_object_put(o);
			return NULL;
		}
		if (!ret)
			put_attr(o, &attrs[i], text);
	}
	put_auto(o, instance);
	put_block(o, instance);
	return o;
}

/* What only the device itself tells; it may be dead, or not ours to open. */
static void put_limits(struct json_object *o, int instance)
{
	struct pmof_info info;
	struct pmof_dev *dev;
	char name[24];

	snprintf(name, sizeof(name), "pmof%d", instance);
	if (pmof_open(name, O_RDONLY, &dev))
		return;
	if (!pmof_get_info(dev, &info, sizeof(info))) {
		put_bool(o, "atomics", info.features & PMOF_FEAT_ATOMICS);
		put_u64(o, "max_submit", info.max_submit);
		put_u64(o, "max_rpc", info.max_rpc);
	}
	pmof_close(dev);
}

/* --- list ------------------------------------------------------------------ */

static const struct column list_columns[] = {
	{ "DEVICE", "device", COL_TEXT }, { "NAMESPACE", "namespace", COL_TEXT },
	{ "ADDRESS", "address", COL_TEXT }, { "STATE", "state", COL_TEXT },
	{ "BLOCK", "block_path", COL_TEXT }, { "SIZE", "size", COL_SIZE },
	{ "READ-ONLY", "read_only", COL_BOOL },
	{ "PERSIST", "persist_method", COL_TEXT }, { "DOMAIN", "domain", COL_TEXT },
	{ "PLACEMENT", "placement_text", COL_TEXT }, { "DURABLE", "durable_text", COL_TEXT },
};

static struct json_object *list_devices(void)
{
	struct json_object *list, *o;
	int *instances, i, n;

	n = pmof_list(&instances);
	if (n < 0) {
		explain(NULL, n, "cannot list the devices");
		return NULL;
	}
	list = new_array();
	for (i = 0; i < n; i++) {
		o = device_object(instances[i]);
		if (o)
			push_object(list, o);
	}
	free(instances);
	return list;
}

static void print_list(struct json_object *list)
{
	size_t i, n = json_object_array_length(list);
	struct json_object *o;

	for (i = 0; i < n; i++)
		put_promises(json_object_array_get_idx(list, i));
	print_table(list, list_columns, ARRAY_SIZE(list_columns));
	for (i = 0; i < n; i++) {
		o = json_object_array_get_idx(list, i);
		warn_not_durable(o, json_object_get_string(json_object_object_get(o, "device")));
	}
}

int cmd_list(int argc, char **argv)
{
	static const struct argp argp = {
		.options = json_options,
		.parser = parse_json_only,
		.doc = "Lists the connected devices.",
	};
	struct json_object *list;
	bool json = false;

	argp_parse(&argp, argc, argv, 0, NULL, &json);
	list = list_devices();
	if (!list)
		return EXIT_FAILED;
	if (json)
		print_json(list, false);
	else
		print_list(list);
	json_object_put(list);
	return EXIT_OK;
}

/* --- info ------------------------------------------------------------------ */

static const struct column info_fields[] = {
	{ "device", "device", COL_TEXT },
	{ "path", "path", COL_TEXT },
	{ "block device", "block_path", COL_TEXT },
	{ "its cache", "cache", COL_TEXT },
	{ "namespace", "namespace", COL_TEXT },
	{ "address", "address", COL_TEXT },
	{ "state", "state", COL_TEXT },
	{ "size", "size", COL_TEXT },
	{ "segment size", "segment_size", COL_TEXT },
	{ "generation", "generation", COL_TEXT },
	{ "persist method", "persist_method", COL_TEXT },
	{ "auto", "auto_text", COL_TEXT },
	{ "usable methods", "persist_methods", COL_TEXT },
	{ "largest rpc put", "max_rpc", COL_TEXT },
	{ "persistence domain", "domain", COL_TEXT },
	{ "placement", "placement_text", COL_TEXT },
	{ "durable", "durable_text", COL_TEXT },
	{ "read-only", "read_only", COL_BOOL },
	{ "bad sectors", "bad_sectors", COL_TEXT },
	{ "queues", "queues", COL_TEXT },
	{ "poll queues", "poll_queues", COL_TEXT },
	{ "depth", "depth", COL_TEXT },
	{ "longest call", "max_call", COL_TEXT },
	{ "atomics", "atomics", COL_BOOL },
	{ "operations a submit", "max_submit", COL_TEXT },
	{ "client ID", "client_id", COL_TEXT },
	{ "reconnects", "reconnects", COL_TEXT },
	{ "keep-alive", "keep_alive_tmo", COL_TEXT },
	{ "reconnect delay", "reconnect_delay", COL_TEXT },
	{ "fail I/O after", "fail_io_timeout", COL_TEXT },
	{ "give up after", "device_loss_timeout", COL_TEXT },
};

/* "rpc up to 512, assist above" */
static void put_auto_text(struct json_object *o)
{
	struct json_object *list, *e, *limit;
	char text[CELL_MAX] = "-";
	size_t i, n, len = 0;

	n = json_object_object_get_ex(o, "auto", &list) ? json_object_array_length(list) : 0;
	for (i = 0; i < n && len < sizeof(text); i++) {
		const char *method;

		e = json_object_array_get_idx(list, i);
		method = json_object_get_string(json_object_object_get(e, "method"));
		if (json_object_object_get_ex(e, "up_to", &limit))
			len += (size_t)snprintf(text + len, sizeof(text) - len,
						"%s up to %s bytes, ", method,
						json_object_get_string(limit));
		else
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", method,
						n > 1 ? " above" : " for every size");
	}
	put_text(o, "auto_text", text);
}

/* In words that nobody can miss. */
static void put_durable_text(struct json_object *o)
{
	struct json_object *durable;

	if (!json_object_object_get_ex(o, "durable", &durable))
		return;
	put_text(o, "durable_text", json_object_get_boolean(durable) ?
		 "yes: what is acknowledged as durable survives a power cut of the server" :
		 "NOT DURABLE: a power cut of the server may lose what was acknowledged as "
		 "durable");
}

static void print_info(struct json_object *o)
{
	put_promises(o);
	put_auto_text(o);
	put_durable_text(o);
	print_fields(o, info_fields, ARRAY_SIZE(info_fields));
	if (json_object_get_boolean(json_object_object_get(o, "placement_asserted")))
		complain("note: that the HCA's writes go to memory is the word of the server's "
			 "operator; pmof has not found it so");
	warn_not_durable(o, json_object_get_string(json_object_object_get(o, "device")));
	note_emulated(o, json_object_get_string(json_object_object_get(o, "device")));
}

int cmd_info(int argc, char **argv)
{
	static const struct argp argp = {
		.options = json_options,
		.parser = parse_device_json,
		.args_doc = "DEV",
		.doc = "Shows all about a device: what it is, and what it promises.",
	};
	struct device_json s = { .json = false };
	struct json_object *o = NULL;
	int instance, ret;

	argp_parse(&argp, argc, argv, 0, NULL, &s);
	ret = pmof_lookup(s.device, &instance);
	if (!ret) {
		o = device_object(instance);
		ret = o ? 0 : -ENODEV;
	}
	if (ret) {
		explain_device(ret, s.device);
		return EXIT_FAILED;
	}
	put_limits(o, instance);
	if (s.json)
		print_json(o, false);
	else
		print_info(o);
	json_object_put(o);
	return EXIT_OK;
}
