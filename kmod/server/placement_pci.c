// SPDX-License-Identifier: GPL-2.0
/* Placement: the real machine behind struct pmof_placement_ops. */
#include <linux/pci.h>
#ifdef CONFIG_X86
#include <asm/cpufeature.h>
#include <asm/processor.h>
#endif

#include "server.h"

/* On other architectures nothing is known: the CPU is none of the table's. */
static void pci_cpu(struct pmof_cpu *cpu)
{
#ifdef CONFIG_X86
	cpu->intel = boot_cpu_data.x86_vendor == X86_VENDOR_INTEL;
	cpu->family = boot_cpu_data.x86;
	cpu->model = boot_cpu_data.x86_model;
	cpu->stepping = boot_cpu_data.x86_stepping;
	cpu->guest = boot_cpu_has(X86_FEATURE_HYPERVISOR);
#endif
}

/* The caller's reference on the HCA keeps the root port, too. */
static void *pci_root_port(void *hca, u16 *vendor, u16 *device)
{
	struct pci_dev *port = pcie_find_root_port(hca);

	if (port) {
		*vendor = port->vendor;
		*device = port->device;
	}
	return port;
}

/* The registers are in the extended space, which not every access reaches. */
static bool reachable(const struct pci_dev *port)
{
	return !pci_dev_is_disconnected(port) && port->cfg_size >= PCI_CFG_SPACE_EXP_SIZE;
}

static int pci_read(void *port, int where, u32 *value)
{
	if (!reachable(port))
		return -ENODEV;
	return pcibios_err_to_errno(pci_read_config_dword(port, where, value));
}

static int pci_write(void *port, int where, u8 value)
{
	if (!reachable(port))
		return -ENODEV;
	return pcibios_err_to_errno(pci_write_config_byte(port, where, value));
}

const struct pmof_placement_ops pmof_placement_pci = {
	.cpu		= pci_cpu,
	.root_port	= pci_root_port,
	.read		= pci_read,
	.write		= pci_write,
};

static int count_function(struct pci_dev *dev, void *arg)
{
	unsigned int *n = arg;

	if (dev->hdr_type == PCI_HEADER_TYPE_NORMAL)
		(*n)++;
	return 0;
}

/* How many functions there are below a root port: all of their writes share its fate. */
unsigned int pmof_pci_functions_below(struct pci_dev *port)
{
	unsigned int n = 0;

	if (port->subordinate)
		pci_walk_bus(port->subordinate, count_function, &n);
	return n;
}
