// SPDX-License-Identifier: BSD-3-Clause
/* pmof kv check: a store that is not in use, read only.  One that is: kv_online.c. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kv.h"
#include "kv_verify.h"
#include "output.h"
#include "tool.h"

#define FAULTS_SHOWN	20	/* without --verbose */

struct kv_check {
	const char *path;
	bool json;
	bool verbose;
	struct json_object *faults;
	struct json_object *leftovers;
};

static const struct argp_option options[] = {
	{ "json", OPT_JSON, NULL, 0, "Print JSON", 0 },
	{ "verbose", 'v', NULL, 0, "All that is damaged, what is left over, and the space of each "
	  "size class", 0 },
	{ 0 }
};

static error_t parse_check(int key, char *arg, struct argp_state *state)
{
	struct kv_check *c = state->input;

	switch (key) {
	case OPT_JSON:
		c->json = true;
		return 0;
	case 'v':
		c->verbose = true;
		return 0;
	case ARGP_KEY_ARG:
		c->path = arg;
		return one_arg(key, state);
	default:
		return one_arg(key, state);
	}
}

/* --- what is found ----------------------------------------------------------------- */

static const struct {
	const char *name;
	const char *text;
	bool two;		/* @other is an offset, too */
} faults[KV_FAULTS] = {
	[KV_FAULT_KEY] = { "two-objects-of-a-key", "two live objects have the same key", true },
	[KV_FAULT_GENERATION] = { "two-objects-of-a-version",
				  "two live objects have the same version", true },
	[KV_FAULT_SLOT] = { "slot", "a live object is not in a slot of its own", false },
	[KV_FAULT_TRAILER] = { "trailer", "a live object's trailer has a VF that nobody writes",
			       false },
	[KV_FAULT_RECORD] = { "record", "a record of the log names what is no slot", false },
	[KV_FAULT_GONE] = { "object", "an object is gone that a record of the log names", false },
	[KV_FAULT_LOG] = { "log", "records of the log are gone: what they deleted or replaced may be back",
			   false },
};

static void see_fault(void *context, const struct kv_fault *f)
{
	struct kv_check *c = context;
	struct json_object *o;

	if (!c->verbose && json_object_array_length(c->faults) == FAULTS_SHOWN)
		return;
	o = new_object();
	put_text(o, "kind", faults[f->kind].name);
	put_u64(o, "offset", f->offset);
	if (faults[f->kind].two)
		put_u64(o, "other_offset", f->other);
	if (f->kind == KV_FAULT_RECORD || f->kind == KV_FAULT_GONE || f->kind == KV_FAULT_LOG)
		put_u64(o, "record", f->other);
	if (f->kind != KV_FAULT_LOG)
		put_u64(o, "version", f->generation);
	put_text(o, "text", faults[f->kind].text);
	push_object(c->faults, o);
}

static void see_leftover(void *context, u64 slot)
{
	struct kv_check *c = context;
	struct json_object *o = new_object();

	put_u64(o, "offset", slot);
	push_object(c->leftovers, o);
}

/* --- the report ----------------------------------------------------------------------- */

static struct json_object *class_objects(const struct kv_report *r)
{
	struct json_object *list = new_array(), *o;
	u32 i;

	for (i = 1; i <= PMOF_KV_CLASSES; i++) {
		const struct kv_class_use *use = &r->class[i];

		if (!use->chunks)
			continue;
		o = new_object();
		put_u64(o, "slot_size", pmof_kv_class_size(i));
		put_u64(o, "chunks", use->chunks);
		put_u64(o, "slots", use->slots);
		put_u64(o, "live", use->live);
		put_u64(o, "live_bytes", use->bytes);
		push_object(list, o);
	}
	return list;
}

static struct json_object *space_object(const struct kv_report *r)
{
	struct json_object *o = new_object();
	u64 slots = 0, used = 0, bytes = 0;
	u32 i;

	for (i = 1; i <= PMOF_KV_CLASSES; i++) {
		slots += r->class[i].slots * pmof_kv_class_size(i);
		used += r->class[i].live * pmof_kv_class_size(i);
		bytes += r->class[i].bytes;
	}
	put_u64(o, "metadata", r->sb.chunks);
	put_u64(o, "free_chunks", (u64)r->free_chunks << PMOF_KV_CHUNK_SHIFT);
	put_u64(o, "free_slots", slots - used);
	put_u64(o, "live_slots", used);
	put_u64(o, "live_objects", bytes);
	put_u64(o, "keys", r->key_bytes);
	put_u64(o, "values", r->value_bytes);
	return o;
}

