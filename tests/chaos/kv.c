// SPDX-License-Identifier: GPL-2.0
/*
 * The load of make chaos-kv, in a client VM:
 *
 *   kv [-s SEED] [-k KEYS] [-t THREADS] [-m BYTES] DEVICE...
 *
 * Threads on each device, which are different clients of one store, operate on a few keys
 * (tests/kv/recorder.h), and do what the host says (host.h):
 *   back       the disturbance is over: says when every thread had an answer
 *   check      stands still, reads all keys, writes the round's history into /host/history.ROUND
 *   rdma-down, rdma-up   the RDMA device goes and comes
 *   end        ends
 *
 * A history of a round begins with what the one before has ended with, as puts before all
 * others. What is of unknown outcome at its end has happened by then or never does: every
 * connection is live again, and was drained before that.
 */
#include <inttypes.h>
#include <stdio.h>

#include "../kv/recorder.h"
#include "../vm/vm.h"
#include "host.h"

#define DEVICES_MAX	8
#define THREADS_MAX	8		/* of a device */
#define LOOKS		600		/* at a key, before giving up */

struct worker {
	pthread_t thread;
	double last_answer, gap;	/* monotonic seconds; the longest time between two */
	struct recorder recorder;
	int instance;			/* of its device */
	bool parked;
};

static const char *devices[DEVICES_MAX];
static unsigned int nr_devices, nr_threads = 3, keys = 5;
static struct pmofkv *handles[DEVICES_MAX][PMOFKV_NR_PROTOCOLS];
static struct recording recording;
static struct worker workers[DEVICES_MAX * THREADS_MAX];
static struct recorder observer;
static struct op last[RECORDER_KEYS];	/* as they were at the end of the round before */
static unsigned int nr_workers, nr_rounds;
static enum { RUN, PARK, END } order;

/* --- the threads -------------------------------------------------------------------- */

static uint64_t answered(const struct worker *w)
{
	return __atomic_load_n(&w->recorder.answered, __ATOMIC_ACQUIRE);
}

static int park(struct worker *w)
{
	int now;

	while ((now = __atomic_load_n(&order, __ATOMIC_ACQUIRE)) == PARK) {
		__atomic_store_n(&w->parked, true, __ATOMIC_RELEASE);
		usleep(5000);
		w->last_answer = vm_now();	/* standing still is no gap */
	}
	__atomic_store_n(&w->parked, false, __ATOMIC_RELEASE);
	return now;
}

/*
 * An operation has failed. What is begun while there is no connection fails, too, and may as well
 * have happened as far as the history knows: many of those would explain any loss.
 */
static void wait_live(const struct worker *w)
{
	while (!vm_attr_is(w->instance, "state", "live") &&
	       __atomic_load_n(&order, __ATOMIC_ACQUIRE) == RUN)
		usleep(20000);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	uint64_t errors;
	double now;

	w->last_answer = vm_now();
	while (park(w) != END) {
		errors = w->recorder.errors;
		recorder_operate(&w->recorder);
		if (w->recorder.errors != errors) {
			wait_live(w);
			continue;
		}
		now = vm_now();
		if (now - w->last_answer > w->gap)
			w->gap = now - w->last_answer;
		w->last_answer = now;
	}
	return NULL;
}

/* --- what the host asks for ------------------------------------------------------------ */

/* Milliseconds until every thread has had an answer; -1: not in time. */
static double wait_answers(double seconds)
{
	uint64_t before[DEVICES_MAX * THREADS_MAX];
	double start = vm_now();
	unsigned int i;

	for (i = 0; i < nr_workers; i++)
		before[i] = answered(&workers[i]);
	for (i = 0; i < nr_workers; i++)
		while (answered(&workers[i]) == before[i]) {
			if (vm_now() - start > seconds)
				return -1;
			usleep(2000);
		}
	return (vm_now() - start) * 1000;
}

/* Through a device. */
static uint64_t changed(unsigned int d)
{
	uint64_t sum = 0;
	unsigned int t;

	for (t = 0; t < nr_threads; t++)
		sum += __atomic_load_n(&workers[d * nr_threads + t].recorder.changed,
				       __ATOMIC_ACQUIRE);
	return sum;
}

