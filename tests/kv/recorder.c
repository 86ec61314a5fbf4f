// SPDX-License-Identifier: GPL-2.0
/* Operations at random, and their history: recorder.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "recorder.h"

#define PAUSE_NS	20000000

uint64_t recorder_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void pause_a_bit(const struct recorder *r)
{
	struct timespec t = { .tv_nsec = (long)r->shared->pause_ns };

	nanosleep(&t, NULL);
}

static uint64_t mix(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static uint64_t below(struct recorder *r, uint64_t limit)
{
	return mix(&r->random) % limit;
}

/* The first one is kept. */
static void give_up(struct recorder *r, const char *what, uint64_t key, const char *error)
{
	if (atomic_exchange(&r->shared->failed, true))
		return;
	snprintf(r->shared->error, sizeof(r->shared->error), "%s, key %" PRIu64 ": %s", what, key,
		 error);
}

/* --- values ------------------------------------------------------------------------- */

/* Bytes of the value of a tag: mostly small, some that go one-sided. */
static size_t value_size(const struct recording *shared, uint64_t tag)
{
	uint64_t state = tag, kind = mix(&state) % 4, size = mix(&state);

	return sizeof(tag) + size % (kind ? 200 : shared->max_value);
}

static void make_value(const struct recording *shared, uint64_t tag, unsigned char *buf)
{
	size_t size = value_size(shared, tag), at;
	uint64_t state = tag, word = tag;

	for (at = 0; at < size; at += sizeof(word)) {
		memcpy(buf + at, &word, size - at < sizeof(word) ? size - at : sizeof(word));
		word = mix(&state);
	}
}

/* The tag of a value, or 0: it is none. */
static uint64_t take_value(struct recorder *r, const unsigned char *value, size_t size)
{
	uint64_t tag;

	if (size < sizeof(tag))
		return 0;
	memcpy(&tag, value, sizeof(tag));
	if (!tag || size != value_size(r->shared, tag))
		return 0;
	make_value(r->shared, tag, r->value[0]);
	return memcmp(value, r->value[0], size) ? 0 : tag;
}

/* --- operations ------------------------------------------------------------------------ */

struct key {
	char text[64];
	size_t length;
};

static struct key make_key(const struct recorder *r, uint64_t number)
{
	struct key key;

	key.length = (size_t)snprintf(key.text, sizeof(key.text), "history-%016" PRIx64 "-%" PRIu64,
				      r->shared->run, number);
	return key;
}

static uint64_t expect(struct recorder *r, const struct op *op)
{
	uint64_t version = r->version[op->key];

	if (below(r, 2))
		return EXPECT_ANY;
	if (op->kind == OP_PUT && (!version || !below(r, 4)))
		return EXPECT_NONE;
	return version ? version : EXPECT_ANY;
}

static struct op begin(struct recorder *r, enum op_kind kind)
{
	struct op op = { .kind = kind, .key = below(r, r->shared->keys), .client = r->client };

	if (kind != OP_GET)
		op.expected = expect(r, &op);
	if (kind == OP_PUT)
		op.tag = (uint64_t)(r->client + 1) << 40 | ++r->tag;
	return op;
}

/* False: the operation is not of the history, as it has changed nothing and tells nothing. */
static bool take_result(struct recorder *r, struct op *op, int ret)
{
	r->refused += ret == -EACCES || ret == -ENODEV;
	/* As a connection that is lost. */
	if (ret == -EACCES && r->shared->revoked)
		ret = -EIO;
	switch (ret) {
	case 0:
		op->result = RESULT_OK;
		break;
	case -ENOENT:
		op->result = RESULT_NONE;
		break;
	case -EEXIST:
		op->result = RESULT_EXISTS;
		break;
	case -ESTALE:
		op->result = RESULT_STALE;
		break;
	case -EIO:
	case -ENODEV:
		r->errors++;
		r->since = 0;
		op->result = RESULT_UNKNOWN;
		return op->kind != OP_GET;
	case -EBUSY:
	case -ENOSPC:
		r->errors++;
		return false;
	default:
		give_up(r, "an operation", op->key, strerror(-ret));
		return false;
	}
	r->version[op->key] = op->kind == OP_DELETE && !ret ? 0 : op->version;
	__atomic_add_fetch(&r->answered, 1, __ATOMIC_RELEASE);
	if (op->kind != OP_GET && op->result == RESULT_OK) {
		r->since++;
		__atomic_add_fetch(&r->changed, 1, __ATOMIC_RELEASE);
	}
	return true;
}

