/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What pmof kv bench does to a store: which keys, which operations, how large.  Pure: all random
 * numbers come from a seed, and tests/unit looks at the distributions.
 */
#ifndef PMOF_TOOLS_KV_WORKLOAD_H
#define PMOF_TOOLS_KV_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- random numbers ------------------------------------------------------------ */

struct kv_random {
	uint64_t state;
};

uint64_t kv_random(struct kv_random *r);
uint64_t kv_random_below(struct kv_random *r, uint64_t limit);
double kv_random_unit(struct kv_random *r);	/* 0 <= x < 1 */

/* One to one: different numbers give different ones. */
uint64_t kv_mix(uint64_t x);

/* --- which key -------------------------------------------------------------------- */

#define KV_ZIPF_THETA	0.99			/* YCSB's */
#define KV_ZIPF_ITEMS	10000000000ULL		/* that YCSB scatters over the keys */

/*
 * Ranks 0 to n - 1, rank i with a probability proportional to 1 / (i + 1)^theta, by the
 * formula of Gray et al., "Quickly Generating Billion-Record Synthetic Databases" (SIGMOD 1994).
 */
struct kv_zipf {
	uint64_t n;
	double theta, alpha, zeta2, head, zetan, eta;
};

void kv_zipf_init(struct kv_zipf *z, uint64_t n, double theta);
void kv_zipf_resize(struct kv_zipf *z, uint64_t n);
uint64_t kv_zipf_next(const struct kv_zipf *z, struct kv_random *r);

/* 1 + 1/2^theta + ... + 1/n^theta; quick for any n. */
double kv_zeta(uint64_t n, double theta);

enum kv_choice {
	KV_CHOICE_UNIFORM,
	KV_CHOICE_ZIPFIAN,	/* YCSB's: the popular ones are scattered */
	KV_CHOICE_LATEST,	/* the last one put in is the most popular */
	KV_CHOICES
};

struct kv_chooser {
	enum kv_choice choice;
	struct kv_zipf zipf;
};

/* @keys: there are at the beginning. */
void kv_chooser_init(struct kv_chooser *c, enum kv_choice choice, uint64_t keys);

/* One of @keys: they may have become more. */
uint64_t kv_choose(struct kv_chooser *c, uint64_t keys, struct kv_random *r);

/* --- how large ------------------------------------------------------------------------ */

enum kv_sizes_kind {
	KV_SIZES_FIXED,
	KV_SIZES_PAPER,		/* RDMP-KV's: 64 B, 1 KiB, 4 KiB, 64 KiB; keys of 12, 16, 20 B */
	KV_SIZES_ETC,		/* TH-DPMS's of Facebook's pool ETC */
	KV_SIZES_SYS,		/* and SYS */
};

struct kv_sizes {
	enum kv_sizes_kind kind;
	uint32_t value;		/* KV_SIZES_FIXED */
	uint32_t key;
};

#define KV_KEY_MIN	8U
#define KV_KEY_MAX	1024U

uint32_t kv_value_size(const struct kv_sizes *s, struct kv_random *r);
uint32_t kv_value_size_max(const struct kv_sizes *s);

/* The key of that number: returns its bytes, at most KV_KEY_MAX.  Always the same one. */
uint32_t kv_make_key(const struct kv_sizes *s, uint64_t number, char *buf);

/* --- which operation --------------------------------------------------------------------- */

enum kv_op {
	KV_OP_READ,
	KV_OP_UPDATE,
	KV_OP_INSERT,
	KV_OP_SCAN,
	KV_OP_MODIFY,		/* read, then put if it has not changed */
	KV_OPS
};

struct kv_workload {
	const char *name;
	const char *text;
	uint8_t percent[KV_OPS];
	enum kv_choice choice;
	enum kv_sizes_kind sizes;	/* by default; KV_SIZES_FIXED: 1000 bytes */
};

#define KV_SCAN_MAX	100U	/* keys of a scan: 1 to this */

/* NULL: there is none of that name.  The table ends with a name of NULL. */
const struct kv_workload *kv_workload_find(const char *name);
extern const struct kv_workload kv_workloads[];

enum kv_op kv_choose_op(const struct kv_workload *w, struct kv_random *r);

extern const char *const kv_op_names[KV_OPS];
extern const char *const kv_choice_names[KV_CHOICES];

#endif /* PMOF_TOOLS_KV_WORKLOAD_H */
