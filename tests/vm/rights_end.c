// SPDX-License-Identifier: GPL-2.0
/* Rights: sessions that are exclusive, rights that end at once, and the kernel's client. */
#include "bus.h"
#include "rights.h"

/* --- exclusive ----------------------------------------------------------------------------- */

TEST_F(rights, exclusive)
{
	struct keyed alice, bob, carol;

	ASSERT_EQ(0, k_open(&alice, "alice", ALICE, PMOF_LOGIN_F_EXCLUSIVE));
	EXPECT_TRUE(alice.s.login.flags & PMOF_LOGIN_R_EXCLUSIVE);
	EXPECT_EQ(PMOF_SC_EXCLUSIVE, k_login(&bob, "bob", BOB, 0));
	k_close(&bob);
	EXPECT_EQ(PMOF_SC_EXCLUSIVE, k_login(&bob, "bob", BOB, PMOF_LOGIN_F_EXCLUSIVE));
	k_close(&bob);
	/* Readers are nobody's rivals, whether they may not write or will not. */
	ASSERT_EQ(0, k_open(&carol, "carol", CAROL, 0));
	EXPECT_EQ(0, k_login(&bob, "bob", BOB, PMOF_LOGIN_F_READ_ONLY));
	k_close(&bob);
	EXPECT_EQ(0, persist(&alice.s.io));
	/* Who takes it over says so. */
	ASSERT_EQ(0, k_open(&bob, "bob", BOB, PMOF_LOGIN_F_EXCLUSIVE | PMOF_LOGIN_F_TAKEOVER));
	EXPECT_TRUE(wc_ends(&alice.s.io, 20000));
	EXPECT_EQ(0, persist(&bob.s.io));
	EXPECT_EQ(0, persist(&carol.s.io));
	k_close(&alice);
	EXPECT_EQ(PMOF_SC_EXCLUSIVE, k_login(&alice, "alice", ALICE, 0));
	k_close(&alice);
	/* One that wants to write beside others. */
	EXPECT_EQ(0, k_login(&alice, "alice", ALICE, PMOF_LOGIN_F_TAKEOVER));
	EXPECT_EQ(0, alice.s.login.flags & PMOF_LOGIN_R_EXCLUSIVE);
	EXPECT_TRUE(wc_ends(&bob.s.io, 20000));
	k_close(&bob);
	EXPECT_EQ(PMOF_SC_EXCLUSIVE, k_login(&bob, "bob", BOB, PMOF_LOGIN_F_EXCLUSIVE));
	k_close(&bob);
	EXPECT_EQ(0, k_login(&bob, "bob", BOB, 0));
	k_close(&bob);
	k_close(&alice);
	k_close(&carol);
}

/* --- the end of rights --------------------------------------------------------------------------- */

/* Each way to lose them ends the session before the command returns. */
TEST_F_TIMEOUT(rights, ways_to_lose_them, 60)
{
	static const struct {
		const char *lose, *restore;
	} way[] = {
		{ "deny bob", "allow bob" },
		{ "set_key bob ''", "set_key bob " BOB },
		{ "set_key bob " EVE, "set_key bob " BOB },
		{ "deny bob && drop bob", "mkdir $CONFIG/clients/bob && set_key bob " BOB
		  " && allow bob" },
		{ "deny bob && allow_ro bob", "deny_ro bob && allow bob" },
	};
	struct keyed alice, k;
	size_t i;

	ASSERT_EQ(0, k_open(&alice, "alice", ALICE, 0));
	for (i = 0; i < ARRAY_SIZE(way); i++) {
		ASSERT_EQ(0, k_open(&k, "bob", BOB, 0)) TH_LOG("%s", way[i].lose);
		ASSERT_EQ(0, order("%s && no_session_of bob", way[i].lose)) TH_LOG("%s", way[i].lose);
		patience_ms = 1000;
		EXPECT_FALSE(own_rdma(&k, IBV_WR_RDMA_WRITE, LEN, 'x')) TH_LOG("%s", way[i].lose);
		patience_ms = 5000;
		EXPECT_TRUE(wc_ends(&k.s.admin, 20000)) TH_LOG("%s", way[i].lose);
		k_close(&k);
		EXPECT_EQ(i < 4 ? PMOF_SC_ACCESS : 0,
			  k_login(&k, "bob", BOB, PMOF_LOGIN_F_READ_ONLY))
			TH_LOG("%s", way[i].lose);
		k_close(&k);
		EXPECT_EQ(PMOF_SC_ACCESS, k_login(&k, "bob", NULL, 0)) TH_LOG("%s", way[i].lose);
		k_close(&k);
		ASSERT_EQ(0, order("%s", way[i].restore)) TH_LOG("%s", way[i].restore);
	}
	EXPECT_EQ(0, persist(&alice.s.io));
	k_close(&alice);
}

