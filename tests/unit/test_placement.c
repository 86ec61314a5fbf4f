// SPDX-License-Identifier: GPL-2.0
/* Placement against a fake machine: CPU models, root ports, their registers. */
#include "../../kmod/server/placement.h"
#include "unit.h"

/* --- the machine ----------------------------------------------------------- */

/* One root port.  Its registers have defaults and other bits around ours. */
struct port {
	u16 vendor, device;
	u32 reg[2];		/* 0x180, 0x184 */
	u32 stuck[2];		/* bits that keep their value */
	bool gone;
	int goes_after;		/* writes; 0: never */
	int writes;
	bool bad_write;		/* to anything but the two bytes */
};

static struct pmof_cpu cpu;
static struct port *above;	/* the HCA's root port */

static void fake_cpu(struct pmof_cpu *c)
{
	*c = cpu;
}

static void *fake_root_port(void *hca, u16 *vendor, u16 *device)
{
	struct port *port = *(struct port **)hca;

	if (port) {
		*vendor = port->vendor;
		*device = port->device;
	}
	return port;
}

static int fake_read(void *dev, int where, u32 *value)
{
	struct port *port = dev;

	if (where != 0x180 && where != 0x184)
		return -EINVAL;
	*value = port->gone ? 0xffffffff : port->reg[(where - 0x180) / 4];
	return 0;
}

static int fake_write(void *dev, int where, u8 value)
{
	struct port *port = dev;
	int i = (where - 0x180) / 4, shift = where % 4 * 8;
	u32 changes;

	port->writes++;
	if (where != 0x180 && where != 0x185)
		port->bad_write = true;
	if (port->gone)
		return 0;
	changes = (port->reg[i] ^ ((u32)value << shift)) & (0xffU << shift) & ~port->stuck[i];
	port->reg[i] ^= changes;
	if (port->goes_after && port->writes == port->goes_after)
		port->gone = true;
	return 0;
}

static const struct pmof_placement_ops ops = {
	.cpu = fake_cpu,
	.root_port = fake_root_port,
	.read = fake_read,
	.write = fake_write,
};

static const struct pmof_cpu skylake = { .intel = true, .family = 6, .model = 0x55, .stepping = 4 };
static const struct pmof_cpu cascade = { .intel = true, .family = 6, .model = 0x55, .stepping = 7 };

#define ALLOC	0x80U
#define NOSNOOP	0x08U
#define DCA	0x100U
#define TPHDIS	0x200U

/* As firmware leaves it, with bits around that are none of ours. */
#define REG_0	0x19010061U
#define REG_1	0x00a50408U

FIXTURE(machine)
{
	struct port port;
	struct pmof_root_port rp;
	const char *why;
};

FIXTURE_SETUP(machine)
{
	memset(self, 0, sizeof(*self));
	cpu = cascade;
	above = &self->port;
	self->port.vendor = 0x8086;
	self->port.device = 0x2030;
	self->port.reg[0] = REG_0 | ALLOC;
	self->port.reg[1] = REG_1;
}

FIXTURE_TEARDOWN(machine)
{
	EXPECT_FALSE(self->port.bad_write);
}

#define INIT()	ASSERT_EQ(NULL, pmof_root_port_init(&self->rp, &ops, &above))
#define IS(placement_, ours) \
	EXPECT_EQ(placement_, pmof_root_port_read(&self->rp, ours).placement)
#define UNTOUCHED() \
	do { \
		EXPECT_EQ(REG_0 | ALLOC, self->port.reg[0]); \
		EXPECT_EQ(REG_1, self->port.reg[1]); \
	} while (0)

/* --- the table --------------------------------------------------------------- */

