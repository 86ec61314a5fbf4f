/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest's registers and address translation. Everything is about the virtual CPU that
 * calls, from one of its callbacks.
 */
#ifndef PMOF_CRASH_GUEST_H
#define PMOF_CRASH_GUEST_H

#include "insn.h"

/* guest_init() - look up the registers; from the callback of a new virtual CPU. */
bool guest_init(void);

uint64_t guest_rax(void);

/* guest_operand() - the virtual address of @op, of the instruction at @insn_addr. */
uint64_t guest_operand(const struct insn_operand *op, uint64_t insn_addr);

/* guest_translate() - virtual to physical; false: nothing is mapped there. */
bool guest_translate(uint64_t vaddr, uint64_t *paddr);

/*
 * guest_translate_kernel() - the same for a kernel address, and quick. The kernel runs with
 * nokaslr.
 */
bool guest_translate_kernel(uint64_t vaddr, uint64_t *paddr);

/* guest_flush_tlb() - what guest_translate_kernel() remembers for this CPU. */
void guest_flush_tlb(void);

/* guest_read() - up to 16 bytes of the guest's memory. */
bool guest_read(uint64_t vaddr, void *data, size_t len);

#endif /* PMOF_CRASH_GUEST_H */
