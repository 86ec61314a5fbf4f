// SPDX-License-Identifier: GPL-2.0
/* Many requests in one message (BATCH): each is one of its own, and the message is looked at. */
#include "kvcall.h"
#include "kselftest_harness.h"

#define ANY	PMOF_KV_EXPECT_ANY
#define NONE	PMOF_KV_EXPECT_NONE

#define LARGE	100000		/* bytes of a value: of a long call, which run kv's last part has */

/* A message, as long as any, and how much of it there is. */
struct message {
	uint8_t bytes[LARGE + 4072] __attribute__((aligned(8)));
	size_t length;
};

static struct pmof_kv_batch *head(struct message *m)
{
	return (void *)m->bytes;
}

struct batch_reply {
	struct pmof_kv_reply reply;
	struct pmof_kv_reply part[PMOF_KV_BATCH_MAX];
};

FIXTURE(batch) {
	int fd;
	struct message m;
	const struct batch_reply *reply;
	union kv_reply r;
};

FIXTURE_SETUP(batch)
{
	self->fd = vm_open(vm_instance(), O_RDWR);
	ASSERT_LE(0, self->fd);
	self->m.length = sizeof(struct pmof_kv_batch);
	self->reply = (const void *)&self->r;
}

FIXTURE_TEARDOWN(batch)
{
	close(self->fd);
}

static struct pmof_kv_part *add(struct message *m, uint8_t opcode, const void *request,
				size_t length)
{
	struct pmof_kv_part *p = (void *)(m->bytes + m->length);

	*p = (struct pmof_kv_part){ .length = length, .opcode = opcode };
	memcpy(p->request, request, length);
	m->length += (sizeof(*p) + length + 7) & ~7UL;
	head(m)->count++;
	return p;
}

static struct pmof_kv_part *add_put(struct message *m, const char *key, const char *value,
				    uint64_t expected, uint64_t number)
{
	union kv_message put;

	return add(m, PMOF_KV_PUT_INLINE, &put,
		   kv_fill_put(&put, key, value, strlen(value), expected, number));
}

static struct pmof_kv_part *add_delete(struct message *m, const char *key, uint64_t number)
{
	union kv_message del = { .del = { .req.number = number, .expected = ANY,
				 .key_length = strlen(key) } };

	memcpy(del.del.key, key, strlen(key));
	return add(m, PMOF_KV_DELETE, &del, sizeof(del.del) + strlen(key));
}

static int call(int fd, const struct message *m, union kv_reply *r)
{
	return kv_call(fd, PMOF_KV_BATCH, m->bytes, m->length, r);
}

static bool value_is(int fd, const char *key, const char *value)
{
	union kv_reply r;

	return !kv_get(fd, key, 100, 0, &r) && r.get.value_length == strlen(value) &&
	       !memcmp(r.get.value, value, strlen(value));
}

/* The answers are in the order of the parts, and one's refusal is no other's. */
TEST_F(batch, each_by_itself)
{
	union kv_message none;
	int i;
	static const uint32_t expect[] = {
		0, PMOF_KV_SC_VERSION, PMOF_KV_SC_NO_KEY, PMOF_KV_SC_INVALID, 0, 0,
	};

	ASSERT_EQ(0, kv_put(self->fd, "batch there", "old", ANY, NULL));
	ASSERT_EQ(0, kv_put(self->fd, "batch gone", "old", ANY, NULL));
	add_put(&self->m, "batch new", "one", NONE, 0);
	add_put(&self->m, "batch there", "two", NONE, 0);
	add_delete(&self->m, "batch nowhere", 0);
	kv_fill_put(&none, "", "no key", 6, ANY, 0);
	add(&self->m, PMOF_KV_PUT_INLINE, &none, sizeof(none.put) + 6);
	add_delete(&self->m, "batch gone", 0);
	add_put(&self->m, "batch last", "six", ANY, 0);
	ASSERT_EQ(7 * sizeof(self->r.reply), call(self->fd, &self->m, &self->r));
	EXPECT_EQ(0, self->reply->reply.status);
	for (i = 0; i < 6; i++)
		EXPECT_EQ(expect[i], self->reply->part[i].status) TH_LOG("part %d", i);
	EXPECT_TRUE(value_is(self->fd, "batch new", "one"));
	EXPECT_TRUE(value_is(self->fd, "batch there", "old"));
	EXPECT_FALSE(value_is(self->fd, "batch gone", "old"));
	EXPECT_TRUE(value_is(self->fd, "batch last", "six"));
	ASSERT_EQ(0, kv_get(self->fd, "batch last", 100, 0, &self->r));
}

