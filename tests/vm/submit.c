// SPDX-License-Identifier: GPL-2.0
/* PMOF_IOC_SUBMIT: order, results, what is checked before the first one runs. */
#include "window.h"

static char data[4096];

static struct pmof_op op(uint16_t opcode, uint64_t off, uint64_t len, const void *addr)
{
	return (struct pmof_op){ .size = sizeof(struct pmof_op), .opcode = opcode,
				 .result = 12345, .offset = WINDOW_OFF + off, .length = len,
				 .addr = (uintptr_t)addr, .old = 0x6f6c64 };
}

TEST_F(window, runs_in_order)
{
	uint64_t a = 100, b = 7, seen[3] = { 0 };
	struct pmof_op ops[] = {
		op(PMOF_OP_PUT, 0, 8, &a),
		op(PMOF_OP_PERSIST, 0, 8, NULL),
		op(PMOF_OP_GET, 0, 8, &seen[0]),
		op(PMOF_OP_FETCH_ADD, 0, 8, NULL),
		op(PMOF_OP_CAS, 0, 8, NULL),
		op(PMOF_OP_GET, 0, 8, &seen[1]),
		op(PMOF_OP_PUT, 0, 8, &b),
		op(PMOF_OP_PERSIST, 0, 4096, NULL),
		op(PMOF_OP_GET, 0, 8, &seen[2]),
	};
	size_t i;

	self->may_change = true;
	ops[3].operand = 11;
	ops[4].compare = 111;
	ops[4].operand = 222;
	ASSERT_EQ(0, vm_submit(self->fd, ops, ARRAY_SIZE(ops)));
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		EXPECT_EQ(0, ops[i].result) TH_LOG("operation %zu", i);
	EXPECT_EQ(100, seen[0]);
	EXPECT_EQ(100, ops[3].old);
	EXPECT_EQ(111, ops[4].old);
	EXPECT_EQ(222, seen[1]);
	EXPECT_EQ(7, seen[2]);
}

TEST_F(window, durable_put_then_get)
{
	uint64_t a = 0x1122334455667788ULL, seen = 0;
	struct pmof_op ops[] = {
		op(PMOF_OP_PUT, 8, 8, &a), op(PMOF_OP_GET, 8, 8, &seen),
	};

	self->may_change = true;
	ops[0].flags = PMOF_F_PERSIST;
	ASSERT_EQ(0, vm_submit(self->fd, ops, 2));
	EXPECT_EQ(a, seen);
}

TEST_F(window, the_most)
{
	static struct pmof_op ops[PMOF_SUBMIT_MAX + 1];
	static uint64_t in[PMOF_SUBMIT_MAX], out[PMOF_SUBMIT_MAX];
	int i;

	self->may_change = true;
	for (i = 0; i < PMOF_SUBMIT_MAX; i++) {
		in[i] = i * 3;
		ops[i] = op(PMOF_OP_PUT, i * 8, 8, &in[i]);
	}
	ops[PMOF_SUBMIT_MAX] = ops[0];
	EXPECT_EQ(-E2BIG, vm_submit(self->fd, ops, PMOF_SUBMIT_MAX + 1));
	EXPECT_EQ(12345, ops[0].result);
	EXPECT_EQ(-E2BIG, vm_submit(self->fd, ops, UINT32_MAX));
	ASSERT_EQ(0, vm_submit(self->fd, ops, PMOF_SUBMIT_MAX));
	for (i = 0; i < PMOF_SUBMIT_MAX; i++)
		ASSERT_EQ(0, ops[i].result);
	ASSERT_EQ(0, vm_get(self->fd, WINDOW_OFF, out, sizeof(out)));
	EXPECT_EQ(0, memcmp(in, out, sizeof(in)));
}

TEST_F(window, large_transfers)
{
	char *a = vm_pages(2 * MiB), *b = vm_pages(2 * MiB);
	uint64_t state = 5;
	struct pmof_op ops[] = {
		op(PMOF_OP_PUT, 3, 2 * MiB - 5, a),
		op(PMOF_OP_PUT, 3 * MiB + 1, 1 * MiB + 1, a),
		op(PMOF_OP_PERSIST, 0, WINDOW_LEN, NULL),
		op(PMOF_OP_GET, 3, 2 * MiB - 5, b),
		op(PMOF_OP_GET, 3 * MiB + 1, 1 * MiB + 1, self->now),
	};

	self->may_change = true;
	vm_fill(&state, a, 2 * MiB);
	ASSERT_EQ(0, vm_submit(self->fd, ops, ARRAY_SIZE(ops)));
	EXPECT_EQ(0, ops[4].result);
	EXPECT_EQ(0, memcmp(a, b, 2 * MiB - 5));
	EXPECT_EQ(0, memcmp(a, self->now, 1 * MiB + 1));
}

