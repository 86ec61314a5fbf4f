// SPDX-License-Identifier: GPL-2.0
/*
 * What a client that dies has had acknowledged as durable, kept where it outlives it.
 *
 *   witness load FILE MEBIBYTES     four threads put durably until somebody ends them, and
 *                                   write into FILE what was acknowledged; FILE.started when
 *                                   each has had an acknowledgement
 *   witness verify FILE MEBIBYTES   exit status 0 if all of it is there
 *
 * Each thread has slots of its own; the n-th put leaves {n, n, n, ...} in slot n % SLOTS.  FILE
 * has the last number of each slot.  One put of each thread may have been under way, or
 * acknowledged and not written down: its slot has the old number or the next, word by word.
 */
#include <inttypes.h>

#include "vm.h"

#define THREADS		4
#define SLOTS		16
#define SLOT_LEN	8192	/* lies across lines and pages */
#define STRIDE		(SLOT_LEN + 72)

static int fd, file;
static uint64_t base;
static uint64_t acked[THREADS][SLOTS];
static volatile bool begun[THREADS];

static uint64_t place(int t, int slot)
{
	return base + ((uint64_t)t * SLOTS + slot) * STRIDE;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void *load(void *arg)
{
	int t = (int)(intptr_t)arg, slot, rc;
	uint64_t *rec = vm_pages(SLOT_LEN), n;
	size_t i;

	for (n = 1;; n++) {
		slot = n % SLOTS;
		for (i = 0; i < SLOT_LEN / 8; i++)
			rec[i] = n;
		rc = vm_put(fd, place(t, slot), rec, SLOT_LEN, PMOF_F_PERSIST);
		if (rc) {
			errno = -rc;
			die("put");
		}
		if (pwrite(file, &n, 8, (t * SLOTS + slot) * 8) != 8)
			die("what was acknowledged");
		begun[t] = true;
	}
	return NULL;
}

static int run_load(const char *name)
{
	uint64_t *zero = vm_pages(SLOT_LEN);
	char started[256];
	pthread_t thread;
	int t, slot;

	if (pwrite(file, acked, sizeof(acked), 0) != sizeof(acked))
		return 1;
	for (t = 0; t < THREADS; t++)
		for (slot = 0; slot < SLOTS; slot++)
			if (vm_put(fd, place(t, slot), zero, SLOT_LEN, PMOF_F_PERSIST))
				return 1;
	for (t = 0; t < THREADS; t++)
		if (pthread_create(&thread, NULL, load, (void *)(intptr_t)t))
			abort();
	for (t = 0; t < THREADS; t++)
		while (!begun[t])
			usleep(10000);
	snprintf(started, sizeof(started), "%s.started", name);
	close(open(started, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	pause();
	return 1;
}

/* Of the put that may be later than what was written down. */
static uint64_t next_number(uint64_t n, int slot)
{
	if (n)
		return n + SLOTS;
	return slot ? slot : SLOTS;
}

/* 0: as it was acknowledged; 1: or later; -1: neither. */
static int look(int t, int slot)
{
	uint64_t *rec = vm_pages(SLOT_LEN), n = acked[t][slot];
	int rc = vm_get(fd, place(t, slot), rec, SLOT_LEN), later = 0;
	size_t i;

	for (i = 0; i < SLOT_LEN / 8 && !rc && later >= 0; i++) {
		if (rec[i] == n)
			continue;
		later = rec[i] == next_number(n, slot) ? 1 : -1;
		if (later < 0)
			printf("thread %d slot %d word %zu: %" PRIu64 ", acknowledged %" PRIu64 "\n",
			       t, slot, i, rec[i], n);
	}
	if (rc)
		printf("thread %d slot %d: get: %s\n", t, slot, strerror(-rc));
	munmap(rec, SLOT_LEN);
	return rc ? -1 : later;
}

static int run_verify(void)
{
	int t, slot, one, bad = 0, later;
	uint64_t most = 0;

	if (pread(file, acked, sizeof(acked), 0) != sizeof(acked))
		return 1;
	for (t = 0; t < THREADS; t++) {
		for (slot = 0, later = 0; slot < SLOTS; slot++) {
			one = look(t, slot);
			bad += one < 0;
			later += one > 0;
			most = acked[t][slot] > most ? acked[t][slot] : most;
		}
		if (later > 1)
			bad += !!printf("thread %d: %d slots are later\n", t, later);
	}
	printf("%d wrong, the last number is %" PRIu64 "\n", bad, most);
	return bad || !most;
}

int main(int argc, char **argv)
{
	bool loads;

	if (argc != 4)
		return 2;
	loads = !strcmp(argv[1], "load");
	base = strtoull(argv[3], NULL, 0) * MiB + 24;
	fd = vm_open(vm_instance(), O_RDWR);
	file = open(argv[2], O_CLOEXEC | (loads ? O_RDWR | O_CREAT | O_TRUNC : O_RDONLY), 0600);
	if (fd < 0 || file < 0)
		return 2;
	return loads ? run_load(argv[2]) : run_verify();
}
