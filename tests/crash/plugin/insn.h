/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which x86-64 instructions matter to a volatile cache, and where their operand is.
 */
#ifndef PMOF_CRASH_INSN_H
#define PMOF_CRASH_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum insn_kind {
	INSN_OTHER,		/* its stores, if any, go into the cache */
	INSN_STACK,		/* stores only through the stack pointer */
	INSN_NT_STORE,		/* its stores are non-temporal */
	INSN_WRITE_BACK,	/* clwb, clflushopt, clflush of the operand's line */
	INSN_FENCE,		/* sfence, mfence */
	INSN_LOCKED,		/* a locked read-modify-write, or a serializing instruction */
	INSN_LOCKED_CMPXCHG,	/* the same; what it stores depends on what was there */
	INSN_TLB_FLUSH,		/* serializes, and flushes translations */
	INSN_WHOLE_CACHE,	/* wbinvd, invd: not modelled */
	INSN_MARK,		/* the magic NOP */
};

#define INSN_NO_REG	(-1)
#define INSN_MAX	15	/* bytes */

/* A memory operand: base + index << scale + disp, in a segment. */
struct insn_operand {
	int8_t base;		/* number of the register: 0 is RAX, 15 R15 */
	int8_t index;
	uint8_t scale;
	uint8_t segment;	/* the prefix: 0x64 FS, 0x65 GS, 0 none that counts */
	bool rip;		/* relative to the next instruction */
	bool addr32;		/* 32-bit address arithmetic */
	uint8_t length;		/* bytes of the instruction up to the operand's end */
	int32_t disp;
};

struct insn {
	enum insn_kind kind;
	uint16_t mark;
	struct insn_operand operand;	/* of INSN_WRITE_BACK */
};

/* insn_decode() - one instruction of 64-bit code, @len bytes at @code. */
void insn_decode(struct insn *insn, const uint8_t *code, size_t len);

#endif /* PMOF_CRASH_INSN_H */
