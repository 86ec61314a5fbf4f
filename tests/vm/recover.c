// SPDX-License-Identifier: GPL-2.0
/*
 * Every kind of request, over and over, while something happens to the connection;
 * and the check of what was acknowledged.
 *
 *   recover FILE BLOCKDEV [restart] [errors] [breaks]
 *
 * Runs until FILE.stop exists.  The character device is PMOF_INSTANCE's; BLOCKDEV
 * is another connection's block device.  The mapping is of that connection, too: where
 * pages are cached nothing is asynchronous.  No request may fail, but for
 *   atomics: EIO, and then they have happened or not; what is behind one in a SUBMIT
 *     is ECANCELED then, and has not been begun;
 *   puts with NOREPLAY: the same; with breaks at least one of them;
 *   restart: the server restarts: PERSIST and fsync, EIO, and then it is all put anew;
 *   errors: any, with one of the errors of a lost connection, and then it is repeated.
 * Each thread has records of its own, in which each word says n and its KiB; behind an operation
 * that has waited for another connection, before any is written again, and at the end each holds
 * the last number that was acknowledged.  Between those of the mapping lies what nobody
 * writes, and some threads read that all the time.
 */
#include <inttypes.h>
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

#include "ring.h"

#define SLOTS		16
#define LEN		12288
#define AREA		(SLOTS * 16384UL)
#define BASE		(64 * MiB)
#define AIO_DEPTH	4
#define AIO_PARTS	12	/* more than the kernel has on its stack */
#define SPARE		(LEN / 4096)	/* page of a slot that no record lies in */
#define SPARE_BYTE	0x5a
#define READERS		3
#define WAITED_MS	1000	/* an operation that takes longer has met with what happened */

struct worker {
	const char *name;
	int (*once)(struct worker *w, int slot);
	uint64_t offset;	/* of its area */
	uint64_t *rec;		/* LEN bytes */
	uint64_t n;		/* what is written now */
	uint64_t acked[SLOTS];
	uint64_t done, errors, longest_ms;
	int compared;		/* how often all records were, while others are at work */
	char problem[160];
	/* of some kinds */
	unsigned char *map;
	uint64_t generation[SLOTS];
	bool spare_known[SLOTS];	/* the spare page was written last */
	uint64_t counter;	/* where the word is that it adds to */
	uint64_t sum_low, sum_high;
};

static int fd, block_fd, map_fd;
static bool restart, errors, breaks;
static char stop_path[256];
static __thread sigjmp_buf bus_place;

static uint64_t place(const struct worker *w, int slot)
{
	return w->offset + slot * 16384UL;
}

/* Word @i of record @n: what belongs elsewhere in it is wrong, too. */
static uint64_t word(uint64_t n, size_t i)
{
	return n | (uint64_t)(i * 8 / KiB) << 48;
}

static void fill(uint64_t *rec, uint64_t n)
{
	size_t i;

	for (i = 0; i < LEN / 8; i++)
		rec[i] = word(n, i);
}

static int put_durable(struct worker *w, int slot)
{
	return vm_put(fd, place(w, slot), w->rec, LEN, PMOF_F_PERSIST);
}

/* Up to copy_max: through a buffer. */
static int put_small(struct worker *w, int slot)
{
	size_t at;
	int rc = 0;

	for (at = 0; at < LEN && !rc; at += 1024)
		rc = vm_put(fd, place(w, slot) + at, (char *)w->rec + at, 1024, PMOF_F_PERSIST);
	return rc;
}

/* Nobody else tries it again. */
static int put_noreplay(struct worker *w, int slot)
{
	int rc;

	while ((rc = vm_put(fd, place(w, slot), w->rec, LEN,
			    PMOF_F_PERSIST | PMOF_F_NOREPLAY)) == -EIO) {
		w->errors++;
		usleep(10000);
	}
	return rc;
}

static int put_and_persist(struct worker *w, int slot)
{
	int rc;

	do {
		rc = vm_put(fd, place(w, slot), w->rec, LEN, 0);
		if (!rc)
			rc = vm_persist(fd, place(w, slot), LEN);
		if (rc == -EIO)
			w->errors++;
	} while (rc == -EIO && restart);
	return rc;
}