/* A store without space, or leases, answers gets for ever, and nothing contradicts them. */
static bool wait_changed(double seconds)
{
	double start = vm_now();
	uint64_t before[DEVICES_MAX];
	unsigned int d;

	for (d = 0; d < nr_devices; d++)
		before[d] = changed(d);
	for (d = 0; d < nr_devices; d++)
		while (changed(d) == before[d]) {
			if (vm_now() - start > seconds)
				return false;
			usleep(2000);
		}
	return true;
}

static void do_back(char *answer, double seconds)
{
	double ms = wait_answers(seconds), gap = 0;
	unsigned int i;

	for (i = 0; i < nr_workers; i++)
		if (workers[i].gap > gap)
			gap = workers[i].gap;
	if (ms < 0)
		snprintf(answer, HOST_ANSWER, "hung");
	else if (!wait_changed(seconds))
		snprintf(answer, HOST_ANSWER, "hung: nothing is put any more");
	else
		snprintf(answer, HOST_ANSWER, "recovered %.0f %.0f", ms, gap * 1000);
}

static bool wait_parked(double seconds)
{
	double start = vm_now();
	unsigned int i;

	for (i = 0; i < nr_workers; i++)
		while (!__atomic_load_n(&workers[i].parked, __ATOMIC_ACQUIRE)) {
			if (vm_now() - start > seconds)
				return false;
			usleep(2000);
		}
	return true;
}

static void print_history(FILE *f, struct history *h, uint64_t *unknown)
{
	size_t i;

	for (i = 0; i < h->nr; i++) {
		history_print_op(f, &h->op[i]);
		*unknown += h->op[i].result == RESULT_UNKNOWN;
	}
	history_free(h);
}

/* As the puts that have made it. */
static void print_begin(FILE *f)
{
	unsigned int k;

	for (k = 0; nr_rounds > 1 && k < keys; k++) {
		struct op op = last[k];

		if (op.result != RESULT_OK)
			continue;
		op.kind = OP_PUT;
		op.expected = EXPECT_ANY;
		op.call = 0;
		op.ret = 0;
		history_print_op(f, &op);
	}
}

/* Every key, when nobody else does anything. */
static bool look(void)
{
	unsigned int k, tries;

	for (k = 0; k < keys; k++) {
		for (tries = 0; tries < LOOKS && !recorder_get(&observer, k, &last[k]); tries++)
			usleep(100000);
		if (tries == LOOKS)
			return false;
	}
	return true;
}

/* In this round, and all that were refused in any. */
struct totals {
	uint64_t ops, unknown, refused;
};

static bool write_history(struct totals *t)
{
	char path[64];
	unsigned int i;
	FILE *f;

	snprintf(path, sizeof(path), "/host/history.%u", ++nr_rounds);
	f = fopen(path, "we");
	if (!f)
		return false;
	print_begin(f);
	for (i = 0; i < nr_workers; i++) {
		t->ops += workers[i].recorder.history.nr;
		t->refused += workers[i].recorder.refused;
		print_history(f, &workers[i].recorder.history, &t->unknown);
		workers[i].gap = 0;
	}
	if (!look() && !*recording.error)
		snprintf(recording.error, sizeof(recording.error), "no answer in a quiet store");
	print_history(f, &observer.history, &t->unknown);
	return !fclose(f);
}

static void do_check(char *answer, double seconds)
{
	struct totals t = { 0 };

	__atomic_store_n(&order, PARK, __ATOMIC_RELEASE);
	if (!wait_parked(seconds) || !write_history(&t)) {
		snprintf(answer, HOST_ANSWER, "hung");
		return;
	}
	snprintf(answer, HOST_ANSWER, "checked %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %s", nr_rounds,
		 t.ops, t.unknown, t.refused, recording.error);
	__atomic_store_n(&order, RUN, __ATOMIC_RELEASE);
}

static void run_command(const char *command, char *answer)
{
	snprintf(answer, HOST_ANSWER, "%s", system(command) ? command : "ok");
}

