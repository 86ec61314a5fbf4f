// SPDX-License-Identifier: GPL-2.0
/*
 * libpmofkv without a server: a store in this process, so that what uses the library can be tested
 * by itself. DEVICE is a file, which is read when it is opened first and written when it is closed
 * last. PMOFKV_FAIL=N makes every Nth put and delete one of unknown outcome (-EIO, or
 * PMOFKV_ERRNO), every other one of them having happened; PMOFKV_LIE=N makes every Nth get tell of
 * the value before; a get of the key PMOFKV_HANG never ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libpmof.h"
#include "libpmofkv.h"

#define BUCKETS		65536U

struct item {
	struct item *next;
	uint64_t version;
	size_t key_length, value_length;
	char *value, *last;		/* the value now, and before */
	size_t last_length;
	uint64_t last_version;
	char key[];
};

struct pmofkv {
	struct pmofkv_options opt;
	int flags;
	uint64_t counter[PMOFKV_NR_COUNTERS];
};

static struct {
	pthread_mutex_t lock;
	struct item *bucket[BUCKETS];
	char path[512];
	unsigned int users;
	uint64_t version, keys, changes, gets;
	uint64_t stat[PMOF_KV_STAT_MAX];
} store = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* --- the table -------------------------------------------------------------------- */

static struct item **place(const void *key, size_t length)
{
	const unsigned char *p = key;
	struct item **at;
	uint32_t h = 5381;
	size_t i;

	for (i = 0; i < length; i++)
		h = h * 33 ^ p[i];
	for (at = &store.bucket[h % BUCKETS]; *at; at = &(*at)->next)
		if ((*at)->key_length == length && !memcmp((*at)->key, key, length))
			break;
	return at;
}

/* In the table, with no value yet. */
static struct item *add(const void *key, size_t length)
{
	struct item **at = place(key, length), *item = *at;

	if (item)
		return item;
	item = calloc(1, sizeof(*item) + length);
	if (item) {
		memcpy(item->key, key, length);
		item->key_length = length;
		store.keys++;
	}
	*at = item;
	return item;
}

static int set(const void *key, size_t key_length, const void *value, size_t value_length)
{
	char *copy = malloc(value_length + 1);
	struct item *item = copy ? add(key, key_length) : NULL;

	if (!item) {
		free(copy);
		return -ENOMEM;
	}
	if (value_length)
		memcpy(copy, value, value_length);
	free(item->last);
	item->last = item->value;
	item->last_length = item->value_length;
	item->last_version = item->version;
	item->value = copy;
	item->value_length = value_length;
	item->version = ++store.version;
	return 0;
}

static void drop(struct item **at)
{
	struct item *item = *at;

	*at = item->next;
	free(item->value);
	free(item->last);
	free(item);
	store.keys--;
}

/* --- the file ------------------------------------------------------------------------ */

static int load(const char *path)
{
	FILE *f = fopen(path, "re");
	size_t length[2];
	int ret = 0;

	if (!f)
		return -errno;
	while (!ret && fread(length, sizeof(length), 1, f) == 1) {
		char *data = malloc(length[0] + length[1] + 1);

		if (data && fread(data, 1, length[0] + length[1], f) == length[0] + length[1])
			ret = set(data, length[0], data + length[0], length[1]);
		else
			ret = -EIO;
		free(data);
	}
	fclose(f);
	return ret;
}

static void save(void)
{
	FILE *f = fopen(store.path, "we");
	unsigned int i;

	for (i = 0; i < BUCKETS; i++)
		while (store.bucket[i]) {
			struct item *item = store.bucket[i];
			size_t length[2] = { item->key_length, item->value_length };

			if (f) {
				fwrite(length, sizeof(length), 1, f);
				fwrite(item->key, 1, length[0], f);
				fwrite(item->value, 1, length[1], f);
			}
			drop(&store.bucket[i]);
		}
	if (f)
		fclose(f);
}

