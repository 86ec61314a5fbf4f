/* SPDX-License-Identifier: GPL-2.0 */
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

/* As the kernel's, without the length: the pure files do not look at it. */
static inline void strscpy(char *dst, const char *src, size_t size)
{
	size_t len = strnlen(src, size - 1);

	memcpy(dst, src, len);
	dst[len] = '\0';
}

#define WRITE_ONCE(x, v)	(*(volatile __typeof__(x) *)&(x) = (v))
#define sort(base, nr, size, compare, swap)	qsort(base, nr, size, compare)

/* As the kernel's: neither begins nor ends with an inversion. */
static inline u32 crc32c(u32 crc, const void *data, unsigned int length)
{
	const u8 *p = data;
	unsigned int i;

	while (length--) {
		crc ^= *p++;
		for (i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
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

/* As the kernel's: digits, an optional '+' before and one newline behind. */
static inline int kstrtoull(const char *s, unsigned int base, u64 *res)
{
	char *end;

	if (*s == '+')
		s++;
	if (*s < '0' || *s > '9')
		return -EINVAL;
	errno = 0;
	*res = strtoull(s, &end, base);
	if (errno)
		return -ERANGE;
	if (*end == '\n')
		end++;
	return *end ? -EINVAL : 0;
}

static inline int kstrtou16(const char *s, unsigned int base, u16 *res)
{
	u64 v;
	int rc = kstrtoull(s, base, &v);

	if (rc)
		return rc;
	if (v > U16_MAX)
		return -ERANGE;
	*res = v;
	return 0;
}

static inline int kstrtos32(const char *s, unsigned int base, s32 *res)
{
	bool minus = *s == '-';
	u64 v;
	int rc = minus && s[1] == '+' ? -EINVAL : kstrtoull(s + minus, base, &v);

	if (rc)
		return rc;
	if (v > (u64)S32_MAX + minus)
		return -ERANGE;
	*res = minus ? -(s64)v : (s64)v;
	return 0;
}

static inline int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* As the kernel's; it stops at what is no digit. */
static inline int hex2bin(u8 *to, const char *text, size_t count)
{
	for (; count; count--, text += 2) {
		int high = hex_digit(text[0]), low = hex_digit(text[1]);

		if (high < 0 || low < 0)
			return -EINVAL;
		*to++ = high << 4 | low;
	}
	return 0;
}

#endif /* PMOF_PURE_H */