TEST_F(machine, models)
{
	static const struct {
		struct pmof_cpu cpu;
		bool known;
	} model[] = {
		{ { .intel = true, .family = 6, .model = 0x55, .stepping = 0 }, true },
		{ { .intel = true, .family = 6, .model = 0x55, .stepping = 4 }, true },
		{ { .intel = true, .family = 6, .model = 0x55, .stepping = 5 }, true },
		{ { .intel = true, .family = 6, .model = 0x55, .stepping = 7 }, true },
		/* Cooper Lake */
		{ { .intel = true, .family = 6, .model = 0x55, .stepping = 10 }, false },
		{ { .intel = true, .family = 6, .model = 0x55, .stepping = 11 }, false },
		/* Haswell, Broadwell, Ice Lake, Sapphire Rapids */
		{ { .intel = true, .family = 6, .model = 0x3f, .stepping = 2 }, false },
		{ { .intel = true, .family = 6, .model = 0x4f, .stepping = 1 }, false },
		{ { .intel = true, .family = 6, .model = 0x6a, .stepping = 6 }, false },
		{ { .intel = true, .family = 6, .model = 0x8f, .stepping = 4 }, false },
		/* another family with the same model number */
		{ { .intel = true, .family = 15, .model = 0x55, .stepping = 4 }, false },
		/* another vendor with the same numbers, and one that has none */
		{ { .intel = false, .family = 6, .model = 0x55, .stepping = 4 }, false },
		{ { .intel = false }, false },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(model); i++) {
		cpu = model[i].cpu;
		EXPECT_EQ(model[i].known, !pmof_placement_cpu_lacks(&ops)) TH_LOG("model %u", i);
		EXPECT_EQ(model[i].known, !pmof_root_port_init(&self->rp, &ops, &above))
			TH_LOG("model %u", i);
	}
}

TEST_F(machine, virtual_machine)
{
	cpu.guest = true;
	ASSERT_NE(NULL, pmof_placement_cpu_lacks(&ops));
	EXPECT_NE(NULL, strstr(pmof_placement_cpu_lacks(&ops), "virtual machine"));
	EXPECT_NE(NULL, pmof_root_port_init(&self->rp, &ops, &above));
}

TEST_F(machine, root_ports)
{
	static const struct {
		u16 vendor, device;
		bool known;
	} id[] = {
		{ 0x8086, 0x2030, true }, { 0x8086, 0x2031, true }, { 0x8086, 0x2032, true },
		{ 0x8086, 0x2033, true }, { 0x8086, 0x202f, false }, { 0x8086, 0x2034, false },
		/* of the chipset; of Ice Lake; of another vendor */
		{ 0x8086, 0xa190, false }, { 0x8086, 0x347a, false }, { 0x1022, 0x2030, false },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(id); i++) {
		self->port.vendor = id[i].vendor;
		self->port.device = id[i].device;
		EXPECT_EQ(id[i].known, !pmof_root_port_init(&self->rp, &ops, &above))
			TH_LOG("%04x:%04x", id[i].vendor, id[i].device);
	}
}

TEST_F(machine, no_root_port)
{
	above = NULL;
	ASSERT_NE(NULL, pmof_root_port_init(&self->rp, &ops, &above));
}

/* --- reading ----------------------------------------------------------------- */

/* All 16 combinations: one of them is memory, those that allocate are cache. */
TEST_F(machine, bits)
{
	enum pmof_placement want;
	unsigned int i;

	INIT();
	for (i = 0; i < 16; i++) {
		self->port.reg[0] = REG_0 | (i & 1 ? ALLOC : 0) | (i & 2 ? NOSNOOP : 0);
		self->port.reg[1] = REG_1 | (i & 4 ? TPHDIS : 0) | (i & 8 ? DCA : 0);
		want = i & 1 ? PMOF_PLACEMENT_CACHE :
			i == 4 ? PMOF_PLACEMENT_MEMORY : PMOF_PLACEMENT_UNKNOWN;
		EXPECT_EQ(want, pmof_root_port_read(&self->rp, true).placement)
			TH_LOG("combination %u", i);
		EXPECT_NE(NULL, pmof_root_port_read(&self->rp, true).why);
	}
	EXPECT_EQ(0, self->port.writes);
}

