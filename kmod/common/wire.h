/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Everything that crosses the wire, and the functions that read and write it.
 * No other file knows an on-wire layout.  All integers are little endian.
 *
 * This header and wire.c are pure: they compile in user space too (tests/unit).
 */
#ifndef PMOF_WIRE_H
#define PMOF_WIRE_H

#include "pure.h"

#define PMOF_WIRE_MAGIC		0x464f4d50	/* "PMOF" */
#define PMOF_WIRE_VERSION	2
#define PMOF_WIRE_PORT		20049		/* default service (port) number */

#define PMOF_WIRE_ID_LEN	32		/* client ID, NUL padded */
#define PMOF_WIRE_NAME_LEN	64		/* namespace name, NUL padded */
#define PMOF_WIRE_UUID_LEN	16
#define PMOF_WIRE_NONCE_LEN	32
#define PMOF_WIRE_MAC_LEN	32		/* HMAC-SHA-256 */
#define PMOF_WIRE_QUEUE_MAC_LEN	24		/* its first bytes: private data are short */

#define PMOF_ADMIN_MSG_SIZE	4096		/* largest message on the admin queue */
#define PMOF_IO_MSG_SIZE	4096		/* largest request on an I/O queue, but for calls */
#define PMOF_CALL_SIZE_MAX	(65 * 4096)	/* of a session's calls: a multiple of 4096 */
#define PMOF_ADMIN_DEPTH	4		/* admin messages under way at once */

#define PMOF_MAX_QUEUES		128		/* I/O queues of a session */
#define PMOF_MAX_DEPTH		1024		/* requests on one I/O queue */
#define PMOF_MAX_SEGMENTS	131072
#define PMOF_MIN_SEGMENT	4096ULL
#define PMOF_MAX_SEGMENT	1073741824ULL
#define PMOF_MAX_RANGES		128		/* ranges of one PERSIST */
#define PMOF_MAX_ZERO		(16ULL << 20)	/* bytes of one ZERO */

/* Message opcodes. */
enum pmof_wire_opcode {
	PMOF_MSG_LOGIN		= 0x01,	/* admin */
	PMOF_MSG_GET_SEGMENTS	= 0x02,	/* admin */
	PMOF_MSG_GET_STATS	= 0x03,	/* admin */
	PMOF_MSG_KEEPALIVE	= 0x04,	/* admin: a header, both ways */
	PMOF_MSG_CHALLENGE	= 0x05,	/* admin, before LOGIN: exchanges nonces */
	PMOF_MSG_LOGOUT		= 0x06,	/* admin: a header, both ways; the end is meant */
	PMOF_MSG_GET_PIECES	= 0x07,	/* admin: of a segment with bad pages */
	PMOF_MSG_PERSIST	= 0x10,	/* I/O: write ranges back */
	PMOF_MSG_PUT		= 0x11,	/* I/O: data inline, durable or committed */
	PMOF_MSG_COMMIT		= 0x12,	/* I/O: write a range back, then set PF and VF */
	PMOF_MSG_PREPARE	= 0x13,	/* I/O: new generations */
	PMOF_MSG_REVALIDATE	= 0x14,	/* I/O: VF where PF is set */
	PMOF_MSG_ZERO		= 0x15,	/* I/O: a range of zeros, durable */
	PMOF_MSG_GET		= 0x16,	/* I/O: data inline in the reply */
	PMOF_MSG_SERVICE	= 0x20,	/* I/O: from here on the namespace's service's own, */
	PMOF_MSG_SERVICE_READ	= 0x30,	/* I/O: likewise; they change nothing */
	PMOF_MSG_SERVICE_CLOSE	= 0x3f,	/* I/O: a context of the service ends; the last of them */
	PMOF_MSG_ANNOUNCE	= 0x40,	/* admin: from the server, unasked, not answered */
	PMOF_MSG_REPLY		= 0x80,	/* set in the opcode of every reply */
};

