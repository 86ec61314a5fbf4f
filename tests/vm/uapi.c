// SPDX-License-Identifier: GPL-2.0
/*
 * The ioctls' contract with bad callers: sizes, reserved fields, flags, ranges,
 * pointers, open modes. (submit.c has the rules of SUBMIT, objects.c those of objects.)
 */
#include "window.h"

/* --- one good request per ioctl ------------------------------------------- */

struct call {
	const char *name;
	unsigned long cmd;
	size_t size;
	bool flags_in;		/* @flags is an input */
	uint32_t known;		/* flags that it takes */
};

static const struct call calls[] = {
	{ "GET_INFO", PMOF_IOC_GET_INFO, sizeof(struct pmof_info), false, 0 },
	{ "PUT", PMOF_IOC_PUT, sizeof(struct pmof_rw), true,
	  PMOF_F_PERSIST | PMOF_F_COMMIT | PMOF_F_NOREPLAY },
	{ "GET", PMOF_IOC_GET, sizeof(struct pmof_rw), true, PMOF_F_VALID | PMOF_F_NOREPLAY },
	{ "PERSIST", PMOF_IOC_PERSIST, sizeof(struct pmof_persist), true, PMOF_F_NOREPLAY },
	{ "CAS", PMOF_IOC_CAS, sizeof(struct pmof_atomic), true,
	  PMOF_F_PERSIST | PMOF_F_NOREPLAY },
	{ "FETCH_ADD", PMOF_IOC_FETCH_ADD, sizeof(struct pmof_atomic), true,
	  PMOF_F_PERSIST | PMOF_F_NOREPLAY },
	{ "SUBMIT", PMOF_IOC_SUBMIT, sizeof(struct pmof_submit), true, 0 },
};

static char data[4096];
static struct pmof_op one_op;

/* A request that succeeds and leaves the window as the fixture filled it. */
static void good(unsigned long cmd, void *buf, const char *before)
{
	struct pmof_rw rw = { sizeof(rw), 0, WINDOW_OFF, 64, (uintptr_t)data, 0 };
	struct pmof_persist p = { sizeof(p), 0, WINDOW_OFF, 64 };
	struct pmof_atomic a = { sizeof(a), 0, WINDOW_OFF, 0, 0, 0 };
	struct pmof_submit s = { sizeof(s), 0, (uintptr_t)&one_op, 1, 0 };
	struct pmof_info info = { .size = sizeof(info) };

	memcpy(data, before, sizeof(data));
	one_op = (struct pmof_op){ .size = sizeof(one_op), .opcode = PMOF_OP_GET,
				   .offset = WINDOW_OFF, .length = 64, .addr = (uintptr_t)data };
	switch (cmd) {
	case PMOF_IOC_GET_INFO:
		memcpy(buf, &info, sizeof(info));
		break;
	case PMOF_IOC_PUT:
	case PMOF_IOC_GET:
		memcpy(buf, &rw, sizeof(rw));
		break;
	case PMOF_IOC_PERSIST:
		memcpy(buf, &p, sizeof(p));
		break;
	case PMOF_IOC_CAS:
	case PMOF_IOC_FETCH_ADD:
		memcpy(buf, &a, sizeof(a));
		break;
	case PMOF_IOC_SUBMIT:
		memcpy(buf, &s, sizeof(s));
		break;
	}
}

static int sized(int fd, const struct call *c, const char *before, uint32_t size, int tail_byte)
{
	/* Exactly @size bytes, then a hole. */
	size_t room = size > c->size ? size : c->size;
	char *buf = vm_edge(room);
	int rc;

	memset(buf, 0, room);
	good(c->cmd, buf, before);
	*(uint32_t *)buf = size;
	if (tail_byte >= 0)
		buf[tail_byte] = 1;
	rc = vm_ioctl(fd, c->cmd, buf);
	munmap((void *)((uintptr_t)buf & ~4095UL), (room + 4095) / 4096 * 4096 + 4096);
	return rc;
}

