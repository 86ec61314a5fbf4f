/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What became of a put or delete: the numbers of docs/kv.md, on top of kv.pml's server
 * and medium, for spin.
 *
 * Clients put, by WRITE and commit or inline, and delete. While a client waits its
 * connection is lost, and at any moment the power is cut: FAULTS times altogether. The message that
 * was under way has not arrived, or its request is in the server's hands, where it is dropped or
 * served before the session is drained. Then the client asks on its next session, as libpmofkv
 * does (userlib/kv/outcome.c), and decides by the answer: it is done; it is made again, with a
 * new number; or its caller is told that nobody knows. Or it sends the same message again,
 * with the same number, which libpmofkv never does: only as long as the server must know it.
 *
 * Asserted: what is told to be committed has taken effect, and what is told not to be
 * has not, and does not later. An operation takes effect once at most, and not when
 * its caller has been told anything. And "not known" is answered of what took effect only
 * if its session is gone, or the server was restarted and the log did not tell.
 *
 * Not modelled: two requests with one number at once; that a newer number takes an older
 * one's place; RETURN; that a file is closed; a flush that fails.
 */
#define NUMBERS
#define CLIENTS 2
#define KEYS 2
#ifdef LONG
#define MORE 1
#else
#define MORE 0
#endif
/* One client, and what takes two faults to be seen. */
#if defined(CASE_TWO_FAULTS) || defined(BREAK_DROP_KNOWN) || defined(BREAK_REFUSED_DONE_AGAIN)
#define FAULTS (2 + MORE)
#define OPS_0 2
#define OPS_1 0
/* What a record tells of is superseded, and its slot used again, before the log is read. */
#elif defined(CASE_SUPERSEDED) || defined(BREAK_SUPERSEDED_IS_REFUSED)
#define ONE_KEY
#define RECORDS 4
#define FAULTS (2 + MORE)
#define OPS_0 1
#define OPS_1 2
#else
#define FAULTS 1
#define OPS_0 (1 + MORE)
#define OPS_1 1
#endif
/* One that is made again is another object. */
#define GENERATIONS (OPS_0 + OPS_1 + 1 + 2 * FAULTS)

mtype = { NO_LEASE, NOT_KNOWN, REFUSED };	/* answers: more of them */

/* --- the server's memory: what became of the last number of each client -------------- */

byte known_number[CLIENTS];	/* of the context; 0: none */
mtype known[CLIENTS];		/* what was answered: OK is committed */
byte past_number[CLIENTS];	/* of the last opening, as the log's records tell it */
bool past_committed[CLIENTS];

/* --- the specification ------------------------------------------------------------------ */

mtype = { CLOSED, OPEN, TAKEN };

mtype effect[CLIENTS] = CLOSED;	/* of an operation; OPEN: it may be taken */
byte mover[KEYS];		/* whose commit of the key is under way */
bool in_log[CLIENTS];		/* a record of the log tells of it */
bool in_past[CLIENTS];		/* one told of it when the store was opened */
bool gone[CLIENTS];		/* the context is no more that its number came to */

/* Must the server know that it took effect? */
#define MUST_KNOW(c) (effect[c] != TAKEN || !gone[c] || in_past[c])

inline effect_of(c) {
	assert(effect[c] == OPEN);
	effect[c] = TAKEN
}

/* --- numbers: change.c, outcome.c ---------------------------------------------------------- */

#define CLIENT_OF(n) (((n) - 1) % CLIENTS)
#define IS_KNOWN(c) (known_number[c] == number[c])
#ifndef BREAK_REFUSED_DONE_AGAIN
#define IN_PAST(c) (past_number[c] == number[c])
#else
#define IN_PAST(c) (past_number[c] == number[c] && past_committed[c])
#endif
#define CHANGES(c) \
	(request[c] == COMMIT || request[c] == PUT_INLINE || request[c] == DELETE)

/* The first word stands. */
inline remember(c, what) {
	if
	:: !IS_KNOWN(c) -> known_number[c] = number[c]; known[c] = what
	:: else
	fi
}

inline look_up_number(c) {
	if
#ifndef BREAK_NO_LOOK_UP
	:: CHANGES(c) && IS_KNOWN(c) -> reply(c, known[c])
	:: CHANGES(c) && !IS_KNOWN(c) && IN_PAST(c) ->
		reply(c, (past_committed[c] -> OK : NO_LEASE))
	:: request[c] == COMMIT && !IS_KNOWN(c) && !IN_PAST(c) && !lease[c] -> reply(c, NO_LEASE)
#else
	:: request[c] == COMMIT && !lease[c] -> reply(c, NO_LEASE)
#endif
	:: else
	fi;
#ifdef BREAK_REMEMBER_AT_START
	if
	:: CHANGES(c) -> remember(c, OK)
	:: else
	fi
#endif
}

