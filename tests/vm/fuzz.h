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

/* --- coverage ------------------------------------------------------------- */

#define KCOV_INIT_TRACE	_IOR('c', 1, unsigned long)
#define KCOV_ENABLE	_IO('c', 100)
#define KCOV_WORDS	(64 << 10)
#define FUZZ_SEEN	(1 << 16)

struct fuzz_cover {
	unsigned long *trace;		/* NULL: this kernel has no kcov */
	unsigned char seen[FUZZ_SEEN];	/* by a hash of the place */
	unsigned int places;
};

/* For the calling thread. */
static inline void fuzz_cover_start(struct fuzz_cover *c)
{
	int fd = open("/sys/kernel/debug/kcov", O_RDWR | O_CLOEXEC);
	void *map;

	if (fd < 0 || ioctl(fd, KCOV_INIT_TRACE, KCOV_WORDS))
		return;
	map = mmap(NULL, KCOV_WORDS * sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map != MAP_FAILED && !ioctl(fd, KCOV_ENABLE, 0))
		c->trace = map;
}

static inline void fuzz_cover_before(struct fuzz_cover *c)
{
	if (c->trace)
		__atomic_store_n(&c->trace[0], 0, __ATOMIC_RELAXED);
}

/* True if the call came to a place that was not seen before. */
static inline bool fuzz_cover_after(struct fuzz_cover *c)
{
	unsigned long i, n;
	bool new = false;

	if (!c->trace)
		return false;
	n = __atomic_load_n(&c->trace[0], __ATOMIC_RELAXED);
	for (i = 1; i <= n && i < KCOV_WORDS; i++) {
		unsigned int h = (c->trace[i] * 0x9e3779b97f4a7c15ULL) >> 48;

		if (!c->seen[h]) {
			c->seen[h] = 1;
			c->places++;
			new = true;
		}
	}
	return new;
}

/* --- processes ------------------------------------------------------------- */

/* What all processes of a fuzzer see. */
struct fuzz_shared {
	uint64_t calls, failed;
	uint64_t places;		/* the most that one process has seen */
	volatile sig_atomic_t stop;
};

static inline struct fuzz_shared *fuzz_share(void)
{
	void *p = mmap(NULL, sizeof(struct fuzz_shared), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

static inline void fuzz_count(struct fuzz_shared *s, int rc)
{
	__atomic_fetch_add(&s->calls, 1, __ATOMIC_RELAXED);
	if (rc < 0)
		__atomic_fetch_add(&s->failed, 1, __ATOMIC_RELAXED);
}

/*
 * Runs @run in @n processes for @seconds. Returns how many did not end well: killed by
 * a signal, or still there a minute after they were to stop (a call hangs).
 */
static inline int fuzz_processes(struct fuzz_shared *s, int n, int seconds,
				 void (*run)(struct fuzz_shared *s, int who))
{
	double until = vm_now() + seconds;
	int i, status, bad = 0, left = 0;
	pid_t pids[64];

	for (i = 0; i < n && i < 64; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			run(s, i);
			_exit(0);
		}
	}
	for (left = i; left; usleep(50000)) {
		if (vm_now() > until)
			s->stop = 1;
		if (vm_now() > until + 60)
			return bad + left;
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
