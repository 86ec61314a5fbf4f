/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Persistent Memory over Fabrics: the user space interface of a character
 * device /dev/pmofcN.
 *
 * Structures
 *   Every ioctl structure starts with its own size in bytes.  A size below
 *   the first version's is EINVAL; a size above the kernel's, up to a page, is
 *   accepted when the bytes that the kernel does not know are zero, and E2BIG
 *   otherwise.
 *   Reserved fields and unknown flags must be zero, else EINVAL.
 *
 * Errors, the same for every operation
 *   EINVAL    malformed request: size, reserved field, unknown flag or opcode,
 *             an atomic whose offset is not a multiple of 8, an object that is
 *             not aligned or shorter than 16 bytes, a generation of 0 or of
 *             more than 48 bits
 *   E2BIG     the structure has a non-zero tail that the kernel does not know,
 *             or a SUBMIT has more than PMOF_SUBMIT_MAX operations
 *   ERANGE    offset + length is past the end of the namespace, or overflows
 *   EFAULT    a bad user pointer; nothing was written to the namespace (beyond
 *             8 MiB of a put: see docs/semantics.md, 13).  CALL: of the answer's
 *             buffer, as EMSGSIZE
 *   EBADF     the file is not open for the direction that the operation needs
 *   EROFS     the namespace is read-only for this session; like EACCES and ENODEV, if that is news
 *             to it, of an operation that was under way: it may have happened
 *   EOPNOTSUPP  the session has no such operation (see pmof_info.features)
 *   EAGAIN    a get with PMOF_F_VALID, or REVALIDATE: the object is not
 *             committed, or was rewritten while it was read; the buffer's
 *             contents are undefined
 *   ESTALE    a put with PMOF_F_COMMIT: the object is not prepared with that
 *             generation (told by the methods assist and rpc only; its data may
 *             have been overwritten: not with rpc).  Or the connection is not that of
 *             pmof_op.session
 *   ENOTTY    unknown ioctl
 *   EIO       the connection was lost before the operation was acknowledged, and
 *             has not been recovered in time (fail_io_timeout): a put may or may not
 *             have been placed, and nothing is promised of its durability.  At once
 *             for what may have happened and must not happen twice: CAS, FETCH_ADD, CALL,
 *             and anything with PMOF_F_NOREPLAY or a session; all else is sent again, as a whole,
 *             on a new connection.  PERSIST, fsync: the server has restarted; puts
 *             that were not made durable before may be lost (told once for each
 *             open file, and to each that was under way).  Or a bad sector of the
 *             medium lies in the range (docs/failure.md): of a put a part may have
 *             been placed.  Or the server failed at it: its device's flush did, or
 *             an object's trailer was changed by others all the time
 *   ENODEV    the device was disconnected by its administrator, or the server no
 *             longer exports the namespace
 *   EACCES    the server has withdrawn the rights
 *   ECANCELED (SUBMIT, per operation) an earlier operation failed first; it was not sent
 *   EINTR     a fatal signal came while the operation waited to be started
 *   EMSGSIZE  CALL: the answer is longer than its buffer; it has happened
 *   EOVERFLOW CALL: too many files have been opened on this device
 *   ENOMEM    out of memory; as EFAULT
 *
 * Offsets and lengths are in bytes.  A length of zero succeeds and does
 * nothing (of an object, an atomic or a CALL: EINVAL).  All calls are thread safe.
 *
 * Committed objects
 *   An object is a range whose offset and length are multiples of 8; its last
 *   8 bytes are the trailer: a generation and two flag bytes, the persist flag
 *   PF and the visible flag VF.  PREPARE durably gives it a new generation and
 *   clears the flags; then a put with PMOF_F_COMMIT writes all but the trailer,
 *   makes it durable, sets PF durably, then VF.  A reader trusts VF (get with
 *   PMOF_F_VALID), recovery after a power cut trusts PF alone: where it finds
 *   PF without VF, REVALIDATE sets VF.  Nothing may be written into an object
 *   before its PREPARE has returned.
 */
#ifndef _UAPI_PMOF_H
#define _UAPI_PMOF_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define PMOF_NAME_MAX		63	/* longest namespace name, bytes */
#define PMOF_ID_MAX		31	/* longest client ID, bytes */
#define PMOF_SUBMIT_MAX		256	/* operations in one SUBMIT */

