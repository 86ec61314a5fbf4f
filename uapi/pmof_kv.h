/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Persistent Memory over Fabrics: what a store (pmof-store.ko) and its clients
 * say to each other.
 *
 * A client sends these with PMOF_OP_CALL on a character device whose namespace has
 * the service PMOF_SERVICE_STORE: the request's payload begins with a struct
 * pmof_kv_request (but for PMOF_KV_BATCH), the reply's with a struct pmof_kv_reply.
 * The driver of the client carries them and does not look inside.  All integers are
 * little endian, reserved fields are zero.  docs/kv.md has the order of things and why it is right;
 * userlib/libpmofkv.h is what programs use.
 */
#ifndef _UAPI_PMOF_KV_H
#define _UAPI_PMOF_KV_H

#include <linux/types.h>

#define PMOF_KV_KEY_MAX		1024		/* bytes of a key, 1 at least */
#define PMOF_KV_OBJECT_MAX	(64U << 20)	/* bytes of an object with header, key, trailer */
#define PMOF_KV_GENERATION_MASK	0xffffffffffffULL

/*
 * Opcodes of PMOF_OP_CALL.  Up to 0x2f they change the store: the file is open for
 * writing, and the session may write.  From 0x30 on they only read.
 */
enum pmof_kv_opcode {
	PMOF_KV_PREPARE_PUT	= 0x20,	/* a slot for an object, a lease of it */
	PMOF_KV_COMMIT		= 0x21,	/* its value has been written: commit it */
	PMOF_KV_PUT_INLINE	= 0x22,	/* put, with the value in the message */
	PMOF_KV_DELETE		= 0x23,
	PMOF_KV_RETURN		= 0x24,	/* give a lease back */
	PMOF_KV_BATCH		= 0x25,	/* many of PUT_INLINE and DELETE */
	PMOF_KV_GET		= 0x30,
	PMOF_KV_SCAN		= 0x31,
	PMOF_KV_OUTCOME		= 0x32,	/* of a put or delete, by its number */
	PMOF_KV_STAT		= 0x33,
	PMOF_KV_CHECK		= 0x34,	/* does the store agree with itself? */
};

enum pmof_kv_status {
	PMOF_KV_SC_OK		= 0,
	PMOF_KV_SC_INVALID	= 1,	/* malformed: length, reserved field, key of no length */
	PMOF_KV_SC_NO_KEY	= 2,
	PMOF_KV_SC_VERSION	= 3,	/* another version is there; the reply names it */
	PMOF_KV_SC_NO_SPACE	= 4,
	PMOF_KV_SC_NO_MEMORY	= 5,
	PMOF_KV_SC_TOO_LARGE	= 6,
	PMOF_KV_SC_NO_LEASE	= 7,	/* not one of this file's, or over */
	PMOF_KV_SC_READ_ONLY	= 8,	/* the store is damaged, and takes no changes */
	PMOF_KV_SC_MEDIUM	= 9,	/* a bad sector lies in the object */
	PMOF_KV_SC_LIMIT	= 10,	/* too many leases, or open files */
	PMOF_KV_SC_MAX
};

/* Of a put or delete: the version that it shall replace. */
#define PMOF_KV_EXPECT_NONE	0ULL		/* there must be no such key */
#define PMOF_KV_EXPECT_ANY	(~0ULL)

/**
 * struct pmof_kv_request - starts every request
 * @epoch: this file has no READ under way of an address that an answer gave it with
 *	an epoch below this; 0: nothing is said
 * @number: of a put or delete, for OUTCOME: above any before from this file, or 0
 */
struct pmof_kv_request {
	__le64 epoch;
	__le64 number;
};

/**
 * struct pmof_kv_reply - starts every reply
 * @status: enum pmof_kv_status
 * @reserved: zero
 * @version: the object's: of a put the new one, of a get the one found; with
 *	PMOF_KV_SC_VERSION the one that is there, 0 if there is none
 */
struct pmof_kv_reply {
	__le32 status;
	__le32 reserved;
	__le64 version;
};

/**
 * struct pmof_kv_prepare - PMOF_KV_PREPARE_PUT, the number is the commit's
 * @req: request
 * @value_length: bytes
 * @key_length: bytes, 1 to PMOF_KV_KEY_MAX
 * @reserved: zero
 * @key: its bytes
 */