/* Outcome of a message or of a connection request. */
enum pmof_wire_status {
	PMOF_SC_OK		= 0,
	PMOF_SC_MAGIC		= 1,	/* not pmof */
	PMOF_SC_VERSION		= 2,	/* the peer speaks another version */
	PMOF_SC_INVALID		= 3,	/* malformed: length, field, state */
	PMOF_SC_NO_NAMESPACE	= 4,	/* no such namespace, or not enabled, on this port */
	PMOF_SC_NO_SESSION	= 5,	/* unknown session ID */
	PMOF_SC_BUSY		= 6,	/* queue ID in use, or a limit is reached */
	PMOF_SC_RANGE		= 7,	/* past the end of the namespace */
	PMOF_SC_READ_ONLY	= 8,
	PMOF_SC_NO_MEMORY	= 9,
	PMOF_SC_UNSUPPORTED	= 10,	/* not with this device or server */
	PMOF_SC_INTERNAL	= 11,	/* the server failed; its log says how */
	PMOF_SC_ACCESS		= 12,	/* not allowed for this client */
	PMOF_SC_STALE		= 13,	/* not prepared with that generation */
	PMOF_SC_MEDIUM		= 14,	/* a bad block is in the range */
	PMOF_SC_EXCLUSIVE	= 15,	/* another client has the namespace for itself */
	PMOF_SC_MAX
};

#define PMOF_CONNECT_F_MAC	BIT(0)	/* an I/O queue of a session with a key */

/*
 * Private data of a connection request: 56 bytes is all that CM leaves an RC user.
 * An I/O queue of a session with a key proves that it is the client's with a
 * MAC (auth.h) in place of the client ID; the counter makes each one new.
 */
struct pmof_wire_connect {
	__le32 magic;
	__le16 version;
	__le16 queue_id;	/* 0: admin; 1..nr_queues: I/O */
	__le16 queue_depth;	/* requests that the client may have under way */
	__le16 flags;		/* PMOF_CONNECT_F_* */
	__le32 reserved32;
	__le64 session_id;	/* I/O queue: from the login; admin: 0 */
	union {
		char client_id[PMOF_WIRE_ID_LEN];
		struct {
			__le64 counter;	/* larger than any before in this session */
			__u8 mac[PMOF_WIRE_QUEUE_MAC_LEN];
		};
	};
};

static_assert(sizeof(struct pmof_wire_connect) == 56, "wire layout");

/* Private data of an accept and of a reject. */
struct pmof_wire_accept {
	__le32 magic;
	__le16 version;
	__le16 status;		/* enum pmof_wire_status; 0 in an accept */
	__le16 queue_depth;	/* granted, at most what was asked for */
	__le16 reserved16;
	__le32 reserved32;
};

static_assert(sizeof(struct pmof_wire_accept) == 16, "wire layout");

/* Starts every message. */
struct pmof_wire_hdr {
	__u8 opcode;		/* enum pmof_wire_opcode */
	__u8 flags;		/* zero */
	__le16 tag;		/* chosen by the client, returned in the reply */
	__le32 length;		/* of the whole message, bytes */
	__le32 status;		/* reply: enum pmof_wire_status; request: zero */
	__le32 reserved;
};

static_assert(sizeof(struct pmof_wire_hdr) == 16, "wire layout");

struct pmof_wire_challenge {
	struct pmof_wire_hdr hdr;
	__u8 nonce[PMOF_WIRE_NONCE_LEN];	/* the client's, never used before */
};

static_assert(sizeof(struct pmof_wire_challenge) == 48, "wire layout");

struct pmof_wire_challenge_reply {
	struct pmof_wire_hdr hdr;
	__u8 nonce[PMOF_WIRE_NONCE_LEN];	/* the server's */
	__u8 reserved[8];
};

static_assert(sizeof(struct pmof_wire_challenge_reply) == 56, "wire layout");

#define PMOF_LOGIN_F_READ_ONLY	BIT(0)	/* ask for no right to write */
#define PMOF_LOGIN_F_EXCLUSIVE	BIT(1)	/* nobody else shall write */
#define PMOF_LOGIN_F_TAKEOVER	BIT(2)	/* end whoever stands in the way of that */
#define PMOF_LOGIN_F_ALL	(PMOF_LOGIN_F_READ_ONLY | PMOF_LOGIN_F_EXCLUSIVE | \
				 PMOF_LOGIN_F_TAKEOVER)