inline begin_change(c) {
	mover[key[c]] = c
}

inline finish_change(c, what) {
	remember(c, what)
}

inline take_effect(c) {
	effect_of(c);
	in_log[c] = true;
	mover[key[c]] = 0
}

inline find_outcome(c) {
	if
	:: IS_KNOWN(c) -> reply(c, (known[c] == OK -> OK : REFUSED))
	:: !IS_KNOWN(c) && past_number[c] == number[c] ->
		reply(c, (past_committed[c] -> OK : REFUSED))
	:: else -> reply(c, NOT_KNOWN)
	fi
}

/* --- the end of sessions: worker.c, context.c, lease.c --------------------------------------- */

/* [K9] Drained when no request of it is left: each is answered, or dropped. */
#define ENDS(c) (connected[c] && dead[c] && request[c] == NONE)

#define DROPS(c) (connected[c] && dead[c] && request[c] != NONE)
#define NUMBER_STEPS \
	:: atomic { DROPS(0) -> drop(0); forget() } \
	:: atomic { DROPS(1) -> drop(1); forget() } \
	OUTLIVES(0) \
	OUTLIVES(1)
#ifdef BREAK_CALL_OUTLIVES
mtype left[CLIENTS];	/* a request that is there still, though its session is not */
#define OUTLIVES(c) \
	:: atomic { left[c] == PUT_INLINE && request[c] == NONE && connected[c] -> \
		request[c] = left[c]; left[c] = 0 }
#else
#define OUTLIVES(c)
#endif

/* Nobody waits for it any more, and it has not begun. */
inline drop(c) {
	if
#ifdef BREAK_DROP_KNOWN
	:: CHANGES(c) || request[c] == PREPARE -> remember(c, NO_LEASE)
#else
	:: (CHANGES(c) && !IN_PAST(c)) || request[c] == PREPARE ->
#ifdef BREAK_CALL_OUTLIVES
		left[c] = request[c]
#else
		remember(c, NO_LEASE)
#endif
#endif
	:: else
	fi;
	request[c] = NONE
}

/* [K9] A lease that nobody commits any more. */
inline session_drained(c) {
	dead[c] = false;
	if
	:: lease[c] -> remember(c, NO_LEASE)
	:: else
	fi;
#ifdef BREAK_FORGET_AT_DRAIN
	known_number[c] = 0; known[c] = NONE
#endif
}

/* It is not resumed. */
inline session_gone(c) {
	if
	:: known_number[c] = 0; known[c] = NONE; gone[c] = true
	:: skip
	fi
}

/* --- opening: recover.c, open.c --------------------------------------------------------- */

inline no_past(c) {
	known_number[c] = 0; known[c] = NONE;
	past_number[c] = 0; past_committed[c] = false;
	gone[c] = true;
	in_past[c] = in_log[c]
}

inline past_begin() {
	no_past(0);
	no_past(1)
}

/* The records from the last to the first; @found: this one counts. */
inline past_add(n) {
	if
#ifndef BREAK_PAST_FORGOTTEN
	:: log_seen[n].number > past_number[CLIENT_OF(log_seen[n].number)] ->
		past_number[CLIENT_OF(log_seen[n].number)] = log_seen[n].number;
#if defined(BREAK_RECORD_TELLS)
		past_committed[CLIENT_OF(log_seen[n].number)] = true
#elif defined(BREAK_SUPERSEDED_IS_REFUSED)
		past_committed[CLIENT_OF(log_seen[n].number)] = (!log_seen[n].new ||
			seen[slot_of[log_seen[n].new]].header == log_seen[n].new)
#else
		past_committed[CLIENT_OF(log_seen[n].number)] = found
#endif
#endif
	:: else
	fi
}

/* The records are gone, and what they told is in @past or forgotten. */
inline past_is_log() {
	in_log[0] = false;
	in_log[1] = false
}

/* Recovery has found the commit that the cut has left open. */
inline took_effect(k) {
	if
	:: may_move[k] && indexed[k] == in_flight[k] ->
		effect_of(mover[k]);
		in_past[mover[k]] = true
	:: else
	fi;
	mover[k] = 0
}

#include "kv.pml"

#ifdef BREAK_DRAINED_EARLY
/* A request of it is in a round. */
active proctype End() {
end:
	do
	:: atomic {
		dead[0] && in_round[0] && lease[0] ->
		session_drained(0);
		connected[0] = false;
		lease[0] = 0
	   }
	od
}
#endif

