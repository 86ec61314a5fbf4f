// SPDX-License-Identifier: BSD-3-Clause
/* Connections of pmof-redis: each has a thread. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "redis.h"

#define PIPELINE	256	/* requests executed before their answers are sent */
#define READ_SIZE	65536
#define REQUEST_MAX	(65UL << 20)	/* bytes of what is no whole request yet: one value and more */

#define WORDS_MAX	(1 << 20)	/* of a request */
#define TOO_BIG		"ERR Protocol error: too big request"
#define END_SECONDS	5	/* at most, for what is under way when all shall end */

struct connection {
	struct connections *all;
	struct connection *next;
	redisReader *reader;
	struct answer answer;
	size_t pending;		/* bytes fed since the last request */
	int fd;
};

/* --- what is too big ------------------------------------------------------------------ */

#if HIREDIS_MAJOR >= 1
typedef size_t array_length;
#else
typedef int array_length;
#endif

static redisReplyObjectFunctions *hiredis;	/* what it has itself */
static redisReplyObjectFunctions limited;

/* hiredis makes room for as many as are announced, long before they come.  No request nests. */
static void *create_array(const redisReadTask *task, array_length elements)
{
	return task->parent || elements > WORDS_MAX ? NULL : hiredis->createArray(task, elements);
}

/* By one thread. */
static redisReader *make_reader(void)
{
	redisReader *reader = redisReaderCreate();

	if (!reader)
		return NULL;
	if (!hiredis) {
		hiredis = reader->fn;
		limited = *hiredis;
		limited.createArray = create_array;
	}
	reader->fn = &limited;
	return reader;
}

/* --- a connection --------------------------------------------------------------------- */

/* Takes requests that have come whole, up to a pipeline; false: that is not the protocol. */
static bool take_requests(struct connection *c, redisReply **request, size_t *nr)
{
	void *reply;

	for (*nr = 0; *nr < PIPELINE; ++*nr) {
		if (redisReaderGetReply(c->reader, &reply) != REDIS_OK)
			return false;
		if (!reply)
			return true;
		request[*nr] = reply;
		c->pending = 0;
	}
	return true;
}

static bool serve_requests(struct connection *c)
{
	redisReply *request[PIPELINE];
	bool good, end = false;
	size_t nr, i;

	do {
		good = take_requests(c, request, &nr);
		end = nr && execute(c->all->kv, request, nr, &c->answer);
		for (i = 0; i < nr; i++)
			freeReplyObject(request[i]);
		if (!good && !end)
			answer_error(&c->answer, c->reader->err == REDIS_ERR_OOM ? TOO_BIG :
				     "ERR Protocol error: no array of strings");
		if (!answer_send(&c->answer) || !good || end)
			return false;
	} while (nr == PIPELINE);
	return true;
}

static void forget(struct connection *c)
{
	struct connection **at;

	pthread_mutex_lock(&c->all->lock);
	for (at = &c->all->first; *at != c; at = &(*at)->next)
		;
	*at = c->next;
	c->all->nr--;
	/* Whoever ends us has only to look at it, and does not wait for a descriptor of its own. */
	close(c->fd);
	pthread_cond_broadcast(&c->all->ended);
	pthread_mutex_unlock(&c->all->lock);
	redisReaderFree(c->reader);
	free(c->answer.data);
	free(c);
}

/* False: the connection is to end. */
static bool take_bytes(struct connection *c, const char *buf, size_t n)
{
	c->pending += n;
	if (c->pending > REQUEST_MAX) {
		answer_error(&c->answer, TOO_BIG);
		answer_send(&c->answer);
		return false;
	}
	return redisReaderFeed(c->reader, buf, n) == REDIS_OK && serve_requests(c);
}

static void *serve(void *arg)
{
	struct connection *c = arg;
	char buf[READ_SIZE];
	ssize_t n;

	for (;;) {
		n = recv(c->fd, buf, sizeof(buf), 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || !take_bytes(c, buf, (size_t)n))
			break;
	}
	forget(c);
	return NULL;
}

static bool start(struct connections *all, struct connection *c)
{
	pthread_t thread;
	bool started = false;

	pthread_mutex_lock(&all->lock);
	if (all->nr < all->max && !pthread_create(&thread, NULL, serve, c)) {
		pthread_detach(thread);
		c->next = all->first;
		all->first = c;
		all->nr++;
		started = true;
	}
	pthread_mutex_unlock(&all->lock);
	return started;
}

/* One that has gone without a word is noticed within minutes: it has a thread, and one of the places. */
static void keep_alive(int fd)
{
	const int one = 1, idle = 300, interval = 30, probes = 3;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
}

void connection_start(struct connections *all, int fd)
{
	static const char busy[] = "-ERR max number of clients reached\r\n";
	struct connection *c = calloc(1, sizeof(*c));
	int one = 1;

	if (c) {
		c->all = all;
		c->fd = fd;
		c->answer.fd = fd;
		c->reader = make_reader();
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	keep_alive(fd);
	if (c && c->reader && start(all, c))
		return;
	send(fd, busy, sizeof(busy) - 1, MSG_NOSIGNAL);
	close(fd);
	if (c && c->reader)
		redisReaderFree(c->reader);
	free(c);
}

/* A thread that sleeps in the kernel until the store's server is back may do so for ever. */
bool connections_end(struct connections *all)
{
	struct connection *c;
	struct timespec end;
	bool ended;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += END_SECONDS;
	pthread_mutex_lock(&all->lock);
	for (c = all->first; c; c = c->next)
		shutdown(c->fd, SHUT_RDWR);
	while (all->nr && !pthread_cond_clockwait(&all->ended, &all->lock, CLOCK_MONOTONIC, &end))
		;
	ended = !all->nr;
	pthread_mutex_unlock(&all->lock);
	return ended;
}