static bool serve(const char *verb, double seconds, char *answer)
{
	if (!strcmp(verb, "back"))
		do_back(answer, seconds);
	else if (!strcmp(verb, "check"))
		do_check(answer, seconds);
	else if (!strcmp(verb, "rdma-down"))
		run_command("rdma link del rxe0", answer);
	else if (!strcmp(verb, "rdma-up"))
		run_command("lab_rdma_up", answer);
	else if (!strcmp(verb, "end"))
		snprintf(answer, HOST_ANSWER, "ended");
	return strcmp(verb, "end") != 0;
}

/* --- all of it -------------------------------------------------------------------------- */

/* A device's threads share its files: one puts by size, the other one-sided whatever the size. */
static int open_device(unsigned int d)
{
	struct pmofkv_options opt;
	unsigned int p;
	int rc = 0;

	for (p = 0; p < PMOFKV_NR_PROTOCOLS && !rc; p++) {
		pmofkv_options_init(&opt);
		opt.protocol = p;
		rc = pmofkv_open(devices[d], O_RDWR, &opt, &handles[d][p]);
	}
	return rc;
}

static int start(void)
{
	unsigned int d, t;
	int rc = 0;

	for (d = 0; d < nr_devices && !rc; d++)
		rc = open_device(d);
	if (!rc)
		rc = recorder_init(&observer, &recording, handles[0][0], DEVICES_MAX * THREADS_MAX);
	for (d = 0; d < nr_devices; d++)
		for (t = 0; t < nr_threads && !rc; t++) {
			struct worker *w = &workers[nr_workers];

			w->instance = pmofkv_instance(handles[d][0]);
			rc = recorder_init(&w->recorder, &recording,
					   handles[d][(d + t) % PMOFKV_NR_PROTOCOLS], nr_workers);
			if (!rc)
				rc = -pthread_create(&w->thread, NULL, work, w);
			nr_workers += !rc;
		}
	return rc;
}

/* How often the library has had to find out. */
static void print_counters(void)
{
	unsigned int c, d, p;

	printf("library:");
	for (c = 0; c < PMOFKV_NR_COUNTERS; c++) {
		uint64_t sum = 0;

		for (d = 0; d < nr_devices; d++)
			for (p = 0; p < PMOFKV_NR_PROTOCOLS; p++)
				sum += pmofkv_counter(handles[d][p], c);
		printf(" %s %" PRIu64, pmofkv_counter_name(c), sum);
	}
	printf("\n");
}

static void stop(void)
{
	unsigned int i, p;

	__atomic_store_n(&order, END, __ATOMIC_RELEASE);
	for (i = 0; i < nr_workers; i++) {
		pthread_join(workers[i].thread, NULL);
		recorder_end(&workers[i].recorder);
	}
	recorder_end(&observer);
	for (i = 0; i < nr_devices; i++)
		for (p = 0; p < PMOFKV_NR_PROTOCOLS; p++)
			pmofkv_close(handles[i][p]);
}

int main(int argc, char **argv)
{
	unsigned int max_value = RECORDER_VALUE;
	uint64_t seed = 1;
	int c, rc;

	while ((c = getopt(argc, argv, "s:k:t:m:")) != -1) {
		if (c == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (c == 'k')
			keys = (unsigned int)atoi(optarg);
		else if (c == 't')
			nr_threads = (unsigned int)atoi(optarg);
		else if (c == 'm')
			max_value = (unsigned int)atoi(optarg);
		else
			return 2;
	}
	for (; optind < argc && nr_devices < DEVICES_MAX; optind++)
		devices[nr_devices++] = argv[optind];
	if (!keys || keys > RECORDER_KEYS || !nr_threads || nr_threads > THREADS_MAX ||
	    max_value < 8 || max_value > RECORDER_VALUE || !nr_devices)
		return 2;
	recording_init(&recording, keys, max_value, seed);
	recording.revoked = true;
	rc = start();
	if (rc)
		fprintf(stderr, "kv: cannot begin: %s\n", strerror(-rc));
	else
		host_follow(&(struct host_ops){ .serve = serve });
	if (!rc)
		print_counters();
	stop();
	if (*recording.error)
		fprintf(stderr, "kv: %s\n", recording.error);
	return rc || *recording.error ? 1 : 0;
}
