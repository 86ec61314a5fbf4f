// SPDX-License-Identifier: GPL-2.0
/*
 * A peer that floods the server: some processes with well-formed requests of every kind,
 * possible and impossible, that are answered with a status; others with what must end a
 * session or never become one: garbage for a connection request, damaged messages in every
 * state, RDMA beyond what was granted, connections left half open, ends without a word.
 * Meanwhile the kernel client's own connection does durable puts, which are counted
 * and read back: first by turns beside the flood and without it, to see what it loses.
 *
 * usage: fuzz_peer SECONDS [SEED]; prints TAP. The namespace's content is lost, but for
 * its second MiB.
 */
#define WC_RECVS	16
#define WC_SENDS	32
#define WC_OUTS		16
#define WC_KEPT		2
#include "fuzz.h"
#include "fuzz_keyed.h"
#include "fuzz_messages.h"
#include "ring.h"
#include "wireclient.h"

#define FLOODS		2
#define BREACHERS	6	/* each waits for the server most of the time */
#define BATCH		WC_OUTS	/* messages under way */
#define HALF_OPEN	64	/* at once, at most */
#define MESSAGES	8	/* on one connection, as long as they are answered */
#define PUTS		RING_DEPTH	/* of the kernel client, under way at once */
#define SIZE		2048ULL
/* The flood while it is measured. */
#define FEW		8	/* messages under way */
#define SMALL		256	/* bytes of each */
#define TURN		0.7	/* seconds with the flood, seconds without, on a fast kernel */
#define TURNS		3	/* of each */
#define ROUNDS		3	/* of those: another one where the last did not show it */
/* Behind that the floods wait where they are ahead: a long run is to have many of both kinds. */
#define RATIO		40	/* answers for each message that ends a session */
#define AHEAD		2000

/* What a client with a key has altered. */
enum {
	LOGIN,
	QUEUE,
	RESUMED,
	ALTERED
};

/* Who does what. */
enum {
	VICTIM,
	CONDUCTOR,
	FIRST_FLOOD,
	FIRST_BREACHER = FIRST_FLOOD + FLOODS,
	PROCESSES = FIRST_BREACHER + BREACHERS
};

struct peer_counts {
	uint64_t answered;	/* messages */
	uint64_t ended;		/* messages that ended a session, seen to */
	uint64_t refused;	/* connection requests that did not get one */
	uint64_t half_open;	/* requests whose answer nobody took */
	uint64_t left;		/* connections and sessions left without a word */
	uint64_t silent;	/* messages that were neither answered nor ended a session */
	uint64_t barred;	/* RDMA that was */
	uint64_t obeyed;	/* and that was not */
	uint64_t refuted[ALTERED];	/* requests that were not what their proof is of, refused */
	uint64_t believed;		/* and accepted */
	uint64_t floods;	/* sessions of the floods */
	uint64_t served;	/* puts and gets of the kernel client */
	double alone, beside;	/* of them, a second */
	volatile sig_atomic_t pause;	/* the floods are to wait */
	volatile sig_atomic_t measured;	/* the others may begin */
};

static struct peer_counts *counts;

static void add(uint64_t *what, uint64_t n)
{
	__atomic_fetch_add(what, n, __ATOMIC_RELAXED);
}

static void wait_measured(struct fuzz_shared *s, bool at_once)
{
	while (!at_once && !counts->measured && !s->stop)
		usleep(1000);
}

/* --- answered ----------------------------------------------------------------------- */

/* @n messages in one post, of which the last says that all are sent. */
static int post_batch(struct wc_queue *q, uint64_t *rnd, u64 ns_size, int n)
{
	struct ibv_send_wr wr[BATCH], *bad;
	struct ibv_sge sge[BATCH];
	int i;

	for (i = 0; i < n; i++) {
		char *buf = wc_out_nr(q, i);
		size_t len;

		do
			len = some_message(rnd, buf, ns_size);
		while (!counts->measured && len > SMALL);
		sge[i] = (struct ibv_sge){ .addr = (uintptr_t)buf, .length = len,
					   .lkey = q->mr->lkey };
		wr[i] = (struct ibv_send_wr){
			.wr_id = 1000, .sg_list = &sge[i], .num_sge = 1, .opcode = IBV_WR_SEND,
			.next = i + 1 < n ? &wr[i + 1] : NULL,
			.send_flags = i + 1 < n ? 0 : IBV_SEND_SIGNALED,
		};
	}
	return ibv_post_send(q->id->qp, wr, &bad);
}

