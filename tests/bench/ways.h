/* SPDX-License-Identifier: GPL-2.0 */
/* The ways to reach persistent memory that `turns` measures. */
#ifndef PMOF_BENCH_WAYS_H
#define PMOF_BENCH_WAYS_H

#include <stdbool.h>
#include <stdint.h>

#define WAYS_MAX	16
#define WAYS_BUF	0x100000U	/* bytes of the largest operation */
#define WAYS_DEPTH	64		/* operations under way, at most */
#define WAYS_SPAN	(64ULL << 20)	/* operations go to the first so many bytes */

struct way;

/**
 * struct way_ops - one kind of operation
 * @name: on the command line
 * @open: 0 or -errno; @way's target, size and buffer are set
 * @one: one operation at @offset; 0 or -errno. Who knows better than the clock around
 *	the call sets way->ns
 * @end: the end of a turn, which waits for what is still under way; may be NULL
 */
struct way_ops {
	const char *name;
	int (*open)(struct way *way);
	int (*one)(struct way *way, uint64_t offset);
	int (*end)(struct way *way);
};

struct way {
	const struct way_ops *ops;
	const char *name;	/* as results call it */
	const char *target;	/* device, address */
	uint64_t size;		/* bytes of an operation */
	void *buf;		/* WAYS_BUF bytes, page aligned, full of data */
	uint64_t ns;
	void *private;
	int fd;
	unsigned int depth;	/* operations under way, where that is not 1 */
};

extern const struct way_ops way_put, way_get, way_read, way_write, way_dsync, way_fsync, way_idle;
extern const struct way_ops way_aio_read, way_aio_write;
extern const struct way_ops way_floor_read, way_floor_write;
extern const struct way_ops way_rpma_flush, way_rpma_assist;	/* where there is librpma */

#endif /* PMOF_BENCH_WAYS_H */
