/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libpmof: Persistent Memory over Fabrics from user space.
 *
 * Data calls wrap the ioctls of a character device /dev/pmofcN (pmof(4));
 * administrative calls wrap /dev/pmof-control and sysfs (docs/interfaces.md).
 *
 * Every function that returns int returns 0 (or a count, where it says so) or
 * a negative errno; errno itself is left undefined.  Offsets and lengths are
 * in bytes.  Functions whose comment says "thread safe" may be called from any
 * number of threads at once, on the same handle too.
 *
 * A DEVICE argument is any of "pmof0", "pmofc0", "0", "/dev/pmofc0", or the
 * path of another link or node of that device, as /dev/pmof/by-name/NAME.
 */
#ifndef LIBPMOF_H
#define LIBPMOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <pmof.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PMOF_DEFAULT_PORT	20049	/* service number that a server listens on */
#define PMOF_CONTROL_PATH	"/dev/pmof-control"

struct pmof_dev;	/* an open device */

/* --- open and ask ---------------------------------------------------------- */

/**
 * pmof_open - open the character device of a connection
 * @device: DEVICE, see the top of this file
 * @flags: O_RDONLY, O_WRONLY or O_RDWR, as in open(2), and optionally O_DSYNC;
 *	the file is always opened with O_CLOEXEC
 * @dev: out: the handle, to be closed with pmof_close()
 *
 * Return: 0; -EINVAL @device has none of the forms or @flags has another bit (but O_CLOEXEC);
 * -ENODEV the path is not a pmof device; -ENOENT no such device, -EACCES, -EBUSY its
 * disk is in use, and whatever else open(2) says.  Thread safe.
 */
int pmof_open(const char *device, int flags, struct pmof_dev **dev);

/**
 * pmof_close - close a handle
 * @dev: from pmof_open(), or NULL; not valid afterwards
 *
 * Makes nothing durable.  Not thread safe: no other call on @dev may be
 * running.
 */
void pmof_close(struct pmof_dev *dev);

/**
 * pmof_fd - the file descriptor of a handle
 * @dev: handle
 *
 * For pread(2), pwrite(2), fsync(2) and io_uring.  It belongs to @dev: do not
 * close it.  Return: the descriptor.  Thread safe.
 */
int pmof_fd(const struct pmof_dev *dev);

/**
 * pmof_instance - the number N of a handle's device pmofN
 * @dev: handle
 *
 * Return: the number.  Thread safe.
 */
int pmof_instance(const struct pmof_dev *dev);

/**
 * pmof_get_info - what the device is and what the session may do
 * @dev: handle
 * @info: out: filled; fields that the running kernel does not know are zero
 * @info_size: sizeof(*@info)
 *
 * Source: PMOF_IOC_GET_INFO.  Return: 0; -EINVAL @info_size is below the first
 * version's; -ENODEV disconnected.  Thread safe.
 */
int pmof_get_info(struct pmof_dev *dev, struct pmof_info *info, size_t info_size);

/* --- data ------------------------------------------------------------------ */

/*
 * The data calls share the errors at the top of pmof.h: -ERANGE past the end,
 * -EFAULT bad buffer, -EBADF opened for the other direction, -EROFS, -EINVAL,
 * -EOPNOTSUPP, -EIO connection lost, -ENODEV disconnected, -ENOMEM, -EINTR.
 * Those named below are the ones that a call adds or gives a meaning of its
 * own.  A length of zero succeeds and does nothing.
 */

/**
 * pmof_put - write to the namespace
 * @dev: handle opened for writing
 * @buf: data
 * @length: bytes, any number
 * @offset: first byte in the namespace, any alignment
 * @flags: 0, or PMOF_F_PERSIST: durable when the call returns; with either
 *	PMOF_F_NOREPLAY: -EIO rather than a second time after a lost connection
 *
 * Without PMOF_F_PERSIST the data is visible to every client when the call
 * returns, and not durable until a pmof_persist() that covers it.
 *
 * Source: PMOF_IOC_PUT.  Return: 0, all was written; or -errno, and any part
 * of the range may have been written (after -ERANGE, -EBADF and -EINVAL:
 * none; after -EROFS only if the right to write went while the connection was
 * lost).  Thread safe; puts that overlap in space and time leave any mix of
 * the two.
 */
