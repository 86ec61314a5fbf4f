// SPDX-License-Identifier: BSD-3-Clause
/*
 * counter DEV KEY N: counts a number up N times, one at a time.  Any number of these may run at
 * once, on any number of machines: no count is lost, since a put names the version that it has read.
 *
 *	cc -o counter counter.c -lpmofkv
 */
#include <errno.h>
#include <fcntl.h>
#include <libpmofkv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number, and the version to replace; no such key is 0. */
static int read_counter(struct pmofkv *kv, const char *key, unsigned long long *n,
			uint64_t *version)
{
	char text[32];
	size_t length;
	int ret = pmofkv_get(kv, key, strlen(key), text, sizeof(text) - 1, &length, version);

	*n = 0;
	if (ret == -ENOENT) {
		*version = PMOF_KV_EXPECT_NONE;
		return 0;
	}
	if (ret)
		return ret;
	text[length] = '\0';
	*n = strtoull(text, NULL, 10);
	return 0;
}

/*
 * -ESTALE and -EEXIST: somebody else was quicker; nothing has changed, and we read again.
 *
 * -EIO would say that the connection was lost, and not even the server could tell what became of
 * the put.  To count again might then count twice: that is for the caller to decide.
 */
static int count_up(struct pmofkv *kv, const char *key, unsigned long long *n, unsigned long *again)
{
	uint64_t version;
	char text[32];
	int ret;

	for (;;) {
		ret = read_counter(kv, key, n, &version);
		if (ret)
			return ret;
		snprintf(text, sizeof(text), "%llu", ++*n);
		ret = pmofkv_put_if(kv, key, strlen(key), text, strlen(text), version, NULL);
		if (ret != -ESTALE && ret != -EEXIST)
			return ret;
		++*again;
	}
}

int main(int argc, char **argv)
{
	unsigned long times, i, again = 0;
	unsigned long long n = 0;
	struct pmofkv *kv;
	int ret;

	if (argc != 4) {
		fputs("usage: counter DEV KEY N\n", stderr);
		return 2;
	}
	times = strtoul(argv[3], NULL, 10);
	ret = pmofkv_open(argv[1], O_RDWR, NULL, &kv);
	if (ret) {
		fprintf(stderr, "%s: %s\n", argv[1], strerror(-ret));
		return 1;
	}
	for (i = 0; i < times && !ret; i++)
		ret = count_up(kv, argv[2], &n, &again);
	if (ret)
		fprintf(stderr, "%s: %s\n", argv[2], strerror(-ret));
	else
		printf("%llu, tried again %lu times\n", n, again);
	pmofkv_close(kv);
	return ret ? 1 : 0;
}
