// SPDX-License-Identifier: GPL-2.0
/*
 * Placement of namespaces: what each one's "placement" attribute asks for, and
 * which root ports it holds to have it.  All under pmof_sessions_mutex.
 *
 * A namespace takes a hold when it is served through a port of which the HCA is
 * known, at the latest when a session comes in, and lets go of all when it is
 * disabled, after its sessions have ended: no reply that counts on the bits is
 * under way when they are restored.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "server.h"

static bool allow_chipset_writes;
module_param(allow_chipset_writes, bool, 0644);
MODULE_PARM_DESC(allow_chipset_writes,
		 "let placement=memory change PCIe root ports' registers (default: no)");

/* A root port that namespaces hold. */
struct root {
	struct list_head entry;
	struct pmof_root_port port;	/* its dev is a referenced struct pci_dev */
};

struct hold {
	struct list_head entry;		/* of pmof_ns.holds */
	struct root *root;
};

static LIST_HEAD(roots);

static const char * const policies[] = {
	[PMOF_POLICY_AUTO]	= "auto",
	[PMOF_POLICY_MEMORY]	= "memory",
	[PMOF_POLICY_ASSERT]	= "assert-memory",
};

const char *pmof_policy_name(enum pmof_placement_policy policy)
{
	return policies[policy];
}

/* Returns 0 or -EINVAL. */
int pmof_policy_parse(const char *text, enum pmof_placement_policy *policy)
{
	int i = sysfs_match_string(policies, text);

	if (i < 0)
		return i;
	*policy = i;
	return 0;
}

/* --- RDMA devices ------------------------------------------------------------------ */

/* What placement needs of an RDMA device; outlives it.  Balanced by pmof_hca_put(). */
void pmof_hca_get(struct pmof_hca *hca, struct ib_device *dev)
{
	struct device *d = dev->dma_device;

	while (d && !dev_is_pci(d))
		d = d->parent;
	hca->software = ib_uses_virt_dma(dev);
	hca->pdev = d ? pci_dev_get(to_pci_dev(d)) : NULL;
	strscpy(hca->name, dev_name(&dev->dev), sizeof(hca->name));
}

void pmof_hca_put(struct pmof_hca *hca)
{
	pci_dev_put(hca->pdev);
	*hca = (struct pmof_hca) { };
}

/* NULL, with *rp, if the device is below a root port of the table; else why not. */
static const char *find_port(const struct pmof_hca *hca, struct pmof_root_port *rp)
{
	if (hca->software)
		return "the CPU copies what arrives";
	if (!hca->pdev)
		return "it is no PCI device";
	return pmof_root_port_init(rp, &pmof_placement_pci, hca->pdev);
}

/* --- holds ------------------------------------------------------------------------- */

static struct root *find_root(const struct pmof_root_port *rp)
{
	struct root *root;

	list_for_each_entry(root, &roots, entry)
		if (root->port.dev == rp->dev)
			return root;
	return NULL;
}

static bool holds(const struct pmof_ns *ns, const struct root *root)
{
	struct hold *hold;

	list_for_each_entry(hold, &ns->holds, entry)
		if (hold->root == root)
			return true;
	return false;
}

static struct root *get_root(const struct pmof_root_port *rp)
{
	struct root *root = find_root(rp);

	if (root)
		return root;
	root = kzalloc(sizeof(*root), GFP_KERNEL);
	if (!root)
		return NULL;
	root->port = *rp;
	pci_dev_get(rp->dev);
	list_add(&root->entry, &roots);
	return root;
}

static void free_root_if_unused(struct root *root)
{
	if (root->port.users)
		return;
	list_del(&root->entry);
	pci_dev_put(root->port.dev);
	kfree(root);
}

static void log_set(const struct pmof_ns *ns, const struct root *root, const struct pmof_hca *hca)
{
	unsigned int n = pmof_pci_functions_below(root->port.dev);

	if (root->port.users > 1)
		return;
	pr_warn("namespace %s: placement=memory: changed PCIe root port %s (0x180, 0x184) for %s\n",
		pmof_ns_name(ns), pci_name(root->port.dev), hca->name);
	if (n > 1)
		pr_warn("root port %s has %u PCI functions below it: the writes of all of them go past the CPU cache now\n",
			pci_name(root->port.dev), n);
}