/* Takes completions until the batch is sent and answered; false: it has ended. */
static bool take_batch(struct wc_queue *q, int replies)
{
	int sent = 0;
	double until = vm_now() + 60;
	struct ibv_wc wc;

	while ((!sent || replies) && vm_now() < until) {
		if (ibv_poll_cq(q->cq, 1, &wc) != 1) {
			usleep(100);
			continue;
		}
		if (wc.status != IBV_WC_SUCCESS) {
			printf("# a flood's session has ended: %s\n",
			       ibv_wc_status_str(wc.status));
			return false;
		}
		if (wc.wr_id >= WC_RECVS) {
			sent = 1;
		} else {
			wc_post_recv(q, wc.wr_id);
			replies--;
		}
	}
	return sent && !replies;
}

static bool ahead(void)
{
	return counts->measured && __atomic_load_n(&counts->answered, __ATOMIC_RELAXED) >
	       AHEAD + RATIO * __atomic_load_n(&counts->ended, __ATOMIC_RELAXED);
}

/* What is well-formed ends no session, so there is one; it is never silent for long, either. */
static void flood(struct fuzz_shared *s, uint64_t *rnd, bool at_once)
{
	struct wc_session session = { 0 };

	wait_measured(s, at_once);
	while (!s->stop) {
		if (wc_enter(&session, 0) ||
		    wc_connect(&session.io, 1, session.login.session_id))
			_exit(2);
		add(&counts->floods, 1);
		while (!s->stop) {
			int n = counts->measured ? BATCH : FEW;

			if (counts->pause) {
				usleep(1000);
				continue;
			}
			if (ahead())
				usleep(100000);
			if (post_batch(&session.io, rnd, session.login.ns_size, n) ||
			    !take_batch(&session.io, n))
				break;
			add(&counts->answered, n);
			add(&s->calls, n);
		}
		wc_close_session(&session);
	}
}

/* --- ended --------------------------------------------------------------------------- */

/* With nothing behind it, mostly: the server does not know until it has accepted. */
static void garbage_request(uint64_t *rnd)
{
	struct pmof_connect c = { .queue_depth = WC_DEPTH, .client_id = "hostile" };
	struct pmof_wire_connect w;
	struct wc_queue q;
	size_t len;
	int rc;

	pmof_put_connect(&w, &c);
	if (fuzz_one_in(rnd, 3))
		vm_fill(rnd, &w, sizeof(w));
	else
		fuzz_damage(rnd, &w, sizeof(w), 1 + vm_rnd(rnd) % 4);
	len = vm_rnd(rnd) % (sizeof(w) + 1);
	if (fuzz_one_in(rnd, 4))
		rc = wc_connect_raw(&q, &w, len, fuzz_one_in(rnd, 2));
	else
		rc = wc_knock(&q, &w, len, true);
	add(rc > 0 ? &counts->refused : &counts->left, 1);
	wc_close(&q);
}

/* Sends it: counts an answer, or the end. Is there another one to come? */
static bool try_message(struct wc_queue *q, const void *msg, size_t len)
{
	const void *reply;
	ssize_t n = wc_send(q, msg, len) ? 0 : wc_recv(q, &reply, 5000);

	add(n > 0 ? &counts->answered : n ? &counts->silent : &counts->ended, 1);
	return n > 0;
}

static void try_messages(struct wc_queue *q, uint64_t *rnd,
			 size_t (*some)(uint64_t *rnd, char *buf))
{
	char buf[PMOF_IO_MSG_SIZE + 64] = "";
	size_t len;
	int i;

	for (i = 0; i < MESSAGES; i++) {
		len = some(rnd, buf);
		if (!try_message(q, buf, len))
			break;
	}
}

static size_t some_cut_login(uint64_t *rnd, char *buf)
{
	size_t len = some_login(rnd, buf);

	return fuzz_one_in(rnd, 4) ? vm_rnd(rnd) % (len + 1) : len;
}

static size_t some_proof(uint64_t *rnd, char *buf)
{
	return fuzz_one_in(rnd, 3) ? some_bad_beginning(rnd, buf) : some_login(rnd, buf);
}

