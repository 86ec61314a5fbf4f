// SPDX-License-Identifier: GPL-2.0
/*
 * A peer that floods the server: one process with well-formed requests, possible and
 * impossible, that are answered with a status; the others with what must end a session
 * or never become one: garbage for a connection request, damaged messages in every
 * state, RDMA beyond what was granted, connections left half open, ends without a word.
 * Meanwhile the kernel client's own connection does durable puts, which are counted
 * and read back.
 *
 * usage: fuzz_peer SECONDS [SEED]; prints TAP. The namespace's content is lost, but for
 * its second MiB.
 */
#include "fuzz.h"
#include "wireclient.h"

#define PROCESSES	4
#define BATCH		8	/* copies of a message under way */
#define HALF_OPEN	16

struct peer_counts {
	uint64_t answered;	/* messages */
	uint64_t ended;		/* messages that ended a session, or never got one */
	uint64_t floods;	/* sessions in which that was */
	uint64_t puts;		/* of the kernel client */
};

static struct peer_counts *counts;

static void add(uint64_t *what, uint64_t n)
{
	__atomic_fetch_add(what, n, __ATOMIC_RELAXED);
}

/* --- messages --------------------------------------------------------------------- */

static u64 some_offset(uint64_t *rnd, u64 ns_size)
{
	/* Not where the other process's puts are. */
	u64 v = fuzz_one_in(rnd, 4) ? fuzz_number(rnd, 64) : vm_rnd(rnd) % ns_size;

	return v >= 1 * MiB && v < 2 * MiB ? v + MiB : v;
}

static struct pmof_range some_range(uint64_t *rnd, u64 ns_size, u64 max)
{
	struct pmof_range r = { some_offset(rnd, ns_size), 1 + vm_rnd(rnd) % max };

	if (r.offset < 1 * MiB && r.offset + r.length > 1 * MiB)
		r.length = 1;
	return r;
}

static size_t some_put(uint64_t *rnd, char *buf, u64 ns_size)
{
	struct pmof_put p = { .range = some_range(rnd, ns_size, PMOF_MAX_INLINE) };

	if (fuzz_one_in(rnd, 3)) {
		p.commit = true;
		p.range.offset &= ~7ULL;
		p.range.length = 8 + (p.range.length & ~7ULL) % 2048;
		p.trailer = p.range.offset + p.range.length;
		p.generation = 1 + vm_rnd(rnd) % PMOF_GENERATION_MASK;
	}
	return pmof_put_put((void *)buf, 1, &p) + p.range.length;
}

/* A well-formed message of an I/O queue; most of them name what is there. */
static size_t some_message(uint64_t *rnd, char *buf, u64 ns_size)
{
	struct pmof_range r[PMOF_MAX_RANGES];
	unsigned int i, n;

	switch (vm_rnd(rnd) % 4) {
	case 0:
		n = 1 + vm_rnd(rnd) % PMOF_MAX_RANGES;
		for (i = 0; i < n; i++)
			r[i] = some_range(rnd, ns_size, 256);
		return pmof_put_persist((void *)buf, 1, r, n);
	case 1:
		r[0] = some_range(rnd, ns_size, 64 * KiB);
		return pmof_put_zero((void *)buf, 1, &r[0]);
	default:
		memset(buf, 0, PMOF_IO_MSG_SIZE);
		return some_put(rnd, buf, ns_size);
	}
}

/* --- answered ----------------------------------------------------------------------- */

/* Takes completions until @n sends and @n messages are through; false: it has ended. */
static bool take(struct wc_queue *q, int n)
{
	int sends = n, replies = n;
	double until = vm_now() + 30;
	struct ibv_wc wc;

	while ((sends || replies) && vm_now() < until) {
		if (ibv_poll_cq(q->cq, 1, &wc) != 1) {
			sched_yield();
			continue;
		}
		if (wc.status != IBV_WC_SUCCESS)
			return false;
		if (wc.wr_id >= WC_RECVS) {
			sends--;
		} else {
			wc_post_recv(q, wc.wr_id);
			replies--;
		}
	}
	return !sends && !replies;
}

