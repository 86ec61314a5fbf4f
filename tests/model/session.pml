/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Login, resume, replay and takeover: the protocol of docs/failure.md, for spin.
 *
 * One client issues puts, a persist and an atomic to one word of a namespace, one
 * after the other. Its connection is lost at any moment, as often as ATTEMPTS
 * allows, and the server crashes up to CRASHES times. A value is the number of the
 * request that put it, so "older" is "smaller".
 *
 * Modelled: WRITEs that are still on their way when their queue pair dies at the
 * client, server work that is late, logins whose answer is lost, answers that are
 * late, requests given up by a time limit, sessions that the server loses first.
 * Not modelled: bytes, segments, authentication, more than one I/O queue (a request
 * stays on one queue).
 *
 * Each -DBREAK_... is a mistake; tests/model/run proves that each is found.
 */
#ifdef LONG
#define ATTEMPTS 4
#define CRASHES 2
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 3	/* connections that the client makes, the first included */
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef REQUESTS
#define REQUESTS 3
#endif
#define SLOTS (ATTEMPTS + 1)

mtype = { PUT, DURABLE_PUT, RPC_PUT, PERSIST, ATOMIC };

/* --- the server's medium, and what the monitor knows ---------------------------- */

byte visible;		/* the word as a READ would see it */
byte durable;		/* as it is after a power cut */
byte generation = 1;
byte crashes;

byte acked_durable;	/* the newest value acknowledged as durable */
byte executed;		/* atomics executed by the server */
byte issued;		/* atomics that the client's user has asked for */
byte persists;		/* newest put that a persist has promised */

inline check_medium() {
	assert(visible >= acked_durable);
	assert(durable >= acked_durable);
	assert(durable >= persists);
	assert(executed <= issued)
}

/* --- one connection attempt: a session with its queue pair ----------------------- */

bool client_qp[SLOTS];	/* the client's queue pair is not drained */
byte held[SLOTS];	/* the request that it has and may touch the pages of, 0: none */
bool server_qp[SLOTS];	/* the server's takes what arrives */
bool login_sent[SLOTS];
byte login_reply[SLOTS];	/* the generation, 0: none yet */
bool logged_in[SLOTS];

/* The request under way on that queue pair: what has left the client. */
mtype wire_kind[SLOTS];
byte wire_value[SLOTS];	/* 0: nothing */
byte worker_value[SLOTS];	/* received, for a flush worker to copy, 0: nothing */
byte done_value[SLOTS];	/* the answer on its way back, 0: none */

/* --- the server -------------------------------------------------------------------- */

/*
 * Ends a session: its queue pair to error, drained, nothing more of it arrives; then
 * its flush workers waited for (what they did first is a step of its own).
 */
inline end_session(k) {
	server_qp[k] = false;
	logged_in[k] = false;
	login_sent[k] = false;
	wire_value[k] = 0;
#ifndef BREAK_LATE_WORKER
	worker_value[k] = 0;
#endif
	done_value[k] = 0
}

/* The HCA and the flush workers: each step may be as late as it likes. */
inline execute(k) {
	if
	:: wire_kind[k] == PUT -> visible = wire_value[k]
	:: wire_kind[k] == DURABLE_PUT ->
		visible = wire_value[k];
		durable = visible		/* write back, fence, then answer */
	:: wire_kind[k] == PERSIST -> durable = visible
	:: wire_kind[k] == RPC_PUT -> worker_value[k] = wire_value[k]
	:: wire_kind[k] == ATOMIC -> executed++
	fi;
	done_value[k] = (wire_kind[k] == RPC_PUT -> 0 : wire_value[k]);
	wire_value[k] = 0;
	check_medium()
}

inline work(k) {
	visible = worker_value[k];
	durable = visible;			/* past the cache, fence, then answer */
	done_value[k] = (logged_in[k] -> worker_value[k] : 0);
	worker_value[k] = 0;
	check_medium()
}

inline enter(k) {
	j = 1;
	do
	:: j < SLOTS ->
#ifndef BREAK_NO_DRAIN
		if
		:: j != k && logged_in[j] -> end_session(j)
		:: else
		fi;
#endif
		j++
	:: else -> break
	od;
	logged_in[k] = true;
	login_sent[k] = false;
	login_reply[k] = generation
}

/*
 * A login. Sessions of the same (client, instance, path) end first; the answer
 * comes when they are drained: that is the confirmation that replay rests on. One
 * that came by a newer connection does not: the client has given up this one for it.
 */
inline login(k) {
	j = k + 1;
	do
	:: j < SLOTS && !logged_in[j] -> j++
	:: else -> break
	od;
	if
	:: j < SLOTS -> login_sent[k] = false
	:: else -> enter(k)
	fi
}