struct pmof_kv_prepare {
	struct pmof_kv_request req;
	__le32 value_length;
	__le16 key_length;
	__le16 reserved;
	__u8 key[];
};

/**
 * struct pmof_kv_prepare_reply - what PREPARE_PUT gives
 * @reply: the version is the one that the commit will make
 * @offset: in the namespace: where the value belongs
 * @lease: for COMMIT or RETURN, by the same file in the same session
 * @reserved: zero
 */
struct pmof_kv_prepare_reply {
	struct pmof_kv_reply reply;
	__le64 offset;
	__le32 lease;
	__le32 reserved;
};

/**
 * struct pmof_kv_commit - PMOF_KV_COMMIT and PMOF_KV_RETURN; the reply is a reply
 * @req: request
 * @expected: version to be replaced, or PMOF_KV_EXPECT_*; RETURN: 0
 * @lease: ends, whatever the answer; but stays if the number's outcome is known already, which then
 *         is the answer, and if the message is refused as it is (INVALID, NO_MEMORY when it comes)
 * @reserved: zero
 *
 * The value's WRITE goes ahead of the COMMIT on the same queue: in one SUBMIT.
 */
struct pmof_kv_commit {
	struct pmof_kv_request req;
	__le64 expected;
	__le32 lease;
	__le32 reserved;
};

/**
 * struct pmof_kv_put - PMOF_KV_PUT_INLINE; the reply is a reply
 * @req: request
 * @expected: version to be replaced, or PMOF_KV_EXPECT_*
 * @value_length: bytes
 * @key_length: bytes, 1 to PMOF_KV_KEY_MAX
 * @reserved: zero
 * @data: the key, then the value
 */
struct pmof_kv_put {
	struct pmof_kv_request req;
	__le64 expected;
	__le32 value_length;
	__le16 key_length;
	__le16 reserved;
	__u8 data[];
};

/**
 * struct pmof_kv_delete - PMOF_KV_DELETE; the reply is a reply
 * @req: request
 * @expected: version to be deleted, or PMOF_KV_EXPECT_ANY
 * @reserved: zero
 * @key_length: bytes, 1 to PMOF_KV_KEY_MAX
 * @reserved16: zero
 * @key: its bytes
 */
struct pmof_kv_delete {
	struct pmof_kv_request req;
	__le64 expected;
	__le32 reserved;
	__le16 key_length;
	__le16 reserved16;
	__u8 key[];
};

#define PMOF_KV_BATCH_MAX	64

/**
 * struct pmof_kv_part - one request of a batch
 * @length: bytes of @request
 * @opcode: PMOF_KV_PUT_INLINE or PMOF_KV_DELETE
 * @reserved: zero
 * @request: as in a message of its own, then anything to a multiple of 8
 */
struct pmof_kv_part {
	__le32 length;
	__u8 opcode;
	__u8 reserved[3];
	__u8 request[];
};

/**
 * struct pmof_kv_batch - PMOF_KV_BATCH: requests that share a message and an answer, and no more
 * @count: of parts, 1 to PMOF_KV_BATCH_MAX
 * @reserved: zero
 * @parts: struct pmof_kv_part, one behind the other
 *
 * They are not ordered, and each is refused or done by itself.
 */
struct pmof_kv_batch {
	__le32 count;
	__le32 reserved;
	__u8 parts[];
};

/**
 * struct pmof_kv_batch_reply - what BATCH gives
 * @reply: not OK: the message is refused as a whole, nothing follows and nothing is done
 * @part: as many as parts, in their order
 */
struct pmof_kv_batch_reply {
	struct pmof_kv_reply reply;
	struct pmof_kv_reply part[];
};

/**
 * struct pmof_kv_get - PMOF_KV_GET
 * @req: request
 * @max_inline: bytes of a value that the answer may carry; a longer one is
 *	answered with its address
 * @key_length: bytes, 1 to PMOF_KV_KEY_MAX
 * @reserved: zero
 * @key: its bytes
 */
struct pmof_kv_get {
	struct pmof_kv_request req;
	__le32 max_inline;
	__le16 key_length;
	__le16 reserved;
	__u8 key[];
};

#define PMOF_KV_GET_F_INLINE	0x1	/* the value is here, else at the address */

