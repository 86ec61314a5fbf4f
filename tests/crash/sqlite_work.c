// SPDX-License-Identifier: GPL-2.0
/*
 * Transactions on SQLite databases, one thread each, with marks around them and a
 * log (log.h), in the client VM; or the check of what a power cut has left of them.
 */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "mark.h"
#include "sqlite.h"

#define MAX_TXNS	20000	/* of all databases together */

static struct {
	const char *dir;
	uint64_t seed;
	uint64_t first_mark;
	uint64_t txns;		/* for each database */
	uint32_t next_op;
	/* By operation. */
	uint32_t db[MAX_TXNS];
	uint64_t version[MAX_TXNS];
} work = { .seed = 1, .txns = 100 };

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	exit(1);
}

/* --- SQLite, whose every error is the end -------------------------------------------- */

sqlite3 *db_open(const char *dir, uint32_t db)
{
	char path[4096];
	sqlite3 *s;

	snprintf(path, sizeof(path), "%s/%s.db", dir, journal_modes[db]);
	if (sqlite3_open_v2(path, &s, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL))
		die("%s: %s", path, sqlite3_errmsg(s));
	return s;
}

sqlite3_stmt *db_prepare(sqlite3 *s, const char *sql)
{
	sqlite3_stmt *q;

	if (sqlite3_prepare_v2(s, sql, -1, &q, NULL))
		die("%s: %s: %s", sqlite3_db_filename(s, "main"), sql, sqlite3_errmsg(s));
	return q;
}

void db_run(sqlite3 *s, const char *sql, int64_t *value)
{
	sqlite3_stmt *q = db_prepare(s, sql);
	int rc = sqlite3_step(q);

	if (rc == SQLITE_ROW && value)
		*value = sqlite3_column_int64(q, 0);
	while (rc == SQLITE_ROW)
		rc = sqlite3_step(q);
	if (rc != SQLITE_DONE)
		die("%s: %s: %s", sqlite3_db_filename(s, "main"), sql, sqlite3_errmsg(s));
	sqlite3_finalize(q);
}

static void plain(sqlite3_stmt *q)
{
	if (sqlite3_step(q) != SQLITE_DONE)
		die("%s: %s", sqlite3_sql(q), sqlite3_errmsg(sqlite3_db_handle(q)));
	sqlite3_reset(q);
}

void db_step(sqlite3_stmt *q, int64_t one, int64_t two, const uint8_t *blob, int len)
{
	sqlite3_bind_int64(q, 1, one);
	if (sqlite3_bind_parameter_count(q) > 1)
		sqlite3_bind_int64(q, 2, two);
	if (len)
		sqlite3_bind_blob(q, 3, blob, len, SQLITE_STATIC);
	plain(q);
}

/* --- the workload ---------------------------------------------------------------------- */

/* In its journal mode; a commit is durable when it returns. */
static sqlite3 *open_to_write(uint32_t db)
{
	sqlite3 *s = db_open(work.dir, db);
	char sql[64];

	snprintf(sql, sizeof(sql), "PRAGMA journal_mode=%s", journal_modes[db]);
	db_run(s, sql, NULL);
	db_run(s, "PRAGMA synchronous=FULL", NULL);
	return s;
}

static void make_tables(uint32_t db)
{
	sqlite3 *s = open_to_write(db);
	char sql[64];
	int i;

	db_run(s, "BEGIN", NULL);
	db_run(s, "CREATE TABLE history(k INTEGER PRIMARY KEY, zero INTEGER, data BLOB)", NULL);
	db_run(s, "CREATE TABLE cell(id INTEGER PRIMARY KEY, k INTEGER, data BLOB)", NULL);
	db_run(s, "CREATE INDEX cell_k ON cell(k)", NULL);
	for (i = 0; i < NR_CELLS; i++) {
		snprintf(sql, sizeof(sql), "INSERT INTO cell VALUES(%d, 0, x'')", i);
		db_run(s, sql, NULL);
	}
	db_run(s, "COMMIT", NULL);
	sqlite3_close(s);
}

struct statements {
	sqlite3_stmt *history, *clean, *cell, *begin, *commit;
};

