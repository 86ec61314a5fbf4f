// SPDX-License-Identifier: GPL-2.0
/*
 * A store's messages (docs/kv.md): what each does, what it refuses, and what nobody may
 * get by them. When what was superseded is used again: reclaim.c.
 */
#include "store.h"

static bool value_is(const union kv_reply *r, const char *value)
{
	return r->get.flags == PMOF_KV_GET_F_INLINE && r->get.value_length == strlen(value) &&
	       !memcmp(r->get.value, value, strlen(value)) && !r->get.offset && !r->get.epoch;
}

/* --- put, get, delete --------------------------------------------------------------- */

TEST_F(store, put_get_delete)
{
	union kv_reply r;
	uint64_t v1, v2, v3;

	EXPECT_EQ(PMOF_KV_SC_NO_KEY, kv_get(self->fd, "a1", 100, 0, &r));
	ASSERT_EQ(0, kv_put(self->fd, "a1", "one", ANY, &v1));
	ASSERT_EQ(0, kv_get(self->fd, "a1", 100, 0, &r));
	EXPECT_TRUE(value_is(&r, "one"));
	EXPECT_EQ(v1, r.reply.version);
	ASSERT_EQ(0, kv_put(self->other, "a1", "another value", ANY, &v2));
	EXPECT_NE(v1, v2);
	ASSERT_EQ(0, kv_get(self->fd, "a1", 100, 0, &r));
	EXPECT_TRUE(value_is(&r, "another value"));
	EXPECT_EQ(v2, r.reply.version);
	ASSERT_EQ(0, kv_put(self->fd, "a1", "", ANY, &v3));
	ASSERT_EQ(0, kv_get(self->fd, "a1", 0, 0, &r));
	EXPECT_TRUE(value_is(&r, ""));
	ASSERT_EQ(0, kv_delete(self->fd, "a1", ANY));
	EXPECT_EQ(PMOF_KV_SC_NO_KEY, kv_get(self->fd, "a1", 100, 0, &r));
	EXPECT_EQ(PMOF_KV_SC_NO_KEY, kv_delete(self->fd, "a1", ANY));
}

TEST_F(store, expected_versions)
{
	uint64_t v1, v;

	ASSERT_EQ(0, kv_put(self->fd, "b1", "x", NONE, &v1));
	EXPECT_EQ(PMOF_KV_SC_VERSION, kv_put(self->fd, "b1", "y", NONE, &v));
	EXPECT_EQ(v1, v);
	EXPECT_EQ(PMOF_KV_SC_VERSION, kv_put(self->fd, "b1", "y", v1 + 1, &v));
	EXPECT_EQ(v1, v);
	ASSERT_EQ(0, kv_put(self->fd, "b1", "y", v1, &v));
	EXPECT_NE(v1, v);
	EXPECT_EQ(PMOF_KV_SC_VERSION, kv_put(self->fd, "b1", "z", v1, NULL));
	EXPECT_EQ(PMOF_KV_SC_VERSION, kv_put(self->fd, "b2", "z", v1, &v1));
	EXPECT_EQ(0, v1);
	EXPECT_EQ(PMOF_KV_SC_VERSION, kv_delete(self->fd, "b1", v + 1));
	EXPECT_EQ(PMOF_KV_SC_INVALID, kv_delete(self->fd, "b1", NONE));
	EXPECT_EQ(0, kv_delete(self->fd, "b1", v));
}

/* --- prepare, write, commit ----------------------------------------------------------- */

static char big[6 << 20], back[6 << 20];