TEST_F(window, empty)
{
	struct pmof_op one = op(PMOF_OP_GET, 0, 64, data);

	EXPECT_EQ(-EINVAL, vm_submit(self->fd, &one, 0));
	EXPECT_EQ(-EINVAL, vm_submit(self->fd, NULL, 0));
}

TEST_F(window, bad_array)
{
	struct pmof_op *ops = vm_edge(2 * sizeof(*ops)), *ro;

	ops[0] = ops[1] = op(PMOF_OP_PUT, 0, 8, data);
	EXPECT_EQ(-EFAULT, vm_submit(self->fd, NULL, 1));
	EXPECT_EQ(-EFAULT, vm_submit(self->fd, ops, 3));
	/* Results could not be told: it must say so, one way or another. */
	ro = vm_pages(4096);
	ro[0] = op(PMOF_OP_GET, 0, 8, data);
	ASSERT_EQ(0, mprotect(ro, 4096, PROT_READ));
	EXPECT_EQ(-EFAULT, vm_submit(self->fd, ro, 1));
}

/* All are checked before the first runs, wherever the malformed one stands. */
TEST_F(window, malformed_descriptor_changes_nothing)
{
	uint64_t junk = 0xdeadbeef;
	struct pmof_op ops[3], bad[20];
	size_t i, n = 0, at, k;

#define BAD(base, field, value) do {		\
		bad[n] = base;			\
		bad[n++].field = value;		\
	} while (0)
	BAD(op(PMOF_OP_PUT, 64, 8, &junk), opcode, 0);
	BAD(op(PMOF_OP_PUT, 64, 8, &junk), opcode, 6);
	BAD(op(PMOF_OP_PUT, 64, 8, &junk), opcode, 0xffff);
	BAD(op(PMOF_OP_PUT, 64, 8, &junk), reserved, 1);
	BAD(op(PMOF_OP_PUT, 64, 8, &junk), flags, 2);
	BAD(op(PMOF_OP_PUT, 64, 8, &junk), flags, 1U << 31);
	BAD(op(PMOF_OP_PUT, 64, 8, &junk), compare, 1);
	BAD(op(PMOF_OP_PUT, 64, 8, &junk), operand, 1);
	BAD(op(PMOF_OP_GET, 64, 8, data), flags, PMOF_F_PERSIST);
	BAD(op(PMOF_OP_GET, 64, 8, data), compare, 1);
	BAD(op(PMOF_OP_PERSIST, 64, 8, NULL), flags, PMOF_F_PERSIST);
	BAD(op(PMOF_OP_PERSIST, 64, 8, NULL), addr, 8);
	BAD(op(PMOF_OP_CAS, 64, 8, NULL), length, 4);
	BAD(op(PMOF_OP_CAS, 64, 8, NULL), offset, WINDOW_OFF + 4);
	BAD(op(PMOF_OP_CAS, 64, 8, NULL), addr, 8);
	BAD(op(PMOF_OP_FETCH_ADD, 64, 8, NULL), compare, 1);
	BAD(op(PMOF_OP_FETCH_ADD, 64, 8, NULL), length, 0);
	BAD(op(PMOF_OP_FETCH_ADD, 64, 8, NULL), length, 16);
#undef BAD
	for (i = 0; i < n; i++)
		for (at = 0; at < 3; at++) {
			for (k = 0; k < 3; k++)
				ops[k] = op(PMOF_OP_PUT, k * 8, 8, &junk);
			ops[at] = bad[i];
			EXPECT_EQ(-EINVAL, vm_submit(self->fd, ops, 3))
				TH_LOG("descriptor %zu at %zu", i, at);
			/* Whatever stands there, it does not say that it was done. */
			EXPECT_NE(0, ops[at ? 0 : 1].result);
		}
}