static void flood(struct fuzz_shared *s, uint64_t *rnd)
{
	struct wc_session session = { 0 };
	size_t len;
	int i;

	while (!s->stop) {
		if (wc_open(&session, 0))
			_exit(2);
		add(&counts->floods, 1);
		while (!s->stop) {
			len = some_message(rnd, wc_out(&session.io), session.login.ns_size);
			for (i = 0; i < BATCH; i++)
				if (wc_post(&session.io, IBV_WR_SEND, len, 0, 0))
					break;
			add(&s->calls, i);
			if (i < BATCH || !take(&session.io, BATCH))
				break;
			add(&counts->answered, BATCH);
		}
		wc_close_session(&session);
	}
}

/* --- ended --------------------------------------------------------------------------- */

static void garbage_request(uint64_t *rnd)
{
	struct pmof_connect c = { .queue_depth = WC_DEPTH, .client_id = "hostile" };
	struct pmof_wire_connect w;
	struct wc_queue q;

	pmof_put_connect(&w, &c);
	if (fuzz_one_in(rnd, 3))
		vm_fill(rnd, &w, sizeof(w));
	else
		fuzz_damage(rnd, &w, sizeof(w), 1 + vm_rnd(rnd) % 4);
	wc_connect_raw(&q, &w, vm_rnd(rnd) % (sizeof(w) + 1), fuzz_one_in(rnd, 2));
	wc_close(&q);
}

/* The first message on a new admin queue, damaged; then it goes as it may. */
static void bad_login(uint64_t *rnd)
{
	struct pmof_wire_login w;
	struct wc_queue q;
	size_t len;

	if (!wc_connect(&q, 0, 0)) {
		len = wc_put_login(&w, "data", vm_rnd(rnd) % 4);
		fuzz_damage(rnd, &w, sizeof(w), 1 + vm_rnd(rnd) % 6);
		wc_send(&q, &w, fuzz_one_in(rnd, 4) ? vm_rnd(rnd) % (len + 1) : len);
		wc_ends(&q, 300);
	}
	wc_close(&q);
}

static void bad_message(uint64_t *rnd)
{
	char buf[PMOF_IO_MSG_SIZE + 64];
	struct wc_session session;
	struct wc_queue *q;
	size_t len;

	if (!wc_open(&session, 0)) {
		q = fuzz_one_in(rnd, 4) ? &session.admin : &session.io;
		len = some_message(rnd, buf, session.login.ns_size);
		fuzz_damage(rnd, buf, 48, 1 + vm_rnd(rnd) % 4);
		/* What it means by now may be allowed: it must not be where the puts are. */
		if (buf[0] != PMOF_MSG_PUT && buf[0] != PMOF_MSG_ZERO)
			wc_call(q, buf, fuzz_one_in(rnd, 4) ? vm_rnd(rnd) % len : len);
		else
			wc_call(q, buf, vm_rnd(rnd) % sizeof(struct pmof_wire_zero));
	}
	wc_close_session(&session);
}

/* RDMA with a key that is wrong, or beyond the segment's end. */
static void bad_rdma(uint64_t *rnd)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_RDMA_WRITE_WITH_IMM,
	};
	struct wc_session session;
	u64 addr;

	if (!wc_open(&session, 0)) {
		const struct pmof_segment_desc *seg = &session.seg[0];
		u32 rkey = seg->rkey;

		addr = seg->addr + seg->length + vm_rnd(rnd) % 8192;
		if (fuzz_one_in(rnd, 2)) {
			addr = seg->addr;
			rkey ^= 1U << vm_rnd(rnd) % 32;
		}
		wc_post(&session.io, opcodes[vm_rnd(rnd) % ARRAY_SIZE(opcodes)], 8, addr, rkey);
		wc_ends(&session.io, 1000);
	}
	wc_close_session(&session);
}

/* Nobody takes the server's answers, so the connections stay half open. */
static void half_open(uint64_t *rnd)
{
	struct pmof_connect c = { .queue_depth = WC_DEPTH, .client_id = "hostile" };
	struct rdma_conn_param param = { .private_data_len = sizeof(struct pmof_wire_connect) };
	struct pmof_wire_connect w;
	struct wc_queue q[HALF_OPEN];
	int i;

	pmof_put_connect(&w, &c);
	param.private_data = &w;
	memset(q, 0, sizeof(q));
	for (i = 0; i < HALF_OPEN; i++)
		if (wc_resolve(&q[i]) || wc_resources(&q[i], false) ||
		    rdma_connect(q[i].id, &param))
			break;
	usleep(vm_rnd(rnd) % 200000);
	for (i = 0; i < HALF_OPEN; i++)
		wc_close(&q[i]);
	add(&counts->ended, HALF_OPEN - 1);
}