/* The last one in a list that goes does not open the namespace to everybody. */
TEST_F(rights, empty_list)
{
	struct keyed k;

	EXPECT_NE(0, order("set_attr $NS/allow_any 1"));
	ASSERT_EQ(0, order("deny alice && deny bob && deny_ro carol"));
	EXPECT_EQ(PMOF_SC_ACCESS, k_login(&k, "alice", ALICE, 0));
	k_close(&k);
	EXPECT_EQ(PMOF_SC_ACCESS, k_login(&k, "somebody", NULL, 0));
	k_close(&k);
	ASSERT_EQ(0, order("set_attr $NS/allow_any 1"));
	ASSERT_EQ(0, k_open(&k, "somebody", NULL, 0));
	EXPECT_EQ(0, persist(&k.s.io));
	/* A client whose server has no key for it is refused: we cannot prove who we are. */
	struct keyed other;

	EXPECT_EQ(PMOF_SC_ACCESS, k_login(&other, "somebody", EVE, 0));
	k_close(&other);
	/* Who has a key must use it, everywhere. */
	EXPECT_EQ(PMOF_SC_ACCESS, k_login(&other, "alice", NULL, 0));
	k_close(&other);
	EXPECT_EQ(0, k_login(&other, "alice", ALICE, 0));
	k_close(&other);
	ASSERT_EQ(0, order("set_attr $NS/allow_any 0"));
	EXPECT_TRUE(wc_ends(&k.s.io, 20000));
	k_close(&k);
}

#define WRITERS	4

struct writer {
	pthread_t thread;
	int fd;
	int number;
	int error;		/* that ended it */
	unsigned int puts;
};

static void *write_on(void *arg)
{
	struct writer *w = arg;
	char buf[4096];

	memset(buf, 'A' + w->number, sizeof(buf));
	do {
		w->error = vm_put(w->fd, AT + w->number * sizeof(buf), buf, sizeof(buf),
				  w->puts % 2 ? PMOF_F_PERSIST : 0);
		w->puts += !w->error;
	} while (!w->error && w->puts < 1000000);
	return NULL;
}

/* What each writer has written last is overwritten. */
static bool write_over(struct keyed *alice, char byte)
{
	u64 addr;
	u32 rkey = rkey_of(alice, &addr);
	bool all = true;
	int i;

	for (i = 0; i < WRITERS; i++)
		all &= rdma(&alice->s.io, IBV_WR_RDMA_WRITE, addr + i * 4096, rkey, LEN, byte);
	return all;
}

static bool all_are(struct keyed *alice, char byte)
{
	char want[LEN];
	u64 addr;
	u32 rkey = rkey_of(alice, &addr);
	bool all = true;
	int i;

	memset(want, byte, LEN);
	for (i = 0; i < WRITERS; i++)
		all &= rdma(&alice->s.io, IBV_WR_RDMA_READ, addr + i * 4096, rkey, LEN, 0) &&
		       !memcmp(wc_out(&alice->s.io), want, LEN);
	return all;
}

