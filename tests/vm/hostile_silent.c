// SPDX-License-Identifier: GPL-2.0
/*
 * Who has promised to be heard of and says nothing, while others keep that promise or have
 * made none.
 */
#include <sys/resource.h>

#include "patience.h"
#include "wireclient.h"
#include "window.h"

#define PROMISE_MS	1000	/* on a fast kernel */
#define GRACE		5	/* seconds that the server waits besides */
#define TRIES		3

/* An admin queue and one for I/O; @ms: 0: nothing is promised. */
static int enter(struct wc_session *s, u32 ms)
{
	struct pmof_wire_login w;
	int rc;

	wc_put_login(&w, vm_env("PMOF_NS", "data"), 0);
	w.keep_alive_ms = htole32(ms);
	rc = wc_enter_by(s, &w);
	if (!rc)
		rc = wc_some_segments(s, 1);
	return rc ? rc : wc_connect(&s->io, 1, s->login.session_id);
}

static int admin_call(struct wc_session *s, u8 opcode)
{
	struct pmof_wire_hdr h;

	pmof_put_hdr(&h, opcode, 5, sizeof(h), 0);
	return wc_call(&s->admin, &h, sizeof(h));
}

static int read_something(struct wc_session *s, int ms)
{
	wc_post(&s->io, IBV_WR_RDMA_READ, 64, s->seg[0].addr, s->seg[0].rkey);
	return wc_completed(&s->io, s->io.posts, ms);
}

struct four {
	struct wc_session silent;	/* but for a READ now and then */
	struct wc_session messages;	/* what it says is for an I/O queue */
	struct wc_session alive;	/* sends KEEPALIVE */
	struct wc_session free;		/* has promised nothing, and says nothing */
	double since;			/* before its login */
	double ended;			/* after how long it did */
	double spoke;			/* when all that is to be said had been */
	double gap;			/* the longest in which that was not */
};

static int begin(struct four *f)
{
	u32 ms = PROMISE_MS * vm_time_factor();
	int rc;

	memset(f, 0, sizeof(*f));
	f->spoke = vm_now();
	rc = enter(&f->messages, ms) ?: enter(&f->alive, ms) ?: enter(&f->free, 0);
	f->since = vm_now();
	return rc ?: enter(&f->silent, ms);
}

static int speak(struct four *f)
{
	struct pmof_range range = { WINDOW_OFF, 64 };
	char buf[64];

	return admin_call(&f->alive, PMOF_MSG_KEEPALIVE) ?:
	       wc_call(&f->messages.io, buf, pmof_put_persist((void *)buf, 3, &range, 1));
}

/* Until the silent one is ended, or for a time that is far too long. */
static int wait_for_the_end(struct four *f)
{
	double until = f->since + 60 * vm_time_factor(), now;
	int rc;

	do {
		rc = speak(f);
		now = vm_now();
		f->gap = now - f->spoke > f->gap ? now - f->spoke : f->gap;
		f->spoke = now;
		if (rc)
			return rc;
		read_something(&f->silent, 1000);
		if (wc_ends(&f->silent.admin, 10) || f->silent.io.ended)
			f->ended = vm_now() - f->since;
		usleep(200000);
	} while (!f->ended && vm_now() < until);
	return 0;
}

static void finish(struct four *f)
{
	wc_close_session(&f->silent);
	wc_close_session(&f->messages);
	wc_close_session(&f->alive);
	wc_close_session(&f->free);
}

/*
 * RDMA is no message, and any message is one.  A machine that has stood still itself has
 * broken its promise: then once more.
 */
TEST_F_TIMEOUT(window, a_promise_to_be_heard_of, 200)
{
	const double promise = PROMISE_MS / 1e3 * vm_time_factor();
	struct four f;
	int rc, tries = 0;

	for (;;) {
		ASSERT_EQ(0, begin(&f));
		rc = wait_for_the_end(&f);
		if (f.gap < (promise + GRACE) / 2 || ++tries == TRIES)
			break;
		finish(&f);
	}
	if (f.gap >= (promise + GRACE) / 2) {
		finish(&f);
		SKIP(return, "we ourselves were silent for %.1f s", f.gap);
	}
	ASSERT_EQ(0, rc) TH_LOG("who keeps his promise has been ended");
	EXPECT_LT(0, f.ended) TH_LOG("it is silent, and still there");
	EXPECT_LT(promise + GRACE - 1, f.ended);
	TH_LOG("ended after %.1f s; the longest that we said nothing is %.1f s", f.ended, f.gap);
	EXPECT_EQ(0, admin_call(&f.alive, PMOF_MSG_GET_STATS));
	EXPECT_EQ(0, admin_call(&f.messages, PMOF_MSG_GET_STATS));
	EXPECT_EQ(0, admin_call(&f.free, PMOF_MSG_GET_STATS));
	EXPECT_EQ(IBV_WC_SUCCESS, read_something(&f.free, 20000));
	finish(&f);
}

/*
 * To connect many queues takes its time, and each that comes is a word of its session: for who
 * does that says nothing else.
 */
