// SPDX-License-Identifier: GPL-2.0
/*
 * Placement, the pure part: the table of CPU models, and what the registers of
 * their root ports say.  docs/placement.md has the sources and the choices.
 *
 * Two registers of a root port decide where a write that arrives through it
 * goes.  With Use_Allocating_Flow_Wr clear, a "normal" write bypasses the
 * last-level cache on its way to memory.  A write is not a normal one if
 *   it carries a processing hint (TPH), unless TPHDIS makes it ignored, or
 *   it has no-snoop set, if NoSnoopOpWrEn honours that, or
 *   it is a DCA write, which DCA_ReqID_Override makes of every one.
 * So all writes go to memory only if the first three are 0, 1 and 0, and no
 * override is set.  Everything else is no placement to build durability on.
 */
#include "placement.h"

#define PERFCTRLSTS_0		0x180
#define   NOSNOOP_OP_WR_EN	BIT(3)
#define   ALLOCATING_FLOW_WR	BIT(7)
#define PERFCTRLSTS_1		0x184
#define   DCA_REQID_OVERRIDE	BIT(8)
#define   TPHDIS		BIT(9)

/* The bits that pmof_root_port_set() changes, and to what. */
#define CHANGED_0		((u32)(ALLOCATING_FLOW_WR | NOSNOOP_OP_WR_EN))
#define CHANGED_1		((u32)TPHDIS)
#define MEMORY_0		0U
#define MEMORY_1		((u32)TPHDIS)

#define PCI_VENDOR_INTEL	0x8086

#define GONE		"the PCIe root port does not answer"
#define NOT_KEPT	"the root port's register does not keep what is written to it"
#define ALL_DCA		"the root port takes all writes for DCA writes (DCA_ReqID_Override)"

struct model {
	u16 family;
	u16 model;
	u16 last_stepping;
	u16 first_port;		/* device IDs of its root ports */
	u16 last_port;
};

/*
 * Only what is documented for these registers.  Cooper Lake (model 0x55,
 * steppings 10 and 11) and everything later: unknown.  On Ice Lake the bits at
 * 0x180 cannot be changed and do not tell the truth.
 */
static const struct model models[] = {
	{ 6, 0x55, 7, 0x2030, 0x2033 },	/* Skylake-SP, Cascade Lake-SP */
};

static const struct model *find_model(const struct pmof_cpu *cpu)
{
	unsigned int i;

	if (!cpu->intel)
		return NULL;
	for (i = 0; i < ARRAY_SIZE(models); i++)
		if (models[i].family == cpu->family && models[i].model == cpu->model &&
		    cpu->stepping <= models[i].last_stepping)
			return &models[i];
	return NULL;
}

/* NULL, with *m, if the machine is of a model in the table; else why not. */
static const char *machine_lacks(const struct pmof_placement_ops *ops, const struct model **m)
{
	struct pmof_cpu cpu = { 0 };

	ops->cpu(&cpu);
	if (cpu.guest)
		return "in a virtual machine nobody can tell";
	*m = find_model(&cpu);
	return *m ? NULL : "this CPU model is not in the table";
}

/* NULL if the CPU is of a model in the table; else why that is not so. */
const char *pmof_placement_cpu_lacks(const struct pmof_placement_ops *ops)
{
	const struct model *m;

	return machine_lacks(ops, &m);
}

/* Finds the root port above an HCA.  Returns NULL, or why it is none of the table's. */
const char *pmof_root_port_init(struct pmof_root_port *rp, const struct pmof_placement_ops *ops,
				void *hca)
{
	const struct model *m;
	const char *why = machine_lacks(ops, &m);
	u16 vendor, device;

	if (why)
		return why;
	*rp = (struct pmof_root_port) {
		.ops = ops,
		.dev = ops->root_port(hca, &vendor, &device),
	};
	if (!rp->dev)
		return "no PCIe root port above the device";
	if (vendor != PCI_VENDOR_INTEL || device < m->first_port || device > m->last_port)
		return "the PCIe root port is none of those in the table";
	return NULL;
}

/* A root port that is gone reads as all ones, which no real register does. */
static int read_registers(const struct pmof_root_port *rp, u32 value[2])
{
	if (rp->ops->read(rp->dev, PERFCTRLSTS_0, &value[0]) ||
	    rp->ops->read(rp->dev, PERFCTRLSTS_1, &value[1]))
		return -ENODEV;
	return value[0] == U32_MAX || value[1] == U32_MAX ? -ENODEV : 0;
}

static struct pmof_placed decide(const u32 value[2])
{
	struct pmof_placed p = { .placement = PMOF_PLACEMENT_UNKNOWN };

