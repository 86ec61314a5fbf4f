// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzes what a program can call on /dev/pmofcN: ioctls and io_uring commands made from
 * a description of uapi/pmof.h (fuzz_uapi.h, fuzz_ring.h), and the file operations. Several
 * processes at once, on one connection; where the kernel has kcov, a call that came to a new
 * place is kept and changed further. What gets as far as the server takes a thousand times as
 * long as what is refused at once: half of the time is for calls in which nothing need be
 * wrong, the other half for those that have a value that cannot be right.
 *
 * If the namespace is a store, most are messages to it (fuzz_store.h), and nothing else
 * changes what it holds: what is left is a store.
 *
 * usage: fuzz_calls SECONDS [SEED]; prints TAP. The namespace's content is lost.
 */
#include <sys/uio.h>

#include "fuzz_ring.h"

#define KEPT		256
#define REFUSALS	64	/* between two looks at the clock */

struct call {
	unsigned long cmd;
	union {
		unsigned char bytes[256];
		struct pmof_submit submit;
		struct pmof_object object;
		struct pmof_persist persist;
		struct pmof_rw rw;
	} arg;
	struct pmof_op ops[OPS];
	bool ops_here;		/* arg.submit.ops is their address: another one in a copy */
};

/* --- ioctls -------------------------------------------------------------------- */

static void fresh_call(struct fuzzer *f, struct call *c, const struct shape *s)
{
	memset(c, 0, sizeof(*c));
	c->cmd = s->cmd;
	make(f, s, &c->arg, c->ops);
	c->ops_here = s->cmd == PMOF_IOC_SUBMIT && c->arg.submit.ops == (uintptr_t)c->ops;
}

/* Messages that a kept call has pointed to say something else by now. */
static bool kept_call(struct fuzzer *f, struct call *c)
{
	int i;

	if (!fuzz_one_in(&f->rnd, 3) || !fuzz_again(f->calls, &f->rnd, c))
		return false;
	if (c->ops_here)
		c->arg.submit.ops = (uintptr_t)c->ops;
	for (i = 0; i < OPS && f->store; i++)
		if (c->ops[i].opcode == PMOF_OP_CALL)
			renew_message(f, &c->ops[i]);
	return true;
}

static void make_call(struct fuzzer *f, struct call *c)
{
	if (kept_call(f, c)) {
		fuzz_damage(&f->rnd, &c->arg, 64, 1 + vm_rnd(&f->rnd) % 3);
		if (fuzz_one_in(&f->rnd, 3))
			fuzz_damage(&f->rnd, c->ops, sizeof(c->ops), 2);
		return;
	}
	fresh_call(f, c, some_shape(f));
	if (fuzz_one_in(&f->rnd, 50))
		c->cmd = fuzz_one_in(&f->rnd, 2) ? fuzz_number(&f->rnd, 32) :
			 (c->cmd & ~0xffUL) | fuzz_number(&f->rnd, 8);
}

/* Is it one that this test does not make? */
static bool left_out(const struct fuzzer *f, const struct call *c)
{
	int i;

	switch (c->cmd) {
	case PMOF_IOC_PUT:
	case PMOF_IOC_GET:
		return (f->store && c->cmd == PMOF_IOC_PUT) || too_long(f, c->arg.rw.length);
	case PMOF_IOC_PERSIST:
		return too_long(f, c->arg.persist.length);
	case PMOF_IOC_CAS:
	case PMOF_IOC_FETCH_ADD:
	case PMOF_IOC_PREPARE:
	case PMOF_IOC_REVALIDATE:
		return f->store;
	case PMOF_IOC_SUBMIT:
		break;
	default:
		return false;
	}
	for (i = 0; i < OPS; i++)
		if (harmful(f, &c->ops[i]))
			return true;
	/* What they are if they are anywhere else is not known. */
	return f->store && c->arg.submit.ops != (uintptr_t)c->ops &&
	       c->arg.submit.ops < 1ULL << 47;
}

