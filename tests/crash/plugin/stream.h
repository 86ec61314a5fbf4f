/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trace file: records of ../trace.h, in one order for all virtual CPUs.
 */
#ifndef PMOF_CRASH_STREAM_H
#define PMOF_CRASH_STREAM_H

#include <stdint.h>

/* stream_open() - 0, or an errno value; @base and @size go into the file's head. */
int stream_open(const char *path, uint64_t base, uint64_t size);

/* stream_add() - one record; @len bytes of @data behind it. */
void stream_add(uint8_t type, unsigned int cpu, uint64_t addr, const void *data, uint16_t len);

/* stream_mark() - the time, and a mark. */
void stream_mark(unsigned int cpu, uint16_t mark, uint64_t value);

/* stream_close() - cut the file to what is in it; later records are dropped. */
void stream_close(void);

#endif /* PMOF_CRASH_STREAM_H */
