// SPDX-License-Identifier: BSD-3-Clause
/* Trying again what is not ready yet, and saying so. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tool.h"

#define SECOND	UINT64_C(1000000000)

#define DELAY_MAX	5	/* seconds between attempts */
#define DELAY_LATER	30	/* behind the first minutes: the kernel tells of each attempt */
#define LATER		(600 * SECOND)
#define TELL_EVERY	(60 * SECOND)

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

uint64_t arg_wait(struct argp_state *state, const char *s)
{
	if (!strcmp(s, "forever"))
		return WAIT_FOREVER;
	return strcmp(s, "0") ? arg_seconds(state, "--wait", s) : 0;
}

void retry_start(struct retry *r, uint64_t wait)
{
	r->start = now();
	r->wait = wait;
	r->delay = 1;
}

bool retry_pause(struct retry *r)
{
	uint64_t gone = now() - r->start, left, ns = r->delay * SECOND;
	struct timespec t;

	if (gone >= r->wait)
		return false;
	left = r->wait - gone;
	if (ns > left)
		ns = left;
	t.tv_sec = (time_t)(ns / SECOND);
	t.tv_nsec = (long)(ns % SECOND);
	nanosleep(&t, NULL);
	if (r->delay < (gone < LATER ? DELAY_MAX : DELAY_LATER))
		r->delay++;
	return true;
}

void status(const char *fmt, ...)
{
	va_list args;

	fputs("pmof: ", stdout);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
}

bool pending_news(struct pending *p, int error)
{
	uint64_t t = now();

	if (p->told && p->error == error && t - p->told < TELL_EVERY)
		return false;
	p->error = error;
	p->told = t;
	return true;
}
