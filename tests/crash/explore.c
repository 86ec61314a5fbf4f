// SPDX-License-Identifier: GPL-2.0
/*
 * The power-cut explorer: makes cuts in the trace of a run, images at each cut,
 * and checks each against the client's log. See docs/crash.md.
 *
 * Exit status: 0 nothing was lost; 1 a loss; 2 usage; 3 the input cannot be
 * right, or a store bypassed the model.
 */
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "content.h"
#include "explore.h"
#include "replay.h"

#define STATUS_LOSS	1
#define STATUS_USAGE	2
#define STATUS_BROKEN	3

static void usage(FILE *f)
{
	fputs("usage: explore [OPTION]... --trace FILE --client FILE --log FILE\n"
	      "       explore --replay DIR\n"
	      "       explore --verify DIR DUMP\n"
	      "\n"
	      "  --trace FILE         of the server's VM\n"
	      "  --client FILE        of the client's VM\n"
	      "  --log FILE           of the workload\n"
	      "  --first-op N         the mark of its first operation (0)\n"
	      "  --data-offset BYTES  of the namespace in the nvdimm\n"
	      "  --start FILE         the nvdimm at the trace's begin (zeros)\n"
	      "  --final FILE         the nvdimm at its end: compare\n"
	      "  --cuts N             cuts in each fence mode (1000)\n"
	      "  --images N           images at each cut (6)\n"
	      "  --seed S             of cuts and images (1)\n"
	      "  --fences x86|strict  only this mode\n"
	      "  --caches-survive     the domain is cpu_cache\n"
	      "  --quick              stop at the first loss\n"
	      "  --store              the namespace is a store: recover each image\n"
	      "  --data-size BYTES    of the namespace, with --store\n"
	      "  --check PROGRAM      judges each image: PROGRAM DIR (outside.c)\n"
	      "  --out DIR            keep failures here\n"
	      "  --save N             and N images to be booted\n"
	      "  --label TEXT         before each line\n"
	      "\n"
	      "--replay shows a failure that was kept once more; --verify compares what was read\n"
	      "from a booted image.\n", f);
}

struct input {
	struct log log;
	struct trace trace;
	struct timeline timeline;
};

static int open_input(struct input *in, const struct config *c)
{
	struct trace client;
	int rc;

	memset(in, 0, sizeof(*in));
	if (log_read(&in->log, c->log) || trace_open(&client, c->client))
		return -1;
	rc = timeline_add_client(&in->log, &client, c->first_op);
	trace_close(&client);
	if (rc || trace_open(&in->trace, c->trace))
		return -1;
	return timeline_make(&in->timeline, &in->log, &in->trace);
}

static void close_input(struct input *in)
{
	timeline_free(&in->timeline);
	trace_close(&in->trace);
	log_free(&in->log);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* Did the model see every store? */
static int self_check(const struct run *r)
{
	const char *path = r->config->final;
	struct stat st;
	uint64_t at;
	void *map;
	int fd;

	if (!path || (r->config->quick && r->totals.bad_cuts))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		perror(path);
		return -1;
	}
	if ((uint64_t)st.st_size != r->model.size) {
		fprintf(stderr, "%s: not as long as the trace says\n", path);
		close(fd);
		return -1;
	}
	map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return -1;
	at = model_compare(&r->model, map);
	munmap(map, st.st_size);
	if (at == r->model.size)
		return 0;
	fprintf(stderr, "%s: a store bypassed the model: 0x%" PRIx64 " of %s differs\n",
		r->config->label, at, path);
	return -1;
}

static uint32_t acknowledged(const struct log *log)
{
	uint32_t i, n = 0;

	for (i = 0; i < log->nr_ops; i++)
		n += log->op[i].ack_pos != LOG_NEVER;
	return n;
}

static void summary(const struct run *r, double took)
{
	const struct totals *t = &r->totals;

	printf("%s: fences %s: %" PRIu64 " cuts, %" PRIu64 " images, %u operations acknowledged (%u by their reply), "
	       "%" PRIu64 " cuts with a loss, %.1f s\n", r->config->label,
	       fence_mode_name(r->mode), t->cuts, t->images, acknowledged(r->log),
	       r->timeline->nr_by_reply, t->bad_cuts, took);
	printf("%s: fences %s: %" PRIu64 " stores, %" PRIu64 " write-backs, %" PRIu64
	       " fences; %.1f dirty lines at a cut, %" PRIu64 " slots checked, %" PRIu64
	       " bad images\n", r->config->label, fence_mode_name(r->mode), r->model.nr_stores,
	       r->model.nr_write_backs, r->model.nr_fences,
	       t->cuts ? (double)t->lines / t->cuts : 0, t->slots, t->bad_images);
	fflush(stdout);
}

/* Returns an exit status. */
static int explore_mode(const struct config *c, const struct input *in, enum fence_mode mode,
			unsigned int *kept)
{
	double start = seconds();
	uint64_t *cuts;
	struct run r;
	int status;

	if (run_init(&r, c, &in->log, &in->trace, &in->timeline, mode))
		return STATUS_BROKEN;
	r.kept = *kept;
	cuts = choose_cuts(&in->trace, &in->timeline, c->cuts, c->seed);
	status = run_cuts(&r, cuts, c->cuts) || self_check(&r) ? STATUS_BROKEN :
		 r.totals.bad_cuts ? STATUS_LOSS : 0;
	free(cuts);
	summary(&r, seconds() - start);
	*kept = r.kept;
	run_free(&r);
	return status;
}