/* True: it has been answered. */
static bool end(struct recorder *r, struct op *op, int ret)
{
	if (take_result(r, op, ret) && !history_add(&r->history, op))
		give_up(r, "history", op->key, strerror(ENOMEM));
	return !ret || ret == -ENOENT || ret == -EEXIST || ret == -ESTALE;
}

static bool put(struct recorder *r)
{
	struct op op = begin(r, OP_PUT);
	struct key key = make_key(r, op.key);
	int ret;

	make_value(r->shared, op.tag, r->value[0]);
	op.call = recorder_now();
	ret = pmofkv_put_if(r->kv, key.text, key.length, r->value[0],
			    value_size(r->shared, op.tag), op.expected, &op.version);
	op.ret = recorder_now();
	return end(r, &op, ret);
}

/* All of them are called, and return, together; two may have one key. */
static bool put_batch(struct recorder *r)
{
	struct pmofkv_item item[RECORDER_BATCH] = { 0 };
	struct key key[RECORDER_BATCH];
	struct op op[RECORDER_BATCH];
	unsigned int i, n = 2 + (unsigned int)below(r, RECORDER_BATCH - 1);
	uint64_t call, ret;
	bool answered = true;

	for (i = 0; i < n; i++) {
		op[i] = begin(r, OP_PUT);
		key[i] = make_key(r, op[i].key);
		make_value(r->shared, op[i].tag, r->value[i]);
		item[i] = (struct pmofkv_item){
			.key = key[i].text, .key_length = key[i].length, .value = r->value[i],
			.value_length = value_size(r->shared, op[i].tag),
			.expected = op[i].expected,
		};
	}
	call = recorder_now();
	pmofkv_put_batch(r->kv, item, n);
	ret = recorder_now();
	for (i = 0; i < n; i++) {
		op[i].call = call;
		op[i].ret = ret;
		op[i].version = item[i].version;
		answered &= end(r, &op[i], item[i].result);
	}
	return answered;
}

static bool delete(struct recorder *r)
{
	struct op op = begin(r, OP_DELETE);
	struct key key = make_key(r, op.key);
	int ret;

	op.call = recorder_now();
	ret = pmofkv_delete_if(r->kv, key.text, key.length, op.expected, &op.version);
	op.ret = recorder_now();
	return end(r, &op, ret);
}

static bool get(struct recorder *r, struct op *op)
{
	struct key key = make_key(r, op->key);
	size_t size;
	void *value;
	int ret;

	op->call = recorder_now();
	ret = pmofkv_get_alloc(r->kv, key.text, key.length, &value, &size, &op->version);
	op->ret = recorder_now();
	if (ret)
		return end(r, op, ret);
	op->tag = take_value(r, value, size);
	free(value);
	if (!op->tag)
		give_up(r, "get", op->key, "bytes that nobody has put");
	return op->tag && end(r, op, 0);
}

bool recorder_get(struct recorder *r, unsigned int key, struct op *op)
{
	*op = (struct op){ .kind = OP_GET, .key = key, .client = r->client };
	return get(r, op);
}

void recorder_operate(struct recorder *r)
{
	uint64_t kind = below(r, 20);
	struct op op;
	bool answered;

	if (kind < 7) {
		answered = put(r);
	} else if (kind < 8) {
		answered = put_batch(r);
	} else if (kind < 10) {
		answered = delete(r);
	} else {
		op = begin(r, OP_GET);
		answered = get(r, &op);
	}
	if (!answered)
		pause_a_bit(r);
}

/* --- a recorder ------------------------------------------------------------------------------ */

void recording_init(struct recording *shared, unsigned int keys, unsigned int max_value,
		    uint64_t seed)
{
	*shared = (struct recording){
		.keys = keys, .max_value = max_value, .seed = seed,
		.run = recorder_now() ^ seed << 48, .pause_ns = PAUSE_NS,
	};
}

int recorder_init(struct recorder *r, struct recording *shared, struct pmofkv *kv,
		  unsigned int client)
{
	unsigned int i;

	*r = (struct recorder){ .shared = shared, .kv = kv, .client = client,
				.random = shared->seed * 1000 + client };
	for (i = 0; i < RECORDER_BATCH; i++) {
		r->value[i] = malloc(RECORDER_VALUE + 2 * sizeof(uint64_t));
		if (!r->value[i])
			return -ENOMEM;
	}
	return 0;
}

void recorder_end(struct recorder *r)
{
	unsigned int i;

	history_free(&r->history);
	for (i = 0; i < RECORDER_BATCH; i++)
		free(r->value[i]);
}