/* The first messages on a new admin queue: damaged logins. */
static void bad_login(uint64_t *rnd)
{
	struct wc_queue q;

	if (!wc_connect(&q, 0, 0))
		try_messages(&q, rnd, some_cut_login);
	wc_close(&q);
}

/* Or others that nobody may send who is not logged in. */
static void bad_beginning(uint64_t *rnd)
{
	struct wc_queue q;

	if (!wc_connect(&q, 0, 0))
		try_messages(&q, rnd, some_bad_beginning);
	wc_close(&q);
}

/* Behind a challenge: logins that prove nothing, and all the others. */
static void bad_proof(uint64_t *rnd)
{
	char buf[sizeof(struct pmof_wire_challenge)];
	struct wc_queue q;

	if (!wc_connect(&q, 0, 0) && try_message(&q, buf, some_challenge(rnd, buf)))
		try_messages(&q, rnd, some_proof);
	wc_close(&q);
}

/* Of who is logged in, on either queue. */
static void bad_message(uint64_t *rnd)
{
	char buf[PMOF_IO_MSG_SIZE + 64] = "";
	bool admin = fuzz_one_in(rnd, 2);
	struct wc_session session;
	size_t len;
	int i, rc;

	rc = wc_enter(&session, 0);
	if (!rc && !admin)
		rc = wc_connect(&session.io, 1, session.login.session_id);
	for (i = 0; !rc && i < MESSAGES; i++) {
		len = some_bad_message(rnd, buf, session.login.ns_size, admin);
		if (!try_message(admin ? &session.admin : &session.io, buf, len))
			break;
	}
	wc_close_session(&session);
}

/* With the first segment, not all: the server registers each that is asked for. */
static int open_session(struct wc_session *session)
{
	int rc = wc_enter(session, 0);

	if (!rc)
		rc = wc_some_segments(session, 1);
	return rc ? rc : wc_connect(&session->io, 1, session->login.session_id);
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

	if (!open_session(&session)) {
		const struct pmof_segment_desc *seg = &session.seg[0];
		u32 rkey = seg->rkey;

		addr = seg->addr + seg->length + vm_rnd(rnd) % 8192;
		if (fuzz_one_in(rnd, 2)) {
			addr = seg->addr;
			rkey ^= 1U << vm_rnd(rnd) % 32;
		}
		wc_post(&session.io, opcodes[vm_rnd(rnd) % ARRAY_SIZE(opcodes)], 8, addr, rkey);
		if (wc_completed(&session.io, session.io.posts, 5000) == IBV_WC_SUCCESS)
			add(&counts->obeyed, 1);
		else
			add(&counts->barred, 1);
		add(wc_ends(&session.io, 5000) ? &counts->ended : &counts->left, 1);
	}
	wc_close_session(&session);
}

/* Nobody takes the server's answers, so the connections stay half open. */
static void half_open(uint64_t *rnd)
{
	struct pmof_connect c = { .queue_depth = WC_DEPTH, .client_id = "hostile" };
	struct pmof_wire_connect w;
	struct wc_queue q[HALF_OPEN];
	int i, n = HALF_OPEN / 4 + vm_rnd(rnd) % (HALF_OPEN * 3 / 4 + 1), open = 0;

	pmof_put_connect(&w, &c);
	for (i = 0; i < n; i++)
		open += !wc_knock(&q[i], &w, sizeof(w), false);
	usleep(vm_rnd(rnd) % 200000);
	for (i = 0; i < n; i++)
		wc_close(&q[i]);
	add(&counts->half_open, open);
}

/* Of a client with a key. */
static void altered(uint64_t *rnd)
{
	static enum belief (*const alter[ALTERED])(uint64_t *rnd) = {
		[LOGIN] = altered_login, [QUEUE] = altered_queue, [RESUMED] = altered_resume,
	};
	static const char * const names[ALTERED] = { "login", "queue", "resumed session" };
	unsigned int which = vm_rnd(rnd) % ALTERED;
	enum belief belief = alter[which](rnd);

	add(&counts->refuted[which], belief == REFUSED);
	add(&counts->believed, belief == BELIEVED);
	if (belief == BELIEVED)
		printf("# believed: an altered %s\n", names[which]);
}

static void (*const breaches[])(uint64_t *rnd) = {
	bad_login, bad_message, bad_beginning, bad_proof, altered, garbage_request, bad_message,
	bad_login, bad_beginning, bad_message, bad_proof, altered, garbage_request, bad_rdma,
};