TEST_F(window, exact_size)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		EXPECT_EQ(0, sized(self->fd, &calls[i], self->before, calls[i].size, -1))
			TH_LOG("%s", calls[i].name);
}

TEST_F(window, size_too_short)
{
	size_t i;
	uint32_t size;

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		for (size = 0; size < calls[i].size; size++)
			EXPECT_EQ(-EINVAL, sized(self->fd, &calls[i], self->before, size, -1))
				TH_LOG("%s of %u bytes", calls[i].name, size);
}

TEST_F(window, size_longer_zero_tail)
{
	static const uint32_t more[] = { 1, 4, 8, 64, 1000 };
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		for (j = 0; j < ARRAY_SIZE(more); j++)
			EXPECT_EQ(0, sized(self->fd, &calls[i], self->before,
					   calls[i].size + more[j], -1))
				TH_LOG("%s + %u", calls[i].name, more[j]);
}

TEST_F(window, size_longer_non_zero_tail)
{
	static const uint32_t more[] = { 1, 4, 8, 64, 1000 };
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(calls); i++)
		for (j = 0; j < ARRAY_SIZE(more); j++) {
			uint32_t size = calls[i].size + more[j];

			EXPECT_EQ(-E2BIG, sized(self->fd, &calls[i], self->before, size, size - 1))
				TH_LOG("%s + %u, last byte", calls[i].name, more[j]);
			EXPECT_EQ(-E2BIG, sized(self->fd, &calls[i], self->before, size,
						calls[i].size))
				TH_LOG("%s + %u, first byte", calls[i].name, more[j]);
		}
}

/* A size that reaches past what is mapped, or past everything. */
TEST_F(window, size_lies)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		char *buf = vm_edge(calls[i].size);
		int rc;

		good(calls[i].cmd, buf, self->before);
		*(uint32_t *)buf = calls[i].size + 8;
		EXPECT_EQ(-EFAULT, vm_ioctl(self->fd, calls[i].cmd, buf));
		*(uint32_t *)buf = UINT32_MAX;
		rc = vm_ioctl(self->fd, calls[i].cmd, buf);
		EXPECT_TRUE(rc == -EFAULT || rc == -E2BIG || rc == -EINVAL)
			TH_LOG("%s of 4 GiB - 1: %d", calls[i].name, rc);
	}
}

TEST_F(window, bad_struct_pointer)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		char *buf = vm_pages(4096);

		EXPECT_EQ(-EFAULT, vm_ioctl(self->fd, calls[i].cmd, NULL));
		EXPECT_EQ(-EFAULT, vm_ioctl(self->fd, calls[i].cmd, (void *)-4096L));
		EXPECT_EQ(-EFAULT, vm_ioctl(self->fd, calls[i].cmd, (void *)0xffff888000000000UL));
		/* The size is readable, the rest is not. */
		buf += 4096 - 4;
		*(uint32_t *)buf = calls[i].size;
		EXPECT_EQ(-EFAULT, vm_ioctl(self->fd, calls[i].cmd, buf));
	}
}

TEST_F(window, unknown_flags)
{
	char buf[256];
	unsigned int bit;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		if (!calls[i].flags_in)
			continue;
		for (bit = 0; bit < 32; bit++) {
			if (calls[i].known & (1U << bit))
				continue;
			good(calls[i].cmd, buf, self->before);
			((uint32_t *)buf)[1] = 1U << bit;
			EXPECT_EQ(-EINVAL, vm_ioctl(self->fd, calls[i].cmd, buf))
				TH_LOG("%s with flag bit %u", calls[i].name, bit);
		}
	}
}

TEST_F(window, reserved_fields)
{
	struct pmof_submit s;
	struct pmof_atomic a;

	good(PMOF_IOC_SUBMIT, &s, self->before);
	s.reserved = 1;
	EXPECT_EQ(-EINVAL, vm_ioctl(self->fd, PMOF_IOC_SUBMIT, &s));
	good(PMOF_IOC_FETCH_ADD, &a, self->before);
	a.compare = 1;
	EXPECT_EQ(-EINVAL, vm_ioctl(self->fd, PMOF_IOC_FETCH_ADD, &a));
}