/* --- the client: userlib/kv ------------------------------------------------------------ */

/* While it waits for an answer. The message may not have arrived. */
#define LOSES(next) \
	atomic { faults < FAULTS && connected[c] && !dead[c] -> \
		faults++; \
		dead[c] = true; \
		if \
		:: !in_round[c] -> request[c] = NONE \
		:: skip \
		fi; \
		goto next \
	}

#define LOST (!connected[c] || dead[c])
#define ANSWERED (answer[c] != NONE && !LOST)
/* A login waits until the client's last session is drained. */
#define MAY_LOG_IN (!connected[c] || !dead[c])

inline next_number() {
	number[c] = (number[c] -> number[c] + CLIENTS : c + 1)
}

/* Its caller has the answer. What the server knows of it makes no difference any more. */
inline end_operation() {
	answer[c] = NONE; key[c] = 0; expected[c] = ANY; kind = NONE; version = 0;
	effect[c] = CLOSED; in_log[c] = false; in_past[c] = false; gone[c] = false;
	known_number[c] = 0; known[c] = NONE; past_number[c] = 0; past_committed[c] = false
}

/* The put's or delete's own answer, the first time or again. */
inline answered() {
	if
	:: answer[c] == OK -> assert(effect[c] == TAKEN); end_operation(); goto next
	:: answer[c] == NO_LEASE -> assert(effect[c] == OPEN); answer[c] = NONE; goto again
	:: else -> assert(effect[c] == OPEN); end_operation(); goto next
	fi
}

proctype Client(byte c; byte ops) {
	byte n, version;
	mtype kind = NONE;
next:
	if
	:: n == ops -> goto over
	:: atomic {
		n < ops ->
		n++;
#ifdef ONE_KEY
		key[c] = 1;
		kind = PUT_INLINE
#else
		if
		:: key[c] = 0
		:: key[c] = 1
		fi;
		if
		:: kind = PUT_INLINE
		:: kind = DELETE
		:: kind = PREPARE
		fi;
		if
		:: kind != DELETE -> expected[c] = value[key[c]]
		:: skip
		fi
#endif
	   }
	fi;
again:
	atomic {
		MAY_LOG_IN ->
		connected[c] = true;
		next_number();
		effect[c] = (effect[c] == CLOSED -> OPEN : effect[c]);
		in_log[c] = false; in_past[c] = false; gone[c] = false;
		version = 0;
		request[c] = kind
	};
	if
	:: LOSES(lost)
	:: !connected[c]
	:: atomic { ANSWERED ->
		if
		:: kind == PREPARE && answer[c] == OK ->
			answer[c] = NONE;
			version = lease[c];
			goto commit
		:: else -> answered()
		fi
	   }
	fi;
lost:
	/* The lease, if there is one, has ended with the session. */
	if
	:: kind == PREPARE -> goto again
	:: else -> goto ask
	fi;
commit:
	if
	:: !connected[c] -> goto again
	:: atomic { connected[c] -> writing[c] = 2 }
	fi;
	if
	:: LOSES(ask)
	:: !connected[c] -> goto ask
	:: atomic { ANSWERED -> answered() }
	fi;
ask:
#ifdef BREAK_RETRY_UNASKED
	goto again;
#endif
	atomic {
		MAY_LOG_IN ->
		connected[c] = true;
		if
		:: request[c] = OUTCOME
		:: MUST_KNOW(c) -> request[c] = (kind == PREPARE -> COMMIT : kind)
		fi
	};
	if
	:: LOSES(ask)
	:: !connected[c] -> goto ask
	:: atomic { ANSWERED ->
		if
		:: answer[c] == REFUSED ->
			assert(effect[c] == OPEN);
			effect[c] = CLOSED;
			answer[c] = NONE;
			goto again
		:: answer[c] == NOT_KNOWN ->
			assert(effect[c] == OPEN || !MUST_KNOW(c));
			answer[c] = NONE
		:: else -> answered()
		fi
	   }
	fi;
#ifdef BREAK_NOT_KNOWN_IS_REFUSED
	goto again;
#endif
	if
	:: atomic { !version -> end_operation(); goto next }
	:: version
	fi;
by_version:
	/* By sa: is it the version that is there? */
	atomic { MAY_LOG_IN -> connected[c] = true; request[c] = GET };
	if
	:: LOSES(by_version)
	:: !connected[c] -> goto by_version
	:: atomic { ANSWERED ->
		assert(read_generation[c] != version || effect[c] == TAKEN);
		read_generation[c] = 0;
		held[c] = 0;
		end_operation();
		goto next
	   }
	fi;
over:
	finished++
}
