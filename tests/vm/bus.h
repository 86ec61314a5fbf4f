/* SPDX-License-Identifier: GPL-2.0 */
/* Loads and stores that may fail. */
#ifndef PMOF_VM_BUS_H
#define PMOF_VM_BUS_H

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>

static sigjmp_buf bus_place;

static inline void on_bus(int sig)
{
	(void)sig;
	siglongjmp(bus_place, 1);
}

/* True if a load from @p, or a store, raises SIGBUS. */
static inline bool bus_error(volatile char *p, bool store)
{
	struct sigaction action = { .sa_handler = on_bus }, before;
	volatile bool failed = true;

	sigaction(SIGBUS, &action, &before);
	if (!sigsetjmp(bus_place, 1)) {
		char byte = *p;

		if (store)
			*p = byte + 1;
		failed = false;
	}
	sigaction(SIGBUS, &before, NULL);
	return failed;
}

/* The same of a store of @value. */
static inline bool bus_store_error(volatile char *p, char value)
{
	struct sigaction action = { .sa_handler = on_bus }, before;
	volatile bool failed = true;

	sigaction(SIGBUS, &action, &before);
	if (!sigsetjmp(bus_place, 1)) {
		*p = value;
		failed = false;
	}
	sigaction(SIGBUS, &before, NULL);
	return failed;
}

#endif /* PMOF_VM_BUS_H */
