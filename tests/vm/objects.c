// SPDX-License-Identifier: GPL-2.0
/*
 * Committed objects in single calls: PREPARE, committed puts, VALID gets,
 * REVALIDATE, what they refuse. By the method of the connection that is up.
 */
#include "window.h"
#include "../../kmod/common/object.h"

/* Offsets below are in the window. */
static uint64_t trailer_at(int fd, uint64_t off, uint64_t len)
{
	uint64_t word = 0;

	if (vm_get(fd, WINDOW_OFF + off + len - 8, &word, 8))
		abort();
	return word;
}

static int prepare(int fd, uint64_t off, uint64_t len, uint64_t *generation)
{
	return vm_prepare(fd, WINDOW_OFF + off, len, generation);
}

static int commit(int fd, uint64_t off, const void *buf, uint64_t len, uint64_t generation)
{
	return vm_commit(fd, WINDOW_OFF + off, buf, len, generation);
}

static int get_valid(int fd, uint64_t off, void *buf, uint64_t len, uint64_t *generation)
{
	return vm_get_valid(fd, WINDOW_OFF + off, buf, len, generation);
}

static int revalidate(int fd, uint64_t off, uint64_t len, uint64_t *generation)
{
	return vm_revalidate(fd, WINDOW_OFF + off, len, generation);
}

/* Only the server looks at the trailer, so only with it in the way can it tell. */
static bool tells_stale(const struct pmof_info *info)
{
	uint32_t silent = 1 << PMOF_METHOD_READ | 1 << PMOF_METHOD_FLUSH;

	return info->method == PMOF_METHOD_ASSIST || info->method == PMOF_METHOD_RPC ||
	       (info->method == PMOF_METHOD_AUTO && !(info->methods & silent));
}

/* --- the life of an object -------------------------------------------------- */

/* One turn: prepared, committed, got; data and trailer as they must be at each step. */
static void turn(struct __test_metadata *_metadata, int fd, uint64_t off, uint64_t len,
		 uint64_t *state)
{
	uint64_t before = trailer_at(fd, off, len), g = 0, got_g = 0;
	char *data = vm_pages(len), *old = vm_pages(len), *got = vm_pages(len);

	ASSERT_EQ(0, vm_get(fd, WINDOW_OFF + off, old, len));
	ASSERT_EQ(0, prepare(fd, off, len, &g));
	EXPECT_EQ(pmof_trailer_generation(pmof_trailer_next(before)), g);
	EXPECT_EQ(pmof_trailer_prepared(g), trailer_at(fd, off, len));
	EXPECT_EQ(-EAGAIN, get_valid(fd, off, got, len, &got_g));
	ASSERT_EQ(0, vm_get(fd, WINDOW_OFF + off, got, len));
	EXPECT_EQ(0, memcmp(old, got, len - 8)) TH_LOG("PREPARE has changed the data");
	vm_fill(state, data, len);
	ASSERT_EQ(0, commit(fd, off, data, len, g)) TH_LOG("%llu bytes", (unsigned long long)len);
	EXPECT_EQ(pmof_trailer_committed(g), trailer_at(fd, off, len));
	memset(got, 0, len);
	ASSERT_EQ(0, get_valid(fd, off, got, len, &got_g));
	EXPECT_EQ(g, got_g);
	EXPECT_EQ(0, memcmp(data, got, len - 8)) TH_LOG("%llu bytes", (unsigned long long)len);
	munmap(data, len);
	munmap(old, len);
	munmap(got, len);
}

TEST_F(window, committed_objects_of_every_size)
{
	static const uint64_t sizes[] = {
		16, 24, 56, 64, 72, 128, 512, 1024, 4040, 4048, 4056, 4064, 4096, 8192,
		65536, 65544, 1048576,
	};
	uint64_t state = 3, off = 64;
	size_t i;

	self->may_change = true;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		turn(_metadata, self->fd, off, sizes[i], &state);
		turn(_metadata, self->fd, off, sizes[i], &state);
		/* What lies around it is as it was. */
		ASSERT_EQ(0, vm_get(self->fd, WINDOW_OFF + off - 8, self->now, 8));
		EXPECT_EQ(0, memcmp(self->before + off - 8, self->now, 8));
		ASSERT_EQ(0, vm_get(self->fd, WINDOW_OFF + off + sizes[i], self->now, 8));
		EXPECT_EQ(0, memcmp(self->before + off + sizes[i], self->now, 8));
		off += sizes[i] + 8;
	}
}