/* @modes: bit by enum fence_mode. */
static int explore(const struct config *c, unsigned int modes, unsigned int save)
{
	int status = 0, rc = 0;
	unsigned int kept = 0;
	enum fence_mode mode;
	struct input in;

	if (open_input(&in, c))
		return STATUS_BROKEN;
	for (mode = FENCE_X86; mode <= FENCE_STRICT; mode++) {
		if (!(modes & 1U << mode))
			continue;
		rc = explore_mode(c, &in, mode, &kept);
		status = rc > status ? rc : status;
	}
	if (save && status != STATUS_BROKEN &&
	    save_places(c, &in.log, &in.trace, &in.timeline, save))
		status = STATUS_BROKEN;
	close_input(&in);
	return status;
}

/* Shows a kept failure again, or compares a dump with a kept image. */
static int again(const char *dir, const char *dump)
{
	struct config c = { .label = dump ? "verify" : "replay", .out = dir };
	struct place place;
	struct input in;
	int status;

	if (replay_read(&c, &place, dir) || open_input(&in, &c))
		return STATUS_BROKEN;
	status = dump ? replay_verify(&c, &in.log, &in.trace, &in.timeline, &place, dump) :
			replay_show(&c, &in.log, &in.trace, &in.timeline, &place);
	close_input(&in);
	replay_free(&c);
	return status < 0 ? STATUS_BROKEN : status;
}

static const struct option options[] = {
	{ "trace", required_argument, NULL, 't' },
	{ "client", required_argument, NULL, 'c' },
	{ "log", required_argument, NULL, 'l' },
	{ "data-offset", required_argument, NULL, 'o' },
	{ "start", required_argument, NULL, 'b' },
	{ "first-op", required_argument, NULL, 'F' },
	{ "final", required_argument, NULL, 'e' },
	{ "cuts", required_argument, NULL, 'n' },
	{ "images", required_argument, NULL, 'i' },
	{ "seed", required_argument, NULL, 's' },
	{ "fences", required_argument, NULL, 'f' },
	{ "caches-survive", no_argument, NULL, 'C' },
	{ "quick", no_argument, NULL, 'q' },
	{ "out", required_argument, NULL, 'O' },
	{ "save", required_argument, NULL, 'S' },
	{ "check", required_argument, NULL, 'k' },
	{ "store", no_argument, NULL, 'K' },
	{ "data-size", required_argument, NULL, 'z' },
	{ "label", required_argument, NULL, 'L' },
	{ "replay", required_argument, NULL, 'r' },
	{ "verify", required_argument, NULL, 'v' },
	{ "help", no_argument, NULL, 'h' },
	{ }
};

static uint64_t number(const char *option, const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 0);

	if (end != text && !*end)
		return n;
	fprintf(stderr, "explore: --%s wants a number, not '%s'\n", option, text);
	exit(STATUS_USAGE);
}

static unsigned int fence_modes(const char *text)
{
	if (!strcmp(text, "x86"))
		return 1U << FENCE_X86;
	if (!strcmp(text, "strict"))
		return 1U << FENCE_STRICT;
	fprintf(stderr, "explore: --fences is x86 or strict, not '%s'\n", text);
	exit(STATUS_USAGE);
}

static bool set_path(struct config *c, int option, const char *value)
{
	const char **field = option == 't' ? &c->trace : option == 'c' ? &c->client :
			     option == 'l' ? &c->log : option == 'b' ? &c->start :
			     option == 'e' ? &c->final : option == 'O' ? &c->out :
			     option == 'L' ? &c->label : option == 'k' ? &c->check : NULL;

	if (field)
		*field = value;
	return field;
}

static void set_number(struct config *c, int option, const char *name, const char *value)
{
	switch (option) {
	case 'o':
		c->data_offset = number(name, value);
		break;
	case 'z':
		c->data_size = number(name, value);
		break;
	case 'F':
		c->first_op = number(name, value);
		break;
	case 'n':
		c->cuts = number(name, value);
		break;
	case 'i':
		c->images = number(name, value);
		break;
	case 's':
		c->seed = number(name, value);
		break;
	}
}

int main(int argc, char **argv)
{
	struct config c = { .label = "explore", .cuts = 1000, .seed = 1, .images = 6 };
	unsigned int modes = 1U << FENCE_X86 | 1U << FENCE_STRICT, save = 0;
	const char *replay = NULL, *verify = NULL;
	int option, index = 0;

	while ((option = getopt_long(argc, argv, "h", options, &index)) != -1) {
		switch (option) {
		case 'C':
			c.caches_survive = true;
			break;
		case 'K':
			c.store = true;
			break;
		case 'q':
			c.quick = true;
			break;
		case 'f':
			modes = fence_modes(optarg);
			break;
		case 'S':
			save = number("save", optarg);
			break;
		case 'r':
			replay = optarg;
			break;
		case 'v':
			verify = optarg;
			break;
		case 'h':
			usage(stdout);
			return 0;
		case '?':
			return STATUS_USAGE;
		default:
			if (!set_path(&c, option, optarg))
				set_number(&c, option, options[index].name, optarg);
		}
	}
	if (replay)
		return again(replay, NULL);
	if (verify && optind + 1 == argc)
		return again(verify, argv[optind]);
	if (!c.trace || !c.client || !c.log || optind != argc || c.images > MAX_IMAGES ||
	    !c.images || ((save || c.check) && !c.out)) {
		usage(stderr);
		return STATUS_USAGE;
	}
	return explore(&c, modes, save);
}