int pmof_put(struct pmof_dev *dev, const void *buf, uint64_t length, uint64_t offset,
	     unsigned int flags);

/**
 * pmof_get - read from the namespace
 * @dev: handle opened for reading
 * @buf: out: data
 * @length: bytes, any number
 * @offset: first byte in the namespace, any alignment
 *
 * What a get returns may be visible but not yet durable.
 *
 * Source: PMOF_IOC_GET.  Return: 0, all was read; or -errno, and @buf is
 * undefined.  Thread safe.
 */
int pmof_get(struct pmof_dev *dev, void *buf, uint64_t length, uint64_t offset);

/**
 * pmof_persist - make earlier puts durable
 * @dev: handle, opened for whatever
 * @offset: first byte in the namespace
 * @length: bytes
 *
 * On return every put to the range that completed on this device before the
 * call, by whichever handle or process, is durable.
 *
 * Source: PMOF_IOC_PERSIST; docs/persistence.md, PERSIST of earlier
 * puts.  Return: 0 or -errno; after -EIO or -ENODEV
 * nothing is known of the durability of the range, and a further call does not
 * find out: -EIO for a server that has restarted is told once to each handle,
 * and not to one that was opened after somebody was told, as by fsync(2).  Put
 * again what must be there.  Thread safe.
 */
int pmof_persist(struct pmof_dev *dev, uint64_t offset, uint64_t length);

/**
 * pmof_cas - compare an 8-byte word and swap it if equal
 * @dev: handle opened for reading and writing
 * @offset: of the word, a multiple of 8
 * @expect: value to compare with
 * @desired: value to store if equal
 * @flags: 0, or PMOF_F_PERSIST: durable when the call returns
 * @old: out, may be NULL: the word's value before; @desired was stored if and
 *	only if it equals @expect
 *
 * Source: PMOF_IOC_CAS.  Return: 0 (also if nothing was stored: compare *@old)
 * or -errno; after -EIO or -ENODEV the outcome is unknown.  Thread safe, and
 * atomic against every other pmof_cas() and pmof_fetch_add() on the namespace.
 */
int pmof_cas(struct pmof_dev *dev, uint64_t offset, uint64_t expect, uint64_t desired,
	     unsigned int flags, uint64_t *old);

/**
 * pmof_fetch_add - add to an 8-byte word
 * @dev: handle opened for reading and writing
 * @offset: of the word, a multiple of 8
 * @add: added modulo 2^64
 * @flags: 0, or PMOF_F_PERSIST: durable when the call returns
 * @old: out, may be NULL: the word's value before
 *
 * Source: PMOF_IOC_FETCH_ADD.  Return: 0 or -errno; after -EIO or -ENODEV the
 * outcome is unknown.  Thread safe, and atomic as pmof_cas() is.
 */
int pmof_fetch_add(struct pmof_dev *dev, uint64_t offset, uint64_t add, unsigned int flags,
		   uint64_t *old);

/* --- committed objects ------------------------------------------------------ */

/*
 * An object is a range whose @offset and @length are multiples of 8; @length
 * counts the trailer, the last 8 bytes, and is at least PMOF_OBJECT_MIN.  The
 * top of pmof.h says what the trailer is.  The life of an object: prepare,
 * commit, and get it valid as often as you like; prepare it again before it is
 * written again.  Beside the errors above: -EINVAL an object or a generation
 * that is none.
 */

/**
 * pmof_prepare - give an object a new generation, durably, with clear flags
 * @dev: handle opened for writing
 * @offset: first byte of the object in the namespace
 * @length: bytes, the trailer counted
 * @generation: out, may be NULL: the new one, 1 to PMOF_GENERATION_MASK
 *
 * From then on the object is not valid, also after a power cut, until it is
 * committed.  Nothing may be written into it before this has returned.  It may
 * run for one object at a time: whoever prepares owns it until it is committed.
 *
 * Source: PMOF_IOC_PREPARE.  Return: 0 or -errno; after -EIO or -ENODEV the
 * object may be prepared or not.  Thread safe, for different objects.
 */