struct pmof_wire_login {
	struct pmof_wire_hdr hdr;
	__u8 instance[PMOF_WIRE_UUID_LEN];	/* of the client's connection */
	char name[PMOF_WIRE_NAME_LEN];		/* of the namespace */
	__le16 nr_queues;			/* I/O queues wanted */
	__le16 path_id;
	__le32 flags;				/* PMOF_LOGIN_F_* */
	__le64 resume_id;			/* of the session to resume; 0: none */
	__le32 keep_alive_ms;			/* the client promises a KEEPALIVE; 0: no */
	__le32 loss_timeout;			/* seconds to keep a lost session; 0: not at all */
	__le32 call_size;			/* bytes of the longest call wanted */
	__le32 reserved;
	/* Behind a CHALLENGE, else not looked at: see auth.h. */
	__u8 resume_proof[PMOF_WIRE_MAC_LEN];	/* of the old session's key; or zero */
	__u8 proof[PMOF_WIRE_MAC_LEN];		/* of the client's key, over all before it */
};

static_assert(sizeof(struct pmof_wire_login) == 192, "wire layout");

#define PMOF_LOGIN_R_READ_ONLY	BIT(0)
#define PMOF_LOGIN_R_DURABLE	BIT(1)
#define PMOF_LOGIN_R_ASSERTED	BIT(2)	/* placement is the operator's word */
#define PMOF_LOGIN_R_RESUMED	BIT(3)	/* it is the session that was asked for */
#define PMOF_LOGIN_R_EXCLUSIVE	BIT(4)	/* nobody else writes */
#define PMOF_LOGIN_R_EMULATED	BIT(5)	/* times are those of an emulated medium */

struct pmof_wire_login_reply {
	struct pmof_wire_hdr hdr;
	__le64 session_id;
	__le64 generation;
	__le64 ns_size;
	__le64 segment_size;	/* a power of two */
	__le64 features;	/* PMOF_FEAT_* of the uapi */
	__le32 nr_segments;
	__le32 methods;		/* offered persist methods, bit n is enum pmof_method n */
	__le32 flags;		/* PMOF_LOGIN_R_* */
	__le16 nr_queues;	/* granted */
	__le16 max_ranges;	/* of one PERSIST message */
	__u8 domain;		/* enum pmof_domain */
	__u8 placement;		/* enum pmof_placement */
	__le16 max_inline;	/* bytes of data in one PUT message */
	__u8 service;		/* enum pmof_service */
	__u8 reserved[3];
	__le32 call_size;	/* granted, at most what was asked for */
	__le32 writers;		/* who might write has changed so often, */
	__le64 history;		/* in this one, which ends with the server's configuration */
	__u8 proof[PMOF_WIRE_MAC_LEN];	/* of the client's key, over all before it; or zero */
};

static_assert(sizeof(struct pmof_wire_login_reply) == 128, "wire layout");

struct pmof_wire_get_segments {
	struct pmof_wire_hdr hdr;
	__le32 first;
	__le32 count;
};

static_assert(sizeof(struct pmof_wire_get_segments) == 24, "wire layout");

struct pmof_wire_segment {
	__le64 addr;		/* what RDMA requests name for its first byte */
	__le64 length;		/* bytes */
	__le32 rkey;
	__le32 bad_sectors;	/* not zero: addr and rkey are, and GET_PIECES tells more */
};

static_assert(sizeof(struct pmof_wire_segment) == 24, "wire layout");

struct pmof_wire_segments_reply {
	struct pmof_wire_hdr hdr;
	__le32 first;
	__le32 count;		/* may be fewer than asked for, never zero */
	struct pmof_wire_segment segment[];
};

static_assert(sizeof(struct pmof_wire_segments_reply) == 24, "wire layout");

#define PMOF_SEGMENTS_PER_REPLY						\
	((PMOF_ADMIN_MSG_SIZE - sizeof(struct pmof_wire_segments_reply)) /	\
	 sizeof(struct pmof_wire_segment))

/*
 * A segment with bad pages is granted in pieces: what lies between them is
 * reached by GET and PUT messages only.
 */
struct pmof_wire_get_pieces {
	struct pmof_wire_hdr hdr;
	__le64 from;		/* offset in the namespace: in this segment, from here on */
};

static_assert(sizeof(struct pmof_wire_get_pieces) == 24, "wire layout");

