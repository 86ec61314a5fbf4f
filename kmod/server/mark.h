/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A mark for the power-cut explorer (tests/crash/trace.h): a NOP with an id in the
 * displacement and a value in RAX, which a QEMU plugin records and hardware
 * ignores.  Only in modules built with CRASH_MARKS=1.
 */
#ifndef PMOF_SERVER_MARK_H
#define PMOF_SERVER_MARK_H

#include <linux/types.h>

#include "pmof_lab_gen.h"

/* As in tests/crash/trace.h. */
#define PMOF_MARK_REQUEST	0x0101	/* a request was parsed */
#define PMOF_MARK_RANGE_OFF	0x0102	/* behind it: each range or trailer that it names */
#define PMOF_MARK_RANGE_LEN	0x0103
#define PMOF_MARK_REPLY		0x0104	/* a reply that says OK is about to be posted */
#define PMOF_MARK_FENCES	0x0105	/* ahead of it: fences of this flush worker so far */
#define PMOF_MARK_KEY		0x0106	/* this CPU's next reply answers a change of it */
#define PMOF_MARK_VERSION	0x0107	/* behind it: the version that the reply names */

/* @id is part of the instruction. */
static __always_inline void pmof_mark(const unsigned int id, u64 value)
{
#ifdef PMOF_CRASH_MARKS
	asm volatile(".byte 0x0f, 0x1f, 0x80\n\t"
		     ".short %c0\n\t"
		     ".byte 0x4d, 0x50"
		     : : "i" (id), "a" (value) : "memory");
#endif
}

#endif /* PMOF_SERVER_MARK_H */
