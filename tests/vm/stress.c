// SPDX-License-Identifier: GPL-2.0
/*
 * Random data, put durably at random odd offsets and lengths by many threads,
 * each in an area of its own, read back and compared: every put at once, and
 * every area, with what was never written in it, at the end.
 *
 *   stress [-b MIB] [-t THREADS] [-a AREA_MIB] [-m MAX_LENGTH] [-s SEED] [-n]
 *          [-p PART/PARTS]
 *
 * -p: only in this part of the namespace. -n: puts without PERSIST, and one PERSIST at the end. Prints TAP.
 */
#include <inttypes.h>

#include "vm.h"

static uint64_t total = 200 * MiB, area_len = 8 * MiB, max_len = 4 * MiB, seed;
static int threads = 8;
static uint32_t put_flags = PMOF_F_PERSIST;
static int fd;
static uint64_t part_start, part_len;	/* of the namespace */
static unsigned int part, parts = 1;

struct worker {
	pthread_t thread;
	int id;
	uint64_t base;		/* of its area, in the namespace */
	uint64_t state;
	char *shadow;		/* what the area holds */
	char *got;
	uint64_t bytes, puts;
	char error[160];
};

static void failed(struct worker *w, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(w->error, sizeof(w->error), fmt, args);
	va_end(args);
}

/* Short, middle and long ones; mostly odd. */
static uint64_t random_length(uint64_t *state)
{
	unsigned int bits = 1 + vm_rnd(state) % 22;
	uint64_t len = 1 + vm_rnd(state) % (1ULL << bits);

	return len < max_len ? len : max_len;
}

static uint64_t first_difference(const char *a, const char *b, uint64_t len)
{
	uint64_t i = 0;

	while (i < len && a[i] == b[i])
		i++;
	return i;
}

static bool compare(struct worker *w, uint64_t off, uint64_t len, const char *when)
{
	int rc = vm_get(fd, w->base + off, w->got, len);

	if (rc) {
		failed(w, "%s: get %" PRIu64 " at %" PRIu64 ": %s", when, len,
		       w->base + off, strerror(-rc));
		return false;
	}
	if (!memcmp(w->shadow + off, w->got, len))
		return true;
	failed(w, "%s: byte %" PRIu64 " differs, in %" PRIu64 " at %" PRIu64, when,
	       w->base + off + first_difference(w->shadow + off, w->got, len),
	       len, w->base + off);
	return false;
}

static bool one_put(struct worker *w)
{
	uint64_t len = random_length(&w->state);
	uint64_t off = vm_rnd(&w->state) % (area_len - len + 1);
	int rc;

	vm_fill(&w->state, w->shadow + off, len);
	rc = vm_put(fd, w->base + off, w->shadow + off, len, put_flags);
	if (rc) {
		failed(w, "put %" PRIu64 " at %" PRIu64 ": %s", len,
		       w->base + off, strerror(-rc));
		return false;
	}
	w->bytes += len;
	w->puts++;
	return compare(w, off, len, "at once");
}

static void *work(void *arg)
{
	struct worker *w = arg;
	uint64_t share = total / threads;
	int rc = vm_get(fd, w->base, w->shadow, area_len);

	if (rc) {
		failed(w, "first get: %s", strerror(-rc));
		return NULL;
	}
	while (w->bytes < share)
		if (!one_put(w))
			return NULL;
	if (!(put_flags & PMOF_F_PERSIST)) {
		rc = vm_persist(fd, w->base, area_len);
		if (rc) {
			failed(w, "persist: %s", strerror(-rc));
			return NULL;
		}
	}
	compare(w, 0, area_len, "at the end");
	return NULL;
}

/* Areas are spread over the part, at odd places; the last ends it. */
static void place(struct worker *w, int id)
{
	uint64_t stride = (part_len - area_len) / (threads > 1 ? threads - 1 : 1);

	w->id = id;
	w->base = part_start + stride * id + (id && id < threads - 1 ? 2 * id + 1 : 0);
	w->state = (seed + 1) * 0x9e3779b97f4a7c15ULL + id + 1;
	w->shadow = vm_pages(area_len);
	w->got = vm_pages(area_len);
}

static void usage(void)
{
	fprintf(stderr, "usage: stress [-b MIB] [-t THREADS] [-a AREA_MIB] [-m MAX_LENGTH]\n"
		"              [-s SEED] [-n] [-p PART/PARTS]\n");
	exit(2);
}

static void parse(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "b:t:a:m:s:np:")) != -1) {
		switch (c) {
		case 'b':
			total = strtoull(optarg, NULL, 0) * MiB;
			break;
		case 't':
			threads = atoi(optarg);
			break;
		case 'a':
			area_len = strtoull(optarg, NULL, 0) * MiB;
			break;
		case 'm':
			max_len = strtoull(optarg, NULL, 0);
			break;
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'n':
			put_flags = 0;
			break;
		case 'p':
			if (sscanf(optarg, "%u/%u", &part, &parts) == 2 && part < parts)
				break;
			usage();
			break;
		default:
			usage();
		}
	}
	if (max_len > area_len)
		max_len = area_len;
}

int main(int argc, char **argv)
{
	struct worker *w;
	struct pmof_info info;
	uint64_t bytes = 0, puts = 0;
	bool ok = true;
	double start;
	int i;

	parse(argc, argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n1..1\n");
	fd = vm_open(vm_instance(), O_RDWR);
	if (fd < 0 || vm_info(fd, &info)) {
		printf("not ok 1 stress # cannot open the device\n");
		return 1;
	}
	part_len = info.ns_size / parts;
	part_start = part_len * part;
	if (area_len * threads + 4096 > part_len) {
		printf("not ok 1 stress # %d areas of %" PRIu64 " MiB do not fit\n", threads,
		       area_len / MiB);
		return 1;
	}
	start = vm_now();
	w = calloc(threads, sizeof(*w));
	for (i = 0; i < threads; i++) {
		place(&w[i], i);
		if (pthread_create(&w[i].thread, NULL, work, &w[i]))
			abort();
	}
	for (i = 0; i < threads; i++) {
		pthread_join(w[i].thread, NULL);
		bytes += w[i].bytes;
		puts += w[i].puts;
		if (w[i].error[0]) {
			printf("# thread %d: %s\n", i, w[i].error);
			ok = false;
		}
	}
	printf("# method %u, %d threads, %" PRIu64 " puts, %.1f MiB put and read back, %.1f s, seed %" PRIu64 "\n",
	       info.method, threads, puts, bytes / (double)MiB,
	       vm_now() - start, seed);
	free(w);
	printf("%sok 1 stress\n", ok ? "" : "not ");
	return !ok;
}