/* Operation codes of struct pmof_op. */
enum pmof_opcode {
	PMOF_OP_PUT		= 1,	/* write @length bytes from @addr */
	PMOF_OP_GET		= 2,	/* read @length bytes into @addr */
	PMOF_OP_PERSIST		= 3,	/* make earlier completed puts durable */
	PMOF_OP_CAS		= 4,	/* 8-byte compare and swap */
	PMOF_OP_FETCH_ADD	= 5,	/* 8-byte fetch and add */
	PMOF_OP_PREPARE		= 6,	/* durably a new generation, flags clear */
	PMOF_OP_REVALIDATE	= 7,	/* set VF where PF is set */
	PMOF_OP_CALL		= 8,	/* a message to the namespace's service, and its answer */
};

/* What a namespace offers besides its bytes. */
enum pmof_service {
	PMOF_SERVICE_RAW	= 0,	/* nothing */
	PMOF_SERVICE_STORE	= 1,	/* keys and values: pmof_kv.h */
};

/* Operation flags. */
#define PMOF_F_PERSIST		0x1 /* PUT, CAS, FETCH_ADD: durable when it returns */
#define PMOF_F_COMMIT		0x2 /* PUT: commit the object; implies PMOF_F_PERSIST */
#define PMOF_F_VALID		0x4 /* GET: EAGAIN unless the object is committed */
#define PMOF_F_NOREPLAY		0x8 /* any: EIO rather than a second time, see EIO above */
#define PMOF_F_ORDERED		0x10 /* CALL: what has completed on this device is placed */

/*
 * The trailer of an object, a little-endian word: 48 bits of generation, PF
 * (0 or 1), VF (0, or 0x80 and the low 7 bits of the sum of the generation's
 * bytes, byte i times 2^i, so that no mixture of two trailers looks valid).
 */
#define PMOF_TRAILER_SIZE	8
#define PMOF_OBJECT_MIN		16
#define PMOF_GENERATION_MASK	0xffffffffffffULL
#define PMOF_TRAILER_PF_SHIFT	48
#define PMOF_TRAILER_VF_SHIFT	56

/* How durability is reached: bit numbers of pmof_info.methods. */
enum pmof_method {
	PMOF_METHOD_AUTO	= 0,	/* by size: see the device's sysfs attribute auto */
	PMOF_METHOD_READ	= 1,	/* WRITE, then READ on the same queue */
	PMOF_METHOD_ASSIST	= 2,	/* WRITE, then a message; the server flushes */
	PMOF_METHOD_RPC		= 3,	/* data in a message; the server copies */
	PMOF_METHOD_FLUSH	= 4,	/* WRITE, then RDMA FLUSH */
};

/* What survives a power cut at the server. */
enum pmof_domain {
	PMOF_DOMAIN_UNKNOWN		= 0,
	PMOF_DOMAIN_MEMORY_CONTROLLER	= 1,	/* ADR: not the CPU caches */
	PMOF_DOMAIN_CPU_CACHE		= 2,	/* eADR */
	PMOF_DOMAIN_DEVICE_FLUSH	= 3,	/* only after a flush of the device */
};

/* Where the writes of the server's HCA land. */
enum pmof_placement {
	PMOF_PLACEMENT_UNKNOWN	= 0,
	PMOF_PLACEMENT_CACHE	= 1,
	PMOF_PLACEMENT_MEMORY	= 2,
};

/* pmof_info.features */
#define PMOF_FEAT_ATOMICS	0x1ULL	/* CAS and FETCH_ADD */
#define PMOF_FEAT_CALL		0x2ULL	/* CALL: the namespace has a service */

/* pmof_info.flags */
#define PMOF_INFO_READ_ONLY	0x1	/* puts fail with EROFS */
#define PMOF_INFO_DURABLE	0x2	/* durable acknowledgements survive a power cut */
#define PMOF_INFO_ASSERTED	0x4	/* placement is the operator's word, not found */
#define PMOF_INFO_EMULATED	0x8	/* the server emulates a slower medium: for measurements */

/**
 * struct pmof_info - what the device is and what the session may do
 * @size: in: bytes of this structure
 * @flags: PMOF_INFO_*
 * @ns_size: bytes of the namespace
 * @segment_size: bytes of a segment (one MR at the server)
 * @generation: drawn when the namespace was enabled
 * @features: PMOF_FEAT_*
 * @methods: usable persist methods, bit n is enum pmof_method n
 * @method: the persist method in use, enum pmof_method
 * @domain: enum pmof_domain
 * @placement: enum pmof_placement
 * @nr_queues: I/O queues of the connection, without those that are polled
 * @queue_depth: requests of the character device that one queue holds
 * @max_submit: operations that one SUBMIT takes
 * @max_rpc: bytes that the rpc method takes; a larger put goes by assist
 * @name: namespace name, NUL terminated
 * @service: enum pmof_service
 * @max_call: with PMOF_FEAT_CALL: bytes of a request that CALL takes, else 0
 * @session: of the connection there is now, or was last: another number with every new one.
 *	For struct pmof_op
 */