/* What it has told. */
static void has_succeeded(struct fuzzer *f, const struct call *c)
{
	unsigned int i;

	if (c->cmd == PMOF_IOC_PREPARE) {
		f->prepared = c->arg.object;
		f->generation = c->arg.object.generation;
	}
	if (c->cmd != PMOF_IOC_SUBMIT)
		return;
	for (i = 0; i < OPS && i < c->arg.submit.nr_ops; i++)
		if (!c->ops[i].result)
			answered(f, &c->ops[i]);
}

static void do_call(struct fuzzer *f, struct call *c)
{
	static struct call before;
	int rc;

	if (f->cover.trace)
		before = *c;
	fuzz_cover_before(&f->cover);
	rc = vm_ioctl(f->fd, c->cmd, &c->arg);
	if (fuzz_cover_after(&f->cover))
		fuzz_keep(f->calls, &f->rnd, &before);
	if (!rc)
		has_succeeded(f, c);
	fuzz_count_by(f->shared, BY_IOCTL, rc);
}

static void one_ioctl(struct fuzzer *f)
{
	struct call c;

	make_call(f, &c);
	if (!left_out(f, &c))
		do_call(f, &c);
}

/* A fresh one, or one that once came to a new place, with something that is wrong. */
static void refused_ioctl(struct fuzzer *f)
{
	const struct shape *s;
	struct call c;

	if (!kept_call(f, &c))
		fresh_call(f, &c, some_shape(f));
	for (s = shapes; s < &shapes[ARRAY_SIZE(shapes)] && s->cmd != c.cmd; s++)
		;
	if (c.cmd == PMOF_IOC_SUBMIT && fuzz_one_in(&f->rnd, 2))
		spoil(f, &op_shape, &c.ops[0]);
	else if (s < &shapes[ARRAY_SIZE(shapes)])
		spoil(f, s, &c.arg);
	if (!left_out(f, &c))
		do_call(f, &c);
}

/* --- files ----------------------------------------------------------------------- */

struct file_call {
	uint64_t at, length, v;
	struct iovec iov[3];
	int flags;
	unsigned int kind;
};

enum kind {
	WRITE, STORE, READ, SYNC, SEEK, MSYNC, MADVISE, ALLOCATE, SET_FLAGS, KINDS_OF_FILE_CALLS,
};

static void make_file_call(struct fuzzer *f, struct file_call *c)
{
	int i;

	if (fuzz_one_in(&f->rnd, 3) && fuzz_again(f->file_calls, &f->rnd, c)) {
		fuzz_damage(&f->rnd, c, sizeof(*c), 1 + vm_rnd(&f->rnd) % 3);
		return;
	}
	c->v = vm_rnd(&f->rnd);
	c->at = some_offset(f);
	c->length = some_length(f);
	c->flags = c->v >> 60;
	c->kind = c->v >> 32;
	if (fuzz_one_in(&f->rnd, 8))
		c->flags = fuzz_number(&f->rnd, 32);
	for (i = 0; i < 3; i++) {
		c->iov[i].iov_base = (void *)(uintptr_t)some_address(f);
		c->iov[i].iov_len = some_length(f);
	}
}

static int file_call(struct fuzzer *f, const struct file_call *c, enum kind kind)
{
	uint64_t v = c->v;

	switch (kind) {
	case WRITE:
		return pwritev2(f->fd, c->iov, 1 + v % 3, c->at, c->flags);
	case STORE:
		f->own[v % BUF] = v >> 32;
		return 0;
	case READ:
		return preadv2(f->fd, c->iov, 1 + v % 3, c->at, c->flags);
	case SYNC:
		return v % 2 ? fsync(f->fd) : fdatasync(f->fd);
	case SEEK:
		return lseek(f->fd, c->at, v & 7) < 0 ? -1 : 0;
	case MSYNC:
		return msync(f->own, BUF, v & 7);
	case MADVISE:
		return madvise(f->own, BUF, v % 26);
	case ALLOCATE:
		return fallocate(f->fd, v & 0xff, c->at, c->length);
	default:
		return fcntl(f->fd, F_SETFL, v & (O_APPEND | O_DIRECT | O_NONBLOCK | O_DSYNC));
	}
}

