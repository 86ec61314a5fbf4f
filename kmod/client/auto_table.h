/* SPDX-License-Identifier: GPL-2.0 */
/* Which method serves a durable put of which size: pure (tests/unit). */
#ifndef PMOF_AUTO_TABLE_H
#define PMOF_AUTO_TABLE_H

#include "wire.h"

#define PMOF_AUTO_MAX		8	/* entries */
#define PMOF_AUTO_RPC_DEFAULT	512	/* until calibrated */

/**
 * struct pmof_auto_table - methods by size
 * @nr: entries, at least one
 * @entry: ascending by @limit, the last has none (U64_MAX)
 */
struct pmof_auto_table {
	unsigned int nr;
	struct pmof_auto_entry {
		unsigned int method;	/* enum pmof_method */
		u64 limit;		/* largest put that it serves, bytes */
	} entry[PMOF_AUTO_MAX];
};

int pmof_auto_parse(char *text, u32 usable, struct pmof_auto_table *table);
void pmof_auto_default(u32 usable, struct pmof_auto_table *table);
unsigned int pmof_auto_lookup(const struct pmof_auto_table *table, u64 bytes);

#endif /* PMOF_AUTO_TABLE_H */