TEST_F(window, unknown_ioctls)
{
	unsigned int nr;
	char buf[256] = { 0 };

	*(uint32_t *)buf = sizeof(buf);
	for (nr = 0; nr < 256; nr++) {
		if (nr <= 0x08)
			continue;
		EXPECT_EQ(-ENOTTY, vm_ioctl(self->fd, _IO(PMOF_IOC_MAGIC, nr), buf))
			TH_LOG("number %u", nr);
	}
	EXPECT_EQ(-ENOTTY, vm_ioctl(self->fd, _IO(PMOF_IOC_MAGIC + 1, 1), buf));
	EXPECT_EQ(-ENOTTY, vm_ioctl(self->fd, _IOW(PMOF_IOC_MAGIC, 1, struct pmof_rw), buf));
	EXPECT_EQ(-ENOTTY, vm_ioctl(self->fd, 0x5401 /* TCGETS */, buf));
}

/* --- GET_INFO ------------------------------------------------------------- */

TEST_F(window, info_values)
{
	struct pmof_info *i = &self->info;
	char generation[32];

	EXPECT_EQ(sizeof(*i), i->size);
	EXPECT_EQ(vm_attr_number(self->instance, "size"), i->ns_size);
	EXPECT_EQ(vm_attr_number(self->instance, "segment_size"), i->segment_size);
	EXPECT_EQ(0, i->segment_size & (i->segment_size - 1));
	EXPECT_EQ(PMOF_SUBMIT_MAX, i->max_submit);
	EXPECT_TRUE(i->method == PMOF_METHOD_AUTO || i->methods & (1U << i->method));
	EXPECT_NE(0, i->generation);
	snprintf(generation, sizeof(generation), "%016llx", (unsigned long long)i->generation);
	EXPECT_TRUE(vm_attr_is(self->instance, "generation", generation));
	EXPECT_STREQ(vm_env("PMOF_NS", "data"), i->name);
	EXPECT_TRUE(i->flags & PMOF_INFO_DURABLE);
	EXPECT_FALSE(i->flags & PMOF_INFO_READ_ONLY);
	EXPECT_TRUE(i->features & PMOF_FEAT_ATOMICS);
	EXPECT_EQ(vm_attr_number(self->instance, "queues"), i->nr_queues);
	/* The block device has the other half. */
	EXPECT_EQ(vm_attr_number(self->instance, "depth") /
		  (vm_attr_is(self->instance, "block", "") ? 1 : 2), i->queue_depth);
}

/* soft-RoCE leaves its writes in the cache: read only where that is enough. */
TEST_F(window, info_domain_and_methods)
{
	bool cpu = !strcmp(vm_env("LAB_DOMAIN", "mem-ctrl"), "cpu");

	EXPECT_EQ(cpu ? PMOF_DOMAIN_CPU_CACHE : PMOF_DOMAIN_MEMORY_CONTROLLER, self->info.domain);
	EXPECT_EQ(cpu, !!(self->info.methods & (1U << PMOF_METHOD_READ)));
	EXPECT_TRUE(self->info.methods & (1U << PMOF_METHOD_ASSIST));
	EXPECT_TRUE(self->info.methods & (1U << PMOF_METHOD_RPC));
	EXPECT_EQ(PMOF_METHOD_AUTO, self->info.method);
	EXPECT_LE(1024, self->info.max_rpc);
}

TEST_F(window, info_tail_is_zeroed)
{
	char buf[sizeof(struct pmof_info) + 16] = { 0 };

	*(uint32_t *)buf = sizeof(buf);
	ASSERT_EQ(0, vm_ioctl(self->fd, PMOF_IOC_GET_INFO, buf));
	EXPECT_EQ(0, memcmp(buf + 8, (char *)&self->info + 8, sizeof(self->info) - 8));
	EXPECT_EQ(0, buf[sizeof(struct pmof_info)]);
	EXPECT_EQ(0, buf[sizeof(buf) - 1]);
}

