// SPDX-License-Identifier: GPL-2.0
/* Runs the tests when it is loaded; the kernel log has their TAP. */
#define pr_fmt(fmt) "rxe_test: " fmt

#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>

#include "rxe_test.h"

static char *client = "rxe1";
module_param(client, charp, 0444);
MODULE_PARM_DESC(client, "Device of the requester");

static char *server = "rxe0";
module_param(server, charp, 0444);
MODULE_PARM_DESC(server, "Device of the responder");

static unsigned long pmem;
module_param(pmem, ulong, 0444);
MODULE_PARM_DESC(pmem, "Physical address of PMEM that may be overwritten, 2 MiB aligned");

static bool loss;
module_param(loss, bool, 0444);
MODULE_PARM_DESC(loss, "Only the test for a network that loses packets");

static bool full;
module_param(full, bool, 0444);
MODULE_PARM_DESC(full, "Only the test for a network with a queue of few packets");

static bool late;
module_param(late, bool, 0444);
MODULE_PARM_DESC(late, "Only the test for a network that is slow");

static bool reads;
module_param(reads, bool, 0444);
MODULE_PARM_DESC(reads, "Only the test for a network that is slow and loses packets");

struct rt_node rt_client, rt_server;
u8 *rt_pmem;
static int tests, failures;

bool rt_ok(bool good, const char *name)
{
	tests++;
	if (!good)
		failures++;
	pr_info("%sok %d - %s\n", good ? "" : "not ", tests, name);
	return good;
}

int rt_param(const char *name, const char *value)
{
	char path[80];
	struct file *file;
	loff_t pos = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/module/rdma_rxe/parameters/%s", name);
	file = filp_open(path, O_WRONLY, 0);
	if (IS_ERR(file))
		return PTR_ERR(file);
	n = kernel_write(file, value, strlen(value), &pos);
	filp_close(file, NULL);
	return n < 0 ? n : 0;
}

static void run(void)
{
	if (loss) {
		rt_test_loss();
	} else if (full) {
		rt_test_full();
	} else if (late) {
		rt_test_late();
	} else if (reads) {
		rt_test_reads();
	} else {
		rt_test_flush();
		rt_test_prompt();
		rt_test_lazy();
		rt_test_order();
		rt_test_atomic();
		rt_test_short();
		rt_test_invalidate();
		rt_test_twice();
	}
	pr_info("1..%d\n", tests);
}

static int __init rt_init(void)
{
	int err;

	if (!pmem || !IS_ALIGNED(pmem, SZ_2M) || !pfn_valid(PHYS_PFN(pmem)) ||
	    !pfn_valid(PHYS_PFN(pmem + RT_LEN - 1))) {
		pr_err("pmem= is not the address of memory\n");
		return -EINVAL;
	}
	rt_pmem = page_address(pfn_to_page(PHYS_PFN(pmem)));

	err = rt_node_open(&rt_server, server);
	if (err)
		return err;
	err = rt_node_open(&rt_client, client);
	if (err) {
		rt_node_close(&rt_server);
		return err;
	}

	run();

	rt_node_close(&rt_client);
	rt_node_close(&rt_server);
	return failures ? -EIO : 0;
}

static void __exit rt_exit(void)
{
}

module_init(rt_init);
module_exit(rt_exit);
MODULE_DESCRIPTION("Test of the lab's soft-RoCE");
MODULE_LICENSE("GPL");