/* Requests under way, and nobody says goodbye. */
static void die(uint64_t *rnd)
{
	struct wc_session session;
	int i;

	if (!open_session(&session)) {
		size_t len = some_message(rnd, wc_out(&session.io), session.login.ns_size);

		for (i = 0; i < WC_DEPTH; i++)
			wc_post(&session.io, IBV_WR_SEND, len, 0, 0);
	}
	add(&counts->left, 1);
	kill(getpid(), SIGKILL);
}

static void some_breaches(struct fuzz_shared *s, uint64_t rnd, bool opens)
{
	int i, n = 20 + vm_rnd(&rnd) % 40, first = vm_rnd(&rnd) % ARRAY_SIZE(breaches);

	/* Rarely: each of so many costs the server what a session does. */
	if (opens)
		half_open(&rnd);
	for (i = 0; i < n && !s->stop; i++) {
		breaches[(first + i) % ARRAY_SIZE(breaches)](&rnd);
		add(&s->calls, 1);
	}
	if (!s->stop)
		die(&rnd);
	_exit(0);
}

/* By children that are killed, and with them goes all that they have of the device. */
static void breach(struct fuzz_shared *s, uint64_t *rnd)
{
	int status, n;
	pid_t pid;

	wait_measured(s, false);
	for (n = 0; !s->stop; n++) {
		uint64_t state = vm_rnd(rnd);

		pid = fork();
		if (!pid)
			some_breaches(s, state, n % 4 == 0);
		if (waitpid(pid, &status, 0) != pid)
			_exit(4);
		if (WIFSIGNALED(status) ? WTERMSIG(status) != SIGKILL : WEXITSTATUS(status))
			_exit(5);
	}
}

/* --- the victim ------------------------------------------------------------------------- */

/* PUTS at places of their own, each of SIZE bytes, all under way at once. */
static int transfer(struct io_uring *ring, int fd, u32 opcode, u32 flags, const u64 *at,
		    char *buf)
{
	struct pmof_op op;
	int i, rc = 0;

	for (i = 0; i < PUTS; i++) {
		op = ring_make_op(opcode, flags, at[i], SIZE, buf + i * SIZE);
		ring_cmd(ring, fd, &op, i);
	}
	if (io_uring_submit(ring) != PUTS)
		return -1;
	for (i = 0; i < PUTS; i++) {
		rc |= ring_wait(ring, NULL, NULL);
		add(&counts->served, 1);
	}
	return rc;
}

/* Durable puts in the second MiB, read back. */
static void victim(struct fuzz_shared *s)
{
	static char out[PUTS * SIZE], in[PUTS * SIZE];
	int i, fd = vm_open(vm_instance(), O_RDWR);
	uint64_t rnd = 5, at[PUTS];
	struct io_uring ring;

	if (fd < 0 || ring_init_cmd(&ring, 0))
		_exit(2);
	while (!s->stop) {
		vm_fill(&rnd, out, sizeof(out));
		for (i = 0; i < PUTS; i++)
			at[i] = MiB + (vm_rnd(&rnd) % (MiB / SIZE / PUTS) * PUTS + i) * SIZE;
		if (transfer(&ring, fd, PMOF_OP_PUT, PMOF_F_PERSIST, at, out) ||
		    transfer(&ring, fd, PMOF_OP_GET, 0, at, in) || memcmp(in, out, sizeof(in)))
			_exit(3);
		/* It leaves the machine to the others then. */
		if (counts->measured)
			usleep(20000);
	}
}

/* It keeps a quarter of what it has alone: others may be at work. An idle machine leaves it half. */
static bool is_fair(void)
{
	return counts->beside > counts->alone / atoi(vm_env("FUZZ_SHARE", "4"));
}

static double turn_seconds(void)
{
	return TURN * vm_time_factor();
}

/* Adds a turn of the victim's to what it did in so many seconds. */
static void turn(bool flooded, double *seconds, double *served)
{
	double since;
	uint64_t before;

	counts->pause = !flooded;
	usleep(100000);		/* for what is under way */
	since = vm_now();
	before = counts->served;
	usleep(turn_seconds() * 1e6);
	*seconds += vm_now() - since;
	*served += counts->served - before;
}