/* Part @i of @n of a record. */
static struct pmof_op put_part(const struct worker *w, int slot, int i, int n)
{
	return (struct pmof_op) {
		.size = sizeof(struct pmof_op), .opcode = PMOF_OP_PUT, .length = LEN / n,
		.offset = place(w, slot) + i * LEN / n,
		.addr = (uintptr_t)w->rec + i * LEN / n, .flags = PMOF_F_PERSIST,
	};
}

static int submit(struct worker *w, int slot)
{
	struct pmof_op op[3];
	int i, rc;

	for (i = 0; i < 3; i++)
		op[i] = put_part(w, slot, i, 3);
	rc = vm_submit(fd, op, 3);
	for (i = 0; i < 3 && !rc; i++)
		rc = op[i].result;
	return rc;
}

static int commit(struct worker *w, int slot)
{
	char *buf = (char *)w->rec;
	int rc;

	rc = vm_prepare(fd, place(w, slot), LEN + 8, &w->generation[slot]);
	return rc ? rc : vm_commit(fd, place(w, slot), buf, LEN + 8, w->generation[slot]);
}

/* @bytes from @from on in @n parts, of which no two are alike. */
static void cut(struct iovec *vec, int n, char *from, size_t bytes)
{
	size_t part;
	int i;

	for (i = 0; i < n; i++) {
		part = i < n - 1 ? bytes / n + 8 * (i & 1 ? 1 : -1) : bytes;
		vec[i] = (struct iovec) { from, part };
		from += part;
		bytes -= i < n - 1 ? part : 0;
	}
}

/*
 * Each with another iovec: one, which the kernel may not keep as such, some and many.  What is
 * begun again when io_submit() has long returned must not take it from where the kernel had it.
 */
static void make_iocb(struct iocb *cb, struct iovec *vec, const struct worker *w, int slot, int i)
{
	static const int parts[AIO_DEPTH] = { 1, 2, 3, AIO_PARTS };
	size_t part = LEN / AIO_DEPTH;
	char *from = (char *)w->rec + i * part;

	*cb = (struct iocb) {
		.aio_lio_opcode = IOCB_CMD_PWRITE, .aio_fildes = fd,
		.aio_buf = (uintptr_t)from, .aio_nbytes = part,
		.aio_offset = place(w, slot) + i * part, .aio_rw_flags = RWF_DSYNC,
	};
	if (parts[i] == 1)
		return;
	cut(vec, parts[i], from, part);
	cb->aio_lio_opcode = IOCB_CMD_PWRITEV;
	cb->aio_buf = (uintptr_t)vec;
	cb->aio_nbytes = parts[i];
}

static int aio(struct worker *w, int slot)
{
	static __thread aio_context_t ctx;
	struct iovec vec[AIO_DEPTH][AIO_PARTS];
	struct iocb cb[AIO_DEPTH], *list[AIO_DEPTH];
	struct io_event ev[AIO_DEPTH];
	size_t part = LEN / AIO_DEPTH;
	int i, rc = 0;

	if (!ctx && syscall(SYS_io_setup, 8, &ctx))
		return -errno;
	for (i = 0; i < AIO_DEPTH; i++) {
		make_iocb(&cb[i], vec[i], w, slot, i);
		list[i] = &cb[i];
	}
	if (syscall(SYS_io_submit, ctx, AIO_DEPTH, list) != AIO_DEPTH)
		return -EPROTO;
	/* It has read them. */
	memset(vec, 0, sizeof(vec));
	if (syscall(SYS_io_getevents, ctx, AIO_DEPTH, AIO_DEPTH, ev, NULL) != AIO_DEPTH)
		return -EPROTO;
	for (i = 0; i < AIO_DEPTH; i++)
		if (ev[i].res != (int64_t)part)
			rc = (int64_t)ev[i].res < 0 ? (int)ev[i].res : -EPROTO;
	return rc;
}

/* Half of them from a registered buffer. */
static int ring_commands(struct worker *w, int slot)
{
	static __thread struct io_uring ring;
	size_t part = LEN / AIO_DEPTH;
	int i, one, rc = 0;

	if (!ring.ring_fd && (ring_init_cmd(&ring, 0) ||
			      io_uring_register_buffers(&ring, &(struct iovec) { w->rec, LEN }, 1)))
		abort();
	for (i = 0; i < AIO_DEPTH; i++) {
		struct pmof_op op = ring_make_op(PMOF_OP_PUT, PMOF_F_PERSIST,
						 place(w, slot) + i * part, part,
						 (char *)w->rec + i * part);

		ring_cmd(&ring, fd, &op, 0)->rw_flags = i & 1 ? IORING_URING_CMD_FIXED : 0;
	}
	if (io_uring_submit(&ring) != AIO_DEPTH)
		abort();
	for (i = 0; i < AIO_DEPTH; i++) {
		one = ring_wait(&ring, NULL, NULL);
		rc = rc ? rc : one;
	}
	return rc;
}

