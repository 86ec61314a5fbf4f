// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes what a program can call on /dev/pmofcN: ioctls and io_uring commands made from
 * a description of uapi/pmof.h, and the file operations. Several processes at once, on
 * one connection; where the kernel has kcov, a call that came to a new place is kept
 * and changed further. What gets as far as the server takes a thousand times as long as
 * what is refused at once: half of the time is for calls in which nothing need be wrong,
 * the other half for those that have a value that cannot be right.
 *
 * usage: fuzz_calls SECONDS [SEED]; prints TAP. The namespace's content is lost.
 */
#include <stddef.h>
#include <sys/uio.h>

#include "fuzz.h"
#include "ring.h"

#define PROCESSES	3
#define BUF		(1 * MiB)
#define KEPT		256
#define OPS		4

/* --- the description --------------------------------------------------------- */

enum class {
	SIZE, FLAGS, OFFSET, LENGTH, BUFFER, GENERATION, OPCODE, ZERO, WORD, OPS_POINTER, NR_OPS, OUT,
};

struct field {
	unsigned short at, bytes;
	enum class class;
};

#define F(type, name, class) \
	{ offsetof(struct type, name), sizeof(((struct type *)0)->name), class }

static const struct field info_fields[] = { F(pmof_info, size, SIZE), F(pmof_info, flags, OUT) };
static const struct field rw_fields[] = {
	F(pmof_rw, size, SIZE), F(pmof_rw, flags, FLAGS), F(pmof_rw, offset, OFFSET),
	F(pmof_rw, length, LENGTH), F(pmof_rw, addr, BUFFER), F(pmof_rw, generation, GENERATION),
};
static const struct field object_fields[] = {
	F(pmof_object, size, SIZE), F(pmof_object, flags, ZERO), F(pmof_object, offset, OFFSET),
	F(pmof_object, length, LENGTH), F(pmof_object, generation, OUT),
};
static const struct field persist_fields[] = {
	F(pmof_persist, size, SIZE), F(pmof_persist, flags, ZERO), F(pmof_persist, offset, OFFSET),
	F(pmof_persist, length, LENGTH),
};
static const struct field atomic_fields[] = {
	F(pmof_atomic, size, SIZE), F(pmof_atomic, flags, FLAGS), F(pmof_atomic, offset, OFFSET),
	F(pmof_atomic, compare, WORD), F(pmof_atomic, operand, WORD), F(pmof_atomic, old, OUT),
};
static const struct field op_fields[] = {
	F(pmof_op, size, SIZE), F(pmof_op, opcode, OPCODE), F(pmof_op, reserved, ZERO),
	F(pmof_op, flags, FLAGS), F(pmof_op, result, OUT), F(pmof_op, offset, OFFSET),
	F(pmof_op, length, LENGTH), F(pmof_op, addr, BUFFER), F(pmof_op, compare, ZERO),
	F(pmof_op, operand, GENERATION), F(pmof_op, old, OUT),
};
static const struct field submit_fields[] = {
	F(pmof_submit, size, SIZE), F(pmof_submit, flags, ZERO), F(pmof_submit, ops, OPS_POINTER),
	F(pmof_submit, nr_ops, NR_OPS), F(pmof_submit, reserved, ZERO),
};

#define SHAPE(cmd, type, fields) { cmd, fields, sizeof(struct type), ARRAY_SIZE(fields) }
static const struct shape {
	unsigned long cmd;
	const struct field *fields;
	unsigned int bytes;
	unsigned int nr;
} shapes[] = {
	SHAPE(PMOF_IOC_PUT, pmof_rw, rw_fields),
	SHAPE(PMOF_IOC_GET, pmof_rw, rw_fields),
	SHAPE(PMOF_IOC_PERSIST, pmof_persist, persist_fields),
	SHAPE(PMOF_IOC_CAS, pmof_atomic, atomic_fields),
	SHAPE(PMOF_IOC_FETCH_ADD, pmof_atomic, atomic_fields),
	SHAPE(PMOF_IOC_SUBMIT, pmof_submit, submit_fields),
	SHAPE(PMOF_IOC_PREPARE, pmof_object, object_fields),
	SHAPE(PMOF_IOC_REVALIDATE, pmof_object, object_fields),
	SHAPE(PMOF_IOC_GET_INFO, pmof_info, info_fields),
};
static const struct shape op_shape = SHAPE(0, pmof_op, op_fields);

