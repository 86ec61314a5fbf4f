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

static inline void bus_load(volatile char *p, char unused)
{
	(void)unused;
	(void)*p;
}

static inline void bus_add(volatile char *p, char n)
{
	*p = *p + n;
}

static inline void bus_store(volatile char *p, char value)
{
	*p = value;
}

static inline bool bus_fails(void (*access)(volatile char *p, char value), volatile char *p,
			     char value)
{
	struct sigaction action = { .sa_handler = on_bus }, before;
	volatile bool failed = true;

	sigaction(SIGBUS, &action, &before);
	if (!sigsetjmp(bus_place, 1)) {
		access(p, value);
		failed = false;
	}
	sigaction(SIGBUS, &before, NULL);
	return failed;
}

/* True if a load from @p, and a store of what is there and 1, raises SIGBUS. */
static inline bool bus_error(volatile char *p, bool store)
{
	return bus_fails(store ? bus_add : bus_load, p, 1);
}

/* The same of a store of @value. */
static inline bool bus_store_error(volatile char *p, char value)
{
	return bus_fails(bus_store, p, value);
}

#endif /* PMOF_VM_BUS_H */
