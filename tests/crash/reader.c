// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader.h"

static const char *const names[TRACE_TYPES] = {
	[TRACE_STORE] = "store",
	[TRACE_NT_STORE] = "nt-store",
	[TRACE_WRITE_BACK] = "write-back",
	[TRACE_SFENCE] = "sfence",
	[TRACE_LOCKED] = "locked",
	[TRACE_MARK] = "mark",
	[TRACE_TIME] = "time",
};

const char *type_name(unsigned int type)
{
	return type < TRACE_TYPES ? names[type] : NULL;
}

void die(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	exit(1);
}

uint8_t *map_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
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

void open_trace(struct trace *t, const char *path)
{
	size_t size;

	t->at = map_file(path, &size);
	t->end = t->at + size;
	t->head = (void *)t->at;
	if (size < sizeof(*t->head) || t->head->magic != TRACE_MAGIC ||
	    t->head->version != TRACE_VERSION)
		die(path, "not a trace of this version");
	t->at += sizeof(*t->head);
}

bool has_data(const struct trace_rec *rec)
{
	return rec->type == TRACE_STORE || rec->type == TRACE_NT_STORE;
}

static bool in_nvdimm(const struct trace *t, const struct trace_rec *rec)
{
	return rec->addr < t->head->pmem_size && rec->len <= t->head->pmem_size - rec->addr;
}

struct trace_rec *next_rec(struct trace *t)
{
	struct trace_rec *rec = (void *)t->at;

	if ((size_t)(t->end - t->at) < sizeof(*rec) || !rec->type)
		return NULL;
	if (rec->type >= TRACE_TYPES || (rec->len && !has_data(rec)))
		die("trace", "a record of no known type");
	if ((size_t)(t->end - t->at) < sizeof(*rec) + rec->len)
		return NULL;
	if ((has_data(rec) || rec->type == TRACE_WRITE_BACK) && !in_nvdimm(t, rec))
		die("trace", "an address outside of the nvdimm");
	t->at += sizeof(*rec) + rec->len;
	return rec;
}

static void format_data(const struct trace_rec *rec, char *text, size_t len)
{
	const uint8_t *data = (const uint8_t *)(rec + 1);
	unsigned int i;

	for (i = 0; i < rec->len && 2 * i + 3 <= len; i++)
		sprintf(text + 2 * i, "%02x", data[i]);
}

void format_rec(const struct trace_rec *rec, uint64_t base, char *text, size_t len)
{
	size_t n = snprintf(text, len, "%s %u", names[rec->type], rec->cpu);

	switch (rec->type) {
	case TRACE_STORE:
	case TRACE_NT_STORE:
		n += snprintf(text + n, len - n, " 0x%" PRIx64 " %u ", rec->addr - base, rec->len);
		format_data(rec, text + n, len - n);
		break;
	case TRACE_WRITE_BACK:
		snprintf(text + n, len - n, " 0x%" PRIx64, rec->addr - base);
		break;
	case TRACE_MARK:
		snprintf(text + n, len - n, " 0x%x 0x%" PRIx64, rec->mark, rec->addr);
		break;
	case TRACE_TIME:
		snprintf(text + n, len - n, " %" PRIu64, rec->addr);
		break;
	}
}
