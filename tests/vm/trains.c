// SPDX-License-Identifier: GPL-2.0
/*
 * Trains: durable puts of one queue that wait for each other share one READ, or one
 * message. What they share must not be told before it is true (tests/crash finds that),
 * and must not be forgotten: each put ends, whatever becomes of the train.
 */
#include "kselftest_harness.h"
#include "counts.h"

#define AT		(64 * MiB)
#define THREADS		16
#define PUTS_EACH	50
#define SPAN		4096	/* of a thread */

FIXTURE(trains) {
	int instance;
	int fd;
};

FIXTURE_VARIANT(trains) {
	const char *options;
	int tail;	/* counter of what makes them durable */
	int persist;	/* round trips of a PERSIST where all is durable */
};

FIXTURE_VARIANT_ADD(trains, assist) {
	.options = "persist=assist,queues=1",
	.tail = WR_SEND,
	.persist = 1,
};

FIXTURE_VARIANT_ADD(trains, read) {
	.options = "persist=read,queues=1",
	.tail = WR_READ,
};

FIXTURE_SETUP(trains)
{
	self->instance = vm_connect(variant->options);
	ASSERT_LE(0, self->instance);
	self->fd = vm_open(self->instance, O_RDWR);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, vm_set_attr(self->instance, "trains", "1"));
}

FIXTURE_TEARDOWN(trains)
{
	close(self->fd);
	if (self->instance >= 0)
		EXPECT_EQ(0, vm_disconnect(self->instance));
}

struct putter {
	pthread_t thread;
	int fd, id, nr, rc;
	bool endless;
};

/* The @i-th put of thread @id: where, how much, and its bytes. */
static uint64_t record(int id, int i, unsigned char rec[128], size_t *len)
{
	memset(rec, id * 16 + i % 13 + 1, 128);
	*len = 1 + (id * 7 + i * 29) % 128;
	return AT + id * SPAN + i % 32 * 128;
}

static void *put_many(void *arg)
{
	struct putter *p = arg;
	unsigned char rec[128];
	size_t len;
	int i;

	for (i = 0; p->endless || i < PUTS_EACH; i++) {
		uint64_t at = record(p->id, i, rec, &len);

		p->rc = vm_put(p->fd, at, rec, len, PMOF_F_PERSIST);
		if (p->rc)
			break;
		p->nr++;
	}
	return NULL;
}

static void start(struct putter *p, int n, int fd, bool endless)
{
	int i;

	for (i = 0; i < n; i++) {
		p[i] = (struct putter){ .fd = fd, .id = i, .endless = endless };
		if (pthread_create(&p[i].thread, NULL, put_many, &p[i]))
			abort();
	}
}

/* The bytes of the last puts of thread @id are there: those before may lie under them. */
static bool is_there(int fd, int id)
{
	unsigned char rec[128], now[128];
	size_t len;
	int i;

	for (i = PUTS_EACH - 32; i < PUTS_EACH; i++) {
		uint64_t at = record(id, i, rec, &len);

		if (vm_get(fd, at, now, len) || memcmp(now, rec, len))
			return false;
	}
	return true;
}

TEST_F_TIMEOUT(trains, shared, 60)
{
	struct counts c = take(self->instance);
	struct putter p[THREADS];
	int i;

	start(p, THREADS, self->fd, false);
	for (i = 0; i < THREADS; i++) {
		pthread_join(p[i].thread, NULL);
		EXPECT_EQ(0, p[i].rc);
	}
	GREW(c, WR_WRITE, THREADS * PUTS_EACH);
	GREW(c, PUTS, THREADS * PUTS_EACH);
	/* Two of them have room for all that sixteen threads can have under way. */
	EXPECT_GT(THREADS * PUTS_EACH / 2, GROWN(c, variant->tail));
	EXPECT_LE(THREADS * PUTS_EACH / THREADS, GROWN(c, variant->tail));
	for (i = 0; i < THREADS; i++)
		EXPECT_TRUE(is_there(self->fd, i)) TH_LOG("thread %d", i);
}

/* Who is alone waits for nobody. */
TEST_F_TIMEOUT(trains, alone, 60)
{
	struct counts c = take(self->instance);
	struct putter p;

	start(&p, 1, self->fd, false);
	pthread_join(p.thread, NULL);
	EXPECT_EQ(0, p.rc);
	EXPECT_EQ(PUTS_EACH, GROWN(c, variant->tail));
	GREW(c, ROUND_TRIPS, PUTS_EACH);
}

