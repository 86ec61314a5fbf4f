// SPDX-License-Identifier: GPL-2.0
/* The workload's threads, slots and log: see workload.h. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "content.h"
#include "workload.h"

struct work work;

void die(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "workload: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	exit(1);
}

bool work_over(void)
{
	return __atomic_load_n(&work.next_op, __ATOMIC_RELAXED) >= work.limit;
}

/* @format has a %%u left for the number. */
uint32_t op_number(const char *format, ...)
{
	uint32_t number = __atomic_fetch_add(&work.next_op, 1, __ATOMIC_SEQ_CST);
	char *rest, *mark, *line;
	va_list args;

	if (number >= MAX_OPS)
		die("too many operations");
	va_start(args, format);
	if (vasprintf(&rest, format, args) < 0)
		die("no memory");
	va_end(args);
	mark = strstr(rest, "%u");
	if (asprintf(&line, "%.*s%u%s", (int)(mark - rest), rest, number, mark + 2) < 0)
		die("no memory");
	free(rest);
	work.line[number] = line;
	return number;
}

/* --- slots ------------------------------------------------------------------------------ */

/*
 * Slots lie close together, so that they share lines and words. Objects and words are
 * aligned to 8.
 */
static void add_slot(enum slot_type type, uint64_t length, uint64_t *at, uint64_t *rnd)
{
	*at += crash_rnd(rnd, 4) ? crash_rnd(rnd, 9) : crash_rnd(rnd, 200);
	if (type != SLOT_RAW)
		*at = (*at + 7) & ~7ULL;
	if (work.nr_slots == MAX_SLOTS)
		die("too many slots");
	work.slot[work.nr_slots++] = (struct wslot){
		.type = type, .offset = *at, .length = length,
	};
	*at += length;
}

static uint64_t raw_length(uint64_t *rnd)
{
	static const uint64_t most[] = { 8, 64, 300, 6000 };

	return crash_rnd(rnd, most[crash_rnd(rnd, 4)]) + 1;
}

static uint64_t object_length(uint64_t *rnd)
{
	static const uint64_t most[] = { 8, 16, 40, 500 };

	return PMOF_OBJECT_MIN + 8 * crash_rnd(rnd, most[crash_rnd(rnd, 4)]);
}

static void add_slots(struct thread *t, uint64_t *at)
{
	static const uint32_t nr[NR_KINDS] = {
		[KIND_PUT] = 6, [KIND_PLAIN] = 6, [KIND_COMMIT] = 4, [KIND_SUBMIT] = 16,
		[KIND_ATOMIC] = 4,
	};
	uint64_t longest = 1;
	uint32_t i;

	t->first = work.nr_slots;
	t->nr = nr[t->kind];
	for (i = 0; i < t->nr; i++) {
		/* Of SUBMIT's the first half are objects. */
		if (t->kind == KIND_COMMIT || (t->kind == KIND_SUBMIT && i < t->nr / 2))
			add_slot(SLOT_OBJECT, object_length(&t->rnd), at, &t->rnd);
		else if (t->kind == KIND_ATOMIC)
			add_slot(SLOT_WORD, 8, at, &t->rnd);
		else
			add_slot(SLOT_RAW, raw_length(&t->rnd), at, &t->rnd);
	}
	for (i = 0; i < work.nr_slots; i++)
		if (work.slot[i].length > longest)
			longest = work.slot[i].length;
	t->buf = malloc(longest > 8192 ? longest : 8192);
	if (!t->buf)
		die("no memory");
}

/* --- threads -------------------------------------------------------------------------------- */

static void step_plain(struct thread *t)
{
	uint32_t i;

	for (i = 0; i < 1 + crash_rnd(&t->rnd, t->nr); i++)
		do_plain_put(t, t->first + crash_rnd(&t->rnd, t->nr));
	/* Its own, or also what other threads have put. */
	if (crash_rnd(&t->rnd, 2))
		do_persist(t->first, t->first + t->nr, false);
	else
		do_persist(work.first_plain, work.end_plain, crash_rnd(&t->rnd, 2));
}

static void step_persist(struct thread *t)
{
	uint32_t nr = work.end_plain - work.first_plain;
	uint32_t first = work.first_plain + crash_rnd(&t->rnd, nr);

	usleep(crash_rnd(&t->rnd, 5000));
	do_persist(first, first + 1 + crash_rnd(&t->rnd, work.end_plain - first),
		   crash_rnd(&t->rnd, 2));
}

static void step_read(struct thread *t)
{
	uint32_t slot = crash_rnd(&t->rnd, work.nr_slots);

	while (work.slot[slot].type != SLOT_OBJECT)
		slot = (slot + 1) % work.nr_slots;
	do_read(t, slot);
	usleep(crash_rnd(&t->rnd, 5000));
}

static void step_submit(struct thread *t)
{
	if (crash_rnd(&t->rnd, 2))
		do_submit_objects(t, t->first, t->nr / 2);
	else
		do_submit_puts(t, t->first + t->nr / 2, t->nr / 2);
}

static void step(struct thread *t)
{
	uint32_t slot = t->nr ? t->first + crash_rnd(&t->rnd, t->nr) : 0;

	switch (t->kind) {
	case KIND_PUT:
		do_put(t, slot);
		break;
	case KIND_PLAIN:
		step_plain(t);
		break;
	case KIND_COMMIT:
		do_prepare(slot);
		do_commit(t, slot);
		break;
	case KIND_SUBMIT:
		step_submit(t);
		break;
	case KIND_ATOMIC:
		do_atomic(t, slot);
		break;
	case KIND_READ:
		step_read(t);
		break;
	default:
		step_persist(t);
	}
}