/* --- one process ------------------------------------------------------------- */

union arg {
	unsigned char bytes[256];
	__u64 words[32];
};

struct call {
	unsigned long cmd;
	union arg arg;
	struct pmof_op ops[OPS];
};

struct fuzzer {
	struct fuzz_shared *shared;
	uint64_t rnd, ns_size, generation;
	int fd;
	char *buf, *read_only, *own;	/* of BUF bytes; the last is a mapping of the device */
	bool ring_there;
	struct io_uring ring;
	struct fuzz_cover cover;
	struct call kept[KEPT];
	unsigned int nr_kept;
	double began, through;	/* when; seconds in calls that may be right */
};

static uint64_t some_offset(struct fuzzer *f)
{
	uint64_t v = vm_rnd(&f->rnd);

	switch (v % 8) {
	case 0:
		return fuzz_number(&f->rnd, 64);
	case 1:
		return f->ns_size - (v >> 8) % (64 * KiB);
	case 2:
		return (v >> 8) % f->ns_size;
	default:
		return ((v >> 8) % f->ns_size) & ~7ULL;
	}
}

static uint64_t some_length(struct fuzzer *f)
{
	uint64_t v = vm_rnd(&f->rnd);

	switch (v % 8) {
	case 0:
		return fuzz_number(&f->rnd, 64);
	case 1:
		return (v >> 8) % BUF;
	case 2:
		return 8;
	default:
		return ((v >> 8) % 1024) * 8;
	}
}

static uint64_t some_address(struct fuzzer *f)
{
	uint64_t v = vm_rnd(&f->rnd);

	switch (v % 12) {
	case 0:
		return fuzz_number(&f->rnd, 64);
	case 1:
		return (uintptr_t)f->read_only;
	case 2:
		return (uintptr_t)f->own + (v >> 8) % BUF;
	case 3:		/* ends in a hole */
		return (uintptr_t)f->buf + BUF - (v >> 8) % 8192;
	case 4:
		return (uintptr_t)f->buf + (v >> 8) % BUF;
	default:
		return (uintptr_t)f->buf + (v >> 8) % 64 * 4096;
	}
}

static void make(struct fuzzer *f, const struct shape *s, void *to, struct pmof_op *ops);

static uint64_t some_ops(struct fuzzer *f, struct pmof_op *ops)
{
	int i;

	for (i = 0; i < OPS && ops; i++)
		make(f, &op_shape, &ops[i], NULL);
	return fuzz_one_in(&f->rnd, 16) ? some_address(f) : (uintptr_t)ops;
}

static uint64_t good_value(struct fuzzer *f, const struct shape *s, enum class class,
			   struct pmof_op *ops)
{
	switch (class) {
	case SIZE:
		return s->bytes;
	case FLAGS:
		return vm_rnd(&f->rnd) % 8;
	case OFFSET:
		return some_offset(f);
	case LENGTH:
		return some_length(f);
	case BUFFER:
		return some_address(f);
	case GENERATION:
		return fuzz_one_in(&f->rnd, 2) ? f->generation : 0;
	case OPCODE:
		return 1 + vm_rnd(&f->rnd) % 8;
	case WORD:
		return fuzz_number(&f->rnd, 64);
	case OPS_POINTER:
		return some_ops(f, ops);
	case NR_OPS:
		return 1 + vm_rnd(&f->rnd) % OPS;
	default:
		return 0;
	}
}