/* --- ranges --------------------------------------------------------------- */

TEST_F(window, ranges)
{
	uint64_t size = self->info.ns_size;
	const struct {
		uint64_t off, len;
	} past[] = {
		{ size, 1 }, { size - 1, 2 }, { 0, size + 1 }, { size + 1, 0 }, { size + 1, 1 },
		{ UINT64_MAX, 1 }, { 1, UINT64_MAX }, { UINT64_MAX, UINT64_MAX },
		{ UINT64_MAX - 63, 64 }, { WINDOW_OFF, UINT64_MAX - WINDOW_OFF + 1 },
		{ 1ULL << 63, 1ULL << 63 }, { 1ULL << 63, 64 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(past); i++) {
		EXPECT_EQ(-ERANGE, vm_put(self->fd, past[i].off, data, past[i].len, 0))
			TH_LOG("PUT case %zu", i);
		EXPECT_EQ(-ERANGE, vm_put(self->fd, past[i].off, data, past[i].len, PMOF_F_PERSIST))
			TH_LOG("durable PUT case %zu", i);
		EXPECT_EQ(-ERANGE, vm_get(self->fd, past[i].off, data, past[i].len))
			TH_LOG("GET case %zu", i);
		EXPECT_EQ(-ERANGE, vm_persist(self->fd, past[i].off, past[i].len))
			TH_LOG("PERSIST case %zu", i);
	}
}

TEST_F(window, range_edges)
{
	uint64_t size = self->info.ns_size;
	char last[64], again[64];

	EXPECT_EQ(0, vm_persist(self->fd, 0, size));
	EXPECT_EQ(0, vm_persist(self->fd, size, 0));
	ASSERT_EQ(0, vm_get(self->fd, size - 64, last, 64));
	EXPECT_EQ(0, vm_put(self->fd, size - 64, last, 64, PMOF_F_PERSIST));
	EXPECT_EQ(0, vm_get(self->fd, size - 1, again, 1));
	EXPECT_EQ(last[63], again[0]);
}

TEST_F(window, zero_length)
{
	uint64_t size = self->info.ns_size;

	EXPECT_EQ(0, vm_put(self->fd, WINDOW_OFF, NULL, 0, 0));
	EXPECT_EQ(0, vm_put(self->fd, WINDOW_OFF, (void *)1, 0, PMOF_F_PERSIST));
	EXPECT_EQ(0, vm_get(self->fd, WINDOW_OFF, NULL, 0));
	EXPECT_EQ(0, vm_put(self->fd, size, data, 0, 0));
	EXPECT_EQ(0, vm_get(self->fd, size, data, 0));
	EXPECT_EQ(0, vm_persist(self->fd, WINDOW_OFF, 0));
}

/* --- atomics -------------------------------------------------------------- */

TEST_F(window, misaligned_atomics)
{
	uint64_t old, off;

	for (off = 1; off < 8; off++) {
		EXPECT_EQ(-EINVAL, vm_cas(self->fd, WINDOW_OFF + off, 0, 1, &old));
		EXPECT_EQ(-EINVAL, vm_fetch_add(self->fd, WINDOW_OFF + off, 1, &old));
	}
}

TEST_F(window, atomics_past_the_end)
{
	uint64_t end = self->info.ns_size & ~7ULL, old;
	struct pmof_op op = { .size = sizeof(op), .opcode = PMOF_OP_CAS, .offset = end,
			      .length = 8 };

	EXPECT_EQ(-ERANGE, vm_cas(self->fd, end, 0, 1, &old));
	EXPECT_EQ(-ERANGE, vm_fetch_add(self->fd, end, 1, &old));
	EXPECT_EQ(-ERANGE, vm_cas(self->fd, UINT64_MAX - 7, 0, 1, &old));
	EXPECT_NE(0, vm_submit(self->fd, &op, 1));
	EXPECT_EQ(0, vm_fetch_add(self->fd, end - 8, 0, &old));
}

/* The old value could not be told, and an atomic cannot be taken back. */
TEST_F(window, atomic_into_read_only_memory)
{
	struct pmof_atomic *a = vm_pages(4096);

	*a = (struct pmof_atomic){ .size = sizeof(*a), .offset = WINDOW_OFF, .operand = 1 };
	ASSERT_EQ(0, mprotect(a, 4096, PROT_READ));
	EXPECT_EQ(-EFAULT, vm_ioctl(self->fd, PMOF_IOC_FETCH_ADD, a));
	EXPECT_EQ(-EFAULT, vm_ioctl(self->fd, PMOF_IOC_CAS, a));
}

/* --- user buffers --------------------------------------------------------- */

/* A buffer of @len bytes whose page at @hole cannot be touched. */
static char *holed(size_t len, size_t hole)
{
	char *p = vm_pages(len);

	memset(p, 0x5a, len);
	if (mprotect(p + hole / 4096 * 4096, 4096, PROT_NONE))
		abort();
	return p;
}

TEST_F(window, bad_buffer_at_the_start)
{
	static void *const bad[] = { NULL, (void *)8, (void *)-4096L,
				     (void *)0xffff888000000000UL, (void *)0x800000000000UL };
	static const uint64_t len[] = { 1, 64, 4096, 4097, 1 << 20 };
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		for (j = 0; j < ARRAY_SIZE(len); j++) {
			EXPECT_EQ(-EFAULT, vm_put(self->fd, WINDOW_OFF, bad[i], len[j], 0));
			EXPECT_EQ(-EFAULT, vm_put(self->fd, WINDOW_OFF, bad[i], len[j],
						  PMOF_F_PERSIST));
			EXPECT_EQ(-EFAULT, vm_get(self->fd, WINDOW_OFF, bad[i], len[j]));
		}
}

/* The contract: EFAULT, and nothing was written, not even what came before. */
TEST_F(window, hole_in_the_middle_of_a_put)
{
	static const size_t len[] = { 5000, 64 * KiB, 4 * MiB };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(len); i++) {
		size_t at[] = { 4096, len[i] / 2, len[i] - 1 };
		size_t j;

		for (j = 0; j < ARRAY_SIZE(at); j++) {
			char *p = holed(len[i], at[j]);

			EXPECT_EQ(-EFAULT, vm_put(self->fd, WINDOW_OFF, p, len[i], 0))
				TH_LOG("%zu bytes, hole at %zu", len[i], at[j]);
			EXPECT_EQ(-EFAULT, vm_put(self->fd, WINDOW_OFF, p, len[i], PMOF_F_PERSIST));
			EXPECT_EQ(0, vm_get(self->fd, WINDOW_OFF, self->now, len[i]));
			EXPECT_EQ(0, memcmp(self->before, self->now, len[i]))
				TH_LOG("%zu bytes, hole at %zu: written", len[i], at[j]);
			munmap(p, len[i]);
		}
	}
}