/* Data in two segments, the trailer alone in the second, at either side of the boundary. */
TEST_F(window, objects_across_segments)
{
	uint64_t seg = self->info.segment_size, at, state = 4;
	static const struct { uint64_t before, len; } cases[] = {
		{ 64, 128 }, { 8, 16 }, { 16, 24 }, { 56, 64 }, { 4096, 4104 }, { 8, 4096 },
		{ 32768, 65536 }, { 4048, 4056 },
	};
	size_t i;

	self->may_change = true;
	if (seg >= self->info.ns_size)
		SKIP(return, "the namespace has one segment");
	at = seg - WINDOW_OFF;
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		turn(_metadata, self->fd, at - cases[i].before, cases[i].len, &state);
}

TEST_F(window, never_prepared)
{
	uint64_t g;

	EXPECT_EQ(-EAGAIN, get_valid(self->fd, 0, self->now, 4096, &g));
	EXPECT_EQ(-EAGAIN, revalidate(self->fd, 0, 4096, &g));
}

/* Prepared twice, committed with the second generation only. */
TEST_F(window, prepared_again)
{
	uint64_t first, second, g;

	self->may_change = true;
	ASSERT_EQ(0, prepare(self->fd, 0, 256, &first));
	ASSERT_EQ(0, prepare(self->fd, 0, 256, &second));
	EXPECT_EQ(first + 1, second);
	EXPECT_EQ(-EAGAIN, get_valid(self->fd, 0, self->now, 256, &g));
	ASSERT_EQ(0, commit(self->fd, 0, self->before, 256, second));
	EXPECT_EQ(0, get_valid(self->fd, 0, self->now, 256, &g));
	EXPECT_EQ(second, g);
}

/* A generation at its end does not become zero. */
TEST_F(window, last_generation)
{
	uint64_t word = pmof_trailer_committed(PMOF_GENERATION_MASK), g;

	self->may_change = true;
	ASSERT_EQ(0, vm_put(self->fd, WINDOW_OFF + 56, &word, 8, PMOF_F_PERSIST));
	EXPECT_EQ(0, get_valid(self->fd, 0, self->now, 64, &g));
	EXPECT_EQ(PMOF_GENERATION_MASK, g);
	ASSERT_EQ(0, prepare(self->fd, 0, 64, &g));
	EXPECT_EQ(1, g);
	ASSERT_EQ(0, commit(self->fd, 0, self->before, 64, g));
	EXPECT_EQ(0, get_valid(self->fd, 0, self->now, 64, &g));
}

/* What a reader must not take for committed, each flag wrong in its own way. */
TEST_F(window, trailers_that_are_not_valid)
{
	const uint64_t good = pmof_trailer_committed(0x123456), words[] = {
		0, 0x123456, pmof_trailer_persistent(0x123456), good ^ 1, good ^ 1ULL << 48,
		good ^ 2ULL << 48, good ^ 1ULL << 56, good ^ 0x80ULL << 56,
		good ^ 1ULL << 40, ~0ULL, 0x8001ULL << 48,
	};
	uint64_t g;
	size_t i;

	self->may_change = true;
	for (i = 0; i < ARRAY_SIZE(words); i++) {
		ASSERT_EQ(0, vm_put(self->fd, WINDOW_OFF + 120, &words[i], 8, PMOF_F_PERSIST));
		EXPECT_EQ(-EAGAIN, get_valid(self->fd, 64, self->now, 64, &g))
			TH_LOG("%016llx", (unsigned long long)words[i]);
	}
	ASSERT_EQ(0, vm_put(self->fd, WINDOW_OFF + 120, &good, 8, PMOF_F_PERSIST));
	EXPECT_EQ(0, get_valid(self->fd, 64, self->now, 64, &g));
}

/* --- a wrong generation ------------------------------------------------------- */

