// SPDX-License-Identifier: GPL-2.0
/*
 * The load of make chaos, in a client VM:
 *
 *   load -i INDEX -s SEED [-o CONNECT-OPTIONS] [-r]
 *
 * Connects, writes by several threads, and does what the host says (host.h):
 *   back    the disturbance is over: says when every thread had an acknowledgement
 *   check   stands still, compares what was acknowledged since the last check, and some of what was
 *           before, goes on
 *   reload  closes the device, loads the module anew, connects
 *   end     compares all of it once more, and ends
 * -r: connects again when the device is dead; without, that is a failure.
 */
#include <inttypes.h>
#include <stdio.h>

#include "host.h"
#include "load.h"

#define AREA	(2 * MiB)	/* of each thread */
#define TABLE	"/tmp/chaos.table"

struct device device;
enum order order = RUN;

static struct worker workers[KINDS];
static const char *connect_options = "";
static bool reconnect;
static char failure[256];	/* of the device itself */

static void fail(const char *what, int rc)
{
	snprintf(failure, sizeof(failure), "%s: %s", what, strerror(-rc));
}

/* --- the device --------------------------------------------------------------- */

static int open_block(int instance)
{
	char path[32];
	int fd = -1, tries;

	snprintf(path, sizeof(path), "/dev/pmof%d", instance);
	for (tries = 0; tries < 500 && fd < 0; tries++) {
		fd = open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
		if (fd < 0)
			usleep(10000);
	}
	return fd < 0 ? -errno : fd;
}

static int open_device(void)
{
	int instance = vm_connect(connect_options);

	if (instance < 0)
		return instance;
	device.instance = instance;
	device.fd = vm_open(instance, O_RDWR);
	device.persist_fd = vm_open(instance, O_RDWR);
	device.block = open_block(instance);
	if (device.fd < 0 || device.persist_fd < 0 || device.block < 0)
		fprintf(stderr, "load: pmof%d cannot be opened: %d %d %d\n", instance, device.fd,
			device.persist_fd, device.block);
	if (device.fd < 0 || device.persist_fd < 0)
		return device.fd < 0 ? device.fd : device.persist_fd;
	return device.block < 0 ? device.block : 0;
}

static int close_device(void)
{
	close(device.fd);
	close(device.persist_fd);
	close(device.block);
	return vm_disconnect(device.instance);
}

/* With the lock held: no operation is under way. */
static int reload_module(void)
{
	int rc = close_device(), tries;

	for (tries = 0; !rc && system("rmmod pmof_client 2>/tmp/rmmod.err"); tries++) {
		if (tries == 50)
			return -EBUSY;
		usleep(100000);
	}
	if (!rc && system("modprobe pmof-client"))
		rc = -ENOENT;
	return rc ? rc : open_device();
}

static void watch_device(void)
{
	int rc, last = 0;

	if (!vm_attr_is(device.instance, "state", "dead"))
		return;
	if (!reconnect) {
		if (!*failure)
			fail("the device is dead", -ENOTCONN);
		return;
	}
	pthread_rwlock_wrlock(&device.lock);
	rc = close_device();
	while (rc || (rc = open_device())) {
		if (rc != last)
			fprintf(stderr, "load: cannot connect again: %s\n", strerror(-rc));
		last = rc;
		rc = 0;
		usleep(100000);
	}
	pthread_rwlock_unlock(&device.lock);
}

/* --- what the host asks for ----------------------------------------------------- */

static uint64_t acks_of(const struct worker *w)
{
	return __atomic_load_n(&w->acks, __ATOMIC_ACQUIRE);
}

/* Milliseconds until every thread has had an acknowledgement; -1: not in time. */
static double wait_acks(double seconds)
{
	double start = vm_now(), last = 0;
	uint64_t before[KINDS];
	int i;

	for (i = 0; i < KINDS; i++)
		before[i] = acks_of(&workers[i]);
	for (i = 0; i < KINDS; i++) {
		while (acks_of(&workers[i]) == before[i]) {
			watch_device();
			if (vm_now() - start > seconds)
				return -1;
			usleep(2000);
		}
		if (vm_now() - start > last)
			last = vm_now() - start;
	}
	return last * 1000;
}

/* Where its threads are: for whoever looks for the reason. */
static void show_stacks(const char *when)
{
	int i;

	fprintf(stderr, "load: hung %s: state:\n", when);
	for (i = 0; i < KINDS; i++)
		fprintf(stderr, "%s: %" PRIu64 " acknowledged, %" PRIu64 " unknown, %s\n",
			kind_names[i], workers[i].acks, workers[i].unknown,
			workers[i].parked ? "parked" : "at work");
	fflush(stderr);
	if (system("cat /sys/class/pmof/*/state >&2;"
		   "for t in /proc/$PPID/task/*; do echo $t $(cat $t/wchan); cat $t/stack; done >&2"))
		fprintf(stderr, "load: no stacks\n");
}

static void do_back(char *answer, size_t size, double seconds)
{
	double ms = wait_acks(seconds), gap = 0;
	char slow[64] = "";
	int i;

	for (i = 0; i < KINDS; i++)
		if (workers[i].gap > gap)
			gap = workers[i].gap;
	for (i = 0; i < KINDS && ms < 0; i++)
		snprintf(slow + strlen(slow), sizeof(slow) - strlen(slow), " %s:%" PRIu64,
			 kind_names[i], acks_of(&workers[i]));
	if (ms < 0) {
		show_stacks("behind a disturbance");
		snprintf(answer, size, "hung%s", slow);
	} else {
		snprintf(answer, size, "recovered %.0f %.0f", ms, gap * 1000);
	}
}

