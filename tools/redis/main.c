// SPDX-License-Identifier: BSD-3-Clause
/* pmof-redis DEV: listens, until it is told to end. */
#include <argp.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../standard_fds.h"
#include "libpmof.h"
#include "redis.h"

#define CLIENTS_MAX	10000

struct arguments {
	const char *device;
	struct in6_addr addr6;
	struct in_addr addr4;
	int family;
	uint16_t port;
	unsigned int clients;
	enum pmofkv_protocol protocol;
};

enum { OPT_BIND = 0x100, OPT_PORT, OPT_CLIENTS, OPT_PROTOCOL };

static const struct argp_option options[] = {
	{ "bind", OPT_BIND, "ADDR", 0, "Address to listen on; default 127.0.0.1. There are no "
	  "passwords: whoever can connect can change the store", 0 },
	{ "port", OPT_PORT, "N", 0, "Default 6379", 0 },
	{ "max-clients", OPT_CLIENTS, "N", 0, "Connections at once; default 256", 0 },
	{ "protocol", OPT_PROTOCOL, "NAME", 0, "Of puts: auto (default), herd or sa", 0 },
	{ 0 }
};

static unsigned int number(struct argp_state *state, const char *arg, unsigned long max)
{
	char *end;
	unsigned long n = strtoul(arg, &end, 10);

	if (*end || !n || n > max)
		argp_error(state, "'%s' is no number from 1 to %lu", arg, max);
	return (unsigned int)n;
}

static void take_address(struct arguments *a, const char *arg, struct argp_state *state)
{
	if (inet_pton(AF_INET, arg, &a->addr4) == 1)
		a->family = AF_INET;
	else if (inet_pton(AF_INET6, arg, &a->addr6) == 1)
		a->family = AF_INET6;
	else
		argp_error(state, "'%s' is no numeric address", arg);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	int protocol;

	switch (key) {
	case OPT_BIND:
		take_address(a, arg, state);
		return 0;
	case OPT_PORT:
		a->port = (uint16_t)number(state, arg, 65535);
		return 0;
	case OPT_CLIENTS:
		a->clients = number(state, arg, CLIENTS_MAX);
		return 0;
	case OPT_PROTOCOL:
		protocol = pmofkv_protocol_parse(arg);
		if (protocol < 0)
			argp_error(state, "--protocol '%s' is none of auto, herd and sa", arg);
		a->protocol = (enum pmofkv_protocol)protocol;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num)
			argp_usage(state);
		a->device = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_usage(state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int listen_on(const struct arguments *a)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(a->port),
				  .sin_addr = a->addr4 };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(a->port),
				   .sin6_addr = a->addr6 };
	const struct sockaddr *addr = a->family == AF_INET ? (const void *)&v4 : (const void *)&v6;
	socklen_t length = a->family == AF_INET ? sizeof(v4) : sizeof(v6);
	int fd = socket(a->family, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, addr, length) || listen(fd, 128)) {
		int error = errno;

		close(fd);
		return -error;
	}
	return fd;
}

/* SIGTERM and SIGINT become readable; no thread is interrupted by them. */
static int catch_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

/* A descriptor for each client, and some for ourselves; where that is not allowed, fewer clients. */
static void make_room(struct arguments *a)
{
	const rlim_t own = 32;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= a->clients + own)
		return;
	limit.rlim_cur = a->clients + own;
	if (limit.rlim_max < limit.rlim_cur)
		limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= a->clients + own)
		return;
	a->clients = limit.rlim_cur > own ? (unsigned int)(limit.rlim_cur - own) : 1;
	fprintf(stderr, "pmof-redis: warning: no more than %u clients at once: the limit of open "
		"files (ulimit -n) is %llu\n", a->clients, (unsigned long long)limit.rlim_cur);
}

static void serve(struct connections *all, int listening, int signals)
{
	struct pollfd fds[2] = { { .fd = listening, .events = POLLIN },
				 { .fd = signals, .events = POLLIN } };
	int fd;

	while (!fds[1].revents) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		if (!(fds[0].revents & POLLIN))
			continue;
		fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			connection_start(all, fd);
		else if (errno != EINTR && errno != ECONNABORTED)
			usleep(10000);	/* it has too little of something */
	}
	if (connections_end(all))
		return;
	/* Nothing that these have not answered was promised. */
	fprintf(stderr, "pmof-redis: ended while requests still wait for the store: each of their "
		"changes may have been made, or not\n");
	_exit(0);
}

static void warn_volatile(const struct pmofkv *kv)
{
	int instance = pmofkv_instance(kv);
	char name[PMOF_NAME_MAX + 1], text[8];

	if (!pmof_read_attr(instance, "durable", text, sizeof(text)) && text[0] == '0' &&
	    !pmof_read_attr(instance, "namespace", name, sizeof(name)))
		fprintf(stderr, "pmof-redis: warning: acknowledgements of '%s' are not durable "
			"(exported with --allow-volatile)\n", name);
}

static int run(const struct arguments *a)
{
	struct connections all = { .max = a->clients, .lock = PTHREAD_MUTEX_INITIALIZER,
				   .ended = PTHREAD_COND_INITIALIZER };
	struct pmofkv_options opt;
	int fd, signals, ret;

	pmofkv_options_init(&opt);
	opt.protocol = a->protocol;
	ret = pmofkv_open(a->device, O_RDWR, &opt, &all.kv);
	if (ret) {
		fprintf(stderr, "pmof-redis: %s: %s\n", a->device, strerror(-ret));
		return 1;
	}
	warn_volatile(all.kv);
	signals = catch_signals();
	fd = listen_on(a);
	if (fd < 0 || signals < 0) {
		fprintf(stderr, "pmof-redis: cannot listen on port %u: %s\n", a->port,
			strerror(fd < 0 ? -fd : errno));
		pmofkv_close(all.kv);
		return 1;
	}
	serve(&all, fd, signals);
	close(fd);
	close(signals);
	pmofkv_close(all.kv);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "DEV",
		.doc = "Serves the key-value store of a pmof device to clients that speak the Redis "
		       "protocol: GET, SET, SETNX, MGET, MSET, DEL, EXISTS, STRLEN, INCR, DECR, "
		       "INCRBY, DBSIZE, INFO, PING and a few more. What has been answered OK is "
		       "durable.",
	};
	struct arguments a = { .family = AF_INET, .addr4.s_addr = htonl(INADDR_LOOPBACK),
			       .port = 6379, .clients = 256 };

	open_standard_fds();
	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, &a);
	make_room(&a);
	return run(&a);
}