TEST_F(window, descriptor_sizes)
{
	struct {
		struct pmof_op op;
		uint64_t tail;
	} big[3];
	struct pmof_submit s = { sizeof(s), 0, (uintptr_t)big, 3, 0 };
	uint64_t junk = 0xdeadbeef;
	size_t i;

	for (i = 0; i < 3; i++) {
		big[i].op = op(PMOF_OP_PUT, i * 8, 8, self->before + i * 8);
		big[i].op.size = sizeof(big[0]);
		big[i].tail = 0;
	}
	EXPECT_EQ(0, vm_ioctl(self->fd, PMOF_IOC_SUBMIT, &s));
	EXPECT_EQ(0, big[2].op.result);
	for (i = 0; i < 3; i++)
		big[i].op.addr = (uintptr_t)&junk;
	big[2].tail = 1;
	EXPECT_EQ(-E2BIG, vm_ioctl(self->fd, PMOF_IOC_SUBMIT, &s));
	big[2].tail = 0;
	big[1].op.size = sizeof(struct pmof_op);
	EXPECT_EQ(-EINVAL, vm_ioctl(self->fd, PMOF_IOC_SUBMIT, &s));
	for (i = 0; i < 3; i++)
		big[i].op.size = sizeof(struct pmof_op) - 1;
	EXPECT_EQ(-EINVAL, vm_ioctl(self->fd, PMOF_IOC_SUBMIT, &s));
	for (i = 0; i < 3; i++)
		big[i].op.size = 0;
	EXPECT_EQ(-EINVAL, vm_ioctl(self->fd, PMOF_IOC_SUBMIT, &s));
	for (i = 0; i < 3; i++)
		big[i].op.size = UINT32_MAX;
	EXPECT_NE(0, vm_ioctl(self->fd, PMOF_IOC_SUBMIT, &s));
}

/* Past the end: told for the call or in the result, and nothing behind it runs. */
TEST_F(window, range)
{
	uint64_t junk = 0xdeadbeef;
	struct pmof_op ops[2] = { op(PMOF_OP_PUT, 0, 8, &junk), op(PMOF_OP_PUT, 0, 8, &junk) };
	int rc;

	ops[0].offset = self->info.ns_size - 4;
	rc = vm_submit(self->fd, ops, 2);
	EXPECT_EQ(-ERANGE, rc ? rc : ops[0].result);
	if (!rc)
		EXPECT_EQ(-ECANCELED, ops[1].result);
}

/* What only shows when it runs cancels what is behind it, not what came before. */
TEST_F(window, failure_cancels_the_rest)
{
	uint64_t one = 1, junk = 0xdeadbeef, seen = 0;
	struct pmof_op ops[] = {
		op(PMOF_OP_PUT, 0, 8, &one),
		op(PMOF_OP_PERSIST, 0, 8, NULL),
		op(PMOF_OP_PUT, 8, 8, NULL),
		op(PMOF_OP_PUT, 16, 8, &junk),
		op(PMOF_OP_FETCH_ADD, 24, 8, NULL),
		op(PMOF_OP_GET, 16, 8, &junk),
		op(PMOF_OP_PERSIST, 16, 8, NULL),
	};
	size_t i;

	self->may_change = true;
	ops[4].operand = 1;
	ASSERT_EQ(0, vm_submit(self->fd, ops, ARRAY_SIZE(ops)));
	EXPECT_EQ(0, ops[0].result);
	EXPECT_EQ(0, ops[1].result);
	EXPECT_EQ(-EFAULT, ops[2].result);
	for (i = 3; i < ARRAY_SIZE(ops); i++)
		EXPECT_EQ(-ECANCELED, ops[i].result) TH_LOG("operation %zu", i);
	EXPECT_EQ(0, vm_get(self->fd, WINDOW_OFF, &seen, 8));
	EXPECT_EQ(1, seen);
	/* The rest of the window is as it was. */
	EXPECT_EQ(0, vm_get(self->fd, WINDOW_OFF + 8, self->now, 64));
	EXPECT_EQ(0, memcmp(self->before + 8, self->now, 64));
}

TEST_F(window, the_wrong_mode)
{
	struct pmof_op ops[2] = {
		{ .size = sizeof(ops[0]), .opcode = PMOF_OP_GET, .offset = WINDOW_OFF,
		  .length = 64, .addr = (uintptr_t)data },
		{ .size = sizeof(ops[0]), .opcode = PMOF_OP_PUT, .offset = WINDOW_OFF,
		  .length = 64, .addr = (uintptr_t)data },
	};
	int fd = vm_open(self->instance, O_RDONLY);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EBADF, vm_submit(fd, ops, 2));
	EXPECT_EQ(0, vm_submit(fd, ops, 1));
	close(fd);
}

TEST_HARNESS_MAIN