int pmofkv_open(const char *device, int flags, const struct pmofkv_options *opt,
		struct pmofkv **kv)
{
	int ret = 0;

	*kv = calloc(1, sizeof(**kv));
	if (!*kv)
		return -ENOMEM;
	pmofkv_options_init(&(*kv)->opt);
	if (opt)
		(*kv)->opt = *opt;
	(*kv)->flags = flags;
	pthread_mutex_lock(&store.lock);
	if (!store.users++) {
		snprintf(store.path, sizeof(store.path), "%s", device);
		ret = load(device);
	}
	if (ret) {
		store.users--;
		free(*kv);
	}
	pthread_mutex_unlock(&store.lock);
	return ret;
}

void pmofkv_close(struct pmofkv *kv)
{
	if (!kv)
		return;
	pthread_mutex_lock(&store.lock);
	if (!--store.users)
		save();
	pthread_mutex_unlock(&store.lock);
	free(kv);
}

int pmofkv_fd(const struct pmofkv *kv)
{
	(void)kv;
	return -1;
}

int pmofkv_instance(const struct pmofkv *kv)
{
	(void)kv;
	return 0;
}

size_t pmofkv_max_value(size_t key_length)
{
	return PMOF_KV_OBJECT_MAX - 48 - key_length;
}

enum pmofkv_protocol pmofkv_put_protocol(const struct pmofkv *kv, size_t key_length,
					 size_t value_length)
{
	if (kv->opt.protocol == PMOFKV_SA || key_length + value_length > 4000)
		return PMOFKV_SA;
	return PMOFKV_HERD;
}

/* --- one key --------------------------------------------------------------------------- */

static uint64_t every(const char *name)
{
	const char *value = getenv(name);

	return value ? strtoull(value, NULL, 10) : 0;
}

static int unknown(void)
{
	uint64_t n = every("PMOFKV_ERRNO");

	return n ? -(int)n : -EIO;
}

/* 0: it happens; below: it does not, nor is it told; 1: it happens, and is not told. */
static int fate(void)
{
	uint64_t n = every("PMOFKV_FAIL");

	if (!n || ++store.changes % n)
		return 0;
	return store.changes / n % 2 ? 1 : unknown();
}

static int meets(const struct item *item, uint64_t expected, uint64_t *version)
{
	uint64_t now = item ? item->version : 0;

	if (version)
		*version = now;
	if (expected == PMOF_KV_EXPECT_ANY || expected == now)
		return 0;
	return expected == PMOF_KV_EXPECT_NONE ? -EEXIST : -ESTALE;
}

int pmofkv_put_if(struct pmofkv *kv, const void *key, size_t key_length, const void *value,
		  size_t value_length, uint64_t expected, uint64_t *version)
{
	int ret, lost;

	if (!key_length || key_length > PMOF_KV_KEY_MAX)
		return -EINVAL;
	if (kv->flags == O_RDONLY)
		return -EBADF;
	if (value_length > pmofkv_max_value(key_length))
		return -EFBIG;
	pthread_mutex_lock(&store.lock);
	ret = meets(*place(key, key_length), expected, version);
	if (!ret) {
		lost = fate();
		ret = lost < 0 ? lost : set(key, key_length, value, value_length);
		if (!ret && version)
			*version = store.version;
		if (!ret)
			kv->counter[PMOFKV_COUNT_PUTS_HERD]++;
		if (!ret && lost)
			ret = unknown();
		store.stat[PMOF_KV_STAT_PUTS]++;
	}
	pthread_mutex_unlock(&store.lock);
	return ret;
}

int pmofkv_put(struct pmofkv *kv, const void *key, size_t key_length, const void *value,
	       size_t value_length, uint64_t *version)
{
	return pmofkv_put_if(kv, key, key_length, value, value_length, PMOF_KV_EXPECT_ANY,
			     version);
}

