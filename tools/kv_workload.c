// SPDX-License-Identifier: BSD-3-Clause
/* Keys, sizes and operations of pmof kv bench: kv_workload.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kv_workload.h"

/* --- random numbers ------------------------------------------------------------ */

/* SplitMix64 of Steele, Lea and Flood. */
uint64_t kv_mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

uint64_t kv_random(struct kv_random *r)
{
	r->state += 0x9e3779b97f4a7c15ULL;
	return kv_mix(r->state);
}

uint64_t kv_random_below(struct kv_random *r, uint64_t limit)
{
	return (uint64_t)((unsigned __int128)kv_random(r) * limit >> 64);
}

double kv_random_unit(struct kv_random *r)
{
	return (double)(kv_random(r) >> 11) * 0x1p-53;
}

/* --- which key -------------------------------------------------------------------- */

#define HEAD	1000U	/* terms that are summed up one by one */

static double sum_head(uint64_t n, double theta)
{
	double sum = 0;
	uint64_t i;

	for (i = 1; i <= n && i <= HEAD; i++)
		sum += pow((double)i, -theta);
	return sum;
}

/* The rest by Euler and Maclaurin's formula: the error is below 1e-12. */
static double sum_tail(uint64_t n, double theta)
{
	double a = HEAD, b = (double)n;

	if (n <= HEAD)
		return 0;
	return (pow(b, 1 - theta) - pow(a, 1 - theta)) / (1 - theta) +
	       (pow(b, -theta) - pow(a, -theta)) / 2 +
	       theta * (pow(a, -theta - 1) - pow(b, -theta - 1)) / 12;
}

double kv_zeta(uint64_t n, double theta)
{
	return sum_head(n, theta) + sum_tail(n, theta);
}

void kv_zipf_resize(struct kv_zipf *z, uint64_t n)
{
	z->n = n;
	z->zetan = n > HEAD ? z->head + sum_tail(n, z->theta) : sum_head(n, z->theta);
	z->eta = (1 - pow(2.0 / (double)n, 1 - z->theta)) / (1 - z->zeta2 / z->zetan);
}

void kv_zipf_init(struct kv_zipf *z, uint64_t n, double theta)
{
	z->theta = theta;
	z->alpha = 1 / (1 - theta);
	z->zeta2 = kv_zeta(2, theta);
	z->head = sum_head(HEAD, theta);
	kv_zipf_resize(z, n);
}

uint64_t kv_zipf_next(const struct kv_zipf *z, struct kv_random *r)
{
	double u = kv_random_unit(r), scaled = u * z->zetan;
	uint64_t rank;

	if (scaled < 1 || z->n == 1)
		return 0;
	if (scaled < z->zeta2 || z->n == 2)
		return 1;
	rank = (uint64_t)((double)z->n * pow(z->eta * u - z->eta + 1, z->alpha));
	return rank < z->n ? rank : z->n - 1;
}

void kv_chooser_init(struct kv_chooser *c, enum kv_choice choice, uint64_t keys)
{
	c->choice = choice;
	kv_zipf_init(&c->zipf, choice == KV_CHOICE_ZIPFIAN ? KV_ZIPF_ITEMS : keys, KV_ZIPF_THETA);
}

uint64_t kv_choose(struct kv_chooser *c, uint64_t keys, struct kv_random *r)
{
	switch (c->choice) {
	case KV_CHOICE_ZIPFIAN:
		return kv_mix(kv_zipf_next(&c->zipf, r) + 1) % keys;
	case KV_CHOICE_LATEST:
		if (c->zipf.n != keys)
			kv_zipf_resize(&c->zipf, keys);
		return keys - 1 - kv_zipf_next(&c->zipf, r);
	default:
		return kv_random_below(r, keys);
	}
}

/* --- how large ------------------------------------------------------------------------ */

static uint32_t between(struct kv_random *r, uint32_t low, uint32_t high)
{
	return low + (uint32_t)kv_random_below(r, high - low + 1);
}

/* What the paper says of 90 % of the values; it leaves open how large the others are. */
static uint32_t etc_value(struct kv_random *r)
{
	return kv_random_below(r, 10) ? between(r, 16, 512) : between(r, 513, 4096);
}

static uint32_t sys_value(struct kv_random *r)
{
	uint64_t percent = kv_random_below(r, 100);

	if (percent < 80)
		return between(r, 320, 500);
	return percent < 88 ? between(r, 16, 319) : between(r, 501, 10000);
}