static struct json_object *super_object(const struct kv_report *r)
{
	struct json_object *o = new_object();
	char uuid[KV_UUID_TEXT];

	put_text(o, "uuid", kv_uuid_text(r->sb.uuid, uuid));
	put_u64(o, "version", PMOF_KV_VERSION);
	put_u64(o, "size", r->sb.ns_size);
	put_u64(o, "serial", r->sb.serial);
	put_u64(o, "first_record", r->sb.first);
	put_bool(o, "copy_0_good", r->good & 1);
	put_bool(o, "copy_1_good", r->good & 2);
	return o;
}

static struct json_object *log_object(const struct kv_report *r)
{
	struct json_object *o = new_object();

	put_u64(o, "records", r->found.records);
	put_u64(o, "max_records", r->sb.nr_records);
	put_u64(o, "not_committed", r->found.records - r->counted);
	put_u64(o, "behind_the_end", r->behind);
	return o;
}

static struct json_object *objects_object(const struct kv_report *r)
{
	struct json_object *o = new_object();

	put_u64(o, "live", r->found.live);
	put_u64(o, "without_vf", r->hidden);
	put_u64(o, "leftover", r->found.leftover);
	put_u64(o, "last_version", r->found.last_generation);
	return o;
}

static struct json_object *report_object(const struct kv_check *c, const struct kv_report *r)
{
	struct json_object *o = new_object(), *chunks = new_object();

	put_text(o, "path", c->path);
	put_text(o, "state", r->faults ? "damaged" : "clean");
	put_object(o, "superblock", super_object(r));
	put_object(o, "log", log_object(r));
	put_u64(chunks, "all", r->sb.nr_chunks);
	put_u64(chunks, "free", r->free_chunks);
	put_u64(chunks, "unfinished_spans", r->part_chunks);
	put_object(o, "chunks", chunks);
	put_object(o, "objects", objects_object(r));
	put_object(o, "space", space_object(r));
	put_object(o, "classes", class_objects(r));
	put_u64(o, "damages", r->faults);
	put_object(o, "damage", json_object_get(c->faults));
	if (c->verbose)
		put_object(o, "leftovers", json_object_get(c->leftovers));
	return o;
}

static void print_list(struct json_object *o, const char *key, const struct column *columns,
		       size_t nr)
{
	struct json_object *list;

	if (!json_object_object_get_ex(o, key, &list) || !json_object_array_length(list))
		return;
	putchar('\n');
	print_table(list, columns, nr);
}

static void print_text(const struct kv_check *c, const struct kv_report *r,
		       struct json_object *o)
{
	static const struct column fields[] = {
		{ "store", "superblock.uuid", COL_TEXT }, { "state", "state", COL_TEXT },
		{ "size", "superblock.size", COL_SIZE },
		{ "first copy good", "superblock.copy_0_good", COL_BOOL },
		{ "second copy good", "superblock.copy_1_good", COL_BOOL },
		{ "log records", "log.records", COL_NUMBER },
		{ "  not committed", "log.not_committed", COL_NUMBER },
		{ "  behind the end", "log.behind_the_end", COL_NUMBER },
		{ "  at most", "log.max_records", COL_NUMBER },
		{ "live objects", "objects.live", COL_NUMBER },
		{ "  without VF", "objects.without_vf", COL_NUMBER },
		{ "left over", "objects.leftover", COL_NUMBER },
		{ "last version", "objects.last_version", COL_NUMBER },
		{ "chunks", "chunks.all", COL_NUMBER }, { "  free", "chunks.free", COL_NUMBER },
		{ "  of unfinished spans", "chunks.unfinished_spans", COL_NUMBER },
		{ "metadata", "space.metadata", COL_SIZE },
		{ "live slots", "space.live_slots", COL_SIZE },
		{ "  objects", "space.live_objects", COL_SIZE },
		{ "  keys", "space.keys", COL_SIZE }, { "  values", "space.values", COL_SIZE },
		{ "free slots", "space.free_slots", COL_SIZE },
		{ "free chunks", "space.free_chunks", COL_SIZE },
	};
	static const struct column classes[] = {
		{ "SLOT", "slot_size", COL_SIZE }, { "CHUNKS", "chunks", COL_NUMBER },
		{ "SLOTS", "slots", COL_NUMBER }, { "LIVE", "live", COL_NUMBER },
		{ "BYTES", "live_bytes", COL_SIZE },
	};
	static const struct column damage[] = {
		{ "OFFSET", "offset", COL_NUMBER }, { "OTHER", "other_offset", COL_NUMBER },
		{ "RECORD", "record", COL_NUMBER }, { "VERSION", "version", COL_NUMBER },
		{ "DAMAGE", "text", COL_TEXT },
	};
	static const struct column leftovers[] = { { "LEFT OVER AT", "offset", COL_NUMBER } };