TEST_F(batch, each_has_its_version)
{
	uint64_t version[2];
	int i;

	add_put(&self->m, "batch v0", "x", ANY, 0);
	add_put(&self->m, "batch v1", "y", ANY, 0);
	ASSERT_LT(0, call(self->fd, &self->m, &self->r));
	for (i = 0; i < 2; i++)
		version[i] = self->reply->part[i].version;
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, kv_get(self->fd, i ? "batch v1" : "batch v0", 100, 0, &self->r));
		EXPECT_EQ(version[i], self->r.reply.version);
	}
}

/* What became of each is remembered by its number; one that is known is not done again. */
TEST_F(batch, each_has_its_number)
{
	uint64_t version;

	ASSERT_EQ(0, kv_put(self->fd, "batch n2", "there", ANY, NULL));
	add_put(&self->m, "batch n1", "x", ANY, 4001);
	add_put(&self->m, "batch n2", "y", NONE, 4002);
	add_delete(&self->m, "batch n1 no", 4003);
	ASSERT_LT(0, call(self->fd, &self->m, &self->r));
	EXPECT_EQ(PMOF_KV_OUTCOME_COMMITTED, kv_outcome(self->fd, 4001, &version));
	EXPECT_EQ(self->reply->part[0].version, version);
	EXPECT_EQ(PMOF_KV_OUTCOME_REFUSED, kv_outcome(self->fd, 4002, NULL));
	EXPECT_EQ(PMOF_KV_OUTCOME_REFUSED, kv_outcome(self->fd, 4003, NULL));
	ASSERT_LT(0, call(self->fd, &self->m, &self->r));
	EXPECT_EQ(0, self->reply->part[0].status);
	EXPECT_EQ(version, self->reply->part[0].version);
	ASSERT_EQ(0, kv_get(self->fd, "batch n1", 100, 0, &self->r));
	EXPECT_EQ(version, self->r.reply.version);
}

/* [K7] They commit one after the other, in a round each: the answer waits for all. */
TEST_F(batch, one_key)
{
	uint64_t puts = kv_stat(self->fd, PMOF_KV_STAT_PUTS), last = 0;
	int i, j;

	for (i = 0; i < 32; i++)
		add_put(&self->m, "batch one", "value", ANY, 0);
	ASSERT_EQ(33 * sizeof(self->r.reply), call(self->fd, &self->m, &self->r));
	for (i = 0; i < 32; i++) {
		EXPECT_EQ(0, self->reply->part[i].status);
		for (j = 0; j < i; j++)
			EXPECT_NE(self->reply->part[i].version, self->reply->part[j].version);
		if (self->reply->part[i].version > last)
			last = self->reply->part[i].version;
	}
	EXPECT_EQ(32, kv_stat(self->fd, PMOF_KV_STAT_PUTS) - puts);
	ASSERT_EQ(0, kv_get(self->fd, "batch one", 100, 0, &self->r));
	EXPECT_EQ(last, self->r.reply.version);
}

/* A compare holds within a batch, too: one of them wins. */
TEST_F(batch, one_key_compared)
{
	int i, done = 0;

	kv_delete(self->fd, "batch cmp", ANY);
	for (i = 0; i < 16; i++)
		add_put(&self->m, "batch cmp", "value", NONE, 0);
	ASSERT_LT(0, call(self->fd, &self->m, &self->r));
	for (i = 0; i < 16; i++) {
		done += !self->reply->part[i].status;
		EXPECT_TRUE(!self->reply->part[i].status ||
			    self->reply->part[i].status == PMOF_KV_SC_VERSION);
	}
	EXPECT_EQ(1, done);
}

