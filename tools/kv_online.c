// SPDX-License-Identifier: BSD-3-Clause
/* pmof kv check: a store that is in use. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "kv.h"
#include "output.h"
#include "tool.h"

static const struct {
	const char *name;
	const char *text;
} faults[PMOF_KV_FAULT_MAX] = {
	[PMOF_KV_FAULT_KEY] = { "two-objects-of-a-key", "the index has two objects of its key" },
	[PMOF_KV_FAULT_FREE] = { "free", "an object that a key leads to is in a free slot" },
	[PMOF_KV_FAULT_TRAILER] = { "trailer", "an object's trailer is not its own" },
	[PMOF_KV_FAULT_STRAY] = { "stray", "no key leads to this object, but the next start of "
				  "the store would find it" },
	[PMOF_KV_FAULT_HEADER] = { "header", "a free slot has a header that nothing accounts for" },
	[PMOF_KV_FAULT_ENTRY] = { "entry", "a key leads to what is no object of it" },
};

struct online {
	struct json_object *faults;
	size_t shown;		/* at most */
};

/* Called by libpmofkv. */
static void see_fault(void *context, uint64_t offset, enum pmof_kv_fault kind)
{
	struct online *on = context;
	bool known = (unsigned int)kind < PMOF_KV_FAULT_MAX;
	struct json_object *o;

	if (json_object_array_length(on->faults) == on->shown)
		return;
	o = new_object();
	put_text(o, "kind", known ? faults[kind].name : "unknown");
	put_u64(o, "offset", offset);
	put_text(o, "text", known ? faults[kind].text : "the server is newer than this program");
	push_object(on->faults, o);
}

static bool is_damaged(const struct pmofkv_check *r)
{
	return r->faults || r->unaccounted;
}

static struct json_object *report(const char *device, const struct online *on,
				  const struct pmofkv_check *r)
{
	struct json_object *o = new_object();

	put_text(o, "device", device);
	put_text(o, "state", is_damaged(r) ? "damaged" : "clean");
	put_u64(o, "objects", r->objects);
	put_u64(o, "entries", r->entries);
	put_u64(o, "unreadable", r->unreadable);
	put_object(o, "unaccounted", json_object_new_int64(r->unaccounted));
	put_u64(o, "damages", r->faults);
	put_object(o, "damage", json_object_get(on->faults));
	return o;
}

static void print_text(struct json_object *o, const struct online *on,
		       const struct pmofkv_check *r)
{
	static const struct column fields[] = {
		{ "store", "device", COL_TEXT }, { "state", "state", COL_TEXT },
		{ "live objects", "objects", COL_NUMBER },
		{ "keys in the index", "entries", COL_NUMBER },
		{ "slots that cannot be read", "unreadable", COL_NUMBER },
		{ "slots that nobody holds", "unaccounted", COL_NUMBER },
	};
	static const struct column damage[] = {
		{ "OFFSET", "offset", COL_NUMBER }, { "DAMAGE", "text", COL_TEXT },
	};

	print_fields(o, fields, ARRAY_SIZE(fields));
	if (!r->faults)
		return;
	putchar('\n');
	print_table(on->faults, damage, ARRAY_SIZE(damage));
	if (r->faults > json_object_array_length(on->faults))
		printf("... %llu in all; --verbose shows them\n", (unsigned long long)r->faults);
}

bool kv_is_online(const char *path)
{
	struct pmofkv *kv;
	struct stat st;
	bool named = stat(path, &st);
	int ret;

	/* A name as `pmof list` has it is no path. */
	if (named ? errno != ENOENT : !S_ISCHR(st.st_mode))
		return false;
	ret = pmofkv_open(path, O_RDONLY, NULL, &kv);
	if (!ret)
		pmofkv_close(kv);
	/* A connection of no service is read from below; what keeps others from it is told later. */
	return ret != -EOPNOTSUPP && !(named && (ret == -EINVAL || ret == -ENOENT));
}

int kv_check_online(const char *device, bool json, size_t shown)
{
	struct online on = { .faults = new_array(), .shown = shown };
	struct pmofkv_check r;
	struct json_object *o;
	struct pmofkv *kv;
	int ret = kv_open(device, O_RDONLY, PMOFKV_AUTO, &kv);

	if (!ret) {
		ret = pmofkv_check(kv, see_fault, &on, &r);
		if (ret == -EROFS)
			complain("%s: the store was damaged when it was opened: check it at its server, "
				 "when it is not exported", device);
		else if (ret)
			kv_explain(ret, device);
		pmofkv_close(kv);
	}
	if (!ret) {
		o = report(device, &on, &r);
		if (json)
			print_json(o, false);
		else
			print_text(o, &on, &r);
		json_object_put(o);
		ret = is_damaged(&r) ? -EUCLEAN : 0;
	}
	json_object_put(on.faults);
	return ret;
}
