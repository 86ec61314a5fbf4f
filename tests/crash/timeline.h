/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When, in the server's trace, each operation of the client's log began and was
 * acknowledged.
 *
 * An operation may have begun from the last place that is surely older than
 * its MARK_OP_START, and is acknowledged from its reply's mark, or from the first
 * place that is surely younger than its MARK_OP_DONE, whichever comes first. The
 * host's clock joins the traces.
 */
#ifndef PMOF_CRASH_TIMELINE_H
#define PMOF_CRASH_TIMELINE_H

#include "log.h"
#include "trace_file.h"

struct event {
	uint64_t pos;
	uint32_t op;
	bool ack;
};

struct timeline {
	struct event *event;	/* in the order of @pos */
	uint32_t nr_events;
	uint64_t first, last;	/* the part of the trace in which the operations lie */
	uint64_t nr_records;
	uint32_t nr_by_reply;	/* operations whose reply's mark was found */
	uint64_t nr_requests;	/* marks of requests */
};

/*
 * Takes the times of the marks in a client's trace over into @log; the mark of
 * its first operation is @first.
 */
int timeline_add_client(struct log *log, const struct trace *client, uint64_t first);

/* Returns 0, or -1 with a message on standard error. */
int timeline_make(struct timeline *t, struct log *log, const struct trace *server);
void timeline_free(struct timeline *t);

#endif /* PMOF_CRASH_TIMELINE_H */
