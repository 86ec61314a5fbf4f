/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An emulated medium: each fence takes longer, by what a slower medium than the one
 * that is there would take.  For measurements; marked wherever a figure may come from it.
 */
#ifndef PMOF_SERVER_EMULATE_H
#define PMOF_SERVER_EMULATE_H

#include <linux/math64.h>
#include <linux/types.h>

#include "range.h"

#define PMOF_EMULATE_MAX_LATENCY	1000000U	/* ns */
#define PMOF_EMULATE_MAX_MBPS		1000000U

struct configfs_attribute;
struct pmof_ns;

/* Fixed while the namespace is enabled. */
struct pmof_emulate {
	u32 latency_ns;		/* behind each fence that had lines of it */
	u32 write_mbps;		/* 10^6 bytes a second; 0: no cap */
};

/* What the lines ahead of a fence owe. */
struct pmof_debt {
	u64 ps;
	u32 latency_ns;
};

static inline bool pmof_emulates(const struct pmof_emulate *e)
{
	return e->latency_ns || e->write_mbps;
}

/* Of @lines that the next fence makes durable. */
static inline void pmof_emulate_owe(struct pmof_debt *debt, const struct pmof_emulate *e, u64 lines)
{
	if (likely(!lines || !pmof_emulates(e)))
		return;
	if (e->write_mbps)
		debt->ps += div_u64(lines * PMOF_LINE_SIZE * 1000000, e->write_mbps);
	debt->latency_ns = max(debt->latency_ns, e->latency_ns);
}

void pmof_emulate_pay(struct pmof_debt *debt);

extern struct configfs_attribute pmof_ns_attr_emulate_latency_ns;
extern struct configfs_attribute pmof_ns_attr_emulate_write_mbps;

#endif /* PMOF_SERVER_EMULATE_H */
