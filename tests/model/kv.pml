/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The key-value store's commits, recovery and reclaim: docs/kv.md, for spin.
 *
 * Clients put (by WRITE and commit, or inline), get, delete and compare-and-put two
 * keys; the server's worker serves them in rounds, several under one fence. At any
 * moment the power is cut, or a session ends, its client dead or coming back:
 * FAULTS times altogether.
 *
 * Modelled: what each store is durable for. Of the words stored since the last fence
 * any subset is on the medium after a cut, and of a record or a header, which are
 * larger than a word, also something that is neither. WRITEs and READs of a client
 * take effect half by half, at any time until their queue pair is drained. What an
 * object's last user left where the next one's trailer will be looks like a
 * committed trailer of just that generation: a client may have put such bytes.
 * Not modelled: sizes, more than one chunk, how the index is built.
 *
 * The register of each key is the specification: it changes where the index moves,
 * what a get returns is compared with what it held when the server looked up. Both lie
 * within the call, so histories are linearizable.
 *
 * A client whose session ends here gives up; outcome.pml, which includes this file, has those
 * that ask what has become of their put.
 *
 * The inlines are named as the steps of docs/kv.md and of kmod/store. Each
 * -DBREAK_... is a mistake; tests/model/run proves that each is found.
 */
/* What takes a second cut to be seen, and what takes none. */
#if defined(BREAK_STALE_LOG)
#define FAULTS 2
#define ONLY_INLINE
#elif defined(BREAK_RECOVER_NO_CLEAR)
#define FAULTS 2
#define OPS_0 1
#define OPS_1 0
#elif defined(BREAK_COMPARE_AT_PREPARE) || defined(BREAK_EPOCH_EARLY) || \
      defined(BREAK_INDEX_FIRST) || defined(BREAK_RECLAIM_AT_ONCE)
#define FAULTS 0
#endif
/* Operations of the two clients, on top of an object that is there. */
#if defined(LONG) && !defined(NUMBERS)
#define FAULTS 2
#define OPS_0 2
#define OPS_1 2
#endif
#ifndef OPS_0
#define OPS_0 2
#define OPS_1 1
#endif
#ifndef FAULTS
#define FAULTS 1	/* power cuts, and sessions that end before their client is through */
#endif
#ifndef SLOTS
#define SLOTS 3		/* the third put takes one that has been used */
#endif
#define CLIENTS 2
#define KEYS 2
#ifndef RECORDS
#define RECORDS 2	/* the log: small, so that it is checkpointed */
#endif
#ifndef GENERATIONS
#define GENERATIONS (OPS_0 + OPS_1 + 1)
#endif

#define ANY 255		/* a put that compares with nothing */

/* A trailer's word, a header's. A header tells where its object ends: of two places. */
#define TRAILER(g, pf, vf) ((g) * 4 + (pf) * 2 + (vf))
#define RECOVERABLE(t, g) ((t) / 2 == (g) * 2 + 1)
#define COMMITTED(t, g) ((t) == TRAILER(g, 1, 1))

/* What becomes of a put or delete whose answer is lost: outcome.pml fills these. */
#ifndef NUMBERS
#define ENDS(c) (connected[c] && (dead[c] || faults < FAULTS))
#define NUMBER_STEPS
inline look_up_number(c) { skip }
inline begin_change(c) { skip }
inline take_effect(c) { skip }
inline finish_change(c, what) { skip }
inline find_outcome(c) { skip }
inline session_drained(c) { skip }
inline session_gone(c) { skip }
inline past_begin() { skip }
inline past_add(n) { skip }
inline past_is_log() { skip }
inline took_effect(k) { skip }
#endif

/* --- the medium: as the CPUs and the HCA see it, and as it is after a cut ----------- */

typedef Slot {
	byte header;		/* the generation; 0: none */
	byte a, b;		/* the value's halves: the generation that it is of */
	byte trailer[2];
};

