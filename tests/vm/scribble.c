// SPDX-License-Identifier: GPL-2.0
/*
 * Stores at random to a mapping and msyncs, until the server dies; and the check
 * of what it must still have, byte for byte.
 *
 *   scribble load FILE    six threads; FILE gets what each had acknowledged. Exit
 *                         status 0 if every thread ended with EIO or SIGBUS.
 *   scribble verify FILE  exit status 0 if all of it is there
 *   scribble hold FILE    keeps a mapping with stores in it until FILE is gone
 *
 * All threads share all pages: thread t has every byte whose number in its block
 * of 96 bytes is in [16 t, 16 t + 16). The model: for each byte the last value that an
 * msync has acknowledged, and the one that has been stored since, if any.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>

#include "vm.h"

#define THREADS	6
#define STRIPE	16
#define BLOCK	(THREADS * STRIPE)
#define PAGES	96
#define AREA	(PAGES * 4096UL)
#define BASE	(200 * MiB)

struct model {
	unsigned char acked[AREA];
	unsigned char stored[AREA];
};

static struct model model;
static unsigned char *map;
static int fd, rc[THREADS];
static uint64_t msyncs[THREADS];
static __thread sigjmp_buf bus_place;

static void on_bus(int sig)
{
	(void)sig;
	siglongjmp(bus_place, 1);
}

static bool mine(int t, size_t i)
{
	return i % BLOCK / STRIPE == (size_t)t;
}

/* Bytes that are still as they were acknowledged: what a crash may leave of them is then known. */
static void store_some(int t, uint64_t *state)
{
	size_t len = 1 + vm_rnd(state) % (vm_rnd(state) % 4 ? 100 : 9000);
	size_t at = vm_rnd(state) % (AREA - len), i;

	for (i = at; i < at + len; i++) {
		if (!mine(t, i) || model.stored[i] != model.acked[i])
			continue;
		/* Before the store: it may be at the server as soon as it is done. */
		__atomic_store_n(&model.stored[i], vm_rnd(state), __ATOMIC_RELEASE);
		__atomic_store_n(&map[i], model.stored[i], __ATOMIC_RELEASE);
	}
}

static int msync_some(int t, uint64_t *state)
{
	size_t first = vm_rnd(state) % PAGES, n = 1 + vm_rnd(state) % (PAGES - first), i;

	if (vm_rnd(state) % 8 ? msync(map + first * 4096, n * 4096, MS_SYNC) : fdatasync(fd))
		return -errno;
	for (i = first * 4096; i < (first + n) * 4096; i++)
		if (mine(t, i))
			model.acked[i] = model.stored[i];
	msyncs[t]++;
	return 0;
}

static void *load(void *arg)
{
	volatile int t = (int)(intptr_t)arg;
	uint64_t state = t + 1000;

	/* A page that cannot be read in any more. */
	if (sigsetjmp(bus_place, 1)) {
		rc[t] = -EIO;
		return NULL;
	}
	while (!rc[t]) {
		int n = 1 + vm_rnd(&state) % 20;

		while (n--)
			store_some(t, &state);
		rc[t] = msync_some(t, &state);
	}
	return NULL;
}

static void start_clean(void)
{
	memset(map, 0, AREA);
	if (msync(map, AREA, MS_SYNC))
		exit(1);
}

static void touch(const char *file)
{
	close(open(file, O_WRONLY | O_CREAT, 0600));
}

static int save(const char *file)
{
	int out = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	bool ok = out >= 0 && write(out, &model, sizeof(model)) == sizeof(model);

	close(out);
	return ok ? 0 : 1;
}

/* After the end: each open file hears of it, and nothing hangs. */
static bool all_hear_of_it(int other)
{
	return fsync(fd) == -1 && errno == EIO && fsync(other) == -1 && errno == EIO &&
	       msync(map, AREA, MS_SYNC) == -1 && errno == EIO && !munmap(map, AREA);
}

static int run_load(const char *file)
{
	struct sigaction action = { .sa_handler = on_bus, .sa_flags = SA_NODEFER };
	int other = vm_open(vm_instance(), O_RDWR), t, bad = 0;
	pthread_t thread[THREADS];
	uint64_t total = 0;
	char started[256];

	start_clean();
	sigaction(SIGBUS, &action, NULL);
	for (t = 0; t < THREADS; t++)
		if (pthread_create(&thread[t], NULL, load, (void *)(intptr_t)t))
			abort();
	snprintf(started, sizeof(started), "%s.started", file);
	touch(started);
	for (t = 0; t < THREADS; t++) {
		pthread_join(thread[t], NULL);
		bad += rc[t] != -EIO;
		total += msyncs[t];
	}
	printf("%" PRIu64 " msyncs acknowledged, %d threads ended in another way than EIO\n", total,
	       bad);
	if (!all_hear_of_it(other)) {
		printf("an fsync or msync after the end did not fail with EIO\n");
		bad++;
	}
	return save(file) || bad || !total;
}

static int run_verify(const char *file)
{
	int in = open(file, O_RDONLY), bad = 0, fresh = 0;
	unsigned char *got = vm_pages(AREA);
	size_t i;

	if (in < 0 || read(in, &model, sizeof(model)) != sizeof(model) ||
	    vm_get(fd, BASE, got, AREA))
		return 1;
	for (i = 0; i < AREA; i++) {
		fresh += got[i] != model.acked[i];
		if (got[i] == model.acked[i] || got[i] == model.stored[i])
			continue;
		if (bad++ < 10)
			printf("byte %zu is %02x: acknowledged %02x, stored %02x\n", i, got[i],
			       model.acked[i], model.stored[i]);
	}
	printf("%d of %lu bytes are wrong, %d newer than acknowledged\n", bad, AREA, fresh);
	return bad || memcmp(got, map, AREA);
}

static int run_hold(const char *file)
{
	start_clean();
	map[0] = 1;
	touch(file);
	while (!access(file, F_OK))
		usleep(10000);
	return 0;
}

int main(int argc, char **argv)
{
	fd = vm_open(vm_instance(), O_RDWR);
	map = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_SHARED, fd, BASE);
	if (argc != 3 || fd < 0 || map == MAP_FAILED) {
		fprintf(stderr, "usage: scribble load|verify|hold FILE\n");
		return 2;
	}
	if (!strcmp(argv[1], "hold"))
		return run_hold(argv[2]);
	return strcmp(argv[1], "load") ? run_verify(argv[2]) : run_load(argv[2]);
}