struct pmof_info {
	__u32 size;
	__u32 flags;
	__aligned_u64 ns_size;
	__aligned_u64 segment_size;
	__aligned_u64 generation;
	__aligned_u64 features;
	__u32 methods;
	__u32 method;
	__u32 domain;
	__u32 placement;
	__u32 nr_queues;
	__u32 queue_depth;
	__u32 max_submit;
	__u32 max_rpc;
	char name[64];
	__u32 service;
	__u32 max_call;
	__aligned_u64 session;
};

/**
 * struct pmof_rw - PMOF_IOC_PUT and PMOF_IOC_GET
 * @size: bytes of this structure
 * @flags: PMOF_F_PERSIST, PMOF_F_COMMIT (PUT), PMOF_F_VALID (GET), PMOF_F_NOREPLAY
 * @offset: first byte in the namespace
 * @length: bytes; of an object the trailer is counted
 * @addr: user buffer of @length bytes; a put with PMOF_F_COMMIT does not look
 *	at the last 8, in whose place the trailer is written
 * @generation: COMMIT: what PREPARE gave; VALID: out, the object's; else zero
 */
struct pmof_rw {
	__u32 size;
	__u32 flags;
	__aligned_u64 offset;
	__aligned_u64 length;
	__aligned_u64 addr;
	__aligned_u64 generation;
};

/**
 * struct pmof_object - PMOF_IOC_PREPARE and PMOF_IOC_REVALIDATE
 * @size: bytes of this structure
 * @flags: PMOF_F_NOREPLAY or zero
 * @offset: first byte in the namespace, a multiple of 8
 * @length: bytes with the trailer, a multiple of 8, at least PMOF_OBJECT_MIN
 * @generation: out: PREPARE: the new one; REVALIDATE: the committed object's
 *
 * PREPARE may run for one object at a time; whoever prepares owns it until it
 * is committed.
 */
struct pmof_object {
	__u32 size;
	__u32 flags;
	__aligned_u64 offset;
	__aligned_u64 length;
	__aligned_u64 generation;
};

/**
 * struct pmof_persist - PMOF_IOC_PERSIST
 * @size: bytes of this structure
 * @flags: PMOF_F_NOREPLAY or zero
 * @offset: first byte in the namespace
 * @length: bytes
 *
 * On return every put to the range that completed on this device before the
 * call, by whichever process, is durable.
 */
struct pmof_persist {
	__u32 size;
	__u32 flags;
	__aligned_u64 offset;
	__aligned_u64 length;
};

/**
 * struct pmof_atomic - PMOF_IOC_CAS and PMOF_IOC_FETCH_ADD
 * @size: bytes of this structure
 * @flags: PMOF_F_PERSIST; PMOF_F_NOREPLAY changes nothing, atomics never go twice
 * @offset: of the 8-byte word, a multiple of 8
 * @compare: CAS: the value expected; FETCH_ADD: zero
 * @operand: CAS: the value to store; FETCH_ADD: the value to add
 * @old: out: the word's value before the operation.  A CAS stored @operand
 *	if and only if @old equals @compare.
 *
 * Words are in the host byte order of the machines (all little endian).
 */
struct pmof_atomic {
	__u32 size;
	__u32 flags;
	__aligned_u64 offset;
	__aligned_u64 compare;
	__aligned_u64 operand;
	__aligned_u64 old;
};

/**
 * struct pmof_op - one operation of a SUBMIT
 * @size: bytes of this structure; all of one SUBMIT have the same size
 * @opcode: enum pmof_opcode
 * @reserved: zero
 * @flags: PMOF_F_*
 * @result: out: 0 or a negative errno
 * @offset: first byte in the namespace
 * @length: bytes; 8 for CAS and FETCH_ADD; CALL: of the request, 1 to max_call
 * @addr: PUT, GET: user buffer; CALL: the request; else zero
 * @compare: as in struct pmof_atomic; CALL: address of the reply's buffer; else zero
 * @operand: as in struct pmof_atomic; PUT with PMOF_F_COMMIT: the generation;
 *	else zero
 * @old: out: as in struct pmof_atomic; PREPARE, REVALIDATE and GET with
 *	PMOF_F_VALID: the generation; CALL: bytes of the reply
 * @session: 0, or pmof_info.session: on any other connection than that one it fails with
 *	ESTALE and has done nothing; lost on that one it is EIO, as with PMOF_F_NOREPLAY
 * @call: CALL: what the service is asked, 0x20 to 0x3e; else zero
 * @room: CALL: bytes of the reply's buffer; else zero
 *
 * CALL sends a message to the namespace's service (enum pmof_service), which answers
 * with another; @offset is zero.  What the two say is between the caller and the service;
 * a request that the service does not like is no error of CALL.  Up to 0x2f it changes
 * something: the file is open for writing, and the session may write; from 0x30 on the file
 * is open for reading.  Once posted it is not sent again: EIO as for CAS.  EMSGSIZE: the
 * answer is longer than @room; what was asked has happened.
 */