typedef Record {
	bool there;		/* whole, and with the sequence number of its place */
	byte new;		/* generations; 0: none */
	byte old;
	byte number		/* of the put or delete: its client's */
};

Slot seen[SLOTS];
Slot kept[SLOTS];
Record log_seen[RECORDS];
Record log_kept[RECORDS];

/* What a generation's header says besides; the same for ever. */
byte key_of[GENERATIONS + 1];
byte slot_of[GENERATIONS + 1];
byte place_of[GENERATIONS + 1];

/* --- the server's memory -------------------------------------------------------------- */

mtype = { FREE, LEASED, LIVE, RETIRED };

byte last_generation;
byte indexed[KEYS];		/* generation of what gets find; 0: nothing */
mtype use[SLOTS] = FREE;
byte owner[SLOTS];		/* LEASED: the session */
byte retired_at[SLOTS];		/* RETIRED: the epoch */
byte place[SLOTS];		/* of the last object's trailer */
byte epoch = 1;
byte appended;			/* records since the last checkpoint */

/* --- sessions and messages -------------------------------------------------------------- */

mtype = { NONE, PREPARE, COMMIT, PUT_INLINE, DELETE, GET, OUTCOME };	/* requests */
mtype = { OK, NO_KEY, NO_SPACE, OTHER_VERSION };		/* answers */

bool connected[CLIENTS];
bool dead[CLIENTS];		/* the client; its session may not have ended yet */
mtype request[CLIENTS] = NONE;
mtype answer[CLIENTS] = NONE;
byte key[CLIENTS];
byte expected[CLIENTS] = ANY;
byte number[CLIENTS];		/* of a put or delete; 0: they have none */
byte lease[CLIENTS];		/* the generation that was prepared for the client */
byte new[CLIENTS], old[CLIENTS];	/* of the request in this round */
bool in_round[CLIENTS];
byte held[CLIENTS];		/* epoch of an address that the client may READ; 0: none */

byte writing[CLIENTS];		/* halves of a WRITE that have not landed */
byte reading[CLIENTS];		/* halves of a READ that have not been fetched */
byte read_generation[CLIENTS];
byte read_a[CLIENTS], read_b[CLIENTS], read_trailer[CLIENTS];

byte faults;
byte finished;

/* --- the specification ------------------------------------------------------------------- */

byte value[KEYS];		/* the register: generation, 0: no such key */
byte in_flight[KEYS];		/* what it may become if the power is cut now */
bool may_move[KEYS];

hidden byte i, j, k, s, g, found;

/* --- fences ---------------------------------------------------------------------------------- */

/* What was written back of a slot is durable behind the fence. */
inline fence_slot(n) {
	kept[n].header = seen[n].header;
	kept[n].a = seen[n].a;
	kept[n].b = seen[n].b;
	kept[n].trailer[0] = seen[n].trailer[0];
	kept[n].trailer[1] = seen[n].trailer[1]
}

inline fence_record(n) {
	log_kept[n].there = log_seen[n].there;
	log_kept[n].new = log_seen[n].new;
	log_kept[n].old = log_seen[n].old;
	log_kept[n].number = log_seen[n].number
}

inline fence_log() {
	i = 0;
	do
	:: i < RECORDS -> fence_record(i); i++
	:: else -> break
	od
}

inline fence_round() {
	j = 0;
	do
	:: j < CLIENTS ->
		if
		:: in_round[j] && new[j] -> fence_slot(slot_of[new[j]])
		:: else
		fi;
		j++
	:: else -> break
	od;
	fence_log()
}

/* A cut: of what is not fenced, anything. */
inline tear(to, from) {
	if
	:: to != from -> to = from
	:: skip
	fi
}

inline tear_whole(to, from) {
	if
	:: to != from -> to = from
	:: to != from -> to = 0
	:: skip
	fi
}

/* --- slots ------------------------------------------------------------------------------------- */

