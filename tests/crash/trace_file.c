// SPDX-License-Identifier: GPL-2.0
/* Reading a trace. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace_file.h"

static int complain(const char *path, const char *what)
{
	fprintf(stderr, "%s: %s\n", path, what);
	return -1;
}

int trace_open(struct trace *t, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *map;

	memset(t, 0, sizeof(*t));
	if (fd < 0 || fstat(fd, &st)) {
		perror(path);
		return -1;
	}
	if ((size_t)st.st_size < sizeof(t->head)) {
		close(fd);
		return complain(path, "not a trace: too short");
	}
	map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED) {
		perror(path);
		return -1;
	}
	t->map = map;
	t->size = st.st_size;
	memcpy(&t->head, map, sizeof(t->head));
	if (t->head.magic == TRACE_MAGIC && t->head.version == TRACE_VERSION)
		return 0;
	trace_close(t);
	return complain(path, "not a trace of this version");
}

void trace_close(struct trace *t)
{
	if (t->map)
		munmap((void *)t->map, t->size);
	memset(t, 0, sizeof(*t));
}

/* An incomplete record, or one of type 0, is an end too: QEMU was killed. */
int trace_next(struct trace_cursor *c, struct trace_rec *rec, const uint8_t **data)
{
	size_t left = c->trace->size - c->at;

	if (left < sizeof(*rec))
		return 0;
	memcpy(rec, c->trace->map + c->at, sizeof(*rec));
	*data = c->trace->map + c->at + sizeof(*rec);
	left -= sizeof(*rec);
	if (!rec->type)
		return 0;
	if (rec->type > TRACE_TIME)
		return -1;
	if (rec->type == TRACE_STORE || rec->type == TRACE_NT_STORE) {
		if (left < rec->len)
			return 0;
		c->at += rec->len;
	}
	c->at += sizeof(*rec);
	c->pos++;
	return 1;
}