TEST_F(window, hole_in_a_small_put)
{
	char *p = vm_pages(4096);	/* a hole follows */

	EXPECT_EQ(-EFAULT, vm_put(self->fd, WINDOW_OFF, p + 4096 - 10, 64, 0));
	EXPECT_EQ(-EFAULT, vm_put(self->fd, WINDOW_OFF, p + 4096 - 10, 64, PMOF_F_PERSIST));
	EXPECT_EQ(0, vm_put(self->fd, WINDOW_OFF, self->before, 64, 0));
}

TEST_F(window, hole_in_the_middle_of_a_get)
{
	char *p = holed(4 * MiB, 2 * MiB);
	char *q = vm_pages(8192);

	EXPECT_EQ(-EFAULT, vm_get(self->fd, WINDOW_OFF, p, 4 * MiB));
	EXPECT_EQ(0, vm_get(self->fd, WINDOW_OFF, p, 2 * MiB));
	EXPECT_EQ(0, memcmp(self->before, p, 2 * MiB));
	EXPECT_EQ(-EFAULT, vm_get(self->fd, WINDOW_OFF, q + 8192 - 10, 64));
}

TEST_F(window, get_into_read_only_memory)
{
	char *p = vm_pages(1 * MiB);

	ASSERT_EQ(0, mprotect(p, 1 * MiB, PROT_READ));
	EXPECT_EQ(-EFAULT, vm_get(self->fd, WINDOW_OFF, p, 64));
	EXPECT_EQ(-EFAULT, vm_get(self->fd, WINDOW_OFF, p, 1 * MiB));
	/* A put only reads from there. */
	ASSERT_EQ(0, mprotect(p, 1 * MiB, PROT_READ | PROT_WRITE));
	memcpy(p, self->before, 1 * MiB);
	ASSERT_EQ(0, mprotect(p, 1 * MiB, PROT_READ));
	EXPECT_EQ(0, vm_put(self->fd, WINDOW_OFF, p, 1 * MiB, 0));
}