/* A structure as described, now and then with a value that does not belong. */
static void make(struct fuzzer *f, const struct shape *s, void *to, struct pmof_op *ops)
{
	unsigned int i;
	uint64_t v;

	memset(to, 0, s->bytes);
	for (i = 0; i < s->nr; i++) {
		const struct field *field = &s->fields[i];

		v = good_value(f, s, field->class, ops);
		if (fuzz_one_in(&f->rnd, 24))
			v = fuzz_number(&f->rnd, 8 * field->bytes);
		memcpy((char *)to + field->at, &v, field->bytes);
	}
}

static void make_call(struct fuzzer *f, struct call *c)
{
	const struct shape *s = &shapes[vm_rnd(&f->rnd) % ARRAY_SIZE(shapes)];

	if (f->nr_kept && fuzz_one_in(&f->rnd, 3)) {
		*c = f->kept[vm_rnd(&f->rnd) % f->nr_kept];
		fuzz_damage(&f->rnd, &c->arg, 64, 1 + vm_rnd(&f->rnd) % 3);
		if (fuzz_one_in(&f->rnd, 3))
			fuzz_damage(&f->rnd, c->ops, sizeof(c->ops), 2);
		return;
	}
	memset(c, 0, sizeof(*c));
	c->cmd = s->cmd;
	make(f, s, &c->arg, c->ops);
	if (fuzz_one_in(&f->rnd, 50))
		c->cmd = fuzz_one_in(&f->rnd, 2) ? fuzz_number(&f->rnd, 32) :
			 (c->cmd & ~0xffUL) | fuzz_number(&f->rnd, 8);
}

/* A value for a field that no call may have; 0 where there is none. */
static uint64_t wrong_value(struct fuzzer *f, const struct shape *s, enum class class)
{
	uint64_t v = vm_rnd(&f->rnd);

	switch (class) {
	case SIZE:
		return v % 2 ? (v >> 8) % 16 : s->bytes + 4096 + (v >> 32);
	case FLAGS:
		return 1ULL << (8 + v % 24);
	case OFFSET:
		return f->ns_size + (v % 2 ? (v >> 8) % 4096 : v >> 1 & ~f->ns_size);
	case LENGTH:
		return f->ns_size + 1 + (v % 2 ? (v >> 8) % 4096 : v >> 1);
	case GENERATION:
		return v | 1ULL << (48 + v % 16);
	case OPCODE:
		return v % 2 ? 0 : 64 + v % 190;
	case NR_OPS:
		return v % 2 ? 0 : ~0U - v % 4096;
	case OPS_POINTER:
		return (1ULL << 47) + v % (1ULL << 60);
	case ZERO:
		return v | 1;
	default:
		return 0;
	}
}

/* One of the fields gets one. */
static void spoil(struct fuzzer *f, const struct shape *s, void *arg)
{
	const struct field *field;
	uint64_t v;

	do {
		field = &s->fields[vm_rnd(&f->rnd) % s->nr];
		v = wrong_value(f, s, field->class);
	} while (!v && field->class != SIZE);
	memcpy((char *)arg + field->at, &v, field->bytes);
}

/* A length that is allowed and takes long is not what is looked for here. */
static bool too_long(const struct call *c)
{
	const struct pmof_persist *p = (const void *)&c->arg;
	const struct pmof_rw *rw = (const void *)&c->arg;
	uint64_t length = c->cmd == PMOF_IOC_PERSIST ? p->length : rw->length;
	int i;

	if ((c->cmd == PMOF_IOC_PUT || c->cmd == PMOF_IOC_GET || c->cmd == PMOF_IOC_PERSIST) &&
	    length > 4 * MiB && length < 1ULL << 32)
		return true;
	for (i = 0; i < OPS; i++)
		if (c->ops[i].length > 4 * MiB && c->ops[i].length < 1ULL << 32)
			return true;
	return false;
}

