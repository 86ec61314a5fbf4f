/* SPDX-License-Identifier: GPL-2.0 */
/* A connection's states: a pure table (tests/unit). */
#ifndef PMOF_STATE_H
#define PMOF_STATE_H

#include "pure.h"

enum pmof_state {
	PMOF_CONNECTING,
	PMOF_LIVE,
	PMOF_RECOVERING,	/* without a connection; tries to get one */
	PMOF_DEAD,
	PMOF_NR_STATES
};

/* So many connections in a row may be lost soon before the next one is waited for. */
#define PMOF_BRIEF_FREE	3

bool pmof_state_legal(enum pmof_state from, enum pmof_state to);
const char *pmof_state_name(enum pmof_state state);
unsigned int pmof_backoff(unsigned int attempt, unsigned int most);
unsigned int pmof_pause(unsigned int brief, unsigned int most);

#endif /* PMOF_STATE_H */
