/* SPDX-License-Identifier: GPL-2.0 */
/* The ways to reach persistent memory that `turns` measures. */
#ifndef PMOF_BENCH_WAYS_H
#define PMOF_BENCH_WAYS_H

#include <stdbool.h>
#include <stdint.h>

#define WAYS_MAX	16
#define WAYS_BUF	0x100000U	/* bytes of the largest operation */
#define WAYS_SPAN	(64ULL << 20)	/* operations go to the first so many bytes */

struct way;

/**
 * struct way_ops - one kind of operation
 * @name: on the command line
 * @open: 0 or -errno; @way's target, size and buffer are set
 * @one: one operation at @offset; 0 or -errno. Who knows better than the clock around
 *	the call sets way->ns
 */
struct way_ops {
	const char *name;
	int (*open)(struct way *way);
	int (*one)(struct way *way, uint64_t offset);
};

struct way {
	const struct way_ops *ops;
	const char *name;	/* as results call it */
	const char *target;	/* device, address */
	uint64_t size;		/* bytes of an operation */
	void *buf;		/* WAYS_BUF bytes, page aligned, full of data */
	int fd;
	uint64_t ns;
	void *private;
};

extern const struct way_ops way_put, way_get, way_read, way_write, way_dsync, way_fsync, way_idle;
extern const struct way_ops way_floor_read, way_floor_write;
extern const struct way_ops way_rpma_flush, way_rpma_assist;	/* where there is librpma */

#endif /* PMOF_BENCH_WAYS_H */