static struct statements prepare_all(sqlite3 *s)
{
	return (struct statements){
		.history = db_prepare(s, "INSERT INTO history VALUES(?1, ?2, ?3)"),
		.clean = db_prepare(s, "DELETE FROM history WHERE k <= ?1"),
		.cell = db_prepare(s, "UPDATE cell SET k = ?2, data = ?3 WHERE id = ?1"),
		.begin = db_prepare(s, "BEGIN IMMEDIATE"),
		.commit = db_prepare(s, "COMMIT"),
	};
}

static void transaction(const struct statements *q, uint32_t db, uint64_t k, uint8_t *buf)
{
	uint32_t number = __atomic_fetch_add(&work.next_op, 1, __ATOMIC_SEQ_CST), i;
	struct change change = db_change(work.seed, db, k);

	work.db[number] = db;
	work.version[number] = k;
	crash_mark(MARK_OP_START, work.first_mark + number);
	plain(q->begin);
	db_step(q->history, k, 0, buf, db_blob(work.seed, db, NR_CELLS, k, buf));
	for (i = 0; i < change.nr; i++)
		db_step(q->cell, change.cell[i], k, buf,
			db_blob(work.seed, db, change.cell[i], k, buf));
	if (k % CLEAN_EVERY == 0)
		db_step(q->clean, db_cleaned(k), 0, NULL, 0);
	plain(q->commit);
	crash_mark(MARK_OP_DONE, work.first_mark + number);
}

static void *run_database(void *arg)
{
	uint32_t db = (uintptr_t)arg;
	sqlite3 *s = open_to_write(db);
	uint8_t buf[MAX_HISTORY];
	struct statements q;
	uint64_t k;

	/* Often, so that cuts meet it. */
	db_run(s, "PRAGMA wal_autocheckpoint=60", NULL);
	q = prepare_all(s);
	for (k = 1; k <= work.txns; k++)
		transaction(&q, db, k, buf);
	/* Left open: closing would take the log of mode WAL away, and the program ends anyhow. */
	return NULL;
}

static void write_log(const char *path)
{
	FILE *f = fopen(path, "w");
	uint32_t i;

	if (!f)
		die("%s: %s", path, strerror(errno));
	fprintf(f, LOG_MAGIC "\nseed %llu\n", (unsigned long long)work.seed);
	for (i = 0; i < NR_DATABASES; i++)
		fprintf(f, "slot %u db %u 1\n", i, i);
	for (i = 0; i < work.next_op; i++)
		fprintf(f, "txn %u %u %llu\n", i, work.db[i], (unsigned long long)work.version[i]);
	fprintf(f, "end %u\n", work.next_op);
	if (fclose(f))
		die("%s: %s", path, strerror(errno));
}

static void run(const char *log)
{
	pthread_t id[NR_DATABASES];
	uintptr_t db;

	if (work.txns * NR_DATABASES > MAX_TXNS)
		die("too many transactions");
	for (db = 0; db < NR_DATABASES; db++)
		make_tables(db);
	for (db = 0; db < NR_DATABASES; db++)
		if (pthread_create(&id[db], NULL, run_database, (void *)db))
			die("cannot start a thread");
	for (db = 0; db < NR_DATABASES; db++)
		pthread_join(id[db], NULL);
	write_log(log);
	printf("sqlite_work: %u transactions\n", work.next_op);
	/* Without closing the databases, as a program that is killed. */
	fflush(stdout);
	_Exit(0);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "log", required_argument, NULL, 'l' }, { "txns", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' }, { "check", required_argument, NULL, 'c' },
		{ "first-op", required_argument, NULL, 'f' },
		{ }
	};
	const char *log = NULL, *promises = NULL;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'l':
			log = optarg;
			break;
		case 'n':
			work.txns = strtoull(optarg, NULL, 0);
			break;
		case 's':
			work.seed = strtoull(optarg, NULL, 0);
			break;
		case 'c':
			promises = optarg;
			break;
		case 'f':
			work.first_mark = strtoull(optarg, NULL, 0);
			break;
		default:
			return 2;
		}
	}
	if (!log == !promises || optind + 1 != argc) {
		fprintf(stderr,
			"usage: sqlite_work --log FILE [--txns N] [--first-op N] [--seed S] DIR\n"
			"       sqlite_work --check PROMISES [--seed S] DIR\n");
		return 2;
	}
	work.dir = argv[optind];
	if (promises)
		db_check(work.dir, promises, work.seed);
	else
		run(log);
	return 0;
}
