/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The trace of a run: written by the QEMU plugin, read by the explorer.
 *
 * A file is one struct trace_file, then records until its end; a record is a
 * struct trace_rec and, where its type says so, @len bytes of data. Records
 * are in the order in which the plugin saw the events, under one lock for all
 * virtual CPUs. All integers are little endian, as the host's.
 *
 * A record of type 0, or an incomplete one, is the end too: QEMU was killed.
 */
#ifndef PMOF_CRASH_TRACE_H
#define PMOF_CRASH_TRACE_H

#include <stdint.h>

#define TRACE_MAGIC	0x43544d50	/* "PMTC" */
#define TRACE_VERSION	1
#define TRACE_LINE	64		/* bytes of a cache line */

struct trace_file {
	uint32_t magic;
	uint32_t version;
	uint64_t pmem_base;	/* guest-physical address of the nvdimm; 0: marks only */
	uint64_t pmem_size;	/* bytes; 0: marks only */
};

enum trace_type {
	/*
	 * @len bytes of data at @addr, in the cache: up to 16, at any alignment, so in one line
	 * or in two, but not in two pages.
	 */
	TRACE_STORE	= 1,
	TRACE_NT_STORE	= 2,	/* the same, non-temporal: durable at the CPU's next fence */
	TRACE_WRITE_BACK = 3,	/* clwb, clflushopt or clflush of the line at @addr */
	TRACE_SFENCE	= 4,	/* sfence or mfence */
	/*
	 * A locked read-modify-write, or another serializing instruction. Only where this CPU has
	 * write-backs or non-temporal stores behind its last fence or TRACE_LOCKED: all others
	 * (there are some millions a second) make nothing durable.
	 */
	TRACE_LOCKED	= 5,
	TRACE_MARK	= 6,	/* magic NOP: its id in @mark, RAX in @addr */
	TRACE_TIME	= 7,	/* host CLOCK_MONOTONIC in ns in @addr: before every mark, and at least each ms of activity */
};

struct trace_rec {
	uint8_t type;		/* enum trace_type */
	uint8_t cpu;
	uint16_t len;		/* bytes of data that follow: stores only */
	uint16_t mark;		/* TRACE_MARK */
	uint16_t reserved;
	uint64_t addr;		/* stores, write-backs: offset in the nvdimm, in bytes */
} __attribute__((packed));

/*
 * Marks: 0f 1f 80 <id, 16 bits> 4d 50 with the value in RAX; a NOP on hardware.
 * The server's (from pmof-server.ko built with PMOF_CRASH_MARKS, and the lab's rxe):
 */
enum trace_mark {
	MARK_REQUEST	= 0x0101,	/* a request was parsed: session << 48 | queue << 32 | tag << 16 | opcode */
	MARK_RANGE_OFF	= 0x0102,	/* behind it, for each range or object it names: offset ... */
	MARK_RANGE_LEN	= 0x0103,	/* ... and length, bytes */
	MARK_REPLY	= 0x0104,	/* its reply is about to be posted: the value of MARK_REQUEST */
	MARK_FENCES	= 0x0105,	/* the server's own count of fences (at reply) */
	MARK_KEY	= 0x0106,	/* this CPU's next reply answers a change of it: checksum << 16 | length */
	MARK_VERSION	= 0x0107,	/* behind it: the version that the reply names */
	MARK_RXE_READ	= 0x0201,	/* rxe answers a READ: iova of its first byte */
	MARK_RXE_FLUSH	= 0x0202,	/* rxe answers a FLUSH: iova of its first byte */
	/* The client's workload, in user space: */
	MARK_OP_START	= 0x0301,	/* operation number, counted from 0 over the run */
	MARK_OP_DONE	= 0x0302,	/* the same, when its call has returned with success */
};

#endif /* PMOF_CRASH_TRACE_H */