/* READs the object whose address a GET has given, and looks whether it is that one. */
static bool read_object(int fd, const union kv_reply *r, const char *key, const char *value)
{
	struct pmof_kv_object_header h;
	uint64_t trailer, end;
	size_t key_length = strlen(key);
	char seen[64];

	if (vm_get(fd, r->get.offset, &h, sizeof(h)) ||
	    vm_get(fd, r->get.offset + sizeof(h), seen, key_length) ||
	    vm_get(fd, r->get.offset + sizeof(h) + key_length, back, r->get.value_length))
		return false;
	end = (sizeof(h) + key_length + r->get.value_length + 7) / 8 * 8;
	if (vm_get(fd, r->get.offset + end, &trailer, sizeof(trailer)))
		return false;
	return h.magic == PMOF_KV_OBJECT_MAGIC && h.key_length == key_length &&
	       h.generation == r->reply.version && h.value_length == r->get.value_length &&
	       !memcmp(seen, key, key_length) &&
	       (trailer & PMOF_KV_GENERATION_MASK) == r->reply.version && trailer >> 56 &&
	       !memcmp(back, value, r->get.value_length);
}

TEST_F(store, write_and_commit)
{
	static const size_t lengths[] = { 0, 1, 100, 5000, 65536, 1 << 20, 6 << 20 };
	union kv_reply p, r;
	size_t i;

	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		fill(big, lengths[i], i);
		ASSERT_EQ(0, kv_prepare(self->fd, "c1", lengths[i], 0, &p));
		/* Not there before it is committed. */
		if (i == 0)
			EXPECT_EQ(PMOF_KV_SC_NO_KEY, kv_get(self->fd, "c1", 0, 0, &r));
		if (!lengths[i]) {
			EXPECT_EQ(0, kv_commit(self->fd, PMOF_KV_COMMIT, p.prepare.lease, ANY, &r));
			continue;
		}
		ASSERT_EQ(0, kv_write_commit(self->fd, &p.prepare, big, lengths[i], ANY, &r));
		EXPECT_EQ(p.reply.version, r.reply.version);
		ASSERT_EQ(0, kv_get(self->fd, "c1", 0, 0, &r));
		EXPECT_EQ(0, r.get.flags);
		EXPECT_NE(0, r.get.epoch);
		ASSERT_EQ(lengths[i], r.get.value_length);
		EXPECT_TRUE(read_object(self->fd, &r, "c1", big)) TH_LOG("%zu bytes", lengths[i]);
	}
	EXPECT_EQ(0, kv_delete(self->fd, "c1", ANY));
}

TEST_F(store, leases)
{
	union kv_reply p, r;
	uint64_t leases = kv_stat(self->fd, PMOF_KV_STAT_LEASES);
	uint64_t used = kv_stat(self->fd, PMOF_KV_STAT_SLOTS_USED);

	ASSERT_EQ(0, kv_prepare(self->fd, "d1", 100, 0, &p));
	EXPECT_EQ(leases + 1, kv_stat(self->fd, PMOF_KV_STAT_LEASES));
	/* Another file's, one that is none, and none at all. */
	EXPECT_EQ(PMOF_KV_SC_NO_LEASE, kv_commit(self->other, PMOF_KV_COMMIT, p.prepare.lease,
						 ANY, &r));
	EXPECT_EQ(PMOF_KV_SC_NO_LEASE, kv_commit(self->other, PMOF_KV_RETURN, p.prepare.lease, 0,
						 &r));
	EXPECT_EQ(PMOF_KV_SC_NO_LEASE, kv_commit(self->fd, PMOF_KV_COMMIT, p.prepare.lease + 1,
						 ANY, &r));
	EXPECT_EQ(PMOF_KV_SC_NO_LEASE, kv_commit(self->fd, PMOF_KV_COMMIT, 0, ANY, &r));
	EXPECT_EQ(PMOF_KV_SC_NO_KEY, kv_get(self->fd, "d1", 100, 0, &r));
	ASSERT_EQ(0, kv_commit(self->fd, PMOF_KV_RETURN, p.prepare.lease, 0, &r));
	EXPECT_EQ(PMOF_KV_SC_NO_LEASE, kv_commit(self->fd, PMOF_KV_RETURN, p.prepare.lease, 0, &r));
	EXPECT_EQ(leases, kv_stat(self->fd, PMOF_KV_STAT_LEASES));
	/* A failed compare ends it, too. */
	ASSERT_EQ(0, kv_prepare(self->fd, "d1", 100, 0, &p));
	EXPECT_EQ(PMOF_KV_SC_VERSION, kv_commit(self->fd, PMOF_KV_COMMIT, p.prepare.lease, 77, &r));
	EXPECT_EQ(PMOF_KV_SC_NO_LEASE, kv_commit(self->fd, PMOF_KV_COMMIT, p.prepare.lease, ANY,
						 &r));
	EXPECT_EQ(used, kv_stat(self->fd, PMOF_KV_STAT_SLOTS_USED));
	EXPECT_EQ(leases, kv_stat(self->fd, PMOF_KV_STAT_LEASES));
}

