// SPDX-License-Identifier: BSD-3-Clause
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "parse.h"

#define DEFAULT_PORT	20049

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return 16;
}

/* Parses the number that @s starts with; *end: what comes behind it. */
static int number(const char *s, uint64_t *value, const char **end)
{
	unsigned int base = 10;
	uint64_t v = 0;
	const char *p;

	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
		base = 16;
		s += 2;
	}
	for (p = s; digit_of(*p) < (int)base; p++) {
		if (__builtin_mul_overflow(v, base, &v) ||
		    __builtin_add_overflow(v, (unsigned int)digit_of(*p), &v))
			return -ERANGE;
	}
	if (p == s)
		return -EINVAL;
	*value = v;
	*end = p;
	return 0;
}

int parse_u64(const char *s, uint64_t *value)
{
	const char *end;
	uint64_t v;
	int ret = number(s, &v, &end);

	if (ret)
		return ret;
	if (*end)
		return -EINVAL;
	*value = v;
	return 0;
}

int parse_word(const char *s, uint64_t *value)
{
	bool negative = *s == '-';
	int ret = parse_u64(s + negative, value);

	if (ret)
		return ret;
	if (negative) {
		if (*value > (uint64_t)INT64_MAX + 1)
			return -ERANGE;
		*value = -*value;
	}
	return 0;
}

static int shift_of(char suffix)
{
	switch (suffix) {
	case 'k':
	case 'K':
		return 10;
	case 'M':
		return 20;
	case 'G':
		return 30;
	case 'T':
		return 40;
	default:
		return -EINVAL;
	}
}

int parse_size(const char *s, uint64_t *bytes)
{
	const char *end;
	int ret, shift;
	uint64_t v;

	ret = number(s, &v, &end);
	if (ret)
		return ret;
	if (*end) {
		shift = shift_of(*end);
		if (shift < 0 || end[1])
			return -EINVAL;
		if (v > UINT64_MAX >> shift)
			return -ERANGE;
		v <<= shift;
	}
	*bytes = v;
	return 0;
}

int parse_uint(const char *s, unsigned int min, unsigned int max, unsigned int *value)
{
	uint64_t v;
	int ret;

	if (s[0] == '0' && s[1])
		return -EINVAL;
	ret = parse_u64(s, &v);
	if (ret)
		return ret;
	if (v < min || v > max)
		return -ERANGE;
	*value = (unsigned int)v;
	return 0;
}

int parse_seconds(const char *s, uint64_t *ns)
{
	uint64_t whole = 0, part = 0, unit = 1000000000;
	const char *p = s;

	for (; isdigit((unsigned char)*p); p++) {
		whole = whole * 10 + (uint64_t)(*p - '0');
		if (whole > 86400)
			return -ERANGE;
	}
	if (p == s)
		return -EINVAL;
	if (*p == '.')
		for (p++; isdigit((unsigned char)*p) && unit > 1; p++) {
			unit /= 10;
			part += (uint64_t)(*p - '0') * unit;
		}
	if (*p || p[-1] == '.')
		return -EINVAL;
	*ns = whole * 1000000000 + part;
	return *ns && *ns <= 86400ULL * 1000000000 ? 0 : -ERANGE;
}

/* Checks the address and copies it. */
static int set_host(struct addr *addr, const char *s, size_t len, bool v6)
{
	char bare[ADDR_HOST_MAX], *scope;
	struct in6_addr in6;
	struct in_addr in;
	size_t i;

	if (!len || len >= sizeof(bare))
		return -EINVAL;
	memcpy(bare, s, len);
	bare[len] = '\0';
	memcpy(addr->host, bare, len + 1);
	if (!v6)
		return inet_pton(AF_INET, bare, &in) == 1 ? 0 : -EINVAL;
	scope = strchr(bare, '%');
	if (scope) {
		*scope++ = '\0';
		for (i = 0; scope[i]; i++)
			if (!isalnum((unsigned char)scope[i]) && !strchr(".-_@", scope[i]))
				return -EINVAL;
		if (!i)
			return -EINVAL;
	}
	return inet_pton(AF_INET6, bare, &in6) == 1 ? 0 : -EINVAL;
}

static int set_port(struct addr *addr, const char *s)
{
	unsigned int port;

	if (*s != ':')
		return -EINVAL;
	if (parse_uint(s + 1, 1, UINT16_MAX, &port))
		return -EINVAL;
	addr->port = (uint16_t)port;
	return 0;
}