TEST_F(batch, as_many_as_there_may_be)
{
	char key[8];
	int i;

	for (i = 0; i < PMOF_KV_BATCH_MAX; i++) {
		snprintf(key, sizeof(key), "m%d", i);
		add_delete(&self->m, key, 0);
	}
	ASSERT_EQ(65 * sizeof(self->r.reply), call(self->fd, &self->m, &self->r));
	for (i = 0; i < PMOF_KV_BATCH_MAX; i++)
		EXPECT_EQ(PMOF_KV_SC_NO_KEY, self->reply->part[i].status);
	add_delete(&self->m, "m64", 0);
	ASSERT_EQ(sizeof(self->r.reply), call(self->fd, &self->m, &self->r));
	EXPECT_EQ(PMOF_KV_SC_INVALID, self->r.reply.status);
}

/* Refused as a whole: not even what is right in it is done. */
TEST_F(batch, what_is_wrong)
{
	struct pmof_kv_part *first, *last;
	uint64_t puts, batches;
	struct message good, *m = &self->m;

	kv_delete(self->fd, "batch first", ANY);
	first = add_put(m, "batch first", "x", ANY, 0);
	last = add_put(m, "batch last", "an odd length", ANY, 0);
	good = *m;
	puts = kv_stat(self->fd, PMOF_KV_STAT_PUTS);
	batches = kv_stat(self->fd, PMOF_KV_STAT_BATCHES);
#define WRONG(change) do {								\
	*m = good;									\
	change;										\
	ASSERT_EQ(sizeof(self->r.reply), call(self->fd, m, &self->r)) TH_LOG(#change);	\
	EXPECT_EQ(PMOF_KV_SC_INVALID, self->r.reply.status) TH_LOG(#change);		\
} while (0)
	WRONG(head(m)->count = 0);
	WRONG(head(m)->count = 1);
	WRONG(head(m)->count = 3);
	WRONG(head(m)->count = 65);
	WRONG(head(m)->count = UINT32_MAX);
	WRONG(head(m)->reserved = 1);
	WRONG(m->length = 1);
	WRONG(m->length = sizeof(struct pmof_kv_batch) - 1);
	WRONG(m->length = sizeof(struct pmof_kv_batch));
	WRONG(m->length = sizeof(struct pmof_kv_batch) + 4);
	WRONG(m->length -= 1);
	WRONG(m->length -= 8);
	WRONG(m->length += 8);
	WRONG(first->length += 8);
	WRONG(first->length = 0);
	WRONG(first->length = UINT32_MAX);
	WRONG(first->length = UINT32_MAX - 7);
	WRONG(first->length = UINT32_MAX - 8);
	WRONG(last->length += 16);
	WRONG(last->length = UINT32_MAX);
	WRONG(last->opcode = PMOF_KV_GET);
	WRONG(last->opcode = PMOF_KV_PREPARE_PUT);
	WRONG(last->opcode = PMOF_KV_COMMIT);
	WRONG(last->opcode = PMOF_KV_RETURN);
	WRONG(last->opcode = PMOF_KV_BATCH);
	WRONG(last->opcode = 0xbf);
	WRONG(last->opcode = 0);
	WRONG(last->reserved[0] = 1);
	WRONG(last->reserved[2] = 0x80);
	EXPECT_EQ(puts, kv_stat(self->fd, PMOF_KV_STAT_PUTS));
	EXPECT_EQ(batches, kv_stat(self->fd, PMOF_KV_STAT_BATCHES));
	EXPECT_EQ(PMOF_KV_SC_NO_KEY, kv_get(self->fd, "batch first", 100, 0, &self->r));
	EXPECT_EQ(3 * sizeof(self->r.reply), call(self->fd, &good, &self->r));
	EXPECT_EQ(2, kv_stat(self->fd, PMOF_KV_STAT_PUTS) - puts);
	EXPECT_EQ(1, kv_stat(self->fd, PMOF_KV_STAT_BATCHES) - batches);
}

/* It changes something, whatever is in it. */
TEST_F(batch, read_only_file)
{
	int fd = vm_open(vm_instance(), O_RDONLY);

	ASSERT_LE(0, fd);
	add_delete(&self->m, "batch", 0);
	EXPECT_EQ(-EBADF, call(fd, &self->m, &self->r));
	close(fd);
}

/* --- with the store full ----------------------------------------------------------------- */

struct caller {
	pthread_t thread;
	int fd;
	struct message m;
	int rc;
};

/* Takes the chunks that are nobody's yet, one each. */
static int take_chunks(int fd)
{
	union kv_reply p, r;
	int rc;

	do {
		rc = kv_prepare(fd, "batch chunk", 3 << 20, 0, &p);
		if (!rc)
			rc = kv_commit(fd, PMOF_KV_COMMIT, p.prepare.lease, ANY, &r);
	} while (!rc);
	return rc;
}

static size_t fill_large(uint8_t *at, const char *key)
{
	struct pmof_kv_put *put = (void *)at;

	*put = (struct pmof_kv_put){
		.expected = ANY, .value_length = LARGE, .key_length = strlen(key),
	};
	memcpy(put->data, key, strlen(key));
	memset(put->data + strlen(key), 'x', LARGE);
	return sizeof(*put) + strlen(key) + LARGE;
}

static int put_large(int fd, const char *key)
{
	static uint8_t request[LARGE + 100] __attribute__((aligned(8)));
	union kv_reply r;

	return kv_status(fd, PMOF_KV_PUT_INLINE, request, fill_large(request, key), &r);
}

static void *run_caller(void *arg)
{
	struct caller *c = arg;
	union kv_reply r;

	c->rc = call(c->fd, &c->m, &r);
	return NULL;
}

/*
 * A part is done, and one waits for space that another session holds up: then theirs ends. The
 * store's chunks are nearly all of one class: behind store.reclaim_ends_who_holds_it_up.
 */
TEST_F_TIMEOUT(batch, a_session_that_ends, 60)
{
	int instance = vm_connect("queues=1,device_loss_timeout=0,max_call=131072"), i;
	uint64_t puts, evicted = kv_stat(self->fd, PMOF_KV_STAT_EVICTED);
	static uint8_t request[LARGE + 100];
	static struct caller c;
	int rc = 0;

	ASSERT_LE(0, instance);
	c.fd = vm_open(instance, O_RDWR);
	ASSERT_LE(0, c.fd);
	ASSERT_EQ(0, kv_put(self->fd, "batch held", "x", ANY, NULL));
	ASSERT_EQ(0, kv_get(self->fd, "batch held", 0, 0, &self->r));
	/* All chunks, one of them with large values; who holds it up himself is told so. */
	ASSERT_EQ(0, put_large(self->fd, "batch full"));
	ASSERT_EQ(PMOF_KV_SC_NO_SPACE, take_chunks(self->fd));
	for (i = 0; i < 10000 && !rc; i++)
		rc = put_large(self->fd, "batch full");
	ASSERT_EQ(PMOF_KV_SC_NO_SPACE, rc);
	puts = kv_stat(self->fd, PMOF_KV_STAT_PUTS);
	c.m.length = sizeof(struct pmof_kv_batch);
	add_put(&c.m, "batch done", "done", ANY, 0);
	add(&c.m, PMOF_KV_PUT_INLINE, request, fill_large(request, "batch waits"));
	ASSERT_EQ(0, pthread_create(&c.thread, NULL, run_caller, &c));
	for (i = 0; i < 400 && kv_stat(self->fd, PMOF_KV_STAT_PUTS) == puts; i++)
		usleep(10000);
	EXPECT_EQ(puts + 1, kv_stat(self->fd, PMOF_KV_STAT_PUTS));
	EXPECT_EQ(0, vm_disconnect(instance));
	pthread_join(c.thread, NULL);
	EXPECT_GT(0, c.rc);
	EXPECT_TRUE(value_is(self->fd, "batch done", "done"));
	EXPECT_EQ(evicted, kv_stat(self->fd, PMOF_KV_STAT_EVICTED));
	/* The space comes back, and nobody is waiting for it. */
	EXPECT_EQ(0, kv_get(self->fd, "batch held", 100, UINT64_MAX / 2, &self->r));
	close(c.fd);
	for (i = 0; i < 100; i++)
		EXPECT_EQ(0, put_large(self->fd, "batch full"));
	EXPECT_EQ(PMOF_KV_SC_NO_KEY, kv_get(self->fd, "batch waits", 0, 0, &self->r));
	EXPECT_EQ(0, kv_delete(self->fd, "batch full", ANY));
	EXPECT_EQ(0, kv_delete(self->fd, "batch chunk", ANY));
}

TEST_HARNESS_MAIN