/*
 * A new generation in a free slot. Where its trailer will be, on the medium, stands
 * what looks like it: the last user's value.
 */
inline allocate(n) {
	s = 0;
	do
	:: s < SLOTS && use[s] != FREE -> s++
	:: else -> break
	od;
	new[n] = 0;
	if
	:: s < SLOTS ->
		last_generation++;
		g = last_generation;
		new[n] = g;
		key_of[g] = key[n];
		slot_of[g] = s;
		place[s] = 1 - place[s];
		place_of[g] = place[s];
		use[s] = LEASED;
		owner[s] = n;
		seen[s].trailer[place[s]] = TRAILER(g, 1, 1);
		kept[s].trailer[place[s]] = TRAILER(g, 1, 1)
	:: else
	fi
}

/* True in @found if the slot's object is there, and recovery takes it for committed. */
inline look_at_slot(n) {
	found = (seen[n].header &&
		 RECOVERABLE(seen[n].trailer[place_of[seen[n].header]], seen[n].header))
}

/* [K1] Before the header: what stands there now is anybody's. */
inline clear_trailer(n) {
	seen[slot_of[n]].trailer[place_of[n]] = TRAILER(n, 0, 0)
}

/*
 * [K5] The value is stored while the last header is there still. Where that has its
 * trailer, the value may claim what it likes.
 */
inline forge_trailer(n) {
	g = kept[n].header;
	if
	:: g && place_of[g] != place[n] ->
		seen[n].trailer[place_of[g]] = TRAILER(g, 1, 1);
		kept[n].trailer[place_of[g]] = TRAILER(g, 1, 1)
	:: else
	fi
}

inline write_header(n) {
	seen[slot_of[n]].header = n
}

inline set_pf(n) {
	seen[slot_of[n]].trailer[place_of[n]] = TRAILER(n, 1, 0)
}

inline set_vf(n) {
	seen[slot_of[n]].trailer[place_of[n]] = TRAILER(n, 1, 1)
}

inline append_record(c) {
	assert(appended < RECORDS);
	log_seen[appended].there = true;
	log_seen[appended].new = new[c];
	log_seen[appended].old = old[c];
	log_seen[appended].number = number[c];
	appended++
}

/* What makes no difference any more shall not make two states of one. */
inline forget_value(n) {
	seen[n].a = 0; seen[n].b = 0;
	kept[n].a = 0; kept[n].b = 0
}

/* It has no object, on the medium neither, and what it holds will make none. */
inline forget_slot(n) {
	forget_value(n);
	seen[n].header = 0; kept[n].header = 0;
	seen[n].trailer[0] = 0; kept[n].trailer[0] = 0;
	seen[n].trailer[1] = 0; kept[n].trailer[1] = 0;
	place[n] = 0
}

inline forget_place(n) {
	seen[n].trailer[1 - place[n]] = 0;
	kept[n].trailer[1 - place[n]] = 0
}

/* [K6] Not free yet: a READ of it may be under way. */
inline retire(n) {
#ifdef BREAK_RECLAIM_AT_ONCE
	use[slot_of[n]] = FREE;
#else
	use[slot_of[n]] = RETIRED;
#endif
	retired_at[slot_of[n]] = epoch;
	epoch++
}

/* [K6] Free again: no session holds an address from before it was retired. */
inline reclaim() {
	s = 0;
	do
	:: s < SLOTS ->
		if
		:: use[s] == RETIRED &&
		   (held[0] == 0 || held[0] > retired_at[s]) &&
		   (held[1] == 0 || held[1] > retired_at[s]) ->
			use[s] = FREE;
			retired_at[s] = 0;
			forget_value(s)
		:: else
		fi;
		s++
	:: else -> break
	od;
	if
	:: held[0] == 0 && held[1] == 0 -> epoch = 1
	:: else
	fi
}

/* --- checkpoint ------------------------------------------------------------------------------------ */

