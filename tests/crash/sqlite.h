/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Databases under the power-cut explorer: what a database holds after its
 * transaction K is a function of seed, database and K, so the check needs nothing but the
 * files and K's bounds. See docs/crash.md.
 *
 *   history  one row for each transaction, but some old ones are deleted now and then
 *   cell     NR_CELLS rows, of which each transaction rewrites a few
 */
#ifndef PMOF_CRASH_SQLITE_H
#define PMOF_CRASH_SQLITE_H

#include <sqlite3.h>
#include <stdint.h>

#include "content.h"

#define NR_DATABASES	3
#define NR_CELLS	64
#define MAX_CELL	1500
#define MAX_HISTORY	3000
#define CLEAN_EVERY	16	/* transactions */
#define CLEAN_KEEPS	40

/* With synchronous=FULL a commit is durable in these; in mode DELETE it is not: the directory is not synced. */
static const char * const journal_modes[NR_DATABASES] = { "wal", "truncate", "persist" };

/* What transaction @k of database @db does to its cells. */
struct change {
	uint32_t nr;
	uint32_t cell[5];
};

static inline uint64_t db_seed(uint64_t seed, uint32_t db, uint64_t k)
{
	return crash_mix(seed ^ crash_mix((uint64_t)db << 32 | k));
}

static inline struct change db_change(uint64_t seed, uint32_t db, uint64_t k)
{
	uint64_t rnd = db_seed(seed, db, k);
	struct change c = { .nr = 1 + crash_rnd(&rnd, 5) };
	uint32_t i;

	for (i = 0; i < c.nr; i++)
		c.cell[i] = crash_rnd(&rnd, NR_CELLS);
	return c;
}

/* Rows of history up to this one are gone after transaction @k. */
static inline uint64_t db_cleaned(uint64_t k)
{
	uint64_t last = k - k % CLEAN_EVERY;

	return last > CLEAN_KEEPS ? last - CLEAN_KEEPS : 0;
}

/* The blob that transaction @k writes: to a cell, or (NR_CELLS) to history. Returns its length. */
static inline int db_blob(uint64_t seed, uint32_t db, uint32_t cell, uint64_t k, uint8_t *buf)
{
	uint64_t rnd = db_seed(~seed, db << 8 | cell, k);
	int len = 1 + crash_rnd(&rnd, cell == NR_CELLS ? MAX_HISTORY : MAX_CELL);

	crash_content(buf, seed, db << 8 | cell, k, 0, len);
	return len;
}

void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

sqlite3 *db_open(const char *dir, uint32_t db);
/* Runs a statement; *@value, if there is one, is bound to its first row's first column. */
void db_run(sqlite3 *s, const char *sql, int64_t *value);
sqlite3_stmt *db_prepare(sqlite3 *s, const char *sql);
/* Bound to a statement's parameters 1, 2 and, with @len, 3. */
void db_step(sqlite3_stmt *q, int64_t one, int64_t two, const uint8_t *blob, int len);

/* Returns if all databases of @dir are as @promises says; else ends the program. */
void db_check(const char *dir, const char *promises, uint64_t seed);

#endif /* PMOF_CRASH_SQLITE_H */
