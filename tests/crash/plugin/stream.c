// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records go into a shared mapping of a part of the file, which moves on when it is full. So
 * nothing is lost when QEMU is killed: the file then just ends with zeros.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../trace.h"
#include "stream.h"

#define WINDOW		(16UL << 20)
#define PAGE		4096UL
#define TIME_STEP	1000000ULL	/* ns between two TRACE_TIME records at most */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int file = -1;		/* all below: under the lock */
static uint8_t *window;
static uint64_t window_start;	/* in the file */
static size_t used;		/* in the window */
static uint64_t last_time;

/* Map the part that starts at the page of the file's end; NULL and errno if that fails. */
static uint8_t *move_window(void)
{
	uint64_t end = window_start + used, start = end & ~(PAGE - 1);
	uint8_t *p;

	if (window)
		munmap(window, WINDOW);
	window = NULL;
	/* Blocks now, not a SIGBUS later. */
	errno = posix_fallocate(file, start, WINDOW);
	if (errno)
		return NULL;
	p = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, file, start);
	if (p == MAP_FAILED)
		return NULL;
	window = p;
	window_start = start;
	used = end - start;
	return p;
}

/* Where @len more bytes go. A trace with a hole proves nothing: failing ends the run. */
static uint8_t *room(size_t len)
{
	uint8_t *p = window;

	if (!p || used + len > WINDOW)
		p = move_window();
	if (!p) {
		fprintf(stderr, "pmof-trace: cannot extend the trace: %s\n", strerror(errno));
		_exit(1);
	}
	p += used;
	used += len;
	return p;
}

/* The type last: were QEMU killed in here, the zero in its place would end the trace. */
static void add(const struct trace_rec *rec, const void *data)
{
	uint8_t *p = room(sizeof(*rec) + rec->len);

	memcpy(p + 1, (const uint8_t *)rec + 1, sizeof(*rec) - 1);
	if (rec->len)
		memcpy(p + sizeof(*rec), data, rec->len);
	__atomic_store_n(p, rec->type, __ATOMIC_RELEASE);
}

static void add_time(unsigned int cpu, uint64_t step)
{
	struct trace_rec rec = { .type = TRACE_TIME, .cpu = cpu };
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	rec.addr = now.tv_sec * 1000000000ULL + now.tv_nsec;
	if (rec.addr - last_time < step)
		return;
	last_time = rec.addr;
	add(&rec, NULL);
}

int stream_open(const char *path, uint64_t base, uint64_t size)
{
	struct trace_file head = {
		.magic = TRACE_MAGIC,
		.version = TRACE_VERSION,
		.pmem_base = base,
		.pmem_size = size,
	};
	uint8_t *p;

	file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (file < 0)
		return errno;
	p = move_window();
	if (!p)
		return errno;
	memcpy(p, &head, sizeof(head));
	used = sizeof(head);
	return 0;
}

void stream_add(uint8_t type, unsigned int cpu, uint64_t addr, const void *data, uint16_t len)
{
	struct trace_rec rec = { .type = type, .cpu = cpu, .len = len, .addr = addr };

	pthread_mutex_lock(&lock);
	if (file >= 0) {
		add_time(cpu, TIME_STEP);
		add(&rec, data);
	}
	pthread_mutex_unlock(&lock);
}

void stream_mark(unsigned int cpu, uint16_t mark, uint64_t value)
{
	struct trace_rec rec = { .type = TRACE_MARK, .cpu = cpu, .mark = mark, .addr = value };

	pthread_mutex_lock(&lock);
	if (file >= 0) {
		add_time(cpu, 0);
		add(&rec, NULL);
	}
	pthread_mutex_unlock(&lock);
}

void stream_close(void)
{
	pthread_mutex_lock(&lock);
	if (file >= 0) {
		if (ftruncate(file, window_start + used))
			perror("pmof-trace: ftruncate");
		munmap(window, WINDOW);
		close(file);
		file = -1;
	}
	pthread_mutex_unlock(&lock);
}