static void hang(const void *key, size_t length)
{
	const char *which = getenv("PMOFKV_HANG");

	if (!which || strlen(which) != length || memcmp(which, key, length))
		return;
	fprintf(stderr, "%s hangs\n", which);
	for (;;)
		pause();
}

int pmofkv_get_alloc(struct pmofkv *kv, const void *key, size_t key_length, void **value,
		     size_t *value_length, uint64_t *version)
{
	uint64_t n = every("PMOFKV_LIE");
	struct item *item;
	int ret = -ENOENT;
	bool lie;

	if (!key_length || key_length > PMOF_KV_KEY_MAX)
		return -EINVAL;
	hang(key, key_length);
	pthread_mutex_lock(&store.lock);
	item = *place(key, key_length);
	if (item) {
		lie = n && item->last && !(++store.gets % n);
		*value_length = lie ? item->last_length : item->value_length;
		if (version)
			*version = lie ? item->last_version : item->version;
		*value = malloc(*value_length + 1);
		ret = *value ? 0 : -ENOMEM;
		if (!ret) {
			memcpy(*value, lie ? item->last : item->value, *value_length);
			((char *)*value)[*value_length] = '\0';
		}
	}
	kv->counter[PMOFKV_COUNT_GETS_INLINE]++;
	store.stat[PMOF_KV_STAT_GETS]++;
	pthread_mutex_unlock(&store.lock);
	return ret;
}

int pmofkv_get(struct pmofkv *kv, const void *key, size_t key_length, void *buf, size_t size,
	       size_t *value_length, uint64_t *version)
{
	void *value;
	int ret = pmofkv_get_alloc(kv, key, key_length, &value, value_length, version);

	if (ret)
		return ret;
	if (*value_length <= size)
		memcpy(buf, value, *value_length);
	else
		ret = -EMSGSIZE;
	free(value);
	return ret;
}

int pmofkv_delete_if(struct pmofkv *kv, const void *key, size_t key_length, uint64_t expected,
		     uint64_t *version)
{
	struct item **at;
	int ret = -ENOENT, lost;

	if (!key_length || key_length > PMOF_KV_KEY_MAX || expected == PMOF_KV_EXPECT_NONE)
		return -EINVAL;
	if (kv->flags == O_RDONLY)
		return -EBADF;
	pthread_mutex_lock(&store.lock);
	at = place(key, key_length);
	if (*at)
		ret = meets(*at, expected, version);
	if (!ret) {
		lost = fate();
		if (lost >= 0)
			drop(at);
		ret = lost ? unknown() : 0;
		store.stat[PMOF_KV_STAT_DELETES]++;
	}
	pthread_mutex_unlock(&store.lock);
	return ret;
}

int pmofkv_delete(struct pmofkv *kv, const void *key, size_t key_length)
{
	return pmofkv_delete_if(kv, key, key_length, PMOF_KV_EXPECT_ANY, NULL);
}

int pmofkv_put_batch(struct pmofkv *kv, struct pmofkv_item *items, unsigned int nr)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < nr; i++) {
		struct pmofkv_item *it = &items[i];

		it->result = pmofkv_put_if(kv, it->key, it->key_length, it->value,
					   it->value_length, it->expected, &it->version);
		ret = ret ? ret : it->result;
	}
	return ret;
}

/* --- the keys ---------------------------------------------------------------------------- */

struct pmofkv_scan {
	unsigned int bucket, nr;	/* the next one: the nr-th of that */
	uint64_t limit;
	char key[PMOF_KV_KEY_MAX];
};

int pmofkv_scan_open_at(struct pmofkv *kv, const struct pmofkv_cursor *from, uint64_t limit,
			struct pmofkv_scan **scan)
{
	(void)kv;
	*scan = calloc(1, sizeof(**scan));
	if (!*scan)
		return -ENOMEM;
	(*scan)->bucket = (unsigned int)from->hash;
	(*scan)->nr = from->skip;
	(*scan)->limit = limit;
	return 0;
}

