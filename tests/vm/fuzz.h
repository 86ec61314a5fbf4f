/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the fuzzers share: values that are likely to hurt, coverage by kcov where the
 * kernel has it, a watch over calls that do not return, counting.
 */
#ifndef PMOF_FUZZ_H
#define PMOF_FUZZ_H

#include <signal.h>
#include <sys/wait.h>

#include "vm.h"

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#endif

/* One in @n. */
static inline bool fuzz_one_in(uint64_t *rnd, unsigned int n)
{
	return vm_rnd(rnd) % n == 0;
}

/* A number of @bits that some check may have wrong. */
static inline uint64_t fuzz_number(uint64_t *rnd, unsigned int bits)
{
	uint64_t max = bits == 64 ? ~0ULL : (1ULL << bits) - 1, v = vm_rnd(rnd);

	switch (v % 6) {
	case 0:
		return v >> 32 & 15;
	case 1:
		return max - (v >> 32 & 15);
	case 2:		/* next to a power of two */
		return ((1ULL << (v >> 32) % bits) + (v >> 40) % 3 - 1) & max;
	case 3:
		return max >> 1;
	case 4:
		return v & max & 0xffff;
	default:
		return vm_rnd(rnd) & max;
	}
}

/* Changes up to @n places of @buf. */
static inline void fuzz_damage(uint64_t *rnd, void *buf, size_t len, unsigned int n)
{
	unsigned char *p = buf;

	for (; n && len; n--) {
		uint64_t v = vm_rnd(rnd);

		switch (v % 3) {
		case 0:
			p[(v >> 8) % len] ^= 1 << (v >> 40 & 7);
			break;
		case 1:
			p[(v >> 8) % len] = v >> 40;
			break;
		default:
			v = fuzz_number(rnd, 32);
			if (len >= 4)
				memcpy(p + (v >> 8) % (len - 3), &v, 4);
		}
	}
}

/* --- processes ------------------------------------------------------------- */

#define FUZZ_SEEN	(1 << 18)
#define FUZZ_FLUSH	256
#define FUZZ_STUCK	60	/* seconds */

/* What a fuzzer's calls may come by; what they are it says itself. */
#define FUZZ_WAYS	3

/* What all processes of a fuzzer see. */
struct fuzz_shared {
	uint64_t calls, failed;
	uint64_t taken[FUZZ_WAYS];	/* not refused, by each way; of that which comes to pmof */
	const char *when_stuck;		/* a command: nothing has been done for long; NULL: none */
	uint64_t places;		/* that any of them has come to */
	volatile sig_atomic_t stop;
	unsigned char seen[FUZZ_SEEN];	/* by a hash of the place */
};

/* Of one process, not yet added to the above: a line that all write to is dear. */
static uint32_t fuzz_calls, fuzz_failed, fuzz_taken[FUZZ_WAYS];