int pmof_prepare(struct pmof_dev *dev, uint64_t offset, uint64_t length, uint64_t *generation);

/**
 * pmof_put_commit - write an object and commit it
 * @dev: handle opened for writing
 * @buf: @length bytes; the last 8 are not looked at, the trailer is written in
 *	their place
 * @length: bytes, the trailer counted
 * @offset: first byte of the object in the namespace
 * @generation: what pmof_prepare() gave
 *
 * The data is durable before PF is, and PF before VF is written.  On return the
 * object is valid for every reader, and a power cut does not undo that.
 *
 * Source: PMOF_IOC_PUT, PMOF_F_COMMIT.  Return: 0; -ESTALE the object is not
 * prepared with that generation (the methods assist and rpc only, the others do
 * not look; its data may have been overwritten, unless they went by rpc); or
 * -errno: the object is either not valid or whole.  Thread safe, for different
 * objects.
 */
int pmof_put_commit(struct pmof_dev *dev, const void *buf, uint64_t length, uint64_t offset,
		    uint64_t generation);

/**
 * pmof_get_valid - read an object, provided that it is committed
 * @dev: handle opened for reading
 * @buf: out: @length bytes, the trailer among them
 * @length: bytes, the trailer counted
 * @offset: first byte of the object in the namespace
 * @generation: out, may be NULL: of what was read
 *
 * What it returns is what one pmof_put_commit() wrote, whole and durable, even
 * while others prepare and write the object anew.
 *
 * Source: PMOF_IOC_GET, PMOF_F_VALID.  Return: 0; -EAGAIN the object is not
 * committed or was rewritten meanwhile, @buf is undefined: try again, or after
 * a crash pmof_revalidate(); or -errno.  Thread safe.
 */
int pmof_get_valid(struct pmof_dev *dev, void *buf, uint64_t length, uint64_t offset,
		   uint64_t *generation);

/**
 * pmof_revalidate - let readers see an object that a crash left with PF alone
 * @dev: handle opened for writing
 * @offset: first byte of the object in the namespace
 * @length: bytes, the trailer counted
 * @generation: out, may be NULL: the committed object's
 *
 * The server sets VF where PF is set, once the trailer is durable.  Does no
 * harm to an object that is valid.
 *
 * Source: PMOF_IOC_REVALIDATE.  Return: 0; -EAGAIN PF is not set: it was never
 * committed; or -errno.  Thread safe.
 */
int pmof_revalidate(struct pmof_dev *dev, uint64_t offset, uint64_t length, uint64_t *generation);

/* --- the namespace's service --------------------------------------------------- */

/**
 * pmof_call - ask the namespace's service, and get its answer
 * @dev: handle; opened for writing if @call is below 0x30, else for reading
 * @call: what is asked, 0x20 to 0x3e; pmof_kv.h has a store's
 * @request: bytes for the service
 * @length: bytes, 1 to max_call of struct pmof_info
 * @reply: out: what the service answers
 * @room: bytes of @reply
 *
 * Source: PMOF_IOC_SUBMIT of one PMOF_OP_CALL.  Return: bytes of the answer;
 * -EOPNOTSUPP the namespace has no service; -EMSGSIZE the answer does not fit @reply,
 * and what was asked has happened; -EIO the connection was lost, or -ENODEV the device was
 * disconnected, and it may have happened; or -errno.  Thread safe.
 */
int pmof_call(struct pmof_dev *dev, unsigned int call, const void *request, uint32_t length,
	      void *reply, uint32_t room);

/* --- several in one call ---------------------------------------------------- */

/**
 * pmof_submit - run several operations in order in one call
 * @dev: handle opened for what the operations need
 * @ops: filled by pmof_prep_*(); out: @result and @old of each
 * @nr: number of operations, 1 to PMOF_SUBMIT_MAX
 *
 * struct pmof_submit in pmof.h says what order means.  PREPAREs that follow
 * each other go to the server together.
 *
 * Source: PMOF_IOC_SUBMIT.  Return: 0, and each @result tells (behind a failed
 * operation, what had not been sent yet is -ECANCELED); -EINVAL a malformed operation or @nr is
 * 0; -E2BIG @nr is above PMOF_SUBMIT_MAX; on any error nothing has happened, but for
 * -EFAULT where @ops became unwritable meanwhile.
 * Thread safe, each thread with its own @ops.
 */