struct pmof_wire_piece {
	__le64 offset;		/* in the namespace */
	__le64 length;
	__le64 addr;		/* what RDMA requests name for its first byte */
	__le32 rkey;
	__le32 reserved;
};

static_assert(sizeof(struct pmof_wire_piece) == 32, "wire layout");

struct pmof_wire_pieces_reply {
	struct pmof_wire_hdr hdr;
	__le64 next;		/* where to go on; the segment's end when there is no more */
	__le32 count;		/* may be zero */
	__le32 reserved;
	struct pmof_wire_piece piece[];	/* ascending, apart */
};

static_assert(sizeof(struct pmof_wire_pieces_reply) == 32, "wire layout");

#define PMOF_PIECES_PER_REPLY						\
	((PMOF_ADMIN_MSG_SIZE - sizeof(struct pmof_wire_pieces_reply)) /	\
	 sizeof(struct pmof_wire_piece))

/* Why the server speaks unasked.  Behind each of them it ends the queues. */
enum pmof_announce {
	PMOF_ANNOUNCE_NAMESPACE_GONE	= 1,	/* disabled, or no longer on this port */
	PMOF_ANNOUNCE_RIGHTS_CHANGED	= 2,
	PMOF_ANNOUNCE_SEGMENTS_CHANGED	= 3,	/* resume, and get the segments again */
	PMOF_ANNOUNCE_SHUTDOWN		= 4,
	PMOF_ANNOUNCE_MAX
};

struct pmof_wire_announce {
	struct pmof_wire_hdr hdr;	/* its tag means nothing */
	__le32 kind;			/* enum pmof_announce */
	__le32 reserved;
	__le64 arg;
};

static_assert(sizeof(struct pmof_wire_announce) == 32, "wire layout");

/* Server counters, in the order in which GET_STATS sends them. */
enum pmof_server_stat {
	PMOF_SRV_RPC_CALLS,	/* handler calls on I/O queues */
	PMOF_SRV_ADMIN_CALLS,	/* handler calls on the admin queue */
	PMOF_SRV_BAD_MESSAGES,	/* messages refused */
	PMOF_SRV_PERSISTS,	/* PERSIST messages worked off */
	PMOF_SRV_BATCHES,	/* runs of a flush worker that held one of ours */
	PMOF_SRV_LINES,		/* cache lines written back */
	PMOF_SRV_BYTES,		/* bytes named by the ranges of PERSIST and COMMIT */
	PMOF_SRV_FENCES,	/* store fences after write-back */
	PMOF_SRV_PUTS,		/* PUT messages worked off */
	PMOF_SRV_COMMITS,	/* objects committed, by PUT or COMMIT */
	PMOF_SRV_PREPARES,	/* objects prepared */
	PMOF_SRV_REVALIDATES,	/* objects revalidated */
	PMOF_SRV_ZEROES,	/* ZERO messages worked off */
	PMOF_SRV_BYTES_ZEROED,	/* by them */
	PMOF_SRV_DEVICE_FLUSHES, /* flushes of the PMEM device */
	PMOF_SRV_BATCH_1,	/* runs by how many requests they took: 1 */
	PMOF_SRV_BATCH_2,	/* 2 and 3 */
	PMOF_SRV_BATCH_4,	/* 4 to 7 */
	PMOF_SRV_BATCH_8,	/* 8 to 15 */
	PMOF_SRV_BATCH_16,	/* 16 and more */
	PMOF_SRV_REPLIES,	/* replies posted */
	PMOF_SRV_MRS,		/* MRs registered now */
	PMOF_SRV_QUEUES,	/* I/O queues connected now */
	PMOF_SRV_STAT_MAX
};

struct pmof_wire_stats_reply {
	struct pmof_wire_hdr hdr;
	__le32 count;
	__le32 reserved;
	__le64 value[PMOF_SRV_STAT_MAX];
};

struct pmof_wire_range {
	__le64 offset;
	__le64 length;
};

static_assert(sizeof(struct pmof_wire_range) == 16, "wire layout");

#define PMOF_PERSIST_F_GOOD	BIT(0)	/* bad sectors are left out, instead of refused */
#define PMOF_PERSIST_F_ALL	PMOF_PERSIST_F_GOOD

