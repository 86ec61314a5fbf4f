// SPDX-License-Identifier: GPL-2.0
/*
 * Objects that are prepared again and rewritten in place while others read
 * them. What an object holds is a function of its number and its generation, so
 * that a reader that is told "valid" can check every word: none may be torn.
 *
 *   object_stress [-t SECONDS] [-w WRITERS] [-r READERS]
 *
 * Prints TAP.
 */
#include <inttypes.h>
#include <stdatomic.h>

#include "vm.h"

#define MAX_THREADS	64
#define BASE		(8 * MiB)
#define STRIDE		(288 * KiB)
#define LONGEST		(192 * KiB)	/* more than one work request */
#define PATIENCE	20	/* seconds until an EAGAIN must have been followed by success */

static const uint64_t sizes[] = { 16, 24, 64, 72, 256, 4096, 4104, 65536, LONGEST };
/* The first of each writer is hot: most writes and most reads are of these. */
static const uint64_t hot_sizes[] = { 65536, 16, LONGEST, 65536, 4104, 65536, 64, 32768 };

#define PER_WRITER	5

struct object {
	uint64_t off, len;
	_Atomic uint64_t committed;	/* the generation that its owner committed last */
};

struct worker {
	pthread_t thread;
	int id;
	uint64_t state;
	uint64_t done, again, longest, changed;
	char error[200];
};

static int writers = 8, readers = 8, seconds = 8;
static struct object objects[MAX_THREADS * PER_WRITER];
static int nr_objects, fd, crossing;
static atomic_bool stop;

static bool failed(struct worker *w, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(w->error, sizeof(w->error), fmt, args);
	va_end(args);
	atomic_store(&stop, true);
	return false;
}

/* Word @i of object @o in @generation. */
static uint64_t content(int o, uint64_t generation, uint64_t i)
{
	return ((uint64_t)o + 1) * 0x9e3779b97f4a7c15ULL + generation * 0xd1342543de82ef95ULL + i;
}

static void fill(int o, uint64_t generation, uint64_t *buf)
{
	uint64_t i, words = objects[o].len / 8 - 1;

	for (i = 0; i < words; i++)
		buf[i] = content(o, generation, i);
	/* Where the trailer will be: not ours to write. */
	buf[words] = ~0ULL;
}

static bool whole(struct worker *w, int o, uint64_t generation, const uint64_t *buf)
{
	uint64_t i, words = objects[o].len / 8 - 1;

	for (i = 0; i < words; i++)
		if (buf[i] != content(o, generation, i))
			return failed(w, "object %d of %" PRIu64 " bytes at %" PRIu64
				      ", generation %" PRIu64 ": word %" PRIu64 " is torn", o,
				      objects[o].len, objects[o].off, generation, i);
	return true;
}

/* --- writers -------------------------------------------------------------------- */

static bool rewrite(struct worker *w, int o, uint64_t *buf)
{
	uint64_t last = atomic_load(&objects[o].committed), generation;
	int rc = vm_prepare(fd, objects[o].off, objects[o].len, &generation);

	if (rc)
		return failed(w, "prepare of object %d: %s", o, strerror(-rc));
	if (last && generation != last + 1)
		return failed(w, "object %d: generation %" PRIu64 " after %" PRIu64, o,
			      generation, last);
	fill(o, generation, buf);
	rc = vm_commit(fd, objects[o].off, buf, objects[o].len, generation);
	if (rc)
		return failed(w, "commit of object %d, generation %" PRIu64 ": %s", o, generation,
			      strerror(-rc));
	atomic_store(&objects[o].committed, generation);
	w->done++;
	return true;
}

static void *write_objects(void *arg)
{
	struct worker *w = arg;
	uint64_t *buf = vm_pages(LONGEST + 64);
	int i;

	while (!atomic_load(&stop)) {
		i = vm_rnd(&w->state) % 4 ? 0 : vm_rnd(&w->state) % PER_WRITER;
		if (!rewrite(w, w->id * PER_WRITER + i, buf))
			break;
		/* Readers want a moment in which it is committed. */
		usleep(vm_rnd(&w->state) % 3000);
	}
	return NULL;
}

/* --- readers -------------------------------------------------------------------- */

/* Until it is valid, and then it is whole, and not older than what was committed before. */
static bool read_one(struct worker *w, int o, uint64_t *buf, uint64_t *generation)
{
	double until = vm_now() + PATIENCE;
	uint64_t tries = 0, least;
	int rc;

	do {
		least = atomic_load(&objects[o].committed);
		rc = vm_get_valid(fd, objects[o].off, buf, objects[o].len, generation);
		if (rc == -EAGAIN) {
			tries++;
			usleep(200);
		}
	} while (rc == -EAGAIN && vm_now() < until);
	w->again += tries;
	w->longest = tries > w->longest ? tries : w->longest;
	if (rc)
		return failed(w, "object %d: %s after %" PRIu64 " tries", o, strerror(-rc), tries);
	if (*generation < least)
		return failed(w, "object %d: generation %" PRIu64 " after %" PRIu64
			      " was committed", o, *generation, least);
	w->done++;
	return whole(w, o, *generation, buf);
}

