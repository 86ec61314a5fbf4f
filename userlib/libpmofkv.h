/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libpmofkv: a key-value store in a namespace, over libpmof.
 *
 * The namespace has the service "store" (docs/kv.md).  A put or delete that
 * returns 0 is durable: it survives a power cut at the server, unless that has exported the
 * namespace with --allow-volatile (the device's attribute "durable" is 0 then).  One that fails
 * has changed nothing, except with -EIO, -ENODEV, -EACCES or -EPROTO: then it is there whole
 * or not at all, and it could not be found out which.  Operations on one key are linearizable, over
 * all clients.
 *
 * Every function that returns int returns 0 (or a count, where it says so) or a
 * negative errno; errno itself is left undefined.  Keys are 1 to PMOF_KV_KEY_MAX
 * arbitrary bytes, values 0 to pmofkv_max_value() bytes.  Keys and values are copied or
 * sent before a function returns, unless it says otherwise.
 *
 * Errors that all operations share
 *   -EINVAL    a key of no length or of too many bytes; an expected version that is none
 *   -EBADF     opened for the other direction
 *   -EROFS     the session may not write, or the store is damaged and takes no changes
 *   -ENOMEM    no memory, here or at the server
 *   -EBUSY     the server has too many leases or open files at the moment
 *   -ENODATA   a bad sector of the medium lies in the object; or the store is damaged, and
 *              the key may be in what it cannot read; or, of a get, the object is spoilt
 *   -EIO       the connection was lost and has not been recovered in time
 *              (fail_io_timeout).  Of a put or delete: it was lost while that was under
 *              way, and the outcome is unknown; the library has asked for it.  Of a get
 *              also: each of a thousand versions was replaced while it was read
 *   -ENODEV    the device was disconnected, or the namespace is not exported any more
 *   -EACCES    the server has withdrawn the rights
 *   -EPROTO    the server has answered what makes no sense
 *   -EINTR     a fatal signal
 *
 * "Thread safe" functions may be called by any number of threads at once on one handle.
 * A handle is not for use in a child of fork(2).
 */
#ifndef LIBPMOFKV_H
#define LIBPMOFKV_H

#include <stddef.h>
#include <stdint.h>

#include <pmof_kv.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pmofkv;		/* an open store */

/* How a put is made. */
enum pmofkv_protocol {
	PMOFKV_AUTO	= 0,	/* herd up to the threshold, above it sa */
	PMOFKV_HERD	= 1,	/* one message with the value, the server copies */
	PMOFKV_SA	= 2,	/* prepare; WRITE and commit: the value goes one-sided */
	PMOFKV_NR_PROTOCOLS
};

/**
 * struct pmofkv_options - what pmofkv_open() takes
 * @size: sizeof(struct pmofkv_options)
 * @protocol: enum pmofkv_protocol.  HERD still puts by SA what does not fit a message.
 * @threshold: AUTO: bytes of the longest value put by herd; PMOFKV_DEFAULT: the
 *	library's, 16384.  What does not fit a message goes by sa whatever this says: the
 *	connection's option max_call is 4096 bytes, unless it was made with more.
 * @max_inline: bytes of the longest value that a get wants in the answer; longer ones
 *	are READ from the object; PMOFKV_DEFAULT: all that fits
 */
struct pmofkv_options {
	size_t size;
	enum pmofkv_protocol protocol;
	uint32_t threshold;
	uint32_t max_inline;
	uint32_t reserved;	/* zero */
};

#define PMOFKV_DEFAULT		UINT32_MAX

/* Fills @opt with the defaults.  Thread safe. */
static inline void pmofkv_options_init(struct pmofkv_options *opt)
{
	opt->size = sizeof(*opt);
	opt->protocol = PMOFKV_AUTO;
	opt->threshold = PMOFKV_DEFAULT;
	opt->max_inline = PMOFKV_DEFAULT;
	opt->reserved = 0;
}

/* --- open and ask ---------------------------------------------------------- */

/**
 * pmofkv_open - open a store
 * @device: "pmof0", "pmofc0", "0", "/dev/pmofc0" or another path of it: DEVICE of libpmof.h
 * @flags: O_RDONLY: gets, scans, stat; O_RDWR: all; O_CLOEXEC is always added
 * @opt: or NULL: the defaults
 * @kv: out: to be closed with pmofkv_close()
 *
 * Return: 0; -EOPNOTSUPP the namespace is no store; -EINVAL @flags, @opt or @device; -E2BIG @opt
 * is of a newer library than this one; else what pmof_open() returns.  Thread safe.
 */
int pmofkv_open(const char *device, int flags, const struct pmofkv_options *opt,
		struct pmofkv **kv);

/**
 * pmofkv_close - close a store
 * @kv: or NULL; its scans and queues have been closed
 *
 * Not thread safe: no other call on @kv may be running.
 */
void pmofkv_close(struct pmofkv *kv);

/* The descriptor of the device; it belongs to @kv.  Thread safe. */
int pmofkv_fd(const struct pmofkv *kv);

/* The number N of the device pmofN.  Thread safe. */
int pmofkv_instance(const struct pmofkv *kv);

/* Bytes of the longest value that goes with a key of @key_length bytes.  Thread safe. */
size_t pmofkv_max_value(size_t key_length);

/* The protocol that a put of these sizes takes: HERD or SA.  Thread safe. */
enum pmofkv_protocol pmofkv_put_protocol(const struct pmofkv *kv, size_t key_length,
					 size_t value_length);

/* --- one key ---------------------------------------------------------------- */

/**
 * pmofkv_put - store a value, durably
 * @kv: opened for writing
 * @key: key
 * @key_length: bytes
 * @value: value, may be NULL if it has no bytes
 * @value_length: bytes
 * @version: out, may be NULL: of what was stored, unique in the store
 *
 * Readers see the old value until the new one is durable.  Return: 0; -ENOSPC; -EFBIG
 * the value is too long; the shared errors.  Thread safe.
 */
int pmofkv_put(struct pmofkv *kv, const void *key, size_t key_length, const void *value,
	       size_t value_length, uint64_t *version);

/**
 * pmofkv_put_if - the same, if the key has a certain version
 * @kv: as pmofkv_put()
 * @key: as pmofkv_put()
 * @key_length: as pmofkv_put()
 * @value: as pmofkv_put()
 * @value_length: as pmofkv_put()
 * @expected: version to replace; PMOF_KV_EXPECT_NONE: there must be no such key;
 *	PMOF_KV_EXPECT_ANY: as pmofkv_put()
 * @version: out, may be NULL: of what was stored; with -ESTALE and -EEXIST of what is
 *	there, 0 if there is no such key
 *
 * Return: as pmofkv_put(); -EEXIST there is one, expected was none; -ESTALE there is
 * another version, or no such key.  Thread safe.
 */
int pmofkv_put_if(struct pmofkv *kv, const void *key, size_t key_length, const void *value,
		  size_t value_length, uint64_t expected, uint64_t *version);

/**
 * pmofkv_get - read a value
 * @kv: opened for reading
 * @key: key
 * @key_length: bytes
 * @buf: out: the value
 * @size: bytes of @buf
 * @value_length: out: bytes of the value; with -EMSGSIZE, too
 * @version: out, may be NULL: of what was read; with -EMSGSIZE, too
 *
 * What it returns is what one put stored, whole and durable.  Return: 0; -ENOENT no such
 * key; -EMSGSIZE @buf is too small, its contents are undefined; the shared errors.  Thread
 * safe.
 */
int pmofkv_get(struct pmofkv *kv, const void *key, size_t key_length, void *buf, size_t size,
	       size_t *value_length, uint64_t *version);

/**
 * pmofkv_get_alloc - read a value of any length
 * @kv: opened for reading
 * @key: key
 * @key_length: bytes
 * @value: out: freed by the caller with free(); not NULL even if it has no bytes, and
 *	with a zero byte behind it that @value_length does not count
 * @value_length: out: bytes
 * @version: out, may be NULL
 *
 * Return: as pmofkv_get().  Thread safe.
 */
int pmofkv_get_alloc(struct pmofkv *kv, const void *key, size_t key_length, void **value,
		     size_t *value_length, uint64_t *version);

/**
 * pmofkv_delete - delete a key, durably
 * @kv: opened for writing
 * @key: key
 * @key_length: bytes
 *
 * Return: 0; -ENOENT no such key; the shared errors.  Thread safe.
 */
int pmofkv_delete(struct pmofkv *kv, const void *key, size_t key_length);

/**
 * pmofkv_delete_if - the same, if the key has a certain version
 * @kv: opened for writing
 * @key: key
 * @key_length: bytes
 * @expected: version to delete; PMOF_KV_EXPECT_ANY: as pmofkv_delete()
 * @version: out, may be NULL: what was deleted; with -ESTALE of what is there
 *
 * Return: as pmofkv_delete(); -ESTALE there is another version; -EINVAL @expected is
 * PMOF_KV_EXPECT_NONE.  Thread safe.
 */
int pmofkv_delete_if(struct pmofkv *kv, const void *key, size_t key_length, uint64_t expected,
		     uint64_t *version);

/* --- many keys -------------------------------------------------------------- */

/* One put of a batch. */
struct pmofkv_item {
	const void *key;
	size_t key_length;
	const void *value;
	size_t value_length;
	uint64_t expected;	/* as pmofkv_put_if(); PMOF_KV_EXPECT_ANY: whatever is there */
	int result;		/* out: as pmofkv_put_if() returns */
	uint64_t version;	/* out: likewise */
};

/**
 * pmofkv_put_batch - many puts that share messages, round trips and persists
 * @kv: opened for writing
 * @items: out: @result and @version of each
 * @nr: how many, any number
 *
 * Not one transaction: each is there, or not, by itself.  They are not ordered: of two
 * with the same key either may come last.  Return: 0: each @result tells; the first
 * error in the order of @items, and each @result tells.  Thread safe, each thread with its
 * own @items.
 */
int pmofkv_put_batch(struct pmofkv *kv, struct pmofkv_item *items, unsigned int nr);

struct pmofkv_scan;	/* where an iteration stands */

/* A key, as an iteration finds it. */
struct pmofkv_entry {
	const void *key;	/* valid until the next call on the scan */
	size_t key_length;
	size_t value_length;
	uint64_t version;
};

/**
 * pmofkv_scan_open - begin to go through the keys
 * @kv: opened for reading
 * @scan: out: to be closed with pmofkv_scan_close()
 *
 * The order is none that means anything.  A key that is there from the first
 * pmofkv_scan_next() to the last is told once, one that comes or goes meanwhile once or
 * not at all.  Return: 0, -ENOMEM.  Thread safe.
 */
int pmofkv_scan_open(struct pmofkv *kv, struct pmofkv_scan **scan);

/* Where a part of an iteration has ended; all 0: the beginning.  Only the server knows more. */
struct pmofkv_cursor {
	uint64_t hash;
	uint32_t skip;
};

/**
 * pmofkv_scan_open_at - go through some of the keys
 * @kv: opened for reading
 * @from: where another part has ended; it stays good, over sessions and restarts
 * @limit: keys; behind them pmofkv_scan_next() returns 0
 * @scan: out: to be closed with pmofkv_scan_close()
 *
 * As pmofkv_scan_open().  A cursor that no pmofkv_scan_rest() has given may leave keys out.
 */
int pmofkv_scan_open_at(struct pmofkv *kv, const struct pmofkv_cursor *from, uint64_t limit,
			struct pmofkv_scan **scan);

/**
 * pmofkv_scan_rest - where the next part begins
 * @scan: of which pmofkv_scan_next() has returned 0
 * @rest: out
 *
 * Return: 1; 0 there are no more keys.  Not thread safe on one @scan.
 */
int pmofkv_scan_rest(const struct pmofkv_scan *scan, struct pmofkv_cursor *rest);

/**
 * pmofkv_scan_next - the next key
 * @scan: from pmofkv_scan_open()
 * @entry: out
 *
 * Goes on over lost connections and restarts of the server.  Return: 1; 0 there are no
 * more; the shared errors, after which it can be called again.  Not thread safe on one
 * @scan.
 */
int pmofkv_scan_next(struct pmofkv_scan *scan, struct pmofkv_entry *entry);

/* Ends it; NULL is taken, too.  Before pmofkv_close(). */
void pmofkv_scan_close(struct pmofkv_scan *scan);

/* --- checking ------------------------------------------------------------------ */

/* What a check has come to. */
struct pmofkv_check {
	uint64_t objects;	/* live ones, in their slots */
	uint64_t entries;	/* keys of the index */
	uint64_t faults;	/* told, each by itself */
	uint64_t unreadable;	/* slots of which bad sectors hide what is to be looked at */
	int64_t unaccounted;	/* slots in use that nobody holds: not 0 is damage, too */
};

/**
 * pmofkv_check - does a store agree with itself?
 * @kv: opened for reading; it may be in use, by whom ever
 * @fault: called for each fault: @offset of its slot in the namespace
 * @context: for @fault
 * @out: what was found
 *
 * The server compares what stands in each slot with its index and its allocator, a piece at a
 * time between other requests.  Objects that come and go meanwhile are counted once or not at
 * all.  A restart of the server is gone on over.  Return: 0, whatever was found; -EROFS the
 * store was damaged already when it was opened; the shared errors.  Thread safe.
 */
int pmofkv_check(struct pmofkv *kv,
		 void (*fault)(void *context, uint64_t offset, enum pmof_kv_fault kind),
		 void *context, struct pmofkv_check *out);

/* --- without waiting ---------------------------------------------------------- */

struct pmofkv_queue;	/* operations under way, and those that have ended */

/* An operation that has ended. */
struct pmofkv_completion {
	uint64_t user_data;	/* as it was submitted with */
	int result;		/* as the call of the same name returns */
	uint64_t version;	/* likewise */
	size_t value_length;	/* of a get: likewise */
};

/**
 * pmofkv_queue_open - make a queue of operations that nobody waits for
 * @kv: store
 * @depth: operations that it holds, ended ones that were not taken included; 1 to 4096
 * @threads: of the library, that run them, at most 64; 0: as many as it sees fit
 * @queue: out: to be closed with pmofkv_queue_close()
 *
 * Each thread takes what waits, many at a time, and runs it as a batch: so puts share round
 * trips and persists.  Operations are not ordered with each other.
 *
 * Return: 0; -EINVAL; -ENOMEM; -EAGAIN, -EMFILE: no thread or descriptor to be had.  Thread
 * safe.
 */
int pmofkv_queue_open(struct pmofkv *kv, unsigned int depth, unsigned int threads,
		      struct pmofkv_queue **queue);

/*
 * Waits until all that was submitted has ended, and frees the queue with what was not
 * taken; NULL is taken, too.  Before pmofkv_close().  Not thread safe.
 */
void pmofkv_queue_close(struct pmofkv_queue *queue);

/**
 * pmofkv_queue_fd - a descriptor that is readable while there are completions
 * @queue: queue
 *
 * For poll(2); do not read it.  It belongs to @queue.  Thread safe.
 */
int pmofkv_queue_fd(const struct pmofkv_queue *queue);

/**
 * pmofkv_submit_put, pmofkv_submit_get, pmofkv_submit_delete - start an operation
 * @queue: queue
 * @key: copied
 * @key_length: bytes
 * @value: not copied: stays as it is until the operation has ended
 * @value_length: bytes
 * @buf: out: belongs to the operation until it has ended
 * @size: bytes of @buf
 * @expected: as pmofkv_put_if(), pmofkv_delete_if()
 * @user_data: for the completion
 *
 * Return: 0: there will be one completion; else none: -EAGAIN: the queue is full, take completions
 * first; -EFBIG: the value is too long; -EINVAL; -ENOMEM.  Thread safe.
 */
int pmofkv_submit_put(struct pmofkv_queue *queue, const void *key, size_t key_length,
		      const void *value, size_t value_length, uint64_t expected,
		      uint64_t user_data);
int pmofkv_submit_get(struct pmofkv_queue *queue, const void *key, size_t key_length, void *buf,
		      size_t size, uint64_t user_data);
int pmofkv_submit_delete(struct pmofkv_queue *queue, const void *key, size_t key_length,
			 uint64_t expected, uint64_t user_data);

/**
 * pmofkv_queue_wait - take completions
 * @queue: queue
 * @completions: out
 * @max: how many fit
 * @timeout_ms: to wait for the first one; 0: not at all; -1: until there is one
 *
 * Return: how many, 0 in time, or because nothing is under way.  Thread safe: each is told once.
 */
int pmofkv_queue_wait(struct pmofkv_queue *queue, struct pmofkv_completion *completions,
		      unsigned int max, int timeout_ms);

/* --- counts ------------------------------------------------------------------- */

/**
 * pmofkv_stat - what the server says of the store
 * @kv: opened for reading
 * @values: out: by enum pmof_kv_stat; what the server does not know is 0
 * @nr: how many fit: PMOF_KV_STAT_MAX
 *
 * Return: how many the server has given, at most @nr; the shared errors.  Thread safe.
 */
int pmofkv_stat(struct pmofkv *kv, uint64_t *values, unsigned int nr);

/* The name of an enum pmof_kv_stat, as "free_chunks"; NULL: there is none.  Thread safe. */
const char *pmofkv_stat_name(unsigned int stat);

/* What the handle has done, since it was opened. */
enum pmofkv_counter {
	PMOFKV_COUNT_PUTS_HERD,		/* acknowledged, by protocol */
	PMOFKV_COUNT_PUTS_SA,
	PMOFKV_COUNT_DELETES,
	PMOFKV_COUNT_GETS_INLINE,	/* with the value in the answer */
	PMOFKV_COUNT_GETS_READ,		/* with a READ of the object */
	PMOFKV_COUNT_GETS_AGAIN,	/* what was READ was another object, or the session over */
	PMOFKV_COUNT_SESSIONS,		/* times that a new session was found */
	PMOFKV_COUNT_OUTCOMES_ASKED,	/* of puts and deletes */
	PMOFKV_COUNT_OUTCOMES_UNKNOWN,	/* of these: the caller got -EIO */
	PMOFKV_NR_COUNTERS
};

/* One of them; 0 for what is none.  Thread safe. */
uint64_t pmofkv_counter(const struct pmofkv *kv, enum pmofkv_counter counter);

/* Its name, as "puts_herd"; NULL: there is none.  Thread safe. */
const char *pmofkv_counter_name(unsigned int counter);

/* The name of a protocol, "auto", "herd" or "sa"; NULL: there is none.  Thread safe. */
const char *pmofkv_protocol_name(unsigned int protocol);

/* The enum pmofkv_protocol of such a name, or -EINVAL.  Thread safe. */
int pmofkv_protocol_parse(const char *name);

#ifdef __cplusplus
}
#endif

#endif /* LIBPMOFKV_H */
