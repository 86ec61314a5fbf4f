/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Marks from user space: a NOP with an id in its displacement and a value in
 * RAX, which the QEMU plugin records and hardware ignores. See trace.h.
 */
#ifndef PMOF_CRASH_MARK_H
#define PMOF_CRASH_MARK_H

#include "trace.h"

/* @id must be a constant: it becomes part of the instruction. */
static inline __attribute__((always_inline)) void crash_mark(const unsigned int id, uint64_t value)
{
	asm volatile(".byte 0x0f, 0x1f, 0x80\n\t"
		     ".short %c0\n\t"
		     ".byte 0x4d, 0x50"
		     :: "i" (id), "a" (value) : "memory");
}

#endif /* PMOF_CRASH_MARK_H */
