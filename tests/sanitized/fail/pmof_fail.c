// SPDX-License-Identifier: GPL-2.0
/*
 * Makes the n-th of pmof's allocations and verbs calls fail, in whatever thread:
 * the kernel's fail-nth counts one task's, and much of pmof works in work queues.
 *
 * debugfs pmof_fail/arm: write "N KINDS" (1: slab, 2: pages, 4: verbs, 8: flushes; or-ed); from
 * then on the N-th of these fails, once.  "N KINDS 1": before that, and not counted, the next
 * SEND, READ or WRITE, whatever KINDS says: a connection breaks.  "0 0" ends it.  Read: how many
 * there were, and, if one has failed, which function it was and from where it was called.
 *
 * Where the kernel has no failslab, the allocators themselves fail.
 *
 * An allocation is pmof's if a function of a pmof module is on the stack, a verbs
 * call or a flush of a device if such a function makes it.  Load it before them, and
 * after soft-RoCE.
 */
#define pr_fmt(fmt) "pmof_fail: " fmt

#include <linux/debugfs.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/stacktrace.h>
#include <linux/uaccess.h>
#include <rdma/ib_verbs.h>

#define KIND_SLAB	BIT(0)
#define KIND_PAGES	BIT(1)
#define KIND_VERBS	BIT(2)
#define KIND_FLUSH	BIT(3)
#define KIND_POST	BIT(4)	/* of the work requests that a connection breaks of */

/**
 * struct site - a function that can be made to fail
 * @kind: one of KIND_*
 * @error: what it then returns
 * @instead: only where the kernel has no failslab
 * @bad_wr: it takes a work request, and says by its third argument which one failed
 * @probe: at its entry
 * @there: this kernel has it
 */
struct site {
	unsigned int kind;
	long error;
	bool instead;
	bool bad_wr;
	struct kprobe probe;
	bool there;
};

#define SITE(kind_, symbol, error_) \
	{ .kind = kind_, .error = error_, .probe.symbol_name = symbol }
#define SITE_ALLOC(symbol) \
	{ .kind = KIND_SLAB, .instead = true, .probe.symbol_name = symbol }
#define SITE_WR(symbol, kind_) \
	{ .kind = kind_, .error = -ENOMEM, .bad_wr = true, .probe.symbol_name = symbol }

static struct site sites[] = {
	SITE(KIND_SLAB, "should_failslab", -ENOMEM),
	SITE_ALLOC("kmem_cache_alloc_noprof"),
	SITE_ALLOC("kmem_cache_alloc_lru_noprof"),
	SITE_ALLOC("kmem_cache_alloc_node_noprof"),
	SITE_ALLOC("__kmalloc_noprof"),
	SITE_ALLOC("__kmalloc_node_noprof"),
	SITE_ALLOC("__kmalloc_node_track_caller_noprof"),
	SITE_ALLOC("__kmalloc_cache_noprof"),
	SITE_ALLOC("__kmalloc_cache_node_noprof"),
	SITE(KIND_SLAB, "pcpu_alloc_noprof", 0),
	SITE(KIND_PAGES, "should_fail_alloc_page", true),
	SITE(KIND_VERBS, "ib_register_client", -ENOMEM),
	SITE(KIND_VERBS, "__ib_alloc_pd", -ENOMEM),
	SITE(KIND_VERBS, "__ib_alloc_cq", -ENOMEM),
	SITE(KIND_VERBS, "__ib_alloc_cq_any", -ENOMEM),
	SITE(KIND_VERBS, "ib_alloc_mr", -ENOMEM),
	SITE(KIND_VERBS, "ib_map_mr_sg", -EINVAL),
	SITE(KIND_VERBS, "ib_dma_virt_map_sg", 0),
	SITE(KIND_VERBS, "ib_modify_qp", -EINVAL),
	SITE(KIND_VERBS, "__rdma_create_kernel_id", -ENOMEM),
	SITE(KIND_VERBS, "rdma_create_qp", -ENOMEM),
	SITE(KIND_VERBS, "rdma_set_reuseaddr", -EINVAL),
	SITE(KIND_VERBS, "rdma_set_afonly", -EINVAL),
	SITE(KIND_VERBS, "rdma_bind_addr", -EADDRINUSE),
	SITE(KIND_VERBS, "rdma_listen", -ENOMEM),
	SITE(KIND_VERBS, "rdma_resolve_addr", -ENODEV),
	SITE(KIND_VERBS, "rdma_resolve_route", -ENOMEM),
	SITE(KIND_VERBS, "rdma_connect", -ENOMEM),
	SITE(KIND_VERBS, "rdma_connect_locked", -ENOMEM),
	SITE(KIND_VERBS, "rdma_accept", -ENOMEM),
	SITE(KIND_VERBS, "rdma_reject", -ENOMEM),
	SITE(KIND_VERBS, "rdma_disconnect", -EINVAL),
	SITE(KIND_VERBS, "rdma_notify", -EINVAL),
	SITE(KIND_FLUSH, "blkdev_issue_flush", -EIO),
	SITE_WR("rxe_post_send", KIND_VERBS | KIND_POST),
	SITE_WR("rxe_post_recv", KIND_VERBS),
};