inline crash() {
	crashes++;
	j = 1;
	do
	:: j < SLOTS -> end_session(j); worker_value[j] = 0; j++
	:: else -> break
	od;
	visible = durable;
	generation++;
	check_medium()
}

proctype Server() {
	byte j, k;
end:
	do
	:: atomic {
		select(k : 1 .. ATTEMPTS);
		if
		:: server_qp[k] && login_sent[k] -> login(k)
		:: server_qp[k] && logged_in[k] && wire_value[k] -> execute(k)
		:: worker_value[k] -> work(k)
		/* The server loses a session first: keep-alive, an error, a flaky link. */
		:: server_qp[k] -> end_session(k)
		:: crashes < CRASHES -> crash()
		:: else
		fi;
		k = 0; j = 0
	   }
	od
}

/* --- the client ----------------------------------------------------------------------- */

byte cur;		/* the attempt in use */
byte seen_generation;
bool live;
byte dirty;		/* newest put that completed without being durable */
bool wb_err;		/* errseq: such a put may be gone, nobody has been told */

/* RECOVERING: the old queue pair to error and drained, so no page is touched. */
inline detach() {
	live = false;
#ifndef BREAK_NO_CLIENT_DRAIN
	atomic { client_qp[cur] = false; held[cur] = 0 }
#endif
}

/* A new connection. Answers of earlier ones cannot come: their queue pairs are gone. */
inline attach() {
	cur++;
	atomic { client_qp[cur] = true; server_qp[cur] = true; login_sent[cur] = true };
#ifdef BREAK_NO_CONFIRMATION
	atomic { login_reply[cur] = generation; logged_in[cur] = true };
#endif
	if
	:: login_reply[cur] ->
		atomic {
			if
			:: seen_generation && login_reply[cur] != seen_generation && dirty ->
#ifndef BREAK_GENERATION
				wb_err = true;
#endif
				dirty = (wb_err -> 0 : dirty)
			:: else
			fi;
			changed = (seen_generation && login_reply[cur] != seen_generation);
			seen_generation = login_reply[cur];
			live = true
		}
	:: !server_qp[cur] || cur < ATTEMPTS -> detach()	/* refused, lost, too late */
	fi
}

/*
 * The request ends: its owner may use the pages again. Whatever the server has done with it: a
 * queue pair lets go of it by its completion, or when it is drained.
 */
inline complete() {
	j = 1;
	do
	:: j < SLOTS -> assert(!(client_qp[j] && held[j])); j++
	:: else -> break
	od;
	j = 0
}

inline succeed() {
	atomic {
		complete();
		if
		:: kind == DURABLE_PUT || kind == RPC_PUT -> acked_durable = v; dirty = 0
		:: kind == PUT -> dirty = v
		:: kind == PERSIST && wb_err -> wb_err = false	/* fails, once */
		:: kind == PERSIST && !wb_err ->
			persists = (dirty > persists -> dirty : persists);
			dirty = 0
		:: kind == ATOMIC
		fi;
		check_medium()
	}
}

proctype Client() {
	byte v = 0, j = 0;
	mtype kind = PUT;
	bool posted, changed;

	attach();
	do
	:: v == REQUESTS -> break
	:: v < REQUESTS ->
		v++;
		posted = false;
		changed = false;
		if
		:: kind = PUT
		:: kind = DURABLE_PUT
		:: kind = RPC_PUT
		:: kind = PERSIST
		:: kind = ATOMIC; issued++
		fi;
issue:
		if
		:: !live && cur < ATTEMPTS -> attach(); goto issue
		:: !live -> atomic { complete(); goto next }	/* fail_io_timeout: EIO */
		:: live && posted && kind == ATOMIC ->
#ifndef BREAK_REPLAY_ATOMIC
			goto next;				/* EIO: its outcome is unknown */
#endif
		:: live && posted && kind == PERSIST && changed ->
			atomic { wb_err = false; goto next }	/* EIO */
		:: else
		fi;
		atomic {
			wire_kind[cur] = kind;
			wire_value[cur] = (server_qp[cur] -> v : 0);
			held[cur] = v;
			posted = true
		};
		if
		:: done_value[cur] == v -> atomic { done_value[cur] = 0; held[cur] = 0; succeed() }
		/* Lost: an error, or no answer in time. */
#ifdef BREAK_EARLY_END
		:: complete(); goto next
#endif
		:: detach(); goto issue
		fi;
next:
		skip
	od
}

init {
	atomic {
		run Server();
		run Client()
	}
}