static void do_call(struct fuzzer *f, struct call *c)
{
	struct call before = *c;
	int rc;

	fuzz_cover_before(&f->cover);
	rc = vm_ioctl(f->fd, c->cmd, &c->arg);
	if (fuzz_cover_after(&f->cover))
		f->kept[f->nr_kept < KEPT ? f->nr_kept++ : vm_rnd(&f->rnd) % KEPT] = before;
	if (!rc && c->cmd == PMOF_IOC_PREPARE)
		f->generation = ((struct pmof_object *)&c->arg)->generation;
	fuzz_count(f->shared, rc);
}

static void one_ioctl(struct fuzzer *f)
{
	struct call c;

	make_call(f, &c);
	if (!too_long(&c))
		do_call(f, &c);
}

/* A fresh one, or one that once came to a new place, with something that is wrong. */
static void one_refusal(struct fuzzer *f)
{
	const struct shape *s = &shapes[vm_rnd(&f->rnd) % ARRAY_SIZE(shapes)];
	struct call c = { .cmd = s->cmd };

	if (f->nr_kept && fuzz_one_in(&f->rnd, 3)) {
		c = f->kept[vm_rnd(&f->rnd) % f->nr_kept];
		for (s = shapes; s < &shapes[ARRAY_SIZE(shapes)] && s->cmd != c.cmd; s++)
			;
	} else {
		make(f, s, &c.arg, c.ops);
	}
	if (s < &shapes[ARRAY_SIZE(shapes)])
		spoil(f, s, &c.arg);
	if (!too_long(&c))
		do_call(f, &c);
}

/* Up to eight commands, linked or not, now and then left alone when the ring goes. */
static void some_commands(struct fuzzer *f)
{
	unsigned int n = 1 + vm_rnd(&f->rnd) % 8, i;
	struct io_uring_cqe *cqe;
	struct pmof_op op;

	if (!f->ring_there && ring_init_cmd(&f->ring, 0))
		return;
	f->ring_there = true;
	for (i = 0; i < n; i++) {
		struct io_uring_sqe *sqe;

		make(f, &op_shape, &op, NULL);
		if (op.length > 4 * MiB && op.length < 1ULL << 32)
			op.length = 64;
		sqe = ring_cmd(&f->ring, f->fd, &op, i);
		if (fuzz_one_in(&f->rnd, 8))
			sqe->flags |= fuzz_one_in(&f->rnd, 2) ? IOSQE_IO_LINK : IOSQE_ASYNC;
		if (fuzz_one_in(&f->rnd, 16))
			sqe->cmd_op = fuzz_number(&f->rnd, 32);
		if (fuzz_one_in(&f->rnd, 16))
			fuzz_damage(&f->rnd, sqe->cmd, 80, 3);
	}
	if (io_uring_submit(&f->ring) < 0)
		return;
	if (fuzz_one_in(&f->rnd, 64)) {
		io_uring_queue_exit(&f->ring);
		f->ring_there = false;
		return;
	}
	for (i = 0; i < n && !io_uring_wait_cqe(&f->ring, &cqe); i++) {
		fuzz_count(f->shared, cqe->res);
		io_uring_cqe_seen(&f->ring, cqe);
	}
}

static void one_file_call(struct fuzzer *f)
{
	struct iovec iov[3];
	uint64_t v = vm_rnd(&f->rnd);
	off_t at = some_offset(f);
	int i, rc = 0, flags = v >> 60;

	if (fuzz_one_in(&f->rnd, 8))
		flags = fuzz_number(&f->rnd, 32);
	for (i = 0; i < 3; i++) {
		iov[i].iov_base = (void *)(uintptr_t)some_address(f);
		iov[i].iov_len = some_length(f) % (256 * KiB);
	}
	switch (v % 9) {
	case 0:
		rc = pwritev2(f->fd, iov, 1 + (v >> 8) % 3, at, flags);
		break;
	case 1:
		rc = preadv2(f->fd, iov, 1 + (v >> 8) % 3, at, flags);
		break;
	case 2:
		rc = fuzz_one_in(&f->rnd, 2) ? fsync(f->fd) : fdatasync(f->fd);
		break;
	case 3:
		rc = lseek(f->fd, at, v >> 8 & 7) < 0 ? -1 : 0;
		break;
	case 4:
		rc = msync(f->own, BUF, v >> 8 & 7);
		break;
	case 5:
		rc = madvise(f->own, BUF, (v >> 8) % 26);
		break;
	case 6:
		rc = fallocate(f->fd, v >> 8 & 0xff, at, some_length(f));
		break;
	case 7:
		f->own[(v >> 8) % BUF] = v;
		break;
	default:
		rc = fcntl(f->fd, F_SETFL, v & (O_APPEND | O_DIRECT | O_NONBLOCK | O_DSYNC));
	}
	fuzz_count(f->shared, rc);
}