/*
 * [K5] What the log's records have superseded, and what is not overwritten yet, has
 * no header any more, durably; only then may the records go. (Its PF would not do: the
 * slot's next user writes there, and may write what he likes.)
 */
inline clear_superseded() {
	s = 0;
	do
	:: s < SLOTS ->
		g = seen[s].header;
		if
		:: g && use[s] != LEASED && indexed[key_of[g]] != g -> seen[s].header = 0
		:: else
		fi;
		s++
	:: else -> break
	od
}

inline fence_all() {
	s = 0;
	do
	:: s < SLOTS ->
		fence_slot(s);
		look_at_slot(s);
		if
		:: use[s] == FREE && !found && !read_generation[0] && !read_generation[1] ->
			forget_slot(s)
		:: else
		fi;
		s++
	:: else -> break
	od
}

/* The superblock names the next sequence number: no record that is there has it. */
inline switch_log() {
	i = 0;
	do
	:: i < RECORDS ->
		log_seen[i].there = false; log_seen[i].new = 0; log_seen[i].old = 0;
		log_seen[i].number = 0;
		fence_record(i);
		i++
	:: else -> break
	od;
	past_is_log();
	appended = 0
}

/* [K9] Free when its header is cleared, durably: see forge_trailer. */
inline drop_lease(n) {
#ifndef BREAK_LEFTOVER_HEADER
	seen[n].header = 0;
	kept[n].header = 0;
#endif
	use[n] = FREE;
	owner[n] = 0
}

/* --- power cut and recovery --------------------------------------------------------------------------- */

inline end_session(c) {
	connected[c] = false;
	in_round[c] = false;
	request[c] = NONE;
	answer[c] = NONE;
#ifndef BREAK_NO_DRAIN
	writing[c] = 0;
	reading[c] = 0;
#endif
	held[c] = 0;
	read_generation[c] = 0; read_a[c] = 0; read_b[c] = 0; read_trailer[c] = 0;
	session_drained(c);
#ifndef BREAK_LEASE_LEAKS
	s = 0;
	do
	:: s < SLOTS ->
		if
		:: use[s] == LEASED && owner[s] == c -> drop_lease(s)
		:: else
		fi;
		s++
	:: else -> break
	od;
#endif
#ifndef BREAK_NO_DRAIN
	lease[c] = 0;
#endif
	new[c] = 0; old[c] = 0
}

inline cut() {
	faults++;
	s = 0;
	do
	:: s < SLOTS ->
		tear_whole(kept[s].header, seen[s].header);
		tear(kept[s].a, seen[s].a);
		tear(kept[s].b, seen[s].b);
		tear(kept[s].trailer[0], seen[s].trailer[0]);
		tear(kept[s].trailer[1], seen[s].trailer[1]);
		seen[s].header = kept[s].header;
		seen[s].a = kept[s].a;
		seen[s].b = kept[s].b;
		seen[s].trailer[0] = kept[s].trailer[0];
		seen[s].trailer[1] = kept[s].trailer[1];
		use[s] = FREE; owner[s] = 0; retired_at[s] = 0;
		s++
	:: else -> break
	od;
	j = 0;
	do
	:: j < RECORDS ->
		if
		:: log_kept[j].there != log_seen[j].there ->
			if
			:: fence_record(j)
			:: skip
			fi
		:: else
		fi;
		log_seen[j].there = log_kept[j].there;
		log_seen[j].new = log_kept[j].new;
		log_seen[j].old = log_kept[j].old;
		log_seen[j].number = log_kept[j].number;
		j++
	:: else -> break
	od;
	j = 0;
	do
	:: j < CLIENTS -> writing[j] = 0; reading[j] = 0; end_session(j); j++
	:: else -> break
	od;
	indexed[0] = 0; indexed[1] = 0;
	epoch = 1; appended = 0
}

inline count_records() {
	appended = 0;
	do
	:: appended < RECORDS && log_seen[appended].there -> appended++
	:: else -> break
	od
}

