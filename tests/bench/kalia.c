// SPDX-License-Identifier: GPL-2.0
/*
 * Small writes to remote PMEM by different methods, measured in turn: a round is
 * some puts by each method, so that what disturbs the machine meets them all.
 * For tests/bench/kalia; runs in the client VM.
 *
 *   kalia [-r ROUNDS] [-n PUTS] [-w WARM_UP_ROUNDS] FILE.json FILE.tsv
 *
 * One connection per method, each with one queue: the connection's counters are
 * the method's. Packets are the soft-RoCE device's, read around each turn.
 */
#include <inttypes.h>

#include "../vm/vm.h"
#include "turns.h"

#define AT	(16 * MiB)
#define SPAN	(8 * MiB)	/* sequential places, then from the start again */
#define HW	"/sys/class/infiniband/rxe0/ports/1/hw_counters/"
#define SIZES	5
#define METHODS	5
#define ROUNDS_MAX	1000

static const uint64_t sizes[SIZES] = { 64, 128, 256, 512, 1024 };

enum {
	WR_WRITE, WR_READ, WR_SEND, WR_FLUSH, ROUND_TRIPS, CALLS, LINES, FENCES, COUNTERS
};

static const char *const counter_files[COUNTERS] = {
	"stats/wr_write", "stats/wr_read", "stats/wr_send", "stats/wr_flush",
	"stats/round_trips", "server_stats/rpc_calls", "server_stats/lines",
	"server_stats/fences",
};

struct method {
	const char *name;
	const char *options;
	uint32_t flags;
	bool may_miss;		/* where the server does not offer it */
	int instance, fd;
	uint64_t next;
};

static struct method methods[METHODS] = {
	{ "write", "persist=assist,queues=1", 0, false, -1, -1, 0 },
	{ "pwrite", "persist=read,queues=1", PMOF_F_PERSIST, false, -1, -1, 0 },
	{ "rpc", "persist=rpc,queues=1", PMOF_F_PERSIST, false, -1, -1, 0 },
	{ "assist", "persist=assist,queues=1", PMOF_F_PERSIST, false, -1, -1, 0 },
	{ "flush", "persist=flush,queues=1", PMOF_F_PERSIST, true, -1, -1, 0 },
};

/* One method at one size. */
struct result {
	uint64_t *ns;			/* of each put */
	uint64_t nr;
	uint64_t sent, received;	/* packets */
	uint64_t count[COUNTERS];
	uint64_t round_median[ROUNDS_MAX];
	double median, p99;
	double quartile[2];		/* of the rounds' ratios to "write" */
};

static struct result results[SIZES][METHODS];
static int rounds = 40, each = 50, warm_up = 4;
static char *data;

static uint64_t read_number(const char *path)
{
	char buf[64] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		turns_die(path, -errno);
	if (read(fd, buf, sizeof(buf) - 1) <= 0)
		turns_die(path, -EIO);
	close(fd);
	return strtoull(buf, NULL, 10);
}

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* --- measuring ------------------------------------------------------------------ */

static void turn(struct method *m, struct result *r, uint64_t size, int round)
{
	uint64_t ns[10000], sent, received, start;
	int i, rc;

	sent = read_number(HW "sent_pkts");
	received = read_number(HW "rcvd_pkts");
	for (i = 0; i < each; i++) {
		uint64_t at = AT + m->next;

		m->next = (m->next + size) % SPAN;
		start = turns_now();
		rc = vm_put(m->fd, at, data, size, m->flags);
		ns[i] = turns_now() - start;
		if (rc)
			turns_die(m->name, rc);
	}
	if (round < 0)
		return;
	r->sent += read_number(HW "sent_pkts") - sent;
	r->received += read_number(HW "rcvd_pkts") - received;
	memcpy(r->ns + r->nr, ns, each * sizeof(ns[0]));
	r->nr += each;
	turns_sort(ns, each);
	r->round_median[round] = turns_percentile(ns, each, 50);
}

/* Called before and behind the rounds: what they counted is left in @r. */
static void count(const struct method *m, struct result *r)
{
	int i;

	for (i = 0; m->fd >= 0 && i < COUNTERS; i++)
		r->count[i] = vm_stat(m->instance, counter_files[i]) - r->count[i];
}

/* Each round starts with another method. */
static void measure(struct result *r, uint64_t size)
{
	int round, k, m;

	for (m = 0; m < METHODS; m++)
		r[m].ns = calloc((size_t)rounds * each, sizeof(uint64_t));
	for (round = -warm_up; round < rounds; round++) {
		for (m = 0; !round && m < METHODS; m++)
			count(&methods[m], &r[m]);
		for (k = 0; k < METHODS; k++) {
			m = (round + warm_up + k) % METHODS;
			if (methods[m].fd >= 0)
				turn(&methods[m], &r[m], size, round);
		}
	}
	for (m = 0; m < METHODS; m++)
		count(&methods[m], &r[m]);
}

static void evaluate(struct result *r)
{
	double ratio[ROUNDS_MAX];
	int m, i;

	for (m = 0; m < METHODS; m++) {
		if (!r[m].nr)
			continue;
		turns_sort(r[m].ns, r[m].nr);
		r[m].median = turns_percentile(r[m].ns, r[m].nr, 50);
		r[m].p99 = turns_percentile(r[m].ns, r[m].nr, 99);
		for (i = 0; i < rounds; i++)
			ratio[i] = (double)r[m].round_median[i] / r[0].round_median[i];
		qsort(ratio, rounds, sizeof(ratio[0]), compare_double);
		r[m].quartile[0] = ratio[rounds / 4];
		r[m].quartile[1] = ratio[rounds * 3 / 4];
	}
}