/*
 * The record, and a page of the next one, which is not changed: what is written back lies on both
 * sides of a page that is not.
 */
static int map_and_msync(struct worker *w, int slot)
{
	volatile uint64_t *next = (uint64_t *)(w->map + (slot + 1) % SLOTS * 16384);
	uint64_t same;

	/* A page that cannot be read: the server has gone for too long. */
	if (sigsetjmp(bus_place, 1))
		return -EIO;
	memcpy(w->map + slot * 16384, w->rec, LEN);
	same = *next;
	*next = same;
	if (!msync(w->map, AREA, MS_SYNC))
		return 0;
	w->errors += errno == EIO && restart;
	return errno == EIO && restart ? msync(w->map, AREA, MS_SYNC) : -errno;
}

/* Reads the pages between the records of a mapping from the server, over and over. */
static void *read_spares(void *arg)
{
	struct worker *w = arg;
	unsigned char *page;
	size_t i;

	while (access(stop_path, F_OK) && !*w->problem) {
		page = w->map + rand() % SLOTS * 16384 + SPARE * 4096;
		posix_fadvise(map_fd, w->offset + (page - w->map), 4096, POSIX_FADV_DONTNEED);
		if (sigsetjmp(bus_place, 1)) {
			usleep(100000);
			continue;
		}
		for (i = 0; i < 4096 && page[i] == SPARE_BYTE; i++)
			;
		if (i < 4096)
			snprintf(w->problem, sizeof(w->problem),
				 "byte %zu of what nobody writes is %#x", i, page[i]);
	}
	return NULL;
}

static int block(struct worker *w, int slot)
{
	return pwrite(block_fd, w->rec, LEN, place(w, slot)) == LEN ? 0 : -errno;
}

static bool page_is(const unsigned char *page, unsigned char byte)
{
	return page[0] == byte && !memcmp(page, page + 1, 4095);
}

/* The page behind the record, from SPARE_BYTE to zeros, and back. */
static int zero_and_write(struct worker *w, int slot)
{
	uint64_t at = place(w, slot) + SPARE * 4096, range[] = { at, 4096 };
	unsigned char *page = (unsigned char *)w->rec + LEN;

	if (pread(block_fd, page, 4096, at) != 4096)
		return -errno;
	if (w->spare_known[slot] && !page_is(page, SPARE_BYTE))
		snprintf(w->problem, sizeof(w->problem), "zeroes that came late, or a write that did not");
	w->spare_known[slot] = false;
	if (ioctl(block_fd, BLKZEROOUT, range) || pread(block_fd, page, 4096, at) != 4096)
		return -errno;
	if (!page_is(page, 0))
		snprintf(w->problem, sizeof(w->problem), "zeroes that were acknowledged are not there");
	memset(page, SPARE_BYTE, 4096);
	if (pwrite(block_fd, page, 4096, at) != 4096)
		return -errno;
	w->spare_known[slot] = true;
	return block(w, slot);
}

/* Each adds 1, once or not at all. */
static int fetch_add(struct worker *w, int slot)
{
	struct pmof_atomic a = {
		.size = sizeof(a), .offset = w->counter, .operand = 1, .flags = PMOF_F_PERSIST,
	};
	int rc = vm_ioctl(fd, PMOF_IOC_FETCH_ADD, &a);

	(void)slot;
	w->sum_high++;
	w->sum_low += !rc;
	w->errors += rc == -EIO;
	return rc == -EIO ? 0 : rc;
}

static bool tolerated(int rc)
{
	return errors && (rc == -EIO || rc == -ENODEV || rc == -EACCES || rc == -ENOLINK);
}

/* The second half of a record is what was acknowledged last. */
static bool half_is_old(const struct worker *w, int slot)
{
	uint64_t *back = vm_pages(LEN / 2), n = w->acked[slot];
	size_t i;
	bool old;

	old = !vm_get(fd, place(w, slot) + LEN / 2, back, LEN / 2);
	for (i = 0; i < LEN / 16 && old; i++)
		old = back[i] == (n ? word(n, LEN / 16 + i) : 0);
	munmap(back, LEN / 2);
	return old;
}

