/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What an image must hold, given what has been started and acknowledged.
 *
 * Pure: it knows neither traces nor the cache model, and is told of each
 * operation's begin and acknowledgement, in the order in which they happened.
 * The same rules serve for the bytes of a slot from a model's image, from a
 * file, or read through the device after a boot.
 */
#ifndef PMOF_CRASH_CHECK_H
#define PMOF_CRASH_CHECK_H

#include "log.h"
#include "shared.h"

struct slot_state {
	uint32_t started;	/* operations [0, started) may have begun */
	uint32_t acked;		/* objects, databases: operations [0, acked) are acknowledged */
	uint32_t first_open;	/* all below are durable */
	/* Raw and word: what is promised, and for each byte by which operation (index + 1). */
	uint8_t *floor;
	uint32_t *floor_op;
};

struct checker {
	const struct log *log;
	struct slot_state *state;	/* by slot */
	bool *durable;			/* by operation */
	uint8_t *buf[2];		/* as long as the longest slot */
	struct shared *shared;		/* keys with several writers */
};

/* What is wrong with a slot. */
struct fault {
	uint32_t slot;
	uint32_t op;		/* number of the operation that was broken; UINT32_MAX: none */
	uint64_t offset;	/* of the first wrong byte, in the namespace */
	char text[320];
};

int check_init(struct checker *c, const struct log *log);
void check_free(struct checker *c);
void check_started(struct checker *c, uint32_t number);
void check_acked(struct checker *c, uint32_t number);

/* Is @bytes, the whole of slot @id, what it may be? If not, *@fault says what. */
bool check_slot(struct checker *c, uint32_t id, const uint8_t *bytes, struct fault *fault);

/*
 * No reader may find an object committed that a power cut would take away: if
 * @visible, what a reader gets now, is valid, then recovery of @durable, what is
 * left in the worst case, gives the same.
 */
bool check_visible(struct checker *c, uint32_t id, const uint8_t *visible,
		   const uint8_t *durable, struct fault *fault);

/* True if recovery by PF takes the object: *@generation is whose data it must hold then. */
bool check_recoverable(const struct log *log, uint32_t id, const uint8_t *bytes,
		       uint64_t *generation);

#endif /* PMOF_CRASH_CHECK_H */
