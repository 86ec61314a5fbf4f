// SPDX-License-Identifier: GPL-2.0
/*
 * Read a trace: print its records as text, or check it against the nvdimm.
 *
 *   dump TRACE                     one line per record
 *   dump --summary TRACE           how many of each
 *   dump --check START END TRACE   all stores, applied in order to START, make END
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace.h"

static const char *const names[] = {
	[TRACE_STORE] = "store",
	[TRACE_NT_STORE] = "nt-store",
	[TRACE_WRITE_BACK] = "write-back",
	[TRACE_SFENCE] = "sfence",
	[TRACE_LOCKED] = "locked",
	[TRACE_MARK] = "mark",
	[TRACE_TIME] = "time",
};

#define TYPES (sizeof(names) / sizeof(names[0]))

static void __attribute__((noreturn)) die(const char *what, const char *why)
{
	fprintf(stderr, "dump: %s: %s\n", what, why);
	exit(1);
}

/* A whole file, read only or as a private copy. */
static uint8_t *map_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	uint8_t *p;

	if (fd < 0 || fstat(fd, &st))
		die(path, strerror(errno));
	*size = st.st_size;
	if (!st.st_size)
		die(path, "it is empty");
	p = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
	if (p == MAP_FAILED)
		die(path, strerror(errno));
	close(fd);
	return p;
}

struct trace {
	const struct trace_file *head;
	const uint8_t *at;
	const uint8_t *end;
};

static void open_trace(struct trace *t, const char *path)
{
	size_t size;

	t->at = map_file(path, &size);
	t->end = t->at + size;
	t->head = (const void *)t->at;
	if (size < sizeof(*t->head) || t->head->magic != TRACE_MAGIC ||
	    t->head->version != TRACE_VERSION)
		die(path, "not a trace of this version");
	t->at += sizeof(*t->head);
}

static bool has_data(const struct trace_rec *rec)
{
	return rec->type == TRACE_STORE || rec->type == TRACE_NT_STORE;
}

/* The next record, or NULL at the end; its data are behind it. */
static const struct trace_rec *next_rec(struct trace *t)
{
	const struct trace_rec *rec = (const void *)t->at;

	if ((size_t)(t->end - t->at) < sizeof(*rec) || !rec->type)
		return NULL;
	if (rec->type >= TYPES || (rec->len && !has_data(rec)))
		die("trace", "a record of no known type");
	if ((size_t)(t->end - t->at) < sizeof(*rec) + rec->len)
		return NULL;
	if (has_data(rec) && (rec->addr >= t->head->pmem_size ||
			      rec->len > t->head->pmem_size - rec->addr))
		die("trace", "a store outside of the nvdimm");
	t->at += sizeof(*rec) + rec->len;
	return rec;
}

static void print(const struct trace_rec *rec)
{
	const uint8_t *data = (const uint8_t *)(rec + 1);
	unsigned int i;

	printf("%s %u", names[rec->type], rec->cpu);
	switch (rec->type) {
	case TRACE_STORE:
	case TRACE_NT_STORE:
		printf(" %#" PRIx64 " %u ", rec->addr, rec->len);
		for (i = 0; i < rec->len; i++)
			printf("%02x", data[i]);
		break;
	case TRACE_WRITE_BACK:
		printf(" %#" PRIx64, rec->addr);
		break;
	case TRACE_MARK:
		printf(" %#x %#" PRIx64, rec->mark, rec->addr);
		break;
	case TRACE_TIME:
		printf(" %" PRIu64, rec->addr);
		break;
	}
	putchar('\n');
}

static int dump(const char *path)
{
	const struct trace_rec *rec;
	struct trace t;

	open_trace(&t, path);
	printf("pmem %#" PRIx64 " %" PRIu64 "\n", t.head->pmem_base, t.head->pmem_size);
	while ((rec = next_rec(&t)))
		print(rec);
	return 0;
}

static int summary(const char *path)
{
	uint64_t count[TYPES] = { 0 }, bytes = 0;
	const struct trace_rec *rec;
	struct trace t;
	unsigned int i;

	open_trace(&t, path);
	while ((rec = next_rec(&t))) {
		count[rec->type]++;
		bytes += rec->len;
	}
	for (i = TRACE_STORE; i < TYPES; i++)
		printf("%s %" PRIu64 "\n", names[i], count[i]);
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