/* A compare is ordered where it commits, not where it prepares [K8]. */
TEST_F(store, compare_at_commit)
{
	union kv_reply p, q, r;

	ASSERT_EQ(0, kv_prepare(self->fd, "e1", 8, 0, &p));
	ASSERT_EQ(0, kv_prepare(self->other, "e1", 8, 0, &q));
	EXPECT_EQ(0, kv_commit(self->other, PMOF_KV_COMMIT, q.prepare.lease, NONE, &r));
	EXPECT_EQ(PMOF_KV_SC_VERSION, kv_commit(self->fd, PMOF_KV_COMMIT, p.prepare.lease, NONE,
						&r));
	EXPECT_EQ(q.reply.version, r.reply.version);
	EXPECT_EQ(0, kv_delete(self->fd, "e1", q.reply.version));
}

/* A file that is closed has no leases, and its slots are free [K9]. */
TEST_F(store, closed_file)
{
	uint64_t leases = kv_stat(self->fd, PMOF_KV_STAT_LEASES);
	uint64_t used = kv_stat(self->fd, PMOF_KV_STAT_SLOTS_USED);
	int fd = vm_open(store_instance(), O_RDWR), tries;
	union kv_reply p, r;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, kv_prepare(fd, "f1", 100, 0, &p));
	EXPECT_EQ(leases + 1, kv_stat(self->fd, PMOF_KV_STAT_LEASES));
	close(fd);
	for (tries = 0; tries < 100 && kv_stat(self->fd, PMOF_KV_STAT_SLOTS_USED) != used; tries++)
		usleep(10000);
	EXPECT_EQ(used, kv_stat(self->fd, PMOF_KV_STAT_SLOTS_USED));
	EXPECT_EQ(leases, kv_stat(self->fd, PMOF_KV_STAT_LEASES));
	EXPECT_EQ(PMOF_KV_SC_NO_LEASE, kv_commit(self->fd, PMOF_KV_COMMIT, p.prepare.lease, ANY,
						 &r));
}

/* The class of a chunk is durable before anything is stored in it: a fence more. */
TEST_F(store, fresh_chunk)
{
	unsigned int length, fresh = 0;
	uint64_t chunks, fences;
	union kv_reply p, r;

	/* One only: a class keeps its chunk, and others want many in a row. */
	for (length = 100; length < 3 << 20 && !fresh; length += length / 4) {
		chunks = kv_stat(self->fd, PMOF_KV_STAT_FREE_CHUNKS);
		fences = kv_stat(self->fd, PMOF_KV_STAT_FENCES);
		if (kv_prepare(self->fd, "n1", length, 0, &p))
			continue;
		fences = kv_stat(self->fd, PMOF_KV_STAT_FENCES) - fences;
		if (kv_stat(self->fd, PMOF_KV_STAT_FREE_CHUNKS) != chunks) {
			EXPECT_EQ(3, fences) TH_LOG("%u bytes", length);
			fresh++;
		}
		ASSERT_EQ(0, kv_commit(self->fd, PMOF_KV_RETURN, p.prepare.lease, 0, &r));
	}
	if (!fresh)
		SKIP(return, "no chunk is free");
}

/* --- numbers ----------------------------------------------------------------------------- */