TEST_F(window, stale_generation)
{
	uint64_t g, word, other;
	char data[64] = { 0 };
	size_t i;

	self->may_change = true;
	if (!tells_stale(&self->info))
		SKIP(return, "method %u cannot tell", self->info.method);
	/* Never prepared; the data may have been written by then, the trailer never. */
	word = trailer_at(self->fd, 0, 64);
	EXPECT_EQ(-ESTALE, commit(self->fd, 0, data, 64, 5));
	EXPECT_EQ(word, trailer_at(self->fd, 0, 64));
	ASSERT_EQ(0, prepare(self->fd, 0, 64, &g));
	for (i = 0; i < 4; i++) {
		other = i == 0 ? g - 1 : i == 1 ? g + 1 : i == 2 ? g ^ 1ULL << 47 :
			(g ^ 0x100) & PMOF_GENERATION_MASK;
		EXPECT_EQ(-ESTALE, commit(self->fd, 0, data, 64, other & PMOF_GENERATION_MASK));
		EXPECT_EQ(pmof_trailer_prepared(g), trailer_at(self->fd, 0, 64));
	}
	ASSERT_EQ(0, commit(self->fd, 0, data, 64, g));
	/* Committed already. */
	EXPECT_EQ(-ESTALE, commit(self->fd, 0, data, 64, g));
	EXPECT_EQ(pmof_trailer_committed(g), trailer_at(self->fd, 0, 64));
}

/* By rpc the server looks before it writes. */
TEST_F(window, stale_rpc_writes_nothing)
{
	char data[512] = { 0 };

	if (self->info.method != PMOF_METHOD_RPC)
		SKIP(return, "not this method's");
	EXPECT_EQ(-ESTALE, commit(self->fd, 0, data, 64, 5));
	EXPECT_EQ(-ESTALE, commit(self->fd, 64, data, 512, 5));
}

/* --- REVALIDATE ------------------------------------------------------------- */

/* What a crash between PF and VF leaves, and other states that recovery meets. */
TEST_F(window, revalidate_after_a_crash)
{
	const uint64_t g0 = 0xabcdefULL, pf = pmof_trailer_persistent(g0);
	const struct { uint64_t word; int rc; } cases[] = {
		{ pf, 0 },
		{ pmof_trailer_committed(g0), 0 },
		{ pf | 0x80ULL << 56, 0 },		/* a VF that is none */
		{ pf | 0xffULL << 56, 0 },
		{ pmof_trailer_prepared(g0), -EAGAIN },
		{ pmof_trailer_prepared(g0) | (uint64_t)pmof_vf(g0) << 56, -EAGAIN },
		{ g0 | 2ULL << 48, -EAGAIN },
		{ 0, -EAGAIN }, { ~0ULL, -EAGAIN }, { 1ULL << 48, -EAGAIN },
	};
	uint64_t g, got;
	size_t i;

	self->may_change = true;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ASSERT_EQ(0, vm_put(self->fd, WINDOW_OFF + 1016, &cases[i].word, 8, PMOF_F_PERSIST));
		g = 0;
		EXPECT_EQ(cases[i].rc, revalidate(self->fd, 0, 1024, &g)) TH_LOG("case %zu", i);
		if (cases[i].rc) {
			EXPECT_EQ(cases[i].word, trailer_at(self->fd, 0, 1024));
			EXPECT_EQ(-EAGAIN, get_valid(self->fd, 0, self->now, 1024, &got));
			continue;
		}
		EXPECT_EQ(g0, g) TH_LOG("case %zu", i);
		EXPECT_EQ(pmof_trailer_committed(g0), trailer_at(self->fd, 0, 1024));
		ASSERT_EQ(0, get_valid(self->fd, 0, self->now, 1024, &got));
		EXPECT_EQ(g0, got);
		EXPECT_EQ(0, memcmp(self->before, self->now, 1016));
	}
}

/* --- refused: the fixture sees that nothing has changed ------------------------ */

static const struct { uint64_t off, len; } bad_shapes[] = {
	{ 1, 64 }, { 4, 64 }, { 7, 65 }, { 0, 63 }, { 0, 65 }, { 0, 20 }, { 0, 8 }, { 0, 0 },
	{ 8, 12 }, { 0, 1 }, { 0, 9 }, { 0, ~0ULL },
};

