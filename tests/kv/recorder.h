/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Operations at random on a few keys of a store, and the history (history.h) of them: puts, some
 * of them conditional, some in batches; deletes; gets. Values are of all sizes and made from their
 * tag, so a torn one, or a mixture, is told at once. An operation that fails because the connection
 * is lost, or the rights are, is one of unknown outcome.
 */
#ifndef PMOF_TESTS_KV_RECORDER_H
#define PMOF_TESTS_KV_RECORDER_H

#include <stdatomic.h>

#include "history.h"
#include "libpmofkv.h"

#define RECORDER_KEYS	1000U
#define RECORDER_VALUE	40000U	/* bytes of the longest value */
#define RECORDER_BATCH	4U

/* What all recorders of a run share. */
struct recording {
	unsigned int keys, max_value;
	uint64_t seed;
	uint64_t run;			/* in each key, so that another run has others */
	uint64_t pause_ns;		/* behind an error */
	bool revoked;			/* rights may be, and given back */
	char error[200];		/* the first that should not be; none: empty */
	atomic_bool failed;		/* there was one */
};

/* One client's: belongs to one thread. */
struct recorder {
	struct recording *shared;
	struct pmofkv *kv;
	struct history history;
	uint64_t random;
	unsigned int client;
	uint64_t tag;			/* the last one that this client has put */
	uint64_t version[RECORDER_KEYS];	/* that it has last heard of */
	unsigned char *value[RECORDER_BATCH];
	uint64_t answered;		/* operations that have ended, and not for want of one */
	uint64_t changed;		/* those of them that have put or deleted something */
	uint64_t since;			/* as changed, since the last error */
	uint64_t errors;		/* the others */
	uint64_t refused;		/* of these: no namespace, no right */
};

uint64_t recorder_now(void);
void recording_init(struct recording *shared, unsigned int keys, unsigned int max_value,
		    uint64_t seed);

/* 0 or -ENOMEM.  recorder_end() closes nothing. */
int recorder_init(struct recorder *r, struct recording *shared, struct pmofkv *kv,
		  unsigned int client);
void recorder_end(struct recorder *r);

/* One operation, or one batch. */
void recorder_operate(struct recorder *r);

/* A get of the key: true, and @op is it, of the history, too; false: it has failed. */
bool recorder_get(struct recorder *r, unsigned int key, struct op *op);

#endif /* PMOF_TESTS_KV_RECORDER_H */
