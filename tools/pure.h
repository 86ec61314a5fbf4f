/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel's side of kmod/common/pure.h for user space: pre-included with
 * -include, it defines the same guard, so that the pure files compile here as
 * they are.  Little-endian hosts only.
 */
#ifndef PMOF_PURE_H
#define PMOF_PURE_H

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <linux/types.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a little-endian host");

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#define U8_MAX		UINT8_MAX
#define U16_MAX		UINT16_MAX
#define S32_MAX		INT32_MAX
#define U32_MAX		UINT32_MAX
#define U64_MAX		UINT64_MAX

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#endif
#define EXPORT_SYMBOL_GPL(symbol)	static_assert(true, #symbol)
#define BIT(n)		(1UL << (n))

#define min_t(type, a, b) \
	({ type min_a = (a); type min_b = (b); min_a < min_b ? min_a : min_b; })
#define max_t(type, a, b) \
	({ type max_a = (a); type max_b = (b); max_a > max_b ? max_a : max_b; })

static inline u16 le16_to_cpu(__le16 v) { return v; }
static inline u32 le32_to_cpu(__le32 v) { return v; }
static inline u64 le64_to_cpu(__le64 v) { return v; }
static inline __le16 cpu_to_le16(u16 v) { return v; }
static inline __le32 cpu_to_le32(u32 v) { return v; }
static inline __le64 cpu_to_le64(u64 v) { return v; }

#define WRITE_ONCE(x, v)	(*(volatile __typeof__(x) *)&(x) = (v))
#define sort(base, nr, size, compare, swap)	qsort(base, nr, size, compare)
#define cond_resched()	do { } while (0)

/* As the kernel's: neither begins nor ends with an inversion. Four bits at a time. */
static inline u32 crc32c(u32 crc, const void *data, unsigned int length)
{
	static const u32 table[16] = {
		0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
		0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
		0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
	};
	const u8 *p = data;

	while (length--) {
		crc ^= *p++;
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return crc;
}

static inline bool is_power_of_2(unsigned long n)
{
	return n && !(n & (n - 1));
}

static inline int ilog2(u64 n)
{
	return 63 - __builtin_clzll(n);
}

#endif /* PMOF_PURE_H */