TEST_F(window, bad_shapes)
{
	uint64_t g;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad_shapes); i++) {
		uint64_t off = bad_shapes[i].off, len = bad_shapes[i].len;

		EXPECT_EQ(-EINVAL, prepare(self->fd, off, len, &g)) TH_LOG("case %zu", i);
		EXPECT_EQ(-EINVAL, revalidate(self->fd, off, len, &g)) TH_LOG("case %zu", i);
		EXPECT_EQ(-EINVAL, get_valid(self->fd, off, self->now, len, &g))
			TH_LOG("case %zu", i);
		EXPECT_EQ(-EINVAL, commit(self->fd, off, self->now, len, 1)) TH_LOG("case %zu", i);
	}
	EXPECT_EQ(-EINVAL, commit(self->fd, 0, self->now, 64, 0));
	EXPECT_EQ(-EINVAL, commit(self->fd, 0, self->now, 64, PMOF_GENERATION_MASK + 1));
	EXPECT_EQ(-EINVAL, commit(self->fd, 0, self->now, 64, ~0ULL));
}

TEST_F(window, bad_flags)
{
	struct pmof_rw rw = { .size = sizeof(rw), .offset = WINDOW_OFF, .length = 64,
			      .addr = (uintptr_t)self->now };
	static const uint32_t put[] = { PMOF_F_VALID, PMOF_F_VALID | PMOF_F_COMMIT, 16, 1U << 31 };
	static const uint32_t get[] = { PMOF_F_COMMIT, PMOF_F_PERSIST, PMOF_F_VALID | PMOF_F_COMMIT,
					PMOF_F_VALID | PMOF_F_PERSIST, 16, 1U << 31 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(put); i++) {
		rw.flags = put[i];
		rw.generation = put[i] & PMOF_F_COMMIT ? 1 : 0;
		EXPECT_EQ(-EINVAL, vm_ioctl(self->fd, PMOF_IOC_PUT, &rw)) TH_LOG("%#x", put[i]);
	}
	rw.generation = 0;
	for (i = 0; i < ARRAY_SIZE(get); i++) {
		rw.flags = get[i];
		EXPECT_EQ(-EINVAL, vm_ioctl(self->fd, PMOF_IOC_GET, &rw)) TH_LOG("%#x", get[i]);
	}
	/* A generation that means nothing. */
	rw.generation = 1;
	rw.flags = 0;
	EXPECT_EQ(-EINVAL, vm_ioctl(self->fd, PMOF_IOC_PUT, &rw));
	EXPECT_EQ(-EINVAL, vm_ioctl(self->fd, PMOF_IOC_GET, &rw));
	rw.flags = PMOF_F_PERSIST;
	EXPECT_EQ(-EINVAL, vm_ioctl(self->fd, PMOF_IOC_PUT, &rw));
}

TEST_F(window, bad_structures)
{
	static const unsigned long cmds[] = { PMOF_IOC_PREPARE, PMOF_IOC_REVALIDATE };
	struct { struct pmof_object o; uint64_t tail; } big;
	uint32_t size;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cmds); i++) {
		big.o = (struct pmof_object){ .size = sizeof(big.o), .flags = 1,
					      .offset = WINDOW_OFF, .length = 64 };
		EXPECT_EQ(-EINVAL, vm_ioctl(self->fd, cmds[i], &big));
		big.o.flags = 1U << 31;
		EXPECT_EQ(-EINVAL, vm_ioctl(self->fd, cmds[i], &big));
		big.o.flags = 0;
		for (size = 0; size < sizeof(big.o); size++) {
			big.o.size = size;
			EXPECT_EQ(-EINVAL, vm_ioctl(self->fd, cmds[i], &big)) TH_LOG("%u", size);
		}
		big.o.size = sizeof(big);
		big.tail = 1;
		EXPECT_EQ(-E2BIG, vm_ioctl(self->fd, cmds[i], &big));
		EXPECT_EQ(-EFAULT, vm_ioctl(self->fd, cmds[i], NULL));
	}
}