struct pmof_wire_persist {
	struct pmof_wire_hdr hdr;
	__le16 nr_ranges;	/* 1..PMOF_MAX_RANGES */
	__le16 flags;		/* PMOF_PERSIST_F_* */
	__le32 reserved32;
	struct pmof_wire_range range[];
};

static_assert(sizeof(struct pmof_wire_persist) == 24, "wire layout");
static_assert(sizeof(struct pmof_wire_persist) +
	      PMOF_MAX_RANGES * sizeof(struct pmof_wire_range) <= PMOF_IO_MSG_SIZE,
	      "a PERSIST fits an I/O message");

#define PMOF_PUT_F_COMMIT	BIT(0)	/* an object; its data stop before the trailer */

struct pmof_wire_put {
	struct pmof_wire_hdr hdr;
	__le64 offset;
	__le64 length;		/* with PMOF_PUT_F_COMMIT: with the trailer */
	__le64 generation;	/* with PMOF_PUT_F_COMMIT, else zero */
	__le32 flags;		/* PMOF_PUT_F_* */
	__le32 reserved;
	__u8 data[];
};

static_assert(sizeof(struct pmof_wire_put) == 48, "wire layout");

#define PMOF_MAX_INLINE		(PMOF_IO_MSG_SIZE - sizeof(struct pmof_wire_put))

struct pmof_wire_commit {
	struct pmof_wire_hdr hdr;
	__le64 offset;		/* what is not durable yet: may be empty */
	__le64 length;
	__le64 trailer;		/* offset of the object's trailer */
	__le64 generation;
};

static_assert(sizeof(struct pmof_wire_commit) == 48, "wire layout");

struct pmof_wire_zero {
	struct pmof_wire_hdr hdr;
	__le64 offset;
	__le64 length;		/* 1..PMOF_MAX_ZERO */
};

static_assert(sizeof(struct pmof_wire_zero) == 32, "wire layout");

struct pmof_wire_get {
	struct pmof_wire_hdr hdr;
	__le64 offset;
	__le64 length;		/* 1..PMOF_MAX_GET */
};

static_assert(sizeof(struct pmof_wire_get) == 32, "wire layout");

struct pmof_wire_get_reply {
	struct pmof_wire_hdr hdr;
	__u8 data[];		/* as many as asked for */
};

#define PMOF_MAX_GET		1024	/* bytes of one GET */

#define PMOF_MAX_OBJECTS	128	/* of one PREPARE or REVALIDATE */

/* PREPARE and REVALIDATE. */
struct pmof_wire_objects {
	struct pmof_wire_hdr hdr;
	__le32 count;		/* 1..PMOF_MAX_OBJECTS */
	__le32 reserved;
	__le64 trailer[];	/* offsets */
};

static_assert(sizeof(struct pmof_wire_objects) == 24, "wire layout");
static_assert(sizeof(struct pmof_wire_objects) + PMOF_MAX_OBJECTS * sizeof(__le64) <=
	      PMOF_IO_MSG_SIZE, "a PREPARE fits an I/O message");

struct pmof_wire_objects_reply {
	struct pmof_wire_hdr hdr;
	__le32 count;		/* as asked */
	__le32 reserved;
	__le64 generation[];	/* zero: not committed (REVALIDATE) */
};

/*
 * PMOF_MSG_SERVICE to PMOF_MSG_SERVICE_CLOSE: a call of the service behind the
 * namespace.  What the data say is between it and who makes the call; a reply's stand
 * right behind its header.
 */
struct pmof_wire_service {
	struct pmof_wire_hdr hdr;
	__le32 context;		/* of the client's calls: an open file.  Not 0, never used again */
	__le32 reserved;
	__u8 data[];		/* PMOF_MSG_SERVICE_CLOSE: none */
};

static_assert(sizeof(struct pmof_wire_service) == 24, "wire layout");

#define PMOF_IO_REPLY_SIZE	PMOF_IO_MSG_SIZE	/* largest reply on an I/O queue */

#define PMOF_MAX_CALL_REPLY	(PMOF_IO_REPLY_SIZE - sizeof(struct pmof_wire_hdr))

/* Bytes of a call's data in a message of a session's size. */
static inline u32 pmof_call_room(u32 call_size)
{
	return call_size - sizeof(struct pmof_wire_service);
}