/* What the results of put, atomic and put, @op, say may not be. */
static const char *wrong_results(struct worker *w, int slot, const struct pmof_op *op)
{
	if (op[0].result && op[1].result != -ECANCELED)
		return "behind a put that has failed";
	if (op[1].result && op[1].result != -EIO && op[1].result != -ECANCELED &&
	    !tolerated(op[1].result))
		return "of an atomic";
	/* It was waited for, so nothing behind it had been sent. */
	if (op[1].result && op[2].result != -ECANCELED)
		return "behind an atomic that has failed";
	if (op[1].result == -EIO && !errors && !half_is_old(w, slot))
		return "ECANCELED, and done, behind an atomic";
	return NULL;
}

/* Half a record, an atomic, which is not done twice, and the other half. */
static int submit_atomic(struct worker *w, int slot)
{
	struct pmof_op op[3];
	const char *wrong;
	int rc;

	for (;;) {
		op[0] = put_part(w, slot, 0, 2);
		op[1] = (struct pmof_op) {
			.size = sizeof(op[1]), .opcode = PMOF_OP_FETCH_ADD, .length = 8,
			.offset = w->counter, .operand = 1, .flags = PMOF_F_PERSIST,
		};
		op[2] = put_part(w, slot, 1, 2);
		rc = vm_submit(fd, op, 3);
		if (rc)
			return rc;
		w->sum_low += !op[1].result;
		w->sum_high += op[1].result != -ECANCELED;
		wrong = wrong_results(w, slot, op);
		if (wrong) {
			snprintf(w->problem, sizeof(w->problem), "%s: results %d, %d, %d", wrong,
				 (int)op[0].result, (int)op[1].result, (int)op[2].result);
			return -EPROTO;
		}
		if (op[0].result || !op[1].result)
			return op[0].result ? op[0].result : op[2].result;
		if (op[1].result != -EIO)
			return op[1].result;
		w->errors++;
	}
}

static struct worker workers[] = {
	{ .name = "durable puts", .once = put_durable },
	{ .name = "small durable puts", .once = put_small },
	{ .name = "puts and persists", .once = put_and_persist },
	{ .name = "submits", .once = submit },
	{ .name = "commits", .once = commit },
	{ .name = "puts with NOREPLAY", .once = put_noreplay },
	{ .name = "commands of io_uring", .once = ring_commands },
	{ .name = "aio", .once = aio },
	{ .name = "msyncs", .once = map_and_msync },
	{ .name = "block writes", .once = block },
	{ .name = "block writes and zeroes", .once = zero_and_write },
	{ .name = "atomics", .once = fetch_add },
	{ .name = "submits with an atomic", .once = submit_atomic },
};

#define NR	(sizeof(workers) / sizeof(workers[0]))

static void check_slot(struct worker *w, int slot, bool exact)
{
	uint64_t *back = vm_pages(LEN);
	size_t i;
	int rc;

	while (tolerated(rc = vm_get(fd, place(w, slot), back, LEN)))
		usleep(100000);
	if (rc)
		snprintf(w->problem, sizeof(w->problem), "get: %s", strerror(-rc));
	for (i = 0; i < LEN / 8 && !rc && !*w->problem; i++)
		if (back[i] != (w->acked[slot] ? word(w->acked[slot], i) : 0) &&
		    (exact || back[i] != word(w->n, i)))
			snprintf(w->problem, sizeof(w->problem),
				 "slot %d word %zu is %#" PRIx64 ", acknowledged %#" PRIx64, slot, i,
				 back[i], w->acked[slot]);
	munmap(back, LEN);
}

static void check_slots(struct worker *w)
{
	int slot;

	for (slot = 0; slot < SLOTS && !*w->problem && w->once != fetch_add; slot++)
		check_slot(w, slot, true);
}