uint32_t kv_value_size(const struct kv_sizes *s, struct kv_random *r)
{
	static const uint32_t paper[4] = { 64, 1024, 4096, 65536 };

	switch (s->kind) {
	case KV_SIZES_PAPER:
		return paper[kv_random_below(r, 4)];
	case KV_SIZES_ETC:
		return etc_value(r);
	case KV_SIZES_SYS:
		return sys_value(r);
	default:
		return s->value;
	}
}

uint32_t kv_value_size_max(const struct kv_sizes *s)
{
	switch (s->kind) {
	case KV_SIZES_PAPER:
		return 65536;
	case KV_SIZES_ETC:
		return 4096;
	case KV_SIZES_SYS:
		return 10000;
	default:
		return s->value;
	}
}

/* Of a key its length, too, is always the same. */
static uint32_t key_size(const struct kv_sizes *s, uint64_t number)
{
	struct kv_random r = { number };

	if (s->key)
		return s->key;
	switch (s->kind) {
	case KV_SIZES_PAPER:
		return 12 + 4 * (uint32_t)kv_random_below(&r, 3);
	case KV_SIZES_SYS:
		return kv_random_below(&r, 10) < 4 ? between(&r, 16, 20) : between(&r, 21, 45);
	default:
		return 16;
	}
}

/* From 16 bytes on the number is scattered; in fewer there is room for it as it is. */
uint32_t kv_make_key(const struct kv_sizes *s, uint64_t number, char *buf)
{
	uint32_t size = key_size(s, number);
	char text[17];

	snprintf(text, sizeof(text), "%016llx",
		 (unsigned long long)(size < 16 ? number : kv_mix(number)));
	if (size < 16) {
		memcpy(buf, text + 16 - size, size);
	} else {
		memcpy(buf, text, 16);
		memset(buf + 16, 'k', size - 16);
	}
	return size;
}

/* --- which operation --------------------------------------------------------------------- */

const char *const kv_op_names[KV_OPS] = { "read", "update", "insert", "scan", "modify" };
const char *const kv_choice_names[KV_CHOICES] = { "uniform", "zipfian", "latest" };

/* read, update, insert, scan, modify */
const struct kv_workload kv_workloads[] = {
	{ "a", "YCSB A", { 50, 50, 0, 0, 0 }, KV_CHOICE_ZIPFIAN, KV_SIZES_FIXED },
	{ "b", "YCSB B", { 95, 5, 0, 0, 0 }, KV_CHOICE_ZIPFIAN, KV_SIZES_FIXED },
	{ "c", "YCSB C", { 100, 0, 0, 0, 0 }, KV_CHOICE_ZIPFIAN, KV_SIZES_FIXED },
	{ "d", "YCSB D", { 95, 0, 5, 0, 0 }, KV_CHOICE_LATEST, KV_SIZES_FIXED },
	{ "e", "YCSB E", { 0, 0, 5, 95, 0 }, KV_CHOICE_ZIPFIAN, KV_SIZES_FIXED },
	{ "f", "YCSB F", { 50, 0, 0, 0, 50 }, KV_CHOICE_ZIPFIAN, KV_SIZES_FIXED },
	{ "etc", "ETC", { 95, 5, 0, 0, 0 }, KV_CHOICE_ZIPFIAN, KV_SIZES_ETC },
	{ "sys", "SYS", { 75, 25, 0, 0, 0 }, KV_CHOICE_ZIPFIAN, KV_SIZES_SYS },
	{ "get", "gets", { 100, 0, 0, 0, 0 }, KV_CHOICE_UNIFORM, KV_SIZES_FIXED },
	{ "put", "puts", { 0, 100, 0, 0, 0 }, KV_CHOICE_UNIFORM, KV_SIZES_FIXED },
	{ 0 }
};

const struct kv_workload *kv_workload_find(const char *name)
{
	const struct kv_workload *w;

	for (w = kv_workloads; w->name; w++)
		if (!strcmp(w->name, name))
			return w;
	return NULL;
}

enum kv_op kv_choose_op(const struct kv_workload *w, struct kv_random *r)
{
	uint64_t percent = kv_random_below(r, 100);
	unsigned int op = 0;

	while (op < KV_OPS - 1 && percent >= w->percent[op])
		percent -= w->percent[op++];
	return (enum kv_op)op;
}