TEST_F(store, outcomes)
{
	union kv_reply p, r;
	uint64_t v, w;

	EXPECT_EQ(PMOF_KV_OUTCOME_UNKNOWN, kv_outcome(self->fd, 5, NULL));
	ASSERT_EQ(0, kv_put_numbered(self->fd, "h1", "x", 1, ANY, 5, &v));
	EXPECT_EQ(PMOF_KV_OUTCOME_COMMITTED, kv_outcome(self->fd, 5, &w));
	EXPECT_EQ(v, w);
	EXPECT_EQ(PMOF_KV_OUTCOME_UNKNOWN, kv_outcome(self->other, 5, NULL));
	/* The same number again is the same put: not done twice. */
	ASSERT_EQ(0, kv_put_numbered(self->fd, "h1", "y", 1, ANY, 5, &w));
	EXPECT_EQ(v, w);
	ASSERT_EQ(0, kv_get(self->fd, "h1", 10, 0, &r));
	EXPECT_TRUE(value_is(&r, "x"));
	EXPECT_EQ(PMOF_KV_SC_VERSION, kv_put_numbered(self->fd, "h1", "z", 1, NONE, 6, NULL));
	EXPECT_EQ(PMOF_KV_OUTCOME_REFUSED, kv_outcome(self->fd, 6, NULL));
	ASSERT_EQ(0, kv_prepare(self->fd, "h1", 8, 7, &p));
	EXPECT_EQ(PMOF_KV_OUTCOME_UNKNOWN, kv_outcome(self->fd, 7, NULL));
	ASSERT_EQ(0, kv_commit(self->fd, PMOF_KV_COMMIT, p.prepare.lease, ANY, &r));
	EXPECT_EQ(PMOF_KV_OUTCOME_COMMITTED, kv_outcome(self->fd, 7, &w));
	EXPECT_EQ(p.reply.version, w);
	EXPECT_EQ(0, kv_delete_numbered(self->fd, "h1", ANY, 8, NULL));
	EXPECT_EQ(PMOF_KV_OUTCOME_COMMITTED, kv_outcome(self->fd, 8, NULL));
	EXPECT_EQ(0, kv_put_numbered(self->fd, "h1", "x", 1, ANY, 5 + 1024, NULL));
	EXPECT_EQ(PMOF_KV_OUTCOME_UNKNOWN, kv_outcome(self->fd, 5, NULL));
	EXPECT_EQ(0, kv_delete(self->fd, "h1", ANY));
}

/* --- scan ---------------------------------------------------------------------------------- */

TEST_F(store, scan_tells_each_key_once)
{
	struct pmof_kv_scan m = { .max = 7 };
	uint8_t told[300] = { 0 };
	union kv_reply r;
	unsigned int i, calls = 0, strange = 0;
	char key[32];

	for (i = 0; i < 300; i++) {
		snprintf(key, sizeof(key), "scan%u", i);
		ASSERT_EQ(0, kv_put(self->fd, key, "v", ANY, NULL));
	}
	do {
		const struct pmof_kv_scan_entry *e = (void *)r.scan.entries;

		ASSERT_EQ(0, kv_status(self->fd, PMOF_KV_SCAN, &m, sizeof(m), &r));
		ASSERT_GE(7, r.scan.count);
		for (i = 0; i < r.scan.count; i++) {
			unsigned int n;

			memcpy(key, e->key, 31);
			key[e->key_length < 31 ? e->key_length : 31] = '\0';
			if (sscanf(key, "scan%u", &n) == 1 && n < 300)
				told[n]++;
			else
				strange++;
			e = (void *)(e->key + (e->key_length + 7) / 8 * 8);
		}
		m.hash = r.scan.hash;
		m.skip = r.scan.skip;
		ASSERT_GT(200, ++calls);
	} while (!(r.scan.flags & PMOF_KV_SCAN_F_END));
	for (i = 0; i < 300; i++) {
		EXPECT_EQ(1, told[i]) TH_LOG("key %u", i);
		snprintf(key, sizeof(key), "scan%u", i);
		EXPECT_EQ(0, kv_delete(self->fd, key, ANY));
	}
	EXPECT_EQ(kv_stat(self->fd, PMOF_KV_STAT_KEYS), strange);
}