int pmof_submit(struct pmof_dev *dev, struct pmof_op *ops, unsigned int nr);

/*
 * pmof_prep_* fill one operation of a pmof_submit(); arguments as those of the
 * call of the same name.  Buffers must stay valid until pmof_submit() returns.
 * The generation that a call gives is @op->old afterwards.  They cannot fail.
 * Thread safe, each thread with its own @op.
 */
static inline void pmof_prep(struct pmof_op *op, enum pmof_opcode opcode, uint64_t offset,
			     uint64_t length, unsigned int flags)
{
	memset(op, 0, sizeof(*op));
	op->size = sizeof(*op);
	op->opcode = (__u16)opcode;
	op->flags = flags;
	op->offset = offset;
	op->length = length;
}

static inline void pmof_prep_put(struct pmof_op *op, const void *buf, uint64_t length,
				 uint64_t offset, unsigned int flags)
{
	pmof_prep(op, PMOF_OP_PUT, offset, length, flags);
	op->addr = (uintptr_t)buf;
}

static inline void pmof_prep_get(struct pmof_op *op, void *buf, uint64_t length, uint64_t offset)
{
	pmof_prep(op, PMOF_OP_GET, offset, length, 0);
	op->addr = (uintptr_t)buf;
}

static inline void pmof_prep_persist(struct pmof_op *op, uint64_t offset, uint64_t length)
{
	pmof_prep(op, PMOF_OP_PERSIST, offset, length, 0);
}

static inline void pmof_prep_call(struct pmof_op *op, unsigned int call, const void *request,
				  uint32_t length, void *reply, uint32_t room, unsigned int flags)
{
	pmof_prep(op, PMOF_OP_CALL, 0, length, flags);
	op->call = call;
	op->addr = (uintptr_t)request;
	op->compare = (uintptr_t)reply;
	op->room = room;
}

static inline void pmof_prep_cas(struct pmof_op *op, uint64_t offset, uint64_t expect,
				 uint64_t desired, unsigned int flags)
{
	pmof_prep(op, PMOF_OP_CAS, offset, 8, flags);
	op->compare = expect;
	op->operand = desired;
}

static inline void pmof_prep_fetch_add(struct pmof_op *op, uint64_t offset, uint64_t add,
				       unsigned int flags)
{
	pmof_prep(op, PMOF_OP_FETCH_ADD, offset, 8, flags);
	op->operand = add;
}

static inline void pmof_prep_prepare(struct pmof_op *op, uint64_t offset, uint64_t length)
{
	pmof_prep(op, PMOF_OP_PREPARE, offset, length, 0);
}

static inline void pmof_prep_put_commit(struct pmof_op *op, const void *buf, uint64_t length,
					uint64_t offset, uint64_t generation)
{
	pmof_prep_put(op, buf, length, offset, PMOF_F_COMMIT);
	op->operand = generation;
}

static inline void pmof_prep_get_valid(struct pmof_op *op, void *buf, uint64_t length,
				       uint64_t offset)
{
	pmof_prep_get(op, buf, length, offset);
	op->flags = PMOF_F_VALID;
}

static inline void pmof_prep_revalidate(struct pmof_op *op, uint64_t offset, uint64_t length)
{
	pmof_prep(op, PMOF_OP_REVALIDATE, offset, length, 0);
}

/* --- administration -------------------------------------------------------- */