/* Bytes of the longest call: what a session may ask for, and be granted. */
static inline bool pmof_call_size_ok(u32 size)
{
	return size >= PMOF_IO_MSG_SIZE && size <= PMOF_CALL_SIZE_MAX && !(size % PMOF_IO_MSG_SIZE);
}

static_assert(sizeof(struct pmof_wire_objects_reply) + PMOF_MAX_OBJECTS * sizeof(__le64) <=
	      PMOF_IO_REPLY_SIZE, "the reply to a PREPARE fits");
static_assert(sizeof(struct pmof_wire_get_reply) + PMOF_MAX_GET <= PMOF_IO_REPLY_SIZE,
	      "the reply to a GET fits");

/* Host-order forms, filled only with checked values. */
struct pmof_connect {
	u16 queue_id;
	u16 queue_depth;
	u64 session_id;
	bool has_mac;		/* then the next two count, else the client ID */
	u64 counter;
	u8 mac[PMOF_WIRE_QUEUE_MAC_LEN];
	char client_id[PMOF_WIRE_ID_LEN];
};

struct pmof_login {
	u8 instance[PMOF_WIRE_UUID_LEN];
	char name[PMOF_WIRE_NAME_LEN];
	u16 nr_queues;
	u16 path_id;
	u32 flags;
	u64 resume_id;
	u32 keep_alive_ms;
	u32 loss_timeout;
	u32 call_size;
	u8 resume_proof[PMOF_WIRE_MAC_LEN];
	u8 proof[PMOF_WIRE_MAC_LEN];
};

struct pmof_login_reply {
	u64 session_id;
	u64 generation;
	u64 ns_size;
	u64 segment_size;
	u64 features;
	u32 nr_segments;
	u32 methods;
	u32 flags;
	u16 nr_queues;
	u16 max_ranges;
	u16 max_inline;
	u8 domain;
	u8 placement;
	u8 service;
	u32 call_size;
	u32 writers;
	u64 history;
	u8 proof[PMOF_WIRE_MAC_LEN];
};

struct pmof_segment_desc {
	u64 addr;
	u64 length;
	u32 rkey;
	u32 bad_sectors;	/* not zero: in pieces */
};

struct pmof_piece {
	u64 offset;
	u64 length;
	u64 addr;
	u32 rkey;
};

/*
 * Codec.  put_* fill a buffer of the caller and return the message's length in
 * bytes; get_* check a received message against every rule that needs no
 * state, and return 0 or a PMOF_SC_* code, in which case *out is undefined.
 * @len is the number of bytes that arrived.
 */
bool pmof_name_valid(const char *name, size_t max);

void pmof_put_connect(struct pmof_wire_connect *w, const struct pmof_connect *c);
int pmof_get_connect(const void *buf, size_t len, struct pmof_connect *out);
void pmof_put_accept(struct pmof_wire_accept *w, int status, u16 queue_depth);
int pmof_get_accept(const void *buf, size_t len, u16 *queue_depth);

void pmof_put_hdr(struct pmof_wire_hdr *h, u8 opcode, u16 tag, u32 length, u32 status);
int pmof_get_request_hdr(const void *buf, size_t len);
int pmof_get_reply_hdr(const void *buf, size_t len, u8 opcode, size_t min_len);

size_t pmof_put_login(struct pmof_wire_login *w, u16 tag, const struct pmof_login *l);
int pmof_get_login(const void *buf, size_t len, struct pmof_login *out);
size_t pmof_put_login_reply(struct pmof_wire_login_reply *w, u16 tag,
			    const struct pmof_login_reply *r);
int pmof_get_login_reply(const void *buf, size_t len, struct pmof_login_reply *out);

size_t pmof_put_announce(struct pmof_wire_announce *w, u32 kind, u64 arg);
int pmof_get_announce(const void *buf, size_t len, u32 *kind, u64 *arg);

size_t pmof_put_get_segments(struct pmof_wire_get_segments *w, u16 tag, u32 first, u32 count);
int pmof_get_get_segments(const void *buf, size_t len, u32 nr_segments,
			  u32 *first, u32 *count);