static bool wait_parked(double seconds)
{
	double start = vm_now();
	int i;

	for (i = 0; i < KINDS; i++)
		while (!__atomic_load_n(&workers[i].parked, __ATOMIC_ACQUIRE)) {
			if (vm_now() - start > seconds)
				return false;
			usleep(2000);
		}
	return true;
}

/* All at once: each waits for the network most of the time. */
static void check_all(void)
{
	pthread_t checker[KINDS];
	int i;

	for (i = 0; i < KINDS; i++)
		if (pthread_create(&checker[i], NULL, check_worker, &workers[i]))
			abort();
	for (i = 0; i < KINDS; i++)
		pthread_join(checker[i], NULL);
}

struct totals {
	uint64_t acks, unknown, refused, rewritten;
	unsigned int lost, corrupt;
	const char *error;	/* "": none */
};

static struct totals add_up(void)
{
	struct totals t = { .error = failure };
	int i;

	for (i = 0; i < KINDS; i++) {
		t.lost += workers[i].lost;
		t.corrupt += workers[i].corrupt;
		t.acks += workers[i].acks;
		t.unknown += workers[i].unknown;
		t.refused += workers[i].refused;
		t.rewritten += workers[i].rewritten;
		workers[i].gap = 0;
		if (*workers[i].error)
			t.error = workers[i].error;
	}
	return t;
}

/* False: they do not stand still.  They go on when order says so. */
static bool check_quiet(double seconds, struct totals *t)
{
	__atomic_store_n(&order, PARK, __ATOMIC_RELEASE);
	if (!wait_parked(seconds)) {
		show_stacks("before a check");
		return false;
	}
	check_all();
	fflush(stdout);
	*t = add_up();
	return true;
}

static void do_check(char *answer, size_t size, double seconds)
{
	struct totals t;

	if (!check_quiet(seconds, &t)) {
		snprintf(answer, size, "hung");
		return;
	}
	snprintf(answer, size, "checked %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %u %u %s",
		 t.acks, t.unknown, t.refused, t.rewritten, t.lost, t.corrupt, t.error);
	__atomic_store_n(&order, RUN, __ATOMIC_RELEASE);
}

/* All of the table once more: what a round has done to the slots that others had written. */
static void do_end(char *answer, size_t size, double seconds)
{
	struct totals t;

	recheck = CHUNKS;
	if (!check_quiet(seconds, &t))
		snprintf(answer, size, "hung at the end");
	else if (t.lost || t.corrupt || *t.error)
		snprintf(answer, size, "at the end: %u LOST %u CORRUPT %s", t.lost, t.corrupt,
			 t.error);
	else
		snprintf(answer, size, "ended");
}

static void do_reload(char *answer, size_t size)
{
	int rc;

	pthread_rwlock_wrlock(&device.lock);
	rc = reload_module();
	pthread_rwlock_unlock(&device.lock);
	snprintf(answer, size, "%s %s", rc ? "failed" : "reloaded", rc ? strerror(-rc) : "");
}

static bool serve(const char *verb, double seconds, char *answer)
{
	if (!strcmp(verb, "back"))
		do_back(answer, HOST_ANSWER, seconds);
	else if (!strcmp(verb, "check"))
		do_check(answer, HOST_ANSWER, seconds);
	else if (!strcmp(verb, "reload"))
		do_reload(answer, HOST_ANSWER);
	else if (!strcmp(verb, "end"))
		do_end(answer, HOST_ANSWER, seconds);
	return strcmp(verb, "end") != 0;
}

/* --- all of it ------------------------------------------------------------------ */

/* The table is a file: it can be looked at when this program has died. */
static struct slot *make_table(void)
{
	size_t size = sizeof(struct slot) * SLOTS * KINDS;
	int fd = open(TABLE, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	void *p;

	if (fd < 0 || ftruncate(fd, (off_t)size))
		return NULL;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return p == MAP_FAILED ? NULL : p;
}

static void start_workers(unsigned int index, uint64_t seed)
{
	struct slot *table = make_table();
	struct pmof_info info;
	int i;

	if (!table || vm_info(device.persist_fd, &info))
		abort();
	for (i = 0; i < KINDS; i++) {
		workers[i].kind = i;
		workers[i].base = (uint64_t)((index - 1) * KINDS + i) * AREA;
		workers[i].state = (seed + 1) * 0x9e3779b97f4a7c15ULL + index * 16 + i;
		workers[i].slot = table + i * SLOTS;
		workers[i].generation = info.generation;
		workers[i].buf = vm_pages(SLOT);
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			abort();
	}
}

static void init_lock(void)
{
	pthread_rwlockattr_t attr;

	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&device.lock, &attr);
}

int main(int argc, char **argv)
{
	unsigned int index = 1;
	uint64_t seed = 1;
	int c, i, rc;

	while ((c = getopt(argc, argv, "i:s:o:r")) != -1) {
		if (c == 'i')
			index = (unsigned int)atoi(optarg);
		else if (c == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (c == 'o')
			connect_options = optarg;
		else if (c == 'r')
			reconnect = true;
		else
			return 2;
	}
	device.patient = strstr(connect_options, "fail_io_timeout=-1") && !reconnect;
	init_lock();
	rc = open_device();
	if (rc) {
		fprintf(stderr, "load: cannot connect: %s\n", strerror(-rc));
		return 1;
	}
	start_workers(index, seed);
	host_follow(&(struct host_ops){ .serve = serve, .idle = watch_device });
	__atomic_store_n(&order, END, __ATOMIC_RELEASE);
	for (i = 0; i < KINDS; i++)
		pthread_join(workers[i].thread, NULL);
	rc = close_device();
	return rc || *failure ? 1 : 0;
}
