// SPDX-License-Identifier: GPL-2.0
/*
 * PERSISTs that are under way while the server restarts: what they cover may be gone, so each of
 * them fails, also where another of the same file has taken the file's error.
 *
 *   pending FILE
 *
 * Puts, makes FILE.started, waits for FILE.go, which says that nothing arrives at the server any
 * more; ends when the connection is back.
 */
#include "vm.h"

#define OFFSET	(44 * MiB)
#define LEN	65536
#define NR	4

static int fd;

static void *persist(void *arg)
{
	int *rc = arg;

	*rc = vm_persist(fd, OFFSET, LEN);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[NR];
	int i, rc[NR], bad;

	if (argc != 2)
		return 2;
	fd = vm_open(vm_instance(), O_RDWR);
	if (fd < 0 || vm_put(fd, OFFSET, vm_pages(LEN), LEN, 0))
		return 2;
	vm_signal(argv[1], "started");
	vm_await(argv[1], "go");
	for (i = 0; i < NR; i++)
		if (pthread_create(&thread[i], NULL, persist, &rc[i]))
			abort();
	for (i = 0, bad = 0; i < NR; i++) {
		pthread_join(thread[i], NULL);
		printf("PERSIST: %s\n", rc[i] ? strerror(-rc[i]) : "done");
		bad += rc[i] != -EIO;
	}
	i = vm_persist(fd, OFFSET, LEN);
	printf("one behind them: %s\n", i ? strerror(-i) : "done");
	return bad + !!i;
}
