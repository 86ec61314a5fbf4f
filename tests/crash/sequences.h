/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sequences of the plugin's selftest: what the guest executes (sequences.c), and what the
 * trace must then say (verify.c). Text of a record: type, CPU, then for stores offset, length
 * and bytes, for write-backs the offset; offsets count from the sequence's own area. With a ~ in
 * front, it takes so long that fences of interrupts may come between every time.
 */
#ifndef PMOF_CRASH_SEQUENCES_H
#define PMOF_CRASH_SEQUENCES_H

/* Marks around a sequence: RAX is pass << 16 | sequence << 8 | repetition. */
#define MARK_BEGIN	0x0f01
#define MARK_END	0x0f02

#define PASS_2M		0	/* user space, 2-MiB pages */
#define PASS_4K		1	/* user space, 4-KiB pages */
#define PASS_KERNEL	2	/* a write to /dev/pmem0 */
#define CLIENT_MARKS	100

/* An interrupt may put fences between; it hardly hits a sequence every time. */
#define REPETITIONS	5
#define AREA		0x2000	/* bytes for a repetition of a sequence */

#define SEQUENCES(X)									\
	X(store, "store 0 0x0 8 1111111111111111")					\
	X(store_clwb, "store 0 0x0 8 1111111111111111; write-back 0 0x0")		\
	X(store_clwb_sfence,								\
	  "store 0 0x8 8 1111111111111111; write-back 0 0x0; sfence 0")			\
	X(store_clwb_mfence,								\
	  "store 0 0x8 4 11111111; write-back 0 0x0; sfence 0")				\
	X(store_clflushopt, "store 0 0x40 2 1111; write-back 0 0x40")			\
	X(store_clflush, "store 0 0x7f 1 11; write-back 0 0x40")			\
	X(movnti, "nt-store 0 0x0 8 1111111111111111; nt-store 0 0x8 4 11111111")	\
	X(movnti_sfence, "nt-store 0 0x0 8 1111111111111111; sfence 0")			\
	X(movntdq,									\
	  "nt-store 0 0x0 16 22222222222222222222222222222222; sfence 0")		\
	X(vmovntdq,									\
	  "nt-store 0 0x20 16 22222222222222222222222222222222; "			\
	  "nt-store 0 0x30 16 22222222222222222222222222222222; sfence 0")		\
	X(fence_elsewhere,								\
	  "~store 0 0x0 8 1111111111111111; write-back 0 0x0; sfence 1")		\
	X(locked_elsewhere,								\
	  "store 0 0x0 8 1111111111111111; write-back 0 0x0; locked 0")			\
	X(locked_no_write_back, "store 0 0x0 8 1111111111111111")			\
	X(locked_in_pmem,								\
	  "store 0 0x0 8 1111111111111111; write-back 0 0x0; locked 0; "		\
	  "store 0 0x40 8 1111111111111111")						\
	X(xchg, "nt-store 0 0x0 8 1111111111111111; locked 0; "				\
	  "store 0 0x40 8 1111111111111111")						\
	X(cpuid, "nt-store 0 0x0 8 1111111111111111; locked 0")				\
	X(cmpxchg_fails, "store 0 0x0 8 1111111111111111; store 0 0x0 8 1111111111111111")	\
	X(cmpxchg_succeeds,								\
	  "store 0 0x0 8 1111111111111111; store 0 0x0 8 2222222222222222")		\
	X(store_behind_clwb,								\
	  "store 0 0x0 8 1111111111111111; write-back 0 0x0; "				\
	  "store 0 0x0 8 2222222222222222; sfence 0")					\
	X(two_lines, "store 0 0x3c 8 1111111111111111")					\
	X(two_pages,									\
	  "store 0 0xffc 4 11111111; store 0 0x1000 4 11111111; "			\
	  "write-back 0 0xfc0; write-back 0 0x1000")					\
	X(movdqu, "store 0 0x8 16 22222222222222222222222222222222")			\
	X(rep_movsb,									\
	  "store 0 0x0 1 61; store 0 0x1 1 62; store 0 0x2 1 63; write-back 0 0x0")	\
	X(rep_stosq, "store 0 0x0 8 1111111111111111; store 0 0x8 8 1111111111111111")	\
	X(operands,									\
	  "write-back 0 0x40; write-back 0 0x180; write-back 0 0xc0; write-back 0 0x100; "	\
	  "write-back 0 0x140; write-back 0 0x200; write-back 0 0x240")			\
	X(not_pmem, "")

#define SEQUENCE_NUMBER(name, text) SEQ_##name,

enum sequence {
	SEQUENCES(SEQUENCE_NUMBER)
	SEQUENCE_COUNT
};

#endif /* PMOF_CRASH_SEQUENCES_H */