/* What cannot be read is passed over, however much of it there is: an answer has keys, or all. */
TEST_F_TIMEOUT(store, scan_passes_over, 60)
{
	uint32_t magic = PMOF_KV_OBJECT_MAGIC, spoilt = 0;
	struct pmof_kv_scan m = { .max = 0 };
	uint64_t at[256];
	unsigned int i, calls = 0;
	union kv_reply r;
	char key[32];

	for (i = 0; i < 256; i++) {
		snprintf(key, sizeof(key), "spoilt%u", i);
		ASSERT_EQ(0, kv_put(self->fd, key, "v", ANY, NULL));
		ASSERT_EQ(0, kv_get(self->fd, key, 0, 0, &r));
		at[i] = r.get.offset;
	}
	for (i = 0; i < 256; i++)
		ASSERT_EQ(0, vm_put(self->fd, at[i], &spoilt, sizeof(spoilt), 0));
	do {
		ASSERT_EQ(0, kv_status(self->fd, PMOF_KV_SCAN, &m, sizeof(m), &r));
		EXPECT_TRUE(r.scan.count || r.scan.flags & PMOF_KV_SCAN_F_END);
		m.hash = r.scan.hash;
		m.skip = r.scan.skip;
		ASSERT_GT(200, ++calls);
	} while (!(r.scan.flags & PMOF_KV_SCAN_F_END));
	for (i = 0; i < 256; i++) {
		ASSERT_EQ(0, vm_put(self->fd, at[i], &magic, sizeof(magic), 0));
		snprintf(key, sizeof(key), "spoilt%u", i);
		EXPECT_EQ(0, kv_delete(self->fd, key, ANY));
	}
}

/* --- what is refused ------------------------------------------------------------------------- */

TEST_F(store, malformed)
{
	union kv_message m;
	union kv_reply r;
	size_t n, len = kv_fill_put(&m, "i1", "value", 5, ANY, 0);
	uint32_t call;

	/* Every length but the right one, of every call. */
	for (n = 1; n < len + 3; n++)
		if (n != len)
			EXPECT_EQ(PMOF_KV_SC_INVALID,
				  kv_status(self->fd, PMOF_KV_PUT_INLINE, &m, n, &r))
				TH_LOG("%zu bytes", n);
	memset(&m, 0, sizeof(m));
	for (call = 0x20; call < 0x3f; call++)
		for (n = 1; n < 16; n++)
			EXPECT_EQ(PMOF_KV_SC_INVALID, kv_status(self->fd, call, &m, n, &r));
	for (call = 0x25; call < 0x3f; call++)
		if (call < 0x30 || call > 0x33)
			EXPECT_EQ(PMOF_KV_SC_INVALID, kv_status(self->fd, call, &m, 100, &r));
	len = kv_fill_put(&m, "i1", "value", 5, ANY, 0);
	m.put.reserved = 1;
	EXPECT_EQ(PMOF_KV_SC_INVALID, kv_status(self->fd, PMOF_KV_PUT_INLINE, &m, len, &r));
	len = kv_fill_put(&m, "", "value", 5, ANY, 0);
	EXPECT_EQ(PMOF_KV_SC_INVALID, kv_status(self->fd, PMOF_KV_PUT_INLINE, &m, len, &r));
	len = kv_fill_put(&m, "i1", "value", 5, 1ULL << 48, 0);
	EXPECT_EQ(PMOF_KV_SC_INVALID, kv_status(self->fd, PMOF_KV_PUT_INLINE, &m, len, &r));
	EXPECT_EQ(PMOF_KV_SC_TOO_LARGE, kv_prepare(self->fd, "i1", 64 << 20, 0, &r));
	EXPECT_EQ(PMOF_KV_SC_TOO_LARGE, kv_prepare(self->fd, "i1", UINT32_MAX, 0, &r));
	EXPECT_EQ(-EINVAL, kv_status(self->fd, 0x3f, &m, 16, &r));
	EXPECT_EQ(PMOF_KV_SC_NO_KEY, kv_get(self->fd, "i1", 100, 0, &r));
}