/**
 * struct pmof_connect_args - what pmof_connect() asks for
 * @size: sizeof(struct pmof_connect_args); fields may be added at the end, and what was built
 *	with fewer goes on working
 * @queues: I/O queues; 0: the number of CPUs
 * @addr: IPv4 or IPv6 address of the server, numeric, without brackets
 * @name: namespace
 * @id: client ID, 1 to 31 characters; NULL: the host name, cut to 31 characters, or "client"
 *	if it has characters that an ID may not have
 * @port: service number; 0: PMOF_DEFAULT_PORT
 * @depth: requests under way on one queue; 0: the kernel's default
 * @method: enum pmof_method; PMOF_METHOD_AUTO lets the kernel choose
 * @read_only: ask for no right to write
 * @no_block: make no block device /dev/pmofN
 * @writeback: the block device has a volatile cache: its writes are durable after a flush
 *	or with FUA; else each is when it completes
 * @block_size: bytes of its logical blocks: 512 or 4096; 0: 512
 * @poll_queues: I/O queues for its polled requests, besides @queues
 * @keep_alive_tmo: seconds, as text, after which a server that gives no sign of life is
 *	given up; "0": never; NULL: the kernel's default, here and below
 * @reconnect_delay: the longest time between two attempts to reconnect
 * @fail_io_timeout: how long operations wait for that; "0": not; "-1": to the end
 * @device_loss_timeout: when it is given up; "0": at once; "-1": never
 * @key: proves that this is the client @id: an even number of hexadecimal digits, 32 to 128;
 *	NULL: none
 * @exclusive: nobody else shall write; -EBUSY if somebody does
 * @takeover: end the sessions that stand in the way of that
 * @max_call: bytes of the longest message of a CALL, 4096 to 266240 and a multiple of 4096;
 *	0: 4096.  The server may grant less: max_call of struct pmof_info says what data fit
 *
 * Zero the structure first: what is zero has its default.
 */
struct pmof_connect_args {
	size_t size;
	unsigned int queues;
	unsigned int depth;
	const char *addr;
	const char *name;
	const char *id;
	enum pmof_method method;
	uint16_t port;
	bool read_only;
	bool no_block;
	bool writeback;
	unsigned int block_size;
	unsigned int poll_queues;
	const char *keep_alive_tmo;
	const char *reconnect_delay;
	const char *fail_io_timeout;
	const char *device_loss_timeout;
	const char *key;
	bool exclusive;
	bool takeover;
	unsigned int max_call;
};

/**
 * pmof_connect - connect to a namespace
 * @args: what to connect to
 * @instance: out: N of the new device pmofN
 *
 * Returns when the device is there, or after a timeout of the kernel's.  Needs
 * the right to write /dev/pmof-control, and the module pmof-client.
 *
 * Source: /dev/pmof-control.  Return: 0; -ENOENT no such namespace, or
 * /dev/pmof-control is absent (then access(2) tells); -EINVAL a field that the
 * kernel does not take, or that is empty or holds a comma, a blank or a control character,
 * or a @size below the first version's; -E2BIG @args has fields that are not zero and that this library does not know;
 * -EOPNOTSUPP the method is not offered, the kernel log says why; -ECONNREFUSED, -EHOSTUNREACH,
 * -ENETUNREACH, -EADDRNOTAVAIL, -ENODEV, -ETIMEDOUT, -EPROTO, -EPROTONOSUPPORT, -EBUSY, -EACCES,
 * -ENOSPC, -EROFS, -EXDEV, -ENOMEM, -EIO, -ENOTCONN, -ECONNRESET, -EREMOTEIO: docs/interfaces.md;
 * -EINTR a signal came, or the process was stopped or frozen: nothing was made.  Thread safe.
 */
int pmof_connect(const struct pmof_connect_args *args, int *instance);

/**
 * pmof_disconnect - end a connection
 * @instance: N of pmofN
 *
 * Returns when it is done.  Files that are still open get -ENODEV from then on.
 *
 * Source: sysfs, disconnect.  Return: 0; -ENODEV no such device; -EACCES; -EBUSY it is being
 * made; -ETIMEDOUT it was told to go, and is still there behind 5 s.  Thread safe.
 */
int pmof_disconnect(int instance);

/**
 * pmof_lookup - the device that a DEVICE argument names
 * @device: DEVICE, see the top of this file
 * @instance: out: N of pmofN
 *
 * Needs no right to open the device.
 *
 * Source: sysfs.  Return: 0; -EINVAL @device has none of the forms; -ENODEV
 * there is no such device or the path is none of ours; -ENOENT no such path.
 * Thread safe.
 */
