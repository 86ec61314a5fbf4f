/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What fuzz_peer sends: well-formed messages of every kind, possible and impossible, and
 * damaged ones.  None of them writes to the second MiB, where somebody else's puts are, or
 * takes a session over.
 */
#ifndef PMOF_FUZZ_MESSAGES_H
#define PMOF_FUZZ_MESSAGES_H

#include "fuzz.h"
#include "wireclient.h"

/* --- of an I/O queue -------------------------------------------------------------------- */

static inline u64 some_offset(uint64_t *rnd, u64 ns_size)
{
	/* Not where the other process's puts are. */
	u64 v = fuzz_one_in(rnd, 4) ? fuzz_number(rnd, 64) : vm_rnd(rnd) % ns_size;

	return v >= 1 * MiB && v < 2 * MiB ? v + MiB : v;
}

/* Mostly small: an emulated machine has time for more of these. */
static inline struct pmof_range some_range(uint64_t *rnd, u64 ns_size, u64 max)
{
	u64 most = fuzz_one_in(rnd, 4) ? max : min_t(u64, max, 512);
	struct pmof_range r = { some_offset(rnd, ns_size), 1 + vm_rnd(rnd) % most };

	if (r.offset < 1 * MiB && r.offset + r.length > 1 * MiB)
		r.length = 1;
	return r;
}

/* An object of up to 2 KiB, with its trailer not where the puts are, either. */
static inline void make_object(uint64_t *rnd, struct pmof_put *p)
{
	p->commit = true;
	p->range.offset &= ~7ULL;
	p->range.length = 8 + (p->range.length & ~7ULL) % 2048;
	if (p->range.offset < MiB && p->range.offset + p->range.length >= MiB)
		p->range.offset -= 4 * KiB;
	p->trailer = p->range.offset + p->range.length;
	p->generation = 1 + vm_rnd(rnd) % PMOF_GENERATION_MASK;
}

static inline size_t some_put(uint64_t *rnd, char *buf, u64 ns_size)
{
	struct pmof_put p = { .range = some_range(rnd, ns_size, PMOF_MAX_INLINE) };

	if (fuzz_one_in(rnd, 3))
		make_object(rnd, &p);
	return pmof_put_put((void *)buf, 1, &p) + p.range.length;
}

static inline size_t some_commit(uint64_t *rnd, char *buf, u64 ns_size)
{
	struct pmof_put p = { .range = some_range(rnd, ns_size, PMOF_MAX_INLINE) };

	make_object(rnd, &p);
	return pmof_put_commit((void *)buf, 1, &p);
}

static inline size_t some_objects(uint64_t *rnd, char *buf, u64 ns_size)
{
	u64 trailer[PMOF_MAX_OBJECTS];
	unsigned int i, n = 1 + vm_rnd(rnd) % (fuzz_one_in(rnd, 8) ? PMOF_MAX_OBJECTS : 4);

	for (i = 0; i < n; i++)
		trailer[i] = some_offset(rnd, ns_size) & ~7ULL;
	return pmof_put_objects((void *)buf, fuzz_one_in(rnd, 2) ? PMOF_MSG_PREPARE :
				PMOF_MSG_REVALIDATE, 1, trailer, n);
}

/* A well-formed message of an I/O queue; most of them name what is there. */
static inline size_t some_message(uint64_t *rnd, char *buf, u64 ns_size)
{
	struct pmof_range r[PMOF_MAX_RANGES];
	unsigned int i, n;

	switch (vm_rnd(rnd) % 8) {
	case 0:
		n = 1 + vm_rnd(rnd) % (fuzz_one_in(rnd, 8) ? PMOF_MAX_RANGES : 4);
		for (i = 0; i < n; i++)
			r[i] = some_range(rnd, ns_size, 256);
		return pmof_put_persist((void *)buf, 1, r, n);
	case 1:
		r[0] = some_range(rnd, ns_size, fuzz_one_in(rnd, 32) ? 64 * KiB : 512);
		return pmof_put_zero((void *)buf, 1, &r[0]);
	case 2:
		r[0] = some_range(rnd, ns_size, PMOF_MAX_GET);
		return pmof_put_get((void *)buf, 1, &r[0]);
	case 3:
		return some_commit(rnd, buf, ns_size);
	case 4:
		return some_objects(rnd, buf, ns_size);
	default:
		return some_put(rnd, buf, ns_size);
	}
}

/* --- of the admin queue ----------------------------------------------------------------- */