TEST_F_TIMEOUT(rights, revoked_under_load, 90)
{
	struct writer w[WRITERS] = { 0 };
	char first[LEN];
	struct keyed alice;
	int dev, fd, i;
	double since;

	ASSERT_EQ(0, k_open(&alice, "alice", ALICE, 0));
	dev = vm_connect("id=bob,key=" BOB ",queues=2,block=0,reconnect_delay=1");
	ASSERT_LE(0, dev);
	fd = vm_open(dev, O_RDWR);
	ASSERT_LE(0, fd);
	for (i = 0; i < WRITERS; i++) {
		w[i].fd = fd;
		w[i].number = i;
		ASSERT_EQ(0, pthread_create(&w[i].thread, NULL, write_on, &w[i]));
	}
	sleep(1);
	since = vm_now();
	ASSERT_EQ(0, order("deny bob && no_session_of bob"));
	EXPECT_GT(25, vm_now() - since);
	/* From now on nothing of bob's arrives. */
	ASSERT_TRUE(write_over(&alice, 'z'));
	for (i = 0; i < WRITERS; i++) {
		pthread_join(w[i].thread, NULL);
		EXPECT_EQ(-EACCES, w[i].error) TH_LOG("after %u puts", w[i].puts);
		EXPECT_LT(0, w[i].puts);
	}
	EXPECT_TRUE(all_are(&alice, 'z'));
	memset(first, 0, sizeof(first));
	EXPECT_EQ(-EACCES, vm_put(fd, AT, first, sizeof(first), 0));
	EXPECT_EQ(-EACCES, vm_connect("id=bob,key=" BOB));
	EXPECT_TRUE(vm_attr_is(dev, "state", "recovering"));
	EXPECT_TRUE(all_are(&alice, 'z'));
	/* It asks again and again, until it may. */
	ASSERT_EQ(0, order("allow bob"));
	since = vm_now();
	while (!vm_attr_is(dev, "state", "live") && vm_now() < since + 20)
		usleep(100000);
	EXPECT_EQ(0, vm_put(fd, AT, first, sizeof(first), PMOF_F_PERSIST));
	EXPECT_TRUE(content_is(&alice, 0));
	close(fd);
	EXPECT_EQ(0, vm_disconnect(dev));
	k_close(&alice);
}

#define PAGE	4096

static bool soon_is(int dev, const char *attribute, const char *value)
{
	double since = vm_now();

	while (!vm_attr_is(dev, attribute, value) && vm_now() < since + 30)
		usleep(100000);
	return vm_attr_is(dev, attribute, value);
}

/* Pages that may be dirty since then: they fail, and the connection does not. */
TEST_F_TIMEOUT(rights, mapped_when_it_becomes_read_only, 90)
{
	int dev = vm_connect("id=bob,key=" BOB ",queues=2,block=0,reconnect_delay=1"), fd;
	char *p;

	ASSERT_LE(0, dev);
	fd = vm_open(dev, O_RDWR);
	p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, AT);
	ASSERT_NE(MAP_FAILED, p);
	/* The flusher does not write it back meanwhile, where bob has no right at all: EACCES. */
	ASSERT_EQ(0, vm_write_file("/proc/sys/vm/dirty_expire_centisecs", "360000"));
	*p = 1;
	ASSERT_EQ(0, order("deny bob && allow_ro bob"));
	ASSERT_TRUE(soon_is(dev, "read_only", "1"));
	ASSERT_TRUE(soon_is(dev, "state", "live"));
	ASSERT_TRUE(vm_attr_is(dev, "reconnects", "1"));
	EXPECT_NE(0, msync(p, PAGE, MS_SYNC));
	EXPECT_EQ(EROFS, errno);
	ASSERT_EQ(0, vm_write_file("/proc/sys/vm/dirty_expire_centisecs", "3000"));
	EXPECT_EQ(0, msync(p, PAGE, MS_SYNC));
	EXPECT_FALSE(bus_error(p, false));
	EXPECT_TRUE(bus_error(p, true));
	EXPECT_FALSE(bus_error(p + PAGE, false));
	EXPECT_TRUE(bus_error(p + PAGE, true));
	EXPECT_TRUE(vm_attr_is(dev, "reconnects", "1"));
	EXPECT_TRUE(vm_attr_is(dev, "state", "live"));
	munmap(p, 2 * PAGE);
	close(fd);
	EXPECT_EQ(0, vm_disconnect(dev));
	EXPECT_EQ(0, order("deny_ro bob && allow bob"));
}