struct pmof_op {
	__u32 size;
	__u16 opcode;
	__u16 reserved;
	__u32 flags;
	__s32 result;
	__aligned_u64 offset;
	__aligned_u64 length;
	__aligned_u64 addr;
	__aligned_u64 compare;
	__aligned_u64 operand;
	__aligned_u64 old;
	__aligned_u64 session;
	__u32 call;
	__u32 room;
};

/**
 * struct pmof_submit - PMOF_IOC_SUBMIT
 * @size: bytes of this structure
 * @flags: zero
 * @ops: user pointer to @nr_ops struct pmof_op
 * @nr_ops: 1 to PMOF_SUBMIT_MAX
 * @reserved: zero
 *
 * The operations run in order on one queue: one after a GET, CAS, FETCH_ADD,
 * PERSIST, PREPARE, REVALIDATE or a put with PMOF_F_PERSIST or PMOF_F_COMMIT
 * starts when that one has finished; two puts with none of these between them
 * are not ordered.  (So a COMMIT's generation must be known beforehand.)
 * PREPAREs that follow each other go to the server together, as if they were
 * one operation, and so do REVALIDATEs; each has a result of its own.
 * A CALL behind PUTs is sent behind them without waiting: the service finds them placed.
 * CALLs that follow each other are under way together, in no order; what else comes behind
 * a CALL starts when that has been answered.
 * All descriptors are checked before the first runs; a malformed one fails the
 * call and nothing has happened.  Otherwise the call returns 0 and each @result
 * tells.  Behind a failed operation, what had not been sent yet is ECANCELED; what was
 * under way together with it has a result of its own, 0 among them.  Where @ops has
 * become unwritable meanwhile it is EFAULT, and all may have happened.
 */
struct pmof_submit {
	__u32 size;
	__u32 flags;
	__aligned_u64 ops;
	__u32 nr_ops;
	__u32 reserved;
};

/*
 * io_uring: an SQE with opcode IORING_OP_URING_CMD, cmd_op PMOF_URING_CMD_OP and a
 * struct pmof_op in the command area of a ring with IORING_SETUP_SQE128.  All
 * opcodes and flags of SUBMIT; @size is 80; @result and @old are not looked at.  The
 * CQE's res is the result, 0 or a negative errno, and with IORING_SETUP_CQE32 the first
 * word of its big_cqe is what SUBMIT returns in @old.  With IORING_URING_CMD_FIXED the
 * @addr of a PUT or GET lies in the registered buffer buf_index.  ENOTTY: another
 * cmd_op; EINVAL: no SQE128, too.  Commands are not ordered with each other, unless the
 * ring links them; and a CALL is not behind a PUT's WRITE by being linked to it, unless
 * it has PMOF_F_ORDERED: they may take two queues.
 */
#define PMOF_URING_CMD_OP	0

#define PMOF_IOC_MAGIC		0xB7
#define PMOF_IOC_GET_INFO	_IO(PMOF_IOC_MAGIC, 0x00) /* struct pmof_info */
#define PMOF_IOC_PUT		_IO(PMOF_IOC_MAGIC, 0x01) /* struct pmof_rw */
#define PMOF_IOC_GET		_IO(PMOF_IOC_MAGIC, 0x02) /* struct pmof_rw */
#define PMOF_IOC_PERSIST	_IO(PMOF_IOC_MAGIC, 0x03) /* struct pmof_persist */
#define PMOF_IOC_CAS		_IO(PMOF_IOC_MAGIC, 0x04) /* struct pmof_atomic */
#define PMOF_IOC_FETCH_ADD	_IO(PMOF_IOC_MAGIC, 0x05) /* struct pmof_atomic */
#define PMOF_IOC_SUBMIT		_IO(PMOF_IOC_MAGIC, 0x06) /* struct pmof_submit */
#define PMOF_IOC_PREPARE	_IO(PMOF_IOC_MAGIC, 0x07) /* struct pmof_object */
#define PMOF_IOC_REVALIDATE	_IO(PMOF_IOC_MAGIC, 0x08) /* struct pmof_object */

#endif /* _UAPI_PMOF_H */