/*
 * By turns, so that what else the machine does meets both alike. The flood is a session with
 * small messages under way all the time, the victim has eight times as many puts and gets: no
 * session goes before another, but a message costs the lab's machines more than a put.
 */
static bool measure(struct fuzz_shared *s)
{
	double t[2] = { 0 }, served[2] = { 0 };
	int i;

	for (i = 0; i < TURNS && !s->stop; i++) {
		turn(false, &t[0], &served[0]);
		turn(true, &t[1], &served[1]);
	}
	if (i < TURNS)
		return true;
	counts->alone = served[0] / t[0];
	counts->beside = served[1] / t[1];
	return is_fair();
}

static void conduct(struct fuzz_shared *s)
{
	double until = vm_now() + 60;
	int i;

	while (!counts->floods && vm_now() < until)
		usleep(10000);
	for (i = 0; i < ROUNDS && !measure(s); i++)
		;
	counts->measured = 1;
}

static void run(struct fuzz_shared *s, int who)
{
	uint64_t rnd = strtoull(vm_env("FUZZ_SEED", "1"), NULL, 0) * 7919 + who + 1;

	if (who == VICTIM)
		victim(s);
	else if (who == CONDUCTOR)
		conduct(s);
	else if (who < FIRST_BREACHER)
		flood(s, &rnd, who == FIRST_FLOOD);
	else
		breach(s, &rnd);
}

/* Each kind, where there was time for that. */
static bool altered_were_refused(void)
{
	uint64_t least = ~0ULL, all = 0;
	int i;

	for (i = 0; i < ALTERED; i++) {
		all += counts->refuted[i];
		if (counts->refuted[i] < least)
			least = counts->refuted[i];
	}
	return !counts->believed && all && (least || all < 6 * ALTERED);
}

static int result(bool ok, int number, const char *text)
{
	printf("%sok %d - %s\n", ok ? "" : "not ", number, text);
	return !ok;
}

int main(int argc, char **argv)
{
	int bad, seconds = argc > 1 ? atoi(argv[1]) : 20;
	struct fuzz_shared *shared = fuzz_share();

	if (argc > 2)
		setenv("FUZZ_SEED", argv[2], 1);
	counts = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (counts == MAP_FAILED)
		return 3;
	setbuf(stdout, NULL);
	printf("TAP version 13\n1..7\n");
	bad = fuzz_processes(shared, PROCESSES, seconds + 2 * ROUNDS * TURNS * turn_seconds(),
			     run);
	printf("# seed %s: %llu messages answered in %llu sessions, %llu ended one\n",
	       vm_env("FUZZ_SEED", "1"), (unsigned long long)counts->answered,
	       (unsigned long long)counts->floods, (unsigned long long)counts->ended);
	printf("# %llu connection requests refused, %llu left half open, %llu connections and sessions left without a word\n",
	       (unsigned long long)counts->refused, (unsigned long long)counts->half_open,
	       (unsigned long long)counts->left);
	printf("# %llu messages neither answered nor ended a session; %llu times RDMA was barred\n",
	       (unsigned long long)counts->silent, (unsigned long long)counts->barred);
	printf("# puts and gets a second: %.1f alone, %.1f beside the flood\n", counts->alone,
	       counts->beside);
	bad = result(!bad, 1, "every process did its work to the end");
	bad |= result(counts->answered && counts->floods == FLOODS && counts->ended &&
		      counts->refused, 2,
		      "messages were answered, in one session each; others ended theirs");
	bad |= result(counts->served && vm_attr_is(vm_instance(), "state", "live"), 3,
		      "the other connection lives and was served");
	bad |= result(is_fair() && counts->alone > 0, 4,
		      "it keeps a share of its throughput beside a flood of messages");
	printf("# not what their proof is of, and refused: %llu logins, %llu queues, %llu resumed sessions\n",
	       (unsigned long long)counts->refuted[LOGIN],
	       (unsigned long long)counts->refuted[QUEUE],
	       (unsigned long long)counts->refuted[RESUMED]);
	bad |= result(counts->barred && !counts->obeyed, 5,
		      "RDMA by a wrong key, or beyond the segment, was never done");
	/* A message may be lost with its connection, where a machine stands still. */
	bad |= result(counts->silent <= 1 + counts->ended / 50, 6,
		      "a message is answered, or ends its session");
	bad |= result(altered_were_refused(), 7,
		      "what a client with a key has not proven is not believed");
	return bad;
}