int pmofkv_scan_open(struct pmofkv *kv, struct pmofkv_scan **scan)
{
	return pmofkv_scan_open_at(kv, &(struct pmofkv_cursor){ 0 }, UINT64_MAX, scan);
}

int pmofkv_scan_rest(const struct pmofkv_scan *scan, struct pmofkv_cursor *rest)
{
	*rest = (struct pmofkv_cursor){ scan->bucket, scan->nr };
	return scan->bucket < BUCKETS;
}

int pmofkv_scan_next(struct pmofkv_scan *scan, struct pmofkv_entry *entry)
{
	struct item *item = NULL;
	unsigned int i;

	if (!scan->limit)
		return 0;
	scan->limit--;
	pthread_mutex_lock(&store.lock);
	for (; scan->bucket < BUCKETS && !item; scan->bucket += !item) {
		item = store.bucket[scan->bucket];
		for (i = 0; i < scan->nr && item; i++)
			item = item->next;
		scan->nr = item ? scan->nr + 1 : 0;
	}
	if (item) {
		memcpy(scan->key, item->key, item->key_length);
		*entry = (struct pmofkv_entry){ scan->key, item->key_length, item->value_length,
						item->version };
	}
	pthread_mutex_unlock(&store.lock);
	return item ? 1 : 0;
}

void pmofkv_scan_close(struct pmofkv_scan *scan)
{
	free(scan);
}

int pmofkv_check(struct pmofkv *kv,
		 void (*fault)(void *context, uint64_t offset, enum pmof_kv_fault kind),
		 void *context, struct pmofkv_check *out)
{
	(void)kv;
	(void)fault;
	(void)context;
	*out = (struct pmofkv_check){ 0 };
	return -EOPNOTSUPP;
}

/* --- counts -------------------------------------------------------------------------------- */

int pmofkv_stat(struct pmofkv *kv, uint64_t *values, unsigned int nr)
{
	unsigned int i;

	(void)kv;
	pthread_mutex_lock(&store.lock);
	store.stat[PMOF_KV_STAT_KEYS] = store.keys;
	for (i = 0; i < nr && i < PMOF_KV_STAT_MAX; i++)
		values[i] = store.stat[i];
	pthread_mutex_unlock(&store.lock);
	return (int)i;
}

const char *pmofkv_stat_name(unsigned int stat)
{
	static const char *const names[PMOF_KV_STAT_MAX] = {
		[PMOF_KV_STAT_KEYS] = "keys", [PMOF_KV_STAT_PUTS] = "puts",
		[PMOF_KV_STAT_GETS] = "gets", [PMOF_KV_STAT_DELETES] = "deletes",
	};

	if (stat >= PMOF_KV_STAT_MAX)
		return NULL;
	return names[stat] ? names[stat] : "other";
}

uint64_t pmofkv_counter(const struct pmofkv *kv, enum pmofkv_counter counter)
{
	return kv->counter[counter];
}

const char *pmofkv_counter_name(unsigned int counter)
{
	static const char *const names[PMOFKV_NR_COUNTERS] = {
		"puts_herd", "puts_sa", "deletes", "gets_inline", "gets_read", "gets_again",
		"sessions", "outcomes_asked", "outcomes_unknown",
	};

	return counter < PMOFKV_NR_COUNTERS ? names[counter] : NULL;
}

const char *pmofkv_protocol_name(unsigned int protocol)
{
	static const char *const names[] = { "auto", "herd", "sa" };

	return protocol < PMOFKV_NR_PROTOCOLS ? names[protocol] : NULL;
}

int pmofkv_protocol_parse(const char *name)
{
	int i;

	for (i = 0; i < PMOFKV_NR_PROTOCOLS; i++)
		if (!strcmp(name, pmofkv_protocol_name((unsigned int)i)))
			return i;
	return -EINVAL;
}
