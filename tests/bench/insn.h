/* SPDX-License-Identifier: GPL-2.0 */
/* Marks (tests/crash/mark.h) around what the plugin in insn/ is to count; the value is a number. */
#ifndef PMOF_BENCH_INSN_H
#define PMOF_BENCH_INSN_H

#define INSN_MARK_BEGIN	0x0501
#define INSN_MARK_END	0x0502

#endif /* PMOF_BENCH_INSN_H */