/* With room for all, none waits. */
TEST_F_TIMEOUT(trains, each_its_own, 60)
{
	struct putter p[THREADS];
	struct counts c;
	int i;

	EXPECT_EQ(-EINVAL, vm_set_attr(self->instance, "trains", "0"));
	EXPECT_EQ(-EINVAL, vm_set_attr(self->instance, "trains", "1025"));
	ASSERT_EQ(0, vm_set_attr(self->instance, "trains", "1024"));
	c = take(self->instance);
	start(p, THREADS, self->fd, false);
	for (i = 0; i < THREADS; i++)
		pthread_join(p[i].thread, NULL);
	EXPECT_EQ(THREADS * PUTS_EACH, GROWN(c, variant->tail));
}

static void *add_many(void *arg)
{
	struct putter *p = arg;
	struct pmof_atomic a = {
		.size = sizeof(a), .flags = PMOF_F_PERSIST, .offset = AT + p->id * SPAN, .operand = 1,
	};
	int i;

	for (i = 0; !p->rc && i < PUTS_EACH; i++)
		p->rc = vm_ioctl(p->fd, PMOF_IOC_FETCH_ADD, &a);
	return NULL;
}

/* What they leave is durable: nothing is left to do, nor to be reported as lost. */
TEST_F_TIMEOUT(trains, atomics, 60)
{
	struct putter p[THREADS];
	struct counts c;
	int i;

	for (i = 0; i < THREADS; i++) {
		p[i] = (struct putter){ .fd = self->fd, .id = i };
		ASSERT_EQ(0, pthread_create(&p[i].thread, NULL, add_many, &p[i]));
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(p[i].thread, NULL);
		EXPECT_EQ(0, p[i].rc);
	}
	c = take(self->instance);
	ASSERT_EQ(0, vm_persist(self->fd, AT, SPAN));
	GREW(c, ROUND_TRIPS, variant->persist);
}

/* Those that wait when the connection goes end too: the fixture's time limit says so. */
TEST_F_TIMEOUT(trains, disconnect, 60)
{
	struct putter p[THREADS];
	int i, tries;

	start(p, THREADS, self->fd, true);
	for (i = 0; i < THREADS; i++)
		for (tries = 0; tries < 3000 && !__atomic_load_n(&p[i].nr, __ATOMIC_RELAXED); tries++)
			usleep(10000);
	EXPECT_EQ(0, vm_disconnect(self->instance));
	self->instance = -1;
	for (i = 0; i < THREADS; i++) {
		pthread_join(p[i].thread, NULL);
		EXPECT_EQ(-ENODEV, p[i].rc);
		EXPECT_LT(0, p[i].nr);
	}
}

/* --- more than one train takes ----------------------------------------------------- */

#define CROWD		160
#define CROWD_PUTS	8000
#define OVERTAKEN	(12 * CROWD)

static unsigned int crowd_done;

/* One after the other, until all have made so many; @nr: how many others ended during one, at most. */
static void *put_in_a_crowd(void *arg)
{
	struct putter *p = arg;
	unsigned int begun, ended = 0;
	unsigned char byte = p->id;

	while (!p->rc && ended < CROWD_PUTS) {
		begun = __atomic_load_n(&crowd_done, __ATOMIC_RELAXED);
		p->rc = vm_put(p->fd, AT + p->id * 64, &byte, 1, PMOF_F_PERSIST);
		ended = __atomic_add_fetch(&crowd_done, 1, __ATOMIC_RELAXED);
		if (p->nr < (int)(ended - begun))
			p->nr = ended - begun;
	}
	return NULL;
}

/* Who waits longest is among the first to go, also while others come all the time. */
TEST_F_TIMEOUT(trains, nobody_is_overtaken_for_ever, 120)
{
	int instance, fd, i, most = 0;
	struct putter p[CROWD];
	char options[64];

	snprintf(options, sizeof(options), "%s,depth=256,block=0", variant->options);
	instance = vm_connect(options);
	fd = vm_open(instance, O_RDWR);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, vm_set_attr(instance, "trains", "1"));
	for (i = 0; i < CROWD; i++) {
		p[i] = (struct putter){ .fd = fd, .id = i };
		ASSERT_EQ(0, pthread_create(&p[i].thread, NULL, put_in_a_crowd, &p[i]));
	}
	for (i = 0; i < CROWD; i++) {
		pthread_join(p[i].thread, NULL);
		EXPECT_EQ(0, p[i].rc);
		most = p[i].nr > most ? p[i].nr : most;
	}
	TH_LOG("during one put at most %d others ended", most);
	EXPECT_GT(OVERTAKEN, most);
	close(fd);
	EXPECT_EQ(0, vm_disconnect(instance));
}

TEST_HARNESS_MAIN
