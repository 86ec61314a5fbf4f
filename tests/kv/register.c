// SPDX-License-Identifier: GPL-2.0
/* A key as a register: register.h. */
#include <stdlib.h>
#include <string.h>

#include "register.h"

static int order(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_tag(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	return x->tag == y->tag ? order(x->version, y->version) : order(x->tag, y->tag);
}

static int by_version(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	return x->version == y->version ? order(x->tag, y->tag) : order(x->version, y->version);
}

/* Equal pairs once; returns how many are left. */
static size_t unique(struct pair *pair, size_t nr)
{
	size_t i, n = 0;

	for (i = 0; i < nr; i++)
		if (!n || by_tag(&pair[n - 1], &pair[i]))
			pair[n++] = pair[i];
	return n;
}

static int contradiction(const struct pairs *p, struct pair bad[2])
{
	const struct pair *found = NULL;
	size_t i;

	for (i = 1; i < p->nr && !found; i++) {
		if (p->by_tag[i].tag == p->by_tag[i - 1].tag)
			found = &p->by_tag[i];
		else if (p->by_version[i].version == p->by_version[i - 1].version)
			found = &p->by_version[i];
	}
	if (!found)
		return 0;
	memcpy(bad, found - 1, 2 * sizeof(*bad));
	return 1;
}

int pairs_make(struct pairs *p, const struct op *op, size_t nr, struct pair bad[2])
{
	size_t i;

	p->nr = 0;
	p->by_tag = calloc(nr + 1, sizeof(*p->by_tag));
	p->by_version = calloc(nr + 1, sizeof(*p->by_version));
	if (!p->by_tag || !p->by_version)
		return -1;
	for (i = 0; i < nr; i++)
		if (op[i].result == RESULT_OK && op[i].kind != OP_DELETE)
			p->by_tag[p->nr++] = (struct pair){ op[i].tag, op[i].version };
	qsort(p->by_tag, p->nr, sizeof(*p->by_tag), by_tag);
	p->nr = unique(p->by_tag, p->nr);
	memcpy(p->by_version, p->by_tag, p->nr * sizeof(*p->by_tag));
	qsort(p->by_version, p->nr, sizeof(*p->by_version), by_version);
	return contradiction(p, bad);
}

void pairs_free(struct pairs *p)
{
	free(p->by_tag);
	free(p->by_version);
}

static const struct pair *find(const struct pair *pair, size_t nr, uint64_t tag, uint64_t version)
{
	size_t low = 0, high = nr;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (tag ? pair[middle].tag < tag : pair[middle].version < version)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == nr || (tag ? pair[low].tag != tag : pair[low].version != version))
		return NULL;
	return &pair[low];
}

/* May the value have this version?  Yes if nobody knows either's other. */
static bool may_have(const struct pairs *p, uint64_t tag, uint64_t version)
{
	const struct pair *known;

	if (!tag || !version)
		return !tag && !version;
	known = find(p->by_tag, p->nr, tag, 0);
	if (known)
		return known->version == version;
	return !find(p->by_version, p->nr, 0, version);
}

/* Must it? */
static bool has(const struct pairs *p, uint64_t tag, uint64_t version)
{
	const struct pair *known = tag ? find(p->by_tag, p->nr, tag, 0) : NULL;

	return known ? known->version == version : !tag && !version;
}

static bool may_meet(const struct pairs *p, const struct op *op, uint64_t tag)
{
	if (op->expected == EXPECT_ANY)
		return op->kind == OP_PUT || tag;
	return may_have(p, tag, op->expected);
}

static bool must_meet(const struct pairs *p, const struct op *op, uint64_t tag)
{
	if (op->expected == EXPECT_ANY)
		return op->kind == OP_PUT || tag;
	return has(p, tag, op->expected);
}

uint64_t register_makes(const struct pairs *p, const struct op *op)
{
	if (op->kind == OP_DELETE)
		return 0;
	return find(p->by_tag, p->nr, op->tag, 0) ? op->tag : TAG_UNSEEN;
}

bool register_step(const struct pairs *p, const struct op *op, uint64_t *tag)
{
	switch (op->result) {
	case RESULT_OK:
		if (op->kind == OP_GET)
			return *tag == op->tag;
		if (!may_meet(p, op, *tag))
			return false;
		*tag = register_makes(p, op);
		return true;
	case RESULT_NONE:
		return !*tag;
	case RESULT_EXISTS:
		return *tag && may_have(p, *tag, op->version);
	case RESULT_STALE:
		return !must_meet(p, op, *tag) && may_have(p, *tag, op->version);
	case RESULT_UNKNOWN:
		/* Where it does nothing it may as well come later, or never. */
		if (!may_meet(p, op, *tag))
			return false;
		*tag = register_makes(p, op);
		return true;
	}
	return false;
}