TEST_F(machine, gone_reads_as_unknown)
{
	INIT();
	self->port.gone = true;
	IS(PMOF_PLACEMENT_UNKNOWN, true);
	EXPECT_NE(NULL, strstr(pmof_root_port_read(&self->rp, true).why, "does not answer"));
}

/* --- setting and restoring ---------------------------------------------------- */

TEST_F(machine, set_and_restore)
{
	cpu = skylake;
	INIT();
	IS(PMOF_PLACEMENT_CACHE, true);
	ASSERT_EQ(0, pmof_root_port_set(&self->rp, &self->why));
	/* Only our bits have changed. */
	EXPECT_EQ(REG_0, self->port.reg[0]);
	EXPECT_EQ(REG_1 | TPHDIS, self->port.reg[1]);
	IS(PMOF_PLACEMENT_MEMORY, true);
	/* Who did not ask for it does not count on it. */
	IS(PMOF_PLACEMENT_CACHE, false);
	ASSERT_EQ(0, pmof_root_port_release(&self->rp, &self->why));
	UNTOUCHED();
	IS(PMOF_PLACEMENT_CACHE, true);
}

/* Bits that were there before are there after. */
TEST_F(machine, restores_what_was)
{
	self->port.reg[0] = REG_0 | NOSNOOP;
	self->port.reg[1] = REG_1 | TPHDIS;
	INIT();
	ASSERT_EQ(0, pmof_root_port_set(&self->rp, &self->why));
	IS(PMOF_PLACEMENT_MEMORY, true);
	IS(PMOF_PLACEMENT_UNKNOWN, false);
	ASSERT_EQ(0, pmof_root_port_release(&self->rp, &self->why));
	EXPECT_EQ(REG_0 | NOSNOOP, self->port.reg[0]);
	EXPECT_EQ(REG_1 | TPHDIS, self->port.reg[1]);
}

TEST_F(machine, memory_already)
{
	self->port.reg[0] = REG_0;
	self->port.reg[1] = REG_1 | TPHDIS;
	INIT();
	IS(PMOF_PLACEMENT_MEMORY, false);
	ASSERT_EQ(0, pmof_root_port_set(&self->rp, &self->why));
	IS(PMOF_PLACEMENT_MEMORY, false);
	ASSERT_EQ(0, pmof_root_port_release(&self->rp, &self->why));
	EXPECT_EQ(0, self->port.writes);
	IS(PMOF_PLACEMENT_MEMORY, true);
}

TEST_F(machine, two_users)
{
	int writes;

	INIT();
	ASSERT_EQ(0, pmof_root_port_set(&self->rp, &self->why));
	writes = self->port.writes;
	ASSERT_EQ(0, pmof_root_port_set(&self->rp, &self->why));
	EXPECT_EQ(writes, self->port.writes);
	ASSERT_EQ(1, pmof_root_port_release(&self->rp, &self->why));
	EXPECT_EQ(writes, self->port.writes);
	IS(PMOF_PLACEMENT_MEMORY, true);
	ASSERT_EQ(0, pmof_root_port_release(&self->rp, &self->why));
	UNTOUCHED();
	/* And once more from the start. */
	ASSERT_EQ(0, pmof_root_port_set(&self->rp, &self->why));
	IS(PMOF_PLACEMENT_MEMORY, true);
	ASSERT_EQ(0, pmof_root_port_release(&self->rp, &self->why));
	UNTOUCHED();
}

/* Whichever bit does not stick: refused, and the others are what they were. */
TEST_F(machine, does_not_stick)
{
	static const u32 stuck[][2] = {
		{ ALLOC, 0 }, { NOSNOOP, 0 }, { 0, TPHDIS }, { ALLOC | NOSNOOP, TPHDIS },
	};
	unsigned int i;

	INIT();
	for (i = 0; i < ARRAY_SIZE(stuck); i++) {
		self->port.reg[0] = REG_0 | ALLOC | NOSNOOP;
		memcpy(self->port.stuck, stuck[i], sizeof(stuck[i]));
		self->why = NULL;
		ASSERT_EQ(-EIO, pmof_root_port_set(&self->rp, &self->why)) TH_LOG("case %u", i);
		ASSERT_NE(NULL, self->why);
		EXPECT_EQ(0, self->rp.users);
		EXPECT_EQ(REG_0 | ALLOC | NOSNOOP, self->port.reg[0]) TH_LOG("case %u", i);
		EXPECT_EQ(REG_1, self->port.reg[1]) TH_LOG("case %u", i);
		IS(PMOF_PLACEMENT_CACHE, true);
	}
}