/* --- the kernel's client ------------------------------------------------------------------------------ */

TEST_F_TIMEOUT(rights, kernel_client, 60)
{
	char back[LEN], data[LEN];
	struct pmof_info info;
	int dev, other, fd;

	EXPECT_EQ(-EACCES, vm_connect("id=alice"));
	EXPECT_EQ(-EACCES, vm_connect("id=alice,key=" EVE));
	EXPECT_EQ(-EACCES, vm_connect("id=nobody"));
	EXPECT_EQ(-EACCES, vm_connect("id=nobody,key=" EVE));
	EXPECT_EQ(-EINVAL, vm_connect("id=alice,key=123"));
	EXPECT_EQ(-EINVAL, vm_connect("id=alice,exclusive=1,read_only=1"));
	dev = vm_connect("id=alice,exclusive=1,block=0,key=" ALICE);
	ASSERT_LE(0, dev);
	fd = vm_open(dev, O_RDWR);
	memset(data, 'k', sizeof(data));
	EXPECT_EQ(0, vm_put(fd, AT, data, LEN, PMOF_F_PERSIST));
	EXPECT_EQ(0, vm_get(fd, AT, back, LEN));
	EXPECT_EQ(0, memcmp(data, back, LEN));
	EXPECT_EQ(-EBUSY, vm_connect("id=bob,key=" BOB));
	EXPECT_EQ(-EBUSY, vm_connect("id=bob,exclusive=1,key=" BOB));
	other = vm_connect("id=carol,block=0,key=" CAROL);
	ASSERT_LE(0, other);
	close(fd);
	fd = vm_open(other, O_RDONLY);
	EXPECT_EQ(0, vm_info(fd, &info));
	EXPECT_TRUE(info.flags & PMOF_INFO_READ_ONLY);
	EXPECT_EQ(0, vm_get(fd, AT, back, LEN));
	close(fd);
	EXPECT_EQ(-EROFS, vm_connect("id=carol,exclusive=1,key=" CAROL));
	EXPECT_EQ(0, vm_disconnect(other));
	other = vm_connect("id=bob,exclusive=1,takeover=1,block=0,key=" BOB);
	EXPECT_LE(0, other);
	EXPECT_EQ(0, vm_disconnect(other));
	EXPECT_EQ(0, vm_disconnect(dev));
}

/* Two that take it from each other would never end. */
TEST_F_TIMEOUT(rights, takes_over_once, 60)
{
	int dev = vm_connect("id=bob,exclusive=1,takeover=1,block=0,reconnect_delay=1,"
			     "fail_io_timeout=0,device_loss_timeout=600,key=" BOB);
	struct keyed alice;

	ASSERT_LE(0, dev);
	ASSERT_EQ(0, k_open(&alice, "alice", ALICE,
			    PMOF_LOGIN_F_EXCLUSIVE | PMOF_LOGIN_F_TAKEOVER));
	EXPECT_TRUE(soon_is(dev, "state", "recovering"));
	sleep(4 * vm_time_factor());
	EXPECT_TRUE(vm_attr_is(dev, "state", "recovering"));
	EXPECT_EQ(0, persist(&alice.s.io));
	k_close(&alice);
	EXPECT_EQ(0, vm_disconnect(dev));
}