TEST_F_TIMEOUT(window, who_brings_queues_is_heard_of, 120)
{
	const double silence = PROMISE_MS / 1e3 * vm_time_factor() + GRACE;
	struct pmof_wire_login w;
	struct wc_queue second;
	struct wc_session s;
	double gap, since;
	int rc;

	memset(&second, 0, sizeof(second));
	wc_put_login(&w, vm_env("PMOF_NS", "data"), 0);
	w.keep_alive_ms = htole32(PROMISE_MS * vm_time_factor());
	since = vm_now();
	ASSERT_EQ(0, wc_enter_by(&s, &w));
	usleep(silence * 5 / 6 * 1e6);
	rc = wc_connect(&s.io, 1, s.login.session_id);
	gap = vm_now() - since;
	since = vm_now();
	usleep(silence * 5 / 6 * 1e6);
	rc = rc ?: wc_connect(&second, 2, s.login.session_id);
	if (vm_now() - since > gap)
		gap = vm_now() - since;
	if (gap < silence) {
		EXPECT_EQ(0, rc) TH_LOG("nothing was heard for %.1f s, %.1f were allowed", gap, silence);
		EXPECT_EQ(0, admin_call(&s, PMOF_MSG_GET_STATS));
	}
	wc_close(&second);
	wc_close_session(&s);
	if (gap >= silence)
		SKIP(return, "we ourselves were silent for %.1f s", gap);
}

/* The promise is that of the login: one that does not come in time is not waited for. */
TEST_F_TIMEOUT(window, a_message_is_no_login, 60)
{
	char buf[sizeof(struct pmof_wire_challenge)];
	struct pmof_wire_challenge *w = (void *)buf;
	struct wc_queue q;

	ASSERT_EQ(0, wc_connect(&q, 0, 0));
	memset(w, 7, sizeof(*w));
	pmof_put_hdr(&w->hdr, PMOF_MSG_CHALLENGE, 1, sizeof(*w), 0);
	EXPECT_EQ(0, wc_call(&q, w, sizeof(*w)));
	EXPECT_TRUE(wc_ends(&q, 40000 * vm_time_factor())) TH_LOG("not logged in, and still there");
	wc_close(&q);
}

/* --- half-open connections ----------------------------------------------------------- */

struct knocks {
	struct wc_queue *q;
	int n;
	int accepted;		/* the server's answer was there, and nobody took it */
	int refused;		/* for there are too many */
	int lost;		/* no answer, or another one */
};

static int knock(struct knocks *k, int n)
{
	struct pmof_connect c = { .queue_depth = WC_DEPTH, .client_id = "hostile" };
	struct rlimit files = { n + 256, n + 256 };
	struct pmof_wire_connect w;
	int rc = 0;

	memset(k, 0, sizeof(*k));
	k->q = calloc(n, sizeof(*k->q));
	if (!k->q || setrlimit(RLIMIT_NOFILE, &files))
		return -ENOMEM;
	pmof_put_connect(&w, &c);
	for (; k->n < n && !rc; k->n++)
		rc = wc_knock(&k->q[k->n], &w, sizeof(w), false);
	return rc;
}

static void look_and_leave(struct knocks *k)
{
	int i, rc;

	for (i = 0; i < k->n; i++) {
		struct pollfd p = { .fd = k->q[i].channel->fd, .events = POLLIN };

		rc = poll(&p, 1, 0) == 1 ? wc_answer(&k->q[i]) : -ETIMEDOUT;
		k->accepted += rc == -EPROTO;
		k->refused += rc == PMOF_SC_BUSY;
		k->lost += rc != -EPROTO && rc != PMOF_SC_BUSY;
		wc_close(&k->q[i]);
	}
	free(k->q);
}

/* Those that are left half open keep a place until their time for a login is over. */
static int enter_in_time(double seconds)
{
	const double until = vm_now() + seconds;
	struct wc_session s;
	int rc;

	do {
		rc = enter(&s, 0);
		wc_close_session(&s);
		if (rc)
			usleep(500000);
	} while (rc && vm_now() < until);
	return rc;
}

/* By the thousand in the long form: more than there are places for. */
TEST_F_TIMEOUT(window, connections_left_half_open, 300)
{
	const int n = atoi(vm_env("PMOF_HALF_OPEN", "60"));
	struct knocks k;
	double since = vm_now(), put;
	int rc;

	ASSERT_EQ(0, knock(&k, n)) TH_LOG("after %d", k.n);
	put = vm_now();
	rc = vm_put(self->fd, WINDOW_OFF, self->before, 4096, PMOF_F_PERSIST);
	TH_LOG("%d in %.1f s; a put behind them took %.3f s", n, put - since, vm_now() - put);
	look_and_leave(&k);
	TH_LOG("%d were accepted, %d refused, %d had no answer", k.accepted, k.refused, k.lost);
	EXPECT_EQ(0, rc);
	EXPECT_LT(0, k.accepted);
	EXPECT_EQ(0, enter_in_time(60 * vm_time_factor()));
}

TEST_HARNESS_MAIN
