/* SPDX-License-Identifier: BSD-3-Clause */
/* The commands that move data: what data.c and object.c share. */
#ifndef PMOF_TOOLS_DATA_H
#define PMOF_TOOLS_DATA_H

#include <sys/types.h>

#include "libpmof.h"
#include "tool.h"

/* What the commands are given; each uses its part. */
struct data {
	const char *device;
	uint64_t value[3];	/* arguments behind DEV */
	unsigned int nr;
	bool persist;
	bool commit;
	bool valid;
	bool verbose;
	bool json;
	uint64_t generation;	/* of --commit */
	struct pmof_dev *dev;
	struct pmof_info info;
};

/* A command: how many values it takes, which of them are words and no sizes. */
struct data_command {
	struct argp argp;
	unsigned int min, max;
	unsigned int words;	/* bit n: value n is a 64-bit word */
	const char *const names[3];
	int flags;		/* of open */
	int (*run)(const struct data *d);
};

/* The parser of every such command, and its run: exit status. */
error_t parse_data(int key, char *arg, struct argp_state *state);
int run_data(const struct data_command *c, int argc, char **argv);

enum {
	OPT_COMMIT = OPT_LAST,
	OPT_VALID,
};

/* Is the range in the namespace?  And the complaint if not: -ERANGE. */
bool data_fits(const struct data *d, uint64_t offset, uint64_t length);
int data_complain_range(const struct data *d, uint64_t offset, uint64_t length);

/* What is acknowledged of this namespace may be gone after a power cut. */
void warn_volatile(const char *name);

/* To be called behind what should be durable. */
void data_warn_volatile(const struct data *d);

/* Reads standard input until @size bytes are there or it ends: bytes or -errno. */
ssize_t data_read(char *buf, size_t size);

/* Writes standard output; complains. */
int data_write(const char *buf, size_t size);

/* object.c: put --commit, and get --valid. */
int object_put(const struct data *d);
int object_get(const struct data *d);

#endif /* PMOF_TOOLS_DATA_H */