/* As on Ice Lake: nothing can be changed, and the bits look half right. */
TEST_F(machine, read_only_register)
{
	self->port.reg[0] = 0x1901000b;
	self->port.stuck[0] = self->port.stuck[1] = 0xffffffff;
	INIT();
	IS(PMOF_PLACEMENT_UNKNOWN, true);
	ASSERT_EQ(-EIO, pmof_root_port_set(&self->rp, &self->why));
	EXPECT_EQ(0x1901000bU, self->port.reg[0]);
}

TEST_F(machine, override_is_not_ours_to_clear)
{
	self->port.reg[1] = REG_1 | DCA;
	INIT();
	ASSERT_EQ(-EOPNOTSUPP, pmof_root_port_set(&self->rp, &self->why));
	EXPECT_NE(NULL, strstr(self->why, "DCA"));
	EXPECT_EQ(0, self->port.writes);
	EXPECT_EQ(0, self->rp.users);
}

TEST_F(machine, gone_before_set)
{
	INIT();
	self->port.gone = true;
	ASSERT_EQ(-ENODEV, pmof_root_port_set(&self->rp, &self->why));
	EXPECT_NE(NULL, self->why);
	EXPECT_EQ(0, self->port.writes);
	EXPECT_EQ(0, self->rp.users);
}

TEST_F(machine, gone_while_setting)
{
	INIT();
	self->port.goes_after = 1;
	ASSERT_EQ(-ENODEV, pmof_root_port_set(&self->rp, &self->why));
	EXPECT_EQ(0, self->rp.users);
	IS(PMOF_PLACEMENT_UNKNOWN, true);
}

/* Nothing is written to what is not there any more. */
TEST_F(machine, gone_before_restore)
{
	int writes;

	INIT();
	ASSERT_EQ(0, pmof_root_port_set(&self->rp, &self->why));
	ASSERT_EQ(0, pmof_root_port_set(&self->rp, &self->why));
	writes = self->port.writes;
	self->port.gone = true;
	IS(PMOF_PLACEMENT_UNKNOWN, true);
	ASSERT_EQ(-ENODEV, pmof_root_port_set(&self->rp, &self->why));
	ASSERT_EQ(1, pmof_root_port_release(&self->rp, &self->why));
	ASSERT_EQ(-ENODEV, pmof_root_port_release(&self->rp, &self->why));
	EXPECT_NE(NULL, strstr(self->why, "does not answer"));
	EXPECT_EQ(writes, self->port.writes);
	EXPECT_EQ(0, self->rp.users);
}

TEST_F(machine, restore_does_not_stick)
{
	INIT();
	ASSERT_EQ(0, pmof_root_port_set(&self->rp, &self->why));
	self->port.stuck[0] = ALLOC;
	ASSERT_EQ(-EIO, pmof_root_port_release(&self->rp, &self->why));
	EXPECT_EQ(0, self->rp.users);
	IS(PMOF_PLACEMENT_UNKNOWN, true);
}

/* Somebody else's hand on the register is seen at the next look. */
TEST_F(machine, changed_by_others)
{
	INIT();
	ASSERT_EQ(0, pmof_root_port_set(&self->rp, &self->why));
	self->port.reg[0] |= ALLOC;
	IS(PMOF_PLACEMENT_CACHE, true);
	ASSERT_EQ(-EIO, pmof_root_port_set(&self->rp, &self->why));
	EXPECT_EQ(1, self->rp.users);
	ASSERT_EQ(0, pmof_root_port_release(&self->rp, &self->why));
	UNTOUCHED();
}

TEST_HARNESS_MAIN