static void *run_thread(void *arg)
{
	struct thread *t = arg;

	while (!work_over())
		step(t);
	return NULL;
}

/* How many threads of each kind; "put,plain,..." */
static uint32_t make_threads(struct thread *t, char *kinds)
{
	static const struct {
		const char *name;
		uint32_t nr[NR_KINDS];
	} sets[] = {
		{ "put", { [KIND_PUT] = 3 } },
		{ "plain", { [KIND_PLAIN] = 3, [KIND_PERSIST] = 1 } },
		{ "commit", { [KIND_COMMIT] = 2, [KIND_READ] = 1 } },
		{ "submit", { [KIND_SUBMIT] = 1 } },
		{ "atomic", { [KIND_ATOMIC] = 1 } },
	};
	uint32_t n = 0, i, k, j;
	char *word;

	for (word = strtok(kinds, ","); word; word = strtok(NULL, ",")) {
		for (i = 0; i < 5 && strcmp(word, sets[i].name); i++)
			;
		if (i == 5)
			die("unknown kind '%s'", word);
		for (k = 0; k < NR_KINDS; k++)
			for (j = 0; j < sets[i].nr[k] && n < MAX_THREADS; j++)
				t[n++].kind = k;
	}
	return n;
}

/* Slots lie around the first boundary between segments, if there is one. */
static uint64_t first_offset(void)
{
	struct pmof_info info = { .size = sizeof(info) };

	if (ioctl(work.fd, PMOF_IOC_GET_INFO, &info))
		die("GET_INFO: %s", strerror(errno));
	printf("workload: method %u, domain %u, %u queues, segments of %llu bytes\n", info.method,
	       info.domain, info.nr_queues, (unsigned long long)info.segment_size);
	work.ns_size = info.ns_size;
	return info.segment_size < info.ns_size && info.segment_size > 65536 ?
	       info.segment_size - 32768 : 32768;
}

static void map_namespace(void)
{
	work.map = mmap(NULL, work.ns_size, PROT_READ | PROT_WRITE, MAP_SHARED, work.fd, 0);
	if (work.map == MAP_FAILED)
		die("mmap: %s", strerror(errno));
}

static void run(char *kinds, bool mapped)
{
	static struct thread t[MAX_THREADS];
	static pthread_t id[MAX_THREADS];
	uint32_t n = make_threads(t, kinds), i;
	uint64_t first = first_offset();
	uint64_t at = work.base ? work.base : first;

	if (mapped)
		map_namespace();
	for (i = 0; i < n; i++) {
		t[i].rnd = crash_mix(work.seed + i);
		if (t[i].kind == KIND_PLAIN && !work.end_plain)
			work.first_plain = work.nr_slots;
		add_slots(&t[i], &at);
		if (t[i].kind == KIND_PLAIN)
			work.end_plain = work.nr_slots;
	}
	for (i = 0; i < n; i++)
		if (pthread_create(&id[i], NULL, run_thread, &t[i]))
			die("cannot start a thread");
	for (i = 0; i < n; i++)
		pthread_join(id[i], NULL);
}

static void write_log(const char *path)
{
	static const char * const types[] = { "raw", "object", "word" };
	FILE *f = fopen(path, "w");
	uint32_t i;

	if (!f)
		die("%s: %s", path, strerror(errno));
	fprintf(f, LOG_MAGIC "\nseed %llu\n", (unsigned long long)work.seed);
	for (i = 0; i < work.nr_slots; i++)
		fprintf(f, "slot %u %s %llu %llu\n", i, types[work.slot[i].type],
			(unsigned long long)work.slot[i].offset,
			(unsigned long long)work.slot[i].length);
	for (i = 0; i < work.next_op; i++)
		fprintf(f, "%s\n", work.line[i]);
	fprintf(f, "end %u\n", work.next_op);
	if (fclose(f))
		die("%s: %s", path, strerror(errno));
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "device", required_argument, NULL, 'd' }, { "log", required_argument, NULL, 'l' },
		{ "kinds", required_argument, NULL, 'k' }, { "ops", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' }, { "dump", required_argument, NULL, 'D' },
		{ "base", required_argument, NULL, 'b' },
		{ "first-op", required_argument, NULL, 'f' },
		{ "mmap", no_argument, NULL, 'm' },
		{ }
	};
	const char *device = "/dev/pmofc0", *log = NULL, *dump_to = NULL;
	char all[] = "put,plain,commit,submit,atomic", *kinds = all;
	bool mapped = false;
	int option;

	work.seed = 1;
	work.limit = 2000;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'd':
			device = optarg;
			break;
		case 'l':
			log = optarg;
			break;
		case 'k':
			kinds = optarg;
			break;
		case 'n':
			work.limit = atoi(optarg);
			break;
		case 's':
			work.seed = strtoull(optarg, NULL, 0);
			break;
		case 'D':
			dump_to = optarg;
			break;
		case 'b':
			work.base = strtoull(optarg, NULL, 0);
			break;
		case 'f':
			work.first_mark = strtoull(optarg, NULL, 0);
			break;
		case 'm':
			mapped = true;
			break;
		default:
			return 2;
		}
	}
	if (!log || optind != argc)
		die("usage: workload --log FILE [--device D] [--kinds K,...] [--ops N] [--seed S] [--base OFFSET] [--first-op N] [--mmap] [--dump FILE]");
	work.fd = open(device, O_RDWR | O_CLOEXEC);
	if (work.fd < 0)
		die("%s: %s", device, strerror(errno));
	if (dump_to) {
		dump(log, dump_to);
		return 0;
	}
	run(kinds, mapped);
	write_log(log);
	printf("workload: %u operations, %u slots\n", work.next_op, work.nr_slots);
	return 0;
}