	if (value[0] & ALLOCATING_FLOW_WR) {
		p.placement = PMOF_PLACEMENT_CACHE;
		p.why = "the root port allocates writes in the cache";
	} else if (value[0] & NOSNOOP_OP_WR_EN) {
		p.why = "the root port honours no-snoop writes (NoSnoopOpWrEn)";
	} else if (value[1] & DCA_REQID_OVERRIDE) {
		p.why = ALL_DCA;
	} else if (!(value[1] & TPHDIS)) {
		p.why = "the root port honours processing hints (TPHDIS is clear)";
	} else {
		p.placement = PMOF_PLACEMENT_MEMORY;
		p.why = "the root port does not allocate writes in the cache";
	}
	return p;
}

/**
 * pmof_root_port_read - where writes land
 * @rp: root port
 * @ours: count what pmof_root_port_set() has changed, which lasts only for as
 *	long as it has users; else the answer is as if it had none
 */
struct pmof_placed pmof_root_port_read(const struct pmof_root_port *rp, bool ours)
{
	u32 value[2];

	if (read_registers(rp, value))
		return (struct pmof_placed) { .why = GONE };
	if (rp->users && !ours) {
		value[0] = (value[0] & ~CHANGED_0) | rp->old[0];
		value[1] = (value[1] & ~CHANGED_1) | rp->old[1];
	}
	return decide(value);
}

/*
 * Bytes, so that nothing but the byte of a changed bit is written.  TPHDIS is
 * in the second byte of its register.
 */
static void write_bits(const struct pmof_root_port *rp, const u32 value[2], u32 to_0, u32 to_1)
{
	if ((value[0] & CHANGED_0) != to_0)
		rp->ops->write(rp->dev, PERFCTRLSTS_0, (value[0] & ~CHANGED_0) | to_0);
	if ((value[1] & CHANGED_1) != to_1)
		rp->ops->write(rp->dev, PERFCTRLSTS_1 + 1, ((value[1] & ~CHANGED_1) | to_1) >> 8);
}

/* Reads, writes, and reads back: only what the register then says counts. */
static int change_bits(const struct pmof_root_port *rp, u32 to_0, u32 to_1)
{
	u32 value[2];
	int rc = read_registers(rp, value);

	if (rc)
		return rc;
	write_bits(rp, value, to_0, to_1);
	rc = read_registers(rp, value);
	if (rc)
		return rc;
	return (value[0] & CHANGED_0) == to_0 && (value[1] & CHANGED_1) == to_1 ? 0 : -EIO;
}

static int first_user(struct pmof_root_port *rp, const char **why)
{
	u32 value[2];
	int rc = read_registers(rp, value);

	if (!rc && value[1] & DCA_REQID_OVERRIDE) {
		*why = ALL_DCA;
		return -EOPNOTSUPP;
	}
	if (!rc) {
		rp->old[0] = value[0] & CHANGED_0;
		rp->old[1] = value[1] & CHANGED_1;
		rc = change_bits(rp, MEMORY_0, MEMORY_1);
	}
	if (rc == -EIO) {
		*why = NOT_KEPT;
		change_bits(rp, rp->old[0], rp->old[1]);
	} else if (rc) {
		*why = GONE;
	}
	return rc;
}

/* The bits are set already, if nobody else has changed them. */
static int next_user(const struct pmof_root_port *rp, const char **why)
{
	struct pmof_placed now;
	u32 value[2];

	if (read_registers(rp, value)) {
		*why = GONE;
		return -ENODEV;
	}
	now = decide(value);
	*why = now.why;
	return now.placement == PMOF_PLACEMENT_MEMORY ? 0 : -EIO;
}

/**
 * pmof_root_port_set - make writes go past the cache
 * @rp: root port
 * @why: out, on failure: the reason
 *
 * The first user's call sets the bits, the others' counts.  Undone by as many
 * calls of pmof_root_port_release().
 *
 * Return: 0; -EOPNOTSUPP, -EIO (it did not stick) or -ENODEV, and then the
 * bits are what they were.
 */
int pmof_root_port_set(struct pmof_root_port *rp, const char **why)
{
	int rc = rp->users ? next_user(rp, why) : first_user(rp, why);

	if (!rc)
		rp->users++;
	return rc;
}

/**
 * pmof_root_port_release - one user less
 * @rp: root port
 * @why: out, on failure: the reason
 *
 * Return: the number of users left (0: the bits are what they were before the
 * first one), or, for the last one, -ENODEV or -EIO if they could not be
 * restored.  The user is gone in any case.
 */
int pmof_root_port_release(struct pmof_root_port *rp, const char **why)
{
	int rc;

	if (--rp->users)
		return rp->users;
	rc = change_bits(rp, rp->old[0], rp->old[1]);
	if (rc)
		*why = rc == -EIO ? NOT_KEPT : GONE;
	return rc;
}