	print_fields(o, fields, ARRAY_SIZE(fields));
	if (c->verbose) {
		print_list(o, "classes", classes, ARRAY_SIZE(classes));
		print_list(o, "leftovers", leftovers, ARRAY_SIZE(leftovers));
	}
	print_list(o, "damage", damage, ARRAY_SIZE(damage));
	if (r->faults > json_object_array_length(c->faults))
		printf("... %llu in all; --verbose shows them\n", (unsigned long long)r->faults);
}

/* --- the check -------------------------------------------------------------------------- */

/* A page of the mapping that cannot be read: a bad sector, or the file is cut short. */
static sigjmp_buf unreadable;
static const void *volatile unreadable_at;

static void on_bus_error(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	unreadable_at = info->si_addr;
	siglongjmp(unreadable, 1);
}

/* As kv_verify(), and -EIO for what cannot be read. */
static int verify(struct kv_check *c, const struct kv_image *im, struct kv_report *r)
{
	static const struct kv_verify_ops quiet = { .fault = see_fault };
	static const struct kv_verify_ops verbose = { .fault = see_fault,
						      .leftover = see_leftover };
	struct sigaction action = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };

	sigaction(SIGBUS, &action, NULL);
	if (sigsetjmp(unreadable, 1))
		return -EIO;
	return kv_verify(im->base, im->size, c->verbose ? &verbose : &quiet, c, r);
}

static void explain_failure(const struct kv_image *im, int error)
{
	static const struct reason reasons[] = {
		{ EINVAL, "it holds no store, or both copies of its superblock are damaged",
		  "`pmof kv format` makes one; what was in the namespace is lost then" },
		{ EPROTONOSUPPORT, "it holds a store of another version", NULL },
		{ ENOMEM, "out of memory", NULL },
		{ 0 }
	};

	if (error == -EIO)
		complain("%s: it cannot be read at offset %llu: a bad sector?", im->path,
			 (unsigned long long)((const char *)unreadable_at -
					      (const char *)im->base));
	else
		explain(reasons, error, "%s", im->path);
}

static int check(struct kv_check *c, struct kv_report *r)
{
	struct json_object *o;
	struct kv_image im;
	int ret = kv_image_open(&im, c->path, false);

	if (ret)
		return ret;
	ret = kv_image_map(&im);
	if (!ret) {
		ret = verify(c, &im, r);
		if (ret)
			explain_failure(&im, ret);
	}
	if (!ret) {
		o = report_object(c, r);
		if (c->json)
			print_json(o, false);
		else
			print_text(c, r, o);
		json_object_put(o);
		ret = r->faults ? -EUCLEAN : 0;
	}
	kv_image_close(&im);
	return ret;
}

int cmd_kv_check(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse_check, .args_doc = "FILE|DEVICE",
		.doc = "Reads a store that is not in use as the server's recovery would, and tells "
		       "what it holds; or has the server of a connected one compare what it holds "
		       "with its index. Nothing is changed. Exit status 0: clean, 1: damaged or "
		       "no store.",
	};
	struct kv_check c = { .faults = new_array(), .leftovers = new_array() };
	struct kv_report *r = calloc(1, sizeof(*r));
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &c);
	if (kv_is_online(c.path))
		ret = kv_check_online(c.path, c.json, c.verbose ? SIZE_MAX : FAULTS_SHOWN);
	else
		ret = r ? check(&c, r) : -ENOMEM;
	json_object_put(c.faults);
	json_object_put(c.leftovers);
	free(r);
	return ret ? EXIT_FAILED : EXIT_OK;
}
