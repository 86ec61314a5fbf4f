/* SPDX-License-Identifier: BSD-3-Clause */
/* libpmof: what its files share and nobody else sees. */
#ifndef LIBPMOF_INTERNAL_H
#define LIBPMOF_INTERNAL_H

#include "libpmof.h"

#define PMOF_SYSFS_CLASS	"/sys/class/pmof"

struct pmof_dev {
	int fd;
	int instance;
};

/* The parts of a path in sysfs are short; this holds any of them. */
#define PMOF_PATH_MAX	256

int pmof_name_to_instance(const char *name, int *instance);
int pmof_rdev_to_instance(unsigned int major, unsigned int minor, int *instance);
int pmof_read_file(const char *path, char *buf, size_t size);

#endif /* LIBPMOF_INTERNAL_H */
