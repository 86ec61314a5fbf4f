// SPDX-License-Identifier: GPL-2.0
#include <linux/module.h>
#include "kselftest_harness.h"

static char *fuzz_rounds = "20000";
module_param(fuzz_rounds, charp, 0444);
MODULE_PARM_DESC(fuzz_rounds, "rounds of each random test");

static char *fuzz_seed = "20261121";
module_param(fuzz_seed, charp, 0444);
MODULE_PARM_DESC(fuzz_seed, "where their random numbers start");

/* What the tests take from the environment. */
const char *pmof_kunit_env(const char *name)
{
	if (!strcmp(name, "PMOF_FUZZ_ROUNDS"))
		return fuzz_rounds;
	if (!strcmp(name, "PMOF_FUZZ_SEED"))
		return fuzz_seed;
	return NULL;
}

MODULE_DESCRIPTION("Persistent Memory over Fabrics: KUnit tests");
MODULE_LICENSE("GPL");
