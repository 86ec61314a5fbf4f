// SPDX-License-Identifier: GPL-2.0
/*
 * Different ways to do much the same, measured in turn: a round is some operations by each,
 * so that what disturbs the machine meets them all. For tests/bench/bench; runs in the client VM.
 *
 *   turns [-c CASE] [-r ROUNDS] [-n OPERATIONS] [-w WARM_UP_ROUNDS] [-s BYTES] [-m]
 *         NAME=KIND:TARGET[@BYTES]...
 *
 * Prints an object of JSON for each round and way. With -m, marks for the plugin that counts
 * instructions (insn.c) stand around each turn, with the number of the turn.
 */
#include <inttypes.h>

#include "../crash/mark.h"
#include "../vm/vm.h"
#include "insn.h"
#include "turns.h"
#include "ways.h"

#define EACH_MAX	100000

static const struct way_ops *const kinds[] = {
	&way_put, &way_get, &way_read, &way_write, &way_dsync, &way_fsync, &way_idle,
	&way_floor_read, &way_floor_write,
#ifdef HAVE_LIBRPMA
	&way_rpma_flush, &way_rpma_assist,
#endif
};

static struct way ways[WAYS_MAX];
static int nr_ways, rounds = 20, each = 100, warm_up = 2;
static uint64_t size = 64, seed = 1;
static const char *test_case = "turns";
static bool marks;
static uint64_t ns[EACH_MAX];

static __attribute__((noreturn)) void usage(void)
{
	size_t i;

	fprintf(stderr, "usage: turns [-c CASE] [-r ROUNDS] [-n OPERATIONS] [-w WARM_UP_ROUNDS] "
		"[-s BYTES] [-m] NAME=KIND:TARGET[@BYTES]...\nkinds:");
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		fprintf(stderr, " %s", kinds[i]->name);
	fprintf(stderr, "\n");
	exit(2);
}

/* @took: in the operations; @wall: from mark to mark */
static void print(const struct way *way, int round, uint64_t turn, uint64_t took, uint64_t wall)
{
	turns_sort(ns, each);
	printf("{\"case\":\"%s\",\"who\":\"%s\",\"round\":%d,\"bytes\":%" PRIu64
	       ",\"ops\":%d,\"seconds\":%.6f,\"iops\":%.2f,\"p50\":%" PRIu64 ",\"p99\":%" PRIu64,
	       test_case, way->name, round, way->size, each, wall / 1e9, each * 1e9 / took,
	       turns_percentile(ns, each, 50), turns_percentile(ns, each, 99));
	if (marks)
		printf(",\"turn\":%" PRIu64, turn);
	printf("}\n");
}

static void turn(struct way *way, int round)
{
	uint64_t start, wall, number, took = 0;
	int i, rc;

	wall = turns_now();
	number = wall / 1000;
	if (marks)
		crash_mark(INSN_MARK_BEGIN, number);
	for (i = 0; i < each; i++) {
		uint64_t at = vm_rnd(&seed) % (WAYS_SPAN / way->size) * way->size;

		way->ns = 0;
		start = turns_now();
		rc = way->ops->one(way, at);
		ns[i] = turns_now() - start;
		if (rc)
			turns_die(way->name, rc);
		if (way->ns)
			ns[i] = way->ns;
		took += ns[i];
	}
	if (marks)
		crash_mark(INSN_MARK_END, number);
	wall = turns_now() - wall;
	if (round >= 0)
		print(way, round, number, took, wall);
}

/* NAME=KIND:TARGET[@BYTES] */
static void add_way(char *text)
{
	struct way *way = &ways[nr_ways];
	char *kind, *target, *bytes;
	size_t i;

	kind = strchr(text, '=');
	target = kind ? strchr(kind, ':') : NULL;
	if (!target || nr_ways == WAYS_MAX)
		usage();
	*kind++ = '\0';
	*target++ = '\0';
	bytes = strchr(target, '@');
	if (bytes)
		*bytes++ = '\0';
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i]->name, kind))
			way->ops = kinds[i];
	way->name = text;
	way->target = target;
	way->size = bytes ? strtoull(bytes, NULL, 0) : size;
	if (!way->ops || !way->size || way->size > WAYS_BUF)
		usage();
	nr_ways++;
}

static void open_all(void)
{
	int i, rc;

	for (i = 0; i < nr_ways; i++) {
		ways[i].buf = vm_pages(WAYS_BUF);
		vm_fill(&seed, ways[i].buf, WAYS_BUF);
		rc = ways[i].ops->open(&ways[i]);
		if (rc)
			turns_die(ways[i].target, rc);
	}
}

static void parse(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "c:r:n:w:s:m")) != -1) {
		if (c == 'c')
			test_case = optarg;
		else if (c == 'r')
			rounds = atoi(optarg);
		else if (c == 'n')
			each = atoi(optarg);
		else if (c == 'w')
			warm_up = atoi(optarg);
		else if (c == 's')
			size = strtoull(optarg, NULL, 0);
		else if (c == 'm')
			marks = true;
		else
			usage();
	}
	if (optind == argc || rounds < 1 || each < 1 || each > EACH_MAX || warm_up < 0)
		usage();
	for (; optind < argc; optind++)
		add_way(argv[optind]);
}

/* Each round starts with another way. */
int main(int argc, char **argv)
{
	int round, k;

	parse(argc, argv);
	open_all();
	for (round = -warm_up; round < rounds; round++)
		for (k = 0; k < nr_ways; k++)
			turn(&ways[(round + warm_up + k) % nr_ways], round);
	if (fflush(stdout))
		turns_die("standard output", -errno);
	return 0;
}