/*
 * [K4] A record counts if its object is committed: there, with PF; or it has been
 * superseded since, as a later record tells. What one that counts names as old is
 * no object.
 */
inline read_log() {
	past_begin();
	j = appended;
	do
	:: j > 0 ->
		j--;
		found = (log_seen[j].new == 0);
		if
		:: !found ->
			s = slot_of[log_seen[j].new];
			look_at_slot(s);
			found = found && seen[s].header == log_seen[j].new;
			i = j + 1;
			do
			:: i < appended -> found = found || log_seen[i].old == log_seen[j].new; i++
			:: else -> break
			od
		:: else
		fi;
#ifdef BREAK_TRUST_RECORD
		found = true;
#endif
		past_add(j);
		if
		:: found && log_seen[j].old &&
		   seen[slot_of[log_seen[j].old]].header == log_seen[j].old ->
			/* No object any more; durable by the checkpoint that follows. */
			seen[slot_of[log_seen[j].old]].header = 0
		:: else
		fi
	:: else -> break
	od
}

/* [K5] Nor may headers stay of what was never committed. */
inline clear_leftovers() {
	s = 0;
	do
	:: s < SLOTS ->
		look_at_slot(s);
		if
		:: !found -> seen[s].header = 0
		:: else
		fi;
		s++
	:: else -> break
	od
}

inline scan_slots() {
	s = 0;
	do
	:: s < SLOTS ->
		look_at_slot(s);
		if
		:: found ->
			g = seen[s].header;
			assert(indexed[key_of[g]] == 0);	/* two objects of one key */
			indexed[key_of[g]] = g;
			use[s] = LIVE;
			seen[s].trailer[place_of[g]] = TRAILER(g, 1, 1);	/* [C9] */
			assert(seen[s].a == g && seen[s].b == g)
		:: else ->
			if
			:: kept[s].header == seen[s].header -> forget_slot(s)
			:: else
			fi
		fi;
		s++
	:: else -> break
	od
}

/* Nothing lost, nothing resurrected: what was there, or what was being committed. */
inline check_recovered() {
	k = 0;
	do
	:: k < KEYS ->
		assert(indexed[k] == value[k] || (may_move[k] && indexed[k] == in_flight[k]));
		took_effect(k);
		value[k] = indexed[k];
		in_flight[k] = 0;
		may_move[k] = false;
		k++
	:: else -> break
	od
}

/* --- a round of the store's worker ------------------------------------------------------------------------ */

/* [K7] One commit of a key in a round: each record names what the one before it has left. */
inline key_is_taken(c) {
#ifdef BREAK_TWO_OF_A_KEY
	found = false
#else
	found = may_move[key[c]]
#endif
}

inline reply(c, what) {
	answer[c] = what;
	request[c] = NONE;
	in_round[c] = false
}

/* [K8] Compared where it is ordered: in this round, with nothing before it on the key. */
inline compare(c) {
	found = (expected[c] == ANY || expected[c] == indexed[key[c]])
}

inline refuse(c, what) {
	finish_change(c, what);
	reply(c, what)
}

inline begin_commit(c) {
	in_round[c] = true;
	begin_change(c);
	old[c] = indexed[key[c]];
	may_move[key[c]] = true;
	in_flight[key[c]] = new[c];
#ifdef BREAK_INDEX_FIRST
	if
	:: new[c] -> indexed[key[c]] = new[c]
	:: else
	fi;
#endif
#ifndef BREAK_RECORD_WITH_PF
	append_record(c)
#endif
}

inline start_prepare(c) {
	allocate(c);
	if
	:: new[c] ->
		in_round[c] = true;
		clear_trailer(new[c]);
#ifdef BREAK_HEADER_WITH_TRAILER
		write_header(new[c])
#endif
	:: else -> reply(c, NO_SPACE)
	fi
}