/* Most of them name what is there, and little of it: the server registers what is asked for. */
static inline size_t some_get_segments(uint64_t *rnd, char *buf)
{
	u32 first = fuzz_one_in(rnd, 4) ? fuzz_number(rnd, 32) : vm_rnd(rnd) % 8;
	u32 count = fuzz_one_in(rnd, 4) ? fuzz_number(rnd, 32) : 1;

	return pmof_put_get_segments((void *)buf, 1, first, count);
}

static inline size_t some_header(char *buf, u8 opcode)
{
	pmof_put_hdr((void *)buf, opcode, 1, sizeof(struct pmof_wire_hdr), 0);
	return sizeof(struct pmof_wire_hdr);
}

static inline size_t some_challenge(uint64_t *rnd, char *buf)
{
	struct pmof_wire_challenge *w = (void *)buf;

	pmof_put_hdr(&w->hdr, PMOF_MSG_CHALLENGE, 1, sizeof(*w), 0);
	vm_fill(rnd, w->nonce, sizeof(w->nonce));
	return sizeof(*w);
}

/* All but the login; its sender is on his way out if it was a LOGOUT. */
static inline size_t some_admin_message(uint64_t *rnd, char *buf, u64 ns_size)
{
	switch (vm_rnd(rnd) % 8) {
	case 0:
	case 1:
		return some_get_segments(rnd, buf);
	case 2:
	case 3:
		return pmof_put_get_pieces((void *)buf, 1, fuzz_one_in(rnd, 4) ?
					   fuzz_number(rnd, 64) : vm_rnd(rnd) % ns_size);
	case 4:
		return some_header(buf, PMOF_MSG_GET_STATS);
	case 5:
		return some_header(buf, PMOF_MSG_KEEPALIVE);
	case 6:
		return some_header(buf, PMOF_MSG_LOGOUT);
	default:
		return some_challenge(rnd, buf);
	}
}

/*
 * A damaged login.  It may still be one, but of nobody who may put the victim out, or whose
 * session is kept when he has gone.
 */
static inline size_t some_login(uint64_t *rnd, char *buf)
{
	struct pmof_wire_login w, whole;
	size_t len = wc_put_login(&w, "data", vm_rnd(rnd) % 4);

	whole = w;
	fuzz_damage(rnd, &w, sizeof(w), 1 + vm_rnd(rnd) % 6);
	w.flags &= ~htole32(PMOF_LOGIN_F_TAKEOVER);
	w.keep_alive_ms = whole.keep_alive_ms;
	w.loss_timeout = whole.loss_timeout;
	memcpy(buf, &w, sizeof(w));
	return len;
}

/* --- of either, damaged ------------------------------------------------------------------ */

/* What it means by now may be allowed: then it must not be where the puts are. */
static inline size_t stop_writes(uint64_t *rnd, const char *buf, size_t len)
{
	switch (buf[0]) {
	case PMOF_MSG_PUT:
	case PMOF_MSG_ZERO:
	case PMOF_MSG_COMMIT:
	case PMOF_MSG_PREPARE:
	case PMOF_MSG_REVALIDATE:
		return vm_rnd(rnd) % sizeof(struct pmof_wire_objects);
	default:
		return len;
	}
}

/* For a session's admin queue, or for an I/O queue. */
static inline size_t some_bad_message(uint64_t *rnd, char *buf, u64 ns_size, bool admin)
{
	size_t len = admin && !fuzz_one_in(rnd, 4) ? some_admin_message(rnd, buf, ns_size) :
		     some_message(rnd, buf, ns_size);

	/* For the admin queue whole ones, too: they come in any order. */
	if (!admin || !fuzz_one_in(rnd, 4))
		fuzz_damage(rnd, buf, len < 48 ? len : 48, 1 + vm_rnd(rnd) % 4);
	if (fuzz_one_in(rnd, 4))
		len = vm_rnd(rnd) % len;
	return stop_writes(rnd, buf, len);
}

/* For who has not logged in: nothing that is allowed then, but for a challenge. */
static inline size_t some_bad_beginning(uint64_t *rnd, char *buf)
{
	size_t len = fuzz_one_in(rnd, 2) ? some_message(rnd, buf, 64 * MiB) :
		     some_admin_message(rnd, buf, 64 * MiB);

	if (fuzz_one_in(rnd, 4))
		buf[0] = vm_rnd(rnd) % 32;
	if (fuzz_one_in(rnd, 2))
		fuzz_damage(rnd, buf, len < 48 ? len : 48, 1 + vm_rnd(rnd) % 4);
	return fuzz_one_in(rnd, 4) ? vm_rnd(rnd) % len : len;
}

#endif /* PMOF_FUZZ_MESSAGES_H */