/* The mapping may be gone for a moment's fault: a SIGBUS ends no process here. */
static void new_mapping(struct fuzzer *f)
{
	if (f->own)
		munmap(f->own, BUF);
	f->own = mmap(NULL, BUF, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd,
		      (vm_rnd(&f->rnd) % (f->ns_size / MiB - 1)) * MiB);
	if (f->own == MAP_FAILED)
		_exit(3);
}

static void one_that_may_be_right(struct fuzzer *f)
{
	double since = vm_now();
	unsigned int v = vm_rnd(&f->rnd) % 4096;

	if (!v)
		new_mapping(f);
	else if (v % 16 == 7)
		some_commands(f);
	else if (v % 8 == 3)
		one_file_call(f);
	else
		one_ioctl(f);
	f->through += vm_now() - since;
}

static void run(struct fuzz_shared *shared, int who)
{
	static struct fuzzer f;
	struct pmof_info info;

	f.shared = shared;
	f.rnd = strtoull(vm_env("FUZZ_SEED", "1"), NULL, 0) * 1000003 + who + 1;
	f.fd = vm_open(vm_instance(), O_RDWR);
	if (f.fd < 0 || vm_info(f.fd, &info))
		_exit(2);
	f.ns_size = info.ns_size;
	f.buf = vm_pages(BUF);
	f.read_only = vm_pages(BUF);
	mprotect(f.read_only, BUF, PROT_READ);
	fuzz_cover_start(&f.cover);
	new_mapping(&f);
	f.began = vm_now();
	while (!shared->stop) {
		if (2 * f.through < vm_now() - f.began)
			one_that_may_be_right(&f);
		else
			one_refusal(&f);
	}
	if (f.cover.places > shared->places)
		shared->places = f.cover.places;
}

static void result(bool ok, int number, const char *text)
{
	printf("%sok %d - %s\n", ok ? "" : "not ", number, text);
}

/* After all this the connection lives, and does what it is told. */
static bool works(void)
{
	char out[4096], in[4096] = "";
	uint64_t rnd = 4711;
	int fd = vm_open(vm_instance(), O_RDWR);

	vm_fill(&rnd, out, sizeof(out));
	return fd >= 0 && vm_attr_is(vm_instance(), "state", "live") &&
	       !vm_put(fd, MiB, out, sizeof(out), PMOF_F_PERSIST) &&
	       !vm_get(fd, MiB, in, sizeof(in)) && !memcmp(in, out, sizeof(in)) && !close(fd);
}

int main(int argc, char **argv)
{
	struct fuzz_shared *shared = fuzz_share();
	int seconds = argc > 1 ? atoi(argv[1]) : 10, bad;

	if (argc > 2)
		setenv("FUZZ_SEED", argv[2], 1);
	setbuf(stdout, NULL);
	printf("TAP version 13\n1..3\n");
	bad = fuzz_processes(shared, PROCESSES, seconds, run);
	printf("# seed %s: %llu calls, %llu refused, %llu places in the kernel\n",
	       vm_env("FUZZ_SEED", "1"), (unsigned long long)shared->calls,
	       (unsigned long long)shared->failed, (unsigned long long)shared->places);
	result(!bad, 1, "every call came back, no process was killed");
	result(shared->calls > 100 && shared->failed < shared->calls, 2,
	       "calls were made, and not all refused");
	result(works(), 3, "the connection lives and works");
	return bad || !works();
}