/* The text of a pmof module; unused ones are empty. */
struct text {
	const struct module *mod;
	bool init;		/* freed when the module is up */
	unsigned long start, end;
};

static struct text texts[16];

static atomic_t armed_kinds, wanted, seen;
static atomic_t breaking;	/* the next of KIND_POST fails */
static const struct site *hit_site;
static unsigned long hit_stack[24];
static unsigned int hit_depth;

/* Where a function is sent that shall do nothing but return: it touches no register. */
static notrace noinline void pmof_fail_return(void)
{
}

static bool in_pmof(unsigned long addr)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(texts); i++)
		if (addr >= READ_ONCE(texts[i].start) && addr < READ_ONCE(texts[i].end))
			return true;
	return false;
}

/*
 * Made on our stack, and nothing that pmof could answer for:
 * - what the debugging facilities allocate for themselves: they carry on without, but check no
 *   more;
 * - what sysfs_slab_add() of kmem_cache_create() allocates: where that fails, 6.12 forgets the
 *   name of the cache's kobject, for which nobody calls kobject_put(), and kmemleak finds it.
 */
static bool excused(const unsigned long *stack, unsigned int n)
{
	static const char * const theirs[] = { "kmemleak", "debug_object", "depot", "fill_pool",
					       "kasan", "mem_pool_alloc", "sysfs_slab_add" };
	char name[KSYM_SYMBOL_LEN];
	unsigned int i, j;

	for (i = 0; i < n && !in_pmof(stack[i]); i++) {
		snprintf(name, sizeof(name), "%ps", (void *)stack[i]);
		for (j = 0; j < ARRAY_SIZE(theirs); j++)
			if (strstr(name, theirs[j]))
				return true;
	}
	return false;
}

/*
 * The gfp flags of the allocation, whose function takes them first or second; pcpu_alloc() an
 * alignment, in which no flag is that matters.
 */
static gfp_t gfp_of(const struct site *site, const struct pt_regs *regs)
{
	return site->kind == KIND_SLAB ? regs->si : regs->di;
}

/*
 * From the probed function's entry.  The breakpoint leaves the address behind itself there, which
 * may be behind the push that it stands in for: the unwinder would take the stack for one deeper.
 */
static unsigned int save_stack(const struct site *site, struct pt_regs *regs, unsigned long *stack)
{
	unsigned long ip = regs->ip;
	unsigned int n;

	regs->ip = (unsigned long)site->probe.addr;
	n = stack_trace_save(stack, ARRAY_SIZE(hit_stack), 0);
	regs->ip = ip;
	return n;
}

static bool is_ours(const struct site *site, struct pt_regs *regs, unsigned long *stack,
		    unsigned int *depth)
{
	unsigned int i, n;

	if (site->kind & (KIND_VERBS | KIND_FLUSH)) {
		stack[0] = *(unsigned long *)regs->sp;
		*depth = 1;
		return in_pmof(stack[0]);
	}
	/* A softirq on top of pmof's function is somebody else's. */
	if (in_serving_softirq() || (gfp_of(site, regs) & __GFP_NOFAIL))
		return false;
	n = save_stack(site, regs, stack);
	*depth = n;
	for (i = 0; i < n; i++)
		if (in_pmof(stack[i]))
			return !excused(stack, n);
	return false;
}

/* Is it the one that is to break a connection, and not one of those that are counted? */
static bool breaks(const struct site *site)
{
	return site->kind & KIND_POST && atomic_read(&breaking) &&
	       atomic_cmpxchg(&breaking, 1, 0) == 1;
}

/* Has its turn come? */
static bool counted(const struct site *site, const unsigned long *stack, unsigned int depth)
{
	if (!(atomic_read(&armed_kinds) & site->kind & ~KIND_POST) ||
	    atomic_inc_return(&seen) != atomic_read(&wanted))
		return false;
	memcpy(hit_stack, stack, depth * sizeof(*stack));
	hit_depth = depth;
	/* Behind the stack, which arm_show() reads when it sees the site. */
	smp_store_release(&hit_site, site);
	return true;
}

static int before(struct kprobe *probe, struct pt_regs *regs)
{
	struct site *site = container_of(probe, struct site, probe);
	unsigned long stack[ARRAY_SIZE(hit_stack)];
	unsigned int depth;

	if (!(atomic_read(&armed_kinds) & site->kind) || !is_ours(site, regs, stack, &depth))
		return 0;
	if (!breaks(site) && !counted(site, stack, depth))
		return 0;
	if (site->bad_wr)
		*(const void **)regs->dx = (const void *)regs->si;
	regs->ax = site->error;
	regs->ip = (unsigned long)pmof_fail_return;
	return 1;
}

