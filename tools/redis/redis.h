/* SPDX-License-Identifier: BSD-3-Clause */
/* pmof-redis: the Redis protocol in front of a store. */
#ifndef PMOF_TOOLS_REDIS_H
#define PMOF_TOOLS_REDIS_H

#include <hiredis/hiredis.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "libpmofkv.h"

/* --- answer.c: what goes back --------------------------------------------------- */

/* A buffer of answers; @failed: one could not be made or sent, the connection has to end. */
struct answer {
	char *data;
	size_t length, room;
	bool failed;
	int fd;			/* to which they go, some as soon as there are many bytes */
};

/* Sends what there is; false: it failed, now or before. */
bool answer_send(struct answer *a);

void answer_bytes(struct answer *a, const void *bytes, size_t length);
void answer_status(struct answer *a, const char *text);		/* +TEXT */
void answer_error(struct answer *a, const char *text);		/* -TEXT */
void answer_errno(struct answer *a, int error);			/* of libpmofkv */
void answer_number(struct answer *a, long long n);
void answer_bulk(struct answer *a, const void *bytes, size_t length);
void answer_nil(struct answer *a);
void answer_array(struct answer *a, size_t elements);		/* which follow */

/* --- command.c -------------------------------------------------------------------- */

/*
 * Executes the requests of one pipeline, in order, and answers each.  SETs next to each other share
 * a batch.  True: the client wants to end.
 */
bool execute(struct pmofkv *kv, redisReply **request, size_t nr, struct answer *a);

/* --- connection.c -------------------------------------------------------------------- */

struct connections {
	struct pmofkv *kv;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	struct connection *first;
	unsigned int nr, max;
};

/* Takes over @fd: a thread serves it until its end. */
void connection_start(struct connections *all, int fd);

/* Ends all of them, and waits, but not for long; false: there are still some. */
bool connections_end(struct connections *all);

#endif /* PMOF_TOOLS_REDIS_H */