static void one_file_call(struct fuzzer *f)
{
	struct file_call c;
	enum kind kind;
	int i, rc;

	make_file_call(f, &c);
	kind = c.kind % KINDS_OF_FILE_CALLS;
	if (f->store && kind < READ)
		kind = READ;
	for (i = 0; i < 3; i++)
		c.iov[i].iov_len %= 256 * KiB;
	fuzz_cover_before(&f->cover);
	rc = file_call(f, &c, kind);
	if (fuzz_cover_after(&f->cover))
		fuzz_keep(f->file_calls, &f->rnd, &c);
	if (kind == WRITE || kind == READ || kind == SYNC)
		fuzz_count_by(f->shared, BY_FILE, rc);
	else
		fuzz_count(f->shared, rc);
}

/* --- one process ------------------------------------------------------------------- */

static struct fuzzer fuzzer;

/* The mapping may be gone for a moment's fault: a SIGBUS ends no process here. */
static void new_mapping(struct fuzzer *f)
{
	if (f->own)
		munmap(f->own, BUF);
	f->own = mmap(NULL, BUF, PROT_READ | (f->store ? 0 : PROT_WRITE), MAP_SHARED, f->fd,
		      (vm_rnd(&f->rnd) % (f->ns_size / MiB - 1)) * MiB);
	if (f->own == MAP_FAILED)
		_exit(3);
}

/* The last close of the old one tells the store so. */
static void new_file(struct fuzzer *f)
{
	unsigned int i;

	for (i = 0; i < RINGS; i++)
		if (f->ring_there[i])
			ring_end(f, i);
	if (f->own)
		munmap(f->own, BUF);
	f->own = NULL;
	if (f->fd >= 0)
		close(f->fd);
	f->fd = vm_open(vm_instance(), O_RDWR);
	if (f->fd < 0)
		_exit(2);
	f->number = 1;
	new_mapping(f);
}

static void one_that_may_be_right(struct fuzzer *f)
{
	unsigned int v = vm_rnd(&f->rnd) % 4096;

	if (!v)
		new_file(f);
	else if (v == 1)
		new_mapping(f);
	else if (v % 4 == 1)
		some_commands(f);
	else if (v % 8 == 3)
		one_file_call(f);
	else
		one_ioctl(f);
}

static void refusals(struct fuzzer *f)
{
	int i;

	f->refused = true;
	for (i = 0; i < REFUSALS - BATCH; i++)
		refused_ioctl(f);
	refused_commands(f);
	f->refused = false;
}

static void run(struct fuzz_shared *shared, int who)
{
	struct fuzzer *f = &fuzzer;
	double now;

	f->shared = shared;
	f->rnd = strtoull(vm_env("FUZZ_SEED", "1"), NULL, 0) * 1000003 + who + 1;
	new_file(f);
	fuzz_cover_start(&f->cover, shared);
	f->began = vm_now();
	while (!shared->stop) {
		now = vm_now();
		if (2 * f->through < now - f->began) {
			one_that_may_be_right(f);
			f->through += vm_now() - now;
		} else {
			refusals(f);
		}
	}
}