/* The put of a herd: the server's CPU copies. */
inline start_inline(c) {
	compare(c);
	if
	:: !found -> assert(expected[c] != value[key[c]]); refuse(c, OTHER_VERSION)
	:: else ->
		allocate(c);
		if
		:: new[c] ->
			forge_trailer(slot_of[new[c]]);
			clear_trailer(new[c]);
#ifdef BREAK_HEADER_WITH_TRAILER
			write_header(new[c]);
#endif
			seen[slot_of[new[c]]].a = new[c];
			seen[slot_of[new[c]]].b = new[c];
			begin_commit(c)
		:: else -> refuse(c, NO_SPACE)
		fi
	fi
}

inline start_commit(c) {
#ifdef BREAK_COMPARE_AT_PREPARE
	found = true;
#else
	compare(c);
#endif
	if
	:: !found ->
		assert(expected[c] != value[key[c]]);
		drop_lease(slot_of[lease[c]]);
		lease[c] = 0;
		refuse(c, OTHER_VERSION)
	:: else ->
		new[c] = lease[c];
		begin_commit(c)
	fi
}

inline start_delete(c) {
	if
	:: indexed[key[c]] == 0 -> assert(value[key[c]] == 0); refuse(c, NO_KEY)
	:: else -> new[c] = 0; begin_commit(c)
	fi
}

/* What the server looks up is the register's value; a READ of it comes later. */
inline start_get(c) {
	g = indexed[key[c]];
	assert(g == value[key[c]]);
	if
	:: g == 0 -> reply(c, NO_KEY)
	:: else ->
		assert(seen[slot_of[g]].a == g && seen[slot_of[g]].b == g);	/* inline */
		read_generation[c] = g;
		held[c] = epoch;
		reply(c, OK)
	fi
}

inline start(c) {
	look_up_number(c);
	key_is_taken(c);
	if
	:: request[c] == OUTCOME -> find_outcome(c)
	:: request[c] == PREPARE -> start_prepare(c)
	:: request[c] == GET -> start_get(c)
	:: request[c] == PUT_INLINE && !found -> start_inline(c)
	:: request[c] == COMMIT && !found -> start_commit(c)
	:: request[c] == DELETE && !found -> start_delete(c)
	:: else
	fi
}

/* Phase 2. [K3] What phase 1 has stored is durable: the value, the record. */
inline second_phase(c) {
	if
	:: in_round[c] && request[c] == PREPARE -> write_header(new[c])
	:: in_round[c] && request[c] == PUT_INLINE -> write_header(new[c]); set_pf(new[c])
	:: in_round[c] && request[c] == COMMIT -> set_pf(new[c])
	:: else
	fi;
#ifdef BREAK_RECORD_WITH_PF
	if
	:: in_round[c] && request[c] != PREPARE -> append_record(c)
	:: else
	fi
#endif
}

/* Phase 3. [K3] PF is durable: it is committed. The index moves, then the answer goes. */
inline finish(c) {
	if
	:: in_round[c] && request[c] == PREPARE ->
		lease[c] = new[c];
		reply(c, OK)
	:: in_round[c] && request[c] != PREPARE ->
		if
		:: new[c] ->
			assert(expected[c] == ANY || expected[c] == value[key[c]]);
			set_vf(new[c]);
			forget_place(slot_of[new[c]]);
			use[slot_of[new[c]]] = LIVE;
			owner[slot_of[new[c]]] = 0
		:: else
		fi;
		if
		:: old[c] -> retire(old[c])
		:: else
		fi;
		indexed[key[c]] = new[c];
		take_effect(c);
		value[key[c]] = new[c];
		may_move[key[c]] = false;
		in_flight[key[c]] = 0;
		lease[c] = 0;
		new[c] = 0; old[c] = 0;
		finish_change(c, OK);
		reply(c, OK)
	:: else
	fi
}

inline forget() {
	i = 0; j = 0; k = 0; s = 0; g = 0; found = 0
}

