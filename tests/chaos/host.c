// SPDX-License-Identifier: GPL-2.0
/* What the host asks for: host.h. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "host.h"

static const char *vm_name(void)
{
	const char *name = getenv("LAB_VM");

	return name && *name ? name : "client1";
}

static void reply(unsigned int number, const char *answer)
{
	char temp[64], path[64];
	FILE *f;

	snprintf(temp, sizeof(temp), "/host/.%s.answer", vm_name());
	snprintf(path, sizeof(path), "/host/%s.1.%u.answer", vm_name(), number);
	f = fopen(temp, "w");
	if (!f || fprintf(f, "%s\n", answer) < 0 || fclose(f) || rename(temp, path))
		abort();
}

/* False: there is none yet. */
static bool next_order(unsigned int number, char verb[16], double *seconds)
{
	char path[64];
	FILE *f;
	int n;

	snprintf(path, sizeof(path), "/host/%s.1.%u.cmd", vm_name(), number);
	f = fopen(path, "r");
	if (!f)
		return false;
	*seconds = 60;
	n = fscanf(f, "%15s %lf", verb, seconds);
	fclose(f);
	if (n < 1)
		abort();
	return true;
}

void host_follow(const struct host_ops *ops)
{
	unsigned int number = 1;
	char verb[16];
	double seconds;
	bool go = true;

	while (go) {
		char answer[HOST_ANSWER] = "what?";

		usleep(20000);
		if (ops->idle)
			ops->idle();
		if (!next_order(number, verb, &seconds))
			continue;
		go = ops->serve(verb, seconds, answer);
		reply(number++, answer);
	}
}