static void *read_objects(void *arg)
{
	struct worker *w = arg;
	uint64_t *buf = vm_pages(LONGEST + 64), seen[MAX_THREADS * PER_WRITER] = { 0 };

	while (!atomic_load(&stop)) {
		int o = vm_rnd(&w->state) % nr_objects;
		uint64_t generation;

		if (vm_rnd(&w->state) % 4)
			o -= o % PER_WRITER;
		if (!read_one(w, o, buf, &generation))
			break;
		w->changed += seen[o] && seen[o] != generation;
		seen[o] = generation;
	}
	return NULL;
}

/* --- all of it ------------------------------------------------------------------ */

/* The first ones across the ends of segments, as far as there are several. */
static void place(const struct pmof_info *info)
{
	uint64_t state = 77, end;
	int o;

	for (o = 0; o < nr_objects; o++) {
		objects[o].len = o % PER_WRITER ? sizes[vm_rnd(&state) % (sizeof(sizes) / 8)] :
						  hot_sizes[o / PER_WRITER % 8];
		objects[o].off = BASE + o * STRIDE + 8 * (o % 8);
		end = (o + 1) * info->segment_size;
		if (end + LONGEST < info->ns_size) {
			objects[o].off = end - objects[o].len / 2 / 8 * 8;
			crossing++;
		}
	}
}

static bool first_round(struct worker *w)
{
	uint64_t *buf = vm_pages(LONGEST + 64);
	int o;

	for (o = 0; o < nr_objects; o++)
		if (!rewrite(w, o, buf))
			return false;
	w->done = 0;
	return true;
}

/* When nobody writes any more, each is valid at once, as its owner left it. */
static bool last_round(struct worker *w)
{
	uint64_t *buf = vm_pages(LONGEST + 64), generation;
	int o, rc;

	for (o = 0; o < nr_objects; o++) {
		rc = vm_get_valid(fd, objects[o].off, buf, objects[o].len, &generation);
		if (rc || generation != objects[o].committed)
			return failed(w, "object %d at the end: %s, generation %" PRIu64
				      " where %" PRIu64 " was committed", o, strerror(-rc),
				      generation, objects[o].committed);
		if (!whole(w, o, generation, buf))
			return false;
	}
	return true;
}

static void run(struct worker *w)
{
	int i;

	for (i = 0; i < writers + readers; i++) {
		w[i].id = i;
		w[i].state = i + 1;
		if (pthread_create(&w[i].thread, NULL, i < writers ? write_objects : read_objects,
				   &w[i]))
			abort();
	}
	/* As often on a slow kernel: each waits for the others all the time. */
	for (i = 0; i < seconds * 10 * vm_time_factor() && !atomic_load(&stop); i++)
		usleep(100000);
	atomic_store(&stop, true);
	for (i = 0; i < writers + readers; i++)
		pthread_join(w[i].thread, NULL);
}

static bool report(const struct worker *w, unsigned int method)
{
	struct worker sum[2] = { 0 };
	bool ok = true;
	int i;

	for (i = 0; i < writers + readers; i++) {
		struct worker *s = &sum[i >= writers];

		s->done += w[i].done;
		s->again += w[i].again;
		s->changed += w[i].changed;
		s->longest = w[i].longest > s->longest ? w[i].longest : s->longest;
		if (w[i].error[0]) {
			printf("# thread %d: %s\n", i, w[i].error);
			ok = false;
		}
	}
	printf("# method %u, %d objects, %d across segments: %" PRIu64 " commits, %" PRIu64
	       " valid gets, %" PRIu64 " of another generation than the last one, %" PRIu64
	       " times EAGAIN, at most %" PRIu64 " in a row\n", method, nr_objects, crossing,
	       sum[0].done, sum[1].done, sum[1].changed, sum[1].again, sum[1].longest);
	/* Without a collision nothing has been shown. */
	if (ok && (!sum[1].again || sum[1].changed < 10)) {
		printf("# readers and writers did not meet\n");
		ok = false;
	}
	return ok;
}

static void parse(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "t:w:r:")) != -1) {
		if (c == 't')
			seconds = atoi(optarg);
		else if (c == 'w')
			writers = atoi(optarg);
		else if (c == 'r')
			readers = atoi(optarg);
		else
			exit(2);
	}
	if (writers < 1 || readers < 1 || writers + readers > MAX_THREADS) {
		fprintf(stderr, "usage: object_stress [-t SECONDS] [-w WRITERS] [-r READERS]\n");
		exit(2);
	}
	nr_objects = writers * PER_WRITER;
}

int main(int argc, char **argv)
{
	struct worker w[MAX_THREADS] = { 0 };
	struct pmof_info info;
	bool ok;

	parse(argc, argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n1..1\n");
	fd = vm_open(vm_instance(), O_RDWR);
	if (fd < 0 || vm_info(fd, &info) || info.ns_size < BASE + nr_objects * STRIDE) {
		printf("not ok 1 object_stress # cannot open the device, or it is too small\n");
		return 1;
	}
	place(&info);
	ok = first_round(&w[0]);
	if (ok) {
		run(w);
		ok = report(w, info.method) && last_round(&w[0]);
	}
	if (!ok && w[0].error[0])
		printf("# %s\n", w[0].error);
	printf("%sok 1 object_stress\n", ok ? "" : "not ");
	return !ok;
}