static int set_root(struct pmof_ns *ns, struct root *root, const struct pmof_hca *hca,
		    const char **why)
{
	struct hold *hold = kzalloc(sizeof(*hold), GFP_KERNEL);
	int rc;

	if (!hold)
		return -ENOMEM;
	rc = pmof_root_port_set(&root->port, why);
	if (rc) {
		kfree(hold);
		return rc;
	}
	hold->root = root;
	list_add(&hold->entry, &ns->holds);
	log_set(ns, root, hca);
	return 0;
}

static int take_hold(struct pmof_ns *ns, const struct pmof_hca *hca, const char **why)
{
	struct pmof_root_port rp;
	struct root *root;
	int rc;

	*why = find_port(hca, &rp);
	if (*why)
		return -EOPNOTSUPP;
	root = find_root(&rp);
	if (root && holds(ns, root))
		return 0;
	if (!READ_ONCE(allow_chipset_writes)) {
		*why = "the module parameter allow_chipset_writes is not set";
		return -EPERM;
	}
	*why = "out of memory";
	root = get_root(&rp);
	if (!root)
		return -ENOMEM;
	rc = set_root(ns, root, hca, why);
	free_root_if_unused(root);
	return rc;
}

/*
 * Sees to it that an HCA's writes land where the namespace asks for.  Returns
 * 0, or a negative errno with a line in the log, and nothing has changed.
 */
int pmof_placement_acquire(struct pmof_ns *ns, const struct pmof_hca *hca)
{
	const char *why;
	int rc;

	lockdep_assert_held(&pmof_sessions_mutex);
	if (ns->policy != PMOF_POLICY_MEMORY)
		return 0;
	rc = take_hold(ns, hca, &why);
	if (rc)
		pr_err_ratelimited("namespace %s: placement=memory is not to be had of %s: %s\n",
				   pmof_ns_name(ns), hca->name, why);
	return rc;
}

static void drop_hold(struct pmof_ns *ns, struct hold *hold)
{
	struct root *root = hold->root;
	const char *why;
	int rc = pmof_root_port_release(&root->port, &why);

	if (rc < 0)
		pr_err("namespace %s: PCIe root port %s is not as it was before: %s\n",
		       pmof_ns_name(ns), pci_name(root->port.dev), why);
	else if (!rc)
		pr_info("namespace %s: PCIe root port %s is as it was before\n",
			pmof_ns_name(ns), pci_name(root->port.dev));
	list_del(&hold->entry);
	kfree(hold);
	free_root_if_unused(root);
}

/* The namespace has no sessions any more. */
void pmof_placement_release(struct pmof_ns *ns)
{
	struct hold *hold, *next;

	lockdep_assert_held(&pmof_sessions_mutex);
	list_for_each_entry_safe(hold, next, &ns->holds, entry)
		drop_hold(ns, hold);
}

/* --- what there is ------------------------------------------------------------------ */

static struct pmof_placed find_placed(const struct pmof_ns *ns, const struct pmof_hca *hca)
{
	struct pmof_root_port rp;
	struct pmof_placed p = { .why = find_port(hca, &rp) };
	const struct root *root;
	bool ours;

	if (hca->software)
		p.placement = PMOF_PLACEMENT_CACHE;
	if (p.why)
		return p;
	root = find_root(&rp);
	/* What other namespaces hold may be gone while this one still counts on it. */
	ours = root && holds(ns, root);
	p = pmof_root_port_read(root ? &root->port : &rp, ours);
	if (ours && p.placement == PMOF_PLACEMENT_MEMORY)
		p.how = PMOF_PLACED_SET;
	return p;
}

/* Where an HCA's writes to a namespace land. */
struct pmof_placed pmof_placement_of(const struct pmof_ns *ns, const struct pmof_hca *hca)
{
	struct pmof_placed p = find_placed(ns, hca);

	lockdep_assert_held(&pmof_sessions_mutex);
	if (ns->policy != PMOF_POLICY_ASSERT || p.placement == PMOF_PLACEMENT_MEMORY)
		return p;
	p.placement = PMOF_PLACEMENT_MEMORY;
	p.how = PMOF_PLACED_ASSERTED;
	return p;
}

static const char *how_name(enum pmof_placed_how how)
{
	switch (how) {
	case PMOF_PLACED_SET:
		return "set";
	case PMOF_PLACED_ASSERTED:
		return "asserted";
	default:
		return "found";
	}
}