/**
 * struct pmof_kv_get_reply - what GET gives
 * @reply: version
 * @value_length: bytes
 * @flags: PMOF_KV_GET_F_*
 * @offset: in the namespace, of the object (struct pmof_kv_object_header); or 0
 * @epoch: of that address; or 0
 * @value: as many as @value_length with PMOF_KV_GET_F_INLINE
 */
struct pmof_kv_get_reply {
	struct pmof_kv_reply reply;
	__le32 value_length;
	__le32 flags;
	__le64 offset;
	__le64 epoch;
	__u8 value[];
};

/**
 * struct pmof_kv_scan - PMOF_KV_SCAN
 * @req: request
 * @hash: cursor, as the last answer gave it; 0 at first
 * @skip: likewise
 * @max: entries wanted, 0: as many as fit
 */
struct pmof_kv_scan {
	struct pmof_kv_request req;
	__le64 hash;
	__le32 skip;
	__le32 max;
};

/**
 * struct pmof_kv_scan_entry - one key
 * @version: of its object
 * @value_length: bytes
 * @key_length: bytes
 * @reserved: zero
 * @key: its bytes, with zeros to a multiple of 8
 */
struct pmof_kv_scan_entry {
	__le64 version;
	__le32 value_length;
	__le16 key_length;
	__le16 reserved;
	__u8 key[];
};

#define PMOF_KV_SCAN_F_END	0x1	/* there are no more */

/**
 * struct pmof_kv_scan_reply - what SCAN gives
 * @reply: status
 * @hash: where to go on
 * @skip: likewise
 * @count: entries that follow
 * @flags: PMOF_KV_SCAN_F_*
 * @reserved: zero
 * @entries: struct pmof_kv_scan_entry, one behind the other
 */
struct pmof_kv_scan_reply {
	struct pmof_kv_reply reply;
	__le64 hash;
	__le32 skip;
	__le32 count;
	__le32 flags;
	__le32 reserved;
	__u8 entries[];
};

/* OUTCOME: a bare request, with the number.  The reply's status is OK, and */
enum pmof_kv_outcome {
	PMOF_KV_OUTCOME_UNKNOWN		= 0,	/* forgotten, or never come */
	PMOF_KV_OUTCOME_COMMITTED	= 1,	/* durably; the reply has the version */
	PMOF_KV_OUTCOME_REFUSED		= 2,	/* it has changed nothing, and will not */
};

struct pmof_kv_outcome_reply {
	struct pmof_kv_reply reply;
	__le32 outcome;			/* enum pmof_kv_outcome */
	__le32 reserved;
};

/* What STAT gives, in this order, behind a reply and a count. */
enum pmof_kv_stat {
	PMOF_KV_STAT_KEYS,
	PMOF_KV_STAT_CHUNKS,		/* of the store */
	PMOF_KV_STAT_FREE_CHUNKS,	/* without a size class */
	PMOF_KV_STAT_SLOTS_USED,	/* live, leased, retired */
	PMOF_KV_STAT_RETIRED,		/* slots that wait for their readers */
	PMOF_KV_STAT_LEASES,
	PMOF_KV_STAT_RECORDS,		/* of the log, in use */
	PMOF_KV_STAT_MAX_RECORDS,	/* of the log */
	PMOF_KV_STAT_EPOCH,
	PMOF_KV_STAT_DRAM,		/* bytes of index and allocator */
	PMOF_KV_STAT_RECOVERY_NS,	/* of the last opening */
	PMOF_KV_STAT_RECOVERED,		/* objects found by it */
	PMOF_KV_STAT_ROUNDS,		/* of the worker, from here on since the opening */
	PMOF_KV_STAT_PREPARES,
	PMOF_KV_STAT_COMMITS,
	PMOF_KV_STAT_PUTS,		/* inline ones */
	PMOF_KV_STAT_DELETES,
	PMOF_KV_STAT_GETS,
	PMOF_KV_STAT_GETS_INLINE,	/* of these, answered with the value */
	PMOF_KV_STAT_SCANS,
	PMOF_KV_STAT_CHECKPOINTS,
	PMOF_KV_STAT_COPIED,		/* bytes of values that the server's CPU has copied */
	PMOF_KV_STAT_LINES,		/* cache lines written back or past the cache */
	PMOF_KV_STAT_FENCES,
	PMOF_KV_STAT_BUSY_NS,		/* of the worker, in rounds */
	PMOF_KV_STAT_EVICTED,		/* sessions ended because they kept what others want */
	PMOF_KV_STAT_STORED,		/* bytes that the server's CPU has stored on the medium */
	/* Time that the worker has spent on requests of a kind, with their share of fences. */
	PMOF_KV_STAT_PUT_NS,
	PMOF_KV_STAT_PREPARE_NS,
	PMOF_KV_STAT_COMMIT_NS,
	PMOF_KV_STAT_DELETE_NS,
	PMOF_KV_STAT_GET_NS,
	PMOF_KV_STAT_BATCHES,		/* messages of many; their parts count as others */
	PMOF_KV_STAT_MAX
};

