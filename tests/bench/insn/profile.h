/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PMOF_BENCH_INSN_PROFILE_H
#define PMOF_BENCH_INSN_PROFILE_H

#include <stddef.h>
#include <stdint.h>

struct profile_block;

struct profile_block *profile_block(uint64_t addr, size_t insns);
void profile_enter(struct profile_block *b);
int profile_write(const char *path);

#endif /* PMOF_BENCH_INSN_PROFILE_H */