/* --- telling -------------------------------------------------------------------- */

struct field {
	const char *name;
	double value;
	int digits;
};

#define FIELDS	18

static void fields(struct field *f, const struct result *r, const struct result *plain)
{
	static const char *const names[COUNTERS] = {
		"wr_write", "wr_read", "wr_send", "wr_flush", "round_trips", "server_calls",
		"lines", "fences",
	};
	double wr = 0;
	int i, n = 0;

	for (i = 0; i <= WR_FLUSH; i++)
		wr += r->count[i];
	f[n++] = (struct field){ "median_ratio", r->median / plain->median, 2 };
	f[n++] = (struct field){ "p99_ratio", r->p99 / plain->p99, 2 };
	f[n++] = (struct field){ "ratio_q1", r->quartile[0], 2 };
	f[n++] = (struct field){ "ratio_q3", r->quartile[1], 2 };
	f[n++] = (struct field){ "median_us", r->median / 1000, 0 };
	f[n++] = (struct field){ "p99_us", r->p99 / 1000, 0 };
	f[n++] = (struct field){ "work_requests", wr / r->nr, 2 };
	f[n++] = (struct field){ "packets", (double)(r->sent + r->received) / r->nr, 2 };
	f[n++] = (struct field){ "packets_sent", (double)r->sent / r->nr, 2 };
	f[n++] = (struct field){ "packets_received", (double)r->received / r->nr, 2 };
	for (i = 0; i < COUNTERS; i++)
		f[n++] = (struct field){ names[i], (double)r->count[i] / r->nr, 2 };
	if (n != FIELDS)
		abort();
}

static void write_json(FILE *out)
{
	struct field f[FIELDS];
	const char *sep = "";
	int s, m, i;

	fprintf(out, "{\n  \"puts\": %d,\n  \"rounds\": %d,\n  \"results\": [", rounds * each,
		rounds);
	for (s = 0; s < SIZES; s++)
		for (m = 0; m < METHODS; m++) {
			if (!results[s][m].nr)
				continue;
			fields(f, &results[s][m], &results[s][0]);
			fprintf(out, "%s\n    { \"size\": %" PRIu64 ", \"method\": \"%s\"", sep,
				sizes[s], methods[m].name);
			for (i = 0; i < FIELDS; i++)
				fprintf(out, ", \"%s\": %.*f", f[i].name, f[i].digits, f[i].value);
			fprintf(out, " }");
			sep = ",";
		}
	fprintf(out, "\n  ]\n}\n");
}

static void write_tsv(FILE *out)
{
	struct field f[FIELDS];
	int s, m, i;

	fields(f, &results[0][0], &results[0][0]);
	fprintf(out, "size\tmethod");
	for (i = 0; i < FIELDS; i++)
		fprintf(out, "\t%s", f[i].name);
	fprintf(out, "\n");
	for (s = 0; s < SIZES; s++)
		for (m = 0; m < METHODS; m++) {
			if (!results[s][m].nr)
				continue;
			fields(f, &results[s][m], &results[s][0]);
			fprintf(out, "%" PRIu64 "\t%s", sizes[s], methods[m].name);
			for (i = 0; i < FIELDS; i++)
				fprintf(out, "\t%.*f", f[i].digits, f[i].value);
			fprintf(out, "\n");
		}
}

/* --- all of it ------------------------------------------------------------------ */

static void save(const char *name, void (*write_it)(FILE *out))
{
	FILE *out = fopen(name, "w");

	if (!out)
		turns_die(name, -errno);
	write_it(out);
	if (fclose(out))
		turns_die(name, -errno);
}

static void open_all(void)
{
	int m;

	for (m = 0; m < METHODS; m++) {
		methods[m].instance = vm_connect(methods[m].options);
		if (methods[m].instance == -EOPNOTSUPP && methods[m].may_miss)
			continue;
		if (methods[m].instance < 0)
			turns_die(methods[m].name, methods[m].instance);
		methods[m].fd = vm_open(methods[m].instance, O_RDWR);
		if (methods[m].fd < 0)
			turns_die(methods[m].name, methods[m].fd);
	}
}

static void close_all(void)
{
	int m;

	for (m = 0; m < METHODS; m++)
		if (methods[m].fd >= 0) {
			close(methods[m].fd);
			vm_disconnect(methods[m].instance);
		}
}

static void usage(void)
{
	fprintf(stderr, "usage: kalia [-r ROUNDS] [-n PUTS] [-w WARM_UP_ROUNDS] JSON TSV\n");
	exit(2);
}

static void parse(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "r:n:w:")) != -1) {
		if (c == 'r')
			rounds = atoi(optarg);
		else if (c == 'n')
			each = atoi(optarg);
		else if (c == 'w')
			warm_up = atoi(optarg);
		else
			usage();
	}
	if (argc - optind != 2 || rounds < 1 || rounds > ROUNDS_MAX || each < 1 || each > 10000 ||
	    warm_up < 0)
		usage();
}

int main(int argc, char **argv)
{
	int s;

	parse(argc, argv);
	data = vm_pages(4096);
	open_all();
	for (s = 0; s < SIZES; s++) {
		measure(results[s], sizes[s]);
		evaluate(results[s]);
		fprintf(stderr, "kalia: %" PRIu64 " bytes done\n", sizes[s]);
	}
	close_all();
	save(argv[optind], write_json);
	save(argv[optind + 1], write_tsv);
	return 0;
}