/* That there is one keeps the probe from being turned into a jump. */
static void after(struct kprobe *probe, struct pt_regs *regs, unsigned long flags)
{
}

/* --- which modules ------------------------------------------------------------ */

static void note_module(const struct module *mod, const struct module_memory *mem, bool init)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		if (texts[i].mod)
			continue;
		texts[i].mod = mod;
		texts[i].init = init;
		WRITE_ONCE(texts[i].end, (unsigned long)mem->base + mem->size);
		WRITE_ONCE(texts[i].start, (unsigned long)mem->base);
		return;
	}
	pr_warn("no room for %s\n", mod->name);
}

static void forget_module(const struct module *mod, bool only_init)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		if (texts[i].mod != mod || (only_init && !texts[i].init))
			continue;
		WRITE_ONCE(texts[i].end, 0);
		texts[i].mod = NULL;
	}
}

static int module_event(struct notifier_block *nb, unsigned long event, void *data)
{
	struct module *mod = data;

	if (strncmp(mod->name, "pmof", 4) || mod == THIS_MODULE)
		return NOTIFY_DONE;
	if (event == MODULE_STATE_COMING) {
		note_module(mod, &mod->mem[MOD_TEXT], false);
		note_module(mod, &mod->mem[MOD_INIT_TEXT], true);
	} else {
		forget_module(mod, event == MODULE_STATE_LIVE);
	}
	return NOTIFY_OK;
}

static struct notifier_block module_nb = { .notifier_call = module_event };

/* --- debugfs -------------------------------------------------------------------- */

static struct dentry *dir;

static int arm_show(struct seq_file *m, void *v)
{
	/* Before the stack. */
	const struct site *site = smp_load_acquire(&hit_site);
	unsigned int i;

	seq_printf(m, "%d\n", atomic_read(&seen));
	if (!site)
		return 0;
	seq_printf(m, "%s", site->probe.symbol_name);
	for (i = 0; i < hit_depth; i++)
		if (in_pmof(hit_stack[i]))
			seq_printf(m, " %pS", (void *)hit_stack[i]);
	seq_puts(m, "\n");
	return 0;
}

static int arm_open(struct inode *inode, struct file *file)
{
	return single_open(file, arm_show, NULL);
}

static ssize_t arm_write(struct file *file, const char __user *ubuf, size_t count, loff_t *ppos)
{
	unsigned int nth, kinds, loses = 0;
	char buf[32];

	if (count >= sizeof(buf))
		return -EINVAL;
	if (copy_from_user(buf, ubuf, count))
		return -EFAULT;
	buf[count] = '\0';
	if (sscanf(buf, "%u %u %u", &nth, &kinds, &loses) < 2 || loses > 1)
		return -EINVAL;
	atomic_set(&armed_kinds, 0);
	atomic_set(&breaking, 0);
	/* A hit that is under way has ended: probes run without preemption. */
	synchronize_rcu();
	if (nth) {
		hit_site = NULL;
		atomic_set(&seen, 0);
		atomic_set(&wanted, nth);
		atomic_set(&breaking, loses);
		atomic_set(&armed_kinds, kinds | (loses ? KIND_POST : 0));
	}
	return count;
}

static const struct file_operations arm_fops = {
	.owner = THIS_MODULE,
	.open = arm_open,
	.read = seq_read,
	.write = arm_write,
	.llseek = seq_lseek,
	.release = single_release,
};

/* ---------------------------------------------------------------------------------- */

static void remove_probes(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sites); i++)
		if (sites[i].there)
			unregister_kprobe(&sites[i].probe);
}

static int __init pmof_fail_init(void)
{
	unsigned int i;
	int rc;

	rc = register_module_notifier(&module_nb);
	if (rc)
		return rc;
	for (i = 0; i < ARRAY_SIZE(sites); i++) {
		/* failslab's is the first. */
		if (sites[i].instead && sites[0].there)
			continue;
		sites[i].probe.pre_handler = before;
		sites[i].probe.post_handler = after;
		rc = register_kprobe(&sites[i].probe);
		sites[i].there = !rc;
		if (rc)
			pr_info("%s is not here (%d)\n", sites[i].probe.symbol_name, rc);
	}
	dir = debugfs_create_dir("pmof_fail", NULL);
	debugfs_create_file("arm", 0600, dir, NULL, &arm_fops);
	return 0;
}
module_init(pmof_fail_init);

static void __exit pmof_fail_exit(void)
{
	debugfs_remove(dir);
	remove_probes();
	unregister_module_notifier(&module_nb);
}
module_exit(pmof_fail_exit);

MODULE_DESCRIPTION("Makes the n-th allocation or verbs call of pmof fail");
MODULE_LICENSE("GPL");
