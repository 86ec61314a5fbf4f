// SPDX-License-Identifier: GPL-2.0
/*
 * HMAC-SHA-256 (FIPS 180-4, RFC 2104) for what speaks the wire protocol in user
 * space: pmof_hmac() and pmof_mac_equal() of kmod/common/auth.h.  tests/unit
 * checks it against RFC 4231; the kernel's meets it in tests/vm/rights*.c.
 */
#include "../kmod/common/auth.h"

#define SHA_BLOCK	64
#define SHA_LEN		32

struct sha256 {
	u32 h[8];
	u64 len;
	u8 block[SHA_BLOCK];
};

static const u32 sha_k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static u32 sha_ror(u32 x, int n)
{
	return x >> n | x << (32 - n);
}

static void sha_block(u32 h[8], const u8 *p)
{
	u32 w[64], v[8], t1, t2;
	int i;

	for (i = 0; i < 16; i++)
		w[i] = (u32)p[4 * i] << 24 | p[4 * i + 1] << 16 | p[4 * i + 2] << 8 | p[4 * i + 3];
	for (; i < 64; i++)
		w[i] = w[i - 16] + w[i - 7] +
		       (sha_ror(w[i - 15], 7) ^ sha_ror(w[i - 15], 18) ^ w[i - 15] >> 3) +
		       (sha_ror(w[i - 2], 17) ^ sha_ror(w[i - 2], 19) ^ w[i - 2] >> 10);
	memcpy(v, h, sizeof(v));
	for (i = 0; i < 64; i++) {
		t1 = v[7] + (sha_ror(v[4], 6) ^ sha_ror(v[4], 11) ^ sha_ror(v[4], 25)) +
		     ((v[4] & v[5]) ^ (~v[4] & v[6])) + sha_k[i] + w[i];
		t2 = (sha_ror(v[0], 2) ^ sha_ror(v[0], 13) ^ sha_ror(v[0], 22)) +
		     ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
		memmove(v + 1, v, 7 * sizeof(v[0]));
		v[0] = t1 + t2;
		v[4] += t1;
	}
	for (i = 0; i < 8; i++)
		h[i] += v[i];
}

static void sha_init(struct sha256 *s)
{
	*s = (struct sha256){ .h = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
				     0x9b05688c, 0x1f83d9ab, 0x5be0cd19 } };
}

static void sha_add(struct sha256 *s, const void *data, size_t len)
{
	const u8 *p = data;

	while (len--) {
		s->block[s->len++ % SHA_BLOCK] = *p++;
		if (s->len % SHA_BLOCK == 0)
			sha_block(s->h, s->block);
	}
}

static void sha_end(struct sha256 *s, u8 out[SHA_LEN])
{
	static const u8 one = 0x80, zero;
	u64 bits = s->len * 8;
	u8 length[8];
	int i;

	sha_add(s, &one, 1);
	while (s->len % SHA_BLOCK != SHA_BLOCK - sizeof(length))
		sha_add(s, &zero, 1);
	for (i = 0; i < 8; i++)
		length[i] = bits >> (56 - 8 * i);
	sha_add(s, length, sizeof(length));
	for (i = 0; i < SHA_LEN; i++)
		out[i] = s->h[i / 4] >> (24 - 8 * (i % 4));
}

int pmof_hmac(const u8 *key, size_t key_len, const void *data, size_t len, u8 mac[SHA_LEN])
{
	u8 pad[SHA_BLOCK] = { 0 }, inner[SHA_LEN];
	struct sha256 s;
	int i;

	if (key_len > SHA_BLOCK) {
		sha_init(&s);
		sha_add(&s, key, key_len);
		sha_end(&s, pad);
	} else {
		memcpy(pad, key, key_len);
	}
	for (i = 0; i < SHA_BLOCK; i++)
		pad[i] ^= 0x36;
	sha_init(&s);
	sha_add(&s, pad, sizeof(pad));
	sha_add(&s, data, len);
	sha_end(&s, inner);
	for (i = 0; i < SHA_BLOCK; i++)
		pad[i] ^= 0x36 ^ 0x5c;
	sha_init(&s);
	sha_add(&s, pad, sizeof(pad));
	sha_add(&s, inner, sizeof(inner));
	sha_end(&s, mac);
	return 0;
}

bool pmof_mac_equal(const u8 *a, const u8 *b, size_t len)
{
	return !memcmp(a, b, len);
}