TEST_F(store, key_lengths)
{
	union kv_message m;
	char key[1100];
	union kv_reply r;
	size_t len;

	memset(key, 'k', sizeof(key));
	key[1024] = '\0';
	len = kv_fill_put(&m, key, "v", 1, ANY, 0);
	EXPECT_EQ(0, kv_status(self->fd, PMOF_KV_PUT_INLINE, &m, len, &r));
	ASSERT_EQ(0, kv_get(self->fd, key, 10, 0, &r));
	EXPECT_TRUE(value_is(&r, "v"));
	key[1023] = '\0';
	EXPECT_EQ(PMOF_KV_SC_NO_KEY, kv_get(self->fd, key, 10, 0, &r));
	key[1023] = 'k';
	key[1024] = 'k';
	key[1025] = '\0';
	len = kv_fill_put(&m, key, "v", 1, ANY, 0);
	EXPECT_EQ(PMOF_KV_SC_INVALID, kv_status(self->fd, PMOF_KV_PUT_INLINE, &m, len, &r));
	EXPECT_EQ(PMOF_KV_SC_INVALID, kv_get(self->fd, key, 10, 0, &r));
	memset(key, 'k', 1024);
	key[1024] = '\0';
	EXPECT_EQ(0, kv_delete(self->fd, key, ANY));
}

/* What a file that may only read can do. */
TEST_F(store, read_only_file)
{
	int fd = vm_open(store_instance(), O_RDONLY);
	union kv_reply r;

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EBADF, kv_put(fd, "j1", "v", ANY, NULL));
	EXPECT_EQ(PMOF_KV_SC_NO_KEY, kv_get(fd, "j1", 10, 0, &r));
	close(fd);
}

/* --- many at once ------------------------------------------------------------------------------ */

struct adder {
	pthread_t thread;
	unsigned int done;
	int rc;
};

static void *add(void *arg)
{
	struct adder *a = arg;
	int fd = vm_open(store_instance(), O_RDWR);
	uint64_t version, n;
	union kv_reply r;

	while (a->done < 50 && !a->rc) {
		a->rc = kv_get(fd, "sum", 8, 0, &r);
		if (a->rc)
			break;
		memcpy(&n, r.get.value, 8);
		n++;
		version = r.reply.version;
		a->rc = kv_put_numbered(fd, "sum", &n, 8, version, 0, NULL);
		if (!a->rc)
			a->done++;
		else if (a->rc == PMOF_KV_SC_VERSION)
			a->rc = 0;
	}
	close(fd);
	return NULL;
}

/* [K7] [K8] Nobody's compare-and-put gets lost among the others'. */
TEST_F(store, concurrent_compares)
{
	struct adder a[4] = { 0 };
	uint64_t sum = 0;
	union kv_reply r;
	int i;

	ASSERT_EQ(0, kv_put_numbered(self->fd, "sum", &sum, 8, ANY, 0, NULL));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, pthread_create(&a[i].thread, NULL, add, &a[i]));
	for (i = 0; i < 4; i++) {
		pthread_join(a[i].thread, NULL);
		EXPECT_EQ(0, a[i].rc);
	}
	ASSERT_EQ(0, kv_get(self->fd, "sum", 8, 0, &r));
	memcpy(&sum, r.get.value, 8);
	EXPECT_EQ(200, sum);
	EXPECT_EQ(0, kv_delete(self->fd, "sum", ANY));
}

/* --- check ----------------------------------------------------------------------------- */

struct checked {
	uint64_t seen[2];		/* by part */
	uint64_t unaccounted;
	uint64_t of[PMOF_KV_FAULT_MAX];
	uint64_t faults, at;		/* the last one's slot */
};

