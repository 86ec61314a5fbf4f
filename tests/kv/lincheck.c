// SPDX-License-Identifier: GPL-2.0
/*
 * lincheck [FILE]...: are the histories (history.h), together one, linearizable?  Exit status 0:
 * yes, 1: no, 2: it cannot be read, 3: undecided.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "linear.h"

#define CONFIGURATIONS	20000000ULL	/* of 40 bytes and less than as much again */

static int read_file(struct history *h, const char *path)
{
	FILE *f = strcmp(path, "-") != 0 ? fopen(path, "re") : stdin;
	int rc;

	if (!f) {
		perror(path);
		return 2;
	}
	rc = history_read(h, f);
	if (rc > 0)
		fprintf(stderr, "%s: line %d is malformed\n", path, rc);
	else if (rc < 0)
		fprintf(stderr, "%s: out of memory\n", path);
	if (f != stdin)
		fclose(f);
	return rc ? 2 : 0;
}

static void print_counts(const struct history *h)
{
	size_t i, keys = 0, unknown = 0, gets = 0;

	for (i = 0; i < h->nr; i++) {
		keys += !i || h->op[i].key != h->op[i - 1].key;
		unknown += h->op[i].result == RESULT_UNKNOWN;
		gets += h->op[i].kind == OP_GET;
	}
	printf("%zu operations on %zu keys, %zu of them gets, %zu of unknown outcome\n", h->nr,
	       keys, gets, unknown);
}

int main(int argc, char **argv)
{
	static const char *const text[] = { "linearizable", "NOT LINEARIZABLE", "undecided" };
	static const int status[] = { 0, 1, 3 };
	struct linear_limits limits = { CONFIGURATIONS };
	struct history h = { 0 };
	enum verdict v;
	int i, rc = 0;

	for (i = 1; i < argc && !rc; i++)
		rc = read_file(&h, argv[i]);
	if (argc < 2)
		rc = read_file(&h, "-");
	if (rc)
		return rc;
	v = linear_check(&h, &limits, stdout);
	print_counts(&h);
	puts(text[v]);
	history_free(&h);
	return status[v];
}