TEST_F(window, past_the_end)
{
	uint64_t size = self->info.ns_size, g;
	const struct { uint64_t off, len; } cases[] = {
		{ size, 64 }, { size - 56, 64 }, { size - 8, 16 }, { 0, size + 8 },
		{ ~0ULL - 7, 64 }, { 64, ~0ULL - 7 }, { 1ULL << 63, 1ULL << 63 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t off = cases[i].off, len = cases[i].len;

		EXPECT_EQ(-ERANGE, vm_prepare(self->fd, off, len, &g)) TH_LOG("case %zu", i);
		EXPECT_EQ(-ERANGE, vm_revalidate(self->fd, off, len, &g)) TH_LOG("case %zu", i);
		EXPECT_EQ(-ERANGE, vm_get_valid(self->fd, off, self->now, len, &g))
			TH_LOG("case %zu", i);
		EXPECT_EQ(-ERANGE, vm_commit(self->fd, off, self->now, len, 1))
			TH_LOG("case %zu", i);
	}
}

TEST_F(window, bad_pointers)
{
	char *edge = vm_edge(64);
	uint64_t g;

	self->may_change = true;
	EXPECT_EQ(-EFAULT, commit(self->fd, 0, NULL, 64, 1));
	EXPECT_EQ(-EFAULT, commit(self->fd, 0, edge, 4096, 1));
	ASSERT_EQ(0, vm_get(self->fd, WINDOW_OFF, self->now, 4096));
	EXPECT_EQ(0, memcmp(self->before, self->now, 4096)) TH_LOG("a refused put has written");
	ASSERT_EQ(0, prepare(self->fd, 0, 4096, &g));
	EXPECT_EQ(-EFAULT, commit(self->fd, 0, edge, 4096, g));
	EXPECT_EQ(pmof_trailer_prepared(g), trailer_at(self->fd, 0, 4096));
	ASSERT_EQ(0, commit(self->fd, 0, self->before, 4096, g));
	EXPECT_EQ(-EFAULT, get_valid(self->fd, 0, NULL, 4096, &g));
	EXPECT_EQ(-EFAULT, get_valid(self->fd, 0, edge, 4096, &g));
}

TEST_F(window, the_wrong_mode)
{
	int ro = vm_open(self->instance, O_RDONLY), wo = vm_open(self->instance, O_WRONLY);
	uint64_t g;

	ASSERT_LE(0, ro);
	ASSERT_LE(0, wo);
	EXPECT_EQ(-EBADF, prepare(ro, 0, 64, &g));
	EXPECT_EQ(-EBADF, revalidate(ro, 0, 64, &g));
	EXPECT_EQ(-EBADF, commit(ro, 0, self->before, 64, 1));
	EXPECT_EQ(-EBADF, get_valid(wo, 0, self->now, 64, &g));
	EXPECT_EQ(-EAGAIN, get_valid(ro, 0, self->now, 64, &g));
	close(ro);
	close(wo);
}

TEST_F(window, a_read_only_session)
{
	int instance = vm_connect("read_only=1,queues=1"), fd;
	uint64_t g, word = pmof_trailer_committed(9);

	ASSERT_LE(0, instance);
	fd = vm_open(instance, O_RDWR);
	ASSERT_LE(0, fd);
	EXPECT_EQ(-EROFS, prepare(fd, 0, 64, &g));
	EXPECT_EQ(-EROFS, revalidate(fd, 0, 64, &g));
	EXPECT_EQ(-EROFS, commit(fd, 0, self->before, 64, 1));
	EXPECT_EQ(-EAGAIN, get_valid(fd, 0, self->now, 64, &g));
	ASSERT_EQ(0, vm_get(self->fd, WINDOW_OFF, self->now, 64));
	EXPECT_EQ(0, memcmp(self->before, self->now, 64));
	self->may_change = true;
	ASSERT_EQ(0, vm_put(self->fd, WINDOW_OFF + 56, &word, 8, PMOF_F_PERSIST));
	EXPECT_EQ(0, get_valid(fd, 0, self->now, 64, &g));
	EXPECT_EQ(9, g);
	close(fd);
	EXPECT_EQ(0, vm_disconnect(instance));
}

TEST_HARNESS_MAIN
