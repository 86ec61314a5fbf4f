// SPDX-License-Identifier: GPL-2.0
/*
 * Which CPUs the flush workers run on, and which of them a request goes to: one
 * on the namespace's node if there is one, else on this one; this CPU's own if
 * that is among them.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/module.h>
#include <linux/nodemask.h>
#include <linux/slab.h>
#include <linux/topology.h>

#include "flush.h"

static unsigned int flush_workers;
module_param(flush_workers, uint, 0444);
MODULE_PARM_DESC(flush_workers, "threads that write back and fence (0: one a CPU)");

static char *flush_cpus;
module_param(flush_cpus, charp, 0444);
MODULE_PARM_DESC(flush_cpus, "list of the CPUs that they run on, as 0-3,8 (default: all online)");

/* Worker i runs on CPU worker_cpu[i]; those of a node follow each other. */
static int *worker_cpu;
static unsigned int nr;
/* The worker of each CPU, or the one that stands in for it. */
static unsigned int *by_cpu;
static struct node_workers {
	unsigned int first;
	unsigned int nr;
} *by_node;

static int refuse(const char *why, int rc)
{
	pr_err("flush_cpus=%s: %s\n", flush_cpus, why);
	return rc;
}

static int get_allowed(struct cpumask *allowed)
{
	int rc;

	if (!flush_cpus) {
		cpumask_copy(allowed, cpu_online_mask);
		return 0;
	}
	rc = cpulist_parse(flush_cpus, allowed);
	if (rc)
		return refuse(rc == -ERANGE ? "there is no such CPU" :
			      "not a list of CPUs, as 0-3,8", rc);
	if (cpumask_empty(allowed))
		return refuse("no CPU in it", -EINVAL);
	if (!cpumask_subset(allowed, cpu_online_mask))
		return refuse("not all of these CPUs are online", -EINVAL);
	return 0;
}

static bool choose_one(struct cpumask *chosen, const struct cpumask *allowed, int node)
{
	unsigned int cpu;

	for_each_cpu_and(cpu, allowed, cpumask_of_node(node)) {
		if (!cpumask_test_cpu(cpu, chosen)) {
			cpumask_set_cpu(cpu, chosen);
			return true;
		}
	}
	return false;
}

/* From each node in turn, so that a few workers are spread over all. */
static void choose(struct cpumask *chosen, const struct cpumask *allowed, unsigned int want)
{
	unsigned int n = 0;
	bool found = true;
	int node;

	while (n < want && found) {
		found = false;
		for_each_online_node(node) {
			if (n < want && choose_one(chosen, allowed, node)) {
				found = true;
				n++;
			}
		}
	}
}

static unsigned int stand_in(unsigned int cpu)
{
	int node = cpu_to_node(cpu);

	if (node == NUMA_NO_NODE || !by_node[node].nr)
		return cpu % nr;
	return by_node[node].first + cpu % by_node[node].nr;
}

static void build_maps(const struct cpumask *chosen)
{
	unsigned int cpu, i;
	int node;

	nr = 0;
	for_each_online_node(node) {
		by_node[node].first = nr;
		for_each_cpu_and(cpu, chosen, cpumask_of_node(node))
			worker_cpu[nr++] = cpu;
		by_node[node].nr = nr - by_node[node].first;
	}
	for_each_possible_cpu(cpu)
		by_cpu[cpu] = stand_in(cpu);
	for (i = 0; i < nr; i++)
		by_cpu[worker_cpu[i]] = i;
}

static int init_maps(struct cpumask *chosen, struct cpumask *allowed)
{
	unsigned int want;
	int rc;

	cpus_read_lock();
	rc = get_allowed(allowed);
	if (!rc) {
		want = cpumask_weight(allowed);
		if (flush_workers)
			want = min(want, flush_workers);
		choose(chosen, allowed, want);
		build_maps(chosen);
	}
	cpus_read_unlock();
	return rc;
}

int pmof_flush_cpus_init(void)
{
	cpumask_var_t chosen, allowed;
	int rc = -ENOMEM;

	worker_cpu = kcalloc(nr_cpu_ids, sizeof(*worker_cpu), GFP_KERNEL);
	by_cpu = kcalloc(nr_cpu_ids, sizeof(*by_cpu), GFP_KERNEL);
	by_node = kcalloc(nr_node_ids, sizeof(*by_node), GFP_KERNEL);
	if (!worker_cpu || !by_cpu || !by_node || !zalloc_cpumask_var(&chosen, GFP_KERNEL))
		goto out;
	if (zalloc_cpumask_var(&allowed, GFP_KERNEL)) {
		rc = init_maps(chosen, allowed);
		free_cpumask_var(allowed);
	}
	free_cpumask_var(chosen);
out:
	if (rc)
		pmof_flush_cpus_exit();
	return rc;
}

void pmof_flush_cpus_exit(void)
{
	kfree(worker_cpu);
	kfree(by_cpu);
	kfree(by_node);
}

unsigned int pmof_flush_cpus_nr(void)
{
	return nr;
}

int pmof_flush_cpu(unsigned int worker)
{
	return worker_cpu[worker];
}

/* The worker for a namespace on @node, which may be NUMA_NO_NODE.  Any context. */
unsigned int pmof_flush_cpus_choose(int node)
{
	unsigned int cpu = raw_smp_processor_id();
	unsigned int i = by_cpu[cpu];
	const struct node_workers *n;

	if (node == NUMA_NO_NODE)
		return i;
	n = &by_node[node];
	/* Unsigned: one number below the first is far above the last. */
	if (!n->nr || i - n->first < n->nr)
		return i;
	return n->first + cpu % n->nr;
}