size_t pmof_put_segments_reply(struct pmof_wire_segments_reply *w, u16 tag, u32 first,
			       const struct pmof_segment_desc *seg, u32 count);
int pmof_get_segments_reply(const void *buf, size_t len, u32 first, u32 asked, u32 *count);
void pmof_get_segment(const void *buf, u32 i, struct pmof_segment_desc *out);

size_t pmof_put_get_pieces(struct pmof_wire_get_pieces *w, u16 tag, u64 from);
int pmof_get_get_pieces(const void *buf, size_t len, u64 ns_size, u64 *from);
size_t pmof_put_pieces_reply(struct pmof_wire_pieces_reply *w, u16 tag, u64 next,
			     const struct pmof_piece *piece, u32 count);
int pmof_get_pieces_reply(const void *buf, size_t len, u64 from, u64 end, u64 *next, u32 *count);
void pmof_get_piece(const void *buf, u32 i, struct pmof_piece *out);

size_t pmof_put_stats_reply(struct pmof_wire_stats_reply *w, u16 tag,
			    const u64 value[PMOF_SRV_STAT_MAX]);
int pmof_get_stats_reply(const void *buf, size_t len, u64 value[PMOF_SRV_STAT_MAX]);

struct pmof_range {
	u64 offset;
	u64 length;
};

size_t pmof_put_persist(struct pmof_wire_persist *w, u16 tag,
			const struct pmof_range *range, u16 nr);
void pmof_put_persist_flags(struct pmof_wire_persist *w, u16 flags);
int pmof_get_persist(const void *buf, size_t len, u64 ns_size,
		     struct pmof_range range[PMOF_MAX_RANGES], u16 *nr, u16 *flags);

/* A PUT or COMMIT message. */
struct pmof_put {
	struct pmof_range range;	/* of the data, without a trailer */
	bool commit;
	u64 trailer;			/* offset, if @commit */
	u64 generation;
};

size_t pmof_put_put(struct pmof_wire_put *w, u16 tag, const struct pmof_put *p);
int pmof_get_put(const void *buf, size_t len, u64 ns_size, struct pmof_put *out);
size_t pmof_put_commit(struct pmof_wire_commit *w, u16 tag, const struct pmof_put *p);
int pmof_get_commit(const void *buf, size_t len, u64 ns_size, struct pmof_put *out);
size_t pmof_put_zero(struct pmof_wire_zero *w, u16 tag, const struct pmof_range *range);
int pmof_get_zero(const void *buf, size_t len, u64 ns_size, struct pmof_range *out);
size_t pmof_put_get(struct pmof_wire_get *w, u16 tag, const struct pmof_range *range);
int pmof_get_get(const void *buf, size_t len, u64 ns_size, struct pmof_range *out);
size_t pmof_put_get_reply(struct pmof_wire_get_reply *w, u16 tag, u32 length);
int pmof_get_get_reply(const void *buf, size_t len, u32 asked);
size_t pmof_put_objects(struct pmof_wire_objects *w, u8 opcode, u16 tag, const u64 *trailer,
			u32 count);
int pmof_get_objects(const void *buf, size_t len, u64 ns_size, u64 trailer[PMOF_MAX_OBJECTS],
		     u32 *count);
size_t pmof_put_objects_reply(struct pmof_wire_objects_reply *w, u8 opcode, u16 tag,
			      const u64 *generation, u32 count);
int pmof_get_objects_reply(const void *buf, size_t len, u8 opcode, u32 asked,
			   u64 generation[PMOF_MAX_OBJECTS]);

static inline bool pmof_is_service(u8 opcode)
{
	return opcode >= PMOF_MSG_SERVICE && opcode <= PMOF_MSG_SERVICE_CLOSE;
}

size_t pmof_put_service(struct pmof_wire_service *w, u8 opcode, u16 tag, u32 context, u32 length);
int pmof_get_service(const void *buf, size_t len, u32 *context, u32 *length);
size_t pmof_put_service_reply(struct pmof_wire_hdr *w, u8 opcode, u16 tag, u32 length);
int pmof_get_service_reply(const void *buf, size_t len, u8 opcode, u32 *length);

int pmof_status_to_errno(u32 status);
const char *pmof_status_str(u32 status);

#endif /* PMOF_WIRE_H */
