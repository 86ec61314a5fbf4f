/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included before everything else: the harness's time limits, which are alarms, are
 * LAB_TIME_FACTOR times as long.  For kernels that are slow because they check much.
 */
#ifndef PMOF_PATIENCE_H
#define PMOF_PATIENCE_H

#include <stdlib.h>
#include <unistd.h>

static inline int slow_kernel(void)
{
	return getenv("LAB_TIME_FACTOR") != NULL;
}

static inline unsigned int patient_alarm(unsigned int seconds)
{
	const char *factor = getenv("LAB_TIME_FACTOR");

	return alarm(seconds * (factor ? atoi(factor) : 1));
}

#define alarm(seconds)	patient_alarm(seconds)

#endif /* PMOF_PATIENCE_H */