/* Requests under way, and nobody says goodbye. */
static void killed(uint64_t *rnd)
{
	struct wc_session session;
	int i, status;
	pid_t pid = fork();

	if (!pid) {
		if (!wc_open(&session, 0)) {
			size_t len = some_message(rnd, wc_out(&session.io), session.login.ns_size);

			for (i = 0; i < 2 * BATCH; i++)
				wc_post(&session.io, IBV_WR_SEND, len, 0, 0);
		}
		kill(getpid(), SIGKILL);
	}
	waitpid(pid, &status, 0);
}

static void (*const breaches[])(uint64_t *rnd) = {
	garbage_request, bad_login, bad_message, bad_message, bad_rdma, half_open, killed,
};

/* --- the victim ------------------------------------------------------------------------- */

/* Durable puts in a place of its own, read back. */
static void victim(struct fuzz_shared *s)
{
	char out[512], in[512];
	uint64_t rnd = 5, offset;
	int fd = vm_open(vm_instance(), O_RDWR);

	while (!s->stop) {
		vm_fill(&rnd, out, sizeof(out));
		offset = MiB + vm_rnd(&rnd) % 2000 * sizeof(out);
		if (fd < 0 || vm_put(fd, offset, out, sizeof(out), PMOF_F_PERSIST) ||
		    vm_get(fd, offset, in, sizeof(in)) || memcmp(in, out, sizeof(in)))
			_exit(3);
		add(&counts->puts, 1);
	}
}

static void run(struct fuzz_shared *s, int who)
{
	uint64_t rnd = strtoull(vm_env("FUZZ_SEED", "1"), NULL, 0) * 7919 + who + 1;

	if (who == 0)
		victim(s);
	else if (who == 1)
		flood(s, &rnd);
	else
		while (!s->stop) {
			breaches[vm_rnd(&rnd) % ARRAY_SIZE(breaches)](&rnd);
			add(&counts->ended, 1);
			add(&s->calls, 1);
		}
}

/* Puts a second with nobody else there. */
static double alone(struct fuzz_shared *s)
{
	double since = vm_now();

	s->stop = 0;
	if (fuzz_processes(s, 1, 3, run))
		return 0;
	since = counts->puts / (vm_now() - since);
	counts->puts = 0;
	s->stop = 0;
	return since;
}

int main(int argc, char **argv)
{
	struct fuzz_shared *shared = fuzz_share();
	int seconds = argc > 1 ? atoi(argv[1]) : 20, bad;
	double before, flooded;

	if (argc > 2)
		setenv("FUZZ_SEED", argv[2], 1);
	counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counts == MAP_FAILED)
		return 3;
	setbuf(stdout, NULL);
	printf("TAP version 13\n1..3\n");
	before = alone(shared);
	flooded = vm_now();
	bad = fuzz_processes(shared, PROCESSES, seconds, run);
	flooded = counts->puts / (vm_now() - flooded);
	printf("# seed %s: %llu messages answered, %llu ended a session or got none\n",
	       vm_env("FUZZ_SEED", "1"), (unsigned long long)counts->answered,
	       (unsigned long long)counts->ended);
	printf("# %llu sessions of the flood\n", (unsigned long long)counts->floods);
	printf("# puts a second: %.0f alone, %.0f beside the flood\n", before, flooded);
	printf("%sok 1 - every process did its work to the end\n", bad ? "not " : "");
	/* What is well-formed ends no session. */
	printf("%sok 2 - messages were answered, in one session; others ended theirs\n",
	       counts->answered && counts->floods == 1 && counts->ended ? "" : "not ");
	printf("%sok 3 - the other connection lives and was served\n",
	       counts->puts && vm_attr_is(vm_instance(), "state", "live") ? "" : "not ");
	return bad || !counts->answered || counts->floods != 1 || !counts->ended || !counts->puts;
}