/* The page after the data is no business of the call's. */
TEST_F(window, buffer_at_the_edge_of_a_mapping)
{
	static const size_t len[] = { 1, 63, 4095, 4097, 100001 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(len); i++) {
		char *p = vm_edge(len[i]);

		EXPECT_EQ(0, vm_get(self->fd, WINDOW_OFF, p, len[i]));
		EXPECT_EQ(0, memcmp(self->before, p, len[i]));
		EXPECT_EQ(0, vm_put(self->fd, WINDOW_OFF, p, len[i], PMOF_F_PERSIST));
	}
}

TEST_F(window, file_backed_buffer)
{
	char name[] = "/tmp/pmof-uapi-XXXXXX";
	int f = mkstemp(name);
	char *p;

	ASSERT_LE(0, f);
	unlink(name);
	ASSERT_EQ(0, ftruncate(f, 2 * MiB));
	p = mmap(NULL, 2 * MiB, PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
	ASSERT_NE(MAP_FAILED, p);
	EXPECT_EQ(0, vm_get(self->fd, WINDOW_OFF, p, 2 * MiB));
	EXPECT_EQ(0, memcmp(self->before, p, 2 * MiB));
	EXPECT_EQ(0, vm_put(self->fd, WINDOW_OFF, p, 2 * MiB, PMOF_F_PERSIST));
	/* Mapped, but past the end of the file: a bus error for the CPU. */
	ASSERT_EQ(0, ftruncate(f, 1 * MiB));
	EXPECT_EQ(-EFAULT, vm_put(self->fd, WINDOW_OFF, p, 2 * MiB, PMOF_F_PERSIST));
	munmap(p, 2 * MiB);
	close(f);
}

/* --- open modes ----------------------------------------------------------- */

TEST_F(window, read_only_file)
{
	int fd = vm_open(self->instance, O_RDONLY);
	uint64_t old;

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, vm_get(fd, WINDOW_OFF, data, 64));
	EXPECT_EQ(-EBADF, vm_put(fd, WINDOW_OFF, data, 64, 0));
	EXPECT_EQ(-EBADF, vm_put(fd, WINDOW_OFF, data, 64, PMOF_F_PERSIST));
	EXPECT_EQ(-EBADF, vm_cas(fd, WINDOW_OFF, 0, 1, &old));
	EXPECT_EQ(-EBADF, vm_fetch_add(fd, WINDOW_OFF, 1, &old));
	EXPECT_EQ(-1, pwrite(fd, data, 64, WINDOW_OFF));
	EXPECT_EQ(EBADF, errno);
	close(fd);
}

