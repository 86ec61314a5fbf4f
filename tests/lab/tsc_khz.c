// SPDX-License-Identifier: GPL-2.0
/*
 * Prints at how many kHz this processor's time stamp counter counts, by the monotonic clock;
 * exit status 1 where there is none. Takes a fifth of a second.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>

/* Both clocks at the same time: of some readings the one that took the shortest. */
static void read_both(uint64_t *tsc, uint64_t *ns)
{
	uint64_t before, after, shortest = UINT64_MAX;
	struct timespec now;
	int i;

	for (i = 0; i < 100; i++) {
		before = __rdtsc();
		clock_gettime(CLOCK_MONOTONIC, &now);
		after = __rdtsc();
		if (after - before >= shortest)
			continue;
		shortest = after - before;
		*tsc = before + shortest / 2;
		*ns = now.tv_sec * 1000000000ULL + now.tv_nsec;
	}
}

int main(void)
{
	uint64_t tsc[2] = { 0 }, ns[2] = { 0 };

	read_both(&tsc[0], &ns[0]);
	usleep(200000);
	read_both(&tsc[1], &ns[1]);
	if (tsc[1] <= tsc[0] || ns[1] <= ns[0])
		return 1;
	printf("%.0f\n", (double)(tsc[1] - tsc[0]) / (double)(ns[1] - ns[0]) * 1e6);
	return 0;
}
#else
int main(void)
{
	return 1;
}
#endif
