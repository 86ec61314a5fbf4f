/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Placement, the pure part: where the writes of a device below a PCIe root
 * port land, and how to make it memory.  What touches the machine is behind
 * struct pmof_placement_ops, so that tests/unit drives it with a fake one.
 */
#ifndef PMOF_PLACEMENT_H
#define PMOF_PLACEMENT_H

#include "pure.h"
#include "../../uapi/pmof.h"

/* The processor, as far as the table of models asks for it. */
struct pmof_cpu {
	bool intel;
	bool guest;		/* a virtual machine: its root ports are not real */
	u16 family;
	u16 model;
	u16 stepping;
};

/**
 * struct pmof_placement_ops - the machine
 * @cpu: fills in what the processor is
 * @root_port: the root port above an HCA with its IDs, or NULL if there is none
 * @read: reads 32 bits of a root port's configuration space
 * @write: writes 8 bits of it
 *
 * @read and @write return 0 or a negative errno.  A device that is gone may
 * read as all ones.
 */
struct pmof_placement_ops {
	void (*cpu)(struct pmof_cpu *cpu);
	void *(*root_port)(void *hca, u16 *vendor, u16 *device);
	int (*read)(void *port, int where, u32 *value);
	int (*write)(void *port, int where, u8 value);
};

/* How a placement came about. */
enum pmof_placed_how {
	PMOF_PLACED_FOUND,	/* the platform's own */
	PMOF_PLACED_SET,	/* by us, for as long as it is asked for */
	PMOF_PLACED_ASSERTED,	/* the operator's word */
};

/**
 * struct pmof_placed - a placement and why it is that
 * @placement: where writes land
 * @how: how it came about
 * @why: a reason, to stand behind a colon in the log; a constant string
 */
struct pmof_placed {
	enum pmof_placement placement;
	enum pmof_placed_how how;
	const char *why;
};

/**
 * struct pmof_root_port - a root port of a model in the table
 * @ops: the machine
 * @dev: ops' name for it
 * @users: of pmof_root_port_set(); while there are any, @old holds
 * @old: bits that set() has changed, as they were, by register
 *
 * No locking of its own.
 */
struct pmof_root_port {
	const struct pmof_placement_ops *ops;
	void *dev;
	unsigned int users;
	u32 old[2];
};

const char *pmof_placement_cpu_lacks(const struct pmof_placement_ops *ops);
const char *pmof_root_port_init(struct pmof_root_port *rp, const struct pmof_placement_ops *ops,
				void *hca);
struct pmof_placed pmof_root_port_read(const struct pmof_root_port *rp, bool ours);
int pmof_root_port_set(struct pmof_root_port *rp, const char **why);
int pmof_root_port_release(struct pmof_root_port *rp, const char **why);

#endif /* PMOF_PLACEMENT_H */