struct pmof_kv_stat_reply {
	struct pmof_kv_reply reply;
	__le32 count;
	__le32 reserved;
	__le64 value[];
};

enum pmof_kv_check_part {
	PMOF_KV_CHECK_SLOTS	= 0,	/* what stands in the slots, against the index */
	PMOF_KV_CHECK_INDEX	= 1,	/* the other way round */
};

/**
 * struct pmof_kv_check - PMOF_KV_CHECK: a piece of a check, while the store is in use
 * @req: request
 * @at: cursor, as the last answer of the same part gave it; 0 at first
 * @skip: likewise
 * @part: enum pmof_kv_check_part
 */
struct pmof_kv_check {
	struct pmof_kv_request req;
	__le64 at;
	__le32 skip;
	__le32 part;
};

enum pmof_kv_fault {
	PMOF_KV_FAULT_KEY	= 0,	/* the index has two objects of its key */
	PMOF_KV_FAULT_FREE	= 1,	/* an object that is indexed, in a slot that is free */
	PMOF_KV_FAULT_TRAILER	= 2,	/* an indexed object's trailer is not its own */
	PMOF_KV_FAULT_STRAY	= 3,	/* no key leads to it, but a recovery would find it */
	PMOF_KV_FAULT_HEADER	= 4,	/* a free slot with a header that nothing accounts for */
	PMOF_KV_FAULT_ENTRY	= 5,	/* the index names what is no object of that key */
	PMOF_KV_FAULT_MAX
};

#define PMOF_KV_CHECK_FAULTS	64	/* of one answer */
#define PMOF_KV_CHECK_F_END	0x1	/* the part is through */

/**
 * struct pmof_kv_check_fault - what is damaged
 * @offset: of the slot
 * @kind: enum pmof_kv_fault
 * @reserved: zero
 */
struct pmof_kv_check_fault {
	__le64 offset;
	__le32 kind;
	__le32 reserved;
};

/**
 * struct pmof_kv_check_reply - what CHECK gives
 * @reply: status
 * @at: where to go on
 * @skip: likewise
 * @flags: PMOF_KV_CHECK_F_*
 * @seen: live objects in this piece, or entries of the index
 * @unreadable: slots in it of which a bad sector hides what is to be looked at
 * @unaccounted: in the first answer of PMOF_KV_CHECK_SLOTS: slots in use that nobody holds,
 *	two's complement; else 0
 * @count: faults that follow
 * @reserved: zero
 * @fault: they
 */
struct pmof_kv_check_reply {
	struct pmof_kv_reply reply;
	__le64 at;
	__le32 skip;
	__le32 flags;
	__le64 seen;
	__le64 unreadable;
	__le64 unaccounted;
	__le32 count;
	__le32 reserved;
	struct pmof_kv_check_fault fault[];
};

/**
 * struct pmof_kv_object_header - an object on the medium, as who READs it checks it
 * @magic: PMOF_KV_OBJECT_MAGIC
 * @key_length: bytes
 * @reserved: zero
 * @generation: the version
 * @value_length: bytes
 * @crc: for recovery
 * @data: key, value, zeros to a multiple of 8, trailer as uapi/pmof.h has it,
 *	with the same generation
 */
struct pmof_kv_object_header {
	__le32 magic;
	__le16 key_length;
	__le16 reserved;
	__le64 generation;
	__le32 value_length;
	__le32 crc;
	__u8 data[];
};

#define PMOF_KV_OBJECT_MAGIC	0x4f564b50U	/* "PKVO" */

#endif /* _UAPI_PMOF_KV_H */