int pmof_lookup(const char *device, int *instance);

/**
 * pmof_list - the devices that exist, connected or dead
 * @instances: out: their numbers, ascending; freed by the caller with free();
 *	NULL if there is none
 *
 * Source: sysfs.  Return: how many; -ENOMEM.  A kernel without the module
 * pmof-client has none.  Thread safe.
 */
int pmof_list(int **instances);

/**
 * pmof_read_attr - read an attribute of a device
 * @instance: N of pmofN
 * @name: an attribute of docs/interfaces.md: "state", "namespace", ...
 * @buf: out: its text without the trailing newline, NUL terminated
 * @size: bytes of @buf
 *
 * Source: sysfs.  Return: 0; -ENODEV no such device; -ENOENT no such
 * attribute; -EINVAL @name is empty, holds a '/' or begins with '.'; -E2BIG @buf is too small; -EIO and what
 * else the kernel says.  Thread safe.
 */
int pmof_read_attr(int instance, const char *name, char *buf, size_t size);

/**
 * pmof_write_attr - write an attribute of a device
 * @instance: N of pmofN
 * @name: an attribute of docs/interfaces.md that can be written: "auto", "poll_us", ...
 * @text: its new text, without a newline
 *
 * Source: sysfs.  Return: 0; -ENODEV no such device; -ENOENT no such attribute;
 * -EACCES no right to, or it cannot be written; -EINVAL @name holds a '/', or
 * the kernel does not take the text, and what else it says.  Thread safe.
 */
int pmof_write_attr(int instance, const char *name, const char *text);

/* Whose counters. */
enum pmof_side {
	PMOF_SIDE_CLIENT	= 0,	/* sysfs stats/ */
	PMOF_SIDE_SERVER	= 1,	/* sysfs server_stats/: each read asks the server */
};

/**
 * pmof_read_counter - read one counter of a device
 * @instance: N of pmofN
 * @side: enum pmof_side
 * @name: counter of docs/interfaces.md: "round_trips", "lines", ...
 * @value: out
 *
 * Source: sysfs.  Return: 0; -ENODEV no such device; -ENOENT no such counter;
 * -EINVAL; for the server's side, which is root's to read, -EACCES, and the
 * errors of a lost connection.  Thread safe.
 */
int pmof_read_counter(int instance, enum pmof_side side, const char *name, uint64_t *value);

/* A counter and its value when it was read. */
struct pmof_counter {
	char name[32];
	uint64_t value;
};

/**
 * pmof_read_counters - read all counters of one side of a device
 * @instance: N of pmofN
 * @side: enum pmof_side
 * @counters: out: in alphabetical order, numbers in it by value; freed by the
 *	caller with free()
 *
 * The counters are read one after the other: they are exact and consistent
 * only while nothing is under way.
 *
 * Source: sysfs.  Return: how many, or -errno as pmof_read_counter().  Thread
 * safe.
 */
int pmof_read_counters(int instance, enum pmof_side side, struct pmof_counter **counters);

/* --- names ----------------------------------------------------------------- */

/**
 * pmof_method_name, pmof_domain_name, pmof_placement_name - names of uapi values
 * @method: enum pmof_method
 * @domain: enum pmof_domain
 * @placement: enum pmof_placement
 *
 * Return: a constant string as in sysfs, "unknown" for a value that the
 * library does not know.  Thread safe.
 */
const char *pmof_method_name(unsigned int method);
const char *pmof_domain_name(unsigned int domain);
const char *pmof_placement_name(unsigned int placement);

/**
 * pmof_method_parse - the persist method that a name stands for
 * @name: "auto", "read", "assist", "rpc" or "flush"
 *
 * Return: enum pmof_method, or -EINVAL.  Thread safe.
 */
int pmof_method_parse(const char *name);

/**
 * pmof_version - version of the library
 *
 * Return: a constant string, "MAJOR.MINOR.PATCH".  Thread safe.
 */
const char *pmof_version(void);

#ifdef __cplusplus
}
#endif

#endif /* LIBPMOF_H */