/* One line for each port that serves the namespace; see docs/interfaces.md. */
ssize_t pmof_placement_show(const struct pmof_ns *ns, char *page)
{
	const struct pmof_link *link;
	struct pmof_placed p;
	ssize_t n = 0;

	lockdep_assert_held(&pmof_sessions_mutex);
	list_for_each_entry(link, &ns->links, ns_entry) {
		const struct pmof_hca *hca = &link->port->hca;
		const char *id = config_item_name(&link->port->group.cg_item);

		if (!hca->name[0]) {
			n += sysfs_emit_at(page, n, "%s - unknown found no device yet\n", id);
			continue;
		}
		p = pmof_placement_of(ns, hca);
		n += sysfs_emit_at(page, n, "%s %s %s %s %s\n", id, hca->name,
				   pmof_placement_name(p.placement), how_name(p.how), p.why);
	}
	return n;
}

/* --- namespaces and ports come and go -------------------------------------------------- */

/*
 * What can be said before any port is known.  Returns 0, or a negative errno
 * with a line in the log.
 */
int pmof_placement_check(const struct pmof_ns *ns)
{
	const char *why;

	switch (ns->policy) {
	case PMOF_POLICY_ASSERT:
		pr_warn("namespace %s: placement=assert-memory: nobody checks that the HCA's writes go past the CPU cache; if they do not, a power cut loses what was acknowledged\n",
			pmof_ns_name(ns));
		return 0;
	case PMOF_POLICY_MEMORY:
		break;
	default:
		return 0;
	}
	if (!READ_ONCE(allow_chipset_writes)) {
		pr_err("namespace %s: placement=memory needs pmof-server's parameter allow_chipset_writes=1\n",
		       pmof_ns_name(ns));
		return -EPERM;
	}
	why = pmof_placement_cpu_lacks(&pmof_placement_pci);
	if (!why)
		return 0;
	pr_err("namespace %s: placement=memory is not to be had: %s\n", pmof_ns_name(ns), why);
	return -EOPNOTSUPP;
}

/* The namespace goes live: on all ports that serve it.  Undone by pmof_placement_release(). */
int pmof_placement_ns(struct pmof_ns *ns)
{
	struct pmof_link *link;
	int rc = 0;

	lockdep_assert_held(&pmof_sessions_mutex);
	list_for_each_entry(link, &ns->links, ns_entry) {
		if (link->port->hca.name[0])
			rc = pmof_placement_acquire(ns, &link->port->hca);
		if (rc) {
			pmof_placement_release(ns);
			break;
		}
	}
	return rc;
}

/*
 * The port has got an RDMA device, or (NULL) listens on all.  Returns 0 or a
 * negative errno; namespaces that got what they ask for then keep it until they
 * are disabled.
 */
int pmof_placement_port(struct pmof_port *port, struct ib_device *dev)
{
	struct pmof_hca hca = { };
	struct pmof_link *link;
	int rc = 0;

	if (!dev)
		return 0;
	pmof_hca_get(&hca, dev);
	mutex_lock(&pmof_sessions_mutex);
	list_for_each_entry(link, &port->links, entry) {
		if (link->ns->live)
			rc = pmof_placement_acquire(link->ns, &hca);
		if (rc)
			break;
	}
	if (!rc)
		swap(port->hca, hca);
	mutex_unlock(&pmof_sessions_mutex);
	pmof_hca_put(&hca);
	return rc;
}

/* The port has no device any more; what namespaces hold, they hold. */
void pmof_placement_port_gone(struct pmof_port *port)
{
	mutex_lock(&pmof_sessions_mutex);
	pmof_hca_put(&port->hca);
	mutex_unlock(&pmof_sessions_mutex);
}

/* A session comes in: the last moment, for ports that listen on every device. */
void pmof_placement_session(struct pmof_session *s)
{
	struct pmof_hca hca;

	lockdep_assert_held(&pmof_sessions_mutex);
	pmof_hca_get(&hca, s->ib_dev);
	/* Where it is not to be had, the session goes without; the log says so. */
	pmof_placement_acquire(s->ns, &hca);
	s->placed = pmof_placement_of(s->ns, &hca);
	if (s->placed.how == PMOF_PLACED_ASSERTED)
		pr_warn_ratelimited("namespace %s: the placement of %s is asserted to be memory; found: %s\n",
				    pmof_ns_name(s->ns), hca.name, s->placed.why);
	pmof_hca_put(&hca);
}
