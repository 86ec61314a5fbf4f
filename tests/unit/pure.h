/* SPDX-License-Identifier: GPL-2.0 */
/* More of the kernel's side of kmod/common/pure.h: what pure files need that are in no program. */
#ifndef PMOF_UNIT_PURE_H
#define PMOF_UNIT_PURE_H

#include "../../tools/pure.h"

/* As the kernel's, without the length: the pure files do not look at it. */
static inline void strscpy(char *dst, const char *src, size_t size)
{
	size_t len = strnlen(src, size - 1);

	memcpy(dst, src, len);
	dst[len] = '\0';
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

#endif /* PMOF_UNIT_PURE_H */