/* The power may be cut between any two of the worker's steps. */
#define POWER_FAILS faults < FAULTS -> goto down

#define WAITS(c) (request[c] != NONE && connected[c])

active proctype Server() {
	byte c, last;
serve:
	do
	:: atomic {
		(WAITS(0) || WAITS(1)) && appended + CLIENTS <= RECORDS ->
		if
		:: WAITS(0) -> c = 0; last = 0
		:: WAITS(1) -> c = 1; last = 1
		:: WAITS(0) && WAITS(1) -> c = 0; last = 1
		fi;
		do
		:: start(c);
			if
			:: c == last -> break
			:: else -> c++
			fi
		od;
		c = 0; last = 0;
		forget();
		if
		:: !in_round[0] && !in_round[1] -> goto serve
		:: else
		fi
	   };
	   if
	   :: POWER_FAILS
	   :: atomic {
#ifndef BREAK_NO_DATA_FENCE
		fence_round();
#endif
		do
		:: c < CLIENTS ->
			second_phase(c);
#ifdef BREAK_ANSWER_FIRST
			finish(c);
#endif
			c++
		:: else -> break
		od;
		c = 0;
		forget()
	      }
	   fi;
	   if
	   :: POWER_FAILS
	   :: atomic {
		fence_round();
		do
		:: c < CLIENTS -> finish(c); c++
		:: else -> break
		od;
		c = 0;
		forget()
	      }
	   fi
	/* [K5] A checkpoint, when the log might not take the next round. */
	:: atomic {
		appended + CLIENTS > RECORDS ->
#ifndef BREAK_CHECKPOINT_NO_CLEAR
		clear_superseded();
#endif
		forget()
	   };
#ifdef BREAK_SWITCH_FIRST
	   atomic { switch_log(); forget() };
#endif
	   if
	   :: POWER_FAILS
	   :: atomic {
		fence_all();
#ifndef BREAK_SWITCH_FIRST
		switch_log();
#endif
		forget()
	      }
	   fi
	:: atomic {
		(use[0] == RETIRED || use[1] == RETIRED || use[2] == RETIRED) ->
		reclaim();
		forget()
	   }
	/* [K9] A session ends: lost, its client dead or stalling. Drained, then forgotten. */
	:: atomic {
		if
		:: ENDS(0) -> c = 0
		:: ENDS(1) -> c = 1
		fi;
		faults = (dead[c] -> faults : faults + 1);
		end_session(c);
		session_gone(c);
		c = 0;
		forget()
	   }
	NUMBER_STEPS
	:: POWER_FAILS
	/* All through: what is not a key's object is free. */
	:: atomic {
		finished == CLIENTS && !(dead[0] && connected[0]) && !(dead[1] && connected[1]) &&
		request[0] == NONE && request[1] == NONE ->
		reclaim();
		s = 0; found = 0;
		do
		:: s < SLOTS -> found = found + (use[s] != FREE); s++
		:: else -> break
		od;
		assert(found == (value[0] != 0) + (value[1] != 0));
		forget();
		goto done
	   }
	od;
down:
	/* [K4] Recovery ends with a checkpoint. It may be cut short as well. */
	atomic {
		do
		:: cut();
			count_records();
			read_log();
#ifndef BREAK_LEFTOVER_HEADER
			clear_leftovers();
#endif
			if
			:: faults < FAULTS
			:: skip ->
#ifndef BREAK_RECOVER_NO_CLEAR
				fence_all();
#endif
				if
				:: faults < FAULTS
				:: break
				fi
			fi
		od;
#ifdef BREAK_STALE_LOG
		appended = 0;
#else
		switch_log();
#endif
		scan_slots();
		check_recovered();
		forget();
		goto serve
	};
done:
	skip
}