/* --- who was alone, and comes back --------------------------------------------------------------------- */

static int write_all(int dev, char byte)
{
	char data[LEN];
	int fd = vm_open(dev, O_RDWR), rc;

	memset(data, byte, sizeof(data));
	rc = fd < 0 ? fd : vm_put(fd, AT, data, LEN, PMOF_F_PERSIST);
	close(fd);
	return rc;
}

/* Alice, who writes alone. */
static int alone(void)
{
	int dev = vm_connect("id=alice,exclusive=1,block=0,reconnect_delay=1,fail_io_timeout=0,"
			     "device_loss_timeout=600,key=" ALICE);

	return dev < 0 ? dev : write_all(dev, 'o') ?: dev;
}

/* Bob comes, writes, and leaves. */
static int another_writes(const char *options)
{
	char text[256];
	int dev, rc;

	snprintf(text, sizeof(text), "id=bob,exclusive=1,block=0,key=" BOB "%s", options);
	dev = vm_connect(text);
	if (dev < 0)
		return dev;
	rc = write_all(dev, 'n');
	return rc ?: vm_disconnect(dev);
}

#define AWAY	"deny alice && no_session_of alice"
#define RESTART	"set_attr $NS/enable 0 && set_attr $NS/enable 1"

/* What another has written stays. */
static bool stays_out(int dev)
{
	bool good = soon_is(dev, "state", "dead") && write_all(dev, 'o');
	struct keyed bob;

	good = !vm_disconnect(dev) && good;
	if (k_open(&bob, "bob", BOB, 0))
		return false;
	good = content_is(&bob, 'n') && good;
	k_close(&bob);
	return good;
}

TEST_F_TIMEOUT(rights, who_is_taken_over_stays_out, 120)
{
	int dev = alone();

	ASSERT_LE(0, dev);
	EXPECT_EQ(0, another_writes(",takeover=1"));
	EXPECT_TRUE(stays_out(dev));
}

/* @before and @behind the other one's visit: what happens to the server. */
static bool keeps_out(const char *before, const char *behind)
{
	int dev = alone();

	return dev >= 0 && !order(AWAY) && soon_is(dev, "state", "recovering") &&
	       !order("%s", before) && !another_writes("") && !order("%s", behind) &&
	       !order("allow alice") && stays_out(dev);
}

TEST_F_TIMEOUT(rights, who_was_away_and_another_there_stays_out, 120)
{
	EXPECT_TRUE(keeps_out("true", "true"));
}

/* Nor is he told by the generation, which is another one than his in any case. */
TEST_F_TIMEOUT(rights, another_was_there_and_it_was_enabled_anew, 240)
{
	EXPECT_TRUE(keeps_out(RESTART, "true"));
	EXPECT_TRUE(keeps_out("true", RESTART));
}

/* His sessions are gone for good, each time; but nobody else was there to write. */
TEST_F_TIMEOUT(rights, who_was_away_goes_on, 120)
{
	static const char * const ways[] = { "true", RESTART, RESTART, "true" };
	int dev = alone(), reader;
	size_t i;

	ASSERT_LE(0, dev);
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		ASSERT_EQ(0, order(AWAY " && %s", ways[i]));
		EXPECT_TRUE(soon_is(dev, "state", "recovering")) TH_LOG("%zu", i);
		reader = vm_connect("id=carol,block=0,key=" CAROL);
		EXPECT_LE(0, reader);
		EXPECT_EQ(0, order("allow alice"));
		EXPECT_TRUE(soon_is(dev, "state", "live")) TH_LOG("%zu", i);
		EXPECT_EQ(0, write_all(dev, 'o')) TH_LOG("%zu", i);
		EXPECT_EQ(0, vm_disconnect(reader));
	}
	EXPECT_EQ(0, vm_disconnect(dev));
}

TEST_HARNESS_MAIN