/* From @at on; but for all of it, @at is 0, only a piece. */
static int check_part(int fd, uint32_t part, uint64_t at, struct checked *c)
{
	struct pmof_kv_check m = { .part = part, .at = at };
	union kv_reply r;
	uint32_t i;
	int rc;

	do {
		rc = kv_status(fd, PMOF_KV_CHECK, &m, sizeof(m), &r);
		if (rc)
			return rc;
		m.at = r.check.at;
		m.skip = r.check.skip;
		c->seen[part] += r.check.seen;
		c->unaccounted += r.check.unaccounted;
		for (i = 0; i < r.check.count; i++, c->faults++) {
			c->of[r.check.fault[i].kind]++;
			c->at = r.check.fault[i].offset;
		}
	} while (!at && !(r.check.flags & PMOF_KV_CHECK_F_END));
	return 0;
}

/* All of the store, or what is behind @at and the index. */
static struct checked check(int fd, uint64_t at)
{
	struct checked c = { 0 };

	if (check_part(fd, PMOF_KV_CHECK_SLOTS, at, &c) ||
	    check_part(fd, PMOF_KV_CHECK_INDEX, 0, &c))
		c.faults = UINT64_MAX;
	return c;
}

/* What spoils an object by a WRITE, which nobody can refuse, is found. */
#define FINDS(kind, slot) do {							\
	struct checked _c = check(self->fd, slot);				\
	EXPECT_EQ(1, _c.faults);						\
	EXPECT_EQ(1, _c.of[PMOF_KV_FAULT_##kind]) TH_LOG(#kind);		\
	EXPECT_EQ((slot), _c.at);						\
} while (0)

TEST_F_TIMEOUT(store, checked, 120)
{
	char object[64], free_slot[64], spoilt[64];
	struct checked c = check(self->fd, 0);
	union kv_reply r;
	uint64_t at, other;

	EXPECT_EQ(0, c.faults);
	EXPECT_EQ(0, c.unaccounted);
	ASSERT_EQ(0, kv_put(self->fd, "k1", "value", ANY, NULL));
	c = check(self->fd, 0);
	EXPECT_EQ(0, c.faults);
	EXPECT_EQ(kv_stat(self->fd, PMOF_KV_STAT_KEYS), c.seen[0]);
	EXPECT_EQ(c.seen[0], c.seen[1]);

	ASSERT_EQ(0, kv_get(self->fd, "k1", 0, 0, &r));
	at = r.get.offset;
	ASSERT_EQ(0, vm_get(self->fd, at, object, 64));
	memcpy(spoilt, object, 64);
	spoilt[39] ^= 0x40;		/* VF: header, key and value have 31 bytes */
	ASSERT_EQ(0, vm_put(self->fd, at, spoilt, 64, 0));
	FINDS(TRAILER, at);
	memcpy(spoilt, object, 64);
	spoilt[0] ^= 1;
	ASSERT_EQ(0, vm_put(self->fd, at, spoilt, 64, 0));
	FINDS(ENTRY, at);
	ASSERT_EQ(0, vm_put(self->fd, at, object, 64, 0));

	/* Slots that have never been used hold zeros. */
	for (other = at + 64; ; other += 64) {
		ASSERT_EQ(0, vm_get(self->fd, other, free_slot, 64));
		if (!free_slot[0])
			break;
	}
	ASSERT_EQ(0, vm_put(self->fd, other, object, 64, 0));
	FINDS(STRAY, other);
	memset(object + 32, 0, 8);
	ASSERT_EQ(0, vm_put(self->fd, other, object, 64, 0));
	FINDS(HEADER, other);
	ASSERT_EQ(0, vm_put(self->fd, other, free_slot, 64, 0));
	EXPECT_EQ(0, check(self->fd, other).faults);
	EXPECT_EQ(0, kv_delete(self->fd, "k1", ANY));
}

TEST_HARNESS_MAIN
