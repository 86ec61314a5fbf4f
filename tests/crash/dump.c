// SPDX-License-Identifier: GPL-2.0
/*
 * Read a trace: print its records as text, or check it against the nvdimm.
 *
 *   dump TRACE                     one line per record
 *   dump --summary TRACE           how many of each
 *   dump --check START END TRACE   all stores, applied in order to START, make END
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "reader.h"

static int dump(const char *path)
{
	const struct trace_rec *rec;
	struct trace t;
	char text[128];

	open_trace(&t, path);
	printf("pmem 0x%" PRIx64 " %" PRIu64 "\n", t.head->pmem_base, t.head->pmem_size);
	while ((rec = next_rec(&t))) {
		format_rec(rec, 0, text, sizeof(text));
		puts(text);
	}
	return 0;
}

static int summary(const char *path)
{
	uint64_t count[TRACE_TYPES] = { 0 }, bytes = 0;
	const struct trace_rec *rec;
	struct trace t;
	unsigned int i;

	open_trace(&t, path);
	while ((rec = next_rec(&t))) {
		count[rec->type]++;
		bytes += rec->len;
	}
	for (i = TRACE_STORE; i < TRACE_TYPES; i++)
		printf("%s %" PRIu64 "\n", type_name(i), count[i]);
	printf("bytes %" PRIu64 "\n", bytes);
	return 0;
}

static int check(const char *start, const char *end, const char *path)
{
	size_t size, end_size, i, lines = 0;
	const struct trace_rec *rec;
	uint8_t *image, *want;
	struct trace t;

	open_trace(&t, path);
	image = map_file(start, &size);
	want = map_file(end, &end_size);
	if (size != end_size || size != t.head->pmem_size)
		die(path, "the images and the trace's nvdimm differ in size");
	while ((rec = next_rec(&t))) {
		if (has_data(rec))
			memcpy(image + rec->addr, rec + 1, rec->len);
	}
	for (i = 0; i < size; i += TRACE_LINE) {
		if (!memcmp(image + i, want + i, TRACE_LINE))
			continue;
		if (lines++ < 10)
			fprintf(stderr, "dump: line %#zx: not what the trace's stores make\n", i);
	}
	printf("%zu lines differ\n", lines);
	return lines != 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && argv[1][0] != '-')
		return dump(argv[1]);
	if (argc == 3 && !strcmp(argv[1], "--summary"))
		return summary(argv[2]);
	if (argc == 5 && !strcmp(argv[1], "--check"))
		return check(argv[2], argv[3], argv[4]);
	fputs("usage: dump TRACE | --summary TRACE | --check START END TRACE\n", stderr);
	return 2;
}