/* What all have, and at the same addresses: a call that one has kept is one for others. */
static bool prepare(struct fuzzer *f)
{
	struct pmof_info info;
	int i;

	f->fd = vm_open(vm_instance(), O_RDWR);
	if (f->fd < 0 || vm_info(f->fd, &info))
		return false;
	close(f->fd);
	f->fd = -1;
	f->ns_size = info.ns_size;
	f->session = info.session;
	f->store = info.service == PMOF_SERVICE_STORE;
	f->max_call = f->store && info.max_call < MESSAGE_MAX ? info.max_call : MESSAGE_MAX;
	f->buf = vm_pages(BUF);
	f->read_only = vm_pages(BUF);
	mprotect(f->read_only, BUF, PROT_READ);
	f->calls = fuzz_corpus(sizeof(struct call), KEPT);
	f->batches = fuzz_corpus(sizeof(struct batch), KEPT);
	f->file_calls = fuzz_corpus(sizeof(struct file_call), KEPT);
	for (i = 0; i < MESSAGES; i++)
		f->messages[i] = (struct message){ .call = PMOF_KV_STAT, .length = 16 };
	f->kept_messages = fuzz_corpus(sizeof(struct message), KEPT);
	f->told = fuzz_memory(sizeof(*f->told));
	return true;
}

static void result(bool ok, int number, const char *text)
{
	printf("%sok %d - %s\n", ok ? "" : "not ", number, text);
}

/* After all this the connection lives, and does what it is told. */
static bool works(void)
{
	int fd = vm_open(vm_instance(), O_RDWR);
	char out[4096], in[4096] = "";
	uint64_t rnd = 4711;

	if (fd < 0 || !vm_attr_is(vm_instance(), "state", "live"))
		return false;
	if (fuzzer.store)
		return store_works(fd) && !close(fd);
	vm_fill(&rnd, out, sizeof(out));
	return !vm_put(fd, MiB, out, sizeof(out), PMOF_F_PERSIST) &&
	       !vm_get(fd, MiB, in, sizeof(in)) && !memcmp(in, out, sizeof(in)) && !close(fd);
}

static void print_counts(const struct fuzz_shared *s)
{
	const struct fuzzer *f = &fuzzer;

	printf("# seed %s: %llu calls, %llu refused, %llu places in the kernel\n",
	       vm_env("FUZZ_SEED", "1"), (unsigned long long)s->calls,
	       (unsigned long long)s->failed, (unsigned long long)s->places);
	printf("# kept: %u ioctls, %u batches of commands, %u file calls\n", f->calls->nr,
	       f->batches->nr, f->file_calls->nr);
	if (f->store)
		printf("# the store gave %llu answers of %u kinds, %llu of them OK\n",
		       (unsigned long long)f->told->answers, f->told->kinds,
		       (unsigned long long)f->told->done);
}

/* Who waits in the kernel, what the HCA has counted, what the connection has, as TAP's comments. */
#define WHEN_STUCK \
	"(grep -s . /proc/[0-9]*/stack; " \
	"rdma resource show qp -dd; grep -s . /sys/class/infiniband/*/ports/1/hw_counters/*; " \
	"grep -rs . /sys/class/pmof/*/) | sed 's/^/# /'"

int main(int argc, char **argv)
{
	struct fuzz_shared *shared = fuzz_share();
	int seconds = argc > 1 ? atoi(argv[1]) : 10, bad;
	const struct store_told *told;

	if (argc > 2)
		setenv("FUZZ_SEED", argv[2], 1);
	setbuf(stdout, NULL);
	if (!prepare(&fuzzer))
		return 2;
	told = fuzzer.told;
	shared->when_stuck = WHEN_STUCK;
	printf("TAP version 13\n1..%d\n", 3 + fuzzer.store);
	bad = fuzz_processes(shared, fuzz_cpus(), seconds, run);
	print_counts(shared);
	result(!bad, 1, "every call came back, no process was killed");
	result(shared->calls > 100 && shared->taken[BY_IOCTL] && shared->taken[BY_COMMAND] &&
	       shared->taken[BY_FILE] && fuzz_cover_worked(shared), 2,
	       "calls were made, of ioctls, commands and file calls not all refused");
	result(works(), 3, "the connection lives and works");
	if (fuzzer.store)
		result(told->done && told->done < told->answers, 4,
		       "the store has done some of what it was asked, and refused some");
	return bad || !works();
}