/* With NOREPLAY a put has to be under way when the connection breaks. */
static bool has_to_fail(const struct worker *w)
{
	return breaks && w->once == put_noreplay && !w->errors;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	int slot, rc = 0;

	for (w->n = 1; access(stop_path, F_OK) && !*w->problem; w->n++) {
		double start = vm_now();
		uint64_t ms;

		slot = w->n % SLOTS;
		fill(w->rec, w->n);
		do {
			rc = w->once(w, slot);
			w->errors += !!rc;
			if (rc && tolerated(rc))
				usleep(100000);
		} while (tolerated(rc));
		if (rc && !*w->problem)
			snprintf(w->problem, sizeof(w->problem), "number %" PRIu64 ": %s", w->n,
				 strerror(-rc));
		if (rc)
			break;
		w->acked[slot] = w->n;
		w->done++;
		ms = (vm_now() - start) * 1000;
		if (ms > w->longest_ms)
			w->longest_ms = ms;
		if (ms > WAITED_MS * vm_time_factor() && !has_to_fail(w)) {
			check_slots(w);
			w->compared++;
			continue;
		}
		if (w->once != fetch_add && w->once != put_noreplay && w->n % 8 == 0)
			check_slot(w, slot, true);
	}
	return NULL;
}

/* What was acknowledged has been added, and nothing twice. */
static void check_sum(struct worker *w)
{
	uint64_t sum = 0;
	int rc = vm_get(fd, w->counter, &sum, 8);

	if (rc)
		snprintf(w->problem, sizeof(w->problem), "get of the sum: %s", strerror(-rc));
	else if (sum < w->sum_low || sum > w->sum_high)
		snprintf(w->problem, sizeof(w->problem), "%" PRIu64 " of %" PRIu64 " to %" PRIu64,
			 sum, w->sum_low, w->sum_high);
}

static int finish(struct worker *w)
{
	check_slots(w);
	if (!*w->problem && w->counter)
		check_sum(w);
	if (breaks && w->once == put_noreplay && !w->errors)
		snprintf(w->problem, sizeof(w->problem), "none has failed");
	printf("%s: %" PRIu64 " done, %" PRIu64 " errors, the longest took %" PRIu64 " ms, all compared %d times%s%s\n",
	       w->name, w->done, w->errors, w->longest_ms, w->compared, *w->problem ? ": " : "",
	       w->problem);
	return *w->problem || !w->done;
}

static void prepare(struct worker *w, uint64_t offset)
{
	char *zero = vm_pages(AREA);
	int slot;

	for (slot = 0; slot < SLOTS && w->once == map_and_msync; slot++)
		memset(zero + slot * 16384 + SPARE * 4096, SPARE_BYTE, 4096);
	w->offset = offset;
	if (w->once == fetch_add)
		w->counter = offset;
	if (w->once == submit_atomic)
		w->counter = offset + SPARE * 4096;
	w->rec = vm_pages(16384);
	if (w->once == map_and_msync) {
		w->map = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, offset);
		if (w->map == MAP_FAILED || madvise(w->map, AREA, MADV_RANDOM))
			abort();
	}
	if (vm_put(fd, offset, zero, AREA, PMOF_F_PERSIST))
		abort();
	munmap(zero, AREA);
}

static struct worker *mapped_worker(void)
{
	struct worker *w = workers;

	while (w->once != map_and_msync)
		w++;
	return w;
}

static void on_bus(int sig)
{
	(void)sig;
	siglongjmp(bus_place, 1);
}

int main(int argc, char **argv)
{
	pthread_t thread[NR + READERS];
	char started[256];
	int i, bad = 0;

	if (argc < 3)
		return 2;
	for (i = 3; i < argc; i++) {
		restart |= !strcmp(argv[i], "restart");
		errors |= !strcmp(argv[i], "errors");
		breaks |= !strcmp(argv[i], "breaks");
	}
	snprintf(stop_path, sizeof(stop_path), "%s.stop", argv[1]);
	snprintf(started, sizeof(started), "%s.started", argv[1]);
	signal(SIGBUS, on_bus);
	fd = vm_open(vm_instance(), O_RDWR);
	block_fd = open(argv[2], O_RDWR | O_DIRECT | O_CLOEXEC);
	map_fd = vm_open(atoi(argv[2] + strlen("/dev/pmof")), O_RDWR);
	if (fd < 0 || block_fd < 0 || map_fd < 0)
		return 2;
	for (i = 0; i < (int)NR; i++)
		prepare(&workers[i], BASE + i * AREA);
	for (i = 0; i < (int)NR; i++)
		if (pthread_create(&thread[i], NULL, work, &workers[i]))
			abort();
	for (i = 0; i < READERS; i++)
		if (pthread_create(&thread[NR + i], NULL, read_spares, mapped_worker()))
			abort();
	close(open(started, O_WRONLY | O_CREAT, 0600));
	for (i = 0; i < (int)NR + READERS; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < (int)NR; i++)
		bad += finish(&workers[i]);
	return bad != 0;
}