TEST_F(window, write_only_file)
{
	int fd = vm_open(self->instance, O_WRONLY);
	struct pmof_info info;

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, vm_info(fd, &info));
	EXPECT_EQ(-EBADF, vm_get(fd, WINDOW_OFF, data, 64));
	EXPECT_EQ(0, vm_put(fd, WINDOW_OFF, self->before, 64, PMOF_F_PERSIST));
	EXPECT_EQ(0, vm_persist(fd, WINDOW_OFF, 64));
	EXPECT_EQ(-1, pread(fd, data, 64, WINDOW_OFF));
	EXPECT_EQ(EBADF, errno);
	close(fd);
}

TEST_F(window, read_only_session)
{
	int instance = vm_connect("read_only=1,queues=1"), fd;
	struct pmof_info info;
	uint64_t old;

	ASSERT_LE(0, instance) TH_LOG("%s", strerror(-instance));
	EXPECT_TRUE(vm_attr_is(instance, "read_only", "1"));
	fd = vm_open(instance, O_RDWR);
	if (fd == -EROFS)	/* as good an answer as any later one */
		fd = vm_open(instance, O_RDONLY);
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, vm_info(fd, &info));
	EXPECT_TRUE(info.flags & PMOF_INFO_READ_ONLY);
	EXPECT_EQ(0, vm_get(fd, WINDOW_OFF, data, 64));
	EXPECT_EQ(0, memcmp(self->before, data, 64));
	EXPECT_EQ(-EROFS, vm_put(fd, WINDOW_OFF, data + 1, 64, 0));
	EXPECT_EQ(-EROFS, vm_put(fd, WINDOW_OFF, data + 1, 64, PMOF_F_PERSIST));
	EXPECT_EQ(-EROFS, vm_cas(fd, WINDOW_OFF, 0, 1, &old));
	EXPECT_EQ(-EROFS, vm_fetch_add(fd, WINDOW_OFF, 1, &old));
	EXPECT_EQ(-1, pwrite(fd, data + 1, 64, WINDOW_OFF));
	EXPECT_EQ(EROFS, errno);
	EXPECT_EQ(0, vm_get(fd, WINDOW_OFF, data, 64));
	EXPECT_TRUE(vm_attr_is(instance, "state", "live"));
	close(fd);
	EXPECT_EQ(0, vm_disconnect(instance));
}

/* --- other calls ---------------------------------------------------------- */

TEST_F(window, bad_buffers_of_read_and_write)
{
	char *hole = holed(4 * MiB, 2 * MiB);

	EXPECT_EQ(-1, pwrite(self->fd, NULL, 64, WINDOW_OFF));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, pread(self->fd, NULL, 64, WINDOW_OFF));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, pwrite(self->fd, hole, 4 * MiB, WINDOW_OFF)) TH_LOG("partly written");
	EXPECT_EQ(EFAULT, errno);
}

/* The user's mistakes cost only himself: another session sees nothing of them. */
TEST_F(window, mistakes_do_not_reach_other_sessions)
{
	int instance = vm_connect("queues=1"), fd, i;
	char *hole = holed(1 * MiB, 512 * KiB);
	uint64_t old;

	ASSERT_LE(0, instance);
	fd = vm_open(instance, O_RDWR);
	ASSERT_LE(0, fd);
	for (i = 0; i < 20; i++) {
		EXPECT_EQ(-EFAULT, vm_put(fd, WINDOW_OFF, hole, 1 * MiB, PMOF_F_PERSIST));
		EXPECT_EQ(-EINVAL, vm_cas(fd, WINDOW_OFF + 3, 0, 1, &old));
		EXPECT_EQ(-ERANGE, vm_get(fd, UINT64_MAX, data, 1));
		EXPECT_EQ(0, vm_get(self->fd, WINDOW_OFF, data, 64));
		EXPECT_EQ(0, memcmp(self->before, data, 64));
	}
	EXPECT_EQ(0, vm_get(fd, WINDOW_OFF, data, 64));
	EXPECT_TRUE(vm_attr_is(instance, "state", "live"));
	close(fd);
	EXPECT_EQ(0, vm_disconnect(instance));
}

TEST_HARNESS_MAIN
