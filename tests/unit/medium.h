/* SPDX-License-Identifier: GPL-2.0 */
/* A store's medium and memory in a program: no caches to write back, and the heap. */
#ifndef PMOF_UNIT_MEDIUM_H
#define PMOF_UNIT_MEDIUM_H

#include "../../kmod/store/steps.h"

static inline void medium_write_back(struct pmof_kv_medium *m, u64 offset, u64 length)
{
	(void)m;
	(void)offset;
	(void)length;
}

static inline void *medium_zalloc(size_t size)
{
	return calloc(1, size);
}

static inline void medium_free(const void *p)
{
	free((void *)p);
}

#endif /* PMOF_UNIT_MEDIUM_H */
