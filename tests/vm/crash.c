// SPDX-License-Identifier: GPL-2.0
/*
 * Durable puts until the server dies, and the check of what it must still have.
 *
 *   crash load FILE     eight threads; FILE gets what each had acknowledged.
 *                       Exit status 0 if every thread ended with EIO.
 *   crash verify FILE   exit status 0 if all of it is there
 *
 * Each thread puts records of its own: in its slot s the n-th put leaves
 * {n, n, n, ...}. After the crash a slot holds the last acknowledged number, or
 * the one that was under way.
 */
#include <inttypes.h>

#include "vm.h"

#define THREADS		8
#define SLOTS		64
#define SLOT_LEN	8192	/* lies across lines and pages */
#define BASE		(160 * MiB + 24)

struct state {
	uint64_t acked[THREADS][SLOTS];
	uint64_t tried[THREADS][SLOTS];
};

static struct state st;
static int fd, rc[THREADS];

static uint64_t place(int t, int slot)
{
	return BASE + ((uint64_t)t * SLOTS + slot) * (SLOT_LEN + 72);
}

static void fill(uint64_t *rec, uint64_t n)
{
	size_t i;

	for (i = 0; i < SLOT_LEN / 8; i++)
		rec[i] = n;
}

static void *load(void *arg)
{
	int t = (int)(intptr_t)arg;
	uint64_t *rec = vm_pages(SLOT_LEN), n;

	for (n = 1; !rc[t]; n++) {
		int slot = n % SLOTS;

		fill(rec, n);
		st.tried[t][slot] = n;
		rc[t] = vm_put(fd, place(t, slot), rec, SLOT_LEN, PMOF_F_PERSIST);
		if (!rc[t])
			st.acked[t][slot] = n;
	}
	return NULL;
}

static int run_load(const char *file)
{
	uint64_t zero[SLOT_LEN / 8] = { 0 }, total = 0;
	pthread_t thread[THREADS];
	int t, slot, bad = 0, out;
	char started[256];

	for (t = 0; t < THREADS; t++)
		for (slot = 0; slot < SLOTS; slot++)
			if (vm_put(fd, place(t, slot), zero, SLOT_LEN, 0))
				return 1;
	snprintf(started, sizeof(started), "%s.started", file);
	close(open(started, O_WRONLY | O_CREAT, 0600));
	for (t = 0; t < THREADS; t++)
		if (pthread_create(&thread[t], NULL, load, (void *)(intptr_t)t))
			abort();
	for (t = 0; t < THREADS; t++) {
		pthread_join(thread[t], NULL);
		bad += rc[t] != -EIO;
		for (slot = 0; slot < SLOTS; slot++)
			total += !!st.acked[t][slot];
	}
	printf("%" PRIu64 " slots acknowledged, errors: ", total);
	for (t = 0; t < THREADS; t++)
		printf("%s ", strerror(-rc[t]));
	printf("\n");
	out = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (out < 0 || write(out, &st, sizeof(st)) != sizeof(st))
		return 1;
	close(out);
	return bad || !total;
}

/* Acknowledged, or from the put that was under way; words do not tear. */
static bool slot_ok(int t, int slot, const uint64_t *rec)
{
	uint64_t acked = st.acked[t][slot], tried = st.tried[t][slot];
	size_t i;

	for (i = 0; i < SLOT_LEN / 8; i++)
		if (rec[i] != acked && rec[i] != tried) {
			printf("thread %d slot %d word %zu: %" PRIu64 ", acknowledged %" PRIu64 ", tried %" PRIu64 "\n",
			       t, slot, i, rec[i],
			       acked, tried);
			return false;
		}
	return true;
}

static int run_verify(const char *file)
{
	uint64_t *rec = vm_pages(SLOT_LEN);
	int t, slot, in = open(file, O_RDONLY), bad = 0;

	if (in < 0 || read(in, &st, sizeof(st)) != sizeof(st))
		return 1;
	close(in);
	for (t = 0; t < THREADS; t++)
		for (slot = 0; slot < SLOTS; slot++)
			bad += vm_get(fd, place(t, slot), rec, SLOT_LEN) || !slot_ok(t, slot, rec);
	printf("%d of %d slots are wrong\n", bad, THREADS * SLOTS);
	return bad != 0;
}

int main(int argc, char **argv)
{
	fd = vm_open(vm_instance(), O_RDWR);
	if (argc != 3 || fd < 0) {
		fprintf(stderr, "usage: crash load|verify FILE\n");
		return 2;
	}
	return strcmp(argv[1], "load") ? run_verify(argv[2]) : run_load(argv[2]);
}