static inline void *fuzz_memory(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

static inline struct fuzz_shared *fuzz_share(void)
{
	return fuzz_memory(sizeof(struct fuzz_shared));
}

static inline void fuzz_flush(struct fuzz_shared *s)
{
	int i;

	__atomic_fetch_add(&s->calls, fuzz_calls, __ATOMIC_RELAXED);
	__atomic_fetch_add(&s->failed, fuzz_failed, __ATOMIC_RELAXED);
	fuzz_calls = 0;
	fuzz_failed = 0;
	for (i = 0; i < FUZZ_WAYS; i++) {
		__atomic_fetch_add(&s->taken[i], fuzz_taken[i], __ATOMIC_RELAXED);
		fuzz_taken[i] = 0;
	}
}

static inline void fuzz_count(struct fuzz_shared *s, int rc)
{
	fuzz_failed += rc < 0;
	if (++fuzz_calls == FUZZ_FLUSH)
		fuzz_flush(s);
}

/* As fuzz_count(), of a call that the kernel cannot have done by itself. */
static inline void fuzz_count_by(struct fuzz_shared *s, int way, int rc)
{
	fuzz_taken[way] += rc >= 0;
	fuzz_count(s, rc);
}

/* --- coverage ------------------------------------------------------------- */

#define KCOV_INIT_TRACE	_IOR('c', 1, unsigned long)
#define KCOV_ENABLE	_IO('c', 100)
#define KCOV_WORDS	(64 << 10)

struct fuzz_cover {
	struct fuzz_shared *shared;
	unsigned long *trace;		/* NULL: this kernel has no kcov */
};

/*
 * For the calling thread: what it runs in the kernel itself, so neither workers' part of a
 * call nor the server's. Only pmof's own code is traced (scripts/build-modules).
 */
static inline void fuzz_cover_start(struct fuzz_cover *c, struct fuzz_shared *s)
{
	int fd = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
	void *map;

	c->shared = s;
	if (fd < 0 || ioctl(fd, KCOV_INIT_TRACE, KCOV_WORDS))
		return;
	map = mmap(NULL, KCOV_WORDS * sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map != MAP_FAILED && !ioctl(fd, KCOV_ENABLE, 0))
		c->trace = map;
}

/* What was kept of the calls says nothing where the kernel could have traced and has not. */
static inline bool fuzz_cover_worked(const struct fuzz_shared *s)
{
	return s->places || access("/sys/kernel/debug/kcov", F_OK);
}

static inline void fuzz_cover_before(struct fuzz_cover *c)
{
	if (c->trace)
		__atomic_store_n(&c->trace[0], 0, __ATOMIC_RELAXED);
}

/* True if the call came to a place that no process has seen before. */
static inline bool fuzz_cover_after(struct fuzz_cover *c)
{
	unsigned long i, n;
	uint64_t new = 0;

	if (!c->trace)
		return false;
	n = __atomic_load_n(&c->trace[0], __ATOMIC_RELAXED);
	for (i = 1; i <= n && i < KCOV_WORDS; i++) {
		unsigned char *seen = &c->shared->seen[(c->trace[i] * 0x9e3779b97f4a7c15ULL) >> 46];

		if (!*seen) {
			*seen = 1;
			new++;
		}
	}
	if (new)
		__atomic_fetch_add(&c->shared->places, new, __ATOMIC_RELAXED);
	return new;
}

/*
 * What came to a new place, to be changed further, by any of the processes. One may be read
 * while it is being replaced: it is only something to begin with.
 */
struct fuzz_corpus {
	size_t size;
	unsigned int nr, max;
	unsigned char entry[];
};

static inline struct fuzz_corpus *fuzz_corpus(size_t size, unsigned int max)
{
	struct fuzz_corpus *c = fuzz_memory(sizeof(*c) + size * max);

	c->size = size;
	c->max = max;
	return c;
}

static inline void fuzz_keep(struct fuzz_corpus *c, uint64_t *rnd, const void *what)
{
	unsigned int i = __atomic_fetch_add(&c->nr, 1, __ATOMIC_RELAXED);

	if (i >= c->max)
		i = vm_rnd(rnd) % c->max;
	memcpy(c->entry + i * c->size, what, c->size);
}

/* One of those that were kept; false if there is none. */
static inline bool fuzz_again(struct fuzz_corpus *c, uint64_t *rnd, void *what)
{
	unsigned int nr = __atomic_load_n(&c->nr, __ATOMIC_RELAXED);

	if (!nr)
		return false;
	memcpy(what, c->entry + vm_rnd(rnd) % (nr < c->max ? nr : c->max) * c->size, c->size);
	return true;
}

/* --- running ---------------------------------------------------------------- */

/* As many as can run at once, two at least: calls shall meet. */
static inline int fuzz_cpus(void)
{
	int n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 2 ? 2 : n > 16 ? 16 : n;
}

/* What the kernel waits for, once, while it still does: a lost connection tells no more. */
static inline void fuzz_watch(struct fuzz_shared *s)
{
	uint64_t now_done = s->calls - s->failed;
	static uint64_t done;
	static double since;

	if (!s->when_stuck)
		return;
	if (!since || done != now_done) {
		done = now_done;
		since = vm_now();
	} else if (vm_now() > since + FUZZ_STUCK) {
		printf("# nothing has been done for %d s\n", FUZZ_STUCK);
		if (system(s->when_stuck))
			printf("# %s: failed\n", s->when_stuck);
		s->when_stuck = NULL;
	}
}

/*
 * Runs @run in @n processes for @seconds. Returns how many did not end well: killed by
 * a signal, or still there a minute (of a fast kernel) after they were to stop (a call hangs).
 */
static inline int fuzz_processes(struct fuzz_shared *s, int n, int seconds,
				 void (*run)(struct fuzz_shared *s, int who))
{
	double until = vm_now() + seconds, patience = 60 * vm_time_factor();
	int i, status, bad = 0, left = 0;
	pid_t pids[64];

	for (i = 0; i < n && i < 64; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			run(s, i);
			fuzz_flush(s);
			_exit(0);
		}
	}
	for (left = i; left; usleep(50000)) {
		if (vm_now() > until)
			s->stop = 1;
		if (vm_now() > until + patience)
			return bad + left;
		fuzz_watch(s);
		for (i = 0; i < n && i < 64; i++) {
			if (pids[i] <= 0 || waitpid(pids[i], &status, WNOHANG) != pids[i])
				continue;
			pids[i] = 0;
			left--;
			bad += !WIFEXITED(status) || WEXITSTATUS(status);
		}
	}
	return bad;
}

#endif /* PMOF_FUZZ_H */
