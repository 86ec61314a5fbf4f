/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parsing what a user types.  parse.c is pure: it needs nothing but libc, and
 * tests/unit compiles it.  All functions return 0 or a negative errno, and take
 * the whole string: trailing garbage is -EINVAL.
 */
#ifndef PMOF_TOOLS_PARSE_H
#define PMOF_TOOLS_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADDR_HOST_MAX	64	/* bytes of an address with its NUL, as the kernel takes it */

/* A server's address. */
struct addr {
	char host[ADDR_HOST_MAX];	/* IPv4 or IPv6, numeric, without brackets */
	uint16_t port;			/* never 0 */
};

/* Decimal, or hexadecimal after 0x.  -ERANGE: above 2^64 - 1. */
int parse_u64(const char *s, uint64_t *value);

/* As parse_u64(), and a leading '-' gives the two's complement. */
int parse_word(const char *s, uint64_t *value);

/* As parse_u64(), with an optional suffix k, K, M, G or T (powers of 1024). */
int parse_size(const char *s, uint64_t *bytes);

/* Decimal from @min to @max, else -ERANGE. */
int parse_uint(const char *s, unsigned int min, unsigned int max, unsigned int *value);

/* Seconds with an optional fraction, "2" or "0.25", above 0 and at most a day. */
int parse_seconds(const char *s, uint64_t *ns);

/* "A", "A:PORT", "[A]", "[A]:PORT"; an IPv6 address may have a %scope. */
int parse_addr(const char *s, struct addr *addr);

/*
 * True if two addresses are one, however they are spelled. Scopes must name one interface
 * where both have one.
 */
bool same_host(const char *a, const char *b);

/* A text that is the same for addresses that same_host() finds to be the same, and no other; returns @key. */
#define HOST_KEY_MAX	33
char *host_key(const char *host, char key[HOST_KEY_MAX]);

/* True for a link-local IPv6 address without the interface that it is to be found on. */
bool scope_missing(const char *host);

/* True if the address has a scope that no interface of this machine has, yet. */
bool scope_absent(const char *host);

/* True if @text, as parse_addr() takes it, is @addr. */
bool addr_is(const struct addr *addr, const char *text);

/* "A:PORT", with brackets around an IPv6 address; returns @buf. */
char *format_addr(const struct addr *addr, char *buf, size_t size);
#define ADDR_TEXT_MAX	(ADDR_HOST_MAX + 8)

/* True if @s may name a namespace (@max 64) or a client (@max 32); @max counts the NUL. */
bool name_valid(const char *s, size_t max);

/*
 * Comma-separated sizes, or numbers from @min to @max, at most @nr of them.
 * Return: how many, or -EINVAL, -ERANGE, -E2BIG.
 */
int parse_size_list(const char *s, uint64_t *bytes, unsigned int nr);
int parse_uint_list(const char *s, unsigned int min, unsigned int max, unsigned int *value,
		    unsigned int nr);

#endif /* PMOF_TOOLS_PARSE_H */