/* The HCAs: what has been posted takes effect at some time. */
active proctype Hca() {
	byte c;
end:
	do
	:: atomic {
		if
		:: writing[0] || reading[0] -> c = 0
		:: writing[1] || reading[1] -> c = 1
		fi;
		if
		:: writing[c] == 2 -> seen[slot_of[lease[c]]].a = lease[c]; writing[c] = 1
		/* [K2] The message is behind the WRITE on its queue pair. */
		:: writing[c] == 1 ->
			seen[slot_of[lease[c]]].b = lease[c];
			writing[c] = 0;
			request[c] = (connected[c] -> COMMIT : NONE)
		:: reading[c] == 2 ->
			read_a[c] = seen[slot_of[read_generation[c]]].a;
			reading[c] = 1
		:: reading[c] == 1 ->
			s = slot_of[read_generation[c]];
			read_b[c] = seen[s].b;
			read_trailer[c] = seen[s].trailer[place_of[read_generation[c]]];
			reading[c] = 0
		:: else
		fi;
		c = 0; forget()
	   }
	od
}

#ifndef NUMBERS
/* It may die, with what it has posted under way. */
#define DIES \
	atomic { faults < FAULTS && connected[c] -> faults++; dead[c] = true; goto over }

#define LOST (!connected[c])

inline end_operation() {
	answer[c] = NONE; key[c] = 0; expected[c] = ANY; kind = NONE
}

proctype Client(byte c; byte ops) {
	byte n;
	mtype kind = NONE;
next:
	do
	:: atomic {
		n < ops ->
		n++;
		connected[c] = true;
		if
		:: key[c] = 0
		:: key[c] = 1
		fi;
		if
		:: kind = PUT_INLINE
		:: kind = DELETE
#ifndef ONLY_INLINE
		:: kind = PREPARE
		:: kind = GET
#endif
		fi;
		if
		:: kind == PREPARE || kind == PUT_INLINE -> expected[c] = value[key[c]]
		:: skip
		fi;
		request[c] = kind
	   };
	   if
	   :: atomic { LOST -> end_operation(); goto next }
	   :: atomic { answer[c] != NONE && !LOST ->
		if
		:: answer[c] != OK || kind == PUT_INLINE || kind == DELETE ->
			end_operation();
			goto next
		:: else -> answer[c] = NONE
		fi
	      }
	   fi;
	   if
	   :: DIES
	   :: atomic { LOST -> end_operation(); goto next }
	   :: atomic { !LOST && kind == PREPARE -> writing[c] = 2 };
		if
		:: DIES
		:: atomic { LOST -> end_operation(); goto next }
		:: atomic { answer[c] != NONE && !LOST -> end_operation(); goto next }
		fi
	   :: atomic { !LOST && kind == GET ->
		reading[c] = 2;
#ifdef BREAK_EPOCH_EARLY
		held[c] = 0
#endif
	      };
		if
		:: DIES
		:: atomic { LOST -> end_operation(); goto next }
		:: atomic { reading[c] == 0 && !LOST ->
			/* Else it asks again. */
			if
			:: COMMITTED(read_trailer[c], read_generation[c]) ->
				assert(read_a[c] == read_generation[c] &&
				       read_b[c] == read_generation[c])
			:: else
			fi;
			read_a[c] = 0; read_b[c] = 0; read_trailer[c] = 0;
			read_generation[c] = 0;
			held[c] = 0;	/* [K6] reported when the READ has completed */
			end_operation()
		   }
		fi
	   fi
	:: n == ops -> break
	od;
over:
	finished++
}
#endif

init {
	atomic {
		/* A put that was acknowledged and checkpointed: key 0 in slot 0. */
		last_generation = 1;
		slot_of[1] = 0; key_of[1] = 0; place_of[1] = 0;
		seen[0].header = 1; seen[0].a = 1; seen[0].b = 1;
		seen[0].trailer[0] = TRAILER(1, 1, 1);
		fence_slot(0);
		indexed[0] = 1; value[0] = 1; use[0] = LIVE;
		run Client(0, OPS_0);
		run Client(1, OPS_1)
	}
}