int parse_addr(const char *s, struct addr *addr)
{
	const char *colon = strchr(s, ':'), *end;
	bool v6 = *s == '[' || (colon && strchr(colon + 1, ':'));
	int ret;

	memset(addr, 0, sizeof(*addr));
	addr->port = DEFAULT_PORT;
	if (*s == '[') {
		end = strchr(++s, ']');
		if (!end)
			return -EINVAL;
		ret = set_host(addr, s, (size_t)(end - s), true);
		end++;
	} else {
		end = v6 || !colon ? s + strlen(s) : colon;
		ret = set_host(addr, s, (size_t)(end - s), v6);
	}
	if (!ret && *end)
		ret = set_port(addr, end);
	return ret;
}

/* An address in binary, without its scope; its length, 0: it is none. */
static size_t host_bytes(const char *host, unsigned char bytes[sizeof(struct in6_addr)])
{
	char bare[ADDR_HOST_MAX];

	snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(host, "%"), host);
	if (inet_pton(AF_INET, bare, bytes) == 1)
		return sizeof(struct in_addr);
	return inet_pton(AF_INET6, bare, bytes) == 1 ? sizeof(struct in6_addr) : 0;
}

/* As the kernel takes it: a number, or the name of an interface. 0: there is none. */
static unsigned int scope_index(const char *scope)
{
	unsigned int n;

	return parse_uint(scope, 1, UINT32_MAX, &n) ? if_nametoindex(scope) : n;
}

static bool same_scope(const char *a, const char *b)
{
	return !a || !b || !strcmp(a, b) ||
	       (scope_index(a + 1) && scope_index(a + 1) == scope_index(b + 1));
}

bool same_host(const char *a, const char *b)
{
	unsigned char x[sizeof(struct in6_addr)], y[sizeof(struct in6_addr)];
	size_t len = host_bytes(a, x);

	return len && len == host_bytes(b, y) && !memcmp(x, y, len) &&
	       same_scope(strchr(a, '%'), strchr(b, '%'));
}

char *host_key(const char *host, char key[HOST_KEY_MAX])
{
	unsigned char bytes[sizeof(struct in6_addr)];
	size_t len = host_bytes(host, bytes), i;

	*key = '\0';
	for (i = 0; i < len; i++)
		snprintf(key + 2 * i, 3, "%02x", bytes[i]);
	return key;
}

bool scope_missing(const char *host)
{
	struct in6_addr addr;

	return inet_pton(AF_INET6, host, &addr) == 1 && IN6_IS_ADDR_LINKLOCAL(&addr);
}

bool scope_absent(const char *host)
{
	const char *scope = strchr(host, '%');

	return scope && !scope_index(scope + 1);
}

bool addr_is(const struct addr *addr, const char *text)
{
	struct addr other;

	return !parse_addr(text, &other) && other.port == addr->port &&
	       same_host(other.host, addr->host);
}

char *format_addr(const struct addr *addr, char *buf, size_t size)
{
	bool v6 = strchr(addr->host, ':') != NULL;

	snprintf(buf, size, "%s%s%s:%u", v6 ? "[" : "", addr->host, v6 ? "]" : "", addr->port);
	return buf;
}

bool name_valid(const char *s, size_t max)
{
	size_t len = strlen(s);

	if (!len || len >= max || *s == '.')
		return false;
	for (; *s; s++)
		if (!isascii((unsigned char)*s) ||
		    (!isalnum((unsigned char)*s) && !strchr("._:-", *s)))
			return false;
	return true;
}

#define WORD_MAX	32	/* bytes of a word of a list, with its NUL */

/* Copies the next word of a list, of which @room more may come, and moves *s behind it. */
static int next_word(const char **s, unsigned int room, char word[WORD_MAX])
{
	const char *comma = strchrnul(*s, ',');
	size_t len = (size_t)(comma - *s);

	if (!len || len >= WORD_MAX)
		return -EINVAL;
	if (!room)
		return -E2BIG;
	memcpy(word, *s, len);
	word[len] = '\0';
	*s = *comma ? comma + 1 : NULL;
	return 0;
}

int parse_size_list(const char *s, uint64_t *bytes, unsigned int nr)
{
	char word[WORD_MAX];
	unsigned int n = 0;
	int ret = 0;

	while (s && !ret) {
		ret = next_word(&s, nr - n, word);
		if (!ret)
			ret = parse_size(word, &bytes[n++]);
	}
	return ret ? ret : (int)n;
}

int parse_uint_list(const char *s, unsigned int min, unsigned int max, unsigned int *value,
		    unsigned int nr)
{
	char word[WORD_MAX];
	unsigned int n = 0;
	int ret = 0;

	while (s && !ret) {
		ret = next_word(&s, nr - n, word);
		if (!ret)
			ret = parse_uint(word, min, max, &value[n++]);
	}
	return ret ? ret : (int)n;
}
