// SPDX-License-Identifier: GPL-2.0
/* What a power cut has left of the databases: see sqlite.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sqlite.h"

/* SQLite recovers when it is opened: it plays a hot journal or a write-ahead log back. */
static void check_integrity(sqlite3 *s, const char *name)
{
	sqlite3_stmt *q = db_prepare(s, "PRAGMA integrity_check");
	char said[200];
	char *p;

	if (sqlite3_step(q) != SQLITE_ROW)
		die("%s: integrity_check: %s", name, sqlite3_errmsg(s));
	snprintf(said, sizeof(said), "%s", (const char *)sqlite3_column_text(q, 0));
	sqlite3_finalize(q);
	if (!strcmp(said, "ok"))
		return;
	for (p = said; *p; p++)
		*p = *p == '\n' ? ' ' : *p;
	die("%s: integrity_check: %s", name, said);
}

static void check_row(const char *name, sqlite3_stmt *q, uint32_t db, uint32_t cell, uint64_t k,
		      uint64_t seed)
{
	uint8_t buf[MAX_HISTORY];
	int len = k ? db_blob(seed, db, cell, k, buf) : 0;

	if ((uint64_t)sqlite3_column_int64(q, 1) != (cell == NR_CELLS ? 0 : k))
		die("%s: cell %u is of transaction %lld, not of %" PRIu64, name, cell,
		    sqlite3_column_int64(q, 1), k);
	if (sqlite3_column_bytes(q, 2) != len ||
	    (len && memcmp(sqlite3_column_blob(q, 2), buf, len)))
		die("%s: the data of transaction %" PRIu64 " (%s) are not what it wrote", name, k,
		    cell == NR_CELLS ? "history" : "cell");
}

static void check_history(sqlite3 *s, uint32_t db, const char *name, uint64_t last, uint64_t seed)
{
	sqlite3_stmt *q = db_prepare(s, "SELECT k, zero, data FROM history ORDER BY k");
	uint64_t k;

	for (k = db_cleaned(last) + 1; k <= last; k++) {
		if (sqlite3_step(q) != SQLITE_ROW || (uint64_t)sqlite3_column_int64(q, 0) != k)
			die("%s: transaction %" PRIu64 " of %" PRIu64 " is not there", name, k, last);
		check_row(name, q, db, NR_CELLS, k, seed);
	}
	if (sqlite3_step(q) != SQLITE_DONE)
		die("%s: there is more than %" PRIu64 " transactions have written", name, last);
	sqlite3_finalize(q);
}

static void check_cells(sqlite3 *s, uint32_t db, const char *name, uint64_t last, uint64_t seed)
{
	sqlite3_stmt *q = db_prepare(s, "SELECT id, k, data FROM cell ORDER BY id");
	uint64_t by[NR_CELLS] = { 0 }, k;
	uint32_t i;

	for (k = 1; k <= last; k++) {
		struct change c = db_change(seed, db, k);

		for (i = 0; i < c.nr; i++)
			by[c.cell[i]] = k;
	}
	for (i = 0; i < NR_CELLS; i++) {
		if (sqlite3_step(q) != SQLITE_ROW || sqlite3_column_int64(q, 0) != i)
			die("%s: cell %u is not there", name, i);
		check_row(name, q, db, i, by[i], seed);
	}
	sqlite3_finalize(q);
}

static void check_database(const char *dir, uint32_t db, uint64_t acked, uint64_t begun,
			   uint64_t seed)
{
	const char *name = journal_modes[db];
	sqlite3 *s = db_open(dir, db);
	int64_t last = -1;

	check_integrity(s, name);
	db_run(s, "SELECT coalesce(max(k), 0) FROM history", &last);
	if (last < (int64_t)acked)
		die("%s: transaction %" PRIu64 " was acknowledged, the last one there is %" PRId64,
		    name, acked, last);
	if (last > (int64_t)begun)
		die("%s: transaction %" PRId64 " is there, %" PRIu64 " had begun", name, last, begun);
	check_history(s, db, name, last, seed);
	check_cells(s, db, name, last, seed);
	sqlite3_close(s);
	printf("%s: %" PRId64 " transactions, %" PRIu64 " acknowledged\n", name, last, acked);
}

void db_check(const char *dir, const char *promises, uint64_t seed)
{
	uint64_t acked, begun;
	uint32_t db = 0, id;
	FILE *f = fopen(promises, "r");

	if (!f)
		die("%s: %s", promises, strerror(errno));
	for (; db < NR_DATABASES; db++) {
		if (fscanf(f, "%" SCNu32 " %" SCNu64 " %" SCNu64, &id, &acked, &begun) != 3 || id != db)
			die("%s: malformed", promises);
		check_database(dir, db, acked, begun, seed);
	}
	fclose(f);
}
