// SPDX-License-Identifier: GPL-2.0
/*
 * Messages to a store that are longer than a page: the client has asked for the longest there
 * are, and the server's namespace grants CALL_SIZE.
 */
#include "kselftest_harness.h"
#include "kv.h"

#define CALL_SIZE	131072
#define MAX_CALL	(CALL_SIZE - 24)
#define LONGEST		((size_t)MAX_CALL - sizeof(struct pmof_kv_put) - PMOF_KV_KEY_MAX)
#define BATCH		48	/* more than a queue has slots */

FIXTURE(large) {
	int fd;
	struct pmofkv *kv;
	char *buf;
	char *back;
};

FIXTURE_SETUP(large)
{
	self->fd = vm_open(vm_instance(), O_RDWR);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, kv_open(O_RDWR, PMOFKV_HERD, &self->kv));
	self->buf = vm_pages(2 * CALL_SIZE);
	self->back = vm_pages(2 * CALL_SIZE);
}

FIXTURE_TEARDOWN(large)
{
	EXPECT_EQ(0, pmofkv_counter(self->kv, PMOFKV_COUNT_SESSIONS));
	EXPECT_TRUE(vm_attr_is(vm_instance(), "state", "live"));
	pmofkv_close(self->kv);
	close(self->fd);
	munmap(self->buf, 2 * CALL_SIZE);
	munmap(self->back, 2 * CALL_SIZE);
}

TEST_F(large, granted)
{
	struct pmof_info info;

	ASSERT_EQ(0, vm_info(self->fd, &info));
	EXPECT_EQ(MAX_CALL, info.max_call);
	EXPECT_TRUE(vm_attr_is(vm_instance(), "max_call", "131072"));
	/* The server's receives have together what 1024 of 4 KiB have. */
	EXPECT_EQ(1024 * 4096 / CALL_SIZE, vm_stat(vm_instance(), "depth"));
}

/* The longest there may be arrives, and says nothing that makes sense; a longer one is not sent. */
TEST_F(large, limits)
{
	struct pmof_kv_reply reply;
	struct pmof_op op = {
		.size = sizeof(op), .opcode = PMOF_OP_CALL, .addr = (uintptr_t)self->buf,
		.compare = (uintptr_t)&reply, .call = PMOF_KV_PUT_INLINE, .room = sizeof(reply),
	};
	uint64_t sends = vm_stat(vm_instance(), "stats/wr_send");

	op.length = MAX_CALL + 1;
	EXPECT_EQ(-EINVAL, vm_submit(self->fd, &op, 1));
	EXPECT_EQ(sends, vm_stat(vm_instance(), "stats/wr_send"));
	op.length = MAX_CALL;
	ASSERT_EQ(0, vm_submit(self->fd, &op, 1));
	EXPECT_EQ(0, op.result);
	EXPECT_EQ(PMOF_KV_SC_INVALID, reply.status);
	op.call = PMOF_KV_GET;
	ASSERT_EQ(0, vm_submit(self->fd, &op, 1));
	EXPECT_EQ(PMOF_KV_SC_INVALID, reply.status);
}

/* One message has all of it, and the server's CPU copies it. */
TEST_F(large, puts_by_herd)
{
	static const size_t sizes[] = { 4040, 4096, 16384, 65536, 65537, LONGEST };
	char key[PMOF_KV_KEY_MAX];
	struct proof p = { .writer = 1 }, got;
	uint64_t sends, writes, copied;
	size_t i, n;

	memset(key, 'k', sizeof(key));
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		p.key = i;
		p.length = sizes[i];
		proof_make(self->buf, &p);
		copied = kv_stat_of(self->kv, PMOF_KV_STAT_COPIED);
		sends = vm_stat(vm_instance(), "stats/wr_send");
		writes = vm_stat(vm_instance(), "stats/wr_write");
		ASSERT_EQ(0, pmofkv_put(self->kv, key, sizeof(key) - i, self->buf, sizes[i], NULL));
		EXPECT_EQ(sends + 1, vm_stat(vm_instance(), "stats/wr_send"));
		EXPECT_EQ(writes, vm_stat(vm_instance(), "stats/wr_write"));
		EXPECT_EQ(copied + sizes[i], kv_stat_of(self->kv, PMOF_KV_STAT_COPIED));
		ASSERT_EQ(0, pmofkv_get(self->kv, key, sizeof(key) - i, self->back, 2 * CALL_SIZE,
					&n, NULL));
		EXPECT_TRUE(proof_ok(self->back, n, i, &got)) TH_LOG("%zu bytes", sizes[i]);
	}
	EXPECT_EQ(ARRAY_SIZE(sizes), pmofkv_counter(self->kv, PMOFKV_COUNT_PUTS_HERD));
	/* With this key it is one byte too long. */
	EXPECT_EQ(PMOFKV_HERD, pmofkv_put_protocol(self->kv, sizeof(key), LONGEST));
	EXPECT_EQ(PMOFKV_SA, pmofkv_put_protocol(self->kv, sizeof(key), LONGEST + 1));
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		EXPECT_EQ(0, pmofkv_delete(self->kv, key, sizeof(key) - i));
}

/* What may go in a message does not have to. */
TEST_F(large, auto_has_a_threshold)
{
	struct pmofkv *kv;

	ASSERT_EQ(0, kv_open(O_RDWR, PMOFKV_AUTO, &kv));
	EXPECT_EQ(PMOFKV_HERD, pmofkv_put_protocol(kv, 8, 16384));
	EXPECT_EQ(PMOFKV_SA, pmofkv_put_protocol(kv, 8, 16385));
	pmofkv_close(kv);
}

/* More at a time than there are slots, and than a round of the store copies. */
TEST_F(large, batch)
{
	static char values[BATCH][40000];
	struct pmofkv_item item[BATCH] = { 0 };
	char key[BATCH];
	struct proof got;
	size_t i, n;

	for (i = 0; i < BATCH; i++) {
		struct proof p = { .key = i, .writer = 2, .length = sizeof(values[0]) - i };

		proof_make(values[i], &p);
		key[i] = (char)i;
		item[i] = (struct pmofkv_item){
			.key = &key[i], .key_length = 1, .value = values[i],
			.value_length = p.length, .expected = PMOF_KV_EXPECT_NONE,
		};
	}
	ASSERT_EQ(0, pmofkv_put_batch(self->kv, item, BATCH));
	EXPECT_EQ(BATCH, pmofkv_counter(self->kv, PMOFKV_COUNT_PUTS_HERD));
	for (i = 0; i < BATCH; i++) {
		ASSERT_EQ(0, pmofkv_get(self->kv, &key[i], 1, self->back, 2 * CALL_SIZE, &n, NULL));
		EXPECT_TRUE(proof_ok(self->back, n, i, &got)) TH_LOG("%zu", i);
		EXPECT_EQ(0, pmofkv_delete(self->kv, &key[i], 1));
	}
}

TEST_HARNESS_MAIN
