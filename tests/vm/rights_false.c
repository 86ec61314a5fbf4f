// SPDX-License-Identifier: GPL-2.0
/*
 * Rights: a server that does not have the client's key, for a new connection, and in the place of
 * one that had it.
 */
#include <fcntl.h>
#include <sys/wait.h>

#include "rights.h"
#include "wireserver.h"

#define METHODS		(1 << PMOF_METHOD_ASSIST | 1 << PMOF_METHOD_RPC)
#define SECONDS		12	/* that requests wait for another connection */

/* How it ends a login. */
enum end {
	NO_PROOF,
	REFUSED,
	REJECTED,		/* the connection */
	ANNOUNCED,		/* that the namespace is gone, in place of an answer */
	NR_END
};

/* --- the server ------------------------------------------------------------------------- */

/* Answers the CHALLENGE of who has connected from queue pair @qpn. */
static int swap_nonces(struct server *s, u32 qpn, struct pmof_auth *a)
{
	const struct pmof_wire_hdr *h;
	char buf[256];
	ssize_t n;

	memset(a, 0, sizeof(*a));
	strcpy(a->client_id, "alice");
	a->conn.qpn = qpn;
	memcpy(a->conn.client_gid, s->admin.id->route.path_rec->dgid.raw, PMOF_GID_LEN);
	memcpy(a->conn.server_gid, s->admin.id->route.path_rec->sgid.raw, PMOF_GID_LEN);
	random_bytes(a->server_nonce, sizeof(a->server_nonce));
	n = wc_recv(&s->admin, (const void **)&h, 30000);
	if (n <= 0 || pmof_get_challenge(h, n, a->client_nonce))
		return -1;
	return wc_send(&s->admin, buf, pmof_put_challenge_reply((void *)buf, le16toh(h->tag),
								a->server_nonce));
}

/* With a proof under @key; NULL: with none.  For 0 the login is answered. */
static int answer_login(struct server *s, const char *key)
{
	struct pmof_login_reply r = what_it_gets(METHODS);
	struct pmof_key k = { };
	struct pmof_auth a;
	int64_t qpn = take_queue(s, &s->admin);
	char buf[256];
	int tag;

	if (qpn < 0 || swap_nonces(s, qpn, &a))
		return -1;
	tag = take_message(&s->admin, PMOF_MSG_LOGIN);
	if (tag < 0)
		return -1;
	if (key && (pmof_key_parse(key, strlen(key), &k) || pmof_auth_login_reply(&k, &a, &r, r.proof)))
		return -1;
	return wc_send(&s->admin, buf, pmof_put_login_reply((void *)buf, tag, &r));
}

static int refuse_login(struct server *s)
{
	char buf[256] = "";
	int tag;

	if (take_queue(s, &s->admin) < 0)
		return -1;
	tag = take_message(&s->admin, PMOF_MSG_CHALLENGE);
	pmof_put_hdr((void *)buf, PMOF_MSG_CHALLENGE | PMOF_MSG_REPLY, tag,
		     sizeof(struct pmof_wire_hdr), PMOF_SC_ACCESS);
	return tag < 0 ? -1 : wc_send(&s->admin, buf, sizeof(struct pmof_wire_hdr));
}

static int reject(struct server *s)
{
	struct pmof_wire_accept a;

	if (take_request(s, &s->admin) < 0)
		return -1;
	pmof_put_accept(&a, PMOF_SC_ACCESS, 0);
	return rdma_reject(s->admin.id, &a, sizeof(a));
}

static int announce(struct server *s)
{
	char buf[64];

	/* Its queue pair is ready then. */
	if (take_queue(s, &s->admin) < 0 || take_message(&s->admin, PMOF_MSG_CHALLENGE) < 0)
		return -1;
	return wc_send(&s->admin, buf, pmof_put_announce((void *)buf, PMOF_ANNOUNCE_NAMESPACE_GONE, 0));
}

/* The client is to have seen it before the connection ends by us. */
static int end_login(struct server *s, enum end end)
{
	int rc = end == NO_PROOF ? answer_login(s, NULL) : end == REFUSED ? refuse_login(s) :
		 end == REJECTED ? reject(s) : announce(s);

	usleep(300000);
	leave(s);
	return rc;
}

/* Lets alice in, leaves her, and then is somebody else; writes to @told when it has been that in all ways. */
static int change(int told)
{
	struct server s = { };
	int end;

	if (listen_here(&s.listener) || answer_login(&s, ALICE) || tell_segment(&s, 0) ||
	    take_queue(&s, &s.io) < 0)
		return 2;
	usleep(500000 * vm_time_factor());
	leave(&s);
	for (end = 0;; end++) {
		if (end_login(&s, end % NR_END))
			return 3 + end % NR_END;
		if (end == NR_END - 1 && write(told, "", 1) != 1)
			return 10;
	}
}

static int prove_nothing(void)
{
	struct server s = { };
	const void *msg;

	if (listen_here(&s.listener) || answer_login(&s, NULL))
		return 2;
	/* Whoever is content with that asks for segments next. */
	return wc_recv(&s.admin, &msg, 5000) > 0 ? 3 : 0;
}

/* --- the client ------------------------------------------------------------------------- */

static int connect_to_it(void)
{
	char options[384];

	snprintf(options, sizeof(options), "addr=%s,port=%d,name=data,id=alice,block=0,queues=1,"
		 "persist=rpc,keep_alive_tmo=0,reconnect_delay=1,fail_io_timeout=%d,key=" ALICE,
		 own_address(), PORT, (int)(SECONDS * vm_time_factor()));
	return vm_connect_soon(options);
}

TEST_F_TIMEOUT(rights, server_without_the_key, 60)
{
	int status, rc;
	pid_t pid;

	pid = fork();
	if (!pid)
		_exit(prove_nothing());
	rc = connect_to_it();
	EXPECT_EQ(-EACCES, rc);
	if (rc >= 0)
		vm_disconnect(rc);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/*
 * Who has taken the server's address can keep a client from it. He cannot have what waits fail
 * at once, by saying that there are no rights, or no namespace: that is for who has the key.
 */
TEST_F_TIMEOUT(rights, another_in_its_place, 120)
{
	char data[LEN] = "to whom", byte;
	int instance, fd, told[2], status;
	pid_t pid;

	ASSERT_EQ(0, pipe2(told, O_NONBLOCK));
	pid = fork();
	if (!pid)
		_exit(change(told[1]));
	close(told[1]);
	instance = connect_to_it();
	EXPECT_LE(0, instance) TH_LOG("%d", instance);
	if (instance >= 0) {
		fd = vm_open(instance, O_RDWR);
		EXPECT_LE(0, fd);
		while (vm_attr_is(instance, "state", "live"))
			usleep(10000);
		EXPECT_EQ(-EIO, vm_put(fd, 0, data, sizeof(data), PMOF_F_PERSIST));
		/* All of it was said by then. */
		EXPECT_EQ(1, read(told[0], &byte, 1));
		EXPECT_TRUE(vm_attr_is(instance, "state", "recovering"));
		close(fd);
	}
	/* Ahead of the disconnect, by which he would see an attempt end. */
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_FALSE(WIFEXITED(status)) TH_LOG("the server: %d", WEXITSTATUS(status));
	if (instance >= 0)
		EXPECT_EQ(0, vm_disconnect(instance));
	close(told[0]);
}

TEST_HARNESS_MAIN
