/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What the pure files (no kernel state, no allocation, no lock) include.  In
 * the kernel it is the kernel's headers; the pmof command and the host unit tests
 * pre-include tools/pure.h instead, which defines the same guard.
 */
#ifndef PMOF_PURE_H
#define PMOF_PURE_H

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/crc32c.h>
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/byteorder.h>

#endif /* PMOF_PURE_H */
