// SPDX-License-Identifier: GPL-2.0
/*
 * Keys that all writers change at once: puts, deletes, and compares with the version that the
 * writer saw last, of which some come too late.
 */
#include <errno.h>
#include <stdbool.h>

#include "kv_work.h"

static uint64_t next_number(struct key *k)
{
	return __atomic_add_fetch(&k->version, 1, __ATOMIC_SEQ_CST);
}

/* What has come of it. Every other end is a mistake. */
static void ended(uint32_t number, int rc, uint64_t version, uint64_t *seen)
{
	struct work_op *op = &work.op[number];

	done(number);
	op->version = rc == -ENOENT ? 0 : version;
	if (!rc && !version)
		die("key %u: a change was answered without a version", op->key);
	if (rc)
		op->what = "refused";
	if (rc && rc != -ESTALE && rc != -EEXIST && rc != -ENOENT)
		die("a change of the shared key %u: %s", op->key, strerror(-rc));
	*seen = !rc && !op->number ? 0 : op->version;
}

static struct work_op make_op(uint32_t id, uint64_t number, uint64_t expected)
{
	return (struct work_op){
		.what = "change", .key = id, .number = number, .expected = expected,
	};
}

static uint32_t fill_value(uint32_t id, uint64_t number, uint8_t *value)
{
	uint32_t length = kv_value_length(work.seed, id, number);

	crash_content(value, work.seed, id, number, 0, length);
	return length;
}

static void put(uint32_t id, uint64_t expected, uint64_t *seen, uint8_t *value)
{
	struct key *k = &work.key[id];
	uint64_t version = 0, v = next_number(k);
	uint32_t length = fill_value(id, v, value), number;
	int rc;

	number = begin(make_op(id, v, expected));
	rc = pmofkv_put_if(work.kv, k->bytes, k->length, value, length, expected, &version);
	ended(number, rc, version, seen);
}

/* The server answers with what it has deleted. */
static void delete(uint32_t id, uint64_t expected, uint64_t *seen)
{
	struct key *k = &work.key[id];
	uint64_t version = 0;
	uint32_t number;
	int rc;

	number = begin(make_op(id, 0, expected));
	rc = pmofkv_delete_if(work.kv, k->bytes, k->length, expected, &version);
	ended(number, rc, version, seen);
}

/* Two puts of each of two keys: of those with a version at most one may succeed. */
static void batch(uint32_t first, struct seen *seen, uint8_t *value)
{
	struct pmofkv_item item[MAX_BATCH] = { };
	uint32_t number[MAX_BATCH], i;

	for (i = 0; i < MAX_BATCH; i++) {
		uint32_t n = i < 2 ? first : (first + 1) % NR_SHARED, id = NR_KEYS + n;
		uint64_t v = next_number(&work.key[id]);

		item[i].key = work.key[id].bytes;
		item[i].key_length = work.key[id].length;
		item[i].value = value + i * KV_MAX_VALUE;
		item[i].value_length = fill_value(id, v, value + i * KV_MAX_VALUE);
		item[i].expected = i < 2 ? seen->version[n] : PMOF_KV_EXPECT_ANY;
		number[i] = begin(make_op(id, v, item[i].expected));
	}
	pmofkv_put_batch(work.kv, item, MAX_BATCH);
	for (i = 0; i < MAX_BATCH; i++) {
		uint32_t n = work.op[number[i]].key - NR_KEYS;

		ended(number[i], item[i].result, item[i].version, &seen->version[n]);
	}
}

void shared_write(struct seen *seen, uint64_t rnd, uint8_t *value)
{
	uint32_t n = rnd % NR_SHARED, id = NR_KEYS + n;
	uint64_t *last = &seen->version[n];

	switch (rnd / NR_SHARED % 10) {
	case 0:
	case 1:
		put(id, PMOF_KV_EXPECT_ANY, last, value);
		break;
	case 2:
		delete(id, PMOF_KV_EXPECT_ANY, last);
		break;
	case 3:
		if (*last)
			delete(id, *last, last);
		break;
	case 4:
	case 5:
		batch(n, seen, value);
		break;
	default:
		/* 0 expects that there is none. */
		put(id, *last, last, value);
		break;
	}
}

/* The number of a value, looking back from what was begun last; 0: empty ones are all the same. */
static uint64_t number_of(uint32_t id, const uint8_t *value, size_t length, uint8_t *buf)
{
	uint64_t v = __atomic_load_n(&work.key[id].version, __ATOMIC_SEQ_CST);

	if (!length)
		return 0;
	while (v && !kv_is_content(work.seed, id, v, value, length, buf))
		v--;
	if (!v)
		die("shared key %u: a get has returned %zu bytes of no put", id, length);
	return v;
}

void shared_read(uint64_t rnd, uint8_t *value)
{
	uint32_t id = NR_KEYS + rnd % NR_SHARED, number;
	const struct key *k = &work.key[id];
	uint64_t version = 0;
	size_t length;
	int rc;

	number = begin((struct work_op){ .what = "look", .key = id });
	rc = pmofkv_get(work.kv, k->bytes, k->length, value, KV_MAX_VALUE, &length, &version);
	done(number);
	if (rc == -ENOENT)
		return;
	expect(rc, 0, "get", id);
	work.op[number].version = version;
	work.op[number].number = number_of(id, value, length, value + KV_MAX_VALUE);
}
