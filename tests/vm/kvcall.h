/* SPDX-License-Identifier: GPL-2.0 */
/* A store's messages, by CALL, as no library would send them. */
#ifndef PMOF_KVCALL_H
#define PMOF_KVCALL_H

#include "vm.h"
#include "../../uapi/pmof_kv.h"

#define KV_ROOM		4080

union kv_reply {
	struct pmof_kv_reply reply;
	struct pmof_kv_prepare_reply prepare;
	struct pmof_kv_get_reply get;
	struct pmof_kv_scan_reply scan;
	struct pmof_kv_outcome_reply outcome;
	struct pmof_kv_stat_reply stat;
	struct pmof_kv_check_reply check;
	uint8_t bytes[KV_ROOM];
};

/* Returns the length of the answer or -errno. */
static inline int kv_call(int fd, uint32_t call, const void *request, size_t length,
			  union kv_reply *out)
{
	struct pmof_op op = {
		.size = sizeof(op), .opcode = PMOF_OP_CALL, .call = call,
		.addr = (uintptr_t)request, .length = length, .compare = (uintptr_t)out,
		.room = sizeof(*out),
	};
	struct pmof_submit s = { .size = sizeof(s), .ops = (uintptr_t)&op, .nr_ops = 1 };

	memset(out, 0xee, sizeof(*out));
	if (ioctl(fd, PMOF_IOC_SUBMIT, &s))
		return -errno;
	return op.result ? op.result : (int)op.old;
}

/* Returns the store's status or -errno. */
static inline int kv_status(int fd, uint32_t call, const void *request, size_t length,
			    union kv_reply *out)
{
	int rc = kv_call(fd, call, request, length, out);

	if (rc < 0)
		return rc;
	return rc < (int)sizeof(out->reply) ? -EPROTO : (int)out->reply.status;
}

/* A message of the largest kind here: what follows its head is the head's own last member. */
union kv_message {
	struct pmof_kv_put put;
	struct pmof_kv_get get;
	struct pmof_kv_delete del;
	struct pmof_kv_prepare prepare;
	uint8_t bytes[sizeof(struct pmof_kv_put) + 4000];
};

static inline size_t kv_fill_put(union kv_message *m, const char *key, const void *value,
				 size_t length, uint64_t expected, uint64_t number)
{
	size_t key_length = strlen(key);

	memset(&m->put, 0, sizeof(m->put));
	m->put.req.number = number;
	m->put.expected = expected;
	m->put.value_length = length;
	m->put.key_length = key_length;
	memcpy(m->put.data, key, key_length);
	memcpy(m->put.data + key_length, value, length);
	return sizeof(m->put) + key_length + length;
}

static inline int kv_put_numbered(int fd, const char *key, const void *value, size_t length,
				  uint64_t expected, uint64_t number, uint64_t *version)
{
	union kv_message m;
	union kv_reply r;
	int rc = kv_status(fd, PMOF_KV_PUT_INLINE, &m,
			   kv_fill_put(&m, key, value, length, expected, number), &r);

	if (version)
		*version = r.reply.version;
	return rc;
}

static inline int kv_put(int fd, const char *key, const char *value, uint64_t expected,
			 uint64_t *version)
{
	return kv_put_numbered(fd, key, value, strlen(value), expected, 0, version);
}

static inline int kv_get(int fd, const char *key, uint32_t max_inline, uint64_t epoch,
			 union kv_reply *r)
{
	union kv_message m = { 0 };

	m.get.req.epoch = epoch;
	m.get.max_inline = max_inline;
	m.get.key_length = strlen(key);
	memcpy(m.get.key, key, strlen(key));
	return kv_status(fd, PMOF_KV_GET, &m, sizeof(m.get) + strlen(key), r);
}

static inline int kv_delete_numbered(int fd, const char *key, uint64_t expected, uint64_t number,
				     uint64_t *version)
{
	union kv_message m = { .del = { .expected = expected, .key_length = strlen(key),
			 .req.number = number } };
	union kv_reply r;
	int rc;

	memcpy(m.del.key, key, strlen(key));
	rc = kv_status(fd, PMOF_KV_DELETE, &m, sizeof(m.del) + strlen(key), &r);
	if (version)
		*version = r.reply.version;
	return rc;
}

static inline int kv_delete(int fd, const char *key, uint64_t expected)
{
	return kv_delete_numbered(fd, key, expected, 0, NULL);
}

static inline int kv_prepare(int fd, const char *key, uint32_t value_length, uint64_t number,
			     union kv_reply *r)
{
	union kv_message m = { .prepare = { .value_length = value_length, .key_length = strlen(key),
			     .req.number = number } };

	memcpy(m.prepare.key, key, strlen(key));
	return kv_status(fd, PMOF_KV_PREPARE_PUT, &m, sizeof(m.prepare) + strlen(key), r);
}

static inline int kv_commit(int fd, uint32_t call, uint32_t lease, uint64_t expected,
			    union kv_reply *r)
{
	struct pmof_kv_commit m = { .expected = expected, .lease = lease };

	return kv_status(fd, call, &m, sizeof(m), r);
}

static inline int kv_outcome(int fd, uint64_t number, uint64_t *version)
{
	struct pmof_kv_request m = { .number = number };
	union kv_reply r;
	int rc = kv_status(fd, PMOF_KV_OUTCOME, &m, sizeof(m), &r);

	if (version)
		*version = r.reply.version;
	return rc < 0 ? rc : rc ? -100 - rc : (int)r.outcome.outcome;
}

/* One value of STAT. */
static inline uint64_t kv_stat(int fd, enum pmof_kv_stat i)
{
	struct pmof_kv_request m = { 0 };
	union kv_reply r;
	int rc = kv_call(fd, PMOF_KV_STAT, &m, sizeof(m), &r);

	return rc < 0 || r.stat.count <= i ? UINT64_MAX : r.stat.value[i];
}

/* A put by WRITE and COMMIT, in one SUBMIT: the lease is the caller's. */
static inline int kv_write_commit(int fd, const struct pmof_kv_prepare_reply *p, const void *value,
				  uint64_t length, uint64_t expected, union kv_reply *r)
{
	struct pmof_kv_commit m = { .expected = expected, .lease = p->lease };
	struct pmof_op op[2] = {
		{ .size = sizeof(op[0]), .opcode = PMOF_OP_PUT, .offset = p->offset,
		  .length = length, .addr = (uintptr_t)value },
		{ .size = sizeof(op[0]), .opcode = PMOF_OP_CALL, .call = PMOF_KV_COMMIT,
		  .addr = (uintptr_t)&m, .length = sizeof(m), .compare = (uintptr_t)r,
		  .room = sizeof(*r) },
	};
	struct pmof_submit s = { .size = sizeof(s), .ops = (uintptr_t)op, .nr_ops = 2 };

	if (ioctl(fd, PMOF_IOC_SUBMIT, &s))
		return -errno;
	if (op[0].result || op[1].result)
		return op[0].result ? op[0].result : op[1].result;
	return r->reply.status;
}

#endif /* PMOF_KVCALL_H */
